// What is lost is counted, shown, and does not spoil the rest.
#include <doctest/doctest.h>

#include <cstdint>
#include <strata/base/clock.hpp>
#include <string>
#include <vector>

#include "fake_session.hpp"

namespace loss_test {

using fake::launch;
using fake::row;
using fake::traced;
using strata::profile;

TEST_CASE("the profiler's own kernel is left out in silence") {
  traced s;
  launch("gemm");
  fake_wait_ns_kernel();
  profile const& p = fake::whole(s);
  CHECK(p.kernels.size() == 1);
}

TEST_CASE("a kernel of the program may have that name too") {
  traced s;
  {
    STRATA_RANGE("mine");
    launch("WaitNs");
  }
  profile const& p = fake::whole(s);
  CHECK(row(p, "mine").self.kernels == 1);
}

TEST_CASE("kernels without a launch are counted and stand under the root") {
  traced s;
  fake_kernel kernel;
  kernel.name = "stranger";
  {
    STRATA_RANGE("work");
    launch();
    fake_orphan_kernel(&kernel);
    fake_orphan_kernel(&kernel);
  }
  profile const& p = s.profile();
  CHECK(p.losses.uncorrelated == 2);
  CHECK(p.kernels.size() == 3);
  CHECK(row(p, "work").self.kernels == 1);
  CHECK(row(p, "").self.kernels == 2);
}

TEST_CASE("lost times are counted and are no time") {
  traced s;
  {
    STRATA_RANGE("work");
    launch();
    fake_lose_timestamps(1);
    launch();
    (void)fake_copy(1, 64, 7, 1000);
    fake_lose_timestamps(0);
  }
  profile const& p = s.profile();
  CHECK(p.losses.timestamps_lost == 2);
  CHECK(p.losses.uncorrelated == 0);
  strata::range_row const work = row(p, "work");
  CHECK(work.self.kernels == 2);
  CHECK(fake::about(work.self.kernel_ns, 1000));
  CHECK(work.self.copies == 1);
  CHECK(work.self.copy_ns == 0);
  CHECK(work.self.host_to_device_bytes == 64);
  CHECK(fake::about(work.gpu_busy_ns, 1000));
  REQUIRE(p.kernels.size() == 2);
  CHECK(p.kernels[0].begin == strata::lost_time);  // sorted by time
  CHECK(p.kernels[0].end == strata::lost_time);
}

TEST_CASE("times that cannot be are lost, and all else is as without them") {
  std::int64_t begin = 0;  // after now
  std::int64_t end = 10'000;
  bool begin_0 = false;
  bool end_0 = false;
  SUBCASE("begin 0") { begin_0 = true; }
  SUBCASE("end 0") { end_0 = true; }
  SUBCASE("an end before the start") { begin = 20'000; }
  SUBCASE("an end after the session") { end = 3'400'000'000; }
  SUBCASE("another clock") {
    begin = -100'000'000'000'000;
    end = begin + 10'000;
  }
  SUBCASE("of before the session") { begin = -10'000'000'000; }
  std::int64_t const now = strata::detail::realtime_ns();
  traced s;
  {
    STRATA_RANGE("work");
    launch();
    for (int i = 0; i < 4; ++i) {
      fake_set_next_times(begin_0 ? 0 : static_cast<std::uint64_t>(now + begin),
                          end_0 ? 0 : static_cast<std::uint64_t>(now + end));
      if (i == 0) launch();
      if (i == 1) (void)fake_copy(1, 64, 7, 1000);
      if (i == 2) (void)fake_memset(32, 7, 1000);
      if (i == 3) (void)fake_sync(3, 7, 1000);
    }
    launch();
  }
  profile const& p = s.profile();
  CHECK(p.losses.timestamps_lost == 4);
  CHECK(p.losses.uncorrelated == 0);
  strata::range_row const work = row(p, "work");
  CHECK(work.self.kernels == 3);
  CHECK(fake::about(work.self.kernel_ns, 2000));
  CHECK(fake::about(work.gpu_busy_ns, 2000));
  CHECK(work.self.copies == 2);
  CHECK(work.self.copy_ns == 0);
  CHECK(work.self.host_to_device_bytes == 64);
  CHECK(work.self.set_bytes == 32);
  CHECK(work.self.synchronizations == 1);
  CHECK(work.self.synchronization_ns == 0);
  CHECK(p.kernels[0].begin == strata::lost_time);
}

TEST_CASE("what CUPTI dropped is counted") {
  traced s;
  SUBCASE("before a buffer comes back") {
    launch();
    fake_drop(5);
  }
  SUBCASE("and no buffer comes back") { fake_drop(5); }
  profile const& p = s.profile();
  CHECK(p.losses.activity_dropped == 5);
}

TEST_CASE("what follows a record that cannot be read is counted by the size of records") {
  traced s;
  int running = 0;
  SUBCASE("after records of the same buffer") {
    for (int i = 0; i < 3; ++i) launch();
    running = 40;
  }
  SUBCASE("in a buffer without a record that can be read") { running = 7; }
  SUBCASE("as the last of its buffer") {
    launch();
    running = 1;
  }
  (void)fake_begin_capture(9);  // nobody may wait
  fake_hold(2);
  for (int i = 0; i < running; ++i) launch();
  profile const& p = s.profile();
  auto const lost = static_cast<std::uint64_t>(running);
  CHECK(p.losses.activity_dropped >= lost - lost / 20);  // the size may be another release's
  CHECK(p.losses.activity_dropped <= lost + lost / 20);
  fake_hold(0);
  (void)fake_end_capture(9);
}

TEST_CASE("what was dropped between two sessions is nobody's") {
  { traced const first; }
  fake_drop(7);
  traced s;
  launch();
  fake::nothing_lost(s.profile());
}

TEST_CASE(
    "work that runs on while a capture forbids to wait leaves the records that are complete") {
  traced s;
  {
    STRATA_RANGE("done");
    launch();
  }
  (void)fake_begin_capture(9);
  fake_hold(1);
  {
    STRATA_RANGE("running");
    launch();
  }
  profile const& p = s.profile();
  CHECK(fake_synchronize_count() == 0);
  CHECK(fake_capture_broken() == 0);
  CHECK(p.kernels.size() == 1);
  CHECK(row(p, "done").self.kernels == 1);
  CHECK(p.losses.work_unfinished == 1);
  CHECK(fake_buffers_outstanding() == 0);
  fake_hold(0);
  CHECK(fake_end_capture(9) != 0);
  fake::check_tracing(false);
  // And the next session knows nothing of it.
  traced next;
  launch();
  profile const& q = fake::whole(next);
  CHECK(q.kernels.size() == 1);
}

TEST_CASE("records that come after their session are not the next one's") {
  {
    traced first;
    (void)fake_begin_capture(9);
    launch();
    first.stop();
    (void)fake_end_capture(9);
  }
  traced s;
  launch();
  profile const& p = fake::whole(s);
  CHECK(p.kernels.size() == 1);
}

}  // namespace loss_test
