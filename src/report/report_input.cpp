#include "report_input.hpp"

#include <strata/base/text.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile/device_memory.hpp>
#include <strata/tables/kernel_table.hpp>
#include "../analyse/speed_of_light.hpp"
#include "../analyse/what_if.hpp"
#include "answer_text.hpp"

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
  if (limit.kind == limiter::unit) shown.limiter = limit.roof;
  return shown;
}

}  // namespace detail

void report_input::find_answer(call_tree const& folded_tree) {
  find_steps(folded_tree);
  roofline = make_roofline(source, folded, steps, gpu_counters());
  roofs_measured_at = roofline.measured_at;
  show_limits();
  declared = make_declared_use(folded, steps, roofline);
  declared_text = declared.text();
  vec<kernel_row> const by_name = make_kernel_table(source, folded_tree);
  findings = make_findings(
      {source, folded, by_name, steps, roofline, gpu_counters(), folded_tree, ranges});
  findings.together = predict_steps(findings.findings, source, folded_tree, steps);
}

void report_input::show_limits() {
  limits.clear();
  for (range_limit const& limit : roofline.limits) limits.push_back(detail::shown_limit(limit));
}

void report_input::write_answer(detail::text_writer& out, std::size_t width, bool color) const {
  std::string text;
  {
    detail::text_writer sentences(text);
    detail::write_answer(sentences, findings, steps, width, color);
  }
  out.write(detail::with_memory_name(text, detail::memory_name(source)));
}

STRATA_END
