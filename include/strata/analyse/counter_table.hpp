#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_COUNTER_TABLE_HPP
#define STRATA_ANALYSE_COUNTER_TABLE_HPP

#include <strata/analyse/call_tree.hpp>
#include <strata/analyse/counter_sums.hpp>
#include <strata/base/containers.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/text.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile.hpp>
#include <strata/profile/metric_catalogue.hpp>
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
namespace detail {

/// Numbers for the notes of a counter_table: equal texts have one, the empty text has 0.
class note_list {
 public:
  /// The position of a text in `notes`, whose position 0 is empty.
  std::uint32_t number_of(std::string const& text, vec<std::string>& notes) {
    if (text.empty()) return 0;
    if (std::uint32_t const* const known = numbers_.find(text)) return *known;
    auto const made = static_cast<std::uint32_t>(notes.size());
    notes.push_back(text);
    return numbers_[text] = made;
  }

 private:
  flat_map<std::string, std::uint32_t> numbers_;
};

}  // namespace detail

/// Counted values of every row of a call tree, in its order.
/// Values are of one step: its calls of a range can be more or fewer than in a timed step.
struct counter_table {
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  std::string chip;
  vec<std::uint32_t> devices;  ///< whose counts are added up
  std::uint64_t passes = 0;    ///< steps that the counting takes, one pass each
  std::uint64_t passes_done = 0;
  std::uint64_t timed_steps = 1;  ///< whose mean time the rates use
  vec<counter_metric> metrics;
  vec<std::string> notes;    ///< without a full stop; position 0 is empty
  vec<counter_cell> values;  ///< see at()
  /// By row: how its own work differed between the counting steps; position in `notes`.
  vec<std::uint32_t> work;
  std::size_t rows = 0;

  counter_cell const& at(std::size_t row, std::size_t metric, counter_scope scope) const noexcept {
    return values[(row * metrics.size() + metric) * 2 + static_cast<std::size_t>(scope)];
  }
  std::string const& note(counter_cell const& cell) const noexcept { return notes[cell.note]; }

  /// Position of a metric, or none.
  std::size_t find(std::string_view key) const noexcept {
    for (std::size_t i = 0; i < metrics.size(); ++i) {
      if (metrics[i].key == key) return i;
    }
    return none;
  }

  /// Whether a row has a value.
  bool has_value(std::size_t row, counter_scope scope) const noexcept {
    for (std::size_t i = 0; i < metrics.size(); ++i) {
      if (!detail::is_nan(at(row, i, scope).value)) return true;
    }
    return false;
  }
};

namespace detail {

/// Fills a counter_table: ratios from the sums of a row, never from the ratios below it.
class counter_table_builder {
 public:
  counter_table_builder(profile const& source, call_tree const& tree)
      : source_(source),
        rows_(tree.rows()),
        sums_(source, tree),
        work_(source, tree),
        set_(source.metrics) {
    rate_resolver(set_).run();
    table_.chip = source.chip;
    table_.devices = source.counted_devices;
    table_.passes = source.counter_passes;
    table_.passes_done = source.counter_passes_done;
    table_.timed_steps = (std::max)(std::uint64_t{1}, std::uint64_t{source.steps.size()});
    table_.notes.emplace_back();
    table_.rows = rows_.size();
  }

  counter_table build() {
    describe_metrics();
    table_.values.resize(rows_.size() * table_.metrics.size() * 2);
    vec<std::uint32_t> every;
    while (every.size() < source_.counter_passes_done)
      every.push_back(static_cast<std::uint32_t>(every.size()));
    for (std::size_t row = 0; row < rows_.size(); ++row)
      table_.work.push_back(note(work_.of(row, counter_scope::self, every).text()));
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      bool const leaf = row + 1 == rows_.size() || rows_[row + 1].parent != row;
      for (std::size_t i = 0; i < table_.metrics.size(); ++i) {
        counter_cell* const cells = &table_.values[(row * table_.metrics.size() + i) * 2];
        cells[1] = make_cell(row, i, counter_scope::total);
        bool const same =
            leaf && i < inputs_.size() && !inputs_[i].time && !detail::is_nan(cells[1].value);
        cells[0] = same ? cells[1] : make_cell(row, i, counter_scope::self);
      }
    }
    return std::move(table_);
  }

 private:
  /// What a metric is made from, through all formulas.
  struct inputs {
    vec<std::size_t> counters;  ///< in the sums
    std::string uncounted;      ///< a CUPTI name that was not counted
    bool time = false;
  };

  void describe_metrics() {
    for (resolved_metric const& each : set_.metrics) {
      inputs from;
      collect_inputs(each, from, 0);
      counter_metric made;
      made.key = each.key;
      made.unit = each.unit;
      made.level = each.level;
      made.method = method_of(each, from);
      made.meaning = meaning_of(each.key);
      made.formula = from.time && !each.derived ? std::string() : each.formula;
      made.passes = passes_of(from);
      made.stand_in = each.stand_in;
      table_.metrics.push_back(std::move(made));
      inputs_.push_back(std::move(from));
    }
    for (absent_metric const& each : set_.absent) {
      counter_metric made;
      made.key = each.key;
      if (metric const* const entry = find_metric(each.key)) {
        made.unit = entry->unit;
        made.level = entry->level;
        if (entry->combine == metric_combine::ratio) made.method = counter_method::derived;
      }
      made.meaning = meaning_of(each.key);
      made.why_absent = each.reason;
      table_.metrics.push_back(std::move(made));
    }
  }

  void collect_inputs(resolved_metric const& of, inputs& to, int depth) const {
    for_each_name(of.formula, [&](std::string_view name, bool) {
      if (name == timed_input) {
        to.time = true;
      } else if (!is_cupti_name(name)) {
        resolved_metric const* const input = set_.find(name);
        if (input != nullptr && depth <= 8) collect_inputs(*input, to, depth + 1);
      } else if (std::find(of.counters.begin(), of.counters.end(), name) != of.counters.end()) {
        std::size_t const counter = sums_.find(name);
        if (counter == counter_sums::none) {
          if (to.uncounted.empty()) to.uncounted = name;
        } else if (std::find(to.counters.begin(), to.counters.end(), counter) ==
                   to.counters.end()) {
          to.counters.push_back(counter);
        }
      }
    });
  }

  /// All steps where the source does not tell.
  vec<std::uint32_t> passes_of(inputs const& from) const {
    if (from.counters.empty() && from.time) return {};
    vec<bool> used(source_.counter_passes_done, source_.counter_origins.empty());
    for (std::size_t const counter : from.counters) {
      if (counter >= source_.counter_origins.size()) continue;
      counter_origin const& origin = source_.counter_origins[counter];
      for (std::uint32_t i = 0; i < origin.passes; ++i) {
        if (origin.first_pass + i < used.size()) used[origin.first_pass + i] = true;
      }
    }
    vec<std::uint32_t> made;
    for (std::size_t i = 0; i < used.size(); ++i) {
      if (used[i]) made.push_back(static_cast<std::uint32_t>(i));
    }
    return made;
  }

  static counter_method method_of(resolved_metric const& of, inputs const& from) noexcept {
    if (from.time) return of.derived ? counter_method::counted_and_timed : counter_method::timed;
    bool const derived = of.derived || of.combine == metric_combine::ratio;
    return derived ? counter_method::derived : counter_method::counted;
  }

  static std::string meaning_of(std::string_view key) {
    metric const* entry = find_metric(key);
    if (entry == nullptr) entry = rate_resolver::find(key);
    return entry == nullptr ? std::string() : std::string(entry->meaning);
  }

  counter_cell make_cell(std::size_t row, std::size_t at, counter_scope scope) {
    counter_cell cell;
    counter_metric const& metric = table_.metrics[at];
    if (at >= inputs_.size()) {
      cell.note = note(metric.why_absent);
      return cell;
    }
    pass_agreement::verdict const work = work_.of(row, scope, metric.passes);
    std::string why = why_empty(row, inputs_[at], scope);
    if (why.empty() && work.what == pass_agreement::kind::inconsistent) why = work.text();
    if (!why.empty()) {
      cell.note = note(why);
      return cell;
    }
    cell.value = set_.value(set_.metrics[at], [&](std::string_view name) -> double {
      if (name == timed_input) return timed_seconds(row);
      std::size_t const counter = sums_.find(name);
      return counter == counter_sums::none ? std::numeric_limits<double>::quiet_NaN()
                                           : sums_.value(row, counter, scope);
    });
    if (!detail::is_finite(cell.value)) {
      cell.value = std::numeric_limits<double>::quiet_NaN();
      cell.note = note("a divisor is 0");
    } else {
      cell.note = note(remarks(row, at, scope, cell.value, work));
    }
    return cell;
  }

  /// The reason where an input has no value. An optional input that the chip has, but that was not
  /// counted, is no 0.
  std::string why_empty(std::size_t row, inputs const& from, counter_scope scope) const {
    bool const self = scope == counter_scope::self;
    if (sums_.counted(row, scope) == 0) {
      device_work const& timed = self ? rows_[row].self : rows_[row].total;
      if (timed.kernels + timed.copies == 0) {
        return self ? "never launched anything itself" : "never launched anything";
      }
      if (!from.counters.empty() || !from.uncounted.empty()) {
        return "not counted: its work is of another thread, or was not there in the counted steps";
      }
    }
    if (from.time && self) return "GPU busy time is known only with the ranges below";
    if (!from.uncounted.empty()) {
      if (source_.counter_passes_done < source_.counter_passes) {
        return "not reached: the program ended after " +
               std::to_string(source_.counter_passes_done) + " of " +
               std::to_string(source_.counter_passes) + " counting steps";
      }
      return "CUPTI did not count " + from.uncounted;
    }
    for (std::size_t const counter : from.counters) {
      if (sums_.ranges(row, counter, scope) == 0) {
        return "launched nothing in the step that counted " + sums_.name(counter) +
               ", or CUPTI dropped it";
      }
      if (detail::is_nan(sums_.value(row, counter, scope))) {
        return "CUPTI gave no value for " + sums_.name(counter);
      }
    }
    if (from.time && !source_.traced) return "GPU times were not traced";
    if (from.time && rows_[row].gpu_busy_ns <= 0) return "no GPU time in the timed steps";
    return {};
  }

  double timed_seconds(std::size_t row) const noexcept {
    return static_cast<double>(rows_[row].device_busy_ns) /
           (1e9 * static_cast<double>(table_.timed_steps));
  }

  /// What to know about a value.
  std::string remarks(std::size_t row, std::size_t at, counter_scope scope, double value,
                      pass_agreement::verdict const& work) const {
    counter_metric const& metric = table_.metrics[at];
    std::string text;
    auto const add = [&text](std::string const& more) {
      text += (text.empty() ? "" : "; ") + more;
    };
    if (std::string const known = work.text(); !known.empty()) add(known);
    if (metric.stand_in) add("stand-in: " + metric.formula);
    if (metric.key == "flop_per_hbm_byte") {
      if (set_.find("flop") == nullptr) add("operations of tensor cores only");
      if (set_.find("tensor_flop") == nullptr) add("without tensor cores");
    }
    std::uint32_t missing = 0;
    for (std::size_t const counter : inputs_[at].counters) {
      std::uint32_t const ranges = sums_.ranges(row, counter, scope);
      std::uint32_t const counted = sums_.counted(row, scope);
      if (counted > ranges) missing = (std::max)(missing, counted - ranges);
      if (sums_.combine(counter) == metric_combine::mean && ranges > 1)
        add("plain mean of " + std::to_string(ranges) + " ranges: CUPTI gives only the ratio");
    }
    if (missing > 0) {
      add("the counted steps differ: " + std::to_string(missing) +
          " of its ranges have no value in one of them");
    }
    if (inputs_[at].time && work.what != pass_agreement::kind::unknown) {
      std::uint64_t const timed = rows_[row].total.launches;
      if (timed != work.launches_min * table_.timed_steps ||
          timed != work.launches_max * table_.timed_steps) {
        add("the counted step launched " + std::to_string(work.launches_max) + ", " +
            std::to_string(table_.timed_steps) + " timed ones " + std::to_string(timed));
      }
    }
    if (inputs_[at].time) add(time_remark(rows_[row].host.count(), metric.method));
    bool const share = metric.unit == "%" && metric.method == counter_method::counted_and_timed;
    if (share && value > 100.0)
      add("above 100: the counted step differs from the timed ones in work or clocks");
    return text;
  }

  std::string time_remark(std::uint64_t calls, counter_method method) const {
    std::uint64_t const steps = table_.timed_steps;
    std::string text = method == counter_method::timed ? "" : "counted in one step, ";
    text += steps == 1 ? "GPU time of one timed step"
                       : "mean GPU time of " + std::to_string(steps) + " timed steps";
    if (calls % steps != 0) {
      text += "; calls differ from step to step: " + std::to_string(calls) + " in " +
              std::to_string(steps) + " timed steps";
    }
    return text;
  }

  std::uint32_t note(std::string const& text) { return noted_.number_of(text, table_.notes); }

  profile const& source_;
  vec<range_row> const& rows_;
  counter_sums sums_;
  pass_agreement work_;
  metric_set set_;  ///< with the rates
  vec<inputs> inputs_;
  note_list noted_;
  counter_table table_;
};

}  // namespace detail

/// The counted values of a profile by the rows of its tree, folded or not, with the rates that
/// combine them with timed seconds.
/// Cost: O(rows x metrics).
inline counter_table make_counter_table(profile const& source, call_tree const& tree) {
  return detail::counter_table_builder(source, tree).build();
}

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

#endif  // STRATA_ANALYSE_COUNTER_TABLE_HPP
