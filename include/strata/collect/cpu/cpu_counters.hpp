#ifndef STRATA_COLLECT_CPU_CPU_COUNTERS_HPP
#define STRATA_COLLECT_CPU_CPU_COUNTERS_HPP

#include <strata/collect/cpu/perf_events.hpp>
#include <strata/collect/host/recorder.hpp>
#include <strata/profile/metric_resolver.hpp>
#include <strata/status.hpp>

STRATA_BEGIN
namespace detail {

/// Why the kernel refused an event: what forbids it, and the fix.
struct perf_reason {
  errc code = errc::ok;
  std::string text;  ///< one sentence without a full stop

  /// `some_hardware`: other events of the hardware can be counted.
  static perf_reason explain(int error, perf_event const& event, bool some_hardware,
                             perf_system const& system) {
    switch (error) {
      case EACCES:
      case EPERM:
        return not_permitted(error, event, system);
      case ENOENT:
      case ENODEV:
      case ENXIO:
      case EOPNOTSUPP:
        if (event.set != perf_set::software && !some_hardware) {
          return {
              errc::not_supported,
              sentence("the kernel has no hardware counters here")
                  << number(error)
                  << ", as in a virtual machine without a virtual PMU; run on the host, or give "
                     "the machine one"};
        }
        return {errc::not_supported, "this CPU or its kernel does not count it" + number(error)};
      case ENOSYS:
        return {errc::unavailable,
                sentence("there is no perf_event_open")
                    << number(error)
                    << ": it needs Linux with CONFIG_PERF_EVENTS, and no sandbox that hides it"};
      case EMFILE:
      case ENFILE:
        return {errc::limit, sentence("no file descriptor is left")
                                 << number(error)
                                 << "; a counter needs one: raise the limit (ulimit -n)"};
      case EBUSY:
        return {errc::busy, sentence("another profiler holds the counters")
                                << number(error) << "; end it"};
      default:
        return {errc::internal, "the kernel refused it" + number(error)};
    }
  }

 private:
  static std::string number(int error) {
    struct known {
      int error;
      char const* name;
    };
    constexpr known all[] = {{EACCES, "EACCES"}, {EPERM, "EPERM"},   {ENOENT, "ENOENT"},
                             {ENODEV, "ENODEV"}, {ENXIO, "ENXIO"},   {EOPNOTSUPP, "EOPNOTSUPP"},
                             {ENOSYS, "ENOSYS"}, {EMFILE, "EMFILE"}, {ENFILE, "ENFILE"},
                             {EBUSY, "EBUSY"},   {EINVAL, "EINVAL"}};
    for (known const& candidate : all)
      if (candidate.error == error) return sentence(" (") << candidate.name << ')';
    return sentence(" (error ") << error << ')';
  }

  static perf_reason not_permitted(int error, perf_event const& event, perf_system const& system) {
    int const most = event.in_kernel ? 1 : 2;
    int const level = system.paranoid();
    std::string const refused = "perf_event_open is forbidden" + number(error);
    if (level > most) {
      std::string const wanted = sentence() << most;
      return {errc::not_permitted, sentence(refused)
                                       << ": /proc/sys/kernel/perf_event_paranoid is " << level
                                       << "; set it to " << wanted
                                       << " (sysctl kernel.perf_event_paranoid=" << wanted
                                       << "), or give the program CAP_PERFMON"};
    }
    std::string const setting =
        level == perf_system::no_paranoid
            ? std::string(" and /proc/sys/kernel/perf_event_paranoid cannot be read")
            : sentence(" although /proc/sys/kernel/perf_event_paranoid is ")
                  << level << ", which allows it";
    return {errc::not_permitted,
            sentence(refused)
                << setting
                << ": in a container its seccomp profile forbids it (Docker's does by default: run "
                   "with --cap-add PERFMON, or --security-opt seccomp=unconfined), else SELinux or "
                   "AppArmor"};
  }
};

/// An event that was asked for, and what came of it.
struct perf_wish {
  perf_event const* event;
  int error = 0;             ///< of the kernel
  perf_reason refused{};     ///< what the error means
  std::string time_names{};  ///< of its group, as in formulas; empty where nothing is scaled
};

/// What `cpu+cpu_cycles` asks for: the events, and once these are open, the metrics.
class perf_request {
 public:
  explicit perf_request(std::string_view request) {
    while (!request.empty()) {
      std::string_view const item = trimmed(take_until(request, "+, \t"));
      if (item == "cpu") {
        for (metric const& entry : metric_list{metric_source::perf}) want(entry);
      } else if (metric const* const entry = find_metric(item, metric_source::perf)) {
        want(*entry);
      } else if (!item.empty()) {
        wanted_.emplace_back(item);
      }
    }
  }

  vec<perf_wish>& wishes() noexcept { return wishes_; }

  /// Requires: what came of the events is known.
  metric_set resolve() {
    auto const why_not = [](void* request, std::string const& counter) {
      return static_cast<perf_request*>(request)->wish_of(counter)->refused.text;
    };
    metric_set set = metric_resolver(metric_source::perf, why_not, this).run(wanted_);
    for (resolved_metric& metric : set.metrics) {
      if (metric.derived) continue;
      std::string const group = wish_of(metric.formula)->time_names;
      if (group.empty()) continue;
      metric.counters.push_back(sentence("perf__") << group << "_enabled.sum");
      metric.counters.push_back(sentence("perf__") << group << "_running.sum");
      metric.formula += sentence(" * (")
                        << metric.counters[1] << " / " << metric.counters[2] << ')';
    }
    return set;
  }

 private:
  void want(metric const& entry) {
    if (wanted_.contains(entry.key())) return;
    if (perf_event const* const event = find_perf_event(entry.formula())) {
      wishes_.push_back({event});
    } else {
      for_each_name(entry.formula(), [&](std::string_view key, bool) {
        if (metric const* const input = find_metric(key, metric_source::perf)) want(*input);
      });
    }
    wanted_.emplace_back(entry.key());
  }

  /// Requires: a counter of a metric that is wanted.
  perf_wish const* wish_of(std::string_view counter) const noexcept {
    perf_wish const* wish = wishes_.begin();
    while (wish->event->counter != counter) ++wish;
    return wish;
  }

  vec<std::string> wanted_;  ///< inputs come before what is derived from them; unknown names too
  vec<perf_wish> wishes_;
};

/// Opens the events of a request for a thread, 0: the calling one.
class perf_opener {
 public:
  struct opened {
    vec<perf_group> groups;    ///< the receiver closes them
    vec<std::string> columns;  ///< names of what they give, in order: times, then values
    perf_group::reach who = perf_group::reach::threads;
  };

  explicit perf_opener(perf_system const& system, int thread = 0) noexcept
      : system_(system), thread_(thread) {}

  /// Opens the events that the kernel accepts, a group for each perf_set. Events that the kernel
  /// refuses (EINVAL) in one group get another one.
  opened open(vec<perf_wish>& wishes) {
    opened made;
    for (perf_set const set : {perf_set::core, perf_set::cache, perf_set::software}) {
      vec<perf_wish*> members;
      for (perf_wish& wish : wishes) {
        if (wish.event->set == set) members.push_back(&wish);
      }
      for (std::size_t number = 1; !members.empty(); ++number) {
        sentence name(time_names[static_cast<std::size_t>(set)]);
        if (number > 1) name << number;
        members = open_group(members, name, made);
      }
    }
    bool some_hardware = false;
    for (perf_wish const& wish : wishes)
      some_hardware |= wish.error == 0 && wish.event->set != perf_set::software;
    for (perf_wish& wish : wishes) {
      wish.refused = {};
      if (wish.error != 0)
        wish.refused = perf_reason::explain(wish.error, *wish.event, some_hardware, system_);
    }
    return made;
  }

 private:
  static constexpr std::string_view time_names[] = {"core", "cache", "software"};

  /// Returns: the members that wait for a group of their own.
  vec<perf_wish*> open_group(vec<perf_wish*> const& members, std::string const& name,
                             opened& events) {
    perf_group group(thread_);
    vec<perf_wish*> joined;
    vec<perf_wish*> waiting;
    for (perf_wish* const wish : members) {
      wish->error = group.add(system_, *wish->event, events.who);
      if (wish->error == EINVAL && !joined.empty()) {
        waiting.push_back(wish);
      } else if (wish->error == 0) {
        joined.push_back(wish);
      }
    }
    if (joined.empty()) return waiting;
    if (int const error = group.enable(system_)) {
      group.close(system_);
      for (perf_wish* const wish : joined) wish->error = error;
      return waiting;
    }
    events.columns.push_back(sentence("perf__") << name << "_enabled.sum");
    events.columns.push_back(sentence("perf__") << name << "_running.sum");
    for (perf_wish* const wish : joined) {
      bool const scaled = wish->event->set != perf_set::software;
      wish->time_names = scaled ? name : std::string();
      events.columns.emplace_back(wish->event->counter);
    }
    events.groups.push_back(group);
    return waiting;
  }

  perf_system const& system_;
  int thread_;
};

/// Hardware counters of the CPU by range, over Linux's perf_event_open, in user code of the steps
/// that are timed. Where there are more events than counters they take turns; their values are
/// scaled to the whole time, and marked. Threads: ranges of the thread that begins the counting;
/// later threads count for the range that made them, older ones for the range at the end of a step.
/// One thread calls, and the end may come from any. Cost: a read of each group of events at each
/// end of a range, and at the ends of steps one for each older thread. A range's own time is
/// without them, its parent's with.
class cpu_counter_collector : uncopied {
 public:
  explicit cpu_counter_collector(perf_system const& system = perf_system::real()) noexcept
      : system_(&system) {}
  ~cpu_counter_collector() { close(); }

  /// Opens what the request names (`cpu`: everything; or keys joined by `+`) in the calling thread.
  /// `problems` takes what cannot be counted; the rest is. Errors: not_permitted, not_supported,
  /// unavailable, limit, busy: nothing can be counted.
  status open(std::string_view request, vec<status>& problems) {
    close();
    threads_.clear();
    perf_request asked(request);
    threads_.emplace_back(new counted_thread(*system_, asked.wishes()));
    counted_thread const& first = *threads_.back();
    set_ = asked.resolve();
    for (unknown_metric const& metric : set_.unknown)
      problems.emplace_back(errc::bad_argument, "counters: " + metric.message());
    if (first.columns.empty()) {
      threads_.clear();
      return refusal(asked.wishes());
    }
    for (status& refusal : refusals(asked)) problems.push_back(std::move(refusal));
    wanted_.clear();
    for (perf_wish const& wish : asked.wishes()) {
      if (wish.refused.code == errc::ok) wanted_.push_back({wish.event});
    }
    for (status const& problem : {one_thread_only(first), missed_threads(first)}) {
      if (!problem.ok()) problems.push_back(problem);
    }
    return {};
  }

  /// From now on the ranges of this thread are counted. Errors: in another thread than the one that
  /// opened, those of `open`; limit: threads are missing.
  status begin() {
    if (threads_.empty() || running_ != nullptr) return {};
    recorder& recorder = recorder::instance();
    std::uint64_t const thread = recorder::thread_id();
    for (owned<counted_thread>& known : threads_) {
      if (known->thread == thread) running_ = &*known;
    }
    status problem;
    if (running_ == nullptr) {
      if (std::exchange(refused_, true)) return {};
      owned<counted_thread> made(new counted_thread(*system_, wanted_));
      if (made->columns.empty()) return refusal(wanted_);
      refused_ = false;
      threads_.push_back(std::move(made));
      running_ = &*threads_.back();
      problem = missed_threads(*running_);
    }
    running_->ranges_of = recorder.of_this_thread();
    if (running_->ranges_of == nullptr) return problem;
    running_->meter.begin(running_->ranges_of->node());
    (void)running_->ranges_of->observe(&range_changes, &running_->meter);
    return problem;
  }

  /// A step of the counted thread ends: what older threads did is added.
  void end_step() noexcept {
    if (running_ != nullptr) running_->meter.add_others();
  }

  void end() noexcept {
    counted_thread* const ended = std::exchange(running_, nullptr);
    if (ended == nullptr || ended->ranges_of == nullptr) return;
    ended->ranges_of->stop_observing(&ended->meter);
    ended->meter.end();
  }

  /// Gives the counters back; what was counted stays.
  void close() noexcept {
    end();
    for (owned<counted_thread>& thread : threads_) thread->meter.close();
  }

  /// Adds what was counted to the profile. `problems` takes what was lost on the way.
  void copy_to(profile& target, vec<status>& problems) const {
    if (threads_.empty()) return;
    counter_set& set = target.add_counters(counter_set::cpu);
    set.method = counting::while_running;
    set.where = target.environment.cpu;
    set.about =
        "CPU counters by perf, in user code, with the ranges below. They "
        "follow the ranges of one thread; what other threads do counts for the range that it is "
        "in. ";
    set.metrics = set_;
    set.passes = set.passes_done = 1;
    std::uint64_t failures = 0;
    std::int64_t spent_ns = 0;
    bool gone = false;
    for (owned<counted_thread> const& thread : threads_) {
      copy(*thread, set);
      failures += thread->meter.failures();
      gone = gone || thread->meter.is_gone();
      target.cost.counter_reads += thread->meter.reads();
      spent_ns += thread->meter.spent_ns();
    }
    if (target.cost.counter_reads != 0) {
      target.cost.counter_read_ns =
          static_cast<double>(spent_ns) / static_cast<double>(target.cost.counter_reads);
    }
    if (status const problem = never_scheduled(set); !problem.ok()) problems.push_back(problem);
    if (gone) {
      problems.emplace_back(
          errc::unavailable,
          "counters: the program closed the descriptors of the CPU's counters, as closefrom() and "
          "close_range() do, and nothing was counted from then on: close them before the first "
          "range");
    } else if (failures != 0) {
      problems.emplace_back(
          errc::internal, sentence("counters: ")
                              << failures << " of " << target.cost.counter_reads
                              << " readings of the CPU's counters failed; what was counted around "
                                 "them is in no range");
    }
  }

 private:
  /// The counting of one thread.
  struct counted_thread {
    /// The threads that are there already are counted one by one.
    counted_thread(perf_system const& system, vec<perf_wish>& wishes)
        : meter(system), thread(recorder::thread_id()) {
      vec<int> const others = system.threads();
      perf_opener::opened made = perf_opener(system).open(wishes);
      columns = std::move(made.columns);
      who = made.who;
      meter.take(made.groups);
      if (columns.empty()) return;
      vec<perf_wish> same;
      for (perf_wish const& wish : wishes) {
        if (wish.error == 0) same.push_back({wish.event});
      }
      for (int const other : others) {
        made = perf_opener(system, other).open(same);
        bool ended = true;
        for (perf_wish const& wish : same) ended = ended && wish.error == ESRCH;
        if (made.columns == columns) {
          meter.take(made.groups);
        } else {
          for (perf_group& group : made.groups) group.close(system);
          missed += !ended;
        }
      }
    }

    perf_meter meter;
    vec<std::string> columns;  ///< of the meter's slots, but for the first
    std::uint64_t thread;
    perf_group::reach who = perf_group::reach::threads;
    std::size_t missed = 0;                ///< other threads that could not be counted
    thread_recorder* ranges_of = nullptr;  ///< where it is observed
  };

  /// One sentence for each reason, with the metrics that it concerns.
  vec<status> refusals(perf_request& asked) const {
    vec<status> problems;
    vec<std::string> reasons;
    for (perf_wish const& wish : asked.wishes()) {
      std::string const& reason = wish.refused.text;
      if (wish.error == 0 || reasons.contains(reason)) continue;
      reasons.push_back(reason);
      std::string keys;
      for (absent_metric const& metric : set_.absent) {
        bool const derived =
            find_metric(metric.key, metric_source::perf)->combine() == metric_combine::ratio;
        if (metric.reason == reason && !derived) add_part(keys, metric.key);
      }
      problems.emplace_back(wish.refused.code, sentence("counters: ")
                                                   << keys << " cannot be counted: " << reason);
    }
    return problems;
  }

  /// Nothing can be counted: why not the first.
  static status refusal(vec<perf_wish> const& wishes) {
    for (perf_wish const& wish : wishes) {
      if (wish.refused.code != errc::ok) {
        return {wish.refused.code, "counters: the CPU's cannot be counted: " + wish.refused.text};
      }
    }
    return {errc::bad_argument, "counters: no counter of the CPU is left to count"};
  }

  status one_thread_only(counted_thread const& thread) const {
    if (thread.who != perf_group::reach::alone) return {};
    return {errc::not_supported,
            "counters: this kernel counts the CPU's in one thread only: the work of other threads "
            "is missing; Linux 4.13 or later counts it"};
  }

  static status missed_threads(counted_thread const& thread) {
    if (thread.missed == 0) return {};
    return {
        errc::limit,
        sentence("counters: ")
            << thread.missed << (thread.missed == 1 ? " thread" : " threads")
            << " of the program could not be counted: a thread needs a file descriptor for each "
               "counter, so raise the limit (ulimit -n), or ask for fewer"};
  }

  /// A sentence that names the metrics with time_running 0; ok where there are none.
  status never_scheduled(counter_set const& data) const {
    vec<double> sums(data.names.size(), 0.0);
    for (counter_value const& counted : data.values) sums[counted.counter] += counted.value;
    std::string keys;
    for (resolved_metric const& metric : set_.metrics) {
      if (metric.counters.size() != 3) continue;  // itself, and the times that scale it
      auto const sum = [&](std::string const& name) { return sums[data.names.index_of(name)]; };
      if (sum(metric.counters[1]) > 0.0 && sum(metric.counters[2]) <= 0.0)
        add_part(keys, metric.key);
    }
    if (keys.empty()) return {};
    return {
        errc::busy,
        sentence("counters: the hardware had no counter free for ")
            << keys
            << ": ask for fewer at once, or end what else counts (sysctl kernel.nmi_watchdog=0, "
               "other profilers)"};
  }

  static void copy(counted_thread const& thread, counter_set& set) {
    vec<std::uint32_t> positions;
    for (std::string const& name : thread.columns) {
      std::size_t const found = set.names.index_of(name);
      positions.push_back(static_cast<std::uint32_t>(found));
      if (found == set.names.size()) set.names.push_back(name);
    }
    thread.meter.for_each_node([&](std::uint32_t node, perf_meter::slot const* slots) {
      for (std::size_t i = 0; i < positions.size(); ++i)
        set.values.push_back({node, positions[i], static_cast<double>(slots[i + 1])});
    });
  }

  static void range_changes(void* context, std::uint32_t node) noexcept {
    bool const counts = recorder::instance().recording();
    static_cast<perf_meter*>(context)->change(node, counts);
  }

  perf_system const* system_;
  metric_set set_;
  vec<perf_wish> wanted_;  ///< in every thread that counts
  vec<owned<counted_thread>> threads_;
  counted_thread* running_ = nullptr;
  bool refused_ = false;  ///< in another thread than the one that opened
};

}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_CPU_CPU_COUNTERS_HPP
