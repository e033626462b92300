#ifndef STRATA_TESTS_GPU_FIXTURE_HPP
#define STRATA_TESTS_GPU_FIXTURE_HPP

// What the tests on a real device share. A test program without a device ends with 77: skipped, not
// passed.

#include <cuda_runtime.h>
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <strata/range.hpp>
#include <strata/session.hpp>
#include <string>

#include "profile_checks.hpp"

namespace gpu {

inline void check(cudaError_t code, char const* what) {
  INFO(what, ": ", cudaGetErrorString(code));
  REQUIRE(code == cudaSuccess);
}
#define GPU_CHECK(call) ::gpu::check(call, #call)

/// Ends the program as skipped where there is no device; runs before main.
inline bool const has_device = [] {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
    std::puts("SKIPPED: no CUDA device");
    std::exit(77);
  }
  return true;
}();

inline strata::options quiet(char const* text) {
  strata::vec<std::string> problems;
  strata::options how = strata::options::parse(text, problems);
  REQUIRE(problems.empty());
  return how;
}

using test::row_at;

/// As a program's loop: each step is one of Strata's.
template <class Body>
void run_steps(int steps, Body body) {
  for (int i = 0; i < steps; ++i) {
    STRATA_STEP();
    body();
  }
}

inline void nothing_lost(strata::profile const& p, std::uint64_t times = 0) {
  test::nothing_lost(p, times);
  CHECK(p.losses.ranges_left_open == 0);
}

static __global__ void spin(long long cycles, int* out) {
  long long const begin = clock64();
  while (clock64() - begin < cycles) {
  }
  if (out != nullptr) *out = 1;
}

static __global__ void add_one(float* values, int count) {
  int const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] += 1.0f;
}

}  // namespace gpu

#endif  // STRATA_TESTS_GPU_FIXTURE_HPP
