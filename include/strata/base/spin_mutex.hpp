#include <strata/version.hpp>
#ifndef STRATA_BASE_SPIN_MUTEX_HPP
#define STRATA_BASE_SPIN_MUTEX_HPP

#include <strata/base/macros.hpp>

#include <atomic>

#if defined(__linux__) || defined(__APPLE__)
#include <sched.h>
#include <time.h>
#endif

STRATA_BEGIN

namespace detail {

/// Lets another thread have the CPU.
inline void yield_thread() noexcept {
#if defined(__linux__) || defined(__APPLE__)
  sched_yield();
#endif
}

/// Lets other threads have the CPU: for a moment, and from the 64th turn of a wait on for 0.2 ms.
inline void wait_a_turn(unsigned turn) noexcept {
  if (turn < 64) return yield_thread();
#if defined(__linux__) || defined(__APPLE__)
  timespec const moment{0, 200'000};
  nanosleep(&moment, nullptr);
#endif
}

/// A mutex for what happens a few times in a process: <mutex> alone is most of the cost of
/// including ranges. A thread that waits long, for the start of a session say, sleeps. Threads:
/// any.
class spin_mutex {
 public:
  void lock() noexcept {
    for (unsigned turn = 0; taken_.exchange(true, std::memory_order_acquire); ++turn)
      wait_a_turn(turn);
  }
  void unlock() noexcept { taken_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> taken_{false};
};

/// Holds a spin_mutex while it lives.
class spin_lock {
 public:
  explicit spin_lock(spin_mutex& which) noexcept : which_(&which) { which_->lock(); }
  ~spin_lock() { which_->unlock(); }
  spin_lock(spin_lock const&) = delete;
  spin_lock& operator=(spin_lock const&) = delete;

 private:
  spin_mutex* which_;
};

}  // namespace detail

STRATA_END

#endif  // STRATA_BASE_SPIN_MUTEX_HPP
