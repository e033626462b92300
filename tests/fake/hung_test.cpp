// A GPU that never ends a kernel keeps no program from ending: each state and each way to end,
// compared with the same without Strata, whichever calls block.
#include "../sanitizers.hpp"
#include "../unit/process/child.hpp"

#include "fake.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace hung_test {

using namespace processes;

namespace {

// What the end may take longer than without Strata: the drain, and a loaded machine's share.
constexpr double max_seconds = 2.0;
constexpr double margin_seconds = 200.0;  // on a busy machine

/// What the session of STRATA says at such an end.
enum class word { report, sentence, nothing };

struct way_row {
  char const* name;
  word what;
};

constexpr way_row ways[] = {
    {"return", word::report},  {"exit", word::report},         {"quick_exit", word::report},
    {"throw", word::report},   {"SIGTERM", word::report},      {"SIGINT", word::report},
    {"SIGHUP", word::report},  {"pthread_exit", word::report}, {"fork", word::report},
    {"abort", word::sentence}, {"_exit", word::nothing},       {"SIGKILL", word::nothing},
    {"exec", word::nothing},
};

struct trial {
  std::string state;
  std::string way;
  std::string options;
  unsigned blocked = fake_blocks_all;
  bool old_driver = false;
  word what = word::report;
  std::string formats = "json+csv+table";
  std::string rank{};  // of a distributed run
  ending without{}, with{}, in_code{};
  double longer = 0, longer_in_code = 0;
  std::string json{};

  void run_all() {
    work_folder const folder;
    double seconds_without = 0, seconds_with = 0, seconds_in_code = 0;
    std::string const text = "trace" + options + ",formats=" + formats + ",out=";
    without = timed({}, seconds_without);
    with = timed("STRATA=" + text + (folder / "out"), seconds_with);
    in_code = timed("TEST_SESSION=" + text + (folder / "code"), seconds_in_code);
    longer = seconds_with - seconds_without;
    longer_in_code = seconds_in_code - seconds_without;
    for (char const* file : {"out/profile.json", "out/001/profile.json", "out/rank3/profile.json"})
      if (json.empty() && fs::exists(fs::path(folder / file))) json = content(folder / file);
  }

  void check() const {
    std::string const name = state + ", " + way + ", " + options + ", " + std::to_string(blocked);
    CAPTURE(name);
    CAPTURE(with.err);
    CHECK(with.code == without.code);
    CHECK(with.signal == without.signal);
    CHECK(lines_of(with.out) == lines_of(without.out));
    CHECK(longer < max_seconds + margin_seconds);
    std::size_t const expected = what == word::report ? 1 : 0;
    CHECK(reports_in(with) == expected);
    CHECK(count_of(with.err, "the GPU does not answer") == expected);
    CHECK(count_of(with.err, "strata: wrote ") == expected);
    CHECK(has(json, "\"hang\":{") == (expected == 1));
    CHECK(count_of(with.err, "aborted: nothing was reported") == (what == word::sentence ? 1 : 0));
    bool const left_open = expected == 1 && way.substr(0, 3) != "in-";
    if (left_open) CHECK(has(json, "all-reduce"));
    CHECK(in_code.code == without.code);
    CHECK(in_code.signal == without.signal);
    CHECK(longer_in_code < max_seconds + margin_seconds);
  }

  ending timed(std::string const& variable, double& seconds) const {
    texts environment{"ASAN_OPTIONS=detect_leaks=0", "STRATA_CUPTI=" FAKE_DIR "/libcupti.so.13",
                      "STRATA_LIBCUDA=" FAKE_DIR "/libcuda.so.1",
                      "FAKE_CUPTI_FILE=" FAKE_DIR "/libcupti.so.13",
                      "FAKE_HANG=" + std::to_string(blocked)};
    if (!rank.empty()) environment.push_back("RANK=" + rank);
    if (old_driver) environment.push_back("FAKE_OLD_DRIVER=1");
    if (!variable.empty()) environment.push_back(variable);
    auto const begin = std::chrono::steady_clock::now();
    ending const ended = run({HUNG_PROGRAM, state, way}, environment);
    seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return ended;
  }

 private:
  /// Sorted: a report flushes what the program has printed so far.
  static texts lines_of(std::string const& text) {
    texts lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    std::sort(lines.begin(), lines.end());
    return lines;
  }
};

void run_all(std::vector<trial>& trials) {
  std::atomic<std::size_t> next{0};
  std::vector<std::thread> runners;
  for (int i = 0; i < 10; ++i)
    runners.emplace_back([&] {
      for (std::size_t row = next++; row < trials.size(); row = next++) trials[row].run_all();
    });
  for (std::thread& runner : runners) runner.join();
}

}  // namespace

TEST_CASE("a hung GPU with every way to end") {
  struct state_row {
    char const* name;
    char const* options;
  };
  std::vector<trial> trials;
  for (state_row const state : {state_row{"trace", ""},
                                {"counting", ",counters=hbm,active=2"},
                                {"window", ",every=4,active=2"},
                                {"contexts", ""},
                                {"thread", ""}})
    for (way_row const& way : ways) {
      // TSan ends a child of several threads, and has its own thread besides the last one.
      std::string const name = way.name;
      if (test::thread_sanitized && (name == "fork" || name == "pthread_exit")) continue;
      // A thread that waits for the GPU keeps the process alive, with Strata and without.
      if (state.name == std::string("thread") && name == "pthread_exit") continue;
      trials.push_back({state.name, way.name, state.options, fake_blocks_all, false, way.what});
    }
  // Whichever call blocks; the longest wait is the default.
  for (unsigned const blocked : {1u, 2u, 32u, 4u | 1u}) {
    trials.push_back({"trace", "return", ",drain=300", blocked});
    trials.push_back({"trace", "SIGTERM", ",drain=300", blocked});
  }
  // A driver before CUDA 12.5 has no event of a context.
  for (char const* const way : {"return", "SIGTERM"})
    trials.push_back({"trace", way, ",drain=300", fake_blocks_all, true});
  // A signal comes after the end of a window, and while Strata waits in the program's thread.
  trials.push_back({"window-end", "in-window-end", ",every=4,active=2"});
  trials.push_back({"counting", "in-range-end", ",counters=hbm,active=2"});
  run_all(trials);
  for (trial const& one : trials) one.check();
}

TEST_CASE("the report names the range, for how long, and what has no end") {
  trial one{"thread", "SIGTERM", ",drain=300", fake_blocks_context | fake_blocks_stream};
  one.run_all();
  CAPTURE(one.with.err);
  CHECK(has(one.with.err, "is in all-reduce, for "));
  CHECK(has(one.with.err, "on the GPU: 1 call in stuck without an end"));
  CHECK(has(one.with.err, "calls whose GPU work had not ended at the end: "));
  CHECK(has(one.json, "\"open_ranges\""));
  CHECK(has(one.json, "\"path\":\"all-reduce\""));
  CHECK(has(one.json, "\"unfinished\""));
}

TEST_CASE("a driver that does not answer keeps no recording and no late session from its end") {
  std::vector<trial> trials;
  for (char const* const way : {"return", "SIGTERM", "outlived"})
    for (unsigned const blocked :
         {unsigned{fake_blocks_all}, fake_blocks_context | unsigned{fake_blocks_attributes}})
      trials.push_back(
          {"trace", way, ",drain=300", blocked, false, word::report, "recording+json+table"});
  trials.push_back({"trace", "outlived", ",drain=300"});
  run_all(trials);
  for (trial const& one : trials) one.check();
}

TEST_CASE("work that has ended is no part of a hang") {
  trial one{"trace", "return", ",drain=300", fake_blocks_context};
  one.run_all();
  CAPTURE(one.with.err);
  CHECK(has(one.with.err, "on the GPU: 1 call in stuck without an end"));
  CHECK(!has(one.with.err, "of work without an end"));
  CHECK(has(one.json, "\"work_unfinished\":1"));
}

TEST_CASE("beside a capture a hang is found by its records") {
  std::vector<trial> trials;
  for (char const* const state : {"capture", "capture-first"})
    trials.push_back({state, "return", ",drain=300", fake_blocks_context});
  run_all(trials);
  for (trial& one : trials) {
    one.check();
    CAPTURE(one.with.err);
    CHECK(has(one.with.err, "on the GPU: 1 call in stuck without an end"));
  }
}

TEST_CASE("a thread that waits with sync=1 while main ends") {
  trial one{"stuck-thread", "return", ",sync=1,drain=300", fake_blocks_context};
  one.run_all();
  CAPTURE(one.with.err);
  CHECK(one.with.code == one.without.code);
  CHECK(one.longer < max_seconds + margin_seconds);
  CHECK(has(one.with.err, "on the GPU: 1 call in stuck without an end"));
}

TEST_CASE("waits without a bound, of a driver before CUDA 12.5, are said at the start") {
  char const* const sentence = "the driver is older than CUDA 12.5: counting steps and sync=1 wait";
  for (char const* const options : {",sync=1", ",counters=hbm,active=2", ""})
    for (bool const old_driver : {true, false}) {
      trial one{"trace", "return", options, 0, old_driver};
      one.run_all();
      CAPTURE(options);
      CAPTURE(one.with.err);
      CHECK(count_of(one.with.err, sentence) == (old_driver && *options != '\0' ? 1 : 0));
      CHECK(one.with.code == one.without.code);
    }
}

TEST_CASE("a GPU that is slow, and ends within the drain, is no hang") {
  trial one{"trace", "released", ",drain=15000", fake_blocks_context};
  one.run_all();
  CAPTURE(one.with.err);
  CHECK(one.with.code == 3);
  CHECK(reports_in(one.with) == 1);
  CHECK(!has(one.with.err, "does not answer"));
  CHECK(has(one.json, "\"work_unfinished\":0"));
  CHECK(!has(one.json, "\"hang\""));
}

TEST_CASE("a window's report that waits for the GPU keeps no program from its end") {
  std::vector<trial> trials;
  for (unsigned const blocked :
       {unsigned{fake_blocks_forced_flush}, unsigned{fake_blocks_attributes}})
    trials.push_back({"window-end", "in-report", ",every=4,active=2,keep=2,drain=100",
                      blocked | fake_blocks_context});
  run_all(trials);
  for (trial const& one : trials) {
    CAPTURE(one.blocked);
    CAPTURE(one.with.err);
    CHECK(one.with.signal == SIGTERM);
    CHECK(one.with.out == one.without.out);
    CHECK(one.longer < max_seconds + margin_seconds);
    CHECK(count_of(one.with.err, "the GPU does not answer; the program:") == 1);
    CHECK(has(one.with.err, "nothing is reported: the report of a window waits for a GPU that"));
    CHECK(one.in_code.signal == SIGTERM);
  }
}

TEST_CASE("the sentences of a hang name the rank") {
  trial one{"thread", "watched", ",watchdog=1,drain=300"};
  one.rank = "3";
  one.run_all();
  CAPTURE(one.with.err);
  CHECK(count_of(one.with.err, "nothing has gone on for 1 s (watchdog=); rank 3:") == 1);
  CHECK(count_of(one.with.err,
                 "the GPU does not answer, and the report has what came before; rank 3:") == 1);
  CHECK(count_of(one.with.err, "  rank 3, thread ") >= 2);
  CHECK(count_of(one.with.err, "  rank 3, on the GPU: ") >= 2);
  CHECK(count_of(one.with.err, "strata:   thread ") == 0);
  CHECK(count_of(one.with.err, "strata:   on the GPU: ") == 0);
  CHECK(has(one.json, " of rank 3 "));
}

TEST_CASE("a watchdog says where the program is while it hangs") {
  trial one{"thread", "watched", ",watchdog=1,drain=300"};
  one.run_all();
  CAPTURE(one.with.err);
  CHECK(one.with.code == 6);
  CHECK(count_of(one.with.err, "nothing has gone on for 1 s (watchdog=)") == 1);
  CHECK(count_of(one.with.err, "is in all-reduce, for 1.") == 1);
  // Neither the watchdog nor the end could ask CUPTI for the records of what has ended.
  CHECK(count_of(one.with.err, "on the GPU: 1 call in stuck without a record") == 2);
  CHECK(reports_in(one.with) == 1);
}

TEST_CASE("main has ended, and a window's report waits for the GPU: the process ends") {
  if (test::thread_sanitized) return;  // it has its own thread besides the last one
  trial one{"window-end", "main-in-report", ",every=4,active=2,keep=2,drain=100",
            fake_blocks_forced_flush | fake_blocks_context};
  one.run_all();
  CAPTURE(one.with.err);
  for (ending const* ended : {&one.with, &one.in_code}) {
    CHECK(ended->signal == one.without.signal);
    CHECK(ended->code == one.without.code);
    CHECK(ended->out == one.without.out);
  }
  CHECK(one.longer < max_seconds + margin_seconds);
  CHECK(one.longer_in_code < max_seconds + margin_seconds);
  CHECK(has(one.with.err, "nothing is reported: the report of a window waits for a GPU that"));
}

TEST_CASE("main has ended, and the watchdog watches the thread that is left") {
  if (test::thread_sanitized) return;  // as above
  trial one{"trace", "main-watched", ",watchdog=1,drain=300"};
  one.run_all();
  for (ending const* ended : {&one.with, &one.in_code}) {
    CAPTURE(ended->err);
    CHECK(count_of(ended->err, "nothing has gone on for 1 s (watchdog=)") == 1);
  }
}

TEST_CASE("main has ended, and a recording's question to the driver stays: the process ends") {
  if (test::thread_sanitized) return;  // as above
  trial one{"trace",
            "main-watched",
            ",active=2,drain=300",
            fake_blocks_context | fake_blocks_attributes,
            false,
            word::report,
            "recording"};
  one.run_all();
  for (ending const* ended : {&one.with, &one.in_code}) {
    CAPTURE(ended->err);
    CHECK(ended->signal == one.without.signal);
    CHECK(ended->code == one.without.code);
  }
}

TEST_CASE("a watchdog is silent where nothing hangs") {
  trial one{"trace", "released", ",watchdog=1", fake_blocks_context};
  one.run_all();
  CHECK(!has(one.with.err, "(watchdog=)"));  // the next command names the key too
}

}  // namespace hung_test
