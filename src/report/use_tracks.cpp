#include "use_tracks.hpp"

#include <strata/base/containers.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile.hpp>
#include <strata/profile/devices.hpp>
#include <strata/profile/records.hpp>
#include <strata/tables/call_tree.hpp>
#include <strata/tables/counter_table.hpp>
#include <strata/tables/table_input.hpp>
#include "range_projection.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

STRATA_BEGIN
namespace detail {
namespace {

class use_tracks {
 public:
  static vec<use_track> make_tracks(table_input const& input, vec<projected_range> const& projected,
                                    busy_detail detail) {
    use_tracks made(input, projected);
    counter_table const* const table = made.counted();
    if (table == nullptr) return {};
    made.find_devices();
    vec<double> const hbm = made.uses_of(*table, {"hbm_use", "hbm_of_peak"});
    vec<double> const tensor = made.uses_of(*table, {"tensor_use", "tensor_of_peak"});
    for (device_work& device : made.devices_) {
      made.add_use(device, std::string(memory_name(input.source)) + " use, means", hbm);
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
    for (std::size_t row = 0; row < std::min(input_.ranges.size(), table.rows); ++row) {
      range_row const& range = input_.ranges[row];
      if (range.node >= uses.size()) continue;
      bool const leaf = range.self.kernels == range.total.kernels;
      double const self = table.at(row, metric, counter_scope::self).value;
      double const total = table.at(row, metric, counter_scope::total).value;
      uses[range.node] = leaf && is_nan(self) ? total : self;
    }
    return uses;
  }

  void add_use(device_work const& device, std::string const& name, vec<double> const& uses) {
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
    for (span const& stretch : work) last_end = std::max(last_end, stretch.end);
    std::int64_t const part = std::max(least_part, (last_end - from) / most_parts + 1);
    vec<std::int64_t> busy(static_cast<std::size_t>((last_end - from) / part + 1), 0);
    std::int64_t done = from;
    for (span const& stretch : work) {
      for_each_part(std::max(done, stretch.begin), stretch.end, from, part,
                    [&](std::size_t i, std::int64_t ns) { busy[i] += ns; });
      done = std::max(done, stretch.end);
    }
    use_sum sum;
    for (std::size_t i = 0; i < busy.size(); ++i) {
      std::int64_t const begin = from + static_cast<std::int64_t>(i) * part;
      double const share = static_cast<double>(busy[i]) / static_cast<double>(part);
      sum.add(begin, begin + part, 100.0 * share);
    }
    push_back(device, "GPU busy", sum.points());
  }

  void push_back(device_work const& device, std::string const& name, vec<use_track::point> points) {
    if (!points.empty()) tracks_.push_back({device.device, name, std::move(points)});
  }

  table_input const& input_;
  vec<projected_range> const& projected_;
  vec<device_work> devices_;
  vec<use_track> tracks_;
};

}  // namespace

vec<use_track> make_use_tracks(table_input const& input, vec<projected_range> const& projected,
                               busy_detail detail) {
  return use_tracks::make_tracks(input, projected, detail);
}

}  // namespace detail
STRATA_END
