#include <strata/version.hpp>
#ifndef STRATA_COLLECT_CUDA_GRAPH_CAPTURES_HPP
#define STRATA_COLLECT_CUDA_GRAPH_CAPTURES_HPP

#include <strata/base/clock.hpp>
#include <strata/base/containers.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile/records.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>

STRATA_BEGIN

namespace detail {

/// Which range captured which node of a CUDA graph. Bounded: graphs beyond the limit are not
/// followed. Threads: any.
class graph_captures {
 public:
  static constexpr std::size_t most_nodes = std::size_t{1} << 20;

  void add(std::uint64_t graph_node, std::uint32_t range) noexcept {
    std::lock_guard<std::mutex> lock(mutex_);
    if (graph_node != 0 && has_room()) last_[graph_node] = {range, first_};
  }

  /// An instantiated graph's node stands for the node it was cloned from.
  void copy(std::uint64_t from, std::uint64_t to) noexcept {
    std::lock_guard<std::mutex> lock(mutex_);
    capture const* const original = last_.find(from);
    if (original == nullptr || to == 0 || !has_room()) return;
    std::uint32_t const range = original->range;
    last_[to] = {range, first_};
  }

  /// From now on the node stands for another one: the executable graph was updated. Where the other
  /// one is not known, or there is no room, it stands for none.
  /// Units: `now` in ticks.
  void update(std::uint64_t from, std::uint64_t node, std::int64_t now) noexcept {
    std::lock_guard<std::mutex> lock(mutex_);
    capture const* const original = last_.find(from);
    capture const next{original == nullptr || !has_room() ? unknown : original->range, now};
    capture* const present = last_.find(node);
    if (present == nullptr) {
      if (next.range != unknown && node != 0) last_[node] = next;
    } else if (present->range != next.range) {
      if (has_room()) former_.push_back({node, present->range, present->since});
      *present = next;
    }
  }

  /// By graph node and time, in ns since the session began.
  vec<captured_record> sorted(tick_converter const& ticks) const {
    vec<captured_record> records;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      records = former_;
      records.reserve(former_.size() + last_.size());
      for (auto const& each : last_.entries())
        records.push_back({each.first, each.second.range, each.second.since});
    }
    for (captured_record& each : records)
      if (each.since != first_) each.since = ticks.to_ns(each.since);
    std::sort(records.begin(), records.end());
    return records;
  }

 private:
  static constexpr std::uint32_t unknown = 0xffffffffu;  // as launch_index::none
  static constexpr std::int64_t first_ = (std::numeric_limits<std::int64_t>::min)();

  struct capture {
    std::uint32_t range;
    std::int64_t since;
  };

  bool has_room() const noexcept { return last_.size() + former_.size() < most_nodes; }

  mutable std::mutex mutex_;
  flat_map<std::uint64_t, capture> last_;
  vec<captured_record> former_;
};

}  // namespace detail

STRATA_END

#endif  // STRATA_COLLECT_CUDA_GRAPH_CAPTURES_HPP
