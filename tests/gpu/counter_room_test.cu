// More ranges than CUPTI's image has room for, one range very often, and a capture within a counted
// step: the counts stay exact, and the capture intact.

#include <strata/range.hpp>
#include <strata/session.hpp>

#include "gpu/gpu_fixture.hpp"

namespace {

char const* const counting_fma =
    "trace,formats=none,active=1,counters=smsp__sass_thread_inst_executed_op_ffma_pred_on.sum";

__global__ void fma_kernel(float* values, int rounds) {
  float x = values[threadIdx.x];
  for (int i = 0; i < rounds; ++i) x = fmaf(x, 1.0001f, 0.5f);
  values[threadIdx.x] = x;
}

struct device_values {
  float* at = nullptr;
  device_values() {
    GPU_CHECK(cudaMalloc(&at, 32 * sizeof(float)));
    GPU_CHECK(cudaMemset(at, 0, 32 * sizeof(float)));
  }
  ~device_values() { (void)cudaFree(at); }
};

/// One range a name; the i-th counts 32 * (i + 1) fused multiply-adds.
void many(float* values, int ranges) {
  for (int i = 0; i < ranges; ++i) {
    STRATA_RANGE("range", i);
    fma_kernel<<<1, 32>>>(values, i + 1);
  }
  GPU_CHECK(cudaDeviceSynchronize());
}

double sum_of(strata::profile const& p) {
  double sum = 0;
  for (strata::counter_value const& each : p.counters().values) sum += each.value;
  return sum;
}

}  // namespace

TEST_CASE("more ranges than room are counted, in a later step if need be") {
  device_values values;
  strata::session s(gpu::quiet(counting_fma));
  REQUIRE(s.start().ok());
  gpu::run_steps(1, [&] { many(values.at, 1); });
  gpu::run_steps(4, [&] { many(values.at, 100); });
  strata::profile const& p = s.profile();
  for (std::string const& problem : p.problems) MESSAGE(problem);
  CHECK(p.problems.empty());
  CHECK(p.counters().values.size() == 100);
  CHECK(sum_of(p) == 32.0 * 100 * 101 / 2);
  CHECK(p.losses.counter_ranges_lost == 0);
}

TEST_CASE("one range, pushed far more often than there is room for names") {
  device_values values;
  strata::session s(gpu::quiet(counting_fma));
  REQUIRE(s.start().ok());
  gpu::run_steps(1, [&] { many(values.at, 1); });
  gpu::run_steps(4, [&] {
    for (int i = 0; i < 500; ++i) {
      STRATA_RANGE("range", 0);
      fma_kernel<<<1, 32>>>(values.at, 1);
    }
    GPU_CHECK(cudaDeviceSynchronize());
  });
  strata::profile const& p = s.profile();
  for (std::string const& problem : p.problems) MESSAGE(problem);
  CHECK(p.problems.empty());
  REQUIRE(p.counters().values.size() == 1);
  CHECK(p.counters().values[0].value == 32.0 * 500);
  CHECK(p.losses.counter_ranges_lost == 0);
}

namespace {

/// Captures a kernel, launches the graph, and takes it apart.
void capture_and_launch(float* values, cudaStream_t stream) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  {
    STRATA_RANGE("capture");
    GPU_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    {
      STRATA_RANGE("captured");
      fma_kernel<<<1, 32, 0, stream>>>(values, 100);
    }
    GPU_CHECK(cudaStreamEndCapture(stream, &graph));
  }
  GPU_CHECK(cudaGraphInstantiate(&executable, graph, 0));
  {
    STRATA_RANGE("replay");
    GPU_CHECK(cudaGraphLaunch(executable, stream));
    GPU_CHECK(cudaStreamSynchronize(stream));
  }
  GPU_CHECK(cudaGraphExecDestroy(executable));
  GPU_CHECK(cudaGraphDestroy(graph));
}

}  // namespace

TEST_CASE("a capture within a counted step stays intact, and its launch is counted") {
  device_values values;
  cudaStream_t stream = nullptr;
  GPU_CHECK(cudaStreamCreate(&stream));
  strata::session s(gpu::quiet("trace,formats=none,active=1,counters=smsp__warps_launched.sum"));
  REQUIRE(s.start().ok());
  gpu::run_steps(2, [&] { capture_and_launch(values.at, stream); });
  strata::profile const& p = s.profile();
  for (std::string const& problem : p.problems) MESSAGE(problem);
  CHECK(p.problems.empty());
  CHECK(p.counters().passes_done == 1);
  CHECK(sum_of(p) == 1.0);
  GPU_CHECK(cudaStreamDestroy(stream));
}

TEST_CASE("instrumented counters are left out beside graphs, which they would break") {
  device_values values;
  cudaStream_t stream = nullptr;
  GPU_CHECK(cudaStreamCreate(&stream));
  strata::session s(gpu::quiet(counting_fma));
  REQUIRE(s.start().ok());
  gpu::run_steps(3, [&] { capture_and_launch(values.at, stream); });
  strata::profile const& p = s.profile();
  REQUIRE(p.problems.size() == 1);
  CHECK(p.problems[0].find("CUDA graphs") != std::string::npos);
  CHECK(p.counters().values.empty());
  GPU_CHECK(cudaStreamDestroy(stream));
}
