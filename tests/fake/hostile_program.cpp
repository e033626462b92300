// A random program that is hard on a profiler: `hostile_program SEED`. Threads launch, capture and
// open ranges while windows come and go; the GPU may stop at any kernel, for a while or for good;
// a child may be forked; it ends in some way at some moment. hostile_test runs it with STRATA and
// without: what it prints, and how it ends, are the same.
#include <strata/strata.hpp>

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "../forked_leaks.hpp"
#include "fake.hpp"

namespace {

template <class Function>
Function* control(char const* name) {
  static void* const cupti = dlopen(std::getenv("FAKE_CUPTI_FILE"), RTLD_NOW);
  return reinterpret_cast<Function*>(dlsym(cupti, name));
}
#define CONTROL(name) control<decltype(name)>(#name)

/// One thread's dice: the same numbers with Strata and without.
class dice {
 public:
  explicit dice(std::uint32_t seed) : random_(seed) {}
  unsigned below(unsigned end) { return static_cast<unsigned>(random_()) % end; }
  bool one_in(unsigned chances) { return below(chances) == 0; }

 private:
  std::mt19937 random_;
};

std::atomic<bool> goes_on{true};
std::atomic<unsigned> broken_captures{0};

void launch(std::uint32_t stream) {
  fake_kernel kernel;
  kernel.name = "kernel";
  kernel.stream = stream;
  (void)CONTROL(fake_launch)(&kernel);
}

void graph(std::uint32_t stream, unsigned kernels) {
  STRATA_RANGE("graph");
  (void)CONTROL(fake_begin_capture)(stream);
  for (unsigned i = 0; i < kernels; ++i) launch(stream);
  fake_graph_t const captured = CONTROL(fake_end_capture)(stream);
  if (captured == 0) {
    broken_captures.fetch_add(1);
    return;
  }
  fake_graph_t const executable = CONTROL(fake_graph_clone)(captured);
  (void)CONTROL(fake_graph_launch)(executable, stream);
  CONTROL(fake_graph_destroy)(executable);
  CONTROL(fake_graph_destroy)(captured);
}

/// More than a small budget holds.
void many_ranges(unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    STRATA_RANGE("many", i % 3000);
  }
}

void work(dice& by, std::uint32_t stream) {
  STRATA_RANGE("work", by.below(3));
  unsigned const what = by.below(12);
  if (what < 6) launch(stream);
  if (what == 6 || what == 7) graph(stream + 50, 1 + by.below(3));
  if (what == 8) many_ranges(by.below(5000));
  if (what == 9) (void)CONTROL(fake_malloc)(4096 * (1 + by.below(9)), 64, 3, 0);
  if (what == 10) (void)CONTROL(fake_copy)(1, 64, stream, 10);
  if (what == 11) usleep(by.below(500));
}

void keep_working(std::uint32_t seed, std::uint32_t stream) {
  dice own(seed);
  while (goes_on.load()) {
    STRATA_RANGE("thread");
    work(own, stream);
  }
}

/// The GPU stops at the next kernel, for some ms or for good.
void stop_gpu(unsigned blocked, unsigned ms) {
  CONTROL(fake_hold)(1);
  launch(9);
  CONTROL(fake_hang)(blocked);
  if (ms == 0) return;
  std::thread([ms] {
    usleep(ms * 1000);
    CONTROL(fake_hang)(0);
    CONTROL(fake_hold)(0);
  }).detach();
}

void fork_child() {
  std::fflush(nullptr);
  pid_t const child = fork();
  if (child == 0) {
    {
      STRATA_RANGE("child");
      launch(7);
    }
    std::exit(5);
  }
  int status = 0;
  while (waitpid(child, &status, 0) != child) {
  }
  std::printf("child %d\n", status);
}

[[noreturn]] void wait_for_end() {
  for (;;) pause();
}

int end(unsigned way) {
  if (way == 0) std::exit(4);
  if (way == 1) std::quick_exit(5);
  if (way == 2) {
    std::thread([] { std::exit(6); }).detach();
    wait_for_end();
  }
  return 3;
}

}  // namespace

int main(int, char** words) {
  dice all(static_cast<std::uint32_t>(std::atoi(words[1])));
  unsigned const threads = all.below(4);
  unsigned const steps = 3 + all.below(30);
  unsigned const stops_at = all.one_in(2) ? all.below(steps) : steps;
  unsigned const stops_for_ms = all.one_in(2) ? 1 + all.below(300) : 0;
  unsigned const forks_at = all.one_in(4) ? all.below(steps) : steps;
  unsigned const signals = all.below(3);  // how it ends: by itself, or by one in a step or later
  unsigned const after_us = all.below(100'000);
  unsigned const way = all.below(4);
  std::vector<std::thread> others;
  for (unsigned i = 0; i < threads; ++i)
    others.emplace_back(&keep_working, all.below(1000), 10 + i);
  if (signals == 1) {
    constexpr int chosen[] = {SIGTERM, SIGINT, SIGHUP};
    int const which = chosen[all.below(3)];
    std::thread([which, after_us] {
      usleep(after_us);
      kill(getpid(), which);
    }).detach();
  }
  unsigned const blocked = static_cast<unsigned>(std::atoi(std::getenv("FAKE_HANG")));
  for (unsigned step = 0; step < steps; ++step) {
    STRATA_STEP();
    if (step == stops_at) stop_gpu(blocked, stops_for_ms);
    if (step == forks_at && threads == 0) fork_child();
    for (unsigned i = all.below(10); i-- > 0;) work(all, 7);
    usleep(all.below(3000));
  }
  if (signals == 1) wait_for_end();
  goes_on.store(false);
  for (std::thread& each : others) each.join();
  std::printf("broken captures %u\n", broken_captures.load());
  std::fflush(stdout);
  return end(way);
}
