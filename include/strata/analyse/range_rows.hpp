#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_RANGE_ROWS_HPP
#define STRATA_ANALYSE_RANGE_ROWS_HPP

#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

STRATA_BEGIN
namespace detail {

/// Where the nodes of a profile stand in a table: depth-first, children in order of first use, and
/// with folding nodes of one name below one row in one row.
/// A node that is neither selected nor above a selected one has no row of its own: its row is that
/// of the nearest node above which has one.
class row_layout {
 public:
  /// Ranges deeper than this have no rows of their own; no recorder nests so deep.
  static constexpr std::uint32_t deepest = 1024;

  row_layout(profile const& source, bool fold) {
    find_kept(source);
    leaders_.resize(nodes());
    for (std::size_t i = 0; i < nodes(); ++i) leaders_[i] = static_cast<std::uint32_t>(i);
    if (fold) fold_by_name(source);
    number_rows();
  }

  std::size_t nodes() const noexcept { return parents_.size(); }
  std::size_t rows() const noexcept { return first_nodes_.size(); }
  std::uint32_t row_of(std::uint32_t node) const noexcept {
    return node < nodes() ? rows_of_nodes_[node] : 0;
  }
  /// Whether the calls of a node belong to its row, rather than to a row that stands for it.
  bool has_own_row(std::uint32_t node) const noexcept { return node >= nodes() || kept_[node]; }
  std::uint32_t first_node(std::uint32_t row) const noexcept { return first_nodes_[row]; }
  std::uint32_t parent(std::uint32_t row) const noexcept { return row_parents_[row]; }
  /// Whether `below` stands in the subtree of `row`, which contains itself.
  bool contains(std::uint32_t row, std::uint32_t below) const noexcept {
    return row <= below && below - row < sizes_[row];
  }

 private:
  void find_kept(profile const& source) {
    std::size_t const count = source.nodes.empty() ? 1 : source.nodes.size();
    parents_.resize(count, root_node);
    depths_.resize(count, 0);
    kept_.resize(count, false);
    for (std::size_t i = 1; i < count; ++i) {
      std::uint32_t const parent = source.nodes[i].parent;
      parents_[i] = parent < i ? parent : root_node;
      depths_[i] = depths_[parents_[i]] + 1;
      kept_[i] = source.nodes[i].selected;
    }
    for (std::size_t i = count; --i > 0;)
      if (kept_[i]) kept_[parents_[i]] = true;
    kept_[root_node] = true;
    for (std::size_t i = 1; i < count; ++i)
      if (depths_[i] > deepest) kept_[i] = false;
  }

  /// Numbers that are equal where the texts are.
  static vec<std::uint32_t> number_texts(vec<std::string> const& texts) {
    vec<std::uint32_t> order(texts.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::uint32_t>(i);
    std::sort(order.begin(), order.end(), [&texts](std::uint32_t a, std::uint32_t b) {
      int const difference = texts[a].compare(texts[b]);
      return difference != 0 ? difference < 0 : a < b;
    });
    vec<std::uint32_t> numbers(texts.size());
    for (std::size_t i = 0; i < order.size(); ++i)
      numbers[order[i]] =
          i > 0 && texts[order[i]] == texts[order[i - 1]] ? numbers[order[i - 1]] : order[i];
    return numbers;
  }

  /// Level by level from the root, because which nodes are siblings depends on the level above.
  void fold_by_name(profile const& source) {
    vec<std::uint32_t> const names = number_texts(source.names);
    vec<vec<std::uint32_t>> levels;
    for (std::size_t i = 1; i < nodes(); ++i) {
      if (!kept_[i]) continue;
      if (levels.size() < depths_[i]) levels.resize(depths_[i]);
      levels[depths_[i] - 1].push_back(static_cast<std::uint32_t>(i));
    }
    vec<std::pair<std::uint64_t, std::uint32_t>> siblings;
    for (auto const& level : levels) {
      siblings.clear();
      for (std::uint32_t const node : level) {
        std::uint32_t const name = source.nodes[node].name;
        std::uint64_t const above = leaders_[parents_[node]];
        siblings.push_back({above << 32 | (name < names.size() ? names[name] : 0xffffffffu), node});
      }
      std::sort(siblings.begin(), siblings.end());
      for (std::size_t i = 1; i < siblings.size(); ++i)
        if (siblings[i].first == siblings[i - 1].first)
          leaders_[siblings[i].second] = leaders_[siblings[i - 1].second];
    }
  }

  bool leads(std::size_t node) const noexcept { return kept_[node] && leaders_[node] == node; }

  void number_rows() {
    // A leader comes after the leader of its parent, so a parent's numbers are final before a
    // child's.
    vec<std::uint32_t> sizes(nodes(), 1);
    std::size_t count = 1;
    for (std::size_t i = nodes(); --i > 0;) {
      if (!leads(i)) continue;
      sizes[leaders_[parents_[i]]] += sizes[i];
      ++count;
    }
    first_nodes_.resize(count);
    row_parents_.resize(count);
    sizes_.resize(count);
    rows_of_nodes_.resize(nodes());
    vec<std::uint32_t> next(nodes(), 1);  // the row of the next child
    sizes_[0] = sizes[0];
    for (std::size_t i = 1; i < nodes(); ++i) {
      std::uint32_t const above = leaders_[parents_[i]];
      if (leads(i)) {
        std::uint32_t const row = next[above];
        next[above] += sizes[i];
        next[i] = row + 1;
        rows_of_nodes_[i] = row;
        first_nodes_[row] = static_cast<std::uint32_t>(i);
        row_parents_[row] = rows_of_nodes_[above];
        sizes_[row] = sizes[i];
      } else {
        rows_of_nodes_[i] = rows_of_nodes_[kept_[i] ? leaders_[i] : parents_[i]];
      }
    }
  }

  vec<std::uint32_t> parents_;
  vec<std::uint32_t> depths_;
  vec<bool> kept_;
  vec<std::uint32_t> leaders_;  ///< of each node the first node of its row
  vec<std::uint32_t> rows_of_nodes_;
  vec<std::uint32_t> first_nodes_;
  vec<std::uint32_t> row_parents_;
  vec<std::uint32_t> sizes_;  ///< of each row's subtree
};

}  // namespace detail
STRATA_END

#endif  // STRATA_ANALYSE_RANGE_ROWS_HPP
