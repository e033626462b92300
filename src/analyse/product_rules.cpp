#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/text.hpp>
#include <strata/tables/kernel_table.hpp>
#include "device_peaks.hpp"
#include "gains.hpp"
#include "kernel_class.hpp"
#include "kernel_look.hpp"
#include "occupancy.hpp"
#include "roofline.hpp"
#include "rule_context.hpp"
#include "rules.hpp"
#include "speed_of_light.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

// The rules of matrix products: those without tensor cores, and those of tiles that are too small.

STRATA_BEGIN
namespace detail {
namespace {

/// A format of products outside tensor cores, and what the tensor cores have for it.
struct plain_format {
  std::string_view name;    ///< as in the sentence and its roof
  std::string_view flops;   ///< metric
  std::string_view fused;   ///< metric of the multiply-adds
  double fused_flops;       ///< of one
  double bytes;             ///< of a value
  std::string_view tensor;  ///< roof
  std::string_view as;      ///< the format there
};

/// Bytes of operands: what threads ask L1 and shared memory for.
double operand_bytes(rule_context const& run, std::size_t row) noexcept {
  return 32.0 * run.own_or_0(row, "l1_sectors") + run.own_or_0(row, "shared_load_bytes");
}

/// Matrix products: multiply-adds on operands from memory, many for each value that is stored.
bool is_product(rule_context const& run, std::size_t row, plain_format const& of,
                double flops) noexcept {
  // FLOP by byte of L1 and shared memory for values of 4 bytes; chosen: polynomials have more.
  constexpr double reuse = 60.0;
  constexpr double nearly_all = 0.9;  // of the FLOP; chosen
  // Multiply-adds; chosen: a head of attention has 64 or more, a depthwise convolution has
  // its taps: 31, or 49 of 7 x 7. With more taps, only the name tells (is_depthwise).
  constexpr double fewest = 60.0;
  double const stored = run.own_or_0(row, "global_store_bytes") / of.bytes;
  kernel_row const* const kernel = kernel_of(run, row);
  return (kernel == nullptr || !is_depthwise(*kernel)) &&
         of.fused_flops * run.own_or_0(row, of.fused) > nearly_all * flops &&
         flops >= 2.0 * fewest * stored && flops < reuse * 4.0 / of.bytes * operand_bytes(run, row);
}

/// Whether values are used again on the chip as only products do: however slow, it is one.
/// A product of a matrix and a vector does 0.5 FLOP for a byte that L2 gives, functions of single
/// values use each once; a product of tiles of 16 does 8, one without tiles 4.
bool is_reusing(rule_context const& run, std::size_t row, plain_format const& of,
                double flops) noexcept {
  constexpr double least_flops = 2.5;  // by byte of L2, for values of 4 bytes
  constexpr double least_reads = 2.0;  // of each byte of L2
  double const l2_bytes = run.own(row, "l2_bytes");
  return flops > least_flops * 4.0 / of.bytes * l2_bytes &&
         operand_bytes(run, row) >= least_reads * l2_bytes;
}

/// How many times the peak of a format the tensor cores have; NaN where that is not known.
double times_faster(rule_context const& run, std::size_t row, plain_format const& of) noexcept {
  double const roofs = run.in.roofline.rate_of(of.tensor) / run.in.roofline.rate_of(of.name);
  if (is_finite(roofs)) return roofs;
  // FP64's has no roof where no tensor core works on it.
  return of.name == "FP64"
             ? run.own(row, "tensor_fp64_peak_per_cycle") / run.own(row, "fp64_peak_per_cycle")
             : roofs;
}

rule_result without_tensor(rule_context const& run, plain_format const& of) {
  // The part of the TF32 roof that cuBLAS reaches: 0.80 at 4,096 x 4,096 (H200, CUDA 13.0).
  constexpr double library_use = 0.75;
  constexpr double least_use = 0.1;  // of the tensor cores, and of the format's peak; chosen
  constexpr double few = 0.05;       // of the FLOP; chosen
  // Of the time at FP16's peak: what compilers do there to load constants (roofline.cpp).
  constexpr double constants = 0.01;
  // By byte of L2, for values of 4 bytes: a tile of 32 x 32. A convolution of 31 taps for each
  // channel does 5, at 46 % of FP32's peak (H200). Chosen.
  constexpr double least_flops = 8.0;
  return look_at_counted(
      run, of.flops, [&](std::size_t row, double ns) -> std::optional<candidate> {
        double const flops = run.own(row, of.flops);
        double const plain_ns = run.at_roof_ns(flops, of.name);
        double const hbm_ns =
            run.at_roof_ns(run.own_or_0(row, "hbm_bytes"), run.in.roofline.memory);
        // The pipe's instructions are no proof: a kernel without products has some on an H200.
        double const tensor = run.tensor_flops(row, counter_scope::self);
        if (!is_product(run, row, of, flops) || tensor >= few * flops || !(plain_ns > hbm_ns))
          return std::nullopt;
        bool const is_other = of.name != "FP32" && (flops < 0.5 * run.own_or_0(row, "flop") ||
                                                    plain_ns < constants * ns);
        bool const is_fast = plain_ns > least_use * ns &&
                             flops >= least_flops * 4.0 / of.bytes * run.own_or_0(row, "l2_bytes");
        bool const is_sure = is_fast || is_reusing(run, row, of, flops);
        if (is_other || !is_sure || run.tensor_core_use(row) > least_use) return std::nullopt;
        double const faster = times_faster(run, row, of);
        double const tensor_ns = plain_ns / faster / library_use;
        if (!is_finite(tensor_ns)) return std::nullopt;
        fix_of_kernels const fix = fix_of_kernels().replaces_all(
            std::max(tensor_ns, hbm_ns / reachable_use(gpu_unit::hbm)));
        double const gain = run.gains.gain(row, fix);
        if (!run.is_worth(gain)) return std::nullopt;
        candidate seen = run.candidate_of_kernels(
            row, gain,
            "An " + std::string(of.name) + " matrix product runs at " +
                percent_text(plain_ns / ns) + " of " + std::string(of.name) +
                " peak; the unused tensor cores have " + amount_text(faster) +
                " times that peak in " + std::string(of.as));
        seen.prove(of.flops, flops, "FLOP");
        seen.prove(of.fused, run.own(row, of.fused), "instructions");
        seen.prove("tensor_flop", tensor, "FLOP");
        return seen;
      });
}

/// How many values a product of tensor cores loads at a time, where that is one or two: cuBLAS and
/// CUTLASS name a kernel after the alignment of its operands (..._align1). 0: more, or not known.
int values_at_a_time(kernel_row const& kernel) {
  constexpr std::string_view pipe = "tensorop";
  constexpr std::string_view word = "align";
  std::string_view const name = kernel.demangled;
  std::size_t const format = name.find(pipe);
  std::size_t const at = name.find(word);
  if (format == name.npos || at == name.npos || format > at || at + word.size() == name.size())
    return 0;
  // Values of 8 bytes and more have one alignment: d884gemm, z884gemm, c1688gemm.
  std::string_view const kind = name.substr(format + pipe.size(), 2);
  if (kind == "_d" || kind == "_z" || kind == "_c") return 0;
  std::string_view const rest = name.substr(at + word.size());
  bool const has_more = rest.size() > 1 && rest[1] >= '0' && rest[1] <= '9';
  return !has_more && (rest[0] == '1' || rest[0] == '2') ? rest[0] - '0' : 0;
}

/// Bytes of a value of the tensor cores' operands, by their format; 0 is unknown.
double bytes_of_format(std::string_view key) noexcept {
  struct entry {
    std::string_view key;
    double bytes;
  };
  constexpr entry known[] = {{"tensor_fp16", 2.0}, {"tensor_bf16", 2.0}, {"tensor_tf32", 4.0},
                             {"tensor_fp8", 1.0},  {"tensor_int8", 1.0}, {"tensor_fp4", 0.5},
                             {"tensor_fp64", 8.0}};
  for (entry const& each : known)
    if (each.key == key) return each.bytes;
  return 0.0;
}

/// What products of tensor cores move through L1 and shared memory where tiles are large, in bytes:
/// tiles of 128 x 128 that are written once, of which warps read parts of 64 x 64.
double needed_bytes(rule_context const& run, std::size_t row) noexcept {
  constexpr double tile = 128.0;
  constexpr double warp_tile = 64.0;
  double bytes = 0.0;
  for (tensor_format const& format : tensor_formats)
    bytes += bytes_of_format(format.key) * run.own_or_0(row, format.key);
  return bytes * (1.0 / tile + 1.0 / warp_tile);
}

/// The time of the tensor cores' operations at the peaks of their formats, or the pipe's busy time
/// where that is less or formats were not counted. Older instructions keep the pipe busy longer:
/// mma.m16n8k8 twice as long (H200).
double tensor_peak_ns(rule_context const& run, std::size_t row) noexcept {
  double ns = 0.0;
  for (tensor_format const& format : tensor_formats) {
    double const flops = work_of(format, [&](std::string_view key) { return run.own(row, key); });
    if (flops > 0.0) ns += run.at_roof_ns(flops, format.roof);
  }
  double const pipe_ns = run.load(row).units[gpu_unit::tensor];
  return ns > 0.0 ? std::min(ns, pipe_ns) : pipe_ns;
}

}  // namespace

rule_result fp32_without_tensor(rule_context const& run) {
  return without_tensor(run, {"FP32", "flop_fp32", "ffma", 2.0, 4.0, "TF32 tensor", "TF32"});
}
rule_result fp16_without_tensor(rule_context const& run) {
  return without_tensor(run, {"FP16", "flop_fp16", "hfma", 4.0, 2.0, "FP16 tensor", "FP16"});
}
rule_result fp64_without_tensor(rule_context const& run) {
  return without_tensor(run, {"FP64", "flop_fp64", "dfma", 2.0, 8.0, "FP64 tensor", "FP64"});
}

rule_result unaligned_product(rule_context const& run) {
  // What aligned products of cuBLAS reach of the peak: median 0.73, lower quartile 0.65 of 31
  // ranges (H200). The peak is at the clock of the unaligned kernel, a tenth above theirs.
  constexpr double library_use = 0.7;
  return look_at_counted(
      run, "tensor_active_cycles", [&](std::size_t row, double ns) -> std::optional<candidate> {
        kernel_row const* unaligned = nullptr;
        double part = 0.0;  // of the range's kernels, by time
        for (kernel_row const& kernel : run.in.kernels) {
          bool const is_own = kernel.path_id == run.rows[row].path_id;
          if (!is_own || values_at_a_time(kernel) == 0) continue;
          part += part_of(kernel.duration.sum(), static_cast<double>(run.rows[row].self.kernel_ns));
          if (unaligned == nullptr || kernel.duration.sum() > unaligned->duration.sum())
            unaligned = &kernel;
        }
        range_limit const& load = run.load(row);
        double const tensor_ns = tensor_peak_ns(run, row);
        if (unaligned == nullptr || part < stands_for_all || !is_finite(tensor_ns))
          return std::nullopt;
        double const hbm_ns = load.units[gpu_unit::hbm] / reachable_use(gpu_unit::hbm);
        fix_of_kernels const fix = fix_of_kernels().replaces_all(
            std::max(tensor_ns / library_use, is_finite(hbm_ns) ? hbm_ns : 0.0));
        double const gain = run.gains.gain(row, fix);
        if (!run.is_worth(gain)) return std::nullopt;
        candidate seen = run.candidate_of_kernels(
            row, gain,
            "The kernel of a matrix product loads " +
                amount_text(values_at_a_time(*unaligned), "value", "values") +
                " at a time, as its name says: rows or pointers are no multiples of 16 B; the "
                "tensor cores are used for " +
                percent_text(load.use(gpu_unit::tensor)) + " of the time");
        run.prove_use(seen, gpu_unit::tensor);
        // Their narrow loads and small tiles are those of that kernel, and go with it.
        for (time_claim& claim : seen.claims) claim.ns = ns;
        return seen;
      });
}

rule_result small_tiles(rule_context const& run) {
  // Times what large tiles need. cuBLAS moves 0.67 times that for BF16 at 8,192, whose L1 is used
  // for 95 %; attention by warps of 16 rows 1.4 times; tiles of 32 x 32 four times.
  constexpr double too_many = 2.0;
  return look_at_counted(
      run, "l1_data_bytes", [&](std::size_t row, double) -> std::optional<candidate> {
        gpu_unit const longest = run.load(row).units.longest();
        double const moved = run.own(row, "l1_data_bytes");
        double const needed = needed_bytes(run, row);
        bool const is_of_l1 = longest == gpu_unit::l1 || longest == gpu_unit::shared;
        if (!is_of_l1 || run.load(row).fraction() < latency_use || !(needed > 0.0) ||
            moved < too_many * needed)
          return std::nullopt;
        fix_of_kernels fix;
        fix.leaves(gpu_unit::l1, needed / moved);
        fix.leaves(gpu_unit::shared, needed / moved);
        fix.leaves(gpu_unit::lsu, needed / moved);
        double const gain = run.gains.gain(row, fix);
        if (!run.is_worth(gain)) return std::nullopt;
        candidate seen = run.candidate_of_kernels(
            row, gain,
            "A product of tensor cores moves " + amount_text(moved / needed) +
                " times the bytes through L1 and shared memory that tiles of 128 x 128 need: " +
                std::string(run.load(row).roof) + " is used for " + run.load(row).percent_text() +
                ", the tensor cores for " + percent_text(run.load(row).use(gpu_unit::tensor)));
        run.prove_own(seen, "l1_data_bytes", "B");
        seen.prove("tensor_flop", run.tensor_flops(row, counter_scope::self), "FLOP");
        run.prove_use(seen, gpu_unit::tensor);
        return seen;
      });
}

}  // namespace detail
STRATA_END
