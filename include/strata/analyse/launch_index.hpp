#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_LAUNCH_INDEX_HPP
#define STRATA_ANALYSE_LAUNCH_INDEX_HPP

#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

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
    if (!std::is_sorted(launches_.begin(), launches_.end()))
      std::sort(launches_.begin(), launches_.end());
    if (!std::is_sorted(source.captured.begin(), source.captured.end())) {
      captured_ = source.captured;
      std::sort(captured_.begin(), captured_.end());
    }
  }
  launch_index(launch_index const&) = delete;
  launch_index& operator=(launch_index const&) = delete;

  /// Position in profile::launches, or none.
  std::uint32_t launch_of(std::uint32_t correlation) const noexcept {
    auto const at = std::lower_bound(
        launches_.begin(), launches_.end(), correlation,
        [](auto const& entry, std::uint32_t value) { return entry.first < value; });
    return at != launches_.end() && at->first == correlation ? at->second : none;
  }

  /// Node of the range that launched, the root where the launch is not known.
  std::uint32_t node_of(std::uint32_t correlation) const noexcept {
    std::uint32_t const launch = launch_of(correlation);
    return launch == none ? root_node : source_.launches[launch].node;
  }

  /// Node of the range that captured the kernel into a graph, or none.
  std::uint32_t capturing_node(kernel_record const& kernel) const noexcept {
    std::uint32_t const launch = launch_of(kernel.correlation);
    captured_record const wanted{kernel.graph_node, 0,
                                 launch == none ? kernel.begin : source_.launches[launch].begin};
    auto const& entries = captured_.empty() ? source_.captured : captured_;
    auto const after = std::upper_bound(entries.begin(), entries.end(), wanted);
    if (after == entries.begin()) return none;
    captured_record const& last = *(after - 1);
    return last.graph_node == kernel.graph_node ? last.node : none;
  }

 private:
  profile const& source_;
  vec<std::pair<std::uint32_t, std::uint32_t>> launches_;  ///< correlation and position
  vec<captured_record> captured_;  ///< only where the profile's are out of order
};

}  // namespace detail
STRATA_END

#endif  // STRATA_ANALYSE_LAUNCH_INDEX_HPP
