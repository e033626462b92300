#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_STEP_RULES_HPP
#define STRATA_ANALYSE_STEP_RULES_HPP

// The rules that look at steps as a whole: what their thread has of a CPU, and whether they are
// alike.

#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/text.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile.hpp>
#include <strata/profile/records.hpp>
#include <strata/tables/step_amounts.hpp>
#include <strata/tables/steps_summary.hpp>
#include "finding_context.hpp"
#include "kernel_rules.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

STRATA_BEGIN
namespace detail {

/// What the thread of a mean step has of a CPU, of the steps of which that is known, without the
/// first one.
struct cpu_of_step {
  double steps = 0.0;  ///< of which it is known
  double wall_ns = 0.0;
  double cpu_ns = 0.0;
  double voluntary = 0.0;
  double involuntary = 0.0;
  double taken = 0.0;  ///< steps in which another thread took a good part of it

  double off_ns() const noexcept { return larger(0.0, wall_ns - cpu_ns); }
};
inline constexpr double least_off_cpu = 0.05;  // of a step, that others take; chosen
inline cpu_of_step cpu_of_mean_step(profile const& source) noexcept {
  cpu_of_step sum;
  std::uint32_t const first = source.first_recorded_step();
  for (step_record const& step : source.steps) {
    if (step.cpu_ns == 0 || (step.step == first && source.steps.size() > 1)) continue;
    sum.steps += 1.0;
    sum.wall_ns += static_cast<double>(elapsed(step.begin, step.end));
    sum.cpu_ns += static_cast<double>(step.cpu_ns);
    sum.voluntary += step.voluntary_switches;
    sum.involuntary += step.involuntary_switches;
    auto const wall = static_cast<double>(elapsed(step.begin, step.end));
    bool const lacks = wall - static_cast<double>(step.cpu_ns) >= least_off_cpu * wall;
    if (lacks && step.involuntary_switches > 0) sum.taken += 1.0;
  }
  if (sum.steps > 0.0)
    for (double* const value : {&sum.wall_ns, &sum.cpu_ns, &sum.voluntary, &sum.involuntary})
      *value /= sum.steps;
  return sum;
}

class step_rules : protected kernel_rules {
 protected:
  explicit step_rules(findings_input const& input)
      : kernel_rules(input), cpu_(cpu_of_mean_step(input.source)) {
    find_later_steps();
  }

  /// Time in which the device is idle for what the host does.
  double idle_of_host() const noexcept {
    if (!in_.steps.has_timeline) return in_.steps.active_idle_ns();
    double sum = 0.0;
    for (idle_time const& time : in_.steps.idle)
      if (time.cause != idle_cause::device) sum += time.ns;
    return sum;
  }
  /// What the host's time costs: beside a GPU that works meanwhile, nothing.
  double cost_of_host(double ns) const noexcept {
    return has_device_work() ? smaller(ns, idle_of_host()) : ns;
  }

  /// Whether other threads take the CPU of the one that drives the steps, in half of them or more:
  /// of a few steps `slow_step` reports it.
  bool is_preempted() const noexcept {
    constexpr double least_taken = 1.0;  // a step; chosen
    constexpr double fewest = 3.0;       // steps; chosen
    if (cpu_.steps < fewest || cpu_.involuntary < least_taken) return false;
    if (2.0 * cpu_.taken < cpu_.steps) return false;
    // How long one switch lasts is not known: a single sleep can be longer than many preemptions.
    constexpr double most_given = 0.1;  // of the switches; chosen
    return cpu_.off_ns() >= least_off_cpu * cpu_.wall_ns &&
           cpu_.voluntary <= most_given * cpu_.involuntary;
  }
  /// Whether that makes so much of a mean step longer.
  bool is_by_preemption(double ns) const noexcept {
    constexpr double with_caches = 1.25;  // that others used meanwhile; chosen
    return is_preempted() && ns <= with_caches * cpu_.off_ns();
  }
  bool preempted(finding_rule const& rule) {
    if (!is_preempted()) return true;
    finding& made =
        add_of_step(rule, cost_of_host(cpu_.off_ns()),
                    sentence("The thread of the steps has a CPU for ")
                        << percent(cpu_.cpu_ns / cpu_.wall_ns) << " of a step: others take it "
                        << count(cpu_.involuntary, "time", "times") << " a step");
    prove_cpu(made);
    return true;
  }

  /// The thread that drives the steps sleeps or waits, and no GPU and no thread with ranges works
  /// for it meanwhile.
  bool host_waits(finding_rule const& rule) {
    constexpr double least_off = 0.2;  // of a step; chosen
    constexpr double least_given = 1.0;
    constexpr double fewest = 3.0;      // steps; chosen
    constexpr double least_part = 0.5;  // of the involuntary switches; chosen
    if (has_device_work() || cpu_.steps < fewest || cpu_.voluntary < least_given) return true;
    if (cpu_.off_ns() < least_off * cpu_.wall_ns || cpu_.voluntary < least_part * cpu_.involuntary)
      return true;
    double beside = 0.0;  // that other threads work in ranges
    for (range_row const& row : rows_)
      beside += in_.steps.per_step(static_cast<double>(row.other_threads_self_ns));
    if (2.0 * beside > cpu_.off_ns()) return true;
    finding& made = add_of_step(rule, cpu_.off_ns(),
                                sentence("The thread of the steps sleeps or waits for ")
                                    << time(cpu_.off_ns()) << " of a step, "
                                    << count(cpu_.voluntary, "time", "times") << " a step");
    prove_cpu(made);
    return true;
  }

  /// Steps that grow over the run, or, of the host alone, get shorter.
  bool steps_drift(finding_rule const& rule) {
    constexpr std::size_t fewest = 12;  // steps without the first; chosen
    constexpr double least = 1.2;       // times; chosen: from day to day steps differ by 2 %
    std::size_t const third = later_.size() / 3;
    if (later_.size() < fewest || in_.steps.period_of_gpu) return true;
    double const early = median_ns(0, third);
    double const middle = median_ns(third, later_.size() - third);
    double const late = median_ns(later_.size() - third, later_.size());
    bool const grows = late > least * early && middle >= early && late >= middle;
    bool const shrinks = early > least * late && middle <= early && late <= middle;
    if ((!grows && !shrinks) || !is_apart(third, grows)) return true;
    if (shrinks && has_device_work()) return true;
    double const cost = grows ? cost_of_host(larger(0.0, mean_ns() - early)) : 0.0;
    if (grows && !is_expensive(cost)) return true;
    finding& made = add_of_step(
        rule, cost,
        sentence(grows ? "Steps grow over the run: " : "Steps get shorter over the run: ")
            << time(early) << " in its first third, " << time(late) << " in its last"
            << cpu_of_drift(third, late / early));
    if (shrinks) made.advice = "leave out what warms up with warmup=: the mean step is of both";
    prove(made, "first_third_ns", early, "ns");
    prove(made, "last_third_ns", late, "ns");
    return true;
  }

  /// A few steps that take far longer than the others, which are even.
  bool slow_step(finding_rule const& rule) {
    constexpr std::size_t fewest = 8;   // steps without the first; chosen
    constexpr double far_longer = 3.0;  // times the median; chosen
    constexpr double even = 1.3;        // times the median, within which nine of ten are; chosen
    constexpr std::size_t one_of = 20;  // or one at least; chosen
    if (later_.size() < fewest || in_.steps.period_of_gpu) return true;
    vec<double> sorted;
    for (step_record const* const step : later_) sorted.push_back(ns_of(*step));
    sorted.sort();
    double const median = sorted[sorted.size() / 2];
    std::size_t const tenth = larger(std::size_t{1}, sorted.size() / 10);
    if (sorted[sorted.size() - 1 - tenth] > even * median || sorted[tenth] * even < median)
      return true;
    step_record const* slowest = nullptr;
    std::size_t slow = 0;
    double more = 0.0;
    for (step_record const* const step : later_) {
      if (ns_of(*step) <= far_longer * median) continue;
      ++slow;
      more += ns_of(*step) - median;
      if (slowest == nullptr || ns_of(*step) > ns_of(*slowest)) slowest = step;
    }
    if (slowest == nullptr || slow > larger(std::size_t{1}, later_.size() / one_of)) return true;
    double const cost = cost_of_host(more / static_cast<double>(later_.size()));
    if (!is_expensive(cost)) return true;
    sentence title;
    title << "Step " << slowest->step << " takes " << time(ns_of(*slowest)) << ", the median one "
          << time(median);
    if (slow > 1) title << "; " << slow - 1 << " more are as slow";
    if (slowest->cpu_ns > 0)
      title << "; its thread has a CPU for "
            << percent(static_cast<double>(slowest->cpu_ns) / ns_of(*slowest)) << " of it";
    finding& made = add_of_step(rule, cost, title);
    prove(made, "longest_ns", ns_of(*slowest), "ns");
    prove(made, "p50_ns", median, "ns");
    prove(made, "slow_steps", static_cast<double>(slow), "");
    return true;
  }

 private:
  void find_later_steps() {
    if (in_.source.losses.steps_summed != 0) return;  // those that are kept are the first ones
    for (step_record const& step : in_.source.steps) later_.push_back(&step);
    later_.sort([](step_record const* a, step_record const* b) { return a->step < b->step; });
    if (!later_.empty()) later_.erase(later_.begin());
  }
  static double ns_of(step_record const& step) noexcept {
    return static_cast<double>(elapsed(step.begin, step.end));
  }
  double mean_ns() const noexcept {
    double sum = 0.0;
    for (step_record const* const step : later_) sum += ns_of(*step);
    return sum / static_cast<double>(later_.size());
  }
  double median_ns(std::size_t begin, std::size_t end) const {
    vec<double> all;
    for (std::size_t i = begin; i < end; ++i) all.push_back(ns_of(*later_[i]));
    all.sort();
    return (all[(all.size() - 1) / 2] + all[all.size() / 2]) / 2.0;
  }
  /// Whether nearly all steps of the last third are on one side of those of the first.
  bool is_apart(std::size_t third, bool grows) const noexcept {
    constexpr double nearly_all = 0.95;  // of the pairs; chosen
    std::size_t apart = 0;
    for (std::size_t i = 0; i < third; ++i)
      for (std::size_t j = later_.size() - third; j < later_.size(); ++j)
        apart += (ns_of(*later_[i]) < ns_of(*later_[j])) == grows ? 1 : 0;
    return static_cast<double>(apart) >= nearly_all * static_cast<double>(third * third);
  }
  /// Whether the thread computes more, or waits.
  std::string cpu_of_drift(std::size_t third, double factor) const {
    double const early = cpu_ns(0, third);
    double const late = cpu_ns(later_.size() - third, later_.size());
    if (!(early > 0.0) || !(late > 0.0)) return {};
    double const grown = late / early;
    if (factor > 1.0 ? grown > 1.0 + 0.8 * (factor - 1.0) : grown < 1.0 - 0.8 * (1.0 - factor))
      return ", as does the CPU time of their thread";
    return factor > 1.0 ? ", in which their thread waits, or has no CPU" : "";
  }
  /// The mean of the steps of which it is known; 0 without any.
  double cpu_ns(std::size_t begin, std::size_t end) const noexcept {
    double sum = 0.0;
    double known = 0.0;
    for (std::size_t i = begin; i < end; ++i) {
      if (later_[i]->cpu_ns == 0) continue;
      sum += static_cast<double>(later_[i]->cpu_ns);
      known += 1.0;
    }
    return known > 0.0 ? sum / known : 0.0;
  }
  void prove_cpu(finding& made) const {
    prove(made, "cpu_ns", cpu_.cpu_ns, "ns");
    prove(made, "wall_ns", cpu_.wall_ns, "ns");
    prove(made, "voluntary_switches", cpu_.voluntary, "");
    prove(made, "involuntary_switches", cpu_.involuntary, "");
  }

  cpu_of_step cpu_;
  vec<step_record const*> later_;  // without the first one, in their order
};

}  // namespace detail
STRATA_END

#endif  // STRATA_ANALYSE_STEP_RULES_HPP
