#include <strata/version.hpp>
#ifndef STRATA_PROFILE_METRIC_SET_HPP
#define STRATA_PROFILE_METRIC_SET_HPP

#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile/metric.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

STRATA_BEGIN

/// A metric as one chip has it.
struct resolved_metric {
  std::string key;      ///< of the catalogue, or the CUPTI name as it was given
  std::string formula;  ///< over CUPTI names, or over keys of the same set
  std::string unit;     ///< empty where only CUPTI knows it
  metric_level level = metric_level::device;
  metric_combine combine = metric_combine::sum;
  bool derived = false;   ///< from other metrics of the set
  bool stand_in = false;  ///< by another counter than the first choice: the formula tells which

  /// The CUPTI names to be counted for it; none where it is derived.
  vec<std::string> counters;
};

/// A metric that the chip does not have.
struct absent_metric {
  std::string key;
  std::string reason;  ///< one sentence without a full stop
};

/// A name that means nothing.
struct unknown_metric {
  std::string name;
  vec<std::string> suggestions;  ///< nearest first

  /// "unknown metric 'l1_hit': did you mean l1_hit_rate?"
  std::string message() const {
    std::string text = "unknown metric '" + name + '\'';
    for (std::size_t i = 0; i < suggestions.size(); ++i) {
      text += (i == 0 ? ": did you mean " : i + 1 == suggestions.size() ? " or " : ", ");
      text += suggestions[i];
    }
    return text + (suggestions.empty() ? "" : "?");
  }
};

/// Counters that are configured with one call, since only those can share a pass.
struct metric_group {
  metric_place place = metric_place::memory;
  vec<std::string> counters;
};

/// What a request comes to on one chip.
struct metric_set {
  vec<resolved_metric> metrics;  ///< inputs stand before what is derived from them
  vec<absent_metric> absent;
  vec<unknown_metric> unknown;

  resolved_metric const* find(std::string_view key) const noexcept {
    for (resolved_metric const& each : metrics) {
      if (each.key == key) return &each;
    }
    return nullptr;
  }

  /// Every CUPTI name that is needed, once.
  vec<std::string> counters() const {
    vec<std::string> names;
    for (resolved_metric const& each : metrics) {
      for (std::string const& name : each.counters) {
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
      }
    }
    return names;
  }

  /// The value of a metric; sum_of(name) gives the combined value of a CUPTI name, NaN where there
  /// is none.
  /// Units: of the metric. NaN where an input is missing or a divisor is 0.
  template <class Counter>
  double value(resolved_metric const& of, Counter&& sum_of) const {
    return value_at_depth(of, sum_of, 0);
  }

 private:
  template <class Counter>
  double value_at_depth(resolved_metric const& of, Counter& sum_of, int depth) const {
    return detail::evaluate_formula(of.formula, [&](std::string_view name) -> double {
      if (detail::is_cupti_name(name)) return sum_of(name);
      resolved_metric const* input = find(name);
      if (input == nullptr || depth > 8) return std::numeric_limits<double>::quiet_NaN();
      return value_at_depth(*input, sum_of, depth + 1);
    });
  }
};

/// Whether counters of the SMs and of L1 get passes of their own.
enum class pass_layout : unsigned char {
  fewest_passes,      ///< whatever fits together is counted together
  cheap_ranges_apart  ///< memory counters apart from the SMs': one pass more, far cheaper ranges
};

namespace detail {

/// Puts counters into groups by their places.
class metric_grouper {
 public:
  explicit metric_grouper(pass_layout layout) : layout_(layout) {}

  vec<metric_group> run(vec<std::string> const& names) {
    for (metric_place const place :
         {metric_place::memory, metric_place::sm, metric_place::device_wide, metric_place::sass}) {
      for (std::string const& name : names) {
        if (place_of(name) == place) group_for(place).counters.push_back(name);
      }
    }
    for (std::string const& name : names) {
      if (place_of(name) == metric_place::anywhere) company_of(name).counters.push_back(name);
    }
    return std::move(groups_);
  }

 private:
  metric_group* at(metric_place place) noexcept {
    for (metric_group& each : groups_) {
      if (each.place == place) return &each;
    }
    return nullptr;
  }

  metric_group& group_for(metric_place place) {
    bool const joins = place == metric_place::sm && layout_ == pass_layout::fewest_passes;
    metric_group* found = joins ? at(metric_place::memory) : nullptr;
    if (found == nullptr) found = at(place);
    if (found != nullptr) return *found;
    groups_.push_back({place, {}});
    return groups_.back();
  }

  /// GPU time costs SASS counters a pass more, and links refuse constants.
  metric_group& company_of(std::string_view name) {
    bool const constant = ends_with(name, ".peak_sustained");
    metric_place const last = constant ? metric_place::sass : metric_place::device_wide;
    for (metric_place const place : {metric_place::memory, metric_place::sm, last}) {
      if (metric_group* found = at(place)) return *found;
    }
    return *groups_.insert(groups_.begin(), metric_group{metric_place::memory, {}});
  }

  pass_layout layout_;
  vec<metric_group> groups_;
};

}  // namespace detail

/// Divides the counters of a set into groups: the memory's, the SMs', the links', SASS. GPU time
/// and constants of the device join the cheapest.
inline vec<metric_group> group_metrics(metric_set const& set, pass_layout layout) {
  return detail::metric_grouper(layout).run(set.counters());
}

STRATA_END

#endif  // STRATA_PROFILE_METRIC_SET_HPP
