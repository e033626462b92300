#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_RUN_TABLES_HPP
#define STRATA_ANALYSE_RUN_TABLES_HPP

// What comparisons read of a run: of its recording here, of its profile.json in tools/.

#include <strata/base/macros.hpp>
#include <strata/profile.hpp>
#include "run_losses.hpp"
#include "run_period.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

STRATA_BEGIN

/// Where and how a run was made; 0 and an empty text are not known.
struct run_origin {
  std::string strata;  ///< the version that wrote it
  std::string command;
  std::string configuration;
  std::string host;
  std::string cpu;
  std::string started_at;
  std::int64_t started_at_unix_ns = 0;
  double driver_version = 0.0;
  double cupti_version = 0.0;
  std::int32_t rank = -1;
};

struct run_device {
  std::string name;
  double clock_khz = 0.0;
};

/// A recorded step. Units: ns.
struct run_step {
  double number = 0.0;
  double ns = 0.0;
  double end_ns = 0.0;
  double cpu_ns = 0.0;  ///< its thread ran on a CPU; 0: not known
  /// To the begin of the next step, on the GPU where steps only launch; NaN: not known.
  double period_ns = std::numeric_limits<double>::quiet_NaN();
};

/// The calls of a range or the launches of a kernel. Units: ns.
struct call_times {
  double count = 0.0;
  double total = 0.0;
  double mean = 0.0;
  double deviation = 0.0;
  double median = 0.0;
  double min = 0.0;
  double max = 0.0;
  double first_count = 0.0;  ///< in the first step
  double first_total = 0.0;
  bool knows_first = false;
};

/// A kernel in a range.
struct run_kernel {
  std::string path;
  std::string kernel;
  std::string demangled;
  call_times times;
  bool knows_collective = false;  ///< whether the next three were written; an older file lacks them
  std::string collective;         ///< all_reduce, ...; empty of others
  std::string algorithm;
  std::string protocol;
};

/// A range: the numbers of its row, by run_tables::columns; NaN is not known.
struct run_row {
  std::string path;
  std::string thread;
  std::string shape;
  std::string note;
  std::vector<double> numbers;
};

struct run_metric {
  std::string key;
  std::string unit;
  std::string formula;
  std::string level;
};

/// What was counted of a range, by the metrics of its set; NaN is not known.
struct run_counts {
  std::string path;
  std::vector<double> total;  ///< with the ranges below; empty: nothing is known
  double sm_cycles = 0.0;     ///< of the range itself
  double time_ns = 0.0;
};

/// The counters of the GPU, or of the CPU.
struct run_counter_set {
  bool of_gpu = false;
  std::vector<run_metric> metrics;
  std::vector<run_counts> rows;
};

/// A range in a mean step, as reports have it. Units: ns.
struct range_in_step {
  double host_ns = 0.0;
  double kernel_ns = 0.0;
  double busy_ns = 0.0;  ///< in which its kernels or copies ran
};

/// The tables of one run.
struct run_tables {
  static constexpr std::size_t no_column = static_cast<std::size_t>(-1);

  run_origin origin;
  bool traced = false;         ///< GPU work was recorded
  bool period_of_gpu = false;  ///< steps only launch: a step is its period on the GPU
  std::vector<run_device> devices;
  std::vector<run_step> steps;
  detail::run_losses losses;
  double steps_folded = 0.0;         ///< that `steps` does not have, and sums do
  std::vector<std::string> columns;  ///< of numbers of ranges, as in ranges.csv
  std::vector<run_row> ranges;
  std::vector<run_kernel> kernels;
  std::vector<run_counter_set> counters;
  run_period period;  ///< of a recording; of a profile.json only what its sums tell
  /// Of a recording, by path: with indices, and folded.
  std::unordered_map<std::string, range_in_step> in_step;

  /// Cost: linear in the columns.
  std::size_t column(std::string_view name) const noexcept;
  /// Whether the GPU worked and no time of it is known, as after an error of CUDA.
  bool lost_all_times() const noexcept;
  /// A number of a range; `otherwise` where it is not known.
  double number(run_row const& row, std::string_view name, double otherwise = 0.0) const noexcept;
};

/// The tables of a recording.
/// Cost: that of its reports without the predictions of findings.
run_tables make_run_tables(profile const& source);

STRATA_END

#endif  // STRATA_ANALYSE_RUN_TABLES_HPP
