// Locks: no call of the driver or CUPTI is made under one that is for memory alone, and no capture
// of another thread waits long for Strata's. Each session of these tests asks the first.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <strata/base/threads.hpp>
#include <strata/collect/cuda/contexts.hpp>
#include <strata/collect/cuda/cupti_library.hpp>
#include <thread>

#include "fake_session.hpp"

using fake::launch;
using fake::traced;
namespace detail = strata::detail;

namespace {

void call_cupti() {
  std::uint64_t now = 0;
  (void)detail::cupti_library::get().api.get_timestamp(&now);
}

double ms_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
      .count();
}

/// A thread that captures graphs one after the other, and how long the longest begin took.
class capturing_thread {
 public:
  explicit capturing_thread(std::uint32_t stream) : thread_([this, stream] { run(stream); }) {
    while (captures_.load() == 0) std::this_thread::yield();
  }
  ~capturing_thread() {
    goes_on_.store(false);
    thread_.join();
  }
  capturing_thread(capturing_thread const&) = delete;
  capturing_thread& operator=(capturing_thread const&) = delete;

  double longest_ms() const { return longest_ms_.load(); }

 private:
  void run(std::uint32_t stream) {
    while (goes_on_.load()) {
      auto const begin = std::chrono::steady_clock::now();
      (void)fake_begin_capture(stream);
      longest_ms_.store(std::max(longest_ms_.load(), ms_since(begin)));
      fake_graph_destroy(fake_end_capture(stream));
      captures_.fetch_add(1);
    }
  }

  std::atomic<bool> goes_on_{true};
  std::atomic<int> captures_{0};
  std::atomic<double> longest_ms_{0};
  std::thread thread_;
};

}  // namespace

TEST_CASE("a call under a lock for memory is found, one under a lock for calls is none") {
  fake_set_lock_question(&fake::holds_lock);
  call_cupti();
  {
    detail::system_mutex of_calls(detail::held_over::calls);
    detail::system_lock const lock(of_calls);
    call_cupti();
    (void)detail::capture_guard::current();
  }
  CHECK(fake_calls_under_lock() == 0);
  detail::system_mutex of_memory;
  {
    detail::system_lock const lock(of_memory);
    call_cupti();
    (void)detail::capture_guard::current();
  }
  CHECK(fake_calls_under_lock() == 2);
  detail::spin_mutex spinning;
  {
    detail::spin_lock const lock(spinning);
    call_cupti();
  }
  CHECK(fake_calls_under_lock() == 3);
  fake_set_lock_question(nullptr);
}

TEST_CASE("another thread's capture waits less than 5 ms for the end of a window") {
  traced s("every=2,active=1");
  double shortest_ms = 1e9;  // of the longest wait in each window: a loaded machine adds its own
  double longest_ms = 0;
  for (int window = 0; window < 12; ++window) {
    { STRATA_STEP(); }
    std::atomic<bool> captures{false};
    std::atomic<bool> ends{false};
    std::thread long_capture([&] {
      (void)fake_begin_capture(40);
      captures.store(true);
      while (!ends.load()) std::this_thread::yield();
      fake_graph_destroy(fake_end_capture(40));
    });
    while (!captures.load()) std::this_thread::yield();
    {
      capturing_thread const other(41);
      {
        STRATA_STEP();
        launch();
      }  // waits for the long capture
      shortest_ms = std::min(shortest_ms, other.longest_ms());
      longest_ms = std::max(longest_ms, other.longest_ms());
    }
    ends.store(true);
    long_capture.join();
    { STRATA_STEP(); }  // the window ends
    { STRATA_STEP(); }
  }
  CHECK(shortest_ms < 6.0);
  CHECK(longest_ms > 1.0);
}
