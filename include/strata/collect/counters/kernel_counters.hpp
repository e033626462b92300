#include <strata/version.hpp>
#ifndef STRATA_COLLECT_COUNTERS_KERNEL_COUNTERS_HPP
#define STRATA_COLLECT_COUNTERS_KERNEL_COUNTERS_HPP

#include <strata/base/containers.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/memory.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/progress_line.hpp>
#include <strata/base/text.hpp>
#include <strata/base/threads.hpp>
#include <strata/base/vec.hpp>
#include <strata/base/vocabulary.hpp>
#include <strata/collect/counters/counting_pass.hpp>
#include <strata/collect/counters/device_profilers.hpp>
#include <strata/collect/counters/profiler_library.hpp>
#include <strata/collect/cuda/contexts.hpp>
#include <strata/collect/cuda/cupti.hpp>
#include <strata/collect/host/node_table.hpp>
#include <strata/collect/host/recorder.hpp>
#include <strata/collect/host/thread_recorder.hpp>
#include <strata/profile.hpp>
#include <strata/profile/metric_set.hpp>
#include <strata/profile/records.hpp>
#include <strata/status.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

STRATA_BEGIN
namespace detail {

/// The ranges whose kernels are counted one by one, what they launch in a step, in order, and the
/// sums by range and kernel (of maxima and of the device's constants: the largest). Threads: the
/// one that drives the steps; `add` comes from any, one call at a time.
class kernel_regions {
 public:
  /// Patterns of range names; what lies below them belongs to them.
  void choose(vec<std::string> patterns) { patterns_ = std::move(patterns); }

  bool contains(std::uint32_t node) {
    if (node >= known_.size()) learn();
    return node < known_.size() && known_[node];
  }

  /// Begins a step of the thread with this recorder.
  void begin(thread_recorder const* counted) {
    launches_.clear();
    foreign_ = 0;
    counted_ = counted;
  }
  /// The thread is in this range now, inside a region or not.
  void enter(std::uint32_t node, bool inside) noexcept {
    node_.store(inside ? node : no_reference, memory_order_relaxed);
  }
  /// One call into the driver.
  void add(api_kind kind, cupti::api_data const& call) {
    if (counted_ == nullptr || (kind != api_kind::launch && kind != api_kind::graph_launch)) return;
    std::uint32_t const node = node_.load(memory_order_relaxed);
    if (thread_recorder::current() != counted_) {
      ++foreign_;
      return;
    }
    if (kind == api_kind::graph_launch) {
      launches_.push_back({node, "[graph]", 0.0});
    } else {
      char const* const name = call.symbol_name == nullptr ? "" : call.symbol_name;
      launches_.push_back({node, name, launch_shape::read(call).warps()});
    }
  }
  void end() noexcept { counted_ = nullptr; }

  /// Counts the warps that a kernel begins with, which tells the program's kernels from CUPTI's
  /// own.
  static constexpr char const* mark = "smsp__warps_launched.sum";

  /// Takes what CUPTI counted for one kernel after the other, in the order of `names`, one of which
  /// is the mark. Errors: not_supported where launches and kernels cannot be joined for certain:
  /// nothing is taken.
  status take(vec<std::string> const& names, vec<vec<double>> const& kernels) {
    if (foreign_ != 0) {
      return {errc::not_supported,
              "kernels=: another thread launched kernels while single kernels were counted, so "
              "counts cannot be distinguished; choose a range in which one thread works"};
    }
    // CUPTI was seen to count what lies outside of push and pop as well, so all launches are tried
    // before those inside.
    vec<std::size_t> places = places_of(names, kernels);
    if (places.size() != launches_.size() || kernels.size() != launches_.size()) {
      launches_.keep_if(is_inside);
      places = places_of(names, kernels);
    }
    if (places.size() != launches_.size()) {
      return {errc::not_supported, sentence("kernels=: CUPTI counted ")
                                       << kernels.size() << " kernels for " << launches_.size()
                                       << " launches, which cannot be joined for certain: choose a "
                                          "range without CUDA graphs"};
    }
    std::size_t const first = names_.size();
    names_.insert(names_.end(), names.begin(), names.end());
    flat_map<key, std::uint64_t> counts;
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (!is_inside(launches_[i])) continue;
      key const kernel{launches_[i].node, launches_[i].name};
      add_values(sums_[kernel], names, first, kernels[places[i]], ++counts[kernel] > 1);
    }
    counts.for_each([this](key const& kernel, std::uint64_t launches) {
      entry& sums = sums_[kernel];
      sums.launches_min = sums.launches_max == 0 ? launches : smaller(sums.launches_min, launches);
      sums.launches_max = larger(sums.launches_max, launches);
    });
    return {};
  }

  /// Adds the sums to a profile that has its kernels.
  void copy_to(profile& target) const {
    flat_map<std::string, std::uint32_t> numbers;
    for (std::size_t i = 0; i < target.kernel_names.size(); ++i)
      numbers[target.kernel_names[i].mangled] = static_cast<std::uint32_t>(i + 1);
    counter_set& set = target.add_counters(counter_set::gpu_kernels);
    set.names = names_;
    sums_.for_each([&](key const& kernel, entry const& sums) {
      std::uint32_t& name = numbers[kernel.second];
      if (name == 0) {
        target.kernel_names.push_back({kernel.second});
        name = static_cast<std::uint32_t>(target.kernel_names.size());
      }
      counted_kernel made{kernel.first, name, sums.launches_min, sums.launches_max, sums.values};
      made.values.resize(names_.size(), std::numeric_limits<double>::quiet_NaN());
      set.kernels.push_back(std::move(made));
    });
  }

 private:
  struct launch {
    std::uint32_t node;
    std::string name;
    double warps;  // 0: unknown
  };
  static bool is_inside(launch const& which) noexcept { return which.node != no_reference; }
  struct entry {
    std::uint64_t launches_min = 0;
    std::uint64_t launches_max = 0;
    vec<double> values;
  };
  using key = pair<std::uint32_t, std::string>;

  /// Which kernel each launch became; fewer than launches where that is not certain.
  vec<std::size_t> places_of(vec<std::string> const& names, vec<vec<double>> const& kernels) const {
    auto const marked = names.index_of(mark);
    auto const fits = [&](std::size_t which, std::size_t kernel) {
      return marked < kernels[kernel].size() &&
             !(kernels[kernel][marked] < launches_[which].warps) &&
             !(kernels[kernel][marked] > launches_[which].warps);
    };
    // The first kernels that fit, and the last ones: where they are not the same, some launch could
    // be either of two.
    vec<std::size_t> first;
    for (std::size_t k = 0; k < kernels.size() && first.size() < launches_.size(); ++k) {
      if (fits(first.size(), k)) first.push_back(k);
    }
    vec<std::size_t> last(launches_.size());
    std::size_t left = launches_.size();
    for (std::size_t k = kernels.size(); k-- > 0 && left > 0;) {
      if (fits(left - 1, k)) last[--left] = k;
    }
    if (first.size() != launches_.size() || left != 0 || first != last) first.clear();
    return first;
  }

  static void add_values(entry& sums, vec<std::string> const& names, std::size_t first,
                         vec<double> const& values, bool again) {
    sums.values.resize(first + names.size(), std::numeric_limits<double>::quiet_NaN());
    for (std::size_t k = 0; k < names.size() && k < values.size(); ++k) {
      double& sum = sums.values[first + k];
      bool const largest = combine_of(names[k]) == metric_combine::maximum;
      if (!again) {
        sum = values[k];
      } else {
        sum = largest ? larger(sum, values[k]) : sum + values[k];
      }
    }
  }

  void learn() {
    recorder_state& state = recorder::instance().state();
    vec<node_table::node> const nodes = state.nodes.nodes();
    vec<std::string> const texts = state.names.texts();
    for (std::size_t i = known_.size(); i < nodes.size(); ++i) {
      bool inside = i != root_node && nodes[i].parent < i && known_[nodes[i].parent];
      for (std::string const& pattern : patterns_)
        inside = inside || (i != root_node && matches(texts[nodes[i].name], pattern));
      known_.push_back(inside);
    }
  }

  vec<std::string> patterns_;
  vec<bool> known_;  // by node: inside a region
  thread_recorder const* counted_ = nullptr;
  atomic<std::uint32_t> node_{no_reference};
  vec<launch> launches_;
  std::uint64_t foreign_ = 0;
  vec<std::string> names_;
  flat_map<key, entry> sums_;
};

}  // namespace detail

/// Hardware counters of single kernels within chosen ranges: CUPTI saves the device's memory,
/// replays each kernel until all is counted, and restores it. Exact and slow: for one range of a
/// step, not for a run. One step counts what can be counted together. Threads: the one that drives
/// the steps.
class kernel_counter_collector : public detail::pass_driver {
 public:
  kernel_counter_collector(detail::trace_control const& trace, detail::launch_trial& trial) noexcept
      : pass_driver(trace, trial) {
    counts_kernels_ = true;
  }
  ~kernel_counter_collector() {
    close();
    trace_.unwatch(this);
  }

  /// Plans the counters of `request` for kernels in ranges with these names (`*`, `?`) and below
  /// them. Requires: no counter_collector is open. Errors: as counter_collector::open.
  status open(std::string_view request, vec<std::string> ranges, vec<status>& problems) {
    regions_.choose(std::move(ranges));
    status planned = open_plan(request, detail::device_profilers::which::current, problems);
    for (detail::metric_config& config : plan_.configs) {
      vec<std::string> names = config.names();
      if (!names.contains(detail::kernel_regions::mark))
        names.emplace_back(detail::kernel_regions::mark);
      if (planned.ok()) planned = plan_.host.configure(names, config);
    }
    return planned;
  }

  /// How many steps the counting takes.
  std::size_t steps() const noexcept { return plan_.configs.size(); }
  std::size_t steps_done() const noexcept { return taken_; }

  /// Begins to count the kernels of this thread's chosen ranges, with room for those that earlier
  /// counting steps saw. Neither times nor device activity are recorded meanwhile.
  status begin_step(vec<counted_work> const& seen) noexcept {
    return as_memory_allows([&] { return begin_counting(seen); });
  }
  /// Ends the step and takes what was counted.
  status end_step() noexcept {
    return as_memory_allows([this] { return take_step(); });
  }

  /// Adds what was counted to a profile that has its kernels.
  void copy_to(profile& target) const {
    if (plan_.set.metrics.empty()) return;
    regions_.copy_to(target);
    counter_set& set = target.add_counters(counter_set::gpu_kernels);
    set.metrics = plan_.set;
    set.left_out = plan_.left_out;
  }

 private:
  status begin_counting(vec<counted_work> const& seen) {
    await_own_streams();
    end_last();
    if (!done() && trace_.saw_graphs()) (void)plan_.leave_graphs_alone(config_index_, problems_);
    if (done()) return {};
    std::string const why = why_not_wait();
    if (!why.empty()) {
      return give_up({errc::not_supported,
                      detail::sentence("kernels=: single kernels are not counted beside ")
                          << why
                          << ", since each launch would wait for its kernel: leave kernels= out"});
    }
    detail::capture_guard::exclusive const alone;
    auto const start = [&] {
      status const ready =
          plan_.devices.configure(plan_.configs[config_index_], expected(seen), true);
      return ready.ok() ? plan_.devices.start() : ready;
    };
    status problem;
    launches const how = trial_.passed() ? launches::wait : launches::are_tried;
    if (!begin(start, how, static_cast<bool>(alone), problem)) return problem;
    if (progress_.live())
      progress_.show(detail::progress_line::of_pass(chip(), taken_ + 1, steps()));
    detail::thread_recorder* const own = detail::recorder::instance().of_this_thread();
    if (!attempt_.is_trial) regions_.begin(own);
    if (!trace_.watch(&launched, &moved, this)) {
      end_last();
      return give_up(
          {errc::not_supported, "kernels=: launches cannot be followed, so kernels have no names"});
    }
    move(own == nullptr ? root_node : own->node());
    return {};
  }

  status take_step() {
    stop();
    detail::capture_guard::exclusive const alone;
    if (stage_ != stage::stopped) return {};
    regions_.end();
    if (attempt_.dropped) {
      drop();
      return after_drop();
    }
    stage_ = stage::none;
    skipped_.count = 0;
    if (attempt_.is_trial) return {};
    if (!attempt_.outcome) return give_up(attempt_.outcome);
    detail::metric_config& config = plan_.configs[config_index_++];
    vec<vec<double>> counted;
    status done = plan_.devices.read(
        config, [&](std::uint32_t, vec<double> const& values) { counted.push_back(values); });
    if (done.ok()) done = regions_.take(config.names(), counted);
    if (!done.ok()) return give_up(done);
    ++taken_;
    return done;
  }

  /// Room costs time: CUPTI takes 0.65 ms for each range (H200, CUDA 13.0).
  std::size_t expected(vec<counted_work> const& seen) {
    std::size_t most = 0;
    std::size_t now = 0;
    std::uint32_t pass = 0;
    for (counted_work const& work : seen) {
      if (work.pass != pass) now = 0;
      pass = work.pass;
      most = detail::larger(most, now += work.launches);  // also outside of the regions: see take()
    }
    return seen.empty() ? 1024 : most + most / 4 + 32;
  }

  static void launched(void* context, api_kind kind, detail::cupti::api_data const& call) {
    auto& self = *static_cast<kernel_counter_collector*>(context);
    if (self.plan_.devices.leaves_out(call.context) || detail::capture_guard::capturing_here())
      return;
    if (!detail::if_memory_allows([&] { self.regions_.add(kind, call); }))
      self.attempt_.dropped = true;
  }

  static void moved(void* context, std::uint32_t node) noexcept {
    auto& self = *static_cast<kernel_counter_collector*>(context);
    detail::system_lock const lock(self.mutex_);
    if (self.may_move() && !detail::if_memory_allows([&] { self.move(node); }))
      self.attempt_.dropped = true;
  }

  /// CUPTI waits for the device in every launch of a kernel that it counts, so no capture may begin
  /// until the region ends.
  void move(std::uint32_t node) {
    if (attempt_.is_trial) return;
    bool const inside = regions_.contains(node);
    if (inside && !held_) held_.emplace();
    attempt_.dropped = inside && !*held_;
    if (attempt_.dropped) return held_.reset();
    regions_.enter(node, inside);
    if (inside) {
      push(0);
    } else {
      leave();
    }
  }

  detail::kernel_regions regions_;
  std::size_t taken_ = 0;
};

STRATA_END

#endif  // STRATA_COLLECT_COUNTERS_KERNEL_COUNTERS_HPP
