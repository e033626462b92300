#include <strata/version.hpp>
#ifndef STRATA_COLLECT_CUDA_TRACED_RECORDS_HPP
#define STRATA_COLLECT_CUDA_TRACED_RECORDS_HPP

#include <strata/base/clock.hpp>
#include <strata/base/containers.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/collect/cuda/cupti.hpp>
#include <strata/collect/cuda/driver.hpp>
#include <strata/collect/cuda/record_kinds.hpp>
#include <strata/profile.hpp>
#include <strata/profile/records.hpp>

#include <cstddef>
#include <cstdint>

STRATA_BEGIN
namespace detail {

/// A kernel, with what tells its call where that is not known.
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
  continued_clock& clock() noexcept { return clock_; }
  name_table& names() noexcept { return names_; }
  name_table const& names() const noexcept { return names_; }
  /// The name of the kernels that there is no room for.
  std::uint32_t other_kernels() const noexcept { return other_kernels_; }
  /// Whether CUPTI's Range Profiler launched it.
  bool is_of_profiler(traced_kernel const& kernel) const noexcept {
    return kernel.name == profilers_own_;
  }
  void look_at_devices(driver_library const& driver) { staged_.look(driver); }

  traced_kernel kernel(cupti::kernel_record const& from) {
    traced_kernel kernel{};
    kernel.captured_by = no_node;
    kernel.graph_node = from.graph_node_id;
    kernel.graph = from.graph_id;
    kernel.begin = stamp(from.start_ns);
    kernel.end = stamp(from.end_ns);
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

  strata::copy_record copy(cupti::copy_record const& from) noexcept {
    strata::copy_record copied = copy(from, kind_of(from), cupti::is_pageable(from));
    if (copied.kind == copy_kind::peer && is_half(from)) staged_.pair(from, copied);
    return copied;
  }
  strata::copy_record copy(cupti::peer_copy_record const& from) noexcept {
    strata::copy_record copied = copy(from, kind_of(from), cupti::is_pageable(from));
    if (copied.kind == copy_kind::peer) staged_.pair(from, copied);
    return copied;
  }
  strata::copy_record copy(cupti::set_record const& from) const noexcept {
    return copy(from, strata::copy_kind::set, false);
  }

  strata::memory_record allocation(cupti::memory_record const& from) const noexcept {
    strata::memory_record change{};
    change.time = stamp(from.timestamp_ns);
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

  strata::synchronization_record wait(cupti::synchronization_record const& from) const noexcept {
    strata::synchronization_record wait{};
    wait.begin = stamp(from.start_ns);
    wait.end = stamp(from.end_ns);
    wait.correlation = from.correlation_id;
    wait.stream = from.stream_id;
    wait.kind = kind_of(from.type);
    return wait;
  }

  strata::overhead_record overhead(cupti::overhead_record const& from) const noexcept {
    return {stamp(from.start_ns), stamp(from.end_ns), static_cast<std::uint32_t>(from.overhead), 0};
  }
  migration_record migration(cupti::unified_memory_record const& from) const noexcept {
    return migration_of(from, stamp(from.start_ns), stamp(from.end_ns));
  }

 private:
  /// 0 is a time that the device lost.
  std::int64_t stamp(std::uint64_t time) const noexcept {
    return time == 0 ? 0 : clock_.continued(static_cast<std::int64_t>(time));
  }

  template <class From>
  strata::copy_record copy(From const& from, strata::copy_kind kind, bool paged) const noexcept {
    strata::copy_record copy{};
    copy.begin = stamp(from.start_ns);
    copy.end = stamp(from.end_ns);
    copy.bytes = from.size_bytes;
    copy.correlation = from.correlation_id;
    copy.stream = from.stream_id;
    copy.context = from.context_id;
    copy.device = narrow<std::uint16_t>(std::int64_t{from.device_id});
    copy.kind = kind;
    copy.pageable = paged ? 1 : 0;
    return copy;
  }

  continued_clock clock_;
  staged_copies staged_;
  name_table names_;
  std::uint32_t const profilers_own_ = names_.intern("WaitNs", {});
  std::uint32_t const other_kernels_ =
      names_.intern(kernel_name_memo::others, {});  // needs no memory later
  kernel_name_memo kernel_names_{names_};
};

}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_CUDA_TRACED_RECORDS_HPP
