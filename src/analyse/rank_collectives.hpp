#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_RANK_COLLECTIVES_HPP
#define STRATA_ANALYSE_RANK_COLLECTIVES_HPP

#include <strata/base/macros.hpp>
#include "rank_run.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

STRATA_BEGIN

/// One collective of all ranks, in a mean step: the least time of all ranks is the transfer, the
/// rest of a rank's time is what it waited.
/// Units: ns and bytes.
struct rank_collective_row {
  std::string path;
  std::string kernel;
  std::string operation;
  std::string algorithm;
  std::string protocol;
  double bytes = std::numeric_limits<double>::quiet_NaN();  ///< of one rank; NaN is not known
  double transfer_ns = 0.0;
  double wait_ns = 0.0;          ///< mean of the ranks that took part
  double longest_wait_ns = 0.0;  ///< of one rank
  std::int32_t longest_wait_rank = -1;
  std::int32_t least_wait_rank = -1;  ///< the others waited for it
};

/// The collectives of ranks, those that take most time first.
/// Requires: the ranks have the same samples, as compare_ranks() leaves them.
/// Cost: O(s c) for c collectives of all ranks with s samples.
std::vector<rank_collective_row> list_collectives(std::vector<rank_run> const& runs);

STRATA_END

#endif  // STRATA_ANALYSE_RANK_COLLECTIVES_HPP
