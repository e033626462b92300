#include <strata/version.hpp>
#ifndef STRATA_REPORT_PROTOBUF_HPP
#define STRATA_REPORT_PROTOBUF_HPP

#include <strata/base/macros.hpp>
#include <strata/base/utf8.hpp>
#include <strata/base/vec.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

STRATA_BEGIN
namespace detail {

/// The number of a field in the definition of its message.
using proto_field = std::uint32_t;

/// A message of protocol buffers, field by field in any order.
class proto_message {
 public:
  std::string_view bytes() const noexcept { return {bytes_.data(), used_}; }
  std::size_t size() const noexcept { return used_; }
  void clear() noexcept { used_ = 0; }

  void integer(proto_field field, std::uint64_t value) {
    end_at(varint(varint(room(2 * longest), field << 3), value));
  }
  void fixed(proto_field field, std::uint64_t value) {
    char* position = varint(room(longest + 8), field << 3 | 1);
    for (unsigned i = 0; i < 64; i += 8) *position++ = static_cast<char>(value >> i);
    end_at(position);
  }
  /// Bytes, or a message that is complete.
  void bytes(proto_field field, std::string_view value) {
    end_at(varint(varint(room(2 * longest), field << 3 | 2), value.size()));
    append(value);
  }
  /// What is not UTF-8 becomes U+FFFD.
  void text(proto_field field, std::string_view value) {
    std::string valid;
    std::size_t done = 0;
    for (std::size_t index = 0; index < value.size();) {
      utf8_character const c = decode_utf8(value, index);
      if (!c.valid) valid.append(value.substr(done, index - done)).append(replacement);
      index += c.length;
      if (!c.valid) done = index;
    }
    bytes(field, done == 0 ? value : std::string_view(valid.append(value.substr(done))));
  }
  void append(std::string_view bytes) {
    if (!bytes.empty()) std::memcpy(room(bytes.size()), bytes.data(), bytes.size());
    used_ += bytes.size();
  }

 private:
  friend class inner_message;
  static constexpr std::size_t longest = 10;  // of a number
  static constexpr std::size_t ends = 64;     // room for the lengths of messages that end here

  static char* varint(char* position, std::uint64_t value) noexcept {
    for (; value >= 0x80; value >>= 7) *position++ = static_cast<char>(value | 0x80);
    *position++ = static_cast<char>(value);
    return position;
  }
  char* room(std::size_t size) {
    if (bytes_.size() - used_ < size + ends) bytes_.resize(2 * bytes_.size() + size + ends);
    return bytes_.data() + used_;
  }
  void end_at(char const* end) noexcept { used_ = static_cast<std::size_t>(end - bytes_.data()); }

  vec<char> bytes_;
  std::size_t used_ = 0;
};

/// A message within another: what is written from here to the end of the block.
class inner_message {
 public:
  inner_message(proto_message& in, proto_field field) : in_(in) {
    in.end_at(in.varint(in.room(in.longest + 1), field << 3 | 2) + 1);
    begin_ = in.used_;
  }
  ~inner_message() {
    char length[proto_message::longest];
    std::size_t const size = in_.used_ - begin_;
    auto const bytes = static_cast<std::size_t>(in_.varint(length, size) - length);
    char* const content = in_.bytes_.data() + begin_;  // the message has room for its length
    if (bytes > 1)
      std::memmove(content + bytes - 1, content, size);  // one byte was left for the length
    std::memcpy(content - 1, length, bytes);
    in_.used_ += bytes - 1;
  }
  inner_message(inner_message const&) = delete;
  inner_message& operator=(inner_message const&) = delete;

 private:
  proto_message& in_;
  std::size_t begin_;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_REPORT_PROTOBUF_HPP
