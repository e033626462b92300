// A program that sets up something of its own, works with ranges and steps, and prints what became
// of it: `surroundings WHAT`. Without a session the output is the same.
#include <strata/session.hpp>
#include <strata/strata.hpp>

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cfenv>
#include <chrono>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

namespace {
std::atomic<bool> clock_stands{false};
std::atomic<int> opened_beside{0};

/// Counts a file that a thread of Strata's has in the table of the program.
void note_opened(int file) {
  char name[16] = {};
  (void)pthread_getname_np(pthread_self(), name, sizeof name);
  if (file < 0 || std::strncmp(name, "strata", 6) != 0) return;
  struct stat own {};
  struct stat there {};
  std::string const path = "/proc/self/fd/" + std::to_string(file);  // main's
  if (fstat(file, &own) == 0 && stat(path.c_str(), &there) == 0 && own.st_ino == there.st_ino &&
      own.st_dev == there.st_dev)
    ++opened_beside;
}
}  // namespace

/// A clock as a library puts it in the place of the C library's, at an absolute time.
extern "C" int clock_gettime(clockid_t which, timespec* now) noexcept {
  if (clock_stands) {
    *now = {1'000'000, 0};
    return 0;
  }
  return static_cast<int>(syscall(SYS_clock_gettime, which, now));
}

extern "C" int open(char const* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  int const made = openat(AT_FDCWD, path, flags, va_arg(more, int));
  va_end(more);
  return made;
}
extern "C" int openat(int folder, char const* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  auto const file = static_cast<int>(
      syscall(SYS_openat, folder, path, flags, static_cast<mode_t>(va_arg(more, int))));
  va_end(more);
  int const error = errno;
  note_opened(file);
  errno = error;
  return file;
}

namespace {

void work(int steps) {
  for (int i = 0; i < steps; ++i) {
    STRATA_STEP();
    STRATA_RANGE("work", i % 3);
    STRATA_RANGE("inner", strata::flops(i));
  }
}

/// A thread that is to be cancelled: nothing of its own is a place for that, until its end.
void* work_cancelled(void* steps) {
  (void)pthread_cancel(pthread_self());
  work(*static_cast<int*>(steps));
  pthread_testcancel();
  return nullptr;
}

void cancel(int steps) {
  pthread_t made{};
  void* result = nullptr;
  (void)pthread_create(&made, nullptr, &work_cancelled, &steps);
  (void)pthread_join(made, &result);
  std::puts(result == PTHREAD_CANCELED ? "cancelled where it wanted" : "not cancelled");
  work(10);
}

/// Whether each end of a step leaves errno alone, also where it looks for a file that is not there.
void keep_errno() {
  work(1);
  int changed = 0;
  for (int i = 0; i < 300; ++i) {
    {
      STRATA_STEP();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      errno = ERANGE;
    }
    changed += errno != ERANGE;
  }
  std::printf("errno changed %d times\n", changed);
}

/// A division by zero ends this program.
void trap() {
#if defined(__GLIBC__)
  (void)feenableexcept(FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW);
  (void)std::fesetround(FE_UPWARD);
  work(200);
  std::printf("traps %d, rounds up %d\n", fegetexcept() != 0, std::fegetround() == FE_UPWARD);
#endif
}

/// Nobody reads what goes to stderr.
void break_pipe() {
  int ends[2];
  if (pipe(ends) != 0 || dup2(ends[1], STDERR_FILENO) < 0) return;
  (void)close(ends[0]);
  (void)close(ends[1]);
  work(10);
}

/// What goes to stderr waits in a pipe that is full, and that this process alone could read.
void fill_pipe() {
  int ends[2];
  if (pipe(ends) != 0) return;
  (void)fcntl(ends[1], F_SETFL, O_NONBLOCK);
  while (write(ends[1], "x", 1) == 1) continue;
  (void)fcntl(ends[1], F_SETFL, 0);
  if (dup2(ends[1], STDERR_FILENO) >= 0) work(10);
}

/// A range hangs until the signal comes that ends the program.
void hang_until_signal() {
  fill_pipe();
  STRATA_RANGE("hangs");
  std::puts("ready");
  (void)std::fflush(stdout);
  for (;;) (void)pause();
}

/// As `unread`, under a profiler that takes a sample every 20 ms.
void fill_pipe_sampled() {
  struct sigaction sampled {};
  sampled.sa_handler = [](int) {};
  (void)sigaction(SIGALRM, &sampled, nullptr);  // without SA_RESTART
  itimerval const each{{0, 20'000}, {0, 20'000}};
  (void)setitimer(ITIMER_REAL, &each, nullptr);
  fill_pipe();
}

/// A session in code ends while its watchdog has something to say.
void stop_watched() {
  fill_pipe();
  strata::vec<std::string> problems;
  strata::session watched(strata::options::parse("host,watchdog=1,formats=,out=watched", problems));
  if (!watched.start().ok()) return;
  STRATA_RANGE("hangs");
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  watched.stop();
}

/// What a forked child is told of the session that its parent runs.
void start_in_child() {
  strata::vec<std::string> problems;
  strata::session session(strata::options::parse("host,formats=", problems));
  if (!session.start().ok()) return;
  pid_t const child = fork();
  if (child == 0) {
    bool const refused = !session.start().ok() && !session.running();
    session.stop();
    _exit(refused && !session.start().ok() && !session.report().ok() ? 3 : 4);
  }
  int status = 0;
  (void)waitpid(child, &status, 0);
  std::printf("the child's code is %d, the parent's session runs: %d\n", WEXITSTATUS(status),
              session.running());
}

void limit_files() {
  rlimit const most{4096, 4096};
  (void)setrlimit(RLIMIT_FSIZE, &most);
  work(2000);
}

/// Little memory is left beyond what the program has now.
void limit_memory(std::size_t bytes, int steps) {
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  unsigned long pages = 0;
  if (file == nullptr || std::fscanf(file, "%lu", &pages) != 1) return;
  (void)std::fclose(file);
  work(1);
  rlimit const most{pages * 4096 + bytes, RLIM_INFINITY};
  (void)setrlimit(RLIMIT_AS, &most);
  for (int i = 0; i < 3; ++i) work(steps);
  std::puts("worked to its end");
}

/// As a daemon does: all numbers are free for the program's own files.
void close_all(std::string const& folder) {
  work(10);
  for (int i = 3; i < 1024; ++i) (void)close(i);
  int own[20];
  for (int& each : own)
    each = open((folder + "/own").c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  for (int i = 0; i < 3; ++i) {
    work(300);
    std::this_thread::sleep_for(std::chrono::milliseconds(350));  // the stream's period is 250
  }
  struct stat found {};
  bool const open_yet = fstat(own[0], &found) == 0;
  std::printf("own files open %d, bytes in them %ld\n", open_yet, static_cast<long>(found.st_size));
}

/// The numbers of the program's input and output are free for a file of its own.
void close_output(std::string const& folder) {
  int const told = dup(STDOUT_FILENO);
  for (int i = 0; i < 3; ++i) (void)close(i);
  work(10);
  int const own = open((folder + "/own").c_str(), O_RDWR | O_CREAT, 0600);
  (void)dprintf(told, "own file is number %d\n", own);
  work(10);
}

/// The number of stderr becomes that of a file of the program.
void reuse_stderr(std::string const& folder, bool late) {
  if (late) work(10);
  (void)close(STDERR_FILENO);
  int const own = open((folder + "/own").c_str(), O_RDWR | O_CREAT, 0600);
  std::printf("own file is number %d\n", own);
  work(10);
}

/// Reports are written while the program runs, and opens files itself.
void open_beside_windows() {
  for (int i = 0; i < 400; ++i) {
    work(1);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::printf("files that took a number of the program's: %d\n", opened_beside.load());
}

}  // namespace

int main(int, char** words) {
  std::string const what = words[1];
  if (what == "cancel-first") cancel(3);
  if (what == "cancel") work(1), cancel(200);
  if (what == "errno") keep_errno();
  if (what == "traps") trap();
  if (what == "pipe") break_pipe();
  if (what == "unread") fill_pipe();
  if (what == "unread-signal") hang_until_signal();
  if (what == "unread-watchdog") stop_watched();
  if (what == "unread-sampled") fill_pipe_sampled();
  if (what == "unread-sampled-signal") fill_pipe_sampled(), hang_until_signal();
  if (what == "clock-stands") clock_stands = true, work(10);
  if (what == "stderr-reused") reuse_stderr(words[2], false);
  if (what == "stderr-reused-late") reuse_stderr(words[2], true);
  if (what == "windows") open_beside_windows();
  if (what == "fork-start") start_in_child();
  if (what == "file-size") limit_files();
  if (what == "memory") limit_memory(std::size_t{20} << 20, 100'000);
  if (what == "no-memory") limit_memory(std::size_t{8} << 20, 30'000);
  if (what == "all-closed") close_all(words[2]);
  if (what == "output-closed") close_output(words[2]);
  (void)std::fflush(stdout);
  return 6;
}
