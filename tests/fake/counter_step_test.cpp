// Where passes begin and end: steps, loops, captures of graphs.
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include <fcntl.h>
#include <unistd.h>

#include "counter_run.hpp"

namespace counter_step_test {

using fake::counted;
using fake::counting;
using fake::hbm_read;
using fake::hbm_write;
using fake::launch_blocks;
using fake::one_problem;
using fake::run_steps;
using strata::profile;

namespace {

void step() {
  STRATA_RANGE("a");
  launch_blocks(2);
}

/// stderr as a terminal, until `read`.
struct terminal_stderr {
  int master = ::posix_openpt(O_RDWR | O_NOCTTY);
  int before = ::dup(2);

  terminal_stderr() {
    REQUIRE(::grantpt(master) == 0);
    REQUIRE(::unlockpt(master) == 0);
    int const slave = ::open(::ptsname(master), O_RDWR | O_NOCTTY);
    REQUIRE(::dup2(slave, 2) == 2);
    (void)::close(slave);
    (void)::fcntl(master, F_SETFL, O_NONBLOCK);
  }
  std::string read() {
    std::fflush(stderr);
    std::string all;
    char text[4096];
    for (auto size = ::read(master, text, sizeof text); size > 0;
         size = ::read(master, text, sizeof text))
      all.append(text, static_cast<std::size_t>(size));
    (void)::dup2(before, 2);
    (void)::close(before);
    (void)::close(master);
    return all;
  }
};

/// A session whose passes the program drives.
struct by_hand : fake::started {
  by_hand() : started("trace,formats=none") {}
};

}  // namespace

TEST_CASE("before the first pass it is said once how many steps count") {
  terminal_stderr terminal;
  {
    counting s(std::string(hbm_read) + '+' + hbm_write);
    fake_profiler_set_metrics_per_pass(1);
    run_steps(5, step);
    s.stop();
  }
  CHECK(terminal.read() == "strata: counting on GH100 in the next 2 steps\r\n");
}

TEST_CASE("a program without steps is told what counters need") {
  counting s(hbm_read);
  for (int i = 0; i < 5; ++i) step();
  one_problem(s.profile(),
              "counters= needs STRATA_STEP() around each step, and the program has none");
  CHECK(fake_profiler_passes() == 0);
}

TEST_CASE("a program with too few steps is told which is the first that counts") {
  counting s(hbm_read, "skip=2,warmup=1");
  run_steps(4, step);
  one_problem(s.profile(), "before the first counting step, which is step 4, counted from 0");
}

TEST_CASE("counting begins after the last window") {
  counting s(hbm_read, "skip=1,repeat=2");
  run_steps(4, step);
  CHECK(fake_profiler_passes() == 0);
  run_steps(1, step);
  CHECK(fake_profiler_passes() == 1);
  profile const& p = fake::clean(s);
  CHECK(p.steps.size() == 2);
  CHECK(p.cost.unrecorded_steps == 2);  // a counting step takes longer
  CHECK(counted(p).total("a", hbm_read) == 64);
}

TEST_CASE("windows without an end give the steps after the first one to counting") {
  counting s(hbm_read, "skip=1,repeat=0");
  run_steps(8, step);
  profile const& p = fake::clean(s);
  CHECK(fake_profiler_passes() == 1);
  CHECK(p.steps.size() == 4);
  CHECK(counted(p).total("a", hbm_read) == 64);
}

TEST_CASE("a program with too few windows is told which step would count") {
  counting s(hbm_read, "skip=1,repeat=2");
  run_steps(4, step);
  one_problem(s.profile(), "before the first counting step, which is step 4, counted from 0");
}

TEST_CASE("a stream that captures when a step begins: the step is not a pass, the next one is") {
  counting s(hbm_read);
  run_steps(1, step);
  (void)fake_begin_capture(9);
  run_steps(3, step);
  CHECK(fake_profiler_passes() == 0);
  CHECK(fake_capture_broken() == 0);
  CHECK(fake_end_capture(9) != 0);
  run_steps(2, step);
  fake::no_problem(s.profile());
  CHECK(fake_profiler_passes() == 1);
  CHECK(counted(s.profile()).self("a", hbm_read) == 64);
}

TEST_CASE("a capture that never ends is told after a while") {
  counting s(hbm_read);
  run_steps(1, step);
  (void)fake_begin_capture(9);
  run_steps(120, step);
  CHECK(fake_capture_broken() == 0);
  CHECK(fake_end_capture(9) != 0);
  CHECK(fake::says(s.profile().problems.at(0), "no pass could begin: end captures within a step"));
}

TEST_CASE("a capture within a counting step is left intact, and what runs is counted") {
  counting s(hbm_read);
  auto const capturing = [] {
    step();
    fake_graph_t graph = 0;
    {
      STRATA_RANGE("capture");
      (void)fake_begin_capture(9);
      {
        STRATA_RANGE("captured");
        launch_blocks(50, "captured", 9);
      }
      graph = fake_end_capture(9);
    }
    CHECK(graph != 0);
    STRATA_RANGE("replay");
    (void)fake_graph_launch(fake_graph_clone(graph), 9);
  };
  run_steps(2, capturing);
  profile const& p = s.profile();
  CHECK(p.counters().passes_done == 1);
  CHECK(fake_capture_broken() == 0);
  counted const c(p);
  CHECK(c.self("a", hbm_read) == 64);
  CHECK(c.self("replay", hbm_read) == 32 * 50);
}

TEST_CASE("a capture across the end of a counting step: the pass is void, and made again") {
  counting s(hbm_read);
  run_steps(1, step);
  {
    STRATA_STEP();
    step();
    (void)fake_begin_capture(9);
  }
  CHECK(fake_profiler_passes() == 0);
  CHECK(fake_capture_broken() == 0);
  CHECK(fake_end_capture(9) != 0);
  run_steps(2, step);
  profile const& p = fake::clean(s);
  CHECK(fake_profiler_passes() == 2);  // the void one as well
  CHECK(p.counters().passes_done == 1);
  CHECK(counted(p).self("a", hbm_read) == 64);
}

TEST_CASE("a session that ends while a stream captures leaves the capture intact") {
  {
    fake::started s(fake::counting_options(hbm_read));
    run_steps(1, step);
    {
      STRATA_STEP();
      step();
      (void)fake_begin_capture(9);
    }
    s.stop();
    CHECK(fake_capture_broken() == 0);
    CHECK(s.profile().counters().values.empty());
  }
  CHECK(fake_end_capture(9) != 0);
  CHECK(fake_misuse_count() == 0);
}

TEST_CASE("a loop over the passes") {
  by_hand s;
  fake_profiler_set_metrics_per_pass(1);
  step();
  int runs = 0;
  for (auto const& pass : s.counters(std::string(hbm_read) + '+' + hbm_write)) {
    (void)pass;
    step();
    ++runs;
  }
  CHECK(runs == 2);
  fake::no_problem(s.profile());
  CHECK(counted(s.profile()).self("a", hbm_write) == 64);
  CHECK(fake_misuse_count() == 0);
}

TEST_CASE("a loop over the passes runs its body once where nothing can be counted") {
  by_hand s;
  fake_profiler_fail("cuptiProfilerGetCounterAvailability", 1, 1, 35);
  int runs = 0;
  for (auto const& pass : s.counters(hbm_read)) {
    (void)pass;
    step();
    ++runs;
  }
  CHECK(runs == 1);
  one_problem(s.profile(), "NVreg_RestrictProfilingToAdminUsers=0");
  CHECK(s.profile().kernels.size() == 1);
}

TEST_CASE("a pass that breaks off does not count, and is made again") {
  by_hand s;
  step();
  for (auto const& pass : s.counters(hbm_read)) {
    (void)pass;
    launch_blocks(7);
    break;
  }
  int runs = 0;
  for (auto const& pass : s.counters(hbm_read)) {
    (void)pass;
    step();
    ++runs;
  }
  CHECK(runs == 1);
  CHECK(counted(s.profile()).self("a", hbm_read) == 64);
  CHECK(s.profile().counters().passes_done == 1);
  CHECK(fake_misuse_count() == 0);
}

TEST_CASE("replay runs its body once, and refuses a set of several passes") {
  by_hand s;
  fake_profiler_set_metrics_per_pass(1);
  step();
  int runs = 0;
  auto const body = [&] {
    step();
    ++runs;
  };
  strata::status const refused = s.counters(std::string(hbm_read) + '+' + hbm_write).replay(body);
  CHECK(refused.code() == strata::errc::bad_argument);
  CHECK(fake::says(refused.message(), "takes 2 passes"));
  CHECK(runs == 1);
  CHECK(fake_profiler_passes() == 0);
  CHECK(s.counters(std::string(hbm_read) + '+' + hbm_write).replay(body, strata::repeatable).ok());
  CHECK(runs == 3);
  CHECK(counted(s.profile()).self("a", hbm_write) == 64);
  CHECK(fake_misuse_count() == 0);
}

TEST_CASE("replay tells that formats of the tensor cores need more passes") {
  by_hand s;
  step();
  std::string const cycles = "sm__pipe_tensor_cycles_active.sum";
  int runs = 0;
  strata::status const done =
      s.counters(cycles + "+sm__ops_path_tensor_src_fp16_dst_fp32.sum").replay([&] {
        step();
        ++runs;
      });
  CHECK(runs == 1);
  CHECK(done.code() == strata::errc::limit);
  CHECK(fake::says(done.message(), "takes 2 passes"));
  CHECK(counted(s.profile()).self("a", cycles.c_str()) > 0.0);
}

TEST_CASE("replay of a set of one pass") {
  by_hand s;
  step();
  int runs = 0;
  CHECK(s.counters(hbm_read)
            .replay([&] {
              step();
              ++runs;
            })
            .ok());
  CHECK(runs == 1);
  fake::no_problem(s.profile());
  CHECK(counted(s.profile()).self("a", hbm_read) == 64);
}

}  // namespace counter_step_test
