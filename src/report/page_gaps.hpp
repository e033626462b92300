#include <strata/version.hpp>
#ifndef STRATA_REPORT_PAGE_GAPS_HPP
#define STRATA_REPORT_PAGE_GAPS_HPP

#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile.hpp>
#include <strata/profile/records.hpp>
#include <strata/tables/json.hpp>
#include <strata/tables/launch_index.hpp>
#include "../analyse/host_timeline.hpp"
#include "page_track.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

// When no device worked in a part of the run, and what the host did meanwhile.

STRATA_BEGIN
namespace detail {

/// The idle times of a window, each with the cause that has the largest part of it.
/// Cost: O((r + g) log r) for r records and g gaps.
class page_gaps {
 public:
  explicit page_gaps(profile const& source)
      : source_(source), launches_(source), host_(source, lost_time) {
    for (kernel_record const& kernel : source.kernels)
      add(kernel.begin, kernel.end, kernel.correlation);
    for (copy_record const& copy : source.copies) add(copy.begin, copy.end, copy.correlation);
    work_.sort([](work const& a, work const& b) { return a.begin < b.begin; });
  }

  launch_index const& launches() const noexcept { return launches_; }

  /// Writes the gaps from `begin` to `end` in the order of time: when each begins from that of the
  /// one before on, its length, its cause as a number of idle_cause. Where they are more than
  /// `most`, short neighbours are one. `thread`: of the host, for the time behind the last work.
  void write(json_writer& json, std::int64_t begin, std::int64_t end, std::uint32_t thread,
             std::uint64_t most) const {
    vec<gap> const gaps = find(begin, end, thread);
    page_track track({});
    for (std::size_t i = 0; i < gaps.size(); ++i) track.count_one();
    track.begin(begin, end - begin, most);
    for (gap const& idle : gaps) {
      auto const cause = static_cast<std::uint32_t>(idle.cause);
      track.add({idle.begin, idle.begin + idle.length, 1, idle.length, -1, cause, 0, lost_time});
    }
    vec<page_track::bar> const& bars = track.bars();
    json.array("gaps");
    for (page_track::bar const& bar : bars) {
      json.integer({}, bar.begin - begin);
      json.integer({}, bar.end - bar.begin);
      json.integer({}, bar.label);
      begin = bar.begin;
    }
    json.end_array();
    json.array("joined");  // of those that are several: position, how many, idle time, the longest
    for (std::size_t i = 0; i < bars.size(); ++i) {
      if (bars[i].count == 1) continue;
      json.integer({}, i);
      json.integer({}, bars[i].count);
      json.integer({}, bars[i].busy);
      json.integer({}, bars[i].longest);
    }
    json.end_array();
  }

 private:
  struct work {
    std::int64_t begin;
    std::int64_t end;
    std::uint32_t launch;
  };
  struct gap {
    std::int64_t begin;
    std::int64_t length;
    idle_cause cause;
  };
  void add(std::int64_t begin, std::int64_t end, std::uint32_t correlation) {
    if (begin != lost_time) work_.push_back({begin, end, launches_.launch_of(correlation)});
  }

  vec<gap> find(std::int64_t begin, std::int64_t end, std::uint32_t thread) const {
    vec<gap> gaps;
    std::int64_t until = begin;
    for (work const& next : work_) {
      if (next.end <= begin) continue;
      if (next.begin >= end) break;
      if (next.begin > until) gaps.push_back({until, next.begin - until, cause_of(next, until)});
      until = std::max(until, next.end);
    }
    if (!gaps.empty() && end > until)
      gaps.push_back({until, end - until, largest_cause(thread, until, end, nullptr)});
    return gaps;
  }

  idle_cause cause_of(work const& next, std::int64_t begin) const {
    bool const known = next.launch != launch_index::none;
    driver_call_record const* const launch = known ? &source_.launches[next.launch] : nullptr;
    std::int64_t const end = due_begin(launch, begin, next.begin);
    if (next.begin - end > end - begin) return idle_cause::device;
    if (launch == nullptr || launch->end <= begin) return idle_cause::launch;
    return largest_cause(launch->thread, begin, end, launch);
  }

  idle_cause largest_cause(std::uint32_t thread, std::int64_t begin, std::int64_t end,
                           driver_call_record const* launch) const {
    constexpr auto causes = static_cast<std::size_t>(idle_cause::device) + 1;
    std::int64_t parts[causes] = {};
    host_.split(thread, begin, end, launch,
                [&parts](std::uint32_t, idle_cause cause, std::int64_t ns) {
                  parts[static_cast<std::size_t>(cause)] += ns;
                });
    std::size_t most = 0;
    for (std::size_t i = 0; i < causes; ++i)
      if (parts[i] > parts[most]) most = i;
    return static_cast<idle_cause>(most);
  }

  profile const& source_;
  launch_index launches_;
  host_timeline host_;
  vec<work> work_;  ///< in the order of begins
};

}  // namespace detail
STRATA_END

#endif  // STRATA_REPORT_PAGE_GAPS_HPP
