#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_FINDINGS_HPP
#define STRATA_ANALYSE_FINDINGS_HPP

#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/text.hpp>
#include <strata/profile.hpp>
#include <strata/tables/call_tree.hpp>
#include <strata/tables/counter_table.hpp>
#include <strata/tables/kernel_table.hpp>
#include "roofline.hpp"
#include "steps.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

STRATA_BEGIN
namespace detail {

/// What costs or gains less, in all its ranges together, is not said: a part of a step, chosen, as
/// much as steps differ from day to day, by 0.1 to 1.9 % in 13 of 14 planted programs (H200, CUDA
/// 13.0).
inline constexpr double least_share = 0.01;

}  // namespace detail

/// A value that a finding rests on: where it is in the files.
struct finding_evidence {
  std::string path;         ///< of the range; "" as in its finding
  std::string_view column;  ///< as in the CSV files, or of this analysis
  double value = 0.0;
  std::string_view unit;
  std::string kernel = {};  ///< the kernel it concerns; "": the whole range
};

/// What of its range gets shorter without a finding.
enum class finding_part : std::uint8_t {
  none,           ///< that is not known
  kernels,        ///< its own, by the cost of the finding
  kernels_below,  ///< those of the ranges below it too
  copies,
  launches,
  host_work,
  waits,
  allocations,
  graphs,  ///< what makes and changes CUDA graphs
  order    ///< the times in which streams wait for each other
};
/// Whether it is host work other than launches and waits: without it the host launches sooner.
constexpr bool is_of_host(finding_part part) noexcept {
  return part == finding_part::host_work || part == finding_part::allocations ||
         part == finding_part::graphs;
}
constexpr std::string_view to_string(finding_part part) noexcept {
  constexpr std::string_view names[] = {"none",      "kernels", "kernels",     "copies", "launches",
                                        "host work", "waits",   "allocations", "graphs", "kernels"};
  return names[static_cast<std::size_t>(part)];
}

/// A range that a cause is found in.
struct finding_range {
  std::string path;               ///< folded; "" is outside ranges or the whole step
  std::size_t row = 0;            ///< of the folded tree
  double cost_ns_per_step = 0.0;  ///< the most that could be gained in it
  finding_part part = finding_part::none;
  bool between = false;     ///< steps: no step gets shorter, but the time to the next one
  std::string kernel = {};  ///< the kernel it concerns; "": the whole range
  double launches = 0.0;    ///< the part of its own launches that goes too, from 0 to 1
  /// What may go of its kernels' time at best, in ns of a step; 0 where no more than the cost may.
  double best_ns = 0.0;
  double idle_ns = 0.0;  ///< of copies: the part of the cost in which the device is idle
};

/// What is wrong, in all ranges that have it, and what it costs.
struct finding {
  std::string_view rule;          ///< stable id, as in docs/reference/findings.md
  std::string title;              ///< one sentence, whose amounts are of all ranges or name one
  std::string path;               ///< of that range
  std::size_t row = 0;            ///< of that range
  bool of_step = false;           ///< not of a range, nor of what is outside ranges
  double cost_ns_per_step = 0.0;  ///< the most that could be gained; 0: the numbers are in doubt
  std::vector<finding_range> ranges;  ///< all of them, that range first
  std::vector<finding_evidence> evidence;
  std::string_view cause;   ///< in a few words; "" where it never shortens a step
  std::string_view advice;  ///< what to try
  std::string needs;        ///< keys of STRATA= that would tell more; "" if none would
  finding_part part = finding_part::none;  ///< of the ranges
  /// The period without this cause alone, in all its ranges (what_if.hpp); NaN where that is
  /// unknown. It is the step where no time between steps is known.
  double predicted_step_ns = std::numeric_limits<double>::quiet_NaN();
  /// The same at best, where the program may allow more than is known; NaN elsewhere.
  double best_step_ns = std::numeric_limits<double>::quiet_NaN();
  /// Of one that alone does not shorten the step: the step without it and the first one of the
  /// list; NaN where that is unknown, or no shorter than without the first one alone.
  double with_first_ns = std::numeric_limits<double>::quiet_NaN();
  /// What the step waits for without this cause alone, where it gains less than the cause takes;
  /// none where that is not known.
  finding_part next_part = finding_part::none;
  std::string next_path;  ///< of the range where most of that is; "" outside ranges, or in many

  /// What a step of `step_ns` gains: by the prediction, else the most that it could.
  double gain_ns(double step_ns) const noexcept {
    double const gain = step_ns - predicted_step_ns;
    return detail::is_finite(gain) ? std::max(0.0, gain) : cost_ns_per_step;
  }
  /// What it takes in its ranges.
  double taken_ns() const noexcept {
    double taken = 0.0;
    for (finding_range const& range : ranges) taken += range.cost_ns_per_step;
    return taken;
  }
  /// Whether a step of `step_ns` gains more than the cause takes: what else the GPU waits for
  /// ends with it.
  bool ends_other_waits(double step_ns) const noexcept {
    constexpr double more_than_taken = 1.02;  // times; chosen
    return detail::is_finite(predicted_step_ns) && gain_ns(step_ns) > more_than_taken * taken_ns();
  }
  /// Whether a step of `step_ns` gets shorter without this cause alone. A doubt about the numbers
  /// costs nothing, so it neither shortens nor leaves a step.
  bool shortens_step(double step_ns) const noexcept {
    return cost_ns_per_step > 0.0 && !leaves_step(step_ns);
  }
  /// Whether a step of `step_ns` would be no shorter without this cause alone: it waits for
  /// something else meanwhile.
  bool leaves_step(double step_ns) const noexcept {
    return cost_ns_per_step > 0.0 && gain_ns(step_ns) < detail::least_share * step_ns;
  }
};

/// What would decide a rule that could not.
enum class deciding : std::uint8_t {
  nothing,
  findings,      ///< counters=findings
  hbm,           ///< counters=hbm
  kernels,       ///< kernels= and the name of a range
  every_kernel,  ///< the memory traffic of each kernel
  no_graphs,     ///< counting with CUDA graphs leaves out what the rule needs
  again,         ///< the same: the build that recorded did not count yet what the rule needs
  more_steps,    ///< the same with more steps: the program ended before all passes were counted
  other_gpu      ///< this one does not count what the rule needs
};

/// The counters of deciding::every_kernel.
inline constexpr std::string_view counters_of_every_kernel = "counters=memory,kernels=all";

/// A rule that could not decide.
struct undecided_rule {
  std::string_view rule;
  deciding decider = deciding::nothing;
  std::string range;  ///< the name of the range whose kernels are to be counted apart

  /// The keys of STRATA= that would decide; what else would, in words.
  std::string needs() const { return needs_as(range, ","); }
  /// The same as a word of a shell.
  std::string quoted_needs() const { return needs_as(detail::shell_word(range), ","); }
  /// What to do, as the start of a sentence.
  std::string how_to_decide() const {
    switch (decider) {
      case deciding::no_graphs:
        return "switch CUDA graphs off";
      case deciding::again:
        return "record again with this version, whose counters=findings counts more,";
      case deciding::more_steps:
        return "record more steps with counters=findings";
      case deciding::other_gpu:
        return "record on a GPU that counts what they need";
      default:
        return "record with " + quoted_needs();
    }
  }
  /// Whether other keys of STRATA= decide.
  bool is_by_keys() const noexcept {
    return decider != deciding::no_graphs && decider != deciding::again &&
           decider != deciding::other_gpu;
  }
  /// The same with that name as it is to be written, and with what is between keys.
  std::string needs_as(std::string const& name, char const* between) const {
    switch (decider) {
      case deciding::findings:
        return "counters=findings";
      case deciding::hbm:
        return "counters=hbm";
      case deciding::kernels:
        return std::string("counters=findings") + between + "kernels=" + name;
      case deciding::every_kernel:
        return std::string("counters=memory") + between + "kernels=all";
      case deciding::no_graphs:
        return "switching CUDA graphs off";
      case deciding::again:
        return "recording again";
      case deciding::more_steps:
        return "counters=findings";
      case deciding::other_gpu:
        return "another GPU";
      default:
        return {};
    }
  }
};

/// The causes that gain most, fixed all at once.
struct fixed_together {
  std::vector<std::size_t> findings;  ///< their positions, ascending; fewer than 2: none is said
  double step_ns = std::numeric_limits<double>::quiet_NaN();  ///< the step without them
  /// Positions between theirs: findings that shorten the step alone, but by less together with
  /// them.
  std::vector<std::size_t> passed_over = {};
};

/// What the rules say of a profile.
struct findings_table {
  std::string bound;  ///< one sentence: what bounds the step
  /// One a cause: what gains most first, then doubts, then what does not shorten the step alone.
  std::vector<finding> findings;
  fixed_together together;
  std::vector<undecided_rule> undecided;
};

struct findings_input;

/// The same run with a row for each kernel that was counted one by one (kernel_ranges.hpp).
struct kernels_apart {
  findings_input const& input;
  std::vector<std::size_t> ranges;   ///< of each row, the range's row without kernels apart
  std::vector<std::string> kernels;  ///< by row: its name; "" is a range
};

/// Everything that the rules look at; it refers to its parts.
struct findings_input {
  profile const& source;
  vec<range_row> const& rows;      ///< of the folded tree
  vec<kernel_row> const& kernels;  ///< of the folded tree
  step_analysis const& steps;
  roofline_table const& roofline;
  counter_table const* counters;             ///< of the rows; null where nothing was counted
  call_tree const& tree;                     ///< the folded one
  vec<range_row> const& by_index;            ///< of the tree that is not folded
  kernels_apart const* by_kernel = nullptr;  ///< null where no kernel was counted by itself
};

/// What is wrong in a profile, by its cost; with predictions, what_if.hpp ranks it by its gain.
/// Cost: O(rows x rules), the idle times of the steps, and O(r) for r records.
findings_table make_findings(findings_input const& input);

STRATA_END

#endif  // STRATA_ANALYSE_FINDINGS_HPP
