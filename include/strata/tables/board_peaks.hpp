#ifndef STRATA_TABLES_BOARD_PEAKS_HPP
#define STRATA_TABLES_BOARD_PEAKS_HPP

#include <strata/profile.hpp>

STRATA_BEGIN
namespace detail {

/// The part of a chip's products with sums in FP32 that a board does: GeForce's tensor cores do
/// FP16, BF16, TF32 and FP8 with sums in FP32 at half the speed of professional boards with the
/// same chip; INT8, FP4 and sums in FP16 are whole on both.
/// Source: tables of Turing's, GA102's, Ada's and RTX Blackwell's white papers.
inline double part_of_fp32_sums(profile_device const& device) noexcept {
  return device.name.find("GeForce") == std::string::npos ? 1.0 : 0.5;
}

/// Peaks of tensor cores as the boards of a counter_set have them: CUPTI gives those of the chip.
class board_peaks {
 public:
  board_peaks(profile const& source, counter_set const& set) noexcept {
    for (profile_device const& device : source.environment.devices)
      if (set.devices.contains(device.ordinal) && part_of_fp32_sums(device) < 1.0)
        multiprocessors_ = device.multiprocessors;
  }

  /// What products of a key can do in a cycle on the chip, where the board does half of that; 0
  /// where the board does all. A peak that was counted lower is the board's already.
  double of_chip(std::string_view key) const noexcept {
    struct rate {
      std::string_view key;
      double operations;  ///< of a multiprocessor, the same on all GeForce chips
    };
    constexpr rate rates[] = {{"tensor_peak_per_cycle", 1024},
                              {"tensor_fp16_peak_per_cycle", 1024},
                              {"tensor_tf32_peak_per_cycle", 512},
                              {"tensor_fp8_peak_per_cycle", 2048}};
    for (rate const& known : rates)
      if (known.key == key) return known.operations * multiprocessors_;
    return 0.0;
  }

  static double of_board(double counted, double of_chip) noexcept {
    constexpr double half = 0.55;  // and rounding
    return of_chip > 0.0 && counted > half * of_chip ? 0.5 * counted : counted;
  }

 private:
  double multiprocessors_ = 0.0;  ///< of a GeForce; 0: there is none
};

}  // namespace detail
STRATA_END

#endif  // STRATA_TABLES_BOARD_PEAKS_HPP
