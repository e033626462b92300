// What the catalogue means on every chip that a CUPTI knows, from Turing to Rubin. Without a GPU:
// by libcupti's Host API up to 13.1, by the libnvperf_host.so beside it from 13.2 on.
#include <strata/collect/counters/chip_metrics.hpp>
#include <strata/profile/metric_resolver.hpp>
#include <strata/profile/tensor_formats.hpp>
#include "gpu_chips.hpp"
#include "metric_lists.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "../../tools/perfworks.hpp"

using strata::metric_set;
using strata::resolved_metric;
using strata::detail::chip_metrics;
using strata::detail::profiler_library;

namespace {

using words = std::set<std::string>;

profiler_library& library() { return profiler_library::get(); }
std::string folder() { return library().path.substr(0, library().path.rfind('/') + 1); }

/// Those of language models: Turing and later.
std::vector<std::string> chips() {
  std::vector<std::string> names;
  for (std::string const& name : strata::detail::supported_chips(library()))
    for (char const* family : {"TU", "GA", "AD", "GH", "GB", "GR"})
      if (name.compare(0, 2, family) == 0) names.push_back(name);
  return names;
}

chip_metrics open(std::string const& chip) {
  chip_metrics host;
  auto const opened = host.open(library(), chip);
  INFO(opened.message());
  REQUIRE(opened.ok());
  return host;
}

metric_set resolved(chip_metrics& host, std::string const& key) {
  strata::vec<std::string> wanted;
  wanted.push_back(key);
  return host.resolve(wanted);
}

words counters_of(chip_metrics& host, std::string const& key) {
  words names;
  for (std::string const& name : resolved(host, key).counters())
    names.insert(name.substr(0, name.find('.')));
  return names;
}

words base_names(chip_metrics& host) {
  words names;
  for (std::string const& name : host.base_metrics()) names.insert(name);
  return names;
}

bool contains(std::string const& text, char const* part) {
  return text.find(part) != std::string::npos;
}

std::string text_of(strata::metric_location location) {
  static char const* const names[] = {"memory", "sm", "sass", "device-wide", "anywhere"};
  return names[static_cast<std::size_t>(location)];
}

/// "[B] dram__bytes_read.sum", and what it means there; "absent: this chip lacks ...".
std::string formula_of(chip_metrics& host, metric_set const& set, std::string const& key) {
  resolved_metric const* const found = set.find(key);
  if (found == nullptr) {
    REQUIRE(set.absent.size() == 1);
    return "absent: " + set.absent[0].reason;
  }
  std::ostringstream line;
  line << '[' << found->unit << "] " << found->formula;
  bool first = true;
  for (std::string const& name : found->counters) {
    if (!contains(found->formula, ("?" + name).c_str())) continue;
    line << (first ? ", here with " : " ") << name;
    first = false;
  }
  std::string const meaning = strata::detail::meaning_on_chip(host, *found);
  if (!meaning.empty()) line << "; " << meaning;
  return line.str();
}

/// "; memory passes 1"; empty where the metric is absent.
std::string passes_of(chip_metrics& host, metric_set const& set) {
  if (set.metrics.empty()) return {};
  words places;
  for (std::string const& name : set.counters())
    if (strata::location_of(name) != strata::metric_location::anywhere)
      places.insert(text_of(strata::location_of(name)));
  std::size_t passes = 0;
  for (auto const& group : strata::group_metrics(set)) {
    strata::detail::metric_config config;
    auto const done = host.configure(group.counters, config);
    INFO(done.message());
    CHECK(done.ok());
    passes += config.passes();
  }
  std::string line = ";";
  for (std::string const& place : places) line += ' ' + place;
  return line + " passes " + std::to_string(passes);
}

enum class table_kind { formulas, formulas_and_passes };

/// All metrics of all chips: by key and chip.
using chip_lines = std::map<std::string, std::map<std::string, std::string>>;

chip_lines lines_of_all(table_kind kind) {
  chip_lines lines;
  for (std::string const& chip : chips()) {
    CAPTURE(chip);
    chip_metrics host = open(chip);
    for (auto const& entry : strata::metric_list()) {
      std::string const key(entry.key());
      CAPTURE(key);
      metric_set const set = resolved(host, key);
      std::string& line = lines[key][chip];
      line = formula_of(host, set, key);
      if (kind == table_kind::formulas_and_passes) line += passes_of(host, set);
    }
  }
  return lines;
}

/// Each metric with its lines, and the chips of each line.
std::string table_of(chip_lines const& lines) {
  std::string table;
  std::vector<std::string> const known = chips();
  for (auto const& entry : strata::metric_list()) {
    auto const of_key = lines.find(std::string(entry.key()));
    if (of_key == lines.end() || of_key->second.empty()) continue;
    std::vector<std::pair<std::string, std::string>> rows;
    for (std::string const& chip : known) {
      auto const line = of_key->second.find(chip);
      if (line == of_key->second.end()) continue;
      auto const row = std::find_if(rows.begin(), rows.end(),
                                    [&](auto const& one) { return one.first == line->second; });
      if (row == rows.end()) {
        rows.push_back({line->second, chip});
      } else {
        row->second += ' ' + chip;
      }
    }
    table += of_key->first + '\n';
    for (auto const& row : rows) table += "    " + row.first + "\n        " + row.second + '\n';
  }
  return table;
}

/// What a table of table_of() says, without passes.
chip_lines formulas_in(std::istream& table) {
  chip_lines lines;
  std::string key;
  std::string formula;
  for (std::string line; std::getline(table, line);) {
    std::size_t const indent = line.find_first_not_of(' ');
    if (indent == 0) key = line;
    if (indent == 4) {
      formula = std::regex_replace(line.substr(4), std::regex(";[a-z -]* passes [0-9]+$"), "");
    } else if (indent == 8) {
      std::istringstream names(line);
      for (std::string chip; names >> chip;) lines[key][chip] = formula;
    }
  }
  return lines;
}

char const* const newest_table = STRATA_TEST_DIR "/host/golden/chips.txt";

/// The version of CUDA whose table is checked in; empty for others.
std::string version_of_library() {
  switch (library().version) {
    case 24:
      return "12.6";
    case 28:
      return "12.9";
    default:
      if (library().version / 100 == 1300) return "13.0";
      return library().version / 100 == 1301 ? "13.1" : "";
  }
}

/// Where this libcupti chooses otherwise than the newest.
chip_lines changes_to_newest() {
  std::ifstream file(newest_table);
  chip_lines const newest = formulas_in(file);
  chip_lines changes = lines_of_all(table_kind::formulas);
  for (auto& of_key : changes) {
    auto const known = newest.find(of_key.first);
    if (known == newest.end()) continue;
    for (auto const& line : known->second) {
      auto const here = of_key.second.find(line.first);
      if (here != of_key.second.end() && here->second == line.second) of_key.second.erase(here);
    }
  }
  return changes;
}

void check_golden(std::string const& path, std::string const& table) {
  char const* const update = std::getenv("STRATA_UPDATE_GOLDEN");
  if (update != nullptr && std::string(update) == "1") {
    std::ofstream(path) << table;
    return;
  }
  std::ifstream file(path);
  std::istringstream made(table);
  std::string expected;
  for (std::string line; std::getline(made, line);) {
    std::getline(file, expected);
    CHECK(line == expected);
  }
  CHECK_FALSE(std::getline(file, expected));
}

/// Parts of NVIDIA's breakdowns that no unit of ours has, and why.
std::map<std::string, std::string> const not_ours = {
    {"sm__inst_executed", "sm__inst_issued has it, replays with it"},
    {"sm__issue_active", "sm__inst_issued has it"},
    {"sm__inst_executed_pipe_cbu_pred_on_any", "branches: the issue slots are used up first"},
    {"sm__inst_executed_pipe_ipa", "graphics"},
    {"sm__inst_executed_pipe_tex", "textures"},
    {"sm__inst_executed_pipe_uniform", "one instruction a warp: the issue slots are used up first"},
    {"sm__mio2rf_writeback_active", "what LSU, XU and TMA give back: they have units"},
    {"sm__mio_inst_issued", "what LSU, ADU and XU take: they have units"},
    {"sm__mio_pq_read_cycles_active", "a queue before LSU"},
    {"sm__mio_pq_write_cycles_active", "a queue before LSU"},
    {"sm__pipe_shared_cycles_active", "tensor cores with FP64 or FP16, which have units"},
    {"sm__pipe_tensor_cycles_active_v2", "the same counter as sm__pipe_tensor_cycles_active"},
    {"sm__pipe_tensor_op_dmma_cycles_active", "part of sm__pipe_tensor_cycles_active"},
    {"sm__pipe_tensor_type_hmma_hgmma_qgmma_imma_igmma_bmma_bgmma_cycles_active",
     "part of sm__pipe_tensor_cycles_active"},
    {"idc__request_cycles_active", "constants: ADU has their instructions"},
    {"l1tex__data_bank_reads", "l1tex__data_pipe_lsu_wavefronts has the turns"},
    {"l1tex__data_bank_writes", "l1tex__data_pipe_lsu_wavefronts has the turns"},
    {"tpc__l1tex_data_bank_reads", "as l1tex__data_bank_reads"},
    {"tpc__l1tex_data_bank_writes", "as l1tex__data_bank_writes"},
    {"tpc__l1tex_data_pipe_lsu_wavefronts", "as l1tex__data_pipe_lsu_wavefronts"},
    {"tpc__l1tex_m_l1tex2xbar_req_cycles_active", "as l1tex__m_l1tex2xbar_req_cycles_active"},
    {"l1tex__data_pipe_tex_wavefronts", "textures"},
    {"l1tex__f_wavefronts", "textures"},
    {"l1tex__samp_wavefronts", "textures"},
    {"l1tex__sram_cycles_array_0_cmd_read", "as l1tex__data_bank_reads"},
    {"l1tex__sram_cycles_array_0_cmd_write", "as l1tex__data_bank_writes"},
    {"l1tex__sram_cycles_array_1_cmd_read", "as l1tex__data_bank_reads"},
    {"l1tex__sram_cycles_array_1_cmd_write", "as l1tex__data_bank_writes"},
    {"l1tex__tex_writeback_active", "textures"},
    {"l1tex__texin_sm2tex_req_cycles_active", "textures"},
    {"l1tex__lsu_writeback_active", "what LSU gives back"},
    {"l1tex__lsuin_requests", "LSU has the instructions"},
    {"l1tex__m_xbar2l1tex_read_sectors", "L2 has the sectors"},
    {"l1tex__m_xbar2l1tex_read_sectors_mem_dshared", "shared memory of other SMs"},
    {"l1tex__tmain_requests", "TMA has its cycles"},
    {"lts__d_atomic_input_cycles_active", "atomics: a finding of their own"},
    {"lts__d_decomp_input_sectors", "compressed memory"},
    {"lts__d_sectors", "lts__t_sectors has them"},
    {"lts__d_sectors_fill_device", "the memory has them"},
    {"lts__d_sectors_fill_sysmem", "the memory or the bus has them"},
    {"lts__ltcfabric2ltc_cycles_active", "between the halves of L2"},
    {"lts__ltcfabric2lts_cycles_active", "between the halves of L2"},
    {"lts__lts2xbar_cycles_active", "the way back from L2: lts__xbar2lts_cycles_active is near it"},
    {"lts__lts2xbar_cycles_active_realtime", "as lts__lts2xbar_cycles_active"},
    {"dram__cycles_active", "bytes of the memory by its peak"},
    {"fbpa__dram_sectors", "bytes of the memory by its peak"},
    {"syslts__d_atomic_input_cycles_active", "host memory: the bus limits it"},
    {"syslts__d_sectors", "host memory: the bus limits it"},
    {"syslts__d_sectors_fill_sysmem", "host memory: the bus limits it"},
    {"syslts__syslts2xbar_cycles_active", "host memory: the bus limits it"},
    {"syslts__t_sectors", "host memory: the bus limits it"},
    {"syslts__t_tag_requests", "host memory: the bus limits it"},
    {"syslts__xbar2syslts_cycles_active", "host memory: the bus limits it"}};

}  // namespace

// The first table is that of 13.5, which alone has GB10C; the tables of other versions have what
// differs.
TEST_CASE("the table of every metric on every chip") {
  auto const known = chips();
  if (std::find(known.begin(), known.end(), "GB10C") != known.end())
    return check_golden(newest_table, table_of(lines_of_all(table_kind::formulas_and_passes)));
  std::string const version = version_of_library();
  if (version.empty()) return;
  check_golden(STRATA_TEST_DIR "/host/golden/chips_" + version + ".txt",
               table_of(changes_to_newest()));
}

TEST_CASE("a peak of tensor cores is dense, of its format, and of the fastest path of the chip") {
  std::regex const name(
      "sm__ops_path_tensor_(op_[a-z]+_)?src_(.+?)(_dst_fp(16|32))?(_sparsity_off)?");
  std::map<std::string, std::string> const formats = {
      {"tensor_peak_per_cycle", "bf16"},        {"tensor_fp16_peak_per_cycle", "fp16"},
      {"tensor_tf32_peak_per_cycle", "tf32"},   {"tensor_fp8_peak_per_cycle", "fp8"},
      {"tensor_fp4_peak_per_cycle", "fp4"},     {"tensor_int8_peak_per_cycle", "int8"},
      {"tensor_fp64_peak_per_cycle", "fp64"},   {"tensor_fp16_fp16_peak_per_cycle", "fp16"},
      {"tensor_fp8_fp16_peak_per_cycle", "fp8"}};
  for (std::string const& chip : chips()) {
    CAPTURE(chip);
    chip_metrics host = open(chip);
    words const all = base_names(host);
    for (auto const& format : formats) {
      CAPTURE(format.first);
      words chosen = counters_of(host, format.first);
      std::string work = format.first.substr(0, format.first.rfind("_peak_per_cycle"));
      if (work == "tensor") work = "tensor_bf16";
      bool const is_counted = resolved(host, work).find(work) != nullptr;
      bool const has_fp16_sums = contains(format.first, "_fp16_peak") && work != "tensor_fp16";
      // Turing counts INT8, whose peak has the name of other chips' peak with sparsity. GH100 has
      // one path for FP16 whatever the sums, and no count of those in FP16.
      bool const is_turing = chip.compare(0, 2, "TU") == 0;
      if (!is_turing && !(chip == "GH100" && has_fp16_sums)) CHECK(is_counted == !chosen.empty());
      if (chosen.empty()) continue;
      // A name that only Turing has, times 0.
      if (is_turing && has_fp16_sums)
        chosen.erase("sm__ops_path_tensor_src_fp16_bf16_tf32_dst_fp32");
      REQUIRE(chosen.size() == 1);
      std::smatch parts;
      REQUIRE(std::regex_match(*chosen.begin(), parts, name));
      std::string const shared = parts[2].str();
      CHECK(("_" + shared + "_").find("_" + format.second + "_") != std::string::npos);
      std::string const sums = parts[4].str();
      CHECK((sums.empty() || sums == (has_fp16_sums ? "16" : "32")));
      bool has_sparsity = false;
      bool has_faster = false;
      for (std::string const& one : all) {
        std::smatch other;
        bool const is_realtime = contains(one, "_realtime");
        if (is_realtime || !std::regex_match(one, other, std::regex(name))) continue;
        if (other[2].str() != shared) continue;
        bool const sparse = all.count(one + "_sparsity_on") != 0 || other[5].matched;
        has_sparsity = has_sparsity || sparse;
        std::string const path = other[1].str();
        bool const is_fast = contains(path, "gmma") || contains(path, "utc");
        bool const is_chosen = path == parts[1].str();
        has_faster = has_faster || (is_fast && !is_chosen && parts[1].matched);
      }
      CHECK(parts[5].matched == has_sparsity);
      CHECK_FALSE(has_faster);
    }
  }
}

TEST_CASE("what was read of memory is no hit of a cache") {
  for (std::string const& chip : chips()) {
    CAPTURE(chip);
    chip_metrics host = open(chip);
    for (char const* key : {"hbm_read_bytes", "hbm_write_bytes", "hbm_bytes"}) {
      CAPTURE(key);
      for (std::string const& name : counters_of(host, key)) {
        CAPTURE(name);
        bool const is_of_memory =
            name.compare(0, 6, "dram__") == 0 || name.compare(0, 6, "fbpa__") == 0;
        CHECK((is_of_memory || contains(name, "_sectors_fill_")));
      }
    }
  }
}

TEST_CASE("every class of arithmetic instructions is in the floating-point operations") {
  std::regex const arithmetic(
      "smsp__sass_thread_inst_executed_op_u?[a-z](add|mul|fma)[0-9]*_pred_on");
  for (std::string const& chip : chips()) {
    CAPTURE(chip);
    chip_metrics host = open(chip);
    words const counted = counters_of(host, "flop");
    std::size_t classes = 0;
    for (std::string const& name : base_names(host)) {
      if (!std::regex_match(name, arithmetic)) continue;
      CAPTURE(name);
      CHECK(counted.count(name) == 1);
      ++classes;
    }
    CHECK(classes >= 9);
    CHECK(counted.size() == classes);
  }
}

TEST_CASE("every part of NVIDIA's breakdown of a unit is in one of ours, or has a reason") {
  words used;
  for (std::string const& chip : chips()) {
    CAPTURE(chip);
    chip_metrics host = open(chip);
    words ours = counters_of(host, "hbm_bytes");
    for (auto const& entry : strata::metric_list())
      if (strata::detail::ends_with(entry.key(), "_ns"))
        for (std::string const& name : counters_of(host, std::string(entry.key())))
          ours.insert(name);
    std::size_t parts = 0;
    for (char const* throughput : {"sm__throughput", "l1tex__throughput", "lts__throughput",
                                   "dram__throughput", "gpu__compute_memory_throughput"}) {
      for (std::string const& part : tools::perfworks::breakdown(folder(), chip, throughput)) {
        CAPTURE(part);
        ++parts;
        bool const excused = not_ours.count(part) == 1;
        CHECK((ours.count(part) == 1) != excused);
        if (excused) used.insert(part);
      }
    }
    CHECK(parts > 30);
  }
  if (chips().size() >= 30)
    for (auto const& reason : not_ours) {
      CAPTURE(reason.first);
      CHECK(used.count(reason.first) == 1);
    }
}

TEST_CASE("what CUPTI reads of the whole device is never counted with the rest") {
  constexpr std::size_t most = 8;  // of a unit: 13.1 takes 3 ms for each
  std::size_t told = 0;
  std::set<words> seen;  // chips of one design have the same names
  for (std::string const& chip : chips()) {
    CAPTURE(chip);
    chip_metrics host = open(chip);
    words const all = base_names(host);
    if (!seen.insert(all).second) continue;
    words ours;
    for (auto const& entry : strata::metric_list())
      for (std::string const& base : counters_of(host, std::string(entry.key()))) ours.insert(base);
    std::map<std::string, std::size_t> of_unit;
    for (std::string const& base : all) {
      std::string const unit = base.substr(0, base.find("__"));
      std::size_t& count = of_unit[contains(base, "_realtime") ? unit + " on the fly" : unit];
      if (++count > most && ours.count(base) == 0) continue;
      strata::detail::metric_properties found;
      std::string const name = base + ".sum";
      if (!host.properties(name, found).ok()) continue;
      using scope = strata::detail::cupti::profiler::metric_scope;
      if (found.scope == scope::unknown) continue;
      auto const where = strata::location_of(name);
      bool const may_be_either = where == strata::metric_location::anywhere;
      CAPTURE(name);
      ++told;
      bool const is_apart = where == strata::metric_location::device_wide;
      if (found.scope == scope::device && !may_be_either) CHECK(is_apart);
      // Of L2's on-the-fly counters some are of the whole device on some chips.
      if (is_apart && !contains(name, "_realtime")) CHECK(found.scope == scope::device);
    }
  }
  MESSAGE("scopes that this libcupti tells: " << told);
  // It alone does without a driver.
  if (version_of_library() == "13.1") CHECK(told > 1'000);
}

TEST_CASE("every chip that CUPTI knows is in the table of products") {
  for (std::string const& chip : chips()) {
    CAPTURE(chip);
    auto const* const found = strata::detail::gpu_names::find(chip);
    REQUIRE(found != nullptr);
    CHECK(found->name == chip);
  }
}

TEST_CASE("nothing is listed of a chip that this CUPTI does not list") {
  strata::vec<std::string> const known = strata::detail::supported_chips(library());
  for (auto const& chip : strata::detail::gpu_chips) {
    std::string const name(chip.name);
    CAPTURE(name);
    std::string const text = strata::list_metrics(name, library());
    bool const is_refused = text.find("No metrics can be listed: ") == 0;
    CHECK(is_refused != known.contains(name));
    if (!is_refused) continue;
    std::string const since = name + " needs the libcupti of CUDA " + std::string(chip.since);
    CHECK(text.find(since) != std::string::npos);
  }
}

int main(int argc, char** argv) {
  auto& found = library();
  if (tools::perfworks::stand_in(found)) std::printf("by %s\n", found.path.c_str());
  if (!found.ok() || strata::detail::supported_chips(found).empty()) {
    std::printf("SKIPPED: %s\n",
                found.problem.empty() ? "libcupti knows no chip" : found.problem.c_str());
    return 77;
  }
  return doctest::Context(argc, argv).run();
}
