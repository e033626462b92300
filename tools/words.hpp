// Words of the outputs that neither a table of the code nor an entry of the documents explains.
#ifndef STRATA_TOOLS_WORDS_HPP
#define STRATA_TOOLS_WORDS_HPP

#include <string_view>
#include <vector>

namespace tools {

struct explained_words {
  std::vector<std::string_view> names;
  std::string_view meaning;
};

inline explained_words const output_words[] = {
    // The head of the console.
    {{"step"},
     "how long a mean step takes; in brackets of how many, and the first one, which is left out "
     "where it took more than 1.5 times the median"},
    {{"median", "p95"}, "half, and 95 of 100, of the steps or calls take no longer"},
    {{"first", "left out"}, "the first recorded step, which often loads kernels and plans"},
    {{"unrecorded", "unrecorded steps", "outside windows"},
     "the median of the steps that are not recorded (skip=, every=): where they are shorter, "
     "CUPTI made the recorded ones longer, and the answer is of the others"},
    {{"whole run"}, "there are no steps: all values are of the run"},
    {{"idle", "GPU idle"}, "time of a step in which no kernel and no copy ran on the GPU"},
    {{"host times only"},
     "the GPU was not traced: STRATA=trace does, and the problems say why not"},
    {{"outside of steps"},
     "time before, between and after the steps; the ranges there have a table of their own"},
    {{"roofs measured on this device"}, "by strata ceilings, that day"},
    // The answer.
    {{"answer"}, "what bounds the step, and which range takes most of it"},
    {{"finding"}, "one cause, over all ranges that have it; the one that gains most comes first"},
    {{"try"}, "the fix of the finding above"},
    {{"more", "to run this check"},
     "findings that gain little, and keys of STRATA= to run more checks with"},
    {{"Without this cause"}, "the step without this cause alone, by a replay of the recorded one"},
    {{"since other idle time ends with it"}, "the fix ends waits beside those of its cause"},
    {{"rule", "rules"},
     "what looks for one cause; without the counters that it needs it cannot run"},
    {{"Only host times are known"},
     "the answer has no GPU time: it names the range with most host time"},
    // The tables and what is below them.
    {{"all", "a step"}, "the sum of a mean step"},
    {{"Values"}, "of a mean step: sums by the number of recorded steps"},
    {{"Rates"}, "declared work by GPU busy time, by host time where there is none"},
    {{"Rates and % of peak", "timed step", "timed steps"},
     "work of one counted step, by GPU busy time of the timed steps, which come first and are "
     "not counted"},
    {{"Counted", "pass", "passes"},
     "what the hardware counts in one step; more counters take more steps, a pass each"},
    {{"L1 with shared memory"}, "L1's data path, most of whose turns shared memory took"},
    // The foot.
    {{"lost"}, "what had no room or was dropped, and the key that gives it room"},
    {{"problem"}, "what could not be done, and its fix"},
    {{"cost"}, "what Strata itself took; what CUPTI adds to a launch is not in it"},
    {{"in ranges"}, "the ranges of all threads, by the measured time of one"},
    {{"in launch callbacks", "launch callbacks"},
     "CUPTI's calls of Strata in driver calls, by the measured time of one"},
    {{"in readings of CPU counters"}, "counters=cpu reads them at both ends of a range"},
    {{"flush"}, "at the end of the window the records are taken from CUPTI"},
    {{"start"}, "CUPTI and the driver are opened, before the first window"},
    {{"CUPTI's threads", "in CUPTI's threads"}, "records are added up there, beside the program"},
    {{"memory"}, "most memory of logs and records that Strata held; log= and buffers= limit it"},
    {{"wrote"}, "the files of the run: docs/reference/files.md"},
    // strata explain.
    {{"run", "settings", "measured"}, "the program and its machine; the text of STRATA; the step"},
    {{"evidence"}, "values that prove the finding, of the ranges with most of it"},
    {{"not examined"}, "what this run cannot tell, with the keys to record with; no all-clear"},
    {{"next", "after-the-change"}, "the command that shows more, or that proves the change"},
    {{"gaps"}, "how often the GPU was idle, a step"},
    {{"gpu_idle_ns"}, "idle time of the GPU by this cause, a step"},
    {{"first_ns"}, "how long the first recorded step took"},
    {{"overlap_ns"}, "time in which kernels of several streams ran, a step"},
    {{"own_ns"}, "what recording took"},
    {{"pinned_ns"}, "what the copies would take of pinned memory"},
    {{"streams"}, "of the GPU, that have kernels of the range"},
    {{"chain_kernels", "chain_ns"}, "kernels that one could replace, a step, and their time"},
    {{"saved_bytes"}, "of device memory, that one kernel for a chain need not move"},
    {{"sectors"}, "pieces of 32 bytes, which L1, L2 and device memory move"},
    {{"blocks_at_a_time", "multiprocessors"}, "blocks that fit on the GPU at once; its SMs"},
    {{"time_at_roof_ns"}, "what the work would take at the roof, a step"},
    {{"shared_bytes"}, "shared memory of a block"},
    {{"cpu_ns", "wall_ns"}, "what the thread of the steps has of a CPU in a step, and the step"},
    {{"voluntary_switches", "involuntary_switches"},
     "a step: times that its thread gives the CPU away, and that others take it"},
    {{"first_third_ns", "last_third_ns"}, "the median step of the run's first and last third"},
    {{"longest_ns", "slow_steps"}, "the slowest step, and how many are as slow"},
    // The page.
    {{"What helps most"}, "the finding whose fix shortens the step most"},
    {{"best case", "at best"},
     "of a prediction: the fix removes the whole cause, and costs nothing"},
    {{"Most to gain"}, "by the finding that gains most, where that is a tenth of the step"},
    {{"Known fixes gain at most", "No known fix shortens it"},
     "no finding gains a tenth of the step"},
    {{"Limiter", "Limiters", "No single limiter"}, "what limits a tenth of the step or more"},
    {{"in general"}, "what helps where no finding is of it, or gains less than a fifth of it"},
    {{"outside ranges"}, "the program is in no range meanwhile"},
    {{"together", "in all"}, "the step with the first findings fixed at once, as predicted"},
    {{"Alone no gain"}, "something else bounds the step without this cause"},
    {{"Its longest kernel", "Its kernel"}, "of the longest range; kernels of one name together"},
    {{"in turns", "Each runs kernels"},
     "GPUs work one after the other, each at most for this part"},
    {{"without recording", "These are parts of a step without recording"},
     "a step as it is outside of windows, where that is shorter"},
    {{"block[*]"}, "all indices of a range together"},
    {{"window"}, "steps that are recorded, among others that are not"},
    {{"longest"}, "of the steps: of fewer than 20, p95 is that"},
    {{"as declared"}, "by the flops and bytes that the program gives its ranges"},
    {{"TF32", "BF16"},
     "number formats of the tensor cores; a peak is at the clock that was counted"},
    {{"warps"}, "groups of 32 threads, which an SM runs in turns"},
    {{"waves"}, "how often the blocks of a kernel fill the GPU"},
    {{"Where the step goes", "Shares of a step", "Run and cost"}, "sections of the page"},
    {{"SM", "SMs"}, "streaming multiprocessor, which runs blocks of a kernel"},
    {{"waiting for launches"}, "the GPU is idle until the host launches more"},
    {{"CPU code between launches", "while the program computes on the CPU"},
     "the GPU is idle meanwhile"},
    {{"the host waits, then launches"},
     "the GPU is idle: the host waited for it before it launched more"},
    {{"the host allocates"}, "the GPU is idle while the host allocates or frees"},
    {{"the host copies"}, "the GPU is idle meanwhile"},
    {{"queued work not started"},
     "the GPU is idle between pieces of work that were launched already"},
    {{"cause not recorded"}, "the GPU is idle, and the timeline is not whole"},
    {{"limiter not counted"}, "counters=findings shows it"},
    {{"roof"}, "the most that the device does a second: by counted peaks, measured, or attributes"},
    {{"declared work"}, "flops and bytes that the program gives its ranges, beside those counted"},
    // strata compare, ranks, ledger and <strata/llm.hpp>.
    {{"verdict"}, "no regression, a regression, or inconclusive: strata compare's exit code"},
    {{"no regression", "regression", "inconclusive"},
     "within the limit; beyond limit and noise; the runs do not tell"},
    {{"SLOWER"}, "the range is slower, beyond the limit and noise"},
    {{"noise"}, "standard deviation of a change, by how the steps and runs differ"},
    {{"MFU", "HFU"},
     "operations that the model needs, or the hardware did, by the peak of the tensor cores"},
    {{"MBU"}, "bytes that the model needs, by the bandwidth of device memory"},
    {{"needed", "moved"}, "bytes that ranges declare; bytes of device memory that were counted"},
    {{"kept in L2"}, "less was moved than needed, since L2 still had it"},
    {{"write-back"}, "lines that earlier ranges wrote and L2 evicts now"},
    {{"workspace"}, "bytes written beyond the result, and read again"},
    {{"split-K"}, "the same of partial sums that are added by atomics"},
    {{"re-reads", "read again"}, "bytes asked of L2 more than once, which it did not keep"},
    {{"unexplained"}, "the rest of the counted bytes"},
};

}  // namespace tools

#endif  // STRATA_TOOLS_WORDS_HPP
