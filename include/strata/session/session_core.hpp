#include <strata/version.hpp>
#ifndef STRATA_SESSION_SESSION_CORE_HPP
#define STRATA_SESSION_SESSION_CORE_HPP

#include <strata/analyse/joins.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/text.hpp>
#include <strata/base/vec.hpp>
#include <strata/collect/counters/counters.hpp>
#include <strata/collect/cpu/cpu_counters.hpp>
#include <strata/collect/cuda/activity.hpp>
#include <strata/collect/host/recorder.hpp>
#include <strata/options.hpp>
#include <strata/profile.hpp>
#include <strata/session/machine.hpp>
#include <strata/session/nvtx_input.hpp>
#include <strata/session/report_files.hpp>
#include <strata/session/schedule.hpp>
#include <strata/status.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

STRATA_BEGIN

namespace detail {

/// The implementation of strata::session: starts the collectors, opens and closes their windows,
/// and makes the profile of what they collected.
class session_core {
 public:
  explicit session_core(strata::options wanted) : options_(std::move(wanted)) {
    if (!options_.counters.empty() && options_.active == 0) {
      options_.active = timed_steps;
      if (options_.warmup == 0) options_.warmup = 1;
    }
  }
  session_core(session_core const&) = delete;
  session_core& operator=(session_core const&) = delete;
  ~session_core() { stop(); }

  /// Begins to collect. What cannot be had (no driver, say) is left out; `problems` says why.
  /// Errors: busy when another session runs.
  /// Cost: microseconds without a device; with one, the start of the driver and of CUPTI.
  status start() {
    if (running_) return {};
    if (!options_.enabled) return {errc::bad_argument, "the session is configured off"};
    if (owner().exchange(true)) {
      return {errc::busy, "another Strata session is running in this process: stop it first"};
    }
    running_ = true;
    problems_.clear();
    said_ = 0;
    detail::recorder& recorder = detail::recorder::instance();
    std::int64_t const begin = detail::monotonic_ns();
    started_at_ = detail::realtime_ns();
    cost_ = detail::instrumentation_cost::measure();
    schedule_ = detail::schedule(options_);
    window_open_ = false;
    window_pending_ = false;
    counting_.emplace(options_, problems_, trace_of_counting());
    if (!options_.kernels.empty() && options_.counters.empty()) {
      problems_.emplace_back(
          errc::bad_argument,
          "kernels= says where to count kernels, but not what: add counters=, as in counters=hbm");
    }
    if (char const* const wish = detail::unread_request();
        wish != nullptr && options_.text != wish) {
      problems_.emplace_back(
          errc::bad_argument,
          "STRATA is not read, since the program starts a session of its own before its first "
          "range: unset it, or make that session by options::parse of its text");
    }
    cpu_counters_.emplace();
    (void)recorder.begin_session(std::int64_t{options_.log_mb} << 20);
    if (!options_.cpu_counters.empty()) keep(cpu_counters_->open(options_.cpu_counters, problems_));
    if (options_.trace) {
      tracing_ = keep(detail_activity().open(std::int64_t{options_.buffers_mb} << 20));
    }
    if (options_.synchronize) {
      recorder.state().before_end.store(&detail::capture_guard::current_context);
    }
    keep(nvtx_input_.open(options_, tracing_));
    forward_to_nvtx(recorder);
    if (!options_.has_schedule()) open_window(detail::schedule::phase::active);
    recorder.listen({&step_begins, &step_ends, this});
    start_ns_ = detail::monotonic_ns() - begin;
    if (options_.verbose) {
      say("recording host times by " + std::string(recorder.clock().name()) +
          (tracing_ ? ", device activity by " + detail::cupti_library::get().path : std::string()) +
          "; started in " + std::to_string(start_ns_ / 1000) + " us");
    }
    return {};
  }

  /// Ends collecting and brings in what is under way; afterwards ranges idle again.
  void stop() {
    if (!running_) return;
    detail::recorder& recorder = detail::recorder::instance();
    recorder.end_session();
    recorder.state().before_end.store(nullptr);
    recorder.state().forward_begin.store(nullptr);  // what has begun is forwarded when it ends
    cpu_counters_->close();
    counting_->close();
    if (tracing_) detail_activity().close();
    take();
    running_ = false;
    tracing_ = false;
    owner().store(false);
  }

  bool running() const noexcept { return running_; }
  strata::options const& options() const noexcept { return options_; }

  /// Hardware counters for passes that the program drives itself:
  /// `for (auto const& pass : run.counters("hbm+l1")) step();` or
  /// `run.counters("hbm").replay(step)`. Another request in the same run is refused. `problems`
  /// says what went wrong. Requires: a CUDA context in this thread. Threads: the one whose ranges
  /// are counted.
  counter_collector& counters(std::string_view request) {
    return running_ ? counting_->by_program(request) : counting_->ranges();
  }

  /// Everything that the last run produced; stops it first.
  strata::profile const& profile() {
    stop();
    return profile_;
  }

  /// What could not be done, one sentence each.
  vec<status> const& problems() const noexcept { return problems_; }

  /// Writes the files and prints the table that the options ask for; stops the run first.
  /// Errors: input_output; the table is printed all the same.
  status report() {
    stop();
    detail::report_files files(options_);
    status const outcome = files.write(profile_, said_);
    if (!outcome.ok()) problems_.push_back(outcome);
    return outcome;
  }

  /// For a session that reads STRATA: a sentence that was already said.
  void add_said_problem(std::string message) {
    problems_.emplace(problems_.begin() + static_cast<std::ptrdiff_t>(said_++), errc::bad_argument,
                      std::move(message));
  }

 private:
  using phase = detail::schedule::phase;

  static std::atomic<bool>& owner() noexcept { return detail::recorder::instance().owned(); }
  static activity_collector& detail_activity() noexcept { return activity_collector::instance(); }

  /// What the counters control of the device activity.
  static trace_control trace_of_counting() noexcept {
    trace_control made;
    made.tracing = [] { return detail_activity().tracing(); };
    made.suspend = [] { return detail_activity().end_window(); };
    made.resume = [] { (void)detail_activity().begin_window(); };
    made.watch = [](trace_control::launch_watcher* watcher, void* context) {
      return detail_activity().watch_launches(watcher, context);
    };
    made.saw_graphs = [] { return detail_activity().saw_graphs(); };
    return made;
  }

  static void say(std::string const& message) noexcept { detail::say(message.c_str()); }

  bool keep(status const& outcome) {
    if (!outcome.ok()) problems_.push_back(outcome);
    return outcome.ok();
  }

  void forward_to_nvtx(detail::recorder& recorder) {
    detail::process_block const& ours = detail::block();
    bool const by_itself = options_.nvtx == strata::options::nvtx_mode::automatic;
    if (!options_.nvtx_out() && !(by_itself && detail::has_nvtx_tool(ours))) return;
    if (ours.nvtx_push == nullptr) {
      problems_.emplace_back(
          errc::unavailable,
          "ranges do not go to NVTX: no source file includes <strata/nvtx.hpp>, which needs NVTX's "
          "headers (they come with the CUDA toolkit)");
      return;
    }
    recorder.state().forward_begin.store(ours.nvtx_push);
    recorder.state().forward_end.store(ours.nvtx_pop);
  }

  static void step_begins(void* context, std::uint32_t step) noexcept {
    auto& self = *static_cast<session_core*>(context);
    if (self.options_.has_schedule()) self.open_window(self.schedule_.of(step));
    bool const timed = step < self.schedule_.steps_before_counting();
    if (!timed && !self.window_pending_) self.counting_->begin_step();
  }

  static void step_ends(void* context, std::uint32_t step) noexcept {
    auto& self = *static_cast<session_core*>(context);
    self.counting_->end_step();
    if (self.options_.has_schedule() && self.schedule_.of(step + 1) == phase::skip)
      self.close_window();
    if (self.window_pending_) self.close_window();
  }

  void open_window(phase now) {
    if (now == phase::skip) return;
    detail::recorder& recorder = detail::recorder::instance();
    window_pending_ = false;
    if (tracing_ && !window_open_) {
      status const opened = detail_activity().begin_window();
      keep(opened);
      if (!opened.ok() && opened.code() != errc::not_supported) tracing_ = false;
    }
    if (options_.verbose && !window_open_) say("a window of steps begins");
    window_open_ = true;
    recorder.state().warming.store(now == phase::warmup);
    recorder.record(now == phase::active);
    if (now == phase::active) {
      keep(cpu_counters_->begin());
    } else {
      cpu_counters_->end();
    }
  }

  void close_window() {
    if (!window_open_ && !window_pending_) return;
    cpu_counters_->end();
    detail::recorder::instance().record(false);
    if (options_.verbose && window_open_) say("a window of steps ends");
    window_open_ = false;
    window_pending_ = tracing_ && !detail_activity().end_window();
  }

  /// Makes the profile of what was collected.
  void take() {
    detail::recorder& recorder = detail::recorder::instance();
    profile_ = {};
    detail::tick_converter const ticks = recorder.converter();
    recorder.copy_to(profile_);
    auto const convert = [&](auto& records) {
      for (auto& r : records) {
        r.begin = ticks.to_ns(r.begin);
        r.end = ticks.to_ns(r.end);
      }
    };
    convert(profile_.ranges);
    convert(profile_.launches);
    convert(profile_.steps);
    convert(profile_.spans);
    for (overflow_sums& f : profile_.folded) f.durations.scale(ticks.ns_per_tick());
    for (inherited_time& i : profile_.inherited) i.total = ticks.duration_ns(i.total);
    profile_.end = recorder.ended_ns(ticks);
    detail::machine::describe(profile_.environment);
    if (tracing_) {
      detail_activity().copy_to(profile_, ticks);
      keep(detail_activity().problem());
      detail::correlation(profile_).run();
      detail::machine::describe_devices(profile_.environment);
    }
    profile_.environment.configuration = options_.text;
    profile_.environment.clock = recorder.clock().name();
    profile_.environment.started_at = detail::machine::time_text(started_at_);
    profile_.environment.started_at_unix_ns = started_at_;
    profile_.cost.seconds_in_window = static_cast<double>(recorder.recorded_ns()) * 1e-9;
    profile_.cost.range_ns = cost_.range_ns;
    profile_.cost.callback_ns = cost_.callback_ns;
    profile_.cost.start_seconds = static_cast<double>(start_ns_) * 1e-9;
    profile_.cost.ranges = profile_.ranges.size() + profile_.losses.ranges_folded;
    counting_->copy_to(profile_);
    cpu_counters_->copy_to(profile_, problems_);
    select();
    keep(nvtx_input_.close());
    bool const never_counted = counting_->never_began();
    if (options_.has_schedule() && !profile_.has_steps) {
      problems_.emplace_back(errc::bad_argument,
                             never_counted ? "counters= needs STRATA_STEP() around each step, and "
                                             "the program has none: nothing was recorded"
                                           : "skip, warmup and active count steps, but the program "
                                             "has no STRATA_STEP(): nothing "
                                             "was recorded");
    } else if (never_counted) {
      problems_.emplace_back(
          errc::limit,
          "counters: the program ended before the first counting step, which is step " +
              std::to_string(schedule_.steps_before_counting() + 1) +
              "; run more steps, or lower skip, warmup, active or repeat");
    }
    for (status const& problem : problems_) profile_.problems.push_back(problem.message());
  }

  /// Marks the nodes that `only=` asks for: those that match and everything below them.
  void select() {
    if (options_.only.empty()) return;
    bool any = false;
    for (std::size_t i = 1; i < profile_.nodes.size(); ++i) {
      profile_node& node = profile_.nodes[i];
      std::string const& name = profile_.names[node.name];
      node.selected = node.parent != root_node && profile_.nodes[node.parent].selected;
      for (std::string const& pattern : options_.only)
        node.selected = node.selected || detail::matches(name, pattern);
      any = any || node.selected;
    }
    profile_.nodes[root_node].selected = false;
    if (!any)
      problems_.emplace_back(errc::bad_argument,
                             "only= matches no range of this program: it is compared with names, "
                             "without index and path");
  }

  static constexpr std::uint32_t timed_steps =
      3;  // before the counting steps, unless active= says otherwise

  strata::options options_;
  detail::nvtx_input nvtx_input_;
  std::optional<detail::step_counting> counting_{std::in_place, options_, problems_,
                                                 trace_of_counting()};
  std::optional<cpu_counter_collector> cpu_counters_{std::in_place};
  detail::schedule schedule_;
  detail::instrumentation_cost cost_;
  strata::profile profile_;
  vec<status> problems_;
  std::int64_t started_at_ = 0;
  std::int64_t start_ns_ = 0;
  std::size_t said_ = 0;  // how many of the problems, the first ones, were told before
  bool running_ = false;
  bool tracing_ = false;
  bool window_open_ = false;
  bool window_pending_ = false;
};

}  // namespace detail

STRATA_END

#endif  // STRATA_SESSION_SESSION_CORE_HPP
