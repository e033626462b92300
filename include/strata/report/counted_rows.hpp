#include <strata/version.hpp>
#ifndef STRATA_REPORT_COUNTED_ROWS_HPP
#define STRATA_REPORT_COUNTED_ROWS_HPP

#include <strata/analyse/counter_metric.hpp>
#include <strata/analyse/counter_table.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/report/console_table.hpp>
#include <strata/report/range_table.hpp>

#include <cstddef>

STRATA_BEGIN
namespace detail {

/// The columns of a console table of counters: the range, then one for each of `all`.
template <class Column, std::size_t count>
inline vec<console_table::column> counted_columns(Column const (&all)[count]) {
  vec<console_table::column> made{{"range", 1000, 24, true}};
  for (Column const& each : all) made.push_back({each.header, each.priority});
  return made;
}

/// Calls `add(label, indent, row, scope)` for each row of such a table, as the range table has
/// them. Requires: counters of the rows that `ranges` shows.
template <class Add>
inline void add_counted_rows(range_table const& ranges, counter_table const& counters,
                             console_table& table, Add add) {
  vec<range_row> const& rows = ranges.rows();
  for (std::size_t const i : ranges.shown()) {
    if (i >= counters.rows || !counters.has_value(i, counter_scope::total)) continue;
    add(ranges.label(i), 2 * (std::size_t{rows[i].depth} - 1), i, counter_scope::total);
  }
  if (counters.rows == 0) return;
  if (counters.has_value(0, counter_scope::self))
    add("(outside ranges)", 0, 0, counter_scope::self);
  table.begin_totals();
  if (counters.has_value(0, counter_scope::total)) add("total", 0, 0, counter_scope::total);
}

}  // namespace detail
STRATA_END

#endif  // STRATA_REPORT_COUNTED_ROWS_HPP
