#ifndef STRATA_PROFILE_RECORDS_HPP
#define STRATA_PROFILE_RECORDS_HPP

#include <strata/base/macros.hpp>

#include <cstdint>
#include <string_view>

STRATA_BEGIN

/// Marks a range that has no index.
inline constexpr std::int64_t no_index = INT64_MIN;
/// The index of all indices beyond the limit of a node, written `[*]`.
inline constexpr std::int64_t any_index = no_index + 1;
/// The node of everything outside any range: the root of the call tree.
inline constexpr std::uint32_t root_node = 0;
/// No node: where no range captured a kernel into a graph.
inline constexpr std::uint32_t no_node = 0xffffffffu;
/// No attribute, no note, no kernel name: references are counted from one.
inline constexpr std::uint32_t no_reference = 0;
/// The step of what happens outside any step.
inline constexpr std::uint32_t no_step = 0xffffffffu;

/// One completed range. Units: ns since the session began; clock ticks while it is collected.
struct range_record {
  std::int64_t begin;
  std::int64_t end;
  std::uint32_t node;
  std::uint32_t attribute;  ///< 1-based position in the attributes, no_reference without
  std::uint32_t step;
  std::uint32_t thread;
};

/// What a range said about its work. Units: operations, bytes; NaN where it was not given.
struct attribute_record {
  double flops;
  double bytes;
  double tokens;
  std::uint32_t node;
  std::uint32_t note;  ///< 1-based position in the names
  std::uint32_t rank;  ///< how many of the dimensions are given
  std::uint32_t dimensions[7];
};
/// The note of ranges at whose end the program waits for the GPU because they are there.
inline constexpr std::string_view stops_at_end = "stops the program at its end";

/// One step of the program's loop.
struct step_record {
  std::int64_t begin;
  std::int64_t end;
  std::uint32_t step;
  std::uint32_t thread;
  /// ns in which the thread of the step ran on a CPU; 0: not measured.
  std::int64_t cpu_ns = 0;
  std::uint32_t voluntary_switches = 0;    ///< it gave its CPU away: it slept or waited
  std::uint32_t involuntary_switches = 0;  ///< another thread took its CPU
};

/// Whether a span lasts or is a moment.
enum class span_kind : std::uint8_t { range, mark };

/// A time that the program named apart from its ranges: it may overlap them and end in another
/// thread. A mark has no length.
struct span_record {
  std::int64_t begin;
  std::int64_t end;
  std::uint32_t name;    ///< position in the names
  std::uint32_t domain;  ///< position in the names; 0: none
  std::uint32_t step;    ///< that it began in
  std::uint32_t thread;  ///< that it began in
  std::uint32_t end_thread;
  span_kind kind;
  std::uint8_t reserved[3];
};

/// What a call into the driver does.
enum class api_kind : std::uint8_t {
  none,
  launch,
  graph_launch,
  copy,
  set,
  allocate,
  release,
  begin_capture,
  end_capture,
  wait,          ///< of the host for the device
  graph_change,  ///< updates, uploads or destroys a graph
  instantiate    ///< a graph
};

/// Whether such a call puts work on the device.
constexpr bool is_work(api_kind kind) noexcept {
  return kind == api_kind::launch || kind == api_kind::graph_launch || kind == api_kind::copy ||
         kind == api_kind::set;
}

/// Whether such a call makes or changes a graph.
constexpr bool makes_graphs(api_kind kind) noexcept {
  return kind == api_kind::begin_capture || kind == api_kind::end_capture ||
         kind == api_kind::graph_change || kind == api_kind::instantiate;
}

/// One call of the program into the driver that may cause work on the device, on the host's clock.
struct driver_call_record {
  std::int64_t begin;
  std::int64_t end;
  std::uint32_t correlation;
  std::uint32_t node;
  std::uint32_t step;
  std::uint16_t thread;
  api_kind kind;
  std::uint8_t flags;  ///< in_capture, in_warmup, outside_window, adopted, or 0

  /// A stream was capturing a graph and no work followed from this call.
  static constexpr std::uint8_t in_capture = 1;
  /// Made in a warm-up step: it and its work are left out of the profile.
  static constexpr std::uint8_t in_warmup = 2;
  /// Made while nothing was recorded, as between two windows: it and its work are left out.
  static constexpr std::uint8_t outside_window = 4;
  /// Made by a thread in no range: `node` is the range that the thread which drives the steps was
  /// in.
  static constexpr std::uint8_t adopted = 8;

  bool is_left_out() const noexcept { return (flags & (in_warmup | outside_window)) != 0; }
  /// Whether it is in the profile, and work may follow from it.
  bool causes_work() const noexcept { return (flags & ~adopted) == 0; }
  bool only_captured() const noexcept { return (flags & ~adopted) == in_capture; }
};

/// One kernel on the device.
/// Units: ns since the session began; begin == end == lost_time where the device lost the time.
struct kernel_record {
  std::int64_t begin;
  std::int64_t end;
  std::uint32_t node;         ///< of the range that launched it; the root's where that is unknown
  std::uint32_t captured_by;  ///< node of the range that captured it into a graph, or no_node
  std::uint32_t correlation;
  std::uint32_t name;  ///< 1-based position in the kernel names
  std::uint32_t stream;
  std::uint32_t context;
  std::uint32_t grid_x;
  std::uint16_t grid_y;
  std::uint16_t grid_z;
  std::uint16_t block_x;
  std::uint16_t block_y;
  std::uint16_t block_z;
  std::uint8_t registers;  ///< a thread
  std::uint8_t adopted;    ///< 1: a thread in no range launched it
  std::uint32_t dynamic_shared_bytes;
  std::uint16_t static_shared_bytes;
  std::uint16_t device;
};

/// The time stamp of work whose times the device lost.
inline constexpr std::int64_t lost_time = INT64_MIN;

/// From where to where; `set` is a fill.
enum class copy_kind : std::uint8_t {
  unknown,
  host_to_device,
  device_to_host,
  device_to_device,
  host_to_host,
  peer,
  set
};

/// Of a copy between GPUs.
struct copy_peer {
  std::uint8_t device;    ///< the number of the other GPU and 1; 0 where it is not known
  std::uint8_t receives;  ///< 1: copy_record::device receives; 0: it sends
  /// 1: the second record of a copy that went by way of the host. It counts with the first one, and
  /// its time adds to that.
  std::uint8_t again;
};

/// One copy or fill on the device.
struct copy_record {
  std::int64_t begin;
  std::int64_t end;
  std::uint64_t bytes;
  std::uint32_t node;
  std::uint32_t correlation;
  std::uint32_t stream;
  std::uint32_t context;
  std::uint16_t device;
  copy_kind kind;
  std::uint8_t pageable;  ///< 1: from or to memory of the host that is not pinned
  std::uint8_t adopted;   ///< 1: a thread in no range launched it
  copy_peer peer;         ///< of kind peer
};

/// Where memory is, and who may use it.
enum class memory_kind : std::uint8_t {
  unknown,
  device,
  managed,
  pinned,
  pageable,
  array,
  device_static,
  managed_static
};

/// One allocation or release of memory through the CUDA API.
struct memory_record {
  std::int64_t time;
  std::uint64_t address;
  std::uint64_t bytes;
  std::uint32_t node;
  std::uint32_t correlation;
  std::uint32_t stream;
  std::uint16_t device;
  memory_kind kind;
  std::uint8_t allocates;     ///< 1 allocation, 0 release
  std::uint8_t asynchronous;  ///< 1 stream ordered
  std::uint8_t reserved[7];
};

/// What is waited for.
enum class synchronization_kind : std::uint8_t {
  unknown,
  event,
  stream_wait_event,
  stream,
  context
};

/// One wait of the host (or of a stream) for the device.
struct synchronization_record {
  std::int64_t begin;
  std::int64_t end;
  std::uint32_t node;
  std::uint32_t correlation;
  std::uint32_t stream;
  synchronization_kind kind;
  std::uint8_t reserved[3];
};

/// Time that the tracing library itself reported as spent.
struct overhead_record {
  std::int64_t begin;
  std::int64_t end;
  std::uint32_t kind;  ///< CUPTI's CUpti_ActivityOverheadKind
  std::uint32_t reserved;
};

/// A context whose work may use a part of its device's multiprocessors: a green context.
struct profile_context {
  std::uint32_t context;  ///< as in records
  std::uint32_t device;   ///< the driver's number
  std::uint32_t multiprocessors;
};

/// What happened to managed memory.
enum class migration_kind : std::uint8_t {
  unknown,
  to_device,
  to_host,
  between_devices,
  gpu_faults,       ///< of a device: groups of faults for one page
  last_former = 8,  ///< up to it what older recordings have besides, of which nothing is shown
};

/// One migration or page fault of managed memory. No call stands behind it.
/// Units: ns since the session began; end == begin where it takes no time.
struct migration_record {
  std::int64_t begin;
  std::int64_t end;
  std::uint64_t value;   ///< bytes; of gpu_faults groups of faults
  std::uint32_t device;  ///< that it moves to, or from where it moves to the host
  migration_kind kind;
  std::uint8_t reserved[3];
};

static_assert(sizeof(range_record) == 32 && sizeof(driver_call_record) == 32,
              "an event or a launch takes 32 bytes");
static_assert(sizeof(kernel_record) == 64 && sizeof(attribute_record) == 64,
              "a kernel or an attribute takes 64 bytes");

namespace detail {

inline constexpr std::int64_t latest_time = INT64_MAX;

/// ns from begin to end; 0 where time runs backwards or the device lost it.
constexpr std::int64_t elapsed(std::int64_t begin, std::int64_t end) noexcept {
  if (begin == lost_time || end <= begin) return 0;
  std::uint64_t const length = static_cast<std::uint64_t>(end) - static_cast<std::uint64_t>(begin);
  return length > static_cast<std::uint64_t>(latest_time) ? latest_time
                                                          : static_cast<std::int64_t>(length);
}

/// The sum of two numbers that are not negative, at most the largest number.
constexpr std::int64_t add_saturated(std::int64_t sum, std::int64_t more) noexcept {
  return more > latest_time - sum ? latest_time : sum + more;
}

/// A size as a signed number, at most the largest.
constexpr std::int64_t signed_bytes(std::uint64_t bytes) noexcept {
  return bytes > static_cast<std::uint64_t>(latest_time) ? latest_time
                                                         : static_cast<std::int64_t>(bytes);
}

/// A sum of durations as whole ns.
constexpr std::int64_t whole_ns(double sum) noexcept {
  if (!(sum > 0.0)) return 0;
  return sum >= 9.2e18 ? latest_time : static_cast<std::int64_t>(sum + 0.5);
}

/// Memory that the device owns or that moves to it: what counts as memory in use.
constexpr bool is_device_memory(memory_kind kind) noexcept {
  return kind == memory_kind::device || kind == memory_kind::managed ||
         kind == memory_kind::array || kind == memory_kind::device_static ||
         kind == memory_kind::managed_static;
}

}  // namespace detail
STRATA_END

#endif  // STRATA_PROFILE_RECORDS_HPP
