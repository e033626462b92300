// strata report: every report of a recording, maybe of another machine.
#include <strata/options.hpp>
#include <strata/session/report_files.hpp>
#include <strata/session/report_side.hpp>
#include "live/attribution.hpp"
#include "recording/recording.hpp"

#include <cstdio>
#include <string>
#include <string_view>

#include "arguments.hpp"
#include "command.hpp"
#include "files.hpp"

namespace tools {
namespace {

class report_command final : public subcommand {
 public:
  char const* name() const override { return "report"; }
  char const* about() const override { return "Make every report of a recording"; }
  std::string details() const override {
    return "FILE is a recording: profile.strata, which STRATA=formats=table+recording writes.\n\n"
           "  strata report strata-out\n"
           "  strata report profile.strata --formats csv+json+trace --sort order --out late\n"
           "  strata report live-out --map traced-out";
  }
  void declare(arguments& takes) override {
    takes.required("FILE", file_,
                   "the recording, profile.strata.part of a killed program too, or its folder");
    std::string const formats = strata::detail::format_names(", ");
    std::string const about = "what is written, joined by +: " + formats + "; table+html";
    takes.option("--formats", formats_, about.c_str());
    takes.folder("--out", out_, "the folder of the files: report-out; a used one is left alone");
    takes.option("--map", map_,
                 "a recording of the program with a trace: whose work live sampled without one");
    takes.option("--sort", sort_, {"cost", "order", "name"},
                 "ranges: the longest first, as they ran, or by name");
  }
  exit_code run() override {
    if (formats_.find(',') != std::string::npos)
      return refuse(name(), "--formats " + formats_, "formats are joined by +");
    strata::vec<std::string> problems;
    strata::options wanted =
        strata::options::parse("formats=" + formats_ + ",sort=" + sort_, problems);
    if (!problems.empty()) return refuse_formats(problems.front());
    wanted.out = out_;
    strata::profile recorded;
    if (!read_recording(name(), file_, recorded)) return exit_code::unusable;
    if (!map_.empty()) {
      strata::profile traced;
      if (!read_recording(name(), map_, traced)) return exit_code::unusable;
      strata::status const mapped = strata::live::attribute_by_map(recorded, traced);
      if (!mapped.ok()) return refuse(name(), "--map " + map_, mapped.message());
    }
    auto here = strata::detail::report_files::look_around(true);
    here.out = "--out ";
    bool const whole = strata::detail::report_files(wanted, here).write(recorded).ok();
    return whole ? exit_code::fine : exit_code::unusable;
  }

 private:
  /// `problem`: STRATA: "formats=x" is ignored: formats takes ...
  exit_code refuse_formats(std::string problem) const {
    constexpr std::string_view prefix = "STRATA: ";
    std::size_t const fix = problem.find(" takes ");
    problem.erase(0, fix != problem.npos ? fix + 1 : prefix.size());
    return refuse(name(), "--formats " + formats_, problem);
  }

  std::string file_;
  std::string map_;
  std::string formats_ = "table+html";
  std::string out_ = "report-out";
  std::string sort_ = "cost";
};

}  // namespace

subcommand_pointer make_report() { return std::make_unique<report_command>(); }

}  // namespace tools
