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

/// `step 2.74 ms (mean of 10, median ..., longest ...)`, or `whole run 1.20 s (no STRATA_STEP)`.
inline std::string step_text(steps_summary const& steps, bool has_steps) {
  if (!steps.from_steps)
    return sentence("whole run ") << time_text(steps.mean_ns)
                                  << (has_steps ? " (no step was recorded)" : " (no STRATA_STEP)");
  std::string text = "step " + time_text(steps.usual_ns());
  text += steps.period_of_gpu ? " on the GPU" : "";
  std::string const count = count_text(static_cast<std::uint64_t>(steps.typical_count()));
  if (steps.is_slowed())
    text += " (unrecorded; " + count + " recorded ones: mean " + time_text(steps.mean_ns);
  else
    text += " (mean of " + count;
  if (steps.typical_count() > 1)
    text += ", median " + time_text(steps.p50_ns) +  // of fewer than 20 steps p95 is the longest
            (steps.typical_count() < 20 ? ", longest " : ", p95 ") + time_text(steps.p95_ns);
  if (steps.without_first)
    text += sentence("; first ") << time_text(steps.first_ns) << " left out";
  else if (steps.count > 1)
    text += sentence(", first ") << time_text(steps.first_ns) << " included";
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
  } else if (lost_all_times(input.source, steps)) {
    add("times of the GPU lost");
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
        << time_text(steps.outside_ns) << " in all"
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

/// Which steps the values of the table belong to; empty for a run without steps.
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
  input.cut_names(table);
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

/// Names the files that have what no table here shows.
inline void write_other_files(text_writer& out, table_input const& input, std::size_t width) {
  std::string files;
  if (!input.kernels.empty()) add_part(files, "kernels.csv");
  if (!input.memory.allocations.empty()) add_part(files, "memory.csv");
  for (counter_tables const& counted : input.counters)
    add_part(files, counted.ranges.name + ".csv");
  if (!files.empty()) write_paragraph(out, "Beside the ranges: ", files, width, {}, false);
}

}  // namespace detail

/// The report for a terminal: where and how long, the folded call tree with its cost, what was lost
/// and how to keep it, what went wrong, what Strata itself cost; and what the reports' side adds.
inline void write_table(detail::text_writer& out, table_input const& input,
                        table_options const& options = {}) {
  std::size_t const width = detail::usable_width(options);
  detail::write_heading(out, input, options);
  detail::write_ranges(out, input, options);
  if (!input.write_more_tables(out, options)) detail::write_other_files(out, input, width);
  out.put('\n');
  for (std::string const& loss : detail::loss_advice(input.source))
    detail::write_paragraph(out, "lost:    ", loss, width, detail::console_warning, options.color);
  for (std::string const& problem :
       options.problems == nullptr ? input.source.problems : *options.problems)
    detail::write_paragraph(out, "problem: ", detail::console_text(problem), width,
                            detail::console_warning, options.color);
  bool const is_measured = input.source.cost.range_ns > 0.0;  // not in a recording that was cut
  if (is_measured)
    detail::write_paragraph(out, "cost:    ", detail::cost_text(input.source), width, {}, false);
}

STRATA_END

#endif  // STRATA_TABLES_TABLE_HPP
