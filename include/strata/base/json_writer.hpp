#ifndef STRATA_BASE_JSON_WRITER_HPP
#define STRATA_BASE_JSON_WRITER_HPP

#include <strata/base/text_writer.hpp>

STRATA_BEGIN
namespace detail {

/// Takes the values of a row, column by column. A key is a literal: a text of known length would be
/// a call more at each of some five hundred places.
class cell_sink {
 public:
  /// A value that is not known.
  virtual void absent(char const* key) = 0;
  virtual void text(char const* key, std::string_view value) = 0;
  /// A text that only fits where nothing is cut.
  virtual void exact(char const* key, std::string_view value) = 0;
  /// NaN is absent.
  virtual void number(char const* key, double value) = 0;
  virtual void whole(char const* key, std::uint64_t magnitude, bool negative) = 0;

  template <class Integer>
  void integer(char const* key, Integer value) {
    auto const bits = static_cast<std::uint64_t>(value);
    bool const negative = is_negative(value);
    whole(key, negative ? 0 - bits : bits, negative);
  }

 protected:
  ~cell_sink() = default;
};

/// A JSON string with its quotes. Valid UTF-8 is kept, what is not becomes U+FFFD.
inline void write_json_string(text_writer& out, std::string_view text) {
  struct escapes {
    text_writer& out;
    static bool needs(char c) noexcept {
      return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\';
    }
    void write(char c) {
      char const letter = c == '\n' ? 'n' : c == '\t' ? 't' : c == '\r' ? 'r' : c;
      auto const code = static_cast<unsigned char>(c);
      if (letter == c && code < 0x20) {
        constexpr char digits[] = "0123456789abcdef";
        out.write("\\u00");
        out.put(digits[code >> 4]);
        out.put(digits[code & 15]);
      } else {
        out.put('\\');
        out.put(letter);
      }
    }
  };
  out.put('"');
  write_escaped(out, text, escapes{out});
  out.put('"');
}

/// A number with the six digits that say enough on a page.
inline double six_digits(double value) {
  double factor = 1.0;
  double const size = value < 0 ? -value : value;
  if (!is_finite(value) || size == 0.0) return value;
  while (size / factor >= 1e6) factor *= 10.0;
  while (size / factor < 1e5) factor /= 10.0;
  if (factor > 1.0) return rounded_down(value / factor + 0.5) * factor;
  double const inverse = rounded_down(1.0 / factor + 0.5);
  return rounded_down(value * inverse + 0.5) / inverse;
}

/// JSON values with their commas. A null key is no key, as in an array.
class json_writer final : public cell_sink {
 public:
  /// Where it rounds, numbers that are not whole have six digits.
  explicit json_writer(text_writer& out, bool rounds = false) noexcept
      : out_(out), rounds_(rounds) {}

  void object(char const* key = nullptr) { open(key, '{'); }
  void end_object() { close('}'); }
  void array(char const* key = nullptr) { open(key, '['); }
  void end_array() { close(']'); }
  /// The next value begins on a line of its own.
  void line() { line_ = true; }

  void text(char const* key, std::string_view value) override {
    begin(key);
    write_json_string(out_, value);
  }
  void exact(char const* key, std::string_view value) override { text(key, value); }
  void whole(char const* key, std::uint64_t magnitude, bool negative) override {
    begin(key);
    out_.whole(magnitude, negative);
  }
  /// JSON has no NaN and no infinity: null.
  void number(char const* key, double value) override {
    if (!is_finite(value)) return absent(key);
    begin(key);
    out_.number(rounds_ ? six_digits(value) : value);
  }
  void boolean(char const* key, bool value) {
    begin(key);
    out_.write(value ? "true" : "false");
  }
  void absent(char const* key) override {
    begin(key);
    out_.write("null");
  }

 private:
  STRATA_DETAIL_COLD void begin(char const* key) {
    if (!first_) out_.put(',');
    first_ = false;
    if (line_) out_.put('\n');
    line_ = false;
    if (key == nullptr) return;
    write_json_string(out_, key);
    out_.put(':');
  }
  STRATA_DETAIL_COLD void open(char const* key, char bracket) {
    begin(key);
    out_.put(bracket);
    first_ = true;
  }
  STRATA_DETAIL_COLD void close(char bracket) {
    if (line_) out_.put('\n');
    line_ = false;
    out_.put(bracket);
    first_ = false;
  }

  text_writer& out_;
  bool rounds_;
  bool first_ = true;
  bool line_ = false;
};

/// What a file is: its name, and the version of its keys.
inline void write_schema(json_writer& json, char const* name, int version) {
  json.object("schema");
  json.text("name", name);
  json.integer("version", version);
  json.text("strata", version_text());
  json.end_object();
}

}  // namespace detail
STRATA_END

#endif  // STRATA_BASE_JSON_WRITER_HPP
