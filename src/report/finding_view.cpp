#include "finding_view.hpp"

#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/text.hpp>
#include <strata/base/utf8.hpp>
#include <strata/profile/metric_resolver.hpp>
#include <strata/tables/console_table.hpp>
#include "../analyse/column_meanings.hpp"
#include "../analyse/findings.hpp"
#include "../analyse/kernel_names.hpp"
#include "../analyse/range_paths.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <vector>

STRATA_BEGIN
namespace detail {
namespace {

/// " (13.9 %)" or " (13.9 % shorter)"; "" where the share rounds to 0.
std::string share_text(double ns, double step_ns, std::string const& more = {}) {
  std::string const share = human_percent(ns, step_ns);
  return share.empty() ? share : " (" + share + " %" + more + ")";
}

std::string place_of(finding const& found) {
  // A range may be there for each of its kernels, for copies to and from it, and between steps.
  std::set<std::string_view> paths;
  std::set<std::string_view> kernels;  // of the first range
  for (finding_range const& range : found.ranges) {
    paths.insert(range.path);
    if (range.path == found.path && !range.kernel.empty()) kernels.insert(range.kernel);
  }
  auto const and_more = [](std::size_t all, char const* one) {
    if (all < 2) return std::string();
    return " and " + std::to_string(all - 1) + " more " + one + (all == 2 ? "" : "s");
  };
  std::string text = console_text(found.path);
  if (kernels.size() > 1 || (kernels.size() == 1 && !names_kernel(found.title, *kernels.begin())))
    text = path_label(text) + " (" + kernel_text(console_text(found.ranges.front().kernel)) +
           and_more(kernels.size(), "kernel") + ")";
  return paths.size() < 2 ? text : path_label(text) + and_more(paths.size(), "range");
}

/// What a step waits for where it is no shorter without a cause, or by less than the cause takes.
std::string bottleneck_without(finding const& found) {
  constexpr std::string_view names[] = {"",
                                        "kernels",
                                        "",
                                        "copies",
                                        "launches",
                                        "the host outside CUDA calls",
                                        "another wait of the host",
                                        "allocations",
                                        "calls that make and change graphs",
                                        ""};
  std::string_view const name = names[static_cast<std::size_t>(found.next_part)];
  if (name.empty()) return "other work takes as long";
  bool const of_kernels =
      found.part == finding_part::kernels || found.part == finding_part::kernels_below;
  bool const are_others = of_kernels && found.next_part == finding_part::kernels;
  std::string const place =
      found.next_path.empty() ? "" : " in " + path_label(console_text(found.next_path));
  return (are_others ? "without it the step waits for other " : "without it the step waits for ") +
         std::string(name) + place;
}

/// " The cause takes 18.0 ms, of which fixing it saves only 12.2 ms: ..."; empty where the step
/// gets shorter by nearly all that the cause takes.
std::string what_stays(finding_view const& view, step_analysis const& steps) {
  constexpr double least = 0.05;  // of what it takes; chosen
  double const taken = view.found->taken_ns();
  double const stays = taken - view.gain_ns;
  if (stays < least * taken || human_percent(stays, steps.period_ns()).empty()) return {};
  return " The cause takes " + time_text(taken) + ", of which fixing it saves only " +
         time_text(view.gain_ns) + ": " + bottleneck_without(*view.found) + ".";
}

/// ": 2.05 ms of other idle time ends with it, since the host launches sooner."
std::string other_waits(finding_view const& view) {
  finding const& found = *view.found;
  return ": " + time_text(view.gain_ns - found.taken_ns()) + " of other idle time ends with it" +
         (is_of_host(found.ranges.front().part) ? ", since the host launches sooner." : ".");
}

std::string prediction_of(finding_view const& view, step_analysis const& steps) {
  finding const& found = *view.found;
  double const step_ns = steps.period_ns();
  std::string const whole(steps.whole());
  if (!(found.cost_ns_per_step > 0.0)) return {};
  if (view.leaves_step) {
    constexpr double most = 0.5;  // of what it takes; chosen
    double const gain = found.gain_ns(step_ns);
    std::string const alone =
        gain > most * found.taken_ns()
            ? "Alone it gains only " + time_text(gain) + ", less than 1 % of the " + whole + "."
            : "Alone no gain: " + bottleneck_without(found) + ".";
    if (!is_finite(found.with_first_ns)) return alone;
    return alone + " With finding 1 fixed too, the " + whole + " would take " +
           time_text(found.with_first_ns) + ".";
  }
  if (!is_finite(found.predicted_step_ns))
    return "Fixing this would shorten the " + whole + " by at most " +
           time_text(found.cost_ns_per_step) + share_text(view.gain_ns, step_ns) + ".";
  std::string const base =
      steps.is_slowed() ? " than " + time_text(step_ns) + " unrecorded" : std::string();
  std::string const best = is_finite(found.best_step_ns)
                               ? ", at best " + time_text(found.best_step_ns) +
                                     share_text(step_ns - found.best_step_ns, step_ns, " shorter")
                               : std::string();
  return "Without this cause, the " + whole + " would take " + time_text(found.predicted_step_ns) +
         share_text(view.gain_ns, step_ns, " shorter" + base) + best +
         (view.ends_other_waits ? other_waits(view) : ".") + what_stays(view, steps);
}

/// What people call a value, by the columns of the files; empty where no column names it.
column_words words_of(std::string_view key) {
  for (evidence_column const& known : evidence_columns)
    if (known.key == key) return known.words;
  for (column_meaning const* const known :
       {meaning_of(range_meanings, key), meaning_of(kernel_meanings, key)})
    if (known != nullptr && !known->words.many.empty()) return known->words;
  return {};
}

/// As people read it: thousands in groups, times and bytes in their unit.
std::string value_text(finding_evidence const& value) {
  if (value.unit == "ns") return time_text(value.value);
  constexpr double most = 9e15;  // all digits of a double
  bool const is_count =
      value.value == std::floor(value.value) && value.value >= 0 && value.value < most;
  bool const has_thousands = value.value >= 1000 && value.value < most;
  std::string const number =
      is_count || has_thousands
          ? in_groups(static_cast<std::uint64_t>(value.value + (is_count ? 0 : 0.5)))
          : significant(value.value);
  return value.unit.empty() ? number : number + " " + std::string(value.unit);
}

/// "GPU idle 9.34 ms", "1,468 idle gaps"; of a metric what it means, "time at peak of HBM: 1.20
/// ms".
std::string evidence_text(finding_evidence const& value) {
  column_words const words = words_of(value.column);
  std::string const number = value_text(value);
  if (words.many.empty()) {
    metric const* const counted = find_entry(value.column);
    return std::string(counted == nullptr ? value.column : counted->meaning()) + ": " + number;
  }
  if (!value.unit.empty()) return std::string(words.many) + " " + number;
  bool const is_one = value.value == 1.0 && !words.one.empty();
  return number + " " + std::string(is_one ? words.one : words.many);
}

/// Whose a value is: "attention", "attention (softmax)".
std::string label_of(finding const& found, finding_evidence const& value) {
  constexpr std::size_t widest = 40;  // columns of a kernel's name
  std::string label = found.of_step ? std::string(whole_step) : path_label(value.path);
  if (!value.kernel.empty()) label += " (" + shortened(value.kernel, widest, 0) + ")";
  return label;
}

/// "finding 2 (host-work)", "findings 1 (launch-bound) and 4 (copy-in-step, alone no gain)": not
/// all of them are shown where this is read.
std::string findings_at(std::vector<std::size_t> const& positions,
                        std::vector<finding> const& findings, double step_ns) {
  std::size_t const count = positions.size();
  std::string names;
  for (std::size_t i = 0; i < count; ++i) {
    finding const& found = findings[positions[i]];
    add_part(names,
             std::to_string(positions[i] + 1) + " (" + std::string(found.rule) +
                 (found.leaves_step(step_ns) ? ", alone no gain)" : ")"),
             i + 1 < count ? ", " : " and ");
  }
  return (count == 1 ? "finding " : "findings ") + names;
}

}  // namespace

std::string finding_view::text() const {
  std::string all = found->rule.empty() ? std::string() : std::string(found->rule) + ": ";
  if (!place.empty()) all += place + ": ";
  all += title + ".";
  return prediction.empty() ? all : all + " " + prediction;
}

finding_view view_of(finding const& found, step_analysis const& steps) {
  double const step_ns = steps.period_ns();
  finding_view made;
  made.found = &found;
  made.place = place_of(found);
  made.title = console_text(found.title);
  made.cost_of_step = step_ns > 0.0 ? found.cost_ns_per_step / step_ns : 0.0;
  made.gain_ns = found.gain_ns(step_ns);
  made.shortens_step = found.shortens_step(step_ns);
  made.leaves_step = found.leaves_step(step_ns);
  made.ends_other_waits = found.ends_other_waits(step_ns);
  if (made.shortens_step)
    made.gain = (is_finite(found.predicted_step_ns) ? "" : "up to ") + time_text(made.gain_ns) +
                " a " + std::string(steps.whole()) + share_text(made.gain_ns, step_ns);
  made.prediction = prediction_of(made, steps);
  if (!found.needs.empty()) made.next = "record with " + found.needs + " to learn more";
  for (finding_evidence const& value : found.evidence)
    made.evidence.push_back({value.path, value.kernel, label_of(found, value), value.column,
                             value.value, value.unit, evidence_text(value)});
  return made;
}

std::vector<finding_view> view_findings(findings_table const& table, step_analysis const& steps) {
  std::vector<finding_view> views;
  for (finding const& found : table.findings) views.push_back(view_of(found, steps));
  return views;
}

std::string together_text(findings_table const& table, step_analysis const& steps) {
  fixed_together const& together = table.together;
  if (together.findings.size() < 2 || !is_finite(together.step_ns)) return {};
  double const step_ns = steps.period_ns();
  std::string text = "Without " + findings_at(together.findings, table.findings, step_ns) +
                     " together, the " + steps.whole() + " would take " +
                     time_text(together.step_ns) +
                     share_text(step_ns - together.step_ns, step_ns, " shorter") + ".";
  std::size_t const others = together.passed_over.size();
  if (others == 0) return text;
  return text + " With these fixed, " + findings_at(together.passed_over, table.findings, step_ns) +
         (others == 1 ? " gains less than alone." : " gain less than alone.");
}

}  // namespace detail
STRATA_END
