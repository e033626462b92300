#ifndef STRATA_COLLECT_COUNTERS_TRACE_PAUSE_HPP
#define STRATA_COLLECT_COUNTERS_TRACE_PAUSE_HPP

#include <strata/collect/cuda/device_fence.hpp>
#include <strata/collect/cuda/launch_gate.hpp>
#include <strata/collect/host/recorder.hpp>

STRATA_BEGIN
namespace detail {

/// The part of a session's trace that counting has to control. Threads: the one that drives the
/// steps, but where it says otherwise.
class trace_control {
 public:
  using launch_watcher = void(void* context, api_kind kind, cupti::api_data const& call);

  virtual bool tracing() = 0;
  /// A step begins, whether it counts or not.
  virtual void choose_streams() = 0;
  /// Before a pass: waits for the streams that the stepping thread launches most into, as long as
  /// `drain=` says, since a program may run ahead of the device. Requires: no exclusive scope.
  virtual void await_own_streams() = 0;
  /// Waits a moment for all devices: CUPTI waits for them without an end.
  virtual bool devices_are_idle() = 0;
  /// In a pass: waits for its work as long as `drain=` says, once in vain. Requires: no exclusive
  /// scope, which holds up graph calls.
  virtual bool await_pass() = 0;
  /// Why the last of those waits failed; empty if none did.
  virtual std::string in_the_way() const = 0;
  /// The trace continues unless it says `paused`.
  virtual pause_outcome suspend() = 0;
  virtual void resume() = 0;
  /// Passes every launch to the watcher; null ends it. False where CUPTI reports no launches.
  virtual bool watch(launch_watcher* watcher, void* context) = 0;
  /// Hands calls that launch or make streams wait, of any thread, to the keeper; null ends it.
  virtual void set_gate(launch_gate::keeper const* keeper, void* context) = 0;
  /// Waits for the work of the current context, as long as `drain=` says and it `goes_on`; not
  /// while a stream captures. Threads: any.
  virtual pause_outcome await_launch(callback<bool()> goes_on) = 0;
  /// Calls that made a stream wait for memory.
  virtual stream_waits_seen& stream_waits() = 0;
  /// "in a/b"
  virtual std::string place_of(std::uint32_t node) const = 0;
  /// The program makes or launches CUDA graphs.
  virtual bool saw_graphs() const = 0;
  /// From now on calls that make graphs wait for ours.
  virtual void guard_graphs() = 0;

 protected:
  ~trace_control() = default;
};

/// Suspends the trace and the host log for one step, since neither times nor records of a counted
/// step are valid (instrumented code reads zero while CUPTI records kernels), and watches
/// launches and ranges. Threads: the one that drives the steps, but for `unwatch`.
class trace_pause {
 public:
  explicit trace_pause(trace_control& trace) noexcept : trace_(trace) {}

  /// Nothing is suspended unless it says `paused`.
  pause_outcome suspend() {
    bool const traced = trace_.tracing();
    bool const is_idle = traced || trace_.devices_are_idle();
    pause_outcome const outcome = traced    ? trace_.suspend()
                                  : is_idle ? pause_outcome::paused
                                            : pause_outcome::busy;
    if (outcome != pause_outcome::paused) return outcome;
    resume_trace_ = traced;
    recorder& log = recorder::instance();
    resume_log_ = log.recording();
    log.record(false);
    return outcome;
  }
  /// False where launches cannot be watched; ranges are.
  bool watch(trace_control::launch_watcher* launched, place_observers::place_changed* moved,
             void* context) {
    bool const watched = trace_.watch(launched, context);
    ranges_of_ = recorder::instance().of_this_thread();
    watching_ = true;
    return ranges_of_ != nullptr && ranges_of_->observe(moved, context) && watched;
  }
  /// As trace_control::set_gate. The keeper lives as long as the process.
  void keep_gate(launch_gate::keeper const& keeper, void* context) noexcept {
    gated_ = true;
    trace_.set_gate(&keeper, context);
  }
  bool keeps_gate() const noexcept { return gated_.load(); }
  void open_gate() noexcept {
    if (gated_.exchange(false)) trace_.set_gate(nullptr, nullptr);
  }
  /// What made a stream wait for memory since the waits were forgotten: "cuStreamWaitValue32 in
  /// waits"; empty where nothing did.
  std::string stream_waits() const {
    stream_waits_seen const& seen = trace_.stream_waits();
    if (seen.name() == nullptr) return {};
    return std::string(seen.name()) + ' ' + trace_.place_of(seen.node());
  }

  /// No call with this context is under way any more when it returns.
  void unwatch(void* context) noexcept {
    if (!watching_.exchange(false)) return;
    if (ranges_of_ != nullptr) ranges_of_->stop_observing(context);
    (void)trace_.watch(nullptr, nullptr);
  }
  void resume() noexcept {
    // Where memory is short the trace stays off.
    if (std::exchange(resume_trace_, false)) (void)if_memory_allows([this] { trace_.resume(); });
    if (std::exchange(resume_log_, false)) recorder::instance().record(true);
  }

 private:
  trace_control& trace_;
  atomic<bool> watching_{false};
  atomic<bool> gated_{false};
  thread_recorder* ranges_of_ = nullptr;
  bool resume_trace_ = false;
  bool resume_log_ = false;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_COUNTERS_TRACE_PAUSE_HPP
