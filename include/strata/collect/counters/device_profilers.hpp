#ifndef STRATA_COLLECT_COUNTERS_DEVICE_PROFILERS_HPP
#define STRATA_COLLECT_COUNTERS_DEVICE_PROFILERS_HPP

#include <strata/collect/counters/chip_metrics.hpp>
#include <strata/collect/counters/range_profiler.hpp>
#include <strata/collect/host/recorder.hpp>

STRATA_BEGIN
namespace detail {

/// The range profilers of all devices that the thread which drives the steps works on, driven as
/// one: a range is pushed on each of them. Devices of other threads are left alone: to wait for one
/// in the middle of a step could wait for ever, say for a collective that needs this thread.
/// Threads: as range_profiler.
class device_profilers {
 public:
  enum class which : unsigned char { current, all };

  /// The device of the current context, and with `all` every other of the same chip that this
  /// thread put work on in this session. `problems` takes a sentence for each device that is left
  /// out. Errors: those of the current device.
  status open(profiler_library const& library, which devices, std::uint32_t session,
              vec<status>& problems) {
    driver::context_handle const context = capture_guard::current();
    driver::device_handle device = 0;
    if (context == nullptr ||
        !driver::succeeds(driver_library::get().api.context_device, &device)) {
      return {errc::unavailable,
              "counters: the thread that drives the steps has no CUDA context; call the CUDA "
              "runtime in it before"};
    }
    close();
    contexts_.clear();
    contexts_.emplace_back(context, device);
    capture_guard::saw(context);  // so that its end is seen
    status const done = contexts_[0].profiler.open(library, context, device);
    if (!done) return done;
    thread_contexts::for_each(session, [&](driver::context_handle other) {
      if (other == context || !capture_guard::lives(other)) return;
      left_out_.push_back(other);
      if (devices == which::all && open_other(library, other, problems)) left_out_.pop_back();
    });
    return {};
  }

  bool is_open() const noexcept { return !contexts_.empty() && contexts_[0].profiler.is_open(); }
  bool several() const noexcept { return contexts_.size() > 1; }
  std::string const& chip() const noexcept {
    static std::string const none;
    return contexts_.empty() ? none : contexts_[0].profiler.chip();
  }
  counter_images& images() noexcept { return contexts_[0].profiler.images(); }
  /// As the driver numbers them.
  vec<std::uint32_t> devices() const {
    vec<std::uint32_t> all;
    for (profiled_context const& profiled : contexts_)
      all.push_back(static_cast<std::uint32_t>(profiled.device));
    all.sort();
    return all;
  }

  /// Makes what the first device counts with for the others too, since CUPTI's host object has
  /// values of one device: those of another's SMs are NaN (H200, CUDA 13.0). `problems` takes a
  /// sentence for each device that cannot count so: it is left out.
  void adapt(vec<metric_config> const& configs, vec<status>& problems) {
    for (std::size_t i = 1; i < contexts_.size();) {
      profiled_context& profiled = contexts_[i];
      status const done = adapt(configs, chip(), profiled);
      if (done.ok()) {
        ++i;
        continue;
      }
      problems.emplace_back(done.code(), sentence("counters: device ")
                                             << profiled.device
                                             << " is not counted: " << done.message());
      left_out_.push_back(profiled.context);
      close(profiled);
      contexts_.erase(&profiled);
    }
  }

  /// As range_profiler::configure, on each.
  status configure(metric_config& config, std::size_t max_ranges) {
    return on_all([&](profiled_context& profiled) {
      profiled.worked.clear();
      return profiled.profiler.configure(profiled.its(config), max_ranges);
    });
  }
  /// Starts all or none.
  status start() {
    std::size_t started = 0;
    status const done = on_all([&](profiled_context& profiled) {
      status const its = profiled.profiler.start();
      if (its) ++started;
      return its;
    });
    bool complete = false;
    if (!done) (void)stop(complete, started);
    return done;
  }
  /// Stops all, also where one fails.
  status stop(bool& complete) { return stop(complete, contexts_.size()); }

  void push(std::uint32_t range) noexcept {
    on_living([&](range_profiler& profiler) { profiler.push(range); });
  }
  void pop() noexcept {
    on_living([](range_profiler& profiler) { profiler.pop(); });
  }

  /// The program puts work on a device while a range is counted. Work of graphs and of copies
  /// between devices is another device's too.
  void launched(std::uint32_t range, api_kind kind, cupti::api_data const& call) {
    if (!several()) return;
    bool const peer = kind == api_kind::copy && is_between_devices(call);
    for (profiled_context& profiled : contexts_)
      if (profiled.context == call.context || peer || kind == api_kind::graph_launch)
        profiled.mark(range);
  }
  /// Whether a copy reads one device's memory and writes another's: by its name, or, with unified
  /// addresses, by its pointers.
  static bool is_between_devices(cupti::api_data const& call) noexcept {
    // Those that begin with a destination and a source; a suffix (_v2, _ptds, ...) may follow.
    constexpr std::string_view by_pointers[] = {"cuMemcpy", "cuMemcpyAsync", "cuMemcpyDtoD",
                                                "cuMemcpyDtoDAsync"};
    if (call.function_name == nullptr) return false;
    std::string_view const name = call.function_name;
    if (name.find("Peer") != std::string_view::npos) return true;
    bool known = false;
    for (std::string_view const prefix : by_pointers) {
      bool const begins = name.substr(0, prefix.size()) == prefix;
      known = known || (begins && (name.size() == prefix.size() || name[prefix.size()] == '_'));
    }
    if (!known || call.function_params == nullptr) return false;
    auto const* const addresses = static_cast<unsigned long long const*>(call.function_params);
    driver_library const& driver = driver_library::get();
    int const destination = driver.device_of(addresses[0]);
    int const source = driver.device_of(addresses[1]);
    return destination >= 0 && source >= 0 && destination != source;
  }
  /// Goes on with the current device alone.
  void leave_out_others() {
    while (several()) {
      left_out_.push_back(contexts_.back().context);
      close(contexts_.back());
      contexts_.pop_back();
    }
  }
  /// Launches are not reported: every device counts in every range.
  void launches_are_unknown() noexcept { launches_unknown_ = true; }

  /// Whether this context's work is known to be another device's than those that are counted.
  bool leaves_out(driver::context_handle context) const noexcept {
    return left_out_.contains(context);
  }
  /// Whether this context was there when the profilers were opened, counted or left out.
  bool knows(driver::context_handle context) const noexcept {
    for (profiled_context const& profiled : contexts_)
      if (profiled.context == context) return true;
    return leaves_out(context);
  }

  /// Whether the passes should be made again, with more room on one of them.
  bool should_repeat() noexcept {
    bool again = false;
    for (profiled_context const& profiled : contexts_)
      again = again || profiled.profiler.pushed().should_repeat();
    for (profiled_context& profiled : contexts_) {
      if (again) {
        profiled.profiler.pushed().repeat();
      } else {
        profiled.profiler.pushed().accept();
      }
    }
    return again;
  }
  /// The passes since `configure` do not count, and are made again.
  void forgive() noexcept {
    for (profiled_context& profiled : contexts_) profiled.profiler.pushed().forgive();
  }
  /// On the device that lost most.
  std::uint64_t lost() const noexcept {
    std::uint64_t most = 0;
    for (profiled_context const& profiled : contexts_)
      most = larger(most, profiled.profiler.pushed().lost());
    return most;
  }
  status problem() const {
    for (profiled_context const& profiled : contexts_) {
      status const its = profiled.profiler.problem();
      if (!its.ok()) return its;
    }
    return {};
  }

  /// As range_profiler::read: the values of one device after those of another, and none where one
  /// device fails. A device on which a range had no work is not in it; a range of which a device
  /// lost a part is left out.
  status read(metric_config& config, counted_sink sink) {
    if (!several()) return contexts_[0].profiler.read(config, sink);
    struct counted_range {
      std::uint32_t range;
      vec<double> values;
    };
    vec<vec<counted_range>> all;
    vec<std::size_t> parts;  // by range
    status const done = on_all([&](profiled_context& profiled) {
      vec<counted_range>& own = all.emplace_back();
      return profiled.profiler.read(profiled.its(config),
                                    [&](std::uint32_t range, vec<double> const& v) {
                                      if (!has_work_in(profiled, range)) return;
                                      if (range >= parts.size())
                                        parts.resize(range + std::size_t{1});
                                      ++parts[range];
                                      own.push_back({range, v});
                                    });
    });
    if (!done) return done;
    for (vec<counted_range> const& own : all) {
      for (counted_range const& counted : own) {
        std::size_t wanted = 0;
        for (profiled_context const& m : contexts_) wanted += has_work_in(m, counted.range);
        if (parts[counted.range] == wanted) sink(counted.range, counted.values);
      }
    }
    return {};
  }

  void abandon() {
    for (profiled_context& profiled : contexts_) profiled.profiler.abandon();
  }
  void close() noexcept {
    for (profiled_context& profiled : contexts_) close(profiled);
  }

 private:
  struct profiled_context {
    profiled_context(driver::context_handle in, driver::device_handle gpu)
        : context(in), device(gpu) {}

    void mark(std::uint32_t range) {
      if (range >= worked.size()) worked.resize(range + std::size_t{1});
      worked[range] = true;
    }

    /// This device's form of a configuration of the first device.
    metric_config& its(metric_config& first) noexcept {
      for (metric_config& config : own)
        if (config.names() == first.names()) return config;
      return first;
    }

    driver::context_handle context;
    driver::device_handle device;
    range_profiler profiler;
    vec<metric_config> own;  // of every device but the first
    vec<bool> worked;        // by range, since `configure`
  };

  static status adapt(vec<metric_config> const& configs, std::string const& chip,
                      profiled_context& profiled) {
    for (metric_config const& first : configs) {
      status const done =
          configure_counters(profiler_library::get(), chip, profiled.profiler.images(),
                             first.names(), profiled.own.emplace_back());
      if (!done) return done;
      if (profiled.own.back().passes() != first.passes())
        return {errc::not_supported, "it takes another number of passes than the first one"};
    }
    return {};
  }

  /// To be made current; null where the only one is used, as it is.
  driver::context_handle context_of(profiled_context const& profiled) const noexcept {
    return several() ? profiled.context : nullptr;
  }

  bool has_work_in(profiled_context const& profiled, std::uint32_t range) const noexcept {
    return launches_unknown_ || (range < profiled.worked.size() && profiled.worked[range]);
  }

  /// Whether the program destroyed the context, and with it CUPTI's objects in it.
  static bool is_gone(profiled_context& profiled) noexcept {
    if (capture_guard::lives(profiled.context)) return false;
    profiled.profiler.forget();
    return true;
  }

  void close(profiled_context& profiled) noexcept {
    if (is_gone(profiled)) return;
    context_scope const here(context_of(profiled));
    if (here) profiled.profiler.close();
  }

  /// For ranges: the profiler reports what fails when the pass ends.
  template <class Action>
  void on_living(Action action) noexcept {
    for (profiled_context& profiled : contexts_) {
      if (several() && is_gone(profiled)) continue;
      context_scope const here(context_of(profiled));
      if (here) action(profiled.profiler);
    }
  }

  status stop(bool& complete, std::size_t count) {
    status first;
    complete = true;
    for (std::size_t i = 0; i < count; ++i) {
      bool ended = false;
      status const done = on(
          contexts_[i], [&](profiled_context& profiled) { return profiled.profiler.stop(ended); });
      complete = complete && ended;
      if (first.ok()) first = done;
    }
    return first;
  }

  status on(profiled_context& profiled, callback<status(profiled_context&)> action) {
    if (is_gone(profiled)) {
      return {errc::unavailable, sentence("counters: the context of device ")
                                     << profiled.device << " was destroyed while it was counted"};
    }
    context_scope const here(context_of(profiled));
    if (here) return action(profiled);
    return {errc::unavailable, sentence("counters: the context of device ")
                                   << profiled.device << " cannot be made current"};
  }

  status on_all(callback<status(profiled_context&)> action) {
    for (profiled_context& profiled : contexts_) {
      status done = on(profiled, action);
      if (!done) return done;
    }
    return {};
  }

  bool open_other(profiler_library const& library, driver::context_handle context,
                  vec<status>& problems) {
    context_scope const here(context);
    driver::device_handle device = 0;
    if (!here || !driver::succeeds(driver_library::get().api.context_device, &device)) return false;
    std::string const name = sentence("counters: device ") << device;
    for (profiled_context const& profiled : contexts_) {
      if (profiled.device != device) continue;
      problems.emplace_back(errc::not_supported,
                            name +
                                " has several contexts, of which one is counted: the one of "
                                "the thread that drives the steps, if it is of this device");
      return false;
    }
    contexts_.reserve(contexts_.size() + 1);  // what is open stays known, however short memory is
    profiled_context made(context, device);
    status const done = made.profiler.open(library, context, device);
    if (!done) {
      problems.emplace_back(done.code(), sentence(name) << " is not counted: " << done.message());
      return false;
    }
    if (made.profiler.chip() != chip()) {
      made.profiler.close();
      problems.emplace_back(errc::not_supported, sentence(name)
                                                     << " is not counted: it is a "
                                                     << made.profiler.chip() << ", the first one a "
                                                     << chip() << "; run on devices of one kind");
      return false;
    }
    contexts_.push_back(std::move(made));
    return true;
  }

  vec<profiled_context> contexts_;
  vec<driver::context_handle> left_out_;  // of this thread's contexts
  bool launches_unknown_ = false;
};

/// What to count, and the profilers that do it.
struct pass_plan {
  device_profilers devices;
  chip_metrics host;
  metric_set set;
  vec<metric_config> configs;  ///< each counted apart

  vec<absent_metric> left_out;  ///< counters of `set` that the program's work does not go with

  /// Whether this configuration counts by instrumented code (SASS). Each launch in a range then
  /// waits for its kernel: see launch_trial. It does not go with CUDA graphs: their kernels count
  /// 0, and one that is captured within a counted range may end in an illegal address, which would
  /// break the program (seen on an H200, CUDA 13.0).
  bool instruments(std::size_t config) const noexcept {
    for (std::string const& name : configs[config].names())
      if (instruments_kernels(name)) return true;
    return false;
  }

  /// Whether this configuration counts something in the multiprocessors or in L1.
  bool is_of_multiprocessors(std::size_t config) const noexcept {
    for (std::string const& name : configs[config].names())
      if (location_of(name) == metric_location::sm) return true;
    return false;
  }

  /// Whether this configuration is of a format of the tensor cores, and counted only where those
  /// before it do not explain what they did.
  bool is_conditional(std::size_t config) const noexcept {
    for (std::string const& name : configs[config].names())
      if (!is_conditional_format(name)) return false;
    bool has_cycles = false;  // CUPTI may have refused them
    for (std::size_t earlier = 0; earlier < config; ++earlier)
      has_cycles = has_cycles || configs[earlier].names().contains(tensor_cycles);
    return has_cycles;
  }

  /// What prevents counting by instrumented code, and what to do.
  struct hindrance {
    std::string beside;
    std::string advice;
  };

  /// Leaves out the configurations from this one on that instrument kernels, which are the last
  /// ones; `problems` takes a sentence that names what is lost. Returns: how many passes they had.
  std::size_t leave_out_instrumented(std::size_t first, hindrance const& why,
                                     vec<status>& problems) {
    std::size_t passes = 0;
    for (; configs.size() > first && instruments(configs.size() - 1); configs.pop_back()) {
      passes += configs.back().passes();
      for (std::string const& name : configs.back().names()) {
        if (!instruments_kernels(name)) continue;
        left_out.push_back({name, sentence("left out because of ")
                                      << why.beside << ": " << name << " instruments kernels; "
                                      << why.advice});
      }
    }
    if (passes != 0)
      problems.emplace_back(errc::not_supported,
                            sentence("counters: with ")
                                << why.beside << ", counters that instrument kernels are left out: "
                                << shortened(lost_keys()) << "; " << why.advice);
    return passes;
  }
  std::size_t leave_graphs_alone(std::size_t first, vec<status>& problems) {
    return leave_out_instrumented(first, {"CUDA graphs", "switch graphs off to count it"},
                                  problems);
  }

  /// Whether some of what is asked for may be counted by instrumented code.
  static bool may_instrument(std::string_view request) {
    metric_set const set =
        resolve_metrics(expand_metrics(request), [](std::string const&) { return true; });
    for (std::string const& name : set.counters())
      if (instruments_kernels(name)) return true;
    return false;
  }

  /// Whether a chip may have some of the names; a problem for each that none has.
  static bool is_known(std::string_view request, vec<status>& problems) {
    metric_set const set =
        resolve_metrics(expand_metrics(request), [](std::string const&) { return true; });
    add_unknown(set, problems);
    return !set.metrics.empty();
  }

  /// A problem for each name that no chip has, once: the start of the session has said it.
  static void add_unknown(metric_set const& set, vec<status>& problems) {
    for (unknown_metric const& name : set.unknown) {
      bool said = false;
      for (status const& known : problems) said = said || known.message() == name.message();
      if (!said) problems.emplace_back(errc::bad_argument, name.message());
    }
  }

  /// A problem for what the chip lacks and was asked for by its own name, or as a preset of which
  /// nothing is left; and for bytes of memory, which every chip should have. What else a preset has
  /// for other chips, such as a format of tensor cores, is absent in the files, with the reason.
  static void add_absent(std::string_view request, metric_set const& set, vec<status>& problems) {
    auto const add = [&problems](std::string const& what, absent_metric const& missing) {
      std::string const text = sentence(what) << " cannot be counted: " << missing.reason;
      for (status const& said : problems)
        if (said.message() == text) return;
      problems.emplace_back(errc::not_supported, text);
    };
    while (!request.empty()) {
      std::string const item(take_until(request, "+, \t"));
      vec<std::string> const names = expand_metrics(item);
      vec<absent_metric const*> absent;
      for (absent_metric const& missing : set.absent)
        if (names.contains(missing.key)) absent.push_back(&missing);
      if (!absent.empty() && absent.size() == names.size()) {
        add(item, *absent[0]);
        continue;
      }
      for (absent_metric const* const missing : absent) {
        metric const* const entry = find_metric(missing->key);
        if (entry != nullptr && entry->level() >= metric_level::l1 &&
            entry->level() <= metric_level::hbm)
          add(missing->key, *missing);
      }
    }
  }

  /// As counter_collector::open.
  status open(std::string_view request, device_profilers::which counted, std::uint32_t session,
              vec<status>& problems) {
    driver_library const& driver = driver_library::get();
    profiler_library const* const there = driver.ok() ? &profiler_library::get() : nullptr;
    if (there == nullptr || !there->ok()) {
      (void)is_known(request, problems);
      return {errc::unavailable, there == nullptr ? driver.problem : there->problem};
    }
    profiler_library const& library = *there;
    status done = devices.open(library, counted, session, problems);
    if (!done) return done;
    done = host.open(library, devices.chip(), devices.images());
    if (!done) return done;
    set = host.resolve(expand_metrics(request));
    add_unknown(set, problems);
    add_absent(request, set, problems);
    if (set.metrics.empty()) return {errc::bad_argument, "counters: nothing is left to count"};
    for (metric_group const& group : group_metrics(set))
      host.configure_apart(group.counters, configs, problems);
    devices.adapt(configs, problems);
    return configs.empty() ? status{errc::not_supported, "counters: CUPTI refused every group"}
                           : status{};
  }

 private:
  bool is_left_out(std::string_view counter) const noexcept {
    for (absent_metric const& known : left_out)
      if (known.key == counter) return true;
    return false;
  }

  /// Keys of the metrics that need what is left out, also by way of others.
  vec<std::string> lost_keys() const {
    vec<std::string> lost;
    for (resolved_metric const& candidate : set.metrics) {
      bool needs = false;
      for_each_name(candidate.formula, [&](std::string_view name, bool) {
        needs = needs || is_left_out(name) || lost.contains(name);
      });
      if (needs) lost.push_back(candidate.key);
    }
    return lost;
  }

  /// "A, B, C, D and 3 more".
  static std::string shortened(vec<std::string> const& keys) {
    constexpr std::size_t most_named = 4;  // so that the sentence takes a line or two
    std::size_t const named = keys.size() > most_named + 1 ? most_named : keys.size();
    std::string text;
    for (std::size_t i = 0; i < named; ++i) add_part(text, keys[i]);
    if (named < keys.size()) text += sentence(" and ") << keys.size() - named << " more";
    return text;
  }
};

}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_COUNTERS_DEVICE_PROFILERS_HPP
