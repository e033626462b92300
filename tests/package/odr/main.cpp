// Calls both units: linked where they are, else loaded. Each adds one to 40.
#include <dlfcn.h>
#include <strata/strata.hpp>

extern "C" __attribute__((weak, visibility("default"))) int first(int);
extern "C" __attribute__((weak, visibility("default"))) int second(int);

using unit = int (*)(int);

static unit find(unit linked, char const* library, char const* name) {
  if (linked != nullptr) return linked;
  void* const handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  return handle == nullptr ? nullptr : reinterpret_cast<unit>(dlsym(handle, name));
}

int main() {
  STRATA_RANGE("main_range");
  unit const one = find(first, "./libfirst.so", "first");
  unit const two = find(second, "./libsecond.so", "second");
  return one == nullptr || two == nullptr ? 1 : two(one(40));
}
