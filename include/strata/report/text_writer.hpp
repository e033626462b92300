#include <strata/version.hpp>
#ifndef STRATA_REPORT_TEXT_WRITER_HPP
#define STRATA_REPORT_TEXT_WRITER_HPP

#include <strata/base/macros.hpp>
#include <strata/base/text.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <string_view>

STRATA_BEGIN
namespace detail {

/// Text to a file or a string through one large buffer; numbers do not depend on the locale.
/// The first error is remembered, after it nothing is written. Complete after flush().
class text_writer {
 public:
  explicit text_writer(std::FILE* file) noexcept : file_(file) {}
  explicit text_writer(std::string& text) noexcept : text_(&text) {}
  ~text_writer() { flush(); }

  text_writer(text_writer const&) = delete;
  text_writer& operator=(text_writer const&) = delete;

  void write(std::string_view text) {
    if (text.size() > capacity_ - used_) {
      write_long(text);
    } else if (!text.empty()) {
      std::memcpy(buffer_ + used_, text.data(), text.size());
      used_ += text.size();
    }
  }

  void put(char c) { *room(1) = c, ++used_; }

  void repeat(std::string_view text, std::size_t times) {
    for (; times > 0; --times) write(text);
  }

  template <class Integer>
  void integer(Integer value) {
    end_at(integer_text(room(longest_number), value));
  }

  /// The shortest text that reads back as the same number.
  void number(double value) { end_at(double_text(room(longest_number), value)); }

  void fixed(double value, int decimals) {
    char text[longest_fixed];
    write({text, static_cast<std::size_t>(fixed_text(text, value, decimals) - text)});
  }

  /// ns as microseconds with three decimals, exactly.
  void microseconds(std::int64_t ns) { end_at(microseconds_text(room(longest_number), ns)); }

  /// Returns: whether everything has arrived so far.
  bool flush() {
    drain();
    if (file_ != nullptr && error_ == 0 && std::fflush(file_) != 0) remember();
    return error_ == 0;
  }

  /// errno of the first failure, 0 without one.
  int error() const noexcept { return error_; }
  /// Bytes that were written, or would have been without an error.
  std::uint64_t bytes() const noexcept { return drained_ + used_; }

 private:
  static constexpr std::size_t large = std::size_t{256} << 10;

  char* room(std::size_t size) {
    if (capacity_ - used_ < size) make_room();
    return buffer_ + used_;
  }

  void end_at(char const* end) noexcept { used_ = static_cast<std::size_t>(end - buffer_); }

  /// Short texts stay in the writer itself. Without memory for the large buffer it is slower, but
  /// it works.
  STRATA_DETAIL_COLD void make_room() {
    drain();
    if (large_ != nullptr) return;
    large_.reset(new (std::nothrow) char[large]);
    if (large_ == nullptr) return;
    buffer_ = large_.get();
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
    } else if (errno = 0; std::fwrite(text.data(), 1, text.size(), file_) != text.size()) {
      remember();
    }
  }

  void remember() noexcept { error_ = errno != 0 ? errno : EIO; }

  std::FILE* file_ = nullptr;
  std::string* text_ = nullptr;
  std::unique_ptr<char[]> large_;
  char first_[512];
  char* buffer_ = first_;
  std::size_t capacity_ = sizeof first_;
  std::size_t used_ = 0;
  std::uint64_t drained_ = 0;
  int error_ = 0;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_REPORT_TEXT_WRITER_HPP
