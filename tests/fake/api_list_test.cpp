// What a call of the driver does, by its name.
#include <doctest/doctest.h>

#include <strata/collect/cuda/cupti_library.hpp>
#include <string>

#include "fake.hpp"

namespace api_list_test {

namespace cupti = strata::detail::cupti;
using cupti::api_kind;
using cupti::stream_wait;

TEST_CASE("functions of the driver are classified by name") {
  struct call {
    char const* name;
    api_kind kind;
  };
  for (call const& each :
       {call{"cuLaunchKernel_ptsz", api_kind::launch},
        {"cuLaunchKernelEx", api_kind::launch},
        {"cuLaunch", api_kind::launch},
        {"cuLaunchHostFunc", api_kind::none},
        {"cuGraphLaunch_ptsz", api_kind::graph_launch},
        {"cuGraphInstantiate_v2", api_kind::graph_change},
        {"cuGraphInstantiateWithParams_ptsz", api_kind::graph_change},
        {"cuGraphExecUpdate_v2", api_kind::graph_change},
        {"cuGraphExecDestroy", api_kind::graph_change},
        {"cuGraphDestroy", api_kind::graph_change},
        {"cuGraphUpload", api_kind::graph_change},
        {"cuGraphExecKernelNodeSetParams", api_kind::graph_change},
        {"cuGraphExecKernelNodeSetParams_v2", api_kind::graph_change},
        {"cuGraphExecHostNodeSetParams", api_kind::graph_change},
        {"cuGraphExecChildGraphNodeSetParams", api_kind::graph_change},
        {"cuGraphExecEventWaitNodeSetEvent", api_kind::graph_change},
        {"cuGraphExecExternalSemaphoresWaitNodeSetParams", api_kind::graph_change},
        {"cuGraphExecBatchMemOpNodeSetParams", api_kind::graph_change},
        {"cuGraphExecNodeSetParams", api_kind::graph_change},
        {"cuGraphNodeSetEnabled", api_kind::graph_change},
        {"cuGraphExecMemcpyNodeSetParams", api_kind::none},
        {"cuGraphExecMemsetNodeSetParams", api_kind::none},
        {"cuGraphExecEventRecordNodeSetEvent", api_kind::none},
        {"cuGraphExecExternalSemaphoresSignalNodeSetParams", api_kind::none},
        {"cuGraphExecGetFlags", api_kind::none},
        {"cuGraphNodeGetEnabled", api_kind::none},
        {"cuGraphKernelNodeSetParams_v2", api_kind::none},
        {"cuGraphCreate", api_kind::none},
        {"cuMemcpy3DPeerAsync_ptsz", api_kind::copy},
        {"cuMemsetD2D32Async", api_kind::set},
        {"cuMemAllocFromPoolAsync", api_kind::allocate},
        {"cuMemHostAlloc", api_kind::allocate},
        {"cuMemCreate", api_kind::allocate},
        {"cuMemMap", api_kind::allocate},
        {"cuMemMapArrayAsync_ptsz", api_kind::none},
        {"cuMemGetAllocationGranularity", api_kind::none},
        {"cuMemSetAccess", api_kind::none},
        {"cuMemFreeHost", api_kind::release},
        {"cuMemUnmap", api_kind::release},
        {"cuMemRelease", api_kind::release},
        {"cuMemAddressFree", api_kind::none},
        {"cuStreamBeginCaptureToGraph", api_kind::begin_capture},
        {"cuStreamBeginRecaptureToGraph_ptsz", api_kind::begin_capture},
        {"cuStreamEndCapture_ptsz", api_kind::end_capture},
        {"", api_kind::none}}) {
    CAPTURE(std::string(each.name));
    CHECK(cupti::classify_api(each.name) == each.kind);
  }
}

TEST_CASE("calls by which a stream waits are classified by name") {
  struct call {
    char const* name;
    stream_wait waits;
  };
  for (call const& each : {call{"cuStreamWaitValue32", stream_wait::memory},
                           {"cuStreamWaitValue64_v2_ptsz", stream_wait::memory},
                           {"cuStreamBatchMemOp", stream_wait::memory},
                           {"cuWaitExternalSemaphoresAsync_ptsz", stream_wait::memory},
                           {"cuLaunchHostFunc_ptsz", stream_wait::host_function},
                           {"cuStreamAddCallback", stream_wait::host_function},
                           {"cuStreamWriteValue32", stream_wait::none},
                           {"cuStreamWaitEvent", stream_wait::none},
                           {"cuLaunchKernel", stream_wait::none},
                           {"cuSignalExternalSemaphoresAsync", stream_wait::none}}) {
    CAPTURE(std::string(each.name));
    CHECK(cupti::classify_stream_wait(each.name) == each.waits);
  }
}

TEST_CASE("the numbers of functions are those of this libcupti") {
  fake_shift_callback_ids(40);
  cupti::api_list const list = cupti::api_list::read(strata::detail::cupti_library::get().api);
  fake_shift_callback_ids(0);
  CHECK(list.calls().size() == 37);
  CHECK(list.kind_of(5 + 40 + 23 * 3) == api_kind::launch);
  CHECK(list.kind_of(1U << 30) == api_kind::none);
}

}  // namespace api_list_test
