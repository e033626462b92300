// The kernels of the eager implementation: one operation each.
#ifndef GPT2_EAGER_KERNELS_CUH
#define GPT2_EAGER_KERNELS_CUH

#include <cstddef>

namespace gpt2::eager {

struct add {
  __device__ float operator()(float a, float b) const { return a + b; }
};
struct subtract {
  __device__ float operator()(float a, float b) const { return a - b; }
};
struct multiply {
  __device__ float operator()(float a, float b) const { return a * b; }
};
struct divide {
  __device__ float operator()(float a, float b) const { return a / b; }
};
struct square {
  __device__ float operator()(float a) const { return a * a; }
};
struct exponential {
  __device__ float operator()(float a) const { return expf(a); }
};
struct logarithm {
  __device__ float operator()(float a) const { return logf(a); }
};
struct hyperbolic_tangent {
  __device__ float operator()(float a) const { return tanhf(a); }
};
struct inverse_root {
  float epsilon;
  __device__ float operator()(float a) const { return rsqrtf(a + epsilon); }
};
struct scale {
  float factor;
  __device__ float operator()(float a) const { return a * factor; }
};
struct plus {
  float summand;
  __device__ float operator()(float a) const { return a + summand; }
};
struct sum {
  static constexpr float neutral = 0.0f;
  __device__ float operator()(float a, float b) const { return a + b; }
};
struct maximum {
  static constexpr float neutral = -3.402823466e38f;
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

__device__ inline std::size_t element() {
  return static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

template <class F>
__global__ void map_kernel(F f, float* out, float const* a, std::size_t n) {
  std::size_t const i = element();
  if (i < n) out[i] = f(a[i]);
}

template <class F>
__global__ void zip_kernel(F f, float* out, float const* a, float const* b, std::size_t n) {
  std::size_t const i = element();
  if (i < n) out[i] = f(a[i], b[i]);
}

/// b holds one number a row.
template <class F>
__global__ void zip_rows_kernel(F f, float* out, float const* a, float const* b,
                                std::size_t columns, std::size_t n) {
  std::size_t const i = element();
  if (i < n) out[i] = f(a[i], b[i / columns]);
}

/// b holds one number a column.
template <class F>
__global__ void zip_columns_kernel(F f, float* out, float const* a, float const* b,
                                   std::size_t columns, std::size_t n) {
  std::size_t const i = element();
  if (i < n) out[i] = f(a[i], b[i % columns]);
}

constexpr unsigned reduce_threads = 128;

/// One block a row: out[row] = factor * (f over the row's first `columns` numbers).
template <class F>
__global__ void reduce_kernel(F f, float* out, float const* a, std::size_t columns,
                              std::size_t stride, float factor) {
  __shared__ float partial[reduce_threads];
  float const* row = a + blockIdx.x * stride;
  float value = F::neutral;
  for (std::size_t i = threadIdx.x; i < columns; i += reduce_threads) value = f(value, row[i]);
  partial[threadIdx.x] = value;
  for (unsigned half = reduce_threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) {
      partial[threadIdx.x] = f(partial[threadIdx.x], partial[threadIdx.x + half]);
    }
  }
  if (threadIdx.x == 0) out[blockIdx.x] = factor * partial[0];
}

constexpr unsigned tile = 16;

/// out (M x N) = a (M x K) times b, which is K x N, or N x K if transposed.
template <bool Transposed>
__global__ void product_kernel(float* out, float const* a, float const* b, std::size_t M,
                               std::size_t N, std::size_t K) {
  __shared__ float left[tile][tile + 1];
  __shared__ float right[tile][tile + 1];
  unsigned const x = threadIdx.x % tile, y = threadIdx.x / tile;
  std::size_t const m = static_cast<std::size_t>(blockIdx.y) * tile + y;
  std::size_t const first_n = static_cast<std::size_t>(blockIdx.x) * tile;
  float value = 0.0f;
  for (std::size_t k = 0; k < K; k += tile) {
    left[y][x] = m < M && k + x < K ? a[m * K + k + x] : 0.0f;
    if constexpr (Transposed) {
      std::size_t const n = first_n + y;
      right[x][y] = n < N && k + x < K ? b[n * K + k + x] : 0.0f;
    } else {
      std::size_t const n = first_n + x;
      right[y][x] = n < N && k + y < K ? b[(k + y) * N + n] : 0.0f;
    }
    __syncthreads();
    for (unsigned i = 0; i < tile; ++i) value += left[y][i] * right[i][x];
    __syncthreads();
  }
  if (m < M && first_n + x < N) out[m * N + first_n + x] = value;
}

/// `columns` neighbouring columns of a matrix whose rows are `stride` apart.
__global__ void copy_columns(float* out, float const* a, std::size_t columns, std::size_t stride,
                             std::size_t n) {
  std::size_t const i = element();
  if (i < n) out[i] = a[i / columns * stride + i % columns];
}

__global__ void gather_rows(float* out, float const* table, int const* rows, std::size_t columns,
                            std::size_t n) {
  std::size_t const i = element();
  if (i < n) out[i] = table[static_cast<std::size_t>(rows[i / columns]) * columns + i % columns];
}

/// One number out of each row.
__global__ void pick(float* out, float const* a, int const* columns, std::size_t stride,
                     std::size_t rows) {
  std::size_t const row = element();
  if (row < rows) out[row] = a[row * stride + static_cast<std::size_t>(columns[row])];
}

}  // namespace gpt2::eager

#endif  // GPT2_EAGER_KERNELS_CUH
