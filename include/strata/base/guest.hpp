#include <strata/version.hpp>
#ifndef STRATA_BASE_GUEST_HPP
#define STRATA_BASE_GUEST_HPP

#include <strata/base/macros.hpp>

#include <cerrno>
#include <cfenv>
#include <cstdint>
#include <cstdio>

#if defined(__linux__)
#include <pthread.h>
#include <signal.h>
#include <time.h>
#endif
#if defined(__linux__) || defined(__APPLE__)
#include <sys/stat.h>
#endif

STRATA_BEGIN

namespace detail {

/// While it lives, Strata works in a thread of the program, and leaves that thread as it was:
/// errno, the floating-point environment (no division of Strata's traps meanwhile, and it rounds as
/// usual), and deferred cancellation, the default, which waits until the program's own code goes
/// on. Cost: some 50 ns, no system call.
class guest {
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
  guest(guest const&) = delete;
  guest& operator=(guest const&) = delete;

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
class quiet_writes {
 public:
#if defined(__linux__)
  quiet_writes() noexcept {
    (void)sigpending(&before_);
    sigset_t ours;
    sigemptyset(&ours);
    for (int const each : signals) sigaddset(&ours, each);
    (void)pthread_sigmask(SIG_BLOCK, &ours, &mask_);
  }
  ~quiet_writes() {
    sigset_t ours;
    sigemptyset(&ours);
    for (int const each : signals)
      if (sigismember(&before_, each) == 0) sigaddset(&ours, each);
    timespec const now{0, 0};
    int const error = errno;
    while (sigtimedwait(&ours, nullptr, &now) > 0) continue;
    errno = error;
    (void)pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
  }
  quiet_writes(quiet_writes const&) = delete;
  quiet_writes& operator=(quiet_writes const&) = delete;

 private:
  static constexpr int signals[] = {SIGPIPE, SIGXFSZ};

  sigset_t before_;
  sigset_t mask_;
#else
  quiet_writes() noexcept {}
  ~quiet_writes() {}
#endif
};

/// Tells a file that Strata opened from others. A program that closes every descriptor, as daemons
/// do, may get the file's number for a file of its own, which is neither written nor closed.
class file_identity {
 public:
  file_identity() = default;
  explicit file_identity([[maybe_unused]] std::FILE* file) noexcept {
#if defined(__linux__) || defined(__APPLE__)
    struct stat found {};
    known_ = ::fstat(::fileno(file), &found) == 0;
    device_ = static_cast<std::uint64_t>(found.st_dev);
    number_ = static_cast<std::uint64_t>(found.st_ino);
#endif
  }

  /// False where it is known to be another file now, or none.
  bool is_still(std::FILE* file) const noexcept {
    file_identity const now(file);
    return !known_ || (now.known_ && now.device_ == device_ && now.number_ == number_);
  }

 private:
  bool known_ = false;
  std::uint64_t device_ = 0;
  std::uint64_t number_ = 0;
};

}  // namespace detail

STRATA_END

#endif  // STRATA_BASE_GUEST_HPP
