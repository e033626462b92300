// What the rules that look at steps, hosts and doubts say that a cause costs, computed by hand, and
// where they begin to see it.
#include <doctest/doctest.h>
#include "report/answer_text.hpp"
#include "report/finding_view.hpp"
#include "report/findings.hpp"

#include <cstdint>
#include <string>
#include <string_view>

#include "finding_sample.hpp"

namespace rule_costs_test {

using namespace strata;
using namespace finding_test;

namespace {

doctest::Approx about(double ns) { return doctest::Approx(ns).epsilon(1e-6); }

/// NaN where the rule is silent.
double cost_of(profile const& made, std::string_view rule) {
  answer const a(made);
  finding const* const found = a.find(rule);
  return found == nullptr ? sample::not_given : found->cost_ns_per_step;
}
bool is_found(profile const& made, std::string_view rule) {
  return answer(made).find(rule) != nullptr;
}

/// The value of a finding's evidence.
double evidence_of(finding const& of, std::string_view column) {
  for (finding_evidence const& each : of.evidence)
    if (each.column == column) return each.value;
  return sample::not_given;
}

}  // namespace

TEST_CASE("first-step: three medians and more, of three steps at least") {
  auto const found = [](std::int64_t first, std::uint32_t others) {
    program p;
    p.made.traced = false;
    p.run(1, [&] { p.now += first; });
    p.run(others, [&] { p.now += 100 * us; });
    return is_found(p.made, "first-step");
  };
  CHECK(found(300 * us, 4));
  CHECK_FALSE(found(299 * us, 4));
  CHECK(found(300 * us, 2));
  CHECK_FALSE(found(900 * us, 1));
}

TEST_CASE("first-step: what Strata's own start leaves behind is not the program's") {
  auto const found = [](double start_seconds, std::int64_t before, std::int64_t first) {
    program p;
    p.made.traced = false;
    p.now += before;
    p.run(1, [&] { p.now += first; });
    p.run(4, [&] { p.now += 20 * us; });
    p.made.cost.start_seconds = start_seconds;
    return is_found(p.made, "first-step");
  };
  CHECK(found(0.0, 0, 1240 * us));
  CHECK_FALSE(found(0.006, 0, 1240 * us));
  CHECK_FALSE(found(0.006, 11'000 * us, 1240 * us));
  CHECK(found(0.006, 13'000 * us, 1240 * us));  // the step came later
  CHECK(found(0.006, 0, 1600 * us));            // it takes longer than that
}

TEST_CASE("untrusted: more than one record of a hundred, whatever was lost") {
  program p;
  p.run(10, [&] {
    p.in(p.attention, [&](std::uint32_t row) {
      for (int i = 0; i < 20; ++i) p.kernel_of(row, 10 * us);
    });
    p.wait();
  });
  for (std::uint64_t profile_losses::*const lost :
       {&profile_losses::activity_dropped, &profile_losses::launches_dropped,
        &profile_losses::uncorrelated, &profile_losses::timestamps_lost}) {
    p.made.losses = {};
    p.made.losses.*lost = 2;  // of 200
    CHECK_FALSE(is_found(p.made, "untrusted"));
    p.made.losses.*lost = 3;
    CHECK(cost_of(p.made, "untrusted") == 0.0);
  }
}

TEST_CASE("own-cost: more than a tenth of all threads' time; a step pays its thread's part") {
  program p;
  p.made.traced = false;
  p.run(10, [&] { p.now += 1000 * us; });
  p.made.threads.resize(4);
  p.made.cost.range_ns = 100.0;
  double const all = 4 * p.made.cost.seconds_in_window * 1e9;
  p.made.cost.ranges = static_cast<std::uint64_t>(0.0999 * all / 100);
  CHECK_FALSE(is_found(p.made, "own-cost"));
  p.made.cost.ranges = static_cast<std::uint64_t>(0.1001 * all / 100) + 1;
  double const ns = 100.0 * static_cast<double>(p.made.cost.ranges);
  CHECK(cost_of(p.made, "own-cost") == about(ns / 10 / 4));
  REQUIRE(is_found(p.made, "own-cost"));
  answer const a(p.made);
  CHECK(evidence_of(*a.find("own-cost"), "own_ns") == about(ns / 10));
}

TEST_CASE("varying-calls: the mean beyond the median, of sixteen calls that are half their own") {
  auto const made = [](std::uint32_t steps, std::uint32_t slow, std::int64_t slow_ns,
                       std::int64_t child_ns) {
    program p;
    p.made.traced = false;
    std::uint32_t const child = p.node(p.other, "child");
    for (std::uint32_t i = 0; i < steps; ++i)
      p.run(1, [&] {
        std::int64_t const ns = i >= steps - slow ? slow_ns : 100 * us;
        p.in(p.other, [&](std::uint32_t) {
          if (child_ns > 0) p.in(child, [&](std::uint32_t) { p.now += child_ns; });
          p.now += ns - child_ns;
        });
      });
    return p.made;
  };
  // Three of 20 calls take 400 us: the mean is 145, the median 100.
  CHECK(cost_of(made(20, 3, 400 * us, 0), "varying-calls") ==
        doctest::Approx(45'000).epsilon(0.02));
  CHECK(cost_of(made(16, 3, 400 * us, 0), "varying-calls") ==
        doctest::Approx(56'250).epsilon(0.02));
  CHECK_FALSE(is_found(made(15, 3, 400 * us, 0), "varying-calls"));
  CHECK_FALSE(is_found(made(20, 3, 195 * us, 0), "varying-calls"));  // not twice the median
  CHECK(is_found(made(20, 3, 210 * us, 0), "varying-calls"));
  // Of 2,900 us the child has 1,440 or 1,460.
  CHECK(is_found(made(20, 3, 400 * us, 72 * us), "varying-calls"));
  CHECK_FALSE(is_found(made(20, 3, 400 * us, 73 * us), "varying-calls"));
}

TEST_CASE("varying-calls: no more than the device idles for the host, what it begins late aside") {
  auto const found = [](bool ahead) {
    program p;
    std::uint32_t turn = 0;
    p.run(20, [&] {
      std::int64_t const ns = turn++ % 5 == 4 ? 500 * us : 100 * us;
      p.in(p.other, [&](std::uint32_t row) {
        if (ahead) p.kernel_of(row, 600 * us);
        p.now += ns;
        if (!ahead) p.kernel_of(row, 600 * us);
        p.free += 300 * us;  // another program's work: the queued kernel begins late
        p.kernel_of(row, 400 * us);
      });
      p.wait();
    });
    answer const a(p.made);
    double device = 0.0;
    for (idle_time const& each : a.steps().idle)
      if (each.cause == idle_cause::device) device += each.ns;
    CHECK(device > 250'000.0);
    return is_found(p.made, "varying-calls");
  };
  CHECK(found(false));       // 80 us beyond the median, for which the device waits
  CHECK_FALSE(found(true));  // behind a kernel nothing waits for them
}

TEST_CASE("launch-bound: graphs of more than four kernels a launch are not launched one by one") {
  auto const found = [](int kernels) {
    program p;
    p.run(8, [&] {
      p.in(p.attention, [&](std::uint32_t row) {
        for (int i = 0; i < 20; ++i) {
          std::uint32_t const id = p.api(row, 20 * us, api_kind::graph_launch);
          std::int64_t begin = p.now + us;
          for (int k = 0; k < kernels; ++k, begin += us) {
            kernel_record& made = p.kernel(id, begin, begin + us / 2);
            made.name = 1;
            made.grid_x = 1000;
            made.block_x = 256;
            p.free = made.end;
          }
          p.now = p.now + us;
        }
      });
      p.wait();
    });
    return is_found(p.made, "launch-bound");
  };
  CHECK(found(4));
  CHECK_FALSE(found(5));
}

TEST_CASE("managed-memory: each range has what it migrates itself") {
  program p;
  std::uint32_t const child = p.node(p.attention, "child");
  p.run(4, [&] {
    p.in(p.attention, [&](std::uint32_t outer) {
      p.in(child, [&](std::uint32_t row) {
        std::int64_t const begin = p.kernel_of(row, 1000 * us).begin;
        p.made.migrations.push_back(
            {begin + us, begin + 401 * us, 1u << 20, 0, migration_kind::to_device, {}});
        p.made.migrations.push_back({begin + us, begin + us, 9, 0, migration_kind::gpu_faults, {}});
        p.wait(row);
      });
      p.kernel_of(outer, 1000 * us);
    });
    p.wait();
  });
  p.made.has_migrations = true;
  answer const a(p.made);
  finding const* const found = a.find("managed-memory");
  INFO(a.all());
  REQUIRE(found != nullptr);
  CHECK(found->path == "attention/child");
  CHECK(found->ranges.size() == 1);  // nothing of the range above
  CHECK(evidence_of(*found, "migrated_bytes_h2d") == about(1u << 20));
  CHECK(evidence_of(*found, "gpu_page_faults") == about(9));
  CHECK(evidence_of(*found, "migration_ns") == about(400'000));
  double above = 0.0;
  for (range_row const& row : a.tree.rows())
    if (row.path == "attention") above = static_cast<double>(row.gpu_page_faults);
  CHECK(above == 4 * 9);  // with what is below
}

namespace {

/// A kernel that the host waits for, and the host's own work, in which pages migrate for so long.
void work_on_host(program& p, std::uint32_t where, std::int64_t ns, std::int64_t migration) {
  p.in(where, [&](std::uint32_t row) {
    p.kernel_of(row, 100 * us);
    p.wait(row);
    if (migration > 0)
      p.made.migrations.push_back(
          {p.now + us, p.now + us + migration, 4096, 0, migration_kind::to_host, {}});
    p.now += ns;
  });
}

}  // namespace

TEST_CASE("managed-memory: a page beside long work of the host does not explain it") {
  auto const rule_of = [](std::int64_t migration) {
    program p;
    p.run(8, [&] { work_on_host(p, p.attention, 500 * us, migration); });
    p.made.has_migrations = true;
    return std::string(answer(p.made).findings()[0].rule);
  };
  CHECK(rule_of(50 * us) == "managed-memory");
  CHECK(rule_of(3 * us) == "host-work");
}

TEST_CASE("managed-memory: the title has what all ranges of it move") {
  program p;
  p.run(4, [&] {
    for (std::uint32_t const where : {p.attention, p.mlp})
      p.in(where, [&](std::uint32_t row) {
        std::int64_t const begin = p.kernel_of(row, 1000 * us).begin;
        p.made.migrations.push_back(
            {begin + us, begin + 401 * us, 1u << 20, 0, migration_kind::to_device, {}});
        p.wait(row);
      });
  });
  p.made.has_migrations = true;
  answer const a(p.made);
  finding const* const found = a.find("managed-memory");
  INFO(a.all());
  REQUIRE(found != nullptr);
  CHECK(found->ranges.size() == 2);
  CHECK(found->title == "Managed memory moves 2.00 MiB to the GPU and 0 B back in a step");
}

TEST_CASE(
    "the sentence: the CPU waits for pages where most of its own work is in ranges that migrate") {
  auto const bound = [](std::int64_t with_pages, std::int64_t without) {
    program p;
    p.run(8, [&] {
      work_on_host(p, p.attention, with_pages, with_pages - 2 * us);
      work_on_host(p, p.mlp, without, 0);
    });
    p.made.has_migrations = true;
    return answer(p.made).input.findings.bound;
  };
  std::string const pages = bound(510 * us, 480 * us);
  CAPTURE(pages);
  CHECK(pages.find("CPU-bound: the GPU is idle ") == 0);
  CHECK(pages.find(" of the step, mostly while the CPU waits for pages of managed memory.") !=
        std::string::npos);
  std::string const computes = bound(480 * us, 510 * us);
  CHECK(computes.find(" of the step, mostly while the program computes on the CPU.") !=
        std::string::npos);
}

TEST_CASE("idle times are of all GPUs that worked") {
  program p;
  p.made.environment.devices.push_back(p.made.environment.devices[0]);
  p.made.environment.devices[1].ordinal = 1;
  p.run(4, [&] {
    p.in(p.attention, [&](std::uint32_t at) {
      for (std::uint16_t i = 0; i < 50; ++i) p.kernel_of(at, 1 * us).device = i % 2;
    });
    p.wait();
  });
  answer const a(p.made);
  finding const* const found = a.find("launch-bound");
  REQUIRE(found != nullptr);
  CHECK(found->title.find("All GPUs are idle for ") == 0);
}

TEST_CASE("means of whole numbers are whole in sentences") {
  program p;
  p.run(49, [&] {  // 49 times a 49th is less than one
    p.in(p.other, [&](std::uint32_t at) {
      p.copy_of(at, copy_kind::host_to_device, 800 * us, true, 1u << 25);
    });
    p.in(p.attention, [&](std::uint32_t at) { p.kernel_of(at, 200 * us); });
    p.wait();
  });
  answer const a(p.made);
  finding const* const found = a.find("pageable-copy");
  REQUIRE(found != nullptr);
  CHECK(found->title.find("32.0 MiB a step go to the GPU in 1 copy, at 41.9 GB/s") == 0);
}

TEST_CASE("the console says which keys would decide most of the rules that are open") {
  std::vector<undecided_rule> open;
  CHECK(detail::undecided_text(open).empty());
  open.push_back({"tail-wave", deciding::kernels, "mlp"});
  CHECK(detail::undecided_text(open) ==
        "record with counters=findings,kernels=mlp to run 1 more check");
  open.push_back({"sm-imbalance", deciding::kernels, "attention"});
  CHECK(detail::undecided_text(open) ==
        "record with counters=findings,kernels=mlp to run 1 more check");
  // Kernels are counted in addition to the preset, and each run records again.
  open.push_back({"extra-traffic", deciding::hbm, {}});
  open.push_back({"atomics", deciding::findings, {}});
  open.push_back({"conversions", deciding::again, {}});
  CHECK(detail::undecided_text(open) ==
        "record with counters=findings,kernels=mlp to run 4 more checks");
  open.erase(open.begin(), open.begin() + 2);
  CHECK(detail::undecided_text(open) == "record with counters=findings to run 3 more checks");
  open.erase(open.begin());
  open[0].decider = deciding::no_graphs;
  CHECK(detail::undecided_text(open) == "switch CUDA graphs off to run 2 more checks");
  open.erase(open.begin());
  CHECK(detail::undecided_text(open) ==
        "record again with this version, whose counters=findings counts more, to run 1 more check");
}

TEST_CASE("above-roof: the level that is the furthest above is named") {
  program p = one_kernel();
  p.hbm(p.attention, 0.1);
  p.set(p.attention, "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", 1e6);
  p.set(p.attention, "dram__bytes_read.sum", 1.5 * program::hbm_peak * 1e6);
  p.set(p.attention, "lts__t_bytes.sum", 1.2 * program::l2_peak * 1e6);
  answer const a(p.made);
  INFO(a.all());
  finding const* found = nullptr;
  for (finding const& each : a.findings())
    if (each.rule == "above-roof" && each.title.find("Above the roof: ") == 0) found = &each;
  REQUIRE(found != nullptr);
  CHECK(
      found->title ==
      "Above the roof: at the peak of HBM the counted work takes 1.50 times the measured time, so "
      "a count, a clock or the peak is wrong");
  CHECK(found->cost_ns_per_step == 0.0);
  CHECK(evidence_of(*found, "time_at_roof_ns") == about(1.5e6));
}

TEST_CASE("the sentence: GPU-bound from 70 % on, by the range with the most work, copies with it") {
  auto const bound = [](std::int64_t idle) {
    program p;
    p.run(8, [&] {
      p.in(p.attention, [&](std::uint32_t row) { p.kernel_of(row, 300 * us); });
      p.in(p.mlp, [&](std::uint32_t row) {
        p.wait(row);
        p.kernel_of(row, 200 * us);
        p.wait(row);
        p.copy_of(row, copy_kind::host_to_device, 150 * us, false);
      });
      p.now += idle;
    });
    return answer(p.made).input.findings.bound;
  };
  // 650 us of work, and 12.5 us of waits and launches around it.
  std::string const busy = bound(240 * us);
  CAPTURE(busy);
  CHECK(busy.find("GPU-bound") == 0);
  // 350 us of 907.
  CHECK(busy.find("The longest range is mlp, 350 us (39 % of the step). Its kernel is work.") !=
        std::string::npos);
  CHECK(bound(300 * us).find("CPU-bound") == 0);
}

TEST_CASE("the sentence: a kernel whose template arguments are left out ends it with a full stop") {
  std::string const arguments = "<" + std::string(70, 'x') + ">";
  for (bool const is_long : {false, true}) {
    program p;
    p.made.kernel_names[0].mangled = (is_long ? std::string(70, 'k') : "reduce") + arguments;
    p.run(8, [&] {
      p.in(p.attention, [&](std::uint32_t row) { p.kernel_of(row, 1000 * us); });
      p.wait();
    });
    std::string const bound = answer(p.made).input.findings.bound;
    has(bound, is_long ? "kkk\xE2\x80\xA6" : " Its kernel is reduce.");
  }
}

TEST_CASE("the sentence: what recording adds to a step is no idle time of the program's") {
  auto const bound = [](std::uint64_t unrecorded, double unrecorded_ns) {
    program p;
    p.run(8, [&] {
      p.in(p.attention, [&](std::uint32_t row) { p.kernel_of(row, 500 * us); });
      p.wait();
      p.now += 500 * us;
    });
    p.made.cost.unrecorded_steps = unrecorded;
    p.made.cost.unrecorded_step_ns = unrecorded_ns;
    answer const a(p.made);
    double const recorded = a.input.steps.p50_ns;
    CHECK(
        a.input.steps.recording_factor() ==
        about(unrecorded >= 5 && unrecorded_ns < recorded / 1.05 ? recorded / unrecorded_ns : 1.0));
    return a.input.findings.bound;
  };
  CHECK(bound(0, 0.0).find("CPU-bound: the GPU is idle ") == 0);
  CHECK(bound(4, 600e3).find("CPU-bound: the GPU is idle ") == 0);  // too few
  std::string const shorter = bound(5, 600e3);
  CAPTURE(shorter);
  CHECK(shorter.find("GPU-bound: the GPU is busy 8") == 0);
  CHECK(shorter.find(" These are parts of a step without recording, which takes 600 us; with "
                     "recording it takes 1.0") != std::string::npos);
  CHECK(bound(5, 480e3).find("GPU-bound: the GPU is busy 100 %") == 0);
  CHECK(bound(50, 990e3).find("without recording") == std::string::npos);  // as steps differ anyway
}

TEST_CASE("idle time that recording adds is no gain of a finding's") {
  auto const host_work = [](double unrecorded_ns) {
    program p;
    p.run(8, [&] {
      p.in(p.attention, [&](std::uint32_t row) { p.kernel_of(row, 500 * us); });
      p.wait();
      p.in(p.mlp, [&](std::uint32_t) { p.now += 500 * us; });
    });
    p.made.cost.unrecorded_steps = 5;
    p.made.cost.unrecorded_step_ns = unrecorded_ns;
    answer const a(p.made);
    finding const* const found = a.find("host-work");
    REQUIRE(found != nullptr);
    return *found;
  };
  finding const whole = host_work(2e6);
  finding const half = host_work(760e3);
  CHECK(whole.cost_ns_per_step > 450e3);
  CHECK(half.cost_ns_per_step > 0.4 * whole.cost_ns_per_step);
  CHECK(half.cost_ns_per_step < 0.6 * whole.cost_ns_per_step);
  CHECK(whole.predicted_step_ns == doctest::Approx(1015e3 - whole.cost_ns_per_step).epsilon(0.02));
  CHECK(half.predicted_step_ns == doctest::Approx(760e3 - half.cost_ns_per_step).epsilon(0.02));
  // The sentence has the time of which the gain is a part.
  CHECK(whole.title.find("The GPU is idle for 500 us of a step while ") == 0);
  std::string const own = detail::time_text(half.cost_ns_per_step);
  CHECK(half.title.find("The GPU is idle for " + own + " of a step while ") == 0);
}

TEST_CASE("the sentence: the kernels of one name that have much of the range's time") {
  auto const bound = [](std::int64_t first, std::int64_t second, std::int64_t third,
                        std::int64_t of_template = 0) {
    program p;
    p.made.kernel_names.push_back({"other"});
    std::string const wide = "_Z" + std::to_string(70) + std::string(70, 'k') + "v";
    p.made.kernel_names.push_back({wide});
    p.made.kernel_names.push_back({"_Z4workIfEvv"});
    p.run(8, [&] {
      p.in(p.attention, [&](std::uint32_t row) {
        if (first > 0) p.kernel_of(row, first);
        if (second > 0) p.kernel_of(row, second).name = 2;
        if (third > 0) p.kernel_of(row, third).name = 3;
        if (of_template > 0) p.kernel_of(row, of_template).name = 4;
        if (first > 0) p.kernel_of(row, first);
      });
      p.wait();
    });
    return answer(p.made).input.findings.bound;
  };
  auto const says = [](std::string const& text, std::string const& part) {
    CAPTURE(text);
    CHECK(text.find(part) != std::string::npos);
  };
  says(bound(300 * us, 400 * us, 0),
       " of the step). Its longest kernel is work, 60 % of its kernels' time.");
  says(bound(100 * us, 400 * us, 0),
       " of the step). Its longest kernel is other, 67 % of its kernels' time.");
  says(bound(300 * us, 0, 0), " of the step). Its kernel is work.");
  says(bound(200 * us, 500 * us, 0, 300 * us),
       " of the step). Its longest kernel is work, 58 % of its kernels' time.");
  says(bound(100 * us, 100 * us, 800 * us), "kernel is " + std::string(59, 'k'));
}

TEST_CASE("what the GPU's work is too short to hide is to be made faster, not launched first") {
  auto const advice = [](std::int64_t computing, std::uint32_t program::*where) {
    program p;
    p.run(8, [&] {
      p.in(p.attention, [&](std::uint32_t row) { p.kernel_of(row, 500 * us); });
      p.wait();
      if (where == nullptr) p.now += computing;
      if (where != nullptr) p.in(p.*where, [&](std::uint32_t) { p.now += computing; });
    });
    answer const a(p.made);
    finding const* const found = a.find(where == nullptr ? "gap-between-ranges" : "host-work");
    REQUIRE(found != nullptr);
    return std::string(found->advice);
  };
  CHECK(advice(300 * us, &program::mlp).find("or launch the next kernels first") !=
        std::string::npos);
  CHECK(advice(900 * us, &program::mlp).find("make that code faster, or run it on the GPU") == 0);
  CHECK(advice(300 * us, nullptr).find("or launch first") != std::string::npos);
  CHECK(advice(900 * us, nullptr).find("and make that faster") != std::string::npos);
}

TEST_CASE("a copy twice as long as the kernels is not to be overlapped with them") {
  auto const advice = [](std::int64_t copying) {
    program p;
    p.run(8, [&] {
      p.in(p.other, [&](std::uint32_t row) {
        p.copy_of(row, copy_kind::host_to_device, copying, false, 1u << 25);
      });
      p.in(p.attention, [&](std::uint32_t row) { p.kernel_of(row, 500 * us); });
      p.wait();
    });
    answer const a(p.made);
    finding const* const found = a.find("copy-in-step");
    REQUIRE(found != nullptr);
    return std::string(found->advice);
  };
  CHECK(advice(900 * us).find("overlap the copy with kernels") == 0);
  CHECK(advice(1100 * us).find("copy less, or leave the data on the GPU: kernels are too ") == 0);
}

TEST_CASE("the sentence: most time is a range's own, and what overlaps counts once") {
  auto const bound = [](bool below, std::uint16_t streams) {
    program p;
    std::uint32_t const inner = below ? p.node(p.attention, "inner") : p.mlp;
    p.run(8, [&] {
      p.in(p.attention, [&](std::uint32_t row) {
        p.kernel_of(row, 300 * us);
        for (std::uint16_t stream = 1; stream < streams; ++stream) {
          kernel_record beside = p.made.kernels.back();
          beside.stream = static_cast<decltype(beside.stream)>(beside.stream + stream);
          p.made.kernels.push_back(beside);
        }
      });
      p.in(inner, [&](std::uint32_t row) { p.kernel_of(row, 100 * us); });
      p.wait();
    });
    return answer(p.made).input.findings.bound;
  };
  CHECK(bound(false, 1).find("The longest range is attention, 300 us (") != std::string::npos);
  CHECK(bound(false, 3).find("The longest range is attention, 300 us (") != std::string::npos);
  CHECK(bound(true, 1).find("The longest range is attention, by itself 300 us (") !=
        std::string::npos);
}

TEST_CASE("the sentence: Copy-bound where copies that no kernel hides are most of the GPU's time") {
  auto const bound = [](std::int64_t copy, bool hidden) {
    program p;
    p.run(8, [&] {
      p.in(p.attention, [&](std::uint32_t row) {
        p.kernel_of(row, 300 * us);
        if (!hidden) p.wait(row);
        p.copy_of(row, copy_kind::host_to_device, copy, false);
      });
      p.wait();
    });
    return answer(p.made).input.findings.bound;
  };
  CHECK(bound(290 * us, false).find("GPU-bound: the GPU is busy ") == 0);
  std::string const copying = bound(310 * us, false);
  CAPTURE(copying);
  CHECK(copying.find("Copy-bound: the GPU is busy ") == 0);
  CHECK(
      copying.find(" of the step, mostly with copies to the GPU. The longest range is attention") !=
      std::string::npos);
  CHECK(bound(310 * us, true).find("GPU-bound: the GPU is busy ") == 0);
}

TEST_CASE("the sentence: copies at the same time are as long as the time in which one runs") {
  auto const bound = [](std::int64_t ns, std::uint32_t device) {
    program p;
    p.made.environment.devices.push_back(p.made.environment.devices[0]);
    p.made.environment.devices[1].ordinal = 1;
    p.run(8, [&] {
      p.in(p.attention, [&](std::uint32_t row) {
        p.kernel_of(row, 300 * us);
        p.wait(row);
        p.copy_of(row, copy_kind::host_to_device, ns, false);
        copy_record back = p.made.copies.back();
        back.kind = copy_kind::device_to_host;
        back.device = device;
        p.made.copies.push_back(back);
      });
    });
    return answer(p.made).input.findings.bound;
  };
  for (std::uint32_t const device : {0u, 1u}) {
    CHECK(bound(290 * us, device).find("GPU-bound: ") == 0);
    CHECK(bound(310 * us, device).find("Copy-bound: ") == 0);
  }
}

TEST_CASE("the sentence: without a timeline copies take at least what kernels leave of the time") {
  auto const bound = [](std::int64_t ns, copy_kind kind) {
    program p;
    p.run(8, [&] {
      p.in(p.attention, [&](std::uint32_t row) {
        p.kernel_of(row, 300 * us);
        p.wait(row);
        p.copy_of(row, kind, ns, false);
      });
    });
    p.made.losses.activity_summed = 1;
    return answer(p.made).input.findings.bound;
  };
  CHECK(bound(290 * us, copy_kind::host_to_device).find("GPU-bound: ") == 0);
  CHECK(bound(310 * us, copy_kind::host_to_device).find("Copy-bound: ") == 0);
  CHECK(bound(310 * us, copy_kind::device_to_host).find("Copy-bound: ") == 0);
  CHECK(bound(310 * us, copy_kind::device_to_device).find("GPU-bound: ") == 0);
  CHECK(bound(310 * us, copy_kind::set).find("GPU-bound: ") == 0);
}

TEST_CASE("the sentence on the host: what is in no range is named from a tenth of the step on") {
  auto const bound = [](int ranges, std::int64_t rest) {
    program p;
    p.made.traced = false;
    std::uint32_t nodes[40];
    for (int i = 0; i < ranges; ++i) nodes[i] = p.node(0, "r" + std::to_string(i));
    p.run(4, [&] {
      for (int i = 0; i < ranges; ++i)
        p.in(nodes[i], [&](std::uint32_t) { p.now += (i == 3 ? 51 : 50) * us; });
      p.now += rest;
    });
    return answer(p.made).input.findings.bound;
  };
  CHECK(bound(20, 120 * us).find("outside ranges") != std::string::npos);
  CHECK(bound(20, 100 * us).find("r3 takes the longest by itself") != std::string::npos);
}

TEST_CASE("the sentence: a cause of half of the idle time, no less") {
  auto const bound = [](std::int64_t host) {
    program p;
    p.run(8, [&] {
      p.in(p.attention, [&](std::uint32_t row) { p.kernel_of(row, 100 * us); });
      p.in(p.other, [&](std::uint32_t row) {
        p.api(row, 200 * us, api_kind::wait);
        p.api(row, 100 * us, api_kind::allocate);
        p.api(row, 100 * us, api_kind::wait);
      });
      p.in(p.mlp, [&](std::uint32_t) { p.now += host; });
    });
    return answer(p.made).input.findings.bound;
  };
  CHECK(bound(500 * us).find("CPU-bound") == 0);
  CHECK(bound(170 * us).find("Idle: ") == 0);
}

// --- rules of kernels ---

namespace {

/// Two kernels of 900 us and four blocks, the second one so long before the end of the first.
program side_by_side(std::int64_t overlap) {
  program p;
  p.run(4, [&] {
    p.in(p.attention, [&](std::uint32_t row) {
      p.kernel_of(row, 900 * us, 4, 1);
      p.free -= overlap + 500;
      p.kernel_of(row, 900 * us, 4, 2);
    });
    p.wait();
  });
  return p;
}

}  // namespace

TEST_CASE(
    "few-blocks: kernels that overlap by a fifth fill each other's SMs, what overlaps less is "
    "taken off") {
  // Of 1,800 us of kernels, 1,600 in which one ran; then 1,300.
  CHECK(cost_of(side_by_side(200 * us).made, "few-blocks") == about(1'600'000 * (1 - 4 / 132.0)));
  CHECK_FALSE(is_found(side_by_side(500 * us).made, "few-blocks"));
}

TEST_CASE(
    "extra-traffic: what a range declares with those below it is not beside its own kernels") {
  program p;
  std::uint32_t const child = p.node(p.attention, "child");
  bool const both[] = {false, true};
  for (bool const has_child : both) {
    program q = p;
    q.run(8, [&] {
      q.in(q.attention, [&](std::uint32_t row) {
        q.kernel_of(row, 1000 * us, 10'000);
        if (has_child)
          q.in(child, [&](std::uint32_t below) { q.kernel_of(below, 1000 * us, 10'000); });
      });
      q.wait();
    });
    q.count_nothing(q.attention);
    if (has_child) q.count_nothing(child);
    q.hbm(q.attention, 0.8);
    for (range_record& range : q.made.ranges)
      if (range.node == q.attention) q.describe(range).bytes = 0.4 * 4.8e9;
    CHECK(is_found(q.made, "extra-traffic") == !has_child);
  }
}

TEST_CASE("latency-bound: stalls that were counted need no more counters, however few they are") {
  program p = one_kernel();
  counter_set const all = p.counted();
  p.count_only("findings+tensor+stalls");
  for (std::string const& name : p.counted().names)
    if (all.names.index_of(name) == all.names.size()) p.set(p.attention, name, 0);
  p.set(p.attention, "smsp__warps_issue_stalled_barrier.sum", 0.15 * 132 * 1e6 * 32);
  answer const a(p.made);
  REQUIRE(a.find("latency-bound") != nullptr);
  CHECK(a.find("latency-bound")->needs.empty());
}

TEST_CASE(
    "declared-work: nothing is known where the tensor cores worked on formats that were not "
    "counted") {
  auto const found = [](double tensor_use) {
    program p = one_kernel();
    p.hbm(p.attention, 0.01);
    p.use(p.attention, "fma", 0.8);
    p.use(p.attention, "tensor", tensor_use);
    p.set(p.attention, "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", 0.8 * 33.5e9);
    for (range_record& range : p.made.ranges)
      if (range.node == p.attention) p.describe(range).flops = 0.8 * 67e9 / 2;
    return is_found(p.made, "declared-work");
  };
  CHECK(found(0.0));
  CHECK(found(0.019));
  CHECK_FALSE(found(0.021));
}

TEST_CASE("a slowed step: copies have their idle time without recording, and nothing is negative") {
  auto const found = [](double unrecorded_ns) {
    program p;
    p.run(8, [&] {
      p.in(p.other, [&](std::uint32_t row) {
        p.copy_of(row, copy_kind::host_to_device, 100 * us, false, 1u << 25);
        p.now += 300 * us;
      });
      p.in(p.attention, [&](std::uint32_t row) { p.kernel_of(row, 500 * us); });
      p.wait();
    });
    for (driver_call_record& call : p.made.launches)
      if (call.kind == api_kind::copy) call.end += 200 * us;
    p.made.cost.unrecorded_steps = 5;
    p.made.cost.unrecorded_step_ns = unrecorded_ns;
    answer const a(p.made);
    finding const* const made = a.find("copy-in-step");
    REQUIRE(made != nullptr);
    CHECK(made->predicted_step_ns >= 0.0);
    return made->title;
  };
  std::string const recorded = found(0.0);
  std::string const slowed = found(700e3);
  CAPTURE(recorded);
  CAPTURE(slowed);
  CHECK(recorded.find(", and the GPU is idle for 2") != std::string::npos);
  CHECK(slowed.find(", and the GPU is idle for ") != std::string::npos);
  CHECK(slowed != recorded);
}

TEST_CASE("a step without recording that cannot be is not believed") {
  auto const factor = [](double unrecorded_ns) {
    program p = one_kernel();
    p.made.cost.unrecorded_steps = 5;
    p.made.cost.unrecorded_step_ns = unrecorded_ns;
    return answer(p.made).steps().recording_factor();
  };
  CHECK(factor(0.0) == 1.0);
  CHECK(factor(-5e5) == 1.0);
  CHECK(factor(1e-300) == 1.0);
  CHECK(factor(800e3) == 1.0);  // of 1 ms of work
  CHECK(factor(950e3) > 1.0);
}

TEST_CASE("one view has what each output says of a finding") {
  step_analysis steps;
  steps.from_steps = true;
  steps.mean_ns = 1e6;
  finding found;
  found.rule = "launch-bound";
  found.path = "mlp";
  found.title = "The GPU is idle";
  found.cost_ns_per_step = 4e5;
  found.ranges = {{"mlp", 1, 3e5, finding_part::launches}, {"", 0, 1e5, finding_part::launches}};
  found.evidence = {{"mlp", "gpu_idle_ns", 9.34e6, "ns"},
                    {"mlp", "gaps", 1468.0, ""},
                    {"", "l2_sectors", 12.0, "sectors"}};
  found.needs = "counters=stalls";
  found.predicted_step_ns = 6e5;
  detail::finding_view const view = detail::view_of(found, steps);
  CHECK(view.place == "mlp and 1 more range");
  CHECK(view.gain == "400 us a step (40.0 %)");
  CHECK(view.prediction == "Without this cause, the step would take 600 us (40.0 % shorter).");
  CHECK(view.text() == "launch-bound: mlp and 1 more range: The GPU is idle. " + view.prediction);
  CHECK(view.next == "record with counters=stalls to learn more");
  REQUIRE(view.evidence.size() == 3);
  CHECK(view.evidence[0].text == "GPU idle 9.34 ms");
  CHECK(view.evidence[1].text == "1,468 idle gaps");
  CHECK(view.evidence[2].text == "sectors of 32 B requested from L2: 12 sectors");
  CHECK(view.evidence[2].label == "(outside ranges)");
}

TEST_CASE("what a cause takes beyond its gain is said, with what bounds the step then") {
  step_analysis steps;
  steps.from_steps = true;
  steps.mean_ns = 1e6;
  finding found;
  found.cost_ns_per_step = 5e5;
  found.predicted_step_ns = 7e5;
  found.ranges = {{"mlp", 1, 5e5, finding_part::kernels}};
  CHECK(detail::view_of(found, steps).prediction ==
        "Without this cause, the step would take 700 us (30.0 % shorter). The cause takes 500 us, "
        "of which fixing it saves only 300 us: other work takes as long.");
  found.ranges[0].cost_ns_per_step = 3e5;
  CHECK(detail::view_of(found, steps).prediction ==
        "Without this cause, the step would take 700 us (30.0 % shorter).");
}

TEST_CASE("alone no gain: the sentence says what bounds the step then, and what finding 1 adds") {
  step_analysis steps;
  steps.from_steps = true;
  steps.mean_ns = 1e6;
  finding found;
  found.cost_ns_per_step = 3e5;
  found.predicted_step_ns = 1e6;
  found.ranges = {{"mlp", 1, 3e5, finding_part::kernels}};
  auto const said = [&](finding_part part, char const* path = "") {
    found.next_part = part;
    found.next_path = path;
    CHECK(detail::view_of(found, steps).gain.empty());
    return detail::view_of(found, steps).prediction;
  };
  std::string const waits = "Alone no gain: without it the step waits for ";
  CHECK(said(finding_part::none) == "Alone no gain: other work takes as long.");
  CHECK(said(finding_part::kernels, "attention") == waits + "kernels in attention.");
  found.part = finding_part::kernels;
  CHECK(said(finding_part::kernels) == waits + "other kernels.");
  CHECK(said(finding_part::copies) == waits + "copies.");
  CHECK(said(finding_part::host_work) == waits + "the host outside CUDA calls.");
  CHECK(said(finding_part::waits) == waits + "another wait of the host.");
  CHECK(said(finding_part::allocations) == waits + "allocations.");
  CHECK(said(finding_part::graphs) == waits + "calls that make and change graphs.");
  found.with_first_ns = 4e5;
  CHECK(said(finding_part::launches) ==
        waits + "launches. With finding 1 fixed too, the step would take 400 us.");
}

TEST_CASE(
    "a kernel that the title names is not named again, and no name is longer than 60 columns") {
  step_analysis steps;
  steps.from_steps = true;
  steps.mean_ns = 1e6;
  finding found;
  found.path = "backward";
  found.title = "No limit is reached; the kernel is reduce: 864 blocks";
  auto const place = [&](std::string const& kernel) {
    found.ranges = {{"backward", 1, 3e5, finding_part::kernels}};
    found.ranges[0].kernel = kernel;
    return detail::view_of(found, steps).place;
  };
  CHECK(place("reduce<4, float>") == "backward");
  CHECK(place("reduce") == "backward");
  CHECK(place("blocks_of") == "backward (blocks_of)");
  CHECK(place("norm<4, float>") == "backward (norm<4, float>)");
  CHECK(place("norm<" + std::string(60, 'x') + ">") == "backward (norm)");
  CHECK(place(std::string(70, 'x')) == "backward (" + std::string(59, 'x') + "\xE2\x80\xA6)");
  CHECK(place("") == "backward");
}

TEST_CASE("findings that are fixed together are named by their rules, as not all are shown") {
  step_analysis steps;
  steps.from_steps = true;
  steps.mean_ns = 1e6;
  findings_table table;
  for (char const* const rule : {"launch-bound", "host-work", "few-blocks", "copy-in-step"}) {
    finding found;
    found.rule = rule;
    found.cost_ns_per_step = 3e5;
    found.predicted_step_ns = found.rule == "copy-in-step" ? 1e6 : 7e5;
    table.findings.push_back(found);
  }
  auto const text = [&](fixed_together const& together) {
    table.together = together;
    return detail::together_text(table, steps);
  };
  CHECK(text({{0}, 5e5}).empty());
  CHECK(text({{0, 1}, 5e5}) ==
        "Without findings 1 (launch-bound) and 2 (host-work) together, the step would take 500 us "
        "(50.0 % shorter).");
  CHECK(text({{0, 2, 3}, 5e5, {1}}) ==
        "Without findings 1 (launch-bound), 3 (few-blocks) and 4 (copy-in-step, alone no gain) "
        "together, the step would take 500 us (50.0 % shorter). With these fixed, finding 2 "
        "(host-work) gains less than alone.");
  CHECK(text({{0, 3}, 5e5, {1, 2}})
            .find(" With these fixed, findings 2 (host-work) and 3 (few-blocks) gain less than "
                  "alone.") != std::string::npos);
}

}  // namespace rule_costs_test
