#include "profile_checks.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "counter_tables.hpp"

namespace test {

std::size_t place_of(strata::vec<strata::range_row> const& rows, std::string_view path) {
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i].path == path) return i;
  FAIL("no row " << std::string(path));
  return 0;
}

strata::range_row const& row_at(strata::call_tree const& tree, std::string_view path) {
  return tree.rows()[place_of(tree.rows(), path)];
}

strata::range_row row(strata::profile const& of, std::string const& path) {
  return row_at(strata::call_tree(of), path);
}

counted::counted(strata::profile const& of, strata::folding mode)
    : tree(of, mode), table(strata::make_counter_table(of, tree)) {}

counted::~counted() = default;

strata::counter_cell const& counted::cell(std::string const& path, std::string const& metric,
                                          strata::counter_scope scope) const {
  std::size_t const column = table.find(metric);
  REQUIRE_MESSAGE(column != strata::counter_table::none, metric);
  return table.at(place_of(tree.rows(), path), column, scope);
}

double counted::total(std::string const& path, std::string const& metric) const {
  return cell(path, metric).value;
}

double counted::self(std::string const& path, std::string const& metric) const {
  return cell(path, metric, strata::counter_scope::self).value;
}

bool counted::empty(std::string const& path, std::string const& metric) const {
  return std::isnan(total(path, metric));
}

std::string counted::note(std::string const& path, std::string const& metric,
                          strata::counter_scope scope) const {
  return table.note(cell(path, metric, scope));
}

std::string counted::work(std::string const& path) const {
  return table.notes[table.work[place_of(tree.rows(), path)]];
}

void nothing_lost(strata::profile const& p, std::uint64_t times) {
  for (std::string const& problem : p.problems) MESSAGE(problem);
  CHECK(p.problems.empty());
  CHECK(p.losses.uncorrelated == 0);
  CHECK(p.losses.timestamps_lost == times);
  CHECK(p.losses.activity_dropped == 0);
  CHECK(p.losses.activity_summed == 0);
  CHECK(p.losses.buffers_refused == 0);
  CHECK(p.losses.launches_dropped == 0);
  CHECK(p.losses.launches_summed == 0);
}

}  // namespace test
