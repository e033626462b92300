#ifndef STRATA_ANALYSE_RANGE_PATHS_HPP
#define STRATA_ANALYSE_RANGE_PATHS_HPP

#include <strata/profile/range_paths.hpp>

#include <algorithm>

STRATA_BEGIN
namespace detail {

/// What is shown for an empty path that means the step.
inline constexpr std::string_view whole_step = "(the whole step)";

/// The path for a table, where an empty one is what is outside ranges.
inline std::string path_label(std::string_view path) {
  return std::string(path.empty() ? outside_ranges : path);
}

/// `block[3]/mlp` as `block[*]/mlp`.
inline std::string with_folded_indices(std::string_view path) {
  std::string folded;
  while (!path.empty()) {
    std::size_t const end = std::min(path.find('/'), path.size());
    std::string_view const name = path.substr(0, end);
    std::size_t const index = name.rfind('[');
    bool const numbered = index != name.npos && index + 2 < name.size() && name.back() == ']' &&
                          name.find_first_not_of("0123456789", index + 1) == name.size() - 1;
    folded += numbered ? name.substr(0, index) : name;
    if (numbered) folded += "[*]";
    if (end < path.size()) folded += '/';
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return folded;
}

/// The same of a path: what lies below such a one is in many ranges too.
inline bool is_in_stand_in(std::string_view path) noexcept {
  while (!path.empty()) {
    std::size_t const end = std::min(path.find('/'), path.size());
    if (is_stand_in(path.substr(0, end))) return true;
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return false;
}

/// Whether a name of the path has `[*]` in place of an index.
inline bool has_any_index(std::string_view path) noexcept {
  for (std::size_t at = path.find("[*]"); at != path.npos; at = path.find("[*]", at + 1))
    if (at > 0 && path[at - 1] != '/' && (at + 3 == path.size() || path[at + 3] == '/'))
      return true;
  return false;
}

/// Whether a range lies below another one, by their paths.
inline bool is_below(std::string_view path, std::string_view above) noexcept {
  return path.size() > above.size() && path[above.size()] == '/' &&
         path.substr(0, above.size()) == above;
}
/// Whether it is that range, or lies below it.
inline bool is_within(std::string_view path, std::string_view whole) noexcept {
  return path == whole || is_below(path, whole);
}

}  // namespace detail
STRATA_END

#endif  // STRATA_ANALYSE_RANGE_PATHS_HPP
