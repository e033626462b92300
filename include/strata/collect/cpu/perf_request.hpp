#include <strata/version.hpp>
#ifndef STRATA_COLLECT_CPU_PERF_REQUEST_HPP
#define STRATA_COLLECT_CPU_PERF_REQUEST_HPP

#include <strata/base/macros.hpp>
#include <strata/base/text.hpp>
#include <strata/base/vec.hpp>
#include <strata/collect/cpu/perf_events.hpp>
#include <strata/profile/metric_catalogue.hpp>
#include <strata/profile/metric_set.hpp>
#include <strata/status.hpp>

#include <cerrno>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

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

/// An event that was asked for, and what came of it.
struct perf_wish {
  perf_event const* event;
  int error = 0;             ///< of the kernel
  perf_reason refused{};     ///< what the error means
  std::string time_names{};  ///< of its group, as in formulas; empty where nothing is scaled
};

/// What `cpu+cpu_cycles` asks for: the events, and once these are open, the metrics.
class perf_request {
 public:
  explicit perf_request(std::string_view request) {
    while (!request.empty()) {
      std::string_view const item = trimmed(take_until(request, "+, \t"));
      if (item == perf_catalogue::preset) {
        for (metric const& each : perf_catalogue::entries) want(each);
      } else if (metric const* const entry = find_perf_metric(item)) {
        want(*entry);
      } else if (!item.empty()) {
        nearest_names nearest(item);
        for (metric const& each : perf_catalogue::entries) nearest.consider(each.key);
        unknown_.push_back({std::string(item), nearest.best()});
      }
    }
  }

  vec<perf_wish>& wishes() noexcept { return wishes_; }
  bool empty() const noexcept { return wanted_.empty(); }

  /// Requires: what came of the events is known.
  metric_set resolve() const {
    metric_set set;
    set.unknown = unknown_;
    for (metric const* const entry : wanted_) {
      if (perf_reason const* const why = refused(*entry)) {
        set.absent.push_back({std::string(entry->key), why->text});
      } else {
        set.metrics.push_back(made(*entry));
      }
    }
    return set;
  }

 private:
  void want(metric const& entry) {
    if (wanted_.contains(&entry)) return;
    if (perf_event const* const event = find_perf_event(entry.formula)) {
      wishes_.push_back({event});
    } else {
      for_each_name(entry.formula, [&](std::string_view key, bool) {
        if (metric const* const input = find_perf_metric(key)) want(*input);
      });
    }
    wanted_.push_back(&entry);
  }

  perf_wish const* wish_of(std::string_view counter) const noexcept {
    for (perf_wish const& each : wishes_) {
      if (each.event->counter == counter) return &each;
    }
    return nullptr;
  }

  /// Why a metric cannot be had, null where it can.
  perf_reason const* refused(metric const& entry) const {
    perf_reason const* why = nullptr;
    for_each_name(entry.formula, [&](std::string_view name, bool) {
      if (why != nullptr) return;
      if (perf_wish const* const wish = wish_of(name)) {
        if (wish->refused.code != errc::ok) why = &wish->refused;
      } else if (metric const* const input = find_perf_metric(name)) {
        why = refused(*input);
      }
    });
    return why;
  }

  resolved_metric made(metric const& entry) const {
    resolved_metric metric;
    metric.key = entry.key;
    metric.unit = entry.unit;
    metric.level = entry.level;
    metric.combine = entry.combine;
    metric.formula = entry.formula;
    if (perf_wish const* const wish = wish_of(entry.formula)) {
      metric.counters.emplace_back(entry.formula);
      if (!wish->time_names.empty()) {
        std::string const enabled = "perf__" + wish->time_names + "_enabled.sum";
        std::string const running = "perf__" + wish->time_names + "_running.sum";
        metric.formula += " * (" + enabled + " / " + running + ')';
        metric.counters.push_back(enabled);
        metric.counters.push_back(running);
      }
    } else {
      metric.derived = true;
    }
    return metric;
  }

  vec<metric const*> wanted_;  ///< inputs stand before what is derived from them
  vec<perf_wish> wishes_;
  vec<unknown_metric> unknown_;
};

}  // namespace detail

STRATA_END

#endif  // STRATA_COLLECT_CPU_PERF_REQUEST_HPP
