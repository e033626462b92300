#include <strata/version.hpp>
#ifndef STRATA_COLLECT_CUDA_CUPTI_CLIENT_HPP
#define STRATA_COLLECT_CUDA_CUPTI_CLIENT_HPP

#include <strata/annotate/process.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/threads.hpp>
#include <strata/base/vocabulary.hpp>
#include <strata/collect/cuda/activity_buffers.hpp>
#include <strata/collect/cuda/contexts.hpp>
#include <strata/collect/cuda/cupti.hpp>
#include <strata/collect/cuda/cupti_library.hpp>
#include <strata/collect/cuda/driver.hpp>
#include <strata/profile/records.hpp>
#include <strata/status.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>

STRATA_BEGIN
namespace detail {

/// CUPTI's one subscriber in the process: subscribes, switches callbacks on and off, and lets CUPTI
/// go where it may. It lives as long as the process. Threads: one thread attaches, switches and
/// lets go; callbacks come in any.
class cupti_client {
 public:
  /// What windows and watchers see: all but what begins, ends or changes graphs.
  static bool is_for_windows(api_kind kind) noexcept {
    return !is_capture(kind) && !changes_graphs(kind);
  }

  /// Becomes CUPTI's subscriber, unless it is, and begins to follow graph nodes; callbacks go to
  /// `handler`. `thread`: the calling one, as `saw_caller` is told.
  /// Errors: unavailable (no driver, device, libcupti), busy (another subscriber).
  /// Source: cuptiSubscribe, cuptiEnableCallback.
  status attach(cupti::callback_function* handler, void const* thread) {
    thread_.store(thread, memory_order_relaxed);
    others_call_.store(false, memory_order_relaxed);
    handler_.store(handler);  // its thread_local objects are those of this session's module
    if (process_ != 0 && !in_own_process()) {
      return {errc::unavailable,
              "a forked child cannot trace the device: CUDA works in the parent only"};
    }
    if (is_silent()) {
      return {errc::unavailable,
              "no device activity: the GPU has not answered since the last session ended"};
    }
    status outcome;
    if (!still_subscribed()) outcome = subscribe();
    if (!outcome.ok()) return outcome;
    follow_graphs();
    look_outside_windows();
    return outcome;
  }

  bool is_subscribed() const noexcept {
    return hold_.load() == hold::subscribed && in_own_process() && !is_silent();
  }

  /// A thread of Strata's own begins calls that may wait for a device without an end.
  void calls_begin() noexcept { calls_apart_.store(calls_apart::under_way); }
  /// They have come back, be it after `give_up`: then CUPTI answers again.
  void calls_end() noexcept { calls_apart_.store(calls_apart::none); }
  /// Whether they are under way. Threads: any.
  bool calls_last() const noexcept { return calls_apart_.load() == calls_apart::under_way; }
  /// Nobody waits for them any more, and CUPTI is not called until they come back. Returns: false
  /// where they have.
  bool give_up() noexcept {
    calls_apart expected = calls_apart::under_way;
    return calls_apart_.compare_exchange_strong(expected, calls_apart::given_up);
  }
  /// Whether CUPTI did not come back from a call, and may not be called.
  bool is_silent() const noexcept { return calls_apart_.load() == calls_apart::given_up; }

  /// A forked child has this object, but neither CUDA nor CUPTI.
  bool in_own_process() const noexcept { return process_ == process_id(); }

  /// Null before the first `attach`.
  cupti_library const* library() const noexcept { return library_; }

  STRATA_DETAIL_ALWAYS_INLINE api_kind kind_of(std::uint32_t id) const noexcept {
    return calls_.kind_of(id);
  }

  cupti::result set_callback(std::uint32_t on, cupti::domain where, std::uint32_t id) const {
    return library_->api.enable_callback(on, subscriber_, where, id);
  }

  /// Switches the callbacks of the calls that are `wanted`.
  /// Returns: how many; `code` is the last failure's.
  std::size_t set_callbacks(std::uint32_t on, callback<bool(api_kind)> wanted,
                            cupti::result* code = nullptr) const {
    std::size_t switched = 0;
    for (cupti::api_call const& call : calls_.calls()) {
      if (!wanted(call.kind)) continue;
      auto const outcome = set_callback(on, cupti::domain::driver_api, call.id);
      bool const done = outcome == cupti::result::success;
      switched += done ? 1 : 0;
      if (!done && code != nullptr) *code = outcome;
    }
    return switched;
  }

  /// CUPTI stays in the process from now on.
  void keep() noexcept { keeps_cupti_ = true; }

  /// What instantiates, updates or destroys graphs waits for exclusive scopes of the capture_guard
  /// until `unguard_graphs`, as what begins captures always does. CUPTI stays.
  void guard_graphs() {
    if (!is_subscribed() || std::exchange(guards_graphs_, true)) return;
    keep();
    capture_guard::forget_graph_calls();
    (void)set_callbacks(1, &changes_graphs);
  }
  void unguard_graphs() {
    if (std::exchange(guards_graphs_, false)) (void)set_callbacks(0, &changes_graphs);
  }

  /// Whether the program was seen to make or launch CUDA graphs, in any session.
  bool saw_graphs() const noexcept { return saw_graphs_.load(memory_order_relaxed); }

  /// A graph was launched, made or changed. Threads: any.
  STRATA_DETAIL_ALWAYS_INLINE void saw_graph() noexcept {
    if (!saw_graphs()) saw_graphs_.store(true, memory_order_relaxed);
  }

  /// Whether the program was seen to allocate managed memory, in any session.
  bool saw_managed_memory() const noexcept { return saw_managed_.load(memory_order_relaxed); }

  /// Managed memory was allocated. Returns: whether that is the first time. Threads: any.
  bool saw_managed_allocation() noexcept { return !saw_managed_.exchange(true); }

  /// This thread called the driver. Threads: any.
  STRATA_DETAIL_ALWAYS_INLINE void saw_caller(void const* thread) noexcept {
    if (thread != thread_.load(memory_order_relaxed) && !others_call_.load(memory_order_relaxed))
      others_call_.store(true, memory_order_relaxed);
  }

  /// The next call of `step_aside` is the first again, and what changes graphs is not followed yet.
  void begin_session() noexcept {
    waited_for_graphs_ = false;
    capture_guard::forget_graph_calls();
  }

  /// Until one was seen, launches of graphs and allocations of managed memory call back at all
  /// times; later in windows only. To be called outside of windows.
  void look_outside_windows() {
    (void)set_callbacks(saw_graphs() ? 0 : 1, &launches_graphs);
    if (calls_.managed_id() != 0 && !saw_managed_memory())
      (void)set_callback(1, cupti::domain::driver_api, calls_.managed_id());
  }

  /// Lets CUPTI go where it may. A graph that another thread launches meanwhile fails, and with it
  /// the context (13.0): so from the first call to the second it is seen whether there are any.
  /// Requires: is_subscribed(). Threads: that of the steps.
  /// Returns: false where it is to be called again, some steps later.
  bool step_aside() {
    if (!std::exchange(waited_for_graphs_, true) && !saw_graphs()) return false;
    look_outside_windows();
    let_go();
    return true;
  }

  /// Takes CUPTI out of the process, since its mere presence costs 16 % of each launch, and 0.2 us
  /// for each node of a CUDA graph that is launched (H200, CUDA 13.0). It stays where it
  /// saw graphs, which may fail when they are launched without it (llama.cpp: "unspecified launch
  /// failure"), where other threads called the driver since `attach` (a thread that is not
  /// scheduled while it launches may crash in CUPTI after it), in modules whose NVTX it serves, and
  /// for its profiler. Source: cuptiFinalize.
  void let_go() {
    if (library_->api.finalize == nullptr || keeps_cupti_ || is_in_use() || !may_let_go()) return;
    if (!capture_guard::exclusive(capture_guard::patience / 10)) return;
    hold_.store(hold::leaving);
    int version = 0;
    if (switch_version(1)) (void)driver_library::get().api.driver_version(&version);
    // Without that callback, the program's next call is the one.
    if (hold_.load() == hold::leaving) (void)set_callbacks(1, &is_no_capture);
  }

  /// Whether the next callback is for `leave_at`. Threads: any.
  STRATA_DETAIL_ALWAYS_INLINE bool is_leaving() const noexcept {
    return hold_.load(memory_order_relaxed) >= hold::leaving;
  }

  /// Lets CUPTI go if this callback is the exit of a driver call; at a call that begins to work
  /// with graphs it stays. Returns: false where the callback is followed as ever: graphs, captures
  /// and contexts are, as long as CUPTI can be asked. Threads: any.
  STRATA_DETAIL_COLD bool leave_at(cupti::domain where, std::uint32_t id,
                                   void const* data) noexcept {
    if (where != cupti::domain::driver_api) return hold_.load() == hold::going;
    api_kind const kind = kind_of(id);
    bool const of_graph = !is_for_windows(kind) || launches_graphs(kind);
    if (of_graph) saw_graph();
    cupti::api_data const call = *static_cast<cupti::api_data const*>(data);
    bool const is_place = of_graph || call.site == cupti::api_site::exit;
    hold leaving = hold::leaving;
    if (is_place && may_let_go() && hold_.compare_exchange_strong(leaving, hold::going)) {
      bool const attached = buffers_.set_attached(false);
      bool const gone = !is_in_use() && library_->api.finalize() == cupti::result::success;
      (void)buffers_.set_attached(attached && !gone);
      gone ? buffers_.detach(call.correlation_id) : stay();
      hold_.store(gone ? hold::none : hold::subscribed);
    }
    return !is_capture(kind);
  }

 private:
  using resource_id = cupti::resource_id;

  /// How CUPTI is held. It goes in the exit callback of a driver call, as NVIDIA recommends: calls
  /// may be under way in other threads.
  enum class hold : unsigned char { none, subscribed, leaving, going };
  enum class calls_apart : unsigned char { none, under_way, given_up };

  static bool is_capture(api_kind kind) noexcept {
    return kind == api_kind::begin_capture || kind == api_kind::end_capture;
  }
  static bool changes_graphs(api_kind kind) noexcept { return kind == api_kind::graph_change; }
  static bool launches_graphs(api_kind kind) noexcept { return kind == api_kind::graph_launch; }
  static bool is_no_capture(api_kind kind) noexcept { return !is_capture(kind); }

  bool is_in_use() const noexcept {
    return saw_graphs() || others_call_.load(memory_order_relaxed);
  }

  /// CUPTI was about to go, and does not.
  void stay() {
    (void)switch_version(0);
    (void)set_callbacks(0, &is_no_capture);
    look_outside_windows();
  }

  /// Takes the subscription back that is about to be let go, or waits until it is.
  bool still_subscribed() {
    hold leaving = hold::leaving;
    if (hold_.compare_exchange_strong(leaving, hold::subscribed)) stay();
    while (hold_.load() == hold::going) capture_guard::rest();
    return hold_.load() == hold::subscribed;
  }

  status subscribe() {
    library_ = &cupti_library::get();
    if (!library_->ok()) return {errc::unavailable, library_->problem};
    cupti::result const code = library_->subscribe(&subscriber_, &on_callback, this);
    if (code == cupti::result::multiple_subscribers_not_supported) {
      std::string const other = library_->other_client();
      return {errc::busy, library_->describe("cuptiSubscribe", code) +
                              (other.empty() ? "" : " [" + other + "]")};
    }
    if (code != cupti::result::success) {
      return {
          code == cupti::result::insufficient_privileges ? errc::not_permitted : errc::unavailable,
          library_->describe("cuptiSubscribe", code)};
    }
    if (process_ == 0) {
      static cupti_client* const subscriber = this;
      (void)std::atexit([] { subscriber->ends_.store(true); });
    }
    process_ = process_id();
    capture_guard::forget_all();
    if (calls_.empty()) calls_ = cupti::api_list::read(library_->api);
    hold_.store(hold::subscribed);
    return {};
  }

  /// Switches on the callbacks that say how graphs, captures, contexts and streams come and go.
  void follow_graphs() {
    for (auto const id :
         {resource_id::graph_node_created, resource_id::graph_node_cloned,
          resource_id::graph_node_updated, resource_id::graph_node_destroy_starting,
          resource_id::context_destroy_starting, resource_id::stream_destroy_starting}) {
      (void)set_callback(1, cupti::domain::resource, static_cast<std::uint32_t>(id));
    }
    (void)set_callbacks(1, &is_capture);
  }

  bool switch_version(std::uint32_t on) {
    return calls_.version_id() != 0 && set_callback(on, cupti::domain::driver_api,
                                                    calls_.version_id()) == cupti::result::success;
  }

  /// Whether the process still runs: at its end the driver may be gone before CUPTI.
  bool may_let_go() const noexcept {
    return !ends_.load() && in_own_process() && block().phase.load() == process_phase::running;
  }

  STRATA_DETAIL_HOT_CODE
  /// CUPTI's callback, of the module that subscribed: calls the module of the last session.
  static void on_callback(void* user, cupti::domain where, std::uint32_t id,
                          void const* data) noexcept {
    static_cast<cupti_client*>(user)->handler_.load(memory_order_relaxed)(user, where, id, data);
  }
  STRATA_DETAIL_END_CODE

  cupti_library* library_ = nullptr;
  cupti::subscriber_handle subscriber_ = nullptr;
  cupti::api_list calls_;
  atomic<cupti::callback_function*> handler_{nullptr};
  atomic<hold> hold_{hold::none};
  atomic<calls_apart> calls_apart_{calls_apart::none};
  atomic<bool> ends_{false};   // the process
  unsigned long process_ = 0;  // that subscribed
  bool keeps_cupti_ = false;
  bool guards_graphs_ = false;
  bool waited_for_graphs_ = false;
  atomic<bool> saw_graphs_{false};
  atomic<bool> saw_managed_{false};
  atomic<void const*> thread_{nullptr};  // that attached last
  atomic<bool> others_call_{false};      // since then
  activity_buffers& buffers_ = activity_buffers::instance();
};

}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_CUDA_CUPTI_CLIENT_HPP
