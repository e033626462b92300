#include <strata/version.hpp>
#ifndef STRATA_COLLECT_CUDA_DEVICE_FENCE_HPP
#define STRATA_COLLECT_CUDA_DEVICE_FENCE_HPP

#include <strata/base/clock.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/vocabulary.hpp>
#include <strata/collect/cuda/contexts.hpp>
#include <strata/collect/cuda/driver.hpp>

#include <cstddef>
#include <cstdint>

STRATA_DETAIL_COLD_CODE
STRATA_BEGIN
namespace detail {

/// Whether tracing stopped for a step that counts.
enum class pause_outcome : unsigned char {
  paused,
  captures,  // a stream captures a graph
  busy       // the devices do other work
};

/// As long as it lives, questions of this thread leave other threads' captures as they are.
class relaxed_captures {
 public:
  relaxed_captures() noexcept { exchange(); }
  relaxed_captures(relaxed_captures const&) = delete;
  relaxed_captures& operator=(relaxed_captures const&) = delete;
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
class device_fence {
 public:
  device_fence() = default;
  device_fence(device_fence const&) = delete;
  device_fence& operator=(device_fence const&) = delete;
  ~device_fence() {
    while (count_ != 0) drop_last();
  }

  /// All contexts in which work was seen. Requires: an exclusive scope of the capture_guard.
  void add_all() noexcept {
    capture_guard::each_context([this](driver::context_handle context) { add(context); });
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

  /// Whether it is done.
  bool is_reached() noexcept {
    relaxed_captures const beside;
    return is_done();
  }

  /// Waits until it is done, as long as `goes_on` says, also beside captures: an exclusive scope is
  /// not needed any more. Returns: whether it is done.
  bool wait(callback<bool()> goes_on) noexcept {
    constexpr std::int64_t shortest_ns = 1'000'000;  // until then without a rest
    relaxed_captures const beside;
    std::int64_t const begin = monotonic_ns();
    while (!is_done()) {
      if (!goes_on()) return false;
      if (monotonic_ns() - begin > shortest_ns) capture_guard::rest();
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
  static void settle() noexcept {
    auto* const call = api().context_synchronize;
    if (call != nullptr)
      capture_guard::each_context([call](driver::context_handle) { (void)call(); });
  }

 private:
  static constexpr std::size_t most = capture_guard::most_contexts;

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

}  // namespace detail
STRATA_END
STRATA_DETAIL_END_CODE

#endif  // STRATA_COLLECT_CUDA_DEVICE_FENCE_HPP
