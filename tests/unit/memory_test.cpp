#include "sample_profile.hpp"

#include <strata/tables/memory_table.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string>

namespace memory_test {

using strata::api_kind;
using strata::call_tree;
using strata::make_memory_table;
using strata::memory_kind;
using strata::memory_table;

TEST_CASE("no memory records") {
  strata::profile const nothing;
  memory_table const table = make_memory_table(nothing, call_tree(nothing));
  CHECK(table.allocations.empty());
  CHECK(table.timeline.empty());
  CHECK(table.peak_bytes == 0);
  CHECK(table.peak_at == 0);
  CHECK(table.purposes.empty());
}

TEST_CASE("allocations with their lives, and the memory in use") {
  sample::maker make;
  auto const weights = make.node(0, "weights");
  auto const block = make.node(0, "block", 2);
  auto const in = [&](std::uint32_t node) { return make.launch(node, 0, 1, api_kind::allocate); };
  // Not in order of time.
  make.release(in(block), 50, 0x20, 200);
  make.allocate(in(weights), 10, 0x10, 1000);
  auto& block_memory = make.allocate(in(block), 20, 0x20, 200, memory_kind::managed);
  block_memory.asynchronous = 1;
  block_memory.device = 3;
  block_memory.stream = 7;
  make.allocate(in(block), 30, 0x30, 5000, memory_kind::pinned);
  make.allocate(in(block), 60, 0x20, 30);  // the address again
  make.release(in(block), 70, 0x99, 1);    // never seen before
  make.allocate(4711, 80, 0x40, 1, memory_kind::array);

  for (strata::folding const mode : {strata::folding::none, strata::folding::by_name}) {
    call_tree const tree(make.made, mode);
    std::string const block_path = mode == strata::folding::none ? "block[2]" : "block[*]";
    memory_table const table = make_memory_table(make.made, tree);
    REQUIRE(table.allocations.size() == 5);
    auto const& all = table.allocations;
    CHECK(all[0].path == "weights");
    CHECK(all[0].path_id == weights);
    CHECK(all[0].bytes == 1000);
    CHECK(all[0].address == 0x10);
    CHECK(all[0].allocated_at == 10);
    CHECK(all[0].released_at == -1);
    CHECK(all[0].released_in.empty());
    CHECK(all[0].kind == memory_kind::device);
    CHECK_FALSE(all[0].asynchronous);
    CHECK(all[1].path == block_path);
    CHECK(all[1].kind == memory_kind::managed);
    CHECK(all[1].asynchronous);
    CHECK(all[1].device == 3);
    CHECK(all[1].stream == 7);
    CHECK(all[1].released_at == 50);
    CHECK(all[1].released_in == block_path);
    CHECK(all[2].kind == memory_kind::pinned);
    CHECK(all[3].allocated_at == 60);
    CHECK(all[3].released_at == -1);
    CHECK(all[4].path.empty());
    CHECK(table.releases_of_older_memory == 1);
    REQUIRE(table.timeline.size() == 5);
    std::int64_t const times[] = {10, 20, 50, 60, 80};
    std::int64_t const bytes[] = {1000, 1200, 1000, 1030, 1031};
    for (std::size_t i = 0; i < 5; ++i) {
      CHECK(table.timeline[i].time == times[i]);
      CHECK(table.timeline[i].bytes == bytes[i]);
    }
    CHECK(table.peak_bytes == 1200);
    CHECK(table.peak_at == 20);
  }
}

TEST_CASE("an address that is allocated again was released in between") {
  sample::maker make;
  make.allocate(0, 10, 0x10, 100);
  auto const node = make.node(0, "again");
  make.allocate(make.launch(node, 19, 20, api_kind::allocate), 20, 0x10, 60);
  make.release(0, 30, 0x10, 0);
  make.release(0, 40, 0x10, 0);
  memory_table const table = make_memory_table(make.made, call_tree(make.made));
  REQUIRE(table.allocations.size() == 2);
  CHECK(table.allocations[0].released_at == 20);
  CHECK(table.allocations[0].released_in.empty());
  CHECK(table.allocations[1].path == "again");
  CHECK(table.allocations[1].released_at == 30);
  CHECK(table.releases_of_older_memory == 1);
  CHECK(table.peak_bytes == 100);
  REQUIRE(table.timeline.size() == 3);
  CHECK(table.timeline.back().bytes == 0);
}

TEST_CASE("records of one instant keep their order") {
  sample::maker make;
  make.allocate(0, 10, 0x10, 100);
  make.release(0, 10, 0x10, 100);
  make.allocate(0, 10, 0x10, 60);
  memory_table const table = make_memory_table(make.made, call_tree(make.made));
  CHECK(table.allocations.size() == 2);
  CHECK(table.peak_bytes == 100);
  CHECK(table.timeline.size() == 3);
  CHECK(table.timeline.back().bytes == 60);
}

TEST_CASE("the peak is where it is reached first") {
  sample::maker make;
  make.allocate(0, 10, 0x10, 100);
  make.release(0, 20, 0x10, 100);
  make.allocate(0, 30, 0x20, 100);
  CHECK(make_memory_table(make.made, call_tree(make.made)).peak_at == 10);
}

TEST_CASE("sizes beyond any memory") {
  sample::maker make;
  auto const huge = (std::numeric_limits<std::uint64_t>::max)();
  make.allocate(9, (std::numeric_limits<std::int64_t>::min)(), 1, huge);
  make.allocate(9, 0, 2, huge, memory_kind::managed);
  make.allocate(9, 1, 3, huge, static_cast<memory_kind>(77));
  make.release(9, 2, 1, 0);
  make.release(9, 3, 2, 0);
  memory_table const table = make_memory_table(make.made, call_tree(make.made));
  CHECK(table.peak_bytes == (std::numeric_limits<std::int64_t>::max)());
  CHECK(table.timeline.back().bytes == 0);
  CHECK(table.allocations.size() == 3);
  make.allocate(9, 4, 4, 5);  // and what comes after them
  CHECK(call_tree(make.made).rows()[0].peak_bytes == table.peak_bytes);
  CHECK(make_memory_table(make.made, call_tree(make.made)).timeline.back().bytes == 5);
}

TEST_CASE("random programs: the table agrees with the tree and with itself") {
  for (std::uint64_t seed = 1; seed < 40; ++seed) {
    CAPTURE(seed);
    strata::profile const source = sample::random_program(seed, 20).run(200);
    call_tree const tree(source);
    memory_table const table = make_memory_table(source, tree);
    auto const& total = tree.rows()[0].total;
    CHECK(table.allocations.size() == total.allocations);
    CHECK(table.peak_bytes == tree.rows()[0].peak_bytes);
    std::int64_t most = 0;
    std::int64_t last = (std::numeric_limits<std::int64_t>::min)();
    for (strata::memory_point const& point : table.timeline) {
      CHECK(point.time >= last);
      CHECK(point.bytes >= 0);
      last = point.time;
      if (point.bytes > most) {
        most = point.bytes;
        CHECK((most < table.peak_bytes || point.time >= table.peak_at));
      }
    }
    CHECK(most == table.peak_bytes);
    std::int64_t left = 0;
    for (strata::allocation_row const& row : table.allocations) {
      CHECK((row.released_at == -1 || row.released_at >= row.allocated_at));
      if (row.released_at == -1 && row.kind != memory_kind::pinned &&
          row.kind != memory_kind::pageable && row.kind != memory_kind::unknown)
        left += static_cast<std::int64_t>(row.bytes);
    }
    CHECK((table.timeline.empty() ? 0 : table.timeline.back().bytes) == left);
    std::int64_t live = 0;
    std::int64_t held = 0;
    for (strata::memory_purpose const& each : table.purposes) {
      live += each.live;
      held += each.at_peak;
      CHECK(each.at_peak <= each.peak);
    }
    CHECK(live == left);
    CHECK(held == table.peak_bytes);
  }
}

TEST_CASE("memory by purpose: the nearest range that names one") {
  sample::maker make;
  auto const weights = make.node(0, "memory:weights");
  auto const forward = make.node(0, "forward");
  auto const activations = make.node(forward, "memory:activations");
  auto const block = make.node(activations, "block", 3);
  auto const inner = make.node(block, "memory:workspace");
  auto const again = make.node(block, "memory:weights");
  auto const in = [&](std::uint32_t node) { return make.launch(node, 0, 1, api_kind::allocate); };
  make.allocate(in(weights), 10, 0x10, 1000);
  make.allocate(in(forward), 11, 0x20, 7);
  make.allocate(in(block), 12, 0x30, 200);
  make.allocate(in(inner), 13, 0x40, 50);  // the peak
  make.allocate(in(inner), 14, 0x50, 5000, memory_kind::pinned);
  make.release(in(weights), 15, 0x40, 50);  // in another purpose's range
  make.release(in(weights), 16, 0x99, 1);   // never seen
  make.allocate(in(again), 17, 0x60, 20);
  make.allocate(4711, 18, 0x70, 3);  // of no known call
  memory_table const table = make_memory_table(make.made, call_tree(make.made));
  REQUIRE(table.purposes.size() == 4);
  char const* const names[] = {"weights", "activations", "workspace", "other"};
  std::int64_t const allocated[] = {1020, 200, 50, 10};
  std::int64_t const released[] = {0, 0, 50, 0};
  std::int64_t const live[] = {1020, 200, 0, 10};
  std::int64_t const peak[] = {1020, 200, 50, 10};
  std::int64_t const at_peak[] = {1000, 200, 50, 7};
  for (std::size_t i = 0; i < 4; ++i) {
    CAPTURE(i);
    strata::memory_purpose const& of = table.purposes[i];
    CHECK(of.name == names[i]);
    CHECK(of.allocated == allocated[i]);
    CHECK(of.released == released[i]);
    CHECK(of.live == live[i]);
    CHECK(of.peak == peak[i]);
    CHECK(of.at_peak == at_peak[i]);
  }
  CHECK(table.peak_bytes == 1257);
  CHECK(table.purposes[3].allocations == 2);
  CHECK(table.purposes[table.allocations[1].purpose].name == "other");
  CHECK(table.purposes[table.allocations[4].purpose].name == "workspace");
  CHECK(table.steps.empty());
}

TEST_CASE("memory by step: what was allocated, released, live and at most in use") {
  sample::maker make;
  auto const cache = make.node(0, "memory:kv cache");
  auto const in = [&](std::uint32_t node) { return make.launch(node, 0, 1, api_kind::allocate); };
  make.made.has_steps = true;
  make.made.steps.push_back({300, 400, 2, 0});  // in any order
  make.made.steps.push_back({100, 200, 0, 0});
  make.made.steps.push_back({200, 290, 1, 0});
  make.allocate(in(0), 50, 0x10, 1000);  // before the steps
  make.allocate(in(cache), 110, 0x20, 100);
  make.allocate(in(0), 120, 0x30, 40);
  make.release(in(0), 130, 0x30, 40);
  make.release(in(0), 295, 0x20, 100);  // between two steps
  make.allocate(in(cache), 310, 0x40, 8);
  make.release(in(0), 400, 0x10, 1000);
  make.allocate(in(0), 500, 0x50, 5);
  memory_table const table = make_memory_table(make.made, call_tree(make.made));
  REQUIRE(table.steps.size() == 3);
  std::int64_t const wanted[][4] = {{140, 40, 1100, 1140}, {0, 0, 1100, 1100}, {8, 1000, 8, 1008}};
  for (std::uint32_t i = 0; i < 3; ++i) {
    CAPTURE(i);
    CHECK(table.steps[i].step == i);
    CHECK(table.steps[i].allocated == wanted[i][0]);
    CHECK(table.steps[i].released == wanted[i][1]);
    CHECK(table.steps[i].live == wanted[i][2]);
    CHECK(table.steps[i].peak == wanted[i][3]);
  }
  REQUIRE(table.purposes.size() == 2);
  CHECK(table.purposes[0].allocated == 40);  // in steps
  CHECK(table.purposes[0].released == 1040);
  CHECK(table.purposes[0].first_step_allocations == 1);
  CHECK(table.purposes[0].first_step_allocated == 40);
  CHECK(table.purposes[0].first_step_released == 40);  // the 1000 in the last one
  CHECK(table.purposes[0].live == 5);
  CHECK(table.purposes[1].name == "kv cache");
  CHECK(table.purposes[1].allocated == 108);
  CHECK(table.purposes[1].first_step_allocations == 1);
  CHECK(table.purposes[1].first_step_allocated == 100);
  CHECK(table.purposes[1].released == 0);
  CHECK(table.purposes[1].live == 8);
  CHECK(table.purposes[1].at_peak == 100);
}

TEST_CASE("purposes without end, without a name, and nodes that make no tree") {
  sample::maker make;
  std::uint32_t last = 0;
  for (int i = 0; i < 1000; ++i) {
    last = make.node(0, "memory:" + std::to_string(i));
    make.allocate(make.launch(last, 0, 1, api_kind::allocate), i, 0x1000u + unsigned(i), 1);
  }
  auto const unnamed = make.node(last, "memory:");
  make.allocate(make.launch(unnamed, 0, 1, api_kind::allocate), 2000, 1, 1);
  make.made.nodes.push_back({0xffffffffu, 0xffffffffu, strata::no_index, 1, true});
  memory_table table = make_memory_table(make.made, call_tree(make.made));
  CHECK(table.purposes.size() == 257);
  std::int64_t sum = 0;
  for (strata::memory_purpose const& each : table.purposes) sum += each.at_peak;
  CHECK(sum == table.peak_bytes);
  CHECK(table.purposes[0].live == 1001 - 256);
  make.made.memory.resize(1);
  make.made.nodes.resize(2);
  make.made.names[1] = "memory:";
  CHECK(make_memory_table(make.made, call_tree(make.made)).purposes.size() == 2);
}

TEST_CASE("kinds by name") {
  CHECK(std::string(strata::to_string(memory_kind::device)) == "device");
  CHECK(std::string(strata::to_string(memory_kind::managed)) == "managed");
  CHECK(std::string(strata::to_string(memory_kind::pinned)) == "pinned");
  CHECK(std::string(strata::to_string(memory_kind::pageable)) == "pageable");
  CHECK(std::string(strata::to_string(memory_kind::array)) == "array");
  CHECK(std::string(strata::to_string(memory_kind::device_static)) == "device_static");
  CHECK(std::string(strata::to_string(memory_kind::managed_static)) == "managed_static");
  CHECK(std::string(strata::to_string(memory_kind::unknown)) == "unknown");
  CHECK(std::string(strata::to_string(static_cast<memory_kind>(250))) == "unknown");
}

}  // namespace memory_test
