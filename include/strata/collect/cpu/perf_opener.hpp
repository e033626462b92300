#include <strata/version.hpp>
#ifndef STRATA_COLLECT_CPU_PERF_OPENER_HPP
#define STRATA_COLLECT_CPU_PERF_OPENER_HPP

#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/collect/cpu/perf_events.hpp>
#include <strata/collect/cpu/perf_group.hpp>
#include <strata/collect/cpu/perf_reason.hpp>
#include <strata/collect/cpu/perf_request.hpp>
#include <strata/profile/perf_catalogue.hpp>

#include <cerrno>
#include <cstddef>
#include <string>
#include <string_view>

STRATA_BEGIN

namespace detail {

/// Opens the events of a request for a thread, 0: the calling one.
class perf_opener {
 public:
  struct opened {
    vec<perf_group> groups;    ///< the receiver closes them
    vec<std::string> columns;  ///< names of what they give, in order: times, then values
    perf_group::reach who = perf_group::reach::threads;
  };

  explicit perf_opener(perf_system const& system, int thread = 0) noexcept
      : system_(system), thread_(thread) {}

  /// Opens all that can be had, set by set. Events that do not fit into one group together make
  /// another one.
  opened open(vec<perf_wish>& wishes) {
    opened made;
    for (perf_set const set : {perf_set::core, perf_set::cache, perf_set::software}) {
      vec<perf_wish*> members;
      for (perf_wish& each : wishes) {
        if (each.event->set == set) members.push_back(&each);
      }
      for (std::size_t number = 1; !members.empty(); ++number) {
        std::string const name = std::string(time_names[static_cast<std::size_t>(set)]) +
                                 (number == 1 ? "" : std::to_string(number));
        members = open_group(members, name, made);
      }
    }
    bool some_hardware = false;
    for (perf_wish const& each : wishes)
      some_hardware |= each.error == 0 && each.event->set != perf_set::software;
    for (perf_wish& each : wishes) {
      each.refused = {};
      if (each.error != 0)
        each.refused = perf_reason::of(each.error, *each.event, some_hardware, system_);
    }
    return made;
  }

 private:
  static constexpr std::string_view time_names[] = {"core", "cache", "software"};

  /// Returns: the members that wait for a group of their own.
  vec<perf_wish*> open_group(vec<perf_wish*> const& members, std::string const& name, opened& to) {
    perf_group group(thread_);
    vec<perf_wish*> joined;
    vec<perf_wish*> waiting;
    for (perf_wish* const each : members) {
      each->error = group.add(system_, *each->event, to.who);
      if (each->error == EINVAL && !joined.empty()) {
        waiting.push_back(each);
      } else if (each->error == 0) {
        joined.push_back(each);
      }
    }
    if (joined.empty()) return waiting;
    if (int const error = group.enable(system_)) {
      group.close(system_);
      for (perf_wish* const each : joined) each->error = error;
      return waiting;
    }
    to.columns.push_back("perf__" + name + "_enabled.sum");
    to.columns.push_back("perf__" + name + "_running.sum");
    for (perf_wish* const each : joined) {
      bool const scaled = each->event->set != perf_set::software;
      each->time_names = scaled ? name : std::string();
      to.columns.emplace_back(each->event->counter);
    }
    to.groups.push_back(group);
    return waiting;
  }

  perf_system const& system_;
  int thread_;
};

}  // namespace detail

STRATA_END

#endif  // STRATA_COLLECT_CPU_PERF_OPENER_HPP
