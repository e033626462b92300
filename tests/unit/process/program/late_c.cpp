// A unit of <strata/c.h> in a program without an implementation, which a module brings later.
#include <strata/c.h>

#include <dlfcn.h>

#include <cstdio>

namespace {

void calls(int count) {
  for (int i = 0; i < count; ++i) {
    strata_push("range");
    strata_pop();
  }
}

}  // namespace

int main(int, char** words) {
  calls(1);
  std::printf("before: %d\n", strata_detail_c_found != nullptr);
  if (dlopen(words[1], RTLD_NOW | RTLD_LOCAL) == nullptr) return 1;
  calls(32);
  std::printf("after: %d\n", strata_detail_c_found != nullptr);
  return 0;
}
