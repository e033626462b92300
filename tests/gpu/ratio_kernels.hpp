#ifndef STRATA_TESTS_GPU_RATIO_KERNELS_HPP
#define STRATA_TESTS_GPU_RATIO_KERNELS_HPP

// Kernels that each bring one ratio of the metric catalogue near its end.

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstddef>

namespace ratio {

/// Multiply-adds on registers alone; `Value` is float, double or __half2.
template <class Value>
__global__ void __launch_bounds__(256, 8) fma_kernel(Value* to, int rounds, Value x, Value y) {
  Value v[8] = {x, y, x, y, x, y, x, y};
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int repeat = 0; repeat < 8; ++repeat) {
#pragma unroll
      for (auto& each : v) {
        if constexpr (sizeof(Value) == sizeof(__half2) && !__is_same(Value, float))
          each = __hfma2(each, x, y);
        else
          each = each * x + y;
      }
    }
  }
  Value sum = v[0];
  for (int i = 1; i < 8; ++i) sum = sum + v[i];
  to[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

/// Each multiply-add needs the one before.
static __global__ void dependent_kernel(float* to, int rounds, float x) {
  float v = x;
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int repeat = 0; repeat < 64; ++repeat) v = fmaf(v, x, 0.5f);
  }
  to[blockIdx.x * blockDim.x + threadIdx.x] = v;
}

/// Reads `items` once, 16 bytes a thread and four loads in flight.
static __global__ void read_kernel(float4 const* from, float* to, std::size_t items) {
  std::size_t const all = gridDim.x * std::size_t{blockDim.x};
  std::size_t const at = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
  float sum = 0.0f;
  for (std::size_t i = at; i + 3 * all < items; i += 4 * all) {
    float4 const v[4] = {from[i], from[i + all], from[i + 2 * all], from[i + 3 * all]};
    for (float4 const& each : v) sum += each.x + each.y + each.z + each.w;
  }
  if (sum == 1.0f) *to = sum;
}

/// Reads a buffer that L2 holds again and again, past L1.
static __global__ void read_l2_kernel(float4 const* from, float* to, unsigned items, int rounds) {
  unsigned const all = gridDim.x * blockDim.x;
  float sum = 0.0f;
  for (int round = 0; round < rounds; ++round) {
    unsigned const begin = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll 4
    for (unsigned i = begin; i < items; i += all) {
      float4 const v = __ldcg(from + i);
      sum += v.x + v.y + v.z + v.w;
    }
  }
  if (sum == 1.0f) *to = sum;
}

/// Each thread reads from sectors of its own, far apart; each load needs the one before.
static __global__ void chase_kernel(unsigned const* zeros, float* to, unsigned items, int rounds) {
  unsigned at = (blockIdx.x * blockDim.x + threadIdx.x) * 1031 * 8 % items;
  for (int i = 0; i < rounds; ++i)
    at = (at + 104729 * 8 + __ldcg(zeros + at)) & (items - 1);  // a power of two
  if (at == items) *to = 1.0f;
}

/// A chain of addresses in shared memory, all lanes in one bank.
static __global__ void shared_chase_kernel(float* to, int rounds) {
  __shared__ unsigned next[32 * 128];
  unsigned const begin = static_cast<unsigned>(__cvta_generic_to_shared(next));
  for (unsigned i = threadIdx.x; i < 32 * 128; i += blockDim.x) next[i] = begin + 4 * i;
  __syncthreads();
  unsigned at = begin + 4 * (threadIdx.x % 128 * 32);
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int i = 0; i < 16; ++i) asm volatile("ld.shared.u32 %0, [%0];" : "+r"(at));
  }
  if (at == 1) *to = 1.0f;
}

/// Stores to shared memory that wait for nothing, all lanes in one bank.
static __global__ void shared_store_kernel(int rounds) {
  __shared__ unsigned values[32 * 33];
  unsigned const at =
      static_cast<unsigned>(__cvta_generic_to_shared(values + threadIdx.x % 32 * 32));
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int i = 0; i < 16; ++i)
      asm volatile("st.volatile.shared.u32 [%0], %1;" ::"r"(at), "r"(round));
  }
}

/// Stores that wait for nothing, each lane to a sector of its own.
static __global__ void store_kernel(float* to, int rounds) {
  float* const mine = to + (blockIdx.x % 1024 * 256 + threadIdx.x) * 8;
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int i = 0; i < 16; ++i)
      asm volatile("st.volatile.global.f32 [%0], %1;" ::"l"(mine), "f"(1.0f));
  }
}

/// Fetches from a texture that L1 holds; many are under way before the first is used.
static __global__ void texture_kernel(cudaTextureObject_t from, float* to, int rounds) {
  float sum = 0.0f;
  for (int round = 0; round < rounds; ++round) {
    float v[32];
#pragma unroll
    for (int i = 0; i < 32; ++i)
      v[i] = tex1Dfetch<float>(from, static_cast<int>(threadIdx.x % 32 * 32 + i + round) % 1024);
#pragma unroll
    for (float const each : v) sum += each;
  }
  if (sum == 1.0f) *to = sum;
}

/// All warps but one wait at the barrier.
static __global__ void barrier_kernel(float* to, int rounds, float x) {
  float v = x;
  for (int round = 0; round < rounds; ++round) {
    if (threadIdx.x < 32)
      for (int i = 0; i < 1000; ++i) v = fmaf(v, x, 0.5f);
    __syncthreads();
  }
  if (v == 1.0f) *to = v;
}

static __global__ void sleep_kernel(float* to, int rounds) {
  for (int i = 0; i < rounds; ++i) __nanosleep(1000);
  if (rounds < 0) to[0] = 1.0f;
}

static __global__ void fence_kernel(float* to, int rounds) {
  float volatile* const mine = to + blockIdx.x * blockDim.x + threadIdx.x;
  for (int round = 0; round < rounds; ++round) {
    *mine = 1.0f;
    __threadfence_system();
  }
}

/// Jumps through far more code than the caches of instructions hold.
#define STRATA_TESTS_CODE1(N)                                                      \
  case N:                                                                          \
    v = fmaf(v, x, N + 0.5f), w = fmaf(w, v, N + 0.25f), v = fmaf(v, w, N + 1.5f); \
    w = fmaf(w, x, N + 2.5f), v = fmaf(v, x, N + 3.5f), w = fmaf(w, v, N + 4.25f); \
    v = fmaf(v, w, N + 5.5f), w = fmaf(w, x, N + 6.5f), v = fmaf(v, w, N + 7.5f);  \
    break;
#define STRATA_TESTS_CODE4(N) \
  STRATA_TESTS_CODE1(N)       \
  STRATA_TESTS_CODE1(N + 1) STRATA_TESTS_CODE1(N + 2) STRATA_TESTS_CODE1(N + 3)
#define STRATA_TESTS_CODE16(N) \
  STRATA_TESTS_CODE4(N)        \
  STRATA_TESTS_CODE4(N + 4) STRATA_TESTS_CODE4(N + 8) STRATA_TESTS_CODE4(N + 12)
#define STRATA_TESTS_CODE64(N) \
  STRATA_TESTS_CODE16(N)       \
  STRATA_TESTS_CODE16(N + 16) STRATA_TESTS_CODE16(N + 32) STRATA_TESTS_CODE16(N + 48)
#define STRATA_TESTS_CODE256(N) \
  STRATA_TESTS_CODE64(N)        \
  STRATA_TESTS_CODE64(N + 64) STRATA_TESTS_CODE64(N + 128) STRATA_TESTS_CODE64(N + 192)
#define STRATA_TESTS_CODE1024(N) \
  STRATA_TESTS_CODE256(N)        \
  STRATA_TESTS_CODE256(N + 256) STRATA_TESTS_CODE256(N + 512) STRATA_TESTS_CODE256(N + 768)
static __global__ void code_kernel(float* to, int rounds, float x) {
  float v = x, w = x;
  unsigned at = blockIdx.x * 7 + threadIdx.x / 32 * 61;
#pragma unroll 1
  for (int round = 0; round < rounds; ++round) {
    at = at * 1664525u + 1013904223u;
    switch (at >> 21) {
#if STRATA_TEST_IS_COMPILED_ONLY
      STRATA_TESTS_CODE1(0)  // all of them take the compiler a minute
#else
      STRATA_TESTS_CODE1024(0)
      STRATA_TESTS_CODE1024(1024)
#endif
    }
  }
  if (v + w == 1.0f) *to = v;
}
#undef STRATA_TESTS_CODE1
#undef STRATA_TESTS_CODE4
#undef STRATA_TESTS_CODE16
#undef STRATA_TESTS_CODE64
#undef STRATA_TESTS_CODE256
#undef STRATA_TESTS_CODE1024

/// Products of 8 x 8 x 4 in FP64, which keep the tensor cores for many cycles each.
static __global__ void fp64_product_kernel(double* to, int rounds) {
#if __CUDA_ARCH__ >= 800
  double v[8] = {};
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int i = 0; i < 16; ++i)
      asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                   : "+d"(v[i % 4 * 2]), "+d"(v[i % 4 * 2 + 1])
                   : "d"(0.0), "d"(0.0));
  }
  if (v[0] + v[2] + v[4] + v[6] == 1.0) *to = v[1];
#endif
}

/// Products of 16 x 8 x 16 in BF16.
static __global__ void bf16_product_kernel(float* to, int rounds) {
#if __CUDA_ARCH__ >= 800
  float v[8][4] = {};
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (auto& each : v)
      asm volatile(
          "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, "
          "{%4, %4, %4, %4}, {%4, %4}, {%0, %1, %2, %3};"
          : "+f"(each[0]), "+f"(each[1]), "+f"(each[2]), "+f"(each[3])
          : "r"(0));
  }
  float sum = 0.0f;
  for (auto const& each : v) sum += each[0];
  if (sum == 1.0f) *to = sum;
#endif
}

}  // namespace ratio

#endif  // STRATA_TESTS_GPU_RATIO_KERNELS_HPP
