#ifndef STRATA_ANALYSE_STEPS_HPP
#define STRATA_ANALYSE_STEPS_HPP

#include <strata/tables/call_tree.hpp>
#include <strata/tables/steps_summary.hpp>

STRATA_BEGIN

/// The mean step of a profile, with its idle time by cause, its copies, collectives, streams and
/// devices. Rows are those of the folded tree; `ranges` has one row a path and index.
/// Cost: O(r) for r records, and O(w log w) for the w that are looked at.
steps_summary make_steps(profile const& source, call_tree const& folded,
                         vec<range_row> const& ranges);

STRATA_END

#endif  // STRATA_ANALYSE_STEPS_HPP
