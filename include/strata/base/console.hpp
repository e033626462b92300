#ifndef STRATA_BASE_CONSOLE_HPP
#define STRATA_BASE_CONSOLE_HPP

// Text for people, on stderr. The reader may be absent: a write to a full pipe or to a stopped
// terminal would block for ever, and with it every thread that waits for the C library's lock of
// the stream. So text is written past the stream; what is not taken in time is dropped and counted.

#include <strata/base/deadline.hpp>
#include <strata/base/threads.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdio>

#include <limits.h>
#include <poll.h>
#include <unistd.h>

STRATA_BEGIN_LIGHT
namespace detail {

/// Writes to one file of this process, one thread at a time, without a wait that has no end.
/// Threads: any, also in a signal's handler.
class console {
 public:
  /// How long text waits for a reader. Units: milliseconds.
  static constexpr int none_ms = 0;
  static constexpr int sentence_ms = 100;
  static constexpr int table_ms = 1'000;

  /// Whether a file takes a part of text within a time. One without a reader does not.
  static bool is_taken(int file, int patience_ms) noexcept {
    pollfd wanted{file, POLLOUT, 0};
    int const error = errno;
    int ready = 0;
    bool interrupted = false;
    deadline patience(patience_ms * ns_of_ms);
    do {
      ready = poll(&wanted, 1, patience.left_ms());
      interrupted = ready < 0 && errno == EINTR;
    } while (interrupted && patience.lasts());
    errno = error;
    return (ready < 0 && !interrupted) || (ready > 0 && (wanted.revents & POLLERR) == 0);
  }

  /// Each part of the text waits for so long, all of them for ten times that.
  /// Returns: whether all of it was written. Errors: nobody took it, errno of the write, or stderr
  /// is another file by now (see `ask_first`).
  static bool write(int file, char const* text, std::size_t size, int patience_ms) noexcept {
    deadline whole(10 * patience_ms * ns_of_ms);
    for (std::size_t done = 0; done < size;) {
      if (file == STDERR_FILENO && !is_program_stderr()) return false;
      if (!is_taken(file, patience_ms)) return false;
      if (done != 0 && patience_ms != none_ms && !whole.lasts()) return false;
      std::size_t const left = size - done;
      ssize_t const written = ::write(file, text + done, left < PIPE_BUF ? left : PIPE_BUF);
      if (written < 0 && errno != EINTR && errno != EAGAIN) return false;
      if (written > 0) done += static_cast<std::size_t>(written);
    }
    return true;
  }

  /// Prints text on stderr. After one that nobody took, none waits until one is taken.
  static void print(char const* text, std::size_t size, int patience_ms) noexcept {
    int const file = fileno(stderr);
    if (file < 0) {  // a stream in memory
      (void)std::fwrite(text, 1, size, stderr);
      return;
    }
    if (file == STDERR_FILENO && !is_program_stderr()) return;
    int const max_ms = hurried_.load() ? sentence_ms : patience_ms;
    int const patience = stuck_.load() ? none_ms : max_ms;
    if (!take_turn(patience)) return leave_out();
    bool whole = say_left_out(file, patience);
    whole = whole && write(file, text, size, patience);
    turn_.store(0);
    stuck_.store(!whole);
    if (!whole) leave_out();
  }

  /// The process ends by a signal: a table waits no longer than a sentence.
  static void hurry() noexcept { hurried_.store(true); }

  /// Whoever knows it says from now on whether the number of stderr still is the program's stderr.
  static void ask_first(bool (*is_stderr)() noexcept) noexcept { is_stderr_.store(is_stderr); }

 private:
  static constexpr std::int64_t ns_of_ms = 1'000'000;

  /// A forked child takes the turn of a thread that it does not have.
  static bool take_turn(int patience_ms) noexcept {
    deadline patience(patience_ms * ns_of_ms);
    pid_t const own = getpid();
    for (;;) {
      pid_t holder = turn_.load();
      if (holder != own && turn_.compare_exchange_strong(holder, own)) return true;
      if (!patience.lasts()) return false;
      (void)poll(nullptr, 0, 1);
    }
  }

  static bool is_program_stderr() noexcept {
    auto* const is_stderr = is_stderr_.load();
    return is_stderr == nullptr || is_stderr();
  }

  static void leave_out() noexcept { left_out_.fetch_add(1); }
  static bool say_left_out(int file, int patience_ms) noexcept {
    unsigned const lost = left_out_.load();
    if (lost == 0) return true;
    char text[120];
    int const length = std::snprintf(
        text, sizeof text, "strata: %u message%s left out here, since nobody read stderr\n", lost,
        lost == 1 ? " was" : "s were");
    if (!write(file, text, static_cast<std::size_t>(length), patience_ms)) return false;
    left_out_.fetch_sub(lost);
    return true;
  }

  STRATA_DETAIL_OF_MODULE static inline atomic<pid_t> turn_{0};  // the process that prints, or 0
  STRATA_DETAIL_OF_MODULE static inline atomic<bool> stuck_{false};
  STRATA_DETAIL_OF_MODULE static inline atomic<bool> hurried_{false};
  STRATA_DETAIL_OF_MODULE static inline atomic<unsigned> left_out_{0};
  STRATA_DETAIL_OF_MODULE static inline atomic<bool (*)() noexcept> is_stderr_{nullptr};
};

/// Flushes what the program printed so far. Where another thread holds stdout nothing is flushed:
/// exit does not wait for such a thread either.
inline void flush_output() noexcept {
  if (ftrylockfile(stdout) != 0) return;
  (void)std::fflush(stdout);
  funlockfile(stdout);
}

}  // namespace detail
STRATA_END_LIGHT

#endif  // STRATA_BASE_CONSOLE_HPP
