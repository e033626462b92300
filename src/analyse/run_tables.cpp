#include "run_tables.hpp"

#include <strata/base/json_writer.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/profile.hpp>
#include <strata/tables/columns.hpp>
#include <strata/tables/counter_table.hpp>
#include <strata/tables/table_input.hpp>
#include "steps.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

STRATA_BEGIN
namespace detail {
namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

/// Takes the columns of a range into its row. All rows have the same columns, in one order.
class range_cells final : public cell_sink {
 public:
  explicit range_cells(std::vector<std::string>& columns) : columns_(columns) {}

  run_row take(range_row const& row, table_input const& input) {
    row_ = {row.path, row.thread, row.shape, row.note, {}};
    row_.numbers.reserve(columns_.size());
    range_columns.write(*this, input, row);
    return std::move(row_);
  }

  void absent(char const* key) override { number(key, unknown); }
  void text(char const* key, std::string_view) override { number(key, unknown); }
  void exact(char const* key, std::string_view) override { number(key, unknown); }
  void number(char const* key, double value) override {
    if (row_.numbers.size() == columns_.size()) columns_.emplace_back(key);
    row_.numbers.push_back(is_finite(value) ? value : unknown);
  }
  void whole(char const* key, std::uint64_t magnitude, bool negative) override {
    auto const value = static_cast<double>(magnitude);
    number(key, negative ? -value : value);
  }

 private:
  std::vector<std::string>& columns_;
  run_row row_;
};

call_times times_of(kernel_row const& row, bool knows_first) {
  duration_statistics const& all = row.duration;
  call_times times;
  times.count = static_cast<double>(row.count);
  times.total = static_cast<double>(whole_part(all.sum()));
  times.mean = all.mean();
  double const deviation = standard_deviation(all);
  times.deviation = is_nan(deviation) ? 0.0 : deviation;
  times.median = static_cast<double>(all.quantile(0.5));
  times.min = static_cast<double>(all.minimum());
  times.max = static_cast<double>(all.maximum());
  times.knows_first = knows_first;
  if (!knows_first) return times;
  times.first_count = static_cast<double>(row.first_step_count);
  times.first_total = static_cast<double>(row.first_step_ns);
  return times;
}

run_counter_set counted(counter_table const& table, vec<range_row> const& ranges) {
  run_counter_set set;
  set.of_gpu = table.name == counter_set::gpu;
  std::vector<std::size_t> known;
  for (std::size_t i = 0; i < table.metrics.size(); ++i) {
    counter_metric const& metric = table.metrics[i];
    if (!metric.why_absent.empty()) continue;
    known.push_back(i);
    set.metrics.push_back(
        {metric.key, metric.unit, metric.formula, std::string(to_string(metric.level))});
  }
  std::size_t const cycles = table.find("sm_cycles");
  std::size_t const time = table.find("time_ns");
  auto const own = [&](std::size_t row, std::size_t metric) {
    if (metric == counter_table::none) return 0.0;
    double const value = table.at(row, metric, counter_scope::self).value;
    return is_finite(value) ? value : 0.0;
  };
  for (std::size_t row = 0; row < table.rows && row < ranges.size(); ++row) {
    run_counts counts{ranges[row].path, {}, own(row, cycles), own(row, time)};
    for (std::size_t const i : known)
      counts.total.push_back(table.at(row, i, counter_scope::total).value);
    set.rows.push_back(std::move(counts));
  }
  return set;
}

/// What reports say of these rows in a mean step.
void add_in_step(run_tables& made, vec<range_row> const& rows, step_analysis const& steps) {
  step_amounts const amounts(rows, steps);
  for (std::size_t i = 0; i < rows.size(); ++i)
    made.in_step[std::string(rows[i].path)] = {amounts.host_ns(i), amounts.work(i).kernel_ns,
                                               amounts.busy_ns(i)};
}

run_origin origin_of(profile_environment const& environment) {
  run_origin origin;
  origin.strata = version_text();
  origin.command = environment.command;
  origin.configuration = environment.options;
  origin.host = environment.host;
  origin.cpu = environment.cpu;
  origin.started_at = environment.started_at;
  origin.started_at_unix_ns = environment.started_at_unix_ns;
  origin.driver_version = static_cast<double>(environment.driver_version);
  origin.cupti_version = static_cast<double>(environment.cupti_version);
  origin.rank = environment.rank;
  return origin;
}

}  // namespace
}  // namespace detail

std::size_t run_tables::column(std::string_view name) const noexcept {
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (columns[i] == name) return i;
  return no_column;
}

bool run_tables::lost_all_times() const noexcept {
  double work = 0.0;
  double busy_ns = 0.0;
  for (run_kernel const& kernel : kernels) {
    work += kernel.times.count;
    busy_ns += kernel.times.total;
  }
  for (run_row const& row : ranges) {
    if (!row.path.empty()) continue;
    work += number(row, "copies");
    busy_ns += number(row, "gpu_busy_ns");
  }
  return losses.device_times > 0.0 && work > 0.0 && !(busy_ns > 0.0);
}

double run_tables::number(run_row const& row, std::string_view name,
                          double otherwise) const noexcept {
  std::size_t const at = column(name);
  return at < row.numbers.size() && !detail::is_nan(row.numbers[at]) ? row.numbers[at] : otherwise;
}

run_tables make_run_tables(profile const& source) {
  profile_tables tables(source);
  table_input& input = tables.input();
  step_analysis const steps = make_steps(source, tables.folded(), input.ranges);
  input.steps = steps;
  run_tables made;
  made.origin = detail::origin_of(source.environment);
  made.traced = source.traced;
  for (profile_device const& device : source.environment.devices)
    made.devices.push_back({device.name, static_cast<double>(device.clock_khz)});
  made.period_of_gpu = steps.period_of_gpu;
  for (std::size_t i = 0; i < source.steps.size(); ++i) {
    step_record const& step = source.steps[i];
    made.steps.push_back({static_cast<double>(step.step),
                          static_cast<double>(detail::elapsed(step.begin, step.end)),
                          static_cast<double>(step.end), static_cast<double>(step.cpu_ns),
                          i < steps.step_lengths.size() ? steps.step_lengths[i] + steps.between_ns
                                                        : detail::unknown});
  }
  made.losses = detail::losses_of(source.losses);
  made.steps_folded = static_cast<double>(source.losses.steps_summed);
  detail::range_cells cells(made.columns);
  for (range_row const& row : input.ranges) made.ranges.push_back(cells.take(row, input));
  if (steps.from_steps) {
    detail::add_in_step(made, input.ranges, steps);
    detail::add_in_step(made, input.folded, steps);
  }
  bool const knows_first = detail::knows_first_step(source);
  for (kernel_row const& row : input.kernels)
    made.kernels.push_back(
        {row.path, row.short_name, row.demangled, detail::times_of(row, knows_first), true,
         std::string(to_string(row.collective.operation)), std::string(row.collective.algorithm),
         std::string(row.collective.protocol)});
  for (counter_tables const& set : input.counters)
    made.counters.push_back(detail::counted(set.ranges, input.ranges));
  made.period = make_run_period(source, tables, steps, made);
  return made;
}

STRATA_END
