#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_RUN_PERIOD_HPP
#define STRATA_ANALYSE_RUN_PERIOD_HPP

// Where the period of a run goes, in parts that sum to it: from the begin of a step to the begin of
// the next one.

#include <strata/base/macros.hpp>
#include <strata/profile.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

STRATA_BEGIN

class profile_tables;
struct step_analysis;
struct run_tables;

/// What a part of a period is.
enum class period_kind : std::uint8_t {
  range,    ///< kernels of a range itself; without GPU work its own host time
  copy,     ///< copies and fills
  overlap,  ///< less than 0: work that ran at the same time counts once; else not known
  idle,     ///< the GPU is idle, for one cause
  between   ///< from the end of a step to the begin of the next one
};
/// The word of a kind in files.
constexpr std::string_view to_string(period_kind kind) noexcept {
  constexpr std::string_view words[] = {"range", "copy", "overlap", "idle", "between"};
  return words[static_cast<std::size_t>(kind)];
}

/// A part of a mean period. Units: ns and bytes of a step.
struct period_part {
  period_kind kind = period_kind::range;
  std::string name;  ///< the folded path of a range, the direction of copies, the cause
  double ns = 0.0;
  double variance = 0.0;  ///< of `ns` as an estimate, ns squared
  /// The same relative to what all kernels of a step have in common; NaN: not known.
  double variance_beside = std::numeric_limits<double>::quiet_NaN();
  double kernels = std::numeric_limits<double>::quiet_NaN();  ///< or copies; NaN: not known
  double hbm_bytes = std::numeric_limits<double>::quiet_NaN();
  std::string limiter{};  ///< of a range, with the ranges below; empty: not known
};

/// The mean period of a run.
struct run_period {
  double ns = 0.0;             ///< the sum of the parts
  double steps = 0.0;          ///< that it is the mean of; 0: the run has none, and is the period
  bool names_between = false;  ///< whether reports of the run name the time between steps
  double first_ns = 0.0;       ///< of a first step that is apart, and in no part; 0 without one
  double unrecorded_ns = 0.0;  ///< a step without recording; 0: not known, or as long
  bool knows_causes = false;   ///< whether idle time is known by cause, else it is one part
  std::string bound;           ///< what bounds the step, such as "launch-bound"; empty: not known
  std::string limit;           ///< where that is "GPU-bound" and units were counted: with these
  std::vector<period_part> parts;

  /// The part of that kind and name; null where there is none.
  period_part const* find(period_kind kind, std::string_view name) const noexcept {
    for (period_part const& part : parts)
      if (part.kind == kind && part.name == name) return &part;
    return nullptr;
  }
};

namespace detail {
/// The name of all idle time where no cause is known.
inline constexpr std::string_view idle_without_cause = "GPU idle";
}  // namespace detail

/// The period of a recording, step by step where its timeline is whole.
/// Requires: the steps of the tables are found. Cost: O(r log r) for r records, and the findings
/// without their predictions.
run_period make_run_period(profile const& source, profile_tables& tables,
                           step_analysis const& steps, run_tables const& run);

/// The period by the sums of a run: idle time is one part, and calls tell the variance.
run_period make_run_period(run_tables const& run);

STRATA_END

#endif  // STRATA_ANALYSE_RUN_PERIOD_HPP
