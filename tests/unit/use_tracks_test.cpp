#include "report/use_tracks.hpp"
#include <doctest/doctest.h>
#include "report/trace.hpp"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "page_sample.hpp"

namespace use_tracks_test {

using namespace report_test;
using nlohmann::json;

namespace {

using points = std::vector<std::pair<std::int64_t, std::uint32_t>>;

points of(detail::use_sum& sum) {
  points made;
  for (detail::use_track::point const& each : sum.points()) made.emplace_back(each.time, each.use);
  return made;
}

json events_of(page_test::page_tables const& tables) {
  return json::parse(text_of(
      [&](detail::text_writer& out) { (void)write_trace(out, tables.input()); }))["traceEvents"];
}

/// The value of a track at a time.
double at(json const& events, std::string const& name, std::int64_t time) {
  double value = 0.0;
  for (json const& e : events)
    if (e["ph"] == "C" && e["name"] == name && e["ts"].get<double>() * 1000.0 <= time + 0.5)
      value = e["args"]["percent"].get<double>();
  return value;
}

}  // namespace

TEST_CASE("of uses that overlap the largest counts, and none is 0") {
  detail::use_sum sum;
  sum.add(10, 40, 20.0);
  sum.add(20, 30, 65.04);
  sum.add(30, 50, 20.0);
  sum.add(60, 70, 5.0);
  sum.add(60, 60, 90.0);
  sum.add(0, 90, detail::not_a_number);
  CHECK(of(sum) == points{{10, 200}, {20, 650}, {30, 200}, {50, 0}, {60, 50}, {70, 0}});
}

TEST_CASE("a trace has the counted use of a range for as long as it works on the GPU") {
  page_test::page_tables const tables(page_test::gpt2_sample(2, 3).made);
  report_input const input = tables.input();
  json const events = events_of(tables);
  counter_table const& counted = input.counters[0].ranges;
  std::size_t const metric = counted.find("hbm_of_peak");
  REQUIRE(metric != counted.none);
  std::size_t compared = 0;
  for (json const& e : events) {
    if (e["ph"] != "X" || e["cat"] != "gpu_user_annotation") continue;
    for (std::size_t row = 0; row < input.ranges.size(); ++row) {
      if (input.ranges[row].path != e["args"]["path"]) continue;
      if (input.ranges[row].self.kernels != input.ranges[row].total.kernels) continue;
      double const use = counted.at(row, metric, counter_scope::total).value;
      if (detail::is_nan(use)) continue;
      auto const middle = static_cast<std::int64_t>(
          (e["ts"].get<double>() + e["dur"].get<double>() / 2.0) * 1000.0);
      CHECK(at(events, "HBM use, means", middle) == doctest::Approx(use).epsilon(0.03));
      ++compared;
    }
  }
  CHECK(compared > 20);
}

TEST_CASE("the busy share of a trace adds up to the time in which the GPU worked") {
  page_test::page_tables const tables(page_test::gpt2_sample(2, 3).made);
  double busy = 0.0;
  double last = 0.0;
  std::int64_t since = 0;
  for (json const& e : events_of(tables)) {
    if (e["ph"] != "C" || e["name"] != "GPU busy") continue;
    auto const time = static_cast<std::int64_t>(e["ts"].get<double>() * 1000.0 + 0.5);
    busy += last / 100.0 * static_cast<double>(time - since);
    last = e["args"]["percent"].get<double>();
    since = time;
  }
  CHECK(last == 0.0);
  CHECK(busy ==
        doctest::Approx(static_cast<double>(tables.input().ranges[0].gpu_busy_ns)).epsilon(0.01));
}

TEST_CASE("a trace names the uses of a GPU; without counters there are none") {
  page_test::page_tables const tables(page_test::gpt2_sample(2, 3).made);
  std::set<std::string> names;
  for (json const& e : events_of(tables))
    if (e["ph"] == "C") names.insert(e["name"].get<std::string>());
  CHECK(names.count("GPU busy") == 1);
  CHECK(names.count("HBM use, means") == 1);

  profile without = page_test::gpt2_sample(2, 3).made;
  without.counter_sets.clear();
  for (json const& e : events_of(page_test::page_tables(without)))
    if (e["ph"] == "C") CHECK(e["name"] == "device memory");
}

}  // namespace use_tracks_test
