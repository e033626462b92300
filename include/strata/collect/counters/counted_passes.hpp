#ifndef STRATA_COLLECT_COUNTERS_COUNTED_PASSES_HPP
#define STRATA_COLLECT_COUNTERS_COUNTED_PASSES_HPP

#include <strata/collect/counters/counting_pass.hpp>
#include <strata/profile/tensor_formats.hpp>

STRATA_BEGIN
namespace detail {

/// What was counted so far, one configuration after the other. The last one may be counted anew:
/// what is there of it is valid until then.
class counter_readout {
 public:
  /// Adds what the devices counted in the last steps, as many as the configuration has passes.
  /// Errors: those of the devices; of several devices all or nothing is taken.
  status take(device_profilers& devices, metric_config& config, std::size_t steps_done) {
    forget_last();
    auto const first = static_cast<std::uint32_t>(names_.size());
    names_.insert(names_.end(), config.names().begin(), config.names().end());
    auto const steps = static_cast<std::uint32_t>(config.passes());
    origins_.resize(names_.size(), {static_cast<std::uint32_t>(steps_done) - steps, steps});
    return devices.read(config, [&](std::uint32_t node, vec<double> const& values) {
      for (std::size_t i = 0; i < values.size(); ++i)
        values_.push_back({node, first + static_cast<std::uint32_t>(i), values[i]});
    });
  }

  /// The last configuration, of this many names, is counted anew.
  void repeat(std::size_t names) {
    again_ = names;
    std::size_t const kept = names_.size() - names;
    values_again_ = 0;
    while (values_again_ < values_.size() &&
           values_[values_.size() - values_again_ - 1].counter >= kept)
      ++values_again_;
  }

  /// Whether the formats that were counted are all that the tensor cores worked on.
  bool tensor_work_is_explained() const { return tensor_work(names_, values_).is_explained(); }

  /// Counters that need not be counted, since they are 0: in each range that has the tensor cores'
  /// cycles, of the same passes.
  void take_zeros(vec<std::string> const& counters) {
    std::size_t const cycles = names_.index_of(tensor_cycles);
    if (cycles >= names_.size()) return;
    std::size_t const counted = values_.size();
    for (std::string const& counter : counters) {
      auto const position = static_cast<std::uint32_t>(names_.size());
      names_.push_back(counter);
      origins_.push_back(counter_origin(origins_[cycles]));
      for (std::size_t i = 0; i < counted; ++i)
        if (values_[i].counter == cycles) values_.push_back({values_[i].node, position, 0.0});
    }
  }

  vec<std::string> const& names() const noexcept { return names_; }
  vec<counter_value> const& values() const noexcept { return values_; }

  void copy_to(counter_set& set) const {
    set.names = names_;
    set.values = values_;
    set.origins = origins_;
  }

 private:
  void forget_last() {
    values_.resize(values_.size() - std::exchange(values_again_, std::size_t{0}));
    names_.resize(names_.size() - std::exchange(again_, std::size_t{0}));
    origins_.resize(names_.size());
  }

  vec<std::string> names_;
  vec<counter_origin> origins_;  // of the names
  vec<counter_value> values_;
  std::size_t again_ = 0;         // names, the last ones, that are counted anew,
  std::size_t values_again_ = 0;  // and their values
};

/// One configuration of a plan after the other, each counted in as many passes as CUPTI needs: what
/// the collectors of ranges and of kernels share. What is counted is pushed under its number.
class counted_passes : public pass_driver {
 public:
  /// How many steps count.
  std::size_t passes() const noexcept { return passes_; }
  std::size_t passes_done() const noexcept { return passes_done_; }
  /// What each range launched in each pass that counted.
  vec<counted_work> const& work() const noexcept { return work_.passes(); }
  /// The ranges that launched kernels of several names.
  vec<std::uint32_t> const& mixed() const noexcept { return work_.mixed(); }

 protected:
  counted_passes(trace_control& trace, launch_trial& trial) noexcept : pass_driver(trace, trial) {}
  ~counted_passes() = default;

  /// Room for this many pushes in each pass of the next configuration.
  virtual std::size_t room() noexcept = 0;
  /// A configuration was taken.
  virtual void took(metric_config const&) {}

  /// As open_plan.
  status open_passes(std::string_view request, device_profilers::which counted,
                     vec<status>& problems) {
    status const planned = open_plan(request, counted, problems);
    for (std::size_t config = 0; config < plan_.configs.size(); ++config)
      if (!plan_.is_conditional(config)) passes_ += plan_.configs[config].passes();
    return planned;
  }

  /// As pass_driver::begin, for a pass of the configuration that is next.
  bool begin_pass_of_plan(launches how, bool alone, status& problem) {
    return begin([this] { return prepare(); }, how, alone, problem);
  }

  status take_pass() {
    if (stage_ != stage::stopped) return {};
    capture_guard::exclusive const alone;
    if (attempt_.dropped || !alone) {
      drop();
      return after_drop();
    }
    stage_ = stage::none;
    skipped_.count = 0;
    if (attempt_.is_trial) {
      work_.end(false);
      leave_waiting_work_alone();
      return {};
    }
    if (done()) return {};
    if (!attempt_.outcome) return give_up(attempt_.outcome);
    if (attempt_.met_other_device) {
      (void)give_notice(
          {errc::not_supported,
           "counters: the thread that drives the steps used a device in a counting step that it "
           "had not used before: that device is not counted; use it in the timed steps too"});
    }
    work_.end(true);
    ++passes_done_;
    ++passes_together_;
    if (!attempt_.complete) return {};
    metric_config& config = plan_.configs[config_index_++];
    status const read = values_.take(plan_.devices, config, passes_done_);
    configured_ = false;
    if (!read.ok()) return give_up(read);
    took(config);
    if (plan_.devices.should_repeat()) return repeat();
    passes_together_ = 0;
    if (!plan_.devices.problem().ok()) problems_.push_back(plan_.devices.problem());
    choose_formats();
    return {};
  }

  /// A pass that broke off takes those with it that CUPTI needs with it.
  void drop() noexcept override {
    if (stage_ != stage::stopped) return;
    pass_driver::drop();
    work_.end(false);
    forget_passes();
    configured_ = false;
  }

  /// Leaves out what would break the program's CUDA graphs.
  void leave_graphs_alone() {
    if (configured_ || done() || !control_.saw_graphs()) return;
    passes_ -= plan_.leave_graphs_alone(config_index_, problems_);
  }

  /// Leaves out what would have the program's launches wait for work that waits for the program.
  void leave_waiting_work_alone() {
    if (done() || !plan_.instruments(config_index_) || why_not_instrument().empty()) return;
    forget_passes();
    configured_ = false;
    skipped_.count = 0;
    passes_ -= leave_waits_alone(config_index_, problems_);
  }

  status give_notice(status what) {
    problems_.push_back(what);
    return what;
  }

  counter_readout values_;
  pass_fingerprint work_;
  std::size_t passes_ = 0;
  std::size_t passes_done_ = 0;

 private:
  status prepare() {
    status ready = start();
    if (!ready.ok() && passes_done_ == 0 && plan_.devices.several()) {
      (void)give_notice({ready.code(), ready.message() + "; the current device alone is counted"});
      plan_.devices.leave_out_others();
      configured_ = false;
      ready = start();
    }
    return ready;
  }
  status start() {
    status ready;
    if (!configured_) ready = plan_.devices.configure(plan_.configs[config_index_], room());
    configured_ = ready.ok();
    return ready.ok() ? plan_.devices.start() : ready;
  }

  /// Makes the last passes again, with room for all that is pushed.
  status repeat() {
    values_.repeat(plan_.configs[--config_index_].names().size());
    forget_passes();
    return {};
  }
  /// Those that belong together.
  void forget_passes() noexcept {
    passes_done_ -= std::exchange(passes_together_, std::size_t{0});
    work_.forget_from(static_cast<std::uint32_t>(passes_done_));
  }

  /// Passes by the formats of the tensor cores that explain nothing more.
  void choose_formats() {
    while (!done() && plan_.is_conditional(config_index_)) {
      metric_config const& config = plan_.configs[config_index_];
      if (!values_.tensor_work_is_explained()) {
        passes_ += config.passes();
        return;
      }
      values_.take_zeros(config.names());
      took(config);
      ++config_index_;
    }
  }

  std::size_t passes_together_ = 0;  // of those done, the ones of the configuration under way
  bool configured_ = false;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_COUNTERS_COUNTED_PASSES_HPP
