#include <strata/version.hpp>
#ifndef STRATA_DETAIL_LAUNCH_INDEX_HPP
#define STRATA_DETAIL_LAUNCH_INDEX_HPP

#include <strata/config.hpp>
#include <strata/profile.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

STRATA_BEGIN
namespace detail {

/// Which call into the driver caused the work of a record, and which range captured a graph's node.
/// Cost: one sort of the launches; O(log n) a question, less when asked again for the same.
class launch_index {
 public:
  static constexpr std::uint32_t none = 0xffffffffu;

  explicit launch_index(profile const& source) : source_(source) {
    launches_.reserve(source.launches.size());
    for (std::size_t i = 0; i < source.launches.size(); ++i) {
      launch_record const& launch = source.launches[i];
      if (launch.captured == 0)
        launches_.push_back({launch.correlation, static_cast<std::uint32_t>(i)});
    }
    sort(launches_);
    if (!std::is_sorted(source.captured.begin(), source.captured.end())) {
      captured_ = source.captured;
      std::sort(captured_.begin(), captured_.end());
    }
  }
  launch_index(launch_index const&) = delete;
  launch_index& operator=(launch_index const&) = delete;

  /// Position in profile::launches, or none.
  std::uint32_t launch_of(std::uint32_t correlation) const noexcept {
    return find(launches_, correlation, none);
  }

  /// Node of the range that launched, the root where the launch is not known.
  std::uint32_t node_of(std::uint32_t correlation) const noexcept {
    std::uint32_t const launch = launch_of(correlation);
    return launch == none ? root_node : source_.launches[launch].node;
  }

  /// Node of the range that captured this node of a graph, or none.
  std::uint32_t capturing_node(std::uint64_t graph_node) const noexcept {
    return find(captured_.empty() ? source_.captured : captured_, graph_node, none);
  }

 private:
  template <class Key>
  using pairs = std::vector<std::pair<Key, std::uint32_t>>;

  template <class Key>
  static void sort(pairs<Key>& entries) {
    if (!std::is_sorted(entries.begin(), entries.end())) std::sort(entries.begin(), entries.end());
  }

  template <class Key>
  static std::uint32_t find(pairs<Key> const& entries, Key key, std::uint32_t otherwise) noexcept {
    auto const at = std::lower_bound(
        entries.begin(), entries.end(), key,
        [](std::pair<Key, std::uint32_t> const& entry, Key value) { return entry.first < value; });
    return at != entries.end() && at->first == key ? at->second : otherwise;
  }

  profile const& source_;
  pairs<std::uint32_t> launches_;
  pairs<std::uint64_t> captured_;  ///< only where the profile's are out of order
};

}  // namespace detail
STRATA_END

#endif  // STRATA_DETAIL_LAUNCH_INDEX_HPP
