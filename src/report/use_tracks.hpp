#include <strata/version.hpp>
#ifndef STRATA_REPORT_USE_TRACKS_HPP
#define STRATA_REPORT_USE_TRACKS_HPP

#include <strata/base/containers.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile.hpp>
#include <strata/profile/records.hpp>
#include <strata/tables/call_tree.hpp>
#include <strata/tables/counter_table.hpp>
#include <strata/tables/table_input.hpp>
#include "range_projection.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

// Hardware counters over time: the mean of a range, as long as the range works on a device.

STRATA_BEGIN
namespace detail {

/// A use of a device over time in thousandths: a value holds until the next one.
struct use_track {
  struct point {
    std::int64_t time;  ///< ns since the session began
    std::uint32_t use;
  };
  std::uint32_t device;
  std::string_view name;
  vec<point> points;
};

/// Calls `visit(i, ns)` for each part of `part` ns from `from` on that a span lies in, with how
/// much of it does.
template <class Visit>
void for_each_part(std::int64_t begin, std::int64_t end, std::int64_t from, std::int64_t part,
                   Visit const& visit) {
  while (begin < end) {
    std::int64_t const i = (begin - from) / part;
    std::int64_t const until = smaller(end, from + (i + 1) * part);
    visit(static_cast<std::size_t>(i), until - begin);
    begin = until;
  }
}

/// Joins times with a use to a track. Where several overlap, as of streams, the largest counts.
class use_sum {
 public:
  void add(std::int64_t begin, std::int64_t end, double percent) {
    if (!is_positive(percent) || begin >= end) return;
    auto const use = static_cast<std::uint32_t>(smaller(percent, 100.0) * 10.0 + 0.5);
    changes_.push_back({begin, use, 1});
    changes_.push_back({end, use, -1});
  }

  vec<use_track::point> points() {
    changes_.sort([](change const& a, change const& b) { return a.time < b.time; });
    vec<use_track::point> made;
    for (std::size_t i = 0; i < changes_.size(); ++i) {
      change const& now = changes_[i];
      open_[now.use] += now.more;
      most_ = larger(most_, now.use);
      if (i + 1 < changes_.size() && changes_[i + 1].time == now.time) continue;
      while (most_ > 0 && open_[most_] == 0) --most_;
      if (made.empty() || made.back().use != most_) made.push_back({now.time, most_});
    }
    return made;
  }

 private:
  struct change {
    std::int64_t time;
    std::uint32_t use;
    std::int32_t more;
  };
  vec<change> changes_;
  std::int64_t open_[1001] = {};  ///< how many have this use
  std::uint32_t most_ = 0;
};

/// Whether the busy share is of parts of the run, or changes with each piece of work.
enum class busy_detail : std::uint8_t { parts, exact };

/// The tracks of each device: the use of HBM and of its tensor cores, and how much of the time it
/// worked. Nothing where no counter was recorded by range.
/// Cost: O(p log p) for p calls of ranges on streams and records of work, and 2,000 points a
/// device.
class use_tracks {
 public:
  static vec<use_track> make_tracks(table_input const& input, vec<projected_range> const& projected,
                                    busy_detail detail = busy_detail::parts) {
    use_tracks made(input, projected);
    counter_table const* const table = made.counted();
    if (table == nullptr) return {};
    made.find_devices();
    vec<double> const hbm = made.uses_of(*table, {"hbm_use", "hbm_of_peak"});
    vec<double> const tensor = made.uses_of(*table, {"tensor_use", "tensor_of_peak"});
    for (device_work& device : made.devices_) {
      made.add_use(device, "HBM use, means", hbm);
      made.add_use(device, "tensor use, means", tensor);
      if (detail == busy_detail::parts) {
        made.add_busy_parts(device);
      } else {
        made.add_busy(device);
      }
    }
    return std::move(made.tracks_);
  }

 private:
  struct keys {
    std::string_view first;
    std::string_view second;  ///< where the first was not counted
  };
  struct span {
    std::int64_t begin;
    std::int64_t end;
  };
  struct device_work {
    std::uint32_t device = 0;
    vec<std::size_t> ranges;  ///< of projected_
    vec<span> work;
  };
  /// The parts of a call that are of no call within it. Requires: what is within comes before, as
  /// range_projection has it.
  class own_parts {
   public:
    template <class Visit>
    void visit_parts(projected_range const& call, Visit const& visit) {
      std::size_t const depth = call.depth;
      while (inner_.size() <= depth + 1) inner_.emplace_back();
      std::int64_t time = call.begin;
      for (span const& within : inner_[depth + 1]) {
        visit(time, within.begin);
        time = within.end;
      }
      visit(time, call.end);
      inner_[depth + 1].clear();
      if (depth > 1) inner_[depth].push_back({call.begin, call.end});
    }

   private:
    vec<vec<span>> inner_;  ///< by depth
  };
  static constexpr std::int64_t most_parts = 2000;
  static constexpr std::int64_t least_part = 10'000;  ///< ns

  use_tracks(table_input const& input, vec<projected_range> const& projected)
      : input_(input), projected_(projected) {}

  counter_table const* counted() const {
    for (counter_tables const& tables : input_.counters)
      if (tables.ranges.name == counter_set::gpu) return &tables.ranges;
    return nullptr;
  }

  /// Those that ranges had work on, with their work in the order of its begins.
  void find_devices() {
    number_map<std::size_t> places;  // from 1
    for (std::size_t i = 0; i < projected_.size(); ++i) {
      std::size_t& place = places[projected_[i].device];
      if (place == 0) devices_.emplace_back().device = projected_[i].device;
      if (place == 0) place = devices_.size();
      devices_[place - 1].ranges.push_back(i);
    }
    auto const add = [&](auto const& record) {
      bool const known = record.begin != lost_time && record.end != lost_time;
      std::size_t const* const place = places.find(record.device);
      if (known && place != nullptr)
        devices_[*place - 1].work.push_back({record.begin, record.end});
    };
    for (kernel_record const& kernel : input_.source.kernels) add(kernel);
    for (copy_record const& copy : input_.source.copies) add(copy);
    for (device_work& device : devices_)
      device.work.sort([](span const& a, span const& b) { return a.begin < b.begin; });
    devices_.sort([](device_work const& a, device_work const& b) { return a.device < b.device; });
  }

  /// What was counted for a range itself, by node; NaN where nothing was.
  vec<double> uses_of(counter_table const& table, keys const& wanted) const {
    std::size_t metric = table.find(wanted.first);
    if (metric == table.none) metric = table.find(wanted.second);
    vec<double> uses(input_.source.nodes.size(), not_a_number);
    if (metric == table.none) return uses;
    for (std::size_t row = 0; row < smaller(input_.ranges.size(), table.rows); ++row) {
      range_row const& range = input_.ranges[row];
      if (range.node >= uses.size()) continue;
      bool const leaf = range.self.kernels == range.total.kernels;
      double const self = table.at(row, metric, counter_scope::self).value;
      double const total = table.at(row, metric, counter_scope::total).value;
      uses[range.node] = leaf && is_nan(self) ? total : self;
    }
    return uses;
  }

  void add_use(device_work const& device, std::string_view name, vec<double> const& uses) {
    use_sum sum;
    own_parts parts;
    for (std::size_t const i : device.ranges) {
      projected_range const& range = projected_[i];
      double const use = uses[range.node];
      parts.visit_parts(range,
                        [&](std::int64_t begin, std::int64_t end) { sum.add(begin, end, use); });
    }
    push_back(device, name, sum.points());
  }

  void add_busy(device_work const& device) {
    use_sum sum;
    for (span const& busy : device.work) sum.add(busy.begin, busy.end, 100.0);
    push_back(device, "GPU busy", sum.points());
  }

  /// The share of equal parts of the run in which the device worked.
  void add_busy_parts(device_work const& device) {
    vec<span> const& work = device.work;
    std::int64_t const from = work.empty() ? 0 : work[0].begin;
    std::int64_t last_end = from;
    for (span const& stretch : work) last_end = larger(last_end, stretch.end);
    std::int64_t const part = larger(least_part, (last_end - from) / most_parts + 1);
    vec<std::int64_t> busy(static_cast<std::size_t>((last_end - from) / part + 1), 0);
    std::int64_t done = from;
    for (span const& stretch : work) {
      for_each_part(larger(done, stretch.begin), stretch.end, from, part,
                    [&](std::size_t i, std::int64_t ns) { busy[i] += ns; });
      done = larger(done, stretch.end);
    }
    use_sum sum;
    for (std::size_t i = 0; i < busy.size(); ++i) {
      std::int64_t const begin = from + static_cast<std::int64_t>(i) * part;
      double const share = static_cast<double>(busy[i]) / static_cast<double>(part);
      sum.add(begin, begin + part, 100.0 * share);
    }
    push_back(device, "GPU busy", sum.points());
  }

  void push_back(device_work const& device, std::string_view name, vec<use_track::point> points) {
    if (!points.empty()) tracks_.push_back({device.device, name, std::move(points)});
  }

  table_input const& input_;
  vec<projected_range> const& projected_;
  vec<device_work> devices_;
  vec<use_track> tracks_;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_REPORT_USE_TRACKS_HPP
