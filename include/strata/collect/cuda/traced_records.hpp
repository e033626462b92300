#ifndef STRATA_COLLECT_CUDA_TRACED_RECORDS_HPP
#define STRATA_COLLECT_CUDA_TRACED_RECORDS_HPP

#include <strata/base/clock.hpp>
#include <strata/collect/cuda/record_kinds.hpp>
#include <strata/profile.hpp>

STRATA_BEGIN
namespace detail {

/// CUPTI's clock in a session, and which times a record can have by it: none before the session
/// began, after the clock was read last, or before the call that caused it. Where the clock was set
/// it continues. Units: ns; of calls ticks. Threads: one at a time.
class record_clock {
 public:
  /// How far CUPTI's times may be from the host's. They are some microseconds apart (H200, CUDA
  /// 13.0); a device's clock that is read rarely drifts.
  static constexpr std::int64_t tolerance = 1'000'000;
  static constexpr std::int64_t call_tolerance = 10 * tolerance;

  /// A session begins. Until the clock is read, any time is one that can be.
  void begin_session() noexcept {
    has_read_ = false;
    first_ = latest_ = {};
    eras_ = 1;
    era_[0] = {1, INT64_MAX - larger(offset(), std::int64_t{0}), offset(), 0, 0};
  }

  /// The clock was read; its time becomes a continued one. Returns: whether it was set, back or
  /// forth, since the last call.
  bool read(clock_sample& sample) noexcept {
    bool const was_set_back = clock_.read(sample.other, sample.after, sample.before);
    bool const was_set = clock_.close_gap() || was_set_back;
    sample.other = clock_.continued(sample.other);
    std::int64_t const width = sample.before - sample.after;
    if (was_set && has_read_) {
      std::int64_t const unknown = width_ + width;  // the step of the clock is within both readings
      eras_ = smaller(eras_ + 1, max_eras);
      for (std::size_t i = eras_ - 1; i > 0; --i) {
        era_[i] = era_[i - 1];
        era_[i].slack += unknown;
      }
      era_[0].since = latest_.other - tolerance - unknown;
      era_[0].slack = 0;
      begun_ = smaller(begun_, era_[0].since);
    }
    width_ = width;
    if (!has_read_) begun_ = era_[0].since = sample.other - tolerance;
    if (!has_read_ || was_set) first_ = sample;
    has_read_ = true;
    latest_ = sample;
    era_[0].offset = offset();
    for (std::size_t i = 0; i < eras_; ++i) {
      era_[i].begin = larger(era_[i].since - era_[i].offset, std::int64_t{1});
      era_[i].end = sample.other + tolerance + era_[i].slack - era_[i].offset;
    }
    if (latest_.ticks > first_.ticks)
      ns_per_tick_ = static_cast<double>(latest_.other - first_.other) /
                     static_cast<double>(latest_.ticks - first_.ticks);
    return was_set;
  }
  /// What was read last.
  clock_sample const& latest() const noexcept { return latest_; }

  /// Makes continued times of CUPTI's. Returns: false where no record can have them. One that
  /// `may_be_older` may have begun before the session.
  bool accept(std::int64_t& begin, std::int64_t& end, bool may_be_older = false) const noexcept {
    if (begin <= 0 || end < begin) return false;
    for (std::size_t i = 0; i < eras_; ++i)
      if (begin >= era_[i].begin && end <= era_[i].end) return move(begin, end, era_[i].offset);
    std::int64_t const first = may_be_older ? 1 : begun_ - era_[0].offset;
    return begin >= first && end <= era_[0].end && move(begin, end, era_[0].offset);
  }

  /// Whether `begin` lies before a call that was made at `ticks` in the session. The time of calls
  /// of before the clock was set is not known well enough.
  bool is_before_call(std::int64_t begin, std::int64_t ticks) const noexcept {
    if (has_read_ && begin < begun_) return true;
    return ticks >= first_.ticks && latest_.ticks > first_.ticks &&
           begin < latest_.other - since(ticks) / 1000 - since(ticks) - call_tolerance;
  }
  /// The time of such a call. 0 where the clock was not read.
  std::int64_t time_of_call(std::int64_t ticks) const noexcept {
    return latest_.other - since(ticks);
  }

  continued_clock const& clock() const noexcept { return clock_; }

 private:
  /// How the clock went from one moment at which it was set to the next, as bounds of what it can
  /// have shown. CUPTI may not notice at once that it was set.
  struct era {
    std::int64_t begin;
    std::int64_t end;
    std::int64_t offset;  // to the continued clock
    std::int64_t since;   // by the continued clock
    std::int64_t slack;   // by which the eras after it may be too early
  };
  static constexpr std::size_t max_eras = 4;

  static bool move(std::int64_t& begin, std::int64_t& end, std::int64_t offset) noexcept {
    begin += offset;
    end += offset;
    return true;
  }
  std::int64_t offset() const noexcept { return clock_.continued(0); }
  /// ns from these ticks until the clock was read last.
  std::int64_t since(std::int64_t ticks) const noexcept {
    return ticks < latest_.ticks ? static_cast<std::int64_t>(
                                       static_cast<double>(latest_.ticks - ticks) * ns_per_tick_)
                                 : 0;
  }

  continued_clock clock_;
  era era_[max_eras] = {{1, INT64_MAX, 0, 0, 0}, {}, {}, {}};  // the last one first
  std::size_t eras_ = 1;
  bool has_read_ = false;
  std::int64_t begun_ = 0;  // the session
  std::int64_t width_ = 0;  // ns that the last reading took, at most
  clock_sample first_;      // since when it goes at one rate
  clock_sample latest_;
  double ns_per_tick_ = 1.0;
};

/// A kernel, with its graph and node, which identify its call where that is not known.
struct traced_kernel : strata::kernel_record {
  std::uint64_t graph_node;  // 0 outside a graph
  std::uint32_t graph;       // its id; 0 where it is not known
  bool is_left_out;          // with its call; it tells whose the graph's next kernels are
};

/// Records by kind.
struct record_lists {
  vec<traced_kernel> kernels;
  vec<strata::copy_record> copies;
  vec<strata::memory_record> memory;
  vec<strata::synchronization_record> waits;

  std::size_t size() const noexcept {
    return kernels.size() + copies.size() + memory.size() + waits.size();
  }
  std::size_t bytes() const noexcept {
    return kernels.size() * sizeof(traced_kernel) + copies.size() * sizeof(strata::copy_record) +
           memory.size() * sizeof(strata::memory_record) +
           waits.size() * sizeof(strata::synchronization_record);
  }
  template <class Look>
  void for_each_list(Look look) {
    look(kernels);
    look(copies);
    look(memory);
    look(waits);
  }
  vec<traced_kernel>& list_of(traced_kernel const&) noexcept { return kernels; }
  vec<strata::copy_record>& list_of(strata::copy_record const&) noexcept { return copies; }
  vec<strata::memory_record>& list_of(strata::memory_record const&) noexcept { return memory; }
  vec<strata::synchronization_record>& list_of(strata::synchronization_record const&) noexcept {
    return waits;
  }
};

/// Makes records of CUPTI's, in CUPTI's time. Threads: one at a time.
class record_translator {
 public:
  record_clock& clock() noexcept { return clock_; }
  record_clock const& clock() const noexcept { return clock_; }
  name_table& names() noexcept { return names_; }
  name_table const& names() const noexcept { return names_; }
  /// The name of the kernels that there is no room for.
  std::uint32_t other_kernels() const noexcept { return other_kernels_; }
  /// Whether CUPTI's Range Profiler launched it.
  bool is_of_profiler(traced_kernel const& kernel) const noexcept {
    return kernel.name == profilers_own_;
  }
  void look_at_devices(driver_library const& driver) { staged_.look(driver); }

  traced_kernel made_of(cupti::kernel_record const& from) {
    traced_kernel kernel{};
    kernel.captured_by = no_node;
    kernel.graph_node = from.graph_node_id;
    kernel.graph = from.graph_id;
    stamp(kernel, from);
    kernel.correlation = from.correlation_id;
    kernel.name = kernel_names_.number(from.name);
    kernel.stream = from.stream_id;
    kernel.context = from.context_id;
    kernel.grid_x = static_cast<std::uint32_t>(from.grid_x);
    kernel.grid_y = narrow<std::uint16_t>(from.grid_y);
    kernel.grid_z = narrow<std::uint16_t>(from.grid_z);
    kernel.block_x = narrow<std::uint16_t>(from.block_x);
    kernel.block_y = narrow<std::uint16_t>(from.block_y);
    kernel.block_z = narrow<std::uint16_t>(from.block_z);
    kernel.registers = narrow<std::uint8_t>(from.registers_per_thread);
    kernel.dynamic_shared_bytes = static_cast<std::uint32_t>(from.dynamic_shared_memory_bytes);
    kernel.static_shared_bytes = narrow<std::uint16_t>(from.static_shared_memory_bytes);
    kernel.device = narrow<std::uint16_t>(std::int64_t{from.device_id});
    return kernel;
  }

  strata::copy_record made_of(cupti::copy_record const& from) noexcept {
    strata::copy_record copied = copy(from, kind_of(from), cupti::is_pageable(from));
    if (copied.kind == copy_kind::peer && is_half(from)) staged_.pair(from, copied);
    return copied;
  }
  strata::copy_record made_of(cupti::peer_copy_record const& from) noexcept {
    strata::copy_record copied = copy(from, kind_of(from), cupti::is_pageable(from));
    if (copied.kind == copy_kind::peer) staged_.pair(from, copied);
    return copied;
  }
  strata::copy_record made_of(cupti::set_record const& from) const noexcept {
    return copy(from, strata::copy_kind::set, false);
  }

  strata::memory_record made_of(cupti::memory_record const& from) const noexcept {
    strata::memory_record change{};
    auto end = change.time = static_cast<std::int64_t>(from.timestamp_ns);
    if (!clock_.accept(change.time, end)) change.time = lost_time;
    change.address = from.address;
    change.bytes = from.size_bytes;
    change.correlation = from.correlation_id;
    change.stream = from.stream_id;
    change.device = narrow<std::uint16_t>(std::int64_t{from.device_id});
    change.kind = kind_of(from.memory);
    change.allocates = from.operation == cupti::memory_operation::allocation;
    change.asynchronous = from.is_async != 0;
    return change;
  }

  strata::synchronization_record made_of(cupti::synchronization_record const& from) const noexcept {
    strata::synchronization_record wait{};
    stamp(wait, from, true);  // another thread's, when the session began
    wait.correlation = from.correlation_id;
    wait.stream = from.stream_id;
    wait.kind = kind_of(from.type);
    return wait;
  }

  strata::overhead_record made_of(cupti::overhead_record const& from) const noexcept {
    strata::overhead_record overhead{};
    stamp(overhead, from, true);
    overhead.kind = static_cast<std::uint32_t>(from.overhead);
    return overhead;
  }
  migration_record made_of(cupti::unified_memory_record from) const noexcept {
    migration_record migration = migration_of(from);
    // CUPTI leaves the end open where nothing takes time.
    if (from.end_ns == 0 && !takes_time(migration.kind)) from.end_ns = from.start_ns;
    stamp(migration, from);
    return migration;
  }

 private:
  template <class Record, class From>
  void stamp(Record& made, From const& from, bool may_be_older = false) const noexcept {
    made.begin = static_cast<std::int64_t>(from.start_ns);
    made.end = static_cast<std::int64_t>(from.end_ns);
    if (!clock_.accept(made.begin, made.end, may_be_older)) made.begin = made.end = lost_time;
  }

  template <class From>
  strata::copy_record copy(From const& from, strata::copy_kind kind, bool paged) const noexcept {
    strata::copy_record copy{};
    stamp(copy, from);
    copy.bytes = from.size_bytes;
    copy.correlation = from.correlation_id;
    copy.stream = from.stream_id;
    copy.context = from.context_id;
    copy.device = narrow<std::uint16_t>(std::int64_t{from.device_id});
    copy.kind = kind;
    copy.pageable = paged ? 1 : 0;
    return copy;
  }

  record_clock clock_;
  staged_copies staged_;
  name_table names_;
  std::uint32_t const profilers_own_ = names_.intern("WaitNs", {});
  std::uint32_t const other_kernels_ =
      names_.intern(detail::other_kernels, {});  // needs no memory later
  kernel_name_memo kernel_names_{names_};
};

}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_CUDA_TRACED_RECORDS_HPP
