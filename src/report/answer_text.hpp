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

#include <cstddef>
#include <string>
#include <vector>

// The answer in sentences: of each finding, of what is undecided, and the lines of the console.

STRATA_BEGIN

namespace detail {

/// What the step becomes without this cause: "Without this cause, the step would take 2.10 ms (13.9
/// % shorter).", or the most that could be gained where that is not predicted.
inline std::string gain_text(finding const& found, steps_summary const& steps) {
  double const step_ns = steps.usual_ns();
  std::string const whole = steps.whole();
  if (!(found.cost_ns_per_step > 0.0)) return {};
  if (found.leaves_step(step_ns))
    return sentence("Fixing this alone would not shorten the ") << whole << ".";
  std::string const share = human_percent(found.gain_ns(step_ns), step_ns);
  if (!is_finite(found.predicted_step_ns))
    return sentence("Fixing this would shorten the ")
           << whole << " by at most " << time_text(found.cost_ns_per_step)
           << (share.empty() ? share : sentence(" (") << share << " %)") << ".";
  std::string base;
  if (steps.is_slowed()) base = sentence(" than ") << time_text(step_ns) << " unrecorded";
  return sentence("Without this cause, the ")
         << whole << " would take " << time_text(found.predicted_step_ns)
         << (share.empty() ? share : sentence(" (") << share << " % shorter" << base << ')')
         << (found.ends_other_waits(step_ns) ? ", since other idle time ends with it." : ".");
}

/// "block[*]/mlp/up and 4 more ranges"; empty for the whole step.
inline std::string ranges_text(finding const& found) {
  std::string const text = console_text(found.path);
  if (found.ranges.size() < 2) return text;
  std::size_t const more = found.ranges.size() - 1;
  return sentence(path_label(text))
         << " and " << more << (more == 1 ? " more range" : " more ranges");
}

/// A finding in sentences: its rule, its ranges, what is wrong and what the step becomes without
/// it.
inline std::string finding_text(finding const& found, steps_summary const& steps) {
  std::string text = found.rule.empty() ? std::string() : std::string(found.rule) + ": ";
  std::string const ranges = ranges_text(found);
  if (!ranges.empty()) text += ranges + ": ";
  text += console_text(found.title) + ".";
  add_part(text, gain_text(found, steps), " ");
  return text;
}

/// Whether what decides one rule decides another: the preset of findings has all that rules count.
inline bool decides(undecided_rule const& one, undecided_rule const& other) noexcept {
  if (one.decider == deciding::findings && other.decider == deciding::hbm) return true;
  return one.decider == other.decider && one.range == other.range;
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
         << " to check " << most.rules << (most.rules == 1 ? " more rule" : " more rules");
}

/// The answer: what bounds the step, the causes that gain most, what to try, and what else there
/// is.
inline void write_answer(text_writer& out, findings_table const& table, steps_summary const& steps,
                         std::size_t width, bool color) {
  constexpr std::size_t most = 3;  // causes
  double const step_ns = steps.usual_ns();
  if (!table.bound.empty())
    write_paragraph(out, "answer:  ", console_text(table.bound), width, console_bold, color);
  std::size_t shown = 0;
  std::size_t without_gain = 0;
  std::string rules_without_gain;
  for (finding const& cause : table.findings) {
    if (cause.leaves_step(step_ns)) {
      ++without_gain;
      add_part(rules_without_gain, cause.rule, ", ");
      continue;
    }
    if (shown == most) continue;
    ++shown;
    write_paragraph(out, "finding: ", finding_text(cause, steps), width, console_warning, color);
    write_paragraph(out, "try:     ", cause.advice, width, console_bold, color);
  }
  std::string more;
  if (std::size_t const rest = table.findings.size() - shown - without_gain; rest > 0)
    more = sentence() << rest << (rest == 1 ? " more finding is" : " more findings are")
                      << " in findings.json";
  if (without_gain > 0)
    add_part(more,
             sentence("fixing one of these alone would not shorten the ")
                 << steps.whole() << ": " << rules_without_gain,
             "; ");
  add_part(more, undecided_text(table.undecided), "; ");
  if (!more.empty()) write_paragraph(out, "more:    ", more, width, {}, color);
}

}  // namespace detail

STRATA_END

#endif  // STRATA_REPORT_ANSWER_TEXT_HPP
