// Hand-made profiles with one thing wrong each, and sound ones.
#include "report/findings.hpp"
#include <doctest/doctest.h>
#include <algorithm>
#include <strata/base/text_writer.hpp>
#include <strata/collect/counters/chip_metrics.hpp>
#include <strata/profile/metric_resolver.hpp>
#include <strata/tables/call_tree.hpp>
#include <strata/tables/columns.hpp>
#include <strata/tables/counter_table.hpp>
#include <strata/tables/kernel_table.hpp>
#include <strata/tables/memory_table.hpp>
#include <strata/tables/table.hpp>
#include "analyse/rule_context.hpp"
#include "analyse/step_replay.hpp"
#include "report/answer_text.hpp"
#include "report/finding_view.hpp"
#include "report/page.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "finding_sample.hpp"

namespace findings_test {

using namespace strata;
using namespace finding_test;

TEST_CASE("a program with steps of which none was recorded has the run as its step") {
  program p;
  p.in(p.attention, [&](std::uint32_t at) { p.kernel_of(at, 1000 * us); });
  p.wait();
  p.made.has_steps = true;
  p.made.end = p.now;
  p.count_nothing(p.attention);
  answer const a(p.made);
  CHECK_FALSE(a.steps().from_steps);
  REQUIRE(a.folded.rows()[1].path == "attention");
  CHECK(a.input.roofline.limits[1].time_ns == doctest::Approx(1000.0 * us));
  CHECK(a.steps().per_step(7.0, {0.0, 0.0}) == 7.0);
}

TEST_CASE("a loop that only launches: the last step of a window lasts as long as the others") {
  for (std::uint32_t const count : {2u, 3u, 4u, 9u}) {
    CAPTURE(count);
    program p;
    for (int window = 0; window < 2; ++window) {
      p.run(count, [&] {
        p.in(p.attention, [&](std::uint32_t at) {
          for (int i = 0; i < 6; ++i) p.kernel_of(at, 100 * us - 500);
        });
        p.free += 400 * us;  // in which the device does something else
      });
      p.now = p.free += 50'000 * us;
      ++p.steps;  // the windows do not follow each other
    }
    answer const a(p.made);
    REQUIRE(a.steps().period_of_gpu);
    CHECK(a.steps().mean_ns == doctest::Approx(1000 * us).epsilon(0.001));
    CHECK(a.steps().p50_ns == doctest::Approx(1000 * us).epsilon(0.001));
    CHECK(a.steps().gpu_busy_ns == doctest::Approx(597 * us));
    double idle = 0.0;
    for (idle_time const& each : a.steps().idle) idle += each.ns;
    CHECK(idle == doctest::Approx(a.steps().gpu_idle_ns).epsilon(0.01));
    detail::step_replay replay(a.source, a.folded, a.steps());
    CHECK(replay.unchanged_ns() == doctest::Approx(a.steps().mean_ns));
  }
}

TEST_CASE("a loop that only launches: its steps may overlap on the device") {
  program p;
  p.run(5, [&] {
    p.in(p.attention, [&](std::uint32_t at) {
      p.kernel_of(at, 1000 * us);
      p.kernel_of(at, 500 * us, 1000, 8);  // during the next step's
    });
    p.free -= 500 * us;
  });
  answer const a(p.made);
  REQUIRE(a.steps().period_of_gpu);
  CHECK(a.steps().mean_ns == doctest::Approx(1001 * us).epsilon(0.001));
}

TEST_CASE("a loop that only launches: a copy that runs ahead begins no step before its time") {
  program p;
  p.run(6, [&] {
    p.in(p.other, [&](std::uint32_t at) {
      std::int64_t const busy = p.free;
      p.copy_of(at, copy_kind::host_to_device, 200 * us, false);
      p.free = std::max(p.free, busy);
    });
    p.in(p.attention, [&](std::uint32_t at) { p.kernel_of(at, 1000 * us); });
  });
  answer const a(p.made);
  REQUIRE(a.steps().period_of_gpu);
  CHECK(a.steps().mean_ns >= 1000 * us);  // the host takes 208 us, and copies come as fast
  CHECK(a.steps().mean_ns < 1060 * us);
}

TEST_CASE("a loop that only launches: what delays its queued work is not its launches") {
  program p;
  p.run(10, [&] {
    p.in(p.attention, [&](std::uint32_t at) {
      for (int i = 0; i < 20; ++i) p.kernel_of(at, us);
    });
    p.free += 200 * us;  // another program's work, so that the device is behind
  });
  p.made.end = p.free;
  answer const a(p.made);
  CHECK(a.steps().period_of_gpu);
  CHECK(a.steps().gpu_busy_ns == doctest::Approx(20 * us));
  double const launch = a.steps().idle_of(idle_cause::launch);
  double const device = a.steps().idle_of(idle_cause::device);
  CHECK(a.steps().gpu_idle_ns == doctest::Approx(launch + device).epsilon(0.1));
  CHECK(device > 0.9 * a.steps().gpu_idle_ns);
}

TEST_CASE("of a long run the last steps are looked at") {
  program p;
  p.run(300, [&] {
    p.in(p.attention, [&](std::uint32_t at) {
      for (int i = 0; i < 1000; ++i) p.kernel_of(at, 10 * us);
      p.wait();
    });
  });
  answer const a(p.made);
  CHECK(a.steps().count == 300);
  CHECK(a.steps().gpu_busy_ns == doctest::Approx(10'000 * us));
  CHECK(a.steps().idle_of(idle_cause::launch) == doctest::Approx(500 * us).epsilon(0.05));
  CHECK(a.steps().outside_gpu_ns < 1 * us);
  CHECK(a.steps().streams[0].kernels == doctest::Approx(1000));
}

TEST_CASE("a device that did not end its work is the answer, and no rule judges what came") {
  program p;
  p.run(4, [&] {
    p.in(p.attention, [&](std::uint32_t at) {
      for (int i = 0; i < 100; ++i) p.kernel_of(at, 2 * us);
    });
  });
  p.made.hang.found = true;
  CHECK(answer(p.made).input.findings.bound ==
        "The GPU hangs: at the end it had not done its work.");
  p.made.hang.work.push_back({"attention", 3, 12'300'000'000});
  p.made.hang.work.push_back({"", 1, 1});
  p.made.hang.ranges.push_back({"train", 0, 20'000'000'000});
  p.made.hang.ranges.push_back({"train/all-reduce", 0, 12'200'000'000});
  answer const a(p.made);
  CHECK(a.findings().empty());
  CHECK(a.input.findings.undecided.empty());
  CHECK(a.input.findings.bound ==
        "The GPU hangs: at the end the work of 3 calls in attention was not done, 12.3 s after "
        "the last one; thread 0 was in train/all-reduce for 12.2 s.");
  p.made.hang.work.erase(p.made.hang.work.begin());
  p.made.hang.ranges.clear();
  CHECK(answer(p.made).input.findings.bound ==
        "The GPU hangs: at the end the work of 1 call outside ranges was not done, 1 ns after it.");
}

TEST_CASE("launch-bound: short kernels that the host launches one by one") {
  program p;
  p.run(4, [&] {
    p.in(p.attention, [&](std::uint32_t at) {
      for (int i = 0; i < 100; ++i) {
        p.kernel_of(at, 2 * us);
        p.now += 2 * us;
      }
    });
    p.in(p.mlp, [&](std::uint32_t at) { p.kernel_of(at, 100 * us); });
    p.wait();
  });
  answer const a(p.made);
  a.first_is("launch-bound", "attention");
  CHECK(a.findings()[0].cost_ns_per_step == doctest::Approx(300 * us).epsilon(0.1));
  REQUIRE(a.findings()[0].ranges.size() == 2);  // the title covers both
  CHECK(a.findings()[0].title ==
        "The GPU is idle for " +
            detail::time_text(a.findings()[0].ranges[0].cost_ns_per_step +
                              a.findings()[0].ranges[1].cost_ns_per_step) +
            " of a step between 101 kernels of 2.97 us, launched one by one");
  CHECK(a.input.findings.bound.find("Launch-bound: the GPU is idle ") == 0);
  p.made.steps.clear();
  p.made.has_steps = false;
  answer const run(p.made);  // the program marks no steps
  CHECK(run.findings()[0].title.find(" of the run between 404 kernels of ") != std::string::npos);
  program one;
  one.run(4, [&] {
    one.in(one.attention, [&](std::uint32_t at) {
      one.api(at, 50 * us, api_kind::launch);
      one.kernel_of(at, 2 * us);
      one.wait(at);
    });
  });
  answer const b(one.made);
  CHECK(b.findings()[0].title.find("while the host launches a kernel of 2.00 us") !=
        std::string::npos);
}

TEST_CASE("wait-in-step: the host waits and launches only then") {
  program p;
  p.run(4, [&] {
    for (int i = 0; i < 20; ++i) {
      p.in(p.attention, [&](std::uint32_t at) { p.kernel_of(at, 20 * us); });
      p.in(p.mlp, [&](std::uint32_t at) { p.wait(at); });
    }
  });
  answer(p.made).first_is("wait-in-step", "mlp");
}

TEST_CASE("PyTorch programs get advice in its words, unless the rule knows better") {
  for (bool const is_pytorch : {false, true}) {
    program p;
    p.made.kernel_names.push_back(
        {is_pytorch ? "_ZN2at6native13reduce_kernelEv" : "reduce_kernel"});
    p.run(4, [&] {
      for (int i = 0; i < 20; ++i) {
        p.in(p.attention, [&](std::uint32_t at) { p.kernel_of(at, 20 * us); });
        p.in(p.mlp, [&](std::uint32_t at) { p.wait(at); });
      }
    });
    answer const a(p.made);
    a.first_is("wait-in-step", "mlp");
    bool const is_of_pytorch = a.findings()[0].advice.find(".item()") != std::string_view::npos;
    CHECK(is_of_pytorch == is_pytorch);
  }
  program once;  // this program gets the advice for a single wait
  once.made.kernel_names.push_back({"_ZN2at6native13reduce_kernelEv"});
  once.run(4, [&] {
    once.in(once.attention, [&](std::uint32_t at) {
      once.now += 15 * us;
      once.kernel_of(at, 100 * us);
    });
    once.wait(once.mlp);
    once.made.synchronizations.push_back(
        {once.now - us, once.now, once.mlp, once.correlations, 0, {}, {}});
    once.now += 15 * us;
  });
  answer const of_one(once.made);
  finding const* const found = of_one.find("wait-in-step");
  REQUIRE(found != nullptr);
  CHECK(found->advice.find("launch what comes next before") == 0);
}

TEST_CASE("stops-of-ranges: waits at the end of a range that stops the program are the range's") {
  program p;
  double const none = std::nan("");
  p.made.attributes.push_back({none, none, none, p.mlp, p.name(std::string(stops_at_end)), 0, {}});
  p.run(4, [&] {
    for (int i = 0; i < 20; ++i) {
      p.in(p.attention, [&](std::uint32_t at) { p.kernel_of(at, 5 * us); });
      p.in(p.mlp, [&](std::uint32_t at) { p.wait(at); });
    }
  });
  answer const a(p.made);
  a.first_is("stops-of-ranges", "mlp");
  CHECK(a.find("wait-in-step") == nullptr);
  CHECK(a.findings()[0].title.find("because ranges stop the program at their ends") !=
        std::string::npos);
  has(text_of(a, false), "Stopped by ranges: the GPU is idle");
  std::size_t of_stops = 0;
  for (strata::account_part const& part : a.input.account.parts)
    of_stops += part.name == "range end" && part.finding == 0 ? 1u : 0u;
  CHECK(of_stops > 0);
}

TEST_CASE("wait-in-step: one wait a step is none for what a host takes to wake up and launch") {
  for (std::int64_t const slow : {0, 30}) {
    CAPTURE(slow);
    program p;
    p.run(4, [&] {
      p.in(p.attention, [&](std::uint32_t at) {
        p.now += slow * us / 2;
        p.kernel_of(at, 100 * us);
      });
      p.wait(p.mlp);
      p.made.synchronizations.push_back({p.now - us, p.now, p.mlp, p.correlations, 0, {}, {}});
      p.now += slow * us / 2;
    });
    answer const a(p.made);
    finding const* const found = a.find("wait-in-step");
    CHECK((found != nullptr) == (slow != 0));
    if (found != nullptr) CHECK(found->advice.find("launch what comes next before") == 0);
  }
}

TEST_CASE("allocation-in-step: also where the release waits for the device") {
  program p;
  p.run(4, [&] {
    for (int i = 0; i < 20; ++i)
      p.in(p.attention, [&](std::uint32_t at) {
        p.api(at, 80 * us, api_kind::allocate);
        p.allocate(p.correlations, p.now, 4096, 1u << 20);
        p.kernel_of(at, 50 * us);
        std::int64_t const until = p.free + 40 * us;
        p.api(at, until - p.now, api_kind::release);
        p.release(p.correlations, p.now, 4096, 1u << 20);
      });
  });
  answer const a(p.made);
  a.first_is("allocation-in-step", "attention");
  CHECK(a.findings()[0].cost_ns_per_step == doctest::Approx(20 * 123.5 * us).epsilon(0.05));
}

TEST_CASE("allocation-in-step: a pool gives memory back in the wait that follows a release") {
  for (bool const releases : {true, false}) {
    program p;
    p.run(4, [&] {
      for (int i = 0; i < 4; ++i) {
        p.in(p.attention, [&](std::uint32_t at) {
          p.kernel_of(at, 200 * us);
          if (releases) p.api(at, 3 * us, api_kind::release);
        });
        p.in(p.other,
             [&](std::uint32_t at) { p.api(at, p.free + 400 * us - p.now, api_kind::wait); });
      }
    });
    answer const a(p.made);
    a.first_is(releases ? "allocation-in-step" : "wait-in-step", releases ? "attention" : "sample");
    CHECK(a.findings()[0].cost_ns_per_step == doctest::Approx(1600 * us).epsilon(0.05));
    CHECK(a.findings()[0].predicted_step_ns < 0.5 * a.steps().mean_ns);
  }
}

namespace {

enum class rebuilt { never, once, each_step, each_step_by_update };

/// Graphs of 20 kernels of 10 us, launched in "mlp"; what is made again is made in "attention".
program graphs_of(rebuilt how, bool has_calls = true, std::int64_t ns_before = 0,
                  std::int64_t first_launch_ns = 10 * us) {
  program p;
  auto const is_made = [&] {
    return how == rebuilt::each_step || (how == rebuilt::once && p.step == 0);
  };
  p.run(4, [&] {
    p.in(p.attention, [&](std::uint32_t at) {
      p.now += ns_before;
      auto const captures = [&](std::int64_t ns, api_kind kind) {
        p.api(at, ns, kind);
        p.made.launches.back().flags = driver_call_record::in_capture;
      };
      if (how == rebuilt::each_step_by_update) {
        for (int i = 0; i < 20; ++i) p.api(at, 20 * us, api_kind::graph_change);
      } else if (is_made()) {
        if (has_calls) captures(2 * us, api_kind::begin_capture);
        for (int i = 0; i < 20; ++i) captures(5 * us, api_kind::launch);
        if (has_calls) {
          p.api(at, 8 * us, api_kind::end_capture);
          p.api(at, 250 * us, api_kind::instantiate);
          p.api(at, 40 * us, api_kind::graph_change);
        } else {
          p.now += 298 * us;
        }
      }
    });
    p.in(p.mlp, [&](std::uint32_t at) {
      std::int64_t const ns = is_made() ? first_launch_ns : 10 * us;
      std::uint32_t const id = p.api(at, ns, api_kind::graph_launch);
      p.free = p.now > p.free ? p.now : p.free;
      for (int i = 0; i < 20; ++i) {
        p.kernel(id, p.free + us, p.free + 11 * us).grid_x = 1000;
        p.free += 11 * us;
      }
    });
    p.in(p.other, [&](std::uint32_t at) { p.wait(at); });
  });
  return p;
}

}  // namespace

TEST_CASE("graph-rebuild: a graph that is captured and instantiated in each step") {
  answer const a(graphs_of(rebuilt::each_step).made);
  a.first_is("graph-rebuild", "attention");
  finding const& found = a.findings()[0];
  CAPTURE(found.title);
  CHECK(found.title.find(
            "A CUDA graph is instantiated 1 time a step; the GPU is idle for 411 us ") == 0);
  CHECK(found.advice.find("make the graph once and launch it in each step") == 0);
  CHECK(found.advice.find("or set it with cudaGraphExecKernelNodeSetParams") != std::string::npos);
  CHECK(found.cost_ns_per_step == doctest::Approx(400 * us).epsilon(0.05));
  CHECK(found.predicted_step_ns == doctest::Approx(a.steps().mean_ns - 400 * us).epsilon(0.05));
  std::string evidence;
  for (finding_evidence const& each : found.evidence)
    evidence += std::string(each.column) + " " + std::to_string(std::lround(each.value)) + " ";
  CHECK(evidence.find("graph_instantiations 1 captured_launches 20 graph_changes 1 "
                      "graph_ns 400000 ") != std::string::npos);
  CHECK(a.find("host-work") == nullptr);
  CHECK(a.find("launch-bound") == nullptr);
  CHECK(a.input.findings.bound.find("Graph-bound: the GPU is idle") == 0);
  // A recording without the calls has the launches into the capture.
  answer const older(graphs_of(rebuilt::each_step, false).made);
  older.first_is("graph-rebuild", "attention");
  CHECK(older.findings()[0].title.find("20 launches are captured into CUDA graphs a step; the GPU "
                                       "is idle for 409 us ") == 0);
  // Nor does it tell what the range did before that.
  for (bool const has_calls : {true, false}) {
    CAPTURE(has_calls);
    answer const before(graphs_of(rebuilt::each_step, has_calls, 300 * us).made);
    finding const* const work = before.find("host-work");
    REQUIRE(work != nullptr);
    CHECK((work->title.find(", or makes CUDA graphs") == std::string::npos) == has_calls);
    CHECK((work->advice.find("record again") == 0) != has_calls);
  }
}

TEST_CASE("graph-rebuild: a graph that is launched again, or whose nodes change") {
  answer const sound(graphs_of(rebuilt::never).made);
  CHECK(sound.find("graph-rebuild") == nullptr);
  CHECK(sound.steps().graphs.empty());
  answer const updated(graphs_of(rebuilt::each_step_by_update).made);
  updated.first_is("graph-rebuild", "attention");
  CHECK(updated.findings()[0].title.find("while CUDA graphs are made or changed") !=
        std::string::npos);
  CHECK(updated.findings()[0].advice.find("change fewer nodes") == 0);
}

TEST_CASE("graph-rebuild: the first launch of a graph, which uploads it, goes with its making") {
  answer const once(graphs_of(rebuilt::once, true, 0, 310 * us).made);
  CHECK(once.find("graph-rebuild") == nullptr);
  CHECK(once.steps().first_ns - once.steps().mean_ns == doctest::Approx(700 * us).epsilon(0.02));
  answer const a(graphs_of(rebuilt::each_step, true, 0, 310 * us).made);
  a.first_is("graph-rebuild", "attention");
  finding const& found = a.findings()[0];
  CAPTURE(found.title);
  CHECK(found.title.find("A CUDA graph is instantiated 1 time a step; ") == 0);
  CHECK(found.cost_ns_per_step == doctest::Approx(710 * us).epsilon(0.02));
  // The latency of a launch stays, of 20 us at most.
  CHECK(found.predicted_step_ns == doctest::Approx(a.steps().mean_ns - 690 * us).epsilon(0.02));
  REQUIRE(found.ranges.size() == 2);
  CHECK(found.ranges[1].path == "mlp");
  CHECK(a.find("launch-bound") == nullptr);
  // The program's own code before that is not of graphs, and takes nothing from them.
  answer const behind(graphs_of(rebuilt::each_step, true, 300 * us, 310 * us).made);
  REQUIRE(behind.find("graph-rebuild") != nullptr);
  CHECK(behind.find("graph-rebuild")->cost_ns_per_step == doctest::Approx(710 * us).epsilon(0.02));
  // A short one uploads nothing.
  CHECK(answer(graphs_of(rebuilt::each_step).made).find("graph-rebuild")->ranges.size() == 1);
}

TEST_CASE("launch-bound: one launch may do what many small ones do, at best") {
  constexpr int requests = 40;
  auto const made = [](std::uint32_t blocks, std::uint32_t large = 0, int fewer = 0) {
    program p;
    p.made.kernel_names.push_back({"bias"});
    p.run(4, [&] {
      p.in(p.attention, [&](std::uint32_t at) {
        for (int i = 0; i < requests; ++i) {
          p.kernel_of(at, 1 * us, blocks);
          if (i < fewer) continue;
          p.kernel_of(at, 1 * us, large == 0 ? blocks : large).name = 2;
        }
      });
      p.in(p.mlp, [&](std::uint32_t at) { p.kernel_of(at, 100 * us); });
      p.wait();
    });
    return p;
  };
  answer const a(made(1).made);
  a.first_is("launch-bound", "attention");
  finding const& found = a.findings()[0];
  has(found.title, "launched one by one; in attention, 2 kernels of 1 block are launched 40 times");
  has(std::string(found.advice), "launch each kernel once for all that are alike");
  // A graph leaves 80 kernels of 1 us with half a us between them; two launches take 2 us.
  CHECK(found.predicted_step_ns - found.best_step_ns == doctest::Approx(118 * us).epsilon(0.02));
  detail::finding_view const view = detail::view_of(found, a.steps());
  has(view.prediction, " shorter), at best 10");
  has(text_of(a, true), "\"best_step_ns\":10");
  has(answer(made(1, 2).made).findings()[0].title,
      "in attention, 2 kernels of up to 2 blocks are launched 40 times each");
  has(answer(made(1, 0, 10).made).findings()[0].title,
      "in attention, 2 kernels of 1 block are launched up to 40 times each");
  // 8 of 132 SMs are a sixteenth of them; more blocks, or a kernel of layers, may need each other.
  CHECK(detail::is_finite(answer(made(8).made).findings()[0].best_step_ns));
  for (program const& p : {made(9), made(1, 1000)}) {
    answer const other(p.made);
    other.first_is("launch-bound", "attention");
    CHECK_FALSE(detail::is_finite(other.findings()[0].best_step_ns));
    CHECK(other.findings()[0].title.find("times") == std::string::npos);
  }
}

TEST_CASE("launch-bound: beside graphs of the step, kernels go into these") {
  program p;
  p.run(4, [&] {
    p.in(p.mlp, [&](std::uint32_t at) {
      std::uint32_t const id = p.api(at, 10 * us, api_kind::graph_launch);
      p.free = p.now;
      for (int i = 0; i < 400; ++i) {
        p.kernel(id, p.free, p.free + us).grid_x = 1000;
        p.free += us;
      }
    });
    p.wait();
    p.in(p.other, [&](std::uint32_t at) {
      for (int i = 0; i < 40; ++i) {
        p.kernel_of(at, 2 * us);
        p.now += 8 * us;
      }
    });
    p.wait();
  });
  answer const a(p.made);
  a.first_is("launch-bound", "sample");
  CHECK(a.findings()[0].advice.find("capture these kernels into the graph of the step too") == 0);
}

TEST_CASE("host-work and gap-between-ranges: the device waits for the CPU") {
  for (bool const inside : {true, false}) {
    program p;
    p.run(4, [&] {
      for (int i = 0; i < 10; ++i) {
        p.in(p.attention, [&](std::uint32_t at) { p.kernel_of(at, 50 * us); });
        if (inside)
          p.in(p.other, [&](std::uint32_t) { p.now += 200 * us; });
        else
          p.now += 200 * us;
      }
      p.wait();
    });
    answer const a(p.made);
    a.first_is(inside ? "host-work" : "gap-between-ranges", inside ? "sample" : "");
    CHECK_FALSE(a.findings()[0].of_step);  // what is outside ranges is no step either
  }
}

TEST_CASE("host-work: a step that loads code for the GPU each time says so, with the fix") {
  char const* const says[] = {"", "", "", " in 3 of 4 steps", " in each step"};  // by loads
  for (int const loads : {0, 1, 2, 3, 4}) {
    CAPTURE(loads);
    program p;
    int step = 0;
    p.run(4, [&] {
      p.in(p.attention, [&](std::uint32_t at) { p.kernel_of(at, 50 * us); });
      p.in(p.other, [&](std::uint32_t) { p.now += 400 * us; });
      memory_record variable{};
      variable.time = p.now - 100 * us;
      variable.bytes = 15;
      variable.kind = memory_kind::device_static;
      variable.allocates = 1;
      if (step++ < loads) p.made.memory.push_back(variable);
      p.wait();
    });
    answer const a(p.made);
    a.first_is("host-work", "sample");
    INFO(a.findings()[0].title);
    std::string const loaded = std::string(", and loads code for the GPU") + says[loads];
    CHECK((a.findings()[0].title.find(loaded) != std::string::npos) == (loads > 2));
    CHECK((a.findings()[0].advice.find("use the same sizes in each step") == 0) == (loads > 2));
    CHECK((a.input.findings.bound.find("computes on the CPU and loads code for the GPU") !=
           std::string::npos) == (loads > 2));
  }
}

TEST_CASE("allocation-in-step: what not every step does is counted over the steps") {
  program p;
  int step = 0;
  p.run(6, [&] {
    p.in(p.attention, [&](std::uint32_t at) {
      if (step == 2 || step == 3) {
        p.api(at, 80 * us, api_kind::allocate);
        p.allocate(p.correlations, p.now, 4096u << step, 1u << 20);
      }
      p.kernel_of(at, 300 * us);
    });
    ++step;
    p.wait();
  });
  answer const a(p.made);
  finding const* const found = a.find("allocation-in-step");
  REQUIRE(found != nullptr);
  INFO(found->title);
  CHECK(found->title.find("allocates and frees memory, 2 times in 6 steps") != std::string::npos);
}

TEST_CASE("host-work: ranges that follow each other have their own parts of an idle time") {
  program p;
  std::uint32_t const step = p.node(0, "step"), tokens = p.node(step, "tokens");
  p.run(4, [&] {
    p.in(p.attention, [&](std::uint32_t at) { p.kernel_of(at, 50 * us); });
    p.wait();
    p.in(step, [&](std::uint32_t) {
      p.now += 60 * us;
      p.in(tokens, [&](std::uint32_t) { p.now += 300 * us; });
    });
    p.in(p.other, [&](std::uint32_t) { p.now += 100 * us; });
    p.in(p.mlp, [&](std::uint32_t) { p.now += 250 * us; });
  });
  answer const a(p.made);
  a.first_is("host-work", "step/tokens");
  finding const& cause = a.findings()[0];
  CHECK(cause.cost_ns_per_step == doctest::Approx(710 * us).epsilon(0.001));
  CHECK(cause.predicted_step_ns == doctest::Approx(a.steps().mean_ns - 710 * us).epsilon(0.001));
  char const* paths[] = {"step/tokens", "mlp", "sample", "step"};
  double const costs[] = {300, 250, 100, 60};
  REQUIRE(cause.ranges.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(cause.ranges[i].path == paths[i]);
    CHECK(cause.ranges[i].cost_ns_per_step == doctest::Approx(costs[i] * us).epsilon(0.01));
  }
}

TEST_CASE("host-work: a thread that has no CPU for it sleeps") {
  for (int const voluntary : {1, 0, -1}) {  // -1: it computes all the time
    bool const sleeps = voluntary == 1;
    CAPTURE(voluntary);
    program p;
    p.run(6, [&] {
      p.in(p.attention, [&](std::uint32_t at) { p.kernel_of(at, 100 * us); });
      p.in(p.mlp, [&](std::uint32_t) { p.now += 900 * us; });
    });
    for (step_record& step : p.made.steps) {
      step.cpu_ns = voluntary >= 0 ? 50 * us : step.end - step.begin;
      step.voluntary_switches = voluntary == 0 ? 0 : 1;  // 0: others take its CPU
    }
    answer const a(p.made);
    a.first_is("host-work", "mlp");
    CHECK((a.findings()[0].title.find("while the program sleeps") != std::string::npos) == sleeps);
    CHECK((a.findings()[0].advice.find("do not sleep") == 0) == sleeps);
    std::string const& bound = a.input.findings.bound;
    CAPTURE(bound);
    CHECK(bound.find(sleeps ? "Idle: " : "CPU-bound: ") == 0);
    CHECK((bound.find(", mostly while the program sleeps or waits for something else.") !=
           std::string::npos) == sleeps);
  }
  program waits;  // without a CPU, for the GPU: what is idle is computed
  waits.run(6, [&] {
    waits.in(waits.mlp, [&](std::uint32_t at) {
      waits.kernel_of(at, 900 * us);
      waits.wait(at);
      waits.now += 200 * us;
    });
  });
  for (step_record& step : waits.made.steps) step.cpu_ns = 250 * us;
  answer const b(waits.made);
  b.first_is("host-work", "mlp");
  CHECK(b.findings()[0].title.find("while the program computes") != std::string::npos);
}

TEST_CASE("pageable-copy and copy-in-step: copies that no kernel hides") {
  for (bool const pageable : {true, false}) {
    program p;
    p.run(4, [&] {
      p.in(p.other,
           [&](std::uint32_t at) { p.copy_of(at, copy_kind::host_to_device, 800 * us, pageable); });
      p.in(p.attention, [&](std::uint32_t at) { p.kernel_of(at, 200 * us); });
      p.wait();
    });
    answer const a(p.made);
    a.first_is(pageable ? "pageable-copy" : "copy-in-step", "sample");
    CHECK(a.find(pageable ? "copy-in-step" : "pageable-copy") == nullptr);
    // DGX Spark has the host's memory: no bus makes the copy take that long.
    profile_device& device = p.made.environment.devices[0];
    device.compute_capability_major = 12;
    device.compute_capability_minor = 1;
    answer const shared(p.made);
    CHECK(shared.find("copy-in-step") == nullptr);
    CHECK(shared.find("pageable-copy") == nullptr);
  }
}

namespace {

/// Six copies of 200 us, each launched before the kernel behind it, and all of them ahead: the
/// device does one after the other, or overlaps kernel and copy.
program layers_of(std::uint32_t copies, std::uint32_t kernels, std::int64_t kernel_ns,
                  bool overlaps = false, std::int64_t first_call_ns = 5 * us,
                  std::int64_t pageable_ns = 0) {
  program p;
  p.run(4, [&] {
    for (int i = 0; i < 6; ++i) {
      p.in(p.other, [&](std::uint32_t at) {
        std::uint32_t const id = p.api(at, i == 0 ? first_call_ns : 5 * us, api_kind::copy);
        std::int64_t const begin = (p.now > p.free ? p.now : p.free) + 500;
        p.copy(id, begin, begin + 200 * us, 8 << 20, copy_kind::host_to_device).stream = copies;
        p.free = overlaps ? begin - 400 : begin + 200 * us;
      });
      p.in(p.attention, [&](std::uint32_t at) { p.kernel_of(at, kernel_ns, 1000, kernels); });
    }
    p.wait();
    if (pageable_ns > 0) p.copy_of(p.other, copy_kind::host_to_device, pageable_ns, true);
  });
  return p;
}

}  // namespace

TEST_CASE("copy-in-step: the legacy default stream keeps copies apart from kernels") {
  for (bool const of_kernels : {true, false}) {
    answer const a((of_kernels ? layers_of(13, 7, 220 * us) : layers_of(7, 13, 220 * us)).made);
    a.first_is("copy-in-step", "sample");
    finding const& found = a.findings()[0];
    CAPTURE(found.title);
    CHECK(found.title.find(": the legacy default stream and the blocking streams beside it wait "
                           "for each other") != std::string::npos);
    CHECK(found.advice.find("cudaStreamNonBlocking") != std::string::npos);
    // Kernels take longer: they hide all.
    CHECK(found.cost_ns_per_step == doctest::Approx(1200 * us).epsilon(0.01));
  }
  // Kernels of 500 us hide as much. The idle time of a call is 5.5 us.
  answer const part(layers_of(13, 7, 500 * us / 6).made);
  REQUIRE(part.find("copy-in-step") != nullptr);
  CHECK(part.find("copy-in-step")->cost_ns_per_step == doctest::Approx(505.5 * us).epsilon(0.001));
}

TEST_CASE("copy-in-step: streams that events order, or that run beside the legacy default stream") {
  auto const found_in = [](program const& p, char const* advice) {
    answer const a(p.made);
    finding const* const found = a.find("copy-in-step");
    REQUIRE(found != nullptr);
    CAPTURE(found->title);
    CHECK(found->title.find("legacy") == std::string::npos);
    CHECK(found->advice.find(advice) == 0);
  };
  auto const begin_first = [](auto const& a, auto const& b) { return a.begin < b.begin; };
  constexpr char const* ahead = "begin the copies a layer or a step ahead";
  for (bool const of_kernels : {true, false}) {
    program const p = of_kernels ? layers_of(13, 7, 220 * us) : layers_of(7, 13, 220 * us);
    std::uint32_t const of_work = of_kernels ? 7 : 13;
    synchronization_record wait{};
    wait.kind = synchronization_kind::stream_wait_event;
    wait.stream = of_work;
    program ordered = p;
    ordered.made.synchronizations.push_back(wait);
    found_in(ordered, ahead);
    // Another copy and a kernel run at the same time.
    program beside = p;
    copy_record copy = beside.made.copies[0];
    copy.begin = beside.made.kernels[0].begin + 50 * us;
    copy.end = copy.begin + 50 * us;
    beside.made.copies.push_back(copy);
    beside.made.copies.sort(begin_first);
    found_in(beside, ahead);
  }
  // No stream hides a copy for which the host waits.
  program pageable = layers_of(13, 7, 220 * us);
  for (copy_record& copy : pageable.made.copies) copy.pageable = 1;
  answer const waits(pageable.made);
  REQUIRE(waits.find("pageable-copy") != nullptr);
  CHECK(waits.find("pageable-copy")->title.find("legacy") == std::string::npos);
  // Another stream copies all the time: the bus is busy.
  program full = layers_of(13, 7, 40 * us);
  for (std::size_t i = 0; i < 24; ++i) {
    copy_record copy = full.made.copies[i];
    copy.end = full.made.kernels[i].end;
    copy.stream = 14;
    full.made.copies.push_back(copy);
  }
  full.made.copies.sort(begin_first);
  found_in(full, "copy less, or leave the data on the GPU");
}

TEST_CASE("copy-in-step: streams of their own, one stream, and copies beside kernels") {
  auto const advice_of = [](program const& p) {
    answer const a(p.made);
    finding const* const found = a.find("copy-in-step");
    return found == nullptr ? std::string() : std::string(found->advice);
  };
  CHECK(advice_of(layers_of(13, 14, 220 * us)).find("begin the copies a layer or a step ahead") ==
        0);
  // Kernels hide as much of the copies as they take; much shorter ones had better have less of
  // them.
  CHECK(cost_of(layers_of(13, 14, 220 * us).made, "copy-in-step") ==
        doctest::Approx(1200 * us).epsilon(0.01));
  CHECK(cost_of(layers_of(13, 14, 150 * us).made, "copy-in-step") ==
        doctest::Approx(900 * us).epsilon(0.01));
  CHECK(cost_of(layers_of(13, 14, 90 * us).made, "copy-in-step") ==
        doctest::Approx(1200 * us).epsilon(0.01));
  // While the host was in the first of the calls, the GPU was idle; that goes, too.
  program const late = layers_of(13, 14, 150 * us, false, 105 * us);
  has(title_of(late.made, "copy-in-step"), ", and the GPU is idle for 10");
  CHECK(cost_of(late.made, "copy-in-step") == doctest::Approx(1000 * us).epsilon(0.01));
  // Pageable copies, however long, change neither the gain nor the advice.
  program const pageable = layers_of(13, 14, 150 * us, false, 5 * us, 1500 * us);
  CHECK(cost_of(pageable.made, "copy-in-step") == doctest::Approx(900 * us).epsilon(0.01));
  CHECK(advice_of(pageable).find("begin the copies a layer or a step ahead") == 0);
  CHECK(advice_of(layers_of(13, 13, 220 * us))
            .find("overlap the copy with kernels in another stream") == 0);
  CHECK(advice_of(layers_of(7, 7, 220 * us))
            .find("overlap the copy with kernels in another stream") == 0);
  CHECK(advice_of(layers_of(13, 13, 50 * us)).find("copy less, or leave the data on the GPU") == 0);
  CHECK(advice_of(layers_of(13, 7, 220 * us, true)).empty());
  // A kernel of another GPU between a copy and its kernel.
  program two = layers_of(13, 14, 220 * us);
  two.made.environment.devices.push_back(two.made.environment.devices[0]);
  two.made.environment.devices[1].ordinal = 1;
  for (std::size_t i = 0; i < 24; ++i) {
    kernel_record other = two.made.kernels[i];
    other.device = 1;
    other.end = other.begin - 200;
    other.begin = other.end - 100;
    two.made.kernels.push_back(other);
  }
  two.made.kernels.sort(
      [](kernel_record const& a, kernel_record const& b) { return a.begin < b.begin; });
  CHECK(advice_of(two).find("begin the copies a layer or a step ahead") == 0);
}

TEST_CASE("copy-in-step: what of a copy no kernel hides") {
  program p;
  p.run(4, [&] {
    p.in(p.attention, [&](std::uint32_t at) { p.kernel_of(at, 900 * us, 1000, 7); });
    p.in(p.other, [&](std::uint32_t at) {
      std::uint32_t const id = p.api(at, 5 * us, api_kind::copy);
      std::int64_t const begin = p.free - 300 * us;
      p.copy(id, begin, begin + 400 * us, 16 << 20, copy_kind::device_to_host).stream = 13;
      p.free = begin + 400 * us;
    });
    p.wait();
  });
  answer const a(p.made);
  REQUIRE(a.find("copy-in-step") != nullptr);
  CHECK(a.find("copy-in-step")->cost_ns_per_step == doctest::Approx(100 * us).epsilon(0.05));
  CHECK(a.find("copy-in-step")->advice.find("begin the copy earlier") == 0);
}

TEST_CASE("copy-in-step: pieces are to be copied together") {
  auto const made_of = [](int pieces, std::uint64_t bytes, std::int64_t ns) {
    program p;
    p.run(4, [&] {
      p.in(p.other, [&](std::uint32_t at) {
        for (int i = 0; i < pieces; ++i) p.copy_of(at, copy_kind::host_to_device, ns, false, bytes);
      });
      p.in(p.attention, [&](std::uint32_t at) { p.kernel_of(at, 200 * us); });
      p.wait();
    });
    return p;
  };
  program const many = made_of(200, 16 << 10, 3 * us);  // 5.5 GB/s
  answer const a(many.made);
  a.first_is("copy-in-step", "sample");
  finding const& found = a.findings()[0];
  CHECK(found.title.find("in 200 copies of 16.0 KiB, at 5.5 GB/s") != std::string::npos);
  CHECK(found.advice.find("copy them together") == 0);
  // What the bus takes for all bytes stays, and of the calls one.
  double const bus_ns = 200.0 * (16 << 10) / 55.0;
  CHECK(found.cost_ns_per_step == doctest::Approx(200 * 8 * us - bus_ns).epsilon(0.01));
  CHECK(found.ranges[0].launches == doctest::Approx(1.0 - 1.0 / 200));
  CHECK(found.predicted_step_ns < 0.75 * a.steps().mean_ns);
  program const few = made_of(4, 16 << 10, 3 * us);
  CHECK(answer(few.made).find("copy-in-step")->advice.find("together") == std::string::npos);
  program const large = made_of(20, 4 << 20, 80 * us);
  CHECK(answer(large.made).find("copy-in-step")->advice.find("together") == std::string::npos);
}

TEST_CASE("copies are judged by the device that copied, not by another one of the machine") {
  for (bool const pageable : {true, false}) {
    for (std::uint16_t copied = 0; copied < 2; ++copied) {
      program p;
      p.run(4, [&] {
        p.in(p.other, [&](std::uint32_t at) {
          p.copy_of(at, copy_kind::host_to_device, 800 * us, pageable);
          p.made.copies.back().device = copied;
        });
        p.in(p.attention, [&](std::uint32_t at) { p.kernel_of(at, 200 * us); });
        p.wait();
      });
      // An integrated GPU and a discrete one, such as Thor's.
      profile_device integrated = p.made.environment.devices[0];
      integrated.ordinal = 1;
      integrated.compute_capability_major = 11;
      p.made.environment.devices.push_back(integrated);
      answer const a(p.made);
      bool const is_found = a.find(pageable ? "pageable-copy" : "copy-in-step") != nullptr;
      CHECK(is_found == (copied == 0));
    }
  }
}

TEST_CASE("copies of a device that has the host's memory tell nothing of the bus") {
  program p;
  std::uint32_t const pinned = p.node(0, "pinned");
  p.run(7, [&] {
    // 1 GB/ns: no bus does that.
    p.in(pinned, [&](std::uint32_t at) {
      p.copy_of(at, copy_kind::host_to_device, us, false, 1u << 30);
      p.made.copies.back().device = 1;
    });
    p.in(p.other, [&](std::uint32_t at) {
      p.copy_of(at, copy_kind::host_to_device, 2000 * us, true, 1u << 25);
    });
    p.in(p.attention, [&](std::uint32_t at) { p.kernel_of(at, 200 * us); });
    p.wait();
  });
  profile_device integrated = p.made.environment.devices[0];
  integrated.ordinal = 1;
  integrated.compute_capability_major = 11;
  p.made.environment.devices.push_back(integrated);
  answer const a(p.made);
  finding const* const found = a.find("pageable-copy");
  REQUIRE(found != nullptr);
  // What the bus of the discrete device takes stays: 32 MiB at 55 GB/s or so.
  CHECK(found->ranges[0].cost_ns_per_step < 1700 * us);
}

namespace {

/// A step that copies 32 MiB in 2 ms, from or to the host or both, between a kernel and a wait.
program copying(bool pageable, bool to_device, bool to_host = false) {
  program p;
  p.run(4, [&] {
    p.in(p.other, [&](std::uint32_t where) {
      if (to_device) p.copy_of(where, copy_kind::host_to_device, 2000 * us, pageable, 1u << 25);
      if (to_host) p.copy_of(where, copy_kind::device_to_host, 2000 * us, pageable, 1u << 25);
    });
    p.in(p.attention, [&](std::uint32_t where) { p.kernel_of(where, 200 * us); });
    p.wait();
  });
  return p;
}
/// 32 MiB at a part of PCIe 5 with 16 lanes, 63 GB/s.
constexpr double bus_ns = (1u << 25) / (0.85 * 16 * 32.0 / 8 * 128 / 130);

}  // namespace

TEST_CASE("pageable-copy: pinned, the bytes still cross the bus") {
  for (bool const to_device : {true, false}) {
    answer const pinned(copying(false, to_device, !to_device).made);
    answer const pageable(copying(true, to_device, !to_device).made);
    finding const* const whole = pinned.find("copy-in-step");
    finding const* const part = pageable.find("pageable-copy");
    REQUIRE(whole != nullptr);
    REQUIRE(part != nullptr);
    CHECK(whole->cost_ns_per_step - part->cost_ns_per_step == doctest::Approx(bus_ns));
    CHECK(part->predicted_step_ns - whole->predicted_step_ns ==
          doctest::Approx(bus_ns).epsilon(0.01));
  }
}

TEST_CASE("pageable-copy: large pinned copies of the run tell what the bus does") {
  for (std::uint64_t const bytes : {1u << 20, (1u << 20) - 1}) {
    for (copy_kind const kind : {copy_kind::host_to_device, copy_kind::device_to_host}) {
      program p = copying(true, true);
      p.run(4, [&] {  // 1 MiB in 50 us: a third of the bus, 1.6 ms for 32 MiB
        p.in(p.mlp, [&](std::uint32_t where) { p.copy_of(where, kind, 50 * us, false, bytes); });
      });
      answer const a(p.made);
      finding const* const found = a.find("pageable-copy");
      REQUIRE(found != nullptr);
      bool const is_known = bytes == 1u << 20 && kind == copy_kind::host_to_device;
      double const pinned_ns = is_known ? 32.0 * 50 * us : bus_ns;
      // The first step stands apart: three of seven have the pageable copy.
      double const gained = (2000 * us - pinned_ns) * 3 / 7;
      CHECK(found->cost_ns_per_step == doctest::Approx(gained).epsilon(0.03));
    }
  }
}

TEST_CASE("pageable-copy: where no bus is known, nothing is predicted") {
  program p = copying(true, true);
  p.made.environment.devices[0].compute_capability_major = 99;
  answer const a(p.made);
  finding const* const found = a.find("pageable-copy");
  REQUIRE(found != nullptr);
  CHECK(found->cost_ns_per_step > 2000 * us);
  CHECK_FALSE(found->predicted_step_ns >= 0.0);
}

TEST_CASE("copies of a range in both directions go together") {
  answer const a(copying(false, true, true).made);
  finding const* const found = a.find("copy-in-step");
  REQUIRE(found != nullptr);
  REQUIRE(found->ranges.size() == 2);
  CHECK(detail::view_of(*found, a.steps()).place == found->path);  // one range, whatever goes there
  CHECK(found->title.find(
            "32.0 MiB a step go to the GPU in 1 copy, at 16.8 GB/s, and 32.0 MiB a step come "
            "from the GPU in 1 copy, at 16.8 GB/s, while no kernel runs for "
            "4.00 ms") == 0);
  CHECK(found->cost_ns_per_step > 4000 * us);
  CHECK(found->predicted_step_ns < 0.06 * a.steps().mean_ns);
  answer const b(copying(true, true, true).made);
  finding const* const pageable = b.find("pageable-copy");
  REQUIRE(pageable != nullptr);
  CHECK(pageable->predicted_step_ns - found->predicted_step_ns ==
        doctest::Approx(2 * bus_ns).epsilon(0.01));
}

TEST_CASE(
    "device-copy: the GPU is idle for the calls of many small copies, not for one of the host") {
  program p;
  p.run(8, [&] {
    p.in(p.attention, [&](std::uint32_t at) { p.kernel_of(at, 100 * us); });
    p.wait();
    p.in(p.mlp, [&](std::uint32_t at) {
      p.copy_of(at, copy_kind::host_to_device, us, false, 712);
      for (int i = 0; i < 100; ++i)
        p.copy_of(at, copy_kind::device_to_device, 2 * us, false, 32u << 10);
    });
    p.wait();
  });
  answer const a(p.made);
  a.first_is("device-copy", "mlp");
  finding const& first = a.findings()[0];
  has(first.title,
      "in 100 copies, while no kernel runs for 200 us, and the GPU is idle for another 5");
  CHECK(first.advice.find("do all of them in one kernel") == 0);
  finding const* const of_host = a.find("copy-in-step");
  CHECK(of_host == nullptr);
}

TEST_CASE("device-copy: copies within the GPU and fills, where no kernel runs") {
  auto const with = [](copy_kind kind, std::int64_t ns) {
    program p;
    p.run(8, [&] {
      p.in(p.attention, [&](std::uint32_t at) { p.kernel_of(at, 1000 * us); });
      p.wait();
      p.in(p.mlp, [&](std::uint32_t at) { p.copy_of(at, kind, ns, false, 500u << 20); });
      p.wait();
    });
    return p;
  };
  answer const copied(with(copy_kind::device_to_device, 600 * us).made);
  copied.first_is("device-copy", "mlp");
  finding const& first = copied.findings()[0];
  CHECK(first.title ==
        "500 MiB a step are copied within the GPU in 1 copy, while no kernel runs for 600 us, and "
        "the GPU is idle for another 5.00 us");
  CHECK(first.cost_ns_per_step == doctest::Approx(600 * us).epsilon(0.01));
  CHECK(first.predicted_step_ns ==
        doctest::Approx(copied.steps().mean_ns - 600 * us).epsilon(0.02));
  answer const filled(with(copy_kind::set, 600 * us).made);
  filled.first_is("device-copy", "mlp");
  CHECK(filled.findings()[0].title.find("500 MiB a step are filled in 1 call") == 0);
  CHECK(filled.findings()[0].advice.find("fill once") == 0);
  answer(with(copy_kind::set, 5 * us).made).is_silent();
  CHECK(answer(with(copy_kind::peer, 600 * us).made).find("device-copy") == nullptr);
  // While a kernel runs it costs nothing.
  program hidden;
  hidden.run(8, [&] {
    hidden.in(hidden.attention, [&](std::uint32_t at) { hidden.kernel_of(at, 1000 * us); });
    hidden.copy_of(hidden.mlp, copy_kind::device_to_device, 600 * us, false, 500u << 20);
    hidden.now += 500 * us;
    hidden.wait();
  });
  CHECK(answer(hidden.made).find("device-copy") == nullptr);
}

TEST_CASE("copies at the same time take no longer than one of them") {
  program p = copying(false, true, false);
  vec<copy_record> const there = p.made.copies;
  for (copy_record back : there) {
    back.kind = copy_kind::device_to_host;
    p.made.copies.push_back(back);
  }
  answer const a(p.made);
  finding const* const found = a.find("copy-in-step");
  REQUIRE(found != nullptr);
  INFO(found->title);
  REQUIRE(found->title.find(", and 32.0 MiB a step come from the GPU ") != std::string::npos);
  CHECK(found->title.find("while no kernel runs for 2.00 ms") != std::string::npos);
}

TEST_CASE("a number that comes back in each layer: without it the host launches ahead") {
  double predicted[2];
  for (bool const pageable : {false, true}) {
    program p;
    p.run(4, [&] {
      for (int layer = 0; layer < 20; ++layer) {
        p.in(p.attention, [&](std::uint32_t where) { p.kernel_of(where, 10 * us); });
        p.in(p.other, [&](std::uint32_t where) {
          p.now = p.free;  // it begins when the kernel ended
          p.copy_of(where, copy_kind::device_to_host, 2 * us, pageable, 4);
          p.copy_of(where, copy_kind::host_to_device, 2 * us, pageable, 4);
        });
      }
      p.wait();
    });
    answer const a(p.made);
    finding const* const found = a.find(pageable ? "pageable-copy" : "copy-in-step");
    REQUIRE(found != nullptr);
    predicted[pageable ? 1 : 0] = found->predicted_step_ns;
  }
  CHECK(predicted[1] == doctest::Approx(predicted[0]).epsilon(0.001));
}

TEST_CASE("a copy below a kernel costs nothing") {
  program p;
  p.run(4, [&] {
    p.in(p.other, [&](std::uint32_t at) {
      std::int64_t const begin = p.now;
      p.api(at, 3 * us, api_kind::copy);
      p.copy(p.correlations, begin + 5 * us, begin + 400 * us, 1u << 24, copy_kind::host_to_device);
    });
    p.in(p.attention, [&](std::uint32_t at) { p.kernel_of(at, 990 * us); });
    p.wait();
  });
  answer(p.made).is_silent();
}

TEST_CASE("serialised-streams: small kernels of several streams, none at a time") {
  program p;
  p.run(4, [&] {
    for (std::uint32_t i = 0; i < 8; ++i)
      p.in(p.attention, [&](std::uint32_t at) { p.kernel_of(at, 100 * us, 16, 7 + i % 4); });
    p.wait();
  });
  answer const a(p.made);
  a.first_is("serialised-streams", "attention");
  CHECK(a.findings()[0].predicted_step_ns ==
        doctest::Approx(a.steps().mean_ns - (800 - 1.5 * 200) * us));
  CHECK(a.find("few-blocks") == nullptr);
  // One of the streams is the legacy default one.
  CHECK(a.findings()[0].title.find(", beside the legacy default stream") != std::string::npos);
  CHECK(a.findings()[0].advice.find("cudaStreamNonBlocking") != std::string::npos);
  program ordered = p;
  ordered.made.synchronizations.push_back({});
  ordered.made.synchronizations.back().kind = synchronization_kind::stream_wait_event;
  answer const by_events(ordered.made);
  by_events.first_is("serialised-streams", "attention");
  CHECK(by_events.findings()[0].title.find("legacy") == std::string::npos);
  CHECK(by_events.findings()[0].advice.find("remove events") == 0);
  for (kernel_record& kernel : p.made.kernels) kernel.stream += 6;
  answer const others(p.made);
  others.first_is("serialised-streams", "attention");
  CHECK(others.findings()[0].title.find("legacy") == std::string::npos);
  CHECK(others.findings()[0].advice.find("remove events") == 0);
}

TEST_CASE("serialised-streams: a GPU that is visible and idle changes nothing") {
  program p;
  p.made.environment.devices.push_back(p.made.environment.devices[0]);
  p.made.environment.devices[1].ordinal = 1;
  p.run(4, [&] {
    for (std::uint32_t i = 0; i < 8; ++i)
      p.in(p.attention,
           [&](std::uint32_t at) { p.kernel_of(at, 100 * us, 16, 7 + i % 4).device = 1; });
    p.wait();
  });
  answer(p.made).first_is("serialised-streams", "attention");
}

TEST_CASE("serialised-streams: of two GPUs that work, each is judged by its own streams") {
  auto const with_second = [](std::uint32_t streams_of_second) {
    program p;
    p.made.environment.devices.push_back(p.made.environment.devices[0]);
    p.made.environment.devices[1].ordinal = 1;
    p.run(4, [&] {
      p.in(p.mlp, [&](std::uint32_t at) { p.kernel_of(at, 100 * us, 16, 7); });
      for (std::uint32_t i = 0; i < 8; ++i)
        p.in(p.attention, [&](std::uint32_t at) {
          p.kernel_of(at, 100 * us, 16, 7 + i % streams_of_second).device = 1;
        });
      p.wait();
    });
    return p;
  };
  answer const serial(with_second(4).made);
  serial.first_is("serialised-streams", "attention");
  CHECK(serial.findings()[0].title.find("Kernels of 4 streams of GPU 1 run one after the other") ==
        0);
  CHECK(serial.findings()[0].cost_ns_per_step == doctest::Approx((800 - 1.5 * 200) * us));
  CHECK(answer(with_second(1).made).find("serialised-streams") == nullptr);
}

TEST_CASE("serialised-streams: kernels that fill the GPU hide no small ones behind them") {
  for (std::uint32_t const blocks : {1000u, 16u}) {
    program p;
    p.run(4, [&] {
      p.in(p.mlp, [&](std::uint32_t at) { p.kernel_of(at, 2000 * us, 1000, 7); });
      for (std::uint32_t i = 0; i < 8; ++i)
        p.in(p.attention, [&](std::uint32_t at) { p.kernel_of(at, 100 * us, blocks, 8 + i % 4); });
      p.wait();
    });
    answer const a(p.made);
    if (blocks == 1000) {
      CHECK(a.find("serialised-streams") == nullptr);
      continue;
    }
    a.first_is("serialised-streams", "attention");
    // 200 us in each of four streams, half as long again where they share L2.
    CHECK(a.findings()[0].cost_ns_per_step == doctest::Approx((800 - 1.5 * 200) * us));
    CHECK(a.find("few-blocks") == nullptr);
  }
}

/// Computes in `mlp` for `compute`, and at that time in `attention`: two collectives of 300 us,
/// which begin so long after it began.
static program with_collectives(
    std::int64_t compute, std::int64_t first, std::int64_t second,
    std::string const& name = "_Z40ncclDevKernel_AllReduce_Sum_bf16_RING_LL4args") {
  program p;
  p.made.kernel_names.push_back({name});
  p.run(4, [&] {
    std::int64_t begin = 0;
    p.in(p.mlp, [&](std::uint32_t where) { begin = p.kernel_of(where, compute).begin; });
    std::int64_t const free = p.free;
    p.in(p.attention, [&](std::uint32_t where) {
      for (std::int64_t const after : {first, second}) {
        kernel_record& kernel =
            p.kernel_of(where, 300 * us, 24, after == first || second - first >= 300 * us ? 8 : 9);
        kernel.name = 2;
        kernel.begin = begin + after;
        kernel.end = kernel.begin + 300 * us;
        p.free = kernel.end > free ? kernel.end : free;
      }
    });
    p.wait();
  });
  return p;
}

TEST_CASE("exposed-communication: what no other kernel hides of collectives") {
  // Of 600 us, 100 overlap the computation, and 100 of the rest overlap each other.
  answer const a(with_collectives(400 * us, 300 * us, 500 * us).made);
  a.first_is("exposed-communication", "attention");
  finding const& found = a.findings()[0];
  CHECK(found.cost_ns_per_step == doctest::Approx(400 * us));
  CHECK(found.title ==
        "Collectives take 500 us of a step, with no other kernel at the same time for 400 us");
  CHECK(a.find("few-blocks") == nullptr);  // by design
  CHECK(a.find("serialised-streams") == nullptr);
}

TEST_CASE("serialised-streams: collectives are not the small kernels that it is of") {
  program p = with_collectives(400 * us, 400 * us, 700 * us);
  p.run(4, [&] {
    for (std::uint32_t i = 0; i < 4; ++i)
      p.in(p.other, [&](std::uint32_t where) { p.kernel_of(where, 100 * us, 16, 7 + i); });
    p.wait();
  });
  answer const a(p.made);
  INFO(a.all());
  REQUIRE(a.find("serialised-streams") != nullptr);
  CHECK(a.find("serialised-streams")->path == "sample");  // collectives take longer, in attention
}

TEST_CASE("exposed-communication: what is hidden costs nothing") {
  answer const a(with_collectives(1000 * us, 100 * us, 500 * us).made);
  INFO(a.all());
  CHECK(a.find("exposed-communication") == nullptr);
  CHECK(a.find("few-blocks") == nullptr);
  CHECK(a.steps().collectives[0].ns == doctest::Approx(600 * us));
  CHECK(a.steps().collectives[0].alone_ns == 0.0);
}

TEST_CASE("exposed-communication: what no step launched hides them, too") {
  program p = with_collectives(1000 * us, 100 * us, 500 * us);
  for (driver_call_record& launch : p.made.launches)
    if (launch.node == p.mlp) launch.step = no_step;
  answer const a(p.made);
  INFO(a.all());
  CHECK(a.find("exposed-communication") == nullptr);
  CHECK(a.steps().collectives[0].alone_ns == 0.0);
}

TEST_CASE("exposed-communication: a kernel of NCCL's own range is one by any name") {
  program p = with_collectives(400 * us, 400 * us, 700 * us, "kernel");
  CHECK(answer(p.made).find("exposed-communication") == nullptr);
  CHECK(answer(p.made).find("few-blocks") != nullptr);
  p.made.nodes[p.attention].name = p.name("NCCL:ncclAllReduce");
  answer const a(p.made);
  a.first_is("exposed-communication", "NCCL:ncclAllReduce");
  CHECK(a.findings()[0].cost_ns_per_step == doctest::Approx(600 * us));
  CHECK(a.findings()[0].predicted_step_ns ==
        doctest::Approx(a.steps().mean_ns - 600 * us).epsilon(0.01));
}

TEST_CASE("exposed-communication: what several GPUs of a process send at a time counts once") {
  constexpr std::uint32_t gpus = 4;
  program p;
  p.made.kernel_names.push_back({"ncclDevKernel_AllReduce_Sum_bf16_RING_LL"});
  while (p.made.environment.devices.size() < gpus) {
    profile_device next = p.made.environment.devices[0];
    next.ordinal = static_cast<std::uint32_t>(p.made.environment.devices.size());
    p.made.environment.devices.push_back(next);
  }
  p.run(4, [&] {
    for (std::uint32_t const name : {1u, 2u}) {
      std::int64_t const begin = detail::larger(p.now, p.free) + 20 * us;
      for (std::uint32_t gpu = 0; gpu < gpus; ++gpu)
        p.in(name == 1 ? p.mlp : p.attention, [&](std::uint32_t where) {
          kernel_record& kernel = p.kernel_of(where, 500 * us);
          kernel.name = name;
          kernel.device = static_cast<std::uint16_t>(gpu);
          kernel.context = gpu + 1;
          kernel.begin = begin;
          p.free = kernel.end = begin + 500 * us;
        });
    }
    p.wait();
  });
  answer const a(p.made);
  a.first_is("exposed-communication", "attention");
  CHECK(a.findings()[0].title ==
        "Collectives take 500 us of a step, with no other kernel at the same time for 500 us");
  CHECK(a.findings()[0].predicted_step_ns ==
        doctest::Approx(a.steps().mean_ns - 500 * us).epsilon(0.01));
}

TEST_CASE("exposed-communication: it explains nothing of the other kernels of its range") {
  for (char const* const name : {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "work"}) {
    program p;
    p.made.kernel_names.push_back({name});
    p.run(4, [&] {
      p.in(p.mlp, [&](std::uint32_t where) {
        p.kernel_of(where, 400 * us, 8);
        p.kernel_of(where, 400 * us, 24).name = 2;
      });
      p.wait();
    });
    answer const a(p.made);
    INFO(a.all());
    REQUIRE(a.find("few-blocks") != nullptr);
    CHECK(a.find("few-blocks")->ranges[0].cost_ns_per_step ==
          doctest::Approx(400 * us * (1.0 - 8.0 / 132)));
  }
}

TEST_CASE("exposed-communication: no managed memory gains the same time again") {
  for (std::int64_t const compute : {0 * us, 300 * us}) {
    program p = with_collectives(1 + compute, 1 + compute, 301 * us + compute);
    p.made.has_migrations = true;
    for (kernel_record& kernel : p.made.kernels) {
      kernel.node = p.attention;
      p.made.migrations.push_back(
          {kernel.begin, kernel.end, 1 << 20, 0, migration_kind::to_device, {}});
    }
    answer const a(p.made);
    a.first_is("exposed-communication", "attention");
    CHECK(a.findings()[0].cost_ns_per_step == doctest::Approx(600 * us));
    finding const* const managed = a.find("managed-memory");
    REQUIRE((managed == nullptr) == (compute == 0));
    if (managed != nullptr)
      CHECK(managed->ranges[0].cost_ns_per_step == doctest::Approx(compute).epsilon(0.01));
  }
}

TEST_CASE("exposed-communication: streams that run one after the other are not its range's") {
  program p;
  p.made.kernel_names.push_back({"ncclDevKernel_AllReduce_Sum_bf16_RING_LL"});
  p.run(4, [&] {
    for (std::uint32_t stream = 7; stream < 11; ++stream)
      p.in(p.mlp, [&](std::uint32_t where) { p.kernel_of(where, 100 * us, 8, stream); });
    p.in(p.attention, [&](std::uint32_t where) { p.kernel_of(where, 800 * us, 24, 20).name = 2; });
    p.wait();
  });
  answer const a(p.made);
  a.first_is("exposed-communication", "attention");
  REQUIRE(a.find("serialised-streams") != nullptr);
  CHECK(a.find("serialised-streams")->path == "mlp");
}

TEST_CASE("exposed-communication: rules of single kernels leave collectives alone") {
  for (char const* const name : {"work", "ncclDevKernel_AllGather_RING_LL"}) {
    program p = one_kernel(140);  // of which a last wave has few, and no unit is used much
    p.use(p.attention, "issue", 0.01);
    p.hbm(p.attention, 0.01);
    p.made.kernel_names[0].mangled = name;
    answer const a(p.made);
    INFO(a.all());
    bool const is_collective = std::string_view(name) != "work";
    CHECK((a.find("latency-bound") == nullptr) == is_collective);
    CHECK((a.find("exposed-communication") != nullptr) == is_collective);
  }
}

TEST_CASE("collectives that a computation hides are no range that waits") {
  for (char const* const name : {"work", "ncclDevKernel_AllGather_RING_LL"}) {
    program p = with_collectives(1000 * us, 100 * us, 500 * us, name);
    for (kernel_record& kernel : p.made.kernels) kernel.grid_x = 1000;
    p.count_nothing(p.attention);
    p.use(p.attention, "issue", 0.01);
    p.hbm(p.attention, 0.01);
    answer const a(p.made);
    INFO(a.all());
    CHECK((a.find("latency-bound") == nullptr) == (std::string_view(name) != "work"));
  }
}

TEST_CASE("above-roof: wrong units are named, and are no result") {
  program p = one_kernel();
  p.hbm(p.attention, 1.3);
  answer const a(p.made);
  REQUIRE(a.find("above-roof") != nullptr);
  CHECK(a.find("above-roof")->cost_ns_per_step == 0);
  CHECK(a.input.roofline.limits[1].text == "above the roof");
}

TEST_CASE("above-roof: HBM's bytes without a kernel are the driver's where the range allocates") {
  for (bool const allocates : {false, true}) {
    CAPTURE(allocates);
    program p;
    p.run(20, [&] {
      p.in(p.attention, [&](std::uint32_t at) {
        if (allocates) {
          p.api(at, 5 * us, api_kind::allocate);
          p.allocate(p.correlations, p.now, 4096, 1u << 20);
          p.release(p.correlations, p.now + us, 4096, 1u << 20);
        }
        p.kernel_of(at, 1000 * us);
      });
      p.wait();
    });
    p.count_nothing(p.attention);
    p.set(p.attention, "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum", 1e6);
    p.hbm(p.attention, 1.3);
    answer const a(p.made);
    INFO(a.all());
    std::size_t told = 0;
    for (finding const& each : a.findings())
      if (each.rule == "above-roof")
        told += each.title.find("or the driver cleared memory that was allocated here") !=
                std::string::npos;
    CHECK(told == (allocates ? 3 : 0));  // of the run and the range the roof, and hbm_of_peak
    CHECK((a.input.roofline.limits[1].text == "above the roof") == !allocates);
    CHECK((a.input.roofline.own[1].is_above_roof()) == !allocates);
  }
}

TEST_CASE("above-roof: where no kernel ran, what was counted limits nothing") {
  program p;
  p.run(20, [&] {
    p.in(p.attention,
         [&](std::uint32_t at) { p.copy_of(at, copy_kind::device_to_host, 1000 * us, false); });
    p.wait();
  });
  p.hbm(p.attention, 1.3);
  answer const a(p.made);
  INFO(a.all());
  CHECK(a.input.roofline.limits[1].text == "copies");
  CHECK_FALSE(a.input.roofline.limits[1].counted);
  CHECK(a.find("above-roof") == nullptr);
}

TEST_CASE("first-step, varying-calls, untrusted, own-cost") {
  program p;
  int count = 0;
  p.run(20, [&] {
    p.in(p.attention, [&](std::uint32_t at) { p.kernel_of(at, 500 * us); });
    if (count++ == 0) p.now += 5000 * us;
    p.in(p.other, [&](std::uint32_t) { p.now += count % 4 == 0 ? 2000 * us : 600 * us; });
    p.wait();
  });
  p.made.losses.activity_dropped = 100;
  p.made.cost.callbacks = 100'000;
  p.made.cost.callback_ns = 100;
  answer const a(p.made);
  INFO(a.all());
  for (char const* rule : {"first-step", "varying-calls", "untrusted", "own-cost"}) {
    CAPTURE(rule);
    CHECK(a.find(rule) != nullptr);
  }
  CHECK(a.find("varying-calls")->path == "sample");
  CHECK(a.find("first-step")->cost_ns_per_step == 0);
  bool const says_so =
      a.find("first-step")->title.find("; it is left out here") != std::string::npos;
  CHECK(says_so == a.input.steps.without_first);
  for (char const* rule : {"first-step", "untrusted", "own-cost"}) CHECK(a.find(rule)->of_step);
}

TEST_CASE("varying-calls: the finding that has the same time is named") {
  program p;
  int count = 0;
  p.run(20, [&] {
    p.in(p.attention, [&](std::uint32_t at) { p.kernel_of(at, 500 * us); });
    p.wait();
    p.in(p.other, [&](std::uint32_t) { p.now += ++count % 8 == 0 ? 9000 * us : 100 * us; });
  });
  answer const a(p.made);
  INFO(a.all());
  REQUIRE(a.find("varying-calls") != nullptr);
  REQUIRE(a.find("host-work") != nullptr);
  auto const number = 1 + (a.find("host-work") - a.findings().data());
  CHECK(
      a.find("varying-calls")->title.find("; that time is in finding " + std::to_string(number)) !=
      std::string::npos);
  CHECK(a.find("varying-calls")->advice == "see that finding");
}

TEST_CASE("varying-calls: a finding of other ranges is not named") {
  program p;
  int count = 0;
  p.run(20, [&] {
    p.in(p.attention, [&](std::uint32_t at) { p.kernel_of(at, 500 * us); });
    p.wait();
    p.in(p.mlp, [&](std::uint32_t) { p.now += 3000 * us; });
    p.in(p.other, [&](std::uint32_t) { p.now += ++count % 8 == 0 ? 4000 * us : 20 * us; });
  });
  answer const a(p.made);
  INFO(a.all());
  REQUIRE(a.find("host-work") != nullptr);
  REQUIRE(a.find("varying-calls") != nullptr);
  bool const has_other =
      std::any_of(a.find("host-work")->ranges.begin(), a.find("host-work")->ranges.end(),
                  [](finding_range const& range) { return range.path == "sample"; });
  CHECK((a.find("varying-calls")->title.find("that time is in finding") != std::string::npos) ==
        has_other);
}

TEST_CASE("varying-calls: layers may differ from each other, one layer's calls may not") {
  program p;
  std::uint32_t layers[4];
  for (std::uint32_t i = 0; i < 4; ++i) layers[i] = p.node(0, "block", i);
  bool one_is_slow = false;
  auto const run = [&] {
    for (int turn = 0; turn < 20; ++turn)
      p.run(1, [&] {
        for (int i = 0; i < 4; ++i)
          p.in(layers[i], [&](std::uint32_t) {
            p.now += (i == 3 ? 2000 : 100) * us;
            if (one_is_slow && i == 2 && turn % 4 == 0) p.now += 5000 * us;
          });
      });
  };
  p.made.traced = false;
  run();
  CHECK(answer(p.made).find("varying-calls") == nullptr);
  one_is_slow = true;
  run();
  run();
  answer const a(p.made);
  INFO(a.all());
  REQUIRE(a.find("varying-calls") != nullptr);
  CHECK(a.find("varying-calls")->path == "block[*]");
  CHECK(a.find("varying-calls")->title.find("Calls of block[2] differ") == 0);
  CHECK(a.find("varying-calls")->evidence.size() == 3);
  for (finding_evidence const& value : a.find("varying-calls")->evidence)
    CHECK(value.path == "block[2]");
}

TEST_CASE("varying-calls: calls of a dear first step are no part of the mean step") {
  double costs[2];
  for (int const dear : {0, 1}) {
    program p;
    p.made.traced = false;
    int count = 0;
    p.run(41, [&] {
      p.in(p.other, [&](std::uint32_t) {
        if (count == 0) p.now += dear * 400'000 * us;
        p.now += count++ % 4 == 1 ? 900 * us : 100 * us;
      });
    });
    answer const a(p.made);
    INFO(a.all());
    REQUIRE(a.steps().without_first == (dear == 1));
    REQUIRE(a.find("varying-calls") != nullptr);
    costs[dear] = a.find("varying-calls")->cost_ns_per_step;
  }
  CHECK(costs[1] == doctest::Approx(costs[0]).epsilon(0.05));
}

TEST_CASE("varying-calls: what the device does not wait for costs nothing") {
  for (bool const ahead : {true, false}) {
    program p;
    int count = 0;
    p.run(40, [&] {
      p.in(p.other, [&](std::uint32_t) { p.now += count++ % 4 == 0 ? 300 * us : 10 * us; });
      p.in(p.attention, [&](std::uint32_t at) { p.kernel_of(at, 500 * us); });
      p.free += 100 * us;  // another program's work
      if (!ahead) p.wait();
    });
    p.made.end = p.free;
    answer const a(p.made);
    INFO(a.all());
    CHECK((a.find("varying-calls") == nullptr) == ahead);
  }
}

TEST_CASE("host times only: the answer is of a step, and says what is in no range") {
  program p;
  p.made.traced = false;
  std::uint32_t const load = p.node(0, "load");
  p.in(load, [&](std::uint32_t) { p.now += 900'000 * us; });
  p.run(10, [&] {
    p.in(p.attention, [&](std::uint32_t) { p.now += 300 * us; });
    p.in(p.mlp, [&](std::uint32_t) { p.now += 700 * us; });
  });
  CHECK(answer(p.made).input.findings.bound ==
        "Only host times are known: mlp takes the longest by itself, 700 us of a step (70 %).");
  p.run(10, [&] {
    p.in(p.attention, [&](std::uint32_t) { p.now += 300 * us; });
    p.now += 9'700 * us;
  });
  CHECK(answer(p.made).input.findings.bound.find("of a step (88 %) is outside ranges: mark") !=
        std::string::npos);
}

TEST_CASE("steps that end before their work are said to be empty") {
  for (bool const traced : {false, true}) {
    for (bool const in_block : {false, true}) {
      program p;
      p.made.traced = traced;
      auto const work = [&] {
        p.in(p.attention, [&](std::uint32_t at) {
          if (traced) p.kernel_of(at, 300 * us);
          p.now += 300 * us;
        });
      };
      for (int i = 0; i < 10; ++i) {
        p.run(1, [&] {
          p.now += us;
          if (!in_block) work();
        });
        if (in_block) work();
      }
      p.made.end = p.now;
      p.made.cost.seconds_in_window = static_cast<double>(p.now) * 1e-9;
      std::string const bound = answer(p.made).input.findings.bound;
      INFO(bound);
      CHECK((bound.find("The steps are empty, since") == 0) == in_block);
    }
  }
}

TEST_CASE("ranges before steps without ranges do not make the steps empty") {
  program p;
  p.made.traced = false;
  std::uint32_t const load = p.node(0, "load");
  p.in(load, [&](std::uint32_t) { p.now += 500'000 * us; });
  p.run(10, [&] { p.now += 300 * us; });
  CHECK(answer(p.made).input.findings.bound.find("empty") == std::string::npos);
}

TEST_CASE("host times of other threads run beside the step and are no part of it") {
  program p;
  p.made.traced = false;
  p.made.threads.push_back({0, 0, "main"});
  p.made.threads.push_back({1, 0, "loader"});
  std::uint32_t const load = p.node(0, "load");
  std::uint32_t const read = p.node(load, "read");
  p.run(10, [&] {
    std::int64_t const begin = p.now;
    p.in(p.attention, [&](std::uint32_t) { p.now += 300 * us; });
    p.in(p.mlp, [&](std::uint32_t) { p.now += 700 * us; });
    p.call(load, begin, begin + 990 * us, 1).step = p.step;
    p.call(read, begin + 10 * us, begin + 900 * us, 1).step = p.step;
  });
  answer const a(p.made);
  CHECK(a.input.findings.bound ==
        "Only host times are known: mlp takes the longest by itself, 700 us of a step (70 %).");
  for (range_row const& row : a.tree.rows()) {
    bool const beside = row.path.find("load") == 0;
    CHECK(row.thread == (beside ? "thread loader" : ""));
    CHECK(row.other_threads_ns == (beside ? row.host_total_ns : 0));
    CHECK(row.other_threads_self_ns == (beside ? row.host_self_ns : 0));
  }
  std::string const text =
      report_test::text_of([&](detail::text_writer& out) { write_table(out, a.input, {120}); });
  INFO(text);
  auto const line = [&](char const* begin) {
    std::size_t const at = text.find(std::string("\n") + begin) + 1;
    return text.substr(at, text.find('\n', at) - at);
  };
  CHECK(line("load (thread loader)").find("990 us") != std::string::npos);
  CHECK(line("load (thread loader)").find('%') == std::string::npos);
  CHECK(line("  read").find("890 us") != std::string::npos);
  CHECK(line("all, a step").find("1.00 ms") != std::string::npos);
  CHECK(line("mlp").find("70.0") != std::string::npos);  // of the step's host time
}

TEST_CASE("varying-calls: what another thread does beside the step costs it nothing") {
  for (std::uint32_t const thread : {0u, 1u}) {
    program p;
    p.made.traced = false;
    int count = 0;
    p.run(41, [&] {
      std::int64_t const begin = p.now;
      p.now += 1000 * us;
      p.call(p.other, begin, begin + (count++ % 4 == 1 ? 900 : 100) * us, thread).step = p.step;
    });
    CHECK((answer(p.made).find("varying-calls") != nullptr) == (thread == 0));
  }
}

TEST_CASE("a range of the steps' thread and of others has no name of a thread") {
  program p;
  p.made.traced = false;
  p.run(10, [&] {
    std::int64_t const begin = p.now;
    p.in(p.mlp, [&](std::uint32_t) { p.now += 500 * us; });
    p.call(p.mlp, begin, begin + 400 * us, 1).step = p.step;
    p.call(p.other, begin, begin + 400 * us, 1).step = p.step;
    p.call(p.other, begin, begin + 300 * us, 2).step = p.step;
  });
  answer const a(p.made);
  detail::step_amounts const mean(a.input.folded, a.steps());
  REQUIRE(a.input.folded.size() == 3);
  CHECK(a.input.folded[1].thread.empty());
  CHECK(mean.host_ns(1) == doctest::Approx(900 * us));
  CHECK(mean.stepping_ns(1) == doctest::Approx(500 * us));
  CHECK(a.input.folded[2].thread == "other threads");
  CHECK(mean.stepping_ns(2) == 0.0);
}

TEST_CASE("rules without their counters say which would decide") {
  program p = one_kernel();
  p.made.counter_sets.clear();
  answer const a(p.made);
  a.is_silent();
  CHECK(a.input.findings.undecided.size() == 27);
  for (undecided_rule const& each : a.input.findings.undecided)
    CHECK(each.needs().substr(0, 9) == "counters=");
  CHECK(answer(one_kernel().made).input.findings.undecided.empty());
  CHECK(answer(profile()).findings().empty());
}

TEST_CASE("a run that was asked for the counters of a rule is not told to ask for them") {
  program p = one_kernel();
  std::string const lost = "smsp__sass_data_bytes_mem_global_op_ld.sum";
  p.made.environment.options = "trace,counters=roofline+findings";
  auto const how = [](profile const& made) {
    answer const said(made);
    REQUIRE(said.input.findings.undecided.size() == 1);
    CHECK(said.input.findings.undecided[0].rule == "uncoalesced");
    return said.input.findings.undecided[0].how_to_decide();
  };
  auto& counted = p.made.add_counters(strata::counter_set::gpu);
  p.drop(lost);
  counted.passes = 3;
  CHECK(how(p.made) == "record more steps with counters=findings");
  counted.metrics.metrics.keep_if(
      [](resolved_metric const& metric) { return metric.key != "global_load_bytes"; });
  CHECK(how(p.made) == "record again with this version, whose counters=findings counts more,");
  counted.metrics.absent.push_back({"global_load_bytes", "the chip has none"});
  CHECK(how(p.made) == "record on a GPU that counts what they need");
  p.made.environment.options = "trace,counters=roofline";
  CHECK(how(p.made) == "record with counters=findings");
}

TEST_CASE("rules without what CUDA graphs leave out do not ask for it again") {
  program p = one_kernel();
  std::string const lost = "smsp__sass_data_bytes_mem_global_op_ld.sum";
  p.drop(lost);
  answer const asked(p.made);
  REQUIRE(asked.input.findings.undecided.size() == 1);
  CHECK(asked.input.findings.undecided[0].needs() == "counters=findings");
  p.made.add_counters(strata::counter_set::gpu).left_out.push_back({lost, "CUDA graphs"});
  answer const kept(p.made);
  REQUIRE(kept.input.findings.undecided.size() == 1);
  CHECK(kept.input.findings.undecided[0].rule == "uncoalesced");
  CHECK(kept.input.findings.undecided[0].needs() == "switching CUDA graphs off");
}

TEST_CASE("counted roofs of tensor cores are half on GeForce boards, and not halved twice") {
  program p = one_kernel();
  profile_device& device = p.made.environment.devices[0];
  device.compute_capability_major = 8;
  device.compute_capability_minor = 9;
  p.set(p.attention, "sm__ops_path_tensor_src_tf32_dst_fp32.sum", 0.2 * 989e9);
  auto const rate = [&p](char const* roof) { return answer(p.made).input.roofline.rate_of(roof); };
  device.name = "NVIDIA L40S";
  CHECK(rate("BF16 tensor") == doctest::Approx(989e12));
  device.name = "NVIDIA GeForce RTX 4090";
  CHECK(rate("BF16 tensor") == doctest::Approx(494.5e12));
  CHECK(rate("TF32 tensor") == doctest::Approx(247.25e12));
  CHECK(rate("FP32") == doctest::Approx(67e12));
  // What is half of the chip's already: 512 a cycle and SM.
  char const* const peak = "sm__ops_path_tensor_src_bf16_dst_fp32_sparsity_off.sum.peak_sustained";
  p.set(p.attention, peak, 132 * 512);
  CHECK(rate("BF16 tensor") == doctest::Approx(132 * 512e9));
}

TEST_CASE("products with sums in FP16 have a roof of their own, whole on GeForce boards") {
  program p = one_kernel();
  std::string const path = "sm__ops_path_tensor_src_";
  // 300 us of 1 ms at the peak of GeForce's sums in FP32, 200 us at that of sums in FP16.
  p.set(p.attention, path + "fp16.sum", 0.3e6 * 494.5e3 + 0.2e6 * 989e3);
  p.set(p.attention, path + "fp16_dst_fp16.sum", 0.2e6 * 989e3);
  p.set(p.attention, path + "fp16_dst_fp16_sparsity_off.sum.peak_sustained", 989e3);
  profile_device& device = p.made.environment.devices[0];
  device.name = "NVIDIA GeForce RTX 5090";
  answer const a(p.made);
  CHECK(a.input.roofline.rate_of("FP16 tensor") == doctest::Approx(494.5e12));
  CHECK(a.input.roofline.rate_of("FP16 tensor, FP16 sums") == doctest::Approx(989e12));
  counter_table const& table = a.input.counters[0].folded;
  auto const cell = [&](char const* key) {
    return table.at(1, table.find(key), counter_scope::total);
  };
  CHECK(cell("tensor_of_peak").value == doctest::Approx(50.0));
  CHECK(cell("tensor_peak_per_second").value == doctest::Approx(494.5e12));
  CHECK(a.input.roofline.limits[1].kind != limiter::above_roof);
  device.name = "NVIDIA RTX PRO 6000 Blackwell Server Edition";
  answer const whole(p.made);
  CHECK(whole.input.roofline.rate_of("FP16 tensor") == doctest::Approx(989e12));
  CHECK(whole.input.counters[0]
            .folded.at(1, table.find("tensor_of_peak"), counter_scope::total)
            .value == doctest::Approx(35.0));
}

TEST_CASE("work of a format whose peak was not counted is no share of the peak") {
  program p = one_kernel();
  std::string const path = "sm__ops_path_tensor_src_";
  p.set(p.attention, path + "bf16_dst_fp32.sum", 0.4e6 * 989e3);
  counter_set& set = p.counted();
  auto const resolve = [&](std::string const& keys) {
    set.metrics = resolve_metrics(expand_metrics(keys), [](std::string const& name) {
      return name.find("_sparsity_off") == name.npos || name.find("fp8") == name.npos;
    });
  };
  auto const cell = [&] {
    answer const a(p.made);
    counter_table const& table = a.input.counters[0].folded;
    counter_cell const& found = table.at(1, table.find("tensor_of_peak"), counter_scope::total);
    return std::make_pair(found.value, std::string(table.note(found)));
  };
  CHECK(cell().first == doctest::Approx(40.0));
  resolve("tensor_flop+tensor_peak_per_second+tensor_fp8_peak_per_cycle");
  CHECK(cell().first == doctest::Approx(40.0));  // no such work
  p.set(p.attention, path + "fp8.sum", 0.1e6 * 989e3);
  CHECK(std::isnan(cell().first));
  CHECK(cell().second.find("tensor_fp8_peak_per_cycle is not known: this chip") == 0);
  p.set(p.attention, path + "fp8.sum", 0.0);
  p.set(p.attention, path + "tf32_dst_fp32.sum", 0.1e6 * 989e3);
  CHECK(std::isnan(cell().first));
  CHECK(cell().second == "tensor_tf32_peak_per_cycle was not counted: ask for it, too");
}

TEST_CASE("TF32 has half the roof of BF16, and the roofs say where they are from") {
  program p = one_kernel();
  p.set(p.attention, "sm__ops_path_tensor_src_tf32_dst_fp32.sum", 0.4 * 989e9);
  p.use(p.attention, "tensor", 0.83);
  answer const counted(p.made);
  CHECK(counted.input.roofline.find("TF32 tensor")->rate == doctest::Approx(494.5e12));
  CHECK(counted.input.roofline.find("HBM")->origin == roof_origin::counted);
  CHECK(counted.input.roofline.limits[1].text == "tensor 83 %");
  counter_table const& table = counted.input.counters[0].folded;
  auto const value = [&](char const* key) {
    return table.at(1, table.find(key), counter_scope::total).value;
  };
  CHECK(value("tensor_of_peak") == doctest::Approx(80.0));
  p.made.counter_sets.clear();
  answer const attributes(p.made);
  roof const* const hbm = attributes.input.roofline.find("HBM");
  REQUIRE(hbm != nullptr);
  CHECK(hbm->rate == doctest::Approx(4.814e12).epsilon(0.001));
  CHECK(hbm->origin == roof_origin::device_attributes);
  CHECK(attributes.input.roofline.find("FP32")->rate == doctest::Approx(66.9e12).epsilon(0.001));
}

TEST_CASE("work of no range has its busy time in the table, also beside that of ranges") {
  program p = with_collectives(400 * us, 300 * us, 500 * us);
  for (kernel_record& kernel : p.made.kernels)
    if (kernel.node == p.mlp) kernel.node = 0;
  for (driver_call_record& launch : p.made.launches)
    if (launch.node == p.mlp) launch.node = 0;
  answer const a(p.made);
  std::string const text = report_test::text_of([&](detail::text_writer& out) {
    write_table(out, a.input, {200, false, 30});
  });
  std::size_t const row = text.find("\n(outside ranges) ");
  REQUIRE(row != std::string::npos);
  std::string const line = text.substr(row + 1, text.find('\n', row + 1) - row);
  CHECK(line.find(" 400 us ") != std::string::npos);  // of 800 us in all
}

TEST_CASE("measured roofs are the distance; what is impossible is counted or of attributes") {
  program p = one_kernel();
  p.set(p.attention, "sm__ops_path_tensor_src_tf32_dst_fp32.sum", 0.4 * 989e9);
  p.use(p.attention, "tensor", 0.83);
  auto const measure = [&](char const* name, bool memory, double rate) {
    device_ceiling made;
    made.name = name;
    made.memory = memory;
    made.rate = rate;
    p.made.environment.devices[0].ceilings.push_back(made);
  };
  measure("TF32 tensor", false, 412e12);
  measure("HBM read", true, 4.2e12);
  measure("HBM copy", true, 4.0e12);
  measure("FP32", false, 1e12);
  p.made.environment.devices[0].ceilings[3].refused = "it is 1 %";
  p.made.environment.devices[0].measured_at = "2026-11-22T20:11:18Z";
  answer const a(p.made);
  INFO(a.all());
  roof const* const tensor = a.input.roofline.find("TF32 tensor");
  REQUIRE(tensor != nullptr);
  CHECK(tensor->origin == roof_origin::measured);
  CHECK(tensor->rate == 412e12);
  CHECK(tensor->limit == doctest::Approx(494.5e12));
  CHECK(a.input.roofline.find("HBM")->rate == 4.2e12);
  CHECK(a.input.roofline.find("FP32")->origin == roof_origin::counted);
  CHECK(a.input.roofline.find("BF16 tensor")->origin == roof_origin::counted);
  CHECK(a.input.roofline.limits[1].text == "tensor 83 %");  // units are of their own peaks
  CHECK(a.find("above-roof") == nullptr);
  CHECK(detail::device_text(a.input).find("roofs measured on this device 2026-11-22") !=
        std::string::npos);

  p.count_only("roofline+flops+tensor");  // no units
  CHECK(answer(p.made).input.roofline.limits[1].text == "TF32 tensor 96 %");
  // Above what was measured, below what is possible: no contradiction.
  p.made.environment.devices[0].ceilings[0].rate = 350e12;
  answer const over(p.made);
  CHECK(over.input.roofline.limits[1].text == "TF32 tensor 100 %");
  CHECK(over.find("above-roof") == nullptr);
  // Above what is possible too.
  p.set(p.attention, "sm__ops_path_tensor_src_tf32_dst_fp32.sum", 0.6 * 989e9);
  answer const wrong(p.made);
  CHECK(wrong.input.roofline.limits[1].text == "above the roof");
}

TEST_CASE("the tensor cores' active rate is a part of all that an SM counts") {
  program p = one_kernel();
  p.set(p.attention, "sm__pipe_tensor_cycles_active.sum", 3.85 * 132 * 1e6);
  answer const a(p.made);
  counter_table const& table = a.input.counters[0].folded;
  CHECK(table.at(1, table.find("tensor_active_rate"), counter_scope::total).value ==
        doctest::Approx(96.25));
}

TEST_CASE("findings.json has the answer with its evidence, and the console five parts of it") {
  program p;
  p.run(4, [&] {
    p.in(p.node(0, "</script>\n"), [&](std::uint32_t at) { p.kernel_of(at, 900 * us, 4); });
    p.wait();
  });
  answer const a(p.made);
  nlohmann::json const json = nlohmann::json::parse(text_of(a, true));
  CHECK(json["schema"]["name"] == "strata.findings");
  CHECK(json["schema"]["version"] == findings_schema_version);
  CHECK(json["step"]["count"] == 4);
  REQUIRE(!json["findings"].empty());
  nlohmann::json const& first = json["findings"][0];
  CHECK(first["rule"] == "few-blocks");
  CHECK(first["path"] == "</script>\n");
  CHECK(first["cost_of_step"].get<double>() > 0.9);
  CHECK(first["evidence"][0]["column"] == "blocks_mean");
  CHECK(json["undecided"].size() == 27);
  std::string const text = text_of(a, false);
  CHECK(text.find("finding 1: few-blocks: </script>\\n: ") != std::string::npos);
  CHECK(text.find("try:       split the work") != std::string::npos);
}

TEST_CASE("a dear first step is no part of the sentence above all") {
  program p;
  int count = 0;
  p.run(20, [&] {
    p.in(p.mlp, [&](std::uint32_t at) {
      for (int i = 0; i < 10; ++i) p.kernel_of(at, 1000 * us);
    });
    if (count++ == 0) p.now += 3'000'000 * us;
    p.wait();
  });
  answer const a(p.made);
  INFO(a.input.findings.bound);
  CHECK(a.input.findings.bound.find("GPU-bound: the GPU is busy 100 % of the step.") == 0);
  CHECK(a.steps().active_busy_ns == doctest::Approx(10'000 * us));
}

TEST_CASE("beside a cost no evidence is 0: gaps are those that a cause has the larger part of") {
  program p;
  p.run(10, [&] {
    p.in(p.attention, [&](std::uint32_t at) {
      p.kernel_of(at, 100 * us);
      p.wait(at);
      p.now += 300 * us;  // computes
    });
    p.in(p.mlp, [&](std::uint32_t at) {
      p.api(at, 150 * us, api_kind::launch);
      p.kernel_of(at, 100 * us);
    });
  });
  answer const a(p.made);
  bool waits = false;
  for (finding const& found : a.input.findings.findings) {
    CAPTURE(found.title);
    bool has_gaps = false;
    for (finding_evidence const& value : found.evidence) {
      has_gaps = has_gaps || value.column == "gaps";
      if (value.column == "gaps" || value.column == "gpu_idle_ns") CHECK(value.value > 0.0);
    }
    waits = waits || found.rule == "wait-in-step";
    CHECK(has_gaps == (found.rule == "host-work"));
  }
  CHECK(waits);
}

TEST_CASE("evidence is whole where sums of parts come to a whole number") {
  using detail::whole_if_near;
  CHECK(whole_if_near(399.9999999999101) == 400.0);
  CHECK(whole_if_near(33554432.000000015) == 33554432.0);
  for (double const value : {0.0, 1e-12, 0.5, 399.99999, 400.00001, 1e300})
    CHECK(whole_if_near(value) == value);
  CHECK(std::isnan(whole_if_near(std::nan(""))));
}

TEST_CASE("a gain beyond the time of its cause says that other idle time ends with it") {
  step_analysis steps;
  steps.from_steps = true;
  steps.mean_ns = 1000.0 * us;
  finding found;
  found.cost_ns_per_step = 300.0 * us;
  found.ranges.push_back({"sample", 1, 100.0 * us, finding_part::host_work});
  found.ranges.push_back({"log", 2, 100.0 * us, finding_part::host_work});
  auto const text = [&](double predicted_us) {
    found.predicted_step_ns = predicted_us * us;
    return detail::view_of(found, steps).prediction;
  };
  CHECK(text(797) == "Without this cause, the step would take 797 us (20.3 % shorter).");
  CHECK(text(795) ==
        "Without this cause, the step would take 795 us (20.5 % shorter): 5.00 us of other idle "
        "time ends with it, since the host launches sooner.");
  CHECK(text(995) == "Alone no gain: other work takes as long.");
  steps.p50_ns = steps.mean_ns;
  steps.unrecorded_ns = 800.0 * us;
  CHECK(text(700) ==
        "Without this cause, the step would take 700 us (12.5 % shorter than 800 us unrecorded). "
        "The cause takes 200 us, of which fixing it saves only 100 us: other work takes as long.");
  steps.unrecorded_ns = std::numeric_limits<double>::quiet_NaN();
  found.predicted_step_ns = std::numeric_limits<double>::quiet_NaN();
  CHECK(detail::view_of(found, steps).prediction ==
        "Fixing this would shorten the step by at most 300 us (30.0 %).");
}

TEST_CASE("time, work and tokens of a step are of the same steps: a dear first one is apart") {
  program p;
  p.run(10, [&] {
    bool const prompt = p.step == 0;
    range_record& call = p.in(p.mlp, [&](std::uint32_t at) {
      p.kernel_of(at, (prompt ? 3000 : 1000) * us);
      p.wait(at);
      if (prompt) p.now += 200'000 * us;  // modules are loaded
    });
    p.describe(call).tokens = prompt ? 512 : 8;
  });
  answer const a(p.made);
  REQUIRE(a.steps().without_first);
  CHECK(a.steps().count == 10);
  CHECK(a.steps().typical_count() == 9);
  CHECK(a.steps().mean_ns == doctest::Approx(1005.5 * us));
  CHECK(a.steps().p95_ns == doctest::Approx(1005.5 * us));
  CHECK(a.steps().first_ns == doctest::Approx(203'005.5 * us));
  CHECK(a.steps().gpu_busy_ns == doctest::Approx(1000 * us));
  CHECK(a.steps().gpu_idle_ns == doctest::Approx(5.5 * us));
  CHECK(a.steps().tokens == 8);
  CHECK(a.steps().tokens_per_s == doctest::Approx(8e9 / (1005.5 * us)));
  std::string text;
  {
    detail::text_writer out(text);
    write_table(out, a.input, {200});
  }
  INFO(text);
  CHECK(text.find("Values are of a mean step, without the first, which took 203 ms.") !=
        std::string::npos);
  CHECK(text.find("7,956 tokens/s") != std::string::npos);
}

TEST_CASE("without a whole timeline an idle GPU bounds nothing") {
  program p;
  p.run(20, [&] {
    p.in(p.mlp, [&](std::uint32_t at) { p.kernel_of(at, 50 * us); });
    p.wait();
    p.now += 950 * us;
  });
  p.made.losses.activity_summed = 1;
  std::string const bound = answer(p.made).input.findings.bound;
  INFO(bound);
  CHECK(bound.find("bounds") == std::string::npos);
  CHECK(bound.find("is not known") != std::string::npos);
  CHECK(bound.find("buffers=") != std::string::npos);
}

TEST_CASE("without steps the start of a program is apart from its device work") {
  program p;
  p.now += 10'000'000 * us;
  p.in(p.mlp, [&](std::uint32_t at) {
    for (int i = 0; i < 100; ++i) p.kernel_of(at, 10'000 * us);
  });
  p.wait();
  p.made.end = p.now + 1000;
  p.made.cost.seconds_in_window = static_cast<double>(p.made.end) * 1e-9;
  std::string const bound = answer(p.made).input.findings.bound;
  INFO(bound);
  CHECK(bound.find("GPU-bound: the GPU is busy 100 % of the run from its first work on the GPU to "
                   "its last. The longest range is mlp, 1.00 s (100 % of it)") == 0);
  CHECK(bound.find(" 91 % of the run is before its first work") != std::string::npos);
}

TEST_CASE("a cause that explains less than half of the idle time is not named") {
  program p;
  p.run(20, [&] {
    p.in(p.mlp, [&](std::uint32_t at) {
      p.kernel_of(at, 100 * us);
      p.wait(at);
      p.now += 60 * us;
      p.api(at, 60 * us, api_kind::allocate);
      p.api(at, 60 * us, api_kind::copy);
    });
  });
  std::string const bound = answer(p.made).input.findings.bound;
  INFO(bound);
  CHECK(bound.find("-bound") == std::string::npos);
  CHECK(bound.find("Idle: the GPU is idle 65 % of the step, for several causes.") == 0);
}

TEST_CASE("gaps between the nodes of one graph are the device's") {
  program p;
  p.run(20, [&] {
    p.in(p.mlp, [&](std::uint32_t at) {
      std::uint32_t const id = p.api(at, 10 * us, api_kind::graph_launch);
      kernel_record node = p.kernel_of(at, 5 * us);
      p.made.launches.pop_back();
      p.made.kernels.pop_back();
      for (int i = 0; i < 50; ++i) {
        node.begin = (p.now > p.free ? p.now : p.free) + 1500;
        node.end = p.free = node.begin + 5 * us;
        node.correlation = id;
        p.made.kernels.push_back(node);
      }
    });
    p.wait();
  });
  answer const a(p.made);
  INFO(a.all());
  CHECK(a.find("launch-bound") == nullptr);
  CHECK(a.steps().idle_of(idle_cause::device) == doctest::Approx(50 * 1500).epsilon(0.05));
}

TEST_CASE("queued work that other processes delay is not bound by launches") {
  program p;
  p.run(20, [&] {
    p.in(p.mlp, [&](std::uint32_t at) {
      for (int i = 0; i < 10; ++i) {
        p.free += 2000 * us;
        p.kernel_of(at, 2000 * us);
      }
    });
    p.wait();
  });
  answer const a(p.made);
  INFO(a.all());
  INFO(a.input.findings.bound);
  CHECK(a.find("launch-bound") == nullptr);
  CHECK(a.input.findings.bound.find("launches") == std::string::npos);
  CHECK(a.steps().idle_of(idle_cause::device) > 19'900 * us);
}

/// A range whose kernels run on two devices at a time, which moves so many bytes in a millisecond.
static program on_two_devices(double bytes) {
  program p;
  p.made.environment.devices.push_back(p.made.environment.devices[0]);
  p.made.environment.devices[1].ordinal = 1;
  p.run(20, [&] {
    range_record& call = p.in(p.mlp, [&](std::uint32_t at) {
      std::int64_t const free = p.free;
      p.kernel_of(at, 1000 * us);
      p.free = free;
      p.kernel_of(at, 1000 * us).device = 1;
    });
    p.describe(call).bytes = bytes;
    p.made.attributes.back().flops = 1e9;
    p.wait();
  });
  return p;
}

TEST_CASE("a roof is of one GPU: two that work at a time do twice as much") {
  program const p = on_two_devices(2 * 0.7 * 4.814e9);
  answer const a(p.made);
  INFO(a.all());
  CHECK(a.find("above-roof") == nullptr);
  CHECK(a.input.roofline.limits[1].text == "HBM 70 %");
  CHECK(a.input.findings.bound.find("2 GPUs") != std::string::npos);
  CHECK(a.input.findings.bound.find("in turns") == std::string::npos);
}

TEST_CASE("that nothing was recorded does not say that the GPU had nothing to do") {
  program p;
  p.made.traced = true;
  p.made.end = 1'000'000;
  CHECK(answer(p.made).input.findings.bound == "Nothing was recorded: see problems.");
  p.made.cost.seconds_in_window = 1e-3;
  CHECK(answer(p.made).input.findings.bound == "The GPU had nothing to do.");
}

TEST_CASE("a GPU whose times were all lost is not said to have had nothing to do") {
  program p;
  p.run(4, [&] {
    p.in(p.attention, [&](std::uint32_t at) { p.kernel_of(at, 20 * us); });
    p.wait();
  });
  for (kernel_record& kernel : p.made.kernels) kernel.begin = kernel.end = lost_time;
  p.made.losses.timestamps_lost = p.made.kernels.size();
  answer const a(p.made);
  has(a.input.findings.bound, "What bounds the step is not known: all times of the GPU's work");
  has(text_of(a, false), "unknown (100.0 %)");
  has(detail::device_text(a.input), "times of the GPU lost");
  CHECK(text_of(a, false).find("idle (") == std::string::npos);
  std::string const json = text_of(a, true);
  has(json, "\"gpu_busy_ns\":null,\"gpu_idle_ns\":null");
  CHECK(json.find("\"cause\":\"launch\"") == std::string::npos);
  CHECK(a.input.analysed.idle.empty());
  strata::run_tables const run = make_run_tables(p.made);
  CHECK(run.lost_all_times());
  for (period_part const& part : run.period.parts) CHECK(part.kind != period_kind::idle);
}

TEST_CASE("two GPUs that work one after the other work in turns") {
  auto const with_second = [](std::int64_t ns) {
    program p;
    p.made.environment.devices.push_back(p.made.environment.devices[0]);
    p.made.environment.devices[1].ordinal = 1;
    p.run(20, [&] {
      p.in(p.mlp, [&](std::uint32_t at) {
        p.kernel_of(at, 600 * us);
        p.kernel_of(at, ns).device = 1;
      });
      p.wait();
    });
    return answer(p.made).input.findings.bound;
  };
  std::string const half = with_second(600 * us);
  CAPTURE(half);
  CHECK(half.find("GPU-bound: the 2 GPUs, in turns, are busy ") == 0);
  CHECK(half.find(" of the step. Each runs kernels for 50 % of it at most.") != std::string::npos);
  CHECK(with_second(20 * us).find("in turns") == std::string::npos);  // one does all
}

TEST_CASE("two GPUs that do not work as much as each other are named") {
  auto const bound = [](std::int64_t second) {
    program p;
    p.made.environment.devices.push_back(p.made.environment.devices[0]);
    p.made.environment.devices.back().ordinal = 1;
    p.run(8, [&] {
      p.in(p.attention, [&](std::uint32_t where) {
        p.kernel_of(where, 1000 * us);
        std::int64_t const end = p.free;
        p.free = p.now;
        p.kernel_of(where, second * us).device = 1;
        p.free = end;
      });
      p.wait();
    });
    return answer(p.made).input.findings.bound;
  };
  CHECK(bound(300).find(
            "The busiest of them runs kernels for 99 % of it, the least busy for 30 %.") !=
        std::string::npos);
  CHECK(bound(900).find("least busy") == std::string::npos);
}

TEST_CASE("two GPUs that work beside each other do not work in turns, however long one copies") {
  program p;
  p.made.environment.devices.push_back(p.made.environment.devices[0]);
  p.made.environment.devices[1].ordinal = 1;
  p.run(20, [&] {
    p.in(p.other,
         [&](std::uint32_t at) { p.copy_of(at, copy_kind::host_to_device, 600 * us, false); });
    p.in(p.mlp, [&](std::uint32_t at) {
      std::int64_t const free = p.free;
      p.kernel_of(at, 300 * us);
      p.free = free;
      p.kernel_of(at, 300 * us).device = 1;
    });
    p.wait();
  });
  std::string const bound = answer(p.made).input.findings.bound;
  CAPTURE(bound);
  CHECK(bound.find("at least one of the 2 GPUs is busy") != std::string::npos);
  CHECK(bound.find("in turns") == std::string::npos);
}

TEST_CASE("above-roof: the evidence is of one GPU, where two work at a time") {
  program const p = on_two_devices(2 * 2 * 4.814e9);  // twice the roof of each
  answer const a(p.made);
  finding const* const found = a.find("above-roof");
  INFO(a.all());
  REQUIRE(found != nullptr);
  CHECK(found->title.find("takes 2.00 times") != std::string::npos);
  REQUIRE(found->evidence.size() == 2);
  CHECK(found->evidence[0].column == "time_at_roof_ns");
  CHECK(found->evidence[0].value == doctest::Approx(2e6).epsilon(0.01));
  CHECK(found->evidence[1].column == "gpu_busy_ns");
  CHECK(found->evidence[1].value == doctest::Approx(1e6).epsilon(0.01));
}

TEST_CASE("above-roof: L2 may serve the bytes that a range declares") {
  program p;
  p.run(20, [&] {
    range_record& call = p.in(p.mlp, [&](std::uint32_t at) { p.kernel_of(at, 30 * us); });
    p.describe(call).bytes = 200e6;
    p.made.attributes.back().flops = 5e6;
    p.wait();
  });
  CHECK(answer(p.made).find("above-roof") != nullptr);
  for (attribute_record& each : p.made.attributes) each.bytes = 200e6 * 5 / 30;
  for (kernel_record& each : p.made.kernels) each.end = each.begin + 5 * us;
  p.made.environment.devices[0].l2_bytes = 50u << 20;
  answer const a(p.made);
  INFO(a.all());
  CHECK(a.find("above-roof") == nullptr);
  CHECK(a.input.roofline.limits[1].roof.empty());
}

TEST_CASE("above-roof: many ranges are a few findings with their number") {
  program p;
  p.run(2, [&] {
    for (int i = 0; i < 50; ++i) {
      std::uint32_t const at = p.node(0, ("range" + std::to_string(i)).c_str());
      range_record& call = p.in(at, [&](std::uint32_t where) { p.kernel_of(where, 5 * us); });
      p.describe(call).bytes = 1e12;
      p.made.attributes.back().flops = 1e6;
    }
    p.wait();
  });
  answer const a(p.made);
  INFO(a.all());
  std::size_t found = 0;
  for (finding const& each : a.findings()) found += each.rule == "above-roof";
  CHECK(found == 4);
  CHECK(a.all().find("; 49 more ranges or kernels are above it") != std::string::npos);
}

TEST_CASE("amounts without end are in no title") {
  program p;
  p.run(20, [&] {
    range_record& call = p.in(p.mlp, [&](std::uint32_t at) { p.kernel_of(at, 1000 * us); });
    attribute_record& said = p.describe(call);
    said.bytes = said.flops = said.tokens = 1e308;
    p.wait();
  });
  answer const a(p.made);
  std::string const text = a.all() + a.input.findings.bound;
  INFO(text);
  CHECK(text.find("inf %") == std::string::npos);
  CHECK(text.find("nan") == std::string::npos);
  CHECK(a.find("above-roof") != nullptr);
}

TEST_CASE("own-cost: each thread has the recorded time") {
  program p = one_kernel();
  p.made.threads.resize(64);
  p.made.cost.range_ns = 40;
  p.made.cost.ranges = static_cast<std::uint64_t>(64 * p.made.cost.seconds_in_window * 1e5);
  CHECK(answer(p.made).find("own-cost") == nullptr);
  p.made.threads.resize(1);
  CHECK(answer(p.made).find("own-cost") != nullptr);
}

TEST_CASE("own-cost: it stands first where the GPU waits for it, and costs nothing elsewhere") {
  for (bool const idle : {true, false}) {
    program p;
    p.run(10, [&] {
      p.in(p.attention, [&](std::uint32_t at) { p.kernel_of(at, 1000 * us); });
      if (idle) p.wait();
      for (int i = 0; i < 100; ++i) {
        p.in(p.other, [&](std::uint32_t) { p.now += 4 * us; });
        p.now += 4 * us;
      }
      p.wait();
    });
    p.made.cost.range_ns = 8'200;
    p.made.cost.ranges = 1000;
    answer const a(p.made);
    if (idle) a.first_is("own-cost", "");
    REQUIRE(a.find("own-cost") != nullptr);
    double const cost = a.find("own-cost")->cost_ns_per_step;
    CHECK(cost == doctest::Approx(idle ? 805'500.0 : 0.0).epsilon(0.01));
  }
}

TEST_CASE("the page shows the most expensive findings, and says how many it leaves out") {
  program p;
  p.run(2, [&] {
    for (int i = 0; i < 10; ++i) {
      std::uint32_t const at = p.node(0, ("range" + std::to_string(i)).c_str());
      p.in(at, [&](std::uint32_t where) { p.kernel_of(where, 100 * us, 4); });
    }
    p.wait();
    p.now += 300 * us;
  });
  p.made.losses.activity_dropped = 1;
  answer const a(p.made);
  INFO(a.all());
  REQUIRE(a.findings().size() > 2);
  CHECK(a.find("few-blocks")->ranges.size() == 10);
  page_limits limits;
  limits.findings = 2;
  std::string page;
  detail::text_writer out(page);
  write_html(out, a.input, limits);
  out.flush();
  std::string const left = std::to_string(a.findings().size() - 2);
  CHECK(page.find("\"findings_left_out\":" + left) != std::string::npos);
}

}  // namespace findings_test
