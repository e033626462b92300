#include <strata/version.hpp>
#ifndef STRATA_REPORT_JSON_WRITER_HPP
#define STRATA_REPORT_JSON_WRITER_HPP

#include <strata/base/macros.hpp>
#include <strata/report/escape.hpp>
#include <strata/report/text_writer.hpp>

#include <string_view>

STRATA_BEGIN
namespace detail {

/// JSON values with their commas. Keys are written as they are; an empty key is no key, as in an
/// array.
class json_writer {
 public:
  explicit json_writer(text_writer& out) noexcept : out_(out) {}

  void object(std::string_view key = {}) { open(key, '{'); }
  void end_object() { close('}'); }
  void array(std::string_view key = {}) { open(key, '['); }
  void end_array() { close(']'); }
  /// The next value begins on a line of its own.
  void line() { line_ = true; }

  void text(std::string_view key, std::string_view value) {
    begin(key);
    write_json_string(out_, value);
  }
  void exact(std::string_view key, std::string_view value) { text(key, value); }
  template <class Integer>
  void integer(std::string_view key, Integer value) {
    begin(key);
    out_.integer(value);
  }
  void number(std::string_view key, double value) {
    begin(key);
    write_json_number(out_, value);
  }
  void boolean(std::string_view key, bool value) {
    begin(key);
    out_.write(value ? "true" : "false");
  }
  void absent(std::string_view key) {
    begin(key);
    out_.write("null");
  }

 private:
  void begin(std::string_view key) {
    if (!first_) out_.put(',');
    first_ = false;
    if (line_) out_.put('\n');
    line_ = false;
    if (key.empty()) return;
    out_.put('"');
    out_.write(key);
    out_.write("\":");
  }
  void open(std::string_view key, char bracket) {
    begin(key);
    out_.put(bracket);
    first_ = true;
  }
  void close(char bracket) {
    if (line_) out_.put('\n');
    line_ = false;
    out_.put(bracket);
    first_ = false;
  }

  text_writer& out_;
  bool first_ = true;
  bool line_ = false;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_REPORT_JSON_WRITER_HPP
