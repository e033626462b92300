#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_CHANGE_STATISTICS_HPP
#define STRATA_ANALYSE_CHANGE_STATISTICS_HPP

// Whether times that differ were changed: what noise does by itself.

#include <strata/base/macros.hpp>

#include <cmath>
#include <vector>

STRATA_BEGIN
namespace detail {

double median(std::vector<double> const& all);

/// The variance of a median of normal values divided by that of a mean: pi / 2.
inline constexpr double median_loss = 1.5708;
double mean(std::vector<double> const& all);
/// The sum of squared distances from the mean.
double squares(std::vector<double> const& all);
/// Of a sample; 0 for fewer than two values.
double sample_deviation(std::vector<double> const& all);
/// The median distance from the median as a standard deviation of normal values.
double robust_deviation(std::vector<double> const& all);

/// The chance that a normal variable is above that many standard deviations.
double normal_tail(double deviations);
/// The same of Student's t.
double student_tail(double t, double freedom);
/// The t that is exceeded with that chance.
double student_quantile(double chance, double freedom);

/// The chance that `after` would be so much above `before` if both were alike: Mann-Whitney U, one
/// side, by the normal approximation with ties and continuity.
double chance_of_more(std::vector<double> const& before, std::vector<double> const& after);

/// A value and the variance of its error.
struct estimate {
  double value = 0;
  double variance = 0;

  double deviation() const { return std::sqrt(variance); }
};

/// The logarithm of the typical value of a series in the order of time. Values that follow each
/// other are alike where a machine drifts, and tell less than as many independent ones.
estimate typical_logarithm(std::vector<double> const& series);

/// What changes have in common, and how much they differ beyond their own errors.
struct common_change {
  double value = 0;
  double between = 0;   // variance
  double variance = 0;  // of the error of `value`
};
/// Random effects with medians in place of means, so that a few real changes among many do not
/// count: half of all changes are within 0.6745 deviations of the common one.
common_change change_in_common(std::vector<estimate> const& changes);

}  // namespace detail
STRATA_END

#endif  // STRATA_ANALYSE_CHANGE_STATISTICS_HPP
