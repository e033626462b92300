#include <strata/version.hpp>
#ifndef STRATA_REPORT_REPORT_INPUT_HPP
#define STRATA_REPORT_REPORT_INPUT_HPP

#include <strata/base/macros.hpp>
#include <strata/base/text.hpp>
#include <strata/base/text_writer.hpp>
#include <strata/base/vec.hpp>
#include <strata/tables/call_tree.hpp>
#include <strata/tables/kernel_table.hpp>
#include <strata/tables/table_input.hpp>
#include "analyse/declared_use.hpp"
#include "analyse/finding_rules.hpp"
#include "analyse/findings.hpp"
#include "analyse/roofline.hpp"
#include "analyse/what_if.hpp"
#include "report/answer_text.hpp"

#include <cstddef>
#include <utility>

STRATA_BEGIN

/// What every report is made from: the tables, and what is found in them.
struct report_input : table_input {
  using table_input::table_input;
  /// Takes the counters of the tables.
  explicit report_input(table_input&& tables) : table_input(std::move(tables)) {}

  roofline_table roofline;  ///< of `folded`; empty before find_answer()
  findings_table findings;  ///< of `folded`; empty before find_answer()
  declared_use declared;    ///< the same

  /// Fills `steps`, `roofline`, `limits`, `declared` and `findings`. Requires: the tree of
  /// `folded`; the counters.
  void find_answer(call_tree const& folded_tree) {
    find_steps(folded_tree);
    roofline = make_roofline(source, folded, steps, gpu_counters());
    roofs_measured_at = roofline.measured_at;
    show_limits();
    declared = make_declared_use(folded, steps, roofline);
    declared_text = declared.text();
    vec<kernel_row> const by_name = make_kernel_table(source, folded_tree);
    findings = make_findings(
        {source, folded, by_name, steps, roofline, gpu_counters(), folded_tree, ranges});
    predict_steps(findings.findings, source, folded_tree, steps);
  }

  /// Fills `limits`, which tables show, from `roofline`.
  void show_limits() {
    limits.clear();
    for (range_limit const& limit : roofline.limits) limits.push_back(shown_limit(limit));
  }

  void write_answer(detail::text_writer& out, std::size_t width, bool color) const override {
    detail::write_answer(out, findings, steps, width, color);
  }

 private:
  /// The limiter without the share, which has a column of its own where it was counted.
  static row_limit shown_limit(range_limit const& limit) {
    row_limit shown;
    shown.limiter = limit.text;
    if (!limit.stall.empty())
      shown.meaning = detail::sentence(detail::stall_name(limit.stall))
                      << ": warps " << detail::stall_meaning(limit.stall);
    if (!limit.counted || !(limit.roof_ns > 0.0) || !(limit.time_ns > 0.0) || limit.is_above_roof())
      return shown;
    shown.use_percent = 100.0 * limit.fraction();
    if (limit.kind == limiter::unit) shown.limiter = limit.roof;
    return shown;
  }
};

STRATA_END

#endif  // STRATA_REPORT_REPORT_INPUT_HPP
