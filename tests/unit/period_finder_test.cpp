// The period of launches and waits, found while they come: of one thread, and of several.
#include <doctest/doctest.h>
#include <strata/collect/host/period_finder.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace period_finder_test {

using strata::detail::period_finder;
using strata::detail::shared_period;
using strata::detail::step_change;

namespace {

/// A call: launches are from 1 on, waits from `wait_id`, graphs from `graph_id`.
using call = std::uint32_t;
constexpr call graph_id = 1'000'000;
constexpr call wait_id = 2'000'000;
using calls = std::vector<call>;

calls joined(std::vector<calls> const& parts) {
  calls all;
  for (calls const& each : parts) all.insert(all.end(), each.begin(), each.end());
  return all;
}
calls repeated(calls const& part, std::size_t times) {
  return joined(std::vector<calls>(times, part));
}
/// Launches of kernels one after the other.
calls kernels(call first, std::size_t count) {
  calls made;
  for (std::size_t i = 0; i < count; ++i) made.push_back(first + static_cast<call>(i));
  return made;
}

/// A program, and the steps that were found in it.
struct program {
  explicit program(period_finder::marks wanted = period_finder::marks::any) : finder(wanted) {}

  void run(calls const& all) {
    for (call const each : all) run(each);
  }
  void run(call each) {
    step_change change;
    bool const is_wait = each >= wait_id;
    if (is_wait) {
      change = finder.wait(each);
    } else if (each >= graph_id) {
      change = finder.launch(each, period_finder::weight_of_graph);
    } else {
      change = finder.launch(each);
    }
    std::size_t const where = history.size() + (is_wait ? 1 : 0);
    history.push_back(each);
    if (change == step_change::none) return;
    if (open) steps.push_back({begin, where});
    open = change == step_change::next;
    begin = where;
  }

  struct step {
    std::size_t begin;
    std::size_t end;
  };
  calls of(step const& one) const {
    auto const first = history.begin();
    return {first + static_cast<std::ptrdiff_t>(one.begin),
            first + static_cast<std::ptrdiff_t>(one.end)};
  }
  /// Steps that are these calls, which may begin at any of them.
  std::size_t count(calls const& part) const {
    calls const twice = repeated(part, 2);
    std::size_t found = 0;
    for (step const& each : steps) {
      calls const made = of(each);
      bool const is_turned =
          std::search(twice.begin(), twice.end(), made.begin(), made.end()) != twice.end();
      found += is_turned && made.size() == part.size() ? 1u : 0u;
    }
    return found;
  }

  period_finder finder;
  calls history;
  std::vector<step> steps;
  bool open = false;
  std::size_t begin = 0;
};

/// A program of several threads, and the steps of its stream while that is trusted.
struct threads_program {
  void run(std::size_t thread, call each) {
    bool const is_wait = each >= wait_id;
    step_change const change =
        is_wait ? finder.wait(&callers[thread], each)
                : finder.launch(&callers[thread], each, period_finder::weight_of_launch);
    std::size_t const where = history.size() + (is_wait ? 1 : 0);
    history.push_back(each);
    by.push_back(thread);
    if (change == step_change::none) return;
    if (open) steps.push_back({begin, where});
    open = change == step_change::next && finder.is_trusted();
    begin = where;
  }
  bool has_change(program::step const& one) const {
    for (std::size_t i = one.begin + 1; i < one.end; ++i)
      if (by[i] != by[i - 1]) return true;
    return false;
  }
  std::size_t count_with_change() const {
    std::size_t found = 0;
    for (program::step const& each : steps) found += has_change(each) ? 1u : 0u;
    return found;
  }

  shared_period finder{period_finder::marks::any};
  char callers[8] = {};
  calls history;
  std::vector<std::size_t> by;
  std::vector<program::step> steps;
  bool open = false;
  std::size_t begin = 0;
};

/// The shortest period of the second half, by looking at each; 0: none up to `most`.
std::size_t shortest_period(calls const& all, std::size_t most = 1000) {
  for (std::size_t period = 1; period <= most; ++period) {
    bool same = true;
    for (std::size_t i = all.size() / 2; same && i < all.size(); ++i)
      same = all[i] == all[i - period];
    if (same) return period;
  }
  return 0;
}

calls const start_up = joined({kernels(9000, 40), {wait_id + 9}, kernels(9000, 7)});

/// A step of layers, that begins with an embedding and ends with a head.
calls layered(std::size_t layers, std::size_t kernels_in_layer, calls const& end) {
  return joined({{1}, repeated(kernels(10, kernels_in_layer), layers), {2, 3}, end});
}

}  // namespace

TEST_CASE("marks that have the same place do not push each other out") {
  // Two launches come once in a step, and in one of a thousand programs they share a place.
  std::size_t found = 0;
  constexpr call programs = 1000;
  for (call i = 0; i < programs; ++i) {
    calls const step = joined({{10'000 + i}, repeated(kernels(1, 8), 12)});
    program p;
    for (int times = 0; times < 100 && !p.finder.found(); ++times) p.run(step);
    found += p.finder.found() ? 1u : 0u;
  }
  CHECK(found == programs);
}

TEST_CASE("a step of layers that ends with a wait") {
  program p;
  calls const step = layered(32, 30, {wait_id});
  p.run(start_up);
  p.run(repeated(step, 50));
  CHECK(p.finder.found());
  CHECK(p.finder.periods_found() == 1);
  CHECK(p.finder.has_wait());
  CHECK(p.steps.size() >= 44);
  CHECK(p.count(step) == p.steps.size());
  CHECK(p.of(p.steps.front()).back() == wait_id);
  CHECK(p.finder.irregular() == 0);
}

TEST_CASE("layers are no steps, whatever their number and size, with one launch between or more") {
  for (std::size_t const layers : {2u, 12u, 32u, 80u})
    for (std::size_t const size : {4u, 17u, 30u, 40u})
      for (calls const& end : {calls{}, calls{wait_id}}) {
        CAPTURE(layers);
        CAPTURE(size);
        CAPTURE(end.size());
        calls const steps[] = {layered(layers, size, end),
                               joined({{1}, repeated(kernels(10, size), layers), end})};
        for (calls const& step : steps) {
          program p;
          p.run(start_up);
          p.run(repeated(step, 16 + 16'000 / step.size()));
          CHECK(p.steps.size() >= 6);
          CHECK(p.count(step) == p.steps.size());
          CHECK(p.finder.has_wait() == !end.empty());
        }
      }
}

TEST_CASE("layers that wait, as of experts, are no steps") {
  program p;
  calls const step =
      joined({{1}, repeated(joined({kernels(10, 30), {wait_id}}), 32), {2, 3}, {wait_id}});
  p.run(start_up);
  p.run(repeated(step, 20));
  CHECK(p.steps.size() >= 12);
  CHECK(p.count(step) == p.steps.size());
}

TEST_CASE("two waits in a step are one step") {
  program p(period_finder::marks::waits);
  calls const step = joined({kernels(10, 300), {wait_id}, kernels(400, 5), {wait_id, wait_id}});
  p.run(repeated(step, 40));
  CHECK(p.steps.size() >= 20);
  CHECK(p.count(step) == p.steps.size());
}

TEST_CASE("decode whose kernels change now and then") {
  // Every 7th step splits attention: another kernel, and one more in each layer.
  calls const plain = layered(16, 20, {wait_id});
  calls const layer = joined({kernels(10, 12), {600, 601}, kernels(23, 7)});
  calls const split = joined({{1}, repeated(layer, 16), {2, 3}, {wait_id}});
  for (auto const marks : {period_finder::marks::any, period_finder::marks::waits}) {
    program p(marks);
    p.run(start_up);
    std::mt19937 random(7);
    std::size_t const total = 400;
    for (std::size_t i = 0; i < total; ++i) p.run(random() % 7 == 0 ? split : plain);
    CHECK(p.steps.size() > total * 9 / 10);
    CHECK(p.count(plain) + p.count(split) == p.steps.size());
    CHECK(p.finder.has_wait());
  }
}

TEST_CASE("decode in graphs") {
  program p;
  calls const step = joined({{5}, {graph_id}, {6, 7}, {wait_id}});
  p.run(repeated(step, 100));
  CHECK(p.steps.size() >= 80);
  CHECK(p.count(step) == p.steps.size());
}

TEST_CASE("prefill and decode: the steps are tokens, and a prefill is outside") {
  calls const token = layered(24, 20, {wait_id});
  calls const prefill = joined({{1}, repeated(kernels(200, 33), 24), {2, 3}, {wait_id}});
  program p;
  std::size_t const requests = 10;
  for (std::size_t i = 0; i < requests; ++i) p.run(joined({prefill, repeated(token, 50)}));
  CHECK(p.finder.periods_found() == 1);
  // A request costs its first token, and one step ends early, within its prefill.
  CHECK(p.count(token) >= requests * 48 - 12);
  CHECK(p.steps.size() - p.count(token) <= requests);
  CHECK(p.count(prefill) == 0);
  CHECK(p.finder.irregular() == requests - 1);
}

TEST_CASE("training with an evaluation after every ten steps") {
  calls const step = joined({{1}, repeated(kernels(10, 14), 12), kernels(100, 90), {wait_id}});
  calls const forward = joined({{1}, repeated(kernels(10, 14), 12), {2, wait_id}});
  calls const ten = joined({repeated(step, 10), repeated(forward, 5)});
  program p;
  p.run(start_up);
  p.run(repeated(step, 10));
  p.run(repeated(ten, 30));
  CHECK(p.finder.periods_found() == 1);
  // The first two after each evaluation show that it is over; one step ends early, within it.
  CHECK(p.count(step) >= 8 * 29);
  CHECK(p.steps.size() - p.count(step) <= 30);
}

TEST_CASE("two phases: each has its steps") {
  calls const first = layered(12, 20, {wait_id});
  calls const second = joined({kernels(300, 500), {wait_id + 1}});
  program p;
  p.run(repeated(first, 60));
  p.run(repeated(second, 60));
  CHECK(p.finder.periods_found() == 2);
  CHECK(p.count(first) >= 40);
  CHECK(p.count(second) >= 45);
  CHECK(p.steps.size() - p.count(first) - p.count(second) <= 1);
}

TEST_CASE("without a wait a launch that comes once in each period is the mark") {
  calls const step = layered(12, 20, {});
  program p;
  p.run(start_up);
  p.run(repeated(step, 100));
  CHECK_FALSE(p.finder.has_wait());
  CHECK(p.steps.size() >= 55);
  CHECK(p.count(step) == p.steps.size());
  program waits(period_finder::marks::waits);
  waits.run(repeated(step, 100));
  CHECK_FALSE(waits.finder.found());
  CHECK(waits.steps.empty());
}

TEST_CASE("a program without a period is left alone") {
  std::mt19937 random(1);
  for (std::uint32_t const names : {2u, 30u, 500u, 5000u})
    for (std::uint32_t const waits : {0u, 3u, 50u, 1000u}) {
      CAPTURE(names);
      CAPTURE(waits);
      program p;
      for (int i = 0; i < 100'000; ++i) {
        bool const is_wait = waits != 0 && random() % waits == 0;
        p.run(is_wait ? wait_id + static_cast<call>(random() % 3)
                      : static_cast<call>(1 + random() % names));
      }
      CHECK_FALSE(p.finder.found());
      CHECK(p.steps.empty());
    }
}

TEST_CASE("waits without launches between are one, and loading has no steps") {
  program p;
  p.run(repeated({wait_id}, 100'000));
  CHECK_FALSE(p.finder.found());
}

// The shortest period of a stream's second half by looking at every one: what the finder has to
// find, as long as the period is not that of a part of it.
TEST_CASE("the period that brute force finds") {
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    std::uniform_int_distribution<call> any(1, 3000);
    calls part;
    std::size_t const size = 5 + random() % 400;
    for (std::size_t i = 0; i < size; ++i) part.push_back(any(random));
    bool const waits = seed % 2 == 0;
    if (waits) part[random() % size] = wait_id;
    calls before;
    std::size_t const first = random() % 3000;
    for (std::size_t i = 0; i < first; ++i) before.push_back(any(random));
    program p;
    p.run(joined({before, repeated(part, 20 + 20'000 / size)}));
    std::size_t const shortest = shortest_period(p.history);
    REQUIRE(shortest == size);
    CHECK(p.finder.periods_found() == 1);
    CHECK(p.finder.has_wait() == waits);
    CHECK(p.steps.size() >= 10);
    for (program::step const& each : p.steps) CHECK(each.end - each.begin == shortest);
  }
}

TEST_CASE("threads that take turns, between steps or within, have the period of brute force") {
  for (std::uint32_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    std::size_t const threads = 1 + seed % 8;
    std::size_t const size = 20 + random() % 400;
    calls part = kernels(static_cast<call>(1 + random() % 500), size);
    if (seed % 2 == 0) part[random() % size] = wait_id;
    bool const between = seed % 3 == 0;
    threads_program p;
    std::size_t thread = 0;
    for (std::size_t step = 0; step < 20 + 20'000 / size; ++step) {
      thread = random() % threads;
      for (call const each : part) {
        if (!between && random() % 50 == 0) thread = random() % threads;
        p.run(thread, each);
      }
    }
    REQUIRE(shortest_period(p.history) == size);
    CHECK(p.finder.is_trusted());
    CHECK(p.finder.periods().periods_found() == 1);
    CHECK(p.steps.size() >= 10);
    for (program::step const& each : p.steps) CHECK(each.end - each.begin == size);
  }
}

TEST_CASE("loops at once have no period together, and their stream is trusted no more") {
  // The threads continue in turns of so many calls, at most.
  for (std::uint32_t const longest : {1u, 10u, 100u, 1000u, 10'000u})
    for (std::uint32_t seed = 1; seed <= 3; ++seed) {
      CAPTURE(longest);
      CAPTURE(seed);
      std::mt19937 random(seed);
      calls const loops[] = {layered(6, 20, {wait_id}), joined({kernels(400, 90), {wait_id + 1}}),
                             layered(9, 11, {wait_id})};
      std::size_t next[] = {0, 0, 0};
      std::size_t const threads = 2 + seed % 2;
      threads_program p;
      while (p.history.size() < 400'000) {
        std::size_t const thread = random() % threads;
        for (std::size_t left = 1 + random() % longest; left != 0; --left)
          p.run(thread, loops[thread][next[thread]++ % loops[thread].size()]);
      }
      CHECK(shortest_period(p.history) == 0);
      if (!p.steps.empty()) CHECK_FALSE(p.finder.is_trusted());
      CHECK(p.count_with_change() <= 10);
      CHECK(p.steps.size() <= 400);
    }
}

TEST_CASE("a stream is trusted again when threads take turns") {
  calls const step = layered(12, 20, {wait_id});
  threads_program p;
  for (std::size_t i = 0; i < 60; ++i)
    for (call const each : step) p.run(0, each);
  // Another loop begins at the same time, and ends.
  calls const other = layered(9, 11, {wait_id + 1});
  std::mt19937 random(3);
  std::size_t next = 0;
  std::size_t next_other = 0;
  for (std::size_t i = 0; i < 100; ++i) {
    for (std::size_t left = random() % 1500; left != 0; --left)
      p.run(0, step[next++ % step.size()]);
    for (std::size_t left = random() % 1500; left != 0; --left)
      p.run(1, other[next_other++ % other.size()]);
  }
  CHECK_FALSE(p.finder.is_trusted());
  for (std::size_t i = 0; i < 60; ++i)
    for (call const each : step) p.run(i % 3, each);
  CHECK(p.finder.is_trusted());
  CHECK(p.finder.in_step());
}

TEST_CASE("a thread's own period lets a stream without one be trusted no more") {
  threads_program p;
  calls const step = layered(12, 20, {wait_id});
  for (std::size_t i = 0; i < 100; ++i)
    for (call const each : step) p.run(i % 3, each);
  CHECK(p.finder.is_trusted());
  int doubts = 0;
  while (!p.finder.doubt()) ++doubts;
  CHECK(doubts == 8);
  CHECK_FALSE(p.finder.is_trusted());
}

}  // namespace period_finder_test
