#include <strata/version.hpp>
#ifndef STRATA_COUNTERS_HPP
#define STRATA_COUNTERS_HPP

#include <strata/activity.hpp>
#include <strata/config.hpp>
#include <strata/detail/driver.hpp>
#include <strata/detail/metric_host.hpp>
#include <strata/detail/profiler_library.hpp>
#include <strata/detail/range_profiler.hpp>
#include <strata/detail/recorder.hpp>
#include <strata/metric.hpp>
#include <strata/metric_set.hpp>
#include <strata/profile.hpp>
#include <strata/status.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

STRATA_BEGIN

/// Hardware counters by range: each step of the program is one pass over all its ranges, until
/// every counter is had. Nested ranges cost no extra passes: CUPTI sees one level, a child
/// interrupts its parent, and sums are made afterwards. Threads: the one that drives the steps;
/// ranges of other threads are not counted. Cost: a counted step is slower, since the device drains
/// at range ends; its times are not used.
class counter_session {
 public:
  counter_session() = default;
  counter_session(counter_session const&) = delete;
  counter_session& operator=(counter_session&&) = default;
  ~counter_session() { close(); }

  /// Resolves the request (presets, keys, CUPTI names, joined by `+`) for the device of the current
  /// context and plans the passes. `problems` takes what cannot be counted; the rest is. Errors:
  /// unavailable, not_permitted, busy, not_supported: nothing can be counted.
  status open(std::string_view request, std::vector<status>& problems) {
    detail::driver_library const& driver = detail::driver_library::get();
    if (!driver.ok()) return {errc::unavailable, driver.problem};
    detail::profiler_library const& library = detail::profiler_library::get();
    if (!library.ok()) return {errc::unavailable, library.problem};
    detail::driver::context_handle context = nullptr;
    detail::driver::device_handle device = 0;
    if (driver.api.context_current == nullptr || driver.api.context_device == nullptr ||
        driver.api.context_current(&context) != detail::driver::result::success ||
        context == nullptr ||
        driver.api.context_device(&device) != detail::driver::result::success) {
      return {errc::unavailable,
              "counters: the thread that drives the steps has no CUDA context; call the CUDA "
              "runtime in it before"};
    }
    status done = profiler_.open(library, context, device);
    if (!done) return done;
    open_ = true;
    done = host_.open(library, profiler_.chip(), profiler_.availability());
    if (!done) return done;
    set_ = host_.resolve(expand_metrics(request));
    for (unknown_metric const& each : set_.unknown)
      problems.emplace_back(errc::bad_argument, each.message());
    for (absent_metric const& each : set_.absent) {
      problems.emplace_back(errc::not_supported, each.key + " cannot be counted: " + each.reason);
    }
    if (set_.metrics.empty()) return {errc::bad_argument, "counters: nothing is left to count"};
    for (metric_group const& group : group_metrics(set_, pass_layout::cheap_ranges_apart)) {
      detail::metric_config config;
      status const made = host_.configure(group.counters, config);
      if (!made) {
        problems.push_back(made);
        continue;
      }
      passes_ += config.passes();
      configs_.push_back(std::move(config));
    }
    return configs_.empty() ? status{errc::not_supported, "counters: CUPTI refused every group"}
                            : status{};
  }

  std::string const& chip() const noexcept { return profiler_.chip(); }
  /// How many steps the counting takes.
  std::size_t passes() const noexcept { return passes_; }
  std::size_t passes_done() const noexcept { return passes_done_; }
  bool done() const noexcept { return !open_ || at_ >= configs_.size(); }

  /// Begins to count the ranges of this thread. Device activity is not traced meanwhile:
  /// instrumented code (SASS counters) would read zero beside CUPTI's kernel records.
  status begin_pass() {
    if (done()) return {};
    activity_session& activity = activity_session::instance();
    if (activity.tracing()) {
      resume_ = activity.end_window();
      if (!resume_)
        return {errc::busy, "counters: no pass can begin while a stream captures a graph"};
    }
    detail::recorder& recorder = detail::recorder::instance();
    launching_ = recorder.launching_nodes();
    if (!configured_) {
      status const set = profiler_.configure(configs_[at_], expected_ranges());
      if (!set) return give_up(set);
      configured_ = true;
    }
    status const started = profiler_.start();
    if (!started) return give_up(started);
    in_pass_ = true;
    detail::thread_recorder const* const own = recorder.of_this_thread();
    enter(own == nullptr ? root_node : own->node());
    recorder.watch_this_thread(&range_changes, this);
    return {};
  }

  /// Ends the pass. It counts, unless `discard` says that the step did not run to its end.
  status end_pass(bool discard = false) {
    if (!in_pass_) return {};
    in_pass_ = false;
    detail::recorder::instance().watch_this_thread(nullptr, nullptr);
    leave();
    bool complete = false;
    status const stopped = profiler_.stop(complete);
    if (std::exchange(resume_, false)) (void)activity_session::instance().begin_window();
    if (!stopped) return give_up(stopped);
    if (discard)
      return give_up({errc::limit, "counters: a step broke off in the middle of a pass"});
    ++passes_done_;
    if (!complete) return {};
    detail::metric_config& config = configs_[at_];
    auto const first = static_cast<std::uint32_t>(names_.size());
    names_.insert(names_.end(), config.names().begin(), config.names().end());
    status const read =
        profiler_.read(config, [&](std::uint32_t node, std::vector<double> const& values) {
          for (std::size_t i = 0; i < values.size(); ++i) {
            values_.push_back({node, first + static_cast<std::uint32_t>(i), values[i]});
          }
        });
    ++at_;
    configured_ = false;
    return read.ok() ? status{} : give_up(read);
  }

  /// Lets CUPTI go; what was counted stays.
  void close() noexcept {
    if (!open_) return;
    if (in_pass_) (void)end_pass(true);
    profiler_.close();
    open_ = false;
  }

  /// Adds what was counted to the profile.
  void copy_to(profile& to) const {
    to.metrics = set_;
    to.counter_names = names_;
    to.counters = values_;
    to.chip = profiler_.chip();
    to.counter_passes = passes_;
    to.counter_passes_done = passes_done_;
    to.losses.counter_ranges_lost += profiler_.lost();
  }

 private:
  /// Room for the ranges that launched so far, and some more. CUPTI takes 0.65 ms for each (H200,
  /// CUDA 13.0).
  std::size_t expected_ranges() const noexcept {
    if (launching_.empty()) return 1024;
    auto const known =
        std::count(launching_.begin(), launching_.end(), detail::recorder::launches::some);
    return static_cast<std::size_t>(known) + 32;
  }

  static void range_changes(void* context, std::uint32_t node) noexcept {
    auto& self = *static_cast<counter_session*>(context);
    self.leave();
    self.enter(node);
  }

  /// A range that launches nothing itself is not worth a drain of the device.
  void enter(std::uint32_t node) noexcept {
    if (node < launching_.size() && launching_[node] == detail::recorder::launches::none) return;
    profiler_.push(node);
    pushed_ = true;
  }

  void leave() noexcept {
    if (pushed_) profiler_.pop();
    pushed_ = false;
  }

  status give_up(status why) {
    at_ = configs_.size();
    return why;
  }

  detail::range_profiler profiler_;
  detail::metric_host host_;
  metric_set set_;
  std::vector<detail::metric_config> configs_;
  std::vector<detail::recorder::launches> launching_;
  std::vector<std::string> names_;
  std::vector<counter_value> values_;
  std::size_t passes_ = 0;
  std::size_t passes_done_ = 0;
  std::size_t at_ = 0;
  bool open_ = false;
  bool resume_ = false;  // tracing goes on after the pass
  bool configured_ = false;
  bool in_pass_ = false;
  bool pushed_ = false;
};

STRATA_END

#endif  // STRATA_COUNTERS_HPP
