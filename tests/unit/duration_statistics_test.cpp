#include "sample_profile.hpp"

#include <strata/profile.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace duration_statistics_test {

using strata::duration_statistics;

namespace {

constexpr std::int64_t longest = (std::numeric_limits<std::int64_t>::max)();

duration_statistics of(std::vector<std::int64_t> const& durations) {
  duration_statistics all;
  for (std::int64_t const each : durations) all.add(each);
  return all;
}

std::int64_t exact_quantile(std::vector<std::int64_t> durations, double fraction) {
  std::sort(durations.begin(), durations.end());
  return durations[static_cast<std::size_t>(fraction * static_cast<double>(durations.size() - 1) +
                                            0.5)];
}

}  // namespace

TEST_CASE("no durations") {
  duration_statistics none;
  none.add(duration_statistics());
  CHECK(none.count() == 0);
  CHECK(none.sum() == 0.0);
  CHECK(none.minimum() == 0);
  CHECK(none.maximum() == 0);
  CHECK(none.mean() == 0.0);
  for (double const fraction : {0.0, 0.5, 1.0, std::nan("")}) CHECK(none.quantile(fraction) == 0);
}

TEST_CASE("one duration is exact at every quantile") {
  for (std::int64_t const value : {std::int64_t{0}, std::int64_t{1}, std::int64_t{127},
                                   std::int64_t{128}, std::int64_t{12345}, longest}) {
    CAPTURE(value);
    auto const one = of({value});
    CHECK(one.count() == 1);
    CHECK(one.minimum() == value);
    CHECK(one.maximum() == value);
    for (double const fraction : {-1.0, 0.0, 0.5, 0.95, 1.0, 2.0, std::nan("")})
      CHECK(one.quantile(fraction) == value);
  }
}

TEST_CASE("sums and small quantiles by hand") {
  auto const some = of({5, 1, 3, 100, 2});
  CHECK(some.count() == 5);
  CHECK(some.sum() == 111.0);
  CHECK(some.sum_of_squares() == 25.0 + 1.0 + 9.0 + 10000.0 + 4.0);
  CHECK(some.mean() == doctest::Approx(22.2));
  CHECK(some.minimum() == 1);
  CHECK(some.maximum() == 100);
  CHECK(some.quantile(0.0) == 1);
  CHECK(some.quantile(0.25) == 2);
  CHECK(some.quantile(0.5) == 3);
  CHECK(some.quantile(0.75) == 5);
  CHECK(some.quantile(1.0) == 100);
}

TEST_CASE("negative durations count as such but sit at zero in quantiles") {
  auto const some = of({-5, 10});
  CHECK(some.minimum() == -5);
  CHECK(some.maximum() == 10);
  CHECK(some.quantile(0.0) == -5);
}

TEST_CASE("quantiles are within 0.8 % of the exact ones at every magnitude") {
  sample::random_numbers random(7);
  for (unsigned bits = 1; bits < 63; ++bits) {
    CAPTURE(bits);
    std::vector<std::int64_t> durations;
    for (int i = 0; i < 501; ++i)
      durations.push_back(static_cast<std::int64_t>(random.next() >> (64 - bits)));
    auto const all = of(durations);
    for (double const fraction : {0.0, 0.01, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0}) {
      auto const exact = static_cast<double>(exact_quantile(durations, fraction));
      auto const got = static_cast<double>(all.quantile(fraction));
      CHECK(std::abs(got - exact) <= 0.008 * exact);
      if (bits <= 7) CHECK(got == exact);
    }
  }
}

TEST_CASE("quantiles never fall as the fraction grows") {
  sample::random_numbers random(11);
  duration_statistics all;
  for (int i = 0; i < 5000; ++i)
    all.add(static_cast<std::int64_t>(random.next() >> (1 + random.below(60))));
  std::int64_t last = all.quantile(0.0);
  for (int i = 1; i <= 1000; ++i) {
    std::int64_t const next = all.quantile(i / 1000.0);
    CHECK(next >= last);
    last = next;
  }
  CHECK(last == all.maximum());
}

TEST_CASE("added statistics are those of all values, in either order and with itself") {
  sample::random_numbers random(3);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::int64_t> left, right, both;
    unsigned const left_shift = 1 + random.below(60);
    unsigned const right_shift = 1 + random.below(60);
    for (int i = 0; i < 40; ++i) {
      left.push_back(static_cast<std::int64_t>(random.next() >> left_shift));
      right.push_back(static_cast<std::int64_t>(random.next() >> right_shift));
    }
    both = left;
    both.insert(both.end(), right.begin(), right.end());
    both.insert(both.end(), both.begin(), both.end());
    auto const expected = of(both);
    auto sum = of(left);
    sum.add(of(right));
    sum.add(sum);
    auto other = of(right);
    other.add(of(left));
    other.add(duration_statistics(other));
    for (auto const& each : {sum, other}) {
      CHECK(each.count() == expected.count());
      CHECK(each.sum() == doctest::Approx(expected.sum()));
      CHECK(each.sum_of_squares() == doctest::Approx(expected.sum_of_squares()));
      CHECK(each.minimum() == expected.minimum());
      CHECK(each.maximum() == expected.maximum());
      for (double const fraction : {0.1, 0.5, 0.9})
        CHECK(each.quantile(fraction) == expected.quantile(fraction));
    }
  }
}

TEST_CASE("more than 2^32 equal durations") {
  auto many = of({5, 5, 5, 1000});
  for (int i = 0; i < 34; ++i) many.add(duration_statistics(many));
  CHECK(many.count() == std::uint64_t{1} << 36);
  CHECK(many.quantile(0.7) == 5);
  CHECK(many.quantile(0.8) == doctest::Approx(1000).epsilon(0.008));
  many.scale(2.0);
  CHECK(many.quantile(0.7) == 10);
}

TEST_CASE("durations in another unit") {
  auto ticks = of({30, 60, 3000});
  ticks.scale(1.0 / 3.0);
  CHECK(ticks.count() == 3);
  CHECK(ticks.sum() == doctest::Approx(1030.0));
  CHECK(ticks.sum_of_squares() == doctest::Approx(100.0 + 400.0 + 1e6));
  CHECK(ticks.minimum() == 10);
  CHECK(ticks.maximum() == 1000);
  CHECK(ticks.quantile(0.5) == doctest::Approx(20.0).epsilon(0.016));
  auto large = of({longest, 5});
  large.scale(3.0);
  CHECK(large.maximum() > longest / 2);
  CHECK(large.quantile(0.0) == 15);
  duration_statistics none;
  none.scale(2.0);
  CHECK(none.count() == 0);
}

TEST_CASE("a coarse histogram takes little memory: all but the quantiles stays exact") {
  duration_statistics fine;
  for (std::int64_t ns = 1'000; ns < 1'000'000; ns += 997) fine.add(ns);
  duration_statistics coarse = fine;
  std::size_t bytes = coarse.bytes();
  CHECK_FALSE(coarse.is_coarse());
  for (double const error : {0.07, 0.5, 1e9}) {
    REQUIRE(coarse.coarsen());
    CHECK(coarse.is_coarse());
    CHECK(coarse.bytes() * 4 < bytes * 3);
    bytes = coarse.bytes();
    CHECK(coarse.count() == fine.count());
    CHECK(coarse.sum() == fine.sum());
    CHECK(coarse.minimum() == fine.minimum());
    CHECK(coarse.maximum() == fine.maximum());
    for (double const part : {0.1, 0.5, 0.95}) {
      auto const exact = static_cast<double>(fine.quantile(part));
      auto const found = static_cast<double>(coarse.quantile(part));
      CHECK(found > exact * (1.0 - error));
      CHECK(found < exact * (1.0 + error));
      CHECK(found >= 1'000.0);
      CHECK(found < 1'000'000.0);
    }
  }
  CHECK(coarse.is_coarsest());
  CHECK_FALSE(coarse.coarsen());
  CHECK(coarse.growth(1) == 0);
  CHECK(coarse.growth(std::int64_t{1} << 62) == 0);
}

TEST_CASE("fine and coarse histograms are added in either order, and converted") {
  duration_statistics fine;
  duration_statistics coarse;
  for (std::int64_t ns = 1; ns < 100'000; ns += 7) fine.add(ns);
  for (std::int64_t ns = 3; ns < 900'000; ns += 11) coarse.add(ns);
  REQUIRE(coarse.coarsen());
  duration_statistics first = fine;
  first.add(coarse);
  duration_statistics second = coarse;
  second.add(fine);
  CHECK(first.count() == fine.count() + coarse.count());
  CHECK(first.is_coarse());
  CHECK(second.is_coarse());
  for (double const part : {0.1, 0.5, 0.95}) CHECK(first.quantile(part) == second.quantile(part));
  std::int64_t const median = first.quantile(0.5);
  first.scale(2.0);
  CHECK(first.is_coarse());
  CHECK(first.quantile(0.5) > median * 17 / 10);
  CHECK(first.quantile(0.5) < median * 23 / 10);
  CHECK(first.sum() == 2.0 * second.sum());
}

}  // namespace duration_statistics_test
