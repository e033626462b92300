#ifndef STRATA_TABLES_WORK_PARTS_HPP
#define STRATA_TABLES_WORK_PARTS_HPP

#include <strata/tables/launch_index.hpp>
#include <strata/tables/range_rows.hpp>

STRATA_BEGIN
namespace detail {

/// The parts of device work that lie in steps, in all of them and without the first one.
class work_parts {
 public:
  /// `first_step`: that was recorded, or no_step.
  work_parts(profile const& source, row_layout const& layout, std::uint32_t first_step)
      : source_(source), layout_(layout), first_step_(first_step) {}

  /// The part of the launches that were in steps.
  step_part of_launches() const noexcept {
    double all = 0.0;
    step_part sum{0.0, 0.0};
    for (driver_call_record const& launch : source_.launches) {
      if (!launch.causes_work() || !is_work(launch.kind)) continue;
      all += 1.0;
      sum.add(part_of(launch), 1.0);
    }
    step_part made;
    made.set(sum, all);
    return made;
  }

  /// The parts of the rows' work. Requires: each row's `gpu_busy_ns`.
  void find(vec<range_row>& rows) const {
    if (!source_.has_steps) return;
    find_launched(rows);
    if (source_.has_whole_timeline()) find_busy(rows);
  }

 private:
  struct step_work {
    std::int64_t begin;
    std::int64_t end;
    std::uint32_t row;
    std::uint32_t step;
  };

  /// Of the launches, and of the work by its launches.
  void find_launched(vec<range_row>& rows) const {
    if (source_.launches.empty()) return;
    vec<double> const alike(source_.launches.size(), 1.0);
    share_launches(rows, alike, &range_row::step_self_launch_share, &range_row::step_launch_share);
    if (source_.has_whole_timeline()) count_launches(rows);
    share_launches(rows, call_times(), &range_row::step_self_launch_time_share,
                   &range_row::step_launch_time_share, true);
    // Where the timeline does not say how long work ran, each launch counts the same.
    bool const timed = source_.has_whole_timeline();
    vec<bool> const works =
        share_launches(rows, timed ? work_times() : alike, &range_row::step_self_share,
                       &range_row::step_work_share);
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (works[i]) rows[i].step_busy_share = rows[i].step_work_share;
  }
  void count_launches(vec<range_row>& rows) const {
    for (range_row& row : rows) row.self_launches_run = 0.0;
    for (driver_call_record const& launch : source_.launches)
      if (launch.causes_work() && is_work(launch.kind))
        rows[layout_.row_of(launch.node)].self_launches_run += 1.0;
  }
  /// The parts of the launches in steps, each with its weight: of a row itself, and with all below
  /// it. `captured`: launches into captures count too. Returns: which rows have any with them.
  vec<bool> share_launches(vec<range_row>& rows, vec<double> const& weights,
                           step_part range_row::*self, step_part range_row::*total,
                           bool captured = false) const {
    vec<double> all(rows.size(), 0.0);
    vec<step_part> in_steps(rows.size(), step_part{0.0, 0.0});
    for (std::size_t i = 0; i < source_.launches.size(); ++i) {
      driver_call_record const& launch = source_.launches[i];
      bool const counts = launch.causes_work() || (captured && launch.only_captured());
      if (!counts || !is_work(launch.kind)) continue;
      std::uint32_t const row = layout_.row_of(launch.node);
      all[row] += weights[i];
      in_steps[row].add(part_of(launch), weights[i]);
    }
    vec<bool> any(rows.size(), false);
    for (std::size_t i = 0; i < rows.size(); ++i) (rows[i].*self).set(in_steps[i], all[i]);
    for (std::size_t i = rows.size(); i-- > 0;) {
      (rows[i].*total).set(in_steps[i], all[i]);
      any[i] = all[i] > 0.0;
      std::uint32_t const parent = layout_.parent(static_cast<std::uint32_t>(i));
      if (parent == i) continue;
      all[parent] += all[i];
      in_steps[parent].add(in_steps[i], 1.0);
    }
    return any;
  }
  step_part part_of(driver_call_record const& launch) const noexcept {
    bool const in_step = launch.step != no_step;
    return {in_step ? 1.0 : 0.0, in_step && launch.step != first_step_ ? 1.0 : 0.0};
  }

  /// How long the call of each launch took.
  vec<double> call_times() const {
    vec<double> times;
    for (driver_call_record const& launch : source_.launches)
      times.push_back(static_cast<double>(elapsed(launch.begin, launch.end)));
    return times;
  }
  /// How long the device worked for each launch. Requires: the timeline is whole.
  vec<double> work_times() const {
    vec<double> times(source_.launches.size(), 0.0);
    launch_index(source_).visit_work([&times](auto const& record, std::uint32_t launch) {
      times[launch] += static_cast<double>(elapsed(record.begin, record.end));
    });
    return times;
  }

  /// How much of the time in which the device worked it worked for steps.
  void find_busy(vec<range_row>& rows) const {
    if (source_.kernels.empty() && source_.copies.empty()) return;
    vec<step_work> const works = work_of_steps();
    vec<double> const in_steps = busy_times(works, no_step);
    vec<double> const typical = busy_times(works, first_step_);
    for (std::size_t i = 0; i < rows.size(); ++i)
      rows[i].step_busy_share.set({in_steps[i], typical[i]},
                                  static_cast<double>(rows[i].gpu_busy_ns));
  }
  /// By row, with all below it. `without`: a step that is left out, or no_step.
  vec<double> busy_times(vec<step_work> const& works, std::uint32_t without) const {
    vec<std::int64_t> until(layout_.rows(), lost_time);
    vec<double> busy(layout_.rows(), 0.0);
    for (step_work const& work : works) {
      if (work.step == without) continue;
      for (std::uint32_t row = work.row;; row = layout_.parent(row)) {
        busy[row] += static_cast<double>(elapsed(larger(work.begin, until[row]), work.end));
        until[row] = larger(until[row], work.end);
        if (row == 0) break;
      }
    }
    return busy;
  }

  /// The device work of steps, in the order of its begins.
  vec<step_work> work_of_steps() const {
    vec<step_work> made;
    launch_index(source_).visit_work([&](auto const& record, std::uint32_t launch) {
      std::uint32_t const step = source_.launches[launch].step;
      if (step != no_step)
        made.push_back({record.begin, record.end, layout_.row_of(record.node), step});
    });
    made.sort([](step_work const& a, step_work const& b) { return a.begin < b.begin; });
    return made;
  }

  profile const& source_;
  row_layout const& layout_;
  std::uint32_t first_step_;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_TABLES_WORK_PARTS_HPP
