#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_OCCUPANCY_HPP
#define STRATA_ANALYSE_OCCUPANCY_HPP

#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/profile.hpp>
#include <strata/tables/kernel_table.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>

STRATA_BEGIN
namespace detail {

/// What a multiprocessor (SM) holds at a time; all 0 where that is not known.
struct sm_limits {
  double warps = 0.0;
  double blocks = 0.0;
  double registers = 0.0;  ///< of 32 bits
  double shared_bytes = 0.0;
  double reserved_shared_bytes = 0.0;  ///< that the driver takes of each block
  double warp_size = 32.0;             ///< threads

  bool known() const noexcept { return warps > 0.0; }
};

/// The limits of a compute capability, for recordings without the driver's attributes. Source:
/// "Technical Specifications per Compute Capability" of the CUDA C++ Programming Guide 13.0.
struct capability_limits {
  std::uint32_t capability;  ///< as profile_device::capability()
  std::uint32_t warps;
  std::uint32_t blocks;
  std::uint32_t shared_kib;
  std::uint32_t reserved_shared_bytes;
};
inline constexpr capability_limits capability_table[] = {
    {70, 64, 32, 96, 0},      {72, 64, 32, 96, 0},      {75, 32, 16, 64, 0},
    {80, 64, 32, 164, 1024},  {86, 48, 16, 100, 1024},  {87, 48, 16, 164, 1024},
    {89, 48, 24, 100, 1024},  {90, 64, 32, 228, 1024},  {100, 64, 32, 228, 1024},
    {103, 64, 32, 228, 1024}, {110, 48, 24, 228, 1024}, {120, 48, 24, 100, 1024},
    {121, 48, 24, 100, 1024}};

/// What a multiprocessor of the device holds: by the driver's attributes, else by a compute
/// capability that is known exactly. A newer or a rarer one may have more or less than its
/// neighbours, so nothing is taken from them.
inline sm_limits limits_of(profile_device const& device) noexcept {
  constexpr double registers = 65536.0;  // of all capabilities in the table
  sm_limits made;
  if (device.threads_per_multiprocessor != 0 && device.blocks_per_multiprocessor != 0 &&
      device.registers_per_multiprocessor != 0 && device.shared_bytes_per_multiprocessor != 0) {
    if (device.warp_size != 0) made.warp_size = device.warp_size;
    made.warps = device.threads_per_multiprocessor / made.warp_size;
    made.blocks = device.blocks_per_multiprocessor;
    made.registers = device.registers_per_multiprocessor;
    made.shared_bytes = device.shared_bytes_per_multiprocessor;
    made.reserved_shared_bytes = device.reserved_shared_bytes_per_block;
    return made;
  }
  for (capability_limits const& row : capability_table) {
    if (row.capability != device.capability()) continue;
    made.warps = row.warps;
    made.blocks = row.blocks;
    made.registers = registers;
    made.shared_bytes = 1024.0 * row.shared_kib;
    made.reserved_shared_bytes = row.reserved_shared_bytes;
  }
  return made;
}

/// Blocks of a kernel that a multiprocessor holds at a time, and what there is too little of.
struct residency {
  double blocks = 0.0;  ///< 0: not known, or not one block fits
  double occupancy = std::numeric_limits<double>::quiet_NaN();  ///< warps of these, of all
  std::string_view limiter;  ///< "registers", "shared memory", or "" for warps and blocks
};

/// Of a kernel by its registers, shared memory and warps. Without known limits nothing is known.
inline residency residency_of(kernel_row const& kernel, sm_limits const& sm) noexcept {
  constexpr double register_unit = 256.0;  // registers are given to a warp in such units
  residency made;
  if (!sm.known()) return made;
  double const warps = std::max(1.0, kernel.warps_per_block);
  double const warp_registers =
      std::ceil(kernel.registers_per_thread * sm.warp_size / register_unit) * register_unit;
  double const shared = kernel.static_shared_bytes + kernel.dynamic_shared_bytes;
  made.blocks = std::min(sm.blocks, rounded_down(sm.warps / warps));
  auto const limit = [&made](double blocks, std::string_view resource) {
    if (blocks >= made.blocks) return;
    made.blocks = blocks;
    made.limiter = resource;
  };
  if (warp_registers > 0.0)
    limit(rounded_down(sm.registers / (warp_registers * warps)), "registers");
  if (shared > 0.0)
    limit(rounded_down(sm.shared_bytes / (shared + sm.reserved_shared_bytes)), "shared memory");
  made.occupancy = made.blocks * warps / sm.warps;
  return made;
}

}  // namespace detail
STRATA_END

#endif  // STRATA_ANALYSE_OCCUPANCY_HPP
