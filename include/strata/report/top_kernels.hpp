#include <strata/version.hpp>
#ifndef STRATA_REPORT_TOP_KERNELS_HPP
#define STRATA_REPORT_TOP_KERNELS_HPP

#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/report/report_input.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

STRATA_BEGIN
namespace detail {

/// A kernel with all its launches in ranges of one name.
struct top_kernel {
  kernel_row const* row = nullptr;  ///< one of those that were folded
  std::string path;                 ///< with every index as [*]
  std::uint64_t count = 0;
  std::uint64_t timed = 0;  ///< those whose times the device did not lose
  double total_ns = 0.0;
  double filled_ns = 0.0;  ///< gpu_utilisation times duration; NaN where it is not known
};

/// The paths of the rows of a tree with every index as [*].
inline vec<std::string> folded_paths(vec<range_row> const& rows) {
  vec<std::string> paths(rows.size());
  for (std::size_t i = 1; i < rows.size(); ++i) {
    if (rows[i].parent < i) paths[i] = paths[rows[i].parent];
    if (!paths[i].empty()) paths[i] += '/';
    paths[i] += rows[i].name;
    if (rows[i].index != no_index) paths[i] += "[*]";
  }
  return paths;
}

/// Kernels by name and folded range, the longest total first.
inline vec<top_kernel> fold_kernels(report_input const& input) {
  vec<std::string> const paths = folded_paths(input.ranges);
  vec<std::pair<std::uint32_t, std::size_t>> rows;  // by path_id
  for (std::size_t i = 0; i < input.ranges.size(); ++i)
    rows.emplace_back(input.ranges[i].path_id, i);
  std::sort(rows.begin(), rows.end());

  vec<top_kernel> kernels;
  for (kernel_row const& row : input.kernels) {
    auto const at =
        std::lower_bound(rows.begin(), rows.end(), std::make_pair(row.path_id, std::size_t{0}));
    bool const known = at != rows.end() && at->first == row.path_id;
    double const total = row.duration.sum();
    kernels.push_back({&row, known ? paths[at->second] : row.path, row.count, row.duration.count(),
                       total, total * row.gpu_utilisation});
  }
  std::sort(kernels.begin(), kernels.end(), [](top_kernel const& a, top_kernel const& b) {
    int const difference = a.path.compare(b.path);
    return difference != 0 ? difference < 0 : a.row->mangled < b.row->mangled;
  });
  std::size_t kept = 0;
  for (std::size_t i = 1; i < kernels.size(); ++i) {
    top_kernel& to = kernels[kept];
    if (to.path == kernels[i].path && to.row->mangled == kernels[i].row->mangled) {
      to.count += kernels[i].count;
      to.timed += kernels[i].timed;
      to.total_ns += kernels[i].total_ns;
      to.filled_ns += kernels[i].filled_ns;
    } else if (++kept != i) {
      kernels[kept] = std::move(kernels[i]);
    }
  }
  if (!kernels.empty()) kernels.resize(kept + 1);
  std::sort(kernels.begin(), kernels.end(), [](top_kernel const& a, top_kernel const& b) {
    if (a.total_ns != b.total_ns) return a.total_ns > b.total_ns;
    return a.path != b.path ? a.path < b.path : a.row->mangled < b.row->mangled;
  });
  return kernels;
}

}  // namespace detail
STRATA_END

#endif  // STRATA_REPORT_TOP_KERNELS_HPP
