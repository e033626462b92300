#include <strata/version.hpp>
#ifndef STRATA_REPORT_ACCOUNT_VIEW_HPP
#define STRATA_REPORT_ACCOUNT_VIEW_HPP

// The account in words: console, page, strata explain and findings.json show these sentences.

#include <strata/base/macros.hpp>
#include <strata/tables/steps_summary.hpp>
#include "../analyse/account.hpp"
#include "report_input.hpp"

#include <string>

STRATA_BEGIN
namespace detail {

/// "A step of 2.68 ms is 426 us at a hardware limit (15.9 %), 1.74 ms explained (65.0 %), ...";
/// empty where no part is known.
std::string account_text(report_input const& input);

/// What is not known most of all, and what would tell where no command does; empty where that is
/// less than a hundredth of the period.
std::string unknown_text(report_input const& input);

}  // namespace detail
STRATA_END

#endif  // STRATA_REPORT_ACCOUNT_VIEW_HPP
