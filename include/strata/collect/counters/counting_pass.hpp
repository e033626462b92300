#ifndef STRATA_COLLECT_COUNTERS_COUNTING_PASS_HPP
#define STRATA_COLLECT_COUNTERS_COUNTING_PASS_HPP

#include <strata/collect/counters/device_profilers.hpp>
#include <strata/collect/counters/launch_trial.hpp>
#include <strata/collect/counters/pass_fingerprint.hpp>

STRATA_BEGIN
namespace detail {

/// Steps in a row that could be no pass.
struct skipped_steps {
  std::size_t count = 0;
  std::int64_t since_ns = 0;
  pause_outcome reason = pause_outcome::paused;  ///< of the last one

  /// One more. Returns: whether these are too many: a body that passes run by hand is run so often,
  /// steps continue for so long.
  bool add(std::int64_t now, bool by_hand) noexcept {
    constexpr std::size_t most = 100;
    constexpr std::int64_t longest = 10'000'000'000;
    if (count == 0) since_ns = now;
    return ++count >= most && (by_hand || now - since_ns >= longest);
  }
};

/// What counting by ranges and by kernels share: one pass at a time, of the thread that drives the
/// steps. A pass is counted whole or dropped whole: one that a capture kept from a push, a pop or
/// its end is dropped, and made again. Only the thread of the pass calls CUPTI: another one that
/// closes asks it to end the pass, and waits a second; without an answer CUPTI is left as it is.
class pass_driver : uncopied {
 public:
  /// After this many steps that were no passes.
  status in_the_way(std::size_t steps, pause_outcome last) const {
    if (last == pause_outcome::busy) {
      std::string const what = control_.in_the_way();
      return {errc::busy, sentence("counters: the GPU had not done its earlier work in ")
                              << steps << " steps in a row, so no pass was counted"
                              << (what.empty() ? what : "; in the way was " + what)
                              << ": let a step wait for the GPU, run more steps, or raise drain="};
    }
    if (last == pause_outcome::new_work)
      return {errc::limit,
              sentence("counters: ")
                  << steps
                  << " steps in a row launched what no step before them had, which is tried before "
                     "it is counted: count later (skip=), or ask for "
                  << without_instruments};
    return {errc::busy,
            sentence("counters: streams captured graphs in ")
                << steps
                << " steps in a row, so no pass could begin: end captures within a step, "
                   "or capture before the steps that count"};
  }

  /// What kept the last steps from being passes; ok where nothing did.
  status hindrance() const {
    return skipped_.count == 0 ? status{} : in_the_way(skipped_.count, skipped_.reason);
  }

  /// As trace_control has them.
  void pass_by() const { control_.choose_streams(); }
  void await_own_streams() const { control_.await_own_streams(); }
  bool devices_are_idle() const { return control_.devices_are_idle(); }
  bool counts_several_devices() const noexcept { return plan_.devices.several(); }
  bool done() const noexcept {
    return !open_ || end_.asked || config_index_ >= plan_.configs.size();
  }
  std::string const& chip() const noexcept { return plan_.devices.chip(); }
  /// What went wrong in passes.
  vec<status> const& problems() const noexcept { return problems_; }

  /// Has another thread end its pass, if it is in one. Threads: any. Cost: up to a second.
  void ask_to_end() noexcept {
    if (thread_ == recorder::thread_id() || end_.asked.exchange(true)) return;
    end_.may_close = wait_for_end();
  }

  /// The devices do not answer: all counting is over, and nothing of CUPTI is called. Threads: any.
  void abandon() noexcept {
    end_.asked = true;
    if (!mutex_.try_lock()) return;  // the thread of the pass is in a call that does not return
    held_.reset();
    launches_wait_.store(false);
    if (stage_ == stage::counting) stage_ = stage::stopped;
    drop();
    if (std::exchange(open_, false)) plan_.devices.abandon();
    mutex_.unlock();
  }

  /// Lets CUPTI go; what was counted stays. Threads: any. Cost: that of `ask_to_end`.
  void close() noexcept {
    bool const own = thread_ == recorder::thread_id();
    ask_to_end();
    if (!own && !end_.may_close) return;
    system_lock const lock(mutex_);
    if (own) return end_all();
    if (!open_) return;
    held_.reset();
    stage_ = stage::stopped;
    drop();
    plan_.devices.abandon();
    open_ = false;
  }

 protected:
  enum class stage : unsigned char { none, counting, stopped };
  /// What a pass does with launches.
  enum class launches : unsigned char {
    go_on,
    are_tried,   ///< nothing is counted
    wait_tried,  ///< tried too: what is counted lets them continue
    wait         ///< in a range each of them waits for its work
  };

  /// What counts without instrumented code.
  static constexpr char const* without_instruments = "counters=hbm or counters=limits";

  pass_driver(trace_control& trace, launch_trial& trial) noexcept
      : control_(trace), trace_(trace), trial_(trial) {}
  ~pass_driver() = default;

  /// Why launches may not wait for their work in this program; empty where nothing is known.
  std::string why_not_wait() const {
    std::string const waits = trace_.stream_waits();
    if (!waits.empty()) return waits;
    if (!trial_.failed()) return {};
    return "work " + control_.place_of(trial_.failed_in()) +
           " that had not ended drain= ms after its launch";
  }
  /// A further reason to instrument no kernel. Empty: there is none.
  std::string why_not_instrument() const {
    std::string const waits = why_not_wait();
    if (!waits.empty() || !trial_.met_collective()) return waits;
    return "kernels of collectives " + control_.place_of(trial_.collective_in());
  }

  /// As pass_plan::open, without what would break the program's CUDA graphs.
  status open_plan(std::string_view request, device_profilers::which counted,
                   vec<status>& problems) {
    control_.guard_graphs();
    thread_ = recorder::thread_id();
    end_.asked = false;
    capture_guard::exclusive const alone;
    if (!alone)
      return {errc::busy,
              "counters: a stream captures a graph: ask for counters outside of captures"};
    status planned;
    bool const whole = if_memory_allows([&] {
      planned = plan_.open(request, counted, recorder::instance().session(), problems);
      if (planned.ok() && control_.saw_graphs()) (void)plan_.leave_graphs_alone(0, problems);
      if (planned.ok()) (void)leave_waits_alone(0, problems);
    });
    open_ = plan_.devices.is_open();
    if (!whole) {
      plan_.configs.clear();
      out_of_memory();
    }
    return planned;
  }

  /// Leaves out what would have launches wait in a program that has reasons against it.
  std::size_t leave_waits_alone(std::size_t first, vec<status>& problems) {
    std::string const why = why_not_instrument();
    if (why.empty()) return 0;
    return plan_.leave_out_instrumented(
        first,
        {why, sentence("each launch would wait for its work: ask for ") << without_instruments},
        problems);
  }

  /// Begins a pass of the calling thread with what `prepare` starts; true if it counts, or is a
  /// trial. Errors: all counting is over. Requires: an exclusive scope, if one could be opened.
  template <class Prepare>
  bool begin(Prepare prepare, launches how, bool alone, status& problem) {
    if (!alone) skipped_.reason = pause_outcome::captures;
    if (alone && stage_ == stage::none) skipped_.reason = trace_.suspend();
    if (stage_ != stage::none || skipped_.reason != pause_outcome::paused) {
      problem = skip();
      return false;
    }
    thread_ = recorder::thread_id();
    attempt_ = {};
    attempt_.is_trial = how == launches::are_tried;
    if (!attempt_.is_trial) problem = prepare();
    if (problem.ok()) {
      stage_ = stage::counting;
      if (how == launches::are_tried || how == launches::wait_tried) trial_.begin();
      launches_wait_.store(how == launches::wait);
      if (how != launches::go_on) trace_.keep_gate(gate(), this);
      return true;
    }
    trace_.resume();
    problem = give_up(problem);
    return false;
  }

  /// The thread came into another range: whether it may be pushed. A range that changes within a
  /// capture of this thread is reported again when that ends.
  bool may_move() noexcept {
    if (stage_ != stage::counting || attempt_.dropped) return false;
    if (end_.asked) {
      end_all();
      return false;
    }
    return !capture_guard::capturing_here();
  }

  /// Ends the counting of a pass, which the calling thread has taken over with its step. While a
  /// capture is open, or a device has not done its work, it continues until the next call.
  void stop(bool goes_on = true) noexcept {
    if (stage_ != stage::counting) return;
    thread_ = recorder::thread_id();
    trace_.unwatch(this);
    trial_.end(!attempt_.dropped);
    if (!attempt_.is_trial && !attempt_.is_over) {
      bool const ended = attempt_.dropped || control_.await_pass();
      capture_guard::exclusive const alone;
      if (!alone) return drop_for(pause_outcome::captures);
      if (!is_done(ended)) return drop_for(pause_outcome::busy);
      leave();
      end_session();
    }
    open_gate();
    stage_ = stage::stopped;
    if (goes_on) trace_.resume();
  }

  /// CUPTI counts no more in this pass. Requires: the devices are idle, and no capture is open.
  void end_session() noexcept {
    attempt_.is_over = true;
    if (!if_memory_allows([this] { attempt_.outcome = plan_.devices.stop(attempt_.complete); }))
      attempt_.dropped = true;
  }

  void open_gate() noexcept {
    launches_wait_.store(false);
    trace_.open_gate();
  }

  /// Ends what the last pass left: it does not count.
  void end_last() noexcept {
    stop();
    drop();
  }

  /// A call that launches, in the thread that makes it, while a pass tries launches or has them
  /// wait. Threads: any; the caller does not hold the mutex.
  virtual void launch_begins(gated_call const&) noexcept {}
  virtual void launch_ended(gated_call const&) noexcept {}

  /// A stopped pass does not count.
  virtual void drop() noexcept {
    if (stage_ != stage::stopped) return;
    stage_ = stage::none;
    plan_.devices.forgive();
  }

  /// A pass that was dropped. Each one in which a device did not come to an end costs what `drain=`
  /// says, or more, so that two of them are enough.
  status after_drop() {
    constexpr std::size_t most = 2;
    if (given_up_ < most) return skip();
    std::string const what = control_.in_the_way();
    skipped_.count = 0;
    return give_up(
        {errc::busy,
         sentence("counters: in ")
             << given_up_
             << " counting steps the GPU had not done the work of a range drain= ms after its end, "
                "so "
                "that counting ends here"
             << (what.empty() ? what : "; in the way was " + what)
             << ": end ranges where the program has waited for their work, or raise drain="});
  }

  /// A step that something kept from being a pass. Not for ever.
  status skip() {
    if (!skipped_.add(monotonic_ns(), by_hand_)) return {};
    status const why = in_the_way(std::exchange(skipped_.count, std::size_t{0}), skipped_.reason);
    return give_up(why);
  }

  void push(std::uint32_t range) noexcept {
    if (attempt_.is_trial) return;
    if (!std::exchange(attempt_.pushed, true)) plan_.devices.push(range);
  }
  /// Requires: the devices are idle, or CUPTI waits for them.
  void leave() noexcept {
    if (std::exchange(attempt_.pushed, false)) plan_.devices.pop();
    held_.reset();
  }
  /// The mutex for a call that launches, in the thread that makes it. The end of a pass holds the
  /// mutex and waits for such calls, so that they do not wait for it: then, and after a second, the
  /// lock is false.
  class lock_of_call : uncopied {
   public:
    explicit lock_of_call(pass_driver& driver) noexcept : mutex_(driver.mutex_) {
      constexpr std::int64_t longest_ns = 1'000'000'000;
      deadline patience(longest_ns);
      while (!(held_ = mutex_.try_lock())) {
        if (!driver.trace_.keeps_gate() || !patience.lasts()) return;
        capture_guard::rest();
      }
    }
    ~lock_of_call() {
      if (held_) mutex_.unlock();
    }
    explicit operator bool() const noexcept { return held_; }

   private:
    system_mutex& mutex_;
    bool held_ = false;
  };
  /// Requires: the mutex.
  bool counts_context_of(gated_call const& call) const noexcept {
    return plan_.devices.knows(call.context) && !plan_.devices.leaves_out(call.context);
  }
  /// Of a thread other than the pass's too: whether something may be pushed.
  bool may_push() const noexcept {
    return stage_ == stage::counting && !attempt_.dropped && !end_.asked;
  }
  /// After its work ended, or was not waited for: other threads launch until this one is alone.
  bool is_done(bool ended) const noexcept { return ended && control_.devices_are_idle(); }
  /// Whether the pass may continue in another range. Else it does not count: a device does not come
  /// to an end, or a capture is open.
  bool leave_range() noexcept {
    bool const ended = !attempt_.pushed || control_.await_pass();
    capture_guard::exclusive const alone;
    if (!alone) drop_for(pause_outcome::captures);
    if (alone && attempt_.pushed && !is_done(ended)) drop_for(pause_outcome::busy);
    if (attempt_.dropped) return false;
    leave();
    return true;
  }
  /// The pass does not count.
  void drop_for(pause_outcome why) noexcept {
    if (why == pause_outcome::busy && !attempt_.dropped) ++given_up_;
    skipped_.reason = why;
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
    config_index_ = plan_.configs.size();
    if (stage_ == stage::none) trace_.resume();
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
    config_index_ = plan_.configs.size();
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
    bool is_trial = false;  // nothing is counted
    bool is_over = false;   // for CUPTI
  };

  system_mutex mutex_{held_over::calls};  // held by each function that others call
  trace_control& control_;
  trace_pause trace_;
  launch_trial& trial_;
  pass_plan plan_;
  attempt attempt_;
  maybe<capture_guard::exclusive> held_;  // while kernels are counted
  vec<status> problems_;
  std::size_t config_index_ = 0;  // of the plan's configurations
  skipped_steps skipped_;
  std::size_t given_up_ = 0;       // passes in which a device did not come to an end
  bool by_hand_ = false;           // the program drives the passes
  atomic<bool> runs_once_{false};  // what is counted cannot be tried before
  stage stage_ = stage::none;
  bool open_ = false;
  bool ended_short_ = false;  // memory was short, even for a problem

 private:
  static void call_begins(void* context, gated_call const& call) noexcept {
    auto& self = *static_cast<pass_driver*>(context);
    bool const trusted = self.runs_once_.load() && call.waits == cupti::stream_wait::none;
    if (self.launches_wait_.load() && !trusted && !self.trial_.knows(call)) self.leave_before(call);
    self.trial_.begins(call);
    self.launch_begins(call);
  }
  static void call_ended(void* context, gated_call const& call) noexcept {
    auto& self = *static_cast<pass_driver*>(context);
    self.launch_ended(call);
    self.trial_.ended(call);
  }
  static launch_gate::keeper const& gate() noexcept {
    static launch_gate::keeper const only{&call_begins, &call_ended};
    return only;
  }

  /// What was not tried is about to be launched, by any thread: outside of ranges it may be, where
  /// kernels are counted one by one outside of passes. This one does not count; the rest of the
  /// step is tried.
  void leave_before(gated_call const& call) noexcept {
    lock_of_call const lock(*this);
    if (!lock || !counts_context_of(call) || !launches_wait_.load()) return;
    if (!attempt_.dropped) drop_for(pause_outcome::new_work);
    capture_guard::exclusive const alone;
    if (alone) leave();
    launches_wait_.store(false);
    trial_.begin();
  }

  /// Of the thread that closes: has the thread of the pass end it. False where that thread is in a
  /// call of CUPTI and does not come back; it ends all when it does.
  bool wait_for_end() noexcept {
    constexpr std::int64_t longest = 1'000'000'000;
    bool outside = false;
    for (deadline patience(longest); patience.lasts(); capture_guard::rest()) {
      outside = mutex_.try_lock();
      if (!outside) continue;
      bool const over = stage_ != stage::counting;
      mutex_.unlock();
      if (over) return true;
    }
    if (outside) trace_.unwatch(this);
    if (outside) open_gate();
    return outside;
  }

  /// Of the thread of the pass: it is dropped, and CUPTI let go.
  void end_all() noexcept {
    stop(false);
    bool const stopped = stage_ != stage::counting;
    open_gate();
    if (!stopped) stage_ = stage::stopped;
    drop();
    capture_guard::exclusive const alone;
    if (alone) (void)if_memory_allows([] { range_profiler::close_abandoned(); });
    if (!std::exchange(open_, false)) return;
    if (alone && stopped) return plan_.devices.close();
    plan_.devices.abandon();
  }

  /// The end of a pass, which another thread may ask for.
  struct pass_end {
    atomic<bool> asked{false};
    bool may_close = true;  // the pass is over, or given up
  };

  atomic<std::uint64_t> thread_{0};  // of the pass
  atomic<bool> launches_wait_{false};
  pass_end end_;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_COUNTERS_COUNTING_PASS_HPP
