#include <strata/version.hpp>
#ifndef STRATA_LIVE_MEDIAN_HPP
#define STRATA_LIVE_MEDIAN_HPP

#include <strata/base/macros.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

STRATA_BEGIN
namespace live {

/// The upper median. Requires: a value. Cost: linear.
template <class T>
T median(std::vector<T> values) {
  auto const middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace live
STRATA_END

#endif  // STRATA_LIVE_MEDIAN_HPP
