#include <strata/version.hpp>
#ifndef STRATA_TABLES_STEP_AMOUNTS_HPP
#define STRATA_TABLES_STEP_AMOUNTS_HPP

#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile.hpp>
#include <strata/tables/range_rows.hpp>
#include <strata/tables/steps_summary.hpp>

#include <cstddef>
#include <type_traits>

STRATA_BEGIN
namespace detail {

/// Amounts of the rows of a tree in a mean step. A range around steps has those of what lies below
/// it in steps: what its children did outside of them is no part of its own.
class step_amounts {
 public:
  step_amounts(vec<range_row> const& rows, steps_summary const& steps)
      : rows_(rows), steps_(steps) {
    if (rows_.empty()) return;
    find_inside();
    sum_in_steps();
    for (std::size_t i = 0; i < rows_.size(); ++i) all_busy_ns_ = larger(all_busy_ns_, busy_in(i));
  }

  /// The factor from all calls of a row to those of a mean step.
  double factor(std::size_t i) const noexcept {
    return steps_.per_step(1.0, rows_[i].step_call_share);
  }
  double calls(std::size_t i) const noexcept {
    return static_cast<double>(rows_[i].host.count()) * factor(i);
  }
  double host_ns(std::size_t i) const noexcept {
    return steps_.per_step(static_cast<double>(rows_[i].host_total_ns), rows_[i].step_host_share);
  }
  /// Time in which work of the row ran. All of it runs at least as long as that of any range: where
  /// the timeline does not say, both are estimates.
  double busy_ns(std::size_t i) const noexcept { return i == 0 ? all_busy_ns_ : busy_in(i); }

  /// The work of a row, of which the part below is that of a mean step.
  device_work const& work_of(std::size_t i) const noexcept {
    return has_sums(i) ? in_steps_[i] : rows_[i].total;
  }
  double part_of_work(std::size_t i) const noexcept {
    return steps_.per_step(1.0, has_sums(i) ? step_part() : rows_[i].step_work_share);
  }
  /// Host time in a range itself, in a mean step.
  double self_ns(std::size_t i) const noexcept {
    return steps_.per_step(static_cast<double>(rows_[i].host_self_ns),
                           rows_[i].step_host_self_share);
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
  /// The amounts of a part of some work that the table shows.
  static void add_part(device_work& sum, device_work const& work, double share) noexcept {
    auto const add = [share](auto& total, auto amount) {
      total += static_cast<std::remove_reference_t<decltype(total)>>(
          static_cast<double>(amount) * share + 0.5);
    };
    add(sum.kernels, work.kernels);
    add(sum.kernel_ns, work.kernel_ns);
    add(sum.launch_ns, work.launch_ns);
    add(sum.host_to_device_bytes, work.host_to_device_bytes);
    add(sum.device_to_host_bytes, work.device_to_host_bytes);
    add(sum.device_to_device_bytes, work.device_to_device_bytes);
    add(sum.other_bytes, work.other_bytes);
    add(sum.allocated_bytes, work.allocated_bytes);
  }
  double busy_in(std::size_t i) const noexcept {
    return steps_.per_step(static_cast<double>(rows_[i].gpu_busy_ns), rows_[i].step_busy_share);
  }
  void sum_in_steps() {
    bool any = false;
    for (range_row const& row : rows_) any = any || row.around_steps;
    if (!any) return;
    in_steps_.resize(rows_.size());
    for (std::size_t i = rows_.size(); i-- > 1;) {
      range_row const& row = rows_[i];
      if (row.around_steps)
        add_part(in_steps_[i], row.self, steps_.part(row.step_self_share));
      else
        add_part(in_steps_[i], row.total, steps_.part(row.step_work_share));
      if (row.parent == 0 || rows_[row.parent].around_steps)
        add_part(in_steps_[row.parent], in_steps_[i], 1.0);
    }
    add_part(in_steps_[0], rows_[0].self, steps_.part(rows_[0].step_self_share));
  }
  bool has_sums(std::size_t i) const noexcept {
    return rows_[i].around_steps || (i == 0 && !in_steps_.empty());
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
  vec<bool> inside_;           ///< of steps
  vec<device_work> in_steps_;  ///< by row, where one lies around steps
  double all_busy_ns_ = 0.0;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_TABLES_STEP_AMOUNTS_HPP
