#include "perfetto.hpp"

#include <strata/base/macros.hpp>
#include <strata/base/memory.hpp>
#include <strata/base/text_writer.hpp>
#include <strata/base/vec.hpp>
#include "perfetto_fields.hpp"
#include "perfetto_gpu.hpp"
#include "protobuf.hpp"
#include "trace.hpp"
#include "trace_events.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>

STRATA_BEGIN

namespace detail {

/// Writes Perfetto's own format, event by event. A track is a sequence of packets: names are in it
/// once, then their numbers; times are the distance to the event before. What a reader has to know
/// is repeated every MB, so that a file that was cut opens.
/// A stream is a queue of Perfetto's GPUs. Requires: the slices of a track in the order of their
/// begins; each contains the next or is apart, but on streams. Threads: one at a time. Errors:
/// those of `out`. Cost: 64 KB, and a byte for each text.
class perfetto_writer final : public trace_sink {
 public:
  /// `texts`: what is given by number. The trace begins at `origin`.
  perfetto_writer(text_writer& out, profile const& source, vec<std::string> const& texts,
                  std::int64_t origin)
      : out_(out), texts_(texts), gpus_(source), origin_(origin) {
    known_.texts.resize(texts.size());
  }
  ~perfetto_writer() {
    (void)if_memory_allows([this] { flush(); });
  }
  perfetto_writer(perfetto_writer const&) = delete;
  perfetto_writer& operator=(perfetto_writer const&) = delete;

  std::uint64_t count() const override { return count_; }
  bool has_async() const override { return false; }

  void process(std::uint32_t process, std::string_view name) override {
    bool const is_host = sequence_.process_id == 0;
    if (is_host) sequence_.host_number = process;
    sequence_.process.clear();
    sequence_.process_id = uuid(process, trace_track_kind::process, 0);
    describe_process(process, name);
    if (is_host) sequence_.host.append(sequence_.process.bytes());
  }

  void track(trace_track_kind kind, std::uint32_t process, std::uint32_t number,
             std::string_view name) override {
    if (kind == trace_track_kind::use) return begin_use(process - sequence_.host_number - 1, name);
    begin_sequence(uuid(process, kind, number));
    sequence_.descriptors.append(sequence_.process.bytes());
    if (kind == trace_track_kind::process) return;
    inner_message const packet(sequence_.descriptors, perfetto::trace_packet);
    inner_message const track(sequence_.descriptors, perfetto::packet_track_descriptor);
    sequence_.descriptors.integer(perfetto::track_uuid, sequence_.track);
    if (kind == trace_track_kind::thread) {
      inner_message const descriptor(sequence_.descriptors, perfetto::track_thread);
      sequence_.descriptors.integer(perfetto::thread_pid, process);
      // Threads of different ranks differ.
      sequence_.descriptors.integer(perfetto::thread_tid, std::uint64_t{process} * 1000 + number);
      sequence_.descriptors.integer(perfetto::thread_legacy_sort_index, number);
      sequence_.descriptors.text(perfetto::thread_thread_name, name);
      return;
    }
    sequence_.descriptors.integer(perfetto::track_parent_uuid, sequence_.process_id);
    sequence_.descriptors.text(perfetto::track_name, name);
    sequence_.descriptors.integer(perfetto::track_sibling_order_rank, number);
    if (kind == trace_track_kind::lane)
      sequence_.descriptors.integer(perfetto::track_sibling_merge_behavior,
                                    perfetto::SIBLING_MERGE_BEHAVIOR_NONE);
    if (kind != trace_track_kind::counter) return;
    inner_message const descriptor(sequence_.descriptors, perfetto::track_counter);
    sequence_.descriptors.integer(perfetto::counter_unit, perfetto::UNIT_SIZE_BYTES);
  }

  bool stream(trace_track::identity const& line, std::uint32_t number,
              std::string_view name) override {
    begin_sequence(0);
    sequence_.is_stream = true;
    sequence_.line = line;
    sequence_.descriptors.append(sequence_.host.bytes());
    gpus_.describe(sequence_.descriptors);
    sequence_.numbers.clear();
    gpus_.stream(line, number, name, sequence_.meanings, sequence_.numbers);
    return true;
  }

  void begin(std::uint32_t name, trace_category const& category) override {
    if (sequence_.is_stream) {
      begin_work(name, category);
    } else {
      begin_event(category);
      event_.integer(perfetto::event_name_iid, name + 1);
    }
    if (is_new(known_.texts[name], as_name))
      intern(perfetto::interned_event_names, name + 1, texts_[name]);
  }
  void begin(std::string_view name, trace_category const& category) override {
    begin_event(category);
    event_.text(perfetto::event_name, name);
  }

  void integer(trace_key const& key, std::int64_t value) override {
    argument open(*this, key);
    open.message.integer(open.fields.integer, static_cast<std::uint64_t>(value));
  }
  void number(trace_key const& key, double value) override {
    argument open(*this, key);
    open.message.fixed(open.fields.number, bits_of(value));
  }
  void flag(trace_key const& key) override {
    argument open(*this, key);
    open.message.integer(open.fields.flag, 1);
  }
  void text(trace_key const& key, std::string_view text) override {
    argument open(*this, key);
    open.message.text(open.fields.text, text);
  }
  void text(trace_key const& key, std::uint32_t number) override {
    if (sequence_.is_stream && work_.takes_name(key, number)) return;
    std::uint64_t const id = 2 * (std::uint64_t{number} + 1);  // that of an extent is odd
    if (is_new(known_.texts[number], as_value))
      intern(perfetto::interned_debug_annotation_string_values, id, texts_[number]);
    argument open(*this, key);
    open.message.integer(open.fields.text_number, id);
  }
  void extent(trace_key const& key, std::uint32_t const* sizes, std::uint32_t count) override {
    if (sequence_.is_stream) return launch_extent(key, sizes);
    argument open(*this, key);
    open.message.text(open.fields.text, joined(sizes, count));
  }

  void slice(std::int64_t begin, std::int64_t end, trace_arrows const& arrows) override {
    ++count_;
    if (sequence_.is_stream) return finish_work(begin, end, arrows);
    if (arrows.begins && arrows.first <= arrows.last) {
      inner_message const correlation(event_, perfetto::event_gpu_correlation);
      for (std::uint32_t i = arrows.first; i <= arrows.last; ++i)
        event_.integer(perfetto::correlation_submitted_events, gpus_.event_of(arrows.number(i)));
    }
    close_until(begin);
    track_event(perfetto::TYPE_SLICE_BEGIN, begin);
    open_.push_back(end);
  }
  /// No track of this format has events that overlap.
  void async(std::int64_t, std::int64_t, std::uint64_t, std::string_view) override {}
  void instant(std::int64_t time) override {
    track_event(perfetto::TYPE_INSTANT, time);
    ++count_;
  }
  void remark(std::string_view text, std::int64_t time) override {
    clear_event();
    event_.text(perfetto::event_name, text);
    instant(time);
  }
  void counter(std::int64_t time, std::int64_t value) override {
    clear_event();
    event_.integer(perfetto::event_counter_value, static_cast<std::uint64_t>(value));
    track_event(perfetto::TYPE_COUNTER, time);
    ++count_;
  }

  void use(std::int64_t time, double percent) override {
    clear_event();
    event_.integer(perfetto::sample_descriptor_iid, perfetto_gpus::use_number);
    {
      inner_message const sample(event_, perfetto::sample_counters);
      event_.integer(perfetto::sample_counter_id, perfetto_gpus::use_number);
      event_.fixed(perfetto::sample_double_value, bits_of(percent));
    }
    packet(perfetto::packet_gpu_counter_event, time, event_);
    ++count_;
  }

  /// Ends what is open and hands everything on. Returns: whether all has arrived so far.
  bool flush() {
    close_until((std::numeric_limits<std::int64_t>::max)());
    if (chunk_.size() > 0) write_chunk();
    return out_.flush();
  }

 private:
  static constexpr std::size_t chunk_size = std::size_t{64} << 10;
  static constexpr std::size_t state_size = std::size_t{1} << 20;
  static constexpr std::uint8_t as_name = 1;
  static constexpr std::uint8_t as_value = 2;
  static constexpr std::uint8_t as_kernel = 4;

  /// Where arguments are, and their values of each kind.
  struct argument_fields {
    proto_field names;
    proto_field list;
    proto_field integer;
    proto_field number;
    proto_field flag;
    proto_field text;
    proto_field text_number;
  };
  static constexpr argument_fields of_event = {perfetto::interned_debug_annotation_names,
                                               perfetto::event_debug_annotations,
                                               perfetto::annotation_int_value,
                                               perfetto::annotation_double_value,
                                               perfetto::annotation_bool_value,
                                               perfetto::annotation_string_value,
                                               perfetto::annotation_string_value_iid};
  static constexpr argument_fields of_launch = {
      perfetto::interned_compute_arg_names, perfetto::launch_args,
      perfetto::argument_int_value,         perfetto::argument_double_value,
      perfetto::argument_int_value,         perfetto::argument_string_value,
      perfetto::argument_string_value_iid};

  /// An argument of the event, until the end of the block.
  struct argument {
    argument(perfetto_writer& writer, trace_key const& key)
        : message(writer.sequence_.is_stream ? writer.work_.launch : writer.event_),
          fields(writer.sequence_.is_stream ? of_launch : of_event),
          inner(message, fields.list) {
      if (is_new(writer.known_.keys, 1u << key.number))
        writer.intern(fields.names, key.number,
                      writer.sequence_.is_stream ? gpu_argument(key) : key.name());
      message.integer(perfetto::annotation_name_iid, key.number);
    }
    proto_message& message;
    argument_fields const& fields;
    inner_message inner;
  };

  /// Apart from those of other programs, whose traces may be in the same file.
  static std::uint64_t uuid(std::uint32_t process, trace_track_kind kind, std::uint32_t number) {
    std::uint64_t const packed = std::uint64_t{process} << 36 | std::uint64_t{number} << 4;
    return (packed + static_cast<std::uint64_t>(kind) + 1) * 0x9E3779B97F4A7C15u;
  }
  template <class Flags>
  static bool is_new(Flags& known, std::uint32_t flag) noexcept {
    bool const before = (known & flag) != 0;
    known = static_cast<Flags>(known | flag);
    return !before;
  }
  static std::string joined(std::uint32_t const* sizes, std::uint32_t count) {
    sentence text;
    for (std::uint32_t i = 0; i < count; ++i) text << (i == 0 ? "" : "x") << sizes[i];
    return text;
  }
  static std::uint64_t bits_of(double value) noexcept {
    std::uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
  }

  void intern(proto_field table, std::uint64_t number, std::string_view text) {
    inner_message const entry(interned_, table);
    interned_.integer(perfetto::entry_iid, number);
    interned_.text(perfetto::entry_name, text);
  }

  void describe_process(std::uint32_t process, std::string_view name) {
    inner_message const packet(sequence_.process, perfetto::trace_packet);
    inner_message const track(sequence_.process, perfetto::packet_track_descriptor);
    sequence_.process.integer(perfetto::track_uuid, sequence_.process_id);
    inner_message const descriptor(sequence_.process, perfetto::track_process);
    sequence_.process.integer(perfetto::process_pid, process);
    sequence_.process.integer(perfetto::process_legacy_sort_index, process);
    sequence_.process.text(perfetto::process_process_name, name);
  }

  /// The events that follow are on this track, or on a GPU.
  void begin_sequence(std::uint64_t track) {
    close_until((std::numeric_limits<std::int64_t>::max)());
    sequence_.track = track;
    sequence_.is_stream = false;
    sequence_.descriptors.clear();
    sequence_.meanings.clear();
    ++sequence_.id;
    known_.end = 0;
  }
  void begin_use(std::uint32_t device, std::string_view name) {
    begin_sequence(0);
    gpus_.describe(sequence_.descriptors);
    gpus_.use(device, name, sequence_.meanings);
  }

  void clear_event() {
    event_.clear();
    if (written_ + chunk_.size() >= known_.end) begin_state();
  }
  void begin_event(trace_category const& category) {
    clear_event();
    if (is_new(known_.categories, 1u << category.number))
      intern(perfetto::interned_event_categories, category.number, category.name);
    event_.integer(perfetto::event_category_iids, category.number);
  }
  void begin_work(std::uint32_t name, trace_category const& category) {
    clear_event();
    bool const is_kernel = category.number == trace_categories::kernel.number;
    work_.begin(name, is_kernel ? gpu_stage::kernel : gpu_stage::copy);
    integer(gpu_keys::device, sequence_.line.process - 1);
    integer(trace_keys::stream, sequence_.line.stream);
  }

  /// Each launch has the sizes and how many they are: blocks, threads of a block, all threads.
  void launch_extent(trace_key const& key, std::uint32_t const* sizes) {
    bool const is_grid = key.number == trace_keys::grid.number;
    proto_message& launch = work_.launch;
    std::uint64_t count = 1;
    {
      inner_message const open(
          launch, is_grid ? perfetto::launch_grid_size : perfetto::launch_workgroup_size);
      for (proto_field i = 0; i < 3; ++i) {
        launch.integer(i + 1, sizes[i]);
        count *= sizes[i];
      }
    }
    integer(key, static_cast<std::int64_t>(count));
    if (is_grid) work_.blocks = count;
    if (!is_grid) integer(gpu_keys::thread_count, static_cast<std::int64_t>(count * work_.blocks));
  }

  void finish_work(std::int64_t begin, std::int64_t end, trace_arrows const& arrows) {
    event_.append(sequence_.numbers.bytes());
    event_.integer(perfetto::work_stage_iid, static_cast<std::uint64_t>(work_.stage));
    bool const linked = arrows.first <= arrows.last;
    event_.integer(perfetto::work_event_id, linked ? gpus_.event_of(arrows.number(arrows.first))
                                                   : gpus_.event_without_arrow(count_));
    event_.integer(perfetto::work_duration, static_cast<std::uint64_t>(end - begin));
    event_.integer(perfetto::work_name_iid, work_.name + 1);
    if (work_.stage == gpu_stage::kernel) {
      if (is_new(known_.texts[work_.name], as_kernel)) intern_kernel();
      event_.integer(perfetto::work_kernel_iid, work_.name + 1);
    }
    event_.bytes(perfetto::work_launch, work_.launch.bytes());
    packet(perfetto::packet_gpu_render_stage_event, begin, event_);
  }
  void intern_kernel() {
    inner_message const entry(interned_, perfetto::interned_compute_kernels);
    interned_.integer(perfetto::entry_iid, work_.name + 1);
    interned_.text(perfetto::kernel_name, texts_[work_.mangled != 0 ? work_.mangled : work_.name]);
    if (work_.whole != 0) interned_.text(perfetto::kernel_demangled_name, texts_[work_.whole]);
    std::string const architecture = gpus_.architecture(sequence_.line.process - 1);
    if (!architecture.empty()) interned_.text(perfetto::kernel_arch, architecture);
  }

  /// Ends slices that are over by then, the inner before the outer.
  void close_until(std::int64_t time) {
    while (!open_.empty() && open_.back() <= time) {
      end_.clear();
      end_.integer(perfetto::event_type, perfetto::TYPE_SLICE_END);
      packet(perfetto::packet_track_event, open_.back(), end_);
      open_.pop_back();
    }
  }

  void track_event(std::uint64_t type, std::int64_t time) {
    event_.integer(perfetto::event_type, type);
    packet(perfetto::packet_track_event, time, event_);
  }
  void packet(proto_field kind, std::int64_t time, proto_message const& event) {
    if (time < sequence_.last) {
      inner_message const packet(chunk_, perfetto::trace_packet);
      begin_clock();
    }
    {
      inner_message const packet(chunk_, perfetto::trace_packet);
      chunk_.integer(perfetto::packet_timestamp, static_cast<std::uint64_t>(time - sequence_.last));
      chunk_.integer(perfetto::packet_trusted_packet_sequence_id, sequence_.id);
      chunk_.integer(perfetto::packet_sequence_flags, perfetto::SEQ_NEEDS_INCREMENTAL_STATE);
      chunk_.bytes(kind, event.bytes());
      if (interned_.size() > 0) chunk_.bytes(perfetto::packet_interned_data, interned_.bytes());
    }
    sequence_.last = time;
    interned_.clear();
    if (chunk_.size() >= chunk_size) write_chunk();
  }

  /// Forgets what a reader knows of this sequence, and begins it again.
  void begin_state() {
    known_.end = written_ + chunk_.size() + state_size;
    known_.keys = known_.categories = 0;
    known_.texts.assign(texts_.size(), 0);
    chunk_.append(sequence_.descriptors.bytes());
    interned_.append(sequence_.meanings.bytes());
    inner_message const packet(chunk_, perfetto::trace_packet);
    chunk_.integer(perfetto::packet_sequence_flags, perfetto::SEQ_INCREMENTAL_STATE_CLEARED);
    begin_clock();
    inner_message const defaults(chunk_, perfetto::packet_trace_packet_defaults);
    chunk_.integer(perfetto::defaults_timestamp_clock_id, perfetto::sequence_clock);
    if (sequence_.track == 0) return;
    inner_message const event(chunk_, perfetto::defaults_track_event_defaults);
    chunk_.integer(perfetto::event_track_uuid, sequence_.track);
  }

  /// The next time is the distance to the begin of the session, not to the event before. All
  /// snapshots are equal, since those of the trace's own clock may not go back.
  void begin_clock() {
    chunk_.integer(perfetto::packet_trusted_packet_sequence_id, sequence_.id);
    inner_message const snapshot(chunk_, perfetto::packet_clock_snapshot);
    for (bool const own : {true, false}) {
      inner_message const clock(chunk_, perfetto::snapshot_clocks);
      chunk_.integer(perfetto::clock_clock_id,
                     own ? perfetto::sequence_clock : perfetto::BUILTIN_CLOCK_BOOTTIME);
      chunk_.integer(perfetto::clock_timestamp, 0);
      if (own) chunk_.integer(perfetto::clock_is_incremental, 1);
    }
    chunk_.integer(perfetto::snapshot_primary_trace_clock, perfetto::BUILTIN_CLOCK_BOOTTIME);
    sequence_.last = origin_;
  }

  void write_chunk() {
    written_ += chunk_.size();
    out_.write(chunk_.bytes());
    chunk_.clear();
  }

  /// What a reader knows of the sequence.
  struct known_state {
    vec<std::uint8_t> texts;
    std::uint32_t keys = 0;
    std::uint32_t categories = 0;
    std::uint64_t end = 0;  ///< where it is forgotten
  };
  /// The track of the events, or the stream.
  struct sequence_state {
    proto_message host;         ///< the first process
    proto_message process;      ///< the last one
    proto_message descriptors;  ///< packets
    proto_message meanings;     ///< of the numbers of a GPU
    proto_message numbers;      ///< of work
    trace_track::identity line;
    bool is_stream = false;
    std::uint32_t host_number = 0;
    std::uint64_t process_id = 0;
    std::uint64_t track = 0;  ///< 0: on a GPU
    std::uint32_t id = 0;
    std::int64_t last = 0;  ///< time of the packet before
  };

  text_writer& out_;
  vec<std::string> const& texts_;
  perfetto_gpus gpus_;
  known_state known_;
  sequence_state sequence_;
  gpu_work work_;
  vec<std::int64_t> open_;  ///< where slices end
  proto_message chunk_;
  proto_message event_;
  proto_message end_;
  proto_message interned_;
  std::uint64_t count_ = 0;
  std::uint64_t written_ = 0;
  std::int64_t origin_;
};

}  // namespace detail

trace_summary write_perfetto(detail::text_writer& out, table_input const& input,
                             trace_options const& options) {
  detail::trace_labels const labels(input, options.mangled_names);
  detail::trace_plan plan(input, labels, options.max_events);
  detail::perfetto_writer sink(out, input.source, labels.texts(), plan.origin());
  trace_summary const summary = detail::write_events(sink, input, labels, plan, options);
  sink.flush();
  return summary;
}

STRATA_END
