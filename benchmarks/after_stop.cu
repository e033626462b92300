// What a kernel launch costs before a session, in it and after it, in one process, and whether the
// next session records every kernel:
//
//   after_stop [ROUNDS]      one line of JSON a phase; exit code 1 where kernels are missing
//
// Best of ROUNDS windows (15) of 20,000 launches of an empty kernel, at most 16 under way, only the
// launches timed. Two threads launch beside the second stop.
#include <cuda_runtime.h>
#include <strata/profile.hpp>
#include <strata/session.hpp>
#include <strata/strata.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

__global__ void empty() {}

namespace {

constexpr int launches = 20'000;
constexpr int group = 16;

void check(cudaError_t code, char const* what) {
  if (code == cudaSuccess) return;
  std::fprintf(stderr, "after_stop: %s: %s\n", what, cudaGetErrorString(code));
  std::exit(2);
}

/// ns a launch, the best window.
double measure(int rounds, cudaStream_t stream) {
  double best = 1e30;
  for (int round = 0; round < rounds; ++round) {
    double ns = 0.0;
    for (int done = 0; done < launches; done += group) {
      auto const begin = std::chrono::steady_clock::now();
      for (int i = 0; i < group; ++i) empty<<<1, 32, 0, stream>>>();
      ns += std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin)
                .count();
      check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    }
    best = std::min(best, ns / launches);
  }
  return best;
}

strata::options trace_only() {
  strata::options how;
  how.table = how.csv = how.json = how.chrome_trace = false;
  how.nvtx = strata::options::nvtx_mode::off;
  return how;
}

void start(strata::session& session) {
  strata::status const outcome = session.start();
  for (strata::status const& problem : session.problems())
    std::fprintf(stderr, "after_stop: %s\n", problem.message().c_str());
  if (!outcome.ok() || !session.problems().empty()) std::exit(2);
}

void tell(char const* phase, double ns, double plain) {
  std::printf("{\"bench\":\"after_stop\",\"phase\":\"%s\",\"ns\":%.1f,\"ratio\":%.4f}\n", phase, ns,
              ns / plain);
  std::fflush(stdout);
}

/// False where kernels are missing.
bool tell(char const* phase, strata::session& session, std::uint64_t expected) {
  strata::profile const& p = session.profile();
  std::uint64_t const kernels = p.kernels.size() + p.losses.activity_summed;
  std::printf(
      "{\"bench\":\"after_stop\",\"phase\":\"%s\",\"kernels\":%llu,\"expected\":%llu,"
      "\"uncorrelated\":%llu}\n",
      phase, static_cast<unsigned long long>(kernels), static_cast<unsigned long long>(expected),
      static_cast<unsigned long long>(p.losses.uncorrelated));
  for (std::string const& problem : p.problems)
    std::fprintf(stderr, "after_stop: %s\n", problem.c_str());
  return kernels >= expected;
}

}  // namespace

int main(int argc, char** argv) {
  int const rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 15;
  (void)unsetenv("STRATA");
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  (void)measure(3, stream);
  double const plain = measure(rounds, stream);
  tell("plain", plain, plain);
  std::uint64_t const expected = static_cast<std::uint64_t>(rounds) * launches;
  bool whole = true;

  strata::session first{trace_only()};
  start(first);
  tell("first session", measure(rounds, stream), plain);
  first.stop();
  tell("after the first stop", measure(rounds, stream), plain);
  whole = tell("kernels of the first session", first, expected) && whole;

  strata::session second{trace_only()};
  start(second);
  tell("second session", measure(rounds, stream), plain);
  std::atomic<bool> go_on{true};
  std::vector<std::thread> others;
  for (int t = 0; t < 2; ++t) {
    others.emplace_back([&go_on] {
      cudaStream_t own = nullptr;
      check(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking), "cudaStreamCreate");
      while (go_on.load()) (void)measure(1, own);
    });
  }
  for (int i = 0; i < 20; ++i) {  // sessions begin and end beside launches
    second.stop();
    whole = whole && !second.profile().kernels.empty();
    start(second);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  go_on.store(false);
  for (std::thread& t : others) t.join();
  second.stop();
  tell("after twenty stops beside two threads", measure(rounds, stream), plain);

  strata::session last{trace_only()};
  start(last);
  (void)measure(rounds, stream);
  last.stop();
  whole = tell("kernels of the last session", last, expected) && whole;
  tell("after the last stop", measure(rounds, stream), plain);
  if (!whole) std::fprintf(stderr, "after_stop: kernels are missing\n");
  return whole ? 0 : 1;
}
