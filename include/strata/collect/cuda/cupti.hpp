#ifndef STRATA_COLLECT_CUDA_CUPTI_HPP
#define STRATA_COLLECT_CUDA_CUPTI_HPP

#include <strata/base/text.hpp>
#include <strata/status.hpp>

#include <cstddef>
#include <cstdint>

// CUPTI activity records as Strata reads them. Each is a prefix: CUPTI 12.0 to 13.x append fields
// and keep what is here, so only CUPTI itself may step from one record to the next.

STRATA_BEGIN
namespace detail {
namespace cupti {

/// CUpti_ActivityKind.
enum class activity_kind : std::uint32_t {
  invalid = 0,
  copy = 1,
  set = 2,
  kernel = 3,  // serialises kernels when enabled; concurrent_kernel is the one to enable
  context = 9,
  concurrent_kernel = 10,
  overhead = 17,
  peer_copy = 22,
  unified_memory = 25,
  synchronization = 38,
  memory = 49
};

enum class copy_kind : std::uint8_t {
  unknown = 0,
  host_to_device = 1,
  device_to_host = 2,
  host_to_array = 3,
  array_to_host = 4,
  array_to_array = 5,
  array_to_device = 6,
  device_to_array = 7,
  device_to_device = 8,
  host_to_host = 9,
  peer_to_peer = 10
};

enum class memory_kind : std::uint32_t {
  unknown = 0,
  pageable = 1,
  pinned = 2,
  device = 3,
  array = 4,
  managed = 5,
  device_static = 6,
  managed_static = 7
};

/// Of a copy: whether the driver stages it through its own buffer.
template <class Copy>
constexpr bool is_pageable(Copy const& from) noexcept {
  return from.source == static_cast<std::uint8_t>(memory_kind::pageable) ||
         from.destination == static_cast<std::uint8_t>(memory_kind::pageable);
}

enum class memory_operation : int { invalid = 0, allocation = 1, release = 2 };

enum class synchronization_type : int {
  unknown = 0,
  event_synchronize = 1,
  stream_wait_event = 2,
  stream_synchronize = 3,
  context_synchronize = 4
};

enum class overhead_type : int {
  unknown = 0,
  driver_compiler = 1,
  buffer_flush = 1 << 16,
  instrumentation = 2 << 16,
  resource = 3 << 16,
  module_loading = 4 << 16,
  lazy_function_loading = 5 << 16,
  command_buffer_full = 6 << 16,
  buffer_request = 7 << 16
};

/// CUpti_ActivityUnifiedMemoryCounterKind.
enum class unified_memory_kind : std::int32_t {
  unknown = 0,
  host_to_device = 1,
  device_to_host = 2,
  gpu_page_fault = 4,
  device_to_device = 8
};

/// CUpti_ActivityUnifiedMemoryCounterConfig.
struct alignas(8) unified_memory_config {
  std::int32_t scope;  // see process_all_devices
  unified_memory_kind kind;
  std::uint32_t device_id;
  std::uint32_t enable;

  static constexpr std::int32_t process_all_devices = 2;
};

// Activity records. Times are nanoseconds of CLOCK_REALTIME; 0 and 0 means that the time was lost.

struct alignas(8) record {
  activity_kind kind;
};

/// Kinds kernel and concurrent_kernel.
struct alignas(8) kernel_record {
  activity_kind kind;
  std::uint8_t cache_config;
  std::uint8_t shared_memory_config;
  std::uint16_t registers_per_thread;
  std::int32_t partitioned_cache_requested;
  std::int32_t partitioned_cache_executed;
  std::uint64_t start_ns;
  std::uint64_t end_ns;
  std::uint64_t completed_ns;
  std::uint32_t device_id;
  std::uint32_t context_id;
  std::uint32_t stream_id;
  std::int32_t grid_x;
  std::int32_t grid_y;
  std::int32_t grid_z;
  std::int32_t block_x;
  std::int32_t block_y;
  std::int32_t block_z;
  std::int32_t static_shared_memory_bytes;
  std::int32_t dynamic_shared_memory_bytes;
  std::uint32_t local_memory_per_thread_bytes;
  std::uint32_t local_memory_total_bytes;
  std::uint32_t correlation_id;
  std::int64_t grid_id;
  char const* name;  // mangled; valid as long as its module is loaded
  void* reserved;
  std::uint64_t queued_ns;
  std::uint64_t submitted_ns;
  std::uint8_t launch_type;
  std::uint8_t is_shared_memory_carveout_requested;
  std::uint8_t shared_memory_carveout_requested;
  std::uint8_t padding;
  std::uint32_t shared_memory_executed_bytes;
  std::uint64_t graph_node_id;  // 0: not launched by a graph
  std::int32_t shared_memory_limit_config;
  std::uint32_t graph_id;
};

struct alignas(8) copy_record {
  activity_kind kind;
  std::uint8_t copy;         // copy_kind
  std::uint8_t source;       // memory_kind
  std::uint8_t destination;  // memory_kind
  std::uint8_t flags;        // bit 0: asynchronous
  std::uint64_t size_bytes;
  std::uint64_t start_ns;
  std::uint64_t end_ns;
  std::uint32_t device_id;
  std::uint32_t context_id;
  std::uint32_t stream_id;
  std::uint32_t correlation_id;
  std::uint32_t runtime_correlation_id;
  std::uint32_t padding;
  void* reserved;
  std::uint64_t graph_node_id;
  std::uint32_t graph_id;
};

struct alignas(8) peer_copy_record {
  activity_kind kind;
  std::uint8_t copy;
  std::uint8_t source;
  std::uint8_t destination;
  std::uint8_t flags;
  std::uint64_t size_bytes;
  std::uint64_t start_ns;
  std::uint64_t end_ns;
  std::uint32_t device_id;
  std::uint32_t context_id;
  std::uint32_t stream_id;
  std::uint32_t source_device_id;
  std::uint32_t source_context_id;
  std::uint32_t destination_device_id;
  std::uint32_t destination_context_id;
  std::uint32_t correlation_id;
  void* reserved;
  std::uint64_t graph_node_id;
  std::uint32_t graph_id;
};

struct alignas(8) set_record {
  activity_kind kind;
  std::uint32_t value;
  std::uint64_t size_bytes;
  std::uint64_t start_ns;
  std::uint64_t end_ns;
  std::uint32_t device_id;
  std::uint32_t context_id;
  std::uint32_t stream_id;
  std::uint32_t correlation_id;
  std::uint16_t flags;   // bit 0: asynchronous
  std::uint16_t memory;  // memory_kind
  std::uint32_t padding;
  void* reserved;
  std::uint64_t graph_node_id;
  std::uint32_t graph_id;
};

/// Since 12.5, when green contexts came; what is older ends before `parent_context_id`.
struct alignas(8) context_record {
  activity_kind kind;
  std::uint32_t context_id;
  std::uint32_t device_id;
  std::uint16_t compute_api;
  std::uint16_t null_stream_id;
  std::uint32_t parent_context_id;
  std::uint8_t is_green;
  std::uint8_t padding;
  std::uint16_t multiprocessors;  // of a green context
};

/// Kind memory (CUPTI's MEMORY2): one record an allocation, one a release.
struct alignas(8) memory_record {
  activity_kind kind;
  memory_operation operation;
  memory_kind memory;
  std::uint32_t correlation_id;
  std::uint64_t address;
  std::uint64_t size_bytes;
  std::uint64_t timestamp_ns;
  std::uint64_t program_counter;
  std::uint32_t process_id;
  std::uint32_t device_id;
  std::uint32_t context_id;
  std::uint32_t stream_id;
  char const* name;
  std::uint32_t is_async;  // 1: stream ordered, from a pool
};

struct alignas(8) synchronization_record {
  activity_kind kind;
  synchronization_type type;
  std::uint64_t start_ns;
  std::uint64_t end_ns;
  std::uint32_t correlation_id;
  std::uint32_t context_id;
  std::uint32_t stream_id;
  std::uint32_t event_id;
};

/// What CUPTI and the driver themselves cost; `object` depends on `object_kind`.
struct alignas(8) overhead_record {
  activity_kind kind;
  overhead_type overhead;
  std::int32_t object_kind;
  std::uint32_t object[3];
  std::uint64_t start_ns;
  std::uint64_t end_ns;
};

/// A migration or fault of managed memory: no call of the program stands behind it. Of a CPU's
/// fault, `value` is a program counter and `end_ns` nothing.
struct alignas(8) unified_memory_record {
  activity_kind kind;
  unified_memory_kind counter;
  std::uint64_t value;  // bytes, or groups of faults
  std::uint64_t start_ns;
  std::uint64_t end_ns;
  std::uint64_t address;
  std::uint32_t source_id;
  std::uint32_t destination_id;
  std::uint32_t stream_id;
  std::uint32_t process_id;
  std::uint32_t flags;
  std::uint32_t padding;
};

/// Reads a record as the type that its kind calls for.
template <class Record>
Record const& as(record const* which) noexcept {
  return *reinterpret_cast<Record const*>(which);
}

// The part of CUPTI that Strata uses, declared here so that no CUPTI header is needed and every
// unit sees the same classes. tests/package/abi_cupti.cpp holds every number against the toolkit's
// headers.
using context_handle = void*;     // CUcontext
using stream_handle = void*;      // CUstream
using graph_handle = void*;       // CUgraph
using graph_node_handle = void*;  // CUgraphNode
using graph_exec_handle = void*;  // CUgraphExec
using subscriber_handle = void*;  // CUpti_SubscriberHandle

/// CUptiResult: the codes that have a meaning of their own here.
enum class result : int {
  success = 0,
  invalid_parameter = 1,
  invalid_device = 2,
  invalid_context = 3,
  invalid_operation = 7,
  out_of_memory = 8,
  size_not_sufficient = 10,
  not_implemented = 11,
  max_limit_reached = 12,
  not_ready = 13,
  not_compatible = 14,
  not_initialized = 15,
  invalid_metric_name = 17,
  invalid_kind = 21,
  disabled = 23,
  hardware_busy = 26,
  not_supported = 27,
  virtualized_device_not_supported = 33,
  insufficient_privileges = 35,
  old_profiler_api_initialized = 36,
  legacy_profiler_not_supported = 38,
  multiple_subscribers_not_supported = 39,
  virtualized_device_insufficient_privileges = 40,
  confidential_computing_not_supported = 41,
  cmp_device_not_supported = 42,
  mig_device_not_supported = 43,
  sli_device_not_supported = 44,
  wsl_device_not_supported = 45,
  invalid_chip_name = 46,
  unknown = 999
};

/// What a code means for the user and how to fix it, in one sentence without a full stop.
struct code_meaning {
  result code;
  errc kind;
  char const* fix;
  char const* when_counting = nullptr;  // another fix where counters are concerned
};

inline constexpr char const* refused = "CUPTI refused the call";
inline constexpr code_meaning code_meanings[] = {
    {result::success, errc::ok, "no error"},
    {result::invalid_parameter, errc::internal, refused,
     "CUPTI refused a value: use the libcupti of CUDA 12.6U2 or later that came with the driver's "
     "CUDA version (STRATA_CUPTI=<path>)"},
    {result::invalid_device, errc::not_supported,
     "CUPTI does not know this GPU: use the libcupti of a CUDA toolkit as new as the GPU "
     "(STRATA_CUPTI=<path>)"},
    {result::invalid_context, errc::unavailable, "no CUDA context is current in this thread",
     "the thread that drives the steps has no CUDA context: call the CUDA runtime in it before"},
    {result::invalid_operation, errc::internal, refused,
     "CUPTI's profiler is in another state than expected: is another part of the program "
     "profiling? Run with one profiler at a time"},
    {result::out_of_memory, errc::limit,
     "CUPTI is out of memory: leave it some on the GPU and on the host"},
    {result::size_not_sufficient, errc::limit, refused,
     "CUPTI wants a larger image: count fewer ranges or fewer counters at a time"},
    {result::not_implemented, errc::unavailable, refused,
     "this libcupti lacks the function: counters need the libcupti of CUDA 12.6U2 or later "
     "(STRATA_CUPTI=<path>)"},
    {result::max_limit_reached, errc::limit, refused,
     "CUPTI has no more room: count fewer ranges or fewer counters at a time"},
    {result::not_ready, errc::busy, refused,
     "CUPTI is not ready: run without other profilers, and try again"},
    {result::not_compatible, errc::not_supported,
     "another CUPTI client or an earlier setting excludes this: run with one profiler at a "
     "time"},
    {result::not_initialized, errc::unavailable,
     "CUPTI cannot start, most often because it is newer than the driver: update the "
     "driver "
     "or set STRATA_CUPTI to the libcupti of an older toolkit"},
    {result::invalid_metric_name, errc::bad_argument, refused,
     "this chip has no such metric: strata metrics lists what it has"},
    {result::disabled, errc::not_supported, "CUPTI is disabled in this process by another tool"},
    {result::hardware_busy, errc::busy,
     "something else holds the GPU's counters: stop ncu or another profiler, or pause DCGM "
     "(dcgmi profile --pause)"},
    {result::not_supported, errc::not_supported, "this GPU or driver does not support it",
     "the GPU or the driver does not count this, or not in this company: ask for fewer counters at "
     "a time"},
    {result::virtualized_device_not_supported, errc::not_supported,
     "CUPTI does not support this virtual GPU: enable profiling in the vGPU's settings"},
    {result::insufficient_privileges, errc::not_permitted,
     "counters are reserved for administrators: run as root, give CAP_SYS_ADMIN (docker "
     "--cap-add SYS_ADMIN), or load the driver with NVreg_RestrictProfilingToAdminUsers=0"},
    {result::old_profiler_api_initialized, errc::busy,
     "the old profiling API is in use in this process: stop its user",
     "the old profiling API (cuptiProfilerBeginSession, events) is in use in this process: stop "
     "its user, and profile again"},
    {result::legacy_profiler_not_supported, errc::not_supported,
     "this GPU has no legacy profiling: use the Range Profiler",
     "this libcupti is too old for the GPU: set STRATA_CUPTI to that of CUDA 13 or later"},
    {result::multiple_subscribers_not_supported, errc::busy,
     "another CUPTI client (Nsight Systems, Nsight Compute, torch.profiler, ...) owns this "
     "process: stop it or run without it"},
    {result::virtualized_device_insufficient_privileges, errc::not_permitted,
     "the virtual GPU may not profile: set its enable_profiling parameter on the host"},
    {result::confidential_computing_not_supported, errc::not_supported,
     "confidential computing hides the counters: turn it off or use its devtools mode"},
    {result::cmp_device_not_supported, errc::not_supported,
     "CUPTI does not support CMP mining GPUs"},
    {result::mig_device_not_supported, errc::not_supported,
     "CUPTI does not support this MIG instance: use one with a compute instance of its own"},
    {result::sli_device_not_supported, errc::not_supported,
     "CUPTI does not support SLI: turn it off"},
    {result::wsl_device_not_supported, errc::not_supported,
     "CUPTI does not support this under WSL: use Windows 11 and a recent driver, or Linux"},
    {result::invalid_chip_name, errc::bad_argument,
     "this libcupti does not know the GPU: use that of a newer toolkit"},
    {result::unknown, errc::internal,
     "CUPTI found no working driver, or met an internal error: check nvidia-smi",
     "CUPTI met an internal error, as where the chip lacks what was asked for (links, say): ask "
     "for "
     "fewer counters, and check nvidia-smi"}};

/// A code that is not in the table is not supported.
constexpr code_meaning meaning_of(result code) noexcept {
  for (code_meaning const& meaning : code_meanings) {
    if (meaning.code == code) return meaning;
  }
  return {code, errc::not_supported, refused};
}

/// CUpti_ActivityAttribute.
enum class attribute : int {
  zeroed_out_activity_buffer = 5,  // uint8_t
  per_thread_activity_buffer = 9   // uint8_t, 12.3 and later
};

enum class flush_flag : std::uint32_t { complete_only = 0, forced = 1 };

/// CUpti_CallbackDomain.
enum class domain : int { invalid = 0, driver_api = 1, runtime_api = 2, resource = 3, nvtx = 5 };

enum class api_site : int { enter = 0, exit = 1 };

/// CUpti_CallbackIdResource: the ids that say how graphs and their nodes come and go.
enum class resource_id : std::uint32_t {
  context_created = 1,
  context_destroy_starting = 2,
  stream_destroy_starting = 4,
  graph_created = 9,
  graph_cloned = 11,
  graph_node_create_starting = 12,
  graph_node_created = 13,
  graph_node_destroy_starting = 14,
  graph_exec_created = 18,
  graph_node_cloned = 20,
  graph_node_updated = 22  // since 13.0
};

enum class graph_node_type : int { kernel = 0 };

// What callbacks receive.

/// CUpti_CallbackData: domains driver_api and runtime_api.
struct api_data {
  api_site site;
  char const* function_name;
  void const* function_params;
  void* return_value;       // at exit: points to a CUresult (driver) or cudaError_t (runtime)
  char const* symbol_name;  // launches: the kernel's name
  context_handle context;
  std::uint32_t context_uid;
  std::uint64_t* correlation_data;  // 64 bits that enter may leave to exit
  std::uint32_t correlation_id;
};

/// Arguments of cuLaunchKernel and cuLaunchCooperativeKernel, as callbacks get them.
struct launch_kernel_params {
  void* function;
  std::uint32_t grid[3];
  std::uint32_t block[3];
  std::uint32_t shared_bytes;
  stream_handle stream;
};

/// CUlaunchConfig, as far as it is read.
struct launch_config {
  std::uint32_t grid[3];
  std::uint32_t block[3];
  std::uint32_t shared_bytes;
  stream_handle stream;
};

/// Arguments of cuLaunchKernelEx.
struct launch_kernel_ex_params {
  launch_config const* config;
  void* function;
};

/// Arguments of cuGraphLaunch.
struct graph_launch_params {
  graph_exec_handle graph;
  stream_handle stream;
};

/// The first argument of a call; null where the call does not tell.
inline void* first_argument(api_data const& call) noexcept {
  if (call.function_params == nullptr) return nullptr;
  return *static_cast<void* const*>(call.function_params);
}

/// Hands what a kernel is launched with to `take`: `grid`, `block` and `stream`. False where the
/// call does not tell.
template <class Take>
bool read_launch(api_data const& call, Take take) noexcept {
  if (call.function_name == nullptr || call.function_params == nullptr) return false;
  std::string_view name = call.function_name;
  for (std::string_view const suffix : {"_ptsz", "_ptds"})
    if (ends_with(name, suffix)) name.remove_suffix(suffix.size());
  if (name == "cuLaunchKernelEx") {
    auto const* const config =
        static_cast<launch_kernel_ex_params const*>(call.function_params)->config;
    if (config != nullptr) take(*config);
    return config != nullptr;
  }
  if (name != "cuLaunchKernel" && name != "cuLaunchCooperativeKernel") return false;
  take(*static_cast<launch_kernel_params const*>(call.function_params));
  return true;
}

/// Arguments of cuGraphInstantiateWithFlags and cuGraphInstantiateWithParams.
struct instantiate_params {
  graph_exec_handle* made;
  graph_handle graph;
  union {
    std::uint64_t flags;
    std::uint64_t const* params;  // begins with the flags
  };

  static constexpr std::uint64_t device_launch = 4;  // CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH
};

/// CUpti_ResourceData: domain resource.
struct resource_data {
  context_handle context;
  stream_handle stream;
  void* descriptor;  // graph ids: a graph_data
};

/// CUpti_GraphData. At graph_node_cloned `node` is the copy, `original_node` its model; at
/// graph_node_updated `original_node` is the executable graph's, which becomes like `node`.
struct graph_data {
  graph_handle graph;
  graph_handle original_graph;
  graph_node_handle node;
  graph_node_handle original_node;
  graph_node_type node_type;
  graph_node_handle dependency;
  graph_exec_handle exec;
};

/// CUpti_SubscriberParams of 13.0; 13.2 appended eight bytes, zero here: no second subscriber.
struct subscriber_params {
  std::size_t struct_size;  // 32 up to 13.1, then 40
  char const* subscriber_name;
  char* old_subscriber_name;
  std::size_t old_subscriber_capacity;  // at least 64
  std::uint64_t appended;
};

using callback_function = void(void* user, domain where, std::uint32_t id, void const* data);
using buffer_request_function = void(std::uint8_t** buffer, std::size_t* size,
                                     std::size_t* max_records);
using buffer_complete_function = void(context_handle, std::uint32_t stream_id, std::uint8_t* buffer,
                                      std::size_t size, std::size_t valid_size);

/// The CUPTI functions in use. Those below the line may be null.
struct table {
  result (*get_version)(std::uint32_t* version) = nullptr;
  result (*subscribe)(subscriber_handle* out, callback_function* callback, void* user) = nullptr;
  result (*unsubscribe)(subscriber_handle which) = nullptr;
  result (*enable_callback)(std::uint32_t on, subscriber_handle who, domain where,
                            std::uint32_t id) = nullptr;
  result (*get_callback_name)(domain where, std::uint32_t id, char const** name) = nullptr;
  result (*register_callbacks)(buffer_request_function* request,
                               buffer_complete_function* complete) = nullptr;
  result (*activity_enable)(activity_kind kind) = nullptr;
  result (*activity_disable)(activity_kind kind) = nullptr;
  result (*get_next_record)(std::uint8_t* buffer, std::size_t valid_size, record** out) = nullptr;
  result (*flush_all)(flush_flag flag) = nullptr;
  // ----
  result (*subscribe_v2)(subscriber_handle* out, callback_function* callback, void* user,
                         subscriber_params* params) = nullptr;
  result (*activity_enable_and_dump)(activity_kind kind) = nullptr;
  result (*get_timestamp)(std::uint64_t* realtime_ns) = nullptr;
  result (*get_dropped_records)(context_handle, std::uint32_t stream_id,
                                std::size_t* dropped) = nullptr;
  result (*flush_period)(std::uint32_t ms) = nullptr;
  result (*configure_unified_memory)(unified_memory_config* list, std::uint32_t count) = nullptr;
  result (*set_attribute)(attribute code, std::size_t* size, void* value) = nullptr;
  result (*get_graph_node_id)(graph_node_handle node, std::uint64_t* id) = nullptr;
};

}  // namespace cupti
}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_CUDA_CUPTI_HPP
