// What CUPTI drops, refuses or has no value for is said and counted; what is left is right.
#include <doctest/doctest.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include "counter_run.hpp"

namespace counter_loss_test {

using fake::counted;
using fake::counting;
using fake::hbm_read;
using fake::hbm_write;
using fake::launch_blocks;
using fake::one_problem;
using fake::run_steps;
using fake::sass;
using strata::profile;

namespace {

/// One range a name, as many as asked for; the i-th launches i + 1 blocks.
void many(int ranges) {
  for (int i = 0; i < ranges; ++i) {
    STRATA_RANGE("range", i);
    launch_blocks(i + 1);
  }
}

/// The timed step has one range, so that the image has room for 33; then come counted steps.
void few_then_many(int counted_steps, int ranges) {
  run_steps(1, [] { many(1); });
  run_steps(counted_steps, [&] { many(ranges); });
}

std::string path(int i) { return "range[" + std::to_string(i) + ']'; }

void check_all(profile const& p, int ranges, char const* metric = hbm_read) {
  counted const c(p);
  // Ranges that no timed step had are not in the tree; their values are in the profile.
  CHECK(c.self(path(0), metric) == 32);
  double sum = 0;
  for (strata::counter_value const& each : p.counters().values) sum += each.value;
  CHECK(p.counters().values.size() == static_cast<std::size_t>(ranges));
  CHECK(sum == 32.0 * ranges * (ranges + 1) / 2);
}

}  // namespace

TEST_CASE("more ranges than room: the step is counted again with room for all") {
  counting s(hbm_read);
  SUBCASE("CUPTI drops them") { fake_profiler_set_full(fake_full::drop, 0); }
  SUBCASE("CUPTI refuses them") { fake_profiler_set_full(fake_full::refuse, 0); }
  SUBCASE("the room is one of pushes, and CUPTI drops them") {
    fake_profiler_set_full(fake_full::drop, 1);
  }
  SUBCASE("the room is one of pushes, and CUPTI refuses them") {
    fake_profiler_set_full(fake_full::refuse, 1);
  }
  few_then_many(4, 100);
  profile const& p = fake::clean(s);
  CHECK(fake_profiler_passes() == 2);
  CHECK(fake_profiler_room() >= 100);
  CHECK(p.counters().passes == 1);
  CHECK(p.counters().passes_done == 1);
  check_all(p, 100);
}

TEST_CASE("more ranges than room in a set of several passes") {
  counting s(std::string(hbm_read) + '+' + hbm_write);
  fake_profiler_set_metrics_per_pass(1);
  fake_profiler_set_weight(hbm_write, 0);
  few_then_many(6, 50);
  profile const& p = fake::clean(s);
  CHECK(fake_profiler_passes() == 4);
  CHECK(p.counters().passes_done == 2);
  double sum = 0;
  for (strata::counter_value const& each : p.counters().values) sum += each.value;
  CHECK(p.counters().values.size() == 100);
  CHECK(sum == 32.0 * 50 * 51 / 2);
}

TEST_CASE("a range that is pushed more often than there is room is counted again") {
  counting s(hbm_read);
  SUBCASE("names have room") {}
  SUBCASE("pushes have room, and CUPTI does not tell") {
    fake_profiler_set_full(fake_full::ignore, 1);
  }
  run_steps(1, [] { many(1); });
  run_steps(2, [] {
    for (int i = 0; i < 500; ++i) many(1);
  });
  fake::no_problem(s.profile());
  CHECK(fake_profiler_passes() == 2);
  CHECK(fake_profiler_room() >= 500);
  CHECK(counted(s.profile()).self(path(0), hbm_read) == 32 * 500);
}

TEST_CASE("room is made for as many pushes as the timed steps had") {
  counting s(hbm_read);
  fake_profiler_set_full(fake_full::ignore, 1);
  run_steps(2, [] {
    for (int i = 0; i < 500; ++i) many(1);
  });
  fake::no_problem(s.profile());
  CHECK(fake_profiler_passes() == 1);
  CHECK(counted(s.profile()).self(path(0), hbm_read) == 32 * 500);
}

TEST_CASE("the program ends before the step is counted again: what is sure is kept") {
  counting s(hbm_read);
  SUBCASE("dropped") { fake_profiler_set_full(fake_full::drop, 0); }
  SUBCASE("refused") { fake_profiler_set_full(fake_full::refuse, 0); }
  SUBCASE("by pushes") { fake_profiler_set_full(fake_full::drop, 1); }
  few_then_many(1, 40);
  profile const& p = s.profile();
  one_problem(p, "the program ended after 0 of 1 counting steps");
  CHECK(p.counters().values.size() == 34);
  for (std::size_t i = 0; i < p.counters().values.size(); ++i)
    CHECK(p.counters().values[i].value == 32.0 * static_cast<double>(i + 1));
  CHECK(p.losses.counter_ranges_lost == 6);
}

TEST_CASE("a program with new ranges in every step is not counted for ever") {
  counting s(hbm_read);
  run_steps(1, [] { many(1); });
  int step = 0;
  run_steps(8, [&] { many(100 << step++); });
  profile const& p = s.profile();
  CHECK(fake_profiler_passes() == 3);  // of 100, 200 and 400 ranges
  one_problem(p, "they have no values; use fewer different range names and indices");
  CHECK(p.counters().passes_done == 1);
  CHECK(p.losses.counter_ranges_lost > 0);
  CHECK(p.counters().values.size() + p.losses.counter_ranges_lost == 400);
  for (strata::counter_value const& each : p.counters().values) CHECK(each.value > 0);
}

TEST_CASE("ranges that CUPTI drops although there was room") {
  counting s(hbm_read);
  run_steps(1, [] { many(3); });
  fake_profiler_drop(2);
  run_steps(1, [] { many(3); });
  profile const& p = s.profile();
  CHECK(p.losses.counter_ranges_lost == 2);
  CHECK(p.counters().values.size() == 1);
  CHECK(counted(p).self(path(0), hbm_read) == 32);
}

TEST_CASE("ranges that CUPTI drops are counted again while the program continues") {
  counting s(hbm_read);
  run_steps(1, [] { many(3); });
  fake_profiler_drop(2);
  run_steps(3, [] { many(3); });
  fake::no_problem(s.profile());
  CHECK(counted(s.profile()).self(path(2), hbm_read) == 96);
}

TEST_CASE("CUPTI refuses some ranges: those have no value, and the others are right") {
  counting s(hbm_read);
  run_steps(1, [] { many(5); });
  fake_profiler_fail("cuptiRangeProfilerPushRange", 3, 2, 7);
  run_steps(1, [] { many(5); });
  profile const& p = s.profile();
  one_problem(p, "2 ranges have no values, since CUPTI refused them: cuptiRangeProfilerPushRange");
  CHECK(p.losses.counter_ranges_lost == 2);
  counted const c(p);
  CHECK(c.self(path(1), hbm_read) == 64);
  CHECK(c.empty(path(2), hbm_read));
  CHECK(c.empty(path(3), hbm_read));
  CHECK(c.self(path(4), hbm_read) == 160);
}

TEST_CASE("a range that CUPTI refused once has no value, rather than a part of it") {
  counting s(hbm_read);
  auto const step = [] {
    for (int i = 0; i < 3; ++i) many(2);
  };
  run_steps(1, step);
  fake_profiler_fail("cuptiRangeProfilerPushRange", 4, 1, 7);
  run_steps(1, step);
  counted const c(s.profile());
  CHECK(c.self(path(0), hbm_read) == 96);
  CHECK(c.empty(path(1), hbm_read));
}

TEST_CASE("CUPTI refuses every range") {
  counting s(hbm_read);
  run_steps(1, [] { many(2); });
  fake_profiler_fail("cuptiRangeProfilerPushRange", 1, 100, 999);
  run_steps(3, [] { many(2); });
  profile const& p = s.profile();
  REQUIRE(p.problems.size() == 2);
  CHECK(fake::says(p.problems[0], "cuptiRangeProfilerPushRange: CUPTI_ERROR_UNKNOWN (999): "));
  CHECK(fake::says(p.problems[1], "0 of 1 counting steps"));
  CHECK(p.counters().values.empty());
  CHECK(fake_profiler_passes() == 1);  // no second try
}

TEST_CASE("CUPTI does not end a range: no number of that pass is believed") {
  counting s(std::string(hbm_read) + '+' + sass);
  run_steps(2, [] { many(3); });
  fake_profiler_fail("cuptiRangeProfilerPopRange", 2, 1, 999);
  {
    // The fake's range stays open, as CUPTI's would.
    STRATA_STEP();
    many(3);
  }
  profile const& p = s.profile();
  CHECK(fake::says(p.problems.at(0), "cuptiRangeProfilerPopRange: CUPTI_ERROR_UNKNOWN (999): "));
  counted const c(p);
  CHECK(c.self(path(2), hbm_read) == 96);
  CHECK(c.empty(path(0), sass));
}

TEST_CASE("a metric without a value is empty in CSV and null in JSON, each with the reason") {
  (void)std::system("rm -rf without-value without-value-*");
  std::string const request = std::string(hbm_read) + '+' + hbm_write;
  strata::options how =
      fake::configure("trace,formats=csv+json,out=without-value,active=1,counters=" + request);
  strata::session s(how);
  fake::unscript();
  fake_profiler_reset();
  REQUIRE(s.start().ok());
  fake_profiler_lose_value(hbm_write, nullptr);
  run_steps(2, [] { many(2); });
  REQUIRE(s.report().ok());
  fake_profiler_reset();
  counted const c(s.profile());
  CHECK(c.self(path(0), hbm_read) == 32);
  CHECK(c.empty(path(0), hbm_write));
  CHECK(c.note(path(0), hbm_write) == "CUPTI gave no value for dram__bytes_write.sum");
  auto const text_of = [](char const* file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
  };
  std::istringstream csv(text_of("without-value/counters.csv"));
  int rows = 0;
  for (std::string line; std::getline(csv, line);) {
    if (!fake::says(line, "range[0]") || !fake::says(line, hbm_write)) continue;
    ++rows;
    CHECK(fake::says(line, ",,"));
    CHECK(fake::says(line, "CUPTI gave no value for dram__bytes_write.sum"));
    CHECK_FALSE(fake::says(line, "nan"));
  }
  CHECK(rows > 0);
  std::string const json = text_of("without-value/profile.json");
  CHECK(fake::says(json, "CUPTI gave no value for dram__bytes_write.sum"));
  CHECK(fake::says(json, "null"));
  CHECK_FALSE(fake::says(json, "nan"));
}

}  // namespace counter_loss_test
