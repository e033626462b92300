// What stays of CUPTI in a program after a session: no subscription, so that another client may
// come, unless something needs it.
#include <doctest/doctest.h>

#include <atomic>
#include <cstdlib>
#include <strata/collect/cuda/cupti_library.hpp>
#include <string>
#include <thread>
#include <vector>

#include "../patience.hpp"
#include "child_process.hpp"
#include "fake_session.hpp"

namespace detach_test {

using fake::launch;
using fake::row;
using fake::traced;
using strata::profile;
namespace cupti = strata::detail::cupti;

namespace {

void launch_in_range(int times) {
  STRATA_RANGE("work");
  for (int i = 0; i < times; ++i) launch();
}

/// Neither a subscriber nor a callback of a hundred launches, and no record.
void check_unsubscribed() {
  CHECK(fake_subscribed() == 0);
  std::size_t const before = fake_callbacks_made();
  launch_in_range(100);
  CHECK(fake_callbacks_made() == before);
  CHECK(fake_pending() == 0);
  CHECK(fake_misuse_count() == 0);
}

/// Another profiler: a subscriber with buffers of its own.
class other_client {
 public:
  other_client() {
    auto const ignore = [](void*, cupti::domain, std::uint32_t, void const*) {};
    REQUIRE(api().subscribe(&handle_, ignore, nullptr) == cupti::result::success);
    REQUIRE(api().register_callbacks(&request, &complete) == cupti::result::success);
    REQUIRE(api().activity_enable(kernels) == cupti::result::success);
  }
  other_client(other_client const&) = delete;
  other_client& operator=(other_client const&) = delete;
  ~other_client() {
    (void)api().activity_disable(kernels);
    (void)api().flush_all(cupti::flush_flag::forced);
    CHECK(api().unsubscribe(handle_) == cupti::result::success);
  }

  static inline std::size_t records = 0;

 private:
  static constexpr auto kernels = cupti::activity_kind::concurrent_kernel;
  static constexpr std::size_t bytes = 1 << 16;
  static cupti::table const& api() { return strata::detail::cupti_library::get().api; }

  static void request(std::uint8_t** buffer, std::size_t* size, std::size_t* most) {
    *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, bytes));
    *size = bytes;
    *most = 0;
  }
  static void complete(void*, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
    cupti::record* record = nullptr;
    while (api().get_next_record(buffer, valid, &record) == cupti::result::success) ++records;
    std::free(buffer);
  }

  cupti::subscriber_handle handle_ = nullptr;
};

}  // namespace

TEST_CASE("after a session nobody is subscribed, and the next session records all") {
  for (std::size_t round = 1; round <= 3; ++round) {
    traced s;
    CHECK(fake_subscribed() == 1);
    std::size_t const before = fake_callbacks_made();
    launch_in_range(50);
    s.stop();
    CHECK(fake_calls("cuptiUnsubscribe") == round);
    CHECK(fake_callbacks_made() == before + 100);
    check_unsubscribed();
    fake::nothing_lost(s.profile());
    CHECK(row(s.profile(), "work").self.kernels == 50);
    CHECK(s.profile().cost.callbacks == 100);
  }
}

TEST_CASE("between two sessions another profiler has CUPTI, with buffers of its own") {
  for (std::size_t round = 1; round <= 2; ++round) {
    traced s;
    launch_in_range(5);
    s.stop();
    std::size_t const flushes = fake_calls("cuptiActivityFlushAll");
    {
      other_client const other;
      launch_in_range(20);
    }
    CHECK(other_client::records == 20 * round);
    CHECK(fake_calls("cuptiActivityFlushAll") == flushes + 1);  // the other's
    CHECK(s.profile().kernels.size() == 5);
  }
  traced s;
  launch_in_range(7);
  CHECK(row(s.profile(), "work").self.kernels == 7);
  CHECK(other_client::records == 40);
  CHECK(fake_misuse_count() == 0);
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

TEST_CASE("the subscription is kept where it cannot be given back") {
  fake_fail("cuptiUnsubscribe", 999);
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
  fake_fail("cuptiUnsubscribe", 0);
  { traced const last; }
  check_unsubscribed();
}

TEST_CASE("the subscription is kept while a stream captures") {
  std::size_t const before = fake_calls("cuptiUnsubscribe");
  std::uint32_t const stream = 9;
  {
    traced s;
    (void)fake_begin_capture(stream);
    s.stop();
    CHECK(fake_subscribed() == 1);
    CHECK(fake_calls("cuptiUnsubscribe") == before);
  }
  (void)fake_end_capture(stream);
  { traced const next; }
  check_unsubscribed();
}

TEST_CASE("sessions come and go beside threads that launch") {
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
  std::size_t const before = fake_calls("cuptiUnsubscribe");
  for (int round = 0; round < 200; ++round) {
    traced s;
    std::uint64_t const begin = launched.load();
    test::await([&] { return launched.load() >= begin + 20; });
    s.stop();
    profile const& p = s.profile();
    CHECK(p.problems.empty());
    CHECK(p.kernels.size() >= 10);
    CHECK(p.losses.activity_dropped == 0);
    CHECK(p.losses.uncorrelated <= 8);
  }
  go_on.store(false);
  for (std::thread& t : all) t.join();
  CHECK(fake_calls("cuptiUnsubscribe") == before + 200);
  check_unsubscribed();
}

TEST_CASE("at the end of the process CUPTI is left as it is") {
  SUBCASE("a session of the environment") {
    fake::child_process const p({"work=3", "fork"}, {{"STRATA", "trace,formats=none"}});
    CHECK(p.number("calls in the child") == 0);
    CHECK(p.number("unsubscribed at exit") == 0);
  }
  SUBCASE("a session in a static object") {
    fake::child_process const p({"start=trace,formats=none", "work=3", "leave-running"});
    CHECK(p.number("unsubscribed at exit") == 0);
  }
  SUBCASE("a session in code that ends before") {
    fake::child_process const p({"start=trace,formats=none", "work=3", "stop", "fork"});
    CHECK(p.number("kernels") == 3);
    CHECK(p.number("calls in the child") == 0);
    CHECK(p.number("unsubscribed at exit") == 1);
  }
}

// Graphs are in this process from here on.
TEST_CASE(
    "the subscription is kept in a program that makes graphs: what comes of them is followed") {
  std::size_t const before = fake_calls("cuptiUnsubscribe");
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
  CHECK(fake_calls("cuptiUnsubscribe") == before);
}

}  // namespace detach_test
