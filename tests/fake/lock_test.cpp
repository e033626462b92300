// Locks: no call of the driver or CUPTI is made under one that is for memory alone, and no capture
// of another thread waits long for Strata's. Each session of these tests asks the first.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <strata/base/threads.hpp>
#include <strata/collect/cuda/contexts.hpp>
#include <strata/collect/cuda/cupti_library.hpp>
#include <thread>

#include "fake_session.hpp"

namespace lock_test {

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

TEST_CASE("the end of a window waits less than 5 ms for captures, and so do captures for it") {
  traced s("every=2,active=1");
  double shortest_ms = 1e9;  // a loaded machine adds its own
  for (int window = 0; window < 20; ++window) {
    { STRATA_STEP(); }
    auto step = std::make_unique<strata::scoped_step>();
    launch();
    std::atomic<bool> captures{false};
    std::atomic<bool> ends{false};
    std::thread capture([&] {
      (void)fake_begin_capture(40);
      captures.store(true);
      while (!ends.load()) std::this_thread::yield();
      fake_graph_destroy(fake_end_capture(40));
    });
    while (!captures.load()) std::this_thread::yield();
    auto const begin = std::chrono::steady_clock::now();
    step.reset();  // until then, no other thread's capture begins
    shortest_ms = std::min(shortest_ms, ms_since(begin));
    ends.store(true);
    capture.join();
    { STRATA_STEP(); }  // the window ends
    { STRATA_STEP(); }
  }
  CHECK(shortest_ms > 3.0);  // it does wait
  CHECK(shortest_ms < 50.0);
}

}  // namespace lock_test
