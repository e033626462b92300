#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_CALL_TREE_HPP
#define STRATA_ANALYSE_CALL_TREE_HPP

#include <strata/analyse/call_tree_builder.hpp>
#include <strata/analyse/range_row.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile.hpp>

#include <cstdint>

STRATA_BEGIN

/// Whether siblings of one name are one row: `block[0]`, `block[1]`, ... as `block[*]`.
enum class folding : std::uint8_t { none, by_name };

/// The ranges of a profile as a tree with their cost, from records that lie in any order.
/// Rows are the ranges that `only=` selects, have data in themselves or below, or are above one of
/// these. Work of a range without a row is in the row of the nearest range above that has one; its
/// calls are in none.
class call_tree {
 public:
  /// Cost: O(r log r) for r records, plus the depth of the tree for each kernel.
  explicit call_tree(profile const& source, folding mode = folding::none);

  vec<range_row> const& rows() const noexcept { return rows_; }

  /// Position of the row that holds the work of a profile's node; the root's for unknown nodes.
  std::uint32_t position_of(std::uint32_t node) const noexcept {
    return node < row_of_node_.size() ? row_of_node_[node] : 0;
  }
  range_row const& row_of(std::uint32_t node) const noexcept { return rows_[position_of(node)]; }

 private:
  vec<range_row> rows_;
  vec<std::uint32_t> row_of_node_;
};

inline call_tree::call_tree(profile const& source, folding mode) {
  detail::call_tree_builder builder(source, mode == folding::by_name);
  builder.build(rows_, row_of_node_);
}

STRATA_END

#endif  // STRATA_ANALYSE_CALL_TREE_HPP
