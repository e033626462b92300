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
#include <strata/tables/host_timeline.hpp>
#include <strata/tables/steps.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>

STRATA_BEGIN

/// A change of one range: what its parts would take.
/// Units: factors of time from 0 to 1,000, beyond which they count as the nearer end; 1 leaves a
/// part as it is, as NaN does, 0 takes it away.
struct what_if {
  std::size_t row = 0;       ///< of the folded tree; 0 is what is outside of ranges; past it: none
  bool below = false;        ///< the ranges below it too; with row 0 the whole program
  double kernels = 1.0;      ///< on the device
  double copies = 1.0;       ///< copies and fills, with their calls
  double launches = 1.0;     ///< calls that launch, and the host for less than 32 us between them
  double host_work = 1.0;    ///< the program's own code
  double waits = 1.0;        ///< waits of the host for the device
  double allocations = 1.0;  ///< calls that allocate and free
  bool any_order = false;    ///< of any range: no stream waits for another one
};

namespace detail {

/// What the calls of the host and the work of the device wait for, read from a timeline, so that it
/// can be run again with other times. A call follows the one before it in its thread. Work follows
/// its call, what its stream did before, and, where neither explains when it began, what ended in
/// another stream just before. A wait, a blocking copy, an allocation or release that waits, and a
/// launch into a full queue follow the work that ended in them.
/// Without a change it gives the recorded times. What threads of the host wait for among themselves
/// is not recorded: the calls of another thread keep their distance from the begin of the step.
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
  }
  step_replay(step_replay const&) = delete;
  step_replay& operator=(step_replay const&) = delete;

  /// The mean step with all of the changes, in ns; NaN where the timeline is not whole. Of two
  /// changes of a range the later one holds.
  double step_ns(vec<what_if> const& changes) {
    if (!(unchanged_ns_ > 0.0)) return std::numeric_limits<double>::quiet_NaN();
    return larger(0.0, summary_.typical_ns() - unchanged_ns_ + run(changes));
  }
  /// The same without a change, by the replay alone: what was recorded.
  double unchanged_ns() const noexcept { return unchanged_ns_; }

 private:
  using place = std::uint32_t;
  static constexpr what_if no_change{};
  static constexpr place none = 0xffffffffu;

  struct call {
    std::int64_t begin;
    std::int64_t end;
    std::uint32_t thread;
    place launch;  ///< none: the begin or the end of a step
    place row = 0;
    place gaps = 0;        ///< of the host's own work before it, the first
    place gap_count = 0;   ///< 0: what is before it is part of launching
    place before = none;   ///< in the thread
    place anchor = none;   ///< the step whose begin it keeps its distance from
    place until = none;    ///< the work that it waits for
    place freed = none;    ///< row whose released memory is given back in this wait
    place work = none;     ///< the last that it put on the device
    std::int64_t own = 0;  ///< what it takes where that work has ended
    std::int64_t lag = 0;  ///< from the end of that work
    std::int64_t new_begin = 0;
    std::int64_t new_end = 0;
  };
  struct gap {
    place row;
    std::int64_t ns;
  };
  struct work {
    std::int64_t begin;
    std::int64_t end;
    place at;  ///< in the kernels, or behind them in the copies
    place row = 0;
    place call = none;
    place step = none;
    place previous = none;  ///< to begin in the stream
    place after = none;     ///< to end in the stream before this began
    place other = none;     ///< of another stream
    bool queued = false;    ///< had come to the device before it was free for it
    std::int64_t call_lag = 0;
    std::int64_t after_lag = 0;
    std::int64_t new_begin = 0;
    std::int64_t new_end = 0;
  };
  struct step {
    std::int64_t begin;
    std::int64_t end;
    std::uint32_t number;
    std::uint32_t thread;
    place first = none;  ///< the calls that stand for its begin and its end
    place last = none;
    std::int64_t gpu_begin = latest_time;  ///< as it was run again
    std::int64_t gpu_end = lost_time;
  };
  enum class moment : std::uint8_t { end, begin, work };  // at one time in this order
  struct event {
    std::int64_t time;
    place at;
    moment what;
  };

  // --- what was recorded ---

  /// The last steps, of as many records as may be looked at; false where that is none.
  bool find_steps() {
    vec<step> all;
    if (summary_.from_steps)
      for (step_record const& each : source_.steps)
        all.push_back({each.begin, each.end, each.step, each.thread});
    all.sort([](step const& a, step const& b) { return a.number < b.number; });
    vec<std::size_t> records(all.size() + 1, 0);  // behind those from before the first step
    auto const count = [&](auto const& of) {
      for (auto const& each : of)
        ++records[all.count_first([&](step const& other) { return other.begin <= each.begin; })];
    };
    count(source_.kernels);
    count(source_.copies);
    count(source_.launches);
    std::size_t first = records.size();
    std::size_t room = most_step_records;
    while (first > 0 && records[first - 1] <= room) room -= records[--first];
    if (all.empty()) return first == 0;
    first = larger(first, std::size_t{summary_.without_first ? 2u : 1u}) - 1;
    skipped_ = first;
    for (std::size_t i = first; i < all.size(); ++i) steps_.push_back(all[i]);
    if (!steps_.empty()) from_ = steps_[0].begin;
    return !steps_.empty();
  }
  place step_of(std::uint32_t number) const noexcept {
    std::size_t const at =
        steps_.count_first([number](step const& each) { return each.number < number; });
    return at < steps_.size() && steps_[at].number == number ? static_cast<place>(at) : none;
  }

  void add_calls() {
    vec<call> all;
    for (place i = 0; i < source_.launches.size(); ++i) {
      launch_record const& each = source_.launches[i];
      if (!each.is_left_out() && each.begin >= from_)
        all.push_back({each.begin, larger(each.begin, each.end), each.thread, i,
                       tree_.position_of(each.node)});
    }
    for (place i = 0; i < steps_.size(); ++i) {
      steps_[i].first = static_cast<place>(all.size());
      all.push_back({steps_[i].begin, steps_[i].begin, steps_[i].thread, none});
      steps_[i].last = static_cast<place>(all.size());
      all.push_back({steps_[i].end, steps_[i].end, steps_[i].thread, none});
    }
    vec<place> order;
    for (place i = 0; i < all.size(); ++i) order.push_back(i);
    order.sort([&all](place a, place b) {
      call const& x = all[a];
      call const& y = all[b];
      if (x.thread != y.thread) return x.thread < y.thread;
      return x.begin != y.begin ? x.begin < y.begin : x.end != y.end ? x.end < y.end : a < b;
    });
    vec<place> moved(all.size(), none);
    call_of_.resize(source_.launches.size(), none);
    host_timeline const host(source_, from_);
    for (place const from : order) {
      call each = all[from];
      place const last = static_cast<place>(calls_.size()) - 1;
      bool const follows = !calls_.empty() && calls_[last].thread == each.thread;
      // A call within another one is part of it.
      bool const inner = follows && each.begin < calls_[last].end;
      moved[from] = inner ? last : last + 1;
      if (each.launch != none) call_of_[each.launch] = moved[from];
      if (inner) continue;
      if (follows) {
        each.before = last;
        std::int64_t const from_ns = calls_[last].end;
        each.gaps = static_cast<place>(gaps_.size());
        if (each.begin - from_ns >= host_timeline::least_host_work)
          host.each_open(each.thread, from_ns, each.begin, root_node,
                         [&](std::uint32_t node, std::int64_t ns) {
                           add_gap(each.gaps, tree_.position_of(node), ns);
                         });
        each.gap_count = static_cast<place>(gaps_.size()) - each.gaps;
      }
      anchor(each, last);
      if (each.launch != none && each.end - each.begin >= host_timeline::least_giving_back)
        if (launch_record const* const freed = host.released_before(source_.launches[each.launch]))
          each.freed = tree_.position_of(freed->node);
      calls_.push_back(each);
    }
    for (step& each : steps_) {
      each.first = moved[each.first];
      each.last = moved[each.last];
    }
  }
  /// Joins what one of the last ranges has already since `first`: loops enter few again and again.
  void add_gap(std::size_t first, place row, std::int64_t ns) {
    for (std::size_t i = gaps_.size(); i > first && gaps_.size() - i < 8; --i) {
      if (gaps_[i - 1].row != row) continue;
      gaps_[i - 1].ns += ns;
      return;
    }
    gaps_.push_back({row, ns});
  }
  /// The first call in a step of a thread that does not itself count steps.
  void anchor(call& each, place last) const noexcept {
    if (each.launch == none) return;
    std::uint32_t const number = source_.launches[each.launch].step;
    place const in = step_of(number);
    if (in == none || steps_[in].thread == each.thread || each.begin < steps_[in].begin) return;
    bool const first = each.before == none || calls_[last].launch == none ||
                       source_.launches[calls_[last].launch].step != number;
    if (first) each.anchor = in;
  }

  bool is_kernel(work const& each) const noexcept { return each.at < source_.kernels.size(); }

  template <class Record>
  void add_records(vec<Record> const& records, std::size_t behind, launch_index const& launches) {
    for (std::size_t i = 0; i < records.size(); ++i) {
      Record const& each = records[i];
      if (each.begin == lost_time || each.begin < from_) continue;
      work made{each.begin, larger(each.begin, each.end), static_cast<place>(behind + i)};
      made.row = tree_.position_of(each.node);
      place const launch = launches.launch_of(each.correlation);
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
    device_.works.sort([](work const& a, work const& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.at < b.at;
    });
    constexpr std::int64_t longest_latency = 20'000;  // beyond that modules were loaded
    vec<std::int64_t> to_idle;
    number_map<place> streams;  // place and 1
    for (place i = 0; i < device_.works.size(); ++i) {
      work& each = device_.works[i];
      place& last = streams[stream_of(each)];
      each.previous = last - 1;
      last = i + 1;
      device_.by_end.push_back(i);
      events_.push_back({each.begin, i, moment::work});
      if (each.call == none) continue;
      calls_[each.call].work = i;
      std::int64_t const called = calls_[each.call].begin;
      bool const idle = each.previous == none || device_.works[each.previous].end <= called;
      if (idle && is_kernel(each)) to_idle.push_back(each.begin - called);
    }
    to_idle.sort();
    if (!to_idle.empty()) latency_ = smaller(to_idle[to_idle.size() / 4], longest_latency);
    device_.by_end.sort(
        [this](place a, place b) { return device_.works[a].end < device_.works[b].end; });
    for (synchronization_record const& wait : source_.synchronizations)
      if (wait.kind == synchronization_kind::stream)
        device_.waits[wait.correlation] = wait.stream + 1;
    for (place i = 0; i < calls_.size(); ++i) {
      events_.push_back({calls_[i].begin, i, moment::begin});
      if (calls_[i].end > calls_[i].begin) events_.push_back({calls_[i].end, i, moment::end});
    }
    events_.sort([](event const& a, event const& b) {
      if (a.time != b.time) return a.time < b.time;
      return a.what != b.what ? a.what < b.what : a.at < b.at;
    });
  }
  std::uint64_t stream_of(work const& each) const noexcept {
    if (is_kernel(each)) {
      kernel_record const& record = source_.kernels[each.at];
      return std::uint64_t{record.context} << 32 | record.stream;
    }
    copy_record const& record = source_.copies[each.at - source_.kernels.size()];
    return std::uint64_t{record.context} << 32 | record.stream;
  }

  // --- what waits for what ---

  /// How many pieces of work had ended at a time.
  std::size_t ended_at(std::int64_t time) const noexcept {
    return device_.by_end.count_first([&](place each) { return device_.works[each].end <= time; });
  }

  void join_work(place at) {
    constexpr std::int64_t unexplained = 2'000;
    constexpr std::int64_t at_once = 10'000;  // as from a launch to an idle device
    work& each = device_.works[at];
    // A copy that blocks begins within its call, which may have waited for it all along.
    bool const blocks = each.call != none && !is_kernel(each) && calls_[each.call].end > each.begin;
    std::int64_t const launched = each.call == none ? lost_time
                                  : blocks          ? calls_[each.call].begin
                                                    : calls_[each.call].end;
    place look = each.previous;
    for (int i = 0; i < 16 && look != none; ++i, look = device_.works[look].previous)
      if (device_.works[look].end <= each.begin &&
          (each.after == none || device_.works[look].end > device_.works[each.after].end))
        each.after = look;
    std::int64_t const free = each.after == none ? lost_time : device_.works[each.after].end;
    each.queued =
        free > launched && (each.call == none || free > calls_[each.call].begin + latency_);
    std::int64_t const ready = larger(free, launched);
    std::size_t const ended = ended_at(each.begin);
    if (ended == 0 || device_.by_end[ended - 1] == each.after) return;
    work const& other = device_.works[device_.by_end[ended - 1]];
    bool const alone = ready == lost_time;
    bool const late = alone || each.begin - ready > (each.queued ? unexplained : at_once);
    bool const close = alone || each.begin - other.end < at_once;
    if (late && close && other.begin < each.begin && other.end > ready)
      each.other = device_.by_end[ended - 1];
  }

  void join_call(place at) {
    constexpr std::int64_t short_call = 20'000;
    constexpr place queue = 256;  // launches that are under way: fewer than any driver lets queue
    call& each = calls_[at];
    each.own = each.end - each.begin;
    if (each.launch == none) return;
    launch_record const& record = source_.launches[each.launch];
    bool waits = false;
    if (record.kind == api_kind::wait) {
      place const* const stream = device_.waits.find(record.correlation);
      std::size_t ended = ended_at(each.end);
      for (int i = 0; i < 64 && ended > 0; ++i, --ended) {
        work const& last = device_.works[device_.by_end[ended - 1]];
        bool const same =
            stream == nullptr || static_cast<std::uint32_t>(stream_of(last)) == *stream - 1;
        if (!same || last.begin >= each.end) continue;
        if (last.call != none && calls_[last.call].begin > each.begin) continue;
        each.until = device_.by_end[ended - 1];
        break;
      }
    } else if (record.kind == api_kind::copy || record.kind == api_kind::set) {
      each.until = each.work;
      waits = true;
    } else if (is_work(record.kind)) {
      if (each.own < short_call || at < queue || calls_[at - queue].thread != each.thread) return;
      place const early = calls_[at - queue].work;
      if (early == none || device_.works[early].end < each.begin) return;
      std::size_t const ended = ended_at(each.end);
      if (ended > 0) each.until = device_.by_end[ended - 1];
      waits = true;
    } else {
      for (place i = each.before; i != none && each.until == none; i = calls_[i].before) {
        each.until = calls_[i].work;
        if (at - i > queue) break;
      }
      waits = true;
    }
    if (each.until == none) return;
    work const& last = device_.works[each.until];
    bool const waited = last.end > each.begin && last.end <= each.end && last.begin < each.end;
    if (waited) each.own = each.lag = each.end - last.end;
    if (each.own < host_timeline::least_giving_back) each.freed = none;
    if (waited) return;
    if (waits || last.end > each.end) each.until = none;
  }

  /// From a call to its work and from work to the next, where that was what it waited for; what it
  /// is elsewhere is not known, and taken to be no more than the middle one.
  void find_lags() {
    vec<std::int64_t> launching;
    vec<std::int64_t> following;
    for (work& each : device_.works) {
      if (each.call != none) each.call_lag = each.begin - calls_[each.call].begin;
      if (each.after != none) each.after_lag = each.begin - device_.works[each.after].end;
      if (each.other != none) continue;
      if (each.queued)
        following.push_back(each.after_lag);
      else if (each.call != none)
        launching.push_back(each.call_lag);
    }
    launching.sort();
    following.sort();
    std::int64_t const launch = launching.empty() ? 10'000 : launching[launching.size() / 2];
    std::int64_t const follow = following.empty() ? 1'000 : following[following.size() / 2];
    for (work& each : device_.works) {
      if (each.queued || each.other != none) each.call_lag = smaller(each.call_lag, launch);
      if (!each.queued || each.other != none) each.after_lag = smaller(each.after_lag, follow);
    }
  }

  // --- running it again ---

  /// A factor that no sum of times overflows with.
  static double bounded(double factor) noexcept {
    constexpr double most = 1000.0;
    return is_nan(factor) ? 1.0 : factor > most ? most : factor > 0.0 ? factor : 0.0;
  }
  /// What a row's parts still take; of a row past the tree: all.
  what_if const& change_of(place row) const noexcept {
    return row < changes_.size() ? changes_[row] : no_change;
  }
  double factor_of(call const& each) const noexcept {
    if (each.launch == none) return 1.0;
    what_if const& change = change_of(each.row);
    switch (source_.launches[each.launch].kind) {
      case api_kind::launch:
      case api_kind::graph_launch:
        return change.launches;
      case api_kind::copy:
      case api_kind::set:
        return change.copies;
      case api_kind::wait:
        return change.waits;
      case api_kind::allocate:
      case api_kind::release:
        return change.allocations;
      default:
        return 1.0;
    }
  }
  static std::int64_t scaled(std::int64_t ns, double by) noexcept {
    return by == 1.0 ? ns : whole_part(static_cast<double>(ns) * by);
  }

  std::int64_t gap_before(call const& each, call const& before) const noexcept {
    if (each.gap_count == 0) return scaled(each.begin - before.end, smaller(factor_of(each), 1.0));
    std::int64_t sum = 0;
    for (place i = each.gaps; i < each.gaps + each.gap_count; ++i)
      sum += scaled(gaps_[i].ns, change_of(gaps_[i].row).host_work);
    return sum;
  }
  void begin(call& each) const noexcept {
    each.new_begin = each.begin;
    if (each.before != none) {
      call const& before = calls_[each.before];
      each.new_begin = before.new_end + (each.anchor != none ? 0 : gap_before(each, before));
    }
    if (each.anchor == none) return;
    step const& in = steps_[each.anchor];
    std::int64_t const distance = each.begin - in.begin;
    each.new_begin = larger(each.new_begin, calls_[in.first].new_begin + distance);
  }
  void end(call& each) const noexcept {
    double const by = factor_of(each);
    double const freed = each.freed == none ? 1.0 : change_of(each.freed).allocations;
    each.new_end = each.new_begin + scaled(each.own, by * freed);
    if (each.until == none || !(by > 0.0)) return;
    each.new_end =
        larger(each.new_end, device_.works[each.until].new_end + scaled(each.lag, freed));
  }
  /// From the work before it. A graph brings a kernel sooner that was never seen to follow at once:
  /// beside each of graphs of 100 kernels a traced H200 idled for 0.40 to 0.46 us.
  std::int64_t lag_of(work const& each) const noexcept {
    constexpr std::int64_t in_graph = 500;
    if (each.queued || each.call == none || !is_kernel(each)) return each.after_lag;
    if (change_of(calls_[each.call].row).launches > 0.0) return each.after_lag;
    return smaller(each.after_lag, in_graph);
  }
  void begin(work& each) noexcept {
    std::int64_t from = lost_time;
    auto const follow = [&from](auto time, auto lag) { from = larger(from, time + lag); };
    if (each.call != none) follow(calls_[each.call].new_begin, each.call_lag);
    if (each.after != none) follow(device_.works[each.after].new_end, lag_of(each));
    if (each.other != none && !any_order_)
      follow(device_.works[each.other].new_end, each.begin - device_.works[each.other].end);
    each.new_begin = from == lost_time ? each.begin : from;
    what_if const& change = change_of(each.row);
    double const part = is_kernel(each) ? change.kernels : change.copies;
    each.new_end = each.new_begin + scaled(each.end - each.begin, part);
    if (each.step == none) return;
    step& in = steps_[each.step];
    in.gpu_begin = smaller(in.gpu_begin, each.new_begin);
    in.gpu_end = larger(in.gpu_end, each.new_end);
  }

  /// Notes what each row's parts take from now on.
  void change_rows(vec<what_if> const& changes) {
    vec<range_row> const& rows = tree_.rows();
    changes_.assign(rows.size(), what_if());
    any_order_ = false;
    for (what_if change : changes) {
      any_order_ = any_order_ || change.any_order;
      for (double* const part : {&change.kernels, &change.copies, &change.launches,
                                 &change.host_work, &change.waits, &change.allocations})
        *part = bounded(*part);
      for (std::size_t row = change.row; row < rows.size(); ++row) {
        bool const below = change.below && rows[row].depth > rows[change.row].depth;
        if (row > change.row && !below) break;
        changes_[row] = change;
      }
    }
  }

  double run(vec<what_if> const& changes) {
    change_rows(changes);
    for (step& each : steps_) {
      each.gpu_begin = latest_time;
      each.gpu_end = lost_time;
    }
    for (event const& each : events_) {
      if (each.what == moment::work) {
        begin(device_.works[each.at]);
        continue;
      }
      call& of = calls_[each.at];
      if (each.what == moment::begin) begin(of);
      if (each.what == moment::end || of.end == of.begin) end(of);
    }
    return steps_.empty() ? whole_ns() : mean_ns();
  }
  /// From the first call or work to the last, where there are no steps.
  double whole_ns() const noexcept {
    std::int64_t first = latest_time;
    std::int64_t last = lost_time;
    for (work const& each : device_.works) {
      first = smaller(first, each.new_begin);
      last = larger(last, each.new_end);
    }
    for (call const& each : calls_) {
      first = smaller(first, each.new_begin);
      last = larger(last, each.new_end);
    }
    return static_cast<double>(elapsed(first, last));
  }
  /// A step lasts until the host left it and its work has ended: what it leaves to the device keeps
  /// the next one waiting.
  double mean_ns() const {
    double sum = 0.0;
    std::int64_t done = lost_time;
    std::int64_t const usual = summary_.period_of_gpu ? usual_distance() : 0;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      step const& each = steps_[i];
      bool const follows = is_followed(i);
      std::int64_t from = larger(calls_[each.first].new_begin, done);
      std::int64_t to = larger(calls_[each.last].new_begin, each.gpu_end);
      done = follows ? to : lost_time;
      if (summary_.period_of_gpu && each.gpu_end != lost_time) {
        from = each.gpu_begin;
        to = is_followed_on_device(i) ? steps_[i + 1].gpu_begin : each.gpu_end + usual;
      }
      sum += static_cast<double>(elapsed(from, to));
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
  vec<step> steps_;
  std::size_t skipped_ = 0;  ///< steps before these
  vec<call> calls_;          ///< by thread and time
  vec<gap> gaps_;            ///< in the order of the calls behind them
  vec<place> call_of_;       ///< by launch
  vec<event> events_;        ///< in the order in which they happened
  vec<what_if> changes_;     ///< by row
  struct device_work {
    vec<work> works;          ///< by begin
    vec<place> by_end;        ///< the same by end
    number_map<place> waits;  ///< stream and 1, by correlation
  } device_;
  bool any_order_ = false;
  double unchanged_ns_ = 0.0;
  std::int64_t latency_ = 0;  ///< from a call to its kernel where the device has nothing to do
};

}  // namespace detail
STRATA_END

#endif  // STRATA_ANALYSE_STEP_REPLAY_HPP
