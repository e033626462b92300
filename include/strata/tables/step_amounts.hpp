#ifndef STRATA_TABLES_STEP_AMOUNTS_HPP
#define STRATA_TABLES_STEP_AMOUNTS_HPP

#include <strata/profile.hpp>
#include <strata/tables/range_rows.hpp>
#include <strata/tables/steps_summary.hpp>

STRATA_BEGIN
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
/// what lies below them in steps: what that did outside of steps, as a copy of all weights, is of
/// another kind, so that no share of the whole divides it.
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
  /// Kernels that a row captured and another one launched: in a mean step, as often as those of
  /// the launching row.
  double captured_ns(captured_work const& captured) const noexcept {
    return steps_.per_step(static_cast<double>(captured.kernel_ns),
                           rows_[captured.launching_row].step_self_share);
  }
  /// Host time in a range itself, in a mean step.
  double self_ns(std::size_t i) const noexcept {
    return steps_.per_step(static_cast<double>(rows_[i].host_self_ns),
                           rows_[i].step_host_self_share);
  }

  /// The same of a range and of the range itself in the threads that drive steps: what others do
  /// runs beside it.
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
  /// Positions of the rows that are in no step, without those below such a row, the longest first.
  vec<std::size_t> outside_steps() const {
    vec<std::size_t> rows;
    for (std::size_t i = 1; i < rows_.size(); ++i)
      if (is_outside(i) && !is_outside(rows_[i].parent)) rows.push_back(i);
    auto const longest = [this](std::size_t i) {
      return larger(rows_[i].host_total_ns, rows_[i].gpu_busy_ns);
    };
    rows.sort([&](std::size_t a, std::size_t b) {
      return longest(a) != longest(b) ? longest(a) > longest(b) : a < b;
    });
    return rows;
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

}  // namespace detail
STRATA_END

#endif  // STRATA_TABLES_STEP_AMOUNTS_HPP
