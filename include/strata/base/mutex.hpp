#include <strata/version.hpp>
#ifndef STRATA_BASE_MUTEX_HPP
#define STRATA_BASE_MUTEX_HPP

#include <strata/base/atomic.hpp>
#include <strata/base/macros.hpp>

#if defined(__linux__) || defined(__APPLE__)
#include <pthread.h>
#include <sched.h>
#include <time.h>
#else
#include <mutex>
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

/// A mutex for what happens a few times in a process. A thread that waits long, for the start of a
/// session say, sleeps. Threads: any.
class spin_mutex {
 public:
  void lock() noexcept {
    for (unsigned turn = 0; taken_.exchange(true, memory_order_acquire); ++turn) wait_a_turn(turn);
  }
  void unlock() noexcept { taken_.store(false, memory_order_release); }

 private:
  atomic<bool> taken_{false};
};

#if defined(__linux__) || defined(__APPLE__)
/// The system's mutex, for what is held longer or often. It is std::mutex without <mutex>, which
/// takes a compiler as long as <string>. Threads: any.
class system_mutex {
 public:
  constexpr system_mutex() noexcept = default;
  system_mutex(system_mutex const&) = delete;
  system_mutex& operator=(system_mutex const&) = delete;

  void lock() noexcept { pthread_mutex_lock(&mutex_); }
  bool try_lock() noexcept { return pthread_mutex_trylock(&mutex_) == 0; }
  void unlock() noexcept { pthread_mutex_unlock(&mutex_); }

 private:
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};
#else
using system_mutex = std::mutex;
#endif

/// Holds a mutex while it lives.
template <class Mutex>
class lock_of {
 public:
  explicit lock_of(Mutex& which) noexcept : which_(&which) { which_->lock(); }
  ~lock_of() { which_->unlock(); }
  lock_of(lock_of const&) = delete;
  lock_of& operator=(lock_of const&) = delete;

 private:
  Mutex* which_;
};
using spin_lock = lock_of<spin_mutex>;
using system_lock = lock_of<system_mutex>;

}  // namespace detail

STRATA_END

#endif  // STRATA_BASE_MUTEX_HPP
