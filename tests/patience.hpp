// Waiting in tests: a test that hangs for minutes says nothing, so no loop waits without an end.
#ifndef STRATA_TESTS_PATIENCE_HPP
#define STRATA_TESTS_PATIENCE_HPP

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace test {

/// Returns when `done()` is true; until then `meanwhile()` is called again and again. After 20 s
/// the program ends with the place of the call: other threads may wait for the same, and cannot be
/// ended.
template <class Done, class Meanwhile>
void await(Done done, Meanwhile meanwhile, char const* file = __builtin_FILE(),
           int line = __builtin_LINE()) {
  auto const begin = std::chrono::steady_clock::now();
  while (!done()) {
    meanwhile();
    if (std::chrono::steady_clock::now() - begin < std::chrono::seconds(20)) continue;
    std::fprintf(stderr, "%s:%d: waited for 20 s in vain\n", file, line);
    std::abort();
  }
}
template <class Done>
void await(Done done, char const* file = __builtin_FILE(), int line = __builtin_LINE()) {
  await(
      done, [] { std::this_thread::yield(); }, file, line);
}

}  // namespace test

#endif  // STRATA_TESTS_PATIENCE_HPP
