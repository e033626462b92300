#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/text.hpp>
#include <strata/tables/kernel_table.hpp>
#include "gains.hpp"
#include "kernel_class.hpp"
#include "kernel_look.hpp"
#include "occupancy.hpp"
#include "roofline.hpp"
#include "rule_context.hpp"
#include "rules.hpp"
#include "speed_of_light.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

// The rules of instructions that good code would not need: of threads that do not work, of
// additions that are not fused, of addresses and of conversions.

STRATA_BEGIN
namespace detail {
namespace {

/// The part of a kernel's time that its instructions may take where no unit is near a limit: what
/// is no wait for memory.
double part_of_instructions(rule_context const& run, std::size_t row) noexcept {
  double const memory = run.own_or_0(row, "stall_long_scoreboard_share") / 100.0;
  return std::max(0.0, 1.0 - memory);
}

/// Bytes that a thread loads or stores by an instruction.
double bytes_of_access(rule_context const& run, std::size_t row) noexcept {
  double const bytes = run.own(row, "global_load_bytes") + run.own(row, "global_store_bytes");
  return bytes / (warp_threads * run.own(row, "lsu_instructions"));
}

/// Additions and multiplications of a format, and the unit that does them.
struct unfused_format {
  std::string_view name, add, mul, fused;
  gpu_unit unit;
};
constexpr unfused_format unfused_formats[] = {{"FP32", "fadd", "fmul", "ffma", gpu_unit::fma},
                                              {"FP64", "dadd", "dmul", "dfma", gpu_unit::fp64}};

}  // namespace

rule_result divergence(rule_context const& run) {
  constexpr double most_threads = 24.0;  // of 32: from here down Nsight Compute warns, too
  return look_at_counted(
      run, "warp_instructions", [&](std::size_t row, double ns) -> std::optional<candidate> {
        double const instructions = run.own(row, "warp_instructions");
        double const active = run.own(row, "thread_instructions") / instructions;
        double const working = run.own(row, "predicated_on_instructions") / instructions;
        range_limit const& load = run.load(row);
        if (!(working > 0.0) || working > most_threads || !load.units.are_whole() ||
            is_tensor_kernel(run, row))
          return std::nullopt;
        double const left = working / warp_threads;
        fix_of_kernels fix;
        for (gpu_unit const unit : instruction_units) fix.leaves(unit, left);
        kernel_row const* const kernel = kernel_of(run, row);
        bool const is_long = kernel != nullptr && mean_duration(run, *kernel) >= shortest_kernel;
        if (load.fraction() < far_use && is_long)
          fix.ends_waits(ns * part_of_instructions(run, row) * (1.0 - left));
        double const gain = run.gains.gain(row, fix);
        if (!run.is_worth(gain)) return std::nullopt;
        bool const by_branches = active <= most_threads;
        candidate seen = run.candidate_of_kernels(
            row, gain,
            amount_text(working) + " of 32 threads work in a mean instruction: " +
                (by_branches ? "the threads of a warp take different branches, or end early"
                             : "predicates switch the others off"));
        run.prove_own(seen, "warp_instructions", "instructions");
        run.prove_own(seen, "thread_instructions", "instructions");
        run.prove_own(seen, "predicated_on_instructions", "instructions");
        return seen;
      });
}

rule_result unfused(rule_context const& run) {
  constexpr double few_fused = 0.1;   // of the pairs: a compiler that may fuse leaves more; chosen
  constexpr double least_part = 0.5;  // of the instructions; chosen
  return look_at_counted(
      run, "warp_instructions", [&](std::size_t row, double) -> std::optional<candidate> {
        if (!is_bound_by_instructions(run, row)) return std::nullopt;
        for (unfused_format const& format : unfused_formats) {
          double const adds = run.own_or_0(row, format.add);
          double const muls = run.own_or_0(row, format.mul);
          double const fused = run.own_or_0(row, format.fused);
          double const pairs = std::min(adds, muls);
          double const all = run.own_or_0(row, "predicated_on_instructions");
          if (!(pairs > 0.0) || fused > few_fused * pairs || adds + muls < least_part * all)
            continue;
          fix_of_kernels fix;
          fix.leaves(format.unit, 1.0 - pairs / (adds + muls + fused));
          fix.leaves(gpu_unit::issue, 1.0 - part_of(pairs, all));
          double const gain = run.gains.gain(row, fix);
          if (!run.is_worth(gain)) continue;
          candidate seen = run.candidate_of_kernels(
              row, gain,
              std::string(format.name) + " operations of threads are not fused: " +
                  amount_text(adds) + " additions and " + amount_text(muls) + " multiplications, " +
                  amount_text(fused) + " of both in one");
          run.prove_own(seen, format.add, "instructions");
          run.prove_own(seen, format.mul, "instructions");
          run.prove_own(seen, format.fused, "instructions");
          return seen;
        }
        return std::nullopt;
      });
}

rule_result conversions(rule_context const& run) {
  constexpr double mostly = 0.5;  // of the pipe's instructions; chosen
  // As in fp64-by-accident: of 128 lanes that schedulers fill in a cycle this pipe has 16.
  constexpr double issue_by_conversion = 16.0 / 128.0;
  return look_at_counted(
      run, "conversion_instructions", [&](std::size_t row, double) -> std::optional<candidate> {
        range_limit const& load = run.load(row);
        double const converting = run.own(row, "conversion_instructions") / warp_threads;
        double const part = part_of(converting, run.own(row, "xu_instructions"));
        if (load.units.longest() != gpu_unit::xu || load.fraction() < latency_use || part < mostly)
          return std::nullopt;
        fix_of_kernels fix;
        fix.leaves(gpu_unit::xu, 1.0 - part);
        double const issued = part * issue_by_conversion * load.units[gpu_unit::xu];
        fix.leaves(gpu_unit::issue, 1.0 - part_of(issued, load.units[gpu_unit::issue]));
        double const gain = run.gains.gain(row, fix);
        if (!run.is_worth(gain)) return std::nullopt;
        candidate seen = run.candidate_of_kernels(
            row, gain,
            "Conversions between formats are " + percent_text(part) +
                " of what the pipe for them (XU) does, and it is used for " +
                percent_text(load.use(gpu_unit::xu)) + " of the time");
        run.prove_own(seen, "conversion_instructions", "instructions");
        run.prove_own(seen, "xu_instructions", "instructions");
        return seen;
      });
}

rule_result integer_work(rule_context const& run) {
  constexpr double widest = 16.0;  // bytes that a thread loads by an instruction
  return look_at_counted(
      run, "integer_instructions", [&](std::size_t row, double) -> std::optional<candidate> {
        if (!is_bound_by_instructions(run, row)) return std::nullopt;
        double const dividing = arithmetic_of(run, row).dividing;
        double const part = part_of_integers(run, row);
        double const memory = run.load(row).use(gpu_unit::hbm);
        kernel_row const* const kernel = kernel_of(run, row);
        if (part < mostly_integers || memory < least_memory || memory > most_memory ||
            (kernel != nullptr && results_are_integers(*kernel)))
          return std::nullopt;
        // Good code has an integer instruction for each other one. What only moves values can move
        // more of them by each instruction, and computes their address once.
        double const at_a_time = moves_values(run, row) ? bytes_of_access(run, row) / widest : 1.0;
        double const left = std::min(2.0 * (1.0 - part), at_a_time);
        fix_of_kernels fix;
        for (gpu_unit const unit : {gpu_unit::issue, gpu_unit::alu, gpu_unit::fma, gpu_unit::xu})
          fix.leaves(unit, left);
        double const gain = run.gains.gain(row, fix);
        if (!run.is_worth(gain)) return std::nullopt;
        candidate seen = run.candidate_of_kernels(
            row, gain,
            percent_text(part) + " of the instructions are integer ones" +
                (dividing > 0.0 ? " or divide integers (a reciprocal between conversions), and "
                                : ", and ") +
                std::string(run.load(row).roof) + " is used for " + run.load(row).percent_text() +
                " of the time, device memory for " + percent_text(memory));
        run.prove_own(seen, "integer_instructions", "instructions");
        seen.prove_some("conversion_instructions", run.own_or_0(row, "conversion_instructions"),
                        "instructions");
        run.prove_own(seen, "predicated_on_instructions", "instructions");
        return seen;
      });
}

rule_result arithmetic_work(rule_context const& run) {
  constexpr double least_part = 0.4;      // of the instructions; chosen
  constexpr double each_byte_once = 1.5;  // asked for, of what device memory moves; chosen
  // A byte: FP32 and memory are busy alike at 7 on an H200. Chosen.
  constexpr double least_by_byte = 2.0;
  constexpr double most_special = 1.0 / 8.0;  // of the arithmetic; chosen
  constexpr double replaced = 0.75;           // of it; chosen
  return look_at_counted(
      run, "predicated_on_instructions", [&](std::size_t row, double) -> std::optional<candidate> {
        if (!is_bound_by_instructions(run, row) || is_tensor_kernel(run, row)) return std::nullopt;
        double const asked = run.own(row, "global_load_bytes") +
                             run.own_or_0(row, "global_store_bytes") +
                             run.own_or_0(row, "shared_load_bytes");
        double const moved = run.own_or_0(row, "hbm_bytes");
        double const memory = run.load(row).use(gpu_unit::hbm);
        double const arithmetic =
            arithmetic_of(run, row).floating + run.own_or_0(row, "conversion_instructions");
        double const part = part_of(arithmetic, run.own_or_0(row, "predicated_on_instructions"));
        // Hardware functions with little arithmetic are the fast ones already.
        double const special = warp_threads * run.own_or_0(row, "xu_instructions") -
                               run.own_or_0(row, "conversion_instructions");
        if (special > most_special * arithmetic) return std::nullopt;
        if (!(asked <= each_byte_once * moved) || arithmetic < least_by_byte * moved ||
            part < least_part || memory < least_memory || memory > most_memory)
          return std::nullopt;
        fix_of_kernels fix;
        // A table takes the place of a part of it.
        fix.leaves(gpu_unit::issue, 1.0 - replaced * part);
        fix.leaves(gpu_unit::fma, 1.0 - replaced);
        fix.leaves(gpu_unit::xu, 1.0 - replaced);
        double const gain = run.gains.gain(row, fix);
        if (!run.is_worth(gain)) return std::nullopt;
        candidate seen = run.candidate_of_kernels(
            row, gain,
            "Arithmetic and conversions are " + percent_text(part) + " of the instructions, " +
                amount_text(arithmetic / moved) + " for a byte that device memory moves once; " +
                std::string(run.load(row).roof) + " is used for " + run.load(row).percent_text() +
                " of the time, device memory for " + percent_text(memory));
        for (std::string_view const key : {"fadd", "fmul", "ffma", "conversion_instructions"})
          seen.prove_some(key, run.own_or_0(row, key), "instructions");
        run.prove_own(seen, "predicated_on_instructions", "instructions");
        run.prove_own(seen, "hbm_bytes", "B");
        return seen;
      });
}

rule_result divergent_addresses(rule_context const& run) {
  // Of 16 values of a table 32 threads choose 14 different ones: so many turns. Chosen.
  constexpr double left = 1.0 / 16.0;
  constexpr double most_barriers = 0.2;  // of the warps' time: this unit has them, too; chosen
  return look_at_counted(run, "adu_ns", [&](std::size_t row, double) -> std::optional<candidate> {
    range_limit const& load = run.load(row);
    if (!load.units.are_whole() || load.units.longest() != gpu_unit::adu ||
        load.fraction() < latency_use ||
        !(run.own(row, "stall_barrier_share") <= 100.0 * most_barriers))
      return std::nullopt;
    fix_of_kernels fix;
    fix.leaves(gpu_unit::adu, left);
    double const gain = run.gains.gain(row, fix);
    if (!run.is_worth(gain)) return std::nullopt;
    candidate seen = run.candidate_of_kernels(
        row, gain,
        "The unit of addresses that differ within a warp (ADU) is used for " +
            percent_text(load.use(gpu_unit::adu)) +
            " of the time: the threads of a warp read __constant__ memory at different "
            "indices, or jump to different places");
    run.prove_own(seen, "adu_ns", "ns");
    run.prove_own(seen, "issue_ns", "ns");
    return seen;
  });
}

}  // namespace detail
STRATA_END
