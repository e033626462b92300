#include <strata/version.hpp>
#ifndef STRATA_REPORT_BENCHMARK_TEXT_HPP
#define STRATA_REPORT_BENCHMARK_TEXT_HPP

#include <strata/analyse/statistics.hpp>
#include <strata/analyse/trials.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/text.hpp>
#include <strata/base/vec.hpp>
#include <strata/report/text_writer.hpp>

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

STRATA_BEGIN

namespace detail {

/// The name of a run and its parameters, as a terminal may have it.
inline std::string shown_name(benchmark_result const& of) { return console_text(name_of(of)); }

/// ` 95.13 GFLOP`
inline std::string flop_text(double flops) {
  constexpr std::string_view units[] = {" TFLOP", " GFLOP", " MFLOP", " kFLOP"};
  double unit = 1e12;
  std::size_t at = 0;
  for (; at < 3 && flops < unit; ++at) unit /= 1e3;
  return aligned(fixed_string(flops / unit, 2), 6).append(units[at]);
}

}  // namespace detail

/// A table of all runs, and a line for each parameter.
inline std::string benchmark_text(vec<benchmark_result> const& results) {
  std::size_t width = 9;
  for (benchmark_result const& each : results)
    width = detail::larger(width, detail::display_width(detail::shown_name(each)));
  std::string text = detail::aligned("benchmark", width, true) +
                     "  trials     median         p5        p95     MAD  outliers    GFLOP/s"
                     "       GB/s  ceiling  clock\n";
  for (benchmark_result const& each : results) {
    auto const time = [](double ns) { return detail::time_text(ns); };
    auto const rate = [](double per_s) {
      return detail::is_finite(per_s) ? detail::fixed_string(per_s / 1e9, 2) : std::string("-");
    };
    auto const percent = [](double part) {
      return part > 0.0 ? detail::fixed_string(100.0 * part, 1) + " %" : std::string("-");
    };
    text += detail::aligned(detail::shown_name(each), width, true);
    text += detail::aligned(std::to_string(each.ns.size()), 8);
    text += detail::aligned(time(each.median_ns), 11);
    text += detail::aligned(time(each.p5_ns), 11);
    text += detail::aligned(time(each.p95_ns), 11);
    text += detail::aligned(percent(each.mad_ns / each.median_ns), 8);
    text += detail::aligned(std::to_string(each.outliers), 10);
    text += detail::aligned(rate(each.flops_per_s()), 11);
    text += detail::aligned(rate(each.bytes_per_s()), 11);
    text += detail::aligned(percent(each.of_ceiling()), 9);
    text += each.by_device ? "  device\n" : each.by_events ? "  events\n" : "  host\n";
  }
  for (benchmark_growth const& each : growth_of(results)) {
    std::string const power = detail::console_text(each.parameter) + "^";
    text += detail::console_text(each.name) + ": time grows with " + power +
            detail::fixed_string(each.exponent, 2);
    if (detail::is_finite(each.expected))
      text += ", expected " + power + detail::fixed_string(each.expected, 2);
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
    text += "  " + detail::shown_name(each) + ": " + line;
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
    text += "| " + detail::shown_name(each) + " | " + detail::fixed_string(detail::mean(rates), 2) +
            " \xC2\xB1 " + detail::fixed_string(detail::sample_deviation(rates), 2) + " |\n";
  }
  return text;
}

STRATA_END

#endif  // STRATA_REPORT_BENCHMARK_TEXT_HPP
