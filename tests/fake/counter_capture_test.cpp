// Counting in programs with CUDA graphs: no capture of the program is invalidated, and no call that
// makes or destroys a graph meets one that begins or ends CUPTI's session.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "../patience.hpp"
#include "counter_run.hpp"

namespace counter_capture_test {

using fake::counted;
using fake::counting;
using fake::hbm_read;
using fake::hbm_write;
using fake::l2_bytes;
using fake::launch_blocks;
using fake::run_steps;
using fake::says;
using strata::profile;

namespace {

void step() {
  {
    STRATA_RANGE("a");
    launch_blocks(2);
  }
  STRATA_RANGE("b");
  launch_blocks(3);
}

/// Threads that capture, instantiate, launch and destroy graphs without end, as in
/// tests of a library that captures in its worker threads.
class graph_makers {
 public:
  explicit graph_makers(std::uint32_t threads, unsigned call_us) {
    fake_set_call_time(call_us);
    for (std::uint32_t t = 0; t < threads; ++t) all_.emplace_back([this, t] { run(20 + t); });
    test::await([&] { return good_.load() + bad_.load() >= static_cast<int>(threads); });
  }
  ~graph_makers() { join(); }
  graph_makers(graph_makers const&) = delete;
  graph_makers& operator=(graph_makers const&) = delete;

  void join() {
    go_on_ = false;
    for (std::thread& each : all_) each.join();
    all_.clear();
    fake_set_call_time(0);
  }
  void check() {
    while (good_ + bad_ < 40) std::this_thread::yield();
    join();
    CHECK(bad_ == 0);
    CHECK(fake_capture_broken() == 0);
    CHECK(fake_crash_count() == 0);
  }

 private:
  void run(std::uint32_t stream) {
    while (go_on_) {
      (void)fake_begin_capture(stream);
      {
        STRATA_RANGE("captured");
        launch_blocks(1, "captured", stream);
        fake_take_time();
      }
      fake_graph_t const graph = fake_end_capture(stream);
      ++(graph == 0 ? bad_ : good_);
      if (graph == 0) continue;
      fake_graph_t const executable = fake_graph_clone(graph);
      (void)fake_graph_launch(executable, stream);
      fake_graph_destroy(executable);
      fake_graph_destroy(graph);
    }
  }

  std::vector<std::thread> all_;
  std::atomic<bool> go_on_{true};
  std::atomic<int> good_{0};
  std::atomic<int> bad_{0};
};

/// A capture by another thread, from the constructor to `end`.
class capture_elsewhere {
 public:
  explicit capture_elsewhere(std::uint32_t stream) {
    thread_ = std::thread([this, stream] {
      (void)fake_begin_capture(stream);
      begun_ = true;
      test::await([this] { return ending_.load(); });
      valid_ = fake_end_capture(stream) != 0;
    });
    test::await([this] { return begun_.load(); });
  }
  ~capture_elsewhere() {
    if (thread_.joinable()) (void)end();
  }
  bool end() {
    ending_ = true;
    thread_.join();
    return valid_;
  }

 private:
  std::thread thread_;
  std::atomic<bool> begun_{false};
  std::atomic<bool> ending_{false};
  bool valid_ = false;
};

double milliseconds_of(void (*what)()) {
  auto const begin = std::chrono::steady_clock::now();
  what();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
      .count();
}

/// What other threads launch meanwhile, outside of ranges, belongs to the range that is open: it is
/// counted with it, and where the passes met unequal numbers of it there is no value.
void check_at_least(counted const& c, char const* range, char const* metric, double least) {
  std::string const why_empty = c.note(range, metric);
  CAPTURE(range);
  CAPTURE(why_empty);
  if (c.empty(range, metric)) {
    CHECK(says(why_empty, "inconsistent"));
  } else {
    CHECK(c.total(range, metric) >= least);
  }
}

}  // namespace

TEST_CASE("four threads make graphs while ranges are counted: every capture is valid") {
  counting s(std::string(hbm_read) + '+' + hbm_write + '+' + l2_bytes);
  fake_profiler_set_metrics_per_pass(1);
  graph_makers makers(4, 200);
  // Steps without work are over before a capture that the machine delays.
  test::await([] { return fake_profiler_passes() >= 3; }, [] { run_steps(1, step); });
  makers.check();
  profile const& p = fake::clean(s);
  CHECK(p.counters().passes_done == 3);
  counted const c(p);
  check_at_least(c, "a", hbm_read, 64);
  check_at_least(c, "b", l2_bytes, 96);
}

TEST_CASE("four threads make graphs while kernels are counted") {
  counting s(hbm_read, "kernels=a");
  graph_makers makers(4, 100);
  run_steps(30, step);
  s.stop();
  makers.check();
}

TEST_CASE("four threads make graphs while windows begin and end") {
  fake::session s(fake::configure("trace,formats=none,active=1,skip=1,repeat=0"));
  fake::unscript();
  REQUIRE(s.start().ok());
  {
    graph_makers makers(4, 100);
    test::await([] { return fake_synchronize_count() > 10; }, [] { run_steps(1, step); });
    s.stop();
    makers.check();
  }
}

TEST_CASE("a session that stops while others make graphs") {
  for (int i = 0; i < 3; ++i) {
    counting s(std::string(hbm_read) + '+' + hbm_write);
    fake_profiler_set_metrics_per_pass(1);
    graph_makers makers(4, 200);
    run_steps(2, step);
    {
      STRATA_STEP();
      STRATA_RANGE("a");
      s.stop();
    }
    makers.check();
  }
}

TEST_CASE("calls that change graphs are followed beside kernels, and where something is counted") {
  // Instantiations are followed at all times: they say what the device may launch.
  char const* const calls[] = {"cuGraphExecUpdate_v2", "cuGraphExecDestroy", "cuGraphDestroy",
                               "cuGraphExecKernelNodeSetParams_v2", "cuGraphNodeSetEnabled"};
  auto const check = [&](int followed) {
    for (char const* const call : calls) {
      CAPTURE(call);
      CHECK(fake_callback_enabled(call) == followed);
    }
  };
  {
    fake::traced const s;
    check(1);
  }
  {
    fake::traced const s("trace=copies");
    check(0);
    CHECK(fake_callback_enabled("cuStreamBeginCapture_v2") == 1);
    CHECK(fake_callback_enabled("cuGraphInstantiateWithFlags") == 1);
  }
  {
    counting s(hbm_read);
    check(1);
    s.stop();
    check(0);
  }
  fake::traced s;
  (void)s.counters(hbm_read);
  check(1);
}

TEST_CASE("a capture of another thread across a range's end: the pass is dropped and made again") {
  counting s(hbm_read);
  run_steps(1, step);
  {
    STRATA_STEP();
    std::size_t calls = 0;
    {
      STRATA_RANGE("a");
      capture_elsewhere capture(9);
      calls = fake_profiler_pushes();
      { STRATA_RANGE("inner"); }
      CHECK(fake_profiler_pushes() == calls);
      CHECK(capture.end());
    }
    launch_blocks(50);
    CHECK(fake_profiler_pushes() == calls);  // of a pass that does not count
  }
  CHECK(s.profile().counters().passes_done == 0);
  CHECK(fake_capture_broken() == 0);
}

TEST_CASE("the pass after a dropped one counts, and what the dropped one lost is not lost") {
  counting s(hbm_read);
  fake_profiler_fail("cuptiRangeProfilerPushRange", 2, 1, 7);
  run_steps(1, step);
  {
    STRATA_STEP();
    step();  // a push that CUPTI refuses
    capture_elsewhere capture(9);
    { STRATA_RANGE("inner"); }
    CHECK(capture.end());
  }
  run_steps(2, step);
  profile const& p = fake::clean(s);
  CHECK(p.counters().passes_done == 1);
  CHECK(counted(p).self("a", hbm_read) == 64);
  CHECK(counted(p).self("b", hbm_read) == 96);
  for (strata::counted_work const& each : p.counters().work) CHECK(each.launches == 1);
}

TEST_CASE("the thread's own open capture is not waited for") {
  counting s(hbm_read);
  run_steps(1, step);
  (void)fake_begin_capture(9);
  double shortest_ms = 1e9;  // a loaded machine adds its own
  for (int i = 0; i < 20; ++i)
    shortest_ms = std::min(shortest_ms, milliseconds_of([] { run_steps(1, step); }));
  CHECK(shortest_ms < 50);
  CHECK(fake_end_capture(9) != 0);
}

TEST_CASE("captures that end with their stream or their context") {
  counting s(hbm_read);
  fake_create_context(2);
  run_steps(1, step);
  SUBCASE("the stream") {
    (void)fake_begin_capture(9);
    fake_destroy_stream(9);
  }
  SUBCASE("the context") {
    (void)fake_begin_capture_in(2, 9);
    fake_destroy_context(2);
  }
  run_steps(1, step);
  fake::no_problem(s.profile());
  CHECK(s.profile().counters().passes_done == 1);
}

TEST_CASE("a capture whose thread is gone is told after a bounded number of steps") {
  counting s(hbm_read, "warmup=1");
  run_steps(1, step);
  std::thread([] { (void)fake_begin_capture(9); }).join();
  {
    STRATA_STEP();  // the last timed one: the window cannot be closed
    step();
  }
  fake_set_call_time(0);
  run_steps(130, step);
  CHECK(fake_capture_broken() == 0);
  CHECK(fake::has_problem(s.profile(), "130 steps in a row, so no pass could begin"));
  CHECK(fake_end_capture(9) != 0);
}

TEST_CASE("a program that ends while captures are in the way is told so") {
  counting s(hbm_read + std::string("+") + hbm_write);
  fake_profiler_set_metrics_per_pass(1);
  int steps = 0;
  SUBCASE("before the first pass") { steps = 1; }
  SUBCASE("before the second pass") { steps = 2; }
  run_steps(steps, step);
  (void)fake_begin_capture(9);
  run_steps(3, step);
  CHECK(fake_end_capture(9) != 0);
  CHECK(says(s.profile().problems.at(0), "streams captured graphs in 3 steps in a row"));
}

TEST_CASE("a capture that nobody saw begin, in another context than the current one") {
  counting s(hbm_read);
  run_steps(1, [] {
    step();
    fake_kernel other;
    other.context = 3;
    (void)fake_launch(&other);
  });
  fake_set_implicit_capture_in(3, 1);
  run_steps(2, step);
  CHECK(fake_profiler_passes() == 0);
  fake_set_implicit_capture_in(3, 0);
  run_steps(1, step);
  CHECK(fake_profiler_passes() == 1);
}

TEST_CASE("work after an inner capture counts for the range that it is in") {
  counting s(hbm_read);
  run_steps(2, [] {
    STRATA_RANGE("outer");
    launch_blocks(1);
    {
      STRATA_RANGE("begins");
      launch_blocks(10);
      (void)fake_begin_capture(9);
    }
    launch_blocks(500, "captured", 9);
    CHECK(fake_end_capture(9) != 0);
    launch_blocks(4);
    (void)fake_begin_capture(9);
    STRATA_RANGE("ends");
    CHECK(fake_end_capture(9) != 0);
    launch_blocks(20);
  });
  profile const& p = fake::clean(s);
  counted const c(p);
  CHECK(c.self("outer", hbm_read) == 32 * 5);
  CHECK(c.self("outer/begins", hbm_read) == 32 * 10);
  CHECK(c.self("outer/ends", hbm_read) == 32 * 20);
  for (strata::counted_work const& each : p.counters().work) {
    CAPTURE(each.node);
    CHECK(each.foreign == 0);
    CHECK(each.threads <= 32 * 20);  // nothing of what was captured
  }
}

TEST_CASE("another thread's capture does not hide what the counted one launches") {
  counting s(hbm_read);
  std::uint64_t launches = 0;
  run_steps(2, [] {
    STRATA_RANGE("a");
    capture_elsewhere capture(9);
    launch_blocks(2);
    CHECK(capture.end());
  });
  for (strata::counted_work const& each : s.profile().counters().work) launches += each.launches;
  CHECK(launches == 1);
}

TEST_CASE("a body that leaves a capture open does not run for ever") {
  fake::session s(fake::configure("trace,formats=none"));
  fake::unscript();
  fake_profiler_reset();
  REQUIRE(s.start().ok());
  step();
  int runs = 0;
  strata::status const done = s.counters(hbm_read).replay(
      [&] {
        REQUIRE(++runs < 1000);
        if (runs == 1) (void)fake_begin_capture(9);
      },
      strata::repeatable);
  CHECK(runs == 1);
  CHECK(done.code() == strata::errc::busy);
  CHECK(says(done.message(), "end captures within the body"));
  CHECK(fake_end_capture(9) != 0);
  s.stop();
  CHECK(fake_capture_broken() == 0);
}

TEST_CASE("a loop over passes ends, although a capture does not") {
  fake::session s(fake::configure("trace,formats=none"));
  fake::unscript();
  fake_profiler_reset();
  REQUIRE(s.start().ok());
  step();
  capture_elsewhere capture(9);
  int runs = 0;
  for (auto const& pass : s.counters(hbm_read)) {
    (void)pass;
    REQUIRE(++runs < 1000);
  }
  CHECK(runs == 1);  // nothing is counted while a stream captures
  CHECK(capture.end());
  CHECK(says(s.profile().problems.at(0), "ask for counters outside of captures"));
}

TEST_CASE("a loop over passes in which a capture begins and does not end") {
  fake::session s(fake::configure("trace,formats=none"));
  fake::unscript();
  fake_profiler_reset();
  REQUIRE(s.start().ok());
  step();
  std::unique_ptr<capture_elsewhere> capture;
  int runs = 0;
  for (auto const& pass : s.counters(hbm_read)) {
    (void)pass;
    REQUIRE(++runs < 1000);
    if (runs == 1) capture = std::make_unique<capture_elsewhere>(9);
  }
  CHECK(runs >= 100);
  CHECK(capture->end());
  CHECK(says(s.profile().problems.at(0), "100 steps in a row, so no pass could begin"));
  CHECK(fake_capture_broken() == 0);
}

TEST_CASE("kernels are not waited for without end either") {
  counting s(hbm_read, "kernels=a");
  run_steps(2, step);
  (void)fake_begin_capture(9);
  run_steps(130, step);
  CHECK(fake_end_capture(9) != 0);
  CHECK(says(s.profile().problems.at(0), "130 steps in a row, so no pass could begin"));
}

}  // namespace counter_capture_test
