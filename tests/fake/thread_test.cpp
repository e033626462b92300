// Many threads launch while sessions and windows come and go. Meant for -fsanitize=thread as well.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <set>
#include <strata/collect/cuda/activity.hpp>
#include <string>
#include <thread>
#include <vector>

#include "../patience.hpp"
#include "fake_session.hpp"

namespace thread_test {

using fake::launch;
using fake::row;
using strata::profile;

namespace {

constexpr int threads = 8;

/// Threads that launch in ranges of their own, so many rounds as were asked for: without a bound
/// they would outrun the stand-in, which delivers one record after the other.
class launchers {
 public:
  launchers() {
    for (int t = 0; t < threads; ++t) all_.emplace_back([this, t] { run(t); });
    test::await([this] { return begun_.load() == threads; });
  }
  ~launchers() {
    go_on_.store(false);
    for (std::thread& t : all_) t.join();
  }
  launchers(launchers const&) = delete;
  launchers& operator=(launchers const&) = delete;

  /// Lets the threads run so many rounds more; returns at once.
  void allow(int rounds) { allowed_.fetch_add(rounds * threads); }
  /// Returns when at most so many rounds are left.
  void wait(int left) const {
    test::await([this, left] { return allowed_.load() <= left * threads; });
  }

 private:
  void run(int t) {
    begun_.fetch_add(1);
    std::uint32_t const stream = 20 + static_cast<std::uint32_t>(t);
    while (go_on_.load(std::memory_order_relaxed)) {
      if (allowed_.load(std::memory_order_relaxed) <= 0) {
        std::this_thread::yield();
        continue;
      }
      STRATA_RANGE("worker", t);
      launch("work", stream, 10);
      {
        STRATA_RANGE("copy");
        (void)fake_copy(1, 64, stream, 10);
      }
      allowed_.fetch_sub(1);
    }
  }

  std::atomic<bool> go_on_{true};
  std::atomic<int> begun_{0};
  std::atomic<int> allowed_{0};
  std::vector<std::thread> all_;
};

/// All records fit their launches: a kernel is joined to a range of its own stream's thread.
void check_joined(profile const& p) {
  strata::call_tree const tree(p);
  std::size_t wrong = 0;
  for (strata::kernel_record const& k : p.kernels) {
    auto const at = std::lower_bound(
        p.launches.begin(), p.launches.end(), k.correlation,
        [](strata::driver_call_record const& l, std::uint32_t id) { return l.correlation < id; });
    if (at == p.launches.end() || at->correlation != k.correlation) continue;
    strata::range_row const& r = tree.row_of(at->node);
    std::string const name = "worker[" + std::to_string(static_cast<int>(k.stream) - 20) + "]";
    if (r.path != name && !r.path.empty()) ++wrong;  // the session may begin within a range
    if (at->begin < 0 || at->begin > at->end) ++wrong;
  }
  CHECK(wrong == 0);
  CHECK(p.losses.activity_dropped == 0);
  CHECK(p.losses.activity_summed == 0);
  CHECK(fake_capture_broken() == 0);
}

/// The lines of memory of the collector that differ from what they were.
class changed_lines {
 public:
  std::set<std::size_t> since_last() {
    auto const* const now =
        reinterpret_cast<unsigned char const*>(&strata::detail::activity_collector::instance());
    std::set<std::size_t> changed;
    for (std::size_t i = 0; i < sizeof(strata::detail::activity_collector); ++i) {
      if (now[i] != former_[i]) changed.insert((reinterpret_cast<std::uintptr_t>(now) + i) / 64);
      former_[i] = now[i];
    }
    return changed;
  }

 private:
  std::vector<unsigned char> former_ =
      std::vector<unsigned char>(sizeof(strata::detail::activity_collector));
};

}  // namespace

TEST_CASE("threads that launch have no line of memory that all of them write") {
  fake::traced run;
  launch("first");
  changed_lines lines;
  (void)lines.since_last();
  std::atomic<int> turn{0};
  std::vector<std::thread> all;
  for (int t = 0; t < 16; ++t)
    all.emplace_back([&turn, t] {
      test::await([&] { return turn.load() == 2 * t; });
      STRATA_RANGE("launches");
      fake_kernel kernel;
      kernel.name = "work";
      kernel.context = 1 + static_cast<std::uint32_t>(t % 2);
      (void)fake_launch(&kernel);
      turn.fetch_add(1);
      test::await([&] { return turn.load() == 32; });
    });
  std::set<std::size_t> common;
  for (int t = 0; t < 16; ++t) {
    test::await([&] { return turn.load() == 2 * t + 1; });
    std::set<std::size_t> const own = lines.since_last();
    CHECK_FALSE(own.empty());
    std::set<std::size_t> both;
    for (std::size_t const line : own)
      if (t == 0 || common.count(line) != 0) both.insert(line);
    common = both;
    turn.fetch_add(1);
  }
  for (std::thread& each : all) each.join();
  CHECK(common.empty());
}

TEST_CASE("sessions start and stop while threads launch") {
  fake::unscript();
  fake_set_auto_delivery(64);
  launchers load;
  for (int round = 0; round < 10; ++round) {
    strata::session s(fake::configure("trace,formats=none"));
    load.allow(100);
    REQUIRE(s.start().ok());
    load.allow(100);
    load.wait(50);
    s.stop();
    profile const& p = s.profile();
    CHECK(p.problems.empty());
    CHECK(p.kernels.size() >= 30 * threads);
    check_joined(p);
    // At most the calls under way at the moment when callbacks and records went off.
    CHECK(p.losses.uncorrelated <= 2 * threads);
    load.wait(0);
  }
  CHECK(fake_misuse_count() == 0);
}

TEST_CASE("windows come and go while threads launch") {
  fake::unscript();
  fake_set_delivery(fake_thread::worker);
  fake_set_auto_delivery(100);
  fake_set_order(fake_order::shuffled, 5);
  launchers load;
  strata::session s(fake::configure("trace,formats=none,skip=1,warmup=1,active=2,repeat=0"));
  REQUIRE(s.start().ok());
  for (int step = 0; step < 40; ++step) {
    STRATA_STEP();
    load.allow(10);
    load.wait(5);  // the rest runs while the step ends
  }
  profile const& p = s.profile();
  CHECK(p.problems.empty());
  CHECK(p.steps.size() == 20);
  CHECK(p.kernels.size() >= 50 * threads);
  check_joined(p);
  CHECK(p.losses.uncorrelated <= 10 * 2 * threads);
  for (strata::driver_call_record const& l : p.launches) REQUIRE(l.flags == 0);
  CHECK(fake_misuse_count() == 0);
}

TEST_CASE("captures come and go while windows end") {
  fake::unscript();
  std::atomic<bool> go_on{true};
  std::atomic<int> captured{0};
  std::vector<std::thread> all;
  strata::session s(fake::configure("trace,formats=none,skip=1,active=1,repeat=0"));
  REQUIRE(s.start().ok());
  for (int t = 0; t < 2; ++t) {
    all.emplace_back([&, t] {
      std::uint32_t const stream = 40 + static_cast<std::uint32_t>(t);
      while (go_on.load()) {
        STRATA_RANGE("capture", t);
        (void)fake_begin_capture(stream);
        launch("captured", stream, 10);
        if (fake_graph_t const graph = fake_end_capture(stream)) {
          (void)fake_graph_launch(fake_graph_clone(graph), stream);
        }
        captured.fetch_add(1);
      }
    });
  }
  int steps = 0;
  test::await([&] { return captured.load() >= 200 && steps >= 50; },
              [&] {
                STRATA_STEP();
                launch("work", 7, 10);
                ++steps;
              });
  go_on.store(false);
  for (std::thread& t : all) t.join();
  profile const& p = s.profile();
  // The program's threads begin captures at any moment, so one may begin within a wait; that is a
  // race of a real program too. What is joined is joined right.
  for (strata::kernel_record const& k : p.kernels)
    CHECK((k.captured_by != strata::no_node) == (k.stream != 7));
  CHECK(fake_misuse_count() == 0);
}

TEST_CASE("threads that come and go") {
  fake::unscript();
  fake::traced s;
  for (int round = 0; round < 20; ++round) {
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t) {
      all.emplace_back([t] {
        STRATA_RANGE("short", t);
        launch("work", 20 + static_cast<std::uint32_t>(t), 10);
      });
    }
    for (std::thread& t : all) t.join();
  }
  profile const& p = fake::whole(s);
  CHECK(p.kernels.size() == 20 * threads);
  for (int t = 0; t < threads; ++t)
    CHECK(row(p, "short[" + std::to_string(t) + "]").self.kernels == 20);
}

}  // namespace thread_test
