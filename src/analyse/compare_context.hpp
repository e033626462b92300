#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_COMPARE_CONTEXT_HPP
#define STRATA_ANALYSE_COMPARE_CONTEXT_HPP

// What all parts of a comparison look at: the runs of both sides, what was asked for, and what
// machines explain.

#include <strata/base/macros.hpp>
#include "comparison.hpp"
#include "run_ranges.hpp"
#include "run_tables.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

STRATA_BEGIN
namespace detail {
// All chosen.
inline constexpr double step_alarms = 0.005;   // the chance that noise makes a regression
inline constexpr double range_alarms = 0.005;  // of all ranges together
/// What a range is taken to differ between runs where there is one of each side, and what a single
/// call may change of its time: this part of the limit, 1.25 % by default. Steps differ by 0.1
/// to 1.9 % from day to day (H200, CUDA 13.0).
inline constexpr double assumed_noise = 0.25;
/// Ranges that are judged have at least this part of `least_share`.
inline constexpr double judged_part = 0.25;
/// Steps of a run, and calls of a range, whose noise can be estimated from themselves.
inline constexpr std::size_t min_steps = 5;
/// Steps of a run, whose noise can be estimated from all runs together.
inline constexpr std::size_t min_pooled_steps = 2;
/// What is asked for where they are few.
inline constexpr std::size_t usual_steps = 20;
/// What clocks explain at most, of the same device under load: from the base clock to the boost
/// clock of a GPU or CPU is a factor of less than 2, and a hardware slowdown (NVML: core clocks
/// reduced by a factor of 2 or more) is a fault to report.
inline constexpr double max_by_clocks = 2;

/// `12.0 %`.
std::string percent(double share);

inline constexpr char unchanged_text[] = "as long as before";
/// A change of a time in words: "19.0x faster", "12.0 % shorter".
std::string changed_text(double change);
/// "12.0 % slower", "19.0x slower"; of a change as a logarithm.
std::string slower_text(double change);

/// The runs before, then those after.
class compared_runs {
 public:
  compared_runs(std::vector<run_tables const*> const& before,
                std::vector<run_tables const*> const& after);

  std::vector<run_ranges> before;
  std::vector<run_ranges> after;
  /// The steps of a run only launch: those of all runs are periods, and host times in them tell
  /// nothing of the program.
  bool of_gpu = false;
  /// The same, but the periods are not known of all runs: times are the host's.
  bool lacks_periods = false;

  std::size_t size() const noexcept { return before.size() + after.size(); }
  run_ranges const& run(std::size_t r) const {
    return r < before.size() ? before[r] : after[r - before.size()];
  }
  run_losses const& losses(std::size_t r) const { return run(r).tables().losses; }
  bool is_later(std::size_t r) const noexcept { return r >= before.size(); }
  /// The weight of a run in the mean of its side.
  double weight(std::size_t r) const {
    return 1 / static_cast<double>(is_later(r) ? after.size() : before.size());
  }
  /// Whether the runs tell the noise between them.
  bool known() const noexcept { return size() >= 4; }
  /// Whether both sides show it, so that one odd run does not count as a change of a range.
  bool both_known() const noexcept { return before.size() > 1 && after.size() > 1; }
  /// Of a difference of both sides, if each run had the variance 1.
  double variance_of_difference() const { return weight(0) + weight(size() - 1); }
};

/// The runs, what was asked for, and what explains changes besides code.
struct compare_context {
  compared_runs const& runs;
  compare_options const& options;
  double clocks = 0;  ///< what other clocks of the same devices explain, as a logarithm
  double cpu = 0;     ///< what less of a CPU explains on the host, as a logarithm

  /// Of a step or a range, as a logarithm: with what other clocks explain.
  double limit() const;
  /// The same with what is accepted of a path; `column` is step, host or gpu.
  double limit_of(std::string_view path, std::string_view column) const;
};

/// Whether a line of accepted regressions is about a time.
bool is_for(accepted_regression const& regression, std::string_view path, std::string_view column);

/// What of a slowdown of the host alone is that its thread has less of a CPU, as a logarithm.
double explained_by_cpu(compared_runs const& runs);

}  // namespace detail
STRATA_END

#endif  // STRATA_ANALYSE_COMPARE_CONTEXT_HPP
