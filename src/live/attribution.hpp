#include <strata/version.hpp>
#ifndef STRATA_LIVE_ATTRIBUTION_HPP
#define STRATA_LIVE_ATTRIBUTION_HPP

#include <strata/base/macros.hpp>
#include <strata/profile.hpp>
#include <strata/status.hpp>

STRATA_BEGIN
namespace live {

/// Gives what `live` sampled to the ranges whose kernels and copies ran meanwhile, as values of the
/// set counter_set::live, and the steps their bytes while the device did their work. Without
/// samples, or without a trace, the profile stays as it was recorded.
/// Cost: that of split_samples.
void attribute_samples(profile& target);

/// The same of samples without a trace, by a map of the step: the work of a usual step of another
/// recording of the program, which is aligned with the steps that were sampled. Ranges that samples
/// do not tell apart are counted in the one above them. The set's sentences name these, and steps
/// that do not fit. Cost: as map_traffic for some 200,000 kernels, whatever the length of the run.
/// Errors: bad_argument, with what is missing in which recording.
status attribute_by_map(profile& target, profile const& traced);

}  // namespace live
STRATA_END

#endif  // STRATA_LIVE_ATTRIBUTION_HPP
