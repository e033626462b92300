// Devices of different kinds: each is described by its own attributes, and work is compared with
// the one that it ran on.
#include <doctest/doctest.h>

#include <cstdint>
#include <string>

#include "analyse/devices.hpp"
#include "analyse/occupancy.hpp"
#include "counter_run.hpp"
#include "fake_session.hpp"

namespace device_test {

using fake::traced;
using strata::profile;
using strata::profile_device;
using strata::detail::limits_of;
using strata::detail::worked_devices;

namespace {

constexpr int big = 1, small = 3;  // the ordinals of the devices that work

/// Four devices, of which the last one is small.
void script_devices() {
  fake_set_device_count(4);
  for (int device = 0; device < 4; ++device)
    fake_set_device_of(static_cast<std::uint32_t>(device) + 1, device);
  fake_set_attribute_of(small, 16, 28);    // multiprocessors
  fake_set_attribute_of(small, 39, 1536);  // threads
  fake_set_attribute_of(small, 75, 8);     // compute capability
  fake_set_attribute_of(small, 76, 7);
  fake_set_attribute_of(small, 81, 102'400);  // bytes of shared memory
  fake_set_attribute_of(small, 106, 16);      // blocks
}

void launch_on(int device, std::int32_t blocks, std::uint32_t context = 0) {
  fake_kernel kernel;
  kernel.device = static_cast<std::uint32_t>(device);
  kernel.context = context != 0 ? context : kernel.device + 1;
  kernel.stream = 7 + kernel.device;
  kernel.grid[0] = blocks;
  kernel.block[0] = 128;
  (void)fake_launch(&kernel);
}

/// The part of its device that a range's kernels can fill.
double filled(profile const& p, std::string const& path) {
  strata::call_tree const tree(p);
  for (strata::kernel_sums const& sums : p.device.kernels) {
    if (tree.rows()[tree.position_of(sums.node)].path != path) continue;
    return sums.by_time.gpu / sums.by_time.placed_weight;
  }
  return -1.0;
}

}  // namespace

TEST_CASE("each device has its own attributes, and those that worked are known by ordinal") {
  struct session_on : fake::session {
    session_on() : session(fake::configure("trace,formats=none")) {
      fake::unscript();
      script_devices();
      REQUIRE(start().ok());
    }
  } s;
  {
    STRATA_RANGE("big");
    launch_on(big, 66);
  }
  {
    STRATA_RANGE("small");
    launch_on(small, 14);
  }
  profile const& p = fake::whole(s);
  REQUIRE(p.environment.devices.size() == 4);
  auto const worked = worked_devices(p);
  REQUIRE(worked.size() == 2);
  CHECK(worked[0]->ordinal == big);
  CHECK(worked[1]->ordinal == small);
  CHECK(worked[0]->warp_size == 32);
  CHECK(worked[0]->threads_per_multiprocessor == 2048);
  CHECK(worked[0]->blocks_per_multiprocessor == 32);
  CHECK(worked[0]->registers_per_multiprocessor == 65'536);
  CHECK(worked[0]->shared_bytes_per_multiprocessor == 233'472);
  CHECK(worked[0]->reserved_shared_bytes_per_block == 1024);
  CHECK(limits_of(*worked[0]).warps == 64.0);
  CHECK(limits_of(*worked[1]).warps == 48.0);
  CHECK(limits_of(*worked[1]).blocks == 16.0);
  CHECK(limits_of(*worked[1]).shared_bytes == 102'400.0);  // the driver's, not the table's of 8.7
  CHECK(filled(p, "big") == doctest::Approx(0.5));
  CHECK(filled(p, "small") == doctest::Approx(0.5));
  CHECK(p.contexts.empty());
}

TEST_CASE("a green context has its own multiprocessors, made before the session or within it") {
  fake_create_green_context(21, 0, 33);
  fake_create_green_context(22, 0, 132);  // all of the device: no part
  traced s;
  fake_create_green_context(23, 0, 66);
  fake_create_green_context(24, 0, 0);  // CUPTI does not know how many
  {
    STRATA_RANGE("whole");
    launch_on(0, 132);
  }
  {
    STRATA_RANGE("quarter");
    launch_on(0, 132, 21);
  }
  {
    STRATA_RANGE("half");
    launch_on(0, 132, 23);
  }
  profile const& p = fake::whole(s);
  REQUIRE(p.contexts.size() == 2);
  CHECK(p.contexts[0].context == 21);
  CHECK(p.contexts[0].device == 0);
  CHECK(p.contexts[0].multiprocessors == 33);
  strata::detail::usable_multiprocessors const usable(p);
  CHECK(usable.of(0, 1) == 132);
  CHECK(usable.of(0, 23) == 66);
  CHECK(filled(p, "whole") == 1.0);
  CHECK(filled(p, "quarter") == doctest::Approx(0.25));
  CHECK(filled(p, "half") == doctest::Approx(0.5));
}

TEST_CASE("a copy between devices is known by CUPTI's record, whichever function made it") {
  traced s;
  fake_set_memory_of(0x1000, big);
  fake_set_memory_of(0x2000, small);
  fake_set_memory_of(0x3000, big);
  {
    STRATA_RANGE("copies");
    (void)fake_copy_between("cuMemcpyDtoDAsync_v2", 0x2000, 0x1000, 1 << 10);
    (void)fake_copy_between("cuMemcpyAsync", 0x1000, 0x2000, 1 << 11);
    (void)fake_copy_between("cuMemcpyAsync", 0x3000, 0x1000, 1 << 12);  // within one
  }
  profile const& p = fake::whole(s);
  REQUIRE(p.copies.size() == 3);
  CHECK(p.copies[0].kind == strata::copy_kind::peer);
  CHECK(p.copies[0].device == big);
  CHECK(p.copies[1].kind == strata::copy_kind::peer);
  CHECK(p.copies[1].device == small);
  CHECK(p.copies[2].kind == strata::copy_kind::device_to_device);
  CHECK(p.copies[0].peer.device == small + 1);
  CHECK(p.copies[1].peer.device == big + 1);
  CHECK(p.copies[2].peer.device == 0);
  for (strata::copy_record const& copy : p.copies) {
    CHECK(copy.peer.receives == 0);
    CHECK(copy.peer.again == 0);
  }
  strata::call_tree const tree(p);
  strata::device_work const& work = tree.rows()[0].total;
  CHECK(work.peer_copies == 2);
  CHECK(work.peer_bytes == (1 << 10) + (1 << 11));
  CHECK(work.peer_ns == work.copy_ns * 2 / 3);
  CHECK(work.device_to_device_bytes == 1 << 12);
  CHECK(work.copied_bytes() == (1 << 10) + (1 << 11) + (1 << 12));
}

TEST_CASE("a copy that CUPTI tells as one to the host and one from it is one between devices") {
  for (int const second_first : {0, 1}) {
    CAPTURE(second_first);
    traced s;
    {
      STRATA_RANGE("copies");
      for (std::uint64_t i = 1; i <= 200; ++i) {
        (void)fake_copy_by_host(big, small, 1 << 20, second_first);
        (void)fake_copy(1, 1, 7, 1000);
        (void)fake_copy(2, 2, 7, 1000);
      }
    }
    profile const& p = fake::whole(s);
    CHECK(p.copies.size() == 800);
    strata::call_tree const tree(p);
    strata::device_work const& work = tree.rows()[0].total;
    CHECK(work.peer_bytes == 200u << 20);
    CHECK(work.peer_copies == 200);
    CHECK(work.peer_ns == 400 * 1000);
    CHECK(work.host_to_device_bytes == 200);
    CHECK(work.device_to_host_bytes == 400);
    CHECK(work.copies == 600);
    for (strata::copy_record const& copy : p.copies) {
      if (copy.kind != strata::copy_kind::peer) continue;
      CHECK(copy.peer.receives == (copy.device == small ? 1 : 0));
      CHECK(copy.bytes == (copy.peer.again != 0 ? 0 : 1 << 20));
      if (copy.peer.again == 0) continue;
      CHECK(copy.device == (second_first != 0 ? big : small));
      CHECK(copy.peer.device == (second_first != 0 ? small : big) + 1);
    }
  }
}

TEST_CASE("a copy by way of the host has two records, and its bytes are counted once") {
  for (bool const reach : {false, true}) {
    CAPTURE(reach);
    struct session_on : fake::session {
      explicit session_on(bool reach) : session(fake::configure("trace,formats=none")) {
        fake::unscript();
        script_devices();
        fake_set_devices_reach(reach ? 1 : 0);
        REQUIRE(start().ok());
      }
    } s(reach);
    fake_set_memory_of(0x1000, big);
    fake_set_memory_of(0x2000, small);
    {
      STRATA_RANGE("copies");
      for (int i = 0; i < 100; ++i)
        (void)fake_copy_between("cuMemcpyAsync", 0x2000, 0x1000, 1 << 10);
    }
    profile const& p = fake::whole(s);
    CHECK(p.copies.size() == (reach ? 100 : 200));
    for (strata::copy_record const& copy : p.copies) CHECK(copy.kind == strata::copy_kind::peer);
    strata::call_tree const tree(p);
    strata::device_work const& work = tree.rows()[0].total;
    CHECK(work.peer_bytes == 100u << 10);
    CHECK(work.peer_copies == 100);
    CHECK(work.copies == 100);
    CHECK(work.device_to_device_bytes == 0);
    CHECK(work.host_to_device_bytes + work.device_to_host_bytes == 0);
  }
}

TEST_CASE("a copy between devices by their pointers counts on both, another where it is made") {
  fake::counting s(fake::hbm_read, "");
  fake_set_device_count(2);
  for (int device = 0; device < 2; ++device)
    fake_set_device_of(static_cast<std::uint32_t>(device) + 1, device);
  fake_set_memory_of(0x1000, 0);
  fake_set_memory_of(0x2000, 1);
  fake_set_memory_of(0x3000, 0);
  fake_set_memory_of(0x4000, -1);
  auto const copy = [](char const* range, char const* function, std::uint64_t to,
                       std::uint64_t from) {
    STRATA_RANGE(range);
    (void)fake_copy_between(function, to, from, 1 << 20);
  };
  fake::run_steps(2, [&] {
    {
      STRATA_RANGE("warm");
      launch_on(0, 1);
      launch_on(1, 1);
    }
    copy("default", "cuMemcpyAsync", 0x2000, 0x1000);
    copy("device", "cuMemcpyDtoDAsync_v2", 0x1000, 0x2000);
    copy("own", "cuMemcpyAsync", 0x3000, 0x1000);
    copy("host", "cuMemcpyAsync", 0x2000, 0x4000);
    copy("upload", "cuMemcpyHtoDAsync_v2", 0x2000, 0x1000);  // its name says it
  });
  profile const& p = s.profile();
  fake::counted const c(p);
  auto const values_of = [&](std::string const& path) {
    std::size_t count = 0;
    for (strata::range_row const& row : c.tree.rows()) {
      if (row.path != path) continue;
      for (strata::counter_value const& value : p.counters().values)
        count += value.node == row.path_id ? 1 : 0;
    }
    return count;
  };
  CHECK(values_of("default") == 2);
  CHECK(values_of("device") == 2);
  CHECK(values_of("own") == 1);
  CHECK(values_of("host") == 1);
  CHECK(values_of("upload") == 1);
}

}  // namespace device_test
