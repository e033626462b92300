#include <strata/version.hpp>
#ifndef STRATA_REPORT_DEFLATE_HPP
#define STRATA_REPORT_DEFLATE_HPP

#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

STRATA_BEGIN
namespace detail {

/// Deflate (RFC 1951) in zlib's frame (RFC 1950), with the codes that every reader knows: what was
/// there within 32 KB becomes a reference. Of events a fifth is left.
class deflater {
 public:
  /// Returns: the compressed bytes, until the next call.
  std::string_view compress(std::string_view from) {
    bytes_.resize(from.size() + from.size() / 8 + 64);
    output_ = bytes_.data();
    for (std::uint32_t& position : places_) position = nowhere;
    put(0x0178, 16);
    put(3, 3);  // the last block, with fixed codes
    for (std::size_t index = 0; index < from.size();) index += next(from, index);
    symbol(256);
    put(0, (8 - count_ % 8) % 8);
    std::uint32_t const sum = adler(from);
    for (unsigned shift = 32; shift > 0;) put(sum >> (shift -= 8) & 0xff, 8);
    for (; count_ > 0; count_ -= 8, bits_ >>= 8) *output_++ = static_cast<char>(bits_);
    return {bytes_.data(), static_cast<std::size_t>(output_ - bytes_.data())};
  }

 private:
  static constexpr std::uint32_t nowhere = 0xffffffffu;
  static constexpr std::size_t shortest = 4;
  static constexpr std::size_t longest = 258;
  static constexpr std::size_t window = 32768;

  /// Writes a byte, or a reference to what was there before. Returns: how many bytes that was.
  std::size_t next(std::string_view from, std::size_t index) {
    std::size_t const rest = from.size() - index;
    std::size_t const most = rest < longest ? rest : longest;
    std::size_t before = nowhere;
    std::uint32_t here;
    std::uint32_t there;
    if (rest >= shortest) {
      std::memcpy(&here, &from[index], shortest);
      std::uint32_t& position = places_[here * 2654435761u >> 20];
      before = position;
      position = static_cast<std::uint32_t>(index);
    }
    if (before != nowhere && index - before <= window) {
      std::memcpy(&there, &from[before], shortest);
      if (here == there) {
        std::size_t length = shortest;
        while (length + 8 <= most &&
               std::memcmp(&from[index + length], &from[before + length], 8) == 0)
          length += 8;
        while (length < most && from[index + length] == from[before + length]) ++length;
        reference(static_cast<unsigned>(length), static_cast<unsigned>(index - before));
        return length;
      }
    }
    symbol(static_cast<unsigned char>(from[index]));
    return 1;
  }

  void reference(unsigned length, unsigned distance) {
    unsigned rest = length - 3;
    unsigned extra = 0;
    while (rest >> extra >= 8) ++extra;
    symbol(length == longest ? 285 : 257 + 4 * extra + (rest >> extra));
    if (length != longest) put(rest & ((1u << extra) - 1), extra);
    rest = distance - 1;
    extra = 0;
    while (rest >> extra >= 4) ++extra;
    code(2 * extra + (rest >> extra), 5);
    put(rest & ((1u << extra) - 1), extra);
  }

  void symbol(unsigned value) {
    if (value < 144) return code(0x30 + value, 8);
    if (value < 256) return code(0x190 + value - 144, 9);
    if (value < 280) return code(value - 256, 7);
    code(0xC0 + value - 280, 8);
  }

  /// Codes are written with their first bit first.
  void code(unsigned code, unsigned count) {
    code = (code & 0x5555) << 1 | (code >> 1 & 0x5555);
    code = (code & 0x3333) << 2 | (code >> 2 & 0x3333);
    code = (code & 0x0f0f) << 4 | (code >> 4 & 0x0f0f);
    put(((code & 0xff) << 8 | code >> 8) >> (16 - count), count);
  }

  void put(std::uint64_t value, unsigned count) {
    bits_ |= value << count_;
    count_ += count;
    for (; count_ >= 32; count_ -= 8, bits_ >>= 8) *output_++ = static_cast<char>(bits_);
  }

  static std::uint32_t adler(std::string_view from) noexcept {
    std::uint32_t a = 1;
    std::uint32_t b = 0;
    for (std::size_t index = 0; index < from.size();) {
      std::size_t const end =
          from.size() - index < 5552 ? from.size() : index + 5552;  // no overflow
      for (; index < end; ++index) b += a += static_cast<unsigned char>(from[index]);
      a %= 65521;
      b %= 65521;
    }
    return b << 16 | a;
  }

  vec<char> bytes_;
  char* output_ = nullptr;
  std::uint64_t bits_ = 0;
  unsigned count_ = 0;
  std::uint32_t places_[4096] = {};  // of four bytes, by their hash
};

}  // namespace detail
STRATA_END

#endif  // STRATA_REPORT_DEFLATE_HPP
