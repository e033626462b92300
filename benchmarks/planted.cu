// Small programs with one planted bottleneck each, and sound ones: what findings.json says first is
// known. planted CASE [STEPS [mended]]; planted list. Run by planted.py. With "mended" the program
// has the same work without its fault: exactly what the prediction of the finding takes away.

#include <strata/strata.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CHECK(CALL)                                                               \
  do {                                                                            \
    cudaError_t const code = (CALL);                                              \
    if (code != cudaSuccess) {                                                    \
      std::fprintf(stderr, "planted: %s: %s\n", #CALL, cudaGetErrorString(code)); \
      std::exit(2);                                                               \
    }                                                                             \
  } while (false)

namespace {

constexpr std::size_t large = std::size_t{1} << 27;  // floats: 512 MiB, far beyond L2
constexpr unsigned threads = 256;

float *a, *b, *c;  // of `large` floats each
cudaStream_t streams[4];
cudaEvent_t events[4];
bool mended;
unsigned multiprocessors;

__device__ std::size_t position() { return blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; }

__global__ void add_kernel(float* to, float value) { to[position()] += value; }

/// 16 bytes a thread: with 4, HBM gives a fifth less.
__global__ void triad_kernel(float4 const* x, float4 const* y, float4* to) {
  float4 const l = x[position()], r = y[position()];
  to[position()] = make_float4(fmaf(3.0f, r.x, l.x), fmaf(3.0f, r.y, l.y), fmaf(3.0f, r.z, l.z),
                               fmaf(3.0f, r.w, l.w));
}

/// Threads read floats that are so far apart: with 64 each from a line of its own, with 1 from one.
__global__ void strided_kernel(float const* from, float* to, std::size_t apart, std::size_t next,
                               std::size_t items) {
  float sum = 0.0f;
  for (std::size_t row = 0; row < 8; ++row) sum += from[(position() * apart + row * next) % items];
  to[position()] = sum;
}

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

/// Multiply-adds on registers alone: at the roof of FP32.
__global__ void fma_kernel(float* to, int rounds, float x) {
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

/// With much shared memory a block has an SM for itself; 64 threads wait for each load there.
__global__ void staged_kernel(float4 const* from, float4* to, std::size_t items) {
  extern __shared__ float4 stage[];
  for (std::size_t i = position(); i < items; i += std::size_t{gridDim.x} * blockDim.x) {
    stage[threadIdx.x] = from[i];
    __syncwarp();
    to[i] = stage[threadIdx.x];
  }
}

void compute_on_the_cpu(int microseconds) {
  auto const end = std::chrono::steady_clock::now() + std::chrono::microseconds(microseconds);
  while (std::chrono::steady_clock::now() < end) {
  }
}

/// Reads 2 x 4 B and writes 4 B for each of `items` floats.
void triad(std::size_t items, cudaStream_t stream = nullptr) {
  triad_kernel<<<static_cast<unsigned>(items / 4 / threads), threads, 0, stream>>>(
      reinterpret_cast<float4 const*>(a), reinterpret_cast<float4 const*>(b),
      reinterpret_cast<float4*>(c));
}
void wait() { CHECK(cudaDeviceSynchronize()); }

// --- one bottleneck each ---

cudaGraphExec_t attention;  // the same kernels in a graph
void launch_attention(cudaStream_t stream) {
  for (int i = 0; i < 100; ++i) add_kernel<<<264, threads, 0, stream>>>(a, 1.0f);
}

void launch_storm() {
  for (int layer = 0; layer < 4; ++layer) {
    STRATA_RANGE("block", layer);
    {
      STRATA_RANGE("attention");
      if (mended)
        CHECK(cudaGraphLaunch(attention, nullptr));
      else
        launch_attention(nullptr);
    }
    STRATA_RANGE("mlp");
    triad(std::size_t{1} << 22);
  }
  wait();
}

std::vector<float> pageable(std::size_t{1} << 23);
float* pinned;  // as large

void pageable_copy() {
  {
    STRATA_RANGE("load batch");
    if (!mended) CHECK(cudaMemcpy(a, pageable.data(), pageable.size() * 4, cudaMemcpyHostToDevice));
  }
  {
    STRATA_RANGE("model");
    triad(std::size_t{1} << 24);
  }
  STRATA_RANGE("logits");
  CHECK(cudaMemcpy(pageable.data(), c, std::size_t{1} << 24, cudaMemcpyDeviceToHost));
}

void pinned_copy() {
  {
    STRATA_RANGE("load batch");
    if (!mended) CHECK(cudaMemcpy(a, pinned, pageable.size() * 4, cudaMemcpyHostToDevice));
  }
  STRATA_RANGE("model");
  triad(std::size_t{1} << 24);
  wait();
}

void wait_in_step() {
  for (int layer = 0; layer < 50; ++layer) {
    STRATA_RANGE("block", layer);
    add_kernel<<<1u << 13, threads>>>(a, 1.0f);
    STRATA_RANGE("check");
    if (!mended) wait();
  }
  wait();
}

void allocation() {
  for (int layer = 0; layer < 20; ++layer) {
    STRATA_RANGE("block", layer);
    float* const own[] = {a, b, c};  // before the loop, for each layer
    float* scratch = own[layer / 8] + (std::size_t{1} << 24) * (layer % 8);
    if (!mended) CHECK(cudaMalloc(&scratch, std::size_t{1} << 26));
    add_kernel<<<1u << 14, threads>>>(scratch, 1.0f);
    if (!mended) CHECK(cudaFree(scratch));
  }
  wait();
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

void cpu_work() {
  for (int layer = 0; layer < 20; ++layer) {
    {
      STRATA_RANGE("model");
      triad(std::size_t{1} << 22);
    }
    STRATA_RANGE("sample");
    if (!mended) compute_on_the_cpu(200);
  }
  wait();
}

void cpu_gap() {
  for (int layer = 0; layer < 20; ++layer) {
    {
      STRATA_RANGE("model");
      triad(std::size_t{1} << 22);
    }
    if (!mended) compute_on_the_cpu(200);
  }
  wait();
}

void pointer_chase() {
  STRATA_RANGE("lookup");
  chase_kernel<<<1056, 32>>>(reinterpret_cast<unsigned*>(b), c, 2000);
  wait();
}

/// The pool keeps nothing, so that the wait unmaps what the next layer maps again.
void trimmed_pool() {
  for (int layer = 0; layer < 4; ++layer) {
    STRATA_RANGE("block", layer);
    float* activations;
    CHECK(cudaMallocAsync(&activations, std::size_t{1} << 28, streams[0]));
    add_kernel<<<1u << 18, threads, 0, streams[0]>>>(activations, 1.0f);
    CHECK(cudaFreeAsync(activations, streams[0]));
    CHECK(cudaStreamSynchronize(streams[0]));
  }
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

constexpr int staged_bytes = 200 << 10;

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

/// Allocations cost little here, the copy costs most.
void two_faults() {
  for (int layer = 0; layer < 4; ++layer) {
    STRATA_RANGE("block", layer);
    float* scratch;
    CHECK(cudaMalloc(&scratch, std::size_t{1} << 22));
    triad(std::size_t{1} << 24);
    CHECK(cudaFree(scratch));
  }
  STRATA_RANGE("logits");
  CHECK(cudaMemcpy(pageable.data(), c, pageable.size() * 4, cudaMemcpyDeviceToHost));
}

// --- nothing wrong ---

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

struct planted {
  char const* name;
  void (*step)();
};
constexpr planted cases[] = {{"launch_storm", launch_storm},
                             {"pageable_copy", pageable_copy},
                             {"pinned_copy", pinned_copy},
                             {"wait_in_step", wait_in_step},
                             {"allocation", allocation},
                             {"strided", strided},
                             {"few_blocks", few_blocks},
                             {"fp32_gemm", fp32_gemm},
                             {"spills", spills},
                             {"bank_conflicts", bank_conflicts},
                             {"atomics", atomics},
                             {"serialised_streams", serialised_streams},
                             {"cpu_work", cpu_work},
                             {"cpu_gap", cpu_gap},
                             {"pointer_chase", pointer_chase},
                             {"trimmed_pool", trimmed_pool},
                             {"serialised_beside", serialised_beside},
                             {"tail_wave", tail_wave},
                             {"low_occupancy", low_occupancy},
                             {"extra_traffic", extra_traffic},
                             {"declared_work", declared_work},
                             {"two_faults", two_faults},
                             {"sound_triad", sound_triad},
                             {"sound_fma", sound_fma},
                             {"sound_ahead", sound_ahead},
                             {"sound_layers", sound_layers},
                             {"sound_graph", sound_graph},
                             {"sound_overlap", sound_overlap}};

cudaGraphExec_t capture(void (*work)(cudaStream_t)) {
  cudaGraph_t captured;
  cudaGraphExec_t made;
  CHECK(cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeThreadLocal));
  work(streams[0]);
  CHECK(cudaStreamEndCapture(streams[0], &captured));
  CHECK(cudaGraphInstantiate(&made, captured, 0));
  return made;
}

void prepare() {
  for (float** const each : {&a, &b, &c}) {
    CHECK(cudaMalloc(each, large * sizeof(float)));
    CHECK(cudaMemset(*each, 0, large * sizeof(float)));
  }
  CHECK(cudaMallocHost(&pinned, pageable.size() * sizeof(float)));
  for (auto& each : streams) CHECK(cudaStreamCreateWithFlags(&each, cudaStreamNonBlocking));
  for (auto& each : events) CHECK(cudaEventCreateWithFlags(&each, cudaEventDisableTiming));
  graph = capture([](cudaStream_t stream) {
    for (int i = 0; i < 20; ++i) triad(std::size_t{1} << 26, stream);
  });
  attention = capture(launch_attention);
  constexpr cudaFuncAttribute most = cudaFuncAttributeMaxDynamicSharedMemorySize;
  CHECK(cudaFuncSetAttribute(fma_kernel, most, staged_bytes));
  CHECK(cudaFuncSetAttribute(staged_kernel, most, staged_bytes));
  int count;
  CHECK(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0));
  multiprocessors = static_cast<unsigned>(count);
  wait();
}

}  // namespace

int main(int count, char** arguments) {
  char const* const wanted = count > 1 ? arguments[1] : "list";
  int const steps = count > 2 ? std::atoi(arguments[2]) : 40;
  mended = count > 3 && std::strcmp(arguments[3], "mended") == 0;
  for (planted const& each : cases) {
    if (std::strcmp(wanted, "list") == 0) std::puts(each.name);
    if (std::strcmp(wanted, each.name) != 0) continue;
    prepare();
    if (each.step == pointer_chase)
      chain_kernel<<<static_cast<unsigned>(large / threads), threads>>>(
          reinterpret_cast<unsigned*>(b));
    wait();
    each.step();  // modules are loaded
    wait();
    for (int step = 0; step < steps; ++step) {
      STRATA_STEP();
      each.step();
    }
    wait();
    return 0;
  }
  return std::strcmp(wanted, "list") == 0 ? 0 : 1;
}
