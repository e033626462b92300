// What a program has set up in its threads and in its process is as it was: a session changes
// neither what it prints nor how it ends.
#include "../../sanitizers.hpp"
#include "child.hpp"

using namespace processes;

namespace {

struct outcome {
  work_folder folder;
  ending without;
  ending with;

  outcome(char const* what, std::string const& wish) {
    fs::create_directories(folder / "without");
    fs::create_directories(folder / "with");
    without = run({program("surroundings"), what, folder / "without"});
    with = run({program("surroundings"), what, folder / "with"},
               {"STRATA=host,out=" + folder / "out" + "," + wish});
    CAPTURE(what);
    CAPTURE(wish);
    CAPTURE(with.err);
    CHECK(without.code == 6);
    CHECK(with.code == 6);
    CHECK(with.signal == 0);
    CHECK(with.out == without.out);
  }
};

char const* const all_formats =
    "formats=table+csv+json+trace+trace.json+html+recording+openmetrics";

}  // namespace

TEST_CASE("a thread is cancelled at a place of its own, not within Strata") {
  CHECK(has(outcome("cancel-first", "verbose").with.out, "cancelled where it wanted"));
  CHECK(has(outcome("cancel", "verbose,every=3,keep=2").with.out, "cancelled where it wanted"));
  CHECK(has(outcome("cancel", "verbose,skip=3,active=3,repeat=0").with.out, "where it wanted"));
}

TEST_CASE("errno is as it was") {
  work_folder const folder;
  CHECK(outcome("errno", "trigger=" + folder / "never").with.out == "errno changed 0 times\n");
}

TEST_CASE("the program's floating-point traps and rounding stay, and are none of Strata's") {
  for (std::string const more : {"", ",log=1", ",every=3,keep=2", ",sort=name,skip=300"}) {
    outcome const o("traps", all_formats + more);
    if (more.empty()) CHECK(calls_in(o.folder / "out").at("work[0]/inner") == 67);
  }
}

TEST_CASE("a pipe that nobody reads ends no program") {
  outcome const o("pipe", "verbose");
  CHECK(calls_in(o.folder / "out").at("work[0]") == 4);
}

TEST_CASE("a full pipe that nobody reads holds up no end") {
  for (char const* const wish : {"verbose", "formats=csv"}) {
    outcome const o("unread", wish);
    CHECK(calls_in(o.folder / "out").at("work[0]") == 4);
  }
  work_folder const folder;
  for (int const signal : {SIGTERM, SIGINT, SIGHUP}) {
    std::string const wish = "STRATA=host,watchdog=1,formats=table+csv,out=" + folder / "signal";
    ending const ended = run({program("surroundings"), "unread-signal"}, {wish}, {signal}, 30);
    CHECK(ended.signal == signal);
    CHECK(ended.out == "ready\n");
    CHECK(calls_in(folder / "signal").at("work[0]") == 4);
  }
  CHECK(run({program("surroundings"), "unread-watchdog"}, {}, {}, 30).code == 6);
}

TEST_CASE("signals that come again and again prolong no wait") {
  outcome const o("unread-sampled", "verbose,formats=table+csv");
  CHECK(calls_in(o.folder / "out").at("work[0]") == 4);
  work_folder const folder;
  std::string const wish = "STRATA=host,watchdog=1,formats=table+csv,out=" + folder / "signal";
  ending const ended =
      run({program("surroundings"), "unread-sampled-signal"}, {wish}, {SIGTERM}, 60);
  CHECK(ended.signal == SIGTERM);
  CHECK(calls_in(folder / "signal").at("work[0]") == 8);
}

TEST_CASE("a clock that stands still holds up no end") {
  outcome const o("clock-stands", "formats=table+csv+recording");
  CHECK(calls_in(o.folder / "out").at("work[0]") == 4);
}

TEST_CASE("a session that runs in the parent does not start in a forked child") {
  ending const ended = run({program("surroundings"), "fork-start"});
  CHECK(ended.out == "the child's code is 3, the parent's session runs: 1\n");
}

TEST_CASE("files beyond ulimit -f: a sentence") {
  outcome const o("file-size", "formats=csv+json+trace.json");
  CHECK(has(o.with.err, "/{profile.json,trace.json}: File too large"));
  CHECK(has(o.with.err, "/{ranges.csv,"));  // what has room is written
  CHECK(calls_in(o.folder / "out").at("work[0]") == 667);
  outcome const streamed("file-size", "formats=recording");
  CHECK(has(streamed.with.err, "File too large"));
}

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
TEST_CASE("a program that has little memory works on, and the report is there or is missed") {
  char const* const missed = "since memory is short: free some, or lower log= and buffers=";
  outcome const little("memory", "formats=csv+json+trace,log=1024");
  CHECK(has(little.with.err, "strata: wrote") != has(little.with.err, missed));
  // Its log takes what memory there is, and gives it back for the report: no call is missing that
  // is not counted as lost.
  fs::path const reported = little.folder / "out/profile.json";
  if (fs::exists(reported)) {
    std::uint64_t calls = 0;
    for (auto const& each : calls_in(little.folder / "out")) calls += each.second;
    std::string const text = content(reported);
    std::string const key = "\"unrecorded\":";
    std::uint64_t const lost = std::stoull(text.substr(text.find(key) + key.size()));
    CHECK(calls <= 600'002);
    CHECK(calls + lost >= 600'002);
    CHECK(lost < 100);
  }
  outcome const none("no-memory", "formats=csv+json+trace,log=1024");
  CHECK(has(none.with.err, "strata: wrote") != has(none.with.err, missed));
}
#endif

// The program closes a descriptor that a thread of Strata looks at: TSan calls that a race.
#if !defined(__SANITIZE_THREAD__)
TEST_CASE("what closes all files, as a daemon does, keeps its own ones to itself") {
  outcome const o("all-closed", "formats=recording");
  CHECK(o.with.out == "own files open 1, bytes in them 0\n");
  CHECK(count_of(o.with.err, "cannot continue ") == 1);
  CHECK(has(o.with.err, ".part: the program closed its file; the recording ends there"));
}
#endif

TEST_CASE("a file that has the number of stderr gets none of the text") {
  outcome const late("stderr-reused-late", "verbose,formats=table+csv");
  CHECK(late.with.out == "own file is number 2\n");
  CHECK(fs::file_size(late.folder / "with/own") == 0);
  CHECK(calls_in(late.folder / "out").at("work[0]") == 8);
  // The program starts without stderr.
  work_folder const folder;
  std::string const command =
      "exec " + program("surroundings") + " stderr-reused " + folder / "." + " 2>&-";
  ending const ended = run({"/bin/sh", "-c", command},
                           {"STRATA=host,verbose,formats=table+csv,out=" + folder / "out"});
  CHECK(ended.code == 6);
  CHECK(ended.out == "own file is number 2\n");
  CHECK(fs::file_size(folder / "own") == 0);
  CHECK(calls_in(folder / "out").at("work[0]") == 4);
}

// A sanitizer opens files of its own.
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
TEST_CASE("what runs beside the program takes no number that its next file expects") {
  outcome const o("windows", "every=50,keep=3,watchdog=1,formats=csv+json+recording");
  CHECK(o.with.out == "files that took a number of the program's: 0\n");
  CHECK(std::distance(fs::directory_iterator(o.folder / "out"), fs::directory_iterator()) == 3);
  outcome const streamed("windows", "formats=recording,watchdog=1");
  CHECK(streamed.with.out == "files that took a number of the program's: 0\n");
}
#endif

TEST_CASE("no file of a report has the number of the program's input or output") {
  outcome const o("output-closed", "formats=trace+csv");
  CHECK(o.with.out == "own file is number 0\n");
  CHECK(fs::file_size(o.folder / "with/own") == 0);
  CHECK(calls_in(o.folder / "out").at("work[0]") == 8);
}
