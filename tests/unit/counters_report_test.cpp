#include <doctest/doctest.h>
#include <strata/profile/metric_resolver.hpp>
#include <strata/session/report_files.hpp>
#include <strata/tables/csv.hpp>
#include <strata/tables/json.hpp>
#include <strata/tables/table.hpp>
#include "report/console_tables.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "../work_folder.hpp"
#include "counter_sample.hpp"
#include "counter_tables.hpp"
#include "report_sample.hpp"

namespace counters_report_test {

using namespace counter_test;
using report_test::golden;
using report_test::has;
using report_test::lines;
using report_test::text_of;

namespace {

/// All that the reports of a sample are made from.
struct reported : report_test::report_tables {
  counter_table counters;

  explicit reported(profile const& made)
      : report_tables(made), counters(make_counter_table(source, tree)) {}

  std::string tidy() const {
    return text_of([&](detail::text_writer& out) { write_counters_csv(out, input(), counters); });
  }
  std::string wide() const {
    return text_of(
        [&](detail::text_writer& out) { write_counters_wide_csv(out, input(), counters); });
  }
  nlohmann::json json() const {
    return nlohmann::json::parse(
        text_of([&](detail::text_writer& out) { write_json(out, input()); }))["counters"];
  }
  std::string table(int width, std::size_t max_rows = 60) const {
    return text_of([&](detail::text_writer& out) {
      detail::write_counter_tables(out, input(), {width, false, max_rows});
    });
  }
};

/// Larger numbers, for the terminal, and more levels.
counter_sample everything() {
  counter_sample s("memory+roofline+flops+tensor+occupancy+l2_request_hit_rate");
  s.counted().metrics = resolve_metrics(
      expand_metrics("memory+roofline+flops+tensor+occupancy+l2hit+l2_request_hit_rate"),
      [](std::string const& name) { return name.find("fp4") == std::string::npos; });
  s.counted().names = s.counted().metrics.counters();
  s.counted().values.clear();
  for (kernel_record& each : s.made.kernels) {
    each.begin *= 1000;
    each.end *= 1000;
  }
  double range = 1;
  for (std::uint32_t const node : {s.step, s.attention0, s.mlp0, s.attention1, s.mlp1}) {
    for (std::uint32_t i = 0; i < s.counted().names.size(); ++i) {
      std::string const& name = s.counted().names[i];
      double value = range * 1e6 * (4 + i % 3);
      bool const part =
          name.find("hit") != std::string::npos || name.find("pipe_tensor") != std::string::npos;
      if (part) value = range * 1e6 * (1 + i % 3);
      if (name == "sm__warps_active.sum") value *= 40;
      if (name == "gpu__time_duration.sum") value = 1e6;
      if (name.find("cycles_elapsed") != std::string::npos) value = 1.5e6;
      if (name.find(".peak_sustained") != std::string::npos) value = 4096;
      if (name == "sm__warps_active.avg.peak_sustained") value = 64;
      s.counted().values.push_back({node, i, value});
    }
    range += 1;
  }
  return s;
}

/// Cells of a line without quoted commas.
std::vector<std::string> cells(std::string const& line) {
  std::vector<std::string> result(1);
  bool quoted = false;
  for (char const c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      result.emplace_back();
    } else {
      result.back() += c;
    }
  }
  return result;
}

/// Of counters.csv the header, the run, a range and one that launches nothing: rows are made alike.
std::string chosen_rows(std::string const& tidy) {
  std::string chosen;
  for (std::string const& line : lines(tidy)) {
    std::string const id = cells(line)[1];
    if (id == "path_id" || id == "0" || id == "3" || id == "8") chosen += line + '\n';
  }
  return chosen;
}

/// The same with a line for each element of its lists.
std::string listed(nlohmann::json const& counters) {
  std::string text;
  for (auto const& [key, value] : counters.items()) {
    text += (text.empty() ? "{\"" : ",\n\"") + key + "\": ";
    std::string elements;
    if (value.is_array())
      for (nlohmann::json const& each : value)
        elements += (elements.empty() ? "" : ",\n ") + each.dump();
    text += value.is_array() ? '[' + elements + ']' : value.dump();
  }
  return text + "}\n";
}

nlohmann::json const& of_path(nlohmann::json const& counters, std::string_view path) {
  for (nlohmann::json const& each : counters["values"])
    if (each["path"] == path) return each;
  FAIL("no path " << std::string(path));
  return counters;
}

}  // namespace

TEST_CASE("rates are of the steps that the step's time is of, without a first one that is apart") {
  sample::maker p;
  p.made.traced = p.made.has_steps = true;
  p.made.kernel_names.push_back({"work"});
  std::uint32_t const mlp = p.node(0, "mlp");
  std::int64_t now = 0;
  auto const kernel = [&](std::uint32_t step, std::int64_t ns) {
    std::uint32_t const id = p.launch(mlp, now, now + 10);
    p.made.launches.back().step = step;
    p.kernel(id, now + 20, now + 20 + ns).name = 1;
    now += 30 + ns;
  };
  for (std::uint32_t step = 0; step < 4; ++step) {
    std::int64_t const begin = now;
    for (int warm = 0; step == 0 && warm < 2; ++warm) kernel(step, 700);
    kernel(step, 100);
    p.call(mlp, begin, now).step = step;
    p.made.steps.push_back({begin, now, step, 0});
  }
  p.made.end = now;
  counter_set& set = p.made.add_counters(counter_set::gpu);
  set.metrics = resolve_metrics(expand_metrics("hbm_bytes"), has_no_l2);
  set.names = set.metrics.counters();
  set.passes = set.passes_done = 1;
  for (std::uint32_t i = 0; i < set.names.size(); ++i) set.values.push_back({mlp, i, 300});
  set.work.push_back({mlp, 0, 1, 0, 1, 1, 32.0});
  counter_table const table = make_counter_table(p.made, call_tree(p.made));
  CHECK(table.timed_steps == 3);
  CHECK(table.is_timed_work(1, counter_scope::total));
  counter_cell const& seconds = table.at(1, table.find("timed_gpu_seconds"), counter_scope::total);
  CHECK(seconds.value == doctest::Approx(100e-9));
  counter_cell const& rate = table.at(1, table.find("hbm_bytes_per_second"), counter_scope::total);
  CHECK(rate.value == doctest::Approx(600 / 100e-9));
  CHECK(table.note(rate) == "counted in one step, mean GPU time of 3 timed steps");
}

TEST_CASE("the counter reports are as they were") {
  reported const small(counter_sample().made);
  std::string const tidy = chosen_rows(small.tidy());
  CHECK(tidy == golden("counters.csv", tidy));
  CHECK(small.wide() == golden("counters_wide.csv", small.wide()));
  CHECK(small.table(120) == golden("counters_small_120.txt", small.table(120)));
  std::string const json = listed(small.json());
  CHECK(json == golden("counters.json", json));
  CHECK(nlohmann::json::parse(json) == small.json());
  reported const large(everything().made);
  for (int const width : {80, 120, 300}) {
    std::string const name = "counters_" + std::to_string(width) + ".txt";
    CHECK(large.table(width) == golden(name.c_str(), large.table(width)));
  }
}

TEST_CASE("columns of zeros leave first where there is no room") {
  counter_sample idle = everything();
  counter_set& set = idle.counted();
  CHECK(reported(idle.made).table(120).find("tensor GFLOP/s") != std::string::npos);
  for (counter_value& each : set.values) {
    bool const tensor = set.names[each.counter].find("tensor") != std::string::npos;
    bool const peak = set.names[each.counter].find("peak") != std::string::npos;
    if (tensor && !peak) each.value = 0;
  }
  CHECK(reported(idle.made).table(120).find("tensor GFLOP/s") == std::string::npos);
  CHECK(reported(idle.made).table(300).find("tensor GFLOP/s") != std::string::npos);
}

TEST_CASE("several devices are named, and rates are of one") {
  counter_sample two;
  two.counted().devices = {0, 3};
  reported const r(two.made);
  CHECK(r.json()["devices"] == nlohmann::json{0, 3});
  CHECK(has(r.table(120), "Counted on GH100 (devices 0, 3) in 3 steps"));
  CHECK(has(r.table(400), "by GPU busy time of a timed step, each device's added up\n"));
}

TEST_CASE("counters.csv has a line a path, scope and metric") {
  reported const r(counter_sample().made);
  std::vector<std::string> const text = lines(r.tidy());
  CHECK(text[0] == "rank,path_id,path,metric,value,unit,scope,method,passes,note,plus_minus");
  // What the chip lacks has one line, with its reason.
  std::size_t const known = r.counters.metrics.size() - 1;
  CHECK(text.size() == 1 + r.tree.rows().size() * known * 2 + 1);
  CHECK(has(r.tidy(), "\n,0,,l2_hit_rate,,%,total,derived,0,\"this chip lacks "));
  bool reason_everywhere = true;
  for (std::size_t i = 1; i < text.size(); ++i) {
    std::vector<std::string> const c = cells(text[i]);
    REQUIRE(c.size() == 11);
    reason_everywhere = reason_everywhere && !(c[4].empty() && c[9].empty());
  }
  CHECK(reason_everywhere);
  CHECK(has(r.tidy(), "\n,3,step/block[0]/attention,hbm_bytes,1500,B,total,derived,3,,\n"));
  CHECK(has(r.tidy(), "\n,1,step,hbm_read_bytes,100,B,self,counted,3,,\n"));
  CHECK(has(r.tidy(), "\n,8,load,hbm_bytes,,B,total,derived,3,never launched anything,\n"));
}

TEST_CASE("ranks and hostile names") {
  counter_sample s;
  s.made.environment.rank = 3;
  s.made.names[s.made.nodes[s.attention0].name] = "=a,\"b\"\n";
  reported const r(s.made);
  CHECK(has(r.tidy(), "\n3,3,\"step/block[0]/=a,\"\"b\"\"\n\",hbm_bytes,1500,B,total"));
  CHECK(has(r.wide(), "\n3,3,\"step/block[0]/=a,\"\"b\"\"\n\",1000,"));
  CHECK(of_path(r.json(), "step/block[0]/=a,\"b\"\n")["total"]["hbm_bytes"] == 1500);
  for (std::string const& line : lines(r.table(100))) CHECK(detail::display_width(line) <= 100);
}

TEST_CASE("ranges whose work differed between the counting steps are named") {
  counter_sample s;
  for (std::uint32_t pass = 0; pass < 3; ++pass)
    s.counted().work.push_back({s.attention0, pass, 1, 0, 5, pass, 100.0 + pass});
  reported const r(s.made);
  std::string const varying =
      "varying: the counting steps ran the same kernels with other grids, 100 to 102 threads";
  std::string table = r.table(100);
  for (char& c : table) c = c == '\n' ? ' ' : c;
  CHECK(has(table, "Other work in other counting steps: "));
  CHECK(of_path(r.json(), "step/block[0]/attention")["work"] == varying);
  CHECK_FALSE(of_path(r.json(), "step/block[0]").contains("work"));
  CHECK(r.json()["metrics"][0]["passes"] == nlohmann::json({0, 1, 2}));
  CHECK(has(r.tidy(), varying.c_str()));
}

TEST_CASE("the counter table is in the order of the range table") {
  counter_sample s;
  for (kernel_record& each : s.made.kernels)
    if (each.end - each.begin < 500) each.end = each.begin + 5000;  // mlp takes longest
  reported const r(s.made);
  std::string const text = r.table(120);
  CHECK(text.find("mlp") < text.find("attention"));
  CHECK_FALSE(has(text, "load"));
  CHECK(has(reported(counter_sample().made).table(120, 3), "attention"));
  CHECK_FALSE(has(reported(counter_sample().made).table(120, 3), "mlp"));
}

TEST_CASE("the counter table fits the terminal") {
  reported const r(everything().made);
  for (int width = 40; width < 320; width += 7) {
    for (std::string const& line : lines(r.table(width))) {
      CHECK_MESSAGE(detail::display_width(line) <= static_cast<std::size_t>(width), line);
      CHECK((line.empty() || line.back() != ' '));
    }
  }
  CHECK(has(r.table(80), "HBM GB/s"));
  CHECK(has(r.table(300), "tensor active %"));
}

TEST_CASE("the table says how it was counted") {
  counter_sample s;
  std::string text = reported(s.made).table(400);
  CHECK(has(text,
            "Counted on GH100 in 3 steps, a pass each, after the 2 timed ones; values are of "
            "one step, with the ranges below.\nRates and % of peak: counted in one step, by "
            "GPU busy time of a timed step\n"));
  CHECK(has(text, "\nL1 hit: by sectors\n"));
  CHECK_FALSE(has(text, "L2"));
  s.counted().passes = 4;
  s.set(s.attention0, "dram__bytes_read.sum", 75000);
  text = reported(s.made).table(400);
  CHECK(has(text, "The program ended before the other 1 step of the counting"));
  CHECK(has(reported(s.made).tidy(), "above 100 %: units, clocks or the work of the steps differ"));
}

TEST_CASE("what is counted while the program runs is shown of a mean step") {
  counter_sample s;
  counter_set& set = s.made.add_counters(counter_set::cpu);
  set.method = counting::while_running;
  set.about = "By perf. ";
  set.metrics =
      detail::metric_resolver(
          metric_source::perf, [](void*, std::string const&) { return std::string(); }, nullptr)
          .run({"cpu_instructions", "cpu_cycles", "cpu_ipc"});
  set.names = set.metrics.counters();
  for (std::uint32_t i = 0; i < set.names.size(); ++i)
    set.values.push_back({s.attention0, i, i == 0 ? 90000.0 : 30000.0});
  std::string text = reported(s.made).table(200);
  CHECK(has(text, "45.0 K"));
  CHECK(has(text, "3.00"));  // instructions a cycle
  CHECK(has(text, "By perf. Counts are of a mean step."));
  s.made.steps.clear();
  text = reported(s.made).table(200);
  CHECK(has(text, "90.0 K"));
  CHECK_FALSE(has(text, "mean step"));
}

TEST_CASE("work outside ranges is a row of its own") {
  counter_sample s;
  CHECK_FALSE(has(reported(s.made).table(120), "(outside ranges)"));
  s.set(root_node, "dram__bytes_read.sum", 64);
  std::string const text = reported(s.made).table(120);
  CHECK(has(text, "(outside ranges)"));
  CHECK(text.find("(outside ranges)") < text.find("total"));
}

TEST_CASE("the files of a run have counters where there are any") {
  test::quiet_stderr const quiet;
  test::work_folder const folder;
  options chosen;
  chosen.out = folder / "run";
  chosen.table = chosen.chrome_trace = false;
  counter_sample s;
  REQUIRE(detail::report_files(chosen).write(s.made).ok());
  CHECK(std::filesystem::exists(folder / "run/counters.csv"));
  CHECK(std::filesystem::exists(folder / "run/counters_wide.csv"));
  CHECK(report_test::read_file(folder / "run/counters.csv") == reported(s.made).tidy());
  CHECK(nlohmann::json::parse(report_test::read_file(folder / "run/profile.json"))
            .contains("counters"));
  s.counted().values.clear();
  REQUIRE(detail::report_files(chosen).write(s.made).ok());
  CHECK(std::filesystem::exists(folder / "run-2/ranges.csv"));
  CHECK_FALSE(std::filesystem::exists(folder / "run-2/counters.csv"));
  CHECK_FALSE(std::filesystem::exists(folder / "run-2/counters_wide.csv"));
}

}  // namespace counters_report_test
