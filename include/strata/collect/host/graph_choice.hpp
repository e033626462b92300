#include <strata/version.hpp>
#ifndef STRATA_COLLECT_HOST_GRAPH_CHOICE_HPP
#define STRATA_COLLECT_HOST_GRAPH_CHOICE_HPP

#include <strata/base/macros.hpp>
#include <strata/collect/host/period_finder.hpp>

#include <cstddef>
#include <cstdint>

STRATA_BEGIN

namespace detail {

/// The CUDA graph that a thread launches most, chosen while it launches: the first executable that
/// was launched `fewest` times. Each of its launches begins a step. Where several are launched
/// once in a step, any of them will do. Another one takes its place when it was launched `fewest`
/// times without the chosen one between: a program makes graphs anew, and has one for each batch
/// size. Threads: one at a time. Cost: some ns a launch of a graph.
class graph_choice {
 public:
  static constexpr std::uint32_t fewest = 8;

  /// An executable graph is about to be launched. Returns: `next` where that begins a step.
  STRATA_DETAIL_HOT_CODE
  step_change launch(std::uint64_t graph) noexcept {
    if (graph == graph_ && chosen_ != 0) {
      ++round_;
      return step_change::next;
    }
    candidate& one = candidates_[(graph ^ graph >> 6 ^ graph >> 12) % most];
    if (one.graph != graph || one.round != round_) {
      bool const is_free = one.round != round_ || one.launches == 0;
      if (!is_free && ++one.others < fewest) return step_change::none;
      one = {};
      one.graph = graph;
      one.round = round_;
    }
    if (++one.launches < fewest) return step_change::none;
    graph_ = graph;
    ++chosen_;
    ++round_;
    return step_change::next;
  }
  STRATA_DETAIL_END_CODE

  /// How many were chosen, one after the other.
  std::uint32_t chosen() const noexcept { return chosen_; }

 private:
  static constexpr std::size_t most = 64;

  struct candidate {
    std::uint64_t graph = 0;
    std::uint64_t round = 0;
    std::uint32_t launches = 0;  // in this round
    std::uint32_t others = 0;    // that have the same place
  };

  std::uint64_t graph_ = 0;
  std::uint64_t round_ = 1;  // a new one with each launch of the chosen one
  std::uint32_t chosen_ = 0;
  candidate candidates_[most];
};

}  // namespace detail

STRATA_END

#endif  // STRATA_COLLECT_HOST_GRAPH_CHOICE_HPP
