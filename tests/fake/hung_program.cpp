// A program whose GPU never ends a kernel, and that ends in some way: `hung_program STATE WAY`.
// FAKE_HANG is the number of fake_blocked: which calls block. TEST_SESSION is the text of a session
// in code, where there is one; else STRATA decides. hung_test runs each state with each way.
#include <strata/session.hpp>
#include <strata/strata.hpp>

#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include "../forked_leaks.hpp"
#include "fake.hpp"

namespace {

constexpr std::uint32_t stream = 9;

std::unique_ptr<strata::session> outlives_cupti;  // older, and so destroyed later

void* const cupti = dlopen(std::getenv("FAKE_CUPTI_FILE"), RTLD_NOW);

template <class Function>
Function* control(char const* name) {
  return reinterpret_cast<Function*>(dlsym(cupti, name));
}
#define CONTROL(name) control<decltype(name)>(#name)

void say(char const* text) { (void)!write(1, text, std::string(text).size()); }

void launch(std::uint32_t context = 1) {
  fake_kernel kernel;
  kernel.name = "kernel";
  kernel.context = context;
  (void)CONTROL(fake_launch)(&kernel);
}

void work() {
  STRATA_RANGE("work");
  launch();
}

/// From here on a kernel runs that never ends.
void hang(std::uint32_t context = 1) {
  STRATA_RANGE("stuck");
  CONTROL(fake_hold)(1);
  launch(context);
  CONTROL(fake_hang)(static_cast<unsigned>(std::atoi(std::getenv("FAKE_HANG"))));
}

std::atomic<bool> waits{false};

/// The thread waits for the GPU within a range, as long as the process lives.
void wait_for_gpu() {
  STRATA_RANGE("all-reduce");
  waits = true;
  (void)CONTROL(fake_sync)(3, stream, 1000);
}

struct state {
  strata::phases open;
  std::unique_ptr<strata::scoped_step> step;

  void enter(std::string const& which) {
    for (int i = 0; i < 3; ++i) {
      strata::scoped_step const whole;
      work();
    }
    if (which == "counting" || which == "window-end")
      step = std::make_unique<strata::scoped_step>();
    if (which == "stuck-thread") {  // with sync=1 it waits at the end of the range, too
      std::thread([] {
        hang();
        wait_for_gpu();
      }).detach();
      usleep(300'000);
      return;
    }
    if (which == "contexts") {
      CONTROL(fake_create_context)(2);
      launch(2);
      hang(2);
    } else {
      if (which == "capture-first") (void)CONTROL(fake_begin_capture)(stream);
      hang();
    }
    if (which == "capture") (void)CONTROL(fake_begin_capture)(stream);
    if (which == "thread") {
      std::thread(&wait_for_gpu).detach();
      while (!waits) usleep(1000);
    } else {
      open.next("all-reduce");
    }
  }
};

[[noreturn]] void wait_for(int signal) {
  kill(getpid(), signal);
  for (;;) pause();
}

/// The process ends a little later, with its last thread.
[[noreturn]] void end_main() {
  std::thread([] { usleep(100'000); }).detach();
  pthread_exit(nullptr);
}

int end(std::string const& way, state& now) {
  if (way == "exit") std::exit(4);
  if (way == "quick_exit") std::quick_exit(5);
  if (way == "throw") throw std::runtime_error("nobody catches this");
  if (way == "abort") std::abort();
  if (way == "_exit") _exit(7);
  if (way == "exec") execl("/bin/sh", "sh", "-c", "exit 8", static_cast<char*>(nullptr));
  if (way == "pthread_exit") end_main();
  if (way == "fork") {
    std::fflush(nullptr);
    pid_t const child = fork();
    if (child == 0) return 9;
    int status = 0;
    while (waitpid(child, &status, 0) != child) {
    }
    std::printf("child %d\n", status);
  }
  if (way == "SIGKILL") wait_for(SIGKILL);
  if (way == "SIGTERM") wait_for(SIGTERM);
  if (way == "SIGINT") wait_for(SIGINT);
  if (way == "SIGHUP") wait_for(SIGHUP);
  if (way == "in-window-end" || way == "in-range-end") {  // Strata itself may wait in this thread
    std::thread([] {
      usleep(300'000);
      kill(getpid(), SIGTERM);
    }).detach();
    now.open.end();
    now.step.reset();
    for (;;) pause();
  }
  if (way == "in-report" || way == "main-in-report") {
    now.step.reset();  // the window's end has waited long enough, and its report begins
    for (int i = 0; i < 4; ++i) {
      strata::scoped_step const whole;
      usleep(100'000);
    }
    if (way == "main-in-report") end_main();
    wait_for(SIGTERM);
  }
  if (way == "main-watched") {
    std::thread([] { usleep(2'500'000); }).detach();
    pthread_exit(nullptr);
  }
  if (way == "watched") {
    usleep(2'500'000);
    std::exit(6);
  }
  if (way == "released") {
    std::thread([] {
      usleep(300'000);
      CONTROL(fake_hang)(0);
    }).detach();
    usleep(1000);
  }
  return 3;
}

/// What a program may do at its end: the handlers and objects of its own all run.
struct last_words {
  ~last_words() { say("static object\n"); }
} const object;

}  // namespace

int main(int, char** words) {
  std::atexit([] { say("exit handler\n"); });
  static strata::session* session = nullptr;
  std::unique_ptr<strata::session> local;
  if (char const* const text = std::getenv("TEST_SESSION")) {
    strata::vec<std::string> problems;
    session = new strata::session(strata::options::parse(text, problems));
    if (!session->start().ok()) return 99;
    std::string const way = words[2];
    if (way == "outlived") outlives_cupti.reset(session);
    if (way != "outlived" && way != "main-watched") local.reset(session);  // these outlive main
  }
  auto* const now = new state;  // its ranges stay open
  now->enter(words[1]);
  return end(words[2], *now);
}
