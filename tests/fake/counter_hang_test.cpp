// Counting on a device whose work does not end: no step waits for work that the program
// itself does not wait for, and what is counted then is right.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "counter_run.hpp"

namespace counter_hang_test {

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

constexpr std::uint32_t own = 9;       // the stream that the steps launch into
constexpr std::uint32_t foreign = 13;  // another one
constexpr long without_end = -1;

void own_step() {
  STRATA_RANGE("work");
  launch_blocks(2, "kernel", own);
}

/// A kernel of another stream that runs for so long.
void launch_stuck(long milliseconds, std::uint32_t context = 1) {
  STRATA_RANGE("stuck");
  fake_kernel kernel;
  kernel.stream = foreign;
  kernel.context = context;
  (void)fake_launch(&kernel);
  fake_occupy(context, foreign, milliseconds);
}

/// How long each step took, in ms.
template <class Body>
std::vector<double> time_steps(int steps, Body body) {
  std::vector<double> all;
  for (int i = 0; i < steps; ++i) {
    auto const begin = std::chrono::steady_clock::now();
    run_steps(1, body);
    auto const time = std::chrono::steady_clock::now() - begin;
    all.push_back(std::chrono::duration<double, std::milli>(time).count());
  }
  return all;
}

double longest(std::vector<double> const& steps) {
  return *std::max_element(steps.begin(), steps.end());
}
double sum(std::vector<double> const& steps) {
  double all = 0;
  for (double const ms : steps) all += ms;
  return all;
}

/// Far above what a step waits for other streams (2 ms), on a loaded machine, and far below drain=.
constexpr double much_ms = 2500;
constexpr char const* long_drain = "drain=3000";

}  // namespace

TEST_CASE("a program that runs ahead of the device by all of its steps is counted") {
  counting s(hbm_read, long_drain);
  for (int i = 0; i < 4; ++i) {
    own_step();
    if (i == 0) fake_occupy(1, own, 400);  // the timed step, and all others, wait in the stream
    run_steps(1, own_step);
  }
  profile const& p = fake::clean(s);
  CHECK(counted(p).self("work", hbm_read) == 64);
}

TEST_CASE("a pass waits for what was launched in it") {
  counting s(hbm_read, long_drain);
  run_steps(4, [] {
    own_step();
    fake_occupy(1, own, 50);
    STRATA_RANGE("after");
    launch_blocks(3, "kernel", own);
  });
  profile const& p = fake::clean(s);
  CHECK(counted(p).self("work", hbm_read) == 64);
  CHECK(counted(p).self("after", hbm_read) == 96);
}

TEST_CASE("no step waits for another stream that has no end, and the report names it") {
  counting s(hbm_read, long_drain);
  run_steps(1, [] {
    own_step();
    own_step();
    launch_stuck(without_end);
  });
  std::vector<double> const steps = time_steps(40, own_step);
  CHECK(longest(steps) < much_ms);
  CHECK(sum(steps) < much_ms);
  CHECK(fake_profiler_passes() == 0);
  fake_occupy(1, foreign, 0);
  profile const& p = s.profile();
  CHECK(says(p.problems.at(0), "had not done its earlier work in 40 steps in a row"));
  CAPTURE(p.problems.at(0));
  CHECK(
      says(p.problems.at(0), "in the way was a stream whose last traced launch was in stuck, 0."));
}

TEST_CASE("another stream that ends later only postpones the passes") {
  counting s(std::string(hbm_read) + '+' + hbm_write, long_drain);
  fake_profiler_set_metrics_per_pass(1);
  run_steps(2, own_step);  // a timed one and a pass
  CHECK(fake_profiler_passes() == 1);
  launch_stuck(without_end);
  CHECK(longest(time_steps(10, own_step)) < much_ms);
  CHECK(fake_profiler_passes() == 1);
  fake_occupy(1, foreign, 0);
  run_steps(2, own_step);
  profile const& p = fake::clean(s);
  CHECK(counted(p).self("work", hbm_read) == 64);
  CHECK(counted(p).self("work", hbm_write) == 64);
}

TEST_CASE("the stream is the one of the last step, whatever was launched before") {
  counting s(hbm_read, long_drain);
  for (int i = 0; i < 50; ++i) launch_stuck(0);  // say, weights were made in this stream
  run_steps(1, own_step);
  launch_stuck(without_end);
  CHECK(longest(time_steps(5, own_step)) < much_ms);
  fake_occupy(1, foreign, 0);
  fake_occupy(1, own, 300);
  run_steps(2, own_step);
  fake::no_problem(s.profile());
}

TEST_CASE("the own streams of several contexts are waited for, another one of theirs is not") {
  fake_create_context(2);
  auto const in_both = [] {
    own_step();
    STRATA_RANGE("second");
    fake_kernel kernel;
    kernel.stream = 20;
    kernel.context = 2;
    (void)fake_launch(&kernel);
  };
  counting s(hbm_read, long_drain);
  run_steps(1, in_both);
  SUBCASE("the own streams") {
    fake_occupy(1, own, 200);
    fake_occupy(2, 20, 400);
    run_steps(1, in_both);
    CHECK(fake_profiler_passes() != 0);
  }
  SUBCASE("another stream") {
    launch_stuck(without_end, 2);
    CHECK(longest(time_steps(10, in_both)) < much_ms);
    CHECK(fake_profiler_passes() == 0);
    fake_occupy(2, foreign, 0);
    run_steps(2, in_both);
    CHECK(fake_profiler_passes() != 0);
  }
  (void)s.profile();
}

TEST_CASE("captures of another thread continue while a pass waits for the device, and are valid") {
  counting s(hbm_read, long_drain);
  run_steps(1, own_step);
  std::atomic<bool> go_on{true};
  std::atomic<int> bad{0};
  double longest_capture = 0;
  fake_occupy(1, own, 600);
  std::thread makes_graphs([&] {
    while (go_on) {
      auto const begin = std::chrono::steady_clock::now();
      (void)fake_begin_capture(21);
      launch_blocks(1, "captured", 21);
      fake_graph_t const graph = fake_end_capture(21);
      auto const time = std::chrono::steady_clock::now() - begin;
      longest_capture =
          std::max(longest_capture, std::chrono::duration<double, std::milli>(time).count());
      if (graph == 0) ++bad;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  });
  run_steps(1, own_step);
  go_on = false;
  makes_graphs.join();
  run_steps(3, own_step);
  CHECK(bad == 0);
  CHECK(fake_capture_broken() == 0);
  CHECK(fake_stream_queries() > 10);  // it waited
  CHECK(longest_capture < much_ms);
  CHECK(counted(s.profile()).self("work", hbm_read) == 64);
}

TEST_CASE("a pass that a capture ruined ends in a program that runs ahead, and is made again") {
  counting s(hbm_read, long_drain);
  std::atomic<bool> captures{false};
  std::atomic<bool> ends{false};
  std::thread capturing;
  auto const run_ahead = [] {
    own_step();
    fake_occupy(1, own, 200);  // also when the next step begins
  };
  run_steps(1, own_step);
  run_steps(1, [&] {
    own_step();
    capturing = std::thread([&] {
      (void)fake_begin_capture(21);
      captures = true;
      while (!ends) std::this_thread::yield();
      (void)fake_end_capture(21);
    });
    while (!captures) std::this_thread::yield();
    STRATA_RANGE("after");
    ends = true;
    run_ahead();
  });
  capturing.join();
  run_steps(3, run_ahead);
  CHECK(fake_capture_broken() == 0);
  profile const& p = fake::clean(s);
  CHECK(counted(p).self("work", hbm_read) == 64);
}

TEST_CASE("after one pass in which a device did not come to its end, no other waits so long") {
  constexpr double drain_ms = 600;
  counting s(hbm_read, "drain=600");
  run_steps(1, own_step);
  std::vector<double> const steps = time_steps(6, [] {
    own_step();
    launch_stuck(without_end);  // a collective that needs this thread
    {
      STRATA_RANGE("after");
      launch_blocks(1, "kernel", own);
    }
    fake_occupy(1, foreign, 0);
  });
  CHECK(steps[0] > drain_ms * 0.9);
  CHECK(longest({steps.begin() + 1, steps.end()}) < drain_ms / 2);
  CHECK(says(s.profile().problems.at(0),
             "in the way was a stream whose last traced launch was in stuck"));
}

TEST_CASE("with sync=1 one range waits for a device without an end, and says so") {
  fake::traced s("sync=1,drain=600");
  run_steps(1, own_step);
  launch_stuck(without_end);
  std::vector<double> const steps = time_steps(10, own_step);
  CHECK(sum(steps) < 600);
  fake_occupy(1, foreign, 0);
  profile const& p = s.profile();
  CHECK(says(p.problems.at(0), "(drain=) after the end of stuck, so no range waited"));
}

TEST_CASE("no step is counted until the device has done what came before it") {
  counting s(hbm_read, "drain=50");
  run_steps(1, step);
  fake_hang(hung);
  run_steps(5, step);
  CHECK(fake_profiler_passes() == 0);
  fake_hang(0);
  run_steps(5, step);
  profile const& p = fake::clean(s);
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
  profile const& p = fake::clean(s);
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

}  // namespace counter_hang_test
