#ifndef STRATA_TESTS_ENDING_THREADS_HPP
#define STRATA_TESTS_ENDING_THREADS_HPP

#include <chrono>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <thread>

#include "sanitizers.hpp"

namespace test {

/// Before main returns: a thread that ends while LeakSanitizer searches breaks the search.
/// Threads that do not end are not waited for longer than 0.2 s.
inline void await_ending_threads() {
  if (!address_sanitized) return;
  for (int i = 0; i < 200; ++i) {
    std::error_code error;
    std::filesystem::directory_iterator const all("/proc/self/task", error);
    if (error || std::distance(begin(all), end(all)) < 2) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace test

#endif  // STRATA_TESTS_ENDING_THREADS_HPP
