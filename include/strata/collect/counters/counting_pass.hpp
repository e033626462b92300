#include <strata/version.hpp>
#ifndef STRATA_COLLECT_COUNTERS_COUNTING_PASS_HPP
#define STRATA_COLLECT_COUNTERS_COUNTING_PASS_HPP

#include <strata/base/clock.hpp>
#include <strata/base/containers.hpp>
#include <strata/base/environment.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/memory.hpp>
#include <strata/base/text.hpp>
#include <strata/base/threads.hpp>
#include <strata/base/vec.hpp>
#include <strata/base/vocabulary.hpp>
#include <strata/collect/counters/device_profilers.hpp>
#include <strata/collect/counters/pass_fingerprint.hpp>
#include <strata/collect/cuda/contexts.hpp>
#include <strata/collect/cuda/cupti.hpp>
#include <strata/collect/cuda/device_fence.hpp>
#include <strata/collect/host/recorder.hpp>
#include <strata/collect/host/thread_recorder.hpp>
#include <strata/profile/records.hpp>
#include <strata/status.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#if defined(__linux__) || defined(__APPLE__)
#include <sys/ioctl.h>
#include <unistd.h>
#endif

STRATA_BEGIN
namespace detail {

/// One line on a terminal that is written over and over, and erased at the end. Where the stream is
/// no terminal nothing is written. Threads: one at a time.
class progress_line {
 public:
  explicit progress_line(std::FILE* to = stderr) noexcept : to_(to), width_(width_of(to)) {}
  progress_line(progress_line const&) = delete;
  progress_line& operator=(progress_line const&) = delete;
  ~progress_line() { erase(); }

  /// Whether somebody sees it.
  bool live() const noexcept { return width_ != 0; }

  /// Text without control characters, in ASCII; what is too long is cut. The cursor is left at the
  /// beginning, so that what the program prints meanwhile begins a line.
  void show(std::string_view text) noexcept {
    if (!live()) return;
    std::string_view const fits = text.substr(0, width_ - 1);
    std::fprintf(to_, "\r\033[K%.*s\r", static_cast<int>(fits.size()), fits.data());
    std::fflush(to_);
    shown_ = true;
  }

  void erase() noexcept {
    if (!shown_) return;
    shown_ = false;
    std::fputs("\r\033[K", to_);
    std::fflush(to_);
  }

  /// "strata: counting on GH100: pass 2 of 5, 3 steps left".
  static std::string of_pass(std::string const& chip, std::size_t pass, std::size_t passes) {
    std::string const place = chip.empty() ? std::string() : " on " + chip;
    std::size_t const left = pass < passes ? passes - pass : 0;
    return sentence("strata: counting") << place << ": pass " << pass << " of " << passes << ", "
                                        << left << (left == 1 ? " step left" : " steps left");
  }

 private:
  /// Columns of the terminal; 0 where it is none that can be written over.
  static std::size_t width_of(std::FILE* of) noexcept {
#if defined(__linux__) || defined(__APPLE__)
    int const file = of == nullptr ? -1 : ::fileno(of);
    char const* const kind = variable("TERM");
    if (file < 0 || ::isatty(file) == 0) return 0;
    if (kind == nullptr || std::string_view(kind) == "dumb") return 0;
    winsize size{};
    if (::ioctl(file, TIOCGWINSZ, &size) == 0 && size.ws_col > 1) return size.ws_col;
    return 80;
#else
    (void)of;
    return 0;
#endif
  }

  std::FILE* to_;
  std::size_t width_;
  bool shown_ = false;
};

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
  pause_outcome (*suspend)() = nullptr;   // the trace goes on unless it paused
  void (*resume)() = nullptr;
  /// Passes every launch of any thread to the watcher; null ends it. False where CUPTI reports no
  /// launches.
  bool (*watch)(launch_watcher* watcher, void* context) = nullptr;
  bool (*saw_graphs)() = nullptr;    // the program makes or launches CUDA graphs
  void (*guard_graphs)() = nullptr;  // from now on calls that make graphs wait for ours
};

/// Suspends the trace and the host log for one step, since neither times nor records of a counted
/// step are valid (instrumented code reads zero beside CUPTI's kernel records), and watches
/// launches and ranges. Threads: the one that drives the steps, but for `unwatch`.
class counting_step {
 public:
  explicit counting_step(trace_control const& trace) noexcept : trace_(trace) {}

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
  /// What was not done when that was not so.
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
  thread_recorder* ranges_of_ = nullptr;
  bool resume_trace_ = false;
  bool resume_log_ = false;
};

/// What counting by ranges and by kernels share: one pass at a time, of the thread that drives the
/// steps. A pass is counted whole or dropped whole: one that a capture kept from a push, a pop or
/// its end is dropped, and made again. Only the thread of the pass calls CUPTI: another one that
/// closes asks it to end the pass, and waits a second; without an answer CUPTI is left as it is.
class pass_driver {
 public:
  pass_driver(pass_driver const&) = delete;
  pass_driver& operator=(pass_driver const&) = delete;

  /// After this many steps that were no passes.
  status in_the_way(std::size_t steps, pause_outcome last) const {
    if (last == pause_outcome::busy) {
      std::string const what = step_.in_the_way();
      return {errc::busy, sentence("counters: the GPU had not done its earlier work in ")
                              << steps << " steps in a row, so no pass was counted"
                              << (what.empty() ? what : "; in the way was " + what)
                              << ": let a step wait for the GPU, run more steps, or raise drain="};
    }
    return {errc::busy,
            sentence("counters: streams captured graphs in ")
                << steps
                << " steps in a row, so no pass could begin: end captures within a step, "
                   "or capture before the steps that count"};
  }

  /// What kept the last steps from being passes; ok where nothing did.
  status hindrance() const { return skipped_ == 0 ? status{} : in_the_way(skipped_, hindered_by_); }

  /// As counting_step has them.
  void pass_by() const { step_.pass_by(); }
  void await_own_streams() const { step_.await_own_streams(); }
  bool devices_are_idle() const { return step_.devices_are_idle(); }
  bool shows_progress() const noexcept { return progress_.live(); }
  bool done() const noexcept { return !open_ || ending_ || at_ >= plan_.configs.size(); }
  std::string const& chip() const noexcept { return plan_.devices.chip(); }
  /// What went wrong in passes.
  vec<status> const& problems() const noexcept { return problems_; }

  /// Has another thread end its pass, if it is in one. Threads: any. Cost: up to a second.
  void ask_to_end() noexcept {
    if (thread_ == recorder::thread_id() || ending_.exchange(true)) return;
    may_close_ = wait_for_end();
  }

  /// The devices do not answer: all counting is over, and nothing of CUPTI is called. Threads: any.
  void abandon() noexcept {
    ending_ = true;
    if (!mutex_.try_lock()) return;  // the thread of the pass is in a call that does not return
    progress_.erase();
    held_.reset();
    if (stage_ == stage::counting) stage_ = stage::stopped;
    drop();
    if (std::exchange(open_, false)) plan_.devices.abandon();
    mutex_.unlock();
  }

  /// Lets CUPTI go; what was counted stays. Threads: any. Cost: that of `ask_to_end`.
  void close() noexcept {
    bool const own = thread_ == recorder::thread_id();
    ask_to_end();
    if (!own && !may_close_) return;
    system_lock const lock(mutex_);
    if (own) return end_all();
    if (!open_) return;
    progress_.erase();
    held_.reset();
    stage_ = stage::stopped;
    drop();
    plan_.devices.abandon();
    open_ = false;
  }

 protected:
  enum class stage : unsigned char { none, counting, stopped };

  explicit pass_driver(trace_control const& trace) noexcept : step_(trace) {}
  ~pass_driver() = default;

  /// As pass_plan::open, without what would break the program's CUDA graphs.
  status open_plan(std::string_view request, device_profilers::which counted,
                   vec<status>& problems) {
    step_.guard_graphs();
    thread_ = recorder::thread_id();
    ending_ = false;
    capture_guard::exclusive const alone;
    if (!alone)
      return {errc::busy,
              "counters: a stream captures a graph: ask for counters outside of captures"};
    status planned;
    bool const whole = if_memory_allows([&] {
      planned = plan_.open(request, counted, recorder::instance().session(), problems);
      if (planned.ok() && step_.saw_graphs()) (void)plan_.leave_graphs_alone(0, problems);
    });
    open_ = plan_.devices.is_open();
    if (!whole) {
      plan_.configs.clear();
      out_of_memory();
    }
    return planned;
  }

  /// Begins a pass of the calling thread with what `prepare` starts; true if it counts. Errors: all
  /// counting is over. Requires: an exclusive scope, if one could be opened.
  template <class Prepare>
  bool begin(Prepare prepare, bool alone, status& problem) {
    if (!alone) hindered_by_ = pause_outcome::captures;
    if (alone && stage_ == stage::none) hindered_by_ = step_.suspend();
    if (stage_ != stage::none || hindered_by_ != pause_outcome::paused) {
      problem = skip();
      return false;
    }
    thread_ = recorder::thread_id();
    attempt_ = {};
    problem = prepare();
    if (problem.ok()) {
      stage_ = stage::counting;
      return true;
    }
    step_.resume();
    problem = give_up(problem);
    return false;
  }

  /// The thread came into another range: whether it may be pushed. A range that changes within a
  /// capture of this thread is reported again when that ends.
  bool may_move() noexcept {
    if (stage_ != stage::counting || attempt_.dropped) return false;
    if (ending_) {
      end_all();
      return false;
    }
    return !capture_guard::capturing_here();
  }

  /// Ends the counting of a pass, of which is not known yet whether it counts. While a capture is
  /// open, or a device has not done its work, it goes on until the next call.
  void stop(bool goes_on = true) noexcept {
    if (stage_ != stage::counting) return;
    progress_.erase();
    step_.unwatch(this);
    bool const ended = attempt_.dropped || step_.await_pass();
    capture_guard::exclusive const alone;
    if (!alone) return drop_for(pause_outcome::captures);
    if (!ended || !step_.devices_are_idle()) return drop_for(pause_outcome::busy);
    leave();
    if (!if_memory_allows([this] { attempt_.outcome = plan_.devices.stop(attempt_.complete); }))
      attempt_.dropped = true;
    stage_ = stage::stopped;
    if (goes_on) step_.resume();
  }

  /// Ends what the last pass left: it does not count.
  void end_last() noexcept {
    stop();
    drop();
  }

  /// A stopped pass does not count.
  virtual void drop() noexcept {
    if (stage_ != stage::stopped) return;
    stage_ = stage::none;
    plan_.devices.drop();
  }

  /// A step that something kept from being a pass. Not for ever: a body that passes run by hand is
  /// run so often, steps go on for so long.
  status skip() {
    constexpr std::size_t most = 100;
    constexpr std::int64_t longest = 10'000'000'000;
    std::int64_t const now = monotonic_ns();
    if (skipped_ == 0) skipped_since_ = now;
    if (++skipped_ < most || (!by_hand_ && now - skipped_since_ < longest)) return {};
    status const why = in_the_way(std::exchange(skipped_, std::size_t{0}), hindered_by_);
    return give_up(why);
  }

  void push(std::uint32_t range) noexcept {
    if (!std::exchange(attempt_.pushed, true)) plan_.devices.push(range);
  }
  /// Requires: the devices are idle, or CUPTI waits for them.
  void leave() noexcept {
    if (std::exchange(attempt_.pushed, false)) plan_.devices.pop();
    held_.reset();
  }
  /// Whether the pass may go on in another range. Else it does not count: a device does not come to
  /// an end, or a capture is open.
  bool leave_range() noexcept {
    bool const ended = !attempt_.pushed || step_.await_pass();
    capture_guard::exclusive const alone;
    if (!alone) drop_for(pause_outcome::captures);
    if (alone && attempt_.pushed && !(ended && step_.devices_are_idle()))
      drop_for(pause_outcome::busy);
    if (attempt_.dropped) return false;
    leave();
    return true;
  }
  /// The pass does not count.
  void drop_for(pause_outcome why) noexcept {
    hindered_by_ = why;
    attempt_.dropped = true;
    held_.reset();
  }

  /// Does a part of a pass. Where memory is short for it, all counting ends, and the pass under way
  /// does not count. Requires: the caller does not hold the mutex.
  status as_memory_allows(callback<status()> part) noexcept {
    system_lock const lock(mutex_);
    status outcome;
    if (if_memory_allows([&] { outcome = part(); })) return outcome;
    attempt_.dropped = true;
    at_ = plan_.configs.size();
    if (stage_ == stage::none) step_.resume();
    constexpr char const* why =
        "counters: counting ends here, since memory is short: free some, or lower log= and "
        "buffers=";
    say(why);
    outcome = {errc::limit, std::string()};
    ended_short_ = !if_memory_allows([&] { outcome = give_up({errc::limit, why}); });
    return outcome;
  }

  /// Ends all counting; the pass under way is stopped as it is.
  status give_up(status why) {
    at_ = plan_.configs.size();
    problems_.push_back(why);
    return why;
  }

  /// Of one pass.
  struct attempt {
    status outcome{};       // of its end
    bool complete = false;  // nothing but reading is left of the configuration
    bool pushed = false;
    bool dropped = false;  // a capture kept a range from being pushed
    bool met_other_device = false;
  };

  system_mutex mutex_{held_over::calls};  // held by each function that others call
  counting_step step_;
  pass_plan plan_;
  attempt attempt_;
  maybe<capture_guard::exclusive> held_;  // while kernels are counted
  progress_line progress_;
  vec<status> problems_;
  std::size_t at_ = 0;       // of the plan's configurations
  std::size_t skipped_ = 0;  // steps in a row that could be no pass
  std::int64_t skipped_since_ = 0;
  pause_outcome hindered_by_ = pause_outcome::paused;
  bool by_hand_ = false;  // the program drives the passes
  stage stage_ = stage::none;
  bool open_ = false;
  bool ended_short_ = false;  // for want of memory, even for a problem

 private:
  /// Of the thread that closes: has the thread of the pass end it. False where that thread is in a
  /// call of CUPTI and does not come back; it ends all when it does.
  bool wait_for_end() noexcept {
    constexpr std::int64_t longest = 1'000'000'000;
    bool outside = false;
    for (std::int64_t const begin = monotonic_ns(); monotonic_ns() - begin < longest;
         capture_guard::rest()) {
      outside = mutex_.try_lock();
      if (!outside) continue;
      bool const over = stage_ != stage::counting;
      mutex_.unlock();
      if (over) return true;
    }
    if (outside) step_.unwatch(this);
    return outside;
  }

  /// Of the thread of the pass: it is dropped, and CUPTI let go.
  void end_all() noexcept {
    stop(false);
    bool const stopped = stage_ != stage::counting;
    if (!stopped) stage_ = stage::stopped;
    drop();
    capture_guard::exclusive const alone;
    if (alone) (void)if_memory_allows([] { range_profiler::close_abandoned(); });
    if (!std::exchange(open_, false)) return;
    if (alone && stopped) return plan_.devices.close();
    plan_.devices.abandon();
  }

  atomic<std::uint64_t> thread_{0};  // of the pass
  atomic<bool> ending_{false};       // another thread asked for it
  bool may_close_ = true;            // the pass is over, or given up
};

}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_COUNTERS_COUNTING_PASS_HPP
