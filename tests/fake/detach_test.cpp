// What stays of CUPTI in a program after a session: nothing, unless a later session needs it.
#include <doctest/doctest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "child_process.hpp"
#include "fake_session.hpp"

using fake::launch;
using fake::row;
using fake::traced;
using strata::profile;

namespace {

void launch_in_range(int times) {
  STRATA_RANGE("work");
  for (int i = 0; i < times; ++i) launch();
}

/// Neither a subscriber nor a callback of a hundred launches.
void check_gone() {
  CHECK(fake_subscribed() == 0);
  launch_in_range(100);
  CHECK(fake_callbacks_made() == 0);
  CHECK(fake_pending() == 0);
  CHECK(fake_misuse_count() == 0);
}

}  // namespace

TEST_CASE("after a session CUPTI is gone, and the next session records all") {
  for (std::size_t round = 1; round <= 3; ++round) {
    traced s;
    CHECK(fake_subscribed() == 1);
    launch_in_range(50);
    s.stop();
    CHECK(fake_calls("cuptiFinalize") == round);
    check_gone();
    fake::nothing_lost(s.profile());
    CHECK(row(s.profile(), "work").self.kernels == 50);
    CHECK(s.profile().cost.callbacks == 100);
  }
}

TEST_CASE("contexts that go while nobody follows them are not waited for") {
  fake_kernel kernel;
  kernel.context = 77;
  {
    traced s;
    (void)fake_launch(&kernel);
  }
  fake_destroy_context(77);
  traced s;
  launch();
  fake::nothing_lost(s.profile());
}

TEST_CASE("a call under way while CUPTI goes and comes is no later call's") {
  static traced* first = nullptr;
  static traced* second = nullptr;
  first = new traced;
  launch_in_range(50);
  fake_set_call_hook([] {
    delete first;
    second = new traced;
    launch_in_range(100);  // one of them has the number that the call under way had
  });
  launch();
  second->stop();
  profile const& p = second->profile();
  CHECK(p.launches.size() == 100);
  CHECK(row(p, "work").self.kernels == 100);
  CHECK(p.losses.uncorrelated == 0);
  delete second;
  check_gone();
}

TEST_CASE("a call that comes first takes CUPTI along where the session's own does not call back") {
  fake_hide_clients_calls(1);
  std::size_t const before = fake_calls("cuptiFinalize");
  {
    traced s;
    launch();
    s.stop();
    CHECK(fake_subscribed() == 1);
    launch();  // its exit is the place
    CHECK(fake_calls("cuptiFinalize") == before + 1);
    check_gone();
  }
  {
    traced s;  // or the next session takes the subscription over
    s.stop();
    traced next;
    launch_in_range(5);
    CHECK(row(next.profile(), "work").self.kernels == 5);
    fake::nothing_lost(next.profile());
    CHECK(fake_calls("cuptiFinalize") == before + 1);
  }
  fake_hide_clients_calls(0);
  launch();
  check_gone();
}

TEST_CASE("CUPTI stays where it does not go") {
  fake_fail("cuptiFinalize", 999);
  {
    traced s;
    launch_in_range(5);
    s.stop();
    CHECK(fake_subscribed() == 1);
  }
  traced s;
  launch_in_range(5);
  CHECK(row(s.profile(), "work").self.kernels == 5);
  fake::nothing_lost(s.profile());
  fake_fail("cuptiFinalize", 0);
  { traced const last; }
  check_gone();
}

TEST_CASE("CUPTI stays while a stream captures") {
  std::size_t const before = fake_calls("cuptiFinalize");
  std::uint32_t const stream = 9;
  {
    traced s;
    (void)fake_begin_capture(stream);
    s.stop();
    CHECK(fake_subscribed() == 1);
    CHECK(fake_calls("cuptiFinalize") == before);
  }
  (void)fake_end_capture(stream);
  { traced const next; }
  check_gone();
}

TEST_CASE("sessions come and go beside threads that launch, and CUPTI stays") {
  std::atomic<bool> go_on{true};
  std::atomic<std::uint64_t> launched{0};
  std::vector<std::thread> all;
  for (std::uint32_t t = 0; t < 4; ++t) {
    all.emplace_back([&, t] {
      while (go_on.load()) {
        STRATA_RANGE("worker");
        launch("work", 20 + t, 10);
        launched.fetch_add(1);
        if (launched.load() % 16 == 0) std::this_thread::yield();
      }
    });
  }
  std::size_t const before = fake_calls("cuptiFinalize");
  for (int round = 0; round < 200; ++round) {
    traced s;
    std::uint64_t const begin = launched.load();
    while (launched.load() < begin + 20) std::this_thread::yield();
    s.stop();
    profile const& p = s.profile();
    CHECK(p.problems.empty());
    CHECK(p.kernels.size() >= 10);
    CHECK(p.losses.activity_dropped == 0);
    CHECK(p.losses.uncorrelated <= 8);
  }
  go_on.store(false);
  for (std::thread& t : all) t.join();
  CHECK(fake_calls("cuptiFinalize") == before);
  {
    traced const alone;
    launch_in_range(1);
  }
  CHECK(fake_calls("cuptiFinalize") == before + 1);
  check_gone();
}

TEST_CASE("at the end of the process CUPTI is left as it is") {
  SUBCASE("a session of the environment") {
    fake::child_process const p({"work=3", "fork"}, {{"STRATA", "trace,formats=none"}});
    CHECK(p.number("calls in the child") == 0);
    CHECK(p.number("finalized at exit") == 0);
  }
  SUBCASE("a session in a static object") {
    fake::child_process const p({"start=trace,formats=none", "work=3", "leave-running"});
    CHECK(p.number("finalized at exit") == 0);
  }
  SUBCASE("a session in code that ends before") {
    fake::child_process const p({"start=trace,formats=none", "work=3", "stop", "fork"});
    CHECK(p.number("kernels") == 3);
    CHECK(p.number("calls in the child") == 0);
    CHECK(p.number("finalized at exit") == 1);
  }
}

TEST_CASE("a graph that is used where nothing is traced keeps CUPTI") {
  SUBCASE("while it is about to go") {
    fake::child_process const p(
        {"graph", "start=trace,formats=none", "work=3", "leaving-graph", "stop", "launch-graph"});
    CHECK(p.number("kernels") == 3);
    CHECK(p.number("finalized at exit") == 0);
  }
  SUBCASE("made while it is about to go") {
    fake::child_process const p(
        {"start=trace,formats=none", "work=3", "leaving-make", "stop", "work=3", "launch-graph"});
    CHECK(p.number("kernels") == 3);
    CHECK(p.number("finalized at exit") == 0);
  }
  SUBCASE("as the call that would take it along") {
    for (std::string const call : {"launch-graph", "graph", "capture"}) {
      CAPTURE(call);
      fake::child_process const p(
          {"graph", "hide-calls", "start=trace,formats=none", "stop", call, "work=3"});
      CHECK(p.number("finalized at exit") == 0);
    }
  }
  SUBCASE("after a window in which kernels are refused") {
    fake::child_process const p({"graph", "start=trace,formats=none,attach=window,every=3,active=1",
                                 "fail=cuptiActivityEnable:999", "steps=3", "launch-graph",
                                 "heal=cuptiActivityEnable", "steps=6", "stop"});
    CHECK(p.number("finalized at exit") == 0);
  }
}

// The last test of this program: graphs are in it from now on.
TEST_CASE("CUPTI stays in a program that makes graphs: their nodes are known to it only") {
  std::size_t const before = fake_calls("cuptiFinalize");
  std::uint32_t const stream = 9;
  fake_graph_t executable = 0;
  {
    traced s;
    STRATA_RANGE("capture");
    (void)fake_begin_capture(stream);
    launch("captured", stream);
    executable = fake_graph_clone(fake_end_capture(stream));
    s.stop();
  }
  CHECK(fake_subscribed() == 1);
  traced s;
  (void)fake_graph_launch(executable, stream);
  CHECK(row(s.profile(), "capture").self.graph_kernels == 1);
  CHECK(fake_calls("cuptiFinalize") == before);
}
