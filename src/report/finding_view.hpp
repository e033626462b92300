#include <strata/version.hpp>
#ifndef STRATA_REPORT_FINDING_VIEW_HPP
#define STRATA_REPORT_FINDING_VIEW_HPP

// One view of a finding: console, page, strata explain, findings.json and OpenMetrics show this.

#include <strata/base/macros.hpp>
#include "../analyse/column_meanings.hpp"
#include "../analyse/findings.hpp"
#include "../analyse/steps.hpp"

#include <string>
#include <string_view>
#include <vector>

STRATA_BEGIN
namespace detail {

/// Values that findings rest on and no file has.
struct evidence_column {
  std::string_view key;
  column_words words;
};
inline constexpr evidence_column evidence_columns[] = {
    {"gpu_idle_ns", {"GPU idle"}},
    {"gpu_idle_between_ns", {"GPU idle between steps"}},
    {"gaps", {"idle gaps", "idle gap"}},
    {"graph_instantiations", {"graphs instantiated", "graph instantiated"}},
    {"captured_launches", {"launches into captures", "launch into a capture"}},
    {"graph_changes", {"changes of graphs", "change of a graph"}},
    {"graph_ns", {"in calls that make, change or upload graphs"}},
    {"pinned_ns", {"from pinned memory"}},
    {"blocks_at_a_time", {"blocks at a time", "block at a time"}},
    {"multiprocessors", {"SMs", "SM"}},
    {"d2d_bytes", {"copied within the GPU"}},
    {"set_bytes", {"filled"}},
    {"shared_bytes", {"shared memory of a block"}},
    {"collective_bytes", {"in collectives"}},
    {"streams", {"streams", "stream"}},
    {"overlap_ns", {"side by side"}},
    {"time_at_roof_ns", {"at its roof"}},
    {"lost", {"records lost", "record lost"}},
    {"own_ns", {"of Strata itself"}},
    {"cpu_ns", {"on a CPU"}},
    {"wall_ns", {"of wall time"}},
    {"voluntary_switches", {"voluntary switches of the CPU", "voluntary switch of the CPU"}},
    {"involuntary_switches", {"involuntary switches of the CPU", "involuntary switch of the CPU"}},
    {"first_third_ns", {"first third of the steps"}},
    {"last_third_ns", {"last third of the steps"}},
    {"first_ns", {"first step"}},
    {"longest_ns", {"longest step"}},
    {"p50_ns", {"median step"}},
    {"slow_steps", {"slow steps", "slow step"}},
    {"chain_kernels", {"kernels of the chain", "kernel of the chain"}},
    {"chain_ns", {"in kernels of the chain"}},
    {"saved_bytes", {"that one kernel would keep on the chip"}},
};

/// A value that a finding rests on, as every output shows it.
struct evidence_view {
  std::string path;
  std::string kernel;  ///< the kernel it concerns; "": the whole range
  std::string label;   ///< "mlp (gelu)": the range's path or "(whole step)", and the kernel
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

finding_view view_of(finding const& found, step_analysis const& steps);
/// In the order of the table.
std::vector<finding_view> view_findings(findings_table const& table, step_analysis const& steps);

/// "Without findings 1 (launch-bound) and 3 (copy-in-step) together, the step would take 1.20 ms
/// (62.1 % shorter).", and why numbers between them are missing; "" where nothing is predicted of
/// several together.
std::string together_text(findings_table const& table, step_analysis const& steps);

}  // namespace detail
STRATA_END

#endif  // STRATA_REPORT_FINDING_VIEW_HPP
