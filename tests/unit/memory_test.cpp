#include "sample_profile.hpp"

#include <strata/analyse/memory_table.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string>

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
  }
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
