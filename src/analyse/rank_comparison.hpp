#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_RANK_COMPARISON_HPP
#define STRATA_ANALYSE_RANK_COMPARISON_HPP

// Which rank of a distributed run is last. In a collective each rank spends the transfer and the
// wait for the rank that comes last: of one collective in one step the least time of all ranks is
// the transfer, and what a rank has above it is waiting. Only durations are compared: the clocks of
// hosts are not comparable.

#include <strata/base/macros.hpp>
#include "rank_run.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

STRATA_BEGIN

/// What one rank did in a mean step, compared with the others.
/// Units: ns.
struct rank_row {
  std::int32_t rank = -1;
  std::string host;
  std::string device;
  double step_ns = 0.0;
  double busy_ns = 0.0;       ///< the GPU ran something
  double work_ns = 0.0;       ///< it ran something that is no collective
  double work_lost_ns = 0.0;  ///< the most that losses may hide of that
  double transfer_ns = 0.0;   ///< of collectives: the least time of all ranks
  double wait_ns = 0.0;       ///< of collectives: the rest
  /// How much later it comes than the median of the other ranks: they wait that much more; without
  /// collectives it works that much more. Less than 0: it comes earlier.
  double late_ns = 0.0;
  double deviation_ns = 0.0;     ///< of `late_ns` from step to step
  std::uint64_t times_last = 0;  ///< steps; 0 where only the mean step is known
};

/// The own work of a range on all ranks, in a mean step.
/// Units: ns.
struct rank_spread {
  std::string path;
  double min_ns = 0.0;
  double median_ns = 0.0;
  double max_ns = 0.0;
  std::int32_t max_rank = -1;
  double last_more_ns = 0.0;  ///< what the last rank has above the median of the others
  /// The same at the least and at the most, with what may have been lost.
  double least_more_ns = 0.0;
  double most_more_ns = 0.0;
};

/// Whether one rank makes the others wait.
enum class rank_verdict : std::uint8_t {
  none_stands_out,
  stands_out,
  /// There are too few steps, the ranks wait in different collectives, or losses hide which it is.
  undecided
};

/// The ranks of a run, compared with each other.
struct rank_comparison {
  rank_verdict verdict = rank_verdict::undecided;
  bool by_step = false;          ///< steps were compared, else mean steps
  bool has_collectives = false;  ///< else work is compared, and nothing is known of waiting
  /// Whether all ranks take part in all collectives: who takes part in fewer waits less, and is not
  /// late for that.
  bool same_collectives = true;
  std::uint64_t steps = 0;      ///< that were compared, or averaged
  std::uint64_t left_out = 0;   ///< steps in which a rank lost what is compared
  bool lost = false;            ///< it is undecided for what ranks lost
  double lost_ns = 0.0;         ///< by how much losses may change `late_ns`
  std::string losses;           ///< what the rank lost that lost the most: "rank 2: 45 kernels ..."
  double noise_ns = 0.0;        ///< what `late_ns` of the last rank has to exceed
  std::vector<rank_row> ranks;  ///< the latest first
  std::vector<rank_spread> ranges;  ///< the largest spread first

  rank_row const& last() const noexcept { return ranks.front(); }
  /// The range in which the last rank has the most work above the median of the others; null where
  /// it has none.
  rank_spread const* extra() const noexcept {
    rank_spread const* most = nullptr;
    for (rank_spread const& range : ranges)
      if (range.last_more_ns > (most == nullptr ? 0.0 : most->last_more_ns)) most = &range;
    return most;
  }
};

/// Fewer steps do not tell a rank that stands out from chance.
inline constexpr std::uint64_t fewest_rank_steps = 5;
/// A rank that is late by a smaller part of the step does not stand out. Chosen, as least_share of
/// the rules: steps differ as much.
inline constexpr double least_rank_share = 0.01;

/// Compares the ranks of one run. `runs` are used up.
/// Requires: two ranks at least, whose numbers differ; a rank has each of its collectives once.
/// Cost: O(s n log n) for n ranks with s steps, and n s numbers for each collective.
rank_comparison compare_ranks(std::vector<rank_run>& runs);

STRATA_END

#endif  // STRATA_ANALYSE_RANK_COMPARISON_HPP
