// What holds of every output, whatever names are in it.
#ifndef STRATA_TESTS_FUZZ_OUTPUTS_HPP
#define STRATA_TESTS_FUZZ_OUTPUTS_HPP

#include <strata/base/text_writer.hpp>

#include <nlohmann/json.hpp>

#include <cstddef>
#include <string>
#include <string_view>

#include "fuzz.hpp"

namespace fuzz {

template <class Write>
std::string text_of(Write write) {
  std::string text;
  strata::detail::text_writer out(text);
  write(out);
  out.flush();
  return text;
}

inline void check_json(std::string const& text, char const* what) {
  auto const read = nlohmann::json::parse(text, nullptr, false);
  require(!read.is_discarded(), what, text);
}

/// Rows of equal length, by the rules of RFC 4180.
inline void check_csv(std::string const& text) {
  std::size_t columns = 0, cells = 1, rows = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') quoted = !quoted;
    if (quoted) continue;
    if (text[i] == ',') ++cells;
    if (text[i] != '\n') continue;
    if (rows++ == 0) columns = cells;
    require(cells == columns, "each row of a CSV has the cells of its head", text);
    cells = 1;
  }
  require(!quoted, "each quote of a CSV is closed", text);
}

inline void check_console(std::string const& text) {
  for (char const c : text) {
    auto const byte = static_cast<unsigned char>(c);
    require(c == '\n' || (byte >= ' ' && byte != 0x7f), "the console gets no control bytes", text);
  }
}

/// A table of Markdown: each line that is a row has the cells of its head, and none is HTML.
inline void check_markdown(std::string const& text, std::size_t bars) {
  std::size_t seen = 0;
  bool escaped = false;
  bool row = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    bool const begins = i == 0 || text[i - 1] == '\n';
    if (begins) row = text[i] == '|';
    if (begins) seen = 0;
    seen += text[i] == '|' && !escaped;
    require(escaped || text[i] != '<', "no name is markup", text);
    require(text[i] != '\n' || !row || seen == bars, "no name ends a cell", text);
    escaped = !escaped && text[i] == '\\';
  }
}

inline std::size_t count_of(std::string const& text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t found = text.find(part); found != text.npos; found = text.find(part, found + 1))
    ++count;
  return count;
}

}  // namespace fuzz

#endif  // STRATA_TESTS_FUZZ_OUTPUTS_HPP
