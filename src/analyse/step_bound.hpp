#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_STEP_BOUND_HPP
#define STRATA_ANALYSE_STEP_BOUND_HPP

#include <strata/base/macros.hpp>

#include <string>

STRATA_BEGIN
namespace detail {

class rule_context;

/// The sentence above all findings: what bounds the step.
std::string step_bound(rule_context const& run);

}  // namespace detail
STRATA_END

#endif  // STRATA_ANALYSE_STEP_BOUND_HPP
