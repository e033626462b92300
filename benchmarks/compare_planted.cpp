// A program of 100 ranges of equal work, one of them with some more: what compare finds. On the
// CPU, and compiled by nvcc (nvcc -x cu ...) on the GPU.
//   g++ -std=c++17 -O2 -Iinclude -Isrc -o compare_planted benchmarks/compare_planted.cpp -pthread
//   -ldl STRATA=host,skip=1,formats=json,out=DIR ./compare_planted STEPS PERCENT
// PERCENT is of range 42. On the GPU: STRATA=trace.
#define STRATA_IMPLEMENTATION
#include <strata/strata.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#ifdef __CUDACC__
#define ON_DEVICE __device__
#else
#define ON_DEVICE
#endif

namespace {

/// In registers: no memory, no system call.
ON_DEVICE std::uint64_t mixed(std::uint64_t rounds, std::uint64_t seed) {
  for (std::uint64_t i = 0; i < rounds; ++i) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
  }
  return seed;
}

// About 0.1 ms.
#ifdef __CUDACC__
constexpr std::uint64_t rounds = 6000;

__global__ void mix(std::uint64_t rounds, std::uint64_t seed, std::uint64_t* to) {
  std::uint64_t const made = mixed(rounds, seed + threadIdx.x);
  if (made == 0) *to = made;  // never: the work has to be done for it
}
std::uint64_t work(std::uint64_t rounds, std::uint64_t seed) {
  mix<<<132, 128>>>(rounds, seed, nullptr);
  return seed;
}
void finish() {
  if (cudaDeviceSynchronize() == cudaSuccess) return;
  std::fprintf(stderr, "compare_planted: the GPU does not work: %s\n",
               cudaGetErrorString(cudaGetLastError()));
  std::exit(1);
}
#else
constexpr std::uint64_t rounds = 50000;

std::uint64_t work(std::uint64_t rounds, std::uint64_t seed) { return mixed(rounds, seed); }
void finish() {}
#endif

}  // namespace

int main(int argc, char** argv) {
  int const steps = argc > 1 ? std::atoi(argv[1]) : 20;
  double const percent = argc > 2 ? std::atof(argv[2]) : 0;
  auto const more = static_cast<std::uint64_t>(static_cast<double>(rounds) * (1 + percent / 100));
  std::vector<std::string> names;
  for (int r = 0; r < 100; ++r) names.push_back("r" + std::to_string(r));
  std::uint64_t seed = 1;
  for (int step = 0; step <= steps; ++step) {
    STRATA_STEP();
    for (std::size_t r = 0; r < names.size(); ++r) {
      STRATA_RANGE(names[r].c_str());
      seed = work(r == 42 ? more : rounds, seed);
    }
    finish();
  }
  std::printf("%llu\n", static_cast<unsigned long long>(seed));
}
