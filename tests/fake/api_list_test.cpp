// What a call of the driver does, by its name.
#include <doctest/doctest.h>

#include <strata/collect/cuda/cupti_library.hpp>
#include <string>
#include <utility>

#include "../word_list.hpp"
#include "fake.hpp"

namespace api_list_test {

namespace cupti = strata::detail::cupti;
using cupti::api_kind;
using cupti::stream_wait;

TEST_CASE("functions of the driver are classified by name") {
  std::pair<api_kind, char const*> const cases[] = {
      {api_kind::launch, "cuLaunchKernel_ptsz, cuLaunchKernelEx, cuLaunch"},
      {api_kind::none,
       "cuLaunchHostFunc, cuGraphExecMemcpyNodeSetParams, cuGraphExecMemsetNodeSetParams, "
       "cuGraphExecEventRecordNodeSetEvent, cuGraphExecExternalSemaphoresSignalNodeSetParams, "
       "cuGraphExecGetFlags, cuGraphNodeGetEnabled, cuGraphKernelNodeSetParams_v2, "
       "cuGraphCreate, cuMemMapArrayAsync_ptsz, cuMemGetAllocationGranularity, cuMemSetAccess, "
       "cuMemAddressFree"},
      {api_kind::graph_launch, "cuGraphLaunch_ptsz"},
      {api_kind::instantiate, "cuGraphInstantiate_v2, cuGraphInstantiateWithParams_ptsz"},
      {api_kind::graph_change,
       "cuGraphExecUpdate_v2, "
       "cuGraphExecDestroy, cuGraphDestroy, cuGraphUpload, cuGraphExecKernelNodeSetParams, "
       "cuGraphExecKernelNodeSetParams_v2, cuGraphExecHostNodeSetParams, "
       "cuGraphExecChildGraphNodeSetParams, cuGraphExecEventWaitNodeSetEvent, "
       "cuGraphExecExternalSemaphoresWaitNodeSetParams, cuGraphExecBatchMemOpNodeSetParams, "
       "cuGraphExecNodeSetParams, cuGraphNodeSetEnabled"},
      {api_kind::copy, "cuMemcpy3DPeerAsync_ptsz"},
      {api_kind::set, "cuMemsetD2D32Async"},
      {api_kind::allocate, "cuMemAllocFromPoolAsync, cuMemHostAlloc, cuMemCreate, cuMemMap"},
      {api_kind::release, "cuMemFreeHost, cuMemUnmap, cuMemRelease"},
      {api_kind::begin_capture, "cuStreamBeginCaptureToGraph, cuStreamBeginRecaptureToGraph_ptsz"},
      {api_kind::end_capture, "cuStreamEndCapture_ptsz"}};
  for (auto const& [kind, names] : cases)
    for (std::string const& name : test::listed(names)) {
      CAPTURE(name);
      CHECK(cupti::classify_api(name.c_str()) == kind);
    }
  CHECK(cupti::classify_api("") == api_kind::none);
}

TEST_CASE("calls by which a stream waits are classified by name") {
  std::pair<stream_wait, char const*> const cases[] = {
      {stream_wait::memory,
       "cuStreamWaitValue32, cuStreamWaitValue64_v2_ptsz, cuStreamBatchMemOp, "
       "cuWaitExternalSemaphoresAsync_ptsz"},
      {stream_wait::host_function, "cuLaunchHostFunc_ptsz, cuStreamAddCallback"},
      {stream_wait::none,
       "cuStreamWriteValue32, cuStreamWaitEvent, cuLaunchKernel, cuSignalExternalSemaphoresAsync"}};
  for (auto const& [waits, names] : cases)
    for (std::string const& name : test::listed(names)) {
      CAPTURE(name);
      CHECK(cupti::classify_stream_wait(name.c_str()) == waits);
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
