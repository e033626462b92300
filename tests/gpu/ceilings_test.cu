// What src/ceilings/ceilings.hpp measures, compared with copies and cuBLAS in the same run. cuBLAS
// is opened by name; without it the formats are compared with the device's attributes only.

#include <strata/collect/cuda/driver.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>
#include "ceilings/ceiling_runs.hpp"
#include "ceilings/ceilings.hpp"

#include "gpu/cublas.hpp"
#include "gpu/gpu_fixture.hpp"

namespace {

__global__ void copy_kernel(float4 const* from, float4* to) {
  std::size_t const at = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
  to[at] = from[at];
}

// Words with random signs and mantissas, of one format.
__global__ void fill_kernel(std::uint32_t* to, std::uint32_t keep, std::uint32_t fixed) {
  std::size_t const at = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
  std::uint32_t word = static_cast<std::uint32_t>(at) * 0x9e3779b1u + 0x7f4a7c15u;
  word = (word ^ word >> 15) * 0x85ebca6bu;
  word = (word ^ word >> 13) * 0xc2b2ae35u;
  to[at] = ((word ^ word >> 16) & keep) | fixed;
}

constexpr std::size_t buffer = std::size_t{512} << 20;

struct memory {
  char* data[3] = {};
  memory() {
    for (char*& each : data) GPU_CHECK(cudaMalloc(&each, buffer));
  }
  ~memory() {
    for (char* each : data) cudaFree(each);
  }
};

/// The least milliseconds of `f`, of several runs by events.
template <class Function>
double best_ms(int runs, Function f) {
  cudaEvent_t begin, end;
  GPU_CHECK(cudaEventCreate(&begin));
  GPU_CHECK(cudaEventCreate(&end));
  f();
  float best = 1e30f;
  for (int i = 0; i < runs; ++i) {
    float ms = 0.0f;
    GPU_CHECK(cudaEventRecord(begin));
    f();
    GPU_CHECK(cudaEventRecord(end));
    GPU_CHECK(cudaEventSynchronize(end));
    GPU_CHECK(cudaEventElapsedTime(&ms, begin, end));
    best = std::min(best, ms);
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return best;
}

struct format {
  char const* name;
  cudaDataType type, result;
  gpu::compute by;
  std::uint32_t keep, fixed;
};
constexpr format formats[] = {
    {"BF16 tensor", CUDA_R_16BF, CUDA_R_16BF, gpu::compute::f32, 0x81ff81ff, 0x3e003e00},
    {"FP16 tensor", CUDA_R_16F, CUDA_R_16F, gpu::compute::f32, 0x8fff8fff, 0x30003000},
    {"TF32 tensor", CUDA_R_32F, CUDA_R_32F, gpu::compute::f32_by_tf32, 0x81ffffff, 0x3e000000},
    {"INT8 tensor", CUDA_R_8I, CUDA_R_32I, gpu::compute::i32, 0xffffffff, 0},
    {"FP32", CUDA_R_32F, CUDA_R_32F, gpu::compute::f32, 0x81ffffff, 0x3e000000},
    {"FP64 tensor", CUDA_R_64F, CUDA_R_64F, gpu::compute::f64, 0x803fffff, 0x3fc00000}};

/// The most operations a second of a product of 8192^3; 0 where there is none.
double cublas_rate(gpu::cublas const& with, memory const& of, format const& each) {
  constexpr int size = 8192;
  for (int i = 0; i < 2; ++i)
    fill_kernel<<<buffer / 4 / 256, 256>>>(reinterpret_cast<std::uint32_t*>(of.data[i]), each.keep,
                                           each.fixed);
  GPU_CHECK(cudaDeviceSynchronize());
  double best = 0.0;
  for (int transposed = 0; transposed < 2; ++transposed) {
    bool done = true;
    int const calls = best > 0.0 && best < 2e14 ? 1 : 8;
    double const ms = best_ms(5, [&] {
      for (int i = 0; i < calls; ++i)
        done = done && with.multiply(size, of.data[0], of.data[1], each.type, of.data[2],
                                     each.result, each.by, transposed != 0);
    });
    if (done) best = std::max(best, 2.0 * size * size * size * calls / ms * 1e3);
  }
  (void)cudaGetLastError();
  return best;
}

double rate_of(strata::measured_ceilings const& of, char const* name) {
  for (strata::device_ceiling const& each : of.device.ceilings)
    if (each.name == name && each.refused.empty()) return each.rate;
  return 0.0;
}

}  // namespace

TEST_CASE("ceilings beside copies and cuBLAS") {
  GPU_CHECK(cudaFree(nullptr));
  std::size_t before = 0, after = 0, all = 0;
  GPU_CHECK(cudaDeviceSynchronize());
  strata::measured_ceilings const first =
      strata::measure_ceilings();  // JIT, and what libcuda keeps
  GPU_CHECK(cudaMemGetInfo(&before, &all));
  strata::measured_ceilings const made = strata::measure_ceilings();
  GPU_CHECK(cudaMemGetInfo(&after, &all));
  std::printf("first %.2f s, second %.2f s\n%s", first.seconds, made.seconds,
              strata::ceilings_text(made).c_str());
  REQUIRE(made.outcome.ok());
  CHECK(after == before);
  GPU_CHECK(cudaGetLastError());
  REQUIRE(rate_of(made, "HBM copy") > 0.0);

  memory const room;
  auto* const from = reinterpret_cast<float4*>(room.data[0]);
  auto* const to = reinterpret_cast<float4*>(room.data[1]);
  double const own =
      2.0 * buffer / best_ms(20, [&] { copy_kernel<<<buffer / 16 / 256, 256>>>(from, to); }) * 1e3;
  double const driver =
      2.0 * buffer /
      best_ms(20, [&] { GPU_CHECK(cudaMemcpyAsync(to, from, buffer, cudaMemcpyDeviceToDevice)); }) *
      1e3;
  double const copied = rate_of(made, "HBM copy");
  std::printf("%-13s %10.1f GB/s; float4 kernel %.1f (%.3f), cudaMemcpy %.1f (%.3f)\n", "HBM copy",
              copied / 1e9, own / 1e9, copied / own, driver / 1e9, copied / driver);
  CHECK(copied > 0.98 * std::max(own, driver));
  CHECK(copied < 1.05 * std::max(own, driver));

  gpu::cublas const with;
  if (!with.found()) std::puts("no cuBLAS on this machine");
  for (format const& each : formats) {
    double const mine = rate_of(made, each.name);
    if (!with.found() || mine <= 0.0) continue;
    double const theirs = cublas_rate(with, room, each);
    std::printf("%-13s %10.1f T/s; cuBLAS 8192^3 %.1f (%.3f)\n", each.name, mine / 1e12,
                theirs / 1e12, mine / theirs);
    if (theirs <= 0.0) continue;
    INFO(each.name);
    CHECK(mine > 0.98 * theirs);
    // A product also moves its matrices and ends in waves: 0.78 to 0.9 of the ceiling (H200).
    CHECK(mine < 1.35 * theirs);
  }
}

TEST_CASE("a thread's context is as it was") {
  strata::detail::driver_library const& driver = strata::detail::driver_library::get();
  auto const current = [&driver] {
    strata::detail::driver::context_handle now = nullptr;
    CHECK(driver.api.context_current(&now) == strata::detail::driver::result::success);
    return now;
  };
  std::thread([&] {
    CHECK(current() == nullptr);  // a thread begins without one
    {
      strata::detail::ceiling_runs runs;
      CHECK(runs.open(0));
      CHECK(current() != nullptr);
    }
    CHECK(current() == nullptr);
    GPU_CHECK(cudaFree(nullptr));
    auto const mine = current();
    {
      strata::detail::ceiling_runs runs;
      CHECK(runs.open(0));
    }
    CHECK(current() == mine);
  }).join();
}
