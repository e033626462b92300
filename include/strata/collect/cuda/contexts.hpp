#ifndef STRATA_COLLECT_CUDA_CONTEXTS_HPP
#define STRATA_COLLECT_CUDA_CONTEXTS_HPP

#include <strata/collect/cuda/driver.hpp>

#include <pthread.h>
#include <time.h>

STRATA_DETAIL_COLD_CODE
STRATA_BEGIN
namespace detail {

/// Makes a context current in the calling thread as long as it lives; null leaves all as it is.
class context_scope : uncopied {
 public:
  explicit context_scope(driver::context_handle context) noexcept {
    driver::table const& api = driver_library::get().api;
    if (context == nullptr) return;
    pushed_ = api.context_pop != nullptr && driver::succeeds(api.context_push, context);
    ok_ = pushed_;
  }
  ~context_scope() {
    driver::context_handle popped = nullptr;
    if (pushed_) (void)driver_library::get().api.context_pop(&popped);
  }

  explicit operator bool() const noexcept { return ok_; }

 private:
  bool pushed_ = false;
  bool ok_ = true;
};

/// The contexts that the calling thread put work into while a session ran. Threads: each has its
/// own. Cost of saw(): a few ns where the context is the last one again.
class thread_contexts {
 public:
  static constexpr std::size_t most = 32;

  STRATA_DETAIL_HOT_CODE
  static void saw(driver::context_handle context, std::uint32_t session) noexcept {
    list& own = mine();
    if (own.last == context && own.session == session) return;
    if (own.session != session) own.count = 0;
    own.session = session;
    own.last = context;
    if (context == nullptr) return;
    for (std::size_t i = 0; i < own.count; ++i)
      if (own.all[i] == context) return;
    if (own.count < most) own.all[own.count++] = context;
  }

  STRATA_DETAIL_END_CODE

  template <class Visit>
  static void for_each(std::uint32_t session, Visit visit) {
    list const& own = mine();
    if (own.session != session) return;
    for (std::size_t i = 0; i < own.count; ++i) visit(own.all[i]);
  }

 private:
  struct list {
    driver::context_handle last = nullptr;
    std::uint32_t session = 0;
    std::size_t count = 0;
    driver::context_handle all[most] = {};
  };
  STRATA_DETAIL_HOT_CODE
  static list& mine() noexcept {
    static thread_local list own;
    return own;
  }
  STRATA_DETAIL_END_CODE
};

/// Excludes two kinds of calls from each other. Graph calls of the program (begin a capture,
/// instantiate, update, destroy) come from callbacks of CUPTI. Our own calls that wait for a device
/// or that begin, configure and end a session of CUPTI's profiler are made in an `exclusive` scope:
/// they invalidate an open capture, and during a graph call the driver may crash (H200,
/// CUDA 13.0, cuptiRangeProfilerStop with four threads that make graphs). Threads: any.
class capture_guard {
 public:
  static constexpr std::size_t max_contexts = 64;
  /// How long our calls wait for captures, in ns. A capture of a step of work takes less; one that
  /// takes longer costs passes of counting, not the program's time: it is not waited for again.
  static constexpr std::int64_t patience = 100'000'000;
  /// The same where the program continues meanwhile: other threads' captures and graph calls wait
  /// for a scope that is about to open, and are never held up for 5 ms.
  static constexpr std::int64_t short_patience = 4'000'000;
  /// How long a graph call waits for ours, in ns. The longest configuration takes less. A call that
  /// waits for work that needs the waiting thread would never end.
  static constexpr std::int64_t longest_wait = 5'000'000'000;

  /// A graph call of this thread begins. It waits while an exclusive scope of another thread is
  /// open, and, unless this thread has a capture open, while one is about to open.
  static void graph_call_begins() noexcept {
    process_state& all = state();
    std::uintptr_t const self = this_thread();
    for (maybe<deadline> limit;; rest()) {
      system_lock const lock(all.mutex);
      bool const inside = all.inside != 0 && all.inside != self;
      if (inside || (all.waiting != 0 && !has(self, true))) {
        if (!limit) limit.emplace(longest_wait);
        if (limit->lasts()) continue;
      }
      (void)take_out([&](entry const& e) { return !e.captures && e.thread == self; });
      put_in({nullptr, nullptr, self, false});
      return;
    }
  }
  static void graph_call_ended() noexcept {
    system_lock const lock(state().mutex);
    (void)take_out([](entry const& e) { return !e.captures && e.thread == this_thread(); });
  }
  static void capture_began(driver::stream_handle stream, driver::context_handle context) noexcept {
    system_lock const lock(state().mutex);
    put_in({stream, context, this_thread(), true});
  }
  /// One that was not seen to begin ends without effect.
  static void capture_ended(driver::stream_handle stream) noexcept {
    process_state& all = state();
    system_lock const lock(all.mutex);
    if (take_out([&](entry const& e) { return e.captures && e.stream == stream; })) return;
    if (all.unknown != 0 && --all.unknown == 0) update();
  }
  /// The stream goes, and its capture.
  static void forget_stream(driver::stream_handle stream) noexcept {
    system_lock const lock(state().mutex);
    (void)take_out([&](entry const& e) { return e.captures && e.stream == stream; });
  }
  /// Graph calls begin to be followed. One that was under way when the callbacks went off may have
  /// begun here after that, and its end was not reported.
  static void forget_graph_calls() noexcept {
    system_lock const lock(state().mutex);
    while (take_out([](entry const& e) { return !e.captures; })) {
    }
  }

  STRATA_DETAIL_HOT_CODE
  /// Whether a capture was seen to begin and has not ended. Cost: one load.
  static bool capturing() noexcept { return state().open.load(memory_order_relaxed); }
  /// Whether the calling thread began it.
  static bool capturing_here() noexcept {
    if (!capturing()) return false;
    system_lock const lock(state().mutex);
    return has(this_thread(), true);
  }
  STRATA_DETAIL_END_CODE

  /// As long as it lives, no capture is open and no graph call is under way, as far as can be
  /// known: captures seen to begin, and those into blocking streams that began before. False where
  /// there was no such moment in time, and at once where the calling thread itself captures. May be
  /// nested.
  class exclusive : uncopied {
   public:
    explicit exclusive(std::int64_t wait = patience) noexcept : entered_(enter(wait)) {}
    ~exclusive() {
      if (entered_) leave();
    }
    explicit operator bool() const noexcept { return entered_; }

   private:
    bool entered_;
  };

  STRATA_DETAIL_HOT_CODE
  /// Remembers a context that work was launched in. A known one writes nothing that is shared.
  static void saw(driver::context_handle context) noexcept {
    if (context == nullptr || lives(context)) return;
    for (atomic<driver::context_handle>& slot : state().contexts) {
      driver::context_handle seen = slot.load();
      bool const free = seen == nullptr || seen == forgotten();
      if (free && slot.compare_exchange_strong(seen, context)) seen = context;
      if (seen == context) return;
    }
  }

  /// Whether a context was seen, and not to be destroyed since.
  static bool lives(driver::context_handle context) noexcept {
    for (atomic<driver::context_handle>& slot : state().contexts) {
      driver::context_handle const seen = slot.load();
      if (seen == context) return true;
      if (seen == nullptr) break;
    }
    return false;
  }

  STRATA_DETAIL_END_CODE

  /// The context goes, and the captures in it.
  static void forget(driver::context_handle context) noexcept {
    for (atomic<driver::context_handle>& slot : state().contexts) {
      driver::context_handle seen = context;
      (void)slot.compare_exchange_strong(seen, forgotten());
    }
    system_lock const lock(state().mutex);
    while (take_out([&](entry const& e) { return e.captures && e.context == context; })) {
    }
  }

  /// The contexts, captures and graph calls of this process are not followed any more.
  static void forget_all() noexcept {
    for (atomic<driver::context_handle>& slot : state().contexts) slot.store(nullptr);
    system_lock const lock(state().mutex);
    state().known = state().unknown = 0;
    update();
  }

  /// The contexts that were seen and live, each current in turn. Threads: any.
  static void for_each_context(callback<void(driver::context_handle)> action) noexcept {
    (void)for_each_living([&](driver::context_handle context) {
      action(context);
      return true;
    });
  }

  /// The current context of this thread, or null.
  static driver::context_handle current() noexcept {
    driver::context_handle context = nullptr;
    bool const known = driver::succeeds(driver_library::get().api.context_current, &context);
    return known ? context : nullptr;
  }

  /// A moment of 50 us.
  static void rest() noexcept {
    timespec const moment{0, 50'000};
    (void)::nanosleep(&moment, nullptr);
  }

 private:
  /// A capture that is open, or a graph call that is under way.
  struct entry {
    driver::stream_handle stream;
    driver::context_handle context;
    std::uintptr_t thread;
    bool captures;
    bool is_long = false;  // a wait for it ended before it did
  };
  static constexpr std::size_t max_entries = 256;

  struct process_state {
    system_mutex mutex;  // of what is not atomic
    atomic<bool> open{false};
    std::size_t known = 0;
    std::size_t unknown = 0;  // captures beyond the room
    entry entries[max_entries] = {};
    std::uintptr_t inside = 0;  // the thread that has an exclusive scope
    std::size_t depth = 0;      // how many
    std::size_t waiting = 0;    // threads that wait for one
    atomic<driver::context_handle> contexts[max_contexts] = {};
  };
  STRATA_DETAIL_HOT_CODE
  static process_state& state() noexcept {
    static auto* const all =
        static_cast<process_state*>(shared_object(process_object::captures, []() -> void* {
          static process_state only;  // where it needs no memory; modules with it stay loaded
          return &only;
        }));
    return *all;
  }
  STRATA_DETAIL_END_CODE

  /// The same in every module of the process; never 0.
  static std::uintptr_t this_thread() noexcept {
    return reinterpret_cast<std::uintptr_t>(reinterpret_cast<void*>(::pthread_self()));
  }

  // With the mutex held.
  static void put_in(entry const& made) noexcept {
    process_state& all = state();
    if (all.known < max_entries) {
      all.entries[all.known++] = made;
    } else {
      all.unknown += made.captures;
    }
    if (made.captures) all.open.store(true);
  }
  /// Takes out one that fits. False if none does.
  template <class Fits>
  static bool take_out(Fits fits) noexcept {
    process_state& all = state();
    entry* const end = all.entries + all.known;
    entry* found = all.entries;  // std::find_if is 300 bytes for each question
    while (found != end && !fits(*found)) ++found;
    if (found == end) return false;
    *found = all.entries[--all.known];
    update();
    return true;
  }
  static void update() noexcept {
    process_state& all = state();
    bool any = false;
    for (std::size_t i = 0; i < all.known; ++i) any = any || all.entries[i].captures;
    all.open.store(any || all.unknown != 0);
  }
  static bool has(std::uintptr_t thread, bool only_captures) noexcept {
    process_state const& all = state();
    for (std::size_t i = 0; i < all.known; ++i) {
      entry const& e = all.entries[i];
      if (e.thread == thread && (e.captures || !only_captures)) return true;
    }
    return false;
  }

  static bool enter(std::int64_t wait) noexcept {
    process_state& all = state();
    std::uintptr_t const self = this_thread();
    maybe<deadline> limit;  // from the first look in vain on, since most find nothing in the way
    for (bool waits = false;; rest()) {
      system_lock const lock(all.mutex);
      bool const own = has(self, false);
      if (all.inside == self && !own) return ++all.depth != 0;
      bool const free = all.inside == 0 && all.known == 0 && all.unknown == 0;
      if (!free && !own && !limit) limit.emplace(wait);
      bool const late = limit && !limit->lasts();
      bool over = free || own || late;
      for (entry* inside = all.entries; inside != all.entries + all.known; ++inside) {
        over = over || inside->is_long;
        inside->is_long = inside->is_long || (late && wait != 0);
      }
      if (over && waits) --all.waiting;
      if (!over && !std::exchange(waits, true)) ++all.waiting;
      if (!over) continue;
      if (!free) return false;
      all.inside = self;
      all.depth = 1;
      break;
    }
    if (!captures_unseen()) return true;
    leave();
    return false;
  }
  static void leave() noexcept {
    system_lock const lock(state().mutex);
    if (--state().depth == 0) state().inside = 0;
  }

  /// Whether a blocking stream of a context captures, although its begin was not seen. Source:
  /// cuStreamIsCapturing on the legacy stream, which leaves a capture intact.
  static bool captures_unseen() noexcept {
    driver::table const& api = driver_library::get().api;
    auto* const ask = api.stream_is_capturing;
    if (ask == nullptr) return false;
    auto const none = [&] {
      auto now = driver::capture_status::none;
      return ask(nullptr, &now) != driver::result::stream_capture_implicit &&
             now == driver::capture_status::none;
    };
    driver::context_handle const own = current();
    return (own != nullptr && !none()) ||
           !for_each_living([&](driver::context_handle) { return none(); }, own);
  }

  /// Calls `action` in each context that was seen but one, until it returns false.
  template <class Action>
  static bool for_each_living(Action action, driver::context_handle but = nullptr) noexcept {
    for (atomic<driver::context_handle>& slot : state().contexts) {
      driver::context_handle const context = slot.load();
      if (context == nullptr) break;
      if (context == forgotten() || context == but) continue;
      context_scope const here(context);
      if (here && !action(context)) return false;
    }
    return true;
  }

  /// Marks a slot whose context was destroyed.
  static driver::context_handle forgotten() noexcept { return static_cast<void*>(&state()); }
};

}  // namespace detail
STRATA_END
STRATA_DETAIL_END_CODE

#endif  // STRATA_COLLECT_CUDA_CONTEXTS_HPP
