// strata ledger: where the bytes of a step come from, of a recording with counters. Its needs are
// what its ranges declare; examples/gpt2 has those of a model.
#include "analyse/ledger.hpp"

#include <string>

#include "arguments.hpp"
#include "command.hpp"
#include "files.hpp"

namespace tools {
namespace {

class ledger_command final : public subcommand {
 public:
  char const* name() const override { return "ledger"; }
  char const* about() const override {
    return "What ranges need of memory beside what was counted";
  }
  std::string details() const override {
    return "FILE is a recording with counters, whose ranges declare bytes:\n\n"
           "  "
           "STRATA=trace,counters=memory+instructions+l2_atomic_sectors,formats=recording,out=run "
           "./program\n"
           "  strata ledger run\n\n"
           "Exit code 1: the sum does not close. 2: FILE is not what it should be: no recording, "
           "or "
           "without counted bytes.";
  }
  void declare(arguments& takes) override {
    takes.required("FILE", file_, "the recording, or the folder of a run that has it");
    takes.flag("--json", json_, "the same rows as JSON");
  }
  exit_code run() override {
    strata::profile recorded;
    if (!read_recording(name(), file_, recorded)) return exit_code::unusable;
    strata::byte_ledger const made = strata::make_ledger(recorded, {});
    if (json_)
      print_json(strata::ledger_json(made));
    else
      print("%s", strata::ledger_text(made).c_str());
    if (!(made.step.hbm_bytes > 0.0)) return exit_code::unusable;
    return made.closes ? exit_code::fine : exit_code::found;
  }

 private:
  std::string file_;
  bool json_ = false;
};

}  // namespace

subcommand_pointer make_ledger() { return std::make_unique<ledger_command>(); }

}  // namespace tools
