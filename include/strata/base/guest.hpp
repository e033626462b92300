#ifndef STRATA_BASE_GUEST_HPP
#define STRATA_BASE_GUEST_HPP

#include <strata/base/vocabulary.hpp>

#include <cerrno>
#include <cfenv>
#include <cstdint>
#include <cstdio>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

STRATA_BEGIN
namespace detail {

/// While it lives, Strata works in a thread of the program, and leaves that thread as it was:
/// errno, the floating-point environment (no division of Strata's traps meanwhile, and it rounds as
/// usual), and deferred cancellation, the default, which waits until the program's own code goes
/// on. Cost: some 50 ns, no system call.
class guest : uncopied {
 public:
  guest() noexcept : error_(errno) {
    ++depth();
    (void)std::fegetenv(&floating_);
    (void)std::fesetenv(FE_DFL_ENV);
#if defined(__GLIBC__)
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_);
#endif
  }
  ~guest() {
#if defined(__GLIBC__)
    (void)pthread_setcancelstate(cancel_, nullptr);
#endif
    (void)std::fesetenv(&floating_);
    --depth();
    errno = error_;
  }

  /// Whether Strata works in this thread, and may hold locks.
  static bool is_here() noexcept { return depth() != 0; }

 private:
  static int& depth() noexcept {
    static thread_local int guests = 0;
    return guests;
  }

  int error_;
  std::fenv_t floating_;
#if defined(__GLIBC__)
  int cancel_ = 0;
#endif
};

/// While it lives, what this thread writes to a pipe that nobody reads, or beyond a limit of sizes
/// (ulimit -f), fails by errno: the signal that would end the program does not arrive.
class quiet_writes : uncopied {
 public:
  quiet_writes() noexcept {
    (void)sigpending(&before_);
    sigset_t ours;
    sigemptyset(&ours);
    for (int const signal : signals) sigaddset(&ours, signal);
    (void)pthread_sigmask(SIG_BLOCK, &ours, &mask_);
  }
  ~quiet_writes() {
    sigset_t ours;
    sigemptyset(&ours);
    for (int const signal : signals)
      if (sigismember(&before_, signal) == 0) sigaddset(&ours, signal);
    timespec const now{0, 0};
    int const error = errno;
    while (sigtimedwait(&ours, nullptr, &now) > 0) continue;
    errno = error;
    (void)pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
  }

 private:
  static constexpr int signals[] = {SIGPIPE, SIGXFSZ};

  sigset_t before_;
  sigset_t mask_;
};

/// What a file or a directory is, whatever its name or number: a link may take its place, and a
/// program that closes every descriptor may get the number of Strata's file.
struct file_identity {
  bool known = false;
  std::uint64_t device = 0;
  std::uint64_t file = 0;
  std::int64_t modified = 0;  ///< ns; of a directory: when it got or lost a file

  file_identity() = default;
  /// Of an open file.
  explicit file_identity(std::FILE* stream) noexcept { *this = file_identity(::fileno(stream)); }
  explicit file_identity(int descriptor) noexcept {
    struct stat found {};
    if (::fstat(descriptor, &found) == 0) *this = file_identity(found);
  }
  explicit file_identity(struct stat const& found) noexcept
      : known(true),
        device(static_cast<std::uint64_t>(found.st_dev)),
        file(static_cast<std::uint64_t>(found.st_ino)) {
    timespec const& time = found.st_mtim;
    modified = std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  }

  /// Not whether it was modified.
  bool same_as(file_identity const& other) const noexcept {
    return known && other.known && device == other.device && file == other.file;
  }

  /// False where a stream is known to be another than this, or none.
  bool is_still(std::FILE* stream) const noexcept {
    return !known || same_as(file_identity(stream));
  }
};

/// The lowest number that a file of Strata's gets where there is room.
inline int lowest_own_descriptor() noexcept {
  constexpr rlim_t most = 1024;  // the kernel's table of a process has room up to the highest one
  rlimit allowed{};
  if (getrlimit(RLIMIT_NOFILE, &allowed) != 0) return STDERR_FILENO + 1;
  rlim_t const limit = allowed.rlim_cur < most ? allowed.rlim_cur : most;
  auto const lowest = static_cast<int>(limit - limit / 8);
  return lowest > STDERR_FILENO ? lowest : STDERR_FILENO + 1;
}

/// Moves a descriptor to a high number, closed on exec: programs expect the low ones, and some
/// close all of them. Where none is free it stays, unless its number is one of the program's input
/// or output. Returns: the new one, or -1 and errno.
inline int raise_descriptor(int file) noexcept {
  int const lowest = lowest_own_descriptor();
  if (file < 0 || file >= lowest) return file;
  int raised = ::fcntl(file, F_DUPFD_CLOEXEC, lowest);
  if (raised < 0 && file > STDERR_FILENO) return file;
  if (raised < 0) raised = ::fcntl(file, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  int const error = errno;
  (void)::close(file);
  errno = error;
  return raised;
}

}  // namespace detail
STRATA_END

#endif  // STRATA_BASE_GUEST_HPP
