#include "analyse/compare.hpp"
#include "report/comparison_files.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

namespace compare_page_test {

using nlohmann::json;
namespace detail = strata::detail;
using strata::compared_range;
using strata::comparison;

namespace {

constexpr char const* hostile_text = "</script><script>document.title='broken'</script>";

/// Two ranges, the first with two columns, and one on one side only.
comparison small() {
  comparison c;
  c.verdict = strata::comparison_verdict::regression;
  c.reason = hostile_text;
  c.notes.push_back(hostile_text);
  c.before_runs = c.after_runs = 1;
  c.before_steps = c.after_steps = 2000;
  c.before_ms = 4;
  c.after_ms = 5;
  c.change = 0.25;
  c.runs.push_back({false, "./x", "trace", "host", "CPU", "GPU;", "now", {}});
  c.runs.push_back({true, hostile_text, "trace", "host", "CPU", "GPU;", "now", {}});
  for (int i = 0; i < 2000; ++i) c.runs[1].steps_ms.push_back(i);
  compared_range range;
  range.path = hostile_text;
  range.verdict = strata::range_verdict::slower;
  range.slower = range.judged_gpu = true;
  range.judged_before_ms = 1;
  range.judged_after_ms = 2;
  range.change = 1;
  range.columns.push_back({"calls", "", 3, 4});
  range.columns.push_back({"hbm_bytes", "B", 5, 6});
  c.ranges.push_back(range);
  range = {};
  range.path = "b";
  range.columns.push_back({"hbm_bytes", "B", 7, 0});
  c.ranges.push_back(range);
  c.only_after.push_back(hostile_text);
  return c;
}

template <class Write>
std::string written(Write const& write, comparison const& c) {
  std::string text;
  {
    detail::text_writer out(text);
    write(out, c, strata::compare_options());
  }
  return text;
}
std::string page_of(comparison const& c) { return written(strata::write_comparison_html, c); }
json json_of(comparison const& c) { return json::parse(written(strata::write_comparison_json, c)); }
std::string data_in(std::string const& page) {
  std::string const begin = "id=\"data\">";
  std::size_t const from = page.find(begin) + begin.size();
  return page.substr(from, page.find("</script>", from) - from);
}

}  // namespace

TEST_CASE("the JSON of a comparison has each column once") {
  json const made = json_of(small());
  CHECK(made["columns"] ==
        json::parse(R"([{"name":"calls","unit":""},{"name":"hbm_bytes","unit":"B"}])"));
  CHECK(made["ranges"][0]["columns_before"] == json::parse("[3,5]"));
  CHECK(made["ranges"][0]["columns_after"] == json::parse("[4,6]"));
  CHECK(made["ranges"][1]["columns_before"] == json::parse("[null,7]"));
  CHECK(made["ranges"][1]["judged_by"].is_null());
  CHECK(made["ranges"][0]["judged_by"] == "gpu");
  CHECK(made["totals"]["only_after"] == 1);
  CHECK(made["runs"][0]["side"] == "before");
  CHECK(made["runs"][1]["steps"] == 2000);
  CHECK(made["runs"][1]["steps_ms"].size() == 500);
  CHECK(made["runs"][1]["steps_ms"][1] == 4);
}

TEST_CASE("the page of a comparison has the data of its JSON, and asks for nothing else") {
  std::string const page = page_of(small());
  CHECK(json::parse(data_in(page)) == json_of(small()));
  CHECK(page.find("default-src 'none'") != page.npos);
  for (char const* const outside : {"src=", "@import", "url("})
    CHECK(page.find(outside) == page.npos);
  CHECK(page.find(hostile_text) == page.npos);
  CHECK(page.size() - data_in(page).size() < 64 * 1024);
  CHECK(page.substr(page.size() - 8) == "</html>\n");
}

TEST_CASE("the page of many ranges is bounded, and has all that are slower") {
  comparison c = small();
  compared_range range = c.ranges[1];
  for (int i = 0; i < 100; ++i)
    range.columns.push_back({"column_" + std::to_string(i), "", 1e9 / 7, 1e9 / 3});
  for (int i = 0; i < 1000; ++i) {
    range.path = "range " + std::to_string(i);
    range.slower = i == 999;
    c.ranges.push_back(range);
    c.indexed.push_back(range);
    c.only_before.push_back(range.path);
  }
  std::string const page = page_of(c);
  CHECK(page.size() < 2000000);
  json const data = json::parse(data_in(page));
  CHECK(data["ranges"].size() == 301);
  CHECK(data["ranges"][300]["path"] == "range 999");
  CHECK(data["totals"]["ranges"] == 1002);
  CHECK(data["only_before"].size() == 300);
  CHECK(json_of(c)["ranges"].size() == 1002);
}

}  // namespace compare_page_test
