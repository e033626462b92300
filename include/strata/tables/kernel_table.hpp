#ifndef STRATA_TABLES_KERNEL_TABLE_HPP
#define STRATA_TABLES_KERNEL_TABLE_HPP

#include <strata/tables/collectives.hpp>
#include <strata/tables/counter_sums.hpp>
#include <strata/tables/steps_summary.hpp>

STRATA_BEGIN

/// All launches of one kernel in one range. Units: ns, bytes, blocks and threads; fractions.
struct kernel_row {
  std::uint32_t path_id = 0;
  std::string path;                   ///< of the range, as in range_row
  std::uint32_t name = no_reference;  ///< 1-based in profile::kernel_names
  std::string mangled;
  std::string demangled;   ///< the full name; as it was where it cannot be demangled
  std::string short_name;  ///< without namespaces, arguments and template arguments
  collective_kind collective;
  std::uint64_t count = 0;
  duration_statistics duration;
  std::uint64_t first_step_count = 0;  ///< of the launches, in the first recorded step
  std::int64_t first_step_ns = 0;      ///< the sum of their durations
  std::uint64_t blocks_min = 0;
  std::uint64_t blocks_max = 0;
  double blocks_mean = 0.0;
  /// The lower of the two in the middle, with a relative error below 0.8 %.
  std::uint64_t blocks_median = 0;
  std::uint32_t block_threads_min = 0;
  std::uint32_t block_threads_max = 0;
  double warps_per_block = 0.0;            ///< mean, partial warps counted whole
  std::uint32_t registers_per_thread = 0;  ///< largest
  std::uint32_t static_shared_bytes = 0;   ///< largest
  std::uint32_t dynamic_shared_bytes = 0;  ///< largest
  /// min(4, warps a block) / 4, weighted by duration.
  double sm_utilisation = 0.0;
  /// min(SMs, blocks) / SMs * sm_utilisation, by duration; NaN where the device is unknown.
  double gpu_utilisation = 0.0;
  /// The same without the launches of the first recorded step; NaN where there are no others.
  double later_gpu_utilisation = 0.0;
};

namespace detail {

/// Builds the rows, one for each kernel of each row of the tree.
class kernel_table_builder {
 public:
  kernel_table_builder(profile const& source, call_tree const& tree)
      : source_(source), tree_(tree), texts_(source.kernel_names.size()) {}

  vec<kernel_row> build() {
    device_sums made;
    if (!source_.device.complete) made = sum_records(source_);
    device_sums const& sums = source_.device.complete ? source_.device : made;
    vec<kernel_sums> joined;  // by row of the tree and name
    number_map<std::uint32_t> places;
    for (kernel_sums const& kernel : sums.kernels) {
      std::uint32_t const row = tree_.position_of(kernel.node);
      std::uint32_t const name = known_name(kernel.name);
      std::uint32_t& number = places[place_of(row, name)];
      if (number != 0) {
        add(joined[number - 1], kernel);
        continue;
      }
      joined.push_back(kernel);
      joined.back().node = row;
      joined.back().name = name;
      number = static_cast<std::uint32_t>(joined.size());
    }
    joined.sort([](kernel_sums const& a, kernel_sums const& b) {
      return a.node != b.node ? a.node < b.node : a.name < b.name;
    });
    if (source_.has_steps && source_.has_whole_timeline()) sum_first_step();
    vec<kernel_row> rows;
    for (kernel_sums const& kernel : joined) rows.push_back(make_row(kernel));
    rows.sort([](kernel_row const& a, kernel_row const& b) {
      return a.duration.sum() > b.duration.sum();
    });
    return rows;
  }

 private:
  struct name_texts {
    std::string demangled;
    std::string short_name;
    collective_kind collective;
    bool known = false;
  };

  std::uint32_t known_name(std::uint32_t name) const noexcept {
    return name <= source_.kernel_names.size() ? name : no_reference;
  }
  static std::uint64_t place_of(std::uint32_t row, std::uint32_t name) noexcept {
    return std::uint64_t{row} << 32 | name;
  }

  /// Requires: the timeline is whole.
  void sum_first_step() {
    std::uint32_t const first = source_.first_recorded_step();
    if (first == no_step || source_.kernels.empty()) return;
    device_sums const sums = sum_kernels_of_step(source_, first);
    for (kernel_sums const& kernel : sums.kernels) {
      std::uint32_t const row = tree_.position_of(kernel.node);
      add(first_step_[place_of(row, known_name(kernel.name))], kernel);
    }
  }

  static void add(kernel_sums& sums, kernel_sums const& more) {
    sums.count += more.count;
    sums.duration.add(more.duration);
    sums.blocks.add(more.blocks);
    sums.block_threads_min = smaller(sums.block_threads_min, more.block_threads_min);
    sums.block_threads_max = larger(sums.block_threads_max, more.block_threads_max);
    sums.warps += more.warps;
    sums.registers = larger(sums.registers, more.registers);
    sums.static_shared_bytes = larger(sums.static_shared_bytes, more.static_shared_bytes);
    sums.dynamic_shared_bytes = larger(sums.dynamic_shared_bytes, more.dynamic_shared_bytes);
    add(sums.by_time, more.by_time);
    add(sums.by_count, more.by_count);
  }
  static void add(kernel_sums::use& sum, kernel_sums::use const& more) noexcept {
    sum.weight += more.weight;
    sum.sm += more.sm;
    sum.placed_weight += more.placed_weight;
    sum.gpu += more.gpu;
  }

  name_texts const& texts_of(std::uint32_t name) {
    name_texts& texts = texts_[name - 1];
    if (!texts.known) {
      std::string const& mangled = source_.kernel_names[name - 1].mangled;
      texts.demangled = demangled_text(mangled);
      texts.short_name = texts.demangled.empty() ? short_mangled_name(mangled)
                                                 : short_function_name(texts.demangled);
      if (texts.demangled.empty()) texts.demangled = mangled;
      texts.collective =
          collective_named(texts.short_name, texts.demangled, source_.environment.collectives);
      texts.known = true;
    }
    return texts;
  }

  static std::uint32_t narrowed(std::uint64_t value) noexcept {
    constexpr std::uint64_t most = (std::numeric_limits<std::uint32_t>::max)();
    return static_cast<std::uint32_t>(value < most ? value : most);
  }

  /// Of two values in the middle the lower one is the median.
  static constexpr double lower_half = 0.5 - 1e-9;

  kernel_row make_row(kernel_sums const& sums) {
    range_row const& range = tree_.rows()[sums.node];
    auto const count = static_cast<double>(sums.count);
    kernel_row row;
    row.path_id = range.path_id;
    row.path = range.path;
    row.name = sums.name;
    row.count = sums.count;
    row.duration = sums.duration;
    row.short_name = "[unknown]";
    if (row.name != no_reference) {
      name_texts const& texts = texts_of(row.name);
      row.mangled = source_.kernel_names[row.name - 1].mangled;
      row.demangled = texts.demangled;
      row.short_name = texts.short_name;
      row.collective = texts.collective;
    }
    row.collective = collective_in(row.path, row.collective);
    row.blocks_min = static_cast<std::uint64_t>(sums.blocks.minimum());
    row.blocks_max = static_cast<std::uint64_t>(sums.blocks.maximum());
    row.blocks_mean = sums.blocks.mean();
    row.blocks_median = static_cast<std::uint64_t>(sums.blocks.quantile(lower_half));
    row.block_threads_min = narrowed(sums.block_threads_min);
    row.block_threads_max = narrowed(sums.block_threads_max);
    row.warps_per_block = static_cast<double>(sums.warps) / count;
    row.registers_per_thread = sums.registers;
    row.static_shared_bytes = sums.static_shared_bytes;
    row.dynamic_shared_bytes = sums.dynamic_shared_bytes;
    kernel_sums::use const& use = sums.duration.sum() > 0.0 ? sums.by_time : sums.by_count;
    row.sm_utilisation = use.sm / use.weight;
    row.gpu_utilisation = row.later_gpu_utilisation =
        use.placed_weight > 0.0 ? use.gpu / use.placed_weight
                                : std::numeric_limits<double>::quiet_NaN();
    if (kernel_sums const* const first = first_step_.find(place_of(sums.node, sums.name))) {
      row.first_step_count = first->count;
      row.first_step_ns = whole_ns(first->duration.sum());
      row.later_gpu_utilisation = later_utilisation(sums.by_time, first->by_time);
    }
    return row;
  }

  /// What the launches but those of the first step use of the device.
  static double later_utilisation(kernel_sums::use const& all, kernel_sums::use const& first) {
    double const weight = all.placed_weight - first.placed_weight;
    if (!(weight > 0.0)) return std::numeric_limits<double>::quiet_NaN();
    return smaller(1.0, larger(0.0, (all.gpu - first.gpu) / weight));
  }

  profile const& source_;
  call_tree const& tree_;
  vec<name_texts> texts_;
  number_map<kernel_sums> first_step_;  ///< by row of the tree and name
};

/// The duration that CUPTI counts with a kernel.
inline constexpr std::string_view counted_time = "gpu__time_duration.sum";

/// What it is longer by than a traced one (H200, CUDA 13.0). Units: ns.
inline constexpr double added_by_cupti = 20'000.0;

/// Mean durations of a kernel's launches in a range. Units: ns; NaN or 0 where not known.
struct launch_lengths {
  double counted;  ///< in counting steps, with what CUPTI adds
  double timed;
  bool differ;  ///< the timed ones, from each other
};

/// Few launches of each kernel are counted, and these may be longer than most. Returns: for each
/// kernel, what makes sums of as many timed launches of their counts, by the durations; NaN where
/// the counted ones are too short to tell.
inline vec<double> factors_of_counts(vec<launch_lengths> const& kernels) {
  double added = std::numeric_limits<double>::infinity();
  for (launch_lengths const& each : kernels)
    if (!each.differ && each.counted > 0.0 && each.timed > 0.0)
      added = smaller(added, larger(each.counted - each.timed, 0.0));
  if (!is_finite(added)) added = added_by_cupti;
  vec<double> factors;
  for (launch_lengths const& each : kernels) {
    double const length = each.counted - added;
    double const apart = length > each.timed ? length - each.timed : each.timed - length;
    bool const stand_for_all = !each.differ || !(apart > added + each.timed / 4);
    factors.push_back(stand_for_all    ? 1.0
                      : length > added ? each.timed / length
                                       : std::numeric_limits<double>::quiet_NaN());
  }
  return factors;
}

/// Whether durations differ by more than noise.
inline bool differ(duration_statistics const& durations) noexcept {
  double const mean = durations.mean();
  return durations.sum_of_squares() >
         static_cast<double>(durations.count()) * mean * mean * (1.0 + 1.0 / 16);
}

/// Mean duration of a launch, without a first step that is apart. Units: ns.
inline double mean_duration(kernel_row const& row, steps_summary const& steps) noexcept {
  if (!steps.without_first || row.count <= row.first_step_count) return row.duration.mean();
  return (row.duration.sum() - static_cast<double>(row.first_step_ns)) /
         static_cast<double>(row.count - row.first_step_count);
}

}  // namespace detail

/// Kernels by range and name, the longest total first.
/// Cost: O(k log k) for k kernels by range and name; each name is demangled once.
inline vec<kernel_row> make_kernel_table(profile const& source, call_tree const& tree) {
  return detail::kernel_table_builder(source, tree).build();
}

/// Counted values of the rows of a kernel table, in its order. Values are of all launches of a row
/// in one step; rates divide them by the mean duration of as many timed launches. Where launches
/// differ in length, detail::factors_of_counts has made them of the counted ones.
struct kernel_counter_table {
  vec<counter_metric> metrics;
  vec<std::uint64_t> launches;  ///< counted, by row; 0 where a row was not
  vec<double> values;           ///< by row and metric; NaN: no value
  std::uint64_t unknown = 0;    ///< counted kernels that were never traced

  detail::metric_positions positions;  ///< of the metrics

  double at(std::size_t row, std::size_t metric) const noexcept {
    return values[row * metrics.size() + metric];
  }
  /// The same by the metric's key; NaN where it was not counted.
  double at(std::size_t row, std::string_view key) const noexcept {
    std::size_t const metric = detail::position_of(metrics, positions, key);
    if (metric == detail::no_metric) return std::numeric_limits<double>::quiet_NaN();
    return at(row, metric);
  }
};

/// The counted values of single kernels by the rows of their table; rates are of the steps that
/// `steps` is made of.
/// Cost: O(rows x metrics).
inline kernel_counter_table make_kernel_counter_table(profile const& source, call_tree const& tree,
                                                      vec<kernel_row> const& rows,
                                                      steps_summary const& steps = {}) {
  constexpr double no_value = std::numeric_limits<double>::quiet_NaN();
  counter_set const& set = source.counters(counter_set::gpu_kernels);
  detail::metric_formulas const formulas(source, set);
  std::size_t const counters = set.names.size();
  kernel_counter_table table;
  for (resolved_metric const& metric : formulas.set().metrics)
    table.metrics.push_back({metric, {}, {}, {}, {}});
  table.positions = detail::positions_of(table.metrics);
  table.launches.resize(rows.size(), 0);
  auto const key = [](std::uint32_t path_id, std::uint32_t name) {
    return std::uint64_t{path_id} << 32 | name;
  };
  detail::number_map<std::size_t> places;
  for (std::size_t i = 0; i < rows.size(); ++i) places[key(rows[i].path_id, rows[i].name)] = i;
  vec<bool> steady(rows.size(), true);  // each step launched the same number
  vec<detail::counter_sum> sums(rows.size() * counters);
  for (counted_kernel const& kernel : set.kernels) {
    std::size_t const* const row = places.find(key(tree.row_of(kernel.node).path_id, kernel.name));
    if (row == nullptr) {
      ++table.unknown;
      continue;
    }
    table.launches[*row] += kernel.launches_max;
    steady[*row] = steady[*row] && kernel.launches_min == kernel.launches_max;
    auto const launches = static_cast<std::uint32_t>(kernel.launches_max);
    for (std::size_t i = 0; i < counters; ++i)
      sums[*row * counters + i].add({kernel.values[i], launches, false}, combine_of(set.names[i]),
                                    detail::ends_with(set.names[i], ".peak_sustained"));
  }
  std::size_t const time = set.names.index_of(detail::counted_time);
  vec<detail::launch_lengths> lengths;
  for (std::size_t row = 0; row < rows.size() && time < counters; ++row)
    lengths.push_back({sums[row * counters + time].value(metric_combine::sum) /
                           static_cast<double>(table.launches[row]),
                       detail::mean_duration(rows[row], steps),
                       detail::differ(rows[row].duration)});
  vec<double> factors = detail::factors_of_counts(lengths);
  factors.resize(rows.size(), 1.0);
  vec<double> given(counters);
  vec<double> results;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    auto const launches = static_cast<double>(table.launches[row]);
    for (std::size_t i = 0; i < counters; ++i) {
      metric_combine const combine = combine_of(set.names[i]);
      given[i] = sums[row * counters + i].value(combine) *
                 (combine == metric_combine::sum ? factors[row] : 1.0);
    }
    formulas.evaluate(given.data(), detail::mean_duration(rows[row], steps) * launches * 1e-9,
                      results);
    bool const counted = launches > 0.0 && steady[row];
    for (std::size_t i = 0; i < results.size(); ++i) {
      // An optional input that the chip has, but that was not counted, is no 0.
      bool const whole = counted && formulas.inputs_of(i).uncounted.empty();
      bool const share = table.metrics[i].unit == "%";
      bool const known =
          whole && detail::is_finite(results[i]) && !(share && results[i] > detail::most_share);
      double const value = share ? detail::smaller(results[i], 100.0) : results[i];
      table.values.push_back(known ? value : no_value);
    }
  }
  return table;
}

STRATA_END

#endif  // STRATA_TABLES_KERNEL_TABLE_HPP
