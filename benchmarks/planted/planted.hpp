#ifndef STRATA_BENCHMARKS_PLANTED_HPP
#define STRATA_BENCHMARKS_PLANTED_HPP

// What the planted programs share: buffers, streams, kernels that several use, and the list of the
// programs. Each file of this folder has one topic and ends with its list.

#include <strata/strata.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(CALL)                                                               \
  do {                                                                            \
    cudaError_t const code = (CALL);                                              \
    if (code != cudaSuccess) {                                                    \
      std::fprintf(stderr, "planted: %s: %s\n", #CALL, cudaGetErrorString(code)); \
      std::exit(2);                                                               \
    }                                                                             \
  } while (false)

constexpr std::size_t large = std::size_t{1} << 27;  // floats: 512 MiB, far beyond L2
constexpr unsigned threads = 256;

extern float *a, *b, *c;  // of `large` floats each
extern float* pinned;     // as large as pageable
extern std::vector<float> pageable;
extern cudaStream_t streams[4];
extern cudaEvent_t events[4];
extern bool mended;
extern unsigned multiprocessors;
extern int steps_begun;  // the first call is before the loop: 0

/// A program: `prepare`, where there is one, runs once before everything.
struct planted {
  char const* name;
  void (*step)();
  void (*prepare)() = nullptr;
};
/// The programs of one file. Each has a constant of this type.
struct planted_list {
  template <std::size_t Count>
  explicit planted_list(planted const (&list)[Count]) : begin(list), end(list + Count), next(all) {
    all = this;
  }
  planted const *begin, *end;
  planted_list const* next;
  static planted_list const* all;
};

/// Captures into a graph what `work` launches in the stream.
cudaGraphExec_t capture(void (*work)(cudaStream_t));

inline void wait() { CHECK(cudaDeviceSynchronize()); }

inline void compute_on_the_cpu(int microseconds) {
  auto const end = std::chrono::steady_clock::now() + std::chrono::microseconds(microseconds);
  while (std::chrono::steady_clock::now() < end) {
  }
}

// --- kernels of several files ---

static __device__ std::size_t position() {
  return blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
}

static __global__ void add_kernel(float* to, float value) { to[position()] += value; }

/// 16 bytes a thread: with 4, HBM gives a fifth less.
static __global__ void triad_kernel(float4 const* x, float4 const* y, float4* to) {
  float4 const l = x[position()], r = y[position()];
  to[position()] = make_float4(fmaf(3.0f, r.x, l.x), fmaf(3.0f, r.y, l.y), fmaf(3.0f, r.z, l.z),
                               fmaf(3.0f, r.w, l.w));
}

/// Multiply-adds on registers alone: at the roof of FP32.
static __global__ void fma_kernel(float* to, int rounds, float x) {
  float v[8];
  for (int i = 0; i < 8; ++i) v[i] = static_cast<float>(threadIdx.x) + static_cast<float>(i);
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int repeat = 0; repeat < 8; ++repeat) {
#pragma unroll
      for (int i = 0; i < 8; ++i) v[i] = fmaf(v[i], x, 0.5f);
    }
  }
  float sum = 0.0f;
  for (int i = 0; i < 8; ++i) sum += v[i];
  to[position()] = sum;
}

/// Threads read floats that are so far apart: with 64 each from a line of its own, with 1 from one.
static __global__ void strided_kernel(float const* from, float* to, std::size_t apart,
                                      std::size_t next, std::size_t items) {
  float sum = 0.0f;
  for (std::size_t row = 0; row < 8; ++row) sum += from[(position() * apart + row * next) % items];
  to[position()] = sum;
}

/// Reads 2 x 4 B and writes 4 B for each of `items` floats.
inline void triad(std::size_t items, cudaStream_t stream = nullptr) {
  triad_kernel<<<static_cast<unsigned>(items / 4 / threads), threads, 0, stream>>>(
      reinterpret_cast<float4 const*>(a), reinterpret_cast<float4 const*>(b),
      reinterpret_cast<float4*>(c));
}

constexpr int staged_bytes = 200 << 10;  // of shared memory: a block has an SM for itself
void allow_staged_bytes(void const* kernel);

#endif  // STRATA_BENCHMARKS_PLANTED_HPP
