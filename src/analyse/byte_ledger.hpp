#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_BYTE_LEDGER_HPP
#define STRATA_ANALYSE_BYTE_LEDGER_HPP

#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/text.hpp>
#include <strata/base/vec.hpp>
#include <strata/tables/call_tree.hpp>
#include <strata/tables/counter_sums.hpp>
#include <strata/tables/counter_table.hpp>
#include <strata/tables/steps_summary.hpp>
#include "roofline.hpp"

#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

STRATA_BEGIN

/// What the model needs of device memory in the ranges that a pattern matches.
/// Units: bytes of one step, in all calls of all these ranges.
struct byte_need {
  /// Of folded paths or their ends, with `*` and `?`, alternatives joined by `|`: `attention`,
  /// `block[*]/mlp`, `head|lm_head`. The last name's index may be left out. Empty: the whole step.
  std::string path;
  std::string not_below;  ///< patterns of the same form: ranges below these are not meant
  double weights = 0.0;
  double kv = 0.0;
  double activations = 0.0;  ///< without logits
  double logits = 0.0;
  /// The part of it that is written; NaN: all but the weights may be.
  double written = std::numeric_limits<double>::quiet_NaN();

  double all() const noexcept { return weights + kv + activations + logits; }
};

/// A part of the difference between the counted bytes and the need, by a rule.
struct ledger_residual {
  std::string_view name;  ///< as in docs/how-to/model.md
  double bytes = 0.0;     ///< of device memory in a step; negative: less than the need
};

/// A range of the ledger.
/// Units: bytes of one step; NaN is unknown.
struct ledger_row {
  static constexpr double no = std::numeric_limits<double>::quiet_NaN();

  std::string path;       ///< folded; empty: the step
  bool by_model = false;  ///< the need is the model's; else what the range declares
  byte_need need;         ///< its parts, where it is the model's
  double need_bytes = no;
  double declared_bytes = no;
  double hbm_read_bytes = no;
  double hbm_write_bytes = no;
  double hbm_bytes = no;
  double l2_bytes = no;
  double l1_bytes = no;
  vec<ledger_residual> residuals;
  double unexplained_bytes = 0.0;  ///< counted minus the need and the residuals
};

/// Bytes needed, declared and counted. What was counted is the sum of need, residuals and what is
/// unexplained: in each row, and in the step.
struct byte_ledger {
  vec<ledger_row>
      rows;  ///< ranges with a need of their own, without those above them; then the rest
  ledger_row step;
  double unexplained_share = ledger_row::no;  ///< of the counted bytes, whatever their sign
  bool closes = false;                        ///< that is at most 5 %
  std::string verdict;                        ///< one sentence
  std::string_view memory = "HBM";            ///< what people call that of the devices
};

STRATA_END

#endif  // STRATA_ANALYSE_BYTE_LEDGER_HPP
