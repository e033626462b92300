#include <strata/version.hpp>
#ifndef STRATA_COMPARE_HPP
#define STRATA_COMPARE_HPP

#include <strata/base/json_reader.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/text.hpp>
#include <strata/base/vec.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

STRATA_BEGIN

/// The newest `profile.json` that this version reads.
inline constexpr int readable_profile_schema = 1;

/// A `profile.json`, read.
class profile_file {
 public:
  /// Returns: nothing, or in a sentence why the text is no profile of Strata.
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
    readable_ = true;
    return {};
  }
  bool readable() const noexcept { return readable_; }

  detail::json_document const& json() const noexcept { return json_; }
  /// A text in one of the objects at the top.
  std::string_view text(std::string_view part, std::string_view name) const noexcept {
    return json_.text(json_.find(json_.find(json_.root(), part), name));
  }
  bool traced() const noexcept { return json_.is_true(json_.find(json_.root(), "traced")); }

  /// The time of each step.
  vec<double> steps_ms() const {
    vec<double> all;
    each("steps", [&](detail::json_node step) {
      double const begin = json_.number(json_.find(step, "begin_ns"));
      all.push_back((json_.number(json_.find(step, "end_ns")) - begin) / 1e6);
    });
    return all;
  }
  /// The names and clocks of the devices, one after the other.
  std::string devices() const {
    std::string all;
    each("devices", [&](detail::json_node device) {
      all += json_.text(json_.find(device, "name"));
      all += ' ';
      all += detail::fixed_string(json_.number(json_.find(device, "clock_khz")) / 1000, 0);
      all += " MHz;";
    });
    return all;
  }
  template <class Do>
  void each(std::string_view list, Do const& what) const {
    detail::json_node const all = json_.find(json_.root(), list);
    if (json_.kind(all) != detail::json_kind::array) return;
    for (detail::json_node at = json_.first(all); at != 0; at = json_.next(at)) what(at);
  }

 private:
  detail::json_document json_;
  bool readable_ = false;
};

/// A number that both profiles have of a range.
struct compared_column {
  std::string name;
  double before, after;

  double factor() const noexcept { return before > 0 ? after / before : 0; }
};

/// A range that both profiles have; with `[*]` in its path, the sum of those with any index.
struct compared_range {
  std::string path;
  bool gpu = false;  // the time is that in which the GPU was busy for it; else host time
  double before_ms = 0, after_ms = 0;  // a step; of the whole run where there are no steps
  bool slower = false;  // beyond the limit and beyond its own noise, by its host times
  vec<compared_column> columns;

  double change_ms() const noexcept { return after_ms - before_ms; }
};

enum class comparison_verdict { no_regression, regression, inconclusive };

/// Two runs of the same program.
struct comparison {
  comparison_verdict verdict = comparison_verdict::inconclusive;
  std::string reason;
  vec<std::string> notes;  // what else makes the runs differ
  std::size_t before_steps = 0, after_steps = 0;
  double before_ms = 0, after_ms = 0;  // medians of a step
  double chance = 1;                   // that steps no slower than the limit would look like these
  double geometric_mean = 0;           // of the factors of the times of `ranges`; 0 without any
  vec<compared_range> ranges;          // indices folded; by change, the largest first
  vec<compared_range> indexed;         // those with an index in their path, each by itself
  vec<std::string> only_before, only_after;

  /// The range of that path, folded (`block[*]`) or with its index (`block[3]`); else null.
  compared_range const* find(std::string_view path) const noexcept {
    for (vec<compared_range> const* const list : {&ranges, &indexed})
      for (compared_range const& each : *list)
        if (each.path == path) return &each;
    return nullptr;
  }
};

namespace detail {

inline constexpr double significant_chance = 0.05;
inline constexpr std::size_t fewest_steps = 5;

/// The chance that a normal variable is above that many standard deviations.
inline double normal_tail(double deviations) { return std::erfc(deviations / std::sqrt(2.0)) / 2; }

inline double median(vec<double> all) {
  if (all.empty()) return 0;
  all.sort();
  std::size_t const middle = all.size() / 2;
  return all.size() % 2 == 1 ? all[middle] : (all[middle - 1] + all[middle]) / 2;
}

/// The chance that `after` would be so much above `before` if both were alike: Mann-Whitney U, one
/// side, by the normal approximation with ties and continuity.
inline double chance_of_more(vec<double> const& before, vec<double> const& after) {
  double const n = static_cast<double>(before.size()), m = static_cast<double>(after.size());
  vec<std::pair<double, bool>> all;
  for (double const each : before) all.push_back({each, false});
  for (double const each : after) all.push_back({each, true});
  all.sort([](auto const& a, auto const& b) { return a.first < b.first; });
  double ranks = 0, ties = 0;
  for (std::size_t begin = 0, end = 0; begin < all.size(); begin = end) {
    std::size_t later = 0;
    for (; end < all.size() && !(all[begin].first < all[end].first); ++end)
      later += all[end].second ? 1 : 0;
    double const same = static_cast<double>(end - begin);
    ranks += static_cast<double>(later) * (static_cast<double>(begin + end) + 1) / 2;
    ties += same * same * same - same;
  }
  double const above = ranks - m * (m + 1) / 2 - n * m / 2;
  double const variance = n * m / 12 * (n + m + 1 - ties / ((n + m) * (n + m - 1)));
  return variance > 0 ? normal_tail((above - 0.5) / std::sqrt(variance)) : 1;
}

/// `block[3]/mlp` as `block[*]/mlp`.
inline std::string with_folded_indices(std::string_view path) {
  std::string folded;
  while (!path.empty()) {
    std::size_t const end = (std::min)(path.find('/'), path.size());
    std::string_view const name = path.substr(0, end);
    std::size_t const index = name.rfind('[');
    bool const numbered = index != name.npos && index + 2 < name.size() && name.back() == ']' &&
                          name.find_first_not_of("0123456789", index + 1) == name.size() - 1;
    folded += numbered ? name.substr(0, index) : name;
    if (numbered) folded += "[*]";
    if (end < path.size()) folded += '/';
    path.remove_prefix((std::min)(end + 1, path.size()));
  }
  return folded;
}

/// The rows of the ranges, by path: one each, or those of all indices together.
struct ranges_by_path {
  struct entry {
    std::string path;
    vec<json_node> rows;
  };
  ranges_by_path(profile_file const& of, bool folded) {
    vec<std::pair<std::string, json_node>> rows;
    of.each("ranges", [&](json_node row) {
      std::string_view const path = of.json().text(of.json().find(row, "path"));
      if (!path.empty())  // the root
        rows.push_back({folded ? with_folded_indices(path) : std::string(path), row});
    });
    rows.sort([](auto const& a, auto const& b) { return a.first < b.first; });
    for (auto& [path, row] : rows) {
      if (all.empty() || all.back().path != path) all.push_back({std::move(path), {}});
      if (folded || all.back().rows.empty()) all.back().rows.push_back(row);
    }
  }
  /// Null where there is none.
  entry const* find(std::string_view path) const {
    auto const at = std::lower_bound(
        all.begin(), all.end(), path,
        [](entry const& each, std::string_view wanted) { return each.path < wanted; });
    return at != all.end() && at->path == path ? &*at : nullptr;
  }
  vec<entry> all;
};

/// A range in both runs.
class row_pair {
 public:
  row_pair(profile_file const& before, vec<json_node> const& a, profile_file const& after,
           vec<json_node> const& b)
      : before_(before.json()), after_(after.json()), a_(a), b_(b) {}
  double before(std::string_view name) const { return total(before_, a_, name); }
  double after(std::string_view name) const { return total(after_, b_, name); }

  /// Those of several rows are sums; what has no sum is left out.
  vec<compared_column> columns() const {
    bool const several = a_.size() > 1 || b_.size() > 1;
    vec<compared_column> all;
    for (json_node at = before_.first(a_[0]); at != 0; at = before_.next(at)) {
      std::string_view const name = before_.key(at);
      if (is_place(name) || (several && !has_sum(name))) continue;
      if (!is_known(before_, a_, name) || !is_known(after_, b_, name)) continue;
      all.push_back({std::string(name), before(name), after(name)});
    }
    return all;
  }

  /// The chance that calls no slower than the limit would look like these, by their means and
  /// deviations (Welch, normal approximation); 1 where there are too few.
  double chance_of_slower(double limit) const {
    double const n = before("calls"), m = after("calls");
    double const few = static_cast<double>(fewest_steps);
    if (n < few || m < few) return 1;
    double const a = before("host_stddev_ns") * (1 + limit), b = after("host_stddev_ns");
    double const deviation = std::sqrt(a * a / n + b * b / m);
    double const more = after("host_mean_ns") - before("host_mean_ns") * (1 + limit);
    return deviation > 0 ? normal_tail(more / deviation) : more > 0 ? 0 : 1;
  }

 private:
  static bool is_place(std::string_view name) {
    return name == "path_id" || name == "parent_path_id" || name == "index" || name == "depth" ||
           name == "rank";
  }
  static bool has_sum(std::string_view name) {
    for (std::string_view const each :
         {"_min_ns", "_p50_ns", "_p95_ns", "_max_ns", "_mean_ns", "_stddev_ns", "peak_bytes"})
      if (name.size() >= each.size() && name.substr(name.size() - each.size()) == each)
        return false;
    return true;
  }
  static bool is_known(json_document const& in, vec<json_node> const& rows, std::string_view name) {
    for (json_node const row : rows)
      if (in.kind(in.find(row, name)) == json_kind::number) return true;
    return false;
  }
  static double total(json_document const& in, vec<json_node> const& rows, std::string_view name) {
    double sum = 0;
    for (json_node const row : rows) sum += in.number(in.find(row, name));
    return sum;
  }

  json_document const& before_;
  json_document const& after_;
  vec<json_node> const& a_;
  vec<json_node> const& b_;
};

/// Whether the halves of a run differ by more than the limit: the machine did other work as well.
inline bool is_unsteady(vec<double> const& steps, double limit) {
  vec<double> first, second;
  for (std::size_t i = 0; i < steps.size(); ++i)
    (i < steps.size() / 2 ? first : second).push_back(steps[i]);
  double const a = median(std::move(first)), b = median(std::move(second));
  return a > b * (1 + limit) || b > a * (1 + limit);
}

inline double per_step(std::size_t steps) {
  return 1e-6 / static_cast<double>(steps > 0 ? steps : 1);
}

/// The times of a range that both runs have, and its columns.
inline compared_range compared_times(std::string const& path, row_pair const& both, bool traced,
                                     comparison const& of) {
  compared_range each;
  each.path = path;
  each.gpu = traced && both.before("kernels") > 0 && both.after("kernels") > 0;
  char const* const column = each.gpu ? "gpu_busy_ns" : "host_total_ns";
  each.before_ms = both.before(column) * per_step(of.before_steps);
  each.after_ms = both.after(column) * per_step(of.after_steps);
  each.columns = both.columns();
  return each;
}

/// Judges each range by itself.
/// Returns: the folded paths of those that are slower, sorted.
inline vec<std::string> compare_each(comparison& to, profile_file const& before,
                                     profile_file const& after, double limit) {
  ranges_by_path const old(before, false), now(after, false);
  bool const traced = before.traced() && after.traced();
  double const tested = static_cast<double>(old.all.empty() ? 1 : old.all.size());
  vec<std::string> slower;
  for (auto const& [path, rows] : old.all) {
    auto const* const other = now.find(path);
    if (other == nullptr) {
      to.only_before.push_back(path);
      continue;
    }
    row_pair const both(before, rows, after, other->rows);
    bool const is_slower = both.chance_of_slower(limit) < significant_chance / tested;
    std::string folded = with_folded_indices(path);
    if (folded != path) {
      to.indexed.push_back(compared_times(path, both, traced, to));
      to.indexed.back().slower = is_slower;
    }
    if (is_slower) slower.push_back(std::move(folded));
  }
  for (auto const& each : now.all)
    if (old.find(each.path) == nullptr) to.only_after.push_back(each.path);
  slower.sort();
  return slower;
}

inline void compare_ranges(comparison& to, profile_file const& before, profile_file const& after,
                           double limit) {
  vec<std::string> const slower = compare_each(to, before, after, limit);
  ranges_by_path const old(before, true), now(after, true);
  bool const traced = before.traced() && after.traced();
  double logarithms = 0, counted = 0;
  for (auto const& [path, rows] : old.all) {
    auto const* const other = now.find(path);
    if (other == nullptr) continue;
    compared_range each =
        compared_times(path, row_pair(before, rows, after, other->rows), traced, to);
    each.slower = std::binary_search(slower.begin(), slower.end(), path);
    if (each.before_ms > 0 && each.after_ms > 0) {
      logarithms += std::log(each.after_ms / each.before_ms);
      counted += 1;
    }
    to.ranges.push_back(std::move(each));
  }
  to.geometric_mean = counted > 0 ? std::exp(logarithms / counted) : 0;
  to.ranges.sort([](compared_range const& a, compared_range const& b) {
    return std::abs(a.change_ms()) > std::abs(b.change_ms());
  });
}

/// The settings of STRATA without those that say where and how a run is written.
inline std::string measured_settings(std::string_view settings) {
  std::string kept;
  while (!settings.empty()) {
    std::size_t const end = (std::min)(settings.find(','), settings.size());
    std::string_view item = settings.substr(0, end);
    settings.remove_prefix((std::min)(end + 1, settings.size()));
    while (!item.empty() && item.front() == ' ') item.remove_prefix(1);
    while (!item.empty() && item.back() == ' ') item.remove_suffix(1);
    std::string_view key = item.substr(0, item.find_first_of("=:"));
    while (!key.empty() && key.back() == ' ') key.remove_suffix(1);
    if (item.empty() || key == "out" || key == "formats") continue;
    kept += (kept.empty() ? "" : ",") + std::string(item);
  }
  return kept;
}

inline void note_differences(comparison& to, profile_file const& before,
                             profile_file const& after) {
  for (auto const& [name, meaning] :
       {std::pair("command", "The commands"), std::pair("configuration", "The STRATA settings"),
        std::pair("host", "The hosts")}) {
    std::string_view const a = before.text("environment", name);
    std::string_view const b = after.text("environment", name);
    bool const settings = std::string_view(name) == "configuration";
    if (settings ? measured_settings(a) == measured_settings(b) : a == b) continue;
    to.notes.push_back(std::string(meaning) + " differ: " + std::string(a) + " and " +
                       std::string(b) + ".");
  }
  if (to.only_before.empty() && to.only_after.empty()) return;
  to.notes.push_back(std::to_string(to.only_before.size()) + " ranges are only in the first, " +
                     std::to_string(to.only_after.size()) + " only in the second profile.");
}

/// What makes the times of two runs incomparable; empty where nothing does.
inline std::string obstacle(profile_file const& before, profile_file const& after) {
  if (before.devices() != after.devices())
    return "the devices or their clocks differ (" + before.devices() + " and " + after.devices() +
           "), so run both on the same machine";
  if (before.text("environment", "cpu") != after.text("environment", "cpu"))
    return "the processors differ, so run both on the same machine";
  if (before.traced() != after.traced())
    return "one run was traced and the other was not, so use the same STRATA for both";
  return {};
}

inline void judge(comparison& to, vec<double> const& before, vec<double> const& after, double limit,
                  std::string const& hindered) {
  using verdict = comparison_verdict;
  std::size_t slower = 0;
  for (compared_range const& each : to.ranges) slower += each.slower ? 1 : 0;
  vec<double> allowed = before;
  for (double& each : allowed) each *= 1 + limit;
  to.chance = before.empty() || after.empty() ? 1 : chance_of_more(allowed, after);
  bool const beyond = to.after_ms > to.before_ms * (1 + limit);
  bool const few = before.size() < fewest_steps || after.size() < fewest_steps;
  to.verdict = verdict::inconclusive;
  if (to.ranges.empty()) {
    to.reason = "the profiles have no range in common";
  } else if (!hindered.empty()) {
    to.reason = hindered;
  } else if (few) {
    to.reason = "a run has less than 5 steps, so record more (STRATA_STEP() in the loop)";
  } else if (is_unsteady(before, limit) || is_unsteady(after, limit)) {
    to.reason =
        "the halves of a run differ by more than the limit, so record it while nothing else runs";
  } else if (beyond && to.chance < significant_chance) {
    to.verdict = verdict::regression;
    to.reason = "the steps are slower than the limit";
  } else if (slower > 0) {
    to.verdict = verdict::regression;
    to.reason = std::to_string(slower) + (slower == 1 ? " range is" : " ranges are") +
                " slower than the limit and than the noise of their host times";
  } else if (beyond) {
    to.reason = "the median step is slower than the limit, but within the noise: record more steps";
  } else {
    to.verdict = verdict::no_regression;
    to.reason = "the steps are within the limit";
  }
}

}  // namespace detail

/// Compares two readable profiles range by range, by path. A step that is slower by more than
/// `limit` (0.05: 5 %) beyond chance is a regression, and so is a range by its host times.
/// What cannot be told is inconclusive.
inline comparison compare(profile_file const& before, profile_file const& after,
                          double limit = 0.05) {
  comparison result;
  vec<double> const old = before.steps_ms(), now = after.steps_ms();
  result.before_steps = old.size();
  result.after_steps = now.size();
  result.before_ms = detail::median(old);
  result.after_ms = detail::median(now);
  detail::compare_ranges(result, before, after, limit);
  detail::note_differences(result, before, after);
  detail::judge(result, old, now, limit, detail::obstacle(before, after));
  return result;
}

STRATA_END

#endif  // STRATA_COMPARE_HPP
