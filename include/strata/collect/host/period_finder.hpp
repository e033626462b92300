#ifndef STRATA_COLLECT_HOST_PERIOD_FINDER_HPP
#define STRATA_COLLECT_HOST_PERIOD_FINDER_HPP

#include <strata/base/numbers.hpp>
#include <strata/base/threads.hpp>

#include <cstddef>

STRATA_BEGIN
namespace detail {

/// What a call means for the steps: `next` ends one and begins one, `end` begins none.
enum class step_change : unsigned char { none, next, end };

/// Finds the period of a thread's launches and waits while they come: a step of a loop that nobody
/// named. A period is bounded by its mark: a wait, or a launch where no wait comes once in each
/// period. A call is known by what it launches and by the launch before it, so that the layers of a
/// step have other marks than the step. A mark that comes at equal distances (in weights: a graph
/// stands for many launches) is taken once that has lasted for `lightest` weights, longer than the
/// layers of one step, and for `fewest` periods; a launch needs twice as much as a wait, and
/// distances that are only nearly equal twice as much again, and no longer candidate. A period that
/// is not like the one before ends the step, and the next one begins where a period was as before.
/// Threads: one at a time. Cost: up to 9 ns a launch while it looks for a period, 4 ns after that;
/// 17 KiB, and no allocation.
class period_finder {
 public:
  static constexpr std::uint32_t weight_of_launch = 1;
  static constexpr std::uint32_t weight_of_wait = 64;
  static constexpr std::uint32_t weight_of_graph = 256;

  enum class marks : unsigned char { any, waits };
  explicit period_finder(marks wanted) noexcept : wanted_(wanted) {}

  /// A launch is about to begin: what is launched, as a kernel's or a graph's handle.
  /// Returns: what changes before it.
  STRATA_DETAIL_HOT_CODE
  step_change launch(std::uint64_t what, std::uint32_t weight = weight_of_launch) noexcept {
    std::uint32_t const call = mix(what ^ (last_launch_ << 32)) | 1;
    last_launch_ = what;
    waited_ = false;
    position_ += weight;
    if (state_ != state::in_step)
      return look_at(call, wanted_ == marks::any ? &launches_of(call) : nullptr);
    if (call == mark_) return mark();
    return is_overdue() ? lose() : step_change::none;
  }

  /// A wait has ended: which one, as a function of the driver. One without a launch since the last
  /// one is a part of that.
  /// Returns: what changes after it.
  step_change wait(std::uint64_t what) noexcept {
    if (waited_) return step_change::none;
    waited_ = true;
    position_ += weight_of_wait;
    std::uint32_t const call = mix(~what ^ (last_launch_ << 32)) & ~1u;
    if (state_ != state::in_step) return look_at(call, &waits_[call / 2 % max_waits]);
    if (call == mark_) return mark();
    return is_overdue() ? lose() : step_change::none;
  }
  STRATA_DETAIL_END_CODE

  /// Another thread's calls come.
  void forget() noexcept {
    period_finder const fresh(wanted_);
    *this = fresh;
  }

  /// Calls were not seen: the step that is open is not whole.
  void skip() noexcept {
    if (state_ == state::in_step) (void)lose();
    lost_at_ = position_;
  }

  bool in_step() const noexcept { return state_ == state::in_step; }
  /// Whether a period was found.
  bool found() const noexcept { return periods_found_ != 0; }
  /// Whether the last one has a wait as its mark.
  bool has_wait() const noexcept { return (mark_ & 1) == 0; }
  /// How many others there were, one after the other.
  std::uint32_t periods_found() const noexcept { return periods_found_; }
  /// The periods that were not as the one before.
  std::uint64_t irregular() const noexcept { return irregular_; }

 private:
  static constexpr std::size_t max_launches = 1024;
  static constexpr std::size_t max_waits = 64;
  static constexpr std::uint32_t fewest = 4;
  static constexpr std::uint32_t lightest = 4096;

  enum class state : unsigned char { looking, in_step, between };

  /// A call that may be a mark.
  struct candidate {
    std::uint32_t call = 0;
    std::uint32_t last = 0;      // its position
    std::uint32_t distance = 0;  // from the one before; 0: there was none
    std::uint16_t even = 0;      // distances in a row that are near the one before
    std::uint16_t equal = 0;     // the same, not a launch more or less
  };

  static std::uint32_t mix(std::uint64_t bits) noexcept {
    bits ^= bits >> 29;
    return static_cast<std::uint32_t>((bits * 0x9e3779b97f4a7c15u) >> 32);
  }
  static bool are_near(std::uint32_t a, std::uint32_t b) noexcept {
    return a < b ? b - a <= b / 16 : a - b <= a / 16;
  }
  candidate& launches_of(std::uint32_t call) noexcept { return table_[call / 2 % max_launches]; }
  bool is_overdue() const noexcept {
    return position_ - last_mark_ > period_ + period_ / 16 + weight_of_launch;
  }

  /// The mark of the period comes while a step is open.
  step_change mark() noexcept {
    std::uint32_t const distance = position_ - last_mark_;
    last_mark_ = position_;
    if (!are_near(distance, period_)) return lose();
    period_ = distance;
    return step_change::next;
  }

  step_change lose() noexcept {
    state_ = state::between;
    lost_at_ = position_;
    ++irregular_;
    return step_change::end;
  }

  step_change begin(std::uint32_t call, std::uint32_t period) noexcept {
    mark_ = call;
    period_ = period;
    last_mark_ = position_;
    state_ = state::in_step;
    return step_change::next;
  }

  /// No step is open: whether the known period has come again, or another one.
  step_change look_at(std::uint32_t call, candidate* among) noexcept {
    if (state_ == state::between && call == mark_) {
      std::uint32_t const distance = position_ - last_mark_;
      last_mark_ = position_;
      if (are_near(distance, period_)) return begin(call, distance);
    }
    if (among == nullptr || !note(*among, call) || !is_period(*among)) return step_change::none;
    ++periods_found_;
    return begin(call, among->distance);
  }

  /// Returns: whether its distances are even.
  bool note(candidate& one, std::uint32_t call) noexcept {
    std::uint32_t const distance = position_ - one.last;
    if (one.call != call) {
      // Its place is taken, until the other one did not come for long.
      bool const is_taken = one.even != 0 ? distance / 4 < one.distance : distance < lightest;
      if (is_taken && one.last != 0) return false;
      one = {};
      one.call = call;
      one.last = position_;
      return false;
    }
    if (distance > position_ - lost_at_) one.distance = 0;  // not all of it was looked at
    constexpr std::uint16_t most = 0xffff;
    bool const is_even = one.distance != 0 && are_near(distance, one.distance);
    if (is_even && one.even != most) ++one.even;
    if (!is_even) one.even = 0;
    if (distance == one.distance && one.equal != most) ++one.equal;
    if (distance != one.distance) one.equal = 0;
    one.last = position_;
    one.distance = distance;
    return is_even;
  }

  /// Whether even distances have lasted long enough.
  bool is_period(candidate& one) noexcept {
    std::uint32_t const times = (one.call & 1) == 0 ? 1 : 2;  // waits come first
    auto const last = [&](std::uint32_t distances, std::uint32_t factor) {
      std::uint64_t const periods = distances + 1u;
      return periods >= factor * fewest && periods * one.distance >= factor * lightest;
    };
    if (last(one.equal, times)) return true;
    if (!last(one.even, 2 * times)) return false;
    bool const has_outer = has_longer(table_, one) || has_longer(waits_, one);
    if (has_outer) one.even = 0;  // it is asked again later
    return !has_outer;
  }

  /// Whether others come at even distances that are half as long again, or longer.
  template <std::size_t Count>
  bool has_longer(candidate const (&all)[Count], candidate const& one) const noexcept {
    for (candidate const& other : all) {
      bool const comes = position_ - other.last <= other.distance + other.distance / 16;
      if (other.even >= 2 && other.distance / 3 >= one.distance / 2 && comes) return true;
    }
    return false;
  }

  marks wanted_;
  state state_ = state::looking;
  bool waited_ = true;
  std::uint32_t position_ = 0;
  std::uint64_t last_launch_ = 0;
  std::uint32_t mark_ = 1;
  std::uint32_t period_ = 0;
  std::uint32_t last_mark_ = 0;
  std::uint32_t lost_at_ = 0;
  std::uint32_t periods_found_ = 0;
  std::uint64_t irregular_ = 0;
  candidate waits_[max_waits];
  candidate table_[max_launches];
};

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

#endif  // STRATA_COLLECT_HOST_PERIOD_FINDER_HPP
