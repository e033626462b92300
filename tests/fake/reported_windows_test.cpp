// Windows that are reported while the program runs, with a device: what each one has, and what is
// on between them.
#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "../unit/trace_reader.hpp"
#include "../work_folder.hpp"
#include "counter_run.hpp"

namespace reported_windows_test {

using fake::hbm_read;
using fake::launch_blocks;
using fake::says;
using namespace trace_reading;
using test::content;
using test::work_folder;
namespace fs = test::fs;

namespace {

/// A session with a trigger, and steps that launch.
struct triggered : work_folder, strata::session {
  explicit triggered(std::string const& more = "", bool by_file = true)
      : session(fake::configure("trace,formats=csv,out=" + (*this / "out") +
                                (by_file ? ",trigger=" + (*this / "now") : "") + more)) {
    fake::unscript();
    fake_profiler_reset();
    fake_set_auto_delivery(1);
    REQUIRE(start().ok());
    threads.emplace();  // with the one that looks at the file
  }

  void step(int launches = 1) {
    STRATA_STEP();
    STRATA_RANGE("work");
    for (int i = 0; i < launches; ++i) launch_blocks(2);
  }
  void steps_for(int milliseconds, int launches = 1) {
    for (int i = 0; i < milliseconds; ++i) {
      step(launches);
      usleep(1000);
    }
  }
  std::optional<test::threads_of_before> threads;
  void touch() const { test::touch(*this / "now"); }
  std::string file(int window, char const* name) const {
    return *this / "out/00" + std::to_string(window) + "/" + name;
  }
  /// Touches the file and steps until the window's report is there.
  std::string window(int number, char const* last = "memory.csv", int launches = 1) {
    steps_for(110);
    touch();
    for (int i = 0; i < 100'000 && !fs::exists(file(number, last)); ++i) steps_for(1, launches);
    REQUIRE(fs::exists(file(number, last)));
    return content(file(number, "ranges.csv"));
  }
};

/// The cell of the row of "work".
std::string cell(std::string const& csv, std::string const& column,
                 std::string const& row = "work") {
  std::size_t at = 0;
  std::size_t begin = 0;
  std::size_t const head_end = csv.find_first_of("\r\n");
  REQUIRE(head_end != csv.npos);
  while (begin < head_end) {
    std::size_t const end = std::min(csv.find(',', begin), head_end);
    if (csv.substr(begin, end - begin) == column) break;
    begin = end + 1;
    ++at;
  }
  REQUIRE(begin < head_end);
  std::size_t line = head_end;
  while ((line = csv.find('\n', line)) != csv.npos && line + 1 < csv.size()) {
    ++line;
    std::string const text = csv.substr(line, csv.find_first_of("\r\n", line) - line);
    if (text.find("," + row + ",") == text.npos) continue;
    std::size_t from = 0;
    for (std::size_t i = 0; i < at; ++i) from = text.find(',', from) + 1;
    return text.substr(from, text.find(',', from) - from);
  }
  FAIL("no row");
  return {};
}

}  // namespace

TEST_CASE("a window whose work does not end is reported without it, and the program continues") {
  triggered s(",formats=csv+json,drain=200");
  s.steps_for(120);
  fake_hold(1);
  fake_hang(fake_blocks_context);
  std::string const ranges = s.window(1, "profile.json");
  CHECK(cell(ranges, "kernels") == "0");
  CHECK(says(content(s.file(1, "profile.json")), "\"work_unfinished\":1"));
  fake_hang(0);
  fake_hold(0);
  CHECK(cell(s.window(2), "kernels") == "1");
  CHECK(s.report().ok());
}

TEST_CASE("each window has its own device work; between them nothing is traced") {
  triggered s;
  fake::check_tracing(false);
  s.steps_for(120, 50);
  for (int number = 1; number <= 3; ++number) {
    CAPTURE(number);
    std::string const ranges = s.window(number, "memory.csv", number);
    CHECK(cell(ranges, "calls") == "1");
    CHECK(cell(ranges, "kernels") == std::to_string(number));
    CHECK(cell(ranges, "launches") == std::to_string(number));
    fake::check_tracing(false);
    CHECK(fake_synchronize_count() == static_cast<std::size_t>(number));
  }
  CHECK(s.report().ok());
  CHECK_FALSE(fs::exists(s / "out/004"));
  CHECK(s.problems().empty());
  CHECK(fake_misuse_count() == 0);
  CHECK(fake_buffers_outstanding() == 0);
}

TEST_CASE("slower=: a window is recorded where steps have become longer") {
  triggered s(",slower=50");
  for (int i = 0; i < 300; ++i) s.step();
  for (int i = 0; i < 10'000 && !fs::exists(s.file(1, "memory.csv")); ++i) {
    s.step(100);
    usleep(1000);
  }
  REQUIRE(fs::exists(s.file(1, "memory.csv")));
  CHECK(cell(content(s.file(1, "ranges.csv")), "calls") == "1");
}

TEST_CASE("counters of a window: the passes run in the steps after it, in each window anew") {
  triggered s(std::string(",counters=") + hbm_read);
  for (int number = 1; number <= 2; ++number) {
    CAPTURE(number);
    CHECK(cell(s.window(number, "counters.csv"), "calls") == "1");
    CHECK(fake_profiler_passes() == static_cast<std::size_t>(number));
    std::string const counters = content(s.file(number, "counters.csv"));
    CAPTURE(counters);
    CHECK(counters.find(std::string(",work,") + hbm_read + ",64,") != counters.npos);
    fake::check_tracing(false);
    CHECK(fake_profiler_enabled() == 0);
  }
  s.stop();
  CHECK(fake_misuse_count() == 0);
}

TEST_CASE("every=N,keep=K: each window has its work and its counters, and none comes too early") {
  triggered s(std::string(",every=100,active=2,keep=9,counters=") + hbm_read, false);
  int steps = 0;
  for (int number = 1; number <= 3; ++number) {
    CAPTURE(number);
    for (; steps < 100 * number - 2; ++steps) s.step(5);
    fake::check_tracing(false);
    for (; steps < 100 * number; ++steps) s.step(number);
    for (; steps < 100 * number + 1; ++steps) s.step(number);  // the pass
    for (int i = 0; i < 100'000 && !fs::exists(s.file(number, "counters_wide.csv")); ++i)
      usleep(1000);
    s.threads->await_others();
    std::string const ranges = content(s.file(number, "ranges.csv"));
    CHECK(cell(ranges, "calls") == "2");
    CHECK(cell(ranges, "kernels") == std::to_string(2 * number));
    CHECK(fake_profiler_passes() == static_cast<std::size_t>(number));
    CHECK(content(s.file(number, "counters.csv"))
              .find(std::string(",work,") + hbm_read + "," + std::to_string(64 * number) + ",") !=
          std::string::npos);
    fake::check_tracing(false);
    CHECK(fake_profiler_enabled() == 0);
  }
  s.stop();
  CHECK(s.problems().empty());
  CHECK(fake_misuse_count() == 0);
  CHECK(fake_buffers_outstanding() == 0);
}

TEST_CASE("a graph that was captured between two windows is known in the next one") {
  triggered s;
  std::string first = s.window(1);
  fake_graph_t graph = 0;
  {
    STRATA_RANGE("captured");
    (void)fake_begin_capture(7);
    launch_blocks(2);
    graph = fake_end_capture(7);
  }
  REQUIRE(graph != 0);
  fake_graph_t const executable = fake_graph_clone(graph);
  s.touch();
  for (int i = 0; i < 100'000 && !fs::exists(s.file(2, "memory.csv")); ++i) {
    STRATA_STEP();
    STRATA_RANGE("work");
    (void)fake_graph_launch(executable, 7);
    usleep(1000);
  }
  std::string const ranges = content(s.file(2, "ranges.csv"));
  CHECK(cell(ranges, "graph_kernels", "captured") == "1");
  CHECK(cell(content(s.file(1, "ranges.csv")), "kernels") == "1");
}

TEST_CASE("the timeline of each window is in its own directory, and whole") {
  triggered s(",formats=trace.json+json");
  for (int number = 1; number <= 2; ++number) {
    CAPTURE(number);
    s.steps_for(110);
    s.touch();
    fs::path const timeline = s.file(number, "trace.json");
    for (int i = 0; i < 100'000 && !fs::exists(timeline); ++i) s.steps_for(1, number);
    contents const found = from_json(content(timeline.string()));
    auto const count = [&](std::string const& category) {
      return std::count_if(found.slices.begin(), found.slices.end(),
                           [&](event const& e) { return e.category == category; });
    };
    CHECK(count("user_annotation") == 2);  // the step and its range
    CHECK(count("cuda_runtime") == number);
    CHECK(count("kernel") == number);
    CHECK(found.arrows.size() == static_cast<std::size_t>(number));
    std::string const profile = content(s.file(number, "profile.json"));
    CHECK(profile.find("libcupti") != profile.npos);
  }
  s.stop();
  for (fs::directory_entry const& each : fs::recursive_directory_iterator(s / "out"))
    CHECK(each.path().extension() != ".part");
}

}  // namespace reported_windows_test
