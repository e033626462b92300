// ledger FILE; see usage.
//
// Where the bytes of a step come from, of a recording with counters. Its needs are what its ranges
// declare; examples/gpt2 has those of a model.
#define STRATA_IMPLEMENTATION
#include <strata/strata.hpp>
//
#include <strata/ledger.hpp>
#include <strata/recording.hpp>

#include <cstdio>
#include <string>

namespace {

constexpr char usage[] =
    R"(ledger FILE [--json]

FILE is a recording with counters, whose ranges declare bytes:

  STRATA=trace,counters=memory+instructions+l2_atomic_sectors,formats=recording,out=run ./program
  ledger run/profile.strata

Prints what the ranges need of device memory beside what was counted. --json: the same rows as JSON.
Exit code: 0, 1 where the sum does not close, 2 where FILE is not what it should be:
no recording, or without counted bytes.
)";

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "--help") return std::fputs(usage, stdout) < 0;
  bool const json = argc == 3 && std::string(argv[2]) == "--json";
  if (argc != 2 && !json) return std::fputs(usage, stderr), 2;

  strata::profile recorded;
  strata::status const read = strata::read_recording_file(argv[1], recorded);
  if (!read.ok()) {
    std::fprintf(stderr, "ledger: %s: %s\n", argv[1], read.message().c_str());
    return 2;
  }
  strata::byte_ledger const made = strata::make_ledger(recorded, {});
  std::fputs((json ? strata::ledger_json(made) : strata::ledger_text(made)).c_str(), stdout);
  if (!(made.step.hbm_bytes > 0.0)) return 2;
  return made.closes ? 0 : 1;
}
