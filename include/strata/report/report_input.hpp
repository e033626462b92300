#include <strata/version.hpp>
#ifndef STRATA_REPORT_REPORT_INPUT_HPP
#define STRATA_REPORT_REPORT_INPUT_HPP

#include <strata/analyse/finding_rules.hpp>
#include <strata/analyse/findings.hpp>
#include <strata/analyse/roofline.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile.hpp>
#include <strata/tables/call_tree.hpp>
#include <strata/tables/counter_table.hpp>
#include <strata/tables/kernel_table.hpp>
#include <strata/tables/memory_table.hpp>
#include <strata/tables/steps.hpp>
#include <strata/what_if.hpp>

#include <cstdint>
#include <string_view>

STRATA_BEGIN

/// The values of one counter_set by the rows of a report.
struct counter_tables {
  counter_table ranges;  ///< of report_input::ranges
  counter_table folded;  ///< of report_input::folded
};

/// In which order the ranges below one stand.
enum class row_order : std::uint8_t {
  cost,       ///< the dearest first
  execution,  ///< as they ran
  name
};
/// By row_order, as `sort=` and the page have them.
inline constexpr std::string_view row_order_names[] = {"cost", "order", "name"};

/// What every report is made from. It refers to its parts, but for the counters: they outlive it.
struct report_input {
  report_input(profile const& p, call_tree const& tree, call_tree const& folded_tree,
               vec<kernel_row> const& kernel_rows, memory_table const& memory_rows)
      : report_input(p, tree.rows(), folded_tree.rows(), kernel_rows, memory_rows) {}

  report_input(profile const& p, vec<range_row> const& tree, vec<range_row> const& folded_tree,
               vec<kernel_row> const& kernel_rows, memory_table const& memory_rows)
      : source(p), ranges(tree), folded(folded_tree), kernels(kernel_rows), memory(memory_rows) {}

  profile const& source;
  vec<range_row> const& ranges;  ///< of the call tree, one a path and index
  vec<range_row> const& folded;  ///< the same with indices folded
  vec<kernel_row> const& kernels;
  memory_table const& memory;
  vec<counter_tables> counters;                           ///< of the sets that have values by range
  kernel_counter_table const* kernel_counters = nullptr;  ///< of `kernels`; null where none was
  steps_summary steps;                                    ///< rows are those of `folded`
  roofline_table roofline;           ///< of `folded`; empty before find_answer()
  findings_table findings;           ///< of `folded`; empty before find_answer()
  row_order sort = row_order::cost;  ///< on the console, and on the page at first
  std::string_view trace_file;       ///< which the page names; empty where none is written

  /// The counted values of the GPU by the rows of `folded`, or null.
  counter_table const* gpu_counters() const noexcept {
    for (counter_tables const& each : counters)
      if (each.folded.name == counter_set::gpu) return &each.folded;
    return nullptr;
  }

  /// Fills `steps`, `roofline` and `findings`. Requires: the tree of `folded`; the counters.
  void find_answer(call_tree const& folded_tree) {
    steps = make_steps(source, folded_tree, ranges);
    roofline = make_roofline(source, folded, steps, gpu_counters());
    vec<kernel_row> const by_name = make_kernel_table(source, folded_tree);
    findings = make_findings(
        {source, folded, by_name, steps, roofline, gpu_counters(), folded_tree, ranges});
    predict_steps(findings.findings, source, folded_tree, steps);
  }
};

/// All tables of a profile, and the input that refers to them. Requires: the profile lives as long.
class profile_tables {
 public:
  explicit profile_tables(profile const& source)
      : tree_(source),
        folded_(source, folding::by_name),
        kernels_(make_kernel_table(source, tree_)),
        memory_(make_memory_table(source, tree_)),
        input_(source, tree_, folded_, kernels_, memory_) {
    for (counter_set const& set : source.counter_sets) {
      if (!set.values.empty()) {
        input_.counters.push_back({make_counter_table(source, tree_, set.name),
                                   make_counter_table(source, folded_, set.name)});
      }
      if (!set.kernels.empty()) {
        kernel_counters_ = make_kernel_counter_table(source, tree_, kernels_);
        input_.kernel_counters = &kernel_counters_;
      }
    }
  }
  profile_tables(profile_tables const&) = delete;
  profile_tables& operator=(profile_tables const&) = delete;

  report_input& input() noexcept { return input_; }
  report_input const& input() const noexcept { return input_; }
  /// Fills `steps`, `roofline` and `findings` of the input.
  void find_answer() { input_.find_answer(folded_); }

 private:
  call_tree tree_;
  call_tree folded_;
  vec<kernel_row> kernels_;
  memory_table memory_;
  kernel_counter_table kernel_counters_;
  report_input input_;
};

STRATA_END

#endif  // STRATA_REPORT_REPORT_INPUT_HPP
