// Managed memory on a real device: what migrates belongs to the range whose kernel touches it.

#include <cstddef>
#include <cstring>
#include <strata/range.hpp>

#include "gpu/gpu_fixture.hpp"

using strata::profile;
using strata::session;

namespace {

constexpr std::size_t megabyte = std::size_t{1} << 20;
constexpr std::size_t bytes = 64 * megabyte;

__global__ void add_one_to_all(float* values, std::size_t count) {
  std::size_t const stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride)
    values[i] += 1.0f;
}

/// Whether pages of managed memory move when they are touched.
bool migrates() {
  int concurrent = 0;
  GPU_CHECK(cudaDeviceGetAttribute(&concurrent, cudaDevAttrConcurrentManagedAccess, 0));
  int host_tables = 0;
  GPU_CHECK(
      cudaDeviceGetAttribute(&host_tables, cudaDevAttrPageableMemoryAccessUsesHostPageTables, 0));
  return concurrent != 0 && host_tables == 0;
}

/// The host writes, a kernel adds to it, the host reads.
void work(float* values) {
  std::size_t const count = bytes / sizeof(float);
  {
    STRATA_RANGE("write");
    for (std::size_t i = 0; i < count; ++i) values[i] = 1.0f;
  }
  {
    STRATA_RANGE("touch");
    add_one_to_all<<<1024, 256>>>(values, count);
    GPU_CHECK(cudaDeviceSynchronize());
  }
  STRATA_RANGE("read");
  float sum = 0.0f;
  for (std::size_t i = 0; i < count; i += 1024) sum += values[i];
  CHECK(sum == doctest::Approx(2.0 * static_cast<double>(count) / 1024));
}

void check(profile const& p) {
  gpu::nothing_lost(p);
  REQUIRE(p.has_migrations);
  strata::call_tree const tree(p);
  strata::range_row const& touch = gpu::row_at(tree, "touch");
  strata::range_row const& read = gpu::row_at(tree, "read");
  auto const whole = static_cast<double>(bytes);
  strata::range_row const& all = tree.rows()[0];
  MESSAGE("to the device: ", touch.migrated_to_device_bytes, " in touch, ",
          all.migrated_to_device_bytes, " in all; to the host: ", read.migrated_to_host_bytes,
          " in read, ", all.migrated_to_host_bytes, " in all; records: ", p.migrations.size(),
          ", without room: ", p.losses.migrations_dropped);
  CHECK(static_cast<double>(touch.migrated_to_device_bytes) ==
        doctest::Approx(whole).epsilon(0.05));
  CHECK(touch.gpu_page_faults > 0);
  CHECK(touch.migration_ns > 0);
  CHECK(static_cast<double>(read.migrated_to_host_bytes) == doctest::Approx(whole).epsilon(0.05));
  CHECK(read.migrated_to_device_bytes == 0);
  CHECK(tree.rows()[0].migrated_to_device_bytes >= touch.migrated_to_device_bytes);
}

}  // namespace

TEST_CASE("managed memory that is allocated before the window") {
  if (!migrates()) return;
  session s(gpu::quiet("trace,formats=none,active=1"));
  REQUIRE(s.start().ok());
  float* values = nullptr;
  GPU_CHECK(cudaMallocManaged(&values, bytes));
  gpu::run_steps(2, [&] { work(values); });
  GPU_CHECK(cudaFree(values));
  profile const& p = s.profile();
  check(p);
}

TEST_CASE("managed memory that is allocated within the window") {
  if (!migrates()) return;
  session s(gpu::quiet("trace,formats=none"));
  REQUIRE(s.start().ok());
  float* values = nullptr;
  GPU_CHECK(cudaMallocManaged(&values, bytes));
  work(values);
  GPU_CHECK(cudaFree(values));
  check(s.profile());
}

// CUPTI 13.0 tells a part of what memory does that is older than its records: 3 of 64 MiB.
TEST_CASE("managed memory that was there before the session is seen in part") {
  if (!migrates()) return;
  float* values = nullptr;
  GPU_CHECK(cudaMallocManaged(&values, bytes));
  session s(gpu::quiet("trace=kernels+memory+managed,formats=none"));
  REQUIRE(s.start().ok());
  work(values);
  GPU_CHECK(cudaFree(values));
  profile const& p = s.profile();
  gpu::nothing_lost(p);
  strata::call_tree const tree(p);
  double const moved = static_cast<double>(gpu::row_at(tree, "touch").migrated_to_device_bytes);
  MESSAGE("seen: ", moved, " of ", bytes, " bytes");
  CHECK(moved <= 1.05 * static_cast<double>(bytes));
}
