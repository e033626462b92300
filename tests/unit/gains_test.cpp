// The judge of gains, against limits that are written by hand.
#include "analyse/gains.hpp"
#include <doctest/doctest.h>
#include "analyse/roofline.hpp"
#include "analyse/speed_of_light.hpp"

#include <cstddef>
#include <utility>

#include "sample_profile.hpp"

namespace gains_test {

using namespace strata;
using detail::fix_of_kernels;
using detail::gain_judge;

namespace {

struct unit_use {
  gpu_unit unit;
  double part;
};

/// Kernels of 1,000 ns whose units are used by these parts.
range_limit load_of(std::initializer_list<unit_use> uses) {
  range_limit load;
  load.time_ns = 1000.0;
  load.counted = true;
  for (unit_use const& use : uses) load.units[use.unit] = 1000.0 * use.part;
  if (load.units.is_known()) load.roof = to_string(load.units.longest());
  load.roof_ns = load.units.longest_ns();
  return load;
}

roofline_table table_of(range_limit const& load) {
  roofline_table made;
  made.own.push_back(load);
  return made;
}

double gain_of(range_limit const& load, fix_of_kernels const& fix) {
  roofline_table const table = table_of(load);
  return gain_judge(table).gain(0, fix);
}

doctest::Approx within(double ns) { return doctest::Approx(ns).epsilon(1e-9); }

}  // namespace

TEST_CASE("gains: a unit at 80 % takes all of the time, one below its part of that") {
  CHECK(fix_of_kernels::taken_ns(load_of({{gpu_unit::l1, 0.2}}), gpu_unit::l1) == within(250));
  CHECK(fix_of_kernels::taken_ns(load_of({{gpu_unit::l1, 0.8}}), gpu_unit::l1) == within(1000));
  CHECK(fix_of_kernels::taken_ns(load_of({{gpu_unit::l1, 0.95}}), gpu_unit::l1) == within(1000));
  CHECK(fix_of_kernels::taken_ns(load_of({{gpu_unit::l1, 0.2}}), gpu_unit::hbm) == 0.0);
  range_limit const load = load_of({{gpu_unit::l1, 0.4}, {gpu_unit::hbm, 0.2}});
  CHECK(gain_of(load, fix_of_kernels().leaves(gpu_unit::l1, 0.5)) == within(250));
  CHECK(gain_of(load, fix_of_kernels().leaves(gpu_unit::l1, 0.0)) == within(500));
  // The larger of two, not their sum: units work at the same time.
  fix_of_kernels both;
  both.leaves(gpu_unit::l1, 0.5).leaves(gpu_unit::hbm, 0.5);
  CHECK(gain_of(load, both) == within(250));
  CHECK(gain_of(load, fix_of_kernels()) == 0.0);
  CHECK(gain_of(load, fix_of_kernels().leaves(gpu_unit::tensor, 0.0)) == 0.0);
}

TEST_CASE("gains: no less time remains than the nearest limit of what is left takes") {
  range_limit const load = load_of({{gpu_unit::l1, 0.8}, {gpu_unit::issue, 0.54}});
  // 0.54 / 0.9 of the time stay, whatever of L1 goes.
  CHECK(gain_of(load, fix_of_kernels().leaves(gpu_unit::l1, 0.0)) == within(400));
  CHECK(gain_of(load, fix_of_kernels().leaves(gpu_unit::l1, 0.5)) == within(400));
  // What is left of the unit itself: 0.8 * 0.75 / 0.9.
  CHECK(gain_of(load, fix_of_kernels().leaves(gpu_unit::l1, 0.75)) == within(250));
  CHECK(gain_of(load_of({{gpu_unit::l1, 0.9}}), fix_of_kernels().leaves(gpu_unit::l1, 0.95)) ==
        within(50));
  // Near a limit that stays nothing is to be gained.
  for (double const use : {0.9, 0.93, 1.0, 1.04}) {
    range_limit const near = load_of({{gpu_unit::tensor, use}, {gpu_unit::l1, 0.8}});
    CHECK(gain_of(near, fix_of_kernels().leaves(gpu_unit::l1, 0.0)) == 0.0);
    CHECK(gain_of(near, fix_of_kernels().ends_waits(1000.0)) == 0.0);
  }
}

TEST_CASE("gains: HBM and PCIe are full before their peaks, as in good work") {
  constexpr std::pair<gpu_unit, double> reached[] = {
      {gpu_unit::tensor, 0.9}, {gpu_unit::issue, 0.9}, {gpu_unit::l1, 0.9},
      {gpu_unit::l2, 0.9},     {gpu_unit::hbm, 0.8},   {gpu_unit::pcie, 0.85}};
  for (auto const& each : reached) {
    auto const& unit = each.first;
    auto const& part = each.second;
    CAPTURE(to_string(unit));
    CHECK(gain_of(load_of({{unit, 0.4}}), fix_of_kernels().ends_waits(1000.0)) ==
          within(1000 - 400 / part));
    CHECK(gain_of(load_of({{unit, part}}), fix_of_kernels().ends_waits(1000.0)) == within(0.0));
  }
  // The limit is what takes longest so, not what is used most.
  range_limit const load = load_of({{gpu_unit::hbm, 0.41}, {gpu_unit::l2, 0.45}});
  CHECK(gain_of(load, fix_of_kernels().ends_waits(1000.0)) == within(1000 - 410 / 0.8));
}

TEST_CASE("gains: work that a fix brings takes its unit too") {
  range_limit const load = load_of({{gpu_unit::fp64, 0.8}, {gpu_unit::fma, 0.09}});
  fix_of_kernels fix = fix_of_kernels().leaves(gpu_unit::fp64, 0.0);
  CHECK(gain_of(load, fix) == within(900));
  CHECK(gain_of(load, fix.adds(gpu_unit::fma, 180.0)) == within(700));
  CHECK(gain_of(load, fix.adds(gpu_unit::tensor, 450.0)) ==
        within(500));  // one that was not counted
  for (double const none : {0.0, -1.0, detail::not_a_number})
    CHECK(gain_of(load, fix_of_kernels().leaves(gpu_unit::fp64, 0.0).adds(gpu_unit::fma, none)) ==
          within(900));
}

TEST_CASE("gains: whatever the fix, between nothing and what units and limits allow") {
  sample::random_numbers random(7);
  for (int turn = 0; turn < 20'000; ++turn) {
    CAPTURE(turn);
    auto const part = [&random] { return random.below(1001) / 1000.0; };
    range_limit load = load_of({});
    for (std::size_t unit = 0; unit < gpu_units; ++unit)
      if (random.below(3) == 0) load.units[static_cast<gpu_unit>(unit)] = 1000.0 * part();
    load.roof_ns = load.units.longest_ns();
    double left[gpu_units];
    double most = 0.0;
    double least = 0.0;
    fix_of_kernels fix;
    for (std::size_t unit = 0; unit < gpu_units; ++unit) {
      auto const which = static_cast<gpu_unit>(unit);
      left[unit] = random.below(3) == 0 ? part() : 1.0;
      fix.leaves(which, left[unit]);
      double const reached = which == gpu_unit::hbm ? 0.8 : which == gpu_unit::pcie ? 0.85 : 0.9;
      double const added = random.below(4) == 0 ? 1000.0 * part() : 0.0;
      fix.adds(which, added);
      least = detail::larger(least, added / reached);
      if (!detail::is_finite(load.units[which])) continue;
      double const taken = 1000.0 * detail::smaller(1.0, load.units[which] / 800.0);
      most = detail::larger(most, taken * (1.0 - left[unit]));
      least = detail::larger(least, (load.units[which] * left[unit] + added) / reached);
    }
    if (random.below(2) == 0) {
      double const waits = 1000.0 * part();
      fix.ends_waits(waits);
      most = detail::larger(most, waits);
    }
    double const gain = gain_of(load, fix);
    CHECK(gain >= 0.0);
    CHECK(gain <= most + 1e-9);
    CHECK(1000.0 - gain >= detail::smaller(1000.0, least) - 1e-9);
    for (std::size_t unit = 0; unit < gpu_units; ++unit)
      if (load.units[static_cast<gpu_unit>(unit)] >= 800.0)
        most = detail::smaller(most, 1000.0 * (1.0 - left[unit]));
    double const expected = detail::larger(0.0, detail::smaller(most, 1000.0 - least));
    CHECK(gain == doctest::Approx(expected).epsilon(1e-9));
  }
}

TEST_CASE("gains: parts are from 0 to 1") {
  range_limit const load = load_of({{gpu_unit::hbm, 0.8}});
  CHECK(gain_of(load, fix_of_kernels().leaves(gpu_unit::hbm, -3.0)) == within(1000));
  CHECK(gain_of(load, fix_of_kernels().leaves(gpu_unit::hbm, 2.0)) == 0.0);
}

TEST_CASE("gains: an end of waits gains what is waited, other work what is longer than it") {
  range_limit const load = load_of({{gpu_unit::issue, 0.18}});
  CHECK(gain_of(load, fix_of_kernels().ends_waits(300.0)) == within(300));
  CHECK(gain_of(load, fix_of_kernels().ends_waits(1000.0)) == within(800));
  // Its units are not those of the work that it replaces.
  range_limit const fma = load_of({{gpu_unit::fma, 0.95}});
  CHECK(gain_of(fma, fix_of_kernels().replaces_all(90.0)) == within(910));
  CHECK(gain_of(fma, fix_of_kernels().replaces_all(1001.0)) == 0.0);
}

TEST_CASE("gains: without units the nearest roof is the limit") {
  range_limit load;
  load.time_ns = 1000.0;
  load.roof = "HBM";
  load.roof_ns = 450.0;
  CHECK(gain_of(load, fix_of_kernels().ends_waits(1000.0)) == within(1000 - 450 / 0.8));
  load.roof = "FP32";
  CHECK(gain_of(load, fix_of_kernels().ends_waits(1000.0)) == within(500));
  load.roof_ns = 0.0;
  CHECK(gain_of(load, fix_of_kernels().ends_waits(1000.0)) == within(1000));
}

TEST_CASE("gains: what is above its roof is no result, and gains nothing") {
  range_limit load = load_of({{gpu_unit::hbm, 0.5}});
  fix_of_kernels const fix = fix_of_kernels().leaves(gpu_unit::hbm, 0.0);
  CHECK(gain_of(load, fix) > 0.0);
  load.kind = limiter::above_roof;
  CHECK(gain_of(load, fix) == 0.0);
}

TEST_CASE("gains: no time twice, and claims can be undone") {
  roofline_table table = table_of(load_of({{gpu_unit::issue, 0.09}}));
  table.own.push_back(table.own[0]);
  gain_judge judge(table);
  fix_of_kernels const fix = fix_of_kernels().ends_waits(700.0);
  CHECK(judge.unexplained(0) == 1.0);
  CHECK(judge.gain(0, fix) == within(700));
  judge.claim(0, 700.0);
  CHECK(judge.unexplained(0) == within(0.3));
  CHECK(judge.gain(0, fix) == within(200));  // issue slots are used for 90, at 90 %
  CHECK(judge.gain(1, fix) == within(700));  // of another range
  judge.claim(0, 200.0);
  CHECK(judge.gain(0, fix) == 0.0);
  judge.claim(0, -200.0);
  CHECK(judge.gain(0, fix) == within(200));
  judge.claim(0, 5000.0);  // never less than nothing
  CHECK(judge.unexplained(0) == 0.0);
  CHECK(judge.gain(0, fix) == 0.0);
  CHECK(gain_judge(table_of({})).unexplained(0) == 0.0);
}

TEST_CASE("gains: what is set apart is not gained, and explains nothing of the rest") {
  roofline_table const table = table_of(load_of({}));
  gain_judge judge(table);
  judge.set_apart(0, 600.0);
  CHECK(judge.unexplained(0) == 1.0);
  CHECK(judge.gain(0, fix_of_kernels().ends_waits(700.0)) == within(400));
  judge.claim(0, 100.0);
  CHECK(judge.unexplained(0) == within(0.75));
  judge.set_apart(0, 5000.0);
  CHECK(judge.unexplained(0) == 0.0);
}

TEST_CASE("gains: kernels that a unit bounds wait for nothing else") {
  fix_of_kernels const waits = fix_of_kernels().ends_waits(700.0);
  CHECK(gain_of(load_of({{gpu_unit::tensor, 0.79}}), waits) == within(1000 - 790 / 0.9));
  CHECK(gain_of(load_of({{gpu_unit::tensor, 0.8}}), waits) == 0.0);
  fix_of_kernels const less = fix_of_kernels(waits).leaves(gpu_unit::tensor, 0.5);
  CHECK(gain_of(load_of({{gpu_unit::tensor, 0.8}}), less) == within(500));
  fix_of_kernels const other = fix_of_kernels().leaves(gpu_unit::l2, 0.1);
  CHECK(gain_of(load_of({{gpu_unit::tensor, 0.79}, {gpu_unit::l2, 0.6}}), other) ==
        within(1000 - 790 / 0.9));
  CHECK(gain_of(load_of({{gpu_unit::tensor, 0.8}, {gpu_unit::l2, 0.6}}), other) == 0.0);
}

TEST_CASE("gains: of a range with those below it, what no other cause has") {
  roofline_table table = table_of(load_of({{gpu_unit::fma, 0.45}}));
  table.own.push_back(table.own[0]);
  range_limit whole = load_of({{gpu_unit::fma, 0.45}});
  whole.time_ns = 2000.0;
  whole.units[gpu_unit::fma] = 900.0;
  gain_judge judge(table);
  CHECK(judge.gain_below(0, 2, whole, 0.5, 1200.0) == within(1200));
  CHECK(judge.gain_below(0, 2, whole, 0.5, 1900.0) == within(1500));  // half of 900 at 90 %
  judge.claim(1, 800.0);
  CHECK(judge.gain_below(0, 2, whole, 0.5, 1200.0) == within(700));
  CHECK(judge.gain_below(0, 1, whole, 0.5, 1200.0) == within(500));
  whole.kind = limiter::above_roof;
  CHECK(judge.gain_below(0, 2, whole, 0.5, 1200.0) == 0.0);
}

TEST_CASE("units: the longest is the limit; shared memory is named where it is most of L1") {
  unit_times units;
  CHECK_FALSE(units.is_known());
  CHECK(units.longest() == gpu_unit::count);
  CHECK(units.longest_ns() == 0.0);
  CHECK(to_string(gpu_unit::count).empty());
  units[gpu_unit::l1] = 100.0;
  units[gpu_unit::hbm] = 90.0;
  units[gpu_unit::shared] = 49.0;
  CHECK(units.longest() == gpu_unit::l1);
  units[gpu_unit::shared] = 51.0;
  CHECK(units.longest() == gpu_unit::shared);
  CHECK(units.longest_ns() == 100.0);
  CHECK(units.longest_name("HBM") == "L1 with shared memory");
  units[gpu_unit::shared] = 100.0;
  CHECK(units.longest_name("HBM") == "shared memory");
  units.scale(0.5);
  CHECK(units[gpu_unit::hbm] == 45.0);
  CHECK_FALSE(detail::is_finite(units[gpu_unit::tensor]));
  units[gpu_unit::tensor] = 60.0;
  CHECK(units.longest() == gpu_unit::tensor);
  CHECK(to_string(gpu_unit::tensor) == "tensor");
}

}  // namespace gains_test
