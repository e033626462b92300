#ifndef STRATA_SESSION_MACHINE_HPP
#define STRATA_SESSION_MACHINE_HPP

#include <strata/collect/cuda/driver.hpp>
#include <strata/session/ceilings_file.hpp>

#include <time.h>

#include <pthread.h>

STRATA_BEGIN
namespace detail {

/// Facts about the host, the command and the devices, for the head of every report.
class machine {
 public:
  static void describe(profile_environment& environment) {
    environment.host = host();
    environment.command = command();
    environment.cpu = cpu();
    environment.rank = rank();
    environment.process_id = process_id();
  }

  /// The path from the root, as it is now: the program may change its directory. `~/` is the
  /// user's own: a shell leaves it alone within STRATA=....
  static std::string absolute(std::string const& path) {
    char const* const home = variable("HOME");
    if (path.compare(0, 2, "~/") == 0 && home != nullptr && *home == '/')
      return home + path.substr(1);
    char here[4096];
    if (!path.empty() && path.front() != '/' && getcwd(here, sizeof here) != nullptr)
      return sentence(here) << (here[1] == '\0' ? "" : "/") << path;
    return path;
  }

  /// The words of /proc/PID/cmdline, each as one of a shell.
  static std::string command_of(std::string_view text) {
    // A program that renamed itself has one word, and zeros where the others were.
    constexpr std::size_t max_empty = 2;
    std::size_t const end = text.find_last_not_of('\0') + 1;
    bool const is_renamed = text.find('\0') == end && text.size() > end + 1 + max_empty;
    if (is_renamed) text = text.substr(0, end + 1);
    std::string words;
    while (!text.empty()) {
      std::size_t const length = smaller(text.find('\0'), text.size());
      if (!words.empty()) words += ' ';
      words += shell_word(text.substr(0, length));
      text.remove_prefix(smaller(length + 1, text.size()));
    }
    return words;
  }

  /// The visible devices, with their ceilings. Cost: starts the driver if it is not running.
  static status describe_devices(profile_environment& environment, std::string const& ceilings) {
    driver_library const& driver = driver_library::get();
    if (!driver.ok()) return {};
    environment.driver_version = static_cast<std::uint32_t>(driver.version);
    for (int i = 0; i < driver.device_count; ++i)
      environment.devices.push_back(describe_device(driver, i));
    return ceilings_file::take(environment, ceilings);
  }

  static profile_device describe_device(driver_library const& driver, int i) {
    profile_device device;
    device.ordinal = static_cast<std::uint32_t>(i);
    driver::device_handle handle = 0;
    char name[256] = {};
    if (driver::succeeds(driver.api.device_get, &handle, i)) {
      if (driver::succeeds(driver.api.device_name, name, int{sizeof name - 1}, handle))
        device.name = name;
      std::size_t bytes = 0;
      if (driver::succeeds(driver.api.device_total_memory, &bytes, handle))
        device.memory_bytes = bytes;
      device.uuid = uuid_of(driver, handle);
    }
    auto const get = [&](driver::attribute code) {
      return static_cast<std::uint32_t>(driver.attribute(i, code));
    };
    device.multiprocessors = get(driver::attribute::multiprocessor_count);
    device.compute_capability_major = get(driver::attribute::compute_capability_major);
    device.compute_capability_minor = get(driver::attribute::compute_capability_minor);
    device.clock_khz = get(driver::attribute::clock_rate_khz);
    device.memory_clock_khz = get(driver::attribute::memory_clock_rate_khz);
    device.memory_bus_bits = get(driver::attribute::memory_bus_width_bits);
    device.l2_bytes = get(driver::attribute::l2_cache_size_bytes);
    device.warp_size = get(driver::attribute::warp_size);
    device.threads_per_multiprocessor = get(driver::attribute::threads_per_multiprocessor);
    device.blocks_per_multiprocessor = get(driver::attribute::blocks_per_multiprocessor);
    device.registers_per_multiprocessor = get(driver::attribute::registers_per_multiprocessor);
    device.shared_bytes_per_multiprocessor =
        get(driver::attribute::shared_bytes_per_multiprocessor);
    device.reserved_shared_bytes_per_block =
        get(driver::attribute::reserved_shared_bytes_per_block);
    return device;
  }

  /// Empty where it is not known.
  static std::string uuid_of(driver_library const& driver, driver::device_handle device) {
    driver::uuid uuid{};
    bool const is_known = driver::succeeds(driver.api.device_uuid, &uuid, device);
    return is_known ? uuid_text(uuid) : std::string();
  }

  /// 8-4-4-4-12 hexadecimal digits.
  static std::string uuid_text(driver::uuid const& uuid) {
    constexpr char digits[] = "0123456789abcdef";
    std::string text;
    for (std::size_t i = 0; i < sizeof uuid.bytes; ++i) {
      if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
      text += digits[uuid.bytes[i] >> 4];
      text += digits[uuid.bytes[i] & 15];
    }
    return text;
  }

  /// The rank of this process in a distributed run, -1 where there is one process. The innermost
  /// launcher counts: torchrun, which says LOCAL_RANK too, runs below mpirun, and both below srun.
  static int rank() noexcept {
    bool const by_torchrun = variable("LOCAL_RANK") != nullptr;
    for (char const* variable :
         {by_torchrun ? "RANK" : "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK",
          "PMIX_RANK", "SLURM_PROCID", "RANK"}) {
      char const* const value = detail::variable(variable);
      if (value == nullptr || *value < '0' || *value > '9') continue;
      return std::atoi(value);
    }
    return -1;
  }

  /// UTC, ISO 8601.
  static std::string time_text(std::int64_t unix_ns) {
    auto const seconds = static_cast<time_t>(unix_ns / 1'000'000'000);
    tm parts{};
    gmtime_r(&seconds, &parts);
    char text[32];
    std::size_t const length = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    return std::string(text, length);
  }

  /// Bytes of stack that this thread has left; none in a fiber, whose stack is not the thread's.
  static std::size_t stack_left() noexcept {
    constexpr std::size_t unknown = (std::numeric_limits<std::size_t>::max)();
    pthread_attr_t own{};
    if (pthread_getattr_np(pthread_self(), &own) != 0) return unknown;
    void* lowest = nullptr;
    std::size_t size = 0;
    int const error = pthread_attr_getstack(&own, &lowest, &size);
    (void)pthread_attr_destroy(&own);
    if (error != 0) return unknown;
    auto const here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    std::uintptr_t const left = here - reinterpret_cast<std::uintptr_t>(lowest);
    return left < size ? left : 0;
  }

 private:
  static std::string host() {
    char name[256] = {};
    if (gethostname(name, sizeof name - 1) == 0) return name;
    return {};
  }

  /// The command line, as a shell takes it.
  static std::string command() {
    std::string text = read("/proc/thread-self/cmdline", 65'536);  // also where main has ended
    if (text.empty()) text = read("/proc/self/cmdline", 65'536);   // Linux before 3.17
    return command_of(text);
  }

  static std::string cpu() {
    std::string const text = read("/proc/cpuinfo", 4'096);
    for (char const* key : {"model name", "Model", "CPU part"}) {
      std::size_t const index = text.find(key);
      if (index == std::string::npos) continue;
      std::size_t const colon = text.find(':', index);
      std::size_t const end = text.find('\n', index);
      if (colon != std::string::npos && colon + 2 < end)
        return text.substr(colon + 2, end - colon - 2);
    }
    return {};
  }

  static std::string read(char const* path, std::size_t most) {
    std::string text;
    std::FILE* const file = std::fopen(path, "rb");
    if (file == nullptr) return text;
    text.resize(most);
    text.resize(std::fread(&text[0], 1, most, file));
    std::fclose(file);
    return text;
  }
};

}  // namespace detail
STRATA_END

#endif  // STRATA_SESSION_MACHINE_HPP
