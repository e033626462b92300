#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_RANK_RUN_HPP
#define STRATA_ANALYSE_RANK_RUN_HPP

// What one rank of a distributed run did, from its recording or from its profile.json.

#include <strata/base/macros.hpp>
#include <strata/profile.hpp>
#include "run_tables.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

STRATA_BEGIN

/// A collective of a rank: one kernel of one range, in which ranks wait for each other.
/// Units: ns.
struct rank_collective {
  std::string path;
  std::string kernel;
  std::vector<double> ns;   ///< in each sample; 0 where it did not run
  std::string operation{};  ///< all_reduce, ...
  std::string algorithm{};  ///< of its name; empty where that does not tell
  std::string protocol{};
  /// Of the messages of its range in a mean step, where that has no other collective; NaN where not
  /// known.
  double bytes = std::numeric_limits<double>::quiet_NaN();
  std::uint32_t communicator_ranks = 0;  ///< as NCCL's profiler plugin tells it; 0: not known
  std::vector<double> launches =
      {};                         ///< in each sample, those without a time too; empty: not known
  std::vector<double> lost = {};  ///< of these, without a time; empty: none
  /// In each sample when the last one ended, since 1970; 0: not known. Empty: of means.
  std::vector<std::int64_t> ends = {};
};

/// The own work of a range, without its collectives and without the ranges below.
struct rank_range {
  std::string path;       ///< with every index as [*]; "" outside of ranges
  double ns = 0.0;        ///< of kernels and copies in a mean step
  double launches = 0.0;  ///< in a mean step, those without a time too; 0: not known
  double lost = 0.0;      ///< of these, without a time
};

/// What one rank did. A sample is a step, the first one left out, or the mean step where only that
/// is known.
/// Units: ns.
struct rank_run {
  std::int32_t rank = -1;
  std::string host;
  std::string device;
  std::string command;
  std::int64_t began_at = 0;  ///< since 1970; 0: not known
  std::int64_t ended_at = 0;
  std::uint64_t recorded_steps = 0;
  bool by_step = false;       ///< whether samples are steps
  double step_ns = 0.0;       ///< the mean step
  double deviation_ns = 0.0;  ///< of a step's collective time; without one, of its work
  std::vector<std::uint32_t>
      steps;  ///< the number of each sample, ascending; empty where it is the mean
  std::vector<double> busy_ns;         ///< by sample: the GPU ran something
  std::vector<double> work_ns;         ///< by sample: it ran something that is no collective
  std::vector<double> lost_work = {};  ///< by sample: of that, without a time; empty: none
  std::vector<rank_collective> collectives;
  std::vector<rank_range> ranges;
  detail::run_losses losses;
};

/// Whether a recording shows what each step of its rank did.
bool has_rank_steps(profile const& recorded) noexcept;

/// Reads a rank step by step. Of long runs it keeps the last 1,000 steps, or as many as have room
/// in 512 KB for the collectives. Requires: has_rank_steps.
rank_run read_rank(profile const& recorded);

/// Reads the mean step of a rank.
rank_run read_rank(run_tables const& file);

STRATA_END

#endif  // STRATA_ANALYSE_RANK_RUN_HPP
