// Counting takes steps: each is a pass, and a metric has its value from the one pass that has it.
#include <doctest/doctest.h>

#include <atomic>
#include <cmath>
#include <string>
#include <thread>

#include <strata/collect/host/recorder.hpp>

#include "../counter_tables.hpp"
#include "../patience.hpp"
#include "counter_run.hpp"

namespace counter_passes_test {

using fake::counted;
using fake::counting;
using fake::hbm_read;
using fake::hbm_write;
using fake::l2_bytes;
using fake::launch_blocks;
using fake::run_steps;
using fake::sass;
using strata::profile;

namespace {

std::string const four = std::string(hbm_read) + '+' + hbm_write + '+' + l2_bytes + '+' + sass;

void step() {
  {
    STRATA_RANGE("a");
    launch_blocks(2);
  }
  STRATA_RANGE("b");
  launch_blocks(3);
  launch_blocks(4);
}

}  // namespace

TEST_CASE("one pass: counts are exact, and the steps after it are the program's own") {
  counting s(hbm_read);
  run_steps(1, step);
  CHECK(fake_profiler_passes() == 0);
  CHECK(fake_calls("cuptiRangeProfilerEnable") == 0);
  run_steps(1, step);
  CHECK(fake_profiler_passes() == 1);
  CHECK(fake_profiler_pushes() == 2);
  CHECK(fake_profiler_enabled() == 0);  // given back as soon as all is counted
  run_steps(5, step);
  CHECK(fake_profiler_passes() == 1);
  profile const& p = fake::clean(s);
  CHECK(p.counters().where == "GH100");
  CHECK(p.counters().passes == 1);
  CHECK(p.counters().passes_done == 1);
  counted const c(p);
  CHECK(c.self("a", hbm_read) == 64);
  CHECK(c.self("b", hbm_read) == 224);
  CHECK(p.kernels.size() == 3);  // of the timed step alone
}

TEST_CASE("several passes over several steps") {
  counting s(four);
  fake_profiler_set_metrics_per_pass(1);
  fake_profiler_set_weight(hbm_write, 2);
  fake_profiler_set_weight(l2_bytes, 3);
  fake_profiler_set_weight(sass, 0.25);
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(fake_profiler_passes() == (i == 0 ? 0 : i < 5 ? i - 1 : 4));
    run_steps(1, step);
  }
  profile const& p = fake::clean(s);
  CHECK(p.counters().passes == 4);
  CHECK(p.counters().passes_done == 4);
  counted const c(p);
  CHECK(c.self("a", hbm_read) == 64);
  CHECK(c.self("a", hbm_write) == 128);
  CHECK(c.self("a", l2_bytes) == 192);
  CHECK(c.self("a", sass) == 16);
  CHECK(c.self("b", hbm_read) == 224);
  CHECK(c.self("b", sass) == 56);
}

TEST_CASE("a metric has the work of the step that counted it, and of no other") {
  counting s(four);
  fake_profiler_set_metrics_per_pass(1);
  int number = 0;
  run_steps(5, [&] {
    STRATA_RANGE("a");
    launch_blocks(number++);
  });
  counted const c(s.profile());
  CHECK(c.self("a", hbm_read) == 32);
  CHECK(c.self("a", hbm_write) == 64);
  CHECK(c.self("a", l2_bytes) == 96);
  CHECK(c.self("a", sass) == 128);
}

TEST_CASE("instrumented code counts, since no kernel is traced meanwhile") {
  // Windows without an end: the trace is on when a pass begins.
  counting s(sass, "repeat=0,warmup=1");
  run_steps(2, step);
  {
    STRATA_STEP();
    CHECK(fake_kind_enabled(fake::kernels) == 0);
    step();
  }
  {
    STRATA_STEP();
    CHECK(fake_kind_enabled(fake::kernels) == 1);
    step();
  }
  counted const c(s.profile());
  CHECK(c.self("a", sass) == 64);
}

TEST_CASE("the program ends early: what is complete is reported, the rest is marked") {
  counting s(std::string(hbm_read) + '+' + sass);
  run_steps(2, step);
  profile const& p = s.profile();
  fake::one_problem(p, "the program ended after 1 of 2 counting steps");
  CHECK(p.counters().passes_done == 1);
  counted const c(p);
  CHECK(c.self("a", hbm_read) == 64);
  CHECK(c.empty("a", sass));
  CHECK(fake::says(c.note("a", sass), "not reached"));
}

TEST_CASE("the program ends within a configuration: nothing of it is invented") {
  counting s(four);
  fake_profiler_set_metrics_per_pass(1);
  run_steps(3, step);
  profile const& p = s.profile();
  fake::one_problem(p, "the program ended after 2 of 4 counting steps");
  counted const c(p);
  for (char const* const metric : {hbm_read, hbm_write, l2_bytes, sass})
    CHECK(c.empty("a", metric));
}

TEST_CASE("the program ends before anything is counted") {
  counting s(hbm_read);
  run_steps(1, step);
  profile const& p = s.profile();
  CHECK(p.counters().values.empty());
  CHECK(p.kernels.size() == 3);
}

TEST_CASE("a session that is stopped inside a pass has no half of it") {
  counting s(std::string(hbm_read) + '+' + sass);
  run_steps(2, step);
  {
    STRATA_STEP();
    STRATA_RANGE("a");
    launch_blocks(1);
    s.stop();
    CHECK(fake_profiler_enabled() == 0);
    launch_blocks(1);
  }
  profile const& p = s.profile();
  fake::one_problem(p, "the program ended after 1 of 2 counting steps");
  counted const c(p);
  CHECK(c.self("a", hbm_read) == 64);
  CHECK(c.empty("a", sass));
}

namespace {

/// What the profiler was called for, by threads that the fake tells apart.
std::size_t profiler_calls() {
  std::size_t all = 0;
  for (char const* const each :
       {"cuptiRangeProfilerPushRange", "cuptiRangeProfilerPopRange", "cuptiRangeProfilerStop",
        "cuptiRangeProfilerDisable", "cuptiRangeProfilerDecodeData"})
    all += fake_calls(each);
  return all;
}

}  // namespace

TEST_CASE("another thread stops the session within a pass: the thread of the pass ends it") {
  strata::session s(fake::configure(std::string("trace,formats=none,active=1,counters=") +
                                    hbm_read + '+' + sass));
  fake::unscript();
  fake_profiler_reset();
  std::size_t const misuses = fake_misuse_count();
  REQUIRE(s.start().ok());
  run_steps(2, step);
  {
    STRATA_STEP();
    std::atomic<bool> stopped{false};
    std::thread other([&] {
      s.stop();
      stopped = true;
    });
    test::await([&] { return stopped.load(); },
                [] {
                  STRATA_RANGE("a");
                  launch_blocks(1);
                });
    other.join();
  }
  CHECK(fake_profiler_enabled() == 0);
  CHECK(fake_profiler_passes() == 2);  // the last one was stopped, and does not count
  profile const& p = s.profile();
  CHECK(p.counters().passes_done == 1);
  CHECK(counted(p).self("a", hbm_read) == 64);
  CHECK(counted(p).empty("a", sass));
  CHECK(fake_misuse_count() == misuses);
}

TEST_CASE("another thread stops the session, and the thread of the pass does not come by") {
  std::size_t const misuses = fake_misuse_count();
  {
    fake::started s(fake::counting_options(hbm_read));
    run_steps(1, step);
    {
      STRATA_STEP();
      step();
      std::size_t const calls = profiler_calls();
      std::thread([&] { s.stop(); }).join();
      CHECK(profiler_calls() == calls);
      step();
      CHECK(profiler_calls() == calls);  // nobody calls a profiler that was given up
      CHECK(fake_profiler_enabled() == 1);
    }
    CHECK(s.profile().counters().values.empty());
    CHECK(s.profile().kernels.size() == 3);
  }
  step();
  counting next(hbm_read);  // takes it over
  run_steps(2, step);
  fake::no_problem(next.profile());
  next.stop();
  CHECK(fake_profiler_enabled() == 0);
  CHECK(fake_misuse_count() == misuses);
}

TEST_CASE("a session that stops within a pass records nothing afterwards") {
  counting s(hbm_read, "repeat=0");
  run_steps(1, step);
  {
    STRATA_STEP();
    s.stop();
    CHECK_FALSE(strata::detail::recorder::instance().recording());
  }
  CHECK(s.profile().ranges.size() == 2);
}

TEST_CASE("counters of the CPU by configuration, those of the GPU in code") {
  fake::started s("trace,formats=none,counters=cpu_task_clock_ns");
  auto const spin = [] {
    for (volatile int i = 0; i < 1'000'000;) i = i + 1;
  };
  step();
  for (auto const& pass : s.counters(hbm_read)) {
    (void)pass;
    step();
    STRATA_RANGE("in the pass");
    spin();
  }
  {
    STRATA_RANGE("after");
    spin();
  }
  profile const& p = s.profile();
  CHECK(counted(p).self("a", hbm_read) == 64);
  for (std::string const& each : p.problems) {
    MESSAGE(each);
    if (fake::says(each, "perf_event_open")) return;  // this machine forbids it
  }
  strata::call_tree const tree(p);
  strata::counter_table const cpu = strata::make_counter_table(p, tree, strata::counter_set::cpu);
  std::size_t const clock = cpu.find("cpu_task_clock_ns");
  for (std::size_t i = 0; i < tree.rows().size(); ++i) {
    double const value = cpu.at(i, clock, strata::counter_scope::self).value;
    if (tree.rows()[i].path == "after") CHECK(value > 100'000);
    if (tree.rows()[i].path == "in the pass") CHECK(std::isnan(value));  // no times either
  }
}

TEST_CASE("runs one after the other find nothing of each other") {
  for (int blocks : {1, 5}) {
    counting s(hbm_read);
    run_steps(3, [&] {
      STRATA_RANGE("a");
      launch_blocks(blocks);
    });
    profile const& p = fake::clean(s);
    CHECK(counted(p).self("a", hbm_read) == 32 * blocks);
    CHECK(p.counters().passes_done == 1);
  }
  // So does one object that starts again.
  counting s(hbm_read);
  for (int blocks : {2, 3}) {
    if (!s.running()) REQUIRE(s.start().ok());
    run_steps(3, [&] {
      STRATA_RANGE("a");
      launch_blocks(blocks);
    });
    CHECK(counted(s.profile()).self("a", hbm_read) == 32 * blocks);
  }
  CHECK(fake_profiler_hosts() <= 2);  // of the session that still has its result
}

TEST_CASE("without graphs presets are whole") {
  for (char const* preset : {"roofline", "findings"}) {
    CAPTURE(preset);
    counting s(preset);
    run_steps(5, [] {
      STRATA_RANGE("step");
      launch_blocks(2);
    });
    profile const& p = fake::clean(s);
    CHECK(p.counters().left_out.empty());
    counted const c(p);
    for (strata::resolved_metric const& each : p.counters().metrics.metrics) {
      CAPTURE(each.key);
      CHECK_FALSE(c.empty("step", each.key));
    }
  }
}

}  // namespace counter_passes_test
