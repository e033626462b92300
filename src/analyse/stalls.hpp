#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_STALLS_HPP
#define STRATA_ANALYSE_STALLS_HPP

// What warps wait for, and the fix that belongs to each reason.

#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/profile/metric_resolver.hpp>
#include <strata/profile/metric_set.hpp>
#include <strata/tables/counter_table.hpp>
#include "device_peaks.hpp"
#include "speed_of_light.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>

STRATA_BEGIN
namespace detail {

/// A reason for which warps do not issue, as the metrics name it.
struct stall_entry {
  std::string_view name;    ///< of `stall_NAME_share`
  std::string_view advice;  ///< what makes the wait shorter
  /// No good kernel waits for it much, whatever it computes.
  bool is_fault = false;
};

/// Source of `is_fault`: attention, softmax, norms and products at their best wait for memory, for
/// fixed latencies, for shared memory and for busy pipes (ncu, H200).
inline constexpr stall_entry stall_table[] = {
    {"long_scoreboard",
     "keep more loads in flight: more warps, several elements a thread, copies ahead by cp.async "
     "or TMA"},
    {"short_scoreboard",
     "use shared memory less often and wider (float4), and fewer exp, sin and divisions in a row"},
    {"barrier",
     "give the warps of a block equal work between barriers, use fewer __syncthreads(), or smaller "
     "blocks: one block's wait hides behind the others",
     true},
    {"membar", "use fewer fences, of a narrower scope: __threadfence_block(), acquire and release",
     true},
    {"wait",
     "give each thread several independent chains of operations, or keep more warps in flight"},
    {"math_pipe_throttle",
     "use fewer instructions of the busiest pipe, or spread them over other pipes"},
    {"lg_throttle", "access global and local memory less often and wider: float4, fewer arrays"},
    {"mio_throttle",
     "use fewer and wider instructions of shared memory, shuffles and special functions"},
    {"tex_throttle", "use fewer texture and surface accesses, or plain loads"},
    {"gmma", "start the next warpgroup product before the last one is waited for: more stages"},
    {"no_instruction",
     "make the code shorter, so that it fits the instruction cache: unroll and inline less, and "
     "leave rare paths out of the loop",
     true},
    {"imc_miss",
     "use fewer constants and kernel arguments at a time: read what differs by block or loop from "
     "shared or global memory",
     true},
    {"branch_resolving",
     "branch less: unroll short loops, use selections, and no switch or call by address", true},
    {"dispatch_stall", "mix instructions of several pipes, so that none is held back", true},
    {"sleeping", "sleep shorter, or let what is waited for come sooner: __nanosleep() and polling",
     true},
    {"drain", "store less at the end of each block: more work a block, coalesced stores", true},
    {"not_selected",
     "use fewer instructions: warps are ready while the schedulers issue others; fewer warps leave "
     "more cache to each"},
    {"misc", "look at the kernel's stalls by line with ncu"},
};

inline stall_entry const* find_stall(std::string_view name) noexcept {
  for (stall_entry const& known : stall_table)
    if (known.name == name) return &known;
  return nullptr;
}

/// What the warps of a row wait for most.
struct stall_share {
  stall_entry const* stall = nullptr;  ///< null if none was counted
  double part = 0.0;                   ///< of the time of the warps in flight
  double uncounted = 0.0;  ///< the part in which they wait for what was not counted; with those
                           ///< that issue, where that was not counted
};

/// Units: parts of the warps' time. Some stalls alone may have been counted (`findings` has those
/// that few passes hold).
inline stall_share longest_stall(counter_table const* counters, std::size_t row,
                                 counter_scope scope) {
  stall_share found;
  found.uncounted = 1.0;
  for (metric const& each : metric_list()) {
    std::string_view const name = stall_of(each.key());
    if (name.empty()) continue;
    double const part = counted_value(counters, row, each.key(), scope) / 100.0;
    if (!is_finite(part)) continue;
    if (name == "selected") {
      found.uncounted = 0.0;  // all of them were counted
      break;
    }
    found.uncounted -= part;
  }
  // Of the warps in flight in an SM some issue in a mean cycle, and wait for nothing.
  auto const value = [&](char const* key) { return counted_value(counters, row, key, scope); };
  double const issuing = schedulers * value("issue_ns") / value("time_ns");
  double const in_flight = value("achieved_occupancy") / 100.0 * value("warps_per_sm");
  if (issuing < in_flight) found.uncounted -= std::min(issuing / in_flight, found.uncounted);
  for (stall_entry const& each : stall_table) {
    if (each.name == "not_selected") continue;  // it waits for nothing: another warp issues
    std::string key(stall_prefix);
    key += each.name;
    key += stall_suffix;
    double const part = counted_value(counters, row, key, scope) / 100.0;
    if (is_finite(part) && part > found.part) found = {&each, part, found.uncounted};
  }
  return found;
}

}  // namespace detail
STRATA_END

#endif  // STRATA_ANALYSE_STALLS_HPP
