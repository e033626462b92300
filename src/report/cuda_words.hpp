#include <strata/version.hpp>
#ifndef STRATA_REPORT_CUDA_WORDS_HPP
#define STRATA_REPORT_CUDA_WORDS_HPP

#include <strata/base/macros.hpp>
#include <strata/profile.hpp>
#include <strata/profile/records.hpp>

#include <cstdint>
#include <string_view>
#include <unordered_map>

STRATA_BEGIN
namespace detail {

/// No stream: of a wait for a whole context. Source: CUPTI_SYNCHRONIZATION_INVALID_VALUE
inline constexpr std::uint32_t no_stream = 0xffffffffu;

/// The call of the CUDA runtime that a program most often makes for this: readers of traces know
/// the runtime's names, not the driver's.
inline std::string_view call_name(api_kind kind) noexcept {
  switch (kind) {
    case api_kind::launch:
      return "cudaLaunchKernel";
    case api_kind::graph_launch:
      return "cudaGraphLaunch";
    case api_kind::copy:
      return "cudaMemcpyAsync";
    case api_kind::set:
      return "cudaMemsetAsync";
    case api_kind::allocate:
      return "cudaMalloc";
    case api_kind::release:
      return "cudaFree";
    case api_kind::begin_capture:
      return "cudaStreamBeginCapture";
    case api_kind::end_capture:
      return "cudaStreamEndCapture";
    case api_kind::wait:
      return "cudaDeviceSynchronize";
    case api_kind::graph_change:
      return "cudaGraphExecUpdate";
    case api_kind::instantiate:
      return "cudaGraphInstantiate";
    case api_kind::none:
      break;
  }
  return "driver call";
}

/// The same of a wait, where what it waits for is known.
inline std::string_view call_name(synchronization_kind kind) noexcept {
  switch (kind) {
    case synchronization_kind::event:
      return "cudaEventSynchronize";
    case synchronization_kind::stream:
      return "cudaStreamSynchronize";
    case synchronization_kind::stream_wait_event:
      return "cudaStreamWaitEvent";
    case synchronization_kind::context:
    case synchronization_kind::unknown:
      break;
  }
  return call_name(api_kind::wait);
}

/// The calls of a run by these names.
class call_names {
 public:
  explicit call_names(profile const& source) {
    for (synchronization_record const& wait : source.synchronizations)
      waits_[wait.correlation] = wait.kind;
  }

  std::string_view of(driver_call_record const& call) const {
    auto const wait = call.kind == api_kind::wait ? waits_.find(call.correlation) : waits_.end();
    return wait == waits_.end() ? call_name(call.kind) : call_name(wait->second);
  }

 private:
  std::unordered_map<std::uint32_t, synchronization_kind> waits_;  ///< by correlation
};

}  // namespace detail
STRATA_END

#endif  // STRATA_REPORT_CUDA_WORDS_HPP
