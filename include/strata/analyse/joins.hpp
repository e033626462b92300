#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_JOINS_HPP
#define STRATA_ANALYSE_JOINS_HPP

#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile.hpp>
#include <strata/profile/records.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

STRATA_BEGIN

namespace detail {

/// Joins device records to the calls that caused them, in place: leaves out what belongs to warm-up
/// steps or to none, and the profiler's own kernels, marks calls that only captured, and counts
/// what has no call or no time. Afterwards the launches are sorted by correlation. Cost: O((l + r)
/// log l) for l launches and r records.
class correlation {
 public:
  explicit correlation(profile& data) : data_(&data) {
    data.launches.sort([](launch_record const& a, launch_record const& b) {
      return a.correlation < b.correlation;
    });
    worked_.assign(data.launches.size(), false);
  }

  void run() {
    data_->kernels.keep_if(
        [this](kernel_record const& r) { return keep_work(r, is_profilers_own(r)); });
    data_->copies.keep_if([this](copy_record const& r) { return keep_work(r, false); });
    auto const keep_call = [this](auto const& r, auto const& without_call) {
      std::size_t const at = find(r.correlation);
      if (at == none) return without_call();
      worked_[at] = true;
      return !left_out(at);
    };
    data_->memory.keep_if(
        [&](memory_record const& r) { return keep_call(r, [] { return true; }); });
    note_warmup_times();
    data_->synchronizations.keep_if([&](synchronization_record const& r) {
      return keep_call(r, [&] { return !in_warmup_step(r.begin); });
    });
    data_->overheads.keep_if([this](overhead_record const& r) { return !in_warmup_step(r.begin); });
    drop_launches();
  }

 private:
  static constexpr std::size_t none = ~std::size_t{0};

  std::size_t find(std::uint32_t id) const noexcept {
    auto const& launches = data_->launches;
    std::size_t const at =
        launches.count_first([&](launch_record const& l) { return l.correlation < id; });
    return at == launches.size() || launches[at].correlation != id ? none : at;
  }

  bool left_out(std::size_t at) const noexcept {
    return (data_->launches[at].flags &
            (launch_record::in_warmup | launch_record::outside_window)) != 0;
  }

  void note_warmup_times() {
    for (launch_record const& l : data_->launches) {
      if ((l.flags & launch_record::in_warmup) != 0) warmup_times_.push_back(l.begin);
    }
    warmup_times_.sort();
  }

  /// For records that no call is known of: whether a time lies between recorded steps, together
  /// with a call of a warm-up step.
  bool in_warmup_step(std::int64_t time) const noexcept {
    if (warmup_times_.empty() || time == lost_time) return false;
    auto const& steps = data_->steps;
    step_record const* const next =
        steps.begin() + steps.count_first([&](step_record const& s) { return s.begin <= time; });
    std::int64_t const* call = warmup_times_.begin();
    if (next != steps.begin()) {
      std::int64_t const end = (next - 1)->end;
      if (time <= end) return false;
      call += warmup_times_.count_first([&](std::int64_t t) { return t < end; });
    }
    return call != warmup_times_.end() && (next == steps.end() || *call < next->begin);
  }

  /// CUPTI's Range Profiler launches a kernel of its own, without a call of the program.
  bool is_profilers_own(kernel_record const& r) const noexcept {
    return r.name != no_reference && r.name <= data_->kernel_names.size() &&
           data_->kernel_names[r.name - 1].mangled == "WaitNs";
  }

  template <class Record>
  bool keep_work(Record const& r, bool profilers_own) {
    std::size_t const at = find(r.correlation);
    if (at == none) {
      if (profilers_own) return false;
      ++data_->losses.uncorrelated;
    } else {
      if (left_out(at)) return false;
      worked_[at] = true;
    }
    if (r.begin == lost_time) ++data_->losses.timestamps_lost;
    return true;
  }

  void drop_launches() {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < data_->launches.size(); ++i) {
      launch_record launch = data_->launches[i];
      if (left_out(i)) continue;
      if (worked_[i]) launch.flags = 0;
      data_->launches[kept++] = launch;
    }
    data_->launches.resize(kept);
  }

  profile* data_;
  vec<bool> worked_;
  vec<std::int64_t> warmup_times_;
};

/// Which call into the driver caused the work of a record, and which range captured a graph's node.
/// Cost: one sort of the launches; O(log n) a question, less when asked again for the same.
class launch_index {
 public:
  static constexpr std::uint32_t none = 0xffffffffu;

  explicit launch_index(profile const& source) : source_(source) {
    launches_.reserve(source.launches.size());
    for (std::size_t i = 0; i < source.launches.size(); ++i) {
      launch_record const& launch = source.launches[i];
      if (launch.flags == 0)
        launches_.push_back({launch.correlation, static_cast<std::uint32_t>(i)});
    }
    launches_.sort();
    if (!std::is_sorted(source.captured.begin(), source.captured.end())) {
      captured_ = source.captured;
      captured_.sort();
    }
  }
  launch_index(launch_index const&) = delete;
  launch_index& operator=(launch_index const&) = delete;

  /// Position in profile::launches, or none.
  std::uint32_t launch_of(std::uint32_t correlation) const noexcept {
    auto const* const at = launches_.begin() + launches_.count_first([&](auto const& entry) {
      return entry.first < correlation;
    });
    return at != launches_.end() && at->first == correlation ? at->second : none;
  }

  /// Node of the range that launched, the root where the launch is not known.
  std::uint32_t node_of(std::uint32_t correlation) const noexcept {
    std::uint32_t const launch = launch_of(correlation);
    return launch == none ? root_node : source_.launches[launch].node;
  }

  /// Node of the range that captured the kernel into a graph, or none.
  std::uint32_t capturing_node(kernel_record const& kernel) const noexcept {
    std::uint32_t const launch = launch_of(kernel.correlation);
    captured_record const wanted{kernel.graph_node, 0,
                                 launch == none ? kernel.begin : source_.launches[launch].begin};
    auto const& entries = captured_.empty() ? source_.captured : captured_;
    std::size_t const after =
        entries.count_first([&](captured_record const& entry) { return !(wanted < entry); });
    if (after == 0) return none;
    captured_record const& last = entries[after - 1];
    return last.graph_node == kernel.graph_node ? last.node : none;
  }

 private:
  profile const& source_;
  vec<std::pair<std::uint32_t, std::uint32_t>> launches_;  ///< correlation and position
  vec<captured_record> captured_;  ///< only where the profile's are out of order
};

/// Tells the calls of ranges that only captured work into a graph from those that did it.
/// Cost: two sorts of the launches, nothing where none was captured; O(log n) a question.
class captured_calls {
 public:
  explicit captured_calls(profile const& source) {
    for (launch_record const& launch : source.launches)
      if (launch.flags == launch_record::in_capture && is_work(launch.kind))
        captured_.push_back(moment_of(launch));
    if (captured_.empty()) return;
    for (launch_record const& launch : source.launches)
      if (launch.flags == 0 && is_work(launch.kind)) worked_.push_back(moment_of(launch));
    std::sort(captured_.begin(), captured_.end());
    std::sort(worked_.begin(), worked_.end());
  }

  bool only_captured(range_record const& range) const noexcept {
    return within(captured_, range) && !within(worked_, range);
  }

 private:
  using moment = std::pair<std::uint32_t, std::int64_t>;  ///< thread and time

  static moment moment_of(launch_record const& launch) noexcept {
    return {launch.thread, launch.begin};
  }

  static bool within(vec<moment> const& moments, range_record const& range) noexcept {
    moment const wanted{range.thread, range.begin};
    moment const* const at =
        moments.begin() + moments.count_first([&](moment const& each) { return each < wanted; });
    return at != moments.end() && at->first == range.thread && at->second <= range.end;
  }

  vec<moment> captured_;
  vec<moment> worked_;
};

/// Memory that the device owns or that moves to it: what counts as memory in use.
constexpr bool is_device_memory(memory_kind kind) noexcept {
  return kind == memory_kind::device || kind == memory_kind::managed ||
         kind == memory_kind::array || kind == memory_kind::device_static ||
         kind == memory_kind::managed_static;
}

/// The memory records of a profile in order of time, each with the allocation that it ends.
struct allocation_pairs {
  static constexpr std::uint32_t none = 0xffffffffu;

  vec<std::uint32_t> order;  ///< positions in profile::memory
  /// For each record the position of the allocation whose life ends there: a release ends one, and
  /// so does an allocation at an address that is still in use, because its release was lost.
  vec<std::uint32_t> ended;

  explicit allocation_pairs(vec<memory_record> const& records)
      : order(records.size()), ended(records.size(), none) {
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::uint32_t>(i);
    auto const earlier = [&records](std::uint32_t a, std::uint32_t b) {
      return records[a].time != records[b].time ? records[a].time < records[b].time : a < b;
    };
    order.sort([&](std::uint32_t a, std::uint32_t b) {
      return records[a].address != records[b].address ? records[a].address < records[b].address
                                                      : earlier(a, b);
    });
    std::uint32_t live = none;
    for (std::size_t i = 0; i < order.size(); ++i) {
      memory_record const& record = records[order[i]];
      if (i == 0 || records[order[i - 1]].address != record.address) live = none;
      ended[order[i]] = live;
      live = record.allocates != 0 ? order[i] : none;
    }
    order.sort(earlier);
  }
};

}  // namespace detail
STRATA_END

#endif  // STRATA_ANALYSE_JOINS_HPP
