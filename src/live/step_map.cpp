#include "step_map.hpp"

#include <strata/base/macros.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

STRATA_BEGIN
namespace live {

std::int64_t step_map::length() const noexcept {
  std::int64_t end = 0;
  for (mapped_work const& each : work) end = std::max(end, each.end);
  return end;
}

std::uint32_t step_map::owners() const noexcept {
  std::uint32_t count = 0;
  for (mapped_work const& each : work) count = std::max(count, each.owner + 1);
  return count;
}

namespace {

/// What a step has moved at a time since its begin, by its map: linear between the borders of work.
class course {
 public:
  explicit course(step_map const& map) {
    std::map<std::int64_t, double> changes;  // of the rate
    for (mapped_work const& each : map.work) {
      if (each.end <= each.begin) continue;
      double const rate = each.bytes / static_cast<double>(each.end - each.begin);
      changes[each.begin] += rate;
      changes[each.end] -= rate;
    }
    double rate = 0.0;
    double sum = 0.0;
    for (auto const& [time, change] : changes) {
      if (!points_.empty()) sum += rate * static_cast<double>(time - points_.back().time);
      rate += change;
      points_.push_back({time, sum, rate});
    }
  }

  double at(std::int64_t time) const noexcept {
    auto const behind = std::upper_bound(points_.begin(), points_.end(), time,
                                         [](std::int64_t t, point const& p) { return t < p.time; });
    if (behind == points_.begin()) return 0.0;
    point const& before = *(behind - 1);
    return before.sum + before.rate * static_cast<double>(time - before.time);
  }

 private:
  struct point {
    std::int64_t time;
    double sum;
    double rate;
  };
  std::vector<point> points_;
};

/// The map with so many sixteenths of its pauses.
step_map with_pauses(step_map map, int sixteenths) {
  std::int64_t end = 0;
  std::int64_t less = 0;
  for (mapped_work& each : map.work) {
    if (each.begin > end) less += (each.begin - end) / 16 * (16 - sixteenths);
    end = std::max(end, each.end);
    each.begin -= less;
    each.end -= less;
  }
  return map;
}

class mapper {
 public:
  mapper(step_map const& map, sampled_steps const& steps, samples const& given)
      : steps_(steps), given_(given) {
    take(map);
  }

  mapped_traffic run() {
    if (given_.size() == 0 || map_.work.empty()) return {};
    shorten_pauses();
    align();
    std::vector<std::uint32_t> groups(map_.owners());
    std::iota(groups.begin(), groups.end(), 0u);
    if (!can_be_laid(groups)) return {};
    sample_split best = split(groups);
    merge(groups, best);
    std::map<std::uint32_t, traffic_group> found;
    for (std::uint32_t owner = 0; owner < groups.size(); ++owner)
      if (has_work(owner)) found[groups[owner]].owners.push_back(owner);
    for (auto& [group, traffic] : found) {
      traffic.bytes = best.value(group, steps_.counter);
      traffic.plus_minus = best.error(group, steps_.counter);
      made_.groups.push_back(std::move(traffic));
    }
    made_.unexplained = best.unexplained[steps_.counter];
    made_.total = best.total[steps_.counter];
    made_.split = std::move(best);
    return std::move(made_);
  }

 private:
  /// A step looks like its map where what was sampled follows what the map has, as far as this.
  static constexpr double least_likeness = 0.7;     // chosen
  static constexpr std::int64_t least_samples = 6;  // chosen; of fewer any place looks alike
  /// A group stays separate if its interval is at most this part of its value, or if it is at
  /// most this part of all.
  static constexpr double wide_part = 0.5;  // chosen
  static constexpr double little = 0.01;    // chosen

  bool has_work(std::uint32_t owner) const noexcept {
    return std::any_of(map_.work.begin(), map_.work.end(),
                       [&](mapped_work const& each) { return each.owner == owner; });
  }

  std::int64_t interval() const noexcept {
    auto const& times = given_.times;
    return std::max<std::int64_t>(
        1, (times.back().end - times.front().begin) / static_cast<std::int64_t>(times.size()));
  }

  /// How alike the samples from `begin` on are to the map: the correlation of both.
  double likeness(std::int64_t begin, std::int64_t margin) const noexcept {
    auto const& times = given_.times;
    auto first =
        std::lower_bound(times.begin(), times.end(), begin - margin,
                         [](sample_span const& sample, std::int64_t t) { return sample.end <= t; });
    double n = 0.0, x = 0.0, y = 0.0, xx = 0.0, yy = 0.0, xy = 0.0;
    for (; first != times.end() && first->begin < begin + length_ + margin; ++first) {
      double const seen =
          given_.at(static_cast<std::size_t>(first - times.begin()))[steps_.counter];
      double const expected = course_.at(first->end - begin) - course_.at(first->begin - begin);
      n += 1.0;
      x += expected;
      y += seen;
      xx += expected * expected;
      yy += seen * seen;
      xy += expected * seen;
    }
    double const spread = (n * xx - x * x) * (n * yy - y * y);
    return spread > 0.0 ? (n * xy - x * y) / std::sqrt(spread) : 0.0;
  }

  void take(step_map map) {
    map_ = std::move(map);
    length_ = map_.length();
    course_ = course(map_);
  }

  bool is_short() const noexcept { return length_ < least_samples * interval(); }

  /// A trace makes launches later, so that pauses are shorter without it: as short as samples look
  /// most like the map.
  void shorten_pauses() {
    if (is_short() || steps_.begins.empty()) return;
    constexpr std::size_t most_steps = 32;
    constexpr double least_gain = 0.01;  // of the likeness, chosen
    step_map const traced = map_;
    std::size_t const stride = 1 + steps_.begins.size() / most_steps;
    double as_traced = 0.0;
    double most = 0.0;
    int best = 16;
    for (int sixteenths = 16; sixteenths >= 0; --sixteenths) {
      take(with_pauses(traced, sixteenths));
      double sum = 0.0;
      std::size_t count = 0;
      for (std::size_t i = 0; i < steps_.begins.size(); i += stride, ++count)
        sum += find_begin(i).likeness;
      double const likeness = sum / static_cast<double>(count);
      if (sixteenths == 16) as_traced = likeness + least_gain;
      if (!(likeness > std::max(most, as_traced))) continue;
      most = likeness;
      best = sixteenths;
    }
    take(with_pauses(traced, best));
  }

  struct place {
    std::int64_t begin;
    double likeness;
  };

  /// The begin of a step. Neighbours are seen too, half of the way to them at most.
  place find_begin(std::size_t i) const {
    std::int64_t const step = std::max<std::int64_t>({1, interval() / 8, steps_.tolerance_ns / 64});
    std::int64_t const about = steps_.begins[i];
    std::int64_t room = interval();
    if (i + 1 < steps_.begins.size())
      room =
          std::min(room, std::max<std::int64_t>(0, (steps_.begins[i + 1] - about - length_) / 2));
    place best{about, -1.0};
    for (std::int64_t by = 0; by <= steps_.tolerance_ns; by += step) {
      for (std::int64_t const begin : {about - by, about + by}) {
        double const now = likeness(begin, room);
        if (now > best.likeness) best = {begin, now};
      }
    }
    return best;
  }

  /// Finds the begin of each step.
  void align() {
    if (is_short()) {
      made_.begins = steps_.begins;
      fits_.assign(steps_.begins.size(), true);
      left_ns_ = steps_.tolerance_ns;
      return;
    }
    left_ns_ = map_.has_bytes ? interval() / 4 : interval();
    for (std::size_t i = 0; i < steps_.begins.size(); ++i) {
      place const best = find_begin(i);
      made_.begins.push_back(best.begin);
      bool const fits = best.likeness >= least_likeness;
      if (!fits) made_.misfits.push_back(static_cast<std::uint32_t>(i));
      fits_.push_back(fits);
    }
  }

  std::vector<sampled_work> lay(std::vector<std::uint32_t> const& groups) const {
    std::vector<sampled_work> work;
    for (std::size_t i = 0; i < made_.begins.size(); ++i) {
      if (!fits_[i]) continue;
      std::int64_t const begin = made_.begins[i];
      for (std::size_t k = 0; k < map_.work.size(); ++k) {
        mapped_work const& each = map_.work[k];
        work.push_back({begin + each.begin, begin + each.end, groups[each.owner],
                        static_cast<std::uint32_t>(k)});
      }
    }
    return work;
  }

  bool can_be_laid(std::vector<std::uint32_t> const& groups) const {
    std::vector<sample_span> times;
    for (sampled_work const& each : lay(groups)) times.push_back({each.begin, each.end});
    return can_run_together(given_.times, times) && can_run_together(times, times);
  }

  /// Splits the samples, with owners as groups say.
  sample_split split(std::vector<std::uint32_t> const& groups) const {
    std::vector<sample_span> recorded;
    for (std::size_t i = 0; i < made_.begins.size(); ++i)
      if (fits_[i]) recorded.push_back({made_.begins[i], made_.begins[i] + length_});
    // What is left of the times of a step when it is aligned.
    std::int64_t const error = std::max<std::int64_t>(8, left_ns_);
    std::vector<sampled_work> work = lay(groups);
    sample_split made = split_samples(given_, work, groups.size(), error, std::move(recorded));
    add_border_errors(made, std::move(work), border_ns + left_ns_ / 2);
    return made;
  }

  /// Whether the interval of one group is wider than that of another, as parts of their values.
  bool says_less(sample_split const& of, std::uint32_t one, std::uint32_t other) const {
    return of.error(one, steps_.counter) * of.value(other, steps_.counter) >
           of.error(other, steps_.counter) * of.value(one, steps_.counter);
  }

  /// As long as a group says little, it becomes one with that neighbour which says least, since
  /// what the one has too much of the other lacks. In each round all such groups do.
  void merge(std::vector<std::uint32_t>& groups, sample_split& best) const {
    constexpr int max_rounds = 15;
    for (int round = 0; round < max_rounds; ++round) {
      std::vector<std::uint32_t> wide;
      for (std::uint32_t group = 0; group < groups.size(); ++group) {
        double const value = best.value(group, steps_.counter);
        double const error = best.error(group, steps_.counter);
        bool const counts = std::max(value, error) > little * best.total[steps_.counter];
        if (counts && error > wide_part * value) wide.push_back(group);
      }
      std::vector<std::uint32_t> next = groups;
      for (std::uint32_t const group : wide) {
        std::uint32_t widest = group;
        for (std::uint32_t const other : neighbours(groups, group))
          if (widest == group || says_less(best, other, widest)) widest = other;
        std::uint32_t const a = next[group];
        std::uint32_t const b = next[widest];
        for (std::uint32_t& each : next)
          if (each == a || each == b) each = std::min(a, b);
      }
      if (next == groups) return;
      groups = std::move(next);
      best = split(groups);
    }
  }

  /// Groups whose work is before or behind that of a group.
  std::vector<std::uint32_t> neighbours(std::vector<std::uint32_t> const& groups,
                                        std::uint32_t of) const {
    std::vector<std::uint32_t> found;
    for (std::size_t i = 1; i < map_.work.size(); ++i) {
      std::uint32_t const a = groups[map_.work[i - 1].owner];
      std::uint32_t const b = groups[map_.work[i].owner];
      if (a == b || (a != of && b != of)) continue;
      std::uint32_t const other = a == of ? b : a;
      if (std::find(found.begin(), found.end(), other) == found.end()) found.push_back(other);
    }
    return found;
  }

  step_map map_;
  sampled_steps const& steps_;
  samples const& given_;
  std::int64_t length_ = 0;
  course course_{map_};
  std::vector<bool> fits_;
  std::int64_t left_ns_ = 0;  // that a step may be off by
  mapped_traffic made_;
};

}  // namespace

mapped_traffic map_traffic(step_map const& map, sampled_steps const& steps, samples const& given) {
  return mapper(map, steps, given).run();
}

}  // namespace live
STRATA_END
