// Hardware counters of a real device against traffic and instructions counted by hand.

#include <cmath>
#include <map>
#include <strata/base/clock.hpp>
#include <strata/profile.hpp>
#include <strata/range.hpp>

#include "gpu/gpu_fixture.hpp"

namespace {

__global__ void copy_kernel(float4 const* from, float4* to, std::size_t count) {
  std::size_t const i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
  if (i < count) to[i] = from[i];
}

__global__ void fma_kernel(float* values, int rounds) {
  float x = values[blockIdx.x * blockDim.x + threadIdx.x];
  for (int i = 0; i < rounds; ++i) x = fmaf(x, 1.0001f, 0.5f);
  values[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

/// Counter sums of one range by CUPTI name.
std::map<std::string, double> counted(strata::profile const& p, std::string const& path) {
  strata::call_tree const tree(p);
  std::map<std::string, double> values;
  for (strata::counter_value const& v : p.counters().values) {
    if (tree.row_of(v.node).path == path) values[p.counters().names[v.counter]] = v.value;
  }
  return values;
}

}  // namespace

TEST_CASE("traffic and instructions equal the count by hand") {
  constexpr std::size_t bytes = std::size_t{1} << 30;  // far beyond L2
  constexpr std::size_t items = bytes / sizeof(float4);
  constexpr int rounds = 256;
  constexpr int threads = 132 * 4 * 256;
  float4* from = nullptr;
  float4* to = nullptr;
  GPU_CHECK(cudaMalloc(&from, bytes));
  GPU_CHECK(cudaMalloc(&to, bytes));
  GPU_CHECK(cudaMemset(from, 1, bytes));
  auto const step = [&] {
    STRATA_RANGE("step");
    {
      STRATA_RANGE("copy");
      copy_kernel<<<items / 256, 256>>>(from, to, items);
    }
    fma_kernel<<<threads / 256, 256>>>(reinterpret_cast<float*>(to), rounds);  // the parent's own
    {
      STRATA_RANGE("fma");
      for (int i = 0; i < 2; ++i)
        fma_kernel<<<threads / 256, 256>>>(reinterpret_cast<float*>(to), rounds);
    }
    GPU_CHECK(cudaDeviceSynchronize());
  };
  strata::session s(gpu::quiet("trace,formats=none"));
  REQUIRE(s.start().ok());
  step();
  strata::counter_passes counters = s.counters("memory+flops+instructions+l2hit");
  for (strata::status const& problem : s.problems()) MESSAGE(problem.message());
  REQUIRE_FALSE(counters.done());
  for (auto const& pass : counters) {
    (void)pass;
    std::int64_t const begin = strata::detail::monotonic_ns();
    step();
    std::printf("pass %zu: step %.1f ms\n", counters.passes_done() + 1,
                double(strata::detail::monotonic_ns() - begin) * 1e-6);
  }
  CHECK(counters.passes_done() == counters.passes());
  strata::profile const& p = s.profile();
  for (std::string const& problem : p.problems) MESSAGE(problem);
  auto copy = counted(p, "step/copy");
  auto fma = counted(p, "step/fma");
  auto parent = counted(p, "step");
  for (auto const& [name, value] : copy) MESSAGE("copy " << name << " = " << value);
  for (auto const& [name, value] : fma) MESSAGE("fma " << name << " = " << value);
  CHECK(copy["dram__bytes_read.sum"] == doctest::Approx(double(bytes)).epsilon(0.03));
  CHECK(copy["dram__bytes_write.sum"] == doctest::Approx(double(bytes)).epsilon(0.03));
  CHECK(copy["smsp__sass_data_bytes_mem_global_op_ld.sum"] == double(bytes));
  CHECK(copy["smsp__sass_data_bytes_mem_global_op_st.sum"] == double(bytes));
  CHECK(copy["smsp__sass_inst_executed_op_global_ld.sum"] == double(items) / 32);
  double const fused = double(threads) * rounds;
  CHECK(fma["smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"] == 2 * fused);
  CHECK(parent["smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"] == fused);
  CHECK(p.losses.counter_ranges_lost == 0);
  GPU_CHECK(cudaFree(from));
  GPU_CHECK(cudaFree(to));
}
