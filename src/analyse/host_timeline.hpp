#ifndef STRATA_ANALYSE_HOST_TIMELINE_HPP
#define STRATA_ANALYSE_HOST_TIMELINE_HPP

#include <strata/base/containers.hpp>
#include <strata/profile.hpp>
#include <strata/profile/records.hpp>
#include "steps.hpp"

#include <algorithm>

STRATA_BEGIN
namespace detail {

/// When the device could have begun work that began at `work_begin`, idle from `begin` on: what
/// passes until then is the host's, what passes later is the device's own. `launch`: of the work;
/// null where it is unknown.
inline std::int64_t due_begin(driver_call_record const* launch, std::int64_t begin,
                              std::int64_t work_begin) noexcept {
  constexpr std::int64_t between_kernels = 1'000;  // of queued work, each launched by itself
  constexpr std::int64_t launch_latency = 10'000;  // from the launch to an idle device
  bool const queued = launch == nullptr || launch->end <= begin;
  bool const graph = launch != nullptr && launch->kind == api_kind::graph_launch;
  std::int64_t const from = queued ? begin : launch->end;
  std::int64_t const late = !queued ? launch_latency : graph ? 0 : between_kernels;
  return std::min(work_begin, from + late);
}

/// What the host's calls say about a time in which the device was idle.
class host_timeline {
 public:
  /// Host time between two calls from which on it is work of the program. Units: ns. What is
  /// shorter is part of launching: PyTorch's dispatcher takes 5 to 25 us from launch to launch.
  static constexpr std::int64_t least_host_work = 32'000;
  /// A wait continues for so long after its work only where a pool gives released memory back in
  /// it.
  static constexpr std::int64_t least_giving_back = 50'000;

  /// Calls and ranges that ended before `from` are left out.
  host_timeline(profile const& source, std::int64_t from) : source_(source) {
    for (std::uint32_t i = 0; i < source.launches.size(); ++i)
      if (!source.launches[i].is_left_out() && source.launches[i].end >= from) calls_.push_back(i);
    calls_.sort([&source](std::uint32_t a, std::uint32_t b) {
      driver_call_record const& x = source.launches[a];
      driver_call_record const& y = source.launches[b];
      return x.thread != y.thread ? x.thread < y.thread : x.begin < y.begin;
    });
    find_uploads();
    find_stops();
    for (std::uint32_t i = 0; i < source.ranges.size(); ++i)
      if (source.ranges[i].end >= from) ranges_.push_back(i);
    ranges_.sort([&source](std::uint32_t a, std::uint32_t b) {
      range_record const& x = source.ranges[a];
      range_record const& y = source.ranges[b];
      if (x.thread != y.thread) return x.thread < y.thread;
      return x.begin != y.begin ? x.begin < y.begin : x.end > y.end;
    });
    for (std::uint32_t i = 0; i < ranges_.size(); ++i) {
      range_record const& range = source.ranges[ranges_[i]];
      std::uint32_t around = i;  // 1 beyond the place of what may contain it; 0: nothing
      while (around > 0 && !may_contain(source.ranges[ranges_[around - 1]], range))
        around = outer_[around - 1];
      outer_.push_back(around);
      skips_.push_back(skip_from(around, range.end));
    }
  }

  /// Whether a call makes, changes or uploads a CUDA graph, or was captured into one.
  /// Requires: it is one of the profile.
  bool is_of_graphs(driver_call_record const& call) const noexcept {
    return makes_graphs(call.kind) || is_captured_work(call) ||
           uploads_[static_cast<std::size_t>(&call - source_.launches.data())] != 0;
  }
  /// Whether a call was captured into a graph instead of putting work on the device.
  static bool is_captured_work(driver_call_record const& call) noexcept {
    return call.only_captured() && is_work(call.kind);
  }
  /// Whether a capture goes on behind a call.
  static bool captures(driver_call_record const& call) noexcept {
    return is_captured_work(call) || (call.only_captured() && makes_graphs(call.kind));
  }

  /// Tells `sink(node, cause, ns)` what the thread did from `begin` to `end`, the latest call
  /// first. The call `last` began the work at the end; null where no work follows.
  void split(std::uint32_t thread, std::int64_t begin, std::int64_t end,
             driver_call_record const* last,
             callback<void(std::uint32_t, idle_cause, std::int64_t)> sink) const {
    std::size_t position = calls_before(thread, end);
    if (last != nullptr)
      while (position > 0 && &call_in(position - 1) != last && is_of(position - 1, thread) &&
             call_in(position - 1).begin > last->begin)
        --position;
    // Where the host was in a wait or a copy when the device ran dry, launches came late for it.
    driver_call_record const* const first = covering(position, thread, begin);
    bool const late = first != nullptr && cause_of(*first) != idle_cause::launch;
    auto const blame = [&](driver_call_record const& call) -> driver_call_record const& {
      return late && cause_of(call) == idle_cause::launch ? *first : call;
    };
    auto const host_work = [&sink](std::uint32_t node, std::int64_t ns) {
      sink(node, idle_cause::host_work, ns);
    };
    std::int64_t until = end;
    driver_call_record const* next = last;
    bool first_call = true;
    for (; position > 0 && is_of(position - 1, thread) && until > begin;
         --position, first_call = false) {
      driver_call_record const& call = call_in(position - 1);
      if (call.begin >= until) continue;
      std::int64_t const left = std::max(call.end, begin);
      if (left < until) {
        bool const own = !(first_call && &call == last) && until - call.end >= least_host_work;
        driver_call_record const& culprit =
            captures(call) ? call : blame(next == nullptr ? call : *next);
        if (own && !captures(call))
          for_each_open(thread, left, until, culprit.node, host_work);
        else
          sink(culprit.node, cause_of(culprit), until - left);
        until = left;
      }
      std::int64_t const from = std::max(call.begin, begin);
      driver_call_record const* const freed =
          until - from >= least_giving_back ? released_before(call) : nullptr;
      driver_call_record const& culprit = freed != nullptr ? *freed : blame(call);
      if (from < until) sink(culprit.node, cause_of(culprit), until - from);
      until = std::min(until, from);
      next = &call;
    }
    for_each_open(thread, begin, until, next == nullptr ? root_node : next->node, host_work);
  }

  /// The last release in the thread of this wait since the wait before; null where there is none,
  /// and for other calls.
  driver_call_record const* released_before(driver_call_record const& wait) const noexcept {
    if (wait.kind != api_kind::wait) return nullptr;
    std::size_t position = calls_before(wait.thread, wait.begin);
    for (; position > 0 && is_of(position - 1, wait.thread); --position) {
      driver_call_record const& call = call_in(position - 1);
      if (call.kind == api_kind::release) return &call;
      if (call.kind == api_kind::wait) return nullptr;
    }
    return nullptr;
  }

  /// Tells `sink(node, ns)` the innermost ranges that were open from `begin` to `end`; `otherwise`
  /// if none is known.
  void for_each_open(std::uint32_t thread, std::int64_t begin, std::int64_t end,
                     std::uint32_t otherwise,
                     callback<void(std::uint32_t, std::int64_t)> sink) const {
    std::size_t position = ranges_.count_first([&](std::uint32_t index) {
      range_record const& range = source_.ranges[index];
      return range.thread != thread ? range.thread < thread : range.begin < begin;
    });
    vec<range_record const*> begun;  // meanwhile, the innermost last
    std::uint32_t around = open_around(static_cast<std::uint32_t>(position), thread, begin);
    std::int64_t now = begin;
    auto const pass = [&](std::int64_t until) {
      while (now < until) {
        range_record const* const open = !begun.empty() ? begun.back()
                                         : around != 0  ? &range_in(around - 1)
                                                        : nullptr;
        std::int64_t const part_end = open == nullptr ? until : std::min(until, open->end);
        std::uint32_t const outside = ranges_.empty() ? otherwise : root_node;
        if (part_end > now) sink(open == nullptr ? outside : open->node, part_end - now);
        now = std::max(now, part_end);
        if (open == nullptr || open->end > now) continue;
        if (!begun.empty())
          begun.pop_back();
        else
          around = open_around(outer_[around - 1], thread, now);
      }
    };
    for (; position < ranges_.size(); ++position) {
      range_record const& range = range_in(position);
      if (range.thread != thread || range.begin >= end) break;
      pass(range.begin);
      begun.push_back(&range);
    }
    pass(end);
  }

 private:
  static bool may_contain(range_record const& outer, range_record const& inner) noexcept {
    return outer.thread == inner.thread && outer.end > inner.begin;
  }
  /// The first launch of a graph uploads it: the long ones of those behind as many instantiations
  /// of their step. Which graph a call is of is not recorded: a long launch of an older graph there
  /// counts too, and so does one behind cuGraphUpload, which has uploaded that graph already.
  void find_uploads() {
    constexpr std::int64_t least = 20'000;  // ns; chosen: a launch takes 5 to 10 us
    uploads_.resize(source_.launches.size(), 0);
    std::uint32_t made = 0;  // graphs that wait for their first launch
    driver_call_record const* last = nullptr;
    for (std::uint32_t const position : calls_) {
      driver_call_record const& call = source_.launches[position];
      if (last != nullptr && (last->thread != call.thread || last->step != call.step)) made = 0;
      last = &call;
      if (call.kind == api_kind::instantiate) ++made;
      if (call.kind != api_kind::graph_launch || is_captured_work(call) || made == 0) continue;
      --made;
      uploads_[position] = call.end - call.begin >= least ? 1 : 0;
    }
  }
  /// Finds the nodes whose ranges stop the program at their ends.
  void find_stops() {
    stops_.resize(source_.nodes.size(), 0);
    for (attribute_record const& attribute : source_.attributes)
      if (attribute.note != no_reference && attribute.note < source_.names.size() &&
          source_.names[attribute.note] == stops_at_end && attribute.node < stops_.size())
        stops_[attribute.node] = 1;
  }
  bool stops_at_end_of(std::uint32_t node) const noexcept {
    return node < stops_.size() && stops_[node] != 0;
  }
  idle_cause cause_of(driver_call_record const& call) const noexcept {
    api_kind const kind = call.kind;
    return is_of_graphs(call)                                        ? idle_cause::graph
           : kind == api_kind::wait && stops_at_end_of(call.node)    ? idle_cause::range_end
           : kind == api_kind::wait                                  ? idle_cause::wait
           : kind == api_kind::copy                                  ? idle_cause::copy
           : kind == api_kind::allocate || kind == api_kind::release ? idle_cause::allocation
                                                                     : idle_cause::launch;
  }
  range_record const& range_in(std::size_t position) const noexcept {
    return source_.ranges[ranges_[position]];
  }

  /// Over several ranges that lie around each other.
  struct skip {
    std::uint32_t to;         ///< 1 beyond the place of the one behind them; 0: none
    std::uint32_t length;     ///< how many they are
    std::int64_t latest_end;  ///< of them
  };
  /// From a range that lies in `around`: over it alone, or over as many as two equal skips that
  /// follow each other. From a range to one around it there are few skips then, however deep.
  skip skip_from(std::uint32_t around, std::int64_t end) const noexcept {
    if (around == 0) return {around, 1, end};
    skip const& first = skips_[around - 1];
    if (first.to == 0) return {around, 1, end};
    skip const& second = skips_[first.to - 1];
    if (first.length != second.length) return {around, 1, end};
    return {second.to, first.length + second.length + 1,
            std::max(end, std::max(first.latest_end, second.latest_end))};
  }
  /// The first that ends behind a time, of the range at a place (as `outer_` has it) and those
  /// around it; 0 if none does.
  std::uint32_t open_around(std::uint32_t place, std::uint32_t thread,
                            std::int64_t time) const noexcept {
    while (place > 0 && range_in(place - 1).thread == thread && range_in(place - 1).end <= time) {
      skip const& over = skips_[place - 1];
      place = over.latest_end <= time ? over.to : outer_[place - 1];
    }
    return place > 0 && range_in(place - 1).thread == thread ? place : 0;
  }
  driver_call_record const& call_in(std::size_t position) const noexcept {
    return source_.launches[calls_[position]];
  }
  bool is_of(std::size_t position, std::uint32_t thread) const noexcept {
    return call_in(position).thread == thread;
  }
  /// The place behind the calls that a thread began before a time.
  std::size_t calls_before(std::uint32_t thread, std::int64_t time) const noexcept {
    return calls_.count_first([&](std::uint32_t index) {
      driver_call_record const& call = source_.launches[index];
      return call.thread != thread ? call.thread < thread : call.begin < time;
    });
  }

  /// The call that the thread was in at a time, of those before a place; null where it was in none.
  driver_call_record const* covering(std::size_t position, std::uint32_t thread,
                                     std::int64_t time) const noexcept {
    for (; position > 0 && is_of(position - 1, thread); --position) {
      driver_call_record const& call = call_in(position - 1);
      if (call.begin <= time) return call.end > time ? &call : nullptr;
    }
    return nullptr;
  }

  profile const& source_;
  vec<std::uint8_t> uploads_;  ///< by position in the profile: 1 of the calls that upload a graph
  vec<std::uint8_t> stops_;    ///< by node: 1 of those whose ranges stop the program
  vec<std::uint32_t> calls_;   ///< by thread and time
  vec<std::uint32_t> ranges_;  ///< by thread and time
  vec<std::uint32_t> outer_;   ///< of each of these 1 beyond the place of that around it; 0: none
  vec<skip> skips_;            ///< of each of these
};

}  // namespace detail
STRATA_END

#endif  // STRATA_ANALYSE_HOST_TIMELINE_HPP
