#ifndef STRATA_SESSION_TABLE_REPORTS_HPP
#define STRATA_SESSION_TABLE_REPORTS_HPP

#include <strata/session/report_side.hpp>
#include <strata/tables/csv.hpp>
#include <strata/tables/json.hpp>
#include <strata/tables/table.hpp>

STRATA_BEGIN
namespace detail {

/// The reports that need no analysis: the table on the console, CSV and profile.json. Where the
/// analysis is linked in, it adds the other formats (src/reports.cpp).
class table_reports : public made_reports {
 public:
  explicit table_reports(table_input const& input) : input_(input) {}

  std::string write_files(report_format_entry const& format, file_taker take) const override {
    if (format.format == report_format::csv) write_csv_files(take);
    if (format.format == report_format::json)
      take("profile.json", [&](text_writer& out) { write_json(out, input_); });
    return {};
  }

  void write_table(text_writer& out, console_look const& look,
                   vec<std::string> const& problems) const override {
    constexpr std::size_t max_rows = 60;
    strata::write_table(out, input_, {look.width, look.color, max_rows, look.bars, &problems});
  }

  static void make(profile const& source, options const& wanted,
                   callback<void(made_reports const&)> use) {
    profile_tables tables(source);
    tables.input().sort = wanted.sort;
    if (wants_format_of(wanted, format_source::answer)) tables.input().find_steps(tables.folded());
    use(table_reports(tables.input()));
  }

 private:
  void write_csv_files(file_taker take) const {
    take("ranges.csv", [&](text_writer& out) { write_ranges_csv(out, input_); });
    take("kernels.csv", [&](text_writer& out) { write_kernels_csv(out, input_); });
    take("memory.csv", [&](text_writer& out) { write_memory_csv(out, input_); });
    if (!input_.source.spans.empty())
      take("spans.csv", [&](text_writer& out) { write_spans_csv(out, input_); });
    for (counter_tables const& set : input_.counters) {
      counter_table const& table = set.ranges;
      take((table.name + ".csv").c_str(),
           [&](text_writer& out) { write_counters_csv(out, input_, table); });
      take((table.name + "_wide.csv").c_str(),
           [&](text_writer& out) { write_counters_wide_csv(out, input_, table); });
    }
  }

  table_input const& input_;
};

inline constexpr report_side tables_alone{&table_reports::make, false};

/// Lets sessions make tables, unless the analysis has registered itself. Threads: before main.
inline void install_tables() noexcept {
  if (installed_reports() == nullptr) installed_reports() = &tables_alone;
}

}  // namespace detail
STRATA_END

#endif  // STRATA_SESSION_TABLE_REPORTS_HPP
