// report FILE [OPTIONS]; see usage.
//
// Makes every report of a recording: what STRATA=formats=recording wrote, maybe on another machine.
#define STRATA_IMPLEMENTATION
#include <strata/session.hpp>
#include <strata/strata.hpp>
//
#include <strata/recording.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>

namespace {

constexpr char usage[] =
    R"(report FILE [OPTIONS]

FILE is a recording: profile.strata, which STRATA=formats=recording writes. OPTIONS, separated by commas:

  formats=table+csv+json+trace+perfetto+html+recording   what is written, one or more of these
  out=DIRECTORY                                          where
  sort=cost|order|name                                   ranges: the dearest first, as they ran, or by name

  report profile.strata
  report profile.strata formats=csv+json+trace,sort=order,out=late

Without OPTIONS: formats=table+html,out=report-out.
Exit code: 0, 1 where a file could not be written, 2 where FILE or OPTIONS is not what it should be.
)";

/// What is wrong with one option, or nothing.
std::string problem_of(std::string const& item) {
  std::size_t const equals = item.find('=');
  std::string const key = item.substr(0, equals);
  bool const known = key == "formats" || key == "out" || key == "sort";
  if (known && equals != std::string::npos) return {};
  if (known) return key + " takes a value: report --help";
  std::string const cure = "; the options are formats=, out= and sort=";
  if (equals != std::string::npos)
    return "\"" + key + "\" is no option: what was recorded cannot be changed" + cure;
  return "\"" + item + "\" is no option" + (item[0] == '-' ? "" : ": a directory is out=" + item) +
         cure;
}

/// The options of the command line; `problems` takes a sentence for each that is wrong.
strata::options read_options(std::string const& text, strata::vec<std::string>& problems) {
  for (std::size_t at = 0; at < text.size();) {
    std::size_t const end = (std::min)(text.find(',', at), text.size());
    std::string const problem = end > at ? problem_of(text.substr(at, end - at)) : std::string();
    if (!problem.empty()) problems.push_back(problem);
    at = end + 1;
  }
  if (!problems.empty()) return {};
  strata::options const read = strata::options::parse(text, problems);
  for (std::string& each : problems) {  // STRATA: "sort=dear" is ignored: sort takes ...
    each.erase(0, each.find('"'));
    each.replace(each.find(" is ignored"), 11, " means nothing");
  }
  return read;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "--help") return std::fputs(usage, stdout) < 0;
  if (argc < 2) return std::fputs(usage, stderr), 2;

  std::string text = argc == 2 ? "formats=table+html,out=report-out" : argv[2];
  for (int i = 3; i < argc; ++i) text.append(",").append(argv[i]);
  strata::vec<std::string> problems;
  strata::options const wanted = read_options(text, problems);
  for (std::string const& each : problems) std::fprintf(stderr, "report: %s\n", each.c_str());
  if (!problems.empty()) return std::fputs("report: no report was made\n", stderr), 2;

  strata::profile recorded;
  strata::status const read = strata::read_recording_file(argv[1], recorded);
  if (!read.ok()) {
    std::fprintf(stderr, "report: %s: %s\n", argv[1], read.message().c_str());
    return 2;
  }
  return strata::report_recording(recorded, wanted).ok() ? 0 : 1;
}
