#ifndef STRATA_COLLECT_COUNTERS_LAUNCH_TURN_HPP
#define STRATA_COLLECT_COUNTERS_LAUNCH_TURN_HPP

#include <strata/collect/host/recorder.hpp>

STRATA_BEGIN
namespace detail {

/// The thread whose launch is under way: one launch at a time, of whichever thread. Threads: any.
class launch_turn {
 public:
  /// Waits for the turn while it `goes_on`, for a second at most. False where the other launch does
  /// not come back, as when it waits for this one; true also where this thread has the turn.
  bool take(callback<bool()> goes_on) noexcept {
    constexpr std::int64_t longest_ns = 1'000'000'000;
    std::uint64_t const self = recorder::thread_id();
    deadline patience(longest_ns);
    for (unsigned turn = 0; goes_on(); ++turn) {
      std::uint64_t none = 0;
      if (owner_.compare_exchange_strong(none, self) || none == self) return true;
      if (!patience.lasts()) return false;
      wait_a_turn(turn);
    }
    return false;
  }
  bool is_own() const noexcept { return owner_.load() == recorder::thread_id(); }
  /// Whoever has it has it no longer.
  void end() noexcept { owner_.store(0); }

 private:
  atomic<std::uint64_t> owner_{0};
};

}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_COUNTERS_LAUNCH_TURN_HPP
