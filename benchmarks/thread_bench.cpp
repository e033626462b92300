// What a recorded range costs while several threads record. Each thread counts its own processor
// time, so a machine with fewer cores than threads still tells the cost of a range; two clock reads
// stand beside it, since they too slow down where threads share a core.
#include "host_session.hpp"

#include <benchmark/benchmark.h>
#include <strata/base/clock.hpp>
#include <strata/profile.hpp>
#include <strata/strata.hpp>

#include <time.h>

#include <atomic>
#include <cstdint>
#include <numeric>
#include <thread>
#include <vector>

namespace {

constexpr std::int64_t ranges_a_thread = 1 << 18;

double thread_seconds() noexcept {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Runs `work` in so many threads that begin together: the mean of their processor times.
template <class Work>
double in_threads(int count, Work work) {
  std::atomic<int> ready{0};
  std::vector<double> seconds(static_cast<std::size_t>(count), 0.0);
  std::vector<std::thread> threads;
  for (int t = 0; t < count; ++t) {
    threads.emplace_back([&, t] {
      work(1);  // the thread's recorder and the session's first block
      ready.fetch_add(1);
      while (ready.load() < count) std::this_thread::yield();
      double const begin = thread_seconds();
      work(ranges_a_thread);
      seconds[static_cast<std::size_t>(t)] = thread_seconds() - begin;
    });
  }
  for (std::thread& thread : threads) thread.join();
  return std::accumulate(seconds.begin(), seconds.end(), 0.0) / count;
}

void recording(benchmark::State& state) {
  int const count = static_cast<int>(state.range(0));
  auto const work = [](std::int64_t ranges) {
    for (std::int64_t i = 0; i < ranges; ++i) {
      STRATA_RANGE("range");
      benchmark::ClobberMemory();
    }
  };
  strata::session s{bench::host_only()};
  (void)s.start();
  (void)in_threads(count, work);  // touches the memory that the next session uses
  s.stop();
  (void)s.start();
  for (auto _ : state) state.SetIterationTime(in_threads(count, work));
  auto const expected = static_cast<std::size_t>((ranges_a_thread + 1) * count);
  if (s.profile().ranges.size() != expected) state.SkipWithError("not every range was recorded");
  state.counters["ranges"] = static_cast<double>(ranges_a_thread);
}

void two_ticks(benchmark::State& state) {
  strata::detail::tick_source const clock;
  auto const work = [&clock](std::int64_t ranges) {
    for (std::int64_t i = 0; i < ranges; ++i) {
      std::int64_t begin = clock.now();
      benchmark::DoNotOptimize(begin);
      benchmark::ClobberMemory();
      std::int64_t end = clock.now();
      benchmark::DoNotOptimize(end);
    }
  };
  int const count = static_cast<int>(state.range(0));
  for (auto _ : state) state.SetIterationTime(in_threads(count, work));
  state.counters["ranges"] = static_cast<double>(ranges_a_thread);
}

}  // namespace

int main(int argc, char** argv) {
  bench::clear_environment();
  bench::keep_freed_memory();
  auto const add = [](char const* name, void (*how)(benchmark::State&)) {
    benchmark::RegisterBenchmark(name, how)
        ->Arg(1)
        ->Arg(2)
        ->Arg(4)
        ->Arg(8)
        ->Iterations(1)
        ->UseManualTime();
  };
  add("recording", &recording);
  add("clock pair, ticks", &two_ticks);
  benchmark::AddCustomContext("compiler", bench::compiler);
  benchmark::AddCustomContext("flags", BENCH_FLAGS);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
