// Warm and cold caches of strata::benchmark, seen by the time of a read that fits into L2.
#include "benchmark/benchmark.hpp"

#include "gpu/gpu_fixture.hpp"

namespace {

__global__ void sum(float4 const* from, std::size_t count, float* to) {
  float all = 0.0f;
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < count;
       i += std::size_t{gridDim.x} * blockDim.x) {
    float4 const v = from[i];
    all += v.x + v.y + v.z + v.w;
  }
  if (all == 1.0f) *to = all;  // never: the reads have to be done for it
}

}  // namespace

TEST_CASE("a read of what L2 holds is slower when L2 was overwritten") {
  constexpr std::size_t bytes = std::size_t{16} << 20;
  float4* data = nullptr;
  GPU_CHECK(cudaMalloc(&data, bytes + sizeof(float4)));
  GPU_CHECK(cudaMemset(data, 0, bytes + sizeof(float4)));
  auto const read = [&] {
    sum<<<528, 512>>>(data, bytes / sizeof(float4), &data[bytes / sizeof(float4)].x);
  };
  strata::benchmarks all;
  strata::benchmark_options how{3, 50};
  how.bytes = static_cast<double>(bytes);
  all.run("read", read, how);
  how.cold = true;
  all.run("read", read, how);
  strata::vec<strata::benchmark_result> const& found = all.results();
  MESSAGE(strata::benchmark_text(found));
  REQUIRE(found.size() == 2);
  CHECK(found[0].by_device);
  CHECK(found[1].by_device);
  CHECK(found[1].median_ns > 1.2 * found[0].median_ns);
  GPU_CHECK(cudaFree(data));
}
