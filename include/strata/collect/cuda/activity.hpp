#include <strata/version.hpp>
#ifndef STRATA_COLLECT_CUDA_ACTIVITY_HPP
#define STRATA_COLLECT_CUDA_ACTIVITY_HPP

#include <strata/annotate/process.hpp>
#include <strata/base/clock.hpp>
#include <strata/base/containers.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/collect/cuda/activity_buffers.hpp>
#include <strata/collect/cuda/contexts.hpp>
#include <strata/collect/cuda/cupti.hpp>
#include <strata/collect/cuda/cupti_library.hpp>
#include <strata/collect/cuda/driver.hpp>
#include <strata/collect/host/recorder.hpp>
#include <strata/collect/nvtx/cupti_nvtx.hpp>
#include <strata/profile.hpp>
#include <strata/profile/records.hpp>
#include <strata/status.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <string>
#include <utility>

STRATA_BEGIN

namespace detail {

/// Which range captured which node of a CUDA graph. Bounded: graphs beyond the limit are not
/// followed. Threads: any.
class graph_captures {
 public:
  static constexpr std::size_t most_nodes = std::size_t{1} << 20;

  void add(std::uint64_t graph_node, std::uint32_t range) noexcept {
    std::lock_guard<std::mutex> lock(mutex_);
    if (graph_node != 0 && has_room()) last_[graph_node] = {range, first_};
  }

  /// An instantiated graph's node stands for the node it was cloned from.
  void copy(std::uint64_t from, std::uint64_t to) noexcept {
    std::lock_guard<std::mutex> lock(mutex_);
    capture const* const original = last_.find(from);
    if (original == nullptr || to == 0 || !has_room()) return;
    std::uint32_t const range = original->range;
    last_[to] = {range, first_};
  }

  /// From now on the node stands for another one: the executable graph was updated. Where the other
  /// one is not known, or there is no room, it stands for none.
  /// Units: `now` in ticks.
  void update(std::uint64_t from, std::uint64_t node, std::int64_t now) noexcept {
    std::lock_guard<std::mutex> lock(mutex_);
    capture const* const original = last_.find(from);
    capture const next{original == nullptr || !has_room() ? unknown : original->range, now};
    capture* const present = last_.find(node);
    if (present == nullptr) {
      if (next.range != unknown && node != 0) last_[node] = next;
    } else if (present->range != next.range) {
      if (has_room()) former_.push_back({node, present->range, present->since});
      *present = next;
    }
  }

  /// By graph node and time, in ns since the session began.
  vec<captured_record> sorted(tick_converter const& ticks) const {
    vec<captured_record> records;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      records = former_;
      records.reserve(former_.size() + last_.size());
      for (auto const& each : last_.entries())
        records.push_back({each.first, each.second.range, each.second.since});
    }
    for (captured_record& each : records)
      if (each.since != first_) each.since = ticks.to_ns(each.since);
    records.sort();
    return records;
  }

 private:
  static constexpr std::uint32_t unknown = 0xffffffffu;  // as launch_index::none
  static constexpr std::int64_t first_ = (std::numeric_limits<std::int64_t>::min)();

  struct capture {
    std::uint32_t range;
    std::int64_t since;
  };

  bool has_room() const noexcept { return last_.size() + former_.size() < most_nodes; }

  mutable std::mutex mutex_;
  flat_map<std::uint64_t, capture> last_;
  vec<captured_record> former_;
};

/// When something was recorded: what lies outside, such as our own wait at the end of a window, is
/// left out. Units: ticks.
class recorded_periods {
 public:
  bool empty() const noexcept { return all_.empty(); }
  void clear() noexcept { all_.clear(); }

  void begin(std::int64_t now) {
    if (all_.empty() || !all_.back().open) all_.push_back({now, 0, true});
  }
  void end(std::int64_t now) noexcept {
    if (all_.empty() || !all_.back().open) return;
    all_.back().end = now;
    all_.back().open = false;
  }

  /// Takes out the records that began outside; their times are in ns.
  template <class Record>
  void keep(vec<Record>& records, tick_converter const& ticks) const {
    auto const inside = [&](Record const& r) {
      if (r.begin == lost_time) return true;
      for (period const& p : all_) {
        if (r.begin >= ticks.to_ns(p.begin) && (p.open || r.begin <= ticks.to_ns(p.end)))
          return true;
      }
      return false;
    };
    records.keep_if(inside);
  }

 private:
  struct period {
    std::int64_t begin;
    std::int64_t end;
    bool open;
  };

  vec<period> all_;
};

}  // namespace detail

/// The activity of the devices: kernels, copies, allocations and waits by CUPTI, each with the
/// range that caused it. Nothing is loaded before `open`, nothing is traced before `begin_window`.
/// There is one in a process, since CUPTI has one subscriber; it is never destroyed. Threads: one
/// thread opens, closes and takes; CUPTI's own threads deliver. Cost: two clock reads and one
/// record a launch in the launching thread; the rest on CUPTI's thread.
class activity_collector {
 public:
  static activity_collector& instance() noexcept {
    static auto* const only = static_cast<activity_collector*>(detail::shared_object(
        detail::process_object::activity, []() -> void* { return new activity_collector; }));
    return *only;
  }

  /// Finds the driver and CUPTI, becomes CUPTI's subscriber and begins to follow graph nodes.
  /// Errors: unavailable (no driver, device, libcupti), busy (another subscriber), internal.
  /// Source: cuptiSubscribe, cuptiEnableCallback.
  status open(std::int64_t memory_limit_bytes) {
    handler_.store(&handle);  // its thread_local objects are those of this session's module
    if (subscribed_ && !in_own_process()) {
      return {errc::unavailable,
              "a forked child cannot trace the device: CUDA works in the parent only"};
    }
    if (subscribed_) return reset(memory_limit_bytes);
    library_ = &detail::cupti_library::get();
    if (!library_->ok()) return {errc::unavailable, library_->problem};
    detail::cupti::table const& api = library_->api;
    detail::cupti::result const code = library_->subscribe(&subscriber_, &on_callback, nullptr);
    if (code == detail::cupti::result::multiple_subscribers_not_supported) {
      std::string const other = library_->other_client();
      return {errc::busy, library_->describe("cuptiSubscribe", code) +
                              (other.empty() ? "" : " [" + other + "]")};
    }
    if (code != detail::cupti::result::success) {
      return {code == detail::cupti::result::insufficient_privileges ? errc::not_permitted
                                                                     : errc::unavailable,
              library_->describe("cuptiSubscribe", code)};
    }
    subscribed_ = true;
    process_ = detail::process_id();
    calls_ = detail::cupti::api_list::read(api);
    for (auto const id : {resource_id::graph_node_created, resource_id::graph_node_cloned,
                          resource_id::graph_node_updated, resource_id::context_destroy_starting}) {
      (void)api.enable_callback(1, subscriber_, detail::cupti::domain::resource,
                                static_cast<std::uint32_t>(id));
    }
    for (detail::cupti::api_call const& call : calls_.calls()) {
      if (is_capture(call.kind)) {
        (void)api.enable_callback(1, subscriber_, detail::cupti::domain::driver_api, call.id);
      }
    }
    return reset(memory_limit_bytes);
  }

  /// Enables the records and the launch callbacks; what the program launches from now on is traced.
  /// Source: cuptiActivityEnable.
  status begin_window() {
    if (!subscribed_ || !in_own_process())
      return {errc::unavailable, "device activity is not open"};
    if (window_open_.load()) {
      periods_.begin(clock().now());
      return {};
    }
    errc const failure = periods_.empty() ? errc::unavailable : errc::not_supported;
    detail::cupti::table const& api = library_->api;
    status const registered = buffers_.attach(*library_);
    if (!registered.ok()) return registered;
    sample_clocks();
    // The callbacks come before the records and outlast them: no work without its launch.
    window_begin_.store(clock().now(), std::memory_order_relaxed);
    window_open_.store(true);
    std::string problem = enable_launch_callbacks();
    std::string refused;
    auto why = detail::cupti::result::success;
    for (traced_kind const& each : kinds) {
      auto const code = api.activity_enable(each.kind);
      if (code == detail::cupti::result::success) continue;
      if (each.kind == detail::cupti::activity_kind::concurrent_kernel) {
        set_launch_callbacks(0);
        window_open_.store(false);
        return {failure, "no device activity; " + library_->describe("cuptiActivityEnable", code)};
      }
      refused += (refused.empty() ? "" : ", ") + std::string(each.name);
      why = code;
    }
    periods_.begin(clock().now());
    if (!refused.empty()) {
      problem += (problem.empty() ? "" : "; ") + std::string("not traced: ") + refused + "; " +
                 library_->describe("cuptiActivityEnable", why);
    }
    if (problem.empty() || std::exchange(told_, true)) return {};
    return {errc::not_supported, problem};
  }

  /// Ends the tracing and brings in what is under way. While a stream captures a graph nothing is
  /// synchronised: the window stays open, and false says so.
  bool end_window() {
    if (!window_open_.load() || !in_own_process()) return true;
    periods_.end(clock().now());
    if (!detail::capture_guard::allowed()) return false;
    std::int64_t const begin = clock().now();
    detail::capture_guard::all_contexts();
    buffers_.flush(detail::cupti::flush_flag::complete_only);
    disable();
    flush_ticks_ += clock().now() - begin;
    return true;
  }

  /// Whether what the program launches now is traced.
  bool tracing() const noexcept { return window_open_.load(); }

  /// Hears the program's NVTX calls from now on, in those modules whose NVTX loads `library`, the
  /// CUPTI in use. Source: cuptiEnableCallback in its domain of NVTX.
  status hear_nvtx(std::string& library) {
    if (!subscribed_ || !in_own_process())
      return {errc::unavailable, "nvtx=in: device activity is not open"};
    library = library_->path;
    for (detail::nvtx_entry const& entry : detail::nvtx_calls::entries) {
      auto const code = library_->api.enable_callback(1, subscriber_, detail::cupti::domain::nvtx,
                                                      static_cast<std::uint32_t>(entry.id));
      if (code != detail::cupti::result::success)
        return {errc::not_supported, "nvtx=in: " + library_->describe("cuptiEnableCallback", code)};
    }
    return {};
  }

  /// Whether the program was seen to make or launch CUDA graphs, in any session.
  bool saw_graphs() const noexcept { return saw_graphs_.load(std::memory_order_relaxed); }

  using launch_watcher = void(void* context, api_kind kind, detail::cupti::api_data const& call);

  /// Hands what any thread puts on the device to `watcher`, while no window is open; null ends it,
  /// and no call is under way any more when it returns. False where nothing can be followed.
  bool watch_launches(launch_watcher* watcher, void* context) noexcept {
    if (!subscribed_ || !in_own_process()) return false;
    if (watcher != nullptr && set_launch_callbacks(1) == 0) return false;
    if (watcher == nullptr && !window_open_.load()) set_launch_callbacks(0);
    std::lock_guard<std::mutex> lock(watch_mutex_);
    watch_context_ = context;
    watcher_ = watcher;
    watched_.store(watcher != nullptr, std::memory_order_release);
    return true;
  }

  /// The last flush of a session, at any moment, also while a stream captures (then without waiting
  /// for the device).
  void close() {
    if (!subscribed_ || !in_own_process()) return;
    if (!end_window()) disable();
    buffers_.flush(detail::cupti::flush_flag::forced);
  }

  /// Adds what was traced to the profile, each record joined to the call that caused it.
  void copy_to(profile& to, detail::tick_converter const& ticks) {
    if (!subscribed_) return;
    to.traced = true;
    to.environment.cupti_path = library_->path;
    to.environment.cupti_version = library_->version;
    buffers_.copy_to(to, bridge_, ticks);
    periods_.keep(to.synchronizations, ticks);
    periods_.keep(to.overheads, ticks);
    to.captured = captures_.sorted(ticks);
    to.losses.launches_dropped += launches_dropped_.load();
    to.cost.callbacks += callbacks_.load();
    to.cost.flush_seconds += static_cast<double>(flush_ticks_) * ticks.ns_per_tick() * 1e-9;
  }
  /// Why the activity is incomplete, if it is.
  status const& problem() const noexcept { return buffers_.problem(); }

 private:
  using resource_id = detail::cupti::resource_id;

  struct traced_kind {
    detail::cupti::activity_kind kind;
    char const* name;
  };
  static constexpr traced_kind kinds[] = {
      {detail::cupti::activity_kind::concurrent_kernel, "kernels"},
      {detail::cupti::activity_kind::copy, "copies"},
      {detail::cupti::activity_kind::peer_copy, "copies between devices"},
      {detail::cupti::activity_kind::set, "fills"},
      {detail::cupti::activity_kind::memory, "allocations"},
      {detail::cupti::activity_kind::synchronization, "synchronizations"},
      {detail::cupti::activity_kind::overhead, "CUPTI's overhead"}};

  activity_collector() = default;

  static detail::tick_source const& clock() noexcept {
    return detail::recorder::instance().clock();
  }

  STRATA_DETAIL_ALWAYS_INLINE static bool is_capture(api_kind kind) noexcept {
    return kind == api_kind::begin_capture || kind == api_kind::end_capture;
  }

  status reset(std::int64_t memory_limit_bytes) {
    buffers_.reset(memory_limit_bytes);
    bridge_.clear();
    session_.store(detail::recorder::instance().session(), std::memory_order_relaxed);
    periods_.clear();
    told_ = false;
    callbacks_.store(0);
    launches_dropped_.store(0);
    flush_ticks_ = 0;
    return {};
  }

  /// A forked child has this object, but neither CUDA nor CUPTI.
  bool in_own_process() const noexcept { return process_ == detail::process_id(); }

  /// How many callbacks were switched; `code` is the last failure's.
  std::size_t set_launch_callbacks(std::uint32_t on, detail::cupti::result* code = nullptr) {
    std::size_t switched = 0;
    for (detail::cupti::api_call const& call : calls_.calls()) {
      if (is_capture(call.kind)) continue;
      auto const outcome = library_->api.enable_callback(
          on, subscriber_, detail::cupti::domain::driver_api, call.id);
      if (outcome == detail::cupti::result::success) {
        ++switched;
      } else if (code != nullptr) {
        *code = outcome;
      }
    }
    return switched;
  }

  /// Why device work cannot be joined to ranges; empty when it can.
  std::string enable_launch_callbacks() {
    auto code = detail::cupti::result::success;
    if (set_launch_callbacks(1, &code) != 0) return {};
    std::string const then = "device work is not joined to ranges; ";
    if (code != detail::cupti::result::success)
      return then + library_->describe("cuptiEnableCallback", code);
    return then + "cuptiGetCallbackName names no driver function that launches";
  }

  void disable() {
    for (traced_kind const& each : kinds) (void)library_->api.activity_disable(each.kind);
    set_launch_callbacks(0);
    window_open_.store(false);
    sample_clocks();
  }

  void sample_clocks() {
    auto const get = library_->api.get_timestamp;
    bridge_.add(detail::sample_clock(clock(), [get] {
      std::uint64_t now = 0;
      if (get != nullptr && get(&now) == detail::cupti::result::success)
        return static_cast<std::int64_t>(now);
      return detail::realtime_ns();
    }));
  }

  /// CUPTI's callback, of the module that subscribed: calls the module of the last session.
  static void on_callback(void* user, detail::cupti::domain where, std::uint32_t id,
                          void const* data) noexcept {
    instance().handler_.load(std::memory_order_relaxed)(user, where, id, data);
  }

  static void handle(void*, detail::cupti::domain where, std::uint32_t id,
                     void const* data) noexcept {
    activity_collector& self = instance();
    if (where == detail::cupti::domain::driver_api) {
      self.on_api(self.calls_.kind_of(id), *static_cast<detail::cupti::api_data const*>(data));
    } else if (where == detail::cupti::domain::resource) {
      self.on_resource(static_cast<resource_id>(id),
                       *static_cast<detail::cupti::resource_data const*>(data));
    } else if (where == detail::cupti::domain::nvtx) {
      detail::nvtx_calls::on_call(static_cast<detail::cupti::nvtx_id>(id),
                                  *static_cast<detail::cupti::nvtx_data const*>(data));
    }
  }

  void on_api(api_kind kind, detail::cupti::api_data const& call) noexcept {
    detail::recorder& recorder = detail::recorder::instance();
    if (call.site == detail::cupti::api_site::enter) {
      if (call.correlation_data != nullptr) {
        *call.correlation_data = static_cast<std::uint64_t>(recorder.clock().now());
      }
      if (kind == api_kind::begin_capture) detail::capture_guard::capture_began(stream_of(call));
      return;
    }
    std::int64_t const end = recorder.clock().now();
    auto const outcome = call.return_value == nullptr
                             ? detail::driver::result::success
                             : *static_cast<detail::driver::result const*>(call.return_value);
    if (is_capture(kind)) {
      // A capture that another thread began outlasts the attempt to end it.
      bool const open = kind == api_kind::begin_capture
                            ? outcome == detail::driver::result::success
                            : outcome == detail::driver::result::stream_capture_wrong_thread;
      if (!open) detail::capture_guard::capture_ended(stream_of(call));
      return;
    }
    if (outcome != detail::driver::result::success) return;
    if (kind == api_kind::graph_launch) saw_graphs_.store(true, std::memory_order_relaxed);
    if (STRATA_DETAIL_UNLIKELY(watched_.load(std::memory_order_acquire))) {
      std::lock_guard<std::mutex> lock(watch_mutex_);
      if (watcher_ != nullptr) watcher_(watch_context_, kind, call);
    }
    if (!window_open_.load(std::memory_order_acquire)) return;
    detail::thread_recorder* const own = recorder.of_this_thread();
    if (own == nullptr) return;
    detail::capture_guard::saw(call.context);
    std::uint32_t const session = session_.load(std::memory_order_relaxed);
    if (is_work(kind)) detail::thread_contexts::saw(call.context, session);
    launch_record launch{};
    launch.begin =
        call.correlation_data == nullptr ? end : static_cast<std::int64_t>(*call.correlation_data);
    // A call that was under way when the callbacks began: nobody noted its begin in this session.
    if (launch.begin < window_begin_.load(std::memory_order_relaxed) || launch.begin > end)
      launch.begin = end;
    launch.end = end;
    launch.correlation = call.correlation_id;
    launch.kind = kind;
    launch.flags = detail::capture_guard::capturing() ? launch_record::in_capture : 0;
    std::atomic<bool> const& warming = recorder.state().warming;  // read outside of windows only
    if (!recorder.recording())
      launch.flags |= warming ? launch_record::in_warmup : launch_record::outside_window;
    if (!own->add_launch(launch, session))
      launches_dropped_.fetch_add(1, std::memory_order_relaxed);
    callbacks_.fetch_add(2, std::memory_order_relaxed);
  }

  /// The stream is the first argument of every function that begins or ends a capture.
  static detail::driver::stream_handle stream_of(detail::cupti::api_data const& call) noexcept {
    if (call.function_params == nullptr) return nullptr;
    return *static_cast<detail::driver::stream_handle const*>(call.function_params);
  }

  STRATA_DETAIL_END_CODE

  void on_resource(resource_id id, detail::cupti::resource_data const& data) noexcept {
    if (id == resource_id::context_destroy_starting) {
      detail::capture_guard::forget(data.context);
      return;
    }
    saw_graphs_.store(true, std::memory_order_relaxed);
    if (data.descriptor == nullptr) return;
    auto const& graph = *static_cast<detail::cupti::graph_data const*>(data.descriptor);
    std::uint64_t const node = library_->graph_node_id(graph.node);
    if (id == resource_id::graph_node_cloned) {
      captures_.copy(library_->graph_node_id(graph.original_node), node);
    } else if (id == resource_id::graph_node_updated) {
      captures_.update(node, library_->graph_node_id(graph.original_node), clock().now());
    } else if (detail::thread_recorder* const own = detail::thread_recorder::current()) {
      captures_.add(node, own->node());
    }
  }

  detail::cupti_library* library_ = nullptr;
  detail::cupti::subscriber_handle subscriber_ = nullptr;
  detail::cupti::api_list calls_;
  std::atomic<detail::cupti::callback_function*> handler_{nullptr};
  bool subscribed_ = false;
  unsigned long process_ = 0;  // that subscribed
  std::atomic<std::uint32_t> session_{0};
  std::atomic<bool> window_open_{false};
  std::atomic<std::int64_t> window_begin_{0};  // in ticks
  detail::activity_buffers& buffers_ = detail::activity_buffers::instance();
  detail::clock_bridge bridge_;
  detail::recorded_periods periods_;
  bool told_ = false;  // what is not traced
  detail::graph_captures captures_;
  std::atomic<bool> saw_graphs_{false};
  std::atomic<bool> watched_{false};
  std::mutex watch_mutex_;
  launch_watcher* watcher_ = nullptr;
  void* watch_context_ = nullptr;
  std::atomic<std::uint64_t> callbacks_{0};
  std::atomic<std::uint64_t> launches_dropped_{0};
  std::int64_t flush_ticks_ = 0;
};

STRATA_END

#endif  // STRATA_COLLECT_CUDA_ACTIVITY_HPP
