#include "trace_plan.hpp"

#include <strata/base/containers.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/utf8.hpp>
#include <strata/base/vec.hpp>
#include <strata/base/vocabulary.hpp>
#include <strata/profile/records.hpp>
#include <strata/tables/call_tree.hpp>
#include <strata/tables/columns.hpp>
#include <strata/tables/kernel_table.hpp>
#include <strata/tables/range_rows.hpp>
#include "range_projection.hpp"
#include "use_tracks.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

STRATA_BEGIN
namespace detail {
namespace {

/// Lanes of a track, and how long a slice may be that fits into each now. Cost: log n a call.
class trace_lanes {
 public:
  /// The first lane that has room for a slice, which is added if none has. Requires: slices come
  /// in order.
  std::size_t place(trace_slice const& slice) {
    while (!ends_.empty() && ends_[0].time <= slice.begin) close(take_first_end());
    std::size_t const lane = first_with_room(slice.end);
    if (lane == open_.size()) open_.emplace_back();
    open_[lane].push_back({slice.end, slice.holds_others()});
    add_end({slice.end, static_cast<std::uint32_t>(lane)});
    set_room(lane);
    return lane;
  }

 private:
  struct end_of_slice {
    std::int64_t time;
    std::uint32_t lane;
  };

  void close(std::size_t lane) {
    open_[lane].pop_back();  // of those that nest the innermost ends first
    set_room(lane);
  }

  // A heap of the ends: none is before the one at half its place.
  void add_end(end_of_slice end) {
    std::size_t place = ends_.size();
    ends_.push_back(end);
    for (; place > 0 && end.time < ends_[(place - 1) / 2].time; place = (place - 1) / 2)
      ends_[place] = ends_[(place - 1) / 2];
    ends_[place] = end;
  }
  std::size_t take_first_end() {
    std::size_t const lane = ends_[0].lane;
    end_of_slice const last = ends_.back();
    ends_.pop_back();
    std::size_t place = 0;
    for (std::size_t next = 1; next < ends_.size(); next = 2 * place + 1) {
      if (next + 1 < ends_.size() && ends_[next + 1].time < ends_[next].time) ++next;
      if (last.time <= ends_[next].time) break;
      ends_[place] = ends_[next];
      place = next;
    }
    if (!ends_.empty()) ends_[place] = last;
    return lane;
  }

  // A tree of the room in lanes: each place has the most of the two below it.
  void set_room(std::size_t lane) {
    if (lane >= lanes_) grow();
    std::size_t place = lanes_ + lane;
    room_[place] = open_[lane].empty()        ? latest_time
                   : open_[lane].back().holds ? open_[lane].back().end
                                              : lost_time;
    while (place > 1) {
      place /= 2;
      room_[place] = std::max(room_[2 * place], room_[2 * place + 1]);
    }
  }
  void grow() {
    std::size_t const twice = lanes_ == 0 ? 1 : 2 * lanes_;
    vec<std::int64_t> wider(2 * twice, lost_time);
    for (std::size_t lane = 0; lane < lanes_; ++lane) wider[twice + lane] = room_[lanes_ + lane];
    for (std::size_t place = twice; place-- > 1;)
      wider[place] = std::max(wider[2 * place], wider[2 * place + 1]);
    room_ = std::move(wider);
    lanes_ = twice;
  }
  std::size_t first_with_room(std::int64_t end) const noexcept {
    if (lanes_ == 0 || room_[1] < end) return open_.size();
    std::size_t place = 1;
    while (place < lanes_) place = room_[2 * place] >= end ? 2 * place : 2 * place + 1;
    return place - lanes_;
  }

  struct open_slice {
    std::int64_t end;
    bool holds;
  };
  vec<vec<open_slice>> open_;  ///< of each lane what is not over, the first end last
  vec<end_of_slice> ends_;
  vec<std::int64_t> room_;  ///< from place 1; the lanes' own from `lanes_` on
  std::size_t lanes_ = 0;   ///< that the tree has room for
};

}  // namespace

vec<vec<trace_slice>> split_into_lanes(vec<trace_slice> slices) {
  if (!std::is_sorted(slices.begin(), slices.end())) std::stable_sort(slices.begin(), slices.end());
  vec<vec<trace_slice>> lanes(1);
  trace_lanes places;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    trace_slice const slice = slices[i];
    std::size_t const lane = places.place(slice);
    if (lane == lanes.size()) lanes.emplace_back();
    if (lane == 0) {
      slices[kept++] = slice;
    } else {
      lanes[lane].push_back(slice);
    }
  }
  slices.resize(kept);
  lanes[0] = std::move(slices);
  return lanes;
}

std::int64_t trace_origin(profile const& source) noexcept {
  std::int64_t first = 0;
  auto const consider = [&first](auto const& records) {
    for (auto const& record : records)
      if (record.begin != lost_time) first = std::min(first, record.begin);
  };
  consider(source.steps);
  consider(source.early_steps);
  consider(source.ranges);
  consider(source.launches);
  consider(source.kernels);
  consider(source.copies);
  consider(source.synchronizations);
  consider(source.spans);
  for (memory_record const& record : source.memory)
    if (record.time != lost_time) first = std::min(first, record.time);
  return first;
}

template <class Visit>
void trace_plan::for_each_slice(Visit const& visit) {
  profile const& source = input_.source;
  without_time_ = 0;
  auto const records = [&](auto const& all, slice_kind kind, auto order) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      auto const& record = all[i];
      if (record.begin == lost_time || record.end == lost_time) {
        ++without_time_;
        continue;
      }
      std::int64_t const end = record.end < record.begin ? record.begin : record.end;
      int const rank = order(record);
      if (rank < 0) continue;
      visit(trace_slice{record.begin, end, static_cast<std::uint32_t>(i), no_launch, false, 0, kind,
                        static_cast<std::uint8_t>(rank)});
    }
  };
  auto const outermost = [](auto const&) { return 0; };
  auto const innermost = [](auto const&) { return 255; };
  records(steps_, slice_kind::step, outermost);
  records(source.ranges, slice_kind::range, [&](range_record const& range) {
    if (!labels_.has_own_row(range.node)) return -1;
    std::uint32_t const depth = source.nodes[range.node].depth;
    return depth < 250 ? static_cast<int>(depth) + 1 : 251;
  });
  records(source.launches, slice_kind::driver, innermost);
  records(source.kernels, slice_kind::kernel, innermost);
  records(source.copies, slice_kind::copy, innermost);
  records(source.synchronizations, slice_kind::synchronization, innermost);
  records(projected_, slice_kind::projection,
          [](projected_range const& range) { return static_cast<int>(range.depth); });
}

std::uint64_t trace_plan::events_of(trace_slice const& slice) const noexcept {
  constexpr std::size_t longest = 512;  // bytes of a path within one event; chosen
  profile const& source = input_.source;
  std::uint32_t const index = slice.index;
  std::uint32_t const node = slice.kind == slice_kind::range        ? source.ranges[index].node
                             : slice.kind == slice_kind::driver     ? source.launches[index].node
                             : slice.kind == slice_kind::kernel     ? source.kernels[index].node
                             : slice.kind == slice_kind::projection ? projected_[index].node
                                                                    : root_node;
  return 1 + labels_.texts()[labels_.range(node).path].size() / longest;
}

template <class Visit>
void trace_plan::for_each_time(Visit const& visit) {
  for_each_slice([&](trace_slice const& slice) { visit(slice.begin, events_of(slice)); });
  for (memory_point const& point : input_.memory.timeline) visit(point.time, 1);
  for (span_record const& span : input_.source.spans) visit(span.begin, 2);
  for (use_track const& track : uses_)
    for (use_track::point const& point : track.points) visit(point.time, 1);
}

trace_plan::trace_plan(table_input const& input, trace_labels const& labels,
                       std::uint64_t max_events)
    : input_(input),
      labels_(labels),
      has_arrow_(input.source.launches.size()),
      projected_(project_ranges(input.source,
                                [&](std::uint32_t node) { return labels.has_own_row(node); })),
      uses_(make_use_tracks(input, projected_)) {
  steps_ = input.source.early_steps;
  for (step_record const& step : input.source.steps) steps_.push_back(step);
  limit(max_events);
  launch_index const launches(input.source);
  for_each_slice([&](trace_slice const& found) {
    if (found.begin >= cutoff_) {
      left_out_ += found.kind == slice_kind::projection ? 0 : 1;  // no record
      return;
    }
    trace_slice slice = found;
    connect(slice, launches);
    track_of(slice).push_back(slice);
  });
  tracks_.sort([](trace_track const& a, trace_track const& b) { return a.line < b.line; });
  for (memory_point const& point : input.memory.timeline) left_out_ += point.time >= cutoff_;
  for (span_record const& span : input.source.spans) left_out_ += span.begin >= cutoff_;
}

void trace_plan::limit(std::uint64_t max_events) {
  constexpr std::uint64_t bins = 4096;
  std::uint64_t total = 0;
  std::int64_t low = (std::numeric_limits<std::int64_t>::max)();
  std::int64_t high = (std::numeric_limits<std::int64_t>::min)();
  for_each_time([&](std::int64_t time, std::uint64_t events) {
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
    for_each_time([&](std::int64_t time, std::uint64_t events) {
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

void trace_plan::connect(trace_slice& slice, launch_index const& launches) {
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
  driver_call_record const& from = input_.source.launches[launch];
  bool const drawn = from.begin != lost_time && from.end != lost_time && from.begin < cutoff_ &&
                     from.begin <= slice.end && correlation != 0;
  if (!drawn) return;
  slice.has_arrow = from.begin <= slice.begin;
  if (slice.has_arrow) has_arrow_[launch] = true;
  if (!slice.has_arrow) slice.early = ++early_[launch];
}

vec<trace_slice>& trace_plan::track_of(trace_slice const& slice) {
  profile const& source = input_.source;
  trace_track::identity line;
  auto const on_device = [&line](auto const& record) {
    line = {record.device + 1u, record.context, record.stream};
  };
  switch (slice.kind) {
    case slice_kind::step:
      line.stream = steps_[slice.index].thread;
      break;
    case slice_kind::range:
      line.stream = source.ranges[slice.index].thread;
      break;
    case slice_kind::driver:
      line.stream = source.launches[slice.index].thread;
      break;
    case slice_kind::kernel:
      on_device(source.kernels[slice.index]);
      break;
    case slice_kind::copy:
      on_device(source.copies[slice.index]);
      break;
    case slice_kind::synchronization:
      line.context = synchronization_context;
      break;
    case slice_kind::projection:
      on_device(projected_[slice.index]);
      break;
  }
  if (last_ < tracks_.size() && tracks_[last_].line == line) return tracks_[last_].slices;
  std::size_t& number = track_numbers_[line];
  if (number == 0) {
    tracks_.push_back({line, {}});
    number = tracks_.size();
  }
  last_ = number - 1;
  return tracks_[last_].slices;
}

}  // namespace detail
STRATA_END
