#include <strata/version.hpp>
#ifndef STRATA_COLLECT_COUNTERS_PROFILER_LIBRARY_HPP
#define STRATA_COLLECT_COUNTERS_PROFILER_LIBRARY_HPP

#include <strata/base/dynamic_library.hpp>
#include <strata/base/macros.hpp>
#include <strata/collect/counters/cupti_profiler.hpp>
#include <strata/collect/counters/profiler_problem.hpp>
#include <strata/collect/cuda/cupti_library.hpp>
#include <strata/collect/cuda/driver.hpp>

#include <cstdint>
#include <string>

STRATA_BEGIN
namespace detail {

/// CUPTI's profiling functions, from the same libcupti as everything else, also without a driver.
///
/// The host API (names of metrics, passes, evaluation) works without a driver and a GPU up to
/// 13.1: 13.2 recurses without end then, whatever is called, and later ones answer with an error.
/// The other functions must not be called unless `initialize` returned success. libcupti opens
/// libnvperf_host.so by its bare name, which fails where libcupti came by a path; so the one beside
/// it is opened before.
/// Cost: 32 MB of address space and 10 to 60 ms at the first get().
/// Threads: get() from any; the members are constant afterwards.
struct profiler_library {
  cupti::profiler::table api;
  std::uint32_t version = 0;  // CUPTI_API_VERSION of the library
  std::string path;           // file that was loaded
  std::string problem;        // why nothing can be counted; empty when it can
  bool host_library = false;  // libnvperf_host.so was found beside libcupti or by the linker

  [[nodiscard]] bool ok() const noexcept { return problem.empty(); }

  /// "<call>: <CUPTI_ERROR_...> (<code>): <cure>".
  [[nodiscard]] std::string describe(const char* call, cupti::result code) const {
    const char* name = nullptr;
    if (get_result_string_ != nullptr) (void)get_result_string_(code, &name);
    std::string text = std::string(call) + ": " + (name != nullptr ? name : "CUPTI error") + " (" +
                       std::to_string(static_cast<int>(code)) + "): ";
    if (code == cupti::result::not_initialized && !host_library) {
      return text + "libnvperf_host.so was not found beside " + path + ": install all of CUPTI";
    }
    return text + profiler_cure(code);
  }

  /// Opens libcupti by the search of cupti_library.
  /// `driver_major` is 0 without a driver: then the newest library is taken.
  void load(int driver_major) {
    cupti_library search;
    dynamic_library library;
    if (!search.open(library, driver_major)) {
      problem = search.problem;
      return;
    }
    path = library.path_of("cuptiGetVersion");
    open_host_library();
    if (const char* missing = bind(library)) {
      problem = path + " lacks " + missing + ": counters need the libcupti of CUDA 12.6U2 or later";
      return;
    }
    if (driver_major == 0 && needs_driver(library)) {
      problem = path +
                " is from CUDA 13.2 or later, which knows no metrics without a driver: set "
                "STRATA_CUPTI to the libcupti of CUDA 12.6U2 to 13.1";
      return;
    }
    cupti::result (*get_version)(std::uint32_t*) = nullptr;
    library.bind("cuptiGetResultString", get_result_string_);
    if (library.bind("cuptiGetVersion", get_version)) (void)get_version(&version);
  }

  STRATA_DETAIL_EXPORT static profiler_library& get() {
    static profiler_library& library = []() -> profiler_library& {
      auto* fresh = new profiler_library;
      driver_library const& driver = driver_library::get();
      fresh->load(driver.ok() ? driver.major() : 0);
      return *fresh;
    }();
    return library;
  }

 private:
  /// Whether it is 13.2 or later, by a function that came then.
  static bool needs_driver(const dynamic_library& library) noexcept {
    void (*newer)() = nullptr;
    return library.bind("cuptiProfilerHostGetSinglePassSets", newer);
  }

  void open_host_library() {
    dynamic_library host;
    std::size_t const slash = path.rfind('/');
    std::string const beside =
        slash == std::string::npos ? std::string{} : path.substr(0, slash + 1);
    host_library =
        host.open((beside + "libnvperf_host.so").c_str()) || host.open("libnvperf_host.so");
  }

  /// Fills the table. Returns the name of a function that must be there and is not, or null.
  const char* bind(const dynamic_library& library) {
    const char* missing = nullptr;
    const auto need = [&](const char* name, auto*& function) {
      if (!library.bind(name, function)) missing = name;
    };
    need("cuptiProfilerInitialize", api.initialize);
    need("cuptiProfilerDeInitialize", api.deinitialize);
    need("cuptiProfilerDeviceSupported", api.device_supported);
    need("cuptiDeviceGetChipName", api.chip_name);
    need("cuptiProfilerGetCounterAvailability", api.counter_availability);
    need("cuptiProfilerHostInitialize", api.host_initialize);
    need("cuptiProfilerHostDeinitialize", api.host_deinitialize);
    need("cuptiProfilerHostGetSupportedChips", api.supported_chips);
    need("cuptiProfilerHostGetBaseMetrics", api.base_metrics);
    need("cuptiProfilerHostGetSubMetrics", api.sub_metrics);
    need("cuptiProfilerHostGetMetricProperties", api.metric_properties);
    need("cuptiProfilerHostConfigAddMetrics", api.add_metrics);
    need("cuptiProfilerHostGetConfigImageSize", api.config_image_size);
    need("cuptiProfilerHostGetConfigImage", api.config_image);
    need("cuptiProfilerHostGetNumOfPasses", api.pass_count);
    need("cuptiProfilerHostEvaluateToGpuValues", api.evaluate);
    need("cuptiRangeProfilerEnable", api.enable);
    need("cuptiRangeProfilerDisable", api.disable);
    need("cuptiRangeProfilerStart", api.start);
    need("cuptiRangeProfilerStop", api.stop);
    need("cuptiRangeProfilerPushRange", api.push_range);
    need("cuptiRangeProfilerPopRange", api.pop_range);
    need("cuptiRangeProfilerSetConfig", api.set_config);
    need("cuptiRangeProfilerDecodeData", api.decode);
    need("cuptiRangeProfilerGetCounterDataSize", api.counter_data_size);
    need("cuptiRangeProfilerCounterDataImageInitialize", api.counter_data_initialize);
    need("cuptiRangeProfilerGetCounterDataInfo", api.counter_data_info);
    need("cuptiRangeProfilerCounterDataGetRangeInfo", api.range_info);
    return missing;
  }

  cupti::result (*get_result_string_)(cupti::result code, const char** text) = nullptr;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_COUNTERS_PROFILER_LIBRARY_HPP
