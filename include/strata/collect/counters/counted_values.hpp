#include <strata/version.hpp>
#ifndef STRATA_COLLECT_COUNTERS_COUNTED_VALUES_HPP
#define STRATA_COLLECT_COUNTERS_COUNTED_VALUES_HPP

#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/collect/counters/device_profilers.hpp>
#include <strata/collect/counters/metric_config.hpp>
#include <strata/profile.hpp>
#include <strata/status.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

STRATA_BEGIN
namespace detail {

/// What was counted so far, one configuration after the other. The last one may be counted anew:
/// what is there of it stands until then.
class counted_values {
 public:
  /// Adds what the devices counted in the last steps, as many as the configuration has passes.
  /// Errors: those of the devices; of several devices all or nothing is taken.
  status take(device_profilers& devices, metric_config& config, std::size_t steps_done) {
    forget_last();
    auto const first = static_cast<std::uint32_t>(names_.size());
    names_.insert(names_.end(), config.names().begin(), config.names().end());
    auto const steps = static_cast<std::uint32_t>(config.passes());
    origins_.resize(names_.size(), {static_cast<std::uint32_t>(steps_done) - steps, steps});
    return devices.read(config, [&](std::uint32_t node, vec<double> const& values) {
      for (std::size_t i = 0; i < values.size(); ++i)
        values_.push_back({node, first + static_cast<std::uint32_t>(i), values[i]});
    });
  }

  /// The last configuration, of this many names, is counted anew.
  void repeat(std::size_t names) {
    again_ = names;
    std::size_t const kept = names_.size() - names;
    values_again_ = 0;
    while (values_again_ < values_.size() &&
           values_[values_.size() - values_again_ - 1].counter >= kept)
      ++values_again_;
  }

  void copy_to(profile& to) const {
    to.counter_names = names_;
    to.counters = values_;
    to.counter_origins = origins_;
  }

 private:
  void forget_last() {
    values_.resize(values_.size() - std::exchange(values_again_, std::size_t{0}));
    names_.resize(names_.size() - std::exchange(again_, std::size_t{0}));
    origins_.resize(names_.size());
  }

  vec<std::string> names_;
  vec<counter_origin> origins_;  // of the names
  vec<counter_value> values_;
  std::size_t again_ = 0;         // names, the last ones, that are counted anew,
  std::size_t values_again_ = 0;  // and their values
};

}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_COUNTERS_COUNTED_VALUES_HPP
