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

/// The most significant lasting change of a series of values above 0, given their standard
/// deviations (empty: from the series itself). None below 5 % or 6 standard deviations. Cost:
/// linear.
std::optional<lasting_change> find_lasting_change(std::vector<double> const& values,
                                                  std::vector<double> const& deviations);

/// A range that changed. An owner of the map is a range, or several with one name.
struct range_drift {
  std::uint32_t owner;
  bool of_time;       ///< else of the bytes
  std::size_t since;  ///< the first step of it, as `steps` counts
  double part;        ///< 0.1: a tenth more than before
};

/// Fits the map to blocks of 16 steps, with a factor of length and one of bytes for each owner, and
/// looks for lasting changes of these factors; the largest comes first. Owners that the samples do
/// not tell apart are not named. Cost: O(blocks x (work + 100 x samples of 16 steps)), of at most
/// 128 blocks and 48 samples a step.
std::vector<range_drift> find_drift(step_map const& map, sampled_steps const& steps,
                                    samples const& all);

}  // namespace live
STRATA_END

#endif  // STRATA_LIVE_DRIFT_HPP
