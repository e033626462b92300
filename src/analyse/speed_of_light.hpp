#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_SPEED_OF_LIGHT_HPP
#define STRATA_ANALYSE_SPEED_OF_LIGHT_HPP

// How near the units of the GPU are to their peaks, as Nsight Compute's speed of light has it: the
// unit with the highest use is the limit.

#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/text.hpp>
#include <strata/profile/metric_resolver.hpp>
#include <strata/profile/metric_set.hpp>
#include <strata/tables/counter_table.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

STRATA_BEGIN

/// A part of the GPU that has a peak. `count` is no unit.
enum class gpu_unit : std::uint8_t {
  tensor,  ///< tensor cores, all formats
  tmem,    ///< tensor memory and the pipes of its instructions (Blackwell, Rubin)
  tma,     ///< copies of tiles (Hopper and later)
  fma,     ///< FP32 and integer multiply-adds
  alu,     ///< integers, logic, comparisons
  fp64,
  xu,      ///< exp, sin, reciprocals, conversions
  adu,     ///< barriers, votes, addresses of constants
  lsu,     ///< loads and stores
  issue,   ///< issue slots of the schedulers
  shared,  ///< L1's data path, for shared memory
  l1,      ///< L1's data path, shared memory with it
  l2,
  hbm,
  pcie,
  nvlink,
  count
};
inline constexpr std::size_t gpu_units = static_cast<std::size_t>(gpu_unit::count);

/// A unit as reports name it, and the metric of its time at peak.
struct gpu_unit_entry {
  std::string_view name;
  std::string_view metric;
};
/// By gpu_unit.
inline constexpr gpu_unit_entry gpu_unit_table[gpu_units] = {{"tensor", "tensor_ns"},
                                                             {"tensor memory", "tmem_ns"},
                                                             {"TMA", "tma_ns"},
                                                             {"FMA", "fma_ns"},
                                                             {"ALU", "alu_ns"},
                                                             {"FP64", "fp64_ns"},
                                                             {"XU", "xu_ns"},
                                                             {"ADU", "adu_ns"},
                                                             {"LSU", "lsu_ns"},
                                                             {"issue", "issue_ns"},
                                                             {"shared memory", "shared_ns"},
                                                             {"L1", "l1_ns"},
                                                             {"L2", "l2_ns"},
                                                             {"HBM", "hbm_ns"},
                                                             {"PCIe", "pcie_ns"},
                                                             {"NVLink", "nvlink_ns"}};

/// `memory`: what people call that of the devices.
constexpr std::string_view to_string(gpu_unit unit, std::string_view memory = "HBM") noexcept {
  if (unit == gpu_unit::hbm) return memory;
  return unit == gpu_unit::count ? std::string_view{}
                                 : gpu_unit_table[static_cast<std::size_t>(unit)].name;
}

/// L1's data path, where shared memory has a part of its time.
inline constexpr std::string_view l1_with_shared = "L1 with shared memory";

/// A unit used by this part of the time or more bounds a kernel.
/// Source: the classes of Nsight Compute's speed-of-light rule.
inline constexpr double bound_use = 0.8;
/// Where no unit is used by this part of the time, latency bounds a kernel. The finding
/// latency-bound begins at `far_use` of the rules.
/// Source: the classes of Nsight Compute's speed-of-light rule.
inline constexpr double latency_use = 0.6;

/// Two units whose uses are no further apart are both the limit. Chosen: parts of the time, as
/// counters of two runs differ.
inline constexpr double used_as_much = 0.03;

/// The time that the work of a range takes of each unit at its peak.
/// Units: ns; NaN where it was not counted.
class unit_times {
 public:
  unit_times() noexcept {
    for (double& unit : ns_) unit = detail::not_a_number;
  }

  double operator[](gpu_unit unit) const noexcept { return ns_[static_cast<std::size_t>(unit)]; }
  double& operator[](gpu_unit unit) noexcept { return ns_[static_cast<std::size_t>(unit)]; }

  /// The unit that takes the longest; `count` if none was counted. L1 is shared memory where
  /// that is half of it or more.
  gpu_unit longest() const noexcept {
    gpu_unit found = gpu_unit::count;
    for (std::size_t unit = 0; unit < gpu_units; ++unit) {
      if (!detail::is_finite(ns_[unit])) continue;
      if (found == gpu_unit::count || ns_[unit] > (*this)[found])
        found = static_cast<gpu_unit>(unit);
    }
    if (found == gpu_unit::l1 && (*this)[gpu_unit::shared] > 0.5 * (*this)[gpu_unit::l1])
      return gpu_unit::shared;
    return found;
  }
  /// 0 if none was counted.
  double longest_ns() const noexcept {
    double longest = 0.0;
    for (double const ns : ns_)
      if (detail::is_finite(ns) && ns > longest) longest = ns;
    return longest;
  }
  /// The name of the unit that takes longest_ns(): L1's data path has shared memory's name and its
  /// own where both take the time. `memory`: the name of the devices' memory.
  std::string_view longest_name(std::string_view memory) const noexcept {
    gpu_unit const named = longest();
    bool const is_of_both = named == gpu_unit::shared && longest_ns() > (*this)[named];
    return is_of_both ? l1_with_shared : to_string(named, memory);
  }
  /// The units other than the one that takes the longest: L1 and its data path for shared memory
  /// are one.
  unit_times without_longest() const noexcept {
    unit_times others = *this;
    gpu_unit const first = longest();
    if (first == gpu_unit::count) return others;
    others[first] = detail::not_a_number;
    if (first == gpu_unit::shared) others[gpu_unit::l1] = detail::not_a_number;
    if (first == gpu_unit::l1) others[gpu_unit::shared] = detail::not_a_number;
    return others;
  }
  bool is_known() const noexcept { return longest() != gpu_unit::count; }
  /// Whether the units were counted that bound most kernels. Without one of them a kernel that it
  /// bounds looks far from every limit.
  bool are_whole() const noexcept {
    for (gpu_unit const unit :
         {gpu_unit::tensor, gpu_unit::fma, gpu_unit::alu, gpu_unit::xu, gpu_unit::lsu,
          gpu_unit::issue, gpu_unit::l1, gpu_unit::l2, gpu_unit::hbm})
      if (!detail::is_finite((*this)[unit])) return false;
    return true;
  }

  void scale(double factor) noexcept {
    for (double& ns : ns_) ns *= factor;
  }

 private:
  double ns_[gpu_units];
};

namespace detail {

/// A value counted in one step of a row, by default with all below it; NaN where it was not.
inline double counted_value(counter_table const* counters, std::size_t row, std::string_view key,
                            counter_scope scope = counter_scope::total) noexcept {
  if (counters == nullptr || row >= counters->rows) return not_a_number;
  std::size_t const column = counters->find(key);
  return column == counter_table::none ? not_a_number : counters->at(row, column, scope).value;
}

/// Whether the counts of a row cover the same work as its times; true if nothing was counted.
inline bool is_timed_work(counter_table const* counters, std::size_t row,
                          counter_scope scope) noexcept {
  return counters == nullptr || counters->is_timed_work(row, scope);
}

constexpr std::string_view stall_prefix = "stall_";
constexpr std::string_view stall_suffix = "_share";

/// The stall whose share a metric is: "barrier" of "stall_barrier_share"; empty where it is none.
inline std::string_view stall_of(std::string_view key) noexcept {
  if (!begins_with(key, stall_prefix) || !ends_with(key, stall_suffix)) return {};
  return key.substr(stall_prefix.size(), key.size() - stall_prefix.size() - stall_suffix.size());
}

/// `short_scoreboard` as Nsight Compute writes it: "short scoreboard".
inline std::string stall_name(std::string_view stall) {
  std::string name(stall);
  for (char& letter : name)
    if (letter == '_') letter = ' ';
  return name;
}
/// What warps do in a stall: "wait for shared memory or the special-function pipe"; empty where it
/// is none.
inline std::string_view stall_meaning(std::string_view stall) {
  constexpr std::string_view before = "warps that ";
  std::string key(stall_prefix);
  key += stall;
  key += stall_suffix;
  metric const* const counted = find_entry(key);
  if (counted == nullptr) return {};
  std::size_t const begin = counted->meaning().find(before);
  return counted->meaning().substr(begin + before.size());
}
/// The same with its name: "wait at a block barrier (barrier)".
inline std::string stall_text(std::string_view stall) {
  return sentence(stall_meaning(stall)) << " (" << stall_name(stall) << ")";
}

/// Of one device that did all of the work.
inline unit_times counted_unit_times(counter_table const* counters, std::size_t row,
                                     counter_scope scope) noexcept {
  unit_times made;
  for (std::size_t unit = 0; unit < gpu_units; ++unit)
    made[static_cast<gpu_unit>(unit)] =
        counted_value(counters, row, gpu_unit_table[unit].metric, scope);
  return made;
}

}  // namespace detail

STRATA_END

#endif  // STRATA_ANALYSE_SPEED_OF_LIGHT_HPP
