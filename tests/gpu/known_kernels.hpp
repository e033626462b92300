#ifndef STRATA_TESTS_GPU_KNOWN_KERNELS_HPP
#define STRATA_TESTS_GPU_KNOWN_KERNELS_HPP

// Kernels whose traffic and instructions are known by hand, each launched by the function of its
// name.

#include <cstddef>

namespace known {

constexpr std::size_t items = std::size_t{1} << 28;  // floats: 1 GiB, far beyond L2
constexpr unsigned threads = 256;
constexpr unsigned blocks = items / threads;
constexpr unsigned sector_floats = 8;  // 32 B
constexpr unsigned side = 1024;        // of the matrices
constexpr unsigned tile = 32;

/// Three buffers of `items` floats on the device.
struct memory {
  float* a = nullptr;
  float* b = nullptr;
  float* c = nullptr;
};

static __device__ std::size_t position() {
  return blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
}

static __global__ void copy_kernel(float const* from, float* to) {
  to[position()] = from[position()];
}

static __global__ void triad_kernel(float const* b, float const* c, float* a) {
  a[position()] = fmaf(3.0f, c[position()], b[position()]);
}

/// Reads one float of each sector, writes one of every eighth.
static __global__ void strided_kernel(float const* from, float* to) {
  to[position()] = from[position() * sector_floats];
}

static __global__ void atomic_kernel(float* to) { atomicAdd(&to[position()], 1.0f); }

/// C = A * B by tiles in shared memory: each thread makes one element.
static __global__ void matmul_kernel(float const* a, float const* b, float* c) {
  __shared__ float a_tile[tile][tile];
  __shared__ float b_tile[tile][tile];
  unsigned const x = threadIdx.x, y = threadIdx.y;
  unsigned const row = blockIdx.y * tile + y, column = blockIdx.x * tile + x;
  float sum = 0.0f;
#pragma unroll 1
  for (unsigned k = 0; k < side; k += tile) {
    a_tile[y][x] = a[row * side + k + x];
    b_tile[y][x] = b[(k + y) * side + column];
    __syncthreads();
    for (unsigned i = 0; i < tile; ++i) sum = fmaf(a_tile[y][i], b_tile[i][x], sum);
    __syncthreads();
  }
  c[row * side + column] = sum;
}

static inline void copy(memory const& m) { copy_kernel<<<blocks, threads>>>(m.a, m.b); }
static inline void triad(memory const& m) { triad_kernel<<<blocks, threads>>>(m.a, m.b, m.c); }
static inline void strided(memory const& m) {
  strided_kernel<<<blocks / sector_floats, threads>>>(m.a, m.b);
}
static inline void atomics(memory const& m) { atomic_kernel<<<blocks, threads>>>(m.a); }
static inline void matmul(memory const& m) {
  matmul_kernel<<<dim3(side / tile, side / tile), dim3(tile, tile)>>>(m.a, m.b, m.c);
}

}  // namespace known

#endif  // STRATA_TESTS_GPU_KNOWN_KERNELS_HPP
