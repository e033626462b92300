#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_STEP_BOUND_HPP
#define STRATA_ANALYSE_STEP_BOUND_HPP

#include <strata/base/macros.hpp>

#include <string>
#include <vector>

STRATA_BEGIN

struct finding;

namespace detail {

class rule_context;

/// The sentence above all findings: what bounds the step. `findings`: the most expensive first.
std::string step_bound(rule_context const& run, std::vector<finding> const& findings);

}  // namespace detail
STRATA_END

#endif  // STRATA_ANALYSE_STEP_BOUND_HPP
