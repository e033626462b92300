// Traffic that was sampled without a trace goes to ranges by a map of the step.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "live/step_map.hpp"

#include "../sanitizers.hpp"

namespace step_map_test {

using strata::live::map_traffic;
using strata::live::mapped_traffic;
using strata::live::sampled_steps;
using strata::live::samples;
using strata::live::step_map;
using strata::live::traffic_group;

namespace {

/// A program that repeats a step, and what is sampled of it.
struct replayed {
  std::mt19937_64 random{11};
  step_map map;
  std::vector<double> now;  ///< bytes of each work of the map, as they are while it is sampled
  sampled_steps steps;
  std::vector<std::int64_t> true_begins;
  std::vector<double> bytes;  ///< by owner, in all steps
  std::vector<std::pair<std::int64_t, std::pair<std::int64_t, double>>> pieces;

  double part() { return std::uniform_real_distribution<double>(0.0, 1.0)(random); }

  void add(std::int64_t ns, std::uint32_t owner, double rate, std::int64_t gap = 500) {
    std::int64_t const begin = map.length() + (map.work.empty() ? 0 : gap);
    map.work.push_back({begin, begin + ns, owner, rate * static_cast<double>(ns)});
    now.push_back(map.work.back().bytes);
  }

  void run(int count, std::int64_t pause, std::int64_t marks_off) {
    bytes.assign(map.owners(), 0.0);
    std::int64_t at = 100'000;
    for (int i = 0; i < count; ++i) {
      true_begins.push_back(at);
      steps.begins.push_back(
          at + static_cast<std::int64_t>((2.0 * part() - 1.0) * static_cast<double>(marks_off)));
      for (std::size_t k = 0; k < map.work.size(); ++k) {
        double const amount = now[k] * (0.97 + 0.06 * part());
        pieces.push_back({at + map.work[k].begin, {at + map.work[k].end, amount}});
        bytes[map.work[k].owner] += amount;
      }
      at += map.length() + pause + static_cast<std::int64_t>(part() * 7000.0);
    }
    steps.tolerance_ns = marks_off;
  }

  samples sample(double interval) const {
    samples made;
    made.counters = 1;
    std::int64_t const end = pieces.back().second.first + 100'000;
    for (double at = 0.0; at < static_cast<double>(end); at += interval) {
      made.times.push_back(
          {static_cast<std::int64_t>(at), static_cast<std::int64_t>(at + interval)});
      made.values.push_back(0.0);
    }
    for (auto const& [begin, rest] : pieces) {
      auto const& [stop, amount] = rest;
      auto i = static_cast<std::size_t>(std::max(0.0, static_cast<double>(begin) / interval - 1.0));
      for (; i < made.size() && made.times[i].begin < stop; ++i) {
        auto const common =
            std::min(stop, made.times[i].end) - std::max(begin, made.times[i].begin);
        if (common > 0)
          made.values[i] +=
              amount * static_cast<double>(common) / static_cast<double>(stop - begin);
      }
    }
    return made;
  }
};

double sum(mapped_traffic const& made) {
  double all = made.unexplained;
  for (traffic_group const& group : made.groups) all += group.bytes;
  return all;
}

/// A decoding step of some kernels, of 7 ranges.
void decode(replayed& r) {
  for (int layer = 0; layer < 3; ++layer) {
    r.add(5'000, 0, 0.4);
    r.add(30'000, 1, 2.5);
    r.add(12'000, 2, 0.7);
    r.add(20'000, 3, 2.1);
    r.add(55'000, 4, 2.9);
  }
  r.add(90'000, 5, 3.0);
  r.add(8'000, 6, 0.2);
}

}  // namespace

TEST_CASE("ranges have their bytes within their intervals, though no kernel was traced") {
  for (double const interval : {10'007.0, 20'011.0, 50'021.0}) {
    if (test::sanitized && interval < 50'000.0) continue;  // the shorter, the longer it takes
    CAPTURE(interval);
    replayed r;
    decode(r);
    r.run(400, 30'000, 60'000);
    samples const given = r.sample(interval);
    mapped_traffic const made = map_traffic(r.map, r.steps, given);
    CHECK(made.misfits.size() < 20);
    for (std::uint32_t const step : made.misfits)  // they are in no sum
      for (std::size_t k = 0; k < r.map.work.size(); ++k)
        r.bytes[r.map.work[k].owner] -= r.pieces[step * r.map.work.size() + k].second.second;
    CHECK(sum(made) == doctest::Approx(made.total));
    double whole = 0.0;
    for (double const bytes : r.bytes) whole += bytes;
    CHECK(made.total == doctest::Approx(whole).epsilon(0.02));
    CHECK(made.unexplained < 0.02 * made.total);
    for (traffic_group const& group : made.groups) {
      double bytes = 0.0;
      for (std::uint32_t const owner : group.owners) bytes += r.bytes[owner];
      CAPTURE(group.owners.front());
      CAPTURE(group.plus_minus / bytes);
      CHECK(std::abs(group.bytes - bytes) <= group.plus_minus + 0.01 * bytes);
      if (bytes > 0.05 * whole) CHECK(group.bytes == doctest::Approx(bytes).epsilon(0.05));
    }
    CHECK(made.groups.size() >= (interval < 15'000.0 ? 5u : interval < 30'000.0 ? 4u : 3u));
  }
}

TEST_CASE("a trace makes pauses longer than they are without it, with bytes and without") {
  auto const decode_with_pauses = [](replayed& r, std::int64_t pause) {
    for (std::uint32_t layer = 0; layer < 8; ++layer) {
      r.add(8'000, 0, 0.1, pause);
      r.add(36'000, layer == 0 ? 1 : 2, 0.3, pause);
      r.add(5'000, 3, 0.1, pause);
      r.add(40'000, 4, 0.4, pause);
    }
    r.add(420'000, 5, 0.5, pause);
  };
  for (bool const has_bytes : {true, false}) {
    CAPTURE(has_bytes);
    int within = 0;
    int all = 0;
    for (unsigned seed = 0; seed < test::trials(6u); ++seed) {
      CAPTURE(seed);
      replayed r;
      r.random.seed(seed);
      decode_with_pauses(r, 800);
      r.run(400, 200'000, 10'000);
      for (std::int64_t& begin : r.steps.begins) begin -= 60'000;
      r.steps.tolerance_ns = 200'000;
      replayed traced;
      decode_with_pauses(traced, 8'000);
      traced.map.has_bytes = has_bytes;
      if (!has_bytes)
        for (auto& each : traced.map.work) each.bytes = static_cast<double>(each.end - each.begin);
      mapped_traffic const made = map_traffic(traced.map, r.steps, r.sample(97'003.0));
      double const part = 1.0 - static_cast<double>(made.misfits.size()) / 400.0;
      CHECK(part > 0.9);
      for (traffic_group const& group : made.groups) {
        double bytes = 0.0;
        for (std::uint32_t const owner : group.owners) bytes += part * r.bytes[owner];
        ++all;
        within += std::abs(group.bytes - bytes) <= group.plus_minus + 0.01 * bytes ? 1 : 0;
        CAPTURE(group.owners.front());
        CHECK(group.bytes == doctest::Approx(bytes).epsilon(0.1));
      }
    }
    CAPTURE(all);
    CHECK(within >= all * 9 / 10);
  }
}

TEST_CASE("a range that moves more than its map says is seen") {
  replayed r;
  decode(r);
  for (std::size_t i = 0; i < r.now.size(); ++i)
    if (r.map.work[i].owner == 4) r.now[i] *= 1.1;
  r.run(600, 30'000, 40'000);
  mapped_traffic const made = map_traffic(r.map, r.steps, r.sample(20'011.0));
  for (traffic_group const& group : made.groups) {
    if (std::find(group.owners.begin(), group.owners.end(), 4u) == group.owners.end()) continue;
    CHECK(group.owners.size() == 1);
    CHECK(group.bytes == doctest::Approx(r.bytes[4]).epsilon(0.03));
  }
}

TEST_CASE("steps that do not look like the map are named and left out") {
  replayed r;
  decode(r);
  r.run(60, 30'000, 30'000);
  // Ten of the steps run in another order: their pieces begin elsewhere.
  std::size_t const works = r.map.work.size();
  for (std::size_t step = 20; step < 30; ++step) {
    std::int64_t const begin = r.true_begins[step];
    std::int64_t const end = begin + r.map.length();
    for (std::size_t k = 0; k < works; ++k) {
      auto& piece = r.pieces[step * works + k];
      std::int64_t const from = piece.first;
      piece.first = begin + (end - piece.second.first);
      piece.second.first = begin + (end - from);
    }
  }
  mapped_traffic const made = map_traffic(r.map, r.steps, r.sample(10'007.0));
  CHECK(made.misfits.size() >= 9);
  for (std::uint32_t const step : made.misfits) {
    CHECK(step >= 20);
    CHECK(step < 30);
  }
  CHECK(sum(made) == doctest::Approx(made.total));
}

TEST_CASE("ranges that no sample tells apart are one group") {
  replayed r;
  r.add(100'000, 0, 3.0);
  for (int i = 0; i < 30; ++i) {  // always together, and shorter than a sample
    r.add(200, 1, 2.0, 0);
    r.add(200, 2, 2.0, 0);
  }
  r.add(60'000, 3, 1.0);
  r.run(200, 40'000, 20'000);
  mapped_traffic const made = map_traffic(r.map, r.steps, r.sample(20'011.0));
  bool together = false;
  for (traffic_group const& group : made.groups) {
    together = together || group.owners == std::vector<std::uint32_t>{1, 2};
    double bytes = 0.0;
    for (std::uint32_t const owner : group.owners) bytes += r.bytes[owner];
    CHECK(std::abs(group.bytes - bytes) <= group.plus_minus + 0.03 * bytes);
  }
  CHECK(together);
}

TEST_CASE("nothing is no error") {
  CHECK(map_traffic({}, {}, {}).groups.empty());
  replayed r;
  decode(r);
  CHECK(map_traffic(r.map, {}, {}).total == 0.0);
  samples given;
  given.counters = 1;
  given.times.push_back({0, 1000});
  given.values.push_back(7.0);
  mapped_traffic const made = map_traffic(r.map, {{0}, 100}, given);
  CHECK(sum(made) == doctest::Approx(made.total));
}

}  // namespace step_map_test
