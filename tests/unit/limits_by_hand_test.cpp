// Roofs, limits and the host's timeline of small tables, computed by hand.
#include <doctest/doctest.h>
#include "analyse/device_peaks.hpp"
#include "analyse/host_timeline.hpp"
#include "analyse/occupancy.hpp"
#include "analyse/roofline.hpp"
#include "analyse/what_if.hpp"
#include "report/page_budget.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sample_profile.hpp"

namespace limits_by_hand_test {

using namespace strata;

namespace {

/// A table of counters with these values by row, of rows themselves and in all.
counter_table table_of(std::size_t rows,
                       std::vector<std::pair<std::string, std::vector<double>>> const& columns) {
  counter_table made;
  made.rows = rows;
  made.notes.emplace_back();
  for (auto const& column : columns) {
    counter_metric metric;
    metric.key = column.first;
    made.metrics.push_back(metric);
  }
  for (std::size_t row = 0; row < rows; ++row)
    for (auto const& column : columns)
      for (int scope = 0; scope < 2; ++scope) made.values.push_back({column.second[row], 0});
  return made;
}

/// A run without steps: a root, and a range of 1 ms and of one kernel.
struct one_range {
  profile source;
  vec<range_row> rows{2};
  step_analysis steps;
  std::vector<std::pair<std::string, std::vector<double>>> columns;

  one_range() {
    rows[1].host.add(1'000'000);
    rows[1].gpu_busy_ns = rows[1].device_busy_ns = 1'000'000;
    rows[1].self.kernels = rows[1].total.kernels = 1;
    rows[1].self.kernel_ns = rows[1].total.kernel_ns = 1'000'000;
    set("hbm_peak_bytes_per_second", 4e12);
    set("l2_peak_bytes_per_second", 8e12);
    set("fp32_peak_per_second", 60e12);
    set("fp64_peak_per_second", 30e12);
    set("tensor_peak_per_second", 900e12);
    set("tensor_peak_per_cycle", 9e5);
    set("tensor_fp16_peak_per_cycle", 9e5);
    set("tensor_tf32_peak_per_cycle", 4.5e5);
    set("tensor_fp4_peak_per_cycle", 5.4e6);
  }
  void set(std::string const& key, double value) { columns.push_back({key, {value, value}}); }
  void add_device(std::uint32_t ordinal, std::string const& name, std::uint64_t l2_bytes) {
    profile_device device;
    device.ordinal = ordinal;
    device.name = name;
    device.l2_bytes = l2_bytes;
    source.environment.devices.push_back(device);
    kernel_record kernel{};
    kernel.device = static_cast<std::uint16_t>(ordinal);
    kernel.end = 1;
    source.kernels.push_back(kernel);
  }
  roofline_table roofline() const {
    counter_table const counters = table_of(2, columns);
    return make_roofline(source, rows, steps, &counters);
  }
  std::string text() const { return roofline().limits[1].text; }
};

constexpr double no = sample::not_given;

bool used(roofline_table const& made, std::string_view name) {
  roof const* const found = made.find(name);
  return found != nullptr && found->used;
}

}  // namespace

TEST_CASE("a point: operations of all pipes, by its bytes, in its time") {
  one_range one;
  one.set("flop_fp32", 6e9);
  one.set("flop_fp64", 1.5e9);
  one.set("hbm_bytes", 2e9);
  roofline_table const made = one.roofline();
  roofline_point const* point = nullptr;
  for (roofline_point const& each : made.points)
    if (each.row == 1 && each.level == "HBM") point = &each;
  REQUIRE(point != nullptr);
  CHECK(point->flops == 7.5e9);
  CHECK(point->intensity_flop_per_byte == 3.75);
  CHECK(point->flops_per_s == doctest::Approx(7.5e12));
  CHECK(point->bytes_per_s == doctest::Approx(2e12));
  // 2 GB at 4 TB/s take longer than FP32's 0.1 ms and FP64's 0.05 ms.
  CHECK(point->time_at_roof_ns == doctest::Approx(0.5e6));
  CHECK(made.limits[1].roof == "HBM");
  CHECK(made.limits[1].text == "latency");  // half of the roof is near none
}

TEST_CASE("tensor cores have one pipe for all formats: their times add up") {
  one_range one;
  for (detail::tensor_format const& format : detail::tensor_formats)
    if (format.is_common)
      one.set(std::string(format.key), format.key == "tensor_tf32" ? 45e9 : 90e9);
  one.set("hbm_bytes", 1e6);
  double formats = 0.0;
  for (detail::tensor_format const& format : detail::tensor_formats)
    formats += format.is_common ? 1.0 : 0.0;
  REQUIRE(formats >= 2.0);
  // Each format alone takes 0.1 ms.
  CHECK(one.roofline().limits[1].roof_ns == doctest::Approx(formats * 0.1e6));
}

TEST_CASE("a format's roof is the peak that the chip names, not a multiple of BF16's") {
  one_range one;
  one.set("tensor_fp4", 540e9);  // B300: six times BF16
  one.set("hbm_bytes", 1e6);
  CHECK(one.roofline().rate_of("FP4 tensor") == doctest::Approx(5400e12));
  CHECK(one.roofline().limits[1].roof_ns == doctest::Approx(0.1e6));
}

TEST_CASE("shared memory has points of its own at the roof of L1's data path, and no limit") {
  one_range one;
  one.set("flop_fp32", 6e9);
  one.set("l1_data_bytes", 8e9);
  one.set("shared_wavefronts", 5e7);
  one.set("l1_peak_bytes_per_second", 33e12);
  roofline_table const made = one.roofline();
  roofline_point const* point = nullptr;
  for (roofline_point const& each : made.points)
    if (each.row == 1 && each.level == "shared") point = &each;
  REQUIRE(point != nullptr);
  CHECK(point->bytes == doctest::Approx(128 * 5e7));
  CHECK(made.rate_of("shared") == made.rate_of("L1"));
  CHECK(made.limits[1].roof != "shared");
}

TEST_CASE("a roof is used where its work was counted, HBM's where bytes are declared") {
  one_range one;
  one.set("flop_fp32", 6e9);
  one.set("l2_bytes", 2e9);
  CHECK(used(one.roofline(), "FP32"));
  CHECK(used(one.roofline(), "L2"));
  CHECK_FALSE(used(one.roofline(), "HBM"));
  CHECK_FALSE(used(one.roofline(), "L1"));
  CHECK_FALSE(used(one.roofline(), "BF16 tensor"));
  CHECK(one.roofline().find("shared") == nullptr);
  one.rows[1].bytes = 1e6;
  CHECK(used(one.roofline(), "HBM"));
  one.set("tensor_bf16", 6e9);
  CHECK(used(one.roofline(), "BF16 tensor"));
  CHECK_FALSE(used(one.roofline(), "TF32 tensor"));
}

TEST_CASE("constants that an HFMA2 loads use no roof; each format of the tensor cores its own") {
  one_range one;
  one.set("fp16_peak_per_second", 120e12);
  one.set("tensor_tf32", 6e9);
  one.set("flop_fp16", 1.1e9);  // 0.9 % of 1 ms
  CHECK_FALSE(used(one.roofline(), "FP16"));
  CHECK(one.roofline().rate_of("FP16") == 120e12);
  CHECK(used(one.roofline(), "TF32 tensor"));
  CHECK(one.roofline().rate_of("TF32 tensor") == 450e12);
  CHECK_FALSE(used(one.roofline(), "BF16 tensor"));
  one.columns.pop_back();
  one.set("flop_fp16", 1.3e9);
  CHECK(used(one.roofline(), "FP16"));
}

TEST_CASE("the number of a limiter is that of the unit with its name") {
  one_range one;
  one.set("l1_ns", 0.76e6);
  one.set("shared_ns", 0.74e6);
  CHECK(one.text() == "L1 with shared memory 76 %");
  one.set("hbm_ns", 0.77e6);
  CHECK(one.text() == "HBM 77 % and L1 with shared memory 76 %");
  one.columns.pop_back();
  one.set("hbm_ns", 0.80e6);
  CHECK(one.text() == "HBM 80 %");
  one = one_range();
  one.set("shared_ns", 0.74e6);
  CHECK(one.text() == "shared memory 74 %");
}

TEST_CASE("a peak that no row has in all is the largest of the rows") {
  profile source;
  vec<range_row> rows(4);
  step_analysis steps;
  counter_table const counters =
      table_of(4, {{"hbm_peak_bytes_per_second", {no, 3e12, 4e12, 2e12}}});
  CHECK(make_roofline(source, rows, steps, &counters).rate_of("HBM") == 4e12);
}

TEST_CASE("measured roofs: the distance is measured, what is possible no less") {
  one_range one;
  one.add_device(0, "GPU", 0);
  one.source.environment.devices[0].ceilings.push_back({});
  device_ceiling& ceiling = one.source.environment.devices[0].ceilings[0];
  ceiling.name = "HBM";
  ceiling.rate = 3.6e12;
  CHECK(one.roofline().rate_of("HBM") == 3.6e12);
  CHECK(one.roofline().limit_of("HBM") == 4e12);
  ceiling.rate = 4.1e12;
  CHECK(one.roofline().limit_of("HBM") == 4.1e12);
}

TEST_CASE(
    "devices: of two kinds no attributes are taken; L2 of all may have served what is declared") {
  one_range one;
  one.add_device(0, "GPU", 1'000'000);
  one.add_device(1, "GPU", 1'000'000);
  one.rows[1].bytes = 1.5e6;
  one.rows[1].flops = 1e6;
  // In 0.2 us HBM moves 0.8 MB, L2 1.6 MB.
  one.rows[1].gpu_busy_ns = one.rows[1].device_busy_ns = 200;
  auto const is_above = [&] {
    for (roofline_point const& point : one.roofline().points)
      if (point.row == 1) return point.above_roof;
    FAIL("no point");
    return false;
  };
  CHECK_FALSE(is_above());
  one.rows[1].bytes = 2.5e6;  // more than both hold
  one.rows[1].gpu_busy_ns = one.rows[1].device_busy_ns = 400;
  CHECK(is_above());
  one.source.environment.devices[1].name = "another GPU";
  one.rows[1].bytes = 1.5e6;
  one.rows[1].gpu_busy_ns = one.rows[1].device_busy_ns = 200;
  CHECK(is_above());  // nothing is known of their L2
  one.source.environment.devices[0].ceilings.push_back({});
  one.source.environment.devices[0].ceilings[0].name = "HBM";
  one.source.environment.devices[0].ceilings[0].rate = 1e12;
  CHECK(one.roofline().rate_of("HBM") == 4e12);
  one.source.environment.devices[1].name = "GPU";
  CHECK(one.roofline().rate_of("HBM") == 1e12);
}

TEST_CASE("two devices at a time do twice as much, with any of their units") {
  one_range one;
  one.rows[1].device_busy_ns = 2'000'000;
  one.set("flop_fp32", 60e9);
  one.set("hbm_bytes", 1e6);
  CHECK(one.roofline().limits[1].roof_ns == doctest::Approx(0.5e6));
  CHECK(one.roofline().limits[1].roof == "FP32");
  one.set("fma_ns", 1.2e6);
  CHECK(one.roofline().limits[1].units[gpu_unit::fma] == doctest::Approx(0.6e6));
  CHECK(one.roofline().limits[1].text == "FMA 60 %");
}

TEST_CASE("a range's own kernels take no longer than it is busy") {
  one_range one;
  one.rows[1].self.kernel_ns = 1'700'000;  // side by side
  CHECK(one.roofline().own[1].time_ns == 1e6);
  one.rows[1].self.kernel_ns = 700'000;
  CHECK(one.roofline().own[1].time_ns == 0.7e6);
}

TEST_CASE("limiters in words: copies, launches, a unit from 60 % on, and the longest stall") {
  one_range one;
  one.set("issue_ns", 0.61e6);
  CHECK(one.text() == "issue 61 %");
  one.rows[1].total.copy_ns = 499'000;
  CHECK(one.text() == "issue 61 %");
  one.rows[1].total.copy_ns = 501'000;
  CHECK(one.text() == "copies");
  one = one_range();
  one.set("issue_ns", 0.59e6);
  CHECK(one.text() == "");  // another unit may bound it
  CHECK(detail::limiter_name(one.roofline().limits[1]) == "not known");
  for (gpu_unit_entry const& unit : gpu_unit_table)
    if (unit.metric != "issue_ns") one.set(std::string(unit.metric), 0);
  CHECK(one.text() == "latency");
  CHECK(detail::limiter_name(one.roofline().limits[1]) == "latency");
  one.set("stall_selected_share", 50);
  one.set("stall_not_selected_share", 40);
  one.set("stall_long_scoreboard_share", 30);
  one.set("stall_barrier_share", 20);
  CHECK(one.text() == "latency: long scoreboard");
  one.rows[1].total.kernels = 51;  // of less than 20 us
  one.rows[1].host_total_ns = 1'999'000;
  CHECK(one.text() == "latency: long scoreboard");
  one.rows[1].host_total_ns = 2'001'000;
  CHECK(one.text() == "launch");
  one.rows[1].total.kernels = 49;
  CHECK(one.text() == "latency: long scoreboard");
}

TEST_CASE("the limiter of all of a step is of its work, not of a copy before the steps") {
  one_range one;
  one.set("issue_ns", 0.61e6);
  one.steps.from_steps = true;
  range_row& all = one.rows[0];
  all.gpu_busy_ns = all.device_busy_ns = 10'000'000;
  all.total.kernels = 1;
  all.total.kernel_ns = 1'000'000;
  all.total.copy_ns = 9'000'000;
  all.step_busy_share = all.step_work_share = {0.1, 0.1};
  CHECK(one.roofline().limits[0].time_ns == 1e6);
  CHECK(one.roofline().limits[0].text == "issue 61 %");
  one.rows[1].total.copy_ns = 501'000;
  CHECK(one.roofline().limits[0].text == "copies");
}

TEST_CASE("L1 is shared memory where that is more than half of it") {
  unit_times units;
  units[gpu_unit::l1] = 100;
  units[gpu_unit::shared] = 51;
  CHECK(units.longest() == gpu_unit::shared);
  units[gpu_unit::shared] = 49;
  CHECK(units.longest() == gpu_unit::l1);
  units[gpu_unit::hbm] = 101;
  CHECK(units.longest() == gpu_unit::hbm);
  CHECK(units.longest_ns() == 101);
}

TEST_CASE(
    "blocks of a multiprocessor: whole ones, registers in units, shared memory with the driver's") {
  detail::sm_limits sm;
  sm.warps = 64;
  sm.blocks = 32;
  sm.registers = 65'536;
  sm.shared_bytes = 100'000;
  sm.reserved_shared_bytes = 1024;
  kernel_row kernel;
  kernel.warps_per_block = 5;  // 12.8 of them
  CHECK(detail::residency_of(kernel, sm).blocks == 12);
  CHECK(detail::residency_of(kernel, sm).occupancy == 60 / 64.0);
  kernel.registers_per_thread = 41;  // 1,312 a warp are 1,536: 8.53 blocks, not 9.99
  CHECK(detail::residency_of(kernel, sm).blocks == 8);
  CHECK(detail::residency_of(kernel, sm).limiter == "registers");
  kernel.static_shared_bytes = 9'000;
  kernel.dynamic_shared_bytes = 5'000;  // with 1,024: 6.66 blocks, not 7.14
  CHECK(detail::residency_of(kernel, sm).blocks == 6);
  CHECK(detail::residency_of(kernel, sm).limiter == "shared memory");
}

// --- what the host did ---

namespace {

struct host_calls {
  profile made;

  std::size_t add(std::uint32_t node, std::int64_t begin, std::int64_t end, api_kind kind,
                  std::uint8_t flags = 0) {
    made.launches.push_back({begin, end, static_cast<std::uint32_t>(made.launches.size() + 1), node,
                             0, 0, kind, flags});
    return made.launches.size() - 1;
  }
  using parts = std::map<std::pair<std::uint32_t, idle_cause>, std::int64_t>;
  /// What the thread did from `begin` to `end`; `last` is the position of the call behind it.
  parts split(std::int64_t begin, std::int64_t end, std::size_t last = none) const {
    parts made_parts;
    detail::host_timeline const host(made, 0);
    host.split(0, begin, end, last == none ? nullptr : &made.launches[last],
               [&](std::uint32_t node, idle_cause cause, std::int64_t ns) {
                 made_parts[{node, cause}] += ns;
               });
    return made_parts;
  }
  static constexpr std::size_t none = ~std::size_t{0};
};

constexpr std::int64_t us = 1000;

}  // namespace

TEST_CASE("a long wait gives back what was released since the wait before") {
  host_calls calls;
  calls.add(1, 0, 10 * us, api_kind::release);
  calls.add(2, 10 * us, 20 * us, api_kind::wait);
  calls.add(3, 20 * us, 120 * us, api_kind::wait);
  // The wait in between has given it back already.
  CHECK(calls.split(30 * us, 120 * us) == host_calls::parts{{{3, idle_cause::wait}, 90 * us}});
  host_calls given;
  given.add(1, 0, 10 * us, api_kind::release);
  given.add(3, 10 * us, 120 * us, api_kind::wait);
  CHECK(given.split(70 * us, 120 * us) ==
        host_calls::parts{{{1, idle_cause::allocation}, 50 * us}});
  CHECK(given.split(71 * us, 120 * us) == host_calls::parts{{{3, idle_cause::wait}, 49 * us}});
}

TEST_CASE("launches come late for a wait that the host was in, not for a launch") {
  host_calls late;
  late.add(1, 0, 50 * us, api_kind::wait);
  std::size_t const behind = late.add(2, 60 * us, 70 * us, api_kind::launch);
  CHECK(late.split(10 * us, 70 * us, behind) ==
        host_calls::parts{{{1, idle_cause::wait}, 60 * us}});
  host_calls launching;
  launching.add(1, 0, 50 * us, api_kind::launch);
  std::size_t const next = launching.add(2, 60 * us, 70 * us, api_kind::launch);
  CHECK(launching.split(10 * us, 70 * us, next) ==
        host_calls::parts{{{1, idle_cause::launch}, 40 * us}, {{2, idle_cause::launch}, 20 * us}});
  // Which ends as the device runs dry is none that the host was in.
  host_calls ended;
  ended.add(1, 0, 10 * us, api_kind::wait);
  std::size_t const own = ended.add(2, 20 * us, 30 * us, api_kind::launch);
  CHECK(ended.split(10 * us, 30 * us, own) ==
        host_calls::parts{{{2, idle_cause::launch}, 20 * us}});
}

TEST_CASE("releases are allocation, copies are copies, and 32 us between calls are the program's") {
  host_calls calls;
  calls.add(1, 0, 10 * us, api_kind::release);
  calls.add(2, 10 * us, 20 * us, api_kind::copy);
  calls.add(3, 20 * us, 30 * us, api_kind::allocate);
  CHECK(calls.split(0, 61 * us) == host_calls::parts{{{1, idle_cause::allocation}, 10 * us},
                                                     {{2, idle_cause::copy}, 10 * us},
                                                     {{3, idle_cause::allocation}, 41 * us}});
  CHECK(calls.split(0, 62 * us) == host_calls::parts{{{1, idle_cause::allocation}, 10 * us},
                                                     {{2, idle_cause::copy}, 10 * us},
                                                     {{3, idle_cause::allocation}, 10 * us},
                                                     {{3, idle_cause::host_work}, 32 * us}});
}

TEST_CASE("what lies in a capture, and calls that make graphs, are graphs") {
  host_calls calls;
  constexpr std::uint8_t captured = driver_call_record::in_capture;
  calls.add(1, 0, 10 * us, api_kind::wait);
  calls.add(2, 20 * us, 30 * us, api_kind::begin_capture, captured);
  calls.add(2, 40 * us, 50 * us, api_kind::launch, captured);
  calls.add(3, 90 * us, 100 * us, api_kind::end_capture);
  calls.add(3, 100 * us, 140 * us, api_kind::instantiate);
  calls.add(3, 140 * us, 150 * us, api_kind::graph_change);
  std::size_t const launched = calls.add(4, 190 * us, 200 * us, api_kind::graph_launch);
  CHECK(calls.split(15 * us, 200 * us, launched) ==
        host_calls::parts{{{2, idle_cause::graph}, 75 * us},
                          {{3, idle_cause::graph}, 60 * us},
                          {{4, idle_cause::host_work}, 40 * us},
                          {{4, idle_cause::launch}, 10 * us}});
  // Of a recording without these calls, the launches into the capture tell where it goes on.
  host_calls older;
  older.add(1, 0, 10 * us, api_kind::wait);
  older.add(2, 40 * us, 50 * us, api_kind::launch, captured);
  std::size_t const last = older.add(4, 190 * us, 200 * us, api_kind::graph_launch);
  CHECK(older.split(20 * us, 200 * us, last) ==
        host_calls::parts{{{2, idle_cause::graph}, 170 * us}, {{4, idle_cause::launch}, 10 * us}});
}

TEST_CASE("calls of warm-up steps are no part of the timeline") {
  host_calls calls;
  calls.add(1, 0, 10 * us, api_kind::wait);
  calls.add(2, 20 * us, 50 * us, api_kind::copy, driver_call_record::in_warmup);
  calls.add(3, 60 * us, 70 * us, api_kind::wait);
  CHECK(calls.split(15 * us, 70 * us) ==
        host_calls::parts{{{3, idle_cause::host_work}, 45 * us}, {{3, idle_cause::wait}, 10 * us}});
}

// --- what the step would be ---

TEST_CASE("the fix of a finding: a part of the range's kernels in a step") {
  vec<range_row> rows(2);
  rows[1].self.kernel_ns = 4000;
  rows[1].total.kernel_ns = 9000;
  rows[1].gpu_busy_ns = 9500;
  rows[1].step_share = 1.0;
  rows[1].step_self_share = {0.5, 0.4};
  rows[1].step_call_share = {0.6, 0.6};
  rows[1].step_work_share = {0.75, 0.7};
  rows[1].step_busy_share = {1.0, 0.9};
  step_analysis steps;
  steps.from_steps = true;
  steps.count = 2;
  what_if made;
  finding_range of{"a", 1, 250.0, finding_part::kernels};
  REQUIRE(detail::fix_of(of, rows, steps, made));
  CHECK(made.kernels == doctest::Approx(1 - 250 / (4000 * 0.5 / 2)));
  CHECK_FALSE(made.below);
  of.part = finding_part::kernels_below;
  REQUIRE(detail::fix_of(of, rows, steps, made));
  CHECK(made.kernels == doctest::Approx(1 - 250 / (9000 * 0.75 / 2)));
  CHECK(made.below);
  rows[1].step_busy_share = {0.5, 0.4};
  rows[1].gpu_busy_ns = 3000;  // of streams or devices at the same time
  REQUIRE(detail::fix_of(of, rows, steps, made));
  CHECK(made.kernels == doctest::Approx(1 - 250 / (3000 * 0.5 / 2)));
  of.cost_ns_per_step = 0.0;
  CHECK_FALSE(detail::fix_of(of, rows, steps, made));
}

TEST_CASE("at a part of the roof kernels take as much less as they are below it") {
  roofline_table roofs;
  roofs.own.resize(2);
  roofs.own[1].time_ns = 100;
  roofs.own[1].roof_ns = 45;
  CHECK(at_roof(roofs, 1).kernels == doctest::Approx(0.5));
  CHECK(at_roof(roofs, 1, 0.45).kernels == doctest::Approx(1.0));
  CHECK(at_roof(roofs, 1, 0.3).kernels == 1.0);  // it is faster already
}

TEST_CASE(
    "without the host's own work the device's idle time may go, of other causes the cost alone") {
  step_analysis steps;
  steps.idle = {{0, idle_cause::host_work, 300.0, 1.0}, {0, idle_cause::launch, 200.0, 1.0}};
  finding cause;
  cause.cost_ns_per_step = 300.0;
  cause.ranges.push_back({"", 0, 300.0, finding_part::host_work});
  CHECK(detail::most_gain(cause, steps) == 500.0);
  cause.ranges[0].part = finding_part::allocations;
  CHECK(detail::most_gain(cause, steps) == 500.0);
  cause.ranges[0].part = finding_part::graphs;
  CHECK(detail::most_gain(cause, steps) == 500.0);
  cause.ranges.push_back({"", 0, 0.0, finding_part::launches});
  CHECK(detail::most_gain(cause, steps) == 300.0);
}

}  // namespace limits_by_hand_test
