#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_RANK_COLLECTIVES_HPP
#define STRATA_ANALYSE_RANK_COLLECTIVES_HPP

#include <strata/base/macros.hpp>
#include "rank_run.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
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
  std::int32_t least_wait_rank = -1;     ///< the others waited for it
  std::uint32_t ranks = 0;               ///< that took part
  std::uint32_t communicator_ranks = 0;  ///< as NCCL's profiler plugin tells it; 0: not known
  /// What crosses the link of one rank in one direction while it transfers, as nccl-tests has it,
  /// with one communicator of all that took part where its size is not known; NaN where the bytes
  /// are not known. Units: bytes a second.
  double bus_bytes_per_s = std::numeric_limits<double>::quiet_NaN();
  /// The most that this link moves; NaN where the communicator is not known, ranks run on several
  /// hosts or the device does not tell.
  double link_bytes_per_s = std::numeric_limits<double>::quiet_NaN();
};

namespace detail {

/// The part of a message that crosses the link of one of `ranks` in one direction, as nccl-tests
/// counts it; NaN where that is not known. NCCL tells the size of one rank's message: of
/// all-gather what each rank sends, of reduce-scatter what it receives, of all-to-all what goes to
/// one other.
double bus_factor(std::string_view operation, std::uint32_t ranks) noexcept;

/// The ranks of a communicator, by the name of a range of NCCL's profiler plugin, such as
/// `NCCL:Send (1 channel of 8 ranks)`; 0 by another name.
std::uint32_t ranks_in(std::string_view name);

/// The sizes of communicators by range, from the ranges of NCCL's plugin below it.
template <class Range>
class communicator_sizes {
 public:
  /// Requires: `name` is that of a range below `range`.
  void add(Range const& range, std::string_view name) {
    std::uint32_t const ranks = ranks_in(name);
    if (ranks == 0) return;
    std::uint32_t& size = sizes_.emplace(range, ranks).first->second;
    if (size != ranks) size = 0;
  }
  /// 0 if nothing tells the size, or the ranges differ.
  std::uint32_t of(Range const& range) const {
    auto const found = sizes_.find(range);
    return found == sizes_.end() ? 0 : found->second;
  }

 private:
  std::unordered_map<Range, std::uint32_t> sizes_;
};

/// What NVLink moves in one direction between GPUs of a board with this name; NaN where the name
/// does not tell. Units: bytes a second.
/// Source: NVIDIA's data sheets, half of what they give for both directions.
double nvlink_peak(std::string_view device) noexcept;

}  // namespace detail

/// The collectives of ranks, those that take most time first.
/// Requires: the ranks have the same samples, as compare_ranks() leaves them.
/// Cost: O(s c) for c collectives of all ranks with s samples.
std::vector<rank_collective_row> list_collectives(std::vector<rank_run> const& runs);

STRATA_END

#endif  // STRATA_ANALYSE_RANK_COLLECTIVES_HPP
