#include <strata/version.hpp>
#ifndef STRATA_COLLECT_COUNTERS_PROFILER_HOST_HPP
#define STRATA_COLLECT_COUNTERS_PROFILER_HOST_HPP

#include <strata/base/macros.hpp>
#include <strata/base/vec.hpp>
#include <strata/collect/counters/profiler_library.hpp>
#include <strata/collect/counters/profiler_problem.hpp>
#include <strata/status.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

STRATA_BEGIN
namespace detail {

/// One object of CUPTI's Profiler Host API: the knowledge of a chip, and the metrics added to it.
/// A metric that is refused spoils the object: it must not be used again then.
/// Cost: 0.5 to 5 ms to open.
class profiler_host {
 public:
  profiler_host() = default;
  profiler_host(profiler_host&& from) noexcept
      : library_(from.library_), object_(std::exchange(from.object_, nullptr)) {}
  profiler_host& operator=(profiler_host&& from) noexcept {
    std::swap(library_, from.library_);
    std::swap(object_, from.object_);
    return *this;
  }
  ~profiler_host() {
    if (object_ == nullptr) return;
    cupti::profiler::host_deinitialize_params params;
    params.object = object_;
    (void)call(library_->api.host_deinitialize, params);
  }

  /// `availability` is the device's image of counters, or empty: then the chip counts as whole.
  /// Errors: bad_argument where the library does not know the chip.
  status open(profiler_library const& library, std::string const& chip,
              vec<std::uint8_t> const& availability) {
    cupti::profiler::host_initialize_params params;
    params.chip = chip.c_str();
    params.availability = availability.empty() ? nullptr : availability.data();
    cupti::result const code = call(library.api.host_initialize, params);
    if (code != cupti::result::success) {
      return {errc_of(code), library.describe("cuptiProfilerHostInitialize", code)};
    }
    library_ = &library;
    object_ = params.object;
    return {};
  }

  cupti::profiler::host_object* get() const noexcept { return object_; }
  profiler_library const& library() const noexcept { return *library_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }

  status add(vec<const char*>& names) {
    cupti::profiler::add_metrics_params params;
    params.object = object_;
    params.names = names.data();
    params.count = names.size();
    return outcome("cuptiProfilerHostConfigAddMetrics", call(library_->api.add_metrics, params));
  }

  /// The image with which a device is configured, and the passes that it takes.
  status make_image(vec<std::uint8_t>& image, std::size_t& passes) {
    cupti::profiler::config_image_size_params size;
    size.object = object_;
    status made =
        outcome("cuptiProfilerHostGetConfigImageSize", call(library_->api.config_image_size, size));
    if (!made) return made;
    image.assign(size.size, 0);
    cupti::profiler::config_image_params fill;
    fill.object = object_;
    fill.size = image.size();
    fill.image = image.data();
    made = outcome("cuptiProfilerHostGetConfigImage", call(library_->api.config_image, fill));
    if (!made) return made;
    cupti::profiler::pass_count_params count;
    count.size = image.size();
    count.image = image.data();
    made = outcome("cuptiProfilerHostGetNumOfPasses", call(library_->api.pass_count, count));
    passes = count.passes;
    return made;
  }

  status outcome(const char* what, cupti::result code) const {
    if (code == cupti::result::success) return {};
    return {errc_of(code), library_->describe(what, code)};
  }

 private:
  profiler_library const* library_ = nullptr;
  cupti::profiler::host_object* object_ = nullptr;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_COUNTERS_PROFILER_HOST_HPP
