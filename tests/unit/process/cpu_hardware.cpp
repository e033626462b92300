// A loop whose instructions are known.
#include "cpu_counting.hpp"

#include <cmath>

#if (defined(__x86_64__) || defined(__aarch64__)) && defined(__GNUC__)

using namespace strata;
using cpu_counting::counted;

int main(int argc, char** argv) { return cpu_counting::run_tests("cpu_instructions", argc, argv); }

namespace {

/// Two instructions a turn, one of them a branch.
__attribute__((noinline)) void turn(unsigned long turns) {
#if defined(__x86_64__)
  asm volatile(
      "1: dec %0\n\t"
      "jnz 1b"
      : "+r"(turns)
      :
      : "cc");
#else
  asm volatile(
      "1: subs %0, %0, #1\n\t"
      "b.ne 1b"
      : "+r"(turns)
      :
      : "cc");
#endif
}

constexpr double million = 1e6;

bool within(double value, double of) { return std::fabs(value - of) <= 0.01 * of; }

}  // namespace

TEST_CASE("a known loop has the instructions that it has, within 1 %") {
  counted const made("cpu_instructions+cpu_cycles+cpu_ipc+cpu_branches", [] {
    STRATA_RANGE("outer");
    turn(10'000'000);
    for (int i = 0; i < 3; ++i) {
      STRATA_RANGE("inner");
      turn(20'000'000);
    }
  });
  CHECK(within(made.value("outer", "cpu_instructions"), 20 * million));
  CHECK(within(made.value("outer/inner", "cpu_instructions"), 120 * million));
  CHECK(within(made.value("outer", "cpu_instructions", counter_scope::total), 140 * million));
  double const branches = made.value("outer/inner", "cpu_branches");
  if (!std::isnan(branches)) CHECK(within(branches, 60 * million));
  double const ratio = made.value("outer/inner", "cpu_ipc");
  if (!std::isnan(ratio)) CHECK(ratio > 0.1);
  std::printf("20,000,000 turns three times: %.0f instructions, %.2f a cycle\n",
              made.value("outer/inner", "cpu_instructions"), ratio);
}

TEST_CASE("all counters at once") {
  counted const made("cpu", [] {
    STRATA_RANGE("loop");
    turn(100'000'000);
  });
  double const count = made.value("loop", "cpu_instructions");
  CHECK(within(count, 200 * million));
  for (std::string const& each : made.data().problems) std::printf("%s\n", each.c_str());
  std::printf(
      "100,000,000 turns: %.0f instructions, L1D loads %.0f, misses %.0f; one reading %.0f ns\n",
      count, made.value("loop", "cpu_l1d_loads"), made.value("loop", "cpu_llc_misses"),
      made.data().cost.counter_read_ns);
}

#else

int main() {
  std::puts("SKIPPED: the loop is written for x86-64 and arm64");
  return 77;
}

#endif
