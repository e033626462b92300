// Runs traced_program, and looks at what it said.
#ifndef STRATA_TESTS_FAKE_CHILD_PROCESS_HPP
#define STRATA_TESTS_FAKE_CHILD_PROCESS_HPP

#include <doctest/doctest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

namespace fake {

inline std::string const library_dir = FAKE_DIR;
inline std::string const cuda_file = library_dir + "/libcuda.so.1";
inline std::string const cupti_file = library_dir + "/libcupti.so.13";

inline std::string text_of(std::string const& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

inline std::size_t count_of(std::string const& text, std::string const& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos;
       at = text.find(part, at + part.size()))
    ++count;
  return count;
}

struct child_process {
  using variables = std::vector<std::pair<std::string, std::string>>;

  int exit_code = -1;
  std::string out;  // stdout
  std::string err;  // stderr

  explicit child_process(std::vector<std::string> words, variables const& environment = {}) {
    words.insert(words.begin(), TRACED_PROGRAM);
    pid_t const child = ::fork();
    if (child == 0) become(words, environment);
    int status = 0;
    (void)::waitpid(child, &status, 0);
    if (WIFEXITED(status)) exit_code = WEXITSTATUS(status);
    out = text_of("child.out");
    err = text_of("child.err");
    INFO(out);
    INFO(err);
    CHECK(exit_code == 5);
  }

  /// The number in the line `what: number`.
  std::uint64_t number(std::string const& what) const {
    std::size_t const at = ("\n" + out).find("\n" + what + ": ");
    INFO(out);
    INFO(err);
    CAPTURE(what);
    REQUIRE(at != std::string::npos);
    return std::strtoull(out.c_str() + at + what.size() + 2, nullptr, 10);
  }

  /// Exactly one problem, and it says all this; the ranges are there all the same.
  void check_one_problem(std::vector<std::string> const& parts) const {
    INFO(out);
    CHECK(number("problems") == 1);
    CHECK(number("problems of the session") == 1);
    CHECK(count_of(out, "problem: ") == 1);
    for (std::string const& part : parts) {
      CAPTURE(part);
      CHECK(out.find(part) != std::string::npos);
    }
    CHECK(number("ranges") == 3);
  }

 private:
  [[noreturn]] static void become(std::vector<std::string> const& words,
                                  variables const& environment) {
    (void)::unsetenv("STRATA");
    (void)::setenv("STRATA_CUPTI", cupti_file.c_str(), 1);
    (void)::setenv("STRATA_LIBCUDA", cuda_file.c_str(), 1);
    (void)::setenv("FAKE_CUPTI_FILE", cupti_file.c_str(), 1);
    (void)::setenv("FAKE_CUDA_FILE", cuda_file.c_str(), 1);
    for (auto const& each : environment) (void)::setenv(each.first.c_str(), each.second.c_str(), 1);
    std::vector<char*> arguments;
    for (std::string const& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    if (std::freopen("child.out", "w", stdout) == nullptr) ::_exit(126);
    if (std::freopen("child.err", "w", stderr) == nullptr) ::_exit(126);
    (void)::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
};

}  // namespace fake

#endif  // STRATA_TESTS_FAKE_CHILD_PROCESS_HPP
