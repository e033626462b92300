#include "step_comparison.hpp"

#include <strata/base/macros.hpp>
#include <strata/base/text.hpp>
#include "change_statistics.hpp"
#include "compare_context.hpp"
#include "comparison.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

STRATA_BEGIN
namespace detail {
namespace {

bool is_beyond(double change, double variance, double freedom) {
  return change > student_quantile(step_alarms, freedom) * std::sqrt(variance);
}

/// Without a first one that is apart from the others, as in reports.
std::vector<double> usual_steps_of(run_ranges const& run) {
  std::vector<double> const& all = run.steps_ms;
  return {all.begin() + (run.without_first() ? 1 : 0), all.end()};
}

}  // namespace

step_comparison::step_comparison(compare_context const& context, comparison& result)
    : context_(context), runs_(context.runs), result_(result) {
  std::vector<double> pooled[2];
  std::vector<double> logarithms[2];
  std::size_t fewest = runs_.run(0).steps_ms.size();
  for (std::size_t r = 0; r < runs_.size(); ++r) {
    std::vector<double> const& all = runs_.run(r).steps_ms;
    std::vector<double> const steps = usual_steps_of(runs_.run(r));
    std::vector<double>& side = pooled[runs_.is_later(r)];
    side.insert(side.end(), steps.begin(), steps.end());
    estimate const typical = typical_logarithm(steps);
    logarithms[runs_.is_later(r)].push_back(typical.value);
    within_ += typical.variance * runs_.weight(r) * runs_.weight(r);
    (runs_.is_later(r) ? result_.after_steps : result_.before_steps) += all.size();
    bool& of_gpu = runs_.is_later(r) ? result_.after_of_gpu : result_.before_of_gpu;
    of_gpu = of_gpu || (runs_.of_gpu && runs_.run(r).tables().period_of_gpu);
    fewest = std::min(fewest, all.size());
  }
  too_few = fewest < min_pooled_steps;
  few = fewest < min_steps;
  if (few && !too_few) pool_few_steps();
  steps_a_run = static_cast<double>(fewest);
  if (result_.before_steps > 0) result_.before_ms = std::exp(mean(logarithms[0]));
  if (result_.after_steps > 0) result_.after_ms = std::exp(mean(logarithms[1]));
  double const change = mean(logarithms[1]) - mean(logarithms[0]);
  if (result_.before_steps > 0 && result_.after_steps > 0) result_.change = std::expm1(change);
  if (too_few) return;
  result_.chance = chance_of_more(pooled[0], pooled[1]);
  value = {change, within_};
  if (context_.options.run_noise > 0) {
    value.variance +=
        context_.options.run_noise * context_.options.run_noise * runs_.variance_of_difference();
  } else if (runs_.known()) {
    freedom_ = static_cast<double>(runs_.size() - 2);
    double const of_run = (squares(logarithms[0]) + squares(logarithms[1])) / freedom_;
    value.variance = std::max(within_, of_run * runs_.variance_of_difference());
  } else if (few) {
    freedom_ = pooled_freedom_;
  }
  result_.runs_known = context_.options.run_noise > 0 || runs_.known();
  result_.noise = value.deviation();
  double const margin = student_quantile(step_alarms, freedom_) * value.deviation();
  result_.resolution = std::expm1(std::min(margin, 100.0));
}

/// Of few steps the deviation is that of all runs together, which Student's t widens by how few
/// they are; and how far all after are from all before, where there are more without the first.
void step_comparison::pool_few_steps() {
  double sum = 0;
  double of_medians = 0;
  double ends[2] = {-1e9, 1e9};  // the longest step before, the shortest one after
  for (std::size_t r = 0; r < runs_.size(); ++r) {
    std::vector<double> const& all = runs_.run(r).steps_ms;
    std::vector<double> steps;
    for (double const ms : usual_steps_of(runs_.run(r)))
      if (ms > 0) steps.push_back(std::log(ms));
    if (steps.empty()) continue;
    auto const count = static_cast<double>(steps.size());
    sum += squares(steps);
    pooled_freedom_ += count - 1;
    of_medians += median_loss / count * runs_.weight(r) * runs_.weight(r);
    bool const has_first = steps.size() == all.size() && steps.size() > min_pooled_steps;
    for (std::size_t i = has_first ? 1 : 0; i < steps.size(); ++i) {
      if (runs_.is_later(r))
        ends[1] = std::min(ends[1], steps[i]);
      else
        ends[0] = std::max(ends[0], steps[i]);
    }
  }
  separation_ = ends[1] - ends[0];
  if (pooled_freedom_ > 0) within_ = sum / pooled_freedom_ * of_medians;
  pooled_freedom_ = std::max(pooled_freedom_, 1.0);
}

/// How many steps of each run, or runs of each side, make the noise smaller than `wanted`.
void step_comparison::advise(double wanted, double chance) {
  if (!(wanted > 0)) return;
  if (!result_.runs_known || within_ >= 0.9 * value.variance) {
    double const needed = student_quantile(chance, freedom_) / wanted;
    double const steps = steps_a_run * within_ * needed * needed;
    if (steps < 1e5) result_.steps_to_decide = static_cast<std::size_t>(std::ceil(steps)) + 1;
    return;
  }
  double const of_run = value.variance / runs_.variance_of_difference();
  for (std::size_t n = 2; n <= 100 && result_.runs_to_decide == 0; ++n) {
    double const freedom = context_.options.run_noise > 0 ? 1e9 : static_cast<double>(2 * n - 2);
    double const noise = std::sqrt(of_run * 2 / static_cast<double>(n));
    if (student_quantile(chance, freedom) * noise < wanted) result_.runs_to_decide = n;
  }
}
void step_comparison::judge(time_family const (&families)[2]) {
  double common = -1e9;
  double between = 0;
  double freedom = -1;
  for (time_family const& family : families) {
    if (family.basis == 0) continue;
    common = std::max(common, family.common.value);
    between = std::max(between, family.common.between + family.common.variance);
    freedom += static_cast<double>(family.basis);
  }
  if (freedom >= 0) result_.common = std::expm1(common);
  limit = context_.limit_of({}, "step");
  if (too_few || !(value.value > limit)) return;
  slower = is_beyond_clocks();
  if (slower) return;
  if (result_.runs_known) {
    slower = is_beyond(value.value, value.variance, freedom_);
    return;
  }
  // One run of each side: a slower machine slows ranges too. Only what the step lost beyond its
  // ranges counts.
  double const beside = value.value - std::max(common, 0.0);
  slower = freedom >= 1 && beside > limit && common <= limit && result_.chance < step_alarms &&
           is_beyond(beside, value.variance + between, std::min(freedom, freedom_));
}
/// Few steps decide by each of them: all that came after are that much longer than all before.
bool step_comparison::is_beyond_clocks() const {
  double const most = std::log(max_by_clocks) + context_.clocks + context_.cpu;
  return few ? separation_ > most : is_beyond(value.value - most, value.variance, freedom_);
}

double step_comparison::hidden() const {
  return student_quantile(0.05, freedom_) * value.deviation();
}
std::string step_comparison::steps_a_run_text() const {
  auto const steps = static_cast<std::size_t>(steps_a_run);
  return sentence() << steps << (steps == 1 ? " step" : " steps");
}

}  // namespace detail
STRATA_END
