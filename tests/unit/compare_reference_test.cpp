// Comparisons of small runs, checked by a plain reference of docs/reference/comparison.md, which
// computes each mean, variance and verdict from the single calls; and the statistics compared with
// what defines them.
#include <doctest/doctest.h>
#include "analyse/change_statistics.hpp"
#include "analyse/compare.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "../../tools/profile_json.hpp"
#include "sample_profile.hpp"

namespace compare_reference_test {

namespace {

using numbers = std::vector<double>;
using strata::comparison;
using strata::comparison_verdict;
using strata::range_verdict;

double sum_of(numbers const& all) {
  double sum = 0.0;
  for (double const value : all) sum += value;
  return sum;
}
double mean_of(numbers const& all) { return sum_of(all) / static_cast<double>(all.size()); }
double squares_of(numbers const& all) {
  double sum = 0.0;
  for (double const value : all) sum += std::pow(value - mean_of(all), 2);
  return sum;
}
double median_of(numbers all) {
  std::sort(all.begin(), all.end());
  std::size_t const count = all.size();
  return count == 0 ? 0.0 : (all[(count - 1) / 2] + all[count / 2]) / 2.0;
}

/// A value and the variance of its error.
struct estimate {
  double value = 0.0;
  double variance = 0.0;
};

/// The logarithm of the median. Its variance is pi / 2 times that of a mean, times what values that
/// follow each other have in common.
estimate typical_of(numbers const& series) {
  numbers logarithms;
  for (double const value : series) logarithms.push_back(std::log(value));
  double const middle = std::log(median_of(series));
  numbers distances;
  for (double const value : logarithms)
    distances.push_back(std::fabs(value - median_of(logarithms)));
  double const deviation = 1.4826 * median_of(distances);
  numbers moved;
  for (double const value : logarithms)
    moved.push_back(std::min(std::max(value - middle, -3.0 * deviation), 3.0 * deviation));
  double products = 0.0;
  double squares = 0.0;
  for (std::size_t i = 0; i < moved.size(); ++i) {
    if (i > 0) products += moved[i] * moved[i - 1];
    squares += moved[i] * moved[i];
  }
  double const likeness = squares > 0.0 ? std::min(std::max(products / squares, 0.0), 0.9) : 0.0;
  double const count = static_cast<double>(series.size());
  return {middle, 1.5708 * deviation * deviation / count * (1.0 + likeness) / (1.0 - likeness)};
}

/// One run: a range is called once a step.
struct one_run {
  numbers steps_ms;
  std::vector<numbers> calls_ns;  ///< by range
};

std::string json_of(one_run const& run) {
  std::string text =
      R"({"schema":{"name":"strata.profile","version":1},"environment":{"command":"x"},)"
      R"("devices":[{"name":"GPU","clock_khz":1000}],"traced":false,"steps":[)";
  double begin = 0.0;
  for (double const step : run.steps_ms) {
    text += (begin > 0.0 ? "," : "") + std::string("{\"begin_ns\":") + std::to_string(begin) +
            ",\"end_ns\":" + std::to_string(begin + step * 1e6) + "}";
    begin += step * 1e6 + 1.0;
  }
  text += "],\"ranges\":[{\"path\":\"\",\"calls\":0}";
  for (std::size_t i = 0; i < run.calls_ns.size(); ++i) {
    numbers const& calls = run.calls_ns[i];
    double const spread = squares_of(calls) / static_cast<double>(calls.size() - 1);
    text += ",{\"path\":\"r" + std::to_string(i) + "\"";
    auto const add = [&](char const* key, double value) {
      text += std::string(",\"") + key + "\":" + std::to_string(value);
    };
    add("calls", static_cast<double>(calls.size()));
    add("host_total_ns", sum_of(calls));
    add("host_stddev_ns", std::sqrt(spread));
    add("host_p50_ns", median_of(calls));
    add("first_step_calls", 1.0);
    add("first_step_host_ns", calls[0]);
    text += "}";
  }
  return text + "],\"kernels\":[]}";
}

comparison compared(std::vector<one_run> const& before, std::vector<one_run> const& after,
                    strata::compare_options const& options) {
  std::vector<std::unique_ptr<strata::run_tables>> files;
  std::vector<strata::run_tables const*> sides[2];
  for (auto const* const side : {&before, &after})
    for (one_run const& run : *side) {
      files.push_back(std::make_unique<strata::run_tables>());
      REQUIRE(tools::read_profile_json(json_of(run), *files.back()) == "");
      sides[side == &after].push_back(files.back().get());
    }
  return strata::compare(sides[0], sides[1], options);
}

struct expected_range {
  numbers logarithms;  ///< by run
  double within = 0.0;
  double between_runs = 0.0;
  double variance = 0.0;
  double change = 0.0;
  double typical = 0.0;
  double share = 0.0;
  double limit = 0.0;
  bool judged = false;
  double noise = 0.0;
  range_verdict verdict = range_verdict::unjudged;
  std::size_t steps_to_decide = 0;
};

/// What the comparison of runs of both sides is, by the words of docs/reference/comparison.md.
class reference {
 public:
  reference(std::vector<one_run> const& before, std::vector<one_run> const& after,
            strata::compare_options const& options)
      : options_(options), limit_(std::log(1.0 + options.limit)) {
    count_[0] = static_cast<double>(before.size());
    count_[1] = static_cast<double>(after.size());
    for (one_run const& run : before) runs_.push_back({&run, 0});
    for (one_run const& run : after) runs_.push_back({&run, 1});
    all_runs_ = static_cast<double>(runs_.size());
    both_known_ = count_[0] > 1.0 && count_[1] > 1.0;
    between_ = 1.0 / count_[0] + 1.0 / count_[1];
    look_at_steps();
    for (std::size_t i = 0; i < before[0].calls_ns.size(); ++i) look_at_range(i);
    if (all_runs_ >= 3.0) add_noise_between_runs();
    judge_ranges();
    judge_step();
    decide();
  }

  double before_ms = 0.0, after_ms = 0.0;
  double step_change = 0.0, step_noise = 0.0, resolution = 0.0;
  double common = 0.0;
  bool runs_known = false;
  std::size_t noisy = 0;
  std::vector<expected_range> ranges;
  comparison_verdict verdict = comparison_verdict::inconclusive;
  std::size_t steps_to_decide = 0, runs_to_decide = 0;

 private:
  struct sided_run {
    one_run const* run;
    int side;
  };

  static double quantile(double chance, double freedom) {
    return strata::detail::student_quantile(chance, freedom);
  }

  /// 1 where the first step is apart: more than 1.5 medians.
  static std::ptrdiff_t first_of(one_run const& run) {
    return run.steps_ms.size() >= 3 && run.steps_ms[0] > 1.5 * median_of(run.steps_ms) ? 1 : 0;
  }

  void look_at_steps() {
    numbers typical[2];
    for (sided_run const& each : runs_) {
      numbers const rest(each.run->steps_ms.begin() + first_of(*each.run),
                         each.run->steps_ms.end());
      estimate const one = typical_of(rest);
      typical[each.side].push_back(one.value);
      step_within_ += one.variance / std::pow(count_[each.side], 2);
      steps_a_run_ = std::min(steps_a_run_, static_cast<double>(each.run->steps_ms.size()));
      for (double const step : rest) pooled_[each.side].push_back(step);
    }
    before_ms = std::exp(mean_of(typical[0]));
    after_ms = std::exp(mean_of(typical[1]));
    step_value_ = mean_of(typical[1]) - mean_of(typical[0]);
    step_variance_ = step_within_;
    runs_known = options_.run_noise > 0.0 || all_runs_ >= 4.0;
    if (options_.run_noise > 0.0) {
      step_variance_ += std::pow(options_.run_noise, 2) * between_;
    } else if (all_runs_ >= 4.0) {
      freedom_ = all_runs_ - 2.0;
      double const of_a_run = (squares_of(typical[0]) + squares_of(typical[1])) / freedom_;
      step_variance_ = std::max(step_within_, of_a_run * between_);
    }
    step_change = std::exp(step_value_) - 1.0;
    step_noise = std::sqrt(step_variance_);
    resolution = std::exp(quantile(0.005, freedom_) * step_noise) - 1.0;
  }

  void look_at_range(std::size_t i) {
    expected_range made;
    double means[2] = {};
    double medians[2] = {};
    for (sided_run const& each : runs_) {
      numbers const& all = each.run->calls_ns[i];
      numbers const rest(all.begin() + first_of(*each.run), all.end());
      double const count = static_cast<double>(rest.size());
      double const mean = mean_of(rest);
      made.logarithms.push_back(std::log(mean / 1e6));
      double const of_mean = squares_of(rest) / (count - 1.0) / count;
      made.within += of_mean / (mean * mean) / std::pow(count_[each.side], 2);
      means[each.side] += made.logarithms.back() / count_[each.side];
      medians[each.side] += median_of(all) / 1e6 / count_[each.side];
    }
    made.change = means[1] - means[0];
    made.typical = std::log(medians[1] / medians[0]);
    made.variance = made.within;
    made.share = std::exp(std::max(means[0], means[1])) / std::max(before_ms, after_ms);
    made.judged = made.share >= options_.least_share / 4.0;
    made.limit = own_limit("r" + std::to_string(i), "host");
    ranges.push_back(made);
  }
  double own_limit(std::string const& path, std::string const& column) const {
    double limit = options_.limit;
    for (strata::accepted_regression const& each : options_.accepted)
      if (each.path == path && each.column == column) limit = std::max(limit, each.limit);
    return std::log(1.0 + limit);
  }

  double away(expected_range const& range, std::size_t run) const {
    numbers side;
    for (std::size_t i = 0; i < runs_.size(); ++i)
      if (runs_[i].side == runs_[run].side) side.push_back(range.logarithms[i]);
    return range.logarithms[run] - mean_of(side);
  }
  void add_noise_between_runs() {
    numbers shifts;
    for (std::size_t run = 0; run < runs_.size(); ++run) {
      numbers moved;
      for (expected_range const& range : ranges)
        if (range.judged) moved.push_back(away(range, run));
      shifts.push_back(median_of(moved));
    }
    numbers beside;
    for (expected_range& range : ranges) {
      if (!range.judged) continue;
      double whole = 0.0;
      double alone = 0.0;
      for (std::size_t run = 0; run < runs_.size(); ++run) {
        whole += std::pow(away(range, run), 2);
        alone += std::pow(away(range, run) - shifts[run], 2);
      }
      range.between_runs = std::max(range.within, whole / (all_runs_ - 2.0) * between_);
      range.variance = std::max(range.variance, alone / (all_runs_ - 2.0) * between_);
      beside.push_back(alone / (all_runs_ - 2.0) * between_);
    }
    for (expected_range& range : ranges)
      range.variance = std::max(range.variance, median_of(beside));
  }

  void judge_ranges() {
    std::vector<strata::detail::estimate> changes;
    for (expected_range const& range : ranges)
      if (range.judged) changes.push_back({range.change, range.variance});
    family_ = strata::detail::change_in_common(changes);
    judged_ = static_cast<double>(changes.size());
    common = std::exp(family_.value) - 1.0;
    double const chance = 0.005 / ((judged_ + 1.0) * (both_known_ ? 2.0 : 1.0));
    double const beside = judged_ < 2.0 ? 1e9 : quantile(chance, judged_ - 1.0);
    double const alone = both_known_ ? quantile(chance, all_runs_ - 2.0) : 1e9;
    for (expected_range& range : ranges)
      if (range.judged && judge(range, beside, alone) > 2.0 * limit_) ++noisy;
  }
  /// The least change that noise would not hide.
  double judge(expected_range& range, double beside_needs, double alone_needs) const {
    bool const single = judged_ < 2.0;
    double const common_value = single ? 0.0 : family_.value;
    double const assumed = all_runs_ >= 4.0 ? 0.0 : limit_ / 4.0;
    double const variance = range.variance +
                            std::max(single ? 0.0 : family_.between, assumed * assumed) +
                            (single ? 0.0 : family_.variance);
    double const beside = range.change - common_value;
    double const hidden = beside_needs * std::sqrt(variance);
    double const hidden_alone = alone_needs * std::sqrt(range.between_runs);
    bool alone = false;
    if (both_known_ && range.change > limit_)
      alone = range.change / hidden_alone > beside / hidden;
    else if (both_known_)
      alone = hidden_alone < hidden;
    double const told = alone ? range.change : beside;
    double const needed = alone ? alone_needs : beside_needs;
    double const noise = alone ? range.between_runs : variance;
    bool const alike = all_runs_ >= 4.0 || std::fabs(common_value) <= limit_;
    range.noise = std::sqrt(alike ? noise : std::max(range.within, range.between_runs));
    range.verdict = range_verdict::within;
    double const least = both_known_ ? std::min(hidden, hidden_alone) : hidden;
    double const beyond_clocks = 6.0 * std::sqrt(std::max(range.within, range.between_runs));
    if (range.change - beyond_clocks > std::log(2.0) && range.typical > std::log(2.0)) {
      range.verdict = range.change <= range.limit ? range_verdict::accepted : range_verdict::slower;
      return alike ? least : 0.0;
    }
    if (range.change <= limit_ || told <= limit_) return alike ? least : 0.0;
    bool const beyond = alike && told > needed * range.noise;
    bool const most = range.typical > limit_;
    if (range.change <= range.limit) {
      range.verdict = range_verdict::accepted;
    } else if (beyond && (most || both_known_)) {
      range.verdict = range_verdict::slower;
    } else if ((beyond || most) && range.share >= options_.least_share) {
      range.verdict = range_verdict::unsure;
      double const bearable = std::pow(told / needed, 2) - (noise - range.within);
      double const steps = bearable > 0.0 ? steps_a_run_ * range.within / bearable : 1e9;
      if (steps < 1e5) range.steps_to_decide = static_cast<std::size_t>(std::ceil(steps)) + 1;
    }
    return alike ? least : 0.0;
  }

  void judge_step() {
    step_limit_ = own_limit("", "step");
    if (step_value_ <= step_limit_) return;
    step_slower_ = step_value_ - std::log(2.0) > quantile(0.005, freedom_) * step_noise;
    if (step_slower_) return;
    if (runs_known) {
      step_slower_ = step_value_ > quantile(0.005, freedom_) * step_noise;
      return;
    }
    double const beside = step_value_ - std::max(family_.value, 0.0);
    double const variance = step_variance_ + family_.between + family_.variance;
    step_slower_ = judged_ >= 2.0 && beside > step_limit_ && family_.value <= step_limit_ &&
                   chance() < 0.005 &&
                   beside > quantile(0.005, judged_ - 1.0) * std::sqrt(variance);
  }
  double chance() const {
    std::vector<double> sides[2];
    for (int side = 0; side < 2; ++side)
      for (double const step : pooled_[side]) sides[side].push_back(step);
    return strata::detail::chance_of_more(sides[0], sides[1]);
  }

  void advise(double wanted, double chance) {
    if (wanted <= 0.0) return;
    if (!runs_known || step_within_ >= 0.9 * step_variance_) {
      double const steps =
          steps_a_run_ * step_within_ * std::pow(quantile(chance, freedom_) / wanted, 2);
      if (steps < 1e5) steps_to_decide = static_cast<std::size_t>(std::ceil(steps)) + 1;
      return;
    }
    for (std::size_t count = 100; count >= 2; --count) {
      double const freedom =
          options_.run_noise > 0.0 ? 1e9 : 2.0 * static_cast<double>(count) - 2.0;
      double const noise = std::sqrt(step_variance_ / between_ * 2.0 / static_cast<double>(count));
      if (quantile(chance, freedom) * noise >= wanted) break;
      runs_to_decide = count;
    }
  }
  void decide() {
    std::size_t slower = 0;
    expected_range const* unsure = nullptr;
    for (expected_range const& range : ranges) {
      slower += range.verdict == range_verdict::slower ? 1 : 0;
      if (range.verdict != range_verdict::unsure) continue;
      if (unsure == nullptr || range.share * range.change > unsure->share * unsure->change)
        unsure = &range;
    }
    double const hidden = quantile(0.05, freedom_) * step_noise;
    if (step_slower_ || slower > 0) {
      verdict = comparison_verdict::regression;
    } else if (step_value_ > step_limit_ && !runs_known) {
      runs_to_decide = 3;
    } else if (step_value_ > step_limit_) {
      advise(step_value_, 0.005);
    } else if (step_value_ + hidden > step_limit_) {
      advise(step_limit_ - std::max(step_value_, 0.0), 0.05);
    } else if (unsure != nullptr) {
      steps_to_decide = unsure->steps_to_decide;
      if (steps_to_decide == 0)
        runs_to_decide = static_cast<std::size_t>(std::max(count_[0], count_[1])) + 2;
    } else if (common > options_.limit && !both_known_) {
      runs_to_decide = 3;
    } else {
      verdict = comparison_verdict::no_regression;
    }
  }

  strata::compare_options const& options_;
  double limit_;
  std::vector<sided_run> runs_;
  double count_[2];
  double all_runs_ = 0.0;
  bool both_known_ = false;
  double between_ = 0.0;  ///< variance of a difference of both sides, if each run had 1
  double step_value_ = 0.0, step_within_ = 0.0, step_variance_ = 0.0, step_limit_ = 0.0;
  double freedom_ = 1e9, steps_a_run_ = 1e9, judged_ = 0.0;
  bool step_slower_ = false;
  numbers pooled_[2];
  strata::detail::common_change family_;
};

doctest::Approx about(double value) { return doctest::Approx(value).epsilon(1e-5).scale(1e-6); }

/// Runs of ranges that take a fifth of a millisecond and more, one of them hardly anything.
class random_runs {
 public:
  explicit random_runs(std::uint64_t seed) : random_(seed) {
    ranges_ = 1 + random_.below(5);
    call_noise_ = 0.002 * (1 + random_.below(20));
    run_noise_ = 0.002 * random_.below(8);
  }
  one_run run(bool later) {
    one_run made;
    std::size_t const steps = 6 + random_.below(4);
    made.steps_ms.resize(steps, later ? 0.05 * rest_ : 0.05);  // in no range
    double const whole = 1.0 + run_noise_ * spread();
    for (std::uint32_t i = 0; i < ranges_; ++i) {
      double const base = i == 4 ? 9e3 : 2e5 * (1 + i);
      double const slower = later && i == 1 ? slowdown_ : later ? all_slower_ : 1.0;
      double const here = base * whole * slower * (1.0 + run_noise_ * spread());
      numbers calls;
      for (std::size_t step = 0; step < steps; ++step) {
        calls.push_back(here * (step == 0 ? 3.0 : 1.0 + call_noise_ * spread()));
        made.steps_ms[step] += calls.back() / 1e6;
      }
      made.calls_ns.push_back(calls);
    }
    return made;
  }
  strata::compare_options options() {
    double const factors[] = {1.0, 1.0, 1.04, 1.08, 1.2, 1.5, 0.8};
    slowdown_ = factors[random_.below(7)];
    all_slower_ = random_.below(4) == 0 ? factors[random_.below(7)] : 1.0;
    rest_ = random_.below(3) == 0 ? 1.0 + random_.below(9) : 1.0;
    strata::compare_options made;
    made.limit = random_.below(2) == 0 ? 0.05 : 0.02;
    made.least_share = random_.below(2) == 0 ? 0.02 : 0.2;
    if (random_.below(3) == 0) made.run_noise = 0.004 * (1 + random_.below(4));
    if (random_.below(2) == 0)
      made.accepted.push_back({"r1", "host", random_.below(2) == 0 ? 0.01 : 0.12, "known"});
    if (random_.below(3) == 0)
      made.accepted.push_back({"", "step", random_.below(2) == 0 ? 0.01 : 0.12, "known"});
    return made;
  }

 private:
  double spread() { return (static_cast<double>(random_.below(2001)) - 1000.0) / 1000.0; }

  sample::random_numbers random_;
  std::uint32_t ranges_;
  double call_noise_;
  double run_noise_;
  double slowdown_ = 1.0;
  double all_slower_ = 1.0;
  double rest_ = 1.0;
};

}  // namespace

TEST_CASE("comparisons of random runs are those of a plain reference") {
  std::size_t verdicts[3] = {};
  std::size_t range_verdicts[5] = {};
  std::size_t advised = 0;
  for (std::uint64_t seed = 1; seed <= 900; ++seed) {
    CAPTURE(seed);
    random_runs random(seed);
    strata::compare_options const options = random.options();
    std::vector<one_run> before(1 + seed % 3);
    std::vector<one_run> after(1 + seed / 3 % 3);
    for (one_run& run : before) run = random.run(false);
    for (one_run& run : after) run = random.run(true);
    comparison const made = compared(before, after, options);
    reference const expected(before, after, options);
    CHECK(made.before_ms == about(expected.before_ms));
    CHECK(made.after_ms == about(expected.after_ms));
    CHECK(made.change == about(expected.step_change));
    CHECK(made.noise == about(expected.step_noise));
    CHECK(made.resolution == about(expected.resolution));
    CHECK(made.runs_known == expected.runs_known);
    CHECK(made.common == about(expected.common));
    CHECK(made.noisy_times == expected.noisy);
    CHECK(made.verdict == expected.verdict);
    CHECK(made.steps_to_decide == expected.steps_to_decide);
    CHECK(made.runs_to_decide == expected.runs_to_decide);
    ++verdicts[static_cast<std::size_t>(made.verdict)];
    advised += made.steps_to_decide + made.runs_to_decide > 0 ? 1 : 0;
    for (std::size_t i = 0; i < expected.ranges.size(); ++i) {
      CAPTURE(i);
      expected_range const& wanted = expected.ranges[i];
      strata::compared_range const* const range = made.find("r" + std::to_string(i));
      REQUIRE(range != nullptr);
      CHECK(range->share == about(wanted.share));
      CHECK(range->verdict == wanted.verdict);
      ++range_verdicts[static_cast<std::size_t>(range->verdict)];
      if (!wanted.judged) continue;
      CHECK(range->change == about(std::exp(wanted.change) - 1.0));
      CHECK(range->noise == about(wanted.noise));
      CHECK(range->steps_to_decide == wanted.steps_to_decide);
    }
  }
  for (std::size_t const count : verdicts) CHECK(count > 20);
  for (std::size_t const count : range_verdicts) CHECK(count > 20);
  CHECK(advised > 50);
}

TEST_CASE("steps of two runs before and one after: weights, and freedom only from four runs on") {
  auto const run = [](double ms) {
    return one_run{{9.0, ms, ms, ms, ms, ms}, {numbers(6, ms * 5e5)}};
  };
  strata::compare_options options;
  options.run_noise = 0.01;
  comparison const three = compared({run(1.0), run(1.21)}, {run(1.1)}, options);
  CHECK(three.before_ms == doctest::Approx(1.1));
  CHECK(three.change == doctest::Approx(0.0).scale(1));
  CHECK(three.noise == doctest::Approx(0.01 * std::sqrt(0.5 + 1.0)));  // each side is a mean
  options.run_noise = 0.0;
  comparison const five = compared({run(1.0), run(1.1), run(1.21)}, {run(1.0), run(1.21)}, options);
  // Logarithms -d, 0, d and -d, d with d = log(1.1): 4 d^2, of 5 - 2 degrees of freedom.
  double const d = std::log(1.1);
  double const noise = std::sqrt(4.0 * d * d / 3.0 * (1.0 / 3.0 + 1.0 / 2.0));
  CHECK(five.noise == doctest::Approx(noise));
  // t of 3 degrees of freedom, 0.5 % above: 5.841.
  CHECK(five.resolution == doctest::Approx(std::exp(5.841 * noise) - 1.0).epsilon(1e-3));
}

TEST_CASE("five steps are enough; the first one is one of them unless it is apart") {
  auto const run = [](numbers steps) {
    std::size_t const count = steps.size();
    return one_run{std::move(steps), {numbers(count, 5e5)}};
  };
  comparison const five = compared({run({3, 3, 3, 1, 1})}, {run({1, 1, 1, 1, 1})}, {});
  CHECK(five.before_ms == doctest::Approx(3.0));
  comparison const apart = compared({run({9, 1, 3, 1, 3})}, {run({1, 1, 1, 1, 1})}, {});
  CHECK(apart.before_ms == doctest::Approx(2.0));  // of the others
  comparison const six = compared({run({3, 3, 3, 1, 1, 1})}, {run({1, 1, 1, 1, 1, 1})}, {});
  CHECK(six.before_ms == doctest::Approx(2.0));
  CHECK(compared({run({1, 1})}, {run({1, 1, 1, 1})}, {}).verdict ==
        comparison_verdict::no_regression);
}

TEST_CASE("an accepted limit below the general one changes nothing") {
  auto const run = [](double factor) {
    one_run made{numbers(8, 1.0), std::vector<numbers>(5, numbers(8, 1e5))};
    for (double& call : made.calls_ns[1]) call *= factor;
    return made;
  };
  strata::compare_options options;
  options.limit = 0.1;
  options.accepted.push_back({"r1", "host", 0.02, "known"});
  comparison const made = compared({run(1.0)}, {run(1.08)}, options);
  CHECK(made.verdict == comparison_verdict::no_regression);
  REQUIRE(made.find("r1") != nullptr);
  CHECK(made.find("r1")->verdict == range_verdict::within);
}

namespace {

/// A run of steps of 1 ms, a range in them, and one outside them with these members.
std::string with_load(std::size_t steps, std::string const& members,
                      std::string const& settings = "trace") {
  std::string text = json_of({numbers(steps, 1.0), {numbers(steps, 5e5)}});
  std::string const load = ",{\"path\":\"load\"," + members + "}";
  text.insert(text.find("],\"kernels\""), load);
  std::string const command = "\"command\":\"x\"";
  text.insert(text.find(command) + command.size(), ",\"configuration\":\"" + settings + "\"");
  return text;
}

comparison compared_texts(std::string const& before, std::string const& after) {
  strata::run_tables files[2];
  REQUIRE(tools::read_profile_json(before, files[0]) == "");
  REQUIRE(tools::read_profile_json(after, files[1]) == "");
  return strata::compare(files[0], files[1]);
}

}  // namespace

TEST_CASE("a range in no step has its share of all of them") {
  std::string const text = with_load(8,
                                     "\"step_share\":0,\"calls\":6,\"host_total_ns\":6e5,\"host_"
                                     "stddev_ns\":10,\"host_p50_ns\":1e5");
  comparison const made = compared_texts(text, text);
  REQUIRE(made.find("load") != nullptr);
  CHECK(made.find("load")->once);
  CHECK(made.find("load")->share == doctest::Approx(0.6 / 8));
  CHECK(made.find("load")->verdict == range_verdict::within);
}

TEST_CASE("work is alike within a thousandth, a step or in all; where files go is no setting") {
  auto const notes = [](std::size_t steps, std::string const& kernels,
                        std::string const& settings = "trace,formats=csv,out=a") {
    comparison const made =
        compared_texts(with_load(8, "\"calls\":1,\"kernels\":8000", "trace,out=b"),
                       with_load(steps, "\"calls\":1,\"kernels\":" + kernels, settings));
    std::string all;
    for (std::string const& note : made.notes)
      if (note.find("kernels") != std::string::npos || note.find("settings") != std::string::npos)
        all += note;
    return all;
  };
  CHECK(notes(8, "8000") == "");
  CHECK(notes(8, "8007") == "");
  CHECK(notes(8, "8009") != "");
  CHECK(notes(16, "8000") == "");  // outside of steps: the same in all
  CHECK(notes(8, "8000", "host,formats=csv").find("The STRATA settings differ") == 0);
}

// --- statistics, compared with their definitions ---

TEST_CASE("Student's t is the integral of its density") {
  for (double const freedom : {1.0, 2.0, 3.5, 8.0, 30.0, 200.0})
    for (double const t : {0.05, 0.4, 1.0, 2.2, 5.0}) {
      CAPTURE(freedom);
      CAPTURE(t);
      double const scale =
          std::exp(std::lgamma((freedom + 1.0) / 2.0) - std::lgamma(freedom / 2.0)) /
          std::sqrt(freedom * 3.14159265358979323846);
      double area = 0.0;
      int const parts = 20'000;
      for (int i = 0; i < parts; ++i) {
        double const x = t * (i + 0.5) / parts;
        area += std::pow(1.0 + x * x / freedom, -(freedom + 1.0) / 2.0) * t / parts;
      }
      CHECK(strata::detail::student_tail(t, freedom) ==
            doctest::Approx(0.5 - scale * area).epsilon(1e-6));
      CHECK(strata::detail::student_tail(-t, freedom) ==
            doctest::Approx(0.5 + scale * area).epsilon(1e-6));
    }
}

TEST_CASE("Mann and Whitney's U is the number of pairs, its variance that of the ranks") {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    CAPTURE(seed);
    sample::random_numbers random(seed);
    std::vector<double> before, after;
    for (std::uint32_t i = 0; i < 3 + seed % 7; ++i) before.push_back(random.below(6));
    for (std::uint32_t i = 0; i < 3 + seed % 5; ++i) after.push_back(random.below(7));
    double pairs = 0.0;
    for (double const a : before)
      for (double const b : after) pairs += b > a ? 1.0 : b == a ? 0.5 : 0.0;
    numbers ranks;
    for (auto const* const side : {&before, &after})
      for (double const value : *side) {
        double rank = 0.5;
        for (auto const* const other : {&before, &after})
          for (double const x : *other) rank += x < value ? 1.0 : x == value ? 0.5 : 0.0;
        ranks.push_back(rank);
      }
    double const n = static_cast<double>(before.size());
    double const m = static_cast<double>(after.size());
    double const variance = n * m * squares_of(ranks) / ((n + m) * (n + m - 1.0));
    if (variance < 1e-9) continue;
    double const away = (pairs - n * m / 2.0 - 0.5) / std::sqrt(variance);
    CHECK(strata::detail::chance_of_more(before, after) ==
          doctest::Approx(0.5 * std::erfc(away / std::sqrt(2.0))).epsilon(1e-9));
  }
}

TEST_CASE("the typical logarithm of a series, and how much neighbours are alike") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    sample::random_numbers random(seed);
    numbers series;
    std::vector<double> same;
    double drift = 100.0;
    std::uint32_t const count = seed % 5 == 0 ? 80 : 5 + static_cast<std::uint32_t>(seed % 12);
    for (std::uint32_t i = 0; i < count; ++i) {
      drift += random.below(3);
      series.push_back(seed % 3 == 0 ? drift * drift : drift + random.below(4));
      if (random.below(7) == 0) series.back() *= 3.0;         // interrupted
      if (seed % 5 == 0) series.back() = i < 40 ? 1.0 : 1.1;  // two levels: neighbours are alike
      same.push_back(series.back());
    }
    estimate const expected = typical_of(series);
    strata::detail::estimate const made = strata::detail::typical_logarithm(same);
    CHECK(made.value == doctest::Approx(expected.value));
    CHECK(made.variance == doctest::Approx(expected.variance).epsilon(1e-9).scale(1e-12));
  }
}

TEST_CASE("what changes have in common: half of them lie within 0.6745 deviations") {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    CAPTURE(seed);
    sample::random_numbers random(seed);
    std::vector<strata::detail::estimate> changes;
    numbers values;
    for (std::uint32_t i = 0; i < 1 + seed % 9; ++i) {
      values.push_back(0.001 * random.below(200));
      double const deviation = 0.001 * (1 + random.below(100));
      changes.push_back({values.back(), deviation * deviation});
    }
    strata::detail::common_change const made = strata::detail::change_in_common(changes);
    double const middle = median_of(values);
    CHECK(made.value == doctest::Approx(middle));
    auto const spread = [&](double between) {
      numbers deviations;
      for (auto const& each : changes)
        deviations.push_back(std::fabs(each.value - middle) / std::sqrt(each.variance + between));
      return median_of(deviations);
    };
    if (made.between == 0.0)
      CHECK(spread(0.0) <= 0.6745);
    else
      CHECK(spread(made.between) == doctest::Approx(0.6745).epsilon(1e-6));
    numbers variances;
    for (auto const& each : changes) variances.push_back(each.variance + made.between);
    CHECK(made.variance ==
          doctest::Approx(1.5708 * median_of(variances) / static_cast<double>(values.size())));
  }
}

TEST_CASE("the deviation of a sample divides by one less than there are") {
  CHECK(strata::detail::sample_deviation(std::vector<double>{1.0, 3.0}) ==
        doctest::Approx(std::sqrt(2.0)));
  CHECK(strata::detail::sample_deviation(std::vector<double>{1.0, 2.0, 3.0, 6.0}) ==
        doctest::Approx(std::sqrt(14.0 / 3.0)));
  CHECK(strata::detail::sample_deviation(std::vector<double>{5.0}) == 0.0);
}

}  // namespace compare_reference_test
