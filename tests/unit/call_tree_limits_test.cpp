#include "tree_rows.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace call_tree_limits_test {

using sample::paths;
using sample::row_at;
using sample::texts;
using strata::api_kind;
using strata::call_tree;
using strata::copy_kind;
using strata::folding;
using strata::range_row;

TEST_CASE("spans wait for the work that a call launched") {
  sample::maker make;
  auto const outer = make.node(0, "outer");
  auto const inner = make.node(outer, "inner");
  make.call(outer, 0, 100);
  make.call(inner, 10, 40);
  make.call(inner, 40, 60);  // begins when the last one ends
  make.call(outer, 200, 300);
  make.call(inner, 10, 20, 1);  // another thread
  make.kernel(make.launch(inner, 20, 21), 50, 90);
  make.copy(make.launch(inner, 45, 46), 90, 170, 1, copy_kind::set);
  make.kernel(make.launch(outer, 250, 251), 255, 260);
  make.kernel(make.launch(inner, 15, 16, api_kind::launch, 1), 400, 500);
  make.kernel(make.launch(inner, 150, 151), 900, 950);  // inside no call
  make.kernel(make.launch(outer, 90, 91), strata::lost_time, 195);
  call_tree const tree(make.made);
  CHECK(row_at(tree, "outer/inner").span_ns == (90 - 10) + (170 - 40) + (500 - 10));
  CHECK(row_at(tree, "outer").span_ns == 170 + 100);
}

TEST_CASE("a range of no length lies in the one that it was called from") {
  sample::maker make;
  auto const outer = make.node(0, "outer");
  auto const inner = make.node(outer, "inner");
  auto const next = make.node(0, "next");
  make.call(inner, 50, 50);
  make.call(outer, 10, 50);
  make.kernel(make.launch(inner, 50, 50), 55, 75);
  SUBCASE("alone") {
    call_tree const tree(make.made);
    CHECK(row_at(tree, "outer/inner").span_ns == 25);
    CHECK(row_at(tree, "outer").span_ns == 65);
  }
  SUBCASE("before a call that begins at once: the launch is in that one") {
    make.call(next, 50, 60);
    call_tree const tree(make.made);
    CHECK(row_at(tree, "outer").span_ns == 40);
    CHECK(row_at(tree, "next").span_ns == 25);
  }
}

TEST_CASE("calls that begin with the one that called them") {
  sample::maker make;
  auto const outer = make.node(0, "outer");
  auto const inner = make.node(outer, "inner");
  make.call(inner, 10, 20);
  make.call(inner, 100, 150);
  make.call(outer, 10, 50);
  make.call(outer, 100, 150);
  make.kernel(make.launch(outer, 30, 31), 40, 95);
  make.kernel(make.launch(inner, 100, 101), 190, 200);
  call_tree const tree(make.made);
  CHECK(row_at(tree, "outer/inner").span_ns == 10 + 100);
  CHECK(row_at(tree, "outer").span_ns == 85 + 100);
}

TEST_CASE("hostile records neither crash nor get lost") {
  constexpr auto latest = (std::numeric_limits<std::int64_t>::max)();
  constexpr auto earliest = (std::numeric_limits<std::int64_t>::min)();
  sample::maker make;
  auto const node = make.node(0, "node");
  make.made.nodes.push_back({7, 99, 5, 1234, true});                   // parent comes later
  make.made.nodes.push_back({0xffffffffu, 0xffffffffu, -1, 0, true});  // no parent, no name
  make.made.nodes.push_back({4, 1, strata::no_index, 0, true});        // its own parent
  make.call(node, 100, 50);
  make.call(2, 0, 1).attribute = 55;
  make.call(3, earliest + 1, latest, 0xffffffffu);
  make.call(3, earliest + 1, latest);
  make.call(4, earliest, latest);
  make.call(77, 0, 1);
  make.describe(make.call(node, 0, 1)).rank = 4'000'000'000u;
  make.made.attributes.back().note = 4'000'000'000u;
  make.made.attributes.back().flops = std::numeric_limits<double>::infinity();
  make.made.summed_ranges.push_back({99, {}, sample::not_given, sample::not_given, -1.0});
  make.launch(1234, latest, earliest);
  auto const launch = make.launch(node, earliest + 1, latest);
  make.made.launches.push_back(make.made.launches.back());  // the same correlation again
  for (int i = 0; i < 3; ++i) {
    make.kernel(launch, earliest + 1, latest).captured_by = 4'000'000'000u;
    make.kernel(launch, latest, earliest);
    make.copy(launch, earliest + 1, latest, ~std::uint64_t{0}, static_cast<copy_kind>(200));
    make.allocate(launch, latest, 1, ~std::uint64_t{0});
    make.release(launch, earliest, 1, ~std::uint64_t{0});
  }
  make.made.synchronizations.push_back({latest, earliest, 77, 0, 0, {}, {}});
  make.made.has_steps = true;
  for (folding const mode : {folding::none, folding::by_name}) {
    call_tree const tree(make.made, mode);
    CHECK(paths(tree) == (mode == folding::none
                              ? texts{"", "node", "[unknown][5]", "[unknown][-1]", "node"}
                              : texts{"", "node", "[unknown][*]"}));
    range_row const& root = tree.rows()[0];
    CHECK(root.host.count() == 1);
    CHECK(root.total.kernels == 6);
    CHECK(root.total.copies == 3);
    CHECK(root.total.kernel_ns == latest);
    CHECK(root.gpu_busy_ns == latest);
    CHECK(root.self.synchronization_ns == 0);
    CHECK(root.peak_bytes == latest);
    CHECK(tree.row_of(node).host.minimum() == 0);
    CHECK(tree.row_of(node).shape == "0x0x0x0x0x0x0");
    CHECK(tree.row_of(node).note.empty());
  }
}

TEST_CASE("a chain of any depth ends in the row at the limit") {
  sample::maker make;
  std::uint32_t last = 0;
  for (int i = 0; i < 5000; ++i) last = make.node(last, "n");
  make.kernel(make.launch(last, 0, 1), 0, 3);
  call_tree const tree(make.made);
  CHECK(tree.rows().size() == strata::detail::row_layout::deepest + 1);
  CHECK(tree.rows().back().self.kernel_ns == 3);
  CHECK(tree.rows()[0].total.kernel_ns == 3);
  CHECK(&tree.row_of(last) == &tree.rows().back());
}

}  // namespace call_tree_limits_test
