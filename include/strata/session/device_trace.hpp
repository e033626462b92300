#ifndef STRATA_SESSION_DEVICE_TRACE_HPP
#define STRATA_SESSION_DEVICE_TRACE_HPP

#include <strata/collect/counters/profiler_library.hpp>
#include <strata/collect/counters/trace_pause.hpp>
#include <strata/collect/cuda/cuda_use.hpp>
#include <strata/session/device_drain.hpp>

STRATA_BEGIN
namespace detail {

/// What counting has of the session's trace. CUPTI waits for the devices without an end, so that a
/// pass begins, changes its range and ends only while they are idle. Threads: the one that drives
/// the steps; `in_the_way` is for the session's too.
class counting_control final : public trace_control {
 public:
  static counting_control& instance() noexcept {
    static counting_control only;
    return only;
  }

  /// A session begins.
  void reset() noexcept {
    own_hang_ = pass_failed_ = false;
    busy_in_row_ = 0;
    longest_ns_ = 0;
    blocker_begin_ns_.store(0);
  }

  void choose_streams() noexcept override {
    thread_recorder const* const own = thread_recorder::current();
    if (own != nullptr) activity().streams().choose(own->ordinal());
  }

  /// Before a pass: for the streams that the stepping thread launches most into, `drain=` ms: a
  /// program may run ahead of the device by many steps. Where that was not enough they are not
  /// waited for again until they are done.
  void await_own_streams() override {
    if (!activity().is_open()) return;
    choose_streams();
    device_patience patience;
    pause_outcome const outcome =
        activity().streams().wait_for_chosen([&] { return !own_hang_ && patience.lasts(); });
    if (outcome != pause_outcome::captures) own_hang_ = outcome == pause_outcome::busy;
  }

  /// The moment gets shorter in steps in a row that wait in vain, so that they cost milliseconds
  /// together.
  bool devices_are_idle() override {
    return briefly([](auto goes_on) { return device_fence::wait_for_all(goes_on); }) !=
           pause_outcome::busy;
  }
  /// The same; what is traced has come then, and is traced no more.
  pause_outcome suspend() override {
    return briefly([](auto goes_on) { return activity().pause(goes_on); });
  }

  /// In a pass: for what was launched in it, `drain=` ms. Once that was not enough, as with a
  /// collective that needs this thread, later passes are given up after twice what such a wait took
  /// that was not in vain.
  bool await_pass() override {
    if (!activity().is_open()) return true;
    std::int64_t const begin = kernel_ns();
    deadline twice(larger(moment_ns, 2 * longest_ns_));
    device_patience patience;
    pause_outcome const outcome = device_fence::wait_for_all(
        [&] { return patience.lasts() && (!pass_failed_ || twice.lasts()); });
    bool const failed = outcome == pause_outcome::busy;
    if (!failed) longest_ns_ = larger(longest_ns_, kernel_ns() - begin);
    pass_failed_ = pass_failed_ || failed;
    if (failed) find_blocker();
    return !failed;
  }

  pause_outcome await_launch(callback<bool()> goes_on) override {
    driver::context_handle const context = capture_guard::current();
    if (context == nullptr || !activity().is_open()) return pause_outcome::captures;
    device_patience patience;
    auto const lasts = [&] { return patience.lasts() && goes_on(); };
    if (!device_fence::is_bounded()) return await_streams(lasts);
    device_fence work;
    {
      capture_guard::exclusive const alone(0);
      if (!alone) return pause_outcome::captures;
      work.add(context);
    }
    return work.wait(lasts) ? pause_outcome::paused : pause_outcome::busy;
  }

  /// What the last of those waits was in vain for: "a stream whose last traced launch was in stuck,
  /// 8.0 s before"; empty where it had no traced launch.
  std::string in_the_way() const override {
    std::int64_t const begin = blocker_begin_ns_.load();
    if (begin == 0) return {};
    return sentence("a stream whose last traced launch was ")
           << in_range(hang_finder::path_now(blocker_node_.load())) << ", "
           << hang_finder::seconds(blocked_ns_.load() - begin) << " before";
  }

  bool tracing() override { return activity().tracing(); }
  void resume() override { (void)activity().begin_window(); }
  bool watch(launch_watcher* watcher, void* context) override {
    return activity().watch_launches(watcher, context);
  }
  void set_gate(launch_gate::keeper const* keeper, void* context) override {
    activity().gate().set(keeper, context);
  }
  stream_waits_seen& stream_waits() override { return activity().stream_waits(); }
  std::string place_of(std::uint32_t node) const override {
    return in_range(hang_finder::path_now(node));
  }
  bool saw_graphs() const override { return activity().saw_graphs(); }
  void guard_graphs() override { activity().guard_graphs(); }

 private:
  static constexpr std::int64_t moment_ns = 2'000'000;

  static activity_collector& activity() { return activity_collector::instance(); }

  /// With a driver whose events do not tell: until no stream has work that was seen.
  static pause_outcome await_streams(callback<bool()> lasts) {
    for (launch_streams::launch oldest; activity().streams().find_busy(oldest);
         capture_guard::rest())
      if (!lasts()) return pause_outcome::busy;
    return pause_outcome::paused;
  }

  template <class Wait>
  pause_outcome briefly(Wait wait) {
    if (!activity().is_open()) return pause_outcome::paused;
    deadline moment(moment_ns / (busy_in_row_ + 1));
    pause_outcome const outcome = wait([&moment] { return moment.lasts(); });
    if (outcome == pause_outcome::paused) busy_in_row_ = 0;
    if (outcome != pause_outcome::busy) return outcome;
    ++busy_in_row_;
    find_blocker();
    return outcome;
  }

  /// Looks for the launch that blocks, once for steps in a row: it may ask every stream.
  void find_blocker() {
    launch_streams::launch oldest;
    blocked_ns_.store(monotonic_ns());
    if (busy_in_row_ > 1 && blocker_begin_ns_.load() != 0) return;
    (void)activity().streams().find_busy(oldest);
    blocker_node_.store(oldest.node);
    blocker_begin_ns_.store(oldest.begin_ns);
  }

  bool own_hang_ = false;         // since they did not answer in time
  bool pass_failed_ = false;      // a device was not idle in time within one
  std::int64_t busy_in_row_ = 0;  // waits in vain
  std::int64_t longest_ns_ = 0;   // that a pass waited, not in vain
  atomic<std::uint32_t> blocker_node_{no_reference};
  atomic<std::int64_t> blocker_begin_ns_{0};  // of its last launch; 0: not known
  atomic<std::int64_t> blocked_ns_{0};        // the last time
};

/// A thread that looks every 5 ms for what the session waits for, the program's first use of CUDA.
/// Between cuInit and the first kernel lies the making of a context, 80 ms and more, in which CUPTI
/// comes (40 ms; H200, driver 580): so a kernel is traced whose launch is the first call of CUDA.
/// Nobody else looks: a range would need the lock of the dynamic loader. Threads: that of the
/// session.
class cuda_watch : uncopied {
 public:
  /// Errors: unavailable: no thread can be started.
  status start() {
    ended_.store(false);
    stop_.reset();
    owned_thread thread;
    if (thread.start(&run, this)) {
      thread.name("strata-cuda");
      thread.detach();  // it ends by itself, and the program may end without a stop
      return {};
    }
    ended_.store(true);
    return {
        errc::unavailable,
        "no device activity of a program that begins to use CUDA after its first range, since no "
        "thread can be started that sees it: raise ulimit -u, or call cudaFree(0) before the "
        "first range"};
  }

  /// Ends the thread. Returns: false where it is in a call that does not come back within so many
  /// ms. Requires: nothing is waited for any more.
  bool stop(std::uint32_t patience_ms) noexcept {
    stop_.make();
    deadline patience(std::int64_t{patience_ms} * 1'000'000 + 2 * period_ns);
    for (unsigned turn = 0; !ended_.load(); ++turn) {
      if (!patience.lasts()) return false;
      wait_a_turn(turn);
    }
    return true;
  }

 private:
  static constexpr std::int64_t period_ns = 5'000'000;

  static void* run(void* context) {
    auto& self = *static_cast<cuda_watch*>(context);
    {
      own_thread const counted;
      program_threads program;
      constexpr unsigned second = 200;
      for (unsigned turn = 1; !self.stop_.is_made(); ++turn) {
        self.stop_.pause(program.pause(period_ns));
        if (recorder::instance().look()) break;
        if (turn % second == 0 && program.have_ended()) break;
      }
    }
    self.ended_.store(true);
    return nullptr;
  }

  atomic<bool> ended_{true};
  stop_request stop_;
};

/// The device activity of one session: CUPTI comes with the session, or with its first window, and
/// not before the program uses CUDA. Threads: the session's.
class device_trace : uncopied {
 public:
  explicit device_trace(options const& wanted) noexcept : options_(wanted) {}

  /// The session begins. `at_once`: also where the program does not use CUDA.
  status begin(bool at_once) {
    device_patience::set(options_.drain_ms);
    counting_control::instance().reset();
    waits_to_attach_ = options_.attaches_in_windows();
    guards_graphs_ = false;
    has_attached_ = false;
    awaits_cuda_ = !at_once && needs_cuda() && !watch_for()();
    status outcome;
    if (options_.trace && !waits_to_attach_ && !awaits_cuda_) (void)attach(outcome);
    return outcome;
  }

  /// Whether the program uses CUDA. Libraries that the session needs are open then: a range or step
  /// opens none, since a thread may have the lock of the dynamic loader that waits for it.
  using question = bool() noexcept;
  question* watch_for() const noexcept {
    if (!options_.counters.empty() || options_.live)
      return &has_cuda<cupti_library, profiler_library>;
    return options_.trace ? &has_cuda<cupti_library> : &has_cuda<driver_library>;
  }

  /// The program uses CUDA: what waited for that begins. `in_window`: one is open.
  /// Errors: those of `begin` and `begin_window`.
  status begin_with_cuda(bool in_window) {
    if (!std::exchange(awaits_cuda_, false) || !options_.trace) return {};
    status outcome;
    if (!waits_to_attach_ && !attach(outcome)) return outcome;
    if (in_window && outcome.ok()) (void)begin_window(outcome);
    return outcome;
  }

  /// CUPTI has come, in this session; where windows have reports of their own, to this window.
  bool tracing() const noexcept {
    return tracing_ && !(lacks_window_ && options_.reports_windows());
  }
  /// It has, or is to come with a window.
  bool may_trace() const noexcept {
    return tracing_ || waits_to_attach_ || (awaits_cuda_ && options_.trace);
  }
  /// The program does not use CUDA yet.
  bool awaits_cuda() const noexcept { return awaits_cuda_; }
  /// Something of the device is to be recorded.
  bool wants_device() const noexcept {
    return options_.trace || !options_.counters.empty() || options_.live;
  }

  /// Steps are to be counted: as cupti_client::guard_graphs, also where CUPTI comes later.
  void guard_graphs() {
    guards_graphs_ = true;
    activity().guard_graphs();
  }

  /// The program counts by itself from now on: CUPTI comes. Errors: those of `begin`.
  status come() {
    guard_graphs();
    status outcome;
    (void)attach_if_awaited(outcome);
    return outcome;
  }

  /// A window begins. Returns: false where the session has ended meanwhile. Requires: none is open.
  /// Errors, in `outcome`: those of `begin` and of activity_collector::begin_window.
  bool begin_window(status& outcome) {
    ending_.reset();
    if (!attach_if_awaited(outcome)) return false;
    if (tracing_ && !waits_to_attach_) {
      if (!outlives([&] { outcome = activity().begin_window(); })) {
        (void)outlives([] { activity().undo_window(); });
        return false;
      }
      if (!outcome.ok() && outcome.code() != errc::not_supported) tracing_ = false;
    }
    lacks_window_ = tracing_ && !activity().tracing();
    if (leaves_window_out()) outcome = without_window(outcome);
    return true;
  }
  /// The device would be idle in this window, and works in other windows of the same report.
  bool leaves_window_out() const noexcept { return lacks_window_ && !options_.reports_windows(); }

  /// A window ends. Returns: false where the session has ended meanwhile. `ended`: not while it
  /// stays open, until its work has arrived and no stream captures a graph. A window that is
  /// reported stays open for `drain=` ms at most.
  bool end_window(bool& ended) {
    if (tracing_) {
      if (!ending_) ending_.emplace();
      bool const at_once = options_.reports_windows() && !ending_->lasts();
      if (!outlives([&] { ended = activity().end_window(at_once); })) return false;
      if (!ended) return true;
    }
    ended = true;
    ending_.reset();
    // Windows of one report have the device's work all of them, or none.
    waits_to_attach_ = !tracing_ && options_.attaches_in_windows() && options_.reports_windows();
    return true;
  }

  /// As activity_collector::bring_in_window and begin_anew. Requires: no window is open.
  void bring_in() {
    if (tracing_) activity().bring_in_window();
  }
  void begin_anew() {
    if (tracing_) activity().begin_anew(buffer_bytes());
  }

  /// The last flush of the session begins. Threads: the one that ends the session.
  void begin_to_close() {
    drains_ = options_.trace && activity().is_open();
    if (!drains_) return;
    drain_.emplace(options_.drain_ms);
    drain_->begin();
  }
  /// Whether the devices have done their work; they are waited for as long as `drain=` says.
  bool is_idle() { return !drains_ || drain_->wait() == device_drain::outcome::idle; }
  /// The rest of the flush. Requires: is_idle() came back.
  void close() {
    if (drains_) drain_->finish();
  }
  /// Whether CUPTI may still be called: it is destroyed before what is older than it.
  bool answers() const noexcept { return !tracing_ || !activity().client_of_cupti().is_gone(); }
  /// Whether a device had not done its work at the end.
  bool hangs() const noexcept { return drains_ && drain_->found() != device_drain::outcome::idle; }
  /// Whether CUPTI is left alone, since a call of it or of the driver does not come back.
  bool is_silent() const noexcept {
    return drains_ && drain_->found() == device_drain::outcome::silent;
  }
  /// Hands what was traced to the profile. Errors: why it is incomplete. Requires: tracing().
  status take(profile& target, tick_converter const& ticks) {
    activity().take(target, ticks);
    return activity().problem();
  }
  /// What calls into the driver said of the steps.
  call_steps_seen seen_steps() const noexcept {
    return has_attached_ ? activity().seen_steps() : call_steps_seen{};
  }
  /// The session is over.
  void end() noexcept { tracing_ = false; }

 private:
  static activity_collector& activity() { return activity_collector::instance(); }

  bool needs_cuda() const noexcept { return wants_device() || options_.synchronize; }

  template <class... Libraries>
  static bool has_cuda() noexcept {
    if (!cuda_use::has_begun()) return false;
    guest const as_guest;
    (void)if_memory_allows([] { ((void)Libraries::get(), ...); });
    return true;
  }

  std::int64_t buffer_bytes() const noexcept { return std::int64_t{options_.buffers_mb} << 20; }

  template <class Call>
  static bool outlives(Call call) {
    return recorder::instance().outlives(call);
  }

  static status without_window(status const& why) {
    return {why.code(),
            "windows are left out, whose device work could not be traced as that of "
            "others was; " +
                why.message()};
  }

  /// Returns: false where the session has ended meanwhile.
  bool attach_if_awaited(status& outcome) {
    if (!waits_to_attach_ || awaits_cuda_) return true;
    if (!attach(outcome)) return false;
    waits_to_attach_ = !outcome.ok();
    return true;
  }

  /// CUPTI comes into the process. Returns: false where the session has ended meanwhile.
  bool attach(status& outcome) {
    traced_kinds const chosen{options_.trace_kernels, options_.trace_copies, options_.trace_memory,
                              options_.trace_waits, options_.trace_managed};
    step_calls const calls = step_calls_of(options_.step);
    if (!outlives([&] { outcome = activity().open(buffer_bytes(), chosen, calls); })) return false;
    if (!outcome.ok()) return true;
    if (guards_graphs_) activity().guard_graphs();
    tracing_ = true;
    has_attached_ = true;
    return true;
  }

  options const& options_;
  maybe<device_drain> drain_;
  bool drains_ = false;
  bool tracing_ = false;
  bool has_attached_ = false;     // in this session
  bool waits_to_attach_ = false;  // until a window begins
  bool awaits_cuda_ = false;
  bool lacks_window_ = false;
  bool guards_graphs_ = false;     // since steps are counted
  maybe<device_patience> ending_;  // a window
};

}  // namespace detail
STRATA_END

#endif  // STRATA_SESSION_DEVICE_TRACE_HPP
