// What a step becomes, of timelines that are computed by hand; and trials that the device timed.
#include <doctest/doctest.h>
#include "analyse/step_replay.hpp"
#include "analyse/steps.hpp"
#include "analyse/what_if.hpp"
#include "benchmark/trials.hpp"

#include <cstdint>
#include <string>

#include "sample_profile.hpp"

namespace replay_by_hand_test {

using namespace strata;

namespace {

constexpr std::int64_t us = 1000;

/// Calls and work at given times; one step, if it is told.
struct timeline : sample::maker {
  std::uint32_t a = node(0, "a");
  std::uint32_t below = node(a, "below");
  std::uint32_t b = node(0, "b");

  timeline() {
    made.traced = true;
    made.kernel_names.push_back({"work"});
  }
  std::uint32_t call_at(std::int64_t begin, std::int64_t end, std::uint32_t where = 0,
                        api_kind kind = api_kind::launch, std::uint16_t thread = 0) {
    std::uint32_t const id = launch(where, begin * us, end * us, kind, thread);
    made.launches.back().step = made.has_steps ? 0 : no_step;
    return id;
  }
  void kernel_at(std::uint32_t id, std::int64_t begin, std::int64_t end, std::uint32_t stream = 1) {
    kernel_record& record = kernel(id, begin * us, end * us);
    record.name = 1;
    record.stream = stream;
  }
  void step(std::int64_t end) {
    made.has_steps = true;
    made.steps.push_back({0, end * us, 0, 0});
    made.end = end * us + 1;
    for (driver_call_record& each : made.launches) each.step = 0;
  }
  step_analysis steps() const {
    call_tree const tree(made);
    return make_steps(made, call_tree(made, folding::by_name), tree.rows());
  }
  double predicted(what_if const& change) const {
    call_tree const folded(made, folding::by_name);
    return predict(made, folded, steps(), std::vector<what_if>(1, change))[0];
  }
  /// Without the kernels of a row.
  double without(std::uint32_t where, bool with_below = false) const {
    what_if change;
    change.row = call_tree(made, folding::by_name).position_of(where);
    change.kernels = 0.0;
    change.below = with_below;
    return predicted(change);
  }
};

}  // namespace

TEST_CASE("a change of a range and those below it ends with them") {
  timeline run;
  run.kernel_at(run.call_at(1, 2, run.a), 5, 105);
  run.kernel_at(run.call_at(2, 3, run.below), 106, 306);
  run.kernel_at(run.call_at(3, 4, run.b), 307, 607);
  run.call_at(4, 609, 0, api_kind::wait);
  run.step(610);
  CHECK(run.without(run.a) == doctest::Approx(510 * us));
  CHECK(run.without(run.a, true) == doctest::Approx(310 * us));
  CHECK(run.without(run.b, true) == doctest::Approx(310 * us));
}

TEST_CASE(
    "a kernel has come to the device in the time that a quarter of launches takes, or was queued") {
  timeline run;
  std::int64_t const latencies[] = {3, 3, 3, 9, 9, 9, 9, 9};
  for (std::int64_t i = 0; i < 8; ++i)
    run.kernel_at(run.call_at(100 * i, 100 * i + 2, run.a), 100 * i + latencies[i],
                  100 * i + latencies[i] + 10);
  run.kernel_at(run.call_at(900, 902, run.b), 903, 1006);
  // Its stream was free 6 us after its call: it stood there already, and began 20 us late.
  run.kernel_at(run.call_at(1000, 1002, run.a), 1026, 1076);
  run.call_at(1002, 1078, 0, api_kind::wait);
  run.step(1080);
  // Without what it stood behind it begins as others do, 9 us after its call.
  CHECK(run.without(run.b) == doctest::Approx(1063 * us));
}

TEST_CASE(
    "work waited for another stream's only where it began within ten microseconds of its end") {
  for (std::int64_t const gap : {5, 30}) {
    CAPTURE(gap);
    timeline run;
    std::uint32_t const second = run.call_at(1, 3, run.b);
    std::uint32_t const first = run.call_at(3, 5, run.a);
    run.kernel_at(first, 10, 60, 1);
    run.kernel_at(second, 60 + gap, 160 + gap, 2);
    run.call_at(5, 162 + gap, 0, api_kind::wait);
    run.step(164 + gap);
    double const without = run.without(run.a);
    if (gap == 5)
      CHECK(without < (164 + gap - 30) * us);
    else
      CHECK(without == doctest::Approx(static_cast<double>((164 + gap) * us)));
  }
}

TEST_CASE("a long launch waits for the device only where 256 calls are under way") {
  timeline run;
  for (std::int64_t i = 0; i < 40; ++i)
    run.kernel_at(run.call_at(3 * i, i == 39 ? 147 : 3 * i + 3, run.a), 5 + 20 * i, 25 + 20 * i);
  run.call_at(147, 807, 0, api_kind::wait);
  run.step(808);
  // The last launch takes its 30 us all the same, and what it launches is waited for.
  CHECK(run.without(run.a) > 147 * us);
  CHECK(run.without(run.a) < 200 * us);
}

TEST_CASE("a wait is for work that was launched before it") {
  timeline run;
  run.kernel_at(run.call_at(5, 7, run.a), 20, 40, 1);
  run.call_at(10, 100, 0, api_kind::wait);
  run.kernel_at(run.call_at(50, 52, run.b, api_kind::launch, 1), 60, 99, 2);
  run.step(101);
  CHECK(run.without(run.b) == doctest::Approx(101 * us));
}

TEST_CASE("without steps the run lasts from its first work, whoever launched that") {
  timeline run;
  run.made.end = 100 * us;
  run.kernel_at(999, 10, 20);
  run.kernel_at(run.call_at(30, 33, run.a), 40, 60);
  call_tree const folded(run.made, folding::by_name);
  step_analysis const steps = run.steps();
  CHECK(detail::step_replay(run.made, folded, steps).unchanged_ns() == 50.0 * us);
}

// --- trials ---

TEST_CASE("outliers are three deviations of a normal distribution away, and one of a hundred") {
  benchmark_result made;
  for (double const ns : {90.0, 95.0, 100.0, 105.0, 110.0, 100.0, 121.0, 123.0})
    made.ns.push_back(ns);
  // The median is 102.5, the distances 2.5, 2.5, 2.5, 7.5, 7.5, 12.5, 18.5 and 20.5: their
  // median 7.5.
  detail::summarise(made);
  CHECK(made.median_ns == 102.5);
  CHECK(made.mad_ns == 7.5);
  CHECK(made.outliers == 0);  // 33.4 and more
  made.ns.push_back(136.0);
  made.ns.push_back(137.0);
  made.ns.push_back(69.0);
  // Of eleven the median is 105 and the distances' 15: 66.7.
  detail::summarise(made);
  CHECK(made.median_ns == 105.0);
  CHECK(made.outliers == 0);
  benchmark_result narrow;
  narrow.ns = {100, 100, 100, 102, 98, 104.6, 104.3, 95.6, 95.5, 101, 99, 100, 101, 99};
  detail::summarise(narrow);
  REQUIRE(narrow.median_ns == 100.0);
  REQUIRE(narrow.mad_ns == 1.0);
  CHECK(narrow.outliers == 2);  // 4.4478 and more
  benchmark_result still;
  still.ns = {100, 100, 100, 100, 100.9, 101.1};
  detail::summarise(still);
  CHECK(still.outliers == 1);
}

TEST_CASE("slopes over two variables that go together in part") {
  // z = 3 x - 2 y.
  detail::slopes const made =
      detail::fit({0.0, 1.0, 2.0, 3.0, 4.0}, {0.0, 2.0, 1.0, 4.0, 3.0}, {0.0, -1.0, 4.0, 1.0, 6.0});
  CHECK(made.x == doctest::Approx(3.0));
  CHECK(made.y == doctest::Approx(-2.0));
}

TEST_CASE("trials of the device: from the first work to the last, for each call of the function") {
  sample::maker maker;
  std::uint32_t const f = maker.node(0, "f");
  for (std::int64_t trial = 0; trial < 2; ++trial) {
    std::int64_t const begin = 1000 * trial;
    maker.call(f, begin, begin + 100);
    std::uint32_t const first = maker.launch(f, begin + 10, begin + 12);
    std::uint32_t const second = maker.launch(f, begin + 20, begin + 22);
    maker.kernel(second, begin + 300, begin + 500 + 100 * trial);
    maker.kernel(first, begin + 200, begin + 250);
  }
  vec<benchmark_result> results(1);
  results[0].name = "f";
  results[0].how.calls = 4;
  results[0].ns = {1.0, 2.0};
  detail::device_times(maker.made, results);
  CHECK(results[0].by_device);
  CHECK(results[0].ns[0] == 75.0);
  CHECK(results[0].ns[1] == 100.0);
}

}  // namespace replay_by_hand_test
