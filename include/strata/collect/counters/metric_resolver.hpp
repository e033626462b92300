#include <strata/version.hpp>
#ifndef STRATA_COLLECT_COUNTERS_METRIC_RESOLVER_HPP
#define STRATA_COLLECT_COUNTERS_METRIC_RESOLVER_HPP

#include <strata/base/edit_distance.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile/metric.hpp>
#include <strata/profile/metric_set.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

STRATA_BEGIN
namespace detail {

/// Turns wanted names into a metric_set for a chip that is known by has(name) alone.
template <class Has>
class metric_resolver {
 public:
  metric_resolver(Has& has, vec<std::string> const& chip_names)
      : has_(has), chip_names_(chip_names) {}

  metric_set run(vec<std::string> const& wanted) {
    for (std::string const& name : wanted) {
      if (set_.find(name) != nullptr) continue;
      if (metric const* entry = find_metric(name)) {
        if (std::string reason = why_absent(*entry); !reason.empty()) {
          set_.absent.push_back({name, std::move(reason)});
        } else {
          add(*entry);
        }
      } else if (is_cupti_name(name)) {
        add_raw(name);
      } else {
        set_unknown(name);
      }
    }
    return std::move(set_);
  }

 private:
  bool available(std::string_view name) {
    if (is_cupti_name(name)) return has_(std::string(name));
    metric const* entry = find_metric(name);
    return entry != nullptr && !choice(*entry).empty();
  }

  /// The first of the alternatives whose names all exist; empty where there is none. One in which
  /// everything is optional needs at least one name.
  std::string_view choice(metric const& entry) {
    std::string_view rest = entry.formula;
    while (!rest.empty()) {
      std::string_view const alternative = trimmed(take_until(rest, "|"));
      bool complete = true;
      bool any = false;
      for_each_name(alternative, [&](std::string_view name, bool optional) {
        if (!complete) return;
        bool const there = available(name);
        any = any || there;
        complete = there || optional;
      });
      if (complete && any) return alternative;
    }
    return {};
  }

  /// Why a metric that is in the catalogue cannot be had; empty where it can.
  std::string why_absent(metric const& entry) {
    if (!choice(entry).empty()) return {};
    vec<std::string_view> missing;
    list_missing(entry, missing);
    std::string reason;
    for (std::string_view const name : missing) {
      reason += reason.empty() ? "this chip lacks " : ", ";
      reason += name;
    }
    bool const choices = entry.formula.find('|') != std::string_view::npos;
    return reason + (choices ? " and what could stand in" : "");
  }

  /// The CUPTI names that the first alternative lacks, in itself or in what it is derived from.
  void list_missing(metric const& entry, vec<std::string_view>& missing) {
    std::string_view rest = entry.formula;
    for_each_name(take_until(rest, "|"), [&](std::string_view name, bool) {
      if (available(name)) return;
      if (metric const* input = find_metric(name)) {
        list_missing(*input, missing);
      } else if (std::find(missing.begin(), missing.end(), name) == missing.end()) {
        missing.push_back(name);
      }
    });
  }

  void add(metric const& entry) {
    if (set_.find(entry.key) != nullptr) return;
    std::string_view const formula = choice(entry);
    resolved_metric made;
    made.key = entry.key;
    made.unit = entry.unit;
    made.level = entry.level;
    made.combine = entry.combine;
    made.stand_in = !begins_with(entry.formula, formula);
    made.formula = formula;
    for_each_name(formula, [&](std::string_view name, bool) {
      if (!available(name)) return;
      if (is_cupti_name(name)) {
        made.counters.emplace_back(name);
      } else {
        made.derived = true;
        add(*find_metric(name));
      }
    });
    set_.metrics.push_back(std::move(made));
  }

  /// A CUPTI name; one without a rollup is a sum.
  void add_raw(std::string const& name) {
    std::string const sum = name + ".sum";
    std::string const& found = has_(name) ? name : has_(sum) ? sum : std::string();
    if (found.empty()) {
      set_unknown(name);
      return;
    }
    if (set_.find(found) != nullptr) return;
    resolved_metric made;
    made.key = found;
    made.formula = found;
    made.level = level_of(found);
    made.combine = combine_of(found);
    made.counters.push_back(found);
    set_.metrics.push_back(std::move(made));
  }

  void set_unknown(std::string const& name) {
    if (is_cupti_name(name)) {
      set_.unknown.push_back({name, nearest_counters(name)});
      return;
    }
    nearest_names nearest(name);
    for (metric const& each : metric_list()) nearest.consider(each.key);
    for (metric_preset const& each : preset_list()) nearest.consider(each.name);
    set_.unknown.push_back({name, nearest.best()});
  }

  /// The chip's names nearest to a CUPTI name, with its rollup or the commonest where they have it.
  vec<std::string> nearest_counters(std::string const& name) {
    std::size_t const dot = name.find('.', name.find("__"));
    std::string const base = name.substr(0, dot);
    std::string const rollup = dot == std::string::npos ? std::string() : name.substr(dot);
    nearest_names nearest(base);
    for (std::string const& each : chip_names_) nearest.consider(each);
    vec<std::string> found = nearest.best();
    for (std::string& each : found) {
      if (has_(each + rollup)) {
        each += rollup;
      } else if (has_(each + ".sum")) {
        each += ".sum";
      }
    }
    return found;
  }

  Has& has_;
  vec<std::string> const& chip_names_;
  metric_set set_;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_COUNTERS_METRIC_RESOLVER_HPP
