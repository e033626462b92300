#include "analyse/compare.hpp"
#include "analyse/change_statistics.hpp"
#include "analyse/range_paths.hpp"
#include "analyse/run_ranges.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../../tools/profile_json.hpp"
#include "../sanitizers.hpp"

namespace compare_test {

using strata::comparison;
using strata::comparison_verdict;
using strata::run_tables;

namespace {

std::string golden(char const* name) {
  std::ifstream file(std::string(STRATA_TEST_DIR) + "/unit/golden/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct range {
  std::string path;
  double mean_ns, stddev_ns;
  int calls;
  std::string more = {};  // members of the row
};

/// A profile with these steps and ranges, and a device of that name.
std::string profile_text(std::vector<double> const& steps_ms, std::vector<range> const& ranges,
                         std::string const& device = "GPU", std::string const& kernels = {},
                         int clock_khz = 1000) {
  std::string text =
      R"({"schema":{"name":"strata.profile","version":1},"environment":{"command":"x"},)"
      R"("devices":[{"name":")" +
      device + R"(","clock_khz":)" + std::to_string(clock_khz) + R"(}],"traced":)" +
      (kernels.empty() ? "false" : "true") + R"(,"steps":[)";
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
            ",\"host_stddev_ns\":" + std::to_string(each.stddev_ns) + each.more + "}";
  return text + "],\"kernels\":[" + kernels + "]}";
}

using all_tables = std::vector<std::unique_ptr<run_tables>>;

comparison compared(std::vector<std::string> const& before, std::vector<std::string> const& after,
                    strata::compare_options const& options = {}) {
  all_tables files;
  std::vector<run_tables const*> sides[2];
  for (auto const* const side : {&before, &after})
    for (std::string const& text : *side) {
      files.push_back(std::make_unique<run_tables>());
      CHECK(tools::read_profile_json(text, *files.back()) == "");
      sides[side == &after].push_back(files.back().get());
    }
  return strata::compare(sides[0], sides[1], options);
}
comparison compared(std::string const& before, std::string const& after, double limit = 0.05) {
  strata::compare_options options;
  options.limit = limit;
  return compared(std::vector<std::string>{before}, std::vector<std::string>{after}, options);
}

/// How runs of one program differ: each call by 2 % and one of 500 by half of itself, each run by
/// 0.3 %, and in it each range by another 0.3 %.
struct machine {
  double call = 0.02, run = 0.003, range_in_run = 0.003, interrupted = 0.002;
};
/// 100 ranges of 0.1 ms, called once a step; range 42 is slower by that factor.
std::string run(std::mt19937& random, int steps, double factor, machine const& on = {}) {
  std::normal_distribution<double> normal(0, 1);
  std::uniform_real_distribution<double> chance(0, 1);
  double const whole = 1 + on.run * normal(random);
  std::vector<double> times(static_cast<std::size_t>(steps)), sums(times.size(), 0);
  std::vector<range> ranges;
  for (int r = 0; r < 100; ++r) {
    double const here =
        1e5 * whole * (1 + on.range_in_run * normal(random)) * (r == 42 ? factor : 1);
    double sum = 0, squares = 0;
    for (std::size_t s = 0; s < times.size(); ++s) {
      times[s] = here * (1 + on.call * normal(random));
      if (chance(random) < on.interrupted) times[s] *= 1.5;
      sums[s] += times[s] / 1e6;
      sum += times[s];
      squares += times[s] * times[s];
    }
    double const first = times[0];
    std::sort(times.begin(), times.end());
    double const mean = sum / steps, square = (squares - sum * mean) / (steps - 1);
    ranges.push_back(
        {"r" + std::to_string(r), mean, std::sqrt(square), steps,
         ",\"host_p50_ns\":" + std::to_string(times[times.size() / 2]) + ",\"host_min_ns\":" +
             std::to_string(times.front()) + ",\"host_max_ns\":" + std::to_string(times.back()) +
             ",\"first_step_calls\":1,\"first_step_host_ns\":" + std::to_string(first)});
  }
  return profile_text(sums, ranges);
}

/// So many runs of one program, read once: what is compared is drawn from them.
all_tables runs_of(std::mt19937& random, int count, double factor, machine const& on = {}) {
  all_tables made;
  for (int i = 0; i < count; ++i) {
    made.push_back(std::make_unique<run_tables>());
    REQUIRE(tools::read_profile_json(run(random, 20, factor, on), *made.back()) == "");
  }
  return made;
}
/// Some of them, none twice.
std::vector<run_tables const*> drawn(std::mt19937& random, all_tables const& from, int count) {
  std::vector<run_tables const*> all, made;
  for (auto const& each : from) all.push_back(each.get());
  std::sample(all.begin(), all.end(), std::back_inserter(made), count, random);
  std::shuffle(made.begin(), made.end(), random);
  return made;
}
comparison of_equal_runs(std::mt19937& random, all_tables const& runs, int a_side,
                         strata::compare_options const& options) {
  std::vector<run_tables const*> const both = drawn(random, runs, 2 * a_side);
  return strata::compare({both.begin(), both.begin() + a_side}, {both.begin() + a_side, both.end()},
                         options);
}

/// Two blocks of attention and mlp, and perhaps a head; in each block mlp is slower by that factor.
/// Runs differ by 0.4 %, and in each run each range by another 0.4 %.
std::string small_run(std::mt19937& random, double factor, bool has_head = true) {
  std::normal_distribution<double> normal(1, 0.004);
  double const whole = 1e5 * normal(random), head = whole * normal(random);
  std::vector<range> ranges;
  if (has_head) ranges.push_back({"head", head, 1e3, 20});
  double step = has_head ? head : 0;
  for (char const* const block : {"x[0]", "x[1]"}) {
    double const attention = whole * normal(random), mlp = factor * whole * normal(random);
    ranges.push_back({block, attention + mlp, 1.5e3, 20});
    ranges.push_back({std::string(block) + "/attention", attention, 1e3, 20});
    ranges.push_back({std::string(block) + "/mlp", mlp, 1e3, 20});
    step += attention + mlp;
  }
  for (range& each : ranges) each.more = ",\"host_p50_ns\":" + std::to_string(each.mean_ns);
  return profile_text(std::vector<double>(20, step / 1e6), ranges);
}

}  // namespace

TEST_CASE("what is no JSON is refused with its line") {
  for (char const* text : {"", "{", "[1,]", "{a:1}", "01", "\"\\ud800\"", "[1] 2", "NaN"}) {
    CAPTURE(std::string(text));
    run_tables file;
    std::string const problem = tools::read_profile_json(text, file);
    CHECK(problem.substr(0, 27) == "It is not valid JSON: line ");
    CHECK(problem.back() == '.');
  }
  run_tables file;
  CHECK(tools::read_profile_json("{\n\"a\": 1,\n}", file) ==
        "It is not valid JSON: line 3: string literal was expected.");
  CHECK(tools::read_profile_json(std::string(100000, '['), file) ==
        "It is not valid JSON: line 1: less nesting was expected.");
  CHECK(
      tools::read_profile_json(std::string(64, '[') + std::string(64, ']'), file) ==
      "It is no profile of Strata, whose schema.name is strata.profile: formats=json writes one.");
}

TEST_CASE("truncated and damaged profiles are refused or read, and do no harm") {
  std::string const whole = golden("profile_gpu.json");
  REQUIRE(whole.size() > 1000);
  run_tables file;
  CHECK(tools::read_profile_json(whole, file) == "");
  std::size_t const end = whole.find_last_of('}');
  for (std::size_t size = 0; size <= end; size += 37) {
    CHECK(tools::read_profile_json(whole.substr(0, size), file) != "");
    CHECK(file.ranges.empty());
  }
  std::mt19937 random(1);
  int readable = 0;
  for (int i = 0; i < 150; ++i) {
    std::string damaged = whole;
    for (int n = 0; n < 1 + i % 4; ++n)
      damaged[random() % damaged.size()] = static_cast<char>(random());
    if (i % 3 == 0) damaged.erase(random() % damaged.size(), random() % 50);
    std::string const problem = tools::read_profile_json(damaged, file);
    if (!problem.empty()) continue;
    ++readable;
    (void)strata::compare(file, file);
  }
  CHECK(readable > 0);
}

TEST_CASE("hostile values are refused or compared, and do no harm") {
  std::string const whole = golden("profile_gpu.json");
  char const* const values[] = {"-1",    "1e308", "-1e308", "1e-308", "null",   "[]",
                                "{}",    "0",     "true",   "\"x\"",  "1e30",   "1e29",
                                "99999", "\"\"",  "-0.0",   "1e999",  "[[[]]]", "{\"path\":1}"};
  std::mt19937 random(3);
  run_tables file, sound;
  REQUIRE(tools::read_profile_json(whole, sound) == "");
  strata::compare_options anyway;
  anyway.anyway = true;
  int readable = 0;
  constexpr int tried = 100;
  for (int i = 0; i < tried; ++i) {
    std::string damaged = whole;
    for (int n = 0; n < 1 + i % 20; ++n) {
      std::size_t const begin = damaged.find(':', random() % damaged.size());
      std::size_t const end = begin == damaged.npos ? begin : damaged.find_first_of(",}]", begin);
      if (end == damaged.npos) continue;
      damaged.replace(begin + 1, end - begin - 1, values[random() % std::size(values)]);
    }
    if (tools::read_profile_json(damaged, file) != "") continue;
    ++readable;
    for (auto const& [a, b] : {std::pair(&file, &sound), std::pair(&sound, &file)}) {
      comparison const c = strata::compare({a}, {b, b, b}, anyway);
      CHECK(!c.reason.empty());
      CHECK(std::isfinite(c.change));
      CHECK(std::isfinite(c.resolution));
      for (auto const& each : c.ranges) CHECK((std::isfinite(each.change) && each.share >= 0));
    }
  }
  CHECK(readable > tried / 10);

  std::string const damage = "Its rows are not those of a profile: the file was changed.";
  auto const with = [](std::string const& row) { return profile_text({1}, {{"a", 1, 1, 1, row}}); };
  CHECK(tools::read_profile_json(with(",\"host_p50_ns\":-1"), file) == damage);
  CHECK(tools::read_profile_json(with("},7,{\"x\":1"), file) == damage);
  CHECK(tools::read_profile_json(profile_text({1, -2}, {{"a", 1, 1, 1}}), file) == damage);
  std::string many;
  for (int i = 0; i < 501; ++i) many += ",\"" + std::to_string(i) + "\":0";
  CHECK(tools::read_profile_json(with(many), file) == damage);
  CHECK(tools::read_profile_json(with("},{\"path\":\"a\",\"calls\":3"), file) ==
        "");  // a path twice
  CHECK(strata::compare(file, file).ranges.size() == 1);
  CHECK(tools::read_profile_json(R"({"schema":{"name":"strata.profile","version":1},"ranges":[]})",
                                 file) == "");
  CHECK(strata::compare(file, file).reason == "the profiles have no range in common");
  CHECK(strata::compare(std::vector<run_tables const*>(), {&file}).reason ==
        "one side has no profile");
}

TEST_CASE("foreign and newer files are named") {
  run_tables file;
  CHECK(
      tools::read_profile_json("[]", file) ==
      "It is no profile of Strata, whose schema.name is strata.profile: formats=json writes one.");
  CHECK(tools::read_profile_json(R"({"schema":{"name":"strata.profile","version":2},"ranges":[]})",
                                 file)
            .find("schema version") != std::string::npos);
  CHECK(tools::read_profile_json(R"({"schema":{"name":"strata.profile","version":1}})", file) ==
        "It has no ranges: the file is not whole.");
  CHECK(tools::read_profile_json("{", file) ==
        "It is not valid JSON: line 1: string literal was expected.");
}

TEST_CASE("a profile beside itself has not changed") {
  run_tables file;
  REQUIRE(tools::read_profile_json(golden("profile_gpu.json"), file) == "");
  comparison const c = strata::compare(file, file);
  CHECK(c.geometric_mean == doctest::Approx(1));
  REQUIRE(c.notes.size() == 2);  // the golden run lost work that times may miss
  CHECK(c.notes[0].find("Lost in a run before: ") == 0);
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

TEST_CASE("one interrupted call of a run decides nothing") {
  auto const with_longest = [](double longest) {
    double const sum = 19e6 + longest, mean = sum / 20;
    double const squares = 19 * (1e6 - mean) * (1e6 - mean) + (longest - mean) * (longest - mean);
    return profile_text(
        std::vector<double>(20, 2),
        {{"a", mean, std::sqrt(squares / 19), 20,
          ",\"host_p50_ns\":1e6,\"host_min_ns\":1e6,\"host_max_ns\":" + std::to_string(longest)},
         {"b", 1e6, 1e3, 20},
         {"c", 1e6, 1e3, 20}});
  };
  comparison const c = compared(with_longest(1e6), with_longest(50e6));
  CHECK(c.verdict == comparison_verdict::no_regression);
  CHECK(c.find("a")->change == doctest::Approx(0).epsilon(1e-6));
  CHECK(c.find("a")->after_ms > 3);
  // What is printed is what was judged.
  CHECK(c.find("a")->judged_after_ms == doctest::Approx(c.find("a")->judged_before_ms));
  CHECK(c.find("a")->change_ms() == doctest::Approx(0).epsilon(1e-6));
  CHECK(c.geometric_mean == doctest::Approx(1));
}

TEST_CASE("what is trimmed in one run is trimmed in all, and said to be") {
  // 20 calls in the 20 steps after the first one, which is apart: `shortest`, `longest`, nine
  // of 1.95 ms and nine of 2.05.
  auto const with = [](double shortest, double longest) {
    double const mean = (shortest + longest + 18 * 2e6) / 20;
    auto const square = [&](double ns) { return (ns - mean) * (ns - mean); };
    double const squares =
        square(shortest) + square(longest) + 9 * square(1.95e6) + 9 * square(2.05e6);
    std::vector<range> all = {{"a", mean, std::sqrt(squares / 19), 20,
                               ",\"host_p50_ns\":2e6,\"host_min_ns\":" + std::to_string(shortest) +
                                   ",\"host_max_ns\":" + std::to_string(longest)}};
    for (char const* const quiet : {"b", "c"}) all.push_back({quiet, 1e6, 1e3, 20});
    std::vector<double> steps(21, 4);
    steps[0] = 60;
    return profile_text(steps, all);
  };
  std::string const even = with(1.8e6, 2.1e6), interrupted = with(1e6, 90e6);
  for (auto const& [before, after] :
       {std::pair(&even, &interrupted), std::pair(&interrupted, &even)}) {
    comparison const c = compared(*before, *after);
    strata::compared_range const* const a = c.find("a");
    REQUIRE(a != nullptr);
    CHECK(a->judged_trimmed);
    CHECK(a->judged_before_ms == doctest::Approx(2));
    CHECK(a->judged_after_ms == doctest::Approx(2));
    CHECK_FALSE(c.find("b")->judged_trimmed);
  }
  comparison const plain = compared(even, even);
  CHECK_FALSE(plain.find("a")->judged_trimmed);
  CHECK(plain.find("a")->judged_before_ms == doctest::Approx(39.9 / 20));  // as the run has it
}

TEST_CASE("a call that was the longest in the first step is out of a trimmed mean already") {
  // 20 steps of one call: the first of 50 ms, one of 1 ms and 18 of 2 ms; then one more of 90 ms.
  auto const with = [](double longest) {
    double const sum = 50e6 + 1e6 + longest + 17 * 2e6, mean = sum / 20;
    auto const square = [&](double ns) { return (ns - mean) * (ns - mean); };
    double const squares = square(50e6) + square(1e6) + square(longest) + 17 * square(2e6);
    std::vector<range> all = {{"a", mean, std::sqrt(squares / 19), 20,
                               ",\"host_p50_ns\":2e6,\"host_min_ns\":1e6,\"host_max_ns\":" +
                                   std::to_string((std::max)(longest, 50e6)) +
                                   ",\"first_step_calls\":1,\"first_step_host_ns\":50e6"}};
    for (char const* const quiet : {"b", "c"}) all.push_back({quiet, 1e6, 1e3, 20});
    std::vector<double> steps(20, 4);
    steps[0] = 60;
    return profile_text(steps, all);
  };
  comparison const c = compared(with(2e6), with(90e6));
  CHECK(c.find("a")->judged_trimmed);
  CHECK(c.find("a")->judged_before_ms == doctest::Approx(2));
  CHECK(c.find("a")->judged_after_ms == doctest::Approx(2));
}

TEST_CASE("a few interrupted calls are no slower range of two runs, but of three a side") {
  // Of 20 calls of 0.1 ms of `a` some wait 20 ms for a processor.
  auto const interrupted = [](int times, double step_ms) {
    double const mean = ((20 - times) * 0.1e6 + times * 20e6) / 20;
    double const squares =
        (20 - times) * (0.1e6 - mean) * (0.1e6 - mean) + times * (20e6 - mean) * (20e6 - mean);
    std::vector<range> all = {{"a", mean, std::sqrt(squares / 19), 20,
                               ",\"host_p50_ns\":1e5,\"host_min_ns\":1e5,\"host_max_ns\":" +
                                   std::to_string(times > 0 ? 20e6 : 0.1e6)}};
    for (int i = 0; i < 30; ++i)
      all.push_back({"b" + std::to_string(i), step_ms / 31 * 1e6, 1e3, 20});
    return profile_text(std::vector<double>(20, step_ms), all);
  };
  comparison const c = compared(interrupted(0, 31), interrupted(3, 31));
  CHECK(c.find("a")->change > 20);
  CHECK(c.find("a")->verdict == strata::range_verdict::unsure);
  CHECK(c.verdict == comparison_verdict::inconclusive);
  // A small share of a step makes nothing inconclusive.
  comparison const small = compared(interrupted(0, 310), interrupted(3, 310));
  CHECK(small.verdict == comparison_verdict::no_regression);
  std::vector<std::string> const before(3, interrupted(0, 31)), after(3, interrupted(3, 31));
  CHECK(compared(before, after).find("a")->slower);
}

/// How often equal runs are blamed, and 5 % in one of 100 ranges is found, with 20 steps. Fixed
/// seeds; the random numbers of the standard library may differ between its makers.
TEST_CASE("false alarms and power with 20 steps" *
          doctest::skip(test::sanitized)) {  // rates of many runs
  std::mt19937 random(7);
  int const equal = 150, planted = 100;  // 2000 and 1000 of 400 runs: docs/reference/comparison.md
  all_tables const sound = runs_of(random, 60, 1);
  all_tables const slow[] = {runs_of(random, 60, 1.05), runs_of(random, 60, 1.1)};
  for (double const limit : {0.01, 0.02, 0.05}) {
    strata::compare_options options;
    options.limit = limit;
    int alarms = 0, open = 0, found = 0, named = 0, blamed = 0;
    for (int i = 0; i < equal; ++i) {
      comparison const c = of_equal_runs(random, sound, 1, options);
      alarms += c.verdict == comparison_verdict::regression;
      open += c.verdict == comparison_verdict::inconclusive;
    }
    for (int i = 0; i < planted; ++i) {
      comparison const c = strata::compare(drawn(random, sound, 1),
                                           drawn(random, slow[limit < 0.05 ? 0 : 1], 1), options);
      found += c.verdict == comparison_verdict::regression;
      named += c.find("r42")->slower;
      for (auto const& each : c.ranges) blamed += each.slower && each.path != "r42";
    }
    MESSAGE("limit " << limit << ", " << equal << " of equal runs: " << alarms << " false alarms, "
                     << open << " inconclusive; " << planted << " planted: found " << found
                     << ", named " << named << ", others blamed " << blamed);
    CHECK(alarms <= equal / 50);
    CHECK(open <= equal / 20);
    CHECK(found >= planted * (limit < 0.05 ? 90 : 95) / 100);
    CHECK(named >= planted * (limit < 0.05 ? 90 : 95) / 100);
    CHECK(blamed <= planted / 20);
  }
}

TEST_CASE("a noisy machine makes no regression of one run a side, three find a slower range" *
          doctest::skip(test::sanitized)) {  // rates of many runs
  std::mt19937 random(11);
  machine loud;
  loud.run = 0.08;
  int alarms = 0, of_three = 0, asked = 0, found = 0;
  int const times = 100;
  all_tables const equal = runs_of(random, 60, 1, loud), slower = runs_of(random, 30, 1.2, loud);
  for (int i = 0; i < times; ++i) {
    comparison const one = of_equal_runs(random, equal, 1, {});
    alarms += one.verdict == comparison_verdict::regression;
    asked += one.verdict == comparison_verdict::inconclusive && one.runs_to_decide == 3;
    of_three += of_equal_runs(random, equal, 3, {}).verdict == comparison_verdict::regression;
    comparison const slow = strata::compare(drawn(random, equal, 3), drawn(random, slower, 3));
    found += slow.find("r42")->slower || slow.change < 0;  // faster all in all is no regression
  }
  CHECK(alarms <= times / 100);
  CHECK(asked > times / 5);
  CHECK(of_three <= times / 100);
  CHECK(found >= times * 95 / 100);
}

TEST_CASE("of many ranges that differ between runs, none looks quiet by chance" *
          doctest::skip(test::sanitized)) {  // rates of many runs
  std::mt19937 random(13);
  machine loud;
  loud.range_in_run = 0.05;
  all_tables const equal = runs_of(random, 40, 1, loud);
  int alarms = 0;
  int const times = 60;
  for (int i = 0; i < times; ++i)
    alarms += of_equal_runs(random, equal, 2, {}).verdict == comparison_verdict::regression;
  MESSAGE(alarms << " false alarms of " << times);
  CHECK(alarms <= times / 15);
}

TEST_CASE("of few ranges half are slower: several runs tell it from their noise") {
  std::mt19937 random(5);
  auto const runs_of = [&](double factor) {
    std::vector<std::string> all;
    for (int i = 0; i < 3; ++i) all.push_back(small_run(random, factor));
    return all;
  };
  int alarms = 0, blamed = 0;
  int const times = 100;
  for (int i = 0; i < times; ++i) {
    std::vector<std::string> const before = runs_of(1);
    alarms += compared(before, runs_of(1)).verdict == comparison_verdict::regression;
    comparison const slow = compared(before, runs_of(2));
    auto const* const mlp = slow.find("x[*]/mlp");
    REQUIRE(mlp != nullptr);
    CHECK(mlp->verdict == strata::range_verdict::slower);
    CHECK(mlp->noise < 0.02);
    CHECK(mlp->change == doctest::Approx(1).epsilon(0.03));
    blamed += slow.find("x[*]/attention")->slower || slow.find("head")->slower;
    comparison const fast = compared(runs_of(2), before);  // faster than the others: no regression
    blamed += fast.verdict == comparison_verdict::regression;
  }
  CHECK(alarms <= times / 100);
  CHECK(blamed <= times / 100);
  // One run against three is only one: where half are slower, it tells nothing.
  std::vector<std::string> halves;
  for (int i = 0; i < 3; ++i) halves.push_back(small_run(random, 1, false));
  CHECK(compared(halves, {small_run(random, 2, false)}).find("x[*]/mlp")->verdict ==
        strata::range_verdict::unsure);
}

TEST_CASE("what cannot be told is inconclusive") {
  std::vector<double> const ten = {1, 1.01, 0.99, 1, 1.005, 0.995, 1, 1.002, 0.998, 1};
  std::vector<range> ranges;
  for (int i = 0; i < 10; ++i) ranges.push_back({"a" + std::to_string(i), 1e5, 1e3, 10});
  auto const times = [](std::vector<double> of, double factor) {
    for (double& each : of) each *= factor;
    return of;
  };
  std::string const base = profile_text(ten, ranges);
  CHECK(compared(base, base).verdict == comparison_verdict::no_regression);
  comparison const few = compared(base, profile_text({1}, ranges));
  CHECK(few.verdict == comparison_verdict::inconclusive);
  CHECK(few.reason.find("fewer than 2 steps") != std::string::npos);
  CHECK(few.headline == "a step takes 1.00 ms before and 1.00 ms after (medians)");
  std::vector<range> of_two = ranges;
  for (range& each : of_two) each.calls = 2;
  comparison const longer = compared(base, profile_text({1.5, 1.5}, of_two));
  CHECK(longer.change == doctest::Approx(longer.after_ms / longer.before_ms - 1));
  CHECK(longer.verdict == comparison_verdict::inconclusive);
  CHECK(longer.steps_to_decide == 20);
  CHECK(longer.reason.find("the step looks ") == 0);
  CHECK(longer.headline.find("the step looks ") == 0);
  CHECK(longer.headline.find(", which a run of 2 steps can be by chance") != longer.headline.npos);
  comparison const other = compared(base, profile_text(ten, ranges, "other GPU"));
  CHECK(other.verdict == comparison_verdict::inconclusive);
  CHECK(other.reason.find("the devices or their clocks differ (GPU 1 MHz and other GPU 1 MHz)") ==
        0);
  comparison const noise =
      compared(base, profile_text({0.6, 1.1, 1.5, 0.5, 0.9, 1, 1.2, 0.8, 1.1, 0.9}, ranges));
  CHECK(noise.verdict == comparison_verdict::inconclusive);
  CHECK(noise.reason.find("can hide the limit: about") != std::string::npos);
  CHECK(noise.steps_to_decide > 10);
  CHECK(noise.steps_to_decide < 2000);

  // Only the step is slower, not its ranges: a slower machine would slow both.
  comparison const step = compared(base, profile_text(times(ten, 1.3), ranges));
  CHECK(step.verdict == comparison_verdict::regression);
  CHECK(step.reason == "the step is 30.0 % slower");
  CHECK(compared(base, profile_text(times(ten, 1.3), ranges), 0.5).verdict ==
        comparison_verdict::no_regression);

  // Everything is: so do other clocks.
  std::vector<range> slower = ranges;
  for (range& each : slower) each.mean_ns *= 1.3;
  std::string const all = profile_text(times(ten, 1.3), slower);
  comparison const clocks = compared(base, all);
  CHECK(clocks.verdict == comparison_verdict::inconclusive);
  CHECK(clocks.runs_to_decide == 3);
  CHECK(clocks.common == doctest::Approx(0.3));
  CHECK(clocks.headline ==
        "the step looks 30.0 % longer, 1.00 ms before and 1.30 ms after (medians), which other "
        "clocks can do");
  // Twice as slow: the clock of a working device cannot explain that, and neither can the noise.
  std::vector<range> twice = ranges;
  for (range& each : twice) {
    each.mean_ns *= 2.1;
    each.more = ",\"host_p50_ns\":" + std::to_string(each.mean_ns);
  }
  std::vector<range> once = ranges;
  for (range& each : once) each.more = ",\"host_p50_ns\":" + std::to_string(each.mean_ns);
  comparison const decided =
      compared(profile_text(ten, once), profile_text(times(ten, 2.1), twice));
  CHECK(decided.verdict == comparison_verdict::regression);
  CHECK(decided.reason.find("the step is 2.1x slower") == 0);
  CHECK(decided.headline.find("the step is 2.1x slower, ") == 0);
  strata::compare_options known;
  known.run_noise = 0.01;
  CHECK(compared({base}, {all}, known).verdict == comparison_verdict::regression);
  known.run_noise = 0.2;
  comparison const loud = compared({base}, {all}, known);
  CHECK(loud.verdict == comparison_verdict::inconclusive);
  CHECK(loud.runs_to_decide > 2);
  CHECK(loud.headline.find("the step looks 30.0 % longer, ") == 0);
  CHECK(loud.headline.find("(medians), which its noise can do") != loud.headline.npos);
  auto const near_it = [&](double factor) { return profile_text(times(ten, factor), ranges); };
  comparison const three = compared({near_it(0.99), base, near_it(1.01)}, {all, all, all});
  CHECK(three.verdict == comparison_verdict::regression);
  CHECK(three.runs_known);
  CHECK(three.before_runs == 3);
  CHECK(three.before_steps == 30);
}

TEST_CASE("one slow range is no change of all, however many ranges hold it") {
  auto const text = [](double factor) {
    double const up = 1e5 * factor;
    std::vector<range> ranges = {{"f", 4e5 + up, 1e3, 20},        {"f/b", 4e5 + up, 1e3, 20},
                                 {"f/b/mlp", 1e5 + up, 1e3, 20},  {"f/b/mlp/up", up, 1e3, 20},
                                 {"f/b/mlp/down", 1e5, 1e3, 20},  {"f/b/attention", 2e5, 1e3, 20},
                                 {"f/b/attention2", 1e5, 1e3, 20}};
    for (range& each : ranges) each.more = ",\"host_p50_ns\":" + std::to_string(each.mean_ns);
    return profile_text(std::vector<double>(20, (4e5 + up) / 1e6), ranges);
  };
  comparison const slow = compared(text(1), text(4));
  CAPTURE(slow.reason);
  CHECK(slow.verdict == comparison_verdict::regression);
  CHECK(slow.common == doctest::Approx(0.0));
  CHECK(slow.find("f/b/mlp/up")->verdict == strata::range_verdict::slower);
  CHECK(slow.find("f/b/mlp/down")->verdict == strata::range_verdict::within);
}

TEST_CASE("a range of another thread is named with it") {
  std::vector<double> const steps = {1, 1, 1, 1, 1};
  std::string const text = profile_text(
      steps, {{"a", 1e6, 1e3, 5}, {"b", 1e6, 1e3, 5, ",\"thread\":\"thread loader\""}});
  comparison const c = compared(text, text);
  CHECK(c.find("a")->thread.empty());
  CHECK(c.find("b")->thread == "thread loader");
  std::string const moved = profile_text(steps, {{"a", 1e6, 1e3, 5}, {"b", 1e6, 1e3, 5}});
  CHECK(compared(text, moved).find("b")->thread.empty());
}

TEST_CASE("clocks that differ by little explain as much, and no more") {
  auto const text = [](double all, double up, int clock_khz) {
    std::vector<range> ranges;
    for (int i = 0; i < 10; ++i) ranges.push_back({"a" + std::to_string(i), 1e5 * all, 1e3, 20});
    ranges[3].mean_ns *= up;
    for (range& each : ranges) each.more = ",\"host_p50_ns\":" + std::to_string(each.mean_ns);
    return profile_text(std::vector<double>(20, all * (0.9 + 0.1 * up)), ranges, "GPU", {},
                        clock_khz);
  };
  std::string const base = text(1, 1, 2000000);
  comparison const clocks = compared(base, text(1.04, 1, 1900000), 0.01);
  CAPTURE(clocks.reason);
  CHECK(clocks.verdict == comparison_verdict::no_regression);
  CHECK(clocks.notes[0] ==
        "The clocks of the devices differ (GPU 2000 MHz and GPU 1900 MHz): up to 5.3 % more is "
        "allowed.");
  comparison const slow = compared(base, text(1.04, 4, 1900000), 0.01);
  CAPTURE(slow.reason);
  CHECK(slow.verdict == comparison_verdict::regression);
  CHECK(slow.find("a3")->verdict == strata::range_verdict::slower);
  CHECK(slow.find("a4")->verdict == strata::range_verdict::within);
  // As much as the clocks alone is theirs.
  CHECK(compared(base, text(1, 1.06, 1900000), 0.01).find("a3")->verdict ==
        strata::range_verdict::within);
  CHECK(compared(base, text(1, 1.06, 2000), 0.01).find("a3")->verdict !=
        strata::range_verdict::within);
  comparison const other = compared(base, text(1, 4, 1800000), 0.01);
  CHECK(other.verdict == comparison_verdict::inconclusive);
  CHECK(other.reason.find("the devices or their clocks differ") == 0);
}

TEST_CASE("a range of a small share makes nothing inconclusive") {
  std::vector<double> const ten = {1, 1.01, 0.99, 1, 1.005, 0.995, 1, 1.002, 0.998, 1};
  auto const with = [&](double noisy_ns) {
    std::vector<range> ranges;
    for (int i = 0; i < 10; ++i) ranges.push_back({"a" + std::to_string(i), 1e5, 1e3, 10});
    ranges.push_back({"noisy", noisy_ns, noisy_ns / 2, 10});
    return profile_text(ten, ranges);
  };
  comparison const large = compared(with(1e5), with(1.2e5));
  CHECK(large.verdict == comparison_verdict::inconclusive);
  CHECK(large.reason.find(
            "noisy (host) looks 20.0 % slower, but noise relative to the other ranges is") == 0);
  CHECK(large.find("noisy")->verdict == strata::range_verdict::unsure);
  CHECK(large.judged_times == 11);
  CHECK(large.noisy_times == 1);
  CHECK(compared(with(1e3), with(1e3)).noisy_times == 0);
  CHECK(large.steps_to_decide > 10);
  CHECK(compared(with(1e4), with(1.2e4)).verdict == comparison_verdict::no_regression);
  CHECK(compared(with(1e3), with(9e3)).find("noisy")->share < 0.02);
  CHECK(compared(with(1e3), with(2e3)).find("noisy")->verdict == strata::range_verdict::unjudged);
}

TEST_CASE("kernels are judged by their own times") {
  std::vector<double> const ten = {1, 1.01, 0.99, 1, 1.005, 0.995, 1, 1.002, 0.998, 1};
  auto const with = [&](double ns) {
    std::vector<range> ranges;
    std::string kernels;
    for (int i = 0; i < 10; ++i) {
      std::string const path = "a[" + std::to_string(i) + "]";
      ranges.push_back({path, 1e4, 1e2, 10, ",\"kernels\":20,\"gpu_busy_ns\":1e6"});
      kernels += (i > 0 ? ",{\"path\":\"" : "{\"path\":\"") + path +
                 "/inner\",\"count\":20,\"total_ns\":" + std::to_string(20 * (i == 3 ? ns : 5e4)) +
                 ",\"stddev_ns\":100,\"p50_ns\":" + std::to_string(i == 3 ? ns : 5e4) + "}";
    }
    return profile_text(ten, ranges, "GPU", kernels);
  };
  comparison const c = compared(with(5e4), with(6e4));
  CHECK(c.verdict == comparison_verdict::regression);
  CHECK(c.reason == "a[3] (GPU) is 20.0 % slower, beyond the limit and noise");
  REQUIRE(c.find("a[3]") != nullptr);
  CHECK(c.find("a[3]")->judged_gpu);
  CHECK(c.find("a[*]")->slower);
  CHECK_FALSE(c.find("a[4]")->slower);
}

TEST_CASE("kernels, busy times and host times are of the same steps: without the first") {
  auto const with = [](double first_ns) {
    std::string const total = std::to_string(first_ns + 9 * 5e5);
    std::string const first = std::to_string(first_ns);
    std::string const of_range = ",\"kernels\":10,\"gpu_busy_ns\":" + total +
                                 ",\"first_step_gpu_busy_ns\":" + first +
                                 ",\"first_step_calls\":1,\"first_step_host_ns\":1e6";
    // Of the launches: one of first_ns, and nine of 500 us.
    double const mean = (first_ns + 9 * 5e5) / 10;
    double const squares = first_ns * first_ns + 9 * 25e10 - 10 * mean * mean;
    std::string const kernel = "{\"path\":\"mlp\",\"count\":10,\"total_ns\":" + total +
                               ",\"stddev_ns\":" + std::to_string(std::sqrt(squares / 9)) +
                               ",\"p50_ns\":5e5" + ",\"min_ns\":5e5,\"max_ns\":" + first +
                               ",\"first_step_count\":1,\"first_step_ns\":" + first + "}";
    return profile_text({100, 1, 1, 1, 1, 1, 1, 1, 1, 1}, {{"mlp", 1e6, 0, 10, of_range}}, "GPU",
                        kernel);
  };
  // The first step's kernel takes 50 ms or 80: modules are loaded, and a cache is filled.
  comparison const c = compared(with(5e7), with(8e7));
  strata::compared_range const* const mlp = c.find("mlp");
  REQUIRE(mlp != nullptr);
  CHECK(mlp->gpu);
  CHECK(mlp->before_ms == doctest::Approx(0.5));
  CHECK(mlp->after_ms == doctest::Approx(0.5));
  CHECK(mlp->verdict == strata::range_verdict::within);
  CHECK(c.before_ms == doctest::Approx(1));
  CHECK(mlp->share <= 1.0);

  strata::run_tables file;
  REQUIRE(tools::read_profile_json(with(8e7), file) == "");
  strata::detail::run_ranges const ranges(file);
  strata::detail::run_range const* const of = ranges.find("mlp");
  REQUIRE(of != nullptr);
  CHECK(of->gpu.mean.ms == doctest::Approx(0.5));
  CHECK(of->gpu.calls == 9);
  CHECK(of->gpu.mean.variance == doctest::Approx(0).epsilon(1e-6));
  CHECK(of->host.mean.ms == doctest::Approx(1));
}

TEST_CASE("accepted regressions have a reason, and are missed when they are gone") {
  std::vector<double> const ten(10, 1.0);
  auto const with = [&](double ns) {
    std::vector<range> ranges;
    for (int i = 0; i < 10; ++i) ranges.push_back({"a[" + std::to_string(i) + "]", 1e5, 1e3, 10});
    ranges.push_back({"x,y", ns, 1e2, 10});
    return profile_text(ten, ranges);
  };
  strata::compare_options options;
  CHECK(compared({with(1e5)}, {with(1.2e5)}, options).verdict == comparison_verdict::regression);
  REQUIRE(strata::read_accepted("# known\n\n\"x,y\",host,25%, exact GELU, later fused \r\n"
                                "a[*],host,10%,because\ngone,gpu,10%,because\n,step,10%,because",
                                options.accepted) == "");
  REQUIRE(options.accepted.size() == 4);
  CHECK(options.accepted[0].path == "x,y");
  CHECK(options.accepted[0].limit == doctest::Approx(0.25));
  CHECK(options.accepted[0].reason == "exact GELU, later fused");
  CHECK(options.accepted[3].path == "");
  comparison const c = compared({with(1e5)}, {with(1.2e5)}, options);
  CHECK(c.verdict == comparison_verdict::no_regression);
  CHECK(c.find("x,y")->verdict == strata::range_verdict::accepted);
  REQUIRE(c.notes.size() == 4);
  CHECK(c.notes[0] ==
        "x,y (host) is 20.0 % slower, of which up to 25.0 % is accepted: exact GELU, later fused.");
  CHECK(c.notes[1] ==
        "a[*] (host) is accepted to be slower but is not any more (0.0 %): remove "
        "its line.");
  CHECK(c.notes[2] ==
        "gone (gpu) is accepted to be slower but was not judged: correct or remove its line.");
  CHECK(c.notes[3].find("The step is accepted to be slower but is not any more") == 0);
  CHECK(compared({with(1e5)}, {with(1.3e5)}, options).verdict == comparison_verdict::regression);

  for (auto const& [line, problem] :
       {std::pair("a", "path,column,limit,reason was expected."),
        std::pair("a,host,5%", "path,column,limit,reason was expected."),
        std::pair("a,cpu,5%,x", "the column is step, host or gpu."),
        std::pair("a,step,5%,x", "host and gpu have a path, and step has none."),
        std::pair(",host,5%,x", "host and gpu have a path, and step has none."),
        std::pair("a,host,5,x", "the limit is a percentage such as 10%."),
        std::pair("a,host,-5%,x", "the limit is a percentage such as 10%."),
        std::pair("a,host,nan%,x", "the limit is a percentage such as 10%."),
        std::pair("a,host,0x10%,x", "the limit is a percentage such as 10%."),
        std::pair("\"a,host,5%,x", "path,column,limit,reason was expected."),
        std::pair("a,host,5%, ", "the reason is missing.")})
    CHECK(strata::read_accepted(line, options.accepted) == std::string("Line 1: ") + problem);
}

TEST_CASE("a step that is shorter beyond limit and noise is said to be") {
  auto const after = [](double factor) {
    std::vector<double> before, now;
    for (int i = 0; i < 20; ++i) {
      before.push_back(1.0 + 0.001 * (i % 3));
      now.push_back(before.back() * factor);
    }
    return compared(profile_text(before, {{"a", 1e5, 1e3, 20}}),
                    profile_text(now, {{"a", 1e5, 1e3, 20}}));
  };
  CHECK(after(0.99).reason == "the steps are within the limit");
  CHECK(after(0.8).reason == "the step is 20.0 % shorter");
  CHECK(after(0.05).reason == "the step is 20.0x faster");
  CHECK(after(0.05).headline ==
        "the step is 20.0x faster, 1.00 ms before and 50.0 us after (medians)");
  CHECK(after(3).headline.find("the step is 3.0x slower, 1.00 ms before and 3.00 ms after") == 0);
  CHECK(after(1).headline == "no change: 1.00 ms before and 1.00 ms after (medians)");
}

TEST_CASE("what runs had to do is compared first") {
  std::vector<double> const steps(6, 1.0);
  auto const with = [&](std::string const& more, int calls = 6) {
    return profile_text(steps, {{"a", 1e5, 1e3, calls, more}, {"b", 1e5, 1e3, 6}});
  };
  auto const notes = [&](std::string const& a, std::string const& b, int calls = 6) {
    comparison const c = compared(with(a), with(b, calls));
    return c.notes.empty() ? c.reason : c.notes[0];
  };
  CHECK(notes("", "") == "the steps are within the limit");
  CHECK(notes("", "", 12) == "The numbers of calls a step differ in 1 range: a (1.00 and 2.00).");
  CHECK(notes(",\"kernels\":6", ",\"kernels\":9").find("The numbers of kernels a step") == 0);
  CHECK(notes(",\"flops\":6e9", ",\"flops\":9e9").find("The declared operations a step") == 0);
  CHECK(notes(",\"bytes\":6", ",\"bytes\":9").find("The declared bytes a step differ") == 0);
  CHECK(notes(",\"note\":\"x\"", "") == "The note of a range differs: a: 'x' and ''.");
  CHECK(notes(",\"shape\":\"4x64\"", ",\"shape\":\"8x64\"") ==
        "the work differs (shape of a: '4x64' and '8x64'), so compare runs of the same model and "
        "batch");
  CHECK(notes(",\"tokens\":6", ",\"tokens\":12").find("the work differs (tokens of a") == 0);
  strata::compare_options anyway;
  anyway.anyway = true;
  comparison const c = compared({with(",\"tokens\":6")}, {with(",\"tokens\":12")}, anyway);
  CHECK(c.verdict == comparison_verdict::no_regression);
  CHECK(c.notes[0].find("Compared all the same: the work differs") == 0);
  auto const driver = [&](char const* versions) {
    std::string text = with("");
    return text.replace(text.find("\"command\""), 0, versions);
  };
  comparison const d = compared(driver("\"driver_version\":13000,\"cupti_version\":130000,"),
                                driver("\"driver_version\":12080,\"cupti_version\":120801,"));
  REQUIRE(d.notes.size() == 2);
  CHECK(d.notes[0] == "The drivers differ: 13.0 and 12.8.");
  CHECK(d.notes[1] == "The versions of CUPTI differ: 13.0 and 12.8.");
  CHECK(compared(driver(""), driver("\"driver_version\":13000,")).notes[0] ==
        "The drivers differ: none and 13.0.");
}

TEST_CASE("ranges that only one run has are counted") {
  std::vector<double> const steps = {1, 1, 1, 1, 1};
  comparison const c = compared(profile_text(steps, {{"a", 1e6, 0, 5}, {"b", 1e6, 0, 5}}),
                                profile_text(steps, {{"c", 1e6, 0, 5}, {"a", 1e6, 0, 5}}));
  CHECK(c.only_before.size() == 1);
  CHECK(c.only_before[0] == "b");
  CHECK(c.only_after[0] == "c");
  CHECK(c.ranges.size() == 1);
  CHECK(c.notes[0] == "Ranges that only one side has: 1 before, 1 after.");
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
    CHECK(column.name != "host_mean_ns");                  // no sum
    if (column.name == "calls") CHECK(column.after == 3);  // a step
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
  CHECK(c.notes[0] == "Ranges that only one side has: 0 before, 1 after.");
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
  CHECK(c.headline == "a step takes 1.00 ms before and 1.00 ms after (medians)");
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
  CHECK(c.notes[0] == "The STRATA settings differ: trace and trace,sync=1.");
}

TEST_CASE("columns are of a mean step, counted ones too") {
  auto const with = [](int steps, double hbm) {
    std::string const n = std::to_string(steps), bytes = std::to_string(hbm);
    std::vector<range> ranges;
    for (char const* const path : {"block[0]", "block[1]", "head"})
      ranges.push_back(
          {path, 1e6, 1e3, 2 * steps,
           ",\"host_max_ns\":3e6,\"migrated_bytes_h2d\":8,\"copied_bytes\":" + n + "00"});
    std::string text =
        profile_text(std::vector<double>(static_cast<std::size_t>(steps), 8.0), ranges);
    text.pop_back();
    auto const metric = [](char const* key, char const* unit, char const* level,
                           char const* formula) {
      return std::string("{\"key\":\"") + key + "\",\"unit\":\"" + unit + "\",\"level\":\"" +
             level + "\",\"formula\":\"" + formula + "\"}";
    };
    auto const row = [](char const* path, std::string const& values) {
      return std::string("{\"path\":\"") + path + "\",\"total\":" + values + "}";
    };
    std::string const gpu =
        "{\"hbm_bytes\":" + bytes + ",\"hit_rate\":50,\"lost\":null,\"peak\":7}";
    text += ",\"counters\":{\"metrics\":[" + metric("hbm_bytes", "B", "hbm", "a.sum + b.sum") +
            "," + metric("hit_rate", "%", "l1", "100 * hits / all") + "," +
            metric("lost", "", "l1", "c.sum") + "," +
            metric("peak", "B/cycle", "hbm", "d.sum.peak_sustained") + "],\"values\":[" +
            row("", gpu) + "," + row("block[0]", gpu) + "," + row("block[1]", gpu) + "," +
            row("head", "null") + "]}";
    std::string const cpu = "{\"cpu_instructions\":" + n + "000}";
    text += ",\"cpu_counters\":{\"metrics\":[" +
            metric("cpu_instructions", "instructions", "cpu", "x") + "],\"values\":[" +
            row("block[0]", cpu) + "," + row("block[1]", cpu) + "]}}";
    return text;
  };
  comparison const c = compared(with(5, 100), with(10, 200));
  auto const column = [&](char const* path, char const* name) -> strata::compared_column const* {
    for (strata::compared_column const& each : c.find(path)->columns)
      if (each.name == name) return &each;
    return nullptr;
  };
  CHECK(column("head", "calls")->before == 2);
  CHECK(column("head", "calls")->factor() == 1);
  CHECK(column("head", "host_total_ns")->after == doctest::Approx(2e6));
  CHECK(column("head", "host_total_ns")->unit == "ns");
  CHECK(column("head", "host_max_ns")->after == 3e6);  // of a call
  CHECK(column("head", "copied_bytes")->after == 100);
  CHECK(column("head", "copied_bytes")->unit == "B");
  CHECK(column("head", "migrated_bytes_h2d")->unit == "B");  // its name has no unit at its end
  CHECK(column("head", "hbm_bytes") == nullptr);
  CHECK(column("block[*]", "host_max_ns") == nullptr);
  CHECK(column("block[*]", "hbm_bytes")->before == 200);  // of one step, both blocks
  CHECK(column("block[*]", "hbm_bytes")->after == 400);
  CHECK(column("block[*]", "hit_rate") == nullptr);
  CHECK(column("block[*]", "peak") == nullptr);
  CHECK(column("block[1]", "hit_rate")->after == 50);
  CHECK(column("block[1]", "hit_rate")->unit == "%");
  CHECK(column("block[1]", "lost") == nullptr);
  CHECK(column("block[*]", "cpu_instructions")->before == 2000);
  CHECK(column("block[*]", "cpu_instructions")->factor() == 1);
}

TEST_CASE("a range outside of steps counts once, not a step") {
  auto const with = [](int steps, double load_ms) {
    std::string const none = ",\"first_step_calls\":0,\"step_share\":0";
    return profile_text(std::vector<double>(static_cast<std::size_t>(steps), 8.0),
                        {{"forward", 8e6, 1e3, steps, ",\"step_share\":1"},
                         {"load", load_ms * 1e6, 0, 1, none},
                         {"part[0]", 3e6, 0, 1, none},
                         {"part[1]", 4e6, 0, 1, none}});
  };
  comparison const c = compared(with(5, 100), with(50, 110));
  REQUIRE(c.find("load") != nullptr);
  CHECK(c.find("load")->once);
  CHECK(c.find("load")->before_ms == doctest::Approx(100));
  CHECK(c.find("load")->after_ms == doctest::Approx(110));
  CHECK(c.find("part[*]")->once);
  CHECK(c.find("part[*]")->after_ms == doctest::Approx(7));
  CHECK_FALSE(c.find("forward")->once);
  CHECK(c.find("forward")->after_ms == doctest::Approx(8));
  for (strata::compared_column const& column : c.find("load")->columns) {
    CHECK(column.name != "step_share");
    if (column.name == "calls") CHECK(column.after == 1);
    if (column.name == "host_mean_ns") CHECK(column.after == doctest::Approx(110e6));
  }
}

TEST_CASE("of a range in steps and outside of them a step has what is in steps") {
  // Of ten calls of 1 ms eight are in the steps; of the folded parts one is outside of all.
  auto const with = [](double share) {
    std::string text =
        profile_text(std::vector<double>(8, 8.0),
                     {{"read", 1e6, 1e3, 10,
                       ",\"host_max_ns\":3e6,\"copied_bytes\":1000,\"first_step_calls\":1,"
                       "\"first_step_host_ns\":1e6,\"step_share\":" +
                           std::to_string(share)},
                      {"part[0]", 1e6, 1e3, 2, ",\"first_step_calls\":0,\"step_share\":0"},
                      {"part[1]", 1e6, 1e3, 8, ",\"copied_bytes\":400,\"step_share\":1"},
                      {"setup", 1e6, 0, 1, ",\"first_step_calls\":0,\"step_share\":0"}});
    return text;
  };
  comparison const c = compared(with(0.8), with(0.8));
  auto const column = [&](char const* path, char const* name) {
    for (strata::compared_column const& each : c.find(path)->columns)
      if (each.name == name) return each.before;
    return -1.0;
  };
  REQUIRE(c.find("read") != nullptr);
  CHECK_FALSE(c.find("read")->once);
  CHECK(c.find("read")->before_ms == doctest::Approx(1));
  CHECK(column("read", "calls") == doctest::Approx(1));
  CHECK(column("read", "copied_bytes") == doctest::Approx(100));
  CHECK(column("read", "host_max_ns") == doctest::Approx(3e6));  // of a call
  CHECK_FALSE(c.find("part[*]")->once);
  CHECK(c.find("part[*]")->before_ms == doctest::Approx(1));
  CHECK(column("part[*]", "calls") == doctest::Approx(1));
  CHECK(column("part[*]", "copied_bytes") == doctest::Approx(50));
}

TEST_CASE("a counted row of many members is refused") {
  std::string values = "{\"m0\":1";
  for (int i = 1; i < 600; ++i) values += ",\"m" + std::to_string(i) + "\":1";
  std::string text = profile_text({1, 1}, {{"a", 1e6, 0, 5}});
  text.pop_back();
  text += ",\"counters\":{\"values\":[{\"path\":\"a\",\"total\":" + values + "}}]}}";
  run_tables odd;
  CHECK(tools::read_profile_json(text, odd) ==
        "Its rows are not those of a profile: the file was changed.");
}

TEST_CASE("where all ranges changed, how they differ is no noise") {
  std::vector<double> const steps(10, 3.0), fast(10, 1.0);
  auto const with = [](double a, double b, double c) {
    return std::vector<range>{{"a", a, a / 100, 10}, {"b", b, b / 100, 10}, {"c", c, c / 100, 10}};
  };
  std::string const before = profile_text(steps, with(1e6, 1e6, 1e6));
  comparison const all = compared(before, profile_text(fast, with(1e5, 3e5, 6e5)));
  CHECK(all.verdict == comparison_verdict::no_regression);
  for (strata::compared_range const& each : all.ranges) CHECK(each.noise < 0.01);
  comparison const one = compared(before, profile_text(steps, with(1e6, 1e6, 6e5)));
  for (strata::compared_range const& each : one.ranges) CHECK(each.noise > 0.01);
}

}  // namespace compare_test
