#ifndef STRATA_BASE_MEMORY_BUDGET_HPP
#define STRATA_BASE_MEMORY_BUDGET_HPP

#include <strata/base/threads.hpp>

#include <cstddef>

STRATA_BEGIN
namespace detail {

/// What memory is wanted for: the more a report needs it, the more of a budget it may take.
enum class memory_use : unsigned char {
  record,    ///< of the timeline: without room it is in the sums alone
  detail,    ///< a fine histogram: without room it is coarse
  sum,       ///< of one kernel in one range: without room it joins others
  stand_in,  ///< the sum of those that found no room
};

/// Bytes that several logs, or records and the sums over them, may take together.
class memory_budget {
 public:
  /// Begins anew: what was taken before is no longer counted, and not to be given back.
  void set(std::int64_t limit) noexcept {
    limit_.store(limit, memory_order_relaxed);
    left_.store(limit, memory_order_relaxed);
    ended_.store(false, memory_order_relaxed);
    term_.fetch_add(1, memory_order_relaxed);
  }
  /// Which `set` counts now.
  std::uint32_t term() const noexcept { return term_.load(memory_order_relaxed); }

  /// False where it would not leave what is kept for more important uses.
  bool take(std::size_t bytes, memory_use use = memory_use::stand_in) noexcept {
    if (ended()) return false;
    auto const wanted = static_cast<std::int64_t>(bytes);
    if (left_.fetch_sub(wanted, memory_order_relaxed) - kept_from(use) >= wanted) return true;
    left_.fetch_add(wanted, memory_order_relaxed);
    return false;
  }
  /// Takes what has bounds of its own and is kept in any case, beyond the limit too.
  void charge(std::size_t bytes) noexcept {
    left_.fetch_sub(static_cast<std::int64_t>(bytes), memory_order_relaxed);
  }
  void give(std::size_t bytes) noexcept {
    left_.fetch_add(static_cast<std::int64_t>(bytes), memory_order_relaxed);
  }
  /// Memory has ended before the budget: until `set` nothing more is taken, since to ask for memory
  /// that is not there takes long.
  void end() noexcept { ended_.store(true, memory_order_relaxed); }
  bool ended() const noexcept { return ended_.load(memory_order_relaxed); }
  /// Whether records find no room.
  bool exhausted() const noexcept {
    constexpr std::int64_t largest_block = std::int64_t{64} << 10;
    return ended() ||
           left_.load(memory_order_relaxed) < kept_from(memory_use::record) + largest_block;
  }
  std::int64_t used() const noexcept { return limit() - left_.load(memory_order_relaxed); }
  std::int64_t limit() const noexcept { return limit_.load(memory_order_relaxed); }

 private:
  /// Heuristic: at the smallest `buffers=`, 16 MB, the sums of 3,500 kernels in ranges find room
  /// next to a full timeline, and so do the stand-ins of 1,200 ranges.
  std::int64_t kept_from(memory_use use) const noexcept {
    if (use == memory_use::record) return limit() / 8;
    if (use == memory_use::detail) return limit() / 4;
    if (use == memory_use::sum) return limit() / 32;
    return 0;
  }

  atomic<std::int64_t> limit_{0};
  atomic<std::int64_t> left_{0};
  atomic<bool> ended_{false};
  atomic<std::uint32_t> term_{0};
};

}  // namespace detail
STRATA_END

#endif  // STRATA_BASE_MEMORY_BUDGET_HPP
