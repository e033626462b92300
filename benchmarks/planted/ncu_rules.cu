// A fault for each rule that stands for one of Nsight Compute (docs/reference/ncu-rules.md). With
// "mended" the program has the same work without the fault, and nothing may be said of it; those
// without a mended twin have a sound one in libraries.cu.

#include <cuda_fp16.h>
#include <mma.h>

#include "planted.hpp"

namespace {

constexpr unsigned warp = 32;

/// A chain of multiply-adds, each of which needs the one before.
__device__ float chain(float value, int rounds, float x) {
#pragma unroll 1
  for (int i = 0; i < rounds; ++i) {
#pragma unroll
    for (int step = 0; step < 16; ++step) value = fmaf(value, x, 0.5f);
  }
  return value;
}

// --- what warps wait for ---

/// One warp of a block works at a time; the others wait at the barrier.
__global__ void __launch_bounds__(1024) barrier_kernel(float* to, int rounds) {
  float value = static_cast<float>(threadIdx.x);
  unsigned const warps = blockDim.x / warp;
  for (unsigned turn = 0; turn < warps; ++turn) {
    if (threadIdx.x / warp == turn) value = chain(value, rounds, 0.999f);
    __syncthreads();
  }
  to[position()] = value;
}
__global__ void __launch_bounds__(1024) chain_kernel(float* to, int rounds) {
  to[position()] = chain(static_cast<float>(threadIdx.x), rounds, 0.999f);
}

/// A chain a thread of one warp a scheduler; with more of them a warp has something to issue.
template <int Chains>
__global__ void independent_kernel(float* to, int rounds) {
  float values[Chains];
  for (int i = 0; i < Chains; ++i) values[i] = static_cast<float>(threadIdx.x + i);
#pragma unroll 1
  for (int round = 0; round < rounds / Chains; ++round) {
#pragma unroll
    for (int step = 0; step < 16; ++step) {
#pragma unroll
      for (int i = 0; i < Chains; ++i) values[i] = fmaf(values[i], 0.999f, 0.5f);
    }
  }
  float sum = 0.0f;
  for (int i = 0; i < Chains; ++i) sum += values[i];
  to[position()] = sum;
}

/// Straight code of 16 bytes an instruction: 32 times 4,096 of them fit no cache of instructions.
template <int Part>
__device__ __noinline__ float straight(float value) {
#pragma unroll
  for (int i = 0; i < 4096; ++i) value = fmaf(value, 0.999f, static_cast<float>(Part * 4096 + i));
  return value;
}
template <int Part>
__device__ float all_straight(float value) {
  if constexpr (Part > 0) value = all_straight<Part - 1>(value);
  return straight<Part>(value);
}
__global__ void instructions_kernel(float* to, int rounds) {
  float value = static_cast<float>(threadIdx.x);
#pragma unroll 1
  for (int round = 0; round < rounds; ++round) value = all_straight<15>(value);
  to[position()] = value;
}
__global__ void loop_kernel(float* to, int rounds) {
  float value = static_cast<float>(threadIdx.x);
#pragma unroll 1
  for (int round = 0; round < rounds; ++round) {
#pragma unroll 1
    for (int i = 0; i < 4096; ++i) {
#pragma unroll
      for (int step = 0; step < 16; ++step) value = fmaf(value, 0.999f, static_cast<float>(step));
    }
  }
  to[position()] = value;
}

__global__ void sleep_kernel(float* to, int rounds) {
  for (int i = 0; i < rounds; ++i) __nanosleep(1000);
  to[position()] = 1.0f;
}

// --- work that is not spread evenly ---

/// The first blocks have `times` as much work.
__global__ void blocks_kernel(float* to, int rounds, unsigned hot, int times) {
  int const own = blockIdx.x < hot ? rounds * times : rounds;
  float values[8];
  for (int i = 0; i < 8; ++i) values[i] = static_cast<float>(threadIdx.x + i);
#pragma unroll 1
  for (int round = 0; round < own; ++round) {
#pragma unroll
    for (int i = 0; i < 8; ++i) values[i] = fmaf(values[i], 0.999f, 0.5f);
  }
  float sum = 0.0f;
  for (int i = 0; i < 8; ++i) sum += values[i];
  to[position()] = sum;
}

/// The first warp of a block has `times` as much work.
__global__ void __launch_bounds__(1024) warps_kernel(float* to, int rounds, int times) {
  bool const is_long = threadIdx.x < warp;
  to[position()] =
      chain(static_cast<float>(threadIdx.x), is_long ? rounds * times : rounds, 0.999f);
}

/// All warps read one line of 128 bytes, or each its own, past L1: each volatile load is done.
__global__ void line_kernel(float const* from, float* to, int rounds) {
  float sum = 0.0f;
  float const volatile* const read = from + threadIdx.x % warp;
#pragma unroll 8
  for (int i = 0; i < rounds; ++i) sum += *read;
  to[position()] = sum;
}

__global__ void scale_kernel(float4 const* from, float4* to) {
  float4 const four = from[position()];
  to[position()] = {four.x * 0.5f, four.y * 0.5f, four.z * 0.5f, four.w * 0.5f};
}

// --- instructions ---

/// Both halves of a warp, or whole warps, take different branches.
__global__ void branches_kernel(float* to, int rounds, unsigned apart) {
  float values[8];
  for (int i = 0; i < 8; ++i) values[i] = static_cast<float>(threadIdx.x + i);
  if (threadIdx.x / apart % 2 == 0) {
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
#pragma unroll
      for (int i = 0; i < 8; ++i) values[i] = fmaf(values[i], 0.999f, 0.5f);
    }
  } else {
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
#pragma unroll
      for (int i = 0; i < 8; ++i) values[i] = fmaf(values[i], 0.998f, 0.25f);
    }
  }
  float sum = 0.0f;
  for (int i = 0; i < 8; ++i) sum += values[i];
  to[position()] = sum;
}

template <bool Fused>
__global__ void polynomial_kernel(float* to, int rounds) {
  float values[8];
  for (int i = 0; i < 8; ++i) values[i] = static_cast<float>(threadIdx.x + i);
#pragma unroll 1
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int step = 0; step < 8; ++step) {
#pragma unroll
      for (int i = 0; i < 8; ++i)
        values[i] =
            Fused ? fmaf(values[i], 0.999f, 0.5f) : __fadd_rn(__fmul_rn(values[i], 0.999f), 0.5f);
    }
  }
  float sum = 0.0f;
  for (int i = 0; i < 8; ++i) sum += values[i];
  to[position()] = sum;
}

/// Whole numbers become floats and whole numbers again in each round.
template <bool Converting>
__global__ void convert_kernel(int* to, int rounds) {
  int values[8];
  for (int i = 0; i < 8; ++i) values[i] = static_cast<int>(threadIdx.x) + i;
#pragma unroll 1
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      int const next = values[i] + round;
      values[i] = Converting ? __float2int_rn(__int2float_rn(next) * 0.5f) : next >> 1;
    }
  }
  int sum = 0;
  for (int i = 0; i < 8; ++i) sum += values[i];
  to[position()] = sum;
}

/// A permutation of axes whose lengths are known when it runs only; or a copy, which moves as much.
__global__ void permute_kernel(float const* from, float* to, long long rows, long long columns,
                               long long depth) {
  long long const at = static_cast<long long>(position());
  long long const d = at % depth, column = at / depth % columns, row = at / depth / columns % rows;
  to[at] = from[(row * columns + column) * depth + d];
}
__global__ void same_kernel(float const* from, float* to) { to[position()] = from[position()]; }

// --- products ---

/// Each thread reads a row and a column, through L1 alone.
__global__ void naive_gemm_kernel(float const* x, float const* y, float* to, int side) {
  int const column = static_cast<int>(blockIdx.x * 32 + threadIdx.x % 32);
  int const row = static_cast<int>(blockIdx.y * 8 + threadIdx.x / 32);
  float sum = 0.0f;
  for (int k = 0; k < side; ++k) sum = fmaf(x[row * side + k], y[k * side + column], sum);
  to[row * side + column] = sum;
}

/// Tiles of 64 x 64, 4 x 4 values (or pairs of halves) a thread, whose columns are 16 apart: banks
/// of shared memory conflict in few of the accesses.
template <class Value>
__device__ Value multiply_add(Value x, Value y, Value z) {
  return x * y + z;
}
template <>
__device__ __half2 multiply_add(__half2 x, __half2 y, __half2 z) {
  return __hfma2(x, y, z);
}
template <class Value>
__global__ void tiled_gemm_kernel(Value const* x, Value const* y, Value* to, int side) {
  __shared__ Value left[16][65];
  __shared__ Value right[16][64];
  int const column = static_cast<int>(threadIdx.x % 16), row = static_cast<int>(threadIdx.x / 16);
  int const top = static_cast<int>(blockIdx.y) * 64, begin = static_cast<int>(blockIdx.x) * 64;
  Value sums[4][4];
  for (auto& line : sums)
    for (Value& sum : line) sum = Value();
  for (int k = 0; k < side; k += 16) {
    for (int i = static_cast<int>(threadIdx.x); i < 1024; i += 256) {
      left[i % 16][i / 16] = x[(top + i / 16) * side + k + i % 16];
      right[i / 64][i % 64] = y[(k + i / 64) * side + begin + i % 64];
    }
    __syncthreads();
#pragma unroll
    for (int step = 0; step < 16; ++step) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j)
          sums[i][j] =
              multiply_add(left[step][row * 4 + i], right[step][column + 16 * j], sums[i][j]);
      }
    }
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j)
      to[(top + row * 4 + i) * side + begin + column + 16 * j] = sums[i][j];
}

/// Tensor cores by tiles of 32 x 32, one of 16 x 16 for each of four warps.
__global__ void small_tiles_kernel(__half const* x, __half const* y, float* to, int side) {
  using namespace nvcuda;
  __shared__ alignas(16) __half left[32][40];
  __shared__ alignas(16) __half right[32][40];
  int const top = static_cast<int>(blockIdx.y) * 32, begin = static_cast<int>(blockIdx.x) * 32;
  int const of_warp = static_cast<int>(threadIdx.x / warp);
  int const row = of_warp / 2 * 16, column = of_warp % 2 * 16;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums;
  wmma::fill_fragment(sums, 0.0f);
  for (int k = 0; k < side; k += 32) {
    int const line = static_cast<int>(threadIdx.x) / 4;
    int const eight = static_cast<int>(threadIdx.x) % 4 * 8;  // halves of 16 bytes
    *reinterpret_cast<uint4*>(&left[line][eight]) =
        *reinterpret_cast<uint4 const*>(&x[(top + line) * side + k + eight]);
    *reinterpret_cast<uint4*>(&right[line][eight]) =
        *reinterpret_cast<uint4 const*>(&y[(k + line) * side + begin + eight]);
    __syncthreads();
    for (int step = 0; step < 32; step += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> l;
      wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> r;
      wmma::load_matrix_sync(l, &left[row][step], 40);
      wmma::load_matrix_sync(r, &right[step][column], 40);
      wmma::mma_sync(sums, l, r, sums);
    }
    __syncthreads();
  }
  wmma::store_matrix_sync(to + (top + row) * side + begin + column, sums,
                          static_cast<unsigned>(side), wmma::mem_row_major);
}

// --- programs ---

void barrier_stalls() {
  STRATA_RANGE("reduce");
  if (mended)
    chain_kernel<<<4 * multiprocessors, 1024>>>(c, 2'000);
  else
    barrier_kernel<<<4 * multiprocessors, 1024>>>(c, 2'000);
  wait();
}
void dependent_chain() {
  STRATA_RANGE("scan");
  if (mended)
    independent_kernel<16><<<multiprocessors, 512>>>(c, 32'000);
  else
    independent_kernel<1><<<multiprocessors, 128>>>(c, 128'000);
  wait();
}
void instruction_misses() {
  STRATA_RANGE("unrolled");
  if (mended)
    loop_kernel<<<8 * multiprocessors, threads>>>(c, 4);
  else
    instructions_kernel<<<8 * multiprocessors, threads>>>(c, 4);
  wait();
}
void sleeping() {
  STRATA_RANGE("poll");
  sleep_kernel<<<4 * multiprocessors, threads>>>(c, 500);
  wait();
}
void hot_blocks() {
  STRATA_RANGE("experts");
  unsigned const blocks = 80 * multiprocessors, hot = multiprocessors / 5;
  if (mended)
    blocks_kernel<<<blocks, threads>>>(c, 1'000, 0, 1);
  else
    blocks_kernel<<<blocks, threads>>>(c, 500, hot, 400);
  wait();
}
void uneven_warps() {
  STRATA_RANGE("rows");
  warps_kernel<<<16 * multiprocessors, 1024>>>(c, mended ? 1'000 : 100, mended ? 1 : 60);
  wait();
}
void hot_line() {
  STRATA_RANGE("lookup");
  line_kernel<<<64 * multiprocessors, threads>>>(a, c, 2'000);
  wait();
}
void host_reads() {
  STRATA_RANGE("weights");
  float4 const* const from = reinterpret_cast<float4 const*>(mended ? a : pinned);
  unsigned const items = static_cast<unsigned>(mended ? large : pageable.size());
  scale_kernel<<<items / 4 / threads, threads>>>(from, reinterpret_cast<float4*>(c));
  wait();
}
void both_branches() {
  STRATA_RANGE("activation");
  branches_kernel<<<64 * multiprocessors, threads>>>(c, 5'000, mended ? warp : 1);
  wait();
}
void unfused_chain() {
  STRATA_RANGE("polynomial");
  if (mended)
    polynomial_kernel<true><<<64 * multiprocessors, threads>>>(c, 1'000);
  else
    polynomial_kernel<false><<<64 * multiprocessors, threads>>>(c, 1'000);
  wait();
}
void conversions_in_loop() {
  STRATA_RANGE("quantise");
  int* const to = reinterpret_cast<int*>(c);
  if (mended)
    convert_kernel<false><<<64 * multiprocessors, threads>>>(to, 2'000);
  else
    convert_kernel<true><<<64 * multiprocessors, threads>>>(to, 2'000);
  wait();
}
void index_arithmetic() {
  STRATA_RANGE("permute");
  unsigned const blocks = static_cast<unsigned>(large / threads);
  if (mended)
    same_kernel<<<blocks, threads>>>(a, c);
  else
    permute_kernel<<<blocks, threads>>>(a, c, 1'024, 1'024, 128);
  wait();
}
void naive_gemm() {
  STRATA_RANGE("matmul");
  naive_gemm_kernel<<<dim3(2048 / 32, 2048 / 8), threads>>>(a, b, c, 2048);
  wait();
}
void half_gemm() {
  STRATA_RANGE("matmul");
  __half2 const* const x = reinterpret_cast<__half2 const*>(a);
  __half2 const* const y = reinterpret_cast<__half2 const*>(b);
  tiled_gemm_kernel<<<dim3(64, 64), 256>>>(x, y, reinterpret_cast<__half2*>(c), 4096);
  wait();
}
void double_gemm() {
  STRATA_RANGE("matmul");
  double const* const x = reinterpret_cast<double const*>(a);
  double const* const y = reinterpret_cast<double const*>(b);
  tiled_gemm_kernel<<<dim3(32, 32), 256>>>(x, y, reinterpret_cast<double*>(c), 2048);
  wait();
}
void small_tiles() {
  STRATA_RANGE("matmul");
  __half const* const x = reinterpret_cast<__half const*>(a);
  __half const* const y = reinterpret_cast<__half const*>(b);
  small_tiles_kernel<<<dim3(128, 128), 128>>>(x, y, c, 4096);
  wait();
}

constexpr planted programs[] = {{"barrier_stalls", barrier_stalls},
                                {"dependent_chain", dependent_chain},
                                {"instruction_misses", instruction_misses},
                                {"sleeping", sleeping},
                                {"hot_blocks", hot_blocks},
                                {"uneven_warps", uneven_warps},
                                {"hot_line", hot_line},
                                {"host_reads", host_reads},
                                {"both_branches", both_branches},
                                {"unfused_chain", unfused_chain},
                                {"conversions_in_loop", conversions_in_loop},
                                {"index_arithmetic", index_arithmetic},
                                {"naive_gemm", naive_gemm},
                                {"half_gemm", half_gemm},
                                {"double_gemm", double_gemm},
                                {"small_tiles", small_tiles}};
planted_list const list{programs};

}  // namespace
