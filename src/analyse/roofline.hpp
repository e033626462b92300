#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_ROOFLINE_HPP
#define STRATA_ANALYSE_ROOFLINE_HPP

#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile.hpp>
#include <strata/tables/call_tree.hpp>
#include <strata/tables/counter_table.hpp>
#include "speed_of_light.hpp"
#include "steps.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

STRATA_BEGIN

/// Where the height of a roof is from.
enum class roof_origin : std::uint8_t {
  counted,            ///< the profiler's peaks and the clocks of the counted steps
  device_attributes,  ///< the driver's clocks and widths, and what the architecture does in a cycle
  measured            ///< by kernels of `src/ceilings/ceilings.hpp` on this device
};

/// What an amount of work is from.
enum class work_evidence : std::uint8_t { counted, declared, mixed };

constexpr std::string_view to_string(roof_origin origin) noexcept {
  constexpr std::string_view names[] = {"counted", "device attributes", "measured on this device"};
  return names[static_cast<std::size_t>(origin)];
}
constexpr std::string_view to_string(work_evidence evidence) noexcept {
  constexpr std::string_view names[] = {"counted", "declared", "mixed"};
  return names[static_cast<std::size_t>(evidence)];
}

/// The most that one device can do of one kind, all SMs together.
struct roof {
  std::string_view name;  ///< "HBM", "DRAM", "L2", "L1", "shared", "FP32", "BF16 tensor", ...
  bool memory = false;    ///< the rate is B/s; FLOP/s otherwise
  double rate = 0.0;
  roof_origin origin = roof_origin::counted;
  double limit = 0.0;  ///< what nothing exceeds: the rate, or more where that was measured
  /// At the device's highest clock, by its attributes: the same in all runs. 0: not known.
  double nominal = 0.0;
  bool used = false;  ///< by any range: work of this kind was counted, or declared of HBM
};

/// A range in the roofline of one level of memory. Work and times are of a mean step and of all
/// devices together, rates of one device.
struct roofline_point {
  std::size_t row = 0;     ///< of the folded tree
  std::string_view level;  ///< "HBM", "L2", "L1", or "shared", which L1's data path moves too
  double flops = 0.0;      ///< a step
  double bytes = 0.0;      ///< a step
  double intensity_flop_per_byte = 0.0;
  double flops_per_s = 0.0;
  double bytes_per_s = 0.0;
  double time_ns = 0.0;          ///< GPU busy time
  double devices = 1.0;          ///< that worked at a time: the times by these are of one device
  double time_at_roof_ns = 0.0;  ///< the longer of the bytes at this level and the operations
  work_evidence evidence = work_evidence::counted;
  bool above_roof = false;  ///< units, clocks or declarations are wrong: no result
};

/// What a range's limit is, where a word says it.
enum class limiter : unsigned char {
  unknown,
  unit,
  copies,
  launch,
  latency,
  above_roof,
  mixed  ///< of all work: no limiter has half of its time
};

/// The word of a limiter in the column `limiter`; "" for a unit, which has its own name, and where
/// none is known.
constexpr std::string_view to_string(limiter kind) noexcept {
  constexpr std::string_view words[] = {"",     "", "copies", "launch", "latency", "above the roof",
                                        "mixed"};
  return words[static_cast<std::size_t>(kind)];
}

/// What limits a range: the unit with the highest use, or, where units were not counted, the roof
/// that its work is nearest to.
struct range_limit {
  std::string text;       ///< "HBM 87 %", "tensor 91 %", "latency", "launch", ...; "" is unknown
  std::string_view roof;  ///< the name of the unit or roof; "" if none is known
  double roof_ns = 0.0;   ///< a step's time at its peak
  double time_ns = 0.0;   ///< GPU busy time of a step
  bool counted = false;   ///< bytes and operations were counted
  limiter kind = limiter::unknown;
  unit_times units;             ///< of a step
  std::string_view stall = {};  ///< of latency, what most warps wait for: `short_scoreboard`; or ""
  std::string name = {};        ///< in words where `roof` is not: tensor cores with their formats
  std::string beside = {};      ///< the name of a unit that is used as much (`used_as_much`), or ""
  double beside_ns = 0.0;       ///< a step's time at the peak of that one

  /// How much of the time the unit or roof is used, at most 1: clocks of counted and timed steps
  /// differ a little, and by how much work is too much `is_above_roof` says.
  double fraction() const noexcept {
    return time_ns > 0.0 ? std::min(1.0, roof_ns / time_ns) : 0.0;
  }
  /// "87 %", and "87 % of its peak".
  std::string percent_text() const { return detail::fixed_string(100.0 * fraction(), 0) + " %"; }
  std::string use_text() const { return percent_text() + " of its peak"; }
  /// "HBM", "tensor (BF16, TF32)".
  std::string first_name() const { return name.empty() ? std::string(roof) : name; }
  /// "HBM", "L1 with shared memory and tensor (BF16, TF32)".
  std::string names() const {
    return beside.empty() ? first_name() : first_name() + " and " + beside;
  }
  /// "HBM 87 %", "L1 with shared memory 95 % and tensor 93 %".
  std::string names_with_use() const {
    std::string const first = first_name() + " " + percent_text();
    return beside.empty() ? first : first + " and " + beside + " " + beside_text();
  }
  /// "HBM, at 87 % of its peak", "L1, at 95 % of its peak, and tensor, at 93 %".
  std::string words() const {
    std::string const first = first_name() + ", at " + use_text();
    return beside.empty() ? first : first + ", and " + beside + ", at " + beside_text();
  }
  /// "93 %" of the second unit.
  std::string beside_text() const {
    return detail::fixed_string(100.0 * std::min(1.0, beside_ns / time_ns), 0) + " %";
  }
  bool is_above_roof() const noexcept { return kind == limiter::above_roof; }
  double use(gpu_unit unit) const noexcept {
    if (!(time_ns > 0.0) || !detail::is_finite(units[unit])) return 0.0;
    return std::min(1.0, units[unit] / time_ns);
  }
  /// Whether its kernels are far from each limit, as far as was counted: where units were, all
  /// that bound most kernels.
  bool is_latency() const noexcept {
    bool const is_far = fraction() < latency_use;
    return is_far && counted && (!units.is_known() || units.are_whole());
  }
};

struct roofline_table {
  std::size_t devices = 1;          ///< that worked
  double highest_clock_hz = 0.0;    ///< of the SMs, that nominal rates are at; 0: not known
  std::string_view memory = "HBM";  ///< the name of the devices' memory, and of its roof
  vec<roof> roofs;
  std::string measured_at;  ///< when the measured roofs were measured, UTC, ISO 8601
  vec<roofline_point> points;
  vec<range_limit> limits;  ///< by row of the folded tree, with the ranges below
  vec<range_limit> own;     ///< by row, of its own kernels; without text and kind

  /// The roof with this name, or null.
  roof const* find(std::string_view name) const noexcept {
    for (roof const& other : roofs)
      if (other.name == name) return &other;
    return nullptr;
  }
  double rate_of(std::string_view name) const noexcept {
    roof const* const found = find(name);
    return found == nullptr ? std::numeric_limits<double>::quiet_NaN() : found->rate;
  }
  /// What all runs of a device have alike: its nominal rate; the limit where that is not known.
  double peak_of(std::string_view name) const noexcept {
    roof const* const found = find(name);
    return found != nullptr && found->nominal > 0.0 ? found->nominal : limit_of(name);
  }
  double limit_of(std::string_view name) const noexcept {
    roof const* const found = find(name);
    return found == nullptr ? std::numeric_limits<double>::quiet_NaN() : found->limit;
  }
};

/// The roofline: roofs, and each range of the folded tree. `counters` has the same rows, or is
/// null. `whole`: where the rows are kernels of a run, what was made of its ranges. The roofs are
/// these: kernels counted one by one have parts of the counts, which do not add up to a rate.
roofline_table make_roofline(profile const& source, vec<range_row> const& rows,
                             step_analysis const& steps, counter_table const* counters,
                             roofline_table const* whole = nullptr);

STRATA_END

#endif  // STRATA_ANALYSE_ROOFLINE_HPP
