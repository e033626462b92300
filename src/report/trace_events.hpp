#include <strata/version.hpp>
#ifndef STRATA_REPORT_TRACE_EVENTS_HPP
#define STRATA_REPORT_TRACE_EVENTS_HPP

// The events of a trace, in whichever format a sink writes them.

#include <strata/base/containers.hpp>
#include <strata/base/json_writer.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/text.hpp>
#include <strata/base/text_writer.hpp>
#include <strata/base/vec.hpp>
#include <strata/tables/columns.hpp>
#include "trace.hpp"
#include "trace_plan.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

STRATA_BEGIN

namespace detail {

/// What each record says in a trace of any format.
class trace_events {
 public:
  /// `arrows`: how many begin at each of the launches; `projected`: what slices of ranges on
  /// streams number.
  trace_events(trace_sink& sink, profile const& source, trace_labels const& labels,
               vec<std::uint32_t> const& arrows,
               vec<projected_range> const* projected = nullptr) noexcept
      : sink_(sink), source_(source), labels_(labels), arrows_(arrows), projected_(projected) {}

  void slice(trace_slice const& slice) {
    switch (slice.kind) {
      case slice_kind::step:
        step(source_.steps[slice.index]);
        break;
      case slice_kind::range:
        range(source_.ranges[slice.index]);
        break;
      case slice_kind::driver:
        driver(source_.launches[slice.index]);
        break;
      case slice_kind::kernel:
        kernel(source_.kernels[slice.index], slice);
        break;
      case slice_kind::copy:
        copy(source_.copies[slice.index], slice);
        break;
      case slice_kind::synchronization:
        wait(source_.synchronizations[slice.index]);
        break;
      case slice_kind::span:
        describe(source_.spans[slice.index]);
        break;
      case slice_kind::projection:
        projection((*projected_)[slice.index]);
        break;
    }
    sink_.slice(slice.begin, slice.end, arrows_of(slice));
  }

  /// A span that is on no track, since it may overlap others and end in another thread.
  void async(span_record const& span, std::uint64_t number) {
    describe(span);
    sink_.async(span.begin, span.end, number, name_text(source_, span.name));
  }

  void mark(span_record const& span) {
    describe(span);
    sink_.instant(span.begin);
  }

 private:
  void describe(span_record const& span) {
    sink_.begin(name_text(source_, span.name), trace_categories::nvtx);
    sink_.integer(trace_keys::thread, span.thread);
    if (span.kind != span_kind::mark) sink_.integer(trace_keys::end_thread, span.end_thread);
    if (span.domain != 0) sink_.text(trace_keys::domain, name_text(source_, span.domain));
    if (span.step != no_step) sink_.integer(trace_keys::step, span.step);
  }

  void step(step_record const& record) {
    sink_.begin(sentence("step ") << record.step, trace_categories::step);
    sink_.integer(trace_keys::step, record.step);
  }

  void given(trace_key const& key, double value) {
    if (is_finite(value)) sink_.number(key, value);
  }

  void range(range_record const& record) {
    trace_labels::range_label const& label = labels_.range(record.node);
    sink_.begin(label.name, trace_categories::range);
    sink_.text(trace_keys::path, label.path);
    if (label.index != no_index) sink_.integer(trace_keys::index, label.index);
    if (source_.has_steps) sink_.integer(trace_keys::step, record.step);
    if (record.attribute == no_reference || record.attribute > source_.attributes.size()) return;
    attribute_record const& attribute = source_.attributes[record.attribute - 1];
    given(trace_keys::flops, attribute.flops);
    given(trace_keys::bytes, attribute.bytes);
    given(trace_keys::tokens, attribute.tokens);
    if (attribute.rank > 0)
      sink_.extent(trace_keys::shape, attribute.dimensions,
                   attribute.rank < 7 ? attribute.rank : 7);
    if (attribute.note != no_reference && attribute.note < source_.names.size())
      sink_.text(trace_keys::note, std::string_view(source_.names[attribute.note]));
  }

  void projection(projected_range const& range) {
    trace_labels::range_label const& label = labels_.range(range.node);
    sink_.begin(label.name, trace_categories::projection);
    sink_.text(trace_keys::path, label.path);
    if (source_.has_steps) sink_.integer(trace_keys::step, range.step);
  }

  void within(std::uint32_t node) {
    if (std::uint32_t const path = labels_.range(node).path) sink_.text(trace_keys::range, path);
  }

  void driver(driver_call_record const& record) {
    sink_.begin(event_name(record.kind), trace_categories::driver);
    sink_.integer(trace_keys::correlation, record.correlation);
    within(record.node);
    if ((record.flags & driver_call_record::in_capture) != 0) sink_.flag(trace_keys::captured);
  }

  /// What device work knows through the call that caused it.
  void cause(std::uint32_t correlation, trace_slice const& slice) {
    if (slice.launch != no_launch) {
      driver_call_record const& launch = source_.launches[slice.launch];
      within(launch.node);
      if (source_.has_steps) sink_.integer(trace_keys::step, launch.step);
    }
    sink_.integer(trace_keys::correlation, correlation);
  }

  void kernel(kernel_record const& k, trace_slice const& slice) {
    trace_labels::kernel_label const& label = labels_.kernel(k.name);
    sink_.begin(label.name, trace_categories::kernel);
    if (label.whole != 0) sink_.text(trace_keys::kernel, label.whole);
    if (label.mangled != 0) sink_.text(trace_keys::mangled, label.mangled);
    cause(k.correlation, slice);
    std::uint32_t const grid[] = {k.grid_x, k.grid_y, k.grid_z};
    std::uint32_t const block[] = {k.block_x, k.block_y, k.block_z};
    sink_.extent(trace_keys::grid, grid, 3);
    sink_.extent(trace_keys::block, block, 3);
    sink_.integer(trace_keys::registers, k.registers);
    sink_.integer(trace_keys::static_shared_bytes, k.static_shared_bytes);
    sink_.integer(trace_keys::dynamic_shared_bytes, k.dynamic_shared_bytes);
    if (k.captured_by == no_node) return;
    if (std::uint32_t const path = labels_.range(k.captured_by).path)
      sink_.text(trace_keys::captured_range, path);
  }

  void copy(copy_record const& record, trace_slice const& slice) {
    sink_.begin(event_name(record.kind), trace_categories::copy);
    cause(record.correlation, slice);
    sink_.integer(trace_keys::bytes, static_cast<std::int64_t>(record.bytes));
    if (record.kind != copy_kind::peer || record.peer.device == 0) return;
    std::int64_t const other = record.peer.device - 1;
    bool const receives = record.peer.receives != 0;
    sink_.integer(trace_keys::from_device, receives ? other : record.device);
    sink_.integer(trace_keys::to_device, receives ? record.device : other);
  }

  void wait(synchronization_record const& record) {
    sink_.begin(event_name(record.kind), trace_categories::synchronization);
    sink_.integer(trace_keys::correlation, record.correlation);
    if (record.stream != no_stream) sink_.integer(trace_keys::stream, record.stream);
  }

  trace_arrows arrows_of(trace_slice const& slice) const {
    if (slice.kind == slice_kind::driver) {
      return {source_.launches[slice.index].correlation, 1, arrows_[slice.index], true,
              slice.begin};
    }
    if (slice.arrow == 0) return {};
    driver_call_record const& launch = source_.launches[slice.launch];
    return {launch.correlation, slice.arrow, slice.arrow, false,
            launch.begin > slice.begin ? launch.begin : slice.begin};
  }

  trace_sink& sink_;
  profile const& source_;
  trace_labels const& labels_;
  vec<std::uint32_t> const& arrows_;
  vec<projected_range> const* projected_;  ///< null: no slice is of one
};

/// The number of a process in the trace: apart for each rank, so that traces can be joined.
inline std::uint32_t trace_process(profile const& source, std::uint32_t process) noexcept {
  std::int32_t const rank = source.environment.rank;
  return process + (rank < 0 ? 1u : 1000u * (static_cast<std::uint32_t>(rank) + 1));
}

/// What processes and tracks of a trace are called.
class trace_names {
 public:
  explicit trace_names(profile const& source) : source_(source) {
    for (profile_device const& device : source.environment.devices)
      devices_[device.ordinal] = &device;
    for (profile_thread const& thread : source.threads) threads_[thread.ordinal] = &thread;
  }

  /// `train (pid 42, rank 1)` or `GPU 0: NVIDIA H100`.
  std::string of_process(std::uint32_t process) const {
    profile_environment const& e = source_.environment;
    std::string name;
    if (process > 0) {
      name = sentence("GPU ") << (process - 1);
      profile_device const* const* const device = devices_.find(process - 1);
      return device == nullptr ? name : name + ": " + (*device)->name;
    }
    name = program_of(e.command);
    if (name.empty()) name = "host";
    if (e.process_id != 0 || e.rank >= 0) name += " (";
    if (e.process_id != 0) name += sentence("pid ") << e.process_id;
    if (e.process_id != 0 && e.rank >= 0) name += ", ";
    if (e.rank >= 0) name += sentence("rank ") << e.rank;
    if (e.process_id != 0 || e.rank >= 0) name += ")";
    return name;
  }

  std::string of_track(trace_track::identity const& line, bool one_context) const {
    if (line.process > 0) {
      std::string const stream = sentence("stream ")
                                 << line.stream << (line.is_work ? "" : ", ranges");
      return one_context ? stream : sentence("context ") << line.context << ", " << stream;
    }
    if (line.context == trace_plan::synchronization_context) return "waits for the device";
    std::string name = sentence("thread ") << line.stream;
    profile_thread const* const* const found = threads_.find(line.stream);
    if (found == nullptr) return name;
    profile_thread const& thread = **found;
    if (!thread.name.empty()) name = thread.name;
    if (thread.os_id != 0) name += sentence(" (") << thread.os_id << ")";
    return name;
  }

 private:
  profile const& source_;
  number_map<profile_device const*> devices_;  ///< by ordinal
  number_map<profile_thread const*> threads_;  ///< the same
};

/// The name of a lane of a track: the first one has that of the track.
inline std::string lane_name(std::string const& track, std::size_t lane) {
  if (lane == 0) return track;
  if (lane == 1) return track + " (overlap)";
  return sentence(track) << " (overlap " << lane << ")";
}

/// The uses of a device. Each value is the mean of a range, not a sample; what no range has is 0.
/// `uses`: of all devices, in their order.
inline void write_uses(trace_sink& sink, std::uint32_t process, std::uint32_t device,
                       trace_plan const& plan, vec<use_track const*> const& uses) {
  std::uint32_t number = 0;
  std::size_t next =
      uses.count_first([device](use_track const* use) { return use->device < device; });
  for (; next < uses.size() && uses[next]->device == device; ++next) {
    use_track const& track = *uses[next];
    sink.track(trace_track_kind::use, process, ++number, track.name);
    for (use_track::point const& point : track.points)
      if (point.time < plan.cutoff()) sink.use(point.time, point.use / 10.0);
  }
}

inline void write_tracks(trace_sink& sink, trace_events& events, profile const& source,
                         trace_names const& names, trace_plan& plan) {
  vec<trace_track>& tracks = plan.tracks();
  vec<use_track const*> uses;
  for (use_track const& use : plan.uses()) uses.push_back(&use);
  uses.sort([](use_track const* a, use_track const* b) { return a->device < b->device; });
  std::uint32_t process = 0;
  std::uint32_t number = 0;
  bool one_context = true;
  for (std::size_t i = 0; i < tracks.size(); ++i) {
    trace_track::identity const line = tracks[i].line;
    bool const first = i == 0 || line.process != process;
    process = line.process;
    if (first) {
      number = 0;
      std::size_t last = i;  // tracks of one context follow each other
      while (last + 1 < tracks.size() && tracks[last + 1].line.process == process) ++last;
      one_context = tracks[last].line.context == line.context;
    }
    if (first && process > 0) {
      sink.process(trace_process(source, process), names.of_process(process));
      write_uses(sink, trace_process(source, process), process - 1, plan, uses);
    }
    std::string const name = names.of_track(line, one_context);
    if (process > 0 && line.is_work && sink.stream(line, number + 1, name)) {
      ++number;
      tracks[i].slices.sort();
      for (trace_slice const& slice : tracks[i].slices) events.slice(slice);
      continue;
    }
    bool const is_host = process == 0 && line.context != trace_plan::synchronization_context;
    bool const nests = is_host || !line.is_work;
    auto const lanes = split_into_lanes(std::move(tracks[i].slices), nests);
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
      sink.track(is_host && lane == 0 ? trace_track_kind::thread : trace_track_kind::lane,
                 trace_process(source, process), ++number, lane_name(name, lane));
      for (trace_slice const& slice : lanes[lane]) events.slice(slice);
    }
  }
}

/// Ranges of the program's own that may overlap: as they were recorded, or on as many tracks as it
/// takes.
inline void write_spans(trace_sink& sink, trace_events& events, profile const& source,
                        std::int64_t cutoff) {
  vec<trace_slice> slices;
  for (std::size_t i = 0; i < source.spans.size(); ++i) {
    span_record const& span = source.spans[i];
    if (span.begin >= cutoff) continue;
    if (span.kind == span_kind::mark) {
      events.mark(span);
    } else if (sink.has_async()) {
      events.async(span, i + 1);
    } else {
      slices.push_back({span.begin, span.end < span.begin ? span.begin : span.end,
                        static_cast<std::uint32_t>(i), no_launch, 0, slice_kind::span, 0});
    }
  }
  if (slices.empty()) return;
  std::uint32_t number = 0;
  for (vec<trace_slice> const& lane : split_into_lanes(std::move(slices), false)) {
    sink.track(trace_track_kind::spans, trace_process(source, 0), ++number, "NVTX ranges");
    for (trace_slice const& slice : lane) events.slice(slice);
  }
}

/// All events of a trace.
inline trace_summary write_events(trace_sink& sink, table_input const& input,
                                  trace_labels const& labels, trace_plan& plan,
                                  trace_options const& options) {
  profile const& source = input.source;
  trace_events events(sink, source, labels, plan.arrows(), &plan.projected());
  trace_summary summary;
  summary.left_out = plan.left_out();
  summary.without_time = plan.without_time();
  if (summary.left_out > 0)
    summary.problem = sentence("The trace ends early: ")
                      << count_text(summary.left_out)
                      << " later records are left out, because it is limited to "
                      << count_text(options.max_events)
                      << " events; trace fewer steps (active=) or ranges (only=) to see them.";
  std::uint32_t const host = trace_process(source, 0);
  trace_names const names(source);
  sink.process(host, names.of_process(0));
  sink.track(trace_track_kind::process, host, 0, {});
  if (summary.left_out > 0) sink.remark(summary.problem, plan.cutoff());
  write_spans(sink, events, source, plan.cutoff());
  if (!input.memory.timeline.empty())
    sink.track(trace_track_kind::counter, host, 0, "device memory");
  for (memory_point const& point : input.memory.timeline)
    if (point.time < plan.cutoff()) sink.counter(point.time, point.bytes);
  write_tracks(sink, events, source, names, plan);
  summary.events = sink.count();
  return summary;
}

}  // namespace detail

STRATA_END

#endif  // STRATA_REPORT_TRACE_EVENTS_HPP
