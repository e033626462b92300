// Names and sentences of a program within Markdown: nothing of them is markup.
#ifndef STRATA_TOOLS_MARKDOWN_HPP
#define STRATA_TOOLS_MARKDOWN_HPP

#include <strata/base/utf8.hpp>
#include <string>
#include <string_view>

namespace tools {

/// A text that is no markup, in a paragraph, a list or a table.
inline std::string plain_markdown(std::string_view text) {
  std::string plain;
  for (char const c : strata::detail::console_text(text)) {
    if (std::string_view("\\`*_{}[]<>#+!|&~$@").find(c) != std::string_view::npos) plain += '\\';
    plain += c;
  }
  return plain;
}

/// A name as code; as plain text where it has what ends code, or a cell of a table.
inline std::string code_markdown(std::string_view name) {
  bool const ends_code = name.find_first_of("`|\\") != std::string_view::npos;
  return ends_code ? plain_markdown(name) : "`" + strata::detail::console_text(name) + "`";
}

}  // namespace tools

#endif  // STRATA_TOOLS_MARKDOWN_HPP
