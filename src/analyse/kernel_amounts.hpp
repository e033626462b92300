#ifndef STRATA_ANALYSE_KERNEL_AMOUNTS_HPP
#define STRATA_ANALYSE_KERNEL_AMOUNTS_HPP

#include <strata/base/macros.hpp>
#include <strata/tables/kernel_table.hpp>
#include <strata/tables/range_rows.hpp>
#include <strata/tables/steps_summary.hpp>

STRATA_BEGIN

/// The launches of a kernel in a mean step. `range`: its row.
inline double launches_in_step(kernel_row const& kernel, range_row const& range,
                               steps_summary const& steps) noexcept {
  return steps.per_step(static_cast<double>(kernel.count),
                        static_cast<double>(kernel.first_step_count), range.step_self_launch_share);
}
/// The sum of their durations. Units: ns.
inline double ns_in_step(kernel_row const& kernel, range_row const& range,
                         steps_summary const& steps) noexcept {
  return steps.per_step(kernel.duration.sum(), static_cast<double>(kernel.first_step_ns),
                        range.step_self_share);
}
/// How much of the GPU its launches in the averaged steps can fill, from 0 to 1.
inline double gpu_fill_in_step(kernel_row const& kernel, steps_summary const& steps) noexcept {
  return steps.without_first ? kernel.later_gpu_utilisation : kernel.gpu_utilisation;
}

STRATA_END

#endif  // STRATA_ANALYSE_KERNEL_AMOUNTS_HPP
