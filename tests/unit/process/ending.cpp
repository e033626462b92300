// However a program ends, there is one report, and the program ends as it would have without.
#include "../../sanitizers.hpp"
#include "child.hpp"

using namespace processes;

namespace {

/// Runs a scenario that records host times into a folder.
struct recorded {
  work_folder folder;
  ending end;

  explicit recorded(std::string const& scenario, std::vector<int> const& signals = {},
                    std::string const& name = "scenarios", texts more = {}) {
    more.push_back("STRATA=host,formats=table+csv,out=" + folder / "out");
    end = run({program(name), scenario}, more, signals);
    CAPTURE(scenario);
    CAPTURE(name);
    CAPTURE(end.err);
    CHECK(reports_in(end) == 1);
    CHECK(count_of(end.err, "strata: wrote ") == 1);
    CHECK_FALSE(fs::exists(folder / "out-2"));
    CHECK_FALSE(has(end.err, "problem:"));
  }

  call_counts calls() const { return calls_in(folder / "out"); }
};

call_counts const usual{{"outer", 1}, {"outer/inner[0]", 2}, {"outer/inner[1]", 1}};

call_counts with(call_counts more) {
  more.insert(usual.begin(), usual.end());
  return more;
}

}  // namespace

TEST_CASE("main returns") {
  for (char const* name : {"scenarios", "scenarios_bare"}) {
    recorded const r("return", {}, name);
    CHECK(r.end.code == 5);
    CHECK(r.calls() == usual);
  }
}

TEST_CASE("exit within a range: it ends there") {
  for (char const* name : {"scenarios", "scenarios_bare"}) {
    recorded const r("exit", {}, name);
    CHECK(r.end.code == 0);
    CHECK(r.calls() == call_counts{{"open", 1},
                                   {"open/outer", 1},
                                   {"open/outer/inner[0]", 2},
                                   {"open/outer/inner[1]", 1}});
    CHECK(has(r.end.err, "still open"));
  }
}

TEST_CASE("exit in another thread") {
  recorded const r("exit-in-thread");
  CHECK(r.end.code == 3);
  CHECK(r.calls() == call_counts{{"thread", 1}});
}

TEST_CASE("an exception leaves main: the report, and then what would have been") {
  recorded const r("throw");
  CHECK(r.end.signal == SIGABRT);
  CHECK(has(r.end.err, "nobody catches this"));
  CHECK(r.calls().at("open/outer") == 1);
  CHECK(r.calls().at("open") == 1);
}

TEST_CASE("an exception leaves main, and the program has a terminate handler") {
  recorded const r("throw-own");
  CHECK(r.end.signal == SIGABRT);
  CHECK(count_of(r.end.out, "own handler\n") == 1);
}

TEST_CASE("SIGINT is Python's where Python begins after the first range") {
  texts const session{"STRATA=host,formats=none"};
  CHECK(run({program("python_program"), "begin"}, session).code == 5);
  CHECK(run({program("python_program"), "never"}, session).signal == SIGINT);
  ending const left = run({program("python_program"), "leaves"}, {"STRATA=host,formats=table"});
  CHECK(left.signal == SIGINT);
  CHECK(reports_in(left) == 1);
}

TEST_CASE("signals that end the program") {
  for (int const signal : {SIGINT, SIGTERM}) {
    for (char const* name : {"scenarios", "scenarios_bare"}) {
      recorded const r("wait", {signal}, name);
      CHECK(r.end.signal == signal);
      CHECK(r.calls() == usual);
    }
  }
}

TEST_CASE("signals that the program handles itself") {
  for (char const* scenario : {"own-handler", "own-handler-late"}) {
    recorded const r(scenario, {SIGINT});
    CHECK(r.end.code == 4);
    CHECK(r.calls() == usual);
  }
  recorded const other("own-handler", {SIGTERM});  // leaves this one to the system
  CHECK(other.end.signal == SIGTERM);
  recorded const ignored("ignore");
  CHECK(ignored.end.code == 6);
}

TEST_CASE("a handler that calls the one before it runs once, after the report") {
  recorded const r("chained-handler");
  CHECK(r.end.code == 6);
  CHECK(r.end.out == "own handler\n");
  CHECK(r.calls() == usual);
}

// These call functions that are not safe in a handler, which TSan reports by itself.
constexpr char const* unsafe_in_handlers = "TSAN_OPTIONS=report_signal_unsafe=0";

TEST_CASE("exit in a signal's handler waits for no lock of the thread that it interrupts") {
  ending const within = run({program("scenarios"), "exit-within-strata"},
                            {"STRATA=host,formats=none", unsafe_in_handlers}, {}, 30);
  CAPTURE(within.err);
  CHECK(within.code == 6);
  CHECK(count_of(within.err, "the report is lost: the program ended in a signal's handler") == 1);
#if !defined(__SANITIZE_ADDRESS__)  // its leak check takes the locks of malloc at exit
  for (int i = 0; i < 5; ++i) {     // what holds the lock of malloc's first arena alone is reported
    work_folder const folder;
    ending const e =
        run({program("scenarios"), "exit-within-malloc"},
            {"STRATA=host,formats=csv,out=" + folder / "out", unsafe_in_handlers}, {}, 30);
    CAPTURE(e.err);
    CHECK(e.code == 6);
    CHECK(count_of(e.err, "strata: wrote ") + count_of(e.err, "the report is lost") == 1);
  }
#endif
}

TEST_CASE("exit in a signal's handler ends where its thread holds what the report spins for") {
  ending const e = run({program("scenarios"), "exit-within-lock"},
                       {"STRATA=host,formats=none", unsafe_in_handlers}, {}, 30);
  CAPTURE(e.err);
  CHECK(e.code == 6);
  CHECK(count_of(e.err, "the report is lost") == 1);
}

TEST_CASE("a slow disk delays the report of a signal's handler, which is whole") {
  recorded const r("slow-disk-handler", {}, "scenarios", {unsafe_in_handlers});
  CHECK(r.end.code == 6);
  CHECK(r.calls() == usual);
}

TEST_CASE("two signals end a program whose handler waits for its report") {
  work_folder const folder;
  ending const e =
      run({program("scenarios"), "slow-disk-signals"},
          {"STRATA=host,formats=csv,out=" + folder / "out", unsafe_in_handlers}, {}, 30);
  CAPTURE(e.err);
  CHECK(e.signal == SIGTERM);
}

TEST_CASE("exit in a handler that has interrupted the report says that it is lost") {
  work_folder const folder;
  ending const e =
      run({program("scenarios"), "slow-disk-within"},
          {"STRATA=host,formats=csv,out=" + folder / "out", unsafe_in_handlers}, {}, 30);
  CAPTURE(e.err);
  CHECK(e.code == 6);
  CHECK(count_of(e.err, "the report is lost") == 1);
}

TEST_CASE("a server that blocks signals with handlers ends as others do") {
  recorded const r("server");
  CHECK(r.end.code == 5);
  CHECK(r.calls() == usual);
  CHECK(count_of(r.end.err, "a range began while its thread or the program was ending") == 1);
}

TEST_CASE("steps of a signal's handler never wait for their own thread") {
  ending const e = run({program("scenarios"), "step-signals"},
                       {"STRATA=host,formats=none", unsafe_in_handlers}, {}, 60);
  CAPTURE(e.err);
  CHECK(e.code == 0);
}

#if !defined(__SANITIZE_THREAD__)  // under which no program with such a thread ends
TEST_CASE("a thread that holds stdout keeps no program from its end") {
  // glibc 2.39's exit itself waits for such a thread; that of 2.36 does not.
  if (run({program("scenarios"), "held-output"}, {}, {}, 10).code != 6) {
    MESSAGE("exit waits for the thread here, without Strata too");
    return;
  }
  recorded const r("held-output");
  CHECK(r.end.code == 6);
  CHECK(r.calls() == usual);
}
#endif

TEST_CASE("abort with a full stderr ends by SIGABRT") {
  work_folder const folder;
  CHECK(run({program("scenarios"), "abort-without-room", folder / "err"}, {"STRATA=host"}).signal ==
        SIGABRT);
}

TEST_CASE(
    "a forked child records nothing, which its first range says, and its signals are its own") {
  recorded const r("fork");
  CHECK(r.end.code == 0);
  CHECK(count_of(r.end.err, "a forked child has ranges, which are not recorded") == 1);
  CHECK(has(r.end.out, "child 0\n"));
  CHECK(r.calls() == with({{"open", 1}}));
  recorded const s("fork-signal");
  CHECK(s.end.code == 0);
  CHECK(has(s.end.out, "child 1015\n"));
  CHECK(s.calls() == with({{"open", 1}}));
}

TEST_CASE("a forked child that runs another program without STRATA") {
  recorded const r("fork-exec");
  CHECK(r.end.code == 0);
  CHECK(has(r.end.out, "child 5\n"));
  CHECK(r.calls() == usual);
}

TEST_CASE("a program that becomes another one") {
  // What the first one told later copies of itself, by the environment, means nothing to the
  // second.
  recorded const r("exec");
  CHECK(r.end.code == 5);
  CHECK(r.calls() == usual);
}

TEST_CASE("ranges before main and after it") {
  recorded const r("return", {}, "scenarios", {"TEST_EARLY=1"});
  CHECK(r.end.code == 5);
  CHECK(r.calls() == with({{"early", 1}}));
}

TEST_CASE("threads that continue while the program ends") {
  for (int i = 0; i < 3; ++i) {
    recorded const r("threads");
    CHECK(r.end.code == 0);
    CHECK(r.calls().at("outer") >= 1);
  }
}

TEST_CASE("ranges that end as the last of their thread") {
  recorded const r("thread-local");
  CHECK(r.end.code == 0);
  CHECK(r.calls().at("last") == 2);
}

TEST_CASE("the first range starts a session and leaves errno alone") {
  recorded const r("errno");
  CHECK(r.end.code == 0);
  CHECK(r.calls() == call_counts{{"first", 1}});
}
