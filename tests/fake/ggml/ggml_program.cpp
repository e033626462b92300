// A prompt of five tokens, four tokens, and one of each of two sequences, by ggml's stand-in.
// ggml_program is linked with it; ggml_opened LIBRARY opens it as Python does. Where the stand-in
// of the driver is named, a context is made first. Other words: `threads`, a thread for each token;
// `steps`, with steps of its own, of two tokens; `encoder`, a graph without tokens after the
// prompt; another LIBRARY, which computes afterwards.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "program.hpp"

namespace {

using compute_function = decltype(compute);

#if GGML_OPENED
compute_function* find_compute(char const* path) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  return library == nullptr ? nullptr
                            : reinterpret_cast<compute_function*>(dlsym(library, "compute"));
}
#else
compute_function* find_compute(char const*) { return &compute; }
#endif

void* function_in(char const* variable, char const* name) {
  return dlsym(dlopen(std::getenv(variable), RTLD_NOW | RTLD_LOCAL), name);
}

void make_context() {
  if (std::getenv("FAKE_CUDA_FILE") == nullptr) return;
  (void)reinterpret_cast<int (*)(unsigned)>(function_in("FAKE_CUDA_FILE", "cuInit"))(0);
  reinterpret_cast<void (*)(unsigned)>(function_in("FAKE_CUPTI_FILE", "fake_create_context"))(1);
}

void compute_elsewhere(std::string const& library) {
  compute_function* const run = find_compute(library.c_str());
  std::printf(" %d", run(5, 1));
  std::printf(" %d", run(1, 1));
  std::printf(" %d", run(2, 2));
}

void compute_in_threads(compute_function* run) {
  for (int i = 0; i < 4; ++i) std::thread([run] { (void)run(1, 1); }).join();
}

void compute_in_steps(compute_function* run) {
  auto const call = [](char const* name) {
    if (auto* const found = reinterpret_cast<void (*)()>(dlsym(RTLD_DEFAULT, name))) found();
  };
  for (int i = 0; i < 2; ++i) {
    call("strata_step_begin");
    (void)run(1, 1);
    (void)run(1, 1);
    call("strata_step_end");
  }
}

}  // namespace

int main(int count, char** words) {
  compute_function* const run = find_compute(words[1]);
  if (run == nullptr) return 9;
  make_context();
  std::string const way = count > 2 ? words[2] : "";
  std::printf("%d", run(5, 1));
  if (way == "encoder") (void)run(7, 0);
  if (way == "threads") {
    compute_in_threads(run);
  } else if (way == "steps") {
    compute_in_steps(run);
  } else {
    for (int i = 0; i < 4; ++i) std::printf(" %d", run(1, 1));
  }
  std::printf(" %d", run(2, 2));
  if (way.find('/') != std::string::npos) compute_elsewhere(way);
  std::puts("");
  return 7;
}
