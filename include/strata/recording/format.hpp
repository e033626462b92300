#ifndef STRATA_RECORDING_FORMAT_HPP
#define STRATA_RECORDING_FORMAT_HPP

#include <strata/base/text_writer.hpp>
#include <strata/profile.hpp>

STRATA_BEGIN

/// The format that `formats=recording` writes. A field may be added or left out without another
/// number. A record's members keep their places; a new one goes behind them or into `reserved`.
inline constexpr int recording_version = 2;

namespace detail {

/// The file in its folder, and as it grows.
inline constexpr char recording_name[] = "profile.strata";
inline constexpr char recording_part_name[] = "profile.strata.part";

inline constexpr std::string_view recording_magic = "strata recording ";
/// The first line is that, the version and the end of the line.
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

/// The members of a profile by name: `visitor.field(name, member)` for each.
struct recorded_fields {
  template <class Visitor>
  static void visit(Visitor& visitor, profile& data) {
    visitor.field("environment", data.environment);
    visitor.field("problems", data.problems);
    visit_streamed(visitor, data);
    visitor.field("losses", data.losses);
    visitor.field("cost", data.cost);
    visitor.field("early_steps", data.early_steps);
    visitor.field("folded_steps", data.summed_steps);
    visitor.field("folded", data.summed_ranges);
    visitor.field("spans", data.spans);
    visitor.field("inherited", data.inherited);
    visitor.field("overheads", data.overheads);
    visitor.field("contexts", data.contexts);
    visitor.field("migrations", data.migrations);
    visitor.field("device", data.device);
    visitor.field("counter_sets", data.counter_sets);
    visitor.field("step_traffic", data.step_traffic);
    visitor.field("samples", data.samples);
    visitor.field("energy", data.energy);
    visitor.field("has_migrations", data.has_migrations);
    visitor.field("hang", data.hang);
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
  static void visit_streamed(Visitor& visitor, profile& data) {
    visitor.field("names", data.names);
    visitor.field("nodes", data.nodes);
    visitor.field("threads", data.threads);
    visitor.field("steps", data.steps);
    visitor.field("ranges", data.ranges);
    visitor.field("attributes", data.attributes);
    visitor.field("launches", data.launches);
    visitor.field("kernels", data.kernels);
    visitor.field("kernel_names", data.kernel_names);
    visitor.field("copies", data.copies);
    visitor.field("memory", data.memory);
    visitor.field("synchronizations", data.synchronizations);
    visitor.field("end", data.end);
    visitor.field("traced", data.traced);
    visitor.field("has_steps", data.has_steps);
  }
  template <class Visitor>
  static void visit(Visitor& visitor, profile_environment& environment) {
    visitor.field("host", environment.host);
    visitor.field("command", environment.command);
    visitor.field("options", environment.options);
    visitor.field("collectives", environment.collectives);
    visitor.field("started_at", environment.started_at);
    visitor.field("cpu", environment.cpu);
    visitor.field("clock", environment.clock);
    visitor.field("cupti_path", environment.cupti_path);
    visitor.field("cupti_version", environment.cupti_version);
    visitor.field("driver_version", environment.driver_version);
    visitor.field("process_id", environment.process_id);
    visitor.field("started_at_unix_ns", environment.started_at_unix_ns);
    visitor.field("rank", environment.rank);
    visitor.field("devices", environment.devices);
  }
  template <class Visitor>
  static void visit(Visitor& visitor, profile_device& device) {
    visitor.field("ordinal", device.ordinal);
    visitor.field("name", device.name);
    visitor.field("multiprocessors", device.multiprocessors);
    visitor.field("major", device.compute_capability_major);
    visitor.field("minor", device.compute_capability_minor);
    visitor.field("clock_khz", device.clock_khz);
    visitor.field("memory_clock_khz", device.memory_clock_khz);
    visitor.field("memory_bus_bits", device.memory_bus_bits);
    visitor.field("l2_bytes", device.l2_bytes);
    visitor.field("memory_bytes", device.memory_bytes);
    visitor.field("warp_size", device.warp_size);
    visitor.field("threads_per_multiprocessor", device.threads_per_multiprocessor);
    visitor.field("blocks_per_multiprocessor", device.blocks_per_multiprocessor);
    visitor.field("registers_per_multiprocessor", device.registers_per_multiprocessor);
    visitor.field("shared_bytes_per_multiprocessor", device.shared_bytes_per_multiprocessor);
    visitor.field("reserved_shared_bytes_per_block", device.reserved_shared_bytes_per_block);
    visitor.field("uuid", device.uuid);
    visitor.field("measured_at", device.measured_at);
    visitor.field("ceilings", device.ceilings);
  }
  template <class Visitor>
  static void visit(Visitor& visitor, device_ceiling& ceiling) {
    visitor.field("name", ceiling.name);
    visitor.field("memory", ceiling.memory);
    visitor.field("rate", ceiling.rate);
    visitor.field("theory", ceiling.theory);
    visitor.field("spread", ceiling.spread);
    visitor.field("clock_hertz", ceiling.clock_hertz);
    visitor.field("samples", ceiling.samples);
    visitor.field("refused", ceiling.refused);
  }
  template <class Visitor>
  static void visit(Visitor& visitor, device_samples& samples) {
    visitor.field("device", samples.device);
    visitor.field("counters", samples.counters);
    visitor.field("count", samples.count);
    visitor.field("only_steps", samples.only_steps);
    visitor.field("about", samples.about);
    visitor.field("coded", samples.coded);
  }
  template <class Visitor>
  static void visit(Visitor& visitor, profile_hang& hang) {
    visitor.field("found", hang.found);
    visitor.field("ranges", hang.ranges);
    visitor.field("work", hang.work);
  }
  template <class Visitor>
  static void visit(Visitor& visitor, hung_range& range) {
    visitor.field("path", range.path);
    visitor.field("thread", range.thread);
    visitor.field("open_ns", range.open_ns);
  }
  template <class Visitor>
  static void visit(Visitor& visitor, hung_work& work) {
    visitor.field("path", work.path);
    visitor.field("calls", work.calls);
    visitor.field("last_ns", work.last_ns);
  }
  template <class Visitor>
  static void visit(Visitor& visitor, profile_losses& losses) {
    for (loss_kind const& kind : loss_kinds) visitor.field(kind.key.data(), losses.*kind.count);
  }
  template <class Visitor>
  static void visit(Visitor& visitor, profile_cost& cost) {
    visitor.field("seconds_in_window", cost.seconds_in_window);
    visitor.field("range_ns", cost.range_ns);
    visitor.field("ranges", cost.ranges);
    visitor.field("callbacks", cost.callbacks);
    visitor.field("callback_ns", cost.callback_ns);
    visitor.field("activity_seconds", cost.activity_seconds);
    visitor.field("flush_seconds", cost.flush_seconds);
    visitor.field("start_seconds", cost.start_seconds);
    visitor.field("unrecorded_steps", cost.unrecorded_steps);
    visitor.field("unrecorded_step_ns", cost.unrecorded_step_ns);
    visitor.field("counter_reads", cost.counter_reads);
    visitor.field("counter_read_ns", cost.counter_read_ns);
    visitor.field("log_bytes", cost.log_bytes);
    visitor.field("activity_bytes", cost.activity_bytes);
  }
  template <class Visitor>
  static void visit(Visitor& visitor, profile_node& node) {
    visitor.field("parent", node.parent);
    visitor.field("name", node.name);
    visitor.field("index", node.index);
    visitor.field("depth", node.depth);
    visitor.field("selected", node.selected);
  }
  template <class Visitor>
  static void visit(Visitor& visitor, profile_thread& thread) {
    visitor.field("ordinal", thread.ordinal);
    visitor.field("os_id", thread.os_id);
    visitor.field("name", thread.name);
  }
  template <class Visitor>
  static void visit(Visitor& visitor, duration_statistics& durations) {
    visitor.field("count", durations.count_);
    visitor.field("sum", durations.sum_);
    visitor.field("sum_of_squares", durations.sum_of_squares_);
    visitor.field("minimum", durations.minimum_);
    visitor.field("maximum", durations.maximum_);
    visitor.field("first_bucket", durations.first_bucket_);
    visitor.field("histogram", durations.histogram_);
    visitor.field("coarseness", durations.coarseness_);
  }
  /// Whether the histogram is one that the class can have.
  static bool is_sound(duration_statistics const& durations) noexcept {
    if (durations.coarseness_ > duration_statistics::all_in_one) return false;
    std::size_t const most = ((64 * 60 - 1) >> durations.coarseness_) + 1;
    // Room without a count was made for a kernel that lost its time.
    return (durations.count_ == 0 || !durations.histogram_.empty()) &&
           durations.first_bucket_ <= most &&
           durations.histogram_.size() <= most - durations.first_bucket_ &&
           durations.minimum_ <= durations.maximum_;
  }
  template <class Visitor>
  static void visit(Visitor& visitor, overflow_sums& sums) {
    visitor.field("node", sums.node);
    visitor.field("durations", sums.durations);
    visitor.field("flops", sums.flops);
    visitor.field("bytes", sums.bytes);
    visitor.field("tokens", sums.tokens);
  }
  template <class Visitor>
  static void visit(Visitor& visitor, kernel_name& name) {
    visitor.field("mangled", name.mangled);
  }
  template <class Visitor>
  static void visit(Visitor& visitor, device_sums& sums) {
    visitor.field("complete", sums.complete);
    visitor.field("nodes", sums.nodes);
    visitor.field("kernels", sums.kernels);
    visitor.field("graph_kernels", sums.graph_kernels);
    visitor.field("by_node", sums.by_node);
    visitor.field("family_of_node", sums.family_of_node);
    visitor.field("by_family", sums.by_family);
  }
  template <class Visitor>
  static void visit(Visitor& visitor, subtree_sums& sums) {
    visitor.field("times", sums.times);
    visitor.field("devices", sums.devices);
    visitor.field("only_device", sums.only_device);
  }
  template <class Visitor>
  static void visit(Visitor& visitor, device_busy& busy) {
    visitor.field("device", busy.device);
    visitor.field("ns", busy.ns);
  }
  template <class Visitor>
  static void visit(Visitor& visitor, kernel_sums& sums) {
    visitor.field("node", sums.node);
    visitor.field("name", sums.name);
    visitor.field("count", sums.count);
    visitor.field("duration", sums.duration);
    visitor.field("blocks", sums.blocks);
    visitor.field("block_threads_min", sums.block_threads_min);
    visitor.field("block_threads_max", sums.block_threads_max);
    visitor.field("warps", sums.warps);
    visitor.field("registers", sums.registers);
    visitor.field("static_shared_bytes", sums.static_shared_bytes);
    visitor.field("dynamic_shared_bytes", sums.dynamic_shared_bytes);
    visitor.field("by_time", sums.by_time);
    visitor.field("by_count", sums.by_count);
  }
  template <class Visitor>
  static void visit(Visitor& visitor, kernel_sums::use& use) {
    visitor.field("weight", use.weight);
    visitor.field("sm", use.sm);
    visitor.field("placed_weight", use.placed_weight);
    visitor.field("gpu", use.gpu);
  }
  template <class Visitor>
  static void visit(Visitor& visitor, counter_set& set) {
    visitor.field("name", set.name);
    visitor.field("method", set.method);
    visitor.field("where", set.where);
    visitor.field("devices", set.devices);
    visitor.field("about", set.about);
    visitor.field("metrics", set.metrics.metrics);
    visitor.field("absent", set.metrics.absent);
    visitor.field("unknown", set.metrics.unknown);
    visitor.field("left_out", set.left_out);
    visitor.field("names", set.names);
    visitor.field("origins", set.origins);
    visitor.field("values", set.values);
    visitor.field("kernels", set.kernels);
    visitor.field("work", set.work);
    visitor.field("passes", set.passes);
    visitor.field("passes_done", set.passes_done);
  }
  template <class Visitor>
  static void visit(Visitor& visitor, resolved_metric& metric) {
    visitor.field("key", metric.key);
    visitor.field("formula", metric.formula);
    visitor.field("unit", metric.unit);
    visitor.field("level", metric.level);
    visitor.field("combine", metric.combine);
    visitor.field("derived", metric.derived);
    visitor.field("stand_in", metric.stand_in);
    visitor.field("counters", metric.counters);
  }
  template <class Visitor>
  static void visit(Visitor& visitor, absent_metric& metric) {
    visitor.field("key", metric.key);
    visitor.field("reason", metric.reason);
  }
  template <class Visitor>
  static void visit(Visitor& visitor, unknown_metric& metric) {
    visitor.field("name", metric.name);
    visitor.field("suggestions", metric.suggestions);
  }
  template <class Visitor>
  static void visit(Visitor& visitor, counted_kernel& kernel) {
    visitor.field("node", kernel.node);
    visitor.field("name", kernel.name);
    visitor.field("launches_min", kernel.launches_min);
    visitor.field("launches_max", kernel.launches_max);
    visitor.field("values", kernel.values);
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
  void field(char const* name, Value& value) {
    if constexpr (std::is_floating_point<Value>::value) {
      real(name, value);
    } else if constexpr (!std::is_class<Value>::value) {
      integer(name, static_cast<std::int64_t>(value));
    } else if constexpr (is_vec<Value>) {
      using element = typename Value::value_type;
      if constexpr (sizeof(element) == 1) {
        if (value.empty()) return;
        key(name);
        kind(recorded_kind::text);
        write_text({reinterpret_cast<char const*>(value.data()), value.size()});
      } else if constexpr (is_record<element>) {
        static_assert(sizeof(element) % 4 == 0, "a record is made of words");
        records(name, value.data(), sizeof(element) / 4, value.size());
      } else {
        list(name, value.data(), sizeof(element), value.size(), &write_value<element>);
      }
    } else if constexpr (std::is_same<Value, std::string>::value) {
      list(name, &value, 0, value.empty() ? 0 : 1, &write_value<Value>);
    } else {
      key(name);
      write_value<Value>(*this, &value);
    }
  }

 private:
  using write_function = void(recording_writer& writer, void* value);

  template <class Value>
  static void write_value(recording_writer& writer, void* value) {
    if constexpr (std::is_same<Value, std::string>::value) {
      writer.kind(recorded_kind::text);
      writer.write_text(*static_cast<std::string*>(value));
    } else {
      writer.kind(recorded_kind::object);
      recorded_fields::visit(writer, *static_cast<Value*>(value));
      writer.number(0);  // no key
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
    auto const* record = static_cast<char const*>(first);
    for (; count > 0; --count, record += words * 4) {
      std::memcpy(changes.data(), record, words * 4);
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
    std::size_t index = 0;
    while (index < keys_.size() && keys_[index] != name) ++index;
    number(index + 1);
    if (index < keys_.size()) return;
    keys_.push_back(name);
    write_text(name);
  }
  void kind(recorded_kind tag) { write_byte(static_cast<unsigned char>(tag)); }
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
    text_writer into(content);
    recording_writer writer(into);
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

/// Writes all that a profile has, for read_recording() of src/recording/recording.hpp.
inline void write_recording(detail::text_writer& out, profile const& source) {
  detail::begin_recording(out);
  detail::end_recording(out, source);
}

STRATA_END

#endif  // STRATA_RECORDING_FORMAT_HPP
