#include <strata/version.hpp>
#ifndef STRATA_SESSION_SCHEDULE_HPP
#define STRATA_SESSION_SCHEDULE_HPP

#include <strata/annotate/process.hpp>
#include <strata/base/clock.hpp>
#include <strata/base/guest.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/threads.hpp>
#include <strata/base/vec.hpp>
#include <strata/options.hpp>
#include <strata/profile.hpp>
#include <strata/profile/records.hpp>
#include <strata/session/machine.hpp>
#include <strata/status.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#if defined(__linux__) || defined(__APPLE__)
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

STRATA_BEGIN

namespace detail {

/// What happens to each step: windows of skipped, warm-up and active steps, repeated.
class schedule {
 public:
  enum class phase : unsigned char { skip, warmup, active };

  schedule() = default;
  explicit schedule(options const& from) noexcept
      : skip_(from.skip), warmup_(from.warmup), active_(from.active), repeat_(from.repeat) {
    if (from.trigger.empty() && from.every == 0) return;
    if (active_ == 0) active_ = 1;
    if (from.reports_windows()) {
      skip_ = 0;
      repeat_ = 1;
    } else {
      skip_ = skipped(from);
      repeat_ = 0;
    }
  }

  /// With every=: the steps before each window.
  static std::uint32_t skipped(options const& from) noexcept {
    std::uint64_t const kept = steps_of_window(from);
    return from.every > kept ? static_cast<std::uint32_t>(from.every - kept) : 0;
  }

  /// With every= or trigger=: warm-up and active steps.
  static std::uint64_t steps_of_window(options const& from) noexcept {
    return std::uint64_t{from.warmup} + (from.active == 0 ? 1 : from.active);
  }

  /// What has no effect beside another key. Errors: bad_argument.
  static status ignored(options const& wanted) {
    bool const others = wanted.skip != 0 || wanted.repeat != 1;
    if (!wanted.trigger.empty() && (others || wanted.every != 0))
      return {errc::bad_argument,
              "every=, skip= and repeat= are ignored beside trigger=, which takes a window of "
              "warmup + active steps each time that its file is touched"};
    if (wanted.attach_in_window && wanted.trace && !wanted.attaches_in_windows())
      return {
          errc::bad_argument,
          wanted.nvtx_in()
              ? "attach=window is ignored beside nvtx=in: NVTX looks for CUPTI at the program's "
                "first NVTX call"
              : "attach=window is ignored: there are no windows; add trigger=, every=, or skip= "
                "and active="};
    if (wanted.keep != 0 && !wanted.reports_windows())
      return {errc::bad_argument,
              "keep= is ignored: it is the number of windows whose reports stay, and neither "
              "every= nor trigger= asks for windows"};
    if (wanted.every != 0 && others)
      return {errc::bad_argument,
              "skip= and repeat= are ignored beside every=, which places its windows by itself and "
              "goes on until the program ends"};
    std::uint64_t const kept = steps_of_window(wanted);
    if (wanted.every != 0 && wanted.every < kept)
      return {errc::bad_argument,
              sentence("every=") << wanted.every << " has no room for windows of " << kept
                                 << " steps (warmup + active): they follow each other without a "
                                    "pause; choose a larger one"};
    return {};
  }

  phase of(std::uint32_t step) const noexcept {
    std::uint64_t position = step;
    if (active_ != 0) {
      if (repeat_ != 0 && position / window() >= repeat_) return phase::skip;
      position %= window();
    }
    if (position < skip_) return phase::skip;
    return position < first_kept() ? phase::warmup : phase::active;
  }

  /// The first step that is kept, from 0.
  std::uint64_t first_kept() const noexcept { return std::uint64_t{skip_} + warmup_; }

  /// Those of all windows, of the first one where they have no end, none where there are no
  /// windows.
  std::uint64_t steps_before_counting() const noexcept {
    constexpr std::uint64_t most = no_step;
    std::uint64_t const windows = repeat_ == 0 ? 1 : repeat_;
    if (active_ == 0) return 0;
    return windows > most / window() ? most : windows * window();
  }

 private:
  std::uint64_t window() const noexcept { return std::uint64_t{skip_} + warmup_ + active_; }

  std::uint32_t skip_ = 0;
  std::uint32_t warmup_ = 0;
  std::uint32_t active_ = 0;
  std::uint32_t repeat_ = 1;
};

/// Windows of steps whose reports a thread of its own writes while the program goes on. Each touch
/// of a file asks for one (`trigger=FILE`), or the number of the step does (`every=N,keep=K`). What
/// happens in a window is the session's. Threads: `is_due`, `was_touched`, `begin` and `report` in
/// the one that steps, `end` in any.
class reported_windows {
 public:
  using work = void(void* context) noexcept;

  bool used() const noexcept { return !path_.empty() || period_ != 0; }

  /// A session begins. The file as it is now asks for nothing. Errors: input_output: the file
  /// cannot be looked at.
  status open(options const& wanted) {
    path_ = wanted.trigger;
    period_ = path_.empty() && wanted.reports_windows() ? wanted.every : 0;
    due_ = schedule::skipped(wanted);
    step_ = 0;
    state_.store(state::idle);
    ending_ = false;
    windows_ = 0;
    late_.store(0);
    seen_ = {};
    reason_ = 0;
    if (path_.empty()) return {};
#if defined(__linux__) || defined(__APPLE__)
    path_ = machine::absolute(path_);
    (void)differs();
    struct stat folder {};
    std::size_t const slash = path_.rfind('/') + 1;
    if (reason_ == 0 && !seen_.known && stat(path_.substr(0, slash).c_str(), &folder) != 0)
      reason_ = errno;
    return problem();
#else
    path_.clear();
    return {errc::unavailable, "trigger= is not available on this system: nothing is recorded"};
#endif
  }

  /// At the end of a step outside of a window: whether the file was made or touched since the last
  /// look. Cost: a clock read; ten times a second a call of stat.
  bool was_touched() noexcept {
    if (path_.empty() || state_.load(memory_order_acquire) != state::idle) return false;
    std::int64_t const now = monotonic_ns();
    if (now < next_look_) return false;
    next_look_ = now + 100'000'000;
    int const before = reason_;
    bool const touched = differs();
    quiet_writes const quiet;
    if (reason_ != 0 && reason_ != before) say(problem().message().c_str());
    return touched;
  }

  /// At the begin of a step: whether every= has a window begin with it. Steps are counted from 0
  /// again after 2^32 of them.
  bool is_due(std::uint32_t step) noexcept {
    if (period_ == 0) return false;
    step_ += step - static_cast<std::uint32_t>(step_);
    if (step_ < due_) return false;
    bool const now = step_ == due_ && state_.load(memory_order_acquire) == state::idle;
    std::uint64_t const periods = (step_ - due_) / period_ + 1;
    due_ += periods * period_;
    late_.fetch_add(now ? periods - 1 : periods, memory_order_relaxed);
    return now;
  }

  /// A window begins with this step. `prepare` runs first, unless the session ends.
  template <class Prepare>
  void begin(std::uint32_t first, Prepare prepare) {
    system_lock const lock(mutex_);
    if (ending_) return;
    prepare();
    first_ = first;
    ++windows_;
    state_.store(state::window, memory_order_release);
  }

  bool in_window() const noexcept { return state_.load(memory_order_acquire) == state::window; }
  /// The step of a window, from 0.
  std::uint32_t position(std::uint32_t step) const noexcept { return step - first_; }
  bool had_window() const noexcept { return windows_ != 0; }

  /// Windows that were due while the report of the one before was being written, since the last
  /// call.
  status late() {
    std::uint64_t const late = late_.exchange(0, memory_order_relaxed);
    if (late == 0) return {};
    return {errc::limit,
            sentence("every=: ")
                << late << (late == 1 ? " window" : " windows")
                << " left out since the report before: due while another one was counted or its "
                   "report was written; raise every="};
  }

  /// A session that ends without an open window: why it has no report; empty where earlier ones
  /// were written.
  std::string no_report(bool has_steps) const {
    if (windows_ != 0) return {};
    if (!has_steps)
      return period_ != 0 ? "nothing is reported: every= counts steps, and the program has no "
                            "STRATA_STEP()"
                          : "nothing is reported: trigger= is looked at at the ends of "
                            "STRATA_STEP(), and the program has none";
    if (period_ != 0)
      return sentence("nothing is reported: the program ended before step ")
             << due_ << " (counted from 0), where the first window of every= begins";
    return sentence("nothing is reported: nobody touched ")
           << path_ << ", the file of trigger=, while the program ran its steps";
  }

  /// The window is over: `write` runs in a thread of its own, or here where there can be none. No
  /// window begins before it has returned. At the end of the session the report is the session's.
  void report(work* write, void* context) {
    system_lock const lock(mutex_);
    if (ending_) return;
    join();
    write_ = write;
    context_ = context;
    state_.store(state::reporting);
    if (!start_thread()) (void)run(this);
  }

  /// Does a part of a report that the device is asked for, which may not come back.
  template <class Part>
  void ask_device(Part part) {
    asks_device_.store(true);
    part();
    asks_device_.store(false);
  }

  /// The session ends: waits for a report that is being written; no other begins. Returns: false
  /// where the device has not answered it for so many ms and a little longer.
  bool end(std::uint32_t patience_ms) {
    constexpr std::int64_t grace_ms = 300;
    system_lock const lock(mutex_);
    ending_ = true;
    std::int64_t const latest = monotonic_ns() + (patience_ms + grace_ms) * 1'000'000;
    for (unsigned turn = 0; state_.load() == state::reporting; ++turn) {
      if (asks_device_.load() && monotonic_ns() > latest) return false;
      wait_a_turn(turn);
    }
    join();
    return true;
  }

 private:
  enum class state : unsigned char { idle, window, reporting };

  /// Looks at the file: whether it is there and another than it was, or of another time.
  bool differs() noexcept {
    file_identity now;
#if defined(__linux__) || defined(__APPLE__)
    struct stat found {};
    bool const exists = stat(path_.c_str(), &found) == 0;
    reason_ = exists || errno == ENOENT ? 0 : errno;
    if (exists) now = file_identity(found);
#endif
    file_identity const before = std::exchange(seen_, now);
    return now.known && !(now.same_as(before) && now.modified == before.modified);
  }

  status problem() const {
    if (reason_ == 0) return {};
    return {errc::input_output,
            sentence("trigger=") << path_ << " cannot be looked at: " << std::strerror(reason_)
                                 << "; no window begins until it can: make its directory, or name "
                                    "a file in another one"};
  }

  static void* run(void* self) {
    auto& of = *static_cast<reported_windows*>(self);
    of.write_(of.context_);
    of.state_.store(state::idle, memory_order_release);
    return nullptr;
  }

#if defined(__linux__) || defined(__APPLE__)
  bool start_thread() noexcept { return has_thread_ = machine::start_thread(thread_, &run, this); }
  void join() noexcept {
    if (std::exchange(has_thread_, false)) pthread_join(thread_, nullptr);
  }
  pthread_t thread_{};
  bool has_thread_ = false;
#else
  bool start_thread() noexcept { return false; }
  void join() noexcept {}
#endif

  std::string path_;          // of trigger=
  std::uint64_t period_ = 0;  // of every=, in steps
  std::uint64_t due_ = 0;     // the step that the next window begins with
  std::uint64_t step_ = 0;    // that began last
  atomic<std::uint64_t> late_{0};
  system_mutex mutex_{held_over::calls};  // a window begins, a report begins, the session ends
  atomic<state> state_{state::idle};
  bool ending_ = false;
  atomic<bool> asks_device_{false};  // a report does
  std::uint32_t first_ = 0;
  std::uint32_t windows_ = 0;
  std::int64_t next_look_ = 0;
  file_identity seen_;
  int reason_ = 0;  // why the file cannot be looked at
  work* write_ = nullptr;
  void* context_ = nullptr;
};

/// Where the program's steps did not reach what the options ask for. `steps`: how many there were.
inline status missing_steps(options const& wanted, schedule const& plan, bool never_counted,
                            profile const& made, std::uint32_t steps) {
  bool const windows = wanted.reports_windows();
  if (windows && made.steps.empty())
    return {errc::limit, "the program ended before the window had a whole step"};
  if (wanted.has_schedule() && !made.has_steps) {
    return {errc::bad_argument,
            never_counted ? "counters= needs STRATA_STEP() around each step, and the program has "
                            "none: nothing was recorded"
                          : "skip, warmup and active count steps, but the program has no "
                            "STRATA_STEP(): nothing was recorded"};
  }
  if (wanted.has_schedule() && made.steps.empty()) {
    return {errc::bad_argument, sentence("the schedule left no step: the program had ")
                                    << steps << ", and the first one to keep is step "
                                    << plan.first_kept()
                                    << " (counted from 0): lower skip, warmup or every"};
  }
  if (!never_counted) return {};
  return {errc::limit,
          sentence("counters: the program ended before the first counting step, which is step ")
              << plan.steps_before_counting() << (windows ? " of the window" : "")
              << ", counted from 0; run more steps, or lower skip, warmup, active or repeat"};
}

/// Why a session does not start in this process.
inline status child_is_silent() {
  return {errc::unavailable,
          "this process was forked from one that had started a Strata session, and records "
          "nothing: fork before the first session, or run another program (exec)"};
}

/// Calls of the program that are left out. `steps`: those that began in a thread while a step of
/// another one was open.
inline void explain_refused_calls(vec<status>& problems, std::uint64_t steps) {
  if (steps != 0) {
    problems.emplace_back(
        errc::bad_argument,
        sentence()
            << steps << (steps == 1 ? " step" : " steps")
            << " not counted: begun while another thread was within a step; put STRATA_STEP() into "
               "one thread, and STRATA_RANGE() alone into the others");
  }
  if (std::uint64_t const ranges = block().interrupting_ranges.exchange(0)) {
    problems.emplace_back(errc::limit,
                          sentence()
                              << ranges
                              << " range calls are left out: a signal handler made them while its "
                                 "thread was within Strata");
  }
  if (std::uint64_t const values = block().values_refused.exchange(0)) {
    problems.emplace_back(errc::bad_argument,
                          sentence("flops, bytes or tokens of ")
                              << values
                              << " range calls are left out: they were negative or not a number");
  }
}

}  // namespace detail
STRATA_END

#endif  // STRATA_SESSION_SCHEDULE_HPP
