#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_WHAT_IF_HPP
#define STRATA_ANALYSE_WHAT_IF_HPP

// What a step would take if a range were faster. Pure functions of a profile; they need no
// implementation of their own.

#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile.hpp>
#include <strata/tables/call_tree.hpp>
#include "findings.hpp"
#include "roofline.hpp"

#include <cstddef>
#include <vector>

STRATA_BEGIN

/// A change of one range: what its parts would take.
/// Units: factors of time from 0 to 1,000, beyond which they count as the nearer end; 1 leaves a
/// part as it is, as NaN does, 0 takes it away.
struct what_if {
  std::size_t row = 0;       ///< of the folded tree; 0 is what is outside of ranges; past it: none
  bool below = false;        ///< the ranges below it too; with row 0 the whole program
  double kernels = 1.0;      ///< on the device
  double copies = 1.0;       ///< copies and fills, with their calls
  double launches = 1.0;     ///< calls that launch, and the host for less than 32 us between them
  double host_work = 1.0;    ///< the program's own code
  double waits = 1.0;        ///< waits of the host for the device
  double allocations = 1.0;  ///< calls that allocate and free
  double graphs = 1.0;       ///< what captures, makes, uploads and changes CUDA graphs
  bool any_order = false;    ///< of any range: no stream waits for another one
  bool joined = false;       ///< few launches do what many did: nothing lies between its kernels
};

/// A range whose own kernels run at a part of their roof; unchanged where no roof is known.
what_if at_roof(roofline_table const& roofs, std::size_t row, double part = 0.9) noexcept;

/// A range whose launches cost the host nothing, as if a CUDA graph launched its kernels, which
/// follow each other more closely there.
what_if without_gaps(std::size_t row) noexcept;

/// The mean step with each of the changes, in their order: the host's calls and the device's work
/// happen again in the order of what waits for what, so a step that the host bounds does not get
/// shorter when its kernels do. Times of a mean step, `steps.mean_ns` where nothing changes.
/// Units: ns; NaN where the timeline is not whole, the program put no work on the device, or the
/// last step (without steps the run) has more than 2^18 calls, kernels and copies.
/// Cost: O(m log s) for m records in s steps; O(n log n) for n <= 2^18 of the last; O(n) a change.
std::vector<double> predict(profile const& source, call_tree const& folded,
                            step_analysis const& steps, std::vector<what_if> const& changes);

/// Fills `predicted_step_ns` and `best_step_ns` of the findings: the period without this cause
/// alone, in all its ranges together. It is no shorter than the cost of the finding says; where the
/// host's own time goes, the cost becomes what the step gains, if that is more. Idle time that
/// recording adds is nobody's gain. Orders them by what the step gains, and by their cost where
/// that is the same. Causes without which the step is no shorter come last. Returns: the step
/// without the first causes together.
fixed_together predict_steps(std::vector<finding>& findings, profile const& source,
                             call_tree const& folded, step_analysis const& steps);

namespace detail {

/// What the fix of a finding would change of one of its ranges at most; false where no time of a
/// part follows from it.
bool fix_of(finding_range const& range, vec<range_row> const& rows, step_analysis const& steps,
            what_if& made) noexcept;

/// The most that a step gains without a cause, in ns: its cost. Where the host's work, its
/// allocations or its making of graphs go, the latency of the launch behind them is hidden too,
/// which the cost leaves to the launch; only the timeline tells how much of it, and no more than
/// what the device idles. Where launches go with kernels, the idle time may go with the cost.
double most_gain(finding const& cause, step_analysis const& steps) noexcept;

}  // namespace detail

STRATA_END

#endif  // STRATA_ANALYSE_WHAT_IF_HPP
