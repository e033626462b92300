// No search for leaks in a forked child: LeakSanitizer waits there for the allocator's lock, which
// a thread that the child has not may have held at the fork. For one file of each program that
// forks and lets the child end by exit.
#ifndef STRATA_TESTS_FORKED_LEAKS_HPP
#define STRATA_TESTS_FORKED_LEAKS_HPP

#include <unistd.h>

namespace forked_leaks {

inline pid_t const parent = ::getpid();

}  // namespace forked_leaks

/// Source: sanitizer/lsan_interface.h.
extern "C" [[gnu::used, gnu::visibility("default")]] inline int __lsan_is_turned_off() {
  return ::getpid() != forked_leaks::parent;
}

#endif  // STRATA_TESTS_FORKED_LEAKS_HPP
