// Nothing is wrong: no finding may predict a gain.

#include "planted.hpp"

namespace {

void sound_triad() {
  STRATA_RANGE("model");
  for (int i = 0; i < 8; ++i) triad(large);
  wait();
}

void sound_fma() {
  STRATA_RANGE("model");
  fma_kernel<<<132 * 64, threads>>>(c, 4000, 0.999f);
  wait();
}

/// The steps only launch.
void sound_ahead() {
  STRATA_RANGE("model");
  for (int i = 0; i < 8; ++i) triad(large);
}

/// The same of short kernels in many ranges: calls wait where the queue is full.
void sound_layers() {
  for (int layer = 0; layer < 64; ++layer) {
    STRATA_RANGE("block", layer);
    triad(std::size_t{1} << 24);
  }
}

cudaGraphExec_t graph;

void sound_graph() {
  STRATA_RANGE("model");
  CHECK(cudaGraphLaunch(graph, streams[0]));
  CHECK(cudaStreamSynchronize(streams[0]));
}

void sound_overlap() {
  {
    STRATA_RANGE("load batch");
    CHECK(cudaMemcpyAsync(a, pinned, pageable.size() * 4, cudaMemcpyHostToDevice, streams[1]));
  }
  STRATA_RANGE("model");
  for (int i = 0; i < 8; ++i) triad(large, streams[0]);
  CHECK(cudaStreamSynchronize(streams[0]));
  CHECK(cudaStreamSynchronize(streams[1]));
}

void capture_triads() {
  graph = capture([](cudaStream_t stream) {
    for (int i = 0; i < 20; ++i) triad(std::size_t{1} << 26, stream);
  });
}

constexpr unsigned row_floats = 4096;
constexpr unsigned rows = large / row_floats;

/// The sum, or the maximum, of one value of each thread, in all threads.
template <typename Combine>
__device__ float of_block(float value, Combine combine) {
  __shared__ float parts[threads / 32];
  for (int apart = 16; apart > 0; apart /= 2)
    value = combine(value, __shfl_xor_sync(~0u, value, apart));
  __syncthreads();
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  value = parts[0];
  for (unsigned warp = 1; warp < threads / 32; ++warp) value = combine(value, parts[warp]);
  return value;
}
__device__ float sum_of_block(float value) {
  return of_block(value, [](float x, float y) { return x + y; });
}
__device__ float most_of_block(float value) {
  return of_block(value, [](float x, float y) { return fmaxf(x, y); });
}

/// A block has a row in its registers: it is read once and written once.
struct row_in_block {
  float4 parts[row_floats / 4 / threads];

  __device__ explicit row_in_block(float const* from) {
    float4 const* const row = reinterpret_cast<float4 const*>(from + blockIdx.x * row_floats);
#pragma unroll
    for (unsigned i = 0; i < row_floats / 4 / threads; ++i)
      parts[i] = row[i * threads + threadIdx.x];
  }
  template <typename Change>
  __device__ void change(Change change) {
#pragma unroll
    for (float4& part : parts)
      part = make_float4(change(part.x), change(part.y), change(part.z), change(part.w));
  }
  template <typename Combine>
  __device__ float together(Combine combine) const {
    float all = combine(combine(parts[0].x, parts[0].y), combine(parts[0].z, parts[0].w));
#pragma unroll
    for (unsigned i = 1; i < row_floats / 4 / threads; ++i)
      all = combine(all, combine(combine(parts[i].x, parts[i].y), combine(parts[i].z, parts[i].w)));
    return all;
  }
  __device__ void write(float* out) const {
    float4* const row = reinterpret_cast<float4*>(out + blockIdx.x * row_floats);
#pragma unroll
    for (unsigned i = 0; i < row_floats / 4 / threads; ++i)
      row[i * threads + threadIdx.x] = parts[i];
  }
};

__global__ void norm_kernel(float const* from, float* out) {
  row_in_block row(from);
  float squares = 0.0f;
  row.change([&squares](float x) {
    squares += x * x;
    return x;
  });
  float const scale = rsqrtf(sum_of_block(squares) / row_floats + 1e-5f);
  row.change([scale](float x) { return x * scale; });
  row.write(out);
}

__global__ void softmax_kernel(float const* from, float* out) {
  row_in_block row(from);
  float const most = most_of_block(row.together([](float x, float y) { return fmaxf(x, y); }));
  row.change([most](float x) { return __expf(x - most); });
  float const sum = sum_of_block(row.together([](float x, float y) { return x + y; }));
  float const scale = 1.0f / sum;
  row.change([scale](float x) { return x * scale; });
  row.write(out);
}

void sound_norm() {
  STRATA_RANGE("norm");
  for (int i = 0; i < 4; ++i) norm_kernel<<<rows, threads>>>(a, c);
  wait();
}

void sound_softmax() {
  STRATA_RANGE("softmax");
  for (int i = 0; i < 4; ++i) softmax_kernel<<<rows, threads>>>(a, c);
  wait();
}

constexpr planted programs[] = {{"sound_triad", sound_triad},
                                {"sound_fma", sound_fma},
                                {"sound_ahead", sound_ahead},
                                {"sound_layers", sound_layers},
                                {"sound_graph", sound_graph, capture_triads},
                                {"sound_overlap", sound_overlap},
                                {"sound_norm", sound_norm},
                                {"sound_softmax", sound_softmax}};
planted_list const list{programs};

}  // namespace
