// The kernels bound the step, and one is slower than it need be.

#include "planted.hpp"

namespace {

/// Grid-stride sum: any number of blocks does it.
__global__ void sum_kernel(float const* from, float* to, std::size_t items) {
  float sum = 0.0f;
  for (std::size_t i = position(); i < items; i += std::size_t{gridDim.x} * blockDim.x)
    sum += from[i];
  to[position()] = sum;
}

/// C = A * B in FP32, side x side: tiles of 64 x 64, 4 x 4 for each of 256 threads.
__global__ void gemm_kernel(float const* x, float const* y, float* to, int side) {
  __shared__ float left[16][68];
  __shared__ float right[16][64];
  int const column = static_cast<int>(threadIdx.x % 16), row = static_cast<int>(threadIdx.x / 16);
  int const top = static_cast<int>(blockIdx.y) * 64, begin = static_cast<int>(blockIdx.x) * 64;
  float sums[4][4] = {};
  for (int k = 0; k < side; k += 16) {
    for (int i = static_cast<int>(threadIdx.x); i < 1024; i += 256) {
      left[i % 16][i / 16] = x[(top + i / 16) * side + k + i % 16];
      right[i / 64][i % 64] = y[(k + i / 64) * side + begin + i % 64];
    }
    __syncthreads();
#pragma unroll
    for (int step = 0; step < 16; ++step) {
      float l[4], r[4];
      for (int i = 0; i < 4; ++i)
        l[i] = left[step][row * 4 + i], r[i] = right[step][column * 4 + i];
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) sums[i][j] = fmaf(l[i], r[j], sums[i][j]);
    }
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j)
      to[(top + row * 4 + i) * side + begin + column * 4 + j] = sums[i][j];
}

/// An array that does not fit into registers, because its index is not known.
__global__ void spill_kernel(float* to, int rounds, int mix) {
  float values[96];
  for (int i = 0; i < 96; ++i) values[i] = static_cast<float>(i + mix);
  int at = static_cast<int>(threadIdx.x) % 96;
  for (int i = 0; i < rounds; ++i) {
    values[at] = values[at] * 0.5f + values[(at + mix) % 96];
    at = (at + mix + i) % 96;
  }
  float sum = 0.0f;
  for (int i = 0; i < 96; ++i) sum += values[i];
  to[position()] = sum;
}

/// With lanes 64 floats apart all read from one bank, with 1 each from its own.
__global__ void conflict_kernel(float* to, int rounds, int apart, int next) {
  __shared__ float values[32 * 64];
  for (int i = static_cast<int>(threadIdx.x); i < 32 * 64; i += static_cast<int>(blockDim.x))
    values[i] = static_cast<float>(i);
  __syncthreads();
  float sum = 0.0f;
  int const lane = static_cast<int>(threadIdx.x) % 32;
  for (int i = 0; i < rounds; ++i) sum += values[lane * apart + (i & 63) * next];
  to[position()] = sum;
}

__global__ void atomic_kernel(float const* from, float* to) { atomicAdd(to, from[position()]); }

/// One lane of a warp follows a chain; each load needs the one before.
__global__ void chase_kernel(unsigned const* next, float* to, int rounds) {
  if (threadIdx.x % 32 != 0) return;
  unsigned at = static_cast<unsigned>(position() * 2654435761u) % static_cast<unsigned>(large);
  for (int i = 0; i < rounds; ++i) at = next[at];
  to[position()] = static_cast<float>(at);
}

__global__ void chain_kernel(unsigned* next) {
  next[position()] =
      static_cast<unsigned>(position() * 1103515245u + 12345u) % static_cast<unsigned>(large);
}

/// With much shared memory a block has an SM for itself; 64 threads wait for each load there.
__global__ void staged_kernel(float4 const* from, float4* to, std::size_t items) {
  extern __shared__ float4 stage[];
  for (std::size_t i = position(); i < items; i += std::size_t{gridDim.x} * blockDim.x) {
    stage[threadIdx.x] = from[i];
    __syncwarp();
    to[i] = stage[threadIdx.x];
  }
}

void strided() {
  STRATA_RANGE("gather");
  std::size_t const all = std::size_t{1} << 13 << 8;  // threads
  strided_kernel<<<1u << 13, threads>>>(a, c, mended ? 1 : 64, mended ? all : 1048, large);
  wait();
}

void few_blocks() {
  {
    STRATA_RANGE("reduce");
    sum_kernel<<<mended ? multiprocessors : 4, threads>>>(a, c, std::size_t{1} << 24);
  }
  STRATA_RANGE("model");
  triad(std::size_t{1} << 24);
  wait();
}

void fp32_gemm() {
  {
    STRATA_RANGE("norm");
    triad(std::size_t{1} << 22);
  }
  STRATA_RANGE("matmul");
  gemm_kernel<<<dim3(64, 64), 256>>>(a, b, c, 4096);
  wait();
}

void spills() {
  STRATA_RANGE("activation");
  spill_kernel<<<1u << 12, threads>>>(c, 400, 7);
  wait();
}

void bank_conflicts() {
  STRATA_RANGE("transpose");
  conflict_kernel<<<1u << 12, threads>>>(c, 1000, mended ? 1 : 64, mended ? 32 : 1);
  wait();
}

void atomics() {
  STRATA_RANGE("loss");
  atomic_kernel<<<1u << 15, threads>>>(a, c);
  wait();
}

void pointer_chase() {
  STRATA_RANGE("lookup");
  chase_kernel<<<1056, 32>>>(reinterpret_cast<unsigned*>(b), c, 2000);
  wait();
}

void serialised_streams() {
  STRATA_RANGE("experts");
  for (int i = 0; i < 16; ++i) {
    int const at = i % 4;
    if (!mended) CHECK(cudaStreamWaitEvent(streams[at], events[(at + 3) % 4], 0));
    sum_kernel<<<16, threads, 0, streams[at]>>>(a, c + at * 65536, std::size_t{1} << 23);
    CHECK(cudaEventRecord(events[at], streams[at]));
  }
  wait();
}

/// Half of the step's kernels fill the GPU.
void serialised_beside() {
  {
    STRATA_RANGE("model");
    for (int i = 0; i < 8; ++i) triad(large);
    wait();
  }
  serialised_streams();
}

void tail_wave() {
  {
    STRATA_RANGE("norm");
    triad(std::size_t{1} << 24);
  }
  STRATA_RANGE("tiles");
  fma_kernel<<<multiprocessors + 8, 1024, staged_bytes>>>(c, 1000, 0.999f);
  wait();
}

void low_occupancy() {
  {
    STRATA_RANGE("norm");
    triad(std::size_t{1} << 24);
  }
  STRATA_RANGE("dequantise");
  staged_kernel<<<8 * multiprocessors, 64, staged_bytes>>>(
      reinterpret_cast<float4 const*>(a), reinterpret_cast<float4*>(c), std::size_t{1} << 22);
  wait();
}

/// A pass is declared, four are made.
void extra_traffic() {
  STRATA_RANGE("attention", strata::bytes(12.0 * large));
  for (int i = 0; i < 4; ++i) triad(large);
  wait();
}

/// Done twice, declared once.
void declared_work() {
  STRATA_RANGE("backward", strata::flops(132.0 * 64 * threads * 4000 * 64 * 2));
  for (int i = 0; i < 2; ++i) fma_kernel<<<132 * 64, threads>>>(c, 4000, 0.999f);
  wait();
}

void allow_staged() {
  allow_staged_bytes(reinterpret_cast<void const*>(fma_kernel));
  allow_staged_bytes(reinterpret_cast<void const*>(staged_kernel));
}
void make_chain() {
  unsigned* const next = reinterpret_cast<unsigned*>(b);
  chain_kernel<<<static_cast<unsigned>(large / threads), threads>>>(next);
}

/// As tail_wave with a quarter of the warps: few warps are not what is wrong.
void tail_wave_shared() {
  STRATA_RANGE("tiles");
  fma_kernel<<<multiprocessors + 8, 256, staged_bytes>>>(c, 4000, 0.999f);
  wait();
}

/// One warp of one block follows the chain: more blocks would not make it shorter.
void chain_in_one_block() {
  STRATA_RANGE("lookup");
  chase_kernel<<<1, 32>>>(reinterpret_cast<unsigned*>(b), c, 2000);
  wait();
}

/// The constants are doubles, so each line converts, computes in FP64 and converts back.
__global__ void double_constants_kernel(float* out, int rounds) {
  float value = out[position()];
  for (int i = 0; i < rounds; ++i) value = static_cast<float>(value * 0.999 + 0.001);
  out[position()] = value;
}
__global__ void float_constants_kernel(float* out, int rounds) {
  float value = out[position()];
  for (int i = 0; i < rounds; ++i) value = value * 0.999f + 0.001f;
  out[position()] = value;
}
void fp64_by_accident() {
  STRATA_RANGE("schedule");
  unsigned const blocks = static_cast<unsigned>(large / 8 / threads);
  if (mended)
    float_constants_kernel<<<blocks, threads>>>(c, 64);
  else
    double_constants_kernel<<<blocks, threads>>>(c, 64);
  wait();
}

constexpr unsigned side = 8192;

/// Reads rows, writes columns: neighbouring threads write 32 KiB apart.
__global__ void naive_transpose_kernel(float const* from, float* out) {
  std::size_t const column = blockIdx.x * 32 + threadIdx.x % 32;
  std::size_t const row = blockIdx.y * 8 + threadIdx.x / 32;
  out[column * side + row] = from[row * side + column];
}
/// By a tile of shared memory, whose rows are so many floats long: with 32 a column is in one bank.
template <int Width>
__global__ void tiled_transpose_kernel(float const* from, float* out) {
  __shared__ float tile[32][Width];
  unsigned const lane = threadIdx.x % 32;
  for (unsigned row = threadIdx.x / 32; row < 32; row += 8)
    tile[row][lane] = from[std::size_t{blockIdx.y * 32 + row} * side + blockIdx.x * 32 + lane];
  __syncthreads();
  for (unsigned row = threadIdx.x / 32; row < 32; row += 8)
    out[std::size_t{blockIdx.x * 32 + row} * side + blockIdx.y * 32 + lane] = tile[lane][row];
}
void uncoalesced_transpose() {
  STRATA_RANGE("transpose");
  if (mended)
    tiled_transpose_kernel<33><<<dim3(side / 32, side / 32), threads>>>(a, c);
  else
    naive_transpose_kernel<<<dim3(side / 32, side / 8), threads>>>(a, c);
  wait();
}
void conflicts_in_transpose() {
  STRATA_RANGE("transpose");
  if (mended)
    tiled_transpose_kernel<33><<<dim3(side / 32, side / 32), threads>>>(a, c);
  else
    tiled_transpose_kernel<32><<<dim3(side / 32, side / 32), threads>>>(a, c);
  wait();
}

/// Product of whole numbers, 128 x 128 a block, 8 x 8 a thread: 64 sums do not fit into the
/// registers that so many blocks an SM leave.
template <int Blocks>
__global__ void __launch_bounds__(256, Blocks)
    whole_gemm_kernel(int const* x, int const* y, int* out, int length) {
  __shared__ int left[8][132];
  __shared__ int right[8][128];
  int const column = static_cast<int>(threadIdx.x % 16);
  int const row = static_cast<int>(threadIdx.x / 16);
  int const top = static_cast<int>(blockIdx.y) * 128;
  int const begin = static_cast<int>(blockIdx.x) * 128;
  int sums[8][8] = {};
  for (int k = 0; k < length; k += 8) {
    for (int i = static_cast<int>(threadIdx.x); i < 1024; i += 256) {
      left[i % 8][i / 8] = x[(top + i / 8) * length + k + i % 8];
      right[i / 128][i % 128] = y[(k + i / 128) * length + begin + i % 128];
    }
    __syncthreads();
#pragma unroll
    for (int step = 0; step < 8; ++step) {
#pragma unroll
      for (int i = 0; i < 8; ++i) {
#pragma unroll
        for (int j = 0; j < 8; ++j)
          sums[i][j] += left[step][row * 8 + i] * right[step][column * 8 + j];
      }
    }
    __syncthreads();
  }
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j)
      out[(top + row * 8 + i) * length + begin + column * 8 + j] = sums[i][j];
}
void spilling_gemm() {
  STRATA_RANGE("matmul");
  int const* const x = reinterpret_cast<int const*>(a);
  int const* const y = reinterpret_cast<int const*>(b);
  int* const out = reinterpret_cast<int*>(c);
  if (mended)
    whole_gemm_kernel<1><<<dim3(32, 32), 256>>>(x, y, out, 4096);
  else
    whole_gemm_kernel<6><<<dim3(32, 32), 256>>>(x, y, out, 4096);
  wait();
}

constexpr planted programs[] = {{"strided", strided},
                                {"few_blocks", few_blocks},
                                {"fp32_gemm", fp32_gemm},
                                {"spills", spills},
                                {"bank_conflicts", bank_conflicts},
                                {"atomics", atomics},
                                {"pointer_chase", pointer_chase, make_chain},
                                {"serialised_streams", serialised_streams},
                                {"serialised_beside", serialised_beside},
                                {"tail_wave", tail_wave, allow_staged},
                                {"low_occupancy", low_occupancy, allow_staged},
                                {"extra_traffic", extra_traffic},
                                {"declared_work", declared_work},
                                {"tail_wave_shared", tail_wave_shared, allow_staged},
                                {"chain_in_one_block", chain_in_one_block, make_chain},
                                {"fp64_by_accident", fp64_by_accident},
                                {"uncoalesced_transpose", uncoalesced_transpose},
                                {"conflicts_in_transpose", conflicts_in_transpose},
                                {"spilling_gemm", spilling_gemm}};
planted_list const list{programs};

}  // namespace
