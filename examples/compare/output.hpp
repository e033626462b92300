// A comparison as JSON for programs and as Markdown for comments on a change.
#ifndef COMPARE_OUTPUT_HPP
#define COMPARE_OUTPUT_HPP

#include <strata/compare.hpp>
#include <strata/report/text_writer.hpp>

#include <cstddef>
#include <string>
#include <string_view>

/// Of the JSON: members may be added within a version; a change of meaning makes a new one.
inline constexpr int comparison_schema_version = 1;

inline char const* word(strata::comparison_verdict verdict) {
  switch (verdict) {
    case strata::comparison_verdict::no_regression:
      return "no regression";
    case strata::comparison_verdict::regression:
      return "regression";
    default:
      return "inconclusive";
  }
}

inline char const* word(strata::range_verdict verdict) {
  switch (verdict) {
    case strata::range_verdict::within:
      return "within";
    case strata::range_verdict::accepted:
      return "accepted";
    case strata::range_verdict::unsure:
      return "unsure";
    case strata::range_verdict::slower:
      return "slower";
    default:
      return "unjudged";
  }
}

/// `+12.3 % +-0.5`: a change and its noise, as percentages.
inline std::string change_text(double change, double noise) {
  return (change < 0 ? "" : "+") + strata::detail::fixed_string(change * 100, 1) + " % +-" +
         strata::detail::fixed_string(noise * 100, 1);
}

/// What a line says of a range: the time that was judged and its change with noise, or the other
/// time and no change.
struct range_line {
  char const* time;
  double before_ms, after_ms;
  std::string change;

  explicit range_line(strata::compared_range const& of) {
    bool const judged = of.verdict != strata::range_verdict::unjudged;
    time = (judged ? of.judged_gpu : of.gpu) ? "GPU" : "host";
    before_ms = judged ? of.judged_before_ms : of.before_ms;
    after_ms = judged ? of.judged_after_ms : of.after_ms;
    if (judged) change = change_text(of.change, of.noise);
  }
};

namespace output {

using strata::detail::json_writer;

inline void write_texts(json_writer& json, char const* key, strata::vec<std::string> const& texts) {
  json.array(key);
  for (std::string const& each : texts) json.text({}, each);
  json.end_array();
}

inline void write_count(json_writer& json, char const* key, std::size_t count) {
  json.whole(key, count, false);
}

inline void write_range(json_writer& json, strata::compared_range const& each) {
  json.line();
  json.object();
  json.text("path", each.path);
  json.text("verdict", word(each.verdict));
  json.boolean("slower", each.slower);
  json.text("time", each.gpu ? "gpu" : "host");
  json.number("before_ms", each.before_ms);
  json.number("after_ms", each.after_ms);
  json.text("judged_by", each.judged_gpu ? "gpu" : "host");
  bool const judged = each.verdict != strata::range_verdict::unjudged;
  judged ? json.number("judged_before_ms", each.judged_before_ms) : json.absent("judged_before_ms");
  judged ? json.number("judged_after_ms", each.judged_after_ms) : json.absent("judged_after_ms");
  judged ? json.number("change", each.change) : json.absent("change");
  judged ? json.number("noise", each.noise) : json.absent("noise");
  json.number("share", each.share);
  write_count(json, "steps_to_decide", each.steps_to_decide);
  json.end_object();
}

}  // namespace output

/// All of a comparison. Times are milliseconds a step, changes and shares fractions.
inline void write_comparison_json(strata::detail::text_writer& out, strata::comparison const& c,
                                  strata::compare_options const& options) {
  output::json_writer json(out);
  json.object();
  json.line();
  json.object("schema");
  json.text("name", "strata.comparison");
  output::write_count(json, "version", comparison_schema_version);
  json.text("strata", strata::detail::version_text());
  json.end_object();
  json.line();
  json.text("verdict", word(c.verdict));
  json.text("reason", c.reason);
  json.line();
  output::write_texts(json, "notes", c.notes);
  json.line();
  json.object("options");
  json.number("limit", options.limit);
  json.number("least_share", options.least_share);
  json.number("run_noise", options.run_noise);
  json.boolean("anyway", options.anyway);
  json.end_object();
  json.line();
  json.object("step");
  output::write_count(json, "before_runs", c.before_runs);
  output::write_count(json, "after_runs", c.after_runs);
  output::write_count(json, "before_steps", c.before_steps);
  output::write_count(json, "after_steps", c.after_steps);
  json.number("before_ms", c.before_ms);
  json.number("after_ms", c.after_ms);
  json.number("change", c.change);
  json.number("noise", c.noise);
  json.boolean("runs_known", c.runs_known);
  json.number("resolution", c.resolution);
  json.number("chance", c.chance);
  json.number("common", c.common);
  output::write_count(json, "steps_to_decide", c.steps_to_decide);
  output::write_count(json, "runs_to_decide", c.runs_to_decide);
  json.end_object();
  json.line();
  output::write_count(json, "judged_times", c.judged_times);
  output::write_count(json, "noisy_times", c.noisy_times);
  json.number("geometric_mean", c.geometric_mean);
  for (auto const& [name, list] :
       {std::pair("ranges", &c.ranges), std::pair("indexed", &c.indexed)}) {
    json.line();
    json.array(name);
    for (strata::compared_range const& each : *list) output::write_range(json, each);
    json.end_array();
  }
  json.line();
  output::write_texts(json, "only_before", c.only_before);
  json.line();
  output::write_texts(json, "only_after", c.only_after);
  json.line();
  json.end_object();
  out.put('\n');
}

/// A text that is no markup in a table of Markdown.
inline std::string plain_markdown(std::string_view text) {
  std::string plain;
  for (char const c : strata::detail::console_text(text)) {
    if (std::string_view("\\`*_{}[]<>()#+!|&").find(c) != std::string_view::npos) plain += '\\';
    plain += c;
  }
  return plain;
}

/// The verdict, the ten largest changes and the notes.
inline void write_comparison_markdown(strata::detail::text_writer& out,
                                      strata::comparison const& c) {
  out.write(std::string("**") + word(c.verdict) + "**: " + plain_markdown(c.reason) + "\n\n");
  out.write("| range | before, ms a step | after | change | |\n|---|--:|--:|--:|---|\n");
  std::size_t lines = 0;
  auto const row = [&](std::string const& name, double before, double after,
                       std::string const& change, char const* said) {
    out.write("| " + name + " | " + strata::detail::fixed_string(before, 4) + " | " +
              strata::detail::fixed_string(after, 4) + " | " + change + " | " + said + " |\n");
  };
  if (c.before_steps > 0 && c.after_steps > 0)
    row("*step*", c.before_ms, c.after_ms, change_text(c.change, c.noise), "");
  for (strata::compared_range const& each : c.ranges) {
    if (!each.slower && ++lines > 10) continue;
    range_line const line(each);
    row(plain_markdown(each.path) + " (" + line.time + ")", line.before_ms, line.after_ms,
        line.change, each.slower ? "**slower**" : word(each.verdict));
  }
  if (c.noisy_times > 0)
    out.write("\n" + std::to_string(c.noisy_times) + " of " + std::to_string(c.judged_times) +
              " times of ranges are too noisy to show a slowdown of twice the limit.\n");
  out.put('\n');
  for (std::string const& note : c.notes) out.write("- " + plain_markdown(note) + "\n");
}

#endif  // COMPARE_OUTPUT_HPP
