#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_KERNEL_RANGES_HPP
#define STRATA_ANALYSE_KERNEL_RANGES_HPP

// Kernels that were counted one by one, as ranges: rules then judge each of them.

#include <strata/base/macros.hpp>
#include <strata/profile.hpp>
#include <strata/tables/call_tree.hpp>
#include <strata/tables/table_input.hpp>
#include "findings.hpp"

#include <optional>

STRATA_BEGIN
namespace detail {

/// The profile of `tables` with a range for each kernel that was counted by itself in a range of
/// several
/// (`kernels=`): it lies below its range, and has the kernel's launches, times and counts, which
/// the range has no longer. Its node is behind those of `source`. Empty where there is no such
/// kernel. Kernels of graphs stay in their range, and those of which steps launched different
/// numbers. Cost: O(profile) time and memory.
std::optional<profile> kernels_as_ranges(table_input const& tables);

/// Which row of `folded`, the tree of `source`, each row of such a profile belongs to.
kernels_apart rows_of_kernels(findings_input const& by_kernel, profile const& source,
                              call_tree const& folded);

}  // namespace detail
STRATA_END

#endif  // STRATA_ANALYSE_KERNEL_RANGES_HPP
