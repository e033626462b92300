#ifndef STRATA_TABLES_STEPS_SUMMARY_HPP
#define STRATA_TABLES_STEPS_SUMMARY_HPP

#include <strata/tables/range_rows.hpp>

STRATA_BEGIN

namespace detail {
/// A first step that takes this many medians is apart from the others: it loads modules, say.
inline constexpr double dear_first_step = 1.5;
/// The steps that a mean is of: all, or all but the first, which is apart.
struct averaged_steps {
  double all = 1.0;
  bool without_first = false;

  double size() const noexcept { return all - (without_first ? 1.0 : 0.0); }
  /// A sum over all steps as a part of one of these. `first`: what of it is the first step's.
  double mean(double sum, double first) const noexcept {
    return (without_first ? larger(sum - first, 0.0) : sum) / size();
  }
};
}  // namespace detail

/// The mean time from the end of a step to the begin of the next one. Units: ns.
struct mean_between {
  double ns = 0.0;
  double variance = 0.0;  ///< of the mean, ns squared
  bool is_named = false;  ///< it is a hundredth of a step or more
};

/// The mean recorded step; the whole run, as one step, where the program has none.
/// Its times, its work and its tokens are those of the same steps: of the typical ones.
/// Units: ns of one step unless said otherwise; NaN is unknown.
struct steps_summary {
  bool from_steps = false;     ///< false: the program has no STRATA_STEP, the run is the step
  bool period_of_gpu = false;  ///< steps only launch: a step is its period on the device
  bool has_timeline = false;   ///< the records are whole: idle, copies and streams are known
  /// The typical steps are all but the first, in which modules are loaded and caches are filled.
  bool without_first = false;
  std::uint64_t count = 1;  ///< of all recorded steps, the first with them
  /// Recorded before the first step that worked on a device: none of the amounts has them.
  std::uint64_t early = 0;
  double mean_ns = 0.0;
  double p50_ns = 0.0;
  double p95_ns = 0.0;
  double first_ns = 0.0;  ///< the first recorded step, typical or not
  /// The median of steps outside windows; NaN where they are few, or steps only launch.
  double unrecorded_ns = std::numeric_limits<double>::quiet_NaN();
  double gpu_busy_ns = 0.0;
  double gpu_idle_ns = 0.0;
  /// Busy with work that no range launched; NaN without a timeline.
  double rangeless_busy_ns = std::numeric_limits<double>::quiet_NaN();
  /// The time that the answer describes: a typical step, or from the first device work to the last.
  double active_ns = 0.0;
  double active_busy_ns = 0.0;
  double tokens = std::numeric_limits<double>::quiet_NaN();
  double tokens_per_s = std::numeric_limits<double>::quiet_NaN();
  /// From the end of a step to the begin of the next one in the same window; 0 where that is less
  /// than a hundredth of a step, and where a step is its period on the device.
  double between_ns = 0.0;
  mean_between between;          ///< the same, however short
  vec<double> step_lengths;      ///< of each step; its period on the device where steps only launch
  double between_busy_ns = 0.0;  ///< of it, with work that no step launched
  double stepless_busy_ns = 0.0;  ///< of a step, only with such work
  double outside_ns = 0.0;        ///< of the whole run: recorded, but in no step
  double outside_gpu_ns = 0.0;    ///< of the whole run: device busy with work of no step

  /// How much longer a recorded step takes; 1 where that is not known, or as steps differ anyway.
  double recording_factor() const noexcept {
    // Steps of a program differ by 0.1 to 1.9 % from day to day; a recorded token of llama.cpp
    // takes 1.15 to 1.28 times an unrecorded one (H200, CUDA 13.0). Chosen between them.
    constexpr double least = 1.05;
    // Of a step without recording that would be much shorter than its work nothing is believed.
    constexpr double least_of_work = 0.9;  // chosen
    bool const is_possible = unrecorded_ns > 0.0 && unrecorded_ns < mean_ns &&
                             unrecorded_ns > least_of_work * active_busy_ns;
    if (!detail::is_finite(unrecorded_ns) || !is_possible) return 1.0;
    double const factor = p50_ns / unrecorded_ns;
    return factor > least ? factor : 1.0;
  }
  bool is_slowed() const noexcept { return recording_factor() > 1.0; }
  /// The step as it usually is, without recording, where that is known to be shorter.
  double usual_ns() const noexcept { return is_slowed() ? unrecorded_ns : mean_ns; }
  /// From the begin of a usual step to that of the next one: the whole of each share of time.
  double period_ns() const noexcept { return usual_ns() + between_ns; }
  /// The part of period_ns() in which the device worked.
  double period_busy_ns() const noexcept {
    return detail::smaller(gpu_busy_ns + stepless_busy_ns + between_busy_ns, period_ns());
  }
  double period_idle_ns() const noexcept { return period_ns() - period_busy_ns(); }
  /// The part of an amount that lies in the steps averaged in `mean_ns`.
  double part(step_part const& share) const noexcept {
    return without_first ? share.typical : share.in_steps;
  }
  /// A sum over the whole run as a part of such a step; all of it where no step was recorded.
  double per_step(double total, step_part const& share) const noexcept {
    return from_steps ? total * part(share) / typical_count() : total;
  }
  /// The same where the first recorded step's own part, `first`, is known, and the others' part of
  /// the rest is that of all that the range does, `share`.
  double per_step(double total, double first, step_part const& share) const noexcept {
    double const others = 1.0 - (share.in_steps - share.typical);  // without the first step
    if (!without_first || !has_timeline || !(others > 0.0)) return per_step(total, share);
    return (total - first) * (share.typical / others) / typical_count();
  }
  /// The same of what is known for all of the run only.
  double per_step(double total) const noexcept {
    return from_steps ? total / static_cast<double>(count) : total;
  }
  /// What the calls of a range declare in a step: `total` in all calls, alike in steps and outside,
  /// `first` in those of the first recorded step.
  double declared_per_step(range_row const& row, double total, double first) const noexcept {
    if (!from_steps) return total;
    return averaged().mean(total * row.step_share, first);
  }
  double declared_flops(range_row const& row) const noexcept {
    return declared_per_step(row, row.flops, row.first_step_flops);
  }
  double declared_bytes(range_row const& row) const noexcept {
    return declared_per_step(row, row.bytes, row.first_step_bytes);
  }
  double declared_tokens(range_row const& row) const noexcept {
    return declared_per_step(row, row.tokens, row.first_step_tokens);
  }
  /// Time of a step in which work of a range, or of one below it, ran.
  double busy_ns(range_row const& row) const noexcept {
    return per_step(static_cast<double>(row.gpu_busy_ns), row.step_busy_share);
  }
  /// Host time of a range's calls in a step.
  double host_ns(range_row const& row) const noexcept {
    return per_step(static_cast<double>(row.host_total_ns), row.step_host_share);
  }
  /// The steps averaged in `mean_ns`, and their number.
  detail::averaged_steps averaged() const noexcept {
    return {static_cast<double>(count), without_first};
  }
  double typical_count() const noexcept { return averaged().size(); }
};

namespace detail {

/// Device work of a range in a mean step: counts by the number of launches, times and bytes by the
/// time of the work.
struct mean_work {
  double kernels = 0.0;
  double kernel_ns = 0.0;
  double graph_kernel_ns = 0.0;  ///< that others launched: no part of `kernel_ns`, and no sum
  double launch_ns = 0.0;
  double copy_ns = 0.0;
  double copied_bytes = 0.0;
  double allocated_bytes = 0.0;
  double synchronization_ns = 0.0;
  double allocations = 0.0;

  void add(mean_work const& more) noexcept {
    kernels += more.kernels;
    kernel_ns += more.kernel_ns;
    launch_ns += more.launch_ns;
    copy_ns += more.copy_ns;
    copied_bytes += more.copied_bytes;
    allocated_bytes += more.allocated_bytes;
    synchronization_ns += more.synchronization_ns;
    allocations += more.allocations;
  }
};

/// Amounts of the rows of a tree in a mean step. The whole, and a range around steps, have those of
/// what lies below them in steps: what they do outside differs in kind.
class step_amounts {
 public:
  step_amounts(vec<range_row> const& rows, steps_summary const& steps)
      : rows_(rows), steps_(steps) {
    if (rows_.empty()) return;
    find_inside();
    find_work();
    for (range_row const& row : rows_) all_busy_ns_ = larger(all_busy_ns_, steps_.busy_ns(row));
  }

  /// The factor from all calls of a row to those of a mean step.
  double factor(std::size_t i) const noexcept {
    return steps_.per_step(1.0, rows_[i].step_call_share);
  }
  double calls(std::size_t i) const noexcept {
    return static_cast<double>(rows_[i].host.count()) * factor(i);
  }
  double host_ns(std::size_t i) const noexcept { return steps_.host_ns(rows_[i]); }
  /// Time in which work of the row ran. All of it runs at least as long as that of any range: where
  /// the timeline does not say, both are estimates.
  double busy_ns(std::size_t i) const noexcept {
    return i == 0 ? all_busy_ns_ : steps_.busy_ns(rows_[i]);
  }

  mean_work const& work(std::size_t i) const noexcept { return work_[i]; }
  /// The work of a row without that of the rows below.
  mean_work own_work(std::size_t i) const noexcept {
    range_row const& row = rows_[i];
    return mean_of(row.self, row.step_self_share, row.step_self_launch_share,
                   row.step_self_launch_time_share);
  }
  /// Kernels that a row captured and another one launched, in a mean step.
  double captured_ns(captured_work const& captured) const noexcept {
    return steps_.per_step(static_cast<double>(captured.kernel_ns),
                           rows_[captured.launching_row].step_self_share);
  }
  /// Host time in a range itself, in a mean step.
  double self_ns(std::size_t i) const noexcept {
    return steps_.per_step(static_cast<double>(rows_[i].host_self_ns),
                           rows_[i].step_host_self_share);
  }

  /// The same of a range and of the range itself in the threads that drive steps: other threads
  /// run at the same time.
  double stepping_ns(std::size_t i) const noexcept {
    range_row const& row = rows_[i];
    return host_ns(i) * part_of_stepping(row.other_threads_ns, row.host_total_ns);
  }
  double stepping_self_ns(std::size_t i) const noexcept {
    range_row const& row = rows_[i];
    return self_ns(i) * part_of_stepping(row.other_threads_self_ns, row.host_self_ns);
  }

  /// Whether no call of a row, or below it, lies in a step.
  bool is_outside(std::size_t i) const noexcept {
    return steps_.from_steps && rows_[i].host.count() > 0 && !inside_[i];
  }

 private:
  static double part_of_stepping(std::int64_t beside, std::int64_t all) noexcept {
    return all > 0 ? 1.0 - static_cast<double>(beside) / static_cast<double>(all) : 1.0;
  }
  mean_work mean_of(device_work const& work, step_part const& by_time, step_part const& by_launch,
                    step_part const& by_launch_time) const noexcept {
    auto const in_step = [this](auto amount, step_part const& share) {
      return steps_.per_step(static_cast<double>(amount), share);
    };
    mean_work mean;
    mean.kernels = in_step(work.kernels, by_launch);
    mean.kernel_ns = in_step(work.kernel_ns, by_time);
    mean.launch_ns = in_step(work.launch_ns, by_launch_time);
    mean.copy_ns = in_step(work.copy_ns, by_time);
    mean.copied_bytes = in_step(work.copied_bytes(), by_time);
    mean.allocated_bytes = in_step(work.allocated_bytes, by_time);
    mean.synchronization_ns = in_step(work.synchronization_ns, by_time);
    mean.allocations = in_step(work.allocations, by_time);
    return mean;
  }
  void find_work() {
    auto const is_sum = [this](std::size_t i) {
      return rows_[i].around_steps || (i == 0 && steps_.from_steps);
    };
    work_.resize(rows_.size());
    for (std::size_t i = rows_.size(); i-- > 0;) {
      range_row const& row = rows_[i];
      mean_work const whole = mean_of(row.total, row.step_work_share, row.step_launch_share,
                                      row.step_launch_time_share);
      if (is_sum(i))
        work_[i].add(own_work(i));
      else
        work_[i] = whole;
      if (i > 0 && is_sum(row.parent)) work_[row.parent].add(work_[i]);
    }
    find_captured();
  }
  /// What a row captured counts for it and for those above it, up to where it was launched.
  void find_captured() {
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      for (captured_work const& captured : rows_[i].captured) {
        double const mean = captured_ns(captured);
        for (std::size_t row = i; !is_within(captured.launching_row, row); row = rows_[row].parent)
          work_[row].graph_kernel_ns += mean;
      }
    }
  }
  bool is_within(std::size_t row, std::size_t top) const noexcept {
    while (row > top) row = rows_[row].parent;
    return row == top;
  }
  /// Which rows have calls in steps, or below them rows that do.
  void find_inside() {
    inside_.assign(rows_.size(), false);
    for (std::size_t i = rows_.size(); i-- > 1;) {
      if (rows_[i].host.count() > 0 && rows_[i].step_share > 0.0) inside_[i] = true;
      if (inside_[i]) inside_[rows_[i].parent] = true;
    }
  }

  vec<range_row> const& rows_;
  steps_summary const& steps_;
  vec<bool> inside_;     ///< of steps
  vec<mean_work> work_;  ///< by row; where it lies around steps, of what lies in them
  double all_busy_ns_ = 0.0;
};

/// Whether the device worked and no time of it is known, as after an error of CUDA.
inline bool lost_all_times(profile const& source, steps_summary const& steps) noexcept {
  return source.losses.timestamps_lost > 0 && source.kernels.size() + source.copies.size() > 0 &&
         !(steps.active_busy_ns > 0.0) && !(steps.gpu_busy_ns > 0.0);
}

}  // namespace detail
STRATA_END

#endif  // STRATA_TABLES_STEPS_SUMMARY_HPP
