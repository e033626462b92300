#include <strata/version.hpp>
#ifndef STRATA_REPORT_PAGE_MEMORY_HPP
#define STRATA_REPORT_PAGE_MEMORY_HPP

#include <strata/base/containers.hpp>
#include <strata/base/json_writer.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/vec.hpp>
#include <strata/base/vocabulary.hpp>
#include <strata/tables/memory_table.hpp>
#include "memory_in_mean_step.hpp"
#include "report_input.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

STRATA_BEGIN
namespace detail {

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
    memory_in_mean_step const mean(memory, input_.steps);
    json_.integer("steps", memory.steps.size());
    json_.integer("mean_steps", mean.steps());
    write_series("by_range", part_of::range);
    if (memory.purposes.size() > 1) {
      write_series("by_purpose", part_of::purpose);
      write_purposes(mean);
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
    std::uint64_t count = 0;  ///< of all allocations
    std::uint64_t bytes = 0;
    std::uint64_t live_count = 0;  ///< not released at the end
    std::uint64_t live_bytes = 0;
    std::uint64_t later_count = 0;  ///< made in steps but the first
    std::uint64_t later_bytes = 0;
  };
  struct group {
    std::uint32_t key;
    std::int64_t live;
    std::int64_t peak;
  };

  std::uint32_t place_of(allocation_row const& row) const noexcept {
    std::uint32_t const* const position = places_.find(row.path_id);
    return position == nullptr ? 0 : *position;
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
      std::int64_t const bytes = std::min(signed_bytes(row.bytes), std::int64_t{1} << 46);
      changes_.push_back({row.allocated_at, bytes, range, row.kind, row.purpose});
      if (row.released_at >= 0)
        changes_.push_back({row.released_at, -bytes, range, row.kind, row.purpose});
      std::size_t& number = known[std::uint64_t{range} << 8 | static_cast<std::uint8_t>(row.kind)];
      if (number == 0) {
        totals_.emplace_back();
        totals_.back().range = range;
        totals_.back().kind = row.kind;
        number = totals_.size();
      }
      total& sums = totals_[number - 1];
      ++sums.count;
      sums.bytes += row.bytes;
      if (row.released_at < 0) {
        ++sums.live_count;
        sums.live_bytes += row.bytes;
      }
      std::size_t const step = step_at(steps, row.allocated_at);
      if (step == 0 || step == steps.size()) continue;
      ++sums.later_count;
      sums.later_bytes += row.bytes;
    }
    changes_.sort([](change const& a, change const& b) {
      if (a.time != b.time) return a.time < b.time;
      return a.bytes != b.bytes ? a.bytes < b.bytes : a.range < b.range;
    });
  }

  /// By range and purpose only device memory counts, as in the peak.
  static bool counts(change const& made, part_of grouping) noexcept {
    return grouping == part_of::kind || is_device_memory(made.kind);
  }
  static std::uint32_t key_of(change const& made, part_of grouping) noexcept {
    return grouping == part_of::range     ? made.range
           : grouping == part_of::purpose ? made.purpose
                                          : static_cast<std::uint32_t>(made.kind);
  }

  void write_name(part_of grouping, std::uint32_t number) {
    switch (grouping) {
      case part_of::range:
        return json_.integer({}, number);
      case part_of::purpose:
        return json_.text({}, input_.memory.purposes[number].name);
      case part_of::kind:
        return json_.text({}, to_string(static_cast<memory_kind>(number)));
    }
  }

  /// The groups with the highest peaks, the highest first.
  vec<group> choose(part_of grouping) const {
    vec<group> groups;
    number_map<std::size_t> known;
    for (change const& made : changes_) {
      if (!counts(made, grouping)) continue;
      std::size_t& number = known[key_of(made, grouping)];
      if (number == 0) {
        groups.push_back({key_of(made, grouping), 0, 0});
        number = groups.size();
      }
      group& entry = groups[number - 1];
      entry.live += made.bytes;
      entry.peak = std::max(entry.peak, entry.live);
    }
    groups.sort([](group const& a, group const& b) {
      return a.peak != b.peak ? a.peak > b.peak : a.key < b.key;
    });
    return groups;
  }

  void write_series(char const* key, part_of grouping) {
    vec<group> const groups = choose(grouping);
    std::size_t const named = std::min(groups.size(), most_series - 1);
    number_map<std::size_t> series;
    for (std::size_t i = 0; i < named; ++i) series[groups[i].key] = i;
    json_.line();
    json_.object(key);
    json_.array("series");
    for (std::size_t i = 0; i < named; ++i) write_name(grouping, groups[i].key);
    json_.end_array();
    json_.integer("others", groups.size() - named);
    json_.line();
    json_.array("points");  // time, then the bytes of each series and of the others
    std::int64_t live[most_series] = {};
    std::int64_t highest[most_series] = {};
    std::int64_t sum = 0;
    std::int64_t most = -1;
    std::int64_t time = 0;
    std::int64_t const part = input_.source.end / static_cast<std::int64_t>(points) + 1;
    std::int64_t current = 0;
    auto const write_point = [&] {
      if (most < 0) return;
      json_.array();
      json_.integer({}, time);
      for (std::size_t i = 0; i <= named; ++i) json_.integer({}, highest[i]);
      json_.end_array();
      most = -1;
    };
    for (change const& made : changes_) {
      if (!counts(made, grouping)) continue;
      if (made.time / part != current) write_point();
      current = made.time / part;
      std::size_t const* const position = series.find(key_of(made, grouping));
      live[position == nullptr ? named : *position] += made.bytes;
      sum += made.bytes;
      if (sum < most) continue;
      most = sum;
      time = made.time;
      std::memcpy(highest, live, sizeof live);
    }
    write_point();
    if (!changes_.empty()) {
      most = 0;
      time = input_.source.end;
      std::memcpy(highest, live, sizeof live);
      write_point();
    }
    json_.end_array();
    json_.end_object();
  }

  /// The purposes that held most at the peak.
  void write_purposes(memory_in_mean_step const& mean) {
    vec<memory_purpose> const& purposes = input_.memory.purposes;
    json_.line();
    // name; bytes: allocated and released in a mean step, live, peak, at the peak of all
    json_.array("purposes");
    for (std::size_t i = 0; i < purposes.size() && i < most_totals; ++i) {
      memory_purpose const& purpose = purposes[i];
      json_.array();
      json_.text({}, purpose.name);
      for (std::int64_t const bytes :
           {whole_ns(mean.per_step(purpose.allocated, purpose.first_step_allocated)),
            whole_ns(mean.per_step(purpose.released, purpose.first_step_released)), purpose.live,
            purpose.peak, purpose.at_peak})
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
    std::size_t const shown = std::min(totals_.size(), most_totals);
    json_.line();
    json_.array("totals");  // range, kind; counts and bytes: all, live, in steps but the first
    for (std::size_t i = 0; i < shown; ++i) {
      total const& t = totals_[i];
      json_.line();
      json_.array();
      json_.integer({}, t.range);
      json_.text({}, to_string(t.kind));
      for (std::uint64_t const value :
           {t.count, t.bytes, t.live_count, t.live_bytes, t.later_count, t.later_bytes})
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

#endif  // STRATA_REPORT_PAGE_MEMORY_HPP
