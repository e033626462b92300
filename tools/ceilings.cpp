// strata ceilings: what this device reaches of memory, caches and operations of each format. Later
// sessions on it take the results for their roofs.
#include "ceilings/ceilings.hpp"

#include <string>

#include "arguments.hpp"
#include "command.hpp"

namespace tools {
namespace {

class ceilings_command final : public subcommand {
 public:
  char const* name() const override { return "ceilings"; }
  char const* about() const override { return "Measure what this device reaches"; }
  std::string details() const override {
    return "Measures the first GPU, or without one the CPU, and keeps the results of a GPU for\n"
           "the roofs of later sessions.";
  }
  void declare(arguments& takes) override {
    takes.flag("--no-cache", prints_only_, "print the results, and keep none");
  }
  exit_code run() override {
    strata::measured_ceilings const gpu = strata::measure_ceilings();
    print("%s", strata::ceilings_text(gpu).c_str());
    if (!gpu.outcome.ok()) {
      print("%s", strata::ceilings_text(strata::measure_cpu_ceilings()).c_str());
      return exit_code::fine;
    }
    if (prints_only_) return exit_code::fine;
    strata::status const kept = strata::write_ceilings(gpu);
    print("%s\n", kept.ok() ? "kept for the roofs of later sessions" : kept.message().c_str());
    return kept.ok() ? exit_code::fine : exit_code::unusable;
  }

 private:
  bool prints_only_ = false;
};

}  // namespace

subcommand_pointer make_ceilings() { return std::make_unique<ceilings_command>(); }

}  // namespace tools
