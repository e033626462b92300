#include "compare.hpp"

#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/text.hpp>
#include "comparability.hpp"
#include "compare_context.hpp"
#include "compare_verdict.hpp"
#include "comparison.hpp"
#include "range_changes.hpp"
#include "range_rows.hpp"
#include "run_ranges.hpp"
#include "run_tables.hpp"
#include "step_comparison.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

STRATA_BEGIN
namespace detail {
namespace {

compared_run described(run_ranges const& run, bool after) {
  run_origin const& origin = run.tables().origin;
  std::string const devices = devices_text(run.tables());
  return {after,      origin.command, origin.configuration, origin.host,
          origin.cpu, devices,        origin.started_at,    run.steps_ms};
}

}  // namespace
}  // namespace detail

comparison compare(std::vector<run_tables const*> const& before,
                   std::vector<run_tables const*> const& after, compare_options const& options) {
  comparison result;
  result.before_runs = before.size();
  result.after_runs = after.size();
  detail::compared_runs const runs(before, after);
  for (std::size_t r = 0; r < runs.size(); ++r)
    result.runs.push_back(detail::described(runs.run(r), runs.is_later(r)));
  if (before.empty() || after.empty()) {
    result.reason = "one side has no profile";
    return result;
  }
  detail::comparability circumstances = detail::find_differences(runs, std::log1p(options.limit));
  detail::compare_context const context{runs, options, circumstances.clocks,
                                        detail::explained_by_cpu(runs)};
  detail::step_comparison step(context, result);
  detail::find_range_rows(runs, result);
  detail::range_changes ranges(context, result, step.steps_a_run);
  ranges.judge(step.few, step.too_few);
  step.judge(ranges.families);
  detail::write_verdict(context, step, ranges, circumstances, result);
  return result;
}

comparison compare(run_tables const& before, run_tables const& after, double limit) {
  compare_options options;
  options.limit = limit;
  return compare({&before}, {&after}, options);
}

namespace detail {

/// The next cell of a line, which is taken off it; the last one has the rest.
/// Returns: false where the line is at its end.
inline bool take_cell(std::string_view& line, std::string_view& cell, bool last) {
  bool const quoted = !line.empty() && line[0] == '"' && !last;
  std::size_t const end = last ? line.size() : line.find(quoted ? "\"," : ",", quoted ? 1 : 0);
  if (end == line.npos) return false;
  std::size_t const mark = quoted ? 1 : 0;
  cell = trimmed(line.substr(mark, end - mark));
  line.remove_prefix(std::min(end + 1 + mark, line.size()));
  return true;
}

bool read_percentage(std::string_view text, double& share) {
  if (text.empty() || text.back() != '%' || !read_double(text.substr(0, text.size() - 1), share))
    return false;
  share /= 100;
  return share >= 0 && share < 100;
}

}  // namespace detail

std::string read_accepted(std::string_view text, std::vector<accepted_regression>& accepted) {
  for (std::size_t number = 1; !text.empty(); ++number) {
    std::size_t const end = std::min(text.find('\n'), text.size());
    std::string_view line = detail::trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line[0] == '#') continue;
    std::string const where = detail::sentence("Line ") << number << ": ";
    std::string_view path;
    std::string_view column;
    std::string_view limit;
    std::string_view reason;
    if (!detail::take_cell(line, path, false) || !detail::take_cell(line, column, false) ||
        !detail::take_cell(line, limit, false) || !detail::take_cell(line, reason, true))
      return where + "path,column,limit,reason was expected.";
    if (column != "step" && column != "host" && column != "gpu")
      return where + "the column is step, host or gpu.";
    if ((column == "step") != path.empty())
      return where + "host and gpu have a path, and step has none.";
    accepted_regression regression{std::string(path), std::string(column), 0, std::string(reason)};
    if (!detail::read_percentage(limit, regression.limit))
      return where + "the limit is a percentage such as 10%.";
    if (reason.empty()) return where + "the reason is missing.";
    accepted.push_back(std::move(regression));
  }
  return {};
}

STRATA_END
