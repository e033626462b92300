#ifndef STRATA_ANALYSE_COLUMN_MEANINGS_HPP
#define STRATA_ANALYSE_COLUMN_MEANINGS_HPP

// What the columns of tables/columns.hpp mean, in the same order: the page and `strata help` show
// it, comparisons add values up by it.

#include <strata/base/macros.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

STRATA_BEGIN
namespace detail {

/// How the values of a column go together over ranges and steps.
enum class column_sum : std::uint8_t {
  amount,      ///< they add up
  first_step,  ///< they add up over ranges, and are of one step
  call,        ///< of a call, or of a time: they do not add up
  identity     ///< which row it is, and where; a text: no value of it
};

/// How a sentence names an amount of a column: "launches 12 us", "12 launches"; or nothing where no
/// sentence has it.
struct column_words {
  std::string_view many = {};
  std::string_view one = {};  ///< of a count that is 1
};
constexpr column_words in_words(std::string_view many, std::string_view one = {}) noexcept {
  return {many, one};
}

struct column_meaning {
  std::string_view key;
  std::string_view unit;     ///< "ns", "B", or nothing where it is a count or a text
  std::string_view meaning;  ///< one sentence, without its full stop
  column_sum sum = column_sum::amount;
  column_words words = {};
};

/// The meaning of that column; null where there is none.
template <std::size_t Count>
constexpr column_meaning const* meaning_of(column_meaning const (&all)[Count],
                                           std::string_view key) noexcept {
  for (column_meaning const& each : all)
    if (each.key == key) return &each;
  return nullptr;
}

/// ranges.csv.
inline constexpr column_meaning range_meanings[] = {
    {"rank", "", "the rank of a distributed run; empty in others", column_sum::identity},
    {"path_id", "", "the number of the range, the same in all files of the run",
     column_sum::identity},
    {"parent_path_id", "", "the number of the range around it", column_sum::identity},
    {"path", "", "the names from the outermost range to this one, such as block[3]/attention",
     column_sum::identity},
    {"name", "", "the last name of the path", column_sum::identity},
    {"index", "", "the index of the range; * stands for indices beyond 4,096",
     column_sum::identity},
    {"depth", "", "the level of the range; the sum of everything has level 0",
     column_sum::identity},
    {"calls", "", "recorded calls", column_sum::amount, in_words("calls", "call")},
    {"host_total_ns", "ns", "host time of all threads, summed over the calls"},
    {"host_self_ns", "ns", "host time without the ranges inside it", column_sum::amount,
     in_words("by itself on the host")},
    {"host_min_ns", "ns", "host time of the shortest call", column_sum::call},
    {"host_p50_ns", "ns", "the median of the host times of calls, within 1 %", column_sum::call,
     in_words("median call")},
    {"host_p95_ns", "ns", "the host time that 95 % of the calls do not exceed, within 1 %",
     column_sum::call, in_words("call at 95 %")},
    {"host_max_ns", "ns", "host time of the longest call", column_sum::call},
    {"host_mean_ns", "ns", "the mean of the host times of calls", column_sum::call,
     in_words("mean call")},
    {"host_stddev_ns", "ns", "the standard deviation of the host times of calls", column_sum::call},
    {"first_step_calls", "", "calls in the first recorded step", column_sum::first_step},
    {"first_step_host_ns", "ns", "host time in the first recorded step", column_sum::first_step},
    {"step_share", "", "the part of the calls that lies in steps, 0 to 1", column_sum::identity},
    {"launches_self", "",
     "driver calls of the range alone that put work on the GPU, or into a captured graph"},
    {"launches", "", "driver calls that put work on the GPU, or into a captured graph"},
    {"launch_self_ns", "ns", "host time in launches, copies and fills of the range alone",
     column_sum::amount, in_words("in its own launches")},
    {"launch_ns", "ns", "host time in launches, copies and fills", column_sum::amount,
     in_words("in launch calls")},
    {"kernels_self", "", "kernels that ran and were launched by the range alone",
     column_sum::amount, in_words("kernels of its own", "kernel of its own")},
    {"kernels", "", "kernels that ran; those of a graph count for the range that launched it",
     column_sum::amount, in_words("kernels", "kernel")},
    {"gpu_kernel_self_ns", "ns", "the sum of the durations of kernels of the range alone",
     column_sum::amount, in_words("in its own kernels")},
    {"gpu_kernel_ns", "ns", "the sum of the durations of kernels; overlapping ones count each",
     column_sum::amount, in_words("in kernels")},
    {"gpu_busy_ns", "ns",
     "time in which a kernel or copy of the range ran; overlapping work counts once",
     column_sum::amount, in_words("GPU busy")},
    {"span_ns", "ns",
     "time from the start of a call to the later of its end and the end of its last GPU work, "
     "summed over the calls; empty if the timeline is incomplete"},
    {"copies_self", "", "copies and fills of the range alone", column_sum::amount,
     in_words("copies", "copy")},
    {"copies", "", "copies and fills"},
    {"gpu_copy_self_ns", "ns", "GPU time of copies and fills of the range alone",
     column_sum::amount, in_words("in its own copies")},
    {"gpu_copy_ns", "ns", "GPU time of copies and fills"},
    {"h2d_bytes", "B", "bytes copied from the host to a GPU", column_sum::amount,
     in_words("copied to the GPU")},
    {"d2h_bytes", "B", "bytes copied from a GPU to the host", column_sum::amount,
     in_words("copied from the GPU")},
    {"d2d_bytes", "B", "bytes copied within one GPU"},
    {"other_copy_bytes", "B", "bytes copied in other directions"},
    {"set_bytes", "B", "bytes filled"},
    {"synchronizations", "", "waits of the host for the GPU", column_sum::amount,
     in_words("waits of the host", "wait of the host")},
    {"synchronization_ns", "ns", "host time in which it waited for the GPU"},
    {"allocations", "", "allocations, also of pinned memory of the host", column_sum::amount,
     in_words("allocations", "allocation")},
    {"allocated_bytes", "B", "bytes allocated, also of pinned memory of the host",
     column_sum::amount, in_words("allocated")},
    {"releases", "", "releases of memory, also of pinned memory of the host"},
    {"released_bytes", "B", "bytes released, also of pinned memory of the host"},
    {"peak_bytes", "B",
     "most device memory that the range and the ranges inside it held at one time",
     column_sum::call},
    {"graph_kernels", "",
     "kernels that the range captured and another range launched; that one has them in kernels"},
    {"graph_kernel_ns", "ns",
     "GPU time of kernels that it captured; busy where the graph is launched"},
    {"migrated_bytes_h2d", "B", "bytes of managed memory that moved to a GPU", column_sum::amount,
     in_words("migrated to the GPU")},
    {"migrated_bytes_d2h", "B", "bytes of managed memory that moved to the host",
     column_sum::amount, in_words("migrated to the host")},
    {"gpu_page_faults", "", "page faults of GPUs in managed memory", column_sum::amount,
     in_words("page faults of the GPU", "page fault of the GPU")},
    {"migration_ns", "ns", "time of the migrations of managed memory, added up", column_sum::amount,
     in_words("in migrations")},
    {"adopted_kernels", "", "the part of kernels that comes from threads in no range"},
    {"adopted_ns", "ns", "GPU time of work from threads in no range"},
    {"p2p_copies", "", "the part of copies that goes from one GPU to another"},
    {"p2p_bytes", "B", "bytes copied from one GPU to another"},
    {"p2p_ns", "ns", "the sum of the durations of copies from one GPU to another"},
    {"flops", "FLOP", "floating-point operations that the range itself declares",
     column_sum::amount, in_words("declared")},
    {"bytes", "B", "bytes that the range itself declares", column_sum::amount,
     in_words("declared")},
    {"tokens", "tokens", "tokens that the range itself declares"},
    {"shape", "", "the declared shape of the last call; ... follows a shape that changed",
     column_sum::identity},
    {"note", "", "the note of the last call", column_sum::identity},
    {"first_step_gpu_busy_ns", "ns", "GPU busy time of the first recorded step",
     column_sum::first_step},
    {"other_threads_ns", "ns", "the part of the host time in threads that drive no steps"},
    {"thread", "", "the thread, if all calls are in threads that drive no steps",
     column_sum::identity},
    {"collective_bytes", "B",
     "bytes of the messages of NCCL's calls, with nvtx=in; empty if NVTX gives none"},
};

/// kernels.csv.
inline constexpr column_meaning kernel_meanings[] = {
    {"rank", "", "the rank of a distributed run; empty in others", column_sum::identity},
    {"path_id", "", "the number of the range that launched the kernel", column_sum::identity},
    {"path", "", "the path of the range", column_sum::identity},
    {"kernel", "", "the name of the kernel without namespaces and arguments", column_sum::identity},
    {"demangled", "", "the full name of the kernel", column_sum::identity},
    {"mangled", "", "the name of the kernel as the driver has it; in profile.json alone",
     column_sum::identity},
    {"count", "", "launches"},
    {"total_ns", "ns", "the sum of the durations of launches", column_sum::amount,
     in_words("in its launches")},
    {"min_ns", "ns", "the duration of the shortest launch", column_sum::call},
    {"p50_ns", "ns", "the median of the durations, within 1 %", column_sum::call},
    {"p95_ns", "ns", "the duration that 95 % of the launches do not exceed, within 1 %",
     column_sum::call},
    {"max_ns", "ns", "the duration of the longest launch", column_sum::call},
    {"mean_ns", "ns", "the mean of the durations", column_sum::call},
    {"stddev_ns", "ns", "the standard deviation of the durations", column_sum::call},
    {"blocks_min", "", "blocks of the smallest grid", column_sum::call},
    {"blocks_median", "", "the median of the blocks of a grid, within 1 %", column_sum::call,
     in_words("blocks of a launch", "block of a launch")},
    {"blocks_mean", "", "the mean of the blocks of a grid", column_sum::call,
     in_words("blocks of a launch", "block of a launch")},
    {"blocks_max", "", "blocks of the largest grid", column_sum::call},
    {"block_threads_min", "", "threads of the smallest block", column_sum::call},
    {"block_threads_max", "", "threads of the largest block", column_sum::call},
    {"warps_per_block", "", "the mean of the warps of a block", column_sum::call},
    {"registers_per_thread", "", "registers of a thread, the most of all launches",
     column_sum::call, in_words("registers of a thread", "register of a thread")},
    {"static_shared_bytes", "B", "static shared memory of a block, the most of all launches",
     column_sum::call},
    {"dynamic_shared_bytes", "B", "dynamic shared memory of a block, the most of all launches",
     column_sum::call},
    {"sm_utilisation", "", "min(4, warps per block) / 4, weighted by time: a model of the launch",
     column_sum::call},
    {"gpu_utilisation", "", "min(SMs, blocks) / SMs x sm_utilisation: a model of the launch",
     column_sum::call},
    {"first_step_count", "", "launches in the first recorded step", column_sum::first_step},
    {"first_step_ns", "ns", "the sum of their durations", column_sum::first_step},
    {"collective", "", "what the GPUs do together in the kernel, by its name; empty for others",
     column_sum::identity},
    {"algorithm", "", "the algorithm of NCCL, where the name of the kernel has it",
     column_sum::identity},
    {"protocol", "", "the protocol of NCCL, where the name of the kernel has it",
     column_sum::identity},
};

/// memory.csv.
inline constexpr column_meaning allocation_meanings[] = {
    {"rank", "", "the rank of a distributed run; empty in others", column_sum::identity},
    {"path_id", "", "the number of the range that allocated", column_sum::identity},
    {"path", "", "the path of the range", column_sum::identity},
    {"address", "", "where the memory is", column_sum::identity},
    {"bytes", "B", "how large it is"},
    {"kind", "", "device, managed, pinned, pageable, array, device_static or managed_static",
     column_sum::identity},
    {"asynchronous", "", "1 for cudaMallocAsync", column_sum::identity},
    {"device", "", "the GPU", column_sum::identity},
    {"stream", "", "the stream of an asynchronous allocation", column_sum::identity},
    {"allocated_at_ns", "ns", "when it was allocated, since the session began", column_sum::call},
    {"released_at_ns", "ns", "when it was released, since the session began; empty if it was not",
     column_sum::call},
    {"released_in", "", "the path of the range that released it", column_sum::identity},
    {"purpose", "", "the innermost STRATA_MEMORY around the allocation, or other",
     column_sum::identity},
};

/// spans.csv.
inline constexpr column_meaning span_meanings[] = {
    {"rank", "", "the rank of a distributed run; empty in others", column_sum::identity},
    {"kind", "", "range or mark", column_sum::identity},
    {"domain", "", "the domain of NVTX", column_sum::identity},
    {"name", "", "the text of NVTX", column_sum::identity},
    {"step", "", "the step in which it began; empty outside of steps", column_sum::identity},
    {"thread", "", "the thread in which it began", column_sum::identity},
    {"end_thread", "", "the thread in which it ended", column_sum::identity},
    {"begin_ns", "ns", "when it began, since the session began", column_sum::call},
    {"end_ns", "ns", "when it ended, since the session began", column_sum::call},
    {"duration_ns", "ns", "the time between them"},
};

/// counters.csv and cpu_counters.csv.
inline constexpr column_meaning counter_meanings[] = {
    {"rank", "", "the rank of a distributed run; empty in others", column_sum::identity},
    {"path_id", "", "the number of the range", column_sum::identity},
    {"path", "", "the path of the range", column_sum::identity},
    {"metric", "", "the name of the metric", column_sum::identity},
    {"value", "", "the value of one step; of the CPU the sum over all calls"},
    {"unit", "", "the unit of the value", column_sum::identity},
    {"scope", "", "self: of the range alone; total: with the ranges inside it",
     column_sum::identity},
    {"method", "",
     "counted; derived from counts; timed; counted+timed, a count of a counting step by the "
     "time of a timed one; sampled; or modelled",
     column_sum::identity},
    {"passes", "", "the counting steps that it took", column_sum::identity},
    {"note", "", "why the cell is empty, or what to know about the value", column_sum::identity},
    {"plus_minus", "",
     "of sampled and modelled values: half of an interval meant for 95 % of the true ones"},
};

}  // namespace detail
STRATA_END

#endif  // STRATA_ANALYSE_COLUMN_MEANINGS_HPP
