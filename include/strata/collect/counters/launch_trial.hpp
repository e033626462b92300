#ifndef STRATA_COLLECT_COUNTERS_LAUNCH_TRIAL_HPP
#define STRATA_COLLECT_COUNTERS_LAUNCH_TRIAL_HPP

#include <strata/collect/counters/trace_pause.hpp>

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

/// Which launches may wait for their work. In a range that counts by instrumented code, or kernel
/// by kernel, CUPTI has each launch wait until its context is idle, one launch after the other.
/// Work that waits for what the program does after the launch never ends then, and no other thread
/// can end the wait: to stop the profiler from one waits too (H200, CUDA 13.0). So a step is tried
/// before, in which Strata waits in the same places, for `drain=` at most. Once one wait was in
/// vain nothing is counted in that way; else what was tried may be launched in such a range, and
/// nothing else. A kernel of a collective is never instrumented: other processes wait for it, and
/// for NCCL's that takes CUPTI longer than 15 s (H200, CUPTI 13.0). Threads: any; `begin` and `end`
/// are for the one that drives the steps.
class launch_trial : uncopied {
 public:
  /// `is_collective` says whether a mangled name is a collective's; it gets `context`.
  using collective_test = bool (*)(void const* context, char const* mangled);
  launch_trial(trace_control& trace, collective_test is_collective, void const* context) noexcept
      : trace_(trace), is_collective_(is_collective), context_(context) {}

  void begin() noexcept {
    turn_.end();
    under_way_.store(!failed_.load());
  }
  /// `whole`: from the step's begin to its end.
  void end(bool whole) noexcept {
    if (under_way_.exchange(false) && whole && !failed_.load()) passed_ = true;
  }
  bool under_way() const noexcept { return under_way_.load(); }

  bool passed() const noexcept { return passed_ && !failed_.load(); }
  bool failed() const noexcept { return failed_.load(); }
  /// The range of the launch whose work did not end.
  std::uint32_t failed_in() const noexcept { return failed_in_.load(); }
  /// Whether a tried step launched a kernel of a collective, and in which range.
  bool met_collective() const noexcept { return collective_in_.load() != no_node; }
  std::uint32_t collective_in() const noexcept { return collective_in_.load(); }

  /// Whether it was tried. What waits for memory never is.
  bool knows(gated_call const& call) noexcept {
    if (call.waits == cupti::stream_wait::memory) return false;
    system_lock const lock(mutex_);
    return known_.find(call.what) != nullptr;
  }

  /// One call at a time, as CUPTI has it.
  void begins(gated_call const&) noexcept {
    (void)turn_.take([this] { return under_way(); });  // else this one is not tried
  }
  void ended(gated_call const& call) noexcept {
    if (!turn_.is_own()) return;
    if (call.done && under_way()) {
      if (!met_collective() && launches_collective(call))
        collective_in_.store(recorder::work_node());
      pause_outcome const outcome = trace_.await_launch([this] { return under_way(); });
      if (outcome == pause_outcome::busy && under_way()) fail();
      if (outcome == pause_outcome::paused) learn(call.what);
    }
    turn_.end();
  }

 private:
  bool launches_collective(gated_call const& call) const noexcept {
    char const* const name = call.call == nullptr ? nullptr : call.call->symbol_name;
    return name != nullptr && call.kind == api_kind::launch && is_collective_(context_, name);
  }
  void fail() noexcept {
    failed_in_.store(recorder::work_node());
    failed_.store(true);
    under_way_.store(false);
  }
  void learn(std::uint64_t what) noexcept {
    system_lock const lock(mutex_);
    (void)if_memory_allows([&] { known_[what] = true; });
  }

  trace_control& trace_;
  collective_test is_collective_;
  void const* context_;
  system_mutex mutex_;  // of what is known
  flat_map<std::uint64_t, bool> known_;
  bool passed_ = false;
  atomic<bool> under_way_{false};
  atomic<bool> failed_{false};
  atomic<std::uint32_t> collective_in_{no_node};
  launch_turn turn_;
  atomic<std::uint32_t> failed_in_{root_node};
};

}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_COUNTERS_LAUNCH_TRIAL_HPP
