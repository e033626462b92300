// What <strata/ceilings.hpp> measures, beside copies and cuBLAS in the same run. cuBLAS is opened
// by name; without it the formats are beside the device's attributes only.

#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <strata/ceilings.hpp>
#include <vector>

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

/// cublasGemmEx without its header.
struct blas {
  void* handle = nullptr;
  int (*create)(void**) = nullptr;
  int (*destroy)(void*) = nullptr;
  int (*gemm)(void*, int, int, int, int, int, void const*, void const*, int, int, void const*, int,
              int, void const*, void*, int, int, int, int) = nullptr;
  blas() {
    void* library = nullptr;
    for (char const* name : {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11",
                             "libcublas.so", "/usr/local/cuda/lib64/libcublas.so"})
      if (library == nullptr) library = dlopen(name, RTLD_NOW);
    if (library == nullptr) return;
    create = reinterpret_cast<decltype(create)>(dlsym(library, "cublasCreate_v2"));
    destroy = reinterpret_cast<decltype(destroy)>(dlsym(library, "cublasDestroy_v2"));
    gemm = reinterpret_cast<decltype(gemm)>(dlsym(library, "cublasGemmEx"));
    if (create == nullptr || gemm == nullptr || create(&handle) != 0) handle = nullptr;
  }
  ~blas() {
    if (handle != nullptr) destroy(handle);
  }
};

struct format {
  char const* name;
  int type, result, compute;  // cudaDataType, cublasComputeType_t
  std::uint32_t keep, fixed;
};
constexpr format formats[] = {{"BF16 tensor", 14, 14, 68, 0x81ff81ff, 0x3e003e00},
                              {"FP16 tensor", 2, 2, 68, 0x8fff8fff, 0x30003000},
                              {"TF32 tensor", 0, 0, 77, 0x81ffffff, 0x3e000000},
                              {"INT8 tensor", 3, 10, 72, 0xffffffff, 0},
                              {"FP32", 0, 0, 68, 0x81ffffff, 0x3e000000},
                              {"FP64 tensor", 1, 1, 70, 0x803fffff, 0x3fc00000}};

/// The most operations a second of a product of 8192^3; 0 where there is none.
double blas_rate(blas const& with, memory const& of, format const& each) {
  constexpr int size = 8192;
  for (int i = 0; i < 2; ++i)
    fill_kernel<<<buffer / 4 / 256, 256>>>(reinterpret_cast<std::uint32_t*>(of.data[i]), each.keep,
                                           each.fixed);
  GPU_CHECK(cudaDeviceSynchronize());
  double const one64 = 1.0, none64 = 0.0;
  float const one32 = 1.0f, none32 = 0.0f;
  int const one = 1, none = 0;
  bool const wide = each.compute == 70, whole = each.compute == 72;
  void const* const alpha = wide    ? static_cast<void const*>(&one64)
                            : whole ? static_cast<void const*>(&one)
                                    : &one32;
  void const* const beta = wide    ? static_cast<void const*>(&none64)
                           : whole ? static_cast<void const*>(&none)
                                   : &none32;
  double best = 0.0;
  for (int transposed = 0; transposed < 2; ++transposed) {
    int failed = 0;
    int const calls = best > 0.0 && best < 2e14 ? 1 : 8;
    double const ms = best_ms(5, [&] {
      for (int i = 0; i < calls; ++i)
        failed |= with.gemm(with.handle, transposed, 0, size, size, size, alpha, of.data[0],
                            each.type, size, of.data[1], each.type, size, beta, of.data[2],
                            each.result, size, each.compute, -1);
    });
    if (failed == 0) best = std::max(best, 2.0 * size * size * size * calls / ms * 1e3);
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

  blas const with;
  if (with.handle == nullptr) std::puts("no cuBLAS on this machine");
  for (format const& each : formats) {
    double const mine = rate_of(made, each.name);
    if (with.handle == nullptr || mine <= 0.0) continue;
    double const theirs = blas_rate(with, room, each);
    std::printf("%-13s %10.1f T/s; cuBLAS 8192^3 %.1f (%.3f)\n", each.name, mine / 1e12,
                theirs / 1e12, mine / theirs);
    if (theirs <= 0.0) continue;
    INFO(each.name);
    CHECK(mine > 0.98 * theirs);
    // A library's FP32 and INT8 products do more than multiply.
    bool const near_peak = each.name[0] != 'I' && std::string(each.name) != "FP32";
    if (near_peak) CHECK(mine < 1.10 * theirs);
  }
}

TEST_CASE("the thread's context is as it was") {
  strata::detail::driver_library const& driver = strata::detail::driver_library::get();
  strata::detail::driver::context_handle mine = nullptr, inside = nullptr, after = nullptr;
  REQUIRE(driver.api.context_current(&mine) == strata::detail::driver::result::success);
  {
    // Without a current context it is the primary one's, and gone again at the end.
    if (mine != nullptr) (void)driver.api.context_push(nullptr);
    strata::detail::ceiling_runs runs;
    CHECK(runs.open(0));
    CHECK(driver.api.context_current(&inside) == strata::detail::driver::result::success);
    CHECK(inside != nullptr);
  }
  (void)driver.api.context_current(&after);
  CHECK(after == nullptr);
  if (mine != nullptr) {
    (void)driver.api.context_pop(&after);
    (void)driver.api.context_current(&after);
    CHECK(after == mine);
  }
}
