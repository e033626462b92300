#include <strata/version.hpp>
#ifndef STRATA_REPORT_FINDINGS_HPP
#define STRATA_REPORT_FINDINGS_HPP

#include <strata/analyse/findings.hpp>
#include <strata/analyse/roofline.hpp>
#include <strata/analyse/steps.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/text.hpp>
#include <strata/base/vec.hpp>
#include <strata/report/columns.hpp>
#include <strata/report/console_table.hpp>
#include <strata/report/text_writer.hpp>

#include <cstddef>
#include <string>
#include <string_view>

STRATA_BEGIN

/// Of findings.json: keys may be added within a version; a change of meaning makes a new one.
inline constexpr int findings_schema_version = 1;

namespace detail {

inline void write_step(json_writer& json, steps_summary const& steps) {
  json.line();
  json.object("step");
  json.boolean("from_steps", steps.from_steps);
  json.boolean("period_of_gpu", steps.period_of_gpu);
  json.boolean("has_timeline", steps.has_timeline);
  json.integer("count", steps.count);
  json.number("mean_ns", steps.mean_ns);
  json.number("typical_ns", steps.typical_ns());
  json.number("p50_ns", steps.p50_ns);
  json.number("p95_ns", steps.p95_ns);
  json.number("first_ns", steps.first_ns);
  json.number("gpu_busy_ns", steps.gpu_busy_ns);
  json.number("gpu_idle_ns", steps.gpu_idle_ns);
  json.number("tokens", steps.tokens);
  json.number("tokens_per_second", steps.tokens_per_s);
  json.number("outside_ns", steps.outside_ns);
  json.number("outside_gpu_ns", steps.outside_gpu_ns);
  json.end_object();
}

inline void write_idle(json_writer& json, report_input const& input) {
  json.line();
  json.array("idle");
  for (idle_time const& each : input.steps.idle) {
    json.line();
    json.object();
    json.text("path", input.folded[each.row].path);
    json.text("cause", to_string(each.cause));
    json.number("ns", each.ns);
    json.number("gaps", each.gaps);
    json.end_object();
  }
  json.end_array();
}

inline void write_finding(json_writer& json, finding const& of, double step_ns) {
  json.line();
  json.object();
  json.text("rule", of.rule);
  json.text("path", of.path);
  json.text("title", of.title);
  json.number("cost_ns_per_step", of.cost_ns_per_step);
  json.number("cost_of_step", step_ns > 0.0 ? of.cost_ns_per_step / step_ns : 0.0);
  json.number("predicted_step_ns", of.predicted_step_ns);
  json.array("evidence");
  for (finding_evidence const& each : of.evidence) {
    json.object();
    json.text("path", each.path);
    json.text("column", each.column);
    json.number("value", each.value);
    json.text("unit", each.unit);
    json.end_object();
  }
  json.end_array();
  json.text("advice", of.advice);
  json.text("needs", of.needs);
  json.end_object();
}

inline void write_roofline(json_writer& json, report_input const& input) {
  json.line();
  json.array("roofs");
  for (roof const& each : input.roofline.roofs) {
    json.line();
    json.object();
    json.text("name", each.name);
    json.text("unit", each.memory ? "B/s" : "FLOP/s");
    json.number("rate", each.rate);
    json.text("origin", to_string(each.origin));
    json.end_object();
  }
  json.end_array();
  json.line();
  json.array("points");
  for (roofline_point const& each : input.roofline.points) {
    json.line();
    json.object();
    json.text("path", input.folded[each.row].path);
    json.text("level", each.level);
    json.text("evidence", to_string(each.evidence));
    json.number("flops", each.flops);
    json.number("bytes", each.bytes);
    json.number("flop_per_byte", each.intensity_flop_per_byte);
    json.number("flop_per_second", each.flops_per_s);
    json.number("bytes_per_second", each.bytes_per_s);
    json.number("time_ns", each.time_ns);
    json.number("time_at_roof_ns", each.time_at_roof_ns);
    json.boolean("above_roof", each.above_roof);
    json.end_object();
  }
  json.end_array();
  json.line();
  json.array("limits");
  for (std::size_t row = 0; row < input.roofline.limits.size(); ++row) {
    range_limit const& limit = input.roofline.limits[row];
    if (limit.text.empty()) continue;
    json.line();
    json.object();
    json.text("path", input.folded[row].path);
    json.text("limiter", limit.text);
    json.number("time_ns", limit.time_ns);
    json.number("time_at_roof_ns", limit.roof_ns);
    json.end_object();
  }
  json.end_array();
}

/// `step 2.74 ms (mean of 10, median ..., p95 ...)`, or `whole run 1.20 s (no STRATA_STEP)`.
inline std::string step_text(steps_summary const& steps, bool has_steps) {
  std::string text;
  if (!steps.from_steps)
    return "whole run " + human_time(steps.mean_ns).text() +
           (has_steps ? " (no step was recorded)" : " (no STRATA_STEP)");
  text = "step " + human_time(steps.mean_ns).text();
  if (steps.period_of_gpu) text += " on the GPU";
  text += " (mean of " + human_count(steps.count).text();
  if (steps.count > 1)
    text += ", median " + human_time(steps.p50_ns).text() + ", p95 " +
            human_time(steps.p95_ns).text() + ", first " + human_time(steps.first_ns).text();
  return text + ")";
}

/// What the device did in it, and what lies outside.
inline std::string device_text(report_input const& input) {
  steps_summary const& steps = input.steps;
  std::string text;
  auto const add = [&text](std::string const& part) { text += (text.empty() ? "" : " | ") + part; };
  if (!input.source.traced) {
    add("host times only");
  } else {
    std::string const share = human_percent(steps.gpu_busy_ns, steps.mean_ns);
    add("GPU busy " + human_time(steps.gpu_busy_ns).text() +
        (share.empty() ? share : " (" + share + " %)") + ", idle " +
        human_time(steps.gpu_idle_ns).text());
  }
  if (steps.tokens_per_s > 0.0) add(significant(steps.tokens_per_s) + " tokens/s");
  if (steps.from_steps && steps.outside_ns > 0.0)
    add("outside of steps " + human_time(steps.outside_ns).text() +
        (steps.outside_gpu_ns > 0.0 ? ", GPU busy " + human_time(steps.outside_gpu_ns).text()
                                    : ""));
  return text;
}

/// What the step becomes when a finding is mended and no other: "; the step -> about 2.1 ms".
inline std::string prediction_text(finding const& of, double step_ns) {
  double const gain = step_ns - of.predicted_step_ns;
  if (!is_finite(gain)) return {};
  if (gain < 0.01 * step_ns) return "; alone it leaves the step as it is: something else bounds it";
  return "; the step -> about " + human_time(of.predicted_step_ns).text();
}

/// The first finding in a sentence with its range, its cost and what the step becomes without it.
inline std::string finding_text(finding const& of, double step_ns) {
  std::string text = of.rule.empty() ? std::string() : std::string(of.rule) + ": ";
  if (!of.path.empty()) text += console_text(of.path) + ": ";
  text += console_text(of.title);
  std::string const share = human_percent(of.cost_ns_per_step, step_ns);
  if (of.cost_ns_per_step > 0.0 && !share.empty())
    text += " (at most " + human_time(of.cost_ns_per_step).text() + ", " + share + " %)";
  return text + prediction_text(of, step_ns);
}

/// The answer: what bounds the step, the first finding, what to try, and what else there is.
inline void write_answer(text_writer& out, report_input const& input, std::size_t width,
                         bool color) {
  findings_table const& table = input.findings;
  if (!table.bound.empty())
    write_paragraph(out, "answer:  ", console_text(table.bound), width, console_bold, color);
  if (!table.findings.empty()) {
    finding const& first = table.findings[0];
    write_paragraph(out, "finding: ", finding_text(first, input.steps.typical_ns()), width,
                    console_warning, color);
    write_paragraph(out, "try:     ", first.advice, width, console_bold, color);
  }
  std::string more;
  if (table.findings.size() > 1)
    more = std::to_string(table.findings.size() - 1) + " more in findings.json";
  if (std::size_t const open = table.undecided.size(); open > 0)
    more += (more.empty() ? "" : "; ") + std::string("counters=findings would decide ") +
            std::to_string(open) + (open == 1 ? " rule" : " rules") + " more";
  if (!more.empty()) write_paragraph(out, "more:    ", more, width, {}, color);
}

}  // namespace detail

/// findings.json: what is wrong, the dearest first, with the rows that prove it; the mean step, and
/// the roofs with each range beside them. Requires: report_input::find_answer().
inline void write_findings(detail::text_writer& out, report_input const& input) {
  detail::json_writer json(out);
  json.object();
  json.line();
  json.object("schema");
  json.text("name", "strata.findings");
  json.integer("version", findings_schema_version);
  json.text("strata", detail::version_text());
  json.end_object();
  detail::write_step(json, input.steps);
  json.line();
  json.text("bound", input.findings.bound);
  json.line();
  json.array("findings");
  for (finding const& each : input.findings.findings)
    detail::write_finding(json, each, input.steps.typical_ns());
  json.end_array();
  json.line();
  json.array("undecided");
  for (undecided_rule const& each : input.findings.undecided) {
    json.line();
    json.object();
    json.text("rule", each.rule);
    json.text("needs", each.needs);
    json.end_object();
  }
  json.end_array();
  detail::write_idle(json, input);
  detail::write_roofline(json, input);
  json.line();
  json.end_object();
  out.put('\n');
}

STRATA_END

#endif  // STRATA_REPORT_FINDINGS_HPP
