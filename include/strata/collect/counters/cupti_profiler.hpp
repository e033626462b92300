#ifndef STRATA_COLLECT_COUNTERS_CUPTI_PROFILER_HPP
#define STRATA_COLLECT_COUNTERS_CUPTI_PROFILER_HPP

#include <strata/collect/cuda/cupti.hpp>

// The Profiler Host API and the Range Profiler, declared here so that no CUPTI header is needed.
// tests/package/abi_profiler.cpp holds every size, offset and value against the headers of CUPTI
// 12.6 to 13.5. Each parameter structure begins with its size, which CUPTI compares for equality
// with the sizes that it knows: `sizes` lists them, newest first (end of the last field, not
// sizeof), and call() goes down that ladder.

STRATA_BEGIN
namespace detail {
namespace cupti {
namespace profiler {

enum class metric_type : int { counter = 0, ratio = 1, throughput = 2 };
enum class metric_scope : int { context = 0, device = 1, unknown = 2 };  // 13.1 and later
enum class profiler_type : int { range = 0, pm_sampling = 1 };
enum class range_mode : int { automatic = 1, user = 2 };                  // CUpti_ProfilerRange
enum class replay_mode : int { application = 1, kernel = 2, user = 3 };   // ...ReplayMode
enum class api_kind : int { range = 0, pc_sampling, sass, pm_sampling };  // CUpti_Profiler_API
enum class support : int { unknown = 0, no, disabled, yes, limited };     // limited: 13.3
enum class cache_control : int { none = 0, invalidate_all = 1, l2 = 2 };  // 13.4 and later

struct host_object;   // CUpti_Profiler_Host_Object
struct range_object;  // CUpti_RangeProfiler_Object

// How each structure of parameters begins.
#define STRATA_DETAIL_PARAMETERS(...)                   \
  static constexpr std::size_t sizes[] = {__VA_ARGS__}; \
  std::size_t struct_size = 0;                          \
  void* reserved = nullptr

// ---- the process and the device ----

struct initialize_params {
  STRATA_DETAIL_PARAMETERS(16);
};

struct device_supported_params {
  STRATA_DETAIL_PARAMETERS(56, 52);
  int device = 0;
  support supported = support::unknown;  // out, as all below but `api`
  support architecture = support::unknown;
  support sli = support::unknown;
  support virtual_gpu = support::unknown;
  support confidential_computing = support::unknown;
  support cmp = support::unknown;
  support wsl = support::unknown;
  api_kind api = api_kind::range;
  support sku = support::unknown;  // 13.1
};

struct chip_name_params {
  STRATA_DETAIL_PARAMETERS(32);
  std::size_t device_index = 0;
  char const* name = nullptr;  // out
};

/// First with a null image, which gives the size; then with one.
struct counter_availability_params {
  STRATA_DETAIL_PARAMETERS(41, 40);
  context_handle context = nullptr;
  std::size_t image_size = 0;
  std::uint8_t* image = nullptr;
  std::uint8_t device_wide_counters = 0;  // 13.1: also the links' counters
};

/// CUpti_PmSampling_GetCounterAvailability_Params: the same of a whole device.
struct device_availability_params {
  STRATA_DETAIL_PARAMETERS(40);
  std::size_t device_index = 0;
  std::size_t image_size = 0;
  std::uint8_t* image = nullptr;
};

// ---- the host API: works without a driver ----

struct host_initialize_params {
  STRATA_DETAIL_PARAMETERS(56, 48);
  profiler_type type = profiler_type::range;
  char const* chip = nullptr;
  std::uint8_t const* availability = nullptr;
  host_object* object = nullptr;          // out
  char const* single_pass_set = nullptr;  // 13.2; PM sampling only
};

struct host_deinitialize_params {
  STRATA_DETAIL_PARAMETERS(24);
  host_object* object = nullptr;
};

struct supported_chips_params {
  STRATA_DETAIL_PARAMETERS(32);
  std::size_t count = 0;               // out
  char const* const* names = nullptr;  // out
};

struct base_metrics_params {
  STRATA_DETAIL_PARAMETERS(48);
  host_object* object = nullptr;
  metric_type type = metric_type::counter;
  char const** names = nullptr;  // out
  std::size_t count = 0;         // out
};

struct metric_properties_params {
  STRATA_DETAIL_PARAMETERS(64, 60);
  host_object* object = nullptr;
  char const* metric = nullptr;
  char const* description = nullptr;  // out, as all below
  char const* hardware_unit = nullptr;
  char const* dimension = nullptr;
  metric_type type = metric_type::counter;
  metric_scope scope = metric_scope::unknown;  // 13.1
};

struct add_metrics_params {
  STRATA_DETAIL_PARAMETERS(40);
  host_object* object = nullptr;
  char const** names = nullptr;
  std::size_t count = 0;
};

struct config_image_size_params {
  STRATA_DETAIL_PARAMETERS(32);
  host_object* object = nullptr;
  std::size_t size = 0;  // out
};

struct config_image_params {
  STRATA_DETAIL_PARAMETERS(40);
  host_object* object = nullptr;
  std::size_t size = 0;
  std::uint8_t* image = nullptr;
};

struct pass_count_params {
  STRATA_DETAIL_PARAMETERS(40);
  std::size_t size = 0;
  std::uint8_t* image = nullptr;
  std::size_t passes = 0;  // out
};

struct evaluate_params {
  STRATA_DETAIL_PARAMETERS(72);
  host_object* object = nullptr;
  std::uint8_t const* counter_data = nullptr;
  std::size_t counter_data_size = 0;
  std::size_t range = 0;
  char const** names = nullptr;
  std::size_t count = 0;
  double* values = nullptr;  // out: one a name
};

// ---- the Range Profiler: needs a driver and a context ----

struct enable_params {
  STRATA_DETAIL_PARAMETERS(36, 32);
  context_handle context = nullptr;
  range_object* object = nullptr;              // out
  cache_control caches = cache_control::none;  // 13.4
};

/// Disable, start, and pop take nothing but the object.
struct disable_params {
  STRATA_DETAIL_PARAMETERS(24);
  range_object* object = nullptr;
};
struct start_params : disable_params {};
struct pop_range_params : disable_params {};

struct stop_params {
  STRATA_DETAIL_PARAMETERS(41);
  range_object* object = nullptr;
  std::size_t pass_index = 0;  // out, as all below
  std::size_t target_nesting_level = 0;
  std::uint8_t all_passes_submitted = 0;
};

struct push_range_params {
  STRATA_DETAIL_PARAMETERS(32);
  range_object* object = nullptr;
  char const* name = nullptr;
};

/// The number of levels precedes the first one: the old profiling API had them the other way round.
struct set_config_params {
  STRATA_DETAIL_PARAMETERS(90);
  range_object* object = nullptr;
  std::size_t config_size = 0;
  std::uint8_t const* config = nullptr;
  std::size_t counter_data_size = 0;
  std::uint8_t* counter_data = nullptr;
  range_mode range = range_mode::user;
  replay_mode replay = replay_mode::user;
  std::size_t max_ranges_per_pass = 0;
  std::uint16_t nesting_levels = 1;
  std::uint16_t min_nesting_level = 1;
  std::size_t pass_index = 0;
  std::uint16_t target_nesting_level = 1;
};

struct decode_params {
  STRATA_DETAIL_PARAMETERS(32);
  range_object* object = nullptr;
  std::size_t ranges_dropped = 0;  // out
};

struct counter_data_size_params {
  STRATA_DETAIL_PARAMETERS(64);
  range_object* object = nullptr;
  char const** names = nullptr;
  std::size_t count = 0;
  std::size_t max_ranges = 0;
  std::uint32_t max_tree_nodes = 0;  // at least max_ranges
  std::size_t size = 0;              // out
};

struct counter_data_initialize_params {
  STRATA_DETAIL_PARAMETERS(40);
  range_object* object = nullptr;
  std::size_t size = 0;
  std::uint8_t* image = nullptr;
};

struct counter_data_info_params {
  STRATA_DETAIL_PARAMETERS(40);
  std::uint8_t const* image = nullptr;
  std::size_t size = 0;
  std::size_t ranges = 0;  // out
};

struct range_info_params {
  STRATA_DETAIL_PARAMETERS(56);
  std::uint8_t const* image = nullptr;
  std::size_t size = 0;
  std::size_t range = 0;
  char const* delimiter = nullptr;
  char const* name = nullptr;  // out
};

/// The functions in use; a null one is absent from the library.
struct table {
  result (*initialize)(initialize_params*) = nullptr;
  result (*device_supported)(device_supported_params*) = nullptr;
  result (*chip_name)(chip_name_params*) = nullptr;  // crashes without a driver
  result (*counter_availability)(counter_availability_params*) = nullptr;  // and so does this
  result (*device_availability)(device_availability_params*) = nullptr;    // may be absent

  result (*host_initialize)(host_initialize_params*) = nullptr;
  result (*host_deinitialize)(host_deinitialize_params*) = nullptr;
  result (*supported_chips)(supported_chips_params*) = nullptr;
  result (*base_metrics)(base_metrics_params*) = nullptr;
  result (*metric_properties)(metric_properties_params*) = nullptr;
  result (*add_metrics)(add_metrics_params*) = nullptr;
  result (*config_image_size)(config_image_size_params*) = nullptr;
  result (*config_image)(config_image_params*) = nullptr;
  result (*pass_count)(pass_count_params*) = nullptr;
  result (*evaluate)(evaluate_params*) = nullptr;

  result (*enable)(enable_params*) = nullptr;  // crashes without a driver
  result (*disable)(disable_params*) = nullptr;
  result (*start)(start_params*) = nullptr;
  result (*stop)(stop_params*) = nullptr;
  result (*push_range)(push_range_params*) = nullptr;
  result (*pop_range)(pop_range_params*) = nullptr;
  result (*set_config)(set_config_params*) = nullptr;
  result (*decode)(decode_params*) = nullptr;
  result (*counter_data_size)(counter_data_size_params*) = nullptr;
  result (*counter_data_initialize)(counter_data_initialize_params*) = nullptr;
  result (*counter_data_info)(counter_data_info_params*) = nullptr;
  result (*range_info)(range_info_params*) = nullptr;
};

}  // namespace profiler
}  // namespace cupti
}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_COUNTERS_CUPTI_PROFILER_HPP
