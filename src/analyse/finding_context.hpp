#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_FINDING_CONTEXT_HPP
#define STRATA_ANALYSE_FINDING_CONTEXT_HPP

// What all rules have: the profile as they look at it, and how they add a finding.

#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/text.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile.hpp>
#include <strata/profile/range_paths.hpp>
#include <strata/tables/counter_table.hpp>
#include <strata/tables/devices.hpp>
#include <strata/tables/range_rows.hpp>
#include <strata/tables/steps_summary.hpp>
#include "device_peaks.hpp"
#include "findings.hpp"
#include "gains.hpp"
#include "occupancy.hpp"
#include "roofline.hpp"
#include "run_losses.hpp"
#include "speed_of_light.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

STRATA_BEGIN
namespace detail {

class finding_rules;

/// A rule as documentation and reports name it.
struct finding_rule {
  std::string_view id;
  std::string_view cause;
  std::string_view advice;
  deciding needs;  ///< the counters without which `look` is false
  bool (finding_rules::*look)(finding_rule const&);
  finding_part part;
};

/// A profile as the rules look at it: its amounts in a mean step, and how sentences tell them.
class step_view {
 protected:
  explicit step_view(findings_input const& input)
      : in_(input), rows_(input.rows), losses_(losses_of(input.source.losses)) {
    for (std::size_t row = 0; row < rows_.size(); ++row) ends_.push_back(row + 1);
    for (std::size_t row = rows_.size(); row-- > 1;)
      ends_[rows_[row].parent] = larger(ends_[rows_[row].parent], ends_[row]);
  }

  /// Behind the last row below a row.
  std::size_t end_of(std::size_t row) const noexcept { return ends_[row]; }
  /// Whether a row is another one, or lies below it.
  bool is_in(std::size_t row, std::size_t above) const noexcept {
    return above <= row && row < ends_[above];
  }

  /// What is lost of the records says nothing of the rest from this part on. Chosen.
  static constexpr double least_lost = 0.01;

  /// What of the device's work was lost, as a part of what has a time.
  double lost_part() const noexcept {
    device_work const& all = rows_[0].total;
    double const lost = losses_.device_work + losses_.device_times;
    double const timed = static_cast<double>(all.kernels + all.copies) - losses_.device_times;
    if (!(lost > 0.0)) return 0.0;
    return timed > 0.0 ? lost / timed : 1e9;
  }
  /// The part of idle time that stays where lost work took as long as what is there.
  double sure_idle_part() const noexcept {
    if (lost_part() <= least_lost) return 1.0;
    double const idle_ns = in_.steps.active_idle_ns();
    double const hidden_ns = lost_part() * in_.steps.active_busy_ns;
    if (!(hidden_ns > 0.0)) return lost_part() > 0.0 ? 0.0 : 1.0;
    return idle_ns > 0.0 ? larger(0.0, 1.0 - hidden_ns / idle_ns) : 0.0;
  }

  /// The GPUs that worked, as a subject: "the GPU", "the 2 GPUs".
  std::string gpus() const {
    std::size_t const worked = in_.roofline.devices;
    if (worked == 1) return "the GPU";
    return sentence("the ") << worked << " GPUs";
  }
  bool has_device_work() const noexcept { return rows_[0].gpu_busy_ns > 0; }
  /// Whether a row is one range, or what is outside of ranges: no rule judges one that stands for
  /// many.
  bool is_judged(std::size_t row) const noexcept { return !rows_[row].is_many; }
  /// A sum of the work on the device of the range and below, of one step.
  double per_step(std::size_t row, double total) const noexcept {
    return in_.steps.per_step(total, rows_[row].step_work_share);
  }
  /// The time of a range's own work, of one step.
  double own_ns_per_step(std::size_t row, double ns) const noexcept {
    return in_.steps.per_step(ns, rows_[row].step_self_share);
  }
  /// How much of something the launches of the range itself are, or come with, in one step.
  template <class Integer>
  double own_launches_per_step(std::size_t row, Integer count) const noexcept {
    return in_.steps.per_step(static_cast<double>(count), rows_[row].step_self_launch_share);
  }
  /// The host time of the launches of the range itself, of one step.
  double own_launch_ns_per_step(std::size_t row) const noexcept {
    return in_.steps.per_step(static_cast<double>(rows_[row].self.launch_ns),
                              rows_[row].step_self_launch_time_share);
  }
  /// What the calls of a range count or declare, of one step.
  double calls_per_step(std::size_t row, double total) const noexcept {
    return in_.steps.per_step(total, rows_[row].step_call_share);
  }
  double own(std::size_t row, std::string_view key) const noexcept {
    return counted_value(in_.counters, row, key, counter_scope::self);
  }
  double own(std::size_t row, char const* key) const noexcept {
    return own(row, std::string_view(key));
  }
  bool is_timed_work(std::size_t row, counter_scope scope) const noexcept {
    return detail::is_timed_work(in_.counters, row, scope);
  }
  /// Operations of the tensor cores in a step, of the formats that were counted; NaN where none
  /// was.
  double tensor_flops(std::size_t row, counter_scope scope) const noexcept {
    double sum = std::numeric_limits<double>::quiet_NaN();
    for (tensor_format const& format : tensor_formats) {
      double const flops = counted_value(in_.counters, row, format.key, scope);
      if (known(flops)) sum = known(sum) ? sum + flops : flops;
    }
    return sum;
  }
  static bool known(double value) noexcept { return is_finite(value); }
  range_limit const& load(std::size_t row) const noexcept { return in_.roofline.own[row]; }
  /// What bytes or operations take at a roof; NaN where it is unknown.
  double at_roof_ns(double amount, std::string_view roof) const noexcept {
    return amount / in_.roofline.rate_of(roof) * 1e9;
  }
  static std::string time(double ns) { return time_text(ns); }
  /// No share is above 100 %: one that is shows that its parts are not of the same work.
  static std::string percent(double const& fraction) {
    if (is_nan(fraction)) return "an unknown part";
    double const share = share_of(fraction, 1.0);
    return is_nan(share) ? "more than 100 %" : fixed_string(100.0 * share, 0) + " %";
  }
  static std::string count(double value) {
    constexpr double most = 1e15;  // below 2^53, up to which a double has all whole numbers
    if (!(value < most)) return "more than 10^15";
    // A mean of whole numbers is whole, as near as sums of parts come to it: half of the last
    // digit.
    constexpr double off_whole = 0.05;
    double const whole = rounded_down(value + 0.5);
    bool const is_whole = value > whole - off_whole && value < whole + off_whole;
    if (value < 9.95 && !is_whole) return fixed_string(value, 1);
    return value > 0.0 && value < off_whole ? fixed_string(value, 2)
                                            : in_groups(static_cast<std::uint64_t>(whole));
  }
  /// "3 kernels"; `one` and `many` are what one and several are called.
  static std::string count(double value, char const* one, char const* many) {
    std::string const number = count(value);
    return sentence(number) << ' ' << (number == "1" ? one : many);
  }

  findings_input const& in_;
  vec<range_row> const& rows_;
  run_losses losses_;

 private:
  vec<std::size_t> ends_;  ///< by row
};

/// What the rules share beside that view: the judge of gains, and what they found.
class finding_context : protected step_view {
 protected:
  explicit finding_context(findings_input const& input)
      : step_view(input),
        worked_(worked_devices(input.source)),
        judge_(input.roofline),
        migrating_(input.rows.size(), false) {
    step_ns_ = input.steps.mean_ns;
    find_multiprocessors();
  }

  /// Those that all kernels may use, and what one holds; unknown where kernels ran on devices of
  /// several kinds, or in contexts with parts of a device that differ.
  void find_multiprocessors() {
    for (profile_device const* const device : worked_)
      if (device->name != worked_[0]->name) return;
    if (worked_.empty()) return;
    sm_ = limits_of(*worked_[0]);
    multiprocessors_ = worked_[0]->multiprocessors;
    blocks_of_memory_ = blocks_that_fill_memory(*worked_[0]);
    if (in_.source.contexts.empty()) return;
    multiprocessors_ = 0.0;
    usable_multiprocessors const all(in_.source);
    for (kernel_record const& kernel : in_.source.kernels) {
      double const usable = all.of(kernel.device, kernel.context);
      if (multiprocessors_ > 0.0 && usable != multiprocessors_) {
        multiprocessors_ = 0.0;
        return;
      }
      multiprocessors_ = usable;
    }
  }

  // Of all rules, chosen: parts of a step.
  /// What costs less, in all its ranges together, is not said: as much as steps differ from day to
  /// day, by 0.1 to 1.9 % in 13 of 14 planted programs (H200, CUDA 13.0).
  static constexpr double least_share = 0.01;
  /// What costs less in one range does not count with the others.
  static constexpr double least_share_of_range = 0.002;
  /// Ranges of which a finding has the evidence; findings of doubt that a rule has.
  static constexpr std::size_t most_of_a_rule = 4;

  finding& add(finding_rule const& rule, std::size_t row, double cost, std::string title) {
    finding made;
    made.rule = rule.id;
    made.title = std::move(title);
    made.row = row;
    made.path = rows_[row].path;
    made.cost_ns_per_step = smaller(cost, step_ns_);
    made.cause = rule.cause;
    made.advice = rule.advice;
    made.part = rule.part;
    made_.findings.push_back(std::move(made));
    return made_.findings.back();
  }
  finding& add_of_step(finding_rule const& rule, double cost, std::string title) {
    finding& made = add(rule, 0, cost, std::move(title));
    made.of_step = true;
    return made;
  }
  /// Of one range's own kernels, whose time no later rule gains again.
  finding& add_kernels(finding_rule const& rule, std::size_t row, double gain, std::string title) {
    judge_.claim(row, gain);
    return add(rule, row, gain, std::move(title));
  }

  /// What a rule added since there were `before` has one title, with the amounts of all its ranges.
  void entitle(std::size_t before, std::string const& title) {
    for (std::size_t i = before; i < made_.findings.size(); ++i) made_.findings[i].title = title;
  }

  /// The same of what to try.
  void advise(std::size_t before, std::string_view advice) {
    for (std::size_t i = before; i < made_.findings.size(); ++i) made_.findings[i].advice = advice;
  }

  /// Makes one finding of what a rule added since there were `before`: one cause in several ranges.
  /// A title that only the first of them has says so; of several fixes the rule's is left.
  void settle(std::size_t before, finding_rule const& rule) {
    vec<finding> causes;
    vec<finding> doubts;
    for (std::size_t i = before; i < made_.findings.size(); ++i)
      (made_.findings[i].cost_ns_per_step > 0.0 ? causes : doubts)
          .push_back(std::move(made_.findings[i]));
    made_.findings.resize(before);
    for (finding& doubt : doubts) {
      doubt.ranges.push_back({doubt.path, doubt.row, 0.0, doubt.part});
      made_.findings.push_back(std::move(doubt));
    }
    if (causes.empty()) return;
    causes.sort(
        [](finding const& a, finding const& b) { return a.cost_ns_per_step > b.cost_ns_per_step; });
    double cost = 0.0;
    for (finding const& cause : causes) cost += cause.cost_ns_per_step;
    if (!is_expensive(cost)) {
      for (finding const& cause : causes)
        if (cause.part == finding_part::kernels) judge_.claim(cause.row, -cause.cost_ns_per_step);
      return;
    }
    finding made = std::move(causes[0]);
    for (finding const& cause : causes)
      if (cause.advice != made.advice) made.advice = rule.advice;
    for (std::size_t i = 1; i < causes.size(); ++i)
      if (causes[i].title != made.title) {
        made.title += sentence(" (") << in_range(made.path) << ")";
        break;
      }
    made.ranges.push_back({made.path, made.row, made.cost_ns_per_step, made.part});
    made.cost_ns_per_step = smaller(cost, step_ns_);
    for (std::size_t i = 1; i < causes.size(); ++i) {
      finding const& more = causes[i];
      made.ranges.push_back({more.path, more.row, more.cost_ns_per_step, more.part});
      if (i < most_of_a_rule)
        made.evidence.insert(made.evidence.end(), more.evidence.begin(), more.evidence.end());
    }
    made_.findings.push_back(std::move(made));
  }

  /// What would decide a rule that needs these counters. Where the run has counters of that key and
  /// left out others beside CUDA graphs, it is to switch these off; where they were counted of
  /// `row`, a range of several kernels, each kernel by itself would.
  undecided_rule what_decides(std::string_view rule, deciding needs, std::size_t row = 0) const {
    bool const asked =
        in_.counters != nullptr && in_.counters->find("issue_ns") != counter_table::none;
    if (asked && !in_.source.counters().left_out.empty()) return {rule, deciding::no_graphs, {}};
    if (row != 0 && load(row).units.is_known()) return {rule, deciding::kernels, rows_[row].name};
    return {rule, needs, {}};
  }

  static void prove(finding& found, std::string_view column, double value, std::string_view unit) {
    if (known(value)) found.evidence.push_back({found.path, column, whole_if_near(value), unit});
  }
  // Literals: where they are made a std::string_view, each of two hundred places is a call more.
  static void prove(finding& found, char const* column, double value, char const* unit) {
    prove(found, std::string_view(column), value, std::string_view(unit));
  }
  /// Where there is some of it: beside a cost, 0 says nothing.
  static void prove_some(finding& found, char const* column, double value, char const* unit) {
    if (value > 0.0) prove(found, column, value, unit);
  }
  /// By a counted value of the range's own kernels.
  void prove_own(finding& found, std::size_t row, char const* key, char const* unit) const {
    prove(found, key, own(row, key), unit);
  }
  /// By the use of a unit.
  void prove_use(finding& found, std::size_t row, gpu_unit unit) const {
    prove(found, gpu_unit_table[static_cast<std::size_t>(unit)].metric, load(row).units[unit],
          "ns");
  }

  /// A sum of parts that make a whole number is one; any other value as it is.
  static double whole_if_near(double value) noexcept {
    constexpr double rounding = 1e-9;  // of the value: sums of doubles are off by less
    double const whole = rounded_down(value + 0.5);
    bool const is_near = value - whole < rounding * whole && whole - value < rounding * whole;
    return is_near ? whole : value;
  }

  bool is_expensive(double ns) const noexcept { return ns >= least_share * step_ns_; }
  bool is_worth(double ns) const noexcept { return ns >= least_share_of_range * step_ns_; }

  vec<profile_device const*> worked_;
  gain_judge judge_;
  vec<bool> migrating_;  ///< by row: whether managed memory explains its idle time
  double step_ns_ = 0.0;
  double multiprocessors_ = 0.0;
  double blocks_of_memory_ = 0.0;  ///< that draw all of it; 0 is not known
  sm_limits sm_;
  findings_table made_;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_ANALYSE_FINDING_CONTEXT_HPP
