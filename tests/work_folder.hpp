// A folder of its own for a test, and what is in its files.
#ifndef STRATA_TESTS_WORK_FOLDER_HPP
#define STRATA_TESTS_WORK_FOLDER_HPP

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

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

/// As `touch FILE` in a shell; the file is made where there is none.
inline void touch(std::string const& path) {
  std::ofstream(path).put('x');
  (void)utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
}

}  // namespace test

#endif  // STRATA_TESTS_WORK_FOLDER_HPP
