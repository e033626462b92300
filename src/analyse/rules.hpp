#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_RULES_HPP
#define STRATA_ANALYSE_RULES_HPP

// The rules: functions of a context that return candidates. The judge (findings.cpp) turns the
// candidates of a rule into findings.

#include <strata/base/macros.hpp>
#include "findings.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

STRATA_BEGIN
namespace detail {

class rule_context;

/// Time of a range's own kernels that a cause takes: no later rule gains it again.
struct time_claim {
  std::size_t row = 0;
  double ns = 0.0;        ///< of a step
  bool is_apart = false;  ///< it is that of other kernels, and explains nothing of the rest
};

/// A cause that a rule sees in one range, before the judge weighs it.
struct candidate {
  std::size_t row = 0;
  std::string path;
  std::string kernel;                ///< the kernel it concerns; "": the range
  bool of_step = false;              ///< not of a range, nor of what is outside ranges
  bool between = false;              ///< steps
  double cost_ns = 0.0;              ///< of a period; 0: the numbers are in doubt
  std::string title;                 ///< one sentence without its full stop
  std::string_view advice;           ///< "": that of the rule
  std::optional<finding_part> part;  ///< without one: that of the rule
  std::vector<finding_evidence> evidence;
  std::string_view needs;  ///< `counters=...` that would tell more
  double launches = 0.0;   ///< the part of the range's own launches that goes too, from 0 to 1
  double best_ns = 0.0;    ///< as in finding_range
  double idle_ns = 0.0;    ///< as in finding_range
  std::vector<time_claim> claims;

  /// Adds a value of the range as evidence. What is not known is none.
  void prove(std::string_view column, double value, std::string_view unit);
  /// The same if the value is not 0: next to a cost, 0 says nothing.
  void prove_some(std::string_view column, double value, std::string_view unit);
};

/// What a rule says of a profile.
struct rule_result {
  std::vector<candidate> candidates;
  std::string title;                 ///< with the amounts of all candidates; "": each has its own
  std::string_view advice;           ///< of all candidates; "": each has its own
  bool has_data = true;              ///< false: no range has the counters that the rule needs
  std::string_view lacks;            ///< where it has no data: one of these counters
  std::vector<undecided_rule> open;  ///< ranges that it could not judge; without the rule's name
};

/// A rule as the judge runs it, and as documentation and reports name it.
struct finding_rule {
  std::string_view id;      ///< as in docs/reference/findings.md
  std::string_view cause;   ///< in a few words; "" where it never shortens a step
  std::string_view advice;  ///< what to try
  deciding needs;           ///< the counters without which `look` has no data
  rule_result (*look)(rule_context const&);
  finding_part part;              ///< what of a range gets shorter without the cause
  bool by_kernel = false;         ///< judges each kernel that was counted one by one
  std::string_view pytorch = {};  ///< the advice for programs of PyTorch; "": `advice`
};

// Idle time of the GPU, copies and streams (idle_rules.cpp).
rule_result exposed_communication(rule_context const& run);
rule_result managed_memory(rule_context const& run);
rule_result launch_bound(rule_context const& run);
rule_result wait_in_step(rule_context const& run);
rule_result stops_of_ranges(rule_context const& run);
rule_result allocation_in_step(rule_context const& run);
rule_result graph_rebuild(rule_context const& run);
rule_result host_work(rule_context const& run);
rule_result gap_between_ranges(rule_context const& run);
rule_result pageable_copy(rule_context const& run);
rule_result copy_in_step(rule_context const& run);
rule_result device_copy(rule_context const& run);
rule_result serialised_streams(rule_context const& run);

// Kernels of single ranges (kernel_rules.cpp).
rule_result fp64_by_accident(rule_context const& run);
rule_result uncoalesced(rule_context const& run);
rule_result register_spills(rule_context const& run);
rule_result bank_conflicts(rule_context const& run);
rule_result shared_work(rule_context const& run);
rule_result few_blocks(rule_context const& run);
rule_result atomics(rule_context const& run);
rule_result extra_traffic(rule_context const& run);
rule_result tail_wave(rule_context const& run);
rule_result low_occupancy(rule_context const& run);

// Of these, matrix products (product_rules.cpp).
rule_result fp32_without_tensor(rule_context const& run);
rule_result fp16_without_tensor(rule_context const& run);
rule_result fp64_without_tensor(rule_context const& run);
rule_result unaligned_product(rule_context const& run);
rule_result small_tiles(rule_context const& run);

// Instructions that good code would not need (instruction_rules.cpp).
rule_result conversions(rule_context const& run);
rule_result divergence(rule_context const& run);
rule_result unfused(rule_context const& run);
rule_result integer_work(rule_context const& run);
rule_result arithmetic_work(rule_context const& run);
rule_result divergent_addresses(rule_context const& run);

// Work that is not spread evenly (balance_rules.cpp).
rule_result host_memory(rule_context const& run);
rule_result sm_imbalance(rule_context const& run);
rule_result memory_imbalance(rule_context const& run);

// What warps wait for (stall_rules.cpp).
rule_result occupancy_gap(rule_context const& run);
rule_result latency_bound(rule_context const& run);

// Data that need not be moved or made (data_rules.cpp).
rule_result copying_kernel(rule_context const& run);
rule_result unread_results(rule_context const& run);

// Kernels that follow each other (fusion_rules.cpp).
rule_result fusion_of_kernels(rule_context const& run);

// Steps as a whole, and calls that vary (step_rules.cpp).
rule_result varying_calls(rule_context const& run);
rule_result preempted(rule_context const& run);
rule_result host_waits(rule_context const& run);
rule_result steps_drift(rule_context const& run);
rule_result slow_step(rule_context const& run);
rule_result first_step(rule_context const& run);

// Numbers to doubt (doubt_rules.cpp).
rule_result declared_work(rule_context const& run);
rule_result above_roof(rule_context const& run);
rule_result untrusted(rule_context const& run);
rule_result merged_ranges(rule_context const& run);
rule_result own_cost(rule_context const& run);

/// In the order in which they run: what explains a range's kernels comes before what only says
/// that they are slow. tests/script/check_findings.py compares it with docs/reference/findings.md.
inline constexpr finding_rule finding_rules[] = {
    {"exposed-communication", "communication that no kernel hides",
     "overlap collectives with computation, send less, or ask strata ranks who is waited for",
     deciding::nothing, &exposed_communication, finding_part::kernels},
    {"managed-memory", "pages of managed memory",
     "prefetch it (cudaMemPrefetchAsync), advise where it is read, or copy once with "
     "cudaMemcpyAsync",
     deciding::nothing, &managed_memory, finding_part::kernels},
    {"launch-bound", "kernels launched one by one",
     "launch a CUDA graph of the step, fuse kernels, or give each launch more work",
     deciding::nothing, &launch_bound, finding_part::launches, false,
     "torch.compile(mode=\"reduce-overhead\") or torch.cuda.CUDAGraph for the step, a larger "
     "batch, or fused=True in the optimizer"},
    {"wait-in-step", "waits of the host",
     "wait once a step, or use events between streams: the host can launch ahead meanwhile",
     deciding::nothing, &wait_in_step, finding_part::waits, false,
     "keep results on the GPU, and read them every few steps: .item(), .cpu(), .tolist(), "
     "nonzero() and printing a tensor wait for it"},
    {"stops-of-ranges", "ranges that stop the program",
     "nothing in the program: time its step without these ranges (llama.cpp: without "
     "ggml_ranges::attach), and keep them for what their kernels do",
     deciding::nothing, &stops_of_ranges, finding_part::waits},
    {"allocation-in-step", "allocations",
     "allocate before the loop, or use a pool: cudaMallocAsync with a release threshold",
     deciding::nothing, &allocation_in_step, finding_part::allocations, false,
     "use the same sizes in each step, leave out torch.cuda.empty_cache(), and set "
     "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"},
    {"graph-rebuild", "CUDA graphs that are made again",
     "make the graph once and launch it in each step: keep what changes (positions, lengths) in "
     "device memory, or set it with cudaGraphExecKernelNodeSetParams or cudaGraphExecUpdate",
     deciding::nothing, &graph_rebuild, finding_part::graphs},
    {"host-work", "work on the CPU",
     "move the work to the GPU or to another thread, or launch the next kernels first",
     deciding::nothing, &host_work, finding_part::host_work, false,
     "use workers of the DataLoader for the next batch; torch.compile or torch.cuda.CUDAGraph for "
     "the Python code between kernels"},
    {"gap-between-ranges", "work on the CPU",
     "mark what the program does there with a range; move it to another thread, or launch first",
     deciding::nothing, &gap_between_ranges, finding_part::host_work, false,
     "mark what the program does there with torch.cuda.nvtx.range(), then let DataLoader workers "
     "or another thread do it"},
    {"pageable-copy", "copies through pageable memory",
     "use pinned memory (cudaMallocHost) and cudaMemcpyAsync; leave on the GPU what can stay there",
     deciding::nothing, &pageable_copy, finding_part::copies, false,
     "copy from and to pinned tensors (pin_memory=True in the DataLoader, tensor.pin_memory()) "
     "with non_blocking=True"},
    {"copy-in-step", "copies that no kernel hides",
     "overlap the copy with kernels in another stream, copy less, or leave the data on the GPU",
     deciding::nothing, &copy_in_step, finding_part::copies, false,
     "copy in a torch.cuda.Stream of its own with non_blocking=True, copy less, or keep the tensor "
     "on the GPU"},
    {"device-copy", "copies within the GPU",
     "leave the data where it is: views, strides, buffers that change their roles, or the kernel "
     "before writes it there",
     deciding::nothing, &device_copy, finding_part::copies},
    {"serialised-streams", "streams that run one after the other",
     "remove events, the default stream and host waits between independent streams",
     deciding::nothing, &serialised_streams, finding_part::order},
    {"declared-work", "more work than is declared",
     "look for work that is done twice, or correct what the range declares", deciding::nothing,
     &declared_work, finding_part::kernels_below},
    {"fp64-by-accident", "FP64 by accident",
     "write constants as 1.0f and call expf: FP64 is 2 to 64 times slower", deciding::findings,
     &fp64_by_accident, finding_part::kernels, true},
    {"conversions", "conversions between formats",
     "convert once and not at each use, convert two values by one instruction, or keep one format",
     deciding::findings, &conversions, finding_part::kernels, true},
    {"host-memory", "host memory that kernels read",
     "copy it to the GPU once, ahead of the kernel (cudaMemcpyAsync), and read it there",
     deciding::findings, &host_memory, finding_part::kernels, true},
    {"unread-results", "results that nothing reads",
     "compute only the rows that are read: select them before the product, such as the last "
     "position of each prompt before logits",
     deciding::findings, &unread_results, finding_part::kernels},
    {"unaligned-product", "products of unaligned matrices",
     "pad the sizes to multiples of 8 values (of the vocabulary, say: 50,257 to 50,304), and align "
     "pointers to 16 B",
     deciding::findings, &unaligned_product, finding_part::kernels, true},
    {"uncoalesced", "uncoalesced loads and stores",
     "let the threads of a warp access neighbouring addresses, or change the layout",
     deciding::findings, &uncoalesced, finding_part::kernels, true},
    {"register-spills", "register spills",
     "use fewer variables a thread, __launch_bounds__, or constant indices", deciding::findings,
     &register_spills, finding_part::kernels, true},
    {"bank-conflicts", "bank conflicts", "pad or swizzle the arrays in shared memory",
     deciding::findings, &bank_conflicts, finding_part::kernels, true},
    {"few-blocks", "too few blocks",
     "split the work into more blocks, or run several such kernels at a time", deciding::nothing,
     &few_blocks, finding_part::kernels, true},
    {"shared-work", "values that go through shared memory again and again",
     "reduce within warps by shuffles (__shfl_xor_sync, __reduce_add_sync), and only their results "
     "in shared memory: fewer accesses and fewer barriers",
     deciding::findings, &shared_work, finding_part::kernels, true},
    {"atomics", "atomics that wait for each other",
     "reduce within warps and blocks first, or spread the atomics over addresses: sums of each "
     "warp or lane of their own, added at the end",
     deciding::findings, &atomics, finding_part::kernels, true},
    {"fp32-without-tensor", "FP32 products without tensor cores", "allow TF32, or use BF16",
     deciding::findings, &fp32_without_tensor, finding_part::kernels, true,
     "use torch.set_float32_matmul_precision(\"high\") for TF32, or torch.autocast with BF16"},
    {"fp16-without-tensor", "FP16 products without tensor cores",
     "use a library's product (cuBLAS), wmma or mma.sync instead of __hfma2", deciding::findings,
     &fp16_without_tensor, finding_part::kernels, true},
    {"fp64-without-tensor", "FP64 products without tensor cores",
     "use a library's product (cuBLAS): tensor cores do FP64 too; or FP32 where that suffices",
     deciding::findings, &fp64_without_tensor, finding_part::kernels, true},
    {"small-tiles", "tiles that are too small",
     "use larger tiles a block and a warp (128 x 128, 64 x 64), or operands from shared memory by "
     "warpgroup products",
     deciding::findings, &small_tiles, finding_part::kernels, true},
    {"kernel-fusion", "values that go through device memory between kernels",
     "write the chain as one kernel, or let a compiler do it: torch.compile, Triton, an epilogue "
     "of the product before it",
     deciding::nothing, &fusion_of_kernels, finding_part::kernels},
    {"copying-kernel", "kernels that only move data",
     "leave the data where it is, and let who reads it follow indices: tables of blocks, views, "
     "strides; or move only what has changed",
     deciding::findings, &copying_kernel, finding_part::kernels, true},
    {"divergence", "threads that do not work",
     "let the threads of a warp take the same branch: sort or group the work, and give idle "
     "threads some",
     deciding::findings, &divergence, finding_part::kernels, true},
    {"unfused", "multiplications and additions that are not fused",
     "compile without -fmad=false, and write a * b + c or fma() instead of __fmul_rn and __fadd_rn",
     deciding::findings, &unfused, finding_part::kernels, true},
    {"integer-work", "integer instructions",
     "compute addresses once a loop, divide by constants or powers of two, use 32-bit indices",
     deciding::findings, &integer_work, finding_part::kernels, true},
    {"arithmetic-work", "arithmetic beside memory that waits",
     "read what repeats from a table (angles, powers, scales), call fast functions (__expf, "
     "__sinf, exp2f), or compute on packed pairs",
     deciding::findings, &arithmetic_work, finding_part::kernels, true},
    {"divergent-addresses", "addresses that differ within a warp",
     "read a table by data from shared memory or registers (shuffles): __constant__ memory serves "
     "one address at a time; replace calls by address and large switches",
     deciding::findings, &divergent_addresses, finding_part::kernels, true},
    {"extra-traffic", "traffic that is not needed",
     "fuse kernels, or tile so that L2 and L1 keep what is read again", deciding::hbm,
     &extra_traffic, finding_part::kernels},
    {"tail-wave", "a last wave of few blocks",
     "choose tiles so that the blocks fill whole waves, or a persistent kernel", deciding::findings,
     &tail_wave, finding_part::kernels, true},
    {"sm-imbalance", "blocks of unequal length",
     "give blocks equal work: split the long ones, start them first, or let blocks fetch work from "
     "a counter",
     deciding::findings, &sm_imbalance, finding_part::kernels, true},
    {"memory-imbalance", "one part of the memory that all use",
     "spread the addresses: pad strides that are powers of two, and let blocks begin at different "
     "places",
     deciding::findings, &memory_imbalance, finding_part::kernels, true},
    {"low-occupancy", "too few warps", "use smaller tiles: fewer registers or less shared memory",
     deciding::findings, &low_occupancy, finding_part::kernels, true},
    {"occupancy-gap", "warps that end early",
     "give the warps of a block, and the blocks, equal work; use smaller blocks, which leave room "
     "sooner",
     deciding::findings, &occupancy_gap, finding_part::kernels, true},
    {"latency-bound", "warps that wait",
     "each range's limiter names its wait, as latency: barrier; strata help barrier tells the fix",
     deciding::findings, &latency_bound, finding_part::kernels, true},
    {"varying-calls", "",
     "look at the slow calls in the trace: locks, page faults, other processes", deciding::nothing,
     &varying_calls, finding_part::none},
    {"preempted", "threads that take the CPU of the steps",
     "leave the thread of the steps a CPU: fewer threads than CPUs, no other program at the same "
     "time, "
     "taskset or a cgroup",
     deciding::nothing, &preempted, finding_part::none},
    {"host-waits", "waits of the host",
     "look at what it waits for: a lock, another thread, a file, a sleep; mark it with a range",
     deciding::nothing, &host_waits, finding_part::none},
    {"steps-drift", "steps that grow",
     "look at what grows with them: caches, lists and memory, or other programs at the same time",
     deciding::nothing, &steps_drift, finding_part::none},
    {"slow-step", "a slow step",
     "look at that step in the trace: a file, an allocation, another program", deciding::nothing,
     &slow_step, finding_part::none},
    {"first-step", "", "leave it out with warmup=1, or load modules and plans before the loop",
     deciding::nothing, &first_step, finding_part::none},
    {"above-roof", "", "check the units of flops() and bytes(), and the clocks of counted steps",
     deciding::nothing, &above_roof, finding_part::none, true},
    {"untrusted", "", "raise buffers= and log=, or record fewer steps", deciding::nothing,
     &untrusted, finding_part::none},
    {"merged-ranges", "", "use fewer names: give a number as an index beside the name, not in it",
     deciding::nothing, &merged_ranges, finding_part::none},
    {"own-cost", "", "mark fewer small ranges, or trace less: trace=kernels", deciding::nothing,
     &own_cost, finding_part::none},
};

}  // namespace detail
STRATA_END

#endif  // STRATA_ANALYSE_RULES_HPP
