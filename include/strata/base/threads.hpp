#ifndef STRATA_BASE_THREADS_HPP
#define STRATA_BASE_THREADS_HPP

// What threads share: std::atomic without <atomic>, which is a tenth of what a source file with
// ranges would include and ten functions for each type at -O0, and mutexes.

#include <strata/base/macros.hpp>

#include <cstdint>

#if defined(__linux__)
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#endif

STRATA_BEGIN_LIGHT
namespace detail {

enum memory_order : int {
  memory_order_relaxed = __ATOMIC_RELAXED,
  memory_order_acquire = __ATOMIC_ACQUIRE,
  memory_order_release = __ATOMIC_RELEASE,
  memory_order_acq_rel = __ATOMIC_ACQ_REL,
  memory_order_seq_cst = __ATOMIC_SEQ_CST
};

/// std::atomic of a number, a pointer, a bool or an enumerator, as far as the library needs it.
template <class Value>
class atomic {
  static_assert(__is_trivially_copyable(Value) && sizeof(Value) <= 8, "the processor has it");

 public:
  constexpr atomic() noexcept = default;
  constexpr atomic(Value value) noexcept : value_(value) {}
  atomic(atomic const&) = delete;
  atomic& operator=(atomic const&) = delete;

  STRATA_DETAIL_ALWAYS_INLINE Value load(memory_order order = memory_order_seq_cst) const noexcept {
    Value now;
    __atomic_load(&value_, &now, order);
    return now;
  }
  STRATA_DETAIL_ALWAYS_INLINE operator Value() const noexcept { return load(); }

  STRATA_DETAIL_ALWAYS_INLINE void store(Value value,
                                         memory_order order = memory_order_seq_cst) noexcept {
    __atomic_store(&value_, &value, order);
  }
  STRATA_DETAIL_ALWAYS_INLINE Value operator=(Value value) noexcept {
    store(value);
    return value;
  }

  STRATA_DETAIL_ALWAYS_INLINE Value exchange(Value value,
                                             memory_order order = memory_order_seq_cst) noexcept {
    Value former;
    __atomic_exchange(&value_, &value, &former, order);
    return former;
  }

  /// Puts `next` in the place of `expected`; where another value is, it becomes `expected`.
  STRATA_DETAIL_ALWAYS_INLINE bool compare_exchange_strong(
      Value& expected, Value next, memory_order order = memory_order_seq_cst) noexcept {
    return __atomic_compare_exchange(&value_, &expected, &next, false, order,
                                     order == memory_order_acq_rel   ? memory_order_acquire
                                     : order == memory_order_release ? memory_order_relaxed
                                                                     : order);
  }

  STRATA_DETAIL_ALWAYS_INLINE Value fetch_add(Value more,
                                              memory_order order = memory_order_seq_cst) noexcept {
    return __atomic_fetch_add(&value_, more, order);
  }
  STRATA_DETAIL_ALWAYS_INLINE Value fetch_sub(Value less,
                                              memory_order order = memory_order_seq_cst) noexcept {
    return __atomic_fetch_sub(&value_, less, order);
  }
  STRATA_DETAIL_ALWAYS_INLINE Value operator++() noexcept { return fetch_add(1) + 1; }
  STRATA_DETAIL_ALWAYS_INLINE Value operator--() noexcept { return fetch_sub(1) - 1; }

 private:
  alignas(sizeof(Value)) Value value_{};
};

#if defined(__linux__)  // the rest is for what records

/// Lets another thread have the CPU.
inline void yield_thread() noexcept { sched_yield(); }

/// Lets other threads have the CPU: for a moment, and from the 64th turn of a wait on for 0.2 ms.
inline void wait_a_turn(unsigned turn) noexcept {
  if (turn < 64) return yield_thread();
  timespec const moment{0, 200'000};
  nanosleep(&moment, nullptr);
}

/// What a thread may call while it holds a mutex. Where that is nothing of others, a call of the
/// driver or CUPTI, which may wait for a device or call back, is an error that the tests find.
enum class held_over : int { memory = 1, calls = 1 << 16 };

/// A mutex for what happens a few times in a process. A thread that waits long, for the start of a
/// session say, sleeps. Threads: any.
class spin_mutex {
 public:
  constexpr spin_mutex() noexcept = default;
  constexpr explicit spin_mutex(held_over what) noexcept : weight_(static_cast<int>(what)) {}
  spin_mutex(spin_mutex const&) = delete;
  spin_mutex& operator=(spin_mutex const&) = delete;

  int weight() const noexcept { return weight_; }
  void lock() noexcept {
    for (unsigned turn = 0; taken_.exchange(true, memory_order_acquire); ++turn) wait_a_turn(turn);
  }
  bool try_lock() noexcept { return !taken_.exchange(true, memory_order_acquire); }
  void unlock() noexcept { taken_.store(false, memory_order_release); }

 private:
  atomic<bool> taken_{false};
  int weight_ = static_cast<int>(held_over::memory);
};

/// The system's mutex, for what is held longer or often. It is std::mutex without <mutex>, which
/// takes a compiler as long as <string>. Threads: any.
class system_mutex {
 public:
  constexpr system_mutex() noexcept = default;
  constexpr explicit system_mutex(held_over what) noexcept : weight_(static_cast<int>(what)) {}
  system_mutex(system_mutex const&) = delete;
  system_mutex& operator=(system_mutex const&) = delete;

  int weight() const noexcept { return weight_; }
  void lock() noexcept { pthread_mutex_lock(&mutex_); }
  bool try_lock() noexcept { return pthread_mutex_trylock(&mutex_) == 0; }
  void unlock() noexcept { pthread_mutex_unlock(&mutex_); }

 private:
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  int weight_ = static_cast<int>(held_over::memory);
};

/// Locks a mutex, unless it stays taken for so many milliseconds. Returns: whether it is locked.
inline bool lock_within(system_mutex& which, unsigned patience_ms) noexcept {
  constexpr unsigned turns_of_ms = 5;  // as wait_a_turn sleeps
  constexpr unsigned at_first = 64;
  constexpr unsigned longest = (~0u - at_first) / turns_of_ms;  // 9.9 days
  unsigned const most = at_first + (patience_ms < longest ? patience_ms : longest) * turns_of_ms;
  for (unsigned turn = 0; !which.try_lock(); ++turn) {
    if (turn >= most) return false;
    wait_a_turn(turn);
  }
  return true;
}

/// The weights of the mutexes that the calling thread holds, or waits for.
STRATA_DETAIL_OF_MODULE inline int& locks_of_this_thread() noexcept {
  static thread_local int sum = 0;
  return sum;
}

/// Holds a mutex while it lives.
template <class Mutex>
class lock_of {
 public:
  explicit lock_of(Mutex& which) noexcept : which_(&which) {
    locks_of_this_thread() += which_->weight();
    which_->lock();
  }
  ~lock_of() {
    which_->unlock();
    locks_of_this_thread() -= which_->weight();
  }
  lock_of(lock_of const&) = delete;
  lock_of& operator=(lock_of const&) = delete;

 private:
  Mutex* which_;
};
using spin_lock = lock_of<spin_mutex>;
using system_lock = lock_of<system_mutex>;

#endif

}  // namespace detail
STRATA_END_LIGHT

#endif  // STRATA_BASE_THREADS_HPP
