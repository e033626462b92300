#ifndef STRATA_PROFILE_RANGE_PATHS_HPP
#define STRATA_PROFILE_RANGE_PATHS_HPP

// A path is the names of ranges from the outermost on: `block[3]/mlp`. The root of the tree has
// the empty path. It means what is outside ranges, or the whole step: the owner of the path knows.

#include <strata/base/text.hpp>
#include <strata/profile/overflow_names.hpp>
#include <strata/profile/records.hpp>

STRATA_BEGIN
namespace detail {

/// What tables show for work that no range launched.
inline constexpr std::string_view outside_ranges = "(outside ranges)";
/// A path within a sentence: "in block[3]/mlp", or "outside ranges".
inline std::string in_range(std::string_view path) {
  return path.empty() ? std::string("outside ranges") : "in " + std::string(path);
}

/// The name of a range with its index: `block[3]`, or `block[*]` for any.
inline std::string name_with_index(std::string name, std::int64_t index) {
  if (index == any_index) return name + "[*]";
  return index == no_index ? name : sentence(name) << '[' << index << ']';
}

/// A longer path loses its middle, `block[0]/a/…9f86d081…/mlp`: else paths of nested ranges would
/// be as long as all names above together.
inline constexpr std::size_t longest_path = 2000;  // bytes; a name has 1,000 at most

/// What a path needs to be continued.
struct path_end {
  fnv1a hash;            ///< of the whole path
  std::size_t head = 0;  ///< what stands before the mark; 0 without one
};

/// The path of a range with this name, below the path `above` which ends so. `end` becomes its end.
/// A middle that is left out is named by a hash of the whole path.
inline std::string path_below(std::string const& above, path_end const& above_end,
                              std::string_view name, path_end& end) {
  constexpr std::string_view dots = "\xE2\x80\xA6";
  constexpr std::size_t mark = 2 * dots.size() + 8;
  constexpr std::size_t longest_head = 900;
  constexpr std::size_t longest_tail = longest_path - mark - longest_head;
  std::string path = above;
  if (!above.empty()) path += '/';
  path += name;
  end = above_end;
  end.hash.add(std::string_view(path).substr(above.size()));
  if (path.size() <= longest_path && end.head == 0) return path;
  auto const is_within = [&path](std::size_t place) {  // a character of UTF-8
    return place < path.size() && (static_cast<unsigned char>(path[place]) & 0xC0) == 0x80;
  };
  std::size_t tail = path.size() - smaller(path.size(), longest_tail);
  if (end.head != 0) {
    tail = larger(tail, end.head + mark);
  } else {
    end.head = longest_head;
    while (end.head > longest_head - 3 && is_within(end.head)) --end.head;
  }
  for (int i = 0; i < 3 && is_within(tail); ++i) ++tail;
  sentence middle;
  std::uint64_t const hash = end.hash.value();
  middle << dots;
  for (int shift = 28; shift >= 0; shift -= 4)
    middle << "0123456789abcdef"[(hash >> 32 ^ hash) >> shift & 0xF];
  middle << dots;
  return path.replace(end.head, tail - end.head, middle);
}

/// What stands for all ranges that there was no room for: below the deepest level, beyond the
/// table of names, and beyond that of places in the tree.
inline constexpr std::string_view stand_ins[] = {deeper_ranges, other_names, other_ranges};

/// Whether a name stands for many ranges.
inline bool is_stand_in(std::string_view name) noexcept {
  for (std::string_view const stand_in : stand_ins)
    if (name == stand_in) return true;
  return false;
}
}  // namespace detail
STRATA_END

#endif  // STRATA_PROFILE_RANGE_PATHS_HPP
