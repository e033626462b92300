// Kernels in the body of a conditional node (while) of a CUDA graph, by range.

#include <strata/range.hpp>

#include <cstdio>
#include <string>
#include <vector>

#include "gpu/gpu_fixture.hpp"

using strata::call_tree;
using strata::profile;
using strata::session;

namespace {

constexpr unsigned rounds = 3;
constexpr unsigned kernels_a_round = 2;
constexpr unsigned launches = 4;

/// Ends the loop after some rounds, and gets ready for the next launch.
__global__ void count_rounds(cudaGraphConditionalHandle handle, unsigned* done) {
  ++*done;
  bool const again = *done % rounds != 0;
  cudaGraphSetConditional(handle, again ? 1 : 0);
}

void add_kernel(cudaGraph_t to, std::vector<cudaGraphNode_t>& nodes, void* function,
                void** arguments) {
  cudaKernelNodeParams made = {};
  made.func = function;
  made.gridDim = made.blockDim = dim3(1);
  made.kernelParams = arguments;
  cudaGraphNode_t node = nullptr;
  cudaGraphNode_t const* const before = nodes.empty() ? nullptr : &nodes.back();
  GPU_CHECK(cudaGraphAddKernelNode(&node, to, before, nodes.empty() ? 0 : 1, &made));
  nodes.push_back(node);
}

/// A graph of `before` kernels, a while loop of two kernels and `after` kernels.
cudaGraphExec_t make_graph(float* values, unsigned* done, unsigned before, unsigned after) {
  int count = 1;
  void* add[] = {&values, &count};
  cudaGraph_t graph = nullptr;
  GPU_CHECK(cudaGraphCreate(&graph, 0));
  cudaGraphConditionalHandle handle;
  GPU_CHECK(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault));
  void* round[] = {&handle, &done};
  std::vector<cudaGraphNode_t> nodes;
  auto* const add_one = reinterpret_cast<void*>(gpu::add_one);
  for (unsigned i = 0; i < before; ++i) add_kernel(graph, nodes, add_one, add);
  cudaGraphNodeParams loop = {};
  loop.type = cudaGraphNodeTypeConditional;
  loop.conditional.handle = handle;
  loop.conditional.type = cudaGraphCondTypeWhile;
  loop.conditional.size = 1;
  cudaGraphNode_t node = nullptr;
  cudaGraphNode_t const* const last = nodes.empty() ? nullptr : &nodes.back();
#if CUDART_VERSION >= 13000
  GPU_CHECK(cudaGraphAddNode(&node, graph, last, nullptr, nodes.size() > 0 ? 1 : 0, &loop));
#else
  GPU_CHECK(cudaGraphAddNode(&node, graph, last, nodes.size() > 0 ? 1 : 0, &loop));
#endif
  nodes.push_back(node);
  {
    STRATA_RANGE("body");
    std::vector<cudaGraphNode_t> inner;
    cudaGraph_t const body = loop.conditional.phGraph_out[0];
    add_kernel(body, inner, add_one, add);
    add_kernel(body, inner, reinterpret_cast<void*>(count_rounds), round);
  }
  for (unsigned i = 0; i < after; ++i) add_kernel(graph, nodes, add_one, add);
  cudaGraphExec_t executable = nullptr;
  GPU_CHECK(cudaGraphInstantiate(&executable, graph, 0));
  GPU_CHECK(cudaGraphDestroy(graph));
  return executable;
}

void print(profile const& p) {
  for (strata::kernel_record const& kernel : p.kernels)
    std::printf("kernel %s id %u stream %u context %u node %u captured_by %u\n",
                p.kernel_names[kernel.name - 1].mangled.c_str(), kernel.correlation, kernel.stream,
                kernel.context, kernel.node, kernel.captured_by);
  for (strata::driver_call_record const& call : p.launches)
    std::printf("call id %u kind %d node %u\n", call.correlation, static_cast<int>(call.kind),
                call.node);
  std::printf("without a known launch: %llu\n",
              static_cast<unsigned long long>(p.losses.uncorrelated));
}

}  // namespace

TEST_CASE("the body of a while node belongs to the range that launched the graph") {
  struct {
    unsigned before;
    unsigned after;
  } const shapes[] = {{0, 0}, {2, 0}, {0, 1}, {1, 1}};
  for (auto const& shape : shapes) {
    CAPTURE(shape.before);
    CAPTURE(shape.after);
    session s(gpu::quiet("trace,formats=none"));
    REQUIRE(s.start().ok());
    float* values = nullptr;
    unsigned* done = nullptr;
    GPU_CHECK(cudaMalloc(&values, 64 * sizeof(float)));
    GPU_CHECK(cudaMalloc(&done, sizeof *done));
    GPU_CHECK(cudaMemset(done, 0, sizeof *done));
    cudaStream_t stream = nullptr;
    GPU_CHECK(cudaStreamCreate(&stream));
    cudaGraphExec_t const executable = make_graph(values, done, shape.before, shape.after);
    for (unsigned i = 0; i < launches; ++i) {
      STRATA_RANGE("decode");
      GPU_CHECK(cudaGraphLaunch(executable, stream));
    }
    {
      STRATA_RANGE("other");
      gpu::add_one<<<1, 1, 0, stream>>>(values, 1);
    }
    GPU_CHECK(cudaDeviceSynchronize());
    unsigned counted = 0;
    GPU_CHECK(cudaMemcpy(&counted, done, sizeof counted, cudaMemcpyDeviceToHost));
    CHECK(counted == launches * rounds);
    GPU_CHECK(cudaGraphExecDestroy(executable));
    GPU_CHECK(cudaStreamDestroy(stream));
    GPU_CHECK(cudaFree(values));
    GPU_CHECK(cudaFree(done));
    profile const& p = s.profile();
    print(p);
    CHECK(p.losses.uncorrelated == 0);
    call_tree const tree(p);
    unsigned const in_loop = rounds * kernels_a_round;
    CHECK(gpu::row_at(tree, "decode").self.kernels ==
          launches * (shape.before + in_loop + shape.after));
    CHECK(gpu::row_at(tree, "other").self.kernels == 1);
    CHECK(gpu::row_at(tree, "").self.kernels == 0);
    // Where CUPTI tells how the nodes of a body are made and cloned.
    WARN(gpu::row_at(tree, "body").self.graph_kernels == launches * in_loop);
  }
}
