#include "compare.hpp"

#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/text.hpp>
#include <strata/base/vec.hpp>
#include "comparer.hpp"
#include "comparison.hpp"
#include "profile_file.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

STRATA_BEGIN

comparison compare(vec<profile_file const*> const& before, vec<profile_file const*> const& after,
                   compare_options const& options) {
  return detail::comparer(before, after, options).result();
}

comparison compare(profile_file const& before, profile_file const& after, double limit) {
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
  line.remove_prefix(smaller(end + 1 + mark, line.size()));
  return true;
}

bool read_percentage(std::string_view text, double& share) {
  if (text.empty() || text.back() != '%' || !read_double(text.substr(0, text.size() - 1), share))
    return false;
  share /= 100;
  return share >= 0 && share < 100;
}

}  // namespace detail

std::string read_accepted(std::string_view text, vec<accepted_regression>& accepted) {
  for (std::size_t number = 1; !text.empty(); ++number) {
    std::size_t const end = detail::smaller(text.find('\n'), text.size());
    std::string_view line = detail::trimmed(text.substr(0, end));
    text.remove_prefix(detail::smaller(end + 1, text.size()));
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
