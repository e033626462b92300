// One CUPTI level serves all levels of ranges: counts are exclusive, and what is below is added up.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <thread>

#include "counter_run.hpp"

namespace counter_nesting_test {

using fake::counted;
using fake::counting;
using fake::hbm_read;
using fake::launch_blocks;
using fake::run_steps;
using strata::profile;

namespace {

/// Runs the step once timed and once counted.
template <class Body>
profile const& count(counting& s, Body body) {
  run_steps(2, body);
  profile const& p = fake::clean(s);
  CHECK(p.counters().passes_done == 1);
  return p;
}

}  // namespace

TEST_CASE("a parent that launches before, between and after its children") {
  counting s(hbm_read);
  counted const c(count(s, [] {
    STRATA_RANGE("parent");
    launch_blocks(1);
    {
      STRATA_RANGE("first");
      launch_blocks(10);
    }
    launch_blocks(2);
    {
      STRATA_RANGE("second");
      launch_blocks(20);
    }
    launch_blocks(4);
  }));
  CHECK(fake_profiler_pushes() == 5);
  CHECK(c.self("parent", hbm_read) == 32 * 7);
  CHECK(c.self("parent/first", hbm_read) == 32 * 10);
  CHECK(c.self("parent/second", hbm_read) == 32 * 20);
  CHECK(c.total("parent", hbm_read) == 32 * 37);
  CHECK(c.total("parent/first", hbm_read) == 32 * 10);
}

TEST_CASE("a parent that never launches is not pushed: it would cost a drain of the device") {
  counting s(hbm_read);
  counted const c(count(s, [] {
    STRATA_RANGE("model");
    for (int layer = 0; layer < 3; ++layer) {
      STRATA_RANGE("block", layer);
      STRATA_RANGE("attention");
      launch_blocks(layer + 1);
    }
  }));
  CHECK(fake_profiler_pushes() == 3);
  CHECK(c.empty("model", hbm_read) == false);
  CHECK(c.total("model", hbm_read) == 32 * 6);
  CHECK(std::isnan(c.self("model", hbm_read)));
  CHECK(c.total("model/block[1]/attention", hbm_read) == 32 * 2);
  CHECK(c.total("model/block[2]", hbm_read) == 32 * 3);
}

TEST_CASE("a range that launches first in the counted step is counted there") {
  counting s(hbm_read);
  int step = 0;
  run_steps(2, [&] {
    {
      STRATA_RANGE("a");
      launch_blocks(1);
    }
    if (step++ == 0) return;
    STRATA_RANGE("late");  // nobody saw whether it launches
    launch_blocks(5);
  });
  counted const c(s.profile());
  CHECK(c.self("a", hbm_read) == 32);
  CHECK(fake_profiler_pushes() == 2);
}

TEST_CASE("recursion and repeated names") {
  counting s(hbm_read);
  struct program {
    static void down(int depth) {
      STRATA_RANGE("down");
      launch_blocks(depth);
      if (depth > 1) down(depth - 1);
      launch_blocks(depth);
    }
  };
  counted const c(count(s, [] {
    program::down(3);
    for (int i = 0; i < 50; ++i) {
      STRATA_RANGE("again");
      launch_blocks(1);
    }
    STRATA_RANGE("other");
    STRATA_RANGE("again");  // another node
    launch_blocks(7);
  }));
  CHECK(c.self("down", hbm_read) == 32 * 6);
  CHECK(c.self("down/down", hbm_read) == 32 * 4);
  CHECK(c.self("down/down/down", hbm_read) == 32 * 2);
  CHECK(c.total("down", hbm_read) == 32 * 12);
  CHECK(c.self("again", hbm_read) == 32 * 50);
  CHECK(c.self("other/again", hbm_read) == 32 * 7);
}

TEST_CASE("work outside of all ranges belongs to the root, and a session without ranges has it") {
  counting s(hbm_read);
  profile const& p = count(s, [] { launch_blocks(3); });
  CHECK(fake_profiler_pushes() == 1);
  REQUIRE(p.counters().values.size() == 1);
  CHECK(p.counters().values[0].node == strata::root_node);
  CHECK(p.counters().values[0].value == 32 * 3);
}

TEST_CASE("a session in which nothing is launched") {
  counting s(hbm_read);
  profile const& p = count(s, [] { STRATA_RANGE("host"); });
  CHECK(fake_profiler_pushes() == 0);
  CHECK(p.counters().values.empty());
  counted const c(p);
  CHECK(c.empty("host", hbm_read));
  CHECK(fake::says(c.note("host", hbm_read), "never launched anything"));
}

TEST_CASE("ranges of other threads are not counted, and the table says why they are empty") {
  counting s(hbm_read);
  counted const c(count(s, [] {
    STRATA_RANGE("main");
    std::thread([] {
      STRATA_RANGE("worker");
      launch_blocks(100, "kernel", 8);
    }).join();
    STRATA_RANGE("child");
    launch_blocks(2);
  }));
  CHECK(fake_profiler_pushes() == 1);
  CHECK(c.self("main/child", hbm_read) == 64);
  CHECK(c.total("main", hbm_read) == 64);
  CHECK(c.empty("worker", hbm_read));
  CHECK(fake::says(c.note("worker", hbm_read), "another thread launched its work"));
}

TEST_CASE("what another thread runs meanwhile is in the range that the device counts") {
  counting s(hbm_read);
  run_steps(2, [] {
    STRATA_RANGE("main");
    launch_blocks(1);
    std::thread([] {
      STRATA_RANGE("worker");
      launch_blocks(100, "kernel", 8);
    }).join();
  });
  counted const c(s.profile());
  CHECK(c.self("main", hbm_read) == 32 * 101);
  CHECK(c.empty("worker", hbm_read));
  CHECK(fake::says(c.note("main", hbm_read), "1 launch of other threads counted with it"));
}

TEST_CASE("a graph counts where it is launched") {
  counting s(hbm_read);
  (void)fake_begin_capture(9);
  launch_blocks(3, "captured", 9);
  launch_blocks(5, "captured", 9);
  fake_graph_t const graph = fake_graph_clone(fake_end_capture(9));
  counted const c(count(s, [&] {
    STRATA_RANGE("replayed");
    (void)fake_graph_launch(graph, 9);
  }));
  CHECK(c.self("replayed", hbm_read) == 32 * 8);
}

}  // namespace counter_nesting_test
