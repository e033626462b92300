#include <strata/version.hpp>
#ifndef STRATA_REPORT_CONSOLE_TABLES_HPP
#define STRATA_REPORT_CONSOLE_TABLES_HPP

// The tables of the console below that of the ranges.

#include <strata/base/macros.hpp>
#include <strata/base/text_writer.hpp>
#include <strata/base/vec.hpp>
#include <strata/tables/console_table.hpp>
#include <strata/tables/range_table.hpp>
#include <strata/tables/table.hpp>
#include <strata/tables/table_input.hpp>
#include "counter_view.hpp"

#include <string>
#include <string_view>

STRATA_BEGIN
namespace detail {

/// A kernel with all its launches in ranges of one name.
struct top_kernel {
  kernel_row const* row = nullptr;  ///< one of those that were folded
  std::string name;
  std::string path;        ///< with every index as [*]
  double launches = 0.0;   ///< of a mean step
  double step_ns = 0.0;    ///< of a mean step
  double filled_ns = 0.0;  ///< step_ns times the part of the GPU that is filled; NaN: not known
};

/// Kernels by name and folded range, the longest in a mean step first.
vec<top_kernel> fold_kernels(table_input const& input);

/// Cuts the names that a table has no room for, so that they differ. Requires: it was fitted.
void cut_names(console_table& table);

/// The counted values of the ranges, a table for each counter_set.
void write_counter_tables(text_writer& out, table_input const& input, table_options const& options);

/// What was outside of steps and what was counted, memory by purpose, the kernels that took
/// longest.
void write_more_tables(text_writer& out, table_input const& input, table_options const& options);

inline constexpr console_table::column outside_table_columns[] = {
    {"outside of steps", 1000, console_form::text, 24},
    {"GPU busy", 90, console_form::time},
    {"kernels", 60, console_form::count},
    {"calls", 70, console_form::count},
    {"host total", 100, console_form::time},
    {"copied", 45, console_form::bytes},
    {"allocated", 20, console_form::bytes}};
inline constexpr console_table::column memory_table_columns[] = {
    {"memory", 1000, console_form::text, 24},
    {"allocations", 60, console_form::count},
    {"allocated", 80, console_form::bytes},
    {"released", 70, console_form::bytes},
    {"live at end", 75, console_form::bytes},
    {"peak", 85, console_form::bytes},
    {"at the peak", 100, console_form::bytes},
    {"peak %", 90, console_form::percent},
    {"", 20, console_form::bar}};
inline constexpr console_table::column kernel_table_columns[] = {
    {"kernel", 1000, console_form::text, 28},
    {"range", 900, console_form::text, 20},
    {"launches", 60, console_form::count},
    {"GPU time", 100, console_form::time},
    {"mean", 70, console_form::time, 0, "mean: of a launch"},
    {"kernel %", 80, console_form::percent, 0, "kernel %: of all kernels' time"},
    {"", 20, console_form::bar},
    {"GPU fill %", 40, console_form::percent, 0,
     "GPU fill %: how much of the SMs grids and blocks can keep busy, by time"}};

/// Calls look(column, key of its metric or nothing) for each column of the tables of the console.
template <class Look>
void for_each_console_column(Look const& look) {
  auto const look_without_metric = [&](console_table::column const& known) {
    if (!known.header.empty()) look(known, std::string_view());
  };
  for (range_console_column const& known : range_console_columns) look_without_metric(known.shown);
  counter_view::for_each_column("HBM", look);
  for (console_table::column const& known : outside_table_columns) look_without_metric(known);
  for (console_table::column const& known : memory_table_columns) look_without_metric(known);
  for (console_table::column const& known : kernel_table_columns) look_without_metric(known);
}

}  // namespace detail
STRATA_END

#endif  // STRATA_REPORT_CONSOLE_TABLES_HPP
