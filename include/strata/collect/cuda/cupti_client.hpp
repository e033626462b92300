#ifndef STRATA_COLLECT_CUDA_CUPTI_CLIENT_HPP
#define STRATA_COLLECT_CUDA_CUPTI_CLIENT_HPP

#include <strata/collect/cuda/contexts.hpp>
#include <strata/collect/cuda/cupti_library.hpp>

STRATA_BEGIN
namespace detail {

/// CUPTI's one subscriber in the process: subscribes, switches callbacks on and off, and gives the
/// subscription back. CUPTI itself stays once it came: taking it out (cuptiFinalize) crashed
/// threads that launched and programs with CUDA graphs (CUPTI 13.0 and 13.5). It lives as long as
/// the process. Threads: one thread attaches, switches and leaves; callbacks come in any.
class cupti_client {
 public:
  explicit cupti_client(cupti_presence const& presence) noexcept : presence_(presence) {}

  /// What windows and watchers see: all but what begins, ends or changes graphs.
  static bool is_for_windows(api_kind kind) noexcept { return !makes_graphs(kind); }

  /// Becomes CUPTI's subscriber, unless it is, and begins to follow graph nodes; callbacks go to
  /// `handler`.
  /// Errors: unavailable (no driver, device, libcupti), busy (another subscriber).
  /// Source: cuptiSubscribe, cuptiEnableCallback.
  status attach(cupti::callback_function* handler) {
    handler_.store(handler);  // its thread_local objects are those of this session's module
    if (process_ != 0 && !in_own_process()) {
      return {errc::unavailable,
              "a forked child cannot trace the device: CUDA works in the parent only"};
    }
    if (is_silent()) {
      return {errc::unavailable,
              "no device activity: the GPU has not answered since the last session ended"};
    }
    if (is_gone()) return {errc::unavailable, "no device activity: the program is ending"};
    status outcome;
    if (!subscribed_.load()) outcome = subscribe();
    if (!outcome.ok()) return outcome;
    follow_graphs();
    look_outside_windows();
    return outcome;
  }

  bool is_subscribed() const noexcept {
    return subscribed_.load() && in_own_process() && !is_silent() && !is_gone();
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

  /// Whether the program's exit handlers have come to CUPTI, which may not be called any more.
  bool is_gone() const noexcept { return presence_.has_ended(); }

  /// A forked child has this object, but neither CUDA nor CUPTI.
  bool in_own_process() const noexcept { return process_ == process_id(); }

  /// Null before the first `attach`.
  cupti_library const* library() const noexcept { return library_; }

  STRATA_DETAIL_ALWAYS_INLINE api_kind kind_of(std::uint32_t id) const noexcept {
    return calls_.kind_of(id);
  }
  cupti::stream_wait stream_wait_of(std::uint32_t id) const noexcept {
    return calls_.stream_wait_of(id);
  }
  cupti::step_call step_call_of(std::uint32_t id) const noexcept { return calls_.step_call_of(id); }

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

  /// From the next `look_outside_windows` on, the calls that are `wanted` call back outside of
  /// windows too; none where it is null.
  void follow_outside_windows(bool (*wanted)(cupti::step_call)) noexcept { follows_ = wanted; }

  /// The subscription is not given back from now on.
  void keep() noexcept { keeps_subscription_ = true; }

  /// What instantiates, updates or destroys graphs waits for exclusive scopes of the capture_guard
  /// until `unguard_graphs`, as what begins captures always does, and what makes streams wait calls
  /// back. Counting needs the subscription from then on.
  void guard_graphs() {
    if (!is_subscribed() || guards_graphs()) return;
    keep();
    guards_graphs_.store(true);
    capture_guard::forget_graph_calls();
    (void)set_callbacks(1, &changes_graphs);
    set_wait_callbacks(1);
  }
  void unguard_graphs() {
    if (!guards_graphs_.exchange(false)) return;
    (void)set_callbacks(0, &changes_graphs);
    set_wait_callbacks(0);
  }
  bool guards_graphs() const noexcept { return guards_graphs_.load(memory_order_relaxed); }

  /// Updates of graphs and their ends call back in windows, and where they are guarded.
  void follow_graph_changes(std::uint32_t on) {
    if (!guards_graphs()) (void)set_callbacks(on, &changes_graphs);
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

  /// Until one was seen, launches of graphs and allocations of managed memory call back at all
  /// times; later in windows only. To be called outside of windows.
  void look_outside_windows() {
    (void)set_callbacks(saw_graphs() ? 0 : 1, &launches_graphs);
    if (calls_.managed_id() != 0 && !saw_managed_memory())
      (void)set_callback(1, cupti::domain::driver_api, calls_.managed_id());
    if (follows_ != nullptr) set_step_callbacks(1, follows_);
  }
  /// Switches the callbacks of the calls that are `wanted`.
  void set_step_callbacks(std::uint32_t on, bool (*wanted)(cupti::step_call)) const noexcept {
    for (cupti::api_call const& call : calls_.calls())
      if (wanted(call.of_steps)) (void)set_callback(on, cupti::domain::driver_api, call.id);
  }

  /// Gives the subscription back, so that another profiler may come. It is kept in a program with
  /// CUDA graphs, since cuptiUnsubscribe frees the table of callbacks before it says so, and what
  /// another thread does with a graph reads it (13.0); while a stream captures; in modules whose
  /// NVTX it serves; for the profiler that counts; and at the end of the process, where the driver
  /// may be gone before CUPTI. Requires: is_subscribed().
  /// Returns: whether it was given back. Source: cuptiUnsubscribe.
  bool unsubscribe() {
    if (keeps_subscription_ || saw_graphs() || !process_goes_on()) return false;
    capture_guard::exclusive const alone(capture_guard::short_patience);
    if (!alone || saw_graphs()) return false;
    subscribed_.store(library_->api.unsubscribe(subscriber_) != cupti::result::success);
    return !subscribed_.load();
  }

 private:
  using resource_id = cupti::resource_id;

  void set_wait_callbacks(std::uint32_t on) const {
    for (cupti::stream_wait_call const& call : calls_.stream_waits())
      (void)set_callback(on, cupti::domain::driver_api, call.id);
  }

  enum class calls_apart : unsigned char { none, under_way, given_up };

  /// Captures, and instantiations: their flags say which graphs the device may launch.
  static bool begins_graphs(api_kind kind) noexcept {
    return makes_graphs(kind) && !changes_graphs(kind);
  }
  static bool changes_graphs(api_kind kind) noexcept { return kind == api_kind::graph_change; }
  static bool launches_graphs(api_kind kind) noexcept { return kind == api_kind::graph_launch; }

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
    process_ = process_id();
    capture_guard::forget_all();
    if (calls_.empty()) calls_ = cupti::api_list::read(library_->api);
    subscribed_.store(true);
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
    (void)set_callbacks(1, &begins_graphs);
  }

  bool process_goes_on() const noexcept {
    return !is_gone() && block().phase.load() == process_phase::running;
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
  atomic<bool> subscribed_{false};
  atomic<calls_apart> calls_apart_{calls_apart::none};
  cupti_presence const& presence_;
  unsigned long process_ = 0;  // that subscribed
  bool (*follows_)(cupti::step_call) = nullptr;
  bool keeps_subscription_ = false;
  atomic<bool> guards_graphs_{false};
  atomic<bool> saw_graphs_{false};
  atomic<bool> saw_managed_{false};
};

}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_CUDA_CUPTI_CLIENT_HPP
