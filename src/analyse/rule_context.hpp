#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_RULE_CONTEXT_HPP
#define STRATA_ANALYSE_RULE_CONTEXT_HPP

// What all rules look at: a profile by its amounts in a mean step.

#include <strata/base/macros.hpp>
#include <strata/profile.hpp>
#include <strata/tables/counter_table.hpp>
#include <strata/tables/kernel_table.hpp>
#include <strata/tables/range_rows.hpp>
#include "findings.hpp"
#include "gains.hpp"
#include "occupancy.hpp"
#include "roofline.hpp"
#include "rules.hpp"
#include "run_losses.hpp"
#include "speed_of_light.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

STRATA_BEGIN
namespace detail {

// Of all rules, chosen: parts of a step.
/// What costs less in one range does not count with the others.
inline constexpr double least_share_of_range = 0.002;
/// Ranges of which a finding has the evidence; findings of doubt that a rule has.
inline constexpr std::size_t most_of_a_rule = 4;
/// What is lost of the records says nothing of the rest from this part on.
inline constexpr double least_lost = 0.01;

/// "42 %". No share is above 100 %: one that is shows that its parts are not of the same work.
std::string percent_text(double fraction);
/// "3", "2.5", "1,200".
std::string amount_text(double value);
/// "3 kernels"; `one` and `many` are what one and several are called.
std::string amount_text(double value, char const* one, char const* many);
/// A sum of parts that make a whole number is one; any other value as it is.
double whole_if_near(double value) noexcept;

/// What the thread of a mean step has of a CPU, of the steps of which that is known, without the
/// first one.
struct cpu_of_step {
  double steps = 0.0;  ///< of which it is known
  double wall_ns = 0.0;
  double cpu_ns = 0.0;
  double voluntary = 0.0;
  double involuntary = 0.0;
  double taken = 0.0;  ///< steps in which another thread took a good part of it

  double off_ns() const noexcept { return wall_ns > cpu_ns ? wall_ns - cpu_ns : 0.0; }
  /// Whether the GPU waits for the thread's own code in a step for longer than it has a CPU: it
  /// cannot have computed all that time.
  bool sleeps(double idle_ns) const noexcept {
    constexpr double gives_it_up = 0.5;  // times a step: others may take the CPU, too; chosen
    return steps > 0.0 && idle_ns > cpu_ns && voluntary >= gives_it_up;
  }
};

/// A profile as the rules look at it.
/// Threads: the rules only read it; the judge adds claims to `gains` between them.
class rule_context {
 public:
  /// `input`: it has to outlive this.
  explicit rule_context(findings_input const& input);

  findings_input const& in;
  vec<range_row> const& rows;
  double const step_ns;  ///< the period: costs are parts of it
  run_losses const losses;
  cpu_of_step const cpu;
  kernel_counter_table const kernel_counters;  ///< of the kernels, by their rows
  std::vector<profile_device const*> worked;
  gain_judge gains;
  /// The same run, of which each kernel that was counted by itself is a range; null without one.
  rule_context const* by_kernel = nullptr;
  std::vector<bool> migrating;    ///< by row: whether managed memory explains its idle time
  double multiprocessors = 0.0;   ///< that all kernels may use; 0 is not known
  double blocks_of_memory = 0.0;  ///< that draw all of device memory's rate; 0 is not known
  sm_limits sm;

  candidate candidate_of(std::size_t row, double cost_ns, std::string title = {}) const;
  candidate candidate_of_step(double cost_ns, std::string title) const;
  /// Of a range's own kernels, whose time no later rule gains again.
  candidate candidate_of_kernels(std::size_t row, double gain_ns, std::string title = {}) const;
  /// Evidence: a counted value of the range's own kernels.
  void prove_own(candidate& made, std::string_view key, std::string_view unit) const;
  /// Evidence: the use of a unit.
  void prove_use(candidate& made, gpu_unit unit) const;

  /// What would decide a rule that needs these counters. Where the run has counters of that key and
  /// left out others because of CUDA graphs, it is to switch these off; where they were counted for
  /// `row`, a range of several kernels, each kernel by itself would.
  undecided_rule what_decides(deciding needs, std::size_t row = 0) const;
  /// The same of a rule for which no range has a value of `metric`: why a run that was asked for it
  /// has none.
  undecided_rule what_decides_without(std::string_view metric, deciding needs) const;

  bool is_expensive(double ns) const noexcept { return ns >= least_share * step_ns; }
  bool is_worth(double ns) const noexcept { return ns >= least_share_of_range * step_ns; }

  /// Behind the last row below a row.
  std::size_t end_of(std::size_t row) const noexcept { return ends_[row]; }
  /// Whether a row is another one, or lies below it.
  bool is_in(std::size_t row, std::size_t above) const noexcept {
    return above <= row && row < ends_[above];
  }
  /// Whether a row is one range, or what is outside of ranges. No rule judges a row that stands for
  /// many ranges.
  bool is_judged(std::size_t row) const noexcept { return !rows[row].is_many; }
  bool has_device_work() const noexcept { return rows[0].gpu_busy_ns > 0; }
  /// The GPUs that worked, as a subject: "the GPU", "the 2 GPUs".
  std::string gpus() const;

  /// What of the device's work was lost, as a part of what has a time.
  double lost_part() const noexcept;
  /// The part of idle time that stays where lost work took as long as what is there.
  double sure_idle_part() const noexcept;
  /// Time in which the device is idle for what the host does.
  double idle_of_host() const noexcept;
  /// What the host's time costs: nothing while the GPU works.
  double cost_of_host(double ns) const noexcept;

  // Amounts of one step.
  /// Of the work on the device of the range and below.
  double per_step(std::size_t row, double total) const noexcept;
  /// The time of a range's own work.
  double own_ns_per_step(std::size_t row, double ns) const noexcept;
  /// How much of something the launches of the range itself are, or come with.
  template <class Number>
  double own_launches_per_step(std::size_t row, Number count) const noexcept {
    return in.steps.per_step(static_cast<double>(count), rows[row].step_self_launch_share);
  }
  /// The host time of the launches of the range itself.
  double own_launch_ns_per_step(std::size_t row) const noexcept;
  /// What the calls of a range count or declare.
  double calls_per_step(std::size_t row, double total) const noexcept;

  // What was counted.
  /// Of the range's own kernels; NaN where it is unknown.
  double own(std::size_t row, std::string_view key) const noexcept;
  /// The same; 0 where it is unknown.
  double own_or_0(std::size_t row, std::string_view key) const noexcept;
  bool is_timed_work(std::size_t row, counter_scope scope) const noexcept;
  /// Operations of the tensor cores, of the formats that were counted; NaN if none was.
  double tensor_flops(std::size_t row, counter_scope scope) const noexcept;
  /// How far the tensor cores are used for what is no packed half: these run in their pipe, too.
  /// 0 where it is unknown.
  double tensor_core_use(std::size_t row) const noexcept;
  /// Of the range's own kernels, and how near they are to each limit.
  range_limit const& load(std::size_t row) const noexcept { return in.roofline.own[row]; }
  /// What bytes or operations take at a roof; NaN where it is unknown.
  double at_roof_ns(double amount, std::string_view roof) const noexcept;

  // Kernels.
  std::size_t row_of(kernel_row const& kernel) const noexcept;
  /// Of the typical steps, those in which code for the device is loaded, as far as it has variables
  /// of its own; 0 where these are few. Source: cuDNN's attention with a cache that grows by one
  /// each token (PyTorch, H200, CUDA 13.0).
  double steps_that_load_code() const;
  /// Whether a range's own kernels are mostly collectives: these wait for other ranks, and leave
  /// SMs free by design.
  bool is_of_collectives(std::size_t row) const noexcept;

 private:
  void find_multiprocessors();
  void find_migrating();

  std::vector<std::size_t> ends_;                              ///< by row
  std::unordered_map<std::uint64_t, std::size_t> row_places_;  ///< by path
  std::vector<double> collective_ns_;                          ///< by row
};

/// What a range itself migrates of managed memory, without the ranges below it.
struct own_migrations {
  double to_device_bytes = 0.0;
  double to_host_bytes = 0.0;
  double faults = 0.0;
  double ns = 0.0;

  void add(own_migrations const& more, double factor) noexcept;
};
std::vector<own_migrations> own_migrations_by_row(rule_context const& run);
/// By row: idle time of the GPU in which the host waits for pages of managed memory.
std::vector<double> idle_of_pages_by_row(rule_context const& run,
                                         std::vector<own_migrations> const& own);

/// Whether it is a kernel in which ranks wait for each other.
inline bool is_collective(kernel_row const& kernel) noexcept {
  return static_cast<bool>(kernel.collective);
}

/// Whether the kernels of a range itself, or with those below it, come from graphs in a mean step:
/// more than four a launch.
bool launches_graphs(range_row const& row, steps_summary const& steps,
                     counter_scope scope = counter_scope::self) noexcept;

/// Whether other threads take the CPU of the one that drives the steps, in half of them or more: of
/// a few steps the rule `slow-step` reports it.
bool is_preempted(cpu_of_step const& cpu) noexcept;

}  // namespace detail
STRATA_END

#endif  // STRATA_ANALYSE_RULE_CONTEXT_HPP
