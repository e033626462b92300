#ifndef STRATA_PROFILE_TENSOR_FORMATS_HPP
#define STRATA_PROFILE_TENSOR_FORMATS_HPP

// CUPTI counts the operations of the tensor cores by their format, a pass or two for each. The
// cycles of their pipe are counted first; a format is counted only where those that were counted do
// not explain them.

#include <strata/base/containers.hpp>
#include <strata/profile.hpp>

STRATA_BEGIN
namespace detail {

/// What a counter or a peak of tensor cores is of: `fp8` and `fp32` of
/// "sm__ops_path_tensor_src_fp8_dst_fp32.sum"; `fp4_fp6_fp8` where formats share a path.
struct tensor_path {
  std::string_view format;
  std::string_view sums;  ///< format of the sums; empty where all have the same path
};
inline tensor_path tensor_path_of(std::string_view counter) noexcept {
  constexpr std::string_view format_mark = "_src_";
  constexpr std::string_view sums_mark = "_dst_";
  std::size_t const begin = counter.find(format_mark);
  if (begin == std::string_view::npos) return {};
  std::string_view rest = counter.substr(begin + format_mark.size());
  for (std::string_view const end : {"_sparsity", "."}) rest = rest.substr(0, rest.find(end));
  std::size_t const sums = rest.find(sums_mark);
  if (sums == std::string_view::npos) return {rest, {}};
  return {rest.substr(0, sums), rest.substr(sums + sums_mark.size())};
}

/// The peaks of the paths that were counted.
class tensor_peaks {
 public:
  void add(std::string_view counter, double operations) {
    if (operations > 0.0) peaks_.push_back({tensor_path_of(counter), operations});
  }
  /// Operations a cycle of all tensor cores, on the path that a counter counts; 0 where its peak
  /// was not counted: the peak with other sums may be twice as high. FP6, and FP4 that is counted
  /// with it, have the peak of FP8.
  double of(std::string_view counter) const noexcept {
    tensor_path const wanted = tensor_path_of(counter);
    double shared = 0.0;
    for (peak const& known : peaks_) {
      std::string_view const format = known.path.format;
      if (!known.path.sums.empty() && known.path.sums != wanted.sums) continue;
      if (format == wanted.format) return known.operations;
      bool const begins = begins_with(format, wanted.format) && format[wanted.format.size()] == '_';
      if (begins || (wanted.format == "fp4_fp6" && format == "fp8")) shared = known.operations;
    }
    return shared;
  }

 private:
  struct peak {
    tensor_path path;
    double operations;
  };
  vec<peak> peaks_;
};

/// What was counted of the tensor cores so far, by range.
class tensor_work {
 public:
  tensor_work(vec<std::string> const& counters, vec<counter_value> const& values) {
    for (std::string const& counter : counters) kinds_.push_back(kind_of(counter));
    for (counter_value const& value : values)
      if (value.counter < kinds_.size() && kinds_[value.counter] == kind::operations_peak &&
          is_finite(value.value))
        peaks_.add(counters[value.counter], value.value);
    for (std::size_t i = 0; i < counters.size(); ++i)
      speeds_.push_back(kinds_[i] == kind::operations ? peaks_.of(counters[i]) : 0.0);
    for (counter_value const& value : values) add(value);
  }

  /// Whether the operations that were counted are what the tensor cores did in each range. False
  /// where their cycles or peaks were not counted.
  bool is_explained() const noexcept {
    // Warp-level products (mma.sync) reach 0.56 of a cycle's operations on Hopper, warpgroup
    // products 0.85 (flash attention, cuBLAS; H200).
    constexpr double explained = 0.5;
    constexpr double busy = 0.02;  // of the time: kernels without products have some
    if (!(cycles_peak_ > 0.0)) return false;
    bool all = true;
    ranges_.for_each([&](std::uint32_t, range const& work) {
      double const cycles = work.cycles / cycles_peak_;
      if (work.elapsed > 0.0 && cycles < busy * work.elapsed) return;
      if (cycles > 0.0 && work.cycles_of_operations < explained * cycles) all = false;
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
    double cycles = 0.0;                ///< of the pipe, all that is counted apart
    double elapsed = 0.0;               ///< cycles of the SM clock
    double cycles_of_operations = 0.0;  ///< that the operations take at their peaks
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
        if (speeds_[value.counter] > 0.0)
          ranges_[value.node].cycles_of_operations += value.value / speeds_[value.counter];
        break;
      case kind::cycles_peak:
        cycles_peak_ = larger(cycles_peak_, value.value);
        break;
      case kind::operations_peak:
      case kind::other:
        break;
    }
  }

  vec<kind> kinds_;
  tensor_peaks peaks_;
  vec<double> speeds_;                     ///< by counter; 0 where its peak was not counted
  flat_map<std::uint32_t, range> ranges_;  ///< by node
  double cycles_peak_ = 0.0;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_PROFILE_TENSOR_FORMATS_HPP
