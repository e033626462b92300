#include <strata/version.hpp>
#ifndef STRATA_BASE_TEXT_HPP
#define STRATA_BASE_TEXT_HPP

#include <strata/base/macros.hpp>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>

// std::to_chars for doubles: libstdc++ 11, libc++ 14, every MSVC of C++17.
#if defined(__cpp_lib_to_chars) || (defined(_LIBCPP_VERSION) && _LIBCPP_VERSION >= 14000)
#define STRATA_DETAIL_DOUBLE_TO_CHARS 1
#else
#define STRATA_DETAIL_DOUBLE_TO_CHARS 0
#endif

STRATA_BEGIN
namespace detail {

// Numbers as text, the same in every locale. Each writes at `to`, which has room for the longest
// result, and returns the end of what it wrote.

/// Room for any integer, any time and the shortest form of any double.
inline constexpr std::size_t longest_number = 40;
/// Room for a double with up to 9 decimals.
inline constexpr std::size_t longest_fixed = 344;

template <class Integer>
inline char* integer_text(char* to, Integer value) noexcept {
  static_assert(std::is_integral<Integer>::value && !std::is_same<Integer, bool>::value &&
                    !std::is_same<Integer, char>::value,
                "a number");
  return std::to_chars(to, to + longest_number, value).ptr;
}

/// ns as microseconds with three decimals: exact, no floating point.
inline char* microseconds_text(char* to, std::int64_t ns) noexcept {
  auto magnitude = static_cast<std::uint64_t>(ns);
  if (ns < 0) {
    *to++ = '-';
    magnitude = 0 - magnitude;
  }
  to = integer_text(to, magnitude / 1000);
  auto const rest = static_cast<unsigned>(magnitude % 1000);
  *to++ = '.';
  *to++ = static_cast<char>('0' + rest / 100);
  *to++ = static_cast<char>('0' + rest / 10 % 10);
  *to++ = static_cast<char>('0' + rest % 10);
  return to;
}

/// What the C library printed, with a point where the locale has something else.
inline char* without_locale(char* first, char* last) noexcept {
  char* to = first;
  for (char const* from = first; from != last;) {
    char const c = *from;
    if ((c >= '0' && c <= '9') || c == '-' || c == '+' || (c >= 'a' && c <= 'z')) {
      *to++ = c;
      ++from;
      continue;
    }
    *to++ = '.';
    while (from != last && !(*from >= '0' && *from <= '9')) ++from;
  }
  return to;
}

/// For standard libraries without std::to_chars for doubles: the fewest digits that read back the
/// same.
inline char* portable_double_text(char* to, double value) noexcept {
  int length = 0;
  for (int digits = 15; digits <= 17; ++digits) {
    length = std::snprintf(to, longest_number, "%.*g", digits, value);
    if (std::strtod(to, nullptr) == value) break;
  }
  return without_locale(to, to + length);
}

inline char* portable_fixed_text(char* to, double value, int decimals) noexcept {
  int const length = std::snprintf(to, longest_fixed, "%.*f", decimals, value);
  return without_locale(to, to + length);
}

/// The shortest text that reads back as the same double.
inline char* double_text(char* to, double value) noexcept {
#if STRATA_DETAIL_DOUBLE_TO_CHARS
  return std::to_chars(to, to + longest_number, value).ptr;
#else
  return portable_double_text(to, value);
#endif
}

/// Requires: 0 to 9 decimals, longest_fixed characters of room.
inline char* fixed_text(char* to, double value, int decimals) noexcept {
#if STRATA_DETAIL_DOUBLE_TO_CHARS
  return std::to_chars(to, to + longest_fixed, value, std::chars_format::fixed, decimals).ptr;
#else
  return portable_fixed_text(to, value, decimals);
#endif
}

}  // namespace detail
STRATA_END

#endif  // STRATA_BASE_TEXT_HPP
