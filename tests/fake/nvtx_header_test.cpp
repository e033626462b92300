// A program with NVTX's own header and nothing of Strata but one include: STRATA= alone makes its
// NVTX calls ranges, by way of CUPTI. In processes of their own, since NVTX asks for its tool once.
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#if __has_include(<nvtx3/nvToolsExt.h>)
#include "child_process.hpp"

using fake::child_process;
using fake::count_of;
using fake::text_of;

namespace {

/// How often a path was called; 0 where there is no row.
int calls(std::string const& csv, std::string const& path) {
  std::size_t const at = csv.find("," + path + ",");
  if (at == std::string::npos) return 0;
  // rank, path_id, parent_path_id, path, name, index, depth, calls
  std::size_t cell = at + 1 + path.size();
  for (int i = 0; i < 3; ++i) cell = csv.find(',', cell + 1);
  return std::atoi(csv.c_str() + cell + 1);
}

}  // namespace

TEST_CASE("the session begins before main and NVTX loads CUPTI") {
  REQUIRE(std::system("rm -rf heard heard-2") == 0);
  for (std::string const mode : {"in", "in+out"}) {
    std::string const out = mode == "in" ? "heard" : "heard-out";
    REQUIRE(std::system(("rm -rf " + out).c_str()) == 0);
    child_process const p(
        {}, {{"STRATA", "trace,nvtx=" + mode + ",formats=table+csv+trace.json,out=" + out}});
    INFO(p.err);
    CHECK(count_of(p.err, "problem:") == 0);
    std::string const ranges = text_of(out + "/ranges.csv");
    INFO(ranges);
    CHECK(count_of(ranges, "\n") == 5);  // the names of columns and the root
    CHECK(calls(ranges, "step") == 3);
    CHECK(calls(ranges, "step/pool:task") == 3);
    CHECK(calls(ranges, "step/pool:task/w\u00efde") == 3);
    CHECK(count_of(text_of(out + "/spans.csv"), ",batch,") == 1);
    CHECK(count_of(text_of(out + "/trace.json"), "\"ph\":\"b\"") == 1);
  }
}

TEST_CASE("without nvtx=in the program's NVTX stays unheard") {
  REQUIRE(std::system("rm -rf unheard") == 0);
  child_process const p({}, {{"STRATA", "trace,out=unheard"}});
  CHECK(p.err.empty());  // no range, no session
}

TEST_CASE("a tool that the user named keeps NVTX, which is told") {
  REQUIRE(std::system("rm -rf taken") == 0);
  child_process const p(
      {}, {{"STRATA", "trace,nvtx=in,out=taken"}, {"NVTX_INJECTION64_PATH", "/tool.so"}});
  INFO(p.err);
  CHECK(count_of(p.err, "nvtx=in: NVTX calls go to /tool.so") == 1);
  CHECK(calls(text_of("taken/ranges.csv"), "step") == 0);
}
#else
int main() {
  std::puts("SKIPPED: no nvtx3/nvToolsExt.h here");
  return 77;
}
#endif
