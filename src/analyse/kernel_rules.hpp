#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_KERNEL_RULES_HPP
#define STRATA_ANALYSE_KERNEL_RULES_HPP

#include <strata/base/containers.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/text.hpp>
#include <strata/base/vec.hpp>
#include <strata/base/vocabulary.hpp>
#include <strata/profile/metric_resolver.hpp>
#include <strata/profile/records.hpp>
#include <strata/tables/collectives.hpp>
#include <strata/tables/kernel_table.hpp>
#include "device_peaks.hpp"
#include "finding_context.hpp"
#include "findings.hpp"
#include "occupancy.hpp"
#include "roofline.hpp"

#include <cstddef>
#include <string_view>
#include <utility>

STRATA_BEGIN
namespace detail {

/// The rules that look at the kernels of single ranges. Each is false where it lacks its counters.
class kernel_rules : protected finding_context {
 protected:
  explicit kernel_rules(findings_input const& input) : finding_context(input) {
    for (std::size_t i = rows_.size(); i-- > 0;) row_places_[rows_[i].path_id] = i;
    collective_ns_.resize(rows_.size(), 0.0);
    for (kernel_row const& kernel : input.kernels)
      if (is_collective(kernel)) collective_ns_[row_of(kernel)] += kernel.duration.sum();
  }

  // --- kernels, from the trace alone ---

  std::size_t row_of(kernel_row const& kernel) const noexcept {
    std::size_t const* const found = row_places_.find(kernel.path_id);
    return found == nullptr ? 0 : *found;
  }
  /// Whether kernels of a range ran side by side: few blocks of one leave SMs to the others.
  bool has_overlap(std::size_t row) const noexcept {
    auto const busy = static_cast<double>(rows_[row].gpu_busy_ns);
    constexpr double overlapping = 1.2;  // of the busy time; chosen
    return static_cast<double>(rows_[row].total.kernel_ns) > overlapping * busy;
  }
  /// Mean time of a kernel that latency, too few blocks or a last wave can be blamed for: what is
  /// shorter is bound by its launch and its ramp. Units: ns. Chosen.
  static constexpr double shortest_kernel = 10'000.0;
  /// A kernel whose units are all used less is far from every limit, whatever it computes.
  /// Source: attention kernels use 0.41 to 0.55 of a unit at best, softmax and norms 0.7 (ncu,
  /// H200).
  static constexpr double far_use = 1.0 / 3.0;
  /// Where another cause explains more of the kernels' time, a rule of waits has nothing to add.
  /// Chosen.
  static constexpr double most_explained = 0.3;
  bool is_explained(std::size_t row) const noexcept {
    return judge_.unexplained(row) < 1.0 - most_explained;
  }

  static bool is_collective(kernel_row const& kernel) noexcept {
    return static_cast<bool>(kernel.collective);
  }
  /// Whether a range's own kernels are mostly collectives: these wait for other ranks, and leave
  /// SMs free by design.
  bool is_of_collectives(std::size_t row) const noexcept {
    constexpr double mostly = 0.5;  // of the time
    return collective_ns_[row] > mostly * static_cast<double>(rows_[row].self.kernel_ns);
  }

  /// Whether it stands for the kernels of many names, for whose sums there was no room.
  static bool is_many(kernel_row const& kernel) noexcept { return kernel.mangled == other_kernels; }

  double mean_duration(kernel_row const& kernel) const noexcept {
    return detail::mean_duration(kernel, in_.steps);
  }

  /// The part of the SMs that a kernel's blocks reach. Launches of other grids count by their time:
  /// many small ones beside a large one leave few SMs idle.
  double filled_by(kernel_row const& kernel) const noexcept {
    double const by_launch = kernel.blocks_mean / multiprocessors_;
    if (kernel.blocks_min == kernel.blocks_max) return by_launch;
    double const by_time = gpu_fill_in_step(kernel, in_.steps) / kernel.sm_utilisation;
    return known(by_time) ? larger(by_launch, by_time) : by_launch;
  }

  bool few_blocks(finding_rule const& rule) {
    constexpr double filled = 0.75;  // of the SMs; chosen
    if (multiprocessors_ == 0.0) return true;
    undecided_rule open;
    for (kernel_row const& kernel : in_.kernels) {
      bool const is_short = mean_duration(kernel) < shortest_kernel;
      double const reached = filled_by(kernel);
      if (is_short || reached > filled || is_collective(kernel)) continue;
      std::size_t const row = row_of(kernel);
      if (!is_judged(row) || is_many(kernel)) continue;
      double const ns = ns_in_step(kernel, rows_[row], in_.steps);
      if (!is_worth(ns) || is_explained(row) || has_overlap(row) || is_chain(row, kernel)) continue;
      if (may_fill_memory(row, kernel)) {
        if (open.decider == deciding::nothing)
          open = what_decides(rule.id, deciding::findings, row);
        continue;
      }
      // In the rest of the step other kernels may run beside it.
      double const alone = ns - in_.steps.overlap_ns;
      double const idle = alone * (1.0 - reached);
      double const gain = judge_.gain(row, fix_of_kernels().ends_waits(idle));
      if (!is_worth(gain)) continue;
      finding& made = add_kernels(rule, row, gain,
                                  sentence(kernel.short_name)
                                      << " has " << count(kernel.blocks_mean, "block", "blocks")
                                      << " for " << count(multiprocessors_) << " SMs");
      prove(made, "blocks_mean", kernel.blocks_mean, "");
      prove(made, "multiprocessors", multiprocessors_, "");
      prove(made, "total_ns", ns, "ns");
    }
    if (open.decider != deciding::nothing) made_.undecided.push_back(std::move(open));
    return true;
  }
  /// Whether the blocks suffice to draw all that device memory gives, and no count of this kernel
  /// says whether they do. Source: a product of a token with 134 MB of weights moves 4.77 TB/s by
  /// 96 blocks (H200); by its attributes 38 suffice.
  bool may_fill_memory(std::size_t row, kernel_row const& kernel) const noexcept {
    // Of the SMs. Source: those attributes of an H200, 38 of 132, rounded up.
    constexpr double usual = 1.0 / 3.0;
    double const least = blocks_of_memory_ > 0.0 ? blocks_of_memory_ : usual * multiprocessors_;
    bool const is_counted = load(row).units.are_whole() && kernel_of(row) == &kernel;
    return !is_counted && kernel.blocks_mean >= least;
  }
  /// Whether a kernel of a warp or two was counted: what it waits for is a chain of its own
  /// results, which more blocks do not split.
  bool is_chain(std::size_t row, kernel_row const& kernel) const noexcept {
    constexpr double few_warps = 2.0;
    return load(row).units.is_known() && kernel.blocks_mean * kernel.warps_per_block <= few_warps;
  }

  // --- kernels, from counters ---

  /// Calls `look(row, time)` for each range whose own kernels are worth it, are no collectives, and
  /// were counted in the work that was timed: a fix that replaces the work gains whatever was
  /// counted. False where `key` has no value in any.
  bool for_each_counted(std::string_view key, callback<void(std::size_t, double)> look) {
    bool any = false;
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      double const ns = load(row).time_ns;
      if (!is_judged(row)) continue;
      if (rows_[row].self.kernels == 0 || !is_worth(ns) || !known(own(row, key))) continue;
      any = true;
      if (is_timed_work(row, counter_scope::self) && !is_of_collectives(row)) look(row, ns);
    }
    return any;
  }
  /// The part of a whole, from 0 to 1; 0 where it is unknown.
  static double part_of(double part, double whole) noexcept {
    double const share = part / whole;
    if (!known(share)) return 0.0;
    return larger(0.0, smaller(1.0, share));
  }
  /// A count of the range's own kernels; 0 where it is unknown.
  double own_or_0(std::size_t row, char const* key) const noexcept {
    double const value = own(row, key);
    return known(value) ? value : 0.0;
  }

  /// The part of the kernels' time in which accesses to memory wait behind each other. With the
  /// warps in flight given, the time of a kernel is the accesses times what one takes (Little's
  /// law). Where one takes far longer than a load of an idle memory, it stands in a queue, which no
  /// unit's own use shows, and which is shorter by the sectors that no longer come. 0 where that is
  /// not so or not known.
  double queued_part(std::size_t row) const noexcept {
    // Cycles of a load from device memory: 466 (A100), 479 (Hopper), 542 (RTX 4090).
    // Source: Luo et al. 2024, "Benchmarking and Dissecting the Nvidia Hopper GPU Architecture".
    constexpr double load_latency = 550.0;
    constexpr double far_longer = 2.0;  // times that latency; chosen
    // Cycles that a warp waits for the result of another instruction: 4 to 6 of arithmetic, twice
    // that where the warps share a pipe.
    constexpr double result_latency = 10.0;
    constexpr double schedulers = 4.0;  // of an SM, from compute capability 7.0 on
    gpu_unit const nearest = load(row).units.longest();
    if (nearest != gpu_unit::l1 && nearest != gpu_unit::l2 && nearest != gpu_unit::hbm) return 0.0;
    double const cycles = own_or_0(row, "sm_active_cycles");
    double const warps = own_or_0(row, "achieved_occupancy") / 100.0 * sm_.warps;
    double const issued = load(row).use(gpu_unit::issue) * schedulers;
    double const waiting = cycles * (warps - issued * result_latency);
    double const latency = load_latency * own_or_0(row, "lsu_instructions");
    if (latency <= 0.0 || waiting < far_longer * latency) return 0.0;
    return 1.0 - latency / waiting;
  }

  /// What L2 and device memory move at most for a sector that L1 asks for, in sectors. L2 counts
  /// one again that it had to fetch, and most that are written in part.
  /// Source: counted on an H200, loads of single sectors take 1.9 of L2 and 1.8 of device memory,
  /// stores of 4 bytes 1.6 of L2.
  static constexpr double accesses_by_sector = 2.0;

  /// What whole lines leave of the units that sectors of `moved` bytes pass, of which `asked` are
  /// used. TMA passes these sectors by: what they are of a level is all that changes there.
  fix_of_kernels coalescing(std::size_t row, double moved, double asked) const noexcept {
    double const used = asked / moved;
    double const of_l1 =
        1.0 - part_of(load(row).units[gpu_unit::shared], load(row).units[gpu_unit::l1]);
    double const l2_bytes = own(row, "l2_bytes");
    double const of_l2 = part_of(accesses_by_sector * moved, l2_bytes);
    double const hbm_bytes = own(row, "hbm_bytes");
    // Of device memory's traffic they are no more than of L2's, through which it goes.
    double const of_hbm = smaller(of_l2, part_of(accesses_by_sector * moved, hbm_bytes));
    // Requests of one sector fill L2's tags and its input long before its data path; those of whole
    // lines bring four sectors at once.
    double const of_bytes = at_roof_ns(l2_bytes, "L2") / load(row).units[gpu_unit::l2];
    double const by_lines = known(of_bytes) ? smaller(1.0, of_bytes) : 1.0;
    fix_of_kernels fix;
    fix.leaves(gpu_unit::l1, 1.0 - of_l1 * (1.0 - used));
    fix.leaves(gpu_unit::l2, 1.0 - of_l2 * (1.0 - used * by_lines));
    fix.leaves(gpu_unit::hbm, larger(part_of(asked, hbm_bytes), 1.0 - of_hbm * (1.0 - used)));
    return fix;
  }

  bool uncoalesced(finding_rule const& rule) {
    constexpr double enough = 0.4;  // of the bytes of a sector: PyTorch's layer norm uses 0.45
    return for_each_counted("global_load_bytes", [&](std::size_t row, double ns) {
      double const sectors =
          own_or_0(row, "l1_global_load_sectors") + own_or_0(row, "l1_global_store_sectors");
      double const asked = own(row, "global_load_bytes") + own(row, "global_store_bytes");
      if (!(sectors > 0.0) || !known(asked)) return;
      double const moved = 32.0 * sectors;
      double const used = asked / moved;
      if (used > enough) return;
      // A warp of which one thread loads moves a sector all the same.
      double const least_moved = larger(asked, 32.0 * own_or_0(row, "lsu_instructions"));
      double const of_l2 = part_of(accesses_by_sector * moved, own(row, "l2_bytes"));
      double const of_queue = of_l2 * (1.0 - part_of(least_moved, moved));
      fix_of_kernels fix = coalescing(row, moved, asked);
      fix.ends_waits(ns * smaller(queued_part(row), of_queue));
      double const gain = judge_.gain(row, fix);
      if (!is_worth(gain)) return;
      finding& made =
          add_kernels(rule, row, gain,
                      sentence("Threads use ")
                          << percent(used) << " of the bytes that their loads and stores move");
      prove_own(made, row, "l1_global_load_sectors", "sectors");
      prove_own(made, row, "global_load_bytes", "B");
      prove_own(made, row, "l1_global_store_sectors", "sectors");
      prove_own(made, row, "global_store_bytes", "B");
    });
  }

  bool register_spills(finding_rule const& rule) {
    return for_each_counted("l1_local_load_sectors", [&](std::size_t row, double ns) {
      double const local =
          own_or_0(row, "l1_local_load_sectors") + own_or_0(row, "l1_local_store_sectors");
      // Of L1's sectors alone it says nothing: TMA and warpgroup products have none.
      double const of_l1 = part_of(32.0 * local, own(row, "l1_data_bytes"));
      double const of_sectors = part_of(local, own(row, "l1_sectors"));
      double const of_l2 =
          of_sectors * part_of(32.0 * own_or_0(row, "l1_sectors"), own(row, "l2_bytes"));
      fix_of_kernels fix;
      fix.leaves(gpu_unit::lsu, 1.0 - smaller(of_l1, of_sectors));
      fix.leaves(gpu_unit::l1, 1.0 - of_l1);
      fix.leaves(gpu_unit::l2, 1.0 - of_l2);
      fix.leaves(gpu_unit::hbm, 1.0 - of_l2);
      double const gain = judge_.gain(row, fix);
      // A few values that stay in memory are a compiler's choice (flash attention: 0.09 of the
      // time).
      constexpr double least_spilled = 0.15;
      if (!is_worth(gain) || gain < least_spilled * ns) return;
      double const taken = larger(of_l1 * fix_of_kernels::taken_ns(load(row), gpu_unit::l1),
                                  of_l2 * fix_of_kernels::taken_ns(load(row), gpu_unit::l2)) /
                           ns;
      finding& made = add_kernels(rule, row, gain,
                                  sentence("Local memory (spilled registers, or arrays with a "
                                           "variable index) takes L1 or L2 for ")
                                      << percent(taken) << " of the time");
      prove_own(made, row, "l1_local_load_sectors", "sectors");
      prove_own(made, row, "l1_local_store_sectors", "sectors");
      prove_own(made, row, "l1_data_bytes", "B");
    });
  }

  bool bank_conflicts(finding_rule const& rule) {
    constexpr double least_conflicts = 0.3;  // of the wavefronts; chosen
    return for_each_counted("shared_load_bytes", [&](std::size_t row, double) {
      double const wavefronts = own(row, "shared_wavefronts");
      double const bytes = own(row, "shared_load_bytes") + own(row, "shared_store_bytes");
      // Wide loads need more wavefronts than their bytes, and some wait for each other without a
      // conflict: both counts must say so.
      double const counted = own(row, "shared_bank_conflicts");
      if (!(bytes > 0.0) || !known(counted)) return;
      double const more = smaller(counted, wavefronts - bytes / wavefront_bytes);
      double const conflicts = part_of(more, wavefronts);
      if (!(conflicts > least_conflicts)) return;
      double const shared =
          part_of(load(row).units[gpu_unit::shared], load(row).units[gpu_unit::l1]);
      fix_of_kernels fix;
      fix.leaves(gpu_unit::shared, 1.0 - conflicts);
      fix.leaves(gpu_unit::l1, 1.0 - conflicts * shared);
      double const gain = judge_.gain(row, fix);
      if (!is_worth(gain)) return;
      finding& made =
          add_kernels(rule, row, gain,
                      sentence("Shared memory takes ")
                          << count(wavefronts / (wavefronts - more))
                          << " times as many wavefronts as it would without bank conflicts");
      prove(made, "shared_wavefronts", wavefronts, "wavefronts");
      prove_own(made, row, "shared_bank_conflicts", "conflicts");
      prove_own(made, row, "shared_load_bytes", "B");
      prove_own(made, row, "shared_store_bytes", "B");
    });
  }

  bool atomics(finding_rule const& rule) {
    constexpr double least_atomics = 0.08;  // of L2's sectors; chosen
    return for_each_counted("l2_atomic_sectors", [&](std::size_t row, double ns) {
      double const share = share_of(own(row, "l2_atomic_sectors"), own(row, "l2_sectors"));
      if (!(share > least_atomics) || !load(row).units.are_whole()) return;
      if (load(row).fraction() > far_use) return;
      double const gain = judge_.gain(row, fix_of_kernels().ends_waits(ns));
      if (!is_worth(gain)) return;
      finding& made = add_kernels(
          rule, row, gain,
          sentence("Atomics are ") << percent(share)
                                   << " of L2's sectors while no unit is busy: they wait for each "
                                      "other");
      prove_own(made, row, "l2_atomic_sectors", "sectors");
      prove_own(made, row, "l2_sectors", "sectors");
    });
  }

  /// Matrix products: multiply-adds on operands from memory, far more of them than HBM limits.
  bool is_product(std::size_t row, double flops) const noexcept {
    // FLOP by byte of L1 and shared memory; chosen: polynomials have more.
    constexpr double reuse = 60.0;
    constexpr double nearly_all = 0.9;  // of the FLOP; chosen
    double const operands = 32.0 * own_or_0(row, "l1_sectors") + own_or_0(row, "shared_load_bytes");
    return 2.0 * own_or_0(row, "ffma") > nearly_all * flops && flops < reuse * operands;
  }
  bool fp32_without_tensor(finding_rule const& rule) {
    // The part of the TF32 roof that cuBLAS reaches: 0.80 at 4,096 x 4,096 (H200, CUDA 13.0).
    constexpr double library_use = 0.75;
    constexpr double least_use = 0.1;  // of the tensor cores, and of FP32's peak; chosen
    constexpr double few = 0.05;       // of the FLOP; chosen
    return for_each_counted("flop_fp32", [&](std::size_t row, double ns) {
      double const flops = own(row, "flop_fp32");
      double const fp32_ns = at_roof_ns(flops, "FP32");
      double const hbm_ns = at_roof_ns(own_or_0(row, "hbm_bytes"), "HBM");
      // The pipe's instructions are no proof: a kernel without products has some on an H200.
      double const tensor = tensor_flops(row, counter_scope::self);
      if (!is_product(row, flops) || tensor >= few * flops || !(fp32_ns > hbm_ns)) return;
      if (load(row).use(gpu_unit::tensor) > least_use || !(fp32_ns > least_use * ns)) return;
      double const tensor_ns = at_roof_ns(flops, "TF32 tensor") / library_use;
      if (!known(tensor_ns)) return;
      double const faster = in_.roofline.rate_of("TF32 tensor") / in_.roofline.rate_of("FP32");
      fix_of_kernels const fix =
          fix_of_kernels().replaces_all(larger(tensor_ns, hbm_ns / reachable_use(gpu_unit::hbm)));
      double const gain = judge_.gain(row, fix);
      if (!is_worth(gain)) return;
      finding& made =
          add_kernels(rule, row, gain,
                      sentence("An FP32 matrix product runs at ")
                          << percent(fp32_ns / ns) << " of FP32 peak; the unused tensor cores have "
                          << count(faster) << " times that peak in TF32");
      prove(made, "flop_fp32", flops, "FLOP");
      prove_own(made, row, "ffma", "instructions");
      prove_use(made, row, gpu_unit::tensor);
    });
  }

  /// A double constant in FP32 code: values are converted, computed in FP64 and converted back.
  bool fp64_by_accident(finding_rule const& rule) {
    constexpr double conversions_by_operation = 0.25;  // chosen
    // Of 128 lanes that schedulers fill in a cycle the conversion pipe has 16, on all chips from
    // compute capability 7.0 on ("Arithmetic Instructions", CUDA C++ Programming Guide).
    constexpr double issue_by_conversion = 16.0 / 128.0;
    return for_each_counted("flop_fp64", [&](std::size_t row, double) {
      double const operations = own(row, "flop_fp64") / 2.0;  // at least: a multiply-add is two
      double const conversions = 32.0 * own_or_0(row, "xu_instructions");
      if (!(operations > 0.0) || conversions < conversions_by_operation * operations) return;
      fix_of_kernels fix;
      fix.leaves(gpu_unit::fp64, 0.0);
      fix.leaves(gpu_unit::xu, 0.0);
      fix.adds(gpu_unit::fma, at_roof_ns(own(row, "flop_fp64"), "FP32"));
      double const converting = issue_by_conversion * load(row).units[gpu_unit::xu];
      fix.leaves(gpu_unit::issue, 1.0 - part_of(converting, load(row).units[gpu_unit::issue]));
      double const gain = judge_.gain(row, fix);
      if (!is_worth(gain)) return;
      bool const converts_longer = load(row).use(gpu_unit::xu) > load(row).use(gpu_unit::fp64);
      gpu_unit const busier = converts_longer ? gpu_unit::xu : gpu_unit::fp64;
      finding& made =
          add_kernels(rule, row, gain,
                      sentence("FP64 operations run on converted values: ")
                          << count(own(row, "flop_fp64")) << " FLOP, " << count(conversions)
                          << " operations of the pipe that converts (XU); " << to_string(busier)
                          << " is used for " << percent(load(row).use(busier)) << " of the time");
      prove_own(made, row, "flop_fp64", "FLOP");
      prove_own(made, row, "xu_instructions", "instructions");
    });
  }

  /// The least time of a range's own kernels at the nearest roof, where that is another one; 0
  /// where it is this one.
  double other_limit_ns(std::size_t row, std::string_view roof) const noexcept {
    range_limit const& limit = load(row);
    return limit.roof == roof ? 0.0 : limit.roof_ns / reachable_use(limit.roof);
  }

  bool extra_traffic(finding_rule const& rule) {
    constexpr double least_traffic = 1.5;  // of the declared bytes; chosen
    constexpr double least_gain = 0.2;     // of the time; chosen
    return for_each_counted("hbm_bytes", [&](std::size_t row, double ns) {
      double const counted = own(row, "hbm_bytes");
      double const declared = in_.steps.declared_bytes(rows_[row]);
      bool const leaf = rows_[row].self.kernels == rows_[row].total.kernels;
      if (!leaf || !(declared > 0.0) || !(counted > least_traffic * declared)) return;
      // Without the units, what HBM takes for the bytes that are too many.
      double const extra_ns = smaller(ns, at_roof_ns(counted - declared, "HBM"));
      fix_of_kernels fix;
      fix.leaves(gpu_unit::hbm, declared / counted);
      if (!load(row).units.is_known())
        fix.replaces_all(larger(ns - extra_ns, other_limit_ns(row, "HBM")));
      double const gain = judge_.gain(row, fix);
      if (!is_worth(gain) || gain < least_gain * ns) return;
      finding& made = add_kernels(rule, row, gain,
                                  sentence("Device memory moves ")
                                      << count(counted / declared)
                                      << " times the bytes that the range declares");
      prove(made, "hbm_bytes", counted, "B");
      prove(made, "bytes", declared, "B");
    });
  }

  /// The kernel that takes nearly all of a range's own time, for which its counts stand; null where
  /// the kernels differ.
  kernel_row const* kernel_of(std::size_t row) const noexcept {
    constexpr double nearly_all = 0.8;  // of the time; chosen
    for (kernel_row const& kernel : in_.kernels) {
      if (kernel.path_id != rows_[row].path_id || is_many(kernel)) continue;
      double const all = own_ns_per_step(row, static_cast<double>(rows_[row].self.kernel_ns));
      if (ns_in_step(kernel, rows_[row], in_.steps) >= nearly_all * all) return &kernel;
    }
    return nullptr;
  }
  /// Waves of blocks of a kernel; 0 where the device is unknown.
  double waves_of(kernel_row const& kernel) const noexcept {
    return waves_of(kernel, kernel.blocks_mean);
  }
  double waves_of(kernel_row const& kernel, double blocks) const noexcept {
    double const room = multiprocessors_ * residency_of(kernel, sm_).blocks;
    return room > 0.0 ? blocks / room : 0.0;
  }
  /// How many waves of blocks a launch has, and how far the last one leaves SMs idle.
  struct last_wave {
    double waves = 0.0;
    double idle = 0.0;  ///< the part of the time in which SMs wait for the last wave
  };
  /// `full`: the part of `waves` that is certain; what is beyond it begins no wave.
  static last_wave last_wave_of(double waves, double full = 1.0) noexcept {
    return {waves, waves > 0.0 ? 1.0 - waves / rounded_up(full * waves) : 0.0};
  }
  /// Where launches have other grids, the mean of their blocks may have part of a wave that no
  /// launch has: their median has to have it, too, and the shorter wait counts.
  last_wave last_wave_of(kernel_row const& kernel) const noexcept {
    constexpr double exact = 0.99;  // the median may be 0.8 % more blocks than a launch had
    last_wave const mean = last_wave_of(waves_of(kernel));
    if (kernel.blocks_min == kernel.blocks_max) return mean;
    double const blocks = static_cast<double>(kernel.blocks_median);
    last_wave const median = last_wave_of(waves_of(kernel, blocks), exact);
    return median.idle < mean.idle ? median : mean;
  }
  /// Calls `look(row, time, kernel)` for each range whose kernel waits: no unit is used much, and
  /// no other cause explains it. Of ranges of several kernels below a use of `most` the most
  /// expensive is left to `kernels=`.
  bool for_each_waiting(std::string_view rule, double most,
                        callback<void(std::size_t, double, kernel_row const&)> look) {
    std::size_t mixed = 0;
    bool any = false;
    for_each_counted("issue_ns", [&](std::size_t row, double ns) {
      if (!load(row).units.are_whole()) return;
      any = true;
      if (load(row).fraction() >= latency_use || is_explained(row)) return;
      kernel_row const* const kernel = kernel_of(row);
      if (kernel != nullptr && mean_duration(*kernel) >= shortest_kernel)
        return look(row, ns, *kernel);
      bool const is_most_expensive = mixed == 0 || ns > load(mixed).time_ns;
      if (kernel == nullptr && is_expensive(ns) && load(row).fraction() < most && is_most_expensive)
        mixed = row;
    });
    if (mixed != 0) made_.undecided.push_back(what_decides(rule, deciding::findings, mixed));
    return any;
  }

  bool tail_wave(finding_rule const& rule) {
    constexpr double least_idle = 0.2;  // of the time; chosen
    constexpr double most_waves = 3.0;  // chosen: of more, the last one is a quarter at most
    return for_each_waiting(
        rule.id, latency_use, [&](std::size_t row, double ns, kernel_row const& kernel) {
          last_wave const last = last_wave_of(kernel);
          if (!(last.waves > 1.0) || last.waves > most_waves || last.idle < least_idle) return;
          double const gain = judge_.gain(row, fix_of_kernels().ends_waits(last.idle * ns));
          if (!is_worth(gain)) return;
          finding& made = add_kernels(rule, row, gain,
                                      sentence(kernel.short_name)
                                          << " has " << fixed_string(last.waves, 2)
                                          << " waves of blocks: the last one leaves "
                                          << percent(rounded_up(last.waves) - last.waves)
                                          << " of the room for blocks idle");
          double const at_a_time = kernel.blocks_mean / waves_of(kernel);
          bool const is_mean = last.waves == waves_of(kernel);
          prove(made, is_mean ? "blocks_mean" : "blocks_median", last.waves * at_a_time, "");
          prove(made, "blocks_at_a_time", at_a_time, "");
        });
  }

  bool low_occupancy(finding_rule const& rule) {
    constexpr double low = 0.4;            // of the warps that fit; chosen
    constexpr double tensor_kernel = 0.2;  // use; chosen: such kernels have few warps by design
    return for_each_waiting(
        rule.id, far_use, [&](std::size_t row, double ns, kernel_row const& kernel) {
          residency const fits = residency_of(kernel, sm_);
          double const achieved = own(row, "achieved_occupancy");
          bool const few =
              !fits.limiter.empty() && fits.occupancy <= low && achieved <= 100.0 * low;
          // Of one wave, all blocks run already.
          bool const more_would_run = waves_of(kernel) > 1.0;
          bool const is_far = load(row).fraction() < far_use;
          if (!few || !more_would_run || !is_far || load(row).use(gpu_unit::tensor) > tensor_kernel)
            return;
          double const gain = judge_.gain(row, fix_of_kernels().ends_waits(ns));
          if (!is_worth(gain)) return;
          bool const by_registers = fits.limiter == "registers";
          auto const shared =
              static_cast<double>(kernel.static_shared_bytes + kernel.dynamic_shared_bytes);
          sentence cause;
          if (by_registers)
            cause << count(kernel.registers_per_thread) << " registers a thread limit";
          else
            cause << bytes_text(shared) << " of shared memory a block limit";
          finding& made = add_kernels(rule, row, gain,
                                      cause << " the occupancy of " << kernel.short_name << " to "
                                            << percent(fits.occupancy));
          made.advice = by_registers
                            ? "use fewer registers a thread: smaller tiles, __launch_bounds__"
                            : "use less shared memory a block: smaller tiles";
          prove_own(made, row, "achieved_occupancy", "%");
          prove(made, "registers_per_thread", kernel.registers_per_thread, "");
          prove(made, "shared_bytes", shared, "B");
        });
  }

  bool latency_bound(finding_rule const& rule) {
    constexpr double told_stall = 20.0;  // %, of the warps; chosen
    return for_each_waiting(rule.id, far_use, [&](std::size_t row, double ns, kernel_row const&) {
      if (load(row).fraction() >= far_use) return;
      double const gain = judge_.gain(row, fix_of_kernels().ends_waits(ns));
      if (!is_worth(gain)) return;
      std::string title = sentence("No hardware limit is near: ")
                          << load(row).roof << " is used most, at " << percent(load(row).fraction())
                          << "; instructions issue in " << percent(load(row).use(gpu_unit::issue))
                          << " of the slots";
      std::string_view const stall = longest_stall(in_.counters, row, counter_scope::self);
      if (!stall.empty()) title += "; warps most often " + stall_text(stall);
      finding& made = add_kernels(rule, row, gain, std::move(title));
      prove_use(made, row, gpu_unit::issue);
      prove_own(made, row, "achieved_occupancy", "%");
      made.needs = "counters=stalls";
      for (metric const& stalled : metric_list()) {
        if (stall_of(stalled.key()).empty()) continue;
        double const share = own(row, stalled.key());
        if (share > told_stall) prove(made, stalled.key(), share, "%");
        if (known(share)) made.needs = {};
      }
    });
  }

 private:
  number_map<std::size_t> row_places_;  ///< by path
  vec<double> collective_ns_;           ///< by row
};

}  // namespace detail
STRATA_END

#endif  // STRATA_ANALYSE_KERNEL_RULES_HPP
