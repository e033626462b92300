#include <strata/version.hpp>
#ifndef STRATA_COLLECT_HOST_RECORDER_HPP
#define STRATA_COLLECT_HOST_RECORDER_HPP

#include <strata/annotate/process.hpp>
#include <strata/base/clock.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/threads.hpp>
#include <strata/base/vec.hpp>
#include <strata/collect/host/range_steps.hpp>
#include <strata/collect/host/record_log.hpp>
#include <strata/collect/host/recorder_state.hpp>
#include <strata/collect/host/thread_recorder.hpp>
#include <strata/profile.hpp>
#include <strata/profile/records.hpp>

#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>

#if defined(__linux__)
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

STRATA_BEGIN

namespace detail {

/// Records the ranges of all threads until a session copies them into a profile. There is one in a
/// process; it is made when first needed and never destroyed, since ranges may end at any time.
class recorder {
 public:
  /// What the session does at the ends of a step.
  struct step_hooks {
    void (*begin)(void* context, std::uint32_t step) noexcept = nullptr;
    void (*end)(void* context, std::uint32_t step) noexcept = nullptr;
    void* context = nullptr;
  };

  /// Threads of a session that have a number of their own.
  static constexpr std::size_t most_threads = 65'536;
  /// Steps that are kept one by one; the others are kept in sums.
  static constexpr std::size_t most_steps = 1'000'000;
  /// Ranges that left the logs and wait to be streamed.
  static constexpr std::int64_t most_overdue_bytes = std::int64_t{24} << 20;
  /// Steps that wait to be streamed.
  static constexpr std::size_t most_fresh_steps = 65'536;

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
    steps_begun_.store(0, memory_order_relaxed);
    steps_elsewhere_.store(0, memory_order_relaxed);
    state_.step.store(no_step, memory_order_relaxed);
    state_.of_steps.store(nullptr, memory_order_relaxed);
    return forget_records(log_bytes);
  }

  /// Between two windows of a session: what was recorded is forgotten, and the logs start anew
  /// under another number. Steps go on being counted. Requires: nothing is recorded now.
  void begin_anew(std::int64_t log_bytes) noexcept {
    own_lock const lock(mutex_);
    (void)forget_records(log_bytes);
  }

  /// The times of what is recorded from now on count from now.
  void begin_clock() noexcept {
    own_lock const lock(mutex_);
    first_ = sample_clock(state_.clock, monotonic_ns);
  }
  /// What was recorded is copied next; the session goes on.
  void end_clock() noexcept {
    own_lock const lock(mutex_);
    last_ = sample_clock(state_.clock, monotonic_ns);
  }

  /// From now on ranges come here, and steps are counted: the calls of the ranges that are named,
  /// else those of STRATA_STEP().
  void listen(step_hooks hooks, std::string_view step_range = {}) noexcept {
    count_steps(hooks);
    install_listener(choose_step_ranges(step_range) ? &range_step_listener : &recording_listener);
  }
  /// The same, and the steps are not the program's: who finds them calls `begin_step` and
  /// `end_step`, and learns by `leave` that a thread ends, but the main one.
  void listen(step_hooks hooks, void (*leave)(thread_recorder const* own) noexcept) noexcept {
    stepping_.leave.store(leave);
    count_steps(hooks);
    install_listener(&call_step_listener);
  }

  /// Whether ranges that begin from now on are recorded.
  /// Returns: false where they should be, and there is no memory to say from when on.
  bool record(bool on) noexcept {
    if (on == recording()) return true;
    if (on && !periods_.begin(state_.clock.now())) {
      lose();
      return false;
    }
    recorded_ns_ += on ? -monotonic_ns() : monotonic_ns();
    if (!on) periods_.end(state_.clock.now());
    state_.session.store(on ? session() : 0, memory_order_release);
    return true;
  }

  STRATA_DETAIL_END_CODE

  bool recording() const noexcept { return state_.session.load(memory_order_relaxed) != 0; }
  std::uint32_t session() const noexcept { return session_.load(memory_order_relaxed); }
  /// When this session recorded. Requires: it does not now.
  recorded_periods const& periods() const noexcept { return periods_; }
  /// For how long this session has recorded. Requires: it does not now.
  std::int64_t recorded_ns() const noexcept { return recorded_ns_; }

  STRATA_DETAIL_COLD_CODE

  bool logs_are_whole() const noexcept { return !state_.budget.exhausted(); }
  /// Steps of the session that were recorded.
  std::size_t steps_recorded() {
    own_lock const lock(mutex_);
    return steps_.size() + static_cast<std::size_t>(folded_steps_.count());
  }
  /// Hands every range of the session so far to `ranges`, every call into the driver to `launches`.
  template <class Ranges, class Launches>
  void each_record(Ranges ranges, Launches launches) {
    own_lock const lock(mutex_);
    for (thread_recorder* const t : threads_) t->each_range(session_, ranges);
    state_.launches.each_call([&](launch_record const& launch) { launches(launch); });
  }

  /// From now on, or no more, steps are kept for `stream`, and ranges that leave the full logs.
  void set_streaming(bool on) noexcept {
    own_lock const lock(mutex_);
    state_.stream_budget.set(on ? most_overdue_bytes : 0);
    state_.stream_dropped.store(0, memory_order_relaxed);
    state_.streaming.store(on, memory_order_relaxed);
    fresh_steps_ = {};
  }
  /// Threads: one, while the program goes on. Hands out what was recorded until then and not
  /// taken before: `range(record, attribute or null)`.
  template <class Steps, class Ranges>
  void stream(std::int64_t until, Steps steps, Ranges range) {
    own_lock const lock(mutex_);
    std::size_t const ended =
        fresh_steps_.count_first([until](step_record const& step) { return step.end <= until; });
    for (std::size_t i = 0; i < ended; ++i) steps(fresh_steps_[i]);
    fresh_steps_.erase(fresh_steps_.begin(), fresh_steps_.begin() + ended);
    for (thread_recorder* const t : threads_) t->stream(session(), until, range);
  }
  /// When the session began, in ticks.
  std::int64_t begun() const noexcept { return first_.ticks; }
  /// Hands the recorder of each thread that lives to `sink`. Threads: any.
  template <class Sink>
  void each_thread(Sink sink) {
    own_lock const lock(mutex_);
    for (thread_recorder const* const t : threads_)
      if (t->owned()) sink(*t);
  }
  /// The threads so far.
  vec<profile_thread> threads() {
    own_lock const lock(mutex_);
    return profile_threads_;
  }

  atomic<bool>& owned() noexcept { return owned_; }  // by a session; they take it by turns
  /// When the session ended (or now), in ns since it began.
  std::int64_t ended_ns(tick_converter const& ticks) const noexcept {
    return ticks.to_ns(last_.ticks);
  }

  /// Ends the session: the calling thread's open ranges are recorded until now, those of other
  /// threads are counted. Returns: whether no hook of a step runs any more; one that waits for a
  /// device may not come back in so many ms.
  bool end_session(std::uint32_t patience_ms) noexcept {
    bool const alone = lock_within(step_mutex_, patience_ms);
    if (alone) {
      stepping_.hooks = {};
      stepping_.on = false;
      step_thread_.store(0, memory_order_relaxed);
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
    last_ = sample_clock(state_.clock, monotonic_ns);
    return alone;
  }

  /// Where memory has ended, the logs make room for the report: it has their sums, and the first
  /// steps. Requires: nothing is recorded.
  void make_room_for_report() noexcept {
    constexpr std::size_t first = 1024;
    own_lock const lock(mutex_);
    if (!state_.budget.ended()) return;
    for (thread_recorder* const t : threads_) t->fold_all(session());
    vec<step_record> kept;
    if (steps_.size() <= first || !kept.make_room(first)) return;
    while (steps_.size() > first) {
      std::int64_t const duration = steps_.back().end - steps_.back().begin;
      if (!folded_steps_.make_room(duration)) return;
      folded_steps_.add(duration);
      steps_.pop_back();
    }
    for (step_record const& step : steps_) kept.push_back(step);
    steps_.swap(kept);
  }

  /// Hands over everything that this session recorded, in ticks; `converter()` makes ns of them.
  /// Nothing stays here, and the memory of each piece is free when the next one is handed over.
  /// Requires: once, while nothing is recorded, and after device work was joined to its calls.
  void move_to(profile& to) {
    own_lock const lock(mutex_);
    to.cost.log_bytes = static_cast<std::uint64_t>(state_.budget.used()) +
                        state_.launches.bytes_beyond_budget() + state_.names.bytes();
    for (thread_recorder* const t : threads_) t->move_to(to, session());
    state_.launches.drain([&to](launch_record launch, bool worked, bool kept) {
      if (launch.is_left_out()) return;
      if (worked) launch.flags &= launch_record::adopted;
      if (kept) to.launches.push_back(launch);
    });
    state_.spans.move_to(to);
    to.steps = steps_;
    to.folded_steps = folded_steps_;
    to.losses.steps_folded = folded_steps_.count();
    to.has_steps = steps_begun() != 0;
    to.threads = threads_in(to);
    to.names = state_.names.texts();
    state_.nodes.each_from(0, [&to](node_table::node const& n) {
      to.nodes.push_back({n.parent, n.name, n.index, n.depth, true});
    });
    node_table::refusals const refused = state_.nodes.refused();
    to.losses.nodes_refused = refused.nodes - nodes_refused_before_.nodes;
    to.losses.indices_refused = refused.indices - nodes_refused_before_.indices;
    to.losses.ranges_too_deep = refused.depth - nodes_refused_before_.depth +
                                state_.too_many_open.load(memory_order_relaxed);
    to.losses.names_refused = state_.names.refused() - names_refused_before_;
    to.losses.ranges_left_open = left_open_;
    to.losses.ranges_ended_elsewhere = state_.ended_elsewhere.load(memory_order_relaxed);
    to.losses.pops_without_push = state_.pops_without_push.load(memory_order_relaxed);
    to.losses.threads_merged = threads_merged_;
    to.losses.unrecorded = state_.unrecorded.load(memory_order_relaxed);
  }

  /// From ticks to ns since the session began; exact to the rate between its begin and now (or its
  /// end).
  tick_converter converter() noexcept {
    clock_sample last = recording() || last_.ticks <= first_.ticks
                            ? sample_clock(state_.clock, monotonic_ns)
                            : last_;
    while (last.other - first_.other < 2'000'000) last = sample_clock(state_.clock, monotonic_ns);
    return {first_, last};
  }

  STRATA_DETAIL_END_CODE

  /// The recorder of this thread, made on its first range; null beyond the limit of threads.
  thread_recorder* of_this_thread() noexcept {
    thread_recorder* const known = thread_recorder::current();
    return known != nullptr ? known : adopt_thread();
  }

  STRATA_DETAIL_COLD_CODE

  bool begin_step() noexcept {
    if (locks_of_this_thread() != 0) {  // a signal handler's
      block().interrupting_ranges.fetch_add(1, memory_order_relaxed);
      return false;
    }
    std::uint64_t const self = thread_id();
    std::uint64_t nobody = 0;
    if (!step_thread_.compare_exchange_strong(nobody, self, memory_order_acq_rel)) {
      if (nobody != self) leave_out_step();
      return false;
    }
    system_lock lock(step_mutex_);
    if (!stepping_.on) {
      std::uint64_t expected = self;
      step_thread_.compare_exchange_strong(expected, 0, memory_order_acq_rel);
      return false;
    }
    std::uint32_t const step = steps_begun_.fetch_add(1, memory_order_relaxed);
    open_step_.worker = 0;
    if (thread_recorder* const own = of_this_thread()) {
      own->drive_steps();
      open_step_.worker = own->ordinal();
    }
    if (stepping_.hooks.begin != nullptr) stepping_.hooks.begin(stepping_.hooks.context, step);
    state_.step.store(step, memory_order_relaxed);
    open_step_.begin = state_.clock.now();
    return true;
  }

  /// Makes the open step this thread's, whichever thread began it, so that `end_step` ends it.
  /// `worked`: this thread launched its work, so that its record has this thread.
  void take_step(bool worked) noexcept {
    std::uint64_t const self = thread_id();
    if (step_thread_.load(memory_order_relaxed) == self) return;
    thread_recorder const* const own = of_this_thread();
    system_lock lock(step_mutex_);
    if (step_thread_.load(memory_order_relaxed) == 0) return;
    step_thread_.store(self, memory_order_relaxed);
    if (worked && own != nullptr) open_step_.worker = own->ordinal();
  }

  /// Ends the step of this thread; a step that its session did not outlive is no more.
  void end_step() noexcept {
    std::int64_t const now = state_.clock.now();
    std::uint64_t const self = thread_id();
    if (step_thread_.load(memory_order_relaxed) != self) return;
    system_lock lock(step_mutex_);
    if (!stepping_.on || step_thread_.load(memory_order_relaxed) != self) return;
    std::uint32_t const step = state_.step.exchange(no_step, memory_order_relaxed);
    if (recording()) {
      own_lock const adding(mutex_);
      step_record const ended{open_step_.begin, now, step, open_step_.worker};
      if (steps_.size() < most_kept_steps_ && steps_.make_room(1)) {
        steps_.push_back(ended);
        state_.budget.charge(sizeof ended);
      } else if (folded_steps_.make_room(now - open_step_.begin)) {
        folded_steps_.add(now - open_step_.begin);
      } else {
        lose();
      }
      if (steps_.size() < most_kept_steps_ && folded_steps_.count() != 0)
        most_kept_steps_ = steps_.size();  // no memory: it is not asked for again
      if (state_.streaming.load(memory_order_relaxed)) {
        if (fresh_steps_.size() < most_fresh_steps && fresh_steps_.make_room(1)) {
          fresh_steps_.push_back(ended);
        } else {
          state_.stream_dropped.fetch_add(1, memory_order_relaxed);
        }
      }
    }
    if (stepping_.hooks.end != nullptr) stepping_.hooks.end(stepping_.hooks.context, step);
    step_thread_.store(0, memory_order_release);
  }

  STRATA_DETAIL_END_CODE

  /// A step begins that is none: another thread drives the steps.
  void leave_out_step() noexcept { steps_elsewhere_.fetch_add(1, memory_order_relaxed); }
  /// Steps that were left out since the last call.
  std::uint64_t take_steps_elsewhere() noexcept {
    return steps_elsewhere_.exchange(0, memory_order_relaxed);
  }
  std::uint32_t steps_begun() const noexcept { return steps_begun_.load(memory_order_relaxed); }

  static std::uint64_t thread_id() noexcept {
#if defined(__linux__)
    return static_cast<std::uint64_t>(syscall(SYS_gettid));
#else
    static atomic<std::uint64_t> next{1};
    static thread_local std::uint64_t const id = next.fetch_add(1);
    return id;
#endif
  }

 private:
  /// Holds the recorder's mutex. A signal handler's range would wait for its own thread.
  class own_lock {
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
    own_lock(own_lock const&) = delete;
    own_lock& operator=(own_lock const&) = delete;

    /// Whether the calling thread holds the mutex, or is about to.
    static bool volatile& locks() noexcept {
      static thread_local bool volatile own = false;
      return own;
    }

   private:
    system_mutex* which_;
  };

  /// Whether steps are counted, which ones, and by whom.
  struct stepping {
    step_hooks hooks;
    bool on = false;
    atomic<range_steps*> ranges{nullptr};  // of the last session with `step=`
    atomic<void (*)(thread_recorder const* own) noexcept> leave{nullptr};
  };

  recorder() = default;

  void count_steps(step_hooks hooks) noexcept {
    system_lock lock(step_mutex_);
    stepping_.hooks = hooks;
    stepping_.on = true;
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
    state_.budget.set(log_bytes);
    state_.names.limit_bytes(static_cast<std::size_t>(log_bytes) / 4);
    std::uint32_t const number = session_.fetch_add(1) + 1;
    state_.forgotten.store(number - 1, memory_order_relaxed);
    steps_.clear();
    most_kept_steps_ = most_steps;
    periods_.clear();
    state_.launches.clear();
    folded_steps_ = {};
    state_.ended_elsewhere.store(0, memory_order_relaxed);
    state_.pops_without_push.store(0, memory_order_relaxed);
    state_.too_many_open.store(0, memory_order_relaxed);
    state_.unrecorded.store(0, memory_order_relaxed);
    state_.nodes.begin_session();
    names_refused_before_ = state_.names.refused();
    nodes_refused_before_ = state_.nodes.refused();
    threads_merged_ = 0;
    left_open_ = 0;
    recorded_ns_ = 0;
    state_.spans.clear();
    for (thread_recorder* const t : free_) t->forget();
    keep_living_threads();
    first_ = sample_clock(state_.clock, monotonic_ns);
    return number;
  }

  static recorder& of_process() {
    return *static_cast<recorder*>(
        shared_object(process_object::recorder, []() -> void* { return new recorder; }));
  }

  /// Gives the thread's recorder back when the thread ends; its records stay. The main thread comes
  /// here before the functions of atexit.
  struct thread_end {
    recorder* owner = nullptr;
    thread_recorder* own = nullptr;
    ~thread_end() {
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
    static thread_local thread_end guard;
    return guard;
  }

  /// The threads that ended before this session are no part of it.
  void keep_living_threads() noexcept {
    vec<bool> lives;
    if (!lives.make_room(next_ordinal_)) return;  // they have no records
    lives.resize(next_ordinal_, false);
    next_ordinal_ = 0;
    for (thread_recorder* const t : threads_) {
      if (!t->owned()) continue;
      lives[t->ordinal()] = true;
      next_ordinal_ = larger(next_ordinal_, t->ordinal() + 1);
    }
    profile_threads_.keep_if([&](profile_thread const& t) { return lives[t.ordinal]; });
  }

  /// The threads that have a part in a profile.
  vec<profile_thread> threads_in(profile const& data) const {
    vec<bool> has_part(next_ordinal_, false);
    auto const mark = [&](auto const& records) {
      for (auto const& r : records) {
        if (r.thread < has_part.size()) has_part[r.thread] = true;
      }
    };
    mark(data.ranges);
    mark(data.steps);
    mark(data.launches);
    mark(data.spans);
    for (span_record const& s : data.spans) {
      if (s.end_thread < has_part.size()) has_part[s.end_thread] = true;
    }
    vec<profile_thread> found;
    for (profile_thread const& t : profile_threads_) {
      if (has_part[t.ordinal]) found.push_back(t);
    }
    return found;
  }

  /// The calling thread's number. Beyond the limit all threads have one number.
  std::uint32_t add_thread() {
    if (profile_threads_.size() > most_threads) {
      ++threads_merged_;
      return profile_threads_.back().ordinal;
    }
    profile_thread thread;
    thread.ordinal = next_ordinal_++;
    if (profile_threads_.size() == most_threads) {
      ++threads_merged_;
      thread.name = "[other threads]";
    } else {
      thread.os_id = thread_id();
#if defined(__linux__)
      char name[32] = {};
      if (pthread_getname_np(pthread_self(), name, sizeof name) == 0) thread.name = name;
#endif
    }
    profile_threads_.push_back(thread);
    return thread.ordinal;
  }

  STRATA_DETAIL_COLD thread_recorder* adopt_thread() noexcept {
    if (own_lock::locks()) {
      block().interrupting_ranges.fetch_add(1, memory_order_relaxed);
      return nullptr;
    }
    own_lock const lock(mutex_);
    thread_end& guard = end_of_thread();
    // The thread is ending, or a signal handler was here first.
    if (guard.owner != nullptr) return thread_recorder::current();
    thread_recorder* own = nullptr;
    if (!profile_threads_.make_room(1)) {
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
    own->adopt(add_thread(), thread_id());
    guard.owner = this;
    guard.own = own;
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
  static bool no_step_begin() noexcept { return false; }

  static void on_pop() noexcept {
    if (thread_recorder* const own = instance().of_this_thread()) own->pop();
  }
  static bool on_step_begin() noexcept { return instance().begin_step(); }
  static void on_step_end() noexcept { instance().end_step(); }
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

  static constexpr listener recording_listener{
      &on_begin, &on_pop, &on_step_begin, &on_step_end, &on_current, &on_inherit, &on_listens};
  /// With `step=`, beside which STRATA_STEP() is none.
  static constexpr listener range_step_listener{&on_begin_of_step, &on_pop_of_step, &no_step_begin,
                                                []() noexcept {},  &on_current,     &on_inherit,
                                                &on_listens};

  /// With steps that are calls into the driver, beside which STRATA_STEP() is none.
  static constexpr listener call_step_listener{
      &on_begin, &on_pop, &no_step_begin, []() noexcept {}, &on_current, &on_inherit, &on_listens};

  recorder_state state_;
  system_mutex mutex_;
  vec<thread_recorder*> threads_;
  vec<thread_recorder*> free_;
  vec<profile_thread> profile_threads_;
  std::uint32_t next_ordinal_ = 0;
  vec<step_record> steps_;
  std::size_t most_kept_steps_ = most_steps;
  vec<step_record> fresh_steps_;      // not streamed yet
  duration_statistics folded_steps_;  // beyond most_steps
  atomic<bool> owned_{false};
  atomic<std::uint32_t> session_{0};
  system_mutex step_mutex_{held_over::calls};  // held while hooks run; taken before mutex_
  stepping stepping_;
  atomic<std::uint32_t> steps_begun_{0};
  atomic<std::uint64_t> step_thread_{0};
  atomic<std::uint64_t> steps_elsewhere_{0};
  struct open_step {
    std::int64_t begin = 0;
    std::uint32_t worker = 0;  // the ordinal of the thread that has the step's work
  } open_step_;
  clock_sample first_;
  clock_sample last_;
  recorded_periods periods_;
  std::int64_t recorded_ns_ = 0;
  std::uint64_t left_open_ = 0;
  std::uint64_t threads_merged_ = 0;
  std::uint64_t names_refused_before_ = 0;
  node_table::refusals nodes_refused_before_;
};

}  // namespace detail

STRATA_END

#endif  // STRATA_COLLECT_HOST_RECORDER_HPP
