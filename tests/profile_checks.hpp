// What tests look at in a profile: its rows and counted values by path, and what it lost.
#ifndef STRATA_TESTS_PROFILE_CHECKS_HPP
#define STRATA_TESTS_PROFILE_CHECKS_HPP

#include <doctest/doctest.h>
#include <strata/profile.hpp>
#include <strata/tables/call_tree.hpp>
#include <strata/tables/counter_table.hpp>

#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>

namespace test {

/// Where the row with this path is; the test ends where there is none.
inline std::size_t place_of(strata::vec<strata::range_row> const& rows, std::string_view path) {
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i].path == path) return i;
  FAIL("no row " << std::string(path));
  return 0;
}
inline strata::range_row const& row_at(strata::call_tree const& tree, std::string_view path) {
  return tree.rows()[place_of(tree.rows(), path)];
}
inline strata::range_row row(strata::profile const& of, std::string const& path) {
  return row_at(strata::call_tree(of), path);
}

/// What was counted on the GPU.
struct counted {
  strata::call_tree tree;
  strata::counter_table table;

  explicit counted(strata::profile const& of, strata::folding mode = strata::folding::none)
      : tree(of, mode), table(strata::make_counter_table(of, tree)) {}

  strata::counter_cell const& cell(
      std::string const& path, std::string const& metric,
      strata::counter_scope scope = strata::counter_scope::total) const {
    std::size_t const column = table.find(metric);
    REQUIRE_MESSAGE(column != strata::counter_table::none, metric);
    return table.at(place_of(tree.rows(), path), column, scope);
  }
  double total(std::string const& path, std::string const& metric) const {
    return cell(path, metric).value;
  }
  double self(std::string const& path, std::string const& metric) const {
    return cell(path, metric, strata::counter_scope::self).value;
  }
  bool empty(std::string const& path, std::string const& metric) const {
    return std::isnan(total(path, metric));
  }
  std::string note(std::string const& path, std::string const& metric,
                   strata::counter_scope scope = strata::counter_scope::total) const {
    return table.note(cell(path, metric, scope));
  }
  /// Whether the counting steps had the same work there; empty where they had.
  std::string work(std::string const& path) const {
    return table.notes[table.work[place_of(tree.rows(), path)]];
  }
};

inline void nothing_lost(strata::profile const& p) {
  for (std::string const& problem : p.problems) MESSAGE(problem);
  CHECK(p.problems.empty());
  CHECK(p.losses.uncorrelated == 0);
  CHECK(p.losses.timestamps_lost == 0);
  CHECK(p.losses.activity_dropped == 0);
  CHECK(p.losses.activity_folded == 0);
  CHECK(p.losses.buffers_refused == 0);
  CHECK(p.losses.launches_dropped == 0);
  CHECK(p.losses.launches_folded == 0);
}

}  // namespace test

#endif  // STRATA_TESTS_PROFILE_CHECKS_HPP
