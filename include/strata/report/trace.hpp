#include <strata/version.hpp>
#ifndef STRATA_REPORT_TRACE_HPP
#define STRATA_REPORT_TRACE_HPP

#include <strata/base/macros.hpp>
#include <strata/base/text.hpp>
#include <strata/base/vec.hpp>
#include <strata/report/columns.hpp>
#include <strata/report/text_writer.hpp>
#include <strata/report/trace_plan.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

STRATA_BEGIN
namespace detail {

inline char const* event_name(api_kind kind) noexcept {
  switch (kind) {
    case api_kind::launch:
      return "launch";
    case api_kind::graph_launch:
      return "graph launch";
    case api_kind::copy:
      return "copy";
    case api_kind::set:
      return "set";
    case api_kind::allocate:
      return "allocate";
    case api_kind::release:
      return "release";
    case api_kind::begin_capture:
      return "begin capture";
    case api_kind::wait:
      return "wait";
    case api_kind::end_capture:
      return "end capture";
    default:
      return "driver call";
  }
}

inline char const* event_name(copy_kind kind) noexcept {
  switch (kind) {
    case copy_kind::host_to_device:
      return "copy host to device";
    case copy_kind::device_to_host:
      return "copy device to host";
    case copy_kind::device_to_device:
      return "copy device to device";
    case copy_kind::host_to_host:
      return "copy host to host";
    case copy_kind::peer:
      return "copy peer to peer";
    case copy_kind::set:
      return "set";
    default:
      return "copy";
  }
}

inline char const* event_name(synchronization_kind kind) noexcept {
  switch (kind) {
    case synchronization_kind::event:
      return "wait for event";
    case synchronization_kind::stream_wait_event:
      return "stream waits for event";
    case synchronization_kind::stream:
      return "wait for stream";
    case synchronization_kind::context:
      return "wait for context";
    default:
      return "wait";
  }
}

/// Writes records as trace events, one a line.
class trace_events {
 public:
  trace_events(text_writer& out, report_input const& input, trace_labels const& labels,
               trace_plan const& plan) noexcept
      : out_(out), input_(input), labels_(labels), plan_(plan) {}

  std::uint64_t count() const noexcept { return count_; }

  /// The track of the events that follow.
  void place(std::uint32_t process, std::uint32_t thread) {
    place_ = ",\"pid\":" + std::to_string(process) + ",\"tid\":" + std::to_string(thread);
  }

  /// Metadata of the track: `process_name`, `thread_name`.
  void name(std::string_view what, std::string_view name) {
    metadata(what);
    out_.write("{\"name\":");
    write_json_string(out_, name);
    out_.write("}}");
  }
  /// `process_sort_index`, `thread_sort_index`.
  void sort_index(std::string_view what, std::uint32_t index) {
    metadata(what);
    out_.write("{\"sort_index\":");
    out_.integer(index);
    out_.write("}}");
  }

  void slice(trace_slice const& slice) {
    separate();
    switch (slice.kind) {
      case slice_kind::step:
        step(input_.source.steps[slice.index]);
        break;
      case slice_kind::range:
        range(input_.source.ranges[slice.index]);
        break;
      case slice_kind::driver:
        driver(input_.source.launches[slice.index]);
        break;
      case slice_kind::kernel:
        kernel(input_.source.kernels[slice.index], slice);
        break;
      case slice_kind::copy:
        copy(input_.source.copies[slice.index], slice);
        break;
      case slice_kind::synchronization:
        wait(input_.source.synchronizations[slice.index]);
        break;
    }
    out_.write("},\"ph\":\"X\"");
    out_.write(place_);
    time(",\"ts\":", slice.begin);
    time(",\"dur\":", slice.end - slice.begin);
    out_.put('}');
    arrows(slice);
  }

  void memory_in_use(memory_point const& point) {
    separate();
    out_.write("{\"name\":\"device memory\",\"ph\":\"C\"");
    out_.write(place_);
    time(",\"ts\":", point.time);
    out_.write(",\"args\":{\"bytes\":");
    out_.integer(point.bytes);
    out_.write("}}");
  }

  /// A mark across all tracks.
  void mark(std::string_view text, std::int64_t at) {
    separate();
    out_.write("{\"name\":");
    write_json_string(out_, text);
    out_.write(",\"ph\":\"i\",\"s\":\"g\"");
    out_.write(place_);
    time(",\"ts\":", at);
    out_.put('}');
  }

  /// Of its own number: a slice of no track, since it may overlap others and end in another thread.
  void span(span_record const& span, std::uint64_t number) {
    bool const mark = span.kind == span_kind::mark;
    span_head(span);
    out_.write(mark ? ",\"ph\":\"i\",\"s\":\"p\"" : ",\"ph\":\"b\"");
    if (!mark) argument(",\"id\":", number);
    argument(",\"args\":{\"thread\":", span.thread);
    if (!mark) argument(",\"end_thread\":", span.end_thread);
    if (span.domain != 0) {
      out_.write(",\"domain\":");
      write_json_string(out_, name_text(input_.source, span.domain));
    }
    if (span.step != no_step) argument(",\"step\":", span.step);
    out_.put('}');
    out_.write(place_);
    time(",\"ts\":", span.begin);
    out_.put('}');
    if (mark) return;
    span_head(span);
    argument(",\"ph\":\"e\",\"id\":", number);
    out_.write(place_);
    time(",\"ts\":", span.end);
    out_.put('}');
  }

 private:
  void span_head(span_record const& span) {
    separate();
    out_.write("{\"name\":");
    write_json_string(out_, name_text(input_.source, span.name));
    out_.write(",\"cat\":\"nvtx\"");
  }

  void separate() {
    out_.write(count_ == 0 ? "\n" : ",\n");
    ++count_;
  }

  void time(std::string_view key, std::int64_t ns) {
    out_.write(key);
    out_.microseconds(ns);
  }

  void metadata(std::string_view what) {
    separate();
    out_.write("{\"name\":\"");
    out_.write(what);
    out_.write("\",\"ph\":\"M\"");
    out_.write(place_);
    out_.write(",\"args\":");
  }

  void named(std::string_view name, std::string_view category) {
    out_.write("{\"name\":\"");
    out_.write(name);
    out_.write("\",\"cat\":\"");
    out_.write(category);
    out_.write("\",\"args\":{");
  }

  template <class Integer>
  void argument(std::string_view key, Integer value) {
    out_.write(key);
    out_.integer(value);
  }

  void given(std::string_view key, double value) {
    if (!is_finite(value)) return;
    out_.write(key);
    out_.number(value);
  }

  void step(step_record const& record) {
    out_.write("{\"name\":\"step ");
    out_.integer(record.step);
    out_.write("\",\"cat\":\"step\",\"args\":{");
    argument("\"step\":", record.step);
  }

  void range(range_record const& record) {
    out_.write(labels_.range(record.node));
    if (input_.source.has_steps) argument(",\"step\":", record.step);
    if (record.attribute == no_reference || record.attribute > input_.source.attributes.size())
      return;
    attribute_record const& attribute = input_.source.attributes[record.attribute - 1];
    given(",\"flops\":", attribute.flops);
    given(",\"bytes\":", attribute.bytes);
    given(",\"tokens\":", attribute.tokens);
    if (attribute.rank > 0) out_.write(",\"shape\":\"");
    for (std::uint32_t i = 0; i < attribute.rank && i < 7; ++i) {
      if (i > 0) out_.put('x');
      out_.integer(attribute.dimensions[i]);
    }
    if (attribute.rank > 0) out_.put('"');
    if (attribute.note != no_reference && attribute.note < input_.source.names.size()) {
      out_.write(",\"note\":");
      write_json_string(out_, input_.source.names[attribute.note]);
    }
  }

  void driver(launch_record const& record) {
    named(event_name(record.kind), "driver");
    argument("\"correlation\":", record.correlation);
    std::string const& range = labels_.range_argument(record.node);
    if (!range.empty()) out_.put(',');
    out_.write(range);
    if ((record.flags & launch_record::in_capture) != 0) out_.write(",\"captured\":true");
  }

  /// What device work knows through the call that caused it.
  void cause(std::uint32_t correlation, trace_slice const& slice) {
    if (slice.launch != no_launch) {
      launch_record const& launch = input_.source.launches[slice.launch];
      std::string const& range = labels_.range_argument(launch.node);
      out_.write(range);
      if (!range.empty()) out_.put(',');
      if (input_.source.has_steps) {
        argument("\"step\":", launch.step);
        out_.put(',');
      }
    }
    argument("\"correlation\":", correlation);
  }

  void extent(std::string_view key, std::uint32_t x, std::uint32_t y, std::uint32_t z) {
    argument(key, x);
    out_.put('x');
    out_.integer(y);
    out_.put('x');
    out_.integer(z);
  }

  void kernel(kernel_record const& k, trace_slice const& slice) {
    out_.write(labels_.kernel(k.name));
    cause(k.correlation, slice);
    extent(",\"grid\":\"", k.grid_x, k.grid_y, k.grid_z);
    extent("\",\"block\":\"", k.block_x, k.block_y, k.block_z);
    argument("\",\"registers\":", k.registers);
    argument(",\"static_shared_bytes\":", k.static_shared_bytes);
    argument(",\"dynamic_shared_bytes\":", k.dynamic_shared_bytes);
    if (k.graph_node != 0) argument(",\"graph_node\":", k.graph_node);
  }

  void copy(copy_record const& record, trace_slice const& slice) {
    named(event_name(record.kind), "copy");
    cause(record.correlation, slice);
    argument(",\"bytes\":", record.bytes);
    if (record.graph_node != 0) argument(",\"graph_node\":", record.graph_node);
  }

  void wait(synchronization_record const& record) {
    named(event_name(record.kind), "synchronization");
    argument("\"correlation\":", record.correlation);
    argument(",\"stream\":", record.stream);
  }

  /// Arrows go from the begin of a call to the begin of its work, or to the begin of the call where
  /// the clocks put that later. Their number is the correlation; the second and later ones of a
  /// call, which launched a graph, have it in their lower half.
  void arrows(trace_slice const& slice) {
    if (slice.kind == slice_kind::driver) {
      std::uint32_t const correlation = input_.source.launches[slice.index].correlation;
      for (std::uint32_t i = 1; i <= plan_.arrows_of(slice.index); ++i)
        arrow("s\"", correlation, i, slice.begin);
    } else if (slice.arrow != 0) {
      launch_record const& launch = input_.source.launches[slice.launch];
      arrow("f\",\"bp\":\"e\"", launch.correlation, slice.arrow,
            launch.begin > slice.begin ? launch.begin : slice.begin);
    }
  }

  void arrow(std::string_view phase, std::uint32_t correlation, std::uint32_t number,
             std::int64_t at) {
    separate();
    out_.write("{\"name\":\"launch\",\"cat\":\"launch\",\"ph\":\"");
    out_.write(phase);
    argument(",\"id\":", (std::uint64_t{number} - 1) << 32 | correlation);
    out_.write(place_);
    time(",\"ts\":", at);
    out_.put('}');
  }

  text_writer& out_;
  report_input const& input_;
  trace_labels const& labels_;
  trace_plan const& plan_;
  std::string place_;
  std::uint64_t count_ = 0;
};

}  // namespace detail

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
