#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_PERIOD_CHANGE_HPP
#define STRATA_ANALYSE_PERIOD_CHANGE_HPP

#include <strata/base/macros.hpp>
#include "compare_context.hpp"
#include "comparison.hpp"

STRATA_BEGIN
namespace detail {

/// The change of the period as rows that sum to it. Idle time is one row unless all runs know its
/// causes.
period_change change_of_period(compare_context const& context);

}  // namespace detail
STRATA_END

#endif  // STRATA_ANALYSE_PERIOD_CHANGE_HPP
