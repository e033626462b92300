#include <strata/version.hpp>
#ifndef STRATA_REPORT_TABLE_HPP
#define STRATA_REPORT_TABLE_HPP

#include <strata/base/humanize.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/report/console_table.hpp>
#include <strata/report/counter_view.hpp>
#include <strata/report/loss_advice.hpp>
#include <strata/report/perf_view.hpp>
#include <strata/report/range_table.hpp>
#include <strata/report/report_input.hpp>
#include <strata/report/text_writer.hpp>
#include <strata/report/top_kernels.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

STRATA_BEGIN

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
    auto const middle = durations.begin() + static_cast<std::ptrdiff_t>(durations.size() / 2);
    std::nth_element(durations.begin(), middle, durations.end());
    line = human_count(durations.size()).text() + (durations.size() == 1 ? " step" : " steps") +
           ", median " + human_time(static_cast<double>(*middle)).text();
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

/// The counted values of the ranges; nothing where none were counted.
inline void write_counter_table(text_writer& out, report_input const& input,
                                table_options const& options) {
  if (input.folded_counters == nullptr) return;
  range_table const ranges(input, options.max_rows);
  counter_view view(ranges, *input.folded_counters);
  if (view.empty()) return;
  out.put('\n');
  view.table().fit(usable_width(options));
  view.table().write(out, options.color);
  write_paragraph(out, {}, view.legend(), usable_width(options), {}, false);
}

inline void write_cpu_counter_table(text_writer& out, report_input const& input,
                                    table_options const& options) {
  if (input.folded_cpu_counters == nullptr) return;
  range_table const ranges(input, options.max_rows);
  perf_view view(ranges, *input.folded_cpu_counters);
  if (view.empty()) return;
  out.put('\n');
  view.table().fit(usable_width(options));
  view.table().write(out, options.color);
  write_paragraph(out, {}, view.legend(), usable_width(options), {}, false);
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
    quantity count = human_count(kernel.count);
    quantity total = human_time(kernel.total_ns);
    quantity average = human_time(mean);
    rest_ns -= kernel.total_ns;
    std::string const& name = kernel.row->short_name;
    table.add_row({{console_text(name.empty() ? kernel.row->mangled : name)},
                   {kernel.path.empty() ? "(outside ranges)" : console_text(kernel.path)},
                   {std::move(count.number), count.unit},
                   {std::move(total.number), total.unit},
                   {std::move(average.number), average.unit},
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
  detail::write_counter_table(out, input, options);
  detail::write_cpu_counter_table(out, input, options);
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
