#include <strata/version.hpp>
#ifndef STRATA_COLLECT_COUNTERS_COUNTING_PLAN_HPP
#define STRATA_COLLECT_COUNTERS_COUNTING_PLAN_HPP

#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/collect/counters/chip_metrics.hpp>
#include <strata/collect/counters/device_profilers.hpp>
#include <strata/collect/counters/metric_config.hpp>
#include <strata/collect/counters/profiler_library.hpp>
#include <strata/collect/cuda/driver.hpp>
#include <strata/profile/metric.hpp>
#include <strata/profile/metric_set.hpp>
#include <strata/status.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

STRATA_BEGIN
namespace detail {

/// What to count, and the profilers that do it.
struct counting_plan {
  device_profilers devices;
  metric_host host;
  metric_set set;
  vec<metric_config> configs;  ///< each counted apart

  /// Whether this configuration counts by instrumented code (SASS), which does not go with CUDA
  /// graphs: their kernels count 0, and one that is captured within a counted range may end in an
  /// illegal address, which would break the program (seen on an H200, CUDA 13.0).
  bool breaks_graphs(std::size_t config) const noexcept {
    for (std::string const& name : configs[config].names())
      if (name.find("__sass_") != std::string::npos) return true;
    return false;
  }
  static status no_sass_beside_graphs() {
    return {
        errc::not_supported,
        "counters: exact instruction counts (flops, instructions) are left out, since they "
        "instrument kernels and this program uses CUDA graphs, which that breaks: switch graphs "
        "off to count them (llama.cpp: GGML_CUDA_DISABLE_GRAPHS=1)"};
  }

  /// Resolves the request (presets, keys, CUPTI names, joined by `+`). `problems` takes what cannot
  /// be counted; the rest is. Errors: unavailable, not_permitted, busy, not_supported: nothing can
  /// be counted.
  status open(std::string_view request, device_profilers::which counted, std::uint32_t session,
              vec<status>& problems) {
    driver_library const& driver = driver_library::get();
    if (!driver.ok()) return {errc::unavailable, driver.problem};
    profiler_library const& library = profiler_library::get();
    if (!library.ok()) return {errc::unavailable, library.problem};
    status done = devices.open(library, counted, session, problems);
    if (!done) return done;
    done = host.open(library, devices.chip(), devices.availability());
    if (!done) return done;
    set = host.resolve(expand_metrics(request));
    for (unknown_metric const& each : set.unknown)
      problems.emplace_back(errc::bad_argument, each.message());
    for (absent_metric const& each : set.absent) {
      problems.emplace_back(errc::not_supported, each.key + " cannot be counted: " + each.reason);
    }
    if (set.metrics.empty()) return {errc::bad_argument, "counters: nothing is left to count"};
    for (metric_group const& group : group_metrics(set, pass_layout::cheap_ranges_apart))
      host.configure_apart(group.counters, configs, problems);
    devices.adapt(configs, problems);
    return configs.empty() ? status{errc::not_supported, "counters: CUPTI refused every group"}
                           : status{};
  }
};

}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_COUNTERS_COUNTING_PLAN_HPP
