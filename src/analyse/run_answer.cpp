#include "run_answer.hpp"

#include <strata/base/macros.hpp>
#include <strata/base/text.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile.hpp>
#include <strata/tables/kernel_table.hpp>
#include "kernel_ranges.hpp"
#include "speed_of_light.hpp"
#include "what_if.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

STRATA_BEGIN
namespace detail {
namespace {

/// The kind with a word; unknown for a unit.
limiter limiter_with(std::string_view word) noexcept {
  for (limiter const kind :
       {limiter::copies, limiter::launch, limiter::latency, limiter::above_roof, limiter::mixed})
    if (word == to_string(kind)) return kind;
  return limiter::unknown;
}

/// A limiter that is a unit has its own use, not that of the unit which is used most.
void take_unit(range_limit& all, std::string_view memory) {
  all.roof = {};
  all.roof_ns = all.beside_ns = 0.0;
  all.name = all.beside = {};
  for (std::size_t i = 0; i < gpu_units; ++i) {
    auto const unit = static_cast<gpu_unit>(i);
    bool const is_limiter =
        all.text == to_string(unit, memory) || (unit == gpu_unit::l1 && all.text == l1_with_shared);
    if (!is_limiter || !is_finite(all.units[unit])) continue;
    all.roof = all.text == l1_with_shared ? l1_with_shared : to_string(unit, memory);
    all.roof_ns = all.units[unit];
  }
}

/// Of all work together the limiter is the one of most of its time: the mean use of all kernels is
/// no kernel's, and two units that are used in turns look unused in it.
void limit_all(range_limit& all, period_account const& account, std::string_view memory) {
  std::string const most = account.limiter();
  if (most.empty() || all.kind == limiter::above_roof) return;
  bool const is_unit = all.kind == limiter::unit && most == all.roof;
  if (is_unit || most == to_string(all.kind)) return;  // its words say more
  all.kind = limiter_with(most);
  all.text = most;
  all.stall = {};
  if (all.kind == limiter::unknown) take_unit(all, memory);
}

/// What bounds the step, with its limiters behind the first sentence.
std::string with_limiters(std::string bound, std::string const& limiters) {
  bool const is_bound = bound.find("-bound: ") != bound.npos || begins_with(bound, "Idle: ");
  bool const says_copies = begins_with(bound, "Copy-bound: ");
  if (!is_bound || says_copies || limiters.empty()) return bound;
  std::size_t const end = bound.find(". ");
  bound.insert(end == bound.npos ? bound.size() : end + 1, " " + limiters);
  return bound;
}

}  // namespace
}  // namespace detail

run_answer make_run_answer(table_input const& tables, call_tree const& folded_tree,
                           step_analysis const& steps, bool predicts) {
  profile const& source = tables.source;
  run_answer made;
  made.roofline = make_roofline(source, tables.folded, steps, gpu_counters(tables));
  vec<kernel_row> const by_name = make_kernel_table(source, folded_tree);
  findings_input input{source,        tables.folded,        by_name,     steps,
                       made.roofline, gpu_counters(tables), folded_tree, tables.ranges};
  auto const find = [&] {
    made.findings = make_findings(input);
    if (predicts)
      made.findings.together = predict_steps(made.findings.findings, source, folded_tree, steps);
    made.account = make_account(tables, steps, made.roofline, made.findings, input.by_kernel);
    if (!source.traced || made.roofline.limits.empty()) return;
    detail::limit_all(made.roofline.limits[0], made.account, made.roofline.memory);
    made.findings.bound = detail::with_limiters(std::move(made.findings.bound),
                                                made.account.limiters_text(steps.whole()));
  };
  std::optional<profile> const by_kernel = detail::kernels_as_ranges(tables);
  if (!by_kernel) {
    find();
    return made;
  }
  profile_tables apart_tables(*by_kernel);
  table_input& finer = apart_tables.input();
  step_analysis const finer_steps = make_steps(*by_kernel, apart_tables.folded(), finer.ranges);
  roofline_table const roofs =
      make_roofline(*by_kernel, finer.folded, finer_steps, gpu_counters(finer), &made.roofline);
  vec<kernel_row> const each = make_kernel_table(*by_kernel, apart_tables.folded());
  findings_input const apart_input{
      *by_kernel,          finer.folded,          each,        finer_steps, roofs,
      gpu_counters(finer), apart_tables.folded(), finer.ranges};
  kernels_apart const apart = detail::rows_of_kernels(apart_input, source, folded_tree);
  input.by_kernel = &apart;
  find();
  return made;
}

STRATA_END
