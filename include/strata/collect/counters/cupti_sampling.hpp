#ifndef STRATA_COLLECT_COUNTERS_CUPTI_SAMPLING_HPP
#define STRATA_COLLECT_COUNTERS_CUPTI_SAMPLING_HPP

#include <strata/base/dynamic_library.hpp>
#include <strata/collect/counters/cupti_profiler.hpp>
#include <strata/collect/counters/profiler_call.hpp>

// CUPTI's PM sampling, declared here as cupti_profiler.hpp declares the Range Profiler: the same
// ladder of sizes, and the same test (tests/package/abi_sampling.cpp).

STRATA_BEGIN
namespace detail {
namespace cupti {
namespace sampling {

using profiler::call;

struct sampling_object;  // CUpti_PmSampling_Object

/// What an interval is counted in. By time: not on TU10x and GA100.
enum class trigger : int { system_clock = 0, gpu_time = 1 };
/// Why decoding ended; what it decoded is there whatever the reason.
enum class stop_reason : int { other = 0, image_full = 1, end_of_records = 2 };
/// Which records the hardware's buffer keeps when it is full.
enum class append : int { keep_oldest = 0, keep_latest = 1 };

struct enable_params {
  STRATA_DETAIL_PARAMETERS(32);
  std::size_t device_index = 0;
  sampling_object* object = nullptr;  // out
};

/// Disable, start and stop take nothing but the object.
struct disable_params {
  STRATA_DETAIL_PARAMETERS(24);
  sampling_object* object = nullptr;
};
struct start_params : disable_params {};
struct stop_params : disable_params {};

struct set_config_params {
  STRATA_DETAIL_PARAMETERS(64, 60);
  sampling_object* object = nullptr;
  std::size_t config_size = 0;
  std::uint8_t const* config = nullptr;
  std::size_t hardware_buffer_size = 0;
  std::uint64_t interval = 0;  // ns or cycles, as the trigger says
  trigger by = trigger::gpu_time;
  append keeps = append::keep_oldest;  // 12.8; before that it was the only way
};

/// out_of_memory: the hardware's buffer was full, and records are lost.
struct decode_params {
  STRATA_DETAIL_PARAMETERS(45);
  sampling_object* object = nullptr;
  std::uint8_t* image = nullptr;
  std::size_t size = 0;
  stop_reason reason = stop_reason::other;  // out
  std::uint8_t overflow = 0;                // out
};

struct counter_data_size_params {
  STRATA_DETAIL_PARAMETERS(56);
  sampling_object* object = nullptr;
  char const** names = nullptr;
  std::size_t count = 0;
  std::uint32_t max_samples = 0;
  std::size_t size = 0;  // out
};

struct counter_data_initialize_params {
  STRATA_DETAIL_PARAMETERS(40);
  sampling_object* object = nullptr;
  std::size_t size = 0;
  std::uint8_t* image = nullptr;
};

struct counter_data_info_params {
  STRATA_DETAIL_PARAMETERS(56);
  std::uint8_t const* image = nullptr;
  std::size_t size = 0;
  std::size_t samples = 0;    // out: that have room
  std::size_t populated = 0;  // out: the last one may be incomplete
  std::size_t completed = 0;  // out
};

/// Units: ns of CUPTI's clock, as records of activity have.
struct sample_info_params {
  STRATA_DETAIL_PARAMETERS(64);
  sampling_object* object = nullptr;
  std::uint8_t const* image = nullptr;
  std::size_t size = 0;
  std::size_t sample = 0;
  std::uint64_t begin = 0;  // out
  std::uint64_t end = 0;    // out
};

/// The functions in use, of CUDA 12.6 and later.
struct table {
  result (*enable)(enable_params*) = nullptr;
  result (*disable)(disable_params*) = nullptr;
  result (*set_config)(set_config_params*) = nullptr;
  result (*start)(start_params*) = nullptr;
  result (*stop)(stop_params*) = nullptr;
  result (*decode)(decode_params*) = nullptr;
  result (*counter_data_size)(counter_data_size_params*) = nullptr;
  result (*counter_data_initialize)(counter_data_initialize_params*) = nullptr;
  result (*counter_data_info)(counter_data_info_params*) = nullptr;
  result (*sample_info)(sample_info_params*) = nullptr;

  /// Returns: whether the library has them all.
  bool bind(dynamic_library const& library) noexcept {
    const library_function all[] = {
        {"cuptiPmSamplingEnable", &enable},
        {"cuptiPmSamplingDisable", &disable},
        {"cuptiPmSamplingSetConfig", &set_config},
        {"cuptiPmSamplingStart", &start},
        {"cuptiPmSamplingStop", &stop},
        {"cuptiPmSamplingDecodeData", &decode},
        {"cuptiPmSamplingGetCounterDataSize", &counter_data_size},
        {"cuptiPmSamplingCounterDataImageInitialize", &counter_data_initialize},
        {"cuptiPmSamplingGetCounterDataInfo", &counter_data_info},
        {"cuptiPmSamplingCounterDataGetSampleInfo", &sample_info}};
    bool good = true;
    for (library_function const& function : all) good = library.bind(function) && good;
    return good;
  }
};

}  // namespace sampling
}  // namespace cupti
}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_COUNTERS_CUPTI_SAMPLING_HPP
