#include <strata/compare.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

using strata::comparison;
using strata::comparison_verdict;
using strata::profile_file;
using strata::detail::json_document;
using strata::detail::json_kind;

namespace {

std::string golden(char const* name) {
  std::ifstream file(std::string(STRATA_TEST_DIR) + "/unit/golden/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct range {
  std::string path;
  double mean_ns, stddev_ns;
  int calls;
};

/// A profile with these steps and ranges, and a device of that name.
std::string profile_text(std::vector<double> const& steps_ms, std::vector<range> const& ranges,
                         std::string const& device = "GPU") {
  std::string text =
      R"({"schema":{"name":"strata.profile","version":1},"environment":{"command":"x"},)"
      R"("devices":[{"name":")" +
      device + R"(","clock_khz":1000}],"traced":false,"steps":[)";
  double at = 0;
  for (double const each : steps_ms) {
    text += (at > 0 ? "," : "") + std::string("{\"begin_ns\":") + std::to_string(at) +
            ",\"end_ns\":" + std::to_string(at + each * 1e6) + "}";
    at += each * 1e6 + 1;
  }
  text += "],\"ranges\":[{\"path\":\"\",\"calls\":0}";
  for (range const& each : ranges)
    text += ",{\"path\":\"" + each.path + "\",\"calls\":" + std::to_string(each.calls) +
            ",\"host_total_ns\":" + std::to_string(each.mean_ns * each.calls) +
            ",\"host_mean_ns\":" + std::to_string(each.mean_ns) +
            ",\"host_stddev_ns\":" + std::to_string(each.stddev_ns) + "}";
  return text + "]}";
}

comparison compared(std::string const& before, std::string const& after, double limit = 0.05) {
  profile_file a, b;
  CHECK(a.read(before) == "");
  CHECK(b.read(after) == "");
  return strata::compare(a, b, limit);
}

/// Steps of one run: 100 ranges of 0.1 ms with 2 % noise, one of them slower by that factor.
struct made_run {
  std::vector<double> steps;
  std::vector<range> ranges;
  std::string text() const { return profile_text(steps, ranges); }
};
made_run run(std::mt19937& random, std::size_t steps, double factor, double noise = 0.02) {
  std::normal_distribution<double> normal(1, noise);
  made_run made;
  made.steps.assign(steps, 0);
  for (int r = 0; r < 100; ++r) {
    std::vector<double> times;
    double sum = 0, squares = 0;
    for (std::size_t s = 0; s < steps; ++s) {
      double const ns = 1e5 * normal(random) * (r == 42 ? factor : 1);
      made.steps[s] += ns / 1e6;
      sum += ns;
      squares += ns * ns;
    }
    double const n = static_cast<double>(steps), mean = sum / n;
    made.ranges.push_back({"r" + std::to_string(r), mean, std::sqrt(squares / n - mean * mean),
                           static_cast<int>(steps)});
  }
  return made;
}

}  // namespace

TEST_CASE("JSON is read as it is written") {
  json_document json;
  REQUIRE(json.read(
      R"( {"a": [1, -2.5e3, true, null], "b\n": "x\"\\\/\u00e9\u20ac\ud83d\ude00", "c": {}} )"));
  auto const root = json.root();
  auto const list = json.find(root, "a");
  CHECK(json.kind(list) == json_kind::array);
  auto at = json.first(list);
  CHECK(json.number(at) == 1);
  CHECK(json.number(at = json.next(at)) == -2500);
  CHECK(json.is_true(at = json.next(at)));
  CHECK(json.kind(at = json.next(at)) == json_kind::null);
  CHECK(json.next(at) == 0);
  CHECK(json.text(json.find(root, "b\n")) == "x\"\\/\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
  CHECK(json.first(json.find(root, "c")) == 0);
  CHECK(json.find(root, "d") == 0);
  CHECK(json.number(json.find(root, "d"), 7) == 7);
  CHECK(json.number(json.find(root, "b\n"), 7) == 7);
  REQUIRE(json.read("1e999"));
  CHECK(json.number(json.root(), 7) == 7);
}

TEST_CASE("what is no JSON is refused with its line") {
  for (char const* text : {"",
                           " ",
                           "{",
                           "[",
                           "[1,]",
                           "{\"a\":1,}",
                           "{a:1}",
                           "{\"a\" 1}",
                           "[1 2]",
                           "01",
                           "-",
                           "1.",
                           "1e",
                           "+1",
                           ".5",
                           "nul",
                           "truex",
                           "\"",
                           "\"\\x\"",
                           "\"\\u12\"",
                           "\"\\ud800\"",
                           "\"\\udc00\"",
                           "\"\\ud800\\u0041\"",
                           "\"\n\"",
                           "[1] 2",
                           "//",
                           "'a'",
                           "NaN",
                           "\"\\u+123\""}) {
    CAPTURE(std::string(text));
    json_document json;
    CHECK_FALSE(json.read(text));
    CHECK(json.error().substr(0, 5) == "line ");
  }
  json_document json;
  CHECK_FALSE(json.read("{\n\"a\": 1,\n}"));
  CHECK(json.error() == "line 3: a name in quotes was expected");
  CHECK_FALSE(json.read(std::string(100000, '[')));
  CHECK(json.error() == "line 1: less nesting was expected");
  CHECK(json.read(std::string(64, '[') + std::string(64, ']')));
}

TEST_CASE("truncated and damaged profiles are refused or read, and do no harm") {
  std::string const whole = golden("profile_gpu.json");
  REQUIRE(whole.size() > 1000);
  profile_file file;
  CHECK(file.read(whole) == "");
  std::size_t const end = whole.find_last_of('}');
  for (std::size_t size = 0; size <= end; size += 37) {
    CHECK(file.read(whole.substr(0, size)) != "");
    CHECK_FALSE(file.readable());
  }
  std::mt19937 random(1);
  int readable = 0;
  for (int i = 0; i < 2000; ++i) {
    std::string damaged = whole;
    for (int n = 0; n < 1 + i % 4; ++n)
      damaged[random() % damaged.size()] = static_cast<char>(random());
    if (i % 3 == 0) damaged.erase(random() % damaged.size(), random() % 50);
    std::string const problem = file.read(damaged);
    CHECK(file.readable() == problem.empty());
    if (!file.readable()) continue;
    ++readable;
    (void)strata::compare(file, file);
  }
  CHECK(readable > 0);
}

TEST_CASE("foreign and newer files are named") {
  profile_file file;
  CHECK(file.read("[]") == "It is no profile of Strata: schema.name is not strata.profile.");
  CHECK(file.read(R"({"schema":{"name":"strata.profile","version":2},"ranges":[]})")
            .find("schema version") != std::string::npos);
  CHECK(file.read(R"({"schema":{"name":"strata.profile","version":1}})") ==
        "It has no ranges: the file is not whole.");
  CHECK(file.read("{") == "It is no JSON: line 1: a name in quotes was expected.");
}

TEST_CASE("a profile beside itself has not changed") {
  profile_file file;
  REQUIRE(file.read(golden("profile_gpu.json")) == "");
  comparison const c = strata::compare(file, file);
  CHECK(c.geometric_mean == doctest::Approx(1));
  CHECK(c.notes.empty());
  CHECK(c.before_steps == 2);
  REQUIRE(!c.ranges.empty());
  for (auto const& each : c.ranges) {
    CHECK(each.change_ms() == 0);
    CHECK_FALSE(each.slower);
    for (auto const& column : each.columns) CHECK((column.before == 0 || column.factor() == 1));
  }
  CHECK(c.ranges[0].gpu);
  CHECK(c.verdict == comparison_verdict::inconclusive);  // two steps are too few
}

TEST_CASE("the chance of Mann and Whitney's U") {
  using strata::detail::chance_of_more;
  // U = 25 of 25: mean 12.5, deviation sqrt(25 x 11 / 12) = 4.787; (12.5 - 0.5) / 4.787 = 2.507.
  CHECK(chance_of_more({1, 2, 3, 4, 5}, {6, 7, 8, 9, 10}) ==
        doctest::Approx(0.00609).epsilon(0.01));
  CHECK(chance_of_more({6, 7, 8, 9, 10}, {1, 2, 3, 4, 5}) > 0.99);
  CHECK(chance_of_more({1, 1, 1}, {1, 1, 1}) == 1);
  // Ties: 1, four of rank 3.5, then 6; the second has 3.5 + 3.5 + 6 = 13, the mean is 10.5.
  CHECK(chance_of_more({1, 2, 2}, {2, 2, 3}) < 0.5);
}

TEST_CASE("a slower range is found, equal runs are not blamed") {
  std::mt19937 random(7);
  int false_alarms = 0, found = 0, named = 0, blamed = 0;
  int const runs = 300;
  for (int i = 0; i < runs; ++i) {
    std::string const before = run(random, 20, 1).text();
    false_alarms += compared(before, run(random, 20, 1).text(), 0.02).verdict !=
                    comparison_verdict::no_regression;
    comparison const c = compared(before, run(random, 20, 1.10).text(), 0.05);
    found += c.verdict == comparison_verdict::regression;
    named += c.ranges[0].path == "r42";
    for (auto const& each : c.ranges) blamed += each.slower && each.path != "r42";
  }
  CHECK(false_alarms <= runs / 100);
  CHECK(found >= runs * 95 / 100);
  CHECK(named == runs);
  CHECK(blamed <= runs / 100);
}

TEST_CASE("what cannot be told is inconclusive") {
  std::vector<double> const ten = {1, 1.1, 0.9, 1, 1.05, 0.95, 1, 1.02, 0.98, 1};
  std::vector<range> const ranges = {{"a", 1e6, 1e4, 10}};
  auto const verdict = [](comparison const& c) { return c.verdict; };
  std::string const base = profile_text(ten, ranges);
  CHECK(verdict(compared(base, base)) == comparison_verdict::no_regression);
  comparison const few = compared(base, profile_text({1, 1}, ranges));
  CHECK(few.verdict == comparison_verdict::inconclusive);
  CHECK(few.reason.find("less than 5 steps") != std::string::npos);
  comparison const other = compared(base, profile_text(ten, ranges, "other GPU"));
  CHECK(other.verdict == comparison_verdict::inconclusive);
  CHECK(other.reason.find("devices or their clocks differ") != std::string::npos);
  comparison const drift =
      compared(base, profile_text({1, 1, 1, 1, 1, 1.3, 1.3, 1.3, 1.3, 1.3}, ranges));
  CHECK(drift.verdict == comparison_verdict::inconclusive);
  CHECK(drift.reason.find("halves of a run differ") != std::string::npos);
  comparison const noise = compared(base, profile_text({0.6, 1.1, 3, 0.5, 2.9, 1.1}, ranges));
  CHECK(noise.verdict == comparison_verdict::inconclusive);
  CHECK(noise.reason.find("within the noise") != std::string::npos);
  std::vector<double> slow = ten;
  for (double& each : slow) each *= 1.3;
  CHECK(verdict(compared(base, profile_text(slow, ranges))) == comparison_verdict::regression);
  CHECK(verdict(compared(base, profile_text(slow, ranges), 0.5)) ==
        comparison_verdict::no_regression);
}

TEST_CASE("ranges that only one run has are counted") {
  std::vector<double> const steps = {1, 1, 1, 1, 1};
  comparison const c = compared(profile_text(steps, {{"a", 1e6, 0, 5}, {"b", 1e6, 0, 5}}),
                                profile_text(steps, {{"c", 1e6, 0, 5}, {"a", 1e6, 0, 5}}));
  CHECK(c.only_before.size() == 1);
  CHECK(c.only_before[0] == "b");
  CHECK(c.only_after[0] == "c");
  CHECK(c.ranges.size() == 1);
  CHECK(c.notes[0] == "1 ranges are only in the first, 1 only in the second profile.");
}

TEST_CASE("indices are folded into sums, and each is found by itself") {
  std::vector<double> const steps = {1, 1, 1, 1, 1};
  comparison const c = compared(profile_text(steps, {{"forward/block[0]", 1e6, 1e3, 5},
                                                     {"forward/block[1]", 2e6, 1e3, 5},
                                                     {"forward/block[1]/mlp", 1e6, 1e3, 5}}),
                                profile_text(steps, {{"forward/block[0]", 1e6, 1e3, 5},
                                                     {"forward/block[1]", 3e6, 1e3, 5},
                                                     {"forward/block[1]/mlp", 1e6, 1e3, 5},
                                                     {"forward/block[2]", 1e6, 1e3, 5}}));
  REQUIRE(c.ranges.size() == 2);
  CHECK(c.ranges[0].path == "forward/block[*]");
  CHECK(c.ranges[0].before_ms == doctest::Approx(3));
  CHECK(c.ranges[0].after_ms == doctest::Approx(5));
  CHECK(c.ranges[0].slower);  // block[1] is
  CHECK(c.ranges[1].path == "forward/block[*]/mlp");
  CHECK_FALSE(c.ranges[1].slower);
  for (auto const& column : c.ranges[0].columns) {
    CHECK(column.name != "host_mean_ns");  // no sum
    if (column.name == "calls") CHECK(column.after == 15);
  }
  REQUIRE(c.find("forward/block[1]") != nullptr);
  CHECK(c.find("forward/block[1]")->after_ms == doctest::Approx(3));
  CHECK(c.find("forward/block[1]")->slower);
  CHECK_FALSE(c.find("forward/block[0]")->slower);
  CHECK(c.find("forward/block[1]")->columns.size() == 4);
  CHECK(c.find("forward/block[*]") == &c.ranges[0]);
  CHECK(c.find("forward/block[2]") == nullptr);
  REQUIRE(c.only_after.size() == 1);
  CHECK(c.only_after[0] == "forward/block[2]");
  CHECK(c.notes[0] == "0 ranges are only in the first, 1 only in the second profile.");
}

TEST_CASE("only an index at the end of a name is folded") {
  using strata::detail::with_folded_indices;
  CHECK(with_folded_indices("block[3]/mlp[12]/x") == "block[*]/mlp[*]/x");
  CHECK(with_folded_indices("block[*]") == "block[*]");
  for (char const* path : {"", "a", "a[]", "a[x]", "a[1]b", "1]", "[", "a[1]]"})
    CHECK(with_folded_indices(path) == path);
}

TEST_CASE("profiles without a common range are inconclusive") {
  std::vector<double> const steps = {1, 1, 1, 1, 1};
  comparison const c = compared(profile_text(steps, {{"a", 1e6, 0, 5}}),
                                profile_text(steps, {{"b", 1e6, 0, 5}}, "other GPU"));
  CHECK(c.verdict == comparison_verdict::inconclusive);
  CHECK(c.reason == "the profiles have no range in common");
  CHECK(c.geometric_mean == 0);
}

TEST_CASE("settings of the output are no difference") {
  auto const with = [](std::string const& settings) {
    std::string text = profile_text({1}, {{"a", 1e6, 0, 5}});
    return text.replace(text.find("\"command\""), 0, "\"configuration\":\"" + settings + "\",");
  };
  CHECK(
      compared(with("trace,out=before"), with("out:after, trace , formats = json")).notes.empty());
  CHECK(compared(with(""), with("out=a")).notes.empty());
  comparison const c = compared(with("trace,out=a"), with("trace,sync=1,out=a"));
  REQUIRE(c.notes.size() == 1);
  CHECK(c.notes[0] == "The STRATA settings differ: trace,out=a and trace,sync=1,out=a.");
}
