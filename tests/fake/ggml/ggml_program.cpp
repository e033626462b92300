// A prompt of five tokens, four tokens, and one of each of two sequences, by ggml's stand-in.
// ggml_program is linked with it; ggml_opened LIBRARY opens it as Python does. Where the stand-in
// of the driver is named, a context is made first.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#include "program.hpp"

namespace {

using compute_function = decltype(compute);

#if GGML_OPENED
compute_function* find_compute(char** words) {
  void* const library = dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
  return library == nullptr ? nullptr
                            : reinterpret_cast<compute_function*>(dlsym(library, "compute"));
}
#else
compute_function* find_compute(char**) { return &compute; }
#endif

void* function_in(char const* variable, char const* name) {
  return dlsym(dlopen(std::getenv(variable), RTLD_NOW | RTLD_LOCAL), name);
}

void make_context() {
  if (std::getenv("FAKE_CUDA_FILE") == nullptr) return;
  (void)reinterpret_cast<int (*)(unsigned)>(function_in("FAKE_CUDA_FILE", "cuInit"))(0);
  reinterpret_cast<void (*)(unsigned)>(function_in("FAKE_CUPTI_FILE", "fake_create_context"))(1);
}

}  // namespace

int main(int, char** words) {
  compute_function* const run = find_compute(words);
  if (run == nullptr) return 9;
  make_context();
  std::printf("%d", run(5, 1));
  for (int i = 0; i < 4; ++i) std::printf(" %d", run(1, 1));
  std::printf(" %d\n", run(2, 2));
  return 7;
}
