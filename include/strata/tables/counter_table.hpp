#ifndef STRATA_TABLES_COUNTER_TABLE_HPP
#define STRATA_TABLES_COUNTER_TABLE_HPP

#include <strata/profile/devices.hpp>
#include <strata/profile/samples.hpp>
#include <strata/tables/counter_sums.hpp>
#include <strata/tables/steps.hpp>

STRATA_BEGIN
/// The values of a counter_set for every row of a call tree, in its order. Values counted in passes
/// are of one step: its calls of a range can be more or fewer than in a timed step.
struct counter_table {
  /// A share of a peak that no device reaches: units, clocks or work differ.
  struct share_above_peak {
    std::size_t row;
    std::size_t metric;
    double percent;
  };

  static constexpr std::size_t none = detail::no_metric;

  std::string name;  ///< of the counter_set: a key of profile.json, and the stem of names of files
  counting method = counting::passes;
  std::string chip;
  std::string_view memory = "HBM";  ///< what people call that of the devices
  std::string about;                ///< of values counted while_running: sentences for the console
  vec<std::uint32_t> devices;       ///< whose counts are added up
  std::uint64_t passes = 0;         ///< steps that the counting takes, one pass each
  std::uint64_t passes_done = 0;
  std::uint64_t timed_steps = 1;  ///< whose mean time the rates use: the typical ones
  vec<counter_metric> metrics;
  detail::metric_positions positions;  ///< of the metrics
  vec<std::string> notes;              ///< without a full stop; position 0 is empty
  vec<counter_cell> values;            ///< see at()
  /// By row: how its own work differed between the counting steps; position in `notes`.
  vec<std::uint32_t> work;
  /// By row and scope: why what was counted is other work than what was timed; position in `notes`,
  /// 0 where it is the same.
  vec<std::uint32_t> other_work;
  vec<share_above_peak> above_peak;  ///< whose cells are empty
  std::size_t rows = 0;

  counter_cell const& at(std::size_t row, std::size_t metric, counter_scope scope) const noexcept {
    return values[(row * metrics.size() + metric) * 2 + static_cast<std::size_t>(scope)];
  }
  std::string const& note(counter_cell const& cell) const noexcept { return notes[cell.note]; }
  /// Whether the counts of a row cover the same work as its times.
  bool is_timed_work(std::size_t row, counter_scope scope) const noexcept {
    std::size_t const position = row * 2 + static_cast<std::size_t>(scope);
    return position >= other_work.size() || other_work[position] == 0;
  }

  /// Position of a metric, or none.
  std::size_t find(std::string_view key) const noexcept {
    return detail::position_of(metrics, positions, key);
  }
};

namespace detail {

/// Fills a counter_table: ratios from the sums of a row, never from the ratios below it.
class counter_table_builder {
 public:
  counter_table_builder(profile const& source, call_tree const& tree, counter_set const& set,
                        steps_summary const& steps)
      : source_(source),
        counted_(set),
        steps_(steps),
        rows_(tree.rows()),
        sums_(source, tree, set),
        work_(set, tree),
        formulas_(source, set) {
    table_.name = name_of(source, set);
    table_.method = set.method;
    table_.chip = set.where;
    table_.memory = memory_name(source);
    table_.devices = set.devices;
    table_.about = set.about;
    table_.passes = set.passes;
    table_.passes_done = set.passes_done;
    if (set.method != counting::while_running)
      table_.timed_steps = static_cast<std::uint64_t>(larger(1.0, steps.typical_count()));
    table_.notes.emplace_back();
    table_.rows = rows_.size();
  }

  counter_table build() {
    describe_metrics();
    table_.values.resize(rows_.size() * table_.metrics.size() * 2);
    vec<std::uint32_t> every;
    while (every.size() < counted_.passes_done)
      every.push_back(static_cast<std::uint32_t>(every.size()));
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      pass_agreement::verdict const own = work_.judge(row, counter_scope::self, every);
      table_.work.push_back(note(own.text()));
      table_.other_work.push_back(note(why_other_work(row, counter_scope::self, own)));
      table_.other_work.push_back(note(why_other_work(
          row, counter_scope::total, work_.judge(row, counter_scope::total, every))));
    }
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      make_cells(row, counter_scope::total);
      make_cells(row, counter_scope::self);
    }
    return std::move(table_);
  }

 private:
  using inputs = metric_formulas::inputs;

  /// The name of a set that sessions make; another one, or the second of a name, comes from
  /// elsewhere and gets a key of its own.
  static std::string name_of(profile const& source, counter_set const& set) {
    for (std::string_view const known :
         {counter_set::gpu, counter_set::gpu_kernels, counter_set::cpu, counter_set::live})
      if (set.name == known && &source.counters(known) == &set) return set.name;
    vec<counter_set> const& sets = source.counter_sets;
    if (&set < sets.begin() || &set >= sets.end()) return file_stem(set.name);
    return sentence("set") << &set - sets.begin() + 1 << '_' << file_stem(set.name);
  }

  void describe_metrics() {
    metric_set const& set = formulas_.set();
    for (std::size_t i = 0; i < set.metrics.size(); ++i) {
      resolved_metric const& resolved = set.metrics[i];
      inputs const& from = formulas_.inputs_of(i);
      counter_metric made{resolved, method_of(resolved, from), {}, passes_of(from), {}};
      if (metric const* const entry = find_entry(resolved.key)) made.meaning = entry->meaning();
      if (resolved.key == sampled_names::energy)
        made.meaning = "energy that the GPU used while work of the range ran, by a model";
      if (from.time && !resolved.derived) made.formula.clear();
      table_.metrics.push_back(std::move(made));
    }
    for (absent_metric const& missing : set.absent) {
      counter_metric made;
      made.key = missing.key;
      if (is_sampled()) made.method = counter_method::sampled;
      if (made.key == sampled_names::energy) made.method = counter_method::modelled;
      if (made.key == sampled_names::energy) made.unit = "J";
      if (metric const* const entry = find_entry(missing.key)) {
        made.unit = entry->unit();
        made.level = entry->level();
        made.meaning = entry->meaning();
        if (entry->combine() == metric_combine::ratio) made.method = counter_method::derived;
      }
      if (while_running() || is_sampled()) made.passes = {0};
      made.why_absent = missing.reason;
      table_.metrics.push_back(std::move(made));
    }
    table_.positions = positions_of(table_.metrics);
  }

  bool while_running() const noexcept { return counted_.method == counting::while_running; }

  bool is_sampled() const noexcept { return counted_.method == counting::sampled; }

  /// The counting steps of the inputs, from 0; all steps where origins are unknown.
  vec<std::uint32_t> passes_of(inputs const& from) const {
    if (from.counters.empty() && from.time) return {};
    vec<bool> used(counted_.passes_done, counted_.origins.empty());
    for (std::size_t const counter : from.counters) {
      if (counter >= counted_.origins.size()) continue;
      counter_origin const& origin = counted_.origins[counter];
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

  counter_method method_of(resolved_metric const& metric, inputs const& from) const noexcept {
    if (is_sampled() && metric.key == sampled_names::energy) return counter_method::modelled;
    if (is_sampled() && !from.counters.empty()) return counter_method::sampled;
    if (from.time)
      return metric.derived ? counter_method::counted_and_timed : counter_method::timed;
    bool const derived = metric.derived || metric.combine == metric_combine::ratio;
    return derived ? counter_method::derived : counter_method::counted;
  }

  void make_cells(std::size_t row, counter_scope scope) {
    given_.clear();
    for (std::size_t i = 0; i < counted_.names.size(); ++i)
      given_.push_back(sums_.value(row, i, scope));
    if (is_sampled()) take_step(row);
    formulas_.evaluate(given_.data(), timed_seconds(row), results_, &divisors_);
    if (is_sampled()) find_errors(row, scope);
    for (std::size_t i = 0; i < table_.metrics.size(); ++i) {
      table_.values[(row * table_.metrics.size() + i) * 2 + static_cast<std::size_t>(scope)] =
          i < results_.size()
              ? make_cell(row, i, scope)
              : counter_cell{no_value, no_value, note(table_.metrics[i].why_absent)};
    }
  }

  /// Sums over all sampled work become those of a mean step, as what is counted in passes is.
  void take_step(std::size_t row) {
    for (double& value : given_) value = of_step(row, value);
  }
  double of_step(std::size_t row, double value) const noexcept {
    return source_.traced ? steps_.per_step(value, rows_[row].step_busy_share)
                          : steps_.per_step(value);
  }

  /// How far each metric may be from its value: by how much it changes with each of its counters.
  void find_errors(std::size_t row, counter_scope scope) {
    vec<double> changed;
    errors_.assign(results_.size(), 0.0);
    for (std::size_t i = 0; i < counted_.names.size(); ++i) {
      std::size_t const at = counted_.names.index_of(sampled_names::variance(counted_.names[i]));
      if (at == counted_.names.size()) continue;
      double const half =
          of_step(row, sampled_names::deviations * square_root(sums_.value(row, at, scope)));
      double const now = given_[i];
      if (!(half > 0.0) || is_nan(now)) continue;
      given_[i] = now + half;
      formulas_.evaluate(given_.data(), timed_seconds(row), changed);
      given_[i] = now;
      for (std::size_t k = 0; k < results_.size(); ++k) {
        double const change = changed[k] - results_[k];
        if (is_finite(change)) errors_[k] += change * change;
      }
    }
    for (double& error : errors_) error = square_root(error);
  }

  /// Why the counting steps did other work than the timed ones; empty where it is the same.
  std::string why_other_work(std::size_t row, counter_scope scope,
                             pass_agreement::verdict const& counted) const {
    constexpr double tolerance = 0.1;  // of the launches: decoding varies a little
    double const launches = launches_in_step(row, scope);
    if (counted.what == pass_agreement::kind::unknown || !(launches > 0.0)) return {};
    if (counted.foreign != 0)
      return sentence("launches of other threads are counted with it and timed elsewhere: ")
             << counted.foreign;
    bool const fewer = counted.launches_max < (1.0 - tolerance) * launches;
    if (!fewer && counted.launches_min <= (1.0 + tolerance) * launches) return {};
    return sentence("a counted step launched ")
           << counted.launches_max << ", a timed one " << fixed_string(launches, 1);
  }

  /// Requires: results_ of the row and scope.
  counter_cell make_cell(std::size_t row, std::size_t column, counter_scope scope) {
    pass_agreement::verdict const work = work_.judge(row, scope, table_.metrics[column].passes);
    std::string why = why_empty(row, formulas_.inputs_of(column), scope);
    if (why.empty() && work.what == pass_agreement::kind::inconsistent) why = work.text();
    if (why.empty() && !is_finite(results_[column]))
      why = formulas_.why_no_quotient(column, divisors_[column]);
    if (!why.empty()) return {no_value, no_value, note(why)};
    counter_metric const& metric = table_.metrics[column];
    constexpr double most_error = 0.5;  // of a modelled value: a wider interval says little
    if (metric.method == counter_method::modelled &&
        errors_[column] > most_error * results_[column])
      return {no_value, no_value,
              note("not separable from other ranges: its interval reaches from nearly nothing to "
                   "far above, since steps are alike")};
    bool const by_time = metric.method == counter_method::counted_and_timed;
    if (by_time && !table_.is_timed_work(row, scope))
      return {no_value, no_value, table_.other_work[row * 2 + static_cast<std::size_t>(scope)]};
    if (metric.unit == "%" && results_[column] > most_share) {
      if (!by_time)
        return {no_value, no_value,
                note("above 100 %: its parts were counted in steps of different work")};
      table_.above_peak.push_back({row, column, results_[column]});
      return {no_value, no_value,
              note("above 100 %: units, clocks or the work of the steps differ")};
    }
    std::uint32_t const remark = note(remarks(row, column, scope, work));
    bool const rounded = metric.unit == "%" && results_[column] > 100.0;
    return {rounded ? 100.0 : results_[column],
            metric.method >= counter_method::sampled ? errors_[column] : no_value, remark};
  }

  /// The reason where an input has no value. An optional input that the chip has, but that was not
  /// counted, is no 0.
  std::string why_empty(std::size_t row, inputs const& from, counter_scope scope) const {
    if (while_running()) {
      if (sums_.counted(row, scope) == 0) return "not entered by the thread that was counted";
      if (scheduled_share(row, from, scope) > 0.0) return {};
      return "the hardware had no counter free in this time: ask for fewer, or end what else "
             "counts (the NMI watchdog, other profilers)";
    }
    bool const self = scope == counter_scope::self;
    if (is_sampled()) return why_not_sampled(row, from, scope);
    if (sums_.counted(row, scope) == 0) {
      device_work const& timed = self ? rows_[row].self : rows_[row].total;
      if (timed.kernels + timed.copies == 0) {
        return self ? "never launched anything itself" : "never launched anything";
      }
      if (std::string why = why_left_out(from); !why.empty()) return why;
      if (!from.counters.empty() || !from.uncounted.empty()) {
        return "not counted: another thread launched its work, or it did not run in counted steps";
      }
    }
    if (from.time && self) return "GPU busy time is known only with the ranges below";
    if (std::string why = why_left_out(from); !why.empty()) return why;
    if (!from.uncounted.empty()) {
      if (counted_.passes_done < counted_.passes) {
        return sentence("not reached: the program ended after ")
               << counted_.passes_done << " of " << counted_.passes << " counting steps";
      }
      return "CUPTI did not count " + from.uncounted;
    }
    for (std::size_t const counter : from.counters) {
      if (sums_.ranges(row, counter, scope) == 0) {
        return sentence("launched nothing in the step that counted ")
               << sums_.name(counter) << ", or CUPTI dropped it";
      }
      if (is_nan(sums_.value(row, counter, scope))) {
        return "CUPTI gave no value for " + sums_.name(counter);
      }
    }
    if (from.time && !source_.traced) return "GPU times were not traced";
    if (from.time && !(timed_seconds(row) > 0.0)) return "no GPU time in the timed steps";
    return {};
  }

  std::string why_not_sampled(std::size_t row, inputs const& from, counter_scope scope) const {
    if (std::string why = why_left_out(from); !why.empty()) return why;
    if (from.time && scope == counter_scope::self)
      return "GPU busy time is known only with the ranges below";
    if (sums_.counted(row, scope) == 0)
      return counted_.names.contains(sampled_names::work)
                 ? "no kernel or copy of it was recorded on the device that was sampled"
                 : "whose work it was is not known here: read it by strata report";
    if (!from.uncounted.empty()) return "not sampled: " + from.uncounted;
    for (std::size_t const counter : from.counters)
      if (sums_.ranges(row, counter, scope) == 0)
        return named_value(row, sampled_names::merged, scope) > 0.0
                   ? "not separable from ranges beside it: counted in the range above them"
                   : "nothing was sampled while its work ran";
    if (from.time && !(timed_seconds(row) > 0.0)) return "GPU times were not traced";
    return {};
  }

  /// The reason where an input was left out on purpose; empty where not.
  std::string why_left_out(inputs const& from) const {
    for (absent_metric const& counter : counted_.left_out)
      if (counter.key == from.uncounted) return counter.reason;
    return {};
  }

  /// Of a mean timed step, as are the launches.
  double timed_seconds(std::size_t row) const noexcept {
    auto const busy_ns = static_cast<double>(rows_[row].device_busy_ns);
    return steps_.per_step(busy_ns, rows_[row].step_busy_share) / 1e9;
  }
  double launches_in_step(std::size_t row, counter_scope scope) const noexcept {
    range_row const& timed = rows_[row];
    bool const self = scope == counter_scope::self;
    return steps_.per_step(self ? timed.self_launches_run : timed.launches_run,
                           self ? timed.step_self_launch_share : timed.step_launch_share);
  }
  /// An amount of a mean timed step in all of them.
  std::uint64_t in_timed_steps(double amount) const noexcept {
    return static_cast<std::uint64_t>(amount * static_cast<double>(table_.timed_steps) + 0.5);
  }

  /// The part of the time that perf's counters of a metric were on the hardware, by their times
  /// `X_running` and `X_enabled`; the least of several.
  double scheduled_share(std::size_t row, inputs const& from, counter_scope scope) const {
    constexpr std::string_view running = "_running.sum";
    double share = 1.0;
    for (std::size_t const counter : from.counters) {
      if (!ends_with(sums_.name(counter), running)) continue;
      std::string enabled = sums_.name(counter);
      enabled.replace(enabled.size() - running.size(), running.size(), "_enabled.sum");
      double part = 0.0;
      for (std::size_t const other : from.counters) {
        if (sums_.name(other) == enabled)
          part = sums_.value(row, counter, scope) / sums_.value(row, other, scope);
      }
      share = smaller(share, is_nan(part) ? 0.0 : part);
    }
    return share;
  }

  /// What to know about a value.
  std::string remarks(std::size_t row, std::size_t column, counter_scope scope,
                      pass_agreement::verdict const& work) const {
    counter_metric const& metric = table_.metrics[column];
    inputs const& from = formulas_.inputs_of(column);
    if (while_running()) {
      double const share = scheduled_share(row, from, scope);
      if (share >= 0.9995) return {};
      return sentence("scaled: the hardware counted ")
             << human_percent(share, 1.0) << " % of the time";
    }
    std::string text;
    auto const add = [&text](std::string_view more) { add_part(text, more, "; "); };
    if (is_sampled()) {
      double const all = named_value(row, sampled_names::work, scope);
      double const covered = named_value(row, sampled_names::covered, scope);
      double const shared = named_value(row, sampled_names::shared, scope);
      if (covered < 0.995 * all && metric.method == counter_method::sampled)
        add(sentence("scaled: ") << human_percent(covered, all) << " % of its work was sampled");
      if (shared > 0.005 * all)
        add(sentence("shared: other ranges' work ran during ")
            << human_percent(smaller(shared, all), all) << " % of it");
      return text;
    }
    add(work.text());
    if (metric.stand_in) add("stand-in: " + metric.formula);
    if (metric.key == "flop_per_hbm_byte") {
      if (formulas_.set().find("flop") == nullptr) add("operations of tensor cores only");
      if (formulas_.set().find("tensor_flop") == nullptr) add("without tensor cores");
    }
    std::uint32_t missing = 0;
    for (std::size_t const counter : from.counters) {
      std::uint32_t const ranges = sums_.ranges(row, counter, scope);
      std::uint32_t const counted = sums_.counted(row, scope);
      if (counted > ranges) missing = larger(missing, counted - ranges);
      if (sums_.combine(counter) == metric_combine::mean && ranges > 1)
        add(sentence("plain mean of ") << ranges << " ranges: CUPTI gives only the ratio");
    }
    if (missing > 0) {
      add(sentence("the counted steps differ: ")
          << missing << " of its ranges have no value in one of them");
    }
    if (from.time && work.what != pass_agreement::kind::unknown) {
      std::uint64_t const timed = in_timed_steps(launches_in_step(row, counter_scope::total));
      if (timed != work.launches_min * table_.timed_steps ||
          timed != work.launches_max * table_.timed_steps) {
        add(sentence("the counted step launched ")
            << work.launches_max << ", " << table_.timed_steps << " timed ones " << timed);
      }
    }
    if (from.time) {
      double const calls = static_cast<double>(rows_[row].host.count());
      add(time_remark(in_timed_steps(steps_.per_step(calls, rows_[row].step_call_share)),
                      metric.method));
    }
    bool const by_time = metric.method == counter_method::counted_and_timed;
    if (metric.unit == "%" && results_[column] > 100.0)
      add(sentence("100 for ") << fixed_string(results_[column], 1)
                               << (by_time ? ": the clocks of counted and timed steps differ"
                                           : ": the passes that counted its parts differ"));
    return text;
  }

  /// Of one of the counters by name; NaN where the set has none.
  double named_value(std::size_t row, std::string_view name, counter_scope scope) const {
    std::size_t const at = counted_.names.index_of(name);
    return at == counted_.names.size() ? no_value : sums_.value(row, at, scope);
  }

  std::string time_remark(std::uint64_t calls, counter_method method) const {
    std::uint64_t const steps = table_.timed_steps;
    std::string text = method == counter_method::timed ? "" : "counted in one step, ";
    if (steps == 1) {
      text += "GPU time of one timed step";
    } else {
      text += sentence("mean GPU time of ") << steps << " timed steps";
    }
    if (calls % steps != 0) {
      text += sentence("; calls differ from step to step: ")
              << calls << " in " << steps << " timed steps";
    }
    return text;
  }

  /// The position of a text in the table's notes; equal texts have one, the empty text has 0.
  std::uint32_t note(std::string const& text) {
    if (text.empty()) return 0;
    std::uint32_t& number = noted_[text];
    if (number == 0) {
      number = static_cast<std::uint32_t>(table_.notes.size());
      table_.notes.push_back(text);
    }
    return number;
  }

  static constexpr double no_value = std::numeric_limits<double>::quiet_NaN();

  profile const& source_;
  counter_set const& counted_;
  steps_summary const& steps_;
  vec<range_row> const& rows_;
  counter_sums sums_;
  pass_agreement work_;
  metric_formulas formulas_;
  vec<double> given_;          ///< values of the counters in one row and scope
  vec<double> results_;        ///< values of the metrics there
  vec<double> errors_;         ///< of sampled ones, how far they may be off
  vec<std::size_t> divisors_;  ///< of those without a value
  flat_map<std::string, std::uint32_t> noted_;
  counter_table table_;
};

}  // namespace detail

/// The counted values of a profile by the rows of its tree, folded or not; for counters of the GPU
/// with the rates that combine them with timed seconds of a mean step.
/// Cost: O(rows x metrics).
inline counter_table make_counter_table(profile const& source, call_tree const& tree,
                                        counter_set const& set, steps_summary const& steps) {
  return detail::counter_table_builder(source, tree, set, steps).build();
}

STRATA_END

#endif  // STRATA_TABLES_COUNTER_TABLE_HPP
