#include <strata/version.hpp>
#ifndef STRATA_COLLECT_CPU_PERF_EVENTS_HPP
#define STRATA_COLLECT_CPU_PERF_EVENTS_HPP

#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>

#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#if defined(__linux__)
#include <dirent.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

STRATA_BEGIN

namespace detail {

/// The first version of the kernel's perf_event_attr, which every later kernel takes.
struct perf_attributes {
  std::uint32_t type = 0;
  std::uint32_t size = 64;
  std::uint64_t config = 0;
  std::uint64_t sample_period = 0;
  std::uint64_t sample_type = 0;
  std::uint64_t read_format = 0;
  std::uint64_t flags = 0;
  std::uint32_t wakeup_events = 0;
  std::uint32_t breakpoint_type = 0;
  std::uint64_t config1 = 0;

  // Bits of read_format: what a read gives. A group: how many, both times, the values.
  static constexpr std::uint64_t total_time_enabled = 1;
  static constexpr std::uint64_t total_time_running = 2;
  static constexpr std::uint64_t group = 8;
  // Bits of flags.
  static constexpr std::uint64_t disabled = 1u << 0;
  static constexpr std::uint64_t inherit = 1u << 1;
  static constexpr std::uint64_t exclude_kernel = 1u << 5;
  static constexpr std::uint64_t exclude_hypervisor = 1u << 6;
  static constexpr std::uint64_t inherit_thread = std::uint64_t{1} << 35;  ///< Linux 5.13
};
static_assert(sizeof(perf_attributes) == 64, "the kernel reads this");

/// The calls into the kernel that counting needs. What fails gives a negative error number.
struct perf_system {
  static constexpr int no_paranoid = INT_MIN;

  /// A descriptor that counts a thread (0: the calling one), closed on exec; `leader` is -1 or a
  /// group's.
  int (*open)(perf_attributes const& what, int thread, int leader) noexcept;
  int (*enable)(int leader) noexcept;
  long (*read)(int leader, void* to, std::size_t size) noexcept;
  void (*close)(int descriptor) noexcept;
  /// kernel.perf_event_paranoid, or no_paranoid.
  int (*paranoid)() noexcept;
  /// The other threads of the process.
  vec<int> (*threads)();

  /// Those of this machine.
  static perf_system const& real() noexcept;
};

#if defined(__linux__) && defined(SYS_perf_event_open)

struct linux_perf {
  static int open(perf_attributes const& what, int thread, int leader) noexcept {
    constexpr unsigned long close_on_exec = 8;
    long const made = syscall(SYS_perf_event_open, &what, thread, -1, leader, close_on_exec);
    return made < 0 ? -errno : static_cast<int>(made);
  }
  static int enable(int leader) noexcept {
    constexpr unsigned long enable_request = 0x2400;
    return ioctl(leader, enable_request, 0) < 0 ? -errno : 0;
  }
  static long read(int leader, void* to, std::size_t size) noexcept {
    long const got = ::read(leader, to, size);
    return got < 0 ? -errno : got;
  }
  static void close(int descriptor) noexcept { (void)::close(descriptor); }
  static int paranoid() noexcept {
    std::FILE* const file = std::fopen("/proc/sys/kernel/perf_event_paranoid", "re");
    if (file == nullptr) return perf_system::no_paranoid;
    int level = perf_system::no_paranoid;
    if (std::fscanf(file, "%d", &level) != 1) level = perf_system::no_paranoid;
    std::fclose(file);
    return level;
  }
  static vec<int> threads() {
    vec<int> others;
    DIR* const tasks = opendir("/proc/self/task");
    if (tasks == nullptr) return others;
    long const own = syscall(SYS_gettid);
    while (dirent const* const each = readdir(tasks)) {
      int const thread = std::atoi(each->d_name);
      if (thread > 0 && thread != own) others.push_back(thread);
    }
    closedir(tasks);
    return others;
  }
};

#else

struct linux_perf {
  static int open(perf_attributes const&, int, int) noexcept { return -ENOSYS; }
  static int enable(int) noexcept { return -ENOSYS; }
  static long read(int, void*, std::size_t) noexcept { return -ENOSYS; }
  static void close(int) noexcept {}
  static int paranoid() noexcept { return perf_system::no_paranoid; }
  static vec<int> threads() { return {}; }
};

#endif

inline perf_system const& perf_system::real() noexcept {
  static constexpr perf_system calls{&linux_perf::open,     &linux_perf::enable,
                                     &linux_perf::read,     &linux_perf::close,
                                     &linux_perf::paranoid, &linux_perf::threads};
  return calls;
}

}  // namespace detail

STRATA_END

#endif  // STRATA_COLLECT_CPU_PERF_EVENTS_HPP
