#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_JSON_READER_HPP
#define STRATA_ANALYSE_JSON_READER_HPP

#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/text.hpp>
#include <strata/base/vec.hpp>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

STRATA_BEGIN

namespace detail {

enum class json_kind : std::uint8_t { null, boolean, number, text, array, object };

/// A value of a `json_document`, named by its place in it; 0 is none.
using json_node = std::uint32_t;

/// A JSON text, read strictly (RFC 8259): no trailing commas, no leading zeros, no comments,
/// nothing behind the value. Nesting deeper than 64 is refused. Errors: `read` is false and `error`
/// says the line and what was expected. What it returns refers to the document.
class json_document {
 public:
  json_document() { nodes_.push_back(parsed_node()); }
  json_document(json_document const&) = delete;
  json_document& operator=(json_document const&) = delete;

  bool read(std::string source) {
    source_ = std::move(source);
    nodes_.clear();
    nodes_.push_back(parsed_node());  // none
    decoded_.clear();
    decoded_.reserve(source_.size());  // texts never become longer, so views into it stay
    position_ = 0;
    error_.clear();
    blanks();
    if (value(std::string_view(), 0) == 0) return false;
    blanks();
    return position_ == source_.size() || fail("the end of the text");
  }

  std::string const& error() const noexcept { return error_; }
  json_node root() const noexcept { return nodes_.size() > 1 ? 1 : 0; }

  json_kind kind(json_node node) const noexcept { return nodes_[node].kind; }
  std::string_view key(json_node node) const noexcept { return nodes_[node].key; }
  /// The first element of an array or object, and the next of the same; 0 is the end.
  json_node first(json_node node) const noexcept { return nodes_[node].first; }
  json_node next(json_node node) const noexcept { return nodes_[node].next; }

  /// The member of that name; 0 where there is none.
  json_node find(json_node object, std::string_view name) const noexcept {
    if (kind(object) != json_kind::object) return 0;
    json_node member = first(object);
    while (member != 0 && key(member) != name) member = next(member);
    return member;
  }
  /// The text, or nothing where the value is none.
  std::string_view text(json_node node) const noexcept {
    return kind(node) == json_kind::text ? nodes_[node].text : std::string_view();
  }
  bool is_true(json_node node) const noexcept {
    return kind(node) == json_kind::boolean && nodes_[node].text == "true";
  }
  /// The number, or `otherwise` where the value is none.
  double number(json_node node, double otherwise = 0) const {
    if (kind(node) != json_kind::number) return otherwise;
    double result = otherwise;
    return read_double(nodes_[node].text, result) && is_finite(result) ? result : otherwise;
  }

 private:
  struct parsed_node {
    std::string_view key;
    std::string_view text;  // of a number, as it is in the source
    json_node first = 0;
    json_node next = 0;
    json_kind kind = json_kind::null;
  };
  static constexpr int deepest = 64;

  bool fail(char const* expected) {
    if (!error_.empty()) return false;
    std::size_t line = 1;
    for (std::size_t i = 0; i < position_; ++i) line += source_[i] == '\n' ? 1 : 0;
    error_ = sentence("line ") << line << ": " << expected << " was expected";
    return false;
  }
  json_node no_node(char const* expected) { return fail(expected) ? 1 : 0; }

  char peek() const noexcept { return position_ < source_.size() ? source_[position_] : '\0'; }
  bool take(char c) noexcept {
    if (position_ >= source_.size() || source_[position_] != c) return false;
    ++position_;
    return true;
  }
  bool take(std::string_view word) noexcept {
    if (source_.compare(position_, word.size(), word) != 0) return false;
    position_ += word.size();
    return true;
  }
  void blanks() noexcept {
    while (position_ < source_.size() && (source_[position_] == ' ' || source_[position_] == '\t' ||
                                          source_[position_] == '\n' || source_[position_] == '\r'))
      ++position_;
  }

  json_node make(json_kind kind, std::string_view key, std::string_view text) {
    parsed_node made;
    made.key = key;
    made.text = text;
    made.kind = kind;
    nodes_.push_back(made);
    return static_cast<json_node>(nodes_.size() - 1);
  }

  json_node value(std::string_view key, int depth) {
    char const begin = peek();
    if (begin == '{' || begin == '[') return elements(key, begin, depth);
    if (begin == '"') {
      std::string_view read;
      return quoted(read) ? make(json_kind::text, key, read) : 0;
    }
    if (begin == '-' || is_digit(begin)) return digits(key);
    if (take("true")) return make(json_kind::boolean, key, "true");
    if (take("false")) return make(json_kind::boolean, key, "false");
    if (take("null")) return make(json_kind::null, key, {});
    return no_node("a value");
  }

  /// An object or an array.
  json_node elements(std::string_view key, char begin, int depth) {
    bool const object = begin == '{';
    char const end = object ? '}' : ']';
    if (depth >= deepest) return no_node("less nesting");
    json_node const all = make(object ? json_kind::object : json_kind::array, key, {});
    ++position_;
    blanks();
    if (take(end)) return all;
    for (json_node last = 0;;) {
      blanks();
      std::string_view name;
      if (object && !member_name(name)) return 0;
      json_node const member = value(name, depth + 1);
      if (member == 0) return 0;
      (last == 0 ? nodes_[all].first : nodes_[last].next) = member;
      last = member;
      blanks();
      if (take(end)) return all;
      if (!take(',')) return no_node(object ? "',' or '}'" : "',' or ']'");
    }
  }

  bool member_name(std::string_view& name) {
    if (peek() != '"') return fail("a name in quotes");
    if (!quoted(name)) return false;
    blanks();
    if (!take(':')) return fail("':'");
    blanks();
    return true;
  }

  bool some_digits() noexcept {
    std::size_t const begin = position_;
    while (is_digit(peek())) ++position_;
    return position_ > begin;
  }
  json_node digits(std::string_view key) {
    std::size_t const begin = position_;
    take('-');
    if (!take('0') && !some_digits()) return no_node("a digit");
    if (is_digit(peek())) return no_node("a number without a leading zero");
    if (take('.') && !some_digits()) return no_node("a digit");
    if (take('e') || take('E')) {
      if (!take('+')) take('-');
      if (!some_digits()) return no_node("a digit");
    }
    return make(json_kind::number, key, std::string_view(source_).substr(begin, position_ - begin));
  }

  bool quoted(std::string_view& result) {
    ++position_;
    std::size_t const begin = decoded_.size();
    while (peek() != '"') {
      if (static_cast<unsigned char>(peek()) < 0x20) return fail("'\"'");
      if (!take('\\')) {
        decoded_ += source_[position_++];
      } else if (!escape()) {
        return false;
      }
    }
    ++position_;
    result = std::string_view(decoded_).substr(begin);
    return true;
  }

  bool escape() {
    constexpr std::string_view marks = "\"\\/bfnrt";
    constexpr std::string_view meanings = "\"\\/\b\f\n\r\t";
    std::size_t const found =
        position_ < source_.size() ? marks.find(source_[position_]) : marks.npos;
    if (found != marks.npos) {
      decoded_ += meanings[found];
      ++position_;
      return true;
    }
    std::uint32_t code = 0;
    if (!take('u') || !four(code)) return fail("an escape");
    if (code >= 0xdc00 && code < 0xe000) return fail("the first half of a surrogate pair");
    if (code >= 0xd800 && code < 0xdc00) {
      std::uint32_t low = 0;
      if (!take("\\u") || !four(low) || low < 0xdc00 || low >= 0xe000)
        return fail("the second half of a surrogate pair");
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    append(code);
    return true;
  }
  bool four(std::uint32_t& code) noexcept {
    if (source_.size() - position_ < 4) return false;
    char const* const end = source_.data() + position_ + 4;
    auto const read = std::from_chars(end - 4, end, code, 16);
    position_ += 4;
    return read.ptr == end && read.ec == std::errc();
  }
  /// The character in UTF-8.
  void append(std::uint32_t code) {
    auto const put = [this](std::uint32_t byte) { decoded_ += static_cast<char>(byte); };
    if (code < 0x80) return put(code);
    if (code < 0x800) {
      put(0xc0 | code >> 6);
    } else if (code < 0x10000) {
      put(0xe0 | code >> 12);
      put(0x80 | (code >> 6 & 0x3f));
    } else {
      put(0xf0 | code >> 18);
      put(0x80 | (code >> 12 & 0x3f));
      put(0x80 | (code >> 6 & 0x3f));
    }
    put(0x80 | (code & 0x3f));
  }

  std::string source_;
  std::string decoded_;
  std::string error_;
  vec<parsed_node> nodes_;
  std::size_t position_ = 0;
};

}  // namespace detail

STRATA_END

#endif  // STRATA_ANALYSE_JSON_READER_HPP
