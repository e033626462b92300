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
#include <strata/report/html.hpp>
#include <strata/report/perfetto.hpp>
#include <strata/report/report_input.hpp>
#include <strata/report/trace.hpp>
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

  void write_findings(text_writer& out) const override { strata::write_findings(out, input_); }
  void write_page(text_writer& out) const override { write_html(out, input_); }
  void write_openmetrics(text_writer& out) const override {
    strata::write_openmetrics(out, input_);
  }
  void write_otlp(text_writer& out) const override { strata::write_otlp(out, input_); }
  std::string write_trace(text_writer& out, std::uint64_t most_events) const override {
    trace_options wanted;
    if (most_events != 0) wanted.max_events = most_events;
    return strata::write_trace(out, input_, wanted).problem;
  }
  std::string write_perfetto(text_writer& out) const override {
    return strata::write_perfetto(out, input_).problem;
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
