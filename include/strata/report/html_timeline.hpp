#include <strata/version.hpp>
#ifndef STRATA_REPORT_HTML_TIMELINE_HPP
#define STRATA_REPORT_HTML_TIMELINE_HPP

#include <strata/base/containers.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/vec.hpp>
#include <strata/base/vocabulary.hpp>
#include <strata/report/report_input.hpp>
#include <strata/report/trace_plan.hpp>
#include <strata/tables/call_tree.hpp>
#include <strata/tables/columns.hpp>
#include <strata/tables/memory_table.hpp>
#include <strata/tables/text_writer.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

STRATA_BEGIN

/// How much of a run report.html shows, which keeps it below 2 MB; it says what it leaves out.
struct page_limits {
  std::size_t ranges = 1200;           ///< of each of the two tables, the dearest
  std::size_t counter_values = 20000;  ///< of each of the two tables
  std::size_t kernels = 800;           ///< rows, the longest
  std::size_t points = 1200;           ///< of the roofline
  std::size_t findings = 100;          ///< the dearest
  std::size_t slices = 4000;           ///< of the timeline of one step
  std::size_t tracks = 32;             ///< of that timeline
  std::size_t name = 96;               ///< columns of a name; its middle is left out
  std::size_t kernel_name = 44;        ///< the same of a kernel in the table, and of it below
  std::size_t whole_name = 200;
};

namespace detail {

/// Bars of one line of the timeline. What is too short to be seen is joined to one bar with its
/// neighbours.
class page_track {
 public:
  struct place {
    std::uint32_t process = 0;  ///< 0 is the host, n + 1 is device n
    std::uint32_t group = 0;    ///< thread or context
    std::uint32_t lane = 0;     ///< depth of ranges, what calls there are, or the stream

    bool operator==(place const& p) const noexcept {
      return process == p.process && group == p.group && lane == p.lane;
    }
    bool operator<(place const& p) const noexcept {
      if (process != p.process) return process < p.process;
      return group != p.group ? group < p.group : lane < p.lane;
    }
  };
  static constexpr std::uint32_t calls = 100;  ///< lanes of a thread behind those of its ranges
  static constexpr std::uint32_t waits = 101;

  struct bar {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::uint64_t count = 0;
    std::int64_t longest = -1;  ///< of those joined, whose label this has
    std::uint32_t label = 0;
    std::uint32_t range = 0;
  };

  place at;
  std::uint64_t count = 0;

  void begin(std::size_t parts) {
    parts_.clear();
    parts_.resize(parts);
    bars_.clear();
  }

  void add(bar const& one, std::int64_t from, std::int64_t part_ns) {
    ++count;
    std::int64_t const length = one.end - one.begin;
    if (length >= part_ns && bars_.size() < parts_.size()) {
      bars_.push_back(one);
      return;
    }
    auto const at_part =
        static_cast<std::size_t>(one.begin > from ? (one.begin - from) / part_ns : 0);
    bar& to = parts_[at_part < parts_.size() ? at_part : parts_.size() - 1];
    if (to.count == 0 || one.begin < to.begin) to.begin = one.begin;
    if (to.count == 0 || one.end > to.end) to.end = one.end;
    ++to.count;
    if (length < to.longest ||
        (length == to.longest && (one.label > to.label || one.range > to.range)))
      return;
    to.longest = length;
    to.label = one.label;
    to.range = one.range;
  }

  /// In order of time.
  vec<bar> const& bars() {
    for (bar const& part : parts_)
      if (part.count != 0) bars_.push_back(part);
    parts_.clear();
    bars_.sort([](bar const& a, bar const& b) {
      if (a.begin != b.begin) return a.begin < b.begin;
      return a.end != b.end ? a.end > b.end : a.label < b.label;
    });
    return bars_;
  }

 private:
  vec<bar> parts_;
  vec<bar> bars_;
};

/// Writes what ran on each thread and stream in some steps: the median one, the slowest and the
/// first; without steps in the whole run.
/// Cost: O(r) for r records and each of the three.
class page_timeline {
 public:
  page_timeline(json_writer& json, report_input const& input, vec<std::uint32_t> const& places,
                page_limits const& limits)
      : json_(json), input_(input), labels_(input, false), places_(places), limits_(limits) {}

  void write() {
    choose_windows();
    json_.line();
    json_.object("timeline");
    json_.line();
    json_.array("windows");
    for (window const& each : windows_) write_window(each);
    json_.end_array();
    json_.line();
    json_.array("labels");
    for (std::uint32_t const text : used_)
      json_.text({}, shortened(labels_.texts()[text], limits_.name));
    json_.end_array();
    json_.end_object();
  }

 private:
  struct window {
    std::int64_t begin;
    std::int64_t end;
    std::uint32_t step;
    std::string_view what;
  };

  static std::int64_t length(step_record const& step) noexcept { return step.end - step.begin; }

  void choose_windows() {
    profile const& source = input_.source;
    vec<step_record> steps = source.steps;
    if (steps.empty()) {
      if (source.end > 0) windows_.push_back({0, source.end, no_step, "the whole run"});
      return;
    }
    step_record const first = steps[0];
    steps.sort([](step_record const& a, step_record const& b) {
      return length(a) != length(b) ? length(a) < length(b) : a.begin < b.begin;
    });
    add_window(steps[steps.size() / 2], "median");
    add_window(steps.back(), "slowest");
    add_window(first, "first");
    if (source.kernels.empty()) return;
    launch_index const launches(source);
    for (kernel_record const& kernel : source.kernels) {
      std::uint32_t const launch = launches.launch_of(kernel.correlation);
      if (launch == launch_index::none || kernel.end == lost_time) continue;
      for (window& each : windows_)
        if (source.launches[launch].step == each.step && each.end < kernel.end)
          each.end = kernel.end;
    }
  }

  void add_window(step_record const& step, std::string_view what) {
    for (window const& each : windows_)
      if (each.begin == step.begin && each.step == step.step) return;
    if (step.end > step.begin) windows_.push_back({step.begin, step.end, step.step, what});
  }

  std::uint32_t place_of(std::uint32_t node) const noexcept {
    return node < places_.size() ? places_[node] : 0;
  }

  /// Calls visit(place, bar) for each record that has a part in the window.
  void each(window const& of,
            callback<void(page_track::place const&, page_track::bar const&)> visit) const {
    profile const& source = input_.source;
    auto const show = [&](page_track::place const& at, auto const& record, std::uint32_t label) {
      if (record.begin == lost_time || record.end < of.begin || record.begin > of.end) return;
      visit(at, page_track::bar{larger(record.begin, of.begin), smaller(record.end, of.end), 1, 0,
                                label, place_of(record.node)});
    };
    for (range_record const& range : source.ranges) {
      std::uint32_t const depth =
          range.node < source.nodes.size() ? source.nodes[range.node].depth : 0;
      if (labels_.has_own_row(range.node) && depth > 0 && depth <= 12)
        show({0, range.thread, depth}, range, labels_.range(range.node).name);
    }
    for (launch_record const& call : source.launches)
      show({0, call.thread, page_track::calls}, call, event_name(call.kind));
    for (synchronization_record const& wait : source.synchronizations)
      show({0, 0, page_track::waits}, wait, event_name(wait.kind));
    for (kernel_record const& kernel : source.kernels)
      show({kernel.device + 1u, kernel.context, kernel.stream}, kernel,
           labels_.kernel(kernel.name).name);
    for (copy_record const& copy : source.copies)
      show({copy.device + 1u, copy.context, copy.stream}, copy, event_name(copy.kind));
  }

  page_track* find(page_track::place const& at) {
    if (last_ < tracks_.size() && tracks_[last_].at == at) return &tracks_[last_];
    for (last_ = 0; last_ < tracks_.size(); ++last_)
      if (tracks_[last_].at == at) return &tracks_[last_];
    return nullptr;
  }

  void write_window(window const& of) {
    tracks_.clear();
    std::uint64_t left_out = 0;
    each(of, [&](page_track::place const& at, page_track::bar const&) {
      if (find(at) != nullptr) return;
      tracks_.size() < limits_.tracks ? tracks_.emplace_back().at = at, void() : void(++left_out);
    });
    tracks_.sort([](page_track const& a, page_track const& b) { return a.at < b.at; });
    std::size_t const parts = tracks_.empty() ? 1 : limits_.slices / 2 / tracks_.size() + 1;
    std::int64_t const part_ns = (of.end - of.begin) / static_cast<std::int64_t>(parts) + 1;
    for (page_track& track : tracks_) track.begin(parts);
    each(of, [&](page_track::place const& at, page_track::bar const& bar) {
      if (page_track* const track = find(at)) track->add(bar, of.begin, part_ns);
    });
    json_.line();
    json_.object();
    json_.text("what", of.what);
    of.step == no_step ? json_.absent("step") : json_.integer("step", of.step);
    json_.integer("begin_ns", of.begin);
    json_.integer("length_ns", of.end - of.begin);
    json_.integer("left_out", left_out);
    json_.array("tracks");
    for (page_track& track : tracks_) write_track(track, of.begin);
    json_.end_array();
    json_.end_object();
  }

  std::string track_name(page_track::place const& at) const {
    if (at.process != 0) return sentence("GPU ") << (at.process - 1) << ", stream " << at.lane;
    if (at.lane == page_track::waits) return "waits for the GPU";
    std::string name = sentence("thread ") << at.group;
    for (profile_thread const& thread : input_.source.threads) {
      if (thread.ordinal != at.group) continue;
      if (!thread.name.empty()) name = thread.name;
      if (thread.os_id != 0) name += sentence(" (") << thread.os_id << ")";
    }
    return at.lane == page_track::calls ? name + ", driver calls" : name;
  }

  void write_track(page_track& track, std::int64_t from) {
    json_.line();
    json_.object();
    json_.text("name", shortened(track_name(track.at), limits_.name));
    json_.text("kind", track.at.process != 0                ? "device"
                       : track.at.lane >= page_track::calls ? "calls"
                                                            : "ranges");
    if (track.at.process == 0 && track.at.lane != page_track::waits)
      json_.integer("thread", track.at.group);
    json_.integer("count", track.count);
    json_.array("bars");  // begin, length, label, range, how many
    for (page_track::bar const& bar : track.bars()) {
      json_.integer({}, bar.begin - from);
      json_.integer({}, bar.end - bar.begin);
      json_.integer({}, used(bar.label));
      json_.integer({}, bar.range);
      json_.integer({}, bar.count);
    }
    json_.end_array();
    json_.end_object();
  }

  std::size_t used(std::uint32_t text) {
    std::size_t& place = uses_[text];
    if (place == 0) {
      used_.push_back(text);
      place = used_.size();
    }
    return place - 1;
  }

  json_writer& json_;
  report_input const& input_;
  trace_labels labels_;
  vec<std::uint32_t> const& places_;  ///< on the page, by node
  page_limits const& limits_;
  vec<window> windows_;
  vec<page_track> tracks_;
  std::size_t last_ = 0;
  number_map<std::size_t> uses_;  ///< 1 + position in used_, by text
  vec<std::uint32_t> used_;
};

/// Memory over time by range, purpose and kind, what lives at the end, what steps allocate.
class page_memory {
 public:
  /// `places`: on the page, of the rows of input.ranges by path_id.
  page_memory(json_writer& json, report_input const& input, number_map<std::uint32_t> const& places)
      : json_(json), input_(input), places_(places) {}

  void write() {
    memory_table const& memory = input_.memory;
    collect();
    json_.line();
    json_.object("memory");
    json_.integer("peak_bytes", memory.peak_bytes);
    json_.integer("peak_at_ns", memory.peak_at);
    json_.integer("allocations", memory.allocations.size());
    json_.integer("older", memory.releases_of_older_memory);
    json_.integer("steps", memory.steps.size());
    write_series("by_range", part_of::range);
    if (memory.purposes.size() > 1) {
      write_series("by_purpose", part_of::purpose);
      write_purposes();
    }
    write_series("by_kind", part_of::kind);
    write_totals();
    json_.end_object();
  }

 private:
  static constexpr std::size_t most_series = 9;  ///< the last one has the rest
  static constexpr std::size_t points = 240;
  static constexpr std::size_t most_totals = 100;

  struct change {
    std::int64_t time;
    std::int64_t bytes;  ///< negative where memory is released
    std::uint32_t range;
    memory_kind kind;
    std::uint32_t purpose;
  };
  enum class part_of : std::uint8_t { range, purpose, kind };
  struct total {
    std::uint32_t range = 0;
    memory_kind kind = memory_kind::unknown;
    std::uint64_t count = 0, bytes = 0;            ///< of all allocations
    std::uint64_t live_count = 0, live_bytes = 0;  ///< not released at the end
    std::uint64_t step_count = 0, step_bytes = 0;  ///< made in steps
    std::uint64_t first_count = 0;                 ///< made in the first step
  };
  struct group {
    std::uint32_t key;
    std::int64_t live, peak;
  };

  std::uint32_t place_of(allocation_row const& row) const noexcept {
    std::uint32_t const* const place = places_.find(row.path_id);
    return place == nullptr ? 0 : *place;
  }

  /// Position of the step at a time, or past the last one.
  static std::size_t step_at(vec<step_record> const& steps, std::int64_t time) noexcept {
    std::size_t const after =
        steps.count_first([&](step_record const& step) { return step.begin <= time; });
    return after != 0 && steps[after - 1].end >= time ? after - 1 : steps.size();
  }

  void collect() {
    vec<step_record> steps = input_.source.steps;
    steps.sort([](step_record const& a, step_record const& b) { return a.begin < b.begin; });
    number_map<std::size_t> known;
    for (allocation_row const& row : input_.memory.allocations) {
      std::uint32_t const range = place_of(row);
      // No device has more; sums of what a damaged record says stay numbers.
      std::int64_t const bytes = smaller(signed_bytes(row.bytes), std::int64_t{1} << 46);
      changes_.push_back({row.allocated_at, bytes, range, row.kind, row.purpose});
      if (row.released_at >= 0)
        changes_.push_back({row.released_at, -bytes, range, row.kind, row.purpose});
      std::size_t& place = known[std::uint64_t{range} << 8 | static_cast<std::uint8_t>(row.kind)];
      if (place == 0) {
        totals_.emplace_back();
        totals_.back().range = range;
        totals_.back().kind = row.kind;
        place = totals_.size();
      }
      total& to = totals_[place - 1];
      ++to.count;
      to.bytes += row.bytes;
      if (row.released_at < 0) ++to.live_count, to.live_bytes += row.bytes;
      std::size_t const step = step_at(steps, row.allocated_at);
      if (step == steps.size()) continue;
      ++to.step_count;
      to.step_bytes += row.bytes;
      if (step == 0) ++to.first_count;
    }
    changes_.sort([](change const& a, change const& b) {
      if (a.time != b.time) return a.time < b.time;
      return a.bytes != b.bytes ? a.bytes < b.bytes : a.range < b.range;
    });
  }

  /// By range and purpose only device memory counts, as in the peak.
  static bool counts(change const& each, part_of by) noexcept {
    return by == part_of::kind || is_device_memory(each.kind);
  }
  static std::uint32_t key_of(change const& each, part_of by) noexcept {
    return by == part_of::range     ? each.range
           : by == part_of::purpose ? each.purpose
                                    : static_cast<std::uint32_t>(each.kind);
  }

  /// The groups with the highest peaks, the highest first.
  vec<group> choose(part_of by) const {
    vec<group> groups;
    number_map<std::size_t> known;
    for (change const& each : changes_) {
      if (!counts(each, by)) continue;
      std::size_t& place = known[key_of(each, by)];
      if (place == 0) {
        groups.push_back({key_of(each, by), 0, 0});
        place = groups.size();
      }
      group& to = groups[place - 1];
      to.live += each.bytes;
      to.peak = larger(to.peak, to.live);
    }
    groups.sort([](group const& a, group const& b) {
      return a.peak != b.peak ? a.peak > b.peak : a.key < b.key;
    });
    return groups;
  }

  void write_series(char const* key, part_of by) {
    vec<group> const groups = choose(by);
    std::size_t const named = smaller(groups.size(), most_series - 1);
    number_map<std::size_t> series;
    for (std::size_t i = 0; i < named; ++i) series[groups[i].key] = i;
    json_.line();
    json_.object(key);
    json_.array("series");
    for (std::size_t i = 0; i < named; ++i)
      by == part_of::range     ? json_.integer({}, groups[i].key)
      : by == part_of::purpose ? json_.text({}, input_.memory.purposes[groups[i].key].name)
                               : json_.text({}, to_string(static_cast<memory_kind>(groups[i].key)));
    json_.end_array();
    json_.integer("others", groups.size() - named);
    json_.line();
    json_.array("points");  // time, then the bytes of each series and of the others
    std::int64_t live[most_series] = {};
    std::int64_t highest[most_series] = {};
    std::int64_t sum = 0, most = -1, at = 0;
    std::int64_t const part = input_.source.end / static_cast<std::int64_t>(points) + 1;
    std::int64_t current = 0;
    auto const write_point = [&] {
      if (most < 0) return;
      json_.array();
      json_.integer({}, at);
      for (std::size_t i = 0; i <= named; ++i) json_.integer({}, highest[i]);
      json_.end_array();
      most = -1;
    };
    for (change const& each : changes_) {
      if (!counts(each, by)) continue;
      if (each.time / part != current) write_point();
      current = each.time / part;
      std::size_t const* const place = series.find(key_of(each, by));
      live[place == nullptr ? named : *place] += each.bytes;
      sum += each.bytes;
      if (sum < most) continue;
      most = sum;
      at = each.time;
      std::memcpy(highest, live, sizeof live);
    }
    write_point();
    if (!changes_.empty()) {
      most = 0;
      at = input_.source.end;
      std::memcpy(highest, live, sizeof live);
      write_point();
    }
    json_.end_array();
    json_.end_object();
  }

  /// The purposes that held most at the peak.
  void write_purposes() {
    vec<memory_purpose> const& purposes = input_.memory.purposes;
    json_.line();
    json_.array("purposes");  // name; bytes: allocated, released, live, peak, at the peak of all
    for (std::size_t i = 0; i < purposes.size() && i < most_totals; ++i) {
      memory_purpose const& each = purposes[i];
      json_.array();
      json_.text({}, each.name);
      for (std::int64_t const bytes :
           {each.allocated, each.released, each.live, each.peak, each.at_peak})
        json_.integer({}, bytes);
      json_.end_array();
    }
    json_.end_array();
  }

  void write_totals() {
    totals_.sort([](total const& a, total const& b) {
      if (a.live_bytes != b.live_bytes) return a.live_bytes > b.live_bytes;
      if (a.bytes != b.bytes) return a.bytes > b.bytes;
      return a.range != b.range ? a.range < b.range : a.kind < b.kind;
    });
    std::size_t const shown = smaller(totals_.size(), most_totals);
    json_.line();
    json_.array("totals");  // range, kind, then counts and bytes: all, live, in steps; first step
    for (std::size_t i = 0; i < shown; ++i) {
      total const& t = totals_[i];
      json_.line();
      json_.array();
      json_.integer({}, t.range);
      json_.text({}, to_string(t.kind));
      for (std::uint64_t const value : {t.count, t.bytes, t.live_count, t.live_bytes, t.step_count,
                                        t.step_bytes, t.first_count})
        json_.integer({}, value);
      json_.end_array();
    }
    json_.end_array();
    json_.integer("left_out", totals_.size() - shown);
  }

  json_writer& json_;
  report_input const& input_;
  number_map<std::uint32_t> const& places_;
  vec<change> changes_;
  vec<total> totals_;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_REPORT_HTML_TIMELINE_HPP
