#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_COMPARER_HPP
#define STRATA_ANALYSE_COMPARER_HPP

#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/statistics.hpp>
#include <strata/base/text.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile/range_paths.hpp>
#include <strata/tables/columns.hpp>
#include "comparability.hpp"
#include "comparison.hpp"
#include "profile_file.hpp"

#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

STRATA_BEGIN
namespace detail {

// All chosen.
inline constexpr double step_alarms = 0.005;   // the chance that noise makes a regression
inline constexpr double range_alarms = 0.005;  // of all ranges together
/// What a range is taken to differ between runs where there is one of each side, and what a single
/// call may change of its time: this part of the limit, 1.25 % by default. Steps differ by 0.1
/// to 1.9 % from day to day (H200, CUDA 13.0).
inline constexpr double assumed_noise = 0.25;
/// Ranges that are judged have at least this part of `least_share`.
inline constexpr double judged_part = 0.25;
/// Steps of a run, and calls of a range, whose noise can be estimated from themselves.
inline constexpr std::size_t fewest_steps = 5;
/// Steps of a run, whose noise can be estimated from all runs together.
inline constexpr std::size_t fewest_pooled_steps = 2;
/// What is asked for where they are few.
inline constexpr std::size_t usual_steps = 20;
/// What clocks explain at most, of the same device under load: from the base clock to the boost
/// clock of a GPU or CPU is a factor of less than 2, and a hardware slowdown (NVML: core clocks
/// reduced by a factor of 2 or more) is a fault to report.
inline constexpr double most_by_clocks = 2;

inline std::string percent(double share) { return fixed_string(share * 100, 1) + " %"; }

inline constexpr char unchanged_text[] = "as long as before";
/// A change of a time in words: "19.0x faster", "12.0 % shorter".
inline std::string changed_text(double change) {
  constexpr double rounding = 0.0005;
  if (change <= -0.5) return fixed_string(1 / (1 + change), 1) + "x faster";
  if (change >= 1) return fixed_string(1 + change, 1) + "x slower";
  if (std::abs(change) < rounding) return unchanged_text;
  return percent(std::abs(change)) + (change < 0 ? " shorter" : " longer");
}

/// A time of a range in all runs, as it is judged. Changes are of logarithms.
struct judged_time {
  compared_range* result = nullptr;
  bool gpu = false;
  bool trimmed = false;    // means of all runs are without their longest and their shortest call
  bool basis = false;      // shows what the ranges have in common: no sum over indices
  vec<double> logarithms;  // of each run, first those before
  vec<double> own_ms;      // of each run, without the judged ranges below
  double before_ms = 0;
  double after_ms = 0;
  estimate change;
  double own = 0;          // the change of the range's own time
  double own_part = 1;     // how much of the range that is
  double within = 0;       // the part of its variance that more steps make smaller
  double of_runs = 0;      // the variance of the change by itself, by how runs of a side differ
  double typical = 0;      // the same change by the medians of calls, without rare long ones
  double lost[2] = {};     // of each side: by how much losses may hide more, as a logarithm
  bool undecided = false;  // for that
  double limit = 0;
  double noise = 0;
  range_verdict verdict = range_verdict::unjudged;
  std::size_t steps_to_decide = 0;
};

/// Host times, or kernels. A machine makes all of them slower; a change of code, some.
struct time_family {
  common_change common;
  std::size_t basis = 0;
};

/// Profiles of both sides to a `comparison`. It is used once.
class comparer {
 public:
  comparer(vec<profile_file const*> const& before, vec<profile_file const*> const& after,
           compare_options const& options)
      : options_(options) {
    for (profile_file const* const file : before) before_.push_back(run_ranges(*file));
    for (profile_file const* const file : after) after_.push_back(run_ranges(*file));
  }

  comparison result() {
    result_.before_runs = before_.size();
    result_.after_runs = after_.size();
    for (std::size_t r = 0; r < runs(); ++r) result_.runs.push_back(described(run(r), is_later(r)));
    if (before_.empty() || after_.empty()) {
      result_.reason = "one side has no profile";
      return std::move(result_);
    }
    comparability circumstances(before_, after_, std::log1p(options_.limit));
    clocks_ = circumstances.clocks;
    cpu_ = explained_by_cpu();
    compare_steps();
    find_ranges();
    for (bool const gpu : {false, true}) find_own_changes(gpu);
    for (bool const gpu : {false, true}) judge_family(gpu);
    judge_step();
    decide(circumstances);
    say_undecided();
    finish();
    return std::move(result_);
  }

 private:
  std::size_t runs() const noexcept { return before_.size() + after_.size(); }
  /// Those before, then those after.
  run_ranges const& run(std::size_t r) const {
    return r < before_.size() ? before_[r] : after_[r - before_.size()];
  }
  bool is_later(std::size_t r) const noexcept { return r >= before_.size(); }
  /// The weight of a run in the mean of its side.
  double weight(std::size_t r) const {
    return 1 / static_cast<double>(is_later(r) ? after_.size() : before_.size());
  }
  /// Whether the runs tell the noise between them.
  bool runs_known() const noexcept { return runs() >= 4; }
  /// Whether both sides tell it, so that one odd run is no change of a range.
  bool both_known() const noexcept { return before_.size() > 1 && after_.size() > 1; }
  /// Of a difference of both sides, if each run had the variance 1.
  double variance_of_runs() const { return weight(0) + weight(runs() - 1); }

  static bool is_for(accepted_regression const& regression, std::string_view path,
                     std::string_view column) {
    return regression.column == column &&
           (regression.path == path || regression.path == with_folded_indices(path));
  }
  double limit_of(std::string_view path, std::string_view column) const {
    double limit = options_.limit;
    for (accepted_regression const& regression : options_.accepted)
      if (is_for(regression, path, column)) limit = larger(limit, regression.limit);
    return std::log1p(limit) + clocks_;
  }
  /// Of a step or a range, as a logarithm: with what other clocks explain.
  double limit() const { return std::log1p(options_.limit) + clocks_; }

  static compared_run described(run_ranges const& ranges, bool after) {
    profile_file const& file = ranges.file();
    auto const text = [&](char const* name) { return std::string(file.text("environment", name)); };
    return {after,       text("command"), text("configuration"), text("host"),
            text("cpu"), file.devices(),  text("started_at"),    ranges.steps_ms};
  }

  void compare_steps() {
    vec<double> pooled[2];
    vec<double> logarithms[2];
    std::size_t fewest = run(0).steps_ms.size();
    for (std::size_t r = 0; r < runs(); ++r) {
      vec<double> const& all = run(r).steps_ms;
      vec<double> steps;  // the first one pays for what the others find done
      for (std::size_t i = all.size() > fewest_steps ? 1 : 0; i < all.size(); ++i) {
        steps.push_back(all[i]);
        pooled[is_later(r)].push_back(all[i]);
      }
      estimate const typical = typical_logarithm(steps);
      logarithms[is_later(r)].push_back(typical.value);
      step_within_ += typical.variance * weight(r) * weight(r);
      (is_later(r) ? result_.after_steps : result_.before_steps) += all.size();
      fewest = smaller(fewest, all.size());
    }
    too_few_ = fewest < fewest_pooled_steps;
    few_ = fewest < fewest_steps;
    if (few_ && !too_few_) pool_few_steps();
    steps_a_run_ = static_cast<double>(fewest);
    if (result_.before_steps > 0) result_.before_ms = std::exp(mean(logarithms[0]));
    if (result_.after_steps > 0) result_.after_ms = std::exp(mean(logarithms[1]));
    double const change = mean(logarithms[1]) - mean(logarithms[0]);
    if (result_.before_steps > 0 && result_.after_steps > 0) result_.change = std::expm1(change);
    if (too_few_) return;
    result_.chance = chance_of_more(pooled[0], pooled[1]);
    step_ = {change, step_within_};
    if (options_.run_noise > 0) {
      step_.variance += options_.run_noise * options_.run_noise * variance_of_runs();
    } else if (runs_known()) {
      step_freedom_ = static_cast<double>(runs() - 2);
      double const of_run = (squares(logarithms[0]) + squares(logarithms[1])) / step_freedom_;
      step_.variance = larger(step_within_, of_run * variance_of_runs());
    } else if (few_) {
      step_freedom_ = pooled_freedom_;
    }
    result_.runs_known = options_.run_noise > 0 || runs_known();
    result_.noise = step_.deviation();
    double const margin = student_quantile(step_alarms, step_freedom_) * step_.deviation();
    result_.resolution = std::expm1(smaller(margin, 100.0));
  }

  /// Of few steps the deviation is that of all runs together, which Student's t widens by how few
  /// they are; and how far all after are from all before, where there are more without the first.
  void pool_few_steps() {
    double sum = 0;
    double of_medians = 0;
    double ends[2] = {-1e9, 1e9};  // the longest step before, the shortest one after
    for (std::size_t r = 0; r < runs(); ++r) {
      vec<double> const& all = run(r).steps_ms;
      vec<double> steps;
      for (double const ms : all)
        if (ms > 0) steps.push_back(std::log(ms));
      if (steps.empty()) continue;
      auto const count = static_cast<double>(steps.size());
      sum += squares(steps);
      pooled_freedom_ += count - 1;
      of_medians += 1.5708 / count * weight(r) * weight(r);  // a median beside a mean
      for (std::size_t i = steps.size() > fewest_pooled_steps ? 1 : 0; i < steps.size(); ++i) {
        if (is_later(r))
          ends[1] = smaller(ends[1], steps[i]);
        else
          ends[0] = larger(ends[0], steps[i]);
      }
    }
    separation_ = ends[1] - ends[0];
    if (pooled_freedom_ > 0) step_within_ = sum / pooled_freedom_ * of_medians;
    pooled_freedom_ = larger(pooled_freedom_, 1.0);
  }

  /// What each run has of the range.
  /// Returns: false where one has nothing.
  bool collect(std::string_view path, vec<run_range const*>& found) const {
    found.clear();
    for (std::size_t r = 0; r < runs(); ++r) {
      found.push_back(run(r).find(path));
      if (found.back() == nullptr) return false;
    }
    return true;
  }
  static bool is_missing(vec<run_ranges> const& from, std::string_view path) {
    for (run_ranges const& run : from)
      if (run.find(path) == nullptr) return true;
    return false;
  }

  void find_ranges() {
    for (std::size_t r = 0; r < runs(); ++r) traced_ = traced_ && run(r).file().traced();
    vec<run_range const*> found;
    for (run_range const& range : before_[0].all) {
      bool const indexed = with_folded_indices(range.path) != range.path;
      if (collect(range.path, found))
        (indexed ? result_.indexed : result_.ranges).push_back(described(range.path, found));
      else if (is_missing(after_, range.path))
        result_.only_before.push_back(range.path);
    }
    for (run_range const& range : before_[0].folded)
      if (collect(range.path, found)) result_.ranges.push_back(described(range.path, found));
    for (run_range const& range : after_[0].all)
      if (is_missing(before_, range.path)) result_.only_after.push_back(range.path);
    for (vec<compared_range>* const list : {&result_.ranges, &result_.indexed})
      for (compared_range& range : *list) {
        collect(range.path, found);
        add_time(range, found, false);
        if (traced_) add_time(range, found, true);
      }
  }

  compared_range described(std::string const& path, vec<run_range const*> const& found) const {
    compared_range range;
    range.path = path;
    range.gpu = traced_;
    bool several = false;
    for (std::size_t r = 0; r < runs(); ++r) {
      range.gpu = range.gpu && run(r).sum(*found[r], "kernels") > 0;
      range.once = range.once || found[r]->once;
      several = several || found[r]->rows.size() > 1;
    }
    if (!range.gpu) range.thread = thread_of(found);
    char const* const time = range.gpu ? "gpu_busy_ns" : "host_total_ns";
    char const* const first = range.gpu ? "first_step_gpu_busy_ns" : "first_step_host_ns";
    for (std::size_t r = 0; r < runs(); ++r)
      (is_later(r) ? range.after_ms : range.before_ms) +=
          run(r).later_sum(*found[r], time, first) / 1e6 * weight(r);
    json_document const& json = run(0).file().json();
    json_node node = json.first(found[0]->rows[0]);
    for (; node != 0; node = json.next(node)) {
      std::string_view const name = json.key(node);
      auto const known = range_columns.find(name);
      bool const is_known = known != range_columns.end();  // else of a newer Strata
      column_sum const sum = is_known ? known->sum : column_sum::amount;
      if (sum == column_sum::identity || (several && sum == column_sum::call)) continue;
      add_column(range, name, is_known ? known->unit : ending_unit(name),
                 [&](std::size_t r, double& value) {
                   value = run(r).sum(*found[r], name);
                   if (sum != column_sum::amount) value *= run(r).steps_of(*found[r]);
                   return run(r).knows(*found[r], name);
                 });
    }
    for (counted_metric const& metric : run(0).metrics) {
      if (!is_counted_alike(metric)) continue;
      add_column(range, metric.key, metric.unit, [&](std::size_t r, double& value) {
        return run(r).counted(*found[r], metric, value);
      });
    }
    return range;
  }
  /// Whether all runs count the same under that name: chips differ in what a metric is made of.
  bool is_counted_alike(counted_metric const& metric) const {
    for (std::size_t r = 1; r < runs(); ++r)
      for (counted_metric const& other : run(r).metrics)
        if (other.key == metric.key && other.formula != metric.formula) return false;
    return true;
  }
  /// The thread that a range is in, of those that drive no step; empty where a run has it
  /// elsewhere.
  std::string thread_of(vec<run_range const*> const& found) const {
    std::string_view thread;
    for (std::size_t r = 0; r < runs(); ++r) {
      json_document const& json = run(r).file().json();
      thread = json.text(json.find(found[r]->rows[0], "thread"));
      if (thread.empty()) break;
    }
    return std::string(thread);
  }
  static std::string_view ending_unit(std::string_view name) {
    std::string_view const end = name.substr(name.find_last_of('_') + 1);
    return end == "ns" ? "ns" : end == "bytes" ? "B" : "";
  }
  /// Where all runs know the value that `read` has of a run.
  template <class Read>
  void add_column(compared_range& range, std::string_view name, std::string_view unit,
                  Read const& read) const {
    compared_column column{std::string(name), std::string(unit), 0, 0};
    for (std::size_t r = 0; r < runs(); ++r) {
      double value = 0;
      if (!read(r, value)) return;
      (is_later(r) ? column.after : column.before) += value * weight(r);
    }
    range.columns.push_back(std::move(column));
  }

  /// By how much the time of a range may be larger than it is seen, as a logarithm: the calls or
  /// kernels that a run lost, and that others have in a step, are as long as those that are there.
  double hidden_by_losses(std::size_t r, run_range const& range, bool gpu, double most) const {
    step_time const& time = time_of(range, gpu);
    run_losses const& losses = run(r).losses;
    double const fewer = larger(0.0, most * run(r).steps_of(range) - time.counted);
    double const without_time = gpu ? smaller(losses.device_times, time.may_lack) : 0;
    double const missing = smaller(gpu ? losses.device_work : losses.calls, fewer);
    double const seen = time.counted - without_time;
    constexpr double all = 100;  // e^100: more than `most_lost`
    if (!(seen > 0) || !(time.mean.ms > 0)) return without_time + missing > 0 ? all : 0;
    double const part = time.may_lack > 0 ? without_time / time.may_lack : 0;
    double const as_others = (part * time.all_lack + missing) / seen;
    return std::log1p(part * time.lack_ms / time.mean.ms + as_others);
  }
  /// Of what losses hide, as a logarithm.
  static bool is_unknown(double lost) { return lost > std::log1p(most_lost); }
  double most_calls(vec<run_range const*> const& found, bool gpu) const {
    double most = 0;
    for (std::size_t r = 0; r < runs(); ++r)
      most = larger(most, time_of(*found[r], gpu).counted / run(r).steps_of(*found[r]));
    return most;
  }

  static step_time const& time_of(run_range const& range, bool gpu) {
    return gpu ? range.gpu : range.host;
  }
  void add_time(compared_range& range, vec<run_range const*> const& found, bool gpu) {
    judged_time time;
    double means[2] = {};
    double typical[2] = {};
    double const most = most_calls(found, gpu);
    // What is interrupted in one run is trimmed in all: both sides are the same statistic.
    for (run_range const* const range_of_run : found)
      time.trimmed =
          time.trimmed || time_of(*range_of_run, gpu).is_interrupted(assumed_noise * limit());
    for (std::size_t r = 0; r < runs(); ++r) {
      step_time const& time_of_run = time_of(*found[r], gpu);
      call_mean const& mean = time.trimmed ? time_of_run.trimmed : time_of_run.mean;
      if (time_of_run.counted > 0 && is_unknown(hidden_by_losses(r, *found[r], gpu, most)))
        note_unseen(range, found, gpu);
      if (!(mean.ms > 0) || time_of_run.calls < static_cast<double>(fewest_steps)) return;
      time.lost[is_later(r)] += hidden_by_losses(r, *found[r], gpu, most) * weight(r);
      time.logarithms.push_back(std::log(mean.ms));
      time.within += mean.variance / (mean.ms * mean.ms) * weight(r) * weight(r);
      means[is_later(r)] += time.logarithms.back() * weight(r);
      typical[is_later(r)] += time_of_run.typical_ms * weight(r);
    }
    double const step = larger(result_.before_ms, result_.after_ms);
    double const whole = range.once ? step * steps_a_run_ : step;
    double const share = whole > 0 ? std::exp(larger(means[0], means[1])) / whole : 1;
    range.share = larger(range.share, share);
    if (share < options_.least_share * judged_part) return;
    time.result = &range;
    time.gpu = gpu;
    // What is not known says nothing of the others.
    bool const is_whole = time.lost[0] + time.lost[1] <= assumed_noise * limit();
    time.basis = is_whole && !before_[0].is_sum(*found[0]);
    time.before_ms = std::exp(means[0]);
    time.after_ms = std::exp(means[1]);
    time.change = {means[1] - means[0], time.within};
    bool const known = typical[0] > 0 && typical[1] > 0;
    time.typical = known ? std::log(typical[1] / typical[0]) : time.change.value;
    time.limit = limit_of(range.path, gpu ? "gpu" : "host");
    times_.push_back(std::move(time));
  }

  /// All times of a range were lost in one run: where it has much of a step in another, nothing can
  /// be estimated.
  void note_unseen(compared_range& range, vec<run_range const*> const& found, bool gpu) {
    double longest = 0;
    for (std::size_t r = 0; r < runs(); ++r)
      longest = larger(longest, time_of(*found[r], gpu).mean.ms);
    double const step = larger(result_.before_ms, result_.after_ms);
    if (step > 0 && longest / step < options_.least_share) return;
    range.lost = true;
    unseen_ = unknown_text(range.path, gpu);
  }

  /// The distance of a run from the mean of its side.
  double away(judged_time const& time, std::size_t r) const {
    double sum = 0;
    for (std::size_t i = 0; i < runs(); ++i)
      if (is_later(i) == is_later(r)) sum += time.logarithms[i];
    return time.logarithms[r] - sum * weight(r);
  }
  /// Of several runs: how each range moves between them, all in all and beyond what all have in
  /// common.
  void add_noise_between_runs(bool gpu) {
    if (runs() < 3) return;
    vec<double> shifts;
    for (std::size_t r = 0; r < runs(); ++r) {
      vec<double> moved;
      for (judged_time const& time : times_)
        if (time.gpu == gpu && time.basis) moved.push_back(away(time, r));
      shifts.push_back(median(std::move(moved)));
    }
    vec<double> beside;
    vec<double> basis;
    for (judged_time& time : times_) {
      if (time.gpu != gpu) continue;
      double sum = 0;
      double whole = 0;
      for (std::size_t r = 0; r < runs(); ++r) {
        double const all = away(time, r);
        double const moved = all - shifts[r];
        sum += moved * moved;
        whole += all * all;
      }
      double const scale = variance_of_runs() / static_cast<double>(runs() - 2);
      time.of_runs = larger(time.within, whole * scale);
      beside.push_back(sum * scale);
      if (time.basis) basis.push_back(beside.back());
    }
    // Few runs make some of many ranges look quiet by chance: none is quieter than most are.
    double const usual = median(std::move(basis));
    std::size_t i = 0;
    for (judged_time& time : times_)
      if (time.gpu == gpu)
        time.change.variance = larger(time.change.variance, larger(beside[i++], usual));
  }

  /// What ranges have in common is shown by their own times: a slow range would count once more in
  /// each that holds it. One that is hardly more than those in it shows nothing by itself.
  void find_own_changes(bool gpu) {
    constexpr double least = 0.1;  // of its time; chosen
    vec<judged_time*> order;
    for (judged_time& time : times_)
      if (time.gpu == gpu && time.basis) order.push_back(&time);
    auto const key = [](judged_time const* time) { return time->result->path + '/'; };
    order.sort([&](auto const* a, auto const* b) { return key(a) < key(b); });
    vec<judged_time*> open;  // those that hold the next one
    for (judged_time* const time : order) {
      for (double const logarithm : time->logarithms) time->own_ms.push_back(std::exp(logarithm));
      while (!open.empty() && !is_within(time->result->path, open.back()->result->path))
        open.pop_back();
      for (std::size_t r = 0; r < runs() && !open.empty(); ++r)
        open.back()->own_ms[r] -= std::exp(time->logarithms[r]);
      open.push_back(time);
    }
    for (judged_time* const time : order) {
      time->own = 0;
      for (std::size_t r = 0; r < runs(); ++r) {
        double const part = time->own_ms[r] / std::exp(time->logarithms[r]);
        time->basis = time->basis && part >= least;
        if (!time->basis) break;
        time->own_part = smaller(time->own_part, part);
        time->own += std::log(time->own_ms[r]) * (is_later(r) ? weight(r) : -weight(r));
      }
    }
  }

  void judge_family(bool gpu) {
    add_noise_between_runs(gpu);
    vec<estimate> changes;
    for (judged_time const& time : times_)
      if (time.gpu == gpu && time.basis)
        changes.push_back({time.own, time.change.variance / (time.own_part * time.own_part)});
    time_family& family = families_[gpu];
    family.basis = changes.size();
    family.common = change_in_common(changes);
    double const tests = static_cast<double>(times_.size() + 1) * (both_known() ? 2 : 1);
    auto const needed = [&](std::size_t freedom) {
      return student_quantile(range_alarms / tests, static_cast<double>(freedom));
    };
    double const beside = changes.size() < 2 ? 1e9 : needed(changes.size() - 1);
    double const alone = both_known() ? needed(runs() - 2) : 1e9;
    for (judged_time& time : times_) {
      if (time.gpu != gpu) continue;
      ++result_.judged_times;
      if (judge_all(time, changes.size() < 2 ? common_change() : family.common, beside, alone) >
          2 * limit())
        ++result_.noisy_times;
    }
  }

  /// A verdict that losses cannot turn: it holds at the least change that they leave, and at the
  /// most.
  double judge_all(judged_time& time, common_change const& common, double beside_needs,
                   double alone_needs) const {
    double const least = judge(time, time.change.value, common, beside_needs, alone_needs);
    if (!(time.lost[0] + time.lost[1] > 0)) return least;
    auto const verdict_at = [&](double change) {
      judged_time other = time;
      other.steps_to_decide = 0;
      (void)judge(other, change, common, beside_needs, alone_needs);
      return other.verdict;
    };
    range_verdict const at_least = verdict_at(time.change.value - time.lost[0]);
    range_verdict const at_most = verdict_at(time.change.value + time.lost[1]);
    time.verdict = at_most;
    if (at_least == at_most || at_most <= range_verdict::accepted) return least;
    double const share = time.result->share * std::exp(larger(time.lost[0], time.lost[1]));
    time.undecided = share >= options_.least_share;
    time.verdict = time.undecided ? range_verdict::unsure : range_verdict::within;
    time.steps_to_decide = 0;
    return least;
  }

  /// A change is found beside what all ranges have in common, which needs that many deviations; of
  /// several runs also alone, beside how it differs between them.
  /// Returns: the least change that noise would not hide, as a logarithm.
  double judge(judged_time& time, double change, common_change const& common, double beside_needs,
               double alone_needs) const {
    double const beside = change - common.value;
    double const limit = this->limit();
    double const assumed = runs_known() ? 0 : assumed_noise * limit;
    double const between = larger(common.between, assumed * assumed);
    double const variance = time.change.variance + between + common.variance;
    double const hidden = beside_needs * std::sqrt(variance);
    double const hidden_alone = alone_needs * std::sqrt(time.of_runs);
    bool const alone = both_known() && (change > limit ? change * hidden > beside * hidden_alone
                                                       : hidden_alone < hidden);
    double const effect = alone ? change : beside;
    double const needed = alone ? alone_needs : beside_needs;
    double const noise = alone ? time.of_runs : variance;
    time.noise = std::sqrt(noise);
    time.verdict = range_verdict::within;
    double const least = both_known() ? smaller(hidden, hidden_alone) : hidden;
    // Two runs that differ in everything were not taken under the same conditions, or of the same
    // code: how their ranges differ from each other is no noise.
    bool const alike = runs_known() || std::abs(common.value) <= limit;
    if (!alike) time.noise = std::sqrt(larger(time.within, time.of_runs));
    if (is_beyond_clocks(time, change)) {
      time.verdict = change <= time.limit ? range_verdict::accepted : range_verdict::slower;
      return alike ? least : 0;
    }
    if (!(change > limit && effect > limit)) return alike ? least : 0;
    bool const beyond = alike && effect > needed * time.noise;
    // Code makes most calls slower; of two runs alone nothing distinguishes a few that a busy
    // machine interrupted for milliseconds from a few that are slower.
    bool const most = time.typical > limit;
    if (change <= time.limit) {
      time.verdict = range_verdict::accepted;
    } else if (beyond && (!few_ || both_known()) && (most || time.gpu || both_known())) {
      time.verdict = range_verdict::slower;
    } else if ((beyond || most) && time.result->share >= options_.least_share) {
      time.verdict = range_verdict::unsure;
      time.noise = std::sqrt(noise);
      double const bearable = effect * effect / (needed * needed) - (noise - time.within);
      double const steps = bearable > 0 ? steps_a_run_ * time.within / bearable : 1e9;
      if (steps < 1e5) time.steps_to_decide = static_cast<std::size_t>(std::ceil(steps)) + 1;
      if (few_) time.steps_to_decide = larger(time.steps_to_decide, usual_steps);
    }
    return alike ? least : 0;
  }
  /// Whether neither clocks nor the calls' noise make such a change: on the host in the median call
  /// too. A single step may be the one that pays for what others find done.
  bool is_beyond_clocks(judged_time const& time, double change) const {
    constexpr double deviations = 6;  // one of 10^9; chosen
    double const most = std::log(most_by_clocks) + (time.gpu ? 0 : cpu_);
    double const noise = std::sqrt(larger(time.within, time.of_runs));
    bool const has_few = too_few_ && result_.before_steps + result_.after_steps > 0;
    return change - deviations * noise > most && (time.gpu || time.typical > most) && !has_few;
  }

  void judge_step() {
    double common = -1e9;
    double between = 0;
    double freedom = -1;
    for (time_family const& family : families_) {
      if (family.basis == 0) continue;
      common = larger(common, family.common.value);
      between = larger(between, family.common.between + family.common.variance);
      freedom += static_cast<double>(family.basis);
    }
    if (freedom >= 0) result_.common = std::expm1(common);
    step_limit_ = limit_of({}, "step");
    if (too_few_ || !(step_.value > step_limit_)) return;
    step_slower_ = is_step_beyond_clocks();
    if (step_slower_) return;
    if (result_.runs_known) {
      step_slower_ = is_beyond(step_.value, step_.variance, step_freedom_);
      return;
    }
    // One run of each side: what is slower than its ranges are together is no work of the machine.
    double const beside = step_.value - larger(common, 0.0);
    step_slower_ = freedom >= 1 && beside > step_limit_ && common <= step_limit_ &&
                   result_.chance < step_alarms &&
                   is_beyond(beside, step_.variance + between, smaller(freedom, step_freedom_));
  }
  /// What of a slowdown of the host alone is that its thread has less of a CPU, as a logarithm.
  double explained_by_cpu() const {
    double shares[2] = {};
    for (std::size_t r = 0; r < runs(); ++r) {
      double const share = run(r).file().cpu_share();
      if (run(r).file().traced() || !(share > 0)) return 0;
      shares[is_later(r)] += share * weight(r);
    }
    return larger(0.0, std::log(shares[0] / shares[1]));
  }
  /// Few steps decide by each of them: all that came after are that much longer than all before.
  bool is_step_beyond_clocks() const {
    double const most = std::log(most_by_clocks) + clocks_ + cpu_;
    return few_ ? separation_ > most : is_beyond(step_.value - most, step_.variance, step_freedom_);
  }
  static bool is_beyond(double change, double variance, double freedom) {
    return change > student_quantile(step_alarms, freedom) * std::sqrt(variance);
  }

  /// How many steps of each run, or runs of each side, make the noise smaller than `wanted`.
  void advise(double wanted, double chance) {
    if (!(wanted > 0)) return;
    if (!result_.runs_known || step_within_ >= 0.9 * step_.variance) {
      double const needed = student_quantile(chance, step_freedom_) / wanted;
      double const steps = steps_a_run_ * step_within_ * needed * needed;
      if (steps < 1e5) result_.steps_to_decide = static_cast<std::size_t>(std::ceil(steps)) + 1;
      return;
    }
    double const of_run = step_.variance / variance_of_runs();
    for (std::size_t n = 2; n <= 100 && result_.runs_to_decide == 0; ++n) {
      double const freedom = options_.run_noise > 0 ? 1e9 : static_cast<double>(2 * n - 2);
      double const noise = std::sqrt(of_run * 2 / static_cast<double>(n));
      if (student_quantile(chance, freedom) * noise < wanted) result_.runs_to_decide = n;
    }
  }
  std::string advice() const {
    if (result_.steps_to_decide > 0)
      return sentence("about ") << result_.steps_to_decide << " steps a run would decide";
    if (result_.runs_to_decide > 0)
      return sentence("about ") << result_.runs_to_decide << " runs of each side would decide";
    return "no number of runs would decide soon, so use a quieter machine or a higher limit";
  }

  /// Of the times with that verdict, how many, and the one that costs most.
  judged_time const* worst(range_verdict verdict, std::size_t& count) const {
    judged_time const* found = nullptr;
    count = 0;
    for (judged_time const& time : times_) {
      if (time.verdict != verdict) continue;
      ++count;
      auto const cost = [](judged_time const& judged) {
        return judged.result->share * judged.change.value;
      };
      if (found == nullptr || cost(time) > cost(*found)) found = &time;
    }
    return found;
  }
  /// Of the times whose verdict losses leave open, the one that may cost most; null without any.
  judged_time const* least_known() const {
    judged_time const* found = nullptr;
    auto const cost = [](judged_time const& judged) {
      return judged.result->share * (judged.change.value + judged.lost[1]);
    };
    for (judged_time const& time : times_)
      if (time.undecided && (found == nullptr || cost(time) > cost(*found))) found = &time;
    return found;
  }
  static std::string named(std::string const& path, bool gpu) {
    return path + (gpu ? " (GPU)" : " (host)");
  }
  static std::string named(judged_time const& time) { return named(time.result->path, time.gpu); }
  std::string unknown_text(std::string const& path, bool gpu) const {
    return named(path, gpu) + " lost nearly all its times in a run " + losses_text(gpu);
  }
  /// "12.0 % slower", "19.0x slower"; of a change as a logarithm.
  static std::string slower_text(double change) {
    double const share = std::expm1(change);
    return share < 1 ? percent(share) + " slower" : changed_text(share);
  }
  std::string steps_a_run_text() const {
    auto const steps = static_cast<std::size_t>(steps_a_run_);
    return sentence() << steps << (steps == 1 ? " step" : " steps");
  }
  /// "mlp (GPU) is between 30.0 % shorter and 40.0 % longer, by what was lost (after: 480 ...".
  std::string undecided_text(judged_time const& time) const {
    std::string const all = named(time);
    if (is_unknown(larger(time.lost[0], time.lost[1])))
      return unknown_text(time.result->path, time.gpu);
    return all + " is between " + changed_text(std::expm1(time.change.value - time.lost[0])) +
           " and " + changed_text(std::expm1(time.change.value + time.lost[1])) +
           ", by what was lost " + losses_text(time.gpu);
  }
  /// What the runs lost of the times of the host, or of the GPU, and what to do.
  std::string losses_text(bool gpu) const {
    std::string text;
    for (bool const after : {false, true}) {
      run_losses const* most = nullptr;
      auto const lost = [gpu](run_losses const& losses) {
        return gpu ? losses.device_work + losses.device_times : losses.calls;
      };
      for (std::size_t r = 0; r < runs(); ++r)
        if (is_later(r) == after && lost(run(r).losses) > (most == nullptr ? 0 : lost(*most)))
          most = &run(r).losses;
      if (most == nullptr) continue;
      add_part(text, (after ? "after: " : "before: ") + (gpu ? most->device_text : most->host_text),
               "; ");
    }
    return "(" + text + "): record fewer steps, or with larger buffers= and log=";
  }

  void note_differences(comparability& circumstances) {
    result_.notes = std::move(circumstances.notes);
    if (!runs_known() && std::abs(std::log1p(result_.common)) > limit())
      result_.notes.push_back("In the mean of their factors the ranges take " +
                              fixed_string(1 + result_.common, 3) +
                              " times as long, so that only what no clock explains is judged.");
    if (options_.anyway)
      for (std::string const& obstacle : circumstances.obstacles)
        result_.notes.push_back("Compared all the same: " + obstacle + ".");
    if (!result_.only_before.empty() || !result_.only_after.empty())
      result_.notes.push_back(sentence("Ranges that only one side has: ")
                              << result_.only_before.size() << " before, "
                              << result_.only_after.size() << " after.");
    note_losses();
  }

  /// Of each side the run that lost most of its times, and what is left out since it is no range.
  void note_losses() {
    for (bool const after : {false, true}) {
      run_losses const* most = nullptr;
      std::string stand_in;
      for (std::size_t r = 0; r < runs(); ++r) {
        if (is_later(r) != after) continue;
        run_losses const& losses = run(r).losses;
        if (losses.any() && (most == nullptr || losses.all() > most->all())) most = &losses;
        if (!run(r).stand_ins.empty()) stand_in = run(r).stand_ins[0];
      }
      char const* const side = after ? " after" : " before";
      if (most != nullptr)
        result_.notes.push_back(sentence("Lost in a run") << side << ": " << most->text() << ".");
      if (!stand_in.empty())
        result_.notes.push_back(sentence("A run")
                                << side << " has ranges without a row of their own: " << stand_in
                                << " stands for many, and is not compared.");
    }
  }

  void decide(comparability& circumstances) {
    using verdict = comparison_verdict;
    note_differences(circumstances);
    std::size_t slower = 0;
    std::size_t unsure = 0;
    judged_time const* const slowest = worst(range_verdict::slower, slower);
    judged_time const* const noisiest = worst(range_verdict::unsure, unsure);
    double const hidden = student_quantile(0.05, step_freedom_) * step_.deviation();
    std::string const looks = "the step looks " + slower_text(step_.value);
    bool const comparable =
        !result_.ranges.empty() && (circumstances.obstacles.empty() || options_.anyway);
    write_headline(comparable, hidden);
    result_.verdict = verdict::inconclusive;
    if (result_.ranges.empty()) {
      result_.reason = "the profiles have no range in common";
    } else if (!comparable) {
      result_.reason = circumstances.obstacles[0];
    } else if (step_slower_ || slower > 0) {
      result_.verdict = verdict::regression;
      if (step_slower_) result_.reason = "the step is " + slower_text(step_.value);
      if (step_slower_ && slower > 0) result_.reason += "; ";
      if (slower > 0)
        result_.reason += named(*slowest) + " is " + slower_text(slowest->change.value) +
                          ", beyond the limit and noise";
      if (slower > 1) result_.reason += sentence(", as are ") << slower - 1 << " more times";
    } else if (too_few_) {
      result_.reason = "a run has fewer than 2 steps, so record more (STRATA_STEP() in the loop)";
    } else if (step_.value > step_limit_ && few_ && !result_.runs_known) {
      result_.steps_to_decide = usual_steps;
      result_.reason = looks + ", which " + doubt_of_step() + ": " + advice();
    } else if (step_.value > step_limit_ && !result_.runs_known) {
      result_.runs_to_decide = 3;
      result_.reason = looks + " and its ranges " + changed_text(result_.common) +
                       " on average, as other clocks or other work make them, so record 3 runs of "
                       "each side";
    } else if (step_.value > step_limit_) {
      advise(step_.value, step_alarms);
      result_.reason = looks + ", but its noise is " + percent(result_.noise) + ": " + advice();
    } else if (step_.value + hidden > step_limit_) {
      advise(step_limit_ - larger(step_.value, 0.0), 0.05);
      result_.reason =
          "the step's noise of " + percent(result_.noise) + " can hide the limit: " + advice();
    } else if (!unseen_.empty()) {
      result_.reason = unseen_;
    } else if (least_known() != nullptr) {
      result_.reason = undecided_text(*least_known());
    } else if (unsure > 0) {
      result_.steps_to_decide = noisiest->steps_to_decide;
      if (result_.steps_to_decide == 0)
        result_.runs_to_decide = larger(before_.size(), after_.size()) + 2;
      result_.reason = named(*noisiest) + " looks " + percent(std::expm1(noisiest->change.value)) +
                       " slower, but its noise is " + percent(noisiest->noise) + ": " + advice();
    } else if (std::log1p(result_.common) > limit() && !both_known()) {
      result_.runs_to_decide = 3;
      result_.reason = "the step is within the limit, but its ranges are " +
                       percent(result_.common) +
                       " slower on average, as other clocks or a change of them all make them, so "
                       "record 3 runs of "
                       "each side";
    } else {
      result_.verdict = verdict::no_regression;
      result_.reason = step_.value + hidden < -step_limit_
                           ? "the step is " + changed_text(result_.change)
                           : "the steps are within the limit";
    }
  }

  /// Whatever was decided, what was lost is said.
  void say_undecided() {
    judged_time const* const time = least_known();
    if (time == nullptr) return;
    std::string const text = undecided_text(*time);
    if (result_.reason.find(text) == std::string::npos) result_.reason += "; " + text;
  }

  void finish() {
    vec<std::string> slower;
    for (judged_time const& time : times_) {
      compared_range& range = *time.result;
      bool const shown = time.verdict == range.verdict && time.gpu == range.gpu;
      if (time.verdict > range.verdict || shown) {
        range.verdict = time.verdict;
        range.judged_gpu = time.gpu;
        range.judged_trimmed = time.trimmed;
        range.judged_before_ms = time.before_ms;
        range.judged_after_ms = time.after_ms;
        range.change = std::expm1(time.change.value);
        range.noise = time.noise;
        range.lost_before = std::expm1(time.lost[0]);
        range.lost_after = std::expm1(time.lost[1]);
        range.lost = range.lost || time.undecided;
        range.steps_to_decide = time.steps_to_decide;
      }
      if (time.verdict == range_verdict::slower) slower.push_back(with_folded_indices(range.path));
    }
    slower.sort();
    double logarithms = 0;
    double counted = 0;
    for (compared_range& range : result_.ranges) {
      std::size_t const index =
          slower.count_first([&](std::string const& path) { return path < range.path; });
      range.slower = index < slower.size() && slower[index] == range.path;
      bool const judged = range.verdict != range_verdict::unjudged;
      if (!judged && !(range.before_ms > 0 && range.after_ms > 0)) continue;
      logarithms += judged ? std::log1p(range.change) : std::log(range.after_ms / range.before_ms);
      counted += 1;
    }
    for (compared_range& range : result_.indexed)
      range.slower = range.verdict == range_verdict::slower;
    if (counted > 0) result_.geometric_mean = std::exp(logarithms / counted);
    for (accepted_regression const& regression : options_.accepted) report(regression);
    for (vec<compared_range>* const list : {&result_.ranges, &result_.indexed})
      list->sort([](compared_range const& a, compared_range const& b) {
        return std::abs(a.change_ms()) > std::abs(b.change_ms());
      });
  }

  /// What can make a step look slower than the limit.
  std::string doubt_of_step() const {
    if (result_.runs_known) return "its noise can do";
    if (few_) return "a run of " + steps_a_run_text() + " can be by chance";
    return cpu_ > 0 ? "less of a CPU can do" : "other clocks can do";
  }
  /// The headline says no more of the step than the verdict does.
  void write_headline(bool comparable, double hidden) {
    if (result_.before_steps == 0 || result_.after_steps == 0) return;
    std::string const times = time_text(result_.before_ms * 1e6) + " before and " +
                              time_text(result_.after_ms * 1e6) + " after (medians)";
    if (!comparable || too_few_) {
      result_.headline = "a step takes " + times;
      return;
    }
    bool const decided = step_slower_ || step_.value + hidden <= step_limit_;
    std::string const change = changed_text(result_.change);
    result_.headline = (decided ? "the step is " : "the step looks ") + change + ", " + times;
    if (decided && change == unchanged_text) result_.headline = "no change: " + times;
    if (!decided && step_.value > step_limit_)
      result_.headline += ", which " + doubt_of_step();
    else if (change != unchanged_text && is_noise(result_.change, result_.noise))
      result_.headline += ", which its noise can do";
  }

  void report(accepted_regression const& accepted) {
    bool const step = accepted.column == "step";
    double largest = step && !too_few_ ? step_.value : -1e9;
    for (judged_time const& time : times_)
      if (is_for(accepted, time.result->path, time.gpu ? "gpu" : "host"))
        largest = larger(largest, time.change.value);
    std::string said = step ? "The step" : accepted.path + " (" + accepted.column + ")";
    if (largest < -1e8) {
      said += " is accepted to be slower but was not judged: correct or remove its line.";
    } else if (largest <= limit()) {
      said += " is accepted to be slower but is not any more (" + percent(std::expm1(largest)) +
              "): remove its line.";
    } else {
      said += " is " + percent(std::expm1(largest)) + " slower, of which up to " +
              percent(accepted.limit) + " is accepted: " + accepted.reason + ".";
    }
    result_.notes.push_back(std::move(said));
  }

  compare_options const& options_;
  comparison result_;
  vec<run_ranges> before_;
  vec<run_ranges> after_;
  vec<judged_time> times_;
  time_family families_[2];
  estimate step_;
  double step_within_ = 0;
  double step_limit_ = 0;
  double steps_a_run_ = 1;
  double clocks_ = 0;          // what other clocks of the same devices explain, as a logarithm
  double cpu_ = 0;             // what less of a CPU explains on the host, as a logarithm
  double step_freedom_ = 1e9;  // of its variance
  double pooled_freedom_ = 0;
  double separation_ = 0;  // of the shortest step after and the longest before, as a logarithm
  std::string unseen_;     // of a range nearly all of whose times a run lost
  bool few_ = false;       // steps: their noise is taken to be wider
  bool too_few_ = false;   // to tell anything
  bool traced_ = true;
  bool step_slower_ = false;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_ANALYSE_COMPARER_HPP
