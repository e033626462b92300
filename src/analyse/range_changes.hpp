#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_RANGE_CHANGES_HPP
#define STRATA_ANALYSE_RANGE_CHANGES_HPP

#include <strata/base/macros.hpp>
#include "change_statistics.hpp"
#include "compare_context.hpp"
#include "comparison.hpp"
#include "run_ranges.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

STRATA_BEGIN
namespace detail {

/// A time of a range in all runs, as it is judged. Changes are differences of logarithms.
struct judged_time {
  compared_range* result = nullptr;
  bool gpu = false;
  bool trimmed = false;  // means of all runs are without their longest and their shortest call
  bool basis = false;    // shows what the ranges have in common: no sum over indices
  std::vector<double> logarithms;  // of each run, first those before
  std::vector<double> own_ms;      // of each run, without the judged ranges below
  double before_ms = 0;
  double after_ms = 0;
  estimate change;
  double own = 0;          // the change of the range's own time
  double own_part = 1;     // how much of the range that is
  double within = 0;       // the part of its variance that more steps make smaller
  double of_runs = 0;      // the variance of the change by itself, by how runs of a side differ
  double typical = 0;      // the same change by the medians of calls, without rare long ones
  double lost[2] = {};     // of each side: by how much losses may hide more, as a logarithm
  bool undecided = false;  // for that
  double limit = 0;
  double noise = 0;
  double doubt = 0;  ///< the same with how ranges, or runs, differ: what a verdict is beyond
  range_verdict verdict = range_verdict::unjudged;
  std::size_t steps_to_decide = 0;
};

/// Host times, or kernels. A machine makes all of them slower; a change of code, some.
struct time_family {
  common_change common;
  std::size_t basis = 0;
};

/// The change of each range, and whether it is beyond the limit and noise.
class range_changes {
 public:
  /// Fills what `result` says of ranges, but for their verdicts.
  /// Requires: the step of `result`; `few`: its steps are, so that their noise is wider.
  range_changes(compare_context const& context, comparison& result, double steps_a_run);

  /// Fills `times` and `families`.
  void judge(bool few, bool too_few);

  std::vector<judged_time> times;
  time_family families[2];
  std::string unseen;  ///< of a range nearly all of whose times a run lost

 private:
  double hidden_by_losses(std::size_t r, run_range const& range, bool gpu, double most) const;
  double most_calls(std::vector<run_range const*> const& found, bool gpu) const;
  void add_time(compared_range& range, std::vector<run_range const*> const& found, bool gpu);
  void note_unseen(compared_range& range, std::vector<run_range const*> const& found, bool gpu);
  double away(judged_time const& time, std::size_t r) const;
  void add_noise_between_runs(bool gpu);
  void find_own_changes(bool gpu);
  void judge_family(bool gpu);
  double judge_all(judged_time& time, common_change const& common, double beside_needs,
                   double alone_needs) const;
  double judge(judged_time& time, double change, common_change const& common, double beside_needs,
               double alone_needs) const;
  bool is_beyond_clocks(judged_time const& time, double change) const;

  compare_context const& context_;
  compared_runs const& runs_;
  comparison& result_;
  double steps_a_run_;
  bool few_ = false;
  bool too_few_ = false;
  bool traced_ = true;
};

/// "mlp (GPU)".
std::string named(std::string const& path, bool gpu);
/// That a range lost nearly all its times in a run.
std::string unknown_text(compared_runs const& runs, std::string const& path, bool gpu);
/// What the runs lost of the times of the host, or of the GPU, and what to do.
std::string losses_text(compared_runs const& runs, bool gpu);
/// Of what losses hide, as a logarithm.
bool is_unknown(double lost);

}  // namespace detail
STRATA_END

#endif  // STRATA_ANALYSE_RANGE_CHANGES_HPP
