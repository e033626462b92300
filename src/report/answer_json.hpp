#include <strata/version.hpp>
#ifndef STRATA_REPORT_ANSWER_JSON_HPP
#define STRATA_REPORT_ANSWER_JSON_HPP

#include <strata/base/json_writer.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/text.hpp>
#include <strata/base/text_writer.hpp>
#include <strata/base/utf8.hpp>
#include <strata/base/vec.hpp>
#include <strata/tables/columns.hpp>
#include <strata/tables/console_table.hpp>
#include <strata/tables/json.hpp>
#include "../analyse/findings.hpp"
#include "../analyse/roofline.hpp"
#include "../analyse/rules.hpp"
#include "../analyse/steps.hpp"
#include "account_view.hpp"
#include "answer_text.hpp"
#include "finding_view.hpp"
#include "next_command.hpp"
#include "report_input.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

STRATA_BEGIN

namespace detail {

/// What report.html has of the answer: ranges by their places on it, and so many of each list.
struct answer_on_page {
  vec<std::uint32_t> const& places;  ///< by row of the folded tree, or of the nearest above it
  vec<std::uint32_t> const& shown;   ///< rows of the folded tree, by place
  std::size_t findings;              ///< the first ones
  std::size_t points;                ///< the longest
  std::size_t name;                  ///< columns
};

/// Writes the mean step, the findings, the roofs and what limits each range as members of an
/// object: for findings.json, or what a page shows of them.
class answer_json {
 public:
  answer_json(json_writer& json, report_input const& input, answer_on_page const* page = nullptr)
      : json_(json), input_(input), page_(page) {}

  void write() {
    findings_table const& table = input_.findings;
    write_step();
    json_.line();
    json_.text("bound", table.bound);
    std::size_t const shown = std::min(table.findings.size(), most(&answer_on_page::findings));
    json_.line();
    json_.array("findings");
    for (std::size_t i = 0; i < shown; ++i) write_finding(table.findings[i]);
    json_.end_array();
    write_together(table);
    write_account();
    write_next();
    if (page_ != nullptr) json_.integer("findings_left_out", table.findings.size() - shown);
    json_.line();
    json_.integer("checks", std::size(finding_rules));
    json_.line();
    json_.array("undecided");
    for (undecided_rule const& undecided : table.undecided) {
      json_.line();
      json_.object();
      json_.text("rule", undecided.rule);
      json_.text("needs", undecided.needs());
      json_.text("how", undecided.how_to_decide());
      json_.end_object();
    }
    json_.end_array();
    if (page_ != nullptr) json_.text("more_checks", undecided_text(table.undecided));
    write_roofline();
  }

 private:
  std::size_t most(std::size_t answer_on_page::*limit) const noexcept {
    return page_ == nullptr ? static_cast<std::size_t>(-1) : page_->*limit;
  }
  /// A range: its path, or its place on the page.
  void range(std::size_t row) {
    if (page_ != nullptr) return json_.integer("range", page_->places[row]);
    json_.text("path", input_.folded[row].path);
  }
  bool is_shown(std::size_t row) const noexcept {
    return page_ == nullptr ||
           (row < page_->places.size() && page_->shown[page_->places[row]] == row);
  }
  std::string name(std::string const& path) const {
    return shortened(path, most(&answer_on_page::name));
  }

  void write_step() {
    step_analysis const& steps = input_.analysed;
    json_.line();
    json_.object("step");
    json_.boolean("from_steps", steps.from_steps);
    json_.boolean("period_of_gpu", steps.period_of_gpu);
    json_.boolean("has_timeline", steps.has_timeline);
    json_.integer("count", steps.count);
    json_.number("mean_ns", steps.mean_ns);
    json_.number("p50_ns", steps.p50_ns);
    json_.number("p95_ns", steps.p95_ns);
    json_.number("first_ns", steps.first_ns);
    json_.number("unrecorded_ns", steps.unrecorded_ns);
    json_.number("usual_ns", steps.usual_ns());
    json_.number("between_ns", steps.between_ns);
    json_.number("period_ns", steps.period_ns());
    json_.boolean("without_first", steps.without_first);
    if (steps.early != 0) json_.integer("early_steps", steps.early);
    bool const is_lost = lost_all_times(input_.source, steps);
    if (page_ != nullptr) json_.boolean("times_lost", is_lost);
    auto const of_gpu = [is_lost](double ns) { return is_lost ? not_a_number : ns; };
    json_.number("gpu_busy_ns", of_gpu(steps.period_busy_ns()));
    json_.number("gpu_idle_ns", of_gpu(steps.period_idle_ns()));
    json_.number("rangeless_busy_ns", of_gpu(steps.rangeless_busy_ns));
    json_.number("tokens", steps.tokens);
    json_.number("tokens_per_second", as_shown(steps.tokens_per_s));
    declared_use const& declared = input_.declared;
    json_.number("declared_bytes", declared.bytes > 0.0 ? declared.bytes : not_a_number);
    json_.number("declared_flops", declared.flops > 0.0 ? declared.flops : not_a_number);
    json_.number("mbu", declared.mbu);
    json_.number("mbu_peak", declared.bytes_per_s);
    json_.number("mfu", declared.mfu);
    json_.number("mfu_peak", declared.flops_per_s);
    json_.number("mfu_peak_clock_hz", declared.clock_hz);
    json_.number("outside_ns", steps.outside_ns);
    json_.number("outside_gpu_ns", steps.outside_gpu_ns);
    json_.end_object();
  }

  void write_finding(finding const& found) {
    finding_view const view = view_of(found, input_.analysed);
    json_.line();
    json_.object();
    json_.text("rule", found.rule);
    json_.text("path", name(found.path));
    if (page_ != nullptr) range(found.row);
    json_.text("cause", found.cause);
    json_.text("part", to_string(found.part));
    json_.text("title", found.title);
    json_.text("gain", view.gain);
    json_.text("prediction", view.prediction);
    json_.number("cost_ns_per_step", found.cost_ns_per_step);
    json_.number("cost_of_step", view.cost_of_step);
    json_.number("predicted_step_ns", found.predicted_step_ns);
    if (is_finite(found.best_step_ns)) json_.number("best_step_ns", found.best_step_ns);
    json_.number("with_first_step_ns", found.with_first_ns);
    json_.number("gain_ns_per_step", view.gain_ns);
    json_.boolean("shortens_step", view.shortens_step);
    json_.boolean("ends_other_waits", view.ends_other_waits);
    json_.array("ranges");
    for (finding_range const& helped : found.ranges) {
      json_.object();
      json_.text("path", name(helped.path));
      if (!helped.kernel.empty()) json_.text("kernel", name(helped.kernel));
      if (page_ != nullptr) range(helped.row);
      json_.number("cost_ns_per_step", helped.cost_ns_per_step);
      json_.end_object();
    }
    json_.end_array();
    json_.array("evidence");
    for (evidence_view const& evidence : view.evidence) {
      json_.object();
      json_.text("path", name(evidence.path));
      if (!evidence.kernel.empty()) json_.text("kernel", name(evidence.kernel));
      json_.text("column", evidence.column);
      json_.number("value", evidence.value);
      json_.text("unit", evidence.unit);
      json_.text("text", evidence.text);
      json_.end_object();
    }
    json_.end_array();
    json_.text("advice", found.advice);
    json_.text("needs", found.needs);
    json_.text("next", view.next);
    json_.end_object();
  }

  /// The step without the findings that gain most together.
  void write_together(findings_table const& table) {
    fixed_together const& together = table.together;
    json_.line();
    json_.object("together");
    json_.array("findings");
    for (std::size_t const position : together.findings) json_.integer({}, position + 1);
    json_.end_array();
    json_.number("predicted_step_ns", together.step_ns);
    json_.text("prediction", together_text(table, input_.analysed));
    json_.end_object();
  }

  /// What all of the period goes to. The page has the parts in its budget.
  void write_account() {
    period_account const& account = input_.account;
    json_.line();
    json_.object("account");
    json_.number("period_ns", account.period_ns);
    json_.number("step_ns", account.step_ns);
    json_.number("between_ns", account.between_ns);
    json_.number("at_roof_ns", account.of(account_kind::at_roof));
    json_.number("explained_ns", account.of(account_kind::explained));
    json_.number("unknown_ns", account.of(account_kind::unknown));
    json_.number("idle_ns", account.of(account_kind::idle));
    json_.number("idle_between_ns", account.of(account_kind::between));
    json_.text("text", account_text(input_));
    json_.text("unknown", unknown_text(input_));
    if (page_ == nullptr) write_parts(account);
    json_.end_object();
  }
  /// The command that would tell most of what is not known.
  void write_next() {
    next_command const next = make_next_command(input_);
    json_.line();
    json_.object("next");
    json_.text("command", next.text);
    json_.text("first", next.first);
    json_.boolean("tells_more", next.tells_more);
    json_.end_object();
  }
  void write_parts(period_account const& account) {
    json_.array("parts");
    for (account_part const& part : account.parts) {
      json_.line();
      json_.object();
      json_.text("kind", to_string(part.kind));
      json_.text("name", part.name);
      bool const is_placed = part.row < input_.folded.size();
      json_.text("path",
                 is_placed ? std::string_view(input_.folded[part.row].path) : std::string_view());
      if (part.finding == account_part::none)
        json_.absent("finding");
      else
        json_.integer("finding", part.finding + 1);
      json_.number("ns", part.ns);
      json_.text("about", part.about);
      json_.text("tells", part.kind == account_kind::unknown ? part.tells.text() : std::string());
      json_.end_object();
    }
    json_.end_array();
  }

  void write_roofline() {
    roofline_table const& table = input_.roofline;
    write_list(json_, "roofs", table.roofs, [&](roof const& limit) {
      json_.text("name", limit.name);
      json_.text("unit", limit.memory ? "B/s" : "FLOP/s");
      json_.number("rate", limit.rate);
      json_.text("origin", to_string(limit.origin));
      json_.boolean("used", limit.used);
      if (limit.origin == roof_origin::measured) json_.text("measured_at", table.measured_at);
    });
    vec<roofline_point> points = table.points;
    points.keep_if([this](roofline_point const& point) {
      return page_ == nullptr || (point.row > 0 && is_shown(point.row));
    });
    points.sort([](roofline_point const& a, roofline_point const& b) {
      if (a.time_ns != b.time_ns) return a.time_ns > b.time_ns;
      return a.row != b.row ? a.row < b.row : a.level < b.level;
    });
    points.resize(std::min(points.size(), most(&answer_on_page::points)));
    write_list(json_, "points", points, [this](roofline_point const& point) {
      range(point.row);
      json_.text("level", point.level);
      json_.text("evidence", to_string(point.evidence));
      json_.number("flops", point.flops);
      json_.number("bytes", point.bytes);
      json_.number("flop_per_byte", point.intensity_flop_per_byte);
      json_.number("flop_per_second", point.flops_per_s);
      json_.number("bytes_per_second", point.bytes_per_s);
      json_.number("time_ns", point.time_ns);
      json_.number("time_at_roof_ns", point.time_at_roof_ns);
      json_.boolean("above_roof", point.above_roof);
    });
    json_.line();
    json_.array("limits");
    for (std::size_t row = 0; row < table.limits.size(); ++row) {
      range_limit const& limit = table.limits[row];
      if (limit.text.empty() || !is_shown(row)) continue;
      json_.line();
      json_.object();
      range(row);
      json_.text("limiter", limit.text);
      if (page_ != nullptr) write_kind(limit);
      json_.number("time_ns", limit.time_ns);
      json_.number("time_at_roof_ns", limit.roof_ns);
      if (limit.units.is_known() && !limit.is_above_roof()) write_units(limit);
      json_.end_object();
    }
    json_.end_array();
  }

  /// What the page decides by, where `limiter` is for eyes.
  void write_kind(range_limit const& limit) {
    bool const is_unit = limit.kind == limiter::unit;
    json_.text("kind", is_unit ? "unit" : to_string(limit.kind));
    if (is_unit) json_.text("unit", limit.roof);
    if (is_unit && limit.names() != limit.roof) json_.text("names", limit.names());
    if (!limit.stall.empty()) json_.text("stall", limit.stall);
  }

  /// How much of the time each unit is used that was counted; fractions.
  void write_units(range_limit const& limit) {
    json_.array("use");
    for (std::size_t unit = 0; unit < gpu_units; ++unit) {
      auto const which = static_cast<gpu_unit>(unit);
      if (!is_finite(limit.units[which])) continue;
      json_.object();
      json_.text("unit", to_string(which, input_.roofline.memory));
      json_.number("part", limit.use(which));
      json_.end_object();
    }
    json_.end_array();
  }

  json_writer& json_;
  report_input const& input_;
  answer_on_page const* page_;
};

}  // namespace detail

STRATA_END

#endif  // STRATA_REPORT_ANSWER_JSON_HPP
