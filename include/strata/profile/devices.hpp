#ifndef STRATA_PROFILE_DEVICES_HPP
#define STRATA_PROFILE_DEVICES_HPP

#include <strata/base/containers.hpp>
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

/// The devices that kernels, copies or fills ran on, in ascending order, by the records and the
/// sums. Cost: O(r) for r records.
inline vec<std::uint32_t> worked_ordinals(profile const& source) {
  vec<std::uint32_t> seen;
  number_map<bool> known;
  auto const see = [&](std::uint32_t ordinal) {
    // Records of one device mostly follow each other.
    if (!seen.empty() && seen.back() == ordinal) return;
    bool& is_known = known[ordinal];
    if (!is_known) seen.push_back(ordinal);
    is_known = true;
  };
  for (kernel_record const& kernel : source.kernels) see(kernel.device);
  for (copy_record const& copy : source.copies) see(copy.device);
  subtree_sums const& sums = source.device.by_node;
  bool const any_worked = !sums.times.empty() && sums.times[root_node].busy_ns > 0;
  if (any_worked && sums.devices.empty()) see(sums.only_device);
  for (device_busy const& device : sums.devices)
    if (!device.ns.empty() && device.ns[root_node] > 0) see(device.device);
  seen.sort();
  return seen;
}

}  // namespace detail
STRATA_END

#endif  // STRATA_PROFILE_DEVICES_HPP
