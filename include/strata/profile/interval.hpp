#include <strata/version.hpp>
#ifndef STRATA_PROFILE_INTERVAL_HPP
#define STRATA_PROFILE_INTERVAL_HPP

#include <strata/base/macros.hpp>
#include <strata/profile/records.hpp>

#include <cstdint>
#include <limits>

STRATA_BEGIN
namespace detail {

inline constexpr std::int64_t latest_time = (std::numeric_limits<std::int64_t>::max)();

/// ns from begin to end; 0 where time runs backwards or the device lost it.
constexpr std::int64_t elapsed(std::int64_t begin, std::int64_t end) noexcept {
  if (begin == lost_time || end <= begin) return 0;
  std::uint64_t const length = static_cast<std::uint64_t>(end) - static_cast<std::uint64_t>(begin);
  return length > static_cast<std::uint64_t>(latest_time) ? latest_time
                                                          : static_cast<std::int64_t>(length);
}

/// The sum of two numbers that are not negative, at most the largest number.
constexpr std::int64_t add_saturated(std::int64_t sum, std::int64_t more) noexcept {
  return more > latest_time - sum ? latest_time : sum + more;
}

/// A size as a signed number, at most the largest.
constexpr std::int64_t signed_bytes(std::uint64_t bytes) noexcept {
  return bytes > static_cast<std::uint64_t>(latest_time) ? latest_time
                                                         : static_cast<std::int64_t>(bytes);
}

/// A sum of durations as whole ns.
constexpr std::int64_t whole_ns(double sum) noexcept {
  if (!(sum > 0.0)) return 0;
  return sum >= 9.2e18 ? latest_time : static_cast<std::int64_t>(sum + 0.5);
}

}  // namespace detail
STRATA_END

#endif  // STRATA_PROFILE_INTERVAL_HPP
