#include "report_input.hpp"

#include <strata/base/text.hpp>
#include <strata/base/vec.hpp>
#include <strata/tables/kernel_table.hpp>
#include "../analyse/kernel_ranges.hpp"
#include "../analyse/speed_of_light.hpp"
#include "../analyse/steps.hpp"
#include "../analyse/what_if.hpp"
#include "answer_text.hpp"
#include "console_tables.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

STRATA_BEGIN

namespace detail {

/// The limiter without the share, which has a column of its own where it was counted.
inline row_limit shown_limit(range_limit const& limit) {
  row_limit shown;
  shown.limiter = limit.text;
  if (!limit.stall.empty())
    shown.meaning = sentence(stall_name(limit.stall)) << ": warps " << stall_meaning(limit.stall);
  if (!limit.counted || !(limit.roof_ns > 0.0) || !(limit.time_ns > 0.0) || limit.is_above_roof())
    return shown;
  shown.use_percent = 100.0 * limit.fraction();
  if (limit.kind == limiter::unit) shown.limiter = limit.names();
  return shown;
}

}  // namespace detail

void report_input::find_answer(call_tree const& folded_tree) {
  analysed = make_steps(source, folded_tree, ranges);
  steps = analysed;
  roofline = make_roofline(source, folded, analysed, gpu_counters());
  roofs_measured_at = roofline.measured_at;
  show_limits();
  declared = make_declared_use(folded, steps, roofline);
  declared_text = declared.text();
  vec<kernel_row> const by_name = make_kernel_table(source, folded_tree);
  findings_input input{source,   folded,         by_name,     analysed,
                       roofline, gpu_counters(), folded_tree, ranges};
  auto const find = [&] {
    findings = make_findings(input);
    findings.together = predict_steps(findings.findings, source, folded_tree, analysed);
    account = make_account(*this, analysed, roofline, findings, input.by_kernel);
  };
  std::optional<profile> const by_kernel = detail::kernels_as_ranges(source);
  if (!by_kernel) return find();
  profile_tables tables(*by_kernel);
  table_input& finer = tables.input();
  step_analysis const finer_steps = make_steps(*by_kernel, tables.folded(), finer.ranges);
  roofline_table const roofs =
      make_roofline(*by_kernel, finer.folded, finer_steps, finer.gpu_counters(), &roofline);
  vec<kernel_row> const each = make_kernel_table(*by_kernel, tables.folded());
  findings_input const apart_input{*by_kernel,      finer.folded, each,
                                   finer_steps,     roofs,        finer.gpu_counters(),
                                   tables.folded(), finer.ranges};
  kernels_apart const apart = detail::rows_of_kernels(apart_input, source, folded_tree);
  input.by_kernel = &apart;
  find();
}

void report_input::show_limits() {
  limits.clear();
  for (range_limit const& limit : roofline.limits) limits.push_back(detail::shown_limit(limit));
}

void report_input::write_answer(detail::text_writer& out, std::size_t width, bool color) const {
  detail::write_answer(out, *this, width, color);
}

void report_input::cut_names(detail::console_table& table) const { detail::cut_names(table); }

bool report_input::write_more_tables(detail::text_writer& out, table_options const& options) const {
  detail::write_more_tables(out, *this, options);
  return true;
}

STRATA_END
