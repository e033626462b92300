#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_PERF_TABLE_HPP
#define STRATA_ANALYSE_PERF_TABLE_HPP

#include <strata/analyse/call_tree.hpp>
#include <strata/analyse/counter_metric.hpp>
#include <strata/analyse/counter_table.hpp>
#include <strata/analyse/note_list.hpp>
#include <strata/base/containers.hpp>
#include <strata/base/finite.hpp>
#include <strata/base/humanize.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile.hpp>
#include <strata/profile/formula.hpp>
#include <strata/profile/metric.hpp>
#include <strata/profile/metric_set.hpp>
#include <strata/profile/perf_catalogue.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

STRATA_BEGIN

namespace detail {

/// Fills a counter_table with the CPU's counters: sums over all recorded calls, ratios from sums.
class perf_table_builder {
 public:
  perf_table_builder(profile const& source, call_tree const& tree)
      : source_(source), set_(source.cpu_metrics), rows_(tree.rows()) {
    table_.chip = source.environment.cpu;
    table_.passes = table_.passes_done = 1;
    table_.notes.emplace_back();
    table_.rows = rows_.size();
    add_values(tree);
  }

  counter_table build() {
    for (resolved_metric const& each : set_.metrics) describe(each.key, each.formula, {});
    for (absent_metric const& each : set_.absent) describe(each.key, {}, each.reason);
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      for (std::size_t i = 0; i < table_.metrics.size(); ++i) {
        for (counter_scope const scope : {counter_scope::self, counter_scope::total})
          table_.values.push_back(make_cell(row, i, scope));
      }
    }
    return std::move(table_);
  }

 private:
  /// Sums by scope, in rows of counters.
  void add_values(call_tree const& tree) {
    std::size_t const counters = source_.cpu_counter_names.size();
    for (std::size_t i = 0; i < counters; ++i) positions_[source_.cpu_counter_names[i]] = i;
    sums_[0].resize(rows_.size() * counters, 0.0);
    counted_[0].resize(rows_.size(), false);
    for (counter_value const& each : source_.cpu_counters) {
      std::size_t const row = tree.position_of(each.node);
      if (each.counter >= counters || row >= rows_.size()) continue;
      sums_[0][row * counters + each.counter] += each.value;
      counted_[0][row] = true;
    }
    sums_[1] = sums_[0];
    counted_[1] = counted_[0];
    for (std::size_t row = rows_.size(); row-- > 1;) {
      std::size_t const parent = rows_[row].parent;
      for (std::size_t i = 0; i < counters; ++i)
        sums_[1][parent * counters + i] += sums_[1][row * counters + i];
      if (counted_[1][row]) counted_[1][parent] = true;
    }
  }

  void describe(std::string const& key, std::string const& formula, std::string const& why_absent) {
    counter_metric made;
    made.key = key;
    made.formula = formula;
    made.why_absent = why_absent;
    made.passes = {0};
    if (metric const* const entry = find_perf_metric(key)) {
      made.unit = entry->unit;
      made.level = entry->level;
      made.meaning = entry->meaning;
      if (entry->combine == metric_combine::ratio) made.method = counter_method::derived;
    }
    table_.metrics.push_back(std::move(made));
  }

  double sum_of(std::string_view counter, std::size_t row, counter_scope scope) const noexcept {
    std::size_t const* const at = positions_.find(counter);
    if (at == nullptr) return std::numeric_limits<double>::quiet_NaN();
    return sums_[static_cast<std::size_t>(scope)][row * positions_.size() + *at];
  }

  counter_cell make_cell(std::size_t row, std::size_t at, counter_scope scope) {
    counter_cell cell;
    if (at >= set_.metrics.size()) {
      cell.note = note(table_.metrics[at].why_absent);
      return cell;
    }
    if (!counted_[static_cast<std::size_t>(scope)][row]) {
      cell.note = note("not entered by the thread that was counted");
      return cell;
    }
    resolved_metric const& metric = set_.metrics[at];
    cell.value =
        set_.value(metric, [&](std::string_view name) { return sum_of(name, row, scope); });
    double const share = counted_share(metric, row, scope);
    if (is_finite(cell.value)) {
      if (share < 0.9995)
        cell.note =
            note("scaled: the hardware counted " + human_percent(share, 1.0) + " % of the time");
      return cell;
    }
    cell.value = std::numeric_limits<double>::quiet_NaN();
    cell.note = note(share > 0.0 ? "a divisor is 0"
                                 : "the hardware had no counter free in this time: ask for fewer, "
                                   "or end what else counts (the NMI watchdog, other profilers)");
    return cell;
  }

  /// For how much of the time the counters of a metric ran; the least of several.
  double counted_share(resolved_metric const& of, std::size_t row, counter_scope scope) const {
    double share = 1.0;
    for_each_name(of.formula, [&](std::string_view name, bool) {
      constexpr std::string_view running = "_running.sum";
      constexpr std::string_view enabled = "_enabled.sum";
      if (resolved_metric const* const input = set_.find(name)) {
        share = (std::min)(share, counted_share(*input, row, scope));
      } else if (ends_with(name, running)) {
        std::string const whole =
            std::string(name.substr(0, name.size() - running.size())) + std::string(enabled);
        double const part = sum_of(name, row, scope) / sum_of(whole, row, scope);
        share = (std::min)(share, is_nan(part) ? 0.0 : part);
      }
    });
    return share;
  }

  std::uint32_t note(std::string const& text) { return noted_.number_of(text, table_.notes); }

  profile const& source_;
  metric_set const& set_;
  vec<range_row> const& rows_;
  flat_map<std::string_view, std::size_t> positions_;
  vec<double> sums_[2];
  vec<bool> counted_[2];
  note_list noted_;
  counter_table table_;
};

/// The CPU's counters by the rows of a profile's tree, folded or not.
/// Cost: O(rows x metrics).
inline counter_table make_perf_table(profile const& source, call_tree const& tree) {
  return perf_table_builder(source, tree).build();
}

}  // namespace detail

STRATA_END

#endif  // STRATA_ANALYSE_PERF_TABLE_HPP
