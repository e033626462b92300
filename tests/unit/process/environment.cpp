// What STRATA and the rest of the environment bring about.
#include "../../sanitizers.hpp"
#include "child.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>

using namespace processes;

namespace {

ending scenario(std::string const& name, std::string const& wish, texts more = {}) {
  more.push_back("STRATA=" + wish);
  return run({program("scenarios"), name}, more);
}

bool is_one_line(std::string const& text, std::string const& line) {
  std::size_t const at = text.find(line);
  if (at == std::string::npos) return false;
  std::size_t const begin = text.rfind('\n', at) + 1;
  std::size_t const end = text.find('\n', at);
  return text.find(line, at + 1) == std::string::npos && text.compare(begin, 8, "strata: ") == 0 &&
         end != std::string::npos;
}

call_counts const usual{{"outer", 1}, {"outer/inner[0]", 2}, {"outer/inner[1]", 1}};

}  // namespace

TEST_CASE("without STRATA nothing is printed, loaded or started") {
  for (texts const& environment : {texts{}, texts{"STRATA="}}) {
    ending const e = run({program("scenarios"), "idle"}, environment);
    CHECK(e.code == 0);
    CHECK(e.out == "");
    CHECK(e.err == "");
  }
}

TEST_CASE("off is silent") {
  for (char const* wish : {"off", "0", "trace,out=x,off"}) {
    ending const e = scenario("return", wish);
    CHECK(e.code == 5);
    CHECK(e.out == "");
    CHECK(e.err == "");
  }
}

TEST_CASE("a session in code, and a second one at the same time") {
  ending const e = run({program("scenarios"), "on-demand"});
  CAPTURE(e.err);
  CHECK(e.code == 0);
  CHECK(has(e.out, "second: another Strata session is running"));
  CHECK(has(e.out, "ranges: 4 4\n"));
  CHECK(reports_in(e) == 1);
  CHECK(has(e.err, "outer"));
}

TEST_CASE("a session in code comes first: STRATA is not read, which is told") {
  char const* const told = "STRATA is not read, since the program starts a session of its own";
  ending const e = scenario("own-session", "host,formats=none,only=nothing");
  CAPTURE(e.err);
  CHECK(e.code == 0);
  CHECK(reports_in(e) == 1);
  CHECK(count_of(e.err, told) == 1);
  CHECK_FALSE(has(scenario("own-session", "").err, told));
  CHECK_FALSE(has(scenario("own-session", "host,formats=table").err, told));  // what it has read
}

TEST_CASE("STRATA's session comes first: a session in code is refused") {
  work_folder const folder;
  ending const e = scenario("busy", "host,formats=table+csv,out=" + folder / "out");
  CAPTURE(e.err);
  CHECK(e.code == 0);
  CHECK(count_of(e.out, "another Strata session is running") == 2);
  CHECK(is_one_line(e.err, "nothing is reported: another Strata session is running"));
  CHECK(reports_in(e) == 1);  // that of STRATA
  CHECK(count_of(e.err, "wrote") == 1);
}

TEST_CASE("only= that matches nothing: sentences, and no empty table") {
  ending const e = scenario("return", "host,formats=table,only=nothing");
  CAPTURE(e.err);
  CHECK(has(e.err, "There is no range to show."));
  CHECK(count_of(e.err, "problem: only= matches no range") == 1);
  CHECK_FALSE(has(e.err, "total\n"));
  CHECK(has(scenario("return", "host,formats=table").err, "total"));
}

TEST_CASE("keys that have no effect beside every=: a sentence") {
  char const* const ignored = "skip= and repeat= are ignored with every=";
  for (char const* more : {",skip=1", ",repeat=2"})
    CHECK(has(scenario("steps", std::string("host,formats=table,every=2") + more).err, ignored));
  CHECK_FALSE(has(scenario("steps", "host,formats=table,every=2,warmup=1").err, ignored));
}

TEST_CASE("mistakes in STRATA are told in a line each, once, and the rest applies") {
  work_folder const folder;
  ending const e =
      scenario("return", "host,formats=table+csv+xml,tracee,skip=ten,out=" + folder / "out");
  CAPTURE(e.err);
  CHECK(e.code == 5);
  CHECK(is_one_line(e.err, "\"tracee\""));
  CHECK(is_one_line(e.err, "\"skip=ten\""));
  CHECK(is_one_line(e.err, "\"formats=xml\""));
  CHECK(reports_in(e) == 1);
  CHECK(calls_in(folder / "out") == usual);
  CHECK_FALSE(fs::exists(folder / "out/profile.json"));
}

TEST_CASE("what can be looked at when the session starts is said then, once") {
  work_folder const folder;
  ending const e =
      scenario("return", "verbose,formats=csv,counters=hbm+l1_hitrate,ceilings=" + folder / "none" +
                             ",out=" + folder / "out");
  CAPTURE(e.err);
  CHECK(e.code == 5);
  std::size_t const started = e.err.find("recording host times");
  for (std::string const& said :
       texts{"ceilings=" + folder / "none" + " cannot be read", "l1_hitrate"}) {
    CAPTURE(said);
    CHECK(e.err.find(said) < started);
    CHECK(count_of(e.err, said) == 1);
  }
}

TEST_CASE("mistakes are in the files too") {
  work_folder const folder;
  (void)scenario("return", "host,formats=json,tracee,out=" + folder / "out");
  CHECK(has(content(folder / "out/profile.json"), "tracee"));
}

TEST_CASE("formats") {
  work_folder const folder;
  ending const none = scenario("return", "host,formats=none,out=" + folder / "none");
  CHECK(none.code == 5);
  CHECK(none.err == "");
  CHECK_FALSE(fs::exists(folder / "none"));
  ending const table = scenario("return", "host,formats=table,out=" + folder / "table");
  CHECK(reports_in(table) == 1);
  CHECK_FALSE(has(table.err, "wrote"));
  CHECK_FALSE(fs::exists(folder / "table"));
  ending const all = scenario("return", "host,out=" + folder / "all");
  CHECK(reports_in(all) == 1);
  for (char const* file : {"ranges.csv", "kernels.csv", "memory.csv", "findings.json",
                           "profile.json", "trace.json.gz"}) {
    CHECK(fs::file_size(folder / "all/" + file) > 0);
    CHECK(has(all.err, file));
  }
  CHECK_FALSE(fs::exists(folder / "all/trace.json"));
  ending const one = scenario("return", "host,formats=trace.json,out=" + folder / "one");
  CHECK(reports_in(one) == 0);
  CHECK(has(one.err, "wrote " + folder / "one/trace.json\n"));
  CHECK(fs::file_size(folder / "one/trace.json") > 0);
  ending const page = scenario("return", "host,formats=html,out=" + folder / "page");
  CHECK(has(page.err, "wrote " + folder / "page/report.html\n"));
  CHECK(has(content(folder / "page/report.html"), "\"answer\":"));
}

TEST_CASE("a directory that is there is left as it is") {
  work_folder const folder;
  std::string const wish = "host,formats=csv,out=" + folder / "out";
  CHECK(has(scenario("return", wish).err, folder / "out/"));
  auto const first = fs::last_write_time(folder / "out/ranges.csv");
  CHECK(has(scenario("exit", wish).err, folder / "out-2/"));
  CHECK(fs::last_write_time(folder / "out/ranges.csv") == first);
  CHECK(calls_in(folder / "out") == usual);
  CHECK(calls_in(folder / "out-2").count("open") == 1);
}

TEST_CASE("out= is where it was at the start, whatever directory the program changes to") {
  work_folder const folder;
  fs::create_directories(folder / "there");
  fs::path const here = fs::current_path();
  fs::current_path(folder / ".");
  std::string const absolute = fs::current_path() / "relative";
  ending const e = scenario("elsewhere", "host,formats=csv,out=relative");
  ending const home =
      scenario("return", "host,formats=csv,out=~/mine", {"HOME=" + folder / "there"});
  fs::current_path(here);
  CAPTURE(e.err);
  CHECK(e.code == 5);
  CHECK(has(e.err, "strata: wrote " + absolute + "/{ranges.csv,"));
  CHECK(calls_in(absolute) == usual);
  CHECK(fs::read_symlink(absolute + "-latest") == "relative");
  CHECK(calls_in(folder / "there/mine") == usual);
}

TEST_CASE("a setuid program obeys no variable of the user who begins it") {
  fs::path const setpriv = "/usr/bin/setpriv";
  if (geteuid() != 0 || !fs::exists(setpriv)) {
    std::puts("LEFT OUT: a setuid program: needs root and setpriv");
    return;
  }
  char place[] = "/tmp/strata-setuid-XXXXXX";
  REQUIRE(mkdtemp(place) != nullptr);
  fs::path const folder = place;
  fs::path const copy = folder / "scenarios";
  fs::copy_file(program("scenarios"), copy);
  REQUIRE(chmod(place, 0755) == 0);
  REQUIRE(chmod(copy.c_str(), 04755) == 0);
  texts const variables{"STRATA=host,out=" + (folder / "out").string(), "TMPDIR=" + folder.string(),
                        "HOME=" + folder.string()};
  ending const e =
      run({setpriv, "--reuid=65534", "--regid=65534", "--clear-groups", copy, "return"}, variables);
  CAPTURE(e.err);
  CHECK(e.code == 5);
  CHECK(is_one_line(e.err, "STRATA and the other variables are not read, since this program"));
  CHECK(count_of(e.err, "\n") == 1);
  fs::remove(copy);
  CHECK(fs::is_empty(folder));
  fs::remove_all(folder);
}

// The loader holds a lock that TSan's interceptors wait for as well.
#if !defined(__SANITIZE_THREAD__)
TEST_CASE("a range while a library is loaded never waits for good for another thread's session") {
  work_folder const folder;
  ending const e = run({program("scenarios"), "loader", program("module_locked.so")},
                       {"STRATA=trace,formats=csv,out=" + folder / "out"});
  CAPTURE(e.err);
  CHECK(e.code == 5);
  CHECK(calls_in(folder / "out").at("outer/inner[0]") == 2);
}
#endif

TEST_CASE("a directory that cannot be made is told at the start, and the files go elsewhere") {
  work_folder const folder;
  std::ofstream(folder / "file") << "mine";
  struct obstacle {
    std::string out;
    int reason;
  };
  for (obstacle const& o :
       {obstacle{folder / "file/run", ENOTDIR}, obstacle{"/proc/strata/run", ENOENT}}) {
    ending const e =
        scenario("return", "verbose,host,out=" + o.out, {"TMPDIR=" + folder / "temporary"});
    CAPTURE(e.err);
    CHECK(e.code == 5);
    CHECK(reports_in(e) == 1);
    CHECK(is_one_line(e.err, "cannot write " + o.out));
    CHECK(has(e.err, std::strerror(o.reason)));
    CHECK(e.err.find("cannot write") < e.err.find("recording host times"));
    CHECK(has(e.err, "; the files of this run go to " + folder / "temporary/strata-out" +
                         ", or the first free of -2, -3, ... of it\n"));
    CHECK(has(e.err, "strata: wrote " + folder / "temporary/strata-out/{ranges.csv,"));
    CHECK(calls_in(folder / "temporary/strata-out") == usual);
    fs::remove_all(folder / "temporary");
  }
  CHECK(content(folder / "file") == "mine");
  ending const nowhere = scenario("return", "host,out=/proc/strata", {"TMPDIR=/proc/temporary"});
  CHECK(nowhere.code == 5);
  CHECK(reports_in(nowhere) == 1);
  CHECK_FALSE(has(nowhere.err, "wrote"));
  ending const rank = scenario("return", "host,out=" + folder / "file",
                               {"RANK=3", "TMPDIR=" + folder / "temporary"});
  CHECK(calls_in(folder / "temporary/strata-out/rank3") == usual);
}

TEST_CASE("no room for the files") {
  work_folder const folder;
  ending const e = scenario("limited-files", "host,out=" + folder / "out");
  CAPTURE(e.err);
  CHECK(e.code == 7);
  CHECK(reports_in(e) == 1);
  CHECK(is_one_line(e.err, "cannot write " + folder / "out/{ranges.csv,kernels.csv,memory.csv,"));
  CHECK(has(e.err, std::strerror(EFBIG)));
  CHECK_FALSE(has(e.err, "wrote"));
  CHECK(fs::is_empty(folder / "out"));
}

TEST_CASE("no room for the trace: one line, and the table") {
  work_folder const folder;
  ending const e = scenario("limited-files", "host,formats=table+trace,out=" + folder / "out");
  CAPTURE(e.err);
  CHECK(e.code == 7);
  CHECK(reports_in(e) == 1);
  CHECK(is_one_line(e.err, "cannot write " + folder / "out/trace.json.gz"));
  CHECK(has(e.err, std::strerror(EFBIG)));
  CHECK(fs::is_empty(folder / "out"));
}

TEST_CASE("a file that cannot be written costs that file only") {
  work_folder const folder;
  ending const e = scenario("limited-sizes", "host,out=" + folder / "out");
  CAPTURE(e.err);
  CHECK(e.code == 7);
  CHECK(reports_in(e) == 1);
  CHECK(is_one_line(e.err, "cannot write " + folder / "out/profile.json"));
  CHECK(has(e.err,
            "strata: wrote " +
                folder / "out/{ranges.csv,kernels.csv,memory.csv,findings.json,trace.json.gz}"));
}

TEST_CASE("strict=1 changes the exit code and nothing else") {
  for (char const* how : {"last-words", "last-words-quick"}) {
    bool const quick = std::strlen(how) > 10;
    for (char const* program : {"scenarios", "scenarios_bare"}) {
      ending const e = run({processes::program(program), how},
                           {"STRATA=host,strict,formats=none,tracee", "TEST_EARLY=1"});
      CAPTURE(e.err);
      CHECK(e.code == 3);
      CHECK(e.out == (quick ? "handler\n" : "handler\nlate\nunflushed"));
    }
  }
}

TEST_CASE("ranges that come too late: one sentence") {
  char const* const late = "a range began while its thread or the program was ending";
  for (char const* how : {"return", "late-handler"})
    CHECK(is_one_line(scenario(how, "host,formats=none", {"TEST_EARLY=1"}).err, late));
  CHECK(is_one_line(scenario("late-handler", "host,formats=none").err, late));
  CHECK_FALSE(has(scenario("threads", "host,formats=none").err, late));
}

TEST_CASE("names and values that are mistakes do no harm") {
  CHECK(run({program("scenarios"), "mistakes"}).code == 0);
  work_folder const folder;
  ending const e = scenario("mistakes", "host,formats=csv,out=" + folder / "out");
  CAPTURE(e.err);
  CHECK(e.code == 0);
  CHECK(is_one_line(e.err, "flops, bytes or tokens of 1 range calls are left out"));
  CHECK(calls_in(folder / "out") == call_counts{{"[null]", 2},
                                                {"[null][1]", 1},
                                                {"[unnamed]", 2},
                                                {"one", 1},
                                                {"one/line", 1},
                                                {"rates", 1}});
  CHECK_FALSE(has(content(folder / "out/ranges.csv"), "-5"));
}

TEST_CASE("a signal handler with a range never waits for its own thread") {
  for (int i = 0; i < 3; ++i) {
    // Ranges in signal handlers may allocate, which TSan reports by itself.
    ending const e =
        scenario("signals", "host,formats=none,log=1", {"TSAN_OPTIONS=report_signal_unsafe=0"});
    CAPTURE(e.err);
    CHECK(e.code == 0);
    if (!e.err.empty()) CHECK(is_one_line(e.err, "a signal handler made them"));
  }
}

TEST_CASE("a signal handler has a range while its thread's first one begins") {
  ending const e = scenario("first-signal", "host,formats=none");
  CAPTURE(e.err);
  CHECK(e.code == 0);
  CHECK(is_one_line(e.err, "1 range calls are left out: a signal handler made them"));
}

TEST_CASE("help, and a text without any key: the program runs unobserved") {
  work_folder const folder;
  ending const help = scenario("return", "help");
  CHECK(help.code == 5);
  CHECK(has(help.out, "  out=DIRECTORY "));
  CHECK(help.err == "");
  for (char const* wish : {"foo", "treco", "foo,bar=3"}) {
    ending const e = scenario("return", std::string(wish), {"TMPDIR=" + folder / "temporary"});
    CAPTURE(e.err);
    CHECK(e.code == 5);
    CHECK(reports_in(e) == 0);
    CHECK(is_one_line(e.err, "there is no key \"" + std::string(wish).substr(0, 3)));
    CHECK(is_one_line(e.err, "Nothing is recorded"));
    CHECK_FALSE(has(e.err, "wrote"));
  }
  CHECK(has(scenario("return", "countres=hbm").err, "did you mean counters?"));
  CHECK_FALSE(has(scenario("return", "qqq").err, "did you mean"));
  CHECK(has(scenario("return", "hos,skip=0").err, "did you mean host?"));
  CHECK(has(scenario("return", "HOST").err, "did you mean host?"));
  CHECK(has(scenario("return", "host,skpi=1").err, "did you mean skip?"));
}

TEST_CASE("a schedule that leaves no step is told, and fails with strict=1") {
  ending const e = scenario("steps", "host,formats=none,strict,skip=1000,warmup=2");
  CHECK(e.code == 3);
  CHECK(is_one_line(e.err,
                    "left no step: the program had 6, and the first one to keep is step 1002"));
  CHECK(scenario("exit", "host,formats=none,strict,only=attention").code == 3);
}

TEST_CASE("a signal that the program sends itself does not return") {
  for (int i = 0; i < 5; ++i) {
    ending const e = scenario("raise", "host,formats=table");
    CAPTURE(e.err);
    CHECK(e.signal == SIGTERM);
    CHECK(reports_in(e) == 1);
  }
}

TEST_CASE("strict: exit code 3, only when there was a problem") {
  work_folder const folder;
  CHECK(scenario("return", "host,strict=1,formats=none").code == 5);
  CHECK(scenario("exit", "host,strict,formats=table").code == 0);
  CHECK(scenario("return", "host,strict=1,formats=none,tracee").code == 3);
  CHECK(scenario("exit", "strict=1,host,skip=1,formats=none").code == 3);  // no steps
  CHECK(scenario("exit", "strict=1,host,out=/proc/strata").code == 3);
  CHECK(scenario("return", "strict=0,host,tracee,formats=none").code == 5);
  CHECK(scenario("throw", "host,strict=1,formats=none,tracee").signal == SIGABRT);
  ending const e =
      run({program("scenarios"), "wait"}, {"STRATA=host,strict=1,formats=none,tracee"}, {SIGTERM});
  CHECK(e.signal == SIGTERM);
}

TEST_CASE("windows of steps") {
  work_folder const folder;
  ending const e =
      scenario("steps", "host,formats=csv,skip=1,warmup=1,active=1,repeat=2,out=" + folder / "out");
  CHECK(e.code == 0);
  CHECK(calls_in(folder / "out") == call_counts{{"step[2]", 1}, {"step[5]", 1}});
  ending const without = scenario("return", "host,formats=none,active=2");
  CHECK(without.code == 5);
  CHECK(is_one_line(without.err, "STRATA_STEP()"));
}

TEST_CASE("only= without a match is told") {
  ending const e = scenario("return", "host,formats=none,only=attention");
  CHECK(is_one_line(e.err, "only="));
  CHECK(scenario("return", "host,formats=none,only=inn*").err == "");
}

TEST_CASE("ranks have directories of their own and a column") {
  work_folder const folder;
  for (char const* variable :
       {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID", "RANK"}) {
    std::string const out = folder / variable;
    for (char const* value : {"0", "13"}) {
      ending const e = scenario("return", "host,formats=csv+table,out=" + out,
                                {std::string(variable) + "=" + value});
      CHECK(e.code == 5);
      CHECK(has(e.err, out + "/rank" + value));
      CHECK(has(e.err, std::string("rank ") + value));
      std::string rank;
      CHECK(calls_in(out + "/rank" + value, &rank) == usual);
      CHECK(rank == value);
    }
  }
  // What a monitor reads has the same path in each run.
  for (char const* const last : {"rank2", "rank2-2"}) {
    (void)scenario("return", "host,formats=openmetrics,out=" + folder / "watched", {"RANK=2"});
    CHECK(fs::read_symlink(folder / "watched/rank2-latest") == last);
    CHECK(fs::exists(folder / "watched/rank2-latest/metrics.prom"));
  }
  CHECK_FALSE(fs::exists(folder / "RANK/rank0-latest"));
  // srun starts torchrun on each node, which starts a process for each GPU.
  std::string rank = "?";
  (void)scenario("return", "host,formats=csv,out=" + folder / "both",
                 {"SLURM_PROCID=0", "RANK=5", "LOCAL_RANK=5"});
  CHECK(calls_in(folder / "both/rank5", &rank) == usual);
  CHECK(rank == "5");
  // srun alone, where the shell happens to have a RANK.
  (void)scenario("return", "host,formats=csv,out=" + folder / "srun", {"SLURM_PROCID=1", "RANK=5"});
  CHECK(calls_in(folder / "srun/rank1", &rank) == usual);
  rank = "?";
  (void)scenario("return", "host,formats=csv,out=" + folder / "none", {"RANK="});
  CHECK(calls_in(folder / "none", &rank) == usual);
  CHECK(rank == "");
}

TEST_CASE("NVTX is asked for, but no part of the program has it") {
  ending const e =
      run({program("scenarios_bare"), "return"}, {"STRATA=host,formats=none,nvtx=out"});
  CHECK(is_one_line(e.err, "<strata/nvtx.hpp>"));
}
