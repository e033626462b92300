// The declared work of a step, compared with the peaks of the GPUs.
#include "analyse/declared_use.hpp"
#include <doctest/doctest.h>

#include <cstdint>

#include "finding_sample.hpp"

namespace declared_use_test {

using namespace strata;
using namespace finding_test;

namespace {

/// Steps of 1 ms in `attention` and 250 us in `mlp`, and what is behind their last kernel.
program two_ranges() {
  program p;
  p.run(8, [&] {
    p.in(p.attention, [&](std::uint32_t row) { p.kernel_of(row, 1000 * us); });
    p.in(p.mlp, [&](std::uint32_t row) { p.kernel_of(row, 250 * us); });
    p.wait();
  });
  return p;
}

void declare(program& p, std::uint32_t where, double bytes, double flops) {
  for (range_record& range : p.made.ranges) {
    if (range.node != where) continue;
    attribute_record& to = p.describe(range);
    to.bytes = bytes;
    to.flops = flops;
  }
}

doctest::Approx near_to(double value) { return doctest::Approx(value).epsilon(1e-6); }

}  // namespace

TEST_CASE("declared use: what all ranges declare, by HBM's peak and that of BF16") {
  program p = two_ranges();
  declare(p, p.attention, 1e9, 8e9);
  declare(p, p.mlp, 2e8, 1e9);
  answer const a(p.made);
  declared_use const& use = a.input.declared;
  double const seconds = a.steps().mean_ns * 1e-9;
  CHECK(use.bytes == near_to(1.2e9));
  CHECK(use.flops == near_to(9e9));
  double const hbm = a.input.roofline.limit_of("HBM");
  double const bf16 = a.input.roofline.limit_of("BF16 tensor");
  CHECK(hbm == doctest::Approx(4.81e12).epsilon(0.01));
  CHECK(use.mbu == near_to(1.2e9 / seconds / hbm));
  CHECK(use.mfu == near_to(9e9 / seconds / bf16));
  CHECK(use.text() == "MBU 19.8 % of 4.81 TB/s, MFU 0.7 % of 1071 TFLOP/s (BF16, 1980 MHz)");
}

TEST_CASE("declared use: the peaks of a device are the same whatever clocks a run counted at") {
  program p = two_ranges();
  declare(p, p.attention, 1e9, 8e9);
  declared_use const plain = answer(p.made).input.declared;
  for (std::uint32_t const row : {p.attention, p.mlp}) p.count_nothing(row);  // 989 TFLOP/s
  answer const counted(p.made);
  REQUIRE(counted.input.roofline.limit_of("BF16 tensor") < 0.95 * plain.flops_per_s);
  CHECK(counted.input.declared.flops_per_s == plain.flops_per_s);
  CHECK(counted.input.declared.bytes_per_s == plain.bytes_per_s);
  CHECK(counted.input.declared.text() == plain.text());
}

TEST_CASE("declared use: a range counts for those below it") {
  program p = two_ranges();
  std::uint32_t const below = p.node(p.attention, "below");
  program q = p;
  q.run(8, [&] {
    q.in(q.attention, [&](std::uint32_t row) {
      q.kernel_of(row, 500 * us);
      q.in(below, [&](std::uint32_t inner) { q.kernel_of(inner, 500 * us); });
    });
    q.wait();
  });
  SUBCASE("both declare") {
    declare(q, q.attention, 3e8, 0);
    declare(q, below, 1e8, 0);
    // Eight of 16 steps have the inner range; all have the outer one.
    CHECK(answer(q.made).input.declared.bytes == near_to(3e8));
  }
  SUBCASE("the inner one alone") {
    declare(q, below, 1e8, 0);
    CHECK(answer(q.made).input.declared.bytes == near_to(0.5e8));
  }
}

TEST_CASE("declared use: no part of a peak where ranges without declared work have most time") {
  program p = two_ranges();
  declare(p, p.mlp, 2e8, 1e9);  // a fifth of the GPU's time
  answer const a(p.made);
  CHECK(a.input.declared.bytes == near_to(2e8));
  CHECK_FALSE(detail::is_finite(a.input.declared.mbu));
  CHECK_FALSE(detail::is_finite(a.input.declared.mfu));
  CHECK(a.input.declared.text().empty());
}

TEST_CASE("declared use: of a step as it is without recording, and of all GPUs") {
  program p = two_ranges();
  declare(p, p.attention, 1e9, 0);
  double const recorded = answer(p.made).input.declared.mbu;
  p.made.cost.unrecorded_steps = 5;
  p.made.cost.unrecorded_step_ns = 0.9 * answer(p.made).steps().mean_ns;
  CHECK(answer(p.made).input.declared.mbu == near_to(recorded / 0.9));
  p.made.environment.devices.push_back(p.made.environment.devices[0]);
  p.made.environment.devices.back().ordinal = 1;
  for (kernel_record& kernel : p.made.kernels)
    if (kernel.node == p.mlp) kernel.device = 1;
  CHECK(answer(p.made).input.declared.mbu == near_to(recorded / 0.9 / 2));
}

TEST_CASE("declared use: more than the peak is no part of it") {
  program p = two_ranges();
  declare(p, p.attention, 1e11, 0);
  CHECK_FALSE(detail::is_finite(answer(p.made).input.declared.mbu));
}

TEST_CASE("declared use: a run without steps is no step") {
  program p = two_ranges();
  declare(p, p.attention, 1e9, 0);
  p.made.steps.clear();
  p.made.has_steps = false;
  for (range_record& range : p.made.ranges) range.step = no_step;
  for (driver_call_record& call : p.made.launches) call.step = no_step;
  CHECK(answer(p.made).input.declared.text().empty());
}

}  // namespace declared_use_test
