#include <strata/session/report_files.hpp>

#include <doctest/doctest.h>

#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

using strata::errc;
using strata::status;
using strata::detail::output_directory;
using strata::detail::text_writer;
namespace fs = std::filesystem;

namespace {

/// A folder of its own for each test, removed afterwards.
struct work_folder {
  fs::path path;
  work_folder() {
    std::string name = (fs::temp_directory_path() / "strata-output-XXXXXX").string();
    REQUIRE(mkdtemp(&name[0]) != nullptr);
    path = name;
  }
  ~work_folder() { fs::remove_all(path); }
  std::string operator/(char const* name) const { return (path / name).string(); }
};

std::string content(std::string const& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

bool has(std::string const& text, std::string const& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a directory is made with its parents, and never taken twice") {
  work_folder const here;
  std::string const wanted = here / "a/b/run";
  output_directory first;
  REQUIRE(first.make(wanted).ok());
  CHECK(first.path() == wanted);
  CHECK(fs::is_directory(wanted));
  output_directory second;
  REQUIRE(second.make(wanted + "//").ok());
  CHECK(second.path() == wanted + "-2");
  output_directory third;
  REQUIRE(third.make(wanted).ok());
  CHECK(third.path() == wanted + "-3");
  fs::remove(wanted + "-2");
  output_directory fourth;
  REQUIRE(fourth.make(wanted).ok());
  CHECK(fourth.path() == wanted + "-2");  // the first that is free
}

TEST_CASE("threads, as ranks, that make directories beside each other") {
  work_folder const here;
  std::vector<std::string> paths(8);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    threads.emplace_back([&, i] {
      output_directory mine;
      if (mine.make(here / "x/y/run").ok()) paths[i] = mine.path();
    });
  }
  for (std::thread& t : threads) t.join();
  for (std::size_t i = 0; i < paths.size(); ++i) {
    CHECK_FALSE(paths[i].empty());
    for (std::size_t j = 0; j < i; ++j) CHECK(paths[i] != paths[j]);
  }
}

TEST_CASE("a file is whole or not there") {
  work_folder const here;
  output_directory d;
  REQUIRE(d.make(here / "run").ok());
  std::string const part = d.path() + "/a.txt.part";
  bool seen = false;
  REQUIRE(d.write("a.txt", [&](text_writer& out) {
             out.write("text");
             seen = fs::exists(part);
           }).ok());
  CHECK(seen);
  CHECK_FALSE(fs::exists(part));
  CHECK(content(d.path() + "/a.txt") == "text");
}

TEST_CASE("where a directory cannot be made, the path and the reason are told") {
  work_folder const here;
  std::ofstream(here / "file") << "x";
  output_directory d;
  status outcome = d.make(here / "file");
  CHECK(outcome.code() == errc::input_output);
  CHECK(has(outcome.message(), here / "file"));
  CHECK(has(outcome.message(), std::strerror(EEXIST)));
  CHECK(has(outcome.message(), "out="));
  CHECK(content(here / "file") == "x");

  outcome = d.make(here / "file/below/run");
  CHECK(outcome.code() == errc::input_output);
  CHECK(has(outcome.message(), std::strerror(ENOTDIR)));

  outcome = d.make("");
  CHECK(has(outcome.message(), std::strerror(ENOENT)));

  outcome = d.make(here / "x" + std::string(300, 'x'));
  CHECK(has(outcome.message(), std::strerror(ENAMETOOLONG)));
}

TEST_CASE("what goes wrong while a file is written") {
  work_folder const here;
  output_directory d;
  REQUIRE(d.make(here / "run").ok());
  SUBCASE("the directory is gone") {
    fs::remove_all(d.path());
    status const outcome = d.write("a.txt", [](text_writer& out) { out.write("x"); });
    CHECK(outcome.code() == errc::input_output);
    CHECK(has(outcome.message(), "a.txt"));
    CHECK(has(outcome.message(), std::strerror(ENOENT)));
  }
  SUBCASE("the name is taken by a directory") {
    fs::create_directory(d.path() + "/a.txt");
    status const outcome = d.write("a.txt", [](text_writer& out) { out.write("x"); });
    CHECK(has(outcome.message(), std::strerror(EISDIR)));
    CHECK_FALSE(fs::exists(d.path() + "/a.txt.part"));
  }
#if defined(__linux__)
  SUBCASE("the device is full") {
    fs::create_symlink("/dev/full", d.path() + "/a.txt.part");
    status const outcome = d.write("a.txt", [](text_writer& out) {
      for (int i = 0; i < 100'000; ++i) out.write("0123456789");
    });
    CHECK(has(outcome.message(), d.path() + "/a.txt"));
    CHECK(has(outcome.message(), std::strerror(ENOSPC)));
    CHECK(fs::is_empty(d.path()));
  }
#endif
}
