// Work on the device that threads launch in a place that another thread handed to them.
#include <doctest/doctest.h>
#include <strata/inherit.hpp>

#include <string>
#include <thread>
#include <vector>

#include "fake_session.hpp"

namespace inherit_test {

using fake::launch;
using fake::row;
using fake::traced;
using strata::profile;

TEST_CASE("kernels of workers are their parent's below, and its own where they have no range") {
  traced s;
  {
    STRATA_RANGE("parent");
    launch("own", 7, 1000);
    strata::range_handle const here = strata::current();
    std::vector<std::thread> workers;
    for (int i = 0; i < 4; ++i) {
      workers.emplace_back([here, i] {
        auto const stream = 20 + static_cast<std::uint32_t>(i);
        strata::inherit const as_child(here);
        launch("direct", stream, 1000);
        {
          STRATA_RANGE("work", i);
          launch("kernel", stream, 1000);
          (void)fake_copy(1, 64, stream, 1000);
        }
      });
    }
    for (std::thread& t : workers) t.join();
  }
  std::thread([] { launch("outside", 30, 1000); }).join();
  profile const& p = fake::whole(s);
  CHECK(row(p, "parent").self.kernels == 5);
  CHECK(row(p, "parent").total.kernels == 9);
  CHECK(row(p, "parent").total.copies == 4);
  CHECK(row(p, "").total.kernels == 10);
  for (int i = 0; i < 4; ++i) {
    strata::range_row const work = row(p, "parent/work[" + std::to_string(i) + "]");
    CHECK(work.self.kernels == 1);
    CHECK(work.self.copies == 1);
    CHECK(work.span_ns > 0);
  }
  CHECK(row(p, "parent").host_self_ns <= row(p, "parent").host_total_ns);
  CHECK(p.losses.ranges_left_open == 0);
}

TEST_CASE("what comes after the place is the thread's own again") {
  traced s;
  STRATA_RANGE("parent");
  strata::range_handle const here = strata::current();
  std::thread([here] {
    STRATA_RANGE("pool");
    {
      strata::inherit const as_child(here);
      launch("inside", 20, 1000);
    }
    launch("outside", 20, 1000);
  }).join();
  profile const& p = fake::whole(s);
  CHECK(row(p, "parent").self.kernels == 1);
  CHECK(row(p, "pool").self.kernels == 1);
}

TEST_CASE("a worker that captures a graph captures for the range that it inherited") {
  traced s;
  {
    STRATA_RANGE("build");
    strata::range_handle const here = strata::current();
    fake_graph_t graph = 0;
    std::thread([here, &graph] {
      strata::inherit const as_child(here);
      (void)fake_begin_capture(20);
      STRATA_RANGE("captured");
      launch("gemm", 20);
      graph = fake_end_capture(20);
    }).join();
    REQUIRE(graph != 0);
    fake_graph_t const executable = fake_graph_clone(graph);
    STRATA_RANGE("decode");
    (void)fake_graph_launch(executable, 20);
  }
  profile const& p = fake::whole(s);
  CHECK(fake_capture_broken() == 0);
  CHECK(row(p, "build/captured").self.graph_kernels == 1);
  CHECK(row(p, "build/decode").self.kernels == 1);
}

}  // namespace inherit_test
