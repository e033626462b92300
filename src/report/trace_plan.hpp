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
                                                   "graph change",
                                                   "instantiate",
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
  return kind > api_kind::instantiate ? 1u : 1u + static_cast<std::uint32_t>(kind);
}
constexpr std::uint32_t event_name(copy_kind kind) noexcept {
  return kind > copy_kind::set ? 13u : 13u + static_cast<std::uint32_t>(kind);
}
constexpr std::uint32_t event_name(synchronization_kind kind) noexcept {
  return kind > synchronization_kind::context ? 20u : 20u + static_cast<std::uint32_t>(kind);
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

/// Distributes slices over lanes, so that on each lane every two are apart or one, which holds
/// others, contains the other. In each lane slices are in order, what contains before what is
/// contained. Cost: O(n log n).
vec<vec<trace_slice>> split_into_lanes(vec<trace_slice> slices);

/// The time 0 of a trace: the start of the session, or of the first record before it.
std::int64_t trace_origin(profile const& source) noexcept;

/// What of a profile goes into a trace, and on which track: records with times, from the start of
/// the run on until the limit is reached.
class trace_plan {
 public:
  /// The host process has a track of this context for waits; threads have context 0.
  static constexpr std::uint32_t synchronization_context = 1;

  trace_plan(table_input const& input, trace_labels const& labels, std::uint64_t max_events);
  trace_plan(trace_plan const&) = delete;
  trace_plan& operator=(trace_plan const&) = delete;

  /// The host's first, then device by device.
  vec<trace_track>& tracks() noexcept { return tracks_; }
  /// With those before the first work on a device, as slices number them.
  vec<step_record> const& steps() const noexcept { return steps_; }
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
  /// What begins here or later is left out.
  std::int64_t cutoff() const noexcept { return cutoff_; }
  std::uint64_t left_out() const noexcept { return left_out_; }
  std::uint64_t without_time() const noexcept { return without_time_; }

 private:
  /// Calls visit(slice) for each record that has times.
  template <class Visit>
  void for_each_slice(Visit const& visit);

  template <class Visit>
  void for_each_time(Visit const& visit);

  /// As how many events a slice counts: one with a path of kilobytes is several, so that a limit of
  /// events is one of bytes too.
  std::uint64_t events_of(trace_slice const& slice) const noexcept;

  /// Sets the latest cutoff below which at most max_events begin, by ever finer histograms.
  void limit(std::uint64_t max_events);

  /// An arrow has both ends in the trace. Where the clocks disagree, it is drawn as long as the
  /// work ends after its launch began.
  void connect(trace_slice& slice, launch_index const& launches);

  vec<trace_slice>& track_of(trace_slice const& slice);

  table_input const& input_;
  trace_labels const& labels_;
  std::vector<bool> has_arrow_;
  number_map<std::uint32_t> early_;  ///< by launch
  vec<step_record> steps_;
  vec<projected_range> projected_;
  vec<use_track> uses_;
  vec<trace_track> tracks_;
  flat_map<trace_track::identity, std::size_t> track_numbers_;  ///< from 1; in the order of finding
  std::size_t last_ = 0;
  std::int64_t cutoff_ = (std::numeric_limits<std::int64_t>::max)();
  std::uint64_t left_out_ = 0;
  std::uint64_t without_time_ = 0;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_REPORT_TRACE_PLAN_HPP
