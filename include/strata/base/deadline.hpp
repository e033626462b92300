#ifndef STRATA_BASE_DEADLINE_HPP
#define STRATA_BASE_DEADLINE_HPP

// The end of a wait. Signals cut each sleep and each poll short, and a clock may stand still: a
// library such as libfaketime replaces the C library's. So the end is a moment, the clock is the
// kernel's own, and looks count where even that one does not continue.

#include <strata/base/macros.hpp>

#include <cstdint>

#if defined(__linux__)
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#endif

STRATA_BEGIN_LIGHT
namespace detail {

/// CLOCK_MONOTONIC of the kernel itself. Units: ns. Cost: a system call.
inline std::int64_t kernel_ns() noexcept {
  timespec now{};
#if defined(SYS_clock_gettime)
  if (syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now) != 0)
#endif
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// A moment until which something is waited for. Threads: one.
template <std::int64_t (*clock)() noexcept>
class deadline_by {
 public:
  explicit deadline_by(std::int64_t wait_ns) noexcept : wait_ns_(wait_ns), seen_ns_(clock()) {
    latest_ns_ = seen_ns_ + wait_ns;
  }

  /// Whether the wait continues. A look at a clock that stands still takes 0.2 ms.
  bool lasts() noexcept {
    std::int64_t const now = clock();
    if (now >= latest_ns_) return false;
    if (now > seen_ns_) {
      seen_ns_ = now;
      return true;
    }
    rest();
    still_ns_ += rest_ns;
    return still_ns_ < wait_ns_;
  }

  /// How long to wait for an event, 0 at the end. Units: milliseconds, rounded up.
  int left_ms() const noexcept {
    constexpr std::int64_t ms = 1'000'000;
    std::int64_t const left = latest_ns_ - clock();
    return left <= 0 ? 0 : static_cast<int>((left + ms - 1) / ms);
  }

 private:
  static constexpr std::int64_t rest_ns = 200'000;

  static void rest() noexcept {
    timespec const moment{0, static_cast<long>(rest_ns)};
    (void)nanosleep(&moment, nullptr);
  }

  std::int64_t wait_ns_;
  std::int64_t seen_ns_;
  std::int64_t latest_ns_ = 0;
  std::int64_t still_ns_ = 0;  // that the clock stood still
};
using deadline = deadline_by<&kernel_ns>;

}  // namespace detail
STRATA_END_LIGHT

#endif  // STRATA_BASE_DEADLINE_HPP
