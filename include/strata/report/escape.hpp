#include <strata/version.hpp>
#ifndef STRATA_REPORT_ESCAPE_HPP
#define STRATA_REPORT_ESCAPE_HPP

#include <strata/base/finite.hpp>
#include <strata/base/macros.hpp>
#include <strata/report/text_writer.hpp>
#include <strata/report/utf8.hpp>

#include <cmath>
#include <cstddef>
#include <string_view>

STRATA_BEGIN
namespace detail {

/// A JSON string with its quotes. Valid UTF-8 is kept, what is not becomes U+FFFD.
inline void write_json_string(text_writer& out, std::string_view text) {
  constexpr char digits[] = "0123456789abcdef";
  out.put('"');
  std::size_t done = 0;
  for (std::size_t at = 0; at < text.size();) {
    auto const c = static_cast<unsigned char>(text[at]);
    if (c >= 0x20 && c < 0x80 && c != '"' && c != '\\') {
      ++at;
      continue;
    }
    utf8_character const character = decode_utf8(text, at);
    if (character.valid && c >= 0x80) {
      at += character.length;
      continue;
    }
    out.write(text.substr(done, at - done));
    at += character.length;
    done = at;
    if (!character.valid) {
      out.write(replacement);
    } else if (c == '"' || c == '\\') {
      out.put('\\');
      out.put(static_cast<char>(c));
    } else if (c == '\n' || c == '\t' || c == '\r') {
      out.write(c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\r");
    } else {
      out.write("\\u00");
      out.put(digits[c >> 4]);
      out.put(digits[c & 15]);
    }
  }
  out.write(text.substr(done));
  out.put('"');
}

/// JSON has no NaN and no infinity: null.
inline void write_json_number(text_writer& out, double value) {
  if (is_finite(value)) {
    out.number(value);
  } else {
    out.write("null");
  }
}

/// One cell of text as in RFC 4180. What a spreadsheet would run as a formula gets a leading ';
/// bytes that are not UTF-8, and NUL, which many readers refuse, become U+FFFD.
inline void write_csv_cell(text_writer& out, std::string_view text) {
  constexpr std::string_view formula = "=+-@\t\r";
  bool const guarded = !text.empty() && formula.find(text.front()) != std::string_view::npos;
  bool const quoted = text.find_first_of(",\"\r\n") != std::string_view::npos;
  if (quoted) out.put('"');
  if (guarded) out.put('\'');
  std::size_t done = 0;
  for (std::size_t at = 0; at < text.size();) {
    auto const c = static_cast<unsigned char>(text[at]);
    if (c < 0x80 && c != '"' && c != 0) {
      ++at;
      continue;
    }
    utf8_character const character = decode_utf8(text, at);
    std::size_t const end = at + character.length;
    if (c == '"') {
      out.write(text.substr(done, end - done));
      out.put('"');
      done = end;
    } else if (!character.valid || c == 0) {
      out.write(text.substr(done, at - done));
      out.write(replacement);
      done = end;
    }
    at = end;
  }
  out.write(text.substr(done));
  if (quoted) out.put('"');
}

}  // namespace detail
STRATA_END

#endif  // STRATA_REPORT_ESCAPE_HPP
