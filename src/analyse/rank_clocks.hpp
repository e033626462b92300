#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_RANK_CLOCKS_HPP
#define STRATA_ANALYSE_RANK_CLOCKS_HPP

#include <strata/base/macros.hpp>
#include "rank_run.hpp"

#include <cstddef>
#include <vector>

STRATA_BEGIN

/// How the clock of a rank lies beside that of the first rank. A collective ends on all ranks at
/// about the same time, so its ends join their clocks.
/// Units: ns.
struct rank_clock {
  bool known = false;           ///< else they have no collective in common, or no absolute time
  double ahead_ns = 0;          ///< of the first rank's clock; subtract it from the rank's times
  double spread_ns = 0;         ///< the median distance of single collectives from that
  std::size_t collectives = 0;  ///< that tell it, of all steps
};

/// The clocks of ranks, in their order.
/// Cost: O(s c log s) for c collectives with s samples, of each rank; memory of one rank.
std::vector<rank_clock> join_clocks(std::vector<rank_run> const& runs);

STRATA_END

#endif  // STRATA_ANALYSE_RANK_CLOCKS_HPP
