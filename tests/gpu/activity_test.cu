// Kernels, copies, allocations and graphs of a real device, by range.

#include <strata/range.hpp>
#include <thread>
#include <vector>

#include "gpu/gpu_fixture.hpp"

using strata::call_tree;
using strata::profile;
using strata::session;

TEST_CASE("kernels belong to the range that launched them") {
  session s(gpu::quiet("trace,formats=none"));
  REQUIRE(s.start().ok());
  cudaStream_t streams[2];
  for (cudaStream_t& stream : streams) GPU_CHECK(cudaStreamCreate(&stream));
  float* values = nullptr;
  GPU_CHECK(cudaMalloc(&values, 4096 * sizeof(float)));
  for (int layer = 0; layer < 3; ++layer) {
    STRATA_RANGE("block", layer);
    {
      STRATA_RANGE("attention");
      for (int i = 0; i < 5; ++i) gpu::add_one<<<16, 256, 0, streams[i % 2]>>>(values, 4096);
    }
    {
      STRATA_RANGE("mlp");
      gpu::add_one<<<dim3(4, 2, 3), dim3(32, 4)>>>(values, 128);
    }
  }
  gpu::add_one<<<1, 32>>>(values, 32);
  GPU_CHECK(cudaDeviceSynchronize());
  GPU_CHECK(cudaFree(values));
  for (cudaStream_t stream : streams) GPU_CHECK(cudaStreamDestroy(stream));
  profile const& p = s.profile();
  gpu::nothing_lost(p);
  CHECK(p.kernels.size() == 19);
  call_tree const tree(p);
  for (int layer = 0; layer < 3; ++layer) {
    std::string const block = "block[" + std::to_string(layer) + "]";
    CHECK(gpu::row_at(tree, block).total.kernels == 6);
    CHECK(gpu::row_at(tree, block).self.kernels == 0);
    CHECK(gpu::row_at(tree, block + "/attention").self.kernels == 5);
    CHECK(gpu::row_at(tree, block + "/attention").self.launches == 5);
    CHECK(gpu::row_at(tree, block + "/attention").self.launch_ns > 0);
    CHECK(gpu::row_at(tree, block + "/mlp").self.kernels == 1);
    CHECK(gpu::row_at(tree, block + "/mlp").gpu_busy_ns > 0);
    CHECK(gpu::row_at(tree, block + "/mlp").span_ns >=
          gpu::row_at(tree, block + "/mlp").host_total_ns);
  }
  CHECK(gpu::row_at(tree, "").self.kernels == 1);
  for (strata::kernel_record const& k : p.kernels) {
    if (k.grid_y != 2) continue;
    CHECK(k.grid_x == 4);
    CHECK(k.grid_z == 3);
    CHECK(k.block_x == 32);
    CHECK(k.block_y == 4);
    CHECK(k.registers > 0);
  }
}

TEST_CASE("device times lie behind their launches on the host's clock") {
  session s(gpu::quiet("trace,formats=none"));
  REQUIRE(s.start().ok());
  for (int i = 0; i < 200; ++i) {
    STRATA_RANGE("spin");
    gpu::spin<<<1, 1>>>(20'000, nullptr);
    GPU_CHECK(cudaStreamSynchronize(nullptr));
  }
  profile const& p = s.profile();
  gpu::nothing_lost(p);
  REQUIRE(p.kernels.size() == 200);
  REQUIRE(p.ranges.size() == 200);
  // The two clocks are bridged by samples; 20 us is far beyond their error and far below a range.
  std::size_t inside = 0;
  for (strata::kernel_record const& k : p.kernels) {
    for (strata::range_record const& r : p.ranges) {
      if (k.begin > r.begin - 20'000 && k.end < r.end + 20'000) {
        ++inside;
        break;
      }
    }
  }
  CHECK(inside == 200);
}

TEST_CASE("copies, fills and allocations are counted in bytes") {
  session s(gpu::quiet("trace,formats=none"));
  REQUIRE(s.start().ok());
  std::vector<char> host(1 << 20);
  char* device = nullptr;
  char* other = nullptr;
  {
    STRATA_RANGE("allocate");
    GPU_CHECK(cudaMalloc(&device, 1 << 20));
    GPU_CHECK(cudaMalloc(&other, 3 << 20));
  }
  {
    STRATA_RANGE("copy");
    GPU_CHECK(cudaMemcpy(device, host.data(), 1 << 20, cudaMemcpyHostToDevice));
    GPU_CHECK(cudaMemcpy(other, device, 1 << 19, cudaMemcpyDeviceToDevice));
    GPU_CHECK(cudaMemcpy(host.data(), device, 1 << 18, cudaMemcpyDeviceToHost));
    GPU_CHECK(cudaMemset(other, 0, 1 << 17));
  }
  {
    STRATA_RANGE("release");
    GPU_CHECK(cudaFree(device));
    GPU_CHECK(cudaFree(other));
  }
  GPU_CHECK(cudaDeviceSynchronize());
  profile const& p = s.profile();
  gpu::nothing_lost(p);
  call_tree const tree(p);
  strata::range_row const copy = gpu::row_at(tree, "copy");
  CHECK(copy.self.host_to_device_bytes == 1 << 20);
  CHECK(copy.self.device_to_device_bytes == 1 << 19);
  CHECK(copy.self.device_to_host_bytes == 1 << 18);
  CHECK(copy.self.set_bytes == 1 << 17);
  CHECK(copy.self.copies == 4);
  strata::range_row const allocate = gpu::row_at(tree, "allocate");
  CHECK(allocate.self.allocations == 2);
  CHECK(allocate.self.allocated_bytes == 4 << 20);
  CHECK(allocate.peak_bytes == 4 << 20);
  CHECK(gpu::row_at(tree, "release").self.releases == 2);
}

TEST_CASE(
    "a graph's kernels belong to the range that launched it and to the one that captured them") {
  session s(gpu::quiet("trace,formats=none"));
  REQUIRE(s.start().ok());
  cudaStream_t stream;
  GPU_CHECK(cudaStreamCreate(&stream));
  float* values = nullptr;
  GPU_CHECK(cudaMalloc(&values, 4096));
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  {
    STRATA_RANGE("capture");
    GPU_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    {
      STRATA_RANGE("attention");
      for (int i = 0; i < 3; ++i) gpu::add_one<<<1, 32, 0, stream>>>(values, 32);
    }
    {
      STRATA_RANGE("mlp");
      for (int i = 0; i < 2; ++i) gpu::add_one<<<2, 32, 0, stream>>>(values, 64);
    }
    GPU_CHECK(cudaStreamEndCapture(stream, &graph));
    GPU_CHECK(cudaGraphInstantiate(&executable, graph, 0));
  }
  for (int i = 0; i < 4; ++i) {
    STRATA_RANGE("decode");
    GPU_CHECK(cudaGraphLaunch(executable, stream));
  }
  GPU_CHECK(cudaStreamSynchronize(stream));
  GPU_CHECK(cudaGraphExecDestroy(executable));
  GPU_CHECK(cudaGraphDestroy(graph));
  GPU_CHECK(cudaFree(values));
  profile const& p = s.profile();
  gpu::nothing_lost(p);
  CHECK(p.kernels.size() == 20);
  call_tree const tree(p);
  CHECK(gpu::row_at(tree, "decode").self.kernels == 20);
  CHECK(gpu::row_at(tree, "decode").self.launches == 4);
  CHECK(gpu::row_at(tree, "capture/attention").self.kernels == 0);
  CHECK(gpu::row_at(tree, "capture/attention").self.graph_kernels == 12);
  CHECK(gpu::row_at(tree, "capture/mlp").self.graph_kernels == 8);
  CHECK(gpu::row_at(tree, "capture/mlp").self.graph_kernel_ns > 0);
}

TEST_CASE("an updated executable graph runs what was captured last") {
  session s(gpu::quiet("trace,formats=none"));
  REQUIRE(s.start().ok());
  cudaStream_t stream;
  GPU_CHECK(cudaStreamCreate(&stream));
  float* values = nullptr;
  GPU_CHECK(cudaMalloc(&values, 1024 * sizeof(float)));
  auto const capture = [&](unsigned blocks) {
    cudaGraph_t graph = nullptr;
    GPU_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    gpu::add_one<<<blocks, 32, 0, stream>>>(values, 32);
    GPU_CHECK(cudaStreamEndCapture(stream, &graph));
    return graph;
  };
  cudaGraphExec_t executable = nullptr;
  cudaGraph_t graph = nullptr;
  {
    STRATA_RANGE("prefill");
    graph = capture(1);
    GPU_CHECK(cudaGraphInstantiate(&executable, graph, 0));
  }
  for (int i = 0; i < 2; ++i) {
    STRATA_RANGE("run");
    GPU_CHECK(cudaGraphLaunch(executable, stream));
  }
  for (unsigned i = 0; i < 3; ++i) {
    GPU_CHECK(cudaGraphDestroy(graph));
    {
      STRATA_RANGE("decode");
      graph = capture(2 + i);
      cudaGraphExecUpdateResultInfo info;
      GPU_CHECK(cudaGraphExecUpdate(executable, graph, &info));
    }
    STRATA_RANGE("run");
    GPU_CHECK(cudaGraphLaunch(executable, stream));
  }
  GPU_CHECK(cudaStreamSynchronize(stream));
  GPU_CHECK(cudaGraphExecDestroy(executable));
  GPU_CHECK(cudaGraphDestroy(graph));
  GPU_CHECK(cudaFree(values));
  profile const& p = s.profile();
  gpu::nothing_lost(p);
  call_tree const tree(p);
  CHECK(gpu::row_at(tree, "run").self.kernels == 5);
  bool const told = p.environment.cupti_version >= 130000;  // of updates
  CHECK(gpu::row_at(tree, "prefill").self.graph_kernels == (told ? 2 : 5));
  if (told) CHECK(gpu::row_at(tree, "decode").self.graph_kernels == 3);
}

TEST_CASE("threads launch in ranges of their own") {
  session s(gpu::quiet("trace,formats=none"));
  REQUIRE(s.start().ok());
  constexpr int threads = 4;
  constexpr int launches = 100;
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t) {
    all.emplace_back([t] {
      for (int i = 0; i < launches; ++i) {
        STRATA_RANGE("worker", t);
        gpu::spin<<<1, 1, 0, cudaStreamPerThread>>>(100, nullptr);
      }
      (void)cudaStreamSynchronize(cudaStreamPerThread);
    });
  }
  for (std::thread& t : all) t.join();
  profile const& p = s.profile();
  gpu::nothing_lost(p);
  call_tree const tree(p);
  for (int t = 0; t < threads; ++t) {
    CHECK(gpu::row_at(tree, "worker[" + std::to_string(t) + "]").self.kernels == launches);
  }
}

TEST_CASE("a capture that is under way when a window ends stays valid") {
  session s(gpu::quiet("trace,formats=none,active=2,repeat=1"));
  REQUIRE(s.start().ok());
  cudaStream_t blocking;
  cudaStream_t other;
  GPU_CHECK(cudaStreamCreate(&blocking));
  GPU_CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  for (cudaStream_t stream : {blocking, other}) {
    CAPTURE(stream == blocking);
    cudaGraph_t graph = nullptr;
    for (int step = 0; step < 4; ++step) {
      STRATA_STEP();
      STRATA_RANGE("work");
      gpu::spin<<<1, 1, 0, stream == blocking ? other : blocking>>>(100, nullptr);
      if (step == 0) GPU_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
      if (step < 3) gpu::spin<<<1, 1, 0, stream>>>(100, nullptr);
      if (step == 2) {
        GPU_CHECK(cudaStreamEndCapture(stream, &graph));
        REQUIRE(graph != nullptr);
        GPU_CHECK(cudaGraphDestroy(graph));
      }
    }
    GPU_CHECK(cudaDeviceSynchronize());
    profile const& p = s.profile();
    CHECK(p.losses.uncorrelated == 0);
    call_tree const tree(p);
    CHECK(gpu::row_at(tree, "work").host.count() == 2);
    CHECK(gpu::row_at(tree, "work").self.kernels >= 2);
    REQUIRE(s.start().ok());
  }
  s.stop();
}

TEST_CASE("only the active steps are traced") {
  session s(gpu::quiet("trace,formats=none,skip=2,warmup=1,active=2,repeat=2"));
  REQUIRE(s.start().ok());
  for (int step = 0; step < 14; ++step) {
    STRATA_STEP();
    STRATA_RANGE("work");
    for (int i = 0; i <= step; ++i) gpu::spin<<<1, 1>>>(100, nullptr);
  }
  GPU_CHECK(cudaDeviceSynchronize());
  profile const& p = s.profile();
  gpu::nothing_lost(p);
  call_tree const tree(p);
  // Steps 3, 4, 8 and 9 are active; step n launches n + 1 kernels.
  CHECK(gpu::row_at(tree, "work").host.count() == 4);
  CHECK(gpu::row_at(tree, "work").self.kernels == 4 + 5 + 9 + 10);
  CHECK(p.kernels.size() == 28);
  CHECK(p.steps.size() == 4);
}

TEST_CASE("sync=1 lets a range last as long as its kernels") {
  session s(gpu::quiet("trace,formats=none,sync=1"));
  REQUIRE(s.start().ok());
  {
    STRATA_RANGE("long");
    gpu::spin<<<1, 1>>>(2'000'000, nullptr);
  }
  profile const& p = s.profile();
  gpu::nothing_lost(p);
  call_tree const tree(p);
  CHECK(gpu::row_at(tree, "long").host_total_ns >= gpu::row_at(tree, "long").self.kernel_ns);
}

TEST_CASE("a session finds nothing of the one before it") {
  session s(gpu::quiet("trace,formats=none"));
  for (int run = 1; run <= 3; ++run) {
    REQUIRE(s.start().ok());
    for (int i = 0; i < run; ++i) {
      STRATA_RANGE("again");
      gpu::spin<<<1, 1>>>(100, nullptr);
    }
    profile const& p = s.profile();
    gpu::nothing_lost(p);
    CHECK(p.kernels.size() == static_cast<std::size_t>(run));
    CHECK(p.ranges.size() == static_cast<std::size_t>(run));
    gpu::spin<<<1, 1>>>(100, nullptr);  // between sessions: nobody's
    GPU_CHECK(cudaDeviceSynchronize());
  }
}

TEST_CASE("memory limits are kept and what is beyond is counted") {
  session s(gpu::quiet("trace,formats=none,buffers=16,log=1"));
  REQUIRE(s.start().ok());
  constexpr int launches = 400'000;
  for (int i = 0; i < launches; ++i) {
    STRATA_RANGE("many");
    gpu::spin<<<1, 1>>>(1, nullptr);
  }
  GPU_CHECK(cudaDeviceSynchronize());
  profile const& p = s.profile();
  CHECK(p.losses.activity_summed > 0);
  CHECK(p.losses.ranges_summed > 0);
  CHECK(p.losses.launches_summed > 0);
  CHECK(p.losses.activity_dropped == 0);
  CHECK(p.losses.launches_dropped == 0);
  CHECK(p.losses.uncorrelated == 0);
  call_tree const tree(p);
  CHECK(gpu::row_at(tree, "many").host.count() == launches);
  CHECK(gpu::row_at(tree, "many").self.launches == launches);
  CHECK(gpu::row_at(tree, "many").self.kernels == launches);
  CHECK(p.cost.activity_bytes <= 32u << 20);
  // The log, and the launches whose work may still arrive: 32 pages of 4096.
  CHECK(p.cost.log_bytes <= (1u + 10u) << 20);
}
