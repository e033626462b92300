// The ways a program may end, for tests with the stand-ins (fake/ending_test.cpp) and on a device
// (gpu/hung_test.py, by gpu/program/hung_program.cu): one list, and what does it.
#ifndef STRATA_TESTS_ENDINGS_HPP
#define STRATA_TESTS_ENDINGS_HPP

#include <strata/strata.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>

#include "patience.hpp"

namespace endings {

/// What Strata says at the end.
enum class word { report, sentence, nothing };

struct way_row {
  char const* name;
  word what;       // that the session of STRATA says
  bool ranges;     // the way has ranges of its own
  bool on_device;  // also with a real GPU
};

inline constexpr way_row ways[] = {
    {"return", word::report, false, true},      {"exit", word::report, false, true},
    {"quick_exit", word::report, false, true},  {"thread_exit", word::report, true, false},
    {"pthread_exit", word::report, true, true}, {"throw", word::report, false, false},
    {"terminate", word::report, false, true},   {"dlclose", word::report, true, false},
    {"SIGTERM", word::report, false, true},     {"SIGINT", word::report, false, true},
    {"SIGHUP", word::report, false, true},      {"fork", word::report, false, true},
    {"abort", word::sentence, false, true},     {"SIGABRT", word::sentence, false, false},
    {"daemon", word::sentence, true, false},    {"_exit", word::nothing, false, true},
    {"SIGKILL", word::nothing, false, true},    {"SIGSEGV", word::nothing, false, false},
    {"exec", word::nothing, false, true},
};

/// A thread that continues for a while: longer than what ends with main.
inline void start_worker(void (*at_end)() = [] {}) {
  static std::atomic<bool> works{false};
  std::thread([at_end] {
    for (int i = 0; i < 300; ++i) {
      STRATA_RANGE("worker");
      usleep(1000);
      works = true;
    }
    at_end();
  }).detach();
  test::await([] { return works.load(); }, [] { usleep(100); });
}

[[noreturn]] inline void wait_for(int signal) {
  kill(getpid(), signal);
  for (;;) pause();
}

/// A child that has ranges and ends at once. Returns: its exit code.
inline int fork_child() {
  std::fflush(stdout);  // in a child without threads ThreadSanitizer's _exit writes the rest
  pid_t const child = fork();
  if (child == 0) {
    STRATA_RANGE("child");
    _exit(10);
  }
  int status = 0;
  while (waitpid(child, &status, 0) != child) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 11;
}

/// Ends the process in this way, or returns the exit code of main. The ways without a line here are
/// the program's own.
inline int end(std::string const& way) {
  if (way == "exit") std::exit(4);
  if (way == "quick_exit") std::quick_exit(5);
  if (way == "_exit") _exit(6);
  if (way == "abort") std::abort();
  if (way == "throw") throw std::runtime_error("nobody catches this");
  if (way == "terminate") std::terminate();
  if (way == "SIGTERM") wait_for(SIGTERM);
  if (way == "SIGINT") wait_for(SIGINT);
  if (way == "SIGHUP") wait_for(SIGHUP);
  if (way == "SIGABRT") wait_for(SIGABRT);
  if (way == "SIGKILL") wait_for(SIGKILL);
  if (way == "SIGSEGV") wait_for(SIGSEGV);
  if (way == "exec") execl("/bin/sh", "sh", "-c", "exit 8", static_cast<char*>(nullptr));
  if (way == "fork") return fork_child();
  return 3;
}

}  // namespace endings

#endif  // STRATA_TESTS_ENDINGS_HPP
