// CUDA graphs: kernels belong to the range that launched the graph and, in addition, to the one
// that captured them; a capture is never broken.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include <strata/collect/cuda/contexts.hpp>
#include <strata/collect/cuda/driver.hpp>
#include "../patience.hpp"
#include "fake_session.hpp"

namespace graph_test {

using fake::launch;
using fake::row;
using fake::traced;
using strata::api_kind;
using strata::profile;

namespace {

constexpr std::uint32_t stream = 9;

/// Three kernels captured in capture/attention, two in capture/mlp.
fake_graph_t capture() {
  STRATA_RANGE("capture");
  (void)fake_begin_capture(stream);
  {
    STRATA_RANGE("attention", strata::flops(100.0));
    for (int i = 0; i < 3; ++i) launch("gemm", stream);
  }
  {
    STRATA_RANGE("mlp");
    for (int i = 0; i < 2; ++i) launch("gelu", stream);
  }
  fake_graph_t const graph = fake_end_capture(stream);
  REQUIRE(graph != 0);
  return graph;
}

std::ptrdiff_t calls_of(profile const& p, api_kind kind) {
  return std::count_if(p.launches.begin(), p.launches.end(),
                       [kind](strata::driver_call_record const& l) { return l.kind == kind; });
}

void decode(fake_graph_t executable) {
  STRATA_RANGE("decode");
  (void)fake_graph_launch(executable, stream);
}

}  // namespace

// The first test of this program: no session has followed graphs yet.
TEST_CASE("a graph captured before the first session belongs to who launches it") {
  fake_cuda_reset();
  REQUIRE(strata::detail::driver_library::get().ok());
  fake_graph_t const executable = fake_graph_clone(capture());
  traced s;
  decode(executable);
  profile const& p = fake::whole(s);
  CHECK(p.kernels.size() == 5);
  CHECK(row(p, "decode").self.kernels == 5);
  CHECK(row(p, "").total.graph_kernels == 0);
  for (strata::kernel_record const& k : p.kernels) CHECK(k.captured_by == strata::no_node);
}

TEST_CASE("the times of a graph's kernels have come before tracing ends") {
  auto const right = [](profile const& p) {
    for (strata::kernel_record const& k : p.kernels) CHECK(k.end - k.begin < 1'000'000);
    return p.kernels.size();
  };
  fake_graph_t const executable = fake_graph_clone(capture());
  SUBCASE("with windows") {
    traced s("every=2,active=1");
    for (int step = 0; step < 8; ++step) {
      STRATA_STEP();
      decode(executable);
    }
    CHECK(right(s.profile()) == 20);
  }
  SUBCASE("with windows, as the device ends its work later") {
    traced s("every=4,active=1");
    for (int step = 0; step < 10; ++step) {
      STRATA_STEP();
      if (step % 4 == 3) fake_hang(fake_blocks_context);
      if (step % 4 == 1) fake_hang(0);
      decode(executable);
    }
    CHECK(right(s.profile()) == 10);
  }
  SUBCASE("with steps that count") {
    traced s("active=1,counters=dram__bytes_read.sum");
    for (int step = 0; step < 8; ++step) {
      STRATA_STEP();
      decode(executable);
    }
    CHECK(right(s.profile()) == 5);
  }
  SUBCASE("at the end") {
    traced s;
    decode(executable);
    CHECK(right(s.profile()) == 5);
  }
}

TEST_CASE("a graph that is captured once more is a capture until that ends") {
  using strata::detail::capture_guard;
  traced s;
  fake_graph_t const graph = capture();
  (void)fake_begin_recapture(stream, graph);
  CHECK(capture_guard::capturing());
  CHECK(capture_guard::capturing_here());
  std::thread([] {
    capture_guard::exclusive const alone(0);
    CHECK_FALSE(static_cast<bool>(alone));
  }).join();
  (void)fake_end_capture(stream);
  CHECK_FALSE(capture_guard::capturing());
  CHECK(fake_capture_broken() == 0);
  fake::nothing_lost(s.profile());
}

TEST_CASE(
    "a graph's kernels belong to the range that launched it and to those that captured them") {
  traced s;
  fake_graph_t const executable = fake_graph_clone(capture());
  for (int i = 0; i < 4; ++i) decode(executable);
  profile const& p = fake::whole(s);
  CHECK(p.kernels.size() == 20);
  CHECK(row(p, "decode").self.kernels == 20);
  CHECK(row(p, "decode").self.launches == 4);
  CHECK(row(p, "capture/attention").self.kernels == 0);
  CHECK(row(p, "capture/attention").self.graph_kernels == 12);
  CHECK(fake::about(row(p, "capture/attention").self.graph_kernel_ns, 12'000));
  CHECK(row(p, "capture/mlp").self.graph_kernels == 8);
  CHECK(row(p, "capture").total.graph_kernels == 20);
  CHECK(std::isnan(row(p, "capture/attention").flops));  // nothing was computed then
  CHECK(row(p, "").total.kernels == 20);
  // Launches into the capture put no work on the device, and say so.
  auto const captured =
      std::count_if(p.launches.begin(), p.launches.end(), [](strata::driver_call_record const& l) {
        return strata::is_work(l.kind) && l.flags == strata::driver_call_record::in_capture;
      });
  CHECK(captured == 5);
  CHECK(calls_of(p, api_kind::launch) == 5);
  CHECK(calls_of(p, api_kind::graph_launch) == 4);
}

TEST_CASE("what makes, changes and ends graphs is recorded, with its range and its step") {
  auto const run = [](char const* options) {
    traced s(options);
    for (int step = 0; step < 4; ++step) {
      STRATA_STEP();
      fake_graph_t const graph = capture();
      STRATA_RANGE("make");
      fake_graph_t const executable = fake_graph_clone(graph);
      (void)fake_graph_update(executable, graph);
      decode(executable);
      fake_graph_destroy(executable);
    }
    profile const& p = fake::whole(s);
    CHECK(fake_capture_broken() == 0);
    return p;
  };
  profile const p = run("");
  for (api_kind const kind :
       {api_kind::begin_capture, api_kind::end_capture, api_kind::instantiate})
    CHECK(calls_of(p, kind) == 4);
  CHECK(calls_of(p, api_kind::graph_change) == 8);
  CHECK(row(p, "make").self.launches == 0);  // it puts no work on the device
  for (strata::driver_call_record const& call : p.launches) {
    if (!strata::makes_graphs(call.kind)) continue;
    bool const begins = call.kind == api_kind::begin_capture;
    CHECK(call.end >= call.begin);
    CHECK(call.step < 4);
    CHECK(call.only_captured() == begins);
    bool const captures = begins || call.kind == api_kind::end_capture;
    CHECK(p.names[p.nodes[call.node].name] == (captures ? "capture" : "make"));
  }
  // Only in the steps that are recorded, and only if kernels are traced.
  CHECK(calls_of(run("every=4,active=1"), api_kind::graph_change) == 2);
  CHECK(calls_of(run("trace=copies"), api_kind::instantiate) == 0);
}

TEST_CASE("calls that fail to change, instantiate or capture a graph are recorded") {
  traced s;
  constexpr int invalid_value = 1;
  fake_graph_t const graph = capture();
  fake_graph_t const executable = fake_graph_clone(graph);
  CHECK(fake_graph_update(executable, fake_graph_create()) != 0);  // it has no nodes
  fake_fail_next_call(invalid_value);
  (void)fake_graph_clone(graph);
  fake_end_capture_elsewhere(9);
  fake_fail_next_call(invalid_value);
  (void)fake_begin_capture(9);
  profile const& p = fake::whole(s);
  CHECK(calls_of(p, api_kind::graph_change) == 1);
  CHECK(calls_of(p, api_kind::instantiate) == 2);
  CHECK(calls_of(p, api_kind::begin_capture) == 1);  // one that failed captures nothing
  CHECK(calls_of(p, api_kind::end_capture) == 2);
}

TEST_CASE("a graph of a clone of a clone") {
  traced s;
  fake_graph_t const executable = fake_graph_clone(fake_graph_clone(capture()));
  decode(executable);
  profile const& p = fake::whole(s);
  CHECK(row(p, "decode").self.kernels == 5);
  CHECK(row(p, "capture/attention").self.graph_kernels == 3);
  CHECK(row(p, "capture/mlp").self.graph_kernels == 2);
}

TEST_CASE("a graph made of nodes one by one") {
  traced s;
  fake_graph_t graph = 0;
  fake_kernel kernel;
  {
    STRATA_RANGE("build");
    graph = fake_graph_create();
    (void)fake_graph_create_node(graph, &kernel);
    (void)fake_graph_create_node(graph, &kernel);
  }
  fake_graph_t const executable = fake_graph_clone(graph);
  {
    STRATA_RANGE("run");
    (void)fake_graph_launch(executable, 11);
  }
  profile const& p = fake::whole(s);
  CHECK(row(p, "run").self.kernels == 2);
  CHECK(row(p, "build").self.graph_kernels == 2);
  CHECK(row(p, "build").self.launches == 0);
}

TEST_CASE(
    "an updated executable runs what was captured last, its earlier launches what was before") {
  traced s;
  fake_graph_t const first = capture();
  fake_graph_t const executable = fake_graph_clone(first);
  decode(executable);
  {
    STRATA_RANGE("second");
    (void)fake_graph_update(executable, capture());
  }
  decode(executable);
  decode(executable);
  (void)fake_graph_update(executable, first);
  decode(executable);
  profile const& p = fake::whole(s);
  CHECK(row(p, "decode").self.kernels == 20);
  CHECK(row(p, "capture/attention").self.graph_kernels == 6);
  CHECK(row(p, "capture/mlp").self.graph_kernels == 4);
  CHECK(row(p, "second/capture/attention").self.graph_kernels == 6);
  CHECK(row(p, "second/capture/mlp").self.graph_kernels == 4);
}

TEST_CASE(
    "a node that gets another kernel is recorded with it, in the range that captured the node") {
  for (int const tells : {0, 1}) {
    CAPTURE(tells);
    traced s;
    fake_graph_t const executable = fake_graph_clone(capture());
    decode(executable);
    {
      STRATA_RANGE("tune");
      fake_kernel kernel;
      kernel.name = "gemm_tuned";
      kernel.grid[0] = 77;
      (void)fake_graph_set_kernel(executable, 0, &kernel, tells);
      (void)fake_graph_enable(executable, 4, 0);
    }
    decode(executable);
    profile const& p = fake::whole(s);
    REQUIRE(p.kernels.size() == 5 + 4);
    std::size_t tuned = 0;
    for (strata::kernel_record const& k : p.kernels) {
      if (p.kernel_names[k.name - 1].mangled != "gemm_tuned") continue;
      ++tuned;
      CHECK(k.grid_x == 77);
    }
    CHECK(tuned == 1);
    CHECK(row(p, "capture/attention").self.graph_kernels == 6);
    CHECK(row(p, "capture/mlp").self.graph_kernels == 3);
    CHECK(row(p, "tune").total.graph_kernels == 0);
    CHECK(row(p, "tune").self.launches == 0);
  }
}

TEST_CASE("an executable that is updated from a graph of before the session is nobody's again") {
  fake_cuda_reset();
  fake_graph_t const before = capture();
  fake_graph_t const executable = fake_graph_clone(before);
  traced s;
  (void)fake_graph_update(executable, capture());
  (void)fake_graph_update(executable, before);
  decode(executable);
  profile const& p = fake::whole(s);
  CHECK(row(p, "decode").self.kernels == 5);
  CHECK(row(p, "").total.graph_kernels == 0);
  CHECK(row(p, "capture").total.graph_kernels == 0);
}

TEST_CASE("an executable from before the session, updated within it") {
  fake_cuda_reset();
  fake_graph_t const executable = fake_graph_clone(capture());
  traced s;
  (void)fake_graph_update(executable, capture());
  decode(executable);
  profile const& p = fake::whole(s);
  CHECK(row(p, "capture/attention").self.graph_kernels == 3);
}

TEST_CASE("a graph captured in one session and launched in the next") {
  fake_graph_t executable = 0;
  {
    traced first;
    executable = fake_graph_clone(capture());
    first.stop();
  }
  traced s;
  decode(executable);
  profile const& p = fake::whole(s);
  CHECK(row(p, "decode").self.kernels == 5);
  CHECK(row(p, "capture/attention").self.graph_kernels == 3);
}

TEST_CASE("work beside a capture is work") {
  traced s;
  (void)fake_begin_capture(stream);
  {
    STRATA_RANGE("beside");
    launch("kernel", 11);
    launch("captured", stream);
  }
  fake_graph_t const graph = fake_end_capture(stream);
  CHECK(graph != 0);
  profile const& p = fake::whole(s);
  CHECK(p.kernels.size() == 1);
  CHECK(row(p, "beside").self.kernels == 1);
  for (strata::driver_call_record const& l : p.launches)
    if (strata::is_work(l.kind))
      CHECK((l.flags == 0) == (l.correlation == p.kernels[0].correlation));
}

TEST_CASE("while a stream captures nothing waits, and the records come at a later step") {
  traced s("active=1");
  for (int step = 0; step < 5; ++step) {
    STRATA_STEP();
    STRATA_RANGE("work");
    launch("kernel", 11);
    if (step == 0) (void)fake_begin_capture(stream);
    if (step == 1) {
      (void)fake_end_capture(21);  // of a capture that was begun before all this
      launch("captured", stream);
    }
    CHECK(fake_synchronize_count() == (step == 4 ? 1u : 0u));
    if (step == 3) CHECK(fake_end_capture(stream) != 0);
  }
  CHECK(fake_capture_broken() == 0);
  CHECK(fake_synchronize_count() == 1);
  fake::check_tracing(false);
  profile const& p = fake::whole(s);
  // Only step 0 was to be recorded, however late its records came.
  CHECK(p.kernels.size() == 1);
  CHECK(row(p, "work").self.kernels == 1);
  CHECK(row(p, "work").host.count() == 1);
}

TEST_CASE("a capture that its thread did not end continues") {
  traced s("active=1");
  (void)fake_begin_capture(stream);
  {
    STRATA_STEP();
    launch("kernel", 11);
    std::thread([] { fake_end_capture_elsewhere(stream); }).join();
  }
  CHECK(fake_capture_broken() == 0);
  CHECK(fake_end_capture(stream) != 0);
  fake::nothing_lost(s.profile());
}

TEST_CASE("a capture that did not begin forbids nothing") {
  traced s("active=1");
  {
    STRATA_STEP();
    fake_fail_next_call(1);
    (void)fake_begin_capture(stream);
    launch("kernel", 11);
  }
  CHECK(fake_synchronize_count() == 1);
  fake::nothing_lost(s.profile());
}

TEST_CASE("a ruined capture is over when it ends") {
  traced s("active=1");
  {
    STRATA_STEP();
    (void)fake_begin_capture(stream);
    (void)strata::detail::driver_library::get().api.context_synchronize();  // the program's mistake
    CHECK(fake_capture_broken() == 1);
    CHECK(fake_end_capture(stream) == 0);
    launch("kernel", 11);
  }
  CHECK(fake_synchronize_count() == 1);
  fake::nothing_lost(s.profile());
}

TEST_CASE("captures that began before anybody watched are seen on the legacy stream") {
  traced s("active=1");
  SUBCASE("of the stream itself") { fake_mark_capture(7, 1); }
  SUBCASE("of a stream that blocks it") { fake_set_implicit_capture(1); }
  for (int step = 0; step < 3; ++step) {
    STRATA_STEP();
    launch("kernel", 11);
    if (step == 1) {
      CHECK(fake_synchronize_count() == 0);
      fake_mark_capture(7, 0);
      fake_set_implicit_capture(0);
    }
  }
  CHECK(fake_synchronize_count() == 1);
  CHECK(fake_capture_broken() == 0);
  profile const& p = fake::whole(s);
  CHECK(p.kernels.size() == 1);
}

TEST_CASE("many captures at a time") {
  traced s("active=1");
  {
    STRATA_STEP();
    launch("kernel", 7);
    for (std::uint32_t i = 0; i < 600; ++i) (void)fake_begin_capture(1000 + i);
  }
  for (std::uint32_t i = 0; i < 600; ++i) {
    CHECK(fake_synchronize_count() == 0);
    CHECK(fake_end_capture(1000 + (i * 7) % 600) != 0);
    STRATA_STEP();
  }
  CHECK(fake_synchronize_count() == 1);
  CHECK(fake_capture_broken() == 0);
  fake::nothing_lost(s.profile());
}

TEST_CASE("sync=1 does not wait within a capture") {
  traced s("sync=1");
  {
    STRATA_RANGE("plain");
    launch("kernel", 11);
  }
  std::size_t const before = fake_synchronize_count();
  CHECK(before == 1);
  fake_graph_t const graph = capture();
  CHECK(graph != 0);
  CHECK(fake_capture_broken() == 0);
  fake::nothing_lost(s.profile());
}

TEST_CASE("the body of a conditional node counts as often as it ran, for who launched it") {
  traced s;
  fake_graph_t const executable = fake_graph_clone(capture());
  fake_kernel body;
  body.name = "body";
  fake_graph_set_body(executable, &body, 7);
  decode(executable);
  profile const& p = fake::whole(s);
  CHECK(row(p, "decode").self.kernels == 5 + 7);
  CHECK(row(p, "capture").total.graph_kernels == 5);  // who made the body is not known
  CHECK(row(p, "").total.kernels == 5 + 7);
}

TEST_CASE("bodies of conditional nodes follow their own graph's launches") {
  traced s;
  fake_graph_t const other = fake_graph_clone(capture());
  fake_kernel body;
  body.name = "body";
  fake_graph_t const bare = fake_graph_clone(fake_graph_create());  // but for its body
  fake_graph_set_body(bare, &body, 3);
  fake_graph_t const mixed = fake_graph_clone(capture());
  fake_graph_set_body(mixed, &body, 2);
  // A graph without kernels of its own is known by the last launch before its body ran.
  auto const launch = [](fake_graph_t graph) {
    (void)fake_graph_launch(graph, stream);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // longer than its kernels
  };
  for (int i = 0; i < 4; ++i) {
    STRATA_STEP();
    {
      STRATA_RANGE("bare");
      launch(bare);
    }
    {
      STRATA_RANGE("other");
      launch(other);
    }
    {
      STRATA_RANGE("bare again");
      launch(bare);
    }
    STRATA_RANGE("mixed");
    launch(mixed);
  }
  profile const& p = fake::whole(s);
  CHECK(row(p, "bare").self.kernels == 4 * 3);
  CHECK(row(p, "other").self.kernels == 4 * 5);
  CHECK(row(p, "bare again").self.kernels == 4 * 3);
  CHECK(row(p, "mixed").self.kernels == 4 * (5 + 2));
}

TEST_CASE("bodies of launches in warm-up steps are left out with them") {
  traced s("warmup=1,active=1");
  fake_kernel body;
  fake_graph_t const bare = fake_graph_clone(fake_graph_create());
  fake_graph_set_body(bare, &body, 3);
  for (int i = 0; i < 2; ++i) {
    STRATA_STEP();
    STRATA_RANGE("bare");
    (void)fake_graph_launch(bare, stream);
  }
  profile const& p = s.profile();
  CHECK(p.losses.uncorrelated == 0);
  CHECK(row(p, "bare").self.kernels == 3);
}

TEST_CASE("bodies of launches in later warm-up steps are left out with them too") {
  traced s("warmup=1,active=1,repeat=2");
  fake_kernel body;
  body.name = "body";
  fake_graph_t const mixed = fake_graph_clone(capture());
  fake_graph_set_body(mixed, &body, 2);
  for (int i = 0; i < 4; ++i) {
    STRATA_STEP();
    STRATA_RANGE("mixed");
    (void)fake_graph_launch(mixed, stream);
  }
  profile const& p = s.profile();
  CHECK(p.losses.uncorrelated == 0);
  CHECK(row(p, "mixed").self.kernels == 2 * (5 + 2));
}

TEST_CASE("what the device itself launches is nobody's, and counted") {
  traced s;
  fake_graph_t const executable = fake_graph_clone(capture());
  {
    STRATA_RANGE("waits");
    fake_graph_device_launch(executable, stream);
  }
  profile const& p = s.profile();
  CHECK(p.kernels.size() == 5);
  CHECK(p.losses.uncorrelated == 5);
  CHECK(row(p, "waits").total.kernels == 0);
  CHECK(row(p, "").self.kernels == 5);
  CHECK(row(p, "capture").total.graph_kernels == 5);
}

TEST_CASE("graphs that the device can launch are named, since CUPTI has no record of it") {
  fake_graph_t const captured = capture();
  for (int const in_structure : {0, 1}) {
    CAPTURE(in_structure);
    std::string const words = " that the device can launch (DeviceLaunch): CUPTI has no record";
    {
      traced s;
      (void)fake_graph_instantiate(captured, 1, in_structure);  // frees on launch
      CHECK_FALSE(fake::has_problem(s.profile(), words));
    }
    {
      traced s("counters=hbm");
      (void)fake_graph_instantiate(captured, 4, in_structure);
      CHECK(fake::has_problem(s.profile(), words));
    }
    traced s;
    (void)fake_graph_instantiate(captured, 4 | 1, in_structure);
    (void)fake_graph_instantiate(captured, 4, in_structure);
    profile const& p = s.profile();
    CHECK(fake::has_problem(p, "the program made 2 CUDA graphs" + words));
  }
}

namespace {
std::atomic<bool> call_begins{false};
std::atomic<bool> call_may_go_on{false};
}  // namespace

TEST_CASE("a graph call under way when a counting session ends is not waited for ever after") {
  fake_graph_t const graph = fake_graph_create();
  std::thread other;
  call_begins = call_may_go_on = false;
  {
    traced s("counters=hbm");
    REQUIRE(fake_callback_enabled("cuGraphDestroy") != 0);
    fake_set_callback_hook([] {
      call_begins = true;
      test::await([] { return call_may_go_on.load(); });
    });
    other = std::thread([graph] { fake_graph_destroy(graph); });
    test::await([] { return call_begins.load(); });
    s.stop();
    CHECK(fake_callback_enabled("cuGraphDestroy") == 0);
  }
  call_may_go_on = true;
  other.join();
  SUBCASE("the next session traces") {
    traced s;
    strata::detail::capture_guard::exclusive const alone(0);
    CHECK(static_cast<bool>(alone));
  }
  SUBCASE("the next session counts") {
    traced s("counters=hbm");
    strata::detail::capture_guard::exclusive const alone(0);
    CHECK(static_cast<bool>(alone));
  }
}

}  // namespace graph_test
