#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_WORK_CONSISTENCY_HPP
#define STRATA_ANALYSE_WORK_CONSISTENCY_HPP

#include <strata/analyse/call_tree.hpp>
#include <strata/analyse/counter_metric.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

STRATA_BEGIN
namespace detail {

/// Whether the counting steps did the same work in a row: numbers of different steps belong
/// together only then. Cost: O(records + rows x passes).
class work_consistency {
 public:
  enum class kind : unsigned char { unknown, same, varying, inconsistent };

  /// What some of the steps did in a row.
  struct verdict {
    kind what = kind::unknown;
    std::uint32_t launches_min = 0;
    std::uint32_t launches_max = 0;
    double threads_min = 0.0;
    double threads_max = 0.0;
    std::uint64_t foreign = 0;

    /// Empty where there is nothing to know.
    std::string text() const {
      std::string said;
      if (what == kind::varying) {
        said = "varying: the counting steps ran the same kernels with other grids, " +
               whole(threads_min) + " to " + whole(threads_max) + " threads";
      } else if (what == kind::inconsistent) {
        said = "inconsistent: the counting steps ran other kernels, " +
               std::to_string(launches_min) + " to " + std::to_string(launches_max) + " launches";
      }
      if (foreign != 0) {
        said += (said.empty() ? "" : "; ") + std::to_string(foreign) +
                (foreign == 1 ? " launch" : " launches") + " of other threads counted with it";
      }
      return said;
    }

   private:
    static std::string whole(double value) {
      return std::to_string(static_cast<std::uint64_t>(value));
    }
  };

  work_consistency(profile const& source, call_tree const& tree) {
    vec<range_row> const& rows = tree.rows();
    for (counted_work const& each : source.work)
      passes_ = (std::max)(passes_, std::size_t{each.pass} + 1);
    if (rows.empty() || passes_ == 0) return;
    for (vec<sum>& sums : sums_) sums.resize(rows.size() * passes_);
    for (counted_work const& each : source.work) {
      sum& to = sums_[0][tree.position_of(each.node) * passes_ + each.pass];
      to.add({each.launches, each.foreign, each.what, each.shapes, each.threads});
    }
    sums_[1] = sums_[0];
    for (std::size_t row = rows.size(); --row > 0;) {
      for (std::size_t pass = 0; pass < passes_; ++pass)
        sums_[1][rows[row].parent * passes_ + pass].add(sums_[1][row * passes_ + pass]);
    }
  }

  /// Requires: `passes` in ascending order.
  verdict of(std::size_t row, counter_scope scope, vec<std::uint32_t> const& passes) const {
    verdict made;
    vec<sum> const& sums = sums_[static_cast<std::size_t>(scope)];
    sum const* first = nullptr;
    for (std::uint32_t const pass : passes) {
      if (pass >= passes_ || sums.empty()) continue;
      sum const& now = sums[row * passes_ + pass];
      made.foreign += now.foreign;
      if (first == nullptr) {
        first = &now;
        made.what = kind::same;
        made.launches_min = made.launches_max = now.launches;
        made.threads_min = made.threads_max = now.threads;
        continue;
      }
      if (now.what != first->what) {
        made.what = kind::inconsistent;
      } else if (now.shapes != first->shapes && made.what == kind::same) {
        made.what = kind::varying;
      }
      made.launches_min = (std::min)(made.launches_min, now.launches);
      made.launches_max = (std::max)(made.launches_max, now.launches);
      made.threads_min = (std::min)(made.threads_min, now.threads);
      made.threads_max = (std::max)(made.threads_max, now.threads);
    }
    return made;
  }

 private:
  struct sum {
    std::uint32_t launches = 0;
    std::uint32_t foreign = 0;
    std::uint64_t what = 0;
    std::uint64_t shapes = 0;
    double threads = 0.0;

    void add(sum const& more) noexcept {
      launches += more.launches;
      foreign += more.foreign;
      what += more.what;
      shapes += more.shapes;
      threads += more.threads;
    }
  };

  std::size_t passes_ = 0;
  vec<sum> sums_[2];  ///< by scope; of all rows and passes
};

}  // namespace detail
STRATA_END

#endif  // STRATA_ANALYSE_WORK_CONSISTENCY_HPP
