// Kernels of known traffic, each in a range of its own and on a cold L2: what known_kernels.py
// counts with Strata and with Nsight Compute.
//
//   known_kernels STEPS

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <strata/strata.hpp>

#include "gpu/known_kernels.hpp"

namespace {

constexpr std::size_t cold_items = std::size_t{1} << 26;  // 256 MiB, a multiple of any L2

void check(cudaError_t code) {
  if (code == cudaSuccess) return;
  std::fprintf(stderr, "known_kernels: %s\n", cudaGetErrorString(code));
  std::exit(1);
}

/// Fills L2 with what nobody wants; the write never happens.
__global__ void cool_kernel(float const* from, float* never) {
  if (from[known::position()] < 0.0f) *never = 1.0f;
}

float* zeros(std::size_t count) {
  float* at = nullptr;
  check(cudaMalloc(&at, count * sizeof(float)));
  check(cudaMemset(at, 0, count * sizeof(float)));
  return at;
}

}  // namespace

int main(int argc, char** argv) {
  int const steps = argc == 2 ? std::atoi(argv[1]) : 0;
  if (steps < 1) {
    std::fputs("usage: known_kernels STEPS\n", stderr);
    return 2;
  }
  known::memory const m{zeros(known::items), zeros(known::items), zeros(known::items)};
  float* const cold = zeros(cold_items);
  struct {
    char const* name;
    void (*launch)(known::memory const&);
  } const kernels[] = {{"copy_kernel", known::copy},
                       {"triad_kernel", known::triad},
                       {"strided_kernel", known::strided},
                       {"atomic_kernel", known::atomics},
                       {"matmul_kernel", known::matmul}};
  for (int step = 0; step < steps; ++step) {
    STRATA_STEP();
    for (auto const& kernel : kernels) {
      cool_kernel<<<cold_items / known::threads, known::threads>>>(cold, m.a);
      strata::scoped_range const range(kernel.name);
      kernel.launch(m);
    }
    check(cudaDeviceSynchronize());
  }
  for (float* each : {m.a, m.b, m.c, cold}) check(cudaFree(each));
  return 0;
}
