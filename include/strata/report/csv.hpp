#include <strata/version.hpp>
#ifndef STRATA_REPORT_CSV_HPP
#define STRATA_REPORT_CSV_HPP

#include <strata/analyse/counter_table.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/text.hpp>
#include <strata/base/vec.hpp>
#include <strata/report/columns.hpp>
#include <strata/report/text_writer.hpp>

#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>

STRATA_BEGIN
namespace detail {

/// The line of column names.
class csv_header {
 public:
  explicit csv_header(text_writer& out) noexcept : out_(out) {}

  void absent(std::string_view key) {
    if (!first_) out_.put(',');
    first_ = false;
    out_.write(key);
  }
  void text(std::string_view key, std::string_view) { absent(key); }
  void exact(std::string_view, std::string_view) {}
  void number(std::string_view key, double) { absent(key); }
  template <class Integer>
  void integer(std::string_view key, Integer) {
    absent(key);
  }

 private:
  text_writer& out_;
  bool first_ = true;
};

/// One line of cells; what is absent is an empty cell.
class csv_line {
 public:
  explicit csv_line(text_writer& out) noexcept : out_(out) {}

  void absent(std::string_view) {
    if (!first_) out_.put(',');
    first_ = false;
  }
  void text(std::string_view key, std::string_view value) {
    absent(key);
    write_csv_cell(out_, value);
  }
  void exact(std::string_view, std::string_view) {}
  void number(std::string_view key, double value) {
    absent(key);
    if (detail::is_finite(value)) out_.number(value);
  }
  template <class Integer>
  void integer(std::string_view key, Integer value) {
    absent(key);
    out_.integer(value);
  }

 private:
  text_writer& out_;
  bool first_ = true;
};

/// A line of names, then one a row. `columns(cells, row)` gives the cells of a row.
template <class Row, class Columns>
inline void write_csv(text_writer& out, vec<Row> const& rows, Columns columns) {
  csv_header header(out);
  columns(header, Row());
  out.put('\n');
  for (Row const& row : rows) {
    csv_line line(out);
    columns(line, row);
    out.put('\n');
  }
}

}  // namespace detail

/// ranges.csv: one row a path and index. Units are in the column names; an unknown number is an
/// empty cell; text is quoted as in RFC 4180, lines end in one LF.
inline void write_ranges_csv(detail::text_writer& out, report_input const& input) {
  detail::write_csv(out, input.ranges, [&](auto& cells, range_row const& row) {
    detail::range_columns(cells, input, row);
  });
}

/// kernels.csv: one row a kernel in a range. The mangled names are in profile.json.
inline void write_kernels_csv(detail::text_writer& out, report_input const& input) {
  detail::write_csv(out, input.kernels, [&](auto& cells, kernel_row const& row) {
    detail::kernel_columns(cells, input, row);
    detail::kernel_counter_columns(cells, input, row);
  });
}

/// memory.csv: one row an allocation. The peak of each range is in ranges.csv.
inline void write_memory_csv(detail::text_writer& out, report_input const& input) {
  detail::write_csv(out, input.memory.allocations, [&](auto& cells, allocation_row const& row) {
    detail::allocation_columns(cells, input, row);
  });
}

/// spans.csv: one row a start/end range or mark of NVTX.
inline void write_spans_csv(detail::text_writer& out, report_input const& input) {
  detail::write_csv(out, input.source.spans, [&](auto& cells, span_record const& span) {
    detail::span_columns(cells, input, span);
  });
}

namespace detail {

template <class Cells>
inline void counter_path_columns(Cells& cells, report_input const& input, range_row const& row) {
  rank_column(cells, input.source);
  cells.integer("path_id", row.path_id);
  cells.text("path", row.path);
}

template <class Cells>
inline void counter_columns(Cells& cells, report_input const& input, range_row const& row,
                            counter_scope scope, counter_metric const& metric,
                            counter_cell const& cell, std::string_view note) {
  counter_path_columns(cells, input, row);
  cells.text("metric", metric.key);
  cells.number("value", cell.value);
  cells.text("unit", metric.unit);
  cells.text("scope", to_string(scope));
  cells.text("method", to_string(metric.method));
  cells.integer("passes", metric.passes.size());
  cells.text("note", note);
}

}  // namespace detail

/// counters.csv: one row a (path, scope, metric), of one step. `passes` is how many
/// counting steps the metric took; an unknown value is an empty cell with its reason in `note`.
/// The rows of one scope, cut to path, metric and value, are what tools take that read
/// `range,metric,value`.
inline void write_counters_csv(detail::text_writer& out, report_input const& input,
                               counter_table const& table) {
  detail::csv_header header(out);
  detail::counter_columns(header, input, range_row(), {}, counter_metric(), {}, {});
  out.put('\n');
  for (std::size_t row = 0; row < table.rows && row < input.ranges.size(); ++row) {
    for (counter_scope const scope : {counter_scope::self, counter_scope::total}) {
      for (std::size_t i = 0; i < table.metrics.size(); ++i) {
        counter_cell const& cell = table.at(row, i, scope);
        detail::csv_line line(out);
        detail::counter_columns(line, input, input.ranges[row], scope, table.metrics[i], cell,
                                table.note(cell));
        out.put('\n');
      }
    }
  }
}

/// counters_wide.csv: one row a path, with everything below it; a column a metric. The reason of an
/// empty cell is in counters.csv.
inline void write_counters_wide_csv(detail::text_writer& out, report_input const& input,
                                    counter_table const& table) {
  detail::csv_header header(out);
  detail::counter_path_columns(header, input, range_row());
  for (counter_metric const& metric : table.metrics) header.absent(detail::metric_column(metric));
  out.put('\n');
  for (std::size_t row = 0; row < table.rows && row < input.ranges.size(); ++row) {
    detail::csv_line line(out);
    detail::counter_path_columns(line, input, input.ranges[row]);
    for (std::size_t i = 0; i < table.metrics.size(); ++i)
      line.number({}, table.at(row, i, counter_scope::total).value);
    out.put('\n');
  }
}

STRATA_END

#endif  // STRATA_REPORT_CSV_HPP
