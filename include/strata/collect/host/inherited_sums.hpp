#include <strata/version.hpp>
#ifndef STRATA_COLLECT_HOST_INHERITED_SUMS_HPP
#define STRATA_COLLECT_HOST_INHERITED_SUMS_HPP

#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile.hpp>

#include <cstddef>
#include <cstdint>

STRATA_BEGIN

namespace detail {

/// The host time of one thread's calls directly below places that it inherited from others.
/// Threads: one at a time.
class inherited_sums {
 public:
  /// Units: ticks. `from` is the range that the thread itself was in.
  void add(std::uint32_t node, std::uint32_t from, std::int64_t duration) {
    if (node >= last_of_node_.size()) last_of_node_.resize(node + std::size_t{1}, 0);
    std::uint32_t at = last_of_node_[node];  // position + 1
    while (at != 0 && sums_[at - 1].from != from) at = earlier_[at - 1];
    if (at == 0) {
      earlier_.push_back(last_of_node_[node]);
      sums_.push_back({node, from, 0});
      last_of_node_[node] = at = static_cast<std::uint32_t>(sums_.size());
    }
    sums_[at - 1].total += duration;
  }

  void copy_to(vec<inherited_time>& to) const { to.insert(to.end(), sums_.begin(), sums_.end()); }

  void clear() noexcept {
    sums_.clear();
    earlier_.clear();
    last_of_node_.clear();
  }

 private:
  vec<inherited_time> sums_;
  vec<std::uint32_t> earlier_;  // of the same node
  vec<std::uint32_t> last_of_node_;
};

}  // namespace detail

STRATA_END

#endif  // STRATA_COLLECT_HOST_INHERITED_SUMS_HPP
