#include "run_ranges.hpp"

#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/text.hpp>
#include <strata/tables/steps_summary.hpp>
#include "range_paths.hpp"
#include "run_tables.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

STRATA_BEGIN
namespace detail {

double untimed_launches(call_times const& times) {
  if (!(times.min > 0)) return times.count;
  return times.mean > 0 ? std::max(0.0, times.count - std::round(times.total / times.mean)) : 0.0;
}

namespace {

bool has_number(run_row const& row, std::size_t column) noexcept {
  return column < row.numbers.size() && !is_nan(row.numbers[column]);
}
double number_of(run_row const& row, std::size_t column, double otherwise = 0.0) noexcept {
  return has_number(row, column) ? row.numbers[column] : otherwise;
}

/// Calls whose longest and shortest one is known, but where they were in the first step.
struct known_calls {
  double count = 0;
  double total = 0;
  double squares = 0;  // the sum of their squares
  double shortest = 0;
  double longest = 0;     // 0 where it was in the first step, and is in no sum
  bool has_ends = false;  // whether both are known
};

double squares_of(call_times const& times) {
  if (!(times.count > 0)) return 0;
  return times.deviation * times.deviation * (times.count - 1) +
         times.total * times.total / times.count;
}
known_calls all_calls(call_times const& times) {
  return {times.count, times.total, squares_of(times), times.min, times.max, true};
}

/// Adds the mean of calls, and that without the longest and the shortest one.
void add_calls(step_time& time, known_calls const& calls, double median, double steps) {
  constexpr double fewest = 10;   // calls; chosen
  constexpr double far_away = 5;  // deviations of the others; chosen
  auto const spread_of = [](double count, double total, double squares) {
    return count > 1 ? std::max((squares - total * total / count) / (count - 1), 0.0) : 0;
  };
  double const spread = spread_of(calls.count, calls.total, calls.squares);
  time.mean.add(calls.count, calls.total, spread, steps);
  time.typical_ms += calls.count * median / steps / 1e6;
  time.calls += calls.count;
  bool const has_longest = calls.longest > 0;
  double const kept = calls.count - (has_longest ? 2 : 1);
  double const sum = calls.total - calls.shortest - calls.longest;
  if (!calls.has_ends || !(calls.shortest > 0) || kept < 1 || sum < 0)
    return time.trimmed.add(calls.count, calls.total, spread, steps);
  double const middle = sum / kept;
  double const inner = spread_of(
      kept, sum, calls.squares - calls.shortest * calls.shortest - calls.longest * calls.longest);
  double const farthest = std::max(calls.longest - middle, middle - calls.shortest);
  bool const is_far =
      has_longest && calls.count >= fewest && farthest * farthest > far_away * far_away * inner;
  // Without the ends of even calls the others look more alike than they are.
  time.trimmed.add(calls.count, middle * calls.count, is_far ? inner : spread, steps);
  time.has_far = time.has_far || is_far;
}

/// Adds them without those of the first step.
void add_later(step_time& time, call_times const& times, double steps) {
  known_calls calls = all_calls(times);
  double const first = times.first_count;
  if (calls.count < first || calls.total < times.first_total)
    return add_calls(time, calls, times.median, steps);
  if (first > 0) {
    calls.squares -= times.first_total * times.first_total / first;  // exact for one call
    calls.count -= first;
    calls.total -= times.first_total;
    calls.has_ends = first == 1;
    if (times.first_total >= times.max) calls.longest = 0;
  }
  add_calls(time, calls, times.median, steps - 1);
}

/// Takes a part of calls for all of them. Which of them were the longest and shortest one is not
/// known then.
void keep_part(call_times& times, double part) {
  if (!(part < 1)) return;
  times.count *= part;
  times.total *= part;
  times.min = 0;
}

/// Adds that part of the launches of a kernel.
void add_kernel(step_time& time, call_times times, double part, double steps, bool without_first) {
  time.counted += times.count * part;
  double const untimed = untimed_launches(times) * part;
  keep_part(times, part);
  time.may_lack += untimed;
  if (untimed < times.count) {
    times.count -= untimed;
    time.lack_ms += untimed * times.total / times.count / steps / 1e6;
  } else {
    time.all_lack += untimed;
  }
  if (without_first && times.knows_first) return add_later(time, times, steps);
  add_calls(time, all_calls(times), times.median, steps);
}

template <class Ranges>
auto find_in(Ranges& in, std::string_view path) -> decltype(in.data()) {
  auto const found =
      std::lower_bound(in.begin(), in.end(), path, [](run_range const& range, std::string_view of) {
        return std::string_view(range.path) < of;
      });
  return found != in.end() && found->path == path ? &*found : nullptr;
}

/// The path of the range around a range; "" without one.
std::string_view parent_of(std::string_view path) {
  std::size_t const slash = path.find_last_of('/');
  return path.substr(0, slash == path.npos ? 0 : slash);
}

/// Finds the range that has a path, or the range that the path lies in. Cost: a look-up for each
/// level of the path.
class path_index {
 public:
  explicit path_index(std::vector<run_range>& ranges) {
    for (run_range& range : ranges) ranges_.emplace(range.path, &range);
  }
  /// The innermost of those around a path; `itself`: the range of this path comes first.
  run_range* around(std::string_view path, bool itself) const {
    if (!itself) path = parent_of(path);
    for (; !path.empty(); path = parent_of(path))
      if (auto const found = ranges_.find(path); found != ranges_.end()) return found->second;
    return nullptr;
  }

 private:
  std::unordered_map<std::string_view, run_range*> ranges_;
};

}  // namespace

run_ranges::run_ranges(run_tables const& tables) : tables_(&tables) {
  for (run_step const& step : tables.steps) {
    steps_ms.push_back(step.ns / 1e6);
    step_numbers.push_back(step.number);
  }
  for (std::size_t i = 0; i < tables.columns.size(); ++i) columns_.emplace(tables.columns[i], i);
  add_ranges();
  add_kernels();
  add_counted();
  fold();
  take_means();
}

bool run_ranges::knows_periods() const {
  return std::none_of(tables_->steps.begin(), tables_->steps.end(),
                      [](run_step const& step) { return is_nan(step.period_ns); });
}

void run_ranges::take_periods() {
  for (std::size_t i = 0; i < steps_ms.size(); ++i) steps_ms[i] = tables_->steps[i].period_ns / 1e6;
}

double run_ranges::in_steps(run_row const& row) const {
  std::size_t const share = column("step_share");
  return has_number(row, share) && !steps_ms.empty() ? std::clamp(row.numbers[share], 0.0, 1.0) : 1;
}

void run_ranges::add_ranges() {
  for (run_row const& row : tables_->ranges) {
    if (row.path.empty()) continue;  // the root
    if (is_in_stand_in(row.path)) {
      if (is_stand_in(row.path.substr(row.path.find_last_of('/') + 1)))
        stand_ins.push_back(row.path);
      continue;
    }
    run_range range;
    range.path = row.path;
    range.rows.push_back(&row);
    range.counted.resize(tables_->counters.size());
    auto const number = [&](std::string_view name, double otherwise = 0) {
      return number_of(row, column(name), otherwise);
    };
    call_times times;
    times.count = number("calls");
    times.total = number("host_total_ns");
    times.deviation = number("host_stddev_ns");
    times.median = number("host_p50_ns");
    times.min = number("host_min_ns");
    times.max = number("host_max_ns");
    times.first_count = number("first_step_calls");
    times.first_total = number("first_step_host_ns");
    range.once = times.count > 0 && in_steps(row) == 0;
    if (!range.once) keep_part(times, in_steps(row));
    range.host.counted = times.count;
    if (without_first() && !range.once)
      add_later(range.host, times, steps());
    else
      add_calls(range.host, all_calls(times), times.median, steps_of(range));
    all.push_back(std::move(range));
  }
  auto const path_of = [](run_range const& range) -> std::string_view { return range.path; };
  std::stable_sort(all.begin(), all.end(),
                   [&](run_range const& a, run_range const& b) { return path_of(a) < path_of(b); });
  auto const same = [&](run_range const& a, run_range const& b) {
    return path_of(a) == path_of(b);
  };
  all.erase(std::unique(all.begin(), all.end(), same), all.end());
}

/// Those of a range and of all below it.
void run_ranges::add_kernels() {
  path_index const index(all);
  std::vector<run_range*> above;  // by position: the next range around each, or null
  for (run_range const& range : all) above.push_back(index.around(range.path, false));
  for (run_kernel const& kernel : tables_->kernels) {
    run_range* range = index.around(kernel.path, true);
    double const kept = range != nullptr ? in_steps(*range->rows[0]) : 1;
    for (; range != nullptr; range = above[static_cast<std::size_t>(range - all.data())])
      if (double const part = range->once ? 1 : kept; part > 0)
        add_kernel(range->gpu, kernel.times, part, steps_of(*range),
                   without_first() && !range->once);
  }
}

void run_ranges::add_counted() {
  for (std::size_t set = 0; set < tables_->counters.size(); ++set) {
    run_counter_set const& table = tables_->counters[set];
    for (std::size_t i = 0; i < table.metrics.size(); ++i) {
      run_metric const& metric = table.metrics[i];
      bool const adds = metric.formula.find('/') == std::string::npos &&
                        metric.formula.find("peak_sustained") == std::string::npos;
      metric_places_.try_emplace(metric.key, metrics.size());
      metrics.push_back({&metric, set, i, adds, adds && metric.level == "cpu"});
    }
    for (run_counts const& counts : table.rows) {
      run_range* const range = find_in(all, counts.path);
      if (range != nullptr && !counts.total.empty()) range->counted[set].push_back(&counts);
    }
  }
}

void run_ranges::fold() {
  std::vector<std::pair<std::string, run_range const*>> order;
  for (run_range const& range : all) {
    std::string path = with_folded_indices(range.path);
    if (path != range.path || has_any_index(path)) order.push_back({std::move(path), &range});
  }
  std::stable_sort(order.begin(), order.end(),
                   [](auto const& a, auto const& b) { return a.first < b.first; });
  for (auto group = order.begin(); group != order.end();) {
    auto const end = std::find_if(group, order.end(), [&path = group->first](auto const& each) {
      return each.first != path;
    });
    run_range& sum = folded.emplace_back();
    sum.path = group->first;
    sum.once = std::all_of(group, end, [](auto const& each) { return each.second->once; });
    sum.counted.resize(tables_->counters.size());
    for (; group != end; ++group) {
      run_range const& range = *group->second;
      if (sum.once == range.once) {  // what is in no step adds nothing to those in steps
        sum.host.add(range.host);
        sum.gpu.add(range.gpu);
      }
      sum.rows.push_back(range.rows[0]);
      for (std::size_t set = 0; set < range.counted.size(); ++set)
        sum.counted[set].insert(sum.counted[set].end(), range.counted[set].begin(),
                                range.counted[set].end());
    }
  }
  // The indices that there was no room for are no range of their own.
  all.erase(std::remove_if(all.begin(), all.end(),
                           [](run_range const& range) { return has_any_index(range.path); }),
            all.end());
}

/// Of ranges that are called outside of steps too, sums tell less than reports do. The kernels of a
/// range and of those below it are rows of the period.
void run_ranges::take_means() {
  std::unordered_map<std::string_view, double> kernel_ns;
  for (period_part const& part : tables_->period.parts) {
    if (part.kind != period_kind::range) continue;
    for (std::string_view path = part.name; !path.empty(); path = parent_of(path))
      kernel_ns[path] += part.ns;
  }
  for (std::vector<run_range>* const list : {&all, &folded})
    for (run_range& range : *list) {
      auto const found = tables_->in_step.find(range.path);
      if (range.once || found == tables_->in_step.end()) continue;
      range.in_step = &found->second;
      range.host.mean.ms = found->second.host_ns / 1e6;
      auto const in_period = kernel_ns.find(range.path);
      bool const is_known = tables_->traced && in_period != kernel_ns.end();
      range.gpu.mean.ms = (is_known ? in_period->second : found->second.kernel_ns) / 1e6;
    }
}

run_range const* run_ranges::find(std::string_view path) const {
  run_range const* const single = find_in(all, path);
  return single != nullptr ? single : find_in(folded, path);
}

bool run_ranges::is_sum(run_range const& range) const {
  return !folded.empty() && &range >= folded.data() && &range < folded.data() + folded.size();
}

double run_ranges::steps() const noexcept {
  double const count = static_cast<double>(steps_ms.size()) + tables_->steps_folded;
  return count > 0 ? count : 1;
}

std::size_t run_ranges::column(std::string_view name) const {
  auto const found = columns_.find(name);
  return found == columns_.end() ? run_tables::no_column : found->second;
}

bool run_ranges::knows(run_range const& range, std::size_t column) const {
  return std::any_of(range.rows.begin(), range.rows.end(),
                     [column](run_row const* row) { return has_number(*row, column); });
}

double run_ranges::total(run_range const& range, std::size_t column) const {
  double whole = 0;
  for (run_row const* const row : range.rows) whole += number_of(*row, column);
  return whole;
}

double run_ranges::sum(run_range const& range, std::size_t column) const {
  double whole = 0;
  for (run_row const* const row : range.rows)
    whole += number_of(*row, column) * (range.once ? 1 : in_steps(*row));
  return whole / steps_of(range);
}

double run_ranges::mean_ms(run_range const& range, bool gpu) const {
  if (range.in_step != nullptr)
    return (gpu ? range.in_step->busy_ns : range.in_step->host_ns) / 1e6;
  std::size_t const first_column = column(gpu ? "first_step_gpu_busy_ns" : "first_step_host_ns");
  double const whole = sum(range, gpu ? "gpu_busy_ns" : "host_total_ns") * steps_of(range);
  double const first = total(range, first_column);
  bool const is_known = !range.once && without_first() &&
                        std::all_of(range.rows.begin(), range.rows.end(), [&](run_row const* row) {
                          return has_number(*row, first_column);
                        });
  averaged_steps const averaged{steps_of(range), is_known && whole >= first};
  return averaged.mean(whole, first) / 1e6;
}

bool run_ranges::counted(run_range const& range, counted_metric const& metric, double& sum) const {
  std::size_t known = 0;
  for (run_counts const* const counts : range.counted[metric.set]) {
    double const value = counts->total[metric.position];
    if (!is_finite(value)) continue;
    ++known;
    sum += value / (metric.all_steps ? steps_of(range) : 1);
  }
  return known == range.rows.size() && (known == 1 || metric.adds);
}

double cpu_share(run_tables const& run) {
  double wall = 0;
  double cpu = 0;
  for (run_step const& step : run.steps) {
    if (!(step.cpu_ns > 0)) continue;
    cpu += step.cpu_ns;
    wall += step.ns;
  }
  return wall > 0 ? cpu / wall : 0;
}

std::string devices_text(run_tables const& run) {
  std::string all;
  for (run_device const& device : run.devices)
    add_part(all, device.name + ' ' + fixed_string(device.clock_khz / 1000, 0) + " MHz", "; ");
  return all;
}

}  // namespace detail
STRATA_END
