#include <strata/version.hpp>
#ifndef STRATA_COLLECT_COUNTERS_METRIC_CONFIG_HPP
#define STRATA_COLLECT_COUNTERS_METRIC_CONFIG_HPP

#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/collect/counters/profiler_host.hpp>
#include <strata/status.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

STRATA_BEGIN
namespace detail {

/// Counters in the form that CUPTI takes: their image, their passes, and the way back to values.
/// The names have stable addresses as long as the object lives, also when it is moved.
class metric_config {
 public:
  metric_config() = default;
  metric_config(profiler_host host, vec<std::string> names)
      : host_(std::move(host)), names_(std::move(names)) {
    for (std::string const& each : names_) pointers_.push_back(each.c_str());
  }

  vec<std::string> const& names() const noexcept { return names_; }
  /// The names as CUPTI takes them, names().size() of them.
  const char** c_names() noexcept { return pointers_.data(); }
  vec<std::uint8_t> const& image() const noexcept { return image_; }
  std::size_t passes() const noexcept { return passes_; }

  /// Values of all names for one range of a decoded counter-data image.
  /// Units: of the names. Errors: `values` is NaN throughout.
  /// Cost: 1 to 10 us a name.
  status evaluate(vec<std::uint8_t> const& counter_data, std::size_t range, vec<double>& values) {
    values.assign(names_.size(), std::numeric_limits<double>::quiet_NaN());
    if (!host_ || counter_data.empty()) return {errc::bad_argument, "no counter data to evaluate"};
    cupti::profiler::evaluate_params params;
    params.object = host_.get();
    params.counter_data = counter_data.data();
    params.counter_data_size = counter_data.size();
    params.range = range;
    params.names = pointers_.data();
    params.count = pointers_.size();
    params.values = values.data();
    status done = host_.outcome("cuptiProfilerHostEvaluateToGpuValues",
                                call(host_.library().api.evaluate, params));
    if (!done) values.assign(names_.size(), std::numeric_limits<double>::quiet_NaN());
    return done;
  }

  /// Adds all names in one call, since only that lets them share passes, and makes the image.
  status build() {
    if (names_.empty()) return {errc::bad_argument, "no counters to configure"};
    status done = host_.add(pointers_);
    return done ? host_.make_image(image_, passes_) : done;
  }

 private:
  profiler_host host_;
  vec<std::string> names_;
  vec<const char*> pointers_;
  vec<std::uint8_t> image_;
  std::size_t passes_ = 0;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_COUNTERS_METRIC_CONFIG_HPP
