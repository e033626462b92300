// Which records of the device began while something was recorded.
#include <doctest/doctest.h>
#include <strata/collect/host/recorder.hpp>

#include <cstdint>

namespace recorded_periods_test {

using namespace strata;

TEST_CASE("times at the edges of a period and between periods") {
  detail::recorded_periods periods;
  detail::tick_converter const ns;
  CHECK_FALSE(periods.contains(0, ns));
  periods.begin(10);
  periods.end(20);
  periods.begin(20);
  periods.end(25);
  periods.begin(60);
  for (std::int64_t const inside : {10, 15, 20, 25, 60, 1'000'000})
    CHECK(periods.contains(inside, ns));
  for (std::int64_t const outside : {0, 9, 26, 59}) CHECK_FALSE(periods.contains(outside, ns));
}

TEST_CASE("a time among many periods") {
  constexpr std::int64_t many = 40'000;
  detail::recorded_periods periods;
  for (std::int64_t i = 0; i < many; ++i) {
    periods.begin(100 * i);
    periods.end(100 * i + 50);
  }
  detail::tick_converter const ns;
  std::int64_t inside = 0;
  for (std::int64_t t = 0; t < 100 * many; t += 20) inside += periods.contains(t, ns) ? 1 : 0;
  CHECK(inside == 3 * many);
}

}  // namespace recorded_periods_test
