#ifndef STRATA_TABLES_STEPS_HPP
#define STRATA_TABLES_STEPS_HPP

#include <strata/tables/call_tree.hpp>
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

/// The times between steps of the host that follow each other, without the few long pauses of the
/// program, such as those in which it validates or saves.
class times_between_steps {
 public:
  /// `step_ns`: a mean step.
  explicit times_between_steps(double step_ns) noexcept : step_ns_(step_ns) {}

  void add(double ns) noexcept { (is_pause(ns) ? pauses_ : usual_).add(ns); }
  /// Whether a time that was added is in the mean: where pauses are frequent, they are too.
  bool counts(double ns) const noexcept { return !is_pause(ns) || !are_pauses_rare(); }

  mean_between mean() const noexcept {
    constexpr double least = 0.01;  // of a step: what less is costs nothing that a finding names
    sums all = usual_;
    if (!are_pauses_rare()) all.add(pauses_);
    mean_between made;
    if (!(all.count > 0.0)) return made;
    made.ns = all.sum / all.count;
    if (all.count > 1.0)
      made.variance = larger(0.0, all.squares - all.sum * made.ns) / (all.count - 1.0) / all.count;
    made.is_named = made.ns > 0.0 && made.ns >= least * step_ns_;
    return made;
  }

 private:
  struct sums {
    double count = 0.0;
    double sum = 0.0;
    double squares = 0.0;

    void add(double ns) noexcept { add({1.0, ns, ns * ns}); }
    void add(sums const& more) noexcept {
      count += more.count;
      sum += more.sum;
      squares += more.squares;
    }
  };

  bool is_pause(double ns) const noexcept {
    constexpr double pause = 10.0;  // steps; chosen
    return ns > pause * step_ns_;
  }
  bool are_pauses_rare() const noexcept {
    constexpr double rare = 0.1;  // of the steps that follow another one; chosen
    return pauses_.count <= rare * (usual_.count + pauses_.count);
  }

  double step_ns_;
  sums usual_;
  sums pauses_;
};

/// How long the device is idle between the work of two steps; less than 0 where they overlap.
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
class steps_builder : uncopied {
 public:
  steps_builder(profile const& source, call_tree const& tree, vec<range_row> const& ranges)
      : source_(source), tree_(tree), ranges_by_index_(ranges), launches_(source) {}
  virtual ~steps_builder() = default;

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
    find_tokens();
    return std::move(made_);
  }

 protected:
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
      // Modules are loaded in it: compared with that, what the others leave to the device is small.
      if (&step == steps_.data() && begins_dear()) continue;
      host = add_saturated(host, elapsed(step.begin, step.end));
      if (step.gpu_end != lost_time)
        after = add_saturated(after, elapsed(larger(step.end, step.gpu_begin), step.gpu_end));
    }
    made_.period_of_gpu = after > host / 10;
    if (!made_.period_of_gpu) return;
    step_distances gaps;
    step_distances ends;  // of steps that overlap, such as by a copy that comes ahead of one
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (!is_followed(i)) continue;
      if (overlaps_next(i))
        ends.add(i, steps_[i + 1].gpu_end - steps_[i].gpu_end);
      else
        gaps.add(i, steps_[i + 1].gpu_begin - steps_[i].gpu_end);
    }
    std::int64_t const usual_gap = gaps.usual();
    std::int64_t const usual_end = ends.usual();
    bool is_overlapped = false;  // by the step before
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      step_times& step = steps_[i];
      if (step.gpu_end == lost_time) continue;
      bool const overlaps = overlaps_next(i);
      // Steps that overlap are from end to end, and the first one is as long as the others.
      if (is_overlapped)
        step.begin = steps_[i - 1].gpu_end;
      else
        step.begin = overlaps ? larger(step.gpu_begin, step.gpu_end - usual_end) : step.gpu_begin;
      std::int64_t end = step.gpu_end;
      if (!overlaps && is_followed(i))
        end = steps_[i + 1].gpu_begin;
      else if (!is_followed(i) && !is_overlapped)
        end += usual_gap;
      step.end = larger(end, step.begin);
      is_overlapped = overlaps;
    }
  }
  /// Whether the next step's first work begins before the last of this one's ends.
  bool overlaps_next(std::size_t i) const {
    return is_followed(i) && steps_[i + 1].gpu_begin < steps_[i].gpu_end &&
           steps_[i + 1].gpu_end >= steps_[i].gpu_end;
  }
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
    for (step_times const& step : steps_) {
      durations.push_back(elapsed(step.begin, step.end));
      if (made_.from_steps) made_.step_lengths.push_back(static_cast<double>(durations.back()));
    }
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
    if (!made_.from_steps || made_.period_of_gpu) return;
    times_between_steps times(made_.mean_ns);
    for (std::size_t i = first_; i + 1 < steps_.size(); ++i) {
      bool const follows = steps_[i + 1].step == steps_[i].step + 1;
      if (!follows || !is_typical(static_cast<std::uint32_t>(i))) continue;
      distances_.push_back(
          {steps_[i].end, larger(steps_[i].end, steps_[i + 1].begin), steps_[i].thread});
      times.add(distances_.back().ns());
    }
    made_.between = times.mean();
    distances_.keep_if(
        [&](distance const& made) { return made_.between.is_named && times.counts(made.ns()); });
    distances_.sort([](distance const& a, distance const& b) { return a.begin < b.begin; });
    if (made_.between.is_named) made_.between_ns = made_.between.ns;
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

  bool is_typical(std::uint32_t step) const noexcept {
    return step >= first_ && (step != 0 || !made_.without_first);
  }

  /// Walks through all device work in the order of its begins.
  void sweep() {
    auto const looked_at = static_cast<double>(steps_.size() - first_);
    part_ = 1.0 / (looked_at - (made_.without_first ? 1.0 : 0.0));
    std::int64_t until = lost_time;  // the end of what ran so far
    begin_sweep();
    made_.rangeless_busy_ns = 0.0;
    join_periods();
    joint_time rangeless;
    double outside = 0.0;
    for (step_work const& work : work_) {
      auto const more = static_cast<double>(elapsed(larger(work.begin, until), work.end));
      if (work.step == no_step) {
        outside += more;
        add_stepless(larger(work.begin, until), work.end);
      } else if (is_typical(work.step)) {
        made_.active_busy_ns += part_ * more;
        if (tree_.position_of(node_of(work)) == 0)
          made_.rangeless_busy_ns +=
              part_ * static_cast<double>(rangeless.add(work.begin, work.end));
        see(work, until);
      }
      until = larger(until, work.end);
    }
    end_sweep();
    // What the last step of a window leaves to the device may end behind its period.
    if (made_.from_steps) made_.active_busy_ns = smaller(made_.active_busy_ns, made_.mean_ns);
    made_.gpu_busy_ns = made_.active_busy_ns;
    auto const all_busy = static_cast<double>(tree_.rows()[0].gpu_busy_ns);
    made_.outside_gpu_ns =
        first_ == 0 ? outside
                    : larger(0.0, all_busy - made_.gpu_busy_ns * static_cast<double>(made_.count));
  }
  /// For an analysis of more: before the first work, of each work of a typical step where `until`
  /// is the end of all before it, and behind the last one.
  virtual void begin_sweep() {}
  virtual void see(step_work const&, std::int64_t /*until*/) {}
  virtual void end_sweep() {}

  /// Notes when typical steps were, and what lies between them.
  void join_periods() {
    if (!made_.from_steps) return;
    vec<step_times> typical;
    for (std::size_t i = first_; i < steps_.size(); ++i)
      if (is_typical(static_cast<std::uint32_t>(i))) typical.push_back(steps_[i]);
    typical.sort([](step_times const& a, step_times const& b) { return a.begin < b.begin; });
    for (step_times const& step : typical) in_steps_.add(step.begin, step.end);
    for (distance const& made : distances_) between_.add(made.begin, made.end);
  }
  /// Only work that no step launched ran in this time.
  void add_stepless(std::int64_t begin, std::int64_t end) {
    if (end <= begin) return;
    auto const in_steps = static_cast<double>(in_steps_.within(begin, end));
    made_.stepless_busy_ns += part_ * in_steps;
    if (distances_.empty()) return;
    made_.between_busy_ns +=
        static_cast<double>(between_.within(begin, end)) / static_cast<double>(distances_.size());
  }

  void find_active() {
    made_.active_ns = made_.mean_ns;
    if (!made_.has_timeline) {
      made_.active_busy_ns = smaller(made_.gpu_busy_ns, made_.active_ns);
    } else if (!made_.from_steps && steps_[0].gpu_end != lost_time) {
      made_.active_ns = static_cast<double>(elapsed(steps_[0].gpu_begin, steps_[0].gpu_end));
    }
  }

  /// The same tokens pass through every layer and its parts: the most that one declares counts.
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

  profile const& source_;
  call_tree const& tree_;
  vec<range_row> const& ranges_by_index_;
  launch_index launches_;
  vec<step_work> work_;    ///< of the steps that are looked at, and outside of steps
  std::size_t first_ = 0;  ///< of these steps
  vec<step_times> steps_;
  vec<distance> distances_;  ///< between the typical ones, by begin
  busy_times in_steps_;      ///< of the host, or of the device where these are its periods
  busy_times between_;       ///< steps
  double part_ = 1.0;        ///< of a sum over the steps that are looked at, in a mean one
  steps_summary made_;
};

}  // namespace detail

/// The mean step of a profile, without what the analysis adds. `ranges` has one row a path and
/// index. Cost: O(r) for r records, and O(w log w) for the w that are looked at.
inline steps_summary make_mean_step(profile const& source, call_tree const& folded,
                                    vec<range_row> const& ranges) {
  return detail::steps_builder(source, folded, ranges).build();
}

STRATA_END

#endif  // STRATA_TABLES_STEPS_HPP
