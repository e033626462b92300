// What is made of a finished profile in addition to tables: limits, findings, predictions, the
// page, traces. Ordinary C++17: none of it runs in a callback or in a signal.

#include <strata/base/macros.hpp>
#include <strata/base/text_writer.hpp>
#include <strata/base/vocabulary.hpp>
#include <strata/options.hpp>
#include <strata/profile.hpp>
#include <strata/session/report_side.hpp>
#include <strata/session/table_reports.hpp>
#include <strata/tables/table_input.hpp>
#include "live/attribution.hpp"
#include "report/findings.hpp"
#include "report/fleet_metrics.hpp"
#include "report/gzip_writer.hpp"
#include "report/page.hpp"
#include "report/report_input.hpp"
#include "report/trace.hpp"

#include <string>
#include <utility>

#if STRATA_ENABLED

STRATA_BEGIN
namespace detail {
namespace {

/// The file of the timeline; of two, the one that the help names first. Empty: there is none.
char const* timeline_file(options const& wanted) noexcept {
  for (report_format_entry const& format : report_formats)
    if (wanted.*format.field && format.turn == format_turn::timeline) return format.made_file;
  return "";
}

/// All reports of one profile, for a session.
class session_reports final : public table_reports {
 public:
  explicit session_reports(report_input const& input) : table_reports(input), input_(input) {}

  std::string write_files(report_format_entry const& format, file_taker take) const override {
    std::string problem;
    if (format.format == report_format::html && !has_page_files())
      return "report.html is not written, since this program was built without the files of page/: "
             "write strata_page_files.hpp by page/embed.py to a folder that -I names, and compile "
             "src again";
    if (format.made_file != nullptr)
      take(file_of(format), [&](text_writer& out) { problem = write(format.format, out); });
    (void)table_reports::write_files(format, take);
    return problem;
  }

  static void make(profile const& source, options const& wanted,
                   callback<void(made_reports const&)> use) {
    profile_tables tables(source);
    tables.input().sort = wanted.sort;
    report_input input(std::move(tables.input()));
    input.trace_file =
        wanted.chrome_trace && !gzip_writer::has_zlib() ? plain_trace_file : timeline_file(wanted);
    if (wants_format_of(wanted, format_source::answer)) input.find_answer(tables.folded());
    use(session_reports(input));
  }

 private:
  static constexpr char const* plain_trace_file = "trace.json";

  static char const* file_of(report_format_entry const& format) noexcept {
    bool const is_plain = format.format == report_format::trace && !gzip_writer::has_zlib();
    return is_plain ? plain_trace_file : format.made_file;
  }

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
      case report_format::plain_trace: {
        trace_options how;
        how.compressed = format == report_format::trace && gzip_writer::has_zlib();
        std::string problem = write_trace(out, input_, how).problem;
        if (problem.empty() && format == report_format::trace && !how.compressed)
          problem = gzip_writer::no_zlib;
        return problem;
      }
      case report_format::table:
      case report_format::csv:
      case report_format::recording:
        break;
    }
    return {};
  }

  report_input const& input_;
};

constexpr report_side all_reports{&session_reports::make, true, &live::attribute_samples};

/// Lets the sessions of this program or library make all reports. It runs before main, before or
/// after the implementation registers itself.
[[maybe_unused]] bool const registered = [] {
  installed_reports() = &all_reports;
  return true;
}();

}  // namespace
}  // namespace detail
STRATA_END

/// What a linker option names to keep this unit: `-u strata_reports`.
extern "C" STRATA_DETAIL_EXPORT void strata_reports();
extern "C" STRATA_DETAIL_BODY void strata_reports() {}

#endif  // STRATA_ENABLED
