#include <strata/version.hpp>
#ifndef STRATA_LIVE_DRIFT_HPP
#define STRATA_LIVE_DRIFT_HPP

// What changes while a program runs: the steps of a recording, and the ranges of a map of the step.

#include <strata/base/macros.hpp>
#include "step_map.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

STRATA_BEGIN
namespace live {

/// From one value of a series on, all are another part of those before.
struct lasting_change {
  std::size_t at;     ///< the first that is so
  double part;        ///< 0.1: a tenth more
  double deviations;  ///< how many standard deviations it is
};

/// The largest lasting change of a series of values above 0 with their standard deviations. None
/// below `least_part`, or that chance brings: in 10,000 series of 128 values of noise none was
/// found. Cost: linear.
std::optional<lasting_change> find_lasting_change(std::vector<double> const& values,
                                                  std::vector<double> const& deviations);

/// A range that changed. An owner of the map is a range, or several with one name.
struct range_drift {
  std::uint32_t owner;
  bool of_time;       ///< else of the bytes
  std::size_t since;  ///< a step, as `steps` counts; 0: it is another than in the map in all steps
  double part;        ///< 0.1: a tenth more than before, or than in the map
};

/// Lays the map over blocks of steps, each with a length and an amount of bytes for each owner,
/// so that it explains the samples best, and looks for lasting changes. Owners that samples do not
/// tell apart from others have wide intervals, and are not named. The largest drift comes first.
/// Cost: O(blocks x (work + 100 x samples of 16 steps)), of 128 blocks
/// and 48 samples a step at most.
std::vector<range_drift> find_drift(step_map const& map, sampled_steps const& steps,
                                    samples const& given);

}  // namespace live
STRATA_END

#endif  // STRATA_LIVE_DRIFT_HPP
