#include <strata/version.hpp>
#ifndef STRATA_PROFILE_HPP
#define STRATA_PROFILE_HPP

#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile/duration_statistics.hpp>
#include <strata/profile/metric_set.hpp>
#include <strata/profile/records.hpp>

#include <cstdint>
#include <string>

STRATA_BEGIN

/// A place in the call tree: a name (with an index where one was given) below a parent.
/// Nodes are ordered so that a parent comes before its children; node 0 is the root.
struct profile_node {
  std::uint32_t parent;
  std::uint32_t name;   ///< position in profile::names
  std::int64_t index;   ///< no_index, any_index or the index
  std::uint32_t depth;  ///< 0 at the root
  bool selected;        ///< false where `only=` leaves it out
};

/// The calls of one node that the log could not keep one by one: sums never drop.
struct folded_ranges {
  std::uint32_t node = root_node;
  duration_statistics durations;
  double flops = 0.0;
  double bytes = 0.0;
  double tokens = 0.0;
};

/// Host time of a node's calls in threads that had inherited the place above it: no part of its
/// parent's time.
struct inherited_time {
  std::uint32_t node = root_node;
  std::uint32_t from = root_node;  ///< what such a thread itself was in, which contains the time
  std::int64_t total = 0;
};

/// A kernel name: as the compiler wrote it (mangled); it is demangled only when reported.
struct kernel_name {
  std::string mangled;
};

struct profile_thread {
  std::uint32_t ordinal = 0;
  std::uint64_t os_id = 0;
  std::string name;
};

struct profile_device {
  std::uint32_t ordinal = 0;
  std::string name;
  std::uint32_t multiprocessors = 0;
  std::uint32_t compute_capability_major = 0;
  std::uint32_t compute_capability_minor = 0;
  std::uint32_t clock_khz = 0;
  std::uint32_t memory_clock_khz = 0;
  std::uint32_t memory_bus_bits = 0;
  std::uint64_t l2_bytes = 0;
  std::uint64_t memory_bytes = 0;
};

/// Where and how the profile was made.
struct profile_environment {
  std::string host;
  std::string command;
  std::string configuration;  ///< the text of STRATA, or what the code configured
  std::string started_at;     ///< UTC, ISO 8601
  std::string cpu;
  std::string clock;       ///< "tsc", "cntvct" or "steady_clock"
  std::string cupti_path;  ///< empty when CUPTI was not used
  std::uint32_t cupti_version = 0;
  std::uint32_t driver_version = 0;
  std::uint64_t process_id = 0;
  std::int64_t started_at_unix_ns = 0;
  std::int32_t rank = -1;  ///< of a distributed run, -1 when there is one process
  vec<profile_device> devices;
};

/// What could not be kept, each counted; all zero in a complete profile.
struct profile_losses {
  std::uint64_t ranges_folded = 0;     ///< calls kept in sums only, because the log was full
  std::uint64_t ranges_left_open = 0;  ///< not ended when the session ended
  std::uint64_t ranges_ended_elsewhere =
      0;                              ///< ended by another thread than the one that began them
  std::uint64_t ranges_too_deep = 0;  ///< nested deeper than the limit, counted in `[deeper]`
  std::uint64_t names_refused =
      0;  ///< calls whose name was one too many, counted in `[other names]`
  std::uint64_t indices_refused = 0;  ///< calls whose index was one too many, counted in `[*]`
  std::uint64_t nodes_refused =
      0;  ///< calls whose place in the tree was one too many, counted in `[other ranges]`
  std::uint64_t pops_without_push = 0;
  std::uint64_t launches_dropped = 0;     ///< calls into the driver beyond the memory limit
  std::uint64_t activity_dropped = 0;     ///< records that CUPTI says it dropped
  std::uint64_t activity_refused = 0;     ///< records beyond the memory limit
  std::uint64_t buffers_refused = 0;      ///< buffer requests of CUPTI beyond the memory limit
  std::uint64_t uncorrelated = 0;         ///< kernels and copies without a known launch
  std::uint64_t timestamps_lost = 0;      ///< kernels and copies whose times the device lost
  std::uint64_t counter_ranges_lost = 0;  ///< ranges that CUPTI's profiler refused or dropped
  std::uint64_t spans_dropped = 0;        ///< start/end ranges and marks beyond the memory limit
  std::uint64_t spans_left_open = 0;      ///< start/end ranges not ended when the session ended
  std::uint64_t threads_refused = 0;  ///< threads beyond the limit, whose ranges were not recorded
};

/// What the instrumentation itself cost the program.
struct profile_cost {
  double seconds_in_window = 0.0;  ///< how long was recorded
  double range_ns = 0.0;           ///< measured cost of one recorded range
  std::uint64_t ranges = 0;        ///< ranges recorded
  std::uint64_t callbacks = 0;     ///< launch callbacks served
  double callback_ns = 0.0;        ///< measured cost of one launch callback
  double activity_seconds =
      0.0;  ///< time in CUPTI's buffer callbacks, on CUPTI's threads for the most part
  double flush_seconds = 0.0;        ///< time that a thread of the program waited for a flush
  double start_seconds = 0.0;        ///< time to start the collectors
  std::uint64_t counter_reads = 0;   ///< readings of the CPU's counters
  double counter_read_ns = 0.0;      ///< what one took
  std::uint64_t log_bytes = 0;       ///< memory of the logs
  std::uint64_t activity_bytes = 0;  ///< memory of activity buffers and records
};

/// What one range, without the ranges below it, counted in one step.
struct counter_value {
  std::uint32_t node;
  std::uint32_t counter;  ///< position in profile::counter_names
  double value;
};

/// The counting steps that a counter took.
struct counter_origin {
  std::uint32_t first_pass;  ///< from 0
  std::uint32_t passes;
};

/// What one range, without the ranges below it, put on the device in one counting step. Equal
/// hashes mean the same work.
struct counted_work {
  std::uint32_t node;
  std::uint32_t pass;      ///< of the counting, from 0
  std::uint32_t launches;  ///< of kernels and graphs, copies and fills
  std::uint32_t foreign;   ///< by other threads while this range was counted
  std::uint64_t what;      ///< hash of the kernels' names, in any order
  std::uint64_t shapes;    ///< hash of the names with their grids and blocks
  double threads;          ///< of the kernels, where the calls tell
};

/// What the launches of one kernel in one range counted in a step, summed up.
struct counted_kernel {
  std::uint32_t node;
  std::uint32_t name;          ///< 1-based in profile::kernel_names
  std::uint64_t launches_min;  ///< in the steps that counted
  std::uint64_t launches_max;
  vec<double> values;  ///< in the order of profile::kernel_counter_names; NaN: no value
};

/// What a run produced: data only. Times are ns since the session began unless said otherwise.
struct profile {
  profile_environment environment;
  profile_losses losses;
  profile_cost cost;
  vec<std::string> problems;  ///< one sentence each: what could not be done and the cure

  vec<std::string> names;       ///< of ranges and notes; position 0 is empty
  vec<profile_node> nodes;      ///< position is the node's number; node 0 is the root
  vec<profile_thread> threads;  ///< position is not the ordinal
  vec<step_record> steps;
  vec<range_record> ranges;
  vec<attribute_record> attributes;
  vec<folded_ranges> folded;
  vec<span_record> spans;  ///< start/end ranges and marks of NVTX
  vec<inherited_time> inherited;

  vec<launch_record> launches;
  vec<kernel_record> kernels;
  vec<kernel_name> kernel_names;  ///< kernel_record::name is 1-based into these
  vec<copy_record> copies;
  vec<memory_record> memory;
  vec<synchronization_record> synchronizations;
  vec<overhead_record> overheads;
  vec<captured_record> captured;  ///< sorted by graph node and time

  std::string chip;                     ///< that was counted on, as CUPTI names it
  vec<std::uint32_t> counted_devices;   ///< as the driver numbers them
  metric_set metrics;                   ///< what was asked for, as the chip has it
  vec<std::string> counter_names;       ///< CUPTI's
  vec<counter_origin> counter_origins;  ///< of the names; empty where unknown
  vec<counter_value> counters;
  vec<counted_work> work;  ///< of the counting steps; empty where it could not be followed
  vec<std::string> kernel_counter_names;  ///< CUPTI's
  vec<counted_kernel> counted_kernels;
  std::uint64_t counter_passes = 0;  ///< steps that the counting takes
  std::uint64_t counter_passes_done = 0;

  /// The CPU's counters: sums over all recorded calls.
  metric_set cpu_metrics;
  vec<std::string> cpu_counter_names;
  vec<counter_value> cpu_counters;

  std::int64_t end = 0;    ///< when the session ended
  bool traced = false;     ///< device activity was collected
  bool has_steps = false;  ///< the program used STRATA_STEP()
};

STRATA_END

#endif  // STRATA_PROFILE_HPP
