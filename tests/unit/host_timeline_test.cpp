#include "analyse/host_timeline.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>

namespace host_timeline_test {

namespace {

/// Times by node of what was open from `begin` to `end`, in a thread with these ranges.
struct open_ranges {
  strata::profile made;

  void add(std::uint32_t node, std::int64_t begin, std::int64_t end) {
    strata::range_record range{};
    range.node = node;
    range.begin = begin;
    range.end = end;
    made.ranges.push_back(range);
  }
  std::map<std::uint32_t, std::int64_t> from(std::int64_t begin, std::int64_t end) const {
    std::map<std::uint32_t, std::int64_t> sums;
    strata::detail::host_timeline const host(made, 0);
    host.for_each_open(0, begin, end, 99,
                       [&](std::uint32_t node, std::int64_t ns) { sums[node] += ns; });
    return sums;
  }
};

using sums = std::map<std::uint32_t, std::int64_t>;

}  // namespace

TEST_CASE("a gap is of the range around it, however many were in that before") {
  open_ranges p;
  for (std::int64_t i = 0; i < 300; ++i) p.add(2, 10 + i * 10, 15 + i * 10);
  p.add(1, 0, 100'000);  // ranges are recorded as they end
  CHECK(p.from(5'000, 20'000) == sums{{1, 15'000}});
  CHECK(p.from(2'990, 3'020) == sums{{1, 20}, {2, 10}});
  CHECK(p.from(99'000, 101'000) == sums{{0, 1'000}, {1, 1'000}});
}

TEST_CASE("of ranges that begin together the shorter one is within") {
  open_ranges p;
  p.add(2, 0, 50);
  p.add(1, 0, 100);
  CHECK(p.from(0, 120) == sums{{0, 20}, {1, 50}, {2, 50}});
  CHECK(p.from(40, 60) == sums{{1, 10}, {2, 10}});
}

TEST_CASE("the innermost open range is found at any depth") {
  // 500 nested ones, of which the inner half end one by one; each other one ends at once with that
  // around it.
  open_ranges p;
  constexpr std::uint32_t depth = 500;
  auto const end_of = [](std::uint32_t level) {
    return std::int64_t{1'000} + 10 * (depth - level + level % 2);
  };
  for (std::uint32_t level = depth; level > 0; --level) p.add(level, level, end_of(level));
  for (std::int64_t time = 600; time < 6'100; time += 7) {
    std::uint32_t innermost = depth;
    while (innermost > 0 && end_of(innermost) <= time) --innermost;
    CAPTURE(time);
    CHECK(p.from(time, time + 1) == sums{{innermost, 1}});
  }
  std::map<std::uint32_t, std::int64_t> expected;
  std::int64_t now = 900;
  for (std::uint32_t level = depth; level > 0; --level) {
    if (end_of(level) > now) expected[level] = end_of(level) - now;
    now = std::max(now, end_of(level));
  }
  expected[0] = 7'000 - now;
  CHECK(p.from(900, 7'000) == expected);
}

TEST_CASE("as many first launches of graphs as are instantiated upload them") {
  using strata::api_kind;
  strata::profile made;
  auto const call = [&made](api_kind kind, std::uint8_t flags = 0, std::int64_t ns = 30'000) {
    strata::driver_call_record record{};
    record.begin = made.launches.empty() ? 0 : made.launches.back().end;
    record.end = record.begin + ns;
    record.kind = kind;
    record.flags = flags;
    made.launches.push_back(record);
  };
  call(api_kind::instantiate);
  call(api_kind::instantiate);
  call(api_kind::graph_launch, strata::driver_call_record::in_capture);  // a child, no first launch
  for (int i = 0; i < 3; ++i) call(api_kind::graph_launch);
  strata::detail::host_timeline const host(made, 0);
  for (std::size_t i = 0; i < made.launches.size(); ++i) {
    CAPTURE(i);
    CHECK(host.is_of_graphs(made.launches[i]) == (i < 5));
  }
  made.launches.clear();
  call(api_kind::instantiate);
  call(api_kind::graph_launch, 0, 19'000);  // too short for an upload
  call(api_kind::graph_launch);
  strata::detail::host_timeline const other(made, 0);
  CHECK_FALSE(other.is_of_graphs(made.launches[1]));
  CHECK_FALSE(other.is_of_graphs(made.launches[2]));
}

}  // namespace host_timeline_test
