#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_COUNTER_SUMS_HPP
#define STRATA_ANALYSE_COUNTER_SUMS_HPP

#include <strata/analyse/call_tree.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/text.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile.hpp>
#include <strata/profile/metric_catalogue.hpp>
#include <strata/profile/metric_resolver.hpp>
#include <strata/profile/metric_set.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

STRATA_BEGIN

/// Of a range alone, or with all ranges below it.
enum class counter_scope : std::uint8_t { self, total };

/// What a value of a counter_table is made from.
enum class counter_method : std::uint8_t {
  counted,           ///< hardware counters
  derived,           ///< from other counted metrics
  timed,             ///< the trace of the timed steps
  counted_and_timed  ///< counts of the counted step by the time of a timed step
};

constexpr std::string_view to_string(counter_scope scope) noexcept {
  return scope == counter_scope::self ? "self" : "total";
}

constexpr std::string_view to_string(counter_method method) noexcept {
  switch (method) {
    case counter_method::counted:
      return "counted";
    case counter_method::derived:
      return "derived";
    case counter_method::timed:
      return "timed";
    default:
      return "counted+timed";
  }
}

/// A column of a counter_table.
struct counter_metric {
  std::string key;
  std::string unit;  ///< empty where only CUPTI knows it
  metric_level level = metric_level::device;
  counter_method method = counter_method::counted;
  std::string meaning;  ///< empty for CUPTI's own names
  std::string formula;
  vec<std::uint32_t> passes;  ///< the counting steps that it took, from 0, ascending
  bool stand_in = false;      ///< by another counter than the first choice
  std::string why_absent;     ///< set where the chip does not have it
};

/// A value for one range.
struct counter_cell {
  double value = std::numeric_limits<double>::quiet_NaN();
  std::uint32_t note =
      0;  ///< in counter_table::notes: why there is no value, or what to know of it
};

namespace detail {

/// The column of a metric that can be counted.
inline counter_metric described(resolved_metric const& of) {
  counter_metric made;
  made.key = of.key;
  made.unit = of.unit;
  made.level = of.level;
  made.formula = of.formula;
  return made;
}

/// The metrics of a counter_set and the rates that follow from them, with compiled formulas: names
/// became positions.
class metric_formulas {
 public:
  /// What a metric is made from, through all formulas.
  struct inputs {
    vec<std::size_t> counters;  ///< positions in counter_set::names
    std::string uncounted;      ///< a counter that was not counted
    bool time = false;          ///< the GPU busy time of a timed step
  };

  explicit metric_formulas(counter_set const& of) : names_(of.names), set_(of.metrics) {
    if (of.method == counting::passes) metric_resolver::add_rates(set_);
    for (resolved_metric const& each : set_.metrics) compile(each);
  }

  metric_set const& set() const noexcept { return set_; }
  inputs const& inputs_of(std::size_t metric) const noexcept { return inputs_[metric]; }

  /// Fills `to` with the values of all metrics. `counters` has a value for each of
  /// counter_set::names. Cost: linear in the formulas.
  void evaluate(double const* counters, double timed_seconds, vec<double>& to) const {
    vec<double> given;
    to.clear();
    for (compiled const& each : compiled_) {
      given.clear();
      for (operand const& from : each.operands) {
        given.push_back(from.what == kind::counter  ? counters[from.at]
                        : from.what == kind::metric ? to[from.at]
                        : from.what == kind::time   ? timed_seconds
                                                    : std::numeric_limits<double>::quiet_NaN());
      }
      to.push_back(each.how.value(given.data()));
    }
  }

 private:
  enum class kind : unsigned char { nothing, counter, metric, time };
  struct operand {
    kind what = kind::nothing;
    std::size_t at = 0;
  };
  struct compiled {
    formula how;
    vec<operand> operands;  ///< one for each of the formula's names
  };

  /// Requires: what the metric is derived from was compiled.
  void compile(resolved_metric const& metric) {
    compiled made{formula(metric.formula), {}};
    inputs from;
    for (std::string_view const name : made.how.names()) {
      operand input;
      if (name == timed_input) {
        input.what = kind::time;
        from.time = true;
      } else if (is_cupti_name(name)) {
        bool const wanted = position(metric.counters, name) < metric.counters.size();
        input.at = position(names_, name);
        if (input.at < names_.size()) input.what = kind::counter;
        if (wanted && input.what == kind::counter) add(from.counters, input.at);
        if (wanted && input.what == kind::nothing && from.uncounted.empty()) from.uncounted = name;
      } else {
        while (input.at < compiled_.size() && set_.metrics[input.at].key != name) ++input.at;
        if (input.at < compiled_.size()) {
          input.what = kind::metric;
          inputs const& of = inputs_[input.at];
          for (std::size_t const counter : of.counters) add(from.counters, counter);
          if (from.uncounted.empty()) from.uncounted = of.uncounted;
          from.time = from.time || of.time;
        }
      }
      made.operands.push_back(input);
    }
    compiled_.push_back(std::move(made));
    inputs_.push_back(std::move(from));
  }

  static std::size_t position(vec<std::string> const& in, std::string_view name) noexcept {
    std::size_t at = 0;
    while (at < in.size() && in[at] != name) ++at;
    return at;
  }
  static void add(vec<std::size_t>& to, std::size_t counter) {
    for (std::size_t const each : to) {
      if (each == counter) return;
    }
    to.push_back(counter);
  }

  vec<std::string> const& names_;
  metric_set set_;  ///< with the rates
  vec<compiled> compiled_;
  vec<inputs> inputs_;
};

/// Counters by row of a tree, for the row alone and with everything below it.
/// Cost: O(values + rows x counters).
class counter_sums {
 public:
  /// What several ranges counted, as one value.
  class sum {
   public:
    /// Ranges with a record of the counter.
    std::uint32_t ranges() const noexcept { return ranges_; }
    /// NaN where no range has a record, or CUPTI gave no value for one.
    double value(metric_combine how) const noexcept {
      if (values_ == 0) return std::numeric_limits<double>::quiet_NaN();
      return how == metric_combine::mean ? value_ / values_ : value_;
    }

    void add(sum const& more, metric_combine how, bool constant) noexcept {
      if (more.values_ == 0) return;
      if (values_ == 0) {
        *this = more;
        return;
      }
      values_ += more.values_;
      ranges_ += more.ranges_;
      if (how != metric_combine::maximum) {
        value_ += more.value_;
      } else if (is_nan(value_) || is_nan(more.value_)) {
        // A constant of the device: the value of any range is valid for all.
        bool const keep = constant == is_nan(more.value_);
        value_ = keep ? value_ : more.value_;
      } else {
        value_ = (std::max)(value_, more.value_);
      }
    }

    /// `other_device`: the range has a value of the counter already.
    static sum of(double value, bool other_device) noexcept {
      sum made;
      made.value_ = is_finite(value) ? value : std::numeric_limits<double>::quiet_NaN();
      made.values_ = 1;
      made.ranges_ = other_device ? 0 : 1;
      return made;
    }

   private:
    double value_ = 0.0;
    std::uint32_t values_ = 0;  // one a range and device
    std::uint32_t ranges_ = 0;
  };

  counter_sums(profile const& source, call_tree const& tree, counter_set const& set)
      : counters_(set.names) {
    vec<range_row> const& rows = tree.rows();
    for (std::size_t i = 0; i < counters_.size(); ++i) {
      bool repeated = false;
      for (std::size_t c = 0; c < i; ++c) repeated = repeated || counters_[c] == counters_[i];
      repeated_.push_back(repeated);
      how_.push_back(combine_of(counters_[i]));
      constant_.push_back(ends_with(counters_[i], ".peak_sustained"));
    }
    for (vec<sum>& sums : sums_) sums.resize(rows.size() * counters_.size());
    for (vec<std::uint32_t>& counted : counted_) counted.resize(rows.size());
    if (rows.empty()) return;
    add_values(source, tree, set);
    sums_[1] = sums_[0];
    counted_[1] = counted_[0];
    for (std::size_t row = rows.size(); --row > 0;) {
      counted_[1][rows[row].parent] += counted_[1][row];
      for (std::size_t c = 0; c < counters_.size(); ++c)
        sums_[1][at(rows[row].parent, c)].add(sums_[1][at(row, c)], how_[c], constant_[c]);
    }
  }

  std::string const& name(std::size_t counter) const noexcept { return counters_[counter]; }
  metric_combine combine(std::size_t counter) const noexcept { return how_[counter]; }

  double value(std::size_t row, std::size_t counter, counter_scope scope) const noexcept {
    return sums_[of(scope)][at(row, counter)].value(how_[counter]);
  }
  /// Ranges with a record of this counter.
  std::uint32_t ranges(std::size_t row, std::size_t counter, counter_scope scope) const noexcept {
    return sums_[of(scope)][at(row, counter)].ranges();
  }
  /// Ranges with a record of any counter.
  std::uint32_t counted(std::size_t row, counter_scope scope) const noexcept {
    return counted_[of(scope)][row];
  }

 private:
  static std::size_t of(counter_scope scope) noexcept { return static_cast<std::size_t>(scope); }
  std::size_t at(std::size_t row, std::size_t counter) const noexcept {
    return row * counters_.size() + counter;
  }

  void add_values(profile const& source, call_tree const& tree, counter_set const& set) {
    vec<bool> seen(source.nodes.size() + 1, false);  // the last one: unknown nodes
    bool const several = set.devices.size() > 1;
    vec<bool> had(several ? seen.size() * counters_.size() : 0, false);
    for (counter_value const& each : set.values) {
      // A name that is there twice was counted twice: the first one holds.
      if (each.counter >= counters_.size() || repeated_[each.counter]) continue;
      std::size_t const row = tree.position_of(each.node);
      std::size_t const node = (std::min)(std::size_t{each.node}, seen.size() - 1);
      std::size_t const value = node * counters_.size() + each.counter;
      bool const other_device = several && had[value];
      if (several) had[value] = true;
      sums_[0][at(row, each.counter)].add(sum::of(each.value, other_device), how_[each.counter],
                                          constant_[each.counter]);
      if (seen[node]) continue;
      seen[node] = true;
      ++counted_[0][row];
    }
  }

  vec<std::string> const& counters_;
  vec<bool> repeated_;  ///< an earlier counter has the same name
  vec<metric_combine> how_;
  vec<bool> constant_;
  vec<sum> sums_[2];               ///< by scope; of all rows and counters
  vec<std::uint32_t> counted_[2];  ///< by scope
};

/// Whether the counting steps did the same work in a row: numbers of different steps belong
/// together only then. Cost: O(records + rows x passes).
class pass_agreement {
 public:
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
        said = "varying: the counting steps ran the same kernels with other grids, " +
               whole(threads_min) + " to " + whole(threads_max) + " threads";
      } else if (what == kind::inconsistent) {
        said = "inconsistent: the counting steps ran other kernels, " +
               std::to_string(launches_min) + " to " + std::to_string(launches_max) + " launches";
      }
      if (foreign != 0) {
        said += (said.empty() ? "" : "; ") + std::to_string(foreign) +
                (foreign == 1 ? " launch" : " launches") + " of other threads counted with it";
      }
      return said;
    }

   private:
    static std::string whole(double value) {
      return std::to_string(static_cast<std::uint64_t>(value));
    }
  };

  pass_agreement(counter_set const& source, call_tree const& tree) {
    vec<range_row> const& rows = tree.rows();
    for (counted_work const& each : source.work)
      passes_ = (std::max)(passes_, std::size_t{each.pass} + 1);
    if (rows.empty() || passes_ == 0) return;
    for (vec<counted_work>& sums : sums_) sums.resize(rows.size() * passes_);
    for (counted_work const& each : source.work)
      add(sums_[0][tree.position_of(each.node) * passes_ + each.pass], each);
    sums_[1] = sums_[0];
    for (std::size_t row = rows.size(); --row > 0;) {
      for (std::size_t pass = 0; pass < passes_; ++pass)
        add(sums_[1][rows[row].parent * passes_ + pass], sums_[1][row * passes_ + pass]);
    }
  }

  /// Requires: `passes` in ascending order.
  verdict of(std::size_t row, counter_scope scope, vec<std::uint32_t> const& passes) const {
    verdict made;
    vec<counted_work> const& sums = sums_[static_cast<std::size_t>(scope)];
    counted_work const* first = nullptr;
    for (std::uint32_t const pass : passes) {
      if (pass >= passes_ || sums.empty()) continue;
      counted_work const& now = sums[row * passes_ + pass];
      made.foreign += now.foreign;
      if (first == nullptr) {
        first = &now;
        made.what = kind::same;
        made.launches_min = made.launches_max = now.launches;
        made.threads_min = made.threads_max = now.threads;
        continue;
      }
      if (now.what != first->what) {
        made.what = kind::inconsistent;
      } else if (now.shapes != first->shapes && made.what == kind::same) {
        made.what = kind::varying;
      }
      made.launches_min = (std::min)(made.launches_min, now.launches);
      made.launches_max = (std::max)(made.launches_max, now.launches);
      made.threads_min = (std::min)(made.threads_min, now.threads);
      made.threads_max = (std::max)(made.threads_max, now.threads);
    }
    return made;
  }

 private:
  static void add(counted_work& to, counted_work const& more) noexcept {
    to.launches += more.launches;
    to.foreign += more.foreign;
    to.what += more.what;
    to.shapes += more.shapes;
    to.threads += more.threads;
  }

  std::size_t passes_ = 0;
  vec<counted_work> sums_[2];  ///< by scope; of all rows and passes
};

}  // namespace detail
STRATA_END

#endif  // STRATA_ANALYSE_COUNTER_SUMS_HPP
