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
    {"cpu_cycles [cycles] = perf__cycles.sum: cycles of the CPU", lv::cpu, combine::sum},
    {"cpu_instructions [instructions] = perf__instructions.sum: instructions retired", lv::cpu,
     combine::sum},
    {"cpu_ipc [instructions/cycle] = cpu_instructions / cpu_cycles: instructions in a cycle",
     lv::cpu, combine::ratio},
    {"cpu_branches [branches] = perf__branches.sum: branches retired", lv::cpu, combine::sum},
    {"cpu_branch_misses [misses] = perf__branch_misses.sum: branches mispredicted", lv::cpu,
     combine::sum},
    {"cpu_branch_miss_rate [%] = 100 * cpu_branch_misses / cpu_branches: share of branches "
     "mispredicted",
     lv::cpu, combine::ratio},
    {"cpu_l1d_loads [loads] = perf__l1d_loads.sum: loads from the L1 data cache", lv::cpu,
     combine::sum},
    {"cpu_l1d_load_misses [misses] = perf__l1d_load_misses.sum: loads that the L1 data cache did "
     "not have; some CPUs count the fills",
     lv::cpu, combine::sum},
    {"cpu_l1d_miss_rate [%] = 100 * cpu_l1d_load_misses / cpu_l1d_loads: share of loads that the "
     "L1 data cache did not have",
     lv::cpu, combine::ratio},
    {"cpu_llc_references [references] = perf__cache_references.sum: accesses that the kernel calls "
     "cache-references: the last level on Intel, another on some CPUs",
     lv::cpu, combine::sum},
    {"cpu_llc_misses [misses] = perf__cache_misses.sum: accesses that the kernel calls "
     "cache-misses, of the same level",
     lv::cpu, combine::sum},
    {"cpu_llc_miss_rate [%] = 100 * cpu_llc_misses / cpu_llc_references: share of these accesses "
     "that missed",
     lv::cpu, combine::ratio},
    {"cpu_task_clock_ns [ns] = perf__task_clock.sum: time on a CPU, of all threads, in the kernel "
     "too",
     lv::cpu, combine::sum},
    {"cpu_page_faults [faults] = perf__page_faults.sum: page faults of user code, also those that "
     "need no disk",
     lv::cpu, combine::sum},
    {"cpu_context_switches [switches] = perf__context_switches.sum: times that a thread was taken "
     "from its CPU",
     lv::cpu, combine::sum},
};

/// The event with this name, or null where the formula is one over keys.
inline perf_event const* find_perf_event(std::string_view formula) noexcept {
  for (perf_event const& event : metric_catalogue::events) {
    if (event.counter == formula) return &event;
  }
  return nullptr;
}

/// Used like one of CUPTI's names: the GPU busy time of a timed step, which the trace gives.
/// Units: s.
inline constexpr std::string_view timed_input = "strata__timed_gpu_seconds";

// What follows from counts and times, as entries of the metric catalogue. A counted step is slow,
// so its own time is never used: rates divide its counts by the time of the timed steps.
#define STRATA_DETAIL_USE(KEY, WHAT, LEVEL)                                      \
  {                                                                              \
    KEY "_use [%] = " KEY "_ns / timed_gpu_seconds / 1e7: time at peak of " WHAT \
        " in the timed "                                                         \
        "GPU busy time",                                                         \
        LEVEL, combine::ratio                                                    \
  }

inline constexpr metric metric_catalogue::rates[] = {
    {"timed_gpu_seconds [s] = strata__timed_gpu_seconds: GPU busy time in a timed step, without "
     "counting: the mean over the timed steps, added up over devices",
     lv::device, combine::sum},

    {"hbm_bytes_per_second [B/s] = hbm_bytes / timed_gpu_seconds: counted bytes of device memory "
     "by timed GPU busy time",
     lv::hbm, combine::ratio},
    {"hbm_of_peak [%] = 100 * hbm_bytes_per_second / hbm_peak_bytes_per_second: of the roof of "
     "device memory",
     lv::hbm, combine::ratio},
    {"l2_bytes_per_second [B/s] = l2_bytes / timed_gpu_seconds: counted bytes of L2 by timed GPU "
     "busy time",
     lv::l2, combine::ratio},
    {"l2_of_peak [%] = 100 * l2_bytes_per_second / l2_peak_bytes_per_second: of the roof of L2",
     lv::l2, combine::ratio},
    {"l1_bytes_per_second [B/s] = l1_data_bytes / timed_gpu_seconds: counted bytes of L1's data "
     "path by timed GPU busy time",
     lv::l1, combine::ratio},
    {"l1_of_peak [%] = 100 * l1_bytes_per_second / l1_peak_bytes_per_second: of the roof of L1",
     lv::l1, combine::ratio},

    STRATA_DETAIL_USE("tensor", "the tensor cores", lv::sm),
    STRATA_DETAIL_USE("fma", "the pipe of multiply-adds", lv::sm),
    STRATA_DETAIL_USE("alu", "the pipe of integers and logic", lv::sm),
    STRATA_DETAIL_USE("fp64", "the FP64 pipe", lv::sm),
    STRATA_DETAIL_USE("xu", "the pipe of exp, sin and conversions", lv::sm),
    STRATA_DETAIL_USE("adu", "the pipe of barriers, votes and addresses", lv::sm),
    STRATA_DETAIL_USE("tma", "the pipe of TMA", lv::sm),
    STRATA_DETAIL_USE("tmem", "tensor memory", lv::sm),
    STRATA_DETAIL_USE("lsu", "the load and store pipe", lv::sm),
    STRATA_DETAIL_USE("issue", "the issue slots", lv::sm),
    STRATA_DETAIL_USE("shared", "L1's data path, for shared memory alone", lv::l1),
    STRATA_DETAIL_USE("l1", "L1", lv::l1),
    STRATA_DETAIL_USE("l2", "L2", lv::l2),
    STRATA_DETAIL_USE("hbm", "device memory", lv::hbm),
    STRATA_DETAIL_USE("pcie", "PCIe", lv::link),
    STRATA_DETAIL_USE("nvlink", "NVLink", lv::link),

    {"flop_per_second [FLOP/s] = flop / timed_gpu_seconds: counted operations without tensor cores "
     "by timed GPU busy time",
     lv::sm, combine::ratio},
    {"fp32_of_peak [%] = 100 * flop_fp32 / timed_gpu_seconds / fp32_peak_per_second: of the roof "
     "of FP32",
     lv::sm, combine::ratio},
    {"fp64_of_peak [%] = 100 * flop_fp64 / timed_gpu_seconds / fp64_peak_per_second: of the roof "
     "of FP64",
     lv::sm, combine::ratio},
    {"fp16_of_peak [%] = 100 * flop_fp16 / timed_gpu_seconds / fp16_peak_per_second: of the roof "
     "of FP16 without tensor cores",
     lv::sm, combine::ratio},
    {"tensor_flop_per_second [FLOP/s] = tensor_flop / timed_gpu_seconds: counted operations of "
     "tensor cores by timed GPU busy time",
     lv::sm, combine::ratio},
    {"tensor_of_peak [%] = 100 * tensor_peak_per_cycle * (0 * tensor_flop + share(?tensor_fp16 - "
     "?tensor_fp16_fp16, ?tensor_fp16_peak_per_cycle) + share(?tensor_fp16_fp16, "
     "?tensor_fp16_fp16_peak_per_cycle) + share(?tensor_bf16, ?tensor_peak_per_cycle) + "
     "share(?tensor_tf32, ?tensor_tf32_peak_per_cycle) + share(?tensor_fp8 - ?tensor_fp8_fp16, "
     "?tensor_fp8_peak_per_cycle) + share(?tensor_fp8_fp16, ?tensor_fp8_fp16_peak_per_cycle) + "
     "share(?tensor_fp4, ?tensor_fp4_peak_per_cycle)) / timed_gpu_seconds / "
     "tensor_peak_per_second: of the dense roofs of the formats and of their sums, each at its own",
     lv::sm, combine::ratio},

    {"flop_per_hbm_byte [FLOP/B] = (flop + ?tensor_flop) / hbm_bytes | tensor_flop / hbm_bytes: "
     "arithmetic intensity: counted operations per byte of device memory",
     lv::hbm, combine::ratio},
};

#undef STRATA_DETAIL_USE

}  // namespace detail
STRATA_END
STRATA_DETAIL_END_CODE

#endif  // STRATA_PROFILE_METRIC_RATES_HPP
