#include <strata/version.hpp>
#ifndef STRATA_REPORT_COUNTERS_CSV_HPP
#define STRATA_REPORT_COUNTERS_CSV_HPP

#include <strata/analyse/counter_table.hpp>
#include <strata/base/macros.hpp>
#include <strata/report/columns.hpp>
#include <strata/report/csv.hpp>
#include <strata/report/metric_column.hpp>
#include <strata/report/report_input.hpp>
#include <strata/report/text_writer.hpp>

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

STRATA_BEGIN
namespace detail {

inline void write_csv_header(csv_header& header, std::initializer_list<std::string_view> names) {
  for (std::string_view const name : names) header.absent(name);
}

template <class Cells>
inline void counter_path_columns(Cells& cells, report_input const& input, range_row const& row) {
  rank_column(cells, input.source);
  cells.integer("path_id", row.path_id);
  cells.text("path", row.path);
}

}  // namespace detail

/// counters.csv: one row a (path, scope, metric), of one step. `passes` is how many
/// counting steps the metric took; an unknown value is an empty cell with its reason in `note`.
/// The rows of one scope, cut to path, metric and value, are what tools take that read
/// `range,metric,value`.
inline void write_counters_csv(detail::text_writer& out, report_input const& input) {
  detail::csv_header header(out);
  detail::write_csv_header(header, {"rank", "path_id", "path", "metric", "value", "unit", "scope",
                                    "method", "passes", "note"});
  out.put('\n');
  if (input.counters == nullptr) return;
  counter_table const& table = *input.counters;
  for (std::size_t row = 0; row < table.rows && row < input.ranges.size(); ++row) {
    for (counter_scope const scope : {counter_scope::self, counter_scope::total}) {
      for (std::size_t i = 0; i < table.metrics.size(); ++i) {
        counter_metric const& metric = table.metrics[i];
        counter_cell const& cell = table.at(row, i, scope);
        detail::csv_line line(out);
        detail::counter_path_columns(line, input, input.ranges[row]);
        line.text("metric", metric.key);
        line.number("value", cell.value);
        line.text("unit", metric.unit);
        line.text("scope", to_string(scope));
        line.text("method", to_string(metric.method));
        line.integer("passes", metric.passes.size());
        line.text("note", table.note(cell));
        out.put('\n');
      }
    }
  }
}

/// counters_wide.csv: one row a path, with everything below it; a column a metric. Why a cell is
/// empty is told by counters.csv.
inline void write_counters_wide_csv(detail::text_writer& out, report_input const& input) {
  detail::csv_header header(out);
  detail::write_csv_header(header, {"rank", "path_id", "path"});
  if (input.counters != nullptr) {
    for (counter_metric const& metric : input.counters->metrics)
      header.absent(detail::metric_column(metric));
  }
  out.put('\n');
  if (input.counters == nullptr) return;
  counter_table const& table = *input.counters;
  for (std::size_t row = 0; row < table.rows && row < input.ranges.size(); ++row) {
    detail::csv_line line(out);
    detail::counter_path_columns(line, input, input.ranges[row]);
    for (std::size_t i = 0; i < table.metrics.size(); ++i)
      line.number({}, table.at(row, i, counter_scope::total).value);
    out.put('\n');
  }
}

STRATA_END

#endif  // STRATA_REPORT_COUNTERS_CSV_HPP
