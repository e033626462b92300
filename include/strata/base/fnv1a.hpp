#include <strata/version.hpp>
#ifndef STRATA_BASE_FNV1A_HPP
#define STRATA_BASE_FNV1A_HPP

#include <strata/base/macros.hpp>

#include <cstdint>
#include <string_view>

STRATA_BEGIN
namespace detail {

/// The hash FNV-1a of bytes; a number counts as one of them.
class fnv1a {
 public:
  void add(std::uint64_t value) noexcept { value_ = (value_ ^ value) * 0x100000001b3u; }
  void add(std::string_view bytes) noexcept {
    for (char const c : bytes) add(std::uint64_t{static_cast<unsigned char>(c)});
  }
  std::uint64_t value() const noexcept { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325u;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_BASE_FNV1A_HPP
