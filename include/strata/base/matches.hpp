#include <strata/version.hpp>
#ifndef STRATA_BASE_MATCHES_HPP
#define STRATA_BASE_MATCHES_HPP

#include <strata/base/macros.hpp>

#include <cstddef>
#include <string_view>

STRATA_BEGIN

namespace detail {

/// Whether a text matches a pattern of characters, `?` (any one) and `*` (any number).
inline bool matches(std::string_view text, std::string_view pattern) noexcept {
  std::size_t t = 0, p = 0, star = std::string_view::npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace detail

STRATA_END

#endif  // STRATA_BASE_MATCHES_HPP
