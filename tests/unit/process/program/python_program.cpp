// A program that records a range before its Python begins: what stands for Python takes SIGINT as
// Python does, where nothing else has it. It takes SIGINT, leaves it, or
// never begins: begin, leaves, never.
#include <strata/range.hpp>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstring>

#include <unistd.h>

namespace {

std::atomic<int> has_begun{0};  // a thread of the session asks

void begin_python() {
  struct sigaction now {};
  sigaction(SIGINT, nullptr, &now);
  if (now.sa_handler == SIG_DFL) std::signal(SIGINT, [](int) { _exit(5); });
  has_begun = 1;
}

/// Until the session has SIGINT again.
void await_session() {
  struct sigaction now {};
  for (int i = 0; i < 10'000; ++i) {
    sigaction(SIGINT, nullptr, &now);
    if (now.sa_handler != SIG_DFL) return;
    usleep(1'000);
  }
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int Py_IsInitialized() { return has_begun; }

int main(int, char** words) {
  { STRATA_RANGE("load"); }
  if (std::strcmp(words[1], "begin") == 0) begin_python();
  if (std::strcmp(words[1], "leaves") == 0) {
    has_begun = 1;
    await_session();
  }
  std::raise(SIGINT);
  for (;;) pause();
}
