#include <strata/collect/host/node_table.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace node_table_test {

using namespace strata;
using detail::node_table;

namespace {

constexpr std::uint32_t deeper = 1;
constexpr std::uint32_t other = 2;

}  // namespace

TEST_CASE("a node for each parent, name and index") {
  node_table t(deeper, other);
  std::uint32_t const a = t.child(root_node, 5, no_index);
  std::uint32_t const b = t.child(a, 5, no_index);
  std::uint32_t const b0 = t.child(a, 5, 0);
  std::uint32_t const b1 = t.child(a, 5, -1);
  CHECK(a != b);
  CHECK(b != b0);
  CHECK(b0 != b1);
  CHECK(t.child(root_node, 5, no_index) == a);
  CHECK(t.child(a, 5, 0) == b0);
  auto const nodes = t.nodes();
  REQUIRE(nodes.size() == 5);
  CHECK(nodes[0].depth == 0);
  CHECK(nodes[b0].parent == a);
  CHECK(nodes[b0].name == 5);
  CHECK(nodes[b0].index == 0);
  CHECK(nodes[b0].depth == 2);
  for (std::size_t i = 1; i < nodes.size(); ++i) CHECK(nodes[i].parent < i);
}

TEST_CASE("indices beyond the limit of a name are one node") {
  node_table t(deeper, other);
  bool refused = false;
  for (std::uint32_t i = 0; i < node_table::max_indices; ++i)
    (void)t.child(root_node, 7, i, &refused);
  CHECK_FALSE(refused);
  std::uint32_t const any = t.child(root_node, 7, 1'000'000, &refused);
  CHECK(refused);
  CHECK(t.child(root_node, 7, 1'000'001) == any);
  CHECK(t.child(root_node, 7, 1'000'000) == any);
  CHECK(t.nodes()[any].index == any_index);
  CHECK(t.nodes()[any].name == 7);
  CHECK(t.refused().indices == 3);
  CHECK(t.refused().nodes == 0);
  refused = false;
  std::uint32_t const known = t.child(root_node, 7, 12, &refused);
  std::uint32_t const of_another_name = t.child(root_node, 8, 12, &refused);
  CHECK(t.nodes()[known].index == 12);
  CHECK(t.nodes()[of_another_name].index == 12);
  CHECK_FALSE(refused);
}

TEST_CASE("a full table is given up when the next session begins") {
  node_table t(deeper, other);
  std::uint32_t const kept = t.child(root_node, 7, 12);
  std::uint32_t const handle = t.handle(kept);
  t.begin_session();
  CHECK(t.epoch() == 0);
  CHECK(t.child(root_node, 7, 12) == kept);
  CHECK(t.node_of(handle, 99) == kept);

  for (std::uint32_t i = 0; i <= node_table::max_indices; ++i) (void)t.child(root_node, 7, i);
  CHECK(t.refused().indices == 1);
  t.begin_session();
  CHECK(t.epoch() == 1);
  CHECK(t.nodes().size() == 1);
  CHECK(t.node_of(handle, 99) == 99);
  CHECK(t.handle(root_node) == 0);
  CHECK(t.node_of(0, 99) == root_node);
  std::uint32_t const late = t.child(1000, 8, no_index);  // a parent of the epoch before
  CHECK(t.nodes()[late].parent == root_node);
  CHECK(t.node_of(t.handle(late), 99) == late);
  for (std::uint32_t i = 0; i < node_table::max_indices; ++i)
    (void)t.child(root_node, 7, i + 9'000);
  CHECK(t.refused().indices == 1);
}

TEST_CASE("what is too deep is one node") {
  node_table t(deeper, other);
  std::uint32_t node = root_node;
  for (std::uint32_t i = 0; i < node_table::max_depth; ++i) node = t.child(node, 9, no_index);
  CHECK(t.nodes()[node].depth == node_table::max_depth);
  bool refused = false;
  std::uint32_t const below = t.child(node, 9, no_index, &refused);
  CHECK(refused);
  CHECK(t.nodes()[below].name == deeper);
  CHECK(t.child(node, 10, 4) == below);
  CHECK(t.child(below, 9, no_index) == below);
  CHECK(t.refused().depth == 3);
}

TEST_CASE("nodes beyond the limit are one node below the root") {
  auto const t = std::make_unique<node_table>(deeper, other);
  bool refused = false;
  std::uint32_t parent = root_node;
  std::uint32_t name = 10;
  std::uint64_t calls = 0;
  while (!refused) {
    parent = t->child(root_node, name, no_index, &refused);
    for (std::uint32_t i = 0; i < 4000 && !refused; ++i, ++calls)
      (void)t->child(parent, 11, i, &refused);
    ++name;
    REQUIRE(name < 1000);
  }
  CHECK(t->nodes().size() <= node_table::max_nodes);
  CHECK(t->nodes().size() >= node_table::max_nodes - 2);
  CHECK(t->refused().nodes == 1);
  refused = false;
  std::uint32_t const stand_in = t->child(parent, 12, 5, &refused);
  CHECK(refused);
  CHECK(t->nodes()[stand_in].name == other);
  CHECK(t->nodes()[stand_in].parent == root_node);
  CHECK(t->child(parent, 12, 6) == stand_in);
  CHECK(t->child(parent, 13, no_index) == stand_in);
  CHECK(t->refused().nodes == 4);  // a call counts once
  CHECK(t->refused().indices == 0);
  CHECK(t->child(stand_in, 14, 1) == stand_in);
  CHECK(t->nodes().size() <= node_table::max_nodes);
}

TEST_CASE("threads agree on the nodes") {
  node_table t(deeper, other);
  std::vector<std::vector<std::uint32_t>> found(4);
  std::vector<std::thread> threads;
  for (auto& mine : found) {
    threads.emplace_back([&mine, &t] {
      for (std::uint32_t i = 0; i < 3000; ++i)
        mine.push_back(t.child(t.child(root_node, i % 50, no_index), 3, i % 7));
    });
  }
  for (std::thread& each : threads) each.join();
  for (auto const& mine : found) CHECK(mine == found[0]);
}

TEST_CASE("a thread asks for a node once, however large the tree") {
  node_table t(deeper, other);
  detail::child_memo mine(t);
  std::vector<std::uint32_t> first;
  for (int round = 0; round < 3; ++round) {
    std::size_t at = 0;
    for (std::uint32_t phase = 0; phase < 4; ++phase) {
      std::uint32_t const outer = mine.find({root_node, 3 + phase, no_index});
      for (std::int64_t layer = 0; layer < 64; ++layer) {
        std::uint32_t const block = mine.find({outer, 7, layer});
        for (std::uint32_t name = 10; name < 22; ++name, ++at) {
          std::uint32_t const node = mine.find({block, name, no_index});
          if (round == 0) first.push_back(node);
          if (node != first[at]) CHECK(node == first[at]);
        }
      }
    }
    CHECK(t.asked() == 4 + 4 * 64 + 4 * 64 * 12);
  }
}

TEST_CASE("what a thread remembers is bounded, and right beyond the bound") {
  using map = strata::detail::key_numbers<detail::node_key>;
  map known(map::max_remembered);
  CHECK(known.find({1, 2, 3}) == 0);
  constexpr std::uint32_t count = 2 * map::max_remembered;
  for (std::uint32_t i = 1; i <= count; ++i) {
    known.add({i, 1, i % 7}, i);
    if (known.find({i, 1, i % 7}) != i) CHECK(known.find({i, 1, i % 7}) == i);
  }
  std::uint32_t remembered = 0;
  for (std::uint32_t i = 1; i <= count; ++i) {
    std::uint32_t const number = known.find({i, 1, i % 7});
    if (number != 0 && number != i) CHECK(number == i);
    remembered += number != 0 ? 1 : 0;
  }
  CHECK(remembered > 0);
  CHECK(remembered <= map::max_remembered * 3 / 4);
  CHECK(known.find({count, 1, count % 7 + 1}) == 0);
  known.clear();
  CHECK(known.find({count, 1, count % 7}) == 0);
}

}  // namespace node_table_test
