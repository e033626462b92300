#include <doctest/doctest.h>
#include <strata/tables/csv.hpp>
#include <strata/tables/json.hpp>

#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "report_sample.hpp"

namespace json_test {

using namespace report_test;

namespace {

std::string text(report_sample const& s) {
  return text_of([&](detail::text_writer& out) { write_json(out, s.input()); });
}

nlohmann::json parsed(report_sample const& s) { return nlohmann::json::parse(text(s)); }

}  // namespace

TEST_CASE("profile.json is as it was") {
  report_sample const gpu = gpu_sample();
  CHECK(text(gpu) == golden("profile_gpu.json", text(gpu)));
  CHECK(text(cpu_sample()) == golden("profile_cpu.json", text(cpu_sample())));
}

TEST_CASE("profile.json tells everything") {
  report_sample s = gpu_sample();
  s.source.problems = {"one \"problem\"", "two"};
  s.source.losses.ranges_summed = 12;
  nlohmann::json const j = parsed(s);
  CHECK(j["schema"]["name"] == "strata.profile");
  CHECK(j["schema"]["version"] == 1);
  CHECK(j["environment"]["host"] == "node7");
  CHECK(j["environment"]["rank"].is_null());
  CHECK(j["environment"]["started_at_unix_ns"] == 1793701230123456789);
  CHECK(j["devices"][0]["name"] == "NVIDIA H100 80GB HBM3");
  CHECK(j["devices"][0]["memory_bytes"] == 80ull << 30);
  CHECK(j["losses"].size() == sizeof(profile_losses) / sizeof(std::uint64_t));
  CHECK(j["losses"]["ranges_folded"] == 12);
  CHECK(j["cost"]["range_ns"] == 38.5);
  CHECK(j["problems"].size() == 2);
  CHECK(j["problems"][0] == "one \"problem\"");
  CHECK(j["steps"].size() == 2);
  CHECK(j["ranges"].size() == s.tree.size());
  CHECK(j["ranges"][0]["parent_path_id"].is_null());
  CHECK(j["ranges"][5]["path"] == "forward/block[0]/attention");
  CHECK(j["ranges"][5]["shape"] == "4x64x768");
  CHECK(j["ranges"][5]["tokens"].is_null());
  CHECK(j["ranges"][5]["flops"] == 2.6e9);
  CHECK(j["kernels"].size() == s.kernels.size());
  CHECK(j["kernels"][1]["kernel"] == "layernorm_kernel");
  CHECK(j["kernels"][1]["demangled"].get<std::string>().find("<float, 256>") != std::string::npos);
  CHECK(j["kernels"][1]["mangled"] == "_ZN3llm16layernorm_kernelIfLi256EEEvPT_PKS1_i");
  CHECK(j["memory"]["peak_bytes"] == 3 << 20);
  CHECK(j["memory"]["allocations"].size() == 2);
  CHECK(j["memory"]["timeline"]["points"] == 3);
  CHECK(j["memory"]["timeline"]["time_ns_and_bytes"].size() == 3);
}

TEST_CASE("its keys are the columns of the CSV files") {
  report_sample const s = gpu_sample();
  nlohmann::json const j = parsed(s);
  auto const header = [](std::string const& csv) {
    std::vector<std::string> keys;
    std::string line = csv.substr(0, csv.find('\n')) + ",";
    for (std::size_t at = 0; at < line.size(); at = line.find(',', at) + 1)
      keys.push_back(line.substr(at, line.find(',', at) - at));
    return keys;
  };
  auto const same = [](std::vector<std::string> const& keys, nlohmann::json const& row,
                       std::size_t more) {
    CHECK(keys.size() + more == row.size());
    for (std::string const& key : keys) CHECK_MESSAGE(row.contains(key), key);
  };
  same(header(text_of([&](detail::text_writer& o) { write_ranges_csv(o, s.input()); })),
       j["ranges"][0], 0);
  same(header(text_of([&](detail::text_writer& o) { write_kernels_csv(o, s.input()); })),
       j["kernels"][0], 1);
  same(header(text_of([&](detail::text_writer& o) { write_memory_csv(o, s.input()); })),
       j["memory"]["allocations"][0], 0);
}

TEST_CASE("numbers that JSON does not have are null") {
  report_sample s = gpu_sample();
  s.tree[1].flops = std::numeric_limits<double>::infinity();
  s.kernels[0].gpu_utilisation = std::numeric_limits<double>::quiet_NaN();
  nlohmann::json const j = parsed(s);
  CHECK(j["ranges"][1]["flops"].is_null());
  CHECK(j["kernels"][0]["gpu_utilisation"].is_null());
  nlohmann::json const cpu = parsed(cpu_sample());
  CHECK(cpu["ranges"][1]["kernels"].is_null());
  CHECK(cpu["ranges"][1]["calls"] == 2);
}

TEST_CASE("hostile text is exact") {
  std::string const names[] = {"a,b\"c\\d/e", "two\nlines\t\x01\x7f", "注意 é 🔥",
                               "=cmd()",      std::string(4096, 't'), std::string("nul\0byte", 8)};
  report_sample s = gpu_sample();
  for (std::string const& name : names) {
    s.tree[2].name = s.tree[2].path = s.tree[2].note = s.kernels[0].mangled = name;
    s.source.environment.command = s.source.threads[0].name = name;
    nlohmann::json const j = parsed(s);
    CHECK(j["ranges"][2]["name"] == name);
    CHECK(j["ranges"][2]["note"] == name);
    CHECK(j["kernels"][0]["mangled"] == name);
    CHECK(j["environment"]["command"] == name);
    CHECK(j["threads"][0]["name"] == name);
  }
  s.tree[2].name = "bad \xFF\xC3(";
  CHECK(parsed(s)["ranges"][2]["name"] == "bad \xEF\xBF\xBD\xEF\xBF\xBD(");
}

TEST_CASE("a long timeline is thinned and keeps its peak") {
  report_sample s = gpu_sample();
  s.memory.timeline.clear();
  for (int i = 0; i < 100000; ++i) s.memory.timeline.push_back({i, i == 77777 ? 1 << 30 : i});
  nlohmann::json const j = parsed(s);
  auto const& points = j["memory"]["timeline"]["time_ns_and_bytes"];
  CHECK(points.size() == 512);
  bool peak = false;
  for (std::size_t i = 0; i < points.size(); ++i) {
    peak |= points[i][0] == 77777 && points[i][1] == 1 << 30;
    if (i > 0) CHECK(points[i][0] > points[i - 1][0]);
  }
  CHECK(peak);
}

TEST_CASE("an empty profile is valid JSON") {
  report_sample s;
  nlohmann::json const j = parsed(s);
  CHECK(j["ranges"].empty());
  CHECK(j["problems"].empty());
}

}  // namespace json_test
