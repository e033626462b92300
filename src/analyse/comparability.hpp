#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_COMPARABILITY_HPP
#define STRATA_ANALYSE_COMPARABILITY_HPP

#include <strata/base/macros.hpp>
#include "compare_context.hpp"

#include <string>
#include <vector>

STRATA_BEGIN
namespace detail {

/// Whether the times of runs can be distinguished by what was changed: a sentence for each
/// difference of machine, settings and work.
struct comparability {
  double clocks = 0;  ///< what other clocks of the same devices explain, as a logarithm
  std::vector<std::string> obstacles;  ///< times are not comparable
  std::vector<std::string> notes;      ///< sentences that decide nothing
};

/// Looks at the runs of both sides. `limit`: of a change, as a logarithm.
/// Requires: a run of each side.
comparability find_differences(compared_runs const& runs, double limit);

}  // namespace detail
STRATA_END

#endif  // STRATA_ANALYSE_COMPARABILITY_HPP
