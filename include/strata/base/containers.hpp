#include <strata/version.hpp>
#ifndef STRATA_BASE_CONTAINERS_HPP
#define STRATA_BASE_CONTAINERS_HPP

#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
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
  std::pair<Key, Value>* lower(Like const& key) noexcept {
    if (!entries_.empty() && entries_.back().first < key) return entries_.end();
    return entries_.begin() + entries_.count_first([&](std::pair<Key, Value> const& entry) {
      return entry.first < key;
    });
  }

  vec<std::pair<Key, Value>> entries_;
};

/// Numbers for texts: equal texts have one number, counted from one. Bounded in count and in bytes.
/// Threads: any.
class name_table {
 public:
  static constexpr std::size_t most_names = 65'536;
  static constexpr std::size_t most_bytes = std::size_t{64} << 20;

  name_table() : slots_(1024, 0) { texts_.emplace_back(); }

  /// The number of a text; `fallback`'s number, and a counted refusal, where the table is full.
  std::uint32_t intern(std::string_view text, std::string_view fallback,
                       bool* refused = nullptr) noexcept {
    std::lock_guard<std::mutex> lock(mutex_);
    if (std::uint32_t const known = slots_[find(text)]) return known;
    if (texts_.size() < most_names && bytes_ + text.size() <= most_bytes) return add(text);
    refused_.fetch_add(1, std::memory_order_relaxed);
    if (refused != nullptr) *refused = true;
    if (std::uint32_t const known = slots_[find(fallback)]) return known;
    return add(fallback);
  }

  std::uint64_t refused() const noexcept { return refused_.load(std::memory_order_relaxed); }

  vec<std::string> texts() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return texts_;
  }

 private:
  static std::size_t hash(std::string_view text) noexcept {
    std::uint64_t h = 0xcbf29ce484222325u;  // FNV-1a
    for (char const c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    return static_cast<std::size_t>(h ^ (h >> 32));
  }

  std::size_t find(std::string_view text) const noexcept {
    std::size_t const mask = slots_.size() - 1;
    std::size_t at = hash(text) & mask;
    while (slots_[at] != 0 && texts_[slots_[at]] != text) at = (at + 1) & mask;
    return at;
  }

  std::uint32_t add(std::string_view text) {
    if (texts_.size() * 2 > slots_.size()) {
      slots_.assign(slots_.size() * 2, 0);
      for (std::uint32_t i = 1; i < texts_.size(); ++i) slots_[find(texts_[i])] = i;
    }
    auto const number = static_cast<std::uint32_t>(texts_.size());
    texts_.emplace_back(text);
    slots_[find(text)] = number;
    bytes_ += text.size();
    return number;
  }

  mutable std::mutex mutex_;
  vec<std::uint32_t> slots_;  // open addressing, 0 is free
  vec<std::string> texts_;
  std::size_t bytes_ = 0;
  std::atomic<std::uint64_t> refused_{0};
};

}  // namespace detail

STRATA_END

#endif  // STRATA_BASE_CONTAINERS_HPP
