// The rules that stand for those of Nsight Compute (docs/reference/ncu-rules.md): a fault, and a
// similar kernel without it. One kernel of 1 ms a step; unless a case says more, issue slots are
// used by 25 %, device memory by 20 %, and half of the warps that fit are in flight.
#include <doctest/doctest.h>
#include "analyse/rules.hpp"
#include "analyse/speed_of_light.hpp"
#include "analyse/stalls.hpp"
#include "report/findings.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "finding_sample.hpp"

namespace ncu_rules_test {

using namespace strata;
using namespace finding_test;

namespace {

constexpr double kernel_ns = 1e6;
constexpr double reachable = 0.9;
constexpr double warps = 132 * 1e6 * 32;  // in flight, over the cycles: half of those that fit

constexpr double above(double part) { return kernel_ns * (1.0 - part / reachable); }
doctest::Approx exactly(double ns) { return doctest::Approx(ns).epsilon(1e-6); }

/// Of 1,000,000 instructions of warps so many threads have not left the branch, and so many work.
void threads(program& p, double active, double working) {
  p.set(p.attention, "smsp__sass_inst_executed.sum", 1e6);
  p.set(p.attention, "smsp__sass_thread_inst_executed.sum", active * 1e6);
  p.set(p.attention, "smsp__sass_thread_inst_executed_pred_on.sum", working * 1e6);
}

constexpr char const* integers = "smsp__sass_thread_inst_executed_op_integer_pred_on.sum";
constexpr char const* converting = "smsp__sass_thread_inst_executed_op_conversion_pred_on.sum";
constexpr char const* shared_loads = "smsp__sass_data_bytes_mem_shared_op_ld.sum";

std::string op(char const* name) {
  return std::string("smsp__sass_thread_inst_executed_op_") + name + "_pred_on.sum";
}
std::string stalled(std::string_view name) {
  return "smsp__warps_issue_stalled_" + std::string(name) + ".sum";
}

/// A kernel of which all stalls were counted.
program with_all_stalls() {
  program p = one_kernel();
  counter_set const some = p.counted();
  p.count_only("findings+tensor+stalls");
  for (std::string const& name : p.counted().names)
    if (some.names.index_of(name) == some.names.size()) p.set(p.attention, name, 0);
  return p;
}

}  // namespace

// --- threads that do not work ---

TEST_CASE("divergence: half of the threads of a warp leave half of the issue slots") {
  program p = one_kernel();
  p.use(p.attention, "issue", 0.99);
  threads(p, 16, 16);
  answer(p.made).first_is("divergence", "attention");
  CHECK(cost_of(p.made, "divergence") == exactly(above(0.99 / 2)));
  has(title_of(p.made, "divergence"),
      "16 of 32 threads work in a mean instruction: the threads of a "
      "warp take different branches");
  threads(p, 32, 16);
  has(title_of(p.made, "divergence"), "predicates switch the others off");
}

TEST_CASE("divergence: from 24 threads down, not of tensor cores, nor what memory bounds") {
  program p = one_kernel();
  p.use(p.attention, "issue", 0.9);
  threads(p, 24, 24);
  CHECK(cost_of(p.made, "divergence") > 0.0);
  threads(p, 31, 24.1);
  CHECK(cost_of(p.made, "divergence") == 0.0);
  threads(p, 16, 16);
  p.use(p.attention, "tensor", 0.21);
  CHECK(cost_of(p.made, "divergence") == 0.0);
  p.use(p.attention, "tensor", 0.0);
  p.use(p.attention, "issue", 0.5);
  p.hbm(p.attention, 0.85);
  answer(p.made).is_silent();
}

TEST_CASE("divergence: where no unit is near, its instructions take what is no wait for memory") {
  program p = one_kernel();
  threads(p, 1, 1);
  CHECK(cost_of(p.made, "divergence") == exactly(above(0.2 * 0.9 / 0.8)));  // HBM's part stays
  answer(p.made).first_is("divergence", "attention");
  p.set(p.attention, stalled("long_scoreboard"), 0.8 * warps);
  CHECK(cost_of(p.made, "divergence") == exactly(0.25 / 0.8 * 31 / 32 * kernel_ns));
}

// --- imbalance ---

namespace {

/// SMs have a warp for this part of the time of the busiest one.
program unbalanced(double part, std::uint32_t blocks = 10'560) {  // 10 waves
  program p = one_kernel(blocks);
  p.set(p.attention, "sm__cycles_active.sum", 132 * 1e6 * part);
  p.set(p.attention, "sm__warps_active.sum", 132 * 1e6 * part * 32);
  p.set(p.attention, "sm__cycles_active.max", 1e6);
  return p;
}

/// The busiest slice or channel moves so many times what the mean one does.
program hot(char const* counter, double times) {
  program p = one_kernel();
  p.set(p.attention, std::string(counter) + ".max", times * 1000);
  p.set(p.attention, std::string(counter) + ".avg", 1000);
  return p;
}

}  // namespace

TEST_CASE("sm-imbalance: the SMs that wait for the longest blocks") {
  CHECK(cost_of(unbalanced(0.6).made, "sm-imbalance") == exactly(0.4 * kernel_ns));
  program waiting = unbalanced(0.6);  // what its warps wait for is not why
  waiting.set(waiting.attention, "smsp__warps_issue_stalled_long_scoreboard.sum", 132e6 * 32 * 0.6);
  answer const told(waiting.made);
  INFO(told.input.findings.bound);
  CHECK(told.input.findings.bound.find(" The finding sm-imbalance says why.") != std::string::npos);
  CHECK(told.input.findings.bound.find("most often") == std::string::npos);
  CHECK(cost_of(unbalanced(0.19).made, "sm-imbalance") == exactly(above(0.25)));
  answer(unbalanced(0.19).made).first_is("sm-imbalance", "attention");
  has(title_of(unbalanced(0.19).made, "sm-imbalance"),
      "SMs have work for 19 % of the time of the busiest one: blocks take unequal time; the kernel "
      "is work: 10,560 blocks of "
      "256 threads, 32 registers a thread, room for 8 blocks an SM");
  CHECK(cost_of(unbalanced(0.79).made, "sm-imbalance") > 0.0);
  CHECK(cost_of(unbalanced(0.81).made, "sm-imbalance") == 0.0);
}

TEST_CASE("sm-imbalance: few blocks and a last wave are causes of their own") {
  CHECK(cost_of(unbalanced(0.76, 100).made, "sm-imbalance") == 0.0);   // of 132 SMs
  CHECK(cost_of(unbalanced(0.7, 1'800).made, "sm-imbalance") == 0.0);  // 1.7 waves
  program p = unbalanced(0.5);
  p.hbm(p.attention, 0.7);  // memory is near its limit all the same
  CHECK(cost_of(p.made, "sm-imbalance") == 0.0);
}

TEST_CASE("memory-imbalance: the busiest slice of L2, or channel of HBM, bounds") {
  for (char const* const counter : {"lts__t_sectors", "dram__bytes"}) {
    CAPTURE(counter);
    bool const is_l2 = counter[0] == 'l';
    double const use = is_l2 ? 0.2 * 0.48 : 0.2;  // of the mean one
    double const times = is_l2 ? 8.0 : 4.0;
    program const p = hot(counter, times);
    answer(p.made).first_is("memory-imbalance", "attention");
    double const bound = std::min(1.0, use * times / 0.8);
    CHECK(cost_of(p.made, "memory-imbalance") ==
          exactly(std::min(above(0.25), bound * (1.0 - 1.0 / times) * kernel_ns)));
    CHECK(cost_of(hot(counter, 0.6 / use - 0.1).made, "memory-imbalance") == 0.0);
    for (double const of_mean : {1.4, 1.6}) {  // half again as much is uneven
      if (is_l2) continue;                     // where HBM would be the limit
      program busy = hot(counter, of_mean);
      busy.hbm(busy.attention, 0.5);
      CHECK((cost_of(busy.made, "memory-imbalance") > 0.0) == (of_mean > 1.5));
    }
    program dram = p;
    dram.made.environment.devices[0].memory_bus_bits = 512;  // no HBM
    answer(dram.made).first_is("memory-imbalance", "attention");
  }
}

TEST_CASE("memory-imbalance: one line of L2, which a slice gives a sector a cycle of") {
  // All warps load one line: 68 million sectors of one slice in as many cycles, 1.4 million of the
  // mean one, L2 at 0.7 % (H200).
  program p = one_kernel();
  p.hbm(p.attention, 0.0);
  p.use(p.attention, "issue", 0.02);
  double const sectors = 0.0071 * program::l2_peak / 32 * kernel_ns;
  p.set(p.attention, "lts__t_sectors.sum", sectors);
  p.set(p.attention, "lts__t_bytes.sum", 32 * sectors);
  p.set(p.attention, "lts__t_sectors.avg", sectors / 94);
  for (double const times : {46.8, 10.0}) {
    p.set(p.attention, "lts__t_sectors.max", times * sectors / 94);
    CHECK((cost_of(p.made, "memory-imbalance") > 0.9 * kernel_ns) == (times > 16.0));
  }
}

TEST_CASE("the busiest part of a unit adds up over launches, as the mean one does") {
  CHECK(combine_of("sm__cycles_active.max") == combine_of("sm__cycles_active.sum"));
  CHECK(combine_of("lts__t_sectors.max") == combine_of("lts__t_sectors.avg"));
  CHECK(combine_of("dram__bytes.max") == combine_of("dram__bytes.avg"));
  CHECK(combine_of("sm__cycles_elapsed.max") == metric_combine::maximum);
}

TEST_CASE("host-memory: what a kernel reads over the bus") {
  program p = one_kernel();
  double const bytes_of_link = 16 * 32 / 8.0 * 128 / 130 * kernel_ns;  // of PCIe 5
  p.set(p.attention, "lts__t_sectors_srcunit_tex_aperture_sysmem.sum", 0.5 * bytes_of_link / 32);
  CHECK(cost_of(p.made, "host-memory") == exactly(0.5 / 0.8 * kernel_ns));
  answer(p.made).first_is("host-memory", "attention");
  // A bus that bounds the kernel takes all of its time; device memory has these bytes instead.
  p.hbm(p.attention, 0.01);
  p.use(p.attention, "issue", 0.0);
  p.set(p.attention, "lts__t_sectors_srcunit_tex_aperture_sysmem.sum", 0.82 * bytes_of_link / 32);
  double const of_memory = 0.01 + 0.82 * bytes_of_link / (program::hbm_peak * kernel_ns);
  CHECK(cost_of(p.made, "host-memory") == exactly((1.0 - of_memory / 0.8) * kernel_ns));
  profile grace = p.made;  // whose link is far faster
  grace.environment.devices[0].name = "NVIDIA GH200 480GB";
  CHECK(cost_of(grace, "host-memory") == 0.0);
  // DGX Spark has no other memory: nothing comes over a bus.
  profile_device& device = p.made.environment.devices[0];
  device.compute_capability_major = 12;
  device.compute_capability_minor = 1;
  CHECK(cost_of(p.made, "host-memory") == 0.0);
  device.compute_capability_major = 9;
  device.compute_capability_minor = 0;
  p.set(p.attention, "lts__t_sectors_srcunit_tex_aperture_sysmem.sum", 0.29 * bytes_of_link / 32);
  CHECK(cost_of(p.made, "host-memory") == 0.0);
}

// --- instructions ---

TEST_CASE("conversions: the time of their pipe") {
  program p = one_kernel();
  p.use(p.attention, "xu", 0.9);
  p.set(p.attention, converting, 0.8 * 0.9e6 * 32);
  CHECK(cost_of(p.made, "conversions") == exactly(kernel_ns * (1.0 - 0.2 / 0.8)));
  answer(p.made).first_is("conversions", "attention");
  p.set(p.attention, converting, 0.4 * 0.9e6 * 32);  // most are exp and sin
  answer(p.made).is_silent();
  p.set(p.attention, converting, 0.8 * 0.5e6 * 32);
  p.use(p.attention, "xu", 0.5);  // no limit
  CHECK(cost_of(p.made, "conversions") == 0.0);
}

TEST_CASE("unfused: pairs of additions and multiplications take two turns") {
  for (bool const is_double : {false, true}) {
    CAPTURE(is_double);
    program p = one_kernel();
    p.use(p.attention, is_double ? "fp64" : "fma", 0.9);
    p.use(p.attention, "issue", 0.5);
    threads(p, 32, 32);
    p.set(p.attention, op(is_double ? "dadd" : "fadd"), 14e6);
    p.set(p.attention, op(is_double ? "dmul" : "fmul"), 14e6);
    CHECK(cost_of(p.made, "unfused") == exactly(std::min(0.5 * kernel_ns, above(0.45))));
    answer(p.made).first_is("unfused", "attention");
    p.set(p.attention, op(is_double ? "dmul" : "fmul"), 7e6);  // as many pairs
    CHECK(cost_of(p.made, "unfused") == exactly(kernel_ns / 3));
    p.set(p.attention, op(is_double ? "dmul" : "fmul"), 14e6);
    p.set(p.attention, op(is_double ? "dfma" : "ffma"), 2e6);  // a compiler that fuses
    CHECK(cost_of(p.made, "unfused") == 0.0);
    p.set(p.attention, op(is_double ? "dfma" : "ffma"), 0);
    p.set(p.attention, op(is_double ? "dmul" : "fmul"), 0);  // sums alone
    answer(p.made).is_silent();
  }
}

TEST_CASE("integer-work: addresses beside memory that waits, no hashes in registers") {
  program p = one_kernel();
  p.use(p.attention, "issue", 0.9);
  threads(p, 32, 32);
  p.set(p.attention, integers, 0.8 * 32e6);
  answer(p.made).first_is("integer-work", "attention");
  CHECK(cost_of(p.made, "integer-work") == exactly(above(0.9 * 0.4)));
  program named = p;
  named.made.kernel_names[0] = {"philox_rng"};
  CHECK(cost_of(named.made, "integer-work") == 0.0);
  p.set(p.attention, integers, 0.59 * 32e6);
  answer(p.made).is_silent();
  p.set(p.attention, integers, 0.8 * 32e6);
  p.hbm(p.attention, 0.0);
  answer(p.made).is_silent();
  p.hbm(p.attention, 0.55);
  answer(p.made).is_silent();
}

TEST_CASE("integer-work: a division is conversions and a reciprocal, too") {
  // As an H200 counted a permutation by 64-bit indices: 656 us, of which this is 1.
  program p = one_kernel();
  p.use(p.attention, "issue", 0.667);
  p.hbm(p.attention, 0.343);
  threads(p, 32, 28.8);
  p.set(p.attention, integers, 0.582 * 28.8e6);
  p.set(p.attention, converting, 0.061 * 28.8e6);
  p.use(p.attention, "xu", 0.061 * 28.8 / 32);
  answer(p.made).is_silent();  // of numbers that are unpacked, with no reciprocal
  p.use(p.attention, "xu", 1.5 * 0.061 * 28.8 / 32);
  answer(p.made).first_is("integer-work", "attention");
  has(title_of(p.made, "integer-work"), "67 % of the instructions are integer ones");
  CHECK(cost_of(p.made, "integer-work") ==
        exactly(0.667 / 0.8 * (1.0 - 2.0 * (1.0 - 0.582 - 1.5 * 0.061)) * kernel_ns));
}

TEST_CASE("integer-work: what only moves values can move 16 bytes by an instruction") {
  // As an H200 counted a permutation of values of 2 bytes: constants of divisions look like
  // multiply-adds of half precision.
  program p = one_kernel();
  double const bytes = 2.0 * 28.8e6 / 200;  // 200 instructions for each value
  p.use(p.attention, "issue", 0.77);
  p.hbm(p.attention, 0.097);
  threads(p, 32, 28.8);
  p.set(p.attention, integers, 0.62 * 28.8e6);
  p.set(p.attention, converting, 0.06 * 28.8e6);
  p.use(p.attention, "xu", 1.5 * 0.06 * 28.8 / 32);
  p.set(p.attention, op("hfma"), 0.035 * 28.8e6);
  p.set(p.attention, "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", bytes / 32);
  p.set(p.attention, "smsp__sass_data_bytes_mem_global_op_ld.sum", bytes);
  p.set(p.attention, "smsp__sass_data_bytes_mem_global_op_st.sum", bytes);
  p.set(p.attention, "sm__inst_executed_pipe_lsu.sum", bytes / 32);  // 2 bytes each
  has(title_of(p.made, "integer-work"), "71 % of the instructions are integer ones or divide");
  double const of_slots = 0.77 / 0.8 * (1.0 - 2.0 / 16);
  CHECK(cost_of(p.made, "integer-work") == exactly(of_slots * kernel_ns));
  program computing = p;  // each value needs its instructions
  computing.set(p.attention, op("hfma"), 0.04 * 28.8e6);
  CHECK(cost_of(computing.made, "integer-work") ==
        exactly(0.77 / 0.8 * (1.0 - 2.0 * 0.38) * kernel_ns));
  program wide = p;  // as many bytes by an eighth of the instructions already
  wide.set(p.attention, "sm__inst_executed_pipe_lsu.sum", bytes / 32 / 8);
  CHECK(cost_of(wide.made, "integer-work") == exactly(0.77 / 0.8 * (1.0 - 2.0 * 0.29) * kernel_ns));
}

TEST_CASE("integer-work: a special function beside floating-point arithmetic divides no integers") {
  program p = one_kernel();
  p.use(p.attention, "issue", 0.667);
  p.hbm(p.attention, 0.343);
  threads(p, 32, 28.8);
  p.set(p.attention, integers, 0.582 * 28.8e6);
  p.set(p.attention, converting, 0.061 * 28.8e6);
  p.use(p.attention, "xu", 1.5 * 0.061 * 28.8 / 32);
  answer(p.made).first_is("integer-work", "attention");
  has(title_of(p.made, "integer-work"), "or divide integers");
  for (char const* const beside : {"fmul", "ffma", "fadd"}) {  // exp, a root, a sum of these
    program other = p;
    other.set(p.attention, op(beside), 0.031 * 28.8e6);
    answer(other.made).is_silent();
  }
  p.set(p.attention, integers, 0.7 * 28.8e6);
  p.set(p.attention, op("fmul"), 0.031 * 28.8e6);
  CHECK(title_of(p.made, "integer-work").find("divi") == std::string::npos);
}

TEST_CASE("arithmetic-work: functions of each value beside memory that waits") {
  program p = one_kernel();
  p.use(p.attention, "issue", 0.9);
  p.hbm(p.attention, 0.23);
  double const all = 7e9;  // instructions of threads
  p.set(p.attention, "smsp__sass_inst_executed.sum", all / 32);
  p.set(p.attention, "smsp__sass_thread_inst_executed.sum", all);
  p.set(p.attention, "smsp__sass_thread_inst_executed_pred_on.sum", all);
  double const bytes = 0.23 * program::hbm_peak * kernel_ns;
  p.set(p.attention, op("ffma"), 0.4 * all);
  p.set(p.attention, converting, 0.1 * all);
  answer(p.made).first_is("arithmetic-work", "attention");
  CHECK(cost_of(p.made, "arithmetic-work") == exactly(above(0.9 * (1.0 - 0.75 * 0.5))));
  has(title_of(p.made, "arithmetic-work"), "Arithmetic and conversions are 50 % of the");
  auto const is_silent_with = [&](auto const& change) {
    program other = p;
    change(other);
    answer(other.made).is_silent();
  };
  is_silent_with([&](program& o) { o.set(o.attention, op("ffma"), 0.29 * all); });
  is_silent_with([&](program& o) {  // functions in hardware
    o.set(o.attention, "sm__inst_executed_pipe_xu.sum", (0.1 + 0.07) * all / 32);
  });
  is_silent_with([](program& o) { o.hbm(o.attention, 0.55); });  // near its limit
  is_silent_with([](program& o) { o.hbm(o.attention, 0.02); });  // computes in registers
  is_silent_with([&](program& o) {                               // a product: each byte many times
    o.set(o.attention, "smsp__sass_data_bytes_mem_global_op_ld.sum", 2.0 * bytes);
  });
  is_silent_with([&](program& o) { o.set(o.attention, shared_loads, 2.0 * bytes); });
}

TEST_CASE("managed-memory: loads that take as long as a page does, without records of migrations") {
  program p = one_kernel();
  p.hbm(p.attention, 0.001);
  p.use(p.attention, "issue", 0.001);
  p.set(p.attention, stalled("long_scoreboard"), 0.98 * warps);
  p.set(p.attention, "sm__inst_executed_pipe_lsu.sum", 0.98 * warps / 290'000);
  answer(p.made).first_is("managed-memory", "attention");
  has(title_of(p.made, "managed-memory"), "A load or store takes 290,000 cycles");
  p.set(p.attention, "sm__inst_executed_pipe_lsu.sum", 0.98 * warps / 3'000);
  CHECK(title_of(p.made, "managed-memory").empty());  // device memory at its limit
  p.set(p.attention, stalled("long_scoreboard"), 0.2 * warps);
  p.set(p.attention, "sm__inst_executed_pipe_lsu.sum", 0.2 * warps / 19'000);
  CHECK(title_of(p.made, "managed-memory").empty());
  p.set(p.attention, "sm__inst_executed_pipe_lsu.sum", 0.2 * warps / 21'000);
  has(title_of(p.made, "managed-memory"), "A load or store takes 21,000 cycles");
  p.set(p.attention, stalled("long_scoreboard"), 0.98 * warps);
  p.set(p.attention, "sm__inst_executed_pipe_lsu.sum", 0.98 * warps / 290'000);
  // Memory of the host that kernels read over the bus is that, and no page.
  p.set(p.attention, "smsp__sass_data_bytes_mem_global_op_ld.sum", 32e6);
  p.set(p.attention, "lts__t_sectors_srcunit_tex_aperture_sysmem.sum", 0.9e6);
  CHECK(title_of(p.made, "managed-memory").empty());
  p.set(p.attention, "lts__t_sectors_srcunit_tex_aperture_sysmem.sum", 0.1e6);
  has(title_of(p.made, "managed-memory"), "A load or store takes 290,000 cycles");
  p.use(p.attention, "issue", 0.2);  // textures wait alike, and are no loads
  CHECK(title_of(p.made, "managed-memory").empty());
}

TEST_CASE("divergent-addresses: the unit of constants with an index, branches and barriers") {
  program p = one_kernel();
  p.use(p.attention, "adu", 0.9);
  answer(p.made).first_is("divergent-addresses", "attention");
  CHECK(cost_of(p.made, "divergent-addresses") == exactly(above(0.25)));  // what issues stays
  has(title_of(p.made, "divergent-addresses"), "(ADU) is used for 90 % of the time");
  p.set(p.attention, stalled("barrier"), 0.3 * warps);
  answer(p.made).is_silent();
  p.drop(stalled("barrier"));
  answer(p.made).is_silent();
  p.set(p.attention, stalled("barrier"), 0);
  p.use(p.attention, "adu", 0.5);
  CHECK(cost_of(p.made, "divergent-addresses") == 0.0);
}

// --- products ---

namespace {

/// A product at this part of the peak of a format that reads from shared memory.
program product(char const* fused, double peak, double part, double shared_bytes) {
  program p = one_kernel();
  p.hbm(p.attention, 0.01);
  p.set(p.attention, op(fused), part * peak * kernel_ns);
  p.set(p.attention, shared_loads, shared_bytes);
  return p;
}

}  // namespace

TEST_CASE("fp32-without-tensor: the worst product is one, too") {
  program p = product("ffma", 33500, 0.03, 1e9);
  answer(p.made).first_is("fp32-without-tensor", "attention");
  has(title_of(p.made, "fp32-without-tensor"), "An FP32 matrix product runs at 3 % of FP32 peak");
  // A function of single values: each is read once, from L2.
  program each = product("ffma", 33500, 0.03, 0.0);
  CHECK(cost_of(each.made, "fp32-without-tensor") == 0.0);
  // A matrix by a vector, whose weights are in L2.
  program vector = product("ffma", 33500, 0.03, 8.1e9);
  vector.set(vector.attention, "lts__t_bytes.sum", 4e9);
  CHECK(cost_of(vector.made, "fp32-without-tensor") == 0.0);
}

TEST_CASE("fp16-without-tensor: products of packed halves, no constants") {
  program p = product("hfma", 33500, 0.4, 5e9);
  p.l1(p.attention, 0.0, 0.72 * program::l1_peak * kernel_ns);
  answer(p.made).first_is("fp16-without-tensor", "attention");
  has(title_of(p.made, "fp16-without-tensor"),
      "An FP16 matrix product runs at 40 % of FP16 peak; the unused tensor cores have 7.4 times "
      "that peak in FP16");
  CHECK(cost_of(p.made, "fp16-without-tensor") ==
        exactly(kernel_ns * (1.0 - 0.4 * 134.0 / 989.0 / 0.75)));
  for (double const use : {0.009, 0.011}) {  // of which a compiler loads constants
    p = product("hfma", 33500, use, 5e9);
    p.hbm(p.attention, 0.0);
    p.set(p.attention, "lts__t_bytes.sum", 1e8);
    CHECK((cost_of(p.made, "fp16-without-tensor") > 0.0) == (use > 0.01));
  }
  p = product("hfma", 33500, 0.1, 5e9);
  p.set(p.attention, op("ffma"), 33500 * 0.5 * kernel_ns);  // an FP32 product too
  CHECK(cost_of(p.made, "fp16-without-tensor") == 0.0);
}

TEST_CASE("fp16-without-tensor: packed halves run in the pipe of the tensor cores") {
  // As an H200 counted tiles of 64 x 64 by __hfma2: 5.18 ms, of which this is 1.
  program p = product("hfma", 33500, 0.4, 7.5e9);
  p.use(p.attention, "issue", 0.65);
  p.l1(p.attention, 0.0, 0.72 * program::l1_peak * kernel_ns);
  p.use(p.attention, "tensor", 0.4);
  answer(p.made).first_is("fp16-without-tensor", "attention");
  p.use(p.attention, "tensor", 0.95);  // more than halves take: a format that was not counted
  CHECK(cost_of(p.made, "fp16-without-tensor") == 0.0);
}

TEST_CASE("fp64-without-tensor: tensor cores do FP64, where they are faster") {
  program p = product("dfma", 16750, 0.8, 5e9);
  p.use(p.attention, "fp64", 0.8);
  answer(p.made).first_is("fp64-without-tensor", "attention");
  double const faster = 989000.0 / 16.0 / 33500.0;
  CHECK(cost_of(p.made, "fp64-without-tensor") == exactly(kernel_ns * (1.0 - 0.8 / faster / 0.75)));
  p.set(p.attention, "sm__ops_path_tensor_src_fp64.sum.peak_sustained", 33500);
  CHECK(cost_of(p.made, "fp64-without-tensor") == 0.0);
}

TEST_CASE("small-tiles: bytes of L1 beside what tiles of 128 x 128 need") {
  auto const tiled = [](double tensor) {
    program p = one_kernel();
    p.l1(p.attention, 0.0, 0.72 * program::l1_peak * kernel_ns);
    p.use(p.attention, "tensor", tensor);
    p.set(p.attention, "sm__ops_path_tensor_src_bf16_dst_fp32.sum", tensor * 989e3 * kernel_ns);
    return p;
  };
  program const poor = tiled(0.2);
  answer(poor.made).first_is("small-tiles", "attention");
  double const needed = 0.2 * 989e9 * 2.0 * 3.0 / 128.0 / (0.72 * 33e9);
  CHECK(cost_of(poor.made, "small-tiles") == exactly(0.72 / 0.8 * (1.0 - needed) * kernel_ns));
  answer(tiled(0.6).made).is_silent();
  CHECK(cost_of(tiled(0.26).made, "small-tiles") == 0.0);  // less than twice as many
}

// --- what warps wait for ---

TEST_CASE("occupancy-gap: fewer warps are in flight than fit") {
  program p = one_kernel();
  p.set(p.attention, "sm__warps_active.sum", 132 * 1e6 * 64 * 0.4);
  CHECK(cost_of(p.made, "occupancy-gap") == exactly(0.6 * kernel_ns));
  answer(p.made).first_is("occupancy-gap", "attention");
  has(title_of(p.made, "occupancy-gap"),
      "40 % of the warps that an SM holds are in flight, where "
      "100 % fit");
  p.set(p.attention, "sm__warps_active.sum", 132 * 1e6 * 64 * 0.51);
  CHECK(cost_of(p.made, "occupancy-gap") == 0.0);
}

TEST_CASE("latency-bound: each stall has its own fix, and gains no more than its share") {
  for (detail::stall_entry const& stall : detail::stall_table) {
    if (stall.name == "not_selected") continue;  // no wait
    CAPTURE(std::string(stall.name));
    program p = with_all_stalls();
    p.set(p.attention, stalled("not_selected"), 0.5 * warps);
    p.set(p.attention, stalled(stall.name), 0.45 * warps);
    answer const a(p.made);
    a.first_is("latency-bound", "attention");
    CHECK(a.findings()[0].advice == stall.advice);
    CHECK(a.findings()[0].needs.empty());
    CHECK(a.findings()[0].cost_ns_per_step == exactly(0.45 * kernel_ns));
    has(a.findings()[0].title, detail::stall_text(stall.name) + ", 45 % of their time");
    has(a.findings()[0].title,
        "the kernel is work: 10,000 blocks of 256 threads, 32 registers a "
        "thread, room for 8 blocks an SM");
  }
}

TEST_CASE("latency-bound: ranges with different waits have no one fix") {
  program p;
  p.run(8, [&] {
    for (std::uint32_t const range : {p.attention, p.mlp})
      p.in(range, [&](std::uint32_t at) { p.kernel_of(at, 1000 * us); });
    p.wait();
  });
  for (std::uint32_t const range : {p.attention, p.mlp}) p.count_nothing(range);
  p.set(p.attention, stalled("barrier"), 0.7 * warps);
  p.set(p.mlp, stalled("long_scoreboard"), 0.7 * warps);
  answer const a(p.made);
  REQUIRE(a.find("latency-bound") != nullptr);
  CHECK(a.find("latency-bound")->ranges.size() == 2);
  has(std::string(a.find("latency-bound")->advice), "each range's limiter names its wait");
}

TEST_CASE("latency-bound: every stall that is counted has a fix") {
  for (metric const& each : metric_list()) {
    std::string_view const name = detail::stall_of(each.key());
    if (name.empty() || name == "selected") continue;  // issuing is no wait
    CAPTURE(std::string(name));
    CHECK(detail::find_stall(name) != nullptr);
  }
  for (detail::stall_entry const& stall : detail::stall_table)
    CHECK_FALSE(detail::stall_meaning(stall.name).empty());
}

TEST_CASE("latency-bound: up to 60 % of a unit only stalls that no good kernel has") {
  auto const cost = [](char const* name, double part, double use) {
    program p = one_kernel();
    p.use(p.attention, "issue", use);
    p.set(p.attention, stalled(name), part * warps);
    p.set(p.attention, stalled("wait"), (0.98 - part) * warps);
    return cost_of(p.made, "latency-bound");
  };
  CHECK(cost("barrier", 0.55, 0.3) > 0.0);
  CHECK(cost("barrier", 0.55, 0.4) == exactly(0.55 * kernel_ns));
  CHECK(cost("barrier", 0.55, 0.61) == 0.0);
  CHECK(cost("barrier", 0.39, 0.4) == 0.0);
  CHECK(cost("long_scoreboard", 0.55, 0.4) == 0.0);
}

TEST_CASE("latency-bound: a fault that warps wait for longer than instructions are issued") {
  // As an H200 counted code that fits no cache of instructions: 3.33 ms, of which this is 1.
  auto const cost = [](char const* name, double part, char const* unit, double use) {
    program p = one_kernel();
    p.use(p.attention, unit, use);
    p.set(p.attention, stalled(name), part * warps);
    p.set(p.attention, stalled("wait"), 0.142 * warps);
    return cost_of(p.made, "latency-bound");
  };
  CHECK(cost("no_instruction", 0.704, "issue", 0.636) == exactly(above(0.636)));
  CHECK(cost("no_instruction", 0.62, "issue", 0.636) == 0.0);
  CHECK(cost("long_scoreboard", 0.704, "issue", 0.636) == 0.0);
  CHECK(cost("no_instruction", 0.704, "l2", 0.636) == 0.0);  // memory at its best
  CHECK(cost("no_instruction", 0.82, "issue", 0.81) == 0.0);
}

TEST_CASE("latency-bound: where most was not counted, the run that tells is named") {
  program p = one_kernel();
  p.set(p.attention, stalled("barrier"), 0.3 * warps);
  answer const a(p.made);
  CHECK(a.find("latency-bound")->needs == "counters=findings+stalls");
  has(std::string(a.find("latency-bound")->advice), "find out first what its warps wait for");
  has(a.find("latency-bound")->title, "; most of what warps wait for was not counted");
  CHECK(a.input.roofline.limits[1].text == "latency");
  p.set(p.attention, stalled("wait"), 0.3 * warps);
  p.set(p.attention, stalled("barrier"), 0.36 * warps);
  CHECK(answer(p.made).input.roofline.limits[1].text == "latency: barrier");
}

// --- the table of them ---

TEST_CASE("docs/reference/ncu-rules.md names rules that exist, and each that looks at kernels") {
  std::ifstream file(std::string(STRATA_TEST_DIR) + "/../docs/reference/ncu-rules.md");
  std::string const page{std::istreambuf_iterator<char>(file), {}};
  REQUIRE(page.size() > 1000);
  auto const is_named = [&](std::string_view rule) {
    return page.find("`" + std::string(rule) + "`") != std::string::npos;
  };
  std::size_t rows = 0;
  for (std::size_t at = page.find("\n| `"); at != page.npos; at = page.find("\n| `", at + 1))
    ++rows;
  CHECK(rows == 23);  // ncu 2025.4 --list-rules
  for (detail::finding_rule const& rule : detail::finding_rules)
    if (rule.by_kernel) CHECK_MESSAGE(is_named(rule.id), rule.id);
  for (std::size_t at = page.find('`'); at != page.npos; at = page.find('`', at + 1)) {
    std::size_t const end = page.find('`', at + 1);
    REQUIRE(end != page.npos);
    std::string const word = page.substr(at + 1, end - at - 1);
    at = end;
    bool const may_be_rule =
        word.find('-') != word.npos &&
        word.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == word.npos;
    bool const is_rule =
        std::any_of(std::begin(detail::finding_rules), std::end(detail::finding_rules),
                    [&](auto const& rule) { return rule.id == word; });
    if (may_be_rule) CHECK_MESSAGE(is_rule, word);
  }
}

// --- words for limits ---

TEST_CASE("limits: two units within three points are both named") {
  program p = one_kernel();
  p.l1(p.attention, 0.2 * program::l1_peak * kernel_ns, 0.746 * program::l1_peak * kernel_ns);
  p.use(p.attention, "tensor", 0.934);
  answer const both(p.made);
  CHECK(both.input.roofline.limits[1].text == "L1 with shared memory 95 % and tensor 93 %");
  has(both.input.findings.bound,
      "its limiters are L1 with shared memory, at 95 % of its peak, and "
      "tensor, at 93 %.");
  CHECK(both.input.limits[1].limiter == "L1 with shared memory and tensor");
  p.use(p.attention, "tensor", 0.91);
  CHECK(answer(p.made).input.roofline.limits[1].text == "L1 with shared memory 95 %");
}

TEST_CASE("limits: tensor cores of several formats name these") {
  program p = one_kernel();
  p.use(p.attention, "tensor", 0.886);
  p.set(p.attention, "sm__ops_path_tensor_src_bf16_dst_fp32.sum", 0.5 * 989e9);
  CHECK(answer(p.made).input.roofline.limits[1].text == "tensor 89 %");
  p.set(p.attention, "sm__ops_path_tensor_src_tf32_dst_fp32.sum", 0.2 * 989e9);
  CHECK(answer(p.made).input.roofline.limits[1].text == "tensor (BF16, TF32) 89 %");
  p.set(p.attention, "sm__ops_path_tensor_src_tf32_dst_fp32.sum", 0.02 * 989e9);
  CHECK(answer(p.made).input.roofline.limits[1].text == "tensor 89 %");
  // Without the units, the roofs of both.
  p.set(p.attention, "sm__ops_path_tensor_src_tf32_dst_fp32.sum", 0.2 * 989e9);
  p.count_only("tensor+roofline");
  CHECK(answer(p.made).input.roofline.limits[1].text == "tensor (BF16, TF32) 90 %");
}

}  // namespace ncu_rules_test
