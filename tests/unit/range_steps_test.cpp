// `step=NAME`: the calls of the ranges of one name are the steps.
#include <doctest/doctest.h>

#include <strata/c.h>
#include <cstdint>
#include <strata/collect/nvtx/cupti_nvtx.hpp>
#include <strata/range.hpp>
#include <strata/session.hpp>
#include <strata/tables/call_tree.hpp>
#include <string>
#include <thread>
#include <vector>

#include "nvtx_module.hpp"
#include "recording.hpp"

namespace range_steps_test {

using namespace strata;
using namespace recording_test;
using strata::detail::nvtx_injection;

namespace {

options with_keys(std::string const& keys) {
  vec<std::string> problems;
  options const made = options::parse("host,formats=none," + keys, problems);
  CHECK(problems.empty());
  return made;
}

/// `step=KEYS` while it lives.
struct stepped {
  explicit stepped(std::string const& keys) : all(with_keys("step=" + keys)) {
    REQUIRE(all.start().ok());
  }
  profile const& made() { return all.profile(); }
  bool says(std::string const& part) {
    (void)all.profile();
    for (status const& problem : all.problems())
      if (problem.message().find(part) != std::string::npos) return true;
    return false;
  }
  session all;
};

std::vector<std::int64_t> numbers_of(profile const& p) {
  std::vector<std::int64_t> numbers;
  for (step_record const& step : p.steps) numbers.push_back(step.step);
  return numbers;
}
using numbers = std::vector<std::int64_t>;

/// Calls of a range that were recorded.
std::uint64_t calls(profile const& p, std::string const& path) {
  call_tree const tree(p);
  for (range_row const& row : tree.rows())
    if (row.path == path) return row.host.count();
  return 0;
}

void loop(int count) {
  for (int i = 0; i < count; ++i) {
    STRATA_RANGE("train");
    STRATA_RANGE("layer");
  }
}

}  // namespace

TEST_CASE("the calls of a range are steps, as those of STRATA_STEP() are") {
  stepped s("train");
  loop(3);
  { STRATA_RANGE("other"); }
  profile const& p = s.made();
  CHECK(p.has_steps);
  CHECK(numbers_of(p) == numbers{0, 1, 2});
  CHECK(s.all.problems().empty());
  for (range_record const& range : p.ranges) {
    bool const within = p.names[p.nodes[range.node].name] != "other";
    CHECK((range.step == no_step) == !within);
  }
  for (step_record const& step : p.steps) {
    range_record const* inner = nullptr;
    for (range_record const& range : p.ranges)
      if (range.step == step.step && p.names[p.nodes[range.node].name] == "train") inner = &range;
    REQUIRE(inner != nullptr);
    CHECK(step.begin <= inner->begin);
    CHECK(inner->end <= step.end);
  }
}

TEST_CASE("windows are of such steps, and their ranges are whole") {
  stepped s("train,skip=2,warmup=1,active=2");
  loop(9);
  profile const& p = s.made();
  CHECK(numbers_of(p) == numbers{3, 4});
  CHECK(calls(p, "train") == 2);
  CHECK(calls(p, "train/layer") == 2);
  CHECK(s.all.problems().empty());
}

TEST_CASE("pushes and pops, also of C, and names with an index") {
  for (std::string const name : {"train", "train[*]", "tr*n", "t?ain"}) {
    CAPTURE(name);
    stepped s(name);
    for (int i = 0; i < 3; ++i) {
      strata_push_indexed("train", i);
      strata_push("layer");
      strata_pop();
      strata_pop();
    }
    CHECK(numbers_of(s.made()) == numbers{0, 1, 2});
    CHECK(calls(s.made(), "train[2]/layer") == 1);
  }
}

TEST_CASE("NVTX's texts match without the number at their end") {
  nvtx_calls::module program;
  REQUIRE(program.attach(&nvtx_injection::attach) == 1);
  {
    stepped s("Train step,nvtx=in");
    for (char const* const text : {"Train step 1", "Train step 12", "Train", "Train step 13"}) {
      program.push(text);
      program.push("layers.3");
      program.pop();
      program.pop();
    }
    CHECK(numbers_of(s.made()) == numbers{0, 1, 2});
    CHECK(calls(s.made(), "Train step[12]/layers[3]") == 1);
  }
  strata::detail::block().nvtx_from.store(strata::detail::nvtx_source::none);
  strata::detail::block().nvtx_ignored.store(false);
}

TEST_CASE("within each other they are one step, and STRATA_STEP() is none") {
  stepped s("train");
  for (int i = 0; i < 2; ++i) {
    STRATA_RANGE("train");
    STRATA_STEP();
    STRATA_RANGE("train");
  }
  {
    STRATA_STEP();
    STRATA_RANGE("other");
  }
  CHECK(numbers_of(s.made()) == numbers{0, 1});
  CHECK(calls(s.made(), "train/train") == 2);
}

TEST_CASE("a step ends with the range around it, and with its thread") {
  stepped s("train");
  for (int i = 0; i < 2; ++i) {
    STRATA_RANGE("around");
    strata::push("train");  // its pop is forgotten
  }
  std::thread([] { strata::push("train"); }).join();  // not of the thread that drives the steps
  loop(1);
  CHECK(numbers_of(s.made()) == numbers{0, 1, 2});
}

TEST_CASE("one thread drives the steps; another one follows when it has ended") {
  stepped s("train");
  std::thread([] {
    loop(2);
    std::thread([] { loop(5); }).join();  // they are ranges alone
    strata::push("train");
  }).join();
  std::thread([] { loop(2); }).join();
  loop(4);
  profile const& p = s.made();
  CHECK(numbers_of(p) == numbers{0, 1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(calls(p, "train") == 14);
  CHECK(s.all.problems().empty());
}

TEST_CASE("a step that ends in another thread does not end, which is said") {
  stepped s("step");
  std::thread([] {  // in which they stay open
    for (int i = 0; i < 3; ++i) {
      phases step;
      step.next("step");
      std::thread([&step] { step.end(); }).join();
    }
  })
      .join();
  CHECK(s.made().steps.size() <= 1);
  CHECK(s.says("step=step: 3 ranges ended in another thread than they began in"));
  stepped other("train");
  loop(2);
  CHECK(numbers_of(other.made()) == numbers{0, 1});
  CHECK(!other.says("ended in another thread"));
}

TEST_CASE("a later session has steps of its own") {
  for (int round = 0; round < 2; ++round) {
    stepped s("train");
    loop(2);
    CHECK(numbers_of(s.made()) == numbers{0, 1});
  }
  {
    STRATA_RANGE("train");  // open while a session ends and another one begins
    stepped s("train");
    loop(1);
    CHECK(numbers_of(s.made()) == numbers{0});
  }
  recording plain;
  loop(1);
  { STRATA_STEP(); }
  CHECK(numbers_of(plain.profile()) == numbers{0});
}

TEST_CASE("no range of that name: a sentence, with the name that was meant") {
  for (std::string const keys : {"", ",skip=1,active=1"}) {
    CAPTURE(keys);
    stepped s("gradeint" + keys);
    { STRATA_RANGE("gradient"); }
    CHECK(
        s.says("step=gradeint: no range of that name began, so that there are no steps; did you "
               "mean gradient?"));
    CHECK_FALSE(s.says("STRATA_STEP()"));
    CHECK_FALSE(s.made().has_steps);
  }
  stepped far("no such thing");
  loop(1);
  CHECK(far.says("has all names in its report"));
}

}  // namespace range_steps_test
