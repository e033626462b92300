#include <strata/version.hpp>
#ifndef STRATA_REPORT_COMPARISON_FILES_HPP
#define STRATA_REPORT_COMPARISON_FILES_HPP

// Compared runs as JSON, and as a page: the shell of report.html, and sections of its own.

#include <strata/base/macros.hpp>
#include <strata/base/text_writer.hpp>
#include "../analyse/comparison.hpp"

STRATA_BEGIN

/// Of the JSON: members may be added within a version; a change of meaning makes a new one.
inline constexpr int comparison_schema_version = 1;

/// All of a comparison as JSON. Times are milliseconds a step, changes and shares fractions.
void write_comparison_json(detail::text_writer& out, comparison const& c,
                           compare_options const& options);

/// A page of a comparison, as report.html is of a run: one file that needs no network. Of each list
/// of ranges it has the 300 that changed most and those that are slower.
void write_comparison_html(detail::text_writer& out, comparison const& c,
                           compare_options const& options);

STRATA_END

#endif  // STRATA_REPORT_COMPARISON_FILES_HPP
