#include <strata/version.hpp>
#ifndef STRATA_REPORT_RANGE_PROJECTION_HPP
#define STRATA_REPORT_RANGE_PROJECTION_HPP

#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/base/vocabulary.hpp>
#include <strata/profile.hpp>

#include <cstdint>

STRATA_BEGIN
namespace detail {

/// A call of a range on a stream of a device: from the start of the first work that it launched
/// there to the end of the last.
/// Units: ns since the session began.
struct projected_range {
  std::int64_t begin;
  std::int64_t end;
  std::uint32_t node;
  std::uint32_t step;
  std::uint32_t device;
  std::uint32_t context;
  std::uint32_t stream;
  std::uint8_t depth;  ///< of the outermost 1
};

/// Projects the calls of ranges onto the streams that their work ran on. Work whose call is not
/// known (its range was not recorded, or launched by a thread without ranges) counts by its node:
/// what follows each other is one.
/// Cost: O(w d log r) for w records of work, d levels and r calls of ranges.
/// `has_own_row(node)`: whether a node is a range that is shown.
vec<projected_range> project_ranges(profile const& source,
                                    callback<bool(std::uint32_t)> has_own_row);

}  // namespace detail
STRATA_END

#endif  // STRATA_REPORT_RANGE_PROJECTION_HPP
