#include <strata/version.hpp>
#ifndef STRATA_COLLECT_COUNTERS_DEVICE_CHIP_HPP
#define STRATA_COLLECT_COUNTERS_DEVICE_CHIP_HPP

#include <strata/base/macros.hpp>
#include <strata/collect/counters/cupti_profiler.hpp>
#include <strata/collect/counters/profiler_library.hpp>
#include <strata/collect/cuda/driver.hpp>

#include <string>

STRATA_BEGIN
namespace detail {

/// CUPTI's name for the chip of this machine's first device, such as GH100; empty without one.
/// Source: cuptiDeviceGetChipName.
inline std::string chip_of_device() {
  if (!driver_library::get().ok() || !profiler_library::get().ok()) return {};
  cupti::profiler::table const& api = profiler_library::get().api;
  cupti::profiler::initialize_params initialize;
  if (call(api.initialize, initialize) != cupti::result::success) return {};
  cupti::profiler::chip_name_params chip;
  if (call(api.chip_name, chip) != cupti::result::success || chip.name == nullptr) return {};
  return chip.name;
}

}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_COUNTERS_DEVICE_CHIP_HPP
