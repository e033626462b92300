#include "kernel_ranges.hpp"

#include <strata/base/macros.hpp>
#include <strata/profile.hpp>
#include <strata/profile/metric_set.hpp>
#include <strata/profile/records.hpp>
#include <strata/tables/call_tree.hpp>
#include <strata/tables/kernel_table.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

STRATA_BEGIN
namespace detail {
namespace kernel_ranges {

/// A kernel in a range.
using place = std::pair<std::uint32_t, std::uint32_t>;  // node, name

/// What one step of a range launched of a kernel, and counted.
struct counted_place {
  std::uint64_t launches = 0;
  bool is_steady = true;
  std::vector<double> values;  // as counter_set::names of the ranges; NaN: not counted
  std::uint32_t node = 0;      // of its own range
};

class builder {
 public:
  explicit builder(profile const& source) : source_(source) {}

  std::optional<profile> build() {
    // Kernels are counted on one device, ranges on all.
    if (!has_all_records() || source_.counters().devices.size() > 1) return std::nullopt;
    find_counted();
    if (counted_.empty()) return std::nullopt;
    leave_single_kernels();
    if (counted_.empty()) return std::nullopt;
    profile made = source_;
    made.device = device_sums();  // made anew of the records
    add_ranges(made);
    move_kernels(made);
    move_counts(made);
    return made;
  }

 private:
  /// Whether the kernels are there one by one, and not as sums alone.
  bool has_all_records() const noexcept {
    if (!source_.device.complete) return true;
    std::uint64_t kernels = 0;
    for (device_work const& work : source_.device.nodes) kernels += work.kernels;
    return kernels == source_.kernels.size();
  }

  /// Sums of the launches of a kernel in a range that differ in their grids.
  void find_counted() {
    counter_set const& kernels = source_.counters(counter_set::gpu_kernels);
    counter_set const& ranges = source_.counters(counter_set::gpu);
    std::vector<std::size_t> positions;
    for (std::string const& name : kernels.names) positions.push_back(ranges.names.index_of(name));
    for (counted_kernel const& kernel : kernels.kernels) {
      if (kernel.node >= source_.nodes.size() || kernel.launches_max == 0) continue;
      counted_place& sums = counted_[{kernel.node, kernel.name}];
      bool const is_first = sums.values.empty();
      if (is_first) sums.values.assign(ranges.names.size(), not_a_number);
      sums.launches += kernel.launches_max;
      sums.is_steady = sums.is_steady && kernel.launches_min == kernel.launches_max;
      for (std::size_t i = 0; i < positions.size() && i < kernel.values.size(); ++i) {
        if (positions[i] >= ranges.names.size()) continue;
        double& sum = sums.values[positions[i]];
        bool const adds_up = combine_of(kernels.names[i]) == metric_combine::sum;
        sum = is_first  ? kernel.values[i]
              : adds_up ? sum + kernel.values[i]
                        : std::max(sum, kernel.values[i]);
      }
    }
    for (auto at = counted_.begin(); at != counted_.end();)
      at = at->second.is_steady ? std::next(at) : counted_.erase(at);
    leave_incomplete(ranges);
  }

  /// The program may have ended before all was counted by kernel that was by range.
  void leave_incomplete(counter_set const& ranges) {
    for (counter_value const& value : ranges.values) {
      if (!is_finite(value.value)) continue;
      auto at = counted_.lower_bound({value.node, 0});
      while (at != counted_.end() && at->first.first == value.node)
        at = is_finite(at->second.values[value.counter]) ? std::next(at) : counted_.erase(at);
    }
  }

  /// A range of one kernel is judged by its own counts.
  void leave_single_kernels() {
    std::map<std::uint32_t, std::set<std::uint32_t>> names;
    for (kernel_record const& kernel : source_.kernels) names[kernel.node].insert(kernel.name);
    for (auto at = counted_.begin(); at != counted_.end();) {
      auto const& known = names[at->first.first];
      bool const stays = known.size() > 1 && known.count(at->first.second) != 0;
      at = stays ? std::next(at) : counted_.erase(at);
    }
  }

  void add_ranges(profile& made) {
    vec<kernel_row> const rows = make_kernel_table(source_, call_tree(source_));
    vec<std::string> const names = distinct_names(rows);
    std::unordered_map<std::uint32_t, std::uint32_t> texts;  // by the kernel's name
    for (std::size_t i = 0; i < rows.size(); ++i) {
      auto const [text, is_new] =
          texts.try_emplace(rows[i].name, static_cast<std::uint32_t>(made.names.size()));
      if (is_new) made.names.push_back(names[i]);
    }
    for (auto& [where, sums] : counted_) {
      auto const text = texts.find(where.second);  // it is there: the range has records of it
      profile_node const& around = source_.nodes[where.first];
      sums.node = static_cast<std::uint32_t>(made.nodes.size());
      made.nodes.push_back(
          {where.first, text->second, no_index, around.depth + 1, around.selected});
    }
  }

  void move_kernels(profile& made) {
    std::unordered_map<std::uint32_t, std::uint32_t> nodes;  // by correlation
    for (driver_call_record const& call : made.launches)
      if (call.kind == api_kind::launch) nodes[call.correlation] = no_node;
    for (kernel_record& kernel : made.kernels) {
      auto const to = counted_.find({kernel.node, kernel.name});
      auto const call = nodes.find(kernel.correlation);
      if (to == counted_.end() || call == nodes.end()) continue;
      kernel.node = call->second = to->second.node;
    }
    for (driver_call_record& call : made.launches) {
      if (call.kind != api_kind::launch) continue;
      std::uint32_t const node = nodes[call.correlation];
      if (node != no_node) call.node = node;
    }
  }

  void move_counts(profile& made) {
    counter_set& set = made.add_counters(counter_set::gpu);
    std::map<place, double> moved;  // by node and counter
    for (auto const& [where, sums] : counted_)
      for (std::size_t i = 0; i < sums.values.size(); ++i)
        if (is_finite(sums.values[i]))
          moved[{where.first, static_cast<std::uint32_t>(i)}] += sums.values[i];
    for (counter_value& value : set.values) {
      auto const less = moved.find({value.node, value.counter});
      std::string const& name = set.names[value.counter];
      if (less == moved.end() || combine_of(name) != metric_combine::sum) continue;
      if (location_of(name) == metric_location::memory && less->second > value.value)
        scale(value.node, value.counter, value.value / less->second);
      value.value = std::max(0.0, value.value - less->second);
    }
    for (auto const& [where, sums] : counted_)
      for (std::size_t i = 0; i < sums.values.size(); ++i)
        if (is_finite(sums.values[i]))
          set.values.push_back({sums.node, static_cast<std::uint32_t>(i), sums.values[i]});
    move_work(set);
  }

  /// At the end of what is counted L2 writes back what has changed in it, so that kernels one by
  /// one write more to device memory than their range does in one piece (652 MB for 393 MB of a
  /// GPT-2 step; H200, CUDA 13.0). Their parts are right, and the sum is the range's.
  void scale(std::uint32_t node, std::uint32_t counter, double factor) {
    for (auto at = counted_.lower_bound({node, 0}); at != counted_.end() && at->first.first == node;
         ++at)
      at->second.values[counter] *= factor;
  }

  void move_work(counter_set& set) const {
    std::size_t const passes = set.work.size();
    for (std::size_t i = 0; i < passes; ++i) {
      std::uint32_t const node = set.work[i].node;
      for (auto at = counted_.lower_bound({node, 0});
           at != counted_.end() && at->first.first == node; ++at) {
        auto const launches = static_cast<std::uint32_t>(
            std::min<std::uint64_t>(at->second.launches, set.work[i].launches));
        counted_work own = set.work[i];
        own.node = at->second.node;
        own.launches = launches;
        set.work.push_back(own);
        set.work[i].launches -= launches;
      }
    }
  }

  profile const& source_;
  std::map<place, counted_place> counted_;
};

}  // namespace kernel_ranges

std::optional<profile> kernels_as_ranges(profile const& source) {
  return kernel_ranges::builder(source).build();
}

kernels_apart rows_of_kernels(findings_input const& by_kernel, profile const& source,
                              call_tree const& folded) {
  kernels_apart made{by_kernel, {}, {}};
  profile const& apart = by_kernel.source;
  for (range_row const& row : by_kernel.rows) {
    bool const is_kernel = row.node >= source.nodes.size();
    std::uint32_t const range = is_kernel ? apart.nodes[row.node].parent : row.node;
    made.ranges.push_back(folded.position_of(range));
    made.kernels.push_back(is_kernel ? apart.names[apart.nodes[row.node].name] : std::string());
  }
  return made;
}

}  // namespace detail
STRATA_END
