// A program that comes into a state and then ends in a way: `ending_program STATE WAY`.
// TEST_SESSION is the text of a session in code, where there is one; else STRATA decides.
// ending_test runs each state with each way.
#include <strata/base/dynamic_library.hpp>
#include <strata/session.hpp>
#include <strata/strata.hpp>

#include <dlfcn.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <system_error>
#include <thread>

#include "../forked_leaks.hpp"
#include "../patience.hpp"
#include "endings.hpp"
#include "fake.hpp"
#include "two_implementations.hpp"

namespace {

constexpr std::uint32_t stream = 9;

/// Loaded with the first call; Strata may have loaded it before.
template <class Function>
Function* control(char const* name) {
  static void* const cupti = dlopen(std::getenv("FAKE_CUPTI_FILE"), RTLD_NOW);
  return reinterpret_cast<Function*>(dlsym(cupti, name));
}
#define CONTROL(name) control<decltype(name)>(#name)

void work() {
  STRATA_RANGE("work");
  fake_kernel kernel;
  kernel.name = "kernel";
  (void)CONTROL(fake_launch)(&kernel);
}

void make_graph(std::uint32_t stream_of_own) {
  STRATA_RANGE("graph");
  (void)CONTROL(fake_begin_capture)(stream_of_own);
  fake_kernel kernel;
  kernel.stream = stream_of_own;
  (void)CONTROL(fake_launch)(&kernel);
  fake_graph_t const captured = CONTROL(fake_end_capture)(stream_of_own);
  fake_graph_t const executable = CONTROL(fake_graph_clone)(captured);
  (void)CONTROL(fake_graph_launch)(executable, stream_of_own);
  CONTROL(fake_graph_destroy)(executable);
  CONTROL(fake_graph_destroy)(captured);
}

/// Threads that launch and make graphs until the process has ended, and one that lets threads come
/// and go.
void launch_beside() {
  constexpr std::uint32_t threads = 3;
  static std::atomic<std::uint32_t> begun{0};
  auto const round = [](std::uint32_t own) {
    STRATA_RANGE("beside");
    work();
    make_graph(stream + own);
    usleep(50);
  };
  CONTROL(fake_set_auto_delivery)(1000);
  for (std::uint32_t own = 1; own <= threads; ++own) {
    std::thread([round, own] {
      for (bool first = true;; first = false) {
        round(own);
        begun.fetch_add(first ? 1 : 0);
      }
    }).detach();
  }
  std::thread([round] {
    for (;;) {
      try {
        std::thread(round, threads + 1).join();
      } catch (std::system_error const&) {
        usleep(100);  // none begins while exec() ends the others
      }
    }
  }).detach();
  test::await([] { return begun.load() == threads; }, [] { usleep(100); });
}

/// From now on no file gets a byte.
void fill_disk() {
  rlimit const none{0, 0};
  (void)setrlimit(RLIMIT_FSIZE, &none);
}

/// What happens to be under way when the program ends.
struct state {
  strata::phases open;
  std::unique_ptr<strata::scoped_step> step;

  /// True in the process that ends in the way asked for.
  bool enter(std::string const& which) {
    if (which == "idle") return true;
    if (which == "busy") CONTROL(fake_hold)(1);
    if (which == "full") fill_disk();
    if (which != "late") work();
    if (which == "open") open.next("open");
    if (which == "counting") {
      for (int i = 0; i < 2; ++i) {
        strata::scoped_step const timed;
        work();
      }
      step = std::make_unique<strata::scoped_step>();
      open.next("counted");
      work();
    }
    if (which == "window" || which == "late") {
      step = std::make_unique<strata::scoped_step>();
      work();
    }
    if (which == "ended" || which == "keys") {
      strata::scoped_step const timed;
      work();
    }
    if (which == "capture" || which == "pending") {
      if (which == "pending") step = std::make_unique<strata::scoped_step>();
      (void)CONTROL(fake_begin_capture)(stream);
      if (which == "pending") step.reset();  // its window ends, but the capture does not
    }
    if (which == "threads") endings::start_worker();
    if (which == "launching" || which == "storm") launch_beside();
    for (int i = 0; which == "storm" && i < 20; ++i) {
      strata::scoped_step const timed;
      work();
      usleep(500);
    }
    return which != "child" || fork_child();
  }

  bool fork_child() {
    std::fflush(nullptr);
    open.next("open");
    pid_t const child = fork();
    if (child == 0) {
      open.end();
      work();
      return true;
    }
    int status = 0;
    while (waitpid(child, &status, 0) != child) {
    }
    std::printf("child %d\n", WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status));
    return false;
  }
};

void say(char const* text) { (void)!write(1, text, std::string(text).size()); }

void exit_on_small_stack() {
  pthread_attr_t small;
  pthread_attr_init(&small);
  if (pthread_attr_setstacksize(&small, 20 << 10) != 0) _exit(9);
  auto const leave = [](void*) -> void* { std::exit(7); };
  pthread_t thread{};
  if (pthread_create(&thread, &small, leave, nullptr) == 0) pthread_join(thread, nullptr);
  _exit(9);
}

int end(std::string const& way) {
  if (way == "thread_exit") {
    std::thread([] {
      STRATA_RANGE("thread");
      std::exit(7);
    }).join();
  }
  if (way == "small_exit") exit_on_small_stack();
  if (way == "pthread_exit") {
    endings::start_worker();
    pthread_exit(nullptr);
  }
  if (way == "late_signal") {  // no thread of the program is left that takes it
    sigset_t late;
    sigemptyset(&late);
    sigaddset(&late, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &late, nullptr);
    std::thread([] { kill(getpid(), SIGTERM); }).detach();
    pthread_exit(nullptr);
  }
  if (way == "late_fork") {  // main has ended, and another thread has not
    std::thread([] {
      usleep(200'000);
      if (fork() == 0) std::exit(0);
      usleep(300'000);
    }).detach();
    pthread_exit(nullptr);
  }
  if (way == "daemon") {
    pid_t const parent = getpid();
    if (daemon(1, 1) != 0) return 9;
    test::await([parent] { return getppid() != parent; },
                [] { usleep(1000); });  // it may still be ending
    work();
  }
  if (way == "dlclose") {
    void* const module = dlopen(TWO_MODULE, RTLD_NOW | RTLD_LOCAL);
    reinterpret_cast<two::module_calls const* (*)()>(dlsym(module, "two_module"))()->work([] {});
    dlclose(module);
  }
  return endings::end(way);
}

/// What a program may do at its end: the handlers and objects of its own all run.
struct last_words {
  ~last_words() { say("static object\n"); }
} const object;

}  // namespace

int main(int, char** words) {
  std::atexit([] {
    usleep(20'000);  // another thread that exits ends the process before
    say("exit handler\n");
  });
  // A static one is destroyed after CUPTI.
  static std::unique_ptr<strata::session> outliving;
  std::unique_ptr<strata::session> local;
  std::string const name = words[1];
  bool const outlives = name == "late" || name == "counting" || name == "keys";
  std::unique_ptr<strata::session>& session = outlives ? outliving : local;
  if (char const* const text = std::getenv("TEST_SESSION")) {
    strata::vec<std::string> problems;
    session = std::make_unique<strata::session>(strata::options::parse(text, problems));
    if (!session->start().ok()) return 99;
  }
  state at;
  if (!at.enter(words[1])) return 0;
  std::fputs("unflushed\n", stdout);
  return end(words[2]);
}
