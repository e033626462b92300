#include <strata/version.hpp>
#ifndef STRATA_SESSION_SCHEDULE_HPP
#define STRATA_SESSION_SCHEDULE_HPP

#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/collect/counters/counters.hpp>
#include <strata/collect/counters/kernel_counters.hpp>
#include <strata/options.hpp>
#include <strata/profile.hpp>
#include <strata/profile/records.hpp>
#include <strata/status.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

STRATA_BEGIN

namespace detail {

/// What happens to each step: windows of skipped, warm-up and active steps, repeated.
class schedule {
 public:
  enum class phase : unsigned char { skip, warmup, active };

  schedule() = default;
  explicit schedule(options const& from) noexcept
      : skip_(from.skip), warmup_(from.warmup), active_(from.active), repeat_(from.repeat) {}

  phase of(std::uint32_t step) const noexcept {
    std::uint64_t position = step;
    if (active_ != 0) {
      if (repeat_ != 0 && position / window() >= repeat_) return phase::skip;
      position %= window();
    }
    if (position < skip_) return phase::skip;
    return position < std::uint64_t{skip_} + warmup_ ? phase::warmup : phase::active;
  }

  /// Those of all windows, of the first one where they have no end, none where there are no
  /// windows.
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

/// What a session counts on the device: in the steps after the timed ones, first ranges, then
/// single kernels; or in passes that the program drives itself. Threads: the one that drives the
/// steps.
class step_counting {
 public:
  /// `problems` takes a sentence for each thing that cannot be counted.
  step_counting(options const& wanted, vec<status>& problems, trace_control const& trace)
      : options_(wanted),
        problems_(problems),
        stage_(wanted.counters.empty() ? stage::done : stage::waiting),
        ranges_(trace),
        kernels_(trace) {}
  step_counting(step_counting const&) = delete;
  step_counting& operator=(step_counting const&) = delete;

  counter_collector& ranges() noexcept { return ranges_; }

  /// The ranges' counters for a request of the program's own.
  counter_collector& by_program(std::string_view request) {
    if (requested_.empty() && options_.counters.empty()) {
      requested_ = request;
      (void)keep(ranges_.open(request, problems_));
    } else if (requested_ != request) {
      problems_.emplace_back(errc::bad_argument,
                             "counters \"" + std::string(request) +
                                 "\" are not counted: this run has \"" +
                                 (requested_.empty() ? options_.counters : requested_) +
                                 "\"; name all in one request, joined by +");
    }
    return ranges_;
  }

  /// Begins a step after the timed ones.
  void begin_step() {
    if (stage_ == stage::waiting) open_ranges();
    if (stage_ == stage::ranges && !ranges_.begin_pass().ok()) end_ranges();
    if (stage_ == stage::kernels && !kernels_.begin_step(ranges_.work()).ok()) end();
    if (stage_ == stage::kernels && progress_.live())
      progress_.show(
          progress_line::of_pass(ranges_.chip(), kernels_.steps_done() + 1, kernels_.steps()));
  }

  void end_step() {
    if (stage_ == stage::ranges) {
      (void)ranges_.end_pass();
      if (ranges_.done()) end_ranges();
    } else if (stage_ == stage::kernels) {
      (void)kernels_.end_step();
      if (kernels_.done()) end();
    }
  }

  /// Lets CUPTI go; what was counted stays.
  void close() {
    progress_.erase();
    ranges_.close();
    kernels_.close();
  }

  /// Adds what was counted, and what went wrong.
  void copy_to(profile& to) {
    ranges_.copy_to(to);
    kernels_.copy_to(to);
    for (status const& problem : ranges_.problems()) problems_.push_back(problem);
    for (status const& problem : kernels_.problems()) problems_.push_back(problem);
    if (ranges_.passes_done() < ranges_.passes()) {
      tell_missing("counters", ranges_.passes_done(), ranges_.passes());
    } else if (stage_ == stage::kernels) {
      tell_missing("kernels=", kernels_.steps_done(), kernels_.steps());
    }
  }

  /// No step came that could be counted.
  bool never_began() const noexcept { return stage_ == stage::waiting; }

 private:
  enum class stage : unsigned char { waiting, ranges, kernels, done };

  /// Once: without a driver, say, tracing has told the same.
  bool keep(status const& outcome) {
    if (outcome.ok()) return true;
    for (status const& told : problems_)
      if (told.message() == outcome.message()) return false;
    problems_.push_back(outcome);
    return false;
  }

  void open_ranges() {
    std::size_t const before = problems_.size();
    stage_ = stage::done;
    if (!keep(ranges_.open(options_.counters, problems_))) return;
    stage_ = stage::ranges;
    bool const partly = problems_.size() != before;
    if (progress_.live() && !partly) return;
    std::fprintf(stderr, "strata: counting on %s in the next %zu step%s%s\n",
                 ranges_.chip().c_str(), ranges_.passes(), ranges_.passes() == 1 ? "" : "s",
                 partly ? "; some of what was asked for cannot be counted" : "");
  }

  void end_ranges() {
    ranges_.close();
    vec<status> told_by_the_ranges;
    bool const next = !options_.kernels.empty() && ranges_.passes_done() == ranges_.passes();
    if (!next || !keep(kernels_.open(options_.counters, options_.kernels, told_by_the_ranges)))
      return end();
    stage_ = stage::kernels;
  }

  void end() {
    stage_ = stage::done;
    kernels_.close();
    progress_.erase();
  }

  void tell_missing(char const* what, std::size_t done, std::size_t of) {
    problems_.emplace_back(
        errc::limit,
        std::string(what) + ": the program ended after " + std::to_string(done) + " of " +
            std::to_string(of) +
            " counting steps; what needs the others is missing. Run more steps, or ask "
            "for fewer counters");
  }

  options const& options_;
  vec<status>& problems_;
  stage stage_;
  counter_collector ranges_;
  kernel_counter_collector kernels_;
  progress_line progress_;  // of the kernels; ranges have their own
  std::string requested_;   // by the program
};

}  // namespace detail
STRATA_END

#endif  // STRATA_SESSION_SCHEDULE_HPP
