#ifndef STRATA_COLLECT_CUDA_DEVICE_FENCE_HPP
#define STRATA_COLLECT_CUDA_DEVICE_FENCE_HPP

#include <strata/base/clock.hpp>
#include <strata/collect/cuda/contexts.hpp>
#include <strata/collect/cuda/cupti.hpp>
#include <strata/profile/records.hpp>

STRATA_DETAIL_COLD_CODE
STRATA_BEGIN
namespace detail {

/// Whether tracing stopped for a step that counts.
enum class pause_outcome : unsigned char {
  paused,
  captures,  // a stream captures a graph
  busy,      // the devices do other work
  new_work   // it was not tried before: see launch_trial
};

/// As long as it lives, questions of this thread leave other threads' captures as they are.
class relaxed_captures : uncopied {
 public:
  relaxed_captures() noexcept { exchange(); }
  ~relaxed_captures() { exchange(); }

 private:
  void exchange() noexcept {
    auto* const call = driver_library::get().api.exchange_capture_mode;
    if (call != nullptr) (void)call(&mode_);
  }
  driver::capture_mode mode_ = driver::capture_mode::relaxed;
};

/// The work that the program has put on the devices until now, and whether it is done: an event in
/// each context, which holds nothing up. Threads: one at a time. Cost: 5 us a context, 2 us a
/// question. Source: cuCtxRecordEvent (CUDA 12.5), cuEventQuery. An older driver waits for the
/// contexts instead (cuCtxSynchronize), without an end where a kernel has none.
class device_fence : uncopied {
 public:
  ~device_fence() {
    while (count_ != 0) drop_last();
  }

  /// All contexts in which work was seen. Requires: an exclusive scope of the capture_guard.
  void add_all() noexcept {
    capture_guard::for_each_context([this](driver::context_handle context) { add(context); });
  }
  /// One that is current. Requires: as add_all.
  void add(driver::context_handle context) noexcept {
    driver::table const& calls = api();
    driver::event_handle made = nullptr;
    bool const can =
        count_ < most && calls.context_record_event != nullptr && calls.event_create != nullptr &&
        calls.event_destroy != nullptr && calls.event_query != nullptr &&
        calls.event_create(&made, driver::event_flags::without_times) == driver::result::success;
    if (can && calls.context_record_event(context, made) == driver::result::success) {
      marks_[count_++] = {context, made, capture_guard::lives(context)};
      return;
    }
    if (made != nullptr) (void)calls.event_destroy(made);
    if (calls.context_synchronize != nullptr) (void)calls.context_synchronize();
  }

  /// Whether a wait ends with its patience: not with a driver that is older than CUDA 12.5.
  static bool is_bounded() noexcept {
    constexpr int first_version = 12'050;
    driver_library const& driver = driver_library::get();
    return driver.version >= first_version && driver.api.context_record_event != nullptr;
  }

  /// Whether it is done.
  bool is_reached() noexcept {
    relaxed_captures const beside;
    return is_done();
  }

  /// Waits until it is done, as long as `goes_on` says, also during captures: an exclusive scope is
  /// not needed any more. Returns: whether it is done.
  bool wait(callback<bool()> goes_on) noexcept {
    constexpr std::int64_t shortest_ns = 1'000'000;  // until then without a rest
    relaxed_captures const beside;
    deadline at_first(shortest_ns);
    while (!is_done()) {
      if (!goes_on()) return false;
      if (!at_first.lasts()) capture_guard::rest();
    }
    return true;
  }

  /// Waits for what the program has put on all devices, while `goes_on`.
  static pause_outcome wait_for_all(callback<bool()> goes_on) noexcept {
    device_fence before;
    {
      capture_guard::exclusive const alone;
      if (!alone) return pause_outcome::captures;
      before.add_all();
    }
    return before.wait(goes_on) ? pause_outcome::paused : pause_outcome::busy;
  }

  /// Waits for all contexts, where there is nothing to wait for: CUPTI then has the times of
  /// graphs' kernels. Requires: as add_all, and that the fence is reached.
  static void synchronize_all() noexcept {
    auto* const call = api().context_synchronize;
    if (call != nullptr)
      capture_guard::for_each_context([call](driver::context_handle) { (void)call(); });
  }

 private:
  static constexpr std::size_t most = capture_guard::max_contexts;

  static driver::table const& api() noexcept { return driver_library::get().api; }

  struct mark {
    driver::context_handle context;
    driver::event_handle event;
    bool is_seen;  // when it goes that is seen too
  };

  /// What fails otherwise is over: its context is gone, or an error ended its work.
  bool is_done() noexcept {
    while (count_ != 0 && !is_under_way(marks_[count_ - 1])) drop_last();
    return count_ == 0;
  }
  static bool is_under_way(mark const& last) noexcept {
    if (is_gone(last)) return false;
    context_scope const here(last.context);
    return here && api().event_query(last.event) == driver::result::not_ready;
  }
  /// The event goes with its context.
  void drop_last() noexcept {
    mark const& last = marks_[--count_];
    if (!is_gone(last)) (void)api().event_destroy(last.event);
  }
  static bool is_gone(mark const& last) noexcept {
    return last.is_seen && !capture_guard::lives(last.context);
  }

  std::size_t count_ = 0;
  mark marks_[most] = {};
};

/// The streams that the program launches kernels and graphs into while steps are to be counted. A
/// step that counts may wait for the streams that its own thread uses most, one in each context:
/// the program waits for these sooner or later. Work of other streams may never end, or only when
/// this thread continues. Threads: `saw` and `forget` from any, the rest is for the thread that
/// drives the steps. Cost of saw(): two clock reads, where streams are followed. Source:
/// cuStreamQuery, which adds nothing to a stream, in a moment without a capture.
class launch_streams {
 public:
  /// More are not distinguished: their work is other streams' work.
  static constexpr std::size_t most = 64;

  /// The last launch into a stream.
  struct launch {
    std::uint32_t node = no_reference;
    std::int64_t begin_ns = 0;  // by monotonic_ns
  };

  void follow(bool on) noexcept { followed_.store(on); }

  STRATA_DETAIL_HOT_CODE
  bool followed() const noexcept { return followed_.load(memory_order_relaxed); }
  STRATA_DETAIL_END_CODE

  /// A thread launches, in this range.
  void saw(api_kind kind, cupti::api_data const& call, std::uint32_t thread,
           std::uint32_t node) noexcept {
    driver::stream_handle stream = nullptr;
    if (!read_stream(kind, call, stream)) return;
    entry* const found = find_or_add(call.context, stream);
    if (found == nullptr) return;
    found->node.store(node, memory_order_relaxed);
    found->begin_ns.store(monotonic_ns(), memory_order_relaxed);
    found->thread.store(thread, memory_order_relaxed);
    found->launches.store(found->launches.load(memory_order_relaxed) + 1, memory_order_relaxed);
  }
  /// The stream goes, or the context with all of its streams.
  void forget(driver::stream_handle stream) noexcept {
    forget_if([stream](entry const& one) { return one.stream.load() == stream; });
  }
  void forget_all_of(driver::context_handle context) noexcept {
    forget_if([context](entry const& one) { return one.context.load() == context; });
  }

  /// A step of this thread begins: chooses the streams that it launched most into in the last one.
  /// Where it launched nothing that was followed, those chosen before stay.
  void choose(std::uint32_t thread) noexcept {
    bool any = false;
    for_each_living([&](entry& one) {
      std::uint32_t const now = one.launches.load(memory_order_relaxed);
      one.in_step = one.thread.load(memory_order_relaxed) == thread ? now - one.before : 0;
      one.before = now;
      any = any || one.in_step != 0;
    });
    if (!any) return;
    for_each_living([&](entry& one) {
      bool best = one.in_step != 0;
      for_each_living([&](entry const& other) {
        bool const more = other.in_step > one.in_step;
        bool const earlier = other.in_step == one.in_step && &other < &one;
        best = best && !(other.context.load() == one.context.load() && (more || earlier));
      });
      one.chosen.store(best);
    });
  }

  /// Waits until those have done their work, while `goes_on`.
  pause_outcome wait_for_chosen(callback<bool()> goes_on) noexcept {
    for (;; capture_guard::rest()) {
      {
        capture_guard::exclusive const alone;
        if (!alone) return pause_outcome::captures;
        bool busy = false;
        for_each_living(
            [&](entry const& one) { busy = busy || (one.chosen.load() && is_busy(one)); });
        if (!busy) return pause_outcome::paused;
      }
      if (!goes_on()) return pause_outcome::busy;
    }
  }

  /// What is in the way: of the streams that have work, the one whose last launch is the oldest.
  /// The legacy stream waits for others, so that it is named last. False if none is known.
  bool find_busy(launch& oldest) noexcept {
    capture_guard::exclusive const alone(0);
    if (!alone) return false;
    bool found = false;
    bool found_legacy = false;
    for_each_living([&](entry const& one) {
      std::int64_t const begin = one.begin_ns.load(memory_order_relaxed);
      bool const legacy = one.stream.load() == nullptr;
      bool const better = !found || (found_legacy && !legacy) ||
                          (found_legacy == legacy && begin < oldest.begin_ns);
      if (!better || !is_busy(one)) return;
      found = true;
      found_legacy = legacy;
      oldest = {one.node.load(memory_order_relaxed), begin};
    });
    return found;
  }

 private:
  enum class use : unsigned char { free, being_made, living };

  /// A stream has few launching threads, mostly one: its line is that thread's.
  struct alignas(64) entry {
    atomic<use> state{use::free};
    atomic<bool> chosen{false};
    atomic<std::uint32_t> node{no_reference};
    atomic<std::uint32_t> thread{0};
    atomic<std::uint32_t> launches{0};  // continues where the entry is another stream's
    atomic<driver::context_handle> context{nullptr};
    atomic<driver::stream_handle> stream{nullptr};
    atomic<std::int64_t> begin_ns{0};
    std::uint32_t before = 0;   // launches until the last choice
    std::uint32_t in_step = 0;  // and from then until this one
  };

  static bool is_living(entry const& one) noexcept { return one.state.load() == use::living; }

  template <class Visit>
  void for_each_living(Visit visit) noexcept {
    for (entry& one : entries_)
      if (is_living(one)) visit(one);
  }

  template <class Fits>
  void forget_if(Fits fits) noexcept {
    for_each_living([&](entry& one) {
      if (fits(one)) one.state.store(use::free);
    });
  }

  entry* find_or_add(driver::context_handle context, driver::stream_handle stream) noexcept {
    for (entry& one : entries_)
      if (is_living(one) && one.stream.load() == stream && one.context.load() == context)
        return &one;
    for (entry& one : entries_) {
      use expected = use::free;
      if (!one.state.compare_exchange_strong(expected, use::being_made)) continue;
      one.context.store(context);
      one.stream.store(stream);
      one.chosen.store(false);
      one.state.store(use::living);
      return &one;
    }
    return nullptr;
  }

  /// Requires: an exclusive scope of the capture_guard.
  static bool is_busy(entry const& one) noexcept {
    auto* const query = driver_library::get().api.stream_query;
    driver::context_handle const context = one.context.load();
    if (query == nullptr || !capture_guard::lives(context)) return false;
    relaxed_captures const beside;
    context_scope const here(context);
    return here && is_living(one) && query(one.stream.load()) == driver::result::not_ready;
  }

  /// The stream that a launch goes into. False where the call does not tell.
  static bool read_stream(api_kind kind, cupti::api_data const& call,
                          driver::stream_handle& stream) noexcept {
    if (call.function_name == nullptr || call.function_params == nullptr) return false;
    if (kind == api_kind::graph_launch) {
      stream = static_cast<cupti::graph_launch_params const*>(call.function_params)->stream;
    } else if (!cupti::read_launch(call, [&](auto const& launch) { stream = launch.stream; })) {
      return false;
    }
    // The null stream is the thread's own.
    if (stream == nullptr && ends_with(call.function_name, "_ptsz"))
      stream = driver::stream_of_thread();
    return true;
  }

  atomic<bool> followed_{false};
  entry entries_[most];
};

}  // namespace detail
STRATA_END
STRATA_DETAIL_END_CODE

#endif  // STRATA_COLLECT_CUDA_DEVICE_FENCE_HPP
