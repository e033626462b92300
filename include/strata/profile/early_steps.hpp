#ifndef STRATA_PROFILE_EARLY_STEPS_HPP
#define STRATA_PROFILE_EARLY_STEPS_HPP

#include <strata/profile.hpp>

STRATA_BEGIN
namespace detail {

/// The first step that put work on a device; no_step if none did, or not all calls are known.
inline std::uint32_t first_working_step(profile const& data) noexcept {
  std::uint32_t first = no_step;
  if (!data.traced || data.losses.launches_dropped != 0) return first;
  for (driver_call_record const& launch : data.launches)
    if (launch.causes_work() && is_work(launch.kind)) first = smaller(first, launch.step);
  return first;
}

/// Takes the program's first steps, before the first one that put work on a device, out of its
/// steps: it marked what it does on the host alone, and no mean step is like these. What was in
/// them is outside of steps then. All stay where no step that ended worked on a device, and where
/// the program's step 0 was not recorded: later on a step without work is as good as another.
inline void set_early_steps_apart(profile& data) {
  std::uint32_t const first = first_working_step(data);
  if (first == no_step) return;
  vec<step_record> early;
  vec<step_record> steps;
  bool has_first = false;
  for (step_record const& step : data.steps) {
    (step.step < first ? early : steps).push_back(step);
    has_first = has_first || step.step == 0;
  }
  if (early.empty() || steps.empty() || !has_first) return;
  data.early_steps.insert(data.early_steps.end(), early.begin(), early.end());
  data.steps = std::move(steps);
  auto const leave = [first](auto& records) {
    for (auto& record : records)
      if (record.step < first) record.step = no_step;
  };
  leave(data.ranges);
  leave(data.launches);
  leave(data.spans);
}

}  // namespace detail
STRATA_END

#endif  // STRATA_PROFILE_EARLY_STEPS_HPP
