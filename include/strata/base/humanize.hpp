#include <strata/version.hpp>
#ifndef STRATA_BASE_HUMANIZE_HPP
#define STRATA_BASE_HUMANIZE_HPP

#include <strata/base/finite.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/text.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

STRATA_BEGIN
namespace detail {

/// A number as people read it; the unit apart, so that a column can align both.
struct quantity {
  std::string number;
  std::string_view unit;

  std::string text() const {
    std::string result = number;
    if (!unit.empty()) result.append(" ").append(unit);
    return result;
  }
};

inline std::string fixed_string(double value, int decimals) {
  char text[longest_fixed];
  return std::string(text, fixed_text(text, value, decimals));
}

/// `1.2.3`
inline std::string version_text() {
  return std::to_string(STRATA_VERSION_MAJOR) + "." + std::to_string(STRATA_VERSION_MINOR) + "." +
         std::to_string(STRATA_VERSION_PATCH);
}

/// Three significant digits; whole numbers from 100 on.
inline std::string significant(double value) {
  double const magnitude = std::fabs(value);
  if (!is_finite(value)) return {};
  if (magnitude >= 99.95 || value == 0.0) return fixed_string(value, 0);
  if (magnitude >= 9.995) return fixed_string(value, 1);
  return fixed_string(value, magnitude >= 0.09995 ? 2 : 3);
}

/// The largest unit in which the rounded value is at least one. Each unit is `factor` times the one
/// before.
template <std::size_t Units>
inline quantity in_units(double value, double factor, std::string_view const (&units)[Units]) {
  if (!is_finite(value)) return {};
  std::size_t unit = 0;
  while (unit + 1 < Units && std::fabs(value) >= (factor > 1000.0 ? factor - 0.5 : 999.5)) {
    value /= factor;
    ++unit;
  }
  bool const whole = unit == 0 && std::floor(value) == value;
  return {whole ? fixed_string(value, 0) : significant(value), units[unit]};
}

inline quantity human_time(double ns) {
  constexpr std::string_view units[] = {"ns", "us", "ms", "s"};
  return in_units(ns, 1000.0, units);
}

inline quantity human_bytes(double bytes) {
  constexpr std::string_view units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  return in_units(bytes, 1024.0, units);
}

/// Operations a second.
inline quantity human_flops(double per_second) {
  constexpr std::string_view units[] = {"FLOP/s",  "KFLOP/s", "MFLOP/s",
                                        "GFLOP/s", "TFLOP/s", "PFLOP/s"};
  return in_units(per_second, 1000.0, units);
}

/// All digits with separators, up to ten million: `1,234,567`, then `12.3 M`.
inline quantity human_count(std::uint64_t count) {
  if (count >= 10000000) {
    constexpr std::string_view units[] = {"M", "G", "T", "P", "E"};
    return in_units(static_cast<double>(count) / 1e6, 1000.0, units);
  }
  char digits[longest_number];
  auto const length = static_cast<std::size_t>(integer_text(digits, count) - digits);
  std::string number;
  for (std::size_t i = 0; i < length; ++i) {
    if (i > 0 && (length - i) % 3 == 0) number += ',';
    number += digits[i];
  }
  return {number, {}};
}

/// A share of a whole in percent with one decimal; nothing without a whole.
inline std::string human_percent(double part, double whole) {
  if (!(whole > 0.0) || !is_finite(part)) return {};
  return fixed_string(100.0 * part / whole, 1);
}

}  // namespace detail
STRATA_END

#endif  // STRATA_BASE_HUMANIZE_HPP
