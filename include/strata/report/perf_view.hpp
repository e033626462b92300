#include <strata/version.hpp>
#ifndef STRATA_REPORT_PERF_VIEW_HPP
#define STRATA_REPORT_PERF_VIEW_HPP

#include <strata/analyse/counter_table.hpp>
#include <strata/base/finite.hpp>
#include <strata/base/humanize.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/report/console_table.hpp>
#include <strata/report/counted_rows.hpp>
#include <strata/report/range_table.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

STRATA_BEGIN

namespace detail {

/// The CPU's counters as a console table, with the rows and the order of the range table.
class perf_view {
 public:
  /// Requires: counters of the rows that `ranges` shows.
  perf_view(range_table const& ranges, counter_table const& counters)
      : counters_(counters), table_(counted_columns(all_columns)) {
    for (column const& each : all_columns) at_.push_back(counters.find(each.key));
    add_counted_rows(ranges, counters, table_,
                     [this](std::string const& label, std::size_t indent, std::size_t row,
                            counter_scope scope) { add(label, indent, row, scope); });
  }

  console_table& table() noexcept { return table_; }
  bool empty() const noexcept { return empty_; }

  /// What the columns mean that are shown. Requires: the table was fitted.
  std::string legend() const {
    std::string text =
        "CPU counters by perf, in user code: sums over all calls, with the ranges below. They "
        "follow the ranges of one thread; what other threads do counts for the range that it is "
        "in.";
    if (scaled_)
      text += " Some events took turns on the hardware: they are scaled, counters tell how much.";
    if (table_.shows("CPU time")) text += " CPU time: of all threads, in the kernel too.";
    if (table_.shows("LLC misses") || table_.shows("LLC miss %"))
      text += " LLC: what the kernel calls cache-references and cache-misses.";
    return text;
  }

 private:
  enum class form : std::uint8_t { count, time, percent, plain };
  struct column {
    std::string_view header;
    int priority;
    std::string_view key;
    form how;
  };
  static constexpr column all_columns[] = {
      {"CPU time", 95, "cpu_task_clock_ns", form::time},
      {"instructions", 100, "cpu_instructions", form::count},
      {"cycles", 90, "cpu_cycles", form::count},
      {"IPC", 98, "cpu_ipc", form::plain},
      {"L1D loads", 60, "cpu_l1d_loads", form::count},
      {"L1D misses", 65, "cpu_l1d_load_misses", form::count},
      {"L1D miss %", 84, "cpu_l1d_miss_rate", form::percent},
      {"LLC refs", 62, "cpu_llc_references", form::count},
      {"LLC misses", 82, "cpu_llc_misses", form::count},
      {"LLC miss %", 83, "cpu_llc_miss_rate", form::percent},
      {"branches", 50, "cpu_branches", form::count},
      {"branch misses", 52, "cpu_branch_misses", form::count},
      {"branch miss %", 75, "cpu_branch_miss_rate", form::percent},
      {"page faults", 70, "cpu_page_faults", form::count},
      {"switches", 68, "cpu_context_switches", form::count}};

  void add(std::string const& label, std::size_t indent, std::size_t row, counter_scope scope) {
    vec<console_table::cell> cells{{console_text(label), {}, indent}};
    for (std::size_t i = 0; i < at_.size(); ++i) {
      if (at_[i] == counter_table::none) {
        cells.push_back({});
        continue;
      }
      counter_cell const& cell = counters_.at(row, at_[i], scope);
      cells.push_back(cell_of(cell.value, all_columns[i].how));
      scaled_ = scaled_ || (is_finite(cell.value) && cell.note != 0);
    }
    table_.add_row(std::move(cells));
    empty_ = false;
  }

  static console_table::cell cell_of(double value, form how) {
    if (!is_finite(value)) return {};
    if (how == form::plain) return {significant(value)};
    if (how == form::percent) return {fixed_string(value, 1)};
    constexpr std::string_view thousands[] = {"", "K", "M", "G", "T", "P", "E"};
    quantity amount = how == form::time ? human_time(value) : in_units(value, 1000.0, thousands);
    return {std::move(amount.number), amount.unit};
  }

  counter_table const& counters_;
  console_table table_;
  vec<std::size_t> at_;  ///< of each column's metric
  bool empty_ = true;
  bool scaled_ = false;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_REPORT_PERF_VIEW_HPP
