// What rows and kernels of small profiles have of the device, added up by hand: mixtures, firsts
// and partial warps.
#include <doctest/doctest.h>
#include <strata/profile/sums.hpp>
#include <strata/tables/call_tree.hpp>
#include <strata/tables/kernel_table.hpp>
#include <strata/tables/memory_table.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "tree_rows.hpp"

namespace device_amounts_test {

using namespace strata;

namespace {

struct program : sample::maker {
  std::uint32_t a = node(0, "a");
  std::uint32_t b = node(a, "b");

  program() {
    made.traced = true;
    made.kernel_names.push_back({"first"});
    made.kernel_names.push_back({"second"});
    made.environment.devices.emplace_back();
    made.environment.devices.back().multiprocessors = 132;
  }
  kernel_record& add(std::uint32_t where, std::int64_t begin, std::int64_t end,
                     std::uint32_t blocks = 1, std::uint16_t threads = 32) {
    kernel_record& made_record = kernel(launch(where, begin - 5, begin - 1), begin, end);
    made_record.name = 1;
    made_record.grid_x = blocks;
    made_record.block_x = threads;
    return made_record;
  }
};

vec<kernel_row> kernels_of(profile const& made, folding mode = folding::none) {
  call_tree const tree(made, mode);
  return make_kernel_table(made, tree);
}

range_row row_of(profile const& made, std::string const& path, folding mode = folding::none) {
  call_tree const tree(made, mode);
  return sample::row_at(tree, path);
}

}  // namespace

TEST_CASE("kernels: durations of a first step that is apart vary nothing") {
  program p;
  p.made.has_steps = true;
  for (std::uint32_t i = 0; i < 3; ++i) {
    std::int64_t const begin = 1000 + 1000 * i;
    p.made.steps.push_back({begin, begin + 1000, i, 0});
    p.add(p.a, begin + 10, begin + (i == 0 ? 910 : 110 + i));
    p.made.launches.back().step = i;
  }
  vec<kernel_row> const rows = kernels_of(p.made);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].first_step_squares == 900.0 * 900.0);
  steps_summary steps;
  CHECK(detail::varies(rows[0], steps));
  steps.without_first = true;
  CHECK_FALSE(detail::varies(rows[0], steps));
}

TEST_CASE("kernels: partial warps count whole, four fill a multiprocessor, a context its part") {
  program p;
  p.made.contexts.push_back({5, 0, 33});
  p.made.contexts.push_back({6, 0, 300});  // more than there are
  p.add(p.a, 1000, 1100, 66, 33);          // two warps in half of the multiprocessors
  p.add(p.a, 2000, 2300, 264, 200);        // seven
  p.add(p.a, 3000, 3200, 264, 160).context = 5;
  p.add(p.a, 4000, 4400, 99, 96).context = 6;  // three warps in three quarters
  vec<kernel_row> const rows = kernels_of(p.made);
  REQUIRE(rows.size() == 1);
  kernel_row const& row = rows[0];
  CHECK(row.count == 4);
  CHECK(row.duration.sum() == 1000.0);
  CHECK(row.warps_per_block == (2 + 7 + 5 + 3) / 4.0);
  CHECK(row.block_threads_min == 33);
  CHECK(row.block_threads_max == 200);
  CHECK(row.blocks_mean == (66 + 264 + 264 + 99) / 4.0);
  CHECK(row.sm_utilisation == doctest::Approx((100 * 0.5 + 300 + 200 + 400 * 0.75) / 1000.0));
  CHECK(row.gpu_utilisation ==
        doctest::Approx((100 * 0.5 * 0.5 + 300 + 200 * 0.25 + 400 * 0.75 * 0.75) / 1000.0));
}

TEST_CASE("kernels without times are weighted by their number, others by their time") {
  program p;
  kernel_record& lost = p.add(p.a, 1000, 1100, 132, 32);
  lost.begin = lost.end = lost_time;
  kernel_record& other = p.add(p.a, 1000, 1100, 132, 128);
  other.begin = other.end = lost_time;
  vec<kernel_row> rows = kernels_of(p.made);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].sm_utilisation == (0.25 + 1.0) / 2);
  CHECK(rows[0].duration.count() == 0);
  p.add(p.a, 5000, 5100, 132, 64);
  rows = kernels_of(p.made);
  CHECK(rows[0].sm_utilisation == 0.5);
  CHECK(rows[0].count == 3);
}

TEST_CASE("kernels of folded ranges: extremes of all, whichever came first") {
  for (bool const swapped : {false, true}) {
    CAPTURE(swapped);
    program p;
    std::uint32_t const first = p.node(0, "block", 0);
    std::uint32_t const second = p.node(0, "block", 1);
    kernel_record& small = p.add(first, swapped ? 3000 : 1000, swapped ? 3010 : 1010, 10, 64);
    small.registers = 40;
    small.static_shared_bytes = 100;
    small.dynamic_shared_bytes = 7000;
    kernel_record& large = p.add(second, 2000, 2030, 30, 256);
    large.registers = 20;
    large.static_shared_bytes = 300;
    large.dynamic_shared_bytes = 500;
    vec<kernel_row> const rows = kernels_of(p.made, folding::by_name);
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].block_threads_min == 64);
    CHECK(rows[0].block_threads_max == 256);
    CHECK(rows[0].blocks_min == 10);
    CHECK(rows[0].blocks_max == 30);
    CHECK(rows[0].duration.minimum() == 10);
    CHECK(rows[0].duration.maximum() == 30);
    CHECK(rows[0].registers_per_thread == 40);
    CHECK(rows[0].static_shared_bytes == 300);
    CHECK(rows[0].dynamic_shared_bytes == 7000);
    CHECK(rows[0].warps_per_block == 5.0);
  }
}

TEST_CASE("statistics: what is added to nothing has its own minimum, whatever its sign and size") {
  duration_statistics some;
  for (std::int64_t const ns : {500, 700, 900}) some.add(ns);
  duration_statistics empty;
  empty.add(some);
  CHECK(empty.minimum() == 500);
  CHECK(empty.maximum() == 900);
  CHECK(empty.count() == 3);
  CHECK(empty.sum_of_squares() == 500.0 * 500 + 700.0 * 700 + 900.0 * 900);
  duration_statistics negative;
  duration_statistics below;
  below.add(-5);
  negative.add(below);
  CHECK(negative.maximum() == -5);
  CHECK(negative.minimum() == -5);
  empty.add(duration_statistics());
  CHECK(empty.minimum() == 500);
}

TEST_CASE("statistics: quantiles are of the nearest rank, within what was there") {
  duration_statistics made;
  for (std::int64_t i = 0; i < 11; ++i) made.add(10 * i);
  CHECK(made.quantile(0.5) == 50);
  CHECK(made.quantile(0.54) == 50);
  CHECK(made.quantile(0.56) == 60);
  CHECK(made.quantile(0.95) == 100);
  duration_statistics high;  // a bucket reaches beyond the values in it
  high.add(1'000'000);
  high.add(1'000'001);
  CHECK(high.quantile(0.9) <= 1'000'001);
  CHECK(high.quantile(0.1) >= 1'000'000);
  high.scale(0.5);
  CHECK(high.sum_of_squares() ==
        doctest::Approx(0.25 * (1'000'000.0 * 1'000'000 + 1'000'001.0 * 1'000'001)));
  CHECK(high.quantile(0.9) <= 500'000);
}

TEST_CASE("waits: the host does not wait where a stream does") {
  program p;
  auto const wait = [&](synchronization_kind kind, std::int64_t ns) {
    p.made.synchronizations.push_back({1000, 1000 + ns, p.b, 0, 0, kind, {}});
  };
  wait(synchronization_kind::stream, 10);
  wait(synchronization_kind::event, 200);
  wait(synchronization_kind::context, 3000);
  wait(synchronization_kind::stream_wait_event, 40'000);
  range_row const row = row_of(p.made, "a");
  CHECK(row.total.synchronizations == 3);
  CHECK(row.total.synchronization_ns == 3210);
  CHECK(row.self.synchronizations == 0);
}

TEST_CASE("copies: each kind has its own bytes, and what threads without a range did is told") {
  program p;
  std::int64_t now = 1000;
  std::uint64_t bytes = 1;
  for (copy_kind const kind :
       {copy_kind::unknown, copy_kind::host_to_device, copy_kind::device_to_host,
        copy_kind::device_to_device, copy_kind::host_to_host, copy_kind::peer, copy_kind::set}) {
    std::uint32_t const id = p.launch(p.b, now, now + 1, api_kind::copy);
    p.copy(id, now + 2, now + 5, bytes, kind).adopted = kind == copy_kind::peer ? 1 : 0;
    now += 10;
    bytes *= 10;
  }
  kernel_record& adopted = p.add(p.b, now + 10, now + 30);
  adopted.adopted = 1;
  range_row const row = row_of(p.made, "a");
  CHECK(row.total.other_bytes == 1 + 10'000);
  CHECK(row.total.host_to_device_bytes == 10);
  CHECK(row.total.device_to_host_bytes == 100);
  CHECK(row.total.device_to_device_bytes == 1000);
  CHECK(row.total.peer_bytes == 100'000);
  CHECK(row.total.peer_copies == 1);
  CHECK(row.total.peer_ns == 3);
  CHECK(row.total.copied_bytes() == 111'111);
  CHECK(row.total.set_bytes == 1'000'000);
  CHECK(row.total.copies == 7);
  CHECK(row.total.copy_ns == 21);
  CHECK(row.total.adopted_kernels == 1);
  CHECK(row.total.adopted_ns == 3 + 20);
  CHECK(row.self.set_bytes == 0);
}

TEST_CASE(
    "memory: a release knows its bytes, or has those of the allocation; pinned memory is no peak") {
  program p;
  p.allocate(p.launch(p.b, 1, 2, api_kind::allocate), 10, 0x100, 100);
  p.allocate(p.launch(p.b, 1, 2, api_kind::allocate), 20, 0x200, 60, memory_kind::pinned);
  p.release(p.launch(p.b, 1, 2, api_kind::release), 30, 0x200, 0, memory_kind::pinned);
  p.allocate(p.launch(p.b, 1, 2, api_kind::allocate), 40, 0x300, 50);
  p.release(p.launch(p.b, 1, 2, api_kind::release), 50, 0x300, 0);
  p.release(p.launch(p.b, 1, 2, api_kind::release), 60, 0x100, 7);  // what CUPTI says counts
  p.release(p.launch(p.b, 1, 2, api_kind::release), 70, 0x900, 0);  // of older memory
  range_row const row = row_of(p.made, "a");
  CHECK(row.total.allocations == 3);
  CHECK(row.total.allocated_bytes == 210);
  CHECK(row.total.releases == 4);
  CHECK(row.total.released_bytes == 60 + 50 + 7);
  CHECK(row.peak_bytes == 150);
}

TEST_CASE(
    "graphs: kernels that a range captured and another launched are told where they were "
    "captured") {
  program p;
  std::uint32_t const capturing = p.node(0, "capture");
  std::uint32_t const inner = p.node(capturing, "inner");
  p.add(p.a, 1000, 1100).captured_by = inner;
  p.add(p.a, 2000, 2030).captured_by = inner;
  p.add(p.a, 3000, 3500).captured_by = p.a;  // by itself
  p.add(p.a, 4000, 4007);
  range_row const below = row_of(p.made, "capture/inner");
  CHECK(below.self.graph_kernels == 2);
  CHECK(below.self.graph_kernel_ns == 130);
  range_row const above = row_of(p.made, "capture");
  CHECK(above.self.graph_kernels == 0);
  CHECK(above.total.graph_kernels == 2);
  CHECK(above.total.graph_kernel_ns == 130);
  range_row const launching = row_of(p.made, "a");
  CHECK(launching.total.kernels == 4);
  CHECK(launching.total.graph_kernels == 0);
  device_sums const sums = detail::sum_records(p.made);
  CHECK(sums.graph_kernels.size() == 1);
}

TEST_CASE("busy: what overlaps counts once, on each device by itself, also before the second one") {
  program p;
  auto const on = [&](std::uint32_t where, std::int64_t begin, std::int64_t end,
                      std::uint16_t device) { p.add(where, begin, end).device = device; };
  on(p.a, 1000, 1100, 0);
  on(p.b, 1050, 1150, 0);
  on(p.b, 1060, 1070, 0);
  range_row row = row_of(p.made, "a");
  CHECK(row.gpu_busy_ns == 150);
  CHECK(row.device_busy_ns == 150);
  CHECK(row_of(p.made, "a/b").gpu_busy_ns == 100);
  on(p.b, 1120, 1220, 1);
  on(p.b, 1200, 1210, 1);
  row = row_of(p.made, "a");
  CHECK(row.gpu_busy_ns == 220);
  CHECK(row.device_busy_ns == 150 + 100);
  CHECK(row_of(p.made, "a/b").device_busy_ns == 100 + 100);
  // Counters of one device are divided by the time of that device alone.
  counter_set set;
  set.name = counter_set::gpu;
  set.method = counting::passes;
  set.devices.push_back(1);
  p.made.counter_sets.push_back(set);
  CHECK(row_of(p.made, "a").device_busy_ns == 100);
  p.made.counter_sets[0].devices[0] = 0;
  CHECK(row_of(p.made, "a").device_busy_ns == 150);
}

TEST_CASE(
    "calls in steps: a call around steps lies in them by its time, its work by the device's") {
  program p;
  p.made.has_steps = true;
  for (std::uint32_t step = 0; step < 2; ++step)
    p.made.steps.push_back({1000 + 300 * step, 1100 + 300 * step, step, 0});
  p.call(p.a, 900, 1500).step = no_step;   // around both
  p.call(p.a, 1250, 1450).step = no_step;  // around the second
  p.call(p.b, 1310, 1320).step = 1;
  p.call(p.b, 2000, 2010).step = no_step;
  auto const kernel_in = [&](std::uint32_t step, std::int64_t begin, std::int64_t end) {
    p.add(p.a, begin, end);
    p.made.launches.back().step = step;
  };
  kernel_in(0, 1010, 1040);
  kernel_in(no_step, 1120, 1130);
  kernel_in(no_step, 1140, 1150);
  range_row const row = row_of(p.made, "a");
  CHECK(row.around_steps);
  CHECK(row.step_share == doctest::Approx((200 / 600.0 + 100 / 200.0) / 2));
  CHECK(row.step_call_share.in_steps == row.step_share);
  CHECK(row.step_call_share.typical == doctest::Approx((100 / 600.0 + 100 / 200.0) / 2));
  // 600 and 200 ns of calls, of which 300 lie in steps, 200 in the second one.
  CHECK(row.step_host_share.in_steps == doctest::Approx(300 / 800.0));
  CHECK(row.step_host_share.typical == doctest::Approx(200 / 800.0));
  for (step_part const& part : {row.step_self_share, row.step_work_share, row.step_busy_share}) {
    CHECK(part.in_steps == doctest::Approx(30 / 50.0));
    CHECK(part.typical == 0.0);
  }
  range_row const below = row_of(p.made, "a/b");
  CHECK_FALSE(below.around_steps);
  CHECK(below.step_share == 0.5);
  CHECK(below.step_call_share.typical == 0.5);
  CHECK(row_of(p.made, "").step_share == doctest::Approx(1 / 3.0));
  CHECK(row_of(p.made, "").step_call_share.typical == 0.0);
  kernel_in(1, 1310, 1390);
  kernel_in(1, 1330, 1350);  // at the same time
  range_row const more = row_of(p.made, "a");
  CHECK(more.step_work_share.in_steps == doctest::Approx(130 / 150.0));
  CHECK(more.step_work_share.typical == doctest::Approx(100 / 150.0));
  CHECK(more.step_busy_share.in_steps == doctest::Approx(110 / 130.0));
  CHECK(more.step_busy_share.typical == doctest::Approx(80 / 130.0));
  p.made.launches[1].flags = driver_call_record::in_capture;  // no work followed from it
  CHECK(row_of(p.made, "").step_share == 0.75);
  CHECK(row_of(p.made, "").step_call_share.typical == 0.5);
  program idle;
  idle.made.has_steps = true;
  CHECK(row_of(idle.made, "").step_share == 1.0);
}

TEST_CASE(
    "host time: the first recorded step, children that exceed their parent, other threads' calls") {
  program p;
  p.made.has_steps = true;
  for (std::uint32_t step = 3; step < 6; ++step) {
    range_record& call = p.call(p.a, 1000 * step, 1000 * step + 100 + step);
    call.step = step;
    p.describe(call).tokens = step;
  }
  p.call(p.b, 3000, 3900).step = 3;  // recursion at the limit of the depth
  range_row row = row_of(p.made, "a");
  CHECK(row.first_step_calls == 1);
  CHECK(row.first_step_host_ns == 103);
  CHECK(row.first_step_tokens == 3.0);
  CHECK(row.tokens == 12.0);
  CHECK(row.host_total_ns == 103 + 104 + 105);
  CHECK(row.host_self_ns == 0);
  p.made.inherited.push_back({p.b, root_node, 5000});  // more than there is: all was elsewhere
  row = row_of(p.made, "a");
  CHECK(row.host_self_ns == 312);
  p.made.inherited[0].total = 800;
  CHECK(row_of(p.made, "a").host_self_ns == 212);
  overflow_sums summed;
  summed.node = p.a;
  summed.durations.add(50);
  summed.flops = 7;
  summed.bytes = 11;
  summed.tokens = 13;
  p.made.summed_ranges.push_back(summed);
  row = row_of(p.made, "a");
  CHECK(row.host_total_ns == 312 + 50);
  CHECK(row.tokens == 25.0);
  CHECK(row.flops == 7.0);
  CHECK(row.bytes == 11.0);
}

TEST_CASE("host time in steps of a range itself is that of its calls without its children's") {
  program p;
  p.made.has_steps = true;
  p.made.steps = {{0, 100, 0, 0}, {100, 200, 1, 0}};
  p.call(p.a, 0, 100).step = 0;
  p.call(p.b, 10, 60).step = 0;
  p.call(p.a, 100, 200).step = 1;
  p.call(p.b, 110, 190).step = 1;
  p.call(p.a, 300, 350).step = no_step;
  range_row const row = row_of(p.made, "a");
  CHECK(row.host_self_ns == 50 + 20 + 50);
  CHECK(row.step_host_share.in_steps == doctest::Approx(200 / 250.0));
  CHECK(row.step_host_self_share.in_steps == doctest::Approx(70 / 120.0));
  CHECK(row.step_host_self_share.typical == doctest::Approx(20 / 120.0));
}

TEST_CASE("a call has captured work where that was launched within it, not later") {
  program p;
  auto const call = [&](std::int64_t begin, double flops) {
    range_record& made = p.call(p.a, begin, begin + 100);
    p.describe(made).flops = flops;
  };
  call(1000, 5);
  call(2000, 70);
  p.launch(p.a, 2010, 2020);
  p.made.launches.back().flags = driver_call_record::in_capture;
  // The second call only captured; the first one did what it says on the host.
  CHECK(row_of(p.made, "a").flops == 5.0);
}

TEST_CASE("launches into a capture are calls of their step, and no work follows from them") {
  program p;
  p.made.has_steps = true;
  std::uint32_t step = 0;
  for (std::uint32_t i = 0; i < 3; ++i)
    p.made.steps.push_back({1000 + 500 * i, 1490 + 500 * i, i, 0});
  auto const launch = [&](std::int64_t at, bool captured) {
    std::uint32_t const id = p.launch(p.a, at, at + 10);
    p.made.launches.back().step = step;
    if (captured) p.made.launches.back().flags = driver_call_record::in_capture;
    if (!captured) p.kernel(id, at + 20, at + 30).name = 1;
  };
  for (int i = 0; i < 8; ++i) launch(1000 + 50 * i, true);
  for (; step < 3; ++step) launch(1450 + 500 * step, false);
  range_row const row = row_of(p.made, "a");
  CHECK(row.step_self_launch_share.typical == doctest::Approx(2 / 3.0));
  CHECK(row.self.launches == 11);
  CHECK(row.self_launches_run == 3.0);
  CHECK(row_of(p.made, "").launches_run == 3.0);
  p.made.losses.launches_summed = 1;  // some are in sums alone: all count
  CHECK(row_of(p.made, "").launches_run == 11.0);
  CHECK(row.step_launch_time_share.typical == doctest::Approx(2 / 11.0));
}

TEST_CASE("spans: until the last work of a launch, whatever comes first") {
  program p;
  p.call(p.a, 1000, 1100);
  std::uint32_t const id = p.launch(p.a, 1010, 1020, api_kind::graph_launch);
  p.kernel(id, 1200, 1900).name = 1;
  p.kernel(id, 1300, 1400).name = 1;
  CHECK(row_of(p.made, "a").span_ns == 900);
}

TEST_CASE("memory by purpose: peaks stay, and a range within one has its purpose") {
  program p;
  std::uint32_t const cache = p.node(0, "memory:cache");
  std::uint32_t const inner = p.node(cache, "grow");
  p.made.has_steps = true;
  p.made.steps.push_back({100, 200, 0, 0});
  p.made.steps.push_back({300, 400, 1, 0});
  auto const allocate = [&](std::uint32_t where, std::int64_t time, std::uint64_t address,
                            std::uint64_t bytes) {
    p.allocate(p.launch(where, 1, 2, api_kind::allocate), time, address, bytes);
  };
  auto const release = [&](std::int64_t time, std::uint64_t address) {
    p.release(p.launch(p.b, 1, 2, api_kind::release), time, address, 0);
  };
  allocate(inner, 110, 0x1, 1000);
  release(120, 0x1);
  allocate(inner, 130, 0x2, 300);
  allocate(p.a, 140, 0x3, 5);
  release(250, 0x2);  // between the steps
  allocate(cache, 310, 0x2, 70);
  allocate(cache, 320, 0x2, 80);  // the release was lost
  call_tree const tree(p.made);
  memory_table const table = make_memory_table(p.made, tree);
  REQUIRE(table.purposes.size() == 2);
  CHECK(table.purposes[0].name == "cache");
  CHECK(table.purposes[0].peak == 1000);
  CHECK(table.purposes[0].at_peak == 1000);
  CHECK(table.purposes[0].live == 80);
  CHECK(table.purposes[0].allocations == 4);
  CHECK(table.purposes[0].allocated == 1450);
  CHECK(table.purposes[0].released == 1000 + 70);
  CHECK(table.purposes[1].live == 5);
  REQUIRE(table.steps.size() == 2);
  CHECK(table.steps[0].peak == 1000);
  CHECK(table.steps[0].live == 305);
  CHECK(table.steps[0].allocated == 1305);
  CHECK(table.steps[0].released == 1000);
  CHECK(table.steps[1].peak == 85);
  CHECK(table.steps[1].released == 70);
  REQUIRE(table.allocations.size() == 5);
  CHECK(table.allocations[0].released_in == "a/b");
  CHECK(table.allocations[3].released_in == "");  // nobody is known to have released it
  CHECK(table.allocations[3].released_at == 320);
  CHECK(table.peak_bytes == 1000);
}

TEST_CASE("memory: who held it as most was in use, what went with the same event aside") {
  program p;
  std::uint32_t const x = p.node(0, "memory:x");
  std::uint32_t const y = p.node(0, "memory:y");
  p.allocate(p.launch(x, 1, 2, api_kind::allocate), 10, 0x1, 100);
  p.allocate(p.launch(y, 1, 2, api_kind::allocate), 20, 0x1, 400);  // ends the first one
  call_tree const tree(p.made);
  memory_table const table = make_memory_table(p.made, tree);
  REQUIRE(table.purposes.size() == 3);
  CHECK(table.purposes[0].name == "y");
  CHECK(table.purposes[0].at_peak == 400);
  CHECK(table.purposes[1].at_peak == 0);
  CHECK(table.purposes[2].at_peak == 0);
}

TEST_CASE("memory: the peak of the sums, where the timeline has not all") {
  program p;
  p.allocate(p.launch(p.a, 1, 2, api_kind::allocate), 10, 0x1, 100);
  p.made.device = detail::sum_records(p.made);
  p.made.device.by_node.times[root_node].peak_bytes = 900;
  call_tree const tree(p.made);
  CHECK(make_memory_table(p.made, tree).peak_bytes == 900);
}

}  // namespace device_amounts_test
