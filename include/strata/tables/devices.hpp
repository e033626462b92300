#include <strata/version.hpp>
#ifndef STRATA_TABLES_DEVICES_HPP
#define STRATA_TABLES_DEVICES_HPP

#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile.hpp>
#include <strata/profile/records.hpp>
#include <strata/profile/sums.hpp>

#include <cstdint>

STRATA_BEGIN
namespace detail {

// Several devices in one analysis. A roof is what ONE device can do; time and bytes are added up
// over the devices that worked:
//
//     share of a roof = bytes of all devices / (busy time of all devices, added up * roof of one)
//
// So two devices that each copy at 60 % of HBM are at 60 %, one that works while another idles is
// not at half, and nothing has to be known of who shares what. `range_row::device_busy_ns` is that
// sum of times; `gpu_busy_ns`, in which at least one device worked, is for shares of a step and for
// idle time, and never stands below bytes of several devices. Where the devices that worked are of
// different kinds, each needs its own roofs: what was counted is added up, so no roof is right for
// the sum.

/// The device with this ordinal as the driver describes it, or null. The position in the list is no
/// ordinal: a recording may lack devices.
inline profile_device const* find_device(profile const& source, std::uint32_t ordinal) noexcept {
  for (profile_device const& device : source.environment.devices)
    if (device.ordinal == ordinal) return &device;
  return nullptr;
}

/// The ordinals of the devices that kernels, copies or fills ran on, in ascending order: those in
/// the records, and those in the sums, which also have what the timeline had no room for.
/// Cost: O(r) for r records.
inline vec<std::uint32_t> worked_ordinals(profile const& source) {
  vec<std::uint32_t> seen;
  auto const see = [&seen](std::uint32_t ordinal) {
    // Records of one device mostly follow each other.
    if (!seen.empty() && seen.back() == ordinal) return;
    if (!seen.contains(ordinal)) seen.push_back(ordinal);
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

/// The devices of `worked_ordinals` that the driver described: what a program's work is compared
/// with, wherever they are among the visible ones. The pointers are into the profile.
inline vec<profile_device const*> worked_devices(profile const& source) {
  vec<profile_device const*> worked;
  for (std::uint32_t const ordinal : worked_ordinals(source)) {
    profile_device const* const device = find_device(source, ordinal);
    if (device != nullptr) worked.push_back(device);
  }
  return worked;
}

/// How many multiprocessors the work of a context may use: those of its green context, else those
/// of the device; 0 where that is not known.
inline std::uint32_t multiprocessors_of(profile const& source, std::uint32_t device,
                                        std::uint32_t context) noexcept {
  for (profile_context const& part : source.contexts)
    if (part.context == context && part.device == device) return part.multiprocessors;
  profile_device const* const whole = find_device(source, device);
  return whole == nullptr ? 0 : whole->multiprocessors;
}

}  // namespace detail
STRATA_END

#endif  // STRATA_TABLES_DEVICES_HPP
