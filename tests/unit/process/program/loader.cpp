// A program with ranges that loads modules with ranges, each for itself: with a session
// (TEST_WITH_SESSION) or without. An argument is a module, `-` and a module to unload it at once,
// `=` and a module to unload it when it has worked and tell what is left of it, or `+` to record
// from here on. After each argument every module that is there works.
#include <strata/range.hpp>
#if TEST_WITH_SESSION
#include <strata/session.hpp>
#endif

#include <dlfcn.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

using work_function = void (*)();

namespace {

void say_what_is_left(char const* file) {
  std::size_t variables = 0;
  for (char** entry = environ; *entry != nullptr; ++entry)
    variables += std::strncmp(*entry, "STRATA_DETAIL", 13) == 0 ? 1 : 0;
  bool const loaded = dlopen(file, RTLD_NOW | RTLD_NOLOAD) != nullptr;
  std::printf("loaded: %d, variables: %zu\n", loaded, variables);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<work_function> modules;
#if TEST_WITH_SESSION
  strata::options how;
  how.trace = how.csv = how.json = how.chrome_trace = false;
  strata::session mine(how);
#endif
  for (int i = 1; i < argc; ++i) {
    std::string const argument = argv[i];
    bool const tell = argument[0] == '=';
    bool const unload = tell || argument[0] == '-';
#if TEST_WITH_SESSION
    if (argument == "+") {
      if (!mine.start().ok()) return 4;
    }
#endif
    if (argument != "+") {
      char const* const file = argument.c_str() + argument.find_first_not_of("-=");
      void* const module = dlopen(file, RTLD_NOW | RTLD_LOCAL);
      if (module == nullptr) {
        std::fprintf(stderr, "%s\n", dlerror());
        return 2;
      }
      auto const work = reinterpret_cast<work_function>(dlsym(module, "module_work"));
      if (work == nullptr) return 3;
      if (unload) {
        if (tell || argument[1] == '-') work();
        dlclose(module);
        if (tell) say_what_is_left(file);
      } else {
        modules.push_back(work);
      }
    }
    {
      STRATA_RANGE("loader");
      for (work_function const work : modules) work();
    }
  }
#if TEST_WITH_SESSION
  if (mine.running()) (void)mine.report();
#endif
  return 0;
}
