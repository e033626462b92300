#include <strata/base/threads.hpp>

#include <doctest/doctest.h>

#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <initializer_list>
#include <thread>

namespace threads_test {

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

TEST_CASE("a patience of many days is no short one") {
  strata::detail::system_mutex mutex;
  for (unsigned const patience_ms : {858'993'460u, 4'294'967'295u}) {
    mutex.lock();
    bool taken = false;
    std::thread waiting([&] {
      taken = strata::detail::lock_within(mutex, patience_ms);
      if (taken) mutex.unlock();
    });
    usleep(200'000);
    mutex.unlock();
    waiting.join();
    CHECK(taken);
  }
}

TEST_CASE("an atomic loses nothing that several threads add") {
  strata::detail::atomic<std::uint32_t> sum{0};
  strata::detail::atomic<bool> taken{false};
  std::uint64_t guarded = 0;
  auto const work = [&] {
    for (int i = 0; i < 20'000; ++i) {
      sum.fetch_add(1, strata::detail::memory_order_relaxed);
      while (taken.exchange(true, strata::detail::memory_order_acquire)) std::this_thread::yield();
      ++guarded;
      taken.store(false, strata::detail::memory_order_release);
    }
  };
  std::thread other(work);
  work();
  other.join();
  CHECK(sum.load() == 40'000);
  CHECK(guarded == 40'000);
}

TEST_CASE("an exchange with another value than the expected one says what is there") {
  enum class stage : unsigned char { begun, ended };
  strata::detail::atomic<stage> now{stage::ended};
  stage expected = stage::begun;
  CHECK_FALSE(now.compare_exchange_strong(expected, stage::begun));
  CHECK(expected == stage::ended);
  CHECK(now.compare_exchange_strong(expected, stage::begun));
  CHECK(now.load() == stage::begun);
}

}  // namespace threads_test
