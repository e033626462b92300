#include <strata/version.hpp>
#ifndef STRATA_REPORT_USE_TRACKS_HPP
#define STRATA_REPORT_USE_TRACKS_HPP

#include <strata/base/containers.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile.hpp>
#include <strata/profile/records.hpp>
#include <strata/tables/call_tree.hpp>
#include <strata/tables/counter_table.hpp>
#include <strata/tables/table_input.hpp>
#include "range_projection.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

// Hardware counters over time: the mean of a range, as long as the range works on a device.

STRATA_BEGIN
namespace detail {

/// A use of a device over time in thousandths: a value holds until the next one.
struct use_track {
  struct point {
    std::int64_t time;  ///< ns since the session began
    std::uint32_t use;
  };
  std::uint32_t device;
  std::string name;
  vec<point> points;
};

/// Calls `visit(i, ns)` for each part of `part` ns from `from` on that a span lies in, with how
/// much of it does.
template <class Visit>
void for_each_part(std::int64_t begin, std::int64_t end, std::int64_t from, std::int64_t part,
                   Visit const& visit) {
  while (begin < end) {
    std::int64_t const i = (begin - from) / part;
    std::int64_t const until = std::min(end, from + (i + 1) * part);
    visit(static_cast<std::size_t>(i), until - begin);
    begin = until;
  }
}

/// Joins times with a use to a track. Where several overlap, as of streams, the largest counts.
class use_sum {
 public:
  void add(std::int64_t begin, std::int64_t end, double percent) {
    if (!is_positive(percent) || begin >= end) return;
    auto const use = static_cast<std::uint32_t>(std::min(percent, 100.0) * 10.0 + 0.5);
    changes_.push_back({begin, use, 1});
    changes_.push_back({end, use, -1});
  }

  vec<use_track::point> points() {
    changes_.sort([](change const& a, change const& b) { return a.time < b.time; });
    vec<use_track::point> made;
    for (std::size_t i = 0; i < changes_.size(); ++i) {
      change const& now = changes_[i];
      open_[now.use] += now.more;
      most_ = std::max(most_, now.use);
      if (i + 1 < changes_.size() && changes_[i + 1].time == now.time) continue;
      while (most_ > 0 && open_[most_] == 0) --most_;
      if (made.empty() || made.back().use != most_) made.push_back({now.time, most_});
    }
    return made;
  }

 private:
  struct change {
    std::int64_t time;
    std::uint32_t use;
    std::int32_t more;
  };
  vec<change> changes_;
  std::int64_t open_[1001] = {};  ///< how many have this use
  std::uint32_t most_ = 0;
};

/// Whether the busy share is of parts of the run, or changes with each piece of work.
enum class busy_detail : std::uint8_t { parts, exact };

/// The tracks of each device: the use of its memory and of its tensor cores, and how much of the
/// time it worked. Nothing where no counter was recorded by range. Cost: O(p log p) for p calls of
/// ranges on streams and records of work, and 2,000 points a device.
vec<use_track> make_use_tracks(table_input const& input, vec<projected_range> const& projected,
                               busy_detail detail = busy_detail::parts);

}  // namespace detail
STRATA_END

#endif  // STRATA_REPORT_USE_TRACKS_HPP
