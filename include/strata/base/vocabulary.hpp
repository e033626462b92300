#ifndef STRATA_BASE_VOCABULARY_HPP
#define STRATA_BASE_VOCABULARY_HPP

// What Strata needs of std::pair, std::optional, std::unique_ptr and std::function, each of which
// compiles many functions for each type.

#include <strata/base/macros.hpp>

#include <new>
#include <utility>

STRATA_BEGIN_LIGHT
namespace detail {

/// The base of what is neither copied nor moved.
class uncopied {
 public:
  uncopied(uncopied const&) = delete;
  uncopied& operator=(uncopied const&) = delete;

 protected:
  uncopied() = default;
  ~uncopied() = default;
};

/// Two values, ordered by the first and then the second: std::pair compiles four functions a type.
template <class First, class Second>
struct pair {
  First first;
  Second second;

  friend bool operator==(pair const& a, pair const& b) {
    return a.first == b.first && a.second == b.second;
  }
  friend bool operator<(pair const& a, pair const& b) {
    return a.first < b.first || (!(b.first < a.first) && a.second < b.second);
  }
};

/// A value that may be absent, stored in place. std::optional compiles twenty functions a type.
template <class Value>
class maybe {
 public:
  maybe() noexcept {}
  maybe(maybe const&) = delete;
  maybe& operator=(maybe const&) = delete;
  ~maybe() { reset(); }

  template <class... From>
  void emplace(From&&... from) {
    reset();
    ::new (static_cast<void*>(&value_)) Value(static_cast<From&&>(from)...);
    there_ = true;
  }
  void reset() noexcept {
    if (!there_) return;
    there_ = false;
    value_.~Value();
  }

  STRATA_DETAIL_ALWAYS_INLINE explicit operator bool() const noexcept { return there_; }
  STRATA_DETAIL_ALWAYS_INLINE Value& operator*() noexcept { return value_; }
  STRATA_DETAIL_ALWAYS_INLINE Value* operator->() noexcept { return &value_; }
  STRATA_DETAIL_ALWAYS_INLINE Value const* operator->() const noexcept { return &value_; }

 private:
  union {
    Value value_;
  };
  bool there_ = false;
};

/// One value on the heap, where it stays: std::unique_ptr without <memory>.
template <class Value>
class owned {
 public:
  explicit owned(Value* made) noexcept : value_(made) {}
  owned(owned&& from) noexcept : value_(std::exchange(from.value_, nullptr)) {}
  owned& operator=(owned&& from) noexcept {
    std::swap(value_, from.value_);
    return *this;
  }
  ~owned() { delete value_; }

  Value& operator*() const noexcept { return *value_; }
  Value* operator->() const noexcept { return value_; }
  /// From now on it is the caller's.
  Value* release() noexcept { return std::exchange(value_, nullptr); }

 private:
  Value* value_;
};

STRATA_DETAIL_COLD_CODE

/// Something to call, for the time of a call that takes it: one body serves all that it is called
/// with, where a template is compiled for each. For what is cold.
template <class Signature>
class callback;
template <class Result, class... Given>
class callback<Result(Given...)> {
 public:
  template <class Body>
  STRATA_DETAIL_ALWAYS_INLINE callback(Body const& body) noexcept
      : body_(&body), run_(&run<Body>) {}

  Result operator()(Given... given) const { return run_(body_, given...); }

 private:
  template <class Body>
  static Result run(void const* body, Given... given) {
    return (*static_cast<Body const*>(body))(given...);
  }

  void const* body_;
  Result (*run_)(void const*, Given...);
};

STRATA_DETAIL_END_CODE

}  // namespace detail
STRATA_END_LIGHT

#endif  // STRATA_BASE_VOCABULARY_HPP
