#include <strata/version.hpp>
#ifndef STRATA_REPORT_MEMORY_IN_MEAN_STEP_HPP
#define STRATA_REPORT_MEMORY_IN_MEAN_STEP_HPP

#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/tables/memory_table.hpp>
#include <strata/tables/steps_summary.hpp>

#include <algorithm>
#include <cstddef>

STRATA_BEGIN
namespace detail {

/// Amounts of all steps, such as allocated bytes, as those of a mean step: without the first step
/// where the mean step is without it.
class memory_in_mean_step {
 public:
  memory_in_mean_step(memory_table const& memory, steps_summary const& steps)
      : has_steps_(!memory.steps.empty()),
        steps_{std::max(1.0, static_cast<double>(memory.steps.size())),
               steps.without_first && memory.steps.size() > 1} {}

  /// How many steps these are; 0 where the program has none.
  std::size_t steps() const noexcept {
    return has_steps_ ? static_cast<std::size_t>(steps_.size()) : 0;
  }

  template <class Amount>
  double per_step(Amount all, Amount first_step) const noexcept {
    return steps_.mean(static_cast<double>(all), static_cast<double>(first_step));
  }

 private:
  bool has_steps_;
  averaged_steps steps_;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_REPORT_MEMORY_IN_MEAN_STEP_HPP
