#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_RANGE_ROWS_HPP
#define STRATA_ANALYSE_RANGE_ROWS_HPP

#include <strata/base/macros.hpp>
#include "compare_context.hpp"
#include "comparison.hpp"
#include "run_ranges.hpp"

#include <string_view>
#include <vector>

STRATA_BEGIN
namespace detail {

/// Fills the ranges that all runs have, with their times and columns, and those that only one side
/// has. Verdicts stay as they are.
void find_range_rows(compared_runs const& runs, comparison& result);

/// What each run has of a range.
/// Returns: false where one has nothing.
bool collect(compared_runs const& runs, std::string_view path,
             std::vector<run_range const*>& found);

/// Whether GPU work was recorded in all runs.
bool all_traced(compared_runs const& runs);

}  // namespace detail
STRATA_END

#endif  // STRATA_ANALYSE_RANGE_ROWS_HPP
