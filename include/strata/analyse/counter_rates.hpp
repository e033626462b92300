#include <strata/version.hpp>
#ifndef STRATA_ANALYSE_COUNTER_RATES_HPP
#define STRATA_ANALYSE_COUNTER_RATES_HPP

#include <strata/base/macros.hpp>
#include <strata/profile/formula.hpp>
#include <strata/profile/metric.hpp>
#include <strata/profile/metric_set.hpp>

#include <string>
#include <string_view>
#include <utility>

STRATA_BEGIN
namespace detail {

/// Stands among CUPTI's names for what the trace gives: the GPU busy time of a timed step.
/// Units: s.
inline constexpr std::string_view timed_input = "strata__timed_gpu_seconds";

// What follows from counts and times, as entries of the metric catalogue. A counted step is slow,
// so its own time is never used: rates divide its counts by the time of the timed steps.
struct rate_catalogue {
  using lv = metric_level;
  using by = metric_combine;
  static const metric entries[];
};

inline constexpr metric rate_catalogue::entries[] = {
    {"timed_gpu_seconds", "s", lv::device, by::sum, timed_input,
     "GPU busy time in a timed step, without counting: the mean over the timed steps, added up "
     "over devices"},

    {"hbm_bytes_per_second", "B/s", lv::hbm, by::ratio, "hbm_bytes / timed_gpu_seconds",
     "counted bytes of device memory by timed GPU busy time"},
    {"hbm_of_peak", "%", lv::hbm, by::ratio,
     "100 * hbm_bytes_per_second / hbm_peak_bytes_per_second", "of the roof of device memory"},
    {"l2_bytes_per_second", "B/s", lv::l2, by::ratio, "l2_bytes / timed_gpu_seconds",
     "counted bytes of L2 by timed GPU busy time"},
    {"l2_of_peak", "%", lv::l2, by::ratio, "100 * l2_bytes_per_second / l2_peak_bytes_per_second",
     "of the roof of L2"},
    {"l1_bytes_per_second", "B/s", lv::l1, by::ratio, "l1_bytes / timed_gpu_seconds",
     "counted bytes of L1 by timed GPU busy time"},
    {"l1_of_peak", "%", lv::l1, by::ratio, "100 * l1_bytes_per_second / l1_peak_bytes_per_second",
     "of the roof of L1"},

    {"flop_per_second", "FLOP/s", lv::sm, by::ratio, "flop / timed_gpu_seconds",
     "counted operations without tensor cores by timed GPU busy time"},
    {"fp32_of_peak", "%", lv::sm, by::ratio,
     "100 * flop_fp32 / timed_gpu_seconds / fp32_peak_per_second", "of the roof of FP32"},
    {"fp64_of_peak", "%", lv::sm, by::ratio,
     "100 * flop_fp64 / timed_gpu_seconds / fp64_peak_per_second", "of the roof of FP64"},
    {"fp16_of_peak", "%", lv::sm, by::ratio,
     "100 * flop_fp16 / timed_gpu_seconds / fp16_peak_per_second",
     "of the roof of FP16 without tensor cores"},
    {"tensor_flop_per_second", "FLOP/s", lv::sm, by::ratio, "tensor_flop / timed_gpu_seconds",
     "counted operations of tensor cores by timed GPU busy time"},
    {"tensor_of_peak", "%", lv::sm, by::ratio,
     "100 * tensor_flop_per_second / tensor_peak_per_second",
     "of the roof of dense BF16, whatever the format: FP8 and FP4 have higher roofs"},

    {"flop_per_hbm_byte", "FLOP/B", lv::hbm, by::ratio,
     "(flop + ?tensor_flop) / hbm_bytes | tensor_flop / hbm_bytes",
     "arithmetic intensity: counted operations per byte of device memory"},
};

/// Adds the entries whose inputs a set has, so that set.value() gives them too.
class rate_resolver {
 public:
  explicit rate_resolver(metric_set& set) : set_(set) {}

  void run() {
    if (set_.metrics.empty()) return;
    for (metric const& entry : rate_catalogue::entries) {
      if (set_.find(entry.key) != nullptr) continue;
      std::string_view const formula = choice(entry.formula);
      if (formula.empty()) continue;
      resolved_metric made;
      made.key = entry.key;
      made.formula = formula;
      made.unit = entry.unit;
      made.level = entry.level;
      made.combine = entry.combine;
      made.derived = formula != timed_input;
      if (!made.derived) made.counters.emplace_back(timed_input);
      set_.metrics.push_back(std::move(made));
    }
  }

  /// The entry with this key, or null.
  static metric const* find(std::string_view key) noexcept {
    for (metric const& each : rate_catalogue::entries) {
      if (each.key == key) return &each;
    }
    return nullptr;
  }

 private:
  std::string_view choice(std::string_view formulas) const {
    while (!formulas.empty()) {
      std::string_view const alternative = trimmed(take_until(formulas, "|"));
      bool complete = true;
      for_each_name(alternative, [&](std::string_view name, bool optional) {
        complete = complete && (optional || name == timed_input || set_.find(name) != nullptr);
      });
      if (complete) return alternative;
    }
    return {};
  }

  metric_set& set_;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_ANALYSE_COUNTER_RATES_HPP
