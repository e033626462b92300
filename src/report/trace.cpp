#include "trace.hpp"

#include <strata/base/containers.hpp>
#include <strata/base/json_writer.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/text.hpp>
#include <strata/base/text_writer.hpp>
#include <strata/base/vec.hpp>
#include <strata/tables/collectives.hpp>
#include <strata/tables/columns.hpp>
#include "cuda_words.hpp"
#include "gzip_writer.hpp"
#include "trace_plan.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

STRATA_BEGIN

namespace detail {
namespace trace_parts {  // not anonymous: joined_trace::state has members of these types

// ---- words: those of PyTorch's profiler, which the readers know ----

std::string_view wait_name(synchronization_kind kind) noexcept {
  switch (kind) {
    case synchronization_kind::event:
      return "Event Sync";
    case synchronization_kind::stream_wait_event:
      return "Stream Wait Event";
    case synchronization_kind::stream:
      return "Stream Sync";
    case synchronization_kind::context:
      return "Context Sync";
    case synchronization_kind::unknown:
      break;
  }
  return "Sync";
}

std::string_view copy_name(copy_kind kind) noexcept {
  switch (kind) {
    case copy_kind::host_to_device:
      return "Memcpy HtoD";
    case copy_kind::device_to_host:
      return "Memcpy DtoH";
    case copy_kind::device_to_device:
      return "Memcpy DtoD";
    case copy_kind::host_to_host:
      return "Memcpy HtoH";
    case copy_kind::peer:
      return "Memcpy PtoP";
    case copy_kind::set:
      return "Memset";
    case copy_kind::unknown:
      break;
  }
  return "Memcpy";
}

// ---- text ----

std::string json_text(std::string_view text) {
  std::string made;
  text_writer out(made);
  write_json_string(out, text);
  (void)out.flush();
  return made;
}

/// Text on its way to a file, compressed or not.
class trace_text {
 public:
  trace_text(text_writer& out, trace_options const& options) : out_(out) {
    if (options.compressed) compressed_.emplace(out);
  }

  trace_text& operator<<(std::string_view text) {
    if (text.size() > buffer_.size() - used_) flush();
    if (text.size() > buffer_.size()) {
      pass_on(text);
    } else if (!text.empty()) {
      std::memcpy(&buffer_[used_], text.data(), text.size());
      used_ += text.size();
    }
    return *this;
  }
  trace_text& integer(std::int64_t value) { return end_at(integer_text(room(), value)); }
  trace_text& number(double value) { return end_at(double_text(room(), value)); }
  trace_text& microseconds(std::int64_t ns) { return end_at(microseconds_text(room(), ns)); }
  trace_text& quoted(std::string_view text) { return *this << json_text(text); }

  void finish() {
    flush();
    if (compressed_) compressed_->finish();
  }

 private:
  char* room() {
    if (buffer_.size() - used_ < longest_number) flush();
    return &buffer_[used_];
  }
  trace_text& end_at(char const* end) noexcept {
    used_ = static_cast<std::size_t>(end - buffer_.data());
    return *this;
  }
  void flush() {
    pass_on({buffer_.data(), used_});
    used_ = 0;
  }
  void pass_on(std::string_view text) {
    if (compressed_) {
      compressed_->write(text);
    } else {
      out_.write(text);
    }
  }

  text_writer& out_;
  std::optional<gzip_writer> compressed_;
  std::array<char, std::size_t{16} << 10> buffer_{};
  std::size_t used_ = 0;
};

// ---- names ----

/// What processes and tracks of a trace are called.
class trace_names {
 public:
  explicit trace_names(profile const& source) : source_(source) {
    for (profile_device const& device : source.environment.devices)
      devices_[device.ordinal] = &device;
    for (profile_thread const& thread : source.threads) threads_[thread.ordinal] = &thread;
  }

  /// `train (pid 42, rank 1)` or `GPU 0: NVIDIA H100 (rank 1)`.
  std::string of_process(std::uint32_t process) const {
    profile_environment const& e = source_.environment;
    std::string name;
    std::string rank;
    if (e.rank >= 0) rank = sentence("rank ") << e.rank;
    if (process > 0) {
      name = sentence("GPU ") << (process - 1);
      profile_device const* const* const device = devices_.find(process - 1);
      if (device != nullptr) name += ": " + (*device)->name;
      return rank.empty() ? name : name + " (" + rank + ")";
    }
    name = program_of(e.command);
    if (name.empty()) name = "host";
    if (e.process_id != 0)
      rank = sentence("pid ") << e.process_id << (rank.empty() ? "" : ", ") << rank;
    return rank.empty() ? name : name + " (" + rank + ")";
  }

  std::string of_track(trace_track::identity const& line, bool one_context) const {
    if (line.process > 0) {
      std::string const stream = sentence("stream ") << line.stream;
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
std::string lane_name(std::string const& track, std::size_t lane) {
  if (lane == 0) return track;
  if (lane == 1) return track + " (overlap)";
  return sentence(track) << " (overlap " << lane << ")";
}

// ---- events ----

/// Where the events of a run go in the file.
struct trace_place {
  std::int64_t zero;          ///< the time 0 of the file, in ns since the session began
  std::uint32_t host;         ///< the number of the host's process
  std::uint32_t devices;      ///< that of device 0; the others follow
  std::uint64_t first_arrow;  ///< no other run has the numbers from here on, 32 bits of them
};

/// What all runs of a file have so far.
struct trace_counts {
  std::uint64_t events = 0;
  std::uint64_t early_arrows = 0;  ///< to work that seems to begin before its call
};

/// Their numbers are above those of other arrows, and exact in a double, as readers in JavaScript
/// have them.
constexpr std::uint64_t first_early_arrow = std::uint64_t{1} << 52;

/// Writes the events of a run. In each row what is the same in many comes first, then the numbers,
/// and a row in the row of its range does not repeat what that one says: it compresses best so.
class run_events {
 public:
  run_events(trace_text& out, trace_counts& counts, table_input const& input,
             trace_options const& options, trace_place const& place)
      : out_(out),
        counts_(counts),
        input_(input),
        source_(input.source),
        options_(options),
        labels_(input, options.mangled_names),
        plan_(input, labels_, options.max_events),
        place_(place),
        names_(input.source),
        calls_(input.source) {
    for (std::string const& text : labels_.texts()) quoted_.push_back(json_text(text));
    kernel_shapes_.resize(quoted_.size());
    shown_.resize(quoted_.size());
    for (profile_device const& device : source_.environment.devices)
      multiprocessors_[device.ordinal] = device.multiprocessors;
    find_collectives();
  }

  trace_summary write() {
    trace_summary summary;
    summary.left_out = plan_.left_out();
    summary.without_time = plan_.without_time();
    if (summary.left_out > 0)
      summary.problem = sentence("The trace ends early: ")
                        << count_text(summary.left_out)
                        << " later records are left out, because it is limited to "
                        << count_text(options_.max_events)
                        << " events; trace fewer steps (active=) or ranges (only=) to see them.";
    process(0);
    if (summary.left_out > 0) remark(summary.problem, plan_.cutoff());
    spans();
    memory();
    tracks();
    return summary;
  }

 private:
  /// The row of a range that was written last.
  struct shown_range {
    std::uint32_t track = 0;
    std::int64_t end = 0;
  };
  /// What kernels of one name have in common most often, and its text.
  struct kernel_shape {
    std::array<std::uint32_t, 12> numbers{};
    std::string text;
  };

  void find_collectives() {
    collective_.resize(quoted_.size());
    bool any = false;
    for (kernel_row const& row : input_.kernels) {
      if (!row.collective) continue;
      collective_[labels_.kernel(row.name).name] = to_string(row.collective.operation);
      any = true;
    }
    if (!any) return;
    for (range_record const& range : source_.ranges)
      if (range.attribute != no_reference && range.attribute <= source_.attributes.size() &&
          is_of_nccl(range.node))
        messages_[{range.node, range.thread}][range.begin] = &range;
  }

  bool is_of_nccl(std::uint32_t node) const {
    return node < source_.nodes.size() &&
           begins_with(name_text(source_, source_.nodes[node].name), nccl_domain);
  }

  // -- rows --

  trace_text& row() { return out_ << (counts_.events++ == 0 ? "\n" : ",\n"); }
  /// `begin`: of the row, up to the kind of event.
  trace_text& row(std::string_view begin) { return row() << begin; }
  trace_text& slice_row(std::string_view category) {
    return row() << slice_begin_ << category << "\",\"name\":";
  }
  void set_track(std::uint32_t process, std::uint32_t track) {
    std::uint32_t const number = process == 0 ? place_.host : place_.devices + process - 1;
    track_ = sentence("\"pid\":") << number << ",\"tid\":" << track;
    slice_begin_ = "{\"ph\":\"X\"," + track_ + ",\"cat\":\"";
  }
  void timestamp(std::int64_t ns) {
    out_ << "\"ts\":";
    out_.microseconds(ns - place_.zero);
  }
  void at(std::int64_t ns) {
    out_ << track_ << ",";
    timestamp(ns);
  }
  void metadata(std::string_view what, std::string_view key, std::string const& value) {
    row("{\"ph\":\"M\",\"name\":\"")
        << what << "\"," << track_ << ",\"args\":{\"" << key << "\":" << value << "}}";
  }
  void process(std::uint32_t number) {
    set_track(number, 0);
    metadata("process_name", "name", json_text(names_.of_process(number)));
    metadata("process_sort_index", "sort_index", sentence() << place_.host + number);
  }
  void track(std::uint32_t process, std::string_view name) {
    ++last_track_;
    set_track(process, last_track_);
    metadata("thread_name", "name", json_text(name));
    metadata("thread_sort_index", "sort_index", sentence() << last_track_);
  }

  /// Ends the row of a slice: an arrow that it has, then when it is.
  void end(trace_slice const& slice, std::string_view arrow, std::uint32_t correlation) {
    if (!arrow.empty()) {
      out_ << arrow << "\"bind_id\":";
      out_.integer(static_cast<std::int64_t>(place_.first_arrow + correlation));
    }
    out_ << ",\"dur\":";
    out_.microseconds(slice.end - slice.begin) << ",";
    timestamp(slice.begin);
    out_ << "}";
  }
  void end(trace_slice const& slice) { end(slice, {}, 0); }

  // -- arguments: every slice has `args`, as readers expect --

  void begin_arguments() {
    out_ << ",\"args\":{";
    has_arguments_ = false;
  }
  trace_text& argument(std::string_view key) {
    if (has_arguments_) out_ << ",";
    has_arguments_ = true;
    return out_ << key;
  }
  void end_arguments() { out_ << "}"; }
  void integer(std::string_view key, std::int64_t value) { (out_ << key).integer(value); }
  void integer_argument(std::string_view key, std::int64_t value) { argument(key).integer(value); }
  void step_argument(std::uint32_t step) {
    if (step != no_step) integer_argument("\"step\":", step);
  }
  void given(std::string_view key, double value) {
    if (is_finite(value)) argument(key).number(value);
  }
  void text(std::string_view key, std::uint32_t number) {
    if (number != 0) argument(key) << quoted_[number];
  }

  // -- slices --

  void slice(trace_slice const& slice) {
    switch (slice.kind) {
      case slice_kind::step:
        return step(plan_.steps()[slice.index], slice);
      case slice_kind::range:
        return range(source_.ranges[slice.index], slice);
      case slice_kind::driver:
        return call(source_.launches[slice.index], slice);
      case slice_kind::kernel:
        return kernel(source_.kernels[slice.index], slice);
      case slice_kind::copy:
        return copy(source_.copies[slice.index], slice);
      case slice_kind::synchronization:
        return wait(source_.synchronizations[slice.index], slice);
      case slice_kind::projection:
        return projection(plan_.projected()[slice.index], slice);
    }
  }

  void step(step_record const& record, trace_slice const& slice) {
    slice_row("user_annotation") << "\"ProfilerStep#";
    out_.integer(record.step) << "\",\"args\":{\"step\":";
    out_.integer(record.step) << "}";
    end(slice);
  }

  void range_row(std::string_view category, std::uint32_t node, trace_slice const& slice) {
    trace_labels::range_label const& label = labels_.range(node);
    slice_row(category) << quoted_[label.name];
    if (label.path != 0) shown_[label.path] = {last_track_, slice.end};
  }
  /// Whether a slice lies in a row of the range that it belongs to, on its own track.
  bool is_in_range(std::uint32_t node, trace_slice const& slice) const {
    shown_range const& last = shown_[labels_.range(node).path];
    return last.track == last_track_ && slice.end <= last.end;
  }

  void range(range_record const& record, trace_slice const& slice) {
    range_row("user_annotation", record.node, slice);
    begin_arguments();
    if (source_.has_steps && source_.nodes[record.node].depth <= 1) step_argument(record.step);
    if (record.attribute != no_reference && record.attribute <= source_.attributes.size())
      attributes(source_.attributes[record.attribute - 1]);
    end_arguments();
    end(slice);
  }
  void attributes(attribute_record const& attribute) {
    given("\"flops\":", attribute.flops);
    given("\"bytes\":", attribute.bytes);
    given("\"tokens\":", attribute.tokens);
    std::uint32_t const rank = (std::min)(attribute.rank, 7u);
    for (std::uint32_t i = 0; i < rank; ++i) {
      if (i == 0) argument("\"shape\":[");
      integer(i == 0 ? "" : ",", attribute.dimensions[i]);
    }
    if (rank > 0) out_ << "]";
    if (attribute.note != no_reference && attribute.note < source_.names.size())
      argument("\"note\":").quoted(source_.names[attribute.note]);
  }

  void projection(projected_range const& range, trace_slice const& slice) {
    range_row("gpu_user_annotation", range.node, slice);
    begin_arguments();
    text("\"path\":", labels_.range(range.node).path);
    if (source_.has_steps && range.depth <= 1) step_argument(range.step);
    end_arguments();
    end(slice);
  }

  void call(driver_call_record const& record, trace_slice const& slice) {
    slice_row("cuda_runtime") << "\"" << calls_.of(record) << "\"";
    begin_arguments();
    if (!is_in_range(record.node, slice)) text("\"range\":", labels_.range(record.node).path);
    if ((record.flags & driver_call_record::in_capture) != 0) argument("\"captured\":true");
    integer_argument("\"correlation\":", record.correlation);
    end_arguments();
    end(slice, plan_.has_arrow(slice.index) ? ",\"flow_out\":true," : "", record.correlation);
    std::uint32_t const early = plan_.early(slice.index);
    if (early == 0) return;
    early_arrows_[slice.index] = counts_.early_arrows;
    for (std::uint32_t i = 1; i <= early; ++i) early_arrow("s\"", slice.index, i, slice.begin);
    counts_.early_arrows += early;
  }

  /// What device work knows through the call that caused it.
  void end_work(std::uint32_t correlation, trace_slice const& slice) {
    if (slice.launch != no_launch) {
      driver_call_record const& launch = source_.launches[slice.launch];
      if (!is_in_range(launch.node, slice)) {
        text("\"range\":", labels_.range(launch.node).path);
        if (source_.has_steps) step_argument(launch.step);
      }
    }
    integer_argument("\"correlation\":", correlation);
    end_arguments();
    end(slice, slice.has_arrow ? ",\"flow_in\":true," : "", correlation);
    if (slice.early != 0)
      early_arrow("f\",\"bp\":\"e\"", slice.launch, slice.early,
                  source_.launches[slice.launch].begin);
  }
  /// One end of an arrow to work that seems to begin before its call: a viewer would refuse one
  /// that goes back in time, so it has rows of its own, at the start of the call.
  void early_arrow(std::string_view phase, std::uint32_t launch, std::uint32_t number,
                   std::int64_t time) {
    std::uint64_t const* const before = early_arrows_.find(launch);
    row("{\"ph\":\"") << phase << ",\"cat\":\"launch\",\"name\":\"launch\",\"id\":";
    out_.integer(
        static_cast<std::int64_t>(first_early_arrow + (before == nullptr ? 0 : *before) + number))
        << ",";
    at(time);
    out_ << "}";
  }

  void kernel(kernel_record const& k, trace_slice const& slice) {
    trace_labels::kernel_label const& label = labels_.kernel(k.name);
    slice_row("kernel") << quoted_[label.name];
    begin_arguments();
    argument(shape_text(k, label));
    if (k.captured_by != no_node) text("\"captured_range\":", labels_.range(k.captured_by).path);
    if (!collective_[label.name].empty()) collective(slice, collective_[label.name]);
    end_work(k.correlation, slice);
  }

  std::string const& shape_text(kernel_record const& k, trace_labels::kernel_label const& label) {
    std::array<std::uint32_t, 12> const numbers = {k.device,
                                                   k.context,
                                                   k.stream,
                                                   k.grid_x,
                                                   k.grid_y,
                                                   k.grid_z,
                                                   k.block_x,
                                                   k.block_y,
                                                   k.block_z,
                                                   k.registers,
                                                   k.static_shared_bytes,
                                                   k.dynamic_shared_bytes};
    kernel_shape& shape = kernel_shapes_[label.whole != 0 ? label.whole : label.name];
    if (shape.numbers == numbers && !shape.text.empty()) return shape.text;
    shape.numbers = numbers;
    sentence text;
    text << "\"device\":" << k.device << ",\"context\":" << k.context << ",\"stream\":" << k.stream
         << ",\"grid\":[" << k.grid_x << "," << k.grid_y << "," << k.grid_z << "],\"block\":["
         << k.block_x << "," << k.block_y << "," << k.block_z << "],"
         << "\"registers per thread\":" << k.registers
         << ",\"shared memory\":" << std::uint64_t{k.static_shared_bytes} + k.dynamic_shared_bytes;
    std::uint32_t const* const count = multiprocessors_.find(k.device);
    if (count != nullptr && *count != 0) {
      double const blocks = 1.0 * k.grid_x * k.grid_y * k.grid_z / *count;
      text << ",\"blocks per SM\":" << significant(blocks);
    }
    if (label.whole != 0) text << ",\"kernel\":" << quoted_[label.whole];
    if (label.mangled != 0) text << ",\"mangled\":" << quoted_[label.mangled];
    return shape.text = text;
  }

  void collective(trace_slice const& slice, std::string_view operation) {
    argument("\"Collective name\":").quoted(operation);
    if (slice.launch != no_launch)
      given("\"In msg size\":", message_bytes(source_.launches[slice.launch]));
  }

  /// What NCCL's own range around a launch says of its message; NaN without one.
  double message_bytes(driver_call_record const& launch) const {
    auto const calls = messages_.find({launch.node, launch.thread});
    if (calls == messages_.end()) return not_a_number;
    auto call = calls->second.upper_bound(launch.begin);
    if (call == calls->second.begin()) return not_a_number;
    range_record const& range = *(--call)->second;
    return launch.begin <= range.end ? source_.attributes[range.attribute - 1].bytes : not_a_number;
  }

  void copy(copy_record const& record, trace_slice const& slice) {
    bool const is_set = record.kind == copy_kind::set;
    slice_row(is_set ? "gpu_memset" : "gpu_memcpy") << "\"" << copy_name(record.kind) << "\"";
    begin_arguments();
    integer_argument("\"device\":", record.device);
    integer_argument("\"context\":", record.context);
    integer_argument("\"stream\":", record.stream);
    if (record.kind == copy_kind::peer && record.peer.device != 0) {
      std::int64_t const other = record.peer.device - 1;
      bool const receives = record.peer.receives != 0;
      integer_argument("\"fromDevice\":", receives ? other : record.device);
      integer_argument("\"toDevice\":", receives ? record.device : other);
    }
    if (record.pageable != 0) argument("\"pageable\":true");
    integer_argument("\"bytes\":", static_cast<std::int64_t>(record.bytes));
    if (slice.end > slice.begin)
      given("\"memory bandwidth (GB/s)\":",
            static_cast<double>(record.bytes) / static_cast<double>(slice.end - slice.begin));
    end_work(record.correlation, slice);
  }

  void wait(synchronization_record const& record, trace_slice const& slice) {
    slice_row("cuda_sync") << "\"" << wait_name(record.kind) << "\"";
    begin_arguments();
    // HolisticTraceAnalysis takes what has a stream for work of the device.
    if (record.stream != no_stream) integer_argument("\"wait_on_stream\":", record.stream);
    integer_argument("\"correlation\":", record.correlation);
    end_arguments();
    end(slice);
  }

  // -- what is no slice --

  void remark(std::string_view text, std::int64_t time) {
    metadata("thread_name", "name", "\"trace\"");
    row("{\"ph\":\"i\",\"s\":\"g\",\"name\":").quoted(text) << ",";
    at(time);
    out_ << "}";
  }

  void span_row(std::string_view phase, span_record const& span) {
    row("{\"ph\":\"") << phase << "\",\"cat\":\"nvtx\",\"name\":";
    out_.quoted(name_text(source_, span.name)) << ",";
  }
  void describe(span_record const& span) {
    integer("\"args\":{\"thread\":", span.thread);
    if (span.kind != span_kind::mark) integer(",\"end_thread\":", span.end_thread);
    if (span.domain != 0) (out_ << ",\"domain\":").quoted(name_text(source_, span.domain));
    if (span.step != no_step) integer(",\"step\":", span.step);
    out_ << "},";
  }
  /// Ranges of the program's own that may overlap: on no track of a thread.
  void spans() {
    for (std::size_t i = 0; i < source_.spans.size(); ++i) {
      span_record const& span = source_.spans[i];
      if (span.begin >= plan_.cutoff()) continue;
      bool const is_mark = span.kind == span_kind::mark;
      for (bool const begins : {true, false}) {
        if (is_mark && !begins) continue;
        span_row(is_mark ? "i\",\"s\":\"p" : begins ? "b" : "e", span);
        if (begins) describe(span);
        if (!is_mark) integer("\"id2\":{\"local\":", static_cast<std::int64_t>(i + 1));
        if (!is_mark) out_ << "},";
        at(begins ? span.begin : span.end);
        out_ << "}";
      }
    }
  }

  template <class Value>
  void counter(std::string const& name, std::int64_t time, std::string_view unit,
               Value const& write_value) {
    row("{\"ph\":\"C\",") << track_ << ",\"name\":" << name << ",\"args\":{\"" << unit << "\":";
    write_value();
    out_ << "},";
    timestamp(time);
    out_ << "}";
  }
  void memory() {
    std::string const name = json_text("device memory");
    set_track(0, 0);
    for (memory_point const& point : input_.memory.timeline)
      if (point.time < plan_.cutoff())
        counter(name, point.time, "bytes", [&] { out_.integer(point.bytes); });
  }
  /// The uses of a device. Each value is the mean of a range, not a sample; what no range has is 0.
  void uses(std::uint32_t process) {
    set_track(process, 0);
    for (use_track const& track : plan_.uses()) {
      if (track.device != process - 1) continue;
      std::string const name = json_text(track.name);
      for (use_track::point const& point : track.points)
        if (point.time < plan_.cutoff())
          counter(name, point.time, "percent", [&] { out_.number(point.use / 10.0); });
    }
  }

  void tracks() {
    vec<trace_track>& all = plan_.tracks();
    std::uint32_t last = 0;
    bool one_context = true;
    for (std::size_t i = 0; i < all.size(); ++i) {
      trace_track::identity const line = all[i].line;
      if (line.process != last) {
        last = line.process;
        std::size_t end = i;  // tracks of one context follow each other
        while (end + 1 < all.size() && all[end + 1].line.process == last) ++end;
        one_context = all[end].line.context == line.context;
        process(last);
        uses(last);
      }
      std::string const name = names_.of_track(line, one_context);
      auto const lanes = split_into_lanes(std::move(all[i].slices));
      for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
        track(last, lane_name(name, lane));
        for (trace_slice const& each : lanes[lane]) slice(each);
      }
    }
  }

  trace_text& out_;
  trace_counts& counts_;
  table_input const& input_;
  profile const& source_;
  trace_options const& options_;
  trace_labels labels_;
  trace_plan plan_;
  trace_place place_;
  trace_names names_;
  call_names calls_;
  std::vector<std::string> quoted_;          ///< the texts of labels_ as JSON
  std::vector<kernel_shape> kernel_shapes_;  ///< by the number of a kernel's text
  std::vector<std::string> collective_;      ///< the operation, by the number of a kernel's name
  /// Where a kernel is a collective: the ranges that say something, by node, thread and begin.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::map<std::int64_t, range_record const*>>
      messages_;
  number_map<std::uint32_t> multiprocessors_;
  number_map<std::uint64_t> early_arrows_;  ///< by launch: how many there were before
  std::string track_;                       ///< of the events that follow
  std::string slice_begin_;                 ///< of their rows
  std::vector<shown_range> shown_;          ///< by the number of a path
  bool has_arguments_ = false;              ///< the row, so far
  std::uint32_t last_track_ = 0;
};

/// All of a file but its events.
class trace_document {
 public:
  trace_document(text_writer& out, trace_options const& options)
      : out_(out, options), options_(options) {}

  trace_text& out() noexcept { return out_; }
  trace_counts counts;

  /// `source`: of the one run, else null.
  void begin(std::int64_t base, profile const* source) {
    out_ << "{\"schemaVersion\":1,\"displayTimeUnit\":\"ns\",";
    if (base != 0) (out_ << "\"baseTimeNanoseconds\":").integer(base) << ",";
    if (source != nullptr) environment(source->environment);
    out_ << "\n\"traceEvents\":[";
  }

  void add_problems(profile const& source, trace_summary const& summary, std::string const& whose) {
    left_out_ += summary.left_out;
    without_time_ += summary.without_time;
    for (std::string const& problem : source.problems) problems_.push_back(whose + problem);
    if (!summary.problem.empty()) problems_.push_back(whose + summary.problem);
  }

  void finish(profile_environment const& environment) {
    std::string text;
    text_writer writer(text);
    json_writer json(writer);
    json.object();
    json.text("strata", version_text());
    json.text("host", environment.host);
    json.text("command", environment.command);
    json.text("started_at", environment.started_at);
    json.integer("events_left_out", left_out_);
    json.integer("records_without_time", without_time_);
    json.array("problems");
    for (std::string const& problem : problems_) json.text({}, problem);
    json.end_array();
    json.end_object();
    (void)writer.flush();
    out_ << "\n],\n\"otherData\":" << text << "}\n";
    out_.finish();
  }

 private:
  void environment(profile_environment const& e) {
    // HolisticTraceAnalysis finds the rank by a blank behind its colon, in a line of the file.
    if (e.rank >= 0) (out_ << "\"distributedInfo\": {\"rank\": ").integer(e.rank) << "},";
    if (e.devices.empty()) return;
    out_ << "\"deviceProperties\":[";
    for (profile_device const& device : e.devices) {
      if (&device != e.devices.begin()) out_ << ",";
      (out_ << "{\"id\":").integer(device.ordinal) << ",\"name\":";
      out_.quoted(device.name) << ",\"totalGlobalMem\":";
      out_.integer(static_cast<std::int64_t>(device.memory_bytes)) << ",\"computeMajor\":";
      out_.integer(device.compute_capability_major) << ",\"computeMinor\":";
      out_.integer(device.compute_capability_minor) << ",\"numSms\":";
      out_.integer(device.multiprocessors) << "}";
    }
    out_ << "],";
  }

  trace_text out_;
  trace_options options_;
  std::uint64_t left_out_ = 0;
  std::uint64_t without_time_ = 0;
  std::vector<std::string> problems_;
};

/// Processes of a run in a file: those of the host from 1000 on, since readers take the number of a
/// device's process for that of the device.
constexpr std::uint32_t host_process(std::uint32_t run) noexcept { return 1000 * (run + 1); }

}  // namespace trace_parts
using namespace trace_parts;
}  // namespace detail

trace_summary write_trace(detail::text_writer& out, table_input const& input,
                          trace_options const& options) {
  profile const& source = input.source;
  detail::trace_document document(out, options);
  detail::trace_place const place{detail::trace_origin(source), detail::host_process(0), 0, 0};
  document.begin(trace_begin(source), &source);
  detail::run_events run(document.out(), document.counts, input, options, place);
  trace_summary summary = run.write();
  summary.events = document.counts.events;
  document.add_problems(source, summary, {});
  document.finish(source.environment);
  return summary;
}

std::int64_t trace_begin(profile const& source) noexcept {
  std::int64_t const began_at = source.environment.started_at_unix_ns;
  return began_at == 0 ? 0 : began_at + detail::trace_origin(source);
}

struct joined_trace::state {
  state(detail::text_writer& out, std::int64_t from, trace_options const& wanted)
      : begin(from), options(wanted), document(out, wanted) {}

  std::int64_t begin;
  trace_options options;
  detail::trace_document document;
  profile_environment first;
  std::uint32_t runs = 0;
};

joined_trace::joined_trace(detail::text_writer& out, std::int64_t begin,
                           trace_options const& options)
    : state_(std::make_unique<state>(out, begin, options)) {
  state_->document.begin(begin, nullptr);
}

joined_trace::~joined_trace() = default;

trace_summary joined_trace::add(table_input const& input) {
  state& all = *state_;
  profile_environment const& environment = input.source.environment;
  std::uint32_t const host = detail::host_process(all.runs);
  detail::trace_place const place{all.begin - environment.started_at_unix_ns, host, host + 1,
                                  std::uint64_t{all.runs} << 32};
  std::uint64_t const before = all.document.counts.events;
  detail::run_events run(all.document.out(), all.document.counts, input, all.options, place);
  trace_summary summary = run.write();
  summary.events = all.document.counts.events - before;
  std::string whose;
  if (environment.rank >= 0) whose = detail::sentence("rank ") << environment.rank << ": ";
  all.document.add_problems(input.source, summary, whose);
  if (all.runs++ == 0) all.first = environment;
  return summary;
}

void joined_trace::finish() { state_->document.finish(state_->first); }

STRATA_END
