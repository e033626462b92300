// Where libcupti is looked for, and what is said when it is not there. Each case runs in a process
// of its own, since a library that was loaded stays.
#include <doctest/doctest.h>

#include <cstdlib>
#include <cstring>
#include <strata/collect/cuda/cupti_library.hpp>
#include <strata/collect/cuda/driver.hpp>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

#include "fake.hpp"

using strata::detail::cupti_library;
using strata::detail::driver_library;

namespace {

const std::string folder = FAKE_DIR;

// Runs `body` in a child; true when it returned true there.
template <class Body>
bool in_child(Body body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body() ? 0 : 1);
  int status = 1;
  (void)::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void set(char const* name, std::string const& value) { (void)::setenv(name, value.c_str(), 1); }

bool says(std::string const& text, char const* part) {
  bool const found = text.find(part) != std::string::npos;
  if (!found) std::fprintf(stderr, "said: \"%s\"; expected: %s\n", text.c_str(), part);
  return found;
}

cupti_library load() {
  driver_library driver;
  driver.load();
  cupti_library library;
  library.load(driver);
  return library;
}

bool loads(std::string const& path) {
  const cupti_library library = load();
  return says(library.problem.empty() ? "fine" : library.problem, "fine") &&
         says(library.path, path.c_str());
}

template <class Function>
void control(std::string const& file, char const* name, Function*& function) {
  strata::detail::dynamic_library library;
  (void)library.open((folder + file).c_str());
  (void)library.bind(name, function);
}

}  // namespace

TEST_CASE("STRATA_CUPTI: a file, a folder, a bare name") {
  CHECK(in_child([] {
    set("STRATA_CUPTI", folder + "/libcupti.so.13");
    return loads("/lib/libcupti.so");
  }));
  CHECK(in_child([] {
    set("STRATA_CUPTI", folder);
    return loads("/lib/libcupti.so");
  }));
  CHECK(in_child([] {
    set("STRATA_CUPTI", "libno-such-cupti.so.13");
    return says(load().problem, "STRATA_CUPTI=libno-such-cupti.so.13: ");
  }));
  CHECK(in_child([] {
    set("STRATA_CUPTI", "/no/such/folder");
    return says(load().problem, "STRATA_CUPTI=/no/such/folder: ");
  }));
}

TEST_CASE("the working directory is never searched") {
  CHECK(in_child([] {
    if (::chdir(folder.c_str()) != 0) return false;
    set("STRATA_CUPTI", "./libcupti.so.13");
    return says(load().problem, "absolute path");
  }));
  CHECK(in_child([] {
    if (::chdir((folder + "/..").c_str()) != 0) return false;
    set("STRATA_CUPTI", "lib/libcupti.so.13");
    return says(load().problem, "absolute path");
  }));
  for (std::string const& place : {std::string(), std::string("."), std::string("lib")}) {
    CHECK(in_child([&] {
      if (::chdir(folder.c_str()) != 0) return false;
      set("CUDA_HOME", place);
      set("CUDA_PATH", place);
      for (const std::string& each : strata::detail::cupti::folders()) {
        if (each.empty() || each[0] != '/') return false;
      }
      return true;
    }));
  }
  CHECK(in_child([] {
    set("STRATA_LIBCUDA", "./libcuda.so.1");
    return says(load().problem, "absolute path");
  }));
}

TEST_CASE("CUDA_HOME names a toolkit") {
  CHECK(in_child([] {
    set("CUDA_HOME", "/opt/toolkit");
    const auto list = strata::detail::cupti::folders();
    return !list.empty() && list.front() == "/opt/toolkit/extras/CUPTI/lib64";
  }));
}

TEST_CASE("the driver's own major version comes first") {
  using strata::detail::cupti::file_names;
  CHECK(file_names(13).front() == "libcupti.so.13");
  CHECK(file_names(12).front() == "libcupti.so.12");
  CHECK(file_names(14).front() == "libcupti.so.14");
  CHECK(file_names(12).size() == 3);
  CHECK(file_names(13).back() == "libcupti.so");
}

TEST_CASE("a library that is loaded already is taken, whatever the environment says") {
  CHECK(in_child([] {
    strata::detail::dynamic_library other;
    if (!other.open((folder + "/missing/libcupti.so.13").c_str())) return false;
    set("STRATA_CUPTI", folder + "/libcupti.so.13");
    return loads("/missing/libcupti.so");
  }));
}

TEST_CASE("a library that lacks functions") {
  CHECK(in_child([] {
    set("STRATA_CUPTI", folder + "/missing");
    const cupti_library library = load();
    return library.ok() && library.api.subscribe_v2 == nullptr &&
           library.api.subscribe != nullptr && library.other_client().empty();
  }));
  CHECK(in_child([] {
    set("STRATA_CUPTI", folder + "/broken");
    return says(load().problem, "lacks cuptiSubscribe:");
  }));
}

TEST_CASE("a library from before CUDA 12") {
  CHECK(in_child([] {
    void (*set_version)(std::uint32_t) = nullptr;
    control("/libcupti.so.13", "fake_set_version", set_version);
    if (set_version == nullptr) return false;
    set_version(17);
    return says(load().problem, "CUPTI 12.0 or later");
  }));
}

TEST_CASE("without a driver nothing of CUPTI is called or loaded") {
  auto const attempt = [](int code, int devices, char const* expected) {
    return in_child([=] {
      void (*set_init)(int) = nullptr;
      void (*set_count)(int) = nullptr;
      control("/libcuda.so.1", "fake_set_init_result", set_init);
      control("/libcuda.so.1", "fake_set_device_count", set_count);
      if (set_init == nullptr || set_count == nullptr) return false;
      set_init(code);
      set_count(devices);
      set("STRATA_CUPTI", folder);
      strata::detail::dynamic_library cupti;
      return says(load().problem, expected) && !cupti.open_loaded("libcupti.so.13");
    });
  };
  CHECK(attempt(0, 0, "CUDA_ERROR_NO_DEVICE (100): no CUDA device is visible"));
  CHECK(attempt(803, 1, "reload the module or reboot"));
  CHECK(attempt(34, 1, "stubs folder"));
  CHECK(attempt(999, 1, "cuInit: CUDA_ERROR_UNKNOWN (999)"));
  CHECK(in_child([] {
    set("STRATA_LIBCUDA", "/no/such/libcuda.so.1");
    return says(load().problem, "STRATA_LIBCUDA=/no/such/libcuda.so.1: ");
  }));
}
