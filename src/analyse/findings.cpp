#include "findings.hpp"

#include <strata/base/macros.hpp>
#include <strata/profile/range_paths.hpp>
#include "kernel_names.hpp"
#include "rule_context.hpp"
#include "rules.hpp"
#include "step_bound.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

STRATA_BEGIN
namespace detail {
namespace {

bool costs_more(finding const& a, finding const& b) noexcept {
  return a.cost_ns_per_step > b.cost_ns_per_step;
}

/// A candidate with what its rule says of all of them.
finding finding_of(finding_rule const& rule, std::string_view advice, rule_result const& said,
                   candidate&& seen) {
  finding made;
  made.rule = rule.id;
  made.title = said.title.empty() ? std::move(seen.title) : said.title;
  made.row = seen.row;
  made.path = std::move(seen.path);
  made.of_step = seen.of_step;
  made.cost_ns_per_step = seen.cost_ns;
  made.evidence = std::move(seen.evidence);
  made.cause = rule.cause;
  made.advice = advice;
  if (!seen.advice.empty()) made.advice = seen.advice;
  if (!said.advice.empty()) made.advice = said.advice;
  made.needs = std::string(seen.needs);
  made.part = seen.part.value_or(rule.part);
  made.ranges.push_back({made.path, made.row, made.cost_ns_per_step, made.part, seen.between,
                         std::move(seen.kernel), seen.launches, seen.best_ns, seen.idle_ns});
  return made;
}

/// Whether kernels of PyTorch's own operators ran.
bool is_of_pytorch(profile const& source) {
  constexpr std::string_view operators = "2at6native";  // at::native, mangled
  return std::any_of(source.kernel_names.begin(), source.kernel_names.end(),
                     [&](kernel_name const& kernel) {
                       return kernel.mangled.find(operators) != std::string::npos;
                     });
}

/// One finding of one cause in several ranges, the most expensive first. A title that only the
/// first of them has says so; of several fixes the rule's is left. Requires: at least one.
finding merged(std::string_view advice, std::vector<finding>&& causes) {
  std::stable_sort(causes.begin(), causes.end(), costs_more);
  finding made = std::move(causes.front());
  bool const is_mixed_advice =
      std::any_of(causes.begin() + 1, causes.end(),
                  [&](finding const& other) { return other.advice != made.advice; });
  if (is_mixed_advice) made.advice = advice;
  bool const is_mixed_title =
      std::any_of(causes.begin() + 1, causes.end(),
                  [&](finding const& other) { return other.title != made.title; });
  if (is_mixed_title) {
    std::string const& kernel = made.ranges.front().kernel;
    bool const is_named = kernel.empty() || names_kernel(made.title, kernel);
    made.title += (is_named ? " (" : " (these values: " + kernel_text(kernel) + " ") +
                  in_range(made.path) + ")";
  }
  for (std::size_t i = 1; i < causes.size(); ++i) {
    finding const& more = causes[i];
    made.cost_ns_per_step += more.cost_ns_per_step;
    made.ranges.push_back(more.ranges.front());
    if (i < most_of_a_rule)
      made.evidence.insert(made.evidence.end(), more.evidence.begin(), more.evidence.end());
  }
  return made;
}

/// Runs the rules in their order, and turns their candidates into findings.
class finding_judge {
 public:
  explicit finding_judge(findings_input const& input)
      : run_(input), is_of_pytorch_(is_of_pytorch(run_.in.source)) {
    if (input.by_kernel == nullptr) return;
    by_kernel_.emplace(input.by_kernel->input);
    run_.by_kernel = &*by_kernel_;
  }

  findings_table run() {
    if (run_.rows.empty()) return {};
    bool const hangs = run_.in.source.hang.found;  // what is missing says more than what came
    if (!hangs && !(run_.step_ns > 0.0)) return {};
    if (!hangs)
      for (finding_rule const& rule : finding_rules) judge(rule);
    std::stable_sort(made_.findings.begin(), made_.findings.end(), costs_more);
    made_.bound = step_bound(run_, made_.findings);
    return std::move(made_);
  }

 private:
  void judge(finding_rule const& rule) {
    bool const by_kernel = rule.by_kernel && by_kernel_.has_value();
    rule_result said = rule.look(by_kernel ? *by_kernel_ : run_);
    std::string_view const advice =
        is_of_pytorch_ && !rule.pytorch.empty() ? rule.pytorch : rule.advice;
    double cost_ns = 0.0;
    for (candidate const& seen : said.candidates) cost_ns += seen.cost_ns;
    bool const is_expensive = run_.is_expensive(cost_ns);
    std::vector<finding> causes;
    for (candidate& seen : said.candidates) {
      bool const claims = is_expensive || seen.part.value_or(rule.part) != finding_part::kernels;
      if (by_kernel) {
        if (claims) claim(seen, by_kernel_->gains);
        name_kernel(seen);
      }
      if (claims) claim(seen, run_.gains);
      if (claims && !by_kernel && by_kernel_.has_value()) claim_of_kernels(seen);
      bool const is_doubt = !(seen.cost_ns > 0.0);
      (is_doubt ? made_.findings : causes)
          .push_back(finding_of(rule, advice, said, std::move(seen)));
    }
    if (is_expensive && !causes.empty()) {
      made_.findings.push_back(merged(advice, std::move(causes)));
      limit_cost(made_.findings.back());
    }
    bool const has_found = !made_.findings.empty() && made_.findings.back().rule == rule.id;
    for (undecided_rule const& open : said.open)
      if (!has_found || !tells_more(made_.findings.back(), open)) add_undecided(rule, open);
    if (!has_found) add_undecided(rule, said);
  }

  /// Whether what decides of a range tells more of a finding, since that is about this range, or
  /// since it is about all. The finding says so then.
  bool tells_more(finding& found, undecided_rule const& open) const {
    bool const is_of_it =
        open.range.empty() ||
        std::any_of(found.ranges.begin(), found.ranges.end(), [&](finding_range const& range) {
          return run_.rows[range.row].name == open.range;
        });
    if (is_of_it && found.needs.empty() && open.is_by_keys()) found.needs = open.quoted_needs();
    return is_of_it;
  }
  void add_undecided(finding_rule const& rule, rule_result const& said) {
    if (!said.has_data && rule.needs != deciding::nothing && run_.has_device_work())
      add_undecided(rule, run_.what_decides_without(said.lacks, rule.needs));
  }

  /// All ranges together cost no more than the period.
  void limit_cost(finding& cause) const {
    if (cause.cost_ns_per_step <= run_.step_ns) return;
    double const part = run_.step_ns / cause.cost_ns_per_step;
    cause.cost_ns_per_step = run_.step_ns;
    for (finding_range& range : cause.ranges) range.cost_ns_per_step *= part;
  }

  static void claim(candidate const& seen, gain_judge& gains) {
    for (time_claim const& time : seen.claims) {
      if (time.is_apart)
        gains.set_apart(time.row, time.ns);
      else
        gains.claim(time.row, time.ns);
    }
  }

  /// What was seen in a row of a kernel was seen in its range.
  void name_kernel(candidate& seen) const {
    kernels_apart const& apart = *run_.in.by_kernel;
    auto const path_of = [&](std::size_t row) { return run_.rows[apart.ranges[row]].path; };
    for (finding_evidence& value : seen.evidence) {
      if (value.path != seen.path) continue;
      value.path = path_of(seen.row);
      if (!apart.kernels[seen.row].empty()) value.kernel = apart.kernels[seen.row];
    }
    if (!seen.of_step) seen.path = seen.row == 0 ? std::string() : path_of(seen.row);
    if (!apart.kernels[seen.row].empty()) seen.kernel = apart.kernels[seen.row];
    seen.row = apart.ranges[seen.row];
    for (time_claim& time : seen.claims) time.row = apart.ranges[time.row];
  }

  /// What a range's time is claimed of, each of its kernels has its part of.
  void claim_of_kernels(candidate const& seen) {
    kernels_apart const& apart = *run_.in.by_kernel;
    for (time_claim const& time : seen.claims) {
      double const all = run_.load(time.row).time_ns;
      for (std::size_t row = 0; all > 0.0 && row < apart.ranges.size(); ++row) {
        double const ns = by_kernel_->load(row).time_ns;
        if (apart.ranges[row] == time.row && ns > 0.0)
          by_kernel_->gains.claim(row, time.ns * std::min(1.0, ns / all));
      }
    }
  }

  void add_undecided(finding_rule const& rule, undecided_rule open) {
    open.rule = rule.id;
    made_.undecided.push_back(std::move(open));
  }

  rule_context run_;
  bool is_of_pytorch_;
  std::optional<rule_context> by_kernel_;
  findings_table made_;
};

}  // namespace
}  // namespace detail

findings_table make_findings(findings_input const& input) {
  return detail::finding_judge(input).run();
}

STRATA_END
