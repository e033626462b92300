#include <strata/version.hpp>
#ifndef STRATA_REPORT_TABLE_HPP
#define STRATA_REPORT_TABLE_HPP

#include <strata/base/macros.hpp>
#include <strata/base/text.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile.hpp>
#include <strata/report/columns.hpp>
#include <strata/report/console_table.hpp>
#include <strata/report/counter_view.hpp>
#include <strata/report/range_table.hpp>
#include <strata/report/text_writer.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

STRATA_BEGIN
namespace detail {

/// A power of two in MB with room for twice as much as was asked for.
inline std::string proposed_megabytes(std::uint64_t bytes) {
  std::uint64_t megabytes = 512;
  while (megabytes < 65536 && megabytes << 20 < 2 * bytes) megabytes *= 2;
  return std::to_string(megabytes);
}

/// What was lost, one text each kind: how many, what follows from it, and the cure.
inline vec<std::string> loss_advice(profile const& source) {
  profile_losses const& l = source.losses;
  vec<std::string> advice;
  auto const say = [&advice](std::uint64_t count, char const* what, std::string const& then) {
    if (count > 0) advice.push_back(what + (": " + human_count(count).text() + ". ") + then);
  };
  std::uint64_t const unlogged = 32 * (l.ranges_folded + l.launches_dropped);
  std::string const log = "log=" + proposed_megabytes(source.cost.log_bytes + unlogged) + " (MB)";
  std::uint64_t const refused = 64 * (l.activity_dropped + l.activity_refused);
  std::string const buffers =
      "buffers=" + proposed_megabytes(source.cost.activity_bytes + refused) + " (MB)";

  say(l.ranges_folded, "range calls kept in the sums only",
      "They are missing in the trace: the range log was full. Raise it with " + log +
          ", or record fewer steps.");
  say(l.ranges_left_open, "ranges still open at the end",
      "They are counted up to there in the thread that ended the session and missing in others. "
      "End them "
      "before the session.");
  say(l.ranges_ended_elsewhere, "ranges ended by another thread than the one that began them",
      "They are not counted. Begin and end a range in one thread.");
  say(l.ranges_too_deep, "range calls nested too deep",
      "They are counted in [deeper]. Check that each push has its pop.");
  say(l.names_refused, "range calls with one name too many",
      "They are counted in [other names]. Give a number as an index beside the name, not in it.");
  say(l.indices_refused, "range calls with one index too many",
      "They are counted in [*]. Use fewer distinct indices.");
  say(l.nodes_refused, "range calls with one place in the tree too many",
      "They are counted in [other ranges]. Use fewer distinct names and indices.");
  say(l.pops_without_push, "pops without a push", "Nothing was ended. Check that each has one.");
  say(l.launches_dropped, "driver calls beyond the memory limit",
      "Their kernels are outside ranges. Raise it with " + log + ", or record fewer steps.");
  say(l.activity_dropped, "records of device work dropped by CUPTI",
      "Device times are too small. Give it room with " + buffers + ", or record fewer steps.");
  say(l.activity_refused, "records of device work beyond the memory limit",
      "Device times are too small. Raise it with " + buffers + ", or record fewer steps.");
  say(l.buffers_refused, "buffers refused to CUPTI at the memory limit",
      "Raise it with " + buffers + ".");
  say(l.uncorrelated, "kernels and copies without a known launch",
      "They are outside ranges: launched before the recording began, or by a dropped call.");
  say(l.timestamps_lost, "kernels and copies whose times the device lost",
      "They are counted with a time of 0 and are missing in the trace.");
  say(l.counter_ranges_lost, "ranges that CUPTI refused or dropped while it counted",
      "They have no values. Use fewer different range names and indices.");
  say(l.spans_dropped, "NVTX spans beyond the memory limit",
      "They are missing in spans.csv and in the trace. Raise it with " + log +
          ", or leave fewer open at a time.");
  say(l.spans_left_open, "NVTX spans still open at the end",
      "They are missing. End them before the session.");
  say(l.threads_refused, "threads beyond the limit",
      "Their ranges are missing. Use a pool of threads.");
  return advice;
}

/// What Strata itself cost the program, in one sentence.
inline std::string cost_text(profile const& source) {
  profile_cost const& c = source.cost;
  auto const times = [](std::uint64_t count, double ns) {
    return human_count(count).text() + " x " + human_time(ns).text();
  };
  double const ranges = static_cast<double>(c.ranges) * c.range_ns;
  double const callbacks = static_cast<double>(c.callbacks) * c.callback_ns;
  std::string text = times(c.ranges, c.range_ns) + " in ranges";
  if (c.callbacks > 0) text += ", " + times(c.callbacks, c.callback_ns) + " in launch callbacks";
  if (c.counter_reads > 0)
    text += ", " + times(c.counter_reads, c.counter_read_ns) + " in readings of CPU counters";
  double const readings = static_cast<double>(c.counter_reads) * c.counter_read_ns;
  text += " = " + human_time(ranges + callbacks + readings).text();
  std::string const share = human_percent(ranges + callbacks + readings, c.seconds_in_window * 1e9);
  if (!share.empty()) text += " (" + share + " % of the recorded time)";
  if (c.flush_seconds > 0.0) text += "; flush " + human_time(c.flush_seconds * 1e9).text();
  if (c.start_seconds > 0.0) text += "; start " + human_time(c.start_seconds * 1e9).text();
  if (c.activity_seconds > 0.0)
    text += "; " + human_time(c.activity_seconds * 1e9).text() + " in CUPTI's threads";
  text += "; memory " + human_bytes(static_cast<double>(c.log_bytes + c.activity_bytes)).text();
  return text;
}

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
  rows.sort();

  vec<top_kernel> kernels;
  for (kernel_row const& row : input.kernels) {
    auto const* const at =
        rows.begin() + rows.count_first([&](auto const& each) { return each.first < row.path_id; });
    bool const known = at != rows.end() && at->first == row.path_id;
    double const total = row.duration.sum();
    kernels.push_back({&row, known ? paths[at->second] : row.path, row.count, row.duration.count(),
                       total, total * row.gpu_utilisation});
  }
  kernels.sort([](top_kernel const& a, top_kernel const& b) {
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
  kernels.sort([](top_kernel const& a, top_kernel const& b) {
    if (a.total_ns != b.total_ns) return a.total_ns > b.total_ns;
    return a.path != b.path ? a.path < b.path : a.row->mangled < b.row->mangled;
  });
  return kernels;
}

}  // namespace detail

struct table_options {
  int width = 120;            ///< columns of the terminal, 40 or more
  bool color = false;         ///< ANSI escapes
  std::size_t max_rows = 60;  ///< ranges shown, the dearest; 0: all
};

namespace detail {

/// The widest that a line may be.
inline std::size_t usable_width(table_options const& options) noexcept {
  return options.width < 40 ? 40 : static_cast<std::size_t>(options.width);
}

inline void append_part(std::string& line, std::string const& part) {
  if (part.empty()) return;
  if (!line.empty()) line += " | ";
  line += part;
}

inline void write_heading(text_writer& out, report_input const& input,
                          table_options const& options) {
  profile const& source = input.source;
  profile_environment const& e = source.environment;
  std::string line = "Strata " + version_text();
  std::string program = e.command.substr(0, e.command.find(' '));
  append_part(line, console_text(program.substr(program.rfind('/') + 1)));
  append_part(line, console_text(e.host));
  if (e.rank >= 0) append_part(line, "rank " + std::to_string(e.rank));
  for (std::size_t i = 0; i < e.devices.size(); ++i) {
    // A node has several devices of one kind: told once.
    std::size_t same = 0;
    bool told = false;
    for (std::size_t j = 0; j < e.devices.size(); ++j) {
      same += e.devices[j].name == e.devices[i].name;
      told |= j < i && e.devices[j].name == e.devices[i].name;
    }
    if (told) continue;
    append_part(line, (same > 1 ? std::to_string(same) + " x " : "") +
                          console_text(e.devices[i].name) + " (" +
                          std::to_string(e.devices[i].multiprocessors) + " SMs)");
  }
  if (e.devices.empty()) append_part(line, console_text(e.cpu));
  write_paragraph(out, {}, line, usable_width(options), {}, false);

  line.clear();
  if (source.has_steps && !source.steps.empty()) {
    vec<std::int64_t> durations;
    for (step_record const& step : source.steps) durations.push_back(step.end - step.begin);
    std::int64_t const first = durations.front();
    durations.sort();
    std::int64_t const middle = durations[durations.size() / 2];
    line = human_count(durations.size()).text() + (durations.size() == 1 ? " step" : " steps") +
           ", median " + human_time(static_cast<double>(middle)).text();
    if (durations.size() > 1) line += ", first " + human_time(static_cast<double>(first)).text();
  }
  double const window = source.cost.seconds_in_window > 0.0 ? source.cost.seconds_in_window * 1e9
                                                            : static_cast<double>(source.end);
  append_part(line, human_time(window).text() + " recorded");
  if (source.traced && !input.folded.empty()) {
    auto const busy = static_cast<double>(input.folded[0].gpu_busy_ns);
    std::string const share = human_percent(busy, window);
    append_part(line, "GPU busy " + human_time(busy).text() +
                          (share.empty() ? share : " (" + share + " %)"));
  }
  if (!source.traced) append_part(line, "host times only");
  write_paragraph(out, {}, line, usable_width(options), {}, false);
  out.put('\n');
}

inline void write_ranges(text_writer& out, report_input const& input,
                         table_options const& options) {
  range_table ranges(input, options.max_rows);
  console_table& table = ranges.table();
  table.fit(usable_width(options));
  table.write(out, options.color);
  if (ranges.hidden() > 0)
    write_paragraph(out, {}, human_count(ranges.hidden()).text() + " smaller ranges: ranges.csv",
                    usable_width(options), {}, false);
  std::string legend;
  if (table.shows("host %")) legend += "host %: of the time in ranges. ";
  if (table.shows("launch")) legend += "launch: host time in driver calls. ";
  if (table.shows("GPU busy")) legend += "GPU busy: overlapping work counts once. ";
  if (table.shows("GPU %")) legend += "GPU %: of all GPU busy time. ";
  if (table.shows("in graphs"))
    legend +=
        "in graphs: time of kernels that the range captured; it is in the GPU busy of the range "
        "that launched the graph. ";
  if (table.shows("kernel sum")) legend += "kernel sum: overlapping kernels count each. ";
  if (table.shows("GFLOP/s") || table.shows("GB/s")) {
    legend += ranges.by_gpu() ? "Rates: declared work by GPU busy time"
                              : "Rates: declared work by host time";
    legend += ranges.rates_by_both() ? ", by host time where there is none. " : ". ";
  }
  if (table.shows("tokens/s") && ranges.by_gpu())
    legend += "tokens/s: by host or GPU busy time, the longer. ";
  if (!legend.empty()) legend.pop_back();
  write_paragraph(out, {}, legend, usable_width(options), {}, false);
}

/// The counted values of the ranges, a table for each counter_set.
inline void write_counter_tables(text_writer& out, report_input const& input,
                                 table_options const& options) {
  for (counter_tables const& each : input.counters) {
    range_table const ranges(input, options.max_rows);
    counter_view view(ranges, each.folded);
    if (view.empty()) continue;
    out.put('\n');
    view.table().fit(usable_width(options));
    view.table().write(out, options.color);
    write_paragraph(out, {}, view.legend(), usable_width(options), {}, false);
  }
}

inline void write_top_kernels(text_writer& out, report_input const& input,
                              table_options const& options) {
  constexpr std::size_t most = 10;
  vec<top_kernel> const kernels = fold_kernels(input);
  if (kernels.empty()) return;
  double all_ns = 0.0;
  for (top_kernel const& kernel : kernels) all_ns += kernel.total_ns;
  console_table table({{"kernel", 1000, 24, true},
                       {"range", 900, 20, true},
                       {"count", 60},
                       {"total", 100},
                       {"mean", 70},
                       {"kernel %", 80},
                       {"", 20, 0, true, console_bar},
                       {"GPU fill %", 40}});
  double rest_ns = all_ns;
  std::size_t const shown = (std::min)(most, kernels.size());
  for (std::size_t i = 0; i < shown; ++i) {
    top_kernel const& kernel = kernels[i];
    double const mean =
        kernel.timed > 0 ? kernel.total_ns / static_cast<double>(kernel.timed) : 0.0;
    rest_ns -= kernel.total_ns;
    std::string const& name = kernel.row->short_name;
    table.add_row({{console_text(name.empty() ? kernel.row->mangled : name)},
                   {kernel.path.empty() ? "(outside ranges)" : console_text(kernel.path)},
                   console_table::cell::of(human_count(kernel.count)),
                   console_table::cell::of(human_time(kernel.total_ns)),
                   console_table::cell::of(human_time(mean)),
                   {human_percent(kernel.total_ns, all_ns)},
                   {share_bar(kernel.total_ns, all_ns, 10)},
                   {human_percent(kernel.filled_ns, kernel.total_ns)}});
  }
  out.put('\n');
  table.fit(usable_width(options));
  table.write(out, options.color);
  std::string text;
  if (kernels.size() > shown)
    text = human_count(kernels.size() - shown).text() + " more take " +
           human_percent(rest_ns, all_ns) + " %: kernels.csv. ";
  if (table.shows("GPU fill %"))
    text += "GPU fill %: how much of the SMs the grid and block sizes can keep busy, by time.";
  if (!text.empty()) write_paragraph(out, {}, text, usable_width(options), {}, false);
}

}  // namespace detail

/// The report for a terminal: where and how long, the folded call tree with its cost, what was
/// counted in it, the kernels that took longest, what was lost and how to keep it, what went wrong,
/// what Strata itself cost.
inline void write_table(detail::text_writer& out, report_input const& input,
                        table_options const& options = {}) {
  std::size_t const width = detail::usable_width(options);
  detail::write_heading(out, input, options);
  detail::write_ranges(out, input, options);
  detail::write_counter_tables(out, input, options);
  detail::write_top_kernels(out, input, options);
  out.put('\n');
  for (std::string const& loss : detail::loss_advice(input.source))
    detail::write_paragraph(out, "lost:    ", loss, width, detail::console_warning, options.color);
  for (std::string const& problem : input.source.problems)
    detail::write_paragraph(out, "problem: ", detail::console_text(problem), width,
                            detail::console_warning, options.color);
  detail::write_paragraph(out, "cost:    ", detail::cost_text(input.source), width, {}, false);
}

STRATA_END

#endif  // STRATA_REPORT_TABLE_HPP
