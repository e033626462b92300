#include <strata/version.hpp>
#ifndef STRATA_REPORT_HTML_GAPS_HPP
#define STRATA_REPORT_HTML_GAPS_HPP

#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile.hpp>
#include <strata/profile/records.hpp>
#include <strata/tables/host_timeline.hpp>
#include <strata/tables/json.hpp>

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
    for (kernel_record const& each : source.kernels) add(each.begin, each.end, each.correlation);
    for (copy_record const& each : source.copies) add(each.begin, each.end, each.correlation);
    work_.sort([](work const& a, work const& b) { return a.begin < b.begin; });
  }

  static constexpr std::size_t most_gaps = 6000;
  static constexpr std::int64_t least_gap = 200;  ///< ns: what is shorter is no idle device

  launch_index const& launches() const noexcept { return launches_; }

  /// Writes the longest gaps from `begin` to `end` in the order of time: when each begins from that
  /// of the one before on, its length, its cause as a number of idle_cause. `thread`: of the host,
  /// for the time behind the last work.
  void write(json_writer& json, std::int64_t begin, std::int64_t end, std::uint32_t thread) const {
    vec<gap> gaps = find(begin, end, thread);
    json.integer("gaps_left_out", gaps.size() - smaller(gaps.size(), most_gaps));
    if (gaps.size() > most_gaps) {
      gaps.sort([](gap const& a, gap const& b) { return a.length > b.length; });
      gaps.resize(most_gaps);
      gaps.sort([](gap const& a, gap const& b) { return a.begin < b.begin; });
    }
    json.array("gaps");
    for (gap const& each : gaps) {
      json.integer({}, each.begin - begin);
      json.integer({}, each.length);
      json.integer({}, static_cast<unsigned>(each.cause));
      begin = each.begin;
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
    for (work const& each : work_) {
      if (each.end <= begin) continue;
      if (each.begin >= end) break;
      if (each.begin - until >= least_gap)
        gaps.push_back({until, each.begin - until, cause_of(each, until)});
      until = larger(until, each.end);
    }
    if (!gaps.empty() && end - until >= least_gap)
      gaps.push_back({until, end - until, largest_cause(thread, until, end, nullptr)});
    return gaps;
  }

  idle_cause cause_of(work const& next, std::int64_t begin) const {
    bool const known = next.launch != launch_index::none;
    launch_record const* const launch = known ? &source_.launches[next.launch] : nullptr;
    std::int64_t const end = due_begin(launch, begin, next.begin);
    if (next.begin - end > end - begin) return idle_cause::device;
    if (launch == nullptr || launch->end <= begin) return idle_cause::launch;
    return largest_cause(launch->thread, begin, end, launch);
  }

  idle_cause largest_cause(std::uint32_t thread, std::int64_t begin, std::int64_t end,
                           launch_record const* launch) const {
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

#endif  // STRATA_REPORT_HTML_GAPS_HPP
