#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_RANGE_ROW_HPP
#define STRATA_ANALYSE_RANGE_ROW_HPP

#include <strata/base/macros.hpp>
#include <strata/profile/duration_statistics.hpp>
#include <strata/profile/records.hpp>

#include <cstdint>
#include <limits>
#include <string>

STRATA_BEGIN

/// Device work of a range: once for the range itself, once with everything below it.
/// Units: ns and bytes.
struct device_work {
  /// Calls that put work on the device (launch, graph launch, copy, fill) or into a captured graph.
  std::uint64_t launches = 0;
  std::int64_t launch_ns = 0;  ///< host time inside those calls
  std::uint64_t kernels = 0;
  std::int64_t kernel_ns = 0;  ///< sum of the kernels' durations
  std::uint64_t copies = 0;    ///< copies and fills
  std::int64_t copy_ns = 0;
  std::uint64_t host_to_device_bytes = 0;
  std::uint64_t device_to_host_bytes = 0;
  std::uint64_t device_to_device_bytes = 0;  ///< peer copies included
  std::uint64_t other_bytes = 0;             ///< host to host and unknown
  std::uint64_t set_bytes = 0;               ///< fills
  std::uint64_t synchronizations = 0;
  std::int64_t synchronization_ns = 0;
  std::uint64_t allocations = 0;
  std::uint64_t allocated_bytes = 0;
  std::uint64_t releases = 0;
  std::uint64_t released_bytes = 0;
  /// Kernels that this range captured into a graph which another range launched. Not additive: the
  /// launching range and all above it have them in `kernels`, so a total leaves them out there.
  std::uint64_t graph_kernels = 0;
  std::int64_t graph_kernel_ns = 0;
};

/// One range of the call tree with what it cost.
/// Shape: rows are in depth-first order, children in order of first use, the root first.
struct range_row {
  std::uint32_t node = root_node;  ///< in the profile; of the first one when rows are folded
  std::uint32_t parent = 0;        ///< position of the parent's row; the root is its own parent
  std::uint32_t depth = 0;
  std::string name;  ///< as the program wrote it
  std::int64_t index = no_index;
  std::string
      path;  ///< `block[3]/attention`; "" for the root. `/` and `[` in names are kept as they are
  /// Joins the files of one run: the node, so it is the same in folded and unfolded tables.
  std::uint32_t path_id = 0;
  duration_statistics host;        ///< one value a call
  std::int64_t host_total_ns = 0;  ///< of all calls
  std::int64_t host_self_ns = 0;   ///< without the ranges below in the same thread
  std::uint64_t first_step_calls = 0;
  std::int64_t first_step_host_ns = 0;  ///< the first recorded step, with its lazy initialisation
  device_work self;
  device_work total;
  std::int64_t gpu_busy_ns =
      0;  ///< time in which at least one kernel or copy of the range (or below) ran
  std::int64_t device_busy_ns = 0;  ///< the same of each counted device, added up
  /// Per call from its begin to the later of its own end and the end of the last kernel or copy
  /// that it launched, summed; without the calls that are kept in sums only.
  std::int64_t span_ns = 0;
  std::int64_t peak_bytes = 0;  ///< most device memory that was allocated by the range and below,
                                ///< and not released, at one time
  double flops =
      std::numeric_limits<double>::quiet_NaN();  ///< sum over calls; NaN where never given
  double bytes = std::numeric_limits<double>::quiet_NaN();
  double tokens = std::numeric_limits<double>::quiet_NaN();
  std::string shape;  ///< `4x64x768` of the last call; followed by `...` when calls differ
  std::string note;
};

STRATA_END

#endif  // STRATA_ANALYSE_RANGE_ROW_HPP
