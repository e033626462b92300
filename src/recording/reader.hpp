#ifndef STRATA_SRC_RECORDING_READER_HPP
#define STRATA_SRC_RECORDING_READER_HPP

#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/recording/format.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

STRATA_BEGIN
namespace detail {

/// Reads the members of a recording into a profile. What is not known is passed over, what is not
/// there stays as it was, and what is in a list goes behind what is there. Memory: twice that of
/// the profile, which has at most 64 MiB and 16 bytes for each one of the text: a real one has 8.
class recording_reader {
 public:
  /// `size`: of all the text.
  explicit recording_reader(std::size_t size)
      : room_((std::uint64_t{64} << 20) + 16 * std::uint64_t{size}) {}

  /// Returns: whether the text has the form of a profile, or of a piece, to its last byte.
  template <class Object>
  bool read(std::string_view text, Object& object) {
    rest_ = text;
    keys_.clear();
    return kind() == recorded_kind::object && read_object(object) && rest_.empty();
  }

  /// One member: read if it is the next one.
  template <class Value>
  void field(char const* name, Value& value) {
    if (taken_ || key_ != name) return;
    taken_ = true;
    good_ = good_ && read_value(value);
  }

 private:
  static constexpr std::size_t max_keys = 4096;
  static constexpr unsigned deepest = 16;

  template <class Object>
  bool read_object(Object& object) {
    while (read_key()) {
      taken_ = false;
      recorded_fields::visit(*this, object);
      if (!taken_) skip(0);
      taken_ = true;
    }
    return good_;
  }

  template <class Value>
  bool read_value(Value& value) {
    recorded_kind const is = kind();
    if constexpr (std::is_floating_point<Value>::value) {
      std::string_view const bytes = take(sizeof value);
      if (is != recorded_kind::real || bytes.empty()) return false;
      std::memcpy(&value, bytes.data(), sizeof value);
      return true;
    } else if constexpr (std::is_same<Value, std::string>::value) {
      value = std::string(is == recorded_kind::text ? read_text() : std::string_view());
      return good_ && is == recorded_kind::text;
    } else if constexpr (is_vec<Value>) {
      return read_list(is, value);
    } else if constexpr (std::is_class<Value>::value) {
      return is == recorded_kind::object && read_object(value);
    } else {
      return is == recorded_kind::integer && read_integer(value);
    }
  }

  template <class Value>
  bool read_list(recorded_kind is, vec<Value>& list) {
    if constexpr (sizeof(Value) == 1) {
      std::string_view const bytes = is == recorded_kind::text ? read_text() : std::string_view();
      list.assign(bytes.size(), 0);
      if (!bytes.empty()) std::memcpy(list.data(), bytes.data(), bytes.size());
      return good_ && is == recorded_kind::text;
    } else if constexpr (is_record<Value>) {
      std::size_t words = 0;
      std::size_t count = 0;
      if (is != recorded_kind::records || !read_shape(words, count)) return false;
      if (!make_room(count, sizeof(Value))) return false;
      std::size_t const before = list.size();
      list.resize(before + count);
      if (count != 0) read_words(list.data() + before, sizeof(Value) / 4, words, count);
    } else {
      if (is != recorded_kind::list) return false;
      for (std::uint64_t left = number(); left > 0 && good_; --left) {
        if (!make_room(1, sizeof(Value))) return false;
        list.emplace_back();
        good_ = read_value(list.back()) && good_;
      }
    }
    return good_;
  }

  /// Whether so many elements are no more than the text can be about.
  bool make_room(std::uint64_t count, std::size_t size) {
    good_ = good_ && count <= room_ / size;
    if (good_) room_ -= count * size;
    return good_;
  }

  template <class Integer>
  bool read_integer(Integer& integer) {
    std::uint64_t const code = number();
    auto const value = static_cast<std::int64_t>(code >> 1 ^ (~(code & 1) + 1));
    if constexpr (std::is_same<Integer, bool>::value) {
      integer = value != 0;
      return value == 0 || value == 1;
    } else {
      integer = static_cast<Integer>(value);
      return static_cast<std::int64_t>(integer) == value;
    }
  }

  /// Words of a record, and how many records: eight words take a byte at least.
  bool read_shape(std::size_t& words, std::size_t& count) {
    constexpr std::uint64_t max_words = 1024;
    std::uint64_t const size = number();
    std::uint64_t const all = number();
    if (!good_ || size == 0 || size > max_words || all > rest_.size() / ((size + 7) / 8))
      return good_ = false;
    words = static_cast<std::size_t>(size);
    count = static_cast<std::size_t>(all);
    return true;
  }

  /// Records of `words` words into those of `own` words; null: nowhere.
  void read_words(void* target, std::size_t own, std::size_t words, std::size_t count) {
    vec<std::uint32_t> record(words > own ? words : own);
    for (auto* record_out = static_cast<char*>(target); count > 0 && good_; --count) {
      std::string_view const masks = take((words + 7) / 8);
      for (std::size_t i = 0; i < words && good_; ++i) {
        if ((static_cast<unsigned char>(masks[i / 8]) >> i % 8 & 1) == 0) continue;
        std::uint64_t const code = number();
        good_ = good_ && code <= 0xffffffffu;
        auto const change = static_cast<std::uint32_t>(code);
        record[i] += change >> 1 ^ (~(change & 1) + 1);
      }
      if (record_out == nullptr) continue;
      std::memcpy(record_out, record.data(), own * 4);
      record_out += own * 4;
    }
  }

  bool read_key() {
    std::uint64_t const which = number();
    if (which == 0 || !good_) return false;
    if (which == keys_.size() + 1 && which <= max_keys) keys_.push_back(read_text());
    good_ = good_ && which <= keys_.size();
    if (good_) key_ = keys_[static_cast<std::size_t>(which) - 1];
    return good_;
  }

  /// A value that no field takes.
  void skip(unsigned depth) {
    switch (kind()) {
      case recorded_kind::integer:
        (void)number();
        break;
      case recorded_kind::real:
        (void)take(sizeof(double));
        break;
      case recorded_kind::text:
        (void)read_text();
        break;
      case recorded_kind::records: {
        std::size_t words = 0;
        std::size_t count = 0;
        if (read_shape(words, count)) read_words(nullptr, 0, words, count);
        break;
      }
      case recorded_kind::list:
        for (std::uint64_t left = number(); left > 0 && good_; --left) skip_within(depth);
        break;
      case recorded_kind::object:
        while (read_key()) skip_within(depth);
        break;
      default:
        good_ = false;
    }
  }
  void skip_within(unsigned depth) {
    good_ = good_ && depth < deepest;
    if (good_) skip(depth + 1);
  }

  recorded_kind kind() {
    std::string_view const byte = take(1);
    return static_cast<recorded_kind>(byte.empty() ? 0xff : byte[0]);
  }
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
      std::string_view const byte = take(1);
      auto const bits = static_cast<unsigned char>(byte.empty() ? 0 : byte[0]);
      if (shift == 63 && bits > 1) break;
      value |= std::uint64_t{bits & 127u} << shift;
      if (bits < 128) return value;
    }
    good_ = false;
    return 0;
  }
  std::string_view read_text() {
    std::uint64_t const size = number();
    return size <= rest_.size() ? take(static_cast<std::size_t>(size)) : take(rest_.size() + 1);
  }
  /// The next bytes; none, and the text is not good, where there are fewer.
  std::string_view take(std::size_t count) {
    if (count > rest_.size()) {
      good_ = false;
      rest_ = {};
    }
    std::string_view const taken = rest_.substr(0, count);
    rest_.remove_prefix(taken.size());
    return taken;
  }

  std::string_view rest_;
  std::uint64_t room_;  // bytes of elements that may still be made
  std::string_view key_;
  bool taken_ = true;
  bool good_ = true;
  vec<std::string_view> keys_;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_SRC_RECORDING_READER_HPP
