#ifndef STRATA_TABLES_STEPS_SUMMARY_HPP
#define STRATA_TABLES_STEPS_SUMMARY_HPP

#include <strata/tables/range_rows.hpp>

STRATA_BEGIN

/// What the host did while the device had no work.
enum class idle_cause : std::uint8_t {
  launch,     ///< launched
  host_work,  ///< the program's own code, without a call into the driver
  wait,       ///< waited for the device, and only then launched what came next
  allocation,
  copy,   ///< in a copy or a fill
  device  ///< nothing that matters: the device began queued work late
};

/// A cause as reports name it, what it makes of a step, and when the device is idle of it.
struct idle_cause_entry {
  std::string_view name;
  std::string_view bound;
  std::string_view meanwhile;
};
/// By idle_cause.
inline constexpr idle_cause_entry idle_cause_table[] = {
    {"launch", "Launch-bound", "waiting for kernel launches"},
    {"host work", "CPU-bound", "while the program computes on the CPU"},
    {"wait", "Wait-bound", "since the host waits for the GPU before it launches more"},
    {"allocation", "Allocation-bound", "while the host allocates and frees memory"},
    {"copy", "Copy-bound", "while the host copies"},
    {"device", "Queue-bound", "between pieces of work that were launched already"}};

constexpr idle_cause_entry const& entry_of(idle_cause cause) noexcept {
  return idle_cause_table[static_cast<std::size_t>(cause)];
}
constexpr std::string_view to_string(idle_cause cause) noexcept { return entry_of(cause).name; }

/// Time of a mean step in which the device was idle for one cause in one range itself.
struct idle_time {
  std::uint32_t row = 0;  ///< of the call tree; 0 is outside of ranges
  idle_cause cause = idle_cause::launch;
  double ns = 0.0;
  double gaps = 0.0;  ///< idle periods in which the cause had the largest part
};

inline constexpr std::size_t idle_causes = sizeof(idle_cause_table) / sizeof(idle_cause_table[0]);

/// One of the steps that a mean is of. Units: ns.
struct step_idle {
  std::uint32_t step = 0;  ///< its number
  double ns = 0.0;
  double idle_ns[idle_causes] = {};  ///< by idle_cause
};

/// Copies between host and device in a mean step, of one range itself.
struct copy_time {
  std::uint32_t row = 0;
  bool to_device = false;
  bool pageable = false;  ///< from or to memory of the host that is not pinned
  bool in_place = false;  ///< of devices that have the host's memory: nothing crosses a bus
  double count = 0.0;
  double bytes = 0.0;
  double ns = 0.0;
  double alone_ns = 0.0;  ///< without a kernel at the same time
  double call_ns = 0.0;   ///< host time in the calls
};

/// Copies within a GPU and fills in a mean step, of one range itself. Times in ns.
struct device_copy_time {
  std::uint32_t row = 0;
  double copies = 0.0;
  double copied_bytes = 0.0;
  double fills = 0.0;
  double filled_bytes = 0.0;
  double ns = 0.0;
  double alone_ns = 0.0;  ///< without a kernel at the same time
};

/// Kernels in a mean step in which ranks wait for each other, of one range itself.
struct collective_time {
  std::uint32_t row = 0;
  double count = 0.0;
  double ns = 0.0;
  double busy_ns = 0.0;  ///< in which one ran; several at the same time count once
  /// Without another kernel on its device; of several devices at the same time once.
  double alone_ns = 0.0;
};

namespace detail {
/// A kernel that fills no more of the multiprocessors leaves room for another one of its size.
inline constexpr double small_fill = 0.5;

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

/// The kernels of one stream in a mean step.
struct stream_time {
  std::uint32_t device = 0;  ///< ordinal
  std::uint32_t stream = 0;
  double kernels = 0.0;
  double ns = 0.0;
  /// Of kernels that fill small_fill of the multiprocessors at most; not of collectives, which
  /// leave some free by design.
  double small_ns = 0.0;
  double filled_ns = 0.0;  ///< of these, times the part of the multiprocessors that they fill
};

/// The kernels of one device in a mean step.
struct device_time {
  std::uint32_t device = 0;  ///< ordinal
  double ns = 0.0;           ///< sum of the kernels
  double overlap_ns = 0.0;   ///< the sum less the time in which one ran
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
  /// The time that the answer speaks of: a typical step; without steps, from the first to the last
  /// device work.
  double active_ns = 0.0;
  double active_busy_ns = 0.0;
  double overlap_ns = 0.0;  ///< of kernels of one device, of all devices together
  /// In which copies ran, and no kernel; several at the same time count once.
  double copies_alone_ns = 0.0;
  double tokens = std::numeric_limits<double>::quiet_NaN();
  double tokens_per_s = std::numeric_limits<double>::quiet_NaN();
  /// From the end of a step to the begin of the next one in the same window; 0 where that is less
  /// than a hundredth of a step, and where a step is its period on the device.
  double between_ns = 0.0;
  mean_between between;           ///< the same, however short
  double between_busy_ns = 0.0;   ///< of it, with work that no step launched
  double stepless_busy_ns = 0.0;  ///< of a step, only with such work
  double outside_ns = 0.0;        ///< of the whole run: recorded, but in no step
  double outside_gpu_ns = 0.0;    ///< of the whole run: device busy with work of no step
  vec<idle_time> idle;            ///< the longest first
  vec<idle_time> idle_between;    ///< between steps, the longest first
  vec<step_idle> typical;         ///< the steps that `idle` is of, with a timeline
  vec<copy_time> copies;          ///< the longest first
  vec<copy_time> copies_between;  ///< between steps, that no step launched
  vec<device_copy_time> device_copies;
  vec<collective_time> collectives;  ///< the longest first
  vec<stream_time> streams;          ///< the busiest first
  vec<device_time> devices;          ///< that ran kernels, the busiest first

  /// What the amounts are of, in sentences.
  char const* whole() const noexcept {
    return !from_steps ? "run" : between_ns > 0.0 ? "period" : "step";
  }
  char const* one_whole() const noexcept {
    return !from_steps ? "the run" : between_ns > 0.0 ? "a period" : "a step";
  }

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
  /// The part of it in which the device worked.
  double period_busy_ns() const noexcept {
    return detail::smaller(gpu_busy_ns + stepless_busy_ns + between_busy_ns, period_ns());
  }
  /// The part of it in which copies from and to the host ran, and no kernel.
  double period_copies_alone_ns() const noexcept {
    double sum = copies_alone_ns;
    for (copy_time const& each : copies_between) sum += each.alone_ns;
    return detail::smaller(sum, period_busy_ns());
  }
  double period_idle_ns() const noexcept { return period_ns() - period_busy_ns(); }
  /// The part of idle time that is the program's, not what recorded steps take longer.
  double own_idle_part() const noexcept {
    double const idle_ns = step_idle_ns();
    if (!is_slowed() || !(idle_ns > 0.0)) return 1.0;
    return detail::larger(0.0, 1.0 - (active_ns - unrecorded_ns) / idle_ns);
  }
  /// Idle time of a recorded step, as it is without recording.
  double own_idle_ns(double recorded_ns) const noexcept { return recorded_ns * own_idle_part(); }

  /// The part of an amount that lies in the steps which `mean_ns` is of.
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
  /// The steps that `mean_ns` is of, and how many they are.
  detail::averaged_steps averaged() const noexcept {
    return {static_cast<double>(count), without_first};
  }
  double typical_count() const noexcept { return averaged().size(); }
  /// The part of `active_ns` in which the device was idle.
  double active_idle_ns() const noexcept { return detail::larger(0.0, active_ns - active_busy_ns); }
  /// The same without the time in which work of no step ran.
  double step_idle_ns() const noexcept {
    return detail::larger(0.0, active_idle_ns() - stepless_busy_ns);
  }
  /// Idle time of a period for one cause, as it is without recording.
  double idle_of(idle_cause cause) const noexcept {
    double sum = 0.0;
    for (idle_time const& time : idle)
      if (time.cause == cause) sum += own_idle_ns(time.ns);
    for (idle_time const& time : idle_between)
      if (time.cause == cause) sum += time.ns;
    return sum;
  }
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
/// what lies below them in steps: what they do outside is of another kind.
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

#endif  // STRATA_TABLES_STEPS_SUMMARY_HPP
