#include "compare_context.hpp"

#include <strata/base/macros.hpp>
#include <strata/base/text.hpp>
#include "range_paths.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

STRATA_BEGIN
namespace detail {

std::string percent(double share) { return fixed_string(share * 100, 1) + " %"; }

std::string changed_text(double change) {
  constexpr double rounding = 0.0005;
  if (change <= -0.5) return fixed_string(1 / (1 + change), 1) + "x faster";
  if (change >= 1) return fixed_string(1 + change, 1) + "x slower";
  if (std::abs(change) < rounding) return unchanged_text;
  return percent(std::abs(change)) + (change < 0 ? " shorter" : " longer");
}

std::string slower_text(double change) {
  double const share = std::expm1(change);
  return share < 1 ? percent(share) + " slower" : changed_text(share);
}

compared_runs::compared_runs(std::vector<run_tables const*> const& before_runs,
                             std::vector<run_tables const*> const& after_runs) {
  for (run_tables const* const run : before_runs) before.emplace_back(*run);
  for (run_tables const* const run : after_runs) after.emplace_back(*run);
  bool known = true;
  for (std::vector<run_ranges>* const side : {&before, &after})
    for (run_ranges const& run : *side) {
      known = known && run.knows_periods();
      of_gpu = of_gpu || run.tables().period_of_gpu;
    }
  lacks_periods = of_gpu && !known;
  of_gpu = of_gpu && known;
  if (!of_gpu) return;
  for (std::vector<run_ranges>* const side : {&before, &after})
    for (run_ranges& run : *side) run.take_periods();
}

double compare_context::limit() const { return std::log1p(options.limit) + clocks; }

double compare_context::limit_of(std::string_view path, std::string_view column) const {
  double limit = options.limit;
  for (accepted_regression const& regression : options.accepted)
    if (is_for(regression, path, column)) limit = std::max(limit, regression.limit);
  return std::log1p(limit) + clocks;
}

bool is_for(accepted_regression const& regression, std::string_view path, std::string_view column) {
  return regression.column == column &&
         (regression.path == path || regression.path == with_folded_indices(path));
}

double explained_by_cpu(compared_runs const& runs) {
  double shares[2] = {};
  for (std::size_t r = 0; r < runs.size(); ++r) {
    double const share = cpu_share(runs.run(r).tables());
    if (runs.run(r).tables().traced || !(share > 0)) return 0;
    shares[runs.is_later(r)] += share * runs.weight(r);
  }
  return std::max(0.0, std::log(shares[0] / shares[1]));
}

}  // namespace detail
STRATA_END
