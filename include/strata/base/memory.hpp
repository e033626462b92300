#include <strata/version.hpp>
#ifndef STRATA_BASE_MEMORY_HPP
#define STRATA_BASE_MEMORY_HPP

#include <strata/base/macros.hpp>

#include <cstdio>
#include <cstdlib>
#include <new>

STRATA_DETAIL_COLD_CODE
STRATA_BEGIN
namespace detail {

/// Memory is short: throws std::bad_alloc. Without exceptions the program ends, and it is said why.
[[noreturn]] STRATA_DETAIL_COLD inline void out_of_memory() {
#if defined(__cpp_exceptions)
  throw std::bad_alloc();
#else
  std::fputs("strata: memory is short: without exceptions the program ends\n", stderr);
  std::abort();
#endif
}

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

/// Runs a body. Returns: false where it ended for want of memory; without exceptions the program
/// ends then.
inline bool if_memory_allows(callback<void()> body) noexcept {
#if defined(__cpp_exceptions)
  try {
    body();
  } catch (std::bad_alloc const&) {
    return false;
  }
#else
  body();
#endif
  return true;
}

}  // namespace detail
STRATA_END
STRATA_DETAIL_END_CODE

#endif  // STRATA_BASE_MEMORY_HPP
