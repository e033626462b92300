#include <strata/version.hpp>
#ifndef STRATA_COLLECT_CUDA_ACTIVITY_BUFFERS_HPP
#define STRATA_COLLECT_CUDA_ACTIVITY_BUFFERS_HPP

#include <strata/base/clock.hpp>
#include <strata/base/containers.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/collect/cuda/cupti.hpp>
#include <strata/collect/cuda/cupti_library.hpp>
#include <strata/collect/host/record_log.hpp>
#include <strata/collect/host/recorder.hpp>
#include <strata/profile.hpp>
#include <strata/profile/records.hpp>
#include <strata/status.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <utility>

STRATA_BEGIN

namespace detail {

/// Buffers of one size for CUPTI to write into: zeroed, touched before they are needed, reused.
/// Those in CUPTI's hands are never freed, since it may hold one at any time. Threads: any.
class buffer_pool {
 public:
  static constexpr std::size_t buffer_bytes = std::size_t{2} << 20;
  static constexpr std::size_t alignment = 64;

  explicit buffer_pool(memory_budget& budget) noexcept : budget_(&budget) {}

  /// Makes sure that this many buffers lie ready, as far as the budget goes.
  void prepare(std::size_t count) noexcept {
    for (;;) {
      {
        std::lock_guard<std::mutex> lock(mutex_);
        if (free_.size() >= count) return;
      }
      std::uint8_t* const made = make(false);
      if (made == nullptr) return;
      give_back(made, 0);
    }
  }

  /// The memory of all buffers, in CUPTI's hands or here.
  std::uint64_t bytes() const noexcept {
    return made_.load(std::memory_order_relaxed) * buffer_bytes;
  }

  /// Frees buffers that lie here until all of them, also those in CUPTI's hands, take no more than
  /// this; what was made beyond an earlier budget counts from now on like the rest.
  void shrink(std::uint64_t bytes_left) noexcept {
    std::lock_guard<std::mutex> lock(mutex_);
    while (!free_.empty() && bytes() > bytes_left) {
      ::operator delete (free_.back(), std::align_val_t{alignment});
      free_.pop_back();
      made_.fetch_sub(1, std::memory_order_relaxed);
    }
    beyond_.store(0, std::memory_order_relaxed);
  }

  /// The memory of buffers that were made although the budget was used up.
  std::uint64_t bytes_beyond_budget() const noexcept {
    return beyond_.load(std::memory_order_relaxed) * buffer_bytes;
  }

  /// A zeroed buffer; null when the budget is used up, unless `beyond_budget`.
  std::uint8_t* take(bool beyond_budget) noexcept {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (!free_.empty()) {
        std::uint8_t* const ready = free_.back();
        free_.pop_back();
        return ready;
      }
    }
    return make(beyond_budget);
  }

  /// Takes a buffer back of which the first `used` bytes were written.
  void give_back(std::uint8_t* buffer, std::size_t used) noexcept {
    std::memset(buffer, 0, used < buffer_bytes ? used : buffer_bytes);
    std::lock_guard<std::mutex> lock(mutex_);
    free_.push_back(buffer);
  }

 private:
  std::uint8_t* make(bool beyond_budget) noexcept {
    bool const within = budget_->take(buffer_bytes);
    if (!within && !beyond_budget) return nullptr;
    auto* const made = static_cast<std::uint8_t*>(
        ::operator new (buffer_bytes, std::align_val_t{alignment}, std::nothrow));
    if (made == nullptr) {
      if (within) budget_->give(buffer_bytes);
      return nullptr;
    }
    std::memset(made, 0, buffer_bytes);
    if (!within) beyond_.fetch_add(1, std::memory_order_relaxed);
    made_.fetch_add(1, std::memory_order_relaxed);
    return made;
  }

  memory_budget* budget_;
  std::atomic<std::uint64_t> made_{0};
  std::atomic<std::uint64_t> beyond_{0};
  std::mutex mutex_;
  vec<std::uint8_t*> free_;
};

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

/// The buffers that CUPTI fills with records, and the records in compact form. There is one in a
/// process, since CUPTI knows one pair of buffer callbacks; it is never destroyed, since CUPTI may
/// call back at any time. Threads: one thread attaches, flushes and takes; CUPTI's threads request
/// and complete.
class activity_buffers {
 public:
  static activity_buffers& instance() noexcept {
    static auto* const only = static_cast<activity_buffers*>(shared_object(
        process_object::activity_buffers, []() -> void* { return new activity_buffers; }));
    return *only;
  }

  /// Gives CUPTI the callbacks, once, and makes some buffers ready.
  /// Source: cuptiActivityRegisterCallbacks.
  status attach(cupti_library const& library) {
    if (library_ == nullptr) {
      cupti::table const& api = library.api;
      std::uint8_t zeroed = 1;
      std::size_t size = sizeof zeroed;
      if (api.set_attribute != nullptr) {
        (void)api.set_attribute(cupti::attribute::zeroed_out_activity_buffer, &size, &zeroed);
      }
      library_ = &library;
      auto const code = api.register_callbacks(&request, &complete);
      if (code != cupti::result::success) {
        library_ = nullptr;
        return {errc::unavailable, library.describe("cuptiActivityRegisterCallbacks", code)};
      }
    }
    pool_.prepare(ready_buffers);
    return {};
  }

  /// A new session begins: what came too late for the last one is forgotten.
  void reset(std::int64_t memory_limit_bytes) {
    flush(cupti::flush_flag::forced);
    store_.clear();
    pool_.shrink(static_cast<std::uint64_t>(memory_limit_bytes) / 2);
    pool_bytes_before_ = pool_.bytes();
    budget_.set(memory_limit_bytes - static_cast<std::int64_t>(pool_bytes_before_));
    problem_ = {};
    dropped_.store(0);
    refused_.store(0);
    ticks_.store(0);
  }

  /// Has CUPTI deliver what it holds. No lock is held here: CUPTI calls back from within.
  void flush(cupti::flush_flag flag) {
    if (library_ == nullptr) return;
    auto const code = library_->api.flush_all(flag);
    if (code != cupti::result::success && problem_.ok()) {
      problem_ = {errc::unavailable, "device activity is incomplete; " +
                                         library_->describe("cuptiActivityFlushAll", code)};
    }
    count_dropped();
  }

  void copy_to(profile& to, clock_bridge const& bridge, tick_converter const& ticks) {
    store_.copy_to(to, bridge, ticks);
    to.losses.activity_dropped += dropped_.load();
    to.losses.buffers_refused += refused_.load();
    to.cost.activity_seconds += static_cast<double>(ticks_.load()) * ticks.ns_per_tick() * 1e-9;
    to.cost.activity_bytes += static_cast<std::uint64_t>(budget_.used()) + pool_bytes_before_ +
                              pool_.bytes_beyond_budget();
  }

  /// Why records are missing, if CUPTI did not hand them out.
  status const& problem() const noexcept { return problem_; }

 private:
  static constexpr std::size_t ready_buffers = 4;

  activity_buffers() = default;

  /// What CUPTI dropped since it was asked last.
  void count_dropped() noexcept {
    std::size_t dropped = 0;
    auto const get = library_->api.get_dropped_records;
    if (get != nullptr && get(nullptr, 0, &dropped) == cupti::result::success)
      dropped_.fetch_add(dropped, std::memory_order_relaxed);
  }

  static void request(std::uint8_t** buffer, std::size_t* size,
                      std::size_t* most_records) noexcept {
    activity_buffers& self = instance();
    *most_records = 0;
    *buffer = self.pool_.take(!self.library_->takes_null_buffers());
    *size = *buffer == nullptr ? 0 : buffer_pool::buffer_bytes;
    if (*buffer == nullptr) self.refused_.fetch_add(1, std::memory_order_relaxed);
  }

  static void complete(void*, std::uint32_t, std::uint8_t* buffer, std::size_t,
                       std::size_t valid) noexcept {
    activity_buffers& self = instance();
    if (buffer == nullptr) return;
    tick_source const& clock = recorder::instance().clock();
    std::int64_t const begin = clock.now();
    cupti::table const& api = self.library_->api;
    {
      std::lock_guard<std::mutex> lock(self.store_.mutex());
      cupti::record* record = nullptr;
      auto code = valid == 0 ? cupti::result::max_limit_reached
                             : api.get_next_record(buffer, valid, &record);
      for (; code == cupti::result::success; code = api.get_next_record(buffer, valid, &record)) {
        self.store_.add(*record);
      }
      // Work that had not ended leaves a record that cannot be read, and so cannot be passed over.
      if (code != cupti::result::max_limit_reached)
        self.dropped_.fetch_add(1, std::memory_order_relaxed);
    }
    self.pool_.give_back(buffer, valid);
    self.count_dropped();
    self.ticks_.fetch_add(static_cast<std::uint64_t>(clock.now() - begin),
                          std::memory_order_relaxed);
  }

  cupti_library const* library_ = nullptr;
  memory_budget budget_;
  buffer_pool pool_{budget_};
  std::uint64_t pool_bytes_before_ = 0;  // buffers that earlier sessions left
  activity_store store_{budget_};
  status problem_;
  std::atomic<std::uint64_t> dropped_{0};
  std::atomic<std::uint64_t> refused_{0};
  std::atomic<std::uint64_t> ticks_{0};
};

}  // namespace detail

STRATA_END

#endif  // STRATA_COLLECT_CUDA_ACTIVITY_BUFFERS_HPP
