#include "console_tables.hpp"

#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/text.hpp>
#include <strata/base/text_writer.hpp>
#include <strata/base/vec.hpp>
#include <strata/tables/console_table.hpp>
#include <strata/tables/kernel_table.hpp>
#include <strata/tables/memory_table.hpp>
#include <strata/tables/range_table.hpp>
#include <strata/tables/steps_summary.hpp>
#include <strata/tables/table.hpp>
#include <strata/tables/table_input.hpp>
#include "../analyse/kernel_amounts.hpp"
#include "../analyse/kernel_names.hpp"
#include "../analyse/range_paths.hpp"
#include "counter_view.hpp"
#include "memory_in_mean_step.hpp"
#include "name_cutter.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

STRATA_BEGIN
namespace detail {
namespace {

template <std::size_t Count>
vec<console_table::column> all_of(console_table::column const (&columns)[Count]) {
  return vec<console_table::column>(columns, columns + Count);
}

/// Behind an empty line.
void write_fitted(text_writer& out, console_table& table, table_options const& options) {
  out.put('\n');
  table.fit(usable_width(options), options.bars);
  cut_names(table);
  table.write(out, options.color);
}

/// Positions of the rows that are in no step, without those below such a row, the longest first.
vec<std::size_t> rows_outside_steps(vec<range_row> const& rows, step_amounts const& amounts) {
  vec<std::size_t> outside;
  for (std::size_t i = 1; i < rows.size(); ++i)
    if (amounts.is_outside(i) && !amounts.is_outside(rows[i].parent)) outside.push_back(i);
  auto const longest = [&rows](std::size_t i) {
    return std::max(rows[i].host_total_ns, rows[i].gpu_busy_ns);
  };
  outside.sort([&](std::size_t a, std::size_t b) {
    return longest(a) != longest(b) ? longest(a) > longest(b) : a < b;
  });
  return outside;
}

/// The ranges outside of steps, such as what loads and saves a model: each once, by its whole run.
void write_outside_steps(text_writer& out, table_input const& input, table_options const& options) {
  constexpr std::size_t most = 10;
  vec<std::size_t> const outside =
      rows_outside_steps(input.folded, step_amounts(input.folded, input.steps));
  if (outside.empty()) return;
  console_table table(all_of(outside_table_columns));
  for (std::size_t i = 0; i < std::min(most, outside.size()); ++i) {
    range_row const& row = input.folded[outside[i]];
    device_work const& work = row.total;
    table.add_row(
        {{console_text(row.path)}},
        {if_any(row.gpu_busy_ns), if_any(work.kernels), if_any(row.host.count()),
         if_any(row.host_total_ns), if_any(work.copied_bytes()), if_any(work.allocated_bytes)});
  }
  write_fitted(out, table, options);
  std::string text = "Values are of the whole run. ";
  if (outside.size() > most)
    text += count_text(outside.size() - most) + " more outside of steps: ranges.csv. ";
  text.pop_back();
  write_paragraph(out, {}, text, usable_width(options), {}, false);
}

/// Device memory by purpose, where the program named one.
void write_memory_purposes(text_writer& out, table_input const& input,
                           table_options const& options) {
  memory_table const& memory = input.memory;
  if (memory.purposes.size() < 2) return;
  console_table table(all_of(memory_table_columns));
  memory_in_mean_step const mean(memory, input.steps);
  auto const peak = static_cast<double>(memory.peak_bytes);
  for (memory_purpose const& purpose : memory.purposes) {
    double const share = if_any(percent_of(static_cast<double>(purpose.at_peak), peak));
    if (purpose.peak == 0) continue;
    table.add_row(
        {{console_text(purpose.name)}},
        {if_any(mean.per_step(purpose.allocations, purpose.first_step_allocations)),
         if_any(mean.per_step(purpose.allocated, purpose.first_step_allocated)),
         if_any(mean.per_step(purpose.released, purpose.first_step_released)), if_any(purpose.live),
         if_any(purpose.peak), if_any(purpose.at_peak), share, share});
  }
  write_fitted(out, table, options);
  write_paragraph(out, {},
                  sentence("Device memory by the purpose it was allocated for. At the peak, ")
                      << time_text(static_cast<double>(memory.peak_at)) << " after the start, "
                      << bytes_text(peak) << " were in use."
                      << (memory.steps.empty() ? "" : " Allocated and released: in a mean step."),
                  usable_width(options), {}, false);
}

void write_top_kernels(text_writer& out, table_input const& input, table_options const& options) {
  constexpr std::size_t most = 10;
  vec<top_kernel> const kernels = fold_kernels(input);
  if (kernels.empty()) return;
  double all_ns = 0.0;
  for (top_kernel const& kernel : kernels) all_ns += kernel.step_ns;
  console_table table(all_of(kernel_table_columns));
  std::size_t const shown = std::min(most, kernels.size());
  double rest_ns = 0.0;
  for (std::size_t i = shown; i < kernels.size(); ++i) rest_ns += kernels[i].step_ns;
  for (std::size_t i = 0; i < shown; ++i) {
    top_kernel const& kernel = kernels[i];
    double const share = percent_of(kernel.step_ns, all_ns);
    table.add_row({{console_text(kernel.name.empty() ? kernel.row->mangled : kernel.name)},
                   {console_text(path_label(kernel.path))}},
                  {kernel.launches, kernel.step_ns, kernel.step_ns / kernel.launches, share, share,
                   percent_of(kernel.filled_ns, kernel.step_ns)});
  }
  write_fitted(out, table, options);
  std::string text;
  if (input.steps.from_steps) text = "Launches and GPU time are of a mean step. ";
  if (kernels.size() > shown)
    text += sentence(count_text(kernels.size() - shown))
            << " more take " << human_percent(rest_ns, all_ns) << " %: kernels.csv. ";
  if (!text.empty()) text.back() = '\n';
  write_legend(out, text + table.legend(), usable_width(options));
}

}  // namespace

vec<top_kernel> fold_kernels(table_input const& input) {
  vec<std::string> const names = distinct_names(input.kernels);
  number_map<std::size_t> rows;  // by path_id
  for (std::size_t i = 0; i < input.ranges.size(); ++i) rows[input.ranges[i].path_id] = i;
  range_row const none;
  vec<top_kernel> kernels;
  for (kernel_row const& row : input.kernels) {
    std::size_t const* const index = rows.find(row.path_id);
    range_row const& range = index == nullptr ? none : input.ranges[*index];
    double const launches = launches_in_step(row, range, input.steps);
    double const step_ns = ns_in_step(row, range, input.steps);
    bool const in_steps = input.steps.part(range.step_self_share) > 0.0;
    if (!in_steps || !(launches > 0.0)) continue;
    kernels.push_back({&row, names[static_cast<std::size_t>(&row - input.kernels.begin())],
                       index == nullptr ? row.path : input.folded[input.folded_rows[*index]].path,
                       launches, step_ns, step_ns * gpu_fill_in_step(row, input.steps)});
  }
  kernels.sort([](top_kernel const& a, top_kernel const& b) {
    int const difference = a.path.compare(b.path);
    return difference != 0 ? difference < 0 : a.row->mangled < b.row->mangled;
  });
  std::size_t kept = 0;
  for (std::size_t i = 1; i < kernels.size(); ++i) {
    top_kernel& top = kernels[kept];
    if (top.path == kernels[i].path && top.row->mangled == kernels[i].row->mangled) {
      top.launches += kernels[i].launches;
      top.step_ns += kernels[i].step_ns;
      top.filled_ns += kernels[i].filled_ns;
    } else if (++kept != i) {
      kernels[kept] = std::move(kernels[i]);
    }
  }
  if (!kernels.empty()) kernels.resize(kept + 1);
  kernels.sort([](top_kernel const& a, top_kernel const& b) {
    if (a.step_ns != b.step_ns) return a.step_ns > b.step_ns;
    return a.path != b.path ? a.path < b.path : a.row->mangled < b.row->mangled;
  });
  return kernels;
}

void write_counter_tables(text_writer& out, table_input const& input,
                          table_options const& options) {
  for (counter_tables const& tables : input.counters) {
    range_table const ranges(input, options.max_rows);
    counter_view view(ranges, tables.folded);
    if (view.empty()) continue;
    write_fitted(out, view.table(), options);
    write_legend(out, view.legend(), usable_width(options));
  }
}

void cut_names(console_table& table) {
  table.cut_names(
      [](vec<std::string>& names, std::size_t width) { name_cutter(width).cut(names); });
}

void write_more_tables(text_writer& out, table_input const& input, table_options const& options) {
  write_outside_steps(out, input, options);
  write_counter_tables(out, input, options);
  write_memory_purposes(out, input, options);
  write_top_kernels(out, input, options);
}

}  // namespace detail
STRATA_END
