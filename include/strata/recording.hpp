#include <strata/version.hpp>
#ifndef STRATA_RECORDING_HPP
#define STRATA_RECORDING_HPP

// Record now, report later: reads what `formats=recording` wrote, also in a program that was
// killed, and makes any report of it, on any machine. report_recording() needs Strata's
// implementation once in the program, as a session in code does.

#include <strata/base/macros.hpp>
#include <strata/base/text.hpp>
#include <strata/base/vec.hpp>
#include <strata/options.hpp>
#include <strata/profile.hpp>
#include <strata/session/report_files.hpp>
#include <strata/status.hpp>
#include <strata/tables/recording_format.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

STRATA_BEGIN

/// What of a recording is read.
enum class recording_view {
  report,   ///< what the session reported; where it did not, what was written until then
  timeline  ///< the same with every event that was written while the program ran, also those that
            ///< `log=` and `buffers=` had no room for
};

namespace detail {

/// Reads the members of a recording into a profile. What is not known is passed over, what is not
/// there stays as it was, and what is in a list goes behind what is there. Memory: twice that of
/// the profile, which has at most 64 MiB and 16 bytes for each one of the text: a real one has 8.
class recording_reader {
 public:
  /// `size`: of all the text.
  explicit recording_reader(std::size_t size)
      : room_((std::uint64_t{64} << 20) + 16 * std::uint64_t{size}) {}

  /// Returns: whether the text has the form of a profile, or of a piece, to its last byte.
  template <class Object>
  bool read(std::string_view text, Object& to) {
    rest_ = text;
    keys_.clear();
    return kind() == recorded_kind::object && read_object(to) && rest_.empty();
  }

  /// One member: read if it is the next one.
  template <class Value>
  void field(char const* name, Value& to) {
    if (taken_ || key_ != name) return;
    taken_ = true;
    good_ = good_ && read_value(to);
  }

 private:
  static constexpr std::size_t most_keys = 4096;
  static constexpr unsigned deepest = 16;

  template <class Object>
  bool read_object(Object& to) {
    while (read_key()) {
      taken_ = false;
      recorded_fields::each(*this, to);
      if (!taken_) skip(0);
      taken_ = true;
    }
    return good_;
  }

  template <class Value>
  bool read_value(Value& to) {
    recorded_kind const is = kind();
    if constexpr (std::is_floating_point<Value>::value) {
      std::string_view const bytes = take(sizeof to);
      if (is != recorded_kind::real || bytes.empty()) return false;
      std::memcpy(&to, bytes.data(), sizeof to);
      return true;
    } else if constexpr (std::is_same<Value, std::string>::value) {
      to = std::string(is == recorded_kind::text ? read_text() : std::string_view());
      return good_ && is == recorded_kind::text;
    } else if constexpr (is_vec<Value>) {
      return read_list(is, to);
    } else if constexpr (std::is_class<Value>::value) {
      return is == recorded_kind::object && read_object(to);
    } else {
      return is == recorded_kind::integer && read_integer(to);
    }
  }

  template <class Value>
  bool read_list(recorded_kind is, vec<Value>& to) {
    if constexpr (is_record<Value>) {
      std::size_t words = 0;
      std::size_t count = 0;
      if (is != recorded_kind::records || !read_shape(words, count)) return false;
      if (!make_room(count, sizeof(Value))) return false;
      std::size_t const before = to.size();
      to.resize(before + count);
      if (count != 0) read_words(to.data() + before, sizeof(Value) / 4, words, count);
    } else {
      if (is != recorded_kind::list) return false;
      for (std::uint64_t left = number(); left > 0 && good_; --left) {
        if (!make_room(1, sizeof(Value))) return false;
        to.emplace_back();
        good_ = read_value(to.back()) && good_;
      }
    }
    return good_;
  }

  /// Whether so many elements are no more than the text can be about.
  bool make_room(std::uint64_t count, std::size_t size) {
    good_ = good_ && count <= room_ / size;
    if (good_) room_ -= count * size;
    return good_;
  }

  template <class Integer>
  bool read_integer(Integer& to) {
    std::uint64_t const code = number();
    auto const value = static_cast<std::int64_t>(code >> 1 ^ (~(code & 1) + 1));
    if constexpr (std::is_same<Integer, bool>::value) {
      to = value != 0;
      return value == 0 || value == 1;
    } else {
      to = static_cast<Integer>(value);
      return static_cast<std::int64_t>(to) == value;
    }
  }

  /// Words of a record, and how many records: eight words take a byte at least.
  bool read_shape(std::size_t& words, std::size_t& count) {
    constexpr std::uint64_t most_words = 1024;
    std::uint64_t const each = number();
    std::uint64_t const all = number();
    if (!good_ || each == 0 || each > most_words || all > rest_.size() / ((each + 7) / 8))
      return good_ = false;
    words = static_cast<std::size_t>(each);
    count = static_cast<std::size_t>(all);
    return true;
  }

  /// Records of `words` words into those of `own` words; null: nowhere.
  void read_words(void* to, std::size_t own, std::size_t words, std::size_t count) {
    vec<std::uint32_t> record(words > own ? words : own);
    for (auto* at = static_cast<char*>(to); count > 0 && good_; --count) {
      std::string_view const masks = take((words + 7) / 8);
      for (std::size_t i = 0; i < words && good_; ++i) {
        if ((static_cast<unsigned char>(masks[i / 8]) >> i % 8 & 1) == 0) continue;
        std::uint64_t const code = number();
        good_ = good_ && code <= 0xffffffffu;
        auto const change = static_cast<std::uint32_t>(code);
        record[i] += change >> 1 ^ (~(change & 1) + 1);
      }
      if (at == nullptr) continue;
      std::memcpy(at, record.data(), own * 4);
      at += own * 4;
    }
  }

  bool read_key() {
    std::uint64_t const which = number();
    if (which == 0 || !good_) return false;
    if (which == keys_.size() + 1 && which <= most_keys) keys_.push_back(read_text());
    good_ = good_ && which <= keys_.size();
    if (good_) key_ = keys_[static_cast<std::size_t>(which) - 1];
    return good_;
  }

  /// A value that no field takes.
  void skip(unsigned depth) {
    switch (kind()) {
      case recorded_kind::integer:
        (void)number();
        break;
      case recorded_kind::real:
        (void)take(sizeof(double));
        break;
      case recorded_kind::text:
        (void)read_text();
        break;
      case recorded_kind::records: {
        std::size_t words = 0;
        std::size_t count = 0;
        if (read_shape(words, count)) read_words(nullptr, 0, words, count);
        break;
      }
      case recorded_kind::list:
        for (std::uint64_t left = number(); left > 0 && good_; --left) skip_within(depth);
        break;
      case recorded_kind::object:
        while (read_key()) skip_within(depth);
        break;
      default:
        good_ = false;
    }
  }
  void skip_within(unsigned depth) {
    good_ = good_ && depth < deepest;
    if (good_) skip(depth + 1);
  }

  recorded_kind kind() {
    std::string_view const byte = take(1);
    return static_cast<recorded_kind>(byte.empty() ? 0xff : byte[0]);
  }
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
      std::string_view const byte = take(1);
      auto const bits = static_cast<unsigned char>(byte.empty() ? 0 : byte[0]);
      if (shift == 63 && bits > 1) break;
      value |= std::uint64_t{bits & 127u} << shift;
      if (bits < 128) return value;
    }
    good_ = false;
    return 0;
  }
  std::string_view read_text() {
    std::uint64_t const size = number();
    return size <= rest_.size() ? take(static_cast<std::size_t>(size)) : take(rest_.size() + 1);
  }
  /// The next bytes; none, and the text is not good, where there are fewer.
  std::string_view take(std::size_t count) {
    if (count > rest_.size()) {
      good_ = false;
      rest_ = {};
    }
    std::string_view const taken = rest_.substr(0, count);
    rest_.remove_prefix(taken.size());
    return taken;
  }

  std::string_view rest_;
  std::uint64_t room_;  // bytes of elements that may still be made
  std::string_view key_;
  bool taken_ = true;
  bool good_ = true;
  vec<std::string_view> keys_;
};

/// Whether all that a profile refers to is there, and no number is beyond what a run can have: what
/// the analysis relies on.
class recording_check {
 public:
  explicit recording_check(profile const& of) : of_(of) {}

  bool is_sound() {
    check_tree();
    if (!good_) return false;
    each(of_.ranges, [&](range_record const& r) {
      good(in_tree(r.node) && r.attribute <= of_.attributes.size() && lasts(r));
    });
    each(of_.attributes, [&](attribute_record const& a) {
      good(in_tree(a.node) && a.note <= of_.names.size() && a.rank <= 7);
    });
    each(of_.steps, [&](step_record const& s) { good(lasts(s)); });
    each(of_.spans, [&](span_record const& s) {
      good(lasts(s) && s.kind <= span_kind::mark && is_name(s.name) && is_name(s.domain));
    });
    each(of_.folded, [&](overflow_sums const& f) { good(in_tree(f.node) && sums(f.durations)); });
    each(of_.inherited, [&](inherited_time const& i) {
      good(in_tree(i.node) && in_tree(i.from) && is_sum(i.total));
    });
    good(sums(of_.folded_steps) && is_time(of_.end));
    each(of_.launches, [&](launch_record const& l) {
      good(in_tree(l.node) && lasts(l) && l.kind <= api_kind::graph_change);
    });
    each(of_.kernels, [&](kernel_record const& k) {
      good(in_tree(k.node) && lasts(k) && is_kernel(k.name) &&
           (k.captured_by == no_node || in_tree(k.captured_by)));
    });
    each(of_.copies, [&](copy_record const& c) {
      good(in_tree(c.node) && lasts(c) && is_size(c.bytes) && c.kind <= copy_kind::set);
    });
    each(of_.memory, [&](memory_record const& m) {
      good(in_tree(m.node) && is_time(m.time) && is_size(m.bytes) &&
           m.kind <= memory_kind::managed_static);
    });
    each(of_.synchronizations, [&](synchronization_record const& s) {
      good(in_tree(s.node) && lasts(s) && s.kind <= synchronization_kind::context);
    });
    each(of_.overheads, [&](overhead_record const& o) { good(lasts(o)); });
    each(of_.migrations, [&](migration_record const& m) {
      good(lasts(m) && is_size(m.value) && m.kind <= migration_kind::remote_map);
    });
    check_device();
    each(of_.counter_sets, [&](counter_set const& set) { check_set(set); });
    return good_;
  }

 private:
  template <class Value, class Check>
  void each(vec<Value> const& list, Check const& look) {
    for (Value const& value : list) look(value);
  }
  void good(bool is) noexcept { good_ = good_ && is; }

  bool in_tree(std::uint32_t node) const noexcept { return node < of_.nodes.size(); }
  bool is_name(std::uint32_t name) const noexcept { return name < of_.names.size(); }
  bool is_kernel(std::uint32_t name) const noexcept { return name <= of_.kernel_names.size(); }
  /// ns; half a year, either way.
  static bool is_time(std::int64_t ns) noexcept {
    constexpr std::int64_t most = std::int64_t{1} << 54;
    return ns > -most && ns < most;
  }
  static bool is_sum(std::int64_t ns) noexcept { return ns >= 0 && is_time(ns); }
  static bool is_size(std::uint64_t bytes) noexcept { return bytes < std::uint64_t{1} << 50; }
  template <class Record>
  static bool lasts(Record const& r) noexcept {
    return (is_time(r.begin) && is_time(r.end)) || (r.begin == lost_time && r.end == lost_time);
  }
  static bool sums(duration_statistics const& of) noexcept { return recorded_fields::is_sound(of); }

  void check_tree() {
    for (std::size_t i = 0; i < of_.nodes.size(); ++i) {
      profile_node const& node = of_.nodes[i];
      bool const root = i == 0 && node.parent == 0 && node.depth == 0;
      good(is_name(node.name) &&
           (root || (node.parent < i && node.depth == of_.nodes[node.parent].depth + 1)));
    }
  }

  void check_device() {
    device_sums const& sums_of = of_.device;
    std::size_t const nodes = sums_of.complete ? of_.nodes.size() : 0;
    std::size_t const families = sums_of.by_family.times.size();
    good(sums_of.nodes.size() == nodes && sums_of.family_of_node.size() == nodes);
    check_sums(sums_of.by_node, nodes);
    check_sums(sums_of.by_family, families);
    each(sums_of.nodes, [&](device_work const& w) {
      good(is_sum(w.launch_ns) && is_sum(w.kernel_ns) && is_sum(w.copy_ns) &&
           is_sum(w.synchronization_ns) && is_sum(w.graph_kernel_ns) && is_sum(w.adopted_ns));
    });
    each(sums_of.family_of_node, [&](std::uint32_t family) { good(family < families); });
    each(sums_of.kernels, [&](kernel_sums const& k) {
      good(in_tree(k.node) && is_kernel(k.name) && sums(k.duration) && sums(k.blocks));
    });
    each(sums_of.graph_kernels, [&](graph_kernel_sums const& g) {
      good(in_tree(g.launched_by) && in_tree(g.captured_by) && is_sum(g.kernel_ns));
    });
  }
  void check_sums(subtree_sums const& of, std::size_t places) {
    good(of.times.size() == places);
    each(of.times,
         [&](subtree_times const& t) { good(is_sum(t.busy_ns) && is_sum(t.peak_bytes)); });
    each(of.devices, [&](device_busy const& d) {
      good(d.ns.size() == places);
      each(d.ns, [&](std::int64_t ns) { good(is_sum(ns)); });
    });
  }

  void check_set(counter_set const& set) {
    std::size_t const names = set.names.size();
    constexpr std::uint64_t most_passes = 4096;
    good(set.method <= counting::while_running && set.passes <= most_passes &&
         set.passes_done <= most_passes && (set.origins.empty() || set.origins.size() == names));
    each(set.metrics.metrics, [&](resolved_metric const& m) {
      good(m.level <= metric_level::cpu && m.combine <= metric_combine::mean);
    });
    each(set.values, [&](counter_value const& v) { good(in_tree(v.node) && v.counter < names); });
    each(set.kernels, [&](counted_kernel const& k) {
      good(in_tree(k.node) && is_kernel(k.name) && k.values.size() == names);
    });
    each(set.origins, [&](counter_origin const& o) {
      good(o.first_pass <= most_passes && o.passes <= most_passes);
    });
    each(set.work, [&](counted_work const& w) { good(in_tree(w.node) && w.pass < most_passes); });
  }

  profile const& of_;
  bool good_ = true;
};

/// The parts of a recording, one after the other.
class recording_parts {
 public:
  struct part {
    recording_part kind = recording_part::piece;
    std::string_view content;
  };
  enum class state {
    part,     ///< there is one
    end,      ///< after the last one
    cut,      ///< what is left is the begin of one: the program was killed meanwhile
    unusable  ///< it was changed
  };

  /// Bytes between a piece's begin and its content, and around its content.
  static constexpr std::size_t piece_header = 1 + 2 * sizeof(std::uint64_t);
  static constexpr std::size_t piece_frame = piece_header + sizeof(std::uint64_t);

  /// `first_line`: of the file. Version 1 has a report alone, whose hash is of that line too.
  recording_parts(std::string_view first_line, std::string_view text, int version)
      : first_line_(version == 1 ? first_line : std::string_view()), rest_(text) {}

  state next(part& to) {
    if (rest_.empty()) return state::end;
    bool const is_first_version = !first_line_.empty();
    to.kind = is_first_version ? recording_part::profile : static_cast<recording_part>(rest_[0]);
    std::size_t header = is_first_version ? 0 : 1;
    std::uint64_t size = rest_.size() - header - sizeof(std::uint64_t);
    if (to.kind == recording_part::unfinished) return state::cut;
    if (to.kind == recording_part::piece) {
      header = piece_header;
      if (rest_.size() < header) return state::cut;
      if (!read_size(rest_, size)) return state::unusable;
      if (size > rest_.size() || rest_.size() - size < piece_frame) return state::cut;
    } else if (to.kind != recording_part::profile || rest_.size() < sizeof size + header) {
      return state::unusable;
    }
    to.content = rest_.substr(header, static_cast<std::size_t>(size));
    std::size_t const end = header + to.content.size();
    fnv1a hash;
    hash.add(first_line_);
    hash.add(to.content);
    if (hash.value() != number_in(rest_.substr(end))) return state::unusable;
    rest_.remove_prefix(end + sizeof(std::uint64_t));
    return state::part;
  }

  /// Of the piece that begins there. Requires: its header is whole. Returns: whether it is sound.
  static bool read_size(std::string_view piece, std::uint64_t& size) {
    size = number_in(piece.substr(1));
    return number_in(piece.substr(1 + sizeof size)) == ~size;
  }

 private:
  static std::uint64_t number_in(std::string_view text) {
    std::uint64_t value = 0;
    std::memcpy(&value, text.data(), sizeof value);
    return value;
  }

  std::string_view first_line_;  ///< of version 1
  std::string_view rest_;
};

/// Says that a session has no report.
inline std::string describe_cut(profile const& cut) {
  std::int64_t const tenths = cut.end / 100'000'000;
  return sentence(
             "The recording has no end: the program runs, was killed or could not write on, or "
             "this is more than 1 GiB. ")
         << "It has the first " << tenths / 10 << "." << tenths % 10
         << " s, without counters, NVTX spans and losses.";
}

inline std::string describe_left_out(std::uint64_t events) {
  return sentence("The recording leaves out ")
         << count_text(events)
         << " events that came faster than they could be written; trace fewer kinds (trace=) or "
            "fewer steps (active=) to see them.";
}

/// Replaces what a session kept by all that it had written. What was in sums alone is in records.
inline void take_records(profile& reported, profile& streamed) {
  reported.steps = std::move(streamed.steps);
  reported.ranges = std::move(streamed.ranges);
  reported.attributes = std::move(streamed.attributes);
  reported.launches = std::move(streamed.launches);
  reported.kernels = std::move(streamed.kernels);
  reported.copies = std::move(streamed.copies);
  reported.memory = std::move(streamed.memory);
  reported.synchronizations = std::move(streamed.synchronizations);
  reported.folded = {};
  reported.folded_steps = {};
  reported.device = {};
}

/// Reads the parts of a recording.
inline status read_parts(recording_parts parts, std::size_t size, profile& to,
                         recording_view wanted) {
  recording_reader reader(size);
  profile streamed;
  profile reported;
  bool has_pieces = false;
  bool has_report = false;
  bool sound = true;
  std::uint64_t left_out = 0;
  recording_parts::part part;
  auto state = parts.next(part);
  for (; sound && state == recording_parts::state::part; state = parts.next(part)) {
    has_report = part.kind == recording_part::profile;
    has_pieces = has_pieces || !has_report;
    profile_piece piece{streamed};
    sound = has_report ? reader.read(part.content, reported) : reader.read(part.content, piece);
    left_out = has_report ? left_out : piece.left_out;
  }
  if (sound && state == recording_parts::state::unusable)
    return {errc::bad_argument, "It is not whole, or was changed: copy it again as binary data."};
  if (sound && !has_report && !has_pieces)
    return {
        errc::bad_argument,
        "It has nothing whole: the program ended within its first second, or could not write on."};
  profile& made = has_report ? reported : streamed;
  bool const has_records = has_pieces && (!has_report || wanted == recording_view::timeline);
  if (has_report && has_records) take_records(made, streamed);
  if (!sound || !recording_check(made).is_sound())
    return {errc::bad_argument, "Its content is not that of a profile: record it again."};
  if (has_records && left_out != 0) made.problems.push_back(describe_left_out(left_out));
  if (!has_report) made.problems.push_back(describe_cut(made));
  to = std::move(made);
  return {};
}

/// Reads the first line. Returns: its size.
/// Errors: bad_argument: it is no recording, or of a newer version.
inline status read_first_line(std::string_view bytes, std::size_t& size, int& version) {
  constexpr std::string_view magic = recording_magic;
  if (bytes.substr(0, magic.size()) != magic)
    return {errc::bad_argument, "It is no recording of Strata: formats=recording writes one."};
  size = magic.size();
  version = 0;
  while (size < bytes.size() && is_digit(bytes[size]) && version < 1'000'000)
    version = version * 10 + (bytes[size++] - '0');
  if (version > recording_version)
    return {errc::bad_argument, "It is of a newer Strata: report it with the one that wrote it."};
  if (version == 0 || size == bytes.size() || bytes[size++] != '\n')
    return {errc::bad_argument, "It is not whole, or was changed: copy it again as binary data."};
  return {};
}

/// Returns: whether the file can be read from there; not that of a pipe.
inline bool go_to(std::FILE* file, std::int64_t position) noexcept {
#if defined(_WIN32)
  return _fseeki64(file, position, SEEK_SET) == 0;
#else
  return fseeko(file, static_cast<off_t>(position), SEEK_SET) == 0;
#endif
}

/// Where the report of a recording begins, behind its pieces; 0 where there is none.
inline std::int64_t report_position(std::FILE* file) {
  char header[recording_parts::piece_header];
  auto position = static_cast<std::int64_t>(recording_line_size);
  while (go_to(file, position)) {
    std::size_t const got = std::fread(header, 1, sizeof header, file);
    if (got > 0 && header[0] == static_cast<char>(recording_part::profile)) return position;
    std::uint64_t size = 0;
    bool const is_piece = got == sizeof header &&
                          header[0] == static_cast<char>(recording_part::piece) &&
                          recording_parts::read_size({header, got}, size);
    if (!is_piece || size > std::uint64_t{1} << 40) return 0;
    position += static_cast<std::int64_t>(size + recording_parts::piece_frame);
  }
  return 0;
}

}  // namespace detail

/// Makes a profile of a recording's bytes, whatever they are.
/// Errors: bad_argument: they are no recording, of a newer Strata, not whole, or were changed.
inline status read_recording(std::string_view bytes, profile& to,
                             recording_view wanted = recording_view::report) {
  std::size_t line = 0;
  int version = 0;
  status const known = detail::read_first_line(bytes, line, version);
  if (!known.ok()) return known;
  detail::recording_parts const parts(bytes.substr(0, line), bytes.substr(line), version);
  return detail::read_parts(parts, bytes.size(), to, wanted);
}

namespace detail {

/// Reads the first line of a recording and what is wanted of the rest, at most so many bytes.
/// Returns: whether it is a recording.
inline bool read_wanted(std::FILE* file, recording_view wanted, std::size_t most,
                        std::string& text) {
  char part[1 << 16];
  std::size_t got = std::fread(part, 1, recording_line_size, file);
  text.assign(part, got);
  std::size_t size = 0;
  int version = 0;
  if (!read_first_line(text, size, version).ok()) return false;  // /dev/zero has no end
  if (std::fseek(file, 0, SEEK_CUR) == 0) {
    std::int64_t const report = wanted == recording_view::report ? report_position(file) : 0;
    (void)go_to(file, report != 0 ? report : static_cast<std::int64_t>(size));
  }
  while (text.size() <= most && (got = std::fread(part, 1, sizeof part, file)) > 0)
    text.append(part, got);
  return true;
}

/// `most`: bytes that are read; of pieces the first ones.
inline status read_recording_file(std::string const& path, profile& to, recording_view wanted,
                                  std::size_t most) {
  std::FILE* const file = std::fopen(path.c_str(), "rb");
  if (file == nullptr)
    return {errc::input_output, std::string("It cannot be opened: ") + std::strerror(errno) + '.'};
  std::string text;
  bool const is_recording = read_wanted(file, wanted, most, text);
  int const error = std::ferror(file) != 0 ? errno : 0;
  std::fclose(file);
  if (error == EISDIR)
    return {errc::input_output, "It is a directory: name the profile.strata in it."};
  if (error != 0)
    return {errc::input_output, std::string("It cannot be read: ") + std::strerror(error) + '.'};
  if (text.size() > most) {
    bool const has_pieces =
        is_recording && text[recording_line_size] == static_cast<char>(recording_part::piece);
    if (!has_pieces) return {errc::input_output, "It has more than 1 GiB: record fewer steps."};
    text.resize(most);
  }
  return read_recording(text, to, wanted);
}

}  // namespace detail

/// The same of a file. Of pieces the first GiB is read.
/// Errors: input_output: it cannot be opened or read, or its report has more than 1 GiB.
inline status read_recording_file(std::string const& path, profile& to,
                                  recording_view wanted = recording_view::report) {
  return detail::read_recording_file(path, to, wanted, std::size_t{1} << 30);
}

/// Prints and writes what the options ask for (`formats`, `out`, `sort`), as the session that
/// recorded the profile would have done.
/// Errors: input_output; the table is printed all the same.
inline status report_recording(profile& recorded, options const& wanted) {
  return detail::report_files(wanted).write(recorded);
}

STRATA_END

#endif  // STRATA_RECORDING_HPP
