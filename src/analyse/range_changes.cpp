#include "range_changes.hpp"

#include <strata/base/macros.hpp>
#include <strata/base/text.hpp>
#include "change_statistics.hpp"
#include "compare_context.hpp"
#include "comparison.hpp"
#include "range_paths.hpp"
#include "range_rows.hpp"
#include "run_losses.hpp"
#include "run_ranges.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

STRATA_BEGIN
namespace detail {
namespace {

step_time const& time_of(run_range const& range, bool gpu) { return gpu ? range.gpu : range.host; }

}  // namespace

range_changes::range_changes(compare_context const& context, comparison& result, double steps_a_run)
    : context_(context),
      runs_(context.runs),
      result_(result),
      steps_a_run_(steps_a_run),
      traced_(all_traced(context.runs)) {
  std::vector<run_range const*> found;
  for (std::vector<compared_range>* const list : {&result_.ranges, &result_.indexed})
    for (compared_range& range : *list) {
      collect(runs_, range.path, found);
      // Where steps only launch, a wait moves between the host and the GPU and costs nothing.
      bool const is_in_step = !range.once && range.thread.empty();
      if (!runs_.of_gpu || !is_in_step) add_time(range, found, false);
      if (traced_) add_time(range, found, true);
    }
}

void range_changes::judge(bool few, bool too_few) {
  few_ = few;
  too_few_ = too_few;
  for (bool const gpu : {false, true}) find_own_changes(gpu);
  for (bool const gpu : {false, true}) judge_family(gpu);
}

/// By how much the time of a range may exceed the recorded one, as a logarithm: the calls or
/// kernels that a run lost, and that others have in a step, are as long as those that are there.
double range_changes::hidden_by_losses(std::size_t r, run_range const& range, bool gpu,
                                       double most) const {
  step_time const& time = time_of(range, gpu);
  run_losses const& losses = runs_.losses(r);
  double const fewer = std::max(0.0, most * runs_.run(r).steps_of(range) - time.counted);
  double const without_time = gpu ? std::min(losses.device_times, time.may_lack) : 0;
  double const missing = std::min(gpu ? losses.device_work : losses.calls, fewer);
  double const seen = time.counted - without_time;
  constexpr double all = 100;  // e^100: more than `most_lost`
  if (!(seen > 0) || !(time.mean.ms > 0)) return without_time + missing > 0 ? all : 0;
  double const part = time.may_lack > 0 ? without_time / time.may_lack : 0;
  double const as_others = (part * time.all_lack + missing) / seen;
  return std::log1p(part * time.lack_ms / time.mean.ms + as_others);
}
double range_changes::most_calls(std::vector<run_range const*> const& found, bool gpu) const {
  double most = 0;
  for (std::size_t r = 0; r < runs_.size(); ++r)
    most = std::max(most, time_of(*found[r], gpu).counted / runs_.run(r).steps_of(*found[r]));
  return most;
}

void range_changes::add_time(compared_range& range, std::vector<run_range const*> const& found,
                             bool gpu) {
  judged_time time;
  double means[2] = {};
  double typical[2] = {};
  double const most = most_calls(found, gpu);
  // What is interrupted in one run is trimmed in all: both sides are the same statistic.
  for (run_range const* const range_of_run : found)
    time.trimmed = time.trimmed ||
                   time_of(*range_of_run, gpu).is_interrupted(assumed_noise * context_.limit());
  for (std::size_t r = 0; r < runs_.size(); ++r) {
    step_time const& time_of_run = time_of(*found[r], gpu);
    call_mean const& mean = time.trimmed ? time_of_run.trimmed : time_of_run.mean;
    if (time_of_run.counted > 0 && is_unknown(hidden_by_losses(r, *found[r], gpu, most)))
      note_unseen(range, found, gpu);
    if (!(mean.ms > 0) || time_of_run.calls < static_cast<double>(min_steps)) return;
    time.lost[runs_.is_later(r)] += hidden_by_losses(r, *found[r], gpu, most) * runs_.weight(r);
    time.logarithms.push_back(std::log(mean.ms));
    time.within += mean.variance / (mean.ms * mean.ms) * runs_.weight(r) * runs_.weight(r);
    means[runs_.is_later(r)] += time.logarithms.back() * runs_.weight(r);
    typical[runs_.is_later(r)] += time_of_run.typical_ms * runs_.weight(r);
  }
  double const step = std::max(result_.before_ms, result_.after_ms);
  double const whole = range.once ? step * steps_a_run_ : step;
  double const share = whole > 0 ? std::exp(std::max(means[0], means[1])) / whole : 1;
  range.share = std::max(range.share, share);
  if (share < context_.options.least_share * judged_part) return;
  time.result = &range;
  time.gpu = gpu;
  // What is not known says nothing of the others.
  bool const is_whole = time.lost[0] + time.lost[1] <= assumed_noise * context_.limit();
  time.basis = is_whole && !runs_.before[0].is_sum(*found[0]);
  time.before_ms = std::exp(means[0]);
  time.after_ms = std::exp(means[1]);
  time.change = {means[1] - means[0], time.within};
  bool const known = typical[0] > 0 && typical[1] > 0;
  time.typical = known ? std::log(typical[1] / typical[0]) : time.change.value;
  time.limit = context_.limit_of(range.path, gpu ? "gpu" : "host");
  times.push_back(std::move(time));
}

/// All times of a range were lost in one run: where it has much of a step in another, nothing can
/// be estimated.
void range_changes::note_unseen(compared_range& range, std::vector<run_range const*> const& found,
                                bool gpu) {
  double longest = 0;
  for (std::size_t r = 0; r < runs_.size(); ++r)
    longest = std::max(longest, time_of(*found[r], gpu).mean.ms);
  double const step = std::max(result_.before_ms, result_.after_ms);
  if (step > 0 && longest / step < context_.options.least_share) return;
  range.lost = true;
  unseen = unknown_text(runs_, range.path, gpu);
}

/// The distance of a run from the mean of its side.
double range_changes::away(judged_time const& time, std::size_t r) const {
  double sum = 0;
  for (std::size_t i = 0; i < runs_.size(); ++i)
    if (runs_.is_later(i) == runs_.is_later(r)) sum += time.logarithms[i];
  return time.logarithms[r] - sum * runs_.weight(r);
}
/// Of several runs: how each range moves between them, all in all and beyond what all have in
/// common.
void range_changes::add_noise_between_runs(bool gpu) {
  if (runs_.size() < 3) return;
  std::vector<double> shifts;
  for (std::size_t r = 0; r < runs_.size(); ++r) {
    std::vector<double> moved;
    for (judged_time const& time : times)
      if (time.gpu == gpu && time.basis) moved.push_back(away(time, r));
    shifts.push_back(median(std::move(moved)));
  }
  std::vector<double> beside;
  std::vector<double> basis;
  for (judged_time& time : times) {
    if (time.gpu != gpu) continue;
    double sum = 0;
    double whole = 0;
    for (std::size_t r = 0; r < runs_.size(); ++r) {
      double const all = away(time, r);
      double const moved = all - shifts[r];
      sum += moved * moved;
      whole += all * all;
    }
    double const scale = runs_.variance_of_difference() / static_cast<double>(runs_.size() - 2);
    time.of_runs = std::max(time.within, whole * scale);
    beside.push_back(sum * scale);
    if (time.basis) basis.push_back(beside.back());
  }
  // Few runs make some of many ranges look quiet by chance: none is quieter than most are.
  double const usual = median(std::move(basis));
  std::size_t i = 0;
  for (judged_time& time : times)
    if (time.gpu == gpu)
      time.change.variance = std::max(time.change.variance, std::max(beside[i++], usual));
}

/// What ranges have in common is shown by their own times: a slow range would count once more in
/// each that holds it. One that is hardly more than those in it shows nothing by itself.
void range_changes::find_own_changes(bool gpu) {
  constexpr double least = 0.1;  // of its time; chosen
  std::vector<judged_time*> order;
  for (judged_time& time : times)
    if (time.gpu == gpu && time.basis) order.push_back(&time);
  auto const key = [](judged_time const* time) { return time->result->path + '/'; };
  std::stable_sort(order.begin(), order.end(),
                   [&](auto const* a, auto const* b) { return key(a) < key(b); });
  std::vector<judged_time*> open;  // those that hold the next one
  for (judged_time* const time : order) {
    for (double const logarithm : time->logarithms) time->own_ms.push_back(std::exp(logarithm));
    while (!open.empty() && !is_within(time->result->path, open.back()->result->path))
      open.pop_back();
    for (std::size_t r = 0; r < runs_.size() && !open.empty(); ++r)
      open.back()->own_ms[r] -= std::exp(time->logarithms[r]);
    open.push_back(time);
  }
  for (judged_time* const time : order) {
    time->own = 0;
    for (std::size_t r = 0; r < runs_.size(); ++r) {
      double const part = time->own_ms[r] / std::exp(time->logarithms[r]);
      time->basis = time->basis && part >= least;
      if (!time->basis) break;
      time->own_part = std::min(time->own_part, part);
      time->own +=
          std::log(time->own_ms[r]) * (runs_.is_later(r) ? runs_.weight(r) : -runs_.weight(r));
    }
  }
}

void range_changes::judge_family(bool gpu) {
  add_noise_between_runs(gpu);
  std::vector<estimate> changes;
  for (judged_time const& time : times)
    if (time.gpu == gpu && time.basis)
      changes.push_back({time.own, time.change.variance / (time.own_part * time.own_part)});
  time_family& family = families[gpu];
  family.basis = changes.size();
  family.common = change_in_common(changes);
  double const tests = static_cast<double>(times.size() + 1) * (runs_.both_known() ? 2 : 1);
  auto const needed = [&](std::size_t freedom) {
    return student_quantile(range_alarms / tests, static_cast<double>(freedom));
  };
  double const beside = changes.size() < 2 ? 1e9 : needed(changes.size() - 1);
  double const alone = runs_.both_known() ? needed(runs_.size() - 2) : 1e9;
  for (judged_time& time : times) {
    if (time.gpu != gpu) continue;
    ++result_.judged_times;
    if (judge_all(time, changes.size() < 2 ? common_change() : family.common, beside, alone) >
        2 * context_.limit())
      ++result_.noisy_times;
  }
}

/// A verdict that losses cannot turn: it holds at the least change that they leave, and at the
/// most.
double range_changes::judge_all(judged_time& time, common_change const& common, double beside_needs,
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
  double const share = time.result->share * std::exp(std::max(time.lost[0], time.lost[1]));
  time.undecided = share >= context_.options.least_share;
  time.verdict = time.undecided ? range_verdict::unsure : range_verdict::within;
  time.steps_to_decide = 0;
  return least;
}

/// A change is found relative to what all ranges have in common, which needs that many deviations;
/// with several runs also alone, compared with how it differs between them.
/// Returns: the least change that noise would not hide, as a logarithm.
double range_changes::judge(judged_time& time, double change, common_change const& common,
                            double beside_needs, double alone_needs) const {
  double const beside = change - common.value;
  double const limit = context_.limit();
  double const assumed = runs_.known() ? 0 : assumed_noise * limit;
  double const between = std::max(common.between, assumed * assumed);
  double const variance = time.change.variance + between + common.variance;
  double const hidden = beside_needs * std::sqrt(variance);
  double const hidden_alone = alone_needs * std::sqrt(time.of_runs);
  bool const alone = runs_.both_known() && (change > limit ? change * hidden > beside * hidden_alone
                                                           : hidden_alone < hidden);
  double const effect = alone ? change : beside;
  double const needed = alone ? alone_needs : beside_needs;
  double const noise = alone ? time.of_runs : variance;
  time.noise = time.doubt = std::sqrt(noise);
  time.verdict = range_verdict::within;
  double const least = runs_.both_known() ? std::min(hidden, hidden_alone) : hidden;
  // Two runs that differ in everything were not taken under the same conditions, or of the same
  // code: how their ranges differ from each other is no noise.
  bool const alike = runs_.known() || std::abs(common.value) <= limit;
  if (!alike) time.noise = std::sqrt(std::max(time.within, time.of_runs));
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
  } else if (beyond && (!few_ || runs_.both_known()) && (most || time.gpu || runs_.both_known())) {
    time.verdict = range_verdict::slower;
  } else if ((beyond || most) && time.result->share >= context_.options.least_share) {
    time.verdict = range_verdict::unsure;
    double const bearable = effect * effect / (needed * needed) - (noise - time.within);
    double const steps = bearable > 0 ? steps_a_run_ * time.within / bearable : 1e9;
    if (steps < 1e5) time.steps_to_decide = static_cast<std::size_t>(std::ceil(steps)) + 1;
    if (few_) time.steps_to_decide = std::max(time.steps_to_decide, usual_steps);
  }
  return alike ? least : 0;
}
/// Whether neither clocks nor the calls' noise make such a change: on the host in the median call
/// too. A single step may be the one that pays for what others find done.
bool range_changes::is_beyond_clocks(judged_time const& time, double change) const {
  constexpr double deviations = 6;  // one of 10^9; chosen
  double const most = std::log(max_by_clocks) + (time.gpu ? 0 : context_.cpu);
  double const noise = std::sqrt(std::max(time.within, time.of_runs));
  bool const has_few = too_few_ && result_.before_steps + result_.after_steps > 0;
  return change - deviations * noise > most && (time.gpu || time.typical > most) && !has_few;
}

bool is_unknown(double lost) { return lost > std::log1p(most_lost); }

std::string named(std::string const& path, bool gpu) { return path + (gpu ? " (GPU)" : " (host)"); }

std::string unknown_text(compared_runs const& runs, std::string const& path, bool gpu) {
  return named(path, gpu) + " lost nearly all its times in a run " + losses_text(runs, gpu);
}

std::string losses_text(compared_runs const& runs, bool gpu) {
  std::string text;
  for (bool const after : {false, true}) {
    run_losses const* most = nullptr;
    auto const lost = [gpu](run_losses const& losses) {
      return gpu ? losses.device_work + losses.device_times : losses.calls;
    };
    for (std::size_t r = 0; r < runs.size(); ++r)
      if (runs.is_later(r) == after && lost(runs.losses(r)) > (most == nullptr ? 0 : lost(*most)))
        most = &runs.losses(r);
    if (most == nullptr) continue;
    add_part(text, (after ? "after: " : "before: ") + (gpu ? most->device_text : most->host_text),
             "; ");
  }
  return "(" + text + "): record fewer steps, or with larger buffers= and log=";
}

}  // namespace detail
STRATA_END
