#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/text.hpp>
#include <strata/profile.hpp>
#include <strata/profile/records.hpp>
#include "rule_context.hpp"
#include "rules.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

// The rules that look at steps as a whole: what their thread has of a CPU, and whether they are
// alike; and at calls of a range that differ.

STRATA_BEGIN
namespace detail {
namespace {

rule_result one_candidate(candidate&& seen) {
  rule_result made;
  made.candidates.push_back(std::move(seen));
  return made;
}

void prove_cpu(candidate& seen, cpu_of_step const& cpu) {
  seen.prove("cpu_ns", cpu.cpu_ns, "ns");
  seen.prove("wall_ns", cpu.wall_ns, "ns");
  seen.prove("voluntary_switches", cpu.voluntary, "");
  seen.prove("involuntary_switches", cpu.involuntary, "");
}

/// Whether preemption makes so much of a mean step longer.
bool is_by_preemption(rule_context const& run, double ns) noexcept {
  constexpr double with_caches = 1.25;  // that others used meanwhile; chosen
  return is_preempted(run.cpu) && ns <= with_caches * run.cpu.off_ns();
}

double ns_of(step_record const& step) noexcept {
  return static_cast<double>(elapsed(step.begin, step.end));
}

/// The steps without the first one, in their order. None where some of them were summed: those that
/// are kept are the first ones.
class later_steps {
 public:
  explicit later_steps(profile const& source) {
    if (source.losses.steps_summed != 0) return;
    for (step_record const& step : source.steps) steps_.push_back(&step);
    std::stable_sort(steps_.begin(), steps_.end(),
                     [](step_record const* a, step_record const* b) { return a->step < b->step; });
    if (!steps_.empty()) steps_.erase(steps_.begin());
  }

  std::vector<step_record const*> const& all() const noexcept { return steps_; }
  std::size_t size() const noexcept { return steps_.size(); }
  double mean_ns() const noexcept {
    double sum = 0.0;
    for (step_record const* const step : steps_) sum += ns_of(*step);
    return sum / static_cast<double>(size());
  }
  double median_ns(std::size_t begin, std::size_t end) const {
    std::vector<double> times;
    for (std::size_t i = begin; i < end; ++i) times.push_back(ns_of(*steps_[i]));
    std::sort(times.begin(), times.end());
    return (times[(times.size() - 1) / 2] + times[times.size() / 2]) / 2.0;
  }
  /// Whether nearly all steps of the last third are on one side of those of the first.
  bool is_apart(std::size_t third, bool grows) const noexcept {
    constexpr double nearly_all = 0.95;  // of the pairs; chosen
    std::size_t apart = 0;
    for (std::size_t i = 0; i < third; ++i)
      for (std::size_t j = size() - third; j < size(); ++j)
        apart += (ns_of(*steps_[i]) < ns_of(*steps_[j])) == grows ? 1 : 0;
    return static_cast<double>(apart) >= nearly_all * static_cast<double>(third * third);
  }
  /// Whether the thread computes more, or waits: a step grows by `grown_ns`, `factor` times.
  std::string cpu_of_drift(std::size_t third, double factor, double grown_ns) const {
    double const early = cpu_ns(0, third);
    double const late = cpu_ns(size() - third, size());
    if (!(early > 0.0) || !(late > 0.0)) return {};
    constexpr double explained = 0.1;  // of what the step grows by; chosen
    double const grown = late / early;
    bool const is_as_much =
        factor > 1.0 ? grown > 1.0 + 0.8 * (factor - 1.0) : grown < 1.0 - 0.8 * (1.0 - factor);
    if (is_as_much && std::abs(late - early) >= explained * std::abs(grown_ns))
      return ", as does the CPU time of their thread";
    return factor > 1.0 ? ", in which their thread waits, or has no CPU" : "";
  }

 private:
  /// The mean of the steps of which it is known; 0 without any.
  double cpu_ns(std::size_t begin, std::size_t end) const noexcept {
    double sum = 0.0;
    double known = 0.0;
    for (std::size_t i = begin; i < end; ++i) {
      if (steps_[i]->cpu_ns == 0) continue;
      sum += static_cast<double>(steps_[i]->cpu_ns);
      known += 1.0;
    }
    return known > 0.0 ? sum / known : 0.0;
  }

  std::vector<step_record const*> steps_;
};

/// Whether Strata's own start, which came right before the first step, may have made it so much
/// longer: it leaves cold caches and threads that begin. Seen: 1.2 ms after a start of 6 ms.
bool follows_own_start(profile const& source, double ns) noexcept {
  constexpr double share = 0.25;  // of the time to start; chosen
  double const start_ns = source.cost.start_seconds * 1e9;
  std::int64_t begin = (std::numeric_limits<std::int64_t>::max)();
  for (step_record const& step : source.steps) begin = std::min(begin, step.begin);
  return static_cast<double>(begin) < 2.0 * start_ns && ns < share * start_ns;
}

/// Idle time for what the host does of each row with those below it.
std::vector<double> idle_of_host_by_row(rule_context const& run) {
  std::size_t const rows = run.rows.size();
  if (!run.in.steps.has_timeline) return std::vector<double>(rows, run.in.steps.active_idle_ns());
  std::vector<double> idle(rows, 0.0);
  for (idle_time const& time : run.in.steps.idle)
    if (time.cause != idle_cause::device) idle[time.row] += time.ns;
  for (std::size_t row = rows; row-- > 1;) idle[run.rows[row].parent] += idle[row];
  return idle;
}

/// Without a first step that the mean step leaves out.
double mean_call_ns(rule_context const& run, range_row const& row) {
  bool const all = !run.in.steps.without_first || row.first_step_calls >= row.host.count();
  if (all) return row.host.mean();
  return static_cast<double>(row.host_total_ns - row.first_step_host_ns) /
         static_cast<double>(row.host.count() - row.first_step_calls);
}

/// What the calls of a row cost beyond its median; 0 where they hardly vary. Layers may differ from
/// each other, so that `row` is of one index.
double cost_of_varying(rule_context const& run, range_row const& row, double calls) {
  constexpr std::uint64_t fewest = 16;  // calls; chosen
  constexpr double far_apart = 2.0;     // times the median; chosen
  if (row.host.count() < fewest || row.host_self_ns < row.host_total_ns / 2) return 0.0;
  auto const p50 = static_cast<double>(row.host.quantile(0.5));
  if (!(static_cast<double>(row.host.quantile(0.95)) > far_apart * p50)) return 0.0;
  return std::max(0.0, mean_call_ns(run, row) - p50) * calls;
}

/// Calls of one range that differ.
struct varying_range {
  double cost = 0.0;      ///< of all indices
  double most = 0.0;      ///< of one
  std::size_t worst = 0;  ///< that one, in `findings_input::by_index`; 0 is none
};

std::vector<varying_range> varying_by_row(rule_context const& run) {
  std::vector<varying_range> found(run.rows.size());
  for (std::size_t i = 1; i < run.in.by_index.size(); ++i) {
    range_row const& range = run.in.by_index[i];
    if (range.is_many || range.index == any_index) continue;  // of all indices without a row
    std::size_t const row = run.in.tree.position_of(range.node);
    if (row >= found.size() ||
        run.calls_per_step(row, static_cast<double>(run.rows[row].host.count())) < 1.0)
      continue;
    double const calls = run.calls_per_step(row, static_cast<double>(range.host.count()));
    double const cost = cost_of_varying(run, range, calls);
    found[row].cost += cost;
    if (!(cost > found[row].most)) continue;
    found[row].most = cost;
    found[row].worst = i;
  }
  return found;
}

}  // namespace

rule_result preempted(rule_context const& run) {
  if (!is_preempted(run.cpu)) return {};
  // Of a mean step, which the first one may make shorter than those that were measured.
  double const of_mean = std::min(1.0, run.in.steps.mean_ns / run.cpu.wall_ns);
  candidate seen = run.candidate_of_step(
      run.cost_of_host(of_mean * run.cpu.off_ns()),
      "The thread of the steps has a CPU for " + percent_text(run.cpu.cpu_ns / run.cpu.wall_ns) +
          " of a step: others take it " + amount_text(run.cpu.involuntary, "time", "times") +
          " a step");
  prove_cpu(seen, run.cpu);
  return one_candidate(std::move(seen));
}

// The thread that drives the steps sleeps or waits, and no GPU and no thread with ranges works for
// it meanwhile.
rule_result host_waits(rule_context const& run) {
  constexpr double least_off = 0.2;  // of a step; chosen
  constexpr double least_given = 1.0;
  constexpr double fewest = 3.0;      // steps; chosen
  constexpr double least_part = 0.5;  // of the involuntary switches; chosen
  cpu_of_step const& cpu = run.cpu;
  if (run.has_device_work() || cpu.steps < fewest || cpu.voluntary < least_given) return {};
  if (cpu.off_ns() < least_off * cpu.wall_ns || cpu.voluntary < least_part * cpu.involuntary)
    return {};
  double beside = 0.0;  // that other threads work in ranges
  for (range_row const& row : run.rows)
    beside += run.in.steps.per_step(static_cast<double>(row.other_threads_self_ns));
  if (2.0 * beside > cpu.off_ns()) return {};
  candidate seen = run.candidate_of_step(
      cpu.off_ns(), "The thread of the steps sleeps or waits for " + time_text(cpu.off_ns()) +
                        " of a step, " + amount_text(cpu.voluntary, "time", "times") + " a step");
  prove_cpu(seen, cpu);
  return one_candidate(std::move(seen));
}

// Steps that grow over the run, or, of the host alone, get shorter.
rule_result steps_drift(rule_context const& run) {
  constexpr std::size_t fewest = 12;  // steps without the first; chosen
  constexpr double least = 1.2;       // times; chosen: from day to day steps differ by 2 %
  later_steps const later(run.in.source);
  std::size_t const third = later.size() / 3;
  if (later.size() < fewest || run.in.steps.period_of_gpu) return {};
  double const early = later.median_ns(0, third);
  double const middle = later.median_ns(third, later.size() - third);
  double const late = later.median_ns(later.size() - third, later.size());
  bool const grows = late > least * early && middle >= early && late >= middle;
  bool const shrinks = early > least * late && middle <= early && late <= middle;
  if ((!grows && !shrinks) || !later.is_apart(third, grows)) return {};
  if (shrinks && run.has_device_work()) return {};
  double const cost = grows ? run.cost_of_host(std::max(0.0, later.mean_ns() - early)) : 0.0;
  if (grows && !run.is_expensive(cost)) return {};
  candidate seen = run.candidate_of_step(
      cost, (grows ? "Steps grow over the run: " : "Steps get shorter over the run: ") +
                time_text(early) + " in its first third, " + time_text(late) + " in its last" +
                later.cpu_of_drift(third, late / early, late - early));
  if (shrinks) seen.advice = "leave out the warm-up with warmup=: the mean step contains both";
  seen.prove("first_third_ns", early, "ns");
  seen.prove("last_third_ns", late, "ns");
  return one_candidate(std::move(seen));
}

// A few steps that take far longer than the others, which are even.
rule_result slow_step(rule_context const& run) {
  constexpr std::size_t fewest = 8;   // steps without the first; chosen
  constexpr double far_longer = 3.0;  // times the median; chosen
  constexpr double even = 1.3;        // times the median, within which nine of ten are; chosen
  constexpr std::size_t one_of = 20;  // or one at least; chosen
  later_steps const later(run.in.source);
  if (later.size() < fewest || run.in.steps.period_of_gpu) return {};
  std::vector<double> sorted;
  for (step_record const* const step : later.all()) sorted.push_back(ns_of(*step));
  std::sort(sorted.begin(), sorted.end());
  double const median = sorted[sorted.size() / 2];
  std::size_t const tenth = std::max(std::size_t{1}, sorted.size() / 10);
  if (sorted[sorted.size() - 1 - tenth] > even * median || sorted[tenth] * even < median) return {};
  step_record const* slowest = nullptr;
  std::size_t slow = 0;
  double more = 0.0;
  for (step_record const* const step : later.all()) {
    if (ns_of(*step) <= far_longer * median) continue;
    ++slow;
    more += ns_of(*step) - median;
    if (slowest == nullptr || ns_of(*step) > ns_of(*slowest)) slowest = step;
  }
  if (slowest == nullptr || slow > std::max(std::size_t{1}, later.size() / one_of)) return {};
  double const cost = run.cost_of_host(more / static_cast<double>(later.size()));
  if (!run.is_expensive(cost)) return {};
  std::string title = "Step " + std::to_string(slowest->step) + " takes " +
                      time_text(ns_of(*slowest)) + ", the median one " + time_text(median);
  if (slow > 1) title += "; " + std::to_string(slow - 1) + " more are as slow";
  if (slowest->cpu_ns > 0)
    title += "; its thread has a CPU for " +
             percent_text(static_cast<double>(slowest->cpu_ns) / ns_of(*slowest)) + " of it";
  candidate seen = run.candidate_of_step(cost, std::move(title));
  seen.prove("longest_ns", ns_of(*slowest), "ns");
  seen.prove("p50_ns", median, "ns");
  seen.prove("slow_steps", static_cast<double>(slow), "");
  return one_candidate(std::move(seen));
}

rule_result first_step(rule_context const& run) {
  constexpr double least_factor = 3.0;  // times the median; chosen
  step_analysis const& steps = run.in.steps;
  if (!steps.from_steps || steps.count < 3 || steps.first_ns < least_factor * steps.p50_ns)
    return {};
  if (follows_own_start(run.in.source, steps.first_ns - steps.p50_ns)) return {};
  candidate seen = run.candidate_of_step(
      0.0, "The first recorded step takes " + time_text(steps.first_ns) + ", the median one " +
               time_text(steps.p50_ns) + (steps.without_first ? "; it is left out here" : ""));
  seen.prove("first_ns", steps.first_ns, "ns");
  seen.prove("p50_ns", steps.p50_ns, "ns");
  return one_candidate(std::move(seen));
}

rule_result varying_calls(rule_context const& run) {
  constexpr double least = 5.0 * least_share;  // of a step; chosen
  rule_result made;
  std::vector<varying_range> const found = varying_by_row(run);
  std::vector<double> const idle = idle_of_host_by_row(run);
  std::size_t end = 0;  // behind the last range that was found, with those below it
  double all = 0.0;
  for (std::size_t row = 1; row < found.size(); ++row) {
    double const cost =
        run.has_device_work() ? std::min(found[row].cost, idle[row]) : found[row].cost;
    if (found[row].worst == 0 || cost < least * run.step_ns) continue;
    if (row < end) continue;                      // it is that range's idle time
    if (!run.rows[row].thread.empty()) continue;  // it is in a thread outside the step
    end = run.end_of(row);
    all += cost;
    range_row const& worst = run.in.by_index[found[row].worst];
    auto const p50 = static_cast<double>(worst.host.quantile(0.5));
    auto const p95 = static_cast<double>(worst.host.quantile(0.95));
    bool const one = worst.path == run.rows[row].path;
    candidate seen = run.candidate_of(row, cost,
                                      "Calls of " + (one ? std::string("one range") : worst.path) +
                                          " differ: half take up to " + time_text(p50) +
                                          ", one in twenty over " + time_text(p95));
    seen.prove("host_p50_ns", p50, "ns");
    seen.prove("host_p95_ns", p95, "ns");
    seen.prove("host_mean_ns", mean_call_ns(run, worst), "ns");
    for (finding_evidence& value : seen.evidence) value.path = worst.path;
    made.candidates.push_back(std::move(seen));
  }
  if (is_by_preemption(run, all)) return {};  // `preempted` names that cause
  return made;
}

}  // namespace detail
STRATA_END
