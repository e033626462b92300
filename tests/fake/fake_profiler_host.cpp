// The fake CUPTI's Profiler Host API: metrics, configurations, values. A library
// without it stands for CUPTI before 12.6U2: FAKE_MISSING_SYMBOLS.
#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>

#include "fake_profiler_call.hpp"

#ifndef FAKE_MISSING_SYMBOLS
#define FAKE_MISSING_SYMBOLS 0
#endif
#if FAKE_MISSING_SYMBOLS < 1

namespace api = fake::api;
using fake::misuse;
using fake::cupti::result;

namespace {

char const* const chip_names[] = {"TU102", "GA100", "GH100"};
char const* const base_names[] = {
    "dram__bytes_read",         "dram__bytes_write", "lts__t_bytes",
    "lts__t_sectors",           "l1tex__t_bytes",    "pcie__read_bytes",
    "smsp__sass_inst_executed", "sm__cycles_elapsed"};
char const* const ratio_names[] = {"l1tex__t_sector_hit_rate"};

bool begins_with_one_of(std::string const& name, std::vector<char const*> const& units) {
  return std::any_of(units.begin(), units.end(), [&](char const* unit) {
    return name.compare(0, std::strlen(unit), unit) == 0 &&
           name.compare(std::strlen(unit), 2, "__") == 0;
  });
}

bool is_device_wide(std::string const& name) {
  return begins_with_one_of(name, {"pcie", "nvlrx", "nvltx", "ctc"});
}
bool is_of_context(std::string const& name) {
  return begins_with_one_of(name, {"dram", "lts", "l1tex", "sm", "smsp", "gpc"});
}

std::string base_of(std::string const& name) {
  std::size_t const units = name.find("__");
  return units == std::string::npos ? name : name.substr(0, name.find('.', units));
}

bool knows(fake::profiler_state const& p, std::string const& name) {
  if (!is_device_wide(name) && !is_of_context(name) &&
      !begins_with_one_of(name, {"gpu", "idc", "sys"}))
    return false;
  return std::none_of(p.lacking.begin(), p.lacking.end(), [&](std::string const& part) {
    return name.find(part) != std::string::npos;
  });
}

bool is_ratio(std::string const& name) { return name.find("_rate") != std::string::npos; }

bool has_rollup(std::string const& name) {
  std::string const base = base_of(name);
  if (base.size() == name.size()) return false;
  std::string const rollup =
      name.substr(base.size() + 1, name.find('.', base.size() + 1) - base.size() - 1);
  for (char const* const known : {"sum", "avg", "max", "min", "pct", "ratio"}) {
    if (rollup == known) return is_ratio(base) == (rollup == "pct" || rollup == "ratio");
  }
  return false;
}

template <std::size_t Count>
void hand_out(char const* const (&from)[Count], char const**& names, std::size_t& count) {
  names = const_cast<char const**>(from);
  count = Count;
}

fake::profiler_config plan(std::size_t metrics_per_pass, std::vector<std::string> const& names) {
  fake::profiler_config made;
  std::size_t hardware = 0;
  bool any_sass = false;
  for (std::string const& name : names) {
    if (std::find(made.names.begin(), made.names.end(), name) != made.names.end()) continue;
    made.names.push_back(name);
    any_sass = any_sass || fake::is_sass(name);
    if (!fake::is_sass(name) && !fake::is_constant(name)) ++hardware;
  }
  std::size_t const passes = (hardware + metrics_per_pass - 1) / metrics_per_pass;
  std::size_t seen = 0;
  for (std::string const& name : made.names) {
    made.pass_of.push_back(fake::is_constant(name) ? fake::profiler_config::none
                           : fake::is_sass(name)   ? passes
                                                   : seen++ / metrics_per_pass);
  }
  made.passes = (std::max)(passes + (any_sass ? 1U : 0U), std::size_t{1});
  return made;
}

}  // namespace

extern "C" {

FAKE_EXPORT result cuptiProfilerHostInitialize(api::host_initialize_params* params) {
  PROFILER_CALL(nothing, {130200, 56}, {0, 48});
  if (params->chip == nullptr) return result::invalid_parameter;
  bool known = false;
  for (char const* const each : chip_names) known = known || std::strcmp(each, params->chip) == 0;
  if (!known) return result::invalid_chip_name;
  if (params->availability != nullptr && params->availability[0] != 0x5A) {
    c.fail("with an image that is none of counters", result::invalid_parameter);
    return c.code;
  }
  auto made = std::make_unique<fake::cupti_host>();
  if (params->availability != nullptr) {
    made->device = params->availability[1];
    made->hides_c2c = true;  // none of these devices has any
    made->hides_links = params->availability[2] == 0;
  }
  params->object = reinterpret_cast<api::host_object*>(made.get());
  c.p.hosts[made.get()] = std::move(made);
  return result::success;
}

FAKE_EXPORT result cuptiProfilerHostDeinitialize(api::host_deinitialize_params* params) {
  PROFILER_CALL(nothing, {0, 24});
  if (c.host_of(params->object) == nullptr) return c.code;
  c.p.hosts.erase(params->object);
  return result::success;
}

FAKE_EXPORT result cuptiProfilerHostGetSupportedChips(api::supported_chips_params* params) {
  PROFILER_CALL(nothing, {0, 32});
  params->names = chip_names;
  params->count = sizeof(chip_names) / sizeof(chip_names[0]);
  return result::success;
}

FAKE_EXPORT result cuptiProfilerHostGetBaseMetrics(api::base_metrics_params* params) {
  PROFILER_CALL(nothing, {0, 48});
  if (c.host_of(params->object) == nullptr) return c.code;
  params->count = 0;
  if (params->type == api::metric_type::counter) hand_out(base_names, params->names, params->count);
  if (params->type == api::metric_type::ratio) hand_out(ratio_names, params->names, params->count);
  return result::success;
}

FAKE_EXPORT result cuptiProfilerHostGetMetricProperties(api::metric_properties_params* params) {
  PROFILER_CALL(nothing, {130100, 64}, {0, 60});
  if (c.host_of(params->object) == nullptr) return c.code;
  std::string const name = params->metric;
  if (!knows(c.p, name)) return result::invalid_metric_name;
  params->description = "a metric of the fake";
  params->hardware_unit = fake::intern(c.s, name.substr(0, name.find("__")).c_str());
  params->dimension = name.find("bytes") != std::string::npos ? "byte" : "";
  params->type = is_ratio(base_of(name)) ? api::metric_type::ratio : api::metric_type::counter;
  return result::success;
}

FAKE_EXPORT result cuptiProfilerHostConfigAddMetrics(api::add_metrics_params* params) {
  PROFILER_CALL(nothing, {0, 40});
  fake::cupti_host* const host = c.host_of(params->object);
  if (host == nullptr) return c.code;
  if (host->poisoned) {
    c.fail("on an object that a refused name has spoilt", result::unknown);
    return c.code;
  }
  std::vector<std::string> names = host->names;
  for (std::size_t i = 0; i < params->count; ++i) names.emplace_back(params->names[i]);
  host->poisoned = true;
  for (std::string const& each : names) {
    if (!knows(c.p, each) || !has_rollup(each)) return result::invalid_parameter;
  }
  // As two H200 with NVLink, by an image of a context.
  for (std::string const& each : names)
    if ((host->hides_links && begins_with_one_of(each, {"nvlrx", "nvltx"})) ||
        (host->hides_c2c && begins_with_one_of(each, {"ctc"})))
      return result::unknown;
  if (std::any_of(names.begin(), names.end(), is_device_wide) &&
      std::any_of(names.begin(), names.end(), is_of_context))
    return result::not_supported;
  host->poisoned = false;
  host->names = names;
  return result::success;
}

FAKE_EXPORT result cuptiProfilerHostGetConfigImageSize(api::config_image_size_params* params) {
  PROFILER_CALL(nothing, {0, 32});
  fake::cupti_host const* const host = c.host_of(params->object);
  if (host == nullptr) return c.code;
  if (host->names.empty() || host->poisoned) {
    c.fail("without metrics", result::unknown);
    return c.code;
  }
  params->size = fake::config_image_size;
  return result::success;
}

FAKE_EXPORT result cuptiProfilerHostGetConfigImage(api::config_image_params* params) {
  PROFILER_CALL(nothing, {0, 40});
  fake::cupti_host const* const host = c.host_of(params->object);
  if (host == nullptr) return c.code;
  if (host->names.empty() || params->size < fake::config_image_size) {
    c.fail("without metrics or room", result::invalid_parameter);
    return c.code;
  }
  auto const own = c.p.metrics_per_pass_of.find(host->device);
  c.p.configs.push_back(
      plan(own == c.p.metrics_per_pass_of.end() ? c.p.metrics_per_pass : own->second, host->names));
  std::uint64_t const words[2] = {fake::config_magic, c.p.configs.size()};
  std::memcpy(params->image, words, sizeof(words));
  return result::success;
}

FAKE_EXPORT result cuptiProfilerHostGetNumOfPasses(api::pass_count_params* params) {
  PROFILER_CALL(nothing, {0, 40});
  std::uint64_t const config = fake::config_in(params->image, params->size);
  if (config == 0) {
    c.fail("of what is no configuration", result::invalid_parameter);
    return c.code;
  }
  params->passes = c.p.configs[config - 1].passes;
  return result::success;
}

FAKE_EXPORT result cuptiProfilerHostEvaluateToGpuValues(api::evaluate_params* params) {
  PROFILER_CALL(nothing, {0, 72});
  fake::cupti_host* const host = c.host_of(params->object);
  if (host == nullptr) return c.code;
  fake::image_head head{};
  if (!fake::read_head(params->counter_data, params->counter_data_size, head) ||
      params->range >= head.ranges) {
    c.fail("of a range that is not there", result::invalid_parameter);
    return c.code;
  }
  fake::profiler_config const& config = c.p.configs[head.config - 1];
  if (host->evaluates == 0) host->evaluates = static_cast<std::uint8_t>(head.device);
  std::uint8_t const* const at = params->counter_data + fake::values_at(params->range, head.values);
  for (std::size_t i = 0; i < params->count; ++i) {
    auto const found = std::find(config.names.begin(), config.names.end(), params->names[i]);
    if (found == config.names.end()) {
      c.fail("of a metric that was not counted", result::invalid_metric_name);
      return c.code;
    }
    auto const position = static_cast<std::size_t>(found - config.names.begin());
    std::memcpy(params->values + i, at + position * sizeof(double), sizeof(double));
    // As CUPTI does: counters of the memory come from any device.
    if (host->evaluates != head.device && fake::is_of_sms(params->names[i]))
      params->values[i] = std::numeric_limits<double>::quiet_NaN();
  }
  return result::success;
}

}  // extern "C"

#endif
