#include <strata/version.hpp>
#ifndef STRATA_LIVE_CHOLESKY_HPP
#define STRATA_LIVE_CHOLESKY_HPP

#include <strata/base/macros.hpp>

#include <cmath>
#include <cstddef>
#include <vector>

STRATA_BEGIN
namespace live {

/// The lower triangular factor of a symmetric positive matrix. Cost: O(n^3); to solve, O(n^2).
class cholesky_factor {
 public:
  /// `at(i, k)` is an element, k <= i. `more(i, own)` is added to a diagonal element, and
  /// `pivot(left, own)` replaces what is left of it by a number above 0.
  template <class At, class More, class Pivot>
  cholesky_factor(std::size_t n, At const& at, More const& more, Pivot const& pivot)
      : n_(n), lower_(n * n, 0.0) {
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t k = 0; k <= i; ++k) {
        double const own = at(i, k);
        double sum = i == k ? own + more(i, own) : own;
        for (std::size_t m = 0; m < k; ++m) sum -= lower_[i * n + m] * lower_[k * n + m];
        lower_[i * n + k] = i == k ? std::sqrt(pivot(sum, own)) : sum / lower_[k * n + k];
      }
    }
  }

  /// Puts the solution in place of the right-hand side.
  void solve(std::vector<double>& x) const {
    std::size_t begin = 0;  // zeros at the front stay
    while (begin < n_ && x[begin] == 0.0) ++begin;
    for (std::size_t i = begin; i < n_; ++i) {
      for (std::size_t m = begin; m < i; ++m) x[i] -= lower_[i * n_ + m] * x[m];
      x[i] /= lower_[i * n_ + i];
    }
    for (std::size_t i = n_; i-- > 0;) {
      for (std::size_t m = i + 1; m < n_; ++m) x[i] -= lower_[m * n_ + i] * x[m];
      x[i] /= lower_[i * n_ + i];
    }
  }

 private:
  std::size_t n_;
  std::vector<double> lower_;
};

}  // namespace live
STRATA_END

#endif  // STRATA_LIVE_CHOLESKY_HPP
