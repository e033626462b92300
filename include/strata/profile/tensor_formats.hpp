#include <strata/version.hpp>
#ifndef STRATA_PROFILE_TENSOR_FORMATS_HPP
#define STRATA_PROFILE_TENSOR_FORMATS_HPP

// CUPTI counts the operations of the tensor cores by their format, a pass or two for each. The
// cycles of their pipe are counted first; a format is counted only where those that were counted do
// not explain them.

#include <strata/base/containers.hpp>
#include <strata/base/macros.hpp>
#include <strata/base/numbers.hpp>
#include <strata/base/vec.hpp>
#include <strata/profile.hpp>
#include <strata/profile/metric_set.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

STRATA_BEGIN
namespace detail {

/// Operations of a format of the tensor cores in a cycle, of BF16's.
/// Source: NVIDIA's white papers of GA100 and GH100, dense.
struct tensor_format_speed {
  std::string_view name;  ///< as in CUPTI's counters
  double speed;
};
inline constexpr tensor_format_speed tensor_format_speeds[] = {
    {"fp16", 1.0}, {"bf16", 1.0}, {"tf32", 0.5},        {"fp8", 2.0},
    {"fp4", 4.0},  {"int8", 2.0}, {"fp64", 1.0 / 16.0}, {"int1", 8.0}};

constexpr double tensor_format_speed_of(std::string_view name) noexcept {
  for (tensor_format_speed const& known : tensor_format_speeds)
    if (known.name == name) return known.speed;
  return 1.0;
}

/// The speed of the format that a counter is of.
inline double tensor_speed_of(std::string_view counter) noexcept {
  std::string_view const format = counter.substr(tensor_format_prefix.size());
  for (tensor_format_speed const& known : tensor_format_speeds)
    if (begins_with(format, known.name)) return known.speed;
  return 1.0;
}

/// What was counted of the tensor cores so far, by range.
class tensor_work {
 public:
  tensor_work(vec<std::string> const& counters, vec<counter_value> const& values) {
    for (std::string const& counter : counters) kinds_.push_back(kind_of(counter));
    for (std::size_t i = 0; i < counters.size(); ++i)
      speeds_.push_back(kinds_[i] == kind::operations ? tensor_speed_of(counters[i]) : 0.0);
    for (counter_value const& value : values) add(value);
  }

  /// Whether the operations that were counted are what the tensor cores did in each range. False
  /// where their cycles or peaks were not counted.
  bool is_explained() const noexcept {
    // Warp-level products (mma.sync) reach 0.56 of a cycle's operations on Hopper, warpgroup
    // products 0.85 (flash attention, cuBLAS; H200).
    constexpr double explained = 0.5;
    constexpr double busy = 0.02;  // of the time: kernels without products have some
    if (!(cycles_peak_ > 0.0) || !(operations_peak_ > 0.0)) return false;
    bool all = true;
    ranges_.for_each([&](std::uint32_t, range const& work) {
      double const cycles = work.cycles / cycles_peak_;
      if (work.elapsed > 0.0 && cycles < busy * work.elapsed) return;
      if (cycles > 0.0 && work.operations / operations_peak_ < explained * cycles) all = false;
    });
    return all;
  }

 private:
  enum class kind : std::uint8_t {
    other,
    cycles,
    elapsed,
    operations,
    cycles_peak,
    operations_peak
  };
  struct range {
    double cycles = 0.0;      ///< of the pipe, all that is counted apart
    double elapsed = 0.0;     ///< cycles of the SM clock
    double operations = 0.0;  ///< as if of BF16
  };

  static kind kind_of(std::string_view counter) noexcept {
    if (counter == tensor_cycles) return kind::cycles;
    if (counter == "gpc__cycles_elapsed.avg" || counter == "sm__cycles_elapsed.avg")
      return kind::elapsed;
    if (counts_tensor_format(counter)) return kind::operations;
    bool const constant = ends_with(counter, ".peak_sustained");
    if (constant && begins_with(counter, tensor_cycles)) return kind::cycles_peak;
    return constant && begins_with(counter, "sm__ops_path_tensor") ? kind::operations_peak
                                                                   : kind::other;
  }

  void add(counter_value const& value) {
    if (value.counter >= kinds_.size() || !is_finite(value.value)) return;
    switch (kinds_[value.counter]) {
      case kind::cycles:
        ranges_[value.node].cycles += value.value;
        break;
      case kind::elapsed:
        ranges_[value.node].elapsed += value.value;
        break;
      case kind::operations:
        ranges_[value.node].operations += value.value / speeds_[value.counter];
        break;
      case kind::cycles_peak:
        cycles_peak_ = larger(cycles_peak_, value.value);
        break;
      case kind::operations_peak:
        operations_peak_ = larger(operations_peak_, value.value);
        break;
      case kind::other:
        break;
    }
  }

  vec<kind> kinds_;
  vec<double> speeds_;
  flat_map<std::uint32_t, range> ranges_;  ///< by node
  double cycles_peak_ = 0.0;
  double operations_peak_ = 0.0;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_PROFILE_TENSOR_FORMATS_HPP
