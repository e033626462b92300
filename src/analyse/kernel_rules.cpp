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

/// Whether kernels of a range ran side by side: few blocks of one leave SMs to the others.
bool has_overlap(rule_context const& run, std::size_t row) noexcept {
  auto const busy = static_cast<double>(run.rows[row].gpu_busy_ns);
  constexpr double overlapping = 1.2;  // of the busy time; chosen
  return static_cast<double>(run.rows[row].total.kernel_ns) > overlapping * busy;
}

/// Mean time of a kernel that latency, too few blocks or a last wave can be blamed for: what is
/// shorter is bound by its launch and its ramp. Units: ns. Chosen.
constexpr double shortest_kernel = 10'000.0;

/// A kernel whose units are all used less is far from every limit, whatever it computes.
/// Source: attention kernels use 0.41 to 0.55 of a unit at best, softmax and norms 0.7 (ncu,
/// H200).
constexpr double far_use = 1.0 / 3.0;

/// Where another cause explains more of the kernels' time, a rule of waits has nothing to add.
/// Chosen.
constexpr double most_explained = 0.3;

bool is_explained(gain_judge const& gains, std::size_t row) noexcept {
  return gains.unexplained(row) < 1.0 - most_explained;
}

/// Whether it stands for the kernels of many names, for whose sums there was no room.
bool is_many(kernel_row const& kernel) noexcept { return kernel.mangled == other_kernels; }

double mean_duration(rule_context const& run, kernel_row const& kernel) noexcept {
  return detail::mean_duration(kernel, run.in.steps);
}

/// The part of the SMs that a kernel's blocks reach. Launches of other grids count by their time:
/// many small ones beside a large one leave few SMs idle.
double filled_by(rule_context const& run, kernel_row const& kernel) noexcept {
  double const by_launch = kernel.blocks_mean / run.multiprocessors;
  if (kernel.blocks_min == kernel.blocks_max) return by_launch;
  double const by_time = gpu_fill_in_step(kernel, run.in.steps) / kernel.sm_utilisation;
  return is_finite(by_time) ? std::max(by_launch, by_time) : by_launch;
}

/// The kernel that takes nearly all of a range's own time, for which its counts stand; null where
/// the kernels differ.
kernel_row const* kernel_of(rule_context const& run, std::size_t row) noexcept {
  constexpr double nearly_all = 0.8;  // of the time; chosen
  for (kernel_row const& kernel : run.in.kernels) {
    if (kernel.path_id != run.rows[row].path_id || is_many(kernel)) continue;
    double const all = run.own_ns_per_step(row, static_cast<double>(run.rows[row].self.kernel_ns));
    if (ns_in_step(kernel, run.rows[row], run.in.steps) >= nearly_all * all) return &kernel;
  }
  return nullptr;
}

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

/// Looks at each range whose own kernels are worth it, are no collectives, and were counted in the
/// work that was timed: a fix that replaces the work gains whatever was counted. Without data where
/// `key` has no value in any. `look(row, ns)`: the cause in a range whose own kernels take `ns` of
/// a step, if it has it.
template <class Look>
rule_result look_at_counted(rule_context const& run, std::string_view key, Look const& look) {
  rule_result made;
  made.has_data = false;
  for (std::size_t row = 0; row < run.rows.size(); ++row) {
    double const ns = run.load(row).time_ns;
    bool const is_seen = run.is_judged(row) && run.rows[row].self.kernels != 0 && run.is_worth(ns);
    if (!is_seen || !is_finite(run.own(row, key))) continue;
    made.has_data = true;
    if (!run.is_timed_work(row, counter_scope::self) || run.is_of_collectives(row)) continue;
    if (std::optional<candidate> seen = look(row, ns)) made.candidates.push_back(std::move(*seen));
  }
  return made;
}

/// The part of a whole, from 0 to 1; 0 where it is unknown.
double part_of(double part, double whole) noexcept {
  double const share = part / whole;
  if (!is_finite(share)) return 0.0;
  return std::max(0.0, std::min(1.0, share));
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
  constexpr double schedulers = 4.0;  // of an SM, from compute capability 7.0 on
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
  // Of device memory's traffic they are no more than of L2's, through which it goes.
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

/// Matrix products: multiply-adds on operands from memory, far more of them than HBM limits.
bool is_product(rule_context const& run, std::size_t row, double flops) noexcept {
  // FLOP by byte of L1 and shared memory; chosen: polynomials have more.
  constexpr double reuse = 60.0;
  constexpr double nearly_all = 0.9;  // of the FLOP; chosen
  double const operands =
      32.0 * run.own_or_0(row, "l1_sectors") + run.own_or_0(row, "shared_load_bytes");
  return 2.0 * run.own_or_0(row, "ffma") > nearly_all * flops && flops < reuse * operands;
}

/// The least time of a range's own kernels at the nearest roof, where that is another one; 0
/// where it is this one.
double other_limit_ns(rule_context const& run, std::size_t row, std::string_view roof) noexcept {
  range_limit const& limit = run.load(row);
  return limit.roof == roof ? 0.0 : limit.roof_ns / reachable_use(limit.roof);
}

/// Waves that so many blocks of a kernel are; 0 where the device is unknown.
double waves_of(rule_context const& run, kernel_row const& kernel, double blocks) noexcept {
  double const room = run.multiprocessors * residency_of(kernel, run.sm).blocks;
  return room > 0.0 ? blocks / room : 0.0;
}
/// The same of a mean launch.
double waves_of(rule_context const& run, kernel_row const& kernel) noexcept {
  return waves_of(run, kernel, kernel.blocks_mean);
}

/// How many waves of blocks a launch has, and how far the last one leaves SMs idle.
struct last_wave {
  double waves = 0.0;
  double idle = 0.0;  ///< the part of the time in which SMs wait for the last wave
};

/// `full`: the part of `waves` that is certain; what is beyond it begins no wave.
last_wave last_wave_of(double waves, double full = 1.0) noexcept {
  return {waves, waves > 0.0 ? 1.0 - waves / std::ceil(full * waves) : 0.0};
}

/// Where launches have other grids, the mean of their blocks may have part of a wave that no
/// launch has: their median has to have it, too, and the shorter wait counts.
last_wave last_wave_of(rule_context const& run, kernel_row const& kernel) noexcept {
  constexpr double exact = 0.99;  // the median may be 0.8 % more blocks than a launch had
  last_wave const mean = last_wave_of(waves_of(run, kernel));
  if (kernel.blocks_min == kernel.blocks_max) return mean;
  double const blocks = static_cast<double>(kernel.blocks_median);
  last_wave const median = last_wave_of(waves_of(run, kernel, blocks), exact);
  return median.idle < mean.idle ? median : mean;
}

/// Looks at each range whose kernel waits: no unit is used much, and no other cause explains it. Of
/// ranges of several kernels below a use of `most` the most expensive is left to `kernels=`.
/// `look(row, ns, kernel)`: the cause in a range in whose time nearly all is this kernel's.
template <class Look>
rule_result look_at_waiting(rule_context const& run, double most, Look const& look) {
  std::size_t mixed = 0;
  bool has_data = false;
  rule_result made =
      look_at_counted(run, "issue_ns", [&](std::size_t row, double ns) -> std::optional<candidate> {
        range_limit const& load = run.load(row);
        if (!load.units.are_whole()) return std::nullopt;
        has_data = true;
        if (load.fraction() >= latency_use || is_explained(run.gains, row)) return std::nullopt;
        kernel_row const* const kernel = kernel_of(run, row);
        if (kernel != nullptr && mean_duration(run, *kernel) >= shortest_kernel)
          return look(row, ns, *kernel);
        bool const is_most_expensive = mixed == 0 || ns > run.load(mixed).time_ns;
        bool const is_mixed = kernel == nullptr && run.is_expensive(ns) && load.fraction() < most;
        if (is_mixed && is_most_expensive) mixed = row;
        return std::nullopt;
      });
  made.has_data = has_data;
  if (mixed != 0) made.open.push_back(run.what_decides(deciding::findings, mixed));
  return made;
}

}  // namespace

rule_result few_blocks(rule_context const& run) {
  constexpr double filled = 0.75;  // of the SMs; chosen
  rule_result made;
  if (run.multiprocessors == 0.0) return made;
  gain_judge gains = run.gains;  // a range may have several such kernels
  for (kernel_row const& kernel : run.in.kernels) {
    bool const is_short = mean_duration(run, kernel) < shortest_kernel;
    double const reached = filled_by(run, kernel);
    if (is_short || reached > filled || is_collective(kernel)) continue;
    std::size_t const row = run.row_of(kernel);
    if (!run.is_judged(row) || is_many(kernel)) continue;
    double const ns = ns_in_step(kernel, run.rows[row], run.in.steps);
    if (!run.is_worth(ns) || is_explained(gains, row)) continue;
    if (has_overlap(run, row) || is_chain(run, row, kernel)) continue;
    if (may_fill_memory(run, row, kernel)) {
      if (made.open.empty()) made.open.push_back(run.what_decides(deciding::findings, row));
      continue;
    }
    // In the rest of the step other kernels may run beside it.
    double const alone = ns - run.in.steps.overlap_ns;
    double const idle = alone * (1.0 - reached);
    double const gain = gains.gain(row, fix_of_kernels().ends_waits(idle));
    if (!run.is_worth(gain)) continue;
    candidate seen =
        run.candidate_of_kernels(row, gain,
                                 std::string(kernel.short_name) + " has " +
                                     amount_text(kernel.blocks_mean, "block", "blocks") + " for " +
                                     amount_text(run.multiprocessors) + " SMs");
    seen.prove("blocks_mean", kernel.blocks_mean, "");
    seen.prove("multiprocessors", run.multiprocessors, "");
    seen.prove("total_ns", ns, "ns");
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
        fix.leaves(gpu_unit::hbm, 1.0 - of_l2);
        double const gain = run.gains.gain(row, fix);
        // A few values that stay in memory are a compiler's choice (flash attention: 0.09 of the
        // time).
        constexpr double least_spilled = 0.15;
        if (!run.is_worth(gain) || gain < least_spilled * ns) return std::nullopt;
        double const taken =
            std::max(of_l1 * fix_of_kernels::taken_ns(run.load(row), gpu_unit::l1),
                     of_l2 * fix_of_kernels::taken_ns(run.load(row), gpu_unit::l2)) /
            ns;
        candidate seen = run.candidate_of_kernels(
            row, gain,
            std::string("Local memory (spilled registers, or arrays with a "
                        "variable index) takes L1 or L2 for ") +
                percent_text(taken) + " of the time");
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

rule_result atomics(rule_context const& run) {
  constexpr double least_atomics = 0.08;  // of L2's sectors; chosen
  return look_at_counted(
      run, "l2_atomic_sectors", [&](std::size_t row, double ns) -> std::optional<candidate> {
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
}

rule_result fp32_without_tensor(rule_context const& run) {
  // The part of the TF32 roof that cuBLAS reaches: 0.80 at 4,096 x 4,096 (H200, CUDA 13.0).
  constexpr double library_use = 0.75;
  constexpr double least_use = 0.1;  // of the tensor cores, and of FP32's peak; chosen
  constexpr double few = 0.05;       // of the FLOP; chosen
  return look_at_counted(
      run, "flop_fp32", [&](std::size_t row, double ns) -> std::optional<candidate> {
        double const flops = run.own(row, "flop_fp32");
        double const fp32_ns = run.at_roof_ns(flops, "FP32");
        double const hbm_ns = run.at_roof_ns(run.own_or_0(row, "hbm_bytes"), "HBM");
        // The pipe's instructions are no proof: a kernel without products has some on an H200.
        double const tensor = run.tensor_flops(row, counter_scope::self);
        if (!is_product(run, row, flops) || tensor >= few * flops || !(fp32_ns > hbm_ns))
          return std::nullopt;
        if (run.load(row).use(gpu_unit::tensor) > least_use || !(fp32_ns > least_use * ns))
          return std::nullopt;
        double const tensor_ns = run.at_roof_ns(flops, "TF32 tensor") / library_use;
        if (!is_finite(tensor_ns)) return std::nullopt;
        double const faster =
            run.in.roofline.rate_of("TF32 tensor") / run.in.roofline.rate_of("FP32");
        fix_of_kernels const fix = fix_of_kernels().replaces_all(
            std::max(tensor_ns, hbm_ns / reachable_use(gpu_unit::hbm)));
        double const gain = run.gains.gain(row, fix);
        if (!run.is_worth(gain)) return std::nullopt;
        candidate seen = run.candidate_of_kernels(
            row, gain,
            std::string("An FP32 matrix product runs at ") + percent_text(fp32_ns / ns) +
                " of FP32 peak; the unused tensor cores have " + amount_text(faster) +
                " times that peak in TF32");
        seen.prove("flop_fp32", flops, "FLOP");
        run.prove_own(seen, "ffma", "instructions");
        run.prove_use(seen, gpu_unit::tensor);
        return seen;
      });
}

/// A double constant in FP32 code: values are converted, computed in FP64 and converted back.
rule_result fp64_by_accident(rule_context const& run) {
  constexpr double conversions_by_operation = 0.25;  // chosen
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
        fix.leaves(gpu_unit::xu, 0.0);
        fix.adds(gpu_unit::fma, run.at_roof_ns(run.own(row, "flop_fp64"), "FP32"));
        double const converting = issue_by_conversion * run.load(row).units[gpu_unit::xu];
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
        double const extra_ns = std::min(ns, run.at_roof_ns(counted - declared, "HBM"));
        fix_of_kernels fix;
        fix.leaves(gpu_unit::hbm, declared / counted);
        if (!run.load(row).units.is_known())
          fix.replaces_all(std::max(ns - extra_ns, other_limit_ns(run, row, "HBM")));
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
            std::string(kernel.short_name) + " has " + fixed_string(last.waves, 2) +
                " waves of blocks: the last one leaves " +
                percent_text(std::ceil(last.waves) - last.waves) + " of the room for blocks idle");
        double const at_a_time = kernel.blocks_mean / waves_of(run, kernel);
        bool const is_mean = last.waves == waves_of(run, kernel);
        seen.prove(is_mean ? "blocks_mean" : "blocks_median", last.waves * at_a_time, "");
        seen.prove("blocks_at_a_time", at_a_time, "");
        return seen;
      });
}

rule_result low_occupancy(rule_context const& run) {
  constexpr double low = 0.4;            // of the warps that fit; chosen
  constexpr double tensor_kernel = 0.2;  // use; chosen: such kernels have few warps by design
  return look_at_waiting(
      run, far_use,
      [&](std::size_t row, double ns, kernel_row const& kernel) -> std::optional<candidate> {
        residency const fits = residency_of(kernel, run.sm);
        double const achieved = run.own(row, "achieved_occupancy");
        bool const few = !fits.limiter.empty() && fits.occupancy <= low && achieved <= 100.0 * low;
        // Of one wave, all blocks run already.
        bool const more_would_run = waves_of(run, kernel) > 1.0;
        bool const is_far = run.load(row).fraction() < far_use;
        if (!few || !more_would_run || !is_far ||
            run.load(row).use(gpu_unit::tensor) > tensor_kernel)
          return std::nullopt;
        double const gain = run.gains.gain(row, fix_of_kernels().ends_waits(ns));
        if (!run.is_worth(gain)) return std::nullopt;
        bool const by_registers = fits.limiter == "registers";
        auto const shared =
            static_cast<double>(kernel.static_shared_bytes + kernel.dynamic_shared_bytes);
        std::string const cause =
            by_registers ? amount_text(kernel.registers_per_thread) + " registers a thread limit"
                         : bytes_text(shared) + " of shared memory a block limit";
        candidate seen =
            run.candidate_of_kernels(row, gain,
                                     cause + " the occupancy of " + std::string(kernel.short_name) +
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

rule_result latency_bound(rule_context const& run) {
  constexpr double told_stall = 20.0;  // %, of the warps; chosen
  return look_at_waiting(
      run, far_use, [&](std::size_t row, double ns, kernel_row const&) -> std::optional<candidate> {
        if (run.load(row).fraction() >= far_use) return std::nullopt;
        double const gain = run.gains.gain(row, fix_of_kernels().ends_waits(ns));
        if (!run.is_worth(gain)) return std::nullopt;
        std::string title = std::string("No hardware limit is near: ") +
                            std::string(run.load(row).roof) + " is used most, at " +
                            percent_text(run.load(row).fraction()) + "; instructions issue in " +
                            percent_text(run.load(row).use(gpu_unit::issue)) + " of the slots";
        std::string_view const stall = longest_stall(run.in.counters, row, counter_scope::self);
        if (!stall.empty()) title += "; warps most often " + stall_text(stall);
        candidate seen = run.candidate_of_kernels(row, gain, std::move(title));
        run.prove_use(seen, gpu_unit::issue);
        run.prove_own(seen, "achieved_occupancy", "%");
        seen.needs = "counters=stalls";
        for (metric const& stalled : metric_list()) {
          if (stall_of(stalled.key()).empty()) continue;
          double const share = run.own(row, stalled.key());
          if (share > told_stall) seen.prove(stalled.key(), share, "%");
          if (is_finite(share)) seen.needs = {};
        }
        return seen;
      });
}

}  // namespace detail
STRATA_END
