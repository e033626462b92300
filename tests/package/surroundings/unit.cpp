// A unit of a program whose other units are built in other ways: UNIT is its name.
#ifdef UMBRELLA
#include <strata/strata.hpp>
#else
#include <strata/range.hpp>
#endif

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

extern "C" int UNIT(int x);

#if defined(__CUDACC__)
__global__ void kernel(float* x) {
  STRATA_RANGE("kernel");
  x[threadIdx.x] *= 2.0f;
}
#endif

extern "C" int UNIT(int x) {
  STRATA_RANGE(TEXT(UNIT));
#if defined(__CUDACC__)
  if (x < 0) kernel<<<1, 32>>>(nullptr);
#endif
  return x + 1;
}
