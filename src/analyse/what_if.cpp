#include "what_if.hpp"

#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/profile.hpp>
#include <strata/tables/call_tree.hpp>
#include "findings.hpp"
#include "roofline.hpp"
#include "step_replay.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

STRATA_BEGIN

what_if at_roof(roofline_table const& roofs, std::size_t row, double part) noexcept {
  what_if made;
  made.row = row;
  if (row >= roofs.own.size() || !(part > 0.0)) return made;
  double const fraction = roofs.own[row].fraction();
  if (fraction > 0.0) made.kernels = std::min(1.0, fraction / part);
  return made;
}

what_if without_gaps(std::size_t row) noexcept {
  what_if made;
  made.row = row;
  made.launches = 0.0;
  return made;
}

namespace detail {

/// The time that copies alone take of a row in a mean step, with the idle time that is theirs.
/// Units: ns.
inline double copies_ns(std::size_t row, step_analysis const& steps) noexcept {
  double sum = 0.0;
  for (copy_time const& copies : steps.copies)
    if (copies.row == row && !copies.in_place) sum += copies.alone_ns;
  for (device_copy_time const& copies : steps.device_copies)
    if (copies.row == row) sum += copies.alone_ns;
  for (idle_time const& time : steps.idle)
    if (time.row == row && time.cause == idle_cause::copy) sum += steps.own_idle_ns(time.ns);
  return sum;
}

bool fix_of(finding_range const& range, vec<range_row> const& rows, step_analysis const& steps,
            what_if& made) noexcept {
  made = what_if();
  made.row = range.row;
  made.below = range.part == finding_part::kernels_below;
  if (!(range.cost_ns_per_step > 0.0) || range.row >= rows.size() || range.between) return false;
  range_row const& row = rows[range.row];
  // Costs are of the time in which one of them ran, of all streams and devices together.
  double const sum = static_cast<double>(made.below ? row.total.kernel_ns : row.self.kernel_ns);
  double const busy = steps.busy_ns(row);
  double const kernels =
      std::min(steps.per_step(sum, made.below ? row.step_work_share : row.step_self_share), busy);
  switch (range.part) {
    case finding_part::none:
      return false;
    case finding_part::kernels:
    case finding_part::kernels_below:
      made.kernels = std::max(0.0, 1.0 - range.cost_ns_per_step / kernels);
      made.launches = 1.0 - range.launches;
      return kernels > 0.0;
    case finding_part::copies: {
      double const copies = copies_ns(range.row, steps);
      made.copies = 1.0 - range.cost_ns_per_step / copies;
      made.launches = 1.0 - range.launches;
      return copies > 0.0;
    }
    case finding_part::launches:
      made.launches = 0.0;
      break;
    case finding_part::host_work:
      made.host_work = 0.0;
      break;
    case finding_part::waits:
      made.waits = 0.0;
      break;
    case finding_part::allocations:
      made.allocations = 0.0;
      break;
    case finding_part::graphs:
      made.graphs = 0.0;
      break;
    case finding_part::order:
      made.any_order = true;
      break;
  }
  return true;
}

/// Adds what one more range of a finding changes. A range may be there twice: copies in both
/// directions, several kernels.
inline void add_change(std::vector<what_if>& changes, what_if const& more) {
  what_if* change = nullptr;
  for (what_if& known : changes)
    if (known.row == more.row && known.below == more.below) change = &known;
  if (change == nullptr) {
    changes.push_back(what_if());
    change = &changes.back();
    change->row = more.row;
    change->below = more.below;
  }
  using factor = double what_if::*;
  for (factor const part :
       {&what_if::kernels, &what_if::copies, &what_if::launches, &what_if::host_work,
        &what_if::waits, &what_if::allocations, &what_if::graphs})
    change->*part = std::max(0.0, change->*part + more.*part - 1.0);
  change->any_order = change->any_order || more.any_order;
  change->joined = change->joined || more.joined;
  // Of a few bytes nothing stays, nor does the host wait for them.
  constexpr double noticed = 0.01;
  if (change->copies < noticed) change->copies = 0.0;
}

/// The idle time of a step without recording, of all causes.
double idle_ns(step_analysis const& steps) noexcept {
  double sum = 0.0;
  for (idle_time const& time : steps.idle) sum += steps.own_idle_ns(time.ns);
  return sum;
}

/// What a cause takes between steps.
double between_ns(finding const& cause) noexcept {
  double sum = 0.0;
  for (finding_range const& range : cause.ranges)
    if (range.between) sum += range.cost_ns_per_step;
  return sum;
}

double most_gain(finding const& cause, step_analysis const& steps) noexcept {
  double const cost = cause.cost_ns_per_step - between_ns(cause);
  for (finding_range const& range : cause.ranges) {
    if (range.launches > 0.0) return cost + idle_ns(steps);
    // Without the order, queued work no longer waits for other streams.
    if (range.part == finding_part::order) return cost + steps.idle_of(idle_cause::device);
  }
  for (finding_range const& range : cause.ranges)
    if (!is_of_host(range.part)) return cost;
  return std::max(cost, idle_ns(steps));
}

/// Whether a cause is idle time of the device for what the host does.
inline bool is_of_host(finding const& cause) noexcept {
  for (finding_range const& range : cause.ranges) {
    bool const launches = range.part == finding_part::launches || range.part == finding_part::waits;
    if (!launches && !is_of_host(range.part)) return false;
  }
  return !cause.ranges.empty();
}

}  // namespace detail

std::vector<double> predict(profile const& source, call_tree const& folded,
                            step_analysis const& steps, std::vector<what_if> const& changes) {
  detail::step_replay replay(source, folded, steps);
  std::vector<double> made;
  for (what_if const& change : changes)
    made.push_back(replay.step_ns(std::vector<what_if>(1, change)));
  return made;
}

namespace detail {
namespace {

/// `at_best`: as much of the kernels goes as may go at best.
std::vector<what_if> changes_of(finding const& cause, call_tree const& folded,
                                step_analysis const& steps, bool at_best = false) {
  std::vector<what_if> changes;
  for (finding_range range : cause.ranges) {
    bool const joins = at_best && range.part == finding_part::launches && range.best_ns > 0.0;
    if (at_best && range.part == finding_part::kernels)
      range.cost_ns_per_step = std::max(range.cost_ns_per_step, range.best_ns);
    what_if change;
    if (fix_of(range, folded.rows(), steps, change)) add_change(changes, change);
    if (!joins) continue;
    range.part = finding_part::kernels;
    range.cost_ns_per_step = range.best_ns;
    if (!fix_of(range, folded.rows(), steps, change)) continue;
    change.joined = true;
    add_change(changes, change);
  }
  return changes;
}

/// Predicts steps without causes, one or several at a time.
class step_predictor {
 public:
  step_predictor(profile const& source, call_tree const& folded, step_analysis const& steps)
      : folded_(folded), steps_(steps), replay_(source, folded, steps) {}

  void predict(finding& cause) {
    std::vector<what_if> const changes = changes_of(cause, folded_, steps_);
    double const between = between_ns(cause);
    if (changes.empty() && !(between > 0.0)) return;
    double gain = 0.0;
    if (!changes.empty()) {
      double const then = replay_.step_ns(changes);
      if (!(then >= 0.0)) return;
      double const now = steps_.mean_ns;
      double const replayed = (now - std::min(now, then)) * own_part(cause);
      gain = std::min(replayed, most_gain(cause, steps_));
      if (gain < cause.taken_ns()) {
        auto const next = replay_.next_bottleneck();
        cause.next_part = next.part;
        cause.next_path = folded_.rows()[next.row].path;
      }
    }
    gain += between;
    cause.predicted_step_ns = std::max(0.0, steps_.period_ns() - gain);
    cause.cost_ns_per_step = std::max(cause.cost_ns_per_step, gain);
    if (!changes.empty()) predict_best(cause, changes);
  }

  /// The step without all of these: no more goes than the idle time, without what recording adds,
  /// and what causes of the GPU take. Requires: each has a prediction. Units: ns; NaN where it is
  /// unknown.
  double without(std::vector<finding const*> const& causes) {
    std::vector<what_if> changes;
    double of_gpu = 0.0;   // what the causes that are not the host's take
    double of_idle = 0.0;  // the idle time, if one of them shortens it
    double alone = 0.0;    // the most that one of them gains
    double between = 0.0;  // what they take between steps
    double const own = steps_.own_idle_part();
    for (finding const* const cause : causes) {
      for (what_if const& change : changes_of(*cause, folded_, steps_)) add_change(changes, change);
      bool const is_host = is_of_host(*cause);
      if (!is_host) of_gpu += cause->taken_ns();
      if (is_host || cause->cost_ns_per_step > cause->taken_ns()) of_idle = idle_ns(steps_);
      between += between_ns(*cause);
      alone = std::max(alone, cause->gain_ns(steps_.period_ns()));
    }
    double const then = replay_.step_ns(changes);
    if (!(then >= 0.0)) return not_a_number;
    double const replayed = (steps_.mean_ns - then) * (of_gpu > 0.0 ? 1.0 : own);
    double const gain = std::min(replayed, of_idle + of_gpu) + between;
    return std::max(0.0, steps_.period_ns() - std::max(alone, gain));
  }

 private:
  /// Where more of the kernels may go than is sure. `changes`: those of the cause without that.
  void predict_best(finding& cause, std::vector<what_if> const& changes) {
    double of_kernels = 0.0;
    for (finding_range const& range : cause.ranges) of_kernels += range.best_ns;
    if (!(of_kernels > 0.0)) return;
    double const more =
        replay_.step_ns(changes) - replay_.step_ns(changes_of(cause, folded_, steps_, true));
    // What launches leave beyond the kernels' time are gaps between these.
    double const busy = std::min(more, of_kernels);
    double const gain = busy + (more - busy) * own_part(cause);
    if (gain > 0.0) cause.best_step_ns = std::max(0.0, cause.predicted_step_ns - gain);
  }
  /// Idle time that recording adds is nobody's gain.
  double own_part(finding const& cause) const noexcept {
    return is_of_host(cause) ? steps_.own_idle_part() : 1.0;
  }

  call_tree const& folded_;
  step_analysis const& steps_;
  step_replay replay_;
};

/// Chooses what to fix together: the cause that gains most alone, then whichever gains most
/// together with those, also where it gains nothing alone.
class fixes_together {
 public:
  /// Requires: the findings are in their order, the first one shortens the step.
  fixes_together(std::vector<finding>& findings, step_predictor& predictor, double step_ns)
      : findings_(findings), predictor_(predictor), step_ns_(step_ns) {
    for (std::size_t i = 1; i < findings_.size(); ++i)
      if (is_finite(findings_[i].predicted_step_ns)) others_.push_back(i);
    auto const costs_more = [&](std::size_t a, std::size_t b) {
      return findings_[a].cost_ns_per_step > findings_[b].cost_ns_per_step;
    };
    std::stable_sort(others_.begin(), others_.end(), costs_more);
    others_.resize(std::min(others_.size(), most_tried));
    std::sort(others_.begin(), others_.end());
  }

  fixed_together choose() {
    fixed_together made;
    made.findings.push_back(0);
    made.step_ns = findings_[0].predicted_step_ns;
    while (made.findings.size() < most_fixed && add_best(made)) {
    }
    std::sort(made.findings.begin(), made.findings.end());
    for (std::size_t const other : others_)
      if (other < made.findings.back() &&
          !std::binary_search(made.findings.begin(), made.findings.end(), other) &&
          gains_less(made, other))
        made.passed_over.push_back(other);
    return made;
  }

 private:
  static constexpr std::size_t most_fixed = 3;  // as many as the console shows
  static constexpr std::size_t most_tried = 8;  // those that cost most; each is a replay

  bool add_best(fixed_together& made) {
    std::size_t best = 0;
    double shortest = made.step_ns - least_share * step_ns_;
    for (std::size_t const other : others_) {
      if (std::count(made.findings.begin(), made.findings.end(), other) != 0) continue;
      double const then = without(made.findings, other);
      if (made.findings.size() == 1) tell(findings_[other], then);
      if (!(then < shortest)) continue;
      shortest = then;
      best = other;
    }
    if (best == 0) return false;
    made.findings.push_back(best);
    made.step_ns = shortest;
    return true;
  }
  double without(std::vector<std::size_t> const& fixed, std::size_t other) {
    std::vector<finding const*> causes;
    for (std::size_t const position : fixed) causes.push_back(&findings_[position]);
    causes.push_back(&findings_[other]);
    return predictor_.without(causes);
  }
  /// Whether a cause that shortens the step alone does so by less together with the fixed ones.
  bool gains_less(fixed_together const& made, std::size_t other) {
    finding const& found = findings_[other];
    if (!found.shortens_step(step_ns_)) return false;
    double const beside = made.step_ns - without(made.findings, other);
    return beside < found.gain_ns(step_ns_) - least_share * step_ns_;
  }
  /// For a cause that alone does not shorten the step: what it gains together with the first one.
  void tell(finding& other, double with_first_ns) const {
    double const gain = findings_[0].predicted_step_ns - with_first_ns;
    if (other.leaves_step(step_ns_) && gain >= least_share * step_ns_)
      other.with_first_ns = with_first_ns;
  }

  std::vector<finding>& findings_;
  step_predictor& predictor_;
  double step_ns_;
  std::vector<std::size_t> others_;  // that may be fixed together with the first one
};

/// Idle time in which calls take longer than others is that of a cause of the host, too: the
/// finding of the calls says which. Requires: the findings are in their order.
void name_same_time(std::vector<finding>& findings) {
  constexpr double nearly_all = 0.8;  // of the time; chosen
  for (finding& calls : findings) {
    if (calls.rule != "varying-calls") continue;
    auto const has_it = [&](finding const& other) {
      return std::any_of(other.ranges.begin(), other.ranges.end(), [&](finding_range const& range) {
        return range.part == finding_part::host_work && !range.between && range.row == calls.row &&
               range.cost_ns_per_step >= nearly_all * calls.cost_ns_per_step;
      });
    };
    auto const same = std::find_if(findings.begin(), findings.end(), has_it);
    if (same == findings.end()) continue;
    calls.title += "; that time is in finding " + std::to_string(same - findings.begin() + 1);
    calls.advice = "see that finding";
  }
}

}  // namespace
}  // namespace detail

fixed_together predict_steps(std::vector<finding>& findings, profile const& source,
                             call_tree const& folded, step_analysis const& steps) {
  if (findings.empty()) return {};
  detail::step_predictor predictor(source, folded, steps);
  for (finding& cause : findings) predictor.predict(cause);
  double const usual = steps.period_ns();
  auto const comes_first = [usual](finding const& a, finding const& b) {
    if (a.leaves_step(usual) != b.leaves_step(usual)) return b.leaves_step(usual);
    double const gain_of_a = a.gain_ns(usual);
    double const gain_of_b = b.gain_ns(usual);
    if (gain_of_a != gain_of_b) return gain_of_a > gain_of_b;
    return a.cost_ns_per_step > b.cost_ns_per_step;
  };
  std::stable_sort(findings.begin(), findings.end(), comes_first);
  detail::name_same_time(findings);
  finding const& first = findings.front();
  if (!first.shortens_step(usual) || !detail::is_finite(first.predicted_step_ns)) return {};
  fixed_together const together = detail::fixes_together(findings, predictor, usual).choose();
  return together.findings.size() < 2 ? fixed_together() : together;
}

STRATA_END
