// Each ratio of the metric catalogue, with a kernel that brings it near its limit. Prints a table.

#include <cmath>
#include <cstdio>
#include <set>
#include <strata/profile/metric_resolver.hpp>
#include <strata/range.hpp>
#include <strata/tables/counter_table.hpp>
#include <string>
#include "ceilings/ceiling_kernels.hpp"

#include "counter_tables.hpp"
#include "gpu/gpu_fixture.hpp"
#include "gpu/known_kernels.hpp"
#include "gpu/ratio_kernels.hpp"

namespace {

using namespace ratio;

struct bounds {
  char const* metric;
  char const* kernel;
  double lowest;
  double highest = all;

  static constexpr double all = 100.5;
};

// Lower than 85 where no kernel of that kind gets there, for the reason next to it.
constexpr bounds table[] = {
    {"hbm_of_peak", "read", 85.0},
    {"l2_of_peak", "read l2", 45.0},  // the slices give more than the crossbar takes to the SMs
    {"l1_of_peak", "read l1", 85.0},
    {"fp32_of_peak", "fma", 85.0},
    {"fp64_of_peak", "fma fp64", 85.0},
    {"fp16_of_peak", "fma fp16", 85.0},
    {"tensor_of_peak", "tensor", 85.0},
    {"tensor_active_rate", "tensor", 85.0},
    {"l2_hit_rate", "read l2", 95.0},
    {"l2_request_hit_rate", "read l2", 95.0},
    {"l1_hit_rate", "read l1", 95.0},
    {"achieved_occupancy", "chase", 85.0},
    {"issue_rate", "fma", 95.0},
    {"stall_long_scoreboard_share", "chase", 95.0},
    {"stall_short_scoreboard_share", "shared chase", 85.0},
    {"stall_barrier_share", "barrier", 85.0},
    // Its parts are counted in passes whose times differ.
    {"stall_membar_share", "fence", 80.0, 105.0},
    {"stall_sleeping_share", "sleep", 85.0},
    {"stall_wait_share", "dependent", 65.0},  // in one cycle of four it issues
    {"stall_math_pipe_throttle_share", "fp64 product", 85.0},
    {"stall_lg_throttle_share", "store", 85.0},
    {"stall_mio_throttle_share", "shared store", 85.0},
    {"stall_tex_throttle_share", "texture", 50.0},  // and then it waits for what it fetched
    // An H200 counts what waits for products of warpgroups as barrier.
    {"stall_gmma_share", "tensor", 0.0},
    {"stall_no_instruction_share", "code", 85.0},
    {"stall_not_selected_share", "fma", 80.0},   // one of sixteen warps is selected
    {"stall_selected_share", "one warp", 80.0},  // the end of a loop's round waits
    // What is no percentage: its end is known.
    {"instructions_per_cycle", "fma", 3.6, 4.02},
    {"eligible_warps", "fma", 8.0, 16.1},
    {"l1_sectors_per_load", "strided", 31.99, 32.01},
    {"l1_sectors_per_store", "strided", 3.99, 4.01},
};

using strata::detail::ceiling_kernel;

struct device {
  float* memory = nullptr;  // zeros
  float* to = nullptr;
  unsigned multiprocessors = 0;
  int capability = 0;
  cudaTextureObject_t texture = 0;
  // As the ceilings measure them; null before CUDA 12.8.
  void const* l1_reads = nullptr;
  void const* products = nullptr;  // of warpgroups; null where the device has none

  device() {
    int value = 0;
    GPU_CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
    multiprocessors = static_cast<unsigned>(value);
    GPU_CHECK(cudaDeviceGetAttribute(&capability, cudaDevAttrComputeCapabilityMajor, 0));
    GPU_CHECK(cudaMalloc(&memory, known::items * sizeof(float)));
    GPU_CHECK(cudaMalloc(&to, known::items * sizeof(float)));
    GPU_CHECK(cudaMemset(memory, 0, known::items * sizeof(float)));
    cudaResourceDesc from = {};
    from.resType = cudaResourceTypeLinear;
    from.res.linear.devPtr = memory;
    from.res.linear.desc = cudaCreateChannelDesc<float>();
    from.res.linear.sizeInBytes = 4096 * sizeof(float);
    cudaTextureDesc how = {};
    how.readMode = cudaReadModeElementType;
    GPU_CHECK(cudaCreateTextureObject(&texture, &from, &how, nullptr));
#if CUDART_VERSION >= 12080
    l1_reads = kernel_of(ceiling_kernel::read("ca", 4));
    if (capability != 9) return;
    products = kernel_of(ceiling_kernel::wgmma(strata::detail::tensor_kinds[1]));
    GPU_CHECK(cudaFuncSetAttribute(products, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   static_cast<int>(ceiling_kernel::wgmma_shared)));
#endif
  }
  ~device() {
    cudaDestroyTextureObject(texture);
    cudaFree(memory);
    cudaFree(to);
  }

#if CUDART_VERSION >= 12080
  static void const* kernel_of(std::string const& ptx) {
    cudaLibrary_t library = nullptr;
    cudaKernel_t kernel = nullptr;
    GPU_CHECK(cudaLibraryLoadData(&library, ptx.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0));
    GPU_CHECK(cudaLibraryGetKernel(&kernel, library, ceiling_kernel::entry));
    return kernel;
  }
#endif
  /// `work`: of the ceilings. Each round goes `step` bytes on, and begins again after `size`.
  void run(void const* work, unsigned blocks, unsigned rounds, std::uint64_t size,
           std::uint64_t step, unsigned shared) const {
    float const* from = memory;
    float* target = to;
    std::uint64_t mask = size - 1, start = 0, distance = 0;
    void* arguments[] = {&from, &target, &mask, &step, &start, &distance, &rounds};
    GPU_CHECK(cudaLaunchKernel(work, dim3(blocks), dim3(ceiling_kernel::threads), arguments, shared,
                               nullptr));
  }

  /// Each kernel in a range of its name: about a millisecond each on an H200.
  void run() const {
    unsigned const sms = multiprocessors;
    auto const* const vectors = reinterpret_cast<float4 const*>(memory);
    auto const range = [](char const* name, auto launch) {
      STRATA_RANGE(name);
      launch();
    };
    range("read", [&] { read_kernel<<<sms * 8, 256>>>(vectors, to, known::items / 4); });
    range("read l2", [&] { read_l2_kernel<<<sms * 8, 256>>>(vectors, to, 1u << 19, 800); });
    range("read l1", [&] {
      // All blocks read the same 32 KB again and again.
      constexpr std::uint64_t row = ceiling_kernel::row;
      if (l1_reads != nullptr) run(l1_reads, sms * 8, 2000, 8 * row, 4 * row, 0);
    });
    range("strided", [&] { known::strided({memory, to, nullptr}); });
    range("fma", [&] { fma_kernel<<<sms * 8, 256>>>(to, 3000, 0.5f, 1.0f); });
    range("fma fp64",
          [&] { fma_kernel<<<sms * 8, 256>>>(reinterpret_cast<double*>(to), 1500, 0.5, 1.0); });
    range("fma fp16", [&] {
      fma_kernel<<<sms * 8, 256>>>(reinterpret_cast<__half2*>(to), 3000, __half2(0.5f, 0.5f),
                                   __half2(1.0f, 1.0f));
    });
    range("one warp", [&] { fma_kernel<<<sms, 128>>>(to, 30000, 0.5f, 1.0f); });
    range("dependent", [&] { dependent_kernel<<<sms, 128>>>(to, 8000, 0.5f); });
    range("chase", [&] {
      chase_kernel<<<sms * 8, 256>>>(reinterpret_cast<unsigned const*>(memory), to,
                                     static_cast<unsigned>(known::items), 300);
    });
    range("shared chase", [&] { shared_chase_kernel<<<sms, 128>>>(to, 1000); });
    range("shared store", [&] { shared_store_kernel<<<sms * 2, 512>>>(150); });
    range("store", [&] { store_kernel<<<sms * 8, 256>>>(to, 20); });
    range("texture", [&] { texture_kernel<<<sms * 4, 256>>>(texture, to, 120); });
    range("barrier", [&] { barrier_kernel<<<sms, 1024>>>(to, 500, 0.5f); });
    range("fence", [&] { fence_kernel<<<sms * 4, 256>>>(to, 200); });
    range("sleep", [&] { sleep_kernel<<<sms * 4, 256>>>(to, 1000); });
    range("code", [&] { code_kernel<<<sms, 128>>>(to, 3000, 0.5f); });
    range("fp64 product",
          [&] { fp64_product_kernel<<<sms * 2, 1024>>>(reinterpret_cast<double*>(to), 200); });
    range("tensor", [&] {
      if (products != nullptr)
        run(products, sms, 2000, 1, 0, ceiling_kernel::wgmma_shared);
      else
        bf16_product_kernel<<<sms * 2, 512>>>(to, 3000);
    });
    GPU_CHECK(cudaDeviceSynchronize());
  }
};

}  // namespace

/// Stalls that no kernel here brings near to all of the time.
std::set<std::string> const seldom{"stall_imc_miss_share", "stall_branch_resolving_share",
                                   "stall_dispatch_stall_share", "stall_drain_share",
                                   "stall_misc_share"};

TEST_CASE("each ratio has a kernel") {
  std::set<std::string> told;
  for (bounds const& each : table) told.insert(each.metric);
  for (auto const source : {strata::metric_source::cupti, strata::metric_source::rates}) {
    for (strata::metric const& metric : strata::metric_list{source}) {
      std::string const key(metric.key());
      INFO(key);
      // Uses of units are compared with Nsight Compute's, in benchmarks/corpus.
      bool const is_use = key.size() > 4 && key.compare(key.size() - 4, 4, "_use") == 0;
      bool const is_seldom = seldom.count(key) == 1;
      if (metric.unit() == "%" && !is_use) CHECK(told.count(key) == (is_seldom ? 0 : 1));
    }
  }
}

TEST_CASE("each ratio comes near its end, and none is above it") {
  device const gpu;
  gpu.run();  // code is loaded, clocks are up
  strata::session s(gpu::quiet("trace,formats=none"));
  REQUIRE(s.start().ok());
  gpu.run();
  unsigned runs = 0;
  for (auto const& pass :
       s.counters("roofline+flops+tensor+stalls+occupancy+l2_hit_rate+l2_request_hit_rate+"
                  "l1_hit_rate+l1_sectors_per_load+l1_sectors_per_store")) {
    (void)pass;
    ++runs;
    gpu.run();
  }
  strata::profile const& p = s.profile();
  for (std::string const& problem : p.problems) MESSAGE(problem);
  strata::call_tree const tree(p);
  strata::counter_table const counted = strata::make_counter_table(p, tree);
  std::printf(
      "%u passes\n| metric | kernel | lowest | counted | highest |\n|---|---|---|---|---|\n", runs);
  for (bounds const& each : table) {
    INFO(std::string(each.metric), " of ", std::string(each.kernel));
    std::size_t const at = counted.find(each.metric);
    if (gpu.l1_reads == nullptr && std::string(each.kernel) == "read l1") continue;
    CHECK(at != strata::counter_table::none);
    if (at == strata::counter_table::none) continue;
    for (std::size_t row = 0; row < tree.rows().size(); ++row) {
      strata::counter_cell const& cell = counted.at(row, at, strata::counter_scope::total);
      bool const own = tree.rows()[row].path == each.kernel;
      INFO(tree.rows()[row].path);
      // A share has its end in whichever kernel; a value that is not known is not above it.
      if (own || each.highest == bounds::all) CHECK_FALSE(cell.value > each.highest);
      if (!own) continue;
      std::printf("| %s | %s | %.2f | %.2f | %.2f |%s\n", each.metric, each.kernel, each.lowest,
                  cell.value, each.highest, counted.note(cell).c_str());
      CHECK(cell.value >= each.lowest);
    }
  }
  for (std::size_t row = 1; row < tree.rows().size(); ++row) {
    std::printf("%s:", tree.rows()[row].path.c_str());
    for (std::size_t i = 0; i < counted.metrics.size(); ++i) {
      double const value = counted.at(row, i, strata::counter_scope::total).value;
      std::string const key = counted.metrics[i].key;
      if (key.compare(0, 6, "stall_") == 0 && counted.metrics[i].unit == "%" && value > 5.0)
        std::printf(" %s %.0f", key.c_str() + 6, value);
    }
    std::puts("");
  }
}
