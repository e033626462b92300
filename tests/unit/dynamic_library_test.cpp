// What the dynamic linker does not find is Strata's to know, and no error of the program.
#include <strata/base/dynamic_library.hpp>

#include <doctest/doctest.h>

#include <string>

#include <dlfcn.h>

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

}  // namespace dynamic_library_test
