// Kernels that were counted one by one in a range of several: each is judged by its own counts.
#include "analyse/kernel_ranges.hpp"
#include <doctest/doctest.h>
#include <strata/tables/launch_index.hpp>
#include "report/account_view.hpp"
#include "report/finding_view.hpp"
#include "report/findings.hpp"

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "finding_sample.hpp"
#include "page_sample.hpp"

namespace kernel_ranges_test {

using namespace strata;
using namespace finding_test;

namespace {

constexpr char const* global_loads = "smsp__sass_data_bytes_mem_global_op_ld.sum";

/// Two kernels in a range: one of 1 ms that wastes seven of eight bytes of its sectors, which HBM
/// bounds, and one that uses all of them, for 600 us.
struct two_kernels : program {
  two_kernels() {
    made.kernel_names.push_back({"sound_kernel"});
    made.kernel_names[0].mangled = "wasteful_kernel";
    run(8, [&] {
      in(attention, [&](std::uint32_t at) {
        kernel_of(at, 1000 * us);
        kernel_of(at, 600 * us).name = 2;
      });
      wait();
    });
    // A range is counted for each of them, which then becomes the counted kernel.
    count_nothing(attention);
    hbm(attention, 0.8);
    use(attention, "issue", 0.05);
    vec<double> const sound = take(attention);
    set(attention, global_loads, 0.8 * 4.8e9 / 8);
    vec<double> const wasteful = take(attention);
    for (std::size_t i = 0; i < counted().names.size(); ++i) {
      bool const adds_up = combine_of(counted().names[i]) == metric_combine::sum;
      if (adds_up) set(attention, counted().names[i], sound[i] * 0.6 + wasteful[i]);
    }
    vec<double> less = sound;
    for (std::size_t i = 0; i < less.size(); ++i)
      if (combine_of(counted().names[i]) == metric_combine::sum) less[i] *= 0.6;
    counter_set& kernels = made.add_counters(counter_set::gpu_kernels);
    kernels.metrics = counted().metrics;
    kernels.names = counted().names;
    kernels.kernels.push_back({attention, 1, 1, 1, wasteful});
    kernels.kernels.push_back({attention, 2, 1, 1, less});
    made.device = detail::sum_records(made);  // as a session makes them
    made.device.complete = true;
  }

  vec<double> take(std::uint32_t where) {
    vec<double> values(counted().names.size(), 0.0);
    for (counter_value const& each : counted().values)
      if (each.node == where) values[each.counter] = each.value;
    return values;
  }
};

std::optional<profile> kernels_as_ranges(profile const& made) {
  profile_tables tables(made);
  return detail::kernels_as_ranges(tables.input());
}

}  // namespace

TEST_CASE("a kernel that was counted by itself is accused, and named; the other one is not") {
  two_kernels p;
  answer const a(p.made);
  INFO(a.all());
  finding const* const found = a.find("uncoalesced");
  REQUIRE(found != nullptr);
  CHECK(found->path == "attention");
  CHECK(a.input.folded[found->row].path == "attention");
  REQUIRE(found->ranges.size() == 1);
  CHECK(found->ranges[0].kernel == "wasteful_kernel");
  CHECK(found->cost_ns_per_step == doctest::Approx(0.875e6).epsilon(0.01));
  CHECK(found->predicted_step_ns == doctest::Approx(a.steps().mean_ns - 0.875e6).epsilon(0.02));
  detail::finding_view const view = detail::view_of(*found, a.steps());
  CHECK(view.place == "attention (wasteful_kernel)");
  CHECK(text_of(a, true).find("\"kernel\":\"wasteful_kernel\"") != std::string::npos);
  // Without these counts the range is judged as a whole, of which part of the bytes is used.
  profile mixed = p.made;
  mixed.add_counters(counter_set::gpu_kernels).kernels.clear();
  answer const whole(mixed);
  finding const* const of_range = whole.find("uncoalesced");
  CHECK((of_range == nullptr || of_range->ranges[0].kernel.empty()));
}

TEST_CASE("a kernel above the roof is a doubt; what limits it its range says, in each output") {
  two_kernels p;
  counter_set& kernels = p.made.add_counters(counter_set::gpu_kernels);
  std::size_t const bytes = p.counted().names.index_of("dram__bytes_read.sum");
  std::size_t const adds =
      p.counted().names.index_of("smsp__sass_thread_inst_executed_op_fadd_pred_on.sum");
  double const sums[] = {1.12 * 4.8e9, 0.3 * 0.6 * 4.8e9};  // the range is at 81 %
  for (std::size_t i = 0; i < 2; ++i) {
    kernels.kernels[i].values[bytes] = sums[i];
    kernels.kernels[i].values[adds] = 1e6;
  }
  p.set(p.attention, "dram__bytes_read.sum", sums[0] + sums[1]);
  answer const a(p.made);
  INFO(a.all());
  finding const* const doubt = a.find("above-roof");
  REQUIRE(doubt != nullptr);
  CHECK(doubt->title ==
        "Above the roof: at the peak of HBM the counted work takes 1.12 times the measured time, "
        "so a count, a clock or the peak is wrong");
  CHECK(detail::view_of(*doubt, a.steps()).place == "attention (wasteful_kernel)");
  CHECK(a.input.roofline.limits[1].text == "HBM 81 %");
  CHECK(a.input.findings.bound.find("Limiter: HBM for 100 % of the step.") != std::string::npos);
  CHECK(a.input.findings.bound.find("its limiter is HBM, at 81 %") != std::string::npos);
  for (account_part const& part : a.input.account.parts) CHECK(part.name != "above the roof");
  // Where all of its kernels are, so is the range.
  kernels.kernels[1].values[bytes] = 1.12 * 0.6 * 4.8e9;
  p.set(p.attention, "dram__bytes_read.sum", 1.12 * 1.6 * 4.8e9);
  answer const all(p.made);
  CHECK(all.input.roofline.limits[1].text == "above the roof");
  CHECK(all.input.findings.bound.find("Limiter: above the roof for 100 %") != std::string::npos);
  CHECK(detail::unknown_text(all.input).find("tell more: fixed clocks.") != std::string::npos);
}

TEST_CASE("several kernels of one range are no more ranges") {
  two_kernels p;
  counter_set& kernels = p.made.add_counters(counter_set::gpu_kernels);
  std::size_t const asked = p.counted().names.index_of(global_loads);
  kernels.kernels[1].values[asked] /= 8;
  answer const a(p.made);
  finding const* const found = a.find("uncoalesced");
  REQUIRE(found != nullptr);
  REQUIRE(found->ranges.size() == 2);
  CHECK(detail::view_of(*found, a.steps()).place ==
        "attention (wasteful_kernel and 1 more kernel)");
}

TEST_CASE("the account has each kernel that was counted by itself, by its own counts") {
  two_kernels p;
  std::size_t const wait =
      p.counted().names.index_of("smsp__warps_issue_stalled_long_scoreboard.sum");
  std::size_t const bytes = p.counted().names.index_of("dram__bytes_read.sum");
  counter_set& kernels = p.made.add_counters(counter_set::gpu_kernels);
  kernels.kernels[1].values[wait] = 0.6 * 0.6 * 132e6 * 32;
  kernels.kernels[1].values[bytes] *= 0.6;
  answer const a(p.made);
  double sums[4] = {};
  std::string_view stall;
  for (account_part const& part : a.input.account.parts) {
    sums[static_cast<std::size_t>(part.kind)] += part.ns;
    if (part.name == "latency") stall = part.stall;
  }
  auto const of = [&](account_kind kind) { return sums[static_cast<std::size_t>(kind)]; };
  // The finding gains most of the wasteful one, and HBM is its limit; the other one waits.
  CHECK(of(account_kind::unknown) == 0.0);
  CHECK(of(account_kind::explained) + of(account_kind::at_roof) ==
        doctest::Approx(1600 * us).epsilon(0.01));
  CHECK(stall == "long_scoreboard");
  CHECK(of(account_kind::at_roof) == doctest::Approx(125 * us).epsilon(0.05));
  // On the page the finding belongs to the limiter of the wasteful one alone.
  page_test::page_tables const tables(p.made);
  nlohmann::json const busy = nlohmann::json::parse(tables.data())["budget"]["busy"];
  for (std::size_t i = 0; i < busy.size(); i += 4)
    CHECK((busy[i] == "HBM" && busy[i + 2] > 800 * us) == (busy[i + 3] == 1));
}

TEST_CASE("kernels become ranges below theirs, with their work and counts, and none is twice") {
  two_kernels p;
  std::optional<profile> const apart = kernels_as_ranges(p.made);
  REQUIRE(apart.has_value());
  REQUIRE(apart->nodes.size() == p.made.nodes.size() + 2);
  call_tree const before(p.made, folding::by_name);
  call_tree const tree(*apart, folding::by_name);
  range_row const& range = tree.row_of(p.attention);
  CHECK(range.self.kernels == 0);
  CHECK(range.total.kernels == before.row_of(p.attention).self.kernels);
  CHECK(range.total.kernel_ns == before.row_of(p.attention).total.kernel_ns);
  auto const first = static_cast<std::uint32_t>(p.made.nodes.size());
  CHECK(tree.row_of(first).path == "attention/wasteful_kernel");
  CHECK(tree.row_of(first + 1).path == "attention/sound_kernel");
  double sums[2] = {};
  std::size_t const bytes = p.counted().names.index_of("dram__bytes_read.sum");
  for (counter_value const& value : p.counted().values)
    if (value.counter == bytes) sums[0] += value.value;
  for (counter_value const& value : apart->counters().values)
    if (value.counter == bytes) sums[1] += value.value;
  CHECK(sums[0] == doctest::Approx(sums[1]));
}

TEST_CASE("kernels of a range write no more to device memory than the range does") {
  two_kernels p;
  // One by one, each leaves L2 as it found it.
  p.set(p.attention, "dram__bytes_read.sum", 1e9);
  std::size_t const bytes = p.counted().names.index_of("dram__bytes_read.sum");
  counter_set& kernels = p.made.add_counters(counter_set::gpu_kernels);
  kernels.kernels[0].values[bytes] = 3e9;
  kernels.kernels[1].values[bytes] = 1e9;
  std::optional<profile> const apart = kernels_as_ranges(p.made);
  REQUIRE(apart.has_value());
  double found[3] = {};
  auto const first = static_cast<std::uint32_t>(p.made.nodes.size());
  for (counter_value const& value : apart->counters().values) {
    if (value.counter != bytes) continue;
    if (value.node >= first) found[value.node - first] = value.value;
    if (value.node == p.attention) found[2] = value.value;
  }
  CHECK(found[0] == 0.75e9);
  CHECK(found[1] == 0.25e9);
  CHECK(found[2] == 0.0);
}

TEST_CASE("a kernel keeps the clock that it was counted at, and the launches that are its own") {
  two_kernels p;
  // Each is counted with what CUPTI adds: more cycles than the range has in one piece.
  std::size_t const cycles = p.counted().names.index_of("gpc__cycles_elapsed.avg");
  counter_set& kernels = p.made.add_counters(counter_set::gpu_kernels);
  for (counted_kernel& each : kernels.kernels) each.values[cycles] = 5000;
  p.counted().work.push_back({p.attention, 0, 2, 24, 1, 1, 0.0});  // 24 launches are elsewhere
  std::optional<profile> const apart = kernels_as_ranges(p.made);
  REQUIRE(apart.has_value());
  auto const first = static_cast<std::uint32_t>(p.made.nodes.size());
  int found = 0;
  for (counter_value const& value : apart->counters().values) {
    if (value.counter != cycles) continue;
    if (value.node >= first) CHECK(value.value == 5000);
    if (value.node == p.attention) CHECK(value.value == 1600);
    ++found;
  }
  CHECK(found == 3);
  found = 0;
  for (counted_work const& work : apart->counters().work) {
    if (work.node < first) continue;
    CHECK(work.launches == 1);
    CHECK(work.foreign == 0);
    ++found;
  }
  CHECK(found == 2);
  answer const a(p.made);
  for (account_part const& part : a.input.account.parts) CHECK(part.kind != account_kind::unknown);
}

TEST_CASE("what is one kernel, varies or was not counted by kernel stays in its range") {
  two_kernels p;
  counter_set& kernels = p.made.add_counters(counter_set::gpu_kernels);
  SUBCASE("nothing counted") { kernels.kernels.clear(); }
  SUBCASE("steps that launched different numbers") {
    for (counted_kernel& each : kernels.kernels) each.launches_min = 0;
  }
  SUBCASE("counted in part, since the program ended") {
    for (counted_kernel& each : kernels.kernels)
      each.values[p.counted().names.index_of("lts__t_bytes.sum")] = std::nan("");
  }
  SUBCASE("one kernel") {
    for (kernel_record& each : p.made.kernels) each.name = 1;
  }
  SUBCASE("ranges that were counted on several devices") { p.counted().devices = {0, 1}; }
  SUBCASE("kernels of which sums alone are left") { p.made.kernels.pop_back(); }
  SUBCASE("a node that is not there") {
    for (counted_kernel& each : kernels.kernels) each.node = 1000;
  }
  CHECK_FALSE(kernels_as_ranges(p.made).has_value());
}

}  // namespace kernel_ranges_test
