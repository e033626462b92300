// Device work belongs to the range whose call caused it, whatever way its record comes back.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <strata/collect/cuda/activity.hpp>
#include <strata/tables/memory_table.hpp>

#include "fake_session.hpp"

namespace attribution_test {

using fake::launch;
using fake::row;
using fake::traced;
using strata::profile;

namespace {

constexpr int layers = 4;

/// A little model: each block has five kernels in attention and two in mlp, one copy in between.
void forward() {
  for (int layer = 0; layer < layers; ++layer) {
    STRATA_RANGE("block", layer);
    {
      STRATA_RANGE("attention");
      for (int i = 0; i < 5; ++i) launch("gemm", 7 + static_cast<std::uint32_t>(i % 2));
    }
    (void)fake_copy(8, 100, 7, 500);
    STRATA_RANGE("mlp");
    launch("gelu");
    launch("gelu");
  }
  launch("loss");
}

void check_forward(profile const& p) {
  fake::nothing_lost(p);
  CHECK(p.kernels.size() == layers * 7 + 1);
  CHECK(p.copies.size() == layers);
  for (int layer = 0; layer < layers; ++layer) {
    std::string const block = "block[" + std::to_string(layer) + "]";
    CHECK(row(p, block).total.kernels == 7);
    CHECK(row(p, block).self.kernels == 0);
    CHECK(row(p, block).self.copies == 1);
    CHECK(row(p, block).self.launches == 1);
    CHECK(row(p, block).total.launches == 8);
    CHECK(row(p, block + "/attention").self.kernels == 5);
    CHECK(fake::about(row(p, block + "/attention").self.kernel_ns, 5000));
    CHECK(row(p, block + "/attention").self.launches == 5);
    CHECK(row(p, block + "/mlp").self.kernels == 2);
  }
  CHECK(row(p, "").self.kernels == 1);
  CHECK(row(p, "").self.launches == 1);
  CHECK(row(p, "").total.kernels == p.kernels.size());
}

}  // namespace

TEST_CASE("kernels belong to the innermost range that launched them") {
  traced s;
  SUBCASE("the driver's calls within runtime calls") {}
  SUBCASE("the driver's calls alone") { fake_set_runtime_api(0); }
  forward();
  check_forward(s.profile());
}

TEST_CASE("the order and the places of records do not matter") {
  traced s;
  SUBCASE("reversed") { fake_set_order(fake_order::reversed, 1); }
  SUBCASE("shuffled") { fake_set_order(fake_order::shuffled, 3); }
  SUBCASE("one record a buffer") { fake_set_records_per_buffer(1); }
  SUBCASE("shuffled, three records a buffer") {
    fake_set_order(fake_order::shuffled, 4);
    fake_set_records_per_buffer(3);
  }
  SUBCASE("delivered by a worker when flushed") { fake_set_delivery(fake_thread::worker); }
  SUBCASE("delivered by workers all the time") { fake_set_auto_delivery(1); }
  SUBCASE("complete only after the wait at the end") { fake_hold(1); }
  forward();
  check_forward(s.profile());
}

TEST_CASE("the details of a kernel") {
  traced s;
  fake_kernel kernel;
  kernel.name = "_Z4gemmPf";
  kernel.stream = 13;
  kernel.grid[0] = 100'000;
  kernel.grid[1] = 65'535;
  kernel.grid[2] = 3;
  kernel.block[0] = 1024;
  kernel.block[1] = 2;
  kernel.block[2] = 64;
  kernel.registers = 255;
  kernel.static_shared_bytes = 49'152;
  kernel.dynamic_shared_bytes = 233'472;
  kernel.duration_ns = 12'345;
  kernel.device = 3;
  kernel.context = 2;
  (void)fake_launch(&kernel);
  profile const& p = fake::whole(s);
  REQUIRE(p.kernels.size() == 1);
  strata::kernel_record const& k = p.kernels[0];
  REQUIRE(k.name != strata::no_reference);
  REQUIRE(k.name <= p.kernel_names.size());
  CHECK(p.kernel_names[k.name - 1].mangled == "_Z4gemmPf");
  CHECK(k.stream == 13);
  CHECK(k.grid_x == 100'000);
  CHECK(k.grid_y == 65'535);
  CHECK(k.grid_z == 3);
  CHECK(k.block_x == 1024);
  CHECK(k.block_y == 2);
  CHECK(k.block_z == 64);
  CHECK(k.registers == 255);
  CHECK(k.static_shared_bytes == 49'152);
  CHECK(k.dynamic_shared_bytes == 233'472);
  CHECK(fake::about(k.end - k.begin, 12'345));
  CHECK(k.device == 3);
  CHECK(k.context == 2);
  CHECK(k.captured_by == strata::no_node);
}

TEST_CASE("many names share few places in the cache of names") {
  traced s;
  std::vector<std::string> names;
  for (int i = 0; i < 1000; ++i) names.push_back("kernel_" + std::to_string(i));
  for (int round = 0; round < 2; ++round) {
    for (std::string const& name : names) launch(name.c_str(), 7, 1);
  }
  profile const& p = fake::whole(s);
  REQUIRE(p.kernels.size() == 2000);
  for (std::size_t i = 0; i < p.kernels.size(); ++i)
    REQUIRE(p.kernel_names[p.kernels[i].name - 1].mangled == names[i % 1000]);
}

TEST_CASE("threads, streams, devices and contexts") {
  traced s;
  constexpr int threads = 6;
  constexpr int launches = 50;
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t) {
    all.emplace_back([t] {
      fake_kernel kernel;
      kernel.stream = 20 + static_cast<std::uint32_t>(t);
      kernel.device = static_cast<std::uint32_t>(t % 2);
      kernel.context = 1 + static_cast<std::uint32_t>(t % 2);
      for (int i = 0; i < launches; ++i) {
        STRATA_RANGE("worker", t);
        (void)fake_launch(&kernel);
      }
      (void)fake_launch(&kernel);  // outside any range of its thread
    });
  }
  for (std::thread& t : all) t.join();
  profile const& p = fake::whole(s);
  CHECK(p.kernels.size() == threads * (launches + 1));
  for (int t = 0; t < threads; ++t) {
    std::string const name = "worker[" + std::to_string(t) + "]";
    CHECK(row(p, name).self.kernels == launches);
    CHECK(row(p, name).self.launches == launches);
  }
  CHECK(row(p, "").self.kernels == threads);
  std::set<std::uint32_t> devices;
  std::set<std::uint16_t> by;
  for (strata::kernel_record const& k : p.kernels) {
    devices.insert(k.device);
    CHECK(k.context == k.device + 1u);
    CHECK(k.stream % 2 == k.device);
  }
  for (strata::driver_call_record const& l : p.launches) by.insert(l.thread);
  CHECK(devices.size() == 2);
  CHECK(by.size() == threads);
  // Each context was waited for at the end.
  CHECK(fake_synchronize_count_of(1) == 1);
  CHECK(fake_synchronize_count_of(2) == 1);
}

TEST_CASE("a context that is gone is not waited for, and its place is used again") {
  for (std::uint32_t context = 100; context < 300; ++context) {
    traced s;
    fake_kernel kernel;
    kernel.context = context;
    (void)fake_launch(&kernel);
    if (context % 2 == 0) fake_destroy_context(context);
    profile const& p = fake::whole(s);
    CHECK(p.kernels.size() == 1);
    REQUIRE(fake_synchronize_count_of(context) == context % 2);
    if (context % 2 != 0) fake_destroy_context(context);
  }
}

TEST_CASE("copies and fills by kind") {
  traced s;
  {
    STRATA_RANGE("copies");
    (void)fake_copy(1, 1 << 0, 7, 10);
    (void)fake_copy(2, 1 << 1, 7, 20);
    (void)fake_copy(8, 1 << 2, 7, 30);
    (void)fake_copy(10, 1 << 3, 7, 40);
    (void)fake_copy(9, 1 << 4, 7, 50);
    (void)fake_copy(3, 1 << 5, 7, 60);
    (void)fake_copy(4, 1 << 6, 7, 70);
    for (int const kind : {5, 6, 7}) (void)fake_copy(kind, 1 << (kind + 2), 7, 80);
    (void)fake_memset(1 << 10, 7, 90);
  }
  profile const& p = fake::whole(s);
  strata::device_work const work = row(p, "copies").self;
  CHECK(work.copies == 11);
  CHECK(work.launches == 11);
  CHECK(fake::about(work.copy_ns, 10 + 20 + 30 + 40 + 50 + 60 + 70 + 3 * 80 + 90));
  CHECK(work.host_to_device_bytes == (1 << 0) + (1 << 5));
  CHECK(work.device_to_host_bytes == (1 << 1) + (1 << 6));
  CHECK(work.device_to_device_bytes == (1 << 2) + (1 << 7) + (1 << 8) + (1 << 9));
  CHECK(work.peer_bytes == 1 << 3);
  CHECK(work.peer_copies == 1);
  CHECK(work.other_bytes == 1 << 4);
  CHECK(work.set_bytes == 1 << 10);
  auto const peers = std::count_if(p.copies.begin(), p.copies.end(),
                                   [](auto const& c) { return c.kind == strata::copy_kind::peer; });
  CHECK(peers == 1);
}

TEST_CASE("allocations and releases") {
  traced s;
  {
    STRATA_RANGE("allocate");
    (void)fake_malloc(0x1000, 1000, 3, 0);
    (void)fake_malloc(0x2000, 2000, 3, 1);
    (void)fake_malloc(0x4000, 4000, 2, 0);
    (void)fake_malloc(0x8000, 8000, 5, 0);
  }
  {
    STRATA_RANGE("release");
    (void)fake_free(0x1000, 1000, 3, 0);
    (void)fake_free(0x2000, 2000, 3, 1);
  }
  profile const& p = fake::whole(s);
  REQUIRE(p.memory.size() == 6);
  CHECK(p.memory[0].kind == strata::memory_kind::device);
  CHECK(p.memory[0].asynchronous == 0);
  CHECK(p.memory[1].asynchronous == 1);
  CHECK(p.memory[2].kind == strata::memory_kind::pinned);
  CHECK(p.memory[3].kind == strata::memory_kind::managed);
  CHECK(p.memory[3].allocates == 1);
  CHECK(p.memory[4].allocates == 0);
  CHECK(p.memory[4].address == 0x1000);
  for (std::size_t i = 1; i < p.memory.size(); ++i) CHECK(p.memory[i - 1].time <= p.memory[i].time);
  CHECK(p.memory[0].time >= 0);
  CHECK(p.memory[5].time <= p.end);
  CHECK(row(p, "allocate").self.allocations == 4);
  CHECK(row(p, "allocate").self.allocated_bytes == 15'000);
  CHECK(row(p, "release").self.releases == 2);
  CHECK(row(p, "release").self.released_bytes == 3000);
  // Neither puts work on the device.
  CHECK(row(p, "allocate").self.launches == 0);
}

TEST_CASE("virtual memory and pools are of the range and purpose that they are asked for in") {
  traced s;
  {
    STRATA_MEMORY("kv cache");
    STRATA_RANGE("grow");
    (void)fake_memory_call("cuMemAddressReserve", '-', 0x100000, 0x100000);
    (void)fake_memory_call("cuMemCreate", 'a', 0x100000, 4000);
    (void)fake_memory_call("cuMemMap", '-', 0x100000, 4000);
    (void)fake_memory_call("cuMemAllocFromPoolAsync", 'a', 0x2000, 200);
  }
  {
    STRATA_RANGE("map");
    (void)fake_memory_call("cuMemMap", 'a', 0x300000, 30);
  }
  {
    STRATA_RANGE("shrink");
    (void)fake_memory_call("cuMemUnmap", 'r', 0x300000, 30);
    (void)fake_memory_call("cuMemRelease", 'r', 0x100000, 4000);
  }
  profile const& p = fake::whole(s);
  CHECK(row(p, "memory:kv cache/grow").self.allocations == 2);
  CHECK(row(p, "memory:kv cache/grow").self.allocated_bytes == 4200);
  CHECK(row(p, "memory:kv cache/grow").self.launches == 0);
  CHECK(row(p, "map").self.allocated_bytes == 30);
  CHECK(row(p, "shrink").self.released_bytes == 4030);
  strata::memory_table const table = strata::make_memory_table(p, strata::call_tree(p));
  REQUIRE(table.purposes.size() == 2);
  CHECK(table.purposes[0].name == "kv cache");
  CHECK(table.purposes[0].live == 200);
  CHECK(table.purposes[0].at_peak == 4200);
  CHECK(table.purposes[1].live == 0);
}

TEST_CASE("memory by purpose, whoever releases it") {
  traced s;
  {
    STRATA_MEMORY("weights");
    STRATA_RANGE("load");
    (void)fake_malloc(0x1000, 1000, 3, 0);
    {
      STRATA_MEMORY("workspace");
      (void)fake_malloc(0x2000, 200, 3, 1);
    }
  }
  (void)fake_malloc(0x3000, 30, 3, 0);
  for (int step = 0; step < 2; ++step) {
    STRATA_STEP();
    STRATA_RANGE("forward");
    strata::push("memory:kv cache");
    (void)fake_malloc(0x4000 + 0x1000 * step, 500, 3, 0);
    std::thread([] {  // a thread of no range
      (void)fake_free(0x2000, 200, 3, 1);
      (void)fake_free(0x9000, 1, 3, 0);
    })
        .join();
    strata::pop();
    strata::pop();  // one too many
  }
  profile const& p = s.profile();
  strata::memory_table const table = strata::make_memory_table(p, strata::call_tree(p));
  struct wanted {
    char const* name;
    std::int64_t live, at_peak;
  };
  wanted const all[] = {
      {"other", 30, 30}, {"weights", 1000, 1000}, {"workspace", 0, 0}, {"kv cache", 1000, 1000}};
  REQUIRE(table.purposes.size() == 4);
  for (wanted const& each : all) {
    CAPTURE(each.name);
    strata::memory_purpose const* found = nullptr;
    for (strata::memory_purpose const& of : table.purposes)
      if (of.name == each.name) found = &of;
    REQUIRE(found != nullptr);
    CHECK(found->live == each.live);
    CHECK(found->at_peak == each.at_peak);
  }
  REQUIRE(table.steps.size() == 2);
  CHECK(table.steps[1].live == 2030);
  CHECK(table.releases_of_older_memory == 3);
}

TEST_CASE("an allocation or a wait beside another thread's capture keeps its range") {
  traced s;
  (void)fake_begin_capture(9);
  std::thread([] {
    STRATA_RANGE("beside");
    (void)fake_malloc(0x1000, 1000, 3, 0);
    launch("kernel", 11);
    (void)fake_sync(3, 99, 10);
  }).join();
  (void)fake_end_capture(9);
  profile const& p = fake::whole(s);
  CHECK(row(p, "beside").self.allocations == 1);
  CHECK(row(p, "beside").self.synchronizations == 1);
  CHECK(row(p, "beside").self.kernels == 1);
}

TEST_CASE("waits and overhead") {
  traced s;
  {
    STRATA_RANGE("wait");
    (void)fake_sync(1, 7, 100);
    (void)fake_sync(2, 8, 200);
    (void)fake_sync(3, 9, 300);
    (void)fake_sync(4, 7, 400);
  }
  fake_overhead(1 << 16, 5000);
  profile const& p = fake::whole(s);
  REQUIRE(p.synchronizations.size() == 4);
  using strata::synchronization_kind;
  CHECK(p.synchronizations[0].kind == synchronization_kind::event);
  CHECK(p.synchronizations[1].kind == synchronization_kind::stream_wait_event);
  CHECK(p.synchronizations[2].kind == synchronization_kind::stream);
  CHECK(p.synchronizations[2].stream == 9);
  CHECK(p.synchronizations[3].kind == synchronization_kind::context);
  CHECK(fake::about(p.synchronizations[3].end - p.synchronizations[3].begin, 400));
  CHECK(row(p, "wait").self.synchronizations == 3);  // a stream that waits holds up no host
  CHECK(fake::about(row(p, "wait").self.synchronization_ns, 100 + 300 + 400));
  CHECK(row(p, "wait").self.launches == 0);
  REQUIRE(p.overheads.size() == 1);
  CHECK(p.overheads[0].kind == 1 << 16);
  CHECK(fake::about(p.overheads[0].end - p.overheads[0].begin, 5000));
}

TEST_CASE("records of CUPTI's own work are no progress of the device") {
  std::uint64_t const before = strata::detail::activity_collector::instance().delivered();
  traced s;
  {
    STRATA_RANGE("work");
    fake_kernel kernel;
    (void)fake_launch(&kernel);
    (void)fake_sync(3, 7, 100);
  }
  for (int i = 0; i < 9; ++i) fake_overhead(1 << 16, 5000);
  CHECK(s.profile().overheads.size() == 9);
  CHECK(strata::detail::activity_collector::instance().delivered() == before + 1);
}

TEST_CASE("calls that fail are no launches") {
  traced s;
  {
    STRATA_RANGE("fails");
    fake_fail_next_call(2);
    launch();
    fake_fail_next_call(2);
    (void)fake_malloc(0x1000, 1000, 3, 0);
    launch();
  }
  profile const& p = fake::whole(s);
  CHECK(p.launches.size() == 1);
  CHECK(row(p, "fails").self.launches == 1);
  CHECK(row(p, "fails").self.kernels == 1);
}

TEST_CASE("launch times lie in their ranges, device times behind their launches") {
  traced s;
  for (int i = 0; i < 100; ++i) {
    STRATA_RANGE("work");
    launch();
  }
  profile const& p = fake::whole(s);
  REQUIRE(p.launches.size() == 100);
  REQUIRE(p.ranges.size() == 100);
  REQUIRE(p.kernels.size() == 100);
  for (std::size_t i = 0; i < 100; ++i) {
    strata::driver_call_record const& l = p.launches[i];
    CHECK(p.ranges[i].begin <= l.begin);
    CHECK(l.begin <= l.end);
    CHECK(l.end <= p.ranges[i].end);
    CHECK(l.flags == 0);
    CHECK(l.correlation == p.kernels[i].correlation);
    CHECK(p.kernels[i].begin > l.begin - 20'000);  // the clocks are bridged by samples
  }
}

}  // namespace attribution_test
