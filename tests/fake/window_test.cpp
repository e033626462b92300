// Steps in windows: what is on when, what is kept, and when the device is waited for.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <strata/collect/cuda/cupti_library.hpp>
#include <string>
#include <thread>
#include <vector>

#include "../patience.hpp"
#include "../sanitizers.hpp"
#include "fake_session.hpp"

namespace window_test {

using fake::launch;
using fake::row;
using fake::traced;
using strata::profile;

namespace {

/// Every kind of work and record, `times` times, in the range "work".
void work(int times) {
  STRATA_RANGE("work");
  for (int i = 0; i < times; ++i) {
    launch();
    (void)fake_copy(1, 10, 7, 100);
    (void)fake_memset(10, 7, 100);
    (void)fake_malloc(0x1000, 10, 3, 0);
    (void)fake_free(0x1000, 10, 3, 0);
    (void)fake_sync(3, 99, 10);
    fake_overhead(1 << 16, 100);
  }
}

}  // namespace

TEST_CASE("nothing is on without a session, and all of it within") {
  { traced const first; }
  fake::check_tracing(false);
  traced s;
  fake::check_tracing(true);
  work(2);
  s.stop();
  fake::check_tracing(false);
  CHECK(fake_synchronize_count() == 1);
  work(5);  // nobody's
  profile const& p = fake::whole(s);
  CHECK(p.kernels.size() == 2);
  CHECK(p.copies.size() == 4);
  CHECK(p.memory.size() == 4);
  CHECK(p.synchronizations.size() == 2);
  CHECK(p.overheads.size() == 2);
}

TEST_CASE("only the active steps of each window are kept") {
  traced s("skip=2,warmup=1,active=2,repeat=2");
  fake::check_tracing(false);
  for (int step = 0; step < 14; ++step) {
    CAPTURE(step);
    STRATA_STEP();
    bool const in_window = step < 10 && step % 5 >= 2;
    fake::check_tracing(in_window);
    // Whether the work is done is asked at the end of a window, and at no other time.
    CHECK(fake_synchronize_count() == static_cast<std::size_t>(step < 5 ? 0 : step < 10 ? 1 : 2));
    work(step + 1);
  }
  CHECK(fake_synchronize_count() == 2);
  fake::check_tracing(false);
  profile const& p = s.profile();
  CHECK(fake_synchronize_count() == 3);
  fake::nothing_lost(p);
  // Steps 3, 4, 8 and 9 are active; step n works n + 1 times.
  std::size_t const times = 4 + 5 + 9 + 10;
  CHECK(row(p, "work").host.count() == 4);
  CHECK(row(p, "work").self.kernels == times);
  CHECK(row(p, "work").self.launches == 3 * times);
  CHECK(p.kernels.size() == times);
  CHECK(p.cost.unrecorded_steps == 8);  // not the two that are warmed up in
  CHECK(p.cost.unrecorded_step_ns > 0.0);
  CHECK(p.copies.size() == 2 * times);
  CHECK(p.memory.size() == 2 * times);
  CHECK(p.synchronizations.size() == times);
  CHECK(p.overheads.size() == times);
  CHECK(p.launches.size() == 6 * times);
  REQUIRE(p.steps.size() == 4);
  CHECK(p.steps[0].step == 3);
  CHECK(p.steps[3].step == 9);
  for (strata::driver_call_record const& l : p.launches) {
    bool const active = l.step == 3 || l.step == 4 || l.step == 8 || l.step == 9;
    CHECK(active);
    CHECK(l.flags == 0);
  }
}

TEST_CASE("a warm-up at the very start") {
  traced s("warmup=2,active=1");
  for (int step = 0; step < 5; ++step) {
    STRATA_STEP();
    work(1);
  }
  profile const& p = fake::whole(s);
  CHECK(p.kernels.size() == 1);
  CHECK(p.synchronizations.size() == 1);
  CHECK(p.overheads.size() == 1);
}

TEST_CASE("a session that ends while it warms up has nothing, and says so") {
  traced s("warmup=5,active=1");
  for (int step = 0; step < 3; ++step) {
    STRATA_STEP();
    work(1);
  }
  profile p = s.profile();
  REQUIRE(p.problems.size() == 1);
  CHECK(p.problems[0].find("the program had 3, and the first one to keep is step 5") !=
        std::string::npos);
  p.problems.clear();
  fake::nothing_lost(p);
  CHECK(p.kernels.empty());
  CHECK(p.launches.empty());
  CHECK(p.memory.empty());
  CHECK(p.synchronizations.empty());
  // And the session after it does not warm up.
  traced next;
  work(1);
  CHECK(next.profile().kernels.size() == 1);
}

TEST_CASE("windows without an end") {
  traced s("skip=1,active=1,repeat=0");
  for (int step = 0; step < 20; ++step) {
    STRATA_STEP();
    work(1);
  }
  CHECK(fake_synchronize_count() == 10);
  profile const& p = fake::whole(s);
  CHECK(p.kernels.size() == 10);
  CHECK(row(p, "work").host.count() == 10);
}

TEST_CASE("the device is never waited for at the end of a range or of a step") {
  traced s;
  for (int step = 0; step < 10; ++step) {
    STRATA_STEP();
    work(3);
  }
  CHECK(fake_synchronize_count() == 0);
  CHECK(fake_calls("cuptiActivityFlushAll") != 0);
  s.stop();
  CHECK(fake_synchronize_count() == 1);
}

TEST_CASE("a range costs no call of CUPTI") {
  traced s;
  std::size_t const names[] = {fake_calls("cuptiGetTimestamp"), fake_calls("cuptiActivityFlushAll"),
                               fake_calls("cuptiEnableCallback"),
                               fake_calls("cuptiActivityEnable")};
  for (int i = 0; i < 100; ++i) {
    STRATA_RANGE("range", i);
  }
  CHECK(names[0] == fake_calls("cuptiGetTimestamp"));
  CHECK(names[1] == fake_calls("cuptiActivityFlushAll"));
  CHECK(names[2] == fake_calls("cuptiEnableCallback"));
  CHECK(names[3] == fake_calls("cuptiActivityEnable"));
  CHECK(s.profile().ranges.size() == 100);
}

TEST_CASE("sync=1 waits at the end of each range") {
  traced s("sync=1");
  for (int i = 0; i < 5; ++i) work(1);
  CHECK(fake_synchronize_count() == 5);
  s.stop();
  CHECK(fake_synchronize_count() == 6);
}

TEST_CASE("our own wait at the end of a window, and what it costs, is not in the profile") {
  traced s("active=1");
  // CUPTI records each wait, also that of Strata.
  fake_set_synchronize_hook([] {
    (void)fake_sync(4, 98, 10);
    fake_overhead(1 << 16, 10);
  });
  {
    STRATA_STEP();
    work(1);
  }
  CHECK(fake_synchronize_count() == 1);
  fake_set_synchronize_hook(nullptr);
  profile const& p = fake::whole(s);
  CHECK(p.synchronizations.size() == 1);
  CHECK(p.overheads.size() == 1);
}

TEST_CASE("what is launched while a window closes has its launch and is left out") {
  traced s("active=1");
  fake_set_synchronize_hook([] { launch("late"); });
  {
    STRATA_STEP();
    work(1);
  }
  fake_set_synchronize_hook(nullptr);
  profile const& p = fake::whole(s);
  CHECK(p.kernels.size() == 1);
}

TEST_CASE("a window stays open until its work has come, and no step waits for it") {
  traced s("every=9,active=1");
  fake_hold(1);
  for (int step = 0; step < 26; ++step) {
    STRATA_STEP();
    CAPTURE(step);
    if (step == 8) fake_hang(fake_blocks_context);
    if (step == 12) fake_hang(0);
    work(1);
    CHECK(fake_kind_enabled(fake::kernels) == ((step >= 8 && step <= 12) || step == 17 ? 1 : 0));
  }
  fake_hold(0);
  profile const& p = fake::whole(s);
  CHECK(p.steps.size() == 2);
  CHECK(p.kernels.size() == 2);
  CHECK(row(p, "work").self.kernels == 2);
  CHECK(p.copies.size() == 4);
}

TEST_CASE("a window that is still open when the next one begins continues as that") {
  traced s("every=3,active=1");
  for (int step = 0; step < 11; ++step) {
    STRATA_STEP();
    if (step == 2) fake_hang(fake_blocks_context);
    if (step == 6) fake_hang(0);
    work(1);
  }
  fake::check_tracing(false);
  profile const& p = fake::whole(s);
  CHECK(p.steps.size() == 3);
  CHECK(p.kernels.size() == 3);
}

TEST_CASE("a window that begins when its session has ended records nothing") {
  traced s("active=1,drain=20");
  fake_hang(fake_blocks_all);
  std::thread program([] {
    STRATA_STEP();
    work(1);
  });
  test::await([] { return fake_waits() != 0; });
  s.stop();
  strata::vec<std::string> problems;
  strata::session early(strata::options::parse("host,drain=20", problems));
  CHECK(early.start().code() == strata::errc::busy);
  fake_hang(0);
  program.join();
  fake::check_tracing(false);
  CHECK(s.profile().ranges.empty());
  CHECK(s.profile().cost.seconds_in_window == 0);

  traced next("host,every=2,active=1");
  for (int step = 0; step < 4; ++step) {
    STRATA_STEP();
    work(1);
  }
  CHECK(next.profile().steps.size() == 2);
  CHECK(next.profile().ranges.size() == 2);
  CHECK(next.profile().cost.seconds_in_window > 0);
  // What the session did not wait for comes back: until then the device is not traced.
  test::await([] {
    strata::vec<std::string> none;
    strata::session probe(strata::options::parse("trace", none));
    (void)probe.start();
    probe.stop();
    return probe.profile().traced;
  });
}

TEST_CASE("sessions in a row all trace and find nothing of each other") {
  for (std::size_t run = 1; run <= 3; ++run) {
    traced s;
    fake::check_tracing(true);
    for (std::size_t i = 0; i < run; ++i) work(1);
    profile const& p = s.profile();
    fake::check_tracing(false);
    fake::nothing_lost(p);
    CHECK(p.kernels.size() == run);
    CHECK(p.ranges.size() == run);
    CHECK(row(p, "work").self.kernels == run);
    work(1);  // between sessions: nobody's
  }
  // So does one object that starts again, after a schedule that left its window open.
  traced s("active=2");
  for (std::size_t run = 1; run <= 3; ++run) {
    for (int step = 0; step < 4; ++step) {
      STRATA_STEP();
      fake::check_tracing(step < 2);
      work(1);
    }
    profile const& p = fake::whole(s);
    CHECK(p.kernels.size() == 2);
    REQUIRE(s.start().ok());
    {
      STRATA_STEP();
      fake::check_tracing(true);
    }
    s.stop();
    fake::check_tracing(false);
    REQUIRE(s.start().ok());
  }
}

TEST_CASE("what is not asked for costs no callback and no record") {
  traced s("trace=kernels");
  CHECK(fake_callback_enabled("cuLaunchKernel") != 0);
  CHECK(fake_callback_enabled("cuGraphLaunch") != 0);
  for (char const* const function : {"cuMemcpyHtoDAsync_v2", "cuMemsetD8Async", "cuMemAlloc_v2",
                                     "cuMemFree_v2", "cuStreamSynchronize"}) {
    CAPTURE(function);
    CHECK(fake_callback_enabled(function) == 0);
  }
  std::size_t kinds = 0;
  for (fake::kind const k : fake::all_kinds) kinds += fake_kind_enabled(k) != 0;
  CHECK(kinds == 2);  // kernels and CUPTI's own cost
  {
    STRATA_RANGE("work");
    launch();
    (void)fake_copy(1, 64, 7, 1000);
  }
  profile const& p = fake::whole(s);
  CHECK(p.kernels.size() == 1);
  CHECK(p.copies.empty());
  CHECK(p.launches.size() == 1);
  fake::check_tracing(false);
}

TEST_CASE("a window in each hundred steps of a long run") {
  traced s("every=100,warmup=1,active=1");
  for (int step = 0; step < 2'000; ++step) {
    STRATA_STEP();
    STRATA_RANGE("work");
    launch("kernel", 7, 1);
  }
  profile const& p = fake::whole(s);
  CHECK(p.steps.size() == 20);
  CHECK(p.kernels.size() == 20);
  CHECK(fake::row(p, "work").host.count() == 20);
}

TEST_CASE("kernel times land on the host's clock whatever CUPTI's clock says") {
  std::int64_t skew = 0;
  SUBCASE("the same clock") {}
  SUBCASE("an hour ahead") { skew = 3'600'000'000'000; }
  SUBCASE("an hour behind") { skew = -3'600'000'000'000; }
  SUBCASE("years behind") { skew = -1'000'000'000'000'000'000; }
  strata::session s(fake::configure("trace,formats=none"));
  fake::unscript();
  fake_skew_clock(skew);
  REQUIRE(s.start().ok());
  static std::uint32_t stream = 1000;  // one that no work of another time occupies
  for (int i = 0; i < 50; ++i) {
    STRATA_RANGE("work");
    launch("kernel", ++stream, 10);
  }
  profile const& p = fake::whole(s);
  REQUIRE(p.kernels.size() == 50);
  REQUIRE(p.launches.size() == 50);
  for (std::size_t i = 0; i < 50; ++i) {
    // The fake's kernels begin within their launches; 20 us are far beyond the bridge's error.
    CHECK(p.kernels[i].begin > p.launches[i].begin - 20'000);
    CHECK(p.kernels[i].begin < p.launches[i].end + 20'000);
  }
  fake_skew_clock(0);
}

TEST_CASE("CUPTI's clock is set within a session: kernels stay with their launches") {
  constexpr std::int64_t hour = 3'600'000'000'000;
  std::int64_t by = -hour;
  int set_after = 19;
  SUBCASE("back") {}
  SUBCASE("back, while kernels are under way") { set_after = 15; }
  SUBCASE("forth, while kernels are under way") {
    by = hour;
    set_after = 15;
  }
  traced s;
  std::uint32_t stream = 5000;  // as above
  for (int i = 0; i < 50; ++i) {
    STRATA_RANGE("work");
    launch("kernel", ++stream, 10);
    if (i % 10 == 9)
      (void)strata::detail::cupti_library::get().api.flush_all(
          strata::detail::cupti::flush_flag::complete_only);
    if (i == set_after) fake_skew_clock(by);
  }
  profile const& p = fake::whole(s);
  REQUIRE(p.kernels.size() == 50);
  REQUIRE(p.launches.size() == 50);
  // The clock was set by an hour. A busy machine takes a while between two looks at it.
  constexpr std::int64_t slack_ns = 5'000'000;
  std::set<std::uint32_t> seen;
  for (strata::kernel_record const& kernel : p.kernels) {
    CHECK(seen.insert(kernel.correlation).second);
    auto const launch = std::find_if(p.launches.begin(), p.launches.end(), [&](auto const& each) {
      return each.correlation == kernel.correlation;
    });
    REQUIRE(launch != p.launches.end());
    CHECK(kernel.begin > launch->begin - slack_ns);
    CHECK(kernel.begin < launch->end + slack_ns);
  }
  fake_skew_clock(0);
}

}  // namespace window_test
