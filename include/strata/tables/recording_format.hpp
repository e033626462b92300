#include <strata/version.hpp>
#ifndef STRATA_TABLES_RECORDING_FORMAT_HPP
#define STRATA_TABLES_RECORDING_FORMAT_HPP

#include <strata/base/macros.hpp>
#include <strata/base/text.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile.hpp>
#include <strata/tables/text_writer.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

STRATA_BEGIN

/// The format that `formats=recording` writes. A field may be added or left out without another
/// number. A record's members keep their places; a new one goes behind them or into `reserved`.
inline constexpr int recording_version = 2;

namespace detail {

inline constexpr std::string_view recording_magic = "strata recording ";
/// The first line: that, the version and the line's end.
inline constexpr std::size_t recording_line_size = recording_magic.size() + 2;
static_assert(recording_version < 10, "the version is a digit");

/// The parts of a recording: this byte, the content and its hash in 8 bytes. Before the content of
/// a piece stand its size and the complement of that, each in 8 bytes.
enum class recording_part : char {
  piece = 'p',       ///< what happened in a stretch of time, written soon after
  unfinished = 'u',  ///< a profile that is being written: it is not read
  profile = 'w'      ///< the profile as a session reported it: the last part, up to the file's end
};

/// What a piece adds to a profile.
struct profile_piece {
  profile& whole;
  bool describes = true;       ///< the environment too, and the problems
  std::uint64_t left_out = 0;  ///< events that no piece has so far
};

/// What precedes a value in a recording.
enum class recorded_kind : unsigned char { integer, real, text, records, list, object };

/// Whether a list is written as records, which are words of 32 bits, rather than member by member.
template <class Value>
inline constexpr bool is_record = std::is_trivially_copyable<Value>::value &&
                                  !std::is_same<Value, profile_node>::value;  // it has a bool

template <class Value>
inline constexpr bool is_vec = false;
template <class Value>
inline constexpr bool is_vec<vec<Value>> = true;

/// The members of a profile by name, for the writer below and for read_recording:
/// `visitor.field(name, member)` for each.
struct recorded_fields {
  template <class Visitor>
  static void visit(Visitor& visitor, profile& of) {
    visitor.field("environment", of.environment);
    visitor.field("problems", of.problems);
    visit_streamed(visitor, of);
    visitor.field("losses", of.losses);
    visitor.field("cost", of.cost);
    visitor.field("folded_steps", of.folded_steps);
    visitor.field("folded", of.folded);
    visitor.field("spans", of.spans);
    visitor.field("inherited", of.inherited);
    visitor.field("overheads", of.overheads);
    visitor.field("contexts", of.contexts);
    visitor.field("migrations", of.migrations);
    visitor.field("device", of.device);
    visitor.field("counter_sets", of.counter_sets);
    visitor.field("has_migrations", of.has_migrations);
    visitor.field("hang", of.hang);
  }
  template <class Visitor>
  static void visit(Visitor& visitor, profile_piece& piece) {
    if (piece.describes) {
      visitor.field("environment", piece.whole.environment);
      visitor.field("problems", piece.whole.problems);
    }
    visit_streamed(visitor, piece.whole);
    visitor.field("left_out", piece.left_out);
  }
  /// What pieces have as well as reports.
  template <class Visitor>
  static void visit_streamed(Visitor& visitor, profile& of) {
    visitor.field("names", of.names);
    visitor.field("nodes", of.nodes);
    visitor.field("threads", of.threads);
    visitor.field("steps", of.steps);
    visitor.field("ranges", of.ranges);
    visitor.field("attributes", of.attributes);
    visitor.field("launches", of.launches);
    visitor.field("kernels", of.kernels);
    visitor.field("kernel_names", of.kernel_names);
    visitor.field("copies", of.copies);
    visitor.field("memory", of.memory);
    visitor.field("synchronizations", of.synchronizations);
    visitor.field("end", of.end);
    visitor.field("traced", of.traced);
    visitor.field("has_steps", of.has_steps);
  }
  template <class Visitor>
  static void visit(Visitor& visitor, profile_environment& of) {
    visitor.field("host", of.host);
    visitor.field("command", of.command);
    visitor.field("options", of.options);
    visitor.field("started_at", of.started_at);
    visitor.field("cpu", of.cpu);
    visitor.field("clock", of.clock);
    visitor.field("cupti_path", of.cupti_path);
    visitor.field("cupti_version", of.cupti_version);
    visitor.field("driver_version", of.driver_version);
    visitor.field("process_id", of.process_id);
    visitor.field("started_at_unix_ns", of.started_at_unix_ns);
    visitor.field("rank", of.rank);
    visitor.field("devices", of.devices);
  }
  template <class Visitor>
  static void visit(Visitor& visitor, profile_device& of) {
    visitor.field("ordinal", of.ordinal);
    visitor.field("name", of.name);
    visitor.field("multiprocessors", of.multiprocessors);
    visitor.field("major", of.compute_capability_major);
    visitor.field("minor", of.compute_capability_minor);
    visitor.field("clock_khz", of.clock_khz);
    visitor.field("memory_clock_khz", of.memory_clock_khz);
    visitor.field("memory_bus_bits", of.memory_bus_bits);
    visitor.field("l2_bytes", of.l2_bytes);
    visitor.field("memory_bytes", of.memory_bytes);
    visitor.field("warp_size", of.warp_size);
    visitor.field("threads_per_multiprocessor", of.threads_per_multiprocessor);
    visitor.field("blocks_per_multiprocessor", of.blocks_per_multiprocessor);
    visitor.field("registers_per_multiprocessor", of.registers_per_multiprocessor);
    visitor.field("shared_bytes_per_multiprocessor", of.shared_bytes_per_multiprocessor);
    visitor.field("reserved_shared_bytes_per_block", of.reserved_shared_bytes_per_block);
    visitor.field("uuid", of.uuid);
    visitor.field("measured_at", of.measured_at);
    visitor.field("ceilings", of.ceilings);
  }
  template <class Visitor>
  static void visit(Visitor& visitor, device_ceiling& of) {
    visitor.field("name", of.name);
    visitor.field("memory", of.memory);
    visitor.field("rate", of.rate);
    visitor.field("theory", of.theory);
    visitor.field("spread", of.spread);
    visitor.field("clock_hertz", of.clock_hertz);
    visitor.field("samples", of.samples);
    visitor.field("refused", of.refused);
  }
  template <class Visitor>
  static void visit(Visitor& visitor, profile_hang& of) {
    visitor.field("found", of.found);
    visitor.field("ranges", of.ranges);
    visitor.field("work", of.work);
  }
  template <class Visitor>
  static void visit(Visitor& visitor, hung_range& of) {
    visitor.field("path", of.path);
    visitor.field("thread", of.thread);
    visitor.field("open_ns", of.open_ns);
  }
  template <class Visitor>
  static void visit(Visitor& visitor, hung_work& of) {
    visitor.field("path", of.path);
    visitor.field("calls", of.calls);
    visitor.field("last_ns", of.last_ns);
  }
  template <class Visitor>
  static void visit(Visitor& visitor, profile_losses& of) {
    for (loss_kind const& kind : loss_kinds) visitor.field(kind.key.data(), of.*kind.count);
  }
  template <class Visitor>
  static void visit(Visitor& visitor, profile_cost& of) {
    visitor.field("seconds_in_window", of.seconds_in_window);
    visitor.field("range_ns", of.range_ns);
    visitor.field("ranges", of.ranges);
    visitor.field("callbacks", of.callbacks);
    visitor.field("callback_ns", of.callback_ns);
    visitor.field("activity_seconds", of.activity_seconds);
    visitor.field("flush_seconds", of.flush_seconds);
    visitor.field("start_seconds", of.start_seconds);
    visitor.field("counter_reads", of.counter_reads);
    visitor.field("counter_read_ns", of.counter_read_ns);
    visitor.field("log_bytes", of.log_bytes);
    visitor.field("activity_bytes", of.activity_bytes);
  }
  template <class Visitor>
  static void visit(Visitor& visitor, profile_node& of) {
    visitor.field("parent", of.parent);
    visitor.field("name", of.name);
    visitor.field("index", of.index);
    visitor.field("depth", of.depth);
    visitor.field("selected", of.selected);
  }
  template <class Visitor>
  static void visit(Visitor& visitor, profile_thread& of) {
    visitor.field("ordinal", of.ordinal);
    visitor.field("os_id", of.os_id);
    visitor.field("name", of.name);
  }
  template <class Visitor>
  static void visit(Visitor& visitor, duration_statistics& of) {
    visitor.field("count", of.count_);
    visitor.field("sum", of.sum_);
    visitor.field("sum_of_squares", of.sum_of_squares_);
    visitor.field("minimum", of.minimum_);
    visitor.field("maximum", of.maximum_);
    visitor.field("first_bucket", of.first_bucket_);
    visitor.field("histogram", of.histogram_);
    visitor.field("coarseness", of.coarseness_);
  }
  /// Whether the histogram is one that the class can have.
  static bool is_sound(duration_statistics const& of) noexcept {
    if (of.coarseness_ > duration_statistics::all_in_one) return false;
    std::size_t const most = ((64 * 60 - 1) >> of.coarseness_) + 1;
    // Room without a count was made for a kernel that lost its time.
    return (of.count_ == 0 || !of.histogram_.empty()) && of.first_bucket_ <= most &&
           of.histogram_.size() <= most - of.first_bucket_ && of.minimum_ <= of.maximum_;
  }
  template <class Visitor>
  static void visit(Visitor& visitor, overflow_sums& of) {
    visitor.field("node", of.node);
    visitor.field("durations", of.durations);
    visitor.field("flops", of.flops);
    visitor.field("bytes", of.bytes);
    visitor.field("tokens", of.tokens);
  }
  template <class Visitor>
  static void visit(Visitor& visitor, kernel_name& of) {
    visitor.field("mangled", of.mangled);
  }
  template <class Visitor>
  static void visit(Visitor& visitor, device_sums& of) {
    visitor.field("complete", of.complete);
    visitor.field("nodes", of.nodes);
    visitor.field("kernels", of.kernels);
    visitor.field("graph_kernels", of.graph_kernels);
    visitor.field("by_node", of.by_node);
    visitor.field("family_of_node", of.family_of_node);
    visitor.field("by_family", of.by_family);
  }
  template <class Visitor>
  static void visit(Visitor& visitor, subtree_sums& of) {
    visitor.field("times", of.times);
    visitor.field("devices", of.devices);
    visitor.field("only_device", of.only_device);
  }
  template <class Visitor>
  static void visit(Visitor& visitor, device_busy& of) {
    visitor.field("device", of.device);
    visitor.field("ns", of.ns);
  }
  template <class Visitor>
  static void visit(Visitor& visitor, kernel_sums& of) {
    visitor.field("node", of.node);
    visitor.field("name", of.name);
    visitor.field("count", of.count);
    visitor.field("duration", of.duration);
    visitor.field("blocks", of.blocks);
    visitor.field("block_threads_min", of.block_threads_min);
    visitor.field("block_threads_max", of.block_threads_max);
    visitor.field("warps", of.warps);
    visitor.field("registers", of.registers);
    visitor.field("static_shared_bytes", of.static_shared_bytes);
    visitor.field("dynamic_shared_bytes", of.dynamic_shared_bytes);
    visitor.field("by_time", of.by_time);
    visitor.field("by_count", of.by_count);
  }
  template <class Visitor>
  static void visit(Visitor& visitor, kernel_sums::use& of) {
    visitor.field("weight", of.weight);
    visitor.field("sm", of.sm);
    visitor.field("placed_weight", of.placed_weight);
    visitor.field("gpu", of.gpu);
  }
  template <class Visitor>
  static void visit(Visitor& visitor, counter_set& of) {
    visitor.field("name", of.name);
    visitor.field("method", of.method);
    visitor.field("where", of.where);
    visitor.field("devices", of.devices);
    visitor.field("about", of.about);
    visitor.field("metrics", of.metrics.metrics);
    visitor.field("absent", of.metrics.absent);
    visitor.field("unknown", of.metrics.unknown);
    visitor.field("left_out", of.left_out);
    visitor.field("names", of.names);
    visitor.field("origins", of.origins);
    visitor.field("values", of.values);
    visitor.field("kernels", of.kernels);
    visitor.field("work", of.work);
    visitor.field("passes", of.passes);
    visitor.field("passes_done", of.passes_done);
  }
  template <class Visitor>
  static void visit(Visitor& visitor, resolved_metric& of) {
    visitor.field("key", of.key);
    visitor.field("formula", of.formula);
    visitor.field("unit", of.unit);
    visitor.field("level", of.level);
    visitor.field("combine", of.combine);
    visitor.field("derived", of.derived);
    visitor.field("stand_in", of.stand_in);
    visitor.field("counters", of.counters);
  }
  template <class Visitor>
  static void visit(Visitor& visitor, absent_metric& of) {
    visitor.field("key", of.key);
    visitor.field("reason", of.reason);
  }
  template <class Visitor>
  static void visit(Visitor& visitor, unknown_metric& of) {
    visitor.field("name", of.name);
    visitor.field("suggestions", of.suggestions);
  }
  template <class Visitor>
  static void visit(Visitor& visitor, counted_kernel& of) {
    visitor.field("node", of.node);
    visitor.field("name", of.name);
    visitor.field("launches_min", of.launches_min);
    visitor.field("launches_max", of.launches_max);
    visitor.field("values", of.values);
  }
};

inline void write_number(text_writer& out, std::uint64_t value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof bytes);
  out.write({bytes, sizeof bytes});
}

/// Writes a part of a recording in few bytes: whole numbers take as many as they need, and a record
/// is what changed since the one before it. Memory: that of the text_writer.
class recording_writer {
 public:
  explicit recording_writer(text_writer& out) : out_(&out) {}

  void write(profile const& source) {
    write_value<profile>(*this, const_cast<profile*>(&source));  // it is only read
  }
  void write(profile_piece& source) { write_value<profile_piece>(*this, &source); }
  /// Of what was written.
  std::uint64_t hash() const noexcept { return hash_.value(); }

  /// One member. An empty text or list is left out.
  template <class Value>
  void field(char const* name, Value& of) {
    if constexpr (std::is_floating_point<Value>::value) {
      real(name, of);
    } else if constexpr (!std::is_class<Value>::value) {
      integer(name, static_cast<std::int64_t>(of));
    } else if constexpr (is_vec<Value>) {
      using element = typename Value::value_type;
      if constexpr (is_record<element>) {
        static_assert(sizeof(element) % 4 == 0, "a record is made of words");
        records(name, of.data(), sizeof(element) / 4, of.size());
      } else {
        list(name, of.data(), sizeof(element), of.size(), &write_value<element>);
      }
    } else if constexpr (std::is_same<Value, std::string>::value) {
      list(name, &of, 0, of.empty() ? 0 : 1, &write_value<Value>);
    } else {
      key(name);
      write_value<Value>(*this, &of);
    }
  }

 private:
  using write_function = void(recording_writer& to, void* value);

  template <class Value>
  static void write_value(recording_writer& to, void* value) {
    if constexpr (std::is_same<Value, std::string>::value) {
      to.kind(recorded_kind::text);
      to.write_text(*static_cast<std::string*>(value));
    } else {
      to.kind(recorded_kind::object);
      recorded_fields::visit(to, *static_cast<Value*>(value));
      to.number(0);  // no key
    }
  }

  /// A list of texts or objects; `size` 0: one of them alone.
  void list(char const* name, void* first, std::size_t size, std::size_t count,
            write_function* fill) {
    if (count == 0) return;
    key(name);
    if (size != 0) {
      kind(recorded_kind::list);
      number(count);
    }
    for (; count > 0; --count, first = static_cast<char*>(first) + size) fill(*this, first);
  }
  void integer(char const* name, std::int64_t value) {
    key(name);
    kind(recorded_kind::integer);
    number(static_cast<std::uint64_t>(value) << 1 ^ (value < 0 ? ~std::uint64_t{0} : 0));
  }
  void real(char const* name, double value) {
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof bytes);
    key(name);
    kind(recorded_kind::real);
    write_bytes({bytes, sizeof bytes});
  }
  void records(char const* name, void const* first, std::size_t words, std::size_t count) {
    if (count == 0) return;
    key(name);
    kind(recorded_kind::records);
    number(words);
    number(count);
    vec<std::uint32_t> changes(words);
    vec<std::uint32_t> before(words);
    auto const* at = static_cast<char const*>(first);
    for (; count > 0; --count, at += words * 4) {
      std::memcpy(changes.data(), at, words * 4);
      for (std::size_t i = 0; i < words; ++i) {
        std::uint32_t const word = changes[i];
        changes[i] -= before[i];
        before[i] = word;
      }
      // A bit for each word that changed, then those words' changes.
      for (std::size_t i = 0; i < words; i += 8) {
        unsigned mask = 0;
        for (std::size_t k = i; k < words && k < i + 8; ++k)
          mask |= changes[k] != 0 ? 1u << (k - i) : 0u;
        write_byte(static_cast<unsigned char>(mask));
      }
      for (std::uint32_t const change : changes)
        if (change != 0) number(change << 1 ^ (change >> 31 != 0 ? ~0u : 0u));
    }
  }

  /// A key is written once; from then on it is a number, from 1.
  void key(char const* name) {
    std::size_t at = 0;
    while (at < keys_.size() && keys_[at] != name) ++at;
    number(at + 1);
    if (at < keys_.size()) return;
    keys_.push_back(name);
    write_text(name);
  }
  void kind(recorded_kind of) { write_byte(static_cast<unsigned char>(of)); }
  void write_text(std::string_view text) {
    number(text.size());
    write_bytes(text);
  }
  /// 7 bits a byte, the lowest first.
  void number(std::uint64_t value) {
    char bytes[10];
    std::size_t used = 0;
    for (; value >= 128; value >>= 7) bytes[used++] = static_cast<char>(value | 128);
    bytes[used++] = static_cast<char>(value);
    write_bytes({bytes, used});
  }
  void write_byte(unsigned char value) {
    char const byte = static_cast<char>(value);
    write_bytes({&byte, 1});
  }
  void write_bytes(std::string_view bytes) {
    hash_.add(bytes);
    out_->write(bytes);
  }

  text_writer* out_;
  fnv1a hash_;
  vec<char const*> keys_;
};

inline void begin_recording(text_writer& out) {
  out.write(recording_magic);
  out.integer(recording_version);
  out.put('\n');
}

/// Cost: memory for the content.
inline void write_piece(text_writer& out, profile_piece& source) {
  std::string content;
  std::uint64_t hash = 0;
  {
    text_writer to(content);
    recording_writer writer(to);
    writer.write(source);
    hash = writer.hash();
  }
  out.put(static_cast<char>(recording_part::piece));
  write_number(out, content.size());
  write_number(out, ~std::uint64_t{content.size()});
  out.write(content);
  write_number(out, hash);
}

inline void end_recording(text_writer& out, profile const& source,
                          recording_part kind = recording_part::profile) {
  out.put(static_cast<char>(kind));
  recording_writer writer(out);
  writer.write(source);
  write_number(out, writer.hash());
}

}  // namespace detail

/// Writes all that a profile has, for read_recording of <strata/recording.hpp>.
inline void write_recording(detail::text_writer& out, profile const& source) {
  detail::begin_recording(out);
  detail::end_recording(out, source);
}

STRATA_END

#endif  // STRATA_TABLES_RECORDING_FORMAT_HPP
