#include "rule_context.hpp"

#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/text.hpp>
#include <strata/profile/records.hpp>
#include <strata/tables/steps_summary.hpp>
#include "device_peaks.hpp"
#include "devices.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

STRATA_BEGIN
namespace detail {

namespace {

constexpr double least_off_cpu = 0.05;  // of a step, that others take; chosen

/// Whether the text of STRATA= has the preset `findings` in its last counters=.
bool asks_for_findings(std::string_view text) {
  std::string asked;
  while (!text.empty()) {
    std::size_t const end = std::min(text.find(','), text.size());
    std::string_view const item = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    constexpr std::string_view key = "counters=";
    if (begins_with(item, key)) asked = "+" + std::string(item.substr(key.size())) + "+";
  }
  return asked.find("+findings+") != std::string::npos;
}

cpu_of_step cpu_of_mean_step(profile const& source) noexcept {
  cpu_of_step sum;
  std::uint32_t const first = source.first_recorded_step();
  for (step_record const& step : source.steps) {
    if (step.cpu_ns == 0 || (step.step == first && source.steps.size() > 1)) continue;
    auto const wall = static_cast<double>(elapsed(step.begin, step.end));
    sum.steps += 1.0;
    sum.wall_ns += wall;
    sum.cpu_ns += static_cast<double>(step.cpu_ns);
    sum.voluntary += step.voluntary_switches;
    sum.involuntary += step.involuntary_switches;
    bool const lacks = wall - static_cast<double>(step.cpu_ns) >= least_off_cpu * wall;
    if (lacks && step.involuntary_switches > 0) sum.taken += 1.0;
  }
  if (sum.steps > 0.0)
    for (double* const value : {&sum.wall_ns, &sum.cpu_ns, &sum.voluntary, &sum.involuntary})
      *value /= sum.steps;
  return sum;
}

}  // namespace

bool launches_graphs(range_row const& row, steps_summary const& steps,
                     counter_scope scope) noexcept {
  bool const total = scope == counter_scope::total;
  device_work const& work = total ? row.total : row.self;
  double const kernels = steps.per_step(static_cast<double>(work.kernels),
                                        total ? row.step_work_share : row.step_self_share);
  double const launches =
      steps.per_step(total ? row.launches_run : row.self_launches_run,
                     total ? row.step_launch_share : row.step_self_launch_share);
  constexpr double many = 4.0;  // kernels by launch; chosen
  return launches > 0.0 && kernels > many * launches;
}

bool is_preempted(cpu_of_step const& cpu) noexcept {
  constexpr double least_taken = 1.0;  // a step; chosen
  constexpr double fewest = 3.0;       // steps; chosen
  if (cpu.steps < fewest || cpu.involuntary < least_taken) return false;
  if (2.0 * cpu.taken < cpu.steps) return false;
  // How long one switch lasts is not known: a single sleep can be longer than many preemptions.
  constexpr double most_given = 0.1;  // of the switches; chosen
  return cpu.off_ns() >= least_off_cpu * cpu.wall_ns &&
         cpu.voluntary <= most_given * cpu.involuntary;
}

std::string percent_text(double fraction) {
  if (std::isnan(fraction)) return "an unknown part";
  double const share = share_of(fraction, 1.0);
  return std::isnan(share) ? "more than 100 %" : fixed_string(100.0 * share, 0) + " %";
}

std::string amount_text(double value) {
  constexpr double most = 1e15;  // below 2^53, up to which a double has all whole numbers
  if (!(value < most)) return "more than 10^15";
  // A mean of whole numbers is whole, as near as sums of parts come to it: half of the last digit.
  constexpr double off_whole = 0.05;
  double const whole = std::floor(value + 0.5);
  bool const is_whole = value > whole - off_whole && value < whole + off_whole;
  if (value < 9.95 && !is_whole) return fixed_string(value, 1);
  return value > 0.0 && value < off_whole ? fixed_string(value, 2)
                                          : in_groups(static_cast<std::uint64_t>(whole));
}

std::string amount_text(double value, char const* one, char const* many) {
  std::string const number = amount_text(value);
  return number + " " + (number == "1" ? one : many);
}

double whole_if_near(double value) noexcept {
  constexpr double rounding = 1e-9;  // of the value: sums of doubles are off by less
  double const whole = std::floor(value + 0.5);
  bool const is_near = value - whole < rounding * whole && whole - value < rounding * whole;
  return is_near ? whole : value;
}

void candidate::prove(std::string_view column, double value, std::string_view unit) {
  if (is_finite(value)) evidence.push_back({path, column, whole_if_near(value), unit});
}

void candidate::prove_some(std::string_view column, double value, std::string_view unit) {
  if (value > 0.0) prove(column, value, unit);
}

rule_context::rule_context(findings_input const& input)
    : in(input),
      rows(input.rows),
      step_ns(input.steps.period_ns()),
      losses(losses_of(input.source.losses)),
      cpu(cpu_of_mean_step(input.source)),
      kernel_counters(
          make_kernel_counter_table(input.source, input.tree, input.kernels, input.steps)),
      gains(input.roofline),
      migrating(input.rows.size(), false),
      collective_ns_(input.rows.size(), 0.0) {
  for (profile_device const* const device : worked_devices(input.source)) worked.push_back(device);
  for (std::size_t row = 0; row < rows.size(); ++row) ends_.push_back(row + 1);
  for (std::size_t row = rows.size(); row-- > 1;)
    ends_[rows[row].parent] = std::max(ends_[rows[row].parent], ends_[row]);
  for (std::size_t row = rows.size(); row-- > 0;) row_places_[rows[row].path_id] = row;
  for (kernel_row const& kernel : input.kernels)
    if (is_collective(kernel)) collective_ns_[row_of(kernel)] += kernel.duration.sum();
  find_multiprocessors();
  find_migrating();
}

// Unknown where kernels ran on devices of several kinds, or in contexts with parts of a device that
// differ.
void rule_context::find_multiprocessors() {
  for (profile_device const* const device : worked)
    if (device->name != worked[0]->name) return;
  if (worked.empty()) return;
  sm = limits_of(*worked[0]);
  multiprocessors = worked[0]->multiprocessors;
  blocks_of_memory = blocks_that_fill_memory(*worked[0]);
  if (in.source.contexts.empty()) return;
  multiprocessors = 0.0;
  usable_multiprocessors const all(in.source);
  for (kernel_record const& kernel : in.source.kernels) {
    double const usable = all.of(kernel.device, kernel.context);
    if (multiprocessors > 0.0 && usable != multiprocessors) {
      multiprocessors = 0.0;
      return;
    }
    multiprocessors = usable;
  }
}

void rule_context::find_migrating() {
  if (!in.source.has_migrations || rows.empty()) return;
  std::vector<double> const idle = idle_of_pages_by_row(*this, own_migrations_by_row(*this));
  for (std::size_t row = 0; row < rows.size(); ++row) migrating[row] = is_worth(idle[row]);
}

candidate rule_context::candidate_of(std::size_t row, double cost_ns, std::string title) const {
  candidate made;
  made.row = row;
  made.path = rows[row].path;
  made.cost_ns = std::min(cost_ns, step_ns);
  made.title = std::move(title);
  return made;
}

candidate rule_context::candidate_of_step(double cost_ns, std::string title) const {
  candidate made = candidate_of(0, cost_ns, std::move(title));
  made.of_step = true;
  return made;
}

candidate rule_context::candidate_of_kernels(std::size_t row, double gain_ns,
                                             std::string title) const {
  candidate made = candidate_of(row, gain_ns, std::move(title));
  made.claims.push_back({row, gain_ns, false});
  return made;
}

void rule_context::prove_own(candidate& made, std::string_view key, std::string_view unit) const {
  made.prove(key, own(made.row, key), unit);
}

void rule_context::prove_use(candidate& made, gpu_unit unit) const {
  made.prove(gpu_unit_table[static_cast<std::size_t>(unit)].metric, load(made.row).units[unit],
             "ns");
}

undecided_rule rule_context::what_decides(deciding needs, std::size_t row) const {
  bool const asked = in.counters != nullptr && in.counters->find("issue_ns") != counter_table::none;
  if (asked && !in.source.counters().left_out.empty()) return {{}, deciding::no_graphs, {}};
  if (row != 0 && load(row).units.is_known()) {
    // A graph is counted as a whole.
    if (launches_graphs(rows[row], in.steps)) return {{}, deciding::no_graphs, {}};
    return {{}, deciding::kernels, rows[row].name};
  }
  return {{}, needs, {}};
}

undecided_rule rule_context::what_decides_without(std::string_view metric, deciding needs) const {
  undecided_rule const usual = what_decides(needs);
  bool const has_preset = asks_for_findings(in.source.environment.options);
  if (usual.decider == deciding::no_graphs || !has_preset || metric.empty()) return usual;
  counter_set const& counted = in.source.counters();
  if (counted.metrics.find(metric) == nullptr) {
    for (absent_metric const& absent : counted.metrics.absent)
      if (absent.key == metric) return {{}, deciding::other_gpu, {}};
    // What has no metric at all was refused: the problems say why.
    return counted.metrics.metrics.empty() ? usual : undecided_rule{{}, deciding::again, {}};
  }
  return counted.passes_done < counted.passes ? undecided_rule{{}, deciding::more_steps, {}}
                                              : usual;
}

std::string rule_context::gpus() const {
  std::size_t const count = in.roofline.devices;
  return count == 1 ? "the GPU" : "the " + std::to_string(count) + " GPUs";
}

double rule_context::lost_part() const noexcept {
  device_work const& all = rows[0].total;
  double const lost = losses.device_work + losses.device_times;
  double const timed = static_cast<double>(all.kernels + all.copies) - losses.device_times;
  if (!(lost > 0.0)) return 0.0;
  return timed > 0.0 ? lost / timed : 1e9;
}

double rule_context::sure_idle_part() const noexcept {
  if (lost_part() <= least_lost) return 1.0;
  double const idle_ns = in.steps.active_idle_ns();
  double const hidden_ns = lost_part() * in.steps.active_busy_ns;
  if (!(hidden_ns > 0.0)) return lost_part() > 0.0 ? 0.0 : 1.0;
  return idle_ns > 0.0 ? std::max(0.0, 1.0 - hidden_ns / idle_ns) : 0.0;
}

double rule_context::idle_of_host() const noexcept {
  if (!in.steps.has_timeline) return in.steps.own_idle_ns(in.steps.active_idle_ns());
  double sum = 0.0;
  for (std::size_t i = 0; i < std::size(idle_cause_table); ++i) {
    auto const cause = static_cast<idle_cause>(i);
    if (cause != idle_cause::device) sum += in.steps.idle_of(cause);
  }
  return sum;
}

double rule_context::cost_of_host(double ns) const noexcept {
  return has_device_work() ? std::min(ns, idle_of_host()) : ns;
}

double rule_context::per_step(std::size_t row, double total) const noexcept {
  return in.steps.per_step(total, rows[row].step_work_share);
}

double rule_context::own_ns_per_step(std::size_t row, double ns) const noexcept {
  return in.steps.per_step(ns, rows[row].step_self_share);
}

double rule_context::own_launch_ns_per_step(std::size_t row) const noexcept {
  return in.steps.per_step(static_cast<double>(rows[row].self.launch_ns),
                           rows[row].step_self_launch_time_share);
}

double rule_context::calls_per_step(std::size_t row, double total) const noexcept {
  return in.steps.per_step(total, rows[row].step_call_share);
}

double rule_context::own(std::size_t row, std::string_view key) const noexcept {
  return counted_value(in.counters, row, key, counter_scope::self);
}

double rule_context::own_or_0(std::size_t row, std::string_view key) const noexcept {
  double const value = own(row, key);
  return is_finite(value) ? value : 0.0;
}

bool rule_context::is_timed_work(std::size_t row, counter_scope scope) const noexcept {
  return detail::is_timed_work(in.counters, row, scope);
}

double rule_context::tensor_flops(std::size_t row, counter_scope scope) const noexcept {
  double sum = std::numeric_limits<double>::quiet_NaN();
  for (tensor_format const& format : tensor_formats) {
    double const flops = work_of(
        format, [&](std::string_view key) { return counted_value(in.counters, row, key, scope); });
    if (is_finite(flops)) sum = is_finite(sum) ? sum + flops : flops;
  }
  return sum;
}

double rule_context::tensor_core_use(std::size_t row) const noexcept {
  // Cycles of the pipe for a packed instruction of a warp: 1 in a product, 2 of constants (H200).
  constexpr double turns = 2.0;
  double const halves_ns = at_roof_ns(own_or_0(row, "flop_fp16"), "FP16");
  double const use = load(row).use(gpu_unit::tensor);
  if (!is_finite(halves_ns)) return use;
  return std::max(0.0, use - turns * halves_ns / load(row).time_ns);
}

double rule_context::at_roof_ns(double amount, std::string_view roof) const noexcept {
  return amount / in.roofline.rate_of(roof) * 1e9;
}

double rule_context::steps_that_load_code() const {
  constexpr double least = 2.0;        // steps; chosen: the first one loads what all of them use
  constexpr double least_part = 0.75;  // of the steps; chosen
  std::vector<std::int64_t> times;
  for (memory_record const& made : in.source.memory)
    if (made.kind == memory_kind::device_static && made.allocates != 0) times.push_back(made.time);
  std::sort(times.begin(), times.end());
  std::size_t const first = in.steps.without_first && !in.source.steps.empty() ? 1 : 0;
  auto const loads = static_cast<double>(std::count_if(
      in.source.steps.begin() + first, in.source.steps.end(), [&](step_record const& step) {
        auto const next = std::lower_bound(times.begin(), times.end(), step.begin);
        return next != times.end() && *next < step.end;
      }));
  return loads >= least && loads >= least_part * in.steps.typical_count() ? loads : 0.0;
}

std::size_t rule_context::row_of(kernel_row const& kernel) const noexcept {
  auto const found = row_places_.find(kernel.path_id);
  return found == row_places_.end() ? 0 : found->second;
}

bool rule_context::is_of_collectives(std::size_t row) const noexcept {
  constexpr double mostly = 0.5;  // of the time
  return collective_ns_[row] > mostly * static_cast<double>(rows[row].self.kernel_ns);
}

void own_migrations::add(own_migrations const& more, double factor) noexcept {
  to_device_bytes += factor * more.to_device_bytes;
  to_host_bytes += factor * more.to_host_bytes;
  faults += factor * more.faults;
  ns += factor * more.ns;
}

std::vector<own_migrations> own_migrations_by_row(rule_context const& run) {
  std::vector<own_migrations> own(run.rows.size());
  for (std::size_t row = 0; row < run.rows.size(); ++row) {
    range_row const& from = run.rows[row];
    own_migrations const all{static_cast<double>(from.migrated_to_device_bytes),
                             static_cast<double>(from.migrated_to_host_bytes),
                             static_cast<double>(from.gpu_page_faults),
                             static_cast<double>(from.migration_ns)};
    own[row].add(all, 1.0);
    if (row > 0) own[from.parent].add(all, -1.0);
  }
  return own;
}

std::vector<double> idle_of_pages_by_row(rule_context const& run,
                                         std::vector<own_migrations> const& own) {
  // Beyond it the host does more than wait for pages. Source: an H200, where the host took 10.3
  // times as long to read 32 MiB as these took to migrate.
  constexpr double most_of_migration = 20.0;
  std::vector<double> idle(run.rows.size(), 0.0);
  for (idle_time const& time : run.in.steps.idle)
    if (time.cause == idle_cause::host_work) idle[time.row] += run.in.steps.own_idle_ns(time.ns);
  for (std::size_t row = 0; row < idle.size(); ++row) {
    double const migrated_ns = run.per_step(row, own[row].ns);
    bool const is_seen = run.is_judged(row) && run.is_worth(migrated_ns);
    if (!is_seen || idle[row] > most_of_migration * migrated_ns) idle[row] = 0.0;
  }
  return idle;
}

}  // namespace detail
STRATA_END
