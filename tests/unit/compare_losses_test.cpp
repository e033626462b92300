// What runs lost, few steps and other conditions bound what a comparison says.
#include <doctest/doctest.h>
#include "../../tools/profile_json.hpp"
#include "analyse/compare.hpp"

#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace compare_losses_test {

using strata::comparison;
using strata::comparison_verdict;
using strata::range_verdict;

namespace {

struct kernels_of {
  std::string path;
  double launches;  // in the run
  double timed;     // of these, with a time
  double ns;        // of each
};

struct one_run {
  std::vector<double> steps_ms = std::vector<double>(20, 8.0);
  std::vector<kernels_of> kernels;
  std::string losses;             // members: "\"timestamps_lost\":60"
  double calls = 20;              // of each range
  std::vector<std::string> rows;  // paths of ranges without kernels
  std::size_t first_step = 0;
  std::string counters;
};

std::string text_of(one_run const& run) {
  std::string text =
      R"({"schema":{"name":"strata.profile","version":1},"environment":{"command":"x"},)"
      R"("devices":[{"name":"GPU","clock_khz":1000}],"traced":true,"losses":{)" +
      run.losses + R"(},"steps":[)";
  double at = 0;
  for (std::size_t i = 0; i < run.steps_ms.size(); ++i) {
    text += (i > 0 ? "," : "") + std::string("{\"step\":") + std::to_string(run.first_step + i) +
            ",\"begin_ns\":" + std::to_string(at) +
            ",\"end_ns\":" + std::to_string(at + run.steps_ms[i] * 1e6) + "}";
    at += run.steps_ms[i] * 1e6 + 1;
  }
  text += "],\"ranges\":[{\"path\":\"\",\"calls\":0}";
  std::string kernels;
  auto const add_row = [&](std::string const& path, double launches) {
    std::string const name = path.substr(path.rfind('/') + 1);
    text += ",{\"path\":\"" + path + "\",\"name\":\"" + name +
            "\",\"calls\":" + std::to_string(run.calls) +
            ",\"host_total_ns\":" + std::to_string(1e5 * run.calls) +
            ",\"host_stddev_ns\":100,\"kernels\":" + std::to_string(launches) + "}";
  };
  for (kernels_of const& each : run.kernels) {
    add_row(each.path, each.launches);
    kernels += (kernels.empty() ? "" : ",") + std::string("{\"path\":\"") + each.path +
               "\",\"count\":" + std::to_string(each.launches) +
               ",\"total_ns\":" + std::to_string(each.timed * each.ns) +
               ",\"mean_ns\":" + std::to_string(each.timed > 0 ? each.ns : 0.0) +
               ",\"min_ns\":" + std::to_string(each.timed > 0 ? each.ns : 0.0) +
               ",\"max_ns\":" + std::to_string(each.timed > 0 ? each.ns : 0.0) +
               ",\"stddev_ns\":100}";
  }
  for (std::string const& path : run.rows) add_row(path, 0);
  return text + "],\"kernels\":[" + kernels + "]" + run.counters + "}";
}

comparison compared(one_run const& before, one_run const& after,
                    strata::compare_options const& options = {}) {
  strata::run_tables files[2];
  REQUIRE(tools::read_profile_json(text_of(before), files[0]) == "");
  REQUIRE(tools::read_profile_json(text_of(after), files[1]) == "");
  return strata::compare({&files[0]}, {&files[1]}, options);
}

/// Eight ranges of 40 kernels of 0.5 ms; of "mlp" the kernels take `ns`, and so many have no time.
one_run layers(double ns, double lost = 0) {
  one_run run;
  for (int i = 0; i < 7; ++i) run.kernels.push_back({"a" + std::to_string(i), 40, 40, 5e5});
  run.kernels.push_back({"mlp", 40, 40 - lost, ns});
  if (lost > 0) run.losses = "\"timestamps_lost\":" + std::to_string(lost);
  return run;
}

bool has(std::string const& text, char const* part) { return text.find(part) != std::string::npos; }
bool has_note(comparison const& c, char const* part) {
  for (std::string const& note : c.notes)
    if (has(note, part)) return true;
  return false;
}

}  // namespace

TEST_CASE("half of the times of a range lost: neither shorter nor slower is said") {
  // 40 % slower, of which half is missing: it looks 30 % shorter.
  comparison const c = compared(layers(5e5), layers(7e5, 20));
  CHECK(c.verdict == comparison_verdict::inconclusive);
  CHECK(has(c.reason, "mlp (GPU) is between 30.0 % shorter and 40.0 % longer"));
  CHECK(has(c.reason, "after: 20 records of GPU work whose times"));
  CHECK(has_note(c, "Lost in a run after: 20 records of GPU work"));
  strata::compared_range const* const mlp = c.find("mlp");
  REQUIRE(mlp != nullptr);
  CHECK(mlp->verdict == range_verdict::unsure);
  CHECK(mlp->lost);
  CHECK(mlp->lost_after == doctest::Approx(1.0));
  CHECK(mlp->least_change() == doctest::Approx(-0.3));
  CHECK(mlp->most_change() == doctest::Approx(0.4));
  CHECK(mlp->may_be_none());
  // The other way: what is missing makes the later run look slower.
  comparison const other = compared(layers(7e5, 20), layers(5e5));
  CHECK(other.verdict == comparison_verdict::inconclusive);
  CHECK(other.find("mlp")->lost_before == doctest::Approx(1.0));
  CHECK_FALSE(other.find("mlp")->slower);
  // A range that lost nothing is judged as ever.
  CHECK(c.find("a3")->verdict == range_verdict::within);
  CHECK(c.find("a3")->lost_after == 0);
}

TEST_CASE("a run that lost all times of the GPU is undecided, and not idle") {
  one_run lost = layers(5e5);
  for (auto& kernel : lost.kernels) kernel.timed = 0;
  lost.losses = "\"timestamps_lost\":320";
  for (bool const after : {false, true}) {
    CAPTURE(after);
    comparison const c = after ? compared(layers(5e5), lost) : compared(lost, layers(5e5));
    CHECK(c.verdict == comparison_verdict::inconclusive);
    CHECK(has(c.reason, after ? "a run after lost all its GPU times (320 records of GPU work"
                              : "a run before lost all its GPU times (320 records of GPU work"));
    CHECK(has(c.reason, "most often since the program met an error of CUDA"));
    CHECK_FALSE(c.comparable);
    CHECK(c.period.rows.empty());
    CHECK(c.most_changed() == nullptr);
    CHECK(c.headline.find("a step takes ") == 0);
  }
  strata::compare_options anyway;
  anyway.anyway = true;
  comparison const c = compared(layers(5e5), lost, anyway);
  CHECK(c.verdict == comparison_verdict::inconclusive);
  CHECK(c.period.rows.empty());
}

TEST_CASE("what a sum over ranges lost is as long as where it was lost") {
  // Of four layers the one with long kernels lost half of its times.
  one_run before = layers(5e5);
  for (int i = 0; i < 4; ++i)
    before.kernels.push_back({"block[" + std::to_string(i) + "]", 40, 40, i == 3 ? 8e5 : 1e5});
  one_run after = before;
  after.kernels.back().timed = 20;
  after.losses = "\"timestamps_lost\":20";
  comparison const c = compared(before, after);
  strata::compared_range const* const sum = c.find("block[*]");
  REQUIRE(sum != nullptr);
  CHECK(sum->most_change() == doctest::Approx(0.0).scale(1));
  CHECK(sum->change == doctest::Approx(7.0 / 11.0 - 1.0));
  CHECK(sum->may_be_none());
}

TEST_CASE("a verdict that holds with what was lost is said") {
  comparison const slower = compared(layers(5e5), layers(12e5, 10));
  CHECK(slower.verdict == comparison_verdict::regression);
  CHECK(slower.find("mlp")->slower);
  comparison const shorter = compared(layers(5e5), layers(2e5, 10));
  CHECK(shorter.verdict == comparison_verdict::no_regression);
  CHECK(has_note(shorter, "Lost in a run after"));
  // One of forty: 2.6 % may be missing, which no limit of 5 % minds.
  comparison const few = compared(layers(5e5), layers(5e5, 1));
  CHECK(few.verdict == comparison_verdict::no_regression);
  CHECK(few.find("mlp")->lost_after == doctest::Approx(1.0 / 39));
}

TEST_CASE("all times of a range lost") {
  comparison const c = compared(layers(5e5), layers(5e5, 40));
  CHECK(c.verdict == comparison_verdict::inconclusive);
  CHECK(has(c.reason, "mlp (GPU) lost nearly all its times in a run (after: 40 records"));
  CHECK(compared(layers(5e5, 40), layers(5e5)).verdict == comparison_verdict::inconclusive);
}

TEST_CASE("one bound says from when on a time is not known, in the reason and in its line") {
  // 20 of so many launches have a time.
  auto const with = [](double launches, double timed) {
    one_run run = layers(5e5);
    run.kernels.back() = {"mlp", launches, timed, 5e5};
    if (launches > timed) run.losses = "\"timestamps_lost\":" + std::to_string(launches - timed);
    return run;
  };
  for (double const times : {600.0, 2000.0}) {
    comparison const c = compared(with(20 + 20 * times, 20), with(20 + 20 * times, 20));
    strata::compared_range const* const mlp = c.find("mlp");
    REQUIRE(mlp != nullptr);
    CHECK(mlp->lost_after == doctest::Approx(times));
    CHECK(mlp->is_unknown() == (times > 1000));
    CHECK(has(c.reason, "mlp (GPU) is between") != mlp->is_unknown());
    CHECK(has(c.reason, "mlp (GPU) lost nearly all its times in a run") == mlp->is_unknown());
  }
}

TEST_CASE("records that are in no range are missed by the ranges that have fewer than others") {
  for (char const* const loss : {"activity_dropped", "launches_dropped", "uncorrelated",
                                 "work_unfinished", "unrecorded", "a_loss_of_a_newer_version"}) {
    CAPTURE(loss);
    one_run after = layers(5e5);
    after.kernels.back() = {"mlp", 20, 20, 7e5};
    CHECK(compared(layers(5e5), after).verdict == comparison_verdict::no_regression);
    after.losses = std::string("\"") + loss + "\":20";
    comparison const c = compared(layers(5e5), after);
    CHECK(c.verdict == comparison_verdict::inconclusive);
    CHECK(c.find("mlp")->lost_after == doctest::Approx(1.0));
    CHECK(c.find("a1")->lost_after == 0);  // it has as many as before
    // No more than were lost.
    after.losses = std::string("\"") + loss + "\":1";
    CHECK(compared(layers(5e5), after).find("mlp")->lost_after == doctest::Approx(0.05));
  }
}

TEST_CASE("calls that were lost bound host times, and each loss is of a known kind") {
  one_run before = layers(5e5);
  one_run after = layers(5e5);
  before.rows = after.rows = {"loader"};
  after.calls = 10;
  after.losses = "\"ranges_ended_elsewhere\":10";
  comparison const c = compared(before, after);
  strata::compared_range const* const loader = c.find("loader");
  REQUIRE(loader != nullptr);
  CHECK(loader->lost_after == doctest::Approx(1.0));
  CHECK(has_note(c, "ranges ended by another thread"));
  for (strata::loss_kind const& kind : strata::loss_kinds) {
    CAPTURE(kind.key);
    bool known = false;
    for (strata::detail::loss_effect_entry const& entry : strata::detail::loss_effects)
      known = known || entry.key == kind.key;
    CHECK(known);
  }
}

TEST_CASE("losses that leave sums whole decide nothing") {
  for (strata::detail::loss_effect_entry const& entry : strata::detail::loss_effects) {
    if (entry.effect != strata::detail::loss_effect::none) continue;
    CAPTURE(entry.key);
    one_run after = layers(5e5);
    after.losses = "\"" + std::string(entry.key) + "\":1000000";
    if (entry.key == "steps_folded") continue;  // see below
    comparison const c = compared(layers(5e5), after);
    CHECK(c.verdict == comparison_verdict::no_regression);
    CHECK_FALSE(has_note(c, "Lost"));
  }
}

TEST_CASE("steps that are in the sums only count in a mean step") {
  one_run twice = layers(5e5);
  for (kernels_of& each : twice.kernels) each.launches = each.timed = 80;
  twice.calls = 40;
  twice.losses = "\"steps_folded\":20";
  comparison const c = compared(layers(5e5), twice);
  CHECK(c.verdict == comparison_verdict::no_regression);
  CHECK(c.find("mlp")->change == doctest::Approx(0.0).scale(1));
}

TEST_CASE("what stands for many ranges is not compared") {
  one_run before = layers(5e5);
  one_run after = layers(5e5);
  for (one_run* const run : {&before, &after})
    for (char const* const path :
         {"[other names]", "block/[other ranges]", "a/b/[deeper]", "[other names]/inner"})
      run->kernels.push_back({path, 40, 40, run == &after ? 9e5 : 5e5});
  comparison const c = compared(before, after);
  CHECK(c.verdict == comparison_verdict::no_regression);
  for (char const* const path :
       {"[other names]", "block/[other ranges]", "a/b/[deeper]", "[other names]/inner"})
    CHECK(c.find(path) == nullptr);
  CHECK(has_note(c, "[other names] stands for many, and is not compared"));
  CHECK(c.only_before.empty());
}

TEST_CASE("indices without a row of their own belong to the sum over indices") {
  one_run before = layers(5e5);
  one_run after = layers(5e5);
  for (one_run* const run : {&before, &after})
    for (char const* const path : {"block[0]", "block[1]", "block[*]"})
      run->kernels.push_back({path, 40, 40, 5e5});
  comparison const c = compared(before, after);
  strata::compared_range const* const sum = c.find("block[*]");
  REQUIRE(sum != nullptr);
  CHECK(sum->judged_before_ms == doctest::Approx(3 * 40 * 0.5 / 20));
}

TEST_CASE("twenty times slower is no clock and no noise, with few steps too") {
  auto const run = [](std::vector<double> steps, double kernel_ns) {
    one_run made = layers(kernel_ns);
    for (kernels_of& each : made.kernels) {
      each.launches = each.timed = 8.0 * static_cast<double>(steps.size());
      each.ns = kernel_ns;
    }
    made.calls = static_cast<double>(steps.size());
    made.steps_ms = std::move(steps);
    return made;
  };
  one_run const fast = run({2.7, 2.6, 2.65, 2.7}, 1e4);
  one_run const slow = run({47.0, 47.2}, 2e5);
  comparison const slower = compared(fast, slow);
  CHECK(slower.verdict == comparison_verdict::regression);
  CHECK(has(slower.reason, "the step is 17.6x slower"));
  CHECK(slower.find("mlp")->slower);
  comparison const faster = compared(slow, fast);
  CHECK(faster.verdict == comparison_verdict::no_regression);
  CHECK(has(faster.reason, "17.6x faster"));
  // Of twenty steps each it is the same.
  CHECK(compared(run(std::vector<double>(20, 2.6), 1e4), run(std::vector<double>(20, 46.0), 2e5))
            .verdict == comparison_verdict::regression);
  // A device under load at another clock may be less than twice as slow, and no more.
  CHECK(compared(run({2.7, 2.6, 2.65, 2.7}, 1e4), run({4.9, 5.0}, 1.9e4)).verdict ==
        comparison_verdict::inconclusive);
  CHECK(compared(run({2.7, 2.6, 2.65, 2.7}, 1e4), run({5.7, 5.8}, 2.2e4)).verdict ==
        comparison_verdict::regression);
  // One long step of two is not all of them.
  CHECK(compared(run({2.7, 2.6, 2.65, 2.7}, 1e4), run({2.6, 80.0}, 1e4)).verdict ==
        comparison_verdict::inconclusive);
}

TEST_CASE("a thread without a CPU is no slower program") {
  auto const host = [](double ms, double cpu_ms) {
    std::string text =
        R"({"schema":{"name":"strata.profile","version":1},"environment":{"command":"x"},)"
        R"("devices":[],"traced":false,"steps":[)";
    for (int i = 0; i < 10; ++i)
      text += (i > 0 ? "," : "") + std::string("{\"step\":") + std::to_string(i) +
              ",\"begin_ns\":0,\"end_ns\":" + std::to_string(ms * 1e6) +
              ",\"cpu_ns\":" + std::to_string(cpu_ms * 1e6) + "}";
    text += R"(],"ranges":[{"path":"","calls":0},{"path":"a","calls":10,"host_total_ns":)" +
            std::to_string(ms * 1e7) + R"(,"host_stddev_ns":100}],"kernels":[]})";
    return text;
  };
  auto const verdict = [&](std::string const& before, std::string const& after) {
    strata::run_tables files[2];
    REQUIRE(tools::read_profile_json(before, files[0]) == "");
    REQUIRE(tools::read_profile_json(after, files[1]) == "");
    comparison const c = strata::compare(files[0], files[1]);
    CHECK(has_note(c, "The thread of the steps has a CPU for") == has(after, ":1000000."));
    return c.verdict;
  };
  CHECK(verdict(host(1, 1), host(15, 15)) == comparison_verdict::regression);
  CHECK(verdict(host(1, 1), host(15, 1)) == comparison_verdict::inconclusive);
}

TEST_CASE("few steps widen what noise can do, and even ones decide") {
  auto const with = [](std::vector<double> steps) {
    one_run made = layers(5e5);
    made.steps_ms = std::move(steps);
    return made;
  };
  comparison const even = compared(with({8.0, 8.01, 8.0}), with({8.01, 8.0, 8.0}));
  CHECK(even.verdict == comparison_verdict::no_regression);
  comparison const loud = compared(with({8.0, 8.6, 7.4}), with({8.5, 8.0, 7.5}));
  CHECK(loud.verdict == comparison_verdict::inconclusive);
  CHECK(loud.steps_to_decide > 3);
  comparison const longer = compared(with({8.0, 8.01, 8.0}), with({9.0, 9.01, 9.0}));
  CHECK(longer.verdict == comparison_verdict::inconclusive);  // one of twenty by chance
  CHECK(has(longer.reason, "which a run of 3 steps can be by chance: about 20 steps a run"));
}

TEST_CASE("runs that recorded other steps of a drifting program are not compared") {
  auto const with = [](std::size_t first, double growth) {
    one_run made = layers(5e5);
    made.first_step = first;
    for (std::size_t i = 0; i < 20; ++i)
      made.steps_ms[i] = 8.0 + growth * static_cast<double>(first + i) + 0.001 * (i % 3);
    return made;
  };
  comparison const drifts = compared(with(0, 0.1), with(50, 0.1));
  CHECK(drifts.verdict == comparison_verdict::inconclusive);
  CHECK(
      has(drifts.reason, "the runs recorded other steps (20 from 0 to 19, and 20 from 50 to 69)"));
  comparison const even = compared(with(0, 0.0), with(50, 0.0));
  CHECK(even.verdict == comparison_verdict::no_regression);
  CHECK(has_note(even, "The runs recorded other steps"));
  CHECK_FALSE(has(compared(with(0, 0.1), with(0, 0.1)).reason, "other steps"));
}

TEST_CASE("counters and clocks that differ are said") {
  auto const with = [](double mhz, char const* formula) {
    one_run made = layers(5e5);
    made.counters =
        std::string(R"(,"counters":{"metrics":[{"key":"hbm_bytes","unit":"B","formula":")") +
        formula + R"("}],"values":[{"path":"mlp","self":{"time_ns":1000000,"sm_cycles":)" +
        std::to_string(mhz * 1e3) + R"(,"hbm_bytes":5},"total":{"hbm_bytes":5}}]})";
    return made;
  };
  comparison const same = compared(with(1980, "dram"), with(1985, "dram"));
  CHECK(same.verdict == comparison_verdict::no_regression);
  CHECK(same.notes.empty());
  auto const column = [](comparison const& c) {
    for (auto const& each : c.find("mlp")->columns)
      if (each.name == "hbm_bytes") return true;
    return false;
  };
  CHECK(column(same));
  comparison const other = compared(with(1980, "dram"), with(1980, "lts"));
  CHECK_FALSE(column(other));
  CHECK(has_note(other, "Counters differ, and are not compared: 1 metric, hbm_bytes."));
  comparison const locked = compared(with(1980, "dram"), with(1200, "dram"));
  CHECK(locked.verdict == comparison_verdict::inconclusive);
  CHECK(has(locked.reason, "the clocks of the SMs differ where they were counted (1980 and 1200"));
  comparison const warm = compared(with(1980, "dram"), with(1900, "dram"));
  CHECK(warm.verdict == comparison_verdict::no_regression);
  CHECK(has_note(warm, "up to 4.2 % more is allowed"));
}

}  // namespace compare_losses_test
