// A comparison as Markdown for comments on a change, and what a line of it says.
#ifndef STRATA_TOOLS_COMPARE_MARKDOWN_HPP
#define STRATA_TOOLS_COMPARE_MARKDOWN_HPP

#include <strata/base/text_writer.hpp>
#include "analyse/compare.hpp"

#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

/// What a line says of a range: the time that was judged, on the GPU that of kernels, and its
/// change with noise, or the other time, on the GPU with copies, and no change.
struct range_line {
  std::string time;
  double before_ms;
  double after_ms;
  std::string change;

  explicit range_line(strata::compared_range const& range) {
    bool const judged = range.verdict != strata::range_verdict::unjudged;
    time = judged ? range.judged_gpu ? "GPU" : "host" : range.gpu ? "GPU busy" : "host";
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

/// The number of a row on both sides: ", kernels 716 and 17"; empty where it is the same.
inline std::string both_text(char const* name, std::string const& before,
                             std::string const& after) {
  if (before == after || before.empty() || after.empty()) return {};
  return std::string("; ") + name + before + " before, " + after + " after";
}

/// A row of the period's change as tables show it.
struct period_line {
  std::string text;
  std::string change;
  double before_ms = 0;
  double after_ms = 0;

  explicit period_line(strata::period_row const& row)
      : text(row_label(row)), before_ms(row.before_ms), after_ms(row.after_ms) {
    using strata::detail::significant;
    using strata::detail::time_text;
    bool const has_both = row.before_ms > 0 && row.after_ms > 0;
    change = has_both ? change_text(row.after_ms / row.before_ms - 1, row.noise)
                      : "+-" + time_text(row.noise_ms * 1e6);
    auto const number = [](double value) {
      return std::isfinite(value) ? significant(value) : std::string();
    };
    auto const bytes = [](double value) {
      return std::isfinite(value) ? strata::detail::bytes_text(value) : std::string();
    };
    bool const is_copy = row.kind == strata::period_kind::copy;
    text += both_text(is_copy ? "copies " : "kernels ", number(row.before_kernels),
                      number(row.after_kernels));
    text += both_text("device memory traffic ", bytes(row.before_hbm_bytes),
                      bytes(row.after_hbm_bytes));
    text += both_text("limiter ", row.before_limiter, row.after_limiter);
    if (row.is_noise && !row.changed) text += " (within noise)";
    if (!row.is_noise && !row.changed && row.kind != strata::period_kind::overlap)
      text += " (too few steps to tell)";
  }
  period_line(std::string name, std::string said, double before, double after)
      : text(std::move(name)), change(std::move(said)), before_ms(before), after_ms(after) {}
};

/// The first rows, the others in one, and their sum.
inline std::vector<period_line> period_lines(strata::period_change const& period) {
  constexpr std::size_t most = 12;
  constexpr double least_ms = 0.00005;  // 0 in lines of four decimals
  std::vector<period_line> lines;
  period_line others({}, {}, 0, 0);
  std::size_t left_out = 0;
  for (strata::period_row const& row : period.rows) {
    bool const is_shown = lines.size() < most && std::abs(row.change_ms()) >= least_ms;
    if (is_shown) {
      lines.emplace_back(row);
      continue;
    }
    ++left_out;
    others.before_ms += row.before_ms;
    others.after_ms += row.after_ms;
  }
  others.text = std::to_string(left_out) + (left_out == 1 ? " other row" : " other rows");
  if (left_out > 0) lines.push_back(std::move(others));
  lines.emplace_back("the period", std::string(), period.before_ms, period.after_ms);
  if (period.before_first_ms + period.after_first_ms > 0)
    lines.emplace_back("the first step, once and in no row", std::string(), period.before_first_ms,
                       period.after_first_ms);
  return lines;
}

/// "GPU idle: waiting for launches, 24.1 ms before and 380 us after (means of a step)"; empty where
/// noise makes all changes.
inline std::string most_changed_text(strata::comparison const& c) {
  strata::period_row const* const most = c.most_changed();
  if (most == nullptr) return {};
  return row_label(*most) + ", " + strata::detail::time_text(most->before_ms * 1e6) +
         " before and " + strata::detail::time_text(most->after_ms * 1e6) +
         " after (means of a step)";
}

/// The verdict, what changed most, the rows of the period, the ten largest changes of ranges, and
/// the notes.
inline void write_comparison_markdown(strata::detail::text_writer& out,
                                      strata::comparison const& c) {
  out.write("**" + std::string(to_string(c.verdict)) + "**: " + plain_markdown(c.reason) + "\n\n");
  if (!c.headline.empty()) out.write(plain_markdown(c.headline) + "\n\n");
  std::string const most = most_changed_text(c);
  if (!most.empty()) out.write("Changed most: " + plain_markdown(most) + "\n\n");
  if (!c.period.rows.empty()) {
    out.write("| part of the period | before, mean ms | after | difference | change |\n");
    out.write("|---|--:|--:|--:|--:|\n");
    for (period_line const& line : period_lines(c.period))
      out.write("| " + plain_markdown(line.text) + " | " +
                strata::detail::fixed_string(line.before_ms, 4) + " | " +
                strata::detail::fixed_string(line.after_ms, 4) + " | " +
                strata::detail::fixed_string(line.after_ms - line.before_ms, 4) + " | " +
                line.change + " |\n");
    out.put('\n');
  }
  out.write("| range | before, mean ms a step | after | change | |\n|---|--:|--:|--:|---|\n");
  std::size_t lines = 0;
  auto const row = [&](std::string const& name, double before, double after,
                       std::string const& change, std::string_view said) {
    out.write("| " + name + " | " + strata::detail::fixed_string(before, 4) + " | " +
              strata::detail::fixed_string(after, 4) + " | " + change + " | " + std::string(said) +
              " |\n");
  };
  if (c.before_steps > 0 && c.after_steps > 0)
    row(std::string("*step*, median") + strata::detail::on_gpu(c.before_of_gpu || c.after_of_gpu),
        c.before_ms, c.after_ms,
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
