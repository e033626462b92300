#include <strata/version.hpp>
#ifndef STRATA_COLLECT_CUDA_CUPTI_RECORD_HPP
#define STRATA_COLLECT_CUDA_CUPTI_RECORD_HPP

#include <strata/base/macros.hpp>

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
  driver_api = 4,
  runtime_api = 5,
  device = 8,
  context = 9,
  concurrent_kernel = 10,
  name = 11,
  marker = 12,
  marker_data = 13,
  overhead = 17,
  environment = 20,
  peer_copy = 22,
  stream = 37,
  synchronization = 38,
  external_correlation = 39,
  memory = 49,
  memory_pool = 50,
  graph_trace = 51
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
  std::int32_t grid_x, grid_y, grid_z;
  std::int32_t block_x, block_y, block_z;
  std::int32_t static_shared_memory_bytes;
  std::int32_t dynamic_shared_memory_bytes;
  std::uint32_t local_memory_per_thread_bytes;
  std::uint32_t local_memory_total_bytes;
  std::uint32_t correlation_id;
  std::int64_t grid_id;
  const char* name;  // mangled; valid as long as its module is loaded
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
  const char* name;
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

/// Reads a record as the type that its kind calls for.
template <class Record>
const Record& as(const record* which) noexcept {
  return *reinterpret_cast<const Record*>(which);
}

}  // namespace cupti
}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_CUDA_CUPTI_RECORD_HPP
