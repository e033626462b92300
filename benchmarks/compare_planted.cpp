// A program of 100 ranges of equal work on the CPU, one of them with some more: what compare finds.
//   g++ -std=c++17 -O2 -Iinclude -o compare_planted benchmarks/compare_planted.cpp -pthread -ldl
//   STRATA=host,skip=1,formats=json,out=DIR ./compare_planted STEPS PERCENT    (of range 42)
#define STRATA_IMPLEMENTATION
#include <strata/strata.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

/// About 0.1 ms in registers: no memory, no system call.
std::uint64_t work(std::uint64_t rounds, std::uint64_t seed) {
  for (std::uint64_t i = 0; i < rounds; ++i) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
  }
  return seed;
}

}  // namespace

int main(int argc, char** argv) {
  int const steps = argc > 1 ? std::atoi(argv[1]) : 20;
  double const percent = argc > 2 ? std::atof(argv[2]) : 0;
  constexpr std::uint64_t rounds = 50000;
  auto const more = static_cast<std::uint64_t>(rounds * (1 + percent / 100));
  std::vector<std::string> names;
  for (int r = 0; r < 100; ++r) names.push_back("r" + std::to_string(r));
  std::uint64_t seed = 1;
  for (int step = 0; step <= steps; ++step) {
    STRATA_STEP();
    for (std::size_t r = 0; r < names.size(); ++r) {
      STRATA_RANGE(names[r].c_str());
      seed = work(r == 42 ? more : rounds, seed);
    }
  }
  std::printf("%llu\n", static_cast<unsigned long long>(seed));
}
