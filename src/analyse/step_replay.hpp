#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_STEP_REPLAY_HPP
#define STRATA_ANALYSE_STEP_REPLAY_HPP

#include <strata/base/containers.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile.hpp>
#include <strata/profile/records.hpp>
#include <strata/tables/call_tree.hpp>
#include <strata/tables/launch_index.hpp>
#include <strata/tables/steps.hpp>
#include "findings.hpp"
#include "host_timeline.hpp"
#include "what_if.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>
#include <vector>

STRATA_BEGIN

namespace detail {

/// What the calls of the host and the work of the device wait for, read from a timeline, so that it
/// can be run again with other times. A call follows the one before it in its thread. Work follows
/// its call, what its stream did before, and, where neither explains when it began, what ended in
/// another stream just before. A wait, a blocking copy, an allocation or release that waits, and a
/// launch into a full queue follow the work that ended in them.
/// Without a change it gives the recorded times. What threads of the host wait for among themselves
/// is not recorded: the calls of another thread keep their distance from the start of the step.
class step_replay {
 public:
  step_replay(profile const& source, call_tree const& folded, steps_summary const& steps)
      : source_(source), tree_(folded), summary_(steps) {
    if (!steps.has_timeline || source.kernels.size() + source.copies.size() == 0) return;
    if (!find_steps()) return;
    add_calls();
    add_work();
    for (std::uint32_t i = 0; i < device_.works.size(); ++i) join_work(i);
    for (std::uint32_t i = 0; i < calls_.size(); ++i) join_call(i);
    find_lags();
    unchanged_ns_ = run({});
    unchanged_path_ = critical_path();
  }
  step_replay(step_replay const&) = delete;
  step_replay& operator=(step_replay const&) = delete;

  /// The mean step with all of the changes, in ns; NaN where the timeline is not whole. Of two
  /// changes of a range the later one holds.
  double step_ns(std::vector<what_if> const& changes) {
    if (!(unchanged_ns_ > 0.0)) return std::numeric_limits<double>::quiet_NaN();
    return std::max(0.0, summary_.mean_ns - unchanged_ns_ + run(changes));
  }
  /// The same without a change, by the replay alone: what was recorded.
  double unchanged_ns() const noexcept { return unchanged_ns_; }

  /// A part of a step, and the range where most of it is; 0: outside ranges, or in many.
  struct place {
    finding_part part = finding_part::none;
    std::size_t row = 0;
  };
  /// What the changes of the last step_ns() leave the steps to wait for: the part whose rows grow
  /// most on the critical path; where none grows, the largest. None where that part of these rows
  /// was changed, or the path has more of what is not known. Cost: O(n log n) of calls and work.
  place next_bottleneck() const {
    path_times path = critical_path();
    path_times grown;
    for (auto const& [of, ns] : path)
      if (!is_changed(of)) grown[of] = ns;
    for (auto const& [of, ns] : unchanged_path_)
      if (!is_changed(of)) grown[of] -= ns;
    constexpr double least = 0.01;  // of the path; chosen
    if (path_part const most = largest(grown); most.ns > least * sum_of(path)) return most.where;
    path_part const most = largest(path);
    double changed = 0.0;
    for (auto const& [of, ns] : path)
      if (of.first == most.where.part && is_changed(of)) changed += ns;
    return changed > 0.5 * most.ns ? place() : most.where;
  }

 private:
  using index = std::uint32_t;
  static constexpr what_if no_change{};
  static constexpr index none = 0xffffffffu;

  struct replayed_call {
    std::int64_t begin;
    std::int64_t end;
    std::uint32_t thread;
    index launch;  ///< none: the start or the end of a step
    index row = 0;
    bool of_graphs = false;
    index gaps = 0;        ///< of the host's own work before it, the first
    index gap_count = 0;   ///< 0: what is before it is part of launching
    index before = none;   ///< in the thread
    index anchor = none;   ///< the step whose begin it keeps its distance from
    index until = none;    ///< the work that it waits for
    index freed = none;    ///< row whose released memory is given back in this wait
    index work = none;     ///< the last that it put on the device
    std::int64_t own = 0;  ///< what it takes where that work has ended
    std::int64_t lag = 0;  ///< from the end of that work
    std::int64_t new_begin = 0;
    std::int64_t new_end = 0;
  };
  struct gap {
    index row;
    std::int64_t ns;
    bool captures;  ///< the program goes on with a capture
  };
  struct replayed_work {
    std::int64_t begin;
    std::int64_t end;
    index record;  ///< in the kernels, or behind them in the copies
    index row = 0;
    index call = none;
    index step = none;
    index previous = none;  ///< to begin in the stream
    index after = none;     ///< to end in the stream before this began
    index other = none;     ///< of another stream
    bool queued = false;    ///< had come to the device before it was free for it
    std::int64_t call_lag = 0;
    std::int64_t after_lag = 0;
    std::int64_t new_begin = 0;
    std::int64_t new_end = 0;
  };
  struct replayed_step {
    std::int64_t begin;
    std::int64_t end;
    std::uint32_t number;
    std::uint32_t thread;
    index first = none;  ///< the calls that stand for its begin and its end
    index last = none;
    std::int64_t gpu_begin = latest_time;  ///< as it was run again
    std::int64_t gpu_end = lost_time;
    index last_work = none;  ///< that ends then
  };
  enum class moment : std::uint8_t { end, begin, work };  // at one time in this order
  struct timed_event {
    std::int64_t time;
    index subject;
    moment what;
  };

  // --- what was recorded ---

  /// The last steps, of as many records as may be looked at; false where that is none.
  bool find_steps() {
    vec<replayed_step> all;
    if (summary_.from_steps)
      for (step_record const& record : source_.steps)
        all.push_back({record.begin, record.end, record.step, record.thread});
    all.sort([](replayed_step const& a, replayed_step const& b) { return a.number < b.number; });
    vec<std::size_t> records(all.size() + 1, 0);  // behind those from before the first step
    auto const count = [&](auto const& list) {
      for (auto const& record : list)
        ++records[all.count_first(
            [&](replayed_step const& step) { return step.begin <= record.begin; })];
    };
    count(source_.kernels);
    count(source_.copies);
    count(source_.launches);
    std::size_t first =
        first_of_last_steps(records.size(), [&](std::size_t i) { return records[i]; });
    if (all.empty()) return first == 0;
    first = std::max(first, std::size_t{summary_.without_first ? 2u : 1u}) - 1;
    skipped_ = first;
    for (std::size_t i = first; i < all.size(); ++i) steps_.push_back(all[i]);
    if (!steps_.empty()) from_ = steps_[0].begin;
    return !steps_.empty();
  }
  index step_of(std::uint32_t number) const noexcept {
    std::size_t const found =
        steps_.count_first([number](replayed_step const& step) { return step.number < number; });
    bool const is_there = found < steps_.size() && steps_[found].number == number;
    return is_there ? static_cast<index>(found) : none;
  }

  void add_calls() {
    vec<replayed_call> all;
    for (index i = 0; i < source_.launches.size(); ++i) {
      driver_call_record const& launch = source_.launches[i];
      if (!launch.is_left_out() && launch.begin >= from_)
        all.push_back({launch.begin, std::max(launch.begin, launch.end), launch.thread, i,
                       tree_.position_of(launch.node)});
    }
    for (index i = 0; i < steps_.size(); ++i) {
      steps_[i].first = static_cast<index>(all.size());
      all.push_back({steps_[i].begin, steps_[i].begin, steps_[i].thread, none});
      steps_[i].last = static_cast<index>(all.size());
      all.push_back({steps_[i].end, steps_[i].end, steps_[i].thread, none});
    }
    vec<index> order;
    for (index i = 0; i < all.size(); ++i) order.push_back(i);
    order.sort([&all](index a, index b) {
      replayed_call const& x = all[a];
      replayed_call const& y = all[b];
      if (x.thread != y.thread) return x.thread < y.thread;
      return x.begin != y.begin ? x.begin < y.begin : x.end != y.end ? x.end < y.end : a < b;
    });
    vec<index> moved(all.size(), none);
    call_of_.resize(source_.launches.size(), none);
    host_timeline const host(source_, from_);
    for (index const from : order) {
      replayed_call call = all[from];
      index const last = static_cast<index>(calls_.size()) - 1;
      bool const follows = !calls_.empty() && calls_[last].thread == call.thread;
      // A call within another one is part of it.
      bool const inner = follows && call.begin < calls_[last].end;
      moved[from] = inner ? last : last + 1;
      if (call.launch != none) call_of_[call.launch] = moved[from];
      if (inner) continue;
      if (follows) {
        call.before = last;
        std::int64_t const from_ns = calls_[last].end;
        call.gaps = static_cast<index>(gaps_.size());
        bool const captures = calls_[last].launch != none &&
                              host_timeline::captures(source_.launches[calls_[last].launch]);
        if (captures)
          add_gap(call.gaps, calls_[last].row, call.begin - from_ns, true);
        else if (call.begin - from_ns >= host_timeline::least_host_work)
          host.for_each_open(call.thread, from_ns, call.begin, root_node,
                             [&](std::uint32_t node, std::int64_t ns) {
                               add_gap(call.gaps, tree_.position_of(node), ns, false);
                             });
        call.gap_count = static_cast<index>(gaps_.size()) - call.gaps;
      }
      anchor(call, last);
      call.of_graphs = call.launch != none && host.is_of_graphs(source_.launches[call.launch]);
      if (call.launch != none && call.end - call.begin >= host_timeline::least_giving_back)
        if (driver_call_record const* const freed =
                host.released_before(source_.launches[call.launch]))
          call.freed = tree_.position_of(freed->node);
      calls_.push_back(call);
    }
    for (replayed_step& step : steps_) {
      step.first = moved[step.first];
      step.last = moved[step.last];
    }
  }
  /// Joins what one of the last ranges has already since `first`: loops enter few again and again.
  void add_gap(std::size_t first, index row, std::int64_t ns, bool captures) {
    for (std::size_t i = gaps_.size(); i > first && gaps_.size() - i < 8; --i) {
      if (gaps_[i - 1].row != row || gaps_[i - 1].captures != captures) continue;
      gaps_[i - 1].ns += ns;
      return;
    }
    gaps_.push_back({row, ns, captures});
  }
  /// The first call in a step of a thread that does not itself count steps.
  void anchor(replayed_call& call, index last) const noexcept {
    if (call.launch == none) return;
    std::uint32_t const number = source_.launches[call.launch].step;
    index const step = step_of(number);
    if (step == none || steps_[step].thread == call.thread || call.begin < steps_[step].begin)
      return;
    bool const first = call.before == none || calls_[last].launch == none ||
                       source_.launches[calls_[last].launch].step != number;
    if (first) call.anchor = step;
  }

  bool is_kernel(replayed_work const& work) const noexcept {
    return work.record < source_.kernels.size();
  }

  template <class Record>
  void add_records(vec<Record> const& records, std::size_t behind, launch_index const& launches) {
    for (std::size_t i = 0; i < records.size(); ++i) {
      Record const& record = records[i];
      if (record.begin == lost_time || record.begin < from_) continue;
      replayed_work made{record.begin, std::max(record.begin, record.end),
                         static_cast<index>(behind + i)};
      made.row = tree_.position_of(record.node);
      index const launch = launches.launch_of(record.correlation);
      if (launch != launch_index::none) {
        made.call = call_of_[launch];
        made.step = step_of(source_.launches[launch].step);
        // Clocks are compared once a second: work may seem to begin before its call.
        if (made.call != none && calls_[made.call].begin > made.begin) made.call = none;
      }
      device_.works.push_back(made);
    }
  }
  void add_work() {
    launch_index const launches(source_);
    add_records(source_.kernels, 0, launches);
    add_records(source_.copies, source_.kernels.size(), launches);
    device_.works.sort([](replayed_work const& a, replayed_work const& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.record < b.record;
    });
    constexpr std::int64_t longest_latency = 20'000;  // ns; chosen: beyond it modules were loaded
    vec<std::int64_t> to_idle;
    number_map<index> streams;  // place and 1
    for (index i = 0; i < device_.works.size(); ++i) {
      replayed_work& work = device_.works[i];
      index& last = streams[stream_of(work)];
      work.previous = last - 1;
      last = i + 1;
      device_.by_end.push_back(i);
      events_.push_back({work.begin, i, moment::work});
      if (work.call == none) continue;
      calls_[work.call].work = i;
      std::int64_t const called = calls_[work.call].begin;
      bool const idle = work.previous == none || device_.works[work.previous].end <= called;
      if (idle && is_kernel(work)) to_idle.push_back(work.begin - called);
    }
    to_idle.sort();
    if (!to_idle.empty()) latency_ = std::min(to_idle[to_idle.size() / 4], longest_latency);
    device_.by_end.sort(
        [this](index a, index b) { return device_.works[a].end < device_.works[b].end; });
    for (synchronization_record const& wait : source_.synchronizations)
      if (wait.kind == synchronization_kind::stream)
        device_.waits[wait.correlation] = wait.stream + 1;
    for (index i = 0; i < calls_.size(); ++i) {
      if (calls_[i].launch != none) call_begins_.push_back(calls_[i].begin);
      events_.push_back({calls_[i].begin, i, moment::begin});
      if (calls_[i].end > calls_[i].begin) events_.push_back({calls_[i].end, i, moment::end});
    }
    call_begins_.sort();
    events_.sort([](timed_event const& a, timed_event const& b) {
      if (a.time != b.time) return a.time < b.time;
      return a.what != b.what ? a.what < b.what : a.subject < b.subject;
    });
  }
  std::uint64_t stream_of(replayed_work const& work) const noexcept {
    if (is_kernel(work)) {
      kernel_record const& record = source_.kernels[work.record];
      return std::uint64_t{record.context} << 32 | record.stream;
    }
    copy_record const& record = source_.copies[work.record - source_.kernels.size()];
    return std::uint64_t{record.context} << 32 | record.stream;
  }

  // --- what waits for what ---

  /// How many pieces of work had ended at a time.
  std::size_t ended_at(std::int64_t time) const noexcept {
    return device_.by_end.count_first(
        [&](index ended) { return device_.works[ended].end <= time; });
  }

  void join_work(index number) {
    constexpr std::int64_t unexplained = 2'000;  // ns, of what waits in a queue; chosen
    constexpr std::int64_t at_once = 10'000;     // ns, as from a launch to an idle device
    // ns; chosen: a kernel began 4 to 11 us behind a copy of another stream (H200, CUDA 13.0).
    constexpr std::int64_t close_by = 20'000;
    replayed_work& work = device_.works[number];
    // A copy that blocks begins within its call, which may have waited for it all along.
    bool const blocks = work.call != none && !is_kernel(work) && calls_[work.call].end > work.begin;
    std::int64_t const launched = work.call == none ? lost_time
                                  : blocks          ? calls_[work.call].begin
                                                    : calls_[work.call].end;
    index look = work.previous;
    for (int i = 0; i < 16 && look != none; ++i, look = device_.works[look].previous)
      if (device_.works[look].end <= work.begin &&
          (work.after == none || device_.works[look].end > device_.works[work.after].end))
        work.after = look;
    std::int64_t const free = work.after == none ? lost_time : device_.works[work.after].end;
    work.queued =
        free > launched && (work.call == none || free > calls_[work.call].begin + latency_);
    std::int64_t const ready = std::max(free, launched);
    std::size_t const ended = ended_at(work.begin);
    if (ended == 0 || device_.by_end[ended - 1] == work.after) return;
    replayed_work const& other = device_.works[device_.by_end[ended - 1]];
    bool const alone = ready == lost_time;
    bool const late = alone || work.begin - ready > (work.queued ? unexplained : at_once);
    bool const close = alone || work.begin - other.end < close_by;
    if (late && close && other.begin < work.begin && other.end > ready)
      work.other = device_.by_end[ended - 1];
  }

  void join_call(index number) {
    // ns; chosen: a traced launch takes 5 to 7 us (H100, CUDA 13.0), one that waits for room more.
    constexpr std::int64_t short_call = 20'000;
    constexpr index queue = 256;  // launches that are under way: fewer than any driver lets queue
    replayed_call& call = calls_[number];
    call.own = call.end - call.begin;
    if (call.launch == none) return;
    if (call.of_graphs) return;  // it waits for nothing
    driver_call_record const& record = source_.launches[call.launch];
    bool waits = false;
    if (record.kind == api_kind::wait) {
      index const* const stream = device_.waits.find(record.correlation);
      std::size_t ended = ended_at(call.end);
      for (int i = 0; i < 64 && ended > 0; ++i, --ended) {
        replayed_work const& last = device_.works[device_.by_end[ended - 1]];
        bool const same =
            stream == nullptr || static_cast<std::uint32_t>(stream_of(last)) == *stream - 1;
        if (!same || last.begin >= call.end) continue;
        if (last.call != none && calls_[last.call].begin > call.begin) continue;
        call.until = device_.by_end[ended - 1];
        break;
      }
    } else if (record.kind == api_kind::copy || record.kind == api_kind::set) {
      call.until = call.work;
      waits = true;
    } else if (is_work(record.kind)) {
      if (call.own < short_call || number < queue || calls_[number - queue].thread != call.thread)
        return;
      index const early = calls_[number - queue].work;
      if (early == none || device_.works[early].end < call.begin) return;
      std::size_t const ended = ended_at(call.end);
      if (ended > 0) call.until = device_.by_end[ended - 1];
      waits = true;
    } else {
      for (index i = call.before; i != none && call.until == none; i = calls_[i].before) {
        call.until = calls_[i].work;
        if (number - i > queue) break;
      }
      waits = true;
    }
    if (call.until == none) return;
    replayed_work const& last = device_.works[call.until];
    bool const waited = last.end > call.begin && last.end <= call.end && last.begin < call.end;
    if (waited) call.own = call.lag = call.end - last.end;
    if (call.own < host_timeline::least_giving_back) call.freed = none;
    if (waited) return;
    if (waits || last.end > call.end) call.until = none;
  }

  /// From a call to its work and from work to the next, where that was what it waited for; what it
  /// is elsewhere is not known, and taken to be no more than the middle one.
  void find_lags() {
    vec<std::int64_t> launching;
    vec<std::int64_t> following;
    for (replayed_work& work : device_.works) {
      if (work.call != none) work.call_lag = work.begin - calls_[work.call].begin;
      if (work.after != none) work.after_lag = work.begin - device_.works[work.after].end;
      if (work.other != none) continue;
      if (work.queued)
        following.push_back(work.after_lag);
      else if (work.call != none)
        launching.push_back(work.call_lag);
    }
    launching.sort();
    following.sort();
    std::int64_t const launch = launching.empty() ? 10'000 : launching[launching.size() / 2];
    std::int64_t const follow = following.empty() ? 1'000 : following[following.size() / 2];
    for (replayed_work& work : device_.works) {
      if (work.queued || work.other != none) work.call_lag = std::min(work.call_lag, launch);
      if (!work.queued || work.other != none) work.after_lag = std::min(work.after_lag, follow);
    }
  }

  // --- running it again ---

  /// A factor that no sum of times overflows with.
  static double bounded(double factor) noexcept {
    constexpr double most = 1000.0;
    return is_nan(factor) ? 1.0 : factor > most ? most : factor > 0.0 ? factor : 0.0;
  }
  /// What a row's parts still take; of a row past the tree: all.
  what_if const& change_of(index row) const noexcept {
    return row < changes_.size() ? changes_[row] : no_change;
  }
  static double factor_of(what_if const& change, finding_part part) noexcept {
    switch (part) {
      case finding_part::kernels:
        return change.kernels;
      case finding_part::copies:
        return change.copies;
      case finding_part::launches:
        return change.launches;
      case finding_part::host_work:
        return change.host_work;
      case finding_part::waits:
        return change.waits;
      case finding_part::allocations:
        return change.allocations;
      case finding_part::graphs:
        return change.graphs;
      default:
        return 1.0;
    }
  }
  /// Of a call; host_work of those that no part has.
  finding_part part_of(replayed_call const& call) const noexcept {
    if (call.launch == none) return finding_part::host_work;
    if (call.of_graphs) return finding_part::graphs;
    switch (source_.launches[call.launch].kind) {
      case api_kind::launch:
      case api_kind::graph_launch:
        return finding_part::launches;
      case api_kind::copy:
      case api_kind::set:
        return finding_part::copies;
      case api_kind::wait:
        return finding_part::waits;
      case api_kind::allocate:
      case api_kind::release:
        return finding_part::allocations;
      default:
        return finding_part::host_work;
    }
  }
  /// The program's own code is between calls: no change of it makes a call shorter.
  double factor_of(replayed_call const& call) const noexcept {
    finding_part const part = part_of(call);
    return part == finding_part::host_work ? 1.0 : factor_of(change_of(call.row), part);
  }
  static std::int64_t scaled(std::int64_t ns, double factor) noexcept {
    return factor == 1.0 ? ns : whole_part(static_cast<double>(ns) * factor);
  }

  std::int64_t gap_before(replayed_call const& call, replayed_call const& before) const noexcept {
    if (call.gap_count == 0) return scaled(call.begin - before.end, std::min(factor_of(call), 1.0));
    std::int64_t sum = 0;
    for (index i = call.gaps; i < call.gaps + call.gap_count; ++i) sum += gap_ns(gaps_[i]);
    return sum;
  }
  std::int64_t gap_ns(gap const& of) const noexcept {
    what_if const& change = change_of(of.row);
    return scaled(of.ns, of.captures ? change.graphs : change.host_work);
  }
  void begin(replayed_call& call) const noexcept {
    call.new_begin = call.begin;
    if (call.before != none) {
      replayed_call const& before = calls_[call.before];
      call.new_begin = before.new_end + (call.anchor != none ? 0 : gap_before(call, before));
    }
    if (call.anchor == none) return;
    replayed_step const& in = steps_[call.anchor];
    std::int64_t const distance = call.begin - in.begin;
    call.new_begin = std::max(call.new_begin, calls_[in.first].new_begin + distance);
  }
  void end(replayed_call& call) const noexcept {
    double const factor = factor_of(call);
    call.new_end = call.new_begin + scaled(call.own, factor * freed_part(call));
    if (call.until == none || !(factor > 0.0)) return;
    call.new_end = std::max(call.new_end, device_.works[call.until].new_end + lag_of(call));
  }
  double freed_part(replayed_call const& call) const noexcept {
    return call.freed == none ? 1.0 : change_of(call.freed).allocations;
  }
  /// From the end of the work that it waits for.
  std::int64_t lag_of(replayed_call const& call) const noexcept {
    return scaled(call.lag, freed_part(call));
  }
  /// From its call: if that uploads a graph, at least as from any launch to an idle device.
  std::int64_t call_lag_of(replayed_work const& work) const noexcept {
    replayed_call const& call = calls_[work.call];
    if (!call.of_graphs) return work.call_lag;
    return std::min(work.call_lag, std::max(latency_, scaled(work.call_lag, factor_of(call))));
  }
  /// From the work before it. A graph brings a kernel sooner that was never seen to follow at once:
  /// between the kernels of graphs of 100 kernels a traced H200 idled for 0.40 to 0.46 us.
  std::int64_t lag_of(replayed_work const& work) const noexcept {
    constexpr std::int64_t in_graph = 500;  // ns
    if (is_kernel(work) && change_of(work.row).joined) return 0;
    if (work.queued || work.call == none || !is_kernel(work)) return work.after_lag;
    if (change_of(calls_[work.call].row).launches > 0.0) return work.after_lag;
    return std::min(work.after_lag, in_graph);
  }
  std::int64_t lag_of_other(replayed_work const& work) const noexcept {
    return work.begin - device_.works[work.other].end;
  }
  void begin_work(index number) noexcept {
    replayed_work& work = device_.works[number];
    std::int64_t from = lost_time;
    auto const follow = [&from](auto time, auto lag) { from = std::max(from, time + lag); };
    if (work.call != none) follow(calls_[work.call].new_begin, call_lag_of(work));
    if (work.after != none) follow(device_.works[work.after].new_end, lag_of(work));
    if (work.other != none && !any_order_)
      follow(device_.works[work.other].new_end, lag_of_other(work));
    work.new_begin = from == lost_time ? work.begin : from;
    what_if const& change = change_of(work.row);
    double const part = is_kernel(work) ? change.kernels : change.copies;
    work.new_end = work.new_begin + scaled(work.end - work.begin, part);
    if (work.step == none) return;
    replayed_step& in = steps_[work.step];
    in.gpu_begin = std::min(in.gpu_begin, work.new_begin);
    if (work.new_end < in.gpu_end) return;
    in.gpu_end = work.new_end;
    in.last_work = number;
  }

  // --- what made it last as long ---

  using path_key = std::pair<finding_part, index>;  // a part of a row
  using path_times = std::map<path_key, double>;    // ns

  /// Whether the last run changed this part of this row.
  bool is_changed(path_key const& of) const noexcept {
    return factor_of(change_of(of.second), of.first) != 1.0;
  }
  struct path_part {
    place where;
    double ns = 0.0;
  };
  static double sum_of(path_times const& times) noexcept {
    double sum = 0.0;
    for (auto const& [of, ns] : times) sum += ns;
    return sum;
  }
  /// The part whose rows above 0 have most of these times, and its row if that has more than half.
  static path_part largest(path_times const& times) {
    std::map<finding_part, double> parts;
    for (auto const& [of, ns] : times) parts[of.first] += std::max(ns, 0.0);
    path_part made;
    for (auto const& [part, ns] : parts)
      if (ns > made.ns) made = {{part, 0}, ns};
    for (auto const& [of, ns] : times)
      if (of.first == made.where.part && ns > 0.5 * made.ns) made.where.row = of.second;
    return made;
  }

  /// A moment of the last run: the end of work, or the begin or end of a call.
  struct path_moment {
    index work = none;
    index call = none;
    bool has_ended = false;  // the call
  };
  /// The way back through a step.
  struct path_walk {
    path_times& times;
    double left;  // until the begin of the step, in ns

    void add(finding_part part, index row, std::int64_t ns) {
      double const taken = std::min(static_cast<double>(ns), left);
      times[{part, row}] += taken;
      left -= taken;
    }
  };
  /// From the end of each step back to its begin, always along what was waited for, in the times of
  /// the last run. What threads of the host wait for among themselves has no part.
  path_times critical_path() const {
    path_times path;
    std::size_t moves = 2 * calls_.size() + device_.works.size();  // at one time they may go round
    auto const go_back = [&](path_moment now, std::int64_t from) {
      path_walk walk{path, static_cast<double>(elapsed(from, time_of(now)))};
      for (; walk.left > 0.0 && (now.work != none || now.call != none) && moves > 0; --moves)
        now = now.work != none ? before_work(walk, now.work)
              : now.has_ended  ? before_end(walk, now.call)
                               : before_begin(walk, now.call);
      path[{finding_part::none, 0}] += walk.left;
    };
    for (replayed_step const& step : steps_) {
      bool const of_gpu = summary_.period_of_gpu && step.last_work != none;
      std::int64_t const host_end = calls_[step.last].new_begin;
      bool const work_ends_it = step.last_work != none && (of_gpu || step.gpu_end >= host_end);
      path_moment const end = work_ends_it ? path_moment{step.last_work, none, true}
                                           : path_moment{none, step.last, false};
      go_back(end, of_gpu ? step.gpu_begin : calls_[step.first].new_begin);
    }
    if (steps_.empty()) go_back(last_moment(), first_begin());
    return path;
  }
  std::int64_t time_of(path_moment const& now) const noexcept {
    if (now.work != none) return device_.works[now.work].new_end;
    if (now.call == none) return lost_time;
    return now.has_ended ? calls_[now.call].new_end : calls_[now.call].new_begin;
  }
  /// Of the run, where there are no steps.
  path_moment last_moment() const noexcept {
    path_moment last;
    for (index i = 0; i < calls_.size(); ++i)
      if (calls_[i].new_end > time_of(last)) last = {none, i, true};
    for (index i = 0; i < device_.works.size(); ++i)
      if (device_.works[i].new_end >= time_of(last)) last = {i, none, true};
    return last;
  }
  std::int64_t first_begin() const noexcept {
    std::int64_t first = latest_time;
    for (replayed_work const& work : device_.works) first = std::min(first, work.new_begin);
    for (replayed_call const& call : calls_) first = std::min(first, call.new_begin);
    return first;
  }
  path_moment before_work(path_walk& walk, index number) const {
    replayed_work const& work = device_.works[number];
    finding_part const part = is_kernel(work) ? finding_part::kernels : finding_part::copies;
    walk.add(part, work.row, work.new_end - work.new_begin);
    for (index const before : {work.after, work.other}) {
      if (before == none || (before == work.other && any_order_)) continue;
      std::int64_t const lag = work.new_begin - device_.works[before].new_end;
      if (lag != (before == work.after ? lag_of(work) : lag_of_other(work))) continue;
      walk.add(part, work.row, lag);
      return {before, none, true};
    }
    if (work.call == none) return {};
    replayed_call const& call = calls_[work.call];
    walk.add(part_of(call), call.row, work.new_begin - call.new_begin);
    return {none, work.call, false};
  }
  path_moment before_end(path_walk& walk, index number) const {
    replayed_call const& call = calls_[number];
    if (call.until != none && factor_of(call) > 0.0) {
      std::int64_t const lag = call.new_end - device_.works[call.until].new_end;
      if (lag == lag_of(call)) {
        walk.add(part_of(call), call.row, lag);
        return {call.until, none, true};
      }
    }
    walk.add(part_of(call), call.row, call.new_end - call.new_begin);
    return {none, number, false};
  }
  path_moment before_begin(path_walk& walk, index number) const {
    replayed_call const& call = calls_[number];
    if (call.anchor != none) {
      replayed_step const& in = steps_[call.anchor];
      std::int64_t const distance = call.begin - in.begin;
      if (call.new_begin == calls_[in.first].new_begin + distance) {
        walk.add(finding_part::none, 0, distance);
        return {none, in.first, false};
      }
    }
    if (call.before == none) return {};
    replayed_call const& before = calls_[call.before];
    if (call.anchor == none && call.gap_count == 0)
      walk.add(part_of(call), call.row, call.new_begin - before.new_end);
    bool const of_others = call.gap_count > 0 && others_call(before.end, call.begin);
    for (index i = call.gaps; call.anchor == none && i < call.gaps + call.gap_count; ++i) {
      finding_part const own = gaps_[i].captures ? finding_part::graphs : finding_part::host_work;
      walk.add(of_others ? finding_part::none : own, of_others ? 0 : gaps_[i].row,
               gap_ns(gaps_[i]));
    }
    return {none, call.before, true};
  }
  /// Whether a thread called the driver between two calls of another one.
  bool others_call(std::int64_t begin, std::int64_t end) const noexcept {
    std::size_t const first =
        call_begins_.count_first([begin](std::int64_t called) { return called <= begin; });
    return first < call_begins_.size() && call_begins_[first] < end;
  }

  /// Notes what each row's parts take from now on.
  void change_rows(std::vector<what_if> const& changes) {
    vec<range_row> const& rows = tree_.rows();
    changes_.assign(rows.size(), what_if());
    any_order_ = false;
    for (what_if change : changes) {
      any_order_ = any_order_ || change.any_order;
      for (double* const part :
           {&change.kernels, &change.copies, &change.launches, &change.host_work, &change.waits,
            &change.allocations, &change.graphs})
        *part = bounded(*part);
      for (std::size_t row = change.row; row < rows.size(); ++row) {
        bool const below = change.below && rows[row].depth > rows[change.row].depth;
        if (row > change.row && !below) break;
        changes_[row] = change;
      }
    }
  }

  double run(std::vector<what_if> const& changes) {
    change_rows(changes);
    for (replayed_step& step : steps_) {
      step.gpu_begin = latest_time;
      step.gpu_end = lost_time;
      step.last_work = none;
    }
    for (timed_event const& event : events_) {
      if (event.what == moment::work) {
        begin_work(event.subject);
        continue;
      }
      replayed_call& call = calls_[event.subject];
      if (event.what == moment::begin) begin(call);
      if (event.what == moment::end || call.end == call.begin) end(call);
    }
    return steps_.empty() ? whole_ns() : mean_ns();
  }
  /// From the first call or work to the last, where there are no steps.
  double whole_ns() const noexcept {
    return static_cast<double>(elapsed(first_begin(), time_of(last_moment())));
  }
  /// A step lasts until the host left it and its work has ended: what it leaves to the device keeps
  /// the next one waiting.
  double mean_ns() const {
    double sum = 0.0;
    std::int64_t done = lost_time;
    std::int64_t const usual = summary_.period_of_gpu ? usual_distance() : 0;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      replayed_step const& step = steps_[i];
      bool const follows = is_followed(i);
      std::int64_t step_begin = std::max(calls_[step.first].new_begin, done);
      std::int64_t step_end = std::max(calls_[step.last].new_begin, step.gpu_end);
      done = follows ? step_end : lost_time;
      if (summary_.period_of_gpu && step.gpu_end != lost_time) {
        step_begin = step.gpu_begin;
        step_end = is_followed_on_device(i) ? steps_[i + 1].gpu_begin : step.gpu_end + usual;
      }
      sum += static_cast<double>(elapsed(step_begin, step_end));
    }
    return sum / static_cast<double>(steps_.size());
  }
  bool is_followed(std::size_t i) const noexcept {
    return i + 1 < steps_.size() && steps_[i + 1].number == steps_[i].number + 1;
  }
  bool is_followed_on_device(std::size_t i) const noexcept {
    return is_followed(i) && steps_[i].gpu_end != lost_time && steps_[i + 1].gpu_end != lost_time;
  }
  /// Between the work of two steps, as steps_summary has it.
  std::int64_t usual_distance() const {
    step_distances distances;
    for (std::size_t i = 0; i < steps_.size(); ++i)
      if (is_followed_on_device(i))
        distances.add(i + skipped_, steps_[i + 1].gpu_begin - steps_[i].gpu_end);
    return distances.usual();
  }

  profile const& source_;
  call_tree const& tree_;
  steps_summary const& summary_;
  std::int64_t from_ = lost_time;
  vec<replayed_step> steps_;
  std::size_t skipped_ = 0;        ///< steps before these
  vec<replayed_call> calls_;       ///< by thread and time
  vec<gap> gaps_;                  ///< in the order of the calls behind them
  vec<index> call_of_;             ///< by launch
  vec<timed_event> events_;        ///< in the order in which they happened
  vec<std::int64_t> call_begins_;  ///< of all threads, in order
  std::vector<what_if> changes_;   ///< by row
  struct device_work {
    vec<replayed_work> works;  ///< by begin
    vec<index> by_end;         ///< the same by end
    number_map<index> waits;   ///< stream and 1, by correlation
  } device_;
  bool any_order_ = false;
  double unchanged_ns_ = 0.0;
  path_times unchanged_path_;
  std::int64_t latency_ = 0;  ///< from a call to its kernel where the device has nothing to do
};

}  // namespace detail
STRATA_END

#endif  // STRATA_ANALYSE_STEP_REPLAY_HPP
