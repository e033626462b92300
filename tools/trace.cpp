// strata trace: the timeline of a recording, for Perfetto or chrome://tracing.
#include "report/trace.hpp"
#include <strata/base/utf8.hpp>
#include <strata/tables/table_input.hpp>
#include "report/perfetto.hpp"

#include <string>
#include <string_view>

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
    bool const is_json = ends_in(".json");
    std::string problem;
    bool const written = write_file(name(), out_, [&](strata::detail::text_writer& out) {
      problem = is_json ? strata::write_trace(out, tables.input()).problem
                        : strata::write_perfetto(out, tables.input()).problem;
    });
    auto const say = [](std::string const& sentence) {
      print_error("strata trace: %s\n", strata::detail::console_text(sentence).c_str());
    };
    for (std::string const& recorded_problem : recorded.problems) {
      bool const is_in_timeline = recorded_problem.compare(0, 8, "counters") != 0;
      if (is_in_timeline) say(recorded_problem);
    }
    if (!problem.empty()) say(problem);
    bool const is_named = is_json || ends_in(".perfetto-trace") || ends_in(".pftrace");
    if (written)
      say("wrote " + out_ +
          (is_named ? "" : " as Perfetto's trace: a name in .json takes Chrome's events"));
    return written ? exit_code::fine : exit_code::found;
  }

 private:
  bool ends_in(std::string_view ending) const {
    return out_.size() > ending.size() &&
           out_.compare(out_.size() - ending.size(), ending.size(), ending) == 0;
  }

  std::string file_;
  std::string out_ = "trace.perfetto-trace";
};

}  // namespace

subcommand_pointer make_trace() { return std::make_unique<trace_command>(); }

}  // namespace tools
