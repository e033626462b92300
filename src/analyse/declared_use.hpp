#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_DECLARED_USE_HPP
#define STRATA_ANALYSE_DECLARED_USE_HPP

#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/text.hpp>
#include <strata/base/vec.hpp>
#include <strata/tables/range_rows.hpp>
#include <strata/tables/steps_summary.hpp>
#include "roofline.hpp"

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

STRATA_BEGIN

/// The declared work of a mean step, compared with what the GPUs could do in that time.
struct declared_use {
  /// The roof that operations are compared with, whatever their format.
  static constexpr std::string_view operations_roof = "BF16 tensor";

  double bytes = 0.0;  ///< 0: none were declared
  double flops = 0.0;
  double bytes_per_s = std::numeric_limits<double>::quiet_NaN();  ///< of HBM, of all GPUs
  double flops_per_s = std::numeric_limits<double>::quiet_NaN();  ///< of `operations_roof`, dense
  double clock_hz = std::numeric_limits<double>::quiet_NaN();     ///< that it is at
  /// Model bandwidth utilisation: the bytes as a part of what HBM moves in a step as it is without
  /// recording. NaN where ranges that declare none have most of the GPU's time, or the peak is not
  /// known.
  double mbu = std::numeric_limits<double>::quiet_NaN();
  /// Model FLOP utilisation: the same of the operations. Source: PaLM, appendix B.
  double mfu = std::numeric_limits<double>::quiet_NaN();

  /// "MBU 44.2 % of 4.80 TB/s, MFU 0.9 % of 989 TFLOP/s (BF16, 1830 MHz)"; empty without both.
  std::string text() const {
    std::string made;
    if (detail::is_finite(mbu))
      made = detail::sentence("MBU ") << detail::fixed_string(100.0 * mbu, 1) << " % of "
                                      << detail::fixed_string(bytes_per_s * 1e-12, 2) << " TB/s";
    if (detail::is_finite(mfu))
      detail::add_part(made,
                       detail::sentence("MFU ") << detail::fixed_string(100.0 * mfu, 1) << " % of "
                                                << detail::fixed_string(flops_per_s * 1e-12, 0)
                                                << " TFLOP/s (BF16" << clock_text() << ")",
                       ", ");
    return made;
  }
  /// ", 1980 MHz"; empty where the clock is not known.
  std::string clock_text() const {
    return clock_hz > 0.0 ? ", " + detail::fixed_string(clock_hz * 1e-6, 0) + " MHz"
                          : std::string();
  }
};

namespace detail {

/// What ranges declare in a step, and the GPU's time in those that do.
struct declared_sum {
  double amount = 0.0;
  double busy_ns = 0.0;

  /// A range that declares something counts for those below it, too.
  template <class Amount>
  declared_sum(vec<range_row> const& rows, steps_summary const& steps, Amount const& amount_of) {
    vec<bool> counted(rows.size(), false);  // by the range or one above it; rows are depth-first
    for (std::size_t row = 1; row < rows.size(); ++row) {
      counted[row] = counted[rows[row].parent];
      if (counted[row]) continue;
      double const own = amount_of(rows[row]);
      counted[row] = own > 0.0;
      if (!counted[row]) continue;
      amount += own;
      busy_ns += steps.busy_ns(rows[row]);
    }
  }
  /// Its part of what a peak allows in a step. NaN where other ranges, which declare nothing, have
  /// most of the GPU's time, of whose work nothing is known, and above the peak, which is a doubt.
  double use(steps_summary const& steps, double peak_per_s) const noexcept {
    constexpr double most = 0.5;  // of the GPU's time; chosen
    bool const is_most = busy_ns > most * steps.gpu_busy_ns;
    constexpr double slack = 1.05;  // chosen: clocks of counted and timed steps differ a bit
    double const part = amount / (steps.period_ns() * 1e-9) / peak_per_s;
    return is_most && part < slack ? part : not_a_number;
  }
};

}  // namespace detail

/// Empty without steps, whose time is theirs alone.
/// Cost: O(n) for n rows.
inline declared_use make_declared_use(vec<range_row> const& rows, steps_summary const& steps,
                                      roofline_table const& roofline) {
  declared_use made;
  if (!steps.from_steps || !(steps.period_ns() > 0.0) || rows.empty()) return made;
  detail::declared_sum const bytes(rows, steps,
                                   [&](range_row const& row) { return steps.declared_bytes(row); });
  detail::declared_sum const flops(rows, steps,
                                   [&](range_row const& row) { return steps.declared_flops(row); });
  auto const devices = static_cast<double>(roofline.devices);
  made.bytes = bytes.amount;
  made.flops = flops.amount;
  made.bytes_per_s = devices * roofline.peak_of(roofline.memory);
  made.flops_per_s = devices * roofline.peak_of(declared_use::operations_roof);
  roof const* const operations = roofline.find(declared_use::operations_roof);
  if (operations != nullptr && operations->nominal > 0.0) made.clock_hz = roofline.highest_clock_hz;
  made.mbu = bytes.use(steps, made.bytes_per_s);
  made.mfu = flops.use(steps, made.flops_per_s);
  return made;
}

STRATA_END

#endif  // STRATA_ANALYSE_DECLARED_USE_HPP
