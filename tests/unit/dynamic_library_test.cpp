// What the dynamic linker does not find is Strata's to know, and no error of the program.
#include <strata/base/dynamic_library.hpp>
#include <strata/collect/cuda/cupti_library.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <string>
#include <thread>

#include <dlfcn.h>
#include <link.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../sanitizers.hpp"

namespace dynamic_library_test {

using strata::detail::dynamic_library;

TEST_CASE("a library or function that is missing leaves no error for the program's dlerror") {
  dynamic_library library;
  CHECK_FALSE(library.open("libnone.so.1"));
  CHECK(dlerror() == nullptr);
  CHECK_FALSE(library.open_loaded("libnone.so.1"));
  CHECK(dlerror() == nullptr);
  std::string reason;
  CHECK_FALSE(library.open("/nowhere/libnone.so.1", reason));
  CHECK(reason.find("/nowhere/libnone.so.1: ") == 0);
  CHECK(dlerror() == nullptr);
  REQUIRE(library.open("libc.so.6"));
  void (*missing)() = nullptr;
  CHECK_FALSE(library.bind("no_such_function", missing));
  CHECK(dlerror() == nullptr);
  CHECK(library.path_of("no_such_function").empty());
  CHECK(dlerror() == nullptr);
  CHECK(library.path_of("strlen").find("libc") != std::string::npos);
}

TEST_CASE("a child that is forked while a thread looks for libraries has a free dynamic loader") {
  if (test::sanitized) return;  // a sanitizer's own locks are not free in such a child
  strata::detail::loader_use::guard_forks();
  std::atomic<bool> done{false};
  std::thread beside([&done] {
    while (!done.load()) (void)strata::detail::cupti::folder_of_loaded("libnone.so");
  });
  int hung = 0;
  for (int i = 0; i < 300 && hung == 0; ++i) {
    pid_t const child = fork();
    if (child == 0) {
      alarm(20);
      auto const ignore = [](dl_phdr_info*, std::size_t, void*) { return 0; };
      (void)dl_iterate_phdr(ignore, nullptr);
      _exit(0);
    }
    int status = 0;
    while (waitpid(child, &status, 0) != child) {
    }
    hung += WIFEXITED(status) ? 0 : 1;
  }
  done.store(true);
  beside.join();
  CHECK(hung == 0);
}

}  // namespace dynamic_library_test
