#ifndef STRATA_COLLECT_COUNTERS_TRACE_PAUSE_HPP
#define STRATA_COLLECT_COUNTERS_TRACE_PAUSE_HPP

#include <strata/collect/cuda/device_fence.hpp>
#include <strata/collect/cuda/launch_gate.hpp>
#include <strata/collect/host/recorder.hpp>

STRATA_BEGIN
namespace detail {

/// The part of a session's trace that counting has to control. Every function may be null: then
/// nothing is traced.
struct trace_control {
  using launch_watcher = void(void* context, api_kind kind, cupti::api_data const& call);

  bool (*tracing)() = nullptr;
  // Waits: for the streams that the stepping thread launches most into, as long as `drain=` says;
  // for all devices, a moment; for those in a pass, as long as `drain=` says, once in vain.
  void (*choose_streams)() = nullptr;  // a step begins
  void (*await_own_streams)() = nullptr;
  bool (*devices_are_idle)() = nullptr;
  bool (*await_pass)() = nullptr;
  std::string (*in_the_way)() = nullptr;  // of the last of those waits
  pause_outcome (*suspend)() = nullptr;   // the trace continues unless it paused
  void (*resume)() = nullptr;
  /// Passes every launch to the watcher; null ends it. False where CUPTI reports no launches.
  bool (*watch)(launch_watcher* watcher, void* context) = nullptr;
  /// Hands calls that launch or make streams wait, of any thread, to the keeper; null ends it.
  void (*set_gate)(launch_gate::keeper const* keeper, void* context) = nullptr;
  /// Waits for the work of the current context, as long as `drain=` says and it `goes_on`; not
  /// while a stream captures. Threads: any.
  pause_outcome (*await_launch)(callback<bool()> goes_on) = nullptr;
  stream_waits_seen& (*stream_waits)() = nullptr;
  std::string (*place_of)(std::uint32_t node) = nullptr;  // "in a/b"
  bool (*saw_graphs)() = nullptr;    // the program makes or launches CUDA graphs
  void (*guard_graphs)() = nullptr;  // from now on calls that make graphs wait for ours
};

/// Suspends the trace and the host log for one step, since neither times nor records of a counted
/// step are valid (instrumented code reads zero beside CUPTI's kernel records), and watches
/// launches and ranges. Threads: the one that drives the steps, but for `unwatch`.
class trace_pause {
 public:
  explicit trace_pause(trace_control const& trace) noexcept : trace_(trace) {}

  bool saw_graphs() const { return trace_.saw_graphs != nullptr && trace_.saw_graphs(); }
  void guard_graphs() const {
    if (trace_.guard_graphs != nullptr) trace_.guard_graphs();
  }

  /// A step begins that does not count yet.
  void pass_by() const {
    if (trace_.choose_streams != nullptr) trace_.choose_streams();
  }
  /// Before a pass: the program may run ahead of the device. Requires: no exclusive scope.
  void await_own_streams() const {
    if (trace_.await_own_streams != nullptr) trace_.await_own_streams();
  }
  /// Whether the devices have done what the program launched: CUPTI waits for them without an end.
  bool devices_are_idle() const {
    return trace_.devices_are_idle == nullptr || trace_.devices_are_idle();
  }
  /// Waits in a pass until they have. Requires: no exclusive scope, which holds up graph calls.
  bool await_pass() const { return trace_.await_pass == nullptr || trace_.await_pass(); }
  /// Why a wait for the devices or for the pass failed; empty if none did.
  std::string in_the_way() const {
    return trace_.in_the_way == nullptr ? std::string() : trace_.in_the_way();
  }
  /// Nothing is suspended unless it says `paused`.
  pause_outcome suspend() {
    bool const traced = trace_.tracing != nullptr && trace_.tracing();
    pause_outcome const outcome = traced               ? trace_.suspend()
                                  : devices_are_idle() ? pause_outcome::paused
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
    bool const watched = trace_.watch != nullptr && trace_.watch(launched, context);
    ranges_of_ = recorder::instance().of_this_thread();
    watching_ = true;
    return ranges_of_ != nullptr && ranges_of_->observe(moved, context) && watched;
  }
  /// As trace_control::set_gate. The keeper lives as long as the process.
  void keep_gate(launch_gate::keeper const& keeper, void* context) noexcept {
    if (trace_.set_gate == nullptr) return;
    gated_ = true;
    trace_.set_gate(&keeper, context);
  }
  bool keeps_gate() const noexcept { return gated_.load(); }
  void open_gate() noexcept {
    if (gated_.exchange(false)) trace_.set_gate(nullptr, nullptr);
  }
  /// As trace_control::await_launch; `paused`: the work is done.
  pause_outcome await_launch() const {
    return trace_.await_launch == nullptr ? pause_outcome::paused
                                          : trace_.await_launch([] { return true; });
  }
  /// What made a stream wait for memory since `forget_waits`: "cuStreamWaitValue32 in waits"; empty
  /// where nothing did.
  std::string stream_waits() const {
    if (trace_.stream_waits == nullptr) return {};
    stream_waits_seen const& seen = trace_.stream_waits();
    if (seen.name() == nullptr) return {};
    return std::string(seen.name()) + ' ' + place_of(seen.node());
  }
  void forget_waits() const noexcept {
    if (trace_.stream_waits != nullptr) trace_.stream_waits().forget();
  }
  std::string place_of(std::uint32_t node) const {
    return trace_.place_of == nullptr ? std::string() : trace_.place_of(node);
  }

  /// No call with this context is under way any more when it returns.
  void unwatch(void* context) noexcept {
    if (!watching_.exchange(false)) return;
    if (ranges_of_ != nullptr) ranges_of_->stop_observing(context);
    if (trace_.watch != nullptr) (void)trace_.watch(nullptr, nullptr);
  }
  void resume() noexcept {
    if (std::exchange(resume_trace_, false)) trace_.resume();
    if (std::exchange(resume_log_, false)) recorder::instance().record(true);
  }

 private:
  trace_control trace_;
  atomic<bool> watching_{false};
  atomic<bool> gated_{false};
  thread_recorder* ranges_of_ = nullptr;
  bool resume_trace_ = false;
  bool resume_log_ = false;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_COUNTERS_TRACE_PAUSE_HPP
