#include <strata/version.hpp>
#ifndef STRATA_REPORT_TRACE_TRACK_HPP
#define STRATA_REPORT_TRACE_TRACK_HPP

#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

STRATA_BEGIN
namespace detail {

enum class slice_kind : std::uint8_t { step, range, driver, kernel, copy, synchronization };

inline constexpr std::uint32_t no_launch = 0xffffffffu;

/// A bar on a track: a record of the profile and where it stands.
struct trace_slice {
  std::int64_t begin;
  std::int64_t end;
  std::uint32_t index;   ///< in the profile's records of this kind
  std::uint32_t launch;  ///< where an arrow comes from, no_launch without one
  std::uint32_t arrow;   ///< its number among the arrows of that launch
  slice_kind kind;
  std::uint8_t order;  ///< of two with the same times the smaller one contains the other

  bool operator<(trace_slice const& other) const noexcept {
    if (begin != other.begin) return begin < other.begin;
    if (end != other.end) return end > other.end;
    return order < other.order;
  }
};

/// One line of a viewer: a thread of the host, or a stream of a device.
struct trace_track {
  struct position {
    std::uint32_t process = 0;  ///< 0 is the host, n + 1 is device n
    std::uint32_t context = 0;
    std::uint32_t stream = 0;  ///< or the thread

    bool operator==(position const& p) const noexcept {
      return process == p.process && context == p.context && stream == p.stream;
    }
    bool operator<(position const& p) const noexcept {
      if (process != p.process) return process < p.process;
      return context != p.context ? context < p.context : stream < p.stream;
    }
  };

  position at;
  vec<trace_slice> slices;
};

/// Distributes slices over lanes, so that on each lane every two are apart or, where `nests`, one
/// contains the other. In each lane slices are in order, what contains before what is contained.
/// Cost: O(n log n) for slices out of order, then O(n) a lane.
inline vec<vec<trace_slice>> split_into_lanes(vec<trace_slice> slices, bool nests) {
  if (!std::is_sorted(slices.begin(), slices.end())) std::sort(slices.begin(), slices.end());
  vec<vec<trace_slice>> lanes(1);
  vec<vec<std::int64_t>> open(1);  // of each lane the ends of what is not over
  std::size_t kept = 0;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    trace_slice const slice = slices[i];
    std::size_t lane = 0;
    for (;; ++lane) {
      if (lane == open.size()) {
        open.emplace_back();
        lanes.emplace_back();
      }
      auto& ends = open[lane];
      while (!ends.empty() && ends.back() <= slice.begin) ends.pop_back();
      if (ends.empty() || (nests && slice.end <= ends.back())) break;
    }
    open[lane].push_back(slice.end);
    if (lane == 0) {
      slices[kept++] = slice;
    } else {
      lanes[lane].push_back(slice);
    }
  }
  slices.resize(kept);
  lanes[0] = std::move(slices);
  return lanes;
}

}  // namespace detail
STRATA_END

#endif  // STRATA_REPORT_TRACE_TRACK_HPP
