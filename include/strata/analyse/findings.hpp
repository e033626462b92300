#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_FINDINGS_HPP
#define STRATA_ANALYSE_FINDINGS_HPP

#include <strata/analyse/call_tree.hpp>
#include <strata/analyse/counter_table.hpp>
#include <strata/analyse/kernel_table.hpp>
#include <strata/analyse/occupancy.hpp>
#include <strata/analyse/roofline.hpp>
#include <strata/analyse/steps.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/text.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

STRATA_BEGIN

/// A value that a finding rests on: where it is in the files.
struct finding_evidence {
  std::string path;         ///< of the range; "" is the whole step
  std::string_view column;  ///< as in the CSV files, or of this analysis
  double value = 0.0;
  std::string_view unit;
};

/// What of its range gets shorter without a finding.
enum class finding_part : std::uint8_t {
  none,           ///< that is not known
  kernels,        ///< its own, by the cost of the finding
  kernels_below,  ///< those of the ranges below it too
  copies,
  launches,
  host_work,
  waits,
  allocations,
  order  ///< the times in which streams wait for each other
};

/// What is wrong, and what it costs.
struct finding {
  std::string_view rule;  ///< stable id, as in docs/findings.md
  std::string title;      ///< one sentence
  std::string path;       ///< of the range, folded; "" is outside of ranges or the whole step
  std::size_t row = 0;    ///< of the folded tree
  double cost_ns_per_step = 0.0;  ///< the most that could be gained; 0: the numbers are in doubt
  vec<finding_evidence> evidence;
  std::string_view advice;  ///< what to try
  std::string_view needs;   ///< `counters=...` that would tell more; "" where nothing would
  finding_part part = finding_part::none;  ///< of the range
  /// The step without this finding alone (what_if.hpp); NaN where that is unknown.
  double predicted_step_ns = std::numeric_limits<double>::quiet_NaN();
};

/// A rule that could not decide.
struct undecided_rule {
  std::string_view rule;
  std::string_view needs;
};

/// What the rules say of a profile.
struct findings_table {
  std::string bound;      ///< one sentence: what bounds the step
  vec<finding> findings;  ///< what gains most first
  vec<undecided_rule> undecided;
};

/// Everything that the rules look at; it refers to its parts.
struct findings_input {
  profile const& source;
  vec<range_row> const& rows;      ///< of the folded tree
  vec<kernel_row> const& kernels;  ///< of the folded tree
  steps_summary const& steps;
  roofline_table const& roofline;
  counter_table const* counters;   ///< of the rows; null where nothing was counted
  call_tree const& tree;           ///< the folded one
  vec<range_row> const& by_index;  ///< of the tree that is not folded
};

namespace detail {

class finding_rules;

/// A rule as documentation and reports name it.
struct finding_rule {
  std::string_view id;
  std::string_view advice;
  std::string_view needs;  ///< the counters without which `look` is false
  bool (finding_rules::*look)(finding_rule const&);
  finding_part part;
  idle_cause cause = idle_cause::launch;
  bool apart = false;  ///< a second kind of the same look
};

/// What the rules share: what they look at, and what they found.
class finding_context {
 protected:
  explicit finding_context(findings_input const& input)
      : in_(input), rows_(input.rows), explained_(input.rows.size(), 0.0) {
    step_ns_ = input.steps.typical_ns();
    if (!input.source.environment.devices.empty()) {
      profile_device const& device = input.source.environment.devices[0];
      multiprocessors_ = device.multiprocessors;
      sm_ = limits_of(device);
    }
  }

  static constexpr double least_share = 0.01;       ///< of a step: what costs less is not said
  static constexpr std::size_t most_of_a_rule = 4;  ///< ranges

  finding& add(finding_rule const& by, std::size_t row, double cost, std::string title) {
    finding made;
    made.rule = by.id;
    made.title = std::move(title);
    made.row = row;
    made.path = rows_[row].path;
    made.cost_ns_per_step = smaller(cost, step_ns_);
    made.advice = by.advice;
    made.part = by.part;
    made_.findings.push_back(std::move(made));
    return made_.findings.back();
  }
  /// Of one range's kernels: what is explained is not said again by the rules further down.
  finding& add_kernels(finding_rule const& by, std::size_t row, double cost, std::string title) {
    explained_[row] += cost;
    return add(by, row, cost, std::move(title));
  }
  static void prove(finding& of, std::string_view column, double value, std::string_view unit) {
    of.evidence.push_back({of.path, column, value, unit});
  }
  // Literals: where they are made a std::string_view, each of two hundred places is a call more.
  static void prove(finding& of, char const* column, double value, char const* unit) {
    prove(of, std::string_view(column), value, std::string_view(unit));
  }
  /// By a counted value of the range's own kernels.
  void prove_own(finding& of, std::size_t row, char const* key, char const* unit) const {
    prove(of, key, own(row, key), unit);
  }

  bool is_dear(double ns) const noexcept { return ns >= least_share * step_ns_; }
  /// The GPUs that worked, as a subject: "the GPU", "the 2 GPUs".
  std::string gpus() const {
    std::size_t const worked = in_.roofline.devices;
    if (worked == 1) return "the GPU";
    return sentence("the ") << worked << " GPUs";
  }
  bool has_device_work() const noexcept { return rows_[0].gpu_busy_ns > 0; }
  double per_step(std::size_t row, double total) const noexcept {
    return in_.steps.per_step(total, rows_[row].step_share);
  }
  template <class Integer>
  double per_step(std::size_t row, Integer total) const noexcept {
    return per_step(row, static_cast<double>(total));
  }
  double own(std::size_t row, std::string_view key) const noexcept {
    return counted_value(in_.counters, row, key, counter_scope::self);
  }
  double own(std::size_t row, char const* key) const noexcept {
    return own(row, std::string_view(key));
  }
  /// Operations of the tensor cores in a step, of the formats that were counted; NaN where none
  /// was.
  double tensor_flops(std::size_t row, counter_scope scope) const noexcept {
    double sum = std::numeric_limits<double>::quiet_NaN();
    for (tensor_format const& each : tensor_formats) {
      double const flops = counted_value(in_.counters, row, each.key, scope);
      if (known(flops)) sum = known(sum) ? sum + flops : flops;
    }
    return sum;
  }
  static bool known(double value) noexcept { return is_finite(value); }
  range_limit const& load(std::size_t row) const noexcept { return in_.roofline.own[row]; }
  double roof_bytes_ns(double bytes, std::string_view level) const noexcept {
    return bytes / in_.roofline.rate_of(level) * 1e9;
  }
  static std::string time(double ns) { return time_text(ns); }
  static std::string percent(double fraction) {
    constexpr double most = 1e4;  // what is above it has a wrong unit, or no end
    if (!known(fraction) && !(fraction > most)) return "an unknown part";
    if (fraction > most) return "more than 1000000 %";
    return fixed_string(100.0 * fraction, 0) + " %";
  }
  static std::string count(double value) {
    constexpr double most = 1e15;
    if (!(value < most)) return "more than 10^15";
    return value < 9.95 && rounded_down(value) != value
               ? fixed_string(value, 1)
               : in_groups(static_cast<std::uint64_t>(value + 0.5));
  }
  /// "3 kernels"; `one` and `many` are what one and several are called.
  static std::string count(double value, char const* one, char const* many) {
    std::string const number = count(value);
    return sentence(number) << ' ' << (number == "1" ? one : many);
  }

  findings_input const& in_;
  vec<range_row> const& rows_;
  vec<double> explained_;  ///< by row: cost that rules found in its kernels
  double step_ns_ = 0.0;
  double multiprocessors_ = 0.0;
  sm_limits sm_;
  findings_table made_;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_ANALYSE_FINDINGS_HPP
