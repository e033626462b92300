// Rows that stand for many ranges are neither judged nor named as one range; and what was lost
// bounds what findings and the headline say.
#include <doctest/doctest.h>

#include <cstdint>
#include <string>

#include "finding_sample.hpp"

namespace merged_ranges_test {

using namespace strata;
using finding_test::answer;
using finding_test::program;
using finding_test::us;

namespace {

constexpr char const* names[] = {"[deeper]", "[other names]", "[other ranges]"};

/// A program that does all that rules of ranges look for, in one range of that name: kernels of few
/// blocks, one by one, waits, allocations, pageable copies, work on the CPU, calls that vary.
program with_faults(char const* name) {
  program p;
  std::uint32_t const where = p.node(0, name);
  int turn = 0;
  p.run(20, [&] {
    for (int i = 0; i < 10; ++i) {
      p.in(where, [&](std::uint32_t at) {
        p.kernel_of(at, 40 * us, 4);
        p.wait(at);
        p.api(at, 20 * us, api_kind::allocate);
        p.copy_of(at, copy_kind::host_to_device, 50 * us, true);
        p.now += (turn++ % 10 == 0 ? 900 : 60) * us;
      });
    }
  });
  return p;
}
bool names_range(finding const& found, char const* name) {
  for (finding_range const& range : found.ranges)
    if (range.path.find(name) != std::string::npos) return true;
  return found.path.find(name) != std::string::npos;
}

}  // namespace

TEST_CASE("no rule judges a row that stands for many ranges") {
  answer const usual(with_faults("usual").made);
  INFO(usual.all());
  std::size_t judged = 0;
  for (finding const& found : usual.findings()) judged += names_range(found, "usual") ? 1 : 0;
  CHECK(judged >= 4);
  CHECK(usual.input.findings.bound.find("many ranges") == std::string::npos);
  for (char const* const name : names) {
    CAPTURE(name);
    answer const many(with_faults(name).made);
    INFO(many.all());
    for (finding const& found : many.findings()) CHECK_FALSE(names_range(found, name));
    finding const* const merged = many.find("merged-ranges");
    REQUIRE(merged != nullptr);
    CHECK(merged->title.find(name) != std::string::npos);
    CHECK(merged->cost_ns_per_step == 0.0);
    CHECK(many.input.findings.bound.find("The longest range") == std::string::npos);
  }
}

TEST_CASE("what lies below such a row is in many ranges too") {
  program p;
  std::uint32_t const below = p.node(p.node(0, "[other names]"), "inner");
  p.run(8, [&] {
    p.in(below, [&](std::uint32_t at) { p.kernel_of(at, 1000 * us, 4); });
    p.wait();
  });
  answer const a(p.made);
  INFO(a.all());
  CHECK(a.find("few-blocks") == nullptr);
  CHECK(a.find("merged-ranges") != nullptr);
}

TEST_CASE("counted rules leave out such rows, and the headline names the longest range") {
  for (bool const many : {false, true}) {
    CAPTURE(many);
    program p;
    std::uint32_t const where = p.node(0, many ? "[other ranges]" : "layer");
    p.run(8, [&] {
      p.in(where, [&](std::uint32_t at) { p.kernel_of(at, 1100 * us, 10000); });
      p.in(p.mlp, [&](std::uint32_t at) { p.kernel_of(at, 1000 * us, 10000); });
      p.wait();
    });
    for (std::uint32_t const at : {where, p.mlp}) {
      p.count_nothing(at);
      p.set(at, "lts__t_sectors_op_atom.sum", 3e6);
    }
    answer const a(p.made);
    INFO(a.all());
    finding const* const atomics = a.find("atomics");
    REQUIRE(atomics != nullptr);
    CHECK(atomics->path == (many ? "mlp" : "layer"));
    std::string const& bound = a.input.findings.bound;
    CAPTURE(bound);
    CHECK((bound.find("The longest range is mlp") != std::string::npos) == many);
    CHECK(
        (bound.find("of the step is in rows that stand for many ranges (such as [other ranges])") !=
         std::string::npos) == many);
  }
}

TEST_CASE("host times: such a row does not take the longest") {
  program p;
  p.made.traced = false;
  std::uint32_t const many = p.node(0, "[deeper]");
  p.run(20, [&] {
    p.in(p.mlp, [&](std::uint32_t) { p.now += 300 * us; });
    p.in(many, [&](std::uint32_t) { p.now += (p.step % 10 == 0 ? 4000 : 200) * us; });
  });
  answer const a(p.made);
  INFO(a.all());
  CHECK(a.find("varying-calls") == nullptr);
  REQUIRE(a.find("merged-ranges") != nullptr);
  CHECK(a.find("merged-ranges")->advice.find("each push has its pop") != std::string::npos);
  CHECK(a.input.findings.bound.find("[deeper] takes") == std::string::npos);
}

TEST_CASE("calls of all indices without a row of their own do not vary, they differ") {
  program p;
  p.made.traced = false;
  std::uint32_t const any = p.node(0, "block", any_index);
  p.run(20, [&] {
    for (int i = 0; i < 4; ++i)
      p.in(any, [&](std::uint32_t) { p.now += (i == 3 ? 4000 : 100) * us; });
  });
  CHECK(answer(p.made).find("varying-calls") == nullptr);
}

/// The GPU computes for 60 % of the step, and waits for the CPU for the rest.
program waiting_gpu() {
  program p;
  p.run(8, [&] {
    for (int i = 0; i < 10; ++i)
      p.in(p.attention, [&](std::uint32_t at) {
        p.kernel_of(at, 150 * us);
        p.wait(at);
        p.now += 100 * us;
      });
  });
  return p;
}

TEST_CASE("idle time that lost work may have filled accuses nobody") {
  program const p = waiting_gpu();
  answer const whole(p.made);
  INFO(whole.all());
  REQUIRE(whole.find("host-work") != nullptr);
  double const cost = whole.find("host-work")->cost_ns_per_step;
  for (char const* const key : {"activity_dropped", "work_unfinished", "unrecorded"}) {
    CAPTURE(key);
    program lossy = p;
    for (loss_kind const& kind : loss_kinds)
      if (kind.key == key) lossy.made.losses.*kind.count = 80;  // as many as there are
    answer const a(lossy.made);
    INFO(a.all());
    CHECK(a.find("host-work") == nullptr);
    REQUIRE(a.find("untrusted") != nullptr);
    CHECK(a.find("untrusted")->title.find("GPU times of ranges are too small") !=
          std::string::npos);
    CHECK(a.find("untrusted")->advice.find("raise buffers=") == 0);
    CHECK(a.input.findings.bound.find("What bounds the step is not known: the GPU is busy") == 0);
  }
  // Half of the times lost: what stays idle costs no more than it does.
  program half = p;
  for (std::size_t i = 0; i < 40; ++i)
    half.made.kernels[i].begin = half.made.kernels[i].end = lost_time;
  half.made.losses.timestamps_lost = 40;
  answer const seen(half.made);
  INFO(seen.all());
  if (finding const* const found = seen.find("host-work"))
    CHECK(found->cost_ns_per_step <= 1.05 * cost);
  REQUIRE(seen.find("untrusted") != nullptr);
  CHECK(seen.find("untrusted")->advice.find("look for a CUDA error first") == 0);
  // A few of them change nothing.
  program few = p;
  few.made.losses.activity_dropped = 1;
  answer const a(few.made);
  REQUIRE(a.find("host-work") != nullptr);
  CHECK(a.find("host-work")->cost_ns_per_step == doctest::Approx(cost).epsilon(0.05));
  CHECK(a.input.findings.bound.find("is not known") == std::string::npos);
}

TEST_CASE("calls of ranges that were lost are said") {
  program p = finding_test::one_kernel();
  p.made.losses.ranges_ended_elsewhere = 5;
  answer const a(p.made);
  REQUIRE(a.find("untrusted") != nullptr);
  CHECK(a.find("untrusted")->title.find("host times of ranges are too small") != std::string::npos);
}

}  // namespace merged_ranges_test
