// Which formats of the tensor cores still have to be counted.
#include <doctest/doctest.h>
#include <strata/profile/tensor_formats.hpp>

#include <cstdint>
#include <limits>
#include <map>
#include <string>

namespace tensor_formats_test {

using namespace strata;

namespace {

constexpr char const* cycles = "sm__pipe_tensor_cycles_active.sum";
constexpr char const* cycles_peak = "sm__pipe_tensor_cycles_active.sum.peak_sustained";
constexpr char const* elapsed = "gpc__cycles_elapsed.avg";
constexpr char const* bf16 = "sm__ops_path_tensor_src_bf16_dst_fp32.sum";
constexpr char const* peak =
    "sm__ops_path_tensor_src_bf16_dst_fp32_sparsity_off.sum.peak_sustained";
constexpr char const* tf32 = "sm__ops_path_tensor_src_tf32_dst_fp32.sum";
constexpr char const* tf32_peak =
    "sm__ops_path_tensor_op_utchmma_src_tf32_dst_fp32_sparsity_off.sum.peak_sustained";
constexpr char const* fp8 = "sm__ops_path_tensor_src_fp8_dst_fp32.sum";
constexpr char const* fp8_peak =
    "sm__ops_path_tensor_op_utcqmma_src_fp8_dst_fp32_sparsity_off.sum.peak_sustained";

/// Counts by range: 528 cycles of the pipe and 1,000,000 operations of BF16 a cycle at most, half
/// of them of TF32, twice as many of FP8.
struct counts {
  vec<std::string> names;
  vec<counter_value> values;

  counts& in(std::uint32_t range, std::map<std::string, double> const& counted) {
    for (auto const& each : counted) {
      if (names.index_of(each.first) == names.size()) names.push_back(each.first);
      auto const place = static_cast<std::uint32_t>(names.index_of(each.first));
      values.push_back({range, place, each.second});
    }
    return *this;
  }
  bool is_explained() const { return detail::tensor_work(names, values).is_explained(); }
};

counts peaks() {
  return counts().in(1, {{cycles_peak, 528.0}, {peak, 1e6}, {tf32_peak, 0.5e6}, {fp8_peak, 2e6}});
}

}  // namespace

TEST_CASE("tensor formats: half of the pipe's operations explain its cycles") {
  // 1,000 cycles, of which the pipe works 400: 400e6 operations of BF16 at most.
  CHECK(peaks().in(1, {{elapsed, 1000}, {cycles, 400 * 528.0}, {bf16, 200e6}}).is_explained());
  CHECK_FALSE(
      peaks().in(1, {{elapsed, 1000}, {cycles, 400 * 528.0}, {bf16, 199e6}}).is_explained());
  CHECK_FALSE(peaks().in(1, {{elapsed, 1000}, {cycles, 400 * 528.0}}).is_explained());
}

TEST_CASE("tensor formats: each at its own speed") {
  CHECK(peaks().in(1, {{elapsed, 1000}, {cycles, 400 * 528.0}, {tf32, 100e6}}).is_explained());
  CHECK_FALSE(peaks().in(1, {{elapsed, 1000}, {cycles, 400 * 528.0}, {tf32, 99e6}}).is_explained());
  CHECK(peaks().in(1, {{elapsed, 1000}, {cycles, 400 * 528.0}, {fp8, 400e6}}).is_explained());
  CHECK_FALSE(peaks().in(1, {{elapsed, 1000}, {cycles, 400 * 528.0}, {fp8, 399e6}}).is_explained());
  // Together: a quarter from each.
  CHECK(peaks()
            .in(1, {{elapsed, 1000}, {cycles, 400 * 528.0}, {tf32, 50e6}, {fp8, 200e6}})
            .is_explained());
}

TEST_CASE("tensor formats: a path has the peak that the chip names for it") {
  detail::tensor_peaks known;
  auto const path = [](char const* what) {
    return "sm__ops_path_tensor_" + std::string(what) + ".sum";
  };
  auto const add = [&](std::string const& name, double operations) {
    static std::map<std::string, double> kept;
    known.add(kept.insert({name, operations}).first->first, operations);
  };
  add(path("op_utcqmma_src_fp4_fp6_fp8_dst_fp32_sparsity_off"), 16384);  // GB100
  add(path("op_utcomma_src_fp4_dst_fp32_sparsity_off"), 32768);
  CHECK(known.of(path("src_fp4_fp6_fp8_dst_fp32")) == 16384);
  CHECK(known.of(path("src_fp4_fp6_fp8_dst_fp16")) == 0.0);
  CHECK(known.of(path("src_fp4_dst_fp32")) == 32768);
  CHECK(known.of(path("src_int8")) == 0.0);
  add(path("src_fp8_dst_fp32_sparsity_off"), 2048);  // GB202
  CHECK(known.of(path("src_fp4_fp6_dst_fp32")) == 2048);
  add(path("src_fp16_bf16_tf32_dst_fp32"), 1024);  // TU102
  CHECK(known.of(path("src_fp16_dst_fp32")) == 1024);
  CHECK(known.of(path("src_fp16_dst_fp16")) == 0.0);
  add(path("src_fp16_dst_fp16"), 2048);  // GeForce: sums in FP32 have half the speed
  CHECK(known.of(path("src_fp16_dst_fp16")) == 2048);
  CHECK(known.of(path("src_fp16_dst_fp32")) == 1024);
  // GH100: whatever the sums.
  detail::tensor_peaks hopper;
  hopper.add("sm__ops_path_tensor_op_hgmma_src_fp16_sparsity_off.sum.peak_sustained", 4096);
  CHECK(hopper.of(path("src_fp16")) == 4096);
  // Work whose peak is not known explains nothing.
  CHECK_FALSE(
      peaks()
          .in(1,
              {{elapsed, 1000}, {cycles, 400 * 528.0}, {"sm__ops_path_tensor_src_int8.sum", 1e12}})
          .is_explained());
}

TEST_CASE("tensor formats: a pipe that works for less than 2 % of the time has no products") {
  CHECK(peaks().in(1, {{elapsed, 1000}, {cycles, 19 * 528.0}}).is_explained());
  CHECK_FALSE(peaks().in(1, {{elapsed, 1000}, {cycles, 21 * 528.0}}).is_explained());
  CHECK_FALSE(peaks().in(1, {{cycles, 1.0}}).is_explained());  // of a time that is not known
  CHECK(peaks().in(1, {{elapsed, 1000}, {cycles, 0.0}}).is_explained());
}

TEST_CASE("tensor formats: every range has to be explained by its own operations") {
  counts all = peaks();
  all.in(1, {{elapsed, 1000}, {cycles, 400 * 528.0}, {bf16, 400e6}});
  CHECK(all.is_explained());
  all.in(2, {{elapsed, 100}, {cycles, 50 * 528.0}, {bf16, 0.0}});
  CHECK_FALSE(all.is_explained());
  all.in(2, {{fp8, 100e6}});
  CHECK(all.is_explained());
}

TEST_CASE("tensor formats: without cycles or peaks nothing is explained") {
  CHECK_FALSE(counts().is_explained());
  CHECK_FALSE(counts().in(1, {{cycles, 1.0}, {peak, 1e6}, {bf16, 1e9}}).is_explained());
  CHECK_FALSE(counts().in(1, {{cycles, 1.0}, {cycles_peak, 528.0}, {bf16, 1e9}}).is_explained());
  double const nan = std::numeric_limits<double>::quiet_NaN();
  CHECK_FALSE(counts().in(1, {{cycles_peak, nan}, {peak, 1e6}}).is_explained());
  counts strange = peaks();
  strange.in(1, {{elapsed, 1000}, {cycles, 400 * 528.0}, {bf16, nan}});
  strange.values.push_back({1, 12345, 1e9});  // an unknown counter
  CHECK_FALSE(strange.is_explained());
}

TEST_CASE("tensor formats: what takes passes of its own") {
  CHECK(detail::counts_tensor_format(bf16));
  CHECK_FALSE(detail::counts_tensor_format(peak));
  CHECK_FALSE(detail::counts_tensor_format(cycles));
  CHECK_FALSE(detail::is_conditional_format(bf16));
  CHECK(detail::is_conditional_format(tf32));
  CHECK(detail::is_conditional_format(fp8));
}

}  // namespace tensor_formats_test
