#include <strata/version.hpp>
#ifndef STRATA_BASE_ATOMIC_HPP
#define STRATA_BASE_ATOMIC_HPP

// std::atomic without <atomic>, which is a tenth of what a source file with ranges includes. At -O0
// its members are inlined, too: the standard one's are ten functions for each type.

#include <strata/base/macros.hpp>

#if !defined(__GNUC__)
#include <atomic>
#endif

STRATA_BEGIN

namespace detail {

#if defined(__GNUC__)

enum memory_order : int {
  memory_order_relaxed = __ATOMIC_RELAXED,
  memory_order_acquire = __ATOMIC_ACQUIRE,
  memory_order_release = __ATOMIC_RELEASE,
  memory_order_acq_rel = __ATOMIC_ACQ_REL,
  memory_order_seq_cst = __ATOMIC_SEQ_CST
};

/// A number, a pointer, a bool or an enumerator that threads share, with the part of std::atomic's
/// interface that the library needs.
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
  Value value_{};
};

#else

using std::atomic;
using std::memory_order_acq_rel;
using std::memory_order_acquire;
using std::memory_order_relaxed;
using std::memory_order_release;
using std::memory_order_seq_cst;

#endif

}  // namespace detail

STRATA_END

#endif  // STRATA_BASE_ATOMIC_HPP
