#include <strata/base/environment.hpp>
#include <strata/base/text_writer.hpp>
#include <strata/session/problem_log.hpp>
#include <strata/session/report_files.hpp>
#include <strata/session/report_side.hpp>
#include "report/report_input.hpp"
#include "report/trace.hpp"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "../work_folder.hpp"
#include "report_sample.hpp"

namespace output_directory_test {

using strata::errc;
using strata::options;
using strata::status;
using strata::detail::output_directory;
using strata::detail::report_files;
using strata::detail::text_writer;
using test::content;
using test::work_folder;
namespace fs = std::filesystem;

namespace {

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

TEST_CASE("a program that closes all files while one is written keeps its own to itself") {
  work_folder const here;
  output_directory made;
  REQUIRE(made.make(here / "run").ok());
  std::vector<int> own;
  auto const open_own = [&] {
    struct stat file {};
    struct stat each {};
    REQUIRE(stat((here / "run/ranges.csv.part").c_str(), &file) == 0);
    for (int i = 3; i < 1024; ++i) {
      bool const is_it = fstat(i, &each) == 0 && each.st_ino == file.st_ino;
      if (!is_it) continue;
      close(i);
      int const opened = open((here / "own").c_str(), O_RDWR | O_CREAT | O_APPEND, 0600);
      own.push_back(dup2(opened, i));
      if (opened != i) close(opened);
      CHECK(own.back() == i);
    }
  };
  std::string const text(1 << 20, 'x');
  status const outcome = made.write("ranges.csv", [&](text_writer& out) {
    out.write(text);
    open_own();
    out.write(text);
  });
  REQUIRE(own.size() == 1);
  CHECK(fcntl(own[0], F_GETFD) >= 0);
  CHECK(fs::file_size(here / "own") == 0);
  close(own[0]);
  CHECK(outcome.code() == errc::input_output);
  CHECK(has(outcome.message(), "ranges.csv: the program closed its file, as closefrom() does"));
  CHECK(fs::is_empty(here / "run"));
}

TEST_CASE("a directory that is wanted where a file is goes beside it") {
  work_folder const here;
  std::ofstream(here / "run") << "mine";
  std::ofstream(here / "run-2") << "mine";
  output_directory d;
  REQUIRE(d.make(here / "run").ok());
  CHECK(d.path() == here / "run-3");
  CHECK(content(here / "run") == "mine");
  CHECK(content(here / "run-2") == "mine");
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
  status outcome = d.make("/dev/null");
  CHECK(outcome.code() == errc::input_output);
  CHECK(has(outcome.message(), "/dev/null: "));
  CHECK(has(outcome.message(), std::strerror(EEXIST)));
  CHECK(has(outcome.message(), "out="));

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
  SUBCASE("a link has its temporary name") {
    std::ofstream(here / "other") << "theirs";
    fs::create_symlink(here / "other", d.path() + "/a.txt.part");
    status const outcome = d.write("a.txt", [](text_writer& out) { out.write("x"); });
    CHECK(has(outcome.message(), d.path() + "/a.txt: " + std::strerror(EEXIST)));
    CHECK(content(here / "other") == "theirs");
  }
  SUBCASE("a link has taken the place of the directory") {
    fs::create_directory(here / "other");
    fs::rename(d.path(), here / "moved");
    fs::create_directory_symlink(here / "other", d.path());
    CHECK(d.gone());
    CHECK_FALSE(d.write("a.txt", [](text_writer& out) { out.write("x"); }).ok());
    CHECK(fs::is_empty(here / "other"));
    CHECK(fs::is_empty(here / "moved"));
  }
}

namespace {

/// Runs with stderr going elsewhere, to what is stderr for a session too.
template <class Run>
void print_to(int file, Run run) {
  REQUIRE(file >= 0);
  std::fflush(stderr);
  int const before = dup(STDERR_FILENO);
  REQUIRE(dup2(file, STDERR_FILENO) >= 0);
  strata::detail::standard_error::begin();
  run();
  std::fflush(stderr);
  REQUIRE(dup2(before, STDERR_FILENO) >= 0);
  strata::detail::standard_error::begin();
  close(before);
  close(file);
}

/// What is printed on stderr meanwhile.
template <class Run>
std::string printed(std::string const& file, Run run) {
  print_to(open(file.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600), run);
  return content(file);
}

/// Reports of a trace that is not whole.
class cut_reports final : public strata::detail::made_reports {
 public:
  std::string write_files(strata::detail::report_format_entry const& format,
                          file_taker take) const override {
    if (format.format != strata::detail::report_format::trace) return {};
    take("trace.json", [](strata::detail::text_writer& out) { out.write("{}"); });
    return "The trace ends early.";
  }
  void write_table(strata::detail::text_writer& out, strata::detail::console_look const&,
                   strata::vec<std::string> const& problems) const override {
    for (std::string const& problem : problems) out.write(problem);
  }

  static void make(strata::profile const&, options const&,
                   strata::detail::callback<void(made_reports const&)> use) {
    use(cut_reports());
  }
};

}  // namespace

TEST_CASE("what trace.json leaves out is said on the console") {
  work_folder const here;
  report_test::report_sample s = report_test::gpu_sample(12, 20);
  s.source.problems = {"An earlier problem."};
  strata::detail::report_side const* const usual = strata::detail::installed_reports();
  strata::detail::report_side const cutting{&cut_reports::make, true};
  options wanted;
  wanted.out = here / "run";
  wanted.csv = wanted.json = false;
  wanted.chrome_trace = true;
  for (bool const table : {true, false}) {
    wanted.table = table;
    CAPTURE(table);
    std::string const whole =
        printed(here / "stderr", [&] { CHECK(report_files(wanted).write(s.source).ok()); });
    CHECK_FALSE(has(whole, "The trace ends early"));
    strata::detail::installed_reports() = &cutting;
    std::string const cut =
        printed(here / "stderr", [&] { CHECK(report_files(wanted).write(s.source, 1).ok()); });
    strata::detail::installed_reports() = usual;
    CHECK(has(cut, "The trace ends early"));
    CHECK_FALSE(has(cut, "An earlier problem"));
    CHECK(s.source.problems.size() == 1);
  }
}

TEST_CASE("losses are said whatever the formats, once") {
  work_folder const here;
  report_test::report_sample s;
  for (strata::loss_kind const& kind : strata::loss_kinds) s.source.losses.*kind.count = 0;
  s.source.losses.ranges_too_deep = 1730;
  s.source.losses.activity_dropped = 7;
  options wanted;
  wanted.out = here / "run";
  wanted.table = wanted.csv = wanted.json = wanted.chrome_trace = false;
  auto const said = [&](strata::detail::kept_reports* earlier = nullptr) {
    return printed(here / "stderr",
                   [&] { CHECK(report_files(wanted).write(s.source, 0, nullptr, earlier).ok()); });
  };
  auto const times = [](std::string const& text, std::string const& part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
    return count;
  };
  for (bool options::*const format :
       {&options::table, &options::csv, &options::json, &options::recording}) {
    wanted.*format = true;
    std::string const text = said();
    wanted.*format = false;
    CAPTURE(text);
    CHECK(times(text, "range calls nested too deep: 1,730.") == 1);
    CHECK(times(text, "records of device work dropped by CUPTI: 7.") == 1);
    CHECK(has(text, "Check that each push has its pop"));
  }
  // Nothing else is wanted.
  CHECK(times(said(), "strata: lost: ") == 2);
  // Windows have much the same losses: one of each kind is said.
  strata::detail::kept_reports earlier;
  CHECK(times(said(&earlier), "lost: ") == 2);
  s.source.losses.ranges_too_deep = 1731;
  s.source.losses.uncorrelated = 1;
  std::string const second = said(&earlier);
  CHECK(times(second, "lost: ") == 1);
  CHECK(has(second, "kernels and copies without a known launch: 1."));
  // A whole profile says nothing.
  for (strata::loss_kind const& kind : strata::loss_kinds) s.source.losses.*kind.count = 0;
  CHECK_FALSE(has(said(), "lost"));
}

TEST_CASE("what trace.json leaves out is told to the session") {
  report_test::report_sample const s = report_test::gpu_sample(12, 20);
  strata::profile_tables tables(s.source);
  strata::report_input const input(std::move(tables.input()));
  strata::trace_options few;
  few.max_events = 100;
  std::string file;
  {
    strata::detail::text_writer out(file);
    CHECK(strata::write_trace(out, input, few).problem.find("The trace ends early") == 0);
  }
  CHECK(has(file, "The trace ends early"));
}

TEST_CASE("a problem of several windows is printed with the first one, whatever its numbers") {
  strata::detail::kept_reports earlier;
  strata::vec<std::string> problems{"3 steps not counted", "no metric l1", "no metric l2"};
  earlier.leave_new(problems);
  CHECK(problems.size() == 3);  // those of one report are all new
  problems = {"12 steps not counted", "3 steps not counted at all", "3 step", "no metric l"};
  earlier.leave_new(problems);
  REQUIRE(problems.size() == 2);
  CHECK(problems[0] == "3 steps not counted at all");
  CHECK(problems[1] == "3 step");
}

TEST_CASE("directories of other users" * doctest::skip(geteuid() != 0)) {
  using strata::detail::open_folder;
  work_folder const here;
  REQUIRE(chmod((here / ".").c_str(), 0755) == 0);
  for (char const* name : {"theirs", "open", "sticky", "mine"}) fs::create_directory(here / name);
  REQUIRE(chown((here / "theirs").c_str(), 1234, 1234) == 0);
  REQUIRE(chown((here / "open").c_str(), 1234, 1234) == 0);
  REQUIRE(chmod((here / "theirs").c_str(), 0775) == 0);
  REQUIRE(chmod((here / "open").c_str(), 0777) == 0);
  REQUIRE(chmod((here / "sticky").c_str(), 01777) == 0);
  fs::create_directory_symlink(here / "mine", here / "sticky/link");
  REQUIRE(lchown((here / "sticky/link").c_str(), 1234, 1234) == 0);

  // A container runs as root in a directory of the user who began it.
  CHECK(open_folder::objection(here / "theirs").empty());
  CHECK(open_folder::objection(here / "sticky").empty());
  CHECK(open_folder::objection(here / "sticky/not/there/yet").empty());
  CHECK(has(open_folder::objection(here / "open/new"), "/open belongs to another user (uid 1234)"));
  CHECK(has(open_folder::objection(here / "sticky/link/x"),
            "/sticky/link is a link of another user (uid 1234)"));
  output_directory made;
  status const refused = made.make(here / "open/run");
  CHECK(has(refused.message(), "make a directory of your own"));
  CHECK(fs::is_empty(here / "open"));
  CHECK_FALSE(made.make(here / "sticky/link/run").ok());
  CHECK(fs::is_empty(here / "mine"));
  fs::create_directory(here / "open/mine");
  CHECK(made.make(here / "open/mine/run").ok());  // the fix

  REQUIRE(seteuid(4321) == 0);
  CHECK(has(open_folder::objection(here / "theirs"), "belongs to another user (uid 1234)"));
  CHECK(open_folder::objection(here / "mine").empty());  // root's
  CHECK(made.make(here / "sticky/run").ok());
  REQUIRE(seteuid(0) == 0);
  // Somebody else's directory in the place of one's own.
  fs::rename(here / "sticky/run", here / "sticky/moved");
  fs::create_directory(here / "sticky/run");
  CHECK(made.gone());
  CHECK_FALSE(made.write("a.txt", [](text_writer& out) { out.write("x"); }).ok());
  CHECK(fs::is_empty(here / "sticky/run"));
}

TEST_CASE("a file that can be neither renamed nor removed any more is said to be whole") {
  work_folder const here;
  REQUIRE(chmod((here / ".").c_str(), 0755) == 0);
  output_directory made;
  REQUIRE(made.make(here / "run").ok());
  std::FILE* file = nullptr;
  REQUIRE(made.begin("profile.strata", file).ok());
  REQUIRE(chmod((here / "run").c_str(), 0555) == 0);
  bool const is_root = geteuid() == 0;  // who may write to any directory, until it is another user
  if (is_root) REQUIRE(seteuid(4321) == 0);
  status const outcome = made.end("profile.strata", file, 0);
  if (is_root) REQUIRE(seteuid(0) == 0);
  std::string const path = here / "run/profile.strata";
  CHECK(outcome.message() == "cannot write " + path + ": Permission denied; all of it is in " +
                                 path + ".part, which strata report reads");
  CHECK(fs::exists(path + ".part"));
  REQUIRE(chmod((here / "run").c_str(), 0755) == 0);
}

TEST_CASE("a variable that is set leaves what another thread may be reading") {
  setenv("STRATA_TEST_VARIABLE", "before", 1);
  char** const list = environ;
  char const* const value = getenv("STRATA_TEST_VARIABLE");
  REQUIRE(strata::detail::set_variable("STRATA_TEST_VARIABLE", "after"));
  CHECK(environ != list);
  CHECK(std::string(value) == "before");
  CHECK(std::string(getenv("STRATA_TEST_VARIABLE")) == "after");
  unsetenv("STRATA_TEST_VARIABLE");
  CHECK(getenv("STRATA_TEST_VARIABLE") == nullptr);
}

TEST_CASE("a link leads to the last run") {
  work_folder const here;
  output_directory first;
  output_directory second;
  REQUIRE(first.make(here / "out").ok());
  first.link_latest(here / "out");
  CHECK(fs::read_symlink(here / "out-latest") == "out");
  REQUIRE(second.make(here / "out").ok());
  second.link_latest(here / "out/");
  CHECK(fs::read_symlink(here / "out-latest") == "out-2");
  fs::remove(here / "out-latest");
  std::ofstream(here / "out-latest") << "mine";
  second.link_latest(here / "out");
  CHECK(content(here / "out-latest") == "mine");
}

TEST_CASE("files that cannot be written where they should be: all are named, and where they are") {
  work_folder const here;
  report_test::report_sample s;
  options wanted;
  wanted.table = wanted.chrome_trace = false;
  wanted.csv = wanted.json = true;
  wanted.out = here / "run";
  report_files::surroundings around = report_files::look_around();
  around.spare = here / "spare/strata-out";
  output_directory made;
  REQUIRE(made.make(wanted.out).ok());
  strata::detail::recording_stream begun(wanted, false);
  REQUIRE(begun.open(made, {}, {}).ok());
  begun.stop();
  auto const write = [&] {
    return printed(here / "stderr", [&] {
      CHECK(report_files(wanted, around).write(s.source, 0, &begun).code() == errc::input_output);
    });
  };
  SUBCASE("some names are taken") {
    fs::create_directory(made.path() + "/ranges.csv");
    fs::create_directory(made.path() + "/profile.json");
    std::string const text = write();
    CHECK(has(text, "cannot write " + wanted.out + "/{ranges.csv,profile.json}: " +
                        std::strerror(EISDIR) + "; instead there are " + around.spare +
                        "/{ranges.csv,profile.json}; choose another place"));
    CHECK(fs::is_regular_file(wanted.out + "/kernels.csv"));
    CHECK(fs::is_regular_file(around.spare + "/profile.json"));
    CHECK(has(text, "strata: wrote " + wanted.out + "/{kernels.csv,memory.csv,findings.json}\n"));
    CHECK(has(text, "strata: wrote " + around.spare + "/{ranges.csv,profile.json}\n"));
  }
  SUBCASE("the directory has gone") {
    fs::remove_all(wanted.out);
    std::string const text = printed(here / "stderr", [&] {
      CHECK(report_files(wanted, around).write(s.source, 0, &begun).ok());
    });
    CHECK(has(text, "strata: wrote " + wanted.out + "/{ranges.csv,"));
    CHECK(fs::is_regular_file(wanted.out + "/profile.json"));
    CHECK_FALSE(fs::exists(here / "spare"));
  }
}

TEST_CASE("a report beside the program goes where the environment said at its start") {
  work_folder const here;
  report_test::report_sample s;
  options wanted;
  wanted.table = wanted.json = wanted.chrome_trace = false;
  wanted.csv = true;
  wanted.out = "/proc/strata";
  char const* const before = getenv("TMPDIR");
  std::string const kept = before == nullptr ? "" : before;
  setenv("TMPDIR", (here / "early").c_str(), 1);
  report_files::surroundings const around = report_files::look_around();
  setenv("TMPDIR", (here / "late").c_str(), 1);
  std::string const text = printed(here / "stderr", [&] {
    CHECK(report_files(wanted, around).write(s.source).code() == errc::input_output);
  });
  before == nullptr ? unsetenv("TMPDIR") : setenv("TMPDIR", kept.c_str(), 1);
  CHECK(has(text, here / "early/strata-out"));
  CHECK(fs::exists(here / "early/strata-out/ranges.csv"));
  CHECK_FALSE(fs::exists(here / "late"));
}

TEST_CASE("the table has colours on a terminal only, and not where the user wants none") {
  work_folder const here;
  report_test::report_sample s;
  s.source.problems = {"A problem."};
  options wanted;
  wanted.csv = wanted.json = wanted.chrome_trace = false;
  auto const write = [&] { CHECK(report_files(wanted).write(s.source).ok()); };
  std::string const plain = printed(here / "stderr", write);
  CHECK(has(plain, "A problem."));
  CHECK_FALSE(has(plain, "\x1b["));
  auto const on_terminal = [&](char const* kind, char const* no_color) {
    char const* const before = getenv("TERM");
    std::string const kept = before == nullptr ? "" : before;
    setenv("TERM", kind, 1);
    setenv("NO_COLOR", no_color, 1);
    int const terminal = posix_openpt(O_RDWR | O_NOCTTY);
    REQUIRE(terminal >= 0);
    REQUIRE(grantpt(terminal) == 0);
    REQUIRE(unlockpt(terminal) == 0);
    print_to(open(ptsname(terminal), O_WRONLY | O_NOCTTY), write);
    char text[4096];
    ssize_t const length = read(terminal, text, sizeof text);
    close(terminal);
    unsetenv("NO_COLOR");
    before == nullptr ? unsetenv("TERM") : setenv("TERM", kept.c_str(), 1);
    REQUIRE(length > 0);
    return std::string(text, static_cast<std::size_t>(length));
  };
  CHECK(has(on_terminal("xterm", ""), "\x1b[33mproblem:"));
  CHECK_FALSE(has(on_terminal("xterm", "1"), "\x1b["));
  CHECK_FALSE(has(on_terminal("dumb", ""), "\x1b["));
}

}  // namespace output_directory_test
