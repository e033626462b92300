#include <strata/version.hpp>
#ifndef STRATA_REPORT_FLEET_METRICS_HPP
#define STRATA_REPORT_FLEET_METRICS_HPP

// What the monitoring of a fleet keeps of a profile: gauges of the step, of the longest ranges and
// of what would shorten the step, for Prometheus (OpenMetrics text).

#include <strata/base/macros.hpp>
#include <strata/base/text_writer.hpp>
#include "report_input.hpp"

#include <string_view>

STRATA_BEGIN

namespace detail {

/// A gauge, whose name ends in its unit.
struct fleet_gauge {
  std::string_view name;
  std::string_view unit;
  std::string_view prometheus_name;
  std::string_view prometheus_unit;  ///< "" where the name ends in what is counted
  std::string_view help;
};

enum class fleet_metric : unsigned char {
  step,
  step_unrecorded,
  step_busy,
  step_collectives,
  step_exposed_collectives,
  steps,
  tokens,
  memory_peak,
  problems,
  range_host,
  range_busy,
  range_kernels,
  range_copied,
  range_collective,
  range_hbm,
  range_use,
  ranges_left_out,
  finding_gain,
  step_hbm_p50,
  step_hbm_p99
};

/// By fleet_metric. A gauge may be added; none changes its meaning.
inline constexpr fleet_gauge fleet_gauges[] = {
    {"strata.step.time", "s", "strata_step_seconds", "seconds",
     "Time of a mean step; of the whole run without steps"},
    {"strata.step.unrecorded", "s", "strata_step_unrecorded_seconds", "seconds",
     "Time of a step that is not recorded, where recording makes steps longer"},
    {"strata.step.gpu_busy", "s", "strata_step_gpu_busy_seconds", "seconds",
     "Time of a mean period, from the begin of a step to that of the next, in which the GPU "
     "worked"},
    {"strata.step.collectives", "s", "strata_step_collectives_seconds", "seconds",
     "Time of a mean step in which a collective ran, waits for other ranks with it"},
    {"strata.step.exposed_collectives", "s", "strata_step_exposed_collectives_seconds", "seconds",
     "Time of a mean step in which a collective ran and no other kernel did"},
    {"strata.steps", "{step}", "strata_steps", "", "Steps that the values are of"},
    {"strata.step.tokens", "{token}/s", "strata_tokens_per_second", "",
     "Tokens that the ranges declare, by time"},
    {"strata.memory.peak", "By", "strata_memory_peak_bytes", "bytes",
     "Most device memory in use at one time, of what was allocated while recorded"},
    {"strata.problems", "{problem}", "strata_problems", "", "What could not be measured"},
    {"strata.range.host", "s", "strata_range_host_seconds", "seconds",
     "Host time of a range in a mean step, with the ranges in it"},
    {"strata.range.gpu_busy", "s", "strata_range_gpu_busy_seconds", "seconds",
     "Time of a mean step in which the GPU did work of a range, with the ranges in it"},
    {"strata.range.kernels", "{kernel}", "strata_range_kernels", "",
     "Kernels of a range in a mean step"},
    {"strata.range.copied", "By", "strata_range_copied_bytes", "bytes",
     "Bytes that a range copies in a mean step"},
    {"strata.range.collective", "By", "strata_range_collective_bytes", "bytes",
     "Bytes of NCCL's messages of a range in a mean step, with the ranges in it"},
    {"strata.range.hbm", "By", "strata_range_hbm_bytes", "bytes",
     "Bytes that a range moved through device memory in a step"},
    {"strata.range.use", "1", "strata_range_use_ratio", "ratio",
     "Use of the unit that limits a range, of its peak"},
    {"strata.ranges.left_out", "{range}", "strata_ranges_left_out", "",
     "Ranges beyond the longest, which have no values here"},
    {"strata.finding.gain", "s", "strata_finding_gain_seconds", "seconds",
     "What a mean step would be shorter by without a cause"},
    {"strata.step.hbm.p50", "By", "strata_step_hbm_p50_bytes", "bytes",
     "Bytes that the median step moved through device memory, by sampling"},
    {"strata.step.hbm.p99", "By", "strata_step_hbm_p99_bytes", "bytes",
     "Bytes that 99 % of the steps do not exceed, by sampling"},
};

}  // namespace detail

/// metrics.prom: gauges as OpenMetrics text, which Prometheus reads too. Values are of a mean step.
/// Units: seconds, bytes, ratios.
void write_openmetrics(detail::text_writer& out, report_input const& input);

STRATA_END

#endif  // STRATA_REPORT_FLEET_METRICS_HPP
