#include <strata/version.hpp>
#ifndef STRATA_REPORT_FINDING_VIEW_HPP
#define STRATA_REPORT_FINDING_VIEW_HPP

// One view of a finding: console, page, strata explain, findings.json and OpenMetrics show this.

#include <strata/base/macros.hpp>
#include <strata/tables/steps_summary.hpp>
#include "../analyse/findings.hpp"

#include <string>
#include <string_view>
#include <vector>

STRATA_BEGIN
namespace detail {

/// A value that a finding rests on, as every output shows it.
struct evidence_view {
  std::string path;
  std::string label;  ///< of the range: its path, "(whole step)", "(outside ranges)"
  std::string_view column;
  double value = 0.0;
  std::string_view unit;
  std::string text;  ///< "GPU idle 9.34 ms", "1,468 idle gaps"
};

/// A finding as every output shows it. It refers to the finding.
struct finding_view {
  finding const* found = nullptr;
  std::string place;  ///< "block[*]/mlp/up and 4 more ranges"; "" is the whole step
  std::string title;  ///< what is wrong, one sentence without its full stop
  std::string
      gain;  ///< "1.20 ms a step (13.9 %)", "up to 1.20 ms a step"; "" where it gains nothing
  std::string prediction;     ///< the step without this cause, a sentence; "" of a doubt
  std::string next;           ///< what to record to learn more; "" where nothing would tell
  double cost_of_step = 0.0;  ///< a fraction
  double gain_ns = 0.0;
  bool shortens_step = false;
  bool leaves_step = false;
  bool ends_other_waits = false;
  std::vector<evidence_view> evidence;

  /// Rule, place, title and prediction in sentences.
  std::string text() const;
};

finding_view view_of(finding const& found, steps_summary const& steps);
/// In the order of the table.
std::vector<finding_view> view_findings(findings_table const& table, steps_summary const& steps);

/// "Without findings 1 to 3 together, the step would take 1.20 ms (62.1 % shorter)."; "" where
/// nothing is predicted of several together.
std::string together_text(fixed_together const& together, steps_summary const& steps);

}  // namespace detail
STRATA_END

#endif  // STRATA_REPORT_FINDING_VIEW_HPP
