#include <strata/version.hpp>
#ifndef STRATA_DETAIL_GRAPH_CAPTURES_HPP
#define STRATA_DETAIL_GRAPH_CAPTURES_HPP

#include <strata/config.hpp>
#include <strata/detail/flat_map.hpp>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

STRATA_BEGIN

namespace detail {

/// Which range captured which node of a CUDA graph. Bounded: graphs beyond the limit are not
/// followed. Threads: any.
class graph_captures {
 public:
  static constexpr std::size_t most_nodes = std::size_t{1} << 20;

  void add(std::uint64_t graph_node, std::uint32_t range) noexcept {
    std::lock_guard<std::mutex> lock(mutex_);
    if (ranges_.size() < most_nodes) ranges_[graph_node] = range;
  }

  /// An instantiated graph's node stands for the node it was cloned from.
  void copy(std::uint64_t from, std::uint64_t to) noexcept {
    std::lock_guard<std::mutex> lock(mutex_);
    std::uint32_t const* const original = ranges_.find(from);
    if (original == nullptr || ranges_.size() >= most_nodes) return;
    std::uint32_t const range = *original;
    ranges_[to] = range;
  }

  std::vector<std::pair<std::uint64_t, std::uint32_t>> sorted() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return ranges_.entries();
  }

 private:
  mutable std::mutex mutex_;
  flat_map<std::uint64_t, std::uint32_t> ranges_;
};

}  // namespace detail

STRATA_END

#endif  // STRATA_DETAIL_GRAPH_CAPTURES_HPP
