// g++'s names of the sanitizers, for clang++ too, and whether one of them watches.
#ifndef STRATA_TESTS_SANITIZERS_HPP
#define STRATA_TESTS_SANITIZERS_HPP

#if defined(__has_feature)
#if __has_feature(address_sanitizer) && !defined(__SANITIZE_ADDRESS__)
#define __SANITIZE_ADDRESS__ 1
#endif
#if __has_feature(thread_sanitizer) && !defined(__SANITIZE_THREAD__)
#define __SANITIZE_THREAD__ 1
#endif
#endif

namespace test {

#if defined(__SANITIZE_THREAD__)
constexpr bool thread_sanitized = true;
#else
constexpr bool thread_sanitized = false;
#endif
#if defined(__SANITIZE_ADDRESS__)
constexpr bool address_sanitized = true;
#else
constexpr bool address_sanitized = false;
#endif
constexpr bool sanitized = thread_sanitized || address_sanitized;

/// How many random programs a test of numbers tries: a sanitizer sees in the first of them what it
/// sees in all.
template <class Count>
constexpr Count trials(Count usual) {
  return sanitized ? Count{1} : usual;
}

}  // namespace test

#endif  // STRATA_TESTS_SANITIZERS_HPP
