// One program that can end, and begin, in many ways: the first argument chooses.
#include <strata/profile.hpp>
#include <strata/session.hpp>
#include <strata/strata.hpp>

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "../../../forked_leaks.hpp"
#include "../../../patience.hpp"
#include "../../../sanitizers.hpp"

namespace {
thread_local bool interrupt_the_first_range = false;
int slow_disk_ms = 0;
}  // namespace

/// A report's file gets its name.
extern "C" int renameat(int from, char const* part, int to, char const* name) noexcept {
  if (slow_disk_ms != 0) (void)poll(nullptr, 0, std::exchange(slow_disk_ms, 0));
  static auto* const system =
      reinterpret_cast<int (*)(int, char const*, int, char const*)>(dlsym(RTLD_NEXT, "renameat"));
  return system(from, part, to, name);
}

/// Strata asks for the name of a thread when that has its first range.
extern "C" int pthread_getname_np(pthread_t, char* name, std::size_t size) {
  if (interrupt_the_first_range) std::raise(SIGUSR1);
  if (size != 0) *name = '\0';
  return 0;
}

namespace {

void work() {
  STRATA_RANGE("outer");
  for (int i = 0; i < 3; ++i) {
    STRATA_RANGE("inner", i % 2);
  }
}

void say(char const* text) { (void)!write(1, text, std::strlen(text)); }

/// From here on the signals of the test may come. ThreadSanitizer makes its list of signals in a
/// thread's first call that may wait, and loses one that arrives then: so it is made before.
void say_ready() {
  usleep(1);
  say("ready\n");
}

/// Ranges before main and after it.
struct early_and_late {
  bool const wanted = std::getenv("TEST_EARLY") != nullptr;
  early_and_late() {
    if (!wanted) return;
    STRATA_RANGE("early");
  }
  ~early_and_late() {
    if (!wanted) return;
    STRATA_RANGE("late");
    work();
    (void)!write(1, "late\n", 5);
  }
} const around_main;

struct thread_local_range {
  strata::phases phase;
  ~thread_local_range() {
    phase.end();
    work();
  }
};

double volatile zero = 0;
std::atomic<int> interrupts{0};
void count_interrupt(int) { ++interrupts; }

void wait_for_interrupt() {
  test::await([] { return interrupts != 0; }, [] { usleep(1000); });
}

int ending_of(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

int idle() {
  work();
  std::ifstream maps("/proc/self/maps");
  std::string line;
  while (std::getline(maps, line)) {
    for (char const* library : {"libcuda", "libcupti", "libnvperf", "libnvToolsExt"}) {
      if (line.find(library) != std::string::npos) std::printf("%s\n", line.c_str());
    }
  }
#if !defined(__SANITIZE_THREAD__)  // which has a thread of its own
  std::ifstream status("/proc/self/status");
  while (std::getline(status, line)) {
    if (line.compare(0, 8, "Threads:") == 0 && line.substr(9) != "1") std::puts(line.c_str());
  }
#endif
  return 0;
}

/// Makes a child that runs on in the same program.
int forked(char const* how) {
  work();
  strata::phases open;
  open.next("open");
  pid_t const child = fork();
  if (child == 0) {
    alarm(20);
    open.end();
    work();
    if (std::strcmp(how, "fork-signal") == 0) {
      say("child\n");
      for (;;)
        usleep(1000);  // TSan keeps a signal until the next call, and pause() may be too late
    }
    std::exit(0);
  }
  if (std::strcmp(how, "fork-signal") == 0) {
    usleep(1000);
    kill(child, SIGTERM);
  }
  std::printf("child %d\n", ending_of(child));
  return 0;
}

int run_program(char const* name, char const* scenario, bool in_child) {
  work();
  pid_t const child = in_child ? fork() : 0;
  if (child == 0) {
    if (in_child) unsetenv("STRATA");
    execl(name, name, scenario, static_cast<char*>(nullptr));
    _exit(127);
  }
  std::printf("child %d\n", ending_of(child));
  return 0;
}

int on_demand() {
  strata::options how;
  how.trace = how.csv = how.json = how.chrome_trace = false;
  strata::session first(how);
  strata::session second(how);
  work();
  if (!first.start().ok()) return 1;
  strata::status const refused = second.start();
  std::printf("second: %s\n", refused.message().c_str());
  work();
  (void)first.report();
  if (!second.start().ok()) return 2;
  work();
  std::printf("ranges: %zu %zu\n", first.profile().ranges.size(), second.profile().ranges.size());
  return 0;
}

/// Before the first range; configured as STRATA says where it says `formats=table`.
int own_session() {
  char const* const wish = std::getenv("STRATA");
  strata::vec<std::string> problems;
  bool const follows = wish != nullptr && std::strstr(wish, "formats=table") != nullptr;
  strata::session mine(strata::options::parse(follows ? wish : "host,formats=table", problems));
  if (!mine.start().ok()) return 1;
  work();
  (void)mine.report();
  return 0;
}

int threads_that_go_on() {
  std::atomic<bool> running{false};
  static std::atomic<bool>* const started = &running;
  std::thread([] {
    for (;;) {
      work();
      *started = true;
      strata::push("pushed");
    }
  }).detach();
  test::await([&] { return running.load(); });
  std::exit(0);  // `running` stays
}

int limited_files(rlim_t most) {
  std::signal(SIGXFSZ, SIG_IGN);
  work();
  rlimit const limit{most, most};
  setrlimit(RLIMIT_FSIZE, &limit);
  return 7;
}

/// A handler with a range, at any moment of a thread that begins and ends ranges.
int ranges_in_signals() {
  static auto const handler = [](int) {
    STRATA_RANGE("handler");
    ++interrupts;
  };
  handler(0);
  std::signal(SIGALRM, handler);
  itimerval const often{{0, 100}, {0, 100}};
  setitimer(ITIMER_REAL, &often, nullptr);
  char name[] = "name 0";
  for (int i = 0; interrupts < 2000; ++i) {
    name[5] = static_cast<char>('0' + i % 10);
    strata::scoped_range const r(name);
  }
  itimerval const never{};
  setitimer(ITIMER_REAL, &never, nullptr);
  return 0;
}

/// A signal while a thread's first range is recorded: its handler has the thread's second one.
int first_range_in_signal() {
  work();
  std::signal(SIGUSR1, [](int) {
    STRATA_RANGE("handler");
    ++interrupts;
  });
  std::thread([] {
    interrupt_the_first_range = true;
    STRATA_RANGE("first");
  }).join();
  return interrupts == 1 ? 0 : 1;
}

/// A signal's handler ends the program while its thread begins its first range, within Strata.
void exit_within_strata() {
  work();
  std::signal(SIGUSR1, [](int) { std::exit(6); });
  std::thread([] {
    interrupt_the_first_range = true;
    STRATA_RANGE("first");
  }).join();
}

/// A signal's handler ends the program, most often while its thread is in malloc.
void exit_within_malloc() {
  work();
  std::signal(SIGALRM, [](int) { std::exit(6); });
  itimerval const once{{0, 0}, {0, 3000 + getpid() % 7 * 500}};
  setitimer(ITIMER_REAL, &once, nullptr);
  for (std::size_t size = 0;; size = (size + 1) % 5000) {
    void* const volatile first = std::malloc(size + 10);
    void* const volatile second = std::malloc(3000);
    std::free(first);
    std::free(second);
  }
}

void exit_in_handler() {
  std::signal(SIGUSR1, [](int) { std::exit(6); });
  std::raise(SIGUSR1);
}

/// A signal's handler ends the program while its thread holds a lock that a report spins for.
void exit_within_lock() {
  work();
  strata::detail::spin_lock const held(strata::detail::block().mutex);
  exit_in_handler();
}

/// The disk is slow. `how`: a handler ends the program; two signals end it meanwhile; a handler
/// ends it within the report.
int end_on_slow_disk(std::string const& how) {
  work();
  slow_disk_ms = how == "slow-disk-handler" ? 3'000 : 60'000;
  if (how == "slow-disk-handler") exit_in_handler();
  if (how == "slow-disk-within") {
    std::signal(SIGALRM, [](int) { std::exit(6); });
    alarm(1);
    return 5;
  }
  std::thread([] {
    for (int i = 0; i < 2; ++i) {
      usleep(500'000);
      kill(getpid(), SIGTERM);
    }
    for (;;) pause();
  }).detach();
  exit_in_handler();
  return 5;
}

/// As servers do: all signals are blocked, those with a handler too, and one is waited for.
int wait_for_signal() {
  std::atexit(&work);  // after the report
  work();
  std::signal(SIGTERM, &count_interrupt);
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  kill(getpid(), SIGTERM);
  int which = 0;
  sigemptyset(&all);
  sigaddset(&all, SIGTERM);
  sigwait(&all, &which);
  return which == SIGTERM ? 5 : 1;
}

/// Steps of a handler, at any moment of a thread that has steps.
int steps_in_signals() {
  static auto const handler = [](int) {
    STRATA_STEP();
    ++interrupts;
  };
  handler(0);
  std::signal(SIGALRM, handler);
  itimerval const often{{0, 100}, {0, 100}};
  setitimer(ITIMER_REAL, &often, nullptr);
  while (interrupts < 5000) {
    STRATA_STEP();
  }
  itimerval const never{};
  setitimer(ITIMER_REAL, &never, nullptr);
  return 0;
}

/// Another thread holds stdout for ever.
int hold_output() {
  work();
  static std::atomic<bool> holds{false};
  std::thread([] {
    flockfile(stdout);
    holds = true;
    for (;;) pause();
  }).detach();
  while (!holds) usleep(100);
  return 6;
}

/// A handler that calls the one that was there before it.
void chain_handlers() {
  static void (*previous)(int) = nullptr;
  work();
  previous = std::signal(SIGTERM, [](int signal) {
    say("own handler\n");
    if (previous != SIG_DFL) previous(signal);
    _exit(6);
  });
  std::raise(SIGTERM);
}

/// stderr is a file that has no room.
void abort_without_room(char const* file) {
  dup2(open(file, O_WRONLY | O_CREAT, 0600), STDERR_FILENO);
  work();
  rlimit const none{0, 0};
  setrlimit(RLIMIT_FSIZE, &none);
  std::abort();
}

/// What is given back to the program at its end: its handlers, and what it has not flushed.
int last_words(bool quick) {
  auto const handler = [] { say("handler\n"); };
  if (quick) std::at_quick_exit(handler);
  std::atexit(handler);
  work();
  std::fputs("unflushed", stdout);
  if (quick) std::quick_exit(5);
  return 5;
}

/// Names and values that are mistakes.
int mistakes() {
  char const* const none = nullptr;
  strata::push(none);
  strata::pop();
  strata::push(nullptr, 1);
  strata::pop();
  { STRATA_RANGE(none); }
  { STRATA_RANGE(""); }
  { strata::scoped_range const r{std::string()}; }
  // clang-format off
  { STRATA_RANGE("one"); STRATA_RANGE("line"); }
  // clang-format on
  { STRATA_RANGE("rates", strata::flops(-5), strata::bytes(0.0 / zero), strata::tokens(3)); }
  return 0;
}

void steps() {
  for (int i = 0; i < 6; ++i) {
    STRATA_STEP();
    STRATA_RANGE("step", i);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::string const how = argc > 1 ? argv[1] : "";
  if (how == "return") {
    work();
    return 5;
  }
  if (how == "elsewhere") {
    work();
    return chdir("/") == 0 ? 5 : 1;
  }
  if (how == "loader") {
    bool const loaded = dlopen(argv[2], RTLD_NOW) != nullptr;
    work();
    return loaded ? 5 : 1;
  }
  if (how == "late-handler") {
    std::atexit(&work);
    work();
    return 0;
  }
  if (how == "exit") {
    STRATA_RANGE("open");
    work();
    std::exit(0);
  }
  if (how == "exit-within-strata") exit_within_strata();
  if (how == "exit-within-malloc") exit_within_malloc();
  if (how == "exit-within-lock") exit_within_lock();
  if (how.compare(0, 9, "slow-disk") == 0) return end_on_slow_disk(how);
  if (how == "server") return wait_for_signal();
  if (how == "step-signals") return steps_in_signals();
  if (how == "held-output") return hold_output();
  if (how == "chained-handler") chain_handlers();
  if (how == "abort-without-room") abort_without_room(argv[2]);
  if (how == "exit-in-thread") {
    std::thread([] {
      STRATA_RANGE("thread");
      std::exit(3);
    }).join();
  }
#if defined(__cpp_exceptions)
  if (how == "throw" || how == "throw-own") {
    if (how == "throw-own") {
      std::set_terminate([] {
        say("own handler\n");
        std::abort();
      });
    }
    STRATA_RANGE("open");
    work();
    throw std::runtime_error("nobody catches this");
  }
#endif
  if (how == "raise") {  // does not return, as without a session
    { STRATA_RANGE("work"); }
    std::raise(SIGTERM);
    return 5;
  }
  if (how == "wait") {
    work();
    say_ready();
    for (;;) pause();
  }
  if (how == "own-handler" || how == "own-handler-late") {
    if (how == "own-handler") std::signal(SIGINT, &count_interrupt);
    work();
    if (how == "own-handler-late") std::signal(SIGINT, &count_interrupt);
    say_ready();
    wait_for_interrupt();
    return 4;
  }
  if (how == "ignore") {
    std::signal(SIGINT, SIG_IGN);
    work();
    std::raise(SIGINT);
    return 6;
  }
  if (how == "fork" || how == "fork-signal") return forked(argv[1]);
  if (how == "fork-exec") return run_program(argv[0], "return", true);
  if (how == "exec") return run_program(argv[0], "return", false);
  if (how == "idle") return idle();
  if (how == "on-demand") return on_demand();
  if (how == "own-session") return own_session();
  if (how == "threads") return threads_that_go_on();
  if (how == "limited-files") return limited_files(64);
  if (how == "limited-sizes") return limited_files(2000);
  if (how == "thread-local") {
    std::thread([] {
      static thread_local thread_local_range last;
      last.phase.next("last");
    }).join();
    static thread_local thread_local_range last;
    last.phase.next("last");
    return 0;
  }
  if (how == "errno") {
    errno = 42;
    { STRATA_RANGE("first"); }
    return errno == 42 ? 0 : 1;
  }
  if (how == "steps") {
    steps();
    return 0;
  }
  if (how == "signals") return ranges_in_signals();
  if (how == "first-signal") return first_range_in_signal();
  if (how == "last-words") return last_words(false);
  if (how == "last-words-quick") return last_words(true);
  if (how == "mistakes") return mistakes();
  if (how == "busy") {
    work();
    strata::session mine;
    std::printf("%s\n", mine.start().message().c_str());
    std::printf("%s\n", mine.report().message().c_str());
    return 0;
  }
  return 100;
}
