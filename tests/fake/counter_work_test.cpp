// What the counting steps ran: single kernels of a range, other work in other steps, graphs.
#include <doctest/doctest.h>

#include <strata/collect/counters/kernel_counters.hpp>
#include <strata/tables/kernel_table.hpp>
#include <string>
#include <thread>
#include "analyse/ledger.hpp"

#include "counter_run.hpp"

namespace counter_work_test {

using fake::counted;
using fake::counting;
using fake::hbm_read;
using fake::launch_blocks;
using fake::run_steps;
using fake::sass;
using strata::profile;

namespace {

/// The values of one kernel in one range; empty where there are none.
strata::vec<double> of_kernel(profile const& p, std::string const& path, std::string const& name) {
  strata::call_tree const tree(p);
  for (strata::counted_kernel const& each : p.counters(strata::counter_set::gpu_kernels).kernels) {
    if (tree.row_of(each.node).path == path && p.kernel_names[each.name - 1].mangled == name)
      return each.values;
  }
  return {};
}

void attention() {
  {
    STRATA_RANGE("other");
    launch_blocks(8, "outside");
  }
  STRATA_RANGE("attention");
  launch_blocks(8, "scores");
  {
    STRATA_RANGE("inner");
    launch_blocks(2, "softmax");
    launch_blocks(3, "softmax");
  }
  launch_blocks(8, "values");
}

struct kernels_of_attention : counting {
  kernels_of_attention() : counting(hbm_read, "kernels=att*") {}
};

}  // namespace

TEST_CASE("single kernels of a range, by name") {
  kernels_of_attention s;
  run_steps(3, attention);
  profile const& p = fake::clean(s);
  REQUIRE(p.counters(strata::counter_set::gpu_kernels).names.size() == 1);
  CHECK(p.counters(strata::counter_set::gpu_kernels).names[0] == hbm_read);
  CHECK(of_kernel(p, "attention", "scores") == strata::vec<double>{32 * 8});
  CHECK(of_kernel(p, "attention", "values") == strata::vec<double>{32 * 8});
  CHECK(of_kernel(p, "attention/inner", "softmax") == strata::vec<double>{32 * 2});
  CHECK(of_kernel(p, "other", "outside").empty());
  CHECK(p.counters(strata::counter_set::gpu_kernels).kernels.size() == 4);  // softmax in two grids
  strata::call_tree const tree(p);
  auto const rows = strata::make_kernel_table(p, tree);
  auto const table = strata::make_kernel_counter_table(p, tree, rows);
  CHECK(table.unknown == 0);
  for (std::size_t i = 0; i < rows.size(); ++i)
    CHECK(table.launches[i] == (rows[i].short_name == "outside" ? 0u : rows[i].count));
  CHECK(counted(p).total("attention", hbm_read) == 32 * 21);  // by range, as ever
}

TEST_CASE("kernels of all threads are counted, in the range that they belong to") {
  counting s(hbm_read, "kernels=all");
  run_steps(4, [] {
    {
      STRATA_RANGE("backward");
      std::thread([] { launch_blocks(4, "adopted"); }).join();
    }
    launch_blocks(1, "outside");
  });
  profile const& p = fake::clean(s);
  CHECK(of_kernel(p, "backward", "adopted") == strata::vec<double>{32 * 4});
  strata::counter_set const& kernels = p.counters(strata::counter_set::gpu_kernels);
  CHECK(kernels.kernels.size() == 2);
  for (strata::counted_kernel const& each : kernels.kernels) CHECK(each.launches_max == 1);
}

TEST_CASE("of many launches of a kernel some are counted, and stand for the others") {
  int const launches = 3000;
  std::size_t const before = fake_profiler_pushes();
  {
    counting s(std::string(hbm_read) + "+sm__inst_issued.sum", "kernels=loop");
    run_steps(5, [] {
      STRATA_RANGE("loop");
      for (int i = 0; i < launches; ++i) launch_blocks(2, "same");
    });
    profile const& p = fake::clean(s);
    CHECK(of_kernel(p, "loop", "same") == strata::vec<double>{64.0 * launches, 64.0 * launches});
    CHECK(fake_profiler_pushes() - before < 1300);
  }
}

TEST_CASE("all launches of a short step are counted; a longer one is not counted for long") {
  auto const run = [](int steps, int launches) {
    run_steps(steps, [launches] {
      STRATA_RANGE("loop");
      constexpr char const* names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
      for (int i = 0; i < launches; ++i) launch_blocks(2, names[i % 8]);
    });
  };
  std::string const counters = std::string(hbm_read) + "+sm__inst_issued.sum";
  std::size_t const before = fake_profiler_pushes();
  {
    counting s(counters, "kernels=loop");
    run(5, 40);
    CHECK(of_kernel(fake::clean(s), "loop", "a") == strata::vec<double>{64.0 * 5, 64.0 * 5});
    CHECK(fake_profiler_pushes() - before >= 2 * 40);
  }
  std::size_t const of_short_steps = fake_profiler_pushes();
  {
    counting s(counters, "kernels=loop");
    run(4, 40);  // timed, counted by range, and one pass by kernel
    run(8, 3000);
    strata::counter_set const& set = s.profile().counters(strata::counter_set::gpu_kernels);
    REQUIRE(set.kernels.size() == 8);
    for (strata::counted_kernel const& each : set.kernels)
      CHECK(each.launches_min < each.launches_max);  // tables then show no value
    CHECK(fake_profiler_pushes() - of_short_steps < 250);
  }
}

TEST_CASE("findings count the kernels of ranges that have several, if there are steps enough") {
  for (char const* more : {"", "kernels=off"}) {
    for (int const steps : {4, 40}) {
      CAPTURE(more);
      CAPTURE(steps);
      counting s("findings", more);
      run_steps(steps, attention);
      profile const& p = s.profile();
      bool const counts = steps == 40 && *more == '\0';
      if (steps == 40) fake::no_problem(p);
      CHECK(of_kernel(p, "attention", "scores").empty() == !counts);
      CHECK(of_kernel(p, "attention", "values").empty() == !counts);
      CHECK(of_kernel(p, "attention/inner", "softmax").empty());  // the only kernel there
      CHECK(of_kernel(p, "other", "outside").empty());
      for (std::string const& problem : p.problems) CHECK_FALSE(fake::says(problem, "kernels"));
    }
  }
}

TEST_CASE("a graph beside kernels is not counted by kernel, and spoils nothing") {
  kernels_of_attention s;
  fake_kernel const kernel;
  fake_graph_t const graph = fake_graph_create();
  (void)fake_graph_create_node(graph, &kernel);
  fake_graph_t const executable = fake_graph_clone(graph);
  run_steps(4, [&] {
    STRATA_RANGE("attention");
    launch_blocks(8, "a");
    (void)fake_graph_launch(executable, 7);
  });
  fake::no_problem(s.profile());
  CHECK(s.profile().counters(strata::counter_set::gpu_kernels).kernels.size() == 1);
  CHECK(of_kernel(s.profile(), "attention", "a") == strata::vec<double>{32 * 8});
}

TEST_CASE(
    "a graph that no step before had, or that has changed since, is tried before it is counted") {
  fake_kernel const kernel;
  fake_graph_t const graph = fake_graph_create();
  (void)fake_graph_create_node(graph, &kernel);
  fake_graph_t const executable = fake_graph_clone(graph);
  for (std::string const how : {"new", "updated", "node set", "node enabled"}) {
    CAPTURE(how);
    kernels_of_attention s;
    run_steps(3, [&] {
      STRATA_RANGE("attention");
      launch_blocks(8, "a");
      if (how == "updated") (void)fake_graph_update(executable, graph);
      if (how == "node set") (void)fake_graph_set_kernel(executable, 0, &kernel, 0);
      if (how == "node enabled") (void)fake_graph_enable(executable, 0, 1);
      (void)fake_graph_launch(how == "new" ? fake_graph_clone(graph) : executable, 7);
    });
    CHECK(fake::has_problem(s.profile(), "launched what no step before them had"));
  }
}

TEST_CASE("kernels are not counted after ranges whose counting failed") {
  kernels_of_attention s;
  fake_fail("cuptiRangeProfilerStart", 1);
  run_steps(4, attention);
  fake_fail("cuptiRangeProfilerStart", 0);
  run_steps(8, attention);
  CHECK(s.profile().counters(strata::counter_set::gpu_kernels).kernels.empty());
}

TEST_CASE("kernels= without what to count, and a program that ends before") {
  strata::session alone(fake::configure("trace,formats=none,kernels=attention"));
  REQUIRE(alone.start().ok());
  fake::one_problem(alone.profile(), "kernels= says where to count kernels, but not what");
  kernels_of_attention s;
  run_steps(2, attention);
  fake::one_problem(s.profile(), "kernels=: the program ended after 0 of 1 counting steps");
}

namespace {

/// A program that launches a kernel and a graph in a range of each step.
struct graph_program : counting {
  explicit graph_program(std::string const& request, std::string const& more = "")
      : counting(request, more) {
    fake_kernel const kernel;
    fake_graph_t const graph = fake_graph_create();
    (void)fake_graph_create_node(graph, &kernel);
    executable = fake_graph_clone(graph);
  }
  void run(int steps) {
    run_steps(steps, [&] {
      STRATA_RANGE("step");
      launch_blocks(2);
      if (first_graph-- <= 0) (void)fake_graph_launch(executable, 7);
    });
  }
  fake_graph_t executable = 0;
  int first_graph = 0;  ///< the step that launches it first
};

std::string const because = "left out because of CUDA graphs: ";

}  // namespace

TEST_CASE("instrumented counters are left out in a program with graphs, the others are counted") {
  graph_program s(std::string(hbm_read) + '+' + sass);
  s.run(4);
  profile const& p = s.profile();
  fake::one_problem(p,
                    "counters: with CUDA graphs, counters that instrument kernels are left out: "
                    "smsp__sass_inst_executed.sum; switch graphs off to count it");
  CHECK(p.counters().passes == 1);
  CHECK(p.counters().passes_done == 1);
  CHECK(counted(p).note("step", sass) ==
        because + sass + " instruments kernels; switch graphs off to count it");
  CHECK_FALSE(counted(p).empty("step", hbm_read));
}

TEST_CASE("graphs that appear while counting is under way, and nothing but what they forbid") {
  {
    graph_program s(std::string(hbm_read) + '+' + sass);
    s.first_graph = 2;
    s.run(4);
    fake::one_problem(s.profile(), "are left out: smsp__sass_inst_executed.sum; switch");
    CHECK(s.profile().counters().passes == 1);
    CHECK_FALSE(counted(s.profile()).empty("step", hbm_read));
  }
  graph_program s(sass);
  s.run(3);
  profile const& p = s.profile();
  fake::one_problem(p, "are left out: smsp__sass_inst_executed.sum; switch graphs off");
  CHECK(p.counters().passes == 0);
  CHECK(fake::says(counted(p).note("step", sass), because));
}

TEST_CASE("presets beside graphs lose what instruments kernels, and nothing else") {
  for (char const* preset : {"roofline", "findings", "memory", "hbm"}) {
    CAPTURE(preset);
    graph_program s(preset);
    s.run(6);
    profile const& p = s.profile();
    counted const c(p);
    CHECK(p.counters().passes_done == p.counters().passes);
    std::size_t lost = 0;
    for (strata::resolved_metric const& each : p.counters().metrics.metrics) {
      CAPTURE(each.key);
      std::string const note = c.note("step", each.key);
      bool const left_out = note.compare(0, because.size(), because) == 0;
      lost += left_out;
      CHECK(c.empty("step", each.key) == (left_out || note == "a divisor is 0"));
    }
    for (char const* key : {"hbm_bytes", "l2_bytes"}) CHECK(c.total("step", key) > 0);
    if (std::string(preset) == "findings") {
      CHECK(lost > 4);
      fake::one_problem(p, "instrument kernels are left out: global_load_bytes, ");
      CHECK(fake::says(p.problems[0], " more; switch graphs off to count it"));
      CHECK(p.problems[0].size() < 300);
    } else {
      CHECK(lost == 0);
      fake::no_problem(p);
    }
    if (std::string(preset) == "findings" || std::string(preset) == "roofline") {
      for (char const* key : {"l1_data_bytes", "fp32_peak_per_cycle", "hbm_peak_bytes_per_cycle"})
        CHECK(c.total("step", key) > 0);
    }
  }
}

TEST_CASE("single kernels beside graphs: the sentence once, and no step for what is left out") {
  graph_program s(std::string(hbm_read) + '+' + sass, "kernels=att*");
  run_steps(5, [&] {
    attention();
    (void)fake_graph_launch(s.executable, 7);
  });
  profile const& p = s.profile();
  fake::one_problem(p, "are left out: smsp__sass_inst_executed.sum");
  strata::counter_set const& kernels = p.counters(strata::counter_set::gpu_kernels);
  REQUIRE(kernels.left_out.size() == 1);
  CHECK(kernels.left_out[0].key == sass);
  CHECK(of_kernel(p, "attention", "scores") == strata::vec<double>{32 * 8});
}

TEST_CASE("the byte ledger works beside graphs") {
  graph_program s("memory+instructions+l2_atomic_sectors");
  run_steps(6, [&] {
    STRATA_RANGE("step", strata::bytes(64));
    (void)fake_graph_launch(s.executable, 7);
  });
  strata::byte_ledger const ledger = strata::make_ledger(s.profile(), {});
  CHECK(ledger.step.hbm_bytes > 0);
}

TEST_CASE("counting steps with other grids or other kernels") {
  counting s(std::string(hbm_read) + '+' + fake::hbm_write);
  fake_profiler_set_metrics_per_pass(1);
  int step = 0;
  run_steps(3, [&] {
    ++step;
    {
      STRATA_RANGE("same");
      launch_blocks(2);
    }
    {
      STRATA_RANGE("growing");
      launch_blocks(step);
    }
    STRATA_RANGE("other");
    launch_blocks(2, step % 2 == 0 ? "even" : "odd");
  });
  profile const& p = fake::clean(s);
  counted const c(p);
  CHECK(c.note("same", hbm_read).empty());
  CHECK(c.work("same").empty());
  CHECK(c.work("growing") ==
        "varying: the counting steps ran the same kernels with other grids, 64 to 96 threads");
  CHECK(c.work("other") == "inconsistent: the counting steps ran other kernels, 1 to 1 launches");
}

TEST_CASE("replay runs its body once, whatever room it needs") {
  strata::session s(fake::configure("trace,formats=none"));
  fake::unscript();
  fake_profiler_reset();
  fake_profiler_set_full(fake_full::ignore, 1);
  REQUIRE(s.start().ok());
  launch_blocks(1);
  int runs = 0;
  strata::status const done = s.counters(hbm_read).replay([&] {
    ++runs;
    for (int i = 0; i < 100; ++i) {
      STRATA_RANGE("range", i);
      launch_blocks(1);
    }
  });
  CHECK(runs == 1);
  CHECK(done.code() == strata::errc::limit);
  CHECK(fake::says(done.message(), "replay(body, strata::repeatable)"));
  CHECK(fake_profiler_passes() == 1);
  for (strata::counter_value const& each : s.profile().counters().values) CHECK(each.value == 32);
  CHECK(s.profile().losses.counter_ranges_lost > 0);
  fake_profiler_reset();
}

}  // namespace counter_work_test
