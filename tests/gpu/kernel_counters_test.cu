// Single kernels of a chosen range, counted one by one, against counts by hand.

#include <cmath>
#include <cstdio>
#include <strata/range.hpp>
#include <strata/tables/kernel_table.hpp>
#include <string>
#include <vector>

#include "gpu/gpu_fixture.hpp"

namespace {

constexpr std::size_t items = std::size_t{1} << 26;  // floats: 256 MiB, beyond L2
constexpr unsigned threads = 256;

__global__ void copy_kernel(float const* from, float* to) {
  std::size_t const i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
  to[i] = from[i];
}

/// Not repeatable: its memory must be restored before each replay.
__global__ void increment_kernel(float* values) {
  std::size_t const i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
  values[i] = fmaf(values[i], 1.0f, 1.0f);
}

}  // namespace

TEST_CASE("kernels of a range are counted one by one, and memory is as it was") {
  float* from = nullptr;
  float* to = nullptr;
  GPU_CHECK(cudaMalloc(&from, items * sizeof(float)));
  GPU_CHECK(cudaMalloc(&to, items * sizeof(float)));
  GPU_CHECK(cudaMemset(from, 0, items * sizeof(float)));
  unsigned const blocks = items / threads;
  strata::session s(gpu::quiet("trace,counters=hbm+flops,kernels=chosen,formats=none"));
  REQUIRE(s.start().ok());
  unsigned steps = 0;
  for (; steps < 20; ++steps) {
    STRATA_STEP();
    {
      STRATA_RANGE("other");
      copy_kernel<<<blocks, threads>>>(from, to);
    }
    {
      STRATA_RANGE("chosen");
      increment_kernel<<<blocks, threads>>>(from);
      {
        STRATA_RANGE("inner");
        copy_kernel<<<blocks / 2, threads>>>(from, to);
        copy_kernel<<<blocks / 2, threads>>>(from, to);
      }
      increment_kernel<<<blocks, threads>>>(from);
    }
    GPU_CHECK(cudaDeviceSynchronize());
  }
  strata::profile const& p = s.profile();
  for (std::string const& problem : p.problems) MESSAGE(problem);
  CHECK(p.problems.empty());
  strata::call_tree const tree(p);
  auto const rows = strata::make_kernel_table(p, tree);
  auto const table = strata::make_kernel_counter_table(p, tree, rows);
  CHECK(table.unknown == 0);
  auto const check = [&](std::string const& path, std::string const& kernel, char const* key,
                         std::uint64_t launches, double expected, double within) {
    for (std::size_t row = 0; row < rows.size(); ++row) {
      if (rows[row].path != path || rows[row].short_name != kernel) continue;
      CHECK(table.launches[row] == launches);
      for (std::size_t i = 0; i < table.metrics.size(); ++i) {
        if (table.metrics[i].key != key) continue;
        std::printf("| %s | %s | %s | %.0f | %.0f |\n", path.c_str(), kernel.c_str(), key, expected,
                    table.at(row, i));
        CHECK(std::fabs(table.at(row, i) - expected) <= within * expected);
        return;
      }
    }
    FAIL("nothing of " << kernel << " in " << path);
  };
  double const all = double(items) * sizeof(float);
  check("chosen", "increment_kernel", "hbm_read_bytes", 2, 2 * all, 0.05);
  // Not `flop`: compilers load constants, addresses' too, with an HFMA2.
  check("chosen", "increment_kernel", "flop_fp32", 2, 2.0 * 2 * items, 0.0);
  check("chosen/inner", "copy_kernel", "hbm_read_bytes", 2, all, 0.05);
  check("chosen/inner", "copy_kernel", "hbm_write_bytes", 2, all, 0.25);  // some stays in L2
  for (strata::counted_kernel const& each : p.counters(strata::counter_set::gpu_kernels).kernels)
    CHECK(tree.row_of(each.node).path != "other");
  // Each step added 2, however often a kernel was replayed.
  float value = 0;
  GPU_CHECK(cudaMemcpy(&value, from + items - 1, sizeof value, cudaMemcpyDeviceToHost));
  CHECK(value == 2.0f * steps);
  GPU_CHECK(cudaFree(from));
  GPU_CHECK(cudaFree(to));
}
