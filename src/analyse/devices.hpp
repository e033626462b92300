#ifndef STRATA_ANALYSE_DEVICES_HPP
#define STRATA_ANALYSE_DEVICES_HPP

#include <strata/base/containers.hpp>
#include <strata/profile.hpp>
#include <strata/profile/devices.hpp>

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
// idle time, and never stands below bytes of several devices. If the devices that worked differ
// in kind, each needs its own roofs: what was counted is added up, so no roof is right for
// the sum.

/// The same of the device with a number; false where the driver did not describe it.
inline bool shares_host_memory(profile const& source, std::uint32_t ordinal) noexcept {
  for (profile_device const& device : source.environment.devices)
    if (device.ordinal == ordinal) return shares_host_memory(device);
  return false;
}

/// Whether a roof is that of the devices' memory, whatever it is called.
constexpr bool is_memory_name(std::string_view roof) noexcept {
  return roof == "HBM" || roof == "DRAM" || roof == "memory";
}

/// How many multiprocessors the work of a context may use: those of its green context, else those
/// of the device; 0 where that is not known. Cost: a look-up.
class usable_multiprocessors {
 public:
  explicit usable_multiprocessors(profile const& source) {
    // Of what is there twice, the first one holds.
    vec<profile_device> const& devices = source.environment.devices;
    for (std::size_t i = devices.size(); i-- > 0;)
      of_devices_[devices[i].ordinal] = devices[i].multiprocessors;
    for (std::size_t i = source.contexts.size(); i-- > 0;) {
      profile_context const& part = source.contexts[i];
      of_contexts_[key(part.device, part.context)] = part.multiprocessors;
    }
  }

  std::uint32_t of(std::uint32_t device, std::uint32_t context) const noexcept {
    std::uint32_t const* found = of_contexts_.find(key(device, context));
    if (found == nullptr) found = of_devices_.find(device);
    return found == nullptr ? 0 : *found;
  }

 private:
  static std::uint64_t key(std::uint32_t device, std::uint32_t context) noexcept {
    return std::uint64_t{device} << 32 | context;
  }

  number_map<std::uint32_t> of_devices_;
  number_map<std::uint32_t> of_contexts_;
};

/// The devices of `worked_ordinals` that the driver described: what a program's work is compared
/// with, wherever they are among the visible ones. The pointers are into the profile.
inline vec<profile_device const*> worked_devices(profile const& source) {
  vec<profile_device const*> worked;
  number_map<profile_device const*> devices;
  for (std::size_t i = source.environment.devices.size(); i-- > 0;)
    devices[source.environment.devices[i].ordinal] = &source.environment.devices[i];
  for (std::uint32_t const ordinal : worked_ordinals(source)) {
    profile_device const* const* const device = devices.find(ordinal);
    if (device != nullptr) worked.push_back(*device);
  }
  return worked;
}

}  // namespace detail
STRATA_END

#endif  // STRATA_ANALYSE_DEVICES_HPP
