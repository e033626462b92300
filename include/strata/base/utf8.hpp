#ifndef STRATA_BASE_UTF8_HPP
#define STRATA_BASE_UTF8_HPP

#include <strata/base/macros.hpp>

#include <cstddef>
#include <string>
#include <string_view>

STRATA_BEGIN
namespace detail {

/// Replaces bytes that are not UTF-8: U+FFFD.
inline constexpr std::string_view replacement = "\xEF\xBF\xBD";
inline constexpr std::string_view ellipsis = "\xE2\x80\xA6";

/// One character of a text; not valid: the bytes that one replacement replaces.
struct utf8_character {
  char32_t value;
  unsigned length;
  bool valid;
};

/// Requires: index < text.size().
inline utf8_character decode_utf8(std::string_view text, std::size_t index) noexcept {
  auto const byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : static_cast<unsigned char>(0);
  };
  unsigned const lead = byte(index);
  if (lead < 0x80) return {lead, 1, true};
  unsigned const length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4) return {0, 1, false};
  // The second byte excludes overlong forms, surrogates and what lies beyond U+10FFFF.
  unsigned const lowest = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  unsigned const highest = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  char32_t value = lead & (0x7Fu >> length);
  for (unsigned i = 1; i < length; ++i) {
    unsigned const next = byte(index + i);
    if (next < (i == 1 ? lowest : 0x80) || next > (i == 1 ? highest : 0xBF)) return {0, i, false};
    value = value << 6 | (next & 0x3F);
  }
  return {value, length, true};
}

STRATA_DETAIL_COLD_CODE

/// Columns of a terminal that a character takes: 0, 1 or 2; right for what names are made of.
inline unsigned width_of(char32_t c) noexcept {
  struct span {
    char32_t first;
    char32_t last;
  };
  constexpr span none[] = {
      {0x0300, 0x036F},   {0x0483, 0x0489},  {0x0591, 0x05BD}, {0x0610, 0x061A}, {0x064B, 0x065F},
      {0x0900, 0x0902},   {0x093C, 0x093C},  {0x0941, 0x0948}, {0x094D, 0x094D}, {0x0E31, 0x0E31},
      {0x0E34, 0x0E3A},   {0x0E47, 0x0E4E},  {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF}, {0x200B, 0x200F},
      {0x2060, 0x2064},   {0x20D0, 0x20FF},  {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}, {0xFEFF, 0xFEFF},
      {0x1F3FB, 0x1F3FF}, {0xE0100, 0xE01EF}};
  constexpr span two[] = {
      {0x1100, 0x115F},   {0x231A, 0x231B},   {0x2329, 0x232A},   {0x23E9, 0x23EC},
      {0x2614, 0x2615},   {0x26A1, 0x26A1},   {0x2705, 0x2705},   {0x274C, 0x274C},
      {0x2B50, 0x2B50},   {0x2E80, 0x303E},   {0x3041, 0x33FF},   {0x3400, 0x4DBF},
      {0x4E00, 0xA4CF},   {0xA960, 0xA97F},   {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},
      {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},   {0x1F300, 0x1F64F},
      {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x1FA70, 0x1FAFF}, {0x20000, 0x3FFFD}};
  if (c < 0x300) return 1;
  for (span const& s : none)
    if (c >= s.first && c <= s.last) return 0;
  for (span const& s : two)
    if (c >= s.first && c <= s.last) return 2;
  return 1;
}

inline std::size_t display_width(std::string_view text) noexcept {
  std::size_t width = 0;
  for (std::size_t index = 0; index < text.size();) {
    utf8_character const c = decode_utf8(text, index);
    width += c.valid ? width_of(c.value) : 1;
    index += c.length;
  }
  return width;
}

/// A name that does no harm on a terminal: control characters and those that change the direction
/// of writing as escapes, bytes that are not UTF-8 replaced.
inline std::string console_text(std::string_view text) {
  constexpr char digits[] = "0123456789abcdef";
  std::string result;
  result.reserve(text.size());
  for (std::size_t index = 0; index < text.size();) {
    utf8_character const c = decode_utf8(text, index);
    std::string_view const bytes = text.substr(index, c.length);
    index += c.length;
    char32_t const v = c.value;
    if (!c.valid) {
      result += replacement;
    } else if (v == '\n' || v == '\t' || v == '\r') {
      result += '\\';
      result += v == '\n' ? 'n' : v == '\t' ? 't' : 'r';
    } else if (v < 0x20 || (v >= 0x7F && v < 0xA0)) {
      result += "\\x";
      result += digits[v >> 4];
      result += digits[v & 15];
    } else if ((v >= 0x200E && v <= 0x200F) || (v >= 0x2028 && v <= 0x202E) ||
               (v >= 0x2066 && v <= 0x2069)) {
      result += "\\u20";
      result += digits[v >> 4 & 15];
      result += digits[v & 15];
    } else {
      result += bytes;
    }
  }
  return result;
}

/// A text as a cell of that width: on the left, or on the right behind a blank at least.
inline std::string aligned(std::string_view text, std::size_t width, bool left = false) {
  std::size_t const taken = display_width(text);
  std::string cell(taken < width ? width - taken : left ? 0 : 1, ' ');
  return cell.insert(left ? 0 : cell.size(), text);
}

/// The longest begin of a text that fits into `width` columns.
inline std::string_view begin_of(std::string_view text, std::size_t width) noexcept {
  std::size_t end = 0;
  for (std::size_t used = 0; end < text.size();) {
    utf8_character const c = decode_utf8(text, end);
    used += c.valid ? width_of(c.value) : 1;
    if (used > width) break;
    end += c.length;
  }
  return text.substr(0, end);
}

/// The text within `width` columns; where it is longer, an ellipsis stands for all but its begin
/// and `tail_width` columns of its end. Requires: `tail_width` < `width`, or both are 0.
inline std::string shortened(std::string_view text, std::size_t width, std::size_t tail_width) {
  if (display_width(text) <= width) return std::string(text);
  if (width == 0) return {};
  std::size_t const head = begin_of(text, width - 1 - tail_width).size();
  // The longest end that fits; it begins at a character that takes columns.
  std::size_t tail = head;
  for (std::size_t rest = display_width(text.substr(head)); tail < text.size();) {
    utf8_character const c = decode_utf8(text, tail);
    unsigned const taken = c.valid ? width_of(c.value) : 1;
    if (rest <= tail_width && taken > 0) break;
    rest -= taken;
    tail += c.length;
  }
  std::string result(text.substr(0, head));
  result += ellipsis;
  result += text.substr(tail);
  return result;
}

/// The same without its middle.
inline std::string shortened(std::string_view text, std::size_t width) {
  return shortened(text, width, width == 0 ? 0 : (width - 1) / 2);
}

STRATA_DETAIL_END_CODE

}  // namespace detail
STRATA_END

#endif  // STRATA_BASE_UTF8_HPP
