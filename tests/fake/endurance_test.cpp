// Runs without end: right sums and the same memory after ten million kernels, windows by the
// ten thousand, graphs that are captured anew in each step.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <strata/collect/cuda/activity_buffers.hpp>
#include <string>
#include <thread>

#include "../sanitizers.hpp"
#include "../work_folder.hpp"
#include "fake_session.hpp"

namespace endurance_test {

using fake::launch;
using fake::row;
using fake::traced;
using strata::profile;

namespace {

#if defined(__OPTIMIZE__)
constexpr std::int64_t most_steps = 100'000;
constexpr std::uint64_t captures = 1'500;
#else  // tests/run.sh --quick: past the limit of memory, but not past that of graph nodes
constexpr std::int64_t most_steps = 10'000;
constexpr std::uint64_t captures = 300;
#endif

/// What is resident, "VmRSS:", or was at most, "VmHWM:". Units: MB.
std::int64_t memory_mb(char const* what) {
  std::ifstream status("/proc/self/status");
  std::int64_t kilobytes = 0;
  for (std::string word; status >> word;)
    if (word == what) status >> kilobytes;
  return kilobytes >> 10;
}

}  // namespace

TEST_CASE("ten million kernels, or one, at small limits: memory is flat and the sums are whole") {
  constexpr std::int64_t steps = test::sanitized ? 2'000 : most_steps;
  constexpr std::int64_t each = 50;  // kernels of 3 ns in one range, of 5 ns in the other
  constexpr std::int64_t limit_mb = 16 + 16;
  traced s("log=16,buffers=16");
  fake_set_auto_delivery(2'000);
  std::int64_t const before = memory_mb("VmRSS:");
  for (std::int64_t step = 0; step < steps; ++step) {
    STRATA_STEP();
    {
      STRATA_RANGE("short", strata::flops(60.0));
      for (int i = 0; i < each; ++i) launch("short", 7, 3);
    }
    {
      STRATA_RANGE("long");
      for (int i = 0; i < each; ++i) launch("long", 7, 5);
    }
    // The stand-in's own copies of records would need the memory while its thread has no turn.
    while (fake_pending() > 20'000) std::this_thread::yield();
  }
  s.stop();
  profile const& p = s.profile();
  if (!test::sanitized) CHECK(memory_mb("VmHWM:") - before < limit_mb + 64);
  CHECK(p.losses.activity_dropped == 0);
  CHECK(p.losses.launches_dropped == 0);
  CHECK(p.losses.uncorrelated == 0);
  if (!test::sanitized) CHECK(p.losses.activity_summed > 0);
  std::int64_t const expected = steps * each;
  strata::range_row const few = row(p, "short");
  CHECK(few.host.count() == static_cast<std::uint64_t>(steps));
  CHECK(few.self.kernels == static_cast<std::uint64_t>(expected));
  CHECK(few.self.launches == static_cast<std::uint64_t>(expected));
  CHECK(few.self.kernel_ns == 3 * expected);
  strata::range_row const more = row(p, "long");
  CHECK(more.self.kernels == static_cast<std::uint64_t>(expected));
  CHECK(more.self.kernel_ns == 5 * expected);
  CHECK(fake_misuse_count() == 0);
}

TEST_CASE("32,000 windows: each has its own work, and none has another's") {
  constexpr std::uint64_t windows = test::sanitized ? 2'000 : 32'000;
  traced s("skip=1,active=1,repeat=0");
  for (std::uint64_t step = 0; step < 2 * windows; ++step) {
    STRATA_STEP();
    STRATA_RANGE("work");
    launch(step % 2 == 0 ? "between" : "within", 7, 1);
  }
  s.stop();
  profile const& p = fake::whole(s);
  CHECK(fake_synchronize_count() == windows + 1);  // at the end too
  CHECK(p.steps.size() == windows);
  CHECK(p.kernels.size() == windows);
  std::uint64_t wrong = 0;
  for (strata::kernel_record const& k : p.kernels)
    wrong += p.kernel_names[k.name - 1].mangled != "within" ? 1 : 0;
  CHECK(wrong == 0);
  CHECK(row(p, "work").host.count() == windows);
  CHECK(row(p, "work").self.kernels == windows);
}

TEST_CASE("1,500 re-captures, or 300: every kernel is of the range that captured it") {
  constexpr std::uint64_t times = captures;
  constexpr std::uint32_t stream = 9;
  constexpr int kernels = 400;  // with their copies 1.2 million nodes; 2^20 are known at a time
  traced s;
  fake_set_auto_delivery(2'000);
  std::uint64_t broken = 0;
  for (std::uint64_t i = 0; i < times; ++i) {
    STRATA_STEP();
    fake_graph_t captured = 0;
    {
      STRATA_RANGE("capture", i % 3);
      (void)fake_begin_capture(stream);
      for (int k = 0; k < kernels; ++k) launch("node", stream, 1);
      captured = fake_end_capture(stream);
      broken += captured == 0 ? 1 : 0;
    }
    STRATA_RANGE("decode");
    fake_graph_t const executable = fake_graph_clone(captured);
    (void)fake_graph_launch(executable, stream);
    fake_graph_destroy(executable);
    fake_graph_destroy(captured);
  }
  s.stop();
  profile const& p = s.profile();
  CHECK(broken == 0);
  fake::nothing_lost(p);
  CHECK(p.losses.graph_nodes_refused == 0);
  CHECK(row(p, "decode").self.kernels == times * kernels);
  for (char const* const path : {"capture[0]", "capture[1]", "capture[2]"}) {
    CAPTURE(std::string(path));
    CHECK(row(p, path).self.graph_kernels == times / 3 * kernels);
  }
}

TEST_CASE("graphs captured anew between windows leave nothing behind") {
  constexpr std::uint32_t stream = 9;
  strata::detail::graph_captures const& known =
      strata::detail::activity_buffers::instance().captures();
  traced s("every=10,active=1,keep=1");
  std::size_t const before = known.size();
  std::size_t most = 0;
  for (int step = 0; step < 1'000; ++step) {
    STRATA_STEP();
    STRATA_RANGE("decode");
    (void)fake_begin_capture(stream);
    for (int k = 0; k < 100; ++k) launch("node", stream, 1);
    fake_graph_t const captured = fake_end_capture(stream);
    fake_graph_t const executable = fake_graph_clone(captured);
    (void)fake_graph_launch(executable, stream);
    fake_graph_destroy(executable);
    fake_graph_destroy(captured);
    most = std::max(most, known.size() - before);
  }
  CHECK(most == 200);  // those of the open window's step
  CHECK(known.size() == before);
}

TEST_CASE("decode beside windows with reports: memory is flat") {
  // STRATA_TEST_STEPS: 180,000 are an hour of steps of 20 ms, with 1,800 windows.
  char const* const wanted = std::getenv("STRATA_TEST_STEPS");
  int const steps = wanted != nullptr ? std::atoi(wanted) : test::sanitized ? 2'000 : 6'000;
  constexpr std::uint32_t stream = 9;
  test::work_folder const folder;
  strata::session s(
      fake::configure("trace,every=100,warmup=1,active=2,keep=2,drain=60000,log=16,"
                      "buffers=16,formats=csv+json,out=" +
                      folder / "out"));
  fake::unscript();
  fake_set_auto_delivery(2'000);
  REQUIRE(s.start().ok());
  std::int64_t early = 0;
  for (int step = 0; step < steps; ++step) {
    STRATA_STEP();
    STRATA_RANGE("decode", step % 50);
    std::string const name = "request " + std::to_string(step % 1000);  // as a server's are
    STRATA_RANGE(name);
    auto const address = 0x7000'0000'0000u + 512u * static_cast<std::uint64_t>(step);
    (void)fake_malloc(address, 512, 3, 1);
    if (step % 10 == 0) {
      (void)fake_begin_capture(stream);
      for (int k = 0; k < 20; ++k) launch("node", stream, 1);
      fake_graph_t const captured = fake_end_capture(stream);
      fake_graph_t const executable = fake_graph_clone(captured);
      (void)fake_graph_launch(executable, stream);
      fake_graph_destroy(executable);
      fake_graph_destroy(captured);
    }
    for (int k = 0; k < 5; ++k) launch("kernel", 7, 1000);
    (void)fake_free(address, 512, 3, 1);
    if (step == steps / 3) early = memory_mb("VmRSS:");
    if (wanted != nullptr && step % (steps / 10) == 0)
      std::printf("%d steps: %d MB\n", step, static_cast<int>(memory_mb("VmRSS:")));
  }
  std::int64_t const late = memory_mb("VmRSS:");
  CAPTURE(early);
  CAPTURE(late);
  if (!test::sanitized) CHECK(late - early <= 3);
  s.stop();
  CHECK(fake_misuse_count() == 0);
}

}  // namespace endurance_test
