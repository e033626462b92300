#ifndef STRATA_TABLES_KERNEL_NAMES_HPP
#define STRATA_TABLES_KERNEL_NAMES_HPP

// Kernel names as a person reads them.

#include <strata/profile.hpp>

#include <cxxabi.h>

STRATA_BEGIN
namespace detail {

/// The name in C++, or nothing where it is not a mangled name or too long for the demangler.
inline std::string demangled_text(std::string const& mangled) {
  // Without this test the demangler takes the C name `f` for the type float.
  if (mangled.compare(0, 2, "_Z") != 0) return {};
  int status = 0;
  char* const text = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
  if (text == nullptr) return {};
  std::string result = status == 0 ? text : "";
  std::free(text);
  return result;
}

/// Past the bracket that closes the one at `index`, or the end. Operators like `->` and comparisons
/// in parentheses do not count as brackets.
inline std::size_t past_brackets(std::string_view text, std::size_t index) {
  std::string open;
  for (; index < text.size(); ++index) {
    char const letter = text[index];
    if (letter == '<' || letter == '(' || letter == '[' || letter == '{') {
      open += letter;
    } else if (letter == '>') {
      if (open.back() == '<' && text[index - 1] != '-') open.pop_back();
    } else if (letter == ')' || letter == ']' || letter == '}') {
      char const opened = letter == ')' ? '(' : letter == ']' ? '[' : '{';
      while (!open.empty() && open.back() == '<') open.pop_back();
      if (!open.empty() && open.back() == opened) open.pop_back();
    }
    if (open.empty()) return index + 1;
  }
  return text.size();
}

inline bool continues_with(std::string_view text, std::size_t index,
                           std::string_view what) noexcept {
  return text.compare(index, what.size(), what) == 0;
}

/// Past the name of an operator that begins at `index`, or `index` where there is none.
inline std::size_t past_operator(std::string_view text, std::size_t index) {
  constexpr std::string_view word = "operator";
  constexpr std::string_view symbols = "+-*/%^&|~!=<>,";
  if (!continues_with(text, index, word)) return index;
  std::size_t next = index + word.size();
  if (next >= text.size()) return index;
  if (continues_with(text, next, "()") || continues_with(text, next, "[]")) return next + 2;
  if (symbols.find(text[next]) != std::string_view::npos) {
    std::size_t const end = text.find_first_not_of(symbols, next);
    return end == std::string_view::npos ? text.size() : end;
  }
  if (text[next] != ' ' && text[next] != '"') return index;
  // A conversion, new, delete or a literal: up to its arguments.
  while (next < text.size() && text[next] != '(')
    next = text[next] == '<' ? past_brackets(text, next) : next + 1;
  return next;
}

/// Past what may follow the arguments of a function in whose scope a name is.
inline std::size_t past_qualifiers(std::string_view text, std::size_t index) noexcept {
  for (bool more = true; more;) {
    more = false;
    for (std::string_view const word : {" const", " volatile", " &&", " &", " noexcept"}) {
      if (!continues_with(text, index, word)) continue;
      index += word.size();
      more = true;
    }
  }
  return index;
}

/// The name of a function without return type, namespaces, template arguments and arguments.
inline std::string_view short_function_name(std::string_view text) {
  constexpr std::string_view unnamed = "(anonymous namespace)";
  constexpr std::size_t open_end = std::string_view::npos;
  std::size_t begin = 0;  // of the part of the name that is being read
  std::size_t end = open_end;
  std::size_t index = 0;
  auto const part = [&](std::size_t until) {
    return text.substr(begin, (end == open_end ? until : end) - begin);
  };
  auto const begin_part = [&](std::size_t where) {
    begin = index = where;
    end = open_end;
  };
  while (index < text.size()) {
    std::size_t const after_operator = index == begin ? past_operator(text, index) : index;
    if (after_operator != index) {
      index = after_operator;
    } else if (continues_with(text, index, unnamed)) {
      index += unnamed.size();
    } else if (continues_with(text, index, "::")) {
      begin_part(index + 2);
    } else if (continues_with(text, index, " <")) {  // `operator<< <int>`
      if (end == open_end) end = index;
      ++index;
    } else if (text[index] == ' ' && part(index) != "decltype") {
      begin_part(index + 1);
    } else if (text[index] == '<' || text[index] == '[') {
      if (end == open_end) end = index;
      index = past_brackets(text, index);
    } else if (text[index] == '{') {
      index = past_brackets(text, index);
    } else if (text[index] == '(') {
      std::string_view const name = part(index);
      if (name == "decltype" || name == "decltype ") {
        index = past_brackets(text, index);
      } else if (name.empty()) {  // a function that returns a pointer to one: `void (*f(int))(int)`
        std::size_t const inner = text.find_first_not_of("*&", index + 1);
        begin_part(inner == open_end ? text.size() : inner);
      } else {
        std::size_t const next = past_qualifiers(text, past_brackets(text, index));
        if (!continues_with(text, next, "::")) return name;
        index = next;
      }
    } else {
      ++index;
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
  std::size_t index = 2;
  while (index < mangled.size() &&
         (mangled[index] == 'N' || mangled[index] == 'K' || mangled[index] == 'L'))
    ++index;
  if (continues_with(mangled, index, "St")) index += 2;
  for (;;) {
    if (index < mangled.size() && mangled[index] == 'L') ++index;
    std::size_t length = 0;
    std::size_t next = index;
    while (next < mangled.size() && mangled[next] >= '0' && mangled[next] <= '9' && length < 100000)
      length = length * 10 + static_cast<std::size_t>(mangled[next++] - '0');
    if (length == 0 || length > mangled.size() - next) return name;
    name = mangled.substr(next, length);
    index = next + length;
  }
}

/// The names of a kernel.
struct kernel_texts {
  std::string whole;  ///< as it was where it cannot be demangled
  std::string short_name;

  kernel_texts() = default;
  explicit kernel_texts(std::string const& mangled) : whole(demangled_text(mangled)) {
    short_name = whole.empty() ? short_mangled_name(mangled) : short_function_name(whole);
    if (whole.empty()) whole = mangled;
  }
};

}  // namespace detail
STRATA_END

#endif  // STRATA_TABLES_KERNEL_NAMES_HPP
