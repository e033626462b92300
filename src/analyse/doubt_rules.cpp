#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/text.hpp>
#include <strata/base/vocabulary.hpp>
#include <strata/profile.hpp>
#include <strata/profile/metric_resolver.hpp>
#include <strata/tables/steps_summary.hpp>
#include "roofline.hpp"
#include "rule_context.hpp"
#include "rules.hpp"
#include "speed_of_light.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// The rules that doubt numbers: what was declared, what is above a roof, what was lost or merged,
// and what the recording itself takes.

STRATA_BEGIN
namespace detail {
namespace {

/// Operations of a step in a range with those below it, of all pipes; NaN where the tensor cores
/// worked on formats that were not counted, and where other work was counted than timed.
double counted_flops(rule_context const& run, std::size_t row) noexcept {
  if (!run.is_timed_work(row, counter_scope::total)) return not_a_number;
  double const plain = counted_value(run.in.counters, row, "flop");
  double const fp32 = counted_value(run.in.counters, row, "flop_fp32");
  double const tensor = run.tensor_flops(row, counter_scope::total);
  double const busy = run.in.roofline.limits[row].use(gpu_unit::tensor);
  constexpr double idle = 0.02;  // use: a kernel without products has some on an H200
  if (busy > idle && !(tensor > 0.0)) return not_a_number;
  return (is_finite(plain) ? plain : fp32) + (is_finite(tensor) ? tensor : 0.0);
}

/// The time that operations take of a range's: all of it only where the pipes that do them bound
/// it. What a norm declares is often not what it does, and costs nothing.
double computing_ns(rule_context const& run, range_limit const& load, double flops) noexcept {
  double use =
      std::max({load.use(gpu_unit::tensor), load.use(gpu_unit::fma), load.use(gpu_unit::fp64)});
  double const at_roof = run.at_roof_ns(flops, "FP32") / load.time_ns;
  if (!load.units.is_known() && is_finite(at_roof)) use = at_roof;
  return load.time_ns * std::min(1.0, use / bound_use);
}

/// Of each range, the level that is the most above its roof.
std::vector<roofline_point const*> points_above(rule_context const& run) {
  std::vector<roofline_point const*> above;
  for (roofline_point const& point : run.in.roofline.points) {
    if (!point.above_roof || !run.is_judged(point.row)) continue;
    if (!run.is_expensive(point.time_ns / point.devices)) continue;
    if (above.empty() || above.back()->row != point.row)
      above.push_back(&point);
    else if (point.time_at_roof_ns > above.back()->time_at_roof_ns)
      above.back() = &point;
  }
  std::stable_sort(above.begin(), above.end(),
                   [](auto const* a, auto const* b) { return a->time_ns > b->time_ns; });
  return above;
}

/// ", so a count, a clock or the peak is wrong". Bytes of HBM may come from the driver: a loop of
/// cudaMalloc, kernel and cudaFree moved 754 MiB without a kernel (H200, CUDA 13.0).
std::string what_is_wrong(rule_context const& run, std::size_t row, bool is_counted,
                          bool is_of_memory) {
  bool const allocates = run.rows[row].total.allocations != 0;
  return std::string(", so ") + (is_counted ? "a count" : "what is declared") +
         ", a clock or the peak is wrong" +
         (is_of_memory && allocates ? ", or the driver cleared memory that was allocated here"
                                    : "");
}

constexpr char const* advice_of_counts =
    "do not trust these counts: fix the clocks (nvidia-smi --lock-gpu-clocks), and record again";

void add_points_above(rule_context const& run, rule_result& made) {
  std::vector<roofline_point const*> const above = points_above(run);
  for (std::size_t i = 0; i < std::min(above.size(), most_of_a_rule); ++i) {
    roofline_point const& point = *above[i];
    double const memory_ns = run.at_roof_ns(point.bytes, point.level);
    bool const is_counted = point.evidence == work_evidence::counted;
    bool const by_bytes = is_finite(memory_ns) && memory_ns >= point.time_at_roof_ns;
    std::string title =
        "Above the roof: at the peak of " + std::string(by_bytes ? point.level : "its operations") +
        " the " + std::string(to_string(point.evidence)) + " work takes " +
        fixed_string(point.time_at_roof_ns / point.time_ns, 2) + " times the measured time" +
        what_is_wrong(run, point.row, is_counted, point.level == run.in.roofline.memory);
    if (above.size() > most_of_a_rule)
      title += "; " + std::to_string(above.size() - 1) + " more ranges or kernels are above it";
    candidate seen = run.candidate_of(point.row, 0.0, std::move(title));
    if (is_counted) seen.advice = advice_of_counts;
    seen.prove("time_at_roof_ns", point.time_at_roof_ns / point.devices, "ns");
    seen.prove("gpu_busy_ns", point.time_ns / point.devices, "ns");
    made.candidates.push_back(std::move(seen));
  }
}

void add_shares_above(rule_context const& run, rule_result& made) {
  if (run.in.counters == nullptr) return;
  std::vector<std::size_t> said;  // metrics
  for (counter_table::share_above_peak const& share : run.in.counters->above_peak) {
    bool const is_said = std::find(said.begin(), said.end(), share.metric) != said.end();
    if (said.size() == most_of_a_rule || is_said || !run.is_judged(share.row)) continue;
    if (!run.is_expensive(run.in.roofline.limits[share.row].time_ns)) continue;
    if (run.rows[share.row].total.kernels == 0) continue;  // no kernel moved these bytes
    said.push_back(share.metric);
    std::string_view const key = run.in.counters->metrics[share.metric].key;
    std::string title = std::string(key) + " would be " + fixed_string(share.percent, 0) + " %" +
                        what_is_wrong(run, share.row, true, key == "hbm_of_peak");
    candidate seen = run.candidate_of(share.row, 0.0, std::move(title));
    seen.advice = advice_of_counts;
    // The catalogue's key outlives the counter table.
    if (metric const* const entry = find_entry(key)) seen.prove(entry->key(), share.percent, "%");
    made.candidates.push_back(std::move(seen));
  }
}

}  // namespace

rule_result declared_work(rule_context const& run) {
  // One by the other; chosen: formulas leave out what is small.
  constexpr double most_apart = 1.25;
  rule_result made;
  std::size_t end = 0;  // behind the last range that was found, with those below it
  for (std::size_t row = 1; row < run.rows.size(); ++row) {
    double const declared = run.in.steps.declared_flops(run.rows[row]);
    double const counted = counted_flops(run, row);
    if (!run.is_judged(row) || row < end) continue;
    if (!(declared > 0.0) || !is_finite(declared) || !is_finite(counted)) continue;
    range_limit const& load = run.in.roofline.limits[row];
    double const part = declared / counted;
    if (!run.is_worth(load.time_ns) || (part > 1.0 / most_apart && part < most_apart)) continue;
    double const gain = run.gains.gain_below(row, run.end_of(row), load, part,
                                             computing_ns(run, load, counted) * (1.0 - part));
    if (part < 1.0 && !run.is_worth(gain)) continue;
    end = run.end_of(row);
    double const times = counted / declared;
    std::string const measured = times < 0.005 ? "less than 0.01" : fixed_string(times, 2);
    char const* const left_out =
        times < 1.0 ? "; integer ones, as of quantised weights, are not counted" : "";
    candidate seen = run.candidate_of(
        row, part < 1.0 ? gain : 0.0,
        "The range does " + measured + " times the declared operations" + left_out);
    seen.prove("flop", counted, "FLOP");
    seen.prove("flops", declared, "FLOP");
    for (std::size_t other = row; part < 1.0 && other < end; ++other)
      seen.claims.push_back({other, run.load(other).time_ns * (1.0 - part), false});
    made.candidates.push_back(std::move(seen));
  }
  return made;
}

rule_result above_roof(rule_context const& run) {
  rule_result made;
  add_points_above(run, made);
  add_shares_above(run, made);
  return made;
}

rule_result untrusted(rule_context const& run) {
  rule_result made;
  auto const all = static_cast<double>(run.rows[0].total.kernels + run.rows[0].total.copies);
  double const missing = run.losses.device_work + run.losses.device_times;
  if (missing > least_lost * all) {
    candidate seen = run.candidate_of_step(
        0.0, amount_text(missing) +
                 " records of launches, kernels or copies were lost: GPU times of ranges are too "
                 "small");
    if (run.losses.device_times > run.losses.device_work)
      seen.advice =
          "look for a CUDA error first (compute-sanitizer): after one, CUPTI's records have no "
          "times";
    seen.prove("lost", missing, "");
    seen.prove("kernels", static_cast<double>(run.rows[0].total.kernels), "");
    made.candidates.push_back(std::move(seen));
  }
  double calls = 0.0;
  for (range_row const& row : run.rows) calls += static_cast<double>(row.host.count());
  if (run.losses.calls > least_lost * calls && run.losses.host_text != run.losses.device_text) {
    candidate seen =
        run.candidate_of_step(0.0, run.losses.host_text + ": host times of ranges are too small");
    seen.prove("lost", run.losses.calls, "");
    seen.prove("calls", calls, "");
    made.candidates.push_back(std::move(seen));
  }
  return made;
}

// Time in rows that stand for many ranges: which of them takes it nobody knows.
rule_result merged_ranges(rule_context const& run) {
  constexpr double least = 0.05;  // of a step; chosen
  rule_result made;
  double ns = 0.0;
  std::size_t largest = 0;
  double most = 0.0;
  step_amounts const amounts(run.rows, run.in.steps);
  for (std::size_t row = 1; row < run.rows.size(); ++row) {
    if (run.is_judged(row)) continue;
    device_work const& work = run.rows[row].self;
    double const own =
        run.has_device_work()
            ? run.own_ns_per_step(row, static_cast<double>(work.kernel_ns + work.copy_ns))
            : amounts.stepping_self_ns(row);
    ns += own;
    if (!(own > most)) continue;
    most = own;
    largest = row;
  }
  if (!(ns > least * run.step_ns)) return made;
  std::string const name(run.rows[largest].name);
  candidate seen = run.candidate_of_step(
      0.0, percent_text(ns / run.step_ns) + " of " + std::string(run.in.steps.one_whole()) +
               " is in rows that stand for many ranges, most of it in " + name);
  if (name == deeper_ranges) seen.advice = "check that each push has its pop, and end recursion";
  seen.prove(run.has_device_work() ? "gpu_kernel_self_ns" : "host_self_ns", ns, "ns");
  made.candidates.push_back(std::move(seen));
  return made;
}

rule_result own_cost(rule_context const& run) {
  rule_result made;
  profile_cost const& cost = run.in.source.cost;
  double const ns = cost.ns();
  // Each thread pays for its own ranges and calls.
  auto const threads = static_cast<double>(std::max<std::size_t>(1, run.in.source.threads.size()));
  double const window = cost.seconds_in_window * 1e9 * threads;
  constexpr double least_cost = 0.1;  // of the recorded time; chosen
  if (!(ns > least_cost * window) || !(window > 0.0)) return made;
  // What it takes while the GPU works may cost nothing.
  double cost_of_step = run.in.steps.per_step(ns) / threads;
  if (run.has_device_work()) cost_of_step = std::min(cost_of_step, run.idle_of_host());
  // What the step does not wait for makes the host's times doubtful all the same.
  if (!run.is_expensive(cost_of_step)) cost_of_step = 0.0;
  candidate seen = run.candidate_of_step(cost_of_step, "The recording itself takes " +
                                                           percent_text(ns / window) +
                                                           " of the recorded time of its threads");
  seen.prove("own_ns", run.in.steps.per_step(ns), "ns");
  made.candidates.push_back(std::move(seen));
  return made;
}

}  // namespace detail
STRATA_END
