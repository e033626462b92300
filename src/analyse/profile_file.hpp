#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_PROFILE_FILE_HPP
#define STRATA_ANALYSE_PROFILE_FILE_HPP

#include <strata/base/containers.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/statistics.hpp>
#include <strata/base/text.hpp>
#include <strata/base/vec.hpp>
#include <strata/base/vocabulary.hpp>
#include <strata/profile/range_paths.hpp>
#include <strata/tables/steps_summary.hpp>
#include "json_reader.hpp"
#include "run_losses.hpp"

#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

STRATA_BEGIN

/// The newest `schema.version` of `profile.json` that this version of Strata reads.
inline constexpr int readable_profile_schema = 1;

/// A `profile.json`, read. It keeps the text and an index of it, about five times the file's bytes.
class profile_file {
 public:
  /// Reads the content of a file, whatever it is.
  /// Errors: the sentence that is returned; nothing where the text is a profile.
  std::string read(std::string text) {
    readable_ = false;
    if (!json_.read(std::move(text))) return "It is no JSON: " + json_.error() + ".";
    detail::json_node const schema = json_.find(json_.root(), "schema");
    if (json_.text(json_.find(schema, "name")) != "strata.profile")
      return "It is no profile of Strata: schema.name is not strata.profile.";
    double const version = json_.number(json_.find(schema, "version"));
    if (!(version >= 1 && version <= readable_profile_schema))
      return "Its schema version is not readable here: compare it with the Strata that wrote it.";
    if (json_.kind(json_.find(json_.root(), "ranges")) != detail::json_kind::array)
      return "It has no ranges: the file is not whole.";
    if (!is_sound()) return "Its rows are not those of a profile: the file was changed.";
    readable_ = true;
    return {};
  }
  bool readable() const noexcept { return readable_; }

  detail::json_document const& json() const noexcept { return json_; }
  /// A text in one of the objects at the top; nothing where it is none.
  std::string_view text(std::string_view part, std::string_view name) const noexcept {
    return json_.text(json_.find(json_.find(json_.root(), part), name));
  }
  /// The same of a number; `otherwise` where it is none.
  double number(std::string_view part, std::string_view name, double otherwise = 0) const {
    return json_.number(json_.find(json_.find(json_.root(), part), name), otherwise);
  }
  /// Whether GPU work was recorded.
  bool traced() const noexcept { return json_.is_true(json_.find(json_.root(), "traced")); }

  /// The time of each step, in milliseconds.
  vec<double> steps_ms() const {
    vec<double> all;
    for_each("steps", [&](detail::json_node step) { all.push_back(step_ns(step) / 1e6); });
    return all;
  }
  /// The number of each step, as `steps_ms` has them.
  vec<double> step_numbers() const {
    vec<double> all;
    for_each("steps", [&](detail::json_node step) {
      all.push_back(json_.number(json_.find(step, "step"), static_cast<double>(all.size())));
    });
    return all;
  }
  /// The part of the steps in which their thread ran on a CPU, of those of which it is known; 0
  /// without any.
  double cpu_share() const {
    double wall = 0;
    double cpu = 0;
    for_each("steps", [&](detail::json_node step) {
      double const ns = json_.number(json_.find(step, "cpu_ns"));
      if (!(ns > 0)) return;
      cpu += ns;
      wall += step_ns(step);
    });
    return wall > 0 ? cpu / wall : 0;
  }
  /// What was lost of the times of ranges.
  detail::run_losses losses() const {
    return detail::losses_of(json_, json_.find(json_.root(), "losses"));
  }
  /// The names of the devices and their greatest clocks, as "NVIDIA H200 1980 MHz; ...".
  std::string devices() const {
    std::string all;
    for_each("devices", [&](detail::json_node device) {
      std::string one(json_.text(json_.find(device, "name")));
      one += ' ' + detail::fixed_string(json_.number(json_.find(device, "clock_khz")) / 1000, 0);
      detail::add_part(all, one + " MHz", "; ");
    });
    return all;
  }
  /// Their names alone.
  std::string device_names() const {
    std::string all;
    for_each("devices", [&](detail::json_node device) {
      detail::add_part(all, json_.text(json_.find(device, "name")), "; ");
    });
    return all;
  }
  /// Their greatest clocks alone. Units: kHz.
  vec<double> device_clocks() const {
    vec<double> all;
    for_each("devices", [&](detail::json_node device) {
      all.push_back(json_.number(json_.find(device, "clock_khz")));
    });
    return all;
  }
  /// Calls `what` with each element of a list at the top.
  template <class Do>
  void for_each(std::string_view list, Do const& what) const {
    for_each_in(json_.root(), list, what);
  }
  /// The same of a list in an object.
  template <class Do>
  void for_each_in(detail::json_node object, std::string_view list, Do const& what) const {
    detail::json_node const all = json_.find(object, list);
    if (json_.kind(all) != detail::json_kind::array) return;
    for (detail::json_node node = json_.first(all); node != 0; node = json_.next(node)) what(node);
  }

 private:
  double step_ns(detail::json_node step) const {
    return json_.number(json_.find(step, "end_ns")) - json_.number(json_.find(step, "begin_ns"));
  }
  bool is_small(detail::json_node object) const {
    constexpr std::size_t most = 500;  // members; chosen
    std::size_t members = 0;
    for (detail::json_node node = json_.first(object); node != 0; node = json_.next(node))
      ++members;
    return json_.kind(object) == detail::json_kind::object && members <= most;
  }
  /// Rows are objects of few members, what is judged is not negative, and steps do not run
  /// backwards.
  bool is_sound() const {
    constexpr std::string_view judged[] = {"calls",       "host_total_ns",    "host_stddev_ns",
                                           "host_p50_ns", "first_step_calls", "first_step_host_ns",
                                           "count",       "total_ns",         "stddev_ns",
                                           "p50_ns",      "first_step_count", "first_step_ns"};
    bool sound = true;
    for (char const* const list : {"ranges", "kernels", "steps", "devices"})
      for_each(list, [&](detail::json_node row) { sound = sound && is_small(row); });
    for (char const* const counted : {"counters", "cpu_counters"})
      for_each_in(json_.find(json_.root(), counted), "values", [&](detail::json_node row) {
        detail::json_node const total = json_.find(row, "total");
        sound = sound && is_small(row) &&
                (json_.kind(total) != detail::json_kind::object || is_small(total));
      });
    for (char const* const list : {"ranges", "kernels"})
      if (sound)
        for_each(list, [&](detail::json_node row) {
          for (std::string_view const name : judged) {
            double const value = json_.number(json_.find(row, name));
            sound = sound && value >= 0 && value < 1e30;
          }
        });
    if (sound)
      for_each("steps", [&](detail::json_node row) { sound = sound && step_ns(row) >= 0; });
    return sound;
  }

  detail::json_document json_;
  bool readable_ = false;
};

namespace detail {

/// Of so many launches of a kernel in a file, those that have no time: the mean is of the others,
/// and a time of 0 may be none either.
inline double untimed_launches(double count, double total_ns, double mean_ns, double min_ns) {
  if (!(min_ns > 0)) return count;
  return mean_ns > 0 ? larger(0.0, count - std::round(total_ns / mean_ns)) : 0.0;
}

/// A mean of calls: milliseconds a step, and how sure that is by the calls of this run.
struct call_mean {
  double ms = 0;
  double variance = 0;  // of `ms` as an estimate, ms squared

  /// Of so many calls with that sum in ns and that variance of each, in that many steps.
  void add(double count, double total_ns, double spread, double steps) {
    ms += total_ns / steps / 1e6;
    variance += count * spread / (steps * steps) / 1e12;
  }
  void add(call_mean const& other) {
    ms += other.ms;
    variance += other.variance;
  }
};

/// A time of a range in a run, by its calls or its kernels.
struct step_time {
  call_mean mean;
  call_mean trimmed;      // without the longest and the shortest call of the range or kernel
  bool has_far = false;   // one of these two is far from the others
  double typical_ms = 0;  // each call at its median
  double calls = 0;       // or kernels, in the whole run
  double counted = 0;     // the same with the first step
  double may_lack = 0;    // of these: the most that may have no time
  double all_lack = 0;    // of these, those of kernels of which no launch has one
  double lack_ms = 0;     // of the others: what they take if they are as the rest of their kernel

  /// Whether such a call changes the mean by more than that part of it.
  bool is_interrupted(double part) const {
    return has_far && std::abs(mean.ms - trimmed.ms) > part * mean.ms;
  }
  void add(step_time const& other) {
    mean.add(other.mean);
    trimmed.add(other.trimmed);
    has_far = has_far || other.has_far;
    typical_ms += other.typical_ms;
    calls += other.calls;
    counted += other.counted;
    may_lack += other.may_lack;
    all_lack += other.all_lack;
    lack_ms += other.lack_ms;
  }
};

/// What a range did in a run; of a folded path, those of all its indices together.
struct run_range {
  std::string path;
  step_time host;
  step_time gpu;
  vec<json_node> rows;
  vec<json_node> counted;  // the objects of its counted values
  bool once = false;       // outside of steps: its amounts are of the whole run
};

/// What a run counted.
struct counted_metric {
  std::string_view key;
  std::string_view unit;
  std::string_view formula;
  bool adds;       // over ranges: no ratio, and nothing that a chip always has
  bool all_steps;  // its values are of all steps, else of one
};

/// The ranges of one run, by path.
class run_ranges {
 public:
  explicit run_ranges(profile_file const& file) : losses(file.losses()), file_(&file) {
    json_document const& json = file.json();
    steps_ms = file.steps_ms();
    step_numbers = file.step_numbers();
    folded_steps_ = larger(0.0, file.number("losses", "steps_folded"));
    file.for_each("ranges", [&](json_node row) {
      std::string_view const path = json.text(json.find(row, "path"));
      if (path.empty()) return;  // the root
      if (is_in_stand_in(path)) {
        if (is_stand_in(path.substr(path.find_last_of('/') + 1)))
          stand_ins.push_back(std::string(path));
        return;
      }
      all.push_back({std::string(path), {}, {}, {}, {}});
      all.back().rows.push_back(row);
      all.back().once = !steps_ms.empty() && number(row, "calls") > 0 &&
                        json.number(json.find(row, "step_share"), 1) <= 0;
      all.back().host.counted = number(row, "calls");
      add_later(all.back().host, times_of(row, host_columns), all.back().once ? 1 : steps());
    });
    all.sort([](run_range const& a, run_range const& b) { return a.path < b.path; });
    std::size_t kept = 0;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (i == 0 || all[i].path != all[kept - 1].path) {
        if (i != kept) all[kept] = std::move(all[i]);
        ++kept;
      }
    all.resize(kept);
    add_kernels();
    for (char const* const counted : {"counters", "cpu_counters"})
      add_counted(json.find(json.root(), counted));
    fold();
  }

  profile_file const& file() const noexcept { return *file_; }
  /// By path with index or folded; null where there is none.
  run_range const* find(std::string_view path) const {
    run_range const* const single = find_in(all, path);
    return single != nullptr ? single : find_in(folded, path);
  }
  /// Whether it is one of the sums over indices.
  bool is_sum(run_range const& range) const {
    return !folded.empty() && &range >= folded.begin() && &range < folded.end();
  }
  /// Whether a row has a number in the column.
  bool knows(run_range const& range, std::string_view column) const {
    for (json_node const row : range.rows)
      if (is_number(row, column)) return true;
    return false;
  }
  /// What a step is divided by: 1 where the run has none.
  double steps() const noexcept {
    double const count = static_cast<double>(steps_ms.size()) + folded_steps_;
    return count > 0 ? count : 1;
  }
  /// What the amounts of a range are divided by.
  double steps_of(run_range const& range) const noexcept { return range.once ? 1 : steps(); }
  /// The sum of a column, a step; of the run where the range is in no step.
  double sum(run_range const& range, std::string_view column) const {
    double total = 0;
    for (json_node const row : range.rows) total += number(row, column);
    return total / steps_of(range);
  }
  /// The sum of a time, a step, without the first step and its part, which is in another column; of
  /// all steps where that is unknown, or all of the time.
  double later_sum(run_range const& range, std::string_view time,
                   std::string_view first_time) const {
    double total = 0;
    double first = 0;
    bool is_known = !range.once && steps() > 1;
    for (json_node const row : range.rows) {
      total += number(row, time);
      first += number(row, first_time);
      is_known = is_known && is_number(row, first_time);
    }
    averaged_steps const averaged{steps_of(range), is_known && total > first};
    return averaged.mean(total, first);
  }

  /// The values of a counted metric in a range, summed over its rows, a step.
  /// Returns: false where a row has none, or where they do not add up.
  bool counted(run_range const& range, counted_metric const& metric, double& sum) const {
    std::size_t known = 0;
    for (json_node const values : range.counted) {
      json_node const node = file_->json().find(values, metric.key);
      if (file_->json().kind(node) != json_kind::number) continue;
      ++known;
      sum += file_->json().number(node) / (metric.all_steps ? steps_of(range) : 1);
    }
    return known == range.rows.size() && (known == 1 || metric.adds);
  }

  run_losses losses;
  vec<double> steps_ms;
  vec<double> step_numbers;    // of `steps_ms`
  vec<run_range> all;          // by path
  vec<run_range> folded;       // those that fold, by folded path
  vec<std::string> stand_ins;  // paths of what stands for many ranges, which are in neither list
  vec<counted_metric> metrics;

 private:
  /// Finds the range that a path is of, or lies in. Cost: linear in the path.
  class path_index {
   public:
    /// Requires: no path is there twice.
    explicit path_index(vec<run_range>& ranges) {
      for (run_range& range : ranges) {
        fnv1a hash;
        hash.add(range.path);
        ranges_[hash.value()] = &range;
      }
    }
    /// The innermost of those around a path; `itself`: the range of this path comes first.
    run_range* around(std::string_view path, bool itself) const {
      vec<pair<std::size_t, run_range*>> found;  // by how much of the path theirs would be
      fnv1a hash;
      for (std::size_t i = 0; i <= path.size(); ++i) {
        bool const ends = i == path.size() ? itself : path[i] == '/';
        run_range* const* const range = ends && i > 0 ? ranges_.find(hash.value()) : nullptr;
        if (range != nullptr && *range != nullptr) found.push_back({i, *range});
        if (i < path.size()) hash.add(path.substr(i, 1));
      }
      while (!found.empty() && found.back().second->path != path.substr(0, found.back().first))
        found.pop_back();
      return found.empty() ? nullptr : found.back().second;
    }

   private:
    number_map<run_range*> ranges_;  ///< by the hash of their paths
  };

  template <class Ranges>
  static auto find_in(Ranges& in, std::string_view path) -> decltype(in.data()) {
    std::size_t const index =
        in.count_first([path](run_range const& range) { return range.path.compare(path) < 0; });
    return index < in.size() && in[index].path == path ? &in[index] : nullptr;
  }
  double number(json_node row, std::string_view column) const {
    return file_->json().number(file_->json().find(row, column));
  }
  bool is_number(json_node row, std::string_view column) const {
    return file_->json().kind(file_->json().find(row, column)) == json_kind::number;
  }
  /// The calls of a range, or the launches of a kernel, as a file has them. Times are ns.
  struct recorded_times {
    double count = 0;
    double total = 0;
    double deviation = 0;
    double median = 0;
    double shortest = 0;
    double longest = 0;
    double first_count = 0;  // in the first step
    double first_total = 0;
  };
  /// Calls whose longest and shortest one a file has, but where they were in the first step.
  struct known_calls {
    double count = 0;
    double total = 0;
    double squares = 0;  // the sum of their squares
    double shortest = 0;
    double longest = 0;     // 0 where it was in the first step, and is in no sum
    bool has_ends = false;  // whether both are known
  };
  /// Adds them without those of the first step, which pays for what the others find done.
  static void add_later(step_time& time, recorded_times const& times, double steps) {
    known_calls calls = all_calls(times);
    double const first = times.first_count;
    bool const without = steps > 1 && calls.count - first > 1 && calls.total >= times.first_total;
    if (steps > 1 && (without || first == 0)) steps -= 1;
    if (without && first > 0) {
      calls.squares -= times.first_total * times.first_total / first;  // exact for one call
      calls.count -= first;
      calls.total -= times.first_total;
      calls.has_ends = first == 1;
      if (times.first_total >= times.longest) calls.longest = 0;
    }
    add_calls(time, calls, times.median, steps);
  }
  static known_calls all_calls(recorded_times const& times) {
    return {times.count,    times.total,   squares_of(times.count, times.total, times.deviation),
            times.shortest, times.longest, true};
  }
  /// The columns of a file that these are in.
  struct time_columns {
    char const* count;
    char const* total;
    char const* deviation;
    char const* median;
    char const* shortest;
    char const* longest;
    char const* first_count;
    char const* first_total;
  };
  static constexpr time_columns host_columns{
      "calls",       "host_total_ns", "host_stddev_ns",   "host_p50_ns",
      "host_min_ns", "host_max_ns",   "first_step_calls", "first_step_host_ns"};
  static constexpr time_columns kernel_columns{
      "count",  "total_ns", "stddev_ns",        "p50_ns",
      "min_ns", "max_ns",   "first_step_count", "first_step_ns"};
  recorded_times times_of(json_node row, time_columns const& columns) const {
    recorded_times times;
    times.count = number(row, columns.count);
    times.total = number(row, columns.total);
    times.deviation = number(row, columns.deviation);
    times.median = number(row, columns.median);
    times.shortest = number(row, columns.shortest);
    times.longest = number(row, columns.longest);
    times.first_count = number(row, columns.first_count);
    times.first_total = number(row, columns.first_total);
    return times;
  }
  static double squares_of(double count, double total, double deviation) {
    return count > 0 ? deviation * deviation * (count - 1) + total * total / count : 0;
  }
  /// Adds the mean of calls, and that without the longest and the shortest one.
  static void add_calls(step_time& time, known_calls const& calls, double median, double steps) {
    constexpr double fewest = 10;   // calls; chosen
    constexpr double far_away = 5;  // deviations of the others; chosen
    auto const spread_of = [](double count, double total, double squares) {
      return count > 1 ? larger((squares - total * total / count) / (count - 1), 0.0) : 0;
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
    double const farthest = larger(calls.longest - middle, middle - calls.shortest);
    bool const far =
        has_longest && calls.count >= fewest && farthest * farthest > far_away * far_away * inner;
    // Without the ends of even calls the others look more alike than they are.
    time.trimmed.add(calls.count, middle * calls.count, far ? inner : spread, steps);
    time.has_far = time.has_far || far;
  }
  /// Those of a range and of all below it.
  void add_kernels() {
    path_index const index(all);
    vec<run_range*> above;  // by position: the next range around each, null where there is none
    for (run_range const& range : all) above.push_back(index.around(range.path, false));
    file_->for_each("kernels", [&](json_node row) {
      std::string_view const path = file_->json().text(file_->json().find(row, "path"));
      recorded_times const times = times_of(row, kernel_columns);
      bool const has_first = is_number(row, kernel_columns.first_count);
      for (run_range* range = index.around(path, true); range != nullptr;
           range = above[static_cast<std::size_t>(range - all.data())])
        add_kernel(range->gpu, times, number(row, "mean_ns"), has_first, steps_of(*range));
    });
  }
  static void add_kernel(step_time& time, recorded_times times, double mean, bool has_first,
                         double steps) {
    time.counted += times.count;
    double const untimed = untimed_launches(times.count, times.total, mean, times.shortest);
    time.may_lack += untimed;
    if (untimed < times.count) {
      times.count -= untimed;
      time.lack_ms += untimed * times.total / times.count / steps / 1e6;
    } else {
      time.all_lack += untimed;
    }
    if (has_first) return add_later(time, times, steps);
    add_calls(time, all_calls(times), times.median, steps);
  }
  void add_counted(json_node table) {
    json_document const& json = file_->json();
    file_->for_each_in(table, "metrics", [&](json_node metric) {
      std::string_view const formula = json.text(json.find(metric, "formula"));
      bool const adds =
          formula.find('/') == formula.npos && formula.find("peak_sustained") == formula.npos;
      bool const all_steps = adds && json.text(json.find(metric, "level")) == "cpu";
      metrics.push_back({json.text(json.find(metric, "key")), json.text(json.find(metric, "unit")),
                         formula, adds, all_steps});
    });
    file_->for_each_in(table, "values", [&](json_node row) {
      run_range* const range = find_in(all, json.text(json.find(row, "path")));
      json_node const total = json.find(row, "total");
      if (range != nullptr && json.kind(total) == json_kind::object)
        range->counted.push_back(total);
    });
  }
  void fold() {
    vec<pair<std::string, run_range const*>> order;
    for (run_range const& range : all) {
      std::string path = with_folded_indices(range.path);
      if (path != range.path || has_any_index(path)) order.push_back({std::move(path), &range});
    }
    order.sort([](auto const& a, auto const& b) { return a.first < b.first; });
    for (auto& [path, range] : order) {
      if (folded.empty() || folded.back().path != path)
        folded.push_back({std::move(path), {}, {}, {}, {}, range->once});
      folded.back().host.add(range->host);
      folded.back().gpu.add(range->gpu);
      folded.back().rows.push_back(range->rows[0]);
      for (json_node const values : range->counted) folded.back().counted.push_back(values);
    }
    // The indices that there was no room for are no range of their own.
    all.keep_if([](run_range const& range) { return !has_any_index(range.path); });
  }

  profile_file const* file_;
  double folded_steps_ = 0;  // that `steps_ms` does not have, and the sums of ranges do
};

}  // namespace detail

STRATA_END

#endif  // STRATA_ANALYSE_PROFILE_FILE_HPP
