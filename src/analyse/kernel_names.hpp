#ifndef STRATA_ANALYSE_KERNEL_NAMES_HPP
#define STRATA_ANALYSE_KERNEL_NAMES_HPP

#include <strata/base/text.hpp>
#include <strata/base/utf8.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile.hpp>
#include <strata/tables/kernel_names.hpp>
#include <strata/tables/kernel_table.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

STRATA_BEGIN
namespace detail {

/// The name of a kernel without namespaces, arguments and template arguments.
inline std::string short_kernel_name(std::string const& mangled) {
  return kernel_texts(mangled).short_name;
}
/// The name with all of these; as it was where it cannot be demangled.
inline std::string full_kernel_name(std::string const& mangled) {
  return kernel_texts(mangled).whole;
}
/// The same of a name by its number, 1-based in profile::kernel_names; empty where it has none.
inline std::string short_kernel_name(profile const& source, std::uint32_t name) {
  bool const is_named = name != no_reference && name <= source.kernel_names.size();
  return is_named ? short_kernel_name(source.kernel_names[name - 1].mangled) : std::string();
}
inline std::string full_kernel_name(profile const& source, std::uint32_t name) {
  bool const is_named = name != no_reference && name <= source.kernel_names.size();
  return is_named ? full_kernel_name(source.kernel_names[name - 1].mangled) : std::string();
}

/// Whether a character may stand in an identifier.
constexpr bool is_of_name(char c) noexcept {
  return (lower(c) >= 'a' && lower(c) <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

/// The name of a kernel in a sentence: a long one without template arguments, or cut.
inline std::string kernel_text(std::string_view name) {
  constexpr std::size_t widest = 60;  // columns
  bool const is_long = display_width(name) > widest && name.find('<') != 0;
  return shortened(is_long ? name.substr(0, name.find('<')) : name, widest, 0);
}
/// Whether a text names the kernel, with or without template arguments.
inline bool names_kernel(std::string_view text, std::string_view kernel) {
  std::string const name = kernel_text(kernel.substr(0, kernel.find('<')));
  for (std::size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1)) {
    std::size_t const end = at + name.size();
    bool const begins = at == 0 || !is_of_name(text[at - 1]);
    if (begins && (end == text.size() || !is_of_name(text[end]))) return true;
  }
  return false;
}

/// `reduce<sum>` of `void llm::reduce<llm::sum>(llm::sum, float*)`: the short name with its
/// template arguments, without namespaces; the whole name where it has none.
inline std::string name_with_arguments(kernel_row const& row) {
  std::size_t const index = row.demangled.find(row.short_name + '<');
  if (index == std::string::npos) return row.demangled;
  std::size_t const begin = index + row.short_name.size();
  std::string name = row.short_name;
  for (std::size_t i = begin, end = past_brackets(row.demangled, begin); i < end; ++i) {
    if (!continues_with(row.demangled, i, "::")) {
      name += row.demangled[i];
      continue;
    }
    if (constexpr std::string_view unnamed = "(anonymous namespace)"; ends_with(name, unnamed))
      name.resize(name.size() - unnamed.size());
    while (is_of_name(name.back())) name.pop_back();
    ++i;
  }
  return name;
}

/// The short names; with template arguments, or whole, where another kernel would have the same.
/// Cost: O(k log k) for k rows.
inline vec<std::string> distinct_names(vec<kernel_row> const& rows) {
  vec<std::string> names;
  vec<std::uint32_t> order;
  for (kernel_row const& row : rows) {
    order.push_back(static_cast<std::uint32_t>(order.size()));
    names.push_back(row.short_name);
  }
  for (bool const whole : {false, true}) {
    order.sort([&](std::uint32_t a, std::uint32_t b) { return names[a] < names[b]; });
    for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
      bool shared = false;
      for (; end < order.size() && names[order[end]] == names[order[begin]]; ++end)
        shared = shared || rows[order[end]].mangled != rows[order[begin]].mangled;
      for (std::size_t i = begin; shared && i < end; ++i)
        names[order[i]] = whole ? rows[order[i]].demangled : name_with_arguments(rows[order[i]]);
    }
  }
  return names;
}

}  // namespace detail
STRATA_END

#endif  // STRATA_ANALYSE_KERNEL_NAMES_HPP
