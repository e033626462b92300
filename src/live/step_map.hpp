#include <strata/version.hpp>
#ifndef STRATA_LIVE_STEP_MAP_HPP
#define STRATA_LIVE_STEP_MAP_HPP

// Whose the traffic of a step is that was sampled without a trace, by a map of the step from a
// traced window.

#include <strata/base/macros.hpp>
#include "sample_split.hpp"

#include <cstdint>
#include <vector>

STRATA_BEGIN
namespace live {

/// A kernel or copy of a step.
/// Units: ns since the step's first work begins; bytes, or what else is sampled.
struct mapped_work {
  std::int64_t begin;
  std::int64_t end;
  std::uint32_t owner;  ///< the range, from 0
  double bytes;         ///< in the traced window
};

/// The work of a step in its order.
struct step_map {
  std::vector<mapped_work> work;
  bool has_bytes = true;  ///< else they are the times, which say less of where a step begins

  std::int64_t length() const noexcept;
  std::uint32_t owners() const noexcept;
};

/// What aligning needs to know of the steps that were sampled.
struct sampled_steps {
  std::vector<std::int64_t> begins;  ///< about when the device began each, in order
  std::int64_t tolerance_ns = 0;     ///< how far that may be off
  std::size_t counter = 0;           ///< the one of `mapped_work::bytes`
};

/// Ranges that the samples tell apart from the others, with what they moved in all steps that fit.
struct traffic_group {
  std::vector<std::uint32_t> owners;  ///< by the first of them mapped_traffic::split has it
  double bytes = 0.0;
  double plus_minus = 0.0;  ///< half of an interval meant for 95 %
};

/// The bytes of `groups` and `unexplained` add up to `total`.
struct mapped_traffic {
  std::vector<traffic_group> groups;
  double unexplained = 0.0;            ///< of samples in which no work of a step that fits ran
  double total = 0.0;                  ///< of the samples of steps that fit
  std::vector<std::int64_t> begins;    ///< of each step, aligned
  std::vector<std::uint32_t> misfits;  ///< steps that do not look like the map
  sample_split split;                  ///< all counters
};

/// Shortens the pauses of the map, which a trace makes longer, until samples look most like it.
/// Lays it over each step where its samples look most like it, and splits the samples of all steps
/// that fit by least squares (split_samples). A step of few samples is aligned where it is said to
/// begin. Ranges whose interval would say little become one group with a neighbour. Where more
/// would run at once than a device can run, nothing is split. Requires: samples in order. Cost:
/// O(steps x 128 x samples of a step), and 16 times that of split_samples at most.
mapped_traffic map_traffic(step_map const& map, sampled_steps const& steps, samples const& given);

}  // namespace live
STRATA_END

#endif  // STRATA_LIVE_STEP_MAP_HPP
