#include <strata/version.hpp>
#ifndef STRATA_SESSION_CEILINGS_FILE_HPP
#define STRATA_SESSION_CEILINGS_FILE_HPP

// What <strata/ceilings.hpp> measured on a device, kept for later runs: lines of a key and its
// values, in a file with the device's UUID as its name.

#include <strata/base/macros.hpp>
#include <strata/base/text.hpp>
#include <strata/profile.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

STRATA_BEGIN
namespace detail {

class ceilings_file {
 public:
  static constexpr std::string_view schema = "strata-ceilings 1";
  static constexpr std::size_t longest = 65'536;  ///< bytes

  /// `$XDG_CACHE_HOME/strata`, else `~/.cache/strata`; empty where neither is known.
  static std::string folder() {
    char const* const cache = std::getenv("XDG_CACHE_HOME");
    if (cache != nullptr && *cache == '/') return std::string(cache) + "/strata";
    char const* const home = std::getenv("HOME");
    return home != nullptr && *home == '/' ? std::string(home) + "/.cache/strata" : std::string();
  }
  static std::string path_of(profile_device const& device) {
    std::string const where = device.uuid.empty() ? std::string() : folder();
    return where.empty() ? where : where + '/' + device.uuid + ".txt";
  }

  /// The lines of a file about this device.
  static std::string text_of(profile_device const& device, std::uint32_t driver_version) {
    std::string text = std::string(schema) + "\nuuid " + device.uuid + "\ndevice " + device.name +
                       "\ndriver " + std::to_string(driver_version) + "\nclock_khz " +
                       std::to_string(device.clock_khz) + "\nmemory_clock_khz " +
                       std::to_string(device.memory_clock_khz) + "\ndate " + device.measured_at +
                       "\n# ceiling: rate unit theory spread clock_Hz samples name\n";
    for (device_ceiling const& each : device.ceilings) {
      if (!each.refused.empty()) {
        text += "refused " + each.name + ": " + each.refused + "\n";
        continue;
      }
      char line[256];
      std::snprintf(line, sizeof line, "ceiling %.6e %s %.6e %.4f %.4e %u ", each.rate,
                    each.memory ? "B/s" : "op/s", each.theory, each.spread, each.clock_hertz,
                    each.samples);
      text += line + each.name + "\n";
    }
    return text + "end\n";
  }

  /// Takes the ceilings of a text for a device that has its UUID, driver and clocks already.
  /// Returns: why they are not taken; empty where they are.
  static std::string read(std::string_view text, std::uint32_t driver_version, profile_device& to) {
    vec<device_ceiling> found;
    std::string date;
    bool whole = false;
    if (take_line(text) != schema) return "is not a file of ceilings of this version";
    while (!text.empty() && !whole) {
      std::string_view line = take_line(text);
      std::string_view const key = take_word(line);
      if (key == "end") {
        whole = true;
      } else if (key == "date") {
        date = std::string(line);
      } else if (key == "ceiling") {
        device_ceiling made;
        if (!read_ceiling(line, made)) return "has a line that is no ceiling";
        found.push_back(std::move(made));
      } else if ((key == "uuid" && line != to.uuid) ||
                 (key == "driver" && line != std::to_string(driver_version)) ||
                 (key == "clock_khz" && line != std::to_string(to.clock_khz)) ||
                 (key == "memory_clock_khz" && line != std::to_string(to.memory_clock_khz))) {
        return "is of another " + std::string(key) + ": " + std::string(line.substr(0, 64));
      }
    }
    if (!whole) return "has no end";
    to.ceilings = std::move(found);
    to.measured_at = std::move(date);
    return {};
  }

  /// The same of a file. A file that is not there is no problem.
  static std::string read_file(std::string const& path, std::uint32_t driver_version,
                               profile_device& to) {
    std::FILE* const file = path.empty() ? nullptr : std::fopen(path.c_str(), "rb");
    if (file == nullptr) return {};
    std::string text(longest, '\0');
    text.resize(std::fread(&text[0], 1, longest, file));
    std::fclose(file);
    std::string const problem = read(text, driver_version, to);
    return problem.empty() ? problem : path + ' ' + problem + ": measure the ceilings again";
  }

 private:
  static std::string_view take_line(std::string_view& text) noexcept { return take(text, '\n'); }
  static std::string_view take_word(std::string_view& line) noexcept { return take(line, ' '); }
  static std::string_view take(std::string_view& from, char end) noexcept {
    std::size_t const at = from.find(end);
    std::string_view const taken = from.substr(0, at);
    from.remove_prefix(at < from.size() ? at + 1 : from.size());
    return taken;
  }

  static double take_number(std::string_view& line) {
    std::string const word(take_word(line));
    char* end = nullptr;
    double const value = std::strtod(word.c_str(), &end);
    return !word.empty() && *end == '\0' && is_finite(value) ? value : -1.0;
  }

  static bool read_ceiling(std::string_view line, device_ceiling& to) {
    to.rate = take_number(line);
    std::string_view const unit = take_word(line);
    to.memory = unit == "B/s";
    to.theory = take_number(line);
    to.spread = take_number(line);
    to.clock_hertz = take_number(line);
    double const count = take_number(line);
    to.name = std::string(line.substr(0, 32));
    bool const known = to.rate > 0.0 && (to.memory || unit == "op/s");
    if (!known || !(to.theory >= 0.0) || !(count >= 0.0) || count > 1e6) return false;
    to.samples = static_cast<std::uint32_t>(count);
    for (char const c : to.name)
      if (static_cast<unsigned char>(c) < ' ' || c == '"' || c == '<') return false;
    return !to.name.empty();
  }
};

}  // namespace detail
STRATA_END

#endif  // STRATA_SESSION_CEILINGS_FILE_HPP
