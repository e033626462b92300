#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_COMPARABILITY_HPP
#define STRATA_ANALYSE_COMPARABILITY_HPP

#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/statistics.hpp>
#include <strata/base/text.hpp>
#include <strata/base/vec.hpp>
#include "profile_file.hpp"

#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>

STRATA_BEGIN
namespace detail {

/// Whether the times of runs can be distinguished by what was changed: a sentence for each
/// difference of machine, settings and work.
class comparability {
 public:
  /// `limit`: of a change, as a logarithm.
  comparability(vec<run_ranges> const& before, vec<run_ranges> const& after, double limit) {
    first_ = &before[0];
    for (vec<run_ranges> const* const side : {&before, &after})
      for (run_ranges const& run : *side)
        if (&run != first_) others_.push_back(&run);
    look_at_machines();
    look_at_environment();
    look_at_work();
    look_at_counters();
    look_at_cpus();
    look_at_windows(limit);
  }

  double clocks = 0;           // what other clocks of the same devices explain, as a logarithm
  vec<std::string> obstacles;  // times are not comparable
  vec<std::string> notes;      // sentences that decide nothing

 private:
  /// The first run that differs from the first of all; null where none does.
  template <class Read>
  run_ranges const* differing(Read const& read) const {
    auto const wanted = read(first_->file());
    for (run_ranges const* const run : others_)
      if (read(run->file()) != wanted) return run;
    return nullptr;
  }

  static constexpr double most_apart = 0.1;  // by which clocks of one machine differ; chosen
  /// Clocks that differ by little explain a little; devices or clocks of other kinds are an
  /// obstacle.
  void look_at_devices() {
    auto const devices = [](profile_file const& file) { return file.devices(); };
    run_ranges const* const other = differing(devices);
    if (other == nullptr) return;
    std::string const both =
        shown(devices(first_->file())) + " and " + shown(devices(other->file()));
    bool const same =
        differing([](profile_file const& file) { return file.device_names(); }) == nullptr;
    vec<double> const wanted = first_->file().device_clocks();
    for (run_ranges const* const run : others_) {
      vec<double> const found = run->file().device_clocks();
      for (std::size_t i = 0; same && i < found.size(); ++i)
        clocks = larger(clocks, std::abs(std::log(found[i] / wanted[i])));
    }
    if (same && clocks <= std::log1p(most_apart)) {
      notes.push_back("The clocks of the devices differ (" + both + "): up to " +
                      fixed_string(100 * std::expm1(clocks), 1) + " % more is allowed.");
      return;
    }
    clocks = 0;
    obstacles.push_back("the devices or their clocks differ (" + both +
                        "), so run both on the same machine");
  }
  /// The SMs' clock while the run counted, in Hz: a clock may be locked, or throttled; 0 where it
  /// did not count that.
  static double counted_clock(profile_file const& file) {
    json_document const& json = file.json();
    json_node const counters = json.find(json.root(), "counters");
    double cycles = 0;
    double ns = 0;
    file.for_each_in(counters, "values", [&](json_node row) {
      json_node const own = json.find(row, "self");
      double const row_cycles = json.number(json.find(own, "sm_cycles"));
      double const row_ns = json.number(json.find(own, "time_ns"));
      if (!(row_cycles > 0 && row_ns > 0)) return;
      cycles += row_cycles;
      ns += row_ns;
    });
    return ns > 0 ? cycles / ns * 1e9 : 0;
  }
  void look_at_counted_clocks() {
    constexpr double rounding = 0.01;  // between two countings of one clock; chosen
    double const wanted = counted_clock(first_->file());
    for (run_ranges const* const run : others_) {
      double const found = counted_clock(run->file());
      if (!(wanted > 0 && found > 0)) continue;
      double const apart = std::abs(std::log(found / wanted));
      if (apart <= std::log1p(rounding) || apart <= clocks) continue;
      std::string const both =
          fixed_string(wanted / 1e6, 0) + " and " + fixed_string(found / 1e6, 0) + " MHz";
      if (apart > std::log1p(most_apart)) {
        obstacles.push_back("the clocks of the SMs differ where they were counted (" + both +
                            "), so lock them (nvidia-smi -lgc), or wait until the GPU is cool");
        return;
      }
      clocks = apart;
      notes.push_back("The clocks of the SMs differ where they were counted (" + both +
                      "): up to " + fixed_string(100 * std::expm1(apart), 1) +
                      " % more is allowed.");
    }
  }
  void look_at_machines() {
    look_at_devices();
    if (obstacles.empty()) look_at_counted_clocks();
    auto const cpu = [](profile_file const& file) { return file.text("environment", "cpu"); };
    if (run_ranges const* const other = differing(cpu))
      obstacles.push_back("the processors differ (" + std::string(cpu(first_->file())) + " and " +
                          std::string(cpu(other->file())) + "), so run both on the same machine");
    if (differing([](profile_file const& file) { return file.traced(); }) != nullptr)
      obstacles.push_back(
          "one run was traced and the other was not, so use the same STRATA for both");
  }

  static std::string shown(std::string_view text) {
    return text.empty() ? std::string("none") : std::string(text);
  }

  static std::string version_of(double number, double major, double minor) {
    if (!(number > 0)) return {};
    double const whole = std::floor(number / major);
    return fixed_string(whole, 0) + "." +
           fixed_string(std::floor((number - whole * major) / minor), 0);
  }

  /// The settings of STRATA without those that say where and how a run is written.
  static std::string measured_settings(std::string_view settings) {
    std::string kept;
    while (!settings.empty()) {
      std::size_t const end = smaller(settings.find(','), settings.size());
      std::string_view const item = trimmed(settings.substr(0, end));
      settings.remove_prefix(smaller(end + 1, settings.size()));
      std::string_view const key = trimmed(item.substr(0, item.find_first_of("=:")));
      if (item.empty() || key == "out" || key == "formats") continue;
      add_part(kept, item, ",");
    }
    return kept;
  }

  template <class Read>
  void note(char const* what, Read const& read) {
    if (run_ranges const* const other = differing(read))
      notes.push_back(std::string(what) + " differ: " + shown(read(first_->file())) + " and " +
                      shown(read(other->file())) + ".");
  }

  void look_at_environment() {
    note("The drivers", [](profile_file const& file) {
      return version_of(file.number("environment", "driver_version"), 1000, 10);
    });
    note("The versions of CUPTI", [](profile_file const& file) {
      return version_of(file.number("environment", "cupti_version"), 10000, 100);
    });
    note("The versions of Strata",
         [](profile_file const& file) { return file.text("schema", "strata"); });
    note("The commands",
         [](profile_file const& file) { return file.text("environment", "command"); });
    note("The STRATA settings", [](profile_file const& file) {
      return measured_settings(file.text("environment", "configuration"));
    });
    note("The hosts", [](profile_file const& file) { return file.text("environment", "host"); });
  }

  /// Metrics of one name that are made of other counters are not laid side by side.
  void look_at_counters() {
    std::size_t others = 0;
    std::string_view example;
    for (counted_metric const& metric : first_->metrics) {
      bool differs = false;
      for (run_ranges const* const run : others_)
        for (counted_metric const& other : run->metrics)
          differs = differs || (other.key == metric.key && other.formula != metric.formula);
      if (differs && ++others == 1) example = metric.key;
    }
    if (others > 0)
      notes.push_back(sentence("Counters differ, and are not compared: ")
                      << others << (others == 1 ? " metric, " : " metrics, of which the first is ")
                      << example << '.');
  }

  /// A thread that has less of a CPU takes longer for the same work.
  void look_at_cpus() {
    constexpr double least = 0.1;  // of a step; chosen
    double const first = first_->file().cpu_share();
    for (run_ranges const* const run : others_) {
      double const other = run->file().cpu_share();
      if (!(first > 0 && other > 0) || std::abs(first - other) < least) continue;
      notes.push_back("The thread of the steps has a CPU for " + fixed_string(100 * first, 0) +
                      " % of them in one run and for " + fixed_string(100 * other, 0) +
                      " % in another.");
      return;
    }
  }

  /// The first and the last number of a run's steps, and how many there are.
  static std::string window_of(run_ranges const& run) {
    vec<double> const& all = run.step_numbers;
    if (all.empty()) return "none";
    double first = all[0];
    double last = all[0];
    for (double const number : all) {
      first = smaller(first, number);
      last = larger(last, number);
    }
    return sentence() << all.size() << " from " << fixed_string(first, 0) << " to "
                      << fixed_string(last, 0);
  }
  /// How much later steps differ from earlier ones beyond their noise, as a logarithm.
  static double drift_of(run_ranges const& run) {
    constexpr std::size_t fewest = 10;  // steps; chosen
    constexpr double certain = 4;       // deviations; chosen
    vec<double> const& all = run.steps_ms;
    if (all.size() < fewest) return 0;
    vec<double> halves[2];
    vec<double> changes;  // from one step to the next: noise without drift, twice
    for (std::size_t i = 1; i < all.size(); ++i) {
      if (!(all[i] > 0)) continue;
      halves[2 * i < all.size() ? 0 : 1].push_back(std::log(all[i]));
      if (i > 1 && all[i - 1] > 0) changes.push_back(std::log(all[i] / all[i - 1]));
    }
    if (halves[0].empty() || halves[1].empty()) return 0;
    auto const count = static_cast<double>(smaller(halves[0].size(), halves[1].size()));
    double const noise = robust_deviation(changes) * std::sqrt(1.5708 / count);
    return larger(0.0, std::abs(median(halves[1]) - median(halves[0])) - certain * noise);
  }
  /// Steps that drift are only comparable to those of the same number.
  void look_at_windows(double limit) {
    for (run_ranges const* const run : others_) {
      if (run->step_numbers == first_->step_numbers) continue;
      std::string const both = window_of(*first_) + ", and " + window_of(*run);
      double const drift = larger(drift_of(*first_), drift_of(*run));
      if (drift > limit / 2) {
        obstacles.push_back("the runs recorded other steps (" + both + "), and steps drift by " +
                            fixed_string(100 * std::expm1(drift), 1) +
                            " % within a run, so record the same ones (active=, warmup=)");
        return;
      }
      if (first_->step_numbers.size() == run->step_numbers.size())
        notes.push_back("The runs recorded other steps: " + both + ".");
      return;
    }
  }

  /// What ranges of one path had to do: sums a step, and texts.
  void look_at_work() {
    note_work("calls", "numbers of calls");
    note_work("kernels", "numbers of kernels");
    note_work("launches", "numbers of launches");
    for (char const* const copied : {"h2d_bytes", "d2h_bytes", "d2d_bytes"})
      note_work(copied, "copied bytes");
    note_work("flops", "declared operations");
    note_work("bytes", "declared bytes");
    for (char const* const column : {"tokens", "shape"}) {
      std::string const difference = first_difference(column);
      if (!difference.empty())
        obstacles.push_back("the work differs (" + std::string(column) + " of " + difference +
                            "), so compare runs of the same model and batch");
    }
    std::string const texts = first_difference("note");
    if (!texts.empty()) notes.push_back("The note of a range differs: " + texts + ".");
  }

  void note_work(char const* column, char const* what) {
    std::size_t differing_ranges = 0;
    std::string example;
    for (run_range const& range : first_->all)
      for (run_ranges const* const run : others_) {
        run_range const* const other = run->find(range.path);
        if (other == nullptr) continue;
        double const a = first_->sum(range, column);
        double const b = run->sum(*other, column);
        // Work outside the steps is the same in all, not in each step.
        double const all_a = a * first_->steps();
        double const all_b = b * run->steps();
        if (alike(a, b) || alike(all_a, all_b)) continue;
        if (++differing_ranges == 1)
          example = range.path + " (" + significant(a) + " and " + significant(b) + ")";
        break;
      }
    if (differing_ranges > 0)
      notes.push_back(sentence("The ")
                      << what << " a step differ in " << differing_ranges
                      << (differing_ranges == 1 ? " range: " : " ranges, of which the first is ")
                      << example << '.');
  }
  static bool alike(double a, double b) { return std::abs(a - b) <= 1e-3 * larger(a, b); }

  /// The first range whose text or number a step differs: "path: a and b".
  std::string first_difference(char const* column) const {
    for (run_range const& range : first_->all)
      for (run_ranges const* const run : others_) {
        run_range const* const other = run->find(range.path);
        if (other == nullptr) continue;
        std::string_view const a = text_of(*first_, range, column);
        std::string_view const b = text_of(*run, *other, column);
        bool const varied = a.size() > 3 && a.substr(a.size() - 3) == "...";  // of the last call
        if (a != b && !varied)
          return range.path + ": '" + std::string(a) + "' and '" + std::string(b) + "'";
        double const x = first_->sum(range, column);
        double const y = run->sum(*other, column);
        if (!alike(x, y) && !alike(x * first_->steps(), y * run->steps()))
          return range.path + ": " + significant(x) + " and " + significant(y) + " a step";
      }
    return {};
  }
  static std::string_view text_of(run_ranges const& run, run_range const& range,
                                  char const* column) {
    json_document const& json = run.file().json();
    return json.text(json.find(range.rows[0], column));
  }

  run_ranges const* first_;
  vec<run_ranges const*> others_;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_ANALYSE_COMPARABILITY_HPP
