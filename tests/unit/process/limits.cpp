// What fills the tables of the process: in a process of its own.
#include "../recording.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <strata/base/containers.hpp>
#include <strata/collect/host/node_table.hpp>
#include <string>

using namespace strata;
using namespace recording_test;

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
  CHECK(p.names.size() <= detail::name_table::most_names + 1);
  CHECK(p.nodes.size() <= detail::node_table::most_nodes);
  CHECK(p.cost.log_bytes <= (8u << 20));
  CHECK(p.losses.names_refused >= million - detail::name_table::most_names);
  CHECK(p.losses.indices_refused == million - detail::node_table::most_indices);
  call_counts const counts = calls_of(p);
  CHECK(counts.at("[other names]") == p.losses.names_refused);
  CHECK(counts.at("name 0000000") == 1);
  CHECK(counts.at("index[0]") == 1);
  CHECK(counts.at("index[*]") == p.losses.indices_refused);
  CHECK(p.ranges.size() + p.losses.ranges_folded == 2u * million);
}

TEST_CASE("refused names are counted call by call") {
  recording all;
  for (std::size_t i = 0; i <= detail::name_table::most_names; ++i) {
    scoped_range const r("more " + std::to_string(i));
  }
  for (int i = 0; i < 10; ++i) {
    STRATA_RANGE("one too many");
  }
  profile const& p = all.profile();
  CHECK(calls_of(p).at("[other names]") == p.losses.names_refused);
  CHECK(p.losses.names_refused >= 11);
}
