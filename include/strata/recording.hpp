#include <strata/version.hpp>
#ifndef STRATA_RECORDING_HPP
#define STRATA_RECORDING_HPP

// Record now, report later: reads what `formats=recording` wrote, and makes any report of it, on
// any machine. report_recording() needs Strata's implementation once in the program, as a session
// in code does.

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

namespace detail {

/// Reads the members of a recording into a profile. What is not known is passed over, and what is
/// not there stays as it was. Memory: twice that of the profile, which has at most 64 MiB and 16
/// bytes for each one of the text: a real one has 8.
class recording_reader {
 public:
  explicit recording_reader(std::string_view text)
      : rest_(text), room_((std::uint64_t{64} << 20) + 16 * std::uint64_t{text.size()}) {}

  /// Returns: whether the text has the form of a recording, to its last byte.
  bool read(profile& to) {
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
    to.clear();
    if constexpr (is_record<Value>) {
      std::size_t words = 0;
      std::size_t count = 0;
      if (is != recorded_kind::records || !read_shape(words, count)) return false;
      if (!make_room(count, sizeof(Value))) return false;
      to.resize(count);
      if (count != 0) read_words(to.data(), sizeof(Value) / 4, words, count);
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

}  // namespace detail

/// Makes a profile of a recording's bytes, whatever they are.
/// Errors: bad_argument: they are no recording, of a newer Strata, not whole, or were changed.
inline status read_recording(std::string_view bytes, profile& to) {
  constexpr std::string_view magic = detail::recording_magic;
  if (bytes.substr(0, magic.size()) != magic)
    return {errc::bad_argument, "It is no recording of Strata: formats=recording writes one."};
  std::string_view rest = bytes.substr(magic.size());
  int version = 0;
  while (!rest.empty() && rest[0] >= '0' && rest[0] <= '9' && version < 1'000'000) {
    version = version * 10 + (rest[0] - '0');
    rest.remove_prefix(1);
  }
  if (version > recording_version)
    return {errc::bad_argument, "It is of a newer Strata: report it with the one that wrote it."};
  std::uint64_t written = 0;
  bool whole = version > 0 && rest.size() > sizeof written && rest[0] == '\n';
  if (whole) {
    detail::fnv1a hash;
    std::memcpy(&written, bytes.data() + bytes.size() - sizeof written, sizeof written);
    hash.add(bytes.substr(0, bytes.size() - sizeof written));
    whole = hash.value() == written;
  }
  if (!whole)
    return {errc::bad_argument, "It is not whole, or was changed: copy it again as binary data."};
  rest = rest.substr(1, rest.size() - 1 - sizeof written);
  profile made;
  if (!detail::recording_reader(rest).read(made) || !detail::recording_check(made).is_sound())
    return {errc::bad_argument, "Its content is not that of a profile: record it again."};
  to = std::move(made);
  return {};
}

/// The same of a file.
/// Errors: input_output: it cannot be opened or read, or has more than 1 GiB.
inline status read_recording_file(std::string const& path, profile& to) {
  constexpr std::size_t most = std::size_t{1} << 30;
  std::FILE* const file = std::fopen(path.c_str(), "rb");
  if (file == nullptr)
    return {errc::input_output, std::string("It cannot be opened: ") + std::strerror(errno) + '.'};
  std::string text;
  char part[1 << 16];
  constexpr std::string_view magic = detail::recording_magic;
  for (std::size_t got;
       text.size() <= most && (got = std::fread(part, 1, sizeof part, file)) > 0;) {
    text.append(part, got);
    if (text.compare(0, magic.size(), magic) != 0) break;  // /dev/zero has no end
  }
  int const error = std::ferror(file) != 0 ? errno : 0;
  std::fclose(file);
  if (error == EISDIR)
    return {errc::input_output, "It is a directory: name the profile.strata in it."};
  if (error != 0)
    return {errc::input_output, std::string("It cannot be read: ") + std::strerror(error) + '.'};
  if (text.size() > most)
    return {errc::input_output, "It has more than 1 GiB: record fewer steps."};
  return read_recording(text, to);
}

/// Prints and writes what the options ask for (`formats`, `out`, `sort`), as the session that
/// recorded the profile would have done.
/// Errors: input_output; the table is printed all the same.
inline status report_recording(profile& recorded, options const& wanted) {
  return detail::report_files(wanted).write(recorded);
}

STRATA_END

#endif  // STRATA_RECORDING_HPP
