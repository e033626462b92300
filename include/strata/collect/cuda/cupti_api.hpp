#include <strata/version.hpp>
#ifndef STRATA_COLLECT_CUDA_CUPTI_API_HPP
#define STRATA_COLLECT_CUDA_CUPTI_API_HPP

#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>

#include <strata/collect/cuda/cupti.hpp>
#include <strata/profile/records.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

STRATA_BEGIN
namespace detail {
namespace cupti {

using strata::api_kind;

/// Kind of the driver function with this name; its suffixes (_v2, _ptsz, ...) do not matter.
constexpr api_kind classify_api(std::string_view name) noexcept {
  struct rule {
    std::string_view prefix;
    api_kind kind;
  };
  constexpr rule rules[] = {
      {"cuLaunchKernel", api_kind::launch},  // cuLaunchKernelEx too
      {"cuLaunchCooperativeKernel", api_kind::launch},
      {"cuLaunchGrid", api_kind::launch},
      {"cuGraphLaunch", api_kind::graph_launch},
      {"cuMemcpy", api_kind::copy},
      {"cuMemset", api_kind::set},
      {"cuMemAlloc", api_kind::allocate},  // ...Host, ...Pitch, ...Managed, ...Async, ...FromPool
      {"cuMemHostAlloc", api_kind::allocate},
      {"cuMemFree", api_kind::release},  // ...Host, ...Async
      {"cuCtxSynchronize", api_kind::wait},
      {"cuStreamSynchronize", api_kind::wait},
      {"cuEventSynchronize", api_kind::wait},
      {"cuStreamBeginCapture", api_kind::begin_capture},
      {"cuStreamEndCapture", api_kind::end_capture},
  };
  if (name == "cuLaunch") return api_kind::launch;  // cuLaunchHostFunc launches nothing
  for (const rule& each : rules) {
    if (name.substr(0, each.prefix.size()) == each.prefix) return each.kind;
  }
  return api_kind::none;
}

struct api_call {
  std::uint32_t id;
  api_kind kind;
};

/// The driver functions worth a callback, and what each of them does.
class api_list {
 public:
  /// Asks CUPTI for the name of every driver callback id. Cost: some 900 calls, once a process.
  static api_list read(const table& api) {
    constexpr std::uint32_t last_id = 4096;  // 876 in CUPTI 13.5
    constexpr int patience = 32;             // ids end where this many in a row have no name
    api_list list;
    int nameless = 0;
    for (std::uint32_t id = 1; id <= last_id && nameless < patience; ++id) {
      const char* name = nullptr;
      if (api.get_callback_name(domain::driver_api, id, &name) != result::success ||
          name == nullptr) {
        ++nameless;
        continue;
      }
      nameless = 0;
      if (const api_kind kind = classify_api(name); kind != api_kind::none) list.add(id, kind);
    }
    return list;
  }

  /// Kind of a driver callback id. Cost: one load; fit for a callback.
  [[nodiscard]] api_kind kind_of(std::uint32_t id) const noexcept {
    return id < kinds_.size() ? kinds_[id] : api_kind::none;
  }

  [[nodiscard]] const vec<api_call>& calls() const& noexcept { return calls_; }
  const vec<api_call>& calls() && = delete;
  [[nodiscard]] bool empty() const noexcept { return calls_.empty(); }

 private:
  void add(std::uint32_t id, api_kind kind) {
    kinds_.resize(std::size_t{id} + 1, api_kind::none);
    kinds_[id] = kind;
    calls_.push_back({id, kind});
  }

  vec<api_call> calls_;
  vec<api_kind> kinds_;
};

}  // namespace cupti
}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_CUDA_CUPTI_API_HPP
