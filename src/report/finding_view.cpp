#include "finding_view.hpp"

#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/text.hpp>
#include <strata/base/utf8.hpp>
#include <strata/profile/range_paths.hpp>
#include <strata/tables/console_table.hpp>
#include "../analyse/findings.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
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

/// A kernel's name, which may be as long as its template arguments, for a sentence.
std::string kernel_text(std::string const& name) {
  constexpr std::size_t widest = 60;
  return shortened(console_text(name), widest, 0);
}

std::string place_of(finding const& found) {
  std::string text = console_text(found.path);
  if (!found.ranges.empty() && !found.ranges.front().kernel.empty())
    text = path_label(text) + " (" + kernel_text(found.ranges.front().kernel) + ")";
  if (found.ranges.size() < 2) return text;
  std::size_t const more = found.ranges.size() - 1;
  return path_label(text) + " and " + std::to_string(more) +
         (more == 1 ? " more range" : " more ranges");
}

/// What a step waits for where it is no shorter without a cause.
std::string bottleneck_without(finding const& found) {
  bool const is_of_gpu =
      std::all_of(found.ranges.begin(), found.ranges.end(), [](finding_range const& range) {
        return range.part == finding_part::kernels || range.part == finding_part::kernels_below ||
               range.part == finding_part::copies || range.part == finding_part::order;
      });
  return is_of_gpu ? "the host would be the bottleneck" : "the GPU would wait for something else";
}

std::string prediction_of(finding_view const& view, steps_summary const& steps) {
  finding const& found = *view.found;
  double const step_ns = steps.usual_ns();
  std::string const whole(steps.whole());
  if (!(found.cost_ns_per_step > 0.0)) return {};
  if (view.leaves_step) {
    std::string const alone = "Alone no gain: " + bottleneck_without(found) + ".";
    if (!is_finite(found.with_first_ns)) return alone;
    return alone + " With finding 1 fixed too, the " + whole + " would take " +
           time_text(found.with_first_ns) + ".";
  }
  if (!is_finite(found.predicted_step_ns))
    return "Fixing this would shorten the " + whole + " by at most " +
           time_text(found.cost_ns_per_step) + share_text(view.gain_ns, step_ns) + ".";
  std::string const base =
      steps.is_slowed() ? " than " + time_text(step_ns) + " unrecorded" : std::string();
  return "Without this cause, the " + whole + " would take " + time_text(found.predicted_step_ns) +
         share_text(view.gain_ns, step_ns, " shorter" + base) +
         (view.ends_other_waits ? ", since other idle time ends with it." : ".");
}

/// What people call a column that is evidence.
struct column_words {
  std::string_view column;
  std::string_view words;
  std::string_view word = {};  // of a count: for one
};
constexpr column_words words_of_columns[] = {
    {"gpu_idle_ns", "GPU idle"},
    {"gaps", "idle gaps", "idle gap"},
    {"kernels_self", "kernels of its own", "kernel of its own"},
    {"gpu_kernel_self_ns", "in its own kernels"},
    {"launch_self_ns", "in its own launches"},
    {"launch_ns", "in launch calls"},
    {"synchronizations", "waits of the host", "wait of the host"},
    {"allocations", "allocations", "allocation"},
    {"allocated_bytes", "allocated"},
    {"gpu_copy_self_ns", "in its own copies"},
    {"copies_self", "copies", "copy"},
    {"h2d_bytes", "copied to the GPU"},
    {"d2h_bytes", "copied from the GPU"},
    {"pinned_ns", "from pinned memory"},
    {"migrated_bytes_h2d", "migrated to the GPU"},
    {"migrated_bytes_d2h", "migrated to the host"},
    {"gpu_page_faults", "page faults of the GPU", "page fault of the GPU"},
    {"migration_ns", "in migrations"},
    {"blocks_mean", "blocks of a launch", "block of a launch"},
    {"blocks_median", "blocks of a launch", "block of a launch"},
    {"blocks_at_a_time", "blocks at a time", "block at a time"},
    {"multiprocessors", "SMs", "SM"},
    {"chain_kernels", "kernels of the chain", "kernel of the chain"},
    {"chain_ns", "in kernels of the chain"},
    {"saved_bytes", "that one kernel would keep on the chip"},
};

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

/// "GPU idle 9.34 ms", "1,468 idle gaps"; of a column without words "l2_sectors 1,468 sectors".
std::string evidence_text(finding_evidence const& value) {
  auto const* const found =
      std::find_if(std::begin(words_of_columns), std::end(words_of_columns),
                   [&](column_words const& entry) { return entry.column == value.column; });
  bool const has_words = found != std::end(words_of_columns);
  if (has_words && value.unit.empty()) {
    std::string const words(value.value == 1.0 ? found->word : found->words);
    return value_text(value) + " " + words;
  }
  return std::string(has_words ? found->words : value.column) + " " + value_text(value);
}

}  // namespace

std::string finding_view::text() const {
  std::string all = found->rule.empty() ? std::string() : std::string(found->rule) + ": ";
  if (!place.empty()) all += place + ": ";
  all += title + ".";
  return prediction.empty() ? all : all + " " + prediction;
}

finding_view view_of(finding const& found, steps_summary const& steps) {
  double const step_ns = steps.usual_ns();
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
                " a " + std::string(steps.from_steps ? "step" : "run") +
                share_text(made.gain_ns, step_ns);
  made.prediction = prediction_of(made, steps);
  if (!found.needs.empty())
    made.next = "record with " + std::string(found.needs) + " to learn more";
  for (finding_evidence const& value : found.evidence)
    made.evidence.push_back({value.path,
                             found.of_step ? std::string(whole_step) : path_label(value.path),
                             value.column, value.value, value.unit, evidence_text(value)});
  return made;
}

std::vector<finding_view> view_findings(findings_table const& table, steps_summary const& steps) {
  std::vector<finding_view> views;
  for (finding const& found : table.findings) views.push_back(view_of(found, steps));
  return views;
}

std::string together_text(fixed_together const& together, steps_summary const& steps) {
  if (together.causes < 2 || !is_finite(together.step_ns)) return {};
  double const step_ns = steps.usual_ns();
  return std::string("Without findings 1 ") + (together.causes == 2 ? "and " : "to ") +
         std::to_string(together.causes) + " together, the " + std::string(steps.whole()) +
         " would take " + time_text(together.step_ns) +
         share_text(step_ns - together.step_ns, step_ns, " shorter") + ".";
}

}  // namespace detail
STRATA_END
