#include <strata/version.hpp>
#ifndef STRATA_TABLES_CALL_TREE_HPP
#define STRATA_TABLES_CALL_TREE_HPP

#include <strata/base/containers.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/text.hpp>
#include <strata/base/vec.hpp>
#include <strata/base/vocabulary.hpp>
#include <strata/profile.hpp>
#include <strata/profile/device_summing.hpp>
#include <strata/profile/records.hpp>
#include <strata/profile/sums.hpp>
#include <strata/tables/migrations.hpp>
#include <strata/tables/range_rows.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

STRATA_BEGIN
namespace detail {

/// Which call into the driver caused the work of a record.
/// Cost: O(l) for l launches, whose correlation ids are dense; O(1) a question.
class launch_index {
 public:
  static constexpr std::uint32_t none = 0xffffffffu;

  explicit launch_index(profile const& source) {
    if (source.launches.empty()) return;
    std::uint32_t last = 0;
    first_ = none;
    for (launch_record const& each : source.launches) {
      first_ = smaller(first_, each.correlation);
      last = larger(last, each.correlation);
    }
    std::size_t const ids = std::size_t{last} - first_ + 1;
    is_dense_ = ids / 8 <= source.launches.size();
    if (is_dense_) positions_.resize(ids, none);
    for (std::size_t i = 0; i < source.launches.size(); ++i) {
      launch_record const& each = source.launches[i];
      if (!each.causes_work()) continue;
      auto const position = static_cast<std::uint32_t>(i);
      if (is_dense_) {
        positions_[each.correlation - first_] = position;
      } else {
        sparse_[each.correlation] = position;
      }
    }
  }

  /// Position in profile::launches, or none.
  std::uint32_t launch_of(std::uint32_t correlation) const noexcept {
    if (is_dense_)
      return correlation - first_ < positions_.size() ? positions_[correlation - first_] : none;
    std::uint32_t const* const found = sparse_.find(correlation);
    return found == nullptr ? none : *found;
  }

 private:
  std::uint32_t first_ = 0;
  bool is_dense_ = false;
  vec<std::uint32_t> positions_;  ///< by correlation - first_
  number_map<std::uint32_t> sparse_;
};

/// The sums over the device work of a profile that has only records; empty where it has none.
inline device_sums sum_records(profile const& source) {
  device_sums sums;
  if (source.launches.empty() && source.kernels.empty() && source.copies.empty() &&
      source.memory.empty() && source.synchronizations.empty())
    return sums;
  device_summing summing(sums);
  for (std::size_t i = 1; i < source.nodes.size(); ++i) {
    profile_node const& node = source.nodes[i];
    summing.add_node(node.parent < i ? node.parent : root_node, node.name);
  }
  for (profile_device const& each : source.environment.devices)
    summing.describe_device(each.ordinal, each.multiprocessors);
  for (profile_context const& context : source.contexts) summing.describe_context(context);
  for (launch_record const& each : source.launches)
    if (is_work(each.kind)) summing.add_launches(each.node, 1, elapsed(each.begin, each.end));
  vec<kernel_record> kernels = source.kernels;
  vec<copy_record> copies = source.copies;
  vec<memory_record> memory = source.memory;
  sort_by_time(kernels);
  sort_by_time(copies);
  sort_by_time(memory);
  add_by_time(kernels, kernels.size(), copies, copies.size(),
              [&](auto const& each) { summing.add(each); });
  for (memory_record const& each : memory) summing.add(each);
  for (synchronization_record const& each : source.synchronizations) summing.add(each);
  summing.finish(1.0);
  return sums;
}

/// Which calls of ranges only captured work into a graph, and did not do it.
/// Cost: two sorts of the launches, nothing where none was captured; O(log n) a question.
class captured_calls {
 public:
  explicit captured_calls(profile const& source) {
    for (launch_record const& launch : source.launches)
      if (launch.only_captured() && is_work(launch.kind)) captured_.push_back(moment_of(launch));
    if (captured_.empty()) return;
    for (launch_record const& launch : source.launches)
      if (launch.causes_work() && is_work(launch.kind)) worked_.push_back(moment_of(launch));
    captured_.sort();
    worked_.sort();
  }

  bool only_captured(range_record const& range) const noexcept {
    return within(captured_, range) && !within(worked_, range);
  }

 private:
  using moment = pair<std::uint32_t, std::int64_t>;  ///< thread and time

  static moment moment_of(launch_record const& launch) noexcept {
    return {launch.thread, launch.begin};
  }

  static bool within(vec<moment> const& moments, range_record const& range) noexcept {
    moment const wanted{range.thread, range.begin};
    moment const* const at =
        moments.begin() + moments.count_first([&](moment const& each) { return each < wanted; });
    return at != moments.end() && at->first == range.thread && at->second <= range.end;
  }

  vec<moment> captured_;
  vec<moment> worked_;
};

/// How much of a call lies in steps that began and ended during it.
class steps_within {
 public:
  explicit steps_within(profile const& source) {
    if (!source.has_steps) return;
    for (step_record const& step : source.steps) steps_.push_back({step.begin, step.end, 0});
    steps_.sort([](span const& a, span const& b) { return a.begin < b.begin; });
    std::int64_t sum = 0;
    for (span& step : steps_) {
      step.before = sum;
      sum = add_saturated(sum, elapsed(step.begin, step.end));
    }
  }

  /// From 0 to 1.
  double share(range_record const& call) const noexcept {
    std::size_t const first =
        steps_.count_first([&](span const& step) { return step.begin < call.begin; });
    std::size_t const behind =
        steps_.count_first([&](span const& step) { return step.end <= call.end; });
    if (first >= behind) return 0.0;
    span const& last = steps_[behind - 1];
    std::int64_t const inside = last.before - steps_[first].before + elapsed(last.begin, last.end);
    std::int64_t const whole = elapsed(call.begin, call.end);
    return inside < whole ? static_cast<double>(inside) / static_cast<double>(whole) : 1.0;
  }

 private:
  struct span {
    std::int64_t begin;
    std::int64_t end;
    std::int64_t before;  ///< time in the steps before
  };
  vec<span> steps_;
};

/// Fills a row for every place in the tree, then drops those that have nothing to say.
class call_tree_builder {
 public:
  call_tree_builder(profile const& source, bool fold)
      : source_(source),
        fold_(fold),
        layout_(source, fold),
        made_(source.device.complete ? device_sums() : sum_records(source)),
        sums_(source.device.complete ? source.device : made_),
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
    add_device_work();
    add_subtrees();
    sum_spans();
    add_migrations();
    sum_subtrees();
    drop_empty_rows(row_of_node);
    describe_rows();
    rows = std::move(rows_);
  }

 private:
  void add_calls() {
    captured_calls const calls(source_);
    std::uint32_t first_step = no_step;
    for (range_record const& range : source_.ranges) first_step = smaller(first_step, range.step);
    steps_within const steps(source_);
    vec<double> outside(rows_.size(), 0.0);  // calls in no step
    for (range_record const& range : source_.ranges) {
      if (!layout_.has_own_row(range.node)) continue;
      std::uint32_t const at = layout_.row_of(range.node);
      range_row& row = rows_[at];
      if (range.step == no_step) {
        double const within = steps.share(range);
        outside[at] += 1.0 - within;
        if (within > 0.0) row.around_steps = true;
      }
      std::int64_t const duration = elapsed(range.begin, range.end);
      row.host.add(duration);
      row.host_total_ns = add_saturated(row.host_total_ns, duration);
      bool const in_first_step =
          source_.has_steps && range.step == first_step && first_step != no_step;
      if (in_first_step) {
        ++row.first_step_calls;
        row.first_step_host_ns = add_saturated(row.first_step_host_ns, duration);
      }
      if (range.attribute == no_reference) continue;
      details_[at].add(row, source_, range, !calls.only_captured(range), in_first_step);
    }
    rows_[0].step_share = share_in_steps();
    for (std::size_t i = 1; source_.has_steps && i < rows_.size(); ++i)
      if (auto const kept = static_cast<double>(rows_[i].host.count()); kept > 0.0)
        rows_[i].step_share = larger(0.0, 1.0 - outside[i] / kept);
    add_work_shares();
  }

  /// Of rows around steps by the time on the device of what was launched in steps and outside of
  /// them, where that is known; else by the number of launches.
  void add_work_shares() {
    bool any = false;
    for (range_row& row : rows_) {
      row.step_work_share = row.step_self_share = row.step_share;
      any = any || row.around_steps;
    }
    if (!any) return;
    vec<double> const weights = work_times();
    vec<double> all(rows_.size(), 0.0);
    vec<double> in_steps(rows_.size(), 0.0);
    for (std::size_t i = 0; i < source_.launches.size(); ++i) {
      launch_record const& launch = source_.launches[i];
      if (!launch.causes_work() || !is_work(launch.kind)) continue;
      std::uint32_t const row = layout_.row_of(launch.node);
      all[row] += weights[i];
      if (launch.step != no_step) in_steps[row] += weights[i];
    }
    for (std::size_t i = 1; i < rows_.size(); ++i)
      if (rows_[i].around_steps && all[i] > 0.0) rows_[i].step_self_share = in_steps[i] / all[i];
    for (std::size_t i = rows_.size(); i-- > 1;) {
      std::uint32_t const parent = layout_.parent(static_cast<std::uint32_t>(i));
      all[parent] += all[i];
      in_steps[parent] += in_steps[i];
      if (rows_[i].around_steps && all[i] > 0.0) rows_[i].step_work_share = in_steps[i] / all[i];
    }
  }
  /// How long the device worked for each launch; 1 of each where the timeline does not say.
  vec<double> work_times() const {
    if (!source_.has_whole_timeline()) return vec<double>(source_.launches.size(), 1.0);
    vec<double> times(source_.launches.size(), 0.0);
    launch_index const launches(source_);
    auto const add = [&](auto const& records) {
      for (auto const& record : records) {
        std::uint32_t const launch = launches.launch_of(record.correlation);
        if (launch != launch_index::none && record.begin != lost_time)
          times[launch] += static_cast<double>(elapsed(record.begin, record.end));
      }
    };
    add(source_.kernels);
    add(source_.copies);
    return times;
  }

  /// The part of the work on the device that was launched in steps.
  double share_in_steps() const noexcept {
    std::uint64_t all = 0;
    std::uint64_t in_steps = 0;
    for (launch_record const& each : source_.launches) {
      if (!source_.has_steps || !each.causes_work() || !is_work(each.kind)) continue;
      ++all;
      if (each.step != no_step) ++in_steps;
    }
    return all == 0 ? 1.0 : static_cast<double>(in_steps) / static_cast<double>(all);
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

  void add_device_work() {
    for (std::uint32_t node = 0; node < sums_.nodes.size(); ++node)
      add_work(rows_[layout_.row_of(node)].self, sums_.nodes[node]);
    for (graph_kernel_sums const& each : sums_.graph_kernels) {
      std::uint32_t const launching = layout_.row_of(each.launched_by);
      std::uint32_t const capturing = layout_.row_of(each.captured_by);
      if (capturing == launching) continue;
      add_graph_kernels(rows_[capturing].self, each);
      for (std::uint32_t row = capturing; !layout_.contains(row, launching);
           row = layout_.parent(row))
        add_graph_kernels(rows_[row].total, each);
    }
  }
  static void add_graph_kernels(device_work& work, graph_kernel_sums const& more) noexcept {
    work.graph_kernels += more.kernels;
    work.graph_kernel_ns = add_saturated(work.graph_kernel_ns, more.kernel_ns);
  }

  /// What a row did together with all below it.
  void add_subtrees() {
    subtree_sums const& sums = fold_ ? sums_.by_family : sums_.by_node;
    for (std::uint32_t row = 0; row < rows_.size(); ++row) {
      std::uint32_t const node = layout_.first_node(row);
      if (node >= sums_.nodes.size()) continue;
      std::uint32_t const place = fold_ ? sums_.family_of_node[node] : node;
      range_row& to = rows_[row];
      to.gpu_busy_ns = sums.times[place].busy_ns;
      to.peak_bytes = sums.times[place].peak_bytes;
      if (sums.devices.empty() && is_counted(sums.only_device)) to.device_busy_ns = to.gpu_busy_ns;
      for (device_busy const& each : sums.devices)
        if (is_counted(each.device))
          to.device_busy_ns = add_saturated(to.device_busy_ns, each.ns[place]);
    }
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

  /// When the last kernel or copy of each launch of the timeline ended.
  vec<std::int64_t> work_ends() const {
    vec<std::int64_t> ends(source_.launches.size(), lost_time);
    launch_index const launches(source_);
    auto const look = [&](auto const& records) {
      for (auto const& each : records) {
        std::uint32_t const launch = launches.launch_of(each.correlation);
        if (launch == launch_index::none || each.begin == lost_time) continue;
        ends[launch] = larger(ends[launch], larger(each.begin, each.end));
      }
    };
    look(source_.kernels);
    look(source_.copies);
    return ends;
  }

  /// The thread of the range that a launch belongs to: one thread drives the steps.
  std::uint32_t range_thread(launch_record const& launch) const noexcept {
    bool const adopted = (launch.flags & launch_record::adopted) != 0 && !source_.steps.empty();
    return adopted ? source_.steps.back().thread : launch.thread;
  }

  void sum_spans() {
    if (!source_.has_whole_timeline()) return;
    span_sweep sweep(layout_);
    sweep.reserve(source_.ranges.size(), source_.launches.size());
    for (range_record const& range : source_.ranges)
      if (layout_.has_own_row(range.node))
        sweep.add_call(range.thread, range.begin, range.end, layout_.row_of(range.node));
    vec<std::int64_t> const ends = work_ends();
    for (std::size_t i = 0; i < ends.size(); ++i)
      if (ends[i] != lost_time)
        sweep.add_launch(range_thread(source_.launches[i]), source_.launches[i].begin, ends[i]);
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
    to.adopted_kernels += from.adopted_kernels;
    to.adopted_ns = add_saturated(to.adopted_ns, from.adopted_ns);
  }

  void add_migrations() {
    migration_places(source_).each([this](migration_record const& one, std::uint32_t node) {
      range_row& row = rows_[layout_.row_of(node)];
      bool const to_device = one.kind == migration_kind::to_device;
      bool const to_host = one.kind == migration_kind::to_host;
      if (to_device) row.migrated_to_device_bytes += one.value;
      if (to_host) row.migrated_to_host_bytes += one.value;
      if (one.kind == migration_kind::gpu_faults) row.gpu_page_faults += one.value;
      if (to_device || to_host || one.kind == migration_kind::between_devices)
        row.migration_ns = add_saturated(row.migration_ns, elapsed(one.begin, one.end));
    });
  }
  static void add_migrations_below(range_row& to, range_row const& from) noexcept {
    to.migrated_to_device_bytes += from.migrated_to_device_bytes;
    to.migrated_to_host_bytes += from.migrated_to_host_bytes;
    to.gpu_page_faults += from.gpu_page_faults;
    to.migration_ns = add_saturated(to.migration_ns, from.migration_ns);
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
      add_migrations_below(rows_[parent], row);
      std::int64_t const apart = smaller(elsewhere[i], row.host_total_ns);
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

  /// Names and texts, once the rows have their places.
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
        row.path += sentence("[") << row.index << ']';
    }
  }

  profile const& source_;
  bool fold_;
  row_layout layout_;
  device_sums made_;  ///< where the profile has none
  device_sums const& sums_;
  vec<range_row> rows_;  ///< in the order of the layout until the empty ones are dropped
  vec<row_details> details_;
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

#endif  // STRATA_TABLES_CALL_TREE_HPP
