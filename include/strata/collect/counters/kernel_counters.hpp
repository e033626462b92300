#ifndef STRATA_COLLECT_COUNTERS_KERNEL_COUNTERS_HPP
#define STRATA_COLLECT_COUNTERS_KERNEL_COUNTERS_HPP

#include <strata/collect/counters/counted_passes.hpp>

STRATA_BEGIN
namespace detail {

/// The different kernels of the chosen ranges: by range without its index, name, grid and block.
/// Launches of one of them count as equal; scaled_kernels corrects those whose durations vary.
/// Threads: one call at a time.
class kernel_launches {
 public:
  static constexpr std::uint32_t not_chosen = ~std::uint32_t{0};

  /// Patterns of range names, with what lies below them. `all` and `*`: kernels in no range too.
  void choose(vec<std::string> patterns) {
    patterns_ = std::move(patterns);
    everything_ = patterns_.contains("all") || patterns_.contains("*");
  }

  /// These ranges themselves.
  void choose(vec<std::uint32_t> const& nodes) {
    for (std::uint32_t const node : nodes) {
      if (node >= ranges_.size()) learn();
      if (node < ranges_.size()) ranges_[node].chosen = true;
    }
  }

  void begin_pass() noexcept {
    for (kernel& each : kernels_) each.launches = 0;
    for (place& each : places_) each.launches = 0;
    launches_ = 0;
  }

  /// A launch in this pass. Returns: the number of its kernel; not_chosen outside of the ranges.
  std::uint32_t add(std::uint32_t node, std::string_view name, launch_shape const& shape) {
    if (node >= ranges_.size()) learn();
    if (node >= ranges_.size() || !ranges_[node].chosen) return not_chosen;
    fnv1a hash;
    hash.add(ranges_[node].path);
    hash.add(name);
    for (std::uint32_t const n : shape.grid) hash.add(std::uint64_t{n});
    for (std::uint32_t const n : shape.block) hash.add(std::uint64_t{n});
    std::uint64_t const key = hash.value() == numbers_.nothing ? 0 : hash.value();
    std::uint32_t const* const known = numbers_.find(key);
    std::uint32_t const number = known == nullptr ? new_kernel(key, name) : *known;
    ++kernels_[number].launches;
    ++place_of(number, node).launches;
    ++launches_;
    return number;
  }

  /// A pass ends that counts.
  void end_pass() noexcept {
    for (place& each : places_) {
      each.min = is_counted_ ? smaller(each.min, each.launches) : each.launches;
      each.max = larger(each.max, each.launches);
    }
    for (kernel& each : kernels_) each.max = larger(each.max, each.launches);
    is_counted_ = true;
  }

  /// Different kernels, and launches in this pass so far.
  std::size_t size() const noexcept { return kernels_.size(); }
  std::uint64_t launches() const noexcept { return launches_; }
  std::uint64_t launches_of(std::uint32_t number) const noexcept {
    return kernels_[number].launches;
  }

  /// Adds values of the kernels, by number, to a profile that has its kernels. `counted`: by
  /// counter, how many launches of a kernel were counted in a pass at most.
  void copy_to(profile& target, vec<std::string> const& counters, vec<counter_value> const& values,
               vec<std::uint64_t> const& counted) const {
    flat_map<std::string, std::uint32_t> names;
    for (std::size_t i = 0; i < target.kernel_names.size(); ++i)
      names[target.kernel_names[i].mangled] = static_cast<std::uint32_t>(i + 1);
    counter_set& set = target.add_counters(counter_set::gpu_kernels);
    set.names = counters;
    vec<vec<double>> of_launch(kernels_.size());
    for (vec<double>& each : of_launch)
      each.resize(counters.size(), std::numeric_limits<double>::quiet_NaN());
    for (counter_value const& value : values) {
      if (value.node >= kernels_.size()) continue;
      bool const adds_up = combine_of(counters[value.counter]) == metric_combine::sum;
      std::uint64_t const launches =
          adds_up ? smaller(kernels_[value.node].max, counted[value.counter]) : 1;
      of_launch[value.node][value.counter] = value.value / static_cast<double>(launches);
    }
    for (place const& each : places_) {
      kernel const& what = kernels_[each.kernel];
      std::uint32_t& name = names[what.name];
      if (name == 0) {
        target.kernel_names.push_back({what.name});
        name = static_cast<std::uint32_t>(target.kernel_names.size());
      }
      counted_kernel made{each.node, name, each.min, each.max, of_launch[each.kernel]};
      for (std::size_t i = 0; i < counters.size(); ++i)
        if (combine_of(counters[i]) == metric_combine::sum)
          made.values[i] *= static_cast<double>(each.max);
      set.kernels.push_back(std::move(made));
    }
  }

 private:
  struct kernel {
    std::string name;
    std::uint64_t launches = 0;  // in this pass
    std::uint64_t max = 0;       // in a pass
  };
  /// A range, with its index, that launches a kernel.
  struct place {
    std::uint32_t kernel;
    std::uint32_t node;
    std::uint64_t launches = 0;  // in this pass
    std::uint64_t min = 0;
    std::uint64_t max = 0;
  };
  struct range {
    bool chosen;
    std::uint64_t path;  // hash of the names from the outermost on, without indices
  };

  std::uint32_t new_kernel(std::uint64_t key, std::string_view name) {
    auto const number = static_cast<std::uint32_t>(kernels_.size());
    kernels_.push_back({std::string(name)});
    numbers_[key] = number;
    return number;
  }

  place& place_of(std::uint32_t number, std::uint32_t node) {
    std::size_t& known = place_numbers_[std::uint64_t{number} << 32 | node];
    if (known == 0) {
      places_.push_back({number, node});
      known = places_.size();
    }
    return places_[known - 1];
  }

  void learn() {
    recorder_state& state = recorder::instance().state();
    vec<node_table::node> const nodes = state.nodes.nodes();
    vec<std::string> const texts = state.names.texts();
    for (std::size_t i = ranges_.size(); i < nodes.size(); ++i) {
      bool const is_root = i == root_node || nodes[i].parent >= i;
      range made{everything_, 0};
      if (!is_root) {
        range const& around = ranges_[nodes[i].parent];
        std::string const& name = texts[nodes[i].name];
        fnv1a hash;
        hash.add(around.path);
        hash.add(std::uint64_t{nodes[i].name});
        made.path = hash.value();
        made.chosen = made.chosen || around.chosen;
        for (std::string const& pattern : patterns_)
          made.chosen = made.chosen || matches(name, pattern);
      }
      ranges_.push_back(made);
    }
  }

  vec<std::string> patterns_;
  bool everything_ = false;
  vec<range> ranges_;  // by node
  vec<kernel> kernels_;
  vec<place> places_;
  number_map<std::uint32_t> numbers_;      // of kernels, by hash
  number_map<std::size_t> place_numbers_;  // from 1 on, by kernel and node
  std::uint64_t launches_ = 0;
  bool is_counted_ = false;  // a pass was
};

/// Hardware counters of single kernels within chosen ranges, in live steps: CUPTI counts a range
/// around a launch while the device does nothing else. Each step is one pass. A launch takes 1 ms
/// more for counters of the multiprocessors, 0.05 ms for those of memory (H200, CUDA 13.0), so that
/// in a step of many launches the first launch of each kernel stands for the rest. Threads: the one
/// that drives the steps. Devices: the one of the current context.
class kernel_counter_collector : public counted_passes {
 public:
  kernel_counter_collector(trace_control& trace, launch_trial& trial) noexcept
      : counted_passes(trace, trial) {}
  ~kernel_counter_collector() {
    close();
    trace_.unwatch(this);
  }

  /// Plans the counters of `request` for kernels in ranges with these names (`*`, `?`) and below
  /// them. Requires: no counter_collector is open. Errors: as counter_collector::open.
  status open(std::string_view request, vec<std::string> ranges, vec<status>& problems) {
    launches_.choose(std::move(ranges));
    return open_passes(request, device_profilers::which::current, problems);
  }

  /// The same for the kernels of these ranges themselves.
  status open(std::string_view request, vec<std::uint32_t> const& ranges, vec<status>& problems) {
    launches_.choose(ranges);
    return open_passes(request, device_profilers::which::current, problems);
  }

  /// Begins to count kernels, with room for those that earlier counting steps saw. Neither times
  /// nor device activity are recorded meanwhile.
  status begin_step(vec<counted_work> const& seen) noexcept {
    return as_memory_allows([&] { return begin_counting(seen); });
  }
  /// Ends the step and takes what was counted.
  status end_step() noexcept {
    return as_memory_allows([this] {
      stop();
      bool const counts = stage_ == stage::stopped && !attempt_.dropped && !attempt_.is_trial;
      if (counts) launches_.end_pass();
      return take_pass();
    });
  }

  /// Adds what was counted to a profile that has its kernels.
  void copy_to(profile& target) const {
    if (plan_.set.metrics.empty()) return;
    target.losses.counter_ranges_lost += plan_.devices.lost();
    launches_.copy_to(target, values_.names(), values_.values(), counted_);
    counter_set& set = target.add_counters(counter_set::gpu_kernels);
    set.metrics = plan_.set;
    set.left_out = plan_.left_out;
  }

  /// What a step has, once one was counted: different kernels, and launches.
  std::size_t kernels() const noexcept { return launches_.size(); }
  std::uint64_t launches_of_step() const noexcept { return launches_.launches(); }

 private:
  // Pushes in a pass: about 0.1 s (H200, CUDA 13.0).
  static constexpr std::size_t most_in_memory = 1024;
  static constexpr std::size_t most_in_multiprocessors = 96;

  status begin_counting(vec<counted_work> const& seen) {
    await_own_streams();
    end_last();
    leave_graphs_alone();
    if (done()) return {};
    std::string const why = why_not_wait();
    if (!why.empty()) {
      return give_up({errc::not_supported,
                      sentence("kernels=: single kernels are not counted beside ")
                          << why
                          << ", since each launch would wait for its kernel: leave kernels= out"});
    }
    note_seen(seen);
    capture_guard::exclusive const alone;
    status problem;
    if (!begin_pass_of_plan(trial_.passed() ? launches::wait : launches::are_tried,
                            static_cast<bool>(alone), problem))
      return problem;
    launches_.begin_pass();
    pushed_ = 0;
    turn_.end();
    if (trace_.watch(&launched, &moved, this)) return {};
    end_last();
    return give_up(
        {errc::not_supported, "kernels=: launches cannot be followed, so kernels have no names"});
  }

  /// The most launches of an earlier counting step.
  void note_seen(vec<counted_work> const& seen) noexcept {
    std::size_t now = 0;
    std::uint32_t pass = 0;
    for (counted_work const& work : seen) {
      if (work.pass != pass) now = 0;
      pass = work.pass;
      most_launches_ = larger(most_launches_, now += work.launches + work.foreign);
    }
  }

  /// All launches are counted where steps have few, else the first one of each kernel: the same
  /// ones in each pass. Sets counted_each_. CUPTI takes 0.65 ms for each push that there is room
  /// for (H200, CUDA 13.0).
  std::size_t room() noexcept override {
    for (std::size_t i = 0; i < plan_.configs.size(); ++i)
      if (plan_.is_of_multiprocessors(i) || plan_.instruments(i))
        most_pushes_ = most_in_multiprocessors;
    bool const counts_all = most_launches_ <= most_pushes_;
    counted_each_ = counts_all ? larger(most_launches_, std::size_t{1}) : 1;
    std::size_t const kernels = launches_.size();
    std::size_t const pushes = counts_all || kernels == 0 ? most_launches_ : kernels;
    return pushes == 0 ? most_in_memory : pushes + pushes / 4 + 32;
  }

  static void launched(void*, api_kind, cupti::api_data const&) {}
  static void moved(void* context, std::uint32_t) noexcept {
    auto& self = *static_cast<kernel_counter_collector*>(context);
    system_lock const lock(self.mutex_);
    (void)self.may_move();
  }

  void took(metric_config const& config) override {
    std::size_t const names = config.names().size();
    counted_.resize(values_.names().size() - names);
    counted_.resize(values_.names().size(), counted_each_);
  }

  /// A launch has the counted context for itself until it has ended: CUPTI would count another one.
  void launch_begins(gated_call const& call) noexcept override {
    bool const is_wait = call.waits != cupti::stream_wait::none || call.call == nullptr;
    if (is_wait || turn_.is_own() || !is_of_counted_context(call)) return;
    bool const has_turn = turn_.take([this] { return trace_.keeps_gate(); });
    if (has_turn) turn_call_.store(call.call->correlation_id);
    lock_of_call const lock(*this);
    if (!lock || !may_push()) return;
    if (!has_turn) return drop_for(pause_outcome::busy);
    if (!if_memory_allows([&] { push_launch(call); })) attempt_.dropped = true;
  }
  void launch_ended(gated_call const& call) noexcept override {
    if (call.call == nullptr || !turn_.is_own() || turn_call_.load() != call.call->correlation_id)
      return;
    {
      lock_of_call const lock(*this);
      if (lock && may_push() && attempt_.pushed) end_launch();
    }
    turn_.end();
  }
  bool is_of_counted_context(gated_call const& call) noexcept {
    lock_of_call const lock(*this);
    return lock && counts_context_of(call);
  }

  void push_launch(gated_call const& call) {
    if (call.kind != api_kind::launch) return;
    char const* const name = call.call->symbol_name == nullptr ? "" : call.call->symbol_name;
    std::uint32_t const kernel =
        launches_.add(recorder::work_node(), name, launch_shape::read(*call.call));
    if (attempt_.is_trial || kernel == kernel_launches::not_chosen ||
        launches_.launches_of(kernel) > counted_each_)
      return;
    if (counted_each_ > 1 && pushed_++ >= most_pushes_) {  // from now on the first ones are counted
      most_launches_ = most_pushes_ + 1;
      return (void)(attempt_.dropped = true);
    }
    change_range([&] { push(kernel); });
  }
  void end_launch() noexcept {
    change_range([this] { leave(); });
  }
  /// Once the device has done its work, while no capture can begin; else the pass does not count.
  template <class Change>
  void change_range(Change change) noexcept {
    pause_outcome const outcome = control_.await_launch([] { return true; });
    capture_guard::exclusive const alone;
    if (outcome == pause_outcome::paused && alone) return change();
    drop_for(alone ? outcome : pause_outcome::captures);
  }

  kernel_launches launches_;
  vec<std::uint64_t> counted_;    // by counter: how many launches of a kernel were, at most
  std::size_t counted_each_ = 1;  // of the configuration under way
  std::size_t most_pushes_ = most_in_memory;  // in a pass
  std::size_t pushed_ = 0;                    // in this pass
  std::size_t most_launches_ = 0;             // of an earlier counting step
  launch_turn turn_;
  atomic<std::uint32_t> turn_call_{0};  // the call that has it
};

}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_COUNTERS_KERNEL_COUNTERS_HPP
