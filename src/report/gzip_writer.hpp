#include <strata/version.hpp>
#ifndef STRATA_REPORT_GZIP_WRITER_HPP
#define STRATA_REPORT_GZIP_WRITER_HPP

#include <strata/base/macros.hpp>
#include <strata/base/text_writer.hpp>

#include <memory>
#include <string_view>

STRATA_BEGIN
namespace detail {

/// Compresses text by zlib, as gzip.
/// Requires: has_zlib(), and finish() at the end. Threads: one at a time. Errors: those of `out`;
/// without memory it throws. Cost: 3 MB a thread; 7 us a kernel of a trace, of all threads
/// together. Source: RFC 1952
class gzip_writer {
 public:
  /// `threads`: that compress; 1 starts none.
  explicit gzip_writer(text_writer& out, unsigned threads = spare_threads());
  ~gzip_writer();
  gzip_writer(gzip_writer const&) = delete;
  gzip_writer& operator=(gzip_writer const&) = delete;

  /// Whether this machine has zlib.
  static bool has_zlib() noexcept;
  /// What is said where it has none.
  static constexpr char const* no_zlib =
      "The trace is written as .json, not compressed, because libz.so.1 is not here: install zlib "
      "(zlib1g on Debian and Ubuntu) for .json.gz.";

  /// Half of the machine's, at most 8: the program may go on meanwhile.
  static unsigned spare_threads() noexcept;

  void write(std::string_view text);
  /// Writes what is left and the check of the whole.
  void finish();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_REPORT_GZIP_WRITER_HPP
