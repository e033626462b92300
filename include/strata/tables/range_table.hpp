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
      "limiter: the unit used most, if 60 % or more; else launch, copies or latency (that unit)"},
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
    {{"median", 65, console_form::time, 0, "median: of all calls, the first step's too"},
     &range_values::median_ns,
     "host_p50_ns"},
    {{"max", 28, console_form::time, 0, "max: of all calls, the first step's too"},
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

  /// Its busy time: the sum where no work overlapped, else what the timeline tells.
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

}  // namespace detail
STRATA_END

#endif  // STRATA_TABLES_RANGE_TABLE_HPP
