#ifndef STRATA_TABLES_COUNTER_SUMS_HPP
#define STRATA_TABLES_COUNTER_SUMS_HPP

#include <strata/profile/metric_resolver.hpp>
#include <strata/tables/call_tree.hpp>

STRATA_BEGIN

/// Of a range alone, or with all ranges below it.
enum class counter_scope : std::uint8_t { self, total };

/// What a value of a counter_table is made from.
enum class counter_method : std::uint8_t {
  counted,            ///< hardware counters
  derived,            ///< from other counted metrics
  timed,              ///< the trace of the timed steps
  counted_and_timed,  ///< counts of the counted step by the time of a timed step
  sampled,            ///< samples of the device, split by the times of work
  modelled            ///< readings of the device, split by a model of what work uses
};

constexpr std::string_view to_string(counter_scope scope) noexcept {
  return scope == counter_scope::self ? "self" : "total";
}

constexpr std::string_view to_string(counter_method method) noexcept {
  constexpr std::string_view names[] = {"counted",       "derived", "timed",
                                        "counted+timed", "sampled", "modelled"};
  return names[static_cast<std::size_t>(method)];
}

/// A column of a counter_table.
struct counter_metric : resolved_metric {
  counter_method method = counter_method::counted;
  std::string meaning;        ///< empty for CUPTI's own names
  vec<std::uint32_t> passes;  ///< the counting steps that it took, from 0, ascending
  std::string why_absent;     ///< set where the chip does not have it
};

/// A value for one range.
struct counter_cell {
  double value = std::numeric_limits<double>::quiet_NaN();
  /// Of a sampled value: half of an interval of 95 %.
  double plus_minus = std::numeric_limits<double>::quiet_NaN();
  /// In counter_table::notes: why there is no value, or what to know of it.
  std::uint32_t note = 0;
};

namespace detail {

/// The part of a chip's products with sums in FP32 that a board does: GeForce's tensor cores do
/// FP16, BF16, TF32 and FP8 with sums in FP32 at half the speed of professional boards with the
/// same chip; INT8, FP4 and sums in FP16 are whole on both.
/// Source: tables of Turing's, GA102's, Ada's and RTX Blackwell's white papers.
inline double part_of_fp32_sums(profile_device const& device) noexcept {
  return device.name.find("GeForce") == std::string::npos ? 1.0 : 0.5;
}

/// Peaks of tensor cores as the boards of a counter_set have them: CUPTI gives those of the chip.
class board_peaks {
 public:
  board_peaks(profile const& source, counter_set const& set) noexcept {
    for (profile_device const& device : source.environment.devices)
      if (set.devices.contains(device.ordinal) && part_of_fp32_sums(device) < 1.0)
        multiprocessors_ = device.multiprocessors;
  }

  /// What products of a key can do in a cycle on the chip, where the board does half of that; 0
  /// where the board does all. A peak that was counted lower is the board's already.
  double of_chip(std::string_view key) const noexcept {
    struct rate {
      std::string_view key;
      double operations;  ///< of a multiprocessor, the same on all GeForce chips
    };
    constexpr rate rates[] = {{"tensor_peak_per_cycle", 1024},
                              {"tensor_fp16_peak_per_cycle", 1024},
                              {"tensor_tf32_peak_per_cycle", 512},
                              {"tensor_fp8_peak_per_cycle", 2048}};
    for (rate const& known : rates)
      if (known.key == key) return known.operations * multiprocessors_;
    return 0.0;
  }

  static double of_board(double counted, double of_chip) noexcept {
    constexpr double half = 0.55;  // and rounding
    return of_chip > 0.0 && counted > half * of_chip ? 0.5 * counted : counted;
  }

 private:
  double multiprocessors_ = 0.0;  ///< of a GeForce; 0: there is none
};

inline constexpr std::size_t no_metric = static_cast<std::size_t>(-1);

/// Where metrics stand in the columns of a table, by their keys. Of a key that is there twice the
/// first one holds.
using metric_positions = flat_map<std::string, std::size_t>;

inline metric_positions positions_of(vec<counter_metric> const& metrics) {
  metric_positions positions;
  for (std::size_t i = metrics.size(); i-- > 0;) positions[metrics[i].key] = i;
  return positions;
}

/// Where a metric stands in the columns of a table, or no_metric. `positions`: of these metrics;
/// where there are none, each is looked at.
inline std::size_t position_of(vec<counter_metric> const& metrics,
                               metric_positions const& positions, std::string_view key) noexcept {
  if (positions.size() != 0) {
    std::size_t const* const found = positions.find(key);
    return found == nullptr ? no_metric : *found;
  }
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    if (metrics[i].key == key) return i;
  }
  return no_metric;
}

/// The metrics of a counter_set and the rates that follow from them, with compiled formulas.
class metric_formulas {
 public:
  /// What a metric is made from, through all formulas.
  struct inputs {
    vec<std::size_t> counters;  ///< positions in counter_set::names
    std::string uncounted;      ///< a counter that was not counted
    bool time = false;          ///< the GPU busy time of a timed step
  };

  metric_formulas(profile const& source, counter_set const& set)
      : board_(source, set), set_(set.metrics) {
    // Of names that are there twice, the first one holds.
    for (std::size_t i = set.names.size(); i-- > 0;) counters_[set.names[i]] = i;
    if (set.method != counting::while_running) metric_resolver::add_rates(set_);
    for (resolved_metric const& metric : set_.metrics) compile(metric);
  }

  metric_set const& set() const noexcept { return set_; }
  inputs const& inputs_of(std::size_t metric) const noexcept { return inputs_[metric]; }

  /// Fills `values` with the values of all metrics. `counters` has a value for each of
  /// counter_set::names. `divisors` becomes what each value without one was to be divided by, as
  /// a position in the names of its formula. Cost: linear in the formulas.
  void evaluate(double const* counters, double timed_seconds, vec<double>& values,
                vec<std::size_t>* divisors = nullptr) const {
    vec<double> given;
    values.clear();
    if (divisors != nullptr) divisors->clear();
    for (compiled const& made : compiled_) {
      given.clear();
      for (operand const& from : made.operands) {
        given.push_back(from.what == kind::counter  ? counters[from.index]
                        : from.what == kind::metric ? values[from.index]
                        : from.what == kind::time   ? timed_seconds
                                                    : std::numeric_limits<double>::quiet_NaN());
      }
      std::size_t divisor = no_metric;
      values.push_back(
          board_peaks::of_board(made.text.value(given.data(), &divisor), made.of_chip));
      if (divisors != nullptr) divisors->push_back(divisor);
    }
  }

  /// Why a metric has no value though all its inputs do. `divisor`: by evaluate().
  std::string why_no_quotient(std::size_t metric, std::size_t divisor) const {
    if (divisor == no_metric) return "a divisor is 0";
    std::string_view const name = compiled_[metric].text.inputs()[divisor].name;
    if (compiled_[metric].operands[divisor].what != kind::nothing) return "a divisor is 0";
    for (absent_metric const& absent : set_.absent)
      if (absent.key == name) return sentence(name) << " is not known: " << absent.reason;
    return sentence(name) << " was not counted: ask for it, too";
  }

 private:
  enum class kind : unsigned char { nothing, counter, metric, time };
  struct operand {
    kind what = kind::nothing;
    std::size_t index = 0;
  };
  struct compiled {
    formula text;
    vec<operand> operands;  ///< one for each of the formula's names
    double of_chip = 0.0;   ///< as board_peaks has it
  };

  /// Requires: what the metric is derived from was compiled.
  void compile(resolved_metric const& metric) {
    compiled made{formula(metric.formula), {}, board_.of_chip(metric.key)};
    inputs from;
    flat_map<std::string_view, bool> wanted_names;
    for (std::string const& counter : metric.counters) wanted_names[counter] = true;
    for (formula::input const& named : made.text.inputs()) {
      std::string_view const name = named.name;
      operand input;
      if (name == timed_input) {
        input.what = kind::time;
        from.time = true;
      } else if (is_cupti_name(name)) {
        bool const wanted = wanted_names.find(name) != nullptr;
        if (std::size_t const* const found = counters_.find(name)) {
          input = {kind::counter, *found};
          if (wanted) add(from.counters, *found);
        } else if (wanted && from.uncounted.empty()) {
          from.uncounted = name;
        }
      } else {
        if (std::size_t const* const found = metrics_.find(name)) {
          input = {kind::metric, *found};
          inputs const& base = inputs_[input.index];
          for (std::size_t const counter : base.counters) add(from.counters, counter);
          if (from.uncounted.empty()) from.uncounted = base.uncounted;
          from.time = from.time || base.time;
        }
      }
      made.operands.push_back(input);
    }
    if (metrics_.find(metric.key) == nullptr) metrics_[metric.key] = compiled_.size();
    compiled_.push_back(std::move(made));
    inputs_.push_back(std::move(from));
  }

  /// Of the metric that is compiled. What has more inputs is computed all the same; what is said of
  /// its value is by the first ones.
  void add(vec<std::size_t>& counters, std::size_t counter) {
    constexpr std::size_t most = 1000;
    if (last_user_.size() <= counter) last_user_.resize(counter + 1, no_metric);
    if (last_user_[counter] == compiled_.size() || counters.size() == most) return;
    last_user_[counter] = compiled_.size();
    counters.push_back(counter);
  }

  flat_map<std::string_view, std::size_t> counters_;  ///< positions in counter_set::names
  flat_map<std::string_view, std::size_t> metrics_;   ///< positions of those that are compiled
  vec<std::size_t> last_user_;                        ///< by counter: the last metric that has it
  board_peaks board_;
  metric_set set_;  ///< with the rates
  vec<compiled> compiled_;
  vec<inputs> inputs_;
};

/// What several ranges, or launches of a kernel, counted, as one value.
class counter_sum {
 public:
  counter_sum() = default;
  /// Of so many ranges or launches, added up already.
  counter_sum(double value, std::uint32_t count, bool is_range) noexcept
      : value_(is_finite(value) ? value : std::numeric_limits<double>::quiet_NaN()),
        values_(count),
        ranges_(is_range) {}

  /// Ranges with a record of the counter.
  std::uint32_t ranges() const noexcept { return ranges_; }

  /// NaN where nothing has a record, or CUPTI gave no value for one.
  double value(metric_combine combine) const noexcept {
    if (values_ == 0) return std::numeric_limits<double>::quiet_NaN();
    return combine == metric_combine::mean ? value_ / static_cast<double>(values_) : value_;
  }

  /// `constant`: of the device, so the value of any range is valid for all.
  void add(counter_sum const& more, metric_combine combine, bool constant) noexcept {
    if (more.values_ == 0) return;
    if (values_ == 0) {
      *this = more;
      return;
    }
    values_ += more.values_;
    ranges_ += more.ranges_;
    if (combine != metric_combine::maximum) {
      value_ += more.value_;
    } else if (is_nan(value_) || is_nan(more.value_)) {
      value_ = constant == is_nan(more.value_) ? value_ : more.value_;
    } else {
      value_ = larger(value_, more.value_);
    }
  }

 private:
  double value_ = 0.0;
  std::uint32_t values_ = 0;  // one a range and device, or a launch
  std::uint32_t ranges_ = 0;
};

/// A table of sums by row of a tree: of the row alone, and with everything below it.
template <class Sum>
class scoped_sums {
 public:
  scoped_sums(std::size_t rows, std::size_t columns) : columns_(columns), self_(rows * columns) {}

  Sum& self(std::size_t row, std::size_t column) noexcept { return self_[row * columns_ + column]; }

  /// Makes the totals, once. `add(to, more, column)` adds a row to the one above it.
  template <class Add>
  void add_up(vec<range_row> const& rows, Add add) {
    total_ = self_;
    for (std::size_t row = rows.size(); row-- > 1;) {
      std::size_t const above = rows[row].parent * columns_;
      for (std::size_t i = 0; i < columns_; ++i)
        add(total_[above + i], total_[row * columns_ + i], i);
    }
  }

  /// Requires: add_up().
  Sum const& sum_of(std::size_t row, std::size_t column, counter_scope scope) const noexcept {
    return (scope == counter_scope::self ? self_ : total_)[row * columns_ + column];
  }

 private:
  std::size_t columns_;
  vec<Sum> self_;
  vec<Sum> total_;
};

/// Counters by row of a tree. Cost: O(values + rows x counters).
class counter_sums {
 public:
  counter_sums(profile const& source, call_tree const& tree, counter_set const& set)
      : counters_(set.names), sums_(tree.rows().size(), set.names.size() + 1) {
    flat_map<std::string_view, bool> known;
    for (std::string const& name : counters_) {
      combines_.push_back(combine_of(name));
      constant_.push_back(ends_with(name, ".peak_sustained"));
      bool& is_known = known[name];
      repeated_.push_back(is_known);
      is_known = true;
    }
    combines_.push_back(metric_combine::sum);
    constant_.push_back(false);
    if (tree.rows().empty()) return;
    add_values(source, tree, set);
    sums_.add_up(tree.rows(), [this](counter_sum& sum, counter_sum const& more, std::size_t i) {
      sum.add(more, combines_[i], constant_[i]);
    });
  }

  std::string const& name(std::size_t counter) const noexcept { return counters_[counter]; }
  metric_combine combine(std::size_t counter) const noexcept { return combines_[counter]; }

  double value(std::size_t row, std::size_t counter, counter_scope scope) const noexcept {
    return sums_.sum_of(row, counter, scope).value(combines_[counter]);
  }
  /// Ranges with a record of this counter.
  std::uint32_t ranges(std::size_t row, std::size_t counter, counter_scope scope) const noexcept {
    return sums_.sum_of(row, counter, scope).ranges();
  }
  /// Ranges with a record of any counter.
  std::uint32_t counted(std::size_t row, counter_scope scope) const noexcept {
    return ranges(row, counters_.size(), scope);
  }

 private:
  void add_values(profile const& source, call_tree const& tree, counter_set const& set) {
    std::size_t const columns = counters_.size() + 1;             // the last one: of any counter
    vec<bool> known((source.nodes.size() + 1) * columns, false);  // the last row: unknown nodes
    for (counter_value const& sample : set.values) {
      // A name that is there twice was counted twice: the first one holds.
      if (sample.counter >= counters_.size() || repeated_[sample.counter]) continue;
      std::size_t const row = tree.position_of(sample.node);
      std::size_t const node = smaller(std::size_t{sample.node}, source.nodes.size());
      for (std::size_t const i : {std::size_t{sample.counter}, counters_.size()}) {
        bool const is_range = !known[node * columns + i];  // not another device
        known[node * columns + i] = true;
        sums_.self(row, i).add({sample.value, 1, is_range}, combines_[i], constant_[i]);
      }
    }
  }

  vec<std::string> const& counters_;
  vec<bool> repeated_;  ///< an earlier counter has the same name
  vec<metric_combine> combines_;
  vec<bool> constant_;
  scoped_sums<counter_sum> sums_;  ///< of the counters, and of any counter
};

/// Whether the counting steps did the same work in a row: numbers of different steps belong
/// together only then. Cost: O(records + rows x passes).
class pass_agreement {
 public:
  /// `varying`: the same kernels with other grids. `inconsistent`: other kernels.
  enum class kind : unsigned char { unknown, same, varying, inconsistent };

  /// What some of the steps did in a row.
  struct verdict {
    kind what = kind::unknown;
    std::uint32_t launches_min = 0;
    std::uint32_t launches_max = 0;
    double threads_min = 0.0;
    double threads_max = 0.0;
    std::uint64_t foreign = 0;

    /// Empty where there is nothing to know.
    std::string text() const {
      std::string said;
      if (what == kind::varying) {
        said = sentence("varying: the counting steps ran the same kernels with other grids, ")
               << fixed_string(threads_min, 0) << " to " << fixed_string(threads_max, 0)
               << " threads";
      } else if (what == kind::inconsistent) {
        said = sentence("inconsistent: the counting steps ran other kernels, ")
               << launches_min << " to " << launches_max << " launches";
      }
      if (foreign != 0) {
        add_part(said,
                 sentence() << foreign << (foreign == 1 ? " launch" : " launches")
                            << " of other threads counted with it, timed elsewhere",
                 "; ");
      }
      return said;
    }
  };

  pass_agreement(counter_set const& source, call_tree const& tree)
      : passes_(passes_of(source)), sums_(tree.rows().size(), passes_) {
    if (tree.rows().empty()) return;
    for (counted_work const& counted : source.work)
      add(sums_.self(tree.position_of(counted.node), counted.pass), counted);
    sums_.add_up(tree.rows(), [](counted_work& work, counted_work const& more, std::size_t) {
      add(work, more);
    });
  }

  /// Requires: `passes` in ascending order.
  verdict judge(std::size_t row, counter_scope scope, vec<std::uint32_t> const& passes) const {
    verdict made;
    counted_work const* first = nullptr;
    for (std::uint32_t const pass : passes) {
      if (pass >= passes_) continue;
      counted_work const& now = sums_.sum_of(row, pass, scope);
      made.foreign += now.foreign;
      if (first == nullptr) {
        first = &now;
        made.what = kind::same;
        made.launches_min = made.launches_max = now.launches;
        made.threads_min = made.threads_max = now.threads;
      } else if (now.what != first->what) {
        made.what = kind::inconsistent;
      } else if (now.shapes != first->shapes && made.what == kind::same) {
        made.what = kind::varying;
      }
      made.launches_min = smaller(made.launches_min, now.launches);
      made.launches_max = larger(made.launches_max, now.launches);
      made.threads_min = smaller(made.threads_min, now.threads);
      made.threads_max = larger(made.threads_max, now.threads);
    }
    return made;
  }

 private:
  static std::size_t passes_of(counter_set const& source) noexcept {
    std::size_t passes = 0;
    for (counted_work const& counted : source.work)
      passes = larger(passes, std::size_t{counted.pass} + 1);
    return passes;
  }

  static void add(counted_work& work, counted_work const& more) noexcept {
    work.launches += more.launches;
    work.foreign += more.foreign;
    work.what += more.what;
    work.shapes += more.shapes;
    work.threads += more.threads;
  }

  std::size_t passes_;
  scoped_sums<counted_work> sums_;  ///< a column a pass
};

}  // namespace detail
STRATA_END

#endif  // STRATA_TABLES_COUNTER_SUMS_HPP
