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
/// `at.field(name, member)` for each.
struct recorded_fields {
  template <class At>
  static void each(At& at, profile& of) {
    at.field("environment", of.environment);
    at.field("problems", of.problems);
    each_streamed(at, of);
    at.field("losses", of.losses);
    at.field("cost", of.cost);
    at.field("folded_steps", of.folded_steps);
    at.field("folded", of.folded);
    at.field("spans", of.spans);
    at.field("inherited", of.inherited);
    at.field("overheads", of.overheads);
    at.field("contexts", of.contexts);
    at.field("migrations", of.migrations);
    at.field("device", of.device);
    at.field("counter_sets", of.counter_sets);
    at.field("has_migrations", of.has_migrations);
    at.field("hang", of.hang);
  }
  template <class At>
  static void each(At& at, profile_piece& piece) {
    if (piece.describes) {
      at.field("environment", piece.whole.environment);
      at.field("problems", piece.whole.problems);
    }
    each_streamed(at, piece.whole);
    at.field("left_out", piece.left_out);
  }
  /// What pieces have as well as reports.
  template <class At>
  static void each_streamed(At& at, profile& of) {
    at.field("names", of.names);
    at.field("nodes", of.nodes);
    at.field("threads", of.threads);
    at.field("steps", of.steps);
    at.field("ranges", of.ranges);
    at.field("attributes", of.attributes);
    at.field("launches", of.launches);
    at.field("kernels", of.kernels);
    at.field("kernel_names", of.kernel_names);
    at.field("copies", of.copies);
    at.field("memory", of.memory);
    at.field("synchronizations", of.synchronizations);
    at.field("end", of.end);
    at.field("traced", of.traced);
    at.field("has_steps", of.has_steps);
  }
  template <class At>
  static void each(At& at, profile_environment& of) {
    at.field("host", of.host);
    at.field("command", of.command);
    at.field("options", of.options);
    at.field("started_at", of.started_at);
    at.field("cpu", of.cpu);
    at.field("clock", of.clock);
    at.field("cupti_path", of.cupti_path);
    at.field("cupti_version", of.cupti_version);
    at.field("driver_version", of.driver_version);
    at.field("process_id", of.process_id);
    at.field("started_at_unix_ns", of.started_at_unix_ns);
    at.field("rank", of.rank);
    at.field("devices", of.devices);
  }
  template <class At>
  static void each(At& at, profile_device& of) {
    at.field("ordinal", of.ordinal);
    at.field("name", of.name);
    at.field("multiprocessors", of.multiprocessors);
    at.field("major", of.compute_capability_major);
    at.field("minor", of.compute_capability_minor);
    at.field("clock_khz", of.clock_khz);
    at.field("memory_clock_khz", of.memory_clock_khz);
    at.field("memory_bus_bits", of.memory_bus_bits);
    at.field("l2_bytes", of.l2_bytes);
    at.field("memory_bytes", of.memory_bytes);
    at.field("warp_size", of.warp_size);
    at.field("threads_per_multiprocessor", of.threads_per_multiprocessor);
    at.field("blocks_per_multiprocessor", of.blocks_per_multiprocessor);
    at.field("registers_per_multiprocessor", of.registers_per_multiprocessor);
    at.field("shared_bytes_per_multiprocessor", of.shared_bytes_per_multiprocessor);
    at.field("reserved_shared_bytes_per_block", of.reserved_shared_bytes_per_block);
    at.field("uuid", of.uuid);
    at.field("measured_at", of.measured_at);
    at.field("ceilings", of.ceilings);
  }
  template <class At>
  static void each(At& at, device_ceiling& of) {
    at.field("name", of.name);
    at.field("memory", of.memory);
    at.field("rate", of.rate);
    at.field("theory", of.theory);
    at.field("spread", of.spread);
    at.field("clock_hertz", of.clock_hertz);
    at.field("samples", of.samples);
    at.field("refused", of.refused);
  }
  template <class At>
  static void each(At& at, profile_hang& of) {
    at.field("found", of.found);
    at.field("ranges", of.ranges);
    at.field("work", of.work);
  }
  template <class At>
  static void each(At& at, hung_range& of) {
    at.field("path", of.path);
    at.field("thread", of.thread);
    at.field("open_ns", of.open_ns);
  }
  template <class At>
  static void each(At& at, hung_work& of) {
    at.field("path", of.path);
    at.field("calls", of.calls);
    at.field("last_ns", of.last_ns);
  }
  template <class At>
  static void each(At& at, profile_losses& of) {
    for (loss_kind const& kind : loss_kinds) at.field(kind.key.data(), of.*kind.count);
  }
  template <class At>
  static void each(At& at, profile_cost& of) {
    at.field("seconds_in_window", of.seconds_in_window);
    at.field("range_ns", of.range_ns);
    at.field("ranges", of.ranges);
    at.field("callbacks", of.callbacks);
    at.field("callback_ns", of.callback_ns);
    at.field("activity_seconds", of.activity_seconds);
    at.field("flush_seconds", of.flush_seconds);
    at.field("start_seconds", of.start_seconds);
    at.field("counter_reads", of.counter_reads);
    at.field("counter_read_ns", of.counter_read_ns);
    at.field("log_bytes", of.log_bytes);
    at.field("activity_bytes", of.activity_bytes);
  }
  template <class At>
  static void each(At& at, profile_node& of) {
    at.field("parent", of.parent);
    at.field("name", of.name);
    at.field("index", of.index);
    at.field("depth", of.depth);
    at.field("selected", of.selected);
  }
  template <class At>
  static void each(At& at, profile_thread& of) {
    at.field("ordinal", of.ordinal);
    at.field("os_id", of.os_id);
    at.field("name", of.name);
  }
  template <class At>
  static void each(At& at, duration_statistics& of) {
    at.field("count", of.count_);
    at.field("sum", of.sum_);
    at.field("sum_of_squares", of.sum_of_squares_);
    at.field("minimum", of.minimum_);
    at.field("maximum", of.maximum_);
    at.field("first_bucket", of.first_bucket_);
    at.field("histogram", of.histogram_);
    at.field("coarseness", of.coarseness_);
  }
  /// Whether the histogram is one that the class can have.
  static bool is_sound(duration_statistics const& of) noexcept {
    if (of.coarseness_ > duration_statistics::all_in_one) return false;
    std::size_t const most = ((64 * 60 - 1) >> of.coarseness_) + 1;
    // Room without a count was made for a kernel that lost its time.
    return (of.count_ == 0 || !of.histogram_.empty()) && of.first_bucket_ <= most &&
           of.histogram_.size() <= most - of.first_bucket_ && of.minimum_ <= of.maximum_;
  }
  template <class At>
  static void each(At& at, overflow_sums& of) {
    at.field("node", of.node);
    at.field("durations", of.durations);
    at.field("flops", of.flops);
    at.field("bytes", of.bytes);
    at.field("tokens", of.tokens);
  }
  template <class At>
  static void each(At& at, kernel_name& of) {
    at.field("mangled", of.mangled);
  }
  template <class At>
  static void each(At& at, device_sums& of) {
    at.field("complete", of.complete);
    at.field("nodes", of.nodes);
    at.field("kernels", of.kernels);
    at.field("graph_kernels", of.graph_kernels);
    at.field("by_node", of.by_node);
    at.field("family_of_node", of.family_of_node);
    at.field("by_family", of.by_family);
  }
  template <class At>
  static void each(At& at, subtree_sums& of) {
    at.field("times", of.times);
    at.field("devices", of.devices);
    at.field("only_device", of.only_device);
  }
  template <class At>
  static void each(At& at, device_busy& of) {
    at.field("device", of.device);
    at.field("ns", of.ns);
  }
  template <class At>
  static void each(At& at, kernel_sums& of) {
    at.field("node", of.node);
    at.field("name", of.name);
    at.field("count", of.count);
    at.field("duration", of.duration);
    at.field("blocks", of.blocks);
    at.field("block_threads_min", of.block_threads_min);
    at.field("block_threads_max", of.block_threads_max);
    at.field("warps", of.warps);
    at.field("registers", of.registers);
    at.field("static_shared_bytes", of.static_shared_bytes);
    at.field("dynamic_shared_bytes", of.dynamic_shared_bytes);
    at.field("by_time", of.by_time);
    at.field("by_count", of.by_count);
  }
  template <class At>
  static void each(At& at, kernel_sums::use& of) {
    at.field("weight", of.weight);
    at.field("sm", of.sm);
    at.field("placed_weight", of.placed_weight);
    at.field("gpu", of.gpu);
  }
  template <class At>
  static void each(At& at, counter_set& of) {
    at.field("name", of.name);
    at.field("method", of.method);
    at.field("where", of.where);
    at.field("devices", of.devices);
    at.field("about", of.about);
    at.field("metrics", of.metrics.metrics);
    at.field("absent", of.metrics.absent);
    at.field("unknown", of.metrics.unknown);
    at.field("left_out", of.left_out);
    at.field("names", of.names);
    at.field("origins", of.origins);
    at.field("values", of.values);
    at.field("kernels", of.kernels);
    at.field("work", of.work);
    at.field("passes", of.passes);
    at.field("passes_done", of.passes_done);
  }
  template <class At>
  static void each(At& at, resolved_metric& of) {
    at.field("key", of.key);
    at.field("formula", of.formula);
    at.field("unit", of.unit);
    at.field("level", of.level);
    at.field("combine", of.combine);
    at.field("derived", of.derived);
    at.field("stand_in", of.stand_in);
    at.field("counters", of.counters);
  }
  template <class At>
  static void each(At& at, absent_metric& of) {
    at.field("key", of.key);
    at.field("reason", of.reason);
  }
  template <class At>
  static void each(At& at, unknown_metric& of) {
    at.field("name", of.name);
    at.field("suggestions", of.suggestions);
  }
  template <class At>
  static void each(At& at, counted_kernel& of) {
    at.field("node", of.node);
    at.field("name", of.name);
    at.field("launches_min", of.launches_min);
    at.field("launches_max", of.launches_max);
    at.field("values", of.values);
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
      using each = typename Value::value_type;
      if constexpr (is_record<each>) {
        static_assert(sizeof(each) % 4 == 0, "a record is made of words");
        records(name, of.data(), sizeof(each) / 4, of.size());
      } else {
        list(name, of.data(), sizeof(each), of.size(), &write_value<each>);
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
      recorded_fields::each(to, *static_cast<Value*>(value));
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
