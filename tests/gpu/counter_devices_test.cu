// One thread that works on two devices: a range is counted on both, exactly. Needs two of one kind.

#include <strata/range.hpp>
#include <strata/session.hpp>
#include <strata/tables/counter_table.hpp>

#include "gpu/gpu_fixture.hpp"

namespace {

bool const has_two = [] {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count < 2) {
    std::puts("SKIPPED: fewer than two CUDA devices");
    std::exit(77);
  }
  return true;
}();

constexpr int copied = 1 << 27;  // floats, 512 MiB: more than L2 has

__global__ void fma_kernel(float* values, int rounds) {
  float x = values[threadIdx.x];
  for (int i = 0; i < rounds; ++i) x = fmaf(x, 1.0001f, 0.5f);
  values[threadIdx.x] = x;
}

__global__ void copy_kernel(float4 const* from, float4* to) {
  std::size_t const i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  to[i] = from[i];
}

struct memory {
  float* from = nullptr;
  float* to = nullptr;
};

struct two_devices {
  memory of[2];
  two_devices() {
    for (int d = 0; d < 2; ++d) {
      GPU_CHECK(cudaSetDevice(d));
      GPU_CHECK(cudaMalloc(&of[d].from, copied * sizeof(float)));
      GPU_CHECK(cudaMalloc(&of[d].to, copied * sizeof(float)));
      GPU_CHECK(cudaMemset(of[d].from, 0, copied * sizeof(float)));
    }
    GPU_CHECK(cudaSetDevice(0));
  }
  ~two_devices() {
    for (int d = 0; d < 2; ++d) {
      (void)cudaSetDevice(d);
      (void)cudaFree(of[d].from);
      (void)cudaFree(of[d].to);
    }
    (void)cudaSetDevice(0);
  }

  void fma(int device, int rounds) const {
    GPU_CHECK(cudaSetDevice(device));
    fma_kernel<<<1, 32>>>(of[device].from, rounds);
  }
  void copy(int device) const {
    GPU_CHECK(cudaSetDevice(device));
    copy_kernel<<<copied / 4 / 256, 256>>>(reinterpret_cast<float4 const*>(of[device].from),
                                           reinterpret_cast<float4*>(of[device].to));
  }

  void step() const {
    {
      STRATA_RANGE("first");
      fma(0, 10);
      copy(0);
    }
    {
      STRATA_RANGE("second");
      fma(1, 20);
      copy(1);
    }
    {
      STRATA_RANGE("both");
      for (int d = 0; d < 2; ++d) {
        fma(d, 5);
        copy(d);
      }
      for (int d = 0; d < 2; ++d) {
        GPU_CHECK(cudaSetDevice(d));
        GPU_CHECK(cudaDeviceSynchronize());
      }
    }
    GPU_CHECK(cudaSetDevice(0));
  }
};

double value(strata::profile const& p, char const* path, char const* metric) {
  return test::counted(p).total(path, metric);
}

}  // namespace

TEST_CASE("a range is counted on each device that it works on") {
  two_devices const work;
  strata::session s(
      gpu::quiet("trace,formats=none,active=2,counters=memory+roofline+"
                 "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"));
  REQUIRE(s.start().ok());
  gpu::run_steps(9, [&] { work.step(); });
  strata::profile const& p = s.profile();
  gpu::nothing_lost(p);
  CHECK(p.counters().devices.size() == 2);
  CHECK(p.counters().passes_done == p.counters().passes);
  char const* const fma = "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum";
  CHECK(value(p, "first", fma) == 32 * 10);
  CHECK(value(p, "second", fma) == 32 * 20);
  CHECK(value(p, "both", fma) == 32 * 10);
  double const bytes = 2.0 * copied * sizeof(float);
  for (char const* const path : {"first", "second", "both"}) {
    CAPTURE(path);
    double const expected = bytes * (path == std::string("both") ? 2 : 1);
    double const counted = value(p, path, "hbm_bytes");
    MESSAGE(path, ": HBM bytes counted / by hand = ", counted / expected, ", of peak ",
            value(p, path, "hbm_of_peak"), " %");
    CHECK(counted == doctest::Approx(expected).epsilon(0.03));
    CHECK(value(p, path, "hbm_of_peak") > 20);
    CHECK(value(p, path, "hbm_of_peak") <= 100);
  }
}

TEST_CASE("busy times overlap across devices, and each device's own are added up beside") {
  two_devices const work;
  strata::session s(gpu::quiet("trace,formats=none"));
  REQUIRE(s.start().ok());
  gpu::run_steps(3, [&] { work.step(); });
  strata::profile const& p = s.profile();
  gpu::nothing_lost(p);
  strata::call_tree const tree(p);
  strata::range_row const both = gpu::row_at(tree, "both");
  CHECK(both.total.kernels == 3 * 4);
  CHECK(both.device_busy_ns <= both.total.kernel_ns);
  CHECK(both.gpu_busy_ns < both.device_busy_ns);
  CHECK(gpu::row_at(tree, "first").gpu_busy_ns == gpu::row_at(tree, "first").device_busy_ns);
  int devices[2] = {};
  for (strata::kernel_record const& k : p.kernels) ++devices[k.device == 0 ? 0 : 1];
  CHECK(devices[0] == devices[1]);
}
