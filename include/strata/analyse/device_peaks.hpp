#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_DEVICE_PEAKS_HPP
#define STRATA_ANALYSE_DEVICE_PEAKS_HPP

#include <strata/base/macros.hpp>
#include <strata/profile.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

STRATA_BEGIN
namespace detail {

/// What an SM does in a cycle, by compute capability; 0 is unknown.
/// Source: FP32, FP64 and FP16 are the results a cycle of "Arithmetic Instructions" in the CUDA C++
/// Programming Guide, an FMA as two; tensor cores and L1 NVIDIA's white papers of the architectures
/// (Volta, Turing: 64 B of L1, GA100, GA10x, Hopper) and, from 10.0 on, data sheets of boards.
/// ceilings_test has each line beside a board.
struct architecture_rates {
  std::uint32_t capability;  ///< 10 * major + minor, the first that it holds for
  double fp32;               ///< FLOP, an FMA is two
  double fp64;
  double fp16;         ///< of two numbers in a register, outside of the tensor cores
  double bf16_tensor;  ///< dense, FP16 before 8.0
  double fp64_tensor;
  double l1;  ///< bytes; the same for shared memory
};
inline constexpr architecture_rates architecture_table[] = {
    {70, 128, 64, 256, 1024, 0, 128},    {75, 128, 4, 256, 1024, 0, 64},
    {80, 128, 64, 512, 2048, 128, 128},  {86, 256, 4, 256, 1024, 0, 128},
    {90, 256, 128, 512, 4096, 256, 128}, {100, 256, 128, 0, 8192, 128, 128},
    {103, 256, 4, 0, 8192, 0, 128},      {120, 256, 4, 256, 1024, 0, 128}};

/// Work of a format of the tensor cores: its counter and its speed, of BF16.
struct tensor_format {
  std::string_view key;
  std::string_view roof;
  double speed;
};
inline constexpr tensor_format tensor_formats[] = {{"tensor_bf16", "BF16 tensor", 1.0},
                                                   {"tensor_fp16", "FP16 tensor", 1.0},
                                                   {"tensor_tf32", "TF32 tensor", 0.5},
                                                   {"tensor_fp8", "FP8 tensor", 2.0},
                                                   {"tensor_fp4", "FP4 tensor", 4.0}};

/// The name of the roof that a measurement is of: "HBM read" is of "HBM".
inline std::string_view roof_of(std::string_view ceiling) noexcept {
  std::size_t const blank = ceiling.find(' ');
  std::string_view const last = blank < ceiling.size() ? ceiling.substr(blank + 1) : "";
  return last == "read" || last == "write" || last == "copy" ? ceiling.substr(0, blank) : ceiling;
}

/// The most that the device's attributes allow, at its highest clock; 0 where they do not tell.
inline double device_peak(profile_device const& device, std::string_view roof) noexcept {
  // Two transfers a cycle of the memory clock.
  if (roof == "HBM") return 2e3 * device.memory_clock_khz * device.memory_bus_bits / 8.0;
  std::uint32_t const capability =
      10 * device.compute_capability_major + device.compute_capability_minor;
  architecture_rates sm{};
  for (architecture_rates const& each : architecture_table)
    if (capability >= each.capability) sm = each;
  double cycle = 0.0;
  if (roof == "L1" || roof == "shared") cycle = sm.l1;
  if (roof == "FP32") cycle = sm.fp32;
  if (roof == "FP64") cycle = sm.fp64;
  if (roof == "FP16") cycle = sm.fp16;
  if (roof == "FP64 tensor") cycle = sm.fp64_tensor;
  if (roof == "INT8 tensor") cycle = 2.0 * sm.bf16_tensor;
  for (tensor_format const& each : tensor_formats)
    if (roof == each.roof) cycle = each.speed * sm.bf16_tensor;
  if (sm.capability == 103) {  // B300: more FP4, and INT8 that no document tells by the SM
    if (roof == "FP4 tensor") cycle *= 1.5;
    if (roof == "INT8 tensor") cycle = 0.0;
  }
  return cycle * 1e3 * device.clock_khz * device.multiprocessors;
}

/// What was measured of a roof, the best of reading, writing and copying; 0 where nothing was.
inline double measured_peak(profile_device const& device, std::string_view roof) noexcept {
  double best = 0.0;
  for (device_ceiling const& each : device.ceilings)
    if (each.refused.empty() && roof_of(each.name) == roof && each.rate > best) best = each.rate;
  return best;
}

}  // namespace detail
STRATA_END

#endif  // STRATA_ANALYSE_DEVICE_PEAKS_HPP
