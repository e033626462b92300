#include "fleet_metrics.hpp"

#include <strata/base/containers.hpp>
#include <strata/base/json_writer.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/text.hpp>
#include <strata/base/text_writer.hpp>
#include <strata/base/utf8.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile/range_paths.hpp>
#include <strata/tables/step_traffic.hpp>
#include <strata/tables/steps_summary.hpp>
#include "finding_view.hpp"
#include "report_input.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

STRATA_BEGIN

namespace detail {

/// A value, with the labels that it has in addition to those of the run; "" is no label.
struct fleet_sample {
  fleet_metric metric;
  double value;
  std::string range = {};
  std::string unit = {};
  std::string_view rule = {};
};

/// The values of a profile in the order of their gauges. Labels are bounded, since each set of them
/// is a series for good.
class fleet_samples {
 public:
  explicit fleet_samples(report_input const& input)
      : input_(input), mean_(input.folded, input.steps) {
    choose_ranges();
    add_step();
    add_ranges();
    add_findings();
    step_traffic const traffic = make_step_traffic(input.source);
    add({fleet_metric::step_hbm_p50, traffic.p50});
    add({fleet_metric::step_hbm_p99, traffic.p99});
  }

  vec<fleet_sample> const& list() const noexcept { return samples_; }

  /// A text that is short, and of characters that a terminal shows.
  static std::string label(std::string_view text) {
    return shortened(console_text(text), longest_label);
  }

 private:
  static constexpr std::size_t most_ranges = 50;     // series of each gauge
  static constexpr std::size_t most_findings = 10;   // those that gain most
  static constexpr std::size_t longest_label = 200;  // columns of a terminal
  static constexpr double ns = 1e-9;                 // seconds

  struct chosen_range {
    std::size_t row;  ///< of the folded tree
    std::string label;
  };

  static std::string label_of(std::string const& path) {
    return path.empty() ? std::string(outside_ranges) : label(path);
  }
  void add(fleet_sample sample) {
    if (!is_finite(sample.value)) return;
    bool const is_whole = rounded_down(sample.value) == sample.value;
    if (!is_whole) sample.value = six_digits(sample.value);
    samples_.push_back(std::move(sample));
  }

  double length_of(std::size_t row) const noexcept {
    double const busy = mean_.busy_ns(row);
    return busy > 0.0 ? busy : 1e-6 * mean_.self_ns(row);  // work of the GPU comes first
  }
  /// The longest ranges, in the order of the tree. Two with one label would be one series.
  void choose_ranges() {
    vec<std::size_t> rows;
    for (std::size_t row = 1; row < input_.folded.size(); ++row)
      if (length_of(row) > 0.0) rows.push_back(row);
    rows.sort([this](std::size_t one, std::size_t other) {
      double const first = length_of(one);
      double const second = length_of(other);
      return first != second ? first > second : one < other;
    });
    for (std::size_t const row : rows) {
      if (ranges_.size() == most_ranges) break;
      std::string name = label_of(input_.folded[row].path);
      if (!is_chosen(name)) ranges_.push_back({row, std::move(name)});
    }
    left_out_ = rows.size() - ranges_.size();
    ranges_.sort(
        [](chosen_range const& one, chosen_range const& other) { return one.row < other.row; });
  }
  bool is_chosen(std::string const& name) const noexcept {
    for (chosen_range const& range : ranges_)
      if (range.label == name) return true;
    return false;
  }

  void add_step() {
    steps_summary const& steps = input_.steps;
    add({fleet_metric::step, steps.mean_ns * ns});
    if (steps.is_slowed()) add({fleet_metric::step_unrecorded, steps.unrecorded_ns * ns});
    if (input_.source.traced && !lost_all_times(input_.source, steps))
      add({fleet_metric::step_busy, steps.period_busy_ns() * ns});
    add_collectives();
    add({fleet_metric::steps, steps.from_steps ? static_cast<double>(steps.count) : 0.0});
    add({fleet_metric::tokens, as_shown(steps.tokens_per_s)});
    if (input_.memory.peak_bytes > 0)  // else nothing was allocated while it was recorded
      add({fleet_metric::memory_peak, static_cast<double>(input_.memory.peak_bytes)});
    add({fleet_metric::problems, static_cast<double>(input_.source.problems.size())});
  }

  void add_collectives() {
    if (input_.analysed.collectives.empty()) return;
    double busy_ns = 0.0;
    double alone_ns = 0.0;
    for (collective_time const& time : input_.analysed.collectives) {
      busy_ns += time.busy_ns;
      alone_ns += time.alone_ns;
    }
    add({fleet_metric::step_collectives, busy_ns * ns});
    add({fleet_metric::step_exposed_collectives, alone_ns * ns});
  }

  /// The gauges of all chosen ranges, one gauge after the other.
  void add_ranges() {
    bool const traced = input_.source.traced;
    of_ranges(fleet_metric::range_host,
              [this](std::size_t row) { return mean_.host_ns(row) * ns; });
    if (traced) {
      of_ranges(fleet_metric::range_busy,
                [this](std::size_t row) { return mean_.busy_ns(row) * ns; });
      of_ranges(fleet_metric::range_kernels,
                [this](std::size_t row) { return mean_.work(row).kernels; });
      of_ranges(fleet_metric::range_copied,
                [this](std::size_t row) { return mean_.work(row).copied_bytes; });
      of_ranges(fleet_metric::range_collective, [this](std::size_t row) {
        return input_.folded[row].collective_bytes * mean_.factor(row);
      });
    }
    of_ranges(fleet_metric::range_hbm, [this](std::size_t row) {
      return counted_value(memory_counters(), row, "hbm_bytes");
    });
    for (chosen_range const& range : ranges_) add_use(range);
    add({fleet_metric::ranges_left_out, static_cast<double>(left_out_)});
  }
  /// Counted in passes, or else sampled.
  counter_table const* memory_counters() const noexcept {
    if (counter_table const* const counted = gpu_counters(input_)) return counted;
    for (counter_tables const& tables : input_.counters)
      if (tables.folded.name == counter_set::live) return &tables.folded;
    return nullptr;
  }
  void of_ranges(fleet_metric metric, callback<double(std::size_t)> value) {
    for (chosen_range const& range : ranges_) add({metric, value(range.row), range.label});
  }
  void add_use(chosen_range const& range) {
    if (range.row >= input_.roofline.limits.size()) return;
    range_limit const& limit = input_.roofline.limits[range.row];
    if (!limit.counted || limit.is_above_roof() || limit.roof.empty()) return;
    add({fleet_metric::range_use, limit.fraction(), range.label, std::string(limit.roof)});
  }

  void add_findings() {
    std::size_t const before = samples_.size();
    for (finding_view const& view : view_findings(input_.findings, input_.analysed)) {
      if (samples_.size() - before == most_findings) return;
      std::string name = label_of(view.found->path);
      if (!view.shortens_step || is_listed(view.found->rule, name, before)) continue;
      add({fleet_metric::finding_gain, view.gain_ns * ns, std::move(name), {}, view.found->rule});
    }
  }
  bool is_listed(std::string_view rule, std::string const& name, std::size_t from) const noexcept {
    for (std::size_t i = from; i < samples_.size(); ++i)
      if (samples_[i].rule == rule && samples_[i].range == name) return true;
    return false;
  }

  report_input const& input_;
  step_amounts mean_;
  vec<chosen_range> ranges_;
  std::size_t left_out_ = 0;
  vec<fleet_sample> samples_;
};

/// Writes a label with its value in double quotes, as OpenMetrics escapes it; nothing of "".
/// `has_one`: whether the sample has a label yet.
inline void write_label(text_writer& out, std::string_view key, std::string_view value,
                        bool& has_one) {
  if (value.empty()) return;
  out.put(has_one ? ',' : '{');
  has_one = true;
  out.write(key);
  out.write("=\"");
  for (char const letter : value) {
    if (letter == '"' || letter == '\\') out.put('\\');
    out.put(letter);
  }
  out.put('"');
}

inline fleet_gauge const& gauge_of(fleet_metric metric) noexcept {
  return fleet_gauges[static_cast<std::size_t>(metric)];
}

/// Writes the lines that stand once above the values of a gauge.
inline void write_description(text_writer& out, fleet_gauge const& gauge) {
  out.write(sentence("# TYPE ") << gauge.prometheus_name << " gauge\n");
  if (!gauge.prometheus_unit.empty())
    out.write(sentence("# UNIT ") << gauge.prometheus_name << ' ' << gauge.prometheus_unit << '\n');
  out.write(sentence("# HELP ") << gauge.prometheus_name << ' ' << gauge.help << ".\n");
}

}  // namespace detail

void write_openmetrics(detail::text_writer& out, report_input const& input) {
  using namespace detail;
  profile_environment const& run = input.source.environment;
  std::string const program = fleet_samples::label(program_of(run.command));
  std::string const rank = run.rank < 0 ? std::string() : std::to_string(run.rank);
  fleet_samples const samples(input);
  fleet_gauge const* last = nullptr;
  for (fleet_sample const& sample : samples.list()) {
    fleet_gauge const& gauge = gauge_of(sample.metric);
    if (&gauge != last) write_description(out, gauge);
    last = &gauge;
    out.write(gauge.prometheus_name);
    bool has_label = false;
    write_label(out, "program", program, has_label);
    write_label(out, "rank", rank, has_label);
    write_label(out, "range", sample.range, has_label);
    write_label(out, "unit", sample.unit, has_label);
    write_label(out, "rule", sample.rule, has_label);
    if (has_label) out.put('}');
    out.put(' ');
    out.number(sample.value);
    out.put('\n');
  }
  out.write("# EOF\n");
}

STRATA_END
