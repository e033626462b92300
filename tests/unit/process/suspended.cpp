// A machine that is suspended during a run: steps are as long as they were, and a sentence says so.
#include <doctest/doctest.h>

#include <strata/profile.hpp>
#include <strata/range.hpp>
#include <strata/session.hpp>

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <vector>

namespace {

std::int64_t not_in_monotonic = 0;
std::int64_t more_in_boottime = 0;

std::int64_t now_of(clockid_t clock) {
  timespec now{};
  (void)syscall(SYS_clock_gettime, clock, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

/// In the place of the C library's.
extern "C" int clock_gettime(clockid_t clock, timespec* now) noexcept {
  std::int64_t ns = now_of(clock);
  if (clock == CLOCK_MONOTONIC) ns -= not_in_monotonic;
  if (clock == CLOCK_BOOTTIME) ns += more_in_boottime;
  now->tv_sec = static_cast<time_t>(ns / 1'000'000'000);
  now->tv_nsec = static_cast<long>(ns % 1'000'000'000);
  return 0;
}

namespace {

void rest_ms(std::int64_t ms) {
  std::int64_t const until = now_of(CLOCK_BOOTTIME) + ms * 1'000'000;
  while (now_of(CLOCK_BOOTTIME) < until) usleep(500);
}

/// What a step took at least, within it, and at most, around it: however the machine delays it.
struct bounds {
  std::int64_t least;
  std::int64_t most;
};

/// Steps, a suspend in their middle, and what each step took.
strata::profile run(void (*suspend)(), std::vector<bounds>& took) {
  strata::options how;
  how.trace = false;
  how.table = how.csv = how.json = how.chrome_trace = false;
  strata::session session(how);
  REQUIRE(session.start().ok());
  for (int i = 0; i < 20; ++i) {
    if (i == 10) suspend();
    std::int64_t const begin = now_of(CLOCK_BOOTTIME);
    std::int64_t within = 0;
    {
      STRATA_STEP();
      std::int64_t const begun = now_of(CLOCK_BOOTTIME);
      rest_ms(5);
      within = now_of(CLOCK_BOOTTIME) - begun;
    }
    took.push_back({within, now_of(CLOCK_BOOTTIME) - begin});
  }
  return session.profile();
}

void check(strata::profile const& p, std::vector<bounds> const& took,
           std::string const& suspended) {
  REQUIRE(p.steps.size() == took.size());
  for (std::size_t i = 0; i < took.size(); ++i) {
    std::int64_t const step = p.steps[i].end - p.steps[i].begin;
    CHECK(step > took[i].least * 95 / 100);
    CHECK(step < took[i].most * 105 / 100);
  }
  std::string said;
  for (std::string const& problem : p.problems) said += problem + '\n';
  CAPTURE(said);
  CHECK(said.find("the machine was suspended for " + suspended) != said.npos);
}

}  // namespace

TEST_CASE("nothing is said of a machine that was not suspended") {
  std::vector<bounds> took;
  strata::profile const p = run([] {}, took);
  for (std::string const& problem : p.problems) CHECK(problem.find("suspended") == problem.npos);
}

TEST_CASE("the moment of a session is the system's, whatever the C library's clock says") {
  not_in_monotonic = 3'600'000'000'000;
  std::vector<bounds> took;
  std::int64_t const before = now_of(CLOCK_REALTIME);
  strata::profile const p = run([] {}, took);
  CHECK(p.environment.started_at_unix_ns >= before);
  CHECK(p.environment.started_at_unix_ns <= now_of(CLOCK_REALTIME));
  not_in_monotonic = 0;
}

TEST_CASE("the processor's counter advances while the machine is suspended") {
  std::vector<bounds> took;
  strata::profile const p = run(
      [] {
        rest_ms(400);
        not_in_monotonic += 400'000'000;
      },
      took);
  check(p, took, "40");
}

TEST_CASE("the processor's counter stands still while the machine is suspended") {
  std::vector<bounds> took;
  strata::profile const p = run([] { more_in_boottime += 10'000'000'000; }, took);
  check(p, took, "10.0 s");
}
