#include "rank_clocks.hpp"

#include <strata/base/macros.hpp>
#include "change_statistics.hpp"
#include "rank_run.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

STRATA_BEGIN
namespace detail {
namespace {

std::string key_of(rank_collective const& collective) {
  return collective.path + '\n' + collective.kernel;
}

/// The place of a step in a rank's samples; its number of steps where it has none.
std::size_t sample_of(rank_run const& run, std::uint32_t step) {
  auto const found = std::lower_bound(run.steps.begin(), run.steps.end(), step);
  bool const is_there = found != run.steps.end() && *found == step;
  return static_cast<std::size_t>((is_there ? found : run.steps.end()) - run.steps.begin());
}

/// How much later the ends of one collective are than those of the first rank, step by step.
void add_distances(rank_run const& first, rank_collective const& of_first, rank_run const& run,
                   rank_collective const& own, std::vector<double>& distances) {
  for (std::size_t i = 0; i < own.ends.size(); ++i) {
    std::size_t const sample = sample_of(first, run.steps[i]);
    if (sample >= of_first.ends.size() || own.ends[i] == 0 || of_first.ends[sample] == 0) continue;
    distances.push_back(static_cast<double>(own.ends[i] - of_first.ends[sample]));
  }
}

}  // namespace
}  // namespace detail

std::vector<rank_clock> join_clocks(std::vector<rank_run> const& runs) {
  std::vector<rank_clock> clocks(runs.size());
  if (runs.empty()) return clocks;
  rank_run const& first = runs.front();
  std::unordered_map<std::string, rank_collective const*> of_first;
  for (rank_collective const& collective : first.collectives)
    of_first.emplace(detail::key_of(collective), &collective);
  for (std::size_t r = 0; r < runs.size(); ++r) {
    std::vector<double> distances;
    for (rank_collective const& own : runs[r].collectives) {
      auto const found = of_first.find(detail::key_of(own));
      if (found != of_first.end())
        detail::add_distances(first, *found->second, runs[r], own, distances);
    }
    if (distances.empty()) continue;
    clocks[r].known = true;
    clocks[r].collectives = distances.size();
    clocks[r].ahead_ns = detail::median(distances);
    for (double& distance : distances) distance = std::abs(distance - clocks[r].ahead_ns);
    clocks[r].spread_ns = detail::median(std::move(distances));
  }
  return clocks;
}

STRATA_END
