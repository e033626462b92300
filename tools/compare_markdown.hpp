// A comparison as Markdown for comments on a change, and what a line of it says.
#ifndef STRATA_TOOLS_COMPARE_MARKDOWN_HPP
#define STRATA_TOOLS_COMPARE_MARKDOWN_HPP

#include <strata/base/text_writer.hpp>
#include "analyse/compare.hpp"

#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>

#include "markdown.hpp"

namespace tools {

/// `+12.3 %`: a change as a percentage.
inline std::string change_text(double change) {
  return (change < 0 ? "" : "+") + strata::detail::fixed_string(change * 100, 1) + " %";
}
/// `+12.3 % +-0.5`: with its noise.
inline std::string change_text(double change, double noise) {
  return change_text(change) + " +-" + strata::detail::fixed_string(noise * 100, 1);
}

/// `-30.0 % to +40.0 %`: as far as losses leave it open; with its noise where there are none.
inline std::string change_text(strata::compared_range const& range) {
  constexpr double least = 0.0005;
  if (range.lost_before + range.lost_after < least) return change_text(range.change, range.noise);
  if (range.is_unknown()) return "not known";
  return change_text(range.least_change()) + " to " + change_text(range.most_change());
}

constexpr char about_trimmed[] =
    "trimmed: a mean without the longest and the shortest call of each run, since one of them is "
    "far from the others";

/// What a line says of a range: the time that was judged and its change with noise, or the other
/// time and no change.
struct range_line {
  std::string time;
  double before_ms;
  double after_ms;
  std::string change;

  explicit range_line(strata::compared_range const& range) {
    bool const judged = range.verdict != strata::range_verdict::unjudged;
    time = (judged ? range.judged_gpu : range.gpu) ? "GPU" : "host";
    if (!range.thread.empty()) time += ", " + range.thread;
    if (judged && range.judged_trimmed) time += ", trimmed";
    before_ms = judged ? range.judged_before_ms : range.before_ms;
    after_ms = judged ? range.judged_after_ms : range.after_ms;
    if (judged) change = change_text(range);
  }
};

/// Whether the change of a range is more than 0 in lines of four decimals.
inline bool is_changed(strata::compared_range const& range) {
  constexpr double min_ms = 0.00005;
  return range.slower || std::abs(range.change_ms()) >= min_ms;
}

/// The verdict, the ten largest changes and the notes.
inline void write_comparison_markdown(strata::detail::text_writer& out,
                                      strata::comparison const& c) {
  out.write("**" + std::string(to_string(c.verdict)) + "**: " + plain_markdown(c.reason) + "\n\n");
  if (!c.headline.empty()) out.write(plain_markdown(c.headline) + "\n\n");
  out.write("| range | before, mean ms a step | after | change | |\n|---|--:|--:|--:|---|\n");
  std::size_t lines = 0;
  auto const row = [&](std::string const& name, double before, double after,
                       std::string const& change, std::string_view said) {
    out.write("| " + name + " | " + strata::detail::fixed_string(before, 4) + " | " +
              strata::detail::fixed_string(after, 4) + " | " + change + " | " + std::string(said) +
              " |\n");
  };
  if (c.before_steps > 0 && c.after_steps > 0)
    row("*step*, median", c.before_ms, c.after_ms,
        c.noise > 0 ? change_text(c.change, c.noise) : change_text(c.change), "");
  bool trimmed = false;
  for (strata::compared_range const& range : c.ranges) {
    if (!is_changed(range) || (!range.slower && ++lines > 10)) continue;
    trimmed = trimmed || range.judged_trimmed;
    range_line const line(range);
    std::string const once = range.once ? ", of the run" : "";
    row(plain_markdown(range.path + " (" + line.time + once + ")"), line.before_ms, line.after_ms,
        line.change,
        range.slower ? "**slower**"
        : range.lost ? "unsure (times lost)"
                     : to_string(range.verdict));
  }
  if (trimmed) out.write("\n" + std::string(about_trimmed) + "\n");
  if (c.noisy_times > 0)
    out.write("\n" + std::to_string(c.noisy_times) + " of " + std::to_string(c.judged_times) +
              " times of ranges are too noisy to show a slowdown of twice the limit.\n");
  out.put('\n');
  for (std::string const& note : c.notes) out.write("- " + plain_markdown(note) + "\n");
}

}  // namespace tools

#endif  // STRATA_TOOLS_COMPARE_MARKDOWN_HPP
