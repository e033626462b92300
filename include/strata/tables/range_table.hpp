#ifndef STRATA_TABLES_RANGE_TABLE_HPP
#define STRATA_TABLES_RANGE_TABLE_HPP

#include <strata/tables/columns.hpp>
#include <strata/tables/console_table.hpp>

STRATA_BEGIN
namespace detail {

/// The numbers of a row of the range table; NaN: there is nothing to show.
struct range_values {
  double use_percent = not_a_number;
  double busy_ns = not_a_number;
  double busy_percent = not_a_number;
  double graph_kernel_ns = not_a_number;
  double kernel_ns = not_a_number;
  double kernels = not_a_number;
  double calls = not_a_number;
  double host_ns = not_a_number;
  double host_percent = not_a_number;
  double host_bar = not_a_number;
  double self_ns = not_a_number;
  double median_ns = not_a_number;
  double longest_ns = not_a_number;
  double launch_ns = not_a_number;
  double copied_bytes = not_a_number;
  double allocated_bytes = not_a_number;
  double peak_bytes = not_a_number;
  double gigaflop_per_s = not_a_number;
  double gigabyte_per_s = not_a_number;
  double tokens_per_s = not_a_number;
};
using range_value = double range_values::*;

/// A column of the range table: how it looks, and what it shows.
struct range_console_column {
  console_table::column shown;
  range_value value = nullptr;  ///< null: a text
  char const* key = "";         ///< its name in the page's data: where it is one, of the CSV column
};

inline constexpr std::string_view declared_rates =
    "Rates: declared work by GPU busy time, by host time where there is none";

/// Those with texts come first.
inline constexpr range_console_column range_console_columns[] = {
    {{"range", 1000, console_form::text, 24}},
    {{"limiter", 92, console_form::text, 0,
      "limiter: the unit used most, from 60 % on; else launch, copies or latency"},
     nullptr,
     "limiter"},
    {{"use %", 93, console_form::percent, 0, "use %: the highest use of a unit, of its peak"},
     &range_values::use_percent,
     "use"},
    {{"GPU busy", 95, console_form::time, 0, "GPU busy: overlapping work counts once"},
     &range_values::busy_ns,
     "gpu_busy_ns"},
    {{"% of step", 90, console_form::percent, 0, "% of step: GPU busy, of the mean step"},
     &range_values::busy_percent,
     "share_of_step"},
    {{"", 47, console_form::bar}, &range_values::busy_percent},
    {{"in graphs", 78, console_form::time, 0,
      "in graphs: kernels that it captured; busy where the graph is launched"},
     &range_values::graph_kernel_ns,
     "graph_kernel_ns"},
    {{"kernel sum", 35, console_form::time, 0, "kernel sum: overlapping kernels count each"},
     &range_values::kernel_ns,
     "gpu_kernel_ns"},
    {{"kernels", 80, console_form::count}, &range_values::kernels, "kernels"},
    {{"calls", 70, console_form::count}, &range_values::calls, "calls"},
    {{"host total", 100, console_form::time}, &range_values::host_ns, "host_total_ns"},
    {{"host %", 40, console_form::percent, 0, "host %: of the time in ranges"},
     &range_values::host_percent,
     "host_share"},
    {{"", 31, console_form::bar}, &range_values::host_bar},
    {{"host self", 60, console_form::time}, &range_values::self_ns, "host_self_ns"},
    {{"median", 65, console_form::time, 0, "median: of a call"},
     &range_values::median_ns,
     "host_p50_ns"},
    {{"max", 28, console_form::time, 0, "max: of a call"},
     &range_values::longest_ns,
     "host_max_ns"},
    {{"driver calls", 55, console_form::time, 0,
      "driver calls: host time in launches, copies and fills"},
     &range_values::launch_ns,
     "launch_ns"},
    {{"copied", 45, console_form::bytes}, &range_values::copied_bytes, "copied"},
    {{"allocated", 20, console_form::bytes}, &range_values::allocated_bytes, "allocated_bytes"},
    {{"peak", 25, console_form::bytes}, &range_values::peak_bytes, "peak_bytes"},
    {{"GFLOP/s", 50, console_form::rate, 0, declared_rates},
     &range_values::gigaflop_per_s,
     "flops_per_second"},
    {{"GB/s", 48, console_form::rate, 0, declared_rates},
     &range_values::gigabyte_per_s,
     "bytes_per_second"},
    {{"tokens/s", 46, console_form::rate, 0, "tokens/s: by host or GPU busy time, the longer"},
     &range_values::tokens_per_s,
     "tokens_per_second"}};

/// Where the column with this header stands. Requires: there is one.
constexpr std::size_t range_column(std::string_view header) noexcept {
  std::size_t index = 0;
  while (range_console_columns[index].shown.header != header) ++index;
  return index;
}

/// The folded tree as rows of a console table: indented, siblings in the order of the input. Times
/// and counts are of a mean step; ranges that are in none have a table of their own.
class range_table {
 public:
  range_table(table_input const& input, std::size_t max_rows)
      : rows_(input.folded),
        steps_(input.steps),
        mean_(input.folded, input.steps),
        limits_(input.limits),
        sort_(input.sort),
        by_gpu_(gpu_time(input)),
        table_(columns(by_gpu_, steps_)) {
    if (rows_.empty()) return;
    order_rows();
    choose_rows(max_rows);
    // Not the uppermost totals: threads that inherited a place work below them at the same time.
    for (std::size_t i = 0; i < rows_.size(); ++i) host_ns_ += mean_.stepping_self_ns(i);
    for (std::size_t const i : order_)
      if (visible_[i]) add_range(i);
    device_work const& outside = rows_[0].self;
    has_outside_ = outside.kernels + outside.copies + outside.launches > 0;
    if (has_outside_) add_outside();
    table_.begin_totals();
    add_total();
    for (std::size_t const i : {range_column("GFLOP/s"), range_column("GB/s")}) {
      table_.columns()[i].legend = !by_gpu_         ? "Rates: declared work by host time"
                                   : rates_by_both_ ? declared_rates
                                                    : "Rates: declared work by GPU busy time";
    }
  }

  /// A part of the help: what the columns mean whose headers do not say it, a line each.
  static std::string help() {
    std::string text = "\nColumns:\n";
    std::string_view last;  // columns beside each other have one line
    for (range_console_column const& known : range_console_columns) {
      if (!known.shown.legend.empty() && known.shown.legend != last)
        text += sentence("  ") << known.shown.legend << '\n';
      last = known.shown.legend;
    }
    return text;
  }

  /// Calls look(column) for each column, shown or not.
  template <class Look>
  static void for_each_column(Look const& look) {
    for (range_console_column const& known : range_console_columns) look(known.shown);
  }

  console_table& table() noexcept { return table_; }
  /// What a row is in a mean step.
  step_amounts const& mean() const noexcept { return mean_; }
  /// What the rows and columns mean that are shown. Requires: the table was fitted.
  std::string legend() const {
    return table_.legend() + limits_text() +
           (outside_shown_ ? std::string(outside_ranges) + ": work that no range launched\n" : "");
  }
  /// Nothing but an empty total.
  bool empty() const noexcept {
    return rows_.empty() || (rows_.size() == 1 && !has_outside_ && rows_[0].total.allocations == 0);
  }
  /// Rows beyond the limit.
  std::size_t hidden() const noexcept { return hidden_; }
  vec<range_row> const& rows() const noexcept { return rows_; }
  /// Positions of the rows in the table, in its order, without the root.
  vec<std::size_t> shown() const {
    vec<std::size_t> positions;
    for (std::size_t const i : order_)
      if (visible_[i]) positions.push_back(i);
    return positions;
  }

  bool from_steps() const noexcept { return steps_.from_steps; }

  /// What the row adds to the path of the row above, with its thread where that drives no step.
  std::string label(std::size_t i) const {
    range_row const& row = rows_[i];
    range_row const& parent = rows_[row.parent];
    std::string const& above = parent.path;
    std::string const& path = row.path;
    bool const below = path.size() > above.size() + 1 && path.compare(0, above.size(), above) == 0;
    std::string text = name_with_index(row.name, row.index);  // where middles are left out
    if (above.empty())
      text = path;
    else if (below)
      text = path.substr(above.size() + 1);
    if (!row.thread.empty() && row.thread != parent.thread) text += " (" + row.thread + ")";
    return text;
  }

 private:
  static bool gpu_time(table_input const& input) noexcept {
    return input.source.traced && !input.folded.empty() && input.folded[0].gpu_busy_ns > 0;
  }

  static vec<console_table::column> columns(bool gpu, steps_summary const& steps) {
    vec<console_table::column> made;
    for (range_console_column const& known : range_console_columns) made.push_back(known.shown);
    console_table::column& busy = made[range_column("% of step")];
    if (steps.is_slowed()) busy.legend = "% of step: GPU busy, of a step without recording";
    if (steps.between_ns > 0.0) {
      busy.header = "% of period";
      busy.legend = "% of period: GPU busy, of the time from the begin of a step to the next";
    }
    if (!steps.from_steps) busy.header = "% of run";
    if (!steps.from_steps) busy.legend = {};
    if (gpu) return made;
    made[range_column("host %")].priority = 75;
    made[range_column("tokens/s")].legend = {};  // there is no GPU busy time
    return made;
  }

  double key(std::size_t i) const noexcept {
    if (!by_gpu_) return mean_.host_ns(i);
    return mean_.busy_ns(i) + mean_.work(i).graph_kernel_ns;
  }

  bool costs_more(std::size_t a, std::size_t b) const noexcept {
    if (key(a) != key(b)) return key(a) > key(b);
    if (rows_[a].host_total_ns != rows_[b].host_total_ns)
      return rows_[a].host_total_ns > rows_[b].host_total_ns;
    return a < b;
  }

  bool is_before(std::size_t a, std::size_t b) const noexcept {
    if (sort_ == row_order::cost) return costs_more(a, b);
    int const by_name = sort_ == row_order::name ? rows_[a].path.compare(rows_[b].path) : 0;
    return by_name != 0 ? by_name < 0 : a < b;
  }

  /// Depth first; a row's children follow it.
  void order_rows() {
    vec<vec<std::size_t>> children(rows_.size());
    for (std::size_t i = 1; i < rows_.size(); ++i)
      children[rows_[i].parent < i ? rows_[i].parent : 0].push_back(i);
    vec<std::size_t> stack{0};
    while (!stack.empty()) {
      std::size_t const index = stack.back();
      stack.pop_back();
      if (index != 0 && !mean_.is_outside(index)) order_.push_back(index);
      auto& below = children[index];
      below.sort([this](std::size_t a, std::size_t b) { return is_before(b, a); });
      stack.insert(stack.end(), below.begin(), below.end());
    }
  }

  /// The most expensive rows, and what is above them.
  void choose_rows(std::size_t max_rows) {
    visible_.assign(rows_.size(), true);
    if (max_rows == 0 || order_.size() <= max_rows) return;
    visible_.assign(rows_.size(), false);
    vec<std::size_t> most_expensive = order_;
    most_expensive.sort([this](std::size_t a, std::size_t b) { return costs_more(a, b); });
    hidden_ = order_.size();
    for (std::size_t i = 0; i < max_rows; ++i) {
      for (std::size_t index = most_expensive[i]; index != 0 && !visible_[index];
           index = rows_[index].parent) {
        visible_[index] = true;
        --hidden_;
      }
    }
  }

  /// Per second, in units of `unit`; NaN where the amount was not declared.
  static double rate(double value, double ns, double unit) noexcept {
    return ns > 0.0 ? value / ns * (1e9 / unit) : not_a_number;
  }

  /// Adds what the calls of a range took on the host.
  void add_host(std::size_t i, range_values& values) const {
    range_row const& row = rows_[i];
    double const percent = if_any(percent_of(mean_.stepping_ns(i), host_ns_));
    if (!row.around_steps) values.calls = if_any(mean_.calls(i));
    values.host_ns = if_any(mean_.host_ns(i));
    values.host_percent = percent;
    if (!by_gpu_) values.host_bar = percent;
    values.self_ns = if_any(mean_.self_ns(i));
    if (row.host.count() < 2) return;
    values.median_ns = if_any(row.host.quantile(0.5));
    values.longest_ns = if_any(row.host.maximum());
  }
  /// `limited`: the row of the limiter.
  range_values values_of(std::size_t limited, mean_work const& work, double busy_ns) const {
    range_values made;
    made.use_percent = use_percent(limited);
    made.busy_ns = if_any(busy_ns);
    if (by_gpu_) made.busy_percent = if_any(percent_of(busy_ns, steps_.period_ns()));
    made.graph_kernel_ns = if_any(work.graph_kernel_ns);
    made.kernel_ns = if_any(work.kernel_ns);
    made.kernels = if_any(work.kernels);
    made.launch_ns = if_any(work.launch_ns);
    made.copied_bytes = if_any(work.copied_bytes);
    made.allocated_bytes = if_any(work.allocated_bytes);
    return made;
  }
  void add_row(vec<console_table::cell> texts, range_values const& shown) {
    vec<double> values;
    for (range_console_column const& known : range_console_columns)
      if (known.value != nullptr) values.push_back(shown.*known.value);
    table_.add_row(std::move(texts), values);
  }
  double use_percent(std::size_t row) const noexcept {
    return row < limits_.size() ? limits_[row].use_percent : not_a_number;
  }
  /// What the limiters mean that are shown.
  std::string limits_text() const {
    std::string text;
    if (!table_.shows(range_column("limiter"))) return text;
    for (std::size_t row = 0; row < limits_.size(); ++row) {
      std::string const line = limits_[row].meaning + '\n';
      bool const is_shown = row == 0 || (visible_[row] && !mean_.is_outside(row));
      if (line.size() > 1 && is_shown && text.find(line) == std::string::npos) text += line;
    }
    return text;
  }
  std::string limiter(std::size_t row) const {
    return row < limits_.size() ? limits_[row].limiter : std::string();
  }
  void add_range(std::size_t i) {
    range_row const& row = rows_[i];
    double const host_ns = mean_.host_ns(i);
    double const busy_ns = mean_.busy_ns(i);
    double const work_ns = by_gpu_ && busy_ns > 0.0 ? busy_ns : host_ns;
    range_values values = values_of(i, mean_.work(i), busy_ns);
    add_host(i, values);
    values.peak_bytes = if_any(row.peak_bytes);
    if (by_gpu_ && busy_ns <= 0.0 && (is_finite(row.flops) || is_finite(row.bytes)))
      rates_by_both_ = true;
    values.gigaflop_per_s = rate(steps_.declared_flops(row), work_ns, 1e9);
    values.gigabyte_per_s = rate(steps_.declared_bytes(row), work_ns, 1e9);
    // Either the host or the device is what the tokens wait for.
    values.tokens_per_s = rate(steps_.declared_tokens(row), larger(host_ns, busy_ns), 1.0);
    add_row({{console_text(label(i)), {}, row.depth - 1}, {limiter(i)}}, values);
  }

  /// Its busy time is known where no work overlapped at all: then it is the sum. Else the timeline
  /// tells it.
  void add_outside() {
    device_work const& all = rows_[0].total;
    bool const apart = all.kernel_ns + all.copy_ns == rows_[0].gpu_busy_ns;
    double const part = steps_.per_step(1.0, rows_[0].step_self_share);
    if (!(part > 0.0)) return;
    outside_shown_ = true;
    device_work const& own = rows_[0].self;
    double const busy_ns =
        apart ? static_cast<double>(own.kernel_ns + own.copy_ns) * part : steps_.rangeless_busy_ns;
    add_row({{std::string(outside_ranges)}, {}},
            values_of(rows_.size(), mean_.own_work(0), busy_ns));
  }

  void add_total() {
    range_values values = values_of(0, mean_.work(0), mean_.busy_ns(0));
    values.host_ns = if_any(host_ns_);
    values.peak_bytes = if_any(rows_[0].peak_bytes);
    add_row({{steps_.from_steps ? "all, a step" : "total"}, {limiter(0)}}, values);
  }

  vec<range_row> const& rows_;
  steps_summary const& steps_;
  step_amounts mean_;
  vec<row_limit> const& limits_;  ///< of the rows, or empty
  row_order sort_;
  bool by_gpu_;  ///< the time that counts is that of the device
  console_table table_;
  double host_ns_ = 0.0;  ///< in ranges, of the threads that drive steps
  vec<std::size_t> order_;
  vec<bool> visible_;
  std::size_t hidden_ = 0;
  bool has_outside_ = false;    // work that belongs to no range
  bool outside_shown_ = false;  // in a row
  bool rates_by_both_ = false;  ///< of ranges without GPU time by host time
};

/// Counted values as a console table, with the rows and the order of the range table.
class counter_view {
 public:
  /// Requires: counters of the rows that `ranges` shows.
  counter_view(range_table const& ranges, counter_table const& counters)
      : counters_(counters), ranges_(ranges), table_({{"range", 1000, console_form::text, 24}}) {
    for (column const& known : all_columns) {
      metrics_.push_back(counters.find(known.key));
      has_amounts_.push_back(false);
      table_.add_column(shown_of(known, counters.memory));
      if (known.key == "flop_per_hbm_byte") table_.columns().back().legend = intensity_text();
    }
    vec<range_row> const& rows = ranges.rows();
    for (std::size_t const i : ranges.shown()) {
      if (i < counters.rows) add(ranges.label(i), rows[i].depth - 1, i, counter_scope::total);
    }
    if (counters.rows == 0) return;
    has_outside_ = counters.has_value(0, counter_scope::self);
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

  std::string_view intensity_text() const noexcept {
    bool const plain = counters_.find("flop") != counter_table::none;
    bool const tensor = counters_.find("tensor_flop") != counter_table::none;
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
    if (!counters_.has_value(row, scope)) return;
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

#endif  // STRATA_TABLES_RANGE_TABLE_HPP
