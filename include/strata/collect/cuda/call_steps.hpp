#ifndef STRATA_COLLECT_CUDA_CALL_STEPS_HPP
#define STRATA_COLLECT_CUDA_CALL_STEPS_HPP

#include <strata/collect/cuda/contexts.hpp>
#include <strata/collect/cuda/cupti_library.hpp>
#include <strata/collect/host/period_finder.hpp>
#include <strata/collect/host/recorder.hpp>

STRATA_BEGIN
namespace detail {

/// Which calls into the driver are steps: launches of a graph, or periods of launches and waits.
enum class step_calls : unsigned char { none, graph, sync, automatic };

constexpr step_calls step_calls_of(std::string_view wish) noexcept {
  if (wish == "graph") return step_calls::graph;
  if (wish == "sync") return step_calls::sync;
  return wish == "auto" ? step_calls::automatic : step_calls::none;
}

/// The CUDA graph that a thread launches most, chosen while it launches: the first executable that
/// was launched `fewest` times. Each of its launches begins a step. Where several are launched
/// once in a step, any of them will do. Another one takes its place when it was launched `fewest`
/// times without the chosen one between: a program makes graphs anew, and has one for each batch
/// size. Threads: one at a time. Cost: some ns a launch of a graph.
class graph_choice {
 public:
  static constexpr std::uint32_t fewest = 8;

  /// An executable graph is about to be launched. Returns: `next` where that begins a step.
  STRATA_DETAIL_HOT_CODE
  step_change launch(std::uint64_t graph) noexcept {
    if (graph == graph_ && chosen_ != 0) {
      ++round_;
      return step_change::next;
    }
    candidate& one = candidates_[(graph ^ graph >> 6 ^ graph >> 12) % most];
    if (one.graph != graph || one.round != round_) {
      bool const is_free = one.round != round_ || one.launches == 0;
      if (!is_free && ++one.others < fewest) return step_change::none;
      one = {};
      one.graph = graph;
      one.round = round_;
    }
    if (++one.launches < fewest) return step_change::none;
    graph_ = graph;
    ++chosen_;
    ++round_;
    return step_change::next;
  }
  STRATA_DETAIL_END_CODE

  /// How many were chosen, one after the other.
  std::uint32_t chosen() const noexcept { return chosen_; }

 private:
  static constexpr std::size_t most = 64;

  struct candidate {
    std::uint64_t graph = 0;
    std::uint64_t round = 0;
    std::uint32_t launches = 0;  // in this round
    std::uint32_t others = 0;    // that have the same place
  };

  std::uint64_t graph_ = 0;
  std::uint64_t round_ = 1;  // a new one with each launch of the chosen one
  std::uint32_t chosen_ = 0;
  candidate candidates_[most];
};

/// What calls said of the steps of a session.
struct call_steps_seen {
  std::uint64_t launches = 0;  // of the threads that drove them; with step=graph, of graphs
  std::uint64_t in_steps = 0;  // of them; with step=graph, those of the graph that was chosen
  std::uint64_t steps = 0;
  std::uint32_t found = 0;  // periods or graphs, one after the other
  bool ends_with_wait = false;
};

/// How long a session waits for its first step: in launches, as long as one may begin. Threads:
/// any.
class step_patience {
 public:
  /// Chosen: six times the 16,384 that the steps of the most uneven loop need to be found, and at
  /// some 200 bytes and 1 us a launch 20 MB and 0.1 s.
  static constexpr std::uint32_t max_launches = 100'000;

  bool lasts() const noexcept { return left_.load(memory_order_relaxed) != 0; }
  /// A step begins, or the logs have no more room.
  void end() noexcept { left_.store(0, memory_order_relaxed); }
  /// Another launch. Returns: whether it was the last.
  bool ends_with_launch() noexcept {
    std::uint32_t left = left_.load(memory_order_relaxed);
    return left != 0 && left_.compare_exchange_strong(left, left - 1) && left == 1;
  }
  /// The session cannot end the beginning yet, as work has not arrived.
  void prolong() noexcept { left_.store(100, memory_order_relaxed); }

 private:
  atomic<std::uint32_t> left_{max_launches};
};

/// `step=graph`, `step=sync`, `step=auto`: begins and ends steps at calls of the program into the
/// driver. The calls of a thread are looked at by themselves, and where there are several threads,
/// first as one stream, whose steps they may launch in turns. The stream drives the steps while its
/// periods outlast the turns; else the first thread in which steps are found, until they are lost,
/// it ends, or stands still. A call that comes while another one is looked at waits for nothing:
/// it is not part of the stream, and threads that launch at the same time are looked at by
/// themselves alone for a while.
///
/// A step changes within CUPTI's callback, before a launch begins or after a wait has ended, where
/// the driver may be called; never while a stream captures. Each session has its own, as calls may
/// still be under way when the next one begins; `before` keeps them. Threads: any. Cost: that of
/// period_finder and some 5 ns a call; with several threads that of shared_period and 10 ns more.
/// Nothing is waited for, and nothing allocated but the recorder's of a new thread.
class call_steps {
 public:
  /// Threads whose launches are followed; calls of others are left out.
  static constexpr std::size_t max_threads = 64;
  /// Threads that may have steps of their own.
  static constexpr std::size_t max_loops = 8;

  call_steps(step_calls wanted, call_steps const* before) noexcept
      : before_(before), wanted_(wanted) {
    for (loop& found : loops_) found.periods = period_finder(marks_of(wanted));
  }

  /// The calls that are followed, with step=graph and otherwise.
  static bool is_graph(cupti::step_call call) noexcept {
    return call == cupti::step_call::graph_launch;
  }
  static bool is_any(cupti::step_call call) noexcept { return call != cupti::step_call::none; }

  STRATA_DETAIL_HOT_CODE
  /// A call of this kind is about to begin.
  void begins(cupti::step_call kind, cupti::api_data const& call) noexcept {
    bool const is_graph = kind == cupti::step_call::graph_launch;
    if (kind == cupti::step_call::wait || call.function_params == nullptr) return;
    if (STRATA_DETAIL_UNLIKELY(seen_.patience.lasts())) wait_for_steps();
    if (wanted_ == step_calls::graph && !is_graph) return;
    thread_recorder const* const self = thread_recorder::current();
    lane* own = self == nullptr ? nullptr : lane_of(self);
    if (own == nullptr) own = new_lane();
    if (own == nullptr || own->changes || capture_guard::capturing()) return;
    std::uint64_t const what = launched(kind, call.function_params);
    add_one(own->launches);
    if (wanted_ == step_calls::graph) return launches_graph(*own, what);
    std::uint32_t const weight =
        is_graph ? period_finder::weight_of_graph : period_finder::weight_of_launch;
    follow(
        *own, [&] { return stream_.launch(own, what, weight); },
        [&](period_finder& periods) { return periods.launch(what, weight); });
    lane const* const driver = driver_.load(memory_order_relaxed);
    if (driver == &all_ || driver == own) add_one(own->in_steps);
  }

  /// A call has ended; `id` is its function.
  void ended(cupti::step_call kind, std::uint32_t id) noexcept {
    if (kind != cupti::step_call::wait || wanted_ == step_calls::graph) return;
    thread_recorder const* const self = thread_recorder::current();
    lane* const own = self == nullptr ? nullptr : lane_of(self);  // one that launched nothing: none
    if (own == nullptr || own->changes || capture_guard::capturing()) return;
    follow(
        *own, [&] { return stream_.wait(own, id); },
        [&](period_finder& periods) { return periods.wait(id); });
  }
  STRATA_DETAIL_END_CODE

  /// A thread ends, and so does its step, if others drive steps too. The main thread ends with the
  /// process, and its last step is not whole.
  void leave(thread_recorder const* self) noexcept {
    lane* const own = lane_of(self);
    if (own == nullptr) return;
    if (several_.load(memory_order_acquire)) {
      if (driver_.load(memory_order_relaxed) == own) change_step(*own, own, own, step_change::end);
      if (loop* const left = own->alone.exchange(nullptr))
        left->taken.store(false, memory_order_release);
    }
    own->still = {};
    threads_[own - lanes_].store(nullptr, memory_order_release);
  }

  call_steps_seen seen() const noexcept {
    call_steps_seen made;
    made.steps = seen_.steps.load(memory_order_relaxed);
    made.found = seen_.found.load(memory_order_relaxed);
    made.ends_with_wait = seen_.ends_with_wait.load(memory_order_relaxed);
    for (lane const& other : lanes_) {
      std::uint64_t const in_steps = other.in_steps.load(memory_order_relaxed);
      bool const counts = made.steps == 0 || in_steps != 0 || wanted_ == step_calls::graph;
      if (counts) made.launches += other.launches.load(memory_order_relaxed);
      made.in_steps += in_steps;
    }
    return made;
  }

 private:
  /// What one thread has by itself.
  struct loop {
    atomic<bool> taken{false};
    graph_choice graphs;
    period_finder periods{period_finder::marks::any};
    bool missed_calls = false;  // while the stream had the steps
  };

  /// Of one thread, or of all as one stream. What is atomic is read by others.
  struct alignas(64) lane {
    bool changes = false;          // a step begins or ends: calls meanwhile are Strata's
    atomic<loop*> alone{nullptr};  // null beyond the limit of loops
    atomic<std::uint64_t> launches{0};
    atomic<std::uint64_t> in_steps{0};
    /// Steps of this thread in which the driver launched nothing.
    struct stillness {
      std::uint64_t launches = 0;  // the driver's
      std::uint32_t steps = 0;
      std::int64_t since_ns = 0;
    } still;
  };

  /// Who looks at the stream now. Nobody waits: a call of another thread meanwhile is passed by.
  class turn : uncopied {
   public:
    explicit turn(call_steps& all) noexcept : all_(&all) {
      has_ = !all.turns_.busy.load(memory_order_relaxed) &&
             !all.turns_.busy.exchange(true, memory_order_acquire);
      if (STRATA_DETAIL_UNLIKELY(!has_)) all.turns_.have_met.store(true, memory_order_relaxed);
    }
    ~turn() {
      if (has_) all_->turns_.busy.store(false, memory_order_release);
    }
    explicit operator bool() const noexcept { return has_; }

   private:
    call_steps* all_;
    bool has_;
  };

  static period_finder::marks marks_of(step_calls wanted) noexcept {
    return wanted == step_calls::automatic ? period_finder::marks::any
                                           : period_finder::marks::waits;
  }

  STRATA_DETAIL_HOT_CODE
  /// By one thread.
  static void add_one(atomic<std::uint64_t>& counter) noexcept {
    counter.store(counter.load(memory_order_relaxed) + 1, memory_order_relaxed);
  }

  /// The kernel's or the graph's handle.
  static std::uint64_t launched(cupti::step_call kind, void const* params) noexcept {
    void const* const handle =
        kind == cupti::step_call::launch_by_config
            ? static_cast<cupti::launch_kernel_ex_params const*>(params)->function
            : *static_cast<void* const*>(params);
    return reinterpret_cast<std::uintptr_t>(handle);
  }

  /// One call: as one of its thread, and, where there are several threads, of the stream. While
  /// that has the steps, nobody's own are looked for.
  template <class Shared, class Own>
  STRATA_DETAIL_ALWAYS_INLINE void follow(lane& own, Shared shared, Own alone) noexcept {
    loop* const by_itself = own.alone.load(memory_order_relaxed);
    if (several_.load(memory_order_acquire)) {
      follow_stream(own, by_itself, shared);
      if (by_itself == nullptr) return;
      if (driver_.load(memory_order_relaxed) == &all_) {
        by_itself->missed_calls = true;
        return;
      }
      if (by_itself->missed_calls) by_itself->periods.skip();
      by_itself->missed_calls = false;
    }
    if (by_itself == nullptr) return;
    step_change const change = alone(by_itself->periods);
    if (change != step_change::none) thread_says(own, *by_itself, change);
  }
  template <class Shared>
  STRATA_DETAIL_ALWAYS_INLINE void follow_stream(lane& own, loop* by_itself,
                                                 Shared shared) noexcept {
    if (are_apart(own)) return;
    turn const mine(*this);
    if (!mine) return;
    if (STRATA_DETAIL_UNLIKELY(&own == first_ && !turns_.has_given)) give_to_stream(own, by_itself);
    step_change const change = shared();
    if (change != step_change::none) stream_says(own, change);
    if (stream_.calls() == calls_of_look) look_at_turns();
  }

  /// Whether threads launch at the same time, so that there is no stream to look at. It is tried
  /// again now and then.
  bool are_apart(lane const& own) noexcept {
    if (!turns_.apart.load(memory_order_relaxed)) return false;
    if (own.launches.load(memory_order_relaxed) % launches_apart != 0) return true;
    turns_.apart.store(false, memory_order_relaxed);
    return false;
  }

  void launches_graph(lane& own, std::uint64_t graph) noexcept {
    step_change shared = step_change::none;
    turn const mine(*this);
    if (mine) {
      shared = graphs_.launch(graph);
      if (shared == step_change::next) change_step(own, &all_, driver_.load(), shared);
    }
    if (shared == step_change::next) add_one(own.in_steps);
    loop* const by_itself = own.alone.load(memory_order_relaxed);
    if (by_itself == nullptr || !several_.load(memory_order_relaxed)) return;
    bool const is_own = by_itself->graphs.launch(graph) == step_change::next;
    if (is_own && shared == step_change::none) recorder::instance().leave_out_step();
  }

  lane* lane_of(thread_recorder const* self) noexcept {
    for (std::size_t i = 0; i < max_threads; ++i) {
      std::size_t const where = (first_lane(self) + i) % max_threads;
      if (threads_[where].load(memory_order_relaxed) == self) return &lanes_[where];
    }
    return nullptr;
  }
  static std::size_t first_lane(thread_recorder const* self) noexcept {
    std::uint64_t const bits = reinterpret_cast<std::uintptr_t>(self);
    return static_cast<std::size_t>(bits * 0x9e3779b97f4a7c15u >> 32);
  }
  STRATA_DETAIL_END_CODE

  /// Before a launch while no step has begun.
  STRATA_DETAIL_COLD void wait_for_steps() noexcept {
    recorder& all = recorder::instance();
    bool const is_last = seen_.patience.ends_with_launch() || !all.logs_are_whole();
    if (!is_last || in_forked_child()) return;
    if (capture_guard::capturing() || !all.miss_steps()) return seen_.patience.prolong();
    seen_.patience.end();
  }

  /// Null beyond the limit of threads.
  STRATA_DETAIL_COLD lane* new_lane() noexcept {
    if (in_forked_child()) return nullptr;  // locks may be held by threads that it has not
    thread_recorder const* const self = recorder::instance().of_this_thread();
    if (self == nullptr) return nullptr;
    for (std::size_t i = 0; i < max_threads; ++i) {
      std::size_t const where = (first_lane(self) + i) % max_threads;
      thread_recorder const* nobody = nullptr;
      if (threads_[where].load(memory_order_relaxed) != nullptr) continue;
      if (!threads_[where].compare_exchange_strong(nobody, self)) continue;
      take_loop(lanes_[where]);
      return &lanes_[where];
    }
    return nullptr;
  }

  /// A new thread. Threads that come one after the other continue with the first one's loop.
  STRATA_DETAIL_COLD void take_loop(lane& own) noexcept {
    {
      system_lock const lock(loops_mutex_);
      if (first_ == nullptr) first_ = &own;
      bool const is_alone = first_ == &own && !several_.load(memory_order_relaxed);
      if (is_alone && own.alone.load(memory_order_relaxed) != nullptr) return;
      if (!is_alone && !several_.load(memory_order_relaxed)) begin_stream(own);
      choose_loop(own);
      if (is_alone || several_.exchange(true)) return;
    }
    // A step of the first thread would have this one's in it.
    if (wanted_ != step_calls::graph) change_step(own, &own, first_, step_change::end);
  }
  void choose_loop(lane& own) noexcept {
    loop* chosen = own.alone.load(memory_order_relaxed);
    for (loop& found : loops_) {
      if (chosen != nullptr) break;
      if (!found.taken.load(memory_order_acquire)) chosen = &found;
    }
    if (chosen == nullptr) return;
    chosen->taken.store(true, memory_order_relaxed);
    chosen->periods.forget();
    chosen->graphs = {};
    chosen->missed_calls = false;
    own.alone.store(chosen, memory_order_relaxed);
  }

  /// A second thread comes. Where the first one has ended, the stream continues with what it found
  /// and its step.
  void begin_stream(lane const& own) noexcept {
    if (threads_[first_ - lanes_].load(memory_order_acquire) != nullptr) return;
    give_to_stream(own, first_->alone.load(memory_order_relaxed));
    lane* driver = first_;
    if (stream_.in_step()) (void)driver_.compare_exchange_strong(driver, &all_);
  }
  /// The first thread comes again: the stream continues with what it found while it was alone.
  STRATA_DETAIL_COLD void give_to_stream(lane const& caller, loop const* by_itself) noexcept {
    turns_.has_given = true;
    bool const is_new = by_itself != nullptr && by_itself->periods.found();
    if (is_new && !stream_.periods().found()) stream_.go_on(&caller, by_itself->periods);
  }

  /// Enough calls came to tell threads that take turns from threads that launch at the same time.
  STRATA_DETAIL_COLD void look_at_turns() noexcept {
    bool const have_met = turns_.have_met.exchange(false, memory_order_relaxed);
    if (have_met && stream_.is_mixed() && !stream_.in_step()) {
      stream_.forget();
      turns_.apart.store(true, memory_order_relaxed);
    }
    stream_.count_anew();
  }

  /// Requires: the turn.
  STRATA_DETAIL_COLD void stream_says(lane& self, step_change change) noexcept {
    lane* const driver = driver_.load(memory_order_relaxed);
    bool const drives = driver == &all_;
    if (drives && !stream_.is_trusted()) change = step_change::end;
    if (!drives && (change == step_change::end || !stream_.is_trusted())) return;
    note_found(stream_.periods());
    change_step(self, &all_, driver, change);
  }

  STRATA_DETAIL_COLD void thread_says(lane& self, loop const& own, step_change change) noexcept {
    lane* const driver = driver_.load(memory_order_relaxed);
    if (driver != &self) {
      if (change == step_change::end || driver == &all_ || driver == &changing_) return;
      bool const are_several = several_.load(memory_order_relaxed);
      if (driver == nullptr && are_several && !stream_.doubt()) return;
      if (driver != nullptr && !stands_still(self, *driver))
        return recorder::instance().leave_out_step();
    }
    note_found(own.periods);
    change_step(self, &self, driver, change);
  }

  /// A thread may stop launching without ending. Other threads' steps in that time show it; a
  /// thread that waits for a processor comes back sooner.
  static bool stands_still(lane& self, lane const& driver) noexcept {
    constexpr std::uint32_t max_steps = 16;
    constexpr std::int64_t longest_ns = 100'000'000;
    std::uint64_t const launches = driver.launches.load(memory_order_relaxed);
    std::int64_t const now = monotonic_ns();
    if (launches != self.still.launches) self.still = {launches, 0, now};
    return ++self.still.steps > max_steps && now - self.still.since_ns > longest_ns;
  }

  void note_found(period_finder const& periods) noexcept {
    std::uint32_t const before = seen_.found.load(memory_order_relaxed);
    seen_.found.store(larger(before, periods.periods_found()), memory_order_relaxed);
    seen_.ends_with_wait.store(periods.has_wait(), memory_order_relaxed);
  }

  /// Ends the open step and begins one of `next_driver`, unless the driver has changed.
  STRATA_DETAIL_COLD void change_step(lane& self, lane* next_driver, lane* driver,
                                      step_change change) noexcept {
    bool const is_over = driver == nullptr && change == step_change::end;
    if (is_over || in_forked_child() || driver == &changing_ ||
        !driver_.compare_exchange_strong(driver, &changing_))
      return;
    recorder& all = recorder::instance();
    self.changes = true;
    if (driver != nullptr) {
      bool const is_whole = change == step_change::next;
      all.take_step(is_whole && seen_.ends_with_wait.load(memory_order_relaxed));
      all.end_step();
    }
    bool const begun = change == step_change::next && all.begin_step();
    if (begun) {
      add_one(seen_.steps);
      seen_.patience.end();
    }
    if (wanted_ == step_calls::graph) seen_.found.store(graphs_.chosen(), memory_order_relaxed);
    driver_.store(begun ? next_driver : nullptr, memory_order_release);
    self.changes = false;
  }

  /// Calls of the stream between two looks at whether threads take turns.
  static constexpr std::uint32_t calls_of_look = 1024;
  /// Launches of a thread while other threads launch, until the stream is tried again.
  static constexpr std::uint32_t launches_apart = 8192;

  [[maybe_unused]] call_steps const* before_;  // keeps it in reach
  step_calls wanted_;
  atomic<bool> several_{false};    // threads, whose loops are looked at
  lane* first_ = nullptr;          // it is alone until there are several
  atomic<lane*> driver_{nullptr};  // null: no step is open
  atomic<thread_recorder const*> threads_[max_threads];
  lane all_;
  lane changing_;  // the driver while a step ends or begins
  lane lanes_[max_threads];
  loop loops_[max_loops];
  struct alignas(64) stream_turns {
    atomic<bool> busy{false};
    atomic<bool> have_met{false};  // a call came while another one was looked at
    atomic<bool> apart{false};     // threads launch at the same time: there is no stream
    bool has_given = false;        // the first thread, to the stream
  } turns_;
  shared_period stream_{marks_of(wanted_)};
  graph_choice graphs_;
  system_mutex loops_mutex_;
  struct seen_by_all {
    step_patience patience;
    atomic<std::uint64_t> steps{0};
    atomic<std::uint32_t> found{0};
    atomic<bool> ends_with_wait{false};
  } seen_;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_CUDA_CALL_STEPS_HPP
