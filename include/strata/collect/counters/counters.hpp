#ifndef STRATA_COLLECT_COUNTERS_COUNTERS_HPP
#define STRATA_COLLECT_COUNTERS_COUNTERS_HPP

#include <strata/collect/counters/counted_passes.hpp>

STRATA_BEGIN
namespace detail {

/// Which ranges put work on the device themselves: the others need no counters of their own.
class launching_ranges {
 public:
  /// Nothing is known.
  launching_ranges() = default;

  /// Of what the session recorded so far. Cost: O(source).
  explicit launching_ranges(recorder& source) {
    if (!source.logs_are_whole()) return;
    mark(root_node, launches::none);
    source.for_each_record([&](range_record const& r) { mark(r.node, launches::none); },
                           [&](driver_call_record const& l) {
                             if (is_work(l.kind)) mark(l.node, launches::some);
                           });
    vec<node_table::node> const nodes = source.state().nodes.nodes();
    std::size_t pushes = 1;  // the range that a step begins in
    source.for_each_record(
        [&](range_record const& r) {
          // The range, and the one around it again.
          if (may_launch(r.node)) ++pushes;
          if (r.node < nodes.size() && may_launch(nodes[r.node].parent)) ++pushes;
        },
        [](driver_call_record const&) {});
    std::size_t const steps = larger(source.steps_recorded(), std::size_t{1});
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

/// Hardware counters by range: each step of the program is one pass over all its ranges, until
/// every counter is known. CUPTI sees one level of ranges, a child interrupts its parent, and sums
/// are made afterwards. Threads: the one that drives the steps; ranges of other threads are not
/// counted. Devices: all that this thread used in the timed steps and that have the chip of the
/// current one. Cost: a counted step is slower, so its times are not recorded.
class counter_collector : public counted_passes {
 public:
  counter_collector(trace_control& trace, launch_trial& trial) noexcept
      : counted_passes(trace, trial) {}
  ~counter_collector() {
    close();
    trace_.unwatch(this);
  }

  /// Counts one run of a body, which is all that it runs; sets that take several passes are
  /// refused, since the body may change what it works on. Errors: bad_argument: they were refused,
  /// and the body ran uncounted; limit: it was counted in part; those of open, begin_pass and
  /// end_pass.
  status replay_once(void (*run)(void* body), void* body) {
    if (!refusal_.ok() || (!done() && passes() > 1)) {
      run(body);
      return as_memory_allows([this] { return refusal_.ok() ? refuse_passes() : refusal_; });
    }
    std::size_t const before = problems_.size();
    runs_once_.store(true);
    run_pass(run, body);
    runs_once_.store(false);
    bool const counted = stage_ == stage::stopped && !attempt_.dropped;
    (void)accept_pass();
    return as_memory_allows([&] {
      if (!counted) leave_waiting_work_alone();
      if (done()) return since(before);
      if (!counted)
        return give_up({errc::busy,
                        "counters: a stream was capturing a graph, so the body ran uncounted: "
                        "replay outside of captures"});
      // Some formats of the tensor cores turned out to be needed.
      if (passes_done_ != 0) return give_up(takes_several(errc::limit));
      return give_up(
          {errc::limit,
           "counters: the body had more ranges than CUPTI had room for; those that have no "
           "values need another run: replay(body, strata::repeatable)"});
    });
  }
  /// Runs a body once for each pass, at least once. Errors: as replay_once; busy: the body left a
  /// capture open.
  status replay_all(void (*run)(void* body), void* body) {
    std::size_t const before = problems_.size();
    do {
      run_pass(run, body);
      (void)accept_pass();
      if (!done() && capture_guard::capturing_here())
        (void)as_memory_allows([this] {
          return give_up(
              {errc::busy,
               "counters: a capture was open when the body ended, so it is not counted: end "
               "captures within the body"});
        });
    } while (!done());
    return as_memory_allows([&] { return refusal_.ok() ? since(before) : refusal_; });
  }

  /// Resolves the request (presets, keys, CUPTI names, joined by `+`) for the device of the current
  /// context and plans the passes. `problems` takes what cannot be counted; the rest is. Errors:
  /// unavailable, not_permitted, busy, not_supported: nothing can be counted.
  status open(std::string_view request, vec<status>& problems) {
    refusal_ = open_passes(request, device_profilers::which::all, problems);
    return refusal_;
  }
  /// Kernels are counted after the ranges.
  void try_for_kernels() noexcept { tries_for_kernels_ = true; }
  /// The program drives the passes, not its steps.
  void drive_by_hand() noexcept { by_hand_ = true; }
  /// Why `replay` counts nothing; ok where it may.
  status const& refusal() const noexcept { return refusal_; }
  void refuse(status why) { refusal_ = std::move(why); }

  /// How many steps count, and a step before them in which launches are tried.
  std::size_t steps() const noexcept {
    bool is_own = !trial_.passed() && !plan_.configs.empty();
    for (std::size_t i = 0; is_own && i < plan_.configs.size() && !plan_.instruments(i); ++i)
      is_own = plan_.is_of_multiprocessors(i);
    is_own = is_own && plan_.instruments(plan_.configs.size() - 1);
    return passes_ + (is_own ? 1 : 0);
  }
  /// Begins to count the ranges of this thread. Nothing is recorded until the pass is stopped.
  status begin_pass() noexcept {
    return as_memory_allows([this] { return begin_counting(); });
  }

  /// Ends the pass. It counts, unless `discard` says that the step did not run to its end: then the
  /// passes that belong together are begun again.
  status end_pass(bool discard = false) {
    stop_pass();
    if (!discard) return accept_pass();
    system_lock const lock(mutex_);
    drop();
    return {};
  }

  /// Ends the counting of a pass, of which is not known yet whether it counts.
  void stop_pass() noexcept {
    system_lock const lock(mutex_);
    stop();
  }

  /// Takes a stopped pass.
  status accept_pass() noexcept {
    return as_memory_allows([this] { return take_pass(); });
  }

  /// Adds what was counted to the profile.
  void copy_to(profile& target) const {
    target.losses.counter_ranges_lost += plan_.devices.lost();
    if (plan_.set.metrics.empty()) return;
    counter_set& set = target.add_counters(counter_set::gpu);
    set.metrics = plan_.set;
    set.left_out = plan_.left_out;
    values_.copy_to(set);
    set.where = plan_.devices.chip();
    set.devices = plan_.devices.devices();
    if (followed_) set.work = work_.passes();
    set.passes = passes_;
    set.passes_done = passes_done_;
  }

 private:
  status begin_counting() {
    await_own_streams();
    end_last();
    leave_graphs_alone();
    leave_waiting_work_alone();
    if (done()) return {};
    capture_guard::exclusive const alone;
    status problem;
    if (!begin_pass_of_plan(how_to_launch(), static_cast<bool>(alone), problem)) return problem;
    thread_recorder* const own = recorder::instance().of_this_thread();
    work_.begin(static_cast<std::uint32_t>(passes_done_), own);
    enter(own == nullptr ? root_node : own->node());
    followed_ = trace_.watch(&launched, &range_changes, this) && followed_;
    if (!followed_) plan_.devices.launches_are_unknown();
    return {};
  }

  std::size_t room() noexcept override {
    launching_ = launching_ranges();
    (void)if_memory_allows([this] { launching_ = launching_ranges(recorder::instance()); });
    return expected_ranges();
  }

  /// One pass over a body; an exception that leaves it ends the pass, which does not count.
  void run_pass(void (*run)(void* body), void* body) {
    struct stop_at_end {
      counter_collector* collector;
      ~stop_at_end() { collector->stop_pass(); }
    };
    (void)begin_pass();
    stop_at_end const guard{this};
    run(body);
  }

  static void launched(void* context, api_kind kind, cupti::api_data const& call) {
    auto& self = *static_cast<counter_collector*>(context);
    if (!if_memory_allows([&] { self.note_launch(kind, call); })) self.attempt_.dropped = true;
  }
  void note_launch(api_kind kind, cupti::api_data const& call) {
    if (is_work(kind)) {
      plan_.devices.launched(work_.node(), kind, call);
      if (work_.is_counted_thread() && !plan_.devices.knows(call.context))
        attempt_.met_other_device = true;
    }
    if (!capture_guard::capturing_here()) work_.add(kind, call);  // else it does not run
  }

  /// Room for the pushes of ranges that launched so far, and some more; a step with more is
  /// repeated. CUPTI takes 0.65 ms for each (H200, CUDA 13.0).
  std::size_t expected_ranges() const noexcept {
    std::size_t const seen = launching_.pushes();
    return seen == 0 ? 1024 : seen + seen / 4 + 32;
  }

  /// Launches are tried before they wait: during a pass that counts bytes, which the trial does not
  /// change, or else in a step of its own.
  launches how_to_launch() const noexcept {
    std::size_t const count = plan_.configs.size();
    if (plan_.instruments(config_index_))
      return trial_.passed() || runs_once_.load() ? launches::wait : launches::are_tried;
    bool const is_needed = tries_for_kernels_ || plan_.instruments(count - 1);
    bool const counts_bytes = !plan_.is_of_multiprocessors(config_index_);
    return is_needed && counts_bytes && !trial_.passed() ? launches::wait_tried : launches::go_on;
  }

  static void range_changes(void* context, std::uint32_t node) noexcept {
    auto& self = *static_cast<counter_collector*>(context);
    system_lock const lock(self.mutex_);
    if (!self.may_move() || node == self.work_.node() || !self.leave_range()) return;
    capture_guard::exclusive const alone;
    if (alone) return self.enter(node);
    self.drop_for(pause_outcome::captures);
  }

  /// A range that launches nothing itself is not worth a drain of the device.
  void enter(std::uint32_t node) noexcept {
    work_.enter(node);
    if (launching_.may_launch(node)) push(node);
  }

  status refuse_passes() { return give_notice(takes_several(errc::bad_argument)); }
  status takes_several(errc code) const {
    return {code, sentence("counters: this set takes ")
                      << passes()
                      << " passes, and replay may run its body once only: say "
                         "replay(body, strata::repeatable) if it may run again, or ask for fewer "
                         "counters"};
  }

  /// The last problem where there are more than before, as a pass or a replay returns it.
  status since(std::size_t before) const {
    if (ended_short_) return {errc::limit, std::string()};
    return problems_.size() == before ? status{} : problems_.back();
  }

  launching_ranges launching_;
  status refusal_;
  bool tries_for_kernels_ = false;
  bool followed_ = true;  // the launches of every pass
};

}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_COUNTERS_COUNTERS_HPP
