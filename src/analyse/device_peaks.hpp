#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_DEVICE_PEAKS_HPP
#define STRATA_ANALYSE_DEVICE_PEAKS_HPP

#include <strata/base/macros.hpp>
#include <strata/profile.hpp>
#include <strata/tables/counter_sums.hpp>
#include "devices.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

STRATA_BEGIN
namespace detail {

/// What L1's data path moves in a turn, of shared memory too. Units: bytes.
inline constexpr double wavefront_bytes = 128.0;

/// Schedulers of an SM, each of which issues for one warp a cycle, from compute capability 7.0 on.
inline constexpr double schedulers = 4.0;

/// What a multiprocessor (SM) does in a cycle, by compute capability; 0: not documented.
///
/// Source: FP32, FP64 and FP16 are the results a cycle of "Arithmetic Instructions" in the CUDA C++
/// Programming Guide, an FMA as two. Tensor cores and L1 are those of NVIDIA's white papers (V100,
/// Turing, A100, GA10x, Ada, H100, RTX Blackwell) and, for 7.2, 8.7, 10.x, 11.0 and 12.1, of data
/// sheets of boards and modules, divided by SMs and clock. device_peaks_test compares each line
/// with a board. Tensor rates are dense, and of sums in FP32 where the numbers are floating-point.
struct architecture_rates {
  std::uint32_t capability;  ///< as profile_device::capability()
  double fp32;               ///< FLOP, an FMA is two
  double fp64;
  double fp16;  ///< of two numbers in a register, outside of the tensor cores
  double fp16_tensor;
  double bf16_tensor;
  double tf32_tensor;
  double fp8_tensor;
  double fp4_tensor;
  double int8_tensor;
  double fp64_tensor;
  double l1;  ///< bytes; the same for shared memory
};

// A capability between two lines may be unlike both: 8.7 (Orin) has the tensor cores of 8.0, its
// FP32 is that of 8.6. So no line stands for another.
inline constexpr architecture_rates architecture_table[] = {
    {70, 128, 64, 256, 1024, 0, 0, 0, 0, 0, 0, 128},
    {72, 128, 0, 256, 1024, 0, 0, 0, 0, 2048, 0, 0},
    {75, 128, 4, 256, 1024, 0, 0, 0, 0, 2048, 0, 64},
    {80, 128, 64, 512, 2048, 2048, 1024, 0, 0, 4096, 128, 128},
    {86, 256, 4, 256, 1024, 1024, 512, 0, 0, 2048, 0, 128},
    {87, 256, 0, 0, 2048, 0, 0, 0, 0, 4096, 0, 0},
    {89, 256, 4, 256, 1024, 1024, 512, 2048, 0, 2048, 0, 128},
    {90, 256, 128, 512, 4096, 4096, 2048, 8192, 0, 8192, 256, 128},
    {100, 256, 128, 0, 8192, 8192, 4096, 16384, 32768, 16384, 128, 128},
    {103, 256, 4, 0, 8192, 8192, 4096, 16384, 49152, 0, 0, 128},
    {110, 256, 0, 0, 0, 0, 0, 16384, 32768, 0, 0, 0},
    {120, 256, 4, 256, 1024, 1024, 512, 2048, 4096, 2048, 0, 128},
    {121, 256, 0, 0, 0, 0, 0, 0, 4096, 0, 0, 0}};

/// Work of a format of the tensor cores: its counter, and its peak a cycle.
struct tensor_format {
  std::string_view key;
  std::string_view without;  ///< a part of it that is a format of its own here; empty: none
  std::string_view roof;
  std::string_view peak;
  bool is_common;  ///< has a roof also if none of its work was counted
};
inline constexpr tensor_format tensor_formats[] = {
    {"tensor_bf16", "", "BF16 tensor", "tensor_peak_per_cycle", true},
    {"tensor_fp16", "tensor_fp16_fp16", "FP16 tensor", "tensor_fp16_peak_per_cycle", true},
    {"tensor_fp16_fp16", "", "FP16 tensor, FP16 sums", "tensor_fp16_fp16_peak_per_cycle", false},
    {"tensor_tf32", "", "TF32 tensor", "tensor_tf32_peak_per_cycle", true},
    {"tensor_fp8", "tensor_fp8_fp16", "FP8 tensor", "tensor_fp8_peak_per_cycle", false},
    {"tensor_fp8_fp16", "", "FP8 tensor, FP16 sums", "tensor_fp8_fp16_peak_per_cycle", false},
    {"tensor_fp4", "", "FP4 tensor", "tensor_fp4_peak_per_cycle", false},
    {"tensor_int8", "", "INT8 tensor", "tensor_int8_peak_per_cycle", false},
    {"tensor_fp64", "", "FP64 tensor", "tensor_fp64_peak_per_cycle", false}};

/// The work of a format alone, of which `value` has counts by key; NaN where it was not counted.
template <class Value>
double work_of(tensor_format const& format, Value const& value) {
  double const all = value(format.key);
  double const part = format.without.empty() ? 0.0 : value(format.without);
  return part > 0.0 ? all - part : all;
}

/// The operations of all pipes and of the tensor cores, of which `value` has counts by key; 0 where
/// none was counted.
template <class Value>
double counted_operations(Value const& value) {
  double sum = 0.0;
  auto const add = [&](double some) {
    if (some > 0.0) sum += some;
  };
  for (std::string_view const key : {"flop_fp32", "flop_fp64", "flop_fp16", "flop_fp8"})
    add(value(key));
  for (tensor_format const& format : tensor_formats) add(work_of(format, value));
  return sum;
}

/// The name of the roof that a measurement belongs to: "HBM read" belongs to "HBM".
inline std::string_view roof_of(std::string_view ceiling) noexcept {
  std::size_t const blank = ceiling.find(' ');
  std::string_view const last = blank < ceiling.size() ? ceiling.substr(blank + 1) : "";
  return last == "read" || last == "write" || last == "copy" ? ceiling.substr(0, blank) : ceiling;
}

/// A roof's name and the rate of it.
struct named_rate {
  using rate_of = double architecture_rates::*;  // nvcc's text of such a member warns

  std::string_view roof;
  rate_of rate;
  bool has_fp32_sums;  ///< of products of the tensor cores: GeForce boards do half of them
};
inline constexpr named_rate named_rates[] = {
    {"FP32", &architecture_rates::fp32, false},
    {"FP64", &architecture_rates::fp64, false},
    {"FP16", &architecture_rates::fp16, false},
    {"FP16 tensor", &architecture_rates::fp16_tensor, true},
    {"BF16 tensor", &architecture_rates::bf16_tensor, true},
    {"FP16 tensor, FP16 sums", &architecture_rates::fp16_tensor, false},
    {"TF32 tensor", &architecture_rates::tf32_tensor, true},
    {"FP8 tensor", &architecture_rates::fp8_tensor, true},
    {"FP8 tensor, FP16 sums", &architecture_rates::fp8_tensor, false},
    {"FP4 tensor", &architecture_rates::fp4_tensor, false},
    {"INT8 tensor", &architecture_rates::int8_tensor, false},
    {"FP64 tensor", &architecture_rates::fp64_tensor, false},
    {"L1", &architecture_rates::l1, false},
    {"shared", &architecture_rates::l1, false}};

/// The rates of a device's compute capability, or null.
inline architecture_rates const* rates_of(profile_device const& device) noexcept {
  for (architecture_rates const& row : architecture_table)
    if (row.capability == device.capability()) return &row;
  return nullptr;
}

/// The most that the attributes of one device allow, at its highest clock; 0 where they do not
/// tell.
inline double device_peak(profile_device const& device, std::string_view roof) noexcept {
  // Two transfers a cycle of the memory clock.
  if (is_memory_name(roof)) return 2e3 * device.memory_clock_khz * device.memory_bus_bits / 8.0;
  architecture_rates const* const sm = rates_of(device);
  if (sm == nullptr) return 0.0;
  for (named_rate const& known : named_rates) {
    if (known.roof != roof) continue;
    double const part = known.has_fp32_sums ? part_of_fp32_sums(device) : 1.0;
    return part * sm->*known.rate * 1e3 * device.clock_khz * device.multiprocessors;
  }
  return 0.0;
}

/// The least blocks, an SM each, that draw all of device memory: an SM reads at most 64 bytes a
/// cycle of L2. 0 where the attributes do not tell.
inline double blocks_that_fill_memory(profile_device const& device) noexcept {
  constexpr double sm_bytes = 64.0;  // a cycle
  double const memory = device_peak(device, memory_name(device));
  double const sm = sm_bytes * 1e3 * device.clock_khz;
  return memory > 0.0 && sm > 0.0 ? memory / sm : 0.0;
}

/// The most that the bus to the host moves in one direction, in bytes a second: 16 lanes of the
/// PCIe that the chips have. A slot may have less, which no attribute of the driver shows. 0 where
/// the chip shares the host's memory, and where it is not documented.
/// Source: white papers of V100 and Turing (3.0), A100, GA10x and Ada (4.0), H100, B200 and RTX
/// Blackwell (5.0), B300 (6.0); 8, 16 and 32 GT/s, of which 128 of 130 bits are data, and 64 GT/s,
/// of which 236 of 256 bytes are.
inline double bus_peak(profile_device const& device) noexcept {
  constexpr double lane = 1e9 / 8.0 * 128.0 / 130.0;
  switch (device.capability()) {
    case 70:
    case 75:
      return 16.0 * 8.0 * lane;
    case 80:
    case 86:
    case 89:
      return 16.0 * 16.0 * lane;
    case 90:
    case 100:
    case 120:
      return 16.0 * 32.0 * lane;
    case 103:
      return 16.0 * 64.0 * 1e9 / 8.0 * 236.0 / 256.0;
    default:
      return 0.0;
  }
}

/// What was measured of a roof, the best of reading, writing and copying; 0 where nothing was.
inline double measured_peak(profile_device const& device, std::string_view roof) noexcept {
  double best = 0.0;
  for (device_ceiling const& ceiling : device.ceilings) {
    std::string_view const of = roof_of(ceiling.name);
    bool const is_of_roof = of == roof || (is_memory_name(of) && is_memory_name(roof));
    if (is_of_roof && ceiling.refused.empty() && ceiling.rate > best) best = ceiling.rate;
  }
  return best;
}

}  // namespace detail
STRATA_END

#endif  // STRATA_ANALYSE_DEVICE_PEAKS_HPP
