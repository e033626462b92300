#ifndef STRATA_BASE_NUMBERS_HPP
#define STRATA_BASE_NUMBERS_HPP

// What Strata needs of <cmath> and <algorithm> for numbers. These two, <mutex> and <memory> took a
// third of all standard headers' time and memory: <cmath> of C++17 has Bessel functions.

#include <strata/base/macros.hpp>

#include <cstdint>
#include <cstring>

STRATA_BEGIN_LIGHT
namespace detail {

// What was never given or measured is NaN. Under -ffast-math, which LLM code is often built with,
// std::isnan and std::isfinite are constants in the functions of the program; the bits of the
// number are not. By reference: compilers may also assume that no argument is NaN.

inline constexpr double not_a_number = __builtin_nan("");

/// The number without its sign, as its bits; more than those of infinity for NaN.
inline std::uint64_t magnitude_bits(double const& value) noexcept {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits & 0x7fff'ffff'ffff'ffffu;
}

inline constexpr std::uint64_t infinity_bits = 0x7ff0'0000'0000'0000u;

inline bool is_nan(double const& value) noexcept { return magnitude_bits(value) > infinity_bits; }
inline bool is_finite(double const& value) noexcept {
  return magnitude_bits(value) < infinity_bits;
}
/// For what may be NaN: g++ for x86 takes NaN > 0 for true where the program has -ffast-math.
inline bool is_positive(double const& value) noexcept {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits - 1 < infinity_bits;
}

}  // namespace detail
STRATA_END_LIGHT

STRATA_BEGIN
namespace detail {

/// The first of two where neither is the smaller, or larger, one.
template <class Number>
constexpr Number const& smaller(Number const& a, Number const& b) noexcept {
  return b < a ? b : a;
}
template <class Number>
constexpr Number const& larger(Number const& a, Number const& b) noexcept {
  return a < b ? b : a;
}

/// The whole part of a number, at most 4e18; 0 of what is no number.
inline std::int64_t whole_part(double const& value) noexcept {
  constexpr double most = 4e18;
  return is_nan(value) ? 0 : static_cast<std::int64_t>(smaller(larger(value, -most), most));
}

/// Measured parts add up to this much more than their whole: clocks, rounding.
inline constexpr double max_of_whole = 1.0005;

/// A part of a whole, from 0 to 1; NaN without a whole, and where the part is larger: the two are
/// not of the same work, and no reader could use such a share.
inline double share_of(double const& part, double const& whole) noexcept {
  if (!is_positive(whole) || !is_finite(part) || part > max_of_whole * whole) return not_a_number;
  return smaller(part / whole, 1.0);
}

inline double rounded_down(double value) noexcept { return __builtin_floor(value); }
inline double square_root(double value) noexcept { return __builtin_sqrt(value); }

}  // namespace detail
STRATA_END

#endif  // STRATA_BASE_NUMBERS_HPP
