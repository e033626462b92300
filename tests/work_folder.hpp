// A folder of its own for a test, what is in its files, and the threads that write them.
#ifndef STRATA_TESTS_WORK_FOLDER_HPP
#define STRATA_TESTS_WORK_FOLDER_HPP

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "patience.hpp"
#include "sanitizers.hpp"

namespace test {

namespace fs = std::filesystem;

/// Removed afterwards.
class work_folder {
 public:
  work_folder() {
    std::string name = (fs::temp_directory_path() / "strata-test-XXXXXX").string();
    REQUIRE(mkdtemp(&name[0]) != nullptr);
    path_ = name;
  }
  work_folder(work_folder const&) = delete;
  work_folder& operator=(work_folder const&) = delete;
  ~work_folder() { fs::remove_all(path_); }
  std::string operator/(std::string const& name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

inline std::string content(std::string const& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// What is printed on stderr while it lives is seen by nobody.
class quiet_stderr {
 public:
  quiet_stderr() {
    int const nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    REQUIRE(nowhere >= 0);
    std::fflush(stderr);
    before_ = dup(STDERR_FILENO);
    dup2(nowhere, STDERR_FILENO);
    close(nowhere);
  }
  quiet_stderr(quiet_stderr const&) = delete;
  quiet_stderr& operator=(quiet_stderr const&) = delete;
  ~quiet_stderr() {
    std::fflush(stderr);
    dup2(before_, STDERR_FILENO);
    close(before_);
  }

 private:
  int before_ = -1;
};

/// As `touch FILE` in a shell; the file is made where there is none.
inline void touch(std::string const& path) {
  std::ofstream(path).put('x');
  (void)utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
}

#if defined(__SANITIZE_THREAD__)
/// The sanitizer's own thread begins with the program's first one, and stays.
inline bool const has_begun_threads = (std::thread([] {}).join(), true);
#endif

/// The threads that were there when it was made.
class threads_of_before {
 public:
  /// Returns when there are no others: a report that a thread writes is whole, and the next window
  /// may begin.
  void await_others() const {
    await([this] { return now() <= before_; },
          [] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); });
  }

 private:
  static std::ptrdiff_t now() {
    return std::distance(fs::directory_iterator("/proc/self/task"), fs::directory_iterator());
  }
  std::ptrdiff_t const before_ = now();
};

}  // namespace test

#endif  // STRATA_TESTS_WORK_FOLDER_HPP
