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
  double first_step_squares = 0.0;     ///< the same of their squares, in ns squared
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
    device_sums const made = source_.device.complete ? device_sums() : sum_records(source_);
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
    kernel_texts names;
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
      texts.names = kernel_texts(source_.kernel_names[name - 1].mangled);
      texts.collective = collective_named(texts.names.short_name, texts.names.whole,
                                          source_.environment.collectives);
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
      row.demangled = texts.names.whole;
      row.short_name = texts.names.short_name;
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
        use.placed_weight > 0.0 ? use.gpu / use.placed_weight : not_a_number;
    if (kernel_sums const* const first = first_step_.find(place_of(sums.node, sums.name))) {
      row.first_step_count = first->count;
      row.first_step_ns = whole_ns(first->duration.sum());
      row.first_step_squares = first->duration.sum_of_squares();
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

/// Mean duration of a launch, without a first step that is apart. Units: ns.
inline double mean_duration(kernel_row const& row, steps_summary const& steps) noexcept {
  if (!steps.without_first || row.count <= row.first_step_count) return row.duration.mean();
  return (row.duration.sum() - static_cast<double>(row.first_step_ns)) /
         static_cast<double>(row.count - row.first_step_count);
}

/// The counter with a kernel's duration in a counting step, CUPTI's overhead included.
inline constexpr std::string_view counted_time = "gpu__time_duration.sum";

/// Durations that differ by more are of other work: no two clocks do (1.98 and 1.2 GHz; H200).
inline constexpr double other_work = 2.0;

/// Mean durations of a kernel's launches in a range. Units: ns; NaN or 0: not known.
struct kernel_durations {
  double counted_ns;  ///< in counting steps, CUPTI's overhead included
  double timed_ns;
  bool varies;  ///< the timed durations do
};

/// Whether the coefficient of variation is above a quarter, without a first step that is apart.
/// Chosen: more is no noise.
inline bool varies(kernel_row const& row, steps_summary const& steps) noexcept {
  constexpr double noise = 0.25;
  bool const later = steps.without_first && row.count > row.first_step_count;
  double const squares = row.duration.sum_of_squares() - (later ? row.first_step_squares : 0.0);
  auto const count = static_cast<double>(row.count - (later ? row.first_step_count : 0));
  double const mean = mean_duration(row, steps);
  return squares > count * mean * mean * (1.0 + noise * noise);
}

/// What CUPTI adds to the duration of a counted kernel: the median difference of short kernels
/// whose durations do not vary, within what was seen (16 to 35 us; H200, CUDA 13.0). Units: ns.
inline double cupti_overhead_ns(vec<kernel_durations> const& kernels) {
  constexpr double usual_ns = 20'000.0;
  constexpr double longest_ns = 100'000.0;  // of a short kernel; chosen
  vec<double> differences;
  for (kernel_durations const& each : kernels)
    if (!each.varies && each.counted_ns > 0.0 && each.timed_ns > 0.0 && each.timed_ns < longest_ns)
      differences.push_back(each.counted_ns - each.timed_ns);
  differences.sort();
  if (differences.empty()) return usual_ns;
  return larger(usual_ns / 2, smaller(2 * usual_ns, differences[differences.size() / 2]));
}

/// For each kernel, the factor from its counted sums to those of launches of mean timed duration: 1
/// where durations do not vary or the counted one is like the mean one; NaN where the counted
/// launch is too short compared with CUPTI's overhead.
inline vec<double> count_factors(vec<kernel_durations> const& kernels) {
  double const overhead = cupti_overhead_ns(kernels);
  vec<double> factors;
  for (kernel_durations const& each : kernels) {
    double const net_ns = each.counted_ns - overhead;  // NaN: not counted
    bool const is_longer = net_ns > other_work * each.timed_ns + overhead;
    bool const is_shorter = other_work * (net_ns + overhead) < each.timed_ns;
    double factor = 1.0;
    if (each.varies && (is_longer || is_shorter))
      factor =
          net_ns > overhead ? each.timed_ns / net_ns : std::numeric_limits<double>::quiet_NaN();
    factors.push_back(factor);
  }
  return factors;
}

}  // namespace detail

/// Kernels by range and name, the longest total first.
/// Cost: O(k log k) for k kernels by range and name; each name is demangled once.
inline vec<kernel_row> make_kernel_table(profile const& source, call_tree const& tree) {
  return detail::kernel_table_builder(source, tree).build();
}

namespace detail {

/// The rows of kernels by their range and name.
class kernel_places {
 public:
  kernel_places(vec<kernel_row> const& rows, call_tree const& tree) : tree_(tree) {
    for (std::size_t i = 0; i < rows.size(); ++i) places_[key(rows[i].path_id, rows[i].name)] = i;
  }
  /// Null where no such kernel was traced.
  std::size_t const* find(counted_kernel const& kernel) const {
    return places_.find(key(tree_.row_of(kernel.node).path_id, kernel.name));
  }

 private:
  static std::uint64_t key(std::uint64_t path, std::uint32_t name) { return path << 32 | name; }
  call_tree const& tree_;
  number_map<std::size_t> places_;
};

/// The counted kernels, their sums scaled to the mean timed duration of their launches: see
/// count_factors. Cost: O(kernels x counters).
inline vec<counted_kernel> scaled_kernels(profile const& source, kernel_places const& places,
                                          vec<kernel_row> const& rows, steps_summary const& steps) {
  counter_set const& set = source.counters(counter_set::gpu_kernels);
  vec<counted_kernel> kernels = set.kernels;
  std::size_t const time = set.names.index_of(counted_time);
  if (time >= set.names.size()) return kernels;
  vec<double> launches(rows.size(), 0.0);
  vec<kernel_durations> durations;
  for (kernel_row const& row : rows)
    durations.push_back({0.0, mean_duration(row, steps), varies(row, steps)});
  for (counted_kernel const& kernel : kernels) {
    std::size_t const* const row = places.find(kernel);
    if (row == nullptr) continue;
    durations[*row].counted_ns += kernel.values[time];
    launches[*row] += static_cast<double>(kernel.launches_max);
  }
  for (std::size_t i = 0; i < rows.size(); ++i) durations[i].counted_ns /= launches[i];
  vec<double> const factors = count_factors(durations);
  for (counted_kernel& kernel : kernels) {
    std::size_t const* const row = places.find(kernel);
    for (std::size_t i = 0; row != nullptr && i < kernel.values.size(); ++i)
      if (combine_of(set.names[i]) == metric_combine::sum) kernel.values[i] *= factors[*row];
  }
  return kernels;
}

}  // namespace detail

/// Counted values of the rows of a kernel table, in its order. Values are of all launches of a row
/// in one step, see detail::scaled_kernels; rates divide them by the mean duration of as many timed
/// launches.
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

/// The counted values of single kernels by the rows of their table; rates are those of the steps
/// in `steps`.
/// Cost: O(rows x metrics).
inline kernel_counter_table make_kernel_counter_table(profile const& source, call_tree const& tree,
                                                      vec<kernel_row> const& rows,
                                                      steps_summary const& steps = {}) {
  counter_set const& set = source.counters(counter_set::gpu_kernels);
  detail::metric_formulas const formulas(source, set);
  std::size_t const counters = set.names.size();
  kernel_counter_table table;
  for (resolved_metric const& metric : formulas.set().metrics)
    table.metrics.push_back({metric, {}, {}, {}, {}});
  table.positions = detail::positions_of(table.metrics);
  table.launches.resize(rows.size(), 0);
  detail::kernel_places const places(rows, tree);
  vec<bool> steady(rows.size(), true);  // each step launched the same number
  vec<detail::counter_sum> sums(rows.size() * counters);
  for (counted_kernel const& kernel : detail::scaled_kernels(source, places, rows, steps)) {
    std::size_t const* const row = places.find(kernel);
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
  vec<double> given(counters);
  vec<double> results;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    auto const launches = static_cast<double>(table.launches[row]);
    for (std::size_t i = 0; i < counters; ++i)
      given[i] = sums[row * counters + i].value(combine_of(set.names[i]));
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
      table.values.push_back(known ? value : detail::not_a_number);
    }
  }
  return table;
}

STRATA_END

#endif  // STRATA_TABLES_KERNEL_TABLE_HPP
