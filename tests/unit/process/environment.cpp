// What STRATA and the rest of the environment bring about.
#include "child.hpp"

#include <cerrno>
#include <cstring>

using namespace process_test;

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
  ending const e = scenario("busy", "host,formats=table");
  CHECK(e.code == 0);
  CHECK(has(e.out, "another Strata session is running"));
  CHECK(reports_in(e) == 1);
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
  for (char const* file :
       {"ranges.csv", "kernels.csv", "memory.csv", "profile.json", "trace.json"}) {
    CHECK(fs::file_size(folder / "all/" + file) > 0);
    CHECK(has(all.err, file));
  }
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

TEST_CASE("files that cannot be written: a line with the path and the reason, and the table") {
  work_folder const folder;
  std::ofstream(folder / "file") << "mine";
  struct obstacle {
    std::string out;
    int reason;
  };
  for (obstacle const& o :
       {obstacle{folder / "file", EEXIST}, obstacle{folder / "file/run", ENOTDIR},
        obstacle{"/proc/strata/run", ENOENT}}) {
    ending const e = scenario("return", "host,out=" + o.out);
    CAPTURE(e.err);
    CHECK(e.code == 5);
    CHECK(reports_in(e) == 1);
    CHECK(is_one_line(e.err, "cannot write " + o.out));
    CHECK(has(e.err, std::strerror(o.reason)));
    CHECK(has(e.err, "inner"));
    CHECK_FALSE(has(e.err, "wrote"));
  }
  CHECK(content(folder / "file") == "mine");
}

TEST_CASE("no room for the files") {
  work_folder const folder;
  ending const e = scenario("limited-files", "host,out=" + folder / "out");
  CAPTURE(e.err);
  CHECK(e.code == 7);
  CHECK(reports_in(e) == 1);
  CHECK(is_one_line(e.err, "cannot write " + folder / "out/ranges.csv"));
  CHECK(has(e.err, std::strerror(EFBIG)));
  CHECK_FALSE(has(e.err, "wrote"));
  CHECK(fs::is_empty(folder / "out"));
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
  std::string rank = "?";
  (void)scenario("return", "host,formats=csv,out=" + folder / "none", {"RANK="});
  CHECK(calls_in(folder / "none", &rank) == usual);
  CHECK(rank == "");
}

TEST_CASE("NVTX is asked for, but no part of the program has it") {
  ending const e =
      run({program("scenarios_bare"), "return"}, {"STRATA=host,formats=none,nvtx=out"});
  CHECK(is_one_line(e.err, "<strata/nvtx.hpp>"));
}
