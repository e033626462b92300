// Programs that make ratios of unlike work easy: no share above 100 %, no number without end, and
// no gain beyond what there is, whatever the shape of the run.
#include <doctest/doctest.h>
#include <strata/tables/json.hpp>
#include <strata/tables/table.hpp>
#include "report/console_tables.hpp"
#include "report/findings.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "finding_sample.hpp"

namespace hostile_steps_test {

using namespace strata;
using namespace finding_test;

namespace {

/// The numbers before each " %" of a text.
std::vector<double> shares_in(std::string const& text) {
  std::vector<double> found;
  for (std::size_t at = text.find(" %"); at != std::string::npos; at = text.find(" %", at + 1)) {
    std::size_t begin = at;
    while (begin > 0 && std::string("0123456789.,").find(text[begin - 1]) != std::string::npos)
      --begin;
    if (begin < at) found.push_back(std::strtod(text.substr(begin, at - begin).c_str(), nullptr));
  }
  return found;
}

void check_json(nlohmann::json const& value, std::string const& key) {
  if (value.is_object()) {
    for (auto const& [name, member] : value.items()) check_json(member, name);
  } else if (value.is_array()) {
    for (nlohmann::json const& member : value) check_json(member, key);
  } else if (value.is_number()) {
    CAPTURE(key);
    bool const is_part = key == "part" || key == "cost_of_step" || key == "step_share" ||
                         key.find("utilisation") != std::string::npos;
    if (is_part) CHECK(value.get<double>() <= 1.0 + 1e-9);
    if (key.find("_ns") != std::string::npos) CHECK(value.get<double>() >= -1.0);
  }
}

/// What each own range's kernels gain by all causes together, in the order of the rows.
void check_gains(answer const& a) {
  std::vector<double> gained(a.input.folded.size(), 0.0);
  for (finding const& cause : a.findings()) {
    CAPTURE(cause.rule);
    CHECK(cause.cost_ns_per_step <= a.steps().mean_ns * (1.0 + 1e-9));
    CHECK_FALSE(cause.predicted_step_ns < 0.0);
    for (finding_range const& range : cause.ranges)
      if (range.part == finding_part::kernels && cause.rule != "managed-memory")
        gained[range.row] += range.cost_ns_per_step;
  }
  for (std::size_t row = 0; row < gained.size(); ++row) {
    range_limit const& own = a.input.roofline.own[row];
    CAPTURE(row);
    CHECK(gained[row] <= own.time_ns * (1.0 + 1e-9));
  }
}

void check_all(profile const& made) {
  answer const a(made);
  std::string text = text_of(a, false) + a.all();
  {
    detail::text_writer out(text);
    write_table(out, a.input, {300});
  }
  INFO(text);
  for (double const share : shares_in(text)) CHECK(share <= 100.0);
  for (char const* const word : {"inf", "nan ", "nan%", "-nan", "NaN", "-0.0"})
    CHECK(text.find(std::string(" ") + word) == std::string::npos);
  check_json(nlohmann::json::parse(text_of(a, true)), "");
  std::string all;
  {
    detail::text_writer out(all);
    write_json(out, a.input);
  }
  check_json(nlohmann::json::parse(all), "");
  check_gains(a);
}

/// A product, a copy and a wait a step; the counters of the product.
template <class Body>
program steps_of(std::uint32_t count, Body body) {
  program p;
  p.run(count, [&] {
    p.in(p.attention, [&](std::uint32_t at) { p.kernel_of(at, 1000 * us); });
    body(p);
    p.wait();
  });
  p.count_nothing(p.attention);
  return p;
}

}  // namespace

TEST_CASE("hostile steps: a first step that is a hundred times longer") {
  for (std::uint32_t const steps : {1u, 2u, 3u, 4u, 20u}) {
    CAPTURE(steps);
    check_all(steps_of(steps, [](program& p) {
                if (p.step != 0) return;
                p.in(p.mlp, [&](std::uint32_t at) { p.kernel_of(at, 100'000 * us); });
                p.now += 1'000 * us;
              }).made);
  }
}

TEST_CASE("hostile steps: no recorded step, no work in steps, no step at all") {
  program p = steps_of(4, [](program&) {});
  p.made.steps.clear();
  check_all(p.made);
  p = steps_of(4, [](program&) {});
  for (driver_call_record& each : p.made.launches) each.step = no_step;
  for (range_record& each : p.made.ranges) each.step = no_step;
  check_all(p.made);
  p.made.has_steps = false;
  check_all(p.made);
  // All steps are kept in sums, and the work is not.
  p = steps_of(4, [](program&) {});
  for (step_record const& each : p.made.steps) p.made.summed_steps.add(each.end - each.begin);
  p.made.steps.clear();
  check_all(p.made);
  p.made = {};
  check_all(p.made);
}

TEST_CASE("hostile steps: two devices, and streams that overlap") {
  program p = steps_of(10, [](program& q) {
    for (std::uint32_t stream = 8; stream < 12; ++stream) {
      std::int64_t const free = q.free;
      q.free = q.now;
      kernel_record& kernel = q.kernel_of(q.mlp, 900 * us, 30, stream);
      kernel.device = static_cast<std::uint16_t>(stream % 2);
      q.free = q.free > free ? q.free : free;
    }
  });
  p.made.environment.devices.push_back(p.made.environment.devices[0]);
  p.made.environment.devices[1].ordinal = 1;
  p.count_nothing(p.mlp);
  for (counter_set& set : p.made.counter_sets) set.devices = {0, 1};
  check_all(p.made);
  answer const a(p.made);
  CHECK(a.input.roofline.devices == 2);
}

TEST_CASE("hostile steps: kernels that are side by side in steps, and were not before") {
  program p;
  auto const kernel_in = [&p](std::uint32_t stream, std::int64_t ns) {
    p.in(p.attention, [&](std::uint32_t at) { p.kernel_of(at, ns, 1000, stream); });
  };
  kernel_in(7, 100'000 * us);
  p.wait();
  p.run(10, [&] {
    for (std::uint32_t stream = 7; stream < 11; ++stream) {
      p.free = p.now;
      kernel_in(stream, 400 * us);
    }
    p.wait();
  });
  p.count_nothing(p.attention);
  p.use(p.attention, "issue", 0.01);
  p.hbm(p.attention, 0.01);
  check_all(p.made);
  answer const a(p.made);
  INFO(a.all());
  CHECK(a.input.roofline.own[1].time_ns == doctest::Approx(a.steps().gpu_busy_ns));
  REQUIRE(a.find("latency-bound") != nullptr);
  CHECK(a.find("latency-bound")->cost_ns_per_step < 0.99 * a.steps().gpu_busy_ns);
}

TEST_CASE("hostile steps: graphs that another range launches, threads without ranges") {
  program p = steps_of(10, [](program& q) {
    std::uint32_t const id = q.api(0, 5 * us, api_kind::graph_launch);
    std::int64_t begin = q.free > q.now ? q.free : q.now;
    for (int i = 0; i < 20; ++i) {
      kernel_record& kernel = q.kernel(id, begin, begin + 50 * us);
      kernel.name = 1;
      kernel.captured_by = q.mlp;
      begin += 50 * us;
    }
    q.free = begin;
    q.made.launches.push_back(
        {q.now, q.now + 2 * us, ++q.correlations, 0, q.step, 1, api_kind::launch, 0});
    kernel_record& other = q.kernel(q.correlations, begin, begin + 300 * us);
    other.name = 1;
    other.stream = 9;
    q.free = begin + 300 * us;
  });
  p.made.threads.push_back({0, 1, "main"});
  p.made.threads.push_back({1, 2, "autograd"});
  check_all(p.made);
}

TEST_CASE("hostile steps: a kernel of the first step alone is none of a mean step") {
  program p;
  p.made.kernel_names.push_back({"prompt"});
  p.run(10, [&] {
    p.in(p.attention, [&](std::uint32_t at) {
      if (p.step == 0) p.kernel_of(at, 50'000 * us).name = 2;
      p.kernel_of(at, 1000 * us);
    });
    p.wait();
  });
  answer const a(p.made);
  REQUIRE(a.steps().without_first);
  vec<detail::top_kernel> const kernels = detail::fold_kernels(a.input);
  REQUIRE(kernels.size() == 1);
  CHECK(kernels[0].row->short_name == "work");
  CHECK(kernels[0].launches == doctest::Approx(1.0));
  CHECK(kernels[0].step_ns == doctest::Approx(1000 * us));
  check_all(p.made);
}

TEST_CASE("hostile steps: kernels that are not shown take no less than nothing") {
  sample::random_numbers random(3);
  for (int i = 0; i < 20; ++i) {
    CAPTURE(i);
    program p;
    for (std::uint32_t name = 2; name <= 12; ++name)
      p.made.kernel_names.push_back({"kernel_" + std::to_string(name)});
    p.run(3 + random.below(10), [&] {
      for (std::uint32_t name = 1; name <= 12; ++name)
        p.kernel_of(p.attention, name < 11 ? 1 + random.below(100'000) : 0).name = name;
      p.wait();
    });
    check_all(p.made);
  }
}

TEST_CASE("hostile steps: causes of two kernels of one range leave it at its limit") {
  program p;
  p.made.kernel_names.push_back({"other"});
  p.run(8, [&] {
    p.in(p.attention, [&](std::uint32_t at) {
      p.kernel_of(at, 500 * us, 4);
      p.kernel_of(at, 500 * us, 4).name = 2;
    });
    p.wait();
  });
  p.count_nothing(p.attention);
  p.use(p.attention, "l2", 0.54);  // of the time: at 90 % it takes 600 us
  answer const a(p.made);
  INFO(a.all());
  finding const* const few = a.find("few-blocks");
  REQUIRE(few != nullptr);
  CHECK(few->cost_ns_per_step == doctest::Approx(400 * us));
  check_all(p.made);
}

TEST_CASE(
    "hostile steps: random counters promise no time twice, and none of a kernel at its peak") {
  sample::random_numbers random(7);
  char const* const units[] = {"tensor", "fma", "alu", "fp64", "xu", "adu", "lsu", "issue", "l2"};
  for (int i = 0; i < 60; ++i) {
    CAPTURE(i);
    program p = one_kernel(1 + random.below(3000));
    for (kernel_record& kernel : p.made.kernels) kernel.registers = 16 + random.below(240);
    double most = 0.25;
    for (char const* const unit : units) {
      double const part = random.below(100) / 100.0;
      p.use(p.attention, unit, part);
      most = part > most ? part : most;
    }
    double const bytes = p.hbm_peak * 1e6 * random.below(100) / 100.0;
    p.set(p.attention, "dram__bytes_read.sum", bytes);
    p.set(p.attention, "lts__t_sectors_op_atom.sum", random.below(1'000'000));
    p.set(p.attention, "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum", random.below(1'000'000));
    p.set(p.attention, "smsp__sass_data_bytes_mem_global_op_ld.sum", random.below(100'000'000));
    p.set(p.attention, "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum",
          random.below(1'000'000) * 1e4);
    check_all(p.made);
    answer const a(p.made);
    if (most < bound_use) continue;
    for (char const* const rule :
         {"few-blocks", "atomics", "tail-wave", "low-occupancy", "latency-bound"})
      CHECK(a.find(rule) == nullptr);
  }
}

}  // namespace hostile_steps_test
