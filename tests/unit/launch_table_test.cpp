// Calls into the driver by correlation ids that begin anew after 2^32.
#include <strata/collect/host/launch_table.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace launch_table_test {

using namespace strata;

namespace {

constexpr std::int64_t turn = std::int64_t{1} << 38;  // ticks, at least, from an id to the same id

struct calls {
  detail::memory_budget& budget = the_budget();
  detail::launch_table& table = the_table();  // it keeps its memory
  std::uint32_t id = 0;

  explicit calls(std::int64_t bytes) {
    table.clear();
    budget.set(bytes);
  }

  static detail::memory_budget& the_budget() {
    static auto& only = *new detail::memory_budget;
    return only;
  }
  static detail::launch_table& the_table() {
    static auto& only = *new detail::launch_table(the_budget());
    return only;
  }

  void add(std::uint32_t count, std::int64_t at, std::uint32_t node) {
    for (std::uint32_t i = 0; i < count; ++i) {
      driver_call_record made{};
      made.begin = at + i;
      made.end = at + i + 1;
      made.correlation = id++;
      made.node = node;
      made.kind = api_kind::launch;
      CHECK(table.add(made));
    }
  }

  /// The calls of each node that the table has.
  std::vector<std::size_t> by_node(std::size_t nodes) const {
    std::vector<std::size_t> counts(nodes);
    std::uint32_t last = 0;
    bool ascends = true;
    table.for_each([&](driver_call_record const& each, bool, bool) {
      ascends = ascends && each.correlation >= last;
      last = each.correlation;
      ++counts[each.node];
    });
    CHECK(ascends);
    return counts;
  }
};

}  // namespace

TEST_CASE("ids go over the end of their numbers") {
  calls made(64 << 20);
  made.id = 0u - 10'000u;
  made.add(20'000, 0, 0);
  driver_call_record found{};
  for (std::uint32_t id = 0u - 10'000u; id != 10'000u; ++id) {
    REQUIRE(made.table.find(id, found));
    REQUIRE(found.begin == static_cast<std::int64_t>(id + 10'000u));
  }
  CHECK(made.by_node(1)[0] == 20'000);
}

TEST_CASE("calls whose ids come again stay, and work finds the newer ones") {
  constexpr std::uint32_t count = 3 * detail::launch_table::page_launches;
  calls made(64 << 20);
  for (std::uint32_t round = 0; round < 4; ++round) {
    made.id = 0u - count / 2;
    made.add(count, round * turn, round);
    driver_call_record found{};
    REQUIRE(made.table.find(0u - count / 2, found));
    CHECK(found.node == round);
    REQUIRE(made.table.find(count / 2 - 1, found));
    CHECK(found.node == round);
  }
  CHECK(made.by_node(4) == std::vector<std::size_t>(4, count));
  made.table.clear();
  CHECK(made.by_node(1)[0] == 0);
  made.id = 0u - count / 2;
  made.add(count, 9 * turn, 0);
  CHECK(made.by_node(1)[0] == count);
}

TEST_CASE("the driver's calls within one of the runtime have its id: the last one counts") {
  calls made(64 << 20);
  made.id = 17;
  made.add(1, 1000, 0);
  made.id = 17;
  made.add(1, 2000, 1);
  CHECK(made.by_node(2) == std::vector<std::size_t>{0, 1});
}

TEST_CASE("calls of one id may be seconds apart, where modules are loaded in between") {
  constexpr std::int64_t seconds = 10'000'000'000;  // ticks
  calls made(64 << 20);
  made.add(100, 0, 0);
  made.id = 17;
  made.add(1, seconds, 1);
  driver_call_record found{};
  REQUIRE(made.table.find(17, found));
  CHECK(found.node == 1);
  for (std::uint32_t id = 0; id < 100; ++id) CHECK(made.table.find(id, found));
  CHECK(made.by_node(2) == std::vector<std::size_t>{99, 1});
}

TEST_CASE("calls beyond the budget are handed out once, also those whose ids come again") {
  constexpr std::uint32_t pages = 40;
  constexpr std::uint32_t count = pages * detail::launch_table::page_launches;
  calls made(0);
  std::vector<std::size_t> counts(2);
  for (std::uint32_t round = 0; round < 2; ++round) {
    made.id = 0u - count / 2;
    made.add(count, round * turn, round);
    made.table.retire(made.id - 1, [&](driver_call_record const& each) { ++counts[each.node]; });
  }
  CHECK(counts[1] > 0);
  std::vector<std::size_t> const here = made.by_node(2);
  CHECK(counts[0] + here[0] == count);
  CHECK(counts[1] + here[1] == count);
}

TEST_CASE("each call is streamed once, and soon, also where ids begin anew") {
  constexpr std::uint32_t page = detail::launch_table::page_launches;
  for (std::int64_t const bytes : {std::int64_t{0}, std::int64_t{256} << 20}) {
    calls made(bytes);
    made.table.keep_for_stream(true);
    std::vector<std::size_t> counts(3);
    auto const take = [&](detail::launch_table::offered_call const& call) {
      return ++counts[call.record.node] != 0;
    };
    for (std::uint32_t round = 0; round < 2; ++round) {
      made.id = 0u - 100 * page;
      for (std::uint32_t i = 1; i <= 20; ++i) {
        made.add(10 * page, round * turn + i, round);
        made.table.retire(made.id - 1, [](driver_call_record const&) {});
        made.table.stream(false, take);
        REQUIRE(counts[round] == i * 10 * page);
      }
      for (std::uint32_t const far : {0x40000000u, 0x80000000u, 0xc0000000u}) {  // a turn
        made.id = far;
        made.add(1, round * turn + turn / 2, 2);
        made.table.retire(far, [](driver_call_record const&) {});
      }
    }
    made.table.stream(true, take);
    CHECK(counts == std::vector<std::size_t>{200 * page, 200 * page, 6});
    CHECK(made.table.dropped_from_stream() == 0);
    made.table.keep_for_stream(false);
  }
}

TEST_CASE("a table that is drained hands out what for_each does, and is empty") {
  constexpr std::uint32_t count = 3 * detail::launch_table::page_launches;
  for (std::int64_t const bytes : {std::int64_t{0}, std::int64_t{64} << 20}) {
    calls made(bytes);
    for (std::uint32_t round = 0; round < 3; ++round) {
      made.id = 0u - count / 2;
      made.add(count, round * turn, round);
    }
    driver_call_record found{};
    REQUIRE(made.table.find(0u - count / 2, found));
    std::vector<std::size_t> const here = made.by_node(3);
    std::vector<std::size_t> counts(3);
    std::size_t worked = 0;
    made.table.drain([&](driver_call_record const& each, bool has_worked, bool kept) {
      ++counts[each.node];
      worked += has_worked ? 1 : 0;
      CHECK(kept == (bytes != 0));
    });
    CHECK(counts == here);
    CHECK(worked == 1);
    CHECK(made.by_node(3) == std::vector<std::size_t>(3));
    CHECK(made.budget.used() == 0);
    made.id = 0u - count / 2;
    made.add(count, 9 * turn, 1);
    CHECK(made.by_node(3)[1] == count);
  }
}

}  // namespace launch_table_test
