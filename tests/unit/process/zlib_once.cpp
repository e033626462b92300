// Whoever asks whether libz is here: it is looked for once, since to open it reads its file.
#include <doctest/doctest.h>
#include "report/gzip_writer.hpp"

#include <dlfcn.h>

#include <cstring>

namespace {
int opened = 0;  // how often libz was
}

// In place of the system's, for the whole program.
extern "C" void* dlopen(char const* file, int flags) {
  if (file != nullptr && std::strstr(file, "libz.so") != nullptr) ++opened;
  static auto* const real =
      reinterpret_cast<void* (*)(char const*, int)>(dlsym(RTLD_NEXT, "dlopen"));
  return real(file, flags);
}

TEST_CASE("libz is opened once, however often is asked for it") {
  bool const first = strata::detail::gzip_writer::has_zlib();
  for (int i = 0; i < 10; ++i) CHECK(strata::detail::gzip_writer::has_zlib() == first);
  CHECK(opened == 1);
}
