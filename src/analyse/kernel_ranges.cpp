#include "kernel_ranges.hpp"

#include <strata/base/macros.hpp>
#include <strata/profile.hpp>
#include <strata/profile/metric_set.hpp>
#include <strata/profile/records.hpp>
#include <strata/tables/call_tree.hpp>
#include <strata/tables/kernel_table.hpp>
#include "kernel_names.hpp"

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

/// What one step of a range launched of a kernel, and counted.
struct counted_sums {
  std::uint64_t launches = 0;
  bool is_steady = true;
  std::vector<double> values;  // as counter_set::names of the ranges; NaN: not counted
  std::uint32_t node = 0;      // of its own range
};

/// The kernels of a range, by the number of their name.
using kernels_of_range = std::map<std::uint32_t, counted_sums>;

class builder {
 public:
  explicit builder(table_input const& tables) : tables_(tables), source_(tables.source) {}

  std::optional<profile> build() {
    // Kernels are counted on one device, ranges on all.
    if (!has_all_records() || source_.counters().devices.size() > 1) return std::nullopt;
    if (source_.counters(counter_set::gpu_kernels).kernels.empty()) return std::nullopt;
    find_counted();
    leave_out();
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
    call_tree const tree(source_);
    kernel_places const places(tables_.kernels, tree);
    for (counted_kernel const& kernel :
         scaled_kernels(source_, places, tables_.kernels, tables_.steps)) {
      if (kernel.node >= source_.nodes.size() || kernel.launches_max == 0) continue;
      counted_sums& sums = counted_[kernel.node][kernel.name];
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
  }

  /// Leaves in their ranges the kernels of which steps launched different numbers, those that have
  /// no records, those that were counted in part, since the program ended, and single ones, which
  /// the counts of their range cover.
  void leave_out() {
    std::unordered_map<std::uint32_t, std::set<std::uint32_t>> names;  // by node
    for (kernel_record const& kernel : source_.kernels) names[kernel.node].insert(kernel.name);
    std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> counters;  // by node
    for (counter_value const& value : source_.counters().values)
      if (is_finite(value.value)) counters[value.node].push_back(value.counter);
    std::map<std::uint32_t, kernels_of_range> kept;
    for (auto& [node, kernels] : counted_) {
      if (names[node].size() < 2) continue;
      std::vector<std::uint32_t> const& wanted = counters[node];
      for (auto& [name, sums] : kernels) {
        std::vector<double> const& values = sums.values;
        bool const is_whole =
            std::all_of(wanted.begin(), wanted.end(),
                        [&values](std::uint32_t counter) { return is_finite(values[counter]); });
        if (sums.is_steady && is_whole && names[node].count(name) != 0)
          kept[node].emplace(name, std::move(sums));
      }
    }
    counted_ = std::move(kept);
  }

  void add_ranges(profile& made) {
    vec<std::string> const names = distinct_names(tables_.kernels);
    std::unordered_map<std::uint32_t, std::uint32_t> texts;  // by the kernel's name
    for (std::size_t i = 0; i < tables_.kernels.size(); ++i) {
      auto const [text, is_new] =
          texts.try_emplace(tables_.kernels[i].name, static_cast<std::uint32_t>(made.names.size()));
      if (is_new) made.names.push_back(names[i]);
    }
    for (auto& [node, kernels] : counted_) {
      profile_node const& around = source_.nodes[node];
      for (auto& [name, sums] : kernels) {
        sums.node = static_cast<std::uint32_t>(made.nodes.size());
        made.nodes.push_back({node, texts.at(name), no_index, around.depth + 1, around.selected});
      }
    }
  }

  /// Null where the kernel stays in its range.
  counted_sums const* sums_of(std::uint32_t node, std::uint32_t name) const {
    auto const range = counted_.find(node);
    if (range == counted_.end()) return nullptr;
    auto const kernel = range->second.find(name);
    return kernel == range->second.end() ? nullptr : &kernel->second;
  }

  void move_kernels(profile& made) {
    std::unordered_map<std::uint32_t, std::uint32_t> nodes;  // by correlation
    for (driver_call_record const& call : made.launches)
      if (call.kind == api_kind::launch) nodes[call.correlation] = no_node;
    for (kernel_record& kernel : made.kernels) {
      counted_sums const* const sums = sums_of(kernel.node, kernel.name);
      auto const call = nodes.find(kernel.correlation);
      if (sums != nullptr && call != nodes.end()) kernel.node = call->second = sums->node;
    }
    for (driver_call_record& call : made.launches) {
      if (call.kind != api_kind::launch) continue;
      std::uint32_t const node = nodes[call.correlation];
      if (node != no_node) call.node = node;
    }
  }

  void move_counts(profile& made) {
    counter_set& set = made.add_counters(counter_set::gpu);
    for (counter_value& value : set.values) {
      auto const range = counted_.find(value.node);
      std::string const& name = set.names[value.counter];
      bool const is_shared_out = combine_of(name) == metric_combine::sum && !is_clock(name);
      if (range == counted_.end() || !is_shared_out) continue;
      double moved = 0.0;
      for (auto const& [kernel, sums] : range->second)
        if (is_finite(sums.values[value.counter])) moved += sums.values[value.counter];
      if (level_of(name) == metric_level::hbm && moved > value.value)
        scale(range->second, value.counter, value.value / moved);
      value.value = std::max(0.0, value.value - moved);
    }
    for (auto const& [node, kernels] : counted_)
      for (auto const& [name, sums] : kernels)
        for (std::size_t i = 0; i < sums.values.size(); ++i)
          if (is_finite(sums.values[i]))
            set.values.push_back({sums.node, static_cast<std::uint32_t>(i), sums.values[i]});
    move_work(set);
  }

  /// Elapsed time or cycles, which a range does not share out among its kernels.
  static bool is_clock(std::string const& name) {
    return name == counted_time || name.find("cycles_elapsed") != std::string::npos;
  }

  /// At the end of what is counted L2 writes back what has changed in it, so that kernels one by
  /// one write more to device memory than their range does in one piece (652 MB for 393 MB of a
  /// GPT-2 step; H200, CUDA 13.0). Their parts are right, and the sum is the range's.
  static void scale(kernels_of_range& kernels, std::uint32_t counter, double factor) {
    for (auto& [name, sums] : kernels) sums.values[counter] *= factor;
  }

  void move_work(counter_set& set) const {
    std::size_t const passes = set.work.size();
    for (std::size_t i = 0; i < passes; ++i) {
      auto const range = counted_.find(set.work[i].node);
      if (range == counted_.end()) continue;
      for (auto const& [name, sums] : range->second) {
        auto const launches = static_cast<std::uint32_t>(
            std::min<std::uint64_t>(sums.launches, set.work[i].launches));
        counted_work own = set.work[i];
        own.node = sums.node;
        own.launches = launches;
        own.foreign = 0;  // no other thread's launches are in its counts
        set.work.push_back(own);
        set.work[i].launches -= launches;
      }
    }
  }

  table_input const& tables_;
  profile const& source_;
  std::map<std::uint32_t, kernels_of_range> counted_;  // by node
};

}  // namespace kernel_ranges

std::optional<profile> kernels_as_ranges(table_input const& tables) {
  return kernel_ranges::builder(tables).build();
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
