#include <strata/version.hpp>
#ifndef STRATA_REPORT_TRACE_HPP
#define STRATA_REPORT_TRACE_HPP

#include <strata/base/macros.hpp>
#include <strata/base/text.hpp>
#include <strata/base/text_writer.hpp>
#include <strata/tables/table_input.hpp>

#include <cstdint>
#include <memory>
#include <string>

STRATA_BEGIN

namespace detail {

/// ns as microseconds with three decimals: exact, no floating point.
inline char* microseconds_text(char* out, std::int64_t ns) noexcept {
  auto magnitude = static_cast<std::uint64_t>(ns);
  if (ns < 0) {
    *out++ = '-';
    magnitude = 0 - magnitude;
  }
  out = digits_text(out, magnitude / 1000);
  auto const rest = static_cast<unsigned>(magnitude % 1000);
  *out++ = '.';
  *out++ = static_cast<char>('0' + rest / 100);
  *out++ = static_cast<char>('0' + rest / 10 % 10);
  *out++ = static_cast<char>('0' + rest % 10);
  return out;
}

}  // namespace detail

/// How much a trace holds, and how it is written.
struct trace_options {
  std::uint64_t max_events = 2000000;  ///< the first part of a longer run is kept
  bool mangled_names = false;          ///< kernels carry theirs too
  bool compressed = false;             ///< by gzip: trace.json.gz; it takes gzip_writer::has_zlib()
};

/// What a trace holds and what it does not.
struct trace_summary {
  std::uint64_t events = 0;        ///< written, with the names of tracks
  std::uint64_t left_out = 0;      ///< records and memory points beyond the limit
  std::uint64_t without_time = 0;  ///< records whose times the device lost
  std::string problem;             ///< one sentence where something was left out
};

/// trace.json: Chrome trace events in the words of PyTorch's profiler, for Perfetto,
/// chrome://tracing and what reads that profiler's files. Times are microseconds since the session
/// began, or since the first event before it, exact to the ns; baseTimeNanoseconds is that moment
/// in ns since 1970. The host is a process with a track a thread; each device is a process with a
/// track a stream. Cost: 40 bytes an event that is written, besides the profile.
trace_summary write_trace(detail::text_writer& out, table_input const& input,
                          trace_options const& options = {});

/// The moment in ns since 1970 at which the trace of a run begins; 0 where the recording does not
/// tell.
std::int64_t trace_begin(profile const& source) noexcept;

/// One trace of several runs, as of the ranks of a job, side by side by the time of day.
/// Requires: finish() at the end. Threads: one at a time. Cost: that of write_trace a run.
class joined_trace {
 public:
  /// `begin`: the first trace_begin of all.
  joined_trace(detail::text_writer& out, std::int64_t begin, trace_options const& options = {});
  ~joined_trace();
  joined_trace(joined_trace const&) = delete;
  joined_trace& operator=(joined_trace const&) = delete;

  /// Errors: as write_trace, each in the summary.
  trace_summary add(table_input const& input);
  void finish();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

STRATA_END

#endif  // STRATA_REPORT_TRACE_HPP
