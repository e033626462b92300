#ifndef STRATA_COLLECT_HOST_RECORDER_HPP
#define STRATA_COLLECT_HOST_RECORDER_HPP

#include <strata/collect/host/range_steps.hpp>

#include <sys/resource.h>

STRATA_BEGIN
namespace detail {

/// What the thread of a step has of a CPU meanwhile, by two calls of the kernel a step. Steps that
/// are too short for these are left out. Threads: the one in the step.
class step_usage {
 public:
  /// Before the step begins, at `now`; `wanted`: it is recorded. Returns: when it begins.
  template <class Clock>
  std::int64_t begin(Clock const& clock, std::int64_t now, std::uint64_t thread,
                     bool wanted) noexcept {
    thread_ = thread;
    bool const is_cheap = last_ >= min_steps * cost_;
    // A reading that was interrupted once looks expensive: it is tried again.
    if (!is_cheap) cost_ -= cost_ / 16 + 1;
    taken_ = wanted && is_cheap && read(before_);
    if (!taken_) return now;
    std::int64_t const begun = clock.now();
    cost_ = begun - now;
    return begun;
  }
  /// After it ended.
  void end(step_record& step, std::uint64_t thread) noexcept {
    last_ = step.end - step.begin;
    usage after;
    if (!taken_ || thread != thread_ || !read(after)) return;
    // 0 is what was not measured.
    step.cpu_ns = larger(std::int64_t{1}, after.cpu_ns - before_.cpu_ns);
    step.voluntary_switches = after.voluntary - before_.voluntary;
    step.involuntary_switches = after.involuntary - before_.involuntary;
  }
  void forget() noexcept { *this = {}; }

 private:
  struct usage {
    std::int64_t cpu_ns = 0;
    std::uint32_t voluntary = 0;
    std::uint32_t involuntary = 0;
  };
  /// The two readings take less than a hundredth of a step as long as the last one.
  static constexpr std::int64_t min_steps = 256;

  static bool read(usage& made) noexcept {
    rusage used;
    if (getrusage(RUSAGE_THREAD, &used) != 0) return false;
    auto const ns = [](timeval const& time) {
      return std::int64_t{time.tv_sec} * 1'000'000'000 + std::int64_t{time.tv_usec} * 1000;
    };
    made.cpu_ns = ns(used.ru_utime) + ns(used.ru_stime);
    made.voluntary = static_cast<std::uint32_t>(used.ru_nvcsw);
    made.involuntary = static_cast<std::uint32_t>(used.ru_nivcsw);
    return true;
  }

  usage before_;
  std::uint64_t thread_ = 0;  // that began the step
  bool taken_ = false;
  std::int64_t cost_ = 0;  // of a reading, in ticks
  std::int64_t last_ = 0;  // how long the step before took, in ticks
};

/// Records the ranges of all threads until a session copies them into a profile. There is one in a
/// process; it is made when first needed and never destroyed, since ranges may end at any time.
class recorder {
 public:
  /// What the session does at the ends of a step.
  struct step_hooks {
    void (*begin)(void* context, std::uint32_t step) noexcept = nullptr;
    void (*end)(void* context, std::uint32_t step) noexcept = nullptr;
    void* context = nullptr;
    bool (*missing)(void* context) noexcept = nullptr;  ///< see miss_steps
  };

  /// How long a thread waits for what begins in another one.
  static constexpr std::uint32_t longest_ms = 5'000;

  /// Ranges that left the logs and wait to be streamed.
  static constexpr std::int64_t max_overdue_bytes = std::int64_t{24} << 20;

  static recorder& instance() {
    static recorder& only = of_process();
    return only;
  }

  recorder_state& state() noexcept { return state_; }
  tick_source const& clock() const noexcept { return state_.clock; }

  STRATA_DETAIL_COLD_CODE

  /// Begins a session: its number. Ranges come here from `listen` on, and are recorded while
  /// `record(true)` holds. Threads: sessions begin and end in one thread at a time.
  std::uint32_t begin_session(std::int64_t log_bytes) noexcept {
    own_lock const lock(mutex_);
    stepping_.begun.store(0, memory_order_relaxed);
    stepping_.elsewhere.store(0, memory_order_relaxed);
    stepping_.unused.store(false, memory_order_relaxed);
    state_.step.store(no_step, memory_order_relaxed);
    state_.of_steps.store(nullptr, memory_order_relaxed);
    return forget_records(log_bytes);
  }

  /// Between two windows of a session: what was recorded is forgotten, and the logs start anew
  /// under another number. Steps continue being counted. Requires: nothing is recorded now.
  void begin_anew(std::int64_t log_bytes) noexcept {
    own_lock const lock(mutex_);
    (void)forget_records(log_bytes);
  }

  /// The times of what is recorded from now on count from now.
  void begin_clock() noexcept {
    own_lock const lock(mutex_);
    time_.begin(state_.clock);
  }
  /// What was recorded is copied next; the session continues.
  void end_clock() noexcept {
    own_lock const lock(mutex_);
    time_.last = {state_.clock};
  }

  /// From now on ranges come here, and steps are counted: the calls of the ranges that are named,
  /// else those of STRATA_STEP().
  void listen(step_hooks hooks, std::string_view step_range = {}) noexcept {
    count_steps(hooks);
    install(choose_step_ranges(step_range) ? range_step_listener : recording_listener);
  }
  /// The same, where steps are found by calls: `leave` says that a thread ends, but the main one.
  void listen(step_hooks hooks, void (*leave)(thread_recorder const* own) noexcept) noexcept {
    stepping_.leave.store(leave);
    count_steps(hooks);
    install(call_step_listener);
  }

  /// What a session waits for: `begin` is called once `has_come`, while no hook of a step runs.
  struct event {
    bool (*has_come)() noexcept = nullptr;
    void (*begin)(void* context) noexcept = nullptr;
    void* context = nullptr;
  };
  /// From `listen` on a range or step that begins while that begins waits for it.
  void wait_for(event const& what) noexcept {
    waiting_.what = what;
    waiting_.on.store(true);
  }
  /// Looks for it, and begins it. Returns: whether nobody waits any more. Threads: any, but in no
  /// range or step: looking takes the lock of the dynamic loader, which a thread may have that
  /// waits for that range. A thread waits once for steps in others, so many ms.
  bool look(std::uint32_t max_ms = longest_ms) noexcept {
    static thread_local bool in_vain = false;
    if (!waiting_.on.load(memory_order_acquire)) return true;
    if (!waiting_.what.has_come()) return false;
    bool const over = between_steps(in_vain ? 0 : max_ms, [this] {
      waiting_.begins.store(true);
      if (waiting_.on.load()) waiting_.what.begin(waiting_.what.context);
      end_waiting();
      waiting_.begins.store(false);
    });
    in_vain = !over && max_ms != 0;
    return over;
  }
  /// Returns: false where it began, and did not come back for so many ms.
  bool stop_waiting(std::uint32_t patience_ms) noexcept {
    return !waiting_.on.load() || between_steps(patience_ms, [this] { end_waiting(); });
  }

  /// Calls `body` while no hook of a step runs. Returns: false if one ran for `patience_ms`.
  bool between_steps(std::uint32_t patience_ms, callback<void()> body) noexcept {
    constexpr std::uint32_t turn_ms = 100;
    if (step_turn::is_here()) return false;
    locks_of_this_thread() += step_mutex_.weight();
    bool const is_alone = lock_within(step_mutex_, patience_ms);
    bool const has_turn = is_alone && lock_within(turn_mutex_, turn_ms);
    if (has_turn) body();
    if (has_turn) turn_mutex_.unlock();
    if (is_alone) step_mutex_.unlock();
    locks_of_this_thread() -= step_mutex_.weight();
    return has_turn;
  }

  /// Half of the memory of the logs is kept for what follows, until `release_half` or a pause.
  void keep_half() noexcept {
    std::int64_t const half = state_.budget.limit() / 2;
    kept_bytes_.store(half);
    state_.budget.charge(static_cast<std::size_t>(half));
  }
  void release_half() noexcept {
    state_.budget.give(static_cast<std::size_t>(kept_bytes_.exchange(0)));
  }

  /// Whether ranges that begin from now on are recorded.
  /// Returns: false where they should be, and there is no memory to say from when on.
  bool record(bool on) noexcept {
    if (on == recording()) return true;
    if (on && !time_.periods.begin(state_.clock.now())) {
      lose();
      return false;
    }
    time_.recorded_ns += on ? -kernel_ns() : kernel_ns();
    if (!on) time_.periods.end(state_.clock.now());
    if (!on) release_half();
    state_.session.store(on ? session() : 0, memory_order_release);
    return true;
  }

  STRATA_DETAIL_END_CODE

  bool recording() const noexcept { return state_.session.load(memory_order_relaxed) != 0; }
  std::uint32_t session() const noexcept { return session_.load(memory_order_relaxed); }
  /// When this session recorded. Requires: it does not now.
  recorded_periods const& periods() const noexcept { return time_.periods; }
  /// For how long this session has recorded. Requires: it does not now.
  std::int64_t recorded_ns() const noexcept { return time_.recorded_ns; }

  STRATA_DETAIL_COLD_CODE

  bool logs_are_whole() const noexcept { return !state_.budget.exhausted(); }
  /// Steps of the session that were recorded.
  std::size_t steps_recorded() {
    own_lock const lock(mutex_);
    return steps_.size();
  }
  /// Hands every range of the session so far to `ranges`, every call into the driver to `launches`.
  template <class Ranges, class Launches>
  void for_each_record(Ranges ranges, Launches launches) {
    own_lock const lock(mutex_);
    for (thread_recorder* const t : threads_) t->for_each_range(session_, ranges);
    state_.launches.for_each_call([&](driver_call_record const& launch) { launches(launch); });
  }

  /// From now on, or no more, steps are kept for `stream`, and ranges that leave the full logs.
  void set_streaming(bool on) noexcept {
    own_lock const lock(mutex_);
    state_.stream_budget.set(on ? max_overdue_bytes : 0);
    state_.stream_dropped.store(0, memory_order_relaxed);
    state_.streaming.store(on, memory_order_relaxed);
    steps_.forget_fresh();
  }
  /// Threads: one, while the program continues. Hands out what was recorded until then and not
  /// taken before: `range(record, attribute or null)`.
  template <class Steps, class Ranges>
  void stream(std::int64_t until, Steps steps, Ranges range) {
    own_lock const lock(mutex_);
    steps_.stream(until, steps);
    for (thread_recorder* const t : threads_) t->stream(session(), until, range);
  }
  /// When the session began, in ticks.
  std::int64_t begun() const noexcept { return time_.first.ticks; }
  /// Hands the recorder of each thread that lives to `sink`. Threads: any.
  template <class Sink>
  void for_each_thread(Sink sink) {
    own_lock const lock(mutex_);
    for (thread_recorder const* const t : threads_)
      if (t->owned()) sink(*t);
  }
  /// The threads so far.
  vec<profile_thread> threads() {
    own_lock const lock(mutex_);
    return known_threads_.all();
  }

  atomic<bool>& owned() noexcept { return owned_; }  // by a session; they take it by turns
  /// When the session ended (or now), in ns since it began.
  std::int64_t ended_ns(tick_converter const& ticks) const noexcept {
    return ticks.to_ns(time_.last.ticks);
  }

  /// Ends the session: the calling thread's open ranges are recorded until now, those of other
  /// threads are counted. Returns: whether no hook of a step runs any more; one that waits for a
  /// device may not come back in so many ms.
  bool end_session(std::uint32_t patience_ms) noexcept {
    constexpr std::uint32_t turn_ms = 100;  // a hook that waits for CUPTI has given up its turn
    bool const alone = lock_within(step_mutex_, patience_ms);
    bool const has_turn = lock_within(turn_mutex_, turn_ms);
    stepping_.on.store(false);
    if (has_turn) {
      stepping_.hooks = {};
      turn_mutex_.unlock();
    }
    if (alone) {
      stepping_.thread.store(0, memory_order_relaxed);
      step_mutex_.unlock();
    }
    thread_recorder* const own = thread_recorder::current();
    std::uint64_t const own_open = own == nullptr ? 0 : own->cut();
    record(false);
    install_listener(idle_listener(block()));
    own_lock const lock(mutex_);
    left_open_ += own_open;
    for (thread_recorder* const t : threads_) {
      if (t != own) left_open_ += t->depth();
    }
    state_.nodes.end_session();
    time_.last = {state_.clock};
    return alone;
  }

  /// Where memory has ended, the logs make room for the report: it has their sums, and the first
  /// steps. Requires: nothing is recorded.
  void make_room_for_report() noexcept {
    own_lock const lock(mutex_);
    if (!state_.budget.ended()) return;
    for (thread_recorder* const t : threads_) t->fold_all(session());
    steps_.make_room_for_report();
  }

  /// Hands over everything that this session recorded, in ticks; `converter()` makes ns of them.
  /// Nothing stays here, and the memory of each piece is free when the next one is handed over.
  /// Requires: once, while nothing is recorded, and after device work was joined to its calls.
  void move_to(profile& target) {
    own_lock const lock(mutex_);
    target.cost.log_bytes = static_cast<std::uint64_t>(state_.budget.used()) +
                            state_.launches.bytes_beyond_budget() + state_.names.bytes();
    for (thread_recorder* const t : threads_) t->move_to(target, session());
    state_.launches.drain([&target](driver_call_record launch, bool worked, bool kept) {
      if (launch.is_left_out()) return;
      if (worked) launch.flags &= driver_call_record::adopted;
      if (kept) target.launches.push_back(launch);
    });
    state_.spans.move_to(target);
    steps_.copy_to(target);
    target.has_steps = steps_begun() != 0;
    target.threads = known_threads_.in(target);
    target.names = state_.names.texts();
    state_.nodes.for_each_from(0, [&target](node_table::node const& n) {
      target.nodes.push_back({n.parent, n.name, n.index, n.depth, true});
    });
    node_table::refusals const refused = state_.nodes.refused();
    target.losses.nodes_refused = refused.nodes - refused_before_.nodes.nodes;
    target.losses.indices_refused = refused.indices - refused_before_.nodes.indices;
    target.losses.ranges_too_deep = refused.depth - refused_before_.nodes.depth +
                                    state_.too_many_open.load(memory_order_relaxed);
    target.losses.names_refused = state_.names.refused() - refused_before_.names;
    target.losses.ranges_left_open = left_open_;
    target.losses.ranges_ended_elsewhere = state_.ended_elsewhere.load(memory_order_relaxed);
    target.losses.pops_without_push = state_.pops_without_push.load(memory_order_relaxed);
    target.losses.threads_merged = known_threads_.merged();
    target.losses.unrecorded = state_.unrecorded.load(memory_order_relaxed);
  }

  /// From ticks to ns since the session began; exact to the rate between its begin and now or end.
  tick_converter converter() noexcept {
    constexpr std::int64_t min_ns = 2'000'000;
    moment last =
        recording() || time_.last.ticks <= time_.first.ticks ? moment(state_.clock) : time_.last;
    for (deadline patience(2 * min_ns);
         last.other - time_.first.other < min_ns && patience.lasts();)
      last = {state_.clock};
    return converter_until(last);
  }
  /// When the session began, or the window, in ns since 1970.
  std::int64_t began_at() const noexcept { return time_.began_at; }
  /// For how long the machine was suspended in the session, in ns; 0 where it was not.
  std::int64_t suspended() const noexcept {
    return time_.last.ticks > time_.first.ticks ? suspended_until(time_.last) : 0;
  }

  /// Waits for a hook of an earlier session, so many ms at most. Returns: whether none runs.
  bool await_hooks(std::uint32_t patience_ms) noexcept {
    bool const none_runs = lock_within(step_mutex_, patience_ms);
    if (none_runs) step_mutex_.unlock();
    return none_runs;
  }

  /// In a hook of a step: makes a call that may not come back, during which the session may end.
  /// Returns: whether it has not; else the hook returns at once. Elsewhere it is just a call.
  template <class Call>
  bool outlives(Call call) {
    if (!step_turn::is_here()) {
      call();
      return true;
    }
    {
      step_pause const pause(turn_mutex_);
      call();
    }
    return stepping_.on.load();
  }

  STRATA_DETAIL_END_CODE

  /// The recorder of this thread, made on its first range; null beyond the limit of threads.
  thread_recorder* of_this_thread() noexcept {
    thread_recorder* const known = thread_recorder::current();
    return known != nullptr ? known : adopt_thread();
  }

  STRATA_DETAIL_COLD_CODE

  /// The range that the calling thread's work belongs to.
  static std::uint32_t work_node() noexcept {
    thread_recorder* const own = instance().of_this_thread();
    return own == nullptr ? root_node : own->work_node();
  }

  bool begin_step() noexcept {
    if (locks_of_this_thread() != 0) {  // a signal handler's
      block().interrupting_ranges.fetch_add(1, memory_order_relaxed);
      return false;
    }
    std::uint64_t const self = thread_id();
    std::uint64_t nobody = 0;
    if (!stepping_.thread.compare_exchange_strong(nobody, self, memory_order_acq_rel)) {
      if (nobody != self) leave_out_step();
      return false;
    }
    step_turn const turn(*this);
    if (!keeps_step(self)) return false;
    std::uint32_t const step = stepping_.begun.fetch_add(1, memory_order_relaxed);
    stepping_.open.worker = 0;
    if (thread_recorder* const own = of_this_thread()) {
      own->drive_steps();
      stepping_.open.worker = own->ordinal();
    }
    if (stepping_.hooks.begin != nullptr) stepping_.hooks.begin(stepping_.hooks.context, step);
    if (!keeps_step(self)) return false;
    state_.step.store(step, memory_order_relaxed);
    std::int64_t const now = state_.clock.now();
    stepping_.open.begin = stepping_.usage.begin(state_.clock, now, self, recording());
    return true;
  }

  /// Makes the open step this thread's, whichever thread began it, so that `end_step` ends it.
  /// `worked`: this thread launched its work, so that its record has this thread.
  void take_step(bool worked) noexcept {
    std::uint64_t const self = thread_id();
    if (stepping_.thread.load(memory_order_relaxed) == self) return;
    thread_recorder const* const own = of_this_thread();
    system_lock lock(step_mutex_);
    if (stepping_.thread.load(memory_order_relaxed) == 0) return;
    stepping_.thread.store(self, memory_order_relaxed);
    if (worked && own != nullptr) stepping_.open.worker = own->ordinal();
  }

  /// Ends the step of this thread; a step that its session did not outlive is no more.
  void end_step() noexcept {
    std::int64_t const now = state_.clock.now();
    std::uint64_t const self = thread_id();
    if (stepping_.thread.load(memory_order_relaxed) != self) return;
    step_turn const turn(*this);
    if (!keeps_step(self)) return;
    std::uint32_t const step = state_.step.exchange(no_step, memory_order_relaxed);
    if (recording()) {
      own_lock const adding(mutex_);
      step_record ended{stepping_.open.begin, now, step, stepping_.open.worker};
      stepping_.usage.end(ended, self);
      if (!steps_.add(ended, state_.budget)) lose();
      bool const streams = state_.streaming.load(memory_order_relaxed);
      if (streams && !steps_.add_fresh(ended))
        state_.stream_dropped.fetch_add(1, memory_order_relaxed);
    }
    if (stepping_.hooks.end != nullptr) stepping_.hooks.end(stepping_.hooks.context, step);
    leave_step(self);
  }

  /// A range that need not nest begins, and ends, which may be in another thread. With `step=` it
  /// is a step where that names it, until it ends or the next one begins.
  void span_begins(std::string_view name, std::uint64_t id) noexcept {
    if (!ranges_are_steps()) return;
    stepping_.ranges.load()->begin_span(*this, of_this_thread(), name, id);
  }
  void span_ends(std::uint64_t id) noexcept {
    if (ranges_are_steps()) stepping_.ranges.load()->end_span(*this, id);
  }

  /// So much was launched, and no step has begun. Returns: whether the session needs no other call.
  bool miss_steps() noexcept {
    if (locks_of_this_thread() != 0) return false;  // a signal handler's
    step_turn const turn(*this);
    if (!stepping_.on.load() || stepping_.hooks.missing == nullptr) return true;
    return stepping_.hooks.missing(stepping_.hooks.context);
  }

  STRATA_DETAIL_END_CODE

  /// A step begins that is none: another thread drives the steps.
  void leave_out_step() noexcept { stepping_.elsewhere.fetch_add(1, memory_order_relaxed); }
  /// Steps that were left out since the last call.
  std::uint64_t take_steps_elsewhere() noexcept {
    return stepping_.elsewhere.exchange(0, memory_order_relaxed);
  }
  /// Whether the program has STRATA_STEP() and calls into the driver are the steps.
  bool has_unused_steps() const noexcept { return stepping_.unused.load(memory_order_relaxed); }
  std::uint32_t steps_begun() const noexcept { return stepping_.begun.load(memory_order_relaxed); }

  static std::uint64_t thread_id() noexcept {
    return static_cast<std::uint64_t>(syscall(SYS_gettid));
  }

 private:
  /// Holds the recorder's mutex. A signal handler's range would wait for its own thread.
  class own_lock : uncopied {
   public:
    explicit own_lock(system_mutex& which) noexcept : which_(&which) {
      locks() = true;
      ++locks_of_this_thread();
      which_->lock();
    }
    ~own_lock() {
      which_->unlock();
      --locks_of_this_thread();
      locks() = false;
    }

    /// Whether the calling thread holds the mutex, or is about to.
    static bool volatile& locks() noexcept {
      static thread_local bool volatile own = false;
      return own;
    }

   private:
    system_mutex* which_;
  };

  /// Holds both mutexes of steps. A hook gives up the second one in calls that may not come back,
  /// so that the session may end.
  class step_turn : uncopied {
   public:
    explicit step_turn(recorder& all) noexcept : order_(all.step_mutex_), turn_(all.turn_mutex_) {
      is_here() = true;
    }
    ~step_turn() { is_here() = false; }

    /// Whether the calling thread holds them.
    static bool& is_here() noexcept {
      static thread_local bool own = false;
      return own;
    }

   private:
    system_lock order_;
    system_lock turn_;
  };
  /// Gives up a turn while it lives.
  class step_pause : uncopied {
   public:
    explicit step_pause(system_mutex& turn) noexcept : turn_(turn) { turn_.unlock(); }
    ~step_pause() { turn_.lock(); }

   private:
    system_mutex& turn_;
  };

  /// Whether this thread is still in its step. It leaves a step whose session has ended.
  bool keeps_step(std::uint64_t self) noexcept {
    if (stepping_.thread.load(memory_order_relaxed) != self) return false;
    if (stepping_.on.load()) return true;
    leave_step(self);
    return false;
  }

  /// This thread drives no step any more, if it did.
  void leave_step(std::uint64_t self) noexcept {
    (void)stepping_.thread.compare_exchange_strong(self, 0, memory_order_acq_rel);
  }

  /// Whether steps are counted, which ones, and by whom.
  struct stepping {
    step_hooks hooks;  // guarded by turn_mutex_
    atomic<bool> on{false};
    atomic<range_steps*> ranges{nullptr};  // of the last session with `step=`
    atomic<void (*)(thread_recorder const* own) noexcept> leave{nullptr};
    atomic<std::uint32_t> begun{0};
    atomic<std::uint64_t> thread{0};     // that is in a step, 0: none
    atomic<std::uint64_t> elsewhere{0};  // steps of other threads meanwhile
    atomic<bool> unused{false};          // STRATA_STEP() was called, and calls are the steps
    struct open_step {
      std::int64_t begin = 0;
      std::uint32_t worker = 0;  // the ordinal of the thread that has the step's work
    } open;
    step_usage usage;
  };

  recorder() = default;

  void count_steps(step_hooks hooks) noexcept {
    step_turn const turn(*this);
    stepping_.hooks = hooks;
    stepping_.usage.forget();
    stepping_.thread.store(0, memory_order_relaxed);  // a step of an earlier session is no more
    stepping_.on.store(true);
  }

  /// Returns: whether ranges are steps; there is nothing where memory is short.
  bool choose_step_ranges(std::string_view name) noexcept {
    if (name.empty()) return false;
    auto* const chosen = new (std::nothrow) range_steps(name, stepping_.ranges.load());
    if (chosen != nullptr) stepping_.ranges.store(chosen);
    return chosen != nullptr;
  }

  STRATA_DETAIL_COLD_CODE

  std::uint32_t forget_records(std::int64_t log_bytes) noexcept {
    kept_bytes_.store(0);
    state_.budget.set(log_bytes);
    state_.names.limit_bytes(static_cast<std::size_t>(log_bytes) / 4);
    std::uint32_t const number = session_.fetch_add(1) + 1;
    state_.forgotten.store(number - 1, memory_order_relaxed);
    steps_.clear();
    time_.periods.clear();
    state_.launches.clear();
    state_.ended_elsewhere.store(0, memory_order_relaxed);
    state_.pops_without_push.store(0, memory_order_relaxed);
    state_.too_many_open.store(0, memory_order_relaxed);
    state_.left_in_steps.store(0, memory_order_relaxed);
    state_.first_left.store(0, memory_order_relaxed);
    state_.unrecorded.store(0, memory_order_relaxed);
    state_.nodes.begin_session();
    refused_before_.names = state_.names.refused();
    refused_before_.nodes = state_.nodes.refused();
    left_open_ = 0;
    time_.recorded_ns = 0;
    state_.spans.clear();
    for (thread_recorder* const t : free_) t->forget();
    known_threads_.begin_session([this](auto sink) {
      for (thread_recorder const* const t : threads_)
        if (t->owned()) sink(t->ordinal());
    });
    time_.begin(state_.clock);
    return number;
  }

  static recorder& of_process() {
    return *static_cast<recorder*>(
        shared_object(process_object::recorder, []() -> void* { return new recorder; }));
  }

  /// Gives the thread's recorder back when the thread ends; its records stay.
  struct thread_end {
    recorder* owner = nullptr;
    thread_recorder* own = nullptr;

    void come() const noexcept {
      // In a forked child the mutex may be held by a thread that does not exist there.
      if (owner == nullptr || in_forked_child()) return;
      own->note_end();
      std::uint32_t const open = own->cut();
      own->abandon();
      if (range_steps* const ranges = owner->stepping_.ranges.load()) ranges->leave(*owner, own);
      auto* const leave = owner->stepping_.leave.load();
      if (leave != nullptr && thread_id() != process_id()) leave(own);
      thread_recorder::current() = nullptr;
      own_lock const lock(owner->mutex_);
      owner->left_open_ += open;
      own->leave();
      owner->free_.push_back(own);
    }
  };

  static thread_end& end_of_thread() noexcept {
    static thread_local thread_end here;
    return here;
  }
  /// The end of this thread is awaited by a key: a destructor of a thread_local object would be
  /// known to the C library by a call that takes the lock of the dynamic loader, in the thread's
  /// first range. The main thread has one all the same, since keys say nothing of its end by exit,
  /// and comes here before the functions of atexit.
  void await_end() noexcept {
    static pthread_key_t key{};
    static bool const has_key =
        pthread_key_create(&key, [](void* end) { static_cast<thread_end*>(end)->come(); }) == 0;
    if (thread_id() != process_id() && has_key && pthread_setspecific(key, &end_of_thread()) == 0)
      return;
    struct at_exit {
      ~at_exit() { end_of_thread().come(); }
    };
    static thread_local at_exit guard;
    (void)guard;
  }

  STRATA_DETAIL_COLD thread_recorder* adopt_thread() noexcept {
    if (own_lock::locks()) {
      block().interrupting_ranges.fetch_add(1, memory_order_relaxed);
      return nullptr;
    }
    // The thread is ending, or a signal handler was here first.
    if (end_of_thread().owner != nullptr) return thread_recorder::current();
    thread_recorder* const made = find_recorder();
    if (made != nullptr) await_end();
    return made;
  }
  thread_recorder* find_recorder() noexcept {
    own_lock const lock(mutex_);
    // A signal handler was here between the question and the lock.
    if (end_of_thread().owner != nullptr) return thread_recorder::current();
    thread_recorder* own = nullptr;
    if (!known_threads_.make_room()) {
      lose();
      return nullptr;
    }
    if (!free_.empty()) {
      own = free_.back();
      free_.pop_back();
    } else {
      // Each thread that ends needs a place among the free ones.
      bool const has_room = threads_.make_room(1) && free_.make_room(threads_.size() + 1);
      own = has_room ? new (std::nothrow) thread_recorder(state_) : nullptr;
      if (own == nullptr) {
        lose();
        return nullptr;
      }
      threads_.push_back(own);
    }
    own->adopt(known_threads_.add(thread_id()), thread_id());
    end_of_thread() = {this, own};
    thread_recorder::current() = own;
    return own;
  }

  void lose() noexcept { state_.unrecorded.fetch_add(1, memory_order_relaxed); }

  STRATA_DETAIL_END_CODE

  STRATA_DETAIL_COLD static thread_recorder* first_of_this_thread() noexcept {
    return instance().of_this_thread();
  }
  static range_token on_begin(name_cache* cached, char const* name, std::size_t length,
                              std::int64_t index, range_attributes const* attributes,
                              bool pushed) noexcept {
    thread_recorder* own = thread_recorder::current();
    if (STRATA_DETAIL_UNLIKELY(own == nullptr)) {
      own = first_of_this_thread();
      if (own == nullptr) {
        if (!own_lock::locks() && end_of_thread().owner != nullptr) say_late();
        return {};
      }
    }
    return own->begin(cached, std::string_view(name, length), index, attributes, pushed);
  }

  /// With `step=`: a range of that name begins a step before it begins itself.
  static range_token on_begin_of_step(name_cache* cached, char const* name, std::size_t length,
                                      std::int64_t index, range_attributes const* attributes,
                                      bool pushed) noexcept {
    recorder& all = instance();
    range_steps& ranges = *all.stepping_.ranges.load();
    thread_recorder* const own = all.of_this_thread();
    bool const steps = ranges.begin(all, own, {name, length});
    if (steps && own != nullptr) own->enter_step();
    range_token const made = on_begin(cached, name, length, index, attributes, pushed);
    if (steps) ranges.begun(all, made, own, &on_end_of_step);
    return made;
  }
  /// The end of a range of the thread that drives such steps.
  static void on_end_of_step(range_token range) noexcept {
    recorder& all = instance();
    auto& own = static_cast<thread_recorder&>(*range.owner);
    thread_recorder::end_range(range);
    if (thread_recorder::current() != &own) return;
    range_steps& ranges = *all.stepping_.ranges.load();
    if (ranges.drives(&own)) return ranges.end(all, own);
    own.end_by(&thread_recorder::end_range);
  }
  static void on_pop_of_step() noexcept {
    on_pop();
    recorder& all = instance();
    thread_recorder* const own = thread_recorder::current();
    range_steps& ranges = *all.stepping_.ranges.load();
    if (ranges.drives(own)) ranges.end(all, *own);
  }
  static bool unused_step_begin() noexcept {
    atomic<bool>& unused = instance().stepping_.unused;
    if (!unused.load(memory_order_relaxed)) unused.store(true, memory_order_relaxed);
    return false;
  }

  static void on_pop() noexcept {
    if (thread_recorder* const own = instance().of_this_thread()) own->pop();
  }
  static bool on_step_begin() noexcept {
    if (!instance().begin_step()) return false;
    if (thread_recorder* const own = thread_recorder::current()) own->enter_step();
    return true;
  }
  static void on_step_end() noexcept {
    recorder& all = instance();
    thread_recorder* const own = thread_recorder::current();
    if (own != nullptr && all.stepping_.thread.load(memory_order_relaxed) == thread_id())
      own->leave_step();
    all.end_step();
  }
  static std::uint32_t on_current() noexcept {
    thread_recorder* const own = thread_recorder::current();
    return own == nullptr ? 0 : instance().state_.nodes.handle(own->node());
  }
  static range_token on_inherit(std::uint32_t handle) noexcept {
    thread_recorder* const own = instance().of_this_thread();
    std::uint32_t const node = instance().state_.nodes.node_of(handle, root_node);
    return own == nullptr ? range_token{} : own->inherit(node);
  }

  static bool on_listens() noexcept {
    recorder_state const& state = instance().state_;
    thread_recorder const* const own = thread_recorder::current();
    return state.session.load(memory_order_relaxed) != 0 ||
           state.warming.load(memory_order_relaxed) ||
           state.forward_begin.load(memory_order_relaxed) != nullptr ||
           (own != nullptr && own->is_observed());
  }

  struct waiting {
    atomic<bool> on{false};
    atomic<bool> begins{false};             // now, in some thread
    event what;                             // guarded by step_mutex_, but for has_come
    atomic<listener const*> next{nullptr};  // that follows
  };
  void install(listener const& chosen) noexcept {
    process_block& ours = block();
    spin_lock const lock(ours.mutex);
    waiting_.next.store(&chosen);
    store_listener(ours, waiting_.on.load() ? &waiting_listener : &chosen);
  }
  bool ranges_are_steps() const noexcept {
    listener const* const active = active_listener();
    listener const* const next = active == &waiting_listener ? waiting_.next.load() : active;
    return next == &range_step_listener;
  }
  /// Requires: step_mutex_.
  void end_waiting() noexcept {
    waiting_.on.store(false);
    process_block& ours = block();
    spin_lock const lock(ours.mutex);
    if (ours.installed == &waiting_listener) store_listener(ours, waiting_.next.load());
  }

  /// What the session waits for begins in another thread: a range or step waits for that, once in
  /// vain, since that thread may need the lock of the dynamic loader, which this one may have.
  /// Returns: false where it still begins.
  STRATA_DETAIL_COLD bool await_beginning() noexcept {
    static thread_local bool in_vain = false;
    if (in_vain || step_turn::is_here() || locks_of_this_thread() != 0) return false;
    deadline patience(std::int64_t{longest_ms} * 1'000'000);
    for (unsigned turn = 0; waiting_.begins.load(); ++turn) {
      in_vain = !patience.lasts();
      if (in_vain) return false;
      wait_a_turn(turn);
    }
    return true;
  }
  /// While the session waits: what follows.
  static listener const& next_listener() noexcept {
    recorder& all = instance();
    if (STRATA_DETAIL_UNLIKELY(all.waiting_.begins.load())) (void)all.await_beginning();
    return *all.waiting_.next.load();
  }
  static range_token waiting_begin(name_cache* cached, char const* name, std::size_t length,
                                   std::int64_t index, range_attributes const* attributes,
                                   bool pushed) noexcept {
    return next_listener().begin(cached, name, length, index, attributes, pushed);
  }
  static void waiting_pop() noexcept { instance().waiting_.next.load()->pop(); }
  /// A step takes the lock over which that begins: one that waited in vain is left out.
  static bool waiting_step_begin() noexcept {
    recorder& all = instance();
    if (!all.waiting_.begins.load() || all.await_beginning())
      return all.waiting_.next.load()->step_begin();
    all.leave_out_step();
    return false;
  }
  static void waiting_step_end() noexcept { instance().waiting_.next.load()->step_end(); }
  static constexpr listener waiting_listener{&waiting_begin,    &waiting_pop, &waiting_step_begin,
                                             &waiting_step_end, &on_current,  &on_inherit,
                                             &on_listens};

  static constexpr listener recording_listener{
      &on_begin, &on_pop, &on_step_begin, &on_step_end, &on_current, &on_inherit, &on_listens};
  /// With `step=`, which makes STRATA_STEP() no step.
  static constexpr listener range_step_listener{
      &on_begin_of_step, &on_pop_of_step, []() noexcept { return false; },
      []() noexcept {},  &on_current,     &on_inherit,
      &on_listens};

  /// With steps that are calls into the driver; STRATA_STEP() is no step then.
  static constexpr listener call_step_listener{&on_begin,        &on_pop,     &unused_step_begin,
                                               []() noexcept {}, &on_current, &on_inherit,
                                               &on_listens};

  recorder_state state_;
  system_mutex mutex_;
  vec<thread_recorder*> threads_;
  vec<thread_recorder*> free_;
  known_threads known_threads_;
  step_log steps_;
  atomic<bool> owned_{false};
  atomic<std::int64_t> kept_bytes_{0};
  atomic<std::uint32_t> session_{0};
  system_mutex step_mutex_{held_over::calls};  // held while hooks run; taken before mutex_
  system_mutex turn_mutex_{held_over::calls};  // taken after step_mutex_: see step_turn
  stepping stepping_;
  /// Ticks with CLOCK_MONOTONIC, which does not advance while the machine is suspended.
  struct moment : clock_sample {
    moment() = default;
    moment(tick_source const& clock) noexcept
        : clock_sample(sample_clock(clock, kernel_ns)), suspended(suspended_ns()) {}

    std::int64_t suspended = 0;
  };
  waiting waiting_;
  /// When the session began and ended, and when it recorded.
  struct session_time {
    moment first;
    moment last;
    recorded_periods periods;
    std::int64_t recorded_ns = 0;
    std::int64_t began_at = 0;

    void begin(tick_source const& clock) noexcept {
      first = {clock};
      began_at = first.other + realtime_origin_ns();
    }
  } time_;

  std::int64_t suspended_until(moment const& last) const noexcept {
    constexpr std::int64_t least = 10'000'000;
    std::int64_t const suspended = last.suspended - time_.first.suspended;
    return suspended < least ? 0 : suspended;
  }
  /// The rate now shows whether the counter advances while the machine is suspended.
  tick_converter converter_until(moment last) const noexcept {
    tick_converter const without(time_.first, last);
    std::int64_t const suspended = suspended_until(last);
    if (suspended == 0) return without;
    last.other += suspended;
    tick_converter const with(time_.first, last);
    clock_sample const before = sample_clock(state_.clock, kernel_ns);
    unsigned turn = 0;
    for (deadline pause(2'000'000); pause.lasts(); ++turn) wait_a_turn(turn);
    double const rate = tick_converter(before, sample_clock(state_.clock, kernel_ns)).ns_per_tick();
    bool const goes_on = with.ns_per_tick() - rate < rate - without.ns_per_tick();
    return goes_on ? with : without;
  }
  std::uint64_t left_open_ = 0;
  /// In earlier sessions.
  struct refusals {
    std::uint64_t names = 0;
    node_table::refusals nodes;
  } refused_before_;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_HOST_RECORDER_HPP
