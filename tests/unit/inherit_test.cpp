// A place in the call tree that a thread hands to others.
#include <doctest/doctest.h>
#include <strata/inherit.hpp>
#include <strata/tables/call_tree.hpp>
#include <strata/tables/csv.hpp>
#include <strata/tables/kernel_table.hpp>
#include <strata/tables/memory_table.hpp>
#include <strata/tables/table.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <queue>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "../patience.hpp"
#include "profile_checks.hpp"
#include "recording.hpp"
#include "report_sample.hpp"

namespace inherit_test {

using namespace strata;
using namespace recording_test;
using test::row;

namespace {

void in_thread(std::function<void()> work) { std::thread(std::move(work)).join(); }

void pass_time() { std::this_thread::sleep_for(std::chrono::milliseconds(2)); }

/// Equal but for rounding, once a call.
bool near(std::int64_t a, std::int64_t b) { return a - b <= 2000 && b - a <= 2000; }

/// Self times are the threads' times, each moment once.
void check_self_times(profile const& p) {
  std::int64_t sum = 0;
  call_tree const tree(p);
  for (range_row const& r : tree.rows()) {
    CAPTURE(r.path);
    CHECK(r.host_self_ns >= 0);
    CHECK(r.host_self_ns <= r.host_total_ns);
    sum += r.host_self_ns;
  }
  std::int64_t outermost = 0;
  for (range_record const& r : p.ranges) {
    bool inside = false;
    for (range_record const& other : p.ranges) {
      inside = inside ||
               (&other != &r && other.thread == r.thread && other.begin <= r.begin &&
                other.end >= r.end && (other.end - other.begin > r.end - r.begin || &other > &r));
    }
    if (!inside) outermost += r.end - r.begin;
  }
  auto const tolerance = static_cast<std::int64_t>(p.ranges.size());  // each is rounded
  CHECK(sum >= outermost - tolerance);
  CHECK(sum <= outermost + tolerance);
}

/// Threads that are there before anything else and wait in ranges of their own.
class old_pool {
 public:
  explicit old_pool(int threads) {
    for (int i = 0; i < threads; ++i) all_.emplace_back([this] { run(); });
  }
  ~old_pool() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      done_ = true;
    }
    wake_.notify_all();
    for (std::thread& t : all_) t.join();
  }
  void add(std::function<void()> task) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      tasks_.push(std::move(task));
      ++open_;
    }
    wake_.notify_one();
  }
  void wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    wake_.wait(lock, [this] { return open_ == 0; });
  }

 private:
  void run() {
    for (;;) {
      STRATA_RANGE("turn");
      std::function<void()> task;
      {
        STRATA_RANGE("idle");
        std::unique_lock<std::mutex> lock(mutex_);
        wake_.wait(lock, [this] { return done_ || !tasks_.empty(); });
        if (tasks_.empty()) return;
        task = std::move(tasks_.front());
        tasks_.pop();
      }
      task();
      std::lock_guard<std::mutex> lock(mutex_);
      if (--open_ == 0) wake_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::queue<std::function<void()>> tasks_;
  int open_ = 0;
  bool done_ = false;
  std::vector<std::thread> all_;
};

}  // namespace

TEST_CASE("a worker's ranges stand below the range that handed its place over") {
  recording all;
  {
    STRATA_RANGE("block", 3);
    STRATA_RANGE("attention");
    range_handle const here = current();
    in_thread([here] {
      inherit const as_child(here);
      STRATA_RANGE("head", 1);
      STRATA_RANGE("softmax");
    });
    in_thread([] { STRATA_RANGE("alone"); });
  }
  profile const& p = all.profile();
  CHECK(calls_of(p) == call_counts{{"block[3]", 1},
                                   {"block[3]/attention", 1},
                                   {"block[3]/attention/head[1]", 1},
                                   {"block[3]/attention/head[1]/softmax", 1},
                                   {"alone", 1}});
  CHECK(find_range(p, "block[3]/attention/head[1]")->thread !=
        find_range(p, "block[3]/attention")->thread);
  CHECK(p.losses.ranges_left_open == 0);
}

TEST_CASE("a parent keeps its own time, whatever its workers take") {
  recording all;
  {
    STRATA_RANGE("parent");
    { STRATA_RANGE("before"); }
    range_handle const here = current();
    std::vector<std::thread> workers;
    for (int i = 0; i < 4; ++i) {
      workers.emplace_back([here] {
        inherit const as_child(here);
        STRATA_RANGE("work");
        { STRATA_RANGE("part"); }
        pass_time();
      });
    }
    for (std::thread& t : workers) t.join();
  }
  profile const& p = all.profile();
  range_row const parent = row(p, "parent");
  range_row const work = row(p, "parent/work");
  CHECK(work.host.count() == 4);
  CHECK(work.host_total_ns >= 8'000'000);
  CHECK(near(parent.host_self_ns, parent.host_total_ns - row(p, "parent/before").host_total_ns));
  CHECK(near(work.host_self_ns, work.host_total_ns - row(p, "parent/work/part").host_total_ns));
  check_self_times(p);
}

TEST_CASE("the thread that hands its place over may take part") {
  recording all;
  {
    STRATA_RANGE("parent");
    range_handle const here = current();
    auto const work = [here] {
      inherit const as_child(here);  // nothing to do where the thread is there already
      STRATA_RANGE("work");
      pass_time();
    };
    std::thread other(work);
    work();
    other.join();
  }
  profile const& p = all.profile();
  CHECK(calls_of(p) == call_counts{{"parent", 1}, {"parent/work", 2}});
  range_row const parent = row(p, "parent");
  range_row const work = row(p, "parent/work");
  CHECK(parent.host_self_ns > parent.host_total_ns - work.host_total_ns);
  check_self_times(p);
}

TEST_CASE("a worker's own ranges around do not have that time for themselves") {
  recording all;
  {
    STRATA_RANGE("parent");
    range_handle const here = current();
    in_thread([here] {
      STRATA_RANGE("pool");
      STRATA_RANGE("turn");
      inherit const as_child(here);
      {
        STRATA_RANGE("work");
        pass_time();
      }
    });
  }
  profile const& p = all.profile();
  CHECK(calls_of(p).at("parent/work") == 1);
  range_row const turn = row(p, "pool/turn");
  CHECK(turn.host_total_ns >= 2'000'000);
  CHECK(near(turn.host_self_ns, turn.host_total_ns - row(p, "parent/work").host_total_ns));
  CHECK(row(p, "pool").host_self_ns == row(p, "pool").host_total_ns - turn.host_total_ns);
  check_self_times(p);
}

TEST_CASE("places within places") {
  recording all;
  {
    STRATA_RANGE("a");
    range_handle const at_a = current();
    STRATA_RANGE("b");
    range_handle const at_b = current();
    in_thread([at_a, at_b] {
      STRATA_RANGE("own");
      inherit const first(at_a);
      {
        STRATA_RANGE("one");
        inherit const second(at_b);
        inherit const again(at_b);
        STRATA_RANGE("two");
        range_handle const deeper = current();
        in_thread([deeper] {
          inherit const as_child(deeper);
          STRATA_RANGE("three");
        });
      }
      inherit const back(at_b);
      STRATA_RANGE("four");
    });
  }
  profile const& p = all.profile();
  CHECK(calls_of(p) == call_counts{{"a", 1},
                                   {"a/b", 1},
                                   {"own", 1},
                                   {"a/one", 1},
                                   {"a/b/two", 1},
                                   {"a/b/two/three", 1},
                                   {"a/b/four", 1}});
  check_self_times(p);
}

TEST_CASE("nothing to inherit: a context of nowhere, or of a time when nobody listened") {
  range_handle before;
  {
    STRATA_RANGE("unheard");
    before = current();
  }
  recording all;
  range_handle const outside = current();
  in_thread([&] {
    STRATA_RANGE("worker");
    inherit const a(before);
    inherit const b(outside);
    inherit const c{range_handle{}};
    STRATA_RANGE("work");
  });
  CHECK(calls_of(all.profile()) == call_counts{{"worker", 1}, {"worker/work", 1}});
  inherit const late(before);
  CHECK(calls_of(all.profile()).size() == 2);
}

TEST_CASE("a worker outlives the range, the session and the next session's begin") {
  std::atomic<int> turn{0};
  auto const wait_for = [&turn](int next) { test::await([&] { return turn.load() == next; }); };
  session s(quiet());
  REQUIRE(s.start().ok());
  std::thread worker;
  {
    STRATA_RANGE("parent");
    range_handle const here = current();
    worker = std::thread([&, here] {
      inherit const as_child(here);
      { STRATA_RANGE("during"); }
      turn = 1;
      wait_for(2);
      { STRATA_RANGE("after"); }
      turn = 3;
      wait_for(4);
      { STRATA_RANGE("unheard"); }
      turn = 5;
      wait_for(6);
      { STRATA_RANGE("next"); }
      inherit const again(here);
      turn = 7;
    });
    wait_for(1);
  }
  turn = 2;
  wait_for(3);
  profile const first = s.profile();
  CHECK(calls_of(first) == call_counts{{"parent", 1}, {"parent/during", 1}, {"parent/after", 1}});
  CHECK(first.losses.ranges_left_open == 0);  // an inherited place is no range
  turn = 4;
  wait_for(5);
  REQUIRE(s.start().ok());
  turn = 6;
  wait_for(7);
  worker.join();
  CHECK(calls_of(s.profile()) == call_counts{{"parent/next", 1}});
  CHECK(row(s.profile(), "parent").host_total_ns == 0);
}

TEST_CASE("a session that ends within an inherited place") {
  session s(quiet());
  REQUIRE(s.start().ok());
  std::optional<scoped_range> parent;
  parent.emplace("parent");
  range_handle const here = current();
  in_thread([&] {
    STRATA_RANGE("own");
    inherit const as_child(here);
    STRATA_RANGE("work");
    pass_time();
    STRATA_RANGE("open");
    (void)s.profile();
  });
  profile const& p = s.profile();
  CHECK(calls_of(p) == call_counts{{"own", 1}, {"parent/work", 1}, {"parent/work/open", 1}});
  CHECK(p.losses.ranges_left_open == 4);  // three were cut, one is another thread's
  CHECK(row(p, "own").host_self_ns < row(p, "own").host_total_ns / 2);
  CHECK(row(p, "parent/work").host_total_ns >= 2'000'000);
}

TEST_CASE("what is ended in the wrong order or in the wrong thread") {
  recording all;
  {
    STRATA_RANGE("parent");
    range_handle const here = current();
    in_thread([here] {
      push("outer");
      std::optional<inherit> place;
      place.emplace(here);
      pop();  // not across the place
      push("work");
      phases phase;
      phase.next("phase");
      place.reset();  // with all that is open in it
      phase.end();
      pop();
      STRATA_RANGE("last");
    });
    std::optional<inherit> foreign;
    in_thread([&] {
      foreign.emplace(here);
      STRATA_RANGE("work");
    });
    foreign.reset();  // its thread is gone
  }
  profile const& p = all.profile();
  CHECK(
      calls_of(p) ==
      call_counts{
          {"parent", 1}, {"outer", 1}, {"parent/work", 2}, {"parent/work/phase", 1}, {"last", 1}});
  CHECK(p.losses.pops_without_push == 1);
  CHECK(p.losses.ranges_left_open == 0);
  check_self_times(p);
}

TEST_CASE("a full log keeps the account of inherited time") {
  options how = quiet();
  how.log_mb = 1;
  recording all(how);
  {
    STRATA_RANGE("parent");
    range_handle const here = current();
    in_thread([here] {
      for (int i = 0; i < 100'000; ++i) {
        inherit const as_child(here);
        STRATA_RANGE("work");
      }
    });
  }
  profile const& p = all.profile();
  CHECK(p.losses.ranges_summed > 0);
  CHECK(calls_of(p).at("parent/work") == 100'000);
  CHECK(near(row(p, "parent").host_self_ns, row(p, "parent").host_total_ns));
}

TEST_CASE("only= and folding keep the account") {
  options how = quiet();
  how.only = {"parent"};
  recording all(how);
  for (int i = 0; i < 2; ++i) {
    STRATA_RANGE("parent", i);
    range_handle const here = current();
    in_thread([here] {
      STRATA_RANGE("hidden");
      inherit const as_child(here);
      STRATA_RANGE("work", 1);
      pass_time();
    });
  }
  call_tree const tree(all.profile(), folding::by_name);
  REQUIRE(tree.rows().size() == 3);
  CHECK(tree.rows()[1].path == "parent[*]");
  CHECK(near(tree.rows()[1].host_self_ns, tree.rows()[1].host_total_ns));
  CHECK(tree.rows()[2].path == "parent[*]/work[*]");
  CHECK(tree.rows()[2].host.count() == 2);
}

TEST_CASE("the files and the table tell of workers as of anyone") {
  recording all;
  {
    STRATA_RANGE("parent");
    range_handle const here = current();
    std::vector<std::thread> workers;
    for (int i = 0; i < 4; ++i) {
      workers.emplace_back([here] {
        inherit const as_child(here);
        STRATA_RANGE("work");
        pass_time();
      });
    }
    for (std::thread& t : workers) t.join();
  }
  profile const& p = all.profile();
  call_tree const tree(p);
  call_tree const folded(p, folding::by_name);
  strata::vec<kernel_row> const kernels = make_kernel_table(p, tree);
  memory_table const memory = make_memory_table(p, tree);
  table_input const input(p, tree, folded, kernels, memory);
  std::string const csv =
      report_test::text_of([&](detail::text_writer& out) { write_ranges_csv(out, input); });
  CHECK(csv.find("parent/work,") != std::string::npos);
  std::string const table =
      report_test::text_of([&](detail::text_writer& out) { write_table(out, input); });
  CAPTURE(table);
  std::istringstream line(table.substr(table.find("work")));
  std::string name, calls, total, unit;
  double share = 0;
  line >> name >> calls >> total >> unit >> share;
  CHECK(calls == "4");
  // Of the threads' time together: the parent's own and all of its workers'.
  auto const work = static_cast<double>(folded.rows()[2].host_total_ns);
  auto const own = static_cast<double>(folded.rows()[1].host_self_ns);
  CHECK(share == doctest::Approx(100 * work / (own + work)).epsilon(0.01));
}

TEST_CASE("tasks of a pool that is older than the session, from many threads at a time") {
  old_pool pool(4);
  for (int round = 0; round < 3; ++round) {
    recording all;
    std::vector<std::thread> givers;
    for (int g = 0; g < 2; ++g) {
      givers.emplace_back([&pool, g] {
        STRATA_RANGE("giver", g);
        range_handle const here = current();
        for (int i = 0; i < 50; ++i) {
          pool.add([here] {
            inherit const as_child(here);
            STRATA_RANGE("task");
          });
        }
      });
    }
    for (std::thread& t : givers) t.join();
    if (round != 1) pool.wait();  // else the session ends among the tasks
    profile const& p = all.profile();
    call_counts const counts = calls_of(p);
    if (round != 1) {
      CHECK(counts.at("giver[0]/task") == 50);
      CHECK(counts.at("giver[1]/task") == 50);
    }
    CHECK(counts.count("task") == 0);
    for (int g = 0; g < 2; ++g) {
      range_row const giver = row(p, "giver[" + std::to_string(g) + "]");
      CHECK(near(giver.host_self_ns, giver.host_total_ns));
    }
    pool.wait();
  }
}

}  // namespace inherit_test
