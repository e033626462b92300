// What the counting steps ran: single kernels of a range, other work in other steps, graphs.
#include <doctest/doctest.h>

#include <strata/analyse/kernel_table.hpp>
#include <strata/collect/counters/kernel_counters.hpp>
#include <string>

#include "counter_run.hpp"

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
  kernels_of_attention() : counting(hbm_read, "kernels=att*") {
    fake_profiler_set_weight(strata::detail::kernel_regions::mark, 1.0 / 32);
  }
};

}  // namespace

TEST_CASE("single kernels of a range, by name") {
  kernels_of_attention s;
  SUBCASE("counted between push and pop") {}
  SUBCASE("counted outside as well") { fake_profiler_count_kernels_anywhere(1); }
  run_steps(3, attention);
  profile const& p = s.profile();
  fake::no_problem(p);
  REQUIRE(p.counters(strata::counter_set::gpu_kernels).names.size() == 2);
  CHECK(p.counters(strata::counter_set::gpu_kernels).names[0] == hbm_read);
  CHECK(of_kernel(p, "attention", "scores")[0] == 32 * 8);
  CHECK(of_kernel(p, "attention", "values")[0] == 32 * 8);
  CHECK(of_kernel(p, "attention/inner", "softmax")[0] == 32 * 5);
  CHECK(of_kernel(p, "other", "outside").empty());
  CHECK(p.counters(strata::counter_set::gpu_kernels).kernels.size() == 3);
  strata::call_tree const tree(p);
  auto const rows = strata::make_kernel_table(p, tree);
  auto const table = strata::make_kernel_counter_table(p, tree, rows);
  CHECK(table.unknown == 0);
  for (std::size_t i = 0; i < rows.size(); ++i)
    CHECK(table.launches[i] == (rows[i].short_name == "outside" ? 0u : rows[i].count));
  CHECK(counted(p).total("attention", hbm_read) == 32 * 21);  // by range, as ever
}

TEST_CASE("kernels that cannot be joined give a sentence and no values") {
  kernels_of_attention s;
  run_steps(3, [] {
    STRATA_RANGE("attention");
    launch_blocks(8, "a");
    fake_kernel const kernel;
    (void)fake_graph_launch(fake_graph_clone([&] {
                              fake_graph_t const graph = fake_graph_create();
                              (void)fake_graph_create_node(graph, &kernel);
                              return graph;
                            }()),
                            7);
  });
  fake::one_problem(s.profile(), "cannot be joined for certain");
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

TEST_CASE("instrumented counters are left out in a program with graphs, the others are counted") {
  counting s(std::string(hbm_read) + '+' + sass);
  fake_kernel const kernel;
  fake_graph_t const graph = fake_graph_create();
  (void)fake_graph_create_node(graph, &kernel);
  fake_graph_t const executable = fake_graph_clone(graph);
  run_steps(4, [&] {
    STRATA_RANGE("step");
    launch_blocks(2);
    (void)fake_graph_launch(executable, 7);
  });
  profile const& p = s.profile();
  fake::one_problem(p, "this program uses CUDA graphs");
  CHECK(p.counters().passes == 1);
  CHECK(p.counters().passes_done == 1);
  CHECK(fake::says(counted(p).note("step", sass), "CUPTI did not count"));
  CHECK_FALSE(counted(p).empty("step", hbm_read));
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
  profile const& p = s.profile();
  fake::no_problem(p);
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
