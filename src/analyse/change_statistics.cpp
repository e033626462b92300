#include "change_statistics.hpp"

#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include "statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

STRATA_BEGIN
namespace detail {

namespace {

vec<double> copied(std::vector<double> const& all) { return {all.begin(), all.end()}; }

}  // namespace

double median(std::vector<double> const& all) { return median(copied(all)); }

double mean(std::vector<double> const& all) { return mean(copied(all)); }

double squares(std::vector<double> const& all) { return squares(copied(all)); }

double sample_deviation(std::vector<double> const& all) { return sample_deviation(copied(all)); }

double robust_deviation(std::vector<double> const& all) {
  return 1.4826 * median_distance(copied(all));
}

double normal_tail(double deviations) { return std::erfc(deviations / std::sqrt(2.0)) / 2; }

/// By the continued fraction of the incomplete beta function
/// (DLMF 8.17.22, evaluated by Lentz's method).
double student_tail(double t, double freedom) {
  if (freedom > 1e6) return normal_tail(t);
  double const a = freedom / 2;
  double const b = 0.5;
  double const x = freedom / (freedom + t * t);
  if (!(x > 0)) return t > 0 ? 0 : 1;
  bool const swapped = x > (a + 1) / (a + b + 2);  // where the fraction converges faster
  double const p = swapped ? b : a;
  double const q = swapped ? a : b;
  double const y = swapped ? 1 - x : x;
  double c = 1;
  double d = 1 - (p + q) * y / (p + 1);
  d = 1 / (std::abs(d) < 1e-300 ? 1e-300 : d);
  double fraction = d;
  for (int m = 1; m < 500; ++m) {
    double const k = m;
    for (double const term : {k * (q - k) * y / ((p + 2 * k - 1) * (p + 2 * k)),
                              -(p + k) * (p + q + k) * y / ((p + 2 * k) * (p + 2 * k + 1))}) {
      d = 1 + term * d;
      d = 1 / (std::abs(d) < 1e-300 ? 1e-300 : d);
      c = 1 + term / (std::abs(c) < 1e-300 ? 1e-300 : c);
      fraction *= c * d;
    }
    if (std::abs(c * d - 1) < 1e-14) break;
  }
  double const scale = std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b);
  double const part = std::exp(scale + p * std::log(y) + q * std::log1p(-y)) * fraction / p;
  double const both = swapped ? 1 - part : part;
  return t >= 0 ? both / 2 : 1 - both / 2;
}

double student_quantile(double chance, double freedom) {
  double low = 0;
  double high = 1e6;
  for (int i = 0; i < 100; ++i) {
    double const middle = (low + high) / 2;
    (student_tail(middle, freedom) > chance ? low : high) = middle;
  }
  return high;
}

double chance_of_more(std::vector<double> const& before, std::vector<double> const& after) {
  double const n = static_cast<double>(before.size());
  double const m = static_cast<double>(after.size());
  std::vector<std::pair<double, bool>> all;
  for (double const value : before) all.push_back({value, false});
  for (double const value : after) all.push_back({value, true});
  std::sort(all.begin(), all.end(), [](auto const& a, auto const& b) { return a.first < b.first; });
  double ranks = 0;
  double ties = 0;
  for (std::size_t begin = 0, end = 0; begin < all.size(); begin = end) {
    std::size_t later = 0;
    for (; end < all.size() && !(all[begin].first < all[end].first); ++end)
      later += all[end].second ? 1 : 0;
    double const same = static_cast<double>(end - begin);
    ranks += static_cast<double>(later) * (static_cast<double>(begin + end) + 1) / 2;
    ties += same * same * same - same;
  }
  double const above = ranks - m * (m + 1) / 2 - n * m / 2;
  double const variance = n * m / 12 * (n + m + 1 - ties / ((n + m) * (n + m - 1)));
  return variance > 0 ? normal_tail((above - 0.5) / std::sqrt(variance)) : 1;
}

estimate typical_logarithm(std::vector<double> const& series) {
  std::vector<double> logarithms;
  for (double const value : series)
    if (value > 0) logarithms.push_back(std::log(value));
  double const typical = series.empty() ? 0 : median(series);
  if (!(typical > 0)) return {};
  double const n = static_cast<double>(logarithms.size());
  // The logarithm of the median, which reports have: of even series not the median of logarithms.
  double const middle = std::log(typical);
  double const deviation = robust_deviation(logarithms);
  double products = 0;
  double sum = 0;
  double last = 0;
  for (double const logarithm : logarithms) {
    // A single long step says nothing about drift.
    double const bound = 3 * deviation;
    double const away = logarithm - middle > bound ? bound : std::max(logarithm - middle, -bound);
    products += away * last;
    sum += away * away;
    last = away;
  }
  double likeness = sum > 0 ? products / sum : 0;
  likeness = likeness < 0 ? 0 : likeness > 0.9 ? 0.9 : likeness;
  return {middle, median_loss * deviation * deviation / n * (1 + likeness) / (1 - likeness)};
}

common_change change_in_common(std::vector<estimate> const& changes) {
  common_change common;
  if (changes.empty()) return common;
  std::vector<double> values;
  for (estimate const& change : changes) values.push_back(change.value);
  common.value = median(values);
  auto const spread = [&](double between) {
    std::vector<double> all;
    for (estimate const& change : changes) {
      double const variance = change.variance + between;
      double const away = std::abs(change.value - common.value);
      all.push_back(variance > 0 ? away / std::sqrt(variance) : away > 0 ? 1e9 : 0);
    }
    return median(std::move(all));
  };
  bool const more = spread(0) > 0.6745;
  double low = 0;
  double high = 100;
  for (int i = 0; more && i < 60; ++i) {
    double const middle = (low + high) / 2;
    (spread(middle) > 0.6745 ? low : high) = middle;
  }
  common.between = low;
  std::vector<double> variances;
  for (estimate const& change : changes) variances.push_back(change.variance + low);
  common.variance =
      median_loss * median(std::move(variances)) / static_cast<double>(changes.size());
  return common;
}

}  // namespace detail
STRATA_END
