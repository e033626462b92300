// strata trace: the timeline of a recording, for Perfetto or chrome://tracing.
#include <strata/report/perfetto.hpp>
#include <strata/report/trace.hpp>
#include <strata/tables/table_input.hpp>

#include <cstdio>
#include <string>

#include "arguments.hpp"
#include "command.hpp"
#include "files.hpp"

namespace tools {
namespace {

class trace_command final : public subcommand {
 public:
  char const* name() const override { return "trace"; }
  char const* about() const override { return "Write the timeline of a recording"; }
  std::string details() const override {
    return "Open it at https://ui.perfetto.dev, which reads it in the browser.\n\n"
           "  strata trace strata-out --out run.perfetto-trace";
  }
  void declare(arguments& takes) override {
    takes.required("FILE", file_, "the recording, or the folder of a run that has it");
    takes.output("--out", out_,
                 "the timeline: trace.perfetto-trace; a name that ends in .json is written as "
                 "Chrome trace events");
  }
  exit_code run() override {
    strata::profile recorded;
    if (!read_recording(name(), file_, recorded, strata::recording_view::timeline))
      return exit_code::unusable;
    strata::profile_tables tables(recorded);
    std::string_view const ending = ".json";
    bool const is_json =
        out_.size() > ending.size() && out_.substr(out_.size() - ending.size()) == ending;
    std::string problem;
    bool const written = write_file(name(), out_, [&](strata::detail::text_writer& out) {
      problem = is_json ? strata::write_trace(out, tables.input()).problem
                        : strata::write_perfetto(out, tables.input()).problem;
    });
    for (std::string const& recorded_problem : recorded.problems)
      std::fprintf(stderr, "strata trace: %s\n", recorded_problem.c_str());
    if (!problem.empty()) std::fprintf(stderr, "strata trace: %s\n", problem.c_str());
    if (written) std::fprintf(stderr, "strata trace: wrote %s\n", out_.c_str());
    return written ? exit_code::fine : exit_code::found;
  }

 private:
  std::string file_;
  std::string out_ = "trace.perfetto-trace";
};

}  // namespace

subcommand_pointer make_trace() { return std::make_unique<trace_command>(); }

}  // namespace tools
