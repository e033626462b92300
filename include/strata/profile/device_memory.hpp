#ifndef STRATA_PROFILE_DEVICE_MEMORY_HPP
#define STRATA_PROFILE_DEVICE_MEMORY_HPP

#include <strata/profile.hpp>

STRATA_BEGIN
namespace detail {

/// Whether a device has the host's memory and none of its own: Xavier, Orin, Thor, DGX Spark.
/// Source: compute capabilities of NVIDIA's list of GPUs; no attribute of a recording tells it.
inline bool shares_host_memory(profile_device const& device) noexcept {
  switch (device.capability()) {
    case 72:
    case 87:
    case 101:
    case 110:
    case 121:
      return true;
    default:
      return false;
  }
}

/// The same of the device with a number; false where the driver did not describe it.
inline bool shares_host_memory(profile const& source, std::uint32_t ordinal) noexcept {
  for (profile_device const& device : source.environment.devices)
    if (device.ordinal == ordinal) return shares_host_memory(device);
  return false;
}

/// What people call the memory of a device: "HBM", or "DRAM" where it is GDDR or LPDDR. HBM has a
/// bus of 1,024 bits a stack, other memory one of 512 bits at most. Where no attribute tells, HBM.
inline std::string_view memory_name(profile_device const& device) noexcept {
  constexpr std::uint32_t stack_bits = 1024;
  bool const is_known = device.memory_bus_bits > 0 || shares_host_memory(device);
  return is_known && device.memory_bus_bits < stack_bits ? "DRAM" : "HBM";
}

/// The same of all devices of a run, "memory" where they differ. Labels are made with it; keys and
/// columns of files are `hbm_` on every device.
inline std::string_view memory_name(profile const& source) noexcept {
  std::string_view name;
  for (profile_device const& device : source.environment.devices) {
    std::string_view const own = memory_name(device);
    if (!name.empty() && own != name) return "memory";
    name = own;
  }
  return name.empty() ? "HBM" : name;
}

/// Whether a roof is that of the devices' memory, whatever it is called.
constexpr bool is_memory_name(std::string_view roof) noexcept {
  return roof == "HBM" || roof == "DRAM" || roof == "memory";
}

}  // namespace detail
STRATA_END

#endif  // STRATA_PROFILE_DEVICE_MEMORY_HPP
