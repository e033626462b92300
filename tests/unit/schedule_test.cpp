#include <strata/base/clock.hpp>
#include <strata/session/reported_windows.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>

namespace schedule_test {

using namespace strata;

namespace {

/// The phases of the first steps, a letter each: `.` skip, `w` warm-up, `a` active.
std::string phases_of(std::uint32_t skip, std::uint32_t warmup, std::uint32_t active,
                      std::uint32_t repeat, std::uint32_t steps) {
  options how;
  how.skip = skip;
  how.warmup = warmup;
  how.active = active;
  how.repeat = repeat;
  detail::schedule const s(how);
  std::string text;
  for (std::uint32_t step = 0; step < steps; ++step) {
    detail::schedule::phase const now = s.phase_of(step);
    text += now == detail::schedule::phase::skip     ? '.'
            : now == detail::schedule::phase::warmup ? 'w'
                                                     : 'a';
  }
  return text;
}

}  // namespace

TEST_CASE("phases of steps") {
  CHECK(phases_of(0, 0, 0, 1, 5) == "aaaaa");
  CHECK(phases_of(2, 0, 0, 1, 5) == "..aaa");
  CHECK(phases_of(2, 1, 0, 1, 6) == "..waaa");
  CHECK(phases_of(2, 1, 0, 0, 6) == "..waaa");
  CHECK(phases_of(0, 0, 2, 1, 5) == "aa...");
  CHECK(phases_of(1, 1, 2, 1, 8) == ".waa....");
  CHECK(phases_of(1, 1, 2, 2, 12) == ".waa.waa....");
  CHECK(phases_of(1, 1, 2, 0, 12) == ".waa.waa.waa");
  CHECK(phases_of(0, 1, 1, 0, 6) == "wawawa");
  CHECK(phases_of(0, 0, 1, 3, 6) == "aaa...");
}

TEST_CASE("a window in each so many steps") {
  options wanted;
  wanted.every = 4;
  detail::schedule const one(wanted);
  wanted.warmup = 1;
  wanted.active = 2;
  detail::schedule const two(wanted);
  wanted.active = 9;
  detail::schedule const all(wanted);
  for (std::uint32_t step = 0; step<4'000'000; step += step> 1000 ? 99'999 : 1) {
    using phase = detail::schedule::phase;
    CHECK(one.phase_of(step) == (step % 4 == 3 ? phase::active : phase::skip));
    CHECK(two.phase_of(step) == (step % 4 > 1    ? phase::active
                                 : step % 4 == 1 ? phase::warmup
                                                 : phase::skip));
    CHECK(all.phase_of(step) == (step % 10 == 0 ? phase::warmup : phase::active));
  }
}

TEST_CASE("counting steps come after all windows, or after the first of those without an end") {
  options how;
  how.skip = 2;
  how.warmup = 1;
  CHECK(detail::schedule(how).steps_before_counting() == 0);
  how.active = 3;
  CHECK(detail::schedule(how).steps_before_counting() == 6);
  how.repeat = 4;
  CHECK(detail::schedule(how).steps_before_counting() == 24);
  how.repeat = 0;
  CHECK(detail::schedule(how).steps_before_counting() == 6);
}

TEST_CASE("large numbers do not wrap") {
  constexpr std::uint32_t most = 0xffffffffu;
  CHECK(phases_of(most, most, most, most, 3) == "...");
  options how;
  how.skip = most - 1;
  how.warmup = 1;
  how.active = 1;
  detail::schedule const s(how);
  CHECK(s.phase_of(most - 2) == detail::schedule::phase::skip);
  CHECK(s.phase_of(most - 1) == detail::schedule::phase::warmup);
  CHECK(s.phase_of(most) == detail::schedule::phase::active);
  CHECK(s.steps_before_counting() == most);
  how.repeat = most;
  CHECK(detail::schedule(how).steps_before_counting() == most);
}

TEST_CASE("every= that is shorter than its window: a sentence") {
  options wanted;
  wanted.every = 5;
  wanted.active = 5;
  CHECK(strata::detail::schedule::ignored(wanted).ok());
  wanted.active = 9;
  CHECK(strata::detail::schedule::ignored(wanted).message().find(
            "every=5 has no room for windows of 9 steps") == 0);
}

TEST_CASE("steps that become slower are noticed once, and again where they become slower still") {
  strata::detail::unrecorded_steps steps;
  auto const run = [&](long us, bool beside_report = false) {
    std::uint32_t by = 0;
    for (int i = 0; i < 255; ++i) {
      steps.begin();
      std::int64_t const until = strata::detail::monotonic_ns() + 1000 * us;
      while (strata::detail::monotonic_ns() < until) {
      }
      steps.end();
      by += steps.slower_by(50, beside_report);
    }
    return by;
  };
  CHECK(run(10) == 0);
  CHECK(run(40) >= 50);
  CHECK(run(40) < 50);
  CHECK(run(1000, true) == 0);  // the report made them slower
  CHECK(run(40) < 50);
  CHECK(run(200) >= 50);
  CHECK(steps.slower_by(50, false) == 0);
}

TEST_CASE("slower= without trigger=: a sentence") {
  options wanted;
  wanted.slower = 10;
  CHECK(strata::detail::schedule::ignored(wanted).message().find("slower= is ignored") == 0);
  wanted.trigger = "now";
  CHECK(strata::detail::schedule::ignored(wanted).ok());
}

TEST_CASE("windows of every= continue after 2^32 steps") {
  options how;
  how.every = 1000;
  how.keep = 1;
  detail::reported_windows windows;
  REQUIRE(windows.open(how).ok());
  std::uint64_t begun = 0;
  auto const run = [&](std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t step = from; step < to; ++step)
      if (windows.is_due(static_cast<std::uint32_t>(step))) {
        CHECK(step % 1000 == 999);
        ++begun;
      }
  };
  std::uint64_t const all = std::uint64_t{1} << 32;
  run(0, 2000);
  run(all / 2, all / 2 + 10);  // in between they are called late
  run(all - 5000, all + 5000);
  CHECK(begun == 12);
}

}  // namespace schedule_test
