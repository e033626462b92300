#include <strata/version.hpp>
#ifndef STRATA_COLLECT_HOST_CHILD_CACHE_HPP
#define STRATA_COLLECT_HOST_CHILD_CACHE_HPP

#include <strata/base/macros.hpp>
#include <strata/collect/host/node_table.hpp>

#include <cstddef>
#include <cstdint>

STRATA_BEGIN

namespace detail {

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

#endif  // STRATA_COLLECT_HOST_CHILD_CACHE_HPP
