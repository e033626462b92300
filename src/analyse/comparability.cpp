#include "comparability.hpp"

#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/text.hpp>
#include "change_statistics.hpp"
#include "run_ranges.hpp"
#include "run_tables.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

STRATA_BEGIN
namespace detail {
namespace {

std::string device_names(run_tables const& run) {
  std::string all;
  for (run_device const& device : run.devices) add_part(all, device.name, "; ");
  return all;
}
/// Units: kHz.
std::vector<double> device_clocks(run_tables const& run) {
  std::vector<double> all;
  for (run_device const& device : run.devices) all.push_back(device.clock_khz);
  return all;
}

/// Whether the times of runs can be distinguished by what was changed: a sentence for each
/// difference of machine, settings and work.
class difference_finder {
 public:
  explicit difference_finder(compared_runs const& runs)
      : runs_(runs), lacks_periods_(runs.lacks_periods) {
    first_ = &runs.before[0];
    for (std::vector<run_ranges> const* const side : {&runs.before, &runs.after})
      for (run_ranges const& run : *side)
        if (&run != first_) others_.push_back(&run);
  }

  comparability find(double limit) {
    look_at_losses();
    look_at_machines();
    look_at_environment();
    look_at_work();
    look_at_counters();
    look_at_cpus();
    look_at_windows(limit);
    look_at_periods();
    return std::move(made_);
  }

 private:
  /// The first run that differs from the first of all; null if none does.
  template <class Read>
  run_ranges const* differing(Read const& read) const {
    auto const wanted = read(first_->tables());
    for (run_ranges const* const run : others_)
      if (read(run->tables()) != wanted) return run;
    return nullptr;
  }

  void look_at_losses() {
    for (std::size_t r = 0; r < runs_.size(); ++r) {
      if (!runs_.run(r).tables().lost_all_times()) continue;
      made_.obstacles.push_back(std::string("a run ") + (runs_.is_later(r) ? "after" : "before") +
                                " lost all its GPU times (" + runs_.losses(r).device_text +
                                "), most often since the program met an error of CUDA");
      return;
    }
  }

  static constexpr double most_apart = 0.1;  // by which clocks of one machine differ; chosen
  /// Clocks that differ by little explain a little; devices or clocks of other kinds are an
  /// obstacle.
  void look_at_devices() {
    auto const devices = [](run_tables const& file) { return devices_text(file); };
    run_ranges const* const other = differing(devices);
    if (other == nullptr) return;
    std::string const both =
        shown(devices(first_->tables())) + " and " + shown(devices(other->tables()));
    bool const same =
        differing([](run_tables const& file) { return device_names(file); }) == nullptr;
    std::vector<double> const wanted = device_clocks(first_->tables());
    for (run_ranges const* const run : others_) {
      std::vector<double> const found = device_clocks(run->tables());
      for (std::size_t i = 0; same && i < found.size(); ++i)
        made_.clocks = std::max(made_.clocks, std::abs(std::log(found[i] / wanted[i])));
    }
    if (same && made_.clocks <= std::log1p(most_apart)) {
      made_.notes.push_back("The clocks of the devices differ (" + both + "): up to " +
                            fixed_string(100 * std::expm1(made_.clocks), 1) +
                            " % more is allowed.");
      return;
    }
    made_.clocks = 0;
    made_.obstacles.push_back("the devices or their clocks differ (" + both +
                              "), so run both on the same machine");
  }
  /// The SMs' clock while the run counted, in Hz: a clock may be locked, or throttled; 0 where it
  /// did not count that.
  static double counted_clock(run_tables const& run) {
    double cycles = 0;
    double ns = 0;
    for (run_counter_set const& set : run.counters)
      for (run_counts const& row : set.rows) {
        if (!set.of_gpu || !(row.sm_cycles > 0 && row.time_ns > 0)) continue;
        cycles += row.sm_cycles;
        ns += row.time_ns;
      }
    return ns > 0 ? cycles / ns * 1e9 : 0;
  }
  void look_at_counted_clocks() {
    constexpr double rounding = 0.01;  // between two countings of one clock; chosen
    double const wanted = counted_clock(first_->tables());
    for (run_ranges const* const run : others_) {
      double const found = counted_clock(run->tables());
      if (!(wanted > 0 && found > 0)) continue;
      double const apart = std::abs(std::log(found / wanted));
      if (apart <= std::log1p(rounding) || apart <= made_.clocks) continue;
      std::string const both =
          fixed_string(wanted / 1e6, 0) + " and " + fixed_string(found / 1e6, 0) + " MHz";
      if (apart > std::log1p(most_apart)) {
        made_.obstacles.push_back(
            "the clocks of the SMs differ where they were counted (" + both +
            "), so lock them (nvidia-smi -lgc), or wait until the GPU is cool");
        return;
      }
      made_.clocks = apart;
      made_.notes.push_back("The clocks of the SMs differ where they were counted (" + both +
                            "): up to " + fixed_string(100 * std::expm1(apart), 1) +
                            " % more is allowed.");
    }
  }
  void look_at_machines() {
    look_at_devices();
    if (made_.obstacles.empty()) look_at_counted_clocks();
    auto const cpu = [](run_tables const& file) { return file.origin.cpu; };
    if (run_ranges const* const other = differing(cpu))
      made_.obstacles.push_back("the processors differ (" + cpu(first_->tables()) + " and " +
                                cpu(other->tables()) + "), so run both on the same machine");
    if (differing([](run_tables const& file) { return file.traced; }) != nullptr)
      made_.obstacles.push_back(
          "one run was traced and the other was not, so use the same STRATA for both");
  }

  /// Of a step that only launches, the host's time says how fast it launches.
  void look_at_periods() {
    if (lacks_periods_)
      made_.obstacles.push_back(
          "steps only launch, and the GPU's time of each is not known of all runs, so run both "
          "with this Strata, or compare recordings (profile.strata)");
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
      std::size_t const end = std::min(settings.find(','), settings.size());
      std::string_view const item = trimmed(settings.substr(0, end));
      settings.remove_prefix(std::min(end + 1, settings.size()));
      std::string_view const key = trimmed(item.substr(0, item.find_first_of("=:")));
      if (item.empty() || key == "out" || key == "formats") continue;
      add_part(kept, item, ",");
    }
    return kept;
  }

  template <class Read>
  void note(char const* what, Read const& read) {
    if (run_ranges const* const other = differing(read))
      made_.notes.push_back(std::string(what) + " differ: " + shown(read(first_->tables())) +
                            " and " + shown(read(other->tables())) + ".");
  }

  void look_at_environment() {
    note("The drivers",
         [](run_tables const& file) { return version_of(file.origin.driver_version, 1000, 10); });
    note("The versions of CUPTI",
         [](run_tables const& file) { return version_of(file.origin.cupti_version, 10000, 100); });
    note("The versions of Strata", [](run_tables const& file) { return file.origin.strata; });
    note("The commands", [](run_tables const& file) { return file.origin.command; });
    note("The STRATA settings",
         [](run_tables const& file) { return measured_settings(file.origin.configuration); });
    note("The hosts", [](run_tables const& file) { return file.origin.host; });
  }

  /// Metrics of one name that are made of other counters are not laid side by side.
  void look_at_counters() {
    std::size_t others = 0;
    std::string_view example;
    metric_formulas_of_runs formulas;
    for (run_ranges const* const run : others_) formulas.add(*run);
    for (counted_metric const& metric : first_->metrics)
      if (formulas.differ_from(metric) && ++others == 1) example = metric.metric->key;
    if (others > 0)
      made_.notes.push_back(sentence("Counters differ, and are not compared: ")
                            << others << (others == 1 ? " metric, " : " metrics, such as ")
                            << example << '.');
  }

  /// A thread that has less of a CPU takes longer for the same work.
  void look_at_cpus() {
    constexpr double least = 0.1;  // of a step; chosen
    double const first = cpu_share(first_->tables());
    for (run_ranges const* const run : others_) {
      double const other = cpu_share(run->tables());
      if (!(first > 0 && other > 0) || std::abs(first - other) < least) continue;
      made_.notes.push_back("The thread of the steps has a CPU for " +
                            fixed_string(100 * first, 0) + " % of them in one run and for " +
                            fixed_string(100 * other, 0) + " % in another.");
      return;
    }
  }

  /// The first and the last number of a run's steps, and how many there are.
  static std::string window_of(run_ranges const& run) {
    std::vector<double> const& all = run.step_numbers;
    if (all.empty()) return "none";
    double first = all[0];
    double last = all[0];
    for (double const number : all) {
      first = std::min(first, number);
      last = std::max(last, number);
    }
    return sentence() << all.size() << " from " << fixed_string(first, 0) << " to "
                      << fixed_string(last, 0);
  }
  /// How much later steps differ from earlier ones beyond their noise, as a logarithm.
  static double drift_of(run_ranges const& run) {
    constexpr std::size_t fewest = 10;  // steps; chosen
    constexpr double certain = 4;       // deviations; chosen
    std::vector<double> const& all = run.steps_ms;
    if (all.size() < fewest) return 0;
    std::vector<double> halves[2];
    std::vector<double> changes;  // from one step to the next: noise without drift, twice
    for (std::size_t i = 1; i < all.size(); ++i) {
      if (!(all[i] > 0)) continue;
      halves[2 * i < all.size() ? 0 : 1].push_back(std::log(all[i]));
      if (i > 1 && all[i - 1] > 0) changes.push_back(std::log(all[i] / all[i - 1]));
    }
    if (halves[0].empty() || halves[1].empty()) return 0;
    auto const count = static_cast<double>(std::min(halves[0].size(), halves[1].size()));
    double const noise = robust_deviation(changes) * std::sqrt(median_loss / count);
    return std::max(0.0, std::abs(median(halves[1]) - median(halves[0])) - certain * noise);
  }
  /// Steps that drift are only comparable to those of the same number.
  void look_at_windows(double limit) {
    for (run_ranges const* const run : others_) {
      if (run->step_numbers == first_->step_numbers) continue;
      std::string const both = window_of(*first_) + ", and " + window_of(*run);
      double const drift = std::max(drift_of(*first_), drift_of(*run));
      if (drift > limit / 2) {
        made_.obstacles.push_back("the runs recorded other steps (" + both +
                                  "), and steps drift by " +
                                  fixed_string(100 * std::expm1(drift), 1) +
                                  " % within a run, so record the same ones (active=, warmup=)");
        return;
      }
      if (first_->step_numbers.size() == run->step_numbers.size())
        made_.notes.push_back("The runs recorded other steps: " + both + ".");
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
      std::string run_row::*const text =
          std::string_view(column) == "shape" ? &run_row::shape : nullptr;
      std::string const difference = first_difference(column, text);
      if (!difference.empty())
        made_.obstacles.push_back("the work differs (" + std::string(column) + " of " + difference +
                                  "), so compare runs of the same model and batch");
    }
    std::string const texts = first_difference("note", &run_row::note);
    if (!texts.empty()) made_.notes.push_back("The note of a range differs: " + texts + ".");
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
      made_.notes.push_back(sentence("The ")
                            << what << " a step differ in " << differing_ranges
                            << (differing_ranges == 1 ? " range: " : " ranges, such as ") << example
                            << '.');
  }
  static bool alike(double a, double b) { return std::abs(a - b) <= 1e-3 * std::max(a, b); }

  /// The first range whose text or number a step differs: "path: a and b".
  std::string first_difference(char const* column, std::string run_row::*text) const {
    for (run_range const& range : first_->all)
      for (run_ranges const* const run : others_) {
        run_range const* const other = run->find(range.path);
        if (other == nullptr) continue;
        if (text != nullptr) {
          std::string const& a = range.rows[0]->*text;
          std::string const& b = other->rows[0]->*text;
          bool const varied = a.size() > 3 && a.substr(a.size() - 3) == "...";  // of the last call
          if (a != b && !varied) return range.path + ": '" + a + "' and '" + b + "'";
        }
        double const x = first_->sum(range, column);
        double const y = run->sum(*other, column);
        if (!alike(x, y) && !alike(x * first_->steps(), y * run->steps()))
          return range.path + ": " + significant(x) + " and " + significant(y) + " a step";
      }
    return {};
  }

  compared_runs const& runs_;
  run_ranges const* first_;
  std::vector<run_ranges const*> others_;
  bool lacks_periods_;
  comparability made_;
};

}  // namespace

comparability find_differences(compared_runs const& runs, double limit) {
  return difference_finder(runs).find(limit);
}

}  // namespace detail
STRATA_END
