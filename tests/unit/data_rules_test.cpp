// The rules of data that need not be moved or made, of unaligned products, and of atomics in shared
// memory: a program with the fault, and similar ones without it. Each kernel takes 1 ms a step.
#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "finding_sample.hpp"

namespace data_rules_test {

using namespace strata;
using namespace finding_test;

namespace {

constexpr double kernel_ns = 1e6;
constexpr char const* loads = "smsp__sass_data_bytes_mem_global_op_ld.sum";
constexpr char const* stores = "smsp__sass_data_bytes_mem_global_op_st.sum";
constexpr char const* instructions = "smsp__sass_thread_inst_executed_pred_on.sum";
constexpr char const* accesses = "sm__inst_executed_pipe_lsu.sum";
constexpr char const* conversions = "smsp__sass_thread_inst_executed_op_conversion_pred_on.sum";
constexpr char const* additions = "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum";

/// The same program with a change.
template <class Change>
program with(program const& p, Change const& change) {
  program other = p;
  change(other);
  return other;
}

/// As many instructions as 16 bytes each need, loaded and stored.
void loads_wide(program& p, std::uint32_t where, double bytes) {
  p.set(where, std::string(accesses) + ".peak_sustained", 132.0);
  p.set(where, accesses, bytes / 8 / 32);
}

/// `times` kernels of 1 ms in `attention`, and one in `mlp` after it.
program two_ranges(std::uint32_t times = 1) {
  program p;
  p.run(8, [&] {
    p.in(p.attention, [&](std::uint32_t at) {
      for (std::uint32_t i = 0; i < times; ++i) p.kernel_of(at, 1000 * us, 10000);
    });
    p.in(p.mlp, [&](std::uint32_t at) { p.kernel_of(at, 100 * us, 10000); });
    p.wait();
  });
  p.count_nothing(p.attention);
  p.count_nothing(p.mlp);
  return p;
}

}  // namespace

TEST_CASE("copying-kernel: as many bytes stored as loaded, and no arithmetic") {
  program p = one_kernel();
  double const bytes = 0.4 * program::hbm_peak * kernel_ns;
  p.hbm(p.attention, 0.8);
  p.set(p.attention, loads, bytes);
  p.set(p.attention, stores, 0.9 * bytes);
  p.set(p.attention, instructions, 0.5 * bytes);
  loads_wide(p, p.attention, bytes);
  answer(p.made).first_is("copying-kernel", "attention");
  CHECK(cost_of(p.made, "copying-kernel") == doctest::Approx(kernel_ns));
  has(title_of(p.made, "copying-kernel"),
      "Data is moved as it is, unless integers are computed from it: 1.79 GiB a step ");
  auto const is_silent_with = [&](auto const& change) {
    CHECK(cost_of(with(p, change).made, "copying-kernel") == 0.0);
  };
  is_silent_with([&](program& o) { o.set(o.attention, additions, 0.1 * bytes); });
  is_silent_with([&](program& o) { o.set(o.attention, stores, 0.5 * bytes); });  // gathers
  is_silent_with([&](program& o) { o.drop(stores); });
  is_silent_with([&](program& o) { o.drop(additions); });
  is_silent_with([&](program& o) { o.made.kernel_names[0] = {"relu_kernel"}; });
  is_silent_with([&](program& o) { o.set(o.attention, instructions, 4.1 * bytes); });  // hashes
  is_silent_with([&](program& o) { o.set(o.attention, instructions, 2.1 * bytes); });
  for (char const* const hash :
       {"hash_kernel", "MurmurHash3", "void crc32<4>(int*)", "rows_popcount"})
    is_silent_with([&](program& o) { o.made.kernel_names[0] = {hash}; });
  program const of_table =
      with(p, [](program& o) { o.made.kernel_names[0] = {"_Z9copy_rowsP9hash_table"}; });
  CHECK(cost_of(of_table.made, "copying-kernel") > 0.0);
  is_silent_with([&](program& o) {
    o.set(o.attention, "smsp__sass_thread_inst_executed_op_conversion_pred_on.sum", 0.1 * bytes);
  });
}

TEST_CASE(
    "copying-kernel: divisions of integers compute addresses, conversions beside them values") {
  program p = one_kernel();
  double const bytes = 0.4 * program::hbm_peak * kernel_ns;
  p.hbm(p.attention, 0.8);
  p.set(p.attention, loads, bytes);
  p.set(p.attention, stores, bytes);
  p.set(p.attention, instructions, 8.0 * bytes);
  p.set(p.attention, conversions, 0.002 * bytes);
  CHECK(cost_of(p.made, "copying-kernel") == 0.0);
  p.set(p.attention, "sm__inst_executed_pipe_xu.sum", 0.003 * bytes / 32);  // with reciprocals
  CHECK(cost_of(p.made, "copying-kernel") == doctest::Approx(kernel_ns));
  has(title_of(p.made, "copying-kernel"), "of values; what reads a copy could read the original");
  // As many multiply-adds of half precision may be constants; more compute.
  double const divisions = 0.001 * bytes;
  auto const multiply_add = [&](double times) {
    return with(p, [&](program& o) {
      o.set(o.attention, "smsp__sass_thread_inst_executed_op_hfma_pred_on.sum", times * divisions);
    });
  };
  has(title_of(multiply_add(1.2).made, "copying-kernel"),
      "of values (its multiply-adds of half precision, about one for each division of integers, "
      "are taken for constants of these); what reads");
  CHECK(cost_of(multiply_add(1.3).made, "copying-kernel") == 0.0);
  CHECK(cost_of(with(p, [](program& o) { o.made.kernel_names[0] = {"hash_kernel"}; }).made,
                "copying-kernel") == 0.0);
  p.set(p.attention, conversions, 0.006 * bytes);  // of values, too
  CHECK(cost_of(p.made, "copying-kernel") == 0.0);
  p.set(p.attention, conversions, 0.002 * bytes);
  p.use(p.attention, "issue", 0.9);  // integer-work tells more
  CHECK(cost_of(p.made, "copying-kernel") == 0.0);
}

TEST_CASE("copying-kernel: a tenth of the step at least") {
  program p = two_ranges(2);
  double const bytes = 0.04 * program::hbm_peak * kernel_ns;
  p.set(p.mlp, loads, bytes);
  p.set(p.mlp, stores, bytes);
  p.set(p.mlp, instructions, bytes);
  CHECK(cost_of(p.made, "copying-kernel") == 0.0);  // 100 us of 2.1 ms
  program long_copy;
  long_copy.run(8, [&] {
    long_copy.in(long_copy.mlp,
                 [&](std::uint32_t at) { long_copy.kernel_of(at, 300 * us, 10000); });
    long_copy.in(long_copy.attention,
                 [&](std::uint32_t at) { long_copy.kernel_of(at, 1000 * us, 10000); });
    long_copy.wait();
  });
  long_copy.count_nothing(long_copy.attention);
  long_copy.count_nothing(long_copy.mlp);
  long_copy.set(long_copy.mlp, loads, bytes);
  long_copy.set(long_copy.mlp, stores, bytes);
  long_copy.set(long_copy.mlp, instructions, bytes);
  loads_wide(long_copy, long_copy.mlp, bytes);
  CHECK(cost_of(long_copy.made, "copying-kernel") > 0.0);
}

TEST_CASE("unread-results: a product whose results what follows does not read") {
  program p = two_ranges();
  p.use(p.attention, "tensor", 0.85);
  double const written = 400u << 20;
  p.set(p.attention, "dram__bytes_write.sum", written);
  p.set(p.mlp, "dram__bytes_read.sum", 0.01 * written);
  answer(p.made).first_is("unread-results", "attention");
  CHECK(cost_of(p.made, "unread-results") > 0.8 * kernel_ns);
  has(title_of(p.made, "unread-results"),
      "A product writes 400 MiB to device memory, of which the rest of the step reads 4.00 MiB");
  auto const is_silent_with = [&](program const& other) {
    CHECK(cost_of(other.made, "unread-results") == 0.0);
  };
  is_silent_with(with(p, [&](program& o) { o.set(o.mlp, "dram__bytes_read.sum", 0.2 * written); }));
  is_silent_with(with(p, [&](program& o) { o.use(o.attention, "tensor", 0.1); }));
  is_silent_with(  // L2 has it
      with(p, [&](program& o) { o.set(o.attention, "dram__bytes_write.sum", 100u << 20); }));
  is_silent_with(with(p, [&](program& o) { o.drop("dram__bytes_read.sum"); }));
  program often = two_ranges(2);  // the second may read what the first wrote
  often.use(often.attention, "tensor", 0.85);
  often.set(often.attention, "dram__bytes_write.sum", written);
  often.set(often.mlp, "dram__bytes_read.sum", 0.01 * written);
  is_silent_with(often);
}

TEST_CASE("unread-results: what reads in the range, below it or around it, or copies") {
  double const written = 400u << 20;
  auto const made = [&](auto const& beside) {
    program p;
    std::uint32_t const inner = p.node(p.attention, "sample");
    std::uint32_t const product = p.node(p.attention, "product");
    p.run(8, [&] {
      p.in(p.attention, [&](std::uint32_t around) {
        p.in(product, [&](std::uint32_t at) { p.kernel_of(at, 1000 * us, 10000); });
        beside(p, around, inner, product);
      });
      p.in(p.mlp, [&](std::uint32_t at) { p.kernel_of(at, 100 * us, 10000); });
      p.wait();
    });
    for (std::uint32_t const where : {p.attention, p.mlp, inner, product}) {
      p.count_nothing(where);
      p.set(where, "dram__bytes_read.sum", 0.0);
    }
    p.use(product, "tensor", 0.85);
    p.set(product, "dram__bytes_write.sum", written);
    return p;
  };
  program const alone = made([](program&, auto...) {});
  CHECK(cost_of(alone.made, "unread-results") > 0.8 * kernel_ns);
  program around =
      made([](program& p, std::uint32_t at, auto...) { p.kernel_of(at, 50 * us, 10000); });
  around.set(around.attention, "dram__bytes_read.sum", written);
  CHECK(cost_of(around.made, "unread-results") == 0.0);
  program const again = made([](program& p, std::uint32_t, std::uint32_t, std::uint32_t product) {
    p.in(product, [&](std::uint32_t at) { p.kernel_of(at, 50 * us, 10000); });
  });
  CHECK(cost_of(again.made, "unread-results") == 0.0);
  program const copied = made([](program& p, std::uint32_t at, auto...) {
    p.copy_of(at, copy_kind::device_to_host, 100 * us, false, 400u << 20);
  });
  CHECK(cost_of(copied.made, "unread-results") == 0.0);
}

TEST_CASE("unread-results: nothing is said of the last product of a step") {
  program p = one_kernel();
  p.use(p.attention, "tensor", 0.85);
  p.set(p.attention, "dram__bytes_write.sum", 400u << 20);
  CHECK(cost_of(p.made, "unread-results") == 0.0);
}

TEST_CASE("unaligned-product: kernels that load one or two values at a time, by their names") {
  program p = one_kernel();
  p.use(p.attention, "tensor", 0.2);
  auto const named = [&](char const* name) {
    return with(p, [&](program& o) { o.made.kernel_names[0] = {name}; });
  };
  program const one = named("cutlass_75_tensorop_bf16_s1688gemm_bf16_128x128_tn_align1");
  answer(one.made).first_is("unaligned-product", "attention");
  CHECK(cost_of(one.made, "unaligned-product") ==
        doctest::Approx(kernel_ns * (1.0 - 0.2 / 0.7)).epsilon(1e-3));
  // Instructions of older chips keep the pipe busy for longer than their operations take.
  program counted = one;
  counted.hbm(counted.attention, 0.05);
  counted.set(counted.attention, "sm__ops_path_tensor_src_bf16_dst_fp32.sum", 0.1 * 989e9);
  CHECK(cost_of(counted.made, "unaligned-product") ==
        doctest::Approx(kernel_ns * (1.0 - 0.1 / 0.7)).epsilon(1e-3));
  has(title_of(one.made, "unaligned-product"), "loads 1 value at a time, as its name says");
  has(title_of(named("cutlass_80_tensorop_s1688gemm_align2_x").made, "unaligned-product"),
      "loads 2 values at a time");
  for (char const* const sound :
       {"cutlass_80_tensorop_bf16_s16816gemm_bf16_128x128_64x3_tn_align8",
        "cutlass_80_tensorop_i16832gemm_s8_tn_align16", "cutlass_80_simt_sgemm_128x128_tn_align1",
        "nvjet_tst_128x256_64x4_1x2_h_bz_TNT", "tensorop_align", "norm1_kernel", "conv2d",
        "cutlass_80_tensorop_s1688gemm_x", "cutlass_80_tensorop_d884gemm_64x32_16x4_nn_align1"})
    CHECK(cost_of(named(sound).made, "unaligned-product") == 0.0);
}

TEST_CASE("atomics: what keeps shared memory busy is neither loads nor stores") {
  program p = one_kernel();
  double const wavefronts = 0.86 * program::l1_peak * kernel_ns;
  p.l1(p.attention, 0.0, wavefronts);
  p.set(p.attention, "smsp__sass_data_bytes_mem_shared_op_ld.sum", 0.02 * 128 * wavefronts);
  double const warps = 132 * 1e6 * 32;
  p.set(p.attention, "smsp__warps_issue_stalled_short_scoreboard.sum", 0.6 * warps);
  answer(p.made).first_is("atomics", "attention");
  has(title_of(p.made, "atomics"), "loads and stores are 2 % of what shared memory does");
  auto const is_silent_with = [&](auto const& change) {
    CHECK(cost_of(with(p, change).made, "atomics") == 0.0);
  };
  is_silent_with([&](program& o) {
    o.set(o.attention, "smsp__sass_data_bytes_mem_shared_op_ld.sum", 0.3 * 128 * wavefronts);
  });
  is_silent_with([&](program& o) {
    o.set(o.attention, "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
          0.3 * wavefronts);
  });
  is_silent_with([](program& o) { o.use(o.attention, "tensor", 0.5); });  // operands of products
  is_silent_with([&](program& o) {
    o.set(o.attention, "smsp__warps_issue_stalled_short_scoreboard.sum", 0.2 * warps);
  });
}

}  // namespace data_rules_test
