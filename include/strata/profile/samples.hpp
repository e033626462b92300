#ifndef STRATA_PROFILE_SAMPLES_HPP
#define STRATA_PROFILE_SAMPLES_HPP

#include <strata/base/numbers.hpp>
#include <strata/base/vec.hpp>

#include <string>
#include <string_view>

STRATA_BEGIN
namespace detail {

/// The time of a sample.
struct sample_span {
  std::int64_t begin;
  std::int64_t end;
};

/// What a device's counters counted, time by time.
struct samples {
  vec<sample_span> times;
  vec<double> values;  ///< `counters` a sample
  std::size_t counters = 0;

  std::size_t size() const noexcept { return times.size(); }
  double const* at(std::size_t i) const noexcept { return values.data() + i * counters; }
  double* at(std::size_t i) noexcept { return values.data() + i * counters; }
};

/// What counter `which` counted in each of the times, which may overlap: a sample at their border
/// is split by time. Requires: samples in order. Cost: O((samples + times) log).
inline vec<double> sum_by_time(samples const& given, std::size_t which,
                               vec<sample_span> const& times) {
  vec<std::size_t> order;
  for (std::size_t i = 0; i < times.size(); ++i) order.push_back(i);
  order.sort([&](std::size_t a, std::size_t b) { return times[a].begin < times[b].begin; });
  vec<double> sums(times.size(), 0.0);
  vec<std::size_t> running;
  std::size_t next = 0;
  for (std::size_t i = 0; i < given.size(); ++i) {
    sample_span const& sample = given.times[i];
    running.keep_if([&](std::size_t k) { return times[k].end > sample.begin; });
    for (; next < order.size() && times[order[next]].begin < sample.end; ++next)
      if (times[order[next]].end > sample.begin) running.push_back(order[next]);
    for (std::size_t const k : running) {
      std::int64_t const common =
          smaller(times[k].end, sample.end) - larger(times[k].begin, sample.begin);
      sums[k] += given.at(i)[which] * static_cast<double>(common) /
                 static_cast<double>(sample.end - sample.begin);
    }
  }
  return sums;
}

/// What a set of sampled counters has beside the counters, so that it adds up over ranges as they
/// do.
struct sampled_names {
  static constexpr std::string_view work = "strata__work_ns.sum";        ///< kernels and copies
  static constexpr std::string_view covered = "strata__sampled_ns.sum";  ///< of it, in samples
  static constexpr std::string_view shared = "strata__shared_ns.sum";    ///< beside other ranges'
  static constexpr double deviations = 2.0;  ///< in half of an interval meant for 95 %

  /// Of a counter: the square of its standard deviation.
  static std::string variance(std::string_view counter) {
    std::string_view const base = counter.substr(0, counter.rfind('.'));
    return std::string(base) + "_variance.sum";
  }
};

}  // namespace detail
STRATA_END

#endif  // STRATA_PROFILE_SAMPLES_HPP
