#ifndef STRATA_SESSION_REPORTED_WINDOWS_HPP
#define STRATA_SESSION_REPORTED_WINDOWS_HPP

#include <strata/session/file_watch.hpp>
#include <strata/session/machine.hpp>
#include <strata/session/own_threads.hpp>
#include <strata/session/schedule.hpp>

STRATA_BEGIN
namespace detail {

/// Windows of steps whose reports a thread of its own writes while the program continues. Each
/// touch of a file asks for one (`trigger=FILE`), or the number of the step does
/// (`every=N,keep=K`). What happens in a window is the session's. Threads: `is_due`, `was_touched`,
/// `begin` and `report` in the one that steps, `end` in any.
class reported_windows {
 public:
  using work = void(void* context) noexcept;

  bool used() const noexcept { return !file_.empty() || steps_.period != 0; }

  /// A session begins. Errors: input_output: the file cannot be looked at.
  status open(options const& wanted) {
    file_ = wanted.trigger;
    steps_.period = file_.empty() && wanted.reports_windows() ? wanted.every : 0;
    steps_.due = schedule::skipped(wanted);
    steps_.last = 0;
    state_.store(state::idle);
    ending_ = false;
    windows_ = 0;
    late_.store(0);
    if (file_.empty()) return {};
    file_ = machine::absolute(file_);
    return watch_.start(file_);
  }

  /// At the end of a step: whether the file was touched since the last window began.
  bool was_touched() noexcept { return is_idle() && watch_.was_touched(); }
  /// Whether neither a window is open nor its report being written.
  bool is_idle() const noexcept { return state_.load(memory_order_acquire) == state::idle; }

  /// At the start of a step: whether every= has a window begin with it.
  bool is_due(std::uint32_t step) noexcept {
    if (steps_.period == 0) return false;
    steps_.last += step - static_cast<std::uint32_t>(steps_.last);
    if (steps_.last < steps_.due) return false;
    bool const now = steps_.last == steps_.due && is_idle();
    std::uint64_t const periods = (steps_.last - steps_.due) / steps_.period + 1;
    steps_.due += periods * steps_.period;
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

  /// Windows that were due while the report of the one before was written, since the last call.
  status late() {
    std::uint64_t const late = late_.exchange(0, memory_order_relaxed);
    if (late == 0) return {};
    return {errc::limit,
            sentence("every=: ")
                << late << (late == 1 ? " window" : " windows")
                << " left out since the report before: due while another one was counted or its "
                   "report was written; raise every="};
  }

  /// Why a session that ends without an open window has no report; empty where earlier ones are.
  std::string no_report(bool has_steps) const {
    if (windows_ != 0) return {};
    if (!has_steps)
      return steps_.period != 0
                 ? "nothing is reported: every= counts steps, and the program has no "
                   "STRATA_STEP()"
                 : "nothing is reported: trigger= is looked at at the ends of "
                   "STRATA_STEP(), and the program has none";
    if (steps_.period != 0)
      return sentence("nothing is reported: the program ended before step ")
             << steps_.due << " (counted from 0), where the first window of every= begins";
    return sentence("nothing is reported: nobody touched ")
           << file_ << ", the file of trigger=, while the program ran its steps";
  }

  /// The window is over: `write` runs in a thread of its own, or here where there can be none. No
  /// window begins before it has returned. At the end of the session the report is the session's.
  void report(work* write, void* context) {
    system_lock const lock(mutex_);
    if (ending_) return;
    thread_.join();
    report_ = {write, context, true};
    state_.store(state::reporting);
    if (thread_.start(&run, this)) return;
    report_.is_apart = false;
    write_report();
  }

  /// Does a part of a report that the device is asked for, which may not come back. Meanwhile the
  /// thread is one of Strata's own: where main has ended by pthread_exit, the watcher
  /// (exit_hooks.hpp) ends the process with the program's last thread. While files are written the
  /// process waits for them.
  template <class Part>
  void ask_device(Part part) {
    maybe<own_thread> counted;
    if (report_.is_apart) counted.emplace();
    asks_device_.store(true);
    part();
    asks_device_.store(false);
  }

  /// The session ends: waits for a report that is being written; no other begins. Returns: false
  /// where the device has not answered it for so many ms and a little longer.
  bool end(std::uint32_t patience_ms) {
    constexpr std::int64_t grace_ms = 300;
    watch_.stop();
    system_lock const lock(mutex_);
    ending_ = true;
    deadline patience((patience_ms + grace_ms) * 1'000'000);
    for (unsigned turn = 0; state_.load() == state::reporting; ++turn) {
      if (asks_device_.load() && !patience.lasts()) return false;
      wait_a_turn(turn);
    }
    thread_.join();
    return true;
  }

 private:
  enum class state : unsigned char { idle, window, reporting };

  static void* run(void* self) noexcept {
    name_thread("strata-report");
    static_cast<reported_windows*>(self)->write_report();
    return nullptr;
  }

  void write_report() noexcept {
    report_.write(report_.context);
    state_.store(state::idle, memory_order_release);
  }

  owned_thread thread_;

  std::string file_;  // of trigger=
  file_watch watch_;
  struct counted_steps {
    std::uint64_t period = 0;  // of every=
    std::uint64_t due = 0;     // that the next window begins with
    std::uint64_t last = 0;    // that began last
  } steps_;
  struct report_call {
    work* write = nullptr;
    void* context = nullptr;
    bool is_apart = false;  // in a thread of Strata's
  } report_;
  atomic<std::uint64_t> late_{0};
  system_mutex mutex_{held_over::calls};  // a window begins, a report begins, the session ends
  atomic<state> state_{state::idle};
  bool ending_ = false;
  atomic<bool> asks_device_{false};  // a report does
  std::uint32_t first_ = 0;
  std::uint32_t windows_ = 0;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_SESSION_REPORTED_WINDOWS_HPP
