#ifndef STRATA_SESSION_CEILINGS_FILE_HPP
#define STRATA_SESSION_CEILINGS_FILE_HPP

// What src/ceilings/ceilings.hpp measured on a device, kept for later runs: lines of a key and its
// values, in a file with the device's UUID as its name.

#include <strata/base/environment.hpp>
#include <strata/profile.hpp>
#include <strata/status.hpp>

#include <sys/stat.h>

STRATA_BEGIN
namespace detail {

/// Where the file of a device is, and what a session takes of it.
class ceilings_file {
 public:
  static constexpr std::string_view schema = "strata-ceilings 1";
  static constexpr std::size_t longest = 65'536;  ///< bytes

  /// `$XDG_CACHE_HOME/strata`, else `~/.cache/strata`; empty where neither is known.
  static std::string folder() {
    char const* const cache = variable("XDG_CACHE_HOME");
    if (cache != nullptr && *cache == '/') return std::string(cache) + "/strata";
    char const* const home = variable("HOME");
    return home != nullptr && *home == '/' ? std::string(home) + "/.cache/strata" : std::string();
  }
  static std::string path_of(profile_device const& device) {
    std::string const where = device.uuid.empty() ? std::string() : folder();
    return where.empty() ? where : sentence(where) << '/' << file_stem(device.uuid) << ".txt";
  }

  /// Takes the ceilings of a text for a device that has its UUID, driver and clocks already.
  /// Returns: `not_supported` where it is about another one, `input_output` where it is broken.
  static status read(std::string_view text, std::uint32_t driver_version, profile_device& device) {
    vec<device_ceiling> found;
    std::string date;
    if (take_line(text) != schema) return {errc::input_output, "is no file of ceilings"};
    while (!text.empty()) {
      std::string_view line = take_line(text);
      std::string_view const key = take_word(line);
      if (key == "end" && !date.empty() && !found.empty()) {
        device.ceilings = std::move(found);
        device.measured_at = std::move(date);
        return {};
      }
      sentence mine;
      if (key == "uuid") {
        mine << device.uuid;
      } else if (key == "driver") {
        mine << driver_version;
      } else if (key == "clock_khz") {
        mine << device.clock_khz;
      } else if (key == "memory_clock_khz") {
        mine << device.memory_clock_khz;
      } else {
        mine << line;
      }
      if (line != std::string_view(mine))
        return {errc::not_supported, "is of another " + std::string(key)};
      if (key == "date" && line.size() == 20 && is_printable(line)) date = std::string(line);
      if (key != "ceiling") continue;
      device_ceiling made;
      if (!read_ceiling(line, made)) break;
      found.push_back(std::move(made));
    }
    return {errc::input_output, "is broken or cut off"};
  }

  /// Whether a file that `ceilings=` names can be read, before there are devices.
  static status look_for(std::string const& wanted) {
    std::FILE* const file = open(wanted);
    if (file == nullptr)
      return {errc::input_output, sentence("ceilings=")
                                      << wanted
                                      << " cannot be read, and no roofs come of it: name a file "
                                         "that strata ceilings keeps, or leave the key out"};
    char first[schema.size() + 1] = {};
    bool const begins = std::fread(first, 1, schema.size(), file) == schema.size();
    (void)std::fclose(file);
    if (begins && first == schema) return {};
    return {errc::input_output, sentence("ceilings=")
                                    << wanted
                                    << " is no file of ceilings, and no roofs come of it: name a "
                                       "file that strata ceilings keeps, or leave the key out"};
  }

  /// Gives devices their ceilings: `wanted` is a file, "off", or empty for the cache. Where the
  /// cache has none for this device, driver and clocks, that is no problem.
  static status take(profile_environment& environment, std::string const& wanted) {
    bool taken = false;
    status outcome;
    for (profile_device& device : environment.devices) {
      std::string const path = wanted.empty() ? path_of(device) : wanted;
      std::FILE* const file = path.empty() || wanted == "off" ? nullptr : open(path);
      std::string text(file != nullptr ? longest : 0, '\0');
      if (file != nullptr) text.resize(std::fread(&text[0], 1, longest, file));
      if (file != nullptr) std::fclose(file);
      status const read_it = file != nullptr ? read(text, environment.driver_version, device)
                                             : status(errc::not_supported, "cannot be read");
      taken = taken || read_it.ok();
      if (wanted.empty() && read_it.code() == errc::not_supported) continue;
      if (!read_it.ok())
        outcome =
            status(read_it.code(), sentence(path) << ' ' << read_it.message()
                                                  << ": measure the ceilings of this device again");
    }
    return taken || wanted == "off" ? status() : outcome;
  }

 private:
  /// A pipe would wait for who writes.
  static std::FILE* open(std::string const& path) noexcept {
    struct stat found {};
    if (::stat(path.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) return nullptr;
    return std::fopen(path.c_str(), "rb");
  }

  static std::string_view take_line(std::string_view& text) noexcept { return take(text, '\n'); }
  static std::string_view take_word(std::string_view& line) noexcept { return take(line, ' '); }
  static std::string_view take(std::string_view& from, char end) noexcept {
    std::size_t const index = from.find(end);
    std::string_view const taken = from.substr(0, index);
    from.remove_prefix(index < from.size() ? index + 1 : from.size());
    return taken;
  }

  static double take_number(std::string_view& line) {
    double value = 0.0;
    return read_double(take_word(line), value) && is_finite(value) ? value : -1.0;
  }

  static bool is_printable(std::string_view text) noexcept {
    for (char const c : text)
      if (c < ' ' || c == '"' || c == '<' || c == 127) return false;
    return true;
  }

  static bool read_ceiling(std::string_view line, device_ceiling& ceiling) {
    ceiling.rate = take_number(line);
    std::string_view const unit = take_word(line);
    ceiling.memory = unit == "B/s";
    ceiling.theory = take_number(line);
    ceiling.spread = take_number(line);
    ceiling.clock_hertz = take_number(line);
    double const count = take_number(line);
    ceiling.name = std::string(line.substr(0, 32));
    bool const known = ceiling.rate > 0.0 && (ceiling.memory || unit == "op/s");
    bool const measured =
        ceiling.theory >= 0.0 && ceiling.spread >= 0.0 && ceiling.clock_hertz >= 0.0;
    if (!known || !measured || !(count >= 0.0) || count > 1e6) return false;
    ceiling.samples = static_cast<std::uint32_t>(count);
    return !ceiling.name.empty() && is_printable(ceiling.name);
  }
};

}  // namespace detail
STRATA_END

#endif  // STRATA_SESSION_CEILINGS_FILE_HPP
