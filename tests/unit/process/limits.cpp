// What fills the tables of the process: in a process of its own.
#include "../../sanitizers.hpp"
#include "../recording.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <strata/base/containers.hpp>
#include <strata/collect/host/node_table.hpp>
#include <strata/collect/host/recorder.hpp>
#include <string>
#include <thread>

using namespace strata;
using namespace recording_test;

TEST_CASE("steps beyond the limit are counted and have a part in the median") {
  constexpr std::size_t beyond = detail::step_log::max_kept / 10;
  recording all;
  for (std::size_t i = 0; i < detail::step_log::max_kept + beyond; ++i) {
    STRATA_STEP();
  }
  profile p = all.profile();
  CHECK(p.steps.size() == detail::step_log::max_kept);
  CHECK(p.steps.back().step == detail::step_log::max_kept - 1);
  REQUIRE(p.summed_steps.count() == beyond);
  CHECK(p.losses.steps_summed == beyond);
  double ns = 0;
  for (step_record const& s : p.steps) ns += static_cast<double>(s.end - s.begin);
  double const mean = ns / static_cast<double>(p.steps.size());
  CHECK(p.summed_steps.mean() > mean / 10);  // the same unit
  CHECK(p.summed_steps.mean() < mean * 10);
}

TEST_CASE("threads beyond the limit are one thread, and lose nothing" *
          doctest::skip(test::address_sanitized)) {  // a thread costs it 20 ms
  constexpr std::size_t count = detail::known_threads::most + 100;
  recording all;
  { STRATA_RANGE("own"); }
  for (std::size_t i = 0; i < count; ++i) {
    std::thread([] { STRATA_RANGE("short"); }).join();
  }
  profile const& p = all.profile();
  CHECK(calls_of(p).at("short") == count);
  CHECK(p.losses.threads_merged == 101);
  REQUIRE(p.threads.size() == detail::known_threads::most + 1);
  CHECK(p.threads.back().name == "[other threads]");
}

TEST_CASE("a session has room for its own nodes and indices, whatever came before") {
  std::int64_t const most = detail::node_table::max_indices;
  auto const fill = [&](std::int64_t from, std::size_t nodes) {
    for (std::size_t i = 0; i < nodes;) {
      STRATA_RANGE("part", static_cast<std::int64_t>(i) / most);
      for (std::int64_t k = 0; k < most && i < nodes; ++k, ++i) {
        STRATA_RANGE("index", from + k);
      }
    }
  };
  options how = quiet();
  how.log_mb = 1;
  session s(how);
  STRATA_RANGE("around", 3);
  REQUIRE(s.start().ok());
  STRATA_RANGE("open");
  range_handle const before = current();
  fill(0, detail::node_table::max_nodes);
  CHECK(s.profile().losses.nodes_refused > 0);

  REQUIRE(s.start().ok());
  fill(0, 5);
  std::thread([&] {
    inherit const place(before);  // a place of the session before
    STRATA_RANGE("worker");
  }).join();
  profile const second = s.profile();
  CHECK(second.losses.nodes_refused == 0);
  CHECK(second.losses.indices_refused == 0);
  CHECK(calls_of(second).at("open/part[0]/index[4]") == 1);
  CHECK(calls_of(second).at("worker") == 1);
  CHECK(second.nodes.size() < 20);

  REQUIRE(s.start().ok());
  fill(0, static_cast<std::size_t>(most));
  fill(7, static_cast<std::size_t>(most));
  CHECK(s.profile().losses.indices_refused == 7);
  REQUIRE(s.start().ok());
  fill(1'000'000, static_cast<std::size_t>(most));
  CHECK(s.profile().losses.indices_refused == 0);
}

// From here on the process's table of names is full.
TEST_CASE("a million names and a million indices") {
  options how = quiet();
  how.log_mb = 8;
  recording all(how);
  constexpr int million = 1'000'000;
  for (int i = 0; i < million; ++i) {
    STRATA_RANGE("index", i);
  }
  char name[16] = "name 0000000";
  for (int i = 0; i < million; ++i) {
    for (int digit = 0, rest = i; digit < 7; ++digit, rest /= 10)
      name[11 - digit] = static_cast<char>('0' + rest % 10);
    scoped_range const r(name);
  }
  profile const& p = all.profile();
  CHECK(p.names.size() <= detail::name_table::max_names + 1);
  CHECK(p.nodes.size() <= detail::node_table::max_nodes);
  // Names, nodes and the sums by node stay: they are counted, not cut.
  std::uint64_t const nodes = p.nodes.size() * std::uint64_t{256};
  std::uint64_t const names = p.names.size() * std::uint64_t{128};
  CHECK(p.cost.log_bytes <= (8u << 20) + nodes + names);
  CHECK(p.losses.names_refused >= million - detail::name_table::max_names);
  CHECK(p.losses.indices_refused == million - detail::node_table::max_indices);
  call_counts const counts = calls_of(p);
  CHECK(counts.at("[other names]") == p.losses.names_refused);
  CHECK(counts.at("name 0000000") == 1);
  CHECK(counts.at("index[0]") == 1);
  CHECK(counts.at("index[*]") == p.losses.indices_refused);
  CHECK(p.ranges.size() + p.losses.ranges_summed == 2u * million);
}

TEST_CASE("refused names are counted call by call") {
  recording all;
  for (std::size_t i = 0; i <= detail::name_table::max_names; ++i) {
    scoped_range const r("more " + std::to_string(i));
  }
  for (int i = 0; i < 10; ++i) {
    STRATA_RANGE("one too many");
  }
  profile const& p = all.profile();
  CHECK(calls_of(p).at("[other names]") == p.losses.names_refused);
  CHECK(p.losses.names_refused >= 11);
}
