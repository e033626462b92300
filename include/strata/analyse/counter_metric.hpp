#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_COUNTER_METRIC_HPP
#define STRATA_ANALYSE_COUNTER_METRIC_HPP

#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile/metric.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

STRATA_BEGIN

/// Of a range alone, or with all ranges below it.
enum class counter_scope : std::uint8_t { self, total };

/// What a value of a counter_table is made from.
enum class counter_method : std::uint8_t {
  counted,           ///< hardware counters
  derived,           ///< from other counted metrics
  timed,             ///< the trace of the timed steps
  counted_and_timed  ///< counts of the counted step by the time of a timed step
};

constexpr std::string_view to_string(counter_scope scope) noexcept {
  return scope == counter_scope::self ? "self" : "total";
}

constexpr std::string_view to_string(counter_method method) noexcept {
  switch (method) {
    case counter_method::counted:
      return "counted";
    case counter_method::derived:
      return "derived";
    case counter_method::timed:
      return "timed";
    default:
      return "counted+timed";
  }
}

/// A column of a counter_table.
struct counter_metric {
  std::string key;
  std::string unit;  ///< empty where only CUPTI knows it
  metric_level level = metric_level::device;
  counter_method method = counter_method::counted;
  std::string meaning;  ///< empty for CUPTI's own names
  std::string formula;
  vec<std::uint32_t> passes;  ///< the counting steps that it took, from 0, ascending
  bool stand_in = false;      ///< by another counter than the first choice
  std::string why_absent;     ///< set where the chip does not have it
};

/// A value for one range.
struct counter_cell {
  double value = std::numeric_limits<double>::quiet_NaN();
  std::uint32_t note =
      0;  ///< in counter_table::notes: why there is no value, or what to know of it
};

STRATA_END

#endif  // STRATA_ANALYSE_COUNTER_METRIC_HPP
