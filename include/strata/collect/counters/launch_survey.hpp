#include <strata/version.hpp>
#ifndef STRATA_COLLECT_COUNTERS_LAUNCH_SURVEY_HPP
#define STRATA_COLLECT_COUNTERS_LAUNCH_SURVEY_HPP

#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/collect/host/node_table.hpp>
#include <strata/collect/host/recorder.hpp>
#include <strata/profile/records.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

STRATA_BEGIN
namespace detail {

/// Which ranges put work on the device themselves, as far as the session tells: the others need no
/// counters of their own.
class launch_survey {
 public:
  /// Nothing is known.
  launch_survey() = default;

  /// Of what the session recorded so far. Cost: O(records).
  explicit launch_survey(recorder& of) {
    if (!of.logs_are_whole()) return;
    mark(root_node, launches::none);
    of.each_record([&](range_record const& r) { mark(r.node, launches::none); },
                   [&](launch_record const& l) {
                     if (is_work(l.kind)) mark(l.node, launches::some);
                   });
    vec<node_table::node> const nodes = of.state().nodes.nodes();
    std::size_t pushes = 1;  // the range that a step begins in
    of.each_record(
        [&](range_record const& r) {
          // The range, and the one around it again.
          if (may_launch(r.node)) ++pushes;
          if (r.node < nodes.size() && may_launch(nodes[r.node].parent)) ++pushes;
        },
        [](launch_record const&) {});
    std::size_t const steps = (std::max)(of.steps_recorded(), std::size_t{1});
    pushes_ = (pushes + steps - 1) / steps;
  }

  /// False for a range that is known to launch nothing itself.
  bool may_launch(std::uint32_t node) const noexcept {
    return node >= known_.size() || known_[node] != launches::none;
  }

  /// How often a step comes into a range that launches, on average; 0: unknown.
  std::size_t pushes() const noexcept { return pushes_; }

 private:
  enum class launches : unsigned char { unknown, none, some };

  void mark(std::uint32_t node, launches what) {
    if (node >= known_.size()) known_.resize(node + std::size_t{1}, launches::unknown);
    if (known_[node] != launches::some) known_[node] = what;
  }

  vec<launches> known_;  // by node; beyond the end: unknown
  std::size_t pushes_ = 0;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_COUNTERS_LAUNCH_SURVEY_HPP
