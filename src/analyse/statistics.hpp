#ifndef STRATA_ANALYSE_STATISTICS_HPP
#define STRATA_ANALYSE_STATISTICS_HPP

#include <strata/base/numbers.hpp>
#include <strata/base/vec.hpp>

#include <algorithm>
#include <cmath>

STRATA_BEGIN
namespace detail {

inline double median(vec<double> all) {
  if (all.empty()) return 0;
  all.sort();
  std::size_t const middle = all.size() / 2;
  return all.size() % 2 == 1 ? all[middle] : (all[middle - 1] + all[middle]) / 2;
}

/// The quantile of sorted values, interpolated between their ranks; 0 of none.
inline double quantile_of(vec<double> const& sorted, double part) noexcept {
  if (sorted.empty()) return 0.0;
  double const position = part * static_cast<double>(sorted.size() - 1);
  auto const below = static_cast<std::size_t>(position);
  std::size_t const above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (position - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

/// The median distance from the median.
inline double median_distance(vec<double> all) {
  double const middle = median(all);
  for (double& value : all) value = std::abs(value - middle);
  return median(std::move(all));
}

inline double mean(vec<double> const& all) {
  double sum = 0;
  for (double const value : all) sum += value;
  return all.empty() ? 0 : sum / static_cast<double>(all.size());
}

/// The sum of squared distances from the mean.
inline double squares(vec<double> const& all) {
  double const middle = mean(all);
  double sum = 0;
  for (double const value : all) sum += (value - middle) * (value - middle);
  return sum;
}

/// Of a sample; 0 for fewer than two values.
inline double sample_deviation(vec<double> const& all) {
  return all.size() > 1 ? std::sqrt(squares(all) / static_cast<double>(all.size() - 1)) : 0;
}

}  // namespace detail
STRATA_END

#endif  // STRATA_ANALYSE_STATISTICS_HPP
