#ifndef STRATA_COLLECT_COUNTERS_SAMPLED_METRICS_HPP
#define STRATA_COLLECT_COUNTERS_SAMPLED_METRICS_HPP

#include <strata/collect/counters/profiler_library.hpp>
#include <strata/profile/metric_resolver.hpp>
#include <strata/profile/samples.hpp>

STRATA_BEGIN
namespace detail {

/// What is sampled, the most wanted first: what leaves the chip, or else L2. A sample of HBM takes
/// 11 us of a CPU to evaluate, as with PCIe; L2 adds 10 us, active cycles of the SMs 15 us, of
/// tensor cores 24 us, and all together take 94 to 216 us (H200, CUPTI 13.0).
inline constexpr std::string_view sampled_request =
    "hbm_read_bytes+hbm_write_bytes+hbm_bytes+nvlink_receive_bytes+nvlink_transmit_bytes+"
    "pcie_read_bytes+pcie_write_bytes+l2_sectors";

/// The metrics that a chip samples together: sampling has one pass.
struct sampled_metrics {
  metric_set set;
  vec<absent_metric> left_out;  ///< what the chip has, and why it is not sampled
  metric_config config;

  /// Takes one metric after the other, where the chip counts it in the same pass as those before.
  /// `continues()` is asked before each call of CUPTI that takes long.
  /// Errors: of the first metric, if none is left; unavailable: it does not continue.
  /// Cost: 0.1 s a metric (H200, CUPTI 13.0).
  status choose(profiler_library const& library, std::string const& chip,
                vec<std::uint8_t> const& availability, callback<bool()> continues) {
    auto const configure = [&](vec<std::string> const& names, metric_config& made) {
      if (!continues()) return status{errc::unavailable, {}};  // nobody asks any more
      cupti_host host;
      status opened = host.open(library, chip, availability, type);
      if (!opened) return opened;
      made = metric_config(std::move(host), names);
      return made.build();
    };
    status refusal;
    auto const has = [&](std::string const& name) {
      metric_config alone;
      status const known = configure({name}, alone);
      if (refusal.ok()) refusal = known;
      return known.ok();
    };
    vec<std::string> taken;
    vec<absent_metric> absent;
    for (std::string const& key : expand_metrics(sampled_request)) {
      if (key == "l2_sectors" && set.find("hbm_bytes") != nullptr)
        break;  // only where no HBM is sampled
      taken.push_back(key);
      metric_set made = resolve_metrics(taken, has);
      metric_config together;
      if (made.find(key) == nullptr) {
        for (absent_metric const& missing : made.absent)
          if (missing.key == key) absent.push_back(missing);
      } else if (!configure(counters_of(made), together) || together.passes() != 1 ||
                 together.names().size() > counted_sample::max_counters) {
        left_out.push_back({key, "it takes another pass of counting, and sampling has one"});
      } else {
        set = std::move(made);
        config = std::move(together);
        continue;
      }
      taken.resize(taken.size() - 1);
    }
    set.absent = std::move(absent);
    if (!taken.empty()) return {};
    return refusal.ok() ? status{errc::not_supported, "this chip has no counter of its memory"}
                        : refusal;
  }

 private:
  static constexpr auto type = cupti::profiler::profiler_type::pm_sampling;

  static vec<std::string> counters_of(metric_set const& of) {
    vec<std::string> all;
    for (resolved_metric const& metric : of.metrics)
      for (std::string const& counter : metric.counters)
        if (!all.contains(counter)) all.push_back(counter);
    return all;
  }
};

}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_COUNTERS_SAMPLED_METRICS_HPP
