#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_KERNEL_RULES_HPP
#define STRATA_ANALYSE_KERNEL_RULES_HPP

#include <strata/analyse/findings.hpp>
#include <strata/analyse/kernel_table.hpp>
#include <strata/analyse/occupancy.hpp>
#include <strata/analyse/roofline.hpp>
#include <strata/base/containers.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/text.hpp>
#include <strata/base/vocabulary.hpp>
#include <strata/profile/metric_resolver.hpp>

#include <cstddef>
#include <string_view>

STRATA_BEGIN
namespace detail {

/// The rules that look at the kernels of single ranges. Each is false where it lacks its counters.
class kernel_rules : protected finding_context {
 protected:
  explicit kernel_rules(findings_input const& input) : finding_context(input) {
    for (std::size_t i = rows_.size(); i-- > 0;) row_places_[rows_[i].path_id] = i;
  }

  // --- kernels, from the trace alone ---

  std::size_t row_of(kernel_row const& kernel) const noexcept {
    std::size_t const* const found = row_places_.find(kernel.path_id);
    return found == nullptr ? 0 : *found;
  }
  /// Whether kernels of a range ran side by side: few blocks of one leave SMs to the others.
  bool has_overlap(std::size_t row) const noexcept {
    auto const busy = static_cast<double>(rows_[row].gpu_busy_ns);
    return static_cast<double>(rows_[row].total.kernel_ns) > 1.2 * busy;
  }

  bool few_blocks(finding_rule const& by) {
    constexpr double shortest = 10'000.0;  // ns: what is shorter is bound by its launch
    if (multiprocessors_ == 0.0) return true;
    for (kernel_row const& each : in_.kernels) {
      if (each.duration.mean() < shortest || each.blocks_mean > 0.75 * multiprocessors_) continue;
      if (!is_dear(in_.steps.per_step(each.duration.sum()))) continue;
      std::size_t const row = row_of(each);
      double const ns = per_step(row, each.duration.sum());
      // In the rest of the step other kernels may run beside it.
      double const alone = ns - in_.steps.overlap_ns;
      double const cost = alone * (1.0 - each.blocks_mean / multiprocessors_);
      if (!is_dear(cost) || explained_[row] > 0.3 * ns || has_overlap(row)) continue;
      finding& made = add_kernels(by, row, cost,
                                  sentence(each.short_name)
                                      << " has " << count(each.blocks_mean) << " blocks for "
                                      << count(multiprocessors_) << " SMs");
      prove(made, "blocks_mean", each.blocks_mean, "");
      prove(made, "multiprocessors", multiprocessors_, "");
      prove(made, "total_ns", ns, "ns");
    }
    return true;
  }

  // --- kernels, from counters ---

  /// Calls `look(row, time)` for each range whose own kernels are worth it. False where `key` has
  /// no value in any.
  bool each_counted(std::string_view key, callback<void(std::size_t, double)> look) {
    bool any = false;
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      double const ns = load(row).time_ns;
      if (rows_[row].self.kernels == 0 || !is_dear(ns) || !known(own(row, key))) continue;
      any = true;
      look(row, ns);
    }
    return any;
  }

  bool uncoalesced(finding_rule const& by) {
    return each_counted("global_load_bytes", [&](std::size_t row, double ns) {
      double const sectors =
          own(row, "l1_global_load_sectors") + own(row, "l1_global_store_sectors");
      double const asked = own(row, "global_load_bytes") + own(row, "global_store_bytes");
      if (!(sectors > 0.0) || !known(asked)) return;
      double const used = asked / (32.0 * sectors);
      double const memory = larger(roof_bytes_ns(own(row, "hbm_bytes"), "HBM"),
                                   roof_bytes_ns(own(row, "l2_bytes"), "L2")) /
                            ns;
      double const l1 = roof_bytes_ns(own(row, "l1_data_bytes"), "L1") / ns;
      if (used > 0.6 || !(larger(memory, l1) > 0.25)) return;
      double const cost = ns * (1.0 - used);
      if (!is_dear(cost)) return;
      finding& made = add_kernels(
          by, row, cost,
          "of the bytes that global loads and stores move, the kernels use " + percent(used));
      prove_own(made, row, "l1_global_load_sectors", "sectors");
      prove_own(made, row, "global_load_bytes", "B");
      prove_own(made, row, "l1_global_store_sectors", "sectors");
      prove_own(made, row, "global_store_bytes", "B");
    });
  }

  bool register_spills(finding_rule const& by) {
    return each_counted("l1_local_load_sectors", [&](std::size_t row, double ns) {
      double const local = own(row, "l1_local_load_sectors") + own(row, "l1_local_store_sectors");
      double const share = local / own(row, "l1_sectors");
      if (!(share > 0.2) || !is_dear(ns * share)) return;
      finding& made = add_kernels(by, row, ns * share,
                                  percent(share) +
                                      " of L1's sectors are local memory: spilled registers, or "
                                      "arrays with a variable index");
      prove_own(made, row, "l1_local_load_sectors", "sectors");
      prove_own(made, row, "l1_local_store_sectors", "sectors");
      prove_own(made, row, "l1_sectors", "sectors");
    });
  }

  bool bank_conflicts(finding_rule const& by) {
    return each_counted("shared_bank_conflicts", [&](std::size_t row, double ns) {
      double const wavefronts = own(row, "shared_wavefronts");
      double const bytes = own(row, "shared_load_bytes") + own(row, "shared_store_bytes");
      // Wide loads need more wavefronts than their bytes, and some wait for each other without a
      // conflict: both counts must say so.
      double const more = smaller(own(row, "shared_bank_conflicts"), wavefronts - bytes / 128.0);
      double const cost = ns * smaller(1.0, more / own(row, "sm_active_cycles"));
      if (!(more > 0.3 * wavefronts) || !is_dear(cost)) return;
      finding& made =
          add_kernels(by, row, cost,
                      sentence("shared memory takes ")
                          << count(wavefronts / (wavefronts - more))
                          << " times as many wavefronts as it would without bank conflicts");
      prove(made, "shared_wavefronts", wavefronts, "wavefronts");
      prove_own(made, row, "shared_bank_conflicts", "conflicts");
      prove_own(made, row, "shared_load_bytes", "B");
      prove_own(made, row, "shared_store_bytes", "B");
    });
  }

  bool atomics(finding_rule const& by) {
    return each_counted("l2_atomic_sectors", [&](std::size_t row, double ns) {
      double const share = own(row, "l2_atomic_sectors") / own(row, "l2_sectors");
      double const cost = ns * (1.0 - load(row).fraction());
      if (!(share > 0.08) || load(row).fraction() > 0.5 || !is_dear(cost)) return;
      finding& made = add_kernels(
          by, row, cost, percent(share) + " of L2's sectors are atomics, far below the roofs");
      prove_own(made, row, "l2_atomic_sectors", "sectors");
      prove_own(made, row, "l2_sectors", "sectors");
    });
  }

  bool fp32_without_tensor(finding_rule const& by) {
    return each_counted("flop_fp32", [&](std::size_t row, double ns) {
      double const flops = own(row, "flop_fp32");
      // The pipe's instructions are no proof: a kernel without products has some on an H200.
      double const tensor = tensor_flops(row, counter_scope::self);
      double shared = own(row, "shared_load_bytes");
      if (!known(shared)) shared = 0.0;
      double const fp32_ns = flops / in_.roofline.rate_of("FP32") * 1e9;
      double const hbm_ns = roof_bytes_ns(own(row, "hbm_bytes"), "HBM");
      // Matrix products: multiply-adds on operands from memory, far more of them than HBM limits.
      bool const product = 2.0 * own(row, "ffma") > 0.9 * flops &&
                           flops < 60.0 * (own(row, "l1_bytes") + shared) && fp32_ns > hbm_ns;
      if (!product || !(tensor < 0.05 * flops) || !(fp32_ns > 0.1 * ns)) return;
      double const best = larger(flops / in_.roofline.rate_of("TF32 tensor") * 1e9, hbm_ns);
      if (!is_dear(ns - best)) return;
      finding& made = add_kernels(by, row, ns - best,
                                  sentence("multiply-adds in FP32 at ")
                                      << percent(fp32_ns / ns)
                                      << " of its roof while the tensor cores are idle");
      prove(made, "flop_fp32", flops, "FLOP");
      prove_own(made, row, "ffma", "instructions");
      prove(made, "tensor_flop", tensor, "FLOP");
    });
  }

  bool extra_traffic(finding_rule const& by) {
    return each_counted("hbm_bytes", [&](std::size_t row, double ns) {
      double const counted = own(row, "hbm_bytes");
      double const declared = per_step(row, rows_[row].bytes);
      bool const leaf = rows_[row].self.kernels == rows_[row].total.kernels;
      double const cost = smaller(ns, roof_bytes_ns(counted - declared, "HBM"));
      if (!leaf || !(declared > 0.0) || !(counted > 1.5 * declared) || !is_dear(cost)) return;
      if (!(cost > 0.2 * ns)) return;
      finding& made = add_kernels(by, row, cost,
                                  sentence("device memory moves ")
                                      << count(counted / declared)
                                      << " times the bytes that the range declares");
      prove(made, "hbm_bytes", counted, "B");
      prove(made, "bytes", declared, "B");
    });
  }

  bool memory_bound(finding_rule const& by) {
    return each_counted("hbm_bytes", [&](std::size_t row, double ns) {
      range_limit const& limit = load(row);
      roof const* const nearest = in_.roofline.find(limit.roof);
      if (nearest == nullptr || !nearest->memory || limit.above_roof) return;
      double const cost = ns * (1.0 - limit.fraction() / reachable(limit));
      if (limit.fraction() < 0.5 || !is_dear(cost) || explained_[row] > 0.3 * ns) return;
      finding& made =
          add_kernels(by, row, cost,
                      sentence("its kernels are bound by ")
                          << limit.roof << ", at " << percent(limit.fraction()) << " of its roof");
      prove(made, "time_at_roof_ns", limit.roof_ns, "ns");
      prove(made, "gpu_kernel_self_ns", ns, "ns");
      prove_own(made, row, "hbm_bytes", "B");
    });
  }

  /// The part of a roof that kernels reach where nothing is wrong. Device copies reach 0.87 of HBM
  /// by the device's attributes (H200), and nearly all of a measured roof.
  double reachable(range_limit const& limit) const noexcept {
    roof const* const nearest = in_.roofline.find(limit.roof);
    return nearest != nullptr && nearest->origin == roof_origin::measured ? 0.95 : 0.85;
  }

  /// The longest kernel of a range, or null.
  kernel_row const* longest_of(std::size_t row) const noexcept {
    for (kernel_row const& each : in_.kernels)
      if (each.path_id == rows_[row].path_id) return &each;
    return nullptr;
  }
  /// Waves of blocks of a kernel; 0 where the device is unknown.
  double waves_of(kernel_row const& kernel) const noexcept {
    double const room = multiprocessors_ * residency_of(kernel, sm_).blocks;
    return room > 0.0 ? kernel.blocks_mean / room : 0.0;
  }
  /// Ranges whose kernels are far from all roofs, for a reason that nothing else explains. While
  /// the last wave of blocks runs, most SMs are idle whatever the kernel is like.
  bool is_slow(std::size_t row, double ns) const noexcept {
    double const issued = own(row, "issue_rate");
    kernel_row const* const kernel = longest_of(row);
    double const waves = kernel == nullptr ? 0.0 : waves_of(*kernel);
    double const filled = waves > 1.0 ? waves / rounded_up(waves) : 1.0;
    return load(row).fraction() < 0.5 * filled && explained_[row] < 0.3 * ns && !(issued > 60.0) &&
           known(own(row, "hbm_bytes")) && known(own(row, "flop_fp32"));
  }

  bool low_occupancy(finding_rule const& by) {
    return each_counted("achieved_occupancy", [&](std::size_t row, double ns) {
      kernel_row const* const kernel = longest_of(row);
      if (kernel == nullptr || !is_slow(row, ns)) return;
      residency const fits = residency_of(*kernel, sm_);
      double const cost = ns * (1.0 - load(row).fraction() / reachable(load(row)));
      if (fits.by.empty() || fits.occupancy > 0.4 || own(row, "achieved_occupancy") > 40.0) return;
      if (!is_dear(cost)) return;
      finding& made = add_kernels(
          by, row, cost,
          sentence(kernel->short_name)
              << " fills " << percent(fits.occupancy)
              << " of an SM's warps at most: its blocks take too much of the " << fits.by);
      prove_own(made, row, "achieved_occupancy", "%");
      prove(made, "registers_per_thread", kernel->registers_per_thread, "");
      prove(made, "shared_bytes",
            static_cast<double>(kernel->static_shared_bytes + kernel->dynamic_shared_bytes), "B");
    });
  }

  bool tail_wave(finding_rule const& by) {
    return each_counted("issue_rate", [&](std::size_t row, double ns) {
      kernel_row const* const kernel = longest_of(row);
      if (kernel == nullptr || load(row).fraction() > 0.6) return;
      double const waves = waves_of(*kernel);
      double const cost = ns * (1.0 - waves / rounded_up(waves));
      if (!(waves > 1.0) || waves > 3.0 || cost < 0.25 * ns || explained_[row] > 0.3 * ns) return;
      if (!is_dear(cost)) return;
      finding& made = add_kernels(by, row, cost,
                                  sentence(kernel->short_name)
                                      << " has " << fixed_string(waves, 2)
                                      << " waves of blocks: the last one leaves most SMs idle");
      prove(made, "blocks_mean", kernel->blocks_mean, "");
      prove(made, "blocks_at_a_time", kernel->blocks_mean / waves, "");
    });
  }

  bool latency_bound(finding_rule const& by) {
    return each_counted("issue_rate", [&](std::size_t row, double ns) {
      double const cost = ns * (1.0 - load(row).fraction() / reachable(load(row)));
      if (!is_slow(row, ns) || !is_dear(cost)) return;
      finding& made =
          add_kernels(by, row, cost,
                      sentence("its kernels wait: they reach ")
                          << percent(load(row).fraction()) << " of the nearest roof and issue in "
                          << percent(own(row, "issue_rate") / 100.0) << " of the cycles");
      prove_own(made, row, "issue_rate", "%");
      prove_own(made, row, "achieved_occupancy", "%");
      made.needs = "counters=stalls";
      for (metric const& each : metric_list()) {
        if (each.key().substr(0, 6) != "stall_" || !ends_with(each.key(), "_share")) continue;
        double const share = own(row, each.key());
        if (share > 20.0) prove(made, each.key(), share, "%");
        if (share == share) made.needs = {};
      }
    });
  }

 private:
  number_map<std::size_t> row_places_;  ///< by path
};

}  // namespace detail
STRATA_END

#endif  // STRATA_ANALYSE_KERNEL_RULES_HPP
