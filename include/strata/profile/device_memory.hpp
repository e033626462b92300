#include <strata/version.hpp>
#ifndef STRATA_PROFILE_DEVICE_MEMORY_HPP
#define STRATA_PROFILE_DEVICE_MEMORY_HPP

#include <strata/base/macros.hpp>
#include <strata/profile.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

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

/// What people call the memory of the devices of a run: "HBM", or "DRAM" where it is GDDR or LPDDR.
/// Keys and columns of files are `hbm_` on every device. HBM has a bus of 1,024 bits a stack, other
/// memory one of 512 bits at most.
inline std::string_view memory_name(profile const& source) noexcept {
  constexpr std::uint32_t stack_bits = 1024;
  bool is_other = false;
  for (profile_device const& device : source.environment.devices) {
    if (device.memory_bus_bits >= stack_bits) return "HBM";
    is_other = is_other || device.memory_bus_bits > 0 || shares_host_memory(device);
  }
  return is_other ? "DRAM" : "HBM";
}

/// Writes a text of columns or sentences whose memory is called "HBM" with its `name`. Columns stay
/// in line: a name of one letter more takes the place of one of several blanks beside it.
inline std::string with_memory_name(std::string_view text, std::string_view name) {
  constexpr std::string_view usual = "HBM";
  auto const is_letter = [&](std::size_t at) {
    char const c = at < text.size() ? text[at] : ' ';
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
  };
  std::string made;
  std::size_t owed = 0;  // blanks to leave out in the rest of the line
  for (std::size_t at = 0; at < text.size();) {
    bool const is_name = text.substr(at, usual.size()) == usual && !is_letter(at + usual.size()) &&
                         (at == 0 || !is_letter(at - 1));
    if (is_name) {
      std::size_t const size = made.size();
      bool const has_room = size > 1 && made[size - 1] == ' ' && made[size - 2] == ' ';
      if (has_room) made.pop_back();
      if (!has_room && name.size() > usual.size()) owed += name.size() - usual.size();
      made += name;
      at += usual.size();
      continue;
    }
    char const c = text[at++];
    if (c == '\n') owed = 0;
    if (c == ' ' && owed > 0 && at < text.size() && text[at] == ' ') {
      --owed;
      continue;
    }
    made += c;
  }
  return made;
}

}  // namespace detail
STRATA_END

#endif  // STRATA_PROFILE_DEVICE_MEMORY_HPP
