#include <strata/version.hpp>
#ifndef STRATA_REPORT_TRACE_HPP
#define STRATA_REPORT_TRACE_HPP

#include <strata/base/humanize.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/report/escape.hpp>
#include <strata/report/json_writer.hpp>
#include <strata/report/report_input.hpp>
#include <strata/report/text_writer.hpp>
#include <strata/report/trace_events.hpp>
#include <strata/report/trace_labels.hpp>
#include <strata/report/trace_plan.hpp>
#include <strata/report/trace_track.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

STRATA_BEGIN

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

namespace detail {

/// The number of a process in the trace: apart for each rank, so that traces can be joined.
inline std::uint32_t trace_process(profile const& source, std::uint32_t process) noexcept {
  std::int32_t const rank = source.environment.rank;
  return process + (rank < 0 ? 1u : 1000u * (static_cast<std::uint32_t>(rank) + 1));
}

/// `train (pid 42, rank 1)` or `GPU 0: NVIDIA H100`.
inline std::string trace_process_name(profile const& source, std::uint32_t process) {
  profile_environment const& e = source.environment;
  std::string name;
  if (process > 0) {
    name = "GPU " + std::to_string(process - 1);
    for (profile_device const& device : e.devices)
      if (device.ordinal == process - 1) name += ": " + device.name;
    return name;
  }
  name = e.command.substr(0, e.command.find(' '));
  name = name.substr(name.rfind('/') + 1);
  if (name.empty()) name = "host";
  if (e.process_id != 0 || e.rank >= 0) name += " (";
  if (e.process_id != 0) name += "pid " + std::to_string(e.process_id);
  if (e.process_id != 0 && e.rank >= 0) name += ", ";
  if (e.rank >= 0) name += "rank " + std::to_string(e.rank);
  if (e.process_id != 0 || e.rank >= 0) name += ")";
  return name;
}

inline std::string trace_track_name(profile const& source, trace_track::position const& at,
                                    bool one_context) {
  if (at.process > 0) {
    std::string const stream = "stream " + std::to_string(at.stream);
    return one_context ? stream : "context " + std::to_string(at.context) + ", " + stream;
  }
  if (at.context == trace_plan::synchronization_context) return "waits for the device";
  std::string name = "thread " + std::to_string(at.stream);
  for (profile_thread const& thread : source.threads) {
    if (thread.ordinal != at.stream) continue;
    if (!thread.name.empty()) name = thread.name;
    if (thread.os_id != 0) name += " (" + std::to_string(thread.os_id) + ")";
  }
  return name;
}

inline void write_tracks(trace_events& events, profile const& source, vec<trace_track>& tracks) {
  std::uint32_t process = 0;
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < tracks.size(); ++i) {
    trace_track::position const at = tracks[i].at;
    bool const first = i == 0 || at.process != process;
    process = at.process;
    if (first) number = 0;
    if (first && process > 0) {
      events.place(trace_process(source, process), 0);
      events.name("process_name", trace_process_name(source, process));
      events.sort_index("process_sort_index", trace_process(source, process));
    }
    bool one_context = true;
    for (trace_track const& other : tracks)
      one_context &= other.at.process != process || other.at.context == at.context;
    std::string const name = trace_track_name(source, at, one_context);
    bool const nests = process == 0 && at.context != trace_plan::synchronization_context;
    auto const lanes = split_into_lanes(std::move(tracks[i].slices), nests);
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
      events.place(trace_process(source, process), ++number);
      std::string label = name;
      if (lane > 0) label += lane == 1 ? " (overlap)" : " (overlap " + std::to_string(lane) + ")";
      events.name("thread_name", label);
      events.sort_index("thread_sort_index", number);
      for (trace_slice const& slice : lanes[lane]) events.slice(slice);
    }
  }
}

}  // namespace detail

/// trace.json: Chrome trace events, for Perfetto and chrome://tracing. Times are microseconds since
/// the session began, exact to the ns. The first process is the host with a track a thread; each
/// device is a process with a track a stream.
/// Cost: 32 bytes an event that is written, besides the profile.
inline trace_summary write_trace(detail::text_writer& out, report_input const& input,
                                 trace_options const& options = {}) {
  profile const& source = input.source;
  detail::trace_labels const labels(input, options.mangled_names);
  detail::trace_plan plan(input, labels, options.max_events);
  detail::trace_events events(out, input, labels, plan);
  trace_summary summary;
  summary.left_out = plan.left_out();
  summary.without_time = plan.without_time();
  if (summary.left_out > 0)
    summary.problem = "The trace ends early: " + detail::human_count(summary.left_out).text() +
                      " later records are left out, because it is limited to " +
                      detail::human_count(options.max_events).text() +
                      " events; trace fewer steps (active=) or ranges (only=) to see them.";

  out.write("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
  events.place(detail::trace_process(source, 0), 0);
  events.name("process_name", detail::trace_process_name(source, 0));
  events.sort_index("process_sort_index", detail::trace_process(source, 0));
  for (std::size_t i = 0; i < source.spans.size(); ++i)
    if (source.spans[i].begin < plan.cutoff()) events.span(source.spans[i], i + 1);
  if (summary.left_out > 0) {
    events.name("thread_name", "trace");
    events.mark(summary.problem, plan.cutoff());
  }
  for (memory_point const& point : input.memory.timeline)
    if (point.time < plan.cutoff()) events.memory_in_use(point);
  detail::write_tracks(events, source, plan.tracks());
  summary.events = events.count();

  out.write("\n],\n\"otherData\":");
  detail::json_writer json(out);
  json.object();
  json.text("strata", detail::version_text());
  json.text("host", source.environment.host);
  json.text("command", source.environment.command);
  json.text("started_at", source.environment.started_at);
  json.integer("events_left_out", summary.left_out);
  json.integer("records_without_time", summary.without_time);
  json.array("problems");
  for (std::string const& problem : source.problems) json.text({}, problem);
  if (!summary.problem.empty()) json.text({}, summary.problem);
  json.end_array();
  json.end_object();
  out.write("}\n");
  return summary;
}

STRATA_END

#endif  // STRATA_REPORT_TRACE_HPP
