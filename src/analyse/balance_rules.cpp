#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/text.hpp>
#include <strata/tables/kernel_table.hpp>
#include "device_peaks.hpp"
#include "devices.hpp"
#include "gains.hpp"
#include "kernel_look.hpp"
#include "occupancy.hpp"
#include "roofline.hpp"
#include "rule_context.hpp"
#include "rules.hpp"
#include "speed_of_light.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// The rules of work that is not spread evenly: over SMs, over the slices of L2 and the channels of
// device memory, and over the memories that kernels reach.

STRATA_BEGIN
namespace detail {
namespace {

/// A level of memory that is made of parts, each with addresses of its own.
struct memory_parts {
  std::string_view roof;  ///< empty: that of the devices' memory
  std::string_view part;  ///< what reports call one
  std::string_view amount;
  double bytes;  ///< of one amount
  std::string_view most, mean;
};
constexpr memory_parts parts_of_memory[] = {
    {"L2", "slice of L2", "l2_sectors", 32.0, "l2_slice_sectors_max", "l2_slice_sectors_mean"},
    {"", "channel of device memory", "hbm_bytes", 1.0, "hbm_channel_bytes_max",
     "hbm_channel_bytes_mean"}};

/// How many times the mean part the busiest one does; 0 where that is not known.
double times_the_mean(rule_context const& run, std::size_t row, memory_parts const& of) noexcept {
  double const times = run.own(row, of.most) / run.own(row, of.mean);
  return is_finite(times) ? times : 0.0;
}

}  // namespace

rule_result sm_imbalance(rule_context const& run) {
  constexpr double balanced = 0.8;  // of what the launch lets be; chosen
  return look_at_waiting(
      run, latency_use,
      [&](std::size_t row, double ns, kernel_row const& kernel) -> std::optional<candidate> {
        double const mean = run.own(row, "sm_active_cycles") / run.multiprocessors;
        double const balance = mean / run.own(row, "sm_active_cycles_max");
        if (!(balance < balanced) || has_overlap(run, row)) return std::nullopt;
        // Few blocks, and a last wave, are causes of their own.
        double const of_launch =
            std::min(1.0, filled_by(run, kernel)) * (1.0 - last_wave_of(run, kernel).idle);
        if (!(balance < balanced * of_launch)) return std::nullopt;
        double const gain =
            run.gains.gain(row, fix_of_kernels().ends_waits(ns * (1.0 - balance / of_launch)));
        if (!run.is_worth(gain)) return std::nullopt;
        candidate seen =
            run.candidate_of_kernels(row, gain,
                                     "SMs have work for " + percent_text(balance) +
                                         " of the time of the busiest one: blocks take unequal "
                                         "time; the kernel is " +
                                         launch_text(run, kernel));
        run.prove_own(seen, "sm_active_cycles", "cycles");
        run.prove_own(seen, "sm_active_cycles_max", "cycles");
        return seen;
      });
}

rule_result memory_imbalance(rule_context const& run) {
  constexpr double uneven = 1.5;  // times the mean; chosen
  // A slice of L2 gives three sectors a cycle, but only one from the same line (H200): if one slice
  // has nearly all accesses, they access few lines.
  constexpr double of_few_lines = 16.0;  // times the mean; chosen
  constexpr double slower_by_line = 3.0;
  return look_at_counted(
      run, "l2_slice_sectors_max", [&](std::size_t row, double ns) -> std::optional<candidate> {
        std::optional<candidate> found;
        double most = 0.0;
        for (memory_parts const& of : parts_of_memory) {
          double const times = times_the_mean(run, row, of);
          bool const is_of_few_lines = of.roof == "L2" && times >= of_few_lines;
          double const busy_ns = (is_of_few_lines ? slower_by_line : 1.0) * times *
                                 run.at_roof_ns(of.bytes * run.own(row, of.amount),
                                                of.roof.empty() ? run.in.roofline.memory : of.roof);
          if (times < uneven || !(busy_ns >= latency_use * ns)) continue;
          double const bound = std::min(1.0, busy_ns / ns / bound_use);
          double const gain =
              run.gains.gain(row, fix_of_kernels().ends_waits(ns * bound * (1.0 - 1.0 / times)));
          if (!run.is_worth(gain) || gain <= most) continue;
          most = gain;
          found = run.candidate_of_kernels(
              row, gain,
              "The busiest " + std::string(of.part) + " moves " + amount_text(times) +
                  " times as much as the mean one, and is used for " +
                  percent_text(std::min(1.0, busy_ns / ns)) + " of the time");
          run.prove_own(*found, of.most, of.bytes > 1.0 ? "sectors" : "B");
          run.prove_own(*found, of.mean, of.bytes > 1.0 ? "sectors" : "B");
        }
        return found;
      });
}

rule_result host_memory(rule_context const& run) {
  // Where it is the device's own, no bus is between them.
  if (run.in.counters != nullptr)
    for (std::uint32_t const device : run.in.counters->devices)
      if (shares_host_memory(run.in.source, device)) return {};
  // Chips without documentation are left out, and so are GPUs with Grace, whose link is far faster.
  double link_bytes_per_ns = 0.0;
  for (profile_device const* const device : run.worked) {
    bool const has_grace = device->name.find("GH200") != std::string::npos ||
                           device->name.find("GB200") != std::string::npos ||
                           device->name.find("GB300") != std::string::npos;
    double const peak = has_grace ? 0.0 : bus_peak(*device) * 1e-9;
    if (!(peak > 0.0)) return {};
    link_bytes_per_ns = std::max(link_bytes_per_ns, peak);
  }
  if (!(link_bytes_per_ns > 0.0)) return {};
  constexpr double least_part = 0.3;  // of the time; chosen
  return look_at_counted(
      run, "l2_host_sectors", [&](std::size_t row, double ns) -> std::optional<candidate> {
        double const bytes = 32.0 * run.own(row, "l2_host_sectors");
        double const link_ns = bytes / link_bytes_per_ns;
        range_limit const& load = run.load(row);
        if (!(link_ns >= least_part * ns) || load.fraction() >= latency_use || run.migrating[row])
          return std::nullopt;
        fix_of_kernels fix;
        fix.ends_waits(ns * std::min(1.0, link_ns / ns / bound_use));
        fix.adds(gpu_unit::hbm, run.at_roof_ns(bytes, run.in.roofline.memory));
        double const gain = run.gains.gain(row, fix);
        if (!run.is_worth(gain)) return std::nullopt;
        candidate seen = run.candidate_of_kernels(
            row, gain,
            "Kernels access " + bytes_text(bytes) +
                " of host memory, which comes over the bus and not from device memory");
        run.prove_own(seen, "l2_host_sectors", "sectors");
        return seen;
      });
}

}  // namespace detail
STRATA_END
