#ifndef STRATA_COLLECT_COUNTERS_PROFILER_CALL_HPP
#define STRATA_COLLECT_COUNTERS_PROFILER_CALL_HPP

#include <strata/annotate/process.hpp>
#include <strata/collect/cuda/cupti_library.hpp>

#include <cstdlib>
#include <type_traits>

STRATA_BEGIN
namespace detail {
namespace cupti {
namespace profiler {

/// Whether CUPTI's profiling functions may still be called in this process.
inline cupti_presence& presence() noexcept {
  static cupti_presence only;
  static_assert(std::is_trivially_destructible<cupti_presence>::value, "it outlives all objects");
  return only;
}

/// The first call of a function may make objects, which are destroyed after the exit handlers that
/// are younger: the report comes before, and nothing is called afterwards.
inline bool leave_at_exit() noexcept {
  return std::atexit([] {
           if (in_forked_child() || presence().has_ended()) return;
           void (*const report)() = block().report_at_exit.load();
           if (report != nullptr) report();
           presence().end();
         }) == 0;
}

/// Calls `function` with the newest size that the library knows.
/// Errors: not_implemented where the function is absent; not_initialized after the exit began.
template <class Params>
result call(result (*function)(Params*), Params& params) noexcept {
  if (function == nullptr) return result::not_implemented;
  if (presence().has_ended()) return result::not_initialized;
  result code = result::invalid_parameter;
  for (std::size_t const size : Params::sizes) {
    params.struct_size = size;
    code = function(&params);
    if (code != result::invalid_parameter) break;
  }
  static bool const leaves = leave_at_exit();
  (void)leaves;
  return code;
}

}  // namespace profiler
}  // namespace cupti
}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_COUNTERS_PROFILER_CALL_HPP
