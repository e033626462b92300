#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_KERNEL_COUNTER_TABLE_HPP
#define STRATA_ANALYSE_KERNEL_COUNTER_TABLE_HPP

#include <strata/analyse/call_tree.hpp>
#include <strata/analyse/counter_metric.hpp>
#include <strata/analyse/counter_rates.hpp>
#include <strata/analyse/kernel_table.hpp>
#include <strata/base/containers.hpp>
#include <strata/base/finite.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile.hpp>
#include <strata/profile/metric.hpp>
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

/// Counted values of the rows of a kernel table, in its order. Values are of all launches of a row
/// in one step; rates divide them by the mean duration of as many timed launches.
struct kernel_counter_table {
  vec<counter_metric> metrics;
  vec<std::uint64_t> launches;  ///< counted, by row; 0 where a row was not
  vec<double> values;           ///< by row and metric; NaN: no value
  std::uint64_t unknown = 0;    ///< counted kernels that were never traced

  double at(std::size_t row, std::size_t metric) const noexcept {
    return values[row * metrics.size() + metric];
  }
};

namespace detail {

/// Fills a kernel_counter_table.
class kernel_counter_table_builder {
 public:
  kernel_counter_table_builder(profile const& source, call_tree const& tree,
                               vec<kernel_row> const& rows)
      : source_(source), rows_(rows), set_(source.metrics) {
    rate_resolver(set_).run();
    for (std::size_t i = 0; i < rows.size(); ++i) places_[{rows[i].path_id, rows[i].name}] = i;
    sums_.resize(rows.size());
    for (counted_kernel const& each : source.counted_kernels) {
      std::size_t const* const place =
          places_.find(std::make_pair(tree.row_of(each.node).path_id, each.name));
      if (place == nullptr) {
        ++table_.unknown;
      } else {
        sums_[*place].push_back(&each);
      }
    }
  }

  kernel_counter_table build() {
    for (resolved_metric const& each : set_.metrics) {
      counter_metric made;
      made.key = each.key;
      made.unit = each.unit;
      made.level = each.level;
      made.formula = each.formula;
      table_.metrics.push_back(std::move(made));
    }
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      std::uint64_t launches = 0;
      bool steady = true;
      for (counted_kernel const* const each : sums_[row]) {
        launches += each->launches_max;
        steady = steady && each->launches_min == each->launches_max;
      }
      table_.launches.push_back(launches);
      for (resolved_metric const& metric : set_.metrics) {
        double const value =
            launches == 0 || !steady ? no_value : set_.value(metric, [&](auto name) {
              return input(row, launches, std::string_view(name));
            });
        table_.values.push_back(detail::is_finite(value) ? value : no_value);
      }
    }
    return std::move(table_);
  }

 private:
  static constexpr double no_value = std::numeric_limits<double>::quiet_NaN();

  double input(std::size_t row, std::uint64_t launches, std::string_view name) const {
    if (name == timed_input)
      return rows_[row].duration.mean() * static_cast<double>(launches) * 1e-9;
    auto const at =
        std::find(source_.kernel_counter_names.begin(), source_.kernel_counter_names.end(), name);
    if (at == source_.kernel_counter_names.end()) return no_value;
    auto const counter = static_cast<std::size_t>(at - source_.kernel_counter_names.begin());
    metric_combine const how = combine_of(*at);
    double value = no_value;
    for (counted_kernel const* const each : sums_[row]) {
      double const more = each->values[counter];
      if (detail::is_nan(value)) {
        value = more;
      } else {
        value = how == metric_combine::maximum ? (std::max)(value, more) : value + more;
      }
    }
    return how == metric_combine::mean ? value / static_cast<double>(launches) : value;
  }

  profile const& source_;
  vec<kernel_row> const& rows_;
  metric_set set_;  ///< with the rates
  flat_map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> places_;
  vec<vec<counted_kernel const*>> sums_;  ///< by row
  kernel_counter_table table_;
};

}  // namespace detail

/// The counted values of single kernels by the rows of their table.
/// Cost: O(rows x metrics).
inline kernel_counter_table make_kernel_counter_table(profile const& source, call_tree const& tree,
                                                      vec<kernel_row> const& rows) {
  return detail::kernel_counter_table_builder(source, tree, rows).build();
}

STRATA_END

#endif  // STRATA_ANALYSE_KERNEL_COUNTER_TABLE_HPP
