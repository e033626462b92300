// Equal runs, drawn from the steps of the recordings in examples/report: strata compare raises no
// alarm.
#include <doctest/doctest.h>
#include <strata/tables/call_tree.hpp>
#include <strata/tables/kernel_names.hpp>
#include "analyse/compare.hpp"
#include "recording/recording.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "../../tools/profile_json.hpp"
#include "../sanitizers.hpp"

namespace compare_resampled_test {

using namespace strata;

namespace {

/// The calls or launches of a step.
struct amount {
  double count = 0, sum = 0, squares = 0, shortest = 1e300, longest = 0;
  std::vector<double> all;

  void add(double ns) {
    all.push_back(ns);
    count += 1;
    sum += ns;
    squares += ns * ns;
    shortest = std::min(shortest, ns);
    longest = std::max(longest, ns);
  }
  double median() const { return all[all.size() / 2]; }
};
/// By path; of kernels by path and name.
using amounts = std::map<std::string, amount>;
struct one_step {
  double ns = 0;
  amounts ranges, kernels;
};

std::vector<one_step> steps_of(char const* name) {
  std::ifstream file(std::string(STRATA_TEST_DIR) + "/../examples/report/" + name,
                     std::ios::binary);
  std::string const text{std::istreambuf_iterator<char>(file), {}};
  profile recorded;
  REQUIRE(read_recording(text, recorded).ok());
  call_tree const tree(recorded);
  std::map<std::uint32_t, one_step> steps;
  for (step_record const& step : recorded.steps)
    steps[step.step].ns = static_cast<double>(step.end - step.begin);
  for (range_record const& range : recorded.ranges) {
    auto const found = steps.find(range.step);
    if (found == steps.end()) continue;
    std::string const& path = tree.rows()[tree.position_of(range.node)].path;
    found->second.ranges[path].add(static_cast<double>(range.end - range.begin));
  }
  std::map<std::uint32_t, std::uint32_t> step_of;
  for (driver_call_record const& call : recorded.launches) step_of[call.correlation] = call.step;
  for (kernel_record const& kernel : recorded.kernels) {
    auto const found = steps.find(step_of[kernel.correlation]);
    if (found == steps.end() || kernel.begin == lost_time) continue;
    std::string const& path = tree.rows()[tree.position_of(kernel.node)].path;
    std::string const key = path + "\",\"kernel\":\"k" + std::to_string(kernel.name);
    found->second.kernels[key].add(static_cast<double>(kernel.end - kernel.begin));
  }
  std::vector<one_step> all;
  for (auto& [number, step] : steps) all.push_back(std::move(step));
  for (one_step& step : all)
    for (amounts* const each : {&step.ranges, &step.kernels})
      for (auto& [key, one] : *each) std::sort(one.all.begin(), one.all.end());
  if (all.size() > 1) all.erase(all.begin());  // it pays for what the others find done
  return all;
}

std::string members(amount const& all, amount const& first, bool host) {
  double const mean = all.sum / all.count;
  double const spread =
      all.count > 1 ? std::max(0.0, all.squares - all.sum * mean) / (all.count - 1) : 0;
  std::string text;
  auto const add = [&](char const* of_host, char const* of_gpu, double value) {
    text += std::string(",\"") + (host ? of_host : of_gpu) + "\":" + std::to_string(value);
  };
  add("calls", "count", all.count);
  add("host_total_ns", "total_ns", all.sum);
  add("host_mean_ns", "mean_ns", mean);
  add("host_stddev_ns", "stddev_ns", std::sqrt(spread));
  add("host_min_ns", "min_ns", all.shortest);
  add("host_max_ns", "max_ns", all.longest);
  add("host_p50_ns", "p50_ns", all.median());
  add("first_step_calls", "first_step_count", first.count);
  add("first_step_host_ns", "first_step_ns", first.sum);
  return text;
}

/// A run of `count` steps that are drawn from these. Steps differ by 1 %, runs by 0.3 %, and in a
/// run each range by another 0.3 %. All takes `times` as long.
std::string drawn(std::mt19937& random, std::vector<one_step> const& from, int count,
                  double times = 1) {
  std::normal_distribution<double> normal(0, 1);
  double const of_run = times * (1 + 0.003 * normal(random));
  std::string text =
      R"({"schema":{"name":"strata.profile","version":1},"environment":{"command":"x"},)"
      R"("devices":[{"name":"GPU","clock_khz":1000}],"traced":true,"steps":[)";
  amounts sums[2], firsts[2];
  std::map<std::string, double> of_range;
  double at = 0;
  for (int i = 0; i < count; ++i) {
    one_step const& step = from[random() % from.size()];
    double const factor = of_run * (1 + 0.01 * normal(random));
    text += (i > 0 ? "," : "") + std::string("{\"step\":") + std::to_string(i) +
            ",\"begin_ns\":" + std::to_string(at) +
            ",\"end_ns\":" + std::to_string(at + factor * step.ns) + "}";
    at += factor * step.ns + 1;
    for (int gpu = 0; gpu < 2; ++gpu)
      for (auto const& [key, one] : gpu != 0 ? step.kernels : step.ranges) {
        auto const known = of_range.emplace(key, 0.0);
        if (known.second) known.first->second = 1 + 0.003 * normal(random);
        double const scale = factor * known.first->second;
        amount& sum = sums[gpu][key];
        sum.count += one.count;
        sum.sum += scale * one.sum;
        sum.squares += scale * scale * one.squares;
        sum.shortest = std::min(sum.shortest, scale * one.shortest);
        sum.longest = std::max(sum.longest, scale * one.longest);
        sum.all.push_back(scale * one.median());
        if (i != 0) continue;
        firsts[gpu][key].count = one.count;
        firsts[gpu][key].sum = scale * one.sum;
      }
  }
  text += "],\"ranges\":[{\"path\":\"\",\"calls\":0}";
  for (auto& [key, sum] : sums[0]) {
    std::sort(sum.all.begin(), sum.all.end());
    text += ",{\"path\":\"" + key + "\"" + members(sum, firsts[0][key], true) + "}";
  }
  text += "],\"kernels\":[";
  char const* between = "";
  for (auto& [key, sum] : sums[1]) {
    std::sort(sum.all.begin(), sum.all.end());
    text += between + std::string("{\"path\":\"") + key + "\"" +
            members(sum, firsts[1][key], false) + "}";
    between = ",";
  }
  return text + "]}";
}

constexpr char const* recordings[] = {"gpt2-eager.strata",       "gpt2-fused.strata",
                                      "llama-decode.strata",     "pytorch-attention.strata",
                                      "pytorch-training.strata", "pytorch-decode.strata"};

}  // namespace

TEST_CASE("equal runs drawn from real steps raise no alarm" * doctest::skip(test::sanitized)) {
  std::mt19937 random(23);
  int const pairs = 120;  // 1,000: docs/reference/comparison.md
  int alarms = 0, open = 0, made = 0;
  for (char const* const name : recordings) {
    std::vector<one_step> const steps = steps_of(name);
    if (steps.empty()) continue;
    for (int i = 0; i < pairs / 6; ++i) {
      int const counts[] = {2, 3, 5, 10, 20};
      run_tables files[2];
      for (run_tables& file : files)
        REQUIRE(tools::read_profile_json(drawn(random, steps, counts[random() % 5]), file) == "");
      comparison const c = compare(files[0], files[1]);
      ++made;
      alarms += c.verdict == comparison_verdict::regression;
      open += c.verdict == comparison_verdict::inconclusive;
    }
  }
  MESSAGE(made << " pairs: " << alarms << " false alarms, " << open << " inconclusive");
  CHECK(made >= pairs / 2);
  CHECK(alarms <= made / 100);
}

TEST_CASE("twenty times as long is found with two steps, and as much shorter is no regression") {
  std::mt19937 random(29);
  for (char const* const name : recordings) {
    std::vector<one_step> const steps = steps_of(name);
    for (int const count : {2, 3, 4, 20}) {
      CAPTURE(name);
      CAPTURE(count);
      run_tables fast, slow;
      REQUIRE(tools::read_profile_json(drawn(random, steps, count), fast) == "");
      REQUIRE(tools::read_profile_json(drawn(random, steps, count, 20), slow) == "");
      comparison const slower = compare(fast, slow);
      CHECK(slower.verdict == comparison_verdict::regression);
      CHECK(slower.reason.find("x slower") != std::string::npos);
      comparison const faster = compare(slow, fast);
      CHECK(faster.verdict == comparison_verdict::no_regression);
      CHECK(faster.reason.find("x faster") != std::string::npos);
    }
  }
}

TEST_CASE("the shipped recordings of one model, eager and fused, in both directions") {
  std::mt19937 random(31);
  run_tables eager, fused;
  REQUIRE(tools::read_profile_json(drawn(random, steps_of("gpt2-eager.strata"), 2), eager) == "");
  REQUIRE(tools::read_profile_json(drawn(random, steps_of("gpt2-fused.strata"), 4), fused) == "");
  CHECK(compare(fused, eager).verdict == comparison_verdict::regression);
  CHECK(compare(eager, fused).verdict == comparison_verdict::no_regression);
}

}  // namespace compare_resampled_test
