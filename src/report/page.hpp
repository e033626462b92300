#include <strata/version.hpp>
#ifndef STRATA_REPORT_PAGE_HPP
#define STRATA_REPORT_PAGE_HPP

#include <strata/base/macros.hpp>
#include <strata/base/text_writer.hpp>
#include "page_shell.hpp"
#include "report_input.hpp"

STRATA_BEGIN

/// What the script of report.html reads, as JSON.
void write_page_data(detail::text_writer& out, report_input const& input,
                     page_limits const& limits = {});

/// report.html: a page that needs no other file and no network. The same input gives the same
/// bytes.
void write_html(detail::text_writer& out, report_input const& input,
                page_limits const& limits = {});

/// Whether this build has the files of page/. Without them write_html writes the data alone.
bool has_page_files() noexcept;

STRATA_END

#endif  // STRATA_REPORT_PAGE_HPP
