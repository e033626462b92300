// The kernels of the fused implementation: one a sub-block, the bias folded in.
#ifndef GPT2_FUSED_KERNELS_CUH
#define GPT2_FUSED_KERNELS_CUH

#include <cstddef>

#include "dimensions.hpp"

namespace gpt2::fused {

using dim = dimensions;

constexpr unsigned warp = 32;
constexpr unsigned elementwise_threads = 256;
constexpr unsigned norm_threads = 256;
constexpr unsigned softmax_threads = 128;  // four rows
constexpr unsigned loss_threads = 1024;

__device__ inline std::size_t element() {
  return static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

struct plus {
  static constexpr float neutral = 0.0f;
  __device__ float operator()(float a, float b) const { return a + b; }
};
struct larger {
  static constexpr float neutral = -3.402823466e38f;
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

template <class F>
__device__ float over_warp(F f, float value) {
  for (unsigned distance = warp / 2; distance > 0; distance /= 2) {
    value = f(value, __shfl_xor_sync(0xFFFFFFFFu, value, distance));
  }
  return value;
}

/// Every thread of the block gets the result; `partial` may be used again at once.
template <class F>
__device__ float over_block(F f, float value, float (&partial)[warp]) {
  value = over_warp(f, value);
  if (threadIdx.x % warp == 0) partial[threadIdx.x / warp] = value;
  __syncthreads();
  value = threadIdx.x % warp < blockDim.x / warp ? partial[threadIdx.x % warp] : F::neutral;
  __syncthreads();
  return over_warp(f, value);
}

__global__ void embed(float* x, float const* token_table, float const* position_table,
                      int const* tokens, std::size_t T, std::size_t n) {
  std::size_t const i = element();
  if (i >= n) return;
  std::size_t const row = i / dim::C, c = i % dim::C;
  x[i] = token_table[static_cast<std::size_t>(tokens[row]) * dim::C + c] +
         position_table[row % T * dim::C + c];
}

/// One block a row, which stays in registers.
__global__ void layernorm(float* y, float const* x, float const* gain, float const* bias) {
  constexpr unsigned each = dim::C / norm_threads;
  static_assert(dim::C % norm_threads == 0, "every thread has the same number of channels");
  __shared__ float partial[warp];
  std::size_t const row = static_cast<std::size_t>(blockIdx.x) * dim::C;
  float value[each];
  float total = 0.0f;
  for (unsigned i = 0; i < each; ++i) {
    value[i] = x[row + threadIdx.x + i * norm_threads];
    total += value[i];
  }
  float const mean = over_block(plus{}, total, partial) / static_cast<float>(dim::C);
  total = 0.0f;
  for (unsigned i = 0; i < each; ++i) {
    value[i] -= mean;
    total += value[i] * value[i];
  }
  float const variance = over_block(plus{}, total, partial) / static_cast<float>(dim::C);
  float const scale = rsqrtf(variance + dim::epsilon);
  for (unsigned i = 0; i < each; ++i) {
    unsigned const c = threadIdx.x + i * norm_threads;
    y[row + c] = value[i] * scale * gain[c] + bias[c];
  }
}

/// From rows of queries, keys and values to three arrays of B x H x T x D, with the bias added.
__global__ void split_heads(float* q, float* k, float* v, float const* qkv, float const* bias,
                            std::size_t T, std::size_t n) {
  std::size_t const i = element();
  if (i >= n) return;
  std::size_t const column = i % (3 * dim::C), row = i / (3 * dim::C);
  std::size_t const which = column / dim::C, h = column % dim::C / dim::D, c = column % dim::D;
  std::size_t const to = ((row / T * dim::H + h) * T + row % T) * dim::D + c;
  (which == 0 ? q : which == 1 ? k : v)[to] = qkv[i] + bias[column];
}

/// One warp a row, in place: scaled, masked beyond the row's own position, normalised.
__global__ void causal_softmax(float* scores, std::size_t T, std::size_t rows) {
  std::size_t const row = element() / warp;
  if (row >= rows) return;
  std::size_t const own = row % T, lane = threadIdx.x % warp;
  float* s = scores + row * T;
  float largest = larger::neutral;
  for (std::size_t u = lane; u <= own; u += warp) largest = fmaxf(largest, s[u]);
  largest = over_warp(larger{}, largest);
  float total = 0.0f;
  for (std::size_t u = lane; u <= own; u += warp) {
    total += s[u] = expf((s[u] - largest) * dim::score_scale);
  }
  total = over_warp(plus{}, total);
  for (std::size_t u = lane; u < T; u += warp) s[u] = u <= own ? s[u] / total : 0.0f;
}

/// From B x H x T x D back to rows of C.
__global__ void merge_heads(float* out, float const* in, std::size_t T, std::size_t n) {
  std::size_t const i = element();
  if (i >= n) return;
  std::size_t const column = i % dim::C, row = i / dim::C;
  std::size_t const h = column / dim::D, c = column % dim::D;
  out[i] = in[((row / T * dim::H + h) * T + row % T) * dim::D + c];
}

__global__ void add_residual(float* x, float const* y, float const* bias, std::size_t n) {
  std::size_t const i = element();
  if (i < n) x[i] += y[i] + bias[i % dim::C];
}

__global__ void gelu_bias(float* x, float const* bias, std::size_t n) {
  std::size_t const i = element();
  if (i >= n) return;
  float const v = x[i] + bias[i % (4 * dim::C)];
  float const z = 0.7978845608f * (v + 0.044715f * v * v * v);
  x[i] = 0.5f * v * (1.0f + tanhf(z));
}

/// One block a row.
__global__ void cross_entropy(float* losses, float const* logits, int const* targets) {
  __shared__ float partial[warp];
  float const* s = logits + blockIdx.x * dim::Vp;
  float largest = larger::neutral;
  for (std::size_t i = threadIdx.x; i < dim::V; i += loss_threads) largest = fmaxf(largest, s[i]);
  largest = over_block(larger{}, largest, partial);
  float total = 0.0f;
  for (std::size_t i = threadIdx.x; i < dim::V; i += loss_threads) total += expf(s[i] - largest);
  total = over_block(plus{}, total, partial);
  if (threadIdx.x == 0) losses[blockIdx.x] = logf(total) - (s[targets[blockIdx.x]] - largest);
}

/// One block in all.
__global__ void mean(float* out, float const* in, std::size_t n) {
  __shared__ float partial[warp];
  float total = 0.0f;
  for (std::size_t i = threadIdx.x; i < n; i += loss_threads) total += in[i];
  total = over_block(plus{}, total, partial);
  if (threadIdx.x == 0) *out = total / static_cast<float>(n);
}

}  // namespace gpt2::fused

#endif  // GPT2_FUSED_KERNELS_CUH
