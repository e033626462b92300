#include <strata/collect/host/record_log.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

namespace record_log_test {

using namespace strata::detail;

namespace {

struct twin {
  std::uint64_t value;
  std::uint64_t inverse;
};
using twin_log = record_log<twin>;

twin make(std::uint64_t value) { return {value, ~value}; }

/// Records of a log's first blocks: 4, 8, 16, 32, 64, 64, ... KB.
std::uint64_t records_of(int blocks) {
  std::uint64_t records = 0;
  for (std::uint32_t bytes = twin_log::first_block_bytes; blocks > 0; --blocks) {
    records += twin_log::records_in(bytes);
    if (bytes < twin_log::block_bytes) bytes *= 2;
  }
  return records;
}

std::vector<std::uint64_t> all_of(twin_log const& log) {
  std::vector<std::uint64_t> values;
  log.for_each([&](twin const& p) {
    if (p.inverse != ~p.value) FAIL_CHECK("half a record");
    values.push_back(p.value);
  });
  return values;
}

}  // namespace

TEST_CASE("records come back in order, over blocks") {
  memory_budget budget;
  budget.set(1 << 20);
  {
    twin_log log(budget);
    CHECK(budget.used() == 0);
    std::uint64_t const count = records_of(7) + 5;
    for (std::uint64_t i = 0; i < count; ++i) REQUIRE(log.push(make(i)));
    CHECK(log.pushed() == count);
    CHECK(budget.used() == (4 + 8 + 16 + 32 + 4 * 64) * 1024);
    std::vector<std::uint64_t> const values = all_of(log);
    REQUIRE(values.size() == count);
    for (std::uint64_t i = 0; i < count; ++i) {
      if (values[i] != i) CHECK(values[i] == i);
    }
  }
  CHECK(budget.used() == 0);
}

TEST_CASE("the limit of memory") {
  memory_budget budget;
  constexpr std::int64_t limit = (4 + 8 + 16 + 32 + 2 * 64) * 1024;
  budget.set((limit + 100) * 8 / 7);  // an eighth is kept for sums
  twin_log log(budget);
  std::uint64_t count = 0;
  while (log.push(make(count))) ++count;
  CHECK(count == records_of(6));
  CHECK(budget.used() == limit);
  CHECK_FALSE(log.push(make(count)));
  CHECK(log.pushed() == count);
  CHECK(all_of(log).size() == count);

  twin_log other(budget);  // the limit is common
  CHECK_FALSE(other.push(make(0)));
  CHECK_FALSE(other.drop_last([](twin const&) {}));

  std::uint64_t dropped = 0;
  std::uint64_t first = 0;
  CHECK(log.drop_last([&](twin const& p) {
    if (dropped++ == 0) first = p.value;
  }));
  CHECK(dropped == twin_log::records_in(twin_log::block_bytes));
  CHECK(first == records_of(5));
  CHECK(log.pushed() == count - dropped);
  REQUIRE(log.push(make(7)));
  CHECK(all_of(log).size() == records_of(5) + 1);
  CHECK(all_of(log).back() == 7);

  log.clear();
  CHECK(all_of(log).empty());
  CHECK(log.pushed() == 0);
  CHECK(budget.used() == 0);
  CHECK(other.push(make(0)));
}

TEST_CASE("a log that is drained gives its memory back") {
  memory_budget budget;
  budget.set(1 << 20);
  twin_log log(budget);
  std::uint64_t const count = records_of(7) + 5;
  for (std::uint64_t i = 0; i < count; ++i) REQUIRE(log.push(make(i)));
  std::uint64_t next = 0;
  std::int64_t most = 0;
  log.drain([&](twin const& p) {
    if (p.value != next++ || p.inverse != ~p.value) FAIL_CHECK("another record");
    if (p.value + 6 > count) most = budget.used();
  });
  CHECK(next == count);
  CHECK(most == 64 * 1024);  // the last block, which the owner has
  CHECK(budget.used() == 64 * 1024);
  CHECK(log.push(make(count)));
  CHECK(all_of(log).size() == 6);
}

TEST_CASE("a record by its position") {
  memory_budget budget;
  budget.set(1 << 20);
  twin_log log(budget);
  twin_log::cursor near;
  CHECK(log.find(0, near) == nullptr);
  std::uint64_t const count = records_of(3) + 3;
  for (std::uint64_t i = 0; i < count; ++i) REQUIRE(log.push(make(i)));
  near = {};
  for (std::uint64_t const position : {std::uint64_t{0}, count - 1, std::uint64_t{5}, records_of(1),
                                       records_of(1) - 1, records_of(3), records_of(2)}) {
    twin const* const found = log.find(position, near);
    REQUIRE(found != nullptr);
    CHECK(found->value == position);
  }
  CHECK(log.find(count, near) == nullptr);
  CHECK(log.find(count + records_of(5), near) == nullptr);
}

TEST_CASE("memory of a former term is not given back to the next") {
  memory_budget budget;
  budget.set(4 * twin_log::first_block_bytes);
  twin_log log(budget);
  REQUIRE(log.push(make(1)));
  budget.set(2 * twin_log::first_block_bytes);
  CHECK(budget.used() == 0);
  log.clear();
  CHECK(budget.used() == 0);
  REQUIRE(log.push(make(1)));
  CHECK(budget.used() == twin_log::first_block_bytes);
  log.clear();
  CHECK(budget.used() == 0);
}

namespace {

/// Spans of a session, and the threads in which those that ended began and ended.
struct spans {
  tick_source clock;
  name_table names;
  memory_budget budget;
  atomic<std::uint32_t> session{1};
  atomic<std::uint32_t> step{0};
  span_log log{clock, names, budget, session, step};

  spans() { budget.set(8 << 20); }
  strata::profile ended() {
    strata::profile made;
    log.move_to(made);
    return made;
  }
};

}  // namespace

TEST_CASE("spans end in any order, of the same number the youngest first") {
  spans of;
  for (std::uint32_t t = 1; t <= 3; ++t) of.log.start(7, "same", {}, t);
  for (std::uint64_t const id : {std::uint64_t{0}, ~std::uint64_t{0}, std::uint64_t{7} << 40})
    of.log.start(id, "other", {}, 9);
  of.log.end(7, 13);
  of.log.start(8, "in its place", {}, 4);
  of.log.end(7, 12);
  of.log.end(1, 99);
  of.log.end(8, 14);
  of.log.end(7, 11);
  of.log.end(7, 99);
  of.log.end(std::uint64_t{7} << 40, 19);
  strata::profile const made = of.ended();
  CHECK(made.losses.spans_left_open == 2);
  CHECK(made.spans.size() == 5);
  for (strata::span_record const& each : made.spans) {
    CHECK(each.end_thread == each.thread + 10);
    CHECK(each.end >= each.begin);
  }
  of.log.clear();
  of.log.end(~std::uint64_t{0}, 1);
  CHECK(of.ended().spans.empty());
}

TEST_CASE("as many open spans as there may be, the oldest ends first") {
  spans of;
  for (int round = 0; round < 3; ++round) {
    for (std::uint32_t i = 0; i <= span_log::most_open; ++i) of.log.start(i + 1, "a", {}, i);
    for (std::uint32_t i = 0; i <= span_log::most_open; ++i) of.log.end(i + 1, i);
  }
  strata::profile const made = of.ended();
  CHECK(made.spans.size() == 3 * span_log::most_open);
  CHECK(made.losses.spans_dropped == 3);
  CHECK(made.losses.spans_left_open == 0);
  for (strata::span_record const& each : made.spans)
    if (each.thread != each.end_thread) FAIL_CHECK("another span's end");
}

TEST_CASE("one thread writes and others read") {
  memory_budget budget;
  budget.set(64 << 20);
  twin_log log(budget);
  constexpr std::uint64_t count = 200'000;
  std::atomic<bool> done{false};
  std::vector<std::thread> readers;
  for (int r = 0; r < 2; ++r) {
    readers.emplace_back([&] {
      std::size_t seen = 0;
      bool last = false;
      while (!last) {
        last = done;
        std::uint64_t next = 0;
        bool good = true;
        log.for_each([&](twin const& p) {
          good = good && p.value == next && p.inverse == ~p.value;
          ++next;
        });
        if (!good || next < seen) FAIL_CHECK("a reader saw something else than was written");
        seen = next;
      }
      CHECK(seen == count);
    });
  }
  for (std::uint64_t i = 0; i < count; ++i) (void)log.push(make(i));
  done = true;
  for (std::thread& reader : readers) reader.join();
}

}  // namespace record_log_test
