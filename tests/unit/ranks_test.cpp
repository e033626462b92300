// Comparisons of ranks: what is read of each, by hand; who is last, by hand and against a slow
// reference.
#include <doctest/doctest.h>
#include <strata/base/text_writer.hpp>
#include <strata/recording/format.hpp>
#include <strata/tables/json.hpp>
#include <strata/tables/table_input.hpp>
#include "analyse/change_statistics.hpp"
#include "analyse/rank_clocks.hpp"
#include "analyse/rank_collectives.hpp"
#include "analyse/rank_comparison.hpp"
#include "analyse/rank_run.hpp"
#include "analyse/run_tables.hpp"
#include "report/trace.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "../../tools/profile_json.hpp"
#include "sample_profile.hpp"

namespace ranks_test {

using namespace strata;

namespace {

constexpr std::uint32_t gemm = 1;
constexpr std::uint32_t reduce = 2;
constexpr std::uint32_t wrapped = 3;  // a kernel of another name in a range of NCCL's domain

/// A rank whose kernels and steps are written down one by one.
struct rank_program : sample::maker {
  explicit rank_program(std::int32_t rank) {
    made.has_steps = made.traced = true;
    made.environment.rank = rank;
    made.environment.host = "node" + std::to_string(rank / 8);
    made.environment.command = "/opt/train --rank " + std::to_string(rank);
    made.environment.devices.emplace_back();
    made.environment.devices.back().name = "NVIDIA H100";
    made.environment.devices.back().multiprocessors = 132;
    made.kernel_names.push_back({"gemm"});
    made.kernel_names.push_back({"_Z28ncclDevKernel_AllReduce_RINGPv"});
    made.kernel_names.push_back({"wrapped"});
  }
  void step(std::int64_t begin, std::int64_t end) {
    made.steps.push_back({begin, end, static_cast<std::uint32_t>(made.steps.size()), 0});
    made.end = end;
    made.cost.seconds_in_window = static_cast<double>(end) * 1e-9;
  }
  std::uint32_t launch_in(std::uint32_t step, std::uint32_t where, std::int64_t begin) {
    std::uint32_t const id = launch(where, begin, begin);
    made.launches.back().step = step;
    return id;
  }
  void kernel_in(std::uint32_t step, std::uint32_t where, std::uint32_t name, std::int64_t begin,
                 std::int64_t end) {
    std::uint32_t const id = launch_in(step, where, begin);
    kernel(id, begin, end).name = name;
  }
  void copy_in(std::uint32_t step, std::uint32_t where, std::int64_t begin, std::int64_t end) {
    std::uint32_t const id = launch_in(step, where, begin);
    copy(id, begin, end, 64, copy_kind::host_to_device);
  }
};

/// Three steps, the first of which is dear. Two blocks, a collective by name and one by range.
rank_program three_steps() {
  rank_program p(3);
  std::uint32_t const first = p.node(root_node, "block", 0);
  std::uint32_t const second = p.node(root_node, "block", 1);
  std::uint32_t const other = p.node(second, "NCCL:ncclBroadcast");
  p.step(0, 9000);
  p.step(10000, 11000);
  p.step(11000, 12300);
  for (std::uint32_t step = 0; step < 3; ++step) {
    std::int64_t const begin = p.made.steps[step].begin;
    for (std::uint32_t const node : {first, second}) {
      range_record& range = p.call(node, begin, begin + 10);
      range.step = step;
    }
  }
  p.kernel_in(0, first, gemm, 100, 5100);
  p.kernel_in(0, first, reduce, 5100, 8100);
  p.kernel_in(1, first, gemm, 10100, 10200);
  p.kernel_in(1, second, gemm, 10200, 10230);
  p.kernel_in(1, second, reduce, 10210, 10350);  // 20 of it overlap the kernel before
  p.copy_in(1, second, 10400, 10407);
  p.kernel_in(2, first, gemm, 11100, 11240);
  p.kernel_in(2, second, reduce, 11300, 11500);
  p.kernel_in(2, other, wrapped, 11500, 11511);
  p.kernel_in(2, root_node, gemm, 11600, 11604);
  return p;
}

double range_ns(rank_run const& run, std::string const& path) {
  for (rank_range const& range : run.ranges)
    if (range.path == path) return range.ns;
  return -1.0;
}

std::vector<double> collective_ns(rank_run const& run, std::string const& path,
                                  std::string const& kernel) {
  for (rank_collective const& collective : run.collectives)
    if (collective.path == path && collective.kernel == kernel) return collective.ns;
  return {};
}

std::string json_of(profile const& source) {
  std::string text;
  profile_tables tables(source);
  detail::text_writer out(text);
  write_json(out, tables.input());
  out.flush();
  return text;
}

rank_run made_run(std::int32_t rank, double step_ns) {
  rank_run run;
  run.rank = rank;
  run.by_step = true;
  run.step_ns = step_ns;
  run.steps = {1, 2, 3, 4, 5};
  run.recorded_steps = 6;
  return run;
}

/// Three ranks; the first is last in each step, since it waits the least.
std::vector<rank_run> three_ranks(double step_ns) {
  std::vector<rank_run> runs;
  for (std::int32_t rank = 0; rank < 3; ++rank) runs.push_back(made_run(rank, step_ns));
  runs[0].collectives.push_back({"block[*]", "reduce", {10, 12, 14, 16, 18}});
  runs[0].collectives.push_back({"head", "reduce", {3, 3, 3, 3, 3}});
  runs[1].collectives.push_back({"block[*]", "reduce", {30, 33, 36, 39, 42}});
  runs[2].collectives.push_back({"head", "reduce", {7, 8, 9, 10, 11}});
  runs[2].collectives.push_back({"block[*]", "reduce", {50, 51, 52, 53, 54}});
  runs[1].collectives.push_back({"head", "reduce", {5, 5, 5, 5, 5}});
  runs[0].work_ns = {90, 91, 92, 93, 94};
  runs[1].work_ns = {63, 63, 64, 64, 61};
  runs[2].work_ns = {44, 44, 44, 44, 44};
  runs[0].busy_ns = {100, 103, 106, 109, 112};
  runs[1].busy_ns = {98, 101, 105, 108, 108};
  runs[2].busy_ns = {101, 103, 105, 107, 109};
  runs[0].ranges.push_back({"mlp", 70.0});
  runs[0].ranges.push_back({"attention", 22.0});
  runs[1].ranges.push_back({"attention", 23.0});
  runs[1].ranges.push_back({"mlp", 40.0});
  runs[2].ranges.push_back({"mlp", 44.0});
  return runs;
}

rank_row const& row_of(rank_comparison const& made, std::int32_t rank) {
  for (rank_row const& row : made.ranks)
    if (row.rank == rank) return row;
  return made.ranks.front();
}

}  // namespace

TEST_CASE("a recording is read step by step, without the first step") {
  rank_program const p = three_steps();
  REQUIRE(has_rank_steps(p.made));
  rank_run const run = read_rank(p.made);
  CHECK(run.rank == 3);
  CHECK(run.host == "node0");
  CHECK(run.device == "NVIDIA H100");
  CHECK(run.by_step);
  CHECK(run.recorded_steps == 3);
  CHECK(run.steps == std::vector<std::uint32_t>{1, 2});
  CHECK(run.busy_ns == std::vector<double>{257.0, 355.0});
  CHECK(run.work_ns == std::vector<double>{137.0, 144.0});
  REQUIRE(run.collectives.size() == 2);
  CHECK(run.collectives[0].path == "block[1]");  // that of block[0] ran in the first step only
  CHECK(run.collectives[0].ns == std::vector<double>{140.0, 200.0});
  CHECK(collective_ns(run, "block[1]/NCCL:ncclBroadcast", "wrapped") ==
        std::vector<double>{0.0, 11.0});
  CHECK(run.ranges.size() == 2);
  CHECK(range_ns(run, "block[*]") == 138.5);  // (100 + 30 + 7 + 140) / 2
  CHECK(range_ns(run, "") == 2.0);
}

TEST_CASE("the ends of collectives join the clocks of ranks") {
  rank_program p = three_steps();
  CHECK_FALSE(join_clocks({read_rank(p.made), read_rank(p.made)})[1].known);  // no absolute time
  p.made.environment.started_at_unix_ns = 1'700'000'000'000'000'000;
  rank_run const first = read_rank(p.made);
  // A clock that is 3 ms ahead; the collective of the last step ends 8 ns later there.
  p.made.environment.started_at_unix_ns += 3'000'000;
  for (kernel_record& kernel : p.made.kernels)
    if (kernel.name == wrapped) kernel.end += 8;
  std::vector<rank_clock> const clocks = join_clocks({first, read_rank(p.made)});
  REQUIRE(clocks[1].known);
  CHECK(clocks[0].ahead_ns == 0);
  CHECK(clocks[1].collectives == 3);
  CHECK(clocks[1].ahead_ns == 3'000'000);
  CHECK(clocks[1].spread_ns == 0);
  // Means know no ends, and neither do ranks without a collective in common.
  rank_run other = first;
  other.collectives.clear();
  CHECK_FALSE(join_clocks({first, other})[1].known);
}

TEST_CASE("clocks that are apart and drift are joined to 20 us by the collectives of a run") {
  constexpr std::int64_t began = 1'700'000'000'000'000'000;
  constexpr std::uint32_t steps = 600;
  struct planted {
    double ahead_ns;
    double drift;
  };
  std::mt19937 random(7);
  std::uniform_real_distribution<double> jitter(0.0, 12'000.0);  // of a collective's end
  std::uniform_real_distribution<double> begins(150e6, 250e6);   // of steps: two minutes in all
  std::vector<std::int64_t> ends;
  double now = 0.0;
  for (std::uint32_t i = 0; i < steps; ++i)
    ends.push_back(static_cast<std::int64_t>(now += begins(random)));
  std::vector<profile> made;
  std::vector<rank_run> runs;
  std::vector<planted> const all = {{0, 0}, {5e6, 0}, {-3e6, 40e-6}, {2e9, -80e-6}, {40e3, 0.5e-6}};
  for (planted const& clock : all) {
    rank_program p(static_cast<std::int32_t>(runs.size()));
    std::uint32_t const node = p.node(root_node, "exchange");
    for (std::uint32_t i = 0; i < steps; ++i) {
      double const late = i % 50 == 9 ? 3e6 : jitter(random);  // a few end much later
      double const end = static_cast<double>(ends[i]) + late;
      auto const own = static_cast<std::int64_t>(end * (1.0 + clock.drift));
      p.step(own - 100'000'000, own + 1000);
      p.kernel_in(i, node, reduce, own - 90'000'000, own);
    }
    p.made.environment.started_at_unix_ns = began + static_cast<std::int64_t>(clock.ahead_ns);
    made.push_back(p.made);
    runs.push_back(read_rank(p.made));
  }
  for (rank_clock const& clock : join_hosts(runs)) CHECK_FALSE(clock.known);
  for (std::size_t r = 1; r < runs.size(); ++r) runs[r].host = "another";
  std::vector<rank_clock> const clocks = join_clocks(runs);
  std::vector<rank_clock> const of_hosts = join_hosts(runs);
  for (std::size_t r = 0; r < all.size(); ++r) {
    CAPTURE(r);
    REQUIRE(clocks[r].known);
    CHECK(of_hosts[r].known == (r != 0));
    CHECK((r == 0 || of_hosts[r].ahead_ns == clocks[r].ahead_ns));
    std::int64_t const begin = trace_begin(made[r]);
    std::int64_t const joined_begin = begin - std::llround(clocks[r].ahead_at(begin));
    CHECK(std::abs(clocks[r].drift - all[r].drift) < 0.1e-6);
    CHECK(clocks[r].spread_ns < 10'000);
    set_clock(made[r], clocks[r]);
    CHECK(trace_begin(made[r]) == joined_begin);
    double worst = 0.0;
    for (std::uint32_t i = 0; i < steps; ++i) {
      if (i % 50 == 9) continue;
      std::int64_t const joined =
          made[r].environment.started_at_unix_ns + made[r].kernels[i].end - began;
      worst = std::max(worst, std::abs(static_cast<double>(joined - ends[i])));
    }
    CHECK(worst < 20'000);
    CHECK(made[r].steps.back().end > made[r].kernels.back().end);
  }
}

TEST_CASE("a kernel without a name is a collective in a range of NCCL's, and a copy is none") {
  rank_program p = three_steps();
  for (kernel_record& kernel : p.made.kernels)
    if (kernel.name == wrapped) kernel.name = no_reference;
  p.copy_in(2, p.made.kernels[7].node, 11700, 11707);
  rank_run const run = read_rank(p.made);
  CHECK(run.collectives.size() == 2);
  CHECK(collective_ns(run, "block[1]/NCCL:ncclBroadcast", "") == std::vector<double>{0, 11});
  CHECK(range_ns(run, "block[*]/NCCL:ncclBroadcast") == 3.5);
}

TEST_CASE("profile.json gives the same mean step where nothing overlaps") {
  rank_program p = three_steps();
  p.made.kernels[4].begin = 10230;  // behind the kernel before
  rank_run const steps = read_rank(p.made);
  run_tables file;
  REQUIRE(tools::read_profile_json(json_of(p.made), file) == "");
  rank_run const means = read_rank(file);
  CHECK(means.rank == 3);
  CHECK(means.device == "NVIDIA H100");
  CHECK(means.command == "/opt/train --rank 3");
  CHECK(!means.by_step);
  CHECK(means.steps.empty());
  CHECK(means.recorded_steps == 3);
  CHECK(means.step_ns == doctest::Approx(1150.0));
  CHECK(means.busy_ns == std::vector<double>{306.0});
  CHECK(detail::mean(steps.busy_ns) == 306.0);
  // The copies of the first step are not known apart: 7 ns of three steps, not of two.
  CHECK(means.work_ns[0] == doctest::Approx((100 + 30 + 140 + 4) / 2.0 + 7 / 3.0));
  CHECK(collective_ns(means, "block[1]", "ncclDevKernel_AllReduce_RING") ==
        std::vector<double>{160.0});
  CHECK(collective_ns(means, "block[1]/NCCL:ncclBroadcast", "wrapped") == std::vector<double>{5.5});
  CHECK(range_ns(means, "") == 2.0);
}

TEST_CASE("the deviation of a mean step is that of its launches") {
  rank_program p = three_steps();
  run_tables file;
  REQUIRE(tools::read_profile_json(json_of(p.made), file) == "");
  // Launches of 140 and 200 ns in block[1]: two times a variance of 1800, in three steps.
  CHECK(read_rank(file).deviation_ns == doctest::Approx(std::sqrt(2.0 * 1800.0 / 3.0)));
  p.made.kernel_names[reduce - 1].mangled = "other";
  p.made.nodes.back().name = p.name("broadcast");
  REQUIRE(tools::read_profile_json(json_of(p.made), file) == "");
  rank_run const run = read_rank(file);
  CHECK(run.collectives.empty());
  // Those, and launches of 5000, 100 and 140 ns in block[0].
  double const mean = 5240.0 / 3.0;
  double const squares =
      std::pow(5000.0 - mean, 2) + std::pow(100.0 - mean, 2) + std::pow(140.0 - mean, 2);
  CHECK(run.deviation_ns == doctest::Approx(std::sqrt((1.5 * squares + 2.0 * 1800.0) / 3.0)));
}

TEST_CASE("a recording without all of its records tells no steps") {
  rank_program p = three_steps();
  p.made.losses.activity_summed = 1;
  CHECK(!has_rank_steps(p.made));
  p = three_steps();
  p.made.traced = false;
  CHECK(!has_rank_steps(p.made));
}

TEST_CASE("of a long run the last steps are kept") {
  rank_program p(0);
  constexpr std::uint32_t steps = 3'000;
  for (std::uint32_t step = 0; step < steps; ++step) {
    std::int64_t const begin = step * 1000;
    p.step(begin, begin + 1000);
    p.kernel_in(step, root_node, gemm, begin + 1, begin + 11);
    p.kernel_in(step, root_node, reduce, begin + 11, begin + 12 + step % 100);
  }
  rank_run const run = read_rank(p.made);
  CHECK(run.recorded_steps == steps);
  REQUIRE(run.steps.size() == 1'000);
  CHECK(run.steps.front() == steps - 1'000);
  CHECK(run.steps.back() == steps - 1);
  REQUIRE(run.collectives.size() == 1);
  CHECK(run.collectives[0].ns.front() == (steps - 1'000) % 100 + 1);
  CHECK(run.collectives[0].ns.back() == 100.0);
  CHECK(run.ranges[0].ns == 10.0);
}

TEST_CASE("three ranks by hand") {
  std::vector<rank_run> runs = three_ranks(340.0);
  rank_comparison const made = compare_ranks(runs);
  CHECK(made.by_step);
  CHECK(made.has_collectives);
  CHECK(made.steps == 5);
  REQUIRE(made.ranks.size() == 3);
  CHECK(made.last().rank == 0);
  CHECK(made.last().times_last == 5);
  CHECK(made.last().transfer_ns == 17.0);
  CHECK(made.last().wait_ns == 0.0);
  CHECK(made.last().late_ns == 34.0);
  CHECK(made.last().deviation_ns == doctest::Approx(std::sqrt(0.625)));
  CHECK(made.last().busy_ns == 106.0);
  CHECK(made.last().work_ns == 92.0);
  CHECK(row_of(made, 1).transfer_ns == 17.0);
  CHECK(row_of(made, 1).wait_ns == 24.0);
  CHECK(row_of(made, 1).late_ns == -2.0);
  CHECK(row_of(made, 1).times_last == 0);
  CHECK(row_of(made, 2).transfer_ns == 17.0);
  CHECK(row_of(made, 2).wait_ns == 44.0);
  CHECK(row_of(made, 2).late_ns == -32.0);
  CHECK(made.ranks[2].rank == 2);
  double const chance = (1.0 + std::sqrt(2.0 * std::log(3.0))) / std::sqrt(5.0);
  CHECK(made.noise_ns == doctest::Approx(std::sqrt(0.625) * chance));
  CHECK(made.verdict == rank_verdict::stands_out);
  REQUIRE(made.ranges.size() == 2);
  CHECK(made.ranges[0].path == "mlp");
  CHECK(made.ranges[0].min_ns == 40.0);
  CHECK(made.ranges[0].median_ns == 44.0);
  CHECK(made.ranges[0].max_ns == 70.0);
  CHECK(made.ranges[0].max_rank == 0);
  CHECK(made.ranges[0].last_more_ns == 28.0);
  CHECK(made.ranges[1].min_ns == 0.0);  // rank 2 does nothing in it
  CHECK(made.ranges[1].max_rank == 1);
  CHECK(made.ranges[1].last_more_ns == 10.5);
  CHECK(made.extra() == &made.ranges[0]);
}

TEST_CASE("a rank that is late by less than a hundredth of the step does not stand out") {
  std::vector<rank_run> runs = three_ranks(3400.0);
  CHECK(compare_ranks(runs).verdict == rank_verdict::stands_out);
  runs = three_ranks(3401.0);
  CHECK(compare_ranks(runs).verdict == rank_verdict::none_stands_out);
}

TEST_CASE("ranks that are last in turns do not stand out") {
  std::vector<rank_run> runs;
  for (std::int32_t rank = 0; rank < 5; ++rank) {
    runs.push_back(made_run(rank, 1000.0));
    rank_run& run = runs.back();
    run.work_ns = run.busy_ns = {1, 1, 1, 1, 1};
    run.collectives.push_back({"", "reduce", {300, 300, 300, 300, 300}});
    run.collectives[0].ns[static_cast<std::size_t>(rank)] = 100;
  }
  rank_comparison const made = compare_ranks(runs);
  CHECK(made.verdict == rank_verdict::none_stands_out);
  for (rank_row const& row : made.ranks) {
    CHECK(row.times_last == 1);
    CHECK(row.late_ns == 40.0);
    CHECK(row.deviation_ns == doctest::Approx(std::sqrt(8000.0)));
  }
}

TEST_CASE("steps that not all ranks have are left out, and four do not decide") {
  std::vector<rank_run> runs = three_ranks(340.0);
  runs[1].steps = {2, 3, 4, 5, 6};
  rank_comparison const made = compare_ranks(runs);
  CHECK(made.steps == 4);
  CHECK(made.verdict == rank_verdict::undecided);
  CHECK(row_of(made, 0).transfer_ns == 15.0 + 3.0);  // 12 14 16 18, and 3
  CHECK(row_of(made, 1).wait_ns == (18.0 + 19.0 + 20.0 + 21.0) / 4.0 + 2.0);
  runs = three_ranks(340.0);
  runs[1].steps = {12, 13, 14, 15, 16};
  CHECK(compare_ranks(runs).steps == 0);
}

TEST_CASE("ranks that take part in different collectives are not judged") {
  std::vector<rank_run> runs = three_ranks(340.0);
  runs[0].collectives.pop_back();
  rank_comparison const made = compare_ranks(runs);
  CHECK(!made.same_collectives);
  CHECK(made.verdict == rank_verdict::undecided);
  CHECK(row_of(made, 0).transfer_ns == 14.0);
  CHECK(row_of(made, 1).transfer_ns == 19.0);  // 5, the least of the two that take part
  CHECK(row_of(made, 1).wait_ns == 22.0);
  CHECK(row_of(made, 2).wait_ns == 42.0);
  runs = three_ranks(340.0);
  CHECK(compare_ranks(runs).same_collectives);
}

TEST_CASE("without collectives the rank with the most work is last") {
  std::vector<rank_run> runs = three_ranks(100.0);
  for (rank_run& run : runs) run.collectives.clear();
  rank_comparison const made = compare_ranks(runs);
  CHECK(!made.has_collectives);
  CHECK(made.last().rank == 0);
  CHECK(made.last().times_last == 5);
  CHECK(made.last().late_ns == (36.5 + 37.5 + 38.0 + 39.0 + 41.5) / 5.0);
  CHECK(made.last().wait_ns == 0.0);
  CHECK(made.verdict == rank_verdict::stands_out);
}

TEST_CASE("equal ranks: none is last") {
  std::vector<rank_run> runs;
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    runs.push_back(made_run(rank, 1000.0));
    runs.back().work_ns = runs.back().busy_ns = {1, 1, 1, 1, 1};
    runs.back().collectives.push_back({"", "reduce", {3, 4, 5, 6, 7}});
  }
  rank_comparison const made = compare_ranks(runs);
  CHECK(made.verdict == rank_verdict::none_stands_out);
  CHECK(made.ranks[0].times_last + made.ranks[1].times_last == 0);
  CHECK(made.extra() == nullptr);
}

TEST_CASE("a rank of which only the mean step is known makes all means") {
  std::vector<rank_run> runs = three_ranks(340.0);
  runs[2].by_step = false;
  runs[2].steps.clear();
  runs[2].work_ns = {44.0};
  runs[2].busy_ns = {105.0};
  runs[2].deviation_ns = 3.0;
  for (rank_collective& collective : runs[2].collectives) collective.ns = {collective.ns[2]};
  rank_comparison const made = compare_ranks(runs);
  CHECK(!made.by_step);
  CHECK(made.steps == 5);
  CHECK(made.last().rank == 0);
  CHECK(made.last().times_last == 0);
  CHECK(made.last().late_ns == 34.0);
  CHECK(made.last().deviation_ns == doctest::Approx(std::sqrt(10.0)));  // 10 12 14 16 18
  CHECK(row_of(made, 1).transfer_ns == 17.0);
  CHECK(row_of(made, 1).wait_ns == 24.0);
  CHECK(made.verdict == rank_verdict::stands_out);
}

namespace {

double reference_median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  std::size_t const count = values.size();
  return (values[(count - 1) / 2] + values[count / 2]) / 2.0;
}

/// The wait of each rank in each step, straight from what waiting is.
struct slow_reference {
  std::vector<std::vector<double>> waits;  // by rank and step
  std::vector<std::vector<double>> transfers;

  explicit slow_reference(std::vector<rank_run> const& runs) {
    std::map<std::pair<std::string, std::string>, std::vector<double>> least;
    for (rank_run const& run : runs)
      for (rank_collective const& c : run.collectives)
        for (std::size_t s = 0; s < c.ns.size(); ++s) {
          std::vector<double>& kept = least[{c.path, c.kernel}];
          kept.resize(c.ns.size(), 1e300);
          if (c.ns[s] > 0.0) kept[s] = std::min(kept[s], c.ns[s]);
        }
    for (rank_run const& run : runs) {
      waits.emplace_back(run.steps.size(), 0.0);
      transfers.emplace_back(run.steps.size(), 0.0);
      for (rank_collective const& c : run.collectives)
        for (std::size_t s = 0; s < c.ns.size(); ++s) {
          if (c.ns[s] <= 0.0) continue;
          transfers.back()[s] += least[{c.path, c.kernel}][s];
          waits.back()[s] += c.ns[s] - least[{c.path, c.kernel}][s];
        }
    }
  }
  double late(std::size_t rank, std::size_t step) const {
    std::vector<double> others;
    for (std::size_t i = 0; i < waits.size(); ++i)
      if (i != rank) others.push_back(waits[i][step]);
    return reference_median(others) - waits[rank][step];
  }
  std::uint64_t times_last(std::size_t rank) const {
    std::uint64_t times = 0;
    for (std::size_t step = 0; step < waits[rank].size(); ++step) {
      bool is_last = true;
      for (std::size_t i = 0; i < waits.size(); ++i)
        is_last = is_last && (i == rank || waits[i][step] > waits[rank][step]);
      if (is_last) ++times;
    }
    return times;
  }
};

std::vector<rank_run> random_ranks(std::mt19937& random) {
  auto const below = [&random](unsigned most) { return static_cast<int>(random() % most); };
  std::vector<rank_run> runs;
  int const ranks = 2 + below(7);
  int const steps = 1 + below(9);
  int const collectives = 1 + below(4);
  for (int rank = 0; rank < ranks; ++rank) {
    rank_run run;
    run.rank = rank;
    run.by_step = true;
    run.step_ns = 1000.0;
    for (int step = 0; step < steps; ++step) run.steps.push_back(static_cast<std::uint32_t>(step));
    run.work_ns.resize(run.steps.size(), 1.0);
    run.busy_ns.resize(run.steps.size(), 1.0);
    for (int i = 0; i < collectives; ++i) {
      if (below(4) == 0) continue;  // this rank takes no part
      run.collectives.push_back({"range" + std::to_string(i / 2), std::to_string(i % 2), {}});
      for (int step = 0; step < steps; ++step)
        run.collectives.back().ns.push_back(below(5) == 0 ? 0.0 : 1.0 + below(1000) / 8.0);
    }
    run.recorded_steps = run.steps.size() + 1;
    runs.push_back(std::move(run));
  }
  runs[0].collectives.clear();
  runs[0].collectives.push_back({"range0", "0", std::vector<double>(runs[0].steps.size(), 17.0)});
  return runs;
}

}  // namespace

TEST_CASE("random ranks are compared as by a slow reference") {
  std::mt19937 random(20261126);
  for (int round = 0; round < 300; ++round) {
    CAPTURE(round);
    std::vector<rank_run> runs = random_ranks(random);
    slow_reference const reference(runs);
    auto const steps = static_cast<double>(runs[0].steps.size());
    rank_comparison const made = compare_ranks(runs);
    REQUIRE(made.ranks.size() == runs.size());
    double latest = -1e300;
    for (std::size_t rank = 0; rank < runs.size(); ++rank) {
      rank_row const& row = row_of(made, static_cast<std::int32_t>(rank));
      double late = 0.0;
      double wait = 0.0;
      double transfer = 0.0;
      for (std::size_t step = 0; step < runs[0].steps.size(); ++step) {
        late += reference.late(rank, step) / steps;
        wait += reference.waits[rank][step] / steps;
        transfer += reference.transfers[rank][step] / steps;
      }
      CHECK(row.late_ns == doctest::Approx(late));
      CHECK(row.wait_ns == doctest::Approx(wait));
      CHECK(row.transfer_ns == doctest::Approx(transfer));
      CHECK(row.times_last == reference.times_last(rank));
      latest = std::max(latest, late);
    }
    CHECK(made.last().late_ns == doctest::Approx(latest));
  }
}

TEST_CASE("each collective of all ranks has its transfer and what they waited") {
  std::vector<rank_run> runs = three_ranks(150.0);
  runs[2].collectives[1].bytes = 4096;
  (void)compare_ranks(runs);
  std::vector<rank_collective_row> const rows = list_collectives(runs);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].path == "block[*]");
  CHECK(rows[0].transfer_ns == doctest::Approx(14.0));
  CHECK(rows[0].wait_ns == doctest::Approx((0.0 + 22.0 + 38.0) / 3));
  CHECK(rows[0].longest_wait_ns == doctest::Approx(38.0));
  CHECK(rows[0].longest_wait_rank == 2);
  CHECK(rows[0].least_wait_rank == 0);
  CHECK(rows[0].bytes == 4096);
  CHECK(rows[1].path == "head");
  CHECK(rows[1].transfer_ns == doctest::Approx(3.0));
  CHECK(rows[1].least_wait_rank == 0);
  CHECK(std::isnan(rows[1].bytes));
}

TEST_CASE("bus bandwidth of a collective, and the link that it takes") {
  using detail::bus_factor;
  CHECK(bus_factor("all_reduce", 4) == 1.5);
  CHECK(bus_factor("all_gather", 4) == 3.0);  // each rank's message goes to three others
  CHECK(bus_factor("reduce_scatter", 8) == 7.0);
  CHECK(bus_factor("all_to_all", 2) == 1.0);
  CHECK(bus_factor("broadcast", 4) == 1.0);
  CHECK(bus_factor("send_receive", 2) == 1.0);
  CHECK(std::isnan(bus_factor("barrier", 4)));
  CHECK(std::isnan(bus_factor("all_reduce", 1)));
  CHECK(detail::nvlink_peak("NVIDIA H200") == 450e9);
  CHECK(detail::nvlink_peak("NVIDIA H100 80GB HBM3") == 450e9);
  CHECK(detail::nvlink_peak("NVIDIA A100-SXM4-80GB") == 300e9);
  CHECK(detail::nvlink_peak("NVIDIA B200") == 900e9);
  for (char const* const unknown : {"NVIDIA H100 PCIe", "NVIDIA H200 NVL", "NVIDIA GH200 480GB",
                                    "NVIDIA GeForce RTX 5090", "NVIDIA H100 NVL", ""})
    CHECK(std::isnan(detail::nvlink_peak(unknown)));

  std::vector<rank_run> runs = three_ranks(150.0);
  for (rank_run& run : runs) {
    run.host = "a";
    run.device = "NVIDIA H200";
    for (rank_collective& collective : run.collectives) {
      collective.operation = "all_reduce";
      collective.bytes = 2100.0;
      collective.communicator_ranks = 3;
    }
  }
  std::vector<rank_collective_row> rows = list_collectives(runs);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].ranks == 3);
  // 2 * 2/3 of 2,100 bytes in 14 ns.
  CHECK(rows[0].bus_bytes_per_s == doctest::Approx(200e9));
  CHECK(rows[0].link_bytes_per_s == 450e9);
  runs[2].host = "b";  // over the network
  rows = list_collectives(runs);
  CHECK(rows[0].bus_bytes_per_s == doctest::Approx(200e9));
  CHECK(std::isnan(rows[0].link_bytes_per_s));
  runs[2].host = "a";
  // Of two ranks: 2,100 bytes in 14 ns. Where a rank does not know it, or knows another size, there
  // is no share of the link.
  for (rank_run& run : runs)
    for (rank_collective& collective : run.collectives) collective.communicator_ranks = 2;
  rows = list_collectives(runs);
  CHECK(rows[0].ranks == 3);
  CHECK(rows[0].communicator_ranks == 2);
  CHECK(rows[0].bus_bytes_per_s == doctest::Approx(150e9));
  CHECK(rows[0].link_bytes_per_s == 450e9);
  for (std::uint32_t const other : {0u, 3u}) {
    for (rank_collective& collective : runs[1].collectives) collective.communicator_ranks = other;
    rows = list_collectives(runs);
    CHECK(rows[0].communicator_ranks == 0);
    CHECK(rows[0].bus_bytes_per_s == doctest::Approx(200e9));
    CHECK(std::isnan(rows[0].link_bytes_per_s));
  }
}

/// A range of NCCL's in the last of three steps. Returns: its node.
static std::uint32_t call_in_last_step(rank_program& p, std::uint32_t parent, char const* name,
                                       double bytes) {
  std::uint32_t const node = p.node(parent, name);
  range_record& made = p.call(node, 11'400, 11'410);
  made.step = 2;
  if (bytes > 0) p.describe(made).bytes = bytes;
  return node;
}

TEST_CASE("ranges of NCCL's plugin tell the ranks of a communicator, where they agree") {
  rank_program p = three_steps();
  p.made.kernel_names.push_back({"_Z29ncclDevKernel_Broadcast_RINGPv"});
  auto const call = [&p](std::uint32_t parent, char const* name, double bytes = 0) {
    return call_in_last_step(p, parent, name, bytes);
  };
  std::uint32_t const reduced = call(root_node, "NCCL:ncclAllReduce", 600);
  call(reduced, "NCCL:AllReduce RING LL128 (16 channels of 8 ranks)");
  std::uint32_t const sent = call(root_node, "NCCL:ncclSend", 300);
  call(sent, "NCCL:Send (1 channel of 2 ranks)");
  call(sent, "NCCL:Send (1 channel of 4 ranks)");
  std::uint32_t const odd = call(root_node, "NCCL:ncclReduce", 300);
  for (char const* const name :
       {"NCCL:of ranks)", "NCCL:a of 99999999999 ranks)", "x of 3 ranks)", "NCCL:a3 ranks)"})
    call(odd, name);
  for (std::uint32_t const node : {reduced, sent, odd})
    p.kernel_in(2, node, reduce, 11'700 + node, 11'701 + node);
  p.kernel_in(2, odd, 4, 11'900, 11'910);  // two collectives: whose are the bytes?
  run_tables file;
  REQUIRE(tools::read_profile_json(json_of(p.made), file) == "");
  for (rank_run const& run : {read_rank(file), read_rank(p.made)}) {
    std::map<std::string, rank_collective> found;
    for (rank_collective const& each : run.collectives) found[each.path] = each;
    CHECK(found.at("NCCL:ncclAllReduce").communicator_ranks == 8);
    CHECK(found.at("NCCL:ncclAllReduce").bytes == 200);
    CHECK(found.at("NCCL:ncclSend").communicator_ranks == 0);
    CHECK(found.at("NCCL:ncclSend").bytes == 100);
    CHECK(found.at("NCCL:ncclReduce").communicator_ranks == 0);
    CHECK(std::isnan(found.at("NCCL:ncclReduce").bytes));
  }
}

TEST_CASE("a group of sends and receives has the bytes of the way that has more") {
  rank_program p = three_steps();
  p.made.kernel_names.push_back({"_Z22ncclDevKernel_SendRecvPv"});
  auto const send = static_cast<std::uint32_t>(p.made.kernel_names.size());
  auto const call = [&p](std::uint32_t parent, char const* name, double bytes = 0) {
    return call_in_last_step(p, parent, name, bytes);
  };
  std::uint32_t const pipe = call(root_node, "pipe");
  std::uint32_t const reduced = call(root_node, "reduced");
  std::uint32_t const plugin = call(root_node, "plugin");
  for (std::uint32_t const parent : {root_node, pipe}) {
    call(parent, "NCCL:ncclSend", 300);
    call(parent, "NCCL:ncclSend", 300);
    call(parent, "NCCL:ncclRecv", parent == pipe ? 900 : 30);
  }
  call(reduced, "NCCL:ncclAllReduce", 300);
  call(plugin, "NCCL:Send (1 channel of 2 ranks)", 300);
  call(plugin, "NCCL:Recv (1 channel of 2 ranks)", 300);
  std::int64_t const at = 11'700;
  for (std::uint32_t const node :
       {call(root_node, "NCCL:ncclGroupEnd"), call(pipe, "NCCL:ncclGroupEnd"), plugin})
    p.kernel_in(2, node, send, at + 10 * node, at + 10 * node + 1);
  p.kernel_in(2, call(reduced, "NCCL:ncclGroupEnd"), reduce, 12'200, 12'201);
  run_tables file;
  REQUIRE(tools::read_profile_json(json_of(p.made), file) == "");
  for (rank_run const& run : {read_rank(file), read_rank(p.made)}) {
    std::map<std::string, double> bytes;
    for (rank_collective const& each : run.collectives) bytes[each.path] = each.bytes;
    CHECK(bytes.at("NCCL:ncclGroupEnd") == 200);  // of three steps
    CHECK(bytes.at("pipe/NCCL:ncclGroupEnd") == 300);
    CHECK(bytes.at("plugin") == 100);
    CHECK(std::isnan(bytes.at("reduced/NCCL:ncclGroupEnd")));
  }
}

TEST_CASE(
    "beside a group of its range a lone send has no bytes that are known, and neither has the "
    "group") {
  rank_program p = three_steps();
  p.made.kernel_names.push_back({"_Z22ncclDevKernel_SendRecvPv"});
  auto const send = static_cast<std::uint32_t>(p.made.kernel_names.size());
  auto const call = [&p](std::uint32_t parent, char const* name, double bytes = 0) {
    return call_in_last_step(p, parent, name, bytes);
  };
  auto const launch = [&p](std::uint32_t node, std::uint32_t kernel) {
    p.kernel_in(2, node, kernel, 11'700 + 10 * node, 11'701 + 10 * node);
  };
  for (char const* const name : {"both", "alone", "beside"}) {
    std::uint32_t const range = call(root_node, name);
    std::uint32_t const sent = call(range, "NCCL:ncclSend", 300);
    call(range, "NCCL:ncclSend", 300);
    launch(sent, send);
    if (std::string(name) == "alone") continue;
    launch(call(range, "NCCL:ncclGroupEnd"), std::string(name) == "both" ? send : reduce);
  }
  run_tables file;
  REQUIRE(tools::read_profile_json(json_of(p.made), file) == "");
  for (rank_run const& run : {read_rank(file), read_rank(p.made)}) {
    std::map<std::string, double> bytes;
    for (rank_collective const& each : run.collectives) bytes[each.path] = each.bytes;
    CHECK(std::isnan(bytes.at("both/NCCL:ncclSend")));  // one of two, and which is not known
    CHECK(std::isnan(bytes.at("both/NCCL:ncclGroupEnd")));
    CHECK(bytes.at("alone/NCCL:ncclSend") == 200);  // of three steps
    CHECK(bytes.at("beside/NCCL:ncclSend") == 200);
  }
}

TEST_CASE("a rank that took no part in a collective waited for nobody in it") {
  std::vector<rank_run> runs = three_ranks(150.0);
  runs[0].collectives[1].ns = {0, 0, 0, 0, 0};
  std::vector<rank_collective_row> const rows = list_collectives(runs);
  REQUIRE(rows.size() == 2);
  CHECK(rows[1].path == "head");
  CHECK(rows[1].transfer_ns == doctest::Approx(5.0));
  CHECK(rows[1].wait_ns == doctest::Approx((4.0 + 0.0) / 2));
  CHECK(rows[1].least_wait_rank == 1);
}

TEST_CASE("collectives of other names, their kind and their bytes are read of both files") {
  for (bool const is_listed : {false, true}) {
    CAPTURE(is_listed);
    rank_program p = three_steps();
    p.made.kernel_names[0].mangled = "_ZN4vllm26cross_device_reduce_2stageIfLi8EEEvv";
    p.made.kernel_names.push_back({"exchange"});
    std::uint32_t const node = p.node(root_node, "swap");
    for (std::uint32_t step = 0; step < 3; ++step)
      p.kernel_in(step, node, 4, p.made.steps[step].begin + 700, p.made.steps[step].begin + 750);
    if (is_listed) p.made.environment.collectives = "exch*";
    for (profile_node& each : p.made.nodes)
      if (p.made.names[each.name] == "NCCL:ncclBroadcast") {
        range_record& call =
            p.call(static_cast<std::uint32_t>(&each - p.made.nodes.data()), 11'400, 11'410);
        call.step = 2;
        p.describe(call).bytes = 3000;
      }
    run_tables file;
    REQUIRE(tools::read_profile_json(json_of(p.made), file) == "");
    rank_run const of_file = read_rank(file);
    rank_run const of_recording = read_rank(p.made);
    for (rank_run const* const run : {&of_file, &of_recording}) {
      CHECK(collective_ns(*run, "swap", "exchange").empty() != is_listed);
      bool found = false;
      for (rank_collective const& each : run->collectives) {
        if (each.kernel == "cross_device_reduce_2stage") {
          CHECK(each.operation == "all_reduce");
          CHECK(each.algorithm == "two_shot");
        }
        if (each.path != "block[1]/NCCL:ncclBroadcast") continue;
        found = true;
        CHECK(each.operation == "broadcast");
        CHECK(each.bytes == 1000);
      }
      CHECK(found);
      CHECK(!collective_ns(*run, "block[0]", "cross_device_reduce_2stage").empty());
    }
  }
}

namespace {

/// A run of many ranks: blocks of two ranges and an all-reduce, each of whose times differs a
/// little from rank to rank.
struct made_up_run {
  int ranks = 0;
  int steps = 0;
  int layers = 0;
  int late_rank = -1;
  std::int64_t late_ns = 0;  // more in the mlp of each block of the late rank

  static std::int64_t differs(int rank, int step, int layer, std::int64_t most) {
    std::uint64_t mixed = static_cast<std::uint64_t>(rank) * 0x9e3779b97f4a7c15u;
    mixed ^= static_cast<std::uint64_t>(step) * 0xc2b2ae3d27d4eb4fu + 0x165667b19e3779f9u;
    mixed ^= static_cast<std::uint64_t>(layer) * 0x27d4eb2f165667c5u;
    mixed = (mixed ^ mixed >> 29) * 0xbf58476d1ce4e5b9u;
    return static_cast<std::int64_t>((mixed >> 33) % static_cast<std::uint64_t>(most));
  }
  std::int64_t mlp(int rank, int step, int layer) const {
    return 60'000 + differs(rank, step, layer, 4000) + (rank == late_rank ? late_ns : 0);
  }
  std::int64_t longest_mlp(int step, int layer) const {
    std::int64_t longest = 0;
    for (int rank = 0; rank < ranks; ++rank) longest = std::max(longest, mlp(rank, step, layer));
    return longest;
  }
  profile make(int rank, std::vector<std::int64_t> const& longest) const {
    rank_program p(rank);
    std::vector<std::uint32_t> nodes;
    for (int layer = 0; layer < layers; ++layer) {
      std::uint32_t const block = p.node(root_node, "block", layer);
      nodes.push_back(p.node(block, "attention"));
      nodes.push_back(p.node(block, "mlp"));
      nodes.push_back(p.node(block, "NCCL:ncclAllReduce"));
    }
    std::int64_t now = 1000 + 77 * rank;  // the clocks of hosts differ
    for (int step = 0; step < steps; ++step) {
      std::int64_t const begin = now;
      for (int layer = 0; layer < layers; ++layer) {
        auto const place = static_cast<std::size_t>(layer);
        auto const number = static_cast<std::uint32_t>(step);
        std::int64_t const come = now + 40'000 + mlp(rank, step, layer);
        std::int64_t const all =
            now + 40'000 + longest[place + static_cast<std::size_t>(step * layers)];
        p.kernel_in(number, nodes[3 * place], gemm, now, now + 40'000);
        p.kernel_in(number, nodes[3 * place + 1], gemm, now + 40'000, come);
        p.kernel_in(number, nodes[3 * place + 2], reduce, come, all + 20'000);
        for (std::size_t i = 0; i < 3; ++i)
          p.call(nodes[3 * place + i], now, now + 10).step = number;
        now = all + 20'000;
      }
      p.step(begin, now);
    }
    return std::move(p.made);
  }
};

void write_file(std::filesystem::path const& path, std::string const& text) {
  std::FILE* const file = std::fopen(path.string().c_str(), "wb");
  REQUIRE(file != nullptr);
  CHECK(std::fwrite(text.data(), 1, text.size(), file) == text.size());
  CHECK(std::fclose(file) == 0);
}

}  // namespace

/// tests/script/check_ranks.py sets STRATA_TEST_RANKS to FOLDER RANKS STEPS LAYERS LATE NS, and to
/// how many seconds later they began.
TEST_CASE("folders of ranks for the test of the command") {
  char const* const asked = std::getenv("STRATA_TEST_RANKS");
  made_up_run run{4, 8, 2, 2, 30'000};
  std::string folder;
  std::int64_t later = 0;
  if (asked != nullptr)
    std::istringstream(asked) >> folder >> run.ranks >> run.steps >> run.layers >> run.late_rank >>
        run.late_ns >> later;
  std::vector<std::int64_t> longest;
  for (int step = 0; step < run.steps; ++step)
    for (int layer = 0; layer < run.layers; ++layer)
      longest.push_back(run.longest_mlp(step, layer));
  std::vector<rank_run> runs;
  for (int rank = 0; rank < run.ranks; ++rank) {
    profile made = run.make(rank, longest);
    made.environment.started_at_unix_ns += later * 1'000'000'000;
    if (folder.empty()) {
      runs.push_back(read_rank(made));
      continue;
    }
    std::filesystem::path const own =
        std::filesystem::path(folder) / ("rank" + std::to_string(rank));
    std::filesystem::create_directories(own);
    std::string recording;
    detail::text_writer out(recording);
    write_recording(out, made);
    out.flush();
    write_file(own / "profile.strata", recording);
    write_file(own / "profile.json", json_of(made));
  }
  if (!folder.empty()) return;
  rank_comparison const compared = compare_ranks(runs);
  CHECK(compared.verdict == rank_verdict::stands_out);
  CHECK(compared.last().rank == 2);
  CHECK(compared.last().times_last == 7);
  CHECK(compared.last().wait_ns == 0.0);
  CHECK(compared.last().transfer_ns == 40'000.0);
  REQUIRE(compared.extra() != nullptr);
  CHECK(compared.extra()->path == "block[*]/mlp");
}

}  // namespace ranks_test
