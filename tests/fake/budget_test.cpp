// One budget: what a process grows by stays within `log=` and `buffers=`, the printed number is
// right, and the totals are exact whatever found no room. Each program is a process of its own.
#include "../unit/process/child.hpp"

#include <cstdint>
#include <map>
#include <sstream>
#include <string>

namespace budget_test {

using namespace processes;

namespace {

#if defined(__OPTIMIZE__)
constexpr bool whole = true;
#else  // tests/run.sh --quick
constexpr bool whole = false;
#endif

constexpr char const* smallest = "trace,drain=60000,log=16,buffers=16,formats=";
constexpr std::uint64_t caps_kb = (16 + 16) << 10;
constexpr std::uint64_t beyond_kb = 64 << 10;
/// By how much the records that wait in the stand-in, 4,000 at most, differ between two runs.
constexpr std::uint64_t undelivered_kb = 2 << 10;
/// What malloc keeps of memory that is free again (seen: 10 to 18 MB, by the number of its arenas).
constexpr std::uint64_t free_kb = 18 << 10;

using numbers = std::map<std::string, std::uint64_t>;

/// What the program says of itself; without options those of a client that keeps nothing.
numbers measure(char const* what, std::string const& options = {}) {
  texts command{MEMORY_PROGRAM, what};
  if (!options.empty()) command.push_back(options);
  ending const ended = run(command, {"STRATA_CUPTI=" FAKE_DIR "/libcupti.so.13",
                                     "STRATA_LIBCUDA=" FAKE_DIR "/libcuda.so.1"});
  CAPTURE(ended.err);
  REQUIRE(ended.code == 0);
  numbers made;
  std::istringstream in(ended.out);
  std::string name;
  for (std::uint64_t number = 0; in >> name >> number;) made[name] = number;
  return made;
}

struct growth {
  numbers with;
  std::uint64_t grown_kb;    ///< beyond a client that keeps nothing
  std::uint64_t peak_kb;     ///< the same at most, until the recording is written
  std::uint64_t printed_kb;  ///< the number that `cost:` has
};

growth grow(char const* what, std::string const& formats = "none") {
  work_folder const folder;
  growth made{measure(what, smallest + formats + ",out=" + (folder / "out")), 0, 0, 0};
  numbers const bare = measure(what);
  made.grown_kb = made.with["grown_kb"] - bare.at("grown_kb");
  made.peak_kb = made.with["peak_with_report_kb"] - bare.at("peak_kb");
  made.printed_kb = (made.with["log_bytes"] + made.with["activity_bytes"]) >> 10;
  return made;
}

void check_peak(growth const& made) {
  CAPTURE(made.peak_kb);
  CHECK(made.peak_kb < caps_kb + beyond_kb + free_kb);
}

void check_memory(growth const& made) {
  CAPTURE(made.grown_kb);
  CAPTURE(made.peak_kb);
  CAPTURE(made.printed_kb);
  check_peak(made);
  CHECK(made.printed_kb + undelivered_kb + free_kb > made.grown_kb * 9 / 10);
  CHECK(made.printed_kb < made.grown_kb * 11 / 10 + undelivered_kb);
}

void check_kernels(growth& made) {
  CHECK(made.with["kernels"] == made.with["launched"]);
  CHECK(made.with["kernel_ns"] == made.with["launched_ns"]);
  CHECK(made.with["launches_of_kernels"] == made.with["launched"]);
}

}  // namespace

TEST_CASE("8,000 ranges with kernels of varied durations: within the budget, totals exact") {
  growth made = grow("nodes");
  check_memory(made);
  CHECK(made.with["launched"] == 800'000);
  check_kernels(made);
  CHECK(made.with["kernels_merged"] > 0);
  CHECK(made.with["kernels_merged"] < made.with["launched"]);
}

TEST_CASE("what is written while the program runs: the same within the caps and 64 MB") {
  growth made = grow("nodes", "recording");
  check_peak(made);
  check_kernels(made);
  growth plain = grow("nodes");
  CHECK(made.printed_kb > plain.printed_kb);  // the pieces are in it
}

TEST_CASE("10^5 ranges of 50 kernels: within the budget, totals exact" * doctest::skip(!whole)) {
  growth made = grow("ranges");
  check_memory(made);
  CHECK(made.with["launched"] == 5'000'000);
  check_kernels(made);
  CHECK(made.with["kernels_merged"] > 0);
}

TEST_CASE("10^4 graphs: within the budget, totals exact") {
  growth made = grow("graphs");
  check_memory(made);
  CHECK(made.with["launched"] == 200'000);
  check_kernels(made);
  CHECK(made.with["graph_nodes_refused"] > 0);
}

TEST_CASE("10^6 allocations in use: within the budget, bytes exact") {
  growth made = grow("allocations");
  check_memory(made);
  CHECK(made.with["allocations"] == 1'000'000);
  CHECK(made.with["allocated_bytes"] == 512 * made.with["allocations"]);
  CHECK(made.with["allocations_dropped"] > 0);
}

}  // namespace budget_test
