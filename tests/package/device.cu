// A range may stand in a function that is compiled for host and device; on the device it does
// nothing.
#include <strata/strata.hpp>

__host__ __device__ inline float scale(float x, int layer) {
  STRATA_FUNCTION();
  STRATA_RANGE("scale");
  STRATA_RANGE("scale", layer);
  STRATA_RANGE("scale", layer, strata::flops(1.0), strata::bytes(8.0));
  return x * 2.0f;
}

__global__ void kernel(float* x) {
  STRATA_RANGE("kernel");
  x[threadIdx.x] = scale(x[threadIdx.x], 1);
}

float host(float x) {
  STRATA_STEP();
  STRATA_RANGE("host");
  kernel<<<1, 32>>>(nullptr);
  return scale(x, 2);
}
