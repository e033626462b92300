#ifndef STRATA_COLLECT_COUNTERS_CHIP_METRICS_HPP
#define STRATA_COLLECT_COUNTERS_CHIP_METRICS_HPP

#include <strata/base/containers.hpp>
#include <strata/collect/counters/profiler_library.hpp>
#include <strata/profile/metric_resolver.hpp>

STRATA_BEGIN
namespace detail {

/// What CUPTI says about a metric.
struct metric_properties {
  std::string description;
  std::string hardware_unit;
  std::string unit;  ///< as CUPTI writes it: "byte", "gpc_cycle"
  cupti::profiler::metric_type type = cupti::profiler::metric_type::counter;
  cupti::profiler::metric_scope scope = cupti::profiler::metric_scope::unknown;  ///< 13.1 and later
};

/// The metrics of one chip by CUPTI's Profiler Host API, without a driver. Threads: one at a time.
class chip_metrics {
 public:
  /// Opens the chip with this name, exactly as CUPTI lists it. With `images` passes are those of
  /// the device (MIG, vGPU), not of the whole chip.
  /// Errors: unavailable without libcupti, bad_argument for an unknown chip.
  status open(profiler_library const& library, std::string chip, counter_images images = {}) {
    if (!library.ok()) return {errc::unavailable, library.problem};
    status const opened = scratch_.open(library, chip, images.of_context());
    if (!opened) return opened;
    library_ = &library;
    chip_ = std::move(chip);
    images_ = std::move(images);
    known_.clear();
    return {};
  }

  /// Whether a CUPTI name, with its rollup, can be counted. CUPTI refuses a whole
  /// configuration for one bad name, so each is asked for by itself.
  /// Cost: 10 us the first time (0.5 ms for a rare rollup), then a look-up.
  bool has(std::string const& name) {
    if (bool const* const known = known_.find(name)) return *known;
    bool const found = is_cupti_name(name) && can_count(name);
    known_[name] = found;
    return found;
  }

  /// Errors: bad_argument for a name that the chip does not have.
  status properties(std::string const& name, metric_properties& found) {
    cupti::profiler::metric_properties_params params;
    params.object = scratch_.get();
    params.metric = name.c_str();
    status const done = scratch_.library().outcome("cuptiProfilerHostGetMetricProperties",
                                                   call(library_->api.metric_properties, params));
    if (!done) return done;
    auto const text = [](char const* given) { return std::string(given != nullptr ? given : ""); };
    found = {text(params.description), text(params.hardware_unit), text(params.dimension),
             params.type, params.scope};
    return {};
  }

  /// Names of all counters, ratios and throughputs of the chip, without rollups.
  vec<std::string> base_metrics() {
    using cupti::profiler::metric_type;
    vec<std::string> names;
    for (metric_type const type :
         {metric_type::counter, metric_type::ratio, metric_type::throughput}) {
      cupti::profiler::base_metrics_params params;
      params.object = scratch_.get();
      params.type = type;
      if (call(library_->api.base_metrics, params) != cupti::result::success) continue;
      for (std::size_t i = 0; i < params.count; ++i) names.emplace_back(params.names[i]);
    }
    return names;
  }

  /// Keys, CUPTI names, or both, as this chip has them; units of CUPTI names filled in.
  metric_set resolve(vec<std::string> const& wanted) {
    bool foreign = false;
    for (std::string const& name : wanted) foreign = foreign || is_cupti_name(name);
    metric_set set = resolve_metrics(
        wanted, [this](std::string const& name) { return has(name); },
        foreign ? base_metrics() : vec<std::string>());
    for (resolved_metric& metric : set.metrics) {
      metric_properties found;
      if (metric.unit.empty() && properties(metric.key, found).ok()) metric.unit = found.unit;
    }
    return set;
  }

  /// Makes the image for counters of one group.
  status configure(vec<std::string> const& names, metric_config& made) {
    return configure_counters(*library_, chip_, images_, names, made);
  }

  /// Like configure, but counters that CUPTI does not count together get configurations of their
  /// own, and what instruments kernels never shares one with what does not. `problems` takes a
  /// sentence for each that CUPTI does not count even alone.
  /// Cost: milliseconds; where CUPTI refuses, some for each counter.
  void configure_apart(vec<std::string> const& names, vec<metric_config>& made,
                       vec<status>& problems) {
    for (bool const instrumented : {false, true}) {
      vec<std::string> alike = names;
      alike.keep_if(
          [&](std::string const& name) { return instruments_kernels(name) == instrumented; });
      if (!alike.empty()) configure_alike(alike, made, problems);
    }
  }

 private:
  void configure_alike(vec<std::string> const& names, vec<metric_config>& made,
                       vec<status>& problems) {
    metric_config together;
    if (configure(names, together).ok()) {
      made.push_back(std::move(together));
      return;
    }
    vec<vec<std::string>> groups;
    for (std::string const& name : names) {
      metric_config alone;
      status const able = configure({name}, alone);
      if (able.ok()) {
        join(name, groups);
      } else {
        problems.emplace_back(able.code(), sentence(name) << " is not counted: " << able.message());
      }
    }
    for (vec<std::string> const& group : groups) {
      metric_config config;
      status const able = configure(group, config);
      if (able.ok()) {
        made.push_back(std::move(config));
      } else {
        problems.push_back(able);
      }
    }
  }

  /// CUPTI has properties for a name without its rollup, which it cannot count, and 13.1 has them
  /// for any rollup; so those that not every counter has are tried on an object of their own.
  bool can_count(std::string const& name) {
    metric_properties found;
    if (!properties(name, found)) return false;
    std::size_t const dot = name.find('.', name.find("__"));
    if (dot == std::string::npos) return false;
    if (found.type == cupti::profiler::metric_type::counter &&
        is_one_of(std::string_view(name).substr(dot), common_rollups)) {
      return true;
    }
    metric_config alone;
    return configure({name}, alone).ok();
  }

  /// Adds a name to the first group that takes it, or to a new one.
  void join(std::string const& name, vec<vec<std::string>>& groups) {
    for (vec<std::string>& group : groups) {
      metric_config config;
      group.push_back(name);
      if (configure(group, config).ok()) return;
      group.pop_back();
    }
    groups.push_back({name});
  }

  static constexpr std::string_view common_rollups =
      ".sum .avg .sum.peak_sustained .avg.peak_sustained";

  profiler_library const* library_ = nullptr;
  std::string chip_;
  counter_images images_;
  cupti_host scratch_;  // for questions only: nothing is added to it
  flat_map<std::string, bool> known_;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_COUNTERS_CHIP_METRICS_HPP
