#ifndef STRATA_TESTS_GPU_KNOWN_MEMORY_HPP
#define STRATA_TESTS_GPU_KNOWN_MEMORY_HPP

#include "gpu/gpu_fixture.hpp"
#include "gpu/known_kernels.hpp"

namespace known {

/// The memory of the known kernels, zeros, as long as this lives.
struct buffers : memory {
  buffers() {
    for (float** each : {&a, &b, &c}) {
      GPU_CHECK(cudaMalloc(each, items * sizeof(float)));
      GPU_CHECK(cudaMemset(*each, 0, items * sizeof(float)));
    }
  }
  buffers(buffers const&) = delete;
  buffers& operator=(buffers const&) = delete;
  ~buffers() {
    for (float* each : {a, b, c}) cudaFree(each);
  }
};

}  // namespace known

#endif  // STRATA_TESTS_GPU_KNOWN_MEMORY_HPP
