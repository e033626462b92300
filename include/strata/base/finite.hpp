#include <strata/version.hpp>
#ifndef STRATA_BASE_FINITE_HPP
#define STRATA_BASE_FINITE_HPP

#include <strata/base/macros.hpp>

#include <cstdint>
#include <cstring>

STRATA_BEGIN

namespace detail {

// What was never given or measured is NaN. Under -ffast-math, which LLM code is often built with,
// std::isnan and std::isfinite are constants; the bits of the number still tell. By reference:
// compilers may also assume that no argument is NaN.

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

}  // namespace detail

STRATA_END

#endif  // STRATA_BASE_FINITE_HPP
