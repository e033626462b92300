// strata explain: the answer of a recording in at most 20 kB, for people, scripts and coding
// agents.
#include "explanation.hpp"

#include <strata/profile.hpp>

#include <string>

#include "arguments.hpp"
#include "command.hpp"
#include "files.hpp"

namespace tools {
namespace {

class explain_command final : public subcommand {
 public:
  char const* name() const override { return "explain"; }
  char const* about() const override { return "Print the answer of a recording, in at most 20 kB"; }
  std::string details() const override {
    return "What bounds the step, the causes that gain most with their evidence and fix, what "
           "was\n"
           "not examined, and the next command. The same recording gives the same bytes.";
  }
  void declare(arguments& takes) override {
    takes.required("FILE", file_, "the recording, or the folder of a run that has it");
    takes.option("--format", format_, {"text", "markdown", "json"}, "how it is written: text");
    takes.flag("--json", json_,
               "the same as --format json, which docs/schema/explanation.json describes");
  }
  exit_code run() override {
    strata::profile recorded;
    if (!read_recording(name(), file_, recorded)) return exit_code::unusable;
    std::string const format = json_ ? "json" : format_;
    std::string const text = bounded_explanation(recorded, file_, format);
    if (format == "json")
      print_json(text);
    else
      print("%s", text.c_str());
    return exit_code::fine;
  }

 private:
  std::string file_;
  std::string format_ = "text";
  bool json_ = false;
};

}  // namespace

subcommand_pointer make_explain() { return std::make_unique<explain_command>(); }

}  // namespace tools
