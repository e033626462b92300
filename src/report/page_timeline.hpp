#include <strata/version.hpp>
#ifndef STRATA_REPORT_PAGE_TIMELINE_HPP
#define STRATA_REPORT_PAGE_TIMELINE_HPP

#include <strata/base/containers.hpp>
#include <strata/base/json_writer.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/utf8.hpp>
#include <strata/base/vec.hpp>
#include <strata/base/vocabulary.hpp>
#include <strata/tables/call_tree.hpp>
#include <strata/tables/columns.hpp>
#include <strata/tables/memory_table.hpp>
#include "page_gaps.hpp"
#include "page_shell.hpp"
#include "page_track.hpp"
#include "page_uses.hpp"
#include "report_input.hpp"
#include "trace_plan.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

STRATA_BEGIN
namespace detail {

/// Numbers as a text, 5 bits a letter: a third of what JSON takes for them.
class packed_numbers {
 public:
  /// Requires: `number` from 0 on.
  void add(std::int64_t number) {
    static constexpr char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-";
    auto rest = static_cast<std::uint64_t>(std::max<std::int64_t>(0, number));
    for (; rest >= 32; rest >>= 5) text_ += digits[32 + (rest & 31)];
    text_ += digits[rest];
  }
  /// Twice the number, or of one below 0 twice its amount less 1.
  void add_signed(std::int64_t number) { add(number < 0 ? -2 * number - 1 : 2 * number); }
  /// The text so far; the next one begins anew.
  std::string take() {
    std::string made;
    made.swap(text_);
    return made;
  }

 private:
  std::string text_;
};

/// Writes what ran on each thread and stream in some steps: the median one, the slowest, the first
/// and a few others; without steps in the whole run.
/// Cost: O(r) for r records and each of these steps.
class page_timeline {
 public:
  page_timeline(json_writer& json, report_input const& input, vec<std::uint32_t> const& places,
                page_limits const& limits)
      : json_(json),
        input_(input),
        labels_(input, false),
        places_(places),
        limits_(limits),
        gaps_(input.source),
        device_uses_(input, labels_) {}

  void write() {
    choose_windows();
    json_.line();
    json_.object("timeline");
    json_.array("windows");
    for (std::size_t i = 0; i < windows_.size(); ++i) write_window(windows_[i], slices_of(i));
    json_.end_array();
    json_.line();
    json_.array("labels");  // text, range
    for (bar_label const& label : used_) {
      json_.text({}, shortened(labels_.texts()[label.text], limits_.name));
      json_.integer({}, label.range);
    }
    json_.end_array();
    json_.end_object();
  }

 private:
  struct window {
    std::int64_t begin;
    std::int64_t end;
    std::uint32_t step;
    std::uint32_t thread;
    std::string_view what;
  };

  static constexpr std::size_t most_others = 12;
  static constexpr std::uint64_t most_gaps = 6000;

  static std::int64_t length(step_record const& step) noexcept { return step.end - step.begin; }

  void choose_windows() {
    profile const& source = input_.source;
    vec<step_record> steps = source.steps;
    if (steps.empty()) {
      if (source.end > 0) windows_.push_back({0, source.end, no_step, 0, "the whole run"});
      named_ = windows_.size();
      return;
    }
    vec<step_record> const in_order = steps;
    step_record const first = steps[0];
    steps.sort([](step_record const& a, step_record const& b) {
      return length(a) != length(b) ? length(a) < length(b) : a.begin < b.begin;
    });
    add_window(steps[steps.size() / 2], "median");
    add_window(steps.back(), "slowest");
    add_window(first, "first");
    named_ = windows_.size();
    add_others(in_order);
    if (source.kernels.empty()) return;
    for (kernel_record const& kernel : source.kernels) {
      std::uint32_t const launch = gaps_.launches().launch_of(kernel.correlation);
      if (launch == launch_index::none || kernel.end == lost_time) continue;
      for (window& shown : windows_)
        if (source.launches[launch].step == shown.step && shown.end < kernel.end)
          shown.end = kernel.end;
    }
  }

  void add_window(step_record const& step, std::string_view what) {
    for (window const& shown : windows_)
      if (shown.begin == step.begin && shown.step == step.step) return;
    if (step.end > step.begin)
      windows_.push_back({step.begin, step.end, step.step, step.thread, what});
  }

  /// Some of the other steps, evenly among them.
  void add_others(vec<step_record> steps) {
    steps.keep_if([this](step_record const& step) {
      for (window const& shown : windows_)
        if (shown.step == step.step && shown.begin == step.begin) return false;
      return true;
    });
    std::size_t const count = std::min(steps.size(), most_others);
    for (std::size_t i = 0; i < count; ++i) add_window(steps[i * steps.size() / count], {});
  }

  /// How many bars a window may have: the first has its records one by one, further steps share a
  /// quarter of what the others have.
  std::uint64_t slices_of(std::size_t number) const noexcept {
    if (number == 0) return limits_.first_slices;
    std::size_t const others = windows_.size() - named_;
    std::uint64_t const extra = others == 0 ? 0 : limits_.slices / 4;
    return number < named_ ? (limits_.slices - extra) / (named_ - 1) : extra / others;
  }

  std::uint32_t place_of(std::uint32_t node) const noexcept {
    return node < places_.size() ? places_[node] : 0;
  }

  /// When the call began that caused a record of a device.
  std::int64_t launch_begin(std::uint32_t correlation) const noexcept {
    std::uint32_t const launch = gaps_.launches().launch_of(correlation);
    return launch == launch_index::none ? lost_time : input_.source.launches[launch].begin;
  }

  /// Calls visit(where, bar) for each record that has a part in the window.
  void visit_bars(window const& shown,
                  callback<void(page_track::identity const&, page_track::bar const&)> visit) const {
    profile const& source = input_.source;
    auto const show = [&](page_track::identity const& where, auto const& record,
                          std::uint32_t label, std::int64_t launched = lost_time) {
      bool const is_outside = record.end < shown.begin || record.begin > shown.end;
      if (record.begin == lost_time || is_outside) return;
      std::int64_t const begin = std::max(record.begin, shown.begin);
      std::int64_t const end = std::min(record.end, shown.end);
      visit(where,
            page_track::bar{begin, end, 1, end - begin, 0, label, place_of(record.node), launched});
    };
    for (range_record const& range : source.ranges) {
      std::uint32_t const depth =
          range.node < source.nodes.size() ? source.nodes[range.node].depth : 0;
      if (labels_.has_own_row(range.node) && depth > 0 && depth <= 12)
        show({0, range.thread, depth}, range, labels_.range(range.node).name);
    }
    for (driver_call_record const& call : source.launches)
      show({0, call.thread, page_track::calls}, call, event_name(call.kind));
    for (synchronization_record const& wait : source.synchronizations)
      show({0, 0, page_track::waits}, wait, event_name(wait.kind));
    for (kernel_record const& kernel : source.kernels)
      show({kernel.device + 1u, kernel.context, kernel.stream}, kernel,
           labels_.kernel(kernel.name).name, launch_begin(kernel.correlation));
    for (copy_record const& copy : source.copies)
      show({copy.device + 1u, copy.context, copy.stream}, copy, event_name(copy.kind),
           launch_begin(copy.correlation));
  }

  page_track* find(page_track::identity const& where) {
    if (last_ < tracks_.size() && tracks_[last_].where() == where) return &tracks_[last_];
    for (last_ = 0; last_ < tracks_.size(); ++last_)
      if (tracks_[last_].where() == where) return &tracks_[last_];
    return nullptr;
  }

  /// Makes the lines of a window. Returns: how many records are on others, for which there is no
  /// room.
  std::uint64_t find_tracks(window const& shown) {
    tracks_.clear();
    std::uint64_t left_out = 0;
    visit_bars(shown, [&](page_track::identity const& where, page_track::bar const&) {
      page_track* track = find(where);
      if (track == nullptr && tracks_.size() < limits_.tracks) {
        tracks_.push_back(page_track(where));
        track = &tracks_.back();
      }
      if (track == nullptr) {
        ++left_out;
      } else {
        track->count_one();
      }
    });
    tracks_.sort([](page_track const& a, page_track const& b) { return a.where() < b.where(); });
    return left_out;
  }

  /// How many bars a line may have: lines with few have all of them, the others share the rest.
  std::uint64_t most_bars(std::uint64_t left) const {
    vec<std::uint64_t> counts;
    for (page_track const& track : tracks_) counts.push_back(track.count());
    counts.sort([](std::uint64_t a, std::uint64_t b) { return a < b; });
    for (std::size_t i = 0; i < counts.size(); ++i) {
      std::uint64_t const share = left / (counts.size() - i);
      if (counts[i] > share) return share;
      left -= counts[i];
    }
    return counts.empty() ? 0 : counts.back();
  }

  void write_window(window const& shown, std::uint64_t slices) {
    std::uint64_t const left_out = find_tracks(shown);
    std::uint64_t const most = most_bars(slices);
    std::int64_t const length = shown.end - shown.begin;
    for (page_track& track : tracks_) track.begin(shown.begin, length, most);
    visit_bars(shown, [&](page_track::identity const& where, page_track::bar const& bar) {
      if (page_track* const track = find(where)) track->add(bar);
    });
    json_.line();
    json_.object();
    json_.text("what", shown.what);
    if (shown.step != no_step) {
      json_.integer("step", shown.step);
    } else {
      json_.absent("step");
    }
    json_.integer("begin_ns", shown.begin);
    json_.integer("length_ns", length);
    json_.integer("left_out", left_out);
    gaps_.write(json_, shown.begin, shown.end, shown.thread, std::min(most_gaps, slices));
    device_uses_.write(json_, shown.begin, shown.end);
    json_.array("tracks");
    for (page_track& track : tracks_) write_track(track, shown.begin);
    json_.end_array();
    json_.end_object();
  }

  std::string track_name(page_track::identity const& where) const {
    if (where.process != 0)
      return sentence("GPU ") << (where.process - 1) << ", stream " << where.lane;
    if (where.lane == page_track::waits) return "waits for the GPU";
    std::string name = sentence("thread ") << where.group;
    for (profile_thread const& thread : input_.source.threads) {
      if (thread.ordinal != where.group) continue;
      if (!thread.name.empty()) name = thread.name;
      if (thread.os_id != 0) name += sentence(" (") << thread.os_id << ")";
    }
    return where.lane == page_track::calls ? name + ", driver calls" : name;
  }

  static char const* kind_of(page_track::identity const& where) noexcept {
    if (where.process != 0) return "device";
    return where.lane >= page_track::calls ? "calls" : "ranges";
  }

  void write_track(page_track& track, std::int64_t from) {
    page_track::identity const& where = track.where();
    json_.line();
    json_.object();
    json_.text("name", shortened(track_name(where), limits_.name));
    json_.text("kind", kind_of(where));
    if (where.process == 0 && where.lane != page_track::waits) json_.integer("thread", where.group);
    json_.integer("count", track.count());
    vec<page_track::bar> const& bars = track.bars();
    packed_numbers packed;  // begin minus that of the bar before, length, label
    for (page_track::bar const& bar : bars) {
      packed.add(bar.begin - from);
      packed.add(bar.end - bar.begin);
      packed.add(static_cast<std::int64_t>(used({bar.label, bar.range})));
      from = bar.begin;
    }
    json_.text("bars", packed.take());
    // Of bars that stand for several: position, how many, their length.
    for (std::size_t i = 0; i < bars.size(); ++i) {
      if (bars[i].count == 1) continue;
      packed.add(static_cast<std::int64_t>(i));
      packed.add(static_cast<std::int64_t>(bars[i].count));
      packed.add(std::min(bars[i].busy, bars[i].end - bars[i].begin));
    }
    json_.text("joined", packed.take());
    if (where.process != 0) write_launches(bars);
    json_.end_object();
  }

  /// How long before each bar the call began that caused it; 0 where that is unknown, and for bars
  /// that stand for several.
  void write_launches(vec<page_track::bar> const& bars) {
    packed_numbers packed;
    for (page_track::bar const& bar : bars) {
      bool const known = bar.count == 1 && bar.launched != lost_time;
      packed.add_signed(known ? bar.begin - bar.launched : 0);
    }
    json_.text("launched", packed.take());
  }

  /// What a bar says: a text of the labels, and a range.
  struct bar_label {
    std::uint32_t text;
    std::uint32_t range;
  };

  /// The position of a label in the page's list.
  std::size_t used(bar_label const& label) {
    std::size_t& number = uses_[std::uint64_t{label.range} << 32 | label.text];
    if (number == 0) {
      used_.push_back(label);
      number = used_.size();
    }
    return number - 1;
  }

  json_writer& json_;
  report_input const& input_;
  trace_labels labels_;
  vec<std::uint32_t> const& places_;  ///< on the page, by node
  page_limits const& limits_;
  page_gaps gaps_;
  page_uses device_uses_;
  vec<window> windows_;
  std::size_t named_ = 0;  ///< of the windows; the others are further steps
  vec<page_track> tracks_;
  std::size_t last_ = 0;
  number_map<std::size_t> uses_;  ///< 1 + position in used_, by range and text
  vec<bar_label> used_;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_REPORT_PAGE_TIMELINE_HPP
