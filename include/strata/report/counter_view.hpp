#include <strata/version.hpp>
#ifndef STRATA_REPORT_COUNTER_VIEW_HPP
#define STRATA_REPORT_COUNTER_VIEW_HPP

#include <strata/analyse/counter_sums.hpp>
#include <strata/analyse/counter_table.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/text.hpp>
#include <strata/base/vec.hpp>
#include <strata/report/console_table.hpp>
#include <strata/report/range_table.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

STRATA_BEGIN
namespace detail {

/// Counted values as a console table, with the rows and the order of the range table.
class counter_view {
 public:
  /// Requires: counters of the rows that `ranges` shows.
  counter_view(range_table const& ranges, counter_table const& counters)
      : counters_(counters), table_(console_columns()) {
    for (column const& each : all_columns) at_.push_back(counters.find(each.key));
    vec<range_row> const& rows = ranges.rows();
    for (std::size_t const i : ranges.shown()) {
      if (i < counters.rows)
        add(ranges.label(i), 2 * (std::size_t{rows[i].depth} - 1), i, counter_scope::total);
    }
    if (counters.rows == 0) return;
    add("(outside ranges)", 0, 0, counter_scope::self);
    table_.begin_totals();
    add("total", 0, 0, counter_scope::total);
  }

  console_table& table() noexcept { return table_; }
  bool empty() const noexcept { return empty_; }

  /// What the columns mean that are shown. Requires: the table was fitted.
  std::string legend() const {
    bool rates = false;
    bool shares = false;
    for (column const& each : all_columns) {
      if (!table_.shows(each.header)) continue;
      shares = shares || each.how == form::share;
      rates = rates || each.how == form::share || each.how == form::rate;
    }
    std::string text = counters_.method == counting::passes ? passes_text() : counters_.about;
    if (scaled_)
      text += "Some events took turns on the hardware: they are scaled, counters tell how much. ";
    if (rates) {
      text += shares ? "Rates and % of peak" : "Rates";
      text += ": counted in one step, by GPU busy time of a timed step";
      text += counters_.devices.size() > 1 ? ", each device's added up. " : ". ";
    }
    if (!differing_.empty()) text += "Other work in other counting steps: " + differing_ + ". ";
    if (above_peak_) text += "Above 100 %: the counted step differs from the timed ones. ";
    if (table_.shows("L2 hit %")) text += "L2 hit: by sectors. ";
    if (table_.shows("L2 req hit %")) text += "L2 req hit: by requests, coarser than by sectors. ";
    if (table_.shows("L1 hit %")) text += "L1 hit: by sectors. ";
    if (table_.shows("FLOP") || table_.shows("GFLOP/s")) text += "FLOP: without tensor cores. ";
    if (table_.shows("FLOP/B")) {
      bool const plain = counters_.find("flop") != counter_table::none;
      bool const tensor = counters_.find("tensor_flop") != counter_table::none;
      text += "FLOP/B: per byte of HBM, ";
      text += plain && tensor ? "with tensor cores"
              : tensor        ? "of tensor cores only"
                              : "without tensor cores";
      text += ". ";
    }
    if (table_.shows("CPU time")) text += "CPU time: of all threads, in the kernel too. ";
    if (table_.shows("LLC misses") || table_.shows("LLC miss %"))
      text += "LLC: what the kernel calls cache-references and cache-misses. ";
    if (!text.empty()) text.pop_back();
    return text;
  }

 private:
  enum class form : std::uint8_t { bytes, count, time, rate, share, percent, plain };
  struct column {
    std::string_view header;
    int priority;
    std::string_view key;
    form how;
  };
  static constexpr column all_columns[] = {
      {"HBM read", 60, "hbm_read_bytes", form::bytes},
      {"HBM write", 59, "hbm_write_bytes", form::bytes},
      {"HBM", 100, "hbm_bytes", form::bytes},
      {"HBM GB/s", 96, "hbm_bytes_per_second", form::rate},
      {"HBM peak %", 95, "hbm_of_peak", form::share},
      {"L2", 82, "l2_bytes", form::bytes},
      {"L2 GB/s", 50, "l2_bytes_per_second", form::rate},
      {"L2 peak %", 48, "l2_of_peak", form::share},
      {"L2 hit %", 88, "l2_hit_rate", form::percent},
      {"L2 req hit %", 86, "l2_request_hit_rate", form::percent},
      {"L1", 80, "l1_bytes", form::bytes},
      {"L1 GB/s", 46, "l1_bytes_per_second", form::rate},
      {"L1 peak %", 44, "l1_of_peak", form::share},
      {"L1 hit %", 84, "l1_hit_rate", form::percent},
      {"FLOP", 65, "flop", form::count},
      {"GFLOP/s", 90, "flop_per_second", form::rate},
      {"FP32 peak %", 72, "fp32_of_peak", form::share},
      {"tensor FLOP", 64, "tensor_flop", form::count},
      {"tensor GFLOP/s", 70, "tensor_flop_per_second", form::rate},
      {"tensor peak %", 71, "tensor_of_peak", form::share},
      {"FLOP/B", 76, "flop_per_hbm_byte", form::plain},
      {"occupancy %", 74, "achieved_occupancy", form::percent},
      {"tensor active %", 73, "tensor_active_rate", form::percent},
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

  static vec<console_table::column> console_columns() {
    vec<console_table::column> made{{"range", 1000, 24, true}};
    for (column const& each : all_columns) made.push_back({each.header, each.priority});
    return made;
  }

  /// In which steps the values were counted.
  std::string passes_text() const {
    std::string const timed = std::to_string(counters_.timed_steps);
    std::string text = "Counted";
    if (!counters_.chip.empty()) text += " on " + place();
    text += " in " + count_of(counters_.passes_done, "step") + ", a pass each, after the " +
            (counters_.timed_steps == 1 ? "timed one" : timed + " timed ones") +
            "; values are of one step, with the ranges below. ";
    if (counters_.passes_done < counters_.passes) {
      text += "The program ended before the other " +
              count_of(counters_.passes - counters_.passes_done, "step") +
              " of the counting: what needs them is missing. ";
    }
    return text;
  }

  static std::string count_of(std::uint64_t count, char const* what) {
    return human_count(count).text() + ' ' + what + (count == 1 ? "" : "s");
  }

  /// Adds a row, if it has values.
  void add(std::string const& label, std::size_t indent, std::size_t row, counter_scope scope) {
    if (!counters_.has_value(row, scope)) return;
    vec<console_table::cell> cells{{console_text(label), {}, indent}};
    for (std::size_t i = 0; i < at_.size(); ++i) {
      counter_cell const cell =
          at_[i] == counter_table::none ? counter_cell() : counters_.at(row, at_[i], scope);
      cells.push_back(cell_of(cell.value, all_columns[i].how));
      above_peak_ = above_peak_ || (all_columns[i].how == form::share && cell.value > 100.0);
      scaled_ = scaled_ || (counters_.method == counting::while_running && is_finite(cell.value) &&
                            cell.note != 0);
    }
    table_.add_row(std::move(cells));
    empty_ = false;
    tell_work(label, row);
  }

  /// Names the first ranges whose own work differed between the counting steps.
  void tell_work(std::string const& label, std::size_t row) {
    constexpr int most = 3;
    if (row >= counters_.work.size() || counters_.work[row] == 0 || differing_count_ > most) return;
    differing_ += differing_count_ == 0 ? "" : ", ";
    differing_ += differing_count_++ == most
                      ? "and others"
                      : console_text(label) + " (" + counters_.notes[counters_.work[row]] + ")";
  }

  static console_table::cell cell_of(double value, form how) {
    if (!is_finite(value)) return {};
    constexpr std::string_view thousands[] = {"", "K", "M", "G", "T", "P", "E"};
    switch (how) {
      case form::bytes:
        return console_table::cell::of(human_bytes(value));
      case form::time:
        return console_table::cell::of(human_time(value));
      case form::count:
        return console_table::cell::of(in_units(value, 1000.0, thousands));
      case form::rate:
        return console_table::cell::rate(value * 1e-9);
      case form::plain:
        return {significant(value)};
      default:
        return {fixed_string(value, 1)};
    }
  }

  /// "GH100", or "GH100 (devices 0, 1)".
  std::string place() const {
    std::string text = console_text(counters_.chip);
    if (counters_.devices.size() < 2) return text;
    text += " (devices ";
    for (std::uint32_t const device : counters_.devices) text += std::to_string(device) + ", ";
    text.replace(text.size() - 2, 2, ")");
    return text;
  }

  counter_table const& counters_;
  console_table table_;
  vec<std::size_t> at_;  ///< of each column's metric
  bool empty_ = true;
  bool above_peak_ = false;
  bool scaled_ = false;
  std::string differing_;
  int differing_count_ = 0;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_REPORT_COUNTER_VIEW_HPP
