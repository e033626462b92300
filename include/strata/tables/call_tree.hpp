#ifndef STRATA_TABLES_CALL_TREE_HPP
#define STRATA_TABLES_CALL_TREE_HPP

#include <strata/profile/range_paths.hpp>
#include <strata/tables/work_parts.hpp>

STRATA_BEGIN
namespace detail {

/// Which of some records runs at a time: of several the one that began last.
template <class Record>
class running_records {
 public:
  explicit running_records(vec<Record> records) : all_(std::move(records)) {
    all_.sort([](Record const& a, Record const& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
    });
  }

  /// Null if none runs. Requires: times ascend from call to call.
  Record const* running_at(std::int64_t time) {
    for (; next_ < all_.size() && all_[next_].begin <= time; ++next_) open_.push_back(next_);
    while (!open_.empty() && all_[open_.back()].end <= time) open_.pop_back();
    return open_.empty() ? nullptr : &all_[open_.back()];
  }

 private:
  vec<Record> all_;
  std::size_t next_ = 0;   // the first one that has not begun
  vec<std::size_t> open_;  // in the order of their begins; those below the last may be over
};

/// Joins migrations and faults of managed memory to ranges, by time, since no call stands behind
/// them: to the range whose kernel runs on the device as one begins, else to the innermost range of
/// the thread that drives the steps.
class migration_places {
 public:
  explicit migration_places(profile const& source) : source_(source) {}

  /// Calls take(migration, node) for each, in no order.
  /// Cost: O(r log r) for r migrations, kernels and ranges; nothing without migrations.
  template <class Take>
  void for_each(Take take) const {
    if (source_.migrations.empty()) return;
    vec<migration_record> all = source_.migrations;
    all.sort([](migration_record const& a, migration_record const& b) {
      return a.device != b.device ? a.device < b.device : a.begin < b.begin;
    });
    vec<kernel_record> const known = known_kernels();
    vec<migration_record> rest;
    for (std::size_t i = 0; i < all.size();) {
      std::uint32_t const device = all[i].device;
      running_records<kernel_record> kernels(kernels_of(known, device));
      for (; i < all.size() && all[i].device == device; ++i) {
        if (kernel_record const* const kernel = kernels.running_at(all[i].begin)) {
          take(all[i], kernel->node);
        } else {
          rest.push_back(all[i]);
        }
      }
    }
    sort_by_time(rest);
    running_records<range_record> ranges(ranges_of_steps());
    for (migration_record const& one : rest) {
      range_record const* const range = ranges.running_at(one.begin);
      take(one, range == nullptr ? root_node : range->node);
    }
  }

 private:
  /// Those with times, in the order of their devices.
  vec<kernel_record> known_kernels() const {
    vec<kernel_record> known;
    for (kernel_record const& kernel : source_.kernels)
      if (kernel.begin != lost_time) known.push_back(kernel);
    known.sort([](kernel_record const& a, kernel_record const& b) { return a.device < b.device; });
    return known;
  }
  static vec<kernel_record> kernels_of(vec<kernel_record> const& known, std::uint32_t device) {
    vec<kernel_record> own;
    std::size_t const first =
        known.count_first([device](kernel_record const& other) { return other.device < device; });
    for (std::size_t i = first; i < known.size() && known[i].device == device; ++i)
      own.push_back(known[i]);
    return own;
  }

  vec<range_record> ranges_of_steps() const {
    std::uint32_t const thread = source_.steps.empty() ? 0 : source_.steps[0].thread;
    vec<range_record> own;
    for (range_record const& range : source_.ranges)
      if (range.thread == thread) own.push_back(range);
    return own;
  }

  profile const& source_;
};

/// How much of a call lies in steps that began and ended during it.
class steps_within {
 public:
  /// `without`: a step that is left out, or no_step.
  steps_within(profile const& source, std::uint32_t without) {
    if (!source.has_steps) return;
    for (step_record const& step : source.steps)
      if (step.step != without) steps_.push_back({step.begin, step.end, 0});
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

/// The parts of the rows' calls that lie in steps, in all of them and without the first one.
class call_parts {
 public:
  call_parts(profile const& source, row_layout const& layout, vec<range_row>& rows)
      : source_(source), layout_(layout), rows_(rows) {
    if (source.has_steps) first_step_ = source.first_recorded_step();
    steps_.emplace(source, no_step);
    typical_.emplace(source, first_step_);
    calls_.resize(rows.size(), step_part{0.0, 0.0});
    times_.resize(rows.size(), step_part{0.0, 0.0});
  }

  bool is_first(std::uint32_t step) const noexcept {
    return step != no_step && step == first_step_;
  }
  /// A call of a row; those in the first step are marked, and rows that lie around steps.
  void add(std::uint32_t index, range_record const& range, std::int64_t duration) {
    range_row& row = rows_[index];
    step_part part{1.0, is_first(range.step) ? 0.0 : 1.0};
    if (range.step == no_step) part = {steps_->share(range), typical_->share(range)};
    if (range.step == no_step && part.in_steps > 0.0) row.around_steps = true;
    calls_[index].add(part, 1.0);
    times_[index].add(part, static_cast<double>(duration));
    if (!is_first(range.step)) return;
    ++row.first_step_calls;
    row.first_step_host_ns = add_saturated(row.first_step_host_ns, duration);
  }
  /// The parts of the calls, which device work has too until its own are known. Requires: all were
  /// added, to the rows too.
  void find() {
    if (!source_.has_steps) return;
    rows_[0].step_call_share = rows_[0].step_host_share = work().of_launches();
    for (std::size_t i = 1; i < rows_.size(); ++i) {
      range_row& row = rows_[i];
      row.step_call_share.set(calls_[i], static_cast<double>(row.host.count()));
      row.step_host_share = row.step_call_share;
      row.step_host_share.set(times_[i], static_cast<double>(row.host_total_ns));
    }
    for (range_row& row : rows_) {
      row.step_share = row.step_call_share.in_steps;
      row.step_work_share = row.step_self_share = row.step_busy_share = row.step_call_share;
      row.step_launch_share = row.step_self_launch_share = row.step_call_share;
      row.step_launch_time_share = row.step_self_launch_time_share = row.step_call_share;
    }
  }
  /// Those of the device work.
  work_parts work() const noexcept { return {source_, layout_, first_step_}; }

 private:
  profile const& source_;
  row_layout const& layout_;
  vec<range_row>& rows_;
  std::uint32_t first_step_ = no_step;
  maybe<steps_within> steps_;
  maybe<steps_within> typical_;  ///< without the first one
  vec<step_part> calls_;
  vec<step_part> times_;  ///< of the calls
};

/// The time of calls in threads that drive no step, while others drive them.
class calls_beside_steps {
 public:
  calls_beside_steps(profile const& source, std::size_t rows)
      : source_(source), threads_(rows, none) {
    for (step_record const& step : source.steps) stepping_[step.thread] = true;
  }

  void add(std::uint32_t index, range_row& row, range_record const& range, std::int64_t duration) {
    bool const is_beside = !source_.steps.empty() && stepping_.find(range.thread) == nullptr;
    if (!is_beside) return;
    row.other_threads_ns = add_saturated(row.other_threads_ns, duration);
    bool const is_first = threads_[index] == none;
    threads_[index] = is_first || threads_[index] == range.thread ? range.thread : several;
  }
  /// Names the thread of rows whose calls are all outside steps. Requires: all were added.
  void name_threads(vec<range_row>& rows) const {
    number_map<profile_thread const*> named;
    for (std::size_t i = source_.threads.size(); i-- > 0;)
      if (!source_.threads[i].name.empty()) named[source_.threads[i].ordinal] = &source_.threads[i];
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (threads_[i] == none || rows[i].other_threads_ns != rows[i].host_total_ns) continue;
      profile_thread const* const* const known = named.find(threads_[i]);
      rows[i].thread = threads_[i] == several ? std::string("other threads")
                       : known != nullptr     ? "thread " + (*known)->name
                                              : sentence("thread ") << threads_[i];
    }
  }

 private:
  static constexpr std::uint32_t none = 0xffffffff;
  static constexpr std::uint32_t several = 0xfffffffe;

  profile const& source_;
  vec<std::uint32_t> threads_;  ///< by row, of the calls outside steps
  number_map<bool> stepping_;
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
    add_summed_calls();
    add_messages();
    beside_.name_threads(rows_);
    add_device_work();
    add_subtrees();
    for (range_row& row : rows_) row.self_launches_run = static_cast<double>(row.self.launches);
    parts_.work().find(rows_);
    sum_spans();
    add_migrations();
    sum_subtrees();
    for (auto row = static_cast<std::uint32_t>(rows_.size()); row-- > 0;) {
      rows_[row].launches_run += rows_[row].self_launches_run;
      if (row > 0) rows_[layout_.parent(row)].launches_run += rows_[row].launches_run;
    }
    find_own_other_times();
    drop_empty_rows(row_of_node);
    describe_rows();
    rows = std::move(rows_);
  }

 private:
  void add_calls() {
    captured_calls const calls(source_);
    for (range_record const& range : source_.ranges) {
      if (!layout_.has_own_row(range.node)) continue;
      std::uint32_t const index = layout_.row_of(range.node);
      range_row& row = rows_[index];
      std::int64_t const duration = elapsed(range.begin, range.end);
      parts_.add(index, range, duration);
      beside_.add(index, row, range, duration);
      row.host.add(duration);
      row.host_total_ns = add_saturated(row.host_total_ns, duration);
      if (range.attribute == no_reference) continue;
      details_[index].add(row, source_, range, !calls.only_captured(range),
                          parts_.is_first(range.step));
    }
    parts_.find();
  }

  void add_summed_calls() {
    for (overflow_sums const& summed : source_.summed_ranges) {
      if (!layout_.has_own_row(summed.node)) continue;
      range_row& row = rows_[layout_.row_of(summed.node)];
      row.host.add(summed.durations);
      row.host_total_ns = add_saturated(row.host_total_ns, whole_ns(summed.durations.sum()));
      if (summed.flops != 0.0) row_details::add_given(row.flops, summed.flops);
      if (summed.bytes != 0.0) row_details::add_given(row.bytes, summed.bytes);
      if (summed.tokens != 0.0) row_details::add_given(row.tokens, summed.tokens);
    }
  }

  /// The bytes of NCCL's own ranges are those of messages, and no traffic that the range declares.
  void add_messages() {
    for (std::size_t i = rows_.size(); i-- > 0;) {
      range_row& row = rows_[i];
      std::uint32_t const node = layout_.first_node(static_cast<std::uint32_t>(i));
      if (i != 0 && begins_with(name_of(node), nccl_domain)) {
        row_details::add_given(row.collective_bytes, row.bytes);
        row.bytes = std::numeric_limits<double>::quiet_NaN();
        row.first_step_bytes = 0.0;
      }
      if (i != 0)
        row_details::add_given(
            rows_[layout_.parent(static_cast<std::uint32_t>(i))].collective_bytes,
            row.collective_bytes);
    }
  }

  void add_device_work() {
    for (std::uint32_t node = 0; node < sums_.nodes.size(); ++node)
      rows_[layout_.row_of(node)].self.add(sums_.nodes[node]);
    for (graph_kernel_sums const& sums : sums_.graph_kernels) {
      std::uint32_t const launching = layout_.row_of(sums.launched_by);
      std::uint32_t const capturing = layout_.row_of(sums.captured_by);
      if (capturing == launching) continue;
      add_graph_kernels(rows_[capturing].self, sums);
      rows_[capturing].captured.push_back({launching, sums.kernel_ns});
      for (std::uint32_t row = capturing; !layout_.contains(row, launching);
           row = layout_.parent(row))
        add_graph_kernels(rows_[row].total, sums);
    }
    for (range_row& row : rows_) merge_captured(row.captured);
  }
  static void add_graph_kernels(device_work& work, graph_kernel_sums const& more) noexcept {
    work.graph_kernels += more.kernels;
    work.graph_kernel_ns = add_saturated(work.graph_kernel_ns, more.kernel_ns);
  }
  /// One for each launching row.
  static void merge_captured(vec<captured_work>& works) {
    works.sort([](captured_work const& a, captured_work const& b) {
      return a.launching_row < b.launching_row;
    });
    std::size_t kept = 0;
    for (captured_work const work : works) {
      bool const is_same = kept > 0 && works[kept - 1].launching_row == work.launching_row;
      if (!is_same) works[kept++] = {work.launching_row, 0};
      works[kept - 1].kernel_ns = add_saturated(works[kept - 1].kernel_ns, work.kernel_ns);
    }
    works.resize(kept);
  }

  /// What a row did together with all below it.
  void add_subtrees() {
    subtree_sums const& sums = fold_ ? sums_.by_family : sums_.by_node;
    for (std::uint32_t row = 0; row < rows_.size(); ++row) {
      std::uint32_t const node = layout_.first_node(row);
      if (node >= sums_.nodes.size()) continue;
      std::uint32_t const position = fold_ ? sums_.family_of_node[node] : node;
      range_row& range = rows_[row];
      range.gpu_busy_ns = sums.times[position].busy_ns;
      range.peak_bytes = sums.times[position].peak_bytes;
      if (sums.devices.empty() && is_counted(sums.only_device))
        range.device_busy_ns = range.gpu_busy_ns;
      for (device_busy const& busy : sums.devices)
        if (is_counted(busy.device))
          range.device_busy_ns = add_saturated(range.device_busy_ns, busy.ns[position]);
    }
  }
  /// Whether counters of the GPU were counted on a device, or on none.
  bool is_counted(std::uint32_t device) const noexcept {
    bool any = false;
    for (counter_set const& set : source_.counter_sets) {
      if (set.method == counting::while_running) continue;
      for (std::uint32_t const counted : set.devices) {
        if (counted == device) return true;
        any = true;
      }
    }
    return !any;
  }

  /// When the last kernel or copy of each launch of the timeline ended.
  vec<std::int64_t> work_ends() const {
    vec<std::int64_t> ends(source_.launches.size(), lost_time);
    launch_index(source_).visit_work([&ends](auto const& record, std::uint32_t launch) {
      ends[launch] = larger(ends[launch], larger(record.begin, record.end));
    });
    return ends;
  }

  /// The thread of the range that a launch belongs to: one thread drives the steps.
  std::uint32_t range_thread(driver_call_record const& launch) const noexcept {
    bool const adopted =
        (launch.flags & driver_call_record::adopted) != 0 && !source_.steps.empty();
    return adopted ? source_.steps.back().thread : launch.thread;
  }

  void sum_spans() {
    if (!source_.has_whole_timeline()) return;
    vec<std::int64_t> const ends = work_ends();
    auto const launch_at = [&](std::size_t i) {
      driver_call_record const& launch = source_.launches[i];
      return span_sweep::launch{launch.begin, ends[i], range_thread(launch)};
    };
    span_sweep(layout_).run(source_.ranges, ends.size(), launch_at,
                            [this](std::uint32_t row, std::int64_t span) {
                              rows_[row].span_ns = add_saturated(rows_[row].span_ns, span);
                            });
  }

  void add_migrations() {
    migration_places(source_).for_each([this](migration_record const& one, std::uint32_t node) {
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
  static void add_migrations_below(range_row& row, range_row const& from) noexcept {
    row.migrated_to_device_bytes += from.migrated_to_device_bytes;
    row.migrated_to_host_bytes += from.migrated_to_host_bytes;
    row.gpu_page_faults += from.gpu_page_faults;
    row.migration_ns = add_saturated(row.migration_ns, from.migration_ns);
  }

  void sum_subtrees() {
    vec<std::int64_t> below(rows_.size(), 0);      // host time of the children
    vec<std::int64_t> elsewhere(rows_.size(), 0);  // host time of calls not in the parent's
    vec<step_part> below_in_steps(rows_.size(), step_part{0.0, 0.0});
    for (inherited_time const& time : source_.inherited) {
      if (!layout_.has_own_row(time.node)) continue;
      for (std::int64_t* const sum :
           {&elsewhere[layout_.row_of(time.node)], &below[layout_.row_of(time.from)]})
        *sum = add_saturated(*sum, time.total);
      below_in_steps[layout_.row_of(time.from)].add(
          rows_[layout_.row_of(time.node)].step_host_share, static_cast<double>(time.total));
    }
    for (std::size_t i = rows_.size(); i-- > 0;) {
      range_row& row = rows_[i];
      row.total.add(row.self);
      // Recursion at the depth limit can make the children's time exceed their parent's.
      row.host_self_ns = row.host_total_ns > below[i] ? row.host_total_ns - below[i] : 0;
      row.step_host_self_share = row.step_host_share;
      step_part own{0.0, 0.0};
      own.add(row.step_host_share, static_cast<double>(row.host_total_ns));
      own.add(below_in_steps[i], -1.0);
      row.step_host_self_share.set(own, static_cast<double>(row.host_self_ns));
      if (i == 0) return;
      std::uint32_t const parent = layout_.parent(static_cast<std::uint32_t>(i));
      rows_[parent].total.add(row.total);
      add_migrations_below(rows_[parent], row);
      std::int64_t const apart = smaller(elsewhere[i], row.host_total_ns);
      below[parent] = add_saturated(below[parent], row.host_total_ns - apart);
      below_in_steps[parent].add(row.step_host_share,
                                 static_cast<double>(row.host_total_ns - apart));
    }
  }

  /// The time of the calls outside steps without the ranges below in the same thread.
  void find_own_other_times() {
    vec<std::int64_t> below(rows_.size(), 0);
    vec<std::int64_t> elsewhere(rows_.size(), 0);  // in threads that inherited the place above
    for (inherited_time const& time : source_.inherited) {
      if (!layout_.has_own_row(time.node)) continue;
      for (std::int64_t* const sum :
           {&elsewhere[layout_.row_of(time.node)], &below[layout_.row_of(time.from)]})
        *sum = add_saturated(*sum, time.total);
    }
    for (std::size_t i = rows_.size(); --i > 0;) {
      range_row& row = rows_[i];
      std::int64_t const own = larger(std::int64_t{0}, row.other_threads_ns - below[i]);
      row.other_threads_self_ns = smaller(own, row.host_self_ns);
      std::uint32_t const parent = layout_.parent(static_cast<std::uint32_t>(i));
      std::int64_t const apart = smaller(elsewhere[i], row.other_threads_ns);
      below[parent] = add_saturated(below[parent], row.other_threads_ns - apart);
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
      if (set.method != counting::passes) continue;  // its ranges are recorded
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
    for (range_row& row : rows_)
      for (captured_work& work : row.captured) work.launching_row = moved_to[work.launching_row];
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
    vec<path_end> ends(rows_.size());
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      range_row& row = rows_[i];
      details_[i].describe(row, source_);
      if (i == 0) continue;
      range_row const& above = rows_[row.parent];
      row.depth = above.depth + 1;
      row.name = name_of(row.node);
      row.is_many = above.is_many || is_stand_in(row.name);
      row.path =
          path_below(above.path, ends[row.parent], name_with_index(row.name, row.index), ends[i]);
    }
  }

  profile const& source_;
  bool fold_;
  row_layout layout_;
  device_sums made_;  ///< where the profile has none
  device_sums const& sums_;
  vec<range_row> rows_;  ///< in the order of the layout until the empty ones are dropped
  vec<row_details> details_;
  call_parts parts_{source_, layout_, rows_};
  calls_beside_steps beside_{source_, layout_.rows()};
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
  /// Of each row the position of its work in another tree of the same profile.
  vec<std::uint32_t> positions_in(call_tree const& other) const {
    vec<std::uint32_t> positions;
    for (range_row const& row : rows_) positions.push_back(other.position_of(row.node));
    return positions;
  }

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
