#ifndef STRATA_SESSION_STANDARD_ERROR_HPP
#define STRATA_SESSION_STANDARD_ERROR_HPP

#include <strata/base/console.hpp>
#include <strata/base/guest.hpp>

#if defined(__linux__) || defined(__APPLE__)
#include <unistd.h>
#endif

STRATA_BEGIN
namespace detail {

/// Whether number 2 is the stderr of the program, or a file that got the number since: a database
/// of a program that was started without stderr, say. No copy of stderr is kept: whoever reads a
/// pipe would wait for its end until the process ends. Threads: any, also in a signal's handler.
class standard_error {
 public:
  /// The library is loaded: a number that is free now is no stderr later.
  static void watch() noexcept {
#if defined(__linux__) || defined(__APPLE__)
    is_open_.store(look().known);
    console::ask_first(&is_here);
#endif
  }

  /// A session begins: from now on it is this file.
  static void begin() noexcept {
#if defined(__linux__) || defined(__APPLE__)
    file_identity const now = look();
    device_.store(now.device);
    file_.store(now.file);
    is_known_.store(now.known);
#endif
  }

#if defined(__linux__) || defined(__APPLE__)

 private:
  static bool is_here() noexcept {
    if (!is_open_.load()) return false;
    if (!is_known_.load()) return true;
    file_identity const now = look();
    return now.known && now.device == device_.load() && now.file == file_.load();
  }

  static file_identity look() noexcept {
    int const error = errno;
    file_identity const now(STDERR_FILENO);
    errno = error;
    return now;
  }

  static inline atomic<bool> is_open_{false};
  static inline atomic<bool> is_known_{false};
  static inline atomic<std::uint64_t> device_{0};
  static inline atomic<std::uint64_t> file_{0};
#endif
};

}  // namespace detail
STRATA_END

#endif  // STRATA_SESSION_STANDARD_ERROR_HPP
