// `step=NAME`: the calls of the ranges of one name are the steps.
#include <doctest/doctest.h>

#include <strata/c.h>
#include <cstdint>
#include <optional>
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

namespace {

/// A program with NVTX that is recorded by `keys`.
struct nvtx_stepped {
  explicit nvtx_stepped(std::string const& keys) {
    REQUIRE(program.attach(&nvtx_injection::attach) == 1);
    s.emplace(keys + ",nvtx=in");
  }
  ~nvtx_stepped() {
    s.reset();
    strata::detail::block().nvtx_from.store(strata::detail::nvtx_source::none);
    strata::detail::block().nvtx_ignored.store(false);
  }
  nvtx_calls::module program;
  std::optional<stepped> s;
};

}  // namespace

TEST_CASE("a missing pop costs no later step") {
  for (std::string const name : {"train", "train*"}) {
    CAPTURE(name);
    nvtx_stepped t(name);
    for (int i = 0; i < 30; ++i) {
      t.program.push(("train " + std::to_string(i)).c_str());
      t.program.push("forward");
      if (i % 3 != 0) t.program.pop();
      t.program.push("backward");
      t.program.pop();
      t.program.pop();
    }
    t.program.push("after");
    t.program.pop();
    profile const& p = t.s->made();
    CHECK(p.steps.size() >= 29);
    CHECK(calls(p, "train[29]/forward") == 1);
    CHECK(calls(p, "train[28]/backward") == 1);
    CHECK(
        t.s->says("a pop is missing: 10 ranges ended with the step or the range around, the first "
                  "one was train: pop what is pushed"));
  }
  stepped s("train");
  for (int i = 0; i < 5; ++i) {
    strata::push("train");
    strata::push("inner");
    if (i != 2) strata::pop();
    if (i != 3) strata::pop();  // at an early return none of both comes
  }
  CHECK(numbers_of(s.made()) == numbers{0, 1, 2, 3, 4});
  CHECK(calls(s.made(), "train") == 5);
  CHECK(calls(s.made(), "train/inner") == 5);
  CHECK(s.says("a pop is missing: 2 ranges"));
}

TEST_CASE("what is pushed in a step ends with it") {
  recording s;
  strata::push("around");
  for (int i = 0; i < 4; ++i) {
    STRATA_STEP();
    strata::push("work");
    if (i == 1) strata::push("lost");
    strata::pop();
  }
  strata::pop();
  { STRATA_RANGE("after"); }
  CHECK(calls(s.profile(), "around/work") == 4);
  CHECK(calls(s.profile(), "around/work/lost") == 1);
  CHECK(calls(s.profile(), "after") == 1);
  bool said = false;
  for (std::string const& problem : s.profile().problems)
    said = said || problem.find(
                       "a pop is missing: 1 range ended with the step or the range around, "
                       "the first one was work") != std::string::npos;
  CHECK(said);
}

TEST_CASE("what is pushed in a step ends with it, also where the range around began before") {
  recording s;
  std::optional<strata::scoped_step> step;
  {
    STRATA_RANGE("around");
    step.emplace();
  }
  strata::push("work");
  step.reset();
  { STRATA_RANGE("after"); }
  CHECK(calls(s.profile(), "work") == 1);
  CHECK(calls(s.profile(), "after") == 1);
}

TEST_CASE("a push of NVTX in a step ends with it, and a later pop ends what it should") {
  REQUIRE(strata::detail::block().nvtx_from.load() == strata::detail::nvtx_source::none);
  nvtx_calls::module program;
  REQUIRE(program.attach(&nvtx_injection::attach) == 1);
  {
    session all(with_keys("nvtx=in"));
    REQUIRE(all.start().ok());
    program.push("around");
    for (int i = 0; i < 3; ++i) {
      STRATA_STEP();
      program.push("work");
    }
    program.pop();
    program.push("after");
    program.pop();
    profile const& p = all.profile();
    CHECK(calls(p, "around/work") == 3);
    CHECK(calls(p, "after") == 1);
  }
  strata::detail::block().nvtx_from.store(strata::detail::nvtx_source::none);
  strata::detail::block().nvtx_ignored.store(false);
}

TEST_CASE("ranges that need not nest are steps too") {
  nvtx_stepped t("train");
  for (int i = 0; i < 3; ++i) {
    auto const step = t.program.start("train");
    auto const inner = t.program.start("forward");
    { STRATA_RANGE("work"); }
    t.program.end(inner);
    t.program.end(step);
    { STRATA_RANGE("between"); }
  }
  auto const lost = t.program.start("train 7");  // its end is missing
  auto const next = t.program.start("train 8");
  std::thread([&] { t.program.end(next); }).join();  // in another thread
  t.program.end(lost);
  { STRATA_RANGE("between"); }
  profile const& p = t.s->made();
  CHECK(numbers_of(p) == numbers{0, 1, 2, 3, 4});
  for (range_record const& range : p.ranges)
    CHECK((range.step == no_step) == (p.names[p.nodes[range.node].name] == "between"));
}

TEST_CASE("the name of a mark is no step: the hint does not propose it again") {
  nvtx_stepped t("train");
  t.program.mark("train");
  CHECK(
      t.s->says("step=train: no range of that name began, so that there are no steps, only a mark "
                "or a note: name a range, or add STRATA_STEP()"));
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
