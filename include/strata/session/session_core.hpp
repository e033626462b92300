#ifndef STRATA_SESSION_SESSION_CORE_HPP
#define STRATA_SESSION_SESSION_CORE_HPP

#include <strata/collect/cpu/cpu_counters.hpp>
#include <strata/profile/early_steps.hpp>
#include <strata/session/device_counting.hpp>
#include <strata/session/device_trace.hpp>
#include <strata/session/live_sampling.hpp>
#include <strata/session/nvtx_input.hpp>
#include <strata/session/report_files.hpp>
#include <strata/session/reported_windows.hpp>

STRATA_BEGIN
namespace detail {

/// The implementation of strata::session: collectors, their windows, and the profile.
class session_core : uncopied {
 public:
  explicit session_core(strata::options const& wanted)
      : options_(wanted), steps_{step_plan(options_), {}, without_steps::all, 0} {
    counting_.emplace(options_, problems_.all(), counting_control::instance());
    cpu_counters_.emplace();
  }
  ~session_core() {
    stop();
    end_stream();
  }

  /// As session::start.
  status start() {
    if (running()) return {};
    guest const as_guest;
    problems_.begin_session();
    status outcome;
    if (if_memory_allows([&] { outcome = begin(); })) return outcome;
    stop();
    start_.refusal = {errc::limit, std::string()};
    return problems_.short_of_memory("this session did not begin");
  }

  /// Ends collecting and takes in the records under way. Then ranges are idle again. Records for
  /// which memory is short are left out.
  void stop() {
    if (!running()) return;
    guest const as_guest;
    quiet_writes const quiet;
    detail::recorder& recorder = detail::recorder::instance();
    bool const awaited = recorder.stop_waiting(options_.drain_ms);
    if (!windows_.end(options_.drain_ms)) return leave_behind();
    if (options_.trace) attempt([this] { hang_.finder.look_at_ranges(hang_.report = {}); });
    bool const sampled = live_.stop(options_.drain_ms);
    attempt([this] { counting_->ask_to_end(); });  // first: its thread needs the exclusive scope
    attempt([this] { trace_.begin_to_close(); });
    if (stream_) stream_->stop();
    bool const ended = recorder.end_session(options_.drain_ms);
    bool const watched = end_watches();
    recorder.state().before_end.store(nullptr);
    recorder.state().forward_begin.store(nullptr);  // what has begun is forwarded when it ends
    attempt([this] { cpu_counters_->close(); });
    bool const idle = trace_.is_idle();
    attempt([&] {
      if (idle && trace_.answers()) {
        counting_->close();
      } else {
        counting_->abandon();
      }
    });
    attempt([this] { trace_.close(); });
    if (trace_.hangs())
      attempt([this] {
        problems_.all().push_back(hang_.finder.report(hang_.report, !trace_.is_silent()));
      });
    attempt([this] { close_stream(); });
    nvtx_input_.give_back();
    bool const wanted = !windows_.used() || windows_.in_window();
    if (!sampled)
      attempt([this] { problems_.all().emplace_back(errc::unavailable, live_sampling::lost); });
    bool const taken = wanted && if_memory_allows([this] { take(); });
    if (!taken) profile_ = {};
    if (wanted && !taken) start_.refusal = problems_.short_of_memory("this run has no report");
    state_ = ended && awaited && watched && sampled ? run_state::idle : run_state::left_open;
    trace_.end();
    owner().store(false);
  }

  /// Not in a forked child.
  bool running() const noexcept { return state_ == run_state::running && !in_forked_child(); }
  /// Whether no thread is in a call of this session that does not come back.
  bool may_go() const noexcept { return state_ != run_state::left_open && !trace_.is_silent(); }
  strata::options const& options() const noexcept { return options_; }

  /// As session::counters.
  counter_collector& counters(std::string_view request) {
    if (windows_.used()) return refuse_counters(refused_passes::reason());
    if (!running()) return counting_->ranges();
    detail::recorder& recorder = detail::recorder::instance();
    (void)recorder.look();
    bool sampled = true;
    // Steps of another thread use the same, and their hooks are the only others that do.
    bool const alone = recorder.between_steps(options_.drain_ms, [&] {
      sampled = end_live();
      attempt([&] {
        if (!sampled) return;
        keep(trace_.come());
        counting_->by_program(request);
      });
    });
    if (!sampled) return refuse_counters({errc::busy, live_sampling::in_the_way});
    if (alone) return counting_->ranges();
    return refuse_counters({errc::busy,
                            "counters are not counted here: a step of another thread has "
                            "not come back from CUPTI or the driver"});
  }

  /// Everything that the last run produced; stops it first.
  strata::profile const& profile() {
    stop();
    return profile_;
  }

  /// What could not be done, one sentence each.
  vec<status> const& problems() const noexcept { return problems_.all(); }
  /// Whether it was said that memory is short.
  bool said_short() const noexcept { return problems_.memory_was_short(); }

  /// Whether there was any problem, also in windows that were reported before.
  bool had_problems() const noexcept { return problems_.had_any(); }

  /// As session::report.
  status report() {
    stop();
    guest const as_guest;
    quiet_writes const quiet;
    if (in_forked_child()) return child_is_silent();
    status outcome;
    if (!if_memory_allows([&] { outcome = write_report(); }))
      outcome = problems_.short_of_memory("this run has no whole report");
    end_stream();
    return outcome;
  }

  /// What is written while the program runs; empty where nothing is.
  std::string recording_file() const {
    if (!stream_) return {};
    return sentence(stream_->file().directory().path()) << "/" << recording_part_name;
  }

  /// For a session that reads STRATA: sentences that were already said.
  void add_said_problems(vec<std::string> const& all) noexcept {
    attempt([&] {
      for (std::string const& problem : all) problems_.add_printed(problem);
    });
  }

 private:
  using phase = detail::schedule::phase;

  counter_collector& refuse_counters(status const& why) {
    counter_collector& refused = reports_.refused.ranges(options_, counting_control::instance());
    attempt([&] { refused.refuse(why); });
    return refused;
  }

  /// The rest of `report`.
  status write_report() {
    if (!start_.refusal.ok()) {
      if (options_.enabled && !problems_.memory_was_short())
        problem_log::say("nothing is reported: " + start_.refusal.message());
      return start_.refusal;
    }
    if (windows_.used() && !windows_.in_window()) {
      detail::recorder& recorder = detail::recorder::instance();
      bool const has_steps = recorder.steps_begun() != 0;
      std::string why = windows_.no_report(has_steps);
      if (!has_steps && !options_.step.empty())
        why = missing_named_steps(options_, recorder.state().names.texts(), trace_.seen_steps())
                  .message();
      if (!why.empty()) problem_log::say(why);
      if (has_steps && options_.steps_are_calls())
        problem_log::say(describe_call_steps(options_.step, trace_.seen_steps()));
      problems_.say_now(lasting_steps(options_.step, recorder.state().ended_elsewhere.load()));
      problems_.say_now(windows_.late());
      return {};
    }
    status outcome =
        report_files(options_).write(profile_, problems_.printed(), stream_ ? &*stream_ : nullptr,
                                     windows_.used() ? &reports_.kept : nullptr);
    if (outcome.ok() && stream_) outcome = stream_->file().problem();
    keep(outcome);
    return outcome;
  }

  /// The report of a window is in a call that does not come back: the session stays as it is, and
  /// its profile and what hangs are that report's.
  void leave_behind() {
    start_.refusal = {errc::unavailable, "the report of a window waits for a GPU that hangs"};
    (void)if_memory_allows([this] {
      profile_hang found;
      hang_.finder.look_at_ranges(found);
      hang_.finder.look_at_work(found);
      hang_finder::print("the GPU does not answer", found, false);
    });
    (void)detail::recorder::instance().end_session(options_.drain_ms);
    (void)end_watches();
    nvtx_input_.give_back();
    state_ = run_state::left_open;
    if (block().phase.load() == process_phase::running) end_with_last_thread();
  }

  /// The rest of `start`.
  status begin() {
    start_.refusal = take_ownership(options_);
    if (!start_.refusal.ok()) return start_.refusal;
    state_ = run_state::running;
    standard_error::begin();
    silence_children();
    problems_.clear();
    detail::recorder& recorder = detail::recorder::instance();
    std::int64_t const begin = monotonic_ns();
    start_.cost = instrumentation_cost::measure(recorder.clock());
    window_ = window_state::closed;
    counting_.emplace(options_, problems_.all(), counting_control::instance());
    look_at_wishes();
    hang_finder::set_rank(machine::rank());
    reports_.around = report_files::look_around();
    problems_.say_now(
        report_files::find_folder(options_, options_.out, machine::rank(), reports_.around.spare));
    problems_.say_now(windows_.open(options_));
    if (windows_.used()) machine::describe(reports_.environment);
    open_collectors(recorder);
    if (!options_.has_schedule()) {
      (void)open_window(phase::active);
    } else if (options_.steps_are_calls() && !windows_.used()) {
      steps_.recorded = without_steps::all;
      (void)record_window(phase::active);  // until the first step, or the end if none comes
      recorder.keep_half();
    }
    keep(hang_.dog.start(options_.watchdog_s));
    if (!windows_.used()) keep(live_.start(options_));
    start_.took_ns = monotonic_ns() - begin;
    if (options_.verbose) say_started();
    if (trace_.awaits_cuda()) {
      recorder.wait_for({trace_.watch_for(), &cuda_begins, this});
      keep(cuda_watch_.start());
    }
    listen(recorder);
    return {};
  }

  /// The program uses CUDA from now on. Threads: any, while no hook of a step runs.
  static void cuda_begins(void* context) noexcept {
    guest const as_guest;
    auto& self = *static_cast<session_core*>(context);
    if (!self.running()) return;
    std::int64_t const begin = monotonic_ns();
    self.attempt([&self] {
      self.steps_.unrecorded.forget();
      self.keep(self.trace_.begin_with_cuda(self.window_ == window_state::open));
      self.plan_steps();
      self.synchronize_ranges();
    });
    self.start_.took_ns += monotonic_ns() - begin;
  }

  /// Ends the threads that look at the program, after the session's: what that takes is not the
  /// program's time. Returns: false where CUDA came, and its beginning does not come back.
  bool end_watches() noexcept {
    hang_.dog.stop();
    return cuda_watch_.stop(options_.drain_ms);
  }

  void listen(detail::recorder& recorder) noexcept {
    detail::recorder::step_hooks const hooks{&step_begins, &step_ends, this, &steps_are_missing};
    if (options_.steps_are_calls()) return recorder.listen(hooks, &activity_collector::leave_steps);
    recorder.listen(hooks, options_.step);
  }

  static atomic<bool>& owner() { return detail::recorder::instance().owned(); }

  /// Errors: those of `start`.
  static status take_ownership(strata::options const& wanted) {
    if (!wanted.enabled) return {errc::bad_argument, "the session is configured off"};
    if (in_forked_child()) return child_is_silent();
    pin_this_module();  // threads, exit handlers and callbacks of CUPTI are in its code
    if (owner().exchange(true))
      return {errc::busy, "another Strata session is running in this process: stop it first"};
    if (detail::recorder::instance().await_hooks(wanted.drain_ms)) return {};
    owner().store(false);
    return {errc::busy, "a step of the last session has not come back from CUPTI or the driver"};
  }

  /// Options that have no effect as they are.
  void look_at_wishes() {
    if (asks_for_kernels(options_) && options_.counters.empty()) {
      problems_.all().emplace_back(
          errc::bad_argument,
          "kernels= says where to count kernels, but not what: add counters=, as in counters=hbm");
    }
    if (char const* const wish = unread_request(); wish != nullptr && options_.text != wish) {
      problems_.all().emplace_back(
          errc::bad_argument,
          "STRATA is not read, since the program starts a session of its own before its first "
          "range: unset it, or make that session by options::parse of its text");
    }
    problems_.say_now(schedule::ignored(options_));
    if (!options_.ceilings.empty() && options_.ceilings != "off") {
      options_.ceilings = machine::absolute(options_.ceilings);
      status const found = ceilings_file::look_for(options_.ceilings);
      problems_.say_now(found);
      if (!found.ok()) options_.ceilings = "off";  // it was said
    }
    vec<status> unknown;
    if (!options_.counters.empty()) (void)pass_plan::is_known(options_.counters, unknown);
    for (status const& name : unknown) problems_.say_now(name);
  }

  void open_collectors(detail::recorder& recorder) {
    cpu_counters_.emplace();
    recorder.state().adopts.store(options_.adopt, memory_order_relaxed);
    (void)recorder.begin_session(log_bytes());
    if (!options_.cpu_counters.empty() && !windows_.used())
      keep(cpu_counters_->open(options_.cpu_counters, problems_.all()));
    loader_use::guard_forks();
    keep(trace_.begin(nvtx_input::needs_cupti(options_)));
    plan_steps();
    device_patience::begin_again();
    if (!trace_.awaits_cuda()) synchronize_ranges();
    keep(nvtx_input_.open(options_, trace_.tracing()));
    keep(send_to_nvtx(options_));
    open_stream();
  }

  void say_started() const {
    sentence text;
    text << "recording host times by " << detail::recorder::instance().clock().name();
    if (trace_.tracing()) text << ", device activity by " << cupti_library::get().path;
    problem_log::say(text << "; started in " << start_.took_ns / 1000 << " us");
  }

  /// From now on a forked child records nothing, and a range that is open in both ends without a
  /// wait for the device. No lock is taken in the child, since its owner may not exist there.
  static void silence_children() noexcept {
    unsigned long nobody = 0;
    if (!block().owner.compare_exchange_strong(nobody, process_id())) return;
    // The thread that forks sees what the block's last owner has stored.
    auto* const before = +[] {
      if (block().mutex.try_lock()) block().mutex.unlock();
    };
    (void)pthread_atfork(before, nullptr, [] {
      silence_child();
      recorder_state& state = detail::recorder::instance().state();
      state.session.store(0);
      state.before_end.store(nullptr);
      state.forward_begin.store(nullptr);
      state.forward_end.store(nullptr);
      if (thread_recorder* const own = thread_recorder::current()) own->forget_observers();
    });
  }

  void attempt(callback<void()> body) noexcept { problems_.attempt(body); }
  bool keep(status const& outcome) { return problems_.keep(outcome); }

  /// `sync=1`.
  void synchronize_ranges() noexcept {
    auto& before_end = detail::recorder::instance().state().before_end;
    if (options_.synchronize) before_end.store(&device_patience::wait_for_range);
  }

  /// All steps are recorded until the program uses CUDA; then they are planned again.
  void plan_steps() {
    bool const counts = !options_.counters.empty() && !trace_.awaits_cuda() &&
                        counting_->may_count(cupti_library::get().ok());
    if (counts) trace_.guard_graphs();
    if (counts) (void)profiler_library::get();  // opened here, in no step
    if (trace_.tracing() && (counts || options_.synchronize) && !device_fence::is_bounded())
      problem_log::say(
          "the driver is older than CUDA 12.5: counting steps and sync=1 wait for the GPU as long "
          "as it works, beyond drain=; update the driver where the GPU may hang");
    bool const chosen = steps_.plan.make(options_, counts, windows_.used());
    steps_.first = chosen ? detail::recorder::instance().steps_begun() : 0;
  }
  /// The place of a step in the schedule, or in its window.
  std::uint32_t position(std::uint32_t step) const noexcept {
    if (windows_.used()) return windows_.position(step);
    return step < steps_.first ? 0 : step - steps_.first;
  }

  /// A recording is written while the program runs; that of a window which is reported by itself,
  /// with its report.
  void open_stream() {
    end_stream();
    if (!options_.recording || windows_.used()) return;
    profile_environment environment;
    machine::describe(environment);
    describe_session(environment);
    output_directory made;
    status opened;
    if (report_files::make_directory(options_, environment.rank, reports_.around.spare, made,
                                     opened)) {
      stream_.emplace(options_, trace_.may_trace());
      bool const is_as_wanted = opened.ok();
      opened = stream_->open(made, environment, problems_.all());
      if (opened.ok() && is_as_wanted && environment.rank < 0)
        made.link_latest(machine::absolute(options_.out));
    }
    if (opened.ok()) return;
    end_stream();
    if (opened.code() != errc::not_supported) keep(opened);
  }

  void close_stream() {
    if (!stream_) return;
    stream_->write_rest();
    if (!stream_->file().problem().ok()) problems_.add_printed(stream_->file().problem().message());
  }

  void end_stream() { stream_.reset(); }

  static void step_begins(void* context, std::uint32_t step) noexcept {
    auto& self = *static_cast<session_core*>(context);
    self.attempt([&] { self.begin_step(step); });
  }
  void begin_step(std::uint32_t step) {
    if (windows_.used()) {
      if (windows_.is_due(step)) begin_reported(step);
      if (!windows_.in_window()) return steps_.unrecorded.begin();
    }
    step = position(step);
    phase is = phase::active;
    if (options_.has_schedule()) {
      detail::recorder::instance().release_half();
      is = steps_.plan.made().phase_of(step);
      bool const is_beginning = is == phase::skip && window_ == window_state::open;
      if (is_beginning && !close_window()) return;
      if (!open_window(is)) return;
      bool const counts = step >= steps_.plan.made().steps_before_counting() &&
                          !options_.counters.empty() && !trace_.awaits_cuda();
      bool const skips = is == phase::skip && window_ == window_state::closed && !counts;
      if (skips) steps_.unrecorded.begin();
    }
    if (trace_.awaits_cuda()) return;
    live_.choose_device();
    bool const counts = step >= steps_.plan.made().steps_before_counting();
    if (counts && !options_.counters.empty() && !counting_->done() && !end_live())
      counting_->refuse({errc::busy, live_sampling::in_the_way});
    counting_->begin_step(counts, is == phase::warmup);
  }

  /// A device has one profiler. Returns: false where the sampling does not come back.
  bool end_live() noexcept { return live_.stop(options_.drain_ms); }

  /// The beginning was recorded for long enough. Returns: false where its window stays open.
  static bool steps_are_missing(void* context) noexcept {
    auto& self = *static_cast<session_core*>(context);
    bool const is_beginning = self.options_.has_schedule() && !self.windows_.used() &&
                              detail::recorder::instance().steps_begun() == 0;
    if (!is_beginning || self.window_ == window_state::closed) return true;
    self.steps_.recorded = without_steps::beginning;
    bool outlived = true;
    self.attempt([&] { outlived = self.close_window(); });
    return !outlived || self.window_ == window_state::closed;
  }

  static void step_ends(void* context, std::uint32_t step) noexcept {
    auto& self = *static_cast<session_core*>(context);
    self.attempt([&] { self.end_step(step); });
  }
  void end_step(std::uint32_t step) {
    steps_.unrecorded.end();
    if (windows_.used() && !windows_.in_window()) {
      std::uint32_t const by = steps_.unrecorded.slower_by(options_.slower, !windows_.is_idle());
      if (by != 0) problem_log::say(sentence("steps take ") << by << " % longer: a window begins");
      if (by != 0 || windows_.was_touched()) begin_reported(step + 1);
      return;
    }
    counting_->end_step();
    cpu_counters_->end_step();
    std::uint32_t const next = position(step + 1);
    bool const skips_next =
        options_.has_schedule() && steps_.plan.made().phase_of(next) == phase::skip;
    bool const closes = skips_next || window_ == window_state::ending;
    if (closes && !close_window()) return;
    if (windows_.used()) end_reported(next);
  }

  /// A window that is reported by itself begins with this step.
  void begin_reported(std::uint32_t step) {
    windows_.begin(step, [this] {
      problems_.begin_window();
      detail::recorder::instance().begin_clock();
      if (windows_.had_window() && !options_.counters.empty()) {
        counting_.emplace(options_, problems_.all(), counting_control::instance());
        (void)counting_->may_count(trace_.awaits_cuda() || cupti_library::get().ok());
      }
      cpu_counters_.emplace();
      if (!options_.cpu_counters.empty())
        keep(cpu_counters_->open(options_.cpu_counters, problems_.all()));
      keep(live_.start(options_));
    });
  }

  /// A step of such a window is over. What follows may be long: the program does not wait for it.
  void end_reported(std::uint32_t steps) {
    if (window_ == window_state::ending || steps < steps_.plan.made().steps_before_counting() ||
        (!trace_.awaits_cuda() && !counting_->done()))
      return;
    counting_->close();
    cpu_counters_->close();
    windows_.report([](void* self) noexcept { static_cast<session_core*>(self)->report_window(); },
                    this);
  }

  /// Reports a window and forgets it. Threads: that of the report, while no window is open.
  void report_window() noexcept {
    bool whole = false;
    if (!if_memory_allows([&] {
          windows_.ask_device([this] {
            trace_.bring_in();
            if (!end_live()) problems_.all().emplace_back(errc::unavailable, live_sampling::lost);
            detail::recorder::instance().end_clock();
            take();
          });
          report_files files(options_, reports_.around);
          bool had_memory = false;
          with_own_descriptors([&] {
            had_memory = if_memory_allows([&] {
              whole = files.write(profile_, problems_.printed(), nullptr, &reports_.kept).ok();
            });
          });
          if (!had_memory) out_of_memory();
        }))
      (void)problems_.short_of_memory("a window has no report");
    problems_.end_window(whole);
    start_.took_ns = 0;  // the first window's report has it
    profile_ = {};
    detail::recorder::instance().begin_anew(log_bytes());
    attempt([this] { trace_.begin_anew(); });
  }

  std::int64_t log_bytes() const noexcept {
    return (std::int64_t{options_.log_mb} << 20) -
           static_cast<std::int64_t>(live_sampling::room_bytes(options_));
  }

  /// Returns: false where the session has ended meanwhile.
  bool open_window(phase now) {
    if (now == phase::skip) return true;
    if (!record_window(now)) return false;
    if (window_ != window_state::open) return true;
    if (now == phase::active) {
      keep(cpu_counters_->begin());
    } else {
      cpu_counters_->end();
    }
    return true;
  }
  /// The same without the CPU's counters.
  bool record_window(phase now) {
    detail::recorder& recorder = detail::recorder::instance();
    bool const begins = window_ != window_state::open;
    if (begins) {
      window_ = window_state::closed;
      status outcome;
      if (!trace_.begin_window(outcome)) return false;
      keep(outcome);
    }
    if (trace_.leaves_window_out()) return true;
    if (options_.verbose && begins && options_.has_schedule())
      problem_log::say("a window of steps begins");
    window_ = window_state::open;
    recorder.state().warming.store(now == phase::warmup);
    if (!recorder.record(now == phase::active))
      (void)problems_.short_of_memory(problem_log::left_out);
    return true;
  }

  /// Returns: false where the session has ended meanwhile.
  bool close_window() {
    if (window_ == window_state::closed) return true;
    cpu_counters_->end();
    detail::recorder::instance().record(false);
    if (options_.verbose && window_ == window_state::open)
      problem_log::say("a window of steps ends");
    bool ended = false;
    if (!trace_.end_window(ended)) return false;
    window_ = ended ? window_state::closed : window_state::ending;
    return true;
  }

  /// Nothing of the device was recorded, since the program did not use CUDA.
  status unused_cuda() {
    if (!options_.counters.empty()) (void)counting_->may_count(false);
    return {errc::unavailable, cuda_use::why_not()};
  }

  /// From ticks to ns.
  void convert_times(tick_converter const& ticks) {
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
    profile_.summed_steps.scale(ticks.ns_per_tick());
    for (overflow_sums& f : profile_.summed_ranges) f.durations.scale(ticks.ns_per_tick());
    for (inherited_time& i : profile_.inherited) i.total = ticks.duration_ns(i.total);
  }

  /// Makes the profile of what was collected.
  void take() {
    detail::recorder& recorder = detail::recorder::instance();
    profile_ = {};
    recorder.make_room_for_report();
    if (trace_.awaits_cuda() && trace_.wants_device()) keep(unused_cuda());
    tick_converter const ticks = recorder.converter();
    if (windows_.used()) profile_.environment = reports_.environment;
    if (!windows_.used()) machine::describe(profile_.environment);
    if (trace_.tracing()) {  // before the calls are moved, since it joins device work to them
      keep(trace_.take(profile_, ticks));
      bool const may_hang = hang_.report.found || !trace_.answers();
      keep(devices_of_machine::describe(profile_.environment, options_, may_hang));
    }
    if (hang_.report.found) {
      profile_.losses.work_unfinished =
          larger(profile_.losses.work_unfinished, hang_finder::calls_in(hang_.report));
      profile_.hang = std::move(hang_.report);
    }
    recorder.move_to(profile_);
    if (stream_) profile_.cost.log_bytes += stream_->max_bytes();
    convert_times(ticks);
    set_early_steps_apart(profile_);
    profile_.end = recorder.ended_ns(ticks);
    describe_session(profile_.environment);
    profile_.cost.seconds_in_window = static_cast<double>(recorder.recorded_ns()) * 1e-9;
    profile_.cost.range_ns = start_.cost.range_ns;
    profile_.cost.callback_ns = start_.cost.callback_ns;
    profile_.cost.start_seconds = static_cast<double>(start_.took_ns) * 1e-9;
    profile_.cost.unrecorded_steps = steps_.unrecorded.count();
    profile_.cost.unrecorded_step_ns = steps_.unrecorded.median_ns();
    profile_.cost.ranges = profile_.ranges.size() + profile_.losses.ranges_summed;
    counting_->copy_to(profile_);
    attempt([&] { live_.copy_to(profile_, ticks, options_.has_schedule(), problems_.all()); });
    report_side const* const side = installed_reports();
    if (side != nullptr && side->attribute_samples != nullptr)
      attempt([&] { side->attribute_samples(profile_); });
    cpu_counters_->copy_to(profile_, problems_.all());
    if (!options_.only.empty() && !select_all(profile_, options_.only))
      problems_.all().emplace_back(
          errc::bad_argument,
          "only= matches no range of this program: it is compared with names, "
          "without index and path (block, not block[0])");
    if (options_.synchronize) keep(device_patience::problem());
    keep(describe_suspend(recorder.suspended()));
    keep(nvtx_input_.close());
    keep(windows_.late());
    keep(missing_steps(options_, steps_.plan.made(), counting_->never_began(), profile_,
                       recorder.steps_begun(), trace_.seen_steps(), steps_.recorded));
    if (options_.steps_are_calls()) say_steps();
    if (recorder.has_unused_steps()) keep(unused_steps(options_.step));
    explain_left_out_steps(problems_.all(), options_.step, recorder.take_steps_elsewhere(),
                           recorder.steps_begun());
    keep(lasting_steps(options_.step, profile_.losses.ranges_ended_elsewhere));
    recorder_state const& host = recorder.state();
    keep(missing_pops(host.left_in_steps.load(), host.names.text(host.first_left.load())));
    explain_refused_calls(problems_.all());
    if (problems_.memory_was_short())
      problems_.add_printed(problems_.short_of_memory(problem_log::left_out).message());
    for (status const& problem : problems_.all()) profile_.problems.push_back(problem.message());
  }

  void describe_session(profile_environment& environment) const {
    environment.options = options_.text;
    for (std::string const& pattern : options_.collectives) {
      if (!environment.collectives.empty()) environment.collectives += '+';
      environment.collectives += pattern;
    }
    environment.clock = detail::recorder::instance().clock().name();
    environment.started_at_unix_ns = detail::recorder::instance().began_at();
    environment.started_at = machine::time_text(environment.started_at_unix_ns);
  }

  /// What to say where the machine was suspended.
  static status describe_suspend(std::int64_t ns) {
    if (ns == 0) return {};
    return {errc::limit, "the machine was suspended for " + time_text(static_cast<double>(ns)) +
                             " during the run: the step and the ranges that were open then may "
                             "have that time in them, so leave them out"};
  }

  /// What the steps are that calls into the driver are.
  void say_steps() {
    call_steps_seen const seen = trace_.seen_steps();
    if (seen.steps == 0 || windows_.used()) return;
    status const doubt = doubtful_call_steps(options_.step, seen);
    if (doubt.ok()) problem_log::say(describe_call_steps(options_.step, seen));
    keep(doubt);
  }

  /// How it began.
  struct beginning {
    status refusal{errc::bad_argument, "start() was not called"};
    std::int64_t took_ns = 0;
    instrumentation_cost cost;
  };
  struct planned_steps {
    step_plan plan;
    unrecorded_steps unrecorded;
    without_steps recorded;
    std::uint32_t first = 0;  // of the plan
  };
  /// What a session needs whose windows are reported one by one.
  struct window_reports {
    kept_reports kept;
    profile_environment environment;  // as it was at the session's start
    report_files::surroundings around;
    refused_passes refused;
  };
  /// Whether the program or the GPU hangs.
  struct hang_watch {
    watchdog dog;
    hang_finder finder;
    profile_hang report;
  };
  /// `left_open`: a thread is in a step of it, or in a call, that does not come back.
  enum class run_state : unsigned char { idle, running, left_open };
  /// Of steps. `ending`: the device has not done its work yet.
  enum class window_state : unsigned char { closed, open, ending };

  strata::options options_;
  planned_steps steps_;
  device_trace trace_{options_};
  detail::nvtx_input nvtx_input_;
  maybe<device_counting> counting_;
  maybe<cpu_counter_collector> cpu_counters_;
  live_sampling live_;
  maybe<recording_stream> stream_;
  beginning start_;
  strata::profile profile_;
  problem_log problems_;
  reported_windows windows_;
  window_reports reports_;
  cuda_watch cuda_watch_;
  hang_watch hang_;
  run_state state_ = run_state::idle;
  window_state window_ = window_state::closed;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_SESSION_SESSION_CORE_HPP
