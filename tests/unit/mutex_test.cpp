#include <strata/base/mutex.hpp>

#include <doctest/doctest.h>

#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <thread>

TEST_CASE("a thread that waits long for a spin_mutex sleeps") {
  strata::detail::spin_mutex mutex;
  mutex.lock();
  std::int64_t spent_ns = 0;
  std::thread waiting([&] {
    mutex.lock();
    timespec used{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    spent_ns = std::int64_t{used.tv_sec} * 1'000'000'000 + used.tv_nsec;
    mutex.unlock();
  });
  usleep(300'000);
  mutex.unlock();
  waiting.join();
  CHECK(spent_ns < 60'000'000);
}
