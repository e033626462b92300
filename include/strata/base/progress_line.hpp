#ifndef STRATA_BASE_PROGRESS_LINE_HPP
#define STRATA_BASE_PROGRESS_LINE_HPP

#include <strata/base/console.hpp>
#include <strata/base/environment.hpp>
#include <strata/base/text.hpp>

#include <sys/ioctl.h>

STRATA_BEGIN
namespace detail {

/// One line on a terminal that is written over and over, and erased at the end. Where the stream is
/// no terminal nothing is written. Threads: one at a time.
class progress_line : uncopied {
 public:
  explicit progress_line(std::FILE* stream = stderr) noexcept
      : file_(number_of(stream)), width_(width_of(file_)) {}
  ~progress_line() { erase(); }

  /// Whether somebody sees it.
  bool live() const noexcept { return width_ != 0; }

  /// Text without control characters, in ASCII; what is too long is cut. The cursor is left at the
  /// beginning, so that what the program prints meanwhile begins a line.
  void show(std::string_view text) noexcept {
    if (!live()) return;
    std::string_view const fits = text.substr(0, width_ - 1);
    write(erased);
    write(fits);
    write("\r");
    shown_ = true;
  }

  void erase() noexcept {
    if (!shown_) return;
    shown_ = false;
    write(erased);
  }

  /// "strata: counting on GH100: pass 2 of 5, 3 steps left".
  static std::string of_pass(std::string const& chip, std::size_t pass, std::size_t passes) {
    std::string const device = chip.empty() ? std::string() : " on " + chip;
    std::size_t const left = pass < passes ? passes - pass : 0;
    return sentence("strata: counting") << device << ": pass " << pass << " of " << passes << ", "
                                        << left << (left == 1 ? " step left" : " steps left");
  }

 private:
  static constexpr std::string_view erased = "\r\033[K";

  /// A terminal that is held is not waited for.
  void write(std::string_view text) const noexcept {
    (void)console::write(file_, text.data(), text.size(), console::none_ms);
  }

  static int number_of(std::FILE* stream) noexcept {
    return stream == nullptr ? -1 : ::fileno(stream);
  }

  /// Columns of the terminal; 0 where it is none that can be written over.
  static std::size_t width_of(int file) noexcept {
    char const* const kind = variable("TERM");
    if (file < 0 || ::isatty(file) == 0) return 0;
    if (kind == nullptr || std::string_view(kind) == "dumb") return 0;
    winsize size{};
    if (::ioctl(file, TIOCGWINSZ, &size) == 0 && size.ws_col > 1) return size.ws_col;
    return 80;
  }

  int file_;
  std::size_t width_;
  bool shown_ = false;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_BASE_PROGRESS_LINE_HPP
