#ifndef STRATA_BENCHMARK_TRIALS_HPP
#define STRATA_BENCHMARK_TRIALS_HPP

#include <strata/base/containers.hpp>
#include <strata/profile.hpp>
#include "../analyse/statistics.hpp"

#include <algorithm>

STRATA_BEGIN

/// A parameter that a benchmark is run with, one value a run; without a name there is none. Runs of
/// one name have the same parameters.
struct benchmark_parameter {
  std::string name;
  std::int64_t value = 0;
};

/// How a function is run. Units: those of one call of the function; NaN is not given.
struct benchmark_options {
  static constexpr double no = std::numeric_limits<double>::quiet_NaN();

  std::uint32_t warmup = 3;   ///< calls before the trials
  std::uint32_t trials = 30;  ///< that are timed
  std::uint32_t calls = 1;    ///< of the function in each trial, where one is too short for a clock
  double flops = no;
  double bytes = no;
  double tokens = no;
  benchmark_parameter x{};  ///< that changes from run to run
  benchmark_parameter y{};  ///< a second one
  double growth_x = no;     ///< expected exponent of the time: 3 for O(n^3); else that of the work
  double growth_y = no;
  double peak_flops_per_s = no;  ///< of the device, for the share of its ceiling
  double peak_bytes_per_s = no;
  bool cold = false;  ///< L2 is overwritten ahead of each trial; else it has what the last one left
};

/// The trials of one run. Units: ns of one call of the function.
struct benchmark_result {
  std::string name;
  benchmark_options how;
  bool by_device =
      false;  ///< from the start of its first work on the device to the end of the last
  /// By events of the driver, with what launches and the wait take.
  bool by_events = false;
  vec<double> ns;  ///< by trial
  double median_ns = 0.0;
  double p5_ns = 0.0;
  double p95_ns = 0.0;
  double mad_ns = 0.0;  ///< median of the distances from the median
  double mean_ns = 0.0;
  double deviation_ns = 0.0;  ///< standard deviation of the trials
  std::size_t outliers = 0;   ///< further from the median than 4.45 MADs, and than 1 %

  double flops_per_s() const noexcept { return how.flops / median_ns * 1e9; }
  double bytes_per_s() const noexcept { return how.bytes / median_ns * 1e9; }
  /// The least time that the peaks allow for flops and bytes; 0 if none is given.
  double ceiling_ns() const noexcept {
    double const compute = how.flops / how.peak_flops_per_s * 1e9;
    double const memory = how.bytes / how.peak_bytes_per_s * 1e9;
    return std::max(compute > 0.0 ? compute : 0.0, memory > 0.0 ? memory : 0.0);
  }
  double of_ceiling() const noexcept { return ceiling_ns() / median_ns; }
};

/// How the time of the runs of one name grows with a parameter: time ~ parameter ^ exponent.
struct benchmark_growth {
  std::string name;
  std::string parameter;
  std::size_t values = 0;                   ///< runs that were fitted
  double exponent = 0.0;                    ///< least squares of the logarithms of the medians
  double expected = benchmark_options::no;  ///< declared, or that of flops, else of bytes
};

namespace detail {

/// Fills the statistics of a result from its trials.
inline void summarise(benchmark_result& result) {
  vec<double> sorted = result.ns;
  sorted.sort();
  result.median_ns = quantile_of(sorted, 0.5);
  result.p5_ns = quantile_of(sorted, 0.05);
  result.p95_ns = quantile_of(sorted, 0.95);
  result.mean_ns = mean(sorted);
  result.deviation_ns = sample_deviation(sorted);
  result.mad_ns = median_distance(sorted);
  result.outliers = 0;
  constexpr double deviation = 1.4826;  // of a normal distribution, in its MADs
  double const far_off = std::max(3.0 * deviation * result.mad_ns, 0.01 * result.median_ns);
  for (double const trial : sorted)
    if (std::fabs(trial - result.median_ns) > far_off) ++result.outliers;
}

/// Slopes of z over one or two variables; NaN where they do not vary, or vary together.
struct slopes {
  double x = benchmark_options::no;
  double y = benchmark_options::no;
};
inline slopes fit(vec<double> x, vec<double> y, vec<double> z) noexcept {
  auto const centre = [](vec<double>& values) {
    double const middle = mean(values);
    for (double& value : values) value -= middle;
  };
  centre(x);
  centre(y);
  centre(z);
  double xx = 0.0;
  double xy = 0.0;
  double yy = 0.0;
  double xz = 0.0;
  double yz = 0.0;
  for (std::size_t i = 0; i < z.size(); ++i) {
    xx += x[i] * x[i];
    xy += x[i] * y[i];
    yy += y[i] * y[i];
    xz += x[i] * z[i];
    yz += y[i] * z[i];
  }
  constexpr double still = 1e-9;
  slopes made;
  if (yy < still) {
    if (xx > still) made.x = xz / xx;
  } else if (xx < still) {
    made.y = yz / yy;
  } else if (double const area = xx * yy - xy * xy; area > still * xx * yy) {
    made.x = (xz * yy - yz * xy) / area;
    made.y = (yz * xx - xz * xy) / area;
  }
  return made;
}

/// `matmul(n=256,k=64)`; the name of a cold run ends with ` cold`.
inline std::string name_of(benchmark_result const& result) {
  benchmark_parameter const& x = result.how.x;
  benchmark_parameter const& y = result.how.y;
  if (x.name.empty()) return result.name;
  sentence text(result.name);
  text << '(' << x.name << '=' << x.value;
  if (!y.name.empty()) text << ',' << y.name << '=' << y.value;
  return text << ')';
}

/// The node `name[index]` below another one, or no_node.
inline std::uint32_t child_of(profile const& in, std::uint32_t parent, std::string const& name,
                              std::int64_t index) noexcept {
  for (std::uint32_t i = 1; i < in.nodes.size(); ++i) {
    profile_node const& node = in.nodes[i];
    if (node.parent == parent && node.index == index && in.names[node.name] == name) return i;
  }
  return no_node;
}

/// Replaces the host times of runs by those of the device, where each trial has some.
class device_times {
 public:
  device_times(profile const& source, vec<benchmark_result>& results)
      : source_(source), results_(results) {
    for (std::uint32_t run = 0; run < results.size(); ++run) find_trials(run);
    number();
    number_map<std::uint32_t> trial_of;  // and 1, by correlation
    for (driver_call_record const& launch : source.launches) {
      std::size_t const index =
          trials_.count_first([&](span const& trial) { return trial.begin <= launch.begin; });
      if (launch.is_left_out() || index == 0 || launch.begin > trials_[index - 1].end) continue;
      trial_of[launch.correlation] = static_cast<std::uint32_t>(index);
    }
    for (kernel_record const& kernel : source.kernels) add(trial_of, kernel);
    for (copy_record const& copy : source.copies) add(trial_of, copy);
    for (benchmark_result& result : results) result.by_device = !result.ns.empty();
    for (span const& trial : trials_)
      if (trial.last <= trial.first) results[trial.run].by_device = false;
    for (span const& trial : trials_) {
      benchmark_result& result = results[trial.run];
      if (result.by_device)
        result.ns[trial.trial] = static_cast<double>(trial.last - trial.first) / result.how.calls;
    }
  }

 private:
  struct span {
    std::int64_t begin;
    std::int64_t end;
    std::uint32_t run;
    std::uint32_t trial;
    std::int64_t first = latest_time;
    std::int64_t last = lost_time;
  };

  std::uint32_t node_of(benchmark_result const& result) const noexcept {
    benchmark_parameter const& x = result.how.x;
    benchmark_parameter const& y = result.how.y;
    std::uint32_t const outer =
        child_of(source_, root_node, result.name, x.name.empty() ? no_index : x.value);
    if (outer == no_node || y.name.empty()) return outer;
    return child_of(source_, outer, y.name, y.value);
  }
  /// The calls of a run's range are its trials.
  void find_trials(std::uint32_t run) {
    std::uint32_t const node = node_of(results_[run]);
    std::size_t const first = trials_.size();
    for (range_record const& range : source_.ranges)
      if (node != no_node && range.node == node)
        trials_.push_back({range.begin, range.end, run, 0});
    // A log that was full lacks calls: then no time of the device is known.
    if (trials_.size() - first != results_[run].ns.size()) {
      trials_.resize(first);
      for (std::uint32_t i = 0; i < results_[run].ns.size(); ++i)
        trials_.push_back({0, -1, run, i});
    }
  }
  /// Numbers the trials of each run in the order of their time.
  void number() {
    trials_.sort([](span const& a, span const& b) { return a.begin < b.begin; });
    vec<std::uint32_t> seen(results_.size(), 0);
    for (span& trial : trials_) trial.trial = seen[trial.run]++;
  }
  template <class Record>
  void add(number_map<std::uint32_t> const& trial_of, Record const& work) noexcept {
    std::uint32_t const* const number = trial_of.find(work.correlation);
    if (number == nullptr || work.begin == lost_time) return;
    span& trial = trials_[*number - 1];
    trial.first = std::min(trial.first, work.begin);
    trial.last = std::max(trial.last, work.end);
  }

  profile const& source_;
  vec<benchmark_result>& results_;
  vec<span> trials_;
};

}  // namespace detail

/// How the medians of runs with one name and different values grow with each parameter.
inline vec<benchmark_growth> growth_of(vec<benchmark_result> const& results) {
  vec<benchmark_growth> made;
  for (std::size_t first = 0; first < results.size(); ++first) {
    benchmark_result const& one = results[first];
    bool seen = one.how.x.name.empty();
    for (std::size_t i = 0; i < first; ++i) seen = seen || results[i].name == one.name;
    if (seen) continue;
    vec<double> x;
    vec<double> y;
    vec<double> time;
    vec<double> flops;
    vec<double> bytes;
    for (benchmark_result const& result : results) {
      bool const fits = result.median_ns > 0.0 && result.how.x.value > 0 &&
                        (result.how.y.name.empty() || result.how.y.value > 0);
      if (result.name != one.name || !fits) continue;
      x.push_back(std::log(static_cast<double>(result.how.x.value)));
      y.push_back(result.how.y.name.empty() ? 0.0
                                            : std::log(static_cast<double>(result.how.y.value)));
      time.push_back(std::log(result.median_ns));
      flops.push_back(std::log(result.how.flops));
      bytes.push_back(std::log(result.how.bytes));
    }
    detail::slopes const fitted = detail::fit(x, y, time);
    detail::slopes const by_flops = detail::fit(x, y, flops);
    detail::slopes const by_bytes = detail::fit(x, y, bytes);
    auto const add = [&](std::string const& parameter, double exponent, double declared,
                         double of_flops, double of_bytes) {
      if (!detail::is_finite(exponent)) return;
      double const work = detail::is_finite(of_flops) ? of_flops : of_bytes;
      made.push_back(
          {one.name, parameter, x.size(), exponent, detail::is_finite(declared) ? declared : work});
    };
    add(one.how.x.name, fitted.x, one.how.growth_x, by_flops.x, by_bytes.x);
    add(one.how.y.name, fitted.y, one.how.growth_y, by_flops.y, by_bytes.y);
  }
  return made;
}

STRATA_END

#endif  // STRATA_BENCHMARK_TRIALS_HPP
