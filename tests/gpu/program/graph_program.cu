// Steps with a CUDA graph that is launched, captured anew and updated, beside kernels, copies and
// allocations: `graph_program STEPS`. It prints sums that no profiler may change.
#include <strata/strata.hpp>

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

namespace {

constexpr int count = 1 << 16;

__global__ void add(float* values, float by) {
  int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) values[i] += by;
}

void check(cudaError_t code) {
  if (code == cudaSuccess) return;
  std::printf("%s\n", cudaGetErrorString(code));
  std::exit(9);
}

cudaGraph_t capture(cudaStream_t stream, float* values, int step) {
  STRATA_RANGE("capture");
  cudaGraph_t made = nullptr;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  for (int layer = 0; layer < 12; ++layer)
    add<<<count / 256, 256, 0, stream>>>(values, static_cast<float>(step % 3));
  check(cudaStreamEndCapture(stream, &made));
  return made;
}

}  // namespace

int main(int, char** words) {
  int const steps = std::atoi(words[1]);
  cudaStream_t stream = nullptr;
  float* values = nullptr;
  float* managed = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  check(cudaMalloc(&values, count * sizeof(float)));
  check(cudaMallocManaged(&managed, count * sizeof(float)));
  check(cudaMemset(values, 0, count * sizeof(float)));
  cudaGraphExec_t ready = nullptr;
  double sum = 0;
  for (int step = 0; step < steps; ++step) {
    STRATA_STEP();
    if (step % 3 == 0) {
      cudaGraph_t const graph = capture(stream, values, step);
      if (ready == nullptr) {
        check(cudaGraphInstantiate(&ready, graph, 0));
      } else {
        cudaGraphExecUpdateResultInfo result{};
        check(cudaGraphExecUpdate(ready, graph, &result));
      }
      check(cudaGraphDestroy(graph));
    }
    {
      STRATA_RANGE("block", step % 2);
      STRATA_RANGE("decode");
      check(cudaGraphLaunch(ready, stream));
    }
    {
      STRATA_RANGE("eager");
      float* scratch = nullptr;
      check(cudaMallocAsync(&scratch, count * sizeof(float), stream));
      check(cudaMemcpyAsync(scratch, values, count * sizeof(float), cudaMemcpyDeviceToDevice,
                            stream));
      add<<<count / 256, 256, 0, stream>>>(values, 1.0f);
      check(cudaFreeAsync(scratch, stream));
    }
    STRATA_RANGE("sample");
    float first = 0;
    check(cudaMemcpyAsync(&first, values, sizeof first, cudaMemcpyDeviceToHost, stream));
    check(cudaStreamSynchronize(stream));
    managed[step % count] = first;
    sum += static_cast<double>(managed[step % count]);
  }
  std::printf("%d steps, sum %.1f\n", steps, sum);
  check(cudaGraphExecDestroy(ready));
  return 7;
}
