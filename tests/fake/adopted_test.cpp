// Work of threads that are in no range belongs to the range of the thread that drives the steps.
// Meant for -fsanitize=thread as well.
#include <doctest/doctest.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <strata/inherit.hpp>
#include <string>
#include <thread>
#include <utility>

#include "../patience.hpp"
#include "counter_run.hpp"

namespace adopted_test {

using fake::launch;
using fake::row;
using fake::traced;
using strata::profile;

namespace {

/// A thread that lives as long as its program and makes what it is handed, as that of autograd
/// does.
class engine {
 public:
  engine() : thread_([this] { serve(); }) {}
  ~engine() {
    hand({});
    thread_.join();
  }
  engine(engine const&) = delete;
  engine& operator=(engine const&) = delete;

  /// Waits until the thread has done it.
  void run(std::function<void()> task) {
    hand(std::move(task));
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return !busy_; });
  }

 private:
  void hand(std::function<void()> task) {
    std::lock_guard<std::mutex> const lock(mutex_);
    task_ = std::move(task);
    busy_ = true;
    changed_.notify_all();
  }
  void serve() {
    for (bool goes_on = true; goes_on;) {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [this] { return busy_; });
      goes_on = static_cast<bool>(task_);
      if (goes_on) task_();
      busy_ = false;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> task_;
  bool busy_ = false;
  std::thread thread_;
};

/// Every kind of work: 3 kernels, 2 copies and fills, 1 allocation, 1 wait; 3,700 ns.
void work() {
  launch("gradient", 9);
  launch("gradient", 9);
  (void)fake_copy(8, 100, 9, 500);
  (void)fake_memset(50, 9, 200);
  (void)fake_malloc(0x1000, 100, 3, 0);
  (void)fake_free(0x1000, 100, 3, 0);
  (void)fake_sync(3, 9, 100);
  launch("gradient", 9);
}

/// A step of a training loop, whose backward pass another thread launches.
void train(engine& autograd) {
  {
    STRATA_RANGE("forward");
    launch("matmul");
  }
  STRATA_RANGE("backward");
  autograd.run(work);
}

void check_work(strata::device_work const& w, std::uint64_t steps) {
  CHECK(w.launches == 5 * steps);
  CHECK(w.kernels == 3 * steps);
  CHECK(w.copies == 2 * steps);
  CHECK(w.device_to_device_bytes == 100 * steps);
  CHECK(w.set_bytes == 50 * steps);
  CHECK(w.allocations == steps);
  CHECK(w.releases == steps);
  CHECK(w.synchronizations == steps);
}

}  // namespace

TEST_CASE("a thread in no range works for the range of the thread that drives the steps") {
  engine autograd;
  traced s;
  for (int step = 0; step < 4; ++step) {
    STRATA_STEP();
    train(autograd);
  }
  profile const& p = fake::whole(s);
  check_work(row(p, "backward").self, 4);
  CHECK(row(p, "backward").self.adopted_kernels == 12);
  CHECK(fake::about(row(p, "backward").self.adopted_ns, 4 * 3700));
  CHECK(row(p, "forward").self.kernels == 4);
  CHECK(row(p, "forward").self.adopted_kernels == 0);
  CHECK(row(p, "").self.launches == 0);
  CHECK(row(p, "").self.kernels == 0);
  CHECK(row(p, "").total.adopted_kernels == 12);
  std::uint32_t const main_thread = p.steps[0].thread;
  for (strata::driver_call_record const& call : p.launches) {
    bool const adopted = (call.flags & strata::driver_call_record::adopted) != 0;
    CHECK(adopted == (call.thread != main_thread));
    CHECK(call.step != strata::no_step);
  }
}

TEST_CASE("with adopt=off it works outside of ranges") {
  engine autograd;
  traced s("adopt=off");
  for (int step = 0; step < 2; ++step) {
    STRATA_STEP();
    train(autograd);
  }
  profile const& p = fake::whole(s);
  check_work(row(p, "").self, 2);
  CHECK(row(p, "").total.adopted_kernels == 0);
  CHECK(row(p, "").total.adopted_ns == 0);
  CHECK(row(p, "backward").total.launches == 0);
}

TEST_CASE("the innermost range at the moment of the call, while one is open") {
  engine other;
  traced s;
  auto const launch_there = [&other](char const* name) { other.run([name] { launch(name); }); };
  {
    STRATA_RANGE("before the first step");
    launch_there("unknown");
  }
  {
    STRATA_STEP();
    launch_there("outside");
    STRATA_RANGE("outer", 3);
    launch_there("outer");
    {
      STRATA_RANGE("inner");
      launch_there("inner");
    }
    launch_there("outer");
  }
  {
    STRATA_RANGE("between steps");
    launch_there("between");
  }
  profile const& p = fake::whole(s);
  CHECK(row(p, "").self.kernels == 2);
  CHECK(row(p, "before the first step").self.kernels == 0);
  CHECK(row(p, "outer[3]").self.adopted_kernels == 2);
  CHECK(row(p, "outer[3]").total.adopted_kernels == 3);
  CHECK(row(p, "outer[3]/inner").self.adopted_kernels == 1);
  CHECK(row(p, "between steps").self.adopted_kernels == 1);
}

TEST_CASE("a thread with a range of its own, or an inherited one, keeps it") {
  engine other;
  traced s;
  STRATA_STEP();
  STRATA_RANGE("step");
  strata::range_handle const here = strata::current();
  other.run([here] {
    {
      STRATA_RANGE("own");
      launch();
    }
    {
      strata::inherit const as_child(here);
      launch();
      STRATA_RANGE("below");
      launch();
    }
    launch();
  });
  launch();
  profile const& p = s.profile();
  CHECK(row(p, "own").self.kernels == 1);
  CHECK(row(p, "step/below").self.kernels == 1);
  CHECK(row(p, "step").self.kernels == 3);
  CHECK(row(p, "step").self.adopted_kernels == 1);
  CHECK(row(p, "").total.adopted_kernels == 1);
}

TEST_CASE("graphs that such a thread launches, and captures of its own") {
  engine other;
  fake_graph_t graph = 0;
  traced s;
  STRATA_STEP();
  {
    STRATA_RANGE("capture");
    (void)fake_begin_capture(9);
    launch("captured", 9);
    graph = fake_graph_clone(fake_end_capture(9));
  }
  {
    STRATA_RANGE("replay");
    other.run([graph] { (void)fake_graph_launch(graph, 9); });
  }
  STRATA_RANGE("elsewhere");
  other.run([] {
    (void)fake_begin_capture(9);
    launch("captured", 9);
    (void)fake_graph_launch(fake_graph_clone(fake_end_capture(9)), 9);
  });
  profile const& p = s.profile();
  CHECK(row(p, "replay").self.adopted_kernels == 1);
  CHECK(row(p, "capture").self.graph_kernels == 1);
  CHECK(row(p, "elsewhere").self.adopted_kernels == 1);
  REQUIRE(p.kernels.size() == 2);
  CHECK(p.kernels[1].captured_by == strata::root_node);  // as without steps
}

TEST_CASE("windows, warm-up steps and sessions begin anew") {
  engine autograd;
  for (int session = 0; session < 2; ++session) {
    traced s("skip=1,warmup=1,active=1,repeat=2");
    STRATA_RANGE("around", session);
    autograd.run(work);
    for (int step = 0; step < 6; ++step) {
      STRATA_STEP();
      train(autograd);
    }
    profile const& p = s.profile();
    std::string const path = "around[" + std::to_string(session) + "]/backward";
    check_work(row(p, path).self, 2);
    CHECK(row(p, path).self.adopted_kernels == 6);
    CHECK(row(p, "").self.kernels == 0);
  }
}

TEST_CASE("the thread of the steps ends: nothing is adopted until another one begins a step") {
  traced s;
  engine other;
  std::thread([&other] {
    STRATA_STEP();
    STRATA_RANGE("first");
    other.run([] { launch(); });
  }).join();
  std::thread next([&] {
    STRATA_RANGE("not the steps'");  // with the recorder of the thread that ended
    other.run([] { launch(); });
  });
  next.join();
  STRATA_STEP();
  STRATA_RANGE("second");
  other.run([] { launch(); });
  profile const& p = s.profile();
  CHECK(row(p, "first").self.adopted_kernels == 1);
  CHECK(row(p, "").self.kernels == 1);
  CHECK(row(p, "second").self.adopted_kernels == 1);
}

TEST_CASE("threads launch while ranges come and go: each launch is in one that was open") {
  fake::unscript();
  fake_set_auto_delivery(100);
  traced s;
  std::atomic<bool> goes_on{true};
  std::atomic<int> launched{0};
  std::thread other([&] {
    while (goes_on.load(std::memory_order_relaxed)) {
      launch("work", 9, 10);
      launched.fetch_add(1);
    }
  });
  for (int step = 0; step < 50; ++step) {
    STRATA_STEP();
    STRATA_RANGE("step");
    for (int i = 0; i < 20; ++i) {
      STRATA_RANGE("block", i);
      STRATA_RANGE("attention");
    }
    int const before = launched.load();
    test::await([&] { return launched.load() != before; });
  }
  goes_on.store(false);
  other.join();
  profile const& p = s.profile();
  strata::call_tree const tree(p);
  CHECK(row(p, "").total.kernels == static_cast<std::uint64_t>(launched.load()));
  CHECK(row(p, "step").total.adopted_kernels >= 50);
  CHECK(row(p, "step").total.adopted_kernels == row(p, "step").total.kernels);
  CHECK(row(p, "").self.adopted_kernels == 0);
}

TEST_CASE("two threads drive the steps in turn, through windows and sessions") {
  std::atomic<bool> goes_on{true};
  std::thread other([&] {
    while (goes_on.load(std::memory_order_relaxed)) launch("work", 9, 10);
  });
  for (int session = 0; session < 3; ++session) {
    fake::unscript();
    fake_set_auto_delivery(100);
    traced s("warmup=1,active=2,repeat=3");
    auto const drive = [](char const* name) {
      STRATA_STEP();
      STRATA_RANGE(name);
      launch("own");
      for (int i = 0; i < 20; ++i) {
        STRATA_RANGE("block", i);
        std::this_thread::yield();
      }
    };
    engine second;
    for (int step = 0; step < 6; ++step) {
      drive("first's");
      second.run([&] { drive("second's"); });
    }
    s.stop();
    profile const& p = s.profile();
    CHECK(row(p, "first's").self.kernels >= row(p, "first's").self.adopted_kernels);
    for (strata::driver_call_record const& call : p.launches) CHECK(call.node < p.nodes.size());
    for (strata::kernel_record const& kernel : p.kernels) CHECK(kernel.node < p.nodes.size());
  }
  goes_on.store(false);
  other.join();
}

TEST_CASE("what is counted of a range is what is timed in it") {
  engine autograd;
  fake::counting s(fake::hbm_read);
  fake::run_steps(2, [&] {
    {
      STRATA_RANGE("forward");
      fake::launch_blocks(1);
    }
    STRATA_RANGE("backward");
    autograd.run([] { fake::launch_blocks(100, "gradient", 9); });
  });
  profile const& p = fake::clean(s);
  fake::counted const c(p);
  CHECK(c.self("backward", fake::hbm_read) == 32 * 100);
  CHECK(c.note("backward", fake::hbm_read).empty());
  CHECK(c.work("backward").empty());
  CHECK(row(p, "backward").self.kernels == 1);
  strata::counted_work const* backward = nullptr;
  for (strata::counted_work const& work : p.counters().work)
    if (strata::call_tree(p).row_of(work.node).path == "backward") backward = &work;
  REQUIRE(backward != nullptr);
  CHECK(backward->launches == 1);
  CHECK(backward->foreign == 0);
}

TEST_CASE("with adopt=off its launches are counted with a range and timed elsewhere") {
  engine autograd;
  fake::counting s(fake::hbm_read, "adopt=off");
  fake::run_steps(2, [&] {
    STRATA_RANGE("backward");
    fake::launch_blocks(1);
    autograd.run([] { fake::launch_blocks(100, "gradient", 9); });
  });
  fake::counted const c(s.profile());
  CHECK(c.self("backward", fake::hbm_read) == 32 * 101);
  CHECK(c.note("backward", fake::hbm_read) ==
        "1 launch of other threads counted with it, timed elsewhere");
}

}  // namespace adopted_test
