#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_COUNTER_SUMS_HPP
#define STRATA_ANALYSE_COUNTER_SUMS_HPP

#include <strata/analyse/call_tree.hpp>
#include <strata/analyse/counter_metric.hpp>
#include <strata/base/containers.hpp>
#include <strata/base/finite.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile.hpp>
#include <strata/profile/metric.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

STRATA_BEGIN

namespace detail {

/// CUPTI's counters by row of a tree, for the row alone and with everything below it.
/// Cost: O(values + rows x counters).
class counter_sums {
 public:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  /// What several ranges counted, as one value.
  class sum {
   public:
    /// Ranges with a record of the counter.
    std::uint32_t ranges() const noexcept { return ranges_; }
    /// NaN where no range has a record, or CUPTI gave no value for one.
    double value(metric_combine how) const noexcept {
      if (values_ == 0) return std::numeric_limits<double>::quiet_NaN();
      return how == metric_combine::mean ? value_ / values_ : value_;
    }

    void add(sum const& more, metric_combine how, bool constant) noexcept {
      if (more.values_ == 0) return;
      if (values_ == 0) {
        *this = more;
        return;
      }
      values_ += more.values_;
      ranges_ += more.ranges_;
      if (how != metric_combine::maximum) {
        value_ += more.value_;
      } else if (is_nan(value_) || is_nan(more.value_)) {
        // One range tells a constant of the device for all.
        bool const keep = constant == is_nan(more.value_);
        value_ = keep ? value_ : more.value_;
      } else {
        value_ = (std::max)(value_, more.value_);
      }
    }

    /// `other_device`: the range has a value of the counter already.
    static sum of(double value, bool other_device) noexcept {
      sum made;
      made.value_ = is_finite(value) ? value : std::numeric_limits<double>::quiet_NaN();
      made.values_ = 1;
      made.ranges_ = other_device ? 0 : 1;
      return made;
    }

   private:
    double value_ = 0.0;
    std::uint32_t values_ = 0;  // one a range and device
    std::uint32_t ranges_ = 0;
  };

  counter_sums(profile const& source, call_tree const& tree) : counters_(source.counter_names) {
    vec<range_row> const& rows = tree.rows();
    for (std::size_t i = 0; i < counters_.size(); ++i) {
      if (positions_.find(counters_[i]) == nullptr) positions_[counters_[i]] = i;
      how_.push_back(combine_of(counters_[i]));
      constant_.push_back(ends_with(counters_[i], ".peak_sustained"));
    }
    for (vec<sum>& sums : sums_) sums.resize(rows.size() * counters_.size());
    for (vec<std::uint32_t>& counted : counted_) counted.resize(rows.size());
    if (rows.empty()) return;
    add_values(source, tree);
    sums_[1] = sums_[0];
    counted_[1] = counted_[0];
    for (std::size_t row = rows.size(); --row > 0;) {
      counted_[1][rows[row].parent] += counted_[1][row];
      for (std::size_t c = 0; c < counters_.size(); ++c)
        sums_[1][at(rows[row].parent, c)].add(sums_[1][at(row, c)], how_[c], constant_[c]);
    }
  }

  /// Position of a CUPTI name, or none.
  std::size_t find(std::string_view name) const noexcept {
    std::size_t const* const found = positions_.find(name);
    return found == nullptr ? none : *found;
  }
  std::string const& name(std::size_t counter) const noexcept { return counters_[counter]; }
  metric_combine combine(std::size_t counter) const noexcept { return how_[counter]; }

  double value(std::size_t row, std::size_t counter, counter_scope scope) const noexcept {
    return sums_[of(scope)][at(row, counter)].value(how_[counter]);
  }
  /// Ranges with a record of this counter.
  std::uint32_t ranges(std::size_t row, std::size_t counter, counter_scope scope) const noexcept {
    return sums_[of(scope)][at(row, counter)].ranges();
  }
  /// Ranges with a record of any counter.
  std::uint32_t counted(std::size_t row, counter_scope scope) const noexcept {
    return counted_[of(scope)][row];
  }

 private:
  static std::size_t of(counter_scope scope) noexcept { return static_cast<std::size_t>(scope); }
  std::size_t at(std::size_t row, std::size_t counter) const noexcept {
    return row * counters_.size() + counter;
  }

  void add_values(profile const& source, call_tree const& tree) {
    vec<bool> seen(source.nodes.size() + 1, false);  // the last one: unknown nodes
    bool const several = source.counted_devices.size() > 1;
    vec<bool> had(several ? seen.size() * counters_.size() : 0, false);
    for (counter_value const& each : source.counters) {
      // A name that is there twice was counted twice: the first one holds.
      if (each.counter >= counters_.size() || find(counters_[each.counter]) != each.counter)
        continue;
      std::size_t const row = tree.position_of(each.node);
      std::size_t const node = (std::min)(std::size_t{each.node}, seen.size() - 1);
      std::size_t const value = node * counters_.size() + each.counter;
      bool const other_device = several && had[value];
      if (several) had[value] = true;
      sums_[0][at(row, each.counter)].add(sum::of(each.value, other_device), how_[each.counter],
                                          constant_[each.counter]);
      if (seen[node]) continue;
      seen[node] = true;
      ++counted_[0][row];
    }
  }

  vec<std::string> const& counters_;
  flat_map<std::string_view, std::size_t> positions_;
  vec<metric_combine> how_;
  vec<bool> constant_;
  vec<sum> sums_[2];               ///< by scope; of all rows and counters
  vec<std::uint32_t> counted_[2];  ///< by scope
};

}  // namespace detail
STRATA_END

#endif  // STRATA_ANALYSE_COUNTER_SUMS_HPP
