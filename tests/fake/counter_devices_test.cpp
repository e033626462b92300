// Ranges are counted on every device that the program uses, and the counts added up.
#include <doctest/doctest.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <string>
#include <thread>

#include <strata/collect/host/recorder.hpp>
#include "counter_run.hpp"

namespace counter_devices_test {

using fake::counted;
using fake::counting;
using fake::hbm_read;
using fake::run_steps;
using strata::profile;

namespace {

/// A kernel of 32 threads a block on a device, in the context of the next number.
void launch_on(std::uint32_t device, int blocks, std::uint64_t duration_ns = 1000) {
  fake_kernel kernel;
  kernel.grid[0] = blocks;
  kernel.device = device;
  kernel.context = device + 1;
  kernel.stream = 7 + device;
  kernel.duration_ns = duration_ns;
  (void)fake_launch(&kernel);
}

/// A session on several devices, of which the context that is current has the first.
struct counting_on : counting {
  counting_on(std::uint32_t devices, std::string const& request, std::string const& more = "")
      : counting(request, more) {
    fake_set_device_count(static_cast<int>(devices));
    for (std::uint32_t i = 0; i < devices; ++i) fake_set_device_of(i + 1, static_cast<int>(i));
  }
};

/// How many values a range has, of all counters and devices.
std::size_t values_of(profile const& p, counted const& c, std::string const& path) {
  std::size_t count = 0;
  for (strata::range_row const& row : c.tree.rows()) {
    if (row.path != path) continue;
    for (strata::counter_value const& each : p.counters().values) count += each.node == row.path_id;
  }
  return count;
}

void split_model() {
  {
    STRATA_RANGE("first");
    launch_on(0, 10);
  }
  {
    STRATA_RANGE("second");
    launch_on(1, 20);
  }
  STRATA_RANGE("both");
  launch_on(0, 1);
  launch_on(1, 2);
}

/// Two devices, 5 us at the same time.
void work_in_parallel() {
  STRATA_RANGE("parallel");
  auto const since = std::chrono::system_clock::now().time_since_epoch();
  auto const at = static_cast<std::uint64_t>(std::chrono::nanoseconds(since).count());
  for (std::uint32_t device = 0; device < 2; ++device) {
    fake_set_next_times(at, at + 5000);
    launch_on(device, 10);
  }
}

}  // namespace

TEST_CASE("a model that is split over two devices") {
  counting_on s(2, std::string(hbm_read) + "+gpu__time_duration.sum");
  run_steps(2, split_model);
  profile const& p = fake::clean(s);
  CHECK(p.counters().devices == strata::vec<std::uint32_t>{0, 1});
  CHECK(fake_profiler_passes() == 2);  // one step, on each
  CHECK(p.counters().passes_done == 1);
  counted const c(p);
  CHECK(c.total("first", hbm_read) == 320);
  CHECK(c.total("second", hbm_read) == 640);
  CHECK(c.total("both", hbm_read) == 96);
  CHECK(c.total("", hbm_read) == 1056);
  for (char const* const path : {"first", "second"}) {
    CAPTURE(path);
    CHECK(values_of(p, c, path) == 2);  // of two counters: the idle device is left out
  }
  CHECK(values_of(p, c, "both") == 4);
}

TEST_CASE("counters of the SMs on two devices, in two configurations") {
  char const* const executed = "smsp__inst_executed.sum";
  char const* const fma = "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum";
  counting_on s(2, std::string(executed) + '+' + fma + '+' + hbm_read);
  fake_profiler_set_weight(executed, 2);
  fake_profiler_set_weight(fma, 3);
  run_steps(5, split_model);
  fake::no_problem(s.profile());
  CHECK(s.profile().counters().passes_done == 3);
  counted const c(s.profile());
  CHECK(c.total("first", executed) == 640);
  CHECK(c.total("second", executed) == 1280);
  CHECK(c.total("both", executed) == 192);
  CHECK(c.total("both", fma) == 288);
  CHECK(c.total("", fma) == 3168);
}

TEST_CASE("several passes on several devices, and another device from step to step") {
  counting_on s(3, std::string(hbm_read) + '+' + fake::hbm_write + '+' + fake::l2_bytes,
                "active=2");
  fake_profiler_set_metrics_per_pass(1);
  int step = 0;
  run_steps(5, [&] {
    STRATA_RANGE("decode");
    std::uint32_t const device = static_cast<std::uint32_t>(step++ % 2);
    launch_on(device, 4);
    launch_on(2, 1);
  });
  counted const c(s.profile());
  CHECK(s.profile().counters().devices == strata::vec<std::uint32_t>{0, 1, 2});
  CHECK(s.profile().counters().passes_done == 3);
  for (char const* const metric : {hbm_read, fake::hbm_write, fake::l2_bytes})
    CHECK(c.total("decode", metric) == 160);
}

TEST_CASE("a copy between devices and a graph count on all, another copy where it is made") {
  counting_on s(2, hbm_read);
  (void)fake_begin_capture(9);
  fake::launch_blocks(3, "captured", 9);
  fake_graph_t const graph = fake_graph_clone(fake_end_capture(9));
  run_steps(2, [&] {
    {
      STRATA_RANGE("warm");
      launch_on(0, 1);
      launch_on(1, 1);
    }
    {
      STRATA_RANGE("graph");
      (void)fake_graph_launch(graph, 9);
    }
    {
      STRATA_RANGE("peer");
      (void)fake_copy(10, 1 << 20, 7, 1000);
    }
    STRATA_RANGE("upload");
    (void)fake_copy(1, 1 << 20, 7, 1000);
  });
  profile const& p = s.profile();
  counted const c(p);
  CHECK(values_of(p, c, "graph") == 2);
  CHECK(values_of(p, c, "peer") == 2);
  CHECK(values_of(p, c, "upload") == 1);
}

TEST_CASE("a device of another thread is left alone: its work may wait for this thread's") {
  counting_on s(2, hbm_read);
  run_steps(2, [] {
    STRATA_RANGE("main");
    launch_on(0, 3);
    std::thread([] { launch_on(1, 100); }).join();
  });
  fake::no_problem(s.profile());
  CHECK(s.profile().counters().devices == strata::vec<std::uint32_t>{0});
  CHECK(counted(s.profile()).total("main", hbm_read) == 96);
}

TEST_CASE("a range of which one device lost a part has no value, rather than a part of it") {
  counting_on s(2, hbm_read);
  fake_profiler_fail("cuptiRangeProfilerPushRange", 6, 1, 999);  // of "both", on the second device
  run_steps(2, split_model);
  fake::one_problem(s.profile(), "1 ranges have no values");
  counted const c(s.profile());
  CHECK(c.total("first", hbm_read) == 320);
  CHECK(c.total("second", hbm_read) == 640);
  CHECK(c.empty("both", hbm_read));
  CHECK(s.profile().losses.counter_ranges_lost == 1);
}

TEST_CASE("more ranges than room on one device: the step is repeated on all") {
  counting_on s(2, hbm_read);
  fake_profiler_set_full(fake_full::ignore, 1);
  int step = 0;
  run_steps(5, [&] {
    int const ranges = step++ == 0 ? 1 : 100;
    for (int i = 0; i < ranges; ++i) {
      STRATA_RANGE("range", i);
      launch_on(0, 1);
      launch_on(1, 2);
    }
  });
  profile const& p = fake::clean(s);
  CHECK(p.counters().passes_done == 1);
  CHECK(fake_profiler_passes() == 4);
  CHECK(counted(p).total("", hbm_read) == 100 * 96);
}

TEST_CASE("rates are of a device: busy times are added up, so no share exceeds 100 %") {
  counting_on s(2, "hbm+hbm_peak_bytes_per_second");
  run_steps(2, work_in_parallel);
  counted const c(s.profile());
  CHECK(c.total("parallel", "timed_gpu_seconds") == doctest::Approx(10e-6).epsilon(1e-3));
  CHECK(c.total("parallel", "hbm_bytes_per_second") ==
        doctest::Approx(c.total("parallel", "hbm_bytes") / 10e-6).epsilon(1e-3));
  CHECK(c.total("parallel", "hbm_of_peak") <= 100);
  CHECK(c.tree.rows()[1].gpu_busy_ns == 5000);
  CHECK(c.tree.rows()[1].device_busy_ns == 10000);
}

TEST_CASE("another chip, a second context and a device that refuses are left out by name") {
  SUBCASE("another chip") {
    counting_on s(2, hbm_read);
    fake_profiler_set_chip(1, "AD102");
    run_steps(2, split_model);
    fake::one_problem(s.profile(), "counters: device 1 is not counted: it is a AD102");
    counted const c(s.profile());
    CHECK(c.total("first", hbm_read) == 320);
    CHECK(c.total("both", hbm_read) == 32);
  }
  SUBCASE("a second context on one device") {
    counting_on s(2, hbm_read);
    fake_set_device_of(2, 0);
    run_steps(2, split_model);
    fake::one_problem(s.profile(), "counters: device 0 has several contexts");
    CHECK(s.profile().counters().devices == strata::vec<std::uint32_t>{0});
  }
  SUBCASE("the second device has no privilege") {
    counting_on s(2, hbm_read);
    fake_profiler_fail("cuptiRangeProfilerEnable", 2, 1, 35);
    run_steps(2, split_model);
    fake::one_problem(s.profile(), "counters: device 1 is not counted: ");
    counted const c(s.profile());
    CHECK(c.total("first", hbm_read) == 320);
  }
}

TEST_CASE("a rate is of the devices that were counted") {
  counting_on s(2, "hbm");
  fake_profiler_set_chip(1, "AD102");
  run_steps(2, work_in_parallel);
  CHECK(counted(s.profile()).total("parallel", "timed_gpu_seconds") ==
        doctest::Approx(5e-6).epsilon(1e-3));
}

TEST_CASE("a device that cannot begin to count is left out, and told") {
  for (char const* const function : {"cuptiRangeProfilerSetConfig", "cuptiRangeProfilerStart"}) {
    CAPTURE(function);
    counting_on s(2, hbm_read);
    fake_profiler_fail(function, 2, 1, 26);
    run_steps(3, split_model);
    fake::one_problem(s.profile(), "; the current device alone is counted");
    CHECK(fake::says(s.profile().problems[0], function));
    CHECK(s.profile().counters().devices == strata::vec<std::uint32_t>{0});
    CHECK(counted(s.profile()).total("both", hbm_read) == 32);
  }
}

TEST_CASE("what fails on one device later ends the counting, and the program continues") {
  for (char const* const function : {"cuptiRangeProfilerStop", "cuptiRangeProfilerDecodeData"}) {
    CAPTURE(function);
    counting_on s(2, hbm_read);
    fake_profiler_fail(function, 2, 1, 7);
    run_steps(3, split_model);
    profile const& p = s.profile();
    REQUIRE(!p.problems.empty());
    CHECK(fake::says(p.problems[0], function));
    CHECK(p.counters().values.empty());
  }
}

TEST_CASE("a device that is used first in a counting step is told") {
  counting_on s(2, hbm_read);
  int step = 0;
  run_steps(3, [&] {
    STRATA_RANGE("work");
    launch_on(0, 1);
    if (step++ != 0) launch_on(1, 1);
  });
  fake::one_problem(s.profile(), "that device is not counted; use it in the timed steps too");
}

TEST_CASE("a device that takes other passes is left out") {
  char const* const executed = "smsp__inst_executed.sum";
  counting_on s(2, std::string(hbm_read) + '+' + executed + "+smsp__cycles_active.sum");
  fake_profiler_set_metrics_per_pass_of(2, 1);  // of the second configuration
  run_steps(4, split_model);
  fake::one_problem(s.profile(),
                    "device 1 is not counted: it takes another number of passes than the first "
                    "one");
  CHECK(s.profile().counters().devices == strata::vec<std::uint32_t>{0});
  CHECK(s.profile().counters().passes_done == 2);
  counted const c(s.profile());
  CHECK(c.total("first", hbm_read) == 320);
  CHECK(std::isfinite(c.total("first", executed)));
}

TEST_CASE("a context that is destroyed while it is counted ends the counting") {
  counting_on s(1, std::string(hbm_read) + '+' + fake::hbm_write);
  fake_profiler_set_metrics_per_pass(1);
  fake_set_device_of(10, 9);
  int step = 0;
  run_steps(4, [&] {
    if (++step == 3) fake_destroy_context(10);
    STRATA_RANGE("work");
    launch_on(0, 1);
    if (step < 3) launch_on(9, 1);
  });
  CHECK(fake::says(s.profile().problems.at(0),
                   "the context of device 9 was destroyed while it was counted"));
}

TEST_CASE("a context that is gone before the counting is left alone") {
  counting_on s(2, hbm_read);
  run_steps(2, [] {
    STRATA_RANGE("work");
    launch_on(0, 3);
    if (!strata::detail::recorder::instance().recording()) return;
    launch_on(5, 1);
    fake_destroy_context(6);
  });
  fake::no_problem(s.profile());
  CHECK(s.profile().counters().devices == strata::vec<std::uint32_t>{0});
}

TEST_CASE("a session that ends while a stream captures gives all devices back to the next one") {
  {
    counting_on s(2, std::string(hbm_read) + '+' + fake::hbm_write);
    fake_profiler_set_metrics_per_pass(1);
    run_steps(1, split_model);
    {
      STRATA_STEP();
      split_model();
      (void)fake_begin_capture(9);
    }
    s.stop();
    CHECK(fake_end_capture(9) != 0);
    CHECK(fake_profiler_enabled() == 2);
    split_model();
    strata::session next(
        fake::configure(std::string("trace,formats=none,active=1,counters=") + hbm_read));
    REQUIRE(next.start().ok());
    run_steps(2, split_model);
    CHECK(next.profile().counters().devices == strata::vec<std::uint32_t>{0, 1});
    CHECK(counted(next.profile()).total("both", hbm_read) == 96);
  }
}

TEST_CASE("kernels= counts the kernels of the current device") {
  counting_on s(2, hbm_read, "kernels=both");
  run_steps(3, split_model);
  profile const& p = fake::clean(s);
  REQUIRE(p.counters(strata::counter_set::gpu_kernels).kernels.size() == 1);
  CHECK(p.counters(strata::counter_set::gpu_kernels).kernels[0].launches_max == 1);
}

}  // namespace counter_devices_test
