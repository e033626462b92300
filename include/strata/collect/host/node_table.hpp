#include <strata/version.hpp>
#ifndef STRATA_COLLECT_HOST_NODE_TABLE_HPP
#define STRATA_COLLECT_HOST_NODE_TABLE_HPP

#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile/records.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

STRATA_BEGIN

namespace detail {

/// The call tree while it grows: a node for each (parent, name, index), shared by all threads,
/// never taken back. Bounded: in nodes, in indices of one name under one parent, and in depth; what
/// is beyond goes to a stand-in node. Threads: any.
class node_table {
 public:
  static constexpr std::size_t most_nodes = 262'144;
  static constexpr std::uint32_t most_indices = 4'096;
  static constexpr std::uint32_t most_depth = 128;

  struct node {
    std::uint32_t parent;
    std::uint32_t name;
    std::int64_t index;
    std::uint32_t depth;
    std::uint32_t indices;  // distinct indices seen; counted in the node without one
  };

  struct refusals {
    std::uint64_t nodes = 0;
    std::uint64_t indices = 0;
    std::uint64_t depth = 0;
  };

  /// The names of the stand-ins, for nodes too deep and for nodes too many.
  node_table(std::uint32_t deeper_name, std::uint32_t other_name)
      : deeper_name_(deeper_name), other_name_(other_name), slots_(4096, 0) {
    nodes_.push_back({root_node, 0, no_index, 0, 0});
  }

  /// The node of a call. Where a stand-in takes its place the refusal is counted, and `refused`
  /// set.
  std::uint32_t child(std::uint32_t parent, std::uint32_t name, std::int64_t index,
                      bool* refused = nullptr) noexcept {
    std::lock_guard<std::mutex> lock(mutex_);
    if (std::uint32_t const known = slots_[find(parent, name, index)]) return known;
    std::uint64_t* reason = nullptr;
    std::uint32_t const found = find_or_make(parent, name, index, reason);
    if (reason != nullptr) {
      ++*reason;
      if (refused != nullptr) *refused = true;
    }
    return found;
  }

  vec<node> nodes() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return nodes_;
  }

  refusals refused() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return refusals_;
  }

 private:
  std::size_t find(std::uint32_t parent, std::uint32_t name, std::int64_t index) const noexcept {
    std::uint64_t h = (std::uint64_t{parent} << 32 | name) * 0x9e3779b97f4a7c15u;
    h = (h ^ (h >> 29) ^ static_cast<std::uint64_t>(index)) * 0xbf58476d1ce4e5b9u;
    std::size_t const mask = slots_.size() - 1;
    auto at = static_cast<std::size_t>(h ^ (h >> 32)) & mask;
    while (slots_[at] != 0) {
      node const& n = nodes_[slots_[at]];
      if (n.parent == parent && n.name == name && n.index == index) break;
      at = (at + 1) & mask;
    }
    return at;
  }

  std::uint32_t find_or_make(std::uint32_t parent, std::uint32_t name, std::int64_t index,
                             std::uint64_t*& reason) {
    if (nodes_[parent].depth >= most_depth) {
      std::uint32_t const deeper =
          nodes_[parent].name == deeper_name_ ? parent : at(parent, deeper_name_, no_index, reason);
      reason = &refusals_.depth;
      return deeper;
    }
    if (index == no_index || index == any_index) return at(parent, name, index, reason);
    std::uint32_t const family = at(parent, name, no_index, reason);
    if (reason != nullptr) return family;  // a stand-in
    if (nodes_[family].indices >= most_indices) {
      std::uint32_t const any = at(parent, name, any_index, reason);
      if (reason == nullptr) reason = &refusals_.indices;
      return any;
    }
    std::uint32_t const made = at(parent, name, index, reason);
    if (reason == nullptr) ++nodes_[family].indices;
    return made;
  }

  /// The node, made if need be; the one stand-in below the root when there are too many.
  std::uint32_t at(std::uint32_t parent, std::uint32_t name, std::int64_t index,
                   std::uint64_t*& reason) {
    if (std::uint32_t const known = slots_[find(parent, name, index)]) return known;
    if (nodes_.size() + 1 >= most_nodes && !(parent == root_node && name == other_name_)) {
      std::uint32_t const other = at(root_node, other_name_, no_index, reason);
      reason = &refusals_.nodes;
      return other;
    }
    if (nodes_.size() * 2 > slots_.size()) {
      slots_.assign(slots_.size() * 2, 0);
      for (std::uint32_t i = 1; i < nodes_.size(); ++i) {
        slots_[find(nodes_[i].parent, nodes_[i].name, nodes_[i].index)] = i;
      }
    }
    auto const made = static_cast<std::uint32_t>(nodes_.size());
    nodes_.push_back({parent, name, index, nodes_[parent].depth + 1, 0});
    slots_[find(parent, name, index)] = made;
    return made;
  }

  mutable std::mutex mutex_;
  std::uint32_t deeper_name_;
  std::uint32_t other_name_;
  vec<std::uint32_t> slots_;  // open addressing, 0 is free: the root is never looked up
  vec<node> nodes_;
  refusals refusals_;
};

/// The nodes that one thread used last, so that the shared table is asked only for new ones.
/// Threads: one.
class child_cache {
 public:
  explicit child_cache(node_table& nodes) noexcept : nodes_(&nodes) {}

  std::uint32_t find(std::uint32_t parent, std::uint32_t name, std::int64_t index) noexcept {
    std::size_t const at =
        (parent * 31u + name * 7u + static_cast<std::size_t>(index)) & (entries - 1);
    entry& known = known_[at];
    if (known.parent == parent && known.name == name && known.index == index) return known.node;
    return ask(known, parent, name, index);
  }

 private:
  struct entry {
    std::uint32_t parent = 0;
    std::uint32_t name = 0;  // 0: free
    std::int64_t index = 0;
    std::uint32_t node = 0;
  };
  static constexpr std::size_t entries = 256;

  STRATA_DETAIL_COLD std::uint32_t ask(entry& known, std::uint32_t parent, std::uint32_t name,
                                       std::int64_t index) noexcept {
    bool refused = false;
    std::uint32_t const node = nodes_->child(parent, name, index, &refused);
    if (!refused) known = {parent, name, index, node};  // each refused call is counted
    return node;
  }

  node_table* nodes_;
  entry known_[entries];
};

}  // namespace detail

STRATA_END

#endif  // STRATA_COLLECT_HOST_NODE_TABLE_HPP
