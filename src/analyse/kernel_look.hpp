#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_KERNEL_LOOK_HPP
#define STRATA_ANALYSE_KERNEL_LOOK_HPP

// How rules look at the kernels of single ranges: which ranges they judge, and what a launch is.

#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/text.hpp>
#include <strata/profile/records.hpp>
#include <strata/tables/kernel_table.hpp>
#include <strata/tables/steps_summary.hpp>
#include "kernel_amounts.hpp"
#include "kernel_names.hpp"
#include "occupancy.hpp"
#include "rule_context.hpp"
#include "rules.hpp"
#include "speed_of_light.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

STRATA_BEGIN
namespace detail {

/// Whether kernels of a range ran side by side: few blocks of one leave SMs to the others.
inline bool has_overlap(rule_context const& run, std::size_t row) noexcept {
  auto const busy = static_cast<double>(run.rows[row].gpu_busy_ns);
  constexpr double overlapping = 1.2;  // of the busy time; chosen
  return static_cast<double>(run.rows[row].total.kernel_ns) > overlapping * busy;
}

/// Mean time of a kernel that latency, too few blocks or a last wave can be blamed for: what is
/// shorter is bound by its launch and its ramp. Units: ns. Chosen.
inline constexpr double shortest_kernel = 10'000.0;

/// A kernel whose units are all used less is far from every limit, whatever it computes.
/// Source: attention kernels use 0.41 to 0.55 of a unit at best, softmax and norms 0.7 (ncu,
/// H200).
inline constexpr double far_use = 1.0 / 3.0;

/// What a kernel moves of device memory before its work in the SMs is too much for it: what moves
/// less computes there, and what moves more is near its limit. Parts of HBM's peak; chosen.
inline constexpr double least_memory = 0.05;
inline constexpr double most_memory = 0.5;

/// The units that a warp instruction takes time of, whatever its threads do.
inline constexpr gpu_unit instruction_units[] = {gpu_unit::fma, gpu_unit::alu, gpu_unit::fp64,
                                                 gpu_unit::xu,  gpu_unit::adu, gpu_unit::issue};

inline bool is_instruction_unit(gpu_unit unit) noexcept {
  return std::find(std::begin(instruction_units), std::end(instruction_units), unit) !=
         std::end(instruction_units);
}

/// Whether instructions bound the kernels: one of their units is the busiest, and no limit of
/// latency is meant.
inline bool is_bound_by_instructions(rule_context const& run, std::size_t row) noexcept {
  range_limit const& load = run.load(row);
  return load.units.are_whole() && load.fraction() >= latency_use &&
         is_instruction_unit(load.units.longest());
}

/// Whether its kernels work on tensor cores: they have few warps by design, which wait for each
/// other, and one thread of which issues for all.
inline bool is_tensor_kernel(rule_context const& run, std::size_t row) noexcept {
  constexpr double least = 0.2;  // use; chosen
  return run.tensor_core_use(row) > least;
}

inline constexpr double warp_threads = 32.0;

/// The part of a whole, from 0 to 1; 0 where it is unknown.
inline double part_of(double part, double whole) noexcept {
  double const share = part / whole;
  if (!is_finite(share)) return 0.0;
  return std::max(0.0, std::min(1.0, share));
}

/// What threads compute apart from addresses, in instructions of threads.
struct thread_arithmetic {
  double floating = 0.0;  ///< that add and multiply floating-point numbers
  double dividing = 0.0;  ///< by which integers are divided
  double special = 0.0;   ///< other special functions, as far as is known
  /// Multiply-adds of half precision that are taken for constants of divisions, none of the above.
  double constants = 0.0;
};

/// A division of integers by a value known only at run time is a reciprocal between two
/// conversions. Each floating-point instruction may have one special function (exp, sin, a root, a
/// reciprocal), which then counts as no division. Constants of a division look like multiply-adds
/// of half precision, which the compiler writes them as: nothing that is counted tells so many
/// apart.
inline thread_arithmetic arithmetic_of(rule_context const& run, std::size_t row) noexcept {
  constexpr double conversions_by_division = 2.0;
  // For a division, rounded up. Source: 7 of them with 6 divisions in a kernel that only moves
  // values (H200, CUDA 13.0).
  constexpr double most_constants = 1.25;
  double floating = 0.0;
  for (std::string_view const key :
       {"fadd", "fmul", "ffma", "dadd", "dmul", "dfma", "hadd", "hmul"})
    floating += run.own_or_0(row, key);
  double const converting = run.own_or_0(row, "conversion_instructions");
  double const special = warp_threads * run.own_or_0(row, "xu_instructions") - converting;
  double const half = run.own_or_0(row, "hfma");
  auto const divisions = [&](double beside) {
    return std::max(0.0, std::min(special - beside, converting / conversions_by_division));
  };
  bool const computes = half > most_constants * divisions(floating);
  if (computes) floating += half;
  double const divided = divisions(floating);
  return {floating, (1.0 + conversions_by_division) * divided, std::max(0.0, special - divided),
          computes ? 0.0 : half};
}

/// The part of the instructions that are integer ones or divide integers; 0 where it is unknown.
inline double part_of_integers(rule_context const& run, std::size_t row) noexcept {
  return part_of(run.own(row, "integer_instructions") + arithmetic_of(run, row).dividing,
                 run.own(row, "predicated_on_instructions"));
}
/// Of instructions, from which on integer ones are too many. Chosen.
inline constexpr double mostly_integers = 0.6;

/// Whether kernels store about as many bytes as they load, and change none of their values.
inline bool moves_values(rule_context const& run, std::size_t row) noexcept {
  constexpr double alike = 0.8;            // stores by loads, or the reverse; chosen
  constexpr double most_floating = 0.002;  // of the instructions; chosen
  double const loads = run.own(row, "global_load_bytes");
  double const stores = run.own(row, "global_store_bytes");
  double const conversions = run.own(row, "conversion_instructions");
  if (!is_finite(run.own(row, "fadd")) || !is_finite(conversions) || !is_finite(stores))
    return false;
  thread_arithmetic const done = arithmetic_of(run, row);
  return loads > 0.0 && std::min(loads, stores) >= alike * std::max(loads, stores) &&
         done.floating <= most_floating * run.own(row, "predicated_on_instructions") &&
         conversions <= done.dividing && !(run.own_or_0(row, "l2_atomic_sectors") > 0.0) &&
         !is_tensor_kernel(run, row);
}

/// Where another cause explains more of the kernels' time, a rule of waits has nothing to add.
/// Chosen.
inline constexpr double most_explained = 0.3;

inline bool is_explained(gain_judge const& gains, std::size_t row) noexcept {
  return gains.unexplained(row) < 1.0 - most_explained;
}

/// Whether it stands for the kernels of many names, for whose sums there was no room.
inline bool is_many(kernel_row const& kernel) noexcept { return kernel.mangled == other_kernels; }

inline double mean_duration(rule_context const& run, kernel_row const& kernel) noexcept {
  return detail::mean_duration(kernel, run.in.steps);
}

/// The part of the SMs that a kernel's blocks reach. Launches of other grids count by their time:
/// many small ones that run with a large one leave few SMs idle.
inline double filled_by(rule_context const& run, kernel_row const& kernel) noexcept {
  double const by_launch = kernel.blocks_mean / run.multiprocessors;
  if (kernel.blocks_min == kernel.blocks_max) return by_launch;
  double const by_time = gpu_fill_in_step(kernel, run.in.steps) / kernel.sm_utilisation;
  return is_finite(by_time) ? std::max(by_launch, by_time) : by_launch;
}

/// The part of a range's own time that a kernel takes for which the range's counts stand. Chosen.
inline constexpr double stands_for_all = 0.8;

/// The kernel that takes nearly all of a range's own time, for which its counts stand; null where
/// the kernels differ.
inline kernel_row const* kernel_of(rule_context const& run, std::size_t row) noexcept {
  for (kernel_row const& kernel : run.in.kernels) {
    if (kernel.path_id != run.rows[row].path_id || is_many(kernel)) continue;
    double const all = run.own_ns_per_step(row, static_cast<double>(run.rows[row].self.kernel_ns));
    if (ns_in_step(kernel, run.rows[row], run.in.steps) >= stands_for_all * all) return &kernel;
  }
  return nullptr;
}

/// Looks at each range whose own kernels are worth it, are no collectives, and were counted in the
/// work that was timed: a fix that replaces the work gains whatever was counted. Without data where
/// `key` has no value in any. `look(row, ns)`: the cause in a range whose own kernels take `ns` of
/// a step, if it has it.
template <class Look>
rule_result look_at_counted(rule_context const& run, std::string_view key, Look const& look) {
  rule_result made;
  made.has_data = false;
  made.lacks = key;
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

/// Waves that so many blocks of a kernel are; 0 where the device is unknown.
inline double waves_of(rule_context const& run, kernel_row const& kernel, double blocks) noexcept {
  double const room = run.multiprocessors * residency_of(kernel, run.sm).blocks;
  return room > 0.0 ? blocks / room : 0.0;
}
/// The same of a mean launch.
inline double waves_of(rule_context const& run, kernel_row const& kernel) noexcept {
  return waves_of(run, kernel, kernel.blocks_mean);
}

/// "work_kernel: 10,000 blocks of 256 threads, 32 registers a thread, 16 KiB of shared memory a
/// block, 8 blocks an SM": what a launch of it is.
inline std::string launch_text(rule_context const& run, kernel_row const& kernel) {
  std::string text = kernel_text(kernel.short_name);
  text += ": " + amount_text(kernel.blocks_mean, "block", "blocks") + " of " +
          amount_text(kernel.block_threads_max, "thread", "threads") + ", " +
          amount_text(kernel.registers_per_thread, "register", "registers") + " a thread";
  double const shared = static_cast<double>(kernel.static_shared_bytes) +
                        static_cast<double>(kernel.dynamic_shared_bytes);
  if (shared > 0.0) text += ", " + bytes_text(shared) + " of shared memory a block";
  double const blocks = residency_of(kernel, run.sm).blocks;
  if (blocks > 0.0) text += ", room for " + amount_text(blocks, "block", "blocks") + " an SM";
  return text;
}

/// How many waves of blocks a launch has, and how far the last one leaves SMs idle.
struct last_wave {
  double waves = 0.0;
  double idle = 0.0;  ///< the part of the time in which SMs wait for the last wave
};

/// `full`: the part of `waves` that is certain; what is beyond it begins no wave.
inline last_wave last_wave_of(double waves, double full = 1.0) noexcept {
  return {waves, waves > 0.0 ? 1.0 - waves / std::ceil(full * waves) : 0.0};
}

/// Where launches have other grids, the mean of their blocks may have part of a wave that no
/// launch has: their median has to have it, too, and the shorter wait counts.
inline last_wave last_wave_of(rule_context const& run, kernel_row const& kernel) noexcept {
  constexpr double exact = 0.99;  // the median may be 0.8 % more blocks than a launch had
  last_wave const mean = last_wave_of(waves_of(run, kernel));
  if (kernel.blocks_min == kernel.blocks_max) return mean;
  double const blocks = static_cast<double>(kernel.blocks_median);
  last_wave const median = last_wave_of(waves_of(run, kernel, blocks), exact);
  return median.idle < mean.idle ? median : mean;
}

/// Looks at each range whose kernel may wait: no unit bounds it, and no other cause explains it. Of
/// ranges of several kernels below a use of `most` the most expensive is left to `kernels=`.
/// `look(row, ns, kernel)`: the cause in a range in whose time nearly all is this kernel's.
template <class Look>
rule_result look_at_waiting(rule_context const& run, double most, Look const& look,
                            double limit = latency_use) {
  std::size_t mixed = 0;
  bool has_data = false;
  rule_result made =
      look_at_counted(run, "issue_ns", [&](std::size_t row, double ns) -> std::optional<candidate> {
        range_limit const& load = run.load(row);
        if (!load.units.are_whole()) return std::nullopt;
        has_data = true;
        if (load.fraction() >= limit || is_explained(run.gains, row)) return std::nullopt;
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

}  // namespace detail
STRATA_END

#endif  // STRATA_ANALYSE_KERNEL_LOOK_HPP
