// The mean step of small programs, added up by hand: durations, tokens, streams, copies and idle
// times.
#include <doctest/doctest.h>
#include <strata/base/text_writer.hpp>
#include <strata/tables/call_tree.hpp>
#include <strata/tables/steps.hpp>
#include <strata/tables/steps_summary.hpp>
#include <strata/tables/table.hpp>
#include <strata/tables/table_input.hpp>
#include "analyse/steps.hpp"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "sample_profile.hpp"

namespace steps_by_hand_test {

using namespace strata;

namespace {

constexpr std::int64_t us = 1000;

/// Steps of one thread, one after the other.
struct program : sample::maker {
  std::int64_t now = 0;

  program() {
    made.has_steps = true;
    made.environment.devices.emplace_back();
    made.environment.devices.back().multiprocessors = 132;
    made.kernel_names.push_back({"work"});
  }
  void step(std::int64_t begin, std::int64_t end) {
    made.steps.push_back({begin, end, static_cast<std::uint32_t>(made.steps.size()), 0});
    now = end;
  }
  std::uint32_t launch_in(std::uint32_t step, std::uint32_t where, std::int64_t begin,
                          std::int64_t end, api_kind kind = api_kind::launch) {
    std::uint32_t const id = launch(where, begin, end, kind);
    made.launches.back().step = step;
    return id;
  }
  kernel_record& kernel_in(std::uint32_t step, std::uint32_t where, std::int64_t begin,
                           std::int64_t end, std::uint32_t stream = 0) {
    kernel_record& record = kernel(launch_in(step, where, begin - 10, begin - 5), begin, end);
    record.name = 1;
    record.stream = stream;
    return record;
  }
  step_analysis steps() {
    made.end = now + 1000;
    if (made.cost.seconds_in_window == 0.0)
      made.cost.seconds_in_window = static_cast<double>(made.end) * 1e-9;
    call_tree const tree(made);
    call_tree const folded(made, folding::by_name);
    return make_steps(made, folded, tree.rows());
  }
};

program of_durations(std::vector<std::int64_t> const& durations) {
  program p;
  for (std::int64_t const duration : durations) p.step(p.now + 7, p.now + 7 + duration);
  return p;
}

double idle_of(step_analysis const& steps, std::uint32_t row, idle_cause cause) {
  for (idle_time const& idle : steps.idle)
    if (idle.row == row && idle.cause == cause) return idle.ns;
  return 0.0;
}
double gaps_of(step_analysis const& steps, std::uint32_t row, idle_cause cause) {
  for (idle_time const& idle : steps.idle)
    if (idle.row == row && idle.cause == cause) return idle.gaps;
  return 0.0;
}

}  // namespace

TEST_CASE("busy with work of no range: what overlaps there counts once, beside ranges it counts") {
  program p;
  p.made.traced = true;
  std::uint32_t const range = p.node(0, "range");
  for (std::uint32_t i = 0; i < 2; ++i) {
    std::int64_t const begin = i * 1000 * us;
    p.step(begin, begin + 1000 * us);
    p.kernel_in(i, 0, begin + 100 * us, begin + 300 * us, 1);
    p.kernel_in(i, 0, begin + 200 * us, begin + 400 * us, 2);
    p.kernel_in(i, range, begin + 50 * us, begin + 350 * us, 3);
    p.kernel_in(i, 0, begin + 600 * us, begin + (700 + 100 * i) * us, 1);
  }
  CHECK(p.steps().rangeless_busy_ns == doctest::Approx((300 + 150) * us));
  p.made.losses.activity_summed = 1;
  CHECK(std::isnan(p.steps().rangeless_busy_ns));
}

TEST_CASE("quantiles of few steps: the median of two in the middle, nineteen of twenty below p95") {
  step_analysis const four = of_durations({30, 10, 41, 20}).steps();
  CHECK(four.p50_ns == 25.0);
  CHECK(four.p95_ns == 41.0);
  CHECK(four.mean_ns == 25.25);
  std::vector<std::int64_t> many;
  for (std::int64_t i = 10; i > 0; --i) many.push_back(100 + i);
  CHECK(of_durations(many).steps().p95_ns == 110.0);
  for (std::int64_t i = 20; i > 10; --i) many.push_back(100 + i);
  step_analysis const twenty = of_durations(many).steps();
  CHECK(twenty.p95_ns == 119.0);
  CHECK(twenty.p50_ns == 110.5);
}

TEST_CASE("a first step of one and a half medians is apart, of three steps at least") {
  step_analysis const apart = of_durations({61, 40, 40, 40}).steps();
  CHECK(apart.without_first);
  CHECK(apart.mean_ns == 40.0);
  CHECK(apart.first_ns == 61.0);
  CHECK(apart.count == 4);
  CHECK(apart.typical_count() == 3.0);
  step_analysis const alike = of_durations({60, 40, 40, 40}).steps();
  CHECK_FALSE(alike.without_first);
  CHECK(alike.mean_ns == 45.0);
  CHECK(alike.typical_count() == 4.0);
  CHECK_FALSE(of_durations({600, 40}).steps().without_first);
  CHECK(of_durations({600, 40, 40}).steps().without_first);
}

TEST_CASE("what lies outside of steps is the window without all of them, the first with them") {
  program p = of_durations({100, 40, 40, 40});
  p.made.cost.seconds_in_window = 1000e-9;
  step_analysis const steps = p.steps();
  CHECK(steps.without_first);
  CHECK(steps.outside_ns == doctest::Approx(1000 - 220));
}

TEST_CASE("tokens of a step are those of the range that declares most, without the first step's") {
  program p;
  std::uint32_t const decode = p.node(0, "decode");
  std::uint32_t const sample = p.node(decode, "sample");
  for (std::uint32_t step = 0; step < 4; ++step) {
    std::int64_t const begin = p.now + 10;
    p.step(begin, begin + (step == 0 ? 1000 : 400));
    range_record& outer = p.call(decode, begin, p.now);
    outer.step = step;
    p.describe(outer).tokens = step == 0 ? 7 : 5;
    range_record& inner = p.call(sample, begin + 1, begin + 2);
    inner.step = step;
    p.describe(inner).tokens = 3;
  }
  step_analysis const steps = p.steps();
  REQUIRE(steps.without_first);
  CHECK(steps.tokens == 5.0);
  CHECK(steps.tokens_per_s == doctest::Approx(5.0 / 410e-9));  // 10 ns lie between two
  p.made.steps[0].begin = p.made.steps[0].end - 400;           // as long as the others
  step_analysis const all = p.steps();
  REQUIRE_FALSE(all.without_first);
  CHECK(all.tokens == (7 + 3 * 5) / 4.0);
}

TEST_CASE("declared work of a step is that of its own calls, without the first step's") {
  program p;
  std::uint32_t const model = p.node(0, "model");
  for (std::uint32_t step = 0; step < 4; ++step) {
    std::int64_t const begin = p.now + 10;
    p.step(begin, begin + (step == 0 ? 50'000 : 1000));
    range_record& call = p.call(model, begin, p.now);
    call.step = step;
    attribute_record& work = p.describe(call);
    work.flops = step == 0 ? 512e6 : 1e6;  // a prompt, then a token at a time
    work.bytes = step == 0 ? 3e6 : 2e6;
    work.tokens = step == 0 ? 512 : 1;
  }
  step_analysis const steps = p.steps();
  REQUIRE(steps.without_first);
  profile_tables tables(p.made);
  range_row const& row = tables.input().ranges[1];
  CHECK(steps.declared_flops(row) == doctest::Approx(1e6));
  CHECK(steps.declared_bytes(row) == doctest::Approx(2e6));
  CHECK(steps.declared_tokens(row) == doctest::Approx(1));
  // A second, by the host time of the same steps.
  tables.input().find_steps(tables.folded());
  std::string text;
  detail::text_writer out(text);
  write_table(out, tables.input(), {200, false, 60});
  out.flush();
  CAPTURE(text);
  CHECK(text.find("1,000  2,000  1,000,000") != std::string::npos);
}

TEST_CASE("a part of a sum in a step, for a range that lies partly in steps") {
  step_analysis steps;
  steps.from_steps = true;
  steps.count = 5;
  CHECK(steps.per_step(100.0) == 20.0);
  CHECK(steps.per_step(100.0, {0.25, 0.2}) == 5.0);
  CHECK(steps.part({0.25, 0.2}) == 0.25);
  steps.without_first = true;  // four steps, and what lies in them
  CHECK(steps.per_step(100.0, {0.25, 0.2}) == 5.0);
  CHECK(steps.per_step(100.0, {0.25, 0.1}) == 2.5);
  CHECK(steps.part({0.25, 0.2}) == 0.2);
  CHECK(steps.per_step(100.0) == 20.0);  // of what is known for the run alone
  steps.from_steps = false;
  CHECK(steps.per_step(100.0, {0.25, 0.2}) == 100.0);
}

TEST_CASE(
    "streams: kernels that leave half of the multiprocessors free, by all blocks of the grid") {
  program p;
  p.made.traced = true;
  p.step(0, 1000 * us);
  kernel_record& half = p.kernel_in(0, 0, 100 * us, 110 * us, 1);
  half.grid_x = 2;
  half.grid_y = 3;
  half.grid_z = 11;  // 66 of 132
  p.kernel_in(0, 0, 200 * us, 204 * us, 1).grid_x = 67;
  p.kernel_in(0, 0, 300 * us, 302 * us, 2).grid_x = 33;
  step_analysis const steps = p.steps();
  REQUIRE(steps.streams.size() == 2);
  CHECK(steps.streams[0].stream == 1);  // the busiest first
  CHECK(steps.streams[0].kernels == 2.0);
  CHECK(steps.streams[0].ns == 14'000.0);
  CHECK(steps.streams[0].small_ns == 10'000.0);
  CHECK(steps.streams[0].filled_ns == 5'000.0);
  CHECK(steps.streams[1].small_ns == 2'000.0);
  CHECK(steps.streams[1].filled_ns == 500.0);
}

TEST_CASE("kernels of two devices at a time do not overlap, and their streams are apart") {
  program p;
  p.made.traced = true;
  p.step(0, 1000 * us);
  p.kernel_in(0, 0, 100 * us, 110 * us, 7);
  p.kernel_in(0, 0, 102 * us, 122 * us, 7).device = 1;
  p.kernel_in(0, 0, 106 * us, 114 * us, 8);
  p.kernel_in(0, 0, 112 * us, 130 * us, 8).device = 1;
  step_analysis const steps = p.steps();
  CHECK(steps.streams.size() == 4);
  REQUIRE(steps.devices.size() == 2);
  CHECK(steps.devices[0].device == 1);  // the busiest first
  CHECK(steps.devices[0].ns == 38'000.0);
  CHECK(steps.devices[0].overlap_ns == 10'000.0);
  CHECK(steps.devices[1].ns == 18'000.0);
  CHECK(steps.devices[1].overlap_ns == 4'000.0);
  CHECK(steps.overlap_ns == 14'000.0);
}

TEST_CASE("copies: pinned and pageable apart, without the time in which kernels ran beside them") {
  program p;
  p.made.traced = true;
  std::uint32_t const load = p.node(0, "load");
  p.step(0, 1000 * us);
  auto const copy = [&](std::int64_t begin, std::int64_t end, std::uint64_t bytes, copy_kind kind,
                        bool pageable) {
    std::uint32_t const id = p.launch_in(0, load, begin - 3 * us, begin - us, api_kind::copy);
    copy_record& record = p.copy(id, begin, end, bytes, kind);
    record.pageable = pageable ? 1 : 0;
    record.stream = 3;
  };
  copy(100 * us, 140 * us, 1000, copy_kind::host_to_device, true);
  copy(200 * us, 230 * us, 500, copy_kind::host_to_device, false);
  copy(300 * us, 320 * us, 70, copy_kind::device_to_host, false);
  copy(400 * us, 410 * us, 9, copy_kind::device_to_device, false);  // the host is not in it
  // Two kernels that overlap the first copy and each other, and reach beyond its begin and end.
  p.kernel_in(0, 0, 90 * us, 125 * us, 1);
  p.kernel_in(0, 0, 110 * us, 115 * us, 2);
  p.kernel_in(0, 0, 135 * us, 150 * us, 1);
  step_analysis const steps = p.steps();
  REQUIRE(steps.copies.size() == 3);
  CHECK(steps.copies[0].pageable);
  CHECK(steps.copies[0].to_device);
  CHECK(steps.copies[0].bytes == 1000.0);
  CHECK(steps.copies[0].ns == 40'000.0);
  CHECK(steps.copies[0].alone_ns == 10'000.0);
  CHECK(steps.copies[0].call_ns == 2'000.0);
  CHECK_FALSE(steps.copies[1].pageable);
  CHECK(steps.copies[1].bytes == 500.0);
  CHECK(steps.copies[1].alone_ns == 30'000.0);
  CHECK_FALSE(steps.copies[2].to_device);
  CHECK(steps.copies[2].ns == 20'000.0);
  // Kernels of 35, 5 and 15 us ran in 50 us.
  CHECK(steps.overlap_ns == 5'000.0);
  // 90 to 150 without a gap; 30, 20 and 10 of copies.
  CHECK(steps.gpu_busy_ns == 120'000.0);
}

TEST_CASE("copies: what would run beside those of a window's last step was not recorded") {
  program p;
  p.made.traced = true;
  std::uint32_t const evict = p.node(0, "evict");
  // Kernels of 95 us, each 100 us after the one before; a copy of 60 us follows each.
  for (std::uint32_t i = 0; i < 3; ++i) {
    std::int64_t const host = (100 + 20 * i) * us;
    std::int64_t const begin = (1000 + 100 * i) * us;
    p.step(host, host + 20 * us);
    p.kernel(p.launch_in(i, 0, host + us, host + 3 * us), begin, begin + 95 * us).name = 1;
    std::uint32_t const id = p.launch_in(i, evict, host + 5 * us, host + 7 * us, api_kind::copy);
    p.copy(id, begin + 95 * us, begin + 155 * us, 1000, copy_kind::device_to_host).stream = 3;
  }
  p.now = 2000 * us;
  step_analysis const steps = p.steps();
  REQUIRE(steps.period_of_gpu);
  REQUIRE(steps.copies.size() == 1);
  CHECK(steps.copies[0].ns == doctest::Approx(60'000.0));
  CHECK(steps.copies[0].alone_ns == doctest::Approx(5'000.0));  // the last one has 60 us alone
  CHECK(steps.copies_alone_ns == doctest::Approx(5'000.0));
}

TEST_CASE("idle: the host's own work, its launch, what the device took, and a wait behind it") {
  program p;
  p.made.traced = true;
  std::uint32_t const range = p.node(0, "a");
  p.step(0, 60 * us);
  std::uint32_t const id = p.launch_in(0, range, 10 * us, 13 * us);
  p.launch_in(0, 0, 13 * us, 51 * us, api_kind::wait);
  p.kernel(id, 30 * us, 50 * us).name = 1;
  CHECK(idle_of(p.steps(), 1, idle_cause::host_work) == 10'000.0);  // without ranges: of the call
  p.call(range, 10 * us, 14 * us);
  step_analysis const steps = p.steps();
  CHECK(idle_of(steps, 0, idle_cause::host_work) == 10'000.0);
  // The call, and ten microseconds from its end to an idle device; what is later is the device's.
  CHECK(idle_of(steps, 1, idle_cause::launch) == 13'000.0);
  CHECK(idle_of(steps, 1, idle_cause::device) == 7'000.0);
  CHECK(gaps_of(steps, 1, idle_cause::launch) == 1.0);
  CHECK(gaps_of(steps, 0, idle_cause::host_work) == 0.0);
  CHECK(idle_of(steps, 0, idle_cause::wait) == 10'000.0);
  CHECK(gaps_of(steps, 0, idle_cause::wait) == 1.0);
  CHECK(steps.gpu_idle_ns == 40'000.0);
}

TEST_CASE("idle: between queued kernels a microsecond is launching, within a graph nothing is") {
  for (bool const graph : {false, true}) {
    CAPTURE(graph);
    program p;
    p.made.traced = true;
    std::uint32_t const range = p.node(0, "a");
    p.step(0, 50 * us);
    api_kind const kind = graph ? api_kind::graph_launch : api_kind::launch;
    std::uint32_t const first = p.launch_in(0, range, 0, us, kind);
    std::uint32_t const second = graph ? first : p.launch_in(0, range, us, 2 * us);
    p.kernel(first, 5 * us, 10 * us).name = 1;
    p.kernel(second, 14 * us, 20 * us).name = 1;
    p.launch_in(0, 0, 2 * us, 50 * us, api_kind::wait);
    step_analysis const steps = p.steps();
    // To an idle device launching takes up to ten microseconds: here five.
    CHECK(idle_of(steps, 1, idle_cause::launch) == (graph ? 5'000.0 : 6'000.0));
    CHECK(idle_of(steps, 1, idle_cause::device) == (graph ? 4'000.0 : 3'000.0));
    CHECK(idle_of(steps, 0, idle_cause::wait) == 30'000.0);
  }
}

TEST_CASE("idle: only what is in the step, and all of a step without work") {
  program p;
  p.made.traced = true;
  std::uint32_t const range = p.node(0, "a");
  p.kernel_in(no_step, 0, 20 * us, 30 * us);
  p.step(100 * us, 200 * us);
  p.step(300 * us, 400 * us);
  p.step(400 * us, 500 * us);
  for (std::uint32_t const step : {0u, 2u}) {
    std::int64_t const begin = p.made.steps[step].begin;
    p.call(range, begin + 40 * us, begin + 46 * us).step = step;
    p.kernel(p.launch_in(step, range, begin + 40 * us, begin + 45 * us), begin + 50 * us,
             begin + 100 * us)
        .name = 1;
  }
  p.launch_in(1, 0, 300 * us, 400 * us, api_kind::wait);
  step_analysis const steps = p.steps();
  CHECK(steps.mean_ns == 100'000.0);
  CHECK(steps.gpu_busy_ns == doctest::Approx(100'000.0 / 3));
  CHECK(idle_of(steps, 0, idle_cause::wait) == doctest::Approx(100'000.0 / 3));
  CHECK(idle_of(steps, 0, idle_cause::host_work) == doctest::Approx(2 * 40'000.0 / 3));
  CHECK(idle_of(steps, 1, idle_cause::launch) == doctest::Approx(2 * 10'000.0 / 3));
  CHECK(steps.outside_gpu_ns == 10'000.0);
}

TEST_CASE("periods of the device: the middle distance of the steps, between neighbours alone") {
  program p;
  p.made.traced = true;
  // Work of 80 us each, 10, 20 and 60 us apart; step 4 follows step 2 and is no neighbour.
  std::uint32_t const numbers[] = {0, 1, 2, 3, 5, 6};
  std::int64_t const begins[] = {0, 150, 240, 340, 1000, 1140};
  for (std::size_t i = 0; i < 6; ++i) {
    std::int64_t const begin = (1000 + begins[i]) * us;
    p.made.steps.push_back(
        {begin - 50 * us + static_cast<std::int64_t>(i), begin - 46 * us, numbers[i], 0});
    p.kernel(p.launch_in(numbers[i], 0, begin - 49 * us, begin - 47 * us), begin, begin + 80 * us)
        .name = 1;
  }
  p.now = 3000 * us;
  step_analysis const steps = p.steps();
  REQUIRE(steps.period_of_gpu);
  // Neighbours: 70 of the first, then 10, 20, 60. Without the first the middle one is 20.
  double const all = 150 + 90 + 100 + (80 + 20) + 140 + (80 + 20);
  CHECK(steps.mean_ns == doctest::Approx(all * 1000 / 6));
  CHECK(steps.gpu_busy_ns == doctest::Approx(80'000.0));
  double idle = 0.0;
  for (idle_time const& each : steps.idle) idle += each.ns;
  // Four of six steps follow a neighbour: 70, 10, 20 and 60 us stand for six. That is 40 us a step,
  // and more than the periods have: they share what there is.
  CHECK(idle == doctest::Approx(all * 1000 / 6 - 80'000));
  CHECK(detail::step_distances().usual() == 0);
  detail::step_distances even;
  even.add(0, 900);
  CHECK(even.usual() == 900);
  for (std::int64_t const ns : {10, 40, 20, 80}) even.add(1, ns);
  CHECK(even.usual() == 30);
}

TEST_CASE("a loop is a period of the device where a tenth of the host's time follows the host") {
  for (std::int64_t const behind : {9, 11}) {
    CAPTURE(behind);
    program p;
    p.made.traced = true;
    for (std::uint32_t step = 0; step < 4; ++step) {
      std::int64_t const begin = (1 + step) * 200 * us;
      p.step(begin, begin + 100 * us);
      p.kernel_in(step, 0, begin + 50 * us, begin + (100 + behind) * us);
    }
    CHECK(p.steps().period_of_gpu == (behind == 11));
  }
  program late;  // the work begins when the host has left: only the work counts, not the way to it
  late.made.traced = true;
  for (std::uint32_t step = 0; step < 4; ++step) {
    std::int64_t const begin = (1 + step) * 200 * us;
    late.step(begin, begin + 100 * us);
    late.kernel(late.launch_in(step, 0, begin + 90 * us, begin + 95 * us), begin + 115 * us,
                begin + 120 * us)
        .name = 1;
  }
  CHECK_FALSE(late.steps().period_of_gpu);
}

// --- rows of a tree in a mean step ---

TEST_CASE("amounts of a step: a range around the loop has what lies below it in steps") {
  step_analysis steps;
  steps.from_steps = true;
  steps.count = 5;
  steps.without_first = true;  // of four steps
  vec<range_row> rows(5);
  enum { root, loop, block, save, rest };
  auto const place = [&](std::size_t row, std::uint32_t parent, double share) {
    rows[row].parent = parent;
    rows[row].step_share = share;
    // What lies in the first step with it is more.
    rows[row].step_call_share = rows[row].step_host_share = rows[row].step_host_self_share =
        rows[row].step_work_share = rows[row].step_self_share = rows[row].step_launch_share =
            rows[row].step_self_launch_share = rows[row].step_busy_share = {share * 1.2, share};
    if (row != root) rows[row].host.add(10);
  };
  place(loop, root, 0.5);
  place(block, loop, 0.75);
  place(save, loop, 0.0);
  place(rest, root, 0.0);
  rows[root].step_self_launch_share = {0.7, 0.5};
  rows[loop].around_steps = true;
  rows[loop].step_self_launch_share = {0.3, 0.25};
  rows[loop].step_self_share = {0.3, 0.2};
  rows[loop].self.kernels = 10;
  rows[loop].self.kernel_ns = 80;
  rows[loop].gpu_busy_ns = 800;
  rows[loop].step_busy_share = {0.9, 0.5};
  rows[block].host_total_ns = 700;
  rows[block].host_self_ns = 100;
  rows[block].step_host_share = {0.9, 0.6};
  rows[block].step_host_self_share = {0.9, 0.4};
  rows[block].step_launch_share = {0.6, 0.5};
  rows[block].step_launch_time_share = {0.6, 0.3};
  rows[block].step_work_share = {0.6, 0.4};
  rows[block].gpu_busy_ns = 500;
  rows[block].step_busy_share = {0.9, 0.2};
  rows[block].total.kernels = rows[block].self.kernels = 21;
  rows[block].total.kernel_ns = 300;
  rows[block].total.launch_ns = 40;
  rows[block].total.host_to_device_bytes = 60;
  rows[block].total.device_to_host_bytes = 20;
  rows[save].total.kernels = rows[save].self.kernels = 30;
  rows[loop].total.kernels = 61;
  rows[root].self.kernels = 8;
  rows[root].gpu_busy_ns = 1000;
  rows[root].step_busy_share = {0.5, 0.3};
  detail::step_amounts const amounts(rows, steps);
  CHECK(amounts.factor(block) == 0.75 / 4);
  CHECK(amounts.calls(block) == 0.75 / 4);
  CHECK(amounts.host_ns(block) == doctest::Approx(700 * 0.6 / 4));
  CHECK(amounts.self_ns(block) == doctest::Approx(100 * 0.4 / 4));
  CHECK(amounts.busy_ns(block) == doctest::Approx(500 * 0.2 / 4));
  CHECK(amounts.busy_ns(root) == doctest::Approx(800 * 0.5 / 4));  // no less than any range's
  // Kernels by their launches; times and bytes by the time of the work.
  CHECK(amounts.work(block).kernels == doctest::Approx(21 * 0.5 / 4));
  CHECK(amounts.work(block).launch_ns == doctest::Approx(40 * 0.3 / 4));
  CHECK(amounts.work(block).kernel_ns == doctest::Approx(300 * 0.4 / 4));
  CHECK(amounts.work(block).copied_bytes == doctest::Approx(80 * 0.4 / 4));
  CHECK(amounts.work(loop).kernels == doctest::Approx((10 * 0.25 + 21 * 0.5) / 4));
  CHECK(amounts.work(loop).kernel_ns == doctest::Approx((80 * 0.2 + 300 * 0.4) / 4));
  CHECK(amounts.work(root).kernels == doctest::Approx((8 * 0.5 + 10 * 0.25 + 21 * 0.5) / 4));
  CHECK_FALSE(amounts.is_outside(loop));
  CHECK(amounts.is_outside(save));
  rows[rest].host = {};  // never called: a row of records without a range
  CHECK_FALSE(detail::step_amounts(rows, steps).is_outside(rest));
}

TEST_CASE("amounts of a step: a copy before the steps is no part of the whole") {
  step_analysis steps;
  steps.from_steps = true;
  steps.count = 2;
  vec<range_row> rows(3);
  enum { root, load, work };
  rows[load].self.copy_ns = rows[load].total.copy_ns = 5000;
  rows[load].self.host_to_device_bytes = rows[load].total.host_to_device_bytes = 640;
  rows[load].step_work_share = rows[load].step_self_share = {0.0, 0.0};
  rows[work].self.kernel_ns = rows[work].total.kernel_ns = 200;
  rows[root].total = rows[load].total;
  rows[root].total.kernel_ns = 200;
  rows[root].step_work_share = {200 / 5200.0, 200 / 5200.0};
  detail::step_amounts const amounts(rows, steps);
  CHECK(amounts.work(root).kernel_ns == 100);
  CHECK(amounts.work(root).copy_ns == 0);
  CHECK(amounts.work(root).copied_bytes == 0);
  steps = step_analysis();  // without steps the run is all of it
  detail::step_amounts const run(rows, steps);
  CHECK(run.work(root).copy_ns == 5000);
  CHECK(run.work(root).kernel_ns == 200);
}

TEST_CASE("amounts of a step: captured kernels are in steps as often as the launching range's") {
  step_analysis steps;
  steps.from_steps = true;
  steps.count = 2;
  vec<range_row> rows(4);
  enum { root, block, mlp, replay };
  rows[mlp].parent = block;
  rows[mlp].captured.push_back({replay, 80});
  rows[mlp].captured.push_back({root, 30});
  rows[block].captured.push_back({replay, 20});
  // The capture was before the steps; half of the launches were in them.
  rows[block].step_work_share = rows[mlp].step_work_share = {0.0, 0.0};
  rows[replay].step_self_share = {0.5, 0.5};
  rows[root].step_self_share = {0.2, 0.2};
  detail::step_amounts const amounts(rows, steps);
  CHECK(amounts.captured_ns(rows[mlp].captured[0]) == 20);
  CHECK(amounts.work(mlp).graph_kernel_ns == 23);
  CHECK(amounts.work(block).graph_kernel_ns == 28);
  CHECK(amounts.work(replay).graph_kernel_ns == 0);
  CHECK(amounts.work(root).graph_kernel_ns == 0);  // the launches are within it
}

}  // namespace steps_by_hand_test
