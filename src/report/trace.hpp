#include <strata/version.hpp>
#ifndef STRATA_REPORT_TRACE_HPP
#define STRATA_REPORT_TRACE_HPP

#include <strata/base/macros.hpp>
#include <strata/base/text_writer.hpp>
#include <strata/tables/table_input.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

STRATA_BEGIN

/// How much a trace holds.
struct trace_options {
  std::uint64_t max_events = 2000000;  ///< the first part of a longer run is kept
  bool mangled_names = false;          ///< kernels carry theirs too
};

/// What a trace holds and what it does not.
struct trace_summary {
  std::uint64_t events = 0;        ///< written, with the names of tracks and both ends of arrows
  std::uint64_t left_out = 0;      ///< records and memory points beyond the limit
  std::uint64_t without_time = 0;  ///< records whose times the device lost
  std::string problem;             ///< one sentence where something was left out
};

/// trace.json: Chrome trace events, for Perfetto and chrome://tracing. Times are microseconds since
/// the session began, or since the first event before it, exact to the ns; baseTimeNanoseconds is
/// that moment in ns since 1970, so that traces can be laid side by side. The first process is the
/// host with a track a thread; each device is a process with a track a stream. Cost: 32 bytes an
/// event that is written, besides the profile.
trace_summary write_trace(detail::text_writer& out, table_input const& input,
                          trace_options const& options = {});

STRATA_END

#endif  // STRATA_REPORT_TRACE_HPP
