#include "recording.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <strata/annotate/process.hpp>
#include <strata/collect/host/node_table.hpp>
#include <strata/collect/host/thread_recorder.hpp>
#include <strata/profile.hpp>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <vector>

namespace range_test {

using namespace strata;
using namespace recording_test;

namespace {

void recursive(int levels) {
  STRATA_RANGE("level");
  if (levels > 1) recursive(levels - 1);
}

attribute_record attribute_of(profile const& p, std::string const& path) {
  range_record const* const r = find_range(p, path);
  REQUIRE(r != nullptr);
  REQUIRE(r->attribute != no_reference);
  return p.attributes[r->attribute - 1];
}

void named_function() { STRATA_FUNCTION(); }

enum class layer_kind : int { first = 4 };

}  // namespace

TEST_CASE("ranges nest, and times nest with them") {
  recording all;
  REQUIRE(all.started());
  for (int i = 0; i < 3; ++i) {
    STRATA_RANGE("block", i);
    { STRATA_RANGE("ln1"); }
    { STRATA_RANGE("attention", layer_kind::first); }
    { STRATA_RANGE("attention", layer_kind::first); }
  }
  named_function();
  profile const& p = all.profile();
  CHECK(calls_of(p) == call_counts{{"block[0]", 1},
                                   {"block[0]/attention[4]", 2},
                                   {"block[0]/ln1", 1},
                                   {"block[1]", 1},
                                   {"block[1]/attention[4]", 2},
                                   {"block[1]/ln1", 1},
                                   {"block[2]", 1},
                                   {"block[2]/attention[4]", 2},
                                   {"block[2]/ln1", 1},
                                   {"named_function", 1}});
  range_record const outer = *find_range(p, "block[1]");
  range_record const inner = *find_range(p, "block[1]/ln1");
  CHECK(outer.begin >= 0);
  CHECK(outer.begin <= inner.begin);
  CHECK(inner.begin <= inner.end);
  CHECK(inner.end <= outer.end);
  CHECK(outer.end <= p.end);
  CHECK(outer.step == strata::no_step);
  for (std::size_t i = 1; i < p.nodes.size(); ++i) CHECK(p.nodes[i].parent < i);
}

TEST_CASE("attributes ride on the call that gives them") {
  recording all;
  {
    STRATA_RANGE("all", 7, flops(2.5e9), bytes(std::uint64_t{1} << 40), tokens(64),
                 shape(4, 64, 768), note("fp32"));
    STRATA_RANGE("some", note(std::string(1000, 'n')));
    STRATA_RANGE("none");
  }
  profile const& p = all.profile();
  attribute_record const a = attribute_of(p, "all[7]");
  CHECK(a.flops == 2.5e9);
  CHECK(a.bytes == 1099511627776.0);
  CHECK(a.tokens == 64.0);
  CHECK(a.rank == 3);
  CHECK(a.dimensions[0] == 4);
  CHECK(a.dimensions[1] == 64);
  CHECK(a.dimensions[2] == 768);
  CHECK(a.dimensions[3] == 0);
  CHECK(p.names[a.note] == "fp32");
  CHECK(path_of(p, a.node) == "all[7]");
  attribute_record const b = attribute_of(p, "all[7]/some");
  CHECK(std::isnan(b.flops));
  CHECK(std::isnan(b.bytes));
  CHECK(std::isnan(b.tokens));
  CHECK(b.rank == 0);
  CHECK(p.names[b.note] == std::string(1000, 'n'));
  CHECK(find_range(p, "all[7]/some/none")->attribute == no_reference);
}

TEST_CASE("attributes of several threads keep to their calls") {
  recording all;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < 100; ++i) {
        scoped_range const r("work", t, flops(t * 1000 + i));
      }
    });
  }
  for (std::thread& t : threads) t.join();
  profile const& p = all.profile();
  REQUIRE(p.ranges.size() == 400);
  REQUIRE(p.attributes.size() == 400);
  double sum = 0;
  for (range_record const& r : p.ranges) {
    attribute_record const& a = p.attributes.at(r.attribute - 1);
    CHECK(a.node == r.node);
    CHECK(static_cast<std::int64_t>(a.flops) / 1000 == p.nodes[r.node].index);
    sum += a.flops;
  }
  CHECK(sum == 1000.0 * 100 * (0 + 1 + 2 + 3) + 4 * 4950.0);
}

TEST_CASE("phases cut a flat function") {
  recording all;
  {
    phases p;
    p.next("ln1");
    p.next("attention", 3, flops(10));
    p.end();
    { STRATA_RANGE("between"); }
    p.next("mlp");
  }
  { phases const never; }
  profile const& p = all.profile();
  CHECK(calls_of(p) == call_counts{{"attention[3]", 1}, {"between", 1}, {"ln1", 1}, {"mlp", 1}});
  CHECK(attribute_of(p, "attention[3]").flops == 10.0);
  CHECK(find_range(p, "ln1")->end <= find_range(p, "attention[3]")->begin);
  CHECK(p.losses.ranges_left_open == 0);
}

TEST_CASE("push and pop, among scopes") {
  recording all;
  push("outer", 2);
  {
    STRATA_RANGE("scope");
    push("inner");
    pop();
    pop();  // the innermost range is a scope: not ours to end
  }
  pop();
  pop();
  {
    STRATA_RANGE("closes");
    push("left");
  }
  profile const& p = all.profile();
  CHECK(calls_of(p) == call_counts{{"closes", 1},
                                   {"closes/left", 1},
                                   {"outer[2]", 1},
                                   {"outer[2]/scope", 1},
                                   {"outer[2]/scope/inner", 1}});
  CHECK(p.losses.pops_without_push == 2);
  CHECK(find_range(p, "closes/left")->end <= find_range(p, "closes")->end);
}

TEST_CASE("pushes and pops that interrupt a push or a pop are left out in pairs") {
  recording all;
  push("outer");
  pop();
  detail::thread_recorder& own = *detail::thread_recorder::current();
  auto const handler = [](void*, std::uint32_t) noexcept {
    push("handler");
    pop();
  };
  REQUIRE(own.observe(handler, &all));
  push("outer");
  CHECK(own.depth() == 1);
  pop();
  own.stop_observing(&all);
  CHECK(own.depth() == 0);
  profile const& p = all.profile();
  CHECK(calls_of(p) == call_counts{{"outer", 2}});
  CHECK(p.losses.pops_without_push == 0);
  REQUIRE(p.problems.size() == 1);
  CHECK(p.problems[0].find("2 range calls are left out") == 0);
}

TEST_CASE("ends out of order") {
  recording all;
  phases outer;
  phases inner;
  outer.next("outer");
  inner.next("inner");
  outer.end();  // ends both
  SUBCASE("an end that comes too late does nothing") { inner.end(); }
  SUBCASE("nor does it end a range that has come to its place") {
    STRATA_RANGE("other");
    STRATA_RANGE("deeper");
    inner.end();
    { STRATA_RANGE("below"); }
  }
  profile const& p = all.profile();
  call_counts const counts = calls_of(p);
  CHECK(counts.at("outer") == 1);
  CHECK(counts.at("outer/inner") == 1);
  if (counts.count("other") != 0) {
    CHECK(counts.at("other/deeper") == 1);
    CHECK(counts.at("other/deeper/below") == 1);
  }
}

TEST_CASE("an exception ends the ranges that it leaves") {
  recording all;
  try {
    STRATA_RANGE("outer");
    STRATA_RANGE("inner");
    throw std::runtime_error("expected");
  } catch (std::runtime_error const&) {
  }
  { STRATA_RANGE("after"); }
  CHECK(calls_of(all.profile()) == call_counts{{"after", 1}, {"outer", 1}, {"outer/inner", 1}});
}

TEST_CASE("a range is neither copied nor moved nor put on the heap") {
  CHECK_FALSE(std::is_copy_constructible<scoped_range>::value);
  CHECK_FALSE(std::is_move_constructible<scoped_range>::value);
  CHECK_FALSE(std::is_copy_assignable<scoped_range>::value);
  CHECK_FALSE(std::is_convertible<char const*, scoped_range>::value);
}

TEST_CASE("names are distinguished by their text") {
  struct label {  // as of a library with texts of its own
    char const* data() const { return "a name, and more"; }
    int size() const { return 6; }
  };
  recording all;
  std::string const same = "a name";
  { scoped_range const r("a name"); }
  { scoped_range const r(same); }
  { STRATA_RANGE("a name"); }
  { STRATA_RANGE(same); }
  { STRATA_RANGE(same.c_str()); }
  { STRATA_RANGE(std::string_view(same)); }
  { STRATA_RANGE(label()); }
  { scoped_range const r(""); }
  { scoped_range const r(std::string_view("nul\0inside", 10)); }
  { scoped_range const r(std::string_view("nul\0outside", 11)); }
  { scoped_range const r(std::string(1000, 'x')); }
  { scoped_range const r(std::string(999, 'x') + "y"); }
  char buffer[16] = "changes";
  for (int i = 0; i < 2; ++i) {
    STRATA_RANGE(buffer);
    buffer[0] = 'C';
  }
  call_counts const counts = calls_of(all.profile());
  CHECK(counts.at("a name") == 7);
  CHECK(counts.at("[unnamed]") == 1);
  CHECK(counts.at(std::string("nul\0inside", 10)) == 1);
  CHECK(counts.at(std::string("nul\0outside", 11)) == 1);
  CHECK(counts.at(std::string(1000, 'x')) == 1);
  CHECK(counts.at(std::string(999, 'x') + "y") == 1);
  CHECK(counts.at("changes") == 1);
  CHECK(counts.at("Changes") == 1);
  CHECK(counts.size() == 8);
}

TEST_CASE("a constant array whose text changes names each call by its text") {
  struct tensor {
    char name[64];
  };
  tensor buffer{};
  tensor const& node = buffer;  // as ggml_tensor::name of a node that is used again
  char const* const texts[] = {"attn_norm-0", "ffn_out-0", "attn_norm-0", "x", ""};
  recording all;
  for (char const* const text : texts) {
    std::string(text).copy(buffer.name, sizeof buffer.name);
    buffer.name[std::string_view(text).size()] = '\0';
    STRATA_RANGE(node.name);
  }
  CHECK(calls_of(all.profile()) ==
        call_counts{{"[unnamed]", 1}, {"attn_norm-0", 2}, {"ffn_out-0", 1}, {"x", 1}});
}

TEST_CASE("a literal names all of its characters") {
  recording all;
  for (int i = 0; i < 2; ++i) {
    STRATA_RANGE("nul\0inside");
    STRATA_RANGE(
        "joined "
        "literals");
  }
  call_counts const counts = calls_of(all.profile());
  CHECK(counts.at(std::string("nul\0inside", 10)) == 2);
  CHECK(counts.at(std::string("nul\0inside", 10) + "/joined literals") == 2);
}

TEST_CASE("constant arrays that share a place in the source keep their names") {
  static char const names[3][4] = {"ln1", "ln2", "ln3"};
  recording all;
  for (int round = 0; round < 2; ++round) {
    for (auto const& name : names) {
      STRATA_RANGE(name);
    }
  }
  CHECK(calls_of(all.profile()) == call_counts{{"ln1", 2}, {"ln2", 2}, {"ln3", 2}});
}

TEST_CASE("indices of every kind") {
  recording all;
  { STRATA_RANGE("i", -1); }
  { STRATA_RANGE("i", 0u); }
  { STRATA_RANGE("i", INT64_MAX); }
  { STRATA_RANGE("i", 'a'); }
  { STRATA_RANGE("i"); }
  CHECK(calls_of(all.profile()) ==
        call_counts{
            {"i", 1}, {"i[-1]", 1}, {"i[0]", 1}, {"i[97]", 1}, {"i[9223372036854775807]", 1}});
}

TEST_CASE("10,000 ranges within each other") {
  recording all;
  recursive(10'000);
  { STRATA_RANGE("level"); }
  profile const& p = all.profile();
  CHECK(p.ranges.size() == 10'001);
  std::uint64_t deeper = 0;
  std::uint32_t deepest = 0;
  for (range_record const& r : p.ranges) {
    deeper += p.names[p.nodes[r.node].name] == "[deeper]";
    deepest = p.nodes[r.node].depth > deepest ? p.nodes[r.node].depth : deepest;
  }
  CHECK(deepest == detail::node_table::max_depth + 1);
  CHECK(deeper == 10'000 - detail::node_table::max_depth);
  CHECK(p.losses.ranges_too_deep == deeper);
}

TEST_CASE("the time of ranges beyond the depth limit is that of the outermost one") {
  constexpr int times = 3;
  options how = quiet();
  SUBCASE("each call in the log") {}
  SUBCASE("most calls in sums") { how.log_mb = 0; }
  recording all(how);
  for (int i = 0; i < times; ++i) recursive(5'000);
  profile const& p = all.profile();
  std::int64_t above = 0;  // the time of the last level that has a node of its own
  double deeper = 0;
  std::uint64_t calls = 0;
  auto const add = [&](std::uint32_t node, double duration, std::uint64_t count) {
    if (p.nodes[node].depth == detail::node_table::max_depth)
      above += static_cast<std::int64_t>(duration);
    if (p.nodes[node].depth <= detail::node_table::max_depth) return;
    deeper += duration;
    calls += count;
  };
  for (range_record const& r : p.ranges) add(r.node, static_cast<double>(r.end - r.begin), 1);
  for (overflow_sums const& f : p.summed_ranges)
    add(f.node, f.durations.sum(), f.durations.count());
  CHECK(calls == times * (5'000 - detail::node_table::max_depth));
  CHECK(deeper > 0);
  CHECK(deeper <= static_cast<double>(above) + 1000);
  CHECK(p.losses.ranges_too_deep == calls);
}

TEST_CASE("a thread that inherits a place beyond the depth limit has its own time there") {
  recording all;
  std::int64_t begin = 0, end = 0;
  for (int i = 0; i < 200; ++i) push("level");
  range_handle const here = current();
  std::thread([&] {
    inherit const as_child(here);
    begin = detail::monotonic_ns();
    {
      STRATA_RANGE("work");
      STRATA_RANGE("part");
      while (detail::monotonic_ns() - begin < 1'000'000) {
      }
    }
    end = detail::monotonic_ns();
  }).join();
  for (int i = 0; i < 200; ++i) pop();
  profile const& p = all.profile();
  std::uint32_t const own = find_range(p, "level")->thread;
  std::int64_t worked = 0;
  for (range_record const& r : p.ranges) {
    if (r.thread != own) worked += r.end - r.begin;
  }
  CHECK(worked >= 900'000);
  CHECK(worked <= end - begin);
}

TEST_CASE("pushes that nobody pops take a bounded memory") {
  constexpr std::uint32_t beyond = 1000;
  constexpr std::uint32_t most = detail::thread_recorder::most_open;
  recording all;
  std::thread([] {
    for (std::uint32_t i = 0; i < most + beyond; ++i) push("leak");
    for (std::uint32_t i = 0; i < beyond; ++i) pop();
    pop();
    push("leak");
    { STRATA_RANGE("beyond"); }
    for (std::uint32_t i = 0; i < most; ++i) pop();
    { STRATA_RANGE("within"); }
  }).join();
  profile const& p = all.profile();
  CHECK(p.losses.pops_without_push == 0);
  CHECK(p.losses.ranges_left_open == 0);
  CHECK(calls_of(p).at("within") == 1);
  CHECK(p.losses.ranges_too_deep == most - detail::node_table::max_depth + 2);
}

TEST_CASE("a range leaves errno alone") {
  recording all;
  errno = 42;
  { STRATA_RANGE("errno", flops(1)); }
  CHECK(errno == 42);
}

TEST_CASE("steps within a step, and steps of a second thread, are not counted") {
  recording all;
  {
    STRATA_STEP();
    {
      STRATA_STEP();
      STRATA_RANGE("first");
    }
    std::thread([] {
      STRATA_STEP();
      STRATA_RANGE("other thread");
    }).join();
  }
  {
    STRATA_STEP();
    STRATA_RANGE("second");
  }
  std::thread([] {
    STRATA_STEP();
    STRATA_RANGE("third");
  }).join();
  { STRATA_RANGE("outside"); }
  profile const& p = all.profile();
  CHECK(p.has_steps);
  REQUIRE(p.steps.size() == 3);
  for (std::uint32_t i = 0; i < 3; ++i) {
    CHECK(p.steps[i].step == i);
    CHECK(p.steps[i].begin <= p.steps[i].end);
  }
  CHECK(find_range(p, "first")->step == 0);
  CHECK(find_range(p, "other thread")->step == 0);
  CHECK(find_range(p, "second")->step == 1);
  CHECK(find_range(p, "third")->step == 2);
  CHECK(find_range(p, "outside")->step == strata::no_step);
  CHECK(p.steps[2].thread == find_range(p, "third")->thread);
  CHECK(p.steps[2].thread != p.steps[1].thread);
}

#if defined(__x86_64__)
TEST_CASE("copies of Strata that share a layout's number share its size") {
  CHECK(STRATA_DETAIL_PROCESS_LAYOUT == 12);  // raise it with the size
  CHECK(sizeof(detail::process_block) == 872);
}
#endif

}  // namespace range_test
