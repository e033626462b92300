// What the fuzz targets share: numbers and texts out of a fuzzer's bytes, and a stop where
// something is wrong.
#ifndef STRATA_TESTS_FUZZ_FUZZ_HPP
#define STRATA_TESTS_FUZZ_FUZZ_HPP

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace fuzz {

/// Takes values off a fuzzer's bytes; what is beyond their end is 0.
class input {
 public:
  input(std::uint8_t const* data, std::size_t size)
      : rest_(reinterpret_cast<char const*>(data), size) {}

  bool empty() const noexcept { return rest_.empty(); }

  template <class Value>
  Value take() {
    Value made{};
    fill(made);
    return made;
  }
  template <class Value>
  void fill(Value& to) {
    std::size_t const size = rest_.size() < sizeof to ? rest_.size() : sizeof to;
    std::memcpy(static_cast<void*>(&to), rest_.data(), size);
    rest_.remove_prefix(size);
  }

  /// Up to the next line's end.
  std::string line() {
    std::size_t const end = rest_.find('\n');
    std::string made(rest_.substr(0, end));
    rest_.remove_prefix(end == rest_.npos ? rest_.size() : end + 1);
    return made;
  }
  std::string_view rest() const noexcept { return rest_; }

 private:
  std::string_view rest_;
};

/// Which of `count` checks an input gets: all would take ten times as long. The bytes decide, so
/// that a changed input gets another one.
inline std::size_t choose(std::uint8_t const* data, std::size_t size, std::size_t count) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (std::size_t i = 0; i < size; ++i) hash = (hash ^ data[i]) * 0x100000001b3u;
  return static_cast<std::size_t>(hash >> 32) % count;
}

/// Ends the run, as a fault that the fuzzer keeps.
inline void require(bool holds, char const* what, std::string_view seen = {}) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n%.*s\n", what, static_cast<int>(seen.size()),
               seen.data());
  std::abort();
}

}  // namespace fuzz

#endif  // STRATA_TESTS_FUZZ_FUZZ_HPP
