// A module that leaves a range open, and that dies in its own code as TEST_DIES says, once the
// recording TEST_RECORDING has grown by what it did.
#include <strata/strata.hpp>

#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "../../../patience.hpp"

namespace {

void work() {
  for (int i = 0; i < 1000; ++i) {
    STRATA_RANGE("plugin");
  }
}

std::size_t size_of(char const* file) {
  std::error_code none;
  auto const size = std::filesystem::file_size(file, none);
  return none ? 0 : static_cast<std::size_t>(size);
}

void die(std::string const& how) {
  int volatile* nowhere = nullptr;
  STRATA_RANGE("fatal");
  if (how == "segv") *nowhere = 1;
  if (how == "bus") std::raise(SIGBUS);
  if (how == "ill") __builtin_trap();
  if (how == "fpe") std::raise(SIGFPE);
  if (how == "abort") std::abort();
  if (how == "exit") _exit(9);
  if (how == "throw") throw 1;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void module_work() {
  strata::push("left by the plugin");
  work();
  char const* const how = std::getenv("TEST_DIES");
  if (how == nullptr) return;
  if (char const* const recording = std::getenv("TEST_RECORDING")) {
    // A piece begins when the one before is whole. The file may grow twice for one.
    for (int growth = 0; growth < 6; ++growth) {
      std::size_t const before = size_of(recording);
      work();
      test::await([&] { return size_of(recording) > before; });
    }
  }
  die(how);
}
