#include "analyse/occupancy.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>

namespace occupancy_test {

using strata::kernel_row;
using strata::profile_device;
using strata::detail::limits_of;
using strata::detail::residency;
using strata::detail::residency_of;
using strata::detail::sm_limits;

namespace {

profile_device with_capability(std::uint32_t major, std::uint32_t minor) {
  profile_device made;
  made.compute_capability_major = major;
  made.compute_capability_minor = minor;
  return made;
}

kernel_row kernel(double warps, std::uint32_t registers, std::uint32_t shared_bytes) {
  kernel_row made;
  made.warps_per_block = warps;
  made.registers_per_thread = registers;
  made.dynamic_shared_bytes = shared_bytes;
  return made;
}

}  // namespace

TEST_CASE("the driver's attributes are the limits, whatever the compute capability is") {
  profile_device device = with_capability(17, 3);
  device.warp_size = 64;
  device.threads_per_multiprocessor = 2560;
  device.blocks_per_multiprocessor = 20;
  device.registers_per_multiprocessor = 131'072;
  device.shared_bytes_per_multiprocessor = 300'000;
  device.reserved_shared_bytes_per_block = 2048;
  sm_limits const sm = limits_of(device);
  CHECK(sm.known());
  CHECK(sm.warps == 40.0);
  CHECK(sm.blocks == 20.0);
  CHECK(sm.registers == 131'072.0);
  CHECK(sm.shared_bytes == 300'000.0);
  CHECK(sm.reserved_shared_bytes == 2048.0);
  residency const fits = residency_of(kernel(2.0, 64, 97'952), sm);
  CHECK(fits.blocks == 3.0);
  CHECK(fits.limiter == "shared memory");
  CHECK(residency_of(kernel(2.0, 128, 0), sm).blocks == 8.0);  // 8,192 registers a warp
}

TEST_CASE("without attributes only a capability that is known exactly has limits") {
  CHECK(limits_of(with_capability(9, 0)).warps == 64.0);
  CHECK(limits_of(with_capability(8, 9)).blocks == 24.0);
  // Orin has the shared memory of an A100 and the warps of GA10x; Thor holds fewer warps than B200.
  CHECK(limits_of(with_capability(8, 7)).shared_bytes == 164.0 * 1024.0);
  CHECK(limits_of(with_capability(8, 7)).warps == 48.0);
  CHECK(limits_of(with_capability(11, 0)).warps == 48.0);
  CHECK(limits_of(with_capability(11, 0)).shared_bytes == 228.0 * 1024.0);
  CHECK_FALSE(limits_of(with_capability(8, 8)).known());
  CHECK_FALSE(limits_of(with_capability(13, 0)).known());
  CHECK_FALSE(limits_of(profile_device{}).known());
}

TEST_CASE("some attributes alone are not mixed with a table") {
  profile_device device = with_capability(13, 0);
  device.threads_per_multiprocessor = 2048;
  CHECK_FALSE(limits_of(device).known());
}

TEST_CASE("registers, shared memory or warps limit the blocks of a kernel") {
  sm_limits const sm = limits_of(with_capability(9, 0));
  residency const by_registers = residency_of(kernel(8.0, 168, 0), sm);
  CHECK(by_registers.blocks == 1.0);  // 43,008 of 65,536 registers
  CHECK(by_registers.limiter == "registers");
  CHECK(by_registers.occupancy == 8.0 / 64.0);
  residency const by_shared = residency_of(kernel(4.0, 32, 100 * 1024), sm);
  CHECK(by_shared.blocks == 2.0);
  CHECK(by_shared.limiter == "shared memory");
  residency const free = residency_of(kernel(8.0, 32, 1024), sm);
  CHECK(free.blocks == 8.0);
  CHECK(free.limiter.empty());
  CHECK(free.occupancy == 1.0);
}

TEST_CASE("of a multiprocessor that is not known nothing is said") {
  residency const fits = residency_of(kernel(8.0, 168, 1024), sm_limits{});
  CHECK(fits.blocks == 0.0);
  CHECK(fits.limiter.empty());
  CHECK(std::isnan(fits.occupancy));
}

}  // namespace occupancy_test
