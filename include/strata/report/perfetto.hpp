#include <strata/version.hpp>
#ifndef STRATA_REPORT_PERFETTO_HPP
#define STRATA_REPORT_PERFETTO_HPP

#include <strata/base/macros.hpp>
#include <strata/base/memory.hpp>
#include <strata/base/vec.hpp>
#include <strata/report/trace.hpp>
#include <strata/tables/text_writer.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>

STRATA_BEGIN
namespace detail {

/// Numbers of the fields that are written: the message, then the name in Perfetto's definitions.
/// Source: github.com/google/perfetto, protos/perfetto/trace, 2026-08; each file has the name of
/// the message.
namespace perfetto {
using field = std::uint32_t;
inline constexpr field trace_packet = 1;
inline constexpr field packet_clock_snapshot = 6;
inline constexpr field packet_timestamp = 8;
inline constexpr field packet_trusted_packet_sequence_id = 10;
inline constexpr field packet_track_event = 11;
inline constexpr field packet_interned_data = 12;
inline constexpr field packet_sequence_flags = 13;
inline constexpr field packet_compressed_packets = 50;
inline constexpr field packet_trace_packet_defaults = 59;
inline constexpr field packet_track_descriptor = 60;
inline constexpr field defaults_track_event_defaults = 11;
inline constexpr field defaults_timestamp_clock_id = 58;
inline constexpr field snapshot_clocks = 1;
inline constexpr field snapshot_primary_trace_clock = 2;
inline constexpr field clock_clock_id = 1;
inline constexpr field clock_timestamp = 2;
inline constexpr field clock_is_incremental = 3;
inline constexpr field event_category_iids = 3;
inline constexpr field event_debug_annotations = 4;
inline constexpr field event_type = 9;
inline constexpr field event_name_iid = 10;
inline constexpr field event_track_uuid = 11;
inline constexpr field event_name = 23;
inline constexpr field event_counter_value = 30;
inline constexpr field event_double_counter_value = 44;
inline constexpr field event_flow_ids = 47;
inline constexpr field event_terminating_flow_ids = 48;
inline constexpr field annotation_name_iid = 1;
inline constexpr field annotation_bool_value = 2;
inline constexpr field annotation_int_value = 4;
inline constexpr field annotation_double_value = 5;
inline constexpr field annotation_string_value = 6;
inline constexpr field annotation_string_value_iid = 17;
inline constexpr field interned_event_categories = 1;
inline constexpr field interned_event_names = 2;
inline constexpr field interned_debug_annotation_names = 3;
inline constexpr field interned_debug_annotation_string_values = 29;
inline constexpr field entry_iid = 1;
inline constexpr field entry_name = 2;
inline constexpr field track_uuid = 1;
inline constexpr field track_name = 2;
inline constexpr field track_process = 3;
inline constexpr field track_thread = 4;
inline constexpr field track_parent_uuid = 5;
inline constexpr field track_counter = 8;
inline constexpr field track_sibling_order_rank = 12;
inline constexpr field track_sibling_merge_behavior = 15;
inline constexpr field process_pid = 1;
inline constexpr field process_legacy_sort_index = 3;
inline constexpr field process_process_name = 6;
inline constexpr field thread_pid = 1;
inline constexpr field thread_tid = 2;
inline constexpr field thread_legacy_sort_index = 3;
inline constexpr field thread_thread_name = 5;
inline constexpr field counter_unit = 3;
inline constexpr field counter_unit_name = 6;
enum : std::uint64_t {
  SEQ_INCREMENTAL_STATE_CLEARED = 1,
  SEQ_NEEDS_INCREMENTAL_STATE = 2,
  TYPE_SLICE_BEGIN = 1,
  TYPE_SLICE_END = 2,
  TYPE_INSTANT = 3,
  TYPE_COUNTER = 4,
  UNIT_SIZE_BYTES = 3,
  SIBLING_MERGE_BEHAVIOR_NONE = 2,
  BUILTIN_CLOCK_BOOTTIME = 6,
  sequence_clock = 64  ///< the first of those that belong to a sequence
};
}  // namespace perfetto

/// A message of protocol buffers, field by field in any order.
class proto_message {
 public:
  std::string_view bytes() const noexcept { return {bytes_.data(), used_}; }
  std::size_t size() const noexcept { return used_; }
  void clear() noexcept { used_ = 0; }

  void integer(perfetto::field field, std::uint64_t value) {
    end_at(varint(varint(room(2 * longest), field << 3), value));
  }
  void fixed(perfetto::field field, std::uint64_t value) {
    char* to = varint(room(longest + 8), field << 3 | 1);
    for (unsigned i = 0; i < 64; i += 8) *to++ = static_cast<char>(value >> i);
    end_at(to);
  }
  /// Bytes, or a message that is complete.
  void bytes(perfetto::field field, std::string_view value) {
    end_at(varint(varint(room(2 * longest), field << 3 | 2), value.size()));
    append(value);
  }
  /// What is not UTF-8 becomes U+FFFD.
  void text(perfetto::field field, std::string_view value) {
    std::string valid;
    std::size_t done = 0;
    for (std::size_t index = 0; index < value.size();) {
      utf8_character const c = decode_utf8(value, index);
      if (!c.valid) valid.append(value.substr(done, index - done)).append(replacement);
      index += c.length;
      if (!c.valid) done = index;
    }
    bytes(field, done == 0 ? value : std::string_view(valid.append(value.substr(done))));
  }
  void append(std::string_view bytes) {
    if (!bytes.empty()) std::memcpy(room(bytes.size()), bytes.data(), bytes.size());
    used_ += bytes.size();
  }

 private:
  friend class inner_message;
  static constexpr std::size_t longest = 10;  // of a number
  static constexpr std::size_t ends = 64;     // room for the lengths of messages that end here

  static char* varint(char* to, std::uint64_t value) noexcept {
    for (; value >= 0x80; value >>= 7) *to++ = static_cast<char>(value | 0x80);
    *to++ = static_cast<char>(value);
    return to;
  }
  char* room(std::size_t size) {
    if (bytes_.size() - used_ < size + ends) bytes_.resize(2 * bytes_.size() + size + ends);
    return bytes_.data() + used_;
  }
  void end_at(char const* end) noexcept { used_ = static_cast<std::size_t>(end - bytes_.data()); }

  vec<char> bytes_;
  std::size_t used_ = 0;
};

/// A message within another: what is written from here to the end of the block.
class inner_message {
 public:
  inner_message(proto_message& in, perfetto::field field) : in_(in) {
    in.end_at(in.varint(in.room(in.longest + 1), field << 3 | 2) + 1);
    begin_ = in.used_;
  }
  ~inner_message() {
    char length[proto_message::longest];
    std::size_t const size = in_.used_ - begin_;
    auto const bytes = static_cast<std::size_t>(in_.varint(length, size) - length);
    char* const to = in_.bytes_.data() + begin_;            // the message has room for its length
    if (bytes > 1) std::memmove(to + bytes - 1, to, size);  // one byte was left for the length
    std::memcpy(to - 1, length, bytes);
    in_.used_ += bytes - 1;
  }
  inner_message(inner_message const&) = delete;
  inner_message& operator=(inner_message const&) = delete;

 private:
  proto_message& in_;
  std::size_t begin_;
};

/// Deflate (RFC 1951) in zlib's frame (RFC 1950), with the codes that every reader knows: what was
/// there within 32 KB becomes a reference. Of events a fifth is left.
class deflater {
 public:
  /// Returns: the compressed bytes, until the next call.
  std::string_view compress(std::string_view from) {
    bytes_.resize(from.size() + from.size() / 8 + 64);
    to_ = bytes_.data();
    for (std::uint32_t& position : places_) position = nowhere;
    put(0x0178, 16);
    put(3, 3);  // the last block, with fixed codes
    for (std::size_t index = 0; index < from.size();) index += next(from, index);
    symbol(256);
    put(0, (8 - count_ % 8) % 8);
    std::uint32_t const sum = adler(from);
    for (unsigned shift = 32; shift > 0;) put(sum >> (shift -= 8) & 0xff, 8);
    for (; count_ > 0; count_ -= 8, bits_ >>= 8) *to_++ = static_cast<char>(bits_);
    return {bytes_.data(), static_cast<std::size_t>(to_ - bytes_.data())};
  }

 private:
  static constexpr std::uint32_t nowhere = 0xffffffffu;
  static constexpr std::size_t shortest = 4;
  static constexpr std::size_t longest = 258;
  static constexpr std::size_t window = 32768;

  /// Writes a byte, or a reference to what was there before. Returns: how many bytes that was.
  std::size_t next(std::string_view from, std::size_t index) {
    std::size_t const rest = from.size() - index;
    std::size_t const most = rest < longest ? rest : longest;
    std::size_t before = nowhere;
    std::uint32_t here;
    std::uint32_t there;
    if (rest >= shortest) {
      std::memcpy(&here, &from[index], shortest);
      std::uint32_t& position = places_[here * 2654435761u >> 20];
      before = position;
      position = static_cast<std::uint32_t>(index);
    }
    if (before != nowhere && index - before <= window) {
      std::memcpy(&there, &from[before], shortest);
      if (here == there) {
        std::size_t length = shortest;
        while (length + 8 <= most &&
               std::memcmp(&from[index + length], &from[before + length], 8) == 0)
          length += 8;
        while (length < most && from[index + length] == from[before + length]) ++length;
        reference(static_cast<unsigned>(length), static_cast<unsigned>(index - before));
        return length;
      }
    }
    symbol(static_cast<unsigned char>(from[index]));
    return 1;
  }

  void reference(unsigned length, unsigned distance) {
    unsigned rest = length - 3;
    unsigned extra = 0;
    while (rest >> extra >= 8) ++extra;
    symbol(length == longest ? 285 : 257 + 4 * extra + (rest >> extra));
    if (length != longest) put(rest & ((1u << extra) - 1), extra);
    rest = distance - 1;
    extra = 0;
    while (rest >> extra >= 4) ++extra;
    code(2 * extra + (rest >> extra), 5);
    put(rest & ((1u << extra) - 1), extra);
  }

  void symbol(unsigned value) {
    if (value < 144) return code(0x30 + value, 8);
    if (value < 256) return code(0x190 + value - 144, 9);
    if (value < 280) return code(value - 256, 7);
    code(0xC0 + value - 280, 8);
  }

  /// Codes are written with their first bit first.
  void code(unsigned code, unsigned count) {
    code = (code & 0x5555) << 1 | (code >> 1 & 0x5555);
    code = (code & 0x3333) << 2 | (code >> 2 & 0x3333);
    code = (code & 0x0f0f) << 4 | (code >> 4 & 0x0f0f);
    put(((code & 0xff) << 8 | code >> 8) >> (16 - count), count);
  }

  void put(std::uint64_t value, unsigned count) {
    bits_ |= value << count_;
    count_ += count;
    for (; count_ >= 32; count_ -= 8, bits_ >>= 8) *to_++ = static_cast<char>(bits_);
  }

  static std::uint32_t adler(std::string_view from) noexcept {
    std::uint32_t a = 1;
    std::uint32_t b = 0;
    for (std::size_t index = 0; index < from.size();) {
      std::size_t const end =
          from.size() - index < 5552 ? from.size() : index + 5552;  // no overflow
      for (; index < end; ++index) b += a += static_cast<unsigned char>(from[index]);
      a %= 65521;
      b %= 65521;
    }
    return b << 16 | a;
  }

  vec<char> bytes_;
  char* to_ = nullptr;
  std::uint64_t bits_ = 0;
  unsigned count_ = 0;
  std::uint32_t places_[4096] = {};  // of four bytes, by their hash
};

/// Writes Perfetto's own format, event by event. A track is a sequence of packets: names are in it
/// once, then their numbers; times are the distance to the event before. What a reader has to know
/// is repeated every MB, and packets are compressed by 64 KB, so that a file that was cut opens.
/// Requires: the slices of a track in the order of their begins; each contains the next or is
/// apart. Threads: one at a time. Errors: those of `out`. Cost: 64 KB, and a byte for each text.
class perfetto_writer final : public trace_sink {
 public:
  /// `texts`: what is given by number. No event is before `earliest`.
  perfetto_writer(text_writer& out, vec<std::string> const& texts, std::int64_t earliest)
      : out_(out), texts_(texts), origin_(earliest < 0 ? earliest : 0) {
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
    place_.process.clear();
    place_.process_id = uuid(process, trace_track_kind::process, 0);
    if (flow_base_ == 0) flow_base_ = place_.process_id;
    inner_message const packet(place_.process, perfetto::trace_packet);
    inner_message const track(place_.process, perfetto::packet_track_descriptor);
    place_.process.integer(perfetto::track_uuid, place_.process_id);
    inner_message const descriptor(place_.process, perfetto::track_process);
    place_.process.integer(perfetto::process_pid, process);
    place_.process.integer(perfetto::process_legacy_sort_index, process);
    place_.process.text(perfetto::process_process_name, name);
  }

  void track(trace_track_kind kind, std::uint32_t process, std::uint32_t number,
             std::string_view name) override {
    begin_sequence(uuid(process, kind, number));
    if (kind == trace_track_kind::process) return;
    inner_message const packet(place_.descriptors, perfetto::trace_packet);
    inner_message const track(place_.descriptors, perfetto::packet_track_descriptor);
    place_.descriptors.integer(perfetto::track_uuid, place_.track);
    if (kind == trace_track_kind::thread) {
      inner_message const descriptor(place_.descriptors, perfetto::track_thread);
      place_.descriptors.integer(perfetto::thread_pid, process);
      // Threads of different ranks differ.
      place_.descriptors.integer(perfetto::thread_tid, std::uint64_t{process} * 1000 + number);
      place_.descriptors.integer(perfetto::thread_legacy_sort_index, number);
      place_.descriptors.text(perfetto::thread_thread_name, name);
      return;
    }
    place_.descriptors.integer(perfetto::track_parent_uuid, place_.process_id);
    place_.descriptors.text(perfetto::track_name, name);
    place_.descriptors.integer(perfetto::track_sibling_order_rank, number);
    if (kind == trace_track_kind::lane)
      place_.descriptors.integer(perfetto::track_sibling_merge_behavior,
                                 perfetto::SIBLING_MERGE_BEHAVIOR_NONE);
    if (kind != trace_track_kind::counter && kind != trace_track_kind::use) return;
    inner_message const descriptor(place_.descriptors, perfetto::track_counter);
    if (kind == trace_track_kind::use)
      return place_.descriptors.text(perfetto::counter_unit_name, "%");
    place_.descriptors.integer(perfetto::counter_unit, perfetto::UNIT_SIZE_BYTES);
  }

  void begin(std::uint32_t name, trace_category const& category) override {
    begin_event(category);
    if (is_new(known_.texts[name], as_name))
      intern(perfetto::interned_event_names, name + 1, texts_[name]);
    event_.integer(perfetto::event_name_iid, name + 1);
  }
  void begin(std::string_view name, trace_category const& category) override {
    begin_event(category);
    event_.text(perfetto::event_name, name);
  }

  void integer(trace_key const& key, std::int64_t value) override {
    argument const open(*this, key);
    event_.integer(perfetto::annotation_int_value, static_cast<std::uint64_t>(value));
  }
  void number(trace_key const& key, double value) override {
    argument const open(*this, key);
    std::uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    event_.fixed(perfetto::annotation_double_value, bits);
  }
  void flag(trace_key const& key) override {
    argument const open(*this, key);
    event_.integer(perfetto::annotation_bool_value, 1);
  }
  void text(trace_key const& key, std::string_view text) override {
    argument const open(*this, key);
    event_.text(perfetto::annotation_string_value, text);
  }
  void text(trace_key const& key, std::uint32_t number) override {
    std::uint64_t const id = 2 * (std::uint64_t{number} + 1);  // that of an extent is odd
    if (is_new(known_.texts[number], as_value))
      intern(perfetto::interned_debug_annotation_string_values, id, texts_[number]);
    argument const open(*this, key);
    event_.integer(perfetto::annotation_string_value_iid, id);
  }
  void extent(trace_key const& key, std::uint32_t const* sizes, std::uint32_t count) override {
    if (count != 3) return text(key, joined(sizes, count));
    std::uint32_t const hash = (sizes[0] * 31 + sizes[1]) * 31 + sizes[2];
    known_extent& known = known_.extents[hash * 2654435761u >> 24];
    if (known.state != known_.number || std::memcmp(known.sizes, sizes, sizeof known.sizes) != 0) {
      std::memcpy(known.sizes, sizes, sizeof known.sizes);
      known.state = known_.number;
      known.number = 2 * ++known_.extent_count + 1;
      intern(perfetto::interned_debug_annotation_string_values, known.number, joined(sizes, 3));
    }
    argument const open(*this, key);
    event_.integer(perfetto::annotation_string_value_iid, known.number);
  }

  void slice(std::int64_t begin, std::int64_t end, trace_arrows const& arrows) override {
    std::uint64_t late = 0;
    for (std::uint32_t i = arrows.first; i <= arrows.last; ++i) {
      std::uint64_t const flow = flow_base_ ^ arrows.number(i);
      if (arrows.begins) {
        event_.fixed(perfetto::event_flow_ids, flow);
      } else if (arrows.at == begin) {
        event_.fixed(perfetto::event_terminating_flow_ids, flow);
      } else {
        late = flow;  // it begins later than this slice: it ends where this ends
      }
    }
    close_until(begin);
    packet(perfetto::TYPE_SLICE_BEGIN, begin, event_);
    open_.push_back({end, late});
    ++count_;
  }
  /// No track of this format has events that overlap.
  void async(std::int64_t, std::int64_t, std::uint64_t, std::string_view) override {}
  void instant(std::int64_t time) override {
    packet(perfetto::TYPE_INSTANT, time, event_);
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
    packet(perfetto::TYPE_COUNTER, time, event_);
    ++count_;
  }

  void use(std::int64_t time, double percent) override {
    clear_event();
    std::uint64_t bits;
    std::memcpy(&bits, &percent, sizeof bits);
    event_.fixed(perfetto::event_double_counter_value, bits);
    packet(perfetto::TYPE_COUNTER, time, event_);
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

  /// An argument of the event, until the end of the block.
  struct argument : inner_message {
    argument(perfetto_writer& writer, trace_key const& key)
        : inner_message(writer.event_, perfetto::event_debug_annotations) {
      if (is_new(writer.known_.keys, 1u << key.number))
        writer.intern(perfetto::interned_debug_annotation_names, key.number, key.name());
      writer.event_.integer(perfetto::annotation_name_iid, key.number);
    }
  };
  struct open_slice {
    std::int64_t end;
    std::uint64_t flow;  ///< an arrow that ends where this ends, 0 for none
  };
  struct known_extent {
    std::uint32_t sizes[3];
    std::uint32_t state;
    std::uint64_t number;
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

  void intern(perfetto::field table, std::uint64_t number, std::string_view text) {
    inner_message const entry(interned_, table);
    interned_.integer(perfetto::entry_iid, number);
    interned_.text(perfetto::entry_name, text);
  }

  /// The events that follow are on this track.
  void begin_sequence(std::uint64_t track) {
    close_until((std::numeric_limits<std::int64_t>::max)());
    place_.track = track;
    place_.descriptors.clear();
    place_.descriptors.append(place_.process.bytes());
    ++place_.sequence;
    known_.end = 0;
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
  /// Ends slices that are over by then, the inner before the outer.
  void close_until(std::int64_t time) {
    while (!open_.empty() && open_.back().end <= time) {
      open_slice const slice = open_.back();
      open_.pop_back();
      end_.clear();
      if (slice.flow != 0) end_.fixed(perfetto::event_terminating_flow_ids, slice.flow);
      packet(perfetto::TYPE_SLICE_END, slice.end, end_);
    }
  }

  void packet(std::uint64_t type, std::int64_t time, proto_message& event) {
    if (time < last_) {
      inner_message const packet(chunk_, perfetto::trace_packet);
      begin_clock();
    }
    event.integer(perfetto::event_type, type);
    {
      inner_message const packet(chunk_, perfetto::trace_packet);
      chunk_.integer(perfetto::packet_timestamp, static_cast<std::uint64_t>(time - last_));
      chunk_.integer(perfetto::packet_trusted_packet_sequence_id, place_.sequence);
      chunk_.integer(perfetto::packet_sequence_flags, perfetto::SEQ_NEEDS_INCREMENTAL_STATE);
      chunk_.bytes(perfetto::packet_track_event, event.bytes());
      if (interned_.size() > 0) chunk_.bytes(perfetto::packet_interned_data, interned_.bytes());
    }
    last_ = time;
    interned_.clear();
    if (chunk_.size() >= chunk_size) write_chunk();
  }

  /// Forgets what a reader knows of this sequence, and begins it again.
  void begin_state() {
    known_.end = written_ + chunk_.size() + state_size;
    ++known_.number;
    known_.keys = known_.categories = 0;
    known_.texts.assign(texts_.size(), 0);
    chunk_.append(place_.descriptors.bytes());
    inner_message const packet(chunk_, perfetto::trace_packet);
    chunk_.integer(perfetto::packet_sequence_flags, perfetto::SEQ_INCREMENTAL_STATE_CLEARED);
    begin_clock();
    inner_message const defaults(chunk_, perfetto::packet_trace_packet_defaults);
    chunk_.integer(perfetto::defaults_timestamp_clock_id, perfetto::sequence_clock);
    inner_message const event(chunk_, perfetto::defaults_track_event_defaults);
    chunk_.integer(perfetto::event_track_uuid, place_.track);
  }

  /// The next time is the distance to the begin of the session, not to the event before. All
  /// snapshots are equal, since those of the trace's own clock may not go back.
  void begin_clock() {
    chunk_.integer(perfetto::packet_trusted_packet_sequence_id, place_.sequence);
    inner_message const snapshot(chunk_, perfetto::packet_clock_snapshot);
    for (bool const own : {true, false}) {
      inner_message const clock(chunk_, perfetto::snapshot_clocks);
      chunk_.integer(perfetto::clock_clock_id,
                     own ? perfetto::sequence_clock : perfetto::BUILTIN_CLOCK_BOOTTIME);
      chunk_.integer(perfetto::clock_timestamp, 0);
      if (own) chunk_.integer(perfetto::clock_is_incremental, 1);
    }
    chunk_.integer(perfetto::snapshot_primary_trace_clock, perfetto::BUILTIN_CLOCK_BOOTTIME);
    last_ = origin_;
  }

  void write_chunk() {
    std::string_view const compressed = deflater_.compress(chunk_.bytes());
    written_ += chunk_.size();
    if (compressed.size() + 16 < chunk_.size()) {
      chunk_.clear();
      inner_message const packet(chunk_, perfetto::trace_packet);
      chunk_.bytes(perfetto::packet_compressed_packets, compressed);
    }
    out_.write(chunk_.bytes());
    chunk_.clear();
  }

  /// What a reader knows of the sequence.
  struct known_state {
    vec<std::uint8_t> texts;
    std::uint32_t keys = 0;
    std::uint32_t categories = 0;
    known_extent extents[256] = {};
    std::uint64_t extent_count = 0;
    std::uint32_t number = 0;  ///< of the state
    std::uint64_t end = 0;     ///< where it is forgotten
  };
  /// The track of the events.
  struct sequence_place {
    proto_message process;
    proto_message descriptors;
    std::uint64_t process_id = 0;
    std::uint64_t track = 0;
    std::uint32_t sequence = 0;
  };

  text_writer& out_;
  vec<std::string> const& texts_;
  known_state known_;
  sequence_place place_;
  vec<open_slice> open_;
  proto_message chunk_;
  proto_message event_;
  proto_message end_;
  proto_message interned_;
  deflater deflater_;
  std::uint64_t flow_base_ = 0;  ///< arrows of different ranks differ
  std::uint64_t count_ = 0;
  std::uint64_t written_ = 0;  ///< before compression
  std::int64_t origin_;
  std::int64_t last_ = 0;
};

}  // namespace detail

/// trace.perfetto-trace: what write_trace writes, in Perfetto's own format and a twentieth of the
/// bytes. Times are exact to the ns.
inline trace_summary write_perfetto(detail::text_writer& out, table_input const& input,
                                    trace_options const& options = {20'000'000, false}) {
  detail::trace_labels const labels(input, options.mangled_names);
  detail::trace_plan plan(input, labels, options.max_events);
  detail::perfetto_writer sink(out, labels.texts(), plan.earliest());
  trace_summary const summary = detail::write_events(sink, input, labels, plan, options);
  sink.flush();
  return summary;
}

STRATA_END

#endif  // STRATA_REPORT_PERFETTO_HPP
