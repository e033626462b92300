#include <strata/version.hpp>
#ifndef STRATA_COLLECT_COUNTERS_LAUNCH_SHAPE_HPP
#define STRATA_COLLECT_COUNTERS_LAUNCH_SHAPE_HPP

#include <strata/base/macros.hpp>
#include <strata/collect/cuda/cupti.hpp>

#include <cstdint>
#include <string_view>

STRATA_BEGIN
namespace detail {
namespace cupti {

/// Arguments of cuLaunchKernel and cuLaunchCooperativeKernel, as callbacks get them.
struct launch_kernel_params {
  void* function;
  std::uint32_t grid[3];
  std::uint32_t block[3];
};

/// CUlaunchConfig.
struct launch_config {
  std::uint32_t grid[3];
  std::uint32_t block[3];
};

/// Arguments of cuLaunchKernelEx.
struct launch_kernel_ex_params {
  launch_config const* config;
  void* function;
};

}  // namespace cupti

/// Grid and block of a launch, in blocks and threads; all 0 where the call does not tell.
struct launch_shape {
  std::uint32_t grid[3] = {};
  std::uint32_t block[3] = {};

  /// Of all blocks.
  double threads() const noexcept {
    double product = 1.0;
    for (int i = 0; i < 3; ++i) product *= static_cast<double>(grid[i]) * block[i];
    return product;
  }

  /// Of all blocks, partial warps counted whole.
  double warps() const noexcept {
    double const blocks = static_cast<double>(grid[0]) * grid[1] * grid[2];
    std::uint64_t const block_threads = std::uint64_t{block[0]} * block[1] * block[2];
    return blocks * static_cast<double>((block_threads + 31) / 32);
  }

  /// Reads it from a callback of the driver domain.
  static launch_shape of(cupti::api_data const& call) noexcept {
    launch_shape made;
    if (call.function_name == nullptr || call.function_params == nullptr) return made;
    std::string_view name = call.function_name;
    for (std::string_view const suffix : {"_ptsz", "_ptds"}) {
      if (name.size() > suffix.size() && name.substr(name.size() - suffix.size()) == suffix)
        name.remove_suffix(suffix.size());
    }
    if (name == "cuLaunchKernel" || name == "cuLaunchCooperativeKernel") {
      made.take(*static_cast<cupti::launch_kernel_params const*>(call.function_params));
    } else if (name == "cuLaunchKernelEx") {
      auto const& params =
          *static_cast<cupti::launch_kernel_ex_params const*>(call.function_params);
      if (params.config != nullptr) made.take(*params.config);
    }
    return made;
  }

 private:
  template <class Source>
  void take(Source const& from) noexcept {
    for (int i = 0; i < 3; ++i) {
      grid[i] = from.grid[i];
      block[i] = from.block[i];
    }
  }
};

}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_COUNTERS_LAUNCH_SHAPE_HPP
