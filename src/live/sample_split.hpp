#include <strata/version.hpp>
#ifndef STRATA_LIVE_SAMPLE_SPLIT_HPP
#define STRATA_LIVE_SAMPLE_SPLIT_HPP

// Whose it is what a device's counters counted: of the work that ran in the time of a sample.

#include <strata/base/macros.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

STRATA_BEGIN
namespace live {

/// The time of a sample.
struct sample_span {
  std::int64_t begin;
  std::int64_t end;
};

/// What a device's counters counted, time by time.
struct samples {
  std::vector<sample_span> times;  ///< in the order of their begins
  std::vector<double> values;      ///< `counters` a sample
  std::size_t counters = 0;

  std::size_t size() const noexcept { return times.size(); }
  double const* at(std::size_t i) const noexcept { return values.data() + i * counters; }
};

/// Work of a device. What is of one owner and kind counts alike in each ns that it runs.
struct sampled_work {
  std::int64_t begin;
  std::int64_t end;
  std::uint32_t owner;
  std::uint32_t kind;
};

/// What samples counted, by the owners of the work that ran meanwhile. The values of all owners and
/// `unexplained` add up to `total`.
struct sample_split {
  std::size_t counters = 0;
  std::vector<double> values;       ///< by owner and counter
  std::vector<double> errors;       ///< as `values`: half of an interval meant for 95 %
  std::vector<double> unexplained;  ///< of samples in which no work ran, of the recorded times
  std::vector<double> total;
  std::vector<double> work_ns;     ///< by owner
  std::vector<double> covered_ns;  ///< the part of it in samples
  std::vector<double> shared_ns;   ///< the part of it during work of other owners
  bool by_rates = false;  ///< a sample of several owners was split by what each counts in a ns

  double value(std::size_t owner, std::size_t counter) const noexcept {
    return values[owner * counters + counter];
  }
  double error(std::size_t owner, std::size_t counter) const noexcept {
    return errors[owner * counters + counter];
  }
};

/// What is known of rates before any sample: that they are about equal, how far samples are off
/// from any rates, and what no rate is above. 0 parts: nothing is known.
struct expected_rates {
  double apart = 0.0;  ///< the standard deviation of a rate, as a part of the mean one
  double noise = 0.0;  ///< of a sample, as a part of the mean one
  double most = std::numeric_limits<double>::infinity();
};

/// Whether as much of `others` runs in each of `times` as a device can run at once. A recording can
/// say anything, and the cost of what follows is that of the pairs. Cost: O(n log n).
bool can_run_together(std::vector<sample_span> times, std::vector<sample_span> const& others);

/// What counter `which` counted in each of the times, which may overlap: a sample at their border
/// is split by time. Cost: O((samples + times) log + pairs of both).
std::vector<double> sum_by_time(samples const& given, std::size_t which,
                                std::vector<sample_span> const& times);

/// Splits samples by the overlap of their times with those of work, each ns weighted by what that
/// work counts in a ns. These rates are the least squares over all samples, none below 0; with too
/// many kinds of work for that, too few samples, or no solution, they are equal.
///
/// The interval of a value has four parts: how well the rates are known, which is little where
/// two kinds of work lie in the same samples always; what a sample differs from its rates, of which
/// nobody knows whose it is; that rates are uneven, by a tenth of what owners share in samples; and
/// the clocks, which may be wrong by `clock_error_ns`. No interval is
/// wider than the values that can be: a sample without another owner is known, one with others is
/// between nothing and all.
///
/// `recorded`, where there are such: the times, in order, outside of which samples without work
/// do not count. `expected`: with it, rates that samples do not tell apart are about equal, and the
/// interval has how far they may be apart.
/// Cost: O((samples + work) log + pairs of both), and the cube of the kinds of work, of which there
/// are 384 at most.
sample_split split_samples(samples const& given, std::vector<sampled_work> work, std::size_t owners,
                           std::int64_t clock_error_ns, std::vector<sample_span> recorded = {},
                           expected_rates const& expected = {});

/// What is counted in so many ns at the border of two kernels may belong to either: counters of the
/// parts of a device are not read at one time, and L2 writes back late. Source: with this and
/// sample_splitter::unevenness, 0.91 to 1.00 of the ranges of a GPT-2 have their counted bytes
/// within their intervals, and 0.49 to 0.80 without (H200, CUPTI 13.0).
constexpr std::int64_t border_ns = 2000;

/// Widens the intervals of a split by what owners whose work follows each other may exchange at
/// their borders. Cost: O(work log work).
void add_border_errors(sample_split& made, std::vector<sampled_work> work,
                       std::int64_t ns = border_ns);

}  // namespace live
STRATA_END

#endif  // STRATA_LIVE_SAMPLE_SPLIT_HPP
