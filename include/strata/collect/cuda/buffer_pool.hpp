#include <strata/version.hpp>
#ifndef STRATA_COLLECT_CUDA_BUFFER_POOL_HPP
#define STRATA_COLLECT_CUDA_BUFFER_POOL_HPP

#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/collect/host/record_log.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <new>

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

}  // namespace detail

STRATA_END

#endif  // STRATA_COLLECT_CUDA_BUFFER_POOL_HPP
