#include <strata/version.hpp>
#ifndef STRATA_BASE_EDIT_DISTANCE_HPP
#define STRATA_BASE_EDIT_DISTANCE_HPP

#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

STRATA_BEGIN
namespace detail {

/// Insertions, deletions and replacements that make `a` of `b`.
inline std::size_t edit_distance(std::string_view a, std::string_view b) {
  vec<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      std::size_t const replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = (std::min)({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

/// The names nearest to a misspelt one, best first.
class nearest_names {
 public:
  explicit nearest_names(std::string_view wanted) : wanted_(wanted) {}

  void consider(std::string_view name) {
    std::size_t const limit = (std::max<std::size_t>)(2, wanted_.size() / 3);
    std::size_t const shorter = (std::min)(name.size(), wanted_.size());
    std::size_t const longer = (std::max)(name.size(), wanted_.size());
    bool const begins = shorter >= 3 && name.substr(0, shorter) == wanted_.substr(0, shorter);
    if (longer - shorter > limit && !begins) return;
    std::size_t distance = edit_distance(wanted_, name);
    if (begins) distance = (std::min)(distance, limit);
    if (distance <= limit) found_.emplace_back(distance, std::string(name));
  }

  /// At most `count` of them.
  vec<std::string> best(std::size_t count = 3) {
    std::sort(found_.begin(), found_.end());
    found_.erase(std::unique(found_.begin(), found_.end()), found_.end());
    vec<std::string> names;
    for (auto& each : found_) {
      if (names.size() == count) break;
      names.push_back(std::move(each.second));
    }
    return names;
  }

 private:
  std::string_view wanted_;
  vec<std::pair<std::size_t, std::string>> found_;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_BASE_EDIT_DISTANCE_HPP
