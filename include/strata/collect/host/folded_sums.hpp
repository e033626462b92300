#include <strata/version.hpp>
#ifndef STRATA_COLLECT_HOST_FOLDED_SUMS_HPP
#define STRATA_COLLECT_HOST_FOLDED_SUMS_HPP

#include <strata/base/finite.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile.hpp>
#include <strata/profile/records.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>

STRATA_BEGIN

namespace detail {

/// The calls that a full log could not keep one by one, as sums by node.
/// Threads: one at a time.
class folded_sums {
 public:
  void add(range_record const& range) { of(range.node).durations.add(range.end - range.begin); }

  void add(attribute_record const& given) {
    folded_ranges& sums = of(given.node);
    if (!is_nan(given.flops)) sums.flops += given.flops;
    if (!is_nan(given.bytes)) sums.bytes += given.bytes;
    if (!is_nan(given.tokens)) sums.tokens += given.tokens;
  }

  vec<folded_ranges> const& all() const noexcept { return sums_; }

  void clear() noexcept {
    sums_.clear();
    position_of_node_.clear();
  }

 private:
  folded_ranges& of(std::uint32_t node) {
    if (node >= position_of_node_.size()) position_of_node_.resize(node + std::size_t{1}, 0);
    if (position_of_node_[node] == 0) {
      sums_.emplace_back();
      sums_.back().node = node;
      position_of_node_[node] = static_cast<std::uint32_t>(sums_.size());
    }
    return sums_[position_of_node_[node] - 1];
  }

  vec<folded_ranges> sums_;
  vec<std::uint32_t> position_of_node_;  // position + 1 in sums_
};

}  // namespace detail

STRATA_END

#endif  // STRATA_COLLECT_HOST_FOLDED_SUMS_HPP
