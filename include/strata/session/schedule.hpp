#ifndef STRATA_SESSION_SCHEDULE_HPP
#define STRATA_SESSION_SCHEDULE_HPP

#include <strata/collect/cuda/call_steps.hpp>
#include <strata/options.hpp>

STRATA_BEGIN
namespace detail {

/// What happens to each step: windows of skipped, warm-up and active steps, repeated.
class schedule {
 public:
  enum class phase : unsigned char { skip, warmup, active };

  schedule() = default;
  explicit schedule(options const& from) noexcept
      : skip_(from.skip), warmup_(from.warmup), active_(from.active), repeat_(from.repeat) {
    if (from.trigger.empty() && from.every == 0) return;
    if (active_ == 0) active_ = 1;
    if (from.reports_windows()) {
      skip_ = 0;
      repeat_ = 1;
    } else {
      skip_ = skipped(from);
      repeat_ = 0;
    }
  }

  /// With every=: the steps before each window.
  static std::uint32_t skipped(options const& from) noexcept {
    std::uint64_t const kept = steps_of_window(from);
    return from.every > kept ? static_cast<std::uint32_t>(from.every - kept) : 0;
  }

  /// With every= or trigger=: warm-up and active steps.
  static std::uint64_t steps_of_window(options const& from) noexcept {
    return std::uint64_t{from.warmup} + (from.active == 0 ? 1 : from.active);
  }

  /// Keys that have no effect together with another key. Errors: bad_argument.
  static status ignored(options const& wanted) {
    bool const others = wanted.skip != 0 || wanted.repeat != 1;
    if (!wanted.trigger.empty() && (others || wanted.every != 0))
      return {errc::bad_argument,
              "every=, skip= and repeat= are ignored with trigger=, which takes a window of "
              "warmup + active steps each time that its file is touched"};
    if (wanted.attach_in_window && wanted.trace && !wanted.attaches_in_windows())
      return {
          errc::bad_argument,
          wanted.nvtx_in() || wanted.steps_are_calls()
              ? "attach=window is ignored with nvtx=in, step=graph, step=sync and step=auto, "
                "which need CUPTI before the program's first call"
              : "attach=window is ignored: there are no windows; add trigger=, every=, or skip= "
                "and active="};
    if (wanted.slower != 0 && wanted.trigger.empty())
      return {errc::bad_argument,
              "slower= is ignored without trigger=: it asks for windows beside those of the file"};
    if (wanted.keep != 0 && !wanted.reports_windows())
      return {errc::bad_argument,
              "keep= is ignored: it is the number of windows whose reports stay, and neither "
              "every= nor trigger= asks for windows"};
    if (wanted.every != 0 && others)
      return {errc::bad_argument,
              "skip= and repeat= are ignored with every=, which places its windows by itself and "
              "continues until the program ends"};
    std::uint64_t const kept = steps_of_window(wanted);
    if (wanted.every != 0 && wanted.every < kept)
      return {errc::bad_argument,
              sentence("every=") << wanted.every << " has no room for windows of " << kept
                                 << " steps (warmup + active): they follow each other without a "
                                    "pause; choose a larger one"};
    return {};
  }

  phase phase_of(std::uint32_t step) const noexcept {
    std::uint64_t position = step;
    if (active_ != 0) {
      if (repeat_ != 0 && position / window() >= repeat_) return phase::skip;
      position %= window();
    }
    if (position < skip_) return phase::skip;
    return position < first_kept() ? phase::warmup : phase::active;
  }

  /// The first step that is kept, from 0.
  std::uint64_t first_kept() const noexcept { return std::uint64_t{skip_} + warmup_; }

  /// Those of all windows, or of the first one where they have no end.
  std::uint64_t steps_before_counting() const noexcept {
    constexpr std::uint64_t most = no_step;
    std::uint64_t const windows = repeat_ == 0 ? 1 : repeat_;
    if (active_ == 0) return 0;
    return windows > most / window() ? most : windows * window();
  }

 private:
  std::uint64_t window() const noexcept { return std::uint64_t{skip_} + warmup_ + active_; }

  std::uint32_t skip_ = 0;
  std::uint32_t warmup_ = 0;
  std::uint32_t active_ = 0;
  std::uint32_t repeat_ = 1;
};

/// How long steps take that are not recorded: outside windows, not warmed up in, not counted;
/// during the report of a window too. Not `profile_losses::unrecorded`. Threads: one begins and
/// ends steps; any asks. Cost: two readings of a clock for such a step; no memory is allocated
/// until `median_ns`.
class unrecorded_steps {
 public:
  /// Such a step begins.
  void begin() noexcept { begin_ = monotonic_ns(); }
  /// A step ends, be it recorded.
  void end() noexcept {
    if (begin_ == 0) return;
    std::uint64_t const count = count_.load(memory_order_relaxed);
    last_[count % kept].store(monotonic_ns() - begin_, memory_order_relaxed);
    count_.store(count + 1, memory_order_release);
    begin_ = 0;
  }
  /// What ended before the program used CUDA is no measure of what comes.
  void forget() noexcept {
    count_.store(0, memory_order_release);
    asked_at_ = 0;
    usual_ns_ = 0.0;
    reported_ = false;
  }
  std::uint64_t count() const noexcept { return count_.load(memory_order_acquire); }
  /// Of the last 255; 0 of none.
  double median_ns() const {
    vec<std::int64_t> durations;
    for (std::size_t i = 0; i < smaller(count(), std::uint64_t{kept}); ++i)
      durations.push_back(last_[i].load(memory_order_relaxed));
    durations.sort();
    return durations.empty() ? 0.0 : static_cast<double>(durations[durations.size() / 2]);
  }
  /// Asked at the end of each step. `beside_report`: while a report was written, which may slow
  /// steps: they are not judged. Returns: by how many % the median of the last 255 steps is above
  /// the usual one, if by `percent` or more; else 0. The usual one is the least so far, or that of
  /// the first 255 steps after the last one that was reported.
  std::uint32_t slower_by(std::uint32_t percent, bool beside_report) {
    if (percent == 0) return 0;
    if (!beside_report && count() - asked_at_ < kept) return 0;
    asked_at_ = count();
    if (beside_report) return 0;
    double const now = median_ns();
    // CUPTI's work for a window that was recorded may slow the steps after it.
    bool const is_first = !(usual_ns_ > 0.0) || reported_;
    double const by = is_first ? 0.0 : 100.0 * (now / usual_ns_ - 1.0);
    bool const is_slower = by >= static_cast<double>(percent);
    if (is_slower || is_first || now < usual_ns_) usual_ns_ = now;
    reported_ = is_slower;
    return is_slower ? static_cast<std::uint32_t>(smaller(by + 0.5, 1e6)) : 0;
  }

 private:
  /// Chosen: the standard error of their median is about 8 % of the steps' deviation.
  static constexpr std::size_t kept = 255;

  std::int64_t begin_ = 0;  // 0: no such step is open
  std::uint64_t asked_at_ = 0;
  double usual_ns_ = 0.0;  // of slower_by; 0: not known
  bool reported_ = false;  // the last time it was asked
  atomic<std::uint64_t> count_{0};
  atomic<std::int64_t> last_[kept] = {};
};

/// The schedule of a session: where the options say nothing of it, the steps that counting needs.
class step_plan {
 public:
  explicit step_plan(options const& wanted) noexcept
      : asks_for_steps_(wanted.active != 0), asks_for_warmup_(wanted.warmup != 0) {}

  /// Counting comes after timed steps; where it cannot come, all steps are timed. `counts`: it can.
  /// Returns: whether the options leave that open.
  bool make(options& wanted, bool counts, bool by_windows) {
    bool const chooses = !asks_for_steps_ && !by_windows;
    if (chooses) wanted.active = counts ? timed_steps : 0;
    if (chooses && !asks_for_warmup_) wanted.warmup = counts ? 1 : 0;
    made_ = schedule(wanted);
    return chooses;
  }
  schedule const& made() const noexcept { return made_; }

 private:
  static constexpr std::uint32_t timed_steps = 3;  // before counting, unless active= says otherwise

  bool asks_for_steps_;
  bool asks_for_warmup_;
  schedule made_;
};

/// `step=`, and no range of that name began. `names`: of all ranges, recorded or not.
inline status missing_range(std::string_view step, vec<std::string> const& names) {
  nearest_names nearest(step);
  bool is_known = false;
  for (std::string const& name : names) {
    nearest.consider(name);
    is_known = is_known || name == step;
  }
  vec<std::string> const best = nearest.best(1);
  sentence text("step=");
  text << step << ": no range of that name began, so that there are no steps";
  if (is_known) {
    text << ", only a mark or a note: name a range, or add STRATA_STEP()";
  } else if (best.empty()) {
    text << ": a run without step= has all names in its report";
  } else {
    text << "; did you mean " << best.front() << '?';
  }
  return {errc::bad_argument, text};
}

/// What is recorded of a run that waits in vain for calls that are steps.
enum class without_steps : unsigned char { nothing, beginning, all };

/// `step=graph`, `sync` or `auto`, and no calls into the driver are steps.
inline status missing_call_steps(std::string_view step, call_steps_seen const& seen,
                                 without_steps recorded, bool never_counted) {
  sentence text("step=");
  text << step << ": ";
  if (step == "graph") {
    text << "no CUDA graph was launched " << graph_choice::fewest << " times";
  } else if (seen.launches == 0) {
    text << "no launch was followed";
  } else if (step == "sync") {
    text << "no wait came once in a period, in " << seen.launches << " launches";
  } else {
    text << "no period was found in " << seen.launches << " launches";
  }
  text << ", so that there are no steps";
  if (recorded == without_steps::all) text << ": the whole run is shown";
  if (recorded == without_steps::beginning)
    text << ": the beginning is shown, of " << step_patience::max_launches << " launches at most"
         << ", and what follows was not recorded";
  bool const has_data = recorded != without_steps::nothing;
  if (has_data && never_counted) text << ", without counters";
  text << (has_data ? "; name the step with step=NAME" : ": name the step with step=NAME");
  return {errc::bad_argument, text};
}

/// What the steps of `step=graph`, `sync` or `auto` are.
inline std::string describe_call_steps(std::string_view step, call_steps_seen const& seen) {
  bool const of_graphs = step == "graph";
  char const* how = seen.ends_with_wait ? "ended by waits" : "begun by one launch";
  if (of_graphs) how = "begun by one graph";
  sentence text("step=");
  text << step << ": " << seen.steps << " steps, " << how << ", with "
       << 100 * seen.in_steps / larger<std::uint64_t>(seen.launches, 1) << " % of " << seen.launches
       << (of_graphs ? " launches of graphs" : " launches");
  if (seen.found > 1)
    text << "; " << seen.found << (of_graphs ? " graphs" : " periods") << " in turn";
  return text;
}

/// The steps have less than half of the launches, or the program has several loops.
inline status doubtful_call_steps(std::string_view step, call_steps_seen const& seen) {
  if (2 * seen.in_steps >= seen.launches && seen.found <= 1) return {};
  return {errc::limit, describe_call_steps(step, seen) +
                           ": the steps cover only these; choose others with step=NAME"};
}

/// `step=graph`, `sync` or `auto` where the program says itself what its steps are.
inline status unused_steps(std::string_view step) {
  return {errc::bad_argument, sentence("STRATA_STEP() of the program is not used with step=")
                                  << step << ": leave step= out to use it"};
}

/// There are no steps with `step=`.
inline status missing_named_steps(options const& wanted, vec<std::string> const& names,
                                  call_steps_seen const& seen,
                                  without_steps recorded = without_steps::nothing,
                                  bool never_counted = false) {
  return wanted.steps_are_calls() ? missing_call_steps(wanted.step, seen, recorded, never_counted)
                                  : missing_range(wanted.step, names);
}

/// Where the program's steps did not reach what the options ask for. `steps`: how many there were.
inline status missing_steps(options const& wanted, schedule const& plan, bool never_counted,
                            profile const& made, std::uint32_t steps, call_steps_seen const& seen,
                            without_steps recorded) {
  bool const windows = wanted.reports_windows();
  if (windows && made.steps.empty())
    return {errc::limit, "the program ended before the window had a whole step"};
  if (!wanted.step.empty() && !made.has_steps)
    return missing_named_steps(wanted, made.names, seen, recorded, never_counted);
  if (wanted.has_schedule() && !made.has_steps) {
    return {errc::bad_argument,
            never_counted ? "counters= needs STRATA_STEP() around each step, and the program has "
                            "none: nothing was recorded"
                          : "skip, warmup and active count steps, but the program has no "
                            "STRATA_STEP(): nothing was recorded"};
  }
  if (wanted.has_schedule() && made.steps.empty()) {
    return {errc::bad_argument, sentence("the schedule left no step: the program had ")
                                    << steps << ", and the first one to keep is step "
                                    << plan.first_kept()
                                    << " (counted from 0): lower skip, warmup or every"
                                    << (wanted.steps_are_calls() && !windows
                                            ? "; what is shown came before the first step"
                                            : "")};
  }
  if (!never_counted) return {};
  return {errc::limit,
          sentence("counters: the program ended before the first counting step, which is step ")
              << plan.steps_before_counting() << (windows ? " of the window" : "")
              << ", counted from 0; run more steps, or lower skip, warmup, active or repeat"};
}

/// Why a session does not start in this process.
inline status child_is_silent() {
  return {errc::unavailable,
          "this process was forked from one that had started a Strata session, and records "
          "nothing: fork before the first session, or run another program (exec)"};
}

/// Steps that began in a thread while another one drove them. With `step=` threads may share a
/// name: these are worth a sentence where they are more than those that were counted.
inline void explain_left_out_steps(vec<status>& problems, std::string_view range,
                                   std::uint64_t steps, std::uint64_t counted) {
  if (step_calls_of(range) != step_calls::none) {
    if (steps > counted)
      problems.emplace_back(errc::limit,
                            sentence() << steps << " steps of step=" << range
                                       << " not counted: begun while another thread was within a "
                                          "step");
  } else if (!range.empty() && steps > counted) {
    problems.emplace_back(errc::bad_argument,
                          sentence() << steps
                                     << " steps not counted: begun in other threads than the first "
                                        "one with a range of step="
                                     << range << ", which drives the steps; name its ranges apart");
  } else if (range.empty() && steps != 0) {
    problems.emplace_back(
        errc::bad_argument,
        sentence()
            << steps << (steps == 1 ? " step" : " steps")
            << " not counted: begun while another thread was within a step; put STRATA_STEP() into "
               "one thread, and STRATA_RANGE() alone into the others");
  }
}

/// With `step=`: ranges that another thread ended stay open in their own, be they steps.
inline status lasting_steps(std::string_view range, std::uint64_t ended_elsewhere) {
  if (range.empty() || ended_elsewhere == 0) return {};
  return {errc::bad_argument, sentence("step=")
                                  << range << ": " << ended_elsewhere
                                  << " ranges ended in another thread than they began in, where no "
                                     "step ends: end a step in its own thread"};
}

/// Pops that are missing: the ranges ended with their step, or with what is around them.
inline status missing_pops(std::uint64_t ranges, std::string_view first) {
  if (ranges == 0) return {};
  return {errc::bad_argument, sentence("a pop is missing: ")
                                  << ranges << (ranges == 1 ? " range" : " ranges")
                                  << " ended with the step or the range around, the first one was "
                                  << first << ": pop what is pushed, also before an early return"};
}

/// Calls of the program that are left out.
inline void explain_refused_calls(vec<status>& problems) {
  if (std::uint64_t const ranges = block().interrupting_ranges.exchange(0)) {
    problems.emplace_back(errc::limit,
                          sentence()
                              << ranges
                              << " range calls are left out: a signal handler made them while its "
                                 "thread was within Strata, or the program's own malloc did");
  }
  if (std::uint64_t const values = block().values_refused.exchange(0)) {
    problems.emplace_back(errc::bad_argument,
                          sentence("flops, bytes or tokens of ")
                              << values
                              << " range calls are left out: they were negative or not a number");
  }
}

}  // namespace detail
STRATA_END

#endif  // STRATA_SESSION_SCHEDULE_HPP
