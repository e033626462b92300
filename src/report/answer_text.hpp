#include <strata/version.hpp>
#ifndef STRATA_REPORT_ANSWER_TEXT_HPP
#define STRATA_REPORT_ANSWER_TEXT_HPP

#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/text.hpp>
#include <strata/base/text_writer.hpp>
#include <strata/base/utf8.hpp>
#include <strata/profile/range_paths.hpp>
#include <strata/tables/console_table.hpp>
#include <strata/tables/steps_summary.hpp>
#include "../analyse/findings.hpp"
#include "account_view.hpp"
#include "finding_view.hpp"
#include "next_command.hpp"
#include "report_input.hpp"

#include <cstddef>
#include <string>
#include <vector>

// The answer in sentences: of each finding, of what is undecided, and the lines of the console.

STRATA_BEGIN

namespace detail {

/// Whether what decides one rule decides another: the preset of findings has all that rules count,
/// kernels are counted in addition, and each of these records again.
inline bool decides(undecided_rule const& one, undecided_rule const& other) noexcept {
  if (one.decider == other.decider) return one.range == other.range;
  switch (one.decider) {
    case deciding::kernels:
      return other.decider == deciding::findings || other.decider == deciding::hbm ||
             other.decider == deciding::again;
    case deciding::findings:
      return other.decider == deciding::hbm || other.decider == deciding::again;
    case deciding::no_graphs:
    case deciding::more_steps:
      return other.decider == deciding::again;
    default:
      return false;
  }
}

/// What would decide most of the rules that could not decide, and how many that are.
struct most_deciding {
  undecided_rule const* rule = nullptr;  ///< null where all could
  std::size_t rules = 0;

  explicit most_deciding(std::vector<undecided_rule> const& undecided) {
    for (undecided_rule const& one : undecided) {
      std::size_t same = 0;
      for (undecided_rule const& other : undecided) same += decides(one, other);
      if (same <= rules) continue;
      rules = same;
      rule = &one;
    }
  }
};

/// Empty where all rules could decide.
inline std::string undecided_text(std::vector<undecided_rule> const& undecided) {
  most_deciding const most(undecided);
  if (most.rule == nullptr) return {};
  return sentence(most.rule->how_to_decide())
         << " to run " << most.rules << (most.rules == 1 ? " more check" : " more checks");
}

/// "finding 4 (kernel-fusion)".
inline std::string number_and_rule(std::size_t position, finding_view const& view) {
  return "finding " + std::to_string(position + 1) + " (" + std::string(view.found->rule) + ")";
}

/// "in findings.json: finding 4 (kernel-fusion)"; of many, how many they are.
inline std::string more_findings(std::vector<std::string> const& rest) {
  constexpr std::size_t most = 3;  // named
  if (rest.empty()) return {};
  if (rest.size() > most)
    return std::to_string(rest.size()) + " more findings are in findings.json";
  std::string names;
  for (std::string const& name : rest) add_part(names, name, ", ");
  return "in findings.json: " + names;
}

/// The answer: what bounds the step, what all of it goes to, the causes that gain most, what to
/// try, what is not known most of all, what else there is, and the command that would tell more.
/// Findings have the numbers that they have everywhere.
inline void write_answer(text_writer& out, report_input const& input, std::size_t width,
                         bool color) {
  constexpr std::size_t most = 3;  // causes
  findings_table const& table = input.findings;
  auto const write = [&](std::string_view lead, std::string_view text, std::string_view style) {
    if (!text.empty()) write_paragraph(out, lead, console_text(text), width, style, color);
  };
  write("answer:    ", table.bound, console_bold);
  write("account:   ", account_text(input), {});
  std::size_t shown = 0;
  std::vector<std::string> rest;
  std::string without_gain;
  std::vector<finding_view> const views = view_findings(table, input.analysed);
  for (std::size_t i = 0; i < views.size(); ++i) {
    finding_view const& view = views[i];
    if (view.leaves_step)
      add_part(without_gain, number_and_rule(i, view), ", ");
    else if (shown == most)
      rest.push_back(number_and_rule(i, view));
    if (view.leaves_step || shown == most) continue;
    ++shown;
    write("finding " + std::to_string(i + 1) + ": ", view.text(), console_warning);
    write("try:       ", view.found->advice, console_bold);
  }
  write("together:  ", together_text(table, input.analysed), {});
  write("unknown:   ", unknown_text(input), {});
  bool const has_none = shown == 0 && input.source.traced && input.analysed.gpu_busy_ns > 0.0;
  std::string more = has_none ? "no known fix shortens the " + std::string(input.analysed.whole())
                              : more_findings(rest);
  if (!without_gain.empty()) add_part(more, "alone no gain: " + without_gain, "; ");
  add_part(more, undecided_text(table.undecided), "; ");
  write("more:      ", more, {});
  next_command const next = make_next_command(input);
  if (!next.tells_more || !input.source.traced) return;  // who asks for host times has them
  // A command is one line, however wide: broken, no shell takes it.
  if (!next.first.empty()) write("next:      ", next.first, {});
  out.write((next.first.empty() ? "next:      " : "           ") + next.text + "\n");
}

}  // namespace detail

STRATA_END

#endif  // STRATA_REPORT_ANSWER_TEXT_HPP
