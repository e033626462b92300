#include <strata/version.hpp>
#ifndef STRATA_PROFILE_PERF_CATALOGUE_HPP
#define STRATA_PROFILE_PERF_CATALOGUE_HPP

#include <strata/base/macros.hpp>
#include <strata/profile/metric_catalogue.hpp>

#include <cstdint>
#include <string_view>

STRATA_BEGIN

namespace detail {

/// Events that are read together, with one read.
enum class perf_set : std::uint8_t { core, cache, software };

/// What the kernel counts.
struct perf_event {
  std::string_view counter;  ///< its name in formulas
  std::uint32_t type;        ///< 0: hardware, 1: software, 3: caches
  std::uint64_t config;
  perf_set set;
  bool in_kernel = false;  ///< happens in the kernel: user space alone never counts it
};

// The CPU's metrics, by perf's terms. Counters of software run all the time; those of hardware are
// scaled by the time that they had.
struct perf_catalogue {
  using lv = metric_level;
  using by = metric_combine;
  static const perf_event events[];
  static const metric entries[];
  static constexpr std::string_view preset = "cpu";  ///< all of them
};

inline constexpr perf_event perf_catalogue::events[] = {
    {"perf__cycles.sum", 0, 0, perf_set::core},
    {"perf__instructions.sum", 0, 1, perf_set::core},
    {"perf__branches.sum", 0, 4, perf_set::core},
    {"perf__branch_misses.sum", 0, 5, perf_set::core},
    {"perf__l1d_loads.sum", 3, 0x00000, perf_set::cache},
    {"perf__l1d_load_misses.sum", 3, 0x10000, perf_set::cache},
    {"perf__cache_references.sum", 0, 2, perf_set::cache},
    {"perf__cache_misses.sum", 0, 3, perf_set::cache},
    {"perf__task_clock.sum", 1, 1, perf_set::software},
    {"perf__page_faults.sum", 1, 2, perf_set::software},
    {"perf__context_switches.sum", 1, 3, perf_set::software, true},
};

inline constexpr metric perf_catalogue::entries[] = {
    {"cpu_cycles", "cycles", lv::cpu, by::sum, "perf__cycles.sum", "cycles of the CPU"},
    {"cpu_instructions", "instructions", lv::cpu, by::sum, "perf__instructions.sum",
     "instructions retired"},
    {"cpu_ipc", "instructions/cycle", lv::cpu, by::ratio, "cpu_instructions / cpu_cycles",
     "instructions in a cycle"},
    {"cpu_branches", "branches", lv::cpu, by::sum, "perf__branches.sum", "branches retired"},
    {"cpu_branch_misses", "misses", lv::cpu, by::sum, "perf__branch_misses.sum",
     "branches mispredicted"},
    {"cpu_branch_miss_rate", "%", lv::cpu, by::ratio, "100 * cpu_branch_misses / cpu_branches",
     "share of branches mispredicted"},
    {"cpu_l1d_loads", "loads", lv::cpu, by::sum, "perf__l1d_loads.sum",
     "loads from the L1 data cache"},
    {"cpu_l1d_load_misses", "misses", lv::cpu, by::sum, "perf__l1d_load_misses.sum",
     "loads that the L1 data cache did not have; some CPUs count the fills"},
    {"cpu_l1d_miss_rate", "%", lv::cpu, by::ratio, "100 * cpu_l1d_load_misses / cpu_l1d_loads",
     "share of loads that the L1 data cache did not have"},
    {"cpu_llc_references", "references", lv::cpu, by::sum, "perf__cache_references.sum",
     "accesses that the kernel calls cache-references: the last level on Intel, another on some "
     "CPUs"},
    {"cpu_llc_misses", "misses", lv::cpu, by::sum, "perf__cache_misses.sum",
     "accesses that the kernel calls cache-misses, of the same level"},
    {"cpu_llc_miss_rate", "%", lv::cpu, by::ratio, "100 * cpu_llc_misses / cpu_llc_references",
     "share of these accesses that missed"},
    {"cpu_task_clock_ns", "ns", lv::cpu, by::sum, "perf__task_clock.sum",
     "time on a CPU, of all threads, in the kernel too"},
    {"cpu_page_faults", "faults", lv::cpu, by::sum, "perf__page_faults.sum",
     "page faults of user code, also those that need no disk"},
    {"cpu_context_switches", "switches", lv::cpu, by::sum, "perf__context_switches.sum",
     "times that a thread was taken from its CPU"},
};

/// The entry with this key, or null.
inline metric const* find_perf_metric(std::string_view key) noexcept {
  for (metric const& each : perf_catalogue::entries) {
    if (each.key == key) return &each;
  }
  return nullptr;
}

/// The event with this name, or null where the formula is one over keys.
inline perf_event const* find_perf_event(std::string_view formula) noexcept {
  for (perf_event const& each : perf_catalogue::events) {
    if (each.counter == formula) return &each;
  }
  return nullptr;
}

}  // namespace detail

STRATA_END

#endif  // STRATA_PROFILE_PERF_CATALOGUE_HPP
