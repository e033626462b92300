// Waiting in tests: a test that hangs for minutes says nothing, so no loop waits without an end.
#ifndef STRATA_TESTS_PATIENCE_HPP
#define STRATA_TESTS_PATIENCE_HPP

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace test {

/// Returns when `done()` is true; until then `meanwhile()` is called again and again. After ten
/// minutes the program ends, and doctest names the case: other threads may wait for the same, and
/// cannot be ended.
template <class Done, class Meanwhile>
void await(Done done, Meanwhile meanwhile) {
  auto const begin = std::chrono::steady_clock::now();
  while (!done()) {
    meanwhile();
    if (std::chrono::steady_clock::now() - begin < std::chrono::minutes(10)) continue;
    std::fputs("a test waited for ten minutes in vain\n", stderr);
    std::abort();
  }
}
template <class Done>
void await(Done done) {
  await(done, [] { std::this_thread::yield(); });
}

}  // namespace test

#endif  // STRATA_TESTS_PATIENCE_HPP
