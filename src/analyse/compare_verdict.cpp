#include "compare_verdict.hpp"

#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/text.hpp>
#include "comparability.hpp"
#include "compare_context.hpp"
#include "comparison.hpp"
#include "period_change.hpp"
#include "range_changes.hpp"
#include "range_paths.hpp"
#include "run_losses.hpp"
#include "step_comparison.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

STRATA_BEGIN
namespace detail {
namespace {

std::string named_time(judged_time const& time) { return named(time.result->path, time.gpu); }

/// "; launch-bound before, GPU-bound (HBM) after"; empty where that is not known of both.
std::string bounds_text(period_change const& period) {
  if (period.before_bound.empty() || period.after_bound.empty()) return {};
  if (period.before_bound == period.after_bound)
    return "; " + period.before_bound + " before and after";
  return "; " + period.before_bound + " before, " + period.after_bound + " after";
}

/// Says what was found.
class verdict_writer {
 public:
  verdict_writer(compare_context const& context, step_comparison& step, range_changes const& ranges,
                 comparison& result)
      : context_(context), runs_(context.runs), step_(step), ranges_(ranges), result_(result) {}

  void write(comparability& circumstances) {
    decide(circumstances);
    say_undecided();
    finish();
  }

 private:
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
    for (judged_time const& time : ranges_.times) {
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
    for (judged_time const& time : ranges_.times)
      if (time.undecided && (found == nullptr || cost(time) > cost(*found))) found = &time;
    return found;
  }
  /// "mlp (GPU) is between 30.0 % shorter and 40.0 % longer, by what was lost (after: 480 ...".
  std::string undecided_text(judged_time const& time) const {
    std::string const all = named_time(time);
    if (is_unknown(std::max(time.lost[0], time.lost[1])))
      return unknown_text(runs_, time.result->path, time.gpu);
    return all + " is between " + changed_text(std::expm1(time.change.value - time.lost[0])) +
           " and " + changed_text(std::expm1(time.change.value + time.lost[1])) +
           ", by what was lost " + losses_text(runs_, time.gpu);
  }
  void note_differences(comparability& circumstances) {
    result_.notes = std::move(circumstances.notes);
    double const common = std::abs(std::log1p(result_.common));
    if (!runs_.known() && common > context_.limit())
      result_.notes.push_back("The median range takes " + fixed_string(1 + result_.common, 3) +
                              " times as long" +
                              (common > std::log(max_by_clocks)
                                   ? ": other clocks cannot change it by so much."
                                   : ", as other clocks can make it: a range counts as slower only "
                                     "where clocks do not explain it."));
    note_recorded_steps();
    if (context_.options.anyway)
      for (std::string const& obstacle : circumstances.obstacles)
        result_.notes.push_back("Compared all the same: " + obstacle + ".");
    if (!result_.only_before.empty() || !result_.only_after.empty())
      result_.notes.push_back(sentence("Ranges that only one side has: ")
                              << result_.only_before.size() << " before, "
                              << result_.only_after.size() << " after.");
    note_losses();
  }

  /// What is compared are recorded steps, also where they are longer than others.
  void note_recorded_steps() {
    std::string unrecorded;
    for (bool const after : {false, true}) {
      std::vector<double> steps;
      for (std::size_t r = 0; r < runs_.size(); ++r)
        if (double const ns = runs_.run(r).tables().period.unrecorded_ns;
            runs_.is_later(r) == after && ns > 0.0)
          steps.push_back(ns);
      if (steps.empty()) continue;
      unrecorded += (unrecorded.empty() ? "" : " and ") + time_text(median(steps)) +
                    (after ? " after" : " before");
    }
    if (!unrecorded.empty())
      result_.notes.push_back(
          "The comparison is of recorded steps, which recording makes longer: unrecorded ones "
          "take " +
          unrecorded + ".");
  }

  /// Of each side the run that lost most of its times, and what is left out since it is no range.
  void note_losses() {
    for (bool const after : {false, true}) {
      run_losses const* most = nullptr;
      std::string stand_in;
      for (std::size_t r = 0; r < runs_.size(); ++r) {
        if (runs_.is_later(r) != after) continue;
        run_losses const& losses = runs_.losses(r);
        if (losses.any() && (most == nullptr || losses.all() > most->all())) most = &losses;
        if (!runs_.run(r).stand_ins.empty()) stand_in = runs_.run(r).stand_ins[0];
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
    double const hidden = step_.hidden();
    std::string const looks = "the step looks " + slower_text(step_.value.value);
    bool const comparable =
        !result_.ranges.empty() && (circumstances.obstacles.empty() || context_.options.anyway);
    result_.comparable = comparable && !step_.too_few;
    if (comparable) result_.period = change_of_period(context_);
    write_headline(hidden);
    result_.verdict = verdict::inconclusive;
    if (result_.ranges.empty()) {
      result_.reason = "the profiles have no range in common";
    } else if (!comparable) {
      result_.reason = circumstances.obstacles[0];
    } else if (step_.slower || slower > 0) {
      result_.verdict = verdict::regression;
      if (step_.slower) result_.reason = "the step is " + slower_text(step_.value.value);
      if (step_.slower && slower > 0) result_.reason += "; ";
      if (slower > 0)
        result_.reason += named_time(*slowest) + " is " + slower_text(slowest->change.value) +
                          ", beyond the limit and noise";
      if (slower > 1) result_.reason += sentence(", as are ") << slower - 1 << " more times";
    } else if (step_.too_few) {
      result_.reason = "a run has fewer than 2 steps, so record more (STRATA_STEP() in the loop)";
    } else if (step_.value.value > step_.limit && step_.few && !result_.runs_known) {
      result_.steps_to_decide = usual_steps;
      result_.reason = looks + ", which " + doubt_of_step() + ": " + advice();
    } else if (step_.value.value > step_.limit && !result_.runs_known) {
      result_.runs_to_decide = 3;
      result_.reason = looks + " and its median range " + changed_text(result_.common) +
                       ", as other clocks or other work make them, so record 3 runs of each side";
    } else if (step_.value.value > step_.limit) {
      step_.advise(step_.value.value, step_alarms);
      result_.reason = looks + ", but its noise is " + percent(result_.noise) + ": " + advice();
    } else if (step_.value.value + hidden > step_.limit) {
      step_.advise(step_.limit - std::max(step_.value.value, 0.0), 0.05);
      result_.reason =
          "the step's noise of " + percent(result_.noise) + " can hide the limit: " + advice();
    } else if (!ranges_.unseen.empty()) {
      result_.reason = ranges_.unseen;
    } else if (least_known() != nullptr) {
      result_.reason = undecided_text(*least_known());
    } else if (unsure > 0) {
      result_.steps_to_decide = noisiest->steps_to_decide;
      if (result_.steps_to_decide == 0)
        result_.runs_to_decide = std::max(runs_.before.size(), runs_.after.size()) + 2;
      result_.reason = named_time(*noisiest) + " looks " +
                       percent(std::expm1(noisiest->change.value)) +
                       " slower, but noise relative to the other ranges is " +
                       percent(noisiest->doubt) + ": " + advice();
    } else if (std::log1p(result_.common) > context_.limit() && !runs_.both_known()) {
      result_.runs_to_decide = 3;
      result_.reason = "the step is within the limit, but its median range is " +
                       percent(result_.common) +
                       " slower, as other clocks or a change of all ranges make it, so record 3 "
                       "runs of each side";
    } else {
      result_.verdict = verdict::no_regression;
      result_.reason = step_.value.value + hidden < -step_.limit
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
    std::vector<std::string> slower;
    for (judged_time const& time : ranges_.times) {
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
    std::sort(slower.begin(), slower.end());
    take_noise_of_rows();
    double logarithms = 0;
    double counted = 0;
    for (compared_range& range : result_.ranges) {
      range.slower = std::binary_search(slower.begin(), slower.end(), range.path);
      bool const judged = range.verdict != range_verdict::unjudged;
      if (!judged && !(range.before_ms > 0 && range.after_ms > 0)) continue;
      logarithms += judged ? std::log1p(range.change) : std::log(range.after_ms / range.before_ms);
      counted += 1;
    }
    for (compared_range& range : result_.indexed)
      range.slower = range.verdict == range_verdict::slower;
    if (counted > 0) result_.geometric_mean = std::exp(logarithms / counted);
    for (accepted_regression const& regression : context_.options.accepted) report(regression);
    for (std::vector<compared_range>* const list : {&result_.ranges, &result_.indexed})
      std::stable_sort(list->begin(), list->end(),
                       [](compared_range const& a, compared_range const& b) {
                         return std::abs(a.change_ms()) > std::abs(b.change_ms());
                       });
  }

  /// A range whose time is that of a row of the period has the noise of the row.
  void take_noise_of_rows() {
    constexpr double rounding = 1e-3;  // of the digits that are printed
    auto const alike = [](double a, double b) { return std::abs(a - b) <= rounding * b; };
    std::unordered_map<std::string_view, period_row const*> rows;
    for (period_row const& row : result_.period.rows)
      if (row.kind == period_kind::range && is_finite(row.noise)) rows.emplace(row.name, &row);
    for (compared_range& range : result_.ranges) {
      auto const row = rows.find(range.path);
      bool const is_of_kernels =
          range.verdict != range_verdict::unjudged && range.judged_gpu && !range.judged_trimmed;
      if (is_of_kernels && row != rows.end() &&
          alike(range.judged_before_ms, row->second->before_ms) &&
          alike(range.judged_after_ms, row->second->after_ms))
        range.noise = row->second->noise;
    }
  }

  /// What can make a step look slower than the limit.
  std::string doubt_of_step() const {
    if (result_.runs_known) return "its noise can do";
    if (step_.few) return "a run of " + step_.steps_a_run_text() + " can be by chance";
    return context_.cpu > 0 ? "less of a CPU can do" : "other clocks can do";
  }
  /// The headline says no more of the step than the verdict does.
  void write_headline(double hidden) {
    if (result_.before_steps == 0 || result_.after_steps == 0) return;
    std::string const times = time_text(result_.before_ms * 1e6) + on_gpu(result_.before_of_gpu) +
                              " before and " + time_text(result_.after_ms * 1e6) +
                              on_gpu(result_.after_of_gpu) + " after (medians)";
    if (!result_.comparable) {
      result_.headline = "a step takes " + times;
      return;
    }
    bool const decided = step_.slower || step_.value.value + hidden <= step_.limit;
    std::string const change = changed_text(result_.change);
    result_.headline = (decided ? "the step is " : "the step looks ") + change + ", " + times;
    if (decided && change == unchanged_text) result_.headline = "no change: " + times;
    if (!decided && step_.value.value > step_.limit)
      result_.headline += ", which " + doubt_of_step();
    else if (change != unchanged_text && is_noise(result_.change, result_.noise))
      result_.headline += ", which its noise can do";
    result_.headline += bounds_text(result_.period);
  }

  void report(accepted_regression const& accepted) {
    bool const step = accepted.column == "step";
    double largest = step && !step_.too_few ? step_.value.value : -1e9;
    for (judged_time const& time : ranges_.times)
      if (is_for(accepted, time.result->path, time.gpu ? "gpu" : "host"))
        largest = std::max(largest, time.change.value);
    std::string said = step ? "The step" : accepted.path + " (" + accepted.column + ")";
    if (largest < -1e8) {
      said += " is accepted to be slower but was not judged: correct or remove its line.";
    } else if (largest <= context_.limit()) {
      said += " is accepted to be slower but is not any more (" + percent(std::expm1(largest)) +
              "): remove its line.";
    } else {
      said += " is " + percent(std::expm1(largest)) + " slower, of which up to " +
              percent(accepted.limit) + " is accepted: " + accepted.reason + ".";
    }
    result_.notes.push_back(std::move(said));
  }

  compare_context const& context_;
  compared_runs const& runs_;
  step_comparison& step_;
  range_changes const& ranges_;
  comparison& result_;
};

}  // namespace

void write_verdict(compare_context const& context, step_comparison& step,
                   range_changes const& ranges, comparability& circumstances, comparison& result) {
  verdict_writer(context, step, ranges, result).write(circumstances);
}

}  // namespace detail
STRATA_END
