#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_RANK_CLOCKS_HPP
#define STRATA_ANALYSE_RANK_CLOCKS_HPP

#include <strata/base/macros.hpp>
#include <strata/profile.hpp>
#include "rank_run.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

STRATA_BEGIN

/// The clock of a rank relative to that of the first rank. A collective ends on all ranks at
/// about the same time, so its ends join their clocks.
/// Units: ns.
struct rank_clock {
  bool known = false;           ///< else they have no collective in common, or no absolute time
  double ahead_ns = 0;          ///< of the first rank's clock, at `middle`
  double drift = 0;             ///< how much faster it runs: 1e-6 is 1 us in a second
  std::int64_t middle = 0;      ///< of the collectives, on its own clock, since 1970
  double spread_ns = 0;         ///< the median distance of single collectives from that
  std::size_t collectives = 0;  ///< that tell it, of all steps

  /// How much it is ahead at one of its own times since 1970.
  double ahead_at(std::int64_t time) const noexcept {
    return ahead_ns + drift * static_cast<double>(time - middle);
  }
};

/// The clocks of ranks, in their order.
/// Cost: O(s c log s) for c collectives with s samples, of each rank; memory of one rank.
std::vector<rank_clock> join_clocks(std::vector<rank_run> const& runs);

/// The same of ranks on other hosts than the first one's, which has one clock for all of its ranks:
/// theirs are not known.
std::vector<rank_clock> join_hosts(std::vector<rank_run> const& runs);

/// Sets all times of a rank by the first rank's clock. Requires: the profile knows when it began.
void set_clock(profile& run, rank_clock const& clock);

STRATA_END

#endif  // STRATA_ANALYSE_RANK_CLOCKS_HPP
