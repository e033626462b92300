#include <strata/version.hpp>
#ifndef STRATA_COLLECT_COUNTERS_KERNEL_COUNTERS_HPP
#define STRATA_COLLECT_COUNTERS_KERNEL_COUNTERS_HPP

#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/collect/counters/counting_plan.hpp>
#include <strata/collect/counters/kernel_regions.hpp>
#include <strata/collect/counters/metric_config.hpp>
#include <strata/collect/cuda/activity.hpp>
#include <strata/collect/cuda/contexts.hpp>
#include <strata/collect/host/recorder.hpp>
#include <strata/profile.hpp>
#include <strata/status.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

STRATA_BEGIN

/// Hardware counters of single kernels within chosen ranges: CUPTI saves the device's memory,
/// replays each kernel until all is counted, and restores it. Exact and slow: for one range of a
/// step, not for a run. One step counts what can be counted together. Threads: the one that drives
/// the steps.
class kernel_counter_session {
 public:
  kernel_counter_session() = default;
  kernel_counter_session(kernel_counter_session const&) = delete;
  kernel_counter_session& operator=(kernel_counter_session const&) = delete;
  ~kernel_counter_session() { close(); }

  /// Plans the counters of `request` for kernels in ranges with these names (`*`, `?`) and below
  /// them. Requires: no counter_session is open. Errors: as counter_session::open.
  status open(std::string_view request, vec<std::string> ranges, vec<status>& problems) {
    regions_.choose(std::move(ranges));
    status planned = plan_.open(request, detail::device_profilers::which::current,
                                detail::recorder::instance().session(), problems);
    open_ = plan_.devices.is_open();
    for (detail::metric_config& each : plan_.configs) {
      vec<std::string> names = each.names();
      if (std::find(names.begin(), names.end(), detail::kernel_regions::mark) == names.end())
        names.emplace_back(detail::kernel_regions::mark);
      if (planned.ok()) planned = plan_.host.configure(names, each);
    }
    return planned;
  }

  bool is_open() const noexcept { return open_; }
  /// How many steps the counting takes.
  std::size_t steps() const noexcept { return plan_.configs.size(); }
  std::size_t steps_done() const noexcept { return taken_; }
  bool done() const noexcept { return !open_ || at_ >= plan_.configs.size(); }

  /// Begins to count the kernels of this thread's chosen ranges, with room for those that earlier
  /// counting steps saw. Neither times nor device activity are recorded meanwhile.
  status begin_step(vec<counted_work> const& seen) {
    if (activity_session::instance().saw_graphs()) {
      while (!done() && plan_.breaks_graphs(at_)) {
        ++at_;
        ++taken_;
      }
    }
    if (done() || counting_) return {};
    activity_session& activity = activity_session::instance();
    if (!detail::device_wait::allowed() || !activity.end_window()) return {};  // a stream captures
    detail::recorder& recorder = detail::recorder::instance();
    recorder.record(false);
    status ready = plan_.devices.configure(plan_.configs[at_], expected(seen), true);
    if (ready.ok()) ready = plan_.devices.start();
    if (!ready.ok()) return give_up(ready);
    counting_ = true;
    detail::thread_recorder const* const own = recorder.of_this_thread();
    regions_.begin(own);
    if (!activity.watch_launches(&launched, this)) {
      (void)end_step();
      return give_up(
          {errc::not_supported, "kernels=: launches cannot be followed, so kernels have no names"});
    }
    moved(this, own == nullptr ? root_node : own->node());
    recorder.watch_this_thread(&moved, this);
    return {};
  }

  /// Ends the step and takes what was counted.
  status end_step() {
    if (!counting_) return {};
    counting_ = false;
    detail::recorder::instance().watch_this_thread(nullptr, nullptr);
    leave();
    (void)activity_session::instance().watch_launches(nullptr, nullptr);
    regions_.end();
    bool complete = false;
    status done = plan_.devices.stop(complete);
    if (!done.ok()) return give_up(done);
    detail::metric_config& config = plan_.configs[at_++];
    vec<vec<double>> counted;
    done = plan_.devices.read(
        config, [&](std::uint32_t, vec<double> const& values) { counted.push_back(values); });
    if (done.ok()) done = regions_.take(config.names(), counted);
    if (!done.ok()) return give_up(done);
    ++taken_;
    return done;
  }

  /// Lets CUPTI go; what was counted stays.
  void close() noexcept {
    if (!open_) return;
    if (counting_) {
      at_ = plan_.configs.size();
      detail::recorder::instance().watch_this_thread(nullptr, nullptr);
      leave();
      (void)activity_session::instance().watch_launches(nullptr, nullptr);
      bool complete = false;
      (void)plan_.devices.stop(complete);
      counting_ = false;
    }
    plan_.devices.close();
    open_ = false;
  }

  /// What went wrong in steps.
  vec<status> const& troubles() const noexcept { return troubles_; }

  /// Adds what was counted to a profile that has its kernels.
  void copy_to(profile& to) const { regions_.copy_to(to); }

 private:
  /// Room costs time: CUPTI takes 0.65 ms for each range (H200, CUDA 13.0).
  std::size_t expected(vec<counted_work> const& seen) {
    std::size_t most = 0;
    std::size_t now = 0;
    std::uint32_t pass = 0;
    for (counted_work const& each : seen) {
      if (each.pass != pass) now = 0;
      pass = each.pass;
      most = (std::max)(most, now += each.launches);  // also outside of the regions: see take()
    }
    return seen.empty() ? 1024 : most + most / 4 + 32;
  }

  static void launched(void* context, api_kind kind, detail::cupti::api_data const& call) {
    auto& self = *static_cast<kernel_counter_session*>(context);
    if (!self.plan_.devices.leaves_out(call.context)) self.regions_.add(kind, call);
  }

  static void moved(void* context, std::uint32_t node) noexcept {
    auto& self = *static_cast<kernel_counter_session*>(context);
    bool const inside = self.regions_.contains(node);
    self.regions_.enter(node, inside);
    if (!inside) return self.leave();
    if (!std::exchange(self.pushed_, true)) self.plan_.devices.push(0);
  }

  void leave() noexcept {
    if (std::exchange(pushed_, false)) plan_.devices.pop();
  }

  status give_up(status why) {
    at_ = plan_.configs.size();
    troubles_.push_back(why);
    return why;
  }

  detail::counting_plan plan_;
  detail::kernel_regions regions_;
  vec<status> troubles_;
  std::size_t at_ = 0;
  std::size_t taken_ = 0;
  bool open_ = false;
  bool counting_ = false;
  bool pushed_ = false;
};

STRATA_END

#endif  // STRATA_COLLECT_COUNTERS_KERNEL_COUNTERS_HPP
