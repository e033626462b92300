#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/text.hpp>
#include <strata/profile.hpp>
#include <strata/tables/kernel_table.hpp>
#include "device_peaks.hpp"
#include "gains.hpp"
#include "kernel_look.hpp"
#include "rule_context.hpp"
#include "rules.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

// The rules of idle time of the GPU, of copies and collectives, and of streams.

STRATA_BEGIN
namespace detail {
namespace {

/// Idle time of the GPU, and what the host does of its ranges themselves in a step.
struct idle_work {
  double ns = 0.0;
  double between_ns = 0.0;  ///< of it, between steps
  double kernels = 0.0;
  double kernel_ns = 0.0;
  double allocations = 0.0;
  graph_time graphs;

  void add(idle_work const& more) noexcept {
    ns += more.ns;
    between_ns += more.between_ns;
    kernels += more.kernels;
    kernel_ns += more.kernel_ns;
    allocations += more.allocations;
    graphs.instantiations += more.graphs.instantiations;
    graphs.launches += more.graphs.launches;
    graphs.changes += more.graphs.changes;
  }
};

/// How a range itself makes graphs in a step.
graph_time graphs_of(rule_context const& run, std::size_t row) noexcept {
  for (graph_time const& graphs : run.in.steps.graphs)
    if (graphs.row == row) return graphs;
  return {};
}

/// `idle`: as it is without recording.
idle_work work_beside(rule_context const& run, idle_time const& idle, bool between) noexcept {
  device_work const& own = run.rows[idle.row].self;
  idle_work work;
  work.ns = idle.ns;
  if (between) {  // what its range does in steps says nothing of it
    work.between_ns = idle.ns;
    return work;
  }
  work.kernels = run.own_launches_per_step(idle.row, own.kernels);
  work.kernel_ns = run.own_ns_per_step(idle.row, static_cast<double>(own.kernel_ns));
  work.allocations = run.own_launches_per_step(idle.row, own.allocations);
  work.graphs = graphs_of(run, idle.row);
  return work;
}

/// Kernels of a range that leave nearly all SMs free, each launched many times in a call of it: one
/// launch may do what all of these do.
struct alike_launches {
  double kernels = 0.0;  ///< 0: the range has none
  double blocks = 0.0;   ///< of a launch, at most
  double times = 0.0;    ///< that each of them is launched, at most
  double best_ns = 0.0;  ///< what one launch of each would take less
  bool same_blocks = true;
  bool same_times = true;
};

/// None in a range of which a kernel as often fills more of the GPU: layers have such kernels, and
/// each waits for the one before.
alike_launches alike_launches_of(rule_context const& run, std::size_t row) noexcept {
  constexpr double many = 16.0;          // launches; chosen
  constexpr double filled = 1.0 / 16.0;  // of the SMs; chosen
  constexpr double mostly = 0.8;         // of the launches; chosen
  double const calls = std::max(
      1.0,
      row == 0 ? 1.0 : run.calls_per_step(row, static_cast<double>(run.rows[row].host.count())));
  alike_launches made;
  double launches = 0.0;
  double alike = 0.0;
  for (kernel_row const& kernel : run.in.kernels) {
    if (run.row_of(kernel) != row) continue;
    double const times = launches_in_step(kernel, run.rows[row], run.in.steps) / calls;
    double const ns = ns_in_step(kernel, run.rows[row], run.in.steps);
    double const waves = waves_of(run, kernel, times * kernel.blocks_mean);
    auto const blocks = static_cast<double>(kernel.blocks_max);
    bool const is_small = waves > 0.0 && blocks <= filled * run.multiprocessors &&
                          !is_collective(kernel) && !is_many(kernel);
    launches += times;
    if (times < many) continue;
    if (!is_small) return {};
    alike += times;
    bool const is_first = !(made.kernels > 0.0);
    made.same_blocks = made.same_blocks && kernel.blocks_min == kernel.blocks_max &&
                       (is_first || made.blocks == blocks);
    made.same_times = made.same_times && (is_first || made.times == times);
    made.kernels += 1.0;
    made.blocks = std::max(made.blocks, blocks);
    made.times = std::max(made.times, times);
    made.best_ns += ns - ns / times * std::max(1.0, waves);
  }
  return alike > mostly * launches ? made : alike_launches();
}

/// "; in processors, 5 kernels of up to 8 blocks are launched 384 times each".
std::string alike_text(std::string const& range, alike_launches const& of) {
  bool const is_one = of.kernels < 1.5;
  return "; " + (range.empty() ? range : "in " + range + ", ") +
         amount_text(of.kernels, "kernel of ", "kernels of ") + (of.same_blocks ? "" : "up to ") +
         amount_text(of.blocks, "block", "blocks") + (is_one ? " is" : " are") + " launched " +
         (of.same_times ? "" : "up to ") + amount_text(of.times, "time", "times") +
         (is_one ? "" : " each");
}

void prove_idle(rule_context const& run, candidate& seen, idle_time const& idle,
                idle_work const& work) {
  device_work const& own = run.rows[idle.row].self;
  seen.prove(seen.between ? "gpu_idle_between_ns" : "gpu_idle_ns", idle.ns, "ns");
  seen.prove_some("gaps", idle.gaps, "");
  if (seen.between) return;
  if (idle.cause == idle_cause::launch && work.kernels > 0.0) {
    seen.prove("kernels_self", work.kernels, "");
    seen.prove("gpu_kernel_self_ns", work.kernel_ns, "ns");
    seen.prove("launch_self_ns", run.own_launch_ns_per_step(idle.row), "ns");
  } else if (idle.cause == idle_cause::wait || idle.cause == idle_cause::range_end) {
    double const waits = run.own_launches_per_step(idle.row, own.synchronizations);
    seen.prove_some("synchronizations", waits, "");
  } else if (idle.cause == idle_cause::allocation) {
    double const bytes = run.own_launches_per_step(idle.row, own.allocated_bytes);
    seen.prove_some("allocations", work.allocations, "");
    seen.prove_some("allocated_bytes", bytes, "B");
  } else if (idle.cause == idle_cause::graph) {
    seen.prove_some("graph_instantiations", work.graphs.instantiations, "");
    seen.prove_some("captured_launches", work.graphs.launches, "");
    seen.prove_some("graph_changes", work.graphs.changes, "");
    seen.prove_some("graph_ns", work.graphs.ns, "ns");
  }
}

char const* in_whole(rule_context const& run) noexcept {
  return run.in.steps.from_steps ? " a step" : " in the run";
}

/// ", between steps", ", 2.00 ms of it between steps"; empty if none is.
std::string between_text(idle_work const& all) {
  if (!(all.between_ns > 0.0)) return {};
  if (all.between_ns >= all.ns) return ", between steps";
  return ", " + time_text(all.between_ns) + " of it between steps";
}

/// "The GPU is idle for 42.4 us of a step".
std::string idle_begin(rule_context const& run, idle_work const& all) {
  return (run.in.roofline.devices > 1 ? "All GPUs are idle for " : "The GPU is idle for ") +
         time_text(all.ns) + " of " + run.in.steps.one_whole();
}

/// "3 times a step"; of what not every step does, "2 times in 3 steps".
std::string how_often(rule_context const& run, double per_step) {
  constexpr double each = 0.95;  // of the steps; chosen
  double const steps = static_cast<double>(run.in.steps.typical_count());
  if (!run.in.steps.from_steps || per_step >= each || !(steps > 1.0))
    return amount_text(per_step, "time", "times") + in_whole(run);
  return amount_text(std::round(per_step * steps), "time", "times") + " in " +
         amount_text(steps, "step", "steps");
}

/// "A CUDA graph is instantiated 1 time a step; the GPU is idle for 1.63 ms of a step meanwhile".
std::string graphs_title(rule_context const& run, idle_work const& all) {
  std::string gpu = idle_begin(run, all);
  double const made = whole_if_near(all.graphs.instantiations);
  double const launches = whole_if_near(all.graphs.launches);
  if (!(made > 0.0) && !(launches > 0.0)) return gpu + " while CUDA graphs are made or changed";
  gpu[0] = gpu[0] == 'T' ? 't' : 'a';  // the GPU, all GPUs
  if (made > 0.0)
    return std::string(made < 1.5 ? "A CUDA graph is" : "CUDA graphs are") + " instantiated " +
           amount_text(made, "time", "times") + in_whole(run) + "; " + gpu + " meanwhile";
  return amount_text(launches, "launch is", "launches are") + " captured into CUDA graphs" +
         in_whole(run) + "; " + gpu + " meanwhile";
}

/// "The GPU is idle for 42.4 us of a step while the host launches a kernel of 2.00 us": of the
/// ranges that are worth it, without those that launch graphs. The page's budget has all of it.
std::string idle_title(rule_context const& run, idle_cause cause, idle_work const& all) {
  std::string const gpu = idle_begin(run, all);
  std::string const idle = gpu + " " + std::string(entry_of(cause).meanwhile);
  switch (cause) {
    case idle_cause::launch:  // before a kernel is launched, and before it begins
      if (!(all.kernels > 0.0)) return gpu + " while it waits for launches";
      if (all.kernels < 1.5)
        return gpu + " while the host launches a kernel of " + time_text(all.kernel_ns);
      return gpu + " between " + amount_text(all.kernels, "kernel", "kernels") + " of " +
             time_text(all.kernel_ns / all.kernels) + ", launched one by one";
    case idle_cause::range_end:
      return gpu +
             " because ranges stop the program at their ends, so that each has a time of its own";
    case idle_cause::wait:
      return gpu + " while the host, after a wait, launches what comes next";
    case idle_cause::allocation:
      if (all.between_ns >= all.ns) return idle;  // how often is not known there
      if (!(all.allocations > 0.0)) return gpu + " while the host frees memory";
      return idle + ", " + how_often(run, all.allocations);
    case idle_cause::graph:
      return graphs_title(run, all);
    default:  // host_work: no other cause has this look
      return idle;
  }
}

enum class idle_place : std::uint8_t { anywhere, in_ranges, between_ranges };

/// Whether a rule looks at idle time of a row in a place.
bool is_in_place(rule_context const& run, std::uint32_t row, idle_place scope) noexcept {
  if (!run.is_judged(row)) return false;
  if (scope == idle_place::anywhere) return true;
  return (row == 0) == (scope == idle_place::between_ranges) && !run.migrating[row];
}

/// Waits of the host in a step, or in the run, without those of ranges that stop the program.
double waits_in_step(rule_context const& run) noexcept {
  double all = 0.0;
  for (std::size_t row = 0; row < run.rows.size(); ++row)
    if (run.rows[row].note != stops_at_end)
      all += run.own_launches_per_step(row, run.rows[row].self.synchronizations);
  return all;
}

/// What a load or store of a range's kernels takes, where it can only be a page that comes first:
/// device memory at its limit takes 1,000 to 3,000 cycles. 0 elsewhere. Units: cycles.
/// Source: 290,000 of a table of managed memory that the host writes each step (H200, CUDA 13.0).
double cycles_of_pages(rule_context const& run, std::size_t row) noexcept {
  constexpr double least = 20'000.0;   // chosen
  constexpr double most_use = 0.1;     // what waits so long uses nothing; chosen
  constexpr double most_mapped = 0.5;  // of the loads: host memory that the device maps; chosen
  range_limit const& load = run.load(row);
  double const loaded = run.own(row, "global_load_bytes");  // NaN with CUDA graphs
  double const mapped = 32.0 * run.own_or_0(row, "l2_host_sectors");
  if (!load.units.are_whole() || load.fraction() >= most_use || mapped > most_mapped * loaded)
    return 0.0;
  double const cycles = run.own(row, "stall_long_scoreboard") / run.own(row, "lsu_instructions");
  return is_finite(cycles) && cycles >= least ? cycles : 0.0;
}

/// Whether ranges of candidates capture launches into CUDA graphs in a recording that has no call
/// that makes graphs: before Strata recorded these, what they take looked like the program's code.
bool may_make_graphs(rule_context const& run, std::vector<candidate> const& candidates) {
  for (driver_call_record const& call : run.in.source.launches)
    if (makes_graphs(call.kind)) return false;
  return std::any_of(candidates.begin(), candidates.end(), [&](candidate const& seen) {
    return graphs_of(run, seen.row).launches > 0.0;
  });
}

/// Says what the host does where that is no computing, and advises accordingly.
void describe_host_work(rule_context const& run, idle_work const& all, bool between,
                        rule_result& made) {
  bool has_pages = false;
  for (std::size_t row = 0; row < run.rows.size(); ++row)
    has_pages = has_pages || (run.is_judged(row) && run.is_timed_work(row, counter_scope::self) &&
                              !run.is_of_collectives(row) && cycles_of_pages(run, row) > 0.0);
  if (has_pages) {
    made.title += ", or waits for pages of managed memory that kernels use";
    made.advice = "use pinned memory and one cudaMemcpyAsync, or prefetch (cudaMemPrefetchAsync)";
  } else if (may_make_graphs(run, made.candidates)) {
    made.title += ", or makes CUDA graphs";
    made.advice =
        "record again: the Strata that recorded this did not record calls that make graphs";
  } else if (double const loads = run.steps_that_load_code(); !between && loads > 0.0) {
    double const steps = run.in.steps.typical_count();
    made.title += ", and loads code for the GPU in " +
                  (loads < steps ? amount_text(loads) + " of " + amount_text(steps) + " steps"
                                 : std::string("each step"));
    made.advice =
        "use the same sizes in each step (pad lengths to a few), or load what each size needs "
        "before the loop: libraries and compilers make kernels for sizes that are new";
  } else if (run.cpu.sleeps(all.ns - all.between_ns)) {
    made.title = idle_begin(run, all) + " while the program sleeps or waits for something else" +
                 (between ? ", outside ranges" : "") + between_text(all);
    made.advice =
        "do not sleep for what the GPU waits for: cudaEventSynchronize instead of a sleep between "
        "queries; where the program waits for input, load ahead";
  } else if (all.ns > run.in.steps.period_busy_ns()) {  // which hides no more than it takes
    made.advice = between ? "mark what the program does there with a range, and make that "
                            "faster: the GPU has too little work to hide it"
                          : "make that code faster, or run it on the GPU, which has too little "
                            "other work to hide it";
  }
}

/// Idle time of one cause.
rule_result idle_time_of(rule_context const& run, idle_cause cause,
                         idle_place scope = idle_place::anywhere) {
  rule_result made;
  double const sure = run.sure_idle_part();
  if (!(sure > 0.0)) return made;  // lost work may have filled it
  // After a wait a host wakes up and launches, however well the program does: a step whose result
  // it reads ends so. Source: 6 to 9 us (H200, CUDA 13.0).
  constexpr double least_after_one = 10'000.0;
  constexpr double once = 1.05;  // of a mean step; chosen
  double const waits = waits_in_step(run);
  bool const waits_once =
      cause == idle_cause::wait && run.in.steps.from_steps && waits > 0.0 && waits <= once;
  idle_work all;
  std::string alike;  // of the range that idles longest
  double alike_ns = 0.0;
  auto const look = [&](idle_time idle, bool between) {
    if (!between) idle.ns = run.in.steps.own_idle_ns(idle.ns);
    bool const is_seen = idle.cause == cause && run.is_worth(idle.ns);
    if (!is_seen || !is_in_place(run, idle.row, scope)) return;
    if (cause == idle_cause::launch && launches_graphs(run.rows[idle.row], run.in.steps)) return;
    idle_work const work = work_beside(run, idle, between);
    all.add(work);
    candidate seen = run.candidate_of(idle.row, sure * idle.ns);
    seen.between = between;
    if (sure < 1.0) seen.part = finding_part::none;  // what it gains is not replayed
    prove_idle(run, seen, idle, work);
    if (cause == idle_cause::launch && !between) {
      alike_launches const of = alike_launches_of(run, idle.row);
      seen.best_ns = of.best_ns;
      if (of.kernels > 0.0 && idle.ns > alike_ns) {
        alike = alike_text(run.rows[idle.row].path, of);
        alike_ns = idle.ns;
      }
    }
    made.candidates.push_back(std::move(seen));
  };
  for (idle_time const& idle : run.in.steps.idle) look(idle, false);
  for (idle_time const& idle : run.in.steps.idle_between) look(idle, true);
  if (waits_once && all.ns < least_after_one) return {};
  if (waits_once)
    made.advice = "launch what comes next before the host waits, where it needs no result";
  bool const between = scope == idle_place::between_ranges;
  made.title =
      idle_title(run, cause, all) + (between ? ", outside ranges" : "") + between_text(all);
  if (cause == idle_cause::host_work) describe_host_work(run, all, between, made);
  made.title += alike;
  if (!alike.empty())
    made.advice =
        "launch each kernel once for all that are alike, with a larger grid, where none needs "
        "another's result; or launch a CUDA graph of the step, or fuse kernels";
  else if (cause == idle_cause::launch &&
           launches_graphs(run.rows[0], run.in.steps, counter_scope::total))
    made.advice =
        "capture these kernels into the graph of the step too, fuse them, or give each launch more "
        "work";
  bool const only_changed = !(all.graphs.instantiations + all.graphs.launches > 0.0);
  if (cause == idle_cause::graph && all.graphs.changes > 0.0 && only_changed)
    made.advice =
        "change fewer nodes of the graph: keep what changes in device memory, and let kernels read "
        "it there";
  return made;
}

void prove_migrations(rule_context const& run, candidate& seen, own_migrations const& own) {
  seen.prove("migrated_bytes_h2d", run.per_step(seen.row, own.to_device_bytes), "B");
  seen.prove("migrated_bytes_d2h", run.per_step(seen.row, own.to_host_bytes), "B");
  seen.prove("gpu_page_faults", run.per_step(seen.row, own.faults), "");
  seen.prove("migration_ns", run.per_step(seen.row, own.ns), "ns");
}

/// What pinned copies of the host reach in one direction, in bytes a ns: what those of this run
/// do, or else the bus at its widest. NaN where neither is known.
double pinned_rate(rule_context const& run, bool to_device) {
  constexpr double large = 1 << 20;  // bytes: what is smaller takes its launch
  double best = 0.0;
  for (vec<copy_time> const* const list : {&run.in.steps.copies, &run.in.steps.copies_between})
    for (copy_time const& copies : *list) {
      bool const is_large = copies.count > 0.0 && copies.bytes >= large * copies.count;
      bool const is_pinned = !copies.pageable && !copies.in_place;
      if (copies.to_device == to_device && is_pinned && is_large && copies.ns > 0.0)
        best = std::max(best, copies.bytes / copies.ns);
    }
  if (best > 0.0) return best;
  for (profile_device const* const device : run.worked) best = std::max(best, bus_peak(*device));
  if (!(best > 0.0)) return not_a_number;
  return best * 1e-9 * reachable_use(gpu_unit::pcie);
}

/// Copies whose beginnings take longer than their bytes do on the bus. Chosen.
bool are_pieces(copy_time const& copies, double rate) noexcept {
  constexpr double least_count = 8.0;
  constexpr double largest = 256 << 10;  // bytes
  constexpr double most_of_rate = 0.5;
  return copies.count >= least_count && copies.bytes <= largest * copies.count &&
         copies.bytes < most_of_rate * rate * copies.ns;
}

/// Whether copies lie alone since kernels of another stream wait for them, or they for these.
bool are_held(copy_time const& copies, double held_ns) noexcept {
  constexpr double mostly = 0.8;  // of the time in which they run alone; chosen
  return held_ns > mostly * copies.alone_ns && copies.alone_ns > mostly * copies.ns;
}

/// "32.0 MiB a step go to the GPU in 1 copy, at 55.1 GB/s, while no kernel runs for 610 us".
std::string copies_title(rule_context const& run, copy_time const& downloads,
                         copy_time const& uploads, double alone_ns, bool pageable) {
  constexpr double large = 1 << 20;  // bytes: a rate of less is that of its launch
  auto const text_of = [&](copy_time const& sum, char const* direction) {
    std::string text = bytes_text(sum.bytes) + in_whole(run) + direction +
                       amount_text(sum.count, "copy", "copies");
    bool const in_pieces =
        run.in.steps.from_steps && are_pieces(sum, pinned_rate(run, sum.to_device));
    if (in_pieces) text += " of " + bytes_text(sum.bytes / sum.count);
    constexpr double least_rate = 0.1;  // GB/s: what is slower has hardly a byte
    bool const has_rate =
        in_pieces ? sum.bytes > least_rate * sum.ns : sum.bytes >= large * sum.count;
    if (sum.ns > 0.0 && has_rate) text += ", at " + fixed_string(sum.bytes / sum.ns, 1) + " GB/s";
    return text;
  };
  std::string title;
  if (uploads.count > 0.0) title = text_of(uploads, " go to the GPU in ");
  if (uploads.count > 0.0 && downloads.count > 0.0) title += ", and ";
  if (downloads.count > 0.0) title += text_of(downloads, " come from the GPU in ");
  return title + (pageable ? " through pageable memory" : "") + ", while no kernel runs for " +
         time_text(alone_ns);
}

/// By row: the idle time of copies in its steps, if most of them are copies within the device and
/// fills, and the calls of host copies, minus the time of these copies, take less than half of it.
/// Else 0.
std::vector<double> idle_of_device_copies(rule_context const& run) {
  constexpr double mostly = 8.0;  // times as many as copies of the host; chosen
  struct copies_of_row {
    double calls = 0.0;
    double host_calls = 0.0;
    double host_ns = 0.0;
  };
  std::vector<copies_of_row> copies(run.rows.size());
  std::vector<double> idle(run.rows.size(), 0.0);
  for (device_copy_time const& time : run.in.steps.device_copies)
    copies[time.row].calls += time.copies + time.fills;
  for (copy_time const& time : run.in.steps.copies) {
    copies[time.row].host_calls += time.count;
    copies[time.row].host_ns +=
        std::max(0.0, time.call_ns - time.ns);  // the device copies meanwhile
  }
  for (idle_time const& time : run.in.steps.idle)
    if (time.cause == idle_cause::copy) idle[time.row] += run.in.steps.own_idle_ns(time.ns);
  for (std::size_t row = 0; row < idle.size(); ++row) {
    copies_of_row const& own = copies[row];
    bool const are_theirs =
        own.calls > 0.0 && own.calls >= mostly * own.host_calls && own.host_ns < 0.5 * idle[row];
    if (!are_theirs) idle[row] = 0.0;
  }
  return idle;
}

enum class host_memory : std::uint8_t { pinned, pageable };

/// Finds the copies that cost time: a pinned one may overlap kernels or be left out, a pageable
/// one still has to cross the bus. Pieces can be copied together.
class copy_finder {
 public:
  copy_finder(rule_context const& run, host_memory memory)
      : run_(run),
        is_pageable_(memory == host_memory::pageable),
        rates_{pinned_rate(run, false), pinned_rate(run, true)},
        kernels_ns_(run.in.steps.period_busy_ns() - run.in.steps.period_copies_alone_ns()) {
    double copies_ns = 0.0;
    for (vec<copy_time> const* const list : {&run.in.steps.copies, &run.in.steps.copies_between})
      for (copy_time const& time : *list)
        if (time.pageable == is_pageable_ && !time.in_place) copies_ns += time.alone_ns;
    are_kernels_short_ = copies_ns > least_longer * kernels_ns_;
    double held_ns = 0.0;
    for (copy_time const& time : run.in.steps.copies)
      if (is_held_apart(time)) held_ns += time.alone_ns;
    // At best a period takes as long as its copies, or as its kernels.
    double const least_ns = std::max(run.in.steps.period_copies_ns(), kernels_ns_);
    double const most = std::max(0.0, run.in.steps.period_busy_ns() - least_ns);
    if (held_ns > 0.0) hidden_ = run.is_worth(most) ? std::min(1.0, most / held_ns) : 0.0;
  }

  rule_result find() {
    step_analysis const& steps = run_.in.steps;
    look(steps.copies, steps.idle, false);
    look(steps.copies_between, steps.idle_between, true);
    // Copies at the same time count once.
    double const in_steps = std::min(alone_ns_[0], steps.copies_alone_ns);
    double const alone_ns = in_steps + alone_ns_[1];
    made_.title = copies_title(run_, all_[0], all_[1], alone_ns, is_pageable_);
    if (run_.is_worth(idle_ns_)) made_.title += ", and the GPU is idle for " + time_text(idle_ns_);
    idle_work place;
    place.ns = alone_ns;
    place.between_ns = alone_ns_[1];
    made_.title += between_text(place);
    if (by_streams_ns_ > 0.5 * alone_ns) {
      made_.title +=
          ": the legacy default stream and the blocking streams beside it wait for each other";
      made_.advice =
          "make the streams of copies by cudaStreamCreateWithFlags(cudaStreamNonBlocking), or "
          "launch kernels in streams of their own, not in the legacy default stream; events then "
          "say what waits for a copy";
    } else if (held_ns_ > 0.5 * alone_ns && !are_kernels_short_) {
      made_.advice =
          "begin the copies a layer or a step ahead, into a second buffer: they have a stream of "
          "their own, and kernels of another one wait for them; or copy less";
    } else if (in_pieces_ && !is_pageable_) {
      made_.advice =
          "copy them together: gather them into one buffer, or scatter them from it, by a kernel, "
          "or "
          "use cudaMemcpyBatchAsync; leave on the GPU what can stay there";
    } else if (!is_pageable_ && are_kernels_short_) {
      made_.advice = "copy less, or leave the data on the GPU: kernels are too short to hide it";
    } else if (!is_pageable_ && alone_ns < 0.5 * (all_[0].ns + all_[1].ns)) {
      made_.advice = "begin the copy earlier, or copy less: the rest of it is hidden";
    }
    return std::move(made_);
  }

 private:
  /// Kernels that take less than half as long as the copies hide few of them. Chosen.
  static constexpr double least_longer = 2.0;

  bool is_pinned(copy_time const& time) const noexcept {
    return !is_pageable_ && !time.pageable && !time.in_place;
  }
  /// Whether only the legacy default stream keeps the copies of a range apart from kernels, and
  /// they would take less time if they overlapped these.
  bool is_held_by_streams(copy_time const& time) const noexcept {
    return hidden_ > 0.0 && is_pinned(time) && are_held(time, time.legacy_ns);
  }
  /// The same, or kernels of another stream wait for them, which are long enough to hide them.
  bool is_held_apart(copy_time const& time) const noexcept {
    bool const waits = hidden_ > 0.0 && is_pinned(time) && are_held(time, time.held_ns);
    return (waits && !are_kernels_short_) || is_held_by_streams(time);
  }

  void look(vec<copy_time> const& list, vec<idle_time> const& idle_times, bool between) {
    // Idle time belongs to the largest copies of a range, which stand first.
    std::vector<double> idle(run_.rows.size(), 0.0);
    for (idle_time const& time : idle_times)
      if (time.cause == idle_cause::copy)
        idle[time.row] += between ? time.ns : run_.in.steps.own_idle_ns(time.ns);
    if (!between) {
      std::vector<double> const others = idle_of_device_copies(run_);
      for (std::size_t row = 0; row < idle.size(); ++row) idle[row] -= others[row];
    }
    for (copy_time const& time : list) {
      double const idle_ns = time.in_place ? 0.0 : std::exchange(idle[time.row], 0.0);
      double cost = time.alone_ns + idle_ns;
      if (time.pageable != is_pageable_ || time.in_place || !run_.is_judged(time.row)) continue;
      double const rate = rates_[time.to_device ? 1 : 0];
      double const pinned_ns = time.bytes / rate;
      bool const in_pieces = run_.in.steps.from_steps && are_pieces(time, rate);
      if ((time.pageable || in_pieces) && is_finite(pinned_ns) && time.ns > 0.0)
        cost -= time.alone_ns * std::min(1.0, pinned_ns / time.ns);
      if (is_held_apart(time)) cost = hidden_ * time.alone_ns + idle_ns;
      if (!run_.is_worth(cost)) continue;
      if (is_held_by_streams(time)) by_streams_ns_ += time.alone_ns;
      if (!is_pageable_ && are_held(time, time.held_ns)) held_ns_ += time.alone_ns;
      in_pieces_ = in_pieces && (in_pieces_ || made_.candidates.empty());
      copy_time& sum = all_[time.to_device ? 1 : 0];
      sum.to_device = time.to_device;
      sum.bytes += time.bytes;
      sum.count += time.count;
      sum.ns += time.ns;
      alone_ns_[between ? 1 : 0] += time.alone_ns;
      idle_ns_ += idle_ns;
      candidate seen = run_.candidate_of(time.row, cost);
      seen.between = between;
      seen.idle_ns = idle_ns;
      bool const copies_alone = run_.rows[time.row].self.kernels == 0;
      if (in_pieces && !time.pageable && copies_alone) seen.launches = 1.0 - 1.0 / time.count;
      seen.prove(time.to_device ? "h2d_bytes" : "d2h_bytes", time.bytes, "B");
      seen.prove("gpu_copy_self_ns", time.ns, "ns");
      seen.prove("copies_self", time.count, "");
      seen.prove_some("launch_ns", time.call_ns, "ns");
      if (time.pageable) seen.prove("pinned_ns", pinned_ns, "ns");
      if (time.pageable && !is_finite(pinned_ns)) seen.part = finding_part::none;
      made_.candidates.push_back(std::move(seen));
    }
  }

  rule_context const& run_;
  bool is_pageable_;
  bool in_pieces_ = false;  // all of them
  double rates_[2];
  double kernels_ns_;           // of a period, and of all that is no copy
  bool are_kernels_short_;      // compared with all copies of this memory
  double hidden_ = 1.0;         // the part of held copies that can overlap kernels
  double by_streams_ns_ = 0.0;  // of copies that only streams keep apart from kernels
  double held_ns_ = 0.0;        // of copies that kernels of another stream wait for
  copy_time all_[2];            // by direction, from the GPU and to it
  double alone_ns_[2] = {};     // in steps, and between them
  double idle_ns_ = 0.0;
  rule_result made_;
};

/// Managed memory that was allocated before the recording began: its migrations are not recorded,
/// and the kernels' waits tell of them.
rule_result pages_by_waits(rule_context const& run) {
  rule_result made = look_at_counted(
      run, "lsu_instructions", [&](std::size_t row, double ns) -> std::optional<candidate> {
        double const cycles = cycles_of_pages(run, row);
        double const gain =
            cycles > 0.0 ? run.gains.gain(row, fix_of_kernels().ends_waits(ns)) : 0.0;
        if (!run.is_worth(gain)) return std::nullopt;
        candidate seen = run.candidate_of_kernels(
            row, gain,
            "A load or store takes " + amount_text(1000.0 * std::round(cycles / 1000.0)) +
                " cycles: pages of managed memory come first, or memory of the host");
        run.prove_own(seen, "stall_long_scoreboard", "warp cycles");
        run.prove_own(seen, "lsu_instructions", "instructions");
        return seen;
      });
  made.has_data = true;  // a recording without migrations has decided; counters only add to it
  made.lacks = {};
  return made;
}

/// The kernels of one device in a mean step that leave most of its SMs free.
struct small_kernels {
  std::uint32_t device = 0;
  std::size_t streams = 0;
  double ns = 0.0;
  double busiest_ns = 0.0;  // of one stream
  double filled_ns = 0.0;   // times the part of the SMs that they fill
  double overlap_ns = 0.0;  // of all kernels of the device
  bool has_legacy = false;  // kernels run in the legacy default stream too, and no event says when

  /// The time saved if the streams ran concurrently; 0 where their kernels do not follow one
  /// another.
  double gain_together() const noexcept {
    // One after the other, each kernel has L2 for itself. Side by side they share it, and a load
    // that misses it takes twice as long: 400 cycles for 200 (V100, A100, H100). How many do is
    // not known of a trace: half of them.
    // Source: Ultrasonics Sonochemistry 99 (2023) 106546, table 3.
    constexpr double longer_together = 1.5;
    // Of their time; chosen.
    constexpr double one_stream = 0.8;    // there is nothing that could overlap it
    constexpr double side_by_side = 0.1;  // they do run together
    if (busiest_ns > one_stream * ns || overlap_ns > side_by_side * ns) return 0.0;
    return std::max(0.0, ns - longer_together * std::max(busiest_ns, filled_ns));
  }
};
/// Whether streams wait for events.
bool orders_by_events(rule_context const& run) noexcept {
  for (synchronization_record const& wait : run.in.source.synchronizations)
    if (wait.kind == synchronization_kind::stream_wait_event) return true;
  return false;
}

std::vector<small_kernels> small_kernels_by_device(rule_context const& run) {
  std::vector<small_kernels> works;
  std::map<std::uint32_t, std::size_t> places;
  for (device_time const& device : run.in.steps.devices) {
    places[device.device] = works.size();
    works.emplace_back();
    works.back().device = device.device;
    works.back().overlap_ns = device.overlap_ns;
  }
  bool const by_events = orders_by_events(run);
  for (stream_time const& stream : run.in.steps.streams) {
    auto const place = places.find(stream.device);
    if (place == places.end()) continue;
    small_kernels& work = works[place->second];
    work.has_legacy = work.has_legacy || (!by_events && stream.stream == legacy_stream);
    if (!(stream.small_ns > 0.0)) continue;
    ++work.streams;
    work.ns += stream.small_ns;
    work.filled_ns += stream.filled_ns;
    work.busiest_ns = std::max(work.busiest_ns, stream.small_ns);
  }
  return works;
}

}  // namespace

rule_result launch_bound(rule_context const& run) { return idle_time_of(run, idle_cause::launch); }

rule_result wait_in_step(rule_context const& run) { return idle_time_of(run, idle_cause::wait); }

rule_result stops_of_ranges(rule_context const& run) {
  return idle_time_of(run, idle_cause::range_end);
}

rule_result allocation_in_step(rule_context const& run) {
  return idle_time_of(run, idle_cause::allocation);
}

rule_result graph_rebuild(rule_context const& run) { return idle_time_of(run, idle_cause::graph); }

rule_result host_work(rule_context const& run) {
  return idle_time_of(run, idle_cause::host_work, idle_place::in_ranges);
}

rule_result gap_between_ranges(rule_context const& run) {
  return idle_time_of(run, idle_cause::host_work, idle_place::between_ranges);
}

rule_result pageable_copy(rule_context const& run) {
  return copy_finder(run, host_memory::pageable).find();
}

rule_result copy_in_step(rule_context const& run) {
  return copy_finder(run, host_memory::pinned).find();
}

rule_result device_copy(rule_context const& run) {
  rule_result made;
  device_copy_time all;
  double all_idle_ns = 0.0;
  std::vector<double> const idle = idle_of_device_copies(run);
  for (device_copy_time const& time : run.in.steps.device_copies) {
    double const idle_ns = idle[time.row];
    if (!run.is_judged(time.row) || !run.is_worth(time.alone_ns + idle_ns)) continue;
    all_idle_ns += idle_ns;
    all.copies += time.copies;
    all.copied_bytes += time.copied_bytes;
    all.fills += time.fills;
    all.filled_bytes += time.filled_bytes;
    all.alone_ns += time.alone_ns;
    candidate seen = run.candidate_of(time.row, time.alone_ns + idle_ns);
    seen.idle_ns = idle_ns;
    seen.prove_some("d2d_bytes", time.copied_bytes, "B");
    seen.prove_some("set_bytes", time.filled_bytes, "B");
    seen.prove("gpu_copy_self_ns", time.ns, "ns");
    seen.prove_some("gpu_idle_ns", idle_ns, "ns");
    made.candidates.push_back(std::move(seen));
  }
  if (all.copies > 0.0)
    made.title = bytes_text(all.copied_bytes) + in_whole(run) + " are copied within the GPU in " +
                 amount_text(all.copies, "copy", "copies");
  if (all.fills > 0.0)
    made.title += (all.copies > 0.0 ? ", and " : "") + bytes_text(all.filled_bytes) +
                  in_whole(run) + " are filled in " + amount_text(all.fills, "call", "calls");
  made.title += ", while no kernel runs for " + time_text(all.alone_ns);
  if (run.is_worth(all_idle_ns))
    made.title += ", and the GPU is idle for another " + time_text(all_idle_ns);
  if (all_idle_ns > all.alone_ns)
    made.advice =
        all.copies > 0.0
            ? "do all of them in one kernel that takes their addresses, or with "
              "cudaMemcpyBatchAsync: the host needs longer for each call than the GPU to move its "
              "bytes"
            : "fill all of them in one kernel that takes their addresses: the host needs longer "
              "for each call than the GPU to fill";
  else if (!(all.copies > 0.0))
    made.advice = "fill once, or let the kernel that writes the values begin with them";
  return made;
}

// Kernels that wait for pages of managed memory, and the host's code that takes them back.
rule_result managed_memory(rule_context const& run) {
  rule_result made;
  if (!run.in.source.has_migrations) return pages_by_waits(run);
  std::vector<own_migrations> const own = own_migrations_by_row(run);
  std::vector<double> const idle = idle_of_pages_by_row(run, own);
  own_migrations all;  // of a step
  for (std::size_t row = 0; row < run.rows.size(); ++row) {
    if (!run.is_judged(row) || !run.is_worth(run.per_step(row, own[row].ns))) continue;
    double const waits =
        own[row].faults > 0.0 || own[row].to_device_bytes > 0.0
            ? run.gains.gain(row, fix_of_kernels().ends_waits(run.load(row).time_ns))
            : 0.0;
    if (!run.is_worth(waits) && !run.is_worth(idle[row])) continue;
    all.add(own[row], run.per_step(row, 1.0));
    if (run.is_worth(waits)) made.candidates.push_back(run.candidate_of_kernels(row, waits));
    if (run.is_worth(idle[row])) {
      made.candidates.push_back(run.candidate_of(row, idle[row]));
      made.candidates.back().part = finding_part::host_work;
    }
  }
  for (candidate& seen : made.candidates) prove_migrations(run, seen, own[seen.row]);
  made.title = "Managed memory moves " + bytes_text(all.to_device_bytes) + " to the GPU and " +
               bytes_text(all.to_host_bytes) + " back in " + std::string(run.in.steps.one_whole());
  return made;
}

// Collectives that no other kernel hides.
rule_result exposed_communication(rule_context const& run) {
  rule_result made;
  collective_time all;
  for (collective_time const& time : run.in.steps.collectives) {
    if (!run.is_judged(time.row)) continue;
    all.busy_ns += time.busy_ns;
    all.alone_ns += time.alone_ns;
  }
  if (!run.is_expensive(all.alone_ns)) return made;
  // Each range counts, however little it has: layers and buckets have ranges of their own.
  for (collective_time const& time : run.in.steps.collectives) {
    if (!run.is_judged(time.row) || !(time.alone_ns > 0.0)) continue;
    candidate seen = run.candidate_of(time.row, time.alone_ns);
    seen.claims.push_back({time.row, time.alone_ns, true});
    double const bytes = run.calls_per_step(time.row, run.rows[time.row].collective_bytes);
    seen.prove("kernels_self", time.count, "");
    seen.prove("gpu_kernel_self_ns", time.ns, "ns");
    seen.prove("collective_bytes", bytes, "B");
    made.candidates.push_back(std::move(seen));
  }
  // Those of the last step of a window may end behind its period.
  made.title = "Collectives take " + time_text(std::min(all.busy_ns, run.step_ns)) + " of " +
               std::string(run.in.steps.one_whole()) +
               ", with no other kernel at the same time for " +
               time_text(std::min(all.alone_ns, run.step_ns));
  return made;
}

// Looks at the kernels that leave most SMs free: others may run at the same time.
rule_result serialised_streams(rule_context const& run) {
  rule_result made;
  small_kernels worst;
  for (small_kernels const& work : small_kernels_by_device(run))
    if (work.gain_together() > worst.gain_together()) worst = work;
  double const cost = worst.gain_together();
  if (!run.is_expensive(cost)) return made;
  std::vector<double> little(run.rows.size(), 0.0);
  for (kernel_row const& kernel : run.in.kernels) {
    bool const is_small = kernel.blocks_mean <= small_fill * run.multiprocessors;
    if (is_small && !is_collective(kernel)) little[run.row_of(kernel)] += kernel.duration.sum();
  }
  std::size_t most_expensive = 0;
  for (std::size_t i = 0; i < run.rows.size(); ++i)
    if (run.is_judged(i) && little[i] > little[most_expensive]) most_expensive = i;
  std::string const of_gpu = run.in.steps.devices.size() > 1
                                 ? "of GPU " + std::to_string(worst.device) + " "
                                 : std::string();
  candidate seen = run.candidate_of(most_expensive, cost,
                                    "Kernels of " + std::to_string(worst.streams) + " streams " +
                                        of_gpu + "run one after the other, each on " +
                                        percent_text(worst.filled_ns / worst.ns) + " of the SMs");
  for (std::size_t i = 0; i < run.rows.size(); ++i)
    if (little[i] > 0.0) seen.claims.push_back({i, cost, false});
  if (worst.has_legacy) {
    seen.title += ", beside the legacy default stream";
    seen.advice =
        "make streams by cudaStreamCreateWithFlags(cudaStreamNonBlocking), or launch nothing in "
        "the legacy default stream: blocking streams and it wait for each other; then remove "
        "events and host waits between independent streams";
  }
  seen.prove("streams", static_cast<double>(worst.streams), "");
  seen.prove("gpu_kernel_ns", worst.ns, "ns");
  seen.prove("overlap_ns", worst.overlap_ns, "ns");
  made.candidates.push_back(std::move(seen));
  return made;
}

}  // namespace detail
STRATA_END
