#include <strata/version.hpp>
#ifndef STRATA_BASE_CONTAINERS_HPP
#define STRATA_BASE_CONTAINERS_HPP

#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

STRATA_BEGIN

namespace detail {

/// Values by key in one sorted vector: <map> and <unordered_map> would be a sixth of what all of
/// Strata includes. Cost: a look-up is a binary search; a new key behind all others is appended,
/// elsewhere it moves those behind it.
template <class Key, class Value>
class flat_map {
 public:
  /// The value of a key, null where there is none.
  template <class Like>
  Value* find(Like const& key) noexcept {
    auto const at = lower(key);
    return at == entries_.end() || key < at->first ? nullptr : &at->second;
  }
  template <class Like>
  Value const* find(Like const& key) const noexcept {
    return const_cast<flat_map*>(this)->find(key);
  }

  /// The value of a key; where there was none, a new one.
  Value& operator[](Key const& key) {
    auto at = lower(key);
    if (at == entries_.end() || key < at->first) at = entries_.insert(at, {key, Value()});
    return at->second;
  }

  vec<std::pair<Key, Value>> const& entries() const noexcept { return entries_; }
  std::size_t size() const noexcept { return entries_.size(); }
  void clear() noexcept { entries_.clear(); }

 private:
  template <class Like>
  typename vec<std::pair<Key, Value>>::iterator lower(Like const& key) noexcept {
    if (!entries_.empty() && entries_.back().first < key) return entries_.end();
    return std::lower_bound(entries_.begin(), entries_.end(), key,
                            [](std::pair<Key, Value> const& entry, Like const& wanted) {
                              return entry.first < wanted;
                            });
  }

  vec<std::pair<Key, Value>> entries_;
};

}  // namespace detail

STRATA_END

#endif  // STRATA_BASE_CONTAINERS_HPP
