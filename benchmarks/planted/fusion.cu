// Chains of kernels that hand each other their values through device memory, and an optimizer whose
// passes are needed. Mended, one kernel does what the chain does.

#include <cuda_bf16.h>

#include "planted.hpp"

namespace {

using bf16 = __nv_bfloat16;

constexpr unsigned row_floats = 4096;
constexpr unsigned rows = large / row_floats;
constexpr unsigned by_four = large / 4 / threads;  // blocks whose threads have four values each

/// What stands beside the chain in a model.
void compute() {
  STRATA_RANGE("product");
  fma_kernel<<<132 * 64, threads>>>(c, 300, 0.999f);
}

// --- GELU: 0.5 x (1 + tanh(0.8 (x + 0.044715 x^3))), an operation a kernel ---

template <typename Change>
__device__ void each(float const* from, float* to, Change change) {
  float4 const x = reinterpret_cast<float4 const*>(from)[position()];
  reinterpret_cast<float4*>(to)[position()] =
      make_float4(change(x.x), change(x.y), change(x.z), change(x.w));
}
template <typename Change>
__device__ void both(float const* one, float const* other, float* to, Change change) {
  float4 const x = reinterpret_cast<float4 const*>(one)[position()];
  float4 const y = reinterpret_cast<float4 const*>(other)[position()];
  reinterpret_cast<float4*>(to)[position()] =
      make_float4(change(x.x, y.x), change(x.y, y.y), change(x.z, y.z), change(x.w, y.w));
}

__global__ void scale_kernel(float const* from, float* to, float by) {
  each(from, to, [by](float x) { return by * x; });
}
__global__ void plus_kernel(float const* from, float* to, float more) {
  each(from, to, [more](float x) { return x + more; });
}
__global__ void cube_kernel(float const* from, float* to) {
  each(from, to, [](float x) { return x * x * x; });
}
__global__ void tanh_kernel(float const* from, float* to) {
  each(from, to, [](float x) { return tanhf(x); });
}
__global__ void add_both_kernel(float const* one, float const* other, float* to) {
  both(one, other, to, [](float x, float y) { return x + y; });
}
__global__ void multiply_kernel(float const* one, float const* other, float* to) {
  both(one, other, to, [](float x, float y) { return x * y; });
}
__global__ void gelu_kernel(float const* from, float* to) {
  each(from, to,
       [](float x) { return 0.5f * x * (1.0f + tanhf(0.8f * (x + 0.044715f * x * x * x))); });
}

void gelu_by_eight() {
  compute();
  STRATA_RANGE("gelu");
  if (mended) {
    gelu_kernel<<<by_four, threads>>>(a, b);
  } else {
    scale_kernel<<<by_four, threads>>>(a, c, 0.5f);
    cube_kernel<<<by_four, threads>>>(a, b);
    scale_kernel<<<by_four, threads>>>(b, b, 0.044715f);
    add_both_kernel<<<by_four, threads>>>(b, a, b);
    scale_kernel<<<by_four, threads>>>(b, b, 0.8f);
    tanh_kernel<<<by_four, threads>>>(b, b);
    plus_kernel<<<by_four, threads>>>(b, b, 1.0f);
    multiply_kernel<<<by_four, threads>>>(b, c, b);
  }
  wait();
}

// --- RMSNorm with its residual ---

__device__ float of_block(float value) {
  __shared__ float parts[threads / 32];
  for (int apart = 16; apart > 0; apart /= 2) value += __shfl_xor_sync(~0u, value, apart);
  __syncthreads();
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  value = 0.0f;
  for (float const part : parts) value += part;
  return value;
}
__device__ float4 const* row_of(float const* from) {
  return reinterpret_cast<float4 const*>(from + std::size_t{blockIdx.x} * row_floats);
}
__device__ float4* row_of(float* to) {
  return reinterpret_cast<float4*>(to + std::size_t{blockIdx.x} * row_floats);
}
constexpr unsigned parts_of_row = row_floats / 4 / threads;

__global__ void square_kernel(float const* from, float* to) {
  each(from, to, [](float x) { return x * x; });
}
__global__ void mean_kernel(float const* from, float* means) {
  float sum = 0.0f;
  for (unsigned i = 0; i < parts_of_row; ++i) {
    float4 const x = row_of(from)[i * threads + threadIdx.x];
    sum += x.x + x.y + x.z + x.w;
  }
  sum = of_block(sum);
  if (threadIdx.x == 0) means[blockIdx.x] = sum / row_floats;
}
__global__ void rsqrt_kernel(float const* means, float* scales) {
  scales[position()] = rsqrtf(means[position()] + 1e-5f);
}
__global__ void scale_rows_kernel(float const* from, float const* scales, float* to) {
  float const scale = scales[position() * 4 / row_floats];
  each(from, to, [scale](float x) { return scale * x; });
}
__global__ void scale_columns_kernel(float const* from, float const* weights, float* to) {
  float4 const x = reinterpret_cast<float4 const*>(from)[position()];
  float4 const w = reinterpret_cast<float4 const*>(weights)[position() % (row_floats / 4)];
  reinterpret_cast<float4*>(to)[position()] =
      make_float4(x.x * w.x, x.y * w.y, x.z * w.z, x.w * w.w);
}
__global__ void add_rms_norm_kernel(float const* from, float* residual, float const* weights,
                                    float* to) {
  float4 values[parts_of_row];
  float squares = 0.0f;
#pragma unroll
  for (unsigned i = 0; i < parts_of_row; ++i) {
    unsigned const at = i * threads + threadIdx.x;
    float4 const x = row_of(from)[at];
    float4 const y = row_of(residual)[at];
    values[i] = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
    row_of(residual)[at] = values[i];
    squares += values[i].x * values[i].x + values[i].y * values[i].y + values[i].z * values[i].z +
               values[i].w * values[i].w;
  }
  float const scale = rsqrtf(of_block(squares) / row_floats + 1e-5f);
#pragma unroll
  for (unsigned i = 0; i < parts_of_row; ++i) {
    unsigned const at = i * threads + threadIdx.x;
    float4 const w = reinterpret_cast<float4 const*>(weights)[at];
    row_of(to)[at] = make_float4(scale * values[i].x * w.x, scale * values[i].y * w.y,
                                 scale * values[i].z * w.z, scale * values[i].w * w.w);
  }
}

float* small;  // of each row: means, scales; of each column: weights

void rms_norm_residual() {
  compute();
  STRATA_RANGE("norm");
  float* const scales = small + rows;
  float* const weights = scales + rows;
  if (mended) {
    add_rms_norm_kernel<<<rows, threads>>>(a, b, weights, c);
  } else {
    add_both_kernel<<<by_four, threads>>>(a, b, b);
    square_kernel<<<by_four, threads>>>(b, c);
    mean_kernel<<<rows, threads>>>(c, small);
    rsqrt_kernel<<<rows / threads, threads>>>(small, scales);
    scale_rows_kernel<<<by_four, threads>>>(b, scales, c);
    scale_columns_kernel<<<by_four, threads>>>(c, weights, c);
  }
  wait();
}

// --- cross entropy of BF16 logits, forward and backward ---

constexpr unsigned vocabulary = 16384;
constexpr unsigned tokens = large / vocabulary;
constexpr unsigned logits_of_thread = vocabulary / threads;

/// The maximum of a row and the logarithm of the sum of its exponentials, in all threads.
template <typename Load>
__device__ float log_sum(Load load) {
  float most = -1e30f, sum = 0.0f;
  for (unsigned i = 0; i < logits_of_thread; ++i) {
    float const x = load(i * threads + threadIdx.x);
    float const above = fmaxf(most, x);
    sum = sum * __expf(most - above) + __expf(x - above);
    most = above;
  }
  // exp(88) overflows: logits of this program do not.
  return logf(of_block(sum * __expf(most)));
}
__global__ void cast_to_float_kernel(bf16 const* from, float* to) {
  std::size_t const at = 2 * position();
  float2 const x = __bfloat1622float2(*reinterpret_cast<__nv_bfloat162 const*>(from + at));
  *reinterpret_cast<float2*>(to + at) = x;
}
__global__ void cast_to_bf16_kernel(float const* from, bf16* to) {
  std::size_t const at = 2 * position();
  float2 const x = *reinterpret_cast<float2 const*>(from + at);
  *reinterpret_cast<__nv_bfloat162*>(to + at) = __float22bfloat162_rn(x);
}
__global__ void log_softmax_kernel(float const* from, float* to) {
  float const* const row = from + std::size_t{blockIdx.x} * vocabulary;
  float const sum = log_sum([row](unsigned at) { return row[at]; });
  float* const out = to + std::size_t{blockIdx.x} * vocabulary;
  for (unsigned i = threadIdx.x; i < vocabulary; i += threads) out[i] = row[i] - sum;
}
__global__ void nll_loss_kernel(float const* from, float* losses) {
  losses[position()] = -from[position() * vocabulary + position() % vocabulary];
}
__global__ void softmax_backward_kernel(float const* from, float* to) {
  std::size_t const at = position();
  std::size_t const token = at / vocabulary;
  to[at] = __expf(from[at]) - (at % vocabulary == token % vocabulary ? 1.0f : 0.0f);
}
/// The row is in registers: read once and written once.
__global__ void fused_cross_entropy_kernel(bf16* logits, float* losses) {
  bf16* const row = logits + std::size_t{blockIdx.x} * vocabulary;
  float values[logits_of_thread];
#pragma unroll
  for (unsigned i = 0; i < logits_of_thread; ++i)
    values[i] = __bfloat162float(row[i * threads + threadIdx.x]);
  float sum = 0.0f;
#pragma unroll
  for (unsigned i = 0; i < logits_of_thread; ++i) sum += __expf(values[i]);
  sum = logf(of_block(sum));
  unsigned const label = blockIdx.x % vocabulary;
#pragma unroll
  for (unsigned i = 0; i < logits_of_thread; ++i) {
    unsigned const at = i * threads + threadIdx.x;
    float const x = values[i] - sum;
    if (at == label) losses[blockIdx.x] = -x;
    row[at] = __float2bfloat16(__expf(x) - (at == label ? 1.0f : 0.0f));
  }
}

void cross_entropy() {
  bf16* const logits = reinterpret_cast<bf16*>(a);
  compute();
  STRATA_RANGE("loss");
  if (mended) {
    fused_cross_entropy_kernel<<<tokens, threads>>>(logits, small);
  } else {
    cast_to_float_kernel<<<large / 2 / threads, threads>>>(logits, b);
    log_softmax_kernel<<<tokens, threads>>>(b, c);
    nll_loss_kernel<<<tokens / threads, threads>>>(c, small);
    softmax_backward_kernel<<<large / threads, threads>>>(c, b);
    cast_to_bf16_kernel<<<large / 2 / threads, threads>>>(b, logits);
  }
  wait();
}

// --- an optimizer: the norm of all gradients has to be known before the first update ---

constexpr std::size_t parameters = large / 4;  // gradients, parameters and two moments in a and b

__global__ void grad_norm_kernel(float const* gradients, float* sum) {
  float4 const x = reinterpret_cast<float4 const*>(gradients)[position()];
  float const all = of_block(x.x * x.x + x.y * x.y + x.z * x.z + x.w * x.w);
  if (threadIdx.x == 0) atomicAdd(sum, all);
}
__global__ void adamw_kernel(float const* gradients, float* values, float* first, float* second,
                             float const* norm) {
  float const g = gradients[position()] * fminf(1.0f, rsqrtf(*norm + 1e-6f));
  float const m = first[position()] = 0.9f * first[position()] + 0.1f * g;
  float const v = second[position()] = 0.95f * second[position()] + 0.05f * g * g;
  values[position()] = 0.999f * values[position()] - 1e-4f * m * rsqrtf(v + 1e-8f);
}

void sound_optimizer() {
  compute();
  STRATA_RANGE("optimizer");
  CHECK(cudaMemsetAsync(small, 0, sizeof(float)));
  constexpr std::size_t tensors = 8, size = parameters / tensors;
  for (std::size_t i = 0; i < tensors; ++i)
    grad_norm_kernel<<<size / 4 / threads, threads>>>(a + i * size, small);
  for (std::size_t i = 0; i < tensors; ++i)
    adamw_kernel<<<size / threads, threads>>>(a + i * size, a + parameters + i * size, b + i * size,
                                              b + parameters + i * size, small);
  wait();
}
/// The fused kernels of this file, each once.
void sound_fused_kernels() {
  compute();
  {
    STRATA_RANGE("norm");
    add_rms_norm_kernel<<<rows, threads>>>(a, b, small, c);
  }
  compute();
  {
    STRATA_RANGE("gelu");
    gelu_kernel<<<by_four, threads>>>(a, b);
  }
  compute();
  wait();
}

// --- decoding by a graph: a norm of one token by one block ---

constexpr unsigned token_floats = 32768;
cudaGraphExec_t decoding;

__global__ void token_rms_norm_kernel(float const* from, float* to) {
  float squares = 0.0f;
  for (unsigned i = threadIdx.x; i < token_floats; i += threads) squares += from[i] * from[i];
  float const scale = rsqrtf(of_block(squares) / token_floats + 1e-5f);
  for (unsigned i = threadIdx.x; i < token_floats; i += threads) to[i] = scale * from[i];
}

void decode_norm_of_one_block() {
  STRATA_RANGE("token");
  CHECK(cudaGraphLaunch(decoding, streams[0]));
  CHECK(cudaStreamSynchronize(streams[0]));
}
void capture_decoding() {
  decoding = capture([](cudaStream_t stream) {
    for (int layer = 0; layer < 32; ++layer) {
      token_rms_norm_kernel<<<1, threads, 0, stream>>>(small, small + token_floats);
      fma_kernel<<<132 * 8, threads, 0, stream>>>(c, 40, 0.999f);
    }
  });
}
void prepare_small() { CHECK(cudaMalloc(&small, (4 * rows + 4 * token_floats) * sizeof(float))); }

constexpr planted programs[] = {{"gelu_by_eight", gelu_by_eight},
                                {"rms_norm_residual", rms_norm_residual, prepare_small},
                                {"cross_entropy", cross_entropy, prepare_small},
                                {"sound_optimizer", sound_optimizer, prepare_small},
                                {"sound_fused_kernels", sound_fused_kernels, prepare_small},
                                {"decode_norm_of_one_block", decode_norm_of_one_block, [] {
                                   prepare_small();
                                   capture_decoding();
                                 }}};
planted_list const list{programs};

}  // namespace
