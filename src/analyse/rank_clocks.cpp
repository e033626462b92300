#include "rank_clocks.hpp"

#include <strata/base/macros.hpp>
#include <strata/profile.hpp>
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

/// How much later a collective ends than on the first rank.
struct end_distance {
  std::int64_t end;  ///< by the rank's clock
  double ns;
};

/// Of one collective, step by step.
void add_distances(rank_run const& first, rank_collective const& of_first, rank_run const& run,
                   rank_collective const& own, std::vector<end_distance>& distances) {
  for (std::size_t i = 0; i < own.ends.size(); ++i) {
    std::size_t const sample = sample_of(first, run.steps[i]);
    if (sample >= of_first.ends.size() || own.ends[i] == 0 || of_first.ends[sample] == 0) continue;
    distances.push_back({own.ends[i], static_cast<double>(own.ends[i] - of_first.ends[sample])});
  }
}

/// Sets how far a clock is ahead by the median, and by how much single collectives differ from it.
void find_offset(std::vector<end_distance> const& distances, rank_clock& clock) {
  clock.ahead_ns = 0;
  std::vector<double> left;
  for (end_distance const& distance : distances)
    left.push_back(distance.ns - clock.ahead_at(distance.end));
  clock.ahead_ns = median(left);
  for (double& ns : left) ns = std::abs(ns - clock.ahead_ns);
  clock.spread_ns = median(std::move(left));
}

/// The median slope between distances that lie half of the run apart.
/// Requires: they are in the order of the ends.
double drift_of(std::vector<end_distance> const& distances) {
  std::size_t const half = distances.size() / 2;
  std::vector<double> slopes;
  for (std::size_t i = 0; i < half; ++i) {
    end_distance const& later = distances[distances.size() - half + i];
    auto const apart = static_cast<double>(later.end - distances[i].end);
    if (apart > 0.0) slopes.push_back((later.ns - distances[i].ns) / apart);
  }
  return slopes.empty() ? 0.0 : median(std::move(slopes));
}

/// A drift is believed where collectives lie closer to it than to a clock without one.
rank_clock clock_of(std::vector<end_distance> distances) {
  constexpr std::size_t fewest_of_drift = 8;  // chosen
  rank_clock steady;
  steady.known = true;
  steady.collectives = distances.size();
  std::sort(distances.begin(), distances.end(),
            [](end_distance const& a, end_distance const& b) { return a.end < b.end; });
  steady.middle = distances[distances.size() / 2].end;
  rank_clock drifting = steady;
  find_offset(distances, steady);
  if (distances.size() < fewest_of_drift) return steady;
  drifting.drift = drift_of(distances);
  find_offset(distances, drifting);
  return drifting.spread_ns < steady.spread_ns / 2 ? drifting : steady;
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
    std::vector<detail::end_distance> distances;
    for (rank_collective const& own : runs[r].collectives) {
      auto const found = of_first.find(detail::key_of(own));
      if (found != of_first.end())
        detail::add_distances(first, *found->second, runs[r], own, distances);
    }
    if (!distances.empty()) clocks[r] = detail::clock_of(std::move(distances));
  }
  return clocks;
}

std::vector<rank_clock> join_hosts(std::vector<rank_run> const& runs) {
  std::vector<rank_clock> clocks = join_clocks(runs);
  for (std::size_t r = 0; r < runs.size(); ++r)
    if (runs[r].host == runs[0].host) clocks[r] = {};
  return clocks;
}

void set_clock(profile& run, rank_clock const& clock) {
  std::int64_t const began = run.environment.started_at_unix_ns;
  auto const ahead = [&](std::int64_t time) {
    return static_cast<std::int64_t>(std::llround(clock.ahead_at(began + time)));
  };
  std::int64_t const at_begin = ahead(0);
  auto const set = [&](std::int64_t& time) {
    if (time != lost_time) time -= ahead(time) - at_begin;
  };
  auto const set_all = [&](auto& records) {
    for (auto& record : records) {
      set(record.begin);
      set(record.end);
    }
  };
  run.environment.started_at_unix_ns = began - at_begin;
  set_all(run.steps);
  set_all(run.early_steps);
  set_all(run.ranges);
  set_all(run.spans);
  set_all(run.launches);
  set_all(run.kernels);
  set_all(run.copies);
  set_all(run.synchronizations);
  set_all(run.overheads);
  set_all(run.migrations);
  for (memory_record& record : run.memory) set(record.time);
  set(run.end);
}

STRATA_END
