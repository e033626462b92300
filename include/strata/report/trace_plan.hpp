#include <strata/version.hpp>
#ifndef STRATA_REPORT_TRACE_PLAN_HPP
#define STRATA_REPORT_TRACE_PLAN_HPP

#include <strata/analyse/launch_index.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/report/report_input.hpp>
#include <strata/report/trace_labels.hpp>
#include <strata/report/trace_track.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

STRATA_BEGIN
namespace detail {

/// What of a profile goes into a trace, and on which track: records with times, from the begin of
/// the run on until the limit is reached.
class trace_plan {
 public:
  /// The host process has a track of this context for waits; threads have context 0.
  static constexpr std::uint32_t synchronization_context = 1;

  trace_plan(report_input const& input, trace_labels const& labels, std::uint64_t max_events)
      : input_(input), labels_(labels), arrows_(input.source.launches.size()) {
    limit(max_events);
    launch_index const launches(input.source);
    each([&](trace_slice slice, std::uint64_t) {
      if (slice.begin >= cutoff_) {
        ++left_out_;
        return;
      }
      connect(slice, launches);
      track_of(slice).push_back(slice);
    });
    for (memory_point const& point : input.memory.timeline) left_out_ += point.time >= cutoff_;
    for (span_record const& span : input.source.spans) left_out_ += span.begin >= cutoff_;
  }
  trace_plan(trace_plan const&) = delete;
  trace_plan& operator=(trace_plan const&) = delete;

  /// The host's first, then device by device.
  vec<trace_track>& tracks() noexcept { return tracks_; }
  /// How many arrows begin at a call into the driver.
  std::uint32_t arrows_of(std::uint32_t launch) const noexcept { return arrows_[launch]; }
  /// What begins here or later is left out.
  std::int64_t cutoff() const noexcept { return cutoff_; }
  std::uint64_t left_out() const noexcept { return left_out_; }
  std::uint64_t without_time() const noexcept { return without_time_; }

 private:
  /// Calls visit(slice, events) for each record that has times; events: the most that it becomes.
  template <class Visit>
  void each(Visit visit) {
    profile const& source = input_.source;
    without_time_ = 0;
    auto const records = [&](auto const& all, slice_kind kind, std::uint64_t events, auto order) {
      for (std::size_t i = 0; i < all.size(); ++i) {
        auto const& record = all[i];
        if (record.begin == lost_time || record.end == lost_time) {
          ++without_time_;
          continue;
        }
        std::int64_t const end = record.end < record.begin ? record.begin : record.end;
        int const rank = order(record);
        if (rank < 0) continue;
        visit(trace_slice{record.begin, end, static_cast<std::uint32_t>(i), no_launch, 0, kind,
                          static_cast<std::uint8_t>(rank)},
              events);
      }
    };
    auto const same = [](auto const&) { return 0; };
    records(source.steps, slice_kind::step, 1, same);
    records(source.ranges, slice_kind::range, 1, [&](range_record const& range) {
      if (!labels_.has_own_row(range.node)) return -1;
      std::uint32_t const depth = source.nodes[range.node].depth;
      return depth < 250 ? static_cast<int>(depth) + 1 : 251;
    });
    records(source.launches, slice_kind::driver, 1, [](auto const&) { return 254; });
    records(source.kernels, slice_kind::kernel, 3, same);
    records(source.copies, slice_kind::copy, 3, same);
    records(source.synchronizations, slice_kind::synchronization, 1, same);
  }

  template <class Visit>
  void each_time(Visit visit) {
    each([&](trace_slice const& slice, std::uint64_t events) { visit(slice.begin, events); });
    for (memory_point const& point : input_.memory.timeline) visit(point.time, 1);
    for (span_record const& span : input_.source.spans) visit(span.begin, 2);
  }

  /// Sets the latest cutoff below which at most max_events begin, by ever finer histograms.
  void limit(std::uint64_t max_events) {
    constexpr std::uint64_t bins = 4096;
    std::uint64_t total = 0;
    std::int64_t low = (std::numeric_limits<std::int64_t>::max)();
    std::int64_t high = (std::numeric_limits<std::int64_t>::min)();
    each_time([&](std::int64_t time, std::uint64_t events) {
      total += events;
      low = time < low ? time : low;
      high = time > high ? time : high;
    });
    if (total <= max_events) return;
    std::uint64_t before = 0;  // events before low
    std::uint64_t size = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) + 1;
    for (std::uint64_t width = size; width > 1;) {
      width = size / bins + 1;
      vec<std::uint64_t> counts(bins);
      each_time([&](std::int64_t time, std::uint64_t events) {
        auto const offset = static_cast<std::uint64_t>(time) - static_cast<std::uint64_t>(low);
        if (time >= low && offset < size) counts[offset / width] += events;
      });
      std::uint64_t bin = 0;
      while (bin + 1 < bins && before + counts[bin] <= max_events) before += counts[bin++];
      low += static_cast<std::int64_t>(bin * width);
      size = width;
    }
    cutoff_ = low;
  }

  /// An arrow has both ends in the trace, and ends within its slice even where the clocks disagree.
  void connect(trace_slice& slice, launch_index const& launches) {
    std::uint32_t correlation = 0;
    if (slice.kind == slice_kind::kernel) {
      correlation = input_.source.kernels[slice.index].correlation;
    } else if (slice.kind == slice_kind::copy) {
      correlation = input_.source.copies[slice.index].correlation;
    } else {
      return;
    }
    std::uint32_t const launch = launches.launch_of(correlation);
    if (launch == launch_index::none) return;
    slice.launch = launch;
    launch_record const& from = input_.source.launches[launch];
    bool const drawn = from.begin != lost_time && from.end != lost_time && from.begin < cutoff_ &&
                       from.begin <= slice.end;
    slice.arrow = drawn ? ++arrows_[launch] : 0;
  }

  vec<trace_slice>& track_of(trace_slice const& slice) {
    profile const& source = input_.source;
    trace_track::position at;
    auto const on_device = [&at](auto const& record) {
      at = {record.device + 1u, record.context, record.stream};
    };
    switch (slice.kind) {
      case slice_kind::step:
        at.stream = source.steps[slice.index].thread;
        break;
      case slice_kind::range:
        at.stream = source.ranges[slice.index].thread;
        break;
      case slice_kind::driver:
        at.stream = source.launches[slice.index].thread;
        break;
      case slice_kind::kernel:
        on_device(source.kernels[slice.index]);
        break;
      case slice_kind::copy:
        on_device(source.copies[slice.index]);
        break;
      case slice_kind::synchronization:
        at.context = synchronization_context;
        break;
    }
    if (last_ < tracks_.size() && tracks_[last_].at == at) return tracks_[last_].slices;
    auto const found = std::lower_bound(
        tracks_.begin(), tracks_.end(), at,
        [](trace_track const& track, trace_track::position const& p) { return track.at < p; });
    last_ = static_cast<std::size_t>(found - tracks_.begin());
    if (found == tracks_.end() || !(found->at == at)) tracks_.insert(found, trace_track{at, {}});
    return tracks_[last_].slices;
  }

  report_input const& input_;
  trace_labels const& labels_;
  vec<std::uint32_t> arrows_;
  vec<trace_track> tracks_;
  std::size_t last_ = 0;
  std::int64_t cutoff_ = (std::numeric_limits<std::int64_t>::max)();
  std::uint64_t left_out_ = 0;
  std::uint64_t without_time_ = 0;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_REPORT_TRACE_PLAN_HPP
