#include "recording.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <optional>
#include <strata/collect/host/record_log.hpp>
#include <strata/collect/host/recorder.hpp>
#include <strata/collect/host/thread_recorder.hpp>
#include <strata/tables/call_tree.hpp>
#include <strata/tables/table.hpp>
#include <string>
#include <thread>
#include <vector>

#include "../work_folder.hpp"

namespace recorder_test {

using namespace strata;
using namespace recording_test;

namespace {

/// One range a line of a small program, again and again.
void work(int times) {
  for (int i = 0; i < times; ++i) {
    STRATA_RANGE("outer", i % 4);
    STRATA_RANGE("inner", flops(2), bytes(4), tokens(1));
  }
}

options with_schedule(std::uint32_t skip, std::uint32_t warmup, std::uint32_t active,
                      std::uint32_t repeat) {
  options how = quiet();
  how.skip = skip;
  how.warmup = warmup;
  how.active = active;
  how.repeat = repeat;
  return how;
}

void loop(int steps) {
  for (int i = 0; i < steps; ++i) {
    STRATA_STEP();
    STRATA_RANGE("step", i);
  }
}

std::vector<std::int64_t> steps_in(profile const& p) {
  std::vector<std::int64_t> steps;
  for (range_record const& r : p.ranges) {
    CHECK(r.step == p.nodes[r.node].index);
    steps.push_back(p.nodes[r.node].index);
  }
  return steps;
}

double sum_of(profile const& p, double attribute_record::*field, double overflow_sums::*summed) {
  double sum = 0;
  for (range_record const& r : p.ranges) {
    if (r.attribute == no_reference) continue;
    double const value = p.attributes[r.attribute - 1].*field;
    if (!std::isnan(value)) sum += value;
  }
  for (overflow_sums const& f : p.summed_ranges) sum += f.*summed;
  return sum;
}

}  // namespace

TEST_CASE("names and notes of a megabyte are cut") {
  recording all;
  REQUIRE(all.started());
  std::string const text(1'000'000, 'x');
  for (char const* end : {"a", "b"}) {
    STRATA_RANGE(text + end, note(text + end));
  }
  profile const& p = all.profile();
  REQUIRE(p.ranges.size() == 2);
  CHECK(p.ranges[0].node == p.ranges[1].node);
  for (std::string const& name : p.names) CHECK(name.size() <= 1'000);
  CHECK(p.losses.names_refused == 0);
}

TEST_CASE("no session: nothing is recorded, and a session starts with nothing") {
  work(10);
  recording all;
  REQUIRE(all.started());
  profile const& p = all.profile();
  CHECK(p.ranges.empty());
  CHECK(p.summed_ranges.empty());
  CHECK(p.steps.empty());
  CHECK(p.threads.empty());
  work(10);
  CHECK(all.profile().ranges.empty());
}

TEST_CASE("a second session is refused, and the first is not disturbed") {
  recording first;
  work(1);
  {
    session second(quiet());
    status const outcome = second.start();
    CHECK(outcome.code() == errc::busy);
    CHECK(outcome.message().find("stop it first") != std::string::npos);
    CHECK_FALSE(second.running());
    CHECK(second.profile().ranges.empty());
    test::quiet_stderr const hidden;
    CHECK(second.report().code() == errc::busy);
  }
  work(1);
  CHECK(first.profile().ranges.size() == 4);
  session third(quiet());
  CHECK(third.start().ok());
  CHECK(third.start().ok());  // already running: the same
  CHECK(third.running());
}

TEST_CASE("time 0 of a session and its windows is the moment that its environment names") {
  std::vector<std::int64_t> clock;  // around each step
  recording run;
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  for (int i = 0; i < 20; ++i) {
    clock.push_back(detail::realtime_ns());
    STRATA_STEP();
    clock.push_back(detail::realtime_ns());
  }
  profile const& p = run.profile();
  REQUIRE(p.steps.size() == 20);
  for (std::size_t i = 0; i < 20; ++i) {
    std::int64_t const begin = p.environment.started_at_unix_ns + p.steps[i].begin;
    CHECK(begin > clock[2 * i] - 100'000);
    CHECK(begin < clock[2 * i + 1] + 100'000);
  }
}

TEST_CASE("a session that is configured off does not start") {
  options how = quiet();
  how.enabled = false;
  session s(how);
  CHECK(s.start().code() == errc::bad_argument);
  CHECK_FALSE(s.running());
}

TEST_CASE("sessions after one another know nothing of each other") {
  session s(quiet());
  for (int round = 0; round < 5; ++round) {
    REQUIRE(s.start().ok());
    std::thread([round] { work(round); }).join();
    { scoped_range const r("round", round); }
    pop();
    profile const& p = s.profile();
    CHECK(p.ranges.size() == static_cast<std::size_t>(2 * round + 1));
    CHECK(p.attributes.size() == static_cast<std::size_t>(round));
    CHECK(calls_of(p).at("round[" + std::to_string(round) + "]") == 1);
    CHECK(p.losses.pops_without_push == 1);
    CHECK(p.threads.size() == (round == 0 ? 1u : 2u));
    for (range_record const& r : p.ranges) CHECK(r.begin >= 0);
    call_tree const tree(p);
    CHECK(tree.rows().size() == static_cast<std::size_t>(2 + 2 * (round < 4 ? round : 4)));
  }
}

TEST_CASE("sessions of two threads by turns") {
  for (int round = 0; round < 3; ++round) {
    std::thread([] {
      recording all;
      REQUIRE(all.started());
      work(5);
      CHECK(all.profile().ranges.size() == 10);
    }).join();
  }
}

TEST_CASE("ranges that a session sees only in part") {
  session s(quiet());
  std::optional<scoped_range> before;
  before.emplace("before");
  REQUIRE(s.start().ok());
  std::optional<scoped_range> across;
  across.emplace("across");
  { scoped_range const r("inside"); }
  before.reset();  // began before anybody listened
  profile const p = s.profile();
  CHECK(calls_of(p) == call_counts{{"across", 1}, {"across/inside", 1}});
  CHECK(p.losses.ranges_left_open == 1);
  CHECK(find_range(p, "across")->end <= p.end);

  // It is still open: what comes in a later session stands below it, and it is not ours to count.
  REQUIRE(s.start().ok());
  { scoped_range const r("later"); }
  across.reset();
  { scoped_range const r("last"); }
  profile const& q = s.profile();
  CHECK(calls_of(q) == call_counts{{"across/later", 1}, {"last", 1}});
  CHECK(q.losses.ranges_left_open == 0);
}

TEST_CASE("pushes end with their session, since nobody sees a pop between sessions") {
  session s(quiet());
  REQUIRE(s.start().ok());
  push("before");
  push("long");
  std::atomic<int> turn{0};
  std::thread other([&] {
    push("before");
    turn = 1;
    while (turn != 2) std::this_thread::yield();
    pop();
    turn = 3;
    while (turn != 4) std::this_thread::yield();
  });
  while (turn != 1) std::this_thread::yield();
  s.stop();
  pop();
  turn = 2;
  while (turn != 3) std::this_thread::yield();
  REQUIRE(s.start().ok());
  { scoped_range const r("later"); }
  pop();  // of "long"
  profile const& p = s.profile();
  CHECK(calls_of(p) == call_counts{{"later", 1}});
  CHECK(p.losses.ranges_left_open == 0);
  CHECK(detail::loss_advice(p) ==
        vec<std::string>{"pops without a push in the session: 1. Nothing was ended. Give each a "
                         "push that came after the session's begin."});
  turn = 4;
  other.join();
}

TEST_CASE("a range that another thread ends") {
  recording all;
  std::atomic<int> turn{0};
  phases foreign;
  std::thread other([&] {
    foreign.next("foreign");
    turn = 1;
    while (turn != 2) std::this_thread::yield();
    STRATA_RANGE("own");
  });
  while (turn != 1) std::this_thread::yield();
  foreign.end();
  turn = 2;
  other.join();
  profile const& p = all.profile();
  CHECK(p.losses.ranges_ended_elsewhere == 1);
  CHECK(p.losses.ranges_left_open == 1);  // until its thread ended
  CHECK(calls_of(p) == call_counts{{"foreign", 1}, {"foreign/own", 1}});
}

TEST_CASE("a thread that takes over the recorder of one that has ended") {
  recording all;
  phases kept;
  std::thread([&] { kept.next("kept"); }).join();
  std::thread([&] {
    STRATA_RANGE("mine");
    kept.end();  // the same recorder, the same depth: still not this thread's range
    STRATA_RANGE("below");
  }).join();
  profile const& p = all.profile();
  CHECK(calls_of(p) == call_counts{{"kept", 1}, {"mine", 1}, {"mine/below", 1}});
  CHECK(p.losses.ranges_left_open == 1);
  CHECK(p.threads.size() == 2);
  CHECK(find_range(p, "kept")->thread != find_range(p, "mine")->thread);
}

namespace {

/// What a session has of earlier ones: their nodes and names.
std::uint64_t bytes_of_names() {
  recording none;
  return none.profile().cost.log_bytes;
}

}  // namespace

TEST_CASE("many threads, one after another, take a bounded memory") {
  std::uint64_t const known = bytes_of_names();
  recording all;
  for (int i = 0; i < 200; ++i) std::thread([] { work(1); }).join();
  profile const& p = all.profile();
  CHECK(p.ranges.size() == 400);
  CHECK(p.threads.size() == 200);
  CHECK(p.cost.log_bytes <= known + 4 * detail::record_log<range_record>::block_bytes);
}

TEST_CASE("a thread with little to record takes little memory") {
  constexpr int count = 100;
  std::uint64_t const known = bytes_of_names();
  recording all;
  std::atomic<int> working{count};
  std::vector<std::thread> threads;
  for (int t = 0; t < count; ++t) {
    threads.emplace_back([&] {
      work(1);
      --working;
      while (working > 0) std::this_thread::yield();
    });
  }
  for (std::thread& t : threads) t.join();
  CHECK(all.profile().ranges.size() == 2 * count);
  // A log of ranges, one of attributes.
  CHECK(all.profile().cost.log_bytes <= known + count * 2 * 4096);
}

TEST_CASE("the open ranges of other threads are counted at the end") {
  recording all;
  std::atomic<int> turn{0};
  std::thread other([&] {
    STRATA_RANGE("a");
    STRATA_RANGE("b");
    turn = 1;
    while (turn != 2) std::this_thread::yield();
  });
  while (turn != 1) std::this_thread::yield();
  profile const p = all.profile();
  turn = 2;
  other.join();
  CHECK(p.losses.ranges_left_open == 2);
  CHECK(p.ranges.empty());
}

TEST_CASE("threads record while sessions come and go") {
  std::atomic<bool> go_on{true};
  std::atomic<std::uint64_t> rounds{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      while (go_on) {
        STRATA_STEP();
        scoped_range const r("thread", t, flops(1), note("n"));
        work(3);
        push("pushed");
        phases p;
        p.next("phase");
        p.end();
        pop();
        ++rounds;
      }
    });
  }
  threads.emplace_back([&] {
    while (go_on) std::thread([] { work(1); }).join();
  });
  for (int i = 0; i < 20; ++i) {
    options how = quiet();
    how.log_mb = i % 2 == 0 ? 1 : 64;
    if (i % 3 == 0) how.active = 2;
    session s(how);
    REQUIRE(s.start().ok());
    std::uint64_t const until = rounds + 50;
    while (rounds < until) std::this_thread::yield();
    profile const& p = s.profile();
    std::uint64_t inner = 0;
    for (auto const& [path, count] : calls_of(p)) {
      if (path.size() > 5 && path.compare(path.size() - 5, 5, "inner") == 0) inner += count;
    }
    if (i % 3 != 0) CHECK(inner > 0);
    std::size_t wrong = 0;
    for (range_record const& r : p.ranges) {
      bool const good =
          r.node < p.nodes.size() && r.attribute <= p.attributes.size() && r.begin <= r.end;
      wrong += good ? 0 : 1;
    }
    CHECK(wrong == 0);
  }
  go_on = false;
  for (std::thread& t : threads) t.join();
}

TEST_CASE("a full log: what does not fit lives on in exact sums") {
  options how = quiet();
  how.log_mb = 1;
  std::uint64_t const known = bytes_of_names();
  recording all(how);
  constexpr int times = 50'000;
  work(times);
  profile const& p = all.profile();
  CHECK(p.losses.ranges_summed > 0);
  CHECK(p.ranges.size() + p.losses.ranges_summed == 2 * times);
  CHECK(p.cost.log_bytes <= known + (1u << 20));
  CHECK(p.cost.ranges == 2 * times);
  call_counts const counts = calls_of(p);
  CHECK(counts.at("outer[0]") == times / 4);
  CHECK(counts.at("outer[3]/inner") == times / 4);
  CHECK(sum_of(p, &attribute_record::flops, &overflow_sums::flops) == 2.0 * times);
  CHECK(sum_of(p, &attribute_record::bytes, &overflow_sums::bytes) == 4.0 * times);
  CHECK(sum_of(p, &attribute_record::tokens, &overflow_sums::tokens) == 1.0 * times);
  double summed = 0;
  std::int64_t logged = 0;
  for (overflow_sums const& f : p.summed_ranges) {
    CHECK(f.durations.minimum() >= 0);
    summed += f.durations.sum();
  }
  for (range_record const& r : p.ranges) logged += r.end - r.begin;
  CHECK(summed + static_cast<double>(logged) > 0);
  CHECK(summed + static_cast<double>(logged) <= 2.0 * static_cast<double>(p.end));
}

TEST_CASE("a full log: sums of known durations are exact") {
  detail::recorder_state state;
  state.budget.set(0);  // no room at all
  state.session.store(1);
  detail::thread_recorder own(state);
  own.adopt(0, 0);
  std::uint32_t node = 0;
  for (int i = 0; i < 1000; ++i) {
    detail::range_attributes attributes;
    flops(3).apply(attributes);
    (void)own.begin(nullptr, "r", no_index, &attributes, false);
    node = own.node();
    own.end(1);
  }
  profile p;
  own.move_to(p, 1);
  REQUIRE(p.summed_ranges.size() == 1);
  CHECK(p.ranges.empty());
  CHECK(p.attributes.empty());
  CHECK(p.summed_ranges[0].node == node);
  CHECK(p.summed_ranges[0].durations.count() == 1000);
  CHECK(p.summed_ranges[0].flops == 3000.0);
  CHECK(std::int64_t(p.summed_ranges[0].durations.sum()) >=
        1000 * p.summed_ranges[0].durations.minimum());
  CHECK(p.losses.ranges_summed == 1000);
}

TEST_CASE("the log limit holds for each session") {
  options how = quiet();
  how.log_mb = 1;
  std::uint64_t const known = bytes_of_names();
  for (int round = 0; round < 3; ++round) {
    recording all(how);
    std::thread([] { work(20'000); }).join();
    profile const& p = all.profile();
    CHECK(p.cost.log_bytes <= known + (1u << 20));
    CHECK(p.cost.log_bytes > (1u << 19));
    CHECK(p.ranges.size() > 10'000);
    CHECK(p.ranges.size() + p.losses.ranges_summed == 40'000);
  }
}

TEST_CASE("windows of steps") {
  using steps = std::vector<std::int64_t>;
  SUBCASE("all that follow") {
    recording all(with_schedule(3, 0, 0, 1));
    loop(6);
    CHECK(steps_in(all.profile()) == steps{3, 4, 5});
  }
  SUBCASE("one window") {
    recording all(with_schedule(2, 1, 2, 1));
    loop(10);
    profile const& p = all.profile();
    CHECK(steps_in(p) == steps{3, 4});
    REQUIRE(p.steps.size() == 2);
    CHECK(p.steps[0].step == 3);
    CHECK(p.steps[1].step == 4);
    CHECK(all.session().problems().empty());
  }
  SUBCASE("windows, three times") {
    recording all(with_schedule(1, 1, 2, 3));
    loop(20);
    CHECK(steps_in(all.profile()) == steps{2, 3, 6, 7, 10, 11});
  }
  SUBCASE("windows until the end") {
    recording all(with_schedule(2, 0, 1, 0));
    loop(10);
    CHECK(steps_in(all.profile()) == steps{2, 5, 8});
  }
  SUBCASE("windows without a gap") {
    recording all(with_schedule(0, 1, 1, 2));
    loop(6);
    CHECK(steps_in(all.profile()) == steps{1, 3});
  }
  SUBCASE("fewer steps than are skipped") {
    recording all(with_schedule(10, 0, 1, 1));
    loop(4);
    CHECK(steps_in(all.profile()).empty());
  }
  SUBCASE("the same session again") {
    session s(with_schedule(1, 0, 1, 1));
    for (int round = 0; round < 3; ++round) {
      REQUIRE(s.start().ok());
      loop(3);
      CHECK(steps_in(s.profile()) == steps{1});
    }
  }
}

TEST_CASE("a range around the steps of a window is none of the window's") {
  recording all(with_schedule(1, 0, 2, 1));
  {
    STRATA_RANGE("around");
    loop(5);
  }
  CHECK(calls_of(all.profile()) == call_counts{{"around/step[1]", 1}, {"around/step[2]", 1}});
}

TEST_CASE("windows in a program without steps: nothing is recorded, and it is told") {
  session s(with_schedule(1, 0, 1, 1));
  REQUIRE(s.start().ok());
  work(1);
  profile const& p = s.profile();
  CHECK(p.ranges.empty());
  REQUIRE(p.problems.size() == 1);
  CHECK(p.problems[0].find("STRATA_STEP()") != std::string::npos);
  REQUIRE(s.problems().size() == 1);
  CHECK(s.problems()[0].code() == errc::bad_argument);
}

TEST_CASE("a schedule whose first step is far away ends as fast as others") {
  session s(with_schedule(4'294'967'290u, 0, 1, 1));
  REQUIRE(s.start().ok());
  loop(3);
  std::clock_t const begin = std::clock();  // of the processor, which other programs do not slow
  profile const& p = s.profile();
  CHECK(std::clock() - begin < 2 * CLOCKS_PER_SEC);
  REQUIRE(p.problems.size() == 1);
  CHECK(p.problems[0].find("the first one to keep is step 4294967290 ") != std::string::npos);
}

TEST_CASE("a session that ends within a step, and the next") {
  session s(quiet());
  for (int round = 0; round < 2; ++round) {
    REQUIRE(s.start().ok());
    {
      STRATA_STEP();
      STRATA_RANGE("cut", round);
      (void)s.profile();
      REQUIRE(s.start().ok());
    }
    loop(2);
    profile const& p = s.profile();
    CHECK(p.has_steps);
    REQUIRE(p.steps.size() == 2);
    CHECK(p.steps[0].step == 0);
    CHECK(p.steps[1].step == 1);
  }
}

TEST_CASE("only= marks what matches and what is below it") {
  options how = quiet();
  how.only = {"atten*", "m?p"};
  session s(how);
  REQUIRE(s.start().ok());
  {
    STRATA_RANGE("block");
    {
      STRATA_RANGE("attention");
      STRATA_RANGE("matmul");
    }
    STRATA_RANGE("mlp");
  }
  { STRATA_RANGE("matmul"); }
  profile const& p = s.profile();
  auto const selected = [&](char const* path) {
    range_record const* const r = find_range(p, path);
    REQUIRE(r != nullptr);
    return p.nodes[r->node].selected;
  };
  CHECK_FALSE(selected("block"));
  CHECK(selected("block/attention"));
  CHECK(selected("block/attention/matmul"));
  CHECK(selected("block/mlp"));
  CHECK_FALSE(selected("matmul"));
  CHECK(s.problems().empty());
}

TEST_CASE("only= without a match is told") {
  options how = quiet();
  how.only = {"nothing like it"};
  session s(how);
  REQUIRE(s.start().ok());
  work(1);
  REQUIRE(s.profile().problems.size() == 1);
  CHECK(s.problems()[0].message().find("only=") != std::string::npos);
}

TEST_CASE("steps that begin within a step of another thread are told") {
  session s(quiet());
  auto const in_other_thread = [](int steps) {
    std::thread([steps] {
      for (int i = 0; i < steps; ++i) {
        STRATA_STEP();
      }
    }).join();
  };
  for (int others : {0, 1, 3}) {
    REQUIRE(s.start().ok());
    in_other_thread(2);  // by turns: counted
    {
      STRATA_STEP();
      STRATA_STEP();  // within this thread's: not counted, as documented
      in_other_thread(others);
    }
    CHECK(s.profile().steps.size() == 3);
    REQUIRE(s.problems().size() == (others == 0 ? 0u : 1u));
    if (others != 0)
      CHECK(s.problems()[0].message().find(std::to_string(others) +
                                           (others == 1 ? " step" : " steps") + " not counted: ") ==
            0);
  }
}

TEST_CASE("a report without a start: a status, and nothing is written") {
  test::work_folder const folder;
  strata::options how = quiet();
  how.csv = true;
  how.out = folder / "out";
  {
    session s(how);
    test::quiet_stderr const hidden;
    strata::status const outcome = s.report();
    CHECK(outcome.code() == strata::errc::bad_argument);
    CHECK(outcome.message() == "start() was not called");
    CHECK(s.profile().ranges.empty());
    REQUIRE(s.start().ok());
  }
  CHECK_FALSE(std::filesystem::exists(folder / "out"));  // nor by the destructor
}

TEST_CASE("memory that has ended: logs are summed while their threads continue") {
  std::atomic<bool> go_on{true};
  std::vector<std::thread> all;
  for (int t = 0; t < 8; ++t) {
    all.emplace_back([&] {
      while (go_on.load(std::memory_order_relaxed)) work(1);
    });
  }
  strata::detail::memory_budget& budget = strata::detail::recorder::instance().state().budget;
  for (int round = 0; round < 8; ++round) {
    session s(quiet());
    REQUIRE(s.start().ok());
    while (budget.used() < 1'000'000) std::this_thread::yield();
    budget.end();  // as where an allocation failed
    s.stop();
    CHECK(s.profile().ranges.empty());
    CHECK(s.profile().losses.ranges_summed > 0);
  }
  go_on.store(false);
  for (std::thread& each : all) each.join();
}

TEST_CASE("memory that has ended: a log gives back what it holds, and no call is missing") {
  session s(quiet());
  REQUIRE(s.start().ok());
  strata::detail::memory_budget& budget = strata::detail::recorder::instance().state().budget;
  auto const some = [] {
    for (int i = 0; i < 50'000; ++i) {
      STRATA_RANGE("some", i % 4);
    }
  };
  std::int64_t const empty = budget.used();
  some();
  std::int64_t const full = budget.used();
  CHECK(full > 1'000'000);
  budget.end();
  some();
  // The sums of five nodes stay, and one block of the log.
  CHECK(budget.used() - empty < (full - empty) / 10);
  s.stop();
  CHECK(s.profile().losses.unrecorded == 0);
  std::uint64_t calls = s.profile().ranges.size();
  for (strata::overflow_sums const& each : s.profile().summed_ranges)
    calls += each.durations.count();
  CHECK(calls == 100'000);
}

}  // namespace recorder_test
