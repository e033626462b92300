#include "run_period.hpp"

#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/profile.hpp>
#include <strata/profile/records.hpp>
#include <strata/tables/call_tree.hpp>
#include <strata/tables/counter_table.hpp>
#include <strata/tables/launch_index.hpp>
#include <strata/tables/steps_summary.hpp>
#include <strata/tables/table_input.hpp>
#include "change_statistics.hpp"
#include "findings.hpp"
#include "range_paths.hpp"
#include "roofline.hpp"
#include "run_answer.hpp"
#include "run_tables.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

STRATA_BEGIN
namespace detail {
namespace {

/// The direction of a copy, as rows name it.
std::string_view direction_of(copy_kind kind) noexcept {
  if (kind == copy_kind::host_to_device) return "copies to the GPU";
  if (kind == copy_kind::device_to_host) return "copies to the host";
  return "other copies and fills";
}

/// The sum of a series, and the variance of its mean.
struct sampled {
  double sum = 0.0;
  double squares = 0.0;

  void add(double value) {
    sum += value;
    squares += value * value;
  }
  double mean(double count) const { return sum / count; }
  double variance(double count) const {
    return count > 1.0 ? std::max(0.0, squares - sum * sum / count) / (count - 1.0) / count : 0.0;
  }
};

/// The time between steps, by the rule of the reports.
void add_between(mean_between const& between, run_period& made) {
  made.names_between = between.is_named;
  if (between.ns > 0.0)
    made.parts.push_back({period_kind::between, "between steps", between.ns, between.variance});
}

/// The period of a recording whose timeline is whole.
class timeline_period {
 public:
  timeline_period(profile const& source, call_tree const& tree, vec<step_idle> const& steps)
      : source_(source), tree_(tree), steps_(steps) {
    for (std::size_t i = 0; i < steps_.size(); ++i) places_[steps_[i].step] = i;
  }

  run_period make() {
    made_.steps = static_cast<double>(steps_.size());
    made_.knows_causes = true;
    add_work();
    add_idle();
    add_overlap();
    return std::move(made_);
  }

 private:
  /// Work of a part in one step.
  struct work {
    std::size_t part;
    std::size_t step;
    double ns;
  };

  std::size_t part_of(period_kind kind, std::string_view name) {
    auto const [place, is_new] =
        parts_.emplace(std::pair(kind, std::string(name)), made_.parts.size());
    if (is_new) {
      made_.parts.push_back({kind, std::string(name)});
      made_.parts.back().kernels = 0.0;
    }
    return place->second;
  }
  void add_work() {
    std::vector<work> all;
    std::vector<std::size_t> part_of_row(tree_.rows().size(), no_part);
    launch_index const launches(source_);
    auto const add = [&](auto const& record, std::uint32_t launch) {
      auto const place = places_.find(source_.launches[launch].step);
      if (place == places_.end()) return;
      std::size_t const part = part_of(record, part_of_row);
      made_.parts[part].kernels += 1.0 / made_.steps;
      all.push_back({part, place->second, static_cast<double>(elapsed(record.begin, record.end))});
    };
    launches.visit_work(add);
    std::sort(all.begin(), all.end(), [](work const& a, work const& b) {
      return a.part != b.part ? a.part < b.part : a.step < b.step;
    });
    std::vector<double> kernels(steps_.size());  // of all ranges
    for (work const& each : all)
      if (made_.parts[each.part].kind == period_kind::range) kernels[each.step] += each.ns;
    double const mean_kernels = mean(kernels);
    rest_.resize(steps_.size());
    for (std::size_t i = 0; i < steps_.size(); ++i) rest_[i] = steps_[i].ns;
    for (std::size_t i = 0; i < all.size();) {
      std::size_t const part = all[i].part;
      sampled sums;
      double with_kernels = 0.0;  // products of the part and of all kernels, by step
      while (i < all.size() && all[i].part == part) {
        std::size_t const step = all[i].step;
        double ns = 0.0;
        for (; i < all.size() && all[i].part == part && all[i].step == step; ++i) ns += all[i].ns;
        sums.add(ns);
        with_kernels += ns * (kernels[step] - mean_kernels);
        rest_[step] -= ns;
      }
      finish(made_.parts[part], sums);
      if (made_.steps < 2.0) continue;
      // Of x - b s, where s are all kernels: what makes them all longer makes x longer too.
      double const b = mean_kernels > 0.0 ? made_.parts[part].ns / mean_kernels : 0.0;
      double const of_sums =
          (b * b * squares(kernels) - 2.0 * b * with_kernels) / ((made_.steps - 1.0) * made_.steps);
      made_.parts[part].variance_beside = std::max(0.0, made_.parts[part].variance + of_sums);
    }
  }
  std::size_t part_of(kernel_record const& record, std::vector<std::size_t>& part_of_row) {
    std::size_t const row = tree_.position_of(record.node);
    if (part_of_row[row] == no_part)
      part_of_row[row] = part_of(period_kind::range, tree_.rows()[row].path);
    return part_of_row[row];
  }
  std::size_t part_of(copy_record const& record, std::vector<std::size_t>&) {
    return part_of(period_kind::copy, direction_of(record.kind));
  }
  void finish(period_part& part, sampled const& sums) const {
    part.ns = sums.mean(made_.steps);
    part.variance = sums.variance(made_.steps);
  }
  void add_idle() {
    for (std::size_t cause = 0; cause < idle_causes; ++cause) {
      sampled sums;
      for (std::size_t i = 0; i < steps_.size(); ++i) {
        sums.add(steps_[i].idle_ns[cause]);
        rest_[i] -= steps_[i].idle_ns[cause];
      }
      if (!(sums.sum > 0.0)) continue;
      made_.parts.push_back({period_kind::idle, std::string(idle_cause_table[cause].name)});
      finish(made_.parts.back(), sums);
    }
  }
  void add_overlap() {
    sampled sums;
    for (double const rest : rest_) sums.add(rest);
    constexpr double rounding = 1.0;  // ns
    if (std::abs(sums.mean(made_.steps)) < rounding) return;
    made_.parts.push_back({period_kind::overlap, "at the same time"});
    finish(made_.parts.back(), sums);
  }

  static constexpr std::size_t no_part = static_cast<std::size_t>(-1);

  profile const& source_;
  call_tree const& tree_;
  vec<step_idle> const& steps_;
  std::map<std::uint32_t, std::size_t> places_;  ///< of the steps, by their numbers
  std::map<std::pair<period_kind, std::string>, std::size_t> parts_;
  std::vector<double> rest_;  ///< by step: what is in no part yet
  run_period made_;
};

/// The period by sums.
class summed_period {
 public:
  /// `input`: of a recording, which tells more than the columns of its tables.
  explicit summed_period(run_tables const& run, table_input const* input = nullptr)
      : run_(run), input_(input) {
    for (run_step const& step : run.steps) steps_ns_.push_back(step.ns);
    all_ = static_cast<double>(run.steps.size()) + run.steps_folded;
  }

  run_period make() {
    if (run_.steps.empty()) return {};
    find_step();
    run_.traced ? add_gpu() : add_host();
    return std::move(made_);
  }
  mean_between between() const {
    times_between_steps times(step_ns_);
    for (std::size_t i = without_first_ ? 2 : 1; i < run_.steps.size(); ++i) {
      run_step const& next = run_.steps[i];
      double const ns = next.end_ns - next.ns - run_.steps[i - 1].end_ns;
      if (next.number == run_.steps[i - 1].number + 1.0) times.add(std::max(0.0, ns));
    }
    return times.mean();
  }

 private:
  void find_step() {
    std::vector<double> later(steps_ns_.begin() + 1, steps_ns_.end());
    without_first_ = steps_ns_.size() >= 3 && !(run_.steps_folded > 0.0) &&
                     steps_ns_[0] > dear_first_step * median(steps_ns_);
    if (input_ != nullptr) without_first_ = input_->steps.without_first;
    if (without_first_) made_.first_ns = steps_ns_[0];
    std::vector<double> const& averaged = without_first_ ? later : steps_ns_;
    auto const count = static_cast<double>(averaged.size());
    made_.steps = count;
    step_ns_ = mean(averaged);
    step_variance_ = count > 1.0 ? squares(averaged) / (count - 1.0) / count : 0.0;
  }
  /// A sum over all steps as a part of a mean one.
  double per_step(double total, double first, bool knows_first) const {
    bool const without = without_first_ && knows_first && total >= first;
    return (without ? total - first : total) / (without ? all_ - 1.0 : all_);
  }
  /// The part of a range that is in steps, by its calls; of all ranges by their launches.
  double part_in_steps(run_row const& row) const {
    return std::clamp(run_.number(row, "step_share", 1.0), 0.0, 1.0);
  }
  void add(period_kind kind, std::string name, double ns, double variance, double count) {
    auto const [place, is_new] = parts_.emplace(std::pair(kind, name), made_.parts.size());
    if (is_new) {
      made_.parts.push_back({kind, std::move(name)});
      made_.parts.back().kernels = 0.0;
    }
    period_part& part = made_.parts[place->second];
    part.ns += ns;
    part.variance += variance;
    part.kernels += count;
  }
  void add_gpu() {
    double busy = 0.0;
    double copies = 0.0;
    std::map<std::string_view, double> parts;
    for (run_row const& row : run_.ranges) {
      double const part = parts[row.path] = part_in_steps(row);
      double const first = run_.number(row, "first_step_gpu_busy_ns", -1.0);
      if (row.path.empty())
        busy = per_step(run_.number(row, "gpu_busy_ns") * part, first, first >= 0.0);
      copies += run_.number(row, "copies_self") * part;
      double const ns = run_.number(row, "gpu_copy_self_ns") * part / all_;
      if (ns > 0.0) add(period_kind::copy, "copies", ns, 0.0, 0.0);
    }
    if (period_part* const all = find(period_kind::copy, "copies")) all->kernels = copies / all_;
    for (run_kernel const& kernel : run_.kernels) {
      auto const row = parts.find(kernel.path);
      double const part = row == parts.end() ? 1.0 : row->second;
      if (!(part > 0.0)) continue;
      call_times const& times = kernel.times;
      double const ns = per_step(times.total * part, times.first_total, times.knows_first);
      double const spread = times.deviation * times.deviation;
      double const count = per_step(times.count * part, times.first_count, times.knows_first);
      add(period_kind::range, with_folded_indices(kernel.path), ns,
          spread * count / std::max(1.0, made_.steps), count);
    }
    close(std::min(busy, step_ns_), period_kind::overlap, "at the same time");
    if (step_ns_ > busy)
      made_.parts.push_back(
          {period_kind::idle, std::string(idle_without_cause), step_ns_ - busy, step_variance_});
  }
  /// By rows: the host time in a range itself in a mean step, of the threads that drive steps.
  std::vector<double> own_host_times() const {
    std::vector<double> first;  // of a range itself, in the first step
    std::unordered_map<std::string_view, std::size_t> places;
    for (run_row const& row : run_.ranges) {
      places.emplace(row.path, first.size());
      first.push_back(run_.number(row, "first_step_host_ns"));
    }
    for (run_row const& row : run_.ranges) {
      auto above = places.end();  // a name may have a / too
      for (std::string_view path = row.path; above == places.end();) {
        std::size_t const end = path.rfind('/');
        if (end == path.npos) break;
        path = path.substr(0, end);
        above = places.find(path);
      }
      if (above != places.end()) first[above->second] -= run_.number(row, "first_step_host_ns");
    }
    std::vector<double> own;
    for (run_row const& row : run_.ranges) {
      double const total = run_.number(row, "host_total_ns");
      double const self = run_.number(row, "host_self_ns", total);
      double const others = std::min(total, run_.number(row, "other_threads_ns"));
      double const part = total > 0.0 ? part_in_steps(row) * (1.0 - others / total) : 0.0;
      own.push_back(per_step(self * part, std::max(0.0, first[own.size()]), true));
    }
    shorten_estimates(own);
    return own;
  }
  /// Of ranges that are called outside of steps too, the part of the calls tells that of the time:
  /// no more than the step has left.
  void shorten_estimates(std::vector<double>& own) const {
    auto const is_estimate = [this](std::size_t i) {
      double const part = part_in_steps(run_.ranges[i]);
      return part > 0.0 && part < 1.0;
    };
    double known = 0.0;
    double estimated = 0.0;
    for (std::size_t i = 0; i < own.size(); ++i)
      (is_estimate(i) ? estimated : known) += std::max(0.0, own[i]);
    if (known + estimated <= step_ns_ || !(estimated > 0.0)) return;
    double const factor = std::max(0.0, step_ns_ - known) / estimated;
    for (std::size_t i = 0; i < own.size(); ++i)
      if (is_estimate(i)) own[i] *= factor;
  }
  void add_host() {
    std::vector<double> own;
    if (input_ == nullptr) {
      own = own_host_times();
    } else {
      step_amounts const amounts(input_->ranges, input_->steps);
      for (std::size_t i = 0; i < input_->ranges.size(); ++i)
        own.push_back(amounts.stepping_self_ns(i));
    }
    for (std::size_t i = 0; i < own.size(); ++i) {
      run_row const& row = run_.ranges[i];
      if (row.path.empty() || !(own[i] > 0.0)) continue;
      double const deviation = run_.number(row, "host_stddev_ns");
      double const count = run_.number(row, "calls") / all_;
      add(period_kind::range, with_folded_indices(row.path), own[i],
          deviation * deviation * count / std::max(1.0, made_.steps), 0.0);
    }
    for (period_part& part : made_.parts) part.kernels = std::numeric_limits<double>::quiet_NaN();
    made_.knows_causes = true;  // no part is idle time
    close(step_ns_, period_kind::range, "");
    // Ranges of several threads together may have more than the step.
    period_part* const outside = find(period_kind::range, "");
    if (outside != nullptr && outside->ns < 0.0) {
      outside->kind = period_kind::overlap;
      outside->name = "at the same time";
    }
  }
  /// Adds what the parts lack of a sum, or have above it.
  void close(double sum, period_kind kind, std::string name) {
    double known = 0.0;
    double variance = step_variance_;
    for (period_part const& part : made_.parts) {
      known += part.ns;
      variance += part.variance;
    }
    constexpr double rounding = 1.0;  // ns
    if (std::abs(sum - known) < rounding) return;
    if (period_part* const there = find(kind, name)) {
      there->ns += sum - known;
      there->variance = variance;
    } else {
      made_.parts.push_back({kind, std::move(name), sum - known, variance});
    }
  }
  period_part* find(period_kind kind, std::string_view name) {
    return const_cast<period_part*>(made_.find(kind, name));
  }

  run_tables const& run_;
  table_input const* input_;
  std::vector<double> steps_ns_;
  double all_ = 1.0;
  bool without_first_ = false;
  double step_ns_ = 0.0;
  double step_variance_ = 0.0;
  std::map<std::pair<period_kind, std::string>, std::size_t> parts_;
  run_period made_;
};

/// What bounds the step, as words: the sentence has more behind them.
void find_bound(run_period& made, findings_table const& findings, roofline_table const& roofline) {
  std::string word = findings.bound.substr(0, findings.bound.find(':'));
  if (word.size() == findings.bound.size() || word.size() < 2) return;
  if (word == "GPU-bound" && !roofline.limits.empty()) {
    range_limit const& limit = roofline.limits[0];
    std::string const name = limit.kind == limiter::unit    ? limit.names()
                             : limit.kind == limiter::mixed ? "no single limiter"
                                                            : limit.text;
    if (!name.empty()) made.limit = word + " (" + name + ")";
  }
  bool const is_word = std::islower(static_cast<unsigned char>(word[1])) != 0;
  if (is_word) word[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(word[0])));
  made.bound = std::move(word);
}

/// Adds what is known of ranges besides time.
void describe_ranges(run_period& made, vec<range_row> const& rows, roofline_table const& roofline,
                     counter_table const* counters) {
  std::map<std::string_view, std::size_t> row_of;
  for (std::size_t row = 0; row < rows.size(); ++row) row_of.emplace(rows[row].path, row);
  std::size_t const hbm = counters == nullptr ? counter_table::none : counters->find("hbm_bytes");
  for (period_part& part : made.parts) {
    auto const found = row_of.find(part.name);
    if (part.kind != period_kind::range || found == row_of.end()) continue;
    std::size_t const row = found->second;
    if (row < roofline.limits.size()) part.limiter = roofline.limits[row].text;
    if (hbm != counter_table::none && row < counters->rows)
      part.hbm_bytes = counters->at(row, hbm, counter_scope::self).value;
  }
}

/// Sums up, the largest part first within its kind.
run_period finished(run_period made) {
  made.ns = 0.0;
  for (period_part const& part : made.parts) made.ns += part.ns;
  std::stable_sort(made.parts.begin(), made.parts.end(),
                   [](period_part const& a, period_part const& b) {
                     return a.kind != b.kind ? a.kind < b.kind : a.ns > b.ns;
                   });
  return made;
}

}  // namespace
}  // namespace detail

run_period make_run_period(run_tables const& run) {
  detail::summed_period period(run);
  run_period made = period.make();
  detail::add_between(period.between(), made);
  return detail::finished(std::move(made));
}

run_period make_run_period(profile const& source, profile_tables& tables,
                           step_analysis const& steps, run_tables const& run) {
  table_input const& input = tables.input();
  call_tree const& tree = tables.folded();
  if (source.steps.empty()) return {};
  bool const is_whole = source.traced && !steps.typical.empty();
  run_period made = is_whole ? detail::timeline_period(source, tree, steps.typical).make()
                             : detail::summed_period(run, &input).make();
  detail::add_between(steps.between, made);
  if (steps.without_first) made.first_ns = steps.first_ns;
  if (steps.is_slowed()) made.unrecorded_ns = steps.unrecorded_ns;
  if (!source.traced) return detail::finished(std::move(made));
  run_answer const answer = make_run_answer(input, tree, steps, false);
  detail::find_bound(made, answer.findings, answer.roofline);
  detail::describe_ranges(made, input.folded, answer.roofline, gpu_counters(input));
  return detail::finished(std::move(made));
}

STRATA_END
