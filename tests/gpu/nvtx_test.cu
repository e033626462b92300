// NVTX ranges of the program around kernels, as ranges, with NVTX's own header and the real CUPTI.

#include <nvtx3/nvToolsExt.h>

#include <cstdlib>
#include <strata/base/clock.hpp>
#include <strata/nvtx.hpp>
#include <strata/range.hpp>
#include <thread>

#include "gpu/gpu_fixture.hpp"

using strata::call_tree;
using strata::profile;
using strata::session;

namespace {

nvtxEventAttributes_t event() {
  nvtxEventAttributes_t e{};
  e.version = NVTX_VERSION;
  e.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  return e;
}
nvtxEventAttributes_t event(char const* text) {
  nvtxEventAttributes_t e = event();
  e.messageType = NVTX_MESSAGE_TYPE_ASCII;
  e.message.ascii = text;
  return e;
}
nvtxEventAttributes_t event(nvtxStringHandle_t text) {
  nvtxEventAttributes_t e = event();
  e.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  e.message.registered = text;
  return e;
}

void launch(int times = 1) {
  for (int i = 0; i < times; ++i) gpu::spin<<<1, 1>>>(1'000, nullptr);
}

std::string name_of(profile const& p, std::uint32_t name) { return p.names.at(name); }

/// CUPTI's domain of NVTX is enabled before the first NVTX call of this program, by the first test
/// that needs it: NVTX asks for its tool once.
struct hearing : session {
  explicit hearing(char const* text = "trace,nvtx=in,formats=none") : session(gpu::quiet(text)) {
    REQUIRE(start().ok());
    char const* const tool = std::getenv("NVTX_INJECTION64_PATH");
    REQUIRE(tool != nullptr);
    INFO(tool);
    CHECK(std::string(tool).find("libcupti") != std::string::npos);
  }
};

}  // namespace

TEST_CASE("kernels belong to the NVTX range that they were launched in") {
  hearing s;
  nvtxDomainHandle_t const domain = nvtxDomainCreateA("NCCL");
  nvtxEventAttributes_t const reduce = event(nvtxDomainRegisterStringA(domain, "reduce"));
  nvtxEventAttributes_t const gather = event("gather");
  nvtxEventAttributes_t const plain = event("plain event");
  for (int layer = 0; layer < 3; ++layer) {
    nvtxRangePushA("layer");
    {
      STRATA_RANGE("block", layer);
      nvtxRangePushEx(&plain);
      launch(2);
      nvtxRangePop();
      nvtxDomainRangePushEx(domain, &reduce);
      launch(3);
      nvtxDomainRangePop(domain);
      nvtxDomainRangePushEx(domain, &gather);
      launch();
      nvtxDomainRangePop(domain);
    }
    launch();
    nvtxRangePop();
  }
  launch();
  GPU_CHECK(cudaDeviceSynchronize());
  profile const& p = s.profile();
  gpu::nothing_lost(p);
  CHECK(p.kernels.size() == 22);
  call_tree const tree(p);
  CHECK(gpu::row_at(tree, "layer").host.count() == 3);
  CHECK(gpu::row_at(tree, "layer").self.kernels == 3);
  CHECK(gpu::row_at(tree, "layer").total.kernels == 21);
  CHECK(gpu::row_at(tree, "layer/block[1]/plain event").self.kernels == 2);
  CHECK(gpu::row_at(tree, "layer/block[1]/NCCL:reduce").self.kernels == 3);
  CHECK(gpu::row_at(tree, "layer/block[1]/NCCL:gather").self.kernels == 1);
  CHECK(gpu::row_at(tree, "").self.kernels == 1);
}

TEST_CASE("start and end of NVTX become spans") {
  hearing s;
  nvtxDomainHandle_t const domain = nvtxDomainCreateA("loader");
  nvtxEventAttributes_t const batch = event("batch");
  nvtxRangeId_t const a = nvtxRangeStartA("across");
  nvtxRangeId_t const b = nvtxDomainRangeStartEx(domain, &batch);
  launch();
  std::thread([a] { nvtxRangeEnd(a); }).join();
  nvtxDomainRangeEnd(domain, b);
  nvtxMarkA("mark");
  GPU_CHECK(cudaDeviceSynchronize());
  profile const& p = s.profile();
  gpu::nothing_lost(p);
  REQUIRE(p.spans.size() == 3);
  CHECK(name_of(p, p.spans[0].name) == "across");
  CHECK(p.spans[0].thread != p.spans[0].end_thread);
  CHECK(name_of(p, p.spans[1].name) == "batch");
  CHECK(name_of(p, p.spans[1].domain) == "loader");
  CHECK(p.spans[1].end >= p.spans[0].end);
  CHECK(name_of(p, p.spans[2].name) == "mark");
  CHECK(p.spans[2].kind == strata::span_kind::mark);
  CHECK(p.losses.spans_left_open == 0);
}

TEST_CASE("ranges that go out to NVTX do not come in again") {
  hearing s("trace,nvtx=in+out,formats=none");
  for (int i = 0; i < 5; ++i) {
    STRATA_RANGE("own");
    nvtxRangePushA("foreign");
    launch();
    nvtxRangePop();
  }
  GPU_CHECK(cudaDeviceSynchronize());
  profile const& p = s.profile();
  gpu::nothing_lost(p);
  call_tree const tree(p);
  CHECK(tree.rows().size() == 3);
  CHECK(gpu::row_at(tree, "own").host.count() == 5);
  CHECK(gpu::row_at(tree, "own/foreign").self.kernels == 5);
}

TEST_CASE("a session that does not ask hears no NVTX") {
  session s(gpu::quiet("trace,formats=none"));
  REQUIRE(s.start().ok());
  nvtxRangePushA("quiet");
  launch();
  nvtxRangePop();
  GPU_CHECK(cudaDeviceSynchronize());
  profile const& p = s.profile();
  gpu::nothing_lost(p);
  CHECK(call_tree(p).rows().size() == 1);
  CHECK(p.kernels.size() == 1);
}

TEST_CASE("NVTX ranges are counted like others") {
  hearing s("trace,nvtx=in,formats=none,active=1,counters=smsp__warps_launched.sum");
  for (int step = 0; step < 3; ++step) {
    STRATA_STEP();
    nvtxRangePushA("layer");
    launch(2);
    nvtxRangePushA("inner");
    launch(3);
    nvtxRangePop();
    nvtxRangePop();
    GPU_CHECK(cudaDeviceSynchronize());
  }
  profile const& p = s.profile();
  gpu::nothing_lost(p);
  CHECK(p.counters().passes_done == 1);
  REQUIRE(p.counters().values.size() == 2);
  CHECK(p.counters().values[0].value + p.counters().values[1].value == 5.0);
  CHECK(p.counters().values[0].value * p.counters().values[1].value == 6.0);
}

TEST_CASE("what one NVTX range costs") {
  constexpr int times = 20'000;
  hearing s;
  nvtxRangePushA("warm");
  nvtxRangePop();
  auto const begin = strata::detail::monotonic_ns();
  for (int i = 0; i < times; ++i) {
    nvtxRangePushA("range");
    nvtxRangePop();
  }
  auto const each = static_cast<double>(strata::detail::monotonic_ns() - begin) / times;
  MESSAGE("an NVTX push and pop through CUPTI: ", each, " ns");
  CHECK(each < 5'000);
  CHECK(gpu::row_at(call_tree(s.profile()), "range").host.count() == times);
}
