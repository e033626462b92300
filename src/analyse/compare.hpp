#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_COMPARE_HPP
#define STRATA_ANALYSE_COMPARE_HPP

#include <strata/base/macros.hpp>
#include "comparison.hpp"
#include "run_tables.hpp"

#include <string>
#include <string_view>
#include <vector>

STRATA_BEGIN

/// Compares runs range by range, by path. A step or a range that is slower by more than the limit
/// and than noise is a regression; what cannot be decided is inconclusive, with what is missing.
/// Requires: the tables live until it returns.
/// Errors: without a profile on a side the result is inconclusive.
/// Cost: about a second for 10,000 ranges in each of two runs.
comparison compare(std::vector<run_tables const*> const& before,
                   std::vector<run_tables const*> const& after,
                   compare_options const& options = {});

/// The same of one run of each side; `limit` 0.05 is 5 %.
comparison compare(run_tables const& before, run_tables const& after, double limit = 0.05);

namespace detail {

/// `5%` as 0.05.
bool read_percentage(std::string_view text, double& share);

}  // namespace detail

/// Reads accepted regressions: a line each, `path,column,limit,reason`, such as
/// `forward/block[*],gpu,10%,exact GELU`. The column is `step` (then the path is empty), `host` or
/// `gpu`; a path with a comma is in quotes; empty lines and those that begin with `#` are none.
/// Errors: the sentence that is returned; nothing where all lines are read.
std::string read_accepted(std::string_view text, std::vector<accepted_regression>& accepted);

STRATA_END

#endif  // STRATA_ANALYSE_COMPARE_HPP
