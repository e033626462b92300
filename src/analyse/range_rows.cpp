#include "range_rows.hpp"

#include <strata/base/macros.hpp>
#include "column_meanings.hpp"
#include "compare_context.hpp"
#include "comparison.hpp"
#include "range_paths.hpp"
#include "run_ranges.hpp"
#include "run_tables.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

STRATA_BEGIN
namespace detail {
namespace {

/// Makes the rows of ranges.
class row_finder {
 public:
  row_finder(compared_runs const& runs, comparison& result)
      : runs_(runs), result_(result), traced_(all_traced(runs)) {
    for (std::size_t r = 1; r < runs_.size(); ++r) others_.add(runs_.run(r));
  }

  void find() {
    std::vector<run_range const*> found;
    for (run_range const& range : runs_.before[0].all) {
      bool const indexed = with_folded_indices(range.path) != range.path;
      if (collect(runs_, range.path, found))
        (indexed ? result_.indexed : result_.ranges).push_back(described(range.path, found));
      else if (is_missing(runs_.after, range.path))
        result_.only_before.push_back(range.path);
    }
    for (run_range const& range : runs_.before[0].folded)
      if (collect(runs_, range.path, found)) result_.ranges.push_back(described(range.path, found));
    for (run_range const& range : runs_.after[0].all)
      if (is_missing(runs_.before, range.path)) result_.only_after.push_back(range.path);
  }

 private:
  static bool is_missing(std::vector<run_ranges> const& from, std::string_view path) {
    for (run_ranges const& run : from)
      if (run.find(path) == nullptr) return true;
    return false;
  }

  compared_range described(std::string const& path,
                           std::vector<run_range const*> const& found) const {
    compared_range range;
    range.path = path;
    range.gpu = traced_;
    bool several = false;
    for (std::size_t r = 0; r < runs_.size(); ++r) {
      range.gpu = range.gpu && runs_.run(r).sum(*found[r], "kernels") > 0;
      range.once = range.once || found[r]->once;
      several = several || found[r]->rows.size() > 1;
    }
    if (!range.gpu) range.thread = thread_of(found);
    for (std::size_t r = 0; r < runs_.size(); ++r)
      (runs_.is_later(r) ? range.after_ms : range.before_ms) +=
          runs_.run(r).mean_ms(*found[r], range.gpu) * runs_.weight(r);
    run_ranges const& first_run = runs_.run(0);
    for (std::size_t i = 0; i < first_run.tables().columns.size(); ++i) {
      std::string const& name = first_run.tables().columns[i];
      if (!first_run.knows(*found[0], i)) continue;
      column_meaning const* const known = meaning_of(range_meanings, name);
      // An unknown column comes from a newer Strata.
      column_sum const sum = known != nullptr ? known->sum : column_sum::amount;
      if (sum == column_sum::identity || (several && sum == column_sum::call)) continue;
      add_column(range, name, known != nullptr ? known->unit : ending_unit(name),
                 [&](std::size_t r, double& value) {
                   std::size_t const column = runs_.run(r).column(name);
                   value = sum == column_sum::amount ? runs_.run(r).sum(*found[r], column)
                                                     : runs_.run(r).total(*found[r], column);
                   return runs_.run(r).knows(*found[r], column);
                 });
    }
    for (counted_metric const& metric : runs_.run(0).metrics) {
      if (others_.differ_from(metric)) continue;
      add_column(range, metric.metric->key, metric.metric->unit, [&](std::size_t r, double& value) {
        counted_metric const* const own = runs_.run(r).find_metric(metric.metric->key);
        return own != nullptr && runs_.run(r).counted(*found[r], *own, value);
      });
    }
    return range;
  }
  /// The thread that a range is in, of those that drive no step; empty where a run has it
  /// elsewhere.
  std::string thread_of(std::vector<run_range const*> const& found) const {
    std::string thread;
    for (std::size_t r = 0; r < runs_.size(); ++r) {
      thread = found[r]->rows[0]->thread;
      if (thread.empty()) break;
    }
    return thread;
  }
  static std::string_view ending_unit(std::string_view name) {
    std::string_view const end = name.substr(name.find_last_of('_') + 1);
    return end == "ns" ? "ns" : end == "bytes" ? "B" : "";
  }
  /// Where all runs know the value that `read` has of a run.
  template <class Read>
  void add_column(compared_range& range, std::string_view name, std::string_view unit,
                  Read const& read) const {
    compared_column column{std::string(name), std::string(unit), 0, 0};
    for (std::size_t r = 0; r < runs_.size(); ++r) {
      double value = 0;
      if (!read(r, value)) return;
      (runs_.is_later(r) ? column.after : column.before) += value * runs_.weight(r);
    }
    range.columns.push_back(std::move(column));
  }

  compared_runs const& runs_;
  comparison& result_;
  bool traced_;
  metric_formulas_of_runs others_;  // but the first
};

}  // namespace

void find_range_rows(compared_runs const& runs, comparison& result) {
  row_finder(runs, result).find();
}

bool collect(compared_runs const& runs, std::string_view path,
             std::vector<run_range const*>& found) {
  found.clear();
  for (std::size_t r = 0; r < runs.size(); ++r) {
    found.push_back(runs.run(r).find(path));
    if (found.back() == nullptr) return false;
  }
  return true;
}

bool all_traced(compared_runs const& runs) {
  for (std::size_t r = 0; r < runs.size(); ++r)
    if (!runs.run(r).tables().traced) return false;
  return true;
}

}  // namespace detail
STRATA_END
