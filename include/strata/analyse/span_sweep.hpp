#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_SPAN_SWEEP_HPP
#define STRATA_ANALYSE_SPAN_SWEEP_HPP

#include <strata/analyse/range_rows.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile/interval.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

STRATA_BEGIN
namespace detail {

/// How long every call lasted when the device work that it launched is waited for.
/// Launches belong to the calls that are open on their thread at that time.
class span_sweep {
 public:
  explicit span_sweep(row_layout const& layout) : layout_(layout) {}

  void reserve(std::size_t calls, std::size_t launches) {
    calls_.reserve(calls);
    launches_.reserve(launches);
  }
  void add_call(std::uint32_t thread, std::int64_t begin, std::int64_t end, std::uint32_t row) {
    calls_.push_back({begin, end < begin ? begin : end, lost_time, thread, row});
  }
  void add_launch(std::uint32_t thread, std::int64_t begin, std::int64_t work_end) {
    launches_.push_back({begin, work_end, thread});
  }

  /// Calls `add(row, span)` once for each call.
  template <class Add>
  void run(Add add) {
    sort();
    std::size_t next = 0;
    for (call const& each : calls_) {
      while (next < launches_.size() && is_before(launches_[next], each))
        take(launches_[next++], add);
      open(each, add);
    }
    while (next < launches_.size()) take(launches_[next++], add);
    while (!open_.empty()) close(add);
  }

 private:
  struct call {
    std::int64_t begin;
    std::int64_t end;
    std::int64_t work_end;
    std::uint32_t thread;
    std::uint32_t row;
  };
  struct launch {
    std::int64_t begin;
    std::int64_t work_end;
    std::uint32_t thread;
  };

  void sort() {
    std::sort(calls_.begin(), calls_.end(), [](call const& a, call const& b) {
      if (a.thread != b.thread) return a.thread < b.thread;
      if (a.begin != b.begin) return a.begin < b.begin;
      return a.end != b.end ? a.end > b.end : a.row < b.row;
    });
    std::sort(launches_.begin(), launches_.end(), [](launch const& a, launch const& b) {
      return a.thread != b.thread ? a.thread < b.thread : a.begin < b.begin;
    });
  }

  static bool is_before(launch const& a, call const& b) noexcept {
    return a.thread != b.thread ? a.thread < b.thread : a.begin < b.begin;
  }

  template <class Add>
  void open(call const& each, Add& add) {
    while (!open_.empty() && !encloses(open_.back(), each)) close(add);
    open_.push_back(each);
  }

  /// A call that begins in the very ns in which another ends lies in it only if the tree says so.
  bool encloses(call const& outer, call const& inner) const noexcept {
    if (outer.thread != inner.thread || outer.end < inner.begin) return false;
    return outer.end > inner.begin ||
           (outer.row != inner.row && layout_.contains(outer.row, inner.row));
  }

  template <class Add>
  void take(launch const& each, Add& add) {
    while (!open_.empty() && (open_.back().thread != each.thread || open_.back().end < each.begin))
      close(add);
    if (!open_.empty()) open_.back().work_end = (std::max)(open_.back().work_end, each.work_end);
  }

  template <class Add>
  void close(Add& add) {
    call const done = open_.back();
    open_.pop_back();
    add(done.row, elapsed(done.begin, (std::max)(done.end, done.work_end)));
    if (!open_.empty() && open_.back().thread == done.thread)
      open_.back().work_end = (std::max)(open_.back().work_end, done.work_end);
  }

  row_layout const& layout_;
  vec<call> calls_;
  vec<launch> launches_;
  vec<call> open_;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_ANALYSE_SPAN_SWEEP_HPP
