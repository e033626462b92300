#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_RUN_RANGES_HPP
#define STRATA_ANALYSE_RUN_RANGES_HPP

// The ranges of one run as comparisons look at them: by path, with what their calls tell.

#include <strata/base/macros.hpp>
#include "run_tables.hpp"

#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

STRATA_BEGIN
namespace detail {

/// How many launches of a kernel have no time: the mean is that of the others, and a time of 0 may
/// also be missing.
double untimed_launches(call_times const& times);

/// A mean of calls: milliseconds a step, and how sure that is by the calls of this run.
struct call_mean {
  double ms = 0;
  double variance = 0;  // of `ms` as an estimate, ms squared

  /// Of so many calls with that sum in ns and that variance of each, in that many steps.
  void add(double count, double total_ns, double spread, double steps) {
    ms += total_ns / steps / 1e6;
    variance += count * spread / (steps * steps) / 1e12;
  }
  void add(call_mean const& other) {
    ms += other.ms;
    variance += other.variance;
  }
};

/// A time of a range in a run, by its calls or its kernels.
struct step_time {
  call_mean mean;
  call_mean trimmed;      // without the longest and the shortest call of the range or kernel
  bool has_far = false;   // one of these two is far from the others
  double typical_ms = 0;  // each call at its median
  double calls = 0;       // or kernels, in the whole run
  double counted = 0;     // the same with the first step
  double may_lack = 0;    // of these: the most that may have no time
  double all_lack = 0;    // of these, those of kernels of which no launch has one
  double lack_ms = 0;     // of the others: what they take if they are as the rest of their kernel

  /// Whether such a call changes the mean by more than that part of it.
  bool is_interrupted(double part) const {
    return has_far && std::abs(mean.ms - trimmed.ms) > part * mean.ms;
  }
  void add(step_time const& other) {
    mean.add(other.mean);
    trimmed.add(other.trimmed);
    has_far = has_far || other.has_far;
    typical_ms += other.typical_ms;
    calls += other.calls;
    counted += other.counted;
    may_lack += other.may_lack;
    all_lack += other.all_lack;
    lack_ms += other.lack_ms;
  }
};

/// What a range did in a run; of a folded path, those of all its indices together.
struct run_range {
  std::string path;
  step_time host;
  step_time gpu;
  std::vector<run_row const*> rows;
  /// By counter set of the run, what was counted of its rows.
  std::vector<std::vector<run_counts const*>> counted;
  bool once = false;                       ///< outside of steps: its amounts cover the whole run
  range_in_step const* in_step = nullptr;  ///< as reports have it; null: sums tell it
};

/// A metric that a run counted.
struct counted_metric {
  run_metric const* metric;
  std::size_t set;       ///< of the run
  std::size_t position;  ///< in the set
  bool adds;             ///< over ranges: no ratio, and nothing that a chip always has
  bool all_steps;        ///< its values cover all steps, else one
};

/// The ranges of one run, by path. It refers to the tables, which outlive it.
class run_ranges {
 public:
  explicit run_ranges(run_tables const& tables);

  run_tables const& tables() const noexcept { return *tables_; }
  /// Whether the period of each step is known.
  bool knows_periods() const;
  /// Takes the periods of the steps for `steps_ms`.
  void take_periods();
  /// By path with index or folded; null where there is none.
  run_range const* find(std::string_view path) const;
  /// Whether it is one of the sums over indices.
  bool is_sum(run_range const& range) const;
  /// What a step is divided by: 1 where the run has none.
  double steps() const noexcept;
  /// Whether the means are without the first step, which is apart.
  bool without_first() const noexcept { return tables_->period.first_ns > 0; }
  /// What the amounts of a range are divided by.
  double steps_of(run_range const& range) const noexcept { return range.once ? 1 : steps(); }
  /// The position of a column, or run_tables::no_column.
  std::size_t column(std::string_view name) const;
  /// Whether a row has a number in the column.
  bool knows(run_range const& range, std::size_t column) const;
  /// The sum of a column over its rows, of the whole run.
  double total(run_range const& range, std::size_t column) const;
  /// The sum of a column, a step, of what is in steps; of the run where the range is in no step.
  double sum(run_range const& range, std::size_t column) const;
  double sum(run_range const& range, std::string_view name) const {
    return sum(range, column(name));
  }
  /// Milliseconds of a mean step, of the steps that reports have the mean of: in which the range
  /// had work on the GPU, or of the host.
  double mean_ms(run_range const& range, bool gpu) const;
  /// The values of a counted metric in a range, summed over its rows, a step.
  /// Returns: false where a row has none, or where they do not add up.
  bool counted(run_range const& range, counted_metric const& metric, double& sum) const;

  /// The metric of that key; null if none is counted.
  counted_metric const* find_metric(std::string_view key) const noexcept {
    auto const known = metric_places_.find(key);
    return known == metric_places_.end() ? nullptr : &metrics[known->second];
  }

  std::vector<double> steps_ms;
  std::vector<double> step_numbers;    ///< of `steps_ms`
  std::vector<run_range> all;          ///< by path
  std::vector<run_range> folded;       ///< those that fold, by folded path
  std::vector<std::string> stand_ins;  ///< paths of what stands for many ranges, in neither list
  std::vector<counted_metric> metrics;

 private:
  /// The part of a row's calls that lies in steps, which is taken for that of its amounts.
  double in_steps(run_row const& row) const;
  void add_ranges();
  void add_kernels();
  void add_counted();
  void fold();
  void take_means();

  run_tables const* tables_;
  std::unordered_map<std::string_view, std::size_t> columns_;
  std::unordered_map<std::string_view, std::size_t> metric_places_;  ///< the first of each key
};

/// What some runs make each metric of: chips differ in what they count under one name.
class metric_formulas_of_runs {
 public:
  void add(run_ranges const& run) {
    for (counted_metric const& each : run.metrics) {
      auto const [known, is_new] = formulas_.try_emplace(each.metric->key, each.metric->formula);
      if (!is_new && known->second != each.metric->formula) known->second = "?";  // no formula
    }
  }
  /// Whether one of them makes this metric of something else.
  bool differ_from(counted_metric const& metric) const noexcept {
    auto const known = formulas_.find(metric.metric->key);
    return known != formulas_.end() && known->second != metric.metric->formula;
  }

 private:
  std::unordered_map<std::string_view, std::string_view> formulas_;
};

/// The part of a run's steps in which their thread ran on a CPU, of those of which it is known; 0
/// without any.
double cpu_share(run_tables const& run);
/// The names of the devices and their greatest clocks, as "NVIDIA H200 1980 MHz; ...".
std::string devices_text(run_tables const& run);

}  // namespace detail
STRATA_END

#endif  // STRATA_ANALYSE_RUN_RANGES_HPP
