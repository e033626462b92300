#include <doctest/doctest.h>
#include <strata/profile/metric_resolver.hpp>
#include <strata/tables/json.hpp>
#include <strata/tables/steps_summary.hpp>
#include "analyse/column_meanings.hpp"
#include "report/page.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "../sanitizers.hpp"
#include "page_sample.hpp"
#include "report_sample.hpp"
#include "sample_profile.hpp"

namespace html_test {

using namespace page_test;

namespace {

constexpr char const* hostile =
    "</script><script>document.title='broken'</script><img src=x "
    "onerror=\"document.title='broken'\">";

std::size_t occurrences(std::string const& text, std::string const& what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++found;
  return found;
}

/// What the page's script reads.
std::string data_of(std::string const& page) {
  std::string const begin = "id=\"data\">";
  std::size_t const from = page.find(begin) + begin.size();
  return page.substr(from, page.find("</script>", from) - from);
}

/// The value of a column of a range: of its row, or the one that all rows have.
nlohmann::json cell(nlohmann::json const& data, nlohmann::json const& row, char const* column) {
  auto const& names = data["columns"];
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == column) return row[i];
  REQUIRE(data["same"].contains(column));
  return data["same"][column];
}

/// The same of a kernel; NaN is no value.
double kernel_number(nlohmann::json const& data, nlohmann::json const& row, char const* column) {
  auto const& names = data["kernel_columns"];
  nlohmann::json found = data["kernel_same"].value(column, nlohmann::json());
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == column) found = row[i];
  return found.is_null() ? sample::not_given : found.get<double>();
}

gpt2_sample with_hostile_names() {
  gpt2_sample s(2, 3);
  for (std::string& name : s.made.names)
    if (name == "attention" || name == "mlp") name = hostile;
  for (kernel_name& name : s.made.kernel_names) name.mangled = hostile;
  s.made.environment.command = hostile;
  s.made.environment.host = hostile;
  s.made.environment.devices[0].name = hostile;
  s.made.threads[0].name = hostile;
  s.made.problems.push_back(hostile);
  return s;
}

/// A run whose recording took this part of its steps' idle time.
profile slowed_by_recording(double part) {
  profile made = report_test::gpu_sample().source;
  steps_summary const steps = page_tables(made).input().steps;
  made.cost.unrecorded_steps = 5;
  made.cost.unrecorded_step_ns = steps.mean_ns - part * steps.gpu_idle_ns;
  return made;
}

constexpr std::uint32_t many = 3'000;  // above all limits of a page

/// So many ranges, each with a long name, a kernel, an allocation and counted values.
sample::maker many_ranges(std::uint32_t count) {
  gpt2_sample s(1, 2);
  std::uint32_t const top = s.node(0, "many");
  std::int64_t now = s.made.end;
  std::size_t const counters = s.made.counters().names.size();
  for (std::uint32_t i = 0; i < count; ++i) {
    std::uint32_t const at =
        s.node(i % 7 == 0 ? top : static_cast<std::uint32_t>(s.made.nodes.size() - 1),
               "range with a name that takes some room " + std::to_string(i),
               i % 3 == 0 ? strata::no_index : i % 3);
    s.call(at, now, now + 1000 + i).step = no_step;
    std::uint32_t const correlation = s.made.launches.back().correlation + 1;
    s.made.launches.push_back({now, now + 10, correlation, at, no_step, 0, api_kind::launch, 0});
    strata::kernel_record kernel = s.made.kernels.back();
    kernel.node = at;
    kernel.correlation = correlation;
    kernel.begin = now + 20;
    kernel.end = now + 500 + i;
    kernel.stream = i % 50;
    s.made.kernels.push_back(kernel);
    s.allocate(correlation, now + 5, 0x5000000000ull + i * 4096ull, 4096).node = at;
    for (std::uint32_t each = 0; each < counters; ++each)
      s.made.add_counters(counter_set::gpu).values.push_back({at, each, 1e9 / 3 + i});
    now += 2000 + i;
  }
  s.made.end = now;
  return s;
}

counter_set& add_cpu_counters(profile& to) {
  counter_set& set = to.add_counters(counter_set::cpu);
  set.metrics =
      detail::metric_resolver(
          metric_source::perf, [](void*, std::string const&) { return std::string(); }, nullptr)
          .run({"cpu_instructions", "cpu_page_faults"});
  set.names = set.metrics.counters();
  return set;
}

/// Threads of one name, CPU counters and no GPU; the program has steps, and none was recorded.
sample::maker threads_of_one_name() {
  sample::maker s;
  s.made.has_steps = true;
  s.made.environment.command = "./toy";
  s.made.environment.cpu = "AMD EPYC 9654 96-Core Processor";
  s.made.threads = {{0, 1830, "toy"}, {1, 1831, "toy"}, {2, 0, "loader"}, {3, 1833, ""}};
  counter_set& set = add_cpu_counters(s.made);
  std::uint32_t const work = s.node(0, "work"), part = s.node(work, "part");
  for (std::uint32_t thread = 0; thread < 4; ++thread) {
    s.call(part, 20000 + thread, 60000, thread);
    s.call(work, 10000, 90000 + thread, thread);
    for (std::uint32_t i = 0; i < set.names.size(); ++i) set.values.push_back({part, i, 5000.0});
  }
  for (strata::range_record& range : s.made.ranges) range.step = no_step;
  s.made.end = 100000;
  return s;
}

nlohmann::json parsed(sample::maker const& s) {
  return nlohmann::json::parse(page_tables(s.made).data());
}

/// The numbers of a text of the timeline: digits of five bits, the lowest first.
std::vector<std::int64_t> unpacked(nlohmann::json const& text) {
  std::string const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-";
  std::vector<std::int64_t> numbers;
  std::int64_t number = 0;
  int shift = 0;
  for (char const letter : text.get<std::string>()) {
    std::size_t const digit = digits.find(letter);
    REQUIRE(digit < 64);
    number |= static_cast<std::int64_t>(digit & 31) << shift;
    shift += 5;
    if (digit >= 32) continue;
    numbers.push_back(number);
    number = shift = 0;
  }
  CHECK(shift == 0);
  return numbers;
}

}  // namespace

TEST_CASE("report.html has the data as they were") {
  report_test::report_sample const s = report_test::gpu_sample();
  std::string const text =
      report_test::text_of([&](detail::text_writer& out) { write_page_data(out, s.input()); });
  CHECK(text == report_test::golden("page_gpu.json", text));
}

TEST_CASE("report.html is one file that asks for nothing else") {
  std::string const page = page_tables(gpt2_sample().made).page();
  CHECK(page.find("default-src 'none'") != page.npos);
  CHECK(occurrences(page, "http") - occurrences(page, "http-equiv") -
            occurrences(page, "http://www.w3.org/2000/svg") ==
        0);
  CHECK(occurrences(page, "src=") + occurrences(page, "@import") + occurrences(page, "url(") == 0);
  CHECK(page.size() - data_of(page).size() < 300 * 1024);
  CHECK(nlohmann::json::parse(data_of(page)) == parsed(gpt2_sample()));
}

TEST_CASE("report.html gives the same bytes for the same profile") {
  CHECK(page_tables(gpt2_sample().made).page() == page_tables(gpt2_sample().made).page());
}

TEST_CASE("a name of a range, kernel or device is text on the page, whatever it says") {
  gpt2_sample const good(2, 3);
  gpt2_sample const bad = with_hostile_names();
  std::string const page = page_tables(bad.made).page();
  CHECK(occurrences(page, "</script>") == occurrences(page_tables(good.made).page(), "</script>"));
  CHECK(page.find("<img") == page.npos);
  nlohmann::json const data = nlohmann::json::parse(data_of(page));
  CHECK(data["environment"]["host"] == hostile);
  CHECK(data["problems"][0] == hostile);
  bool found = false;
  for (auto const& row : data["views"][0]["rows"])
    found = found || cell(data, row, "name").get<std::string>().find("</script>") == 0;
  CHECK(found);
}

TEST_CASE("the mean step, findings and roofs are on the page") {
  nlohmann::json const data = parsed(gpt2_sample());
  nlohmann::json const& answer = data["answer"];
  CHECK(answer["step"]["from_steps"] == true);
  CHECK(answer["step"]["count"] == 5);
  CHECK(answer["limits"].size() > 0);
  for (auto const& limit : answer["limits"]) {
    CHECK(limit["range"] < data["views"][0]["rows"].size());
    std::string const words = limit["limiter"];
    std::string const kind = limit["kind"];
    std::string const begin = kind == "unit" ? limit["unit"].get<std::string>() + ' ' : kind;
    CHECK(words.substr(0, begin.size()) == begin);
    CHECK(limit.contains("stall") == (words.find("latency: ") == 0));
  }
  CHECK(answer["roofs"].size() >= 4);
  for (auto const& point : answer["points"]) {
    CHECK(point["range"] < data["views"][0]["rows"].size());
    CHECK(
        point["flop_per_byte"].get<double>() ==
        doctest::Approx(point["flops"].get<double>() / point["bytes"].get<double>()).epsilon(1e-4));
  }
}

TEST_CASE("without script the page has the answer, its findings and ranges in words") {
  page_tables const tables(gpt2_sample().made);
  report_input const input = tables.input();
  std::string const page = tables.page();
  std::size_t const begin = page.find("<noscript>");
  std::string const plain = page.substr(begin, page.find("</noscript>") - begin);
  REQUIRE(!input.findings.bound.empty());
  CHECK(plain.find(input.findings.bound) != plain.npos);
  CHECK(plain.find("; GPU busy for " + detail::time_text(input.steps.gpu_busy_ns)) != plain.npos);
  REQUIRE(!input.findings.findings.empty());
  CHECK(plain.find(input.findings.findings[0].title) != plain.npos);
  CHECK(plain.find("<td>" + input.folded[1].path + "</td>") != plain.npos);
  CHECK(plain.find("<th>GPU busy</th><th>Host total</th><th>Limiter</th>") != plain.npos);
  for (range_limit const& limit : input.roofline.limits) {
    if (limit.kind != limiter::unit) continue;
    CHECK(plain.find("<td>" + limit.text + " of its peak</td>") != plain.npos);
  }
  CHECK(page.find("<button id=\"theme\" type=\"button\" hidden>") !=
        page.npos);  // it has no script
  std::string const bad = page_tables(with_hostile_names().made).page();
  std::size_t const from = bad.find("<noscript>");
  std::string const escaped = bad.substr(from, bad.find("</noscript>") - from);
  CHECK(escaped.find("&lt;/script&gt;") != escaped.npos);
  CHECK(escaped.find("<script") == escaped.npos);
}

TEST_CASE("the budget of steps that recording slows is of a step without it") {
  page_tables const recorded(slowed_by_recording(0.0));
  page_tables const slowed(slowed_by_recording(0.75));
  auto const parts = [](page_tables const& tables, char const* key) {
    nlohmann::json const list = nlohmann::json::parse(tables.data())["budget"][key];
    double sum = 0.0;
    for (std::size_t i = 2; i < list.size(); i += 4) sum += list[i].get<double>();
    return sum;
  };
  CHECK(parts(slowed, "busy") == doctest::Approx(parts(recorded, "busy")).epsilon(1e-3));
  CHECK(parts(slowed, "idle") == doctest::Approx(0.25 * parts(recorded, "idle")).epsilon(5e-3));
  CHECK(slowed.page().find(" (recorded: ") != std::string::npos);  // without script
}

TEST_CASE("each step has its length on the page; of many, neighbours share a line") {
  sample::maker s;
  s.made.has_steps = true;
  for (std::uint32_t step = 0; step < 1000; ++step)
    s.made.steps.push_back({step * 1000, step * 1000 + 100 + step, step, 0});
  nlohmann::json const many = parsed(s)["steps"];
  REQUIRE(many.size() % 4 == 0);
  CHECK(many.size() / 4 <= 300);
  std::size_t counted = 0;
  for (std::size_t i = 0; i < many.size(); i += 4) {
    CHECK(many[i] == counted);
    CHECK(many[i + 2] == 100 + counted);
    counted += many[i + 1].get<std::size_t>();
    CHECK(many[i + 3] == 99 + counted);
  }
  CHECK(counted == 1000);
  s.made.steps.resize(3);
  CHECK(parsed(s)["steps"].dump() == "[0,1,100,100,1,1,101,101,2,1,102,102]");
}

TEST_CASE("kernels that were counted one by one have operations and bytes of their launches") {
  nlohmann::json const data = parsed(page_test::with_counted_kernels());
  std::size_t counted = 0;
  std::size_t others = 0;
  for (auto const& cells : data["kernels"]["rows"]) {
    auto const value = [&](char const* key) { return kernel_number(data, cells, key); };
    auto const& names = data["kernel_columns"];
    std::string const name = cells[std::find(names.begin(), names.end(), "name") - names.begin()];
    if (name == "layernorm_kernel") {
      ++others;
      CHECK(value("counted_ns") == 0);
      CHECK(std::isnan(value("counted_hbm_bytes")));
    } else if (name == "scores_kernel") {
      ++counted;
      CHECK(value("counted_ns") == doctest::Approx(4 * (5200 + 2 * 7)).epsilon(1e-4));
      CHECK(value("counted_flops") == doctest::Approx(4 * 6.3e6).epsilon(1e-4));
      CHECK(value("counted_hbm_bytes") == doctest::Approx(4 * 1.9 * (1 << 20)).epsilon(1e-4));
      CHECK(value("counted_l1_bytes") == doctest::Approx(4 * 14.0 * (1 << 20)).epsilon(1e-4));
    }
  }
  CHECK(counted > 0);
  CHECK(others > 0);
  nlohmann::json const without = parsed(gpt2_sample());
  auto const& columns = without["kernel_columns"];
  CHECK(std::find(columns.begin(), columns.end(), "counted_ns") == columns.end());
  CHECK_FALSE(without["kernel_same"].contains("counted_ns"));
}

TEST_CASE("columns and metrics have the console's names, and what they mean") {
  nlohmann::json const data = parsed(page_test::with_counted_kernels());
  auto const& about = data["about_columns"];
  for (auto const& each : detail::range_columns.from("calls")) {
    CAPTURE(each.key);
    detail::column_meaning const& known = *detail::meaning_of(detail::range_meanings, each.key);
    CHECK(about[each.key]["help"] == known.meaning);
    CHECK(about[each.key]["unit"] == known.unit);
  }
  CHECK(about["gpu_busy_ns"]["label"] == "GPU busy");
  CHECK_FALSE(about["gpu_copy_ns"].contains("label"));  // the console does not show it
  CHECK(about["use"]["help"] == "the highest use of a unit, of its peak");
  CHECK(about["bytes_per_second"]["label"] == "GB/s");
  std::size_t known = 0;
  for (auto const& metric : data["views"][0]["metrics"])
    if (metric["key"] == "hbm_bytes") known += metric["label"] == "HBM" ? 1 : 0;
  CHECK(known == 1);
}

TEST_CASE("the timeline has the median, slowest and first step, and some of the others") {
  auto const steps_of = [](std::uint32_t steps) {
    std::vector<std::pair<int, std::string>> shown;
    nlohmann::json const data = parsed(gpt2_sample(2, steps));
    for (auto const& each : data["timeline"]["windows"])
      shown.emplace_back(each["step"].get<int>(), each["what"].get<std::string>());
    return shown;
  };
  auto const few = steps_of(4);
  CHECK(few.size() == 4);
  auto const many = steps_of(20);
  REQUIRE(many.size() == 15);
  CHECK(many[0].second == "median");
  for (std::size_t i = 3; i < many.size(); ++i) {
    CHECK(many[i].second.empty());
    if (i > 3) CHECK(many[i].first > many[i - 1].first);
    for (std::size_t before = 0; before < i; ++before) CHECK(many[before].first != many[i].first);
  }
}

TEST_CASE("no gap is left out of the timeline: short ones are joined where they are many") {
  sample::maker s;
  s.made.traced = true;
  std::uint32_t const work = s.node(0, "work");
  s.call(work, 0, 8'000'000);
  std::int64_t idle = 20;
  for (std::uint32_t i = 0; i < 7001; ++i) {
    std::int64_t const at = 1000 * i;
    std::int64_t const next = i == 7000 ? 8'000'000 : at + 1020;
    std::int64_t const gap = i % 7 == 0 ? 150 : 520;
    std::int64_t const end = i == 7000 ? at + 500 : next - gap;
    idle += next - end;
    s.kernel(s.launch(work, at, at + 10), at + 20, end);
  }
  s.made.end = 8'000'000;
  nlohmann::json const window = parsed(s)["timeline"]["windows"][0];
  nlohmann::json const& gaps = window["gaps"];
  nlohmann::json const& joined = window["joined"];
  CHECK(gaps.size() <= 3 * 6002);
  std::vector<std::int64_t> counts(gaps.size() / 3, 1);
  std::vector<std::int64_t> lengths;
  for (std::size_t i = 0; i < gaps.size(); i += 3) lengths.push_back(gaps[i + 1]);
  for (std::size_t i = 0; i < joined.size(); i += 4) {
    counts[joined[i]] = joined[i + 1];
    CHECK(joined[i + 2] <= lengths[joined[i]]);  // idle time within the bar
    CHECK(joined[i + 3] <= joined[i + 2]);       // the longest of them
    lengths[joined[i]] = joined[i + 2];
  }
  CHECK(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}) == 7002);
  CHECK(std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0}) == idle);
}

TEST_CASE("the uses of a device are below the timeline of a step") {
  nlohmann::json const timeline = parsed(gpt2_sample(2, 3))["timeline"];
  for (nlohmann::json const& window : timeline["windows"]) {
    REQUIRE(window["uses"].size() == 2);  // of tensor cores it has none
    CHECK(window["uses"][0]["name"] == "HBM use, means");
    CHECK(window["uses"][1]["name"] == "GPU busy");
    std::int64_t busy = 0;
    std::int64_t idle = 0;
    nlohmann::json const& pieces = window["uses"][1]["pieces"];
    for (std::size_t i = 0; i < pieces.size(); i += 3)
      busy += pieces[i + 1].get<std::int64_t>() * pieces[i + 2].get<std::int64_t>() / 1000;
    for (std::size_t i = 0; i < window["gaps"].size(); i += 3)
      idle += window["gaps"][i + 1].get<std::int64_t>();
    CHECK(window["joined"].empty());
    CHECK(busy + idle == window["length_ns"].get<std::int64_t>());
  }
  CHECK(parsed(threads_of_one_name())["timeline"]["windows"][0]["uses"].empty());
}

TEST_CASE("the timeline has each gap of the device with its cause, and the call of each kernel") {
  sample::maker s;
  s.made.traced = true;
  std::uint32_t const work = s.node(0, "work");
  s.call(work, 0, 400'000);
  for (std::uint32_t i = 0; i < 3; ++i) {
    std::int64_t const at = 10'000 + i * 100'000;
    s.kernel(s.launch(work, at, at + 5'000), at + 8'000, at + 20'000);
  }
  s.made.end = 400'000;
  nlohmann::json const shown = parsed(s)["timeline"]["windows"][0];
  nlohmann::json const& gaps = shown["gaps"];
  REQUIRE(gaps.size() == 4 * 3);  // before, between, behind
  CHECK(gaps[0] == 0);
  CHECK(gaps[1] == 18'000);
  CHECK(gaps[3] == 30'000);
  CHECK(gaps[4] == 88'000);
  CHECK(gaps[5] == static_cast<int>(idle_cause::host_work));
  CHECK(gaps[6].get<int>() + gaps[3].get<int>() == 130'000);
  CHECK(gaps[10] == 170'000);
  for (auto const& track : shown["tracks"]) {
    if (track["kind"] != "device") {
      CHECK(!track.contains("launched"));
      continue;
    }
    CHECK(unpacked(track["launched"]) == std::vector<std::int64_t>(3, 2 * 8000));
  }
}

TEST_CASE("the page begins with the order that was asked for") {
  gpt2_sample const s(1, 2);
  page_tables const tables(s.made);
  report_input input = tables.input();
  for (auto const& [order, name] :
       {std::pair(row_order::cost, "cost"), std::pair(row_order::execution, "order"),
        std::pair(row_order::name, "name")}) {
    input.sort = order;
    std::string const text =
        report_test::text_of([&](detail::text_writer& out) { write_page_data(out, input); });
    CHECK(nlohmann::json::parse(text)["sort"] == name);
    CHECK(nlohmann::json::parse(text)["trace_file"] == "");
  }
}

TEST_CASE("a page of many ranges is bounded and says what it folds") {
  sample::maker const sample = many_ranges(many);
  page_tables const tables(sample.made);
  std::string const page = tables.page();
  CHECK(page.size() < 2'000'000);
  nlohmann::json const data = nlohmann::json::parse(data_of(page));
  for (auto const& view : data["views"]) {
    auto const& rows = view["rows"];
    std::size_t hidden = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      CHECK(rows[i].size() == data["columns"].size());
      hidden += cell(data, rows[i], "hidden").get<std::size_t>();
      if (i > 0) CHECK(cell(data, rows[i], "parent") < i);
    }
    CHECK(rows.size() <= page_limits().ranges);
    CHECK(rows.size() + hidden == view["total"]);
  }
  CHECK(data["kernels"]["rows"].size() <= page_limits().kernels);
  CHECK(data["kernels"]["total"] == tables.kernels.size());
  CHECK(data["memory"]["totals"].size() + data["memory"]["left_out"].get<std::size_t>() > 1000);
}

TEST_CASE("the ranges on the page have the columns of ranges.csv") {
  report_test::report_sample const s = report_test::gpu_sample();
  report_input const input = s.input();
  nlohmann::json const data = nlohmann::json::parse(
      report_test::text_of([&](detail::text_writer& out) { write_page_data(out, input); }));
  nlohmann::json const whole = nlohmann::json::parse(
      report_test::text_of([&](detail::text_writer& out) { write_json(out, input); }));
  auto const& rows = data["views"].back()["rows"];  // each index by itself
  REQUIRE(rows.size() == whole["ranges"].size());
  for (auto const& range : whole["ranges"]) {
    bool found = false;
    for (auto const& row : rows) {
      if (cell(data, row, "path_id") != range["path_id"]) continue;
      found = true;
      for (auto const& item : range.items()) {
        std::string const& key = item.key();
        nlohmann::json const& value = item.value();
        if (key == "rank" || key == "path" || key == "parent_path_id" || key == "depth") continue;
        nlohmann::json const shown = cell(data, row, key.c_str());
        CAPTURE(key);
        bool const rounded = value.is_number_float() || key == "host_mean_ns";  // to six digits
        if (value.is_number() && rounded) {
          CHECK(shown.get<double>() == doctest::Approx(value.get<double>()).epsilon(1e-5));
        } else {
          CHECK(shown == value);
        }
      }
    }
    CHECK(found);
  }
}

TEST_CASE("a column that is the same in all rows is on the page once") {
  nlohmann::json const data = parsed(gpt2_sample());
  auto const& columns = data["columns"];
  CHECK(columns.size() + data["same"].size() > 50);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    CAPTURE(columns[i]);
    CHECK_FALSE(data["same"].contains(columns[i].get<std::string>()));
    bool differs = false;
    for (auto const& view : data["views"])
      for (auto const& row : view["rows"])
        differs = differs || row[i] != data["views"][0]["rows"][0][i];
    CHECK(differs);
  }
}

TEST_CASE("the first step has 100,000 records one by one, with their calls, within 2 MB") {
  sample::maker s;
  s.made.traced = true;
  std::uint32_t const work = s.node(0, "work");
  s.call(work, 0, 60'000'000);
  for (std::uint32_t i = 0; i < 50'000; ++i)
    s.kernel(s.launch(work, 1000 * i, 1000 * i + 300), 1000 * i + 4000, 1000 * i + 4700 + i % 200);
  s.made.end = 60'000'000;
  std::string const page = page_tables(s.made).page();
  nlohmann::json const window = parsed(s)["timeline"]["windows"][0];
  std::size_t records = 0;
  for (auto const& track : window["tracks"]) {
    std::vector<std::int64_t> const bars = unpacked(track["bars"]);
    CHECK(track["joined"] == "");
    CHECK(bars.size() == 3 * track["count"].get<std::size_t>());
    records += bars.size() / 3;
    if (track["kind"] != "device") continue;
    std::vector<std::int64_t> const launched = unpacked(track["launched"]);
    REQUIRE(launched.size() == 50'000);
    CHECK(bars[0] == 4000);
    CHECK(bars[3 * 7] == 1000);
    CHECK(bars[3 * 7 + 1] == 707);
    CHECK(launched[7] == 2 * 4000);
  }
  CHECK(records == 100'001);
  CHECK(page.size() < 2'000'000);
}

TEST_CASE("the timeline of a step has every record, joined where they are too many") {
  gpt2_sample s;
  std::int64_t const begin = s.made.steps[2].begin;
  std::size_t const many = 130'000;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(many); ++i) {
    strata::kernel_record kernel = s.made.kernels.back();
    kernel.begin = begin + i * 20;
    kernel.end = kernel.begin + 10;
    kernel.stream = 9;
    s.made.kernels.push_back(kernel);
  }
  nlohmann::json const data = parsed(s);
  bool found = false;
  std::size_t bars = 0;
  for (auto const& window : data["timeline"]["windows"]) {
    for (auto const& track : window["tracks"]) {
      std::vector<std::int64_t> const drawn = unpacked(track["bars"]);
      std::vector<std::int64_t> const joined = unpacked(track["joined"]);
      std::size_t const shown = drawn.size() / 3;
      std::size_t count = shown;
      for (std::size_t i = 0; i < joined.size(); i += 3) {
        auto const place = static_cast<std::size_t>(joined[i]);
        REQUIRE(place < shown);
        count += static_cast<std::size_t>(joined[i + 1]) - 1;
        // Each runs for 10 ns: the gaps within a joined bar are not busy.
        CHECK(joined[i + 2] <= drawn[3 * place + 1]);
        if (track["name"] == "GPU 0, stream 9")
          CHECK(static_cast<double>(joined[i + 2]) ==
                doctest::Approx(10.0 * static_cast<double>(joined[i + 1])).epsilon(0.05));
      }
      CHECK(count == track["count"]);
      bars += shown;
      found = found || (track["name"] == "GPU 0, stream 9" && track["count"] == many);
      if (track["name"] != "GPU 0, stream 9") CHECK(joined.empty());
    }
    bars -= 2 * window["tracks"].size();
  }
  CHECK(bars <= page_limits().first_slices + page_limits().slices);
  CHECK(found);
}

TEST_CASE("the timeline of few records has each by itself") {
  gpt2_sample const s(2, 3);
  nlohmann::json const data = parsed(s);
  for (auto const& window : data["timeline"]["windows"])
    for (auto const& track : window["tracks"]) {
      CHECK(track["joined"] == "");
      CHECK(unpacked(track["bars"]).size() == 3 * track["count"].get<std::size_t>());
    }
}

TEST_CASE("the timeline tells threads of one name apart, as the trace does") {
  nlohmann::json const data = parsed(threads_of_one_name());
  std::vector<std::string> names;
  std::vector<int> threads;
  for (auto const& track : data["timeline"]["windows"][0]["tracks"]) {
    names.push_back(track["name"]);
    threads.push_back(track["thread"]);
  }
  CHECK(names == std::vector<std::string>{"toy (1830)", "toy (1830)", "toy (1831)", "toy (1831)",
                                          "loader", "loader", "thread 3 (1833)",
                                          "thread 3 (1833)"});
  CHECK(threads == std::vector<int>{0, 0, 1, 1, 2, 2, 3, 3});
  CHECK(data["has_steps"] == true);
  CHECK(data["answer"]["step"]["from_steps"] == false);
}

TEST_CASE("memory over time adds up to what is in use") {
  gpt2_sample const s;
  page_tables const tables(s.made);
  nlohmann::json const data = nlohmann::json::parse(tables.data());
  auto const& points = data["memory"]["by_range"]["points"];
  std::int64_t most = 0;
  for (auto const& point : points) {
    std::int64_t sum = 0;
    for (std::size_t i = 1; i < point.size(); ++i) sum += point[i].get<std::int64_t>();
    most = sum > most ? sum : most;
  }
  CHECK(most == tables.memory.peak_bytes);
  CHECK(data["memory"]["by_purpose"]["series"] == nlohmann::json{"weights", "other"});
  CHECK(data["memory"]["by_purpose"]["points"].size() == points.size());
  CHECK(data["memory"]["purposes"][0][0] == "weights");
  CHECK(data["memory"]["purposes"][0][5] == 12ll * (28 << 20));
  CHECK(data["memory"]["steps"] == 5);
  CHECK(data["memory"]["totals"][0][4] == 12);  // weights: not released at the end
  CHECK(data["memory"]["totals"][1][6] == 48);  // of attention, a block and step but the first
}

TEST_CASE("a slow first step is in no purpose's and in no kernel's mean step") {
  sample::maker m;
  sample::fill_cache_first(m, [&](std::uint32_t step, std::uint32_t cache, std::int64_t begin) {
    for (int i = 0; i < (step == 0 ? 9 : 2); ++i) {
      std::uint32_t const launch = m.launch(cache, begin + 30 + i, begin + 31 + i);
      m.made.launches.back().step = step;
      m.kernel(launch, begin + 1000 * (i + 1), begin + 1000 * (i + 1) + (step == 0 ? 900 : 100));
    }
  });
  nlohmann::json const data = nlohmann::json::parse(page_tables(m.made).data());
  REQUIRE(data["answer"]["step"]["without_first"] == true);
  CHECK(data["memory"]["mean_steps"] == 4);
  auto const& purposes = data["memory"]["purposes"];
  CHECK(purposes[0][0] == "kv cache");
  CHECK(purposes[0][1] == 2 << 20);
  CHECK(purposes[0][2] == 2 << 20);
  CHECK(purposes[0][3] == 64 << 20);  // live
  CHECK(data["memory"]["totals"][0][6] == 4);
  CHECK(data["memory"]["totals"][0][7] == 4 * (2 << 20));
  CHECK(data["kernel_same"]["step_launches"] == doctest::Approx(2));
  CHECK(data["kernel_same"]["step_ns"] == doctest::Approx(200));
}

TEST_CASE("memory of a step is of the steps with records, as on the console") {
  gpt2_sample s;
  for (int i = 0; i < 95; ++i) s.made.summed_steps.add(5'000'000);
  nlohmann::json const data = parsed(s);
  CHECK(data["answer"]["step"]["count"] == 100);
  CHECK(data["memory"]["steps"] == 5);
}

TEST_CASE("a profile with nothing in it makes a page") {
  profile const empty;
  std::string const page = page_tables(empty).page();
  CHECK(nlohmann::json::parse(data_of(page))["answer"]["step"]["from_steps"] == false);
}

TEST_CASE("pages for the test in a browser") {  // tests/script/check_page.py
  char const* const folder = std::getenv("STRATA_TEST_PAGES");
  if (folder == nullptr) return;
  auto const write = [&](char const* name, std::string const& page) {
    std::FILE* const file = std::fopen((std::string(folder) + "/" + name).c_str(), "wb");
    REQUIRE(file != nullptr);
    CHECK(std::fwrite(page.data(), 1, page.size(), file) == page.size());
    std::fclose(file);
  };
  write("gpt2.html", page_tables(page_test::with_counted_kernels().made).page());
  write("gpt2.strata", report_test::recording_of(page_test::with_counted_kernels().made));
  write("hostile.html", page_tables(with_hostile_names().made).page());
  gpt2_sample marked = with_hostile_names();  // for strata explain: marks take no column
  for (int i = 0; i < 20'000; ++i) marked.made.environment.command += "\u0301";
  write("hostile.strata", report_test::recording_of(marked.made));
  write("huge.html", page_tables(many_ranges(test::sanitized ? many : 10'000).made).page());
  {
    gpt2_sample s(2, 3);
    counter_set& cpu = add_cpu_counters(s.made);
    for (std::uint32_t node = 1; node < s.made.nodes.size(); ++node)
      for (std::uint32_t i = 0; i < cpu.names.size(); ++i) cpu.values.push_back({node, i, 3.0});
    s.made.environment.options =
        "trace,formats=table+csv+json+trace+html,out=/scratch/profiles/of/a/program/run-1,"
        "counters=memory+roofline+flops+instructions,sort=name,skip=10,warmup=1,active=5";
    page_tables const tables(s.made);
    report_input input = tables.input();
    input.sort = row_order::name;
    input.trace_file = "trace.json";
    std::string named;
    {
      detail::text_writer out(named);
      write_html(out, input);
    }
    write("named.html", named);
  }
  write("slowed.html", page_tables(slowed_by_recording(0.75)).page());
  write("threads.html", page_tables(threads_of_one_name().made).page());
  write("collectives.html", page_tables(page_test::with_collectives()).page());
  write("empty.html", page_tables(profile()).page());
  std::string host;
  {
    report_test::report_sample const s = report_test::cpu_sample();
    detail::text_writer out(host);
    write_html(out, s.input());
  }
  write("host.html", host);
}

}  // namespace html_test
