#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/text.hpp>
#include <strata/base/vocabulary.hpp>
#include <strata/profile/metric_resolver.hpp>
#include <strata/profile/metric_set.hpp>
#include <strata/profile/records.hpp>
#include <strata/tables/kernel_table.hpp>
#include <strata/tables/steps_summary.hpp>
#include "device_peaks.hpp"
#include "gains.hpp"
#include "kernel_amounts.hpp"
#include "kernel_look.hpp"
#include "kernel_names.hpp"
#include "occupancy.hpp"
#include "roofline.hpp"
#include "rule_context.hpp"
#include "rules.hpp"
#include "speed_of_light.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

// The rules that look at the kernels of single ranges.

STRATA_BEGIN
namespace detail {
namespace {

/// Mean time of a kernel in a CUDA graph, where kernels follow each other at once, from which on
/// too few blocks can be blamed for it. Units: ns. Chosen.
constexpr double shortest_in_graph = 5'000.0;
/// What a kernel takes in a graph, whatever it does. Units: ns.
/// Source: operators of 4 to 16 blocks in a graph of PyTorch take 1.4 us each (H200, CUDA 13.0).
constexpr double least_in_graph = 1'500.0;

/// Whether the blocks suffice to draw all that device memory gives, and no count of this kernel
/// says whether they do. Source: a product of a token with 134 MB of weights moves 4.77 TB/s by
/// 96 blocks (H200); by its attributes 38 suffice.
bool may_fill_memory(rule_context const& run, std::size_t row, kernel_row const& kernel) noexcept {
  // Of the SMs. Source: those attributes of an H200, 38 of 132, rounded up.
  constexpr double usual = 1.0 / 3.0;
  double const least =
      run.blocks_of_memory > 0.0 ? run.blocks_of_memory : usual * run.multiprocessors;
  bool const is_counted = run.load(row).units.are_whole() && kernel_of(run, row) == &kernel;
  return !is_counted && kernel.blocks_mean >= least;
}

/// Whether a kernel of a warp or two was counted: what it waits for is a chain of its own
/// results, which more blocks do not split.
bool is_chain(rule_context const& run, std::size_t row, kernel_row const& kernel) noexcept {
  constexpr double few_warps = 2.0;
  return run.load(row).units.is_known() && kernel.blocks_mean * kernel.warps_per_block <= few_warps;
}

/// The mean time of the SMs that a counted kernel's blocks reach, as a part of the busiest one's; 1
/// where that is not known, or the blocks take about equal time.
double balance_of(rule_context const& run, std::size_t row, kernel_row const& kernel) noexcept {
  constexpr double even = 0.8;  // chosen
  double const reached = run.multiprocessors * std::min(1.0, filled_by(run, kernel));
  double const balance =
      run.own(row, "sm_active_cycles") / reached / run.own(row, "sm_active_cycles_max");
  return kernel_of(run, row) == &kernel && balance < even ? balance : 1.0;
}

/// The part of the kernels' time in which accesses to memory wait behind each other. With the
/// warps in flight given, the time of a kernel is the accesses times what one takes (Little's
/// law). Where one takes far longer than a load of an idle memory, it stands in a queue, which no
/// unit's own use shows, and which is shorter by the sectors that no longer come. 0 where that is
/// not so or not known.
double queued_part(rule_context const& run, std::size_t row) noexcept {
  // Cycles of a load from device memory: 466 (A100), 479 (Hopper), 542 (RTX 4090).
  // Source: Luo et al. 2024, "Benchmarking and Dissecting the Nvidia Hopper GPU Architecture".
  constexpr double load_latency = 550.0;
  constexpr double far_longer = 2.0;  // times that latency; chosen
  // Cycles that a warp waits for the result of another instruction: 4 to 6 of arithmetic, twice
  // that where the warps share a pipe.
  constexpr double result_latency = 10.0;
  gpu_unit const nearest = run.load(row).units.longest();
  if (nearest != gpu_unit::l1 && nearest != gpu_unit::l2 && nearest != gpu_unit::hbm) return 0.0;
  double const cycles = run.own_or_0(row, "sm_active_cycles");
  double const warps = run.own_or_0(row, "achieved_occupancy") / 100.0 * run.sm.warps;
  double const issued = run.load(row).use(gpu_unit::issue) * schedulers;
  double const waiting = cycles * (warps - issued * result_latency);
  double const latency = load_latency * run.own_or_0(row, "lsu_instructions");
  if (latency <= 0.0 || waiting < far_longer * latency) return 0.0;
  return 1.0 - latency / waiting;
}

/// What L2 and device memory move at most for a sector that L1 asks for, in sectors. L2 counts
/// one again that it had to fetch, and most that are written in part.
/// Source: counted on an H200, loads of single sectors take 1.9 of L2 and 1.8 of device memory,
/// stores of 4 bytes 1.6 of L2.
constexpr double accesses_by_sector = 2.0;

/// What whole lines leave of the units that sectors of `moved` bytes pass, of which `asked` are
/// used. TMA passes these sectors by: what they are of a level is all that changes there.
fix_of_kernels coalescing(rule_context const& run, std::size_t row, double moved,
                          double asked) noexcept {
  double const used = asked / moved;
  double const of_l1 =
      1.0 - part_of(run.load(row).units[gpu_unit::shared], run.load(row).units[gpu_unit::l1]);
  double const l2_bytes = run.own(row, "l2_bytes");
  double const of_l2 = part_of(accesses_by_sector * moved, l2_bytes);
  double const hbm_bytes = run.own(row, "hbm_bytes");
  // Their share of device memory's traffic is at most that of L2's, through which it goes.
  double const of_hbm = std::min(of_l2, part_of(accesses_by_sector * moved, hbm_bytes));
  // Requests of one sector fill L2's tags and its input long before its data path; those of whole
  // lines bring four sectors at once.
  double const of_bytes = run.at_roof_ns(l2_bytes, "L2") / run.load(row).units[gpu_unit::l2];
  double const by_lines = is_finite(of_bytes) ? std::min(1.0, of_bytes) : 1.0;
  fix_of_kernels fix;
  fix.leaves(gpu_unit::l1, 1.0 - of_l1 * (1.0 - used));
  fix.leaves(gpu_unit::l2, 1.0 - of_l2 * (1.0 - used * by_lines));
  fix.leaves(gpu_unit::hbm, std::max(part_of(asked, hbm_bytes), 1.0 - of_hbm * (1.0 - used)));
  return fix;
}

/// The least time of a range's own kernels at the nearest roof, where that is another one; 0
/// where it is this one.
double other_limit_ns(rule_context const& run, std::size_t row, std::string_view roof) noexcept {
  range_limit const& limit = run.load(row);
  return limit.roof == roof ? 0.0 : limit.roof_ns / reachable_use(limit.roof);
}

}  // namespace

rule_result few_blocks(rule_context const& run) {
  constexpr double filled = 0.75;  // of the SMs; chosen
  rule_result made;
  if (run.multiprocessors == 0.0) return made;
  gain_judge gains = run.gains;  // a range may have several such kernels
  for (kernel_row const& kernel : run.in.kernels) {
    std::size_t const row = run.row_of(kernel);
    bool const in_graph = launches_graphs(run.rows[row], run.in.steps);
    double const shortest = in_graph ? shortest_in_graph : shortest_kernel;
    bool const is_short = mean_duration(run, kernel) < shortest;
    double const reached = filled_by(run, kernel);
    if (is_short || reached > filled || is_collective(kernel)) continue;
    if (!run.is_judged(row) || is_many(kernel)) continue;
    double const ns = ns_in_step(kernel, run.rows[row], run.in.steps);
    if (!run.is_worth(ns) || is_explained(gains, row)) continue;
    if (has_overlap(run, row) || is_chain(run, row, kernel)) continue;
    if (may_fill_memory(run, row, kernel)) {
      if (made.open.empty()) made.open.push_back(run.what_decides(deciding::findings, row));
      continue;
    }
    // In the rest of the step other kernels may run at the same time.
    double const launches = launches_in_step(kernel, run.rows[row], run.in.steps);
    double const least = in_graph ? launches * least_in_graph : 0.0;
    double const alone = ns - least - run.in.steps.overlap_ns;
    double const balance = balance_of(run, row, kernel);
    double const idle = alone * (1.0 - reached * balance);
    double const gain = gains.gain(row, fix_of_kernels().ends_waits(idle));
    if (!run.is_worth(gain)) continue;
    candidate seen =
        run.candidate_of_kernels(row, gain,
                                 kernel_text(kernel.short_name) + " has " +
                                     amount_text(kernel.blocks_mean, "block", "blocks") + " for " +
                                     amount_text(run.multiprocessors) + " SMs");
    if (balance < 1.0)
      seen.title += "; they take unequal time: the mean SM that has one works for " +
                    percent_text(balance) + " of the time of the busiest";
    seen.prove("blocks_mean", kernel.blocks_mean, "");
    seen.prove("multiprocessors", run.multiprocessors, "");
    seen.prove("total_ns", ns, "ns");
    seen.kernel = std::string(kernel.short_name);
    for (finding_evidence& value : seen.evidence) value.kernel = seen.kernel;
    gains.claim(row, gain);
    made.candidates.push_back(std::move(seen));
  }
  return made;
}

rule_result uncoalesced(rule_context const& run) {
  constexpr double enough = 0.4;  // of the bytes of a sector: PyTorch's layer norm uses 0.45
  return look_at_counted(
      run, "global_load_bytes", [&](std::size_t row, double ns) -> std::optional<candidate> {
        double const sectors = run.own_or_0(row, "l1_global_load_sectors") +
                               run.own_or_0(row, "l1_global_store_sectors");
        double const asked = run.own(row, "global_load_bytes") + run.own(row, "global_store_bytes");
        if (!(sectors > 0.0) || !is_finite(asked)) return std::nullopt;
        double const moved = 32.0 * sectors;
        double const used = asked / moved;
        if (used > enough) return std::nullopt;
        // A warp of which one thread loads moves a sector all the same.
        double const least_moved = std::max(asked, 32.0 * run.own_or_0(row, "lsu_instructions"));
        double const of_l2 = part_of(accesses_by_sector * moved, run.own(row, "l2_bytes"));
        double const of_queue = of_l2 * (1.0 - part_of(least_moved, moved));
        fix_of_kernels fix = coalescing(run, row, moved, asked);
        fix.ends_waits(ns * std::min(queued_part(run, row), of_queue));
        double const gain = run.gains.gain(row, fix);
        if (!run.is_worth(gain)) return std::nullopt;
        candidate seen =
            run.candidate_of_kernels(row, gain,
                                     std::string("Threads use ") + percent_text(used) +
                                         " of the bytes that their loads and stores move");
        run.prove_own(seen, "l1_global_load_sectors", "sectors");
        run.prove_own(seen, "global_load_bytes", "B");
        run.prove_own(seen, "l1_global_store_sectors", "sectors");
        run.prove_own(seen, "global_store_bytes", "B");
        return seen;
      });
}

namespace {

/// The fix of the spills, where also all instructions go that compute addresses: those of values
/// stay.
fix_of_kernels without_addresses(rule_context const& run, std::size_t row, fix_of_kernels fix) {
  if (!is_finite(run.own(row, "fadd"))) return fix;
  thread_arithmetic const done = arithmetic_of(run, row);
  double const values = (done.floating + done.special) / run.own(row, "predicated_on_instructions");
  for (gpu_unit const unit : instruction_units) fix.leaves(unit, values);
  return fix;
}

/// A fix, where also accesses to values fill the lines of L1.
fix_of_kernels in_whole_lines(rule_context const& run, std::size_t row, fix_of_kernels fix) {
  double const asked = run.own(row, "global_load_bytes") + run.own(row, "global_store_bytes");
  for (gpu_unit const unit : {gpu_unit::lsu, gpu_unit::l1})
    fix.leaves(unit, asked / run.own(row, "l1_data_bytes"));
  return fix;
}

}  // namespace

rule_result register_spills(rule_context const& run) {
  return look_at_counted(
      run, "l1_local_load_sectors", [&](std::size_t row, double ns) -> std::optional<candidate> {
        double const local = run.own_or_0(row, "l1_local_load_sectors") +
                             run.own_or_0(row, "l1_local_store_sectors");
        // Of L1's sectors alone it says nothing: TMA and warpgroup products have none.
        double const of_l1 = part_of(32.0 * local, run.own(row, "l1_data_bytes"));
        double const of_sectors = part_of(local, run.own(row, "l1_sectors"));
        double const of_l2 =
            of_sectors * part_of(32.0 * run.own_or_0(row, "l1_sectors"), run.own(row, "l2_bytes"));
        fix_of_kernels fix;
        fix.leaves(gpu_unit::lsu, 1.0 - std::min(of_l1, of_sectors));
        fix.leaves(gpu_unit::l1, 1.0 - of_l1);
        fix.leaves(gpu_unit::l2, 1.0 - of_l2);
        // What threads load and store stays, as far as device memory moves it.
        double const of_values =
            std::min(run.own_or_0(row, "hbm_read_bytes"), run.own_or_0(row, "global_load_bytes")) +
            std::min(run.own_or_0(row, "hbm_write_bytes"), run.own_or_0(row, "global_store_bytes"));
        fix.leaves(gpu_unit::hbm,
                   std::max(1.0 - of_l2, part_of(of_values, run.own(row, "hbm_bytes"))));
        double const gain = run.gains.gain(row, fix);
        // A few values that stay in memory are a compiler's choice (flash attention: 0.09 of the
        // time).
        constexpr double least_spilled = 0.15;
        if (!run.is_worth(gain) || gain < least_spilled * ns) return std::nullopt;
        double const taken =
            std::max(of_l1 * fix_of_kernels::taken_ns(run.load(row), gpu_unit::l1),
                     of_l2 * fix_of_kernels::taken_ns(run.load(row), gpu_unit::l2)) /
            ns;
        // Registers are spilled where a thread has many, or __launch_bounds__ leaves it few.
        constexpr std::uint32_t few_registers = 64;  // chosen
        kernel_row const* const kernel = kernel_of(run, row);
        bool const has_few = kernel != nullptr && kernel->registers_per_thread < few_registers;
        candidate seen = run.candidate_of_kernels(
            row, gain,
            std::string(has_few ? "Local memory (an array with a variable index, since a thread "
                                  "has only " +
                                      std::to_string(kernel->registers_per_thread) + " registers"
                                : "Local memory (spilled registers, or arrays with a variable "
                                  "index") +
                ") takes L1 or L2 for " + percent_text(taken) + " of the time");
        if (has_few)
          seen.advice =
              "unroll the loops over its index, so that it is in registers, or pass scalars; "
              "__launch_bounds__ may leave too few registers";
        constexpr double much_more = 1.1;  // times the gain; chosen
        fix_of_kernels const fewer = without_addresses(run, row, fix);
        double const best = run.gains.gain(row, in_whole_lines(run, row, fewer));
        double const integers = part_of_integers(run, row);
        // Where something else bounds it then, fewer instructions alone change nothing.
        if (integers >= mostly_integers && best > much_more * gain &&
            run.gains.gain(row, fewer) > gain) {
          seen.best_ns = best;
          seen.advice =
              has_few ? "unroll the loops over its index, so that it is in registers, or pass "
                        "scalars (__launch_bounds__ may leave too few registers); then compute an "
                        "address once for 16 bytes, without divisions"
                      : "pass scalars instead of arrays, or unroll the loops over an index; then "
                        "compute an address once for 16 bytes, without divisions";
          seen.title += "; then instructions bound it, of which " + percent_text(integers) +
                        " are integer ones, as of addresses";
        }
        run.prove_own(seen, "l1_local_load_sectors", "sectors");
        run.prove_own(seen, "l1_local_store_sectors", "sectors");
        run.prove_own(seen, "l1_data_bytes", "B");
        return seen;
      });
}

rule_result bank_conflicts(rule_context const& run) {
  constexpr double least_conflicts = 0.3;  // of the wavefronts; chosen
  return look_at_counted(
      run, "shared_load_bytes", [&](std::size_t row, double) -> std::optional<candidate> {
        double const wavefronts = run.own(row, "shared_wavefronts");
        double const bytes = run.own(row, "shared_load_bytes") + run.own(row, "shared_store_bytes");
        // Wide loads need more wavefronts than their bytes, and some wait for each other without a
        // conflict: both counts must say so.
        double const counted = run.own(row, "shared_bank_conflicts");
        if (!(bytes > 0.0) || !is_finite(counted)) return std::nullopt;
        double const more = std::min(counted, wavefronts - bytes / wavefront_bytes);
        double const conflicts = part_of(more, wavefronts);
        if (!(conflicts > least_conflicts)) return std::nullopt;
        double const shared =
            part_of(run.load(row).units[gpu_unit::shared], run.load(row).units[gpu_unit::l1]);
        fix_of_kernels fix;
        fix.leaves(gpu_unit::shared, 1.0 - conflicts);
        fix.leaves(gpu_unit::l1, 1.0 - conflicts * shared);
        double const gain = run.gains.gain(row, fix);
        if (!run.is_worth(gain)) return std::nullopt;
        candidate seen = run.candidate_of_kernels(
            row, gain,
            std::string("Shared memory takes ") + amount_text(wavefronts / (wavefronts - more)) +
                " times as many wavefronts as it would without bank conflicts");
        seen.prove("shared_wavefronts", wavefronts, "wavefronts");
        run.prove_own(seen, "shared_bank_conflicts", "conflicts");
        run.prove_own(seen, "shared_load_bytes", "B");
        run.prove_own(seen, "shared_store_bytes", "B");
        return seen;
      });
}

/// Values that go through shared memory many times, as in a reduction by a tree.
rule_result shared_work(rule_context const& run) {
  constexpr double each_byte = 4.0;   // of device memory, so often in shared memory; chosen
  constexpr double least_flop = 0.4;  // a byte, from which on they are operands; chosen
  return look_at_counted(
      run, "shared_load_bytes", [&](std::size_t row, double) -> std::optional<candidate> {
        range_limit const& load = run.load(row);
        gpu_unit const longest = load.units.longest();
        bool const is_shared = longest == gpu_unit::shared || longest == gpu_unit::lsu;
        double const moved = run.own_or_0(row, "hbm_bytes");
        double const shared =
            run.own(row, "shared_load_bytes") + run.own_or_0(row, "shared_store_bytes");
        double const memory = load.use(gpu_unit::hbm);
        double const tensor = run.tensor_flops(row, counter_scope::self);
        double const flops = run.own_or_0(row, "flop") + (is_finite(tensor) ? tensor : 0.0);
        if (!is_shared || !load.units.are_whole() || load.fraction() < latency_use ||
            is_tensor_kernel(run, row) || !(shared > each_byte * moved) ||
            flops > least_flop * shared || memory < least_memory || memory > most_memory)
          return std::nullopt;
        double const left = moved / shared;  // each byte once
        double const of_l1 = part_of(load.units[gpu_unit::shared], load.units[gpu_unit::l1]);
        fix_of_kernels fix;
        fix.leaves(gpu_unit::shared, left);
        for (gpu_unit const unit : {gpu_unit::l1, gpu_unit::lsu})
          fix.leaves(unit, 1.0 - of_l1 * (1.0 - left));
        double const gain = run.gains.gain(row, fix);
        if (!run.is_worth(gain)) return std::nullopt;
        double const barriers = run.own_or_0(row, "stall_barrier_share") / 100.0;
        candidate seen = run.candidate_of_kernels(
            row, gain,
            "Shared memory moves " + amount_text(shared / moved) +
                " times the bytes of device memory" +
                (barriers >= 0.1 ? ", and warps wait for barriers for " + percent_text(barriers) +
                                       " of their time"
                                 : std::string()));
        run.prove_own(seen, "shared_load_bytes", "B");
        run.prove_own(seen, "shared_store_bytes", "B");
        run.prove_own(seen, "hbm_bytes", "B");
        seen.prove_some("stall_barrier_share", run.own_or_0(row, "stall_barrier_share"), "%");
        return seen;
      });
}

namespace {

/// Atomics in shared memory, of FP32 or of addresses that many threads have: what keeps it busy is
/// no load or store, nor their conflicts.
std::optional<candidate> shared_atomics(rule_context const& run, std::size_t row, double ns) {
  constexpr double most_accesses = 0.25;  // of the wavefronts; chosen
  constexpr double least_waits = 0.3;     // of the warps' time; chosen
  constexpr double left = 1.0 / 8.0;      // of sums by warp or lane: of 32 threads' turns; chosen
  constexpr double wavefront_bytes = 128.0;
  range_limit const& load = run.load(row);
  double const wavefronts = run.own(row, "shared_wavefronts");
  double const accesses =
      (run.own(row, "shared_load_bytes") + run.own(row, "shared_store_bytes")) / wavefront_bytes +
      run.own(row, "shared_bank_conflicts");
  double const waits = run.own(row, "stall_short_scoreboard_share") / 100.0;
  gpu_unit const longest = load.units.longest();
  bool const is_of_shared =
      longest == gpu_unit::shared || longest == gpu_unit::l1 || longest == gpu_unit::lsu;
  if (!load.units.are_whole() || !is_of_shared || load.fraction() < latency_use ||
      is_tensor_kernel(run, row) || !(accesses < most_accesses * wavefronts) ||
      !(waits > least_waits))
    return std::nullopt;
  fix_of_kernels fix;
  for (gpu_unit const unit : {gpu_unit::shared, gpu_unit::l1, gpu_unit::lsu, gpu_unit::issue})
    fix.leaves(unit, left);
  fix.ends_waits(ns * waits);
  double const gain = run.gains.gain(row, fix);
  if (!run.is_worth(gain)) return std::nullopt;
  candidate seen = run.candidate_of_kernels(
      row, gain,
      std::string(load.roof) + " is used for " + load.percent_text() +
          " of the time, and loads and stores are " + percent_text(accesses / wavefronts) +
          " of what shared memory does: the rest comes from atomics in it (an atomicAdd of float "
          "is a loop there), or from accesses by few threads of a warp");
  run.prove_own(seen, "shared_wavefronts", "wavefronts");
  run.prove_own(seen, "shared_load_bytes", "B");
  run.prove_own(seen, "shared_store_bytes", "B");
  run.prove_own(seen, "shared_bank_conflicts", "conflicts");
  run.prove_own(seen, "stall_short_scoreboard_share", "%");
  return seen;
}

}  // namespace

rule_result atomics(rule_context const& run) {
  constexpr double least_atomics = 0.08;  // of L2's sectors; chosen
  std::size_t graph = 0;                  // whose kernels were counted together
  rule_result made = look_at_counted(
      run, "l2_atomic_sectors", [&](std::size_t row, double ns) -> std::optional<candidate> {
        if (std::optional<candidate> const in_shared = shared_atomics(run, row, ns))
          return in_shared;
        bool const is_mixed =
            launches_graphs(run.rows[row], run.in.steps) && kernel_of(run, row) == nullptr;
        if (graph == 0 && is_mixed && run.is_expensive(ns)) graph = row;
        double const share =
            share_of(run.own(row, "l2_atomic_sectors"), run.own(row, "l2_sectors"));
        if (!(share > least_atomics) || !run.load(row).units.are_whole()) return std::nullopt;
        if (run.load(row).fraction() > far_use) return std::nullopt;
        double const gain = run.gains.gain(row, fix_of_kernels().ends_waits(ns));
        if (!run.is_worth(gain)) return std::nullopt;
        candidate seen = run.candidate_of_kernels(
            row, gain,
            std::string("Atomics are ") + percent_text(share) +
                " of L2's sectors while no unit is busy: they wait for each "
                "other");
        run.prove_own(seen, "l2_atomic_sectors", "sectors");
        run.prove_own(seen, "l2_sectors", "sectors");
        return seen;
      });
  if (graph != 0) made.open.push_back(run.what_decides(deciding::findings, graph));
  return made;
}

/// A double constant in FP32 code: values are converted, computed in FP64 and converted back.
rule_result fp64_by_accident(rule_context const& run) {
  constexpr double conversions_by_operation = 0.25;  // chosen
  // What converts more has another reason: sin and cos reduce few large arguments in FP64.
  constexpr double most_conversions = 4.0;  // an operation; chosen
  // Of 128 lanes that schedulers fill in a cycle the conversion pipe has 16, on all chips from
  // compute capability 7.0 on ("Arithmetic Instructions", CUDA C++ Programming Guide).
  constexpr double issue_by_conversion = 16.0 / 128.0;
  return look_at_counted(
      run, "flop_fp64", [&](std::size_t row, double) -> std::optional<candidate> {
        double const operations =
            run.own(row, "flop_fp64") / 2.0;  // at least: a multiply-add is two
        double const conversions = 32.0 * run.own_or_0(row, "xu_instructions");
        if (!(operations > 0.0) || conversions < conversions_by_operation * operations)
          return std::nullopt;
        fix_of_kernels fix;
        fix.leaves(gpu_unit::fp64, 0.0);
        double const part = part_of(most_conversions * operations, conversions);
        fix.leaves(gpu_unit::xu, 1.0 - part);
        fix.adds(gpu_unit::fma, run.at_roof_ns(run.own(row, "flop_fp64"), "FP32"));
        double const converting = part * issue_by_conversion * run.load(row).units[gpu_unit::xu];
        fix.leaves(gpu_unit::issue,
                   1.0 - part_of(converting, run.load(row).units[gpu_unit::issue]));
        double const gain = run.gains.gain(row, fix);
        if (!run.is_worth(gain)) return std::nullopt;
        bool const converts_longer =
            run.load(row).use(gpu_unit::xu) > run.load(row).use(gpu_unit::fp64);
        gpu_unit const busier = converts_longer ? gpu_unit::xu : gpu_unit::fp64;
        candidate seen = run.candidate_of_kernels(
            row, gain,
            std::string("FP64 operations run on converted values: ") +
                amount_text(run.own(row, "flop_fp64")) + " FLOP, " + amount_text(conversions) +
                " operations of the pipe that converts (XU); " + std::string(to_string(busier)) +
                " is used for " + percent_text(run.load(row).use(busier)) + " of the time");
        run.prove_own(seen, "flop_fp64", "FLOP");
        run.prove_own(seen, "xu_instructions", "instructions");
        return seen;
      });
}

rule_result extra_traffic(rule_context const& run) {
  constexpr double least_traffic = 1.5;  // of the declared bytes; chosen
  constexpr double least_gain = 0.2;     // of the time; chosen
  return look_at_counted(
      run, "hbm_bytes", [&](std::size_t row, double ns) -> std::optional<candidate> {
        double const counted = run.own(row, "hbm_bytes");
        double const declared = run.in.steps.declared_bytes(run.rows[row]);
        bool const leaf = run.rows[row].self.kernels == run.rows[row].total.kernels;
        if (!leaf || !(declared > 0.0) || !(counted > least_traffic * declared))
          return std::nullopt;
        // Without the units, what HBM takes for the bytes that are too many.
        double const extra_ns =
            std::min(ns, run.at_roof_ns(counted - declared, run.in.roofline.memory));
        fix_of_kernels fix;
        fix.leaves(gpu_unit::hbm, declared / counted);
        if (!run.load(row).units.is_known())
          fix.replaces_all(
              std::max(ns - extra_ns, other_limit_ns(run, row, run.in.roofline.memory)));
        double const gain = run.gains.gain(row, fix);
        if (!run.is_worth(gain) || gain < least_gain * ns) return std::nullopt;
        candidate seen = run.candidate_of_kernels(row, gain,
                                                  std::string("Device memory moves ") +
                                                      amount_text(counted / declared) +
                                                      " times the bytes that the range declares");
        seen.prove("hbm_bytes", counted, "B");
        seen.prove("bytes", declared, "B");
        return seen;
      });
}

rule_result tail_wave(rule_context const& run) {
  constexpr double least_idle = 0.2;  // of the time; chosen
  constexpr double most_waves = 3.0;  // chosen: of more, the last one is a quarter at most
  return look_at_waiting(
      run, latency_use,
      [&](std::size_t row, double ns, kernel_row const& kernel) -> std::optional<candidate> {
        last_wave const last = last_wave_of(run, kernel);
        if (!(last.waves > 1.0) || last.waves > most_waves || last.idle < least_idle)
          return std::nullopt;
        double const gain = run.gains.gain(row, fix_of_kernels().ends_waits(last.idle * ns));
        if (!run.is_worth(gain)) return std::nullopt;
        candidate seen = run.candidate_of_kernels(
            row, gain,
            kernel_text(kernel.short_name) + " has " + fixed_string(last.waves, 2) +
                " waves of blocks: the last one leaves " +
                percent_text(std::ceil(last.waves) - last.waves) + " of the room for blocks idle");
        double const at_a_time = kernel.blocks_mean / waves_of(run, kernel);
        bool const is_mean = last.waves == waves_of(run, kernel);
        seen.prove(is_mean ? "blocks_mean" : "blocks_median", last.waves * at_a_time, "");
        seen.prove("blocks_at_a_time", at_a_time, "");
        return seen;
      });
}

namespace {

/// The time of a waiting kernel once registers (or shared memory) no longer limit its blocks. It
/// has fewer waves, each as long as now. In addition to the waits, the busiest unit needs its own
/// time; the longer the waits, the more of that they hide. Units: ns.
/// Source: balanced job bounds (Zahorjan, Sevcik, Eager and Galler, 1982).
double ns_without_limit(rule_context const& run, std::size_t row, kernel_row kernel,
                        bool by_registers) {
  double const waves = std::ceil(waves_of(run, kernel));
  auto const without_shared = [&] { kernel.static_shared_bytes = kernel.dynamic_shared_bytes = 0; };
  if (by_registers)
    kernel.registers_per_thread = 0;
  else
    without_shared();
  // If both limit equally, both have to be removed.
  if (std::ceil(waves_of(run, kernel)) >= waves) {
    kernel.registers_per_thread = 0;
    without_shared();
  }
  range_limit const& load = run.load(row);
  double const waits_ns = load.time_ns * std::ceil(waves_of(run, kernel)) / waves;
  double const unit_ns = fix_of_kernels().least_ns(load);
  return waits_ns + unit_ns * unit_ns / (waits_ns + unit_ns);
}

}  // namespace

rule_result low_occupancy(rule_context const& run) {
  constexpr double low = 0.4;  // of the warps that fit; chosen
  return look_at_waiting(
      run, far_use,
      [&](std::size_t row, double ns, kernel_row const& kernel) -> std::optional<candidate> {
        residency const fits = residency_of(kernel, run.sm);
        double const achieved = run.own(row, "achieved_occupancy");
        bool const few = !fits.limiter.empty() && fits.occupancy <= low && achieved <= 100.0 * low;
        // Of one wave, all blocks run already.
        bool const more_would_run = waves_of(run, kernel) > 1.0;
        bool const is_far = run.load(row).fraction() < far_use;
        if (!few || !more_would_run || !is_far || is_tensor_kernel(run, row)) return std::nullopt;
        bool const by_registers = fits.limiter == "registers";
        double const then_ns = ns_without_limit(run, row, kernel, by_registers);
        double const gain = run.gains.gain(row, fix_of_kernels().ends_waits(ns - then_ns));
        if (!run.is_worth(gain)) return std::nullopt;
        auto const shared =
            static_cast<double>(kernel.static_shared_bytes + kernel.dynamic_shared_bytes);
        std::string const cause =
            by_registers ? amount_text(kernel.registers_per_thread) + " registers a thread limit"
                         : bytes_text(shared) + " of shared memory a block limit";
        candidate seen =
            run.candidate_of_kernels(row, gain,
                                     cause + " the occupancy of " + kernel_text(kernel.short_name) +
                                         " to " + percent_text(fits.occupancy));
        seen.advice = by_registers
                          ? "use fewer registers a thread: smaller tiles, __launch_bounds__"
                          : "use less shared memory a block: smaller tiles";
        run.prove_own(seen, "achieved_occupancy", "%");
        seen.prove("registers_per_thread", kernel.registers_per_thread, "");
        seen.prove("shared_bytes", shared, "B");
        return seen;
      });
}

}  // namespace detail
STRATA_END
