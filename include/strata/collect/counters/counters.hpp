#include <strata/version.hpp>
#ifndef STRATA_COLLECT_COUNTERS_COUNTERS_HPP
#define STRATA_COLLECT_COUNTERS_COUNTERS_HPP

#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/collect/counters/device_profilers.hpp>
#include <strata/collect/counters/pass_fingerprint.hpp>
#include <strata/collect/counters/profiler_library.hpp>
#include <strata/collect/cuda/contexts.hpp>
#include <strata/collect/host/node_table.hpp>
#include <strata/collect/host/recorder.hpp>
#include <strata/profile.hpp>
#include <strata/profile/metric_set.hpp>
#include <strata/profile/records.hpp>
#include <strata/status.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#if defined(__linux__) || defined(__APPLE__)
#include <sys/ioctl.h>
#include <unistd.h>
#endif

STRATA_BEGIN

namespace detail {

/// One line on a terminal that is written over and over, and erased at the end. Where the stream is
/// no terminal nothing is written. Threads: one at a time.
class progress_line {
 public:
  explicit progress_line(std::FILE* to = stderr) noexcept : to_(to), width_(width_of(to)) {}
  progress_line(progress_line const&) = delete;
  progress_line& operator=(progress_line const&) = delete;
  ~progress_line() { erase(); }

  /// Whether somebody sees it.
  bool live() const noexcept { return width_ != 0; }

  /// Text without control characters, in ASCII; what is too long is cut. The cursor is left at the
  /// beginning, so that what the program prints meanwhile begins a line.
  void show(std::string_view text) noexcept {
    if (!live()) return;
    std::string_view const fits = text.substr(0, width_ - 1);
    std::fprintf(to_, "\r\033[K%.*s\r", static_cast<int>(fits.size()), fits.data());
    std::fflush(to_);
    shown_ = true;
  }

  void erase() noexcept {
    if (!shown_) return;
    shown_ = false;
    std::fputs("\r\033[K", to_);
    std::fflush(to_);
  }

  /// "strata: counting on GH100: pass 2 of 5, 3 steps left".
  static std::string of_pass(std::string const& chip, std::size_t pass, std::size_t passes) {
    std::string const place = chip.empty() ? std::string() : " on " + chip;
    std::size_t const left = pass < passes ? passes - pass : 0;
    return "strata: counting" + place + ": pass " + std::to_string(pass) + " of " +
           std::to_string(passes) + ", " + std::to_string(left) +
           (left == 1 ? " step left" : " steps left");
  }

 private:
  /// Columns of the terminal; 0 where it is none that can be written over.
  static std::size_t width_of(std::FILE* of) noexcept {
#if defined(__linux__) || defined(__APPLE__)
    int const file = of == nullptr ? -1 : ::fileno(of);
    char const* const kind = std::getenv("TERM");
    if (file < 0 || ::isatty(file) == 0) return 0;
    if (kind == nullptr || std::string_view(kind) == "dumb") return 0;
    winsize size{};
    if (::ioctl(file, TIOCGWINSZ, &size) == 0 && size.ws_col > 1) return size.ws_col;
    return 80;
#else
    (void)of;
    return 0;
#endif
  }

  std::FILE* to_;
  std::size_t width_;
  bool shown_ = false;
};

/// Which ranges put work on the device themselves, as far as the session tells: the others need no
/// counters of their own.
class launching_ranges {
 public:
  /// Nothing is known.
  launching_ranges() = default;

  /// Of what the session recorded so far. Cost: O(records).
  explicit launching_ranges(recorder& of) {
    if (!of.logs_are_whole()) return;
    mark(root_node, launches::none);
    of.each_record([&](range_record const& r) { mark(r.node, launches::none); },
                   [&](launch_record const& l) {
                     if (is_work(l.kind)) mark(l.node, launches::some);
                   });
    vec<node_table::node> const nodes = of.state().nodes.nodes();
    std::size_t pushes = 1;  // the range that a step begins in
    of.each_record(
        [&](range_record const& r) {
          // The range, and the one around it again.
          if (may_launch(r.node)) ++pushes;
          if (r.node < nodes.size() && may_launch(nodes[r.node].parent)) ++pushes;
        },
        [](launch_record const&) {});
    std::size_t const steps = (std::max)(of.steps_recorded(), std::size_t{1});
    pushes_ = (pushes + steps - 1) / steps;
  }

  /// False for a range that is known to launch nothing itself.
  bool may_launch(std::uint32_t node) const noexcept {
    return node >= known_.size() || known_[node] != launches::none;
  }

  /// How often a step comes into a range that launches, on average; 0: unknown.
  std::size_t pushes() const noexcept { return pushes_; }

 private:
  enum class launches : unsigned char { unknown, none, some };

  void mark(std::uint32_t node, launches what) {
    if (node >= known_.size()) known_.resize(node + std::size_t{1}, launches::unknown);
    if (known_[node] != launches::some) known_[node] = what;
  }

  vec<launches> known_;  // by node; beyond the end: unknown
  std::size_t pushes_ = 0;
};

}  // namespace detail

/// Hardware counters by range: each step of the program is one pass over all its ranges, until
/// every counter is had. Nested ranges cost no extra passes: CUPTI sees one level, a child
/// interrupts its parent, and sums are made afterwards. Passes are driven by STRATA_STEP(), or by
/// hand (`counter_passes`). Threads: the one that drives the steps; ranges of
/// other threads are not counted. Devices: all that this thread used in the timed steps and that
/// have the chip of the current one; their counts are added up. Cost: a counted step is slower,
/// since the device drains at range ends; neither its times nor its device activity are recorded.
class counter_collector {
 public:
  explicit counter_collector(detail::trace_control const& trace) noexcept : step_(trace) {}
  counter_collector(counter_collector const&) = delete;
  counter_collector& operator=(counter_collector const&) = delete;
  ~counter_collector() { close(); }

  /// Counts one run of a body, which is all that it runs; sets that take several passes are
  /// refused, since the body may change what it works on. Errors: bad_argument: they were refused,
  /// and the body ran uncounted; those of begin_pass and end_pass.
  status replay_once(void (*run)(void* body), void* body) {
    if (!done() && passes() > 1) {
      run(body);
      problems_.push_back(
          {errc::bad_argument,
           "counters: this set takes " + std::to_string(passes()) +
               " passes, and replay may run its body once only: say "
               "replay(body, strata::repeatable) if it may run again, or ask for fewer counters"});
      return problems_.back();
    }
    std::size_t const before = problems_.size();
    run_pass(run, body);
    bool const counted = state_ == pass_state::stopped;
    (void)accept_pass();
    if (!done() && counted) {
      (void)give_up(
          {errc::limit,
           "counters: the body had more ranges than CUPTI had room for; those that have no "
           "values need another run: replay(body, strata::repeatable)"});
    } else if (!done()) {
      (void)give_up({errc::busy,
                     "counters: a stream was capturing a graph, so the body ran uncounted: replay "
                     "outside of captures"});
    }
    return problems_.size() == before ? status{} : problems_.back();
  }
  /// Runs a body once for each pass, at least once.
  status replay_all(void (*run)(void* body), void* body) {
    std::size_t const before = problems_.size();
    do {
      run_pass(run, body);
      (void)accept_pass();
    } while (!done());
    return problems_.size() == before ? status{} : problems_.back();
  }

  /// Resolves the request (presets, keys, CUPTI names, joined by `+`) for the device of the current
  /// context and plans the passes. `problems` takes what cannot be counted; the rest is. Errors:
  /// unavailable, not_permitted, busy, not_supported: nothing can be counted.
  status open(std::string_view request, vec<status>& problems) {
    status const planned = plan_.open(request, detail::device_profilers::which::all,
                                      detail::recorder::instance().session(), problems);
    open_ = plan_.devices.is_open();
    for (detail::metric_config const& each : plan_.configs) passes_ += each.passes();
    return planned;
  }

  std::string const& chip() const noexcept { return plan_.devices.chip(); }
  /// How many steps the counting takes.
  std::size_t passes() const noexcept { return passes_; }
  std::size_t passes_done() const noexcept { return passes_done_; }
  bool done() const noexcept { return !open_ || at_ >= plan_.configs.size(); }
  /// What each range launched in each pass that counted.
  vec<counted_work> const& work() const noexcept { return work_.passes(); }
  /// What went wrong in passes.
  vec<status> const& problems() const noexcept { return problems_; }

  /// Begins to count the ranges of this thread. Neither ranges nor device activity are recorded
  /// until the pass is stopped.
  status begin_pass() {
    if (state_ == pass_state::counting) stop_pass();  // a capture kept it from its end
    if (state_ == pass_state::stopped) discard_pass();
    leave_graphs_alone();
    if (done() || state_ != pass_state::none) return {};
    if (!step_.suspend()) return skip_step();
    skipped_ = 0;
    detail::recorder& recorder = detail::recorder::instance();
    launching_ = detail::launching_ranges(recorder);
    state_ = pass_state::counting;
    status ready = prepare();
    if (!ready.ok() && passes_done_ == 0 && plan_.devices.several()) {
      problems_.push_back(
          {ready.code(), ready.message() + "; the current device alone is counted"});
      plan_.devices.leave_out_others();
      configured_ = false;
      ready = prepare();
    }
    if (!ready.ok()) {
      stop_pass();
      state_ = pass_state::none;
      return give_up(ready);
    }
    started_ = true;
    if (progress_.live())
      progress_.show(detail::progress_line::of_pass(chip(), passes_done_ + 1, passes_));
    detail::thread_recorder const* const own = recorder.of_this_thread();
    work_.begin(static_cast<std::uint32_t>(passes_done_), own);
    enter(own == nullptr ? root_node : own->node());
    followed_ = step_.watch(&launched, &range_changes, this) && followed_;
    if (!followed_) plan_.devices.launches_are_unknown();
    return {};
  }

  /// Ends the pass. It counts, unless `discard` says that the step did not run to its end: then the
  /// passes that belong together are begun again.
  status end_pass(bool discard = false) {
    stop_pass();
    if (!discard) return accept_pass();
    discard_pass();
    return {};
  }

  /// Ends the counting of a pass, of which is not known yet whether it counts.
  void stop_pass() noexcept {
    if (state_ != pass_state::counting) return;
    progress_.erase();
    step_.unwatch();
    // CUPTI waits for the device, which would ruin a capture: the pass ends later, and is void.
    if (!detail::capture_guard::allowed()) return;
    state_ = pass_state::stopped;
    leave();
    complete_ = false;
    stopped_ = std::exchange(started_, false) ? plan_.devices.stop(complete_) : status{};
    step_.resume();
  }

  /// Takes a stopped pass.
  status accept_pass() {
    if (state_ != pass_state::stopped) return {};
    state_ = pass_state::none;
    if (done()) return {};
    if (!stopped_) return give_up(stopped_);
    if (std::exchange(met_other_device_, false)) {
      problems_.push_back(
          {errc::not_supported,
           "counters: the thread that drives the steps used a device in a counting step that it "
           "had not used before: that device is not counted; use it in the timed steps too"});
    }
    work_.end(true);
    ++passes_done_;
    ++passes_together_;
    if (!complete_) return {};
    status const read = values_.take(plan_.devices, plan_.configs[at_++], passes_done_);
    configured_ = false;
    if (!read.ok()) return give_up(read);
    if (plan_.devices.should_repeat()) return repeat();
    passes_together_ = 0;
    if (!plan_.devices.problem().ok()) problems_.push_back(plan_.devices.problem());
    return {};
  }

  /// Lets CUPTI go; what was counted stays.
  void close() noexcept {
    if (!open_) return;
    (void)end_pass(true);
    if (state_ == pass_state::none) {
      plan_.devices.close();
    } else {
      plan_.devices.abandon();  // a stream captures
    }
    open_ = false;
  }

  /// Adds what was counted to the profile.
  void copy_to(profile& to) const {
    to.losses.counter_ranges_lost += plan_.devices.lost();
    if (plan_.set.metrics.empty()) return;
    counter_set& set = to.add_counters(counter_set::gpu);
    set.metrics = plan_.set;
    values_.copy_to(set);
    set.where = plan_.devices.chip();
    set.devices = plan_.devices.devices();
    if (followed_) set.work = work_.passes();
    set.passes = passes_;
    set.passes_done = passes_done_;
  }

 private:
  enum class pass_state : unsigned char { none, counting, stopped };
  static constexpr std::size_t most_skipped = 100;

  status prepare() {
    status ready;
    if (!configured_) ready = plan_.devices.configure(plan_.configs[at_], expected_ranges());
    configured_ = ready.ok();
    return ready.ok() ? plan_.devices.start() : ready;
  }

  /// One pass over a body; an exception that leaves it ends the pass, which does not count.
  void run_pass(void (*run)(void* body), void* body) {
    struct stop_at_end {
      counter_collector* of;
      ~stop_at_end() { of->stop_pass(); }
    };
    (void)begin_pass();
    stop_at_end const guard{this};
    run(body);
  }

  /// Makes the last passes again, with room for all ranges. What was read stands until then.
  status repeat() {
    values_.repeat(plan_.configs[--at_].names().size());
    passes_done_ -= std::exchange(passes_together_, std::size_t{0});
    work_.forget_from(static_cast<std::uint32_t>(passes_done_));
    return {};
  }

  /// A pass that broke off takes those with it that CUPTI needs with it.
  void discard_pass() noexcept {
    if (state_ != pass_state::stopped) return;
    state_ = pass_state::none;
    work_.end(false);
    passes_done_ -= std::exchange(passes_together_, std::size_t{0});
    work_.forget_from(static_cast<std::uint32_t>(passes_done_));
    configured_ = false;
  }

  static void launched(void* context, api_kind kind, detail::cupti::api_data const& call) {
    auto& self = *static_cast<counter_collector*>(context);
    if (is_work(kind)) {
      self.plan_.devices.launched(self.work_.node(), kind, call);
      if (self.work_.is_counted_thread() && !self.plan_.devices.knows(call.context))
        self.met_other_device_ = true;
    }
    if (!detail::capture_guard::capturing())
      self.work_.add(kind, call);  // else it does not run now
  }

  /// Room for the pushes of ranges that launched so far, and some more; a step with more is
  /// repeated. CUPTI takes 0.65 ms for each (H200, CUDA 13.0).
  std::size_t expected_ranges() const noexcept {
    std::size_t const seen = launching_.pushes();
    return seen == 0 ? 1024 : seen + seen / 4 + 32;
  }

  /// Leaves out what would break the program's CUDA graphs.
  void leave_graphs_alone() {
    if (configured_ || !step_.saw_graphs()) return;
    while (!done() && plan_.breaks_graphs(at_)) {
      if (!std::exchange(left_out_, true)) problems_.push_back(plan_.no_sass_beside_graphs());
      passes_ -= plan_.configs[at_++].passes();
    }
  }

  /// A step that begins while a stream captures is no pass.
  status skip_step() {
    if (++skipped_ < most_skipped) return {};
    return give_up({errc::busy, "counters: a stream captured a graph at the beginning of " +
                                    std::to_string(skipped_) +
                                    " steps, so no pass could begin: end captures within a step"});
  }

  static void range_changes(void* context, std::uint32_t node) noexcept {
    auto& self = *static_cast<counter_collector*>(context);
    if (!detail::capture_guard::allowed()) return;  // what is captured does not run
    self.leave();
    self.enter(node);
  }

  /// A range that launches nothing itself is not worth a drain of the device.
  void enter(std::uint32_t node) noexcept {
    work_.enter(node);
    if (!launching_.may_launch(node)) return;
    plan_.devices.push(node);
    pushed_ = true;
  }

  void leave() noexcept {
    if (pushed_) plan_.devices.pop();
    pushed_ = false;
  }

  /// Ends all counting; the pass under way is stopped as it is.
  status give_up(status why) {
    at_ = plan_.configs.size();
    problems_.push_back(why);
    return why;
  }

  detail::counting_step step_;
  detail::pass_plan plan_;
  detail::launching_ranges launching_;
  detail::counter_readout values_;
  std::size_t passes_ = 0;
  std::size_t passes_done_ = 0;
  std::size_t skipped_ = 0;          // steps in a row that could be no pass
  std::size_t passes_together_ = 0;  // of those done, the ones of the configuration under way
  std::size_t at_ = 0;
  detail::pass_fingerprint work_;
  detail::progress_line progress_;
  vec<status> problems_;
  status stopped_;  // how the last pass did
  pass_state state_ = pass_state::none;
  bool open_ = false;
  bool configured_ = false;
  bool started_ = false;
  bool complete_ = false;  // nothing but reading is left of the configuration
  bool pushed_ = false;
  bool left_out_ = false;  // counters that break graphs
  bool followed_ = true;   // the launches of every pass
  bool met_other_device_ = false;
};

STRATA_END

#endif  // STRATA_COLLECT_COUNTERS_COUNTERS_HPP
