#ifndef STRATA_BASE_TEXT_WRITER_HPP
#define STRATA_BASE_TEXT_WRITER_HPP

#include <strata/base/guest.hpp>
#include <strata/base/text.hpp>
#include <strata/base/utf8.hpp>

#include <exception>

STRATA_BEGIN
namespace detail {

/// Text to a file or a string through one large buffer; numbers do not depend on the locale.
/// The first error is remembered, after it nothing is written. Complete after flush().
class text_writer : uncopied {
 public:
  /// The error where the program closed the file: what its number is now is left alone.
  static constexpr int file_lost = -1;

  explicit text_writer(std::FILE* file) noexcept : file_(file), begun_(file) {}
  explicit text_writer(std::string& text) noexcept : text_(&text) {}
  /// Without memory for the rest of a string it throws, as `write` does.
  ~text_writer() noexcept(false) {
    bool const whole = if_memory_allows([this] { (void)flush(); });
    delete[] large_;
    if (!whole && std::uncaught_exceptions() == 0) out_of_memory();
  }

  STRATA_DETAIL_COLD void write(char const* text) { write(std::string_view(text)); }
  void write(std::string_view text) {
    if (text.size() > capacity_ - used_) {
      write_long(text);
    } else if (!text.empty()) {
      std::memcpy(buffer_ + used_, text.data(), text.size());
      used_ += text.size();
    }
  }

  void put(char c) {
    *room(1) = c;
    ++used_;
  }

  void repeat(std::string_view text, std::size_t times) {
    for (; times > 0; --times) write(text);
  }

  template <class Integer>
  void integer(Integer value) {
    auto const bits = static_cast<std::uint64_t>(value);
    bool const negative = is_negative(value);
    whole(negative ? 0 - bits : bits, negative);
  }

  void whole(std::uint64_t magnitude, bool negative) {
    char* const out = room(longest_number);
    *out = '-';
    end_at(digits_text(out + (negative ? 1 : 0), magnitude));
  }

  /// The shortest text that reads back as the same number.
  void number(double value) { end_at(double_text(room(longest_number), value)); }

  /// Returns: whether everything has arrived so far.
  bool flush() {
    drain();
    if (file_ != nullptr && error_ == 0 && std::fflush(file_) != 0) remember();
    return error_ == 0;
  }

  /// Nothing is written any more.
  void fail(int error) noexcept { error_ = error; }
  /// errno of the first failure, 0 without one.
  int error() const noexcept { return error_; }
  /// Whether the file is still the one that was given.
  bool has_file() const noexcept { return begun_.is_still(file_); }
  /// Bytes that were written, or would have been without an error.
  std::uint64_t bytes() const noexcept { return drained_ + used_; }

 private:
  static constexpr std::size_t large = std::size_t{256} << 10;

  char* room(std::size_t size) {
    if (capacity_ - used_ < size) make_room();
    return buffer_ + used_;
  }

  void end_at(char const* end) noexcept { used_ = static_cast<std::size_t>(end - buffer_); }

  /// Short texts stay in the writer itself, and so do all without memory for the large buffer.
  STRATA_DETAIL_COLD void make_room() {
    drain();
    if (large_ != nullptr) return;
    large_ = new (std::nothrow) char[large];
    if (large_ == nullptr) return;
    buffer_ = large_;
    capacity_ = large;
  }

  STRATA_DETAIL_COLD void write_long(std::string_view text) {
    make_room();
    if (text.size() <= capacity_) return write(text);
    drained_ += text.size();
    pass_on(text);
  }

  void drain() {
    drained_ += used_;
    pass_on({buffer_, used_});
    used_ = 0;
  }

  void pass_on(std::string_view text) {
    if (text.empty() || error_ != 0) return;
    if (text_ != nullptr) {
      text_->append(text);
    } else if (!has_file()) {
      error_ = file_lost;
    } else if (errno = 0; std::fwrite(text.data(), 1, text.size(), file_) != text.size()) {
      remember();
    }
  }

  void remember() noexcept { error_ = errno != 0 ? errno : EIO; }

  std::FILE* file_ = nullptr;
  std::string* text_ = nullptr;
  file_identity begun_;
  char* large_ = nullptr;
  char first_[512];
  char* buffer_ = first_;
  std::size_t capacity_ = sizeof first_;
  std::size_t used_ = 0;
  std::uint64_t drained_ = 0;
  int error_ = 0;
};

/// Writes a text with U+FFFD for bytes that are not UTF-8; `escape` replaces ASCII characters.
template <class Escape>
inline void write_escaped(text_writer& out, std::string_view text, Escape escape) {
  std::size_t done = 0;
  for (std::size_t index = 0; index < text.size();) {
    auto const c = static_cast<unsigned char>(text[index]);
    utf8_character const character =
        c < 0x80 ? utf8_character{c, 1, true} : decode_utf8(text, index);
    std::size_t const end = index + character.length;
    bool const kept = character.valid && (c >= 0x80 || !escape.needs(text[index]));
    if (!kept) {
      out.write(text.substr(done, index - done));
      done = end;
      if (character.valid) {
        escape.write(text[index]);
      } else {
        out.write(replacement);
      }
    }
    index = end;
  }
  out.write(text.substr(done));
}

/// What a file is filled with.
using file_content = callback<void(text_writer&)>;

}  // namespace detail
STRATA_END

#endif  // STRATA_BASE_TEXT_WRITER_HPP
