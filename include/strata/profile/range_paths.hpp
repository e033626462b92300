#include <strata/version.hpp>
#ifndef STRATA_PROFILE_RANGE_PATHS_HPP
#define STRATA_PROFILE_RANGE_PATHS_HPP

// A path is the names of ranges from the outermost on: `block[3]/mlp`. The root of the tree has
// the empty path. It means what is outside ranges, or the whole step: the owner of the path knows.

#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/text.hpp>
#include <strata/profile/records.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

STRATA_BEGIN
namespace detail {

/// What tables show for work that no range launched.
inline constexpr std::string_view outside_ranges = "(outside ranges)";
/// What is shown for an empty path that means the step.
inline constexpr std::string_view whole_step = "(the whole step)";

/// The path for a table, where an empty one is what is outside ranges.
inline std::string path_label(std::string_view path) {
  return std::string(path.empty() ? outside_ranges : path);
}
/// The same within a sentence: "in block[3]/mlp", or "outside ranges".
inline std::string in_range(std::string_view path) {
  return path.empty() ? std::string("outside ranges") : "in " + std::string(path);
}

/// The name of a range with its index: `block[3]`, or `block[*]` for any.
inline std::string name_with_index(std::string name, std::int64_t index) {
  if (index == any_index) return name + "[*]";
  return index == no_index ? name : sentence(name) << '[' << index << ']';
}

/// `block[3]/mlp` as `block[*]/mlp`.
inline std::string with_folded_indices(std::string_view path) {
  std::string folded;
  while (!path.empty()) {
    std::size_t const end = smaller(path.find('/'), path.size());
    std::string_view const name = path.substr(0, end);
    std::size_t const index = name.rfind('[');
    bool const numbered = index != name.npos && index + 2 < name.size() && name.back() == ']' &&
                          name.find_first_not_of("0123456789", index + 1) == name.size() - 1;
    folded += numbered ? name.substr(0, index) : name;
    if (numbered) folded += "[*]";
    if (end < path.size()) folded += '/';
    path.remove_prefix(smaller(end + 1, path.size()));
  }
  return folded;
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

#endif  // STRATA_PROFILE_RANGE_PATHS_HPP
