#include <strata/version.hpp>
#ifndef STRATA_REPORT_TRACE_PLAN_HPP
#define STRATA_REPORT_TRACE_PLAN_HPP

#include <strata/analyse/joins.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/report/columns.hpp>
#include <strata/report/text_writer.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

STRATA_BEGIN
namespace detail {

/// The parts of a trace that repeat, already written as JSON: names of ranges and kernels.
class trace_labels {
 public:
  trace_labels(report_input const& input, bool mangled) {
    label_ranges(input);
    label_kernels(input, mangled);
  }

  /// Whether the calls of a node are a row of the tree, not a part of one above.
  bool has_own_row(std::uint32_t node) const noexcept {
    return node < nodes_.size() && nodes_[node].own;
  }
  /// `{"name":"block[3]","cat":"range","args":{"path":"model/block[3]","index":3`
  std::string const& range(std::uint32_t node) const noexcept { return ranges_[row_of(node)]; }
  /// `"range":"model/block[3]"`; empty outside ranges.
  std::string const& range_argument(std::uint32_t node) const noexcept {
    return arguments_[row_of(node)];
  }
  /// `{"name":"sgemm","cat":"kernel","args":{"kernel":"void sgemm<float>(...)",` and the mangled
  /// name if asked for.
  std::string const& kernel(std::uint32_t name) const noexcept {
    return kernels_[name < kernels_.size() ? name : 0];
  }

 private:
  struct place {
    std::uint32_t row;
    bool own;
  };

  std::size_t row_of(std::uint32_t node) const noexcept {
    return node < nodes_.size() ? nodes_[node].row : 0;
  }

  void label_ranges(report_input const& input) {
    // Position 0 stands for what has no row.
    ranges_.resize(input.ranges.size() + 1);
    arguments_.resize(input.ranges.size() + 1);
    nodes_.resize(input.source.nodes.size());
    for (std::size_t i = 0; i < input.ranges.size(); ++i) {
      range_row const& row = input.ranges[i];
      if (row.node < nodes_.size()) nodes_[row.node] = {static_cast<std::uint32_t>(i + 1), true};
      std::string name = row.name;
      if (row.index == any_index) name += "[*]";
      if (row.index != no_index && row.index != any_index)
        name.append("[").append(std::to_string(row.index)).append("]");
      text_writer out(ranges_[i + 1]);
      out.write("{\"name\":");
      write_json_string(out, name);
      out.write(",\"cat\":\"range\",\"args\":{\"path\":");
      write_json_string(out, row.path);
      if (row.index != no_index && row.index != any_index) {
        out.write(",\"index\":");
        out.integer(row.index);
      }
      if (row.path.empty()) continue;
      text_writer argument(arguments_[i + 1]);
      argument.write("\"range\":");
      write_json_string(argument, row.path);
    }
    for (std::size_t i = 1; i < nodes_.size(); ++i) {
      std::uint32_t const parent = input.source.nodes[i].parent;
      if (!nodes_[i].own && parent < i) nodes_[i].row = nodes_[parent].row;
    }
  }

  void label_kernels(report_input const& input, bool mangled) {
    std::size_t const count = input.source.kernel_names.size();
    vec<kernel_row const*> rows(count + 1);
    for (kernel_row const& row : input.kernels)
      if (row.name <= count) rows[row.name] = &row;
    kernels_.resize(count + 1);
    for (std::size_t i = 0; i <= count; ++i) {
      std::string const none = "kernel without a name";
      std::string const& written = i == 0 ? none : input.source.kernel_names[i - 1].mangled;
      std::string_view const name = rows[i] != nullptr && i > 0 ? rows[i]->short_name : written;
      text_writer out(kernels_[i]);
      out.write("{\"name\":");
      write_json_string(out, name.empty() ? std::string_view(none) : name);
      out.write(",\"cat\":\"kernel\",\"args\":{");
      if (rows[i] != nullptr && i > 0 && rows[i]->demangled != rows[i]->short_name) {
        // Each event repeats it; profile.json has all of it.
        out.write("\"kernel\":");
        write_json_string(out, shortened(rows[i]->demangled, 200));
        out.put(',');
      }
      if (mangled) {
        out.write("\"mangled\":");
        write_json_string(out, written);
        out.put(',');
      }
    }
  }

  vec<place> nodes_;
  vec<std::string> ranges_;
  vec<std::string> arguments_;
  vec<std::string> kernels_;
};

enum class slice_kind : std::uint8_t { step, range, driver, kernel, copy, synchronization };

inline constexpr std::uint32_t no_launch = 0xffffffffu;

/// A bar on a track: a record of the profile and where it stands.
struct trace_slice {
  std::int64_t begin;
  std::int64_t end;
  std::uint32_t index;   ///< in the profile's records of this kind
  std::uint32_t launch;  ///< where an arrow comes from, no_launch without one
  std::uint32_t arrow;   ///< its number among the arrows of that launch
  slice_kind kind;
  std::uint8_t order;  ///< of two with the same times the smaller one contains the other

  bool operator<(trace_slice const& other) const noexcept {
    if (begin != other.begin) return begin < other.begin;
    if (end != other.end) return end > other.end;
    return order < other.order;
  }
};

/// One line of a viewer: a thread of the host, or a stream of a device.
struct trace_track {
  struct position {
    std::uint32_t process = 0;  ///< 0 is the host, n + 1 is device n
    std::uint32_t context = 0;
    std::uint32_t stream = 0;  ///< or the thread

    bool operator==(position const& p) const noexcept {
      return process == p.process && context == p.context && stream == p.stream;
    }
    bool operator<(position const& p) const noexcept {
      if (process != p.process) return process < p.process;
      return context != p.context ? context < p.context : stream < p.stream;
    }
  };

  position at;
  vec<trace_slice> slices;
};

/// Distributes slices over lanes, so that on each lane every two are apart or, where `nests`, one
/// contains the other. In each lane slices are in order, what contains before what is contained.
/// Cost: O(n log n) for slices out of order, then O(n) a lane.
inline vec<vec<trace_slice>> split_into_lanes(vec<trace_slice> slices, bool nests) {
  slices.sort();
  vec<vec<trace_slice>> lanes(1);
  vec<vec<std::int64_t>> open(1);  // of each lane the ends of what is not over
  std::size_t kept = 0;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    trace_slice const slice = slices[i];
    std::size_t lane = 0;
    for (;; ++lane) {
      if (lane == open.size()) {
        open.emplace_back();
        lanes.emplace_back();
      }
      auto& ends = open[lane];
      while (!ends.empty() && ends.back() <= slice.begin) ends.pop_back();
      if (ends.empty() || (nests && slice.end <= ends.back())) break;
    }
    open[lane].push_back(slice.end);
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
    last_ = tracks_.count_first([&](trace_track const& track) { return track.at < at; });
    if (last_ == tracks_.size() || !(tracks_[last_].at == at))
      tracks_.insert(tracks_.begin() + last_, trace_track{at, {}});
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
