#include <strata/version.hpp>
#ifndef STRATA_COLLECT_CUDA_ACTIVITY_BUFFERS_HPP
#define STRATA_COLLECT_CUDA_ACTIVITY_BUFFERS_HPP

#include <strata/base/clock.hpp>
#include <strata/base/macros.hpp>
#include <strata/collect/cuda/activity_store.hpp>
#include <strata/collect/cuda/buffer_pool.hpp>
#include <strata/collect/cuda/cupti.hpp>
#include <strata/collect/cuda/cupti_library.hpp>
#include <strata/collect/host/recorder.hpp>
#include <strata/profile.hpp>
#include <strata/status.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>

STRATA_BEGIN

namespace detail {

/// The buffers that CUPTI fills with records, and the records in compact form. There is one in a
/// process, since CUPTI knows one pair of buffer callbacks; it is never destroyed, since CUPTI may
/// call back at any time. Threads: one thread attaches, flushes and takes; CUPTI's threads request
/// and complete.
class activity_buffers {
 public:
  static activity_buffers& instance() noexcept {
    static activity_buffers& only = *new activity_buffers;
    return only;
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
