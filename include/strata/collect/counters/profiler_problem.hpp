#include <strata/version.hpp>
#ifndef STRATA_COLLECT_COUNTERS_PROFILER_PROBLEM_HPP
#define STRATA_COLLECT_COUNTERS_PROFILER_PROBLEM_HPP

#include <strata/base/macros.hpp>
#include <strata/collect/cuda/cupti.hpp>
#include <strata/collect/cuda/driver.hpp>
#include <strata/status.hpp>

STRATA_BEGIN
namespace detail {

/// What a CUPTI code means where counters are concerned.
struct profiler_problem {
  cupti::result code;
  errc kind;
  const char* cure;  ///< one sentence without a full stop; null: cupti::cure has it
};

/// The codes that the profiler's functions give. Source: CUptiResult.
inline constexpr profiler_problem profiler_problems[] = {
    {cupti::result::success, errc::ok, nullptr},
    {cupti::result::invalid_parameter, errc::internal,
     "CUPTI refused a value: use the libcupti of CUDA 12.6U2 or later that came with the driver's "
     "CUDA version (STRATA_CUPTI=<path>)"},
    {cupti::result::invalid_device, errc::not_supported, nullptr},
    {cupti::result::invalid_context, errc::unavailable,
     "the thread that drives the steps has no CUDA context: call the CUDA runtime in it before"},
    {cupti::result::invalid_operation, errc::internal,
     "CUPTI's profiler is in another state than expected: is another part of the program "
     "profiling? Run with one profiler at a time"},
    {cupti::result::out_of_memory, errc::limit, nullptr},
    {cupti::result::size_not_sufficient, errc::limit,
     "CUPTI wants a larger image: count fewer ranges or fewer counters at a time"},
    {cupti::result::not_implemented, errc::unavailable,
     "this libcupti lacks the function: counters need the libcupti of CUDA 12.6U2 or later "
     "(STRATA_CUPTI=<path>)"},
    {cupti::result::max_limit_reached, errc::limit,
     "CUPTI has no more room: count fewer ranges or fewer counters at a time"},
    {cupti::result::not_ready, errc::busy,
     "CUPTI is not ready: run without other profilers, and try again"},
    {cupti::result::not_compatible, errc::not_supported, nullptr},
    {cupti::result::not_initialized, errc::unavailable, nullptr},
    {cupti::result::invalid_metric_name, errc::bad_argument,
     "this chip has no such metric: STRATA=list-metrics lists what it has"},
    {cupti::result::disabled, errc::not_supported, nullptr},
    {cupti::result::hardware_busy, errc::busy, nullptr},
    {cupti::result::not_supported, errc::not_supported,
     "the GPU or the driver does not count this, or not in this company: ask for fewer counters at "
     "a time"},
    {cupti::result::virtualized_device_not_supported, errc::not_supported, nullptr},
    {cupti::result::insufficient_privileges, errc::not_permitted, nullptr},
    {cupti::result::old_profiler_api_initialized, errc::busy,
     "the old profiling API (cuptiProfilerBeginSession, events) is in use in this process: stop "
     "its user, and profile again"},
    {cupti::result::legacy_profiler_not_supported, errc::not_supported,
     "this libcupti is too old for the GPU: set STRATA_CUPTI to that of CUDA 13 or later"},
    {cupti::result::multiple_subscribers_not_supported, errc::busy, nullptr},
    {cupti::result::virtualized_device_insufficient_privileges, errc::not_permitted, nullptr},
    {cupti::result::confidential_computing_not_supported, errc::not_supported, nullptr},
    {cupti::result::cmp_device_not_supported, errc::not_supported, nullptr},
    {cupti::result::mig_device_not_supported, errc::not_supported, nullptr},
    {cupti::result::sli_device_not_supported, errc::not_supported, nullptr},
    {cupti::result::wsl_device_not_supported, errc::not_supported, nullptr},
    {cupti::result::invalid_chip_name, errc::bad_argument, nullptr},
    {cupti::result::unknown, errc::internal, nullptr}};

/// The entry of a code; what is not in the table is not supported.
constexpr profiler_problem problem_of(cupti::result code) noexcept {
  for (profiler_problem const& each : profiler_problems) {
    if (each.code == code) return each;
  }
  return {code, errc::not_supported, nullptr};
}

/// Whether a device is shared through MPS, under which CUPTI counts nothing.
inline constexpr auto mps_enabled = static_cast<driver::attribute>(133);

/// Which kind of failure a CUPTI code is.
constexpr errc errc_of(cupti::result code) noexcept { return problem_of(code).kind; }

/// One sentence on what a code of the profiler means for the user and how to cure it.
inline const char* profiler_cure(cupti::result code) noexcept {
  profiler_problem const found = problem_of(code);
  return found.cure != nullptr ? found.cure : cupti::cure(code);
}

}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_COUNTERS_PROFILER_PROBLEM_HPP
