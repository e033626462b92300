#include "drift.hpp"

#include <strata/base/macros.hpp>
#include "cholesky.hpp"
#include "median.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

STRATA_BEGIN
namespace live {
namespace {

/// A change below this part is no drift: clocks and inputs vary.
constexpr double least_part = 0.05;  // chosen

/// Of a step.
constexpr std::size_t most_samples = 48;

/// A step of the map as a sequence of times in which one owner decides how long they last. Its work
/// without a pause between is one.
class course_of_owners {
 public:
  explicit course_of_owners(step_map const& map) : owners_(map.owners()) {
    struct change {
      std::int64_t at;
      std::uint32_t owner;
      int begins;  ///< 1, or -1: it ends
      double rate;
    };
    std::vector<change> changes;
    for (mapped_work const& each : map.work) {
      if (each.end <= each.begin) continue;
      double const rate = each.bytes / static_cast<double>(each.end - each.begin);
      changes.push_back({each.begin, each.owner, 1, rate});
      changes.push_back({each.end, each.owner, -1, -rate});
    }
    std::sort(changes.begin(), changes.end(),
              [](change const& a, change const& b) { return a.at < b.at; });
    double const shortest = static_cast<double>(map.length()) / 4096.0;  // pause that counts
    std::vector<int> running(owners_, 0);
    std::vector<double> rates(owners_, 0.0);
    for (std::size_t i = 0; i < changes.size(); ++i) {
      change const& now = changes[i];
      running[now.owner] += now.begins;
      rates[now.owner] = running[now.owner] == 0 ? 0.0 : rates[now.owner] + now.rate;
      if (i + 1 == changes.size() || changes[i + 1].at == now.at) continue;
      std::uint32_t leader = owners_;  // none: a pause
      for (std::uint32_t k = 0; k < owners_; ++k)
        if (running[k] != 0 && (leader == owners_ || rates[k] > rates[leader])) leader = k;
      auto const length = static_cast<double>(changes[i + 1].at - now.at);
      bool const is_short = leader == owners_ && length < shortest;
      bool const goes_on = !parts_.empty() && (is_short || leader == parts_.back().leader);
      if (!goes_on) parts_.push_back({leader, 0.0, {}});
      parts_.back().length += length;
      for (std::uint32_t k = 0; k < owners_; ++k)
        if (rates[k] > 0.0) parts_.back().add(k, rates[k] * length);
    }
  }

  /// As a part of the step.
  double share(std::uint32_t leader) const {
    double own = 0.0;
    double all = 0.0;
    for (part const& each : parts_) {
      all += each.length;
      if (each.leader == leader) own += each.length;
    }
    return all > 0.0 ? own / all : 0.0;
  }
  std::uint32_t owners() const noexcept { return owners_; }

  struct part {
    std::uint32_t leader;  ///< whose length it is; `owners()`: a pause
    double length;
    std::vector<std::pair<std::uint32_t, double>> bytes;  ///< by owner

    void add(std::uint32_t owner, double more) {
      for (auto& [known, sum] : bytes)
        if (known == owner) {
          sum += more;
          return;
        }
      bytes.push_back({owner, more});
    }
  };
  std::vector<part> const& parts() const noexcept { return parts_; }

 private:
  std::uint32_t owners_;
  std::vector<part> parts_;
};

/// What the owners are like in a block of steps: lengths and bytes, of those in the map. Behind the
/// lengths of the owners is that of the pauses.
struct shape {
  std::vector<double> lengths;
  std::vector<double> bytes;
};

/// The course with a shape: what each owner has moved by a time, and how that changes.
class shaped_course {
 public:
  shaped_course(course_of_owners const& course, shape const& given)
      : course_(course), shape_(given), n_(course.owners()) {
    std::size_t const width = 2 * n_ + 1;
    std::vector<double> sums(width, 0.0);  // the map's time by leader, then bytes by owner
    double at = 0.0;
    for (course_of_owners::part const& each : course.parts()) {
      times_.push_back(at);
      sums_.insert(sums_.end(), sums.begin(), sums.end());
      at += each.length * given.lengths[each.leader];
      sums[each.leader] += each.length;
      for (auto const& [owner, bytes] : each.bytes) sums[n_ + 1 + owner] += bytes;
    }
    times_.push_back(at);
    sums_.insert(sums_.end(), sums.begin(), sums.end());
  }

  double length() const noexcept { return times_.back(); }

  /// Adds, times `sign`, to a sum and to its derivatives by lengths and bytes, and by the begin.
  void add(double time, double sign, double& sum, std::vector<double>& slopes,
           double& by_begin) const {
    if (time <= 0.0) return;
    std::size_t const width = 2 * n_ + 1;
    auto const i = static_cast<std::size_t>(std::upper_bound(times_.begin(), times_.end(), time) -
                                            times_.begin() - 1);
    double const* const before = sums_.data() + i * width;
    bool const is_over = i + 1 == times_.size();
    double inside = 0.0;
    double rate = 0.0;
    course_of_owners::part const* now = is_over ? nullptr : &course_.parts()[i];
    if (now != nullptr && times_[i + 1] > times_[i])
      inside = (time - times_[i]) / (times_[i + 1] - times_[i]);
    for (std::size_t k = 0; k < n_; ++k) {
      sum += sign * shape_.bytes[k] * before[n_ + 1 + k];
      slopes[n_ + 1 + k] += sign * before[n_ + 1 + k];
    }
    if (now == nullptr) return;
    for (auto const& [owner, bytes] : now->bytes) {
      sum += sign * shape_.bytes[owner] * inside * bytes;
      slopes[n_ + 1 + owner] += sign * inside * bytes;
      rate += shape_.bytes[owner] * bytes / (times_[i + 1] - times_[i]);
    }
    by_begin -= sign * rate;
    for (std::size_t k = 0; k <= n_; ++k)
      slopes[k] -= sign * rate * (before[k] + (now->leader == k ? inside * now->length : 0.0));
  }

  /// What a step has moved by a time.
  double at(double time) const {
    if (time <= 0.0) return 0.0;
    std::size_t const width = 2 * n_ + 1;
    auto const i = static_cast<std::size_t>(std::upper_bound(times_.begin(), times_.end(), time) -
                                            times_.begin() - 1);
    double sum = 0.0;
    for (std::size_t k = 0; k < n_; ++k) sum += shape_.bytes[k] * sums_[i * width + n_ + 1 + k];
    if (i + 1 == times_.size()) return sum;
    double const inside = (time - times_[i]) / (times_[i + 1] - times_[i]);
    for (auto const& [owner, bytes] : course_.parts()[i].bytes)
      sum += shape_.bytes[owner] * inside * bytes;
    return sum;
  }

 private:
  course_of_owners const& course_;
  shape const& shape_;
  std::size_t n_;
  std::vector<double> times_;
  std::vector<double> sums_;
};

/// Finds the shape of blocks of steps.
class shape_finder {
 public:
  /// How far lengths and bytes are expected to be from those of the map.
  struct expectation {
    double lengths;
    double bytes;
  };

  shape_finder(step_map const& map, sampled_steps const& steps, samples const& given,
               expectation const& expected)
      : course_(map),
        steps_(steps),
        given_(given),
        expected_(expected),
        n_(course_.owners()),
        width_(2 * n_ + 1) {
    for (std::uint32_t k = 0; k <= n_; ++k) shares_.push_back(course_.share(k));
  }

  struct fitted {
    shape is;
    std::vector<double> deviations;  ///< of lengths, then of bytes
    double squares = std::numeric_limits<double>::infinity();
    std::vector<double> begins;
  };

  /// Of so many steps, which the step behind them ends. `longer`: how much they are expected to
  /// last, of what they do with `from`.
  fitted fit(std::size_t first, std::size_t count, std::vector<shape> const& from,
             double longer) const {
    std::vector<shape> starts = from;
    shape const& usual = from.front();
    double all = 0.0;
    for (std::size_t k = 0; k <= n_; ++k) all += shares_[k] * usual.lengths[k];
    if (std::abs(longer - 1.0) > 0.01 && longer > 0.3 && longer < 3.0) {
      shape together = usual;
      for (double& each : together.lengths) each *= longer;
      starts.push_back(together);
      for (std::size_t k = 0; k <= n_; ++k) {
        if (!(shares_[k] > 0.03)) continue;
        shape one = usual;
        one.lengths[k] += (longer - 1.0) * all / shares_[k];
        if (one.lengths[k] > 0.3 && one.lengths[k] < 3.0) starts.push_back(one);
      }
    }
    // The best of all after few rounds goes on.
    fitted best;
    for (shape const& start : starts) {
      fitted now = descend(first, begin_with(first, count, start), 3);
      if (now.squares < best.squares) best = std::move(now);
    }
    return descend(first, best, 8);
  }

 private:
  double seen(std::size_t i) const noexcept { return given_.values[i]; }
  double mark(std::size_t step) const noexcept { return static_cast<double>(steps_.begins[step]); }
  double tolerance() const noexcept {
    return std::max(1.0, static_cast<double>(steps_.tolerance_ns));
  }

  /// The samples that are between two times.
  std::pair<std::size_t, std::size_t> samples_in(double begin, double end) const {
    auto const& times = given_.times;
    auto const first = std::lower_bound(
        times.begin(), times.end(), begin,
        [](sample_span const& s, double t) { return static_cast<double>(s.begin) < t; });
    auto const last = std::lower_bound(first, times.end(), end, [](sample_span const& s, double t) {
      return static_cast<double>(s.end) <= t;
    });
    return {static_cast<std::size_t>(first - times.begin()),
            static_cast<std::size_t>(last - times.begin())};
  }

  /// The begin of a step where the course explains its samples best.
  double find_begin(shaped_course const& course, std::size_t step) const {
    auto const [first, behind] = samples_in(mark(step), mark(step + 1));
    std::size_t const last = std::min(behind, first + most_samples);
    if (last <= first + 2) return mark(step);
    double const interval =
        static_cast<double>(given_.times[last - 1].end - given_.times[first].begin) /
        static_cast<double>(last - first);
    int const tries = static_cast<int>(std::clamp(8.0 * tolerance() / interval, 1.0, 16.0));
    double least = std::numeric_limits<double>::infinity();
    double best = mark(step);
    for (int i = 0; i <= 2 * tries; ++i) {
      double const begin = mark(step) + (i % 2 == 0 ? i / 2 : -(i + 1) / 2) * tolerance() / tries;
      double squares = 0.0;
      for (std::size_t k = first; k < last; ++k) {
        double const differs = seen(k) -
                               course.at(static_cast<double>(given_.times[k].end) - begin) +
                               course.at(static_cast<double>(given_.times[k].begin) - begin);
        squares += differs * differs;
      }
      if (!(squares < least)) continue;
      least = squares;
      best = begin;
    }
    return best;
  }

  fitted begin_with(std::size_t first, std::size_t count, shape const& start) const {
    fitted now;
    now.is = start;
    shaped_course const course(course_, start);
    for (std::size_t i = 0; i < count; ++i) now.begins.push_back(find_begin(course, first + i));
    return now;
  }

  fitted descend(std::size_t first, fitted now, int rounds) const {
    fitted best;
    for (int round = 0; round < rounds; ++round) {
      fitted next = improve(first, now);  // and `now` has its squares
      constexpr double enough = 0.999;
      bool const goes_on = now.squares < enough * best.squares;
      if (now.squares < best.squares) best = now;
      if (!goes_on) break;
      now = std::move(next);
    }
    return best;
  }

  /// The residual of the samples of some steps, and the normal equations of what would lower it.
  struct normal_equations {
    std::vector<double> matrix;
    std::vector<double> right;
    double squares = 0.0;  ///< the residual
    double values = 0.0;   ///< the same of nothing
    double samples = 0.0;
  };

  normal_equations linearised(std::size_t first, fitted const& now) const {
    shaped_course const course(course_, now.is);
    std::size_t const count = now.begins.size();
    std::size_t const n = width_ + count;
    normal_equations made{std::vector<double>(n * n, 0.0), std::vector<double>(n, 0.0)};
    std::vector<double> slopes(n);
    auto const [from, behind] = samples_in(mark(first), mark(first + count) - tolerance());
    std::size_t const to = std::min(behind, from + most_samples * count);
    std::vector<std::size_t> used;
    std::size_t oldest = 0;
    for (std::size_t k = from; k < to; ++k) {
      auto const begin = static_cast<double>(given_.times[k].begin);
      auto const end = static_cast<double>(given_.times[k].end);
      std::fill(slopes.begin(), slopes.end(), 0.0);
      double sum = 0.0;
      while (oldest + 1 < count && now.begins[oldest + 1] <= begin) ++oldest;
      // Of the step before, only where steps overlap.
      for (std::size_t i = oldest == 0 ? 0 : oldest - 1; i < count && now.begins[i] < end; ++i) {
        if (now.begins[i] + course.length() <= begin) continue;
        double by_begin = 0.0;
        course.add(end - now.begins[i], 1.0, sum, slopes, by_begin);
        course.add(begin - now.begins[i], -1.0, sum, slopes, by_begin);
        slopes[width_ + i] += tolerance() * by_begin;
      }
      double const differs = seen(k) - sum;
      made.squares += differs * differs;
      made.values += seen(k) * seen(k);
      used.clear();
      for (std::size_t a = 0; a < n; ++a)
        if (slopes[a] != 0.0) used.push_back(a);
      for (std::size_t const a : used) {
        made.right[a] += slopes[a] * differs;
        for (std::size_t const b : used) made.matrix[a * n + b] += slopes[a] * slopes[b];
      }
    }
    made.samples = static_cast<double>(to - from);
    return made;
  }

  /// A step of Gauss and Newton: lengths, bytes and the begins of the steps, these in units of the
  /// tolerance. `now` gets its squares and deviations.
  fitted improve(std::size_t first, fitted& now) const {
    normal_equations fit = linearised(first, now);
    std::size_t const count = now.begins.size();
    std::size_t const n = width_ + count;
    now.squares = fit.squares;
    constexpr double least = 1e-3;  // of a sample, that it differs by
    double const noise =
        std::max({least * least * fit.values / std::max(1.0, fit.samples),
                  fit.squares / std::max(1.0, fit.samples - static_cast<double>(n)), 1e-30});
    auto const prior = [&](std::size_t a) {
      double const known_to = a <= n_ ? expected_.lengths : a < width_ ? expected_.bytes : 1.0;
      return noise / (known_to * known_to);
    };
    for (std::size_t a = 0; a < n; ++a) fit.right[a] -= prior(a) * differs_by(first, now, a);
    cholesky_factor const factor(
        n, [&](std::size_t i, std::size_t k) { return fit.matrix[i * n + k]; },
        [&](std::size_t i, double) { return prior(i); },
        [](double left, double own) { return std::max(left, 1e-12 * std::max(own, 1e-30)); });
    now.deviations.clear();
    for (std::size_t a = 0; a < width_; ++a) {
      std::vector<double> unit(n, 0.0);
      unit[a] = 1.0;
      factor.solve(unit);
      now.deviations.push_back(std::sqrt(std::max(0.0, noise * unit[a])));
    }
    factor.solve(fit.right);
    fitted next = now;
    for (std::size_t a = 0; a < width_; ++a) {
      double& each = a <= n_ ? next.is.lengths[a] : next.is.bytes[a - n_ - 1];
      each = std::clamp(each + std::clamp(fit.right[a], -0.2, 0.2), 0.2, 5.0);
    }
    for (std::size_t i = 0; i < count; ++i)
      next.begins[i] = std::clamp(now.begins[i] + tolerance() * fit.right[width_ + i],
                                  mark(first + i) - tolerance(), mark(first + i) + tolerance());
    return next;
  }

  /// From what is expected before anything is sampled.
  double differs_by(std::size_t first, fitted const& now, std::size_t a) const {
    if (a <= n_) return now.is.lengths[a] - 1.0;
    if (a < width_) return now.is.bytes[a - n_ - 1] - 1.0;
    return (now.begins[a - width_] - mark(first + a - width_)) / tolerance();
  }

  course_of_owners course_;
  sampled_steps const& steps_;
  samples const& given_;
  expectation expected_;
  std::size_t n_;
  std::size_t width_;
  std::vector<double> shares_;
};

/// The samples of one counter, of which so many that a step has no more than it needs become one.
samples coarsened(samples const& given, std::size_t counter,
                  std::vector<std::int64_t> const& begins) {
  samples made;
  made.counters = 1;
  if (given.size() == 0 || begins.size() < 2) return made;
  auto const whole = static_cast<double>(given.times.back().end - given.times.front().begin);
  auto const steps = static_cast<double>(begins.size() - 1);
  double const period = static_cast<double>(begins.back() - begins.front()) / steps;
  double const most = period / static_cast<double>(most_samples);
  double const interval = std::max(1.0, whole / static_cast<double>(given.size()));
  for (std::size_t i = 0; i < given.size(); ++i) {
    sample_span const& next = given.times[i];
    bool const follows =
        !made.times.empty() &&
        std::abs(static_cast<double>(next.begin - made.times.back().end)) <= 0.1 * interval &&
        static_cast<double>(next.end - made.times.back().begin) <= most;
    if (!follows) {
      made.times.push_back(next);
      made.values.push_back(0.0);
    }
    made.times.back().end = next.end;
    made.values.back() += given.at(i)[counter];
  }
  return made;
}

struct shapes_by_block {
  std::vector<shape_finder::fitted> found;
  std::vector<std::size_t> firsts;  ///< steps
};

shapes_by_block find_shapes(step_map const& map, sampled_steps const& steps, samples const& given,
                            shape_finder::expectation const& expected) {
  constexpr std::size_t most_blocks = 128;
  constexpr std::size_t block_size = 16;
  std::size_t const owners = map.owners();
  std::size_t const marks = steps.begins.size();
  std::size_t const blocks = std::min(most_blocks, marks == 0 ? 0 : (marks - 1) / block_size);
  shape_finder const finder(map, steps, given, expected);
  shape const as_mapped{std::vector<double>(owners + 1, 1.0), std::vector<double>(owners, 1.0)};
  shape usual = as_mapped;
  auto const length = static_cast<double>(map.length());
  double usual_period = length;
  shapes_by_block made;
  for (std::size_t i = 0; i < blocks; ++i) {
    std::size_t const first = i * (marks - 1) / blocks;
    std::vector<double> periods;
    for (std::size_t k = first + 1; k <= first + block_size; ++k)
      periods.push_back(static_cast<double>(steps.begins[k] - steps.begins[k - 1]));
    double const period = median(periods);
    std::vector<shape> starts{usual, as_mapped};
    if (i != 0) starts.push_back(made.found.back().is);
    made.found.push_back(
        finder.fit(first, block_size, starts, 1.0 + (period - usual_period) / length));
    made.firsts.push_back(first);
    if (i != 0) continue;
    usual = made.found.back().is;
    usual_period = period;
  }
  return made;
}

/// How much worse the shapes explain the samples from a block on than before it.
double growth_of_misfit(shapes_by_block const& shapes, std::size_t at) {
  std::vector<double> before;
  std::vector<double> behind;
  for (std::size_t i = 0; i < shapes.found.size(); ++i)
    (i < at ? before : behind).push_back(shapes.found[i].squares);
  return median(behind) / std::max(1e-30, median(before));
}

}  // namespace

std::optional<lasting_change> find_lasting_change(std::vector<double> const& values,
                                                  std::vector<double> const& deviations) {
  constexpr std::size_t least_side = 3;
  constexpr double least_deviations = 6.0;
  std::size_t const n = values.size();
  if (n < 2 * least_side) return std::nullopt;
  // Neighbours differ by noise alone, but at a change.
  std::vector<double> steps;
  for (std::size_t i = 1; i < n; ++i) steps.push_back(std::abs(values[i] - values[i - 1]));
  double noise = 1.4826 * median(steps) / std::sqrt(2.0);
  if (!deviations.empty()) noise = std::max(noise, median(deviations));
  double const all = std::accumulate(values.begin(), values.end(), 0.0);
  noise = std::max(noise, 1e-6 * std::abs(all) / static_cast<double>(n));
  std::optional<lasting_change> best;
  double before = 0.0;
  for (std::size_t i = 1; i < n; ++i) {
    before += values[i - 1];
    if (i < least_side || n - i < least_side) continue;
    auto const first = static_cast<double>(i);
    auto const rest = static_cast<double>(n - i);
    double const mean = before / first;
    if (!(mean > 0.0)) continue;
    double const change = (all - before) / rest - mean;
    double const sure = std::abs(change) / (noise * std::sqrt(1.0 / first + 1.0 / rest));
    if (!best || sure > best->deviations) best = lasting_change{i, change / mean, sure};
  }
  bool const is_sure = best && best->deviations >= least_deviations;
  if (!is_sure || !(std::abs(best->part) >= least_part)) return std::nullopt;
  return best;
}

std::vector<range_drift> find_drift(step_map const& map, sampled_steps const& steps,
                                    samples const& all) {
  constexpr std::size_t most_owners = 24;
  constexpr std::size_t most_work = 50'000;
  constexpr std::size_t most_parts = 1'000;
  std::size_t const owners = map.owners();
  if (owners == 0 || owners > most_owners || map.work.size() > most_work) return {};
  course_of_owners const course(map);
  if (course.parts().size() > most_parts) return {};
  samples const given = coarsened(all, steps.counter, steps.begins);
  // Ranges become slower, or they move more: what explains the samples as well as before.
  constexpr double free = 0.3;
  constexpr double bound = 0.03;
  std::vector<range_drift> drifts;
  double least = 0.0;
  for (bool const of_time : {true, false}) {
    shapes_by_block const shapes = find_shapes(
        map, steps, given,
        of_time ? shape_finder::expectation{free, bound} : shape_finder::expectation{bound, free});
    std::vector<range_drift> changes;
    lasting_change largest{};
    for (std::uint32_t owner = 0; owner < owners; ++owner) {
      std::vector<double> values;
      std::vector<double> deviations;
      for (shape_finder::fitted const& each : shapes.found) {
        values.push_back(of_time ? each.is.lengths[owner] : each.is.bytes[owner]);
        deviations.push_back(each.deviations[of_time ? owner : owners + 1 + owner]);
      }
      auto const change = find_lasting_change(values, deviations);
      if (!change) continue;
      changes.push_back({owner, of_time, shapes.firsts[change->at], change->part});
      if (change->deviations > largest.deviations) largest = *change;
    }
    if (changes.empty()) continue;
    double const growth = growth_of_misfit(shapes, largest.at);
    if (!drifts.empty() && growth >= least) continue;
    least = growth;
    drifts = std::move(changes);
  }
  std::sort(drifts.begin(), drifts.end(), [&](range_drift const& a, range_drift const& b) {
    return std::abs(a.part) * course.share(a.owner) > std::abs(b.part) * course.share(b.owner);
  });
  return drifts;
}

}  // namespace live
STRATA_END
