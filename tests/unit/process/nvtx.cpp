// Programs with NVTX ranges and Strata as the tool that their NVTX loads.
#include "child.hpp"

using namespace processes;

namespace {

bool has_nvtx() { return with_nvtx(fs::exists(program("nvtx_program"))); }

texts strata_is_the_tool(std::string const& configuration) {
  return {"NVTX_INJECTION64_PATH=" + program("nvtx_inject.so"), "STRATA=" + configuration};
}

call_counts const all_ranges{{"step", 3}, {"step/pool:task", 3}, {"step/pool:task/w\u00efde", 3}};

}  // namespace

TEST_CASE("NVTX ranges of a program that knows nothing of Strata" * doctest::skip(!has_nvtx())) {
  work_folder const folder;
  for (std::string const mode : {"", ",nvtx=in"}) {
    std::string const out = folder / ("out" + std::to_string(mode.size()));
    ending const e =
        run({program("nvtx_program")},
            strata_is_the_tool("host" + mode + ",formats=table+csv+json+trace,out=" + out));
    CAPTURE(e.err);
    CHECK(e.code == 5);
    CHECK(e.out == "done\n");
    CHECK(reports_in(e) == 1);
    CHECK_FALSE(has(e.err, "problem:"));
    CHECK(calls_in(out) == all_ranges);
    std::string const spans = content(out + "/spans.csv");
    CAPTURE(spans);
    CHECK(count_of(spans, "\n") == 3);
    CHECK(has(spans, ",range,,batch,,0,1,"));
    CHECK(has(spans, ",mark,,here,,0,0,"));
  }
}

TEST_CASE("ranges that end with a payload, as NCCL's do, end" * doctest::skip(!has_nvtx())) {
  work_folder const folder;
  std::string const out = folder / "out";
  ending const e = run({program("nvtx_program"), "payload"},
                       strata_is_the_tool("host,formats=table+csv,out=" + out));
  CAPTURE(e.err);
  CHECK(e.code == 5);
  if (e.out == "no payloads\n") return;  // in this NVTX's headers
  CHECK(e.out == "enabled\n");
  CHECK_FALSE(has(e.err, "lost:"));
  CHECK(calls_in(out) == call_counts{{"pool:task", 3}, {"after", 3}, {"pool:[no text]", 1}});
  std::string const spans = content(out + "/spans.csv");
  CAPTURE(spans);
  CHECK(has(spans, ",range,pool,[no text],,0,0,"));
}

TEST_CASE("nothing of NVTX is heard with nvtx=off, nor without STRATA" *
          doctest::skip(!has_nvtx())) {
  work_folder const folder;
  ending const off = run({program("nvtx_program")},
                         strata_is_the_tool("host,nvtx=off,formats=csv,out=" + folder / "out"));
  CHECK(off.code == 5);
  CHECK_FALSE(fs::exists(folder / "out/spans.csv"));
  CHECK(calls_in(folder / "out").empty());
  ending const none =
      run({program("nvtx_program")}, {"NVTX_INJECTION64_PATH=" + program("nvtx_inject.so")});
  CHECK(none.code == 5);
  CHECK(none.err == "");
}

TEST_CASE("a program with the session inside and Strata as the tool has one profile" *
          doctest::skip(!has_nvtx())) {
  work_folder const folder;
  for (std::string const mode : {"", ",nvtx=in"}) {
    std::string const out = folder / ("out" + std::to_string(mode.size()));
    ending const e = run({program("nvtx_program_session")},
                         strata_is_the_tool("host" + mode + ",formats=table+csv,out=" + out));
    CAPTURE(e.err);
    CHECK(e.code == 5);
    CHECK(reports_in(e) == 1);
    CHECK_FALSE(has(e.err, "problem:"));
    CHECK(calls_in(out) == all_ranges);
  }
}

TEST_CASE("without a device a program cannot hear its own NVTX, and says so" *
          doctest::skip(!has_nvtx())) {
  work_folder const folder;
  ending const e = run({program("nvtx_program_session")},
                       {"STRATA=host,nvtx=in,formats=table+csv,out=" + folder / "out"});
  CAPTURE(e.err);
  CHECK(e.code == 5);
  CHECK(count_of(e.err, "nvtx=in: NVTX calls do not arrive") == 1);
  ending const quiet = run({program("nvtx_program_session")}, {"STRATA=host,formats=none"});
  CHECK(quiet.code == 5);
  CHECK(quiet.err == "");
}

TEST_CASE("libcupti is no tool that ranges are sent to by themselves") {
  constexpr char const* told = "ranges do not go to NVTX";  // compiled without NVTX's headers
  for (bool const is_tool : {true, false}) {
    ending const e =
        run({program("scenarios_bare"), "return"},
            {"STRATA=host,formats=table", std::string("NVTX_INJECTION64_PATH=/nowhere/") +
                                              (is_tool ? "libtool.so" : "libcupti.so.13")});
    CAPTURE(e.err);
    CHECK(e.code == 5);
    CHECK(has(e.err, told) == is_tool);
  }
}
