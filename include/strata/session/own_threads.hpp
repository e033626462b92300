#ifndef STRATA_SESSION_OWN_THREADS_HPP
#define STRATA_SESSION_OWN_THREADS_HPP

#include <strata/annotate/process.hpp>
#include <strata/base/vocabulary.hpp>

#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>

STRATA_BEGIN
namespace detail {

/// Starts a thread of Strata's, which takes no signals of the program. Returns: whether it runs.
inline bool start_thread(pthread_t& made, void* (*body)(void*), void* context) noexcept {
  sigset_t everything;
  sigset_t before;
  sigfillset(&everything);
  pthread_sigmask(SIG_SETMASK, &everything, &before);
  bool const started = pthread_create(&made, nullptr, body, context) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

/// A thread of Strata that its owner ends and waits for. Threads: one at a time.
class owned_thread {
 public:
  /// Returns: false where no thread can be started.
  bool start(void* (*body)(void*), void* context) noexcept {
    return runs_ = start_thread(id_, body, context);
  }
  /// Whether it was started, and nobody has waited for it.
  bool runs() const noexcept { return runs_; }
  /// Waits for its end. It does not wait for itself, when it is the last one of the process.
  void join() noexcept {
    if (std::exchange(runs_, false) && !pthread_equal(id_, pthread_self()))
      pthread_join(id_, nullptr);
  }
  /// As name_thread, by the thread that started it, before anybody looks.
  void name(char const* name) noexcept {
    if (runs_) pthread_setname_np(id_, name);
  }
  /// Nobody waits for it from now on.
  void detach() noexcept {
    if (std::exchange(runs_, false)) pthread_detach(id_);
  }

 private:
  pthread_t id_{};
  bool runs_ = false;
};

/// Asks a thread of Strata's to end, which wakes it where it pauses. Threads: any; one pauses.
class stop_request {
 public:
  /// The thread begins.
  void reset() noexcept { word_.store(0); }
  void make() noexcept {
    word_.store(1);
    (void)syscall(SYS_futex, &word_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }
  bool is_made() const noexcept { return word_.load() != 0; }
  /// Until it is made, so long at most.
  void pause(timespec const& longest) noexcept {
    (void)syscall(SYS_futex, &word_, FUTEX_WAIT_PRIVATE, 0, &longest, nullptr, 0);
  }

 private:
  atomic<int> word_{0};
};

/// Names the calling thread, one of Strata's, in debuggers and in /proc: 15 bytes at most.
inline void name_thread(char const* name) noexcept { pthread_setname_np(pthread_self(), name); }

/// Runs `body`, which opens files while the program runs, in a separate thread with a separate
/// table of descriptors, where the kernel has such (Linux 5.9), so that neither takes a number
/// that the other one expects. Only stderr is in both. Where no thread can be started the calling
/// one runs it. `body` calls neither the driver nor CUPTI, whose files are the program's.
inline void with_own_descriptors(callback<void()> body) noexcept {
  struct work {
    callback<void()>* body;
    static void* run(void* context) noexcept {
      constexpr long close_range = 436;  // headers older than the kernel do not name it
      constexpr unsigned unshare = 2;    // CLOSE_RANGE_UNSHARE
      name_thread("strata-files");
      if (syscall(close_range, STDERR_FILENO + 1, ~0u, unshare) == 0)
        (void)syscall(close_range, STDIN_FILENO, STDOUT_FILENO, 0);
      (*static_cast<work*>(context)->body)();
      return nullptr;
    }
  } apart{&body};
  owned_thread thread;
  if (thread.start(&work::run, &apart)) return thread.join();
  body();
}

/// While it lives, the calling thread is not to outlive those of the program: it is one of
/// Strata's that leaves with them, or is in a call that may not come back.
class own_thread : uncopied {
 public:
  own_thread() noexcept { block().own_threads.begun.fetch_add(1); }
  ~own_thread() { block().own_threads.ended.fetch_add(1); }
};

/// Whether the main thread of a process has ended, by its file `stat`.
inline bool main_has_ended(char const* path) noexcept {
  char text[512];
  int const file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  ssize_t const size = ::read(file, text, sizeof text - 1);
  ::close(file);
  text[size < 0 ? 0 : size] = '\0';
  char const* const name_end = std::strrchr(text, ')');
  return name_end != nullptr && std::strncmp(name_end, ") Z", 3) == 0;
}
/// That of this process, which has no program any more then. No file is opened: its number would
/// be the lowest free one for a moment, which the program's next file expects.
inline bool main_has_ended() noexcept {
  char first = 0;
  int const error = errno;
  bool const ended = ::readlink("/proc/self/exe", &first, 1) < 0 && errno == ENOENT &&
                     ::readlink("/proc/thread-self/exe", &first, 1) == 1;
  errno = error;
  return ended;
}

/// The threads of the program, for one of Strata's that is not to outlive them. Threads: one.
class program_threads {
 public:
  /// Whether main has ended by pthread_exit, and each other thread: the process would have ended
  /// with the last one. Cost: a file of /proc is read.
  bool have_ended() noexcept {
    main_ended_ = main_ended_ || main_has_ended();
    return main_ended_ && only_own_are_left();
  }

  /// Ends the process as its last thread would have, unless another one of Strata's does.
  static void end_process() {
    if (!block().own_threads.exits.exchange(true)) std::exit(0);
  }

  /// How long to do something else before the next look: shorter once main has ended.
  timespec pause(std::int64_t usual_ns) const noexcept {
    constexpr std::int64_t second = 1'000'000'000;
    std::int64_t const ns = main_ended_ && usual_ns > soon_ns ? soon_ns : usual_ns;
    return {static_cast<time_t>(ns / second), static_cast<long>(ns % second)};
  }

 private:
  static constexpr std::int64_t soon_ns = 10'000'000;

  /// What is left of main is a task too. A thread of Strata's that begins or ends meanwhile may
  /// count as the program's, never the other way round.
  static bool only_own_are_left() noexcept {
    std::size_t const begun = block().own_threads.begun.load();
    struct stat tasks {};
    bool const known = ::stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink > 2;
    std::size_t const ended = block().own_threads.ended.load();
    return known && tasks.st_nlink - 2 + ended <= 1 + begun;
  }

  bool main_ended_ = false;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_SESSION_OWN_THREADS_HPP
