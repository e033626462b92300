#include <strata/version.hpp>
#ifndef STRATA_ADAPTERS_GGML_ENDS_HPP
#define STRATA_ADAPTERS_GGML_ENDS_HPP

#include <strata/base/macros.hpp>
#include <strata/base/spin_mutex.hpp>

#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>

STRATA_BEGIN

namespace detail {

/// Remembers which nodes of the graphs so far were the last of their part: a node is asked about
/// before the one behind it is known. Threads: any. Cost: 128 kB, when the first node is learned;
/// once it is three quarters full, later nodes stay unknown.
class ggml_ends {
 public:
  enum class what : unsigned char { unknown, inside, last };

  ggml_ends() = default;
  ~ggml_ends() { delete[] keys_; }
  ggml_ends(ggml_ends const&) = delete;
  ggml_ends& operator=(ggml_ends const&) = delete;

  /// Never 0; its lowest bit is free.
  static std::uint64_t key_of(std::string_view name, int operation) noexcept {
    std::uint64_t hash = 0xcbf29ce484222325u ^ static_cast<std::uint64_t>(operation);
    for (char const c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    return (hash ^ (hash >> 32)) | 2u;
  }

  /// What is known of a node: nothing until one was seen behind it, in whichever thread.
  what known(std::uint64_t key) noexcept {
    spin_lock lock(mutex_);
    if (keys_ == nullptr) return what::unknown;
    std::uint64_t const at = place_of(key);
    if (at == 0) return what::unknown;
    return (at & 1u) != 0 ? what::last : what::inside;
  }

  /// A node was followed by another of its part, or was the last of it. What was the last once
  /// stays so.
  void learn(std::uint64_t key, what is) noexcept {
    spin_lock lock(mutex_);
    if (keys_ == nullptr) keys_ = new (std::nothrow) std::uint64_t[size]();
    if (keys_ == nullptr) return;
    std::uint64_t& at = place_of(key);
    if (at == 0) {
      if (count_ == size / 4 * 3) return;
      at = key & ~std::uint64_t{1};
      ++count_;
    }
    if (is == what::last) at |= 1u;
  }

 private:
  static constexpr std::size_t size = 1u << 14;

  /// Where this key is, or else would be. There is always a free place.
  std::uint64_t& place_of(std::uint64_t key) noexcept {
    key &= ~std::uint64_t{1};
    std::size_t at = static_cast<std::size_t>(key >> 2) % size;
    while (keys_[at] != 0 && (keys_[at] & ~std::uint64_t{1}) != key) at = (at + 1) % size;
    return keys_[at];
  }

  spin_mutex mutex_;
  std::uint64_t* keys_ = nullptr;
  std::size_t count_ = 0;
};

}  // namespace detail

STRATA_END

#endif  // STRATA_ADAPTERS_GGML_ENDS_HPP
