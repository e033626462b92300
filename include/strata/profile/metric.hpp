#include <strata/version.hpp>
#ifndef STRATA_PROFILE_METRIC_HPP
#define STRATA_PROFILE_METRIC_HPP

#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile/formula.hpp>
#include <strata/profile/metric_catalogue.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

STRATA_BEGIN

/// What a CUPTI counter is read from: it decides what can share a pass and what a range costs.
enum class metric_place : std::uint8_t {
  memory,       ///< DRAM, L2, clocks of the device: cheap to read
  sm,           ///< SMs and L1: ten times dearer a range
  sass,         ///< instrumented code: exact, in a pass of its own
  device_wide,  ///< links: never together with any other place
  anywhere      ///< GPU time and constants of the device: with what else is counted
};

/// All metrics of the catalogue.
struct metric_list {
  metric const* begin() const noexcept { return std::begin(detail::metric_catalogue::entries); }
  metric const* end() const noexcept { return std::end(detail::metric_catalogue::entries); }
};

/// All presets.
struct preset_list {
  metric_preset const* begin() const noexcept {
    return std::begin(detail::metric_catalogue::presets);
  }
  metric_preset const* end() const noexcept { return std::end(detail::metric_catalogue::presets); }
};

/// The metric with this key, or null.
inline metric const* find_metric(std::string_view key) noexcept {
  for (metric const& each : metric_list()) {
    if (each.key == key) return &each;
  }
  return nullptr;
}

/// The preset with this name, or null.
inline metric_preset const* find_preset(std::string_view name) noexcept {
  for (metric_preset const& each : preset_list()) {
    if (each.name == name) return &each;
  }
  return nullptr;
}

constexpr std::string_view to_string(metric_level level) noexcept {
  switch (level) {
    case metric_level::sm:
      return "sm";
    case metric_level::l1:
      return "l1";
    case metric_level::l2:
      return "l2";
    case metric_level::hbm:
      return "hbm";
    case metric_level::link:
      return "link";
    case metric_level::cpu:
      return "cpu";
    default:
      return "device";
  }
}

constexpr std::string_view to_string(metric_place place) noexcept {
  switch (place) {
    case metric_place::memory:
      return "memory";
    case metric_place::sm:
      return "sm";
    case metric_place::sass:
      return "sass";
    case metric_place::device_wide:
      return "device_wide";
    default:
      return "anywhere";
  }
}

namespace detail {

constexpr bool begins_with(std::string_view text, std::string_view with) noexcept {
  return text.substr(0, with.size()) == with;
}

constexpr bool ends_with(std::string_view text, std::string_view with) noexcept {
  return text.size() >= with.size() && text.substr(text.size() - with.size()) == with;
}

/// Whether a name is CUPTI's: unit__counter.rollup.
constexpr bool is_cupti_name(std::string_view name) noexcept {
  return name.find("__") != std::string_view::npos;
}

/// The unit of a CUPTI name, without the group before it: `l1tex` of "X.Triage.l1tex__t_bytes.sum".
constexpr std::string_view unit_of(std::string_view name) noexcept {
  std::string_view const before = name.substr(0, name.find("__"));
  std::size_t const dot = before.rfind('.');
  return dot == std::string_view::npos ? before : before.substr(dot + 1);
}

inline bool is_one_of(std::string_view word, std::string_view words) noexcept {
  while (!words.empty()) {
    if (take_until(words, " ") == word) return true;
  }
  return false;
}

inline void expand_into(std::string_view request, vec<std::string>& names) {
  while (!request.empty()) {
    std::string_view const item = take_until(request, "+, \t");
    if (item.empty()) continue;
    if (metric_preset const* preset = find_preset(item)) {
      expand_into(preset->items, names);
    } else if (std::find(names.begin(), names.end(), item) == names.end()) {
      names.emplace_back(item);
    }
  }
}

}  // namespace detail

/// Where a CUPTI counter is read.
inline metric_place place_of(std::string_view cupti_name) noexcept {
  if (detail::ends_with(cupti_name, ".peak_sustained")) return metric_place::anywhere;
  if (cupti_name.find("_sass_") != std::string_view::npos) return metric_place::sass;
  std::string_view const unit = detail::unit_of(cupti_name);
  if (detail::is_one_of(unit, "sm smsp l1tex tex tpc idc gcc sm_sub")) return metric_place::sm;
  if (detail::is_one_of(unit, "pcie nvlrx nvltx nvl ctc c2c")) return metric_place::device_wide;
  if (detail::begins_with(cupti_name, "gpu__time_duration")) return metric_place::anywhere;
  return metric_place::memory;
}

/// Level of a CUPTI counter, by its unit.
inline metric_level level_of(std::string_view cupti_name) noexcept {
  std::string_view const unit = detail::unit_of(cupti_name);
  if (detail::is_one_of(unit, "dram fbpa mcc")) return metric_level::hbm;
  if (detail::is_one_of(unit, "lts ltc lrc l2 syslts")) return metric_level::l2;
  if (detail::is_one_of(unit, "l1tex tex")) return metric_level::l1;
  if (place_of(cupti_name) == metric_place::device_wide) return metric_level::link;
  if (detail::is_one_of(unit, "sm smsp tpc gpc idc gcc")) return metric_level::sm;
  return metric_level::device;
}

/// How values of a CUPTI name combine, by its rollup: counts add up, what CUPTI divided does not.
inline metric_combine combine_of(std::string_view cupti_name) noexcept {
  if (detail::ends_with(cupti_name, ".sum") || detail::ends_with(cupti_name, ".avg")) {
    return metric_combine::sum;
  }
  if (detail::ends_with(cupti_name, ".max") || detail::ends_with(cupti_name, ".peak_sustained")) {
    return metric_combine::maximum;
  }
  return metric_combine::mean;
}

/// The names in a request such as `hbm+l1_hit_rate+dram__bytes.sum`: presets become their metrics,
/// in order, each once; whatever else stays as it is.
inline vec<std::string> expand_metrics(std::string_view request) {
  vec<std::string> names;
  detail::expand_into(request, names);
  return names;
}

STRATA_END

#endif  // STRATA_PROFILE_METRIC_HPP
