#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_STEP_COMPARISON_HPP
#define STRATA_ANALYSE_STEP_COMPARISON_HPP

#include <strata/base/macros.hpp>
#include "change_statistics.hpp"
#include "compare_context.hpp"
#include "comparison.hpp"
#include "range_changes.hpp"

#include <cstddef>
#include <string>

STRATA_BEGIN
namespace detail {

/// The change of the step, and whether it is beyond the limit and noise.
class step_comparison {
 public:
  /// Fills what `result` says of the step.
  step_comparison(compare_context const& context, comparison& result);

  /// Judges it relative to what ranges have in common.
  void judge(time_family const (&families)[2]);
  /// How many steps of each run, or runs of each side, make the noise smaller than `wanted`.
  void advise(double wanted, double chance);
  /// The step's slowdown that noise can hide, as a logarithm.
  double hidden() const;
  std::string steps_a_run_text() const;

  estimate value;        ///< after / before, as a logarithm
  double limit = 0;      ///< as a logarithm
  bool slower = false;   ///< beyond limit and noise
  bool few = false;      ///< steps: their noise is taken to be wider
  bool too_few = false;  ///< to tell anything
  double steps_a_run = 1;

 private:
  void pool_few_steps();
  bool is_beyond_clocks() const;

  compare_context const& context_;
  compared_runs const& runs_;
  comparison& result_;
  double within_ = 0;
  double freedom_ = 1e9;  // of its variance
  double pooled_freedom_ = 0;
  double separation_ = 0;  // of the shortest step after and the longest before, as a logarithm
};

}  // namespace detail
STRATA_END

#endif  // STRATA_ANALYSE_STEP_COMPARISON_HPP
