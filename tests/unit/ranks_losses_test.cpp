// What ranks lost bounds who is last, and where.
#include <doctest/doctest.h>
#include "analyse/rank_comparison.hpp"
#include "analyse/rank_run.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

#include "sample_profile.hpp"

namespace ranks_losses_test {

using namespace strata;

namespace {

/// A rank of 10 steps: 40 and 60 ns of work, then a collective.
rank_run made_run(std::int32_t rank, double collective_ns) {
  rank_run run;
  run.rank = rank;
  run.by_step = true;
  run.step_ns = 200.0;
  run.recorded_steps = 11;
  run.collectives.emplace_back();
  run.collectives[0].path = "sync";
  run.collectives[0].kernel = "reduce";
  for (std::uint32_t step = 1; step <= 10; ++step) {
    run.steps.push_back(step);
    run.busy_ns.push_back(100.0 + collective_ns);
    run.work_ns.push_back(100.0);
    run.lost_work.push_back(0.0);
    run.collectives[0].ns.push_back(collective_ns);
    run.collectives[0].launches.push_back(1.0);
    run.collectives[0].lost.push_back(0.0);
  }
  run.ranges.push_back({"forward", 40.0, 1.0, 0.0});
  run.ranges.push_back({"backward", 60.0, 2.0, 0.0});
  return run;
}
/// Rank 1 is last by 20 ns, which it works more in "backward".
std::vector<rank_run> three_ranks() {
  std::vector<rank_run> runs;
  for (std::int32_t rank = 0; rank < 3; ++rank) runs.push_back(made_run(rank, rank == 1 ? 10 : 30));
  runs[1].ranges[1].ns = 80.0;
  for (double& ns : runs[1].work_ns) ns += 20.0;
  return runs;
}
void lose(rank_run& run, char const* key, double count) {
  run.losses.add(key, detail::loss_words(key), count);
}

}  // namespace

TEST_CASE("ranks that lost nothing") {
  std::vector<rank_run> runs = three_ranks();
  rank_comparison const made = compare_ranks(runs);
  CHECK(made.verdict == rank_verdict::stands_out);
  CHECK(made.last().rank == 1);
  CHECK(made.losses.empty());
  CHECK(made.extra()->path == "backward");
  CHECK(made.extra()->least_more_ns == made.extra()->last_more_ns);
  CHECK(made.extra()->most_more_ns == made.extra()->last_more_ns);
}

TEST_CASE("a collective without a time makes no rank late: its step is left out") {
  std::vector<rank_run> runs;
  for (std::int32_t rank = 0; rank < 3; ++rank) runs.push_back(made_run(rank, 30));
  for (std::size_t const step : {2u, 3u, 7u}) {
    runs[2].collectives[0].ns[step] = 0.0;
    runs[2].collectives[0].lost[step] = 1.0;
  }
  lose(runs[2], "timestamps_lost", 3.0);
  rank_comparison const made = compare_ranks(runs);
  CHECK(made.verdict == rank_verdict::none_stands_out);
  CHECK(made.left_out == 3);
  CHECK(made.steps == 7);
  CHECK(made.last().late_ns == 0.0);
  CHECK(made.losses == "rank 2: 3 records of GPU work whose times are lost or cannot be");
}

TEST_CASE("where too few steps are whole nothing is said") {
  std::vector<rank_run> runs = three_ranks();
  for (std::size_t step = 0; step < 6; ++step) {
    runs[0].collectives[0].ns[step] = 0.0;
    runs[0].collectives[0].lost[step] = 1.0;
  }
  lose(runs[0], "timestamps_lost", 6.0);
  rank_comparison const made = compare_ranks(runs);
  CHECK(made.verdict == rank_verdict::undecided);
  CHECK(made.lost);
}

TEST_CASE("a dropped record of a collective is seen by how many the others have") {
  std::vector<rank_run> runs;
  for (std::int32_t rank = 0; rank < 3; ++rank) runs.push_back(made_run(rank, 30));
  for (rank_run& run : runs)
    for (double& launches : run.collectives[0].launches) launches = 2.0;
  runs[1].collectives[0].launches[4] = 1.0;
  runs[1].collectives[0].ns[4] = 15.0;
  SUBCASE("and its step is left out where records were dropped") {
    lose(runs[1], "activity_dropped", 1.0);
    rank_comparison const made = compare_ranks(runs);
    CHECK(made.left_out == 1);
    CHECK(made.last().late_ns == 0.0);
  }
  SUBCASE("else ranks may do other things") {
    rank_comparison const made = compare_ranks(runs);
    CHECK(made.left_out == 0);
    CHECK(made.last().late_ns == doctest::Approx(1.5));
  }
}

TEST_CASE("what work was lost bounds in which range the last rank is late") {
  std::vector<rank_run> runs = three_ranks();
  runs[1].ranges[1] = {"backward", 40.0, 2.0, 1.0};  // half of its 80 ns
  for (double& lost : runs[1].lost_work) lost = 1.0;
  lose(runs[1], "timestamps_lost", 10.0);
  rank_comparison const made = compare_ranks(runs);
  CHECK(made.verdict == rank_verdict::stands_out);  // by its collectives, which are whole
  CHECK(made.last().work_lost_ns == doctest::Approx(40.0));
  for (rank_spread const& range : made.ranges) {
    if (range.path != "backward") continue;
    CHECK(range.last_more_ns == doctest::Approx(-20.0));
    CHECK(range.least_more_ns == doctest::Approx(-20.0));
    CHECK(range.most_more_ns == doctest::Approx(20.0));
  }
}

TEST_CASE("means: lateness within what was lost is undecided") {
  std::vector<rank_run> runs = three_ranks();
  for (rank_run& run : runs) {
    run.by_step = false;
    run.steps.clear();
    run.busy_ns = {130.0};
    run.work_ns = {100.0};
    run.lost_work = {0.0};
    rank_collective& collective = run.collectives[0];
    collective.ns = {run.rank == 1 ? 10.0 : 30.0};
    collective.launches = {4.0};
    collective.lost = {0.0};
  }
  SUBCASE("a few percent do not matter") {
    runs[0].collectives[0].lost = {0.1};
    lose(runs[0], "timestamps_lost", 1.0);
    rank_comparison const made = compare_ranks(runs);
    CHECK(made.verdict == rank_verdict::stands_out);
    CHECK(made.lost_ns == doctest::Approx(30.0 * 0.1 / 3.9));
  }
  SUBCASE("half does") {
    runs[0].collectives[0].lost = {2.0};
    lose(runs[0], "timestamps_lost", 22.0);
    CHECK(compare_ranks(runs).verdict == rank_verdict::undecided);
  }
  SUBCASE("records that the last rank has fewer of") {
    runs[1].collectives[0].launches = {1.0};
    lose(runs[1], "activity_dropped", 1000.0);
    rank_comparison const made = compare_ranks(runs);
    CHECK(made.verdict == rank_verdict::undecided);
    CHECK(made.lost);
    CHECK(made.lost_ns == doctest::Approx(30.0));
  }
}

TEST_CASE("without collectives work that was lost makes no other rank late") {
  std::vector<rank_run> runs = three_ranks();
  for (rank_run& run : runs) {
    run.collectives.clear();
    run.work_ns.assign(10, 100.0);
    run.ranges[1] = {"backward", 60.0, 2.0, 0.0};
  }
  SUBCASE("by steps") {
    for (std::size_t step = 0; step < 4; ++step) {
      runs[0].work_ns[step] = 50.0;
      runs[2].work_ns[step] = 50.0;
      runs[0].lost_work[step] = runs[2].lost_work[step] = 1.0;
    }
    lose(runs[0], "timestamps_lost", 4.0);
    lose(runs[2], "timestamps_lost", 4.0);
    rank_comparison const made = compare_ranks(runs);
    CHECK(made.verdict == rank_verdict::none_stands_out);
    CHECK(made.left_out == 4);
  }
  SUBCASE("in each step") {
    for (std::int32_t const rank : {0, 2}) {
      rank_run& run = runs[static_cast<std::size_t>(rank)];
      run.work_ns.assign(10, 70.0);
      run.lost_work.assign(10, 1.0);
      run.ranges[1] = {"backward", 30.0, 2.0, 1.0};
      lose(run, "timestamps_lost", 10.0);
    }
    rank_comparison const made = compare_ranks(runs);
    CHECK(made.last().rank == 1);
    CHECK(made.verdict == rank_verdict::undecided);
  }
}

TEST_CASE("a range that stands for many is none in which a rank is late") {
  std::vector<rank_run> runs = three_ranks();
  for (rank_run& run : runs) run.ranges.push_back({"[other names]", run.rank == 1 ? 500.0 : 1.0});
  rank_comparison const made = compare_ranks(runs);
  for (rank_spread const& range : made.ranges) CHECK(range.path != "[other names]");
  CHECK(made.extra()->path == "backward");
}

TEST_CASE("a recording tells which launches have no time, in which step") {
  sample::maker p;
  p.made.has_steps = p.made.traced = true;
  p.made.environment.rank = 0;
  p.made.kernel_names.push_back({"gemm"});
  p.made.kernel_names.push_back({"_Z28ncclDevKernel_AllReduce_RINGPv"});
  std::uint32_t const where = p.node(root_node, "block");
  for (std::uint32_t step = 0; step < 3; ++step) {
    std::int64_t const begin = step * 1000;
    p.made.steps.push_back({begin, begin + 1000, step, 0});
    for (std::uint32_t name : {1u, 2u}) {
      std::uint32_t const id = p.launch(where, begin + name, begin + name);
      p.made.launches.back().step = step;
      bool const is_lost = step == name;  // of gemm in step 1, of the collective in step 2
      kernel_record& kernel = p.kernel(id, begin + 100 * name, begin + 100 * name + 50);
      kernel.name = name;
      if (is_lost) kernel.begin = kernel.end = lost_time;
    }
  }
  p.made.end = 3000;
  p.made.losses.timestamps_lost = 2;
  REQUIRE(has_rank_steps(p.made));
  rank_run const run = read_rank(p.made);
  REQUIRE(run.steps.size() == 2);
  CHECK(run.lost_work[0] == 1.0);
  CHECK(run.lost_work[1] == 0.0);
  REQUIRE(run.collectives.size() == 1);
  CHECK(run.collectives[0].launches[1] == 1.0);
  CHECK(run.collectives[0].lost[0] == 0.0);
  CHECK(run.collectives[0].lost[1] == 1.0);
  REQUIRE(run.ranges.size() == 1);
  CHECK(run.ranges[0].ns == 25.0);
  CHECK(run.ranges[0].launches == 1.0);
  CHECK(run.ranges[0].lost == 0.5);
  CHECK(run.losses.device_times == 2.0);
}

}  // namespace ranks_losses_test
