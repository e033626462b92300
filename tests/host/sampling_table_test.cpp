// What `live` samples on every chip that libcupti's Host API knows, without a GPU.
#include <strata/collect/counters/chip_metrics.hpp>
#include <strata/collect/counters/sampled_metrics.hpp>
#include "metric_lists.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

using strata::detail::chip_metrics;
using strata::detail::profiler_library;
using strata::detail::sampled_metrics;

namespace {

profiler_library& library() { return profiler_library::get(); }

/// Those of language models: Turing and later, up to those that every 13.0 knows.
std::vector<std::string> chips() {
  std::vector<std::string> names;
  for (std::string const& name : strata::detail::supported_chips(library()))
    for (char const* family : {"TU", "GA", "AD", "GH", "GB"})
      if (name.compare(0, 2, family) == 0) names.push_back(name);
  return names;
}

sampled_metrics chosen(std::string const& chip) {
  sampled_metrics made;
  auto const known = made.choose(library(), chip, {}, [] { return true; });
  INFO(known.message());
  REQUIRE(known.ok());
  return made;
}

/// One line for each thing that is sampled or not, and the chips of it.
std::string table_of_all() {
  std::map<std::string, std::string> lines;
  for (std::string const& chip : chips()) {
    CAPTURE(chip);
    sampled_metrics const made = chosen(chip);
    for (auto const& metric : made.set.metrics)
      lines[metric.key + ": " + metric.formula] += ' ' + chip;
    for (auto const& missing : made.set.absent)
      lines[missing.key + ": absent, " + missing.reason] += ' ' + chip;
    for (auto const& missing : made.left_out)
      lines[missing.key + ": left out, " + missing.reason] += ' ' + chip;
  }
  std::string table;
  for (auto const& line : lines) table += line.first + "\n   " + line.second + '\n';
  return table;
}

}  // namespace

// Integrated chips have no counters of their memory; what L2 fills from it is counted in ranges,
// but not sampled.
TEST_CASE("every chip samples what its memory moves in one pass, or else its L2") {
  std::vector<std::string> const integrated = {"GA10B", "GB10B", "GB10C", "GB20B", "GB20C"};
  for (std::string const& chip : chips()) {
    CAPTURE(chip);
    sampled_metrics const made = chosen(chip);
    CHECK(made.config.passes() == 1);
    bool const has_memory =
        std::find(integrated.begin(), integrated.end(), chip) == integrated.end();
    CHECK((made.set.find("hbm_read_bytes") != nullptr) == has_memory);
    CHECK((made.set.find("hbm_write_bytes") != nullptr) == has_memory);
    CHECK((made.set.find("l2_sectors") != nullptr) == !has_memory);
  }
}

TEST_CASE("the table of what is sampled") {
  if (library().version / 100 != 1300) return;  // the table is that of CUDA 13.0
  std::string const path = STRATA_TEST_DIR "/host/golden/sampled.txt";
  std::string const made = table_of_all();
  char const* const update = std::getenv("STRATA_UPDATE_GOLDEN");
  if (update != nullptr && std::string(update) == "1") std::ofstream(path) << made;
  std::ifstream file(path);
  std::ostringstream expected;
  expected << file.rdbuf();
  CHECK(made == expected.str());
}

int main(int argc, char** argv) {
  auto& found = library();
  if (!found.ok() || strata::detail::supported_chips(found).empty()) {
    std::printf("SKIPPED: %s\n",
                found.problem.empty() ? "libcupti knows no chip" : found.problem.c_str());
    return 77;
  }
  return doctest::Context(argc, argv).run();
}
