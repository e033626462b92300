#include <strata/version.hpp>
#ifndef STRATA_LIVE_RANGE_KINDS_HPP
#define STRATA_LIVE_RANGE_KINDS_HPP

#include <strata/base/macros.hpp>
#include <strata/profile.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

STRATA_BEGIN
namespace live {

/// The kind of each of these nodes: one path without its indices is one kind. From 0.
inline std::vector<std::uint32_t> range_kinds(profile const& source,
                                              std::vector<std::uint32_t> const& nodes) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> paths;
  std::vector<std::uint32_t> path_of(source.nodes.size(), 0);
  for (std::size_t i = 1; i < source.nodes.size(); ++i) {  // parents come first
    profile_node const& node = source.nodes[i];
    auto const next = static_cast<std::uint32_t>(paths.size() + 1);
    path_of[i] = paths.try_emplace({path_of[node.parent], node.name}, next).first->second;
  }
  std::map<std::uint32_t, std::uint32_t> kinds;
  std::vector<std::uint32_t> made;
  for (std::uint32_t const node : nodes)
    made.push_back(
        kinds.try_emplace(path_of[node], static_cast<std::uint32_t>(kinds.size())).first->second);
  return made;
}

}  // namespace live
STRATA_END

#endif  // STRATA_LIVE_RANGE_KINDS_HPP
