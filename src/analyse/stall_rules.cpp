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
    return "Latency beside " + unit + ", which is at " + load.use_text();
  return "No hardware limit is reached: " + unit + " is used most, at " + load.percent_text();
}

constexpr std::string_view advice_without_stall =
    "find out first what its warps wait for: counters=findings+stalls counts all waits";

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
        candidate seen = run.candidate_of_kernels(
            row, gain,
            use_clause(load) + stall_clause(most) + "; the kernel is " + launch_text(run, kernel));
        seen.advice = is_told ? most.stall->advice : advice_without_stall;
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
