#ifndef STRATA_TABLES_CSV_HPP
#define STRATA_TABLES_CSV_HPP

#include <strata/tables/columns.hpp>

STRATA_BEGIN
namespace detail {

/// Whether a cell keeps the character as it is, and needs no quotes for it.
constexpr bool is_plain_in_csv(char c) noexcept {
  auto const code = static_cast<unsigned char>(c);
  return code - 0x2Du < 0x80u - 0x2Du ||
         (code >= 0x20 && code < 0x2C && code != static_cast<unsigned char>('"'));
}

/// One cell of text as in RFC 4180. What a spreadsheet would run as a formula gets a leading ';
/// bytes that are not UTF-8, and NUL, which many readers refuse, become U+FFFD.
inline void write_csv_cell(text_writer& out, std::string_view text) {
  struct escapes {
    text_writer& out;
    static bool needs(char c) noexcept { return c == '"' || c == '\0'; }
    void write(char c) { out.write(c == '"' ? "\"\"" : replacement); }
  };
  bool plain = true;  // most cells are, and one look at each character is enough for them
  for (char const c : text) plain = plain && is_plain_in_csv(c);
  char const first = text.empty() ? ' ' : text.front();
  bool const guarded = first == '=' || first == '+' || first == '-' || first == '@' ||
                       first == '\t' || first == '\r';  // a formula
  if (plain && !guarded) return out.write(text);
  bool const quoted = text.find_first_of(",\"\r\n") != std::string_view::npos;
  if (quoted) out.put('"');
  if (guarded) out.put('\'');
  write_escaped(out, text, escapes{out});
  if (quoted) out.put('"');
}

/// One line of cells; what is absent is an empty cell.
class csv_line final : public cell_sink, uncopied {
 public:
  explicit csv_line(text_writer& out) noexcept : out_(out) {}
  ~csv_line() { out_.put('\n'); }

  void absent(char const*) override { begin(); }
  void text(char const*, std::string_view value) override {
    begin();
    write_csv_cell(out_, value);
  }
  void exact(char const*, std::string_view) override {}
  void number(char const*, double value) override {
    begin();
    if (is_finite(value)) out_.number(value);
  }
  void whole(char const*, std::uint64_t magnitude, bool negative) override {
    begin();
    out_.whole(magnitude, negative);
  }
  /// A function for column_list::for_each_key().
  auto names() noexcept {
    return [this](char const* key) { text(key, key); };
  }

 private:
  void begin() {
    if (!first_) out_.put(',');
    first_ = false;
  }

  text_writer& out_;
  bool first_ = true;
};

/// A line of names, then one a row.
template <class Row>
inline void write_csv(text_writer& out, table_input const& input, vec<Row> const& rows,
                      column_list<Row> columns) {
  columns.for_each_key(csv_line(out).names());
  for (Row const& row : rows) {
    csv_line line(out);
    columns.write(line, input, row);
  }
}

}  // namespace detail

/// ranges.csv: one row a path and index. Units are in the column names; an unknown number is an
/// empty cell; text is quoted as in RFC 4180, lines end in one LF.
inline void write_ranges_csv(detail::text_writer& out, table_input const& input) {
  detail::write_csv(out, input, input.ranges, detail::range_columns);
}

/// kernels.csv: one row a kernel in a range. The mangled names are in profile.json.
inline void write_kernels_csv(detail::text_writer& out, table_input const& input) {
  detail::kernel_cells const kernels(input);
  kernels.for_each_key(detail::csv_line(out).names());
  for (std::size_t i = 0; i < input.kernels.size(); ++i) {
    detail::csv_line line(out);
    kernels.write(line, i);
  }
}

/// memory.csv: one row an allocation. The peak of each range is in ranges.csv.
inline void write_memory_csv(detail::text_writer& out, table_input const& input) {
  detail::write_csv(out, input, input.memory.allocations, detail::allocation_columns);
}

/// spans.csv: one row a start/end range or mark of NVTX.
inline void write_spans_csv(detail::text_writer& out, table_input const& input) {
  detail::write_csv(out, input, input.source.spans, detail::span_columns);
}

/// counters.csv: one row a (path, scope, metric), of one step. `passes` is how many counting steps
/// the metric took; an unknown value is an empty cell with its reason in `note`. A metric that
/// cannot be counted here at all has one row, the root's.
inline void write_counters_csv(detail::text_writer& out, table_input const& input,
                               counter_table const& table) {
  detail::counter_columns.for_each_key(detail::csv_line(out).names());
  for (std::size_t row = 0; row < table.rows && row < input.ranges.size(); ++row) {
    for (counter_scope const scope : {counter_scope::self, counter_scope::total}) {
      for (std::size_t i = 0; i < table.metrics.size(); ++i) {
        bool const first = row == 0 && scope == counter_scope::total;
        if (!table.metrics[i].why_absent.empty() && !first) continue;
        counter_cell const& cell = table.at(row, i, scope);
        detail::csv_line line(out);
        detail::counter_columns.write(
            line, input, {input.ranges[row], scope, table.metrics[i], cell, table.note(cell)});
      }
    }
  }
}

/// counters_wide.csv: one row a path, with everything below it; a column a metric. The reason of an
/// empty cell is in counters.csv.
inline void write_counters_wide_csv(detail::text_writer& out, table_input const& input,
                                    counter_table const& table) {
  auto const place = detail::counter_columns.until("metric");
  {
    detail::csv_line line(out);
    place.for_each_key(line.names());
    for (counter_metric const& metric : table.metrics)
      line.names()(detail::metric_column(metric).c_str());
  }
  for (std::size_t row = 0; row < table.rows && row < input.ranges.size(); ++row) {
    detail::csv_line line(out);
    place.write(line, input, {input.ranges[row], {}, {}, {}, {}});
    for (std::size_t m = 0; m < table.metrics.size(); ++m)
      line.number(nullptr, table.at(row, m, counter_scope::total).value);
  }
}

STRATA_END

#endif  // STRATA_TABLES_CSV_HPP
