// report FILE [OPTIONS]; see usage.
//
// Makes every report of a recording: what STRATA=formats=recording wrote, maybe on another machine.
#define STRATA_IMPLEMENTATION
#include <strata/strata.hpp>
//
#include <strata/recording.hpp>

#include <cstdio>
#include <string>

namespace {

constexpr char usage[] =
    R"(report FILE [OPTIONS]

FILE is a recording: profile.strata, which STRATA=formats=recording writes. OPTIONS is a text as STRATA has it;
formats, out and sort count here:

  report profile.strata
  report profile.strata formats=csv+json+trace,sort=order,out=late

Without OPTIONS: formats=table+html,out=report-out.
Exit code: 0, 1 where a file could not be written, 2 where FILE or OPTIONS is not what it should be.
)";

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "--help") return std::fputs(usage, stdout) < 0;
  if (argc != 2 && argc != 3) return std::fputs(usage, stderr), 2;

  strata::vec<std::string> problems;
  strata::options const wanted =
      strata::options::parse(argc == 3 ? argv[2] : "formats=table+html,out=report-out", problems);
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
