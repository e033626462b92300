#include <strata/version.hpp>
#ifndef STRATA_LIVE_ATTRIBUTION_HPP
#define STRATA_LIVE_ATTRIBUTION_HPP

#include <strata/base/macros.hpp>
#include <strata/profile.hpp>

STRATA_BEGIN
namespace live {

/// Gives what `live` sampled to the ranges whose kernels and copies ran meanwhile, as values of the
/// set counter_set::live, and the steps their bytes while the device did their work. Without
/// samples, or without a trace, the profile stays as it was recorded.
/// Cost: that of split_samples.
void attribute_samples(profile& target);

}  // namespace live
STRATA_END

#endif  // STRATA_LIVE_ATTRIBUTION_HPP
