#ifndef STRATA_TABLES_STEPS_HPP
#define STRATA_TABLES_STEPS_HPP

#include <strata/profile.hpp>
#include <strata/profile/device_memory.hpp>
#include <strata/profile/records.hpp>
#include <strata/tables/call_tree.hpp>
#include <strata/tables/collectives.hpp>
#include <strata/tables/devices.hpp>
#include <strata/tables/host_timeline.hpp>
#include <strata/tables/launch_index.hpp>
#include <strata/tables/steps_summary.hpp>

STRATA_BEGIN

namespace detail {

/// The first of the last steps that are looked at, of `count`: reports of long runs end soon.
/// `records` says how many a step has. Returns: `count` where the last one alone has too many.
template <class Records>
std::size_t first_of_last_steps(std::size_t count, Records records) {
  std::size_t room = std::size_t{1} << 18;
  std::size_t first = count;
  while (first > 0 && records(first - 1) <= room) room -= records(--first);
  return first;
}

/// How long the device is idle between the work of two steps that follow each other; less than 0
/// where they overlap.
class step_distances {
 public:
  /// `step` is the position of the step before it: what follows the first step of a run counts only
  /// where nothing else is known.
  void add(std::size_t step, std::int64_t ns) {
    if (step == 0)
      first_ = ns;
    else
      others_.push_back(ns);
  }
  /// The middle one: few steps are followed by a pause of the program.
  std::int64_t usual() {
    std::size_t const count = others_.size();
    if (count == 0) return first_;
    others_.sort();
    std::int64_t const below = others_[(count - 1) / 2];
    return below + (others_[count / 2] - below) / 2;
  }

 private:
  std::int64_t first_ = 0;
  vec<std::int64_t> others_;
};

/// The times in which at least one of several things ran.
class busy_times {
 public:
  /// Requires: what is added comes in the order of the begins.
  void add(std::int64_t begin, std::int64_t end) {
    if (times_.empty() || begin > times_.back().end)
      times_.push_back({begin, end, times_.empty() ? 0 : until(times_.back(), latest_time)});
    else
      times_.back().end = larger(times_.back().end, end);
  }
  /// How long it ran between two times.
  std::int64_t within(std::int64_t begin, std::int64_t end) const noexcept {
    return before(end) - before(begin);
  }
  /// How long nothing ran between two times.
  std::int64_t outside(std::int64_t begin, std::int64_t end) const noexcept {
    return elapsed(begin, end) - within(begin, end);
  }
  /// Hands each time between these two in which nothing ran to `take`.
  template <class Take>
  void for_each_outside(std::int64_t begin, std::int64_t end, Take take) const {
    std::size_t index =
        times_.count_first([begin](busy_time const& time) { return time.end <= begin; });
    for (; index < times_.size() && times_[index].begin < end; ++index) {
      if (begin < times_[index].begin) take(begin, times_[index].begin);
      begin = larger(begin, times_[index].end);
    }
    if (begin < end) take(begin, end);
  }

 private:
  struct busy_time {
    std::int64_t begin;
    std::int64_t end;
    std::int64_t before;  ///< how long it ran before
  };
  static std::int64_t until(busy_time const& time, std::int64_t end) noexcept {
    return time.before + elapsed(time.begin, smaller(time.end, end));
  }
  std::int64_t before(std::int64_t end) const noexcept {
    std::size_t const index =
        times_.count_first([end](busy_time const& time) { return time.begin < end; });
    return index == 0 ? 0 : until(times_[index - 1], end);
  }

  vec<busy_time> times_;
};

/// How long at least one of several things runs, of which each adds what none before it covers.
class joint_time {
 public:
  /// Requires: what is added comes in the order of the begins. Returns: what it adds.
  std::int64_t add(std::int64_t begin, std::int64_t end) noexcept {
    std::int64_t const more = elapsed(larger(begin, until_), end);
    until_ = larger(until_, end);
    return more;
  }

 private:
  std::int64_t until_ = lost_time;
};

/// Fills a steps_summary from the records.
class steps_builder {
 public:
  steps_builder(profile const& source, call_tree const& tree, vec<range_row> const& ranges)
      : source_(source),
        tree_(tree),
        ranges_by_index_(ranges),
        launches_(source),
        usable_(source),
        finder_(source, tree) {}

  steps_summary build() {
    made_.from_steps = source_.has_steps && (!source_.steps.empty() || summed() != 0);
    made_.early = source_.early_steps.size();
    made_.has_timeline = source_.traced && source_.has_whole_timeline();
    find_steps();
    if (made_.has_timeline) place_work();
    sum_durations();
    find_distances();
    if (made_.has_timeline) {
      collect_work();
      sweep();
    } else if (source_.traced && !tree_.rows().empty()) {
      made_.gpu_busy_ns = smaller(made_.busy_ns(tree_.rows()[0]), made_.mean_ns);
    }
    made_.gpu_idle_ns = larger(0.0, made_.mean_ns - made_.gpu_busy_ns);
    find_active();
    share_out(made_.idle, made_.step_idle_ns());
    share_out(made_.idle_between, larger(0.0, made_.between_ns - made_.between_busy_ns));
    find_tokens();
    order();
    return std::move(made_);
  }

 private:
  struct step_work {
    std::int64_t begin;
    std::int64_t end;
    std::uint32_t record;  ///< position in the kernels, or behind them in the copies
    std::uint32_t launch;  ///< launch_index::none where it is unknown
    std::uint32_t step;    ///< position in steps_, no_step outside
  };
  struct step_times {
    std::int64_t begin;
    std::int64_t end;
    std::int64_t gpu_begin = latest_time;
    std::int64_t gpu_end = lost_time;
    std::uint32_t step = no_step;
    std::uint32_t thread = 0;
    std::size_t work = 0;  ///< records
  };

  /// Of one device.
  struct device_communication {
    busy_times computing;    ///< by kernels that are no collectives
    joint_time collectives;  ///< of the typical steps
  };
  struct exposed_time {
    std::int64_t begin;
    std::int64_t end;
    std::uint32_t collective;  ///< position in the summary
  };
  /// Between a step of the host and the next one.
  struct distance {
    std::int64_t begin;
    std::int64_t end;
    std::uint32_t thread;  ///< of the step before

    double ns() const noexcept { return static_cast<double>(elapsed(begin, end)); }
  };

  static constexpr std::uint32_t none = launch_index::none;

  std::uint64_t summed() const noexcept { return source_.summed_steps.count(); }

  double window_ns() const noexcept {
    double const seconds = source_.cost.seconds_in_window;
    return seconds > 0.0 ? seconds * 1e9 : static_cast<double>(source_.end);
  }

  /// Hands each record with its position and its step to `sink`.
  template <class Sink>
  void for_each_work(Sink sink) const {
    std::size_t last = 0;
    for (std::uint32_t i = 0; i < source_.kernels.size(); ++i) {
      kernel_record const& kernel = source_.kernels[i];
      hand({kernel.begin, kernel.end, i, none, no_step}, kernel.correlation, last, sink);
    }
    auto const kernels = static_cast<std::uint32_t>(source_.kernels.size());
    for (std::uint32_t i = 0; i < source_.copies.size(); ++i) {
      copy_record const& copy = source_.copies[i];
      hand({copy.begin, copy.end, kernels + i, none, no_step}, copy.correlation, last, sink);
    }
  }
  template <class Sink>
  void hand(step_work work, std::uint32_t correlation, std::size_t& last, Sink sink) const {
    if (work.begin == lost_time) return;
    work.launch = launches_.launch_of(correlation);
    work.step = made_.from_steps ? step_of(work, last) : 0;
    sink(work);
  }
  /// The position of a work's step; `last` is where the one before was found.
  std::uint32_t step_of(step_work const& work, std::size_t& last) const noexcept {
    if (work.launch == none) return no_step;
    std::uint32_t const step = source_.launches[work.launch].step;
    if (step == no_step) return no_step;
    if (last >= steps_.size() || steps_[last].step != step)
      last = steps_.count_first([step](step_times const& other) { return other.step < step; });
    bool const found = last < steps_.size() && steps_[last].step == step;
    return found ? static_cast<std::uint32_t>(last) : no_step;
  }

  /// The device times of the steps, and the steps that are looked at: the last one at least.
  void place_work() {
    for_each_work([this](step_work const& work) {
      if (work.step == no_step) return;
      step_times& step = steps_[work.step];
      step.gpu_begin = smaller(step.gpu_begin, work.begin);
      step.gpu_end = larger(step.gpu_end, work.end);
      ++step.work;
    });
    first_ = smaller(
        first_of_last_steps(steps_.size(), [this](std::size_t i) { return steps_[i].work; }),
        steps_.size() - 1);
    if (made_.from_steps) return find_period();
    if (steps_[0].gpu_end != lost_time) steps_[0].begin = steps_[0].gpu_begin;
  }

  void collect_work() {
    std::int64_t const begin = first_ == 0 ? lost_time : steps_[first_].gpu_begin;
    for_each_work([&](step_work const& work) {
      bool const looked_at = work.step == no_step ? work.end >= begin : work.step >= first_;
      if (looked_at) work_.push_back(work);
    });
    work_.sort([](step_work const& a, step_work const& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.record < b.record;
    });
  }
  bool is_kernel(step_work const& work) const noexcept {
    return work.record < source_.kernels.size();
  }
  copy_record const& copy_of(step_work const& work) const noexcept {
    return source_.copies[work.record - source_.kernels.size()];
  }
  std::uint32_t node_of(step_work const& work) const noexcept {
    return is_kernel(work) ? source_.kernels[work.record].node : copy_of(work).node;
  }

  void find_steps() {
    if (made_.from_steps) {
      for (step_record const& record : source_.steps) {
        step_times step{record.begin, record.end};
        step.step = record.step;
        step.thread = record.thread;
        steps_.push_back(step);
      }
    } else {
      steps_.push_back({0, source_.end});
    }
    steps_.sort([](step_times const& a, step_times const& b) { return a.step < b.step; });
  }

  /// Steps whose work continues after the host left them are measured on the device: from the start
  /// of a step's first work to that of the next one's. The last step of a window has no next one:
  /// it lasts as long as its work, and the idle time that usually lies between two steps.
  void find_period() {
    std::int64_t after = 0;
    std::int64_t host = 0;
    for (step_times const& step : steps_) {
      // Modules are loaded in it: beside that, what the others leave to the device looks small.
      if (&step == steps_.data() && begins_dear()) continue;
      host = add_saturated(host, elapsed(step.begin, step.end));
      if (step.gpu_end != lost_time)
        after = add_saturated(after, elapsed(larger(step.end, step.gpu_begin), step.gpu_end));
    }
    made_.period_of_gpu = after > host / 10;
    if (!made_.period_of_gpu) return;
    step_distances distances;
    for (std::size_t i = 0; i < steps_.size(); ++i)
      if (is_followed(i)) distances.add(i, steps_[i + 1].gpu_begin - steps_[i].gpu_end);
    std::int64_t const usual = distances.usual();
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      step_times& step = steps_[i];
      if (step.gpu_end == lost_time) continue;
      std::int64_t const next = is_followed(i) ? steps_[i + 1].gpu_begin : step.gpu_end + usual;
      step.begin = step.gpu_begin;
      step.end = larger(next, step.begin);
    }
  }
  /// A first step that takes this many medians is apart from the others.
  static constexpr double dear_first_step = 1.5;
  /// Whether the host takes much longer for the first step than for the others.
  bool begins_dear() const {
    if (steps_.size() < 3) return false;
    vec<std::int64_t> durations;
    for (step_times const& step : steps_) durations.push_back(elapsed(step.begin, step.end));
    auto const first = static_cast<double>(durations.front());
    durations.sort();
    auto const median = static_cast<double>(durations[durations.size() / 2]);
    return first > dear_first_step * median;
  }
  /// Whether the next step's work is known too.
  bool is_followed(std::size_t i) const noexcept {
    return i + 1 < steps_.size() && steps_[i + 1].step == steps_[i].step + 1 &&
           steps_[i].gpu_end != lost_time && steps_[i + 1].gpu_end != lost_time;
  }

  void sum_durations() {
    vec<std::int64_t> durations;
    for (step_times const& step : steps_) durations.push_back(elapsed(step.begin, step.end));
    duration_statistics const all = describe(durations);
    made_.count = larger(std::uint64_t{1}, all.count());
    if (!made_.from_steps) {
      made_.mean_ns = made_.p50_ns = made_.p95_ns = made_.first_ns = window_ns();
      return;
    }
    made_.first_ns = durations.empty() ? 0.0 : static_cast<double>(durations.front());
    constexpr std::uint64_t fewest_unrecorded = 5;  // chosen
    if (!made_.period_of_gpu && source_.cost.unrecorded_steps >= fewest_unrecorded)
      made_.unrecorded_ns = source_.cost.unrecorded_step_ns;
    made_.outside_ns = larger(0.0, window_ns() - all.sum());
    made_.without_first = steps_.size() >= 3 && first_ == 0 && summed() == 0 &&
                          made_.first_ns > dear_first_step * made_.p50_ns;
    if (!made_.without_first) return;
    durations.front() = durations.back();
    durations.pop_back();
    describe(durations);
  }
  /// What lies between a step of the host and the next one, without the few long pauses.
  void find_distances() {
    constexpr double least = 0.01;  // of a step: what less is costs nothing that a finding names
    constexpr double pause = 10.0;  // steps; chosen
    constexpr double rare = 0.1;    // of the steps that follow another one; chosen
    if (!made_.from_steps || made_.period_of_gpu) return;
    vec<distance> pauses;
    for (std::size_t i = first_; i + 1 < steps_.size(); ++i) {
      bool const follows = steps_[i + 1].step == steps_[i].step + 1;
      if (!follows || !is_typical(static_cast<std::uint32_t>(i))) continue;
      distance const made{steps_[i].end, larger(steps_[i].end, steps_[i + 1].begin),
                          steps_[i].thread};
      (made.ns() > pause * made_.mean_ns ? pauses : distances_).push_back(made);
    }
    auto const all = static_cast<double>(distances_.size() + pauses.size());
    if (static_cast<double>(pauses.size()) > rare * all)
      for (distance const& made : pauses) distances_.push_back(made);
    for (distance const& made : distances_) made_.between_ns += made.ns();
    if (!distances_.empty()) made_.between_ns /= static_cast<double>(distances_.size());
    if (made_.between_ns >= least * made_.mean_ns) {
      distances_.sort([](distance const& a, distance const& b) { return a.begin < b.begin; });
    } else {
      made_.between_ns = 0.0;
      distances_.clear();
    }
  }
  /// Mean and quantiles of these steps and of those that are kept in sums only.
  duration_statistics describe(vec<std::int64_t> durations) {
    duration_statistics all;
    for (std::int64_t const duration : durations) all.add(duration);
    if (made_.from_steps && summed() != 0) all.add(source_.summed_steps);
    made_.mean_ns = all.mean();
    made_.p50_ns = static_cast<double>(all.quantile(0.5));
    made_.p95_ns = static_cast<double>(all.quantile(0.95));
    if (summed() == 0 && !durations.empty()) find_quantiles(durations);
    return all;
  }

  void find_quantiles(vec<std::int64_t>& durations) {
    durations.sort();
    std::size_t const size = durations.size();
    auto const lower = static_cast<double>(durations[(size - 1) / 2]);
    auto const upper = static_cast<double>(durations[size / 2]);
    made_.p50_ns = (lower + upper) / 2.0;
    made_.p95_ns = static_cast<double>(durations[(95 * size + 99) / 100 - 1]);
  }

  void list_typical() {
    for (std::size_t i = first_; made_.from_steps && i < steps_.size(); ++i) {
      if (!is_typical(static_cast<std::uint32_t>(i))) continue;
      made_.typical.emplace_back();
      made_.typical.back().step = steps_[i].step;
      made_.typical.back().ns = static_cast<double>(elapsed(steps_[i].begin, steps_[i].end));
    }
  }
  bool is_typical(std::uint32_t step) const noexcept {
    return step >= first_ && (step != 0 || !made_.without_first);
  }

  /// Walks through all device work in the order of its begins.
  void sweep() {
    host_timeline const host(source_, first_ == 0 ? lost_time : steps_[first_].begin);
    auto const looked_at = static_cast<double>(steps_.size() - first_);
    part_ = 1.0 / (looked_at - (made_.without_first ? 1.0 : 0.0));
    part_between_ = part_between();
    std::int64_t until = lost_time;  // the end of what ran so far
    join_kernels();
    list_typical();
    made_.rangeless_busy_ns = 0.0;
    join_periods();
    double outside = 0.0;
    for (std::size_t i = 0; i < work_.size(); ++i) {
      step_work const& work = work_[i];
      auto const more = static_cast<double>(elapsed(larger(work.begin, until), work.end));
      if (work.step == no_step) {
        outside += more;
        add_stepless(larger(work.begin, until), work.end);
      } else {
        if (is_typical(work.step)) made_.active_busy_ns += part_ * more;
        if (is_typical(work.step) && work.begin > until) add_gap(host, work, until);
        if (is_typical(work.step)) add_record(work);
      }
      until = larger(until, work.end);
    }
    add_tails(host);
    add_between(host);
    add_exposed();
    // What the last step of a window leaves to the device may end behind its period.
    if (made_.from_steps) made_.active_busy_ns = smaller(made_.active_busy_ns, made_.mean_ns);
    made_.gpu_busy_ns = made_.active_busy_ns;
    auto const all_busy = static_cast<double>(tree_.rows()[0].gpu_busy_ns);
    made_.outside_gpu_ns =
        first_ == 0 ? outside
                    : larger(0.0, all_busy - made_.gpu_busy_ns * static_cast<double>(made_.count));
    for (device_time const& device : made_.devices) made_.overlap_ns += device.overlap_ns;
  }

  /// Notes when typical steps were, and what lies between them.
  void join_periods() {
    if (!made_.from_steps) return;
    vec<step_times> typical;
    for (std::size_t i = first_; i < steps_.size(); ++i)
      if (is_typical(static_cast<std::uint32_t>(i))) typical.push_back(steps_[i]);
    typical.sort([](step_times const& a, step_times const& b) { return a.begin < b.begin; });
    for (step_times const& step : typical) busy_.steps.add(step.begin, step.end);
    for (distance const& made : distances_) busy_.between.add(made.begin, made.end);
  }
  /// Only work that no step launched ran in this time.
  void add_stepless(std::int64_t begin, std::int64_t end) {
    if (end <= begin) return;
    auto const in_steps = static_cast<double>(busy_.steps.within(begin, end));
    made_.stepless_busy_ns += part_ * in_steps;
    if (distances_.empty()) return;
    made_.between_busy_ns += static_cast<double>(busy_.between.within(begin, end)) /
                             static_cast<double>(distances_.size());
  }
  /// What the host does between steps while the device is idle.
  void add_between(host_timeline const& host) {
    if (distances_.empty()) return;
    busy_times all;
    for (step_work const& work : work_) all.add(work.begin, work.end);
    idle_list_ = {&made_.idle_between, &places_.idle_between};
    idle_part_ = 1.0 / static_cast<double>(distances_.size());
    for (distance const& made : distances_)
      all.for_each_outside(made.begin, made.end, [&](std::int64_t begin, std::int64_t end) {
        split(host, made.thread, begin, end, nullptr);
      });
  }

  void find_active() {
    made_.active_ns = made_.mean_ns;
    if (!made_.has_timeline) {
      made_.active_busy_ns = smaller(made_.gpu_busy_ns, made_.active_ns);
    } else if (!made_.from_steps && steps_[0].gpu_end != lost_time) {
      made_.active_ns = static_cast<double>(elapsed(steps_[0].gpu_begin, steps_[0].gpu_end));
    }
  }

  /// The device was idle from `until` to the start of this work, as far as that is in its step.
  void add_gap(host_timeline const& host, step_work const& work, std::int64_t until) {
    step_times const& step = steps_[work.step];
    // A period on the device ends with the next one's first work: the gap before it belongs to it.
    bool const follows = until != lost_time && follows_on_device(work.step);
    std::int64_t const begin = follows ? until : larger(until, step.begin);
    if (begin >= work.begin) return;
    idle_part_ = follows && work.begin == step.gpu_begin ? part_between_ : part_;
    idle_step_ = work.step;
    driver_call_record const* const launch =
        work.launch == none ? nullptr : &source_.launches[work.launch];
    std::int64_t const end = due_begin(launch, begin, work.begin);
    if (end < work.begin)
      add_idle(node_of(work), idle_cause::device, work.begin - end, end == begin);
    if (end <= begin) return;
    if (launch == nullptr || launch->end <= begin)
      add_idle(node_of(work), idle_cause::launch, end - begin, true);
    else
      split(host, launch->thread, begin, end, launch);
  }
  /// Whether the period of the step before ends with this one's first work.
  bool follows_on_device(std::size_t step) const noexcept {
    return made_.period_of_gpu && step > first_ && is_followed(step - 1);
  }
  /// Idle time between two steps is recorded once less than steps are, in each window.
  double part_between() const noexcept {
    double typical = 0.0;
    double following = 0.0;
    for (std::size_t i = first_; i < steps_.size(); ++i) {
      if (!is_typical(static_cast<std::uint32_t>(i))) continue;
      typical += 1.0;
      if (follows_on_device(i)) following += 1.0;
    }
    return following > 0.0 ? part_ * typical / following : part_;
  }

  /// What is left of each step when its last work has ended.
  void add_tails(host_timeline const& host) {
    if (!made_.from_steps || made_.period_of_gpu) return;
    idle_part_ = part_;
    for (step_times const& step : steps_) {
      std::int64_t const begin = larger(step.begin, step.gpu_end);
      idle_step_ = static_cast<std::size_t>(&step - steps_.data());
      if (is_typical(static_cast<std::uint32_t>(&step - steps_.data())) && begin < step.end)
        split(host, step.thread, begin, step.end, nullptr);
    }
  }

  void split(host_timeline const& host, std::uint32_t thread, std::int64_t begin, std::int64_t end,
             driver_call_record const* launch) {
    idle_time largest;
    host.split(thread, begin, end, launch,
               [&](std::uint32_t node, idle_cause cause, std::int64_t ns) {
                 add_idle(node, cause, ns, false);
                 if (static_cast<double>(ns) <= largest.ns) return;
                 largest = {node, cause, static_cast<double>(ns), 0.0};
               });
    if (largest.ns > 0.0) add_idle(largest.row, largest.cause, 0, true);
  }

  void add_idle(std::uint32_t node, idle_cause cause, std::int64_t ns, bool gap) {
    std::uint32_t const row = tree_.position_of(node);
    std::uint64_t const key = std::uint64_t{row} << 8 | static_cast<std::uint64_t>(cause);
    idle_time& idle = entry_of(*idle_list_.times, *idle_list_.places, key, {row, cause, 0.0, 0.0});
    idle.ns += idle_part_ * static_cast<double>(ns);
    if (gap) idle.gaps += idle_part_;
    if (idle_list_.times != &made_.idle) return;  // it is of no step
    std::size_t const typical = idle_step_ - first_ - (made_.without_first ? 1 : 0);
    if (typical < made_.typical.size())
      made_.typical[typical].idle_ns[static_cast<std::size_t>(cause)] +=
          idle_part_ / part_ * static_cast<double>(ns);
  }

  /// Notes when kernels ran, of a step or not, and when others than collectives did on each device.
  void join_kernels() {
    for (step_work const& work : work_) {
      if (!is_kernel(work)) continue;
      busy_.kernels.add(work.begin, work.end);
      kernel_record const& kernel = source_.kernels[work.record];
      if (!finder_.is_collective(kernel))
        communication_of(kernel.device).computing.add(work.begin, work.end);
    }
  }

  void add_record(step_work const& work) {
    if (tree_.position_of(node_of(work)) == 0)
      made_.rangeless_busy_ns +=
          part_ * static_cast<double>(busy_.rangeless.add(work.begin, work.end));
    if (is_kernel(work))
      add_kernel(source_.kernels[work.record]);
    else
      add_copy(work, copy_of(work));
  }
  void add_kernel(kernel_record const& kernel) {
    auto const ns = static_cast<double>(elapsed(kernel.begin, kernel.end));
    add_to_device(kernel, ns);
    stream_time& stream = stream_of(kernel);
    stream.kernels += part_;
    stream.ns += part_ * ns;
    if (finder_.is_collective(kernel)) return add_collective(kernel);
    double const filled = filled_by(kernel);
    if (filled > small_fill) return;
    stream.small_ns += part_ * ns;
    stream.filled_ns += part_ * ns * filled;
  }
  void add_collective(kernel_record const& kernel) {
    std::uint32_t const row = tree_.position_of(kernel.node);
    collective_time& collective = entry_of(made_.collectives, places_.collectives, row, {row});
    collective.count += part_;
    collective.ns += part_ * static_cast<double>(elapsed(kernel.begin, kernel.end));
    collective.busy_ns +=
        part_ * static_cast<double>(busy_.collectives.add(kernel.begin, kernel.end));
    device_communication& own = communication_of(kernel.device);
    std::int64_t const more = own.collectives.add(kernel.begin, kernel.end);
    auto const position = static_cast<std::uint32_t>(&collective - made_.collectives.data());
    own.computing.for_each_outside(kernel.end - more, kernel.end,
                                   [&](std::int64_t begin, std::int64_t end) {
                                     busy_.exposed.push_back({begin, end, position});
                                   });
  }
  /// Times in which collectives ran on a device and no other kernel did: those of several devices
  /// at the same time count once.
  void add_exposed() {
    busy_.exposed.sort([](exposed_time const& a, exposed_time const& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.collective < b.collective;
    });
    joint_time joint;
    for (exposed_time const& time : busy_.exposed)
      made_.collectives[time.collective].alone_ns +=
          part_ * static_cast<double>(joint.add(time.begin, time.end));
  }
  void add_copy(step_work const& work, copy_record const& copy) {
    auto const ns = static_cast<double>(elapsed(work.begin, work.end));
    if (copy.kind != copy_kind::host_to_device && copy.kind != copy_kind::device_to_host) return;
    copy_time& copies = copies_of(tree_.position_of(copy.node), copy);
    copies.count += part_;
    copies.bytes += part_ * static_cast<double>(copy.bytes);
    copies.ns += part_ * ns;
    copies.alone_ns += part_ * static_cast<double>(busy_.kernels.outside(work.begin, work.end));
    std::int64_t const more = busy_.copies.add(work.begin, work.end);
    std::int64_t const alone = busy_.kernels.outside(work.end - more, work.end);
    made_.copies_alone_ns += part_ * static_cast<double>(alone);
    if (work.launch == none) return;
    driver_call_record const& call = source_.launches[work.launch];
    copies.call_ns += part_ * static_cast<double>(elapsed(call.begin, call.end));
  }
  /// The part of its context's multiprocessors that have a block of this kernel; 1 where that is
  /// unknown.
  double filled_by(kernel_record const& kernel) const noexcept {
    double const blocks = 1.0 * kernel.grid_x * kernel.grid_y * kernel.grid_z;
    double const room = usable_.of(kernel.device, kernel.context);
    return room > 0.0 ? smaller(1.0, blocks / room) : 1.0;
  }
  /// Requires: the kernels of a device come in the order of their begins.
  void add_to_device(kernel_record const& kernel, double ns) {
    device_time& device = entry_of(made_.devices, places_.devices, kernel.device, {kernel.device});
    busy_.devices.resize(made_.devices.size());
    joint_time& joint = busy_.devices[static_cast<std::size_t>(&device - made_.devices.data())];
    auto const alone = static_cast<double>(joint.add(kernel.begin, kernel.end));
    device.ns += part_ * ns;
    device.overlap_ns += part_ * (ns - alone);
  }
  device_communication& communication_of(std::uint32_t device) {
    return entry_of(busy_.communication, places_.communication, device, device_communication());
  }
  stream_time& stream_of(kernel_record const& kernel) {
    std::uint64_t const key = std::uint64_t{kernel.device} << 32 | kernel.stream;
    return entry_of(made_.streams, places_.streams, key, {kernel.device, kernel.stream});
  }
  copy_time& copies_of(std::uint32_t row, copy_record const& copy) {
    bool const to_device = copy.kind == copy_kind::host_to_device;
    bool const pageable = copy.pageable != 0;
    bool const in_place = shares_host_memory(source_, copy.device);
    std::uint64_t const key = std::uint64_t{row} << 3 | (in_place ? 4u : 0u) |
                              (to_device ? 2u : 0u) | (pageable ? 1u : 0u);
    return entry_of(made_.copies, places_.copies, key, {row, to_device, pageable, in_place});
  }
  /// The entry with a key in a list of the summary: `first` where there is none yet.
  template <class Entry>
  static Entry& entry_of(vec<Entry>& list, number_map<std::uint32_t>& places, std::uint64_t key,
                         Entry const& first) {
    std::uint32_t& number = places[key];
    if (number == 0) {
      list.push_back(first);
      number = static_cast<std::uint32_t>(list.size());
    }
    return list[number - 1];
  }

  /// The same tokens pass through every layer and its parts: what one range declares counts, the
  /// most of all.
  void find_tokens() {
    double most = 0.0;
    for (range_row const& row : ranges_by_index_) {
      double const tokens = made_.declared_tokens(row);
      if (tokens > 0.0) most = larger(most, tokens);
    }
    if (most == 0.0) return;
    made_.tokens = most;
    if (made_.period_ns() > 0.0) made_.tokens_per_s = made_.tokens / made_.period_ns() * 1e9;
  }
  /// Steps that overlap on the device have the same idle time: its parts are no more than all.
  static void share_out(vec<idle_time>& parts, double whole) noexcept {
    double sum = 0.0;
    for (idle_time const& part : parts) sum += part.ns;
    if (sum <= whole) return;
    for (idle_time& part : parts) part.ns *= whole / sum;
  }
  void order() {
    auto const longest_first = [](auto const& a, auto const& b) { return a.ns > b.ns; };
    made_.idle.sort(longest_first);
    made_.idle_between.sort(longest_first);
    made_.copies.sort(longest_first);
    made_.collectives.sort(longest_first);
    made_.streams.sort(longest_first);
    made_.devices.sort(longest_first);
  }

  profile const& source_;
  call_tree const& tree_;
  vec<range_row> const& ranges_by_index_;
  launch_index launches_;
  usable_multiprocessors usable_;
  collective_finder finder_;
  vec<step_work> work_;    ///< of the steps that are looked at, and outside of steps
  std::size_t first_ = 0;  ///< of these steps
  vec<step_times> steps_;
  vec<distance> distances_;  ///< between the typical ones, by begin
  struct device_busy {
    busy_times kernels;
    joint_time collectives;
    vec<device_communication> communication;  ///< see places_.communication
    vec<exposed_time> exposed;
    joint_time copies;  ///< between host and device
    joint_time rangeless;
    vec<joint_time> devices;  ///< their kernels
    busy_times steps;         ///< of the host, or of the device where these are its periods
    busy_times between;       ///< steps
  } busy_;
  double part_ = 1.0;          ///< of a sum over the steps that are looked at, in a mean one
  double part_between_ = 1.0;  ///< the same of idle time between steps
  double idle_part_ = 1.0;     ///< the one of these that counts for an idle time
  std::size_t idle_step_ = 0;  ///< the step that an idle time is of; position in steps_
  /// Positions in the summary and 1; 0 is none yet.
  struct summary_places {
    number_map<std::uint32_t> idle;
    number_map<std::uint32_t> idle_between;
    number_map<std::uint32_t> streams;
    number_map<std::uint32_t> devices;
    number_map<std::uint32_t> copies;
    number_map<std::uint32_t> collectives;
    number_map<std::uint32_t> communication;  ///< by device
  } places_;
  steps_summary made_;
  /// Where idle time is added.
  struct idle_list {
    vec<idle_time>* times;
    number_map<std::uint32_t>* places;
  } idle_list_{&made_.idle, &places_.idle};
};

}  // namespace detail

/// The mean step of a profile. `idle` and `copies` refer to rows of the folded tree; `ranges` has
/// one row a path and index.
/// Cost: O(r) for r records, and O(w log w) for the w that are looked at.
inline steps_summary make_steps(profile const& source, call_tree const& folded,
                                vec<range_row> const& ranges) {
  return detail::steps_builder(source, folded, ranges).build();
}

STRATA_END

#endif  // STRATA_TABLES_STEPS_HPP
