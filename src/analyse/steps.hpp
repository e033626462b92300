#ifndef STRATA_ANALYSE_STEPS_HPP
#define STRATA_ANALYSE_STEPS_HPP

#include <strata/base/numbers.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile.hpp>
#include <strata/tables/call_tree.hpp>
#include <strata/tables/steps_summary.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

STRATA_BEGIN

/// What the host did while the device had no work.
enum class idle_cause : std::uint8_t {
  launch,     ///< launched
  host_work,  ///< the program's own code, without a call into the driver
  wait,       ///< waited for the device, and only then launched what came next
  range_end,  ///< the same, at the end of a range that stops the program there (stops_at_end)
  allocation,
  graph,  ///< captured, instantiated, updated or destroyed a CUDA graph
  copy,   ///< in a copy or a fill
  device  ///< nothing that matters: the device began queued work late
};

/// A cause as files name it, what it makes of a step, when the device is idle of it, and its name
/// for people.
struct idle_cause_entry {
  std::string_view name;
  std::string_view bound;
  std::string_view meanwhile;
  std::string_view words;
};
/// By idle_cause.
inline constexpr idle_cause_entry idle_cause_table[] = {
    {"launch", "Launch-bound", "waiting for kernel launches", "waiting for launches"},
    {"host work", "CPU-bound", "while the program computes on the CPU",
     "CPU code between launches"},
    {"wait", "Wait-bound", "since the host waits for the GPU before it launches more",
     "waits of the host"},
    {"range end", "Stopped by ranges", "since ranges stop the program until the GPU is done",
     "stops at the ends of ranges"},
    {"allocation", "Allocation-bound", "while the host allocates and frees memory", "allocations"},
    {"graph", "Graph-bound", "while the host captures and instantiates CUDA graphs",
     "making CUDA graphs"},
    {"copy", "Copy-bound", "while the host issues copies", "calls that copy"},
    {"device", "Queue-bound", "between pieces of work that were launched already",
     "queued work not started"}};

constexpr idle_cause_entry const& entry_of(idle_cause cause) noexcept {
  return idle_cause_table[static_cast<std::size_t>(cause)];
}
constexpr std::string_view to_string(idle_cause cause) noexcept { return entry_of(cause).name; }

/// The words of a cause that a file names; the name itself where it is none.
constexpr std::string_view idle_words(std::string_view name) noexcept {
  for (idle_cause_entry const& cause : idle_cause_table)
    if (cause.name == name) return cause.words;
  return name;
}

/// Time of a mean step in which the device was idle for one cause in one range itself.
struct idle_time {
  std::uint32_t row = 0;  ///< of the call tree; 0 is outside of ranges
  idle_cause cause = idle_cause::launch;
  double ns = 0.0;
  double gaps = 0.0;  ///< idle periods in which the cause had the largest part
};

inline constexpr std::size_t idle_causes = sizeof(idle_cause_table) / sizeof(idle_cause_table[0]);

/// One of the steps that a mean averages. Units: ns.
struct step_idle {
  std::uint32_t step = 0;  ///< its number
  double ns = 0.0;
  double idle_ns[idle_causes] = {};  ///< by idle_cause
};

/// How the host makes and changes CUDA graphs in a mean step, in one range itself.
struct graph_time {
  std::uint32_t row = 0;
  double instantiations = 0.0;
  double launches = 0.0;  ///< that were captured
  double changes = 0.0;   ///< updates, uploads and ends
  double ns = 0.0;        ///< host time in all these calls, and in first launches that upload
};

/// Copies between host and device in a mean step, of one range itself.
struct copy_time {
  std::uint32_t row = 0;
  bool to_device = false;
  bool pageable = false;  ///< from or to memory of the host that is not pinned
  bool in_place = false;  ///< of devices that have the host's memory: nothing crosses a bus
  double count = 0.0;
  double bytes = 0.0;
  double ns = 0.0;
  double alone_ns = 0.0;  ///< without a kernel at the same time
  double call_ns = 0.0;   ///< host time in the calls
  /// Of `alone_ns`: in a stream without kernels, while one of another stream was launched already
  /// and began behind the copy.
  double held_ns = 0.0;
  /// Of that, where the copy or the kernel is in the legacy default stream, which nothing shows
  /// not to block the other's.
  double legacy_ns = 0.0;
};

/// Copies within a GPU and fills in a mean step, of one range itself. Times in ns.
struct device_copy_time {
  std::uint32_t row = 0;
  double copies = 0.0;
  double copied_bytes = 0.0;
  double fills = 0.0;
  double filled_bytes = 0.0;
  double ns = 0.0;
  double alone_ns = 0.0;  ///< without a kernel at the same time
};

/// Kernels in a mean step in which ranks wait for each other, of one range itself.
struct collective_time {
  std::uint32_t row = 0;
  double count = 0.0;
  double ns = 0.0;
  double busy_ns = 0.0;  ///< in which one ran; several at the same time count once
  /// Without another kernel on its device; of several devices at the same time once.
  double alone_ns = 0.0;
};

namespace detail {

/// The legacy default stream, which blocking streams wait for, and it for them, by CUPTI's id.
inline constexpr std::uint32_t legacy_stream = 7;

/// A kernel that fills no more of the multiprocessors leaves room for another one of its size.
inline constexpr double small_fill = 0.5;

}  // namespace detail

/// The kernels of one stream in a mean step.
struct stream_time {
  std::uint32_t device = 0;  ///< ordinal
  std::uint32_t stream = 0;
  double kernels = 0.0;
  double ns = 0.0;
  /// Of kernels that fill small_fill of the multiprocessors at most; not of collectives, which
  /// leave some free by design.
  double small_ns = 0.0;
  double filled_ns = 0.0;  ///< of these, times the part of the multiprocessors that they fill
};

/// The kernels of one device in a mean step.
struct device_time {
  std::uint32_t device = 0;  ///< ordinal
  double ns = 0.0;           ///< sum of the kernels
  double overlap_ns = 0.0;   ///< the sum minus the time in which one or more ran
};

/// The mean step with what ran in it and why the device was idle. Units: ns of one step.
struct step_analysis : steps_summary {
  double overlap_ns = 0.0;  ///< of kernels of one device, of all devices together
  /// In which copies between host and device ran; several at the same time count once.
  double copies_ns = 0.0;
  double copies_alone_ns = 0.0;  ///< of that, without a kernel
  vec<idle_time> idle;           ///< the longest first
  vec<idle_time> idle_between;   ///< between steps, the longest first
  vec<step_idle> typical;        ///< the steps averaged in `idle`, with a timeline
  vec<graph_time> graphs;
  vec<copy_time> copies;          ///< the longest first
  vec<copy_time> copies_between;  ///< between steps, that no step launched
  vec<device_copy_time> device_copies;
  vec<collective_time> collectives;  ///< the longest first
  vec<stream_time> streams;          ///< the busiest first
  vec<device_time> devices;          ///< that ran kernels, the busiest first

  /// The name of the time that the amounts cover, in sentences.
  char const* whole() const noexcept {
    return !from_steps ? "run" : between_ns > 0.0 ? "period" : "step";
  }
  char const* one_whole() const noexcept {
    return !from_steps ? "the run" : between_ns > 0.0 ? "a period" : "a step";
  }

  /// The part of a period in which copies from and to the host ran, and no kernel.
  double period_copies_alone_ns() const noexcept {
    double sum = copies_alone_ns;
    for (copy_time const& each : copies_between) sum += each.alone_ns;
    return std::min(sum, period_busy_ns());
  }
  /// The part of a period in which copies from and to the host ran.
  double period_copies_ns() const noexcept {
    double sum = copies_ns;
    for (copy_time const& each : copies_between) sum += each.ns;
    return std::min(sum, period_busy_ns());
  }

  /// The part of idle time that is the program's, not what recorded steps take longer.
  double own_idle_part() const noexcept {
    double const idle_ns = step_idle_ns();
    if (!is_slowed() || !(idle_ns > 0.0)) return 1.0;
    return std::max(0.0, 1.0 - (active_ns - unrecorded_ns) / idle_ns);
  }
  /// Idle time of a recorded step, as it is without recording.
  double own_idle_ns(double recorded_ns) const noexcept { return recorded_ns * own_idle_part(); }

  /// The part of `active_ns` in which the device was idle.
  double active_idle_ns() const noexcept { return std::max(0.0, active_ns - active_busy_ns); }
  /// The same without the time in which work of no step ran.
  double step_idle_ns() const noexcept {
    return std::max(0.0, active_idle_ns() - stepless_busy_ns);
  }
  /// Idle time of a period for one cause, as it is without recording.
  double idle_of(idle_cause cause) const noexcept {
    double sum = 0.0;
    for (idle_time const& time : idle)
      if (time.cause == cause) sum += own_idle_ns(time.ns);
    for (idle_time const& time : idle_between)
      if (time.cause == cause) sum += time.ns;
    return sum;
  }
};

/// The mean step of a profile, with its idle time by cause, its copies, collectives, streams and
/// devices. Rows are those of the folded tree; `ranges` has one row a path and index.
/// Cost: O(r) for r records, and O(w log w) for the w that are looked at.
step_analysis make_steps(profile const& source, call_tree const& folded,
                         vec<range_row> const& ranges);

STRATA_END

#endif  // STRATA_ANALYSE_STEPS_HPP
