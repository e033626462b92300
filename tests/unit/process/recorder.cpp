// A program with the recorder alone (strata::recorder): what it writes, what it leaves to the
// command, and that the recording has all of it.
#include <strata/recording.hpp>

#include "child.hpp"

using namespace process_test;

namespace {

constexpr char const* for_the_rest = "findings, page and timeline are made of ";

ending recorded(std::string const& formats, std::string const& folder) {
  return run({program("scenarios_recorder"), "return"},
             {"STRATA=host,formats=" + formats + ",out=" + folder});
}

}  // namespace

TEST_CASE("the recorder alone writes tables and a recording, and names the command for the rest") {
  work_folder here;
  std::string const out = here / "run";
  ending const e = recorded("table+csv+json+trace+perfetto+html", out);
  CAPTURE(e.err);
  CHECK(e.code == 5);
  CHECK(has(e.err, "outer"));
  CHECK_FALSE(has(e.err, "answer:"));
  CHECK_FALSE(has(e.err, "problem:"));
  CHECK(count_of(e.err, "strata: " + std::string(for_the_rest) + "the recording: strata report " +
                            out + "\n") == 1);
  for (char const* made :
       {"ranges.csv", "kernels.csv", "memory.csv", "profile.json", "profile.strata"})
    CHECK(fs::exists(out + "/" + made));
  for (char const* left : {"findings.json", "report.html", "trace.json", "trace.perfetto-trace"})
    CHECK_FALSE(fs::exists(out + "/" + left));

  strata::profile read;
  REQUIRE(strata::read_recording_file(out + "/profile.strata", read).ok());
  strata::options wanted;
  wanted.table = false;
  wanted.html = true;
  wanted.out = here / "late";
  REQUIRE(strata::report_recording(read, wanted).ok());
  for (char const* same : {"ranges.csv", "kernels.csv", "memory.csv", "profile.json"})
    CHECK(content(wanted.out + "/" + same) == content(out + "/" + same));
  for (char const* more : {"findings.json", "report.html", "trace.json"})
    CHECK(fs::exists(wanted.out + "/" + more));
}

TEST_CASE(
    "the recorder alone without files says what is missing for the rest; without all, nothing") {
  work_folder here;
  ending const table = recorded("table", here / "run");
  CHECK(has(table.err, std::string(for_the_rest) + "a recording: add formats=recording"));
  CHECK(recorded("none", here / "run").err == "");
  CHECK_FALSE(fs::exists(here / "run"));
}
