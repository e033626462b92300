#include <strata/version.hpp>
#ifndef STRATA_SESSION_DEVICE_TRACE_HPP
#define STRATA_SESSION_DEVICE_TRACE_HPP

#include <strata/base/clock.hpp>
#include <strata/base/macros.hpp>
#include <strata/collect/counters/counting_pass.hpp>
#include <strata/collect/cuda/activity.hpp>
#include <strata/options.hpp>
#include <strata/profile.hpp>
#include <strata/status.hpp>

#include <cstdint>

STRATA_BEGIN
namespace detail {

/// The device activity of one session: CUPTI comes with the session, or with each of its windows,
/// and between these it goes where it may. Threads: the session's.
class device_trace {
 public:
  explicit device_trace(options const& wanted) noexcept : options_(wanted) {}
  device_trace(device_trace const&) = delete;
  device_trace& operator=(device_trace const&) = delete;

  /// The session begins. Errors: those of activity_collector::open.
  status begin() {
    waits_to_attach_ = options_.attaches_in_windows();
    guards_graphs_ = false;
    status outcome;
    if (options_.trace && !waits_to_attach_) outcome = attach();
    return outcome;
  }

  /// CUPTI has come, in this session.
  bool tracing() const noexcept { return tracing_; }
  /// It has, or is to come with a window.
  bool may_trace() const noexcept { return tracing_ || waits_to_attach_; }

  /// Steps are to be counted: as cupti_client::guard_graphs, also when CUPTI comes once more.
  void guard_graphs() {
    guards_graphs_ = true;
    activity().guard_graphs();
  }

  /// A window begins. Requires: none is open. Errors: those of `begin` and of
  /// activity_collector::begin_window.
  status begin_window() {
    status outcome;
    if (waits_to_attach_) {
      outcome = attach();
      waits_to_attach_ = !outcome.ok();
    }
    if (tracing_ && !waits_to_attach_) {
      outcome = activity().begin_window();
      if (!outcome.ok() && outcome.code() != errc::not_supported) tracing_ = false;
    }
    return outcome;
  }

  /// A window ends. Returns: false while a stream captures a graph, where it stays open.
  bool end_window() {
    if (tracing_ && !activity().end_window()) return false;
    if (options_.attaches_in_windows()) {
      let_cupti_go();
      waits_to_attach_ = true;
    }
    return true;
  }

  /// Whether CUPTI is about to go, which takes steps outside of windows.
  bool counts_steps() const noexcept { return steps_to_look_ != 0; }
  /// One of these steps begins.
  void step_begins(bool in_window) {
    --steps_to_look_;
    if (steps_to_look_ == 0 && !in_window) let_cupti_go();
  }

  /// As activity_collector::bring_in and begin_anew. Requires: no window is open.
  void bring_in() {
    if (tracing_) activity().bring_in();
  }
  void begin_anew() {
    if (tracing_) activity().begin_anew(buffer_bytes());
  }

  /// The last flush of the session.
  void close() {
    if (tracing_) activity().close();
  }
  /// Hands what was traced to the profile. Errors: why it is incomplete. Requires: tracing().
  status const& take(profile& to, tick_converter const& ticks) {
    activity().take(to, ticks);
    return activity().problem();
  }
  /// The session is over.
  void end() noexcept { tracing_ = false; }

  /// What the counters control of the device activity.
  static trace_control control() noexcept {
    trace_control made;
    made.tracing = [] { return activity().tracing(); };
    made.suspend = [] { return activity().end_window(); };
    made.resume = [] { (void)activity().begin_window(); };
    made.watch = [](trace_control::launch_watcher* watcher, void* context) {
      return activity().watch_launches(watcher, context);
    };
    made.saw_graphs = [] { return activity().saw_graphs(); };
    made.guard_graphs = [] { activity().guard_graphs(); };
    return made;
  }

 private:
  static constexpr std::uint32_t steps_of_looking = 200;

  static activity_collector& activity() { return activity_collector::instance(); }

  std::int64_t buffer_bytes() const noexcept { return std::int64_t{options_.buffers_mb} << 20; }

  /// CUPTI comes into the process, for the first time in this session or once more.
  status attach() {
    activity_collector::traced_kinds const chosen{options_.trace_kernels, options_.trace_copies,
                                                  options_.trace_memory, options_.trace_waits};
    status outcome = tracing_ ? activity().attach(chosen) : activity().open(buffer_bytes(), chosen);
    if (outcome.ok()) {
      if (guards_graphs_) activity().guard_graphs();
      tracing_ = true;
    }
    return outcome;
  }

  /// For the first time, this takes some steps of looking at whether graphs are launched.
  void let_cupti_go() {
    bool const is_over = !tracing_ || activity().step_aside();
    steps_to_look_ = is_over ? 0 : steps_of_looking;
  }

  options const& options_;
  bool tracing_ = false;
  bool waits_to_attach_ = false;  // until a window begins
  bool guards_graphs_ = false;    // since steps are counted
  std::uint32_t steps_to_look_ = 0;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_SESSION_DEVICE_TRACE_HPP
