#include <strata/version.hpp>
#ifndef STRATA_REPORT_FINDINGS_HPP
#define STRATA_REPORT_FINDINGS_HPP

#include <strata/base/macros.hpp>
#include <strata/base/text_writer.hpp>
#include "report_input.hpp"

STRATA_BEGIN

/// Of findings.json: keys may be added within a version; a change of meaning makes a new one.
inline constexpr int findings_schema_version = 1;

/// findings.json: what is wrong, what gains most first, with the rows that prove it; the mean step,
/// and the roofline with each range. Requires: report_input::find_answer().
void write_findings(detail::text_writer& out, report_input const& input);

STRATA_END

#endif  // STRATA_REPORT_FINDINGS_HPP
