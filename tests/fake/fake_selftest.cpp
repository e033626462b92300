// The stand-ins behave as tests rely on, seen through the tables that Strata uses.
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <set>
#include <strata/collect/cuda/cupti_library.hpp>
#include <strata/collect/cuda/driver.hpp>
#include <string>
#include <thread>
#include <vector>

#include "fake.hpp"

// Strata does not call it; other clients do.
extern "C" strata::detail::cupti::result cuptiEnableDomain(
    std::uint32_t on, strata::detail::cupti::subscriber_handle who,
    strata::detail::cupti::domain where);

namespace cupti = strata::detail::cupti;
using cupti::activity_kind;
using cupti::result;
using strata::detail::cupti_library;
using strata::detail::driver_library;

namespace {

struct seen_call {
  int domain;
  std::uint32_t id;
  cupti::api_site site;
  std::uint32_t correlation;
  std::string symbol;
};
struct seen_node {
  std::uint32_t id;
  std::uint64_t node, original;
};
struct seen_kernel {
  std::string name;
  std::uint32_t correlation;
  std::uint64_t start_ns, end_ns, node;
  std::int32_t grid_x;
};

// A client of CUPTI, as small as one can be.
struct client {
  std::mutex mutex;
  std::vector<seen_call> calls;
  std::vector<seen_node> nodes;
  std::vector<seen_kernel> kernels;
  std::vector<std::uint64_t> copies, sets, allocations, releases, peers;
  std::size_t syncs = 0, overheads = 0, invalid = 0, buffers = 0, empty = 0, dropped = 0;
  std::set<std::thread::id> delivered_by;
  std::vector<std::unique_ptr<std::uint64_t[]>> memory;
  bool decline = false;
  std::size_t buffer_bytes = 1 << 16;
} now;

cupti_library& lib() { return cupti_library::get(); }

void on_callback(void*, cupti::domain where, std::uint32_t id, void const* data) {
  const std::lock_guard<std::mutex> lock(now.mutex);
  if (where == cupti::domain::resource) {
    auto const* graph = static_cast<cupti::graph_data const*>(
        static_cast<cupti::resource_data const*>(data)->descriptor);
    std::uint64_t node = 0;
    std::uint64_t original = 0;
    if (graph->node != nullptr) (void)lib().api.get_graph_node_id(graph->node, &node);
    if (graph->original_node != nullptr) {
      (void)lib().api.get_graph_node_id(graph->original_node, &original);
    }
    now.nodes.push_back({id, node, original});
    return;
  }
  auto const* call = static_cast<cupti::api_data const*>(data);
  if (call->site == cupti::api_site::enter) *call->correlation_data = call->correlation_id;
  if (call->site == cupti::api_site::exit) CHECK(*call->correlation_data == call->correlation_id);
  now.calls.push_back({static_cast<int>(where), id, call->site, call->correlation_id,
                       call->symbol_name != nullptr ? call->symbol_name : ""});
}

void on_request(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) {
  const std::lock_guard<std::mutex> lock(now.mutex);
  *buffer = nullptr;
  *size = 0;
  *max_records = 0;
  if (now.decline) return;
  now.memory.push_back(std::make_unique<std::uint64_t[]>(now.buffer_bytes / 8));
  *buffer = reinterpret_cast<std::uint8_t*>(now.memory.back().get());
  *size = now.buffer_bytes;
}

void on_complete(cupti::context_handle, std::uint32_t, std::uint8_t* buffer, std::size_t,
                 std::size_t valid) {
  const std::lock_guard<std::mutex> lock(now.mutex);
  ++(valid == 0 ? now.empty : now.buffers);
  now.delivered_by.insert(std::this_thread::get_id());
  cupti::record* record = nullptr;
  for (;;) {
    const result code = lib().api.get_next_record(buffer, valid, &record);
    if (code == result::max_limit_reached) break;
    if (code != result::success) {
      ++now.invalid;
      break;
    }
    switch (record->kind) {
      case activity_kind::kernel:
      case activity_kind::concurrent_kernel: {
        auto const& k = cupti::as<cupti::kernel_record>(record);
        now.kernels.push_back(
            {k.name, k.correlation_id, k.start_ns, k.end_ns, k.graph_node_id, k.grid_x});
        break;
      }
      case activity_kind::copy:
        now.copies.push_back(cupti::as<cupti::copy_record>(record).size_bytes);
        break;
      case activity_kind::peer_copy:
        now.peers.push_back(cupti::as<cupti::peer_copy_record>(record).size_bytes);
        break;
      case activity_kind::set:
        now.sets.push_back(cupti::as<cupti::set_record>(record).size_bytes);
        break;
      case activity_kind::memory: {
        auto const& m = cupti::as<cupti::memory_record>(record);
        (m.operation == cupti::memory_operation::allocation ? now.allocations : now.releases)
            .push_back(m.size_bytes);
        break;
      }
      case activity_kind::synchronization:
        ++now.syncs;
        break;
      case activity_kind::overhead:
        ++now.overheads;
        break;
      default:
        ++now.invalid;
        break;
    }
  }
  std::size_t dropped = 0;
  CHECK(lib().api.get_dropped_records(nullptr, 0, &dropped) == result::success);
  now.dropped += dropped;
}

cupti::subscriber_handle start(std::uint32_t version = 130001) {
  fake_cuda_reset();
  (void)lib();
  fake_reset();
  fake_set_version(version);
  now.calls.clear();
  now.nodes.clear();
  now.kernels.clear();
  now.copies.clear(), now.sets.clear(), now.allocations.clear(), now.releases.clear();
  now.peers.clear();
  now.syncs = now.overheads = now.invalid = now.buffers = now.empty = now.dropped = 0;
  now.delivered_by.clear();
  now.decline = false;
  now.buffer_bytes = 1 << 16;
  cupti::subscriber_handle handle = nullptr;
  REQUIRE(lib().api.subscribe(&handle, on_callback, nullptr) == result::success);
  REQUIRE(lib().api.register_callbacks(on_request, on_complete) == result::success);
  for (const activity_kind kind :
       {activity_kind::concurrent_kernel, activity_kind::copy, activity_kind::peer_copy,
        activity_kind::set, activity_kind::memory, activity_kind::synchronization,
        activity_kind::overhead}) {
    REQUIRE(lib().api.activity_enable(kind) == result::success);
  }
  return handle;
}

void enable_launches(cupti::subscriber_handle handle) {
  const cupti::api_list list = cupti::api_list::read(lib().api);
  for (cupti::api_call const& call : list.calls()) {
    REQUIRE(lib().api.enable_callback(1, handle, cupti::domain::driver_api, call.id) ==
            result::success);
  }
}

void flush(bool forced = false) {
  auto const flag = forced ? cupti::flush_flag::forced : cupti::flush_flag::complete_only;
  REQUIRE(lib().api.flush_all(flag) == result::success);
}

fake_kernel named(char const* name, std::int32_t grid_x = 1) {
  fake_kernel kernel;
  kernel.name = name;
  kernel.grid[0] = grid_x;
  return kernel;
}

void launch(char const* name, std::int32_t grid_x = 1) {
  const fake_kernel kernel = named(name, grid_x);
  (void)fake_launch(&kernel);
}

}  // namespace

TEST_CASE("the libraries load, and nothing precedes cuInit") {
  (void)start();
  CHECK(driver_library::get().ok());
  CHECK(driver_library::get().major() == 13);
  CHECK(driver_library::get().attribute(
            0, strata::detail::driver::attribute::multiprocessor_count) == 132);
  CHECK(driver_library::get().attribute(5, strata::detail::driver::attribute::multiprocessor_count,
                                        -1) == -1);
  CHECK(lib().ok());
  CHECK(lib().version == 130001);
  CHECK(lib().path.find("libcupti.so.13") != std::string::npos);
  CHECK(fake_misuse_count() == 0);
}

TEST_CASE("functions are classified by name") {
  using cupti::api_kind;
  using cupti::classify_api;
  CHECK(classify_api("cuLaunchKernel_ptsz") == api_kind::launch);
  CHECK(classify_api("cuLaunchKernelEx") == api_kind::launch);
  CHECK(classify_api("cuLaunch") == api_kind::launch);
  CHECK(classify_api("cuLaunchHostFunc") == api_kind::none);
  CHECK(classify_api("cuGraphLaunch_ptsz") == api_kind::graph_launch);
  for (char const* const name :
       {"cuGraphInstantiate_v2", "cuGraphInstantiateWithParams_ptsz", "cuGraphExecUpdate_v2",
        "cuGraphExecDestroy", "cuGraphDestroy", "cuGraphUpload"})
    CHECK(classify_api(name) == api_kind::graph_change);
  CHECK(classify_api("cuGraphCreate") == api_kind::none);
  CHECK(classify_api("cuMemcpy3DPeerAsync_ptsz") == api_kind::copy);
  CHECK(classify_api("cuMemsetD2D32Async") == api_kind::set);
  CHECK(classify_api("cuMemAllocFromPoolAsync") == api_kind::allocate);
  CHECK(classify_api("cuMemHostAlloc") == api_kind::allocate);
  CHECK(classify_api("cuMemFreeHost") == api_kind::release);
  CHECK(classify_api("cuMemGetAllocationGranularity") == api_kind::none);
  CHECK(classify_api("cuMemSetAccess") == api_kind::none);
  CHECK(classify_api("cuStreamBeginCaptureToGraph") == api_kind::begin_capture);
  CHECK(classify_api("cuStreamBeginRecaptureToGraph_ptsz") == api_kind::begin_capture);
  CHECK(classify_api("cuStreamEndCapture_ptsz") == api_kind::end_capture);
  CHECK(classify_api("cuMemCreate") == api_kind::allocate);
  CHECK(classify_api("cuMemMap") == api_kind::allocate);
  CHECK(classify_api("cuMemMapArrayAsync_ptsz") == api_kind::none);
  CHECK(classify_api("cuMemUnmap") == api_kind::release);
  CHECK(classify_api("cuMemRelease") == api_kind::release);
  CHECK(classify_api("cuMemAddressFree") == api_kind::none);
  CHECK(classify_api("") == api_kind::none);
  using cupti::classify_stream_wait;
  using cupti::stream_wait;
  for (char const* const name : {"cuStreamWaitValue32", "cuStreamWaitValue64_v2_ptsz",
                                 "cuStreamBatchMemOp", "cuWaitExternalSemaphoresAsync_ptsz"})
    CHECK(classify_stream_wait(name) == stream_wait::memory);
  for (char const* const name : {"cuLaunchHostFunc_ptsz", "cuStreamAddCallback"})
    CHECK(classify_stream_wait(name) == stream_wait::host_function);
  for (char const* const name : {"cuStreamWriteValue32", "cuStreamWaitEvent", "cuLaunchKernel",
                                 "cuSignalExternalSemaphoresAsync"})
    CHECK(classify_stream_wait(name) == stream_wait::none);
  (void)start();
  fake_shift_callback_ids(40);
  const cupti::api_list list = cupti::api_list::read(lib().api);
  CHECK(list.calls().size() == 35);
  CHECK(list.kind_of(5 + 40 + 23 * 3) == api_kind::launch);
  CHECK(list.kind_of(1U << 30) == api_kind::none);
}

TEST_CASE("a launch calls back in both domains and leaves one record") {
  cupti::subscriber_handle const handle = start();
  enable_launches(handle);
  CHECK(fake_callback_enabled("cuLaunchKernel") == 1);
  CHECK(fake_callback_enabled("cuInit") == 0);
  launch("gemm", 12);
  REQUIRE(now.calls.size() == 2);  // the driver's enter and exit
  CHECK(now.calls[0].site == cupti::api_site::enter);
  CHECK(now.calls[1].site == cupti::api_site::exit);
  CHECK(now.calls[0].symbol == "gemm");
  flush();
  REQUIRE(now.kernels.size() == 1);
  CHECK(now.kernels[0].name == "gemm");
  CHECK(now.kernels[0].grid_x == 12);
  CHECK(now.kernels[0].correlation == now.calls[0].correlation);
  CHECK(now.kernels[0].end_ns - now.kernels[0].start_ns == 1000);

  now.calls.clear();
  REQUIRE(cuptiEnableDomain(1, handle, cupti::domain::runtime_api) == result::success);
  launch("gemm");
  REQUIRE(now.calls.size() == 4);
  CHECK(now.calls[0].domain == 2);
  CHECK(now.calls[1].domain == 1);
  CHECK(now.calls[0].correlation == now.calls[1].correlation);

  now.calls.clear();
  fake_set_runtime_api(0);
  launch("gemm");
  CHECK(now.calls.size() == 2);
  fake_fail_next_call(1);
  launch("gemm");
  flush();
  CHECK(now.kernels.size() == 3);
  REQUIRE(lib().api.unsubscribe(handle) == result::success);
  launch("gemm");
  CHECK(now.calls.size() == 4);
}

TEST_CASE("records have the size of each CUPTI version") {
  for (const std::uint32_t version :
       {18U, 20U, 21U, 22U, 24U, 26U, 28U, 130001U, 130101U, 130301U, 130401U, 130500U}) {
    CAPTURE(version);
    (void)start(version);
    for (int i = 0; i < 3; ++i) {
      launch("k", i);
      (void)fake_copy(1, 100, 7, 10);
      (void)fake_copy(10, 200, 7, 10);
      (void)fake_memset(300, 7, 10);
      (void)fake_malloc(0x1000, 400, 3, 0);
      (void)fake_free(0x1000, 400, 3, 1);
      (void)fake_sync(3, 7, 10);
      fake_overhead(1 << 16, 10);
    }
    flush();
    CHECK(now.kernels.size() == 3);
    CHECK(now.copies == std::vector<std::uint64_t>(3, 100));
    CHECK(now.peers == std::vector<std::uint64_t>(3, 200));
    CHECK(now.sets == std::vector<std::uint64_t>(3, 300));
    CHECK(now.allocations == std::vector<std::uint64_t>(3, 400));
    CHECK(now.releases == std::vector<std::uint64_t>(3, 400));
    CHECK(now.syncs == 3);
    CHECK(now.overheads == 3);
    CHECK(now.invalid == 0);
    CHECK(fake_misuse_count() == 0);
  }
}

TEST_CASE("subscribing fails as scripted") {
  cupti::subscriber_handle const mine = start();
  cupti::subscriber_handle other = nullptr;
  CHECK(lib().api.subscribe(&other, on_callback, nullptr) ==
        result::multiple_subscribers_not_supported);
  REQUIRE(lib().api.unsubscribe(mine) == result::success);
  for (int const code : {39, 35, 999, 15}) {
    fake_fail("cuptiSubscribe", code);
    CHECK(static_cast<int>(lib().api.subscribe(&other, on_callback, nullptr)) == code);
  }
  fake_fail("cuptiSubscribe", 0);
  fake_set_other_client("Nsight Systems");
  CHECK(lib().api.subscribe(&other, on_callback, nullptr) ==
        result::multiple_subscribers_not_supported);
  CHECK(lib().other_client() == "Nsight Systems");
  fake_set_version(130200);
  CHECK(lib().other_client() == "Nsight Systems");
  fake_set_other_client(nullptr);
  CHECK(lib().other_client().empty());  // and no subscriber is left behind
  CHECK(fake_subscribed() == 0);
  const std::string text =
      lib().describe("cuptiSubscribe", result::multiple_subscribers_not_supported);
  CHECK(text.find("(39)") != std::string::npos);
  CHECK(text.find("Nsight Systems") != std::string::npos);
}

TEST_CASE("delivery: order, splitting, threads") {
  SUBCASE("reversed, two records a buffer") {
    (void)start();
    fake_set_order(fake_order::reversed, 0);
    fake_set_records_per_buffer(2);
    for (int i = 0; i < 5; ++i) launch("k", i);
    CHECK(fake_pending() == 5);
    CHECK(fake_buffers_outstanding() == 3);
    flush();
    REQUIRE(now.kernels.size() == 5);
    CHECK(now.kernels[0].grid_x == 4);
    CHECK(now.buffers == 3);
    CHECK(fake_pending() == 0);
    CHECK(fake_buffers_outstanding() == 0);
  }
  SUBCASE("shuffled by seed") {
    std::vector<std::int32_t> order[2];
    for (auto& mine : order) {
      (void)start();
      fake_set_order(fake_order::shuffled, 7);
      for (int i = 0; i < 20; ++i) launch("k", i);
      flush();
      for (seen_kernel const& each : now.kernels) mine.push_back(each.grid_x);
    }
    CHECK(order[0].size() == 20);
    CHECK(order[0] == order[1]);
    CHECK(!std::is_sorted(order[0].begin(), order[0].end()));
  }
  SUBCASE("by the caller, by a worker") {
    (void)start();
    launch("k");
    flush();
    CHECK(now.delivered_by == std::set<std::thread::id>{std::this_thread::get_id()});
    now.delivered_by.clear();
    fake_set_delivery(fake_thread::worker);
    launch("k");
    flush();
    CHECK(now.delivered_by.size() == 1);
    CHECK(now.delivered_by.count(std::this_thread::get_id()) == 0);
  }
  SUBCASE("small buffers") {
    (void)start();
    now.buffer_bytes = 512;
    for (int i = 0; i < 20; ++i) launch("k", i);
    flush();
    CHECK(now.kernels.size() == 20);
    CHECK(now.buffers == 10);
  }
}

TEST_CASE("what can go wrong with records") {
  (void)start();
  SUBCASE("a declined buffer is a dropped record") {
    now.decline = true;
    launch("k");
    now.decline = false;
    launch("k");
    fake_drop(3);
    flush();
    CHECK(now.kernels.size() == 1);
    CHECK(now.dropped == 4);
    CHECK(fake_misuse_count() == 0);
    fake_set_version(26);
    now.decline = true;
    launch("k");
    CHECK(fake_misuse_count() == 1);
  }
  SUBCASE("times are lost") {
    fake_lose_timestamps(1);
    launch("k");
    fake_lose_timestamps(0);
    fake_set_next_times(500, 700);
    launch("k");
    flush();
    REQUIRE(now.kernels.size() == 2);
    CHECK(now.kernels[0].start_ns == 0);
    CHECK(now.kernels[0].end_ns == 0);
    CHECK(now.kernels[1].start_ns == 500);
    CHECK(now.kernels[1].end_ns == 700);
  }
  SUBCASE("a kind that is disabled makes no more records") {
    launch("k");
    REQUIRE(lib().api.activity_disable(activity_kind::concurrent_kernel) == result::success);
    launch("k");
    CHECK(fake_kind_enabled(10) == 0);
    flush();
    CHECK(now.kernels.size() == 1);
  }
  SUBCASE("records of running kernels") {
    fake_hold(1);
    launch("k");
    flush();
    CHECK(now.kernels.empty());
    REQUIRE(driver_library::get().api.context_synchronize() ==
            strata::detail::driver::result::success);
    CHECK(fake_synchronize_count() == 1);
    flush();
    CHECK(now.kernels.size() == 1);
    launch("k");
    flush(true);
    REQUIRE(now.kernels.size() == 2);
    CHECK(now.kernels[1].start_ns + now.kernels[1].end_ns == 0);
    fake_hold(2);
    launch("k");
    flush(true);
    CHECK(now.kernels.size() == 2);
    CHECK(now.invalid == 1);
    CHECK(fake_buffers_outstanding() == 0);
  }
  SUBCASE("WaitNs has no call behind it") {
    fake_wait_ns_kernel();
    flush();
    REQUIRE(now.kernels.size() == 1);
    CHECK(now.kernels[0].name == "WaitNs");
    CHECK(now.calls.empty());
  }
}

TEST_CASE("graphs: nodes are created, cloned and launched") {
  cupti::subscriber_handle const handle = start();
  enable_launches(handle);
  for (auto const id :
       {cupti::resource_id::graph_node_created, cupti::resource_id::graph_node_cloned,
        cupti::resource_id::graph_node_updated}) {
    REQUIRE(lib().api.enable_callback(1, handle, cupti::domain::resource,
                                      static_cast<std::uint32_t>(id)) == result::success);
  }
  (void)fake_begin_capture(9);
  fake_kernel kernel = named("captured");
  kernel.stream = 9;
  (void)fake_launch(&kernel);
  (void)fake_launch(&kernel);
  auto status = strata::detail::driver::capture_status::none;
  REQUIRE(driver_library::get().api.stream_is_capturing(reinterpret_cast<void*>(std::uintptr_t{9}),
                                                        &status) ==
          strata::detail::driver::result::success);
  CHECK(status == strata::detail::driver::capture_status::active);
  const fake_graph_t captured = fake_end_capture(9);
  REQUIRE(captured != 0);
  const fake_graph_t executable = fake_graph_clone(captured);
  now.calls.clear();
  const std::uint32_t correlation = fake_graph_launch(executable, 9);
  CHECK(now.calls.size() == 2);
  flush();
  REQUIRE(now.nodes.size() == 4);
  CHECK(now.nodes[0].id == 13);
  CHECK(now.nodes[2].id == 20);
  CHECK(now.nodes[2].original == now.nodes[0].node);
  REQUIRE(now.kernels.size() == 2);
  CHECK(now.kernels[0].node == now.nodes[2].node);
  CHECK(now.kernels[1].node == now.nodes[3].node);
  CHECK(now.kernels[0].correlation == correlation);
  CHECK(now.kernels[1].correlation == correlation);

  const fake_graph_t built = fake_graph_create();
  const fake_kernel added = named("added");
  const fake_node_t node = fake_graph_create_node(built, &added);
  fake_node_t listed = 0;
  CHECK(fake_graph_nodes(built, &listed, 1) == 1);
  CHECK(listed == node);

  now.nodes.clear();
  (void)fake_graph_update(executable, built);  // one node for two: refused
  CHECK(now.nodes.empty());
  (void)fake_graph_create_node(built, &added);
  now.nodes.clear();
  (void)fake_graph_update(executable, built);
  REQUIRE(now.nodes.size() == 2);
  CHECK(now.nodes[1].id == 22);
  CHECK(now.nodes[1].node == node);
  CHECK(now.nodes[1].original == now.kernels[0].node);
  now.kernels.clear();
  (void)fake_graph_launch(executable, 9);
  flush();
  REQUIRE(now.kernels.size() == 2);
  CHECK(now.kernels[0].node == now.nodes[1].original);
  CHECK(now.kernels[0].name == "added");
}

TEST_CASE("synchronising ruins a capture") {
  (void)start();
  (void)fake_begin_capture(9);
  CHECK(driver_library::get().api.context_synchronize() ==
        strata::detail::driver::result::stream_capture_unsupported);
  CHECK(fake_capture_broken() == 1);
  CHECK(fake_synchronize_count() == 0);
  CHECK(fake_end_capture(9) == 0);
}

TEST_CASE("many threads, delivered while they launch") {
  cupti::subscriber_handle const handle = start();
  enable_launches(handle);
  now.buffer_bytes = 4096;
  fake_set_auto_delivery(64);
  constexpr int threads = 4;
  constexpr int launches = 300;
  std::vector<std::thread> program;
  for (int t = 0; t < threads; ++t) {
    program.emplace_back([] {
      for (int i = 0; i < launches; ++i) launch("k", i);
    });
  }
  flush();
  for (std::thread& each : program) each.join();
  flush(true);
  std::set<std::uint32_t> correlations;
  for (seen_kernel const& each : now.kernels) correlations.insert(each.correlation);
  CHECK(now.kernels.size() + now.dropped == threads * launches);
  CHECK(correlations.size() == now.kernels.size());
  CHECK(now.calls.size() == 2 * threads * launches);
  CHECK(fake_buffers_outstanding() == 0);
  CHECK(fake_misuse_count() == 0);
}
