#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_COMPARISON_HPP
#define STRATA_ANALYSE_COMPARISON_HPP

#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/profile/range_paths.hpp>
#include "run_period.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

STRATA_BEGIN

/// A slowdown that is known and not to be reported again.
struct accepted_regression {
  std::string path;  ///< `forward/block[3]`, or `forward/block[*]` for all of them; of a step empty
  std::string column;  ///< `step`, `host` or `gpu`
  double limit;        ///< how much slower it may be: 0.1 is 10 %
  std::string reason;
};

/// What `compare` is asked for. Shares are fractions: 0.05 is 5 %.
struct compare_options {
  double limit = 0.05;        ///< how much slower a step or a range may be
  double least_share = 0.02;  ///< of a step; what has less cannot make the result inconclusive
  double run_noise = 0;       ///< standard deviation of a step's time between runs; 0: not known
  bool anyway = false;        ///< judge also runs of other machines, settings or work
  std::vector<accepted_regression> accepted;
};

/// A number that all profiles have of a range: the mean over the runs of a side. Amounts are
/// those of a step: the mean of all recorded steps, including the first. Without steps they are
/// those of the whole run. Counted amounts are those of the steps that counted them.
struct compared_column {
  std::string name;
  std::string unit;  ///< `ns`, `B` or what a counter has, such as `sectors`; of a number empty
  double before;
  double after;

  /// 0 where there was nothing before.
  double factor() const noexcept { return before > 0 ? after / before : 0; }
};

namespace detail {
/// A time of which more than so many times what is seen may be lost is not known.
inline constexpr double most_lost = 1000;

/// What is said behind a time of steps.
constexpr char const* on_gpu(bool of_gpu) noexcept { return of_gpu ? " on the GPU" : ""; }

/// Whether noise makes such a change, which is a fraction: its 95 % interval has 0.
inline bool is_noise(double change, double noise) noexcept {
  constexpr double interval = 1.96;  // standard deviations
  return std::abs(std::log1p(change)) <= interval * noise;
}
}  // namespace detail

/// What the comparison says of a range.
enum class range_verdict {
  unjudged,  ///< it has less than a quarter of `least_share`, or fewer than 5 calls
  within,    ///< no slowdown beyond the limit is seen
  accepted,  ///< beyond the limit, within one of its own
  unsure,    ///< it looks slower than the limit, but noise does that as well, or losses hide it
  slower     ///< beyond the limit and beyond noise
};

/// A range that all profiles have; with `[*]` in its path, the sum of those with any index.
struct compared_range {
  std::string path;
  bool gpu = false;    ///< `before_ms` and `after_ms`: the GPU was busy for it; else host time
  bool once = false;   ///< in no step: its times and amounts cover the whole run
  std::string thread;  ///< the thread of its host time, if that drives no step: "thread loader"
  /// Milliseconds of a mean step, as in reports; of the whole run without steps.
  double before_ms = 0;
  double after_ms = 0;
  range_verdict verdict = range_verdict::unjudged;
  bool slower = false;  ///< it is, or with `[*]` one of its indices is
  /// Whether the judged time is that of kernels; else that of the host.
  bool judged_gpu = false;
  /// Both are means without the longest and the shortest call of each run, since one of these is
  /// far from the others in a run; else means of all calls.
  bool judged_trimmed = false;
  double judged_before_ms = 0;  ///< milliseconds a step; 0 where unjudged
  double judged_after_ms = 0;
  double change = 0;  ///< judged after / judged before - 1
  /// Standard deviation of the factor, as a fraction. Of a range with a row in the period, that of
  /// its row; else of calls, between runs, and between ranges, unless these changed together by
  /// more than the limit.
  double noise = 0;
  /// Of the judged time, what losses of the runs may hide: 1 is as much again as is seen. The
  /// verdict holds for all of it.
  double lost_before = 0;
  double lost_after = 0;
  bool lost = false;                ///< it is unsure for what was lost
  double share = 0;                 ///< of a step, the larger of both sides
  std::size_t steps_to_decide = 0;  ///< steps a run; 0: none needed, or more steps do not help
  std::vector<compared_column> columns;

  /// Milliseconds a step of the judged time; of the other if none is judged.
  double change_ms() const noexcept {
    return judged_before_ms > 0 ? judged_after_ms - judged_before_ms : after_ms - before_ms;
  }
  /// The change at the least and at the most, with what was lost.
  double least_change() const noexcept { return (1 + change) / (1 + lost_before) - 1; }
  double most_change() const noexcept { return (1 + change) * (1 + lost_after) - 1; }
  /// Whether losses leave nothing to say of the change.
  bool is_unknown() const noexcept { return std::max(lost_before, lost_after) > detail::most_lost; }
  /// Whether noise and losses make such a change where there is none.
  bool may_be_none() const noexcept {
    if (verdict == range_verdict::unjudged) return false;
    bool const is_within_losses = least_change() <= 0 && most_change() >= 0;
    return is_within_losses || detail::is_noise(least_change(), noise) ||
           detail::is_noise(most_change(), noise);
  }
};

/// A part of the mean period on both sides. Units: ms and bytes of a step.
struct period_row {
  period_kind kind = period_kind::range;
  std::string
      name;  ///< the folded path of a range, the direction of copies, the cause of idle time
  double before_ms = 0;
  double after_ms = 0;
  double noise_ms = 0;  ///< standard deviation of the change
  /// The same of the factor, as a fraction; NaN where a side has no time.
  double noise = std::numeric_limits<double>::quiet_NaN();
  bool changed = false;  ///< beyond noise, losses and other clocks
  /// Noise, losses and other clocks explain it; a row that is neither needs more steps or runs.
  bool is_noise = true;
  /// Of each side; NaN and an empty text are not known.
  double before_kernels = 0;
  double after_kernels = 0;
  double before_hbm_bytes = 0;
  double after_hbm_bytes = 0;
  std::string before_limiter;
  std::string after_limiter;

  double change_ms() const noexcept { return after_ms - before_ms; }
};

/// The change of the period, in rows that sum to it.
struct period_change {
  double before_ms = 0;  ///< the mean from the begin of a step to that of the next one
  double after_ms = 0;
  double before_first_ms = 0;  ///< a first step that is apart, and in no row; 0 without one
  double after_first_ms = 0;
  std::string before_bound;  ///< what bounds the step: "launch-bound"; empty: not known
  std::string after_bound;
  std::vector<period_row> rows;  ///< the largest change first; empty where runs cannot be compared
};

/// The name of a row in words: "(outside ranges)", "GPU idle: waiting for launches".
std::string row_label(period_row const& row);

/// A run that was compared.
struct compared_run {
  bool after = false;
  std::string command;
  std::string settings;
  std::string host;
  std::string cpu;
  std::string devices;
  std::string started_at;
  std::vector<double> steps_ms;
};

enum class comparison_verdict { no_regression, regression, inconclusive };

/// Runs of the same program before and after a change. Changes and noise are fractions: 0.05 is 5
/// %.
struct comparison {
  comparison_verdict verdict = comparison_verdict::inconclusive;
  std::string reason;    ///< why, as a part of a sentence
  std::string headline;  ///< what became of the step, as a part of a sentence; "" without steps
  std::vector<std::string>
      notes;  ///< sentences: what else makes the runs differ, what was accepted
  std::vector<compared_run> runs;  ///< those before, then those after
  std::size_t before_runs = 0;
  std::size_t after_runs = 0;
  std::size_t before_steps = 0;  ///< of all runs of a side
  std::size_t after_steps = 0;
  double before_ms = 0;  ///< milliseconds: the median step, averaged over runs
  double after_ms = 0;
  /// The steps of a run only launch: they are periods on the GPU. Where that is so of one side,
  /// those of the other are periods too.
  bool before_of_gpu = false;
  bool after_of_gpu = false;
  bool comparable = false;  ///< else no factor between the sides has a meaning
  double change = 0;        ///< of a step: after / before - 1
  double noise = 0;         ///< standard deviation of `change`
  bool runs_known = false;  ///< `noise` has that between runs: of several runs, or `run_noise`
  double resolution = 0;    ///< the least slowdown of a step that would be found in `noise`
  double chance = 1;        ///< that steps no slower would look like these (Mann-Whitney)
  double common = 0;        ///< the median change of the ranges, which machines do as well
  std::size_t steps_to_decide = 0;  ///< a run, where inconclusive; 0: more steps do not help
  std::size_t runs_to_decide = 0;   ///< of each side, where inconclusive; 0: more do not help
  std::size_t judged_times = 0;     ///< of host and GPU of ranges and of their sums over indices
  std::size_t noisy_times = 0;      ///< of these, where noise hides a slowdown of twice the limit
  period_change period;
  double geometric_mean = 0;  ///< of the factors of `ranges`, judged where they are; 0 without any
  std::vector<compared_range> ranges;    ///< indices folded; by change in ms, the largest first
  std::vector<compared_range> indexed;   ///< those with an index in their path, each by itself
  std::vector<std::string> only_before;  ///< paths that the other side does not have
  std::vector<std::string> only_after;

  /// The part of the period that changed most, of those that noise does not make; null without any.
  period_row const* most_changed() const noexcept {
    for (period_row const& row : period.rows)
      if (row.changed) return &row;
    return nullptr;
  }
  /// The range of that path, folded (`block[*]`) or with its index (`block[3]`); else null.
  compared_range const* find(std::string_view path) const noexcept {
    for (std::vector<compared_range> const* const list : {&ranges, &indexed})
      for (compared_range const& range : *list)
        if (range.path == path) return &range;
    return nullptr;
  }
};

constexpr std::string_view to_string(comparison_verdict verdict) noexcept {
  return verdict == comparison_verdict::no_regression ? "no regression"
         : verdict == comparison_verdict::regression  ? "regression"
                                                      : "inconclusive";
}
constexpr std::string_view to_string(range_verdict verdict) noexcept {
  constexpr std::string_view words[] = {"unjudged", "within", "accepted", "unsure", "slower"};
  return words[static_cast<std::size_t>(verdict)];
}

STRATA_END

#endif  // STRATA_ANALYSE_COMPARISON_HPP
