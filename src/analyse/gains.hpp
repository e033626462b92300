#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_GAINS_HPP
#define STRATA_ANALYSE_GAINS_HPP

// The judge of gains: what a range's own kernels can gain when a cause goes. A rule names the cause
// and the units that it takes; no rule says a time by itself.

#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include "devices.hpp"
#include "roofline.hpp"
#include "speed_of_light.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

STRATA_BEGIN
namespace detail {

/// The part of a unit's peak that good work reaches.
/// Source: ncu on an H200. cuBLAS reaches 0.88 to 0.92 of the peak of the tensor cores. 87
/// operations were HBM-bound and reached at least 0.6 of its peak; their median is 0.82. Sums and
/// copies reach up to 0.93, but tiled transposes 0.72 to 0.83 and row gathers 0.72 to 0.79. Copies
/// of pinned memory reach 0.87 of the peak of PCIe 5.
constexpr double reachable_use(gpu_unit unit) noexcept {
  switch (unit) {
    case gpu_unit::hbm:
      return 0.8;
    case gpu_unit::pcie:
      return 0.85;
    default:
      return 0.9;
  }
}
/// The same of the work that is nearest to a unit or a roof with this name.
constexpr double reachable_use(std::string_view roof) noexcept {
  return reachable_use(is_memory_name(roof) ? gpu_unit::hbm : gpu_unit::fma);
}

/// What a fix changes of the kernels of one range.
class fix_of_kernels {
 public:
  fix_of_kernels() noexcept {
    for (double& part : left_) part = 1.0;
    for (double& ns : added_ns_) ns = 0.0;
  }

  /// The fix leaves this part of a unit's work; of several parts the smallest.
  fix_of_kernels& leaves(gpu_unit unit, double part) noexcept {
    double& left = left_[static_cast<std::size_t>(unit)];
    left = std::max(0.0, std::min(left, part));
    return *this;
  }
  /// The fix brings a unit work for this long at its peak.
  fix_of_kernels& adds(gpu_unit unit, double ns_at_peak) noexcept {
    if (is_finite(ns_at_peak) && ns_at_peak > 0.0)
      added_ns_[static_cast<std::size_t>(unit)] = ns_at_peak;
    return *this;
  }
  /// The fix ends waits: at most this long, whatever unit it is for.
  fix_of_kernels& ends_waits(double ns) noexcept {
    waits_ns_ = ns;
    return *this;
  }
  /// Other work takes the place of this one, and takes at least this long.
  fix_of_kernels& replaces_all(double ns) noexcept {
    replaced_ = true;
    new_ns_ = ns;
    return *this;
  }

  /// What goes, in ns, before it is held against the limits. `load`: of the range's own kernels.
  double saved_ns(range_limit const& load) const noexcept {
    if (replaced_) return load.time_ns;
    double saved = waits_ns_;
    for (std::size_t unit = 0; unit < gpu_units; ++unit)
      saved = std::max(saved, taken_ns(load, static_cast<gpu_unit>(unit)) * (1.0 - left_[unit]));
    return std::min(saved, bound_saved_ns(load));
  }
  /// The least time of what is left and what is new.
  double least_ns(range_limit const& load) const noexcept {
    if (replaced_) return new_ns_;
    double longest = load.units.is_known() ? 0.0 : load.roof_ns / reachable_use(load.roof);
    for (std::size_t unit = 0; unit < gpu_units; ++unit) {
      auto const which = static_cast<gpu_unit>(unit);
      double const ns = load.units[which];
      double const then = (is_finite(ns) ? ns * left_[unit] : 0.0) + added_ns_[unit];
      longest = std::max(longest, then / reachable_use(which));
    }
    return longest;
  }

  /// The time that a unit takes of the kernels': a unit that bounds them takes all of it.
  static double taken_ns(range_limit const& load, gpu_unit unit) noexcept {
    return load.time_ns * std::min(1.0, load.use(unit) / bound_use);
  }

 private:
  /// Kernels that a unit bounds gain no more than its own work gets less: they do not wait for the
  /// others, nor for anything else.
  double bound_saved_ns(range_limit const& load) const noexcept {
    double saved = load.time_ns;
    for (std::size_t unit = 0; unit < gpu_units; ++unit)
      if (load.use(static_cast<gpu_unit>(unit)) >= bound_use)
        saved = std::min(saved, load.time_ns * (1.0 - left_[unit]));
    return saved;
  }

  double left_[gpu_units];
  double added_ns_[gpu_units];
  double waits_ns_ = 0.0;
  double new_ns_ = 0.0;
  bool replaced_ = false;
};

/// Turns fixes into gains: never below the time at the nearest limit of what is left, never more
/// than the unit took, and never the same time twice.
class gain_judge {
 public:
  explicit gain_judge(roofline_table const& roofline) : roofline_(roofline) {
    for (range_limit const& load : roofline.own) {
      judged_.push_back(load.time_ns);
      unclaimed_.push_back(load.time_ns);
    }
  }

  /// Units: ns of a step; 0 where nothing is to be gained.
  double gain(std::size_t row, fix_of_kernels const& fix) const noexcept {
    range_limit const& load = roofline_.own[row];
    if (load.is_above_roof()) return 0.0;
    // What other causes gain goes first: all of them together leave the time at the limit, too.
    double const possible = unclaimed_[row] - fix.least_ns(load);
    return std::max(0.0, std::min(possible, fix.saved_ns(load)));
  }
  /// Of some kernels of a range, whose own limits were seen: what they save, as far as no other
  /// cause has it.
  double gain_of_some(std::size_t row, double saved_ns) const noexcept {
    if (roofline_.own[row].is_above_roof() || !(saved_ns > 0.0)) return 0.0;
    return std::min(unclaimed_[row], saved_ns);
  }
  /// Of a range with those below it, up to the row `end`, whose work becomes this part of itself
  /// and which saves at most so much. `load`: of all of them.
  double gain_below(std::size_t row, std::size_t end, range_limit const& load, double part,
                    double saved_ns) const noexcept {
    if (load.is_above_roof()) return 0.0;
    double unclaimed = 0.0;
    for (std::size_t i = row; i < end; ++i) unclaimed += unclaimed_[i];
    double const left = std::min(load.time_ns, unclaimed);
    double const possible = left - fix_of_kernels().least_ns(load) * part;
    return std::max(0.0, std::min(possible, saved_ns));
  }
  /// The part of the kernels' time that no cause explains yet.
  double unexplained(std::size_t row) const noexcept {
    double const all = judged_[row];
    return all > 0.0 ? unclaimed_[row] / all : 0.0;
  }
  double unclaimed(std::size_t row) const noexcept { return unclaimed_[row]; }
  /// This time is a cause's: no other one gains it.
  void claim(std::size_t row, double ns) noexcept {
    unclaimed_[row] = std::max(0.0, unclaimed_[row] - ns);
  }
  /// This time is that of other kernels of the range, and explains nothing of the rest.
  void set_apart(std::size_t row, double ns) noexcept {
    judged_[row] = std::max(0.0, judged_[row] - ns);
    claim(row, ns);
  }

 private:
  roofline_table const& roofline_;
  std::vector<double> judged_;     ///< by row, ns of a step
  std::vector<double> unclaimed_;  ///< of these
};

}  // namespace detail
STRATA_END

#endif  // STRATA_ANALYSE_GAINS_HPP
