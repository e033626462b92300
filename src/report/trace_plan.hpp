#include <strata/version.hpp>
#ifndef STRATA_REPORT_TRACE_PLAN_HPP
#define STRATA_REPORT_TRACE_PLAN_HPP

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

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

STRATA_BEGIN
namespace detail {

/// The names of calls, copies and waits: the first texts of every trace.
inline constexpr std::string_view event_names[] = {"",
                                                   "driver call",
                                                   "launch",
                                                   "graph launch",
                                                   "copy",
                                                   "set",
                                                   "allocate",
                                                   "release",
                                                   "begin capture",
                                                   "end capture",
                                                   "wait",
                                                   "copy",
                                                   "copy host to device",
                                                   "copy device to host",
                                                   "copy device to device",
                                                   "copy host to host",
                                                   "copy peer to peer",
                                                   "set",
                                                   "wait",
                                                   "wait for event",
                                                   "stream waits for event",
                                                   "wait for stream",
                                                   "wait for context"};

constexpr std::uint32_t event_name(api_kind kind) noexcept {
  return kind > api_kind::wait ? 1u : 1u + static_cast<std::uint32_t>(kind);
}
constexpr std::uint32_t event_name(copy_kind kind) noexcept {
  return kind > copy_kind::set ? 11u : 11u + static_cast<std::uint32_t>(kind);
}
constexpr std::uint32_t event_name(synchronization_kind kind) noexcept {
  return kind > synchronization_kind::context ? 18u : 18u + static_cast<std::uint32_t>(kind);
}
static_assert(event_names[event_name(api_kind::wait)] == "wait");
static_assert(event_names[event_name(copy_kind::set)] == "set");
static_assert(event_names[event_name(synchronization_kind::context)] == "wait for context");

/// The texts of a trace that repeat, each with a number: names and paths of ranges, names of
/// kernels. A writer encodes each of them once. 0 is no text.
class trace_labels {
 public:
  struct range_label {
    std::uint32_t name = 0;  ///< `block[3]`
    std::uint32_t path = 0;  ///< `model/block[3]`; 0 outside ranges
    std::int64_t index = no_index;
  };
  struct kernel_label {
    std::uint32_t name = 0;
    std::uint32_t whole = 0;    ///< its name with types, where that says more
    std::uint32_t mangled = 0;  ///< if asked for
  };

  trace_labels(table_input const& input, bool mangled) {
    for (std::string_view const name : event_names) texts_.emplace_back(name);
    label_ranges(input);
    label_kernels(input, mangled);
  }

  vec<std::string> const& texts() const noexcept { return texts_; }

  /// Whether the calls of a node are a row of the tree, not a part of one above.
  bool has_own_row(std::uint32_t node) const noexcept {
    return node < nodes_.size() && nodes_[node].own;
  }
  range_label const& range(std::uint32_t node) const noexcept {
    return ranges_[node < nodes_.size() ? nodes_[node].row : 0];
  }
  kernel_label const& kernel(std::uint32_t name) const noexcept {
    return kernels_[name < kernels_.size() ? name : 0];
  }

 private:
  struct node_row {
    std::uint32_t row;
    bool own;
  };

  std::uint32_t number(std::string text) {
    if (text.empty()) return 0;
    texts_.push_back(std::move(text));
    return static_cast<std::uint32_t>(texts_.size() - 1);
  }

  void label_ranges(table_input const& input) {
    // Position 0: no row.
    ranges_.resize(input.ranges.size() + 1);
    nodes_.resize(input.source.nodes.size());
    for (std::size_t i = 0; i < input.ranges.size(); ++i) {
      range_row const& row = input.ranges[i];
      if (row.node < nodes_.size()) nodes_[row.node] = {static_cast<std::uint32_t>(i + 1), true};
      range_label& label = ranges_[i + 1];
      std::string name = name_with_index(row.name, row.index);
      if (row.index != any_index) label.index = row.index;
      label.path = number(row.path);
      label.name = name == row.path ? label.path : number(std::move(name));
    }
    for (std::size_t i = 1; i < nodes_.size(); ++i) {
      std::uint32_t const parent = input.source.nodes[i].parent;
      if (!nodes_[i].own && parent < i) nodes_[i].row = nodes_[parent].row;
    }
  }

  void label_kernels(table_input const& input, bool mangled) {
    std::size_t const count = input.source.kernel_names.size();
    vec<kernel_row const*> rows(count + 1);
    for (kernel_row const& row : input.kernels)
      if (row.name <= count) rows[row.name] = &row;
    kernels_.resize(count + 1);
    std::uint32_t const none = number("kernel without a name");
    kernels_[0].name = none;
    if (mangled) kernels_[0].mangled = none;
    for (std::size_t i = 1; i <= count; ++i) {
      std::string const& written = input.source.kernel_names[i - 1].mangled;
      kernel_row const* const row = rows[i];
      std::uint32_t const name = number(row != nullptr ? row->short_name : written);
      kernels_[i].name = name != 0 ? name : none;
      // Each event repeats it; profile.json has all of it.
      if (row != nullptr && row->demangled != row->short_name)
        kernels_[i].whole = number(shortened(row->demangled, 200));
      if (mangled) kernels_[i].mangled = number(written);
    }
  }

  vec<std::string> texts_;
  vec<node_row> nodes_;
  vec<range_label> ranges_;
  vec<kernel_label> kernels_;
};

/// Whose record a slice is.
enum class slice_kind : std::uint8_t {
  step,
  range,
  driver,
  kernel,
  copy,
  synchronization,
  projection  ///< of a range onto a stream
};

inline constexpr std::uint32_t no_launch = 0xffffffffu;

/// A bar on a track: a record of the profile and its place.
struct trace_slice {
  std::int64_t begin;
  std::int64_t end;
  std::uint32_t index;   ///< in the profile's records of this kind
  std::uint32_t launch;  ///< that the work comes from, no_launch where that is not known
  bool has_arrow;        ///< from that launch, which began before
  std::uint32_t early;  ///< its number among what seems to begin before that launch; 0: it does not
  slice_kind kind;
  std::uint8_t order;  ///< of two with the same times the smaller one contains the other

  bool operator<(trace_slice const& other) const noexcept {
    if (begin != other.begin) return begin < other.begin;
    if (end != other.end) return end > other.end;
    return order < other.order;
  }
  /// Whether others may lie in it: work of a device lies in ranges, not in work.
  bool holds_others() const noexcept {
    return kind != slice_kind::kernel && kind != slice_kind::copy &&
           kind != slice_kind::synchronization;
  }
};

/// One line of a viewer: a thread of the host, or a stream of a device.
struct trace_track {
  struct identity {
    std::uint32_t process = 0;  ///< 0 is the host, n + 1 is device n
    std::uint32_t context = 0;
    std::uint32_t stream = 0;  ///< or the thread

    bool operator==(identity const& other) const noexcept {
      return process == other.process && context == other.context && stream == other.stream;
    }
    bool operator<(identity const& other) const noexcept {
      if (process != other.process) return process < other.process;
      return context != other.context ? context < other.context : stream < other.stream;
    }
  };

  identity line;
  vec<trace_slice> slices;
};

/// Lanes of a track, and how long a slice may be that fits into each now. Cost: log n a call.
class trace_lanes {
 public:
  /// The first lane that has room for a slice, which is added where none has. Requires: slices come
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
      room_[place] = larger(room_[2 * place], room_[2 * place + 1]);
    }
  }
  void grow() {
    std::size_t const twice = lanes_ == 0 ? 1 : 2 * lanes_;
    vec<std::int64_t> wider(2 * twice, lost_time);
    for (std::size_t lane = 0; lane < lanes_; ++lane) wider[twice + lane] = room_[lanes_ + lane];
    for (std::size_t place = twice; place-- > 1;)
      wider[place] = larger(wider[2 * place], wider[2 * place + 1]);
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

/// Distributes slices over lanes, so that on each lane every two are apart or one, which holds
/// others, contains the other. In each lane slices are in order, what contains before what is
/// contained. Cost: O(n log n).
inline vec<vec<trace_slice>> split_into_lanes(vec<trace_slice> slices) {
  slices.sort();
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

/// What of a profile goes into a trace, and on which track: records with times, from the begin of
/// the run on until the limit is reached.
class trace_plan {
 public:
  /// The host process has a track of this context for waits; threads have context 0.
  static constexpr std::uint32_t synchronization_context = 1;

  trace_plan(table_input const& input, trace_labels const& labels, std::uint64_t max_events)
      : input_(input),
        labels_(labels),
        has_arrow_(input.source.launches.size()),
        projected_(range_projection::project_ranges(
            input.source, [&](std::uint32_t node) { return labels.has_own_row(node); })),
        uses_(use_tracks::make_tracks(input, projected_)) {
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
  trace_plan(trace_plan const&) = delete;
  trace_plan& operator=(trace_plan const&) = delete;

  /// The host's first, then device by device.
  vec<trace_track>& tracks() noexcept { return tracks_; }
  /// Ranges on streams, as slices number them.
  vec<projected_range> const& projected() const noexcept { return projected_; }
  /// Hardware counters over time.
  vec<use_track> const& uses() const noexcept { return uses_; }
  /// Whether an arrow begins at a call into the driver.
  bool has_arrow(std::uint32_t launch) const noexcept { return has_arrow_[launch]; }
  /// How much of the work of a call seems to begin before it.
  std::uint32_t early(std::uint32_t launch) const noexcept {
    std::uint32_t const* const count = early_.find(launch);
    return count == nullptr ? 0 : *count;
  }
  std::int64_t earliest() const noexcept { return earliest_; }
  /// The time 0 of a trace: the begin of the session, or of the first event before it.
  std::int64_t origin() const noexcept { return earliest() < 0 ? earliest() : 0; }
  /// What begins here or later is left out.
  std::int64_t cutoff() const noexcept { return cutoff_; }
  std::uint64_t left_out() const noexcept { return left_out_; }
  std::uint64_t without_time() const noexcept { return without_time_; }

 private:
  /// Calls visit(slice) for each record that has times.
  void for_each_slice(callback<void(trace_slice const&)> visit) {
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
        visit(trace_slice{record.begin, end, static_cast<std::uint32_t>(i), no_launch, false, 0,
                          kind, static_cast<std::uint8_t>(rank)});
      }
    };
    auto const outermost = [](auto const&) { return 0; };
    auto const innermost = [](auto const&) { return 255; };
    records(source.steps, slice_kind::step, outermost);
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

  void for_each_time(callback<void(std::int64_t, std::uint64_t)> visit) {
    for_each_slice([&](trace_slice const& slice) { visit(slice.begin, 1); });
    for (memory_point const& point : input_.memory.timeline) visit(point.time, 1);
    for (span_record const& span : input_.source.spans) visit(span.begin, 2);
    for (use_track const& track : uses_)
      for (use_track::point const& point : track.points) visit(point.time, 1);
  }

  /// Sets the latest cutoff below which at most max_events begin, by ever finer histograms.
  void limit(std::uint64_t max_events) {
    constexpr std::uint64_t bins = 4096;
    std::uint64_t total = 0;
    std::int64_t low = (std::numeric_limits<std::int64_t>::max)();
    std::int64_t high = (std::numeric_limits<std::int64_t>::min)();
    for_each_time([&](std::int64_t time, std::uint64_t events) {
      total += events;
      low = time < low ? time : low;
      high = time > high ? time : high;
    });
    earliest_ = low;
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

  /// An arrow has both ends in the trace. Where the clocks disagree, it is drawn as long as the
  /// work ends after its launch began.
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
    driver_call_record const& from = input_.source.launches[launch];
    bool const drawn = from.begin != lost_time && from.end != lost_time && from.begin < cutoff_ &&
                       from.begin <= slice.end && correlation != 0;
    if (!drawn) return;
    slice.has_arrow = from.begin <= slice.begin;
    if (slice.has_arrow) has_arrow_[launch] = true;
    if (!slice.has_arrow) slice.early = ++early_[launch];
  }

  vec<trace_slice>& track_of(trace_slice const& slice) {
    profile const& source = input_.source;
    trace_track::identity line;
    auto const on_device = [&line](auto const& record) {
      line = {record.device + 1u, record.context, record.stream};
    };
    switch (slice.kind) {
      case slice_kind::step:
        line.stream = source.steps[slice.index].thread;
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

  table_input const& input_;
  trace_labels const& labels_;
  std::vector<bool> has_arrow_;
  number_map<std::uint32_t> early_;  ///< by launch
  vec<projected_range> projected_;
  vec<use_track> uses_;
  vec<trace_track> tracks_;
  flat_map<trace_track::identity, std::size_t> track_numbers_;  ///< from 1; in the order of finding
  std::size_t last_ = 0;
  std::int64_t earliest_ = 0;
  std::int64_t cutoff_ = (std::numeric_limits<std::int64_t>::max)();
  std::uint64_t left_out_ = 0;
  std::uint64_t without_time_ = 0;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_REPORT_TRACE_PLAN_HPP
