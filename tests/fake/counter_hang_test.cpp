// Counting beside a device that does not come to an end: no step waits for it for ever, and what is
// counted then is right.
#include <doctest/doctest.h>

#include <string>

#include "counter_run.hpp"

using fake::counted;
using fake::counting;
using fake::hbm_read;
using fake::hbm_write;
using fake::launch_blocks;
using fake::run_steps;
using fake::says;
using strata::profile;

namespace {

constexpr unsigned hung = fake_blocks_context | fake_blocks_profiler;

void step() {
  STRATA_RANGE("work");
  launch_blocks(2);
}

}  // namespace

TEST_CASE("no step is counted until the device has done what came before it") {
  counting s(hbm_read, "drain=50");
  run_steps(1, step);
  fake_hang(hung);
  run_steps(5, step);
  CHECK(fake_profiler_passes() == 0);
  fake_hang(0);
  run_steps(5, step);
  profile const& p = s.profile();
  fake::no_problem(p);
  CHECK(counted(p).self("work", hbm_read) == 64);
}

TEST_CASE("a pass in which the device hangs does not count, and is made again") {
  counting s(std::string(hbm_read) + '+' + hbm_write, "drain=50");
  fake_profiler_set_metrics_per_pass(1);
  run_steps(2, step);
  {
    STRATA_STEP();
    {
      STRATA_RANGE("work");
      launch_blocks(2);
      fake_hang(hung);
    }
    STRATA_RANGE("after");
    launch_blocks(7);
  }
  run_steps(4, step);
  fake_hang(0);
  run_steps(6, step);
  profile const& p = s.profile();
  fake::no_problem(p);
  CHECK(counted(p).self("work", hbm_read) == 64);
  CHECK(counted(p).self("work", hbm_write) == 64);
}

TEST_CASE("a program that ends while the device is in the way is told so") {
  counting s(std::string(hbm_read) + '+' + hbm_write, "drain=50");
  fake_profiler_set_metrics_per_pass(1);
  int steps = 0;
  SUBCASE("before the first pass") { steps = 1; }
  SUBCASE("before the second pass") { steps = 2; }
  run_steps(steps, step);
  fake_hang(hung);
  run_steps(3, step);
  fake_hang(0);
  CHECK(says(s.profile().problems.at(0), "had not done its earlier work in 3 steps in a row"));
}
