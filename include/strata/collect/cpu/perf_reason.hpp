#include <strata/version.hpp>
#ifndef STRATA_COLLECT_CPU_PERF_REASON_HPP
#define STRATA_COLLECT_CPU_PERF_REASON_HPP

#include <strata/base/macros.hpp>
#include <strata/collect/cpu/perf_events.hpp>
#include <strata/profile/perf_catalogue.hpp>
#include <strata/status.hpp>

#include <cerrno>
#include <string>

STRATA_BEGIN

namespace detail {

/// Why the kernel refused an event: what forbids it, and the cure.
struct perf_reason {
  errc code = errc::ok;
  std::string text;  ///< one sentence without a full stop

  /// `some_hardware`: other events of the hardware can be counted.
  static perf_reason of(int error, perf_event const& event, bool some_hardware,
                        perf_system const& system) {
    switch (error) {
      case EACCES:
      case EPERM:
        return not_permitted(error, event, system);
      case ENOENT:
      case ENODEV:
      case ENXIO:
      case EOPNOTSUPP:
        if (event.set != perf_set::software && !some_hardware) {
          return {errc::not_supported,
                  "the kernel has no hardware counters here" + number(error) +
                      ", as in a virtual machine without a virtual PMU; run on the host, or give "
                      "the machine one"};
        }
        return {errc::not_supported, "this CPU or its kernel does not count it" + number(error)};
      case ENOSYS:
        return {errc::unavailable,
                "there is no perf_event_open" + number(error) +
                    ": it needs Linux with CONFIG_PERF_EVENTS, and no sandbox that hides it"};
      case EMFILE:
      case ENFILE:
        return {errc::limit, "no file descriptor is left" + number(error) +
                                 "; a counter needs one: raise the limit (ulimit -n)"};
      case EBUSY:
        return {errc::busy, "another profiler holds the counters" + number(error) + "; end it"};
      default:
        return {errc::internal, "the kernel refused it" + number(error)};
    }
  }

 private:
  static std::string number(int error) {
    char const* name = nullptr;
    switch (error) {
      case EACCES:
        name = "EACCES";
        break;
      case EPERM:
        name = "EPERM";
        break;
      case ENOENT:
        name = "ENOENT";
        break;
      case ENODEV:
        name = "ENODEV";
        break;
      case ENXIO:
        name = "ENXIO";
        break;
      case EOPNOTSUPP:
        name = "EOPNOTSUPP";
        break;
      case ENOSYS:
        name = "ENOSYS";
        break;
      case EMFILE:
        name = "EMFILE";
        break;
      case ENFILE:
        name = "ENFILE";
        break;
      case EBUSY:
        name = "EBUSY";
        break;
      case EINVAL:
        name = "EINVAL";
        break;
      default:
        break;
    }
    return name == nullptr ? " (error " + std::to_string(error) + ')'
                           : std::string(" (") + name + ')';
  }

  static perf_reason not_permitted(int error, perf_event const& event, perf_system const& system) {
    int const most = event.in_kernel ? 1 : 2;
    int const level = system.paranoid();
    std::string const refused = "perf_event_open is forbidden" + number(error);
    if (level > most) {
      std::string const wanted = std::to_string(most);
      return {errc::not_permitted, refused + ": /proc/sys/kernel/perf_event_paranoid is " +
                                       std::to_string(level) + "; set it to " + wanted +
                                       " (sysctl kernel.perf_event_paranoid=" + wanted +
                                       "), or give the program CAP_PERFMON"};
    }
    std::string const setting =
        level == perf_system::no_paranoid
            ? std::string(" and /proc/sys/kernel/perf_event_paranoid cannot be read")
            : " although /proc/sys/kernel/perf_event_paranoid is " + std::to_string(level) +
                  ", which allows it";
    return {errc::not_permitted,
            refused + setting +
                ": in a container its seccomp profile forbids it (Docker's does by default: run "
                "with --cap-add PERFMON, or --security-opt seccomp=unconfined), else SELinux or "
                "AppArmor"};
  }
};

}  // namespace detail

STRATA_END

#endif  // STRATA_COLLECT_CPU_PERF_REASON_HPP
