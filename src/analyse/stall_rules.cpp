#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/text.hpp>
#include <strata/tables/kernel_table.hpp>
#include "gains.hpp"
#include "kernel_look.hpp"
#include "occupancy.hpp"
#include "roofline.hpp"
#include "rule_context.hpp"
#include "rules.hpp"
#include "speed_of_light.hpp"
#include "stalls.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

// The rules of kernels that no unit bounds: what their warps wait for, and why few are in flight.

STRATA_BEGIN
namespace detail {
namespace {

/// "; warps most often wait at a block barrier (barrier), 62 % of their time".
std::string stall_clause(stall_share const& most) {
  if (most.stall == nullptr) return {};
  if (most.part < most.uncounted) return "; most of what warps wait for was not counted";
  return "; warps most often " + stall_text(most.stall->name) + ", " + percent_text(most.part) +
         " of their time";
}

/// How near the kernels are to a limit. From `latency_use` on the unit bounds them too.
std::string use_clause(range_limit const& load) {
  std::string const unit(load.roof);
  if (load.fraction() >= latency_use)
    return "Latency together with " + unit + ", which is at " + load.use_text();
  return "No hardware limit is reached: " + unit + " is used most, at " + load.percent_text();
}

constexpr std::string_view advice_without_stall =
    "find out first what its warps wait for: counters=findings+stalls counts all waits";

/// Loads of a warp that follow each other.
struct load_chain {
  double loads = 0.0;  ///< of a warp; 0 where they are not known to follow each other
  double ns = 0.0;     ///< that each of them takes
  double part = 0.0;   ///< of the kernel's time that all of them take
  double best = 0.0;   ///< of its time, what a chain would save that is too short to be seen
};

/// Each load takes as long as memory does: a warp has one in flight at a time. Only of kernels that
/// their loads take half the time of, by warps that begin with the kernel.
load_chain chain_of(rule_context const& run, std::size_t row, kernel_row const& kernel) noexcept {
  // Cycles of a load that L2 answers, and as many more where device memory does (V100, A100, H100).
  // Source: Ultrasonics Sonochemistry 99 (2023) 106546, table 3.
  constexpr double least_latency = 200.0;
  constexpr double fewest = 16.0;       // loads: no compiler would bring so many ahead; chosen
  constexpr double mostly = 0.5;        // of the kernel's time, and of the LSUs' work; chosen
  constexpr double unloaded = 1.0 / 3;  // the most use of a unit: no load waits for others; chosen
  double const all = run.own(row, "lsu_instructions");
  double const loads = all - run.own_or_0(row, "shared_wavefronts");
  double const missing = part_of(run.own(row, "hbm_read_bytes"), run.own(row, "l2_bytes"));
  double const cycles = run.own(row, "stall_long_scoreboard") / loads;
  double const clock = run.own(row, "sm_cycles") / run.own(row, "time_ns");
  double const warps = kernel.blocks_mean * std::ceil(kernel.block_threads_max / 32.0);
  double const in_flight = run.own(row, "warps_active") / run.own(row, "sm_cycles");
  double const waits = part_of(run.own(row, "stall_long_scoreboard"), run.own(row, "warps_active"));
  double const part = waits * std::min(1.0, in_flight / warps);
  double const ns = cycles / clock;
  double const in_sequence = part * mean_duration(run, kernel) / ns;
  load_chain const chain{in_sequence, ns, part, 1.0 - fewest / in_sequence};
  bool const is_chain = loads >= mostly * all && cycles >= least_latency * (1.0 + missing) &&
                        part >= mostly && chain.loads >= fewest &&
                        run.load(row).fraction() < unloaded;
  return is_chain ? chain : load_chain();
}

/// What a chain that is too short to be seen would take less. The loads that go take their work
/// with them, also what other causes have of it; what is left takes no less than its limit.
double best_ns_of(rule_context const& run, std::size_t row, load_chain const& chain) noexcept {
  range_limit const& load = run.load(row);
  double const sectors = run.own(row, "l1_global_load_sectors");
  double const of_l1 = part_of(sectors, run.own(row, "l1_sectors"));
  double const of_l2 = part_of(32.0 * sectors, run.own(row, "l2_bytes"));
  double const of_hbm = part_of(run.own(row, "hbm_read_bytes"), run.own(row, "hbm_bytes"));
  double const shared = part_of(load.units[gpu_unit::shared], load.units[gpu_unit::l1]);
  fix_of_kernels fix;
  fix.leaves(gpu_unit::lsu, 1.0 - chain.best * of_l1);
  fix.leaves(gpu_unit::l1, 1.0 - chain.best * of_l1 * (1.0 - shared));
  fix.leaves(gpu_unit::l2, 1.0 - chain.best * of_l2);
  fix.leaves(gpu_unit::hbm, 1.0 - chain.best * std::min(of_l2, of_hbm));
  fix.ends_waits(chain.best * load.time_ns);
  return std::min(fix.saved_ns(load), load.time_ns - fix.least_ns(load));
}

/// "; each load of a warp waits for the one before: 6,000 in sequence, of about 145 ns, take 69 %
/// of the kernel's time".
std::string chain_clause(load_chain const& chain) {
  double const digits = std::pow(10.0, std::floor(std::log10(chain.loads)) - 1.0);
  return "; each load of a warp waits for the one before: " +
         amount_text(std::round(chain.loads / digits) * digits) + " in sequence, of about " +
         time_text(chain.ns) + ", take " + percent_text(chain.part) + " of the kernel's time";
}

constexpr std::string_view advice_of_chains =
    "shorten the chain where a load returns the address of the next one (a better hash, a table, a "
    "tree with more branches), or run more such chains at once; issue independent loads early";

/// The part of the kernels' time that ends with the wait. Without that wait each warp is ready
/// sooner by its share; what was not counted may be all of it.
double part_of_wait(stall_share const& most) noexcept {
  return most.stall == nullptr || most.part < most.uncounted ? 1.0 : most.part;
}

}  // namespace

rule_result occupancy_gap(rule_context const& run) {
  constexpr double few = 0.5;  // of the warps that fit; chosen
  return look_at_waiting(
      run, far_use,
      [&](std::size_t row, double ns, kernel_row const& kernel) -> std::optional<candidate> {
        if (run.load(row).fraction() >= far_use || is_tensor_kernel(run, row)) return std::nullopt;
        double const fits = residency_of(kernel, run.sm).occupancy;
        double const flown = run.own(row, "achieved_occupancy") / 100.0;
        // Blocks that one wave does not fill leave room by their number.
        double const filled = std::min(1.0, waves_of(run, kernel));
        if (!(flown < few * fits * filled)) return std::nullopt;
        double const gain =
            run.gains.gain(row, fix_of_kernels().ends_waits(ns * (1.0 - flown / (fits * filled))));
        if (!run.is_worth(gain)) return std::nullopt;
        candidate seen = run.candidate_of_kernels(
            row, gain,
            percent_text(flown) + " of the warps that an SM holds are in flight, where " +
                percent_text(fits) +
                " fit: its warps or blocks end at different times; the kernel is " +
                launch_text(run, kernel));
        run.prove_own(seen, "achieved_occupancy", "%");
        seen.prove("registers_per_thread", kernel.registers_per_thread, "");
        return seen;
      });
}

rule_result latency_bound(rule_context const& run) {
  constexpr double told_stall = 20.0;  // %, of the warps; chosen
  constexpr double much = 0.4;         // of the warps' time; chosen
  return look_at_waiting(
      run, far_use,
      [&](std::size_t row, double ns, kernel_row const& kernel) -> std::optional<candidate> {
        stall_share const most = longest_stall(run.in.counters, row, counter_scope::self);
        bool const is_told = most.stall != nullptr && most.part >= most.uncounted;
        bool const is_fault = is_told && most.stall->is_fault && most.part >= much;
        range_limit const& load = run.load(row);
        if (load.fraction() >= far_use && (!is_fault || is_tensor_kernel(run, row)))
          return std::nullopt;
        // Instructions that come late enough leave their units idle, however near these are.
        bool const is_late = most.part >= load.fraction() && is_bound_by_instructions(run, row);
        if (load.fraction() >= latency_use && !is_late) return std::nullopt;
        double const gain =
            run.gains.gain(row, fix_of_kernels().ends_waits(ns * part_of_wait(most)));
        if (!run.is_worth(gain)) return std::nullopt;
        bool const is_of_loads = is_told && most.stall->name == "long_scoreboard";
        load_chain const chain = is_of_loads ? chain_of(run, row, kernel) : load_chain();
        candidate seen = run.candidate_of_kernels(
            row, gain,
            use_clause(load) + (chain.loads > 0.0 ? chain_clause(chain) : stall_clause(most)) +
                "; the kernel is " + launch_text(run, kernel));
        seen.best_ns = best_ns_of(run, row, chain);
        seen.advice = !is_told            ? advice_without_stall
                      : chain.loads > 0.0 ? advice_of_chains
                                          : most.stall->advice;
        run.prove_use(seen, gpu_unit::issue);
        run.prove_own(seen, "achieved_occupancy", "%");
        if (!is_told) seen.needs = "counters=findings+stalls";
        for (metric const& stalled : metric_list()) {
          if (stall_of(stalled.key()).empty()) continue;
          double const share = run.own(row, stalled.key());
          if (share > told_stall) seen.prove(stalled.key(), share, "%");
        }
        return seen;
      },
      bound_use);
}

}  // namespace detail
STRATA_END
