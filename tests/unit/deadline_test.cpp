#include <strata/base/deadline.hpp>

#include <doctest/doctest.h>

#include <cstdint>

namespace deadline_test {

namespace {

std::int64_t now_ns = 0;
std::int64_t step_ns = 0;

std::int64_t clock() noexcept { return now_ns += step_ns; }

using deadline = strata::detail::deadline_by<&clock>;

/// How often it says that the wait continues.
int looks(std::int64_t wait_ns, std::int64_t of_clock) {
  step_ns = of_clock;
  deadline end(wait_ns);
  int count = 0;
  while (count < 1'000'000 && end.lasts()) ++count;
  return count;
}

}  // namespace

TEST_CASE("a wait ends at its moment, however often it is looked at") {
  CHECK(looks(1'000'000, 1'000) == 999);
  CHECK(looks(1'000'000, 300'000) == 3);
  CHECK(looks(0, 1) == 0);
}

TEST_CASE("a clock that stands still, or is set back, ends it too") {
  CHECK(looks(2'000'000, 0) == 9);  // 0.2 ms each
  CHECK(looks(2'000'000, -1) == 9);
}

TEST_CASE("what is left for a poll is rounded up, and 0 at the end") {
  step_ns = 0;
  now_ns = 0;
  deadline const end(2'500'000);
  CHECK(end.left_ms() == 3);
  now_ns = 2'499'999;
  CHECK(end.left_ms() == 1);
  now_ns = 2'500'000;
  CHECK(end.left_ms() == 0);
  now_ns = 9'000'000;
  CHECK(end.left_ms() == 0);
}

TEST_CASE("the kernel's clock continues") {
  std::int64_t const before = strata::detail::kernel_ns();
  strata::detail::deadline end(1'000'000);
  while (end.lasts()) continue;
  CHECK(strata::detail::kernel_ns() - before >= 1'000'000);
}

}  // namespace deadline_test
