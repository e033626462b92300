#ifndef STRATA_COLLECT_CUDA_ACTIVITY_HPP
#define STRATA_COLLECT_CUDA_ACTIVITY_HPP

#include <strata/collect/cuda/activity_buffers.hpp>
#include <strata/collect/cuda/call_steps.hpp>
#include <strata/collect/cuda/cupti_client.hpp>
#include <strata/collect/cuda/device_fence.hpp>
#include <strata/collect/cuda/launch_gate.hpp>
#include <strata/collect/nvtx/cupti_nvtx.hpp>

STRATA_BEGIN
namespace detail {

/// The activity of the devices: kernels, copies, allocations and waits by CUPTI, each with the
/// range that caused it. Nothing is loaded before `open`, nothing is traced before `begin_window`.
/// There is one in a process, since CUPTI has one subscriber; it is never destroyed. Threads: one
/// thread opens, closes and takes; CUPTI's own threads deliver. Cost: two clock reads and one
/// record a launch in the launching thread; the rest on CUPTI's thread.
class activity_collector {
 public:
  static activity_collector& instance() {
    static auto* const only = static_cast<activity_collector*>(
        shared_object(process_object::activity, []() -> void* { return new activity_collector; }));
    return *only;
  }

  /// A session begins, with CUPTI in the process; its steps are the program's, or calls of this
  /// kind. Errors: those of cupti_client::attach.
  status open(std::int64_t memory_limit_bytes, traced_kinds const& chosen,
              step_calls steps = step_calls::none) {
    traced_.chosen = chosen;
    capture_guard::forget_graph_calls();  // what changes graphs is not followed yet
    choose_call_steps(steps);
    status outcome = cupti_.attach(call_steps_.now.load() == nullptr ? &handle : &handle_steps);
    if (!outcome.ok()) return outcome;
    leave_at_exit();
    reset(memory_limit_bytes);
    return outcome;
  }

  /// Enables the records and the launch callbacks; what the program launches from now on is traced.
  /// Source: cuptiActivityEnable.
  status begin_window() {
    if (!cupti_.is_subscribed()) return {errc::unavailable, "device activity is not open"};
    window_.end_marked_ns = 0;
    if (window_.open.load()) return {};  // the last one has not ended yet
    errc const failure = !traced_.any ? errc::unavailable : errc::not_supported;
    cupti_library const& library = *cupti_.library();
    status const registered = buffers_.attach(library);
    if (!registered.ok()) return registered;
    buffers_.sample_clocks();
    // The callbacks come before the records and outlast them: no work without its launch.
    window_.begin.store(clock().now(), memory_order_relaxed);
    counts_graphs_.store(traced_.chosen.kernels, memory_order_relaxed);
    window_.open.store(true);
    captures_.await_records(true);
    std::string problem = enable_launch_callbacks();
    std::string refused;
    auto why = cupti::result::success;
    for (traced_kind const& kind : traced_kind_table) {
      if (!(traced_.chosen.*kind.chosen)) continue;
      auto const code = library.api.activity_enable(kind.kind);
      if (code == cupti::result::success) continue;
      if (kind.kind == cupti::activity_kind::concurrent_kernel) {
        disable();
        return {failure, "no device activity; " + library.describe("cuptiActivityEnable", code)};
      }
      add_part(refused, kind.name);
      why = code;
    }
    enable_contexts(library);
    if (traced_.chosen.managed || (traced_.chosen.memory && cupti_.saw_managed_memory())) {
      auto const code = follow_migrations();
      // Most programs have no managed memory, so what nobody asked for is not missed.
      if (code != cupti::result::success && traced_.chosen.managed) {
        add_part(refused, "migrations");
        why = code;
      }
    }
    traced_.any = true;
    if (!refused.empty()) {
      add_part(problem, "not traced: " + refused, "; ");
      add_part(problem, library.describe("cuptiActivityEnable", why), "; ");
    }
    if (problem.empty() || std::exchange(traced_.reported, true)) return {};
    return {errc::not_supported, problem};
  }

  /// Ends the tracing once all traced work has arrived, and waits for nothing. Until then, and
  /// while a stream captures, the window stays open: false, and another call tries again. CUPTI
  /// takes the times of a graph's kernels from its next launch where they came not before.
  /// `at_once`: what has not ended is lost.
  bool end_window(bool at_once = false) {
    if (!window_.open.load() || !cupti_.is_subscribed()) return true;
    std::int64_t const begin = clock().now();
    bool const ended = mark_end() && (has_arrived() || at_once) && switch_off();
    flush_ticks_.fetch_add(clock().now() - begin);
    return ended;
  }

  /// As end_window, once the devices are idle, which is waited for while `goes_on`.
  pause_outcome pause(callback<bool()> goes_on) {
    if (!window_.open.load() || !cupti_.is_subscribed()) return pause_outcome::paused;
    capture_guard::exclusive const alone(capture_guard::patience / 10);
    if (!alone) return pause_outcome::captures;
    pause_outcome const waited = device_fence::wait_for_all(goes_on);
    if (waited != pause_outcome::paused) return waited;
    device_fence::synchronize_all();
    await_records();
    return end_window(true) ? pause_outcome::paused : pause_outcome::captures;
  }
  /// The session has ended while its window began: what that switched on is off again.
  void undo_window() { disable(); }
  /// Whether what the program launches now is traced.
  bool tracing() const noexcept { return window_.open.load(); }
  /// Receives the program's NVTX calls from now on, in those modules whose NVTX loads `library`,
  /// the CUPTI in use. Source: cuptiEnableCallback in its domain of NVTX.
  status receive_nvtx(std::string& library) {
    if (!cupti_.is_subscribed()) return {errc::unavailable, "nvtx=in: device activity is not open"};
    library = cupti_.library()->path;
    cupti_.keep();
    for (nvtx_entry const& entry : nvtx_calls::entries) {
      auto const code =
          cupti_.set_callback(1, cupti::domain::nvtx, static_cast<std::uint32_t>(entry.id));
      if (code != cupti::result::success) {
        return {errc::not_supported,
                "nvtx=in: " + cupti_.library()->describe("cuptiEnableCallback", code)};
      }
    }
    return {};
  }

  /// Steps are to be counted: as cupti_client::guard_graphs, and streams are followed.
  void guard_graphs() {
    streams_.follow(true);
    cupti_.guard_graphs();
  }
  launch_streams& streams() noexcept { return streams_; }
  /// Calls that launch, as far as they are followed, and those that make streams wait.
  launch_gate& gate() noexcept { return gate_; }
  stream_waits_seen& stream_waits() noexcept { return stream_waits_; }
  /// What calls said of the steps of the last session that has such steps.
  call_steps_seen seen_steps() const noexcept {
    call_steps const* const last = call_steps_.last;
    return last == nullptr ? call_steps_seen{} : last->seen();
  }
  /// A thread ends that may drive such steps.
  static void leave_steps(thread_recorder const* own) noexcept {
    if (call_steps* const all = instance().call_steps_.now.load()) all->leave(own);
  }
  /// As cupti_client::saw_graphs.
  bool saw_graphs() const noexcept { return cupti_.saw_graphs(); }
  using launch_watcher = void(void* context, api_kind kind, cupti::api_data const& call);

  /// Hands what any thread puts on the device to `watcher`, while no window is open; null ends it,
  /// and no call is under way any more when it returns. False where nothing can be followed.
  bool watch_launches(launch_watcher* watcher, void* context) noexcept {
    if (!cupti_.is_subscribed()) {
      if (watcher == nullptr) set_watcher(nullptr, nullptr);
      return false;
    }
    if (watcher != nullptr && cupti_.set_callbacks(1, &client::is_for_windows) == 0) return false;
    cupti_.keep();
    if (watcher == nullptr) {
      (void)cupti_.set_callbacks(0, &client::is_for_windows);
      cupti_.look_outside_windows();
      if (window_.open.load()) set_launch_callbacks(1);
    }
    set_watcher(watcher, context);
    return true;
  }

  /// Has CUPTI deliver what it holds of the last window. Requires: none is open. Threads: any.
  void bring_in_window() {
    if (!cupti_.is_subscribed()) return;
    bool const ended = window_.end.is_reached();
    if (ended) await_records();
    if (!ended) (void)buffers_.flush_ended();
    bring_in();
  }

  /// What was traced is forgotten, and the sums start anew; graphs stay known. Requires: no window.
  void begin_anew(std::int64_t memory_limit_bytes) {
    if (cupti_.library() != nullptr && cupti_.in_own_process()) reset(memory_limit_bytes);
  }

  // The last flush of a session, in parts, at any moment: what may wait for a device without an
  // end, by some versions of the driver and CUPTI, is for a thread of Strata's own. Requires: no
  // other thread calls CUPTI meanwhile.

  /// Takes what is complete, and waits for the devices while `goes_on`; if a stream captures, for
  /// the records alone. `added` is called when nobody has to keep captures out any more. Returns:
  /// whether they are idle.
  bool await_devices(bool captures, callback<void()> added, callback<bool()> goes_on) {
    if (!cupti_.is_subscribed()) return true;
    std::int64_t const begin = clock().now();
    device_fence before;
    if (!captures) before.add_all();
    added();
    buffers_.flush(cupti::flush_flag::complete_only);
    bool idle = before.wait(goes_on);
    if (cupti_.is_silent()) return idle;
    if (captures) buffers_.await_records(goes_on);
    if (idle && !captures) await_records();
    if (!idle || captures) idle = buffers_.flush_ended() == 0 && idle;
    flush_ticks_.fetch_add(clock().now() - begin);
    return idle;
  }
  /// Ends what the session has CUPTI do, and takes the rest.
  void finish() {
    if (!cupti_.is_subscribed()) return;
    std::int64_t const begin = clock().now();
    if (window_.open.load()) disable();
    ignore_steps();
    cupti_.unguard_graphs();
    streams_.follow(false);
    bring_in();
    flush_ticks_.fetch_add(clock().now() - begin);
  }
  /// Another profiler may come, where cupti_client::unsubscribe lets it.
  void let_go() {
    if (cupti_.is_subscribed() && cupti_.unsubscribe()) buffers_.detach();
  }

  /// How those calls fare, and what to do when they do not come back.
  cupti_client& client_of_cupti() noexcept { return cupti_; }
  /// They did not: what the program launches is not followed any more.
  void give_up() noexcept {
    window_.open.store(false);
    set_watcher(nullptr, nullptr);
    gate_.set(nullptr, nullptr);
  }
  bool is_open() const noexcept { return cupti_.is_subscribed(); }
  /// Threads: any. As activity_buffers::delivered.
  std::uint64_t delivered() const noexcept { return buffers_.delivered(); }
  /// Threads: any. Another number after each call into the driver that was followed, and each
  /// delivery of records.
  std::uint64_t mark() const noexcept {
    std::uint64_t all = delivered();
    for (lane const& counted : lanes_) all += counted.callbacks.load(memory_order_relaxed);
    return all;
  }
  /// Threads: any. As activity_buffers::for_each_unfinished.
  template <class Sink>
  void for_each_unfinished(Sink sink) {
    buffers_.for_each_unfinished(sink);
  }

  /// Hands what was traced to the profile, each record joined to the call that caused it.
  void take(profile& target, tick_converter const& ticks) {
    cupti_library const* const library = cupti_.library();
    if (library == nullptr) return;
    target.traced = true;
    target.environment.cupti_path = library->path;
    target.environment.cupti_version = library->version;
    buffers_.take(target, ticks);
    target.has_migrations = migrations_.seen.load();
    target.losses.graph_nodes_refused += captures_.refused();
    target.losses.launches_dropped += launches_dropped_.load();
    for (lane const& counted : lanes_) target.cost.callbacks += counted.callbacks.load();
    target.cost.flush_seconds +=
        static_cast<double>(flush_ticks_.load()) * ticks.ns_per_tick() * 1e-9;
  }

  /// Why the activity is incomplete, if it is.
  status problem() const {
    if (cupti_.is_silent()) return {};
    if (cupti_.is_gone())
      return {errc::unavailable,
              "device activity is incomplete: CUPTI was destroyed before the session ended: end it "
              "before main returns"};
    status const of_buffers = buffers_.problem();
    std::uint64_t const graphs = device_graphs_.load(memory_order_relaxed);
    if (!of_buffers.ok() || graphs == 0) return of_buffers;
    return {errc::not_supported,
            sentence("the program made ")
                << graphs << (graphs == 1 ? " CUDA graph" : " CUDA graphs")
                << " that the device can launch (DeviceLaunch): CUPTI has no record of kernels "
                   "that the device launches, so they are missing; launch from the host to see "
                   "them"};
  }

 private:
  using client = cupti_client;
  using resource_id = cupti::resource_id;
  activity_collector() = default;

  static tick_source const& clock() noexcept { return recorder::instance().clock(); }

  /// CUPTI's objects are destroyed after the exit handlers that are younger, and before the older
  /// ones: the one of a session that began without CUPTI would come too late to report.
  void leave_at_exit() {
    if (std::exchange(leaves_at_exit_, true)) return;
    (void)std::atexit([] {
      if (in_forked_child()) return;  // CUPTI, and who uses it, are the parent's
      void (*const report)() = block().report_at_exit.load();
      if (report != nullptr) report();
      instance().buffers_.forget();
    });
  }

  /// Marks what the window's end awaits, once. Returns: false where no moment is without a capture.
  bool mark_end() {
    if (window_.end_marked_ns != 0) return true;
    capture_guard::exclusive const alone(capture_guard::short_patience);
    if (!alone) return false;
    window_.end.add_all();
    window_.looks = 0;
    return (window_.end_marked_ns = monotonic_ns()) != 0;
  }
  /// Ends the tracing. Returns: as mark_end.
  bool switch_off() {
    capture_guard::exclusive const alone(capture_guard::short_patience);
    if (!alone) return false;
    disable();
    captures_.await_records(false);
    return true;
  }
  /// Whether all work until the mark at the window's end has come. Some calls have no record, so
  /// that they are looked for 20 times only. Migrations have no call: they come after a moment.
  bool has_arrived() {
    if (!window_.end.is_reached()) return false;
    buffers_.flush(cupti::flush_flag::complete_only);
    if (buffers_.unfinished() != 0 && ++window_.looks < 20) return false;
    return !migrations_.followed.load() || monotonic_ns() - window_.end_marked_ns > 250'000'000;
  }
  /// The work is done: CUPTI may need a moment until it has the times.
  void await_records() {
    constexpr std::int64_t longest_ns = 20'000'000;  // some calls have no record
    deadline patience(longest_ns);
    buffers_.await_records([&patience] { return patience.lasts(); });
  }
  /// Has CUPTI deliver all that it holds.
  void bring_in() {
    if (!cupti_.is_subscribed()) return;
    buffers_.flush(cupti::flush_flag::forced);
    captures_.await_records(false);
  }

  void reset(std::int64_t memory_limit_bytes) {
    bring_in();
    buffers_.reset(memory_limit_bytes);
    session_.store(recorder::instance().session(), memory_order_relaxed);
    traced_.reported = false;
    traced_.any = false;
    migrations_.seen.store(false);
    stream_waits_.forget();
    for (lane& counted : lanes_) counted.callbacks.store(0);
    launches_dropped_.store(0);
    device_graphs_.store(0);
    flush_ticks_.store(0);
  }

  /// Who looks at launches while no window is open.
  struct launch_watch {
    atomic<bool> on{false};
    system_mutex mutex;  // of the rest
    launch_watcher* watcher = nullptr;
    void* context = nullptr;
  };
  void set_watcher(launch_watcher* watcher, void* context) noexcept {
    system_lock lock(watch_.mutex);
    watch_.context = context;
    watch_.watcher = watcher;
    watch_.on.store(watcher != nullptr, memory_order_release);
  }

  void choose_call_steps(step_calls wanted) noexcept {
    auto* const before = call_steps_.last;
    auto* const made =
        wanted == step_calls::none ? nullptr : new (std::nothrow) call_steps(wanted, before);
    if (made != nullptr) call_steps_.last = made;
    call_steps_.now.store(made);
    auto* followed = &call_steps::is_any;
    if (wanted == step_calls::graph) followed = &call_steps::is_graph;
    cupti_.follow_outside_windows(made == nullptr ? nullptr : followed);
  }
  /// Calls outside of windows are not followed any more.
  void ignore_steps() noexcept {
    if (call_steps_.now.exchange(nullptr) == nullptr) return;
    cupti_.follow_outside_windows(nullptr);
    cupti_.set_step_callbacks(0, &call_steps::is_any);
    cupti_.look_outside_windows();
  }

  /// A count of its own line for a group of threads, since all of them count.
  static constexpr std::size_t lanes = 32;
  struct alignas(64) lane {
    atomic<std::uint64_t> callbacks{0};
  };
  lane& lane_of(thread_recorder const& own) noexcept {
    return lanes_[(reinterpret_cast<std::uintptr_t>(&own) >> 6) * 0x9e3779b97f4a7c15u >> 59];
  }

  /// Records of the contexts, those that live included: how many multiprocessors a green one has.
  /// Where CUPTI does not tell, work is compared with the whole device, and that is no problem.
  void enable_contexts(cupti_library const& library) {
    if (!traced_.chosen.kernels || library.version < cupti::green_context_version) return;
    auto* const with_living = library.api.activity_enable_and_dump;
    auto* const enable = with_living != nullptr ? with_living : library.api.activity_enable;
    constexpr auto kind = cupti::activity_kind::context;
    traced_.contexts = enable(kind) == cupti::result::success;
  }
  void disable_contexts() {
    constexpr auto kind = cupti::activity_kind::context;
    if (std::exchange(traced_.contexts, false)) (void)cupti_.library()->api.activity_disable(kind);
  }

  /// Switches the callbacks of what is traced.
  /// Returns: how many; `code` is the last failure's.
  std::size_t set_launch_callbacks(std::uint32_t on, cupti::result* code = nullptr) {
    if (traced_.chosen.kernels) cupti_.follow_graph_changes(on);
    return cupti_.set_callbacks(
        on,
        [this](api_kind kind) { return client::is_for_windows(kind) && traced_.chosen.has(kind); },
        code);
  }

  /// Why device work cannot be joined to ranges; empty when it can.
  std::string enable_launch_callbacks() {
    auto code = cupti::result::success;
    if (set_launch_callbacks(1, &code) != 0) return {};
    std::string const then = "device work is not joined to ranges; ";
    if (code != cupti::result::success)
      return then + cupti_.library()->describe("cuptiEnableCallback", code);
    return then + "cuptiGetCallbackName names no driver function that launches";
  }

  /// Has CUPTI record migrations until the window ends. Threads: any.
  cupti::result follow_migrations() noexcept {
    auto const code = enable_migrations(cupti_.library()->api);
    if (code != cupti::result::success) return code;
    migrations_.followed.store(true);
    migrations_.seen.store(true);
    return code;
  }
  void ignore_migrations() noexcept {
    if (migrations_.followed.exchange(false))
      (void)cupti_.library()->api.activity_disable(cupti::activity_kind::unified_memory);
  }

  /// Memory was allocated: what is managed may migrate from now on. Threads: any.
  STRATA_DETAIL_COLD void saw_allocation(cupti::api_data const& call) noexcept {
    if (call.function_name == nullptr || !cupti::is_managed_allocation(call.function_name)) return;
    bool const first = cupti_.saw_managed_allocation();
    if (!first || !window_.open.load() || !traced_.chosen.memory || migrations_.followed.load())
      return;
    cupti_presence::use const answers(buffers_.presence());
    if (!answers) return;
    (void)follow_migrations();
    if (!window_.open.load()) ignore_migrations();  // it ended meanwhile, in another thread
  }

  void disable() {
    for (traced_kind const& kind : traced_kind_table)
      if (traced_.chosen.*kind.chosen) (void)cupti_.library()->api.activity_disable(kind.kind);
    disable_contexts();
    set_launch_callbacks(0);
    cupti_.look_outside_windows();
    window_.open.store(false);
    ignore_migrations();  // last, since a callback that sees the window follows them
    buffers_.sample_clocks();
  }

  STRATA_DETAIL_HOT_CODE

  static void handle(void*, cupti::domain where, std::uint32_t id, void const* data) noexcept {
    activity_collector& self = instance();
    if (where == cupti::domain::driver_api) {
      api_kind const kind = self.cupti_.kind_of(id);
      auto const& call = *static_cast<cupti::api_data const*>(data);
      if (STRATA_DETAIL_UNLIKELY(kind == api_kind::none))
        return self.on_stream_wait(self.cupti_.stream_wait_of(id), call);
      if (STRATA_DETAIL_UNLIKELY(self.gate_.is_kept()))
        self.pass_gate(kind, cupti::stream_wait::none, call);
      self.on_api(kind, call);
    } else if (where == cupti::domain::resource) {
      self.on_resource(static_cast<resource_id>(id),
                       *static_cast<cupti::resource_data const*>(data));
    } else if (where == cupti::domain::nvtx) {
      nvtx_calls::on_call(static_cast<cupti::nvtx_id>(id),
                          *static_cast<cupti::nvtx_data const*>(data));
    }
  }

  /// The same where calls into the driver are steps, which change before a launch is looked at, and
  /// after a wait was.
  static void handle_steps(void* user, cupti::domain where, std::uint32_t id,
                           void const* data) noexcept {
    activity_collector& self = instance();
    call_steps* const steps = self.call_steps_.now.load(memory_order_acquire);
    if (where != cupti::domain::driver_api || steps == nullptr)
      return handle(user, where, id, data);
    cupti::step_call const call = self.cupti_.step_call_of(id);
    auto const& api = *static_cast<cupti::api_data const*>(data);
    bool const begins = api.site == cupti::api_site::enter;
    if (begins && call != cupti::step_call::none) steps->begins(call, api);
    if (self.is_looked_at(self.cupti_.kind_of(id))) handle(user, where, id, data);
    if (!begins && call != cupti::step_call::none) steps->ended(call, id);
  }
  /// Whether a call is looked at for its own sake, not only as a step.
  bool is_looked_at(api_kind kind) const noexcept {
    if (kind == api_kind::none || gate_.is_kept()) return true;
    if (!client::is_for_windows(kind) || kind == api_kind::allocate) return true;
    if (kind == api_kind::graph_launch && !cupti_.saw_graphs()) return true;
    if (watch_.on.load(memory_order_relaxed)) return true;
    return window_.open.load(memory_order_relaxed) && traced_.chosen.has(kind);
  }

  void on_api(api_kind kind, cupti::api_data const& call) noexcept {
    recorder& recorder = recorder::instance();
    if (kind == api_kind::graph_launch) cupti_.saw_graph();
    if (call.site == cupti::api_site::enter) {
      if (call.correlation_data != nullptr) {
        *call.correlation_data = static_cast<std::uint64_t>(recorder.clock().now());
      }
      if (STRATA_DETAIL_UNLIKELY(!client::is_for_windows(kind))) graph_call_begins(kind, call);
      if (kind == api_kind::graph_launch) graph_launch_begins(call);
      return;
    }
    std::int64_t const end = recorder.clock().now();
    auto const outcome = call.return_value == nullptr
                             ? driver::result::success
                             : *static_cast<driver::result const*>(call.return_value);
    if (STRATA_DETAIL_UNLIKELY(!client::is_for_windows(kind)))
      return graph_call_ended(kind, call, end, outcome);
    if (outcome != driver::result::success) return;
    if (kind == api_kind::allocate && !cupti_.saw_managed_memory()) saw_allocation(call);
    if (STRATA_DETAIL_UNLIKELY(streams_.followed())) note_stream(kind, call);
    if (STRATA_DETAIL_UNLIKELY(watch_.on.load(memory_order_acquire))) {
      system_lock lock(watch_.mutex);
      if (watch_.watcher != nullptr) watch_.watcher(watch_.context, kind, call);
    }
    record(kind, call, end, capture_guard::capturing());
  }

  /// `captures`: the call may have been captured only, so that no work follows from it.
  STRATA_DETAIL_ALWAYS_INLINE void record(api_kind kind, cupti::api_data const& call,
                                          std::int64_t end, bool captures) noexcept {
    if (!window_.open.load(memory_order_acquire)) return;
    bool const of_graphs = kind == api_kind::graph_launch || !client::is_for_windows(kind);
    if (of_graphs && !counts_graphs_.load(memory_order_relaxed)) return;
    recorder& recorder = recorder::instance();
    thread_recorder* const own = recorder.of_this_thread();
    if (own == nullptr) return;
    capture_guard::saw(call.context);
    std::uint32_t const session = session_.load(memory_order_relaxed);
    if (is_work(kind)) thread_contexts::saw(call.context, session);
    driver_call_record launch{};
    launch.begin =
        call.correlation_data == nullptr ? end : static_cast<std::int64_t>(*call.correlation_data);
    // The call was under way when the callbacks began.
    if (launch.begin < window_.begin.load(memory_order_relaxed) || launch.begin > end)
      launch.begin = end;
    launch.end = end;
    launch.correlation = call.correlation_id;
    launch.kind = kind;
    launch.flags = captures ? driver_call_record::in_capture : 0;
    atomic<bool> const& warming = recorder.state().warming;  // read outside of windows only
    if (!recorder.recording())
      launch.flags |= warming ? driver_call_record::in_warmup : driver_call_record::outside_window;
    if (!own->add_launch(launch)) launches_dropped_.fetch_add(1, memory_order_relaxed);
    lane_of(*own).callbacks.fetch_add(2, memory_order_relaxed);
  }

  /// A call that makes a stream wait for what the device does not do.
  STRATA_DETAIL_COLD void on_stream_wait(cupti::stream_wait waits,
                                         cupti::api_data const& call) noexcept {
    if (waits == cupti::stream_wait::none) return;
    bool const waits_for_memory = waits == cupti::stream_wait::memory;
    if (waits_for_memory && call.site == cupti::api_site::enter)
      stream_waits_.saw(call.function_name, recorder::work_node());
    pass_gate(api_kind::none, waits, call);
  }
  STRATA_DETAIL_COLD void pass_gate(api_kind kind, cupti::stream_wait waits,
                                    cupti::api_data const& call) noexcept {
    bool const launches = kind == api_kind::launch || kind == api_kind::graph_launch;
    if (!(launches || kind == api_kind::none) || capture_guard::capturing_here()) return;
    gated_call gated = gate_.read(kind, waits, call);
    if (call.site == cupti::api_site::enter) return gate_.begins(gated);
    gated.done = call.return_value == nullptr ||
                 *static_cast<driver::result const*>(call.return_value) == driver::result::success;
    gate_.ended(gated);
  }

  STRATA_DETAIL_COLD void note_stream(api_kind kind, cupti::api_data const& call) noexcept {
    if (thread_recorder* const own = recorder::instance().of_this_thread())
      if (!capture_guard::capturing_here()) streams_.saw(kind, call, own->ordinal(), own->node());
  }

  /// The executable graph is the first argument of every function that launches one.
  void graph_launch_begins(cupti::api_data const& call) noexcept {
    if (!window_.open.load(memory_order_acquire) || !counts_graphs_.load(memory_order_relaxed))
      return;
    cupti_presence::use const answers(buffers_.presence());
    if (!answers) return;
    buffers_.graph_launch_begins(call.correlation_id, cupti::first_argument(call));
  }

  STRATA_DETAIL_COLD void graph_call_begins(api_kind kind, cupti::api_data const& call) noexcept {
    bool const is_guarded = kind != api_kind::graph_change || cupti_.guards_graphs();
    if (kind == api_kind::end_capture || !is_guarded) return;
    capture_guard::graph_call_begins();
    if (kind == api_kind::begin_capture)  // its first argument is the stream, as of an end
      capture_guard::capture_began(cupti::first_argument(call), call.context);
  }

  /// Counts the graphs that the device may launch.
  STRATA_DETAIL_COLD void note_instantiation(cupti::api_data const& call) noexcept {
    using params = cupti::instantiate_params;
    if (call.function_name == nullptr || call.function_params == nullptr ||
        !cupti::is_instantiation(call.function_name))
      return;
    auto const& given = *static_cast<params const*>(call.function_params);
    bool const by_params =
        std::string_view(call.function_name).find("Params") != std::string_view::npos;
    if (by_params && given.params == nullptr) return;
    std::uint64_t const flags = by_params ? *given.params : given.flags;
    if ((flags & params::device_launch) != 0) device_graphs_.fetch_add(1, memory_order_relaxed);
  }

  STRATA_DETAIL_COLD void graph_call_ended(api_kind kind, cupti::api_data const& call,
                                           std::int64_t end, driver::result outcome) noexcept {
    if (kind != api_kind::end_capture) capture_guard::graph_call_ended();
    bool const done = outcome == driver::result::success;
    if (done && kind == api_kind::instantiate) note_instantiation(call);
    // What failed took time too: a program that cannot update a graph instantiates it again.
    if (done || kind != api_kind::begin_capture)
      record(kind, call, end, kind != api_kind::end_capture && capture_guard::capturing_here());
    if (kind == api_kind::graph_change) return gate_.graph_changed(call);
    if (kind == api_kind::instantiate) return;
    // A capture that another thread began outlasts the attempt to end it.
    bool const open = kind == api_kind::begin_capture
                          ? done
                          : outcome == driver::result::stream_capture_wrong_thread;
    if (open) return;
    capture_guard::capture_ended(cupti::first_argument(call));
    // Ranges that changed in the capture were not followed.
    if (thread_recorder* const own = thread_recorder::current()) own->report_place();
  }

  STRATA_DETAIL_END_CODE

  void on_resource(resource_id id, cupti::resource_data const& data) noexcept {
    if (id == resource_id::context_destroy_starting) {
      streams_.forget_all_of(data.context);
      capture_guard::forget(data.context);
      return;
    }
    if (id == resource_id::stream_destroy_starting) {
      streams_.forget(data.stream);
      capture_guard::forget_stream(data.stream);
      return;
    }
    cupti_.saw_graph();
    cupti_presence::use const answers(buffers_.presence());
    if (!answers || data.descriptor == nullptr) return;
    auto const& graph = *static_cast<cupti::graph_data const*>(data.descriptor);
    cupti_library const& library = *cupti_.library();
    std::uint64_t const node = library.graph_node_id(graph.node);
    if (id == resource_id::graph_node_destroy_starting) {
      captures_.destroy(node);
    } else if (id == resource_id::graph_node_cloned) {
      captures_.copy(library.graph_node_id(graph.original_node), node);
    } else if (id == resource_id::graph_node_updated) {
      captures_.update(node, library.graph_node_id(graph.original_node), clock().now());
    } else if (thread_recorder* const own = thread_recorder::current()) {
      captures_.add(node, recorder::instance().state().nodes.handle(own->node()));
    }
  }

  struct steps_of_calls {
    atomic<call_steps*> now{nullptr};  // null: steps are the program's
    call_steps const* last = nullptr;
  };
  struct window_state {
    atomic<bool> open{false};
    atomic<std::int64_t> begin{0};  // in ticks
    device_fence end;
    std::int64_t end_marked_ns = 0;  // of the window that ends
    int looks = 0;                   // at records that have not come
  };
  struct traced_state {
    traced_kinds chosen;
    bool any = false;       // in this session
    bool reported = false;  // what is not traced
    bool contexts = false;  // their records are on
  };
  struct migration_state {
    atomic<bool> followed{false};
    atomic<bool> seen{false};  // in this session
  };

  steps_of_calls call_steps_;
  atomic<std::uint32_t> session_{0};
  atomic<bool> counts_graphs_{false};  // else their launches are looked at only
  activity_buffers& buffers_ = activity_buffers::instance();
  cupti_client cupti_{buffers_.presence()};
  window_state window_;
  traced_state traced_;
  launch_streams streams_;
  launch_gate gate_;
  stream_waits_seen stream_waits_;
  bool leaves_at_exit_ = false;
  migration_state migrations_;
  graph_captures& captures_ = buffers_.captures();
  launch_watch watch_;
  lane lanes_[lanes];
  atomic<std::uint64_t> launches_dropped_{0};
  atomic<std::uint64_t> device_graphs_{0};  // that the device may launch, of this session
  atomic<std::int64_t> flush_ticks_{0};
};

}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_CUDA_ACTIVITY_HPP
