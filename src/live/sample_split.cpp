#include "sample_split.hpp"

#include <strata/base/macros.hpp>
#include "cholesky.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <unordered_map>
#include <utility>
#include <vector>

STRATA_BEGIN
namespace live {
namespace {

template <class Condition>
void drop_if(std::vector<std::size_t>& list, Condition const& is_so) {
  list.erase(std::remove_if(list.begin(), list.end(), is_so), list.end());
}

/// Records come in order mostly, which is cheaper to see than to sort.
template <class T, class Less>
void put_in_order(std::vector<T>& list, Less const& less) {
  if (!std::is_sorted(list.begin(), list.end(), less)) std::sort(list.begin(), list.end(), less);
}

void put_in_order(std::vector<sampled_work>& work) {
  put_in_order(work,
               [](sampled_work const& a, sampled_work const& b) { return a.begin < b.begin; });
}

/// See split_samples.
class sample_splitter {
 public:
  sample_splitter(samples const& given, std::vector<sampled_work> work, std::size_t owners,
                  std::int64_t clock_error_ns, std::vector<sample_span> recorded,
                  expected_rates const& expected)
      : given_(given),
        recorded_(std::move(recorded)),
        expected_(expected),
        work_(std::move(work)),
        owners_(owners),
        clock_error_(clock_error_ns) {
    for (sampled_work& each : work_) each.end = std::max(each.end, each.begin + 1);
    put_in_order(work_);
  }

  sample_split split() {
    made_.counters = given_.counters;
    made_.values.resize(owners_ * given_.counters);
    made_.errors.resize(owners_ * given_.counters);
    made_.unexplained.resize(given_.counters);
    made_.total.resize(given_.counters);
    for (std::vector<double>* const list : {&made_.work_ns, &made_.covered_ns, &made_.shared_ns})
      list->resize(owners_);
    find_columns();
    find_shared();
    align();
    overlaps const seen = overlap(0);
    for (std::size_t i = 0; i < seen.ns.size(); ++i)
      made_.covered_ns[owner_of_[seen.column[i]]] += seen.ns[i];
    made_.by_rates = columns() > 1 && columns() <= max_columns && learn_times(seen);
    for (std::size_t counter = 0; counter < given_.counters; ++counter) {
      double const noise = learn_rates(seen, counter);
      assign(seen, counter, noise);
    }
    if (clock_error_ > 0) add_clock_error();
    return std::move(made_);
  }

 private:
  static constexpr std::size_t max_columns = 384;

  /// The work in each sample: ns by column.
  struct overlaps {
    std::vector<std::size_t> first;  ///< of a sample, and the end
    std::vector<std::uint32_t> column;
    std::vector<double> ns;
  };

  std::size_t columns() const noexcept { return owner_of_.size(); }

  /// Numbers the columns, one for each owner and kind; if these are too many, one for each owner.
  void find_columns() {
    using key = std::uint64_t;
    for (bool const by_kind : {true, false}) {
      std::unordered_map<key, std::uint32_t> columns;
      owner_of_.clear();
      column_of_.clear();
      for (sampled_work const& each : work_) {
        key const own = key{each.owner} << 32 | (by_kind ? each.kind : 0);
        auto const [column, is_new] =
            columns.try_emplace(own, static_cast<std::uint32_t>(columns.size()));
        if (is_new) owner_of_.push_back(each.owner);
        if (by_kind && columns.size() > max_columns) break;
        column_of_.push_back(column->second);
      }
      if (by_kind && columns.size() > max_columns) continue;
      break;
    }
    for (sampled_work const& each : work_) made_.work_ns[each.owner] += length(each);
  }
  static double length(sampled_work const& each) noexcept {
    return static_cast<double>(each.end - each.begin);
  }

  /// How long work of several owners ran at the same time.
  void find_shared() {
    if (std::adjacent_find(work_.begin(), work_.end(),
                           [](sampled_work const& a, sampled_work const& b) {
                             return b.begin < a.end;
                           }) == work_.end())
      return;
    struct change {
      std::int64_t time;
      std::uint32_t owner;
      bool begins;
    };
    std::vector<change> changes;
    for (sampled_work const& each : work_) {
      changes.push_back({each.begin, each.owner, true});
      changes.push_back({each.end, each.owner, false});
    }
    std::sort(changes.begin(), changes.end(),
              [](change const& a, change const& b) { return a.time < b.time; });
    std::vector<std::int32_t> running(owners_, 0);  // of an owner
    std::vector<std::uint32_t> now;
    std::int64_t since = 0;
    for (change const& each : changes) {
      if (now.size() > 1)
        for (std::uint32_t const owner : now)
          made_.shared_ns[owner] += static_cast<double>(each.time - since);
      since = each.time;
      std::int32_t const before = running[each.owner];
      running[each.owner] += each.begins ? 1 : -1;
      if (before == 0 && running[each.owner] != 0) now.push_back(each.owner);
      if (before != 0 && running[each.owner] == 0)
        now.erase(std::find(now.begin(), now.end(), each.owner));
    }
  }

  /// With the samples moved by so many ns.
  overlaps overlap(std::int64_t moved) const {
    overlaps made;
    std::vector<double> sums(columns(), 0.0);
    std::vector<std::uint32_t> touched;
    std::vector<std::size_t> running;
    std::size_t next = 0;
    made.first.push_back(0);
    for (sample_span const& sample : given_.times) {
      std::int64_t const begin = sample.begin + moved_ + moved;
      std::int64_t const end = sample.end + moved_ + moved;
      drop_if(running, [&](std::size_t i) { return work_[i].end <= begin; });
      for (; next < work_.size() && work_[next].begin < end; ++next)
        if (work_[next].end > begin) running.push_back(next);
      touched.clear();
      for (std::size_t const i : running) {
        std::int64_t const common = std::min(work_[i].end, end) - std::max(work_[i].begin, begin);
        if (common <= 0) continue;
        std::uint32_t const column = column_of_[i];
        if (sums[column] == 0.0) touched.push_back(column);
        sums[column] += static_cast<double>(common);
      }
      for (std::uint32_t const column : touched) {
        made.column.push_back(column);
        made.ns.push_back(std::exchange(sums[column], 0.0));
      }
      made.first.push_back(made.column.size());
    }
    return made;
  }

  /// Moves the samples to where they differ least from their rates, within the error of the clocks:
  /// kernels begin and end within samples, so that a wrong time shows. Half of that error is left.
  void align() {
    std::size_t counter = 0;
    auto const counts = [&] {
      for (std::size_t i = 0; i < given_.size(); ++i)
        if (given_.at(i)[counter] > 0.0) return true;
      return false;
    };
    while (counter < given_.counters && !counts()) ++counter;
    if (counter == given_.counters || clock_error_ < tries || columns() > max_columns) return;
    double least = 0.0;
    std::int64_t best = 0;
    for (std::int64_t i = 0; i <= 2 * tries; ++i) {
      // 0, -1, 1, -2, ...: where nothing is gained by moving, nothing is moved.
      std::int64_t const by = (i % 2 == 0 ? i / 2 : -(i + 1) / 2) * clock_error_ / tries;
      overlaps const seen = overlap(by);
      made_.by_rates = learn_times(seen);
      if (!made_.by_rates) return;
      double const differs = learn_rates(seen, counter) * static_cast<double>(used_);
      if (!made_.by_rates) return;
      if (i != 0 && !(differs < least)) continue;
      least = differs;
      best = by;
    }
    moved_ = best;
    clock_error_ /= 2;
  }
  static constexpr std::int64_t tries = 4;  // each way

  /// The squares of the times. Returns: whether there are enough samples.
  bool learn_times(overlaps const& seen) {
    std::size_t const n = columns();
    double pairs = 0.0;
    used_ = 0;
    for (std::size_t i = 0; i < given_.size(); ++i) {
      auto const width = static_cast<double>(seen.first[i + 1] - seen.first[i]);
      pairs += width * width;
      used_ += width > 0.0 ? 1 : 0;
    }
    constexpr double max_pairs = 5e7;
    stride_ = 1 + static_cast<std::size_t>(pairs / max_pairs);
    used_ /= stride_;
    if (used_ < 2 * n) return false;
    squares_.assign(n * n, 0.0);
    for (std::size_t i = 0; i < given_.size(); i += stride_)
      for (std::size_t a = seen.first[i]; a < seen.first[i + 1]; ++a)
        for (std::size_t b = seen.first[i]; b < seen.first[i + 1]; ++b)
          squares_[seen.column[a] * n + seen.column[b]] += seen.ns[a] * seen.ns[b];
    return true;
  }

  /// The inverse of the squares. `prior` is added to the diagonal: what is known of the rates
  /// without any sample. Only that tells columns apart that lie in the same samples always.
  void invert(double prior) {
    std::size_t const n = columns();
    constexpr double ridge = 1e-12;  // of rounding
    cholesky_factor const factor(
        n, [&](std::size_t i, std::size_t k) { return squares_[i * n + k]; },
        [&](std::size_t, double own) { return prior + ridge * own; },
        [](double left, double own) { return left > 0.0 ? left : ridge * std::max(own, 1.0); });
    inverse_.assign(n * n, 0.0);
    std::vector<double> row;
    for (std::size_t at = 0; at < n; ++at) {
      row.assign(n, 0.0);
      row[at] = 1.0;
      factor.solve(row);
      for (std::size_t i = 0; i < n; ++i) inverse_[at * n + i] = row[i];
    }
  }

  /// The rates of one counter. Returns: the mean square by which samples differ from them.
  double learn_rates(overlaps const& seen, std::size_t counter) {
    std::size_t const n = columns();
    rates_.assign(n, 1.0);
    if (!made_.by_rates) return 0.0;
    std::vector<double> wanted(n, 0.0);
    for (std::size_t i = 0; i < given_.size(); i += stride_)
      for (std::size_t a = seen.first[i]; a < seen.first[i + 1]; ++a)
        wanted[seen.column[a]] += seen.ns[a] * given_.at(i)[counter];
    expect(seen, counter);
    for (double& each : wanted) each += weight_ * mean_rate_;
    if (!solve(wanted)) {
      made_.by_rates = false;
      rates_.assign(n, 1.0);
      return 0.0;
    }
    double squares = 0.0;
    for (std::size_t i = 0; i < given_.size(); i += stride_) {
      if (seen.first[i] == seen.first[i + 1]) continue;
      double const differs = given_.at(i)[counter] - expected(seen, i);
      squares += differs * differs;
    }
    return squares / std::max(1.0, static_cast<double>(used_) - static_cast<double>(n));
  }

  /// The mean of the rates of a counter, and the weight of what is expected of them.
  void expect(overlaps const& seen, std::size_t counter) {
    double value = 0.0;
    for (std::size_t i = 0; i < given_.size(); ++i) value += given_.at(i)[counter];
    double const ns = std::accumulate(seen.ns.begin(), seen.ns.end(), 0.0);
    mean_sample_ = value / static_cast<double>(given_.size());
    mean_rate_ = ns > 0.0 ? value / ns : 0.0;
    double const noise = expected_.noise * mean_sample_;
    double const apart = expected_.apart * mean_rate_;
    weight_ = apart > 0.0 ? noise * noise / (apart * apart) : 0.0;
  }

  /// The rates that explain the samples best, none below 0 or above the most: those that would be
  /// are fixed there, and the others are solved for again. Returns: false where no such choice is
  /// found.
  /// Source: block principal pivoting, Portugal, Judice and Vicente 1994.
  bool solve(std::vector<double> const& wanted) {
    std::size_t const n = columns();
    std::vector<double> fixed(n, free);
    for (std::size_t i = 0; i < n; ++i)
      if (!(squares_[i * n + i] > 0.0)) fixed[i] = 0.0;
    std::size_t least = n + 1;  // of wrong choices
    constexpr int max_tries = 3;
    constexpr int max_rounds = 60;  // some 5 are usual
    constexpr double enough = 1e-9;
    int tries_left = max_tries;
    struct choice {
      std::size_t column;
      double rate;  ///< that it is fixed at, or `free`
    };
    std::vector<choice> wrong;
    for (int round = 0; round < max_rounds; ++round) {
      solve_others(wanted, fixed);
      wrong.clear();
      for (std::size_t i = 0; i < n; ++i) {
        if (!(squares_[i * n + i] > 0.0)) continue;
        if (fixed[i] == free) {
          if (rates_[i] < 0.0) wrong.push_back({i, 0.0});
          if (rates_[i] > expected_.most) wrong.push_back({i, expected_.most});
          continue;
        }
        double left = wanted[i] - weight_ * rates_[i];
        for (std::size_t k = 0; k < n; ++k) left -= squares_[i * n + k] * rates_[k];
        bool const wants_more = left > enough * wanted[i];
        bool const wants_less = left < -enough * wanted[i];
        if (fixed[i] == 0.0 ? wants_more : wants_less) wrong.push_back({i, free});
      }
      if (wrong.empty()) return true;
      if (wrong.size() < least) {
        least = wrong.size();
        tries_left = max_tries;
      } else if (--tries_left < 0) {  // one at a time comes to an end
        wrong[0] = wrong.back();
        wrong.resize(1);
      }
      for (choice const& each : wrong) fixed[each.column] = each.rate;
    }
    return false;
  }
  static constexpr double free = -1.0;  // no rate is that

  /// The least-squares rates of all columns but those that are fixed. Linearly dependent columns
  /// get equal rates.
  void solve_others(std::vector<double> const& wanted, std::vector<double> const& fixed) {
    constexpr double ridge = 1e-9;
    std::size_t const all = columns();
    std::vector<std::size_t> used;
    std::vector<double> solved;
    for (std::size_t i = 0; i < all; ++i) {
      if (fixed[i] != free) continue;
      used.push_back(i);
      solved.push_back(wanted[i]);
      for (std::size_t k = 0; k < all; ++k)
        if (fixed[k] > 0.0) solved.back() -= squares_[i * all + k] * fixed[k];
    }
    cholesky_factor(
        used.size(),
        [&](std::size_t i, std::size_t k) { return squares_[used[i] * all + used[k]]; },
        [this](std::size_t, double own) { return weight_ + ridge * own; },
        [](double left, double own) { return std::max(left, ridge * own); })
        .solve(solved);
    rates_ = fixed;
    for (std::size_t i = 0; i < used.size(); ++i) rates_[used[i]] = solved[i];
  }

  /// What a sample counts by the rates.
  double expected(overlaps const& seen, std::size_t sample) const noexcept {
    double sum = 0.0;
    for (std::size_t a = seen.first[sample]; a < seen.first[sample + 1]; ++a)
      sum += rates_[seen.column[a]] * seen.ns[a];
    return sum;
  }

  /// The owners in a sample and their parts of it.
  struct parts {
    std::vector<std::uint32_t> owners;
    std::vector<double> part;  ///< by owner; 0 but for `owners`
    std::vector<char> is_in;   ///< by owner

    explicit parts(std::size_t all) : part(all, 0.0), is_in(all, 0) {}

    void find(overlaps const& seen, std::size_t sample, std::vector<std::uint32_t> const& owner_of,
              std::vector<double> const& rates, double sum) {
      for (std::uint32_t const owner : owners) {
        part[owner] = 0.0;
        is_in[owner] = 0;
      }
      owners.clear();
      double all = 0.0;
      for (std::size_t a = seen.first[sample]; a < seen.first[sample + 1]; ++a) all += seen.ns[a];
      for (std::size_t a = seen.first[sample]; a < seen.first[sample + 1]; ++a) {
        std::uint32_t const owner = owner_of[seen.column[a]];
        if (is_in[owner] == 0) owners.push_back(owner);
        is_in[owner] = 1;
        part[owner] += sum > 0.0 ? rates[seen.column[a]] * seen.ns[a] / sum : seen.ns[a] / all;
      }
    }
  };

  void assign(overlaps const& seen, std::size_t counter, double noise) {
    std::size_t const n = columns();
    if (made_.by_rates) {
      double const apart = expected_.apart > 0.0 ? expected_.apart : 2.0;
      double const rate = apart * mean_rate_;  // that any work may differ by
      double const least = std::max(1e-4, expected_.noise) * mean_sample_;
      noise = std::max(noise, least * least);
      invert(rate > 0.0 ? noise / (rate * rate) : 1.0);
    }
    std::vector<double> known(owners_, 0.0);
    std::vector<double> mixed(owners_, 0.0);
    std::vector<double> variance(owners_, 0.0);
    std::vector<double> uneven(owners_, 0.0);
    std::vector<double> slopes(made_.by_rates ? owners_ * n : 0, 0.0);  // of a value by each rate
    parts of_sample(owners_);
    auto const stride = static_cast<double>(stride_);
    for (std::size_t i = 0; i < given_.size(); ++i) {
      double const value = given_.at(i)[counter];
      bool const is_idle = seen.first[i] == seen.first[i + 1];
      if (is_idle && !is_recorded(given_.times[i])) continue;
      made_.total[counter] += value;
      if (is_idle) {
        made_.unexplained[counter] += value;
        continue;
      }
      double const sum = expected(seen, i);
      of_sample.find(seen, i, owner_of_, rates_, sum);
      if (of_sample.owners.size() == 1) {
        known[of_sample.owners[0]] += value;
        made_.values[of_sample.owners[0] * given_.counters + counter] += value;
        continue;
      }
      double const differs = value - sum;
      for (std::uint32_t const owner : of_sample.owners) {
        double const part = of_sample.part[owner];
        made_.values[owner * given_.counters + counter] += value * part;
        mixed[owner] += value;
        variance[owner] += part * (1.0 - part) * differs * differs;
        if (!(expected_.noise > 0.0))  // else it is known
          uneven[owner] += unevenness * value * std::min(part, 1.0 - part);
        if (!made_.by_rates || i % stride_ != 0 || !(sum > 0.0)) continue;
        for (std::size_t a = seen.first[i]; a < seen.first[i + 1]; ++a) {
          double const own = owner_of_[seen.column[a]] == owner ? 1.0 : 0.0;
          slopes[owner * n + seen.column[a]] += stride * value * seen.ns[a] / sum * (own - part);
        }
      }
    }
    for (std::size_t owner = 0; owner < owners_; ++owner) {
      double const value = made_.values[owner * given_.counters + counter];
      double const most = std::max(value - known[owner], known[owner] + mixed[owner] - value);
      double half = most;
      if (made_.by_rates) {
        double const deviation =
            std::sqrt(variance[owner] + noise * spread(slopes.data() + owner * n));
        half = std::min(most, std::hypot(2.0 * deviation, uneven[owner]));
      }
      made_.errors[owner * given_.counters + counter] = std::max(0.0, half);
    }
  }

  /// No work counts at one rate from its begin to its end, and where the same two meet, they differ
  /// to the same side each time. As a part of what they count in one sample. Source: see border_ns.
  static constexpr double unevenness = 0.1;

  bool is_recorded(sample_span const& when) const noexcept {
    if (recorded_.empty()) return true;
    std::int64_t const middle = when.begin + (when.end - when.begin) / 2;
    auto const behind =
        std::upper_bound(recorded_.begin(), recorded_.end(), middle,
                         [](std::int64_t t, sample_span const& each) { return t < each.begin; });
    return behind != recorded_.begin() && middle < (behind - 1)->end;
  }

  /// The variance of what has these slopes, by that of the rates.
  double spread(double const* slopes) const {
    std::size_t const n = columns();
    std::vector<std::size_t> used;
    for (std::size_t i = 0; i < n; ++i)
      if (slopes[i] != 0.0) used.push_back(i);
    double sum = 0.0;
    for (std::size_t const a : used)
      for (std::size_t const b : used) sum += slopes[a] * inverse_[a * n + b] * slopes[b];
    return std::max(0.0, sum);
  }

  /// What a value changes by where the clocks are moved, with the rates that are learnt then.
  void add_clock_error() {
    parts of_sample(owners_);
    std::vector<double> largest(made_.values.size(), 0.0);
    std::vector<double> values;
    for (std::int64_t const by : {-clock_error_, clock_error_}) {
      overlaps const moved = overlap(by);
      if (made_.by_rates && !learn_times(moved)) continue;
      for (std::size_t counter = 0; counter < given_.counters; ++counter) {
        (void)learn_rates(moved, counter);
        values.assign(owners_, 0.0);
        for (std::size_t i = 0; i < given_.size(); ++i) {
          if (moved.first[i] == moved.first[i + 1]) continue;
          of_sample.find(moved, i, owner_of_, rates_, expected(moved, i));
          for (std::uint32_t const owner : of_sample.owners)
            values[owner] += given_.at(i)[counter] * of_sample.part[owner];
        }
        for (std::size_t owner = 0; owner < owners_; ++owner) {
          std::size_t const at = owner * given_.counters + counter;
          double const change = values[owner] - made_.values[at];
          largest[at] = std::max(largest[at], change < 0.0 ? -change : change);
        }
      }
    }
    for (std::size_t i = 0; i < largest.size(); ++i) made_.errors[i] += largest[i];
  }

  samples const& given_;
  std::vector<sample_span> recorded_;
  expected_rates expected_;
  std::vector<sampled_work> work_;        // by begin
  std::vector<std::uint32_t> column_of_;  // of a work
  std::vector<std::uint32_t> owner_of_;   // of a column
  std::size_t owners_;
  std::int64_t clock_error_;
  std::int64_t moved_ = 0;       // the samples
  std::size_t stride_ = 1;       // of the samples that the rates are learnt from
  std::size_t used_ = 0;         // of these, those with work
  std::vector<double> squares_;  // of the times of two columns, summed over the samples
  std::vector<double> inverse_;
  std::vector<double> rates_;  // of a column, in a ns
  double mean_rate_ = 0.0;     // of a counter
  double mean_sample_ = 0.0;   // of it
  double weight_ = 0.0;        // of the mean rate, beside squares_
  sample_split made_;
};

}  // namespace

bool can_run_together(std::vector<sample_span> times, std::vector<sample_span> const& others) {
  constexpr std::size_t most = 128;  // kernels at once (compute capability 9.0)
  std::vector<std::int64_t> begins;
  std::vector<std::int64_t> ends;
  for (sample_span const& each : others) {
    begins.push_back(each.begin);
    ends.push_back(each.end);
  }
  put_in_order(begins, std::less<>());
  put_in_order(ends, std::less<>());
  std::size_t pairs = 0;
  for (sample_span const& each : times)
    pairs += static_cast<std::size_t>(
        (std::lower_bound(begins.begin(), begins.end(), each.end) - begins.begin()) -
        (std::upper_bound(ends.begin(), ends.end(), each.begin) - ends.begin()));
  return pairs <= most * (times.size() + others.size());
}

std::vector<double> sum_by_time(samples const& given, std::size_t which,
                                std::vector<sample_span> const& times) {
  std::vector<std::size_t> order(times.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  put_in_order(order,
               [&](std::size_t a, std::size_t b) { return times[a].begin < times[b].begin; });
  std::vector<double> sums(times.size(), 0.0);
  std::vector<std::size_t> running;
  std::size_t next = 0;
  for (std::size_t i = 0; i < given.size(); ++i) {
    sample_span const& sample = given.times[i];
    drop_if(running, [&](std::size_t k) { return times[k].end <= sample.begin; });
    for (; next < order.size() && times[order[next]].begin < sample.end; ++next)
      if (times[order[next]].end > sample.begin) running.push_back(order[next]);
    for (std::size_t const k : running) {
      std::int64_t const common =
          std::min(times[k].end, sample.end) - std::max(times[k].begin, sample.begin);
      sums[k] += given.at(i)[which] * static_cast<double>(common) /
                 static_cast<double>(sample.end - sample.begin);
    }
  }
  return sums;
}

sample_split split_samples(samples const& given, std::vector<sampled_work> work, std::size_t owners,
                           std::int64_t clock_error_ns, std::vector<sample_span> recorded,
                           expected_rates const& expected) {
  return sample_splitter(given, std::move(work), owners, clock_error_ns, std::move(recorded),
                         expected)
      .split();
}

void add_border_errors(sample_split& made, std::vector<sampled_work> work, std::int64_t ns) {
  put_in_order(work);
  auto const rate = [&made](std::uint32_t owner, std::size_t counter) {
    double const covered = made.covered_ns[owner];
    return covered > 0.0 ? made.value(owner, counter) / covered : 0.0;
  };
  std::vector<double> exchanged(made.values.size(), 0.0);
  for (std::size_t i = 1; i < work.size(); ++i) {
    std::uint32_t const a = work[i - 1].owner;
    std::uint32_t const b = work[i].owner;
    if (a == b || work[i].begin - work[i - 1].end > ns) continue;
    for (std::size_t counter = 0; counter < made.counters; ++counter) {
      double const more = rate(b, counter) - rate(a, counter);
      sampled_work const& faster = work[more > 0.0 ? i : i - 1];
      double const most = std::abs(more) * static_cast<double>(std::clamp<std::int64_t>(
                                               faster.end - faster.begin, 1, ns));
      exchanged[a * made.counters + counter] += most;
      exchanged[b * made.counters + counter] += most;
    }
  }
  for (std::size_t i = 0; i < exchanged.size(); ++i)
    made.errors[i] = std::hypot(made.errors[i], exchanged[i]);
}

}  // namespace live
STRATA_END
