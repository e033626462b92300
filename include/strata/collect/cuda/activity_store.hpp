#include <strata/version.hpp>
#ifndef STRATA_COLLECT_CUDA_ACTIVITY_STORE_HPP
#define STRATA_COLLECT_CUDA_ACTIVITY_STORE_HPP

#include <strata/base/clock.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/name_table.hpp>
#include <strata/base/vec.hpp>
#include <strata/collect/cuda/cupti.hpp>
#include <strata/collect/host/record_log.hpp>
#include <strata/profile.hpp>
#include <strata/profile/records.hpp>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

STRATA_BEGIN

namespace detail {

/// CUPTI's records in compact form, in CUPTI's time, until a session takes them.
/// Threads: add from CUPTI's threads, the rest from the session's.
class activity_store {
 public:
  explicit activity_store(memory_budget& budget) noexcept
      : kernels_(budget),
        copies_(budget),
        memory_(budget),
        synchronizations_(budget),
        overheads_(budget) {}

  void clear() noexcept {
    std::lock_guard<std::mutex> lock(mutex_);
    kernels_.clear();
    copies_.clear();
    memory_.clear();
    synchronizations_.clear();
    overheads_.clear();
    refused_ = 0;
  }

  void add(cupti::record const& any) noexcept {
    switch (any.kind) {
      case cupti::activity_kind::kernel:
      case cupti::activity_kind::concurrent_kernel:
        return keep(kernels_, kernel(cupti::as<cupti::kernel_record>(&any)));
      case cupti::activity_kind::copy:
        return keep_copy(cupti::as<cupti::copy_record>(&any));
      case cupti::activity_kind::peer_copy:
        return keep_copy(cupti::as<cupti::peer_copy_record>(&any));
      case cupti::activity_kind::set:
        return keep(copies_, copy(cupti::as<cupti::set_record>(&any), strata::copy_kind::set));
      case cupti::activity_kind::memory:
        return keep(memory_, allocation(cupti::as<cupti::memory_record>(&any)));
      case cupti::activity_kind::synchronization:
        return keep(synchronizations_, wait(cupti::as<cupti::synchronization_record>(&any)));
      case cupti::activity_kind::overhead:
        return keep(overheads_, overhead(cupti::as<cupti::overhead_record>(&any)));
      default:
        return;
    }
  }

  /// Excludes clear and copy_to while a whole buffer is added.
  std::mutex& mutex() noexcept { return mutex_; }

  /// Copies everything into the profile, its times in ns since the session began.
  void copy_to(profile& to, clock_bridge const& bridge, tick_converter const& ticks) {
    std::lock_guard<std::mutex> lock(mutex_);
    auto const convert = [&](auto record) {
      bool const lost = record.begin == 0 && record.end == 0;
      record.begin = lost ? lost_time : bridge.to_ns(record.begin, ticks);
      record.end = lost ? lost_time : bridge.to_ns(record.end, ticks);
      return record;
    };
    kernels_.for_each([&](strata::kernel_record const& r) { to.kernels.push_back(convert(r)); });
    copies_.for_each([&](strata::copy_record const& r) { to.copies.push_back(convert(r)); });
    synchronizations_.for_each([&](strata::synchronization_record const& r) {
      to.synchronizations.push_back(convert(r));
    });
    overheads_.for_each(
        [&](strata::overhead_record const& r) { to.overheads.push_back(convert(r)); });
    memory_.for_each([&](strata::memory_record r) {
      r.time = bridge.to_ns(r.time, ticks);
      to.memory.push_back(r);
    });
    vec<std::string> names = names_.texts();
    for (std::size_t i = 1; i < names.size(); ++i) to.kernel_names.push_back({std::move(names[i])});
    to.losses.activity_refused += refused_;
  }

 private:
  template <class Record>
  void keep(record_log<Record>& log, Record const& record) noexcept {
    if (!log.push(record)) ++refused_;
  }

  template <class From>
  void keep_copy(From const& from) noexcept {
    keep(copies_, copy(from, kind_of(static_cast<cupti::copy_kind>(from.copy))));
  }

  static std::int64_t stamp(std::uint64_t time) noexcept { return static_cast<std::int64_t>(time); }
  template <class To, class From>
  static To narrow(From value) noexcept {
    constexpr auto most = static_cast<std::uint64_t>(static_cast<To>(~To{0}));
    auto const wide = value < 0 ? std::uint64_t{0} : static_cast<std::uint64_t>(value);
    return static_cast<To>(wide < most ? wide : most);
  }

  strata::kernel_record kernel(cupti::kernel_record const& from) noexcept {
    strata::kernel_record to{};
    to.begin = stamp(from.start_ns);
    to.end = stamp(from.end_ns);
    to.graph_node = from.graph_node_id;
    to.correlation = from.correlation_id;
    to.name = name(from.name);
    to.stream = from.stream_id;
    to.context = from.context_id;
    to.grid_x = static_cast<std::uint32_t>(from.grid_x);
    to.grid_y = narrow<std::uint16_t>(from.grid_y);
    to.grid_z = narrow<std::uint16_t>(from.grid_z);
    to.block_x = narrow<std::uint16_t>(from.block_x);
    to.block_y = narrow<std::uint16_t>(from.block_y);
    to.block_z = narrow<std::uint16_t>(from.block_z);
    to.registers = from.registers_per_thread;
    to.dynamic_shared_bytes = static_cast<std::uint32_t>(from.dynamic_shared_memory_bytes);
    to.static_shared_bytes = narrow<std::uint16_t>(from.static_shared_memory_bytes);
    to.device = narrow<std::uint16_t>(std::int64_t{from.device_id});
    return to;
  }

  /// The number of a kernel's name: by its address, which CUPTI keeps, checked against the text.
  std::uint32_t name(char const* text) noexcept {
    if (text == nullptr) return no_reference;
    auto const address = reinterpret_cast<std::uintptr_t>(text);
    known_name& known = known_[(address >> 4 ^ address >> 13) & (known_names - 1)];
    if (known.text != text || known.copy != text) {
      std::string_view const copy(text);
      known.number = names_.intern(copy, "[other kernels]");
      known.text = text;
      known.copy.assign(copy.data(), copy.size());
    }
    return known.number;
  }

  template <class From>
  static strata::copy_record copy(From const& from, strata::copy_kind kind) noexcept {
    strata::copy_record to{};
    to.begin = stamp(from.start_ns);
    to.end = stamp(from.end_ns);
    to.bytes = from.size_bytes;
    to.graph_node = from.graph_node_id;
    to.correlation = from.correlation_id;
    to.stream = from.stream_id;
    to.context = from.context_id;
    to.device = narrow<std::uint16_t>(std::int64_t{from.device_id});
    to.kind = kind;
    return to;
  }

  static strata::copy_kind kind_of(cupti::copy_kind kind) noexcept {
    switch (kind) {
      case cupti::copy_kind::host_to_device:
      case cupti::copy_kind::host_to_array:
        return strata::copy_kind::host_to_device;
      case cupti::copy_kind::device_to_host:
      case cupti::copy_kind::array_to_host:
        return strata::copy_kind::device_to_host;
      case cupti::copy_kind::array_to_array:
      case cupti::copy_kind::array_to_device:
      case cupti::copy_kind::device_to_array:
      case cupti::copy_kind::device_to_device:
        return strata::copy_kind::device_to_device;
      case cupti::copy_kind::host_to_host:
        return strata::copy_kind::host_to_host;
      case cupti::copy_kind::peer_to_peer:
        return strata::copy_kind::peer;
      default:
        return strata::copy_kind::unknown;
    }
  }

  static strata::memory_record allocation(cupti::memory_record const& from) noexcept {
    strata::memory_record to{};
    to.time = stamp(from.timestamp_ns);
    to.address = from.address;
    to.bytes = from.size_bytes;
    to.correlation = from.correlation_id;
    to.stream = from.stream_id;
    to.device = narrow<std::uint16_t>(std::int64_t{from.device_id});
    to.kind = kind_of(from.memory);
    to.allocates = from.operation == cupti::memory_operation::allocation;
    to.asynchronous = from.is_async != 0;
    return to;
  }

  static strata::memory_kind kind_of(cupti::memory_kind kind) noexcept {
    switch (kind) {
      case cupti::memory_kind::pageable:
        return strata::memory_kind::pageable;
      case cupti::memory_kind::pinned:
        return strata::memory_kind::pinned;
      case cupti::memory_kind::device:
        return strata::memory_kind::device;
      case cupti::memory_kind::array:
        return strata::memory_kind::array;
      case cupti::memory_kind::managed:
        return strata::memory_kind::managed;
      case cupti::memory_kind::device_static:
        return strata::memory_kind::device_static;
      case cupti::memory_kind::managed_static:
        return strata::memory_kind::managed_static;
      default:
        return strata::memory_kind::unknown;
    }
  }

  static strata::synchronization_record wait(cupti::synchronization_record const& from) noexcept {
    strata::synchronization_record to{};
    to.begin = stamp(from.start_ns);
    to.end = stamp(from.end_ns);
    to.correlation = from.correlation_id;
    to.stream = from.stream_id;
    switch (from.type) {
      case cupti::synchronization_type::event_synchronize:
        to.kind = synchronization_kind::event;
        break;
      case cupti::synchronization_type::stream_wait_event:
        to.kind = synchronization_kind::stream_wait_event;
        break;
      case cupti::synchronization_type::stream_synchronize:
        to.kind = synchronization_kind::stream;
        break;
      case cupti::synchronization_type::context_synchronize:
        to.kind = synchronization_kind::context;
        break;
      default:
        break;
    }
    return to;
  }

  static strata::overhead_record overhead(cupti::overhead_record const& from) noexcept {
    return {stamp(from.start_ns), stamp(from.end_ns), static_cast<std::uint32_t>(from.overhead), 0};
  }

  struct known_name {
    char const* text = nullptr;
    std::uint32_t number = 0;
    std::string copy;
  };
  static constexpr std::size_t known_names = 256;

  std::mutex mutex_;
  record_log<strata::kernel_record> kernels_;
  record_log<strata::copy_record> copies_;
  record_log<strata::memory_record> memory_;
  record_log<strata::synchronization_record> synchronizations_;
  record_log<strata::overhead_record> overheads_;
  name_table names_;
  known_name known_[known_names];
  std::uint64_t refused_ = 0;
};

}  // namespace detail

STRATA_END

#endif  // STRATA_COLLECT_CUDA_ACTIVITY_STORE_HPP
