#ifndef STRATA_COLLECT_HOST_SHARED_PERIOD_HPP
#define STRATA_COLLECT_HOST_SHARED_PERIOD_HPP

#include <strata/base/numbers.hpp>
#include <strata/base/threads.hpp>
#include <strata/collect/host/period_finder.hpp>

STRATA_BEGIN

namespace detail {

/// The period of the calls of all threads as one stream: that of a pool whose threads launch in
/// turns. It is trusted as long as periods outlast the changes of the calling thread. Threads that
/// have loops of their own at the same time break them, and it is trusted no more, until enough
/// others last. Threads: one at a time, but for `doubt` and `is_trusted`. Cost: that of
/// period_finder and 1 ns a call.
class shared_period {
 public:
  explicit shared_period(period_finder::marks wanted) noexcept : periods_(wanted) {}

  /// As those of period_finder; `caller` stands for the calling thread.
  STRATA_DETAIL_HOT_CODE
  step_change launch(void const* caller, std::uint64_t what, std::uint32_t weight) noexcept {
    note(caller);
    return judged(periods_.launch(what, weight));
  }
  step_change wait(void const* caller, std::uint64_t what) noexcept {
    note(caller);
    return judged(periods_.wait(what));
  }
  STRATA_DETAIL_END_CODE

  /// Whether steps are its periods.
  bool is_trusted() const noexcept { return trust_.load(memory_order_relaxed) >= 0; }

  /// A thread's own period holds where this one does not. Returns: whether it is trusted no more.
  bool doubt() noexcept {
    std::int32_t const now = trust_.load(memory_order_relaxed);
    if (now >= 0) set_trust(now - 1);
    return now <= 0;
  }

  /// Whether the last calls came from one thread and another in too short turns to be a step's.
  bool is_mixed() const noexcept { return 16 * changes_ > calls_; }
  std::uint32_t calls() const noexcept { return calls_; }
  void count_anew() noexcept {
    calls_ = 0;
    changes_ = 0;
  }

  /// One thread was alone until now, and this is its period.
  void go_on(void const* caller, period_finder const& periods) noexcept {
    periods_ = periods;
    caller_ = caller;
    has_changed_ = false;
    in_step_ = periods.in_step();
  }

  /// Calls were not seen.
  void forget() noexcept {
    periods_.forget();
    in_step_ = false;
    count_anew();
  }

  bool in_step() const noexcept { return in_step_; }
  void const* caller() const noexcept { return caller_; }
  period_finder const& periods() const noexcept { return periods_; }

 private:
  static constexpr std::int32_t max_trust = 8;

  STRATA_DETAIL_HOT_CODE
  void note(void const* caller) noexcept {
    ++calls_;
    if (caller == caller_) return;
    if (caller_ != nullptr) ++changes_;
    has_changed_ = caller_ != nullptr;
    caller_ = caller;
  }

  step_change judged(step_change change) noexcept {
    if (change == step_change::none) return change;
    if (in_step_ && has_changed_) judge(change == step_change::next);
    in_step_ = change == step_change::next;
    has_changed_ = false;
    return change;
  }
  STRATA_DETAIL_END_CODE

  /// A period in which the calling thread changed: whether it was like the one before.
  void judge(bool is_like) noexcept {
    std::int32_t const now = trust_.load(memory_order_relaxed);
    set_trust(is_like ? now + 1 : now - 2);
  }
  void set_trust(std::int32_t wanted) noexcept {
    std::int32_t const least = smaller(wanted, max_trust);
    trust_.store(larger(least, -max_trust), memory_order_relaxed);
  }

  period_finder periods_;
  void const* caller_ = nullptr;
  std::uint32_t calls_ = 0;
  std::uint32_t changes_ = 0;  // of the calling thread
  bool has_changed_ = false;   // in this period
  bool in_step_ = false;
  atomic<std::int32_t> trust_{0};
};

}  // namespace detail

STRATA_END

#endif  // STRATA_COLLECT_HOST_SHARED_PERIOD_HPP
