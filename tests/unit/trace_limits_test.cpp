// What a trace leaves out, to the event, and lanes of slices that touch; the nearest of misspelt
// names.
#include <doctest/doctest.h>
#include "report/trace_plan.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include "report_sample.hpp"
#include "sample_profile.hpp"

namespace trace_limits_test {

using namespace strata;
using namespace strata::detail;

namespace {

std::size_t lanes_of(std::vector<std::pair<std::int64_t, std::int64_t>> const& times, bool nests) {
  vec<trace_slice> slices;
  for (auto const& time : times)
    slices.push_back({time.first, time.second, static_cast<std::uint32_t>(slices.size()), no_launch,
                      false, 0, nests ? slice_kind::range : slice_kind::kernel, 0});
  return split_into_lanes(slices).size();
}

}  // namespace

TEST_CASE("lanes: what touches follows, what ends together is within") {
  CHECK(lanes_of({{0, 10}, {10, 20}}, false) == 1);
  CHECK(lanes_of({{0, 10}, {9, 20}}, false) == 2);
  CHECK(lanes_of({{0, 10}, {5, 10}}, true) == 1);
  CHECK(lanes_of({{0, 10}, {5, 11}}, true) == 2);
  CHECK(lanes_of({{0, 10}, {0, 4}}, true) == 1);  // the longer one first
  CHECK(lanes_of({{0, 4}, {0, 10}}, true) == 1);
  CHECK(lanes_of({{0, 10}, {5, 10}}, false) == 2);
}

namespace {

/// The same by a look at each lane.
vec<vec<trace_slice>> slowly_split(vec<trace_slice> slices) {
  slices.sort();
  vec<vec<trace_slice>> lanes(1);
  vec<vec<trace_slice>> open(1);
  for (trace_slice const& slice : slices) {
    std::size_t lane = 0;
    for (;; ++lane) {
      if (lane == lanes.size()) {
        lanes.emplace_back();
        open.emplace_back();
      }
      vec<trace_slice>& within = open[lane];
      while (!within.empty() && within.back().end <= slice.begin) within.pop_back();
      if (within.empty()) break;
      if (within.back().kind != slice_kind::kernel && slice.end <= within.back().end) break;
    }
    open[lane].push_back(slice);
    lanes[lane].push_back(slice);
  }
  return lanes;
}

}  // namespace

TEST_CASE("lanes: each slice is on the first that has room for it") {
  sample::random_numbers random(7);
  for (int round = 0; round < 200; ++round) {
    std::uint32_t const times = 1 + random.below(60);
    vec<trace_slice> slices;
    for (std::uint32_t i = 0; i < 80; ++i) {
      std::int64_t const begin = random.below(times);
      bool const is_work = round % 2 == 0 && random.below(2) == 0;
      slices.push_back({begin, begin + random.below(1 + times / 2), i, no_launch, false, 0,
                        is_work ? slice_kind::kernel : slice_kind::range,
                        static_cast<std::uint8_t>(random.below(3))});
    }
    auto const expected = slowly_split(slices);
    auto const lanes = split_into_lanes(slices);
    REQUIRE(lanes.size() == expected.size());
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
      REQUIRE(lanes[lane].size() == expected[lane].size());
      for (std::size_t i = 0; i < lanes[lane].size(); ++i)
        CHECK(lanes[lane][i].index == expected[lane][i].index);
    }
  }
}

TEST_CASE(
    "a limit leaves out what begins after the last event that fits, and nothing of exactly so "
    "many") {
  sample::maker maker;
  for (std::int64_t begin = 0; begin < 6; ++begin) maker.launch(0, 10 * begin, 10 * begin + 1);
  maker.made.spans.push_back({100, 110, 0, 0, no_step, 0, 0, span_kind::range, {}});
  report_test::report_tables const tables(maker.made);
  report_input const input = tables.input();
  trace_labels const labels(input, false);
  struct {
    std::uint64_t most;
    std::uint64_t left_out;
  } const cases[] = {{8, 0}, {7, 1}, {6, 1}, {5, 2}, {1, 6}};
  for (auto const& each : cases) {
    CAPTURE(each.most);
    trace_plan plan(input, labels, each.most);
    CHECK(plan.left_out() == each.left_out);
  }
  CHECK(trace_plan(input, labels, 7).cutoff() == 100);
  CHECK(trace_plan(input, labels, 5).cutoff() == 50);
}

TEST_CASE("a name of five letters may have two mistakes, of two letters one") {
  auto const best = [](std::string const& wanted, std::string const& known) {
    nearest_names names(wanted);
    names.consider(known);
    return names.best().size();
  };
  CHECK(best("layer", "laxex") == 1);
  CHECK(best("layer", "xaxex") == 0);
  CHECK(best("ab", "ax") == 1);
  CHECK(best("abcd", "axcx") == 0);
}

}  // namespace trace_limits_test
