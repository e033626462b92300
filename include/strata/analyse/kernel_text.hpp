#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_KERNEL_TEXT_HPP
#define STRATA_ANALYSE_KERNEL_TEXT_HPP

#include <strata/base/macros.hpp>

#include <cstddef>
#include <cstdlib>
#include <string>
#include <string_view>

#if defined(__GNUC__)
#include <cxxabi.h>
#endif

// Kernel names as a person reads them.

STRATA_BEGIN
namespace detail {

/// The name in C++, or nothing where it is not a mangled name or too long for the demangler.
inline std::string demangled_text(std::string const& mangled) {
  // Without this test the demangler takes the C name `f` for the type float.
  if (mangled.compare(0, 2, "_Z") != 0) return {};
#if defined(__GNUC__)
  int status = 0;
  char* const text = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
  if (text == nullptr) return {};
  std::string result = status == 0 ? text : "";
  std::free(text);
  return result;
#else
  return {};
#endif
}

/// Past the bracket that closes the one at `at`, or the end. Operators like `->` and comparisons in
/// parentheses do not count as brackets.
inline std::size_t past_brackets(std::string_view text, std::size_t at) {
  std::string open;
  for (; at < text.size(); ++at) {
    char const each = text[at];
    if (each == '<' || each == '(' || each == '[' || each == '{') {
      open += each;
    } else if (each == '>') {
      if (open.back() == '<' && text[at - 1] != '-') open.pop_back();
    } else if (each == ')' || each == ']' || each == '}') {
      char const opened = each == ')' ? '(' : each == ']' ? '[' : '{';
      while (!open.empty() && open.back() == '<') open.pop_back();
      if (!open.empty() && open.back() == opened) open.pop_back();
    }
    if (open.empty()) return at + 1;
  }
  return text.size();
}

inline bool continues_with(std::string_view text, std::size_t at, std::string_view what) noexcept {
  return text.compare(at, what.size(), what) == 0;
}

/// Past the name of an operator that begins at `at`, or `at` where there is none.
inline std::size_t past_operator(std::string_view text, std::size_t at) {
  constexpr std::string_view word = "operator";
  constexpr std::string_view symbols = "+-*/%^&|~!=<>,";
  if (!continues_with(text, at, word)) return at;
  std::size_t next = at + word.size();
  if (next >= text.size()) return at;
  if (continues_with(text, next, "()") || continues_with(text, next, "[]")) return next + 2;
  if (symbols.find(text[next]) != std::string_view::npos) {
    std::size_t const end = text.find_first_not_of(symbols, next);
    return end == std::string_view::npos ? text.size() : end;
  }
  if (text[next] != ' ' && text[next] != '"') return at;
  // A conversion, new, delete or a literal: up to its arguments.
  while (next < text.size() && text[next] != '(')
    next = text[next] == '<' ? past_brackets(text, next) : next + 1;
  return next;
}

/// Past what may follow the arguments of a function in whose scope a name stands.
inline std::size_t past_qualifiers(std::string_view text, std::size_t at) noexcept {
  for (bool more = true; more;) {
    more = false;
    for (std::string_view const word : {" const", " volatile", " &&", " &", " noexcept"}) {
      if (!continues_with(text, at, word)) continue;
      at += word.size();
      more = true;
    }
  }
  return at;
}

/// The name of a function without return type, namespaces, template arguments and arguments.
inline std::string_view short_function_name(std::string_view text) {
  constexpr std::string_view unnamed = "(anonymous namespace)";
  constexpr std::size_t open_end = std::string_view::npos;
  std::size_t begin = 0;  // of the part of the name that is being read
  std::size_t end = open_end;
  std::size_t at = 0;
  auto const part = [&](std::size_t until) {
    return text.substr(begin, (end == open_end ? until : end) - begin);
  };
  auto const begin_part = [&](std::size_t where) {
    begin = at = where;
    end = open_end;
  };
  while (at < text.size()) {
    std::size_t const after_operator = at == begin ? past_operator(text, at) : at;
    if (after_operator != at) {
      at = after_operator;
    } else if (continues_with(text, at, unnamed)) {
      at += unnamed.size();
    } else if (continues_with(text, at, "::")) {
      begin_part(at + 2);
    } else if (continues_with(text, at, " <")) {  // `operator<< <int>`
      if (end == open_end) end = at;
      ++at;
    } else if (text[at] == ' ' && part(at) != "decltype") {
      begin_part(at + 1);
    } else if (text[at] == '<' || text[at] == '[') {
      if (end == open_end) end = at;
      at = past_brackets(text, at);
    } else if (text[at] == '{') {
      at = past_brackets(text, at);
    } else if (text[at] == '(') {
      std::string_view const name = part(at);
      if (name == "decltype" || name == "decltype ") {
        at = past_brackets(text, at);
      } else if (name.empty()) {  // a function that returns a pointer to one: `void (*f(int))(int)`
        std::size_t const inner = text.find_first_not_of("*&", at + 1);
        begin_part(inner == open_end ? text.size() : inner);
      } else {
        std::size_t const next = past_qualifiers(text, past_brackets(text, at));
        if (!continues_with(text, next, "::")) return name;
        at = next;
      }
    } else {
      ++at;
    }
  }
  std::string_view const name = part(text.size());
  return name.empty() ? text : name;
}

/// The last identifier before the first template arguments of a mangled name that cannot be
/// demangled; the whole where there is none.
inline std::string_view short_mangled_name(std::string_view mangled) noexcept {
  if (mangled.substr(0, 2) != "_Z") return mangled;
  std::string_view name = mangled;
  std::size_t at = 2;
  while (at < mangled.size() && (mangled[at] == 'N' || mangled[at] == 'K' || mangled[at] == 'L'))
    ++at;
  if (continues_with(mangled, at, "St")) at += 2;
  for (;;) {
    if (at < mangled.size() && mangled[at] == 'L') ++at;
    std::size_t length = 0;
    std::size_t next = at;
    while (next < mangled.size() && mangled[next] >= '0' && mangled[next] <= '9' && length < 100000)
      length = length * 10 + static_cast<std::size_t>(mangled[next++] - '0');
    if (length == 0 || length > mangled.size() - next) return name;
    name = mangled.substr(next, length);
    at = next + length;
  }
}

}  // namespace detail
STRATA_END

#endif  // STRATA_ANALYSE_KERNEL_TEXT_HPP
