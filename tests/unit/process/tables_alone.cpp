// A program with include/ alone: what it writes, what it leaves to the command, and that the
// recording has all of it.

#include <algorithm>
#include "recording/recording.hpp"

#include "child.hpp"

using namespace processes;

namespace {

constexpr char const* for_the_rest =
    "strata: findings are made from the recording: strata explain ";

/// The line that names the commands for a folder, as a shell takes it.
std::string commands_for(std::string const& folder) {
  return for_the_rest + folder + "; page and trace: strata report " + folder +
         "; CMake makes strata in Strata's repository: target strata_command\n";
}

ending recorded(std::string const& formats, std::string const& folder,
                std::string const& name = "scenarios_tables") {
  return run({program(name), "return"}, {"STRATA=host,formats=" + formats + ",out=" + folder});
}

texts files_in(std::string const& folder) {
  texts names;
  for (auto const& file : fs::directory_iterator(folder))
    names.push_back(file.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

/// Makes csv, json, trace and html of the recording in a folder.
std::string reported_late(work_folder& here, std::string const& recorded) {
  strata::profile read;
  REQUIRE(strata::read_recording_file(recorded + "/profile.strata", read).ok());
  strata::options wanted;
  wanted.table = false;
  wanted.html = true;
  wanted.out = here / "late";
  REQUIRE(strata::report_recording(read, wanted).ok());
  return wanted.out;
}

}  // namespace

TEST_CASE("without the analysis there are tables and a recording, and the command for the rest") {
  work_folder here;
  texts const tables{"kernels.csv", "memory.csv", "profile.json", "profile.strata", "ranges.csv"};
  std::string const all = here / "all";
  ending const e = recorded("table+csv+json+trace+trace.json+html", all);
  CHECK(e.code == 5);
  CHECK(has(e.err, "outer"));  // the table
  CHECK_FALSE(has(e.err, "answer:"));
  std::string const last = commands_for(all);
  REQUIRE(e.err.size() > last.size());
  CHECK(e.err.compare(e.err.size() - last.size(), last.size(), last) == 0);
  CHECK(files_in(all) == tables);
  for (char const* formats : {"html", "trace"}) {
    std::string const out = here / "run-" + formats;
    CHECK(recorded(formats, out).err ==
          "strata: wrote " + out + "/profile.strata\n" + commands_for(out));
    CHECK(files_in(out) == texts{"profile.strata"});
  }
  CHECK_FALSE(
      has(recorded("csv+recording", here / "csv").err, for_the_rest));  // nothing is missing
  CHECK_FALSE(has(recorded("csv", here / "alone").err, for_the_rest));
  CHECK_FALSE(fs::exists(here / "alone/profile.strata"));
  ending const table = recorded("table", here / "table");
  CHECK(has(table.err, "outer"));
  CHECK_FALSE(fs::exists(here / "table"));
}

TEST_CASE("without the analysis the table is of a mean step") {
  work_folder here;
  ending const e = run({program("scenarios_tables"), "steps"},
                       {"STRATA=host,formats=table+csv,out=" + (here / "steps")});
  CHECK(has(e.err, "\nstep "));
  CHECK(has(e.err, "all, a step"));
}

TEST_CASE("the command for the rest can be pasted, and is of a recording that is there") {
  work_folder here;
  ending const spaced = recorded("html", here / "my run");
  CHECK(has(spaced.err, commands_for("'" + (here / "my run") + "'")));

  ending const elsewhere =
      run({program("scenarios_tables"), "return"},
          {"STRATA=host,formats=html,out=/proc/none", "TMPDIR=" + (here / "spare")});
  CHECK(has(elsewhere.err, commands_for(here / "spare/strata-out")));

  ending const nowhere = run({program("scenarios_tables"), "return"},
                             {"STRATA=host,formats=html,out=/proc/none", "TMPDIR=/proc/none"});
  CHECK(nowhere.code == 5);
  CHECK(has(nowhere.err, "cannot write /proc/none"));
  CHECK_FALSE(has(nowhere.err, for_the_rest));
}

TEST_CASE("of the recording come all reports") {
  work_folder here;
  std::string const out = here / "run";
  REQUIRE(recorded("json", out).code == 5);
  std::string const late = reported_late(here, out);
  CHECK(files_in(late) == texts{"findings.json", "kernels.csv", "memory.csv", "profile.json",
                                "ranges.csv", "report.html", "trace.json.gz"});
  CHECK(has(content(late + "/ranges.csv"), "outer"));
}

TEST_CASE("tables are the same from the program and from its recording") {
  work_folder here;
  std::string const out = here / "run";
  REQUIRE(recorded("csv+json+recording", out, "scenarios").code == 5);
  std::string const late = reported_late(here, out);
  for (char const* same : {"ranges.csv", "kernels.csv", "memory.csv", "profile.json"})
    CHECK(content(late + "/" + same) == content(out + "/" + same));
}

TEST_CASE("nothing is written where nothing is wanted") {
  work_folder here;
  CHECK(recorded("none", here / "run").err == "");
  CHECK_FALSE(fs::exists(here / "run"));
}
