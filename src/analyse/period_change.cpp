#include "period_change.hpp"

#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include "change_statistics.hpp"
#include "compare_context.hpp"
#include "comparison.hpp"
#include "range_paths.hpp"
#include "run_period.hpp"
#include "run_tables.hpp"
#include "steps.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

STRATA_BEGIN
namespace detail {
namespace {

// All chosen.
constexpr double row_alarms = 0.002;     // of the ranges together, and of the other rows together
constexpr double beside_alarms = 0.007;  // of the ranges together, relative to their common change
/// What the time of a row differs between two runs of one program, besides what its steps tell.
constexpr double noise_of_run = 0.0075;
/// The same of work on the GPU, where many ranges show that they differ by less.
constexpr double min_noise_of_run = 0.005;
/// The same where ranges differ more from each other: no more is taken for noise, since code makes
/// such changes.
constexpr double max_noise_of_run = 0.025;
/// Ranges that tell how much rows differ between runs.
constexpr std::size_t min_basis = 5;
/// The same where each is judged relative to the common change.
constexpr std::size_t min_basis_beside = 20;
/// Variances of ranges are alike: each is taken together with the median one, at this weight.
constexpr double steps_of_median = 20;

/// Compares the periods of the runs.
class period_comparer {
 public:
  explicit period_comparer(compare_context const& context)
      : context_(context), runs_(context.runs) {}

  period_change compare() {
    for (std::size_t r = 0; r < runs_.size(); ++r) {
      run_period const& period = period_of(r);
      if (period.parts.empty() || runs_.run(r).tables().lost_all_times()) return {};
      by_cause_ = by_cause_ && period.knows_causes;
      names_between_ = names_between_ || period.names_between;
      knows_limits_ = knows_limits_ && (period.bound != "GPU-bound" || !period.limit.empty());
    }
    same_traffic_ = is_traffic_alike();
    for (std::size_t r = 0; r < runs_.size(); ++r) add(r);
    for (row_sums& sums : sums_) {
      sums.variance = variance_of(sums.ms, sums.variances, false);
      sums.variance_of_factor = variance_of(sums.ms, sums.variances, true);
      sums.variance_beside = variance_of(sums.ms, sums.variances_beside, false);
    }
    find_noise_of_run();
    find_losses();
    ranges_ = static_cast<std::size_t>(std::count_if(sums_.begin(), sums_.end(), is_range));
    for (row_sums& sums : sums_) judge(sums);
    for (row_sums& sums : sums_) made_.rows.push_back(std::move(sums.row));
    std::stable_sort(made_.rows.begin(), made_.rows.end(),
                     [](period_row const& a, period_row const& b) {
                       return std::abs(a.change_ms()) > std::abs(b.change_ms());
                     });
    return std::move(made_);
  }

 private:
  /// A row, and what tells its noise.
  struct row_sums {
    period_row row;
    double variance = 0.0;            // of the change by the steps, ms squared
    double variance_of_factor = 0.0;  // the same of its logarithm
    double variance_beside = 0.0;     // of the change relative to all kernels
    // By run, in ms and ms squared.
    std::vector<double> ms;
    std::vector<double> variances;
    std::vector<double> variances_beside;
  };

  run_period const& period_of(std::size_t r) const { return runs_.run(r).tables().period; }

  /// Whether all runs count the traffic of ranges by the same counters.
  bool is_traffic_alike() const {
    counted_metric const* const first = runs_.run(0).find_metric("hbm_bytes");
    for (std::size_t r = 1; first != nullptr && r < runs_.size(); ++r) {
      counted_metric const* const other = runs_.run(r).find_metric("hbm_bytes");
      if (other == nullptr || other->metric->formula != first->metric->formula) return false;
    }
    return first != nullptr;
  }

  row_sums& sums_of(period_kind kind, std::string const& name) {
    auto const [place, is_new] = places_.emplace(std::pair(kind, name), sums_.size());
    if (is_new) {
      sums_.emplace_back();
      sums_.back().row.kind = kind;
      sums_.back().row.name = name;
      for (std::vector<double>* const values :
           {&sums_.back().ms, &sums_.back().variances, &sums_.back().variances_beside})
        values->resize(runs_.size());
    }
    return sums_[place->second];
  }
  row_sums& sums_of(period_part const& part) {
    bool const is_waiting = part.kind == period_kind::idle || part.kind == period_kind::overlap;
    if (is_waiting && !by_cause_)
      return sums_of(period_kind::idle, std::string(idle_without_cause));
    // What does not tell the causes does not tell the directions of copies either.
    if (part.kind == period_kind::copy && !by_cause_) return sums_of(period_kind::copy, "copies");
    return sums_of(part.kind, part.name);
  }
  void add(std::size_t r) {
    bool const after = runs_.is_later(r);
    double const weight = runs_.weight(r);
    run_period const& period = period_of(r);
    (after ? made_.after_first_ms : made_.before_first_ms) += period.first_ns / 1e6 * weight;
    bool const has_limit = knows_limits_ && !period.limit.empty();
    (after ? made_.after_bound : made_.before_bound) = has_limit ? period.limit : period.bound;
    freedom_ += std::max(0.0, period.steps - 1.0);
    for (period_part const& part : period.parts) {
      if (part.kind == period_kind::between && !names_between_) continue;
      (after ? made_.after_ms : made_.before_ms) += part.ns / 1e6 * weight;
      row_sums& sums = sums_of(part);
      period_row& row = sums.row;
      sums.ms[r] += part.ns / 1e6;
      sums.variances[r] += part.variance / 1e12;
      sums.variances_beside[r] += part.variance_beside / 1e12;
      (after ? row.after_ms : row.before_ms) += part.ns / 1e6 * weight;
      (after ? row.after_kernels : row.before_kernels) += part.kernels * weight;
      (after ? row.after_hbm_bytes : row.before_hbm_bytes) +=
          same_traffic_ ? part.hbm_bytes * weight : std::numeric_limits<double>::quiet_NaN();
      (after ? row.after_limiter : row.before_limiter) = part.limiter;
    }
  }

  /// The variance of a row's change. Few steps of one run tell their own noise badly: the steps of
  /// all runs together tell it too, as a part of the time, and the larger one counts.
  double variance_of(std::vector<double> const& ms, std::vector<double> const& variances,
                     bool of_factor) const {
    double sum = 0.0;
    double freedom = 0.0;
    for (std::size_t r = 0; r < runs_.size(); ++r) {
      double const steps = period_of(r).steps;
      if (!(ms[r] > 0.0 && steps > 1.0)) continue;
      sum += (steps - 1.0) * variances[r] * steps / (ms[r] * ms[r]);
      freedom += steps - 1.0;
    }
    double own = 0.0;
    double pooled = 0.0;
    for (std::size_t r = 0; r < runs_.size(); ++r) {
      double const unit = of_factor && ms[r] > 0.0 ? 1.0 / ms[r] : 1.0;
      double const weight = runs_.weight(r) * runs_.weight(r) * unit * unit;
      own += weight * variances[r];
      if (freedom > 0.0)
        pooled += weight * ms[r] * ms[r] * sum / freedom / std::max(1.0, period_of(r).steps);
    }
    return is_nan(own) || is_nan(pooled) ? std::numeric_limits<double>::quiet_NaN()
                                         : std::max(own, pooled);
  }

  static bool is_range(row_sums const& sums) { return sums.row.kind == period_kind::range; }
  static bool is_on_both(row_sums const& sums) {
    return sums.row.before_ms > 0.0 && sums.row.after_ms > 0.0;
  }
  /// The change of a range as a logarithm, and its variance relative to what all have in common, or
  /// by all of its steps where that is not known.
  static estimate logarithm_of(row_sums const& sums) {
    double const before = sums.row.before_ms;
    double const after = sums.row.after_ms;
    double const variance = is_nan(sums.variance_beside) ? sums.variance : sums.variance_beside;
    return {std::log(after / before), variance / (before * after)};
  }
  /// How much rows differ between runs of one program: as ranges do from each other.
  void find_noise_of_run() {
    std::vector<double> variances;
    for (row_sums const& sums : sums_)
      if (is_range(sums) && is_on_both(sums)) variances.push_back(logarithm_of(sums).variance);
    basis_ = variances.size();
    if (basis_ < min_basis) return;
    median_variance_ = median(std::move(variances));
    std::vector<estimate> changes;
    for (row_sums const& sums : sums_)
      if (is_range(sums) && is_on_both(sums)) changes.push_back(moderated(logarithm_of(sums)));
    common_ = change_in_common(changes);
    is_alike_ = std::abs(common_.value) <= context_.limit();
    if (is_alike_)
      noise_of_run_ =
          std::clamp(std::sqrt(common_.between),
                     basis_ < min_basis_beside ? noise_of_run : min_noise_of_run, max_noise_of_run);
  }
  estimate moderated(estimate change) const {
    double const sum = freedom_ * change.variance + steps_of_median * median_variance_;
    return {change.value, sum / (freedom_ + steps_of_median)};
  }
  /// Whether a range changed relative to what all have in common.
  bool is_changed_beside(row_sums const& sums, double family, double explained) const {
    if (!is_range(sums) || !is_on_both(sums) || !is_alike_ || basis_ < min_basis_beside)
      return false;
    estimate const change = moderated(logarithm_of(sums));
    double const noise = std::sqrt(change.variance + common_.between + common_.variance);
    double const needed =
        student_quantile(beside_alarms / (2.0 * family), freedom_ + steps_of_median);
    return std::abs(change.value - common_.value) > needed * noise + std::log1p(explained);
  }

  /// What losses of the runs may hide of a row, as a part of it.
  void find_losses() {
    for (std::size_t r = 0; r < runs_.size(); ++r) {
      run_tables const& run = runs_.run(r).tables();
      double kernels = 0.0;
      for (run_kernel const& kernel : run.kernels) kernels += kernel.times.count;
      auto const part = [&](double lost) {
        return lost > 0.0 ? lost / std::max(1.0, lost + kernels) : 0.0;
      };
      double const of_calls = part(run.losses.calls);
      double const of_work = part(run.losses.device_work + run.losses.device_times);
      lost_between_ = std::max(lost_between_, of_calls);
      lost_in_steps_ = std::max(lost_in_steps_, run.traced ? of_work : of_calls);
    }
  }
  void judge(row_sums& sums) const {
    period_row& row = sums.row;
    auto const family = static_cast<double>(is_range(sums) ? ranges_ : sums_.size() - ranges_);
    double const larger_ms = std::max(std::abs(row.before_ms), std::abs(row.after_ms));
    double freedom = std::max(1.0, freedom_);
    bool const is_beside = row.kind == period_kind::copy && !is_nan(sums.variance_beside);
    double variance = is_beside ? sums.variance_beside : sums.variance;
    double variance_of_factor = sums.variance_of_factor;
    if (runs_.both_known()) {
      freedom = static_cast<double>(runs_.size() - 2);
      double squares_of_runs = 0.0;
      double squares_of_parts = 0.0;
      for (std::size_t r = 0; r < runs_.size(); ++r) {
        double const mean = runs_.is_later(r) ? row.after_ms : row.before_ms;
        double const away = sums.ms[r] - mean;
        squares_of_runs += away * away;
        squares_of_parts += away / mean * (away / mean);
      }
      double const scale = runs_.variance_of_difference() / freedom;
      variance = std::max(variance, squares_of_runs * scale);
      variance_of_factor = std::max(variance_of_factor, squares_of_parts * scale);
    }
    bool const is_gpu_work = is_range(sums) || row.kind == period_kind::copy;
    double const of_run = is_gpu_work ? noise_of_run_ : std::max(noise_of_run_, noise_of_run);
    double const assumed = runs_.both_known() ? min_noise_of_run : of_run;
    row.noise_ms = std::sqrt(variance + assumed * larger_ms * (assumed * larger_ms));
    if (is_on_both(sums)) row.noise = std::sqrt(variance_of_factor + assumed * assumed);
    double const needed = student_quantile(row_alarms / (2.0 * family), freedom);
    double const clocks = is_range(sums) ? std::expm1(context_.clocks) * larger_ms : 0.0;
    double const lost = row.kind == period_kind::between ? lost_between_ : lost_in_steps_;
    double const explained = lost * larger_ms + clocks;
    double const explained_part = larger_ms > 0.0 ? explained / larger_ms : 0.0;
    constexpr double interval = 1.96;  // standard deviations, of 95 %
    double const unexplained = std::abs(row.change_ms()) - explained;
    row.is_noise = !(unexplained > interval * row.noise_ms);
    // What no part tells is no cause.
    row.changed = row.kind != period_kind::overlap &&
                  (unexplained > needed * row.noise_ms ||
                   is_changed_beside(sums, family, explained_part) || is_beyond_all_noise(row));
  }
  /// Whether a row changed by more than the noise of a program does, however few steps tell how
  /// large that is: a good part of the period became half of itself, or twice.
  bool is_beyond_all_noise(period_row const& row) const {
    constexpr double least_factor = 2.0;       // chosen
    constexpr double least_deviations = 10.0;  // chosen
    constexpr double least_part = 0.01;        // of the period; chosen
    double const larger_ms = std::max(row.before_ms, row.after_ms);
    double const smaller_ms = std::min(row.before_ms, row.after_ms);
    return larger_ms > least_factor * smaller_ms &&
           std::abs(row.change_ms()) > least_deviations * row.noise_ms &&
           larger_ms > least_part * std::max(made_.before_ms, made_.after_ms);
  }

  compare_context const& context_;
  compared_runs const& runs_;
  bool by_cause_ = true;
  bool names_between_ = false;  // of any run: else the time between steps is left out of all
  bool knows_limits_ = true;    // the unit that limits each run that is bound by the GPU
  bool same_traffic_ = true;
  double noise_of_run_ = noise_of_run;
  std::size_t basis_ = 0;      // ranges that tell it
  std::size_t ranges_ = 0;     // rows
  double lost_between_ = 0.0;  // the part that losses of a run may hide of what is between steps
  double lost_in_steps_ = 0.0;
  double median_variance_ = 0.0;
  common_change common_;
  bool is_alike_ = false;  // ranges have no change in common that is beyond the limit
  double freedom_ = 0.0;
  std::map<std::pair<period_kind, std::string>, std::size_t> places_;
  std::vector<row_sums> sums_;
  period_change made_;
};

}  // namespace

period_change change_of_period(compare_context const& context) {
  return period_comparer(context).compare();
}

}  // namespace detail

std::string row_label(period_row const& row) {
  if (row.kind == period_kind::range) return detail::path_label(row.name);
  if (row.kind == period_kind::overlap) return "work at the same time";
  if (row.kind == period_kind::idle && row.name != detail::idle_without_cause)
    return "GPU idle: " + std::string(idle_words(row.name));
  return row.name;
}

STRATA_END
