// Strata never changes how a program ends: every state with every way to end, without a session,
// with that of STRATA and with one in code.
#include "../sanitizers.hpp"
#include "../unit/process/child.hpp"

#include "endings.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace ending_test {

using namespace processes;
using endings::way_row;
using endings::ways;
using endings::word;

namespace {

// What the end may take longer than without Strata, and a loaded machine's share.
constexpr double max_seconds = 2.0;
constexpr double margin_seconds = 200.0;  // on a busy machine

struct state_row {
  char const* name;
  char const* options;
};

constexpr state_row states[] = {
    {"idle", ""},
    {"recording", ""},
    {"busy", ""},
    {"full", ""},
    {"open", ",sync=1"},
    {"counting", ",counters=hbm,warmup=1,active=1"},
    {"capture", ",sync=1"},
    {"pending", ",active=1"},
    {"child", ",sync=1"},
    {"threads", ""},
    {"host", ",host"},
    {"strict", ",strict=1"},
    {"window", ",every=9,active=9,keep=1"},
    {"ended", ",every=1,active=1,keep=1"},
    {"watched", ",watchdog=30"},
    {"late", ",attach=window,every=9,active=9,keep=1"},
    {"launching", ""},
    {"storm", ",attach=window,every=2,active=1,keep=1"},
};

/// Sorted: a report flushes what the program has printed so far.
texts lines_of(std::string const& text) {
  texts lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  return lines;
}

texts usual_environment() {
  // A leak check cannot look at an exit in a thread. A window's report may be written while the
  // program exits: nobody joins its thread.
  return {"ASAN_OPTIONS=detect_leaks=0", "TSAN_OPTIONS=halt_on_error=1:report_thread_leaks=0",
          "STRATA_CUPTI=" FAKE_DIR "/libcupti.so.13", "STRATA_LIBCUDA=" FAKE_DIR "/libcuda.so.1",
          "FAKE_CUPTI_FILE=" FAKE_DIR "/libcupti.so.13"};
}

/// One case: the same ending in three programs.
struct trial {
  state_row const& state;
  way_row const& way;
  ending without, by_environment, in_code;
  double longest = 0;  // beyond what the program takes without a session

  void run_all() {
    work_folder const folder;
    std::string const options = std::string("trace") + state.options +
                                ",formats=csv+table+trace+recording,out=" + folder / "out";
    auto const ended = [&](char const* variable, double& seconds) {
      texts environment = usual_environment();
      if (variable != nullptr) environment.push_back(variable + options);
      auto const begin = std::chrono::steady_clock::now();
      ending made = run({ENDING_PROGRAM, state.name, way.name}, environment);
      seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      return made;
    };
    double plain = 0, environment = 0, code = 0;
    without = ended(nullptr, plain);
    by_environment = ended("STRATA=", environment);
    in_code = ended("TEST_SESSION=", code);
    longest = std::max(environment, code) - plain;
    files = count_files(folder);
  }

  bool expects_report() const {
    if (state.name == std::string("idle")) return way.ranges;  // the first ones
    // The report of a forked child is its parent's, which returns from main.
    return state.name == std::string("child") || way.what == word::report;
  }

  void check() const {
    std::string const name = std::string(state.name) + ", " + way.name;
    CAPTURE(name);
    for (ending const* each : {&by_environment, &in_code}) {
      CAPTURE(each == &in_code);
      CAPTURE(each->err);
      CHECK(each->signal != SIGALRM);
      CHECK(each->code == without.code);
      CHECK(each->signal == without.signal);
      CHECK(lines_of(each->out) == lines_of(without.out));
    }
    CHECK(longest < max_seconds + margin_seconds);
    CAPTURE(by_environment.err);
    bool const has_room = state.name != std::string("full");
    if (state.name == std::string("ended") || state.name == std::string("storm")) {
      // Its reports come while it runs, or not at all.
      CHECK(count_of(by_environment.err, "aborted: nothing") <= 1);
      return;
    }
    CHECK(reports_in(by_environment) == (expects_report() ? 1 : 0));
    CHECK(count_of(by_environment.err, "strata: wrote ") == (expects_report() && has_room ? 1 : 0));
    if (!has_room && expects_report()) CHECK(has(by_environment.err, "cannot write "));
    std::size_t const aborts = says("abort") || says("SIGABRT") ? 1 : 0;
    CHECK(count_of(by_environment.err, "aborted: nothing was reported") == aborts);
    std::string const options = state.options;
    bool const writes = !has(options, "every=") && !has(options, "trigger=");
    CHECK(count_of(by_environment.err, "all but the last second is in") == (writes ? aborts : 0));
    CHECK(count_of(by_environment.err, "ended without a report") == (says("daemon") ? 1 : 0));
    CHECK(files <= 1);
  }

  int files = 0;

 private:
  bool says(char const* name) const {
    return way.name == std::string(name) && state.name != std::string("idle") && !expects_report();
  }

  /// How many directories the session of STRATA made.
  static int count_files(work_folder const& folder) {
    int count = 0;
    for (char const* name : {"out", "out-2", "out-3", "out/001", "out/002"})
      count += fs::exists(fs::path(folder / name) / "ranges.csv") ? 1 : 0;
    return count;
  }
};

}  // namespace

TEST_CASE("every state with every way to end") {
  std::vector<trial> trials;
  std::size_t number = 0;
  for (state_row const& state : states)
    for (way_row const& way : ways) {
      // A program of a sanitizer takes long to begin: a third of the pairs, with each state and
      // each way six times.
      if (++number % 3 != 0 && test::sanitized) continue;
#if defined(__SANITIZE_THREAD__)  // has a thread of its own that keeps the process alive
      if (way.name == std::string("pthread_exit")) continue;
#endif
      // TSan ends a child of several threads. Where one of them allocates while the child is made,
      // the child waits for the lock of ASan's allocator for ever.
      bool const forks = state.name == std::string("child") || way.name == std::string("daemon");
      if (test::sanitized && forks) continue;
      // Its threads do not end with main, and in a child they hold locks of the stand-ins for ever.
      bool const outlives =
          state.name == std::string("launching") || state.name == std::string("storm");
      if (outlives &&
          (way.name == std::string("pthread_exit") || way.name == std::string("daemon")))
        continue;
      trials.push_back({state, way, {}, {}, {}});
    }
  std::atomic<std::size_t> next{0};
  std::vector<std::thread> runners;
  for (int i = 0; i < 6; ++i) {
    runners.emplace_back([&] {
      for (std::size_t at = next++; at < trials.size(); at = next++) trials[at].run_all();
    });
  }
  for (std::thread& each : runners) each.join();
  for (trial const& each : trials) each.check();
  std::printf("%zu endings, each without a session, with STRATA and with a session in code\n",
              trials.size());
}

TEST_CASE("main ends by pthread_exit with each of Strata's threads: the last thread ends all") {
  if (test::thread_sanitized) return;  // has a thread of its own that keeps the process alive
  state_row const keys[] = {
      {"recording", "+recording"}, {"watchdog", ",watchdog=30"},
      {"for", ",for=60"},          {"windows", ",every=1,active=1,keep=1"},
      {"no GPU", ",host"},
  };
  constexpr unsigned count = sizeof keys / sizeof *keys;
  std::vector<std::string> options(1u << count, ",formats=csv");
  std::vector<double> seconds(2 * options.size());
  std::vector<ending> endings(2 * options.size());
  for (unsigned set = 0; set < options.size(); ++set)
    for (unsigned key = 0; key < count; ++key)
      if ((set >> key & 1) != 0) options[set] += keys[key].options;
  std::atomic<std::size_t> next{0};
  auto const run_some = [&] {
    for (std::size_t row = next++; row < endings.size(); row = next++) {
      work_folder const folder;
      char const* const variable = row % 2 == 0 ? "STRATA=" : "TEST_SESSION=";
      auto const begin = std::chrono::steady_clock::now();
      texts environment = usual_environment();
      environment.push_back(variable + ("trace" + options[row / 2]) + ",out=" + (folder / "out"));
      endings[row] = run({ENDING_PROGRAM, "keys", "pthread_exit"}, environment);
      seconds[row] =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    }
  };
  std::vector<std::thread> runners;
  for (int i = 0; i < 6; ++i) runners.emplace_back(run_some);
  for (std::thread& runner : runners) runner.join();
  for (std::size_t row = 0; row < endings.size(); ++row) {
    ending const& ended = endings[row];
    CAPTURE(options[row / 2]);
    CAPTURE(row % 2);
    CAPTURE(ended.err);
    CHECK(ended.signal == 0);
    CHECK(ended.code == 0);
    CHECK(has(ended.out, "exit handler\n"));
    CHECK(seconds[row] < max_seconds + margin_seconds);
  }
}

TEST_CASE("main has ended: a signal that no thread takes ends the process with its report") {
  if (test::thread_sanitized) return;  // as above
  work_folder const folder;
  texts environment = usual_environment();
  environment.push_back("STRATA=trace,formats=csv,out=" + (folder / "out"));
  ending const e = run({ENDING_PROGRAM, "keys", "late_signal"}, environment);
  CAPTURE(e.err);
  CHECK(e.signal == SIGTERM);
  CHECK(has(e.err, "strata: wrote "));
}

TEST_CASE("main has ended, and a child of another thread ends: the report is not lost") {
  if (test::thread_sanitized) return;  // as above
  work_folder const folder;
  texts environment = usual_environment();
  environment.push_back("STRATA=trace,formats=csv,out=" + (folder / "out"));
  ending const e = run({ENDING_PROGRAM, "keys", "late_fork"}, environment);
  CAPTURE(e.err);
  CHECK(!has(e.err, "ended without a report"));
  CHECK(has(e.err, "strata: wrote "));
}

TEST_CASE("a thread of a small stack ends the program: another one makes the report") {
  if (test::sanitized) return;  // its frames are larger
  work_folder const folder;
  ending const e =
      run({ENDING_PROGRAM, "recording", "small_exit"},
          {"STRATA_CUPTI=" FAKE_DIR "/libcupti.so.13", "STRATA_LIBCUDA=" FAKE_DIR "/libcuda.so.1",
           "FAKE_CUPTI_FILE=" FAKE_DIR "/libcupti.so.13",
           "STRATA=trace,formats=csv+json+html+table+trace,out=" + folder / "out"});
  CHECK(e.signal == 0);
  CHECK(e.code == 7);
  CHECK(reports_in(e) == 1);
  CHECK(has(e.out, "exit handler\n"));
  CHECK(fs::exists(folder / "out/report.html"));
}

}  // namespace ending_test
