#include "report_input.hpp"

#include <strata/base/text.hpp>
#include "../analyse/run_answer.hpp"
#include "../analyse/speed_of_light.hpp"
#include "../analyse/steps.hpp"
#include "answer_text.hpp"
#include "console_tables.hpp"

#include <utility>

STRATA_BEGIN

namespace detail {

/// The limiter without the share, which has a column of its own where it was counted.
inline row_limit shown_limit(range_limit const& limit) {
  row_limit shown;
  shown.limiter = limit.text;
  if (!limit.stall.empty())
    shown.meaning = sentence(stall_name(limit.stall)) << ": warps " << stall_meaning(limit.stall);
  if (limit.kind == limiter::mixed)
    shown.meaning = limit.text + ": no limiter has half of the GPU busy time";
  if (!limit.counted || !(limit.roof_ns > 0.0) || !(limit.time_ns > 0.0) || limit.is_above_roof())
    return shown;
  shown.use_percent = 100.0 * limit.fraction();
  if (limit.kind == limiter::unit)
    shown.limiter = limit.names();
  else if (limit.text != limit.first_name())  // in brackets, whose use it is
    add_part(shown.limiter, "(" + (begins_with(limit.roof, "L1") ? "L1" : limit.first_name()) + ")",
             " ");
  return shown;
}

}  // namespace detail

void report_input::find_answer(call_tree const& folded_tree) {
  analysed = make_steps(source, folded_tree, ranges);
  steps = analysed;
  run_answer made = make_run_answer(*this, folded_tree, analysed, true);
  roofline = std::move(made.roofline);
  findings = std::move(made.findings);
  account = std::move(made.account);
  roofs_measured_at = roofline.measured_at;
  show_limits();
  declared = make_declared_use(folded, steps, roofline);
  declared_text = declared.text();
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
