#ifndef STRATA_TABLES_TABLE_INPUT_HPP
#define STRATA_TABLES_TABLE_INPUT_HPP

#include <strata/base/text_writer.hpp>
#include <strata/profile/row_order.hpp>
#include <strata/tables/counter_table.hpp>
#include <strata/tables/kernel_table.hpp>
#include <strata/tables/memory_table.hpp>

STRATA_BEGIN

/// The values of one counter_set by the rows of a report.
struct counter_tables {
  counter_table ranges;  ///< of table_input::ranges
  counter_table folded;  ///< of table_input::folded
};

struct table_options;
namespace detail {
class console_table;
}

/// What limits a range, as tables show it.
struct row_limit {
  std::string limiter;  ///< "HBM", "latency", "launch", ...; empty: unknown
  double use_percent = std::numeric_limits<double>::quiet_NaN();  ///< of that unit's peak
  std::string meaning;  ///< a line of what the limiter's words mean; empty where it has none
};

/// What tables are made from. It refers to its parts, but for the counters: they outlive it.
/// Reports add to it what they find (report_input).
struct table_input {
  table_input(profile const& p, call_tree const& tree, call_tree const& folded_tree,
              vec<kernel_row> const& kernel_rows, memory_table const& memory_rows)
      : table_input(p, tree.rows(), folded_tree.rows(), tree.positions_in(folded_tree), kernel_rows,
                    memory_rows) {}

  table_input(profile const& p, vec<range_row> const& tree, vec<range_row> const& folded_tree,
              vec<std::uint32_t> rows_of_tree, vec<kernel_row> const& kernel_rows,
              memory_table const& memory_rows)
      : source(p),
        ranges(tree),
        folded(folded_tree),
        folded_rows(std::move(rows_of_tree)),
        kernels(kernel_rows),
        memory(memory_rows) {}

  table_input(table_input const&) = default;
  table_input(table_input&&) = default;
  virtual ~table_input() = default;

  profile const& source;
  vec<range_row> const& ranges;    ///< of the call tree, one a path and index
  vec<range_row> const& folded;    ///< the same with indices folded
  vec<std::uint32_t> folded_rows;  ///< of each of `ranges` its row in `folded`
  vec<kernel_row> const& kernels;
  memory_table const& memory;
  vec<counter_tables> counters;                           ///< of the sets that have values by range
  kernel_counter_table const* kernel_counters = nullptr;  ///< of `kernels`; null if none was
  steps_summary steps;                                    ///< rows are those of `folded`
  vec<row_limit> limits;             ///< of `folded`; empty where they are not known
  std::string roofs_measured_at;     ///< UTC, ISO 8601; empty: no roof was measured
  std::string declared_text;         ///< what part of a peak is declared; empty: not known
  row_order sort = row_order::cost;  ///< on the console, and on the page at first

  /// Fills `steps`. Requires: the tree of `folded`.
  void find_steps(call_tree const& folded_tree) {
    steps = make_mean_step(source, folded_tree, ranges);
  }

  /// The lines of the answer above the table of ranges; nothing without the reports' side.
  virtual void write_answer(detail::text_writer&, std::size_t, bool) const {}
  /// The tables below it. Returns: whether there are any; false without the reports' side.
  virtual bool write_more_tables(detail::text_writer&, table_options const&) const { return false; }
  /// Cuts names that a table has no room for, so that they differ; it cuts their middle itself.
  virtual void cut_names(detail::console_table&) const {}
};

/// All tables of a profile, and the input that refers to them. Requires: the profile lives as long.
class profile_tables : detail::uncopied {
 public:
  explicit profile_tables(profile const& source)
      : tree_(source),
        folded_(source, folding::by_name),
        kernels_(make_kernel_table(source, tree_)),
        memory_(make_memory_table(source, tree_)),
        input_(source, tree_, folded_, kernels_, memory_) {
    if (!source.counter_sets.empty()) input_.find_steps(folded_);
    for (counter_set const& set : source.counter_sets) {
      if (!set.values.empty()) {
        input_.counters.push_back({make_counter_table(source, tree_, set, input_.steps),
                                   make_counter_table(source, folded_, set, input_.steps)});
      }
      if (!set.kernels.empty()) {
        kernel_counters_ = make_kernel_counter_table(source, tree_, kernels_, input_.steps);
        input_.kernel_counters = &kernel_counters_;
      }
    }
  }

  table_input& input() noexcept { return input_; }
  call_tree const& folded() const noexcept { return folded_; }

 private:
  call_tree tree_;
  call_tree folded_;
  vec<kernel_row> kernels_;
  memory_table memory_;
  kernel_counter_table kernel_counters_;
  table_input input_;
};

STRATA_END

#endif  // STRATA_TABLES_TABLE_INPUT_HPP
