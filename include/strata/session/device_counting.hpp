#ifndef STRATA_SESSION_DEVICE_COUNTING_HPP
#define STRATA_SESSION_DEVICE_COUNTING_HPP

#include <strata/collect/counters/counters.hpp>
#include <strata/collect/counters/kernel_counters.hpp>
#include <strata/options.hpp>
#include <strata/session/problem_log.hpp>
#include <strata/tables/collectives.hpp>

STRATA_BEGIN
namespace detail {

/// Whether the options say where to count kernels: `kernels=off` says nowhere.
inline bool asks_for_kernels(options const& wanted) noexcept {
  return !wanted.kernels.empty() && !(wanted.kernels.size() == 1 && wanted.kernels[0] == "off");
}

/// What a session counts on the device: in the steps after the timed ones, first ranges, then
/// single kernels; or in passes that the program drives itself. Threads: the one that drives the
/// steps.
class device_counting : uncopied {
 public:
  /// `problems` takes a sentence for each thing that cannot be counted.
  device_counting(options const& wanted, vec<status>& problems, trace_control& trace)
      : options_(wanted),
        problems_(problems),
        stage_(wanted.counters.empty() ? stage::done : stage::waiting),
        trace_(trace),
        pause_(trace),
        trial_(trace, &is_collective, &wanted),
        ranges_(trace, trial_),
        kernels_(trace, trial_) {
    if (asks_for_kernels(wanted)) ranges_.try_for_kernels();
  }
  ~device_counting() { end_trial(); }

  counter_collector& ranges() noexcept { return ranges_; }

  /// The ranges' counters for a request of the program's own.
  counter_collector& by_program(std::string_view request) {
    if (requested_.empty() && options_.counters.empty()) {
      requested_ = request;
      refusal_ = {errc::limit, std::string()};  // should memory end meanwhile
      ranges_.refuse(refusal_);
      refusal_ = ranges_.open(request, problems_);
      (void)keep(refusal_);
      bool const all_left_out = refusal_.ok() && ranges_.done() && !problems_.empty();
      if (all_left_out) refusal_ = problems_.back();
    }
    ranges_.drive_by_hand();
    ranges_.refuse(refusal_);
    if (requested_ != request) {
      ranges_.refuse(
          {errc::bad_argument, sentence("counters \"")
                                   << request << "\" are not counted: this run has \""
                                   << (requested_.empty() ? options_.counters : requested_)
                                   << "\"; name all in one request, joined by +"});
      problems_.push_back(ranges_.refusal());
    }
    return ranges_;
  }

  /// Whether anything may be counted. Where not, names that no chip has are problems.
  bool may_count(bool has_cupti) {
    vec<status> unknown;
    if (pass_plan::is_known(options_.counters, unknown) && has_cupti) return true;
    stage_ = stage::done;
    for (status const& name : unknown) (void)keep(name);
    return false;
  }

  /// Nothing is counted, for this reason.
  void refuse(status const& why) {
    stage_ = stage::done;
    (void)keep(why);
  }

  /// Begins a step; it counts after the timed ones. One that warms up is recorded, and dropped.
  void begin_step(bool counts, bool warms_up) {
    if (!counts && stage_ != stage::done) {
      if (!std::exchange(saw_step_, true)) trace_.stream_waits().forget();
      if (warms_up) begin_trial();
      return ranges_.pass_by();
    }
    if (!counts) return;
    if (stage_ == stage::waiting) open_ranges();
    if (stage_ == stage::ranges && !ranges_.begin_pass().ok()) end_ranges();
    if (stage_ == stage::kernels && !kernels_.begin_step(ranges_.work()).ok()) end();
  }

  void end_step() {
    end_trial();
    if (stage_ == stage::ranges) {
      (void)ranges_.end_pass();
      if (ranges_.done()) end_ranges();
    } else if (stage_ == stage::kernels) {
      (void)kernels_.end_step();
      if (kernels_.done()) end();
    }
  }

  /// Another thread stops the session: has the thread of a pass end it.
  void ask_to_end() noexcept {
    ranges_.ask_to_end();
    kernels_.ask_to_end();
  }

  /// Lets CUPTI go; what was counted stays.
  void close() {
    end_trial();
    ranges_.close();
    kernels_.close();
  }

  /// The devices do not answer: as `close`, but CUPTI is not called.
  void abandon() noexcept {
    end_trial();
    ranges_.abandon();
    kernels_.abandon();
  }

  /// Adds what was counted, and what went wrong.
  void copy_to(profile& target) {
    ranges_.copy_to(target);
    kernels_.copy_to(target);
    for (status const& problem : ranges_.problems()) problems_.push_back(problem);
    if (!is_own_choice_)
      for (status const& problem : kernels_.problems()) (void)keep(problem);  // ranges may have it
    if (stage_ == stage::waiting && postponed_ != 0)
      problems_.push_back(ranges_.in_the_way(postponed_, postponed_by_));
    (void)keep(ranges_.hindrance());
    if (!is_own_choice_) (void)keep(kernels_.hindrance());
    if (ranges_.passes_done() < ranges_.passes()) {
      add_missing("counters", ranges_.passes_done(), ranges_.passes());
    } else if (stage_ == stage::kernels && !is_own_choice_) {
      add_missing("kernels=", kernels_.passes_done(), kernels_.passes());
    }
  }

  /// Nothing is left to count.
  bool done() const noexcept { return stage_ == stage::done; }

  /// No step came that could be counted.
  bool never_began() const noexcept { return stage_ == stage::waiting && postponed_ == 0; }

 private:
  enum class stage : unsigned char { waiting, ranges, kernels, done };

  bool keep(status const& outcome) { return keep_once(problems_, outcome); }

  /// Tries in a step that is not timed which launches may wait.
  void begin_trial() {
    bool const is_needed =
        asks_for_kernels(options_) || pass_plan::may_instrument(options_.counters);
    if (!is_needed || trial_.passed() || trial_.failed()) return;
    static launch_gate::keeper const gate{[](void* trial, gated_call const& call) noexcept {
                                            static_cast<launch_trial*>(trial)->begins(call);
                                          },
                                          [](void* trial, gated_call const& call) noexcept {
                                            static_cast<launch_trial*>(trial)->ended(call);
                                          }};
    tries_.store(true);
    trial_.begin();
    pause_.keep_gate(gate, &trial_);
  }
  /// Whether a kernel belongs to a collective, by its name. True where memory is short. Cost: 2 us.
  static bool is_collective(void const* wanted, char const* mangled) {
    bool found = false;
    bool const is_known = if_memory_allows([&] {
      kernel_texts const texts(mangled);
      found = bool(collective_named(texts.short_name, texts.whole, {}));
      for (std::string const& pattern : static_cast<options const*>(wanted)->collectives)
        found = found || bool(collective_named(texts.short_name, texts.whole, pattern));
    });
    return found || !is_known;
  }
  void end_trial() noexcept {
    if (!tries_.exchange(false)) return;
    trial_.end(true);
    pause_.open_gate();
  }

  void open_ranges() {
    std::size_t const before = problems_.size();
    ranges_.await_own_streams();
    capture_guard::exclusive const alone;
    postponed_by_ = !alone                       ? pause_outcome::captures
                    : ranges_.devices_are_idle() ? pause_outcome::paused
                                                 : pause_outcome::busy;
    postponed_ = postponed_by_ == pause_outcome::paused ? 0 : postponed_ + 1;
    if (postponed_ != 0) return;
    stage_ = stage::done;
    if (!keep(ranges_.open(options_.counters, problems_))) return;
    stage_ = stage::ranges;
    bool const partly = problems_.size() != before;
    if (ranges_.done()) return;
    problem_log::say(sentence("counting on ")
                     << ranges_.chip() << " in the next " << ranges_.steps()
                     << (ranges_.steps() == 1 ? " step" : " steps")
                     << (partly ? "; some of what was asked for cannot be counted" : ""));
  }

  void end_ranges() {
    ranges_.close();
    if (ranges_.passes_done() != ranges_.passes()) return end();
    vec<status> of_kernels;
    if (!asks_for_kernels(options_)) return count_mixed_ranges(of_kernels);
    if (!keep(kernels_.open(options_.counters, options_.kernels, of_kernels))) return end();
    for (status const& problem : of_kernels) (void)keep(problem);  // ranges may have it
    if (kernels_.done()) return end();
    stage_ = stage::kernels;
  }

  /// What the findings need of ranges of several kernels: each of these by itself. Nobody asked for
  /// it, so what keeps it from being counted is no problem.
  void count_mixed_ranges(vec<status>& problems) {
    is_own_choice_ = true;
    bool const wanted = options_.kernels.empty() && asks_for(options_.counters, "findings") &&
                        trial_.passed() &&
                        !ranges_.counts_several_devices();  // kernels are counted on one
    vec<std::uint32_t> const& mixed = ranges_.mixed();
    if (!wanted || mixed.empty() || !kernels_.open(options_.counters, mixed, problems).ok() ||
        kernels_.done())
      return end();
    stage_ = stage::kernels;
    problem_log::say(sentence("counting the kernels of ")
                     << mixed.size() << (mixed.size() == 1 ? " range" : " ranges")
                     << " with several kernels one by one in the next " << kernels_.passes()
                     << (kernels_.passes() == 1 ? " step" : " steps"));
  }
  static bool asks_for(std::string_view request, std::string_view preset) {
    while (!request.empty())
      if (take_until(request, "+, \t") == preset) return true;
    return false;
  }

  void end() {
    if (stage_ == stage::kernels && kernels_.kernels() != 0)
      problem_log::say(sentence("counted ") << kernels_.kernels() << " different kernels of "
                                            << kernels_.launches_of_step()
                                            << " launches one by one, in " << kernels_.passes_done()
                                            << (kernels_.passes_done() == 1 ? " step" : " steps"));
    stage_ = stage::done;
    kernels_.close();
  }

  void add_missing(char const* what, std::size_t done, std::size_t total) {
    problems_.emplace_back(
        errc::limit,
        sentence(what)
            << ": the program ended after " << done << " of " << total
            << " counting steps; what needs the others is missing. Run more steps, or ask "
               "for fewer counters");
  }

  options const& options_;
  vec<status>& problems_;
  stage stage_;
  trace_control& trace_;
  trace_pause pause_;
  launch_trial trial_;
  bool saw_step_ = false;
  bool is_own_choice_ = false;  // to count kernels
  atomic<bool> tries_{false};   // in this step
  counter_collector ranges_;
  kernel_counter_collector kernels_;
  std::string requested_;      // by the program
  status refusal_;             // of that request
  std::size_t postponed_ = 0;  // steps in a row at which something kept counting from its begin
  pause_outcome postponed_by_ = pause_outcome::paused;
};

/// Passes of the program's own in a session whose windows are reported one by one: none counts.
class refused_passes {
 public:
  /// Makes the ranges that refuse; without memory they have no reason.
  counter_collector& ranges(options const& wanted, trace_control& trace) {
    if (!counting_) counting_.emplace(wanted, unreported_, trace);
    return counting_->ranges();
  }
  static status reason() {
    return {errc::bad_argument,
            "passes of the program's own cannot be combined with windows that are reported one by "
            "one (trigger=, keep=): name the counters in counters="};
  }

 private:
  vec<status> unreported_;
  maybe<device_counting> counting_;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_SESSION_DEVICE_COUNTING_HPP
