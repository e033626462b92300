#include <strata/version.hpp>
#ifndef STRATA_REPORTS_HPP
#define STRATA_REPORTS_HPP

// What is made of a profile at rest: limits, findings, predictions, the page, timelines. Ordinary
// C++17: none of it runs in a callback or in a signal. <strata/implementation.hpp> brings it unless
// STRATA_RECORDER is defined; with the recorder alone the command `strata` makes the reports of a
// recording.

#include <strata/base/macros.hpp>
#include <strata/options.hpp>
#include <strata/report/findings.hpp>
#include <strata/report/fleet_metrics.hpp>
#include <strata/report/page.hpp>
#include <strata/report/perfetto.hpp>
#include <strata/report/report_input.hpp>
#include <strata/report/trace.hpp>
#include <strata/session/report_formats.hpp>
#include <strata/session/report_side.hpp>
#include <strata/tables/table_input.hpp>
#include <strata/tables/text_writer.hpp>

#include <cstdint>
#include <string>
#include <utility>

STRATA_BEGIN
namespace detail {

/// The reports of one profile, for a session.
class session_reports final : public made_reports {
 public:
  explicit session_reports(report_input const& input) : input_(input) {}

  std::string write(report_format format, text_writer& out,
                    std::uint64_t most_events) const override {
    trace_options how;
    if (most_events != 0) how.max_events = most_events;
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
      case report_format::otlp:
        write_otlp(out, input_);
        break;
      case report_format::trace:
        return write_trace(out, input_, how).problem;
      case report_format::perfetto:
        return write_perfetto(out, input_).problem;
      case report_format::table:  // these are made left of the seam
      case report_format::csv:
      case report_format::recording:
        break;
    }
    return {};
  }

  static void make(profile_tables& tables, bool with_answer, report_side::user use) {
    report_input input(std::move(tables.input()));
    if (with_answer) input.find_answer(tables.folded());
    session_reports const reports(input);
    use(input, &reports);
  }

 private:
  report_input const& input_;
};

inline constexpr report_side all_reports{&session_reports::make};

/// Lets sessions make reports. Threads: before main.
inline void install_reports() noexcept { installed_reports() = &all_reports; }

}  // namespace detail
STRATA_END

#endif  // STRATA_REPORTS_HPP
