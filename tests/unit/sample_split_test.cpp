// Samples are split by the work that ran meanwhile: checked by a slow reference, and with kernels
// that count what is known.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "live/sample_split.hpp"

#include "../sanitizers.hpp"

namespace sample_split_test {

using strata::live::sample_split;
using strata::live::sampled_work;
using strata::live::samples;
using strata::live::split_samples;

namespace {

using works = std::vector<sampled_work>;

sample_split split(samples const& given, works const& work, std::size_t owners,
                   std::int64_t clock_error = 0) {
  return split_samples(given, work, owners, clock_error);
}

/// Kernels that count at a known rate: all of it within their time.
struct planted {
  works work;
  std::vector<double> rates;  ///< of a work, in a ns
  std::vector<double> bytes;  ///< by owner

  void add(std::int64_t begin, std::int64_t length, std::uint32_t owner, double rate,
           std::uint32_t kind = 0) {
    work.push_back({begin, begin + length, owner, kind});
    rates.push_back(rate);
    if (bytes.size() <= owner) bytes.resize(owner + 1, 0.0);
    bytes[owner] += rate * static_cast<double>(length);
  }

  /// What the hardware counts in samples of one length.
  samples sample(std::int64_t from, std::int64_t to, double interval) const {
    samples made;
    made.counters = 1;
    auto const count = static_cast<std::size_t>(static_cast<double>(to - from) / interval) + 1;
    auto const border = [&](std::size_t i) {
      return from + static_cast<std::int64_t>(std::floor(static_cast<double>(i) * interval));
    };
    for (std::size_t i = 0; i < count; ++i) {
      made.times.push_back({border(i), border(i + 1)});
      made.values.push_back(0.0);
    }
    for (std::size_t k = 0; k < work.size(); ++k) {
      sampled_work const& each = work[k];
      auto i = static_cast<std::size_t>(
          std::max(0.0, static_cast<double>(each.begin - from) / interval - 2.0));
      for (; i < count && made.times[i].begin < each.end; ++i) {
        std::int64_t const common =
            std::min(each.end, made.times[i].end) - std::max(each.begin, made.times[i].begin);
        if (common > 0) made.values[i] += rates[k] * static_cast<double>(common);
      }
    }
    return made;
  }
};

double sum(std::vector<double> const& values) {
  double all = 0.0;
  for (double const value : values) all += value;
  return all;
}

bool is_about(double value, double expected, double part = 1e-9) {
  return std::abs(value - expected) <= part * std::max({1.0, std::abs(value), std::abs(expected)});
}

void check_conserved(sample_split const& made) {
  for (std::size_t counter = 0; counter < made.counters; ++counter) {
    double all = made.unexplained[counter];
    for (std::size_t owner = 0; owner < made.work_ns.size(); ++owner)
      all += made.value(owner, counter);
    CHECK(is_about(all, made.total[counter]));
  }
}

}  // namespace

TEST_CASE("few samples are split by overlap, as a slow reference does") {
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    auto const below = [&](int n) { return std::uniform_int_distribution<int>(0, n - 1)(random); };
    std::size_t const owners = 1 + static_cast<std::size_t>(below(6));
    works work;
    for (int i = below(40); i > 0; --i) {
      std::int64_t const begin = below(300);
      work.push_back({begin, begin + below(60), static_cast<std::uint32_t>(below(int(owners))),
                      static_cast<std::uint32_t>(i)});  // so many kinds have no rates
    }
    samples given;
    given.counters = 2;
    for (std::int64_t at = below(20); at < 320;) {
      std::int64_t const end = at + 1 + below(30);
      given.times.push_back({at, end});
      given.values.push_back(below(1000));
      given.values.push_back(below(3));
      at = end + (below(4) == 0 ? below(9) : 0);
    }
    sample_split const made = split(given, work, owners);
    if (made.by_rates) continue;
    check_conserved(made);
    std::vector<double> values(owners * 2), work_ns(owners), covered(owners), shared(owners);
    double unexplained[2] = {};
    for (std::size_t i = 0; i < given.size(); ++i) {
      std::vector<double> common(owners);
      double all = 0.0;
      for (sampled_work const& each : work) {
        std::int64_t const ns = std::min(std::max(each.end, each.begin + 1), given.times[i].end) -
                                std::max(each.begin, given.times[i].begin);
        if (ns > 0) common[each.owner] += double(ns);
        if (ns > 0) all += double(ns);
      }
      for (std::size_t c = 0; c < 2; ++c) {
        if (all == 0.0) unexplained[c] += given.at(i)[c];
        for (std::size_t o = 0; o < owners && all > 0.0; ++o)
          values[o * 2 + c] += given.at(i)[c] * common[o] / all;
      }
      for (std::size_t o = 0; o < owners; ++o) covered[o] += common[o];
    }
    for (std::int64_t ns = 0; ns < 400; ++ns) {
      std::multiset<std::uint32_t> now;
      for (sampled_work const& each : work)
        if (each.begin <= ns && ns < std::max(each.end, each.begin + 1)) now.insert(each.owner);
      for (std::size_t o = 0; o < owners; ++o) {
        auto const own = now.count(std::uint32_t(o));
        work_ns[o] += double(own);
        if (own != 0 && own != now.size()) shared[o] += 1.0;
      }
    }
    for (std::size_t o = 0; o < owners; ++o) {
      CHECK(is_about(made.work_ns[o], work_ns[o]));
      CHECK(is_about(made.covered_ns[o], covered[o]));
      CHECK(is_about(made.shared_ns[o], shared[o]));
      for (std::size_t c = 0; c < 2; ++c) CHECK(is_about(made.value(o, c), values[o * 2 + c]));
    }
    for (std::size_t c = 0; c < 2; ++c) CHECK(is_about(made.unexplained[c], unexplained[c]));
  }
}

TEST_CASE("samples of one owner are known, and its interval is empty") {
  planted p;
  for (int i = 0; i < 100; ++i) {
    p.add(i * 1000, 400, 0, 3.0);
    p.add(i * 1000 + 500, 400, 1, 5.0);
  }
  sample_split const made = split(p.sample(0, 100'000, 100.0), p.work, 2);
  for (std::size_t owner : {0u, 1u}) {
    CHECK(is_about(made.value(owner, 0), p.bytes[owner]));
    CHECK(made.error(owner, 0) == 0.0);
  }
}

TEST_CASE("what cannot be told apart has an interval from nothing to all") {
  planted p;
  for (int i = 0; i < 500; ++i) {  // both are in each sample, for the same time
    p.add(i * 1000 + 100, 200, 0, 1.0);
    p.add(i * 1000 + 500, 200, 1, 9.0);
  }
  sample_split const made = split(p.sample(0, 500'000, 1000.0), p.work, 2);
  check_conserved(made);
  for (std::size_t owner : {0u, 1u}) {
    CHECK(std::abs(made.value(owner, 0) - p.bytes[owner]) <= made.error(owner, 0));
    CHECK(made.error(owner, 0) <= made.total[0]);
  }
}

TEST_CASE("rates that samples do not tell apart are about equal, and none is above the most") {
  planted p;
  for (int i = 0; i < 500; ++i) {  // both are in each sample, for 200 and 600 ns
    p.add(i * 1000 + 50, 200, 0, 1.0);
    p.add(i * 1000 + 300, 600, 1, 5.0);
  }
  strata::live::expected_rates const about_equal{0.5, 0.05};
  samples const alike = p.sample(0, 500'000, 1000.0);
  sample_split const made = split_samples(alike, p.work, 2, 0, {}, about_equal);
  check_conserved(made);
  CHECK(made.value(0, 0) == doctest::Approx(0.25 * made.total[0]).epsilon(1e-3));
  CHECK(made.error(0, 0) < 2.0 * made.value(0, 0));
  CHECK(made.error(1, 0) < 0.6 * made.value(1, 0));
  // Samples that tell them apart win, but for the most.
  samples const apart = p.sample(0, 500'000, 130.0);
  sample_split const told = split_samples(apart, p.work, 2, 0, {}, about_equal);
  CHECK(told.value(0, 0) == doctest::Approx(p.bytes[0]).epsilon(0.05));
  sample_split const bounded = split_samples(apart, p.work, 2, 0, {}, {0.5, 0.05, 3.0});
  check_conserved(bounded);
  double const in_shared = 1.0 / (1.0 + 3.0);
  CHECK(bounded.value(0, 0) > told.value(0, 0));
  CHECK(bounded.value(0, 0) < p.bytes[0] + in_shared * p.bytes[1]);
}

TEST_CASE("kernels that count at no constant rate have their counts within their intervals") {
  std::mt19937_64 random(9);
  std::uniform_real_distribution<double> part(0.0, 1.0);
  for (double const interval_us : {23.0, 97.0}) {
    planted p;  // `a` writes late, `b` early
    works whole;
    std::int64_t at = 5'000;
    for (int i = 0; i < 1500; ++i) {
      p.add(at, 200'000, 0, 0.10);
      p.add(at + 200'000, 220'000, 0, 0.12);
      whole.push_back({at, at + 420'000, 0, 0});
      p.add(at + 421'000, 10'000, 1, 0.6);
      p.add(at + 431'000, 20'000, 1, 0.45);
      whole.push_back({at + 421'000, at + 451'000, 1, 0});
      p.add(at + 452'000, 300'000, 2, 0.4);
      whole.push_back({at + 452'000, at + 752'000, 2, 0});
      at += 770'000 + static_cast<std::int64_t>(9'000.0 * part(random));
    }
    sample_split const made = split(p.sample(0, at, 1003.0 * interval_us), whole, 3, 500);
    for (std::uint32_t owner = 0; owner < 3; ++owner) {
      CAPTURE(interval_us);
      CAPTURE(owner);
      CAPTURE(made.error(owner, 0) / p.bytes[owner]);
      CHECK(std::abs(made.value(owner, 0) - p.bytes[owner]) <= made.error(owner, 0));
      CHECK(made.error(owner, 0) < 0.5 * p.bytes[owner]);
    }
  }
}

TEST_CASE("what neighbours may exchange at a border is in the interval") {
  planted p;  // half of what `b` moves in its first 2 us is counted while `a` runs
  for (int i = 0; i < 300; ++i) {
    p.add(i * 50'000, 3'000, 0, 0.01);
    p.add(i * 50'000 + 3'500, 30'000, 1, 0.7);
    p.add(i * 50'000 + 43'500, 6'000, 2, 0.3);  // no neighbour of `b`
  }
  works early = p.work;
  for (sampled_work& each : early) {
    if (each.owner == 0) each.end += 1000;
    if (each.owner == 1) each.begin += 1000;
  }
  sample_split made = split(p.sample(0, 300 * 50'000, 100.0), early, 3, 0);
  double const error = std::abs(made.value(0, 0) - p.bytes[0]);
  CHECK(error > made.error(0, 0));
  double const apart = made.error(2, 0);
  strata::live::add_border_errors(made, early);
  CHECK(error <= made.error(0, 0));
  CHECK(std::abs(made.value(1, 0) - p.bytes[1]) <= made.error(1, 0));
  CHECK(made.error(1, 0) < 0.12 * p.bytes[1]);
  CHECK(made.error(2, 0) > apart);  // a step later `a` follows it
}

TEST_CASE("work that runs beside others is marked, and what both count is kept") {
  planted p;
  for (int i = 0; i < 300; ++i) {
    p.add(i * 997, 500, 0, 2.0);
    p.add(i * 997 + 250, 500, 1, 2.0);
    p.add(i * 997 + 800, 100, 2, 2.0);
  }
  sample_split const made = split(p.sample(0, 300 * 997, 40.0), p.work, 3);
  check_conserved(made);
  CHECK(made.shared_ns[0] == 300.0 * 250.0);
  CHECK(made.shared_ns[1] == 300.0 * 250.0);
  CHECK(made.shared_ns[2] == 0.0);
  CHECK(is_about(made.value(0, 0) + made.value(1, 0), p.bytes[0] + p.bytes[1], 1e-3));
}

TEST_CASE("what no work ran for is unexplained") {
  planted p;
  p.add(1000, 100, 0, 1.0);
  samples given = p.sample(0, 3000, 100.0);
  given.values[25] = 77.0;
  sample_split const made = split(given, p.work, 1);
  CHECK(made.unexplained[0] == 77.0);
  CHECK(made.value(0, 0) == 100.0);
  CHECK(made.total[0] == 177.0);
}

TEST_CASE("samples without work count where something was recorded") {
  planted p;
  p.add(1000, 100, 0, 1.0);
  samples given = p.sample(0, 3000, 100.0);
  given.values[5] = 7.0;    // between two windows
  given.values[25] = 70.0;  // in one
  sample_split const made = split_samples(given, p.work, 1, 0, {{0, 400}, {2000, 2600}});
  CHECK(made.unexplained[0] == 70.0);
  CHECK(made.total[0] == 170.0);
}

TEST_CASE("more than a device can run at once is seen without the pairs") {
  std::vector<strata::live::sample_span> times;
  std::vector<strata::live::sample_span> work;
  for (int i = 0; i < 100'000; ++i) times.push_back({i * 10, i * 10 + 10});
  for (int i = 0; i < 100'000; ++i) work.push_back({i * 10 - 300, i * 10 + 300});
  CHECK(strata::live::can_run_together(times, work));
  for (strata::live::sample_span& each : work) each = {0, 1'000'000};  // 10^10 pairs
  CHECK(!strata::live::can_run_together(times, work));
  CHECK(strata::live::can_run_together({}, {}));
}

TEST_CASE("nothing is no error") {
  CHECK(sum(split({}, {}, 0).total) == 0.0);
  samples given;
  given.counters = 1;
  given.times.push_back({0, 10});
  given.values.push_back(5.0);
  CHECK(split(given, {}, 3).unexplained[0] == 5.0);
  given = {};
  given.counters = 1;
  CHECK(split(given, {{0, 10, 0, 0}}, 1).covered_ns[0] == 0.0);
}

TEST_CASE("kernels of 2 to 100 us have what they count within their intervals") {
  std::mt19937_64 random(3);
  int within = 0;
  int all = 0;
  for (double const interval_us : {2.0, 5.0, 10.0, 20.0, 50.0}) {
    for (int round = 0; round < test::trials(6); ++round) {
      // A step as decoding has it: kernels of some lengths and rates, and gaps between them.
      // Lengths differ a little from step to step, and so does the traffic.
      struct kernel {
        std::int64_t ns;
        double rate;
        std::uint32_t owner;
      };
      std::vector<kernel> step;
      std::uniform_real_distribution<double> part(0.0, 1.0);
      for (std::int64_t const us : {2, 5, 20, 100, 5, 2, 20})
        step.push_back(
            {us * 1000, 0.2 + 3.0 * part(random), static_cast<std::uint32_t>(step.size() % 5)});
      planted p;
      std::int64_t at = 5000;
      for (int i = 0; i < 400; ++i) {
        for (std::size_t k = 0; k < step.size(); ++k) {
          double const longer = 1.0 + 0.02 * (part(random) - 0.5);
          auto const ns = static_cast<std::int64_t>(static_cast<double>(step[k].ns) * longer);
          p.add(at, ns, step[k].owner, step[k].rate * (1.0 + 0.04 * (part(random) - 0.5)),
                static_cast<std::uint32_t>(k));
          at += ns + 600 + static_cast<std::int64_t>(part(random) * 400);
        }
        at += 8000 + static_cast<std::int64_t>(part(random) * 1000);
      }
      samples const given =
          p.sample(static_cast<std::int64_t>(part(random) * 3000), at, interval_us * 1003.0);
      // The clocks are 200 ns apart, and drift by 300 ns.
      samples seen = given;
      for (auto& time : seen.times) {
        std::int64_t const off = 200 + 300 * time.begin / at;
        time.begin += off;
        time.end += off;
      }
      sample_split const made = split(seen, p.work, p.bytes.size(), 500);
      REQUIRE(made.by_rates);
      check_conserved(made);
      CHECK(made.unexplained[0] < 0.02 * made.total[0]);
      for (std::size_t owner = 0; owner < p.bytes.size(); ++owner) {
        double const error = std::abs(made.value(owner, 0) - p.bytes[owner]);
        ++all;
        within += error <= made.error(owner, 0) ? 1 : 0;
        INFO("interval " << interval_us << " us, owner " << owner << ": error "
                         << 100.0 * error / p.bytes[owner] << " %, +- "
                         << 100.0 * made.error(owner, 0) / p.bytes[owner]);
        // Owners with 5 % of the traffic; of others a clock that is off by a quarter of their
        // kernels makes more.
        bool const counts = p.bytes[owner] >= 0.05 * made.total[0];
        CHECK(error < (counts ? 0.05 : 0.5) * p.bytes[owner]);
        // No interval says nothing.
        CHECK(made.error(owner, 0) < 0.9 * p.bytes[owner]);
      }
    }
  }
  CAPTURE(within);
  CAPTURE(all);
  CHECK(within * 100 >= 90 * all);
}

TEST_CASE("ranges that lie in the same samples have what they count within their intervals") {
  int within = 0;
  int close = 0;
  int all = 0;
  double widest = 0.0;
  for (std::int64_t const step_us : {10, 40, 100})
    for (std::uint64_t seed = 0; seed < test::trials(30u); ++seed) {
      // Of each step `a` moves all, `b` as much or nothing, and `c` little; lengths vary by 1 %.
      std::mt19937_64 random(seed);
      std::uniform_real_distribution<double> part(0.0, 1.0);
      double const rates[] = {2.0, seed % 2 == 0 ? 0.0 : 2.0, 0.3};
      double const parts[] = {0.4, 0.3, 0.1};
      planted p;
      auto const end = static_cast<std::int64_t>(600 * 309'017);
      for (std::int64_t at = 2000; at < end;) {
        for (std::uint32_t k = 0; k < 3; ++k) {
          double const longer = 1.0 + 0.02 * (part(random) - 0.5);
          auto const ns = static_cast<std::int64_t>(1000.0 * double(step_us) * parts[k] * longer);
          p.add(at, ns, k, rates[k] * (1.0 + 0.02 * (part(random) - 0.5)), k);
          auto const pause = static_cast<std::int64_t>(60.0 * double(step_us));
          at += ns + pause + static_cast<std::int64_t>(0.02 * double(pause) * part(random));
        }
      }
      samples seen = p.sample(0, end, 309'017.0);
      auto const off = static_cast<std::int64_t>(1600.0 * (part(random) - 0.5));
      for (auto& time : seen.times) time = {time.begin + off, time.end + off};
      sample_split const made = split(seen, p.work, 3, 1000);
      REQUIRE(made.by_rates);
      check_conserved(made);
      for (std::size_t owner = 0; owner < 3; ++owner) {
        double const error = std::abs(made.value(owner, 0) - p.bytes[owner]);
        INFO("step of " << step_us << " us, seed " << seed << ", owner " << owner << ": "
                        << made.value(owner, 0) << " +- " << made.error(owner, 0) << ", true "
                        << p.bytes[owner]);
        ++all;
        within += error <= made.error(owner, 0) ? 1 : 0;
        close += error <= 2.0 * made.error(owner, 0) ? 1 : 0;
        widest = std::max(widest, made.error(owner, 0) / made.total[0]);
      }
    }
  CAPTURE(within);
  CAPTURE(close);
  CAPTURE(all);
  CHECK(within * 100 >= 85 * all);
  CHECK(close * 100 >= 97 * all);
  CHECK(widest < 0.2);
}

TEST_CASE("the cost is in the samples and the work, and in no product of them") {
  planted p;
  for (int i = 0; i < 20'000; ++i) p.add(i * 1000, 900, static_cast<std::uint32_t>(i % 4), 1.0);
  samples const given = p.sample(0, 20'000'000, 333.0);
  sample_split const made = split(given, p.work, 4);
  check_conserved(made);
  for (std::size_t owner = 0; owner < 4; ++owner)
    CHECK(is_about(made.value(owner, 0), p.bytes[owner], 0.02));
}

TEST_CASE("more kinds of work than rates are learnt for are split by their times") {
  planted p;
  for (int i = 0; i < 4000; ++i)
    p.add(i * 1000, 1000, static_cast<std::uint32_t>(i % 800), 2.0, static_cast<std::uint32_t>(i));
  sample_split const made = split(p.sample(0, 4'000'000, 370.0), p.work, 800);
  CHECK(!made.by_rates);
  check_conserved(made);
  for (std::size_t owner = 0; owner < 800; ++owner) {
    CHECK(is_about(made.value(owner, 0), p.bytes[owner], 0.02));
    CHECK(std::abs(made.value(owner, 0) - p.bytes[owner]) <= made.error(owner, 0) + 1e-6);
  }
}

}  // namespace sample_split_test
