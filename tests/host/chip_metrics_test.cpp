#include <strata/collect/counters/chip_metrics.hpp>
#include <strata/collect/counters/profiler_library.hpp>
#include <strata/profile/metric_resolver.hpp>
#include <strata/profile/metric_set.hpp>
#include "metric_lists.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>

using strata::errc;
using strata::expand_metrics;
using strata::metric_location;
using strata::metric_set;
using strata::detail::chip_metrics;
using strata::detail::metric_config;
using strata::detail::profiler_library;
using names = strata::vec<std::string>;

namespace {

char const* const golden_chips[] = {"TU102", "GA100", "GA102", "AD102", "GH100", "GB100", "GB202"};

chip_metrics open(char const* chip) {
  chip_metrics host;
  auto const opened = host.open(profiler_library::get(), chip);
  INFO(opened.message());
  REQUIRE(opened.ok());
  return host;
}

/// Passes that are always there, and those of formats of the tensor cores that may be spared.
struct pass_counts {
  std::size_t always = 0;
  std::size_t formats = 0;
};

/// One configuration for each group of the set, in the order of group_metrics().
strata::vec<metric_config> configured(chip_metrics& host, metric_set const& set) {
  strata::vec<metric_config> made;
  for (auto const& group : strata::group_metrics(set)) {
    auto const done = host.configure(group.counters, made.emplace_back());
    INFO(done.message());
    CHECK(done.ok());
  }
  return made;
}

pass_counts counts_of(chip_metrics& host, metric_set const& set) {
  strata::vec<metric_config> const configs = configured(host, set);
  bool const spares = set.counters().contains(strata::detail::tensor_cycles);
  pass_counts sums;
  for (auto const& config : configs) {
    bool const spared = spares && std::all_of(config.names().begin(), config.names().end(),
                                              strata::detail::is_conditional_format);
    (spared ? sums.formats : sums.always) += config.passes();
  }
  return sums;
}

std::size_t passes_of(chip_metrics& host, metric_set const& set) {
  pass_counts const sums = counts_of(host, set);
  return sums.always + sums.formats;
}

/// "GH100 hbm: passes 1, of formats as needed 2; without ...; ... = ...".
std::string line_of(char const* chip, chip_metrics& host, strata::metric_preset const& preset) {
  metric_set const set = host.resolve(expand_metrics(preset.name));
  CHECK(set.unknown.empty());
  std::ostringstream line;
  pass_counts const counts = counts_of(host, set);
  line << chip << ' ' << preset.name << ": passes " << counts.always;
  if (counts.formats > 0) line << ", of formats as needed " << counts.formats;
  for (auto const& each : set.absent) line << "; without " << each.key;
  for (auto const& each : set.metrics) {
    if (each.stand_in) line << "; " << each.key << " = " << each.formula;
  }
  return line.str();
}

bool knows(std::string const& chip) {
  names const chips = strata::detail::supported_chips(profiler_library::get());
  return std::find(chips.begin(), chips.end(), chip) != chips.end();
}

/// CUPTI 12 lacks chips and names, and has other passes; the golden file was made with 13.0.
bool golden_version() { return profiler_library::get().version >= 130000; }

}  // namespace

TEST_CASE("every preset on every chip: passes, what is missing, what stands in") {
  std::string const path = STRATA_TEST_DIR "/host/golden/passes.txt";
  std::string all;
  std::map<std::string, std::string> made;
  for (char const* chip : golden_chips) {
    if (!knows(chip)) {
      MESSAGE("this libcupti does not know " << std::string(chip));
      continue;
    }
    chip_metrics host = open(chip);
    for (auto const& preset : strata::preset_list()) {
      std::string const line = line_of(chip, host, preset);
      all += line + '\n';
      made[line.substr(0, line.find(':'))] = line;
    }
  }
  char const* update = std::getenv("STRATA_UPDATE_GOLDEN");
  if (update != nullptr && std::string(update) == "1") {
    std::ofstream(path) << all;
    MESSAGE("written: " << path);
    return;
  }
  std::ifstream file(path);
  REQUIRE(file.good());
  std::size_t seen = 0;
  for (std::string line; std::getline(file, line);) {
    auto const found = made.find(line.substr(0, line.find(':')));
    if (found == made.end()) continue;  // a chip that this library does not know
    ++seen;
    if (profiler_library::get().version / 100 == 1300) {  // 13.1 needs a pass less on GB202
      CHECK(found->second == line);
    } else {
      WARN(found->second == line);
    }
  }
  CHECK(seen == made.size());
}

TEST_CASE("what can be had in one pass everywhere") {
  for (char const* chip : golden_chips) {
    if (!knows(chip)) continue;
    CAPTURE(chip);
    chip_metrics host = open(chip);
    for (char const* request : {"hbm", "l1", "flops", "occupancy"}) {
      CAPTURE(request);
      metric_set const set = host.resolve(expand_metrics(request));
      CHECK(set.absent.empty());
      CHECK(passes_of(host, set) == 1);
    }
  }
}

TEST_CASE("every metric of the catalogue can be configured alone, or is absent") {
  std::map<std::string, bool> somewhere;
  for (char const* chip : golden_chips) {
    if (!knows(chip)) continue;
    CAPTURE(chip);
    chip_metrics host = open(chip);
    for (auto const& each : strata::metric_list()) {
      CAPTURE(each.key());
      metric_set const set = host.resolve({std::string(each.key())});
      bool const there = set.find(each.key()) != nullptr;
      somewhere[std::string(each.key())] = somewhere[std::string(each.key())] || there;
      CHECK(there != (set.absent.size() == 1));
      if (there) CHECK(passes_of(host, set) >= 1);
    }
  }
  for (auto const& each : somewhere) {
    CAPTURE(each.first);
    bool const is_later = each.first.compare(0, 2, "uf") == 0;  // 13.5 counts the uniform pipe
    if (golden_version() && !is_later) CHECK(each.second);
  }
}

TEST_CASE("chips without DRAM counters count what L2 fills, and nothing for writes") {
  if (!knows("GB20B") || !golden_version()) return;
  chip_metrics host = open("GB20B");
  metric_set const set = host.resolve({"hbm_read_bytes", "hbm_bytes", "hbm_peak_bytes_per_second"});
  REQUIRE(set.find("hbm_read_bytes") != nullptr);
  CHECK(set.find("hbm_read_bytes")->formula == "32 * lts__d_sectors_fill_sysmem.sum");
  REQUIRE(set.absent.size() == 2);
  CHECK(set.absent[0].reason == "this chip lacks dram__bytes_write.sum");
  CHECK(set.absent[1].reason ==
        "this chip lacks dram__cycles_elapsed.avg, dram__bytes.sum.peak_sustained");
}

TEST_CASE("names are asked for one by one, and a bad one spoils nothing") {
  chip_metrics host = open("GH100");
  CHECK(host.has("dram__bytes_read.sum"));
  CHECK_FALSE(host.has("dram__bytes_read"));  // CUPTI knows it, but cannot count it
  CHECK_FALSE(host.has("dram__bytes_read.bogus"));
  CHECK_FALSE(host.has("dram__bytes_raed.sum"));
  CHECK_FALSE(host.has(""));
  CHECK_FALSE(host.has("."));
  CHECK_FALSE(host.has("hbm"));
  CHECK(host.has("dram__bytes_write.sum"));
  CHECK(host.has("l1tex__t_sector_hit_rate.pct"));
  CHECK(host.has("dram__bytes_read.sum.per_second"));
  CHECK(host.has("lts__t_bytes.sum.peak_sustained"));
  CHECK(host.has("sm__throughput.avg.pct_of_peak_sustained_elapsed"));
  CHECK_FALSE(host.has("l1tex__t_sector_hit_rate.sum"));

  metric_set const set =
      host.resolve({"hbm", "dram__bytes_raed.sum", "lts__t_bytes", "dram__bytes_read.sum"});
  REQUIRE(set.unknown.size() == 2);  // a preset is expanded before, not here
  CHECK(set.unknown[0].name == "hbm");
  CHECK(set.unknown[1].suggestions.at(0) == "dram__bytes_read.sum");
  REQUIRE(set.find("lts__t_bytes.sum") != nullptr);
  CHECK(set.find("lts__t_bytes.sum")->unit == "byte");
  CHECK(passes_of(host, set) == 1);
}

TEST_CASE("properties") {
  chip_metrics host = open("GH100");
  strata::detail::metric_properties found;
  REQUIRE(host.properties("dram__bytes_read.sum", found).ok());
  CHECK(found.unit == "byte");
  CHECK(found.hardware_unit == "dram");
  CHECK_FALSE(found.description.empty());
  CHECK(found.type == strata::detail::cupti::profiler::metric_type::counter);
  auto const refused = host.properties("nothing__here.sum", found);
  CHECK(refused.code() == errc::bad_argument);
  CHECK(refused.message().find("cuptiProfilerHostGetMetricProperties") == 0);
  CHECK(host.base_metrics().size() > 1000);
}

TEST_CASE("configurations: one call a group") {
  chip_metrics host = open("GH100");
  metric_config config;
  REQUIRE(host.configure({"dram__bytes_read.sum", "lts__t_bytes.sum"}, config).ok());
  CHECK(config.passes() == 1);
  CHECK(config.image().size() > 100);
  CHECK(config.names().size() == 2);
  metric_config const moved = std::move(config);
  metric_config other;
  CHECK(moved.passes() == 1);

  auto status = host.configure({"dram__bytes_read.sum", "dram__bytes_raed.sum"}, other);
  CHECK_FALSE(status.ok());
  if (golden_version()) {  // CUPTI 12 lets them
    status = host.configure({"dram__bytes_read.sum", "pcie__read_bytes.sum"}, other);
    CHECK(status.code() == errc::not_supported);
  }
  CHECK(host.configure(names{}, other).code() == errc::bad_argument);
  CHECK(host.configure({"dram__bytes_write.sum"}, other).ok());  // still well

  // Links, SASS, and the rest never share a call.
  metric_set const set = host.resolve(expand_metrics("memory+flops+links+l2hit"));
  strata::vec<metric_config> const all = configured(host, set);
  auto const groups = strata::group_metrics(set);
  REQUIRE(all.size() == 4);
  CHECK(groups[0].location == metric_location::memory);
  CHECK(all[0].passes() == 3);
  CHECK(all[1].passes() == 1);
  CHECK(all[2].passes() == 1);
  CHECK(all[3].passes() == 1);
}

TEST_CASE("counters that refuse each other's company are counted apart") {
  chip_metrics host = open("GH100");
  strata::vec<metric_config> made;
  strata::vec<strata::status> problems;
  host.configure_apart({"pcie__read_bytes.sum", "dram__bytes_read.sum", "lts__t_bytes.sum",
                        "pcie__write_bytes.sum", "dram__bytes_raed.sum"},
                       made, problems);
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].message().find("dram__bytes_raed.sum is not counted: ") == 0);
  if (!golden_version()) return;  // CUPTI 12 counts links with memory
  REQUIRE(made.size() == 2);
  CHECK(made[0].names() == names{"pcie__read_bytes.sum", "pcie__write_bytes.sum"});
  CHECK(made[1].names() == names{"dram__bytes_read.sum", "lts__t_bytes.sum"});
}

TEST_CASE("what instruments kernels is never counted with what does not") {
  chip_metrics host = open("GH100");
  strata::vec<metric_config> made;
  strata::vec<strata::status> problems;
  char const* const peak = "sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained";
  char const* const sass = "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum";
  host.configure_apart({sass, "dram__bytes_read.sum", peak}, made, problems);
  CHECK(problems.empty());
  REQUIRE(made.size() == 2);
  CHECK(made[0].names() == names{"dram__bytes_read.sum", peak});
  CHECK(made[1].names() == names{sass});

  // A peak alone changes nothing in what CUPTI is told to count.
  metric_config without;
  REQUIRE(host.configure({"dram__bytes_read.sum"}, without).ok());
  CHECK(made[0].image() == without.image());

  // Also where CUPTI refuses some of them.
  made.clear();
  host.configure_apart({"dram__bytes_raed.sum", sass, "dram__bytes_read.sum"}, made, problems);
  CHECK(problems.size() == 1);
  REQUIRE(made.size() == 2);
  CHECK(made[0].names() == names{"dram__bytes_read.sum"});
  CHECK(made[1].names() == names{sass});
}

TEST_CASE("evaluating nothing is refused, not a crash") {
  chip_metrics host = open("GH100");
  metric_config config;
  REQUIRE(host.configure({"dram__bytes_read.sum", "lts__t_bytes.sum"}, config).ok());
  strata::vec<double> values;
  CHECK(config.evaluate({}, 0, values).code() == errc::bad_argument);
  REQUIRE(values.size() == 2);
  CHECK(std::isnan(values[0]));
  metric_config empty;
  CHECK(empty.evaluate({1, 2, 3}, 0, values).code() == errc::bad_argument);
  CHECK(values.empty());
}

TEST_CASE("unknown chips") {
  for (char const* chip : {"gh100", "XX100", ""}) {
    CAPTURE(chip);
    chip_metrics host;
    CHECK(host.open(profiler_library::get(), chip).code() == errc::bad_argument);
  }
  std::string const text = strata::list_metrics("XX100");
  CHECK(text.find("does not know chip 'XX100'; it knows") != std::string::npos);
  CHECK(text.find(" GH100") != std::string::npos);
  CHECK(std::count(text.begin(), text.end(), '\n') == 1);
  CHECK(strata::list_metrics("H20O").find("did you mean H20 (GH100)") != std::string::npos);
}

TEST_CASE("products stand for their chips") {
  for (char const* name : {"gh100", "H200", "h100", "NVIDIA H100 80GB HBM3"}) {
    CAPTURE(name);
    std::string const text = strata::list_metrics(name);
    CHECK(text.find("Metrics of GH100 (" + std::string(name) + "), by ") == 0);
  }
  // No CUPTI that does not know the chip is advised.
  if (!knows("GR100"))
    CHECK(strata::list_metrics("Rubin").find("GR100 needs the libcupti of CUDA 13.4 or later.") !=
          std::string::npos);
}

TEST_CASE("no libcupti is one sentence") {
  profiler_library nothing;
  nothing.problem = "libcupti was not found";
  chip_metrics host;
  CHECK(host.open(nothing, "GH100").code() == errc::unavailable);
  CHECK(strata::detail::supported_chips(nothing).empty());
  CHECK(strata::list_metrics("GH100", nothing) ==
        "No metrics can be listed: libcupti was not found.\n");
}

TEST_CASE("the list names every preset and metric") {
  std::string const text = strata::list_metrics("GA100");
  for (auto const& each : strata::preset_list()) {
    CHECK(text.find('\n' + std::string(each.name) + ' ') != std::string::npos);
  }
  for (auto const& each : strata::metric_list()) {
    CHECK(text.find('\n' + std::string(each.key()) + ' ') != std::string::npos);
  }
  CHECK(text.find("without tensor_fp8: this chip lacks") != std::string::npos);
  CHECK(text.find("  ?  ") == std::string::npos);  // all pass counts are known
  // As a session counts them: the memory in a pass of its own.
  CHECK(text.find("\nmemory        2       the whole hierarchy\n") != std::string::npos);
  auto const says_half = [](char const* product) {
    return strata::list_metrics(product).find("GeForce boards do") != std::string::npos;
  };
  CHECK_FALSE(says_half("GA100"));
  CHECK_FALSE(says_half("Orin"));
  CHECK_FALSE(says_half("GTX 1650"));
  CHECK(says_half("RTX 3060"));
  CHECK(says_half("RTX 4090"));
}

int main(int argc, char** argv) {
  auto const& library = profiler_library::get();
  if (!library.ok()) {
    std::printf("SKIPPED: %s\n", library.problem.c_str());
    return 77;
  }
  if (strata::detail::supported_chips(library).empty()) {
    std::printf("SKIPPED: %s knows no chip: is libnvperf_host.so beside it?\n",
                library.path.c_str());
    return 77;
  }
  std::printf("%s, version %u\n", library.path.c_str(), library.version);
  return doctest::Context(argc, argv).run();
}
