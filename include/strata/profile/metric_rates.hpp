#ifndef STRATA_PROFILE_METRIC_RATES_HPP
#define STRATA_PROFILE_METRIC_RATES_HPP

#include <strata/profile/metric_catalogue.hpp>

STRATA_DETAIL_COLD_CODE
STRATA_BEGIN
namespace detail {

// The CPU's metrics, by perf's terms. Hardware events are scaled by the time that they ran.
inline constexpr perf_event metric_catalogue::events[] = {
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

inline constexpr metric metric_catalogue::cpu[] = {
    "cpu cpu_cycles [cycles] = perf__cycles.sum: cycles of the CPU",
    "cpu cpu_instructions [instructions] = perf__instructions.sum: instructions retired",
    "cpu cpu_ipc [instructions/cycle] = cpu_instructions / cpu_cycles: instructions in a cycle",
    "cpu cpu_branches [branches] = perf__branches.sum: branches retired",
    "cpu cpu_branch_misses [misses] = perf__branch_misses.sum: branches mispredicted",
    "cpu cpu_branch_miss_rate [%] = 100 * cpu_branch_misses / cpu_branches: share of branches "
    "mispredicted",
    "cpu cpu_l1d_loads [loads] = perf__l1d_loads.sum: loads from the L1 data cache",
    "cpu cpu_l1d_load_misses [misses] = perf__l1d_load_misses.sum: loads that the L1 data cache "
    "did not have; some CPUs count the fills",
    "cpu cpu_l1d_miss_rate [%] = 100 * cpu_l1d_load_misses / cpu_l1d_loads: share of loads that "
    "the L1 data cache did not have",
    "cpu cpu_llc_references [references] = perf__cache_references.sum: accesses that the kernel "
    "calls cache-references: the last level on Intel, another on some CPUs",
    "cpu cpu_llc_misses [misses] = perf__cache_misses.sum: accesses that the kernel calls "
    "cache-misses, of the same level",
    "cpu cpu_llc_miss_rate [%] = 100 * cpu_llc_misses / cpu_llc_references: share of these "
    "accesses that missed",
    "cpu cpu_task_clock_ns [ns] = perf__task_clock.sum: time on a CPU, of all threads, in the "
    "kernel too",
    "cpu cpu_page_faults [faults] = perf__page_faults.sum: page faults of user code, also those "
    "that need no disk",
    "cpu cpu_context_switches [switches] = perf__context_switches.sum: times that a thread was "
    "taken from its CPU",
};

/// The event with this name, or null where the formula is one over keys.
inline perf_event const* find_perf_event(std::string_view formula) noexcept {
  for (perf_event const& event : metric_catalogue::events) {
    if (event.counter == formula) return &event;
  }
  return nullptr;
}

/// Used like one of CUPTI's names: the GPU busy time of a timed step, from the trace. Units: s.
inline constexpr std::string_view timed_input = "strata__timed_gpu_seconds";

// What follows from counts and times, as entries of the metric catalogue. A counted step is slow,
// so its own time is never used: rates divide its counts by the time of the timed steps.
#define STRATA_DETAIL_USE(LEVEL, KEY, WHAT)                                              \
  LEVEL " " KEY "_use [%] = " KEY "_ns / timed_gpu_seconds / 1e7: time at peak of " WHAT \
        " in the timed GPU busy time"

inline constexpr metric metric_catalogue::rates[] = {
    "device timed_gpu_seconds [s] = strata__timed_gpu_seconds: GPU busy time in a timed step, "
    "without counting: the mean over the timed steps, added up over devices",

    "hbm hbm_bytes_per_second [B/s] = hbm_bytes / timed_gpu_seconds: counted bytes of device "
    "memory by timed GPU busy time",
    "hbm hbm_of_peak [%] = 100 * hbm_bytes_per_second / hbm_peak_bytes_per_second: of the roof of "
    "device memory",
    "l2 l2_bytes_per_second [B/s] = l2_bytes / timed_gpu_seconds: counted bytes of L2 by timed "
    "GPU busy time",
    "l2 l2_of_peak [%] = 100 * l2_bytes_per_second / l2_peak_bytes_per_second: of the roof of L2",
    "l1 l1_bytes_per_second [B/s] = l1_data_bytes / timed_gpu_seconds: counted bytes of L1's data "
    "path by timed GPU busy time",
    "l1 l1_of_peak [%] = 100 * l1_bytes_per_second / l1_peak_bytes_per_second: of the roof of L1",

    STRATA_DETAIL_USE("sm", "tensor", "the tensor cores"),
    STRATA_DETAIL_USE("sm", "fma", "the pipe of multiply-adds"),
    STRATA_DETAIL_USE("sm", "alu", "the pipe of integers and logic"),
    STRATA_DETAIL_USE("sm", "fp64", "the FP64 pipe"),
    STRATA_DETAIL_USE("sm", "xu", "the pipe of exp, sin and conversions"),
    STRATA_DETAIL_USE("sm", "adu", "the pipe of barriers, votes and addresses"),
    STRATA_DETAIL_USE("sm", "tma", "the pipe of TMA"),
    STRATA_DETAIL_USE("sm", "tmem", "tensor memory"),
    STRATA_DETAIL_USE("sm", "lsu", "the load and store pipe"),
    STRATA_DETAIL_USE("sm", "issue", "the issue slots"),
    STRATA_DETAIL_USE("l1", "shared", "L1's data path, for shared memory alone"),
    STRATA_DETAIL_USE("l1", "l1", "L1"),
    STRATA_DETAIL_USE("l2", "l2", "L2"),
    STRATA_DETAIL_USE("hbm", "hbm", "device memory"),
    STRATA_DETAIL_USE("link", "pcie", "PCIe"),
    STRATA_DETAIL_USE("link", "nvlink", "NVLink"),

    "sm flop_per_second [FLOP/s] = flop / timed_gpu_seconds: counted operations without tensor "
    "cores by timed GPU busy time",
    "sm fp32_of_peak [%] = 100 * flop_fp32 / timed_gpu_seconds / fp32_peak_per_second: of the "
    "roof of FP32",
    "sm fp64_of_peak [%] = 100 * flop_fp64 / timed_gpu_seconds / fp64_peak_per_second: of the "
    "roof of FP64",
    "sm fp16_of_peak [%] = 100 * flop_fp16 / timed_gpu_seconds / fp16_peak_per_second: of the "
    "roof of FP16 without tensor cores",
    "sm tensor_flop_per_second [FLOP/s] = tensor_flop / timed_gpu_seconds: counted operations of "
    "tensor cores by timed GPU busy time",
    "sm tensor_of_peak [%] = 100 * tensor_peak_per_cycle * (0 * tensor_flop + share(?tensor_fp16 "
    "- ?tensor_fp16_fp16, ?tensor_fp16_peak_per_cycle) + share(?tensor_fp16_fp16, "
    "?tensor_fp16_fp16_peak_per_cycle) + share(?tensor_bf16, ?tensor_peak_per_cycle) + "
    "share(?tensor_tf32, ?tensor_tf32_peak_per_cycle) + share(?tensor_fp8 - ?tensor_fp8_fp16, "
    "?tensor_fp8_peak_per_cycle) + share(?tensor_fp8_fp16, ?tensor_fp8_fp16_peak_per_cycle) + "
    "share(?tensor_fp4, ?tensor_fp4_peak_per_cycle)) / timed_gpu_seconds / "
    "tensor_peak_per_second: of the dense roofs of the formats and of their sums, each at its own",

    "hbm flop_per_hbm_byte [FLOP/B] = (flop + ?tensor_flop) / hbm_bytes | tensor_flop / "
    "hbm_bytes: arithmetic intensity: counted operations per byte of device memory",
};

#undef STRATA_DETAIL_USE

}  // namespace detail
STRATA_END
STRATA_DETAIL_END_CODE

#endif  // STRATA_PROFILE_METRIC_RATES_HPP
