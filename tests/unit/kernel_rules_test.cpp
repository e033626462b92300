// What the rules of kernels say that a cause costs, computed by hand, and where they begin to see
// it. One kernel of 1 ms a step; unless a case says more, issue slots are used by 25 %, device
// memory by 20 % and L2 by 9.6 %.
#include <doctest/doctest.h>
#include "analyse/speed_of_light.hpp"
#include "report/findings.hpp"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "finding_sample.hpp"

namespace kernel_rules_test {

using namespace strata;
using namespace finding_test;

namespace {

constexpr double kernel_ns = 1e6;
constexpr double reachable = 0.9;

/// What is left to gain when this part of the kernel's time remains at a unit's peak.
constexpr double above(double part) { return kernel_ns * (1.0 - part / reachable); }
/// The same of device memory.
constexpr double above_hbm(double part) { return kernel_ns * (1.0 - part / 0.8); }

doctest::Approx exactly(double ns) { return doctest::Approx(ns).epsilon(1e-6); }

/// All rules that find a cause, with a blank behind each.
std::string causes_of(profile const& made) {
  answer const a(made);
  std::string rules;
  for (finding const& cause : a.findings())
    if (cause.cost_ns_per_step > 0.0) rules += std::string(cause.rule) + " ";
  return rules;
}

constexpr char const* global_loads = "smsp__sass_data_bytes_mem_global_op_ld.sum";
constexpr char const* load_sectors = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum";
constexpr char const* shared_loads = "smsp__sass_data_bytes_mem_shared_op_ld.sum";
constexpr char const* stores = "smsp__sass_data_bytes_mem_global_op_st.sum";
constexpr char const* bank_conflicts = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum";
constexpr char const* fused_adds = "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum";
constexpr char const* additions = "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum";
constexpr char const* double_additions = "smsp__sass_thread_inst_executed_op_dadd_pred_on.sum";
constexpr char const* double_fused_adds = "smsp__sass_thread_inst_executed_op_dfma_pred_on.sum";

}  // namespace

// --- fp64-by-accident ---

TEST_CASE("fp64-by-accident: the time of the FP64 pipe, where values are converted") {
  program p = one_kernel();
  p.use(p.attention, "fp64", 0.4);
  p.set(p.attention, double_additions, 2e7);
  p.set(p.attention, "sm__inst_executed_pipe_xu.sum", 1e5);
  // A unit at 80 % takes all of the time: 40 % take half of it.
  CHECK(cost_of(p.made, "fp64-by-accident") == exactly(0.5 * kernel_ns));
  answer const a(p.made);
  a.first_is("fp64-by-accident", "attention");
  CHECK(a.findings()[0].title ==
        "FP64 operations run on converted values: 20,000,000 FLOP, 3,200,000 operations of the "
        "pipe that "
        "converts (XU); FP64 is used for 40 % of the time");
  p.use(p.attention, "fp64", 0.72);
  // What issues stays, without the conversions: 10 % of their pipe, an eighth of that in slots.
  CHECK(cost_of(p.made, "fp64-by-accident") == exactly(above(0.25 - 0.1 / 8)));
}

TEST_CASE(
    "fp64-by-accident: conversions leave the issue slots, the operations go to the FMA pipe") {
  program p = one_kernel();
  p.set(p.attention, double_additions, 2e7);
  p.use(p.attention, "issue", 0.5);
  for (double const converting : {0.8, 0.96}) {
    p.use(p.attention, "xu", converting);
    CHECK(cost_of(p.made, "fp64-by-accident") == exactly(above(0.5 - converting / 8)));
  }
  // 30 % of FP32's peak, in addition to the 5 % that are there already.
  p.use(p.attention, "issue", 0.1);
  p.use(p.attention, "fma", 0.05);
  p.hbm(p.attention, 0.0);
  p.set(p.attention, "sm__inst_executed_pipe_xu.sum", 1e9);
  p.set(p.attention, "sm__inst_executed_pipe_xu.sum.peak_sustained", 1000);
  p.set(p.attention, double_fused_adds, 0.3 * 33.5e9);
  CHECK(cost_of(p.made, "fp64-by-accident") == doctest::Approx(above(0.35)).epsilon(0.001));
}

TEST_CASE("fp64-by-accident: a conversion for four operations at least") {
  program p = one_kernel();
  p.use(p.attention, "fp64", 0.4);
  p.set(p.attention, double_additions, 2e7);  // 1e7 operations, a multiply-add as one
  p.set(p.attention, "sm__inst_executed_pipe_xu.sum", 0.25 * 1e7 / 32);
  CHECK(cost_of(p.made, "fp64-by-accident") > 0.0);
  p.set(p.attention, "sm__inst_executed_pipe_xu.sum", 0.25 * 1e7 / 32 - 1);
  CHECK(cost_of(p.made, "fp64-by-accident") == 0.0);
  p.set(p.attention, double_additions, 0);  // conversions without FP64
  CHECK(cost_of(p.made, "fp64-by-accident") == 0.0);
}

TEST_CASE("fp64-by-accident: of many conversions four an operation are its own") {
  program p = one_kernel();  // as sincosf() of few large angles with conversions of all values
  p.set(p.attention, double_additions, 2e4);
  p.use(p.attention, "xu", 0.9);
  double const conversions = 32.0 * 0.9 * kernel_ns;
  CHECK(cost_of(p.made, "fp64-by-accident") == 0.0);
  p.set(p.attention, double_additions, 2.0 * conversions / 4.0);
  CHECK(cost_of(p.made, "fp64-by-accident") > 0.5 * kernel_ns);
}

// --- uncoalesced ---

TEST_CASE("uncoalesced: what the sectors take of a level, by the part that is not used") {
  program p = one_kernel();
  p.hbm(p.attention, 0.8);
  p.use(p.attention, "issue", 0.05);
  p.set(p.attention, global_loads, 0.8 * 4.8e9 / 8);
  // HBM at 80 % takes all of the time, of which 7/8 go; what is left is HBM's 10 %.
  CHECK(cost_of(p.made, "uncoalesced") == exactly(0.875 * kernel_ns));
  answer(p.made).first_is("uncoalesced", "attention");
  p.use(p.attention, "issue", 0.25);
  CHECK(cost_of(p.made, "uncoalesced") == exactly(above(0.25)));
  // Of L1, with its requests alone.
  p.hbm(p.attention, 0.1);
  p.l1(p.attention, 0.56 * program::l1_peak * kernel_ns, 0.0);
  p.set(p.attention, global_loads, 0.1 * 4.8e9 / 4);
  CHECK(cost_of(p.made, "uncoalesced") == exactly(0.75 * 0.56 / 0.8 * kernel_ns));
  // Half of L1's path is shared memory's.
  p.l1(p.attention, 0.28 * program::l1_peak * kernel_ns, 0.28 * program::l1_peak * kernel_ns);
  CHECK(cost_of(p.made, "uncoalesced") == exactly(0.75 * 0.5 * 0.56 / 0.8 * kernel_ns));
}

TEST_CASE("uncoalesced: L2 counts a sector twice at most, and gets four with a request of a line") {
  program p = one_kernel();
  p.use(p.attention, "issue", 0.0);
  double const bytes = 0.2 * 4.8e9;
  p.hbm(p.attention, 0.2);
  p.set(p.attention, "dram__bytes_read.sum", 0);
  p.set(p.attention, global_loads, bytes / 4);
  // Its tags are full. A quarter of the bytes is left, at its peak of 10 TB/s.
  double const left = bytes / 4 / 10000 / 0.8;
  p.use(p.attention, "l2", 0.8);
  CHECK(cost_of(p.made, "uncoalesced") == exactly(kernel_ns - left));
  p.use(p.attention, "l2", 0.4);
  CHECK(cost_of(p.made, "uncoalesced") == exactly(0.5 * (kernel_ns - 2 * left)));
  // Tags that are no fuller than the data path: bytes are what counts.
  p.use(p.attention, "l2", 0.0);
  CHECK(cost_of(p.made, "uncoalesced") == exactly(0.75 * bytes / 10000 / 0.8));
  // Half of what L2 moves is theirs, and may be twice as much there; of a quarter it is a half.
  p.use(p.attention, "l2", 0.8);
  p.set(p.attention, "lts__t_bytes.sum", 2 * bytes);
  CHECK(cost_of(p.made, "uncoalesced") == exactly(kernel_ns - 2 * left));
  p.set(p.attention, "lts__t_bytes.sum", 4 * bytes);
  CHECK(cost_of(p.made, "uncoalesced") == exactly(0.5 * (kernel_ns - 4 * left)));
}

TEST_CASE("uncoalesced: L2 fetches two sectors from HBM for one that is asked for") {
  program p = one_kernel();
  p.use(p.attention, "issue", 0.0);
  double const bytes = 0.8 * 4.8e9;
  p.hbm(p.attention, 0.8);
  p.set(p.attention, load_sectors, bytes / 2 / 32);
  p.set(p.attention, global_loads, bytes / 2 / 8);
  CHECK(cost_of(p.made, "uncoalesced") == exactly(0.875 * kernel_ns));
  // Beyond that it is other traffic, as where L2 moves more than twice as much.
  p.set(p.attention, load_sectors, bytes / 4 / 32);
  p.set(p.attention, global_loads, bytes / 4 / 8);
  CHECK(cost_of(p.made, "uncoalesced") == exactly(0.5 * 0.875 * kernel_ns));
  p.set(p.attention, load_sectors, bytes / 2 / 32);
  p.set(p.attention, global_loads, bytes / 2 / 8);
  p.set(p.attention, "lts__t_bytes.sum", 2 * bytes);
  CHECK(cost_of(p.made, "uncoalesced") == exactly(0.5 * 0.875 * kernel_ns));
}

TEST_CASE("uncoalesced: bytes that are used by 40 % are enough") {
  program p = one_kernel();
  p.hbm(p.attention, 0.8);
  p.set(p.attention, global_loads, 0.399 * 0.8 * 4.8e9);
  CHECK(cost_of(p.made, "uncoalesced") == exactly(0.601 * kernel_ns));
  p.set(p.attention, global_loads, 0.401 * 0.8 * 4.8e9);
  CHECK(cost_of(p.made, "uncoalesced") == 0.0);
}

TEST_CASE("uncoalesced: HBM moves no less than what the threads use") {
  program p = one_kernel();
  double const bytes = 0.4 * 4.8e9;
  p.hbm(p.attention, 0.4);
  p.set(p.attention, load_sectors, 2 * bytes / 32);  // half of them are found in L2
  p.set(p.attention, "lts__t_bytes.sum", 2 * bytes);
  p.set(p.attention, global_loads, 0.6 * bytes);
  // 30 % of the sectors are used, but 60 % of HBM's bytes: it takes half of the time.
  CHECK(cost_of(p.made, "uncoalesced") == exactly(0.4 * 0.5 * kernel_ns));
}

namespace {

constexpr char const* lsu_instructions = "sm__inst_executed_pipe_lsu.sum";
constexpr char const* lsu_peak = "sm__inst_executed_pipe_lsu.sum.peak_sustained";

/// Loads of which an eighth is used take 40 % of device memory, 32 warps an SM are in flight, and
/// a slot of twenty issues: 30 warps wait in each of the 132e6 cycles.
program queueing(double loads) {
  program p = one_kernel();
  p.hbm(p.attention, 0.4);
  p.use(p.attention, "issue", 0.05);
  p.set(p.attention, global_loads, 0.4 * 4.8e9 / 8);
  p.set(p.attention, lsu_instructions, loads);
  p.set(p.attention, lsu_peak, 66);
  return p;
}
/// Of these, what is more than a load of an idle memory takes.
constexpr double queued(double loads) { return 1.0 - 550.0 * loads / (30.0 * 132e6); }

}  // namespace

TEST_CASE("uncoalesced: accesses that wait behind each other take all of the time") {
  double const by_use = 0.875 * 0.5;  // HBM's 40 % take half of the time
  CHECK(cost_of(queueing(0.0).made, "uncoalesced") == exactly(by_use * kernel_ns));
  // Seven of eight sectors go; what a load takes at least stays.
  CHECK(cost_of(queueing(4e5).made, "uncoalesced") == exactly(0.875 * kernel_ns));
  CHECK(cost_of(queueing(1e6).made, "uncoalesced") == exactly(queued(1e6) * kernel_ns));
  // From twice the latency of a load on.
  CHECK(cost_of(queueing(3.599e6).made, "uncoalesced") == exactly(queued(3.599e6) * kernel_ns));
  CHECK(cost_of(queueing(3.601e6).made, "uncoalesced") == exactly(by_use * kernel_ns));
  // The limits stay.
  program p = queueing(4e5);
  p.use(p.attention, "adu", 0.3);
  CHECK(cost_of(p.made, "uncoalesced") == exactly(above(0.3)));
}

TEST_CASE("uncoalesced: a queue is blamed only where memory is used most, and for its own part") {
  double const by_use = 0.875 * 0.5;
  program p = queueing(4e5);
  p.use(p.attention, "fma", 0.399);
  CHECK(cost_of(p.made, "uncoalesced") == exactly(above(0.399)));
  p.use(p.attention, "fma", 0.401);
  CHECK(cost_of(p.made, "uncoalesced") == exactly(by_use * kernel_ns));
  p = queueing(4e5);
  p.set(p.attention, "lts__t_bytes.sum", 2.0 * 0.4 * 4.8e9);  // L2 counts them twice
  CHECK(cost_of(p.made, "uncoalesced") == exactly(0.875 * kernel_ns));
  p.set(p.attention, "lts__t_bytes.sum", 3.0 * 0.4 * 4.8e9);  // a third comes by TMA
  CHECK(cost_of(p.made, "uncoalesced") == exactly(0.875 * 2.0 / 3.0 * kernel_ns));
  p.set(p.attention, "lts__t_bytes.sum", 5.0 * 0.4 * 4.8e9);  // three fifths
  CHECK(cost_of(p.made, "uncoalesced") == exactly(0.875 * 0.4 * kernel_ns));
  // Half of the warps wait for results of other instructions.
  p = queueing(2.5e6);
  CHECK(cost_of(p.made, "uncoalesced") == exactly(queued(2.5e6) * kernel_ns));
  p.use(p.attention, "issue", 0.39);
  CHECK(cost_of(p.made, "uncoalesced") == exactly(by_use * kernel_ns));
}

TEST_CASE("uncoalesced: a warp moves a sector for each load at least") {
  program p = one_kernel();
  p.hbm(p.attention, 0.02);
  p.use(p.attention, "issue", 0.0);
  double const moved = 0.02 * 4.8e9;
  p.set(p.attention, global_loads, moved / 8);
  p.set(p.attention, lsu_peak, 1000);
  p.set(p.attention, lsu_instructions, moved / 32 / 2);
  CHECK(cost_of(p.made, "uncoalesced") == exactly(0.5 * kernel_ns));
  p.set(p.attention, lsu_instructions, moved / 32);  // a chain of loads by one thread of each warp
  CHECK(cost_of(p.made, "uncoalesced") == exactly(0.875 * 0.02 / 0.8 * kernel_ns));
}

// --- register-spills ---

namespace {

/// Of L1's data path at 80 %, this part is local memory.
program spilling(double part) {
  program p = one_kernel();
  double const wavefronts = 0.8 * program::l1_peak * kernel_ns;
  p.l1(p.attention, wavefronts, 0.0);
  p.set(p.attention, "l1tex__t_sectors.sum", 4 * wavefronts);
  p.set(p.attention, "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum", 3 * part * wavefronts);
  p.set(p.attention, "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum", part * wavefronts);
  return p;
}

}  // namespace

TEST_CASE("register-spills: the part of L1's data path that is local memory") {
  program p = spilling(0.3);
  CHECK(cost_of(p.made, "register-spills") == exactly(0.3 * kernel_ns));
  answer(p.made).first_is("register-spills", "attention");
  p = spilling(0.6);  // what is left is 32 % of L1
  CHECK(cost_of(p.made, "register-spills") == exactly(0.6 * kernel_ns));
  p = spilling(0.9);
  CHECK(cost_of(p.made, "register-spills") == exactly(above(0.25)));
}

TEST_CASE("register-spills: what integer instructions take then") {
  program p = spilling(0.9);
  p.use(p.attention, "issue", 0.5);
  double const moved = 0.04 * program::hbm_peak * kernel_ns;
  p.set(p.attention, "smsp__sass_data_bytes_mem_global_op_ld.sum", moved);
  p.set(p.attention, "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", moved / 32);
  p.set(p.attention, "smsp__sass_thread_inst_executed_pred_on.sum", 32e6);
  p.set(p.attention, "smsp__sass_thread_inst_executed_op_integer_pred_on.sum", 0.65 * 32e6);
  auto const best_gain = [](program const& of) {
    answer const a(of.made);
    finding const* const found = a.find("register-spills");
    REQUIRE(found != nullptr);
    CHECK(found->predicted_step_ns ==
          doctest::Approx(a.steps().period_ns() - found->cost_ns_per_step).epsilon(0.001));
    bool const is_said =
        found->title.find("; then instructions bound it, of which 65 % are") != std::string::npos;
    CHECK(is_said == detail::is_finite(found->best_step_ns));
    return a.steps().period_ns() - found->best_step_ns;
  };
  CHECK(cost_of(p.made, "register-spills") == exactly(above(0.5)));
  // At best device memory moves what threads load, though they are a tenth of L1's sectors.
  CHECK(best_gain(p) == doctest::Approx(above_hbm(0.04)).epsilon(0.001));
  has(std::string(answer(p.made).find("register-spills")->advice),
      "__launch_bounds__ may leave too few registers); then compute an address once");
  // What is left of L1 goes only as far as is known, and never comes back.
  program unknown = p;
  unknown.drop("smsp__sass_data_bytes_mem_global_op_st.sum");
  CHECK(best_gain(unknown) == doctest::Approx(0.9 * kernel_ns).epsilon(0.001));
  program asked = p;
  asked.set(p.attention, "smsp__sass_data_bytes_mem_global_op_ld.sum",
            0.3 * 128 * 0.8 * program::l1_peak * kernel_ns);
  asked.set(p.attention, "dram__bytes_read.sum", moved);
  CHECK(best_gain(asked) == doctest::Approx(0.9 * kernel_ns).epsilon(0.001));
  program fewer = p;  // what is left of L1 takes as long
  fewer.use(fewer.attention, "issue", 0.08);
  CHECK_FALSE(best_gain(fewer) > 0.0);
  p.set(p.attention, "smsp__sass_thread_inst_executed_op_integer_pred_on.sum", 0.59 * 32e6);
  CHECK_FALSE(best_gain(p) > 0.0);
  // L1 bounds it, not instructions.
  program of_l1 = spilling(0.6);
  of_l1.set(of_l1.attention, "smsp__sass_data_bytes_mem_global_op_ld.sum", moved);
  of_l1.set(of_l1.attention, "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", moved / 32);
  of_l1.set(of_l1.attention, "smsp__sass_thread_inst_executed_pred_on.sum", 32e6);
  of_l1.set(of_l1.attention, "smsp__sass_thread_inst_executed_op_integer_pred_on.sum", 0.65 * 32e6);
  CHECK_FALSE(best_gain(of_l1) > 0.0);
}

TEST_CASE("register-spills: a few values in memory are a compiler's choice") {
  CHECK(cost_of(spilling(0.151).made, "register-spills") == exactly(0.151 * kernel_ns));
  CHECK(cost_of(spilling(0.149).made, "register-spills") == 0.0);
}

TEST_CASE("what costs less than 1 % of the step is not said") {
  double const step = 1005.5 * us;
  double const part = 0.01 * step / kernel_ns;
  auto const cost = [](double hbm_use) {
    program p = one_kernel();
    p.hbm(p.attention, hbm_use);
    p.set(p.attention, global_loads, 0.2 * hbm_use * 4.8e9);
    return cost_of(p.made, "uncoalesced");
  };
  CHECK(cost(1.001 * part) == exactly(1.001 * 0.01 * step));
  CHECK(cost(0.999 * part) == 0.0);
}

// --- bank-conflicts ---

namespace {

/// Shared memory takes this part of L1's data path, and this part of it are conflicts.
program conflicting(double use, double part) {
  program p = one_kernel();
  p.hbm(p.attention, 0.0);
  double const wavefronts = use * program::l1_peak * kernel_ns;
  p.l1(p.attention, 0.0, wavefronts);
  p.set(p.attention, bank_conflicts, part * wavefronts);
  p.set(p.attention, shared_loads, 128 * (1.0 - part) * wavefronts);
  return p;
}

}  // namespace

TEST_CASE("bank-conflicts: the wavefronts that would not be") {
  CHECK(cost_of(conflicting(0.8, 0.5).made, "bank-conflicts") == exactly(0.5 * kernel_ns));
  CHECK(cost_of(conflicting(0.4, 0.5).made, "bank-conflicts") == exactly(0.25 * kernel_ns));
  // 31 of 32: what issues instructions stays.
  program const p = conflicting(0.9, 31 / 32.0);
  CHECK(cost_of(p.made, "bank-conflicts") == exactly(above(0.25)));
  answer const a(p.made);
  a.first_is("bank-conflicts", "attention");
  CHECK(a.findings()[0].title ==
        "Shared memory takes 32 times as many wavefronts as it would without bank conflicts");
  CHECK(a.input.roofline.limits[1].text == "shared memory 90 %");
}

TEST_CASE("bank-conflicts: from 30 % of the wavefronts on, by both counts") {
  CHECK(cost_of(conflicting(0.8, 0.301).made, "bank-conflicts") == exactly(0.301 * kernel_ns));
  CHECK(cost_of(conflicting(0.8, 0.299).made, "bank-conflicts") == 0.0);
  program p = conflicting(0.8, 0.5);  // of stores they count as of loads
  double const wavefronts = 0.8 * program::l1_peak * kernel_ns;
  p.set(p.attention, bank_conflicts, 0.2 * wavefronts);
  CHECK(cost_of(p.made, "bank-conflicts") == 0.0);
  p.set(p.attention, "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum", 0.3 * wavefronts);
  CHECK(cost_of(p.made, "bank-conflicts") == exactly(0.5 * kernel_ns));
  p.set(p.attention, shared_loads, 128 * wavefronts);  // all of them are needed
  CHECK(cost_of(p.made, "bank-conflicts") == 0.0);
}

TEST_CASE("bank-conflicts: without the bytes that threads ask for there is no second count") {
  program p = conflicting(0.8, 0.5);
  p.drop(shared_loads);  // as with CUDA graphs
  CHECK(cost_of(p.made, "bank-conflicts") == 0.0);
  answer const a(p.made);
  bool undecided = false;
  for (undecided_rule const& rule : a.input.findings.undecided)
    undecided = undecided || rule.rule == "bank-conflicts";
  CHECK(undecided);
  p.set(p.attention, shared_loads, 0.0);
  p.set(p.attention, bank_conflicts, 2.0 * 0.8 * program::l1_peak * kernel_ns);
  CHECK(cost_of(p.made, "bank-conflicts") == 0.0);
}

TEST_CASE("bank-conflicts: what moves through device memory stays, as in good copies") {
  program p = conflicting(0.9, 0.9);
  p.use(p.attention, "issue", 0.05);
  p.hbm(p.attention, 0.4);
  p.l1(p.attention, 0.0, 0.9 * program::l1_peak * kernel_ns);
  CHECK(cost_of(p.made, "bank-conflicts") == exactly(above_hbm(0.4)));
}

// --- few-blocks ---

namespace {

program with_blocks(std::uint32_t blocks, std::int64_t ns = 900 * us, std::uint32_t times = 1) {
  program p;
  p.run(4, [&] {
    p.in(p.attention, [&](std::uint32_t where) {
      for (std::uint32_t i = 0; i < times; ++i) p.kernel_of(where, ns, blocks);
    });
    p.wait();
  });
  return p;
}
/// Counted, and no unit is used much.
program counted_idle(std::uint32_t blocks) {
  program p = one_kernel(blocks);
  p.use(p.attention, "issue", 0.0);
  p.hbm(p.attention, 0.01);
  return p;
}

}  // namespace

TEST_CASE("few-blocks: the SMs that have none, from three quarters of them down") {
  CHECK(cost_of(with_blocks(4).made, "few-blocks") == exactly(900 * us * (1 - 4 / 132.0)));
  answer(with_blocks(4).made).first_is("few-blocks", "attention");
  CHECK(cost_of(with_blocks(37).made, "few-blocks") == exactly(900 * us * (1 - 37 / 132.0)));
  CHECK(cost_of(counted_idle(99).made, "few-blocks") == exactly(0.25 * kernel_ns));
  CHECK(cost_of(counted_idle(100).made, "few-blocks") == 0.0);
}

TEST_CASE("few-blocks: some of the SMs may fill device memory, which counters tell") {
  // At 64 B a cycle and 1.98 GHz 38 SMs take 4.81 TB/s; of half of that memory 19.
  struct memory {
    std::uint32_t clock_khz;
    std::uint32_t fewest;
  };
  for (memory const& of : {memory{3201000, 38}, memory{1600500, 19}, memory{0, 44}}) {
    CAPTURE(of.clock_khz);
    program fewer = with_blocks(of.fewest - 1);
    fewer.made.environment.devices[0].memory_clock_khz = of.clock_khz;
    CHECK(cost_of(fewer.made, "few-blocks") > 0.0);
    program p = with_blocks(of.fewest);
    p.made.environment.devices[0].memory_clock_khz = of.clock_khz;
    answer const traced(p.made);
    CHECK(traced.find("few-blocks") == nullptr);
    std::string needs;
    for (undecided_rule const& open : traced.input.findings.undecided)
      if (open.rule == "few-blocks") needs = open.needs();
    CHECK(needs == "counters=findings");
  }
  program p = counted_idle(45);
  CHECK(cost_of(p.made, "few-blocks") > 0.0);
  p.hbm(p.attention, 0.95);
  CHECK(cost_of(p.made, "few-blocks") == 0.0);
}

TEST_CASE("few-blocks: that they take unequal time, where counters show it") {
  program p = counted_idle(66);
  auto const with_balance = [&](double balance) {
    p.set(p.attention, "sm__cycles_active.sum", 66 * balance * 1.98e6);
    p.set(p.attention, "sm__cycles_active.max", 1.98e6);
    return title_of(p.made, "few-blocks");
  };
  has(with_balance(0.5),
      "work has 66 blocks for 132 SMs; they take unequal time: the mean SM that "
      "has one works for 50 % of the time of the busiest");
  CHECK(with_balance(0.81) == "work has 66 blocks for 132 SMs");
  CHECK(title_of(with_blocks(4).made, "few-blocks") == "work has 4 blocks for 132 SMs");
  // All SMs together could do in a quarter of the time what half of them do for half of it.
  with_balance(0.5);
  CHECK(cost_of(p.made, "few-blocks") == exactly(0.75 * kernel_ns));
  with_balance(0.81);
  CHECK(cost_of(p.made, "few-blocks") == exactly(0.5 * kernel_ns));
}

TEST_CASE("few-blocks: a kernel of less than 10 us is not blamed") {
  CHECK(cost_of(with_blocks(4, 10 * us, 50).made, "few-blocks") ==
        exactly(500 * us * (1 - 4 / 132.0)));
  CHECK(cost_of(with_blocks(4, 10 * us - 1, 50).made, "few-blocks") == 0.0);
}

TEST_CASE("few-blocks: small launches of a kernel beside a large one leave few SMs idle") {
  for (std::int64_t const large : {20 * us, 1000 * us, 2000 * us}) {
    program p;
    p.run(4, [&] {
      p.in(p.attention, [&](std::uint32_t at) {
        for (int i = 0; i < 40; ++i) p.kernel_of(at, 12 * us, 4);
        p.kernel_of(at, large, 1000);
      });
      p.wait();
    });
    double const all = static_cast<double>(40 * 12 * us + large);
    double const by_time = (all - 40 * 12 * us * (1.0 - 4 / 132.0)) / all;
    double const by_launch = (40 * 4 + 1000) / 41.0 / 132.0;
    double const filled = by_time > by_launch ? by_time : by_launch;
    CHECK((filled > 0.75) == (large == 2000 * us));
    CHECK(cost_of(p.made, "few-blocks") == exactly(filled > 0.75 ? 0.0 : all * (1.0 - filled)));
  }
}

TEST_CASE("few-blocks: counted, it is held against what the units do") {
  CHECK(cost_of(one_kernel(33).made, "few-blocks") == exactly(above(0.25)));
  CHECK(cost_of(counted_idle(33).made, "few-blocks") == exactly(0.75 * kernel_ns));
}

TEST_CASE("few-blocks: more blocks do not split a chain of one or two warps") {
  for (std::uint32_t const threads : {32u, 64u}) {
    program p = one_kernel(1);
    for (kernel_record& kernel : p.made.kernels) kernel.block_x = threads;
    CHECK(cost_of(p.made, "few-blocks") == 0.0);
    for (kernel_record& kernel : p.made.kernels) kernel.block_x = threads + 64;
    CHECK(cost_of(p.made, "few-blocks") == exactly(above(0.25)));
  }
}

TEST_CASE("shared-work: a tree that reduces in shared memory, no operands of a product") {
  program p = one_kernel();
  double const bytes = 0.1 * program::hbm_peak * kernel_ns;
  auto const tree = [&](program& q) {
    q.hbm(q.attention, 0.1);
    q.use(q.attention, "lsu", 0.75);
    q.set(q.attention, "smsp__sass_data_bytes_mem_shared_op_ld.sum", 4.0 * bytes);
    q.set(q.attention, "smsp__sass_data_bytes_mem_shared_op_st.sum", 4.0 * bytes);
    q.l1(q.attention, 0.0, 0.7 * program::l1_peak * kernel_ns);
  };
  tree(p);
  answer const a(p.made);
  a.first_is("shared-work", "attention");
  CHECK(a.findings()[0].title.find("Shared memory moves 8 times the bytes of device memory") == 0);
  CHECK(a.findings()[0].title.find("barriers") == std::string::npos);
  p.set(p.attention, "smsp__warps_issue_stalled_barrier.sum", 0.3 * 132 * 1e6 * 32);
  CHECK(answer(p.made).find("shared-work")->title.find("barriers for 30 % of their time") !=
        std::string::npos);
  auto const is_silent_with = [&](auto const& change) {
    program other = one_kernel();
    tree(other);
    change(other);
    CHECK(answer(other.made).find("shared-work") == nullptr);
  };
  is_silent_with([&](program& o) {  // operands of a product
    o.set(o.attention, "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", 2.0 * bytes);
  });
  is_silent_with([&](program& o) {  // and of one that tensor cores do, for a tenth of the time
    o.set(o.attention, "sm__ops_path_tensor_src_fp16.sum", 4.0 * bytes);
  });
  is_silent_with([&](program& o) {
    o.set(o.attention, "smsp__sass_data_bytes_mem_shared_op_ld.sum", 1.0 * bytes);
    o.set(o.attention, "smsp__sass_data_bytes_mem_shared_op_st.sum", 1.0 * bytes);
  });
  is_silent_with([](program& o) {
    o.use(o.attention, "lsu", 0.5);
    o.l1(o.attention, 0.0, 0.5 * program::l1_peak * kernel_ns);
  });
  is_silent_with([](program& o) { o.hbm(o.attention, 0.6); });
}

// --- atomics ---

TEST_CASE("atomics: from 8 % of L2's sectors on, where no unit is used by a third") {
  program p = one_kernel();
  double const sectors = 0.2 * 4.8e9 / 32;
  p.set(p.attention, "lts__t_sectors_op_red.sum", 0.081 * sectors);
  CHECK(cost_of(p.made, "atomics") == exactly(above(0.25)));
  answer(p.made).first_is("atomics", "attention");
  p.set(p.attention, "lts__t_sectors_op_red.sum", 0.04 * sectors);
  CHECK(cost_of(p.made, "atomics") == 0.0);
  p.set(p.attention, "lts__t_sectors_op_atom.sum", 0.041 * sectors);
  CHECK(cost_of(p.made, "atomics") == exactly(above(0.25)));
  p.use(p.attention, "issue", 0.333);
  CHECK(cost_of(p.made, "atomics") == exactly(above(0.333)));
  p.use(p.attention, "issue", 0.334);
  CHECK(cost_of(p.made, "atomics") == 0.0);
}

TEST_CASE("atomics: more sectors than L2 has in all are a contradiction and no cause") {
  program p = one_kernel();
  double const sectors = 0.2 * 4.8e9 / 32;
  p.set(p.attention, "lts__t_sectors_op_red.sum", sectors);
  CHECK(cost_of(p.made, "atomics") == exactly(above(0.25)));
  p.set(p.attention, "lts__t_sectors_op_red.sum", 1.1 * sectors);
  CHECK(cost_of(p.made, "atomics") == 0.0);
}

// --- fp32-without-tensor ---

namespace {

/// A matrix product at this part of FP32's peak, its operands in shared memory.
program product(double part) {
  program p = one_kernel();
  p.hbm(p.attention, 0.01);
  p.use(p.attention, "fma", part);
  p.set(p.attention, fused_adds, part * 33.5e9);
  p.set(p.attention, shared_loads, 30e9);
  return p;
}
constexpr double tf32_ns(double flops) { return flops / 494.5e12 * 1e9 / 0.75; }

}  // namespace

TEST_CASE("fp32-without-tensor: what a library takes for it in TF32") {
  program p = product(0.8);
  CHECK(cost_of(p.made, "fp32-without-tensor") == exactly(kernel_ns - tf32_ns(0.8 * 67e9)));
  answer const a(p.made);
  a.first_is("fp32-without-tensor", "attention");
  CHECK(a.findings()[0].title ==
        "An FP32 matrix product runs at 80 % of FP32 peak; the unused tensor cores have 7.4 times "
        "that peak "
        "in TF32");
  CHECK(a.input.roofline.limits[1].text == "FMA 80 %");
  CHECK(a.input.findings.bound.find("; its limiter is FMA, at 80 % of its peak.") !=
        std::string::npos);
  p.hbm(p.attention, 0.3);  // the bytes stay
  CHECK(cost_of(p.made, "fp32-without-tensor") == exactly(above_hbm(0.3)));
  p.set(p.attention, "sm__inst_executed_pipe_tensor.sum", 1e6);  // no proof of a product
  CHECK(cost_of(p.made, "fp32-without-tensor") == exactly(above_hbm(0.3)));
}

TEST_CASE("fp32-without-tensor: where values are not used again, from 10 % of the time on") {
  for (double const part : {0.101, 0.099}) {
    program p = product(part);
    CHECK(cost_of(p.made, "fp32-without-tensor") == exactly(kernel_ns - tf32_ns(part * 67e9)));
    p.set(p.attention, shared_loads, 2e9);
    p.set(p.attention, "lts__t_bytes.sum", 0.8e9);
    p.set(p.attention, shared_loads, 1.5e9);  // less than twice of it
    CHECK((cost_of(p.made, "fp32-without-tensor") > 0.0) == (part > 0.1));
  }
}

TEST_CASE("fp32-without-tensor: a depthwise convolution is no product") {
  program p = product(0.46);
  p.set(p.attention, "lts__t_bytes.sum", 6e9);  // 5.1 FLOP a byte
  p.set(p.attention, shared_loads, 8e9);
  CHECK(cost_of(p.made, "fp32-without-tensor") == 0.0);
  p.set(p.attention, shared_loads, 12.1e9);  // a product of small tiles
  CHECK(cost_of(p.made, "fp32-without-tensor") > 0.0);
  // 31 taps that threads load one by one, of values that stay in L2: L1 reads each 31 times.
  program naive = product(0.2);
  double const stored = 4.0 * 0.2 * 67e9 / 62.0;
  naive.set(naive.attention, shared_loads, 31.0 * stored);
  naive.set(naive.attention, "lts__t_bytes.sum", 2.0 * stored);
  CHECK(cost_of(naive.made, "fp32-without-tensor") > 0.0);
  naive.set(naive.attention, stores, stored);
  CHECK(cost_of(naive.made, "fp32-without-tensor") == 0.0);
  naive.set(naive.attention, stores, 31.0 / 60.1 * stored);  // a row by a column of 60 values
  CHECK(cost_of(naive.made, "fp32-without-tensor") > 0.0);
  for (char const* const name : {"conv_depthwise2d_forward", "DWConv1d", "causal_conv1d_fwd"}) {
    naive.made.kernel_names[0] = {name};  // 60 taps and more
    CHECK(cost_of(naive.made, "fp32-without-tensor") == 0.0);
  }
}

TEST_CASE("fp32-without-tensor: tensor cores at 10 % at most") {
  program p = product(0.8);
  p.use(p.attention, "tensor", 0.1);
  CHECK(cost_of(p.made, "fp32-without-tensor") > 0.0);
  p.use(p.attention, "tensor", 0.101);
  CHECK(cost_of(p.made, "fp32-without-tensor") == 0.0);
}

TEST_CASE("fp32-without-tensor: products are multiply-adds on operands from memory") {
  double const flops = 0.8 * 67e9;
  program p = product(0.8);
  p.set(p.attention, additions, 0.11 * flops);  // 90.1 % of the operations
  CHECK(cost_of(p.made, "fp32-without-tensor") > 0.0);
  p.set(p.attention, additions, 0.112 * flops);  // 89.9 %
  CHECK(cost_of(p.made, "fp32-without-tensor") == 0.0);
  p = product(0.8);
  p.set(p.attention, "l1tex__t_sectors.sum", 0.0);
  p.set(p.attention, shared_loads, flops / 59.9);
  CHECK(cost_of(p.made, "fp32-without-tensor") > 0.0);
  p.set(p.attention, shared_loads, flops / 60.1);  // a polynomial
  CHECK(cost_of(p.made, "fp32-without-tensor") == 0.0);
  p = product(0.8);
  p.set(p.attention, "sm__ops_path_tensor_src_tf32_dst_fp32.sum", 0.049 * flops);
  CHECK(cost_of(p.made, "fp32-without-tensor") > 0.0);
  p.set(p.attention, "sm__ops_path_tensor_src_tf32_dst_fp32.sum", 0.051 * flops);
  CHECK(cost_of(p.made, "fp32-without-tensor") == 0.0);
  p = product(0.3);
  p.hbm(p.attention, 0.299);
  CHECK(cost_of(p.made, "fp32-without-tensor") > 0.0);
  p.hbm(p.attention, 0.301);  // bound by device memory
  CHECK(cost_of(p.made, "fp32-without-tensor") == 0.0);
}

// --- extra-traffic ---

namespace {

/// HBM at a part of its roof, and what the range declares of it.
program moving(double hbm, double declared) {
  program p = one_kernel();
  p.hbm(p.attention, hbm);
  for (range_record& call : p.made.ranges) p.describe(call).bytes = declared * 4.8e9;
  return p;
}

}  // namespace

TEST_CASE("extra-traffic: what HBM takes for bytes that are not declared") {
  CHECK(cost_of(moving(0.8, 0.4).made, "extra-traffic") == exactly(0.5 * kernel_ns));
  CHECK(cost_of(moving(0.9, 0.1).made, "extra-traffic") == exactly(above(0.9 * 0.48)));  // of L2
  answer(moving(0.8, 0.4).made).first_is("extra-traffic", "attention");
  // Half as many again, and 20 % of the time.
  CHECK(cost_of(moving(0.8, 0.8 / 1.51).made, "extra-traffic") ==
        exactly((1 - 1 / 1.51) * kernel_ns));
  CHECK(cost_of(moving(0.8, 0.8 / 1.49).made, "extra-traffic") == 0.0);
  CHECK(cost_of(moving(0.241, 0.241 / 3).made, "extra-traffic") ==
        exactly(0.241 / 0.8 * 2 / 3 * kernel_ns));
  CHECK(cost_of(moving(0.239, 0.239 / 3).made, "extra-traffic") == 0.0);
}

TEST_CASE("extra-traffic: without the units, no less time than another roof leaves") {
  program p = moving(0.6, 0.2);
  double const attribute_rate = 256.0 * 1'980'000e3 * 132;  // of FP32
  p.set(p.attention, fused_adds, 0.63 * attribute_rate / 2 * 1e-3);
  p.count_only("hbm+flops");
  CHECK(cost_of(p.made, "extra-traffic") == exactly(above(0.63)));
}

TEST_CASE("extra-traffic: without the units, the time of the bytes at the roof") {
  program p = moving(0.8, 0.4);
  p.count_only("hbm");
  double const attribute_rate = 2.0 * 3'201'000e3 * 6016 / 8;
  CHECK(cost_of(p.made, "extra-traffic") == exactly(0.4 * 4.8e9 / attribute_rate * 1e9));
}

// --- declared-work ---

namespace {

/// Runs multiply-adds at `part` of FP32's peak, `times` as many as the range declares.
program recomputing(double part, double times) {
  program p = one_kernel();
  p.hbm(p.attention, 0.01);
  p.use(p.attention, "fma", part);
  p.set(p.attention, fused_adds, part * 33.5e9);
  for (range_record& range : p.made.ranges)
    if (range.node == p.attention) p.describe(range).flops = part * 67e9 / times;
  return p;
}

}  // namespace

TEST_CASE("declared-work: the part of the pipe's time that is not declared") {
  CHECK(cost_of(recomputing(0.8, 2.0).made, "declared-work") == exactly(0.5 * kernel_ns));
  CHECK(cost_of(recomputing(0.4, 2.0).made, "declared-work") == exactly(0.25 * kernel_ns));
  answer const a(recomputing(0.8, 4.0).made);
  a.first_is("declared-work", "attention");
  CHECK(a.findings()[0].title == "The range does 4.00 times the declared operations");
  CHECK(a.findings()[0].shortens_step(a.steps().mean_ns));
}

TEST_CASE("declared-work: from 1.25 times on; less than 0.8 times is a doubt that costs nothing") {
  CHECK(cost_of(recomputing(0.8, 1.251).made, "declared-work") ==
        exactly((1.0 - 1.0 / 1.251) * kernel_ns));
  answer const enough(recomputing(0.8, 1.249).made);
  CHECK(enough.find("declared-work") == nullptr);
  answer const also_enough(recomputing(0.8, 0.801).made);
  CHECK(also_enough.find("declared-work") == nullptr);
  answer const fewer(recomputing(0.8, 0.799).made);
  finding const* const doubt = fewer.find("declared-work");
  REQUIRE(doubt != nullptr);
  CHECK(doubt->cost_ns_per_step == 0.0);
  CHECK(doubt->title ==
        "The range does 0.80 times the declared operations; integer ones, as of quantised weights, "
        "are "
        "not counted");
  CHECK(
      answer(recomputing(0.8, 0.004).made).find("declared-work")->title ==
      "The range does less than 0.01 times the declared operations; integer ones, as of quantised "
      "weights, are not counted");
  CHECK_FALSE(doubt->shortens_step(fewer.steps().mean_ns));
  CHECK_FALSE(doubt->leaves_step(fewer.steps().mean_ns));
  nlohmann::json const answered = nlohmann::json::parse(text_of(fewer, true));
  for (nlohmann::json const& cause : answered.at("findings"))
    if (cause.at("rule") == "declared-work") CHECK(cause.at("shortens_step") == false);
}

// --- waits: tail-wave, low-occupancy, latency-bound ---

TEST_CASE("tail-wave: the SMs that the last wave leaves idle") {
  double const room = 132 * 8;  // of 256 threads and 32 registers each
  program p = one_kernel(1116);
  CHECK(cost_of(p.made, "tail-wave") == exactly((1 - 1116 / room / 2) * kernel_ns));
  answer const a(p.made);
  a.first_is("tail-wave", "attention");
  CHECK(a.findings()[0].title ==
        "work has 1.06 waves of blocks: the last one leaves 94 % of the room for blocks idle");
  p.use(p.attention, "issue", 0.59);
  CHECK(cost_of(p.made, "tail-wave") == exactly(above(0.59)));
  p.use(p.attention, "issue", 0.601);  // no kernel that waits
  CHECK(cost_of(p.made, "tail-wave") == 0.0);
}

TEST_CASE("tail-wave: launches of whole waves have no tail, though their mean has") {
  for (std::uint32_t const second : {2112u, 1600u}) {  // blocks; 1,056 at a time
    program p;
    p.run(4, [&] {
      p.in(p.attention, [&](std::uint32_t at) {
        p.kernel_of(at, 300 * us, second == 1600 ? 1600 : 1056);
        p.kernel_of(at, 300 * us, second == 1600 ? 1600 : 1056);
        p.kernel_of(at, 400 * us, second == 1600 ? 1500 : second);
      });
      p.wait();
    });
    p.count_nothing(p.attention);
    answer const a(p.made);
    finding const* const made = a.find("tail-wave");
    REQUIRE((made != nullptr) == (second == 1600));
    if (made == nullptr) continue;
    // Of a launch of 1,600, the median: not of their mean, 1,567.
    CHECK(made->cost_ns_per_step > 0.0);
    CHECK(made->title ==
          "work has 1.52 waves of blocks: the last one leaves 48 % of the room for blocks idle");
  }
}

TEST_CASE("tail-wave: from 20 % of the time on, of one to three waves") {
  auto const cost = [](std::uint32_t blocks) {
    return cost_of(one_kernel(blocks).made, "tail-wave");
  };
  double const room = 132 * 8;
  CHECK(cost(1056) == 0.0);  // one wave
  CHECK(cost(1057) == exactly((1 - 1057 / room / 2) * kernel_ns));
  CHECK(cost(1689) == exactly((1 - 1689 / room / 2) * kernel_ns));
  CHECK(cost(1690) == 0.0);  // 1.6 of 2
  CHECK(cost(2534) == exactly((1 - 2534 / room / 3) * kernel_ns));
  CHECK(cost(2535) == 0.0);
  CHECK(cost(3168) == 0.0);
  CHECK(cost(3169) == 0.0);  // 3.001 of 4
}

namespace {

/// One block of 8 warps at a time, of 64 that fit; many waves.
program crowded() {
  program p = one_kernel();
  for (kernel_record& kernel : p.made.kernels) kernel.registers = 255;
  p.set(p.attention, "sm__warps_active.sum", 132 * 1e6 * 8);
  return p;
}

/// What it gains: 76 waves of blocks become 10, and wait while a unit has this use.
double gain_of_crowded(double use) {
  double const waits = 10.0 / 76.0;
  double const unit = use / 0.9;
  return kernel_ns * (1.0 - waits - unit * unit / (waits + unit));
}

}  // namespace

TEST_CASE("limits: a range that waits for the GPU, or reads from it, is not one of launches") {
  enum class host { computes, waits, reads };
  auto const limiter_of = [](host does) {
    program p;
    p.run(8, [&] {
      p.in(p.attention, [&](std::uint32_t row) { p.kernel_of(row, 1000 * us); });
      p.in(p.mlp, [&](std::uint32_t row) {
        p.kernel_of(row, 5 * us);
        std::int64_t const begin = p.now;
        if (does == host::computes) p.now += 1000 * us;
        if (does == host::reads) {
          p.copy_of(row, copy_kind::device_to_host, 1000 * us, false);
          p.made.copies.back().end = p.made.copies.back().begin + us;
        }
        if (does != host::waits) return;
        p.wait(row);
        p.made.synchronizations.push_back(
            {begin, p.now, row, p.correlations, 7, synchronization_kind::stream, {}});
      });
      p.wait();
    });
    answer const a(p.made);
    for (std::size_t i = 0; i < a.tree.rows().size(); ++i)
      if (a.tree.rows()[i].path == "mlp") return a.input.roofline.limits[i].kind;
    return limiter::unit;
  };
  CHECK(limiter_of(host::computes) == limiter::launch);
  CHECK(limiter_of(host::waits) == limiter::unknown);
  CHECK(limiter_of(host::reads) == limiter::unknown);
}

TEST_CASE("low-occupancy: registers or shared memory leave no more than 40 % of the warps") {
  program p = crowded();
  CHECK(cost_of(p.made, "low-occupancy") == exactly(gain_of_crowded(0.25)));
  answer(p.made).first_is("low-occupancy", "attention");
  finding const by_registers = answer(p.made).findings()[0];
  CHECK(by_registers.title.find(" registers a thread limit the occupancy of ") !=
        std::string::npos);
  CHECK(by_registers.advice == "use fewer registers a thread: smaller tiles, __launch_bounds__");
  program shared = crowded();
  for (kernel_record& kernel : shared.made.kernels) {
    kernel.registers = 32;
    kernel.dynamic_shared_bytes = 200 * 1024;
  }
  finding const by_memory = answer(shared.made).findings()[0];
  CHECK(by_memory.rule == "low-occupancy");
  CHECK(by_memory.title.find("200 KiB of shared memory a block limit the occupancy of ") == 0);
  CHECK(by_memory.advice == "use less shared memory a block: smaller tiles");
  CHECK(by_memory.ranges.size() == 1);
  // Seven waves become one, which waits as long as each of them did.
  shared = one_kernel(7 * 132);
  for (kernel_record& kernel : shared.made.kernels) kernel.dynamic_shared_bytes = 200 * 1024;
  shared.set(shared.attention, "sm__warps_active.sum", 132 * 1e6 * 8);
  double const unit = 0.25 / 0.9;
  CHECK(cost_of(shared.made, "low-occupancy") ==
        exactly(kernel_ns * (6.0 / 7.0 - unit * unit / (1.0 / 7.0 + unit))));
  p.set(p.attention, "sm__warps_active.sum", 132 * 1e6 * 64 * 0.399);
  CHECK(cost_of(p.made, "low-occupancy") > 0.0);
  p.set(p.attention, "sm__warps_active.sum", 132 * 1e6 * 64 * 0.401);
  CHECK(cost_of(p.made, "low-occupancy") == 0.0);
  CHECK(cost_of(p.made, "latency-bound") == exactly(above(0.25)));
  p = crowded();
  for (kernel_record& kernel : p.made.kernels) kernel.registers = 80;  // 3 blocks: 37.5 %
  CHECK(cost_of(p.made, "low-occupancy") > 0.0);
  for (kernel_record& kernel : p.made.kernels) kernel.registers = 64;  // 4 blocks
  CHECK(cost_of(p.made, "low-occupancy") == 0.0);
}

TEST_CASE("low-occupancy: ranges with different limits have the fix of both") {
  program p;
  p.run(8, [&] {
    p.in(p.attention, [&](std::uint32_t row) { p.kernel_of(row, 1000 * us).registers = 255; });
    p.in(p.mlp, [&](std::uint32_t row) {
      kernel_record& kernel = p.kernel_of(row, 900 * us);
      kernel.registers = 32;
      kernel.dynamic_shared_bytes = 200 * 1024;
    });
    p.wait();
  });
  for (std::uint32_t const where : {p.attention, p.mlp}) {
    p.count_nothing(where);
    p.set(where, "sm__warps_active.sum", 132 * 1e6 * 8);
  }
  answer const a(p.made);
  finding const* const found = a.find("low-occupancy");
  INFO(a.all());
  REQUIRE(found != nullptr);
  CHECK(found->ranges.size() == 2);
  CHECK(found->title.find(" registers a thread limit ") != std::string::npos);
  CHECK(found->advice == "use smaller tiles: fewer registers or less shared memory");
}

TEST_CASE("low-occupancy: nothing to say of tensor kernels, of one wave, and near a limit") {
  program p = crowded();
  p.use(p.attention, "tensor", 0.2);
  CHECK(cost_of(p.made, "low-occupancy") == exactly(gain_of_crowded(0.25)));
  p.use(p.attention, "tensor", 0.201);
  CHECK(cost_of(p.made, "low-occupancy") == 0.0);
  p = crowded();
  p.use(p.attention, "issue", 0.333);
  CHECK(cost_of(p.made, "low-occupancy") == exactly(gain_of_crowded(0.333)));
  p.use(p.attention, "issue", 0.334);
  CHECK(cost_of(p.made, "low-occupancy") == 0.0);
  for (std::uint32_t const blocks : {132u, 4 * 132u}) {
    p = one_kernel(blocks);
    for (kernel_record& kernel : p.made.kernels) kernel.registers = 255;
    p.set(p.attention, "sm__warps_active.sum", 132 * 1e6 * 8);
    CHECK((cost_of(p.made, "low-occupancy") > 0.0) == (blocks > 132));
  }
}

TEST_CASE("latency-bound: no unit is used by a third of the time") {
  program p = one_kernel();
  CHECK(cost_of(p.made, "latency-bound") == exactly(above(0.25)));
  answer(p.made).first_is("latency-bound", "attention");
  p.use(p.attention, "issue", 0.333);
  CHECK(cost_of(p.made, "latency-bound") == exactly(above(0.333)));
  p.use(p.attention, "issue", 0.334);
  CHECK(cost_of(p.made, "latency-bound") == 0.0);
  // Without time to say.
  CHECK(cost_of(with_blocks(1000).made, "latency-bound") == 0.0);
}

TEST_CASE("latency-bound: a kernel of less than 10 us is not blamed") {
  for (std::int64_t const ns : {10 * us, 10 * us - 1}) {
    program p = with_blocks(10'000, ns, 100);
    p.count_nothing(p.attention);
    CHECK((cost_of(p.made, "latency-bound") > 0.0) == (ns == 10 * us));
  }
}

TEST_CASE("latency-bound: stalls of a fifth of the warps are its evidence") {
  program p = one_kernel();
  counter_set const all = p.counted();
  p.count_only("findings+tensor+stalls");
  for (std::string const& name : p.counted().names)
    if (all.names.index_of(name) == all.names.size()) p.set(p.attention, name, 0);
  p.set(p.attention, "smsp__warps_issue_stalled_long_scoreboard.sum", 0.201 * 132 * 1e6 * 32);
  p.set(p.attention, "smsp__warps_issue_stalled_barrier.sum", 0.199 * 132 * 1e6 * 32);
  answer const a(p.made);
  REQUIRE(a.find("latency-bound") != nullptr);
  CHECK(a.find("latency-bound")->needs.empty());
  std::string columns;
  for (finding_evidence const& proof : a.find("latency-bound")->evidence)
    columns += std::string(proof.column) + " ";
  CHECK(columns == "issue_ns achieved_occupancy stall_long_scoreboard_share ");
  CHECK(answer(p.made)
            .find("latency-bound")
            ->title.find("; warps most often wait for L1, L2 or device memory (long scoreboard)") !=
        std::string::npos);
  std::string const bound = answer(p.made).input.findings.bound;
  CAPTURE(bound);
  CHECK(bound.find("; no unit is saturated: the busiest, issue, is at "
                   "25 % of its peak. Its warps most "
                   "often wait for L1, "
                   "L2 or device memory (long scoreboard).") != std::string::npos);
  CHECK(a.input.roofline.limits[1].text == "latency: long scoreboard");
  CHECK(answer(one_kernel().made).find("latency-bound")->needs == "counters=findings+stalls");
}

TEST_CASE("latency-bound: loads of a warp that wait for each other") {
  // 1,024 warps, which wait for 90 % of their time: all as long as the kernel, or fewer.
  auto const with_loads = [](double loads_of_a_warp, double warps = 1024) {
    program p = one_kernel(128);
    double const cycles = 1e6;
    double const waits = 0.9 * warps * cycles;
    for (char const* name : {"gpu__time_duration.sum", "gpc__cycles_elapsed.avg",
                             "dram__cycles_elapsed.avg", "lts__cycles_elapsed.avg"})
      p.set(p.attention, name, cycles);
    p.hbm(p.attention, 0.01);
    p.set(p.attention, "dram__bytes_read.sum", 0);  // L2 has all
    p.set(p.attention, "sm__warps_active.sum", warps * cycles);
    p.set(p.attention, "smsp__warps_issue_stalled_long_scoreboard.sum", waits);
    p.set(p.attention, "sm__inst_executed_pipe_lsu.sum", warps * loads_of_a_warp);
    p.set(p.attention, "sm__inst_executed_pipe_lsu.sum.peak_sustained", 1e6);
    return p;
  };
  answer const a(with_loads(3600).made);
  finding const* const found = a.find("latency-bound");
  REQUIRE(found != nullptr);
  CAPTURE(found->title);
  CHECK(found->title.find("; each load of a warp waits for the one before: 3,600 in sequence, of "
                          "about 250 ns, take 90 % of the kernel's time; the kernel is work") !=
        std::string::npos);
  CHECK(found->advice.find("shorten the chain where a load returns the address") == 0);
  // Instructions take as long as the waits leave.
  CHECK_FALSE(detail::is_finite(found->best_step_ns));
  auto const with_few_instructions = [&](double loads_of_a_warp) {
    program p = with_loads(loads_of_a_warp);
    p.use(p.attention, "issue", 0.02);
    return p;
  };
  auto const best_gain = [&](program const& p) {
    answer const other(p.made);
    REQUIRE(other.find("latency-bound") != nullptr);
    return other.steps().period_ns() - other.find("latency-bound")->best_step_ns;
  };
  // At best 16 loads of a warp stay, and what the warps do between them, but no less than a limit.
  CHECK(best_gain(with_few_instructions(320)) ==
        doctest::Approx((1.0 - 16.0 / 320) * kernel_ns).epsilon(1e-4));
  program few = with_few_instructions(3600);
  CHECK(best_gain(few) == doctest::Approx(above(0.02)).epsilon(1e-4));
  // The work of the loads goes, that of as many stores stays.
  few.l1(few.attention, 0.3 * program::l1_peak * kernel_ns, 0.0);
  CHECK(best_gain(few) == doctest::Approx(above(0.02)).epsilon(1e-4));
  few.set(few.attention, "l1tex__t_sectors.sum", 2 * 0.01 * program::hbm_peak * kernel_ns / 32);
  CHECK(best_gain(few) == doctest::Approx(above(0.15)).epsilon(0.002));
  // Warps that take 80 % of the kernel wait for 72 % of it.
  answer const shorter(with_loads(3600, 0.8 * 1024).made);
  REQUIRE(shorter.find("latency-bound") != nullptr);
  CHECK(shorter.find("latency-bound")
            ->title.find("2,900 in sequence, of about 250 ns, take 72 % of the kernel's time;") !=
        std::string::npos);
  // Few loads, and loads sooner after each other than L2 answers: several are in flight.
  for (double const loads : {10.0, 4600.0}) {
    answer const other(with_loads(loads).made);
    REQUIRE(other.find("latency-bound") != nullptr);
    CHECK(other.find("latency-bound")->title.find("each load of a warp") == std::string::npos);
    CHECK(other.find("latency-bound")->advice.find("keep more loads in flight") == 0);
    CHECK_FALSE(detail::is_finite(other.find("latency-bound")->best_step_ns));
  }
  // Device memory takes twice as long, and warps that take half of the kernel are no chain as long
  // as it.
  program memory = with_loads(3600);
  memory.set(memory.attention, "dram__bytes_read.sum", 0.01 * program::hbm_peak * 1e6);
  CHECK(answer(memory.made).find("latency-bound")->advice.find("keep more loads") == 0);
  answer const half(with_loads(3600, 0.53 * 1024).made);
  REQUIRE(half.find("latency-bound") != nullptr);
  CHECK(half.find("latency-bound")->advice.find("keep more loads") == 0);
}

TEST_CASE("counts of other work than was timed prove nothing of the kernels") {
  for (std::uint32_t const launches : {1u, 3u}) {  // of a counted step; a timed one has one
    CAPTURE(launches);
    auto const rules_of = [launches](program& p) {
      for (std::uint32_t pass = 0; pass < 3; ++pass)
        p.counted().work.push_back({p.attention, pass, launches, 0, 5, 6, 100});
      return causes_of(p.made);
    };
    bool const same = launches == 1;
    program p = one_kernel();
    CHECK(rules_of(p) == (same ? "latency-bound " : ""));
    p = one_kernel();
    p.set(p.attention, "lts__t_sectors_op_red.sum", 0.5 * 0.2 * 4.8e9 / 32);
    CHECK(rules_of(p) == (same ? "atomics " : ""));
    p = one_kernel();
    for (range_record& call : p.made.ranges) p.describe(call).flops = 1e9;
    p.use(p.attention, "fma", 0.5);
    p.set(p.attention, fused_adds, 1e9);
    CHECK(rules_of(p) == (same ? "declared-work " : ""));
    p = queueing(550.0 * 1e3);  // loads wait, whatever the units do
    CHECK(rules_of(p) == (same ? "uncoalesced " : ""));
    p = spilling(0.5);
    CHECK(rules_of(p) == (same ? "register-spills " : ""));
    p = moving(0.6, 0.2);  // of which no unit has to be known
    CHECK(rules_of(p) == (same ? "extra-traffic " : ""));
    p = product(0.8);
    CHECK(rules_of(p) == (same ? "fp32-without-tensor " : ""));
  }
}

TEST_CASE("a kernel is far from all limits only where all units were counted") {
  // Of a product of 90 % the tensor cores, and of a copy of 80 % device memory, was not counted.
  for (char const* const lost : {"sm__pipe_tensor_cycles_active.sum", "dram__bytes_read.sum"}) {
    CAPTURE(lost);
    program p = one_kernel(150);
    for (kernel_record& kernel : p.made.kernels) kernel.registers = 255;
    p.set(p.attention, "lts__t_sectors_op_red.sum", 0.5 * 0.2 * 4.8e9 / 32);
    p.set(p.attention, "sm__warps_active.sum", 132 * 1e6 * 8);
    p.drop(lost);
    CHECK(causes_of(p.made) == "");
    answer const a(p.made);
    CHECK(a.input.roofline.limits[1].text == "");
    std::string undecided;
    for (undecided_rule const& rule : a.input.findings.undecided)
      undecided += std::string(rule.rule) + " ";
    CHECK(undecided.find("tail-wave sm-imbalance low-occupancy occupancy-gap latency-bound") !=
          std::string::npos);
  }
}

TEST_CASE("ranges of several kernels are left to kernels=") {
  for (std::int64_t const second : {199, 201}) {
    program p;
    p.run(4, [&] {
      p.in(p.attention, [&](std::uint32_t where) {
        p.kernel_of(where, (1000 - second) * us);
        p.kernel_of(where, second * us, 2000).name = 2;
      });
      p.wait();
    });
    p.made.kernel_names.push_back({"other"});
    p.count_nothing(p.attention);
    answer const a(p.made);
    bool const one_takes_80_percent = second < 200;
    CHECK((a.find("latency-bound") != nullptr) == one_takes_80_percent);
    CHECK(a.input.findings.undecided.size() == (one_takes_80_percent ? 0 : 5));
    if (!one_takes_80_percent)
      CHECK(a.input.findings.undecided[0].needs() == "counters=findings,kernels=attention");
  }
}

TEST_CASE(
    "of ranges of several kernels the most expensive is named, and up to 60 % for a last wave") {
  for (double const use : {0.3, 0.5, 0.61}) {
    CAPTURE(use);
    program p;
    p.run(4, [&] {
      for (std::uint32_t const range : {p.attention, p.mlp})
        p.in(range, [&](std::uint32_t where) {
          p.kernel_of(where, 500 * us);
          p.kernel_of(where, (range == p.mlp ? 500 : 400) * us).name = 2;
        });
      p.wait();
    });
    p.made.kernel_names.push_back({"other"});
    for (std::uint32_t const range : {p.attention, p.mlp}) {
      p.count_nothing(range);
      p.use(range, "fma", use);
    }
    std::string undecided;
    answer const a(p.made);
    for (undecided_rule const& rule : a.input.findings.undecided)
      undecided += std::string(rule.rule) + ' ' + rule.range + ' ';
    CHECK(undecided == (use > 0.6   ? ""
                        : use > 0.4 ? "tail-wave mlp sm-imbalance mlp "
                                    : "tail-wave mlp sm-imbalance mlp low-occupancy mlp "
                                      "occupancy-gap mlp latency-bound mlp "));
  }
}

TEST_CASE("kernels of graphs cannot be counted one by one: graphs are to be switched off") {
  program p;
  p.made.kernel_names.push_back({"other"});
  p.run(4, [&] {
    p.in(p.attention, [&](std::uint32_t where) {
      std::uint32_t const id = p.api(where, 5 * us, api_kind::graph_launch);
      for (int i = 0; i < 10; ++i) {
        kernel_record& node = p.kernel(id, p.now + 100 * us * i, p.now + 100 * us * (i + 1));
        node.grid_x = 1000;
        node.name = 1 + i % 2;
      }
      p.free = p.now + 1000 * us;
    });
    p.wait();
  });
  p.made.device = detail::sum_records(p.made);
  p.made.device.complete = true;
  p.count_nothing(p.attention);
  answer const a(p.made);
  REQUIRE_FALSE(a.input.findings.undecided.empty());
  for (undecided_rule const& rule : a.input.findings.undecided)
    CHECK_MESSAGE(rule.decider == deciding::no_graphs, rule.rule);
  CHECK(std::any_of(a.input.findings.undecided.begin(), a.input.findings.undecided.end(),
                    [](undecided_rule const& rule) { return rule.rule == "atomics"; }));
  REQUIRE(a.input.account.largest_unknown() != nullptr);
  CHECK(a.input.account.largest_unknown()->tells.without_graphs);
}

TEST_CASE("a finding asks for no counts of another range; the rule stays open for that one") {
  program p;
  p.made.kernel_names.push_back({"other"});
  p.run(4, [&] {
    p.in(p.attention, [&](std::uint32_t where) { p.kernel_of(where, 1000 * us); });
    p.in(p.mlp, [&](std::uint32_t where) {
      p.kernel_of(where, 500 * us);
      p.kernel_of(where, 500 * us).name = 2;
    });
    p.wait();
  });
  for (std::uint32_t const range : {p.attention, p.mlp}) p.count_nothing(range);
  answer const a(p.made);
  finding const* const found = a.find("latency-bound");
  REQUIRE(found != nullptr);
  CHECK(found->path == "attention");
  CHECK(found->needs.find("mlp") == std::string::npos);
  bool is_open = false;
  for (undecided_rule const& rule : a.input.findings.undecided)
    is_open = is_open || (rule.rule == "latency-bound" && rule.range == "mlp");
  CHECK(is_open);
}

TEST_CASE("where another cause explains 30 % of the kernels, no rule of waits has more to say") {
  for (double const explained : {0.29, 0.31}) {
    // Spills of L1 at 32 %: they take 40 % of the time; a unit less than a third.
    program p = one_kernel();
    double const wavefronts = 0.32 * program::l1_peak * kernel_ns;
    p.l1(p.attention, wavefronts, 0.0);
    p.set(p.attention, "l1tex__t_sectors.sum", 4 * wavefronts);
    p.set(p.attention, "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum",
          4 * wavefronts * explained / 0.4);
    CHECK(cost_of(p.made, "register-spills") == exactly(explained * kernel_ns));
    // Both together leave the time at the limit.
    double const left = above(0.32) - explained * kernel_ns;
    CHECK(cost_of(p.made, "latency-bound") ==
          (explained < 0.3 ? exactly(left) : doctest::Approx(0.0)));
  }
}

// --- kernels that are as good as they get ---

TEST_CASE("silent: a TF32 product at 93 % of the tensor cores whose L1 sectors are all local") {
  program p = one_kernel();
  p.hbm(p.attention, 0.15);
  p.use(p.attention, "tensor", 0.93);
  p.use(p.attention, "issue", 0.2);
  p.l1(p.attention, 0.0, 0.45 * program::l1_peak * kernel_ns);
  p.set(p.attention, load_sectors, 0);  // TMA
  p.set(p.attention, global_loads, 0);
  p.set(p.attention, "l1tex__t_sectors.sum", 1e6);
  p.set(p.attention, "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum", 1e6);
  p.set(p.attention, "sm__ops_path_tensor_src_tf32_dst_fp32.sum", 0.8 * 494.5e9);
  CHECK(causes_of(p.made) == "");
  CHECK(answer(p.made).input.roofline.limits[1].text == "tensor 93 %");
  p.use(p.attention, "tensor", 0.5);  // nor is it the spills where tensor cores are used less
  CHECK(causes_of(p.made) == "");
}

TEST_CASE("silent: an FP8 product at 72 % with an epilogue of a few uncoalesced sectors") {
  program p = one_kernel();
  p.hbm(p.attention, 0.3);
  p.use(p.attention, "tensor", 0.72);
  p.set(p.attention, "lts__t_bytes.sum", 0.6 * 1e10);
  p.set(p.attention, "lts__t_sectors.sum", 0.6 * 1e10 / 32);
  p.l1(p.attention, 1e6, 0.2 * program::l1_peak * kernel_ns);  // TMA passes global loads by
  p.set(p.attention, load_sectors, 1e6);
  p.set(p.attention, global_loads, 4e6);  // an eighth of them
  p.set(p.attention, "sm__ops_path_tensor_src_fp8.sum", 0.7 * 1978e9);
  CHECK(causes_of(p.made) == "");
}

TEST_CASE("silent: flash attention, issue 41 %, tensor 36 %, occupancy 12 %") {
  program p = crowded();
  p.use(p.attention, "issue", 0.41);
  p.use(p.attention, "tensor", 0.36);
  CHECK(causes_of(p.made) == "");
  CHECK(answer(p.made).input.roofline.limits[1].text == "latency");
}

TEST_CASE("silent: softmax at 75 % of the issue slots") {
  program p = one_kernel();
  p.hbm(p.attention, 0.55);
  p.use(p.attention, "issue", 0.75);
  p.use(p.attention, "xu", 0.3);
  CHECK(causes_of(p.made) == "");
}

TEST_CASE("silent: an FP64 product at 90 % of the tensor cores") {
  program p = one_kernel();
  p.use(p.attention, "tensor", 0.9);
  p.set(p.attention, double_fused_adds, 1e6);  // of the epilogue
  CHECK(causes_of(p.made) == "");
}

TEST_CASE("silent: a triad at 75 % of device memory") {
  program p = moving(0.75, 0.75);
  p.set(p.attention, fused_adds, 0.75 * 4.8e9 / 12);
  CHECK(causes_of(p.made) == "");
  CHECK(answer(p.made).input.roofline.limits[1].text == "HBM 75 %");
}

TEST_CASE("silent: polynomials in registers at 90 % of FP32") {
  program p = one_kernel();
  p.hbm(p.attention, 0.01);
  p.use(p.attention, "fma", 0.9);
  p.set(p.attention, fused_adds, 0.9 * 33.5e9);
  CHECK(causes_of(p.made) == "");
}

// --- several ranges ---

TEST_CASE("one cause in five ranges is one finding with five ranges, what costs most first") {
  program p;
  std::uint32_t const ranges[] = {p.attention, p.mlp, p.other, p.node(0, "norm"),
                                  p.node(0, "head")};
  std::uint32_t const blocks[] = {22, 33, 4, 11, 37};
  p.run(4, [&] {
    for (int i = 0; i < 5; ++i)
      p.in(ranges[i], [&](std::uint32_t where) { p.kernel_of(where, 100 * us, blocks[i]); });
    p.wait();
  });
  answer const a(p.made);
  INFO(a.all());
  REQUIRE(a.findings().size() == 1);
  finding const& cause = a.findings()[0];
  CHECK(cause.rule == "few-blocks");
  char const* const paths[] = {"sample", "norm", "attention", "mlp", "head"};
  double const costs[] = {1 - 4 / 132.0, 1 - 11 / 132.0, 1 - 22 / 132.0, 0.75, 1 - 37 / 132.0};
  double sum = 0.0;
  REQUIRE(cause.ranges.size() == 5);
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(cause.ranges[i].path == paths[i]);
    CHECK(cause.ranges[i].cost_ns_per_step == exactly(costs[i] * 100 * us));
    sum += costs[i] * 100 * us;
  }
  CHECK(cause.path == "sample");
  CHECK(cause.cost_ns_per_step == exactly(sum));
  // The launches of 3 us hide behind the kernels: all of it is gained but what the device waits
  // for them then, a launch later.
  double const step = a.steps().mean_ns;
  CHECK(step == exactly(3'500 + 500'000 + 4 * 500 + 2'000));
  CHECK(cause.predicted_step_ns >= step - sum);
  CHECK(cause.predicted_step_ns == doctest::Approx(step - sum).epsilon(0.001));
  CHECK(cause.evidence.size() == 4 * 3);  // of four ranges
  std::string const text = text_of(a, false);
  INFO(text);
  CHECK(text.find(
            "few-blocks: sample and 4 more ranges: work has 4 blocks for 132 SMs (in sample).") !=
        std::string::npos);
  CHECK(text.find("more in findings.json") == std::string::npos);
  nlohmann::json const json = nlohmann::json::parse(text_of(a, true));
  CHECK(json["findings"][0]["ranges"].size() == 5);
  CHECK(json["findings"][0]["shortens_step"] == true);
  CHECK(json["findings"][0]["gain_ns_per_step"].get<double>() ==
        doctest::Approx(sum).epsilon(0.001));
}

TEST_CASE("ranges of less than 0.2 % of the step do not count with the others") {
  // Of 1,000 us and a little: 2 us and more are worth it.
  for (std::int64_t const small : {1'990, 2'110}) {
    program p;
    p.run(4, [&] {
      p.in(p.attention, [&](std::uint32_t) { p.now += 0; });
      p.in(p.mlp, [&](std::uint32_t where) { p.kernel_of(where, 890 * us); });
      p.wait();
      p.in(p.attention, [&](std::uint32_t) { p.now += 100 * us; });
      p.in(p.other, [&](std::uint32_t) { p.now += small; });
    });
    answer const a(p.made);
    INFO(a.all());
    REQUIRE(a.find("host-work") != nullptr);
    bool const counts = small > 2'000;
    CHECK(a.find("host-work")->ranges.size() == (counts ? 2 : 1));
    CHECK(a.find("host-work")->cost_ns_per_step ==
          exactly(100'000.0 + (counts ? static_cast<double>(small) : 0.0)));
  }
}

TEST_CASE("what does not shorten the step is folded on the console") {
  // The host takes 100 us for each launch; kernels of 4 blocks take 90 us of them.
  program p;
  p.run(4, [&] {
    if (p.step == 0) p.now += 20'000 * us;
    p.in(p.attention, [&](std::uint32_t where) {
      for (int i = 0; i < 20; ++i) {
        p.kernel_of(where, 90 * us, 4);
        p.now += 97 * us;
      }
    });
    p.wait();
  });
  answer const a(p.made);
  INFO(a.all());
  finding const* const blocks = a.find("few-blocks");
  REQUIRE(blocks != nullptr);
  CHECK(blocks->cost_ns_per_step == exactly(20 * 90 * us * (1 - 4 / 132.0)));
  CHECK(blocks->leaves_step(a.steps().mean_ns));
  CHECK(a.findings()[0].rule == "host-work");  // it gains more, whatever it costs
  REQUIRE(a.findings().size() == 4);
  CHECK(a.findings()[2].rule == "first-step");
  CHECK(a.findings().back().rule == "few-blocks");
  std::string const text = text_of(a, false);
  INFO(text);
  CHECK(text.find(": few-blocks:") == std::string::npos);
  CHECK(text.find("alone no gain: finding 4 (few-blocks)") != std::string::npos);
  nlohmann::json const json = nlohmann::json::parse(text_of(a, true));
  for (nlohmann::json const& cause : json["findings"])
    CHECK((cause["rule"] == "few-blocks" || cause["rule"] == "first-step") ==
          !cause["shortens_step"].get<bool>());
}

TEST_CASE("the console has three causes, in the order of what they gain, and the rest by number") {
  program p;
  p.run(4, [&] {
    p.in(p.attention, [&](std::uint32_t where) { p.kernel_of(where, 400 * us, 4); });
    p.wait();
    p.in(p.other, [&](std::uint32_t) { p.now += 300 * us; });
    p.in(p.mlp,
         [&](std::uint32_t where) { p.copy_of(where, copy_kind::host_to_device, 200 * us, true); });
    p.now += 100 * us;
  });
  answer const a(p.made);
  INFO(a.all());
  REQUIRE(a.findings().size() == 4);
  char const* const rules[] = {"few-blocks", "host-work", "pageable-copy", "gap-between-ranges"};
  double const step = a.steps().mean_ns;
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(a.findings()[i].rule == rules[i]);
    if (i > 0) CHECK(a.findings()[i - 1].gain_ns(step) >= a.findings()[i].gain_ns(step));
  }
  std::string const text = text_of(a, false);
  INFO(text);
  std::size_t from = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    from = text.find("finding " + std::to_string(i + 1) + ": " + rules[i], from);
    REQUIRE(from != std::string::npos);
  }
  CHECK(text.find("finding 4:") == std::string::npos);
  CHECK(text.find("in findings.json: finding 4 (") != std::string::npos);
}

}  // namespace kernel_rules_test
