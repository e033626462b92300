#include <strata/version.hpp>
#ifndef STRATA_INHERIT_HPP
#define STRATA_INHERIT_HPP

// Work that a range gives to other threads is counted below that range:
//
//   STRATA_RANGE("attention", layer);
//   strata::range_handle const here = strata::current();
//
//   #pragma omp parallel for
//   for (int head = 0; head < heads; ++head) {
//     strata::inherit const as_child(here);
//     STRATA_RANGE("head", head);  // attention[layer]/head[head], whichever thread it runs in
//     attend(head);
//   }
//
// Calls and device work of the worker count below that range, even where it has ended by then. Host
// times of several threads add up, so a worker's row may show more time than its parent's. The
// parent's own times are those of its own thread: the workers' time is not subtracted from its self
// time, and its span ends with the device work of its own thread.

#include <strata/base/macros.hpp>

#include <cstddef>

#if !STRATA_ENABLED

// The same names, no instruction.

STRATA_BEGIN_SWITCH_LIGHT

class range_handle {};

[[nodiscard]] constexpr range_handle current() noexcept { return {}; }

class inherit {
 public:
  [[nodiscard]] constexpr explicit inherit(range_handle const&) noexcept {}
  ~inherit() {}
  inherit(inherit const&) = delete;
  inherit& operator=(inherit const&) = delete;
  static void* operator new(std::size_t) = delete;
  static void* operator new[](std::size_t) = delete;
};

STRATA_END_SWITCH_LIGHT

#else

#include <strata/annotate/process.hpp>

#include <cstdint>

STRATA_BEGIN_SWITCH_LIGHT

class inherit;

/// A place in the call tree, for use in another thread. It is valid while its session runs; a later
/// session may take it for an empty one. Threads: any; it is a plain value.
class range_handle {
 public:
  constexpr range_handle() noexcept = default;

 private:
  friend class inherit;
  friend range_handle current() noexcept;
  explicit constexpr range_handle(std::uint32_t handle) noexcept : handle_(handle) {}

  std::uint32_t handle_ = 0;
};

/// The innermost range of the calling thread; an empty handle outside of ranges, or while no
/// session runs. Cost: one load and one branch while no session runs.
[[nodiscard]] inline range_handle current() noexcept {
  detail::listener const* active = detail::active_listener();
  return STRATA_DETAIL_UNLIKELY(active != nullptr) ? range_handle(active->current())
                                                   : range_handle();
}

/// As long as this object lives, ranges and device work of the calling thread are counted below
/// another thread's range. An empty handle, or the place where the thread is already, changes
/// nothing. Threads: any; it ends in the thread that began it. Cost: one load and one branch while
/// no session runs.
class inherit {
 public:
  [[nodiscard]] explicit inherit(range_handle const& from) noexcept {
    detail::listener const* active = detail::active_listener();
    if (STRATA_DETAIL_UNLIKELY(active != nullptr) && from.handle_ != 0)
      token_ = active->inherit(from.handle_);
  }
  ~inherit() {
    if (STRATA_DETAIL_UNLIKELY(token_.owner != nullptr)) token_.owner->end(token_);
  }

  inherit(inherit const&) = delete;
  inherit& operator=(inherit const&) = delete;
  static void* operator new(std::size_t) = delete;
  static void* operator new[](std::size_t) = delete;

 private:
  detail::range_token token_;
};

STRATA_END_SWITCH_LIGHT

#endif  // STRATA_ENABLED
#endif  // STRATA_INHERIT_HPP
