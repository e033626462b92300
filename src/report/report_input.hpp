#include <strata/version.hpp>
#ifndef STRATA_REPORT_REPORT_INPUT_HPP
#define STRATA_REPORT_REPORT_INPUT_HPP

#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/text_writer.hpp>
#include <strata/tables/call_tree.hpp>
#include <strata/tables/table_input.hpp>
#include "../analyse/account.hpp"
#include "../analyse/declared_use.hpp"
#include "../analyse/findings.hpp"
#include "../analyse/roofline.hpp"
#include "../analyse/steps.hpp"

#include <cstddef>
#include <utility>

STRATA_BEGIN

/// What every report is made from: the tables, and what is found in them.
struct report_input : table_input {
  using table_input::table_input;
  /// Takes the counters of the tables.
  explicit report_input(table_input&& tables) : table_input(std::move(tables)) {}

  step_analysis analysed;       ///< `steps` with what the analysis adds; empty before find_answer()
  roofline_table roofline;      ///< of `folded`; empty before find_answer()
  findings_table findings;      ///< of `folded`; empty before find_answer()
  declared_use declared;        ///< the same
  period_account account;       ///< the same
  std::string_view trace_file;  ///< which the page names; empty if none is written

  /// Fills `steps`, `analysed`, `roofline`, `limits`, `declared`, `findings` and `account`.
  /// Requires: the tree of `folded`; the counters.
  void find_answer(call_tree const& folded_tree);

  /// Fills `limits`, which tables show, from `roofline`.
  void show_limits();

  void write_answer(detail::text_writer& out, std::size_t width, bool color) const override;
  void cut_names(detail::console_table& table) const override;
  bool write_more_tables(detail::text_writer& out, table_options const& options) const override;
};

namespace detail {

/// Rounded as the console does: what is rounded again is no other number then.
inline double as_shown(double rate) noexcept {
  return rate >= 999.5 && rate < 1e6 ? rounded_down(rate + 0.5) : rate;
}

}  // namespace detail

STRATA_END

#endif  // STRATA_REPORT_REPORT_INPUT_HPP
