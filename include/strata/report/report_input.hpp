#include <strata/version.hpp>
#ifndef STRATA_REPORT_REPORT_INPUT_HPP
#define STRATA_REPORT_REPORT_INPUT_HPP

#include <strata/analyse/call_tree.hpp>
#include <strata/analyse/counter_table.hpp>
#include <strata/analyse/kernel_counter_table.hpp>
#include <strata/analyse/kernel_table.hpp>
#include <strata/analyse/memory_table.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile.hpp>

STRATA_BEGIN

/// What every report is made from. It refers to its parts: they outlive it.
struct report_input {
  report_input(profile const& p, call_tree const& tree, call_tree const& folded_tree,
               vec<kernel_row> const& kernel_rows, memory_table const& memory_rows)
      : report_input(p, tree.rows(), folded_tree.rows(), kernel_rows, memory_rows) {}

  report_input(profile const& p, vec<range_row> const& tree, vec<range_row> const& folded_tree,
               vec<kernel_row> const& kernel_rows, memory_table const& memory_rows)
      : source(p), ranges(tree), folded(folded_tree), kernels(kernel_rows), memory(memory_rows) {}

  profile const& source;
  vec<range_row> const& ranges;  ///< of the call tree, one a path and index
  vec<range_row> const& folded;  ///< the same with indices folded
  vec<kernel_row> const& kernels;
  memory_table const& memory;
  counter_table const* counters = nullptr;         ///< of `ranges`; null where nothing was counted
  counter_table const* folded_counters = nullptr;  ///< of `folded`
  kernel_counter_table const* kernel_counters = nullptr;  ///< of `kernels`; null where none was
  counter_table const* cpu_counters = nullptr;  ///< of `ranges`; null where none were counted
  counter_table const* folded_cpu_counters = nullptr;
};

STRATA_END

#endif  // STRATA_REPORT_REPORT_INPUT_HPP
