#include "rank_comparison.hpp"

#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/text.hpp>
#include "change_statistics.hpp"
#include "range_paths.hpp"
#include "rank_run.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

STRATA_BEGIN

namespace detail {

/// The median of all others, for each value. Requires: two values at least.
inline std::vector<double> medians_of_others(std::vector<double> const& values) {
  std::vector<double> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  std::size_t const others = values.size() - 1;
  std::vector<double> medians;
  for (double const value : values) {
    auto const own = static_cast<std::size_t>(
        std::lower_bound(sorted.begin(), sorted.end(), value) - sorted.begin());
    auto const other_at = [&](std::size_t position) {
      return sorted[position + (position >= own ? 1 : 0)];
    };
    medians.push_back((other_at((others - 1) / 2) + other_at(others / 2)) / 2.0);
  }
  return medians;
}

/// Compares ranks; see compare_ranks().
class rank_comparer {
 public:
  explicit rank_comparer(std::vector<rank_run>& runs) : runs_(runs) {}

  rank_comparison compare() {
    align();
    number_collectives();
    note_losses();
    if (made_.by_step) leave_out_losses();
    find_transfers();
    for (rank_run const& run : runs_) describe(run);
    for (std::size_t sample = 0; sample < samples_; ++sample) add_sample(sample);
    finish_rows();
    rank_row const last = latest();
    compare_ranges(last.rank);
    judge(last);
    order();
    return std::move(made_);
  }

 private:
  /// One collective of one rank among those of all.
  struct collective_place {
    std::size_t run;
    std::size_t collective;
  };

  /// Gives all ranks the same samples: the steps that all have, or else the mean step.
  void align() {
    made_.by_step = true;
    for (rank_run const& run : runs_) made_.by_step = made_.by_step && run.by_step;
    made_.steps = (std::numeric_limits<std::uint64_t>::max)();
    for (rank_run const& run : runs_)
      made_.steps = std::min(made_.steps, run.by_step ? run.steps.size() : run.recorded_steps);
    if (made_.by_step) {
      keep_common_steps();
      made_.steps = runs_[0].steps.size();
    } else {
      for (rank_run& run : runs_) keep_mean(run);
    }
    samples_ = runs_[0].busy_ns.size();
  }
  void keep_common_steps() {
    std::vector<std::uint32_t> common = runs_[0].steps;
    for (rank_run const& run : runs_)
      common.erase(std::remove_if(common.begin(), common.end(),
                                  [&](std::uint32_t step) {
                                    std::size_t const position = position_of(step, run);
                                    return position == run.steps.size() ||
                                           run.steps[position] != step;
                                  }),
                   common.end());
    for (rank_run& run : runs_) {
      if (run.steps == common) continue;
      std::vector<std::size_t> positions;
      for (std::uint32_t const step : common) positions.push_back(position_of(step, run));
      keep(run, positions);
      run.steps = common;
    }
  }
  static void keep(rank_run& run, std::vector<std::size_t> const& positions) {
    for (std::vector<double>* const values : {&run.busy_ns, &run.work_ns, &run.lost_work})
      keep(*values, positions);
    for (rank_collective& collective : run.collectives)
      for (std::vector<double>* const values :
           {&collective.ns, &collective.launches, &collective.lost})
        keep(*values, positions);
    for (rank_collective& collective : run.collectives) keep(collective.ends, positions);
  }
  static std::size_t position_of(std::uint32_t step, rank_run const& run) {
    return static_cast<std::size_t>(std::lower_bound(run.steps.begin(), run.steps.end(), step) -
                                    run.steps.begin());
  }
  template <class Value>
  static void keep(std::vector<Value>& values, std::vector<std::size_t> const& positions) {
    if (values.empty()) return;
    std::vector<Value> kept;
    for (std::size_t const position : positions) kept.push_back(values[position]);
    values = std::move(kept);
  }
  static void keep_mean(rank_run& run) {
    if (!run.by_step) return;
    std::vector<double> sums(run.steps.size(), 0.0);
    for (rank_collective& collective : run.collectives) {
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += collective.ns[i];
      for (std::vector<double>* const values :
           {&collective.ns, &collective.launches, &collective.lost})
        if (!values->empty()) *values = {mean(*values)};
    }
    for (rank_collective& collective : run.collectives) collective.ends = {};
    if (!run.lost_work.empty()) run.lost_work = {mean(run.lost_work)};
    run.deviation_ns = sample_deviation(run.collectives.empty() ? run.work_ns : sums);
    run.busy_ns = {mean(run.busy_ns)};
    run.work_ns = {mean(run.work_ns)};
    run.steps.clear();
    run.by_step = false;
  }

  /// Puts collectives of the same range and kernel together.
  void number_collectives() {
    std::vector<collective_place> places;
    for (std::size_t run = 0; run < runs_.size(); ++run)
      for (std::size_t i = 0; i < runs_[run].collectives.size(); ++i) places.push_back({run, i});
    auto const compared = [this](collective_place const& a, collective_place const& b) {
      int const by_path = collective_of(a).path.compare(collective_of(b).path);
      return by_path != 0 ? by_path : collective_of(a).kernel.compare(collective_of(b).kernel);
    };
    std::stable_sort(
        places.begin(), places.end(),
        [&](collective_place const& a, collective_place const& b) { return compared(a, b) < 0; });
    numbers_.resize(runs_.size());
    for (std::size_t run = 0; run < runs_.size(); ++run)
      numbers_[run].resize(runs_[run].collectives.size());
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (i == 0 || compared(places[i - 1], places[i]) != 0) ++collectives_;
      numbers_[places[i].run][places[i].collective] = collectives_ - 1;
    }
    made_.has_collectives = collectives_ > 0;
    for (rank_run const& run : runs_)
      if (run.collectives.size() != collectives_) made_.same_collectives = false;
  }
  rank_collective const& collective_of(collective_place const& position) const {
    return runs_[position.run].collectives[position.collective];
  }

  void note_losses() {
    double most = 0.0;
    for (rank_run const& run : runs_) {
      double const lost = run.losses.device_work + run.losses.device_times;
      if (!(lost > most)) continue;
      most = lost;
      made_.losses = sentence("rank ") << run.rank << ": " << run.losses.device_text;
    }
  }
  static double at(std::vector<double> const& values, std::size_t sample) noexcept {
    return sample < values.size() ? values[sample] : 0.0;
  }
  /// Whether a rank lost what is compared of a sample: the time of a collective, or of work; or
  /// ranks lost records, and have other numbers of a collective.
  bool is_whole(std::size_t sample) const {
    if (!made_.has_collectives) {
      for (rank_run const& run : runs_)
        if (at(run.lost_work, sample) > 0.0) return false;
      return true;
    }
    std::vector<double> launches(collectives_, -1.0);
    for (std::size_t run = 0; run < runs_.size(); ++run)
      for (std::size_t i = 0; i < runs_[run].collectives.size(); ++i) {
        rank_collective const& collective = runs_[run].collectives[i];
        if (at(collective.lost, sample) > 0.0) return false;
        double& known = launches[numbers_[run][i]];
        double const here = at(collective.launches, sample);
        if (has_lost_records() && known >= 0.0 && known != here) return false;
        known = here;
      }
    return true;
  }
  bool has_lost_records() const {
    for (rank_run const& run : runs_)
      if (run.losses.device_work > 0.0) return true;
    return false;
  }
  /// Steps that are not whole are left out, while enough are.
  void leave_out_losses() {
    if (made_.losses.empty()) return;
    std::vector<std::size_t> whole;
    for (std::size_t sample = 0; sample < samples_; ++sample)
      if (is_whole(sample)) whole.push_back(sample);
    if (whole.size() == samples_) return;
    if (whole.size() < fewest_rank_steps) {
      made_.lost = true;
      return;
    }
    made_.left_out = samples_ - whole.size();
    samples_ = whole.size();
    made_.steps = samples_;
    for (rank_run& run : runs_) {
      keep(run, whole);
      std::vector<std::uint32_t> steps;
      for (std::size_t const sample : whole) steps.push_back(run.steps[sample]);
      run.steps = std::move(steps);
    }
  }
  /// How much of a time a rank may have lost, given its launches a step: launches without a time,
  /// and those that its losses may contain where other ranks have more.
  static double hidden(double ns, double launches, double lost, double most_launches,
                       rank_run const& run) noexcept {
    double const steps = std::max(1.0, static_cast<double>(run.recorded_steps));
    double const missing =
        std::min(run.losses.device_work / steps, std::max(0.0, most_launches - launches));
    double const timed = launches - lost;
    return timed > 0.0 ? ns * (lost + missing) / timed : 0.0;
  }
  /// The most by which losses may change how long a rank waits in a mean step, of all ranks.
  double hidden_waits() const {
    std::vector<double> most(collectives_, 0.0);
    for (std::size_t run = 0; run < runs_.size(); ++run)
      for (std::size_t i = 0; i < runs_[run].collectives.size(); ++i) {
        double& known = most[numbers_[run][i]];
        known = std::max(known, mean(runs_[run].collectives[i].launches));
      }
    double largest = 0.0;
    for (std::size_t run = 0; run < runs_.size(); ++run) {
      double sum = 0.0;
      for (std::size_t i = 0; i < runs_[run].collectives.size(); ++i) {
        rank_collective const& one = runs_[run].collectives[i];
        sum += hidden(mean(one.ns), mean(one.launches), mean(one.lost), most[numbers_[run][i]],
                      runs_[run]);
      }
      largest = std::max(largest, sum);
    }
    return largest;
  }

  /// The least time of each collective in each sample, of the ranks that took part in it.
  void find_transfers() {
    least_.resize(collectives_ * samples_, 0.0);
    for_each_time([this](std::size_t, std::size_t position, double ns) {
      double& least = least_[position];
      least = least > 0.0 ? std::min(least, ns) : ns;
    });
    transfers_.resize(runs_.size() * samples_, 0.0);
    waits_.resize(runs_.size() * samples_, 0.0);
    for_each_time([this](std::size_t own, std::size_t position, double ns) {
      transfers_[own] += least_[position];
      waits_[own] += ns - least_[position];
    });
  }
  /// Hands each time that a rank spent in a collective in a sample to `take`, with the place of
  /// the rank's sample and that of the collective's.
  template <class Take>
  void for_each_time(Take const& take) const {
    for (std::size_t run = 0; run < runs_.size(); ++run)
      for (std::size_t i = 0; i < runs_[run].collectives.size(); ++i)
        for (std::size_t sample = 0; sample < samples_; ++sample) {
          double const ns = runs_[run].collectives[i].ns[sample];
          std::size_t const position = numbers_[run][i] * samples_ + sample;
          if (ns > 0.0) take(run * samples_ + sample, position, ns);
        }
  }

  void describe(rank_run const& run) {
    made_.ranks.emplace_back();
    rank_row& row = made_.ranks.back();
    row.rank = run.rank;
    row.host = run.host;
    row.device = run.device;
    row.step_ns = run.step_ns;
    row.busy_ns = mean(run.busy_ns);
    row.work_ns = mean(run.work_ns);
  }
  /// How late each rank is in a sample, and which is last. Of equal ranks none is last.
  void add_sample(std::size_t sample) {
    std::vector<double> hurry;  // the less, the later
    for (std::size_t run = 0; run < runs_.size(); ++run)
      hurry.push_back(made_.has_collectives ? waits_[run * samples_ + sample]
                                            : -runs_[run].work_ns[sample]);
    std::vector<double> const others = medians_of_others(hurry);
    std::size_t last = 0;
    std::size_t equals = 0;
    for (std::size_t run = 0; run < runs_.size(); ++run) {
      late_.push_back(others[run] - hurry[run]);
      if (hurry[run] < hurry[last]) {
        last = run;
        equals = 0;
      }
      if (hurry[run] == hurry[last]) ++equals;
    }
    if (made_.by_step && equals == 1) ++made_.ranks[last].times_last;
  }
  void finish_rows() {
    for (std::size_t run = 0; run < runs_.size(); ++run) {
      rank_row& row = made_.ranks[run];
      std::vector<double> late;
      for (std::size_t sample = 0; sample < samples_; ++sample) {
        late.push_back(late_[sample * runs_.size() + run]);
        row.transfer_ns += transfers_[run * samples_ + sample];
        row.wait_ns += waits_[run * samples_ + sample];
      }
      row.transfer_ns /= std::max(1.0, static_cast<double>(samples_));
      row.wait_ns /= std::max(1.0, static_cast<double>(samples_));
      row.late_ns = mean(late);
      row.deviation_ns = made_.by_step ? sample_deviation(late) : runs_[run].deviation_ns;
    }
  }
  rank_row const& latest() const {
    rank_row const* latest = &made_.ranks.front();
    for (rank_row const& row : made_.ranks)
      if (row.late_ns > latest->late_ns) latest = &row;
    return *latest;
  }

  /// The work of one range on one rank.
  struct range_work {
    std::string const* path;
    std::size_t run;
    rank_range const* range;
  };
  void compare_ranges(std::int32_t last) {
    std::vector<range_work> all;
    for (std::size_t run = 0; run < runs_.size(); ++run)
      for (rank_range const& range : runs_[run].ranges) all.push_back({&range.path, run, &range});
    std::stable_sort(all.begin(), all.end(),
                     [](range_work const& a, range_work const& b) { return *a.path < *b.path; });
    for (std::size_t begin = 0; begin < all.size();) {
      std::size_t end = begin;
      std::vector<double> ns(runs_.size(),
                             0.0);  // a rank that does not know the range did nothing in it
      std::vector<double> lost(runs_.size(), 0.0);
      double most = 0.0;  // launches
      for (std::size_t i = begin; i < all.size() && *all[i].path == *all[begin].path; ++i)
        most = std::max(most, all[i].range->launches);
      for (; end < all.size() && *all[end].path == *all[begin].path; ++end) {
        rank_range const& range = *all[end].range;
        ns[all[end].run] += range.ns;
        lost[all[end].run] +=
            hidden(range.ns, range.launches, range.lost, most, runs_[all[end].run]);
      }
      for (std::size_t run = 0; run < runs_.size(); ++run)
        made_.ranks[run].work_lost_ns += lost[run];
      // What stands for many ranges is not one in which a rank is late.
      if (!is_in_stand_in(*all[begin].path)) add_range(*all[begin].path, ns, lost, last);
      begin = end;
    }
    std::stable_sort(made_.ranges.begin(), made_.ranges.end(),
                     [](rank_spread const& a, rank_spread const& b) {
                       return a.max_ns - a.min_ns > b.max_ns - b.min_ns;
                     });
  }
  void add_range(std::string const& path, std::vector<double> const& ns,
                 std::vector<double> const& lost, std::int32_t last) {
    rank_spread range;
    range.path = path;
    range.min_ns = range.max_ns = ns[0];
    range.max_rank = runs_[0].rank;
    range.median_ns = median(ns);
    std::vector<double> const others = medians_of_others(ns);
    for (std::size_t run = 0; run < runs_.size(); ++run) {
      range.min_ns = std::min(range.min_ns, ns[run]);
      if (ns[run] > range.max_ns) {
        range.max_ns = ns[run];
        range.max_rank = runs_[run].rank;
      }
      if (runs_[run].rank != last) continue;
      double of_others = 0.0;
      for (std::size_t other = 0; other < runs_.size(); ++other)
        if (other != run) of_others = std::max(of_others, lost[other]);
      range.last_more_ns = ns[run] - others[run];
      range.least_more_ns = range.last_more_ns - of_others;
      range.most_more_ns = range.last_more_ns + lost[run];
    }
    made_.ranges.push_back(std::move(range));
  }

  /// The noise is the deviation of one step: that of the last rank, or of the median rank where
  /// that is larger. The mean of few steps of the worst of many ranks is beyond it by chance, which
  /// the factor allows for.
  void judge(rank_row const& last) {
    std::vector<double> deviations;
    for (rank_row const& row : made_.ranks) deviations.push_back(row.deviation_ns);
    auto const steps = std::max(1.0, static_cast<double>(made_.steps));
    auto const ranks = static_cast<double>(made_.ranks.size());
    double const chance = (1.0 + std::sqrt(2.0 * std::log(ranks))) / std::sqrt(steps);
    made_.noise_ns =
        std::max(last.deviation_ns, median(std::move(deviations))) * std::max(1.0, chance);
    made_.lost_ns = made_.has_collectives ? hidden_waits() : 0.0;
    if (!made_.has_collectives)
      for (rank_row const& row : made_.ranks)
        made_.lost_ns = std::max(made_.lost_ns, row.work_lost_ns);
    if (made_.left_out > 0) made_.lost_ns = 0.0;  // what is left has lost nothing
    auto const is_large = [&](double late_ns) {
      return late_ns > made_.noise_ns && late_ns >= least_rank_share * last.step_ns;
    };
    bool const at_least = is_large(last.late_ns - made_.lost_ns);
    made_.lost = made_.lost || at_least != is_large(last.late_ns + made_.lost_ns);
    if (made_.steps < fewest_rank_steps || !made_.same_collectives || made_.lost)
      made_.verdict = rank_verdict::undecided;
    else
      made_.verdict = at_least ? rank_verdict::stands_out : rank_verdict::none_stands_out;
  }
  void order() {
    std::stable_sort(made_.ranks.begin(), made_.ranks.end(),
                     [](rank_row const& a, rank_row const& b) {
                       return a.late_ns != b.late_ns ? a.late_ns > b.late_ns : a.rank < b.rank;
                     });
  }

  std::vector<rank_run>& runs_;
  rank_comparison made_;
  std::size_t samples_ = 0;
  std::size_t collectives_ = 0;
  std::vector<std::vector<std::size_t>> numbers_;  // of each rank's collectives among those of all
  std::vector<double> least_;                      // by collective and sample
  std::vector<double> transfers_;                  // by rank and sample
  std::vector<double> waits_;                      // by rank and sample
  std::vector<double> late_;                       // by sample and rank
};

}  // namespace detail

rank_comparison compare_ranks(std::vector<rank_run>& runs) {
  return detail::rank_comparer(runs).compare();
}

STRATA_END
