#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_COMPARE_VERDICT_HPP
#define STRATA_ANALYSE_COMPARE_VERDICT_HPP

#include <strata/base/macros.hpp>
#include "comparability.hpp"
#include "compare_context.hpp"
#include "comparison.hpp"
#include "range_changes.hpp"
#include "step_comparison.hpp"

STRATA_BEGIN
namespace detail {

/// Fills the verdict of a comparison with its reason, its headline, its notes and the verdicts of
/// its ranges, which come in the order of their changes then.
void write_verdict(compare_context const& context, step_comparison& step,
                   range_changes const& ranges, comparability& circumstances, comparison& result);

}  // namespace detail
STRATA_END

#endif  // STRATA_ANALYSE_COMPARE_VERDICT_HPP
