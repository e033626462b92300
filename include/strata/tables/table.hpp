#ifndef STRATA_TABLES_TABLE_HPP
#define STRATA_TABLES_TABLE_HPP

#include <strata/profile/loss_advice.hpp>
#include <strata/tables/range_table.hpp>

STRATA_BEGIN

/// How the report for a terminal is written.
struct table_options {
  int width = 120;            ///< columns of the terminal, 40 or more
  bool color = false;         ///< ANSI escapes
  std::size_t max_rows = 60;  ///< ranges shown, the most expensive; 0: all
  bool ascii = false;         ///< lines and bars of ASCII, and ? for letters that it lacks
  bool bars = false;  ///< beside shares, where they have room: for a terminal, not for a pipe
  vec<std::string> const* problems = nullptr;  ///< that are shown; null: those of the profile
};

namespace detail {

/// What Strata itself cost the program, in one sentence.
inline std::string cost_text(profile const& source) {
  profile_cost const& c = source.cost;
  auto const times = [](std::uint64_t count, double ns) -> std::string {
    return sentence(count_text(count)) << " x " << time_text(ns);
  };
  std::string text = times(c.ranges, c.range_ns) + " in ranges";
  if (c.callbacks > 0)
    text += sentence(", ") << times(c.callbacks, c.callback_ns) << " in launch callbacks";
  if (c.counter_reads > 0)
    text += sentence(", ") << times(c.counter_reads, c.counter_read_ns)
                           << " in readings of CPU counters";
  text += " = " + time_text(c.ns());
  std::string const share = human_percent(c.ns(), c.seconds_in_window * 1e9);
  if (!share.empty()) text += sentence(" (") << share << " % of the recorded time)";
  if (c.flush_seconds > 0.0) text += "; flush " + time_text(c.flush_seconds * 1e9);
  if (c.start_seconds > 0.0) text += "; start " + time_text(c.start_seconds * 1e9);
  if (c.activity_seconds > 0.0)
    text += sentence("; ") << time_text(c.activity_seconds * 1e9) << " in CUPTI's threads";
  text += "; memory " + bytes_text(static_cast<double>(c.log_bytes + c.activity_bytes));
  return text;
}

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
inline vec<top_kernel> fold_kernels(table_input const& input) {
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

/// The widest that a line may be.
inline std::size_t usable_width(table_options const& options) noexcept {
  return options.width < 40 ? 40 : static_cast<std::size_t>(options.width);
}

/// `train | node7 | rank 1 | 2 x NVIDIA H200 (132 SMs)`
inline std::string where_text(profile_environment const& e) {
  std::string line = "Strata " + version_text();
  auto const add = [&line](std::string_view part) { add_part(line, part, " | "); };
  add(console_text(program_of(e.command)));
  add(console_text(e.host));
  if (e.rank >= 0) add(sentence("rank ") << e.rank);
  flat_map<std::string_view, std::size_t> kinds;  // devices of one kind are named once
  for (profile_device const& device : e.devices) ++kinds[device.name];
  for (profile_device const& device : e.devices) {
    std::size_t const same = std::exchange(kinds[device.name], 0);
    if (same == 0) continue;
    sentence text;
    if (same > 1) text << same << " x ";
    add(text << console_text(device.name) << " (" << device.multiprocessors << " SMs)");
  }
  if (e.devices.empty()) add(console_text(e.cpu));
  return line;
}

/// `step 2.74 ms (mean of 10, median ..., p95 ...)`, or `whole run 1.20 s (no STRATA_STEP)`.
inline std::string step_text(steps_summary const& steps, bool has_steps) {
  std::string text;
  if (!steps.from_steps)
    return sentence("whole run ") << time_text(steps.mean_ns)
                                  << (has_steps ? " (no step was recorded)" : " (no STRATA_STEP)");
  text = "step " + time_text(steps.usual_ns());
  if (steps.period_of_gpu) text += " on the GPU";
  std::string const count = count_text(static_cast<std::uint64_t>(steps.typical_count()));
  if (steps.is_slowed())
    text += " (unrecorded; " + count + " recorded ones: mean " + time_text(steps.mean_ns);
  else
    text += " (mean of " + count;
  if (steps.typical_count() > 1)
    text += sentence(", median ") << time_text(steps.p50_ns) << ", p95 " << time_text(steps.p95_ns);
  if (steps.without_first)
    text += sentence("; first ") << time_text(steps.first_ns) << " left out";
  else if (steps.count > 1)
    text += sentence(", first ") << time_text(steps.first_ns);
  if (steps.early != 0)
    text += sentence("; ") << count_text(steps.early) << " before any recorded GPU work left out";
  if (is_finite(steps.unrecorded_ns) && !steps.is_slowed())
    text += sentence("; unrecorded steps ") << time_text(steps.unrecorded_ns);
  text += ")";
  if (steps.between_ns > 0.0)
    text += sentence(", ") << time_text(steps.between_ns) << " until the next; period "
                           << time_text(steps.period_ns());
  return text;
}

/// What the device did in it, and what lies outside.
inline std::string device_text(table_input const& input) {
  steps_summary const& steps = input.steps;
  std::string text;
  auto const add = [&text](std::string_view part) { add_part(text, part, " | "); };
  if (!input.source.traced) {
    add("host times only");
  } else {
    double const busy_ns = steps.period_busy_ns();
    std::string const share = human_percent(busy_ns, steps.period_ns());
    add(sentence("GPU busy ") << time_text(busy_ns)
                              << (share.empty() ? share : sentence(" (") << share << " %)")
                              << ", idle " << time_text(steps.period_idle_ns()));
  }
  if (!input.roofs_measured_at.empty())
    add("roofs measured on this device " + input.roofs_measured_at.substr(0, 10));
  if (is_positive(steps.tokens_per_s))
    add(console_table::cell_of(console_form::rate, steps.tokens_per_s).text + " tokens/s");
  add(input.declared_text);
  if (steps.from_steps && steps.outside_ns > 0.0)
    add(sentence("outside of steps ")
        << time_text(steps.outside_ns)
        << (steps.outside_gpu_ns > 0.0 ? ", GPU busy " + time_text(steps.outside_gpu_ns) : ""));
  return text;
}

inline void write_heading(text_writer& out, table_input const& input,
                          table_options const& options) {
  std::size_t const width = usable_width(options);
  write_paragraph(out, {}, where_text(input.source.environment), width, {}, false);
  write_paragraph(out, {},
                  sentence(step_text(input.steps, input.source.has_steps))
                      << " | " << device_text(input),
                  width, {}, false);
  input.write_answer(out, width, options.color);
  out.put('\n');
}

/// Which steps the values of the table are of; empty for a run without steps.
inline std::string steps_legend(steps_summary const& steps) {
  if (!steps.from_steps) return {};
  bool const slowed = steps.is_slowed();
  sentence text("Values are of a mean ");
  text << (slowed ? "recorded step" : "step");
  if (steps.without_first) text << ", without the first, which took " << time_text(steps.first_ns);
  return text << ".\n";
}

inline void write_ranges(text_writer& out, table_input const& input, table_options const& options) {
  range_table ranges(input, options.max_rows);
  if (ranges.empty())
    return write_paragraph(out, {}, "There is no range to show.", usable_width(options), {}, false);
  console_table& table = ranges.table();
  table.fit(usable_width(options), options.bars);
  table.write(out, options.color);
  if (ranges.hidden() > 0)
    write_paragraph(
        out, {},
        count_text(ranges.hidden()) +
            (ranges.hidden() == 1 ? " smaller range: ranges.csv" : " smaller ranges: ranges.csv"),
        usable_width(options), {}, false);
  std::string legend = steps_legend(input.steps);
  legend += ranges.legend();
  constexpr std::size_t wide = 240;  // all columns, with names of usual length
  if (table.dropped() > 0 && usable_width(options) < wide)
    legend += "COLUMNS=240 shows " + count_text(table.dropped()) +
              (table.dropped() == 1 ? " more column.\n" : " more columns.\n");
  write_legend(out, legend, usable_width(options));
}

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

template <std::size_t Count>
vec<console_table::column> all_of(console_table::column const (&columns)[Count]) {
  return vec<console_table::column>(columns, columns + Count);
}

/// Calls look(column, key of its metric or nothing) for each column of the tables of the console.
template <class Look>
void for_each_console_column(Look const& look) {
  auto const look_without_metric = [&](console_table::column const& known) {
    if (!known.header.empty()) look(known, std::string_view());
  };
  range_table::for_each_column(look_without_metric);
  counter_view::for_each_column("HBM", look);
  for (console_table::column const& known : outside_table_columns) look_without_metric(known);
  for (console_table::column const& known : memory_table_columns) look_without_metric(known);
  for (console_table::column const& known : kernel_table_columns) look_without_metric(known);
}

/// The ranges outside of steps, such as what loads and saves a model: each once, by its whole run.
inline void write_outside_steps(text_writer& out, table_input const& input,
                                table_options const& options) {
  constexpr std::size_t most = 10;
  step_amounts const amounts(input.folded, input.steps);
  vec<std::size_t> const outside = amounts.outside_steps();
  if (outside.empty()) return;
  console_table table(all_of(outside_table_columns));
  for (std::size_t i = 0; i < smaller(most, outside.size()); ++i) {
    range_row const& row = input.folded[outside[i]];
    device_work const& work = row.total;
    table.add_row(
        {{console_text(row.path)}},
        {if_any(row.gpu_busy_ns), if_any(work.kernels), if_any(row.host.count()),
         if_any(row.host_total_ns), if_any(work.copied_bytes()), if_any(work.allocated_bytes)});
  }
  out.put('\n');
  table.fit(usable_width(options), options.bars);
  table.write(out, options.color);
  std::string text = "Values are of the whole run. ";
  if (outside.size() > most)
    text += count_text(outside.size() - most) + " more outside of steps: ranges.csv. ";
  text.pop_back();
  write_paragraph(out, {}, text, usable_width(options), {}, false);
}

/// The counted values of the ranges, a table for each counter_set.
inline void write_counter_tables(text_writer& out, table_input const& input,
                                 table_options const& options) {
  for (counter_tables const& tables : input.counters) {
    range_table const ranges(input, options.max_rows);
    counter_view view(ranges, tables.folded);
    if (view.empty()) continue;
    out.put('\n');
    view.table().fit(usable_width(options), options.bars);
    view.table().write(out, options.color);
    write_legend(out, view.legend(), usable_width(options));
  }
}

/// Device memory by purpose, where the program named one.
inline void write_memory_purposes(text_writer& out, table_input const& input,
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
  out.put('\n');
  table.fit(usable_width(options), options.bars);
  table.write(out, options.color);
  write_paragraph(out, {},
                  sentence("Device memory by the purpose it was allocated for. At the peak, ")
                      << time_text(static_cast<double>(memory.peak_at)) << " after the start, "
                      << bytes_text(peak) << " were in use."
                      << (memory.steps.empty() ? "" : " Allocated and released: in a mean step."),
                  usable_width(options), {}, false);
}

inline void write_top_kernels(text_writer& out, table_input const& input,
                              table_options const& options) {
  constexpr std::size_t most = 10;
  vec<top_kernel> const kernels = fold_kernels(input);
  if (kernels.empty()) return;
  double all_ns = 0.0;
  for (top_kernel const& kernel : kernels) all_ns += kernel.step_ns;
  console_table table(all_of(kernel_table_columns));
  std::size_t const shown = smaller(most, kernels.size());
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
  out.put('\n');
  table.fit(usable_width(options), options.bars);
  table.write(out, options.color);
  std::string text;
  if (input.steps.from_steps) text = "Launches and GPU time are of a mean step. ";
  if (kernels.size() > shown)
    text += sentence(count_text(kernels.size() - shown))
            << " more take " << human_percent(rest_ns, all_ns) << " %: kernels.csv. ";
  if (!text.empty()) text.back() = '\n';
  write_legend(out, text + table.legend(), usable_width(options));
}

/// A text in ASCII, column by column.
inline void write_ascii(text_writer& out, std::string_view text) {
  for (std::size_t index = 0; index < text.size();) {
    utf8_character const c = decode_utf8(text, index);
    bool const bar = c.value >= 0x2588 && c.value <= 0x258f;
    if (c.value < 0x80) {
      out.put(text[index]);
    } else {
      out.repeat(c.value == 0x2500          ? "-"
                 : c.value == 0x2026        ? "~"
                 : bar && c.value <= 0x258c ? "#"
                 : bar                      ? "-"
                                            : "?",
                 c.valid ? width_of(c.value) : 1);
    }
    index += c.length;
  }
}

/// In UTF-8.
inline void write_sections(text_writer& out, table_input const& input,
                           table_options const& options) {
  std::size_t const width = usable_width(options);
  write_heading(out, input, options);
  write_ranges(out, input, options);
  write_outside_steps(out, input, options);
  write_counter_tables(out, input, options);
  write_memory_purposes(out, input, options);
  write_top_kernels(out, input, options);
  out.put('\n');
  for (std::string const& loss : loss_advice(input.source))
    write_paragraph(out, "lost:    ", loss, width, console_warning, options.color);
  for (std::string const& problem :
       options.problems == nullptr ? input.source.problems : *options.problems)
    write_paragraph(out, "problem: ", console_text(problem), width, console_warning, options.color);
  bool const is_measured = input.source.cost.range_ns > 0.0;  // not in a recording that was cut
  if (is_measured) write_paragraph(out, "cost:    ", cost_text(input.source), width, {}, false);
}

}  // namespace detail

/// The report for a terminal: where and how long, the folded call tree with its cost, what was
/// counted in it, memory by purpose, the kernels that took longest, what was lost and how to keep
/// it, what went wrong, what Strata itself cost.
inline void write_table(detail::text_writer& out, table_input const& input,
                        table_options const& options = {}) {
  if (!options.ascii) return detail::write_sections(out, input, options);
  std::string text;
  {
    detail::text_writer wide(text);
    detail::write_sections(wide, input, options);
  }
  detail::write_ascii(out, text);
}

STRATA_END

#endif  // STRATA_TABLES_TABLE_HPP
