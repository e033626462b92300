#include "tree_rows.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <ctime>
#include <string>
#include <vector>

namespace call_tree_test {

using sample::paths;
using sample::row_at;
using sample::texts;
using strata::api_kind;
using strata::call_tree;
using strata::copy_kind;
using strata::folding;
using strata::range_row;

TEST_CASE("an empty profile has a root and nothing else") {
  strata::profile const nothing;
  sample::maker root_only;
  for (strata::profile const& source : {nothing, root_only.made})
    for (folding const mode : {folding::none, folding::by_name}) {
      call_tree const tree(source, mode);
      REQUIRE(tree.rows().size() == 1);
      range_row const& root = tree.rows()[0];
      CHECK(root.path.empty());
      CHECK(root.name.empty());
      CHECK(root.parent == 0);
      CHECK(root.path_id == 0);
      CHECK(root.host.count() == 0);
      CHECK(root.total.kernels == 0);
      CHECK(std::isnan(root.flops));
      CHECK(&tree.row_of(7) == &root);
    }
}

TEST_CASE("rows are depth-first, children in order of first use") {
  sample::maker make;
  auto const second = make.node(0, "z");
  auto const first = make.node(0, "a");
  auto const inner = make.node(second, "block", 3);
  auto const other = make.node(second, "block", strata::any_index);
  auto const deep = make.node(inner, "ln1");
  for (auto const node : {first, deep, other, inner, second}) make.call(node, 0, 10);
  call_tree const tree(make.made);
  CHECK(paths(tree) == texts{"", "z", "z/block[3]", "z/block[3]/ln1", "z/block[*]", "a"});
  for (range_row const& row : tree.rows()) {
    CHECK(row.path_id == row.node);
    CHECK(row.host.count() == (row.node == 0 ? 0 : 1));
    CHECK(&tree.row_of(row.node) == &row);
    if (row.node != 0) CHECK(row.depth == tree.rows()[row.parent].depth + 1);
  }
  CHECK(tree.rows()[3].parent == 2);
  CHECK(tree.rows()[2].index == 3);
  CHECK(tree.rows()[2].name == "block");
}

TEST_CASE("work of ranges that are not selected is in the nearest row above") {
  sample::maker make;
  auto const step = make.node(0, "step", strata::no_index, false);
  auto const attention = make.node(step, "attention");
  auto const mlp = make.node(step, "mlp", strata::no_index, false);
  auto const gelu = make.node(mlp, "gelu", strata::no_index, false);
  make.call(step, 0, 100);
  make.call(attention, 10, 40);
  make.call(mlp, 50, 90);
  make.kernel(make.launch(attention, 11, 12), 11, 21);
  make.kernel(make.launch(gelu, 51, 53), 60, 65);
  call_tree const tree(make.made);
  CHECK(paths(tree) == texts{"", "step", "step/attention"});
  CHECK(row_at(tree, "step").self.kernel_ns == 5);
  CHECK(row_at(tree, "step").total.kernel_ns == 15);
  CHECK(row_at(tree, "step").host.count() == 1);
  CHECK(row_at(tree, "step").host_self_ns == 70);
  CHECK(row_at(tree, "step").gpu_busy_ns == 15);
  CHECK(tree.row_of(gelu).path == "step");
  CHECK(tree.rows()[0].self.kernels == 0);
}

TEST_CASE("host time: total, self, first step") {
  sample::maker make;
  auto const outer = make.node(0, "outer");
  auto const inner = make.node(outer, "inner");
  make.call(outer, 0, 100).step = 4;
  make.call(outer, 100, 130).step = 5;
  make.call(inner, 10, 30).step = 4;
  make.call(inner, 40, 50).step = 4;
  make.made.summed_ranges.push_back({inner, {}, 0.0, 0.0, 0.0});
  make.made.summed_ranges.back().durations.add(7);
  make.made.summed_ranges.back().durations.add(8);

  SUBCASE("with steps") {
    make.made.has_steps = true;
    call_tree const tree(make.made);
    range_row const& row = row_at(tree, "outer");
    CHECK(row.host.count() == 2);
    CHECK(row.host.minimum() == 30);
    CHECK(row.host.maximum() == 100);
    CHECK(row.host_total_ns == 130);
    CHECK(row.host_self_ns == 130 - 45);
    CHECK(row.first_step_calls == 1);
    CHECK(row.first_step_host_ns == 100);
    range_row const& below = row_at(tree, "outer/inner");
    CHECK(below.host.count() == 4);
    CHECK(below.host_total_ns == 45);
    CHECK(below.host_self_ns == 45);
    CHECK(below.first_step_calls == 2);
    CHECK(below.first_step_host_ns == 30);
    CHECK(tree.rows()[0].host_total_ns == 0);
    CHECK(tree.rows()[0].host_self_ns == 0);
  }
  SUBCASE("without steps") {
    call_tree const tree(make.made);
    CHECK(row_at(tree, "outer").first_step_calls == 0);
    CHECK(row_at(tree, "outer").first_step_host_ns == 0);
  }
  SUBCASE("all outside of steps") {
    make.made.has_steps = true;
    for (auto& range : make.made.ranges) range.step = 0xffffffffu;
    CHECK(row_at(call_tree(make.made), "outer").first_step_calls == 0);
  }
  SUBCASE("children that last longer than their parent") {
    make.call(inner, 0, 1000);
    CHECK(row_at(call_tree(make.made), "outer").host_self_ns == 0);
  }
}

TEST_CASE("work of threads in no range is told apart, and within the span of its range") {
  sample::maker make;
  auto const step = make.node(0, "step");
  auto const backward = make.node(step, "backward");
  make.made.steps.push_back({0, 100, 0, 0});
  make.call(step, 0, 60);
  make.call(backward, 10, 50);
  auto const own = make.launch(backward, 11, 12);
  make.kernel(own, 13, 18);
  auto const other = make.launch(backward, 20, 22, api_kind::launch, 1);
  auto const copied = make.launch(backward, 22, 23, api_kind::copy, 1);
  make.kernel(other, 30, 70).adopted = 1;
  make.copy(copied, 70, 77, 8, copy_kind::device_to_host).adopted = 1;
  for (std::size_t i : {1u, 2u}) make.made.launches[i].flags = strata::driver_call_record::adopted;
  call_tree const tree(make.made);
  strata::device_work const& work = row_at(tree, "step/backward").self;
  CHECK(work.kernels == 2);
  CHECK(work.kernel_ns == 45);
  CHECK(work.adopted_kernels == 1);
  CHECK(work.adopted_ns == 47);
  CHECK(row_at(tree, "step").self.adopted_kernels == 0);
  CHECK(row_at(tree, "step").total.adopted_kernels == 1);
  CHECK(tree.rows()[0].total.adopted_ns == 47);
  CHECK(row_at(tree, "step/backward").span_ns == 67);
  CHECK(row_at(tree, "step").span_ns == 77);
  CHECK(row_at(tree, "step").step_share == 1.0);
}

TEST_CASE("the work of a call that only captured it was not done") {
  sample::maker make;
  auto const node = make.node(0, "matmul");
  auto const call = [&](std::int64_t begin, std::uint32_t thread) {
    make.describe(make.call(node, begin, begin + 10)).flops = 100.0;
    make.made.attributes.back().rank = 1;
    make.made.attributes.back().dimensions[0] = 7;
    make.made.ranges.back().thread = thread;
  };
  auto const launch = [&](std::int64_t at, bool captured) {
    make.launch(node, at, at + 1);
    if (captured) make.made.launches.back().flags = strata::driver_call_record::in_capture;
  };
  call(0, 0);  // launched
  launch(5, false);
  call(20, 0);  // captured
  launch(20, true);
  call(40, 0);  // captured and launched the graph
  launch(45, true);
  launch(46, false);
  call(60, 0);  // neither
  call(20, 1);  // another thread while the first one captured
  call(80, 0);  // waited while another thread captured
  launch(85, true);
  make.made.launches.back().kind = api_kind::wait;
  call_tree const tree(make.made);
  range_row const& row = row_at(tree, "matmul");
  CHECK(row.host.count() == 6);
  CHECK(row.flops == 500.0);
  CHECK(row.shape == "7");
}

TEST_CASE("kernels of a graph are also named where they were captured") {
  sample::maker make;
  auto const step = make.node(0, "step");
  auto const forward = make.node(step, "forward");
  auto const attention = make.node(forward, "attention");
  auto const replay = make.node(step, "replay");
  make.call(step, 0, 100);
  auto const launch = make.launch(replay, 0, 5, api_kind::graph_launch);
  make.kernel(launch, 10, 20).captured_by = attention;
  make.kernel(launch, 20, 23).captured_by = forward;
  make.kernel(launch, 23, 24);                        // not known
  make.kernel(launch, 24, 25).captured_by = replay;   // captured where it is launched
  make.kernel(4711, 40, 44).captured_by = attention;  // launch not known
  call_tree const tree(make.made);
  CHECK(row_at(tree, "step/forward/attention").self.graph_kernels == 2);
  CHECK(row_at(tree, "step/forward/attention").self.graph_kernel_ns == 14);
  CHECK(row_at(tree, "step/forward/attention").total.graph_kernel_ns == 14);
  CHECK(row_at(tree, "step/forward/attention").total.kernels == 0);
  CHECK(row_at(tree, "step/forward").self.graph_kernel_ns == 3);
  CHECK(row_at(tree, "step/forward").total.graph_kernels == 3);
  CHECK(row_at(tree, "step/forward").total.graph_kernel_ns == 17);
  // The step contains the launch: only the kernel that the root launched is new to it.
  CHECK(row_at(tree, "step").total.kernel_ns == 15);
  CHECK(row_at(tree, "step").total.graph_kernel_ns == 4);
  CHECK(row_at(tree, "step/replay").self.graph_kernels == 0);
  CHECK(row_at(tree, "step/replay").self.kernels == 4);
  CHECK(tree.rows()[0].total.graph_kernels == 0);
  auto const& captured = row_at(tree, "step/forward/attention").captured;
  REQUIRE(captured.size() == 2);
  CHECK(captured[0].launching_row == 0);
  CHECK(captured[0].kernel_ns == 4);
  CHECK(&tree.rows()[captured[1].launching_row] == &row_at(tree, "step/replay"));
  CHECK(captured[1].kernel_ns == 10);
  CHECK(row_at(tree, "step/replay").captured.empty());
}

TEST_CASE("peaks of device memory count for the range that allocated") {
  sample::maker make;
  auto const load = make.node(0, "load");
  auto const step = make.node(0, "step");
  auto const layer = make.node(step, "layer");
  auto const in = [&](std::uint32_t node) { return make.launch(node, 0, 1, api_kind::allocate); };
  make.allocate(in(load), 1, 0x100, 1000);
  make.allocate(in(layer), 2, 0x200, 50);
  make.allocate(in(step), 3, 0x300, 30, strata::memory_kind::managed);
  make.release(in(step), 4, 0x200, 50);  // counts for the layer
  make.allocate(in(layer), 5, 0x200, 40);
  make.allocate(in(layer), 6, 0x400, 7000, strata::memory_kind::pinned);
  make.release(in(load), 7, 0x999, 12345);  // older than the session
  make.release(in(layer), 8, 0x100, 0);
  make.allocate(in(layer), 9, 0x500, 45);
  call_tree const tree(make.made);
  CHECK(row_at(tree, "load").peak_bytes == 1000);
  CHECK(row_at(tree, "step/layer").peak_bytes == 85);
  CHECK(row_at(tree, "step").peak_bytes == 115);
  CHECK(tree.rows()[0].peak_bytes == 1080);
  CHECK(row_at(tree, "step/layer").self.allocations == 4);
  CHECK(row_at(tree, "step/layer").self.allocated_bytes == 50 + 40 + 7000 + 45);
  CHECK(row_at(tree, "step/layer").self.releases == 1);
  CHECK(row_at(tree, "step/layer").self.released_bytes == 1000);
  CHECK(row_at(tree, "load").self.released_bytes == 12345);
  CHECK(row_at(tree, "step").total.releases == 2);
}

TEST_CASE("attributes are sums over calls, shape and note those of the last call") {
  sample::maker make;
  make.node(0, "never called");
  auto const node = make.node(0, "matmul");
  auto const silent = make.node(0, "silent");
  auto const give = [&](std::int64_t begin, double flops, std::vector<std::uint32_t> shape,
                        std::string const& note) {
    auto& attribute = make.describe(make.call(node, begin, begin + 1));
    attribute.flops = flops;
    attribute.rank = static_cast<std::uint32_t>(shape.size());
    for (std::size_t i = 0; i < shape.size() && i < 7; ++i) attribute.dimensions[i] = shape[i];
    attribute.note = note.empty() ? strata::no_reference : make.name(note);
  };
  make.call(silent, 0, 1);
  give(20, 5.0, {4, 64, 768}, "late");
  give(10, sample::not_given, {}, "early");
  give(0, 2.0, {4, 64, 768}, "");
  SUBCASE("equal shapes") {
    call_tree const tree(make.made);
    range_row const& row = row_at(tree, "matmul");
    CHECK(row.flops == 7.0);
    CHECK(std::isnan(row.bytes));
    CHECK(std::isnan(row.tokens));
    CHECK(row.shape == "4x64x768");
    CHECK(row.note == "late");
    CHECK(std::isnan(row_at(tree, "silent").flops));
    CHECK(row_at(tree, "silent").shape.empty());
  }
  SUBCASE("other dimensions before") {
    give(5, 1.0, {4, 65, 768}, "");
    CHECK(row_at(call_tree(make.made), "matmul").shape == "4x64x768...");
  }
  SUBCASE("another rank after") {
    give(30, 1.0, {4}, "");
    CHECK(row_at(call_tree(make.made), "matmul").shape == "4...");
  }
  SUBCASE("calls kept in sums only") {
    make.made.summed_ranges.push_back({node, {}, 100.0, 50.0, 0.0});
    make.made.summed_ranges.back().durations.add(3);
    call_tree const tree(make.made);
    CHECK(row_at(tree, "matmul").flops == 107.0);
    CHECK(row_at(tree, "matmul").bytes == 50.0);
    CHECK(std::isnan(row_at(tree, "matmul").tokens));
    CHECK(row_at(tree, "matmul").host.count() == 4);
  }
}

TEST_CASE("folding puts equal names under one parent into one row") {
  sample::maker make;
  auto const first = make.node(0, "block", 0);
  auto const attention = make.node(first, "attention");
  auto const head = make.node(0, "head");
  auto const second = make.node(0, "block", 1);
  auto const other = make.node(second, "attention");
  auto const rest = make.node(0, "block", strata::any_index);
  auto const alone = make.node(head, "expert", 3);
  auto const twin = make.node(head, "attention");
  make.call(first, 0, 10);
  make.call(second, 20, 50);
  make.call(rest, 60, 65);
  make.call(alone, 70, 71);
  make.call(twin, 72, 74);
  make.kernel(make.launch(attention, 1, 2), 5, 25);
  make.kernel(make.launch(other, 21, 22), 15, 35);
  make.allocate(make.launch(attention, 3, 4, api_kind::allocate), 3, 0x10, 100);
  make.release(make.launch(other, 23, 24, api_kind::release), 23, 0x10, 100);
  make.allocate(make.launch(other, 25, 26, api_kind::allocate), 25, 0x20, 70);

  call_tree const unfolded(make.made);
  CHECK(paths(unfolded) == texts{"", "block[0]", "block[0]/attention", "head", "head/expert[3]",
                                 "head/attention", "block[1]", "block[1]/attention", "block[*]"});
  call_tree const tree(make.made, folding::by_name);
  CHECK(paths(tree) ==
        texts{"", "block[*]", "block[*]/attention", "head", "head/expert[*]", "head/attention"});
  range_row const& block = row_at(tree, "block[*]");
  CHECK(block.index == strata::any_index);
  CHECK(block.node == first);
  CHECK(block.host.count() == 3);
  CHECK(block.host.minimum() == 5);
  CHECK(block.host.maximum() == 30);
  CHECK(block.host.quantile(0.5) == 10);
  CHECK(block.host_total_ns == 45);
  CHECK(block.total.kernels == 2);
  CHECK(block.total.kernel_ns == 40);
  CHECK(block.gpu_busy_ns == 30);
  CHECK(block.peak_bytes == 100);
  CHECK(row_at(tree, "block[*]/attention").path_id == attention);
  CHECK(row_at(tree, "head/attention").index == strata::no_index);
  CHECK(tree.row_of(other).path == "block[*]/attention");
  CHECK(tree.row_of(rest).path == "block[*]");
}

TEST_CASE("names that are equal as texts fold, whatever their position") {
  sample::maker make;
  make.node(0, "block", 0);
  make.made.names.push_back("block");
  auto const second = make.node(0, "other", 1);
  make.made.nodes[second].name = 2;
  make.call(1, 0, 1);
  make.call(2, 2, 3);
  CHECK(paths(call_tree(make.made, folding::by_name)) == texts{"", "block[*]"});
}

TEST_CASE("migrations belong to the kernel that runs on their device, else to the host's range") {
  using strata::migration_kind;
  sample::maker make;
  auto const outer = make.node(0, "outer");
  auto const inner = make.node(outer, "inner");
  auto const other = make.node(0, "other");
  make.call(outer, 0, 1000);
  make.call(inner, 0, 500);
  make.call(other, 0, 1000, 1);  // another thread
  make.kernel(make.launch(outer, 1, 2), 100, 400);
  make.kernel(make.launch(inner, 2, 3), 200, 300);
  make.kernel(make.launch(other, 3, 4), 200, 900).device = 1;
  make.kernel(make.launch(other, 3, 4), strata::lost_time, strata::lost_time);
  auto const migrate = [&make](migration_kind kind, std::int64_t begin, std::uint64_t value,
                               std::uint32_t device = 0) {
    make.made.migrations.push_back({begin, begin + 10, value, device, kind, {}});
  };
  migrate(migration_kind::to_device, 250, 1);    // both kernels of device 0: the later one
  migrate(migration_kind::to_device, 150, 20);   // the first one alone, out of order
  migrate(migration_kind::to_device, 300, 400);  // the second one has ended
  migrate(migration_kind::gpu_faults, 250, 5, 1);
  migrate(migration_kind::to_host, 450, 8000);  // no kernel: the innermost range
  migrate(migration_kind::to_host, 700, 90000);
  migrate(migration_kind::to_host, 2000, 100000);  // no range
  migrate(migration_kind::last_former, 150, 4096);
  migrate(migration_kind::between_devices, 250, 77, 1);
  call_tree const tree(make.made);
  CHECK(row_at(tree, "outer/inner").migrated_to_device_bytes == 1);
  CHECK(row_at(tree, "outer").migrated_to_device_bytes == 421);
  CHECK(row_at(tree, "outer/inner").migrated_to_host_bytes == 8000);
  CHECK(row_at(tree, "outer").migrated_to_host_bytes == 98000);
  CHECK(tree.rows()[0].migrated_to_host_bytes == 198000);
  CHECK(row_at(tree, "other").gpu_page_faults == 5);
  CHECK(row_at(tree, "other").migration_ns == 10);
  CHECK(row_at(tree, "outer/inner").migration_ns == 20);
  CHECK(tree.rows()[0].migration_ns == 70);
}

TEST_CASE("migrations: what a recording calls devices may be many") {
  constexpr std::uint32_t devices = 1 << 17;
  sample::maker make;
  auto const work = make.node(0, "work");
  make.kernel(make.launch(work, 1, 2), 100, 400).device = 70;
  for (std::uint32_t device = devices; device-- > 0;)
    make.made.migrations.push_back({200, 210, 4, device, strata::migration_kind::to_device, {}});
  std::clock_t const begin = std::clock();  // of the processor, which other programs do not slow
  call_tree const tree(make.made);
  CHECK(std::clock() - begin < 20 * CLOCKS_PER_SEC);
  CHECK(row_at(tree, "work").migrated_to_device_bytes == 4);
  CHECK(tree.rows()[0].migrated_to_device_bytes == 4.0 * devices);
}

}  // namespace call_tree_test
