#include <strata/version.hpp>
#ifndef STRATA_REPORT_PERFETTO_HPP
#define STRATA_REPORT_PERFETTO_HPP

#include <strata/base/macros.hpp>
#include <strata/base/text_writer.hpp>
#include <strata/tables/table_input.hpp>
#include "trace.hpp"

STRATA_BEGIN

/// trace.perfetto-trace: what write_trace writes, in Perfetto's own format and a quarter of the
/// bytes. Times are exact to the ns.
trace_summary write_perfetto(detail::text_writer& out, table_input const& input,
                             trace_options const& options = {20'000'000, false});

STRATA_END

#endif  // STRATA_REPORT_PERFETTO_HPP
