// Holds tests to one thread: where STRATA_TEST_ONE_THREAD is set, a run that made another one
// fails.
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <pthread.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "listener.hpp"

namespace {

std::atomic<unsigned> threads_made{0};

struct one_thread : empty_listener {
  explicit one_thread(doctest::ContextOptions const&) {}
  void test_run_end(doctest::TestRunStats const&) override {
    if (threads_made == 0 || std::getenv("STRATA_TEST_ONE_THREAD") == nullptr) return;
    std::printf("%u threads were made: add this file to threaded in tests/CMakeLists.txt\n",
                threads_made.load());
    std::fflush(stdout);
    std::_Exit(1);
  }
};

REGISTER_LISTENER("one_thread", 1, one_thread);

}  // namespace

// In place of the C library's, for the C++ library too.
extern "C" int pthread_create(pthread_t* made, pthread_attr_t const* attributes,
                              void* (*run)(void*), void* of) noexcept {
  using creator = int(pthread_t*, pthread_attr_t const*, void* (*)(void*), void*);
  static auto* const create = reinterpret_cast<creator*>(dlsym(RTLD_NEXT, "pthread_create"));
  threads_made.fetch_add(1);
  return create(made, attributes, run, of);
}
