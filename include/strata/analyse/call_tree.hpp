#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_CALL_TREE_HPP
#define STRATA_ANALYSE_CALL_TREE_HPP

#include <strata/analyse/joins.hpp>
#include <strata/analyse/range_rows.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile.hpp>
#include <strata/profile/records.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

STRATA_BEGIN
namespace detail {

/// Fills a row for every place in the tree, then drops those that have nothing to say.
class call_tree_builder {
 public:
  call_tree_builder(profile const& source, bool fold)
      : source_(source),
        layout_(source, fold),
        launches_(source),
        rows_(layout_.rows()),
        details_(layout_.rows()) {
    for (std::uint32_t node = 1; node < layout_.nodes(); ++node) {
      std::int64_t const index = source.nodes[node].index;
      if (index != no_index && layout_.has_own_row(node))
        rows_[layout_.row_of(node)].index = fold ? any_index : index;
    }
  }

  void build(vec<range_row>& rows, vec<std::uint32_t>& row_of_node) {
    add_calls();
    add_folded_calls();
    add_launches();
    add_kernels();
    add_copies();
    add_synchronizations();
    add_memory();
    sum_busy_time();
    sum_spans();
    sum_subtrees();
    drop_empty_rows(row_of_node);
    describe_rows();
    rows = std::move(rows_);
  }

 private:
  /// A kernel or copy on the device.
  struct interval {
    std::int64_t begin;
    std::int64_t end;
    std::uint32_t row;
    std::uint32_t device;
  };

  void add_calls() {
    captured_calls const calls(source_);
    std::uint32_t first_step = no_step;
    for (range_record const& range : source_.ranges)
      first_step = (std::min)(first_step, range.step);
    for (range_record const& range : source_.ranges) {
      if (!layout_.has_own_row(range.node)) continue;
      std::uint32_t const at = layout_.row_of(range.node);
      range_row& row = rows_[at];
      std::int64_t const duration = elapsed(range.begin, range.end);
      row.host.add(duration);
      row.host_total_ns = add_saturated(row.host_total_ns, duration);
      if (source_.has_steps && range.step == first_step && first_step != no_step) {
        ++row.first_step_calls;
        row.first_step_host_ns = add_saturated(row.first_step_host_ns, duration);
      }
      if (range.attribute == no_reference) continue;
      details_[at].add(row, source_, range, !calls.only_captured(range));
    }
  }

  void add_folded_calls() {
    for (overflow_sums const& folded : source_.folded) {
      if (!layout_.has_own_row(folded.node)) continue;
      range_row& row = rows_[layout_.row_of(folded.node)];
      row.host.add(folded.durations);
      row.host_total_ns = add_saturated(row.host_total_ns, whole_ns(folded.durations.sum()));
      if (folded.flops != 0.0) row_details::add_given(row.flops, folded.flops);
      if (folded.bytes != 0.0) row_details::add_given(row.bytes, folded.bytes);
      if (folded.tokens != 0.0) row_details::add_given(row.tokens, folded.tokens);
    }
  }

  std::uint32_t launching_row(std::uint32_t correlation) const noexcept {
    return layout_.row_of(launches_.node_of(correlation));
  }

  void add_launches() {
    work_end_.assign(source_.launches.size(), lost_time);
    for (launch_record const& launch : source_.launches) {
      if (!is_work(launch.kind)) continue;
      device_work& work = rows_[layout_.row_of(launch.node)].self;
      ++work.launches;
      work.launch_ns = add_saturated(work.launch_ns, elapsed(launch.begin, launch.end));
    }
  }

  /// Takes a kernel or copy for the union and for the spans; gives its row.
  std::uint32_t add_interval(std::int64_t begin, std::int64_t end, std::uint32_t correlation,
                             std::uint32_t device) {
    std::uint32_t const launch = launches_.launch_of(correlation);
    bool const known = launch != launch_index::none;
    std::uint32_t const row = layout_.row_of(known ? source_.launches[launch].node : root_node);
    if (begin == lost_time) return row;
    if (end > begin) intervals_.push_back({begin, end, row, device});
    if (known) work_end_[launch] = (std::max)(work_end_[launch], (std::max)(begin, end));
    return row;
  }

  void add_kernels() {
    intervals_.reserve(source_.kernels.size() + source_.copies.size());
    for (kernel_record const& kernel : source_.kernels) {
      std::uint32_t const row =
          add_interval(kernel.begin, kernel.end, kernel.correlation, kernel.device);
      std::int64_t const duration = elapsed(kernel.begin, kernel.end);
      device_work& work = rows_[row].self;
      ++work.kernels;
      work.kernel_ns = add_saturated(work.kernel_ns, duration);
      if (kernel.graph_node != 0) add_captured(kernel, row, duration);
    }
  }

  void add_captured(kernel_record const& kernel, std::uint32_t launching, std::int64_t duration) {
    std::uint32_t const node = launches_.capturing_node(kernel);
    if (node == launch_index::none) return;
    std::uint32_t const capturing = layout_.row_of(node);
    if (capturing == launching) return;
    add_graph_kernel(rows_[capturing].self, duration);
    for (std::uint32_t row = capturing; !layout_.contains(row, launching);
         row = layout_.parent(row))
      add_graph_kernel(rows_[row].total, duration);
  }
  static void add_graph_kernel(device_work& work, std::int64_t duration) noexcept {
    ++work.graph_kernels;
    work.graph_kernel_ns = add_saturated(work.graph_kernel_ns, duration);
  }

  void add_copies() {
    for (copy_record const& copy : source_.copies) {
      device_work& work =
          rows_[add_interval(copy.begin, copy.end, copy.correlation, copy.device)].self;
      ++work.copies;
      work.copy_ns = add_saturated(work.copy_ns, elapsed(copy.begin, copy.end));
      bytes_of(work, copy.kind) += copy.bytes;
    }
  }
  static std::uint64_t& bytes_of(device_work& work, copy_kind kind) noexcept {
    switch (kind) {
      case copy_kind::host_to_device:
        return work.host_to_device_bytes;
      case copy_kind::device_to_host:
        return work.device_to_host_bytes;
      case copy_kind::device_to_device:
      case copy_kind::peer:
        return work.device_to_device_bytes;
      case copy_kind::set:
        return work.set_bytes;
      default:
        return work.other_bytes;
    }
  }

  void add_synchronizations() {
    for (synchronization_record const& wait : source_.synchronizations) {
      if (wait.kind == synchronization_kind::stream_wait_event) continue;  // the host does not wait
      device_work& work = rows_[launching_row(wait.correlation)].self;
      ++work.synchronizations;
      work.synchronization_ns =
          add_saturated(work.synchronization_ns, elapsed(wait.begin, wait.end));
    }
  }

  void add_memory() {
    allocation_pairs const pairs(source_.memory);
    vec<std::uint32_t> owners(source_.memory.size(), 0);
    vec<std::int64_t> in_use(rows_.size(), 0);
    for (std::uint32_t const at : pairs.order) {
      memory_record const& record = source_.memory[at];
      std::uint32_t const ended = pairs.ended[at];
      owners[at] = launching_row(record.correlation);
      if (ended != allocation_pairs::none) release(source_.memory[ended], owners[ended], in_use);
      device_work& work = rows_[owners[at]].self;
      if (record.allocates != 0) {
        ++work.allocations;
        work.allocated_bytes += record.bytes;
        allocate(record, owners[at], in_use);
      } else {
        ++work.releases;
        bool const unsized = record.bytes == 0 && ended != allocation_pairs::none;
        work.released_bytes += unsized ? source_.memory[ended].bytes : record.bytes;
      }
    }
  }
  void allocate(memory_record const& record, std::uint32_t row, vec<std::int64_t>& in_use) {
    if (!is_device_memory(record.kind)) return;
    for (;; row = layout_.parent(row)) {
      in_use[row] = add_saturated(in_use[row], signed_bytes(record.bytes));
      rows_[row].peak_bytes = (std::max)(rows_[row].peak_bytes, in_use[row]);
      if (row == 0) return;
    }
  }
  void release(memory_record const& record, std::uint32_t row, vec<std::int64_t>& in_use) {
    if (!is_device_memory(record.kind)) return;
    for (;; row = layout_.parent(row)) {
      in_use[row] -= (std::min)(in_use[row], signed_bytes(record.bytes));
      if (row == 0) return;
    }
  }

  void sum_busy_time() {
    intervals_.sort([](interval const& a, interval const& b) { return a.begin < b.begin; });
    add_union(0, intervals_.size(), &range_row::gpu_busy_ns);
    intervals_.sort(by_device);
    if (intervals_.empty()) return;
    if (intervals_.front().device == intervals_.back().device && is_counted(intervals_[0].device)) {
      for (range_row& row : rows_) row.device_busy_ns = row.gpu_busy_ns;
      return;
    }
    for (std::size_t end = 0, begin = 0; begin < intervals_.size(); begin = end) {
      while (end < intervals_.size() && intervals_[end].device == intervals_[begin].device) ++end;
      if (is_counted(intervals_[begin].device)) add_union(begin, end, &range_row::device_busy_ns);
    }
  }
  static bool by_device(interval const& a, interval const& b) noexcept {
    return a.device < b.device;
  }
  /// Whether counters were counted on a device in passes, or on none.
  bool is_counted(std::uint32_t device) const noexcept {
    bool any = false;
    for (counter_set const& set : source_.counter_sets) {
      if (set.method != counting::passes) continue;
      for (std::uint32_t const each : set.devices) {
        if (each == device) return true;
        any = true;
      }
    }
    return !any;
  }
  /// The time that these intervals, in the order of their beginnings, cover together.
  void add_union(std::size_t first, std::size_t last, std::int64_t range_row::*sum) {
    vec<std::int64_t> busy_until(rows_.size(), lost_time);
    for (std::size_t i = first; i < last; ++i) {
      interval const& each = intervals_[i];
      // Where a row is busy for longer, so are all rows above it.
      for (std::uint32_t row = each.row; busy_until[row] < each.end; row = layout_.parent(row)) {
        std::int64_t const begin = (std::max)(each.begin, busy_until[row]);
        rows_[row].*sum = add_saturated(rows_[row].*sum, elapsed(begin, each.end));
        busy_until[row] = each.end;
      }
    }
  }

  void sum_spans() {
    span_sweep sweep(layout_);
    sweep.reserve(source_.ranges.size(), source_.launches.size());
    for (range_record const& range : source_.ranges)
      if (layout_.has_own_row(range.node))
        sweep.add_call(range.thread, range.begin, range.end, layout_.row_of(range.node));
    for (std::size_t i = 0; i < work_end_.size(); ++i)
      if (work_end_[i] != lost_time)
        sweep.add_launch(source_.launches[i].thread, source_.launches[i].begin, work_end_[i]);
    sweep.run([this](std::uint32_t row, std::int64_t span) {
      rows_[row].span_ns = add_saturated(rows_[row].span_ns, span);
    });
  }

  /// All but the captured kernels, whose totals are not sums.
  static void add_work(device_work& to, device_work const& from) noexcept {
    to.launches += from.launches;
    to.launch_ns = add_saturated(to.launch_ns, from.launch_ns);
    to.kernels += from.kernels;
    to.kernel_ns = add_saturated(to.kernel_ns, from.kernel_ns);
    to.copies += from.copies;
    to.copy_ns = add_saturated(to.copy_ns, from.copy_ns);
    to.host_to_device_bytes += from.host_to_device_bytes;
    to.device_to_host_bytes += from.device_to_host_bytes;
    to.device_to_device_bytes += from.device_to_device_bytes;
    to.other_bytes += from.other_bytes;
    to.set_bytes += from.set_bytes;
    to.synchronizations += from.synchronizations;
    to.synchronization_ns = add_saturated(to.synchronization_ns, from.synchronization_ns);
    to.allocations += from.allocations;
    to.allocated_bytes += from.allocated_bytes;
    to.releases += from.releases;
    to.released_bytes += from.released_bytes;
  }

  void sum_subtrees() {
    vec<std::int64_t> below(rows_.size(), 0);      // host time of the children
    vec<std::int64_t> elsewhere(rows_.size(), 0);  // host time of calls not in the parent's
    for (inherited_time const& each : source_.inherited) {
      if (!layout_.has_own_row(each.node)) continue;
      for (std::int64_t* const sum :
           {&elsewhere[layout_.row_of(each.node)], &below[layout_.row_of(each.from)]})
        *sum = add_saturated(*sum, each.total);
    }
    for (std::size_t i = rows_.size(); i-- > 0;) {
      range_row& row = rows_[i];
      add_work(row.total, row.self);
      // Recursion at the depth limit can make the children's time exceed their parent's.
      row.host_self_ns = row.host_total_ns > below[i] ? row.host_total_ns - below[i] : 0;
      if (i == 0) return;
      std::uint32_t const parent = layout_.parent(static_cast<std::uint32_t>(i));
      add_work(rows_[parent].total, row.total);
      std::int64_t const apart = (std::min)(elsewhere[i], row.host_total_ns);
      below[parent] = add_saturated(below[parent], row.host_total_ns - apart);
    }
  }

  static bool has_data(range_row const& row) noexcept {
    device_work const& work = row.self;
    return row.host.count() != 0 || work.launches != 0 || work.kernels != 0 || work.copies != 0 ||
           work.synchronizations != 0 || work.allocations != 0 || work.releases != 0 ||
           work.graph_kernels != 0;
  }

  /// Moves the rows that stay together, keeping their order.
  void drop_empty_rows(vec<std::uint32_t>& row_of_node) {
    vec<bool> stays(rows_.size(), false);
    for (counter_set const& set : source_.counter_sets) {
      if (set.method == counting::while_running) continue;  // its ranges are recorded
      for (counter_value const& counted : set.values) stays[layout_.row_of(counted.node)] = true;
    }
    for (std::size_t i = rows_.size(); --i > 0;) {
      if (has_data(rows_[i])) stays[i] = true;
      if (stays[i]) stays[layout_.parent(static_cast<std::uint32_t>(i))] = true;
    }
    vec<std::uint32_t> moved_to(rows_.size(), 0);
    std::uint32_t count = 1;
    for (std::uint32_t i = 0; i < rows_.size(); ++i) {
      std::uint32_t const parent = moved_to[layout_.parent(i)];
      moved_to[i] = i == 0 ? 0 : stays[i] ? count++ : parent;
      if (i != 0 && !stays[i]) continue;
      rows_[i].node = rows_[i].path_id = layout_.first_node(i);
      rows_[i].parent = parent;
      if (moved_to[i] == i) continue;
      rows_[moved_to[i]] = std::move(rows_[i]);
      details_[moved_to[i]] = details_[i];
    }
    rows_.resize(count);
    row_of_node.resize(layout_.nodes());
    for (std::uint32_t node = 0; node < row_of_node.size(); ++node)
      row_of_node[node] = moved_to[layout_.row_of(node)];
  }

  std::string name_of(std::uint32_t node) const {
    std::uint32_t const name = source_.nodes[node].name;
    return name < source_.names.size() ? source_.names[name] : "[unknown]";
  }

  /// Names and texts, once the rows stand where they stay.
  void describe_rows() {
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      range_row& row = rows_[i];
      details_[i].describe(row, source_);
      if (i == 0) continue;
      range_row const& above = rows_[row.parent];
      row.depth = above.depth + 1;
      row.name = name_of(row.node);
      row.path = above.path;
      if (row.parent != 0) row.path += '/';
      row.path += row.name;
      if (row.index == any_index)
        row.path += "[*]";
      else if (row.index != no_index)
        row.path += '[' + std::to_string(row.index) + ']';
    }
  }

  profile const& source_;
  row_layout layout_;
  launch_index launches_;
  vec<range_row> rows_;  ///< in the order of the layout until the empty ones are dropped
  vec<row_details> details_;
  vec<interval> intervals_;
  vec<std::int64_t> work_end_;  ///< of each launch, when the last of its work ended
};

}  // namespace detail

/// Whether siblings of one name are one row: `block[0]`, `block[1]`, ... as `block[*]`.
enum class folding : std::uint8_t { none, by_name };

/// The ranges of a profile as a tree with their cost, from records that lie in any order.
/// Rows are the ranges that `only=` selects, have data in themselves or below, or are above one of
/// these. Work of a range without a row is in the row of the nearest range above that has one; its
/// calls are in none.
class call_tree {
 public:
  /// Cost: O(r log r) for r records, plus the depth of the tree for each kernel.
  explicit call_tree(profile const& source, folding mode = folding::none);

  vec<range_row> const& rows() const noexcept { return rows_; }

  /// Position of the row that holds the work of a profile's node; the root's for unknown nodes.
  std::uint32_t position_of(std::uint32_t node) const noexcept {
    return node < row_of_node_.size() ? row_of_node_[node] : 0;
  }
  range_row const& row_of(std::uint32_t node) const noexcept { return rows_[position_of(node)]; }

 private:
  vec<range_row> rows_;
  vec<std::uint32_t> row_of_node_;
};

inline call_tree::call_tree(profile const& source, folding mode) {
  detail::call_tree_builder builder(source, mode == folding::by_name);
  builder.build(rows_, row_of_node_);
}

STRATA_END

#endif  // STRATA_ANALYSE_CALL_TREE_HPP
