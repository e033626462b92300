#include <strata/version.hpp>
#ifndef STRATA_BENCHMARK_HPP
#define STRATA_BENCHMARK_HPP

// Trials of a function: each is a call of a range in a profile, timed by the records of its device
// work. It needs Strata's implementation once in the program, as a session in code does.

#include <strata/analyse/statistics.hpp>
#include <strata/base/clock.hpp>
#include <strata/base/containers.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/text.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile.hpp>
#include <strata/range.hpp>
#include <strata/session.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>

STRATA_BEGIN

/// A parameter that a benchmark is run with, one value a run; without a name there is none. Runs of
/// one name have the same parameters.
struct benchmark_parameter {
  std::string name;
  std::int64_t value = 0;
};

/// How a function is run, and what one call of it does.
/// Units: those of one call of the function; NaN is not given.
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
};

/// The trials of one run.
/// Units: ns of one call of the function.
struct benchmark_result {
  std::string name;
  benchmark_options how;
  bool by_device =
      false;       ///< from the begin of its first work on the device to the end of the last
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
  /// The least time that the peaks allow for flops and bytes; 0 where none is given.
  double ceiling_ns() const noexcept {
    double const compute = how.flops / how.peak_flops_per_s * 1e9;
    double const memory = how.bytes / how.peak_bytes_per_s * 1e9;
    return (std::max)(compute > 0.0 ? compute : 0.0, memory > 0.0 ? memory : 0.0);
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

/// Between the ranks of sorted values.
inline double quantile_of(vec<double> const& sorted, double part) noexcept {
  if (sorted.empty()) return 0.0;
  double const at = part * static_cast<double>(sorted.size() - 1);
  auto const below = static_cast<std::size_t>(at);
  std::size_t const above = (std::min)(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

/// Fills the statistics of a result from its trials.
inline void summarise(benchmark_result& of) {
  vec<double> sorted = of.ns;
  sorted.sort();
  of.median_ns = quantile_of(sorted, 0.5);
  of.p5_ns = quantile_of(sorted, 0.05);
  of.p95_ns = quantile_of(sorted, 0.95);
  of.mean_ns = mean(sorted);
  of.deviation_ns = sample_deviation(sorted);
  of.mad_ns = median_distance(sorted);
  of.outliers = 0;
  constexpr double deviation = 1.4826;  // of a normal distribution, in its MADs
  double const far_off = (std::max)(3.0 * deviation * of.mad_ns, 0.01 * of.median_ns);
  for (double const each : sorted)
    if (std::fabs(each - of.median_ns) > far_off) ++of.outliers;
}

/// Slopes of z over one or two variables; NaN where they do not vary, or vary together.
struct slopes {
  double x = benchmark_options::no;
  double y = benchmark_options::no;
};
inline slopes fit(vec<double> x, vec<double> y, vec<double> z) noexcept {
  auto const centre = [](vec<double>& of) {
    double sum = 0.0;
    for (double const each : of) sum += each;
    for (double& each : of) each -= sum / static_cast<double>(of.size());
  };
  centre(x);
  centre(y);
  centre(z);
  double xx = 0.0, xy = 0.0, yy = 0.0, xz = 0.0, yz = 0.0;
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

/// `matmul(n=256,k=64)`.
inline std::string name_of(benchmark_result const& of) {
  std::string text = of.name;
  if (of.how.x.name.empty()) return text;
  text += "(" + of.how.x.name + "=" + std::to_string(of.how.x.value);
  if (!of.how.y.name.empty()) text += "," + of.how.y.name + "=" + std::to_string(of.how.y.value);
  return text + ")";
}

/// What a trial does, for its range: only what was given.
struct trial_work {
  benchmark_options const& how;

  void apply(range_attributes& to) const noexcept {
    auto const calls = static_cast<double>(how.calls);
    if (how.flops >= 0.0) to.set(to.record.flops, calls * how.flops);
    if (how.bytes >= 0.0) to.set(to.record.bytes, calls * how.bytes);
    if (how.tokens >= 0.0) to.set(to.record.tokens, calls * how.tokens);
  }
};

/// The node `name[index]` below another one, or no_node.
inline std::uint32_t child_of(profile const& in, std::uint32_t parent, std::string const& name,
                              std::int64_t index) noexcept {
  for (std::uint32_t i = 1; i < in.nodes.size(); ++i) {
    profile_node const& each = in.nodes[i];
    if (each.parent == parent && each.index == index && in.names[each.name] == name) return i;
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
    for (launch_record const& each : source.launches) {
      std::size_t const at =
          trials_.count_first([&](span const& trial) { return trial.begin <= each.begin; });
      if (each.is_left_out() || at == 0 || each.begin > trials_[at - 1].end) continue;
      trial_of[each.correlation] = static_cast<std::uint32_t>(at);
    }
    for (kernel_record const& each : source.kernels) add(trial_of, each);
    for (copy_record const& each : source.copies) add(trial_of, each);
    for (benchmark_result& each : results) each.by_device = !each.ns.empty();
    for (span const& each : trials_)
      if (each.last <= each.first) results[each.run].by_device = false;
    for (span const& each : trials_) {
      benchmark_result& of = results[each.run];
      if (of.by_device)
        of.ns[each.trial] = static_cast<double>(each.last - each.first) / of.how.calls;
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

  std::uint32_t node_of(benchmark_result const& of) const noexcept {
    benchmark_parameter const& x = of.how.x;
    benchmark_parameter const& y = of.how.y;
    std::uint32_t const outer =
        child_of(source_, root_node, of.name, x.name.empty() ? no_index : x.value);
    if (outer == no_node || y.name.empty()) return outer;
    return child_of(source_, outer, y.name, y.value);
  }
  /// The calls of a run's range are its trials.
  void find_trials(std::uint32_t run) {
    std::uint32_t const node = node_of(results_[run]);
    std::size_t const first = trials_.size();
    for (range_record const& each : source_.ranges)
      if (node != no_node && each.node == node) trials_.push_back({each.begin, each.end, run, 0});
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
    for (span& each : trials_) each.trial = seen[each.run]++;
  }
  template <class Record>
  void add(number_map<std::uint32_t> const& trial_of, Record const& each) noexcept {
    std::uint32_t const* const at = trial_of.find(each.correlation);
    if (at == nullptr || each.begin == lost_time) return;
    span& trial = trials_[*at - 1];
    trial.first = (std::min)(trial.first, each.begin);
    trial.last = (std::max)(trial.last, each.end);
  }

  profile const& source_;
  vec<benchmark_result>& results_;
  vec<span> trials_;
};

inline std::string padded(std::string text, std::size_t width) {
  text.resize((std::max)(width, text.size()), ' ');
  return text;
}
inline std::string aligned(std::string const& text, std::size_t width) {
  return std::string(text.size() < width ? width - text.size() : 1, ' ') + text;
}
/// ` 95.13 GFLOP`
inline std::string flop_text(double flops) {
  constexpr std::string_view units[] = {" TFLOP", " GFLOP", " MFLOP", " kFLOP"};
  double unit = 1e12;
  std::size_t at = 0;
  for (; at < 3 && flops < unit; ++at) unit /= 1e3;
  return aligned(fixed_string(flops / unit, 2), 6).append(units[at]);
}

}  // namespace detail

/// How the medians of runs with one name and different values grow with each parameter.
inline vec<benchmark_growth> growth_of(vec<benchmark_result> const& results) {
  vec<benchmark_growth> made;
  for (std::size_t first = 0; first < results.size(); ++first) {
    benchmark_result const& one = results[first];
    bool seen = one.how.x.name.empty();
    for (std::size_t i = 0; i < first; ++i) seen = seen || results[i].name == one.name;
    if (seen) continue;
    vec<double> x, y, time, flops, bytes;
    for (benchmark_result const& each : results) {
      bool const fits = each.median_ns > 0.0 && each.how.x.value > 0 &&
                        (each.how.y.name.empty() || each.how.y.value > 0);
      if (each.name != one.name || !fits) continue;
      x.push_back(std::log(static_cast<double>(each.how.x.value)));
      y.push_back(each.how.y.name.empty() ? 0.0 : std::log(static_cast<double>(each.how.y.value)));
      time.push_back(std::log(each.median_ns));
      flops.push_back(std::log(each.how.flops));
      bytes.push_back(std::log(each.how.bytes));
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

/// A table of all runs, and a line for each parameter.
inline std::string benchmark_text(vec<benchmark_result> const& results) {
  std::size_t width = 9;
  for (benchmark_result const& each : results)
    width = (std::max)(width, detail::name_of(each).size());
  std::string text = detail::padded("benchmark", width) +
                     "  trials     median         p5        p95     MAD  outliers    GFLOP/s"
                     "       GB/s  ceiling  clock\n";
  for (benchmark_result const& each : results) {
    auto const time = [](double ns) { return detail::human_time(ns).text(); };
    auto const rate = [](double per_s) {
      return detail::is_finite(per_s) ? detail::fixed_string(per_s / 1e9, 2) : std::string("-");
    };
    auto const percent = [](double part) {
      return part > 0.0 ? detail::fixed_string(100.0 * part, 1) + " %" : std::string("-");
    };
    text += detail::padded(detail::name_of(each), width);
    text += detail::aligned(std::to_string(each.ns.size()), 8);
    text += detail::aligned(time(each.median_ns), 11);
    text += detail::aligned(time(each.p5_ns), 11);
    text += detail::aligned(time(each.p95_ns), 11);
    text += detail::aligned(percent(each.mad_ns / each.median_ns), 8);
    text += detail::aligned(std::to_string(each.outliers), 10);
    text += detail::aligned(rate(each.flops_per_s()), 11);
    text += detail::aligned(rate(each.bytes_per_s()), 11);
    text += detail::aligned(percent(each.of_ceiling()), 9);
    text += each.by_device ? "  device\n" : "  host\n";
  }
  for (benchmark_growth const& each : growth_of(results)) {
    text += each.name + ": time grows with " + each.parameter + "^" +
            detail::fixed_string(each.exponent, 2);
    if (detail::is_finite(each.expected))
      text += ", expected " + each.parameter + "^" + detail::fixed_string(each.expected, 2);
    text += " (" + std::to_string(each.values) + " runs)\n";
  }
  return text;
}

/// Lines as llama.cpp's `test-backend-ops perf` prints them: mean time, and GFLOPS where flops are
/// given, else GB/s (of 2^30 bytes).
inline std::string backend_ops_text(vec<benchmark_result> const& results) {
  std::string text;
  for (benchmark_result const& each : results) {
    char line[128];
    std::snprintf(line, sizeof line, "%8llu runs - %8.2f us/run - ",
                  static_cast<unsigned long long>(each.ns.size()) * each.how.calls,
                  each.mean_ns / 1e3);
    text += "  " + detail::name_of(each) + ": " + line;
    double const per_s = each.how.flops / each.mean_ns * 1e9;
    if (each.how.flops > 0.0)
      text += detail::flop_text(each.how.flops) + "/run - " + detail::flop_text(per_s) + "S\n";
    else if (each.how.bytes > 0.0) {
      std::snprintf(line, sizeof line, "%8.0f kB/run - %7.2f GB/s\n", each.how.bytes / 1024.0,
                    each.how.bytes / each.mean_ns * 1e9 / (1024.0 * 1024.0 * 1024.0));
      text += line;
    } else {
      text += "\n";
    }
  }
  return text;
}

/// The runs with tokens as a Markdown table with llama-bench's columns `test` and `t/s`: the mean
/// of the trials' rates and their standard deviation.
inline std::string llama_bench_text(vec<benchmark_result> const& results) {
  std::string text = "| test | t/s |\n| --- | ---: |\n";
  for (benchmark_result const& each : results) {
    if (!(each.how.tokens > 0.0) || each.ns.empty()) continue;
    vec<double> rates;
    for (double const ns : each.ns) rates.push_back(each.how.tokens / ns * 1e9);
    text += "| " + detail::name_of(each) + " | " + detail::fixed_string(detail::mean(rates), 2) +
            " \xC2\xB1 " + detail::fixed_string(detail::sample_deviation(rates), 2) + " |\n";
  }
  return text;
}

STRATA_END

STRATA_BEGIN_SWITCH

/// Runs functions and keeps their trials in one profile. It has a session of its own, with the
/// options of `STRATA` where that is set. In a program whose session runs already the trials are
/// ranges of that one, and timed by the host.
/// Threads: one thread uses it.
class benchmarks {
 public:
  explicit benchmarks(std::string_view options = "trace,formats=none")
      : session_(options_of(options)), started_(session_.start()) {}
  benchmarks(benchmarks const&) = delete;
  benchmarks& operator=(benchmarks const&) = delete;

  /// Calls `f` for the warm-up, then `calls` times in each trial. A trial is one call of the range
  /// `name[x]`, or of `y[value]` below it with a second parameter. `f` need not wait for the
  /// device; where the host times it, it has to. After `results` nothing is run.
  template <class Function>
  void run(std::string_view name, Function&& f, benchmark_options const& how = {}) {
    run(name, f, how, [] {});
  }
  /// The same; `before` is called ahead of each call of the warm-up and each trial, and not timed:
  /// it flushes caches, or fills the input anew. Without it caches are warm.
  template <class Function, class Before>
  void run(std::string_view name, Function&& f, benchmark_options const& how, Before&& before) {
    if (ended_) return;
    for (std::uint32_t i = 0; i < how.warmup; ++i) {
      before();
      scoped_range const mark("warmup");
      f();
    }
    std::size_t const at = result_of(name, how);  // `f` may call `run`
    for (std::uint32_t i = 0; i < how.trials; ++i) {
      before();
      trial const mark(results_[at]);
      std::uint32_t const calls = results_[at].how.calls;
      std::int64_t const begin = detail::monotonic_ns();
      for (std::uint32_t call = 0; call < calls; ++call) f();
      std::int64_t const end = detail::monotonic_ns();
      results_[at].ns.push_back(static_cast<double>(end - begin) / calls);
    }
  }

  /// All runs; ends the session. Where a run was timed by the host, stderr says so once.
  vec<benchmark_result> const& results() {
    if (ended_) return results_;
    ended_ = true;
    session_.stop();
    bool traced = false;
    if (started_.ok()) {
      profile const& recorded = session_.profile();
      traced = recorded.traced;
      if (traced) detail::device_times const read(recorded, results_);
    }
    std::string by_host;
    for (benchmark_result& each : results_) {
      detail::summarise(each);
      if (!each.by_device) by_host += (by_host.empty() ? "" : ", ") + detail::name_of(each);
    }
    if (!by_host.empty())
      std::fprintf(stderr, "strata: timed by the host: %s (%s)\n", why_host(traced).c_str(),
                   by_host.c_str());
    return results_;
  }

  /// The session of the trials, for its profile and its problems.
  strata::session& session() noexcept { return session_; }

  /// Writes what the options ask for: files, table, page.
  status report() {
    (void)results();
    return session_.report();
  }

 private:
  /// The ranges of a trial.
  class trial {
   public:
    explicit trial(benchmark_result const& of) noexcept : two_(!of.how.y.name.empty()) {
      detail::trial_work const work{of.how};
      std::int64_t const index = of.how.x.name.empty() ? no_index : of.how.x.value;
      if (two_) {
        push(of.name, index);
        push(of.how.y.name, of.how.y.value, work);
      } else {
        push(of.name, index, work);
      }
    }
    trial(trial const&) = delete;
    trial& operator=(trial const&) = delete;
    ~trial() {
      pop();
      if (two_) pop();
    }

   private:
    scoped_step step_;
    bool two_;
  };

  std::string why_host(bool traced) const {
    if (!started_.ok()) return started_.message();
    if (traced)
      return "no work on the device was recorded in each trial: a function of the CPU has none; "
             "for others raise log= and buffers=";
    if (!session_.options().trace)
      return "only host times are asked for: STRATA=trace asks for those of the device";
    return "no device was traced" + (session_.problems().empty()
                                         ? std::string(": see docs/troubleshooting.md")
                                         : ": " + session_.problems()[0].message());
  }

  std::size_t result_of(std::string_view name, benchmark_options const& how) {
    benchmark_result made;
    made.name = std::string(name);
    made.how = how;
    made.how.calls = (std::max)(std::uint32_t{1}, how.calls);
    std::string const full = detail::name_of(made);
    for (std::size_t at = 0; at < results_.size(); ++at)
      if (detail::name_of(results_[at]) == full) return at;
    results_.push_back(made);
    return results_.size() - 1;
  }

  static strata::options options_of(std::string_view text) {
    char const* const wish = std::getenv("STRATA");
    vec<std::string> problems;
    strata::options made = strata::options::parse(wish != nullptr ? wish : text, problems);
    for (std::string const& each : problems) std::fprintf(stderr, "strata: %s\n", each.c_str());
    return made;
  }

  strata::session session_;
  status started_;
  bool ended_ = false;
  vec<benchmark_result> results_;
};

/// Runs one function: `benchmark("norm", [&] { norm(x); }, {3, 30})`. Several in one profile are
/// those of a `benchmarks`.
template <class Function>
benchmark_result benchmark(std::string_view name, Function&& f, benchmark_options const& how = {}) {
  benchmarks all;
  all.run(name, f, how);
  return all.results()[0];
}

STRATA_END_SWITCH

#endif  // STRATA_BENCHMARK_HPP
