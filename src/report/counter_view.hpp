#include <strata/version.hpp>
#ifndef STRATA_REPORT_COUNTER_VIEW_HPP
#define STRATA_REPORT_COUNTER_VIEW_HPP

#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/text.hpp>
#include <strata/base/text_writer.hpp>
#include <strata/base/vec.hpp>
#include <strata/tables/call_tree.hpp>
#include <strata/tables/console_table.hpp>
#include <strata/tables/counter_table.hpp>
#include <strata/tables/range_table.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

STRATA_BEGIN
namespace detail {

/// Counted values as a console table, with the rows and the order of the range table.
class counter_view {
 public:
  /// Requires: counters of the rows that `ranges` shows.
  counter_view(range_table const& ranges, counter_table const& counters)
      : counters_(counters), ranges_(ranges), table_(columns(counters)) {
    for (column const& known : all_columns) {
      metrics_.push_back(counters.find(known.key));
      has_amounts_.push_back(false);
    }
    vec<range_row> const& rows = ranges.rows();
    for (std::size_t const i : ranges.shown()) {
      if (i < counters.rows) add(ranges.label(i), rows[i].depth - 1, i, counter_scope::total);
    }
    if (counters.rows == 0) return;
    has_outside_ = has_value(0, counter_scope::self);
    add(outside_ranges, 0, 0, counter_scope::self);
    table_.begin_totals();
    add("total", 0, 0, counter_scope::total);
    let_zeros_go_first();
  }

  /// Calls look(column, key of its metric) for each column, shown or not. `memory`: what people
  /// call that of the devices.
  template <class Look>
  static void for_each_column(std::string_view memory, Look const& look) {
    for (column const& known : all_columns) look(shown_of(known, memory), known.key);
  }

  console_table& table() noexcept { return table_; }
  bool empty() const noexcept { return empty_; }

  /// What the columns mean that are shown. Requires: the table was fitted.
  std::string legend() const {
    bool rates = false;
    bool shares = false;
    for (std::size_t i = 0; i < metrics_.size(); ++i) {
      if (!table_.shows(i + 1) || !by_time(i)) continue;
      rates = true;
      shares = shares || all_columns[i].shown.form == console_form::percent;
    }
    std::string text = passes_text();
    if (is_sampled())
      text = console_text(counters_.about) + "Values are of a mean step, with the ranges below. ";
    if (is_running())
      text = console_text(counters_.about) +
             (ranges_.from_steps() ? "Counts are of a mean step." : "");
    while (!text.empty() && text.back() == ' ') text.pop_back();
    if (!text.empty()) text += '\n';
    if (scaled_)
      text +=
          "Some events took turns on the hardware: they are scaled, and the notes of the CSV file "
          "have the share.\n";
    if (rates) {
      text += shares ? "Rates and % of peak" : "Rates";
      text += is_sampled() ? ": by GPU busy time"
                           : ": counted in one step, by GPU busy time of a timed step";
      text += counters_.devices.size() > 1 ? ", each device's added up\n" : "\n";
    }
    if (!differing_.empty())
      text += sentence("Other work in other counting steps: ") << differing_ << ".\n";
    text += table_.legend();
    if (has_outside_) text += std::string(outside_ranges) + ": counted while no range was open\n";
    return text;
  }

 private:
  using form = console_form;

  bool has_value(std::size_t row, counter_scope scope) const noexcept {
    for (std::size_t i = 0; i < counters_.metrics.size(); ++i)
      if (!is_nan(counters_.at(row, i, scope).value)) return true;
    return false;
  }

  struct column {
    console_table::column shown;
    std::string_view key;
  };
  /// With the name of the memory of other devices in its header.
  static console_table::column shown_of(column const& known, std::string_view memory) noexcept {
    struct header {
      std::string_view key;
      std::string_view with_dram;
      std::string_view with_memory;
    };
    constexpr header headers[] = {{"hbm_read_bytes", "DRAM read", "memory read"},
                                  {"hbm_write_bytes", "DRAM write", "memory write"},
                                  {"hbm_bytes", "DRAM", "memory"},
                                  {"hbm_bytes_per_second", "DRAM GB/s", "memory GB/s"},
                                  {"hbm_of_peak", "DRAM peak %", "memory peak %"}};
    console_table::column shown = known.shown;
    for (header const& other : headers)
      if (other.key == known.key && memory != "HBM")
        shown.header = memory == "DRAM" ? other.with_dram : other.with_memory;
    return shown;
  }
  static constexpr std::string_view no_tensor = "FLOP: without tensor cores";
  static constexpr std::string_view llc =
      "LLC: what the kernel calls cache-references and cache-misses";
  static constexpr column all_columns[] = {
      {{"HBM read", 60, form::bytes}, "hbm_read_bytes"},
      {{"HBM write", 59, form::bytes}, "hbm_write_bytes"},
      {{"HBM", 100, form::bytes}, "hbm_bytes"},
      {{"HBM GB/s", 96, form::rate}, "hbm_bytes_per_second"},
      {{"HBM peak %", 95, form::percent}, "hbm_of_peak"},
      {{"L2", 82, form::bytes}, "l2_bytes"},
      {{"L2 GB/s", 50, form::rate}, "l2_bytes_per_second"},
      {{"L2 peak %", 48, form::percent}, "l2_of_peak"},
      {{"L2 hit %", 88, form::percent, 0, "L2 hit: by sectors"}, "l2_hit_rate"},
      {{"L2 req hit %", 86, form::percent, 0, "L2 req hit: by requests, coarser than by sectors"},
       "l2_request_hit_rate"},
      {{"L1 data", 80, form::bytes, 0, "L1 data: in turns of 128 B, shared memory with it"},
       "l1_data_bytes"},
      {{"L1", 79, form::bytes, 0, "L1: sectors that were requested"}, "l1_bytes"},
      {{"L1 GB/s", 46, form::rate}, "l1_bytes_per_second"},
      {{"L1 peak %", 44, form::percent}, "l1_of_peak"},
      {{"L1 hit %", 84, form::percent, 0, "L1 hit: by sectors"}, "l1_hit_rate"},
      {{"FLOP", 65, form::amount, 0, no_tensor}, "flop"},
      {{"GFLOP/s", 90, form::rate, 0, no_tensor}, "flop_per_second"},
      {{"FP32 peak %", 72, form::percent}, "fp32_of_peak"},
      {{"tensor FLOP", 64, form::amount}, "tensor_flop"},
      {{"tensor GFLOP/s", 91, form::rate}, "tensor_flop_per_second"},
      {{"tensor peak %", 71, form::percent}, "tensor_of_peak"},
      {{"FLOP/B", 76, form::plain}, "flop_per_hbm_byte"},
      {{"occupancy %", 74, form::percent, 0, "occupancy %: warps on the SMs, of those that fit"},
       "achieved_occupancy"},
      {{"tensor active %", 73, form::percent}, "tensor_active_rate"},
      {{"energy J", 94, form::plain, 0,
        "energy J: by a model of each range's power; empty where ranges are not separable"},
       "energy"},
      {{"CPU time", 95, form::time, 0, "CPU time: of all threads, in the kernel too"},
       "cpu_task_clock_ns"},
      {{"instructions", 100, form::amount}, "cpu_instructions"},
      {{"cycles", 90, form::amount}, "cpu_cycles"},
      {{"IPC", 98, form::plain}, "cpu_ipc"},
      {{"L1D loads", 60, form::amount}, "cpu_l1d_loads"},
      {{"L1D misses", 65, form::amount}, "cpu_l1d_load_misses"},
      {{"L1D miss %", 84, form::percent}, "cpu_l1d_miss_rate"},
      {{"LLC refs", 62, form::amount}, "cpu_llc_references"},
      {{"LLC misses", 82, form::amount, 0, llc}, "cpu_llc_misses"},
      {{"LLC miss %", 83, form::percent, 0, llc}, "cpu_llc_miss_rate"},
      {{"branches", 50, form::amount}, "cpu_branches"},
      {{"branch misses", 52, form::amount}, "cpu_branch_misses"},
      {{"branch miss %", 75, form::percent}, "cpu_branch_miss_rate"},
      {{"page faults", 70, form::amount}, "cpu_page_faults"},
      {{"switches", 68, form::amount}, "cpu_context_switches"}};

  /// Whether the values are sums over all calls.
  bool is_running() const noexcept { return counters_.method == counting::while_running; }
  bool is_sampled() const noexcept { return counters_.method == counting::sampled; }
  /// Whether the counts of a column are divided by times.
  bool by_time(std::size_t i) const noexcept {
    return metrics_[i] != counter_table::none &&
           counters_.metrics[metrics_[i]].method == counter_method::counted_and_timed;
  }

  static vec<console_table::column> columns(counter_table const& counters) {
    vec<console_table::column> made{{"range", 1000, console_form::text, 24}};
    for (column const& known : all_columns) {
      made.push_back(shown_of(known, counters.memory));
      if (known.key == "flop_per_hbm_byte") made.back().legend = intensity_text(counters);
    }
    return made;
  }

  static std::string_view intensity_text(counter_table const& counters) noexcept {
    bool const plain = counters.find("flop") != counter_table::none;
    bool const tensor = counters.find("tensor_flop") != counter_table::none;
    return plain && tensor ? "FLOP/B: per byte of device memory, with tensor cores"
           : tensor        ? "FLOP/B: per byte of device memory, of tensor cores only"
                           : "FLOP/B: per byte of device memory, without tensor cores";
  }

  /// In which steps the values were counted.
  std::string passes_text() const {
    std::string const timed = sentence() << counters_.timed_steps;
    std::string text = "Counted";
    if (!counters_.chip.empty()) text += " on " + chip_text();
    text += sentence(" in ") << count_of(counters_.passes_done, "step")
                             << ", a pass each, after the "
                             << (counters_.timed_steps == 1 ? "timed one" : timed + " timed ones")
                             << "; values are of one step, with the ranges below. ";
    if (counters_.passes_done < counters_.passes) {
      text += sentence("The program ended before the other ")
              << count_of(counters_.passes - counters_.passes_done, "step")
              << " of the counting: what needs them is missing. ";
    }
    return text;
  }

  static std::string count_of(std::uint64_t count, char const* what) {
    return sentence(count_text(count)) << ' ' << what << (count == 1 ? "" : "s");
  }

  /// Adds a row, if it has values.
  void add(std::string_view label, std::size_t level, std::size_t row, counter_scope scope) {
    if (!has_value(row, scope)) return;
    vec<double> values;
    for (std::size_t i = 0; i < metrics_.size(); ++i) {
      counter_cell const cell = metrics_[i] == counter_table::none
                                    ? counter_cell()
                                    : counters_.at(row, metrics_[i], scope);
      console_form const shown = all_columns[i].shown.form;
      bool const adds_up = shown != console_form::percent && shown != console_form::plain;
      values.push_back(shown == console_form::rate ? cell.value * 1e-9
                       : is_running() && adds_up   ? cell.value * ranges_.mean().factor(row)
                                                   : cell.value);
      scaled_ = scaled_ || (is_running() && is_finite(cell.value) && cell.note != 0);
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i] != 0.0) has_amounts_[i] = true;
    }
    table_.add_row({{console_text(label), {}, level}}, values);
    empty_ = false;
    add_differing(label, row);
  }

  /// Where there is no room for all columns: a program without tensor work needs none of its rates.
  void let_zeros_go_first() {
    for (std::size_t i = 0; i < has_amounts_.size(); ++i) {
      if (!has_amounts_[i]) table_.columns()[i + 1].priority = 0;
    }
  }

  /// Names the first ranges whose own work differed between the counting steps.
  void add_differing(std::string_view label, std::size_t row) {
    constexpr int most = 3;
    if (row >= counters_.work.size() || counters_.work[row] == 0 || differing_count_ > most) return;
    differing_ += differing_count_ == 0 ? "" : ", ";
    differing_ += differing_count_++ == most
                      ? "and others"
                      : console_text(label) + " (" + counters_.notes[counters_.work[row]] + ")";
  }

  /// "GH100", or "GH100 (devices 0, 1)".
  std::string chip_text() const {
    std::string text = console_text(counters_.chip);
    if (counters_.devices.size() < 2) return text;
    text += " (devices ";
    for (std::uint32_t const device : counters_.devices) text += sentence() << device << ", ";
    text.replace(text.size() - 2, 2, ")");
    return text;
  }

  counter_table const& counters_;
  range_table const& ranges_;
  console_table table_;
  vec<std::size_t> metrics_;  ///< of each column's metric
  vec<bool> has_amounts_;     ///< of each column: a value that is not 0
  bool empty_ = true;
  bool has_outside_ = false;
  bool scaled_ = false;
  std::string differing_;
  int differing_count_ = 0;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_REPORT_COUNTER_VIEW_HPP
