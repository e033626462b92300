#include <strata/version.hpp>
#ifndef STRATA_REPORTS_HPP
#define STRATA_REPORTS_HPP

// What is made of a profile at rest: tables, limits, findings, predictions, the page, timelines.
// Ordinary C++17: none of it runs in a callback or in a signal. <strata/implementation.hpp> brings
// it unless STRATA_RECORDER is defined; with the recorder alone the command `strata` makes the
// reports of a recording.

#include <strata/base/macros.hpp>
#include <strata/base/text_writer.hpp>
#include <strata/base/vec.hpp>
#include <strata/base/vocabulary.hpp>
#include <strata/options.hpp>
#include <strata/profile.hpp>
#include <strata/report/findings.hpp>
#include <strata/report/fleet_metrics.hpp>
#include <strata/report/page.hpp>
#include <strata/report/perfetto.hpp>
#include <strata/report/report_input.hpp>
#include <strata/report/trace.hpp>
#include <strata/session/report_formats.hpp>
#include <strata/session/report_side.hpp>
#include <strata/tables/csv.hpp>
#include <strata/tables/json.hpp>
#include <strata/tables/range_table.hpp>
#include <strata/tables/table.hpp>
#include <strata/tables/table_input.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

STRATA_BEGIN
namespace detail {

/// The reports of one profile, for a session.
class session_reports final : public made_reports {
 public:
  explicit session_reports(report_input const& input, trace_options const& how = {})
      : input_(input), how_(how) {}

  std::string write_files(report_format_entry const& format, file_taker take) const override {
    std::string problem;
    if (format.format == report_format::csv) write_csv_files(take);
    if (format.made_file != nullptr)
      take(format.made_file, [&](text_writer& out) { problem = write(format.format, out); });
    if (format.format == report_format::json)
      take("profile.json", [&](text_writer& out) { write_json(out, input_); });
    return problem;
  }

  void write_table(text_writer& out, console_look const& look,
                   vec<std::string> const& problems) const override {
    constexpr std::size_t most_rows = 60;
    strata::write_table(out, input_,
                        {look.width, look.color, most_rows, look.ascii, look.bars, &problems});
  }

  static void make(profile const& source, options const& wanted,
                   callback<void(made_reports const&)> use) {
    profile_tables tables(source);
    tables.input().sort = wanted.sort;
    tables.input().trace_file = timeline_file(wanted);
    report_input input(std::move(tables.input()));
    if (wants_format_of(wanted, format_source::answer)) input.find_answer(tables.folded());
    use(session_reports(input));
  }

 private:
  /// The file of a format that has one. Returns: a sentence where something was left out.
  std::string write(report_format format, text_writer& out) const {
    switch (format) {
      case report_format::json:
        write_findings(out, input_);
        break;
      case report_format::html:
        write_html(out, input_);
        break;
      case report_format::openmetrics:
        write_openmetrics(out, input_);
        break;
      case report_format::trace:
        return write_trace(out, input_, how_).problem;
      case report_format::perfetto:
        return write_perfetto(out, input_).problem;
      case report_format::table:
      case report_format::csv:
      case report_format::recording:
        break;
    }
    return {};
  }

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

  report_input const& input_;
  trace_options how_;  // of trace.json
};

inline constexpr report_side all_reports{&session_reports::make, &range_table::help};

/// Lets sessions make reports. Threads: before main.
inline void install_reports() noexcept { installed_reports() = &all_reports; }

}  // namespace detail
STRATA_END

#endif  // STRATA_REPORTS_HPP
